// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "builder.hpp"

#include <cerrno>

namespace agreement {
namespace {

int build(ibv_qp_ex* qp, const ibv_send_wr* first, const ibv_send_wr* end) {
  ibv_wr_start(qp);
  for (const ibv_send_wr* request = first; request != end; request = request->next) {
    qp->wr_id = request->wr_id;
    qp->wr_flags = request->send_flags & ~static_cast<unsigned>(IBV_SEND_INLINE);
    if (request->opcode == IBV_WR_SEND_WITH_IMM)
      ibv_wr_send_imm(qp, request->imm_data);
    else
      ibv_wr_send(qp);
    if (const auto& to = request->wr.ud; to.ah != nullptr) ibv_wr_set_ud_addr(qp, to.ah, to.remote_qpn, to.remote_qkey);
    const ibv_sge* const sges = request->sg_list;
    if ((request->send_flags & IBV_SEND_INLINE) != 0)
      ibv_wr_set_inline_data(qp, reinterpret_cast<void*>(sges->addr), sges->length);
    else
      ibv_wr_set_sge_list(qp, static_cast<std::size_t>(request->num_sge), sges);
  }
  return ibv_wr_complete(qp);
}

}  // namespace

int post_send_built(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad) {
  ibv_qp_ex* const built = ibv_qp_to_qp_ex(qp);
  *bad = list;
  if (built == nullptr) return EOPNOTSUPP;
  const int whole = build(built, list, nullptr);
  if (whole == 0 || list->next == nullptr) return whole;
  for (; *bad != nullptr; *bad = (*bad)->next)
    if (const int error = build(built, *bad, (*bad)->next); error != 0) return error;
  return 0;
}

}  // namespace agreement
