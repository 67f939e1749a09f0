// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "contract/contract_builder.hpp"
#include "device/library_state.hpp"
#include "fake/fake_verbs.hpp"
#include "verbena/quirks.hpp"

namespace verbena::fake {

/// Rules in code: what a table would say, said by a function on the builder.
class FakeRules final : public QuirkSet {
public:
  using Apply = std::function<void(ContractBuilder&)>;

  explicit FakeRules(Apply apply = {}, std::uint64_t hash = 0x5eed) : apply_(std::move(apply)), hash_(hash) {}

  std::uint64_t hash() const noexcept override { return hash_; }
  std::span<const RuleSummary> rules() const noexcept override { return {}; }
  std::span<const LayerReport> layers() const noexcept override { return {}; }
  Contract contract(const DeviceId& device, const Caps& caps, std::uint8_t port,
                    bool beyond_declared_allowed) const override {
    ContractBuilder builder(device, caps, port, beyond_declared_allowed);
    if (apply_) apply_(builder);
    return std::move(builder).build(hash_);
  }

private:
  Apply apply_;
  std::uint64_t hash_;
};

/// A provenance for rules in code.
inline Provenance rule(const char* id) {
  Provenance by;
  by.set_by = SetBy::rule;
  by.rule = id;
  by.reason = "said by a test";
  by.source = "this test";
  return by;
}

/// A library over a fake host, whose rules are given in code and not loaded from tables.
inline std::shared_ptr<Library::State> library_over(std::shared_ptr<FakeVerbs> verbs, FakeRules::Apply rules = {},
                                                    LogSink sink = {}) {
  auto library = std::make_shared<Library::State>();
  library->verbs = std::move(verbs);
  library->backends = BackendRegistry::builtin();
  library->sink = std::move(sink);
  library->rules = std::make_shared<const FakeRules>(std::move(rules));
  return library;
}

}  // namespace verbena::fake
