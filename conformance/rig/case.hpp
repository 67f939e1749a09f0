// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "report/run.hpp"
#include "rig/way.hpp"
#include "verbena/contract.hpp"
#include "verbena/device.hpp"
#include "verbena/library.hpp"

namespace conform {

/// The second device's host, where that is another one.
struct Far {
  const verbena::Library* library = nullptr;  ///< that opened the second device
  bool same_host = false;                     ///< it is this host after all
  std::function<std::string()> lost;          ///< why it can't be reached any more; empty: it can
};

/// What a case runs on: a device, and a second one where the run has two (else the same).
struct Ground {
  std::shared_ptr<verbena::Verbs> verbs;
  const verbena::Library* library = nullptr;
  std::optional<verbena::Device> device;
  std::optional<verbena::Device> other;
  std::uint8_t port = 1;
  std::uint8_t other_port = 1;
  std::optional<Far> far;
  std::uint64_t seed = 1;
  bool alone = true;                              ///< nobody else uses the device: limits may be exhausted
  bool made_by_libibverbs = true;  ///< false on an emulated NIC: what only libibverbs exports fails there
  bool carries_data = true;  ///< false on a device shell: what is posted never completes
  std::chrono::milliseconds completion_within{5000};  ///< how long a completion may take
};

/// What a body throws to end early; the runner turns it into a verdict.
struct Stop {
  enum class Why : std::uint8_t {
    blocked,  ///< the environment lacks something; `word` is one of a requirement's setup words
    absent,  ///< the device says that it has no such thing, and refused it cleanly; or, with a field's name as `word`,
             ///< the contract grants less of that field than the case is about
    elsewhere,  ///< the rest is for another run, which has what `word` names
    broken,  ///< what the case stands on failed; the finding is recorded
  };
  Why why = Why::blocked;
  std::string word;
  std::string text;
};

/// One run of one case in one column: what it may use, and what it reports. A body reports by findings; one without any
/// has shown that what must hold does. It never asks for the name of a driver.
class Case {
public:
  Case(std::string id, std::map<std::string, std::string> row, std::vector<std::string> covers, const Ground& ground,
       std::unique_ptr<Way> way, std::unique_ptr<Way> other_way = nullptr);

  const std::string& id() const noexcept { return id_; }
  /// A value of this row of the case's table: `with("opcode")`. A key that isn't there is a fault of the list.
  const std::string& with(std::string_view key) const;
  bool has(std::string_view key) const;

  Way& way() noexcept { return *way_; }
  /// On the run's second device; where there is one device only, way() itself.
  Way& other_way() noexcept { return other_way_ ? *other_way_ : *way_; }
  const verbena::Device& other() const noexcept { return ground_.other ? *ground_.other : *ground_.device; }
  bool through_verbena() const noexcept { return way_->through_verbena(); }
  const Ground& ground() const noexcept { return ground_; }
  verbena::Verbs& verbs() const noexcept { return *ground_.verbs; }
  const verbena::Device& device() const noexcept { return *ground_.device; }
  ibv_context* context() const noexcept { return device().raw(); }
  std::uint8_t port() const noexcept { return ground_.port; }
  const verbena::Contract& contract() const noexcept { return *contract_; }
  const verbena::Caps& caps() const noexcept { return device().caps(); }
  bool native(verbena::Feature feature) const;
  /// Native, or substituted in the column through Verbena.
  bool there(verbena::Feature feature) const;
  /// Of those that the case names (all, when it names none), the queue pair types that the contract doesn't deny.
  std::vector<verbena::QpType> qp_types() const;
  /// The wish, brought into the field's domain.
  std::uint32_t within(verbena::Field field, std::uint32_t wish) const;
  std::mt19937_64& random() noexcept { return random_; }

