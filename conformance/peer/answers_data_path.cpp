// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <cerrno>
#include <deque>

#include "peer/answers.hpp"
#include "peer/shadows.hpp"

namespace conform::peer {

namespace {

constexpr int kMostPolled = 4096;

bool take_sges(Packet& in, std::vector<ibv_sge>& list) {
  const auto count = in.get<std::uint32_t>();
  if (count > in.left() / sizeof(ibv_sge)) return false;
  list.resize(count);
  for (ibv_sge& sge : list) in.get(sge);
  return true;
}

/// What was returned, sign and all, and the place of the request that was refused.
template <class Wr>
void put_returned(Packet& out, int returned, const std::vector<Wr>& list, const Wr* bad) {
  std::int32_t place = -1;
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (&list[at] == bad) place = static_cast<std::int32_t>(at);
  }
  out.put(returned);
  out.put(place);
}

template <class Wr>
void chain(std::vector<Wr>& list) {
  for (std::size_t at = 0; at < list.size(); ++at) list[at].next = at + 1 < list.size() ? &list[at + 1] : nullptr;
}

}  // namespace

int Answers::post_send(Packet& in, Packet& out) {
  ibv_qp* qp = taken(in, qps_);
  const auto count = in.get<std::uint32_t>();
  if (qp == nullptr || count == 0 || count > in.left() / sizeof(ibv_send_wr)) return EINVAL;
  std::vector<ibv_send_wr> list(count);
  std::vector<std::vector<ibv_sge>> sges(count);
  std::deque<std::vector<std::uint8_t>> payloads;  // of inline requests, whose bytes came along
  for (std::uint32_t at = 0; at < count; ++at) {
    ibv_send_wr& wr = list[at];
    in.get(wr);
    if (!take_sges(in, sges[at])) return EINVAL;
    wr.sg_list = sges[at].data();
    if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
      for (ibv_sge& sge : sges[at]) {
        const std::uint8_t* bytes = in.take(sge.length);
        if (bytes == nullptr) return EINVAL;
        payloads.emplace_back(bytes, bytes + sge.length);
        sge.addr = reinterpret_cast<std::uintptr_t>(payloads.back().data());
      }
    }
    if (qp->qp_type == IBV_QPT_UD) wr.wr.ud.ah = taken(in, ahs_);
    if (wr.opcode == IBV_WR_BIND_MW) {
      wr.bind_mw.mw = taken(in, mws_);
      const auto rkey = in.get<std::uint32_t>();
      wr.bind_mw.bind_info.mr = taken(in, mrs_);
      if (wr.bind_mw.mw == nullptr) return EINVAL;
      wr.bind_mw.mw->rkey = rkey;
    } else if (wr.opcode == IBV_WR_TSO) {
      return EOPNOTSUPP;  // its header is memory that nobody sent
    }
  }
  if (!in.good()) return EINVAL;
  chain(list);
  ibv_send_wr* bad = nullptr;
  const int returned = qp->context->ops.post_send(qp, list.data(), &bad);
  put_returned(out, returned, list, bad);
  return 0;
}

int Answers::post_recv(Call call, Packet& in, Packet& out) {
  const auto id = in.get<std::uint32_t>();
  ibv_qp* qp = call == Call::post_recv ? qps_.at(id) : nullptr;
  ibv_srq* srq = call == Call::post_srq_recv ? srqs_.at(id) : nullptr;
  const auto count = in.get<std::uint32_t>();
  if ((qp == nullptr && srq == nullptr) || count == 0 || count > in.left() / sizeof(ibv_recv_wr)) return EINVAL;
  std::vector<ibv_recv_wr> list(count);
  std::vector<std::vector<ibv_sge>> sges(count);
  for (std::uint32_t at = 0; at < count; ++at) {
    in.get(list[at]);
    if (!take_sges(in, sges[at])) return EINVAL;
    list[at].sg_list = sges[at].data();
  }
  chain(list);
  ibv_recv_wr* bad = nullptr;
  const int returned = qp != nullptr ? qp->context->ops.post_recv(qp, list.data(), &bad)
                                     : srq->context->ops.post_srq_recv(srq, list.data(), &bad);
  put_returned(out, returned, list, bad);
  return 0;
}

