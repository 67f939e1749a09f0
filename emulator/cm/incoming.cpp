// SPDX-License-Identifier: Apache-2.0 OR MIT
// What comes from the other end, and what a program is told of it.
#include <algorithm>
#include <cerrno>

#include "cm/addresses.hpp"
#include "cm/cma_header.hpp"
#include "cm/ids.hpp"

namespace verbena::emulator::cm {

namespace {

using engine::wire::Gid;

template <class Body>
const Body& as(const Message& message) {
  return std::get<Body>(message.body);
}

}  // namespace

Identifier* Manager::listener(std::uint64_t service, const Gid& destination, const Nic& nic) const noexcept {
  for (Identifier* const id : ports_.owners(port_space_of(service), port_of(service))) {
    if (id->stage != Stage::listen || (id->nic != nullptr && id->nic != &nic)) continue;
    const sockaddr_storage& own = id->source();
    if (is_any(own) && !id->one_family) return id;
    if ((own.ss_family == AF_INET) != engine::wire::is_mapped(destination)) continue;
    if (is_any(own) || ip_of(own) == destination) return id;
  }
  return nullptr;
}

Owner::Verdict Manager::requested(Connection& connection, const Message& message, const Received& from) {
  const auto* const req = std::get_if<Req>(&message.body);
  const std::span<const std::byte> data =
      req != nullptr ? std::span<const std::byte>(req->private_data) : as<SidrReq>(message).private_data;
  const auto header = read_cma_header(data.first<CmaHeader::kBytes>());
  if (!header) return Verdict::refused;
  const Local local = whose(from.destination, 0);
  if (local.nic == nullptr) return Verdict::nobody;
  Identifier* const listens = listener(connection.service, header->destination, *local.nic);
  if (listens == nullptr) return Verdict::nobody;
  if (listens->base.qp_type != connection.type) return Verdict::refused;
  // Its addresses may be the host's own (127.0.0.1), which no packet carries.
  const auto way = route(*local.nic, local.port, from.destination, from.source, listens->traffic_class);
  if (!way) return Verdict::bad_gid;
  if (listens->room == 0) return Verdict::no_room;
  --listens->room;

  Identifier& id = make(listens->base.channel, listens->base.context, listens->base.ps, listens->base.qp_type);
  id.stage = Stage::connect;
  id.known = false;
  id.nic = local.nic;
  id.base.port_num = local.port;
  id.connection = &connection;
  connection.user = &id;
  id.way = way;
  watch(connection);
  id.source() = socket_address(header->destination, port_of(connection.service), local.nic->number() + 2);
  id.destination() = socket_address(header->source, header->port, local.nic->number() + 2);
  fill_addresses(id);

  auto request = event(id, RDMA_CM_EVENT_CONNECT_REQUEST);
  request->base.listen_id = &listens->base;
  request->counted = listens;
  set_private_data(*request, data.subspan(CmaHeader::kBytes));
  if (req != nullptr) {
    if (iwarp(id)) {
      // What both can do: a driver judges that before anybody is asked.
      const auto most =
          static_cast<std::uint8_t>(std::min<std::uint64_t>(id.nic->profile().figure(Cap::max_qp_rd_atom), 255));
      connection.responder_resources = std::min(connection.responder_resources, most);
      connection.initiator_depth = std::min(connection.initiator_depth, most);
    }
    rdma_conn_param& param = request->base.param.conn;
    param.responder_resources = connection.responder_resources;
    param.initiator_depth = connection.initiator_depth;
    param.flow_control = req->end_to_end_flow_control ? 1 : 0;
    param.retry_count = req->retry_count;
    param.rnr_retry_count = req->rnr_retry_count;
    param.srq = req->srq ? 1 : 0;
    param.qp_num = req->local_qpn;
    id.responder_resources = connection.responder_resources;
    id.initiator_depth = connection.initiator_depth;
  }
  raise(std::move(request));
  return Verdict::taken;
}

void Manager::told(Connection& connection, const Told& told) {
  Identifier& id = *static_cast<Identifier*>(connection.user);
  if (told.what == Told::What::timewait_exit) {
    if (id.stage == Stage::disconnect && !iwarp(id)) raise(id, RDMA_CM_EVENT_TIMEWAIT_EXIT);
    return;
  }
  if (id.stage != Stage::connect) return;
  if (iwarp(id)) return told_offloaded(id, connection, told);
  switch (told.what) {
    case Told::What::req_error:
    case Told::What::rep_error:
    case Told::What::sidr_error:
      return raise(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
    case Told::What::rep: {
      const Rep& rep = as<Rep>(*told.message);
      auto response = event(id, RDMA_CM_EVENT_CONNECT_RESPONSE);
      set_private_data(*response, rep.private_data);
      rdma_conn_param& param = response->base.param.conn;
      param.responder_resources = rep.initiator_depth;
      param.initiator_depth = rep.responder_resources;
      param.flow_control = rep.end_to_end_flow_control ? 1 : 0;
      param.rnr_retry_count = rep.rnr_retry_count;
      param.srq = rep.srq ? 1 : 0;
      param.qp_num = rep.local_qpn;
      return raise(std::move(response));
    }
    case Told::What::ready:
      return raise(id, RDMA_CM_EVENT_ESTABLISHED);
    case Told::What::rej: {
      const Rej& rej = as<Rej>(*told.message);
      auto rejected = event(id, RDMA_CM_EVENT_REJECTED, static_cast<int>(rej.reason));
      set_private_data(*rejected, rej.private_data);
      return raise(std::move(rejected));
    }
    case Told::What::dreq:
    case Told::What::drep:
    case Told::What::dreq_error:
      id.stage = Stage::disconnect;
      return raise(id, RDMA_CM_EVENT_DISCONNECTED, told.what == Told::What::dreq_error ? -ETIMEDOUT : 0);
    case Told::What::sidr_rep: {
      const SidrRep& rep = as<SidrRep>(*told.message);
      const bool good = rep.status == SidrStatus::success;
      auto answered =
          event(id, good ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_UNREACHABLE, static_cast<int>(rep.status));
      set_private_data(*answered, rep.private_data);
      if (good) {
        if (const int error = set_qkey(id, rep.qkey); error != 0) {
          return raise(id, RDMA_CM_EVENT_ADDR_ERROR, -error);
        }
        rdma_ud_param& param = answered->base.param.ud;
        param.ah_attr = id.way->ah;
        param.qp_num = rep.qpn;
        param.qkey = rep.qkey;
      }
      return raise(std::move(answered));
    }
    case Told::What::timewait_exit:
      return;
  }
}

}  // namespace verbena::emulator::cm