  // Findings. Each of these returns whether it held, and says in `what` which call or state is meant.
  /// A call that must succeed; `error` is a positive errno or 0.
  bool accepted(int error, std::string_view what);
  /// One that was refused ends the case, as absent by the contract, where that grants none of its kind.
  template <class T>
  bool accepted(const Object<T>& object, std::string_view what) {
    if (!object) needs_any(object);
    return accepted(object ? 0 : object.error(), what);
  }
  /// A call that must fail; with one of `errnos` where any are named.
  bool refused(int error, std::string_view what, std::initializer_list<int> errnos = {});
  /// A refusal shows nothing, and ends the case in the same way, where none of that kind is made.
  template <class T>
  bool refused(const Object<T>& object, std::string_view what, std::initializer_list<int> errnos = {}) {
    if (!object) needs_any(object);
    return refused(object ? 0 : object.error(), what, errnos);
  }
  /// A value that was read back.
  template <class A, class B>
  bool equal(const A& is, const B& must, std::string_view what) {
    if (is == must) return true;
    value(what, text_of(is), text_of(must));
    return false;
  }
  bool holds(bool condition, Seen seen, std::string_view what);
  /// A completion of this status; the text names wr_id and vendor_err.
  bool completed(const std::optional<ibv_wc>& wc, ibv_wc_status status, std::string_view what);
  bool in_state(ibv_qp* qp, ibv_qp_state state, std::string_view what);
  void finding(Finding finding);

  /// The findings from here on are about this one of the requirements that the case covers; empty: about each.
  void about(std::string requirement);
  void note(std::string text);

  [[noreturn]] void blocked(std::string word, std::string text) const;
  [[noreturn]] void absent(std::string text) const;
  /// Ends the case where nothing that is posted completes: what it has shown so far stays, the rest is for another run.
  void needs_data() const;
  /// Ends the case where libibverbs itself, of which the table of verbs has no word, can't be asked of the context.
  void needs_libibverbs() const;
  /// Ends the case, as absent by the contract, whose field or behaviour `word` says so.
  [[noreturn]] void denied(std::string word, std::string text) const;
  /// Ends the case, as absent by the contract, unless the contract grants so much of the field.
  void needs_grant(verbena::Field field, std::uint64_t value) const;
  /// Ends the case, as absent by the contract, where that has no queue pair of a type of verbs' own.
  void needs_queue_pairs() const;
  /// Throws unless `held`: what follows makes no sense without it.
  void need(bool held) const;
  /// As accepted(), and ends the case where it wasn't.
  template <class T>
  Object<T> made(Object<T> object, std::string_view what) {
    need(accepted(object, what));
    return object;
  }

  const std::vector<Finding>& findings() const noexcept { return findings_; }
  const std::vector<std::string>& notes() const noexcept { return notes_; }
  const std::vector<std::string>& covers() const noexcept { return covers_; }

private:
  template <class T>
  void needs_any(const Object<T>& /*refused*/) const {
    if constexpr (std::is_same_v<T, ibv_cq>) needs_grant(verbena::Field::max_cq, 1);
    if constexpr (std::is_same_v<T, ibv_qp>) needs_grant(verbena::Field::max_qp, 1);
    if constexpr (std::is_same_v<T, ibv_srq>) needs_grant(verbena::Field::max_srq, 1);
    if constexpr (std::is_same_v<T, ibv_mr>) needs_grant(verbena::Field::max_mr, 1);
    if constexpr (std::is_same_v<T, ibv_mw>) needs_grant(verbena::Field::max_mw, 1);
    if constexpr (std::is_same_v<T, ibv_ah>) needs_grant(verbena::Field::max_ah, 1);
  }
  void value(std::string_view what, const std::string& is, const std::string& must);
  template <class T>
  static std::string text_of(const T& value) {
    if constexpr (std::is_enum_v<T>)
      return std::to_string(static_cast<long long>(value));
    else if constexpr (std::is_arithmetic_v<T>)
      return std::to_string(value);
    else
      return std::string(value);
  }

  std::string id_;
  std::map<std::string, std::string> row_;
  std::vector<std::string> covers_;
  const Ground& ground_;
  std::unique_ptr<Way> way_;
  std::unique_ptr<Way> other_way_;
  std::shared_ptr<const verbena::Contract> contract_;
  std::mt19937_64 random_;
  std::string about_;
  std::vector<Finding> findings_;
  std::vector<std::string> notes_;
};

/// A body: what a case does.
struct Body {
  std::string_view id;  ///< of the case, or the name under which rows of a table call it
  void (*run)(Case&) = nullptr;
};
using Bodies = std::span<const Body>;

}  // namespace conform
