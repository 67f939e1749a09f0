// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the user of a connection does, and what is sent again.
#include "cm/agent.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace verbena::emulator::cm {

namespace {

using engine::transport::Time;

/// False where there is more than the message has room for.
template <std::size_t Room>
bool put(Agent::Data data, std::array<std::byte, Room>& to) noexcept {
  if (data.size() > Room) return false;
  std::copy(data.begin(), data.end(), to.begin());
  return true;
}

}  // namespace

Connection& Agent::make() {
  // A number that is in use is skipped, and 0 means that it isn't known.
  while (next_id_ == 0 || connections_.contains(next_id_)) ++next_id_;
  auto connection = std::make_unique<Connection>();
  connection->local_id = next_id_;
  Connection& made = *connection;
  connections_.emplace(next_id_++, std::move(connection));
  return made;
}

void Agent::destroy(Connection& connection) {
  switch (connection.state) {
    case State::req_sent:
    case State::mra_req_received:
      reject(connection, Reason::timeout, {});
      break;
    case State::req_received:
    case State::mra_req_sent:
    case State::rep_received:
    case State::mra_rep_sent:
    case State::rep_sent:
    case State::mra_rep_received:
      reject(connection, Reason::consumer_defined, {});
      break;
    case State::established:
      disconnect(connection);
      break;
    case State::dreq_received:
      confirm_disconnect(connection);
      break;
    case State::sidr_req_received:
      answer_service(connection, SidrStatus::reject, 0, 0, {});
      break;
    default:
      break;
  }
  stop_waiting(connection);
  forget(connection);
  connections_.erase(connection.local_id);
}

std::uint64_t Agent::new_transaction(const Connection& connection) const noexcept {
  return (identity_.node_guid << 32) | connection.local_id;
}

int Agent::request(Connection& connection, const engine::queues::Address& to, const Request& request, Data data) {
  if (connection.state != State::idle) return EINVAL;
  if (request.type != IBV_QPT_RC && request.type != IBV_QPT_UC) return EINVAL;
  Req req;
  if (!put(data, req.private_data)) return EINVAL;
  connection.to = to;
  connection.service = request.service;
  connection.type = request.type;
  connection.local_qpn = request.qpn;
  connection.rq_psn = request.psn;
  connection.initiator_depth = request.initiator_depth;
  connection.responder_resources = request.responder_resources;
  connection.retry_count = request.retry_count;
  connection.path_mtu = request.path_mtu;
  connection.ack_timeout = static_cast<std::uint8_t>(request.times.packet_life_time + 1);
  connection.transaction = new_transaction(connection);
  req.local_comm_id = connection.local_id;
  req.service_id = request.service;
  req.local_ca_guid = identity_.node_guid;
  req.local_qpn = request.qpn;
  req.responder_resources = request.responder_resources;
  req.initiator_depth = request.initiator_depth;
  req.remote_cm_response_timeout = request.times.response_timeout;
  req.transport_service_type = request.type == IBV_QPT_UC ? 1 : 0;
  req.end_to_end_flow_control = request.flow_control;
  req.starting_psn = request.psn;
  req.local_cm_response_timeout = request.times.response_timeout;
  req.retry_count = request.retry_count;
  req.pkey = request.pkey;
  req.path_mtu = request.path_mtu;
  req.rnr_retry_count = request.rnr_retry_count;
  req.max_cm_retries = request.times.retries;
  req.srq = request.srq;
  req.primary = request.path;
  req.primary.local_ack_timeout = ack_timeout(identity_.ack_delay, request.times.packet_life_time);
  connection.state = State::req_sent;
  send_and_wait(connection, req,
                2 * milliseconds_of(request.times.packet_life_time) + milliseconds_of(request.times.response_timeout),
                request.times.retries);
  return 0;
}

