// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace verbena {

/// What may be done when a wish cannot be met.
enum class Policy : std::uint8_t {
  require,  ///< a shortfall or a change of meaning is an error
  prefer,   ///< adapt and report
  allow,    ///< adapt, recorded in the grant only (no log line)
};
std::string_view name(Policy policy) noexcept;
std::optional<Policy> find_policy(std::string_view name) noexcept;

/// A number that the caller wants. Left out, `at_least` is an eighth of the wish (rounded up) for depths and
/// completion queues, 1 for SGEs (0 when the wish is 0) and 0 for inline bytes.
struct Wish {
  std::uint32_t want = 0;
  std::optional<std::uint32_t> at_least{};   ///< never granted less; above `want` is an invalid request
  std::optional<Policy> policy{};            ///< for this field; left out: the request's

  friend bool operator==(const Wish&, const Wish&) = default;
};

enum class QpType : std::uint8_t { rc, uc, ud };
std::string_view name(QpType type) noexcept;
std::optional<QpType> find_qp_type(std::string_view name) noexcept;

/// Opcodes that a queue will be asked to post. Bits are IBV_QP_EX_WITH_*.
struct SendOps {
  std::uint64_t bits = 0;

  static constexpr std::uint64_t kRdmaWrite = 1U << 0, kRdmaWriteWithImm = 1U << 1, kSend = 1U << 2,
                                 kSendWithImm = 1U << 3, kRdmaRead = 1U << 4, kCompareSwap = 1U << 5,
                                 kFetchAdd = 1U << 6, kLocalInv = 1U << 7, kBindMw = 1U << 8, kSendWithInv = 1U << 9,
                                 kTso = 1U << 10, kFlush = 1U << 11, kAtomicWrite = 1U << 12;
  /// Nothing said: whatever the type allows may be posted.
  static constexpr SendOps all() noexcept { return SendOps{0}; }
  constexpr bool is_all() const noexcept { return bits == 0; }
  constexpr bool has(std::uint64_t op) const noexcept { return bits == 0 || (bits & op) != 0; }
  friend bool operator==(const SendOps&, const SendOps&) = default;
};
/// `send+write+read`; `all` when nothing is named.
std::string to_string(SendOps ops);
/// Reads the form that to_string writes (names: send, send_imm, send_inv, write, write_imm, read, cmp_swap,
/// fetch_add, atomic, atomic_write, flush, local_inv, bind_mw, tso, all); empty for an unknown name.
std::optional<SendOps> parse_send_ops(std::string_view text);

/// Which of a ring's competitors gives way first.
enum class Competitor : std::uint8_t { inline_data, depth, sges };

struct QpRequest {
  QpType type = QpType::rc;
  SendOps ops = SendOps::all();
  Wish max_send_wr{1}, max_recv_wr{1}, max_send_sge{1}, max_recv_sge{1}, max_inline_data{0};
  /// Receives come from an SRQ, and verbs ignores the receive numbers then (man ibv_create_qp): one with a floor above
  /// 0 or under `require` is refused, another is granted as 0 with an adjustment. A wish of 1 with nothing else said is
  /// what stands here where nobody set it, and counts as nothing asked.
  bool srq = false;
  bool sq_sig_all = false;
  /// The queue pair is made by a call that tells the driver `ops` where the device takes that (ibv_create_qp_ex with
  /// send_ops_flags). False for a caller of ibv_create_qp, whose driver makes room for whatever the type allows.
  bool declare_ops = true;
  /// The device itself writes what arrives to its buffer, before the completion: for memory that the CPU cannot
  /// write (a GPU's), and for callers that watch the buffer. Refused by `in_place_data` where a driver leaves
  /// small messages in the completion, to be copied when it is polled, and cannot be told not to.
  bool in_place = false;
  Policy policy = Policy::prefer;  ///< for every number that names none of its own
  Policy substitutes = Policy::require;  ///< for substitutes that change ordering, atomicity or completions
  std::array<Competitor, 3> give_way{Competitor::inline_data, Competitor::depth, Competitor::sges};

  friend bool operator==(const QpRequest&, const QpRequest&) = default;
};

struct CqRequest {
  Wish cqe{1};
  std::uint32_t comp_vector = 0;
  std::uint64_t wc_flags = 0;  ///< IBV_WC_EX_*; 0: a plain CQ
  bool single_threaded = false;
  bool ignore_overrun = false;
  Policy policy = Policy::prefer;

  friend bool operator==(const CqRequest&, const CqRequest&) = default;
};

struct SrqRequest {
  Wish max_wr{1}, max_sge{1};
  /// The event is raised when fewer receives than that are left. Above the wish for max_wr it contradicts the request;
  /// above what is granted of that, it is reduced, or refused under `require`.
  std::uint32_t srq_limit = 0;
  Policy policy = Policy::prefer;

  friend bool operator==(const SrqRequest&, const SrqRequest&) = default;
};

/// Where a region's bytes live. No substitute that touches bytes with the CPU is applied to device memory.
enum class MemoryKind : std::uint8_t { host, device };

struct MrRequest {
  std::uint64_t length = 0;  ///< bytes; 0 is refused by name
  std::uint32_t access = 0;  ///< IBV_ACCESS_*
  MemoryKind kind = MemoryKind::host;
  std::optional<std::uint64_t> iova{};
  /// For access flags that permit what the device has not (atomics, windows, FLUSH): `require` refuses them, the others
  /// leave them out. On-demand and zero-based regions are refused in any case; hints are left out in any case.
  Policy policy = Policy::prefer;

  friend bool operator==(const MrRequest&, const MrRequest&) = default;
};

}  // namespace verbena
#pragma GCC visibility pop