int Answers::polled_ex(int error, ibv_cq* cq, Packet& out) {
  if (error != 0) return error;
  auto* extended = reinterpret_cast<ibv_cq_ex*>(cq);
  const std::uint64_t flags = wc_flags_[cqs_.id(cq)];
  FarCompletion found;
  found.wc.wr_id = extended->wr_id;
  found.wc.status = extended->status;
  found.wc.vendor_err = ibv_wc_read_vendor_err(extended);
  // Of a failed one nothing else means anything.
  if (extended->status == IBV_WC_SUCCESS) {
    found.wc.opcode = ibv_wc_read_opcode(extended);
    found.wc.wc_flags = ibv_wc_read_wc_flags(extended);
    if ((flags & IBV_WC_EX_WITH_BYTE_LEN) != 0) found.wc.byte_len = ibv_wc_read_byte_len(extended);
    if ((flags & IBV_WC_EX_WITH_IMM) != 0) found.wc.imm_data = ibv_wc_read_imm_data(extended);
    if ((flags & IBV_WC_EX_WITH_SRC_QP) != 0) found.wc.src_qp = ibv_wc_read_src_qp(extended);
    if ((flags & IBV_WC_EX_WITH_SLID) != 0) found.wc.slid = static_cast<std::uint16_t>(ibv_wc_read_slid(extended));
    if ((flags & IBV_WC_EX_WITH_SL) != 0) found.wc.sl = ibv_wc_read_sl(extended);
    if ((flags & IBV_WC_EX_WITH_DLID_PATH_BITS) != 0) found.wc.dlid_path_bits = ibv_wc_read_dlid_path_bits(extended);
    if ((flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP) != 0) found.timestamp = ibv_wc_read_completion_ts(extended);
    if ((flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) != 0)
      found.wallclock = ibv_wc_read_completion_wallclock_ns(extended);
  }
  if ((flags & IBV_WC_EX_WITH_QP_NUM) != 0) found.wc.qp_num = ibv_wc_read_qp_num(extended);
  out.put(found.wc);
  out.put(found.timestamp);
  out.put(found.wallclock);
  return 0;
}

int Answers::data_path(Call call, Packet& in, Packet& out) {
  switch (call) {
    case Call::post_send:
      return post_send(in, out);
    case Call::post_recv:
    case Call::post_srq_recv:
      return post_recv(call, in, out);
    case Call::bind_mw: {
      ibv_qp* qp = taken(in, qps_);
      ibv_mw* mw = taken(in, mws_);
      const auto rkey = in.get<std::uint32_t>();
      ibv_mw_bind bind{};
      bind.bind_info.mr = taken(in, mrs_);
      in.get(bind.wr_id);
      in.get(bind.send_flags);
      in.get(bind.bind_info.addr);
      in.get(bind.bind_info.length);
      in.get(bind.bind_info.mw_access_flags);
      if (qp == nullptr || mw == nullptr) return EINVAL;
      mw->rkey = rkey;
      out.put(mw->context->ops.bind_mw(qp, mw, &bind));
      out.put(mw->rkey);
      return 0;
    }
    default:
      break;
  }
  ibv_cq* cq = taken(in, cqs_);
  if (cq == nullptr) return EINVAL;
  auto* extended = reinterpret_cast<ibv_cq_ex*>(cq);
  const bool is_extended = wc_flags_.contains(cqs_.id(cq));
  switch (call) {
    case Call::poll_cq: {
      const auto count = in.get<int>();
      std::vector<ibv_wc> found(static_cast<std::size_t>(std::clamp(count, 1, kMostPolled)));
      const int got = cq->context->ops.poll_cq(cq, std::min(count, kMostPolled), found.data());
      nothing_ = got == 0;
      out.put(got);
      for (int at = 0; at < got; ++at) out.put(found[static_cast<std::size_t>(at)]);
      return 0;
    }
    case Call::req_notify_cq:
      out.put(cq->context->ops.req_notify_cq(cq, in.get<int>()));
      return 0;
    case Call::start_poll: {
      ibv_poll_cq_attr attr{in.get<std::uint32_t>()};
      return is_extended ? polled_ex(ibv_start_poll(extended, &attr), cq, out) : EINVAL;
    }
    case Call::next_poll:
      return is_extended ? polled_ex(ibv_next_poll(extended), cq, out) : EINVAL;
    case Call::end_poll:
      if (!is_extended) return EINVAL;
      ibv_end_poll(extended);
      return 0;
    default:
      return ENOSYS;
  }
}

}  // namespace conform::peer