int Agent::reply(Connection& connection, const Reply& reply, Data data) {
  if (connection.state != State::req_received && connection.state != State::mra_req_sent) return EINVAL;
  Rep rep;
  if (!put(data, rep.private_data)) return EINVAL;
  connection.local_qpn = reply.qpn & 0xffffff;
  connection.rq_psn = reply.psn;
  connection.initiator_depth = reply.initiator_depth;
  connection.responder_resources = reply.responder_resources;
  rep.local_comm_id = connection.local_id;
  rep.remote_comm_id = connection.remote_id;
  rep.local_qpn = connection.local_qpn;
  rep.starting_psn = reply.psn;
  rep.responder_resources = reply.responder_resources;
  rep.initiator_depth = reply.initiator_depth;
  rep.target_ack_delay = identity_.ack_delay;
  rep.end_to_end_flow_control = reply.flow_control;
  rep.rnr_retry_count = reply.rnr_retry_count;
  rep.srq = reply.srq;
  rep.local_ca_guid = identity_.node_guid;
  connection.state = State::rep_sent;
  send_and_wait(connection, rep, connection.patience, connection.retries);
  return 0;
}

int Agent::ready(Connection& connection) {
  if (connection.state != State::rep_received && connection.state != State::mra_rep_sent) return EINVAL;
  send(connection, Rtu{connection.local_id, connection.remote_id, {}});
  connection.state = State::established;
  return 0;
}

int Agent::reject(Connection& connection, Reason reason, Data data) {
  Rej rej;
  if (!put(data, rej.private_data)) return EINVAL;
  rej.local_comm_id = connection.local_id;
  rej.remote_comm_id = connection.remote_id;
  rej.reason = reason;
  rej.message = Answers::other;
  State after = State::idle;
  switch (connection.state) {
    case State::req_received:
      rej.local_comm_id = 0;
      [[fallthrough]];
    case State::mra_req_sent:
      rej.message = Answers::req;
      break;
    case State::rep_received:
    case State::mra_rep_sent:
      rej.message = Answers::rep;
      break;
    case State::req_sent:
    case State::mra_req_received:
      break;
    case State::rep_sent:
    case State::mra_rep_received:
      after = State::timewait;
      break;
    default:
      return EINVAL;
  }
  if (reason == Reason::timeout) {
    // Whom it is from, since the other end knows it by that and by its number alone (cm.c cm_acquire_rejected_id).
    rej.info_length = sizeof identity_.node_guid;
    for (std::size_t index = 0; index < sizeof identity_.node_guid; ++index) {
      rej.info[index] = static_cast<std::byte>(identity_.node_guid >> (8 * (7 - index)));
    }
  }
  send(connection, rej);
  if (after == State::timewait) {
    enter_timewait(connection);
  } else {
    end(connection);
  }
  return 0;
}

int Agent::ask_for_patience(Connection& connection, std::uint8_t service_timeout) {
  switch (connection.state) {
    case State::req_received:
      connection.state = State::mra_req_sent;
      break;
    case State::rep_received:
      connection.state = State::mra_rep_sent;
      break;
    default:
      return EINVAL;
  }
  connection.service_timeout = service_timeout;
  return 0;
}

int Agent::disconnect(Connection& connection) {
  if (connection.state != State::established) return EINVAL;
  connection.transaction = new_transaction(connection);
  connection.state = State::dreq_sent;
  send_and_wait(connection, Dreq{connection.local_id, connection.remote_id, connection.remote_qpn, {}},
                connection.patience, connection.retries);
  return 0;
}

int Agent::confirm_disconnect(Connection& connection) {
  if (connection.state != State::dreq_received) return EINVAL;
  send(connection, Drep{connection.local_id, connection.remote_id, {}});
  enter_timewait(connection);
  return 0;
}

int Agent::established(Connection& connection) {
  if (connection.state == State::established) return EISCONN;
  if (connection.state != State::rep_sent && connection.state != State::mra_rep_received) return EINVAL;
  stop_waiting(connection);
  connection.state = State::established;
  tell(connection, Told::What::ready);
  return 0;
}

