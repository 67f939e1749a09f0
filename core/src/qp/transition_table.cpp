// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "verbena/transition.hpp"

namespace verbena {
namespace {

// Sets of types and of states, so that one line of the table says what one line of the kernel's table says.
constexpr unsigned bit(QpType type) {
  return 1U << static_cast<unsigned>(type);
}
constexpr unsigned bit(ibv_qp_state state) {
  return 1U << static_cast<unsigned>(state);
}

constexpr unsigned kRc = bit(QpType::rc);
constexpr unsigned kUc = bit(QpType::uc);
constexpr unsigned kUd = bit(QpType::ud);
constexpr unsigned kConnected = kRc | kUc;
constexpr unsigned kEveryType = kRc | kUc | kUd;

constexpr unsigned kReset = bit(IBV_QPS_RESET);
constexpr unsigned kInit = bit(IBV_QPS_INIT);
constexpr unsigned kRtr = bit(IBV_QPS_RTR);
constexpr unsigned kRts = bit(IBV_QPS_RTS);
constexpr unsigned kSqd = bit(IBV_QPS_SQD);
constexpr unsigned kSqe = bit(IBV_QPS_SQE);
constexpr unsigned kErr = bit(IBV_QPS_ERR);
constexpr unsigned kEveryState = kReset | kInit | kRtr | kRts | kSqd | kSqe | kErr;
constexpr unsigned kAllButReset = kEveryState & ~kReset;

constexpr QpAttributes kCurState = IBV_QP_CUR_STATE;
constexpr QpAttributes kAccess = IBV_QP_ACCESS_FLAGS;
constexpr QpAttributes kPkey = IBV_QP_PKEY_INDEX;
constexpr QpAttributes kPort = IBV_QP_PORT;
constexpr QpAttributes kQkey = IBV_QP_QKEY;
constexpr QpAttributes kAv = IBV_QP_AV;
constexpr QpAttributes kMtu = IBV_QP_PATH_MTU;
constexpr QpAttributes kTimeout = IBV_QP_TIMEOUT;
constexpr QpAttributes kRetry = IBV_QP_RETRY_CNT;
constexpr QpAttributes kRnrRetry = IBV_QP_RNR_RETRY;
constexpr QpAttributes kRqPsn = IBV_QP_RQ_PSN;
constexpr QpAttributes kSqPsn = IBV_QP_SQ_PSN;
constexpr QpAttributes kReads = IBV_QP_MAX_QP_RD_ATOMIC;
constexpr QpAttributes kDestReads = IBV_QP_MAX_DEST_RD_ATOMIC;
constexpr QpAttributes kRnrTimer = IBV_QP_MIN_RNR_TIMER;
constexpr QpAttributes kAlt = IBV_QP_ALT_PATH;
constexpr QpAttributes kMig = IBV_QP_PATH_MIG_STATE;
constexpr QpAttributes kDestQpn = IBV_QP_DEST_QPN;
constexpr QpAttributes kNotify = IBV_QP_EN_SQD_ASYNC_NOTIFY;

struct Row {
  unsigned types;
  unsigned from;
  unsigned to;
  QpAttributes required;
  QpAttributes optional;
};

// Source: kernel drivers/infiniband/core/verbs.c, qp_state_table. An RC queue pair never enters SQE by the
// specification, yet the kernel's table lets it leave.
// clang-format off
constexpr std::array kTable{
    Row{kEveryType, kEveryState,  kReset, 0, 0},
    Row{kEveryType, kAllButReset, kErr,   0, 0},
    Row{kConnected, kReset, kInit, kPkey | kPort | kAccess, 0},
    Row{kUd,        kReset, kInit, kPkey | kPort | kQkey, 0},
    Row{kConnected, kInit,  kInit, 0, kPkey | kPort | kAccess},
    Row{kUd,        kInit,  kInit, 0, kPkey | kPort | kQkey},
    Row{kRc,        kInit,  kRtr,  kAv | kMtu | kDestQpn | kRqPsn | kDestReads | kRnrTimer, kAlt | kAccess | kPkey},
    Row{kUc,        kInit,  kRtr,  kAv | kMtu | kDestQpn | kRqPsn, kAlt | kAccess | kPkey},
    Row{kUd,        kInit,  kRtr,  0, kPkey | kQkey},
    Row{kRc,        kRtr,   kRts,  kTimeout | kRetry | kRnrRetry | kSqPsn | kReads, kCurState | kAlt | kAccess | kRnrTimer | kMig},
    Row{kUc,        kRtr,   kRts,  kSqPsn, kCurState | kAlt | kAccess | kMig},
    Row{kUd,        kRtr,   kRts,  kSqPsn, kCurState | kQkey},
    Row{kRc,        kRts,   kRts,  0, kCurState | kAccess | kAlt | kMig | kRnrTimer},
    Row{kUc,        kRts,   kRts,  0, kCurState | kAccess | kAlt | kMig},
    Row{kUd,        kRts,   kRts,  0, kCurState | kQkey},
    Row{kEveryType, kRts,   kSqd,  0, kNotify},
    Row{kRc,        kSqd,   kRts,  0, kCurState | kAlt | kAccess | kRnrTimer | kMig},
    Row{kUc,        kSqd,   kRts,  0, kCurState | kAlt | kAccess | kMig},
    Row{kUd,        kSqd,   kRts,  0, kCurState | kQkey},
    Row{kRc,        kSqd,   kSqd,  0, kPort | kAv | kTimeout | kRetry | kRnrRetry | kReads | kDestReads | kAlt | kAccess | kPkey | kRnrTimer | kMig},
    Row{kUc,        kSqd,   kSqd,  0, kAv | kAlt | kAccess | kPkey | kMig},
    Row{kUd,        kSqd,   kSqd,  0, kPkey | kQkey},
    Row{kRc,        kSqe,   kRts,  0, 0},
    Row{kUc,        kSqe,   kRts,  0, kCurState | kAccess},
    Row{kUd,        kSqe,   kRts,  0, kCurState | kQkey},
};
// clang-format on

constexpr std::size_t kTypes = 3;
constexpr std::size_t kStates = 7;
constexpr std::uint8_t kNone = 0xff;

// Which row an edge has, so that looking one up costs no search.
constexpr auto kRowOf = [] {
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

}  // namespace

std::optional<TransitionRow> find_transition(QpType type, ibv_qp_state from, ibv_qp_state to) noexcept {
  const auto index = [](auto value) { return static_cast<std::size_t>(value); };
  if (index(type) >= kTypes || index(from) >= kStates || index(to) >= kStates) return std::nullopt;
  const std::uint8_t row = kRowOf[index(type)][index(from)][index(to)];
  if (row == kNone) return std::nullopt;
  return TransitionRow{type, from, to, kTable[row].required, kTable[row].optional};
}

}  // namespace verbena
