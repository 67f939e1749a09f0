// SPDX-License-Identifier: Apache-2.0 OR MIT
// Queue pairs moved as the kernel's table lets them, and as the driver of the model then does.
#include <linux/capability.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "engine/wire/mtu.hpp"
#include "nic/attribute_table.hpp"
#include "nic/faults.hpp"
#include "verbs/emulated_verbs.hpp"
#include "verbs/offloaded_moves.hpp"

namespace verbena::emulator {

namespace {

constexpr unsigned kRemoteAccess = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

/// One call of ibv_modify_qp.
struct Move {
  Nic& nic;
  Qp& qp;
  const ibv_qp_attr& asked;
  int mask;
  ibv_qp_state from;
  ibv_qp_state to;

  const Profile& profile() const noexcept { return nic.profile(); }
  bool names(int bits) const noexcept { return (mask & bits) != 0; }
  std::uint8_t port() const noexcept { return names(IBV_QP_PORT) ? asked.port_num : qp.qp.attr.port_num; }
};

std::uint8_t rounded(const Profile& profile, std::uint8_t depth) {
  if (profile.does(Behaviour::rd_atomic_rounding) != Choice::power_of_two || depth == 0) return depth;
  const unsigned up = std::bit_ceil(static_cast<unsigned>(depth));
  const bool wraps = profile.deviates(Deviation::responder_depth_wraps);
  return static_cast<std::uint8_t>(wraps ? up : std::min(up, 255U));
}

/// As the driver keeps a depth: cut to the limit where it does that, then rounded.
std::uint8_t depth_kept(const Profile& profile, Cap limit, std::uint8_t depth) {
  if (profile.does(Behaviour::rd_atomic_over_limit) == Choice::clamped)
    depth = static_cast<std::uint8_t>(std::min<std::uint64_t>(depth, profile.figure(limit)));
  return rounded(profile, depth);
}

/// Whether the move exists and takes these attributes.
bool in_table(const Move& move) {
  const Profile& profile = move.profile();
  // linux drivers/infiniband/core/uverbs_cmd.c modify_qp looks at these before any driver does.
  if (move.names(IBV_QP_CUR_STATE) && move.asked.cur_qp_state > IBV_QPS_ERR) return false;
  if (move.to > IBV_QPS_ERR) return false;
  ibv_qp_state from = move.from;
  if (move.names(IBV_QP_CUR_STATE)) {
    const bool unread = profile.deviates(Deviation::cur_state_unread);
    if (profile.deviates(Deviation::cur_state_believed)) {
      from = move.asked.cur_qp_state;
    } else if (!unread && move.asked.cur_qp_state != from) {
      return false;
    }
  }
  if (!move.names(IBV_QP_STATE) && profile.deviates(Deviation::mask_without_state_unchecked)) return true;
  int mask = move.mask;
  if (profile.does(Behaviour::superfluous_attributes) == Choice::ignored) {
    if (const auto taken = attributes_of(move.qp.qp.type, from, move.to); taken)
      mask &= IBV_QP_STATE | taken->required | taken->optional;
  }
  return allowed(move.qp.qp.type, from, move.to, mask);
}

/// The numbers alone; 0 or an errno.
int judge_values(const Move& move) {
  const Profile& profile = move.profile();
  const ibv_qp_attr& asked = move.asked;
  if (move.names(IBV_QP_PORT) && (asked.port_num == 0 || asked.port_num > move.nic.ports())) return EINVAL;
  if (move.names(IBV_QP_PKEY_INDEX) && !profile.deviates(Deviation::pkey_index_unchecked) &&
      asked.pkey_index >= std::max<std::uint64_t>(1, profile.figure(move.port(), PortCap::pkey_tbl_len)))
    return EINVAL;
  if (move.names(IBV_QP_PATH_MTU)) {
    const bool none = asked.path_mtu < IBV_MTU_256 && !profile.deviates(Deviation::path_mtu_zero_taken);
    if (none || asked.path_mtu > IBV_MTU_4096) return EINVAL;
    const bool over = engine::wire::mtu_bytes(asked.path_mtu) > move.nic.active_mtu(move.port());
    if (over && profile.does(Behaviour::path_mtu_over_port) == Choice::refused) return EINVAL;
  }
  const bool limited = profile.does(Behaviour::rd_atomic_over_limit) != Choice::clamped;
  if (move.names(IBV_QP_MAX_QP_RD_ATOMIC) && limited && asked.max_rd_atomic > profile.figure(Cap::max_qp_init_rd_atom))
    return EINVAL;
  if (move.names(IBV_QP_MAX_DEST_RD_ATOMIC) && limited && !profile.deviates(Deviation::responder_depth_wraps) &&
      asked.max_dest_rd_atomic > profile.figure(Cap::max_qp_rd_atom))
    return EINVAL;
  constexpr unsigned kFiveBits = 31;
  constexpr unsigned kThreeBits = 7;
  const bool counts =
      profile.deviates(Deviation::retry_counts_unchecked) || profile.deviates(Deviation::retry_counts_cut);
  if (move.names(IBV_QP_TIMEOUT) && asked.timeout > kFiveBits && !profile.deviates(Deviation::timeout_unchecked))
    return EINVAL;
  if (move.names(IBV_QP_RETRY_CNT) && asked.retry_cnt > kThreeBits && !counts) return EINVAL;
  if (move.names(IBV_QP_RNR_RETRY) && asked.rnr_retry > kThreeBits && !counts) return EINVAL;
  if (move.names(IBV_QP_MIN_RNR_TIMER) && asked.min_rnr_timer > kFiveBits) return EINVAL;
  if (move.names(IBV_QP_ALT_PATH)) return EINVAL;  // InfiniBand alone has a second path
  constexpr std::uint32_t kControlled = 0x80000000;
  // linux core/uverbs_cmd.c modify_qp.
  if (move.names(IBV_QP_QKEY) && (asked.qkey & kControlled) != 0 && !capable(CAP_NET_RAW)) return EPERM;
  return 0;
}

/// 0, or the errno that the move is refused with.
int judge(const Move& move) {
  const Profile& profile = move.profile();
  if (!in_table(move)) return EINVAL;
  if (move.to == IBV_QPS_SQD && !profile.has(Feature::sqd)) return EINVAL;
  if (move.qp.spoiled && move.to == IBV_QPS_INIT) return EINVAL;
  // InfiniBand specification, volume 1, send queue drain: not while it drains.
  if (move.from == IBV_QPS_SQD && move.to == IBV_QPS_RTS && move.qp.qp.draining) return EINVAL;
  const bool wants_timer = profile.does(Behaviour::rtr_to_rts_also_needs) == Choice::min_rnr_timer;
  if (wants_timer && move.qp.qp.type == IBV_QPT_RC && move.from == IBV_QPS_RTR && move.to == IBV_QPS_RTS &&
      !move.names(IBV_QP_MIN_RNR_TIMER))
    return EINVAL;
  return judge_values(move);
}

/// What ibv_modify_qp leaves of access flags, over those of before.
unsigned access_kept(const Profile& profile, unsigned before, unsigned asked) {
  switch (profile.does(Behaviour::qp_access_flags)) {
    case Choice::grow_only:
      return asked | (before & kRemoteAccess);
    case Choice::remote_always_on:
      return asked | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    default:
      return asked;
  }
}

std::uint8_t retries_kept(const Profile& profile, std::uint8_t asked) {
  return profile.deviates(Deviation::retry_counts_cut) ? asked & 7U : asked;
}

/// The attributes that are named, as the driver keeps them.
void store(const Move& move) {
  const Profile& profile = move.profile();
  const ibv_qp_attr& asked = move.asked;
  ibv_qp_attr& mine = move.qp.qp.attr;
  const auto take = [&move](int bit, auto& own, const auto& given) {
    if (move.names(bit)) own = given;
  };
  take(IBV_QP_PORT, mine.port_num, asked.port_num);
  take(IBV_QP_PKEY_INDEX, mine.pkey_index, asked.pkey_index);
  take(IBV_QP_ACCESS_FLAGS, mine.qp_access_flags, access_kept(profile, mine.qp_access_flags, asked.qp_access_flags));
  take(IBV_QP_QKEY, mine.qkey, asked.qkey);
  take(IBV_QP_AV, mine.ah_attr, asked.ah_attr);
  take(IBV_QP_PATH_MTU, mine.path_mtu, asked.path_mtu);
  // A code above the largest is dropped (linux drivers/infiniband/hw/hns/hns_roce_hw_v2.c check_qp_timeout_cfg_range).
  constexpr std::uint8_t kLargestTimeout = 20;
  if (profile.does(Behaviour::ack_timeout) != Choice::clamped || asked.timeout <= kLargestTimeout)
    take(IBV_QP_TIMEOUT, mine.timeout, static_cast<std::uint8_t>(asked.timeout & 31U));
  take(IBV_QP_RETRY_CNT, mine.retry_cnt, retries_kept(profile, asked.retry_cnt));
  take(IBV_QP_RNR_RETRY, mine.rnr_retry, retries_kept(profile, asked.rnr_retry));
  take(IBV_QP_MIN_RNR_TIMER, mine.min_rnr_timer, asked.min_rnr_timer);
  take(IBV_QP_RQ_PSN, mine.rq_psn, asked.rq_psn & 0xffffff);
  take(IBV_QP_SQ_PSN, mine.sq_psn, asked.sq_psn & 0xffffff);
  take(IBV_QP_DEST_QPN, mine.dest_qp_num, asked.dest_qp_num & 0xffffff);
  take(IBV_QP_EN_SQD_ASYNC_NOTIFY, mine.en_sqd_async_notify, asked.en_sqd_async_notify);
  take(IBV_QP_PATH_MIG_STATE, mine.path_mig_state, asked.path_mig_state);
  take(IBV_QP_MAX_QP_RD_ATOMIC, mine.max_rd_atomic, depth_kept(profile, Cap::max_qp_init_rd_atom, asked.max_rd_atomic));
  take(IBV_QP_MAX_DEST_RD_ATOMIC, mine.max_dest_rd_atomic,
       depth_kept(profile, Cap::max_qp_rd_atom, asked.max_dest_rd_atomic));
  const auto port_mtu = static_cast<ibv_mtu>(engine::wire::mtu_code(move.nic.active_mtu(move.port())));
  if (profile.does(Behaviour::path_mtu_over_port) == Choice::clamped && mine.path_mtu > port_mtu)
    mine.path_mtu = port_mtu;
  // A datagram is as long as the port lets it be.
  if (move.qp.qp.type == IBV_QPT_UD && move.names(IBV_QP_PORT)) mine.path_mtu = port_mtu;
}

/// What a move to RESET leaves behind.
void reset(const Move& move) {
  const Profile& profile = move.profile();
  Qp& qp = move.qp;
  if (profile.does(Behaviour::reset_removes_completions) != Choice::no) {
    qp.send_cq->queue.purge(qp.qp.number);
    qp.recv_cq->queue.purge(qp.qp.number);
  }
  const bool fresh = move.from == IBV_QPS_RESET;
  if (fresh ? profile.does(Behaviour::noop_reset) == Choice::spoils
            : profile.does(Behaviour::recycle_through_reset) == Choice::no) {
    qp.spoiled = true;
  }
  move.nic.counts.read_atomics -= qp.read_atomics;
  qp.read_atomics = 0;
}

}  // namespace

int EmulatedVerbs::modify_qp(ibv_qp* plain, ibv_qp_attr& attr, int mask) {
  const std::scoped_lock lock(host_->mutex);
  Qp& qp = of<Qp>(reinterpret_cast<ibv_qp_ex*>(plain));
  engine::transport::QueuePair& engine_qp = qp.qp;
  Nic& nic = nic_of(plain->context);
  if (const auto done = moved_offloaded(nic.profile(), engine_qp, attr, mask)) return *done;
  const ibv_qp_state from = engine_qp.state;
  const Move move{nic, qp, attr, mask, from, (mask & IBV_QP_STATE) != 0 ? attr.qp_state : from};
  engine::queues::Address route = engine_qp.route;
  int error = judge(move);
  if (error == 0 && move.names(IBV_QP_AV)) {
    error = attr.ah_attr.port_num != move.port() ? EINVAL : nic.resolve(attr.ah_attr, route);
  }
  const std::uint64_t wanted = depth_kept(nic.profile(), Cap::max_qp_rd_atom, attr.max_dest_rd_atomic);
  if (error == 0 && move.names(IBV_QP_MAX_DEST_RD_ATOMIC)) error = faults::in_rtr(nic, qp.read_atomics, wanted);
  if (error != 0) {
    if (nic.profile().deviates(Deviation::stored_before_check)) store(move);
    return error;
  }
  store(move);
  if (move.names(IBV_QP_MAX_DEST_RD_ATOMIC)) {
    nic.counts.read_atomics += wanted - qp.read_atomics;
    qp.read_atomics = wanted;
  }
  engine_qp.route = route;
  engine_qp.route.udp.source_port = static_cast<std::uint16_t>(0xc000 | (engine_qp.number & 0x3fff));
  if (!move.names(IBV_QP_STATE)) return 0;
  const ibv_qp_state to = move.to;
  if (to == IBV_QPS_RESET) reset(move);
  if (to != from || to == IBV_QPS_RESET || to == IBV_QPS_ERR) nic.adapter().enter(engine_qp, to);
  if (to == IBV_QPS_RESET) engine_qp.attr = {};
  plain->state = to;
  host_->progress();
  return 0;
}

}  // namespace verbena::emulator