int Agent::ask_service(Connection& connection, const engine::queues::Address& to, std::uint64_t service,
                       const Times& times, Data data) {
  if (connection.state != State::idle) return EINVAL;
  SidrReq req;
  if (!put(data, req.private_data)) return EINVAL;
  connection.to = to;
  connection.service = service;
  connection.type = IBV_QPT_UD;
  connection.transaction = new_transaction(connection);
  req.request_id = connection.local_id;
  req.pkey = 0xffff;
  req.service_id = service;
  connection.state = State::sidr_req_sent;
  send_and_wait(connection, req, milliseconds_of(times.response_timeout), times.retries);
  return 0;
}

int Agent::answer_service(Connection& connection, SidrStatus status, std::uint32_t qpn, std::uint32_t qkey, Data data) {
  if (connection.state != State::sidr_req_received) return EINVAL;
  SidrRep rep;
  if (!put(data, rep.private_data)) return EINVAL;
  rep.request_id = connection.remote_id;
  rep.status = status;
  rep.qpn = qpn;
  rep.service_id = connection.service;
  rep.qkey = qkey;
  send(connection, rep);
  connection.state = State::idle;
  return 0;
}

void Agent::send(const Connection& connection, Body body) {
  service_.send(connection.to, encode({connection.transaction, body}));
}

void Agent::send_and_wait(Connection& connection, Body body, std::chrono::milliseconds patience, std::uint8_t retries) {
  connection.under_way = encode({connection.transaction, body});
  connection.patience = patience;
  connection.retries = connection.retries_left = retries;
  wait(connection, patience);
  service_.send(connection.to, connection.under_way);
}

void Agent::answer(const Received& to, std::uint64_t transaction, Body body) {
  engine::queues::Address address;
  address.ip.source = to.destination;
  address.ip.destination = to.source;
  address.ip.version = engine::wire::is_mapped(to.source) ? engine::wire::IpVersion::v4 : engine::wire::IpVersion::v6;
  service_.send(address, encode({transaction, body}));
}

void Agent::wait(Connection& connection, std::chrono::milliseconds time) {
  stop_waiting(connection);
  connection.deadline = clock_.now() + time;
  waiting_.emplace(*connection.deadline, &connection);
}

void Agent::stop_waiting(Connection& connection) noexcept {
  if (!connection.deadline) return;
  waiting_.erase({*connection.deadline, &connection});
  connection.deadline.reset();
}

/// Its queue pair may be used for another one; it itself still answers what comes late.
void Agent::enter_timewait(Connection& connection) {
  forget_queue_pair(connection);
  connection.state = State::timewait;
  wait(connection, milliseconds_of(connection.ack_timeout));
}

void Agent::end(Connection& connection) {
  stop_waiting(connection);
  forget(connection);
  connection.remote_id = 0;
  connection.state = State::idle;
}

void Agent::forget_queue_pair(const Connection& connection) noexcept {
  const auto found = by_remote_qpn_.find({connection.remote_guid, connection.remote_qpn});
  if (found != by_remote_qpn_.end() && found->second == &connection) by_remote_qpn_.erase(found);
}

void Agent::forget(const Connection& connection) noexcept {
  forget_queue_pair(connection);
  const auto found = by_remote_id_.find({connection.remote_guid, connection.remote_id});
  if (found != by_remote_id_.end() && found->second == &connection) by_remote_id_.erase(found);
}

void Agent::expired(Connection& connection) {
  stop_waiting(connection);
  if (connection.state == State::timewait) {
    end(connection);
    return tell(connection, Told::What::timewait_exit);
  }
  if (connection.retries_left > 0) {
    --connection.retries_left;
    wait(connection, connection.patience);
    return service_.send(connection.to, connection.under_way);
  }
  switch (connection.state) {
    case State::req_sent:
    case State::mra_req_received:
      end(connection);
      return tell(connection, Told::What::req_error);
    case State::rep_sent:
    case State::mra_rep_received:
      end(connection);
      return tell(connection, Told::What::rep_error);
    case State::dreq_sent:
      enter_timewait(connection);
      return tell(connection, Told::What::dreq_error);
    case State::sidr_req_sent:
      end(connection);
      return tell(connection, Told::What::sidr_error);
    default:
      return;
  }
}

