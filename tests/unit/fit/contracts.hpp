// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "contract/contract_builder.hpp"
#include "verbena/contract.hpp"
#include "verbena/registry.hpp"

namespace verbena::contracts {

/// A contract put together by hand, so that the fit is tested apart from tables.
class Made {
public:
  explicit Made(const Caps& caps, bool beyond_declared = true) : builder_(DeviceId{}, caps, 1, beyond_declared) {}

  Made& at_most(Field field, std::uint64_t max) {
    builder_.at_most(field, max, rule(std::string{name(field)} + "-max"));
    return *this;
  }
  Made& at_least(Field field, std::uint64_t min) {
    builder_.at_least(field, min, rule(std::string{name(field)} + "-min"));
    return *this;
  }
  Made& replaces_declared(Field field, std::uint64_t max) {
    builder_.replace_declared_max(field, max, rule(std::string{name(field)} + "-more"));
    return *this;
  }
  Made& asks(Field field, AskKind kind, std::uint64_t n) {
    builder_.ask(field, kind, n, rule(std::string{name(field)} + "-ask"));
    return *this;
  }
  Made& reserves(Field field, std::uint64_t slots) {
    builder_.reserve(field, slots, rule(std::string{name(field)} + "-reserve"));
    return *this;
  }
  Made& feature(Feature feature, Support support) {
    builder_.feature(feature, support, false, rule(std::string{name(feature)} + "-feature"));
    return *this;
  }
  Made& joint(std::string_view formula, std::initializer_list<std::pair<std::string_view, std::int64_t>> given = {}) {
    static const BackendRegistry registry = BackendRegistry::builtin();
    const JointFormula* found = registry.formula(formula);
    JointParams params{};
    for (std::size_t at = 0; at < found->params.size(); ++at) {
      params[at] = found->params[at].fallback;
      for (const auto& [word, value] : given) {
        if (found->params[at].name == word) params[at] = value;
      }
    }
    builder_.joint(*found, params, rule(std::string{formula} + "-rule"));
    return *this;
  }
  Contract build() { return std::move(builder_).build(42); }

private:
  ProvenanceIndex rule(std::string id) {
    Provenance by;
    by.set_by = SetBy::rule;
    by.rule = std::move(id);
    by.reason = "because";
    by.source = "a test";
    by.file = "test.yaml";
    by.line = 7;
    return builder_.add(std::move(by));
  }

  ContractBuilder builder_;
};

inline Contract e810(bool beyond_declared = true) {
  Caps caps;
  caps.set(Cap::max_qp_wr, 4063);
  caps.set(Cap::max_sge, 13);
  caps.set(Cap::max_cqe, 1048574);
  caps.set(Cap::max_srq, 0);
  caps.set(Cap::atomic_cap, 0);
  caps.set(Cap::max_mr_size, std::uint64_t{1} << 45U);
  return Made(caps, beyond_declared)
      .replaces_declared(Field::max_send_wr, 32768)
      .replaces_declared(Field::max_recv_wr, 32768)
      .at_most(Field::max_inline_data, 101)
      .feature(Feature::uc, Support::absent)
      .feature(Feature::create_qp_ex, Support::absent)
      .joint("irdma_quanta")
      .build();
}

inline Contract connectx5() {
  Caps caps;
  caps.set(Cap::max_qp_wr, 32768);
  caps.set(Cap::max_sge, 30);
  caps.set(Cap::max_cqe, 4194303);
  caps.set(Cap::max_srq, 8388608);
  caps.set(Cap::max_srq_wr, 32767);
  caps.set(Cap::max_srq_sge, 31);
  caps.set(Cap::atomic_cap, 1);
  caps.set(Cap::num_comp_vectors, 8);
  return Made(caps).feature(Feature::create_qp_ex, Support::native).joint("mlx5_wqe_blocks").build();
}

inline Contract hip09() {
  Caps caps;
  caps.set(Cap::max_qp_wr, 32768);
  caps.set(Cap::max_sge, 64);
  caps.set(Cap::max_cqe, 4194304);
  return Made(caps)
      .at_least(Field::max_send_wr, 1)
      .at_most(Field::max_inline_data, 1024)
      .asks(Field::cqe, AskKind::plus, 1)
      .joint("hns_extended_sge", {{"inline_in_extended", 1}})
      .build();
}

inline Contract rxe() {
  Caps caps;
  caps.set(Cap::max_qp_wr, 1048576);
  caps.set(Cap::max_sge, 32);
  caps.set(Cap::max_cqe, 32767);
  return Made(caps)
      .at_most(Field::max_inline_data, 512)
      .feature(Feature::uc, Support::native)
      .joint("rxe_shared_bytes")
      .build();
}

/// One feature less than a device of which nothing is known.
inline Contract lacking(Feature feature) {
  Caps caps;
  caps.set(Cap::max_qp_wr, 5000);
  caps.set(Cap::max_sge, 20);
  return Made(caps).feature(feature, Support::absent).build();
}

/// A ring so small that everything competes, and roundings on top.
inline Contract cramped() {
  Caps caps;
  caps.set(Cap::max_qp_wr, 5000);
  caps.set(Cap::max_sge, 20);
  return Made(caps)
      .at_least(Field::max_send_wr, 2)
      .at_most(Field::max_inline_data, 300)
      .joint("wqe_units", {{"ring", 4000},
                           {"unit", 16},
                           {"header", 48},
                           {"per_sge", 16},
                           {"inline_header", 32},
                           {"hidden", 30},
                           {"max_units", 20},
                           {"recv_ring", 2000}})
      .build();
}

/// A small ring of which more has to be passed than is granted.
inline Contract rounding() {
  Caps caps;
  caps.set(Cap::max_qp_wr, 3000);
  caps.set(Cap::max_sge, 20);
  return Made(caps)
      .at_most(Field::max_inline_data, 300)
      .asks(Field::max_send_wr, AskKind::power_of_two, 0)
      .asks(Field::max_recv_wr, AskKind::plus, 3)
      .asks(Field::max_send_sge, AskKind::not_multiple_of, 4)
      .asks(Field::max_inline_data, AskKind::multiple_of, 16)
      .joint("wqe_units", {{"ring", 4000}, {"unit", 16}, {"header", 48}, {"inline_header", 32}, {"recv_ring", 2000}})
      .build();
}

}  // namespace verbena::contracts
