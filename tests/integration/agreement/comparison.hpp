// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "creation.hpp"
#include "model_creation.hpp"
#include "posting.hpp"
#include "verbena/device.hpp"
#include "wishes.hpp"

namespace agreement {

struct Tally {
  unsigned tried = 0, adjusted = 0, refused_by_fit = 0, host_enomem = 0, over_budget = 0;
  unsigned agreed = 0, disagreed = 0;   ///< of those tried
  unsigned denied = 0;  ///< of those, of a kind or type that the contract denies: held against the model alone
  unsigned raw = 0;  ///< creations with numbers that fit did not make
  unsigned next_larger = 0;  ///< of those, probes of the next larger value
  unsigned next_by_driver = 0, next_by_copy = 0;  ///< of those, what was refused by each
  unsigned next_less = 0;       ///< of those, made with less, or refused when posted
  unsigned next_unjudged = 0;   ///< of those, refused by the shell, which shows nothing
  unsigned beyond_declared = 0;  ///< of those, taken although the device declares less
  unsigned filled = 0;  ///< objects that were posted to until they refused
  unsigned refused_by_driver = 0, refused_by_copy = 0, refused_by_shell = 0, refused_by_kernel = 0;
};

/// Holds what fit promises of a device against what the device does.
class Comparison {
public:
  /// `judged` is what the shells of NICs allow besides: the model's answer to each creation, the next larger value of
  /// what fit reduced, and posting until refused. On the kernel's own devices creation is held against the grant alone.
  /// `ring_budget`: bytes of ring that one object may take.
  Comparison(const verbena::Device& device, const verbena::Contract& contract, std::uint64_t seed, bool judged,
             std::optional<ModelCreation> model, std::uint64_t ring_budget);

  /// False when the device gives no PD, CQ or MR.
  bool start();
  void random_requests(unsigned count);
  void bounds();
  const Tally& tally() const noexcept { return tally_; }
  const Posting& posting() const noexcept { return posting_; }

private:
  enum class Size : std::uint8_t { small, any };
  void compare(const Wishes& wishes, Size size);
  void hold_grant(const Fitted& fitted, const Outcome& made);
  void hold_model(const Tuple& tuple, const Outcome& made);
  bool try_raw(const Wishes& wishes);
  /// The contract says that the device has no such object.
  bool denied(const Wishes& wishes) const;
  void compare_denied(const Wishes& wishes);
  void try_next_larger(const Wishes& wishes, const Fitted& fitted);
  unsigned& how_refused(const Outcome& made) noexcept;
  Outcome create(const Tuple& tuple);
  bool harmful(const Tuple& tuple) const;
  /// Taken, with as much of that number as was wanted, and no nonsense beside it.
  bool usable(const Tuple& tuple, std::size_t index, std::uint32_t wanted, const Outcome& made);
  void disagree(const std::string& text);

  const verbena::Device& device_;
  const verbena::Contract& contract_;
  bool judged_;
  std::uint64_t ring_budget_;
  std::optional<ModelCreation> model_;
  Draw draw_;
  Creation creation_;  // before posting_, which uses its PD
  Posting posting_;
  Tally tally_;
  bool disagreed_ = false;
};

}  // namespace agreement