/// The other end has gone without a word.
void Agent::left_alone(Connection& connection) {
  stop_waiting(connection);
  switch (connection.state) {
    case State::req_sent:
    case State::mra_req_received:
    case State::req_received:
    case State::mra_req_sent:
      end(connection);
      return tell(connection, Told::What::req_error);
    case State::rep_received:
    case State::mra_rep_sent:
    case State::rep_sent:
    case State::mra_rep_received:
      enter_timewait(connection);
      return tell(connection, Told::What::rep_error);
    case State::established:
      enter_timewait(connection);
      return tell(connection, Told::What::dreq);
    case State::dreq_sent:
    case State::dreq_received:
      enter_timewait(connection);
      return tell(connection, Told::What::drep);
    case State::sidr_req_sent:
      end(connection);
      return tell(connection, Told::What::sidr_error);
    default:
      return;
  }
}

bool Agent::look_after(const Who& who) {
  std::map<std::pair<engine::wire::Gid, std::uint32_t>, std::optional<std::uint64_t>> there;
  std::vector<Connection*> alone;
  bool any = false;
  for (const auto& [id, connection] : connections_) {
    if (connection->state == State::idle || connection->state == State::timewait) continue;
    // One process has all the queue pairs of a number's upper byte (Shared::number).
    constexpr unsigned kProcessShift = 16;
    const std::uint32_t process = connection->remote_qpn >> kProcessShift << kProcessShift;
    const auto [entry, fresh] = there.try_emplace({connection->to.ip.destination, process});
    if (fresh) entry->second = who(connection->to.ip.destination, process);
    if (!connection->other) connection->other = entry->second;
    if (entry->second && entry->second != connection->other) {
      alone.push_back(connection.get());
    } else {
      any = true;
    }
  }
  for (Connection* const connection : alone) left_alone(*connection);
  return any;
}

void Agent::listened() {
  for (const auto& [due, received] : std::exchange(unheard_, {})) take(received);
}

void Agent::leave() {
  constexpr int kTimes = 3;  // of a lost packet in twenty, one in eight thousand ends isn't told
  for (const auto& [id, connection] : connections_) {
    connection->user = nullptr;
    if (connection->state == State::established) disconnect(*connection);
    if (connection->state == State::dreq_sent) {
      for (int time = 1; time < kTimes; ++time) service_.send(connection->to, connection->under_way);
    } else if (connection->state == State::dreq_received) {
      confirm_disconnect(*connection);
    } else {
      const bool begun = connection->state == State::req_sent || connection->state == State::mra_req_received;
      reject(*connection, begun ? Reason::timeout : Reason::consumer_defined, {});
    }
  }
}

void Agent::tell(Connection& connection, Told::What what, const Message* message) {
  if (connection.user != nullptr) owner_.told(connection, {what, message});
}

bool Agent::progress() {
  bool did = false;
  while (const std::optional<Received> received = service_.next()) {
    did = true;
    take(*received);
  }
  if (waiting_.empty() && unheard_.empty()) return did;
  const Time now = clock_.now();
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    did = true;
    expired(*waiting_.begin()->second);
  }
  while (!unheard_.empty() && unheard_.begin()->first <= now) {
    did = true;
    const Received received = unheard_.begin()->second;
    unheard_.erase(unheard_.begin());
    last_call_ = true;
    take(received);
    last_call_ = false;
  }
  return did;
}

std::optional<Time> Agent::next() const noexcept {
  std::optional<Time> next;
  if (!waiting_.empty()) next = waiting_.begin()->first;
  if (!unheard_.empty() && (!next || unheard_.begin()->first < *next)) next = unheard_.begin()->first;
  return next;
}

}  // namespace verbena::emulator::cm
