// SPDX-License-Identifier: Apache-2.0 OR MIT
// iWARP: the driver makes the connection, and moves the queue pair by it. Source: linux drivers/infiniband/core/cma.c
// cma_iw_handler, drivers/infiniband/sw/siw/siw_cm.c. The messages are those of RoCE; MPA's are TCP's business, which
// no emulated NIC speaks.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "cm/ids.hpp"

namespace verbena::emulator::cm {

namespace {

constexpr std::uint8_t kAckTimeout = 14;  // 67 ms; TCP has no such code
constexpr std::uint8_t kRetries = 7;

}  // namespace

int Manager::bring_up(Identifier& id) {
  engine::transport::Adapter& adapter = id.nic->adapter();
  engine::transport::QueuePair* const qp = adapter.find(id.qp_num);
  if (qp == nullptr || qp->type != IBV_QPT_RC) return EINVAL;
  if (qp->state != IBV_QPS_INIT && qp->state != IBV_QPS_RTR) return EINVAL;
  const Connection& connection = *id.connection;
  qp->route = id.way->messages;
  qp->route.udp.source_port = static_cast<std::uint16_t>(0xc000 | (qp->number & 0x3fff));
  ibv_qp_attr& attr = qp->attr;
  // Whatever was asked for: a region says what may be done to it (linux drivers/infiniband/hw/irdma/verbs.c
  // irdma_iw_fill_and_set_qpctx_info; sw/siw notes the flags and looks at none).
  attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  attr.port_num = id.base.port_num;
  attr.ah_attr = id.way->ah;
  attr.path_mtu = static_cast<ibv_mtu>(connection.path_mtu);
  attr.dest_qp_num = connection.remote_qpn;
  attr.rq_psn = connection.rq_psn;
  attr.sq_psn = connection.sq_psn;
  attr.timeout = kAckTimeout;
  attr.retry_cnt = kRetries;
  attr.rnr_retry = 0;  // a send that finds no receive ends the connection
  attr.max_rd_atomic = connection.initiator_depth;
  attr.max_dest_rd_atomic = connection.responder_resources;
  adapter.enter(*qp, IBV_QPS_RTR);
  adapter.enter(*qp, IBV_QPS_RTS);
  return 0;
}

void Manager::bring_down(Identifier& id) {
  engine::transport::Adapter& adapter = id.nic->adapter();
  engine::transport::QueuePair* const qp = adapter.find(id.qp_num);
  if (qp == nullptr || id.connection == nullptr || qp->attr.dest_qp_num != id.connection->remote_qpn) return;
  const bool connected = qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD;
  if (connected) adapter.enter(*qp, IBV_QPS_ERR);
}

void Manager::told_offloaded(Identifier& id, Connection& connection, const Told& told) {
  Agent& agent = station(*id.nic).agent;
  switch (told.what) {
    case Told::What::req_error:
      return raise(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
    case Told::What::rep: {
      const Rep& rep = std::get<Rep>(told.message->body);
      connection.rq_psn = id.psn;
      connection.initiator_depth = std::min(connection.initiator_depth, id.initiator_depth);
      if (const int error = bring_up(id); error != 0) {
        agent.reject(connection, Reason::consumer_defined, {});
        return raise(id, RDMA_CM_EVENT_CONNECT_ERROR, -error);
      }
      agent.ready(connection);
      auto established = event(id, RDMA_CM_EVENT_ESTABLISHED);
      set_private_data(*established, rep.private_data);
      established->base.param.conn.responder_resources = rep.initiator_depth;
      established->base.param.conn.initiator_depth = rep.responder_resources;
      return raise(std::move(established));
    }
    case Told::What::rej: {
      auto rejected = event(id, RDMA_CM_EVENT_REJECTED, -ECONNREFUSED);
      set_private_data(*rejected, std::get<Rej>(told.message->body).private_data);
      bring_down(id);
      return raise(std::move(rejected));
    }
    case Told::What::dreq:
    case Told::What::drep:
    case Told::What::dreq_error:
    case Told::What::rep_error:
      // As a TCP connection: closed by one end, it is closed.
      bring_down(id);
      agent.confirm_disconnect(connection);
      id.stage = Stage::disconnect;
      return raise(id, RDMA_CM_EVENT_DISCONNECTED);
    default:
      return;
  }
}

void Manager::queue_pair_goes(const Nic& nic, std::uint32_t number) {
  for (Identifier* const id : identifiers_) {
    if (id->nic != &nic || id->qp_num != number || id->connection == nullptr || !iwarp(*id)) continue;
    station(nic).agent.disconnect(*id->connection);
  }
}

void Manager::queue_pair_failed(const Nic& nic, std::uint32_t number) {
  for (Identifier* const id : identifiers_) {
    if (id->nic == &nic && id->qp_num == number && id->connection != nullptr && iwarp(*id)) failed_.insert(id);
  }
}

/// Their connection is closed with them (linux drivers/infiniband/sw/siw/siw_qp.c siw_qp_llp_close, siw_cm.c
/// siw_qp_cm_drop).
void Manager::end_failed() {
  for (Identifier* const id : std::exchange(failed_, {})) {
    if (id->stage != Stage::connect || id->connection == nullptr) continue;
    const engine::transport::QueuePair* const qp = id->nic->adapter().find(id->qp_num);
    if (qp == nullptr || qp->state != IBV_QPS_ERR) continue;
    switch (id->connection->state) {
      case State::established:
      case State::rep_sent:
      case State::mra_rep_received:
        if (station(*id->nic).agent.disconnect(*id->connection) != 0) reject(*id, {});
        id->stage = Stage::disconnect;
        raise(*id, RDMA_CM_EVENT_DISCONNECTED);
        break;
      default:
        break;
    }
  }
}

}  // namespace verbena::emulator::cm
