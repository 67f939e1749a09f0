// SPDX-License-Identifier: Apache-2.0 OR MIT
// The table of transitions as data; find_transition() and settle_transition() look things up in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "verbena/transition.hpp"

namespace verbena::transitions {

// Sets of types and of states, so that one line of the table says what one line of the kernel's table says.
constexpr unsigned bit(QpType type) {
  return 1U << static_cast<unsigned>(type);
}
constexpr unsigned bit(ibv_qp_state state) {
  return 1U << static_cast<unsigned>(state);
}

inline constexpr unsigned kRc = bit(QpType::rc);
inline constexpr unsigned kUc = bit(QpType::uc);
inline constexpr unsigned kUd = bit(QpType::ud);
inline constexpr unsigned kConnected = kRc | kUc;
inline constexpr unsigned kEveryType = kRc | kUc | kUd;

inline constexpr unsigned kReset = bit(IBV_QPS_RESET);
inline constexpr unsigned kInit = bit(IBV_QPS_INIT);
inline constexpr unsigned kRtr = bit(IBV_QPS_RTR);
inline constexpr unsigned kRts = bit(IBV_QPS_RTS);
inline constexpr unsigned kSqd = bit(IBV_QPS_SQD);
inline constexpr unsigned kSqe = bit(IBV_QPS_SQE);
inline constexpr unsigned kErr = bit(IBV_QPS_ERR);
inline constexpr unsigned kEveryState = kReset | kInit | kRtr | kRts | kSqd | kSqe | kErr;
inline constexpr unsigned kAllButReset = kEveryState & ~kReset;

inline constexpr QpAttributes kCurState = IBV_QP_CUR_STATE;
inline constexpr QpAttributes kAccess = IBV_QP_ACCESS_FLAGS;
inline constexpr QpAttributes kPkey = IBV_QP_PKEY_INDEX;
inline constexpr QpAttributes kPort = IBV_QP_PORT;
inline constexpr QpAttributes kQkey = IBV_QP_QKEY;
inline constexpr QpAttributes kAv = IBV_QP_AV;
inline constexpr QpAttributes kMtu = IBV_QP_PATH_MTU;
inline constexpr QpAttributes kTimeout = IBV_QP_TIMEOUT;
inline constexpr QpAttributes kRetry = IBV_QP_RETRY_CNT;
inline constexpr QpAttributes kRnrRetry = IBV_QP_RNR_RETRY;
inline constexpr QpAttributes kRqPsn = IBV_QP_RQ_PSN;
inline constexpr QpAttributes kSqPsn = IBV_QP_SQ_PSN;
inline constexpr QpAttributes kReads = IBV_QP_MAX_QP_RD_ATOMIC;
inline constexpr QpAttributes kDestReads = IBV_QP_MAX_DEST_RD_ATOMIC;
inline constexpr QpAttributes kRnrTimer = IBV_QP_MIN_RNR_TIMER;
inline constexpr QpAttributes kAlt = IBV_QP_ALT_PATH;
inline constexpr QpAttributes kMig = IBV_QP_PATH_MIG_STATE;
inline constexpr QpAttributes kDestQpn = IBV_QP_DEST_QPN;
inline constexpr QpAttributes kNotify = IBV_QP_EN_SQD_ASYNC_NOTIFY;

/// What a transition takes besides IBV_QP_STATE.
struct Masks {
  QpAttributes required = 0;
  QpAttributes optional = 0;
};

struct Row {
  unsigned types;
  unsigned from;
  unsigned to;
  Masks masks;
};

// Source: kernel drivers/infiniband/core/verbs.c, qp_state_table. An RC queue pair never enters SQE by the
// specification, yet the kernel's table lets it leave.
// clang-format off
inline constexpr std::array kTable{
    Row{kEveryType, kEveryState,  kReset, {0, 0}},
    Row{kEveryType, kAllButReset, kErr,   {0, 0}},
    Row{kConnected, kReset, kInit, {kPkey | kPort | kAccess, 0}},
    Row{kUd,        kReset, kInit, {kPkey | kPort | kQkey, 0}},
    Row{kConnected, kInit,  kInit, {0, kPkey | kPort | kAccess}},
    Row{kUd,        kInit,  kInit, {0, kPkey | kPort | kQkey}},
    Row{kRc,        kInit,  kRtr,  {kAv | kMtu | kDestQpn | kRqPsn | kDestReads | kRnrTimer, kAlt | kAccess | kPkey}},
    Row{kUc,        kInit,  kRtr,  {kAv | kMtu | kDestQpn | kRqPsn, kAlt | kAccess | kPkey}},
    Row{kUd,        kInit,  kRtr,  {0, kPkey | kQkey}},
    Row{kRc,        kRtr,   kRts,  {kTimeout | kRetry | kRnrRetry | kSqPsn | kReads, kCurState | kAlt | kAccess | kRnrTimer | kMig}},
    Row{kUc,        kRtr,   kRts,  {kSqPsn, kCurState | kAlt | kAccess | kMig}},
    Row{kUd,        kRtr,   kRts,  {kSqPsn, kCurState | kQkey}},
    Row{kRc,        kRts,   kRts,  {0, kCurState | kAccess | kAlt | kMig | kRnrTimer}},
    Row{kUc,        kRts,   kRts,  {0, kCurState | kAccess | kAlt | kMig}},
    Row{kUd,        kRts,   kRts,  {0, kCurState | kQkey}},
    Row{kEveryType, kRts,   kSqd,  {0, kNotify}},
    Row{kRc,        kSqd,   kRts,  {0, kCurState | kAlt | kAccess | kRnrTimer | kMig}},
    Row{kUc,        kSqd,   kRts,  {0, kCurState | kAlt | kAccess | kMig}},
    Row{kUd,        kSqd,   kRts,  {0, kCurState | kQkey}},
    Row{kRc,        kSqd,   kSqd,  {0, kPort | kAv | kTimeout | kRetry | kRnrRetry | kReads | kDestReads | kAlt | kAccess | kPkey | kRnrTimer | kMig}},
    Row{kUc,        kSqd,   kSqd,  {0, kAv | kAlt | kAccess | kPkey | kMig}},
    Row{kUd,        kSqd,   kSqd,  {0, kPkey | kQkey}},
    Row{kRc,        kSqe,   kRts,  {0, 0}},
    Row{kUc,        kSqe,   kRts,  {0, kCurState | kAccess}},
    Row{kUd,        kSqe,   kRts,  {0, kCurState | kQkey}},
};
// clang-format on

inline constexpr std::size_t kTypes = 3;
inline constexpr std::size_t kStates = 8;  ///< one more than there are: a power of two
inline constexpr std::uint8_t kNone = 0xff;

// Which row an edge has, so that looking one up costs no search.
inline constexpr auto kRowOf = [] {
  std::array<std::array<std::array<std::uint8_t, kStates>, kStates>, kTypes> rows{};
  for (std::size_t type = 0; type < kTypes; ++type) {
    for (std::size_t from = 0; from < kStates; ++from) {
      for (std::size_t to = 0; to < kStates; ++to) {
        rows[type][from][to] = kNone;
        for (std::size_t i = kTable.size(); i-- > 0;) {
          const Row& row = kTable[i];
          if ((row.types >> type & row.from >> from & row.to >> to & 1U) != 0) {
            rows[type][from][to] = static_cast<std::uint8_t>(i);
          }
        }
      }
    }
  }
  return rows;
}();

/// Null where there is no such transition. Inline, so that planning one is a single function.
constexpr const Masks* masks_of(QpType type, ibv_qp_state from, ibv_qp_state to) noexcept {
  const auto index = [](auto value) { return static_cast<std::size_t>(value); };
  if (index(type) >= kTypes || (index(from) | index(to)) >= kStates) return nullptr;
  const std::uint8_t row = kRowOf[index(type)][index(from)][index(to)];
  return row == kNone ? nullptr : &kTable[row].masks;
}

/// mtu_bytes(), inline for the same reason.
constexpr std::uint32_t bytes_of(ibv_mtu mtu) noexcept {
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << static_cast<unsigned>(mtu) : 0U;
}

}  // namespace verbena::transitions
