// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "cm/ids.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cm/addresses.hpp"
#include "cm/cma_header.hpp"
#include "engine/wire/bytes.hpp"

namespace verbena::emulator::cm {

namespace {

using engine::transport::Time;
using engine::wire::Gid;

constexpr int kMostBacklog = 1024;  // ucma.c max_backlog

Agent::Data data_of(const void* data, std::size_t length) noexcept {
  return data == nullptr ? Agent::Data() : Agent::Data(static_cast<const std::byte*>(data), length);
}

}  // namespace

void set_private_data(Event& event, std::span<const std::byte> data) {
  const std::size_t bytes = std::min(data.size(), event.private_data.size());
  std::copy_n(data.begin(), bytes, event.private_data.begin());
  // Both kinds of parameters begin with it (rdma/rdma_cma.h).
  event.base.param.conn.private_data = event.private_data.data();
  event.base.param.conn.private_data_len = static_cast<std::uint8_t>(bytes);
}

Manager::Manager(Host& host, const std::vector<Nic*>& nics, Options options)
    : host_(host), options_(options), random_(options.seed), ports_(options.seed) {
  Owner& owner = *this;
  for (Nic* const nic : nics) {
    if (nic->profile().transport(1) == Transport::unspecified) continue;  // such a device is none of rdma_cm's
    const Agent::Identity identity{
        .node_guid = nic->node_guid(),
        .ack_delay = static_cast<std::uint8_t>(nic->profile().figure(Cap::local_ca_ack_delay)),
        .first_id = static_cast<std::uint32_t>(random_()),
        .rejection_delay = options_.rejection_delay,
        .listener_wait = options_.listener_wait};
    stations_.push_back(std::make_unique<Station>(*nic, host.clock(), owner, identity));
  }
  host_.add(*this);
}

Manager::~Manager() {
  host_.remove(*this);
  for (Identifier* const id : identifiers_) delete id;
}

Manager::Station& Manager::station(const Nic& nic) noexcept {
  return **std::find_if(stations_.begin(), stations_.end(), [&nic](const auto& each) { return each->nic == &nic; });
}

bool Manager::iwarp(const Identifier& id) const noexcept {
  return id.nic != nullptr && id.nic->profile().transport(id.base.port_num) == Transport::iwarp;
}

Identifier& Manager::make(rdma_event_channel* channel, void* context, rdma_port_space port_space, ibv_qp_type type) {
  auto made = std::make_unique<Identifier>();
  made->base.channel = channel;
  made->base.context = context;
  made->base.ps = port_space;
  made->base.qp_type = type;
  made->psn = static_cast<std::uint32_t>(random_()) & 0xffffff;
  identifiers_.insert(made.get());
  return *made.release();
}

void Manager::end(Identifier& id) {
  unanswered_.erase({id.due, &id});
  failed_.erase(&id);
  drop_connection(id);
  ports_.give(id);
  id.stage = Stage::idle;
  for (std::unique_ptr<Event>& each :
       Channel::of(id.base.channel).take([&id](const Event& event) { return event.counted == &id; })) {
    if (each->base.event != RDMA_CM_EVENT_CONNECT_REQUEST) continue;
    Identifier& never_given = Identifier::of(each->base.id);
    drop_connection(never_given);
    free(never_given);
  }
}

void Manager::free(Identifier& id) noexcept {
  identifiers_.erase(&id);
  delete &id;
}

void Manager::drop_connection(Identifier& id) {
  if (id.connection == nullptr) return;
  id.connection->user = nullptr;
  if (iwarp(id)) bring_down(id);
  station(*id.nic).agent.destroy(*id.connection);
  id.connection = nullptr;
}

std::unique_ptr<Event> Manager::event(Identifier& id, rdma_cm_event_type type, int status) {
  auto made = std::make_unique<Event>();
  made->base.id = &id.base;
  made->base.event = type;
  made->base.status = status;
  made->counted = &id;
  return made;
}

void Manager::raise(std::unique_ptr<Event> event) {
  // Nobody is told of a connection that nobody has accepted yet (ucma.c ucma_event_handler).
  if (!event->counted->known) return;
  Channel& channel = Channel::of(event->counted->base.channel);
  channel.push(std::move(event));
}

int Manager::listen(Identifier& id, int backlog) {
  if (id.stage == Stage::idle) {
    sockaddr_storage any{};
    any.ss_family = AF_INET;
    if (const int error = bind(id, any); error != 0) return error;
  }
  if (id.stage != Stage::addr_bound) return EINVAL;
  if (const int error = ports_.may_listen(id); error != 0) return error;
  id.room = backlog > 0 && backlog < kMostBacklog ? backlog : kMostBacklog;
  id.stage = Stage::listen;
  for (const auto& each : stations_) each->agent.listened();
  return 0;
}

int Manager::connect(Identifier& id, const rdma_conn_param& param) {
  if (id.stage != Stage::route_resolved || !id.way) return EINVAL;
  if (id.base.qp == nullptr) {
    id.qp_num = param.qp_num;
    id.srq = param.srq != 0;
  } else {
    id.qp_num = id.base.qp->qp_num;
    id.srq = id.base.qp->srq != nullptr;
  }
  if (iwarp(id)) {
    const engine::transport::QueuePair* const qp = id.nic->adapter().find(id.qp_num);
    if (qp == nullptr || qp->type != IBV_QPT_RC) return EINVAL;
  }
  std::vector<std::byte> data(CmaHeader::kBytes);
  const bool v4 = id.source().ss_family == AF_INET;
  write({.version = v4 ? engine::wire::IpVersion::v4 : engine::wire::IpVersion::v6,
         .port = port_of(id.source()),
         .source = ip_of(id.source()),
         .destination = ip_of(id.destination())},
        std::span<std::byte, CmaHeader::kBytes>(data));
  const Agent::Data own = data_of(param.private_data, param.private_data_len);
  data.insert(data.end(), own.begin(), own.end());
  Agent& agent = station(*id.nic).agent;
  const std::uint64_t service = service_id(id.base.ps, port_of(id.destination()));
  Connection& connection = agent.make();
  connection.user = &id;
  int error = 0;
  if (id.datagrams()) {
    error = agent.ask_service(connection, id.way->messages, service, options_.times, data);
  } else {
    Agent::Request request;
    request.service = service;
    request.type = id.base.qp_type;
    request.qpn = id.qp_num;
    request.psn = id.psn;
    request.responder_resources = param.responder_resources;
    request.initiator_depth = param.initiator_depth;
    request.retry_count = std::min<std::uint8_t>(param.retry_count, 7);
    request.rnr_retry_count = std::min<std::uint8_t>(param.rnr_retry_count, 7);
    request.flow_control = param.flow_control != 0;
    request.srq = id.srq;
    request.path_mtu = id.way->mtu;
    request.path = path_of(*id.way);
    request.times = options_.times;
    error = agent.request(connection, id.way->messages, request, data);
  }
  if (error != 0) {
    connection.user = nullptr;
    agent.destroy(connection);
    return error;
  }
  id.connection = &connection;
  id.stage = Stage::connect;
  watch(connection);
  return 0;
}

int Manager::accept(Identifier& id, const rdma_conn_param* param, std::uint32_t qkey) {
  if (id.stage != Stage::connect || id.connection == nullptr) return EINVAL;
  id.known = true;
  Agent& agent = station(*id.nic).agent;
  if (id.base.qp != nullptr) {
    id.qp_num = id.base.qp->qp_num;
    id.srq = id.base.qp->srq != nullptr;
  } else if (param != nullptr) {
    id.qp_num = param->qp_num;
    id.srq = param->srq != 0;
  }
  const Agent::Data data = param == nullptr ? Agent::Data() : data_of(param->private_data, param->private_data_len);
  if (id.datagrams()) {
    int error = set_qkey(id, qkey);
    if (error == 0) {
      error = agent.answer_service(*id.connection, SidrStatus::success, id.qp_num, id.qkey, data);
    }
    if (error != 0) agent.answer_service(*id.connection, SidrStatus::reject, 0, 0, {});
    return error;
  }
  int error = 0;
  if (param == nullptr) {
    error = agent.ready(*id.connection);
  } else {
    if (iwarp(id)) {
      id.connection->initiator_depth = std::min(id.connection->initiator_depth, param->initiator_depth);
      id.connection->responder_resources = param->responder_resources;
      id.connection->rq_psn = id.psn;
      error = bring_up(id);
    }
    Agent::Reply reply;
    reply.qpn = id.qp_num;
    reply.psn = id.psn;
    reply.responder_resources = param->responder_resources;
    reply.initiator_depth = param->initiator_depth;
    reply.rnr_retry_count = std::min<std::uint8_t>(param->rnr_retry_count, 7);
    reply.flow_control = param->flow_control != 0;
    reply.srq = id.srq;
    if (error == 0) error = agent.reply(*id.connection, reply, data);
    // An iWARP driver says so as soon as it has answered (linux drivers/infiniband/sw/siw/siw_cm.c siw_accept).
    if (error == 0 && iwarp(id)) raise(id, RDMA_CM_EVENT_ESTABLISHED);
  }
  if (error != 0) {
    if (iwarp(id)) bring_down(id);
    reject(id, {});
  }
  return error;
}

int Manager::reject(Identifier& id, Agent::Data why) {
  if (id.connection == nullptr) return EINVAL;
  Agent& agent = station(*id.nic).agent;
  if (id.datagrams()) return agent.answer_service(*id.connection, SidrStatus::reject, 0, 0, why);
  return agent.reject(*id.connection, Reason::consumer_defined, why);
}

int Manager::disconnect(Identifier& id) {
  if (id.connection == nullptr) return EINVAL;
  Agent& agent = station(*id.nic).agent;
  if (iwarp(id)) bring_down(id);
  // Whichever it is: the first to end it, or in answer to the other end. That neither is possible any more is no error.
  if (agent.disconnect(*id.connection) != 0) agent.confirm_disconnect(*id.connection);
  return 0;
}

int Manager::notify(Identifier& id, ibv_event_type event) {
  if (id.connection == nullptr) return EINVAL;
  if (iwarp(id)) return 0;
  if (event != IBV_EVENT_COMM_EST) return EINVAL;
  return station(*id.nic).agent.established(*id.connection);
}

int Manager::set_qkey(Identifier& id, std::uint32_t qkey) noexcept {
  if (id.qkey != 0) return qkey != 0 && qkey != id.qkey ? EINVAL : 0;
  if (qkey != 0) {
    id.qkey = qkey;
  } else if (id.base.ps == RDMA_PS_UDP || id.base.ps == RDMA_PS_IB || id.base.ps == RDMA_PS_IPOIB) {
    id.qkey = RDMA_UDP_QKEY;
  }
  return 0;
}

int Manager::set_option(Identifier& id, int level, int name, const void* value, std::size_t length) {
  if (level != RDMA_OPTION_ID) return ENOSYS;
  const auto as_int = [value] {
    int number = 0;
    std::memcpy(&number, value, sizeof number);
    return number;
  };
  const std::size_t wanted = name == RDMA_OPTION_ID_REUSEADDR || name == RDMA_OPTION_ID_AFONLY ? sizeof(int) : 1;
  if (name < RDMA_OPTION_ID_TOS || name > RDMA_OPTION_ID_ACK_TIMEOUT) return ENOSYS;
  if (length != wanted || value == nullptr) return EINVAL;
  switch (name) {
    case RDMA_OPTION_ID_TOS:
      std::memcpy(&id.traffic_class, value, 1);
      return 0;
    case RDMA_OPTION_ID_REUSEADDR:
      if (as_int() == 0 && id.stage != Stage::idle) return EINVAL;
      id.reuses_address = as_int() != 0;
      return 0;
    case RDMA_OPTION_ID_AFONLY:
      if (id.stage != Stage::idle && id.stage != Stage::addr_bound) return EINVAL;
      id.family_set = true;
      id.one_family = as_int() != 0;
      return 0;
    default: {
      std::uint8_t timeout = 0;
      std::memcpy(&timeout, value, 1);
      // A queue pair of a connection alone has one, of 5 bits (cma.c rdma_set_ack_timeout, ucma.c
      // ucma_set_option_id).
      if (id.datagrams() || timeout > 31) return EINVAL;
      id.ack_timeout = timeout;
      return 0;
    }
  }
}

void Manager::migrate(Identifier& id, rdma_event_channel& channel) {
  auto events = Channel::of(id.base.channel).take([&id](const Event& event) { return event.counted == &id; });
  id.base.channel = &channel;
  for (std::unique_ptr<Event>& each : events) {
    each->base.id->channel = &channel;
    Channel::of(&channel).push(std::move(each));
  }
}

/// From now on it is looked whether the other end is there.
void Manager::watch(Connection& connection) {
  Net* const net = host_.net();
  if (net == nullptr || !options_.others) return;
  connection.other = net->who(connection.to.ip.destination, connection.remote_qpn);
  const bool known = connection.other || net->shares_addresses();
  if (known && !look_) look_ = host_.clock().now() + options_.look_every;
}

void Manager::look_after() {
  Net* const net = host_.net();
  look_.reset();
  if (net == nullptr) return;
  bool any = false;
  for (const auto& each : stations_) {
    any =
        each->agent.look_after([net](const Gid& address, std::uint32_t qpn) { return net->who(address, qpn); }) || any;
  }
  if (any) look_ = host_.clock().now() + options_.look_every;
}

void Manager::leave() {
  for (const auto& each : stations_) each->agent.leave();
}

bool Manager::serve() {
  bool did = false;
  if (!failed_.empty()) end_failed();
  for (bool again = true; again;) {
    again = false;
    for (const auto& each : stations_) again = each->agent.progress() || again;
    did = did || again;
  }
  while (!unanswered_.empty() && unanswered_.begin()->first <= host_.clock().now()) {
    Identifier& id = *unanswered_.begin()->second;
    unanswered_.erase(unanswered_.begin());
    id.stage = Stage::addr_bound;
    raise(id, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
    did = true;
  }
  if (look_ && *look_ <= host_.clock().now()) look_after();
  return did;
}

std::optional<Time> Manager::next() const noexcept {
  std::optional<Time> next;
  if (!failed_.empty()) return Time{};
  if (!unanswered_.empty()) next = unanswered_.begin()->first;
  if (look_ && (!next || *look_ < *next)) next = look_;
  for (const auto& each : stations_) {
    if (const auto due = each->agent.next(); due && (!next || *due < *next)) next = due;
  }
  return next;
}

}  // namespace verbena::emulator::cm
