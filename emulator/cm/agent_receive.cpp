// SPDX-License-Identifier: Apache-2.0 OR MIT
// What messages do to connections, and which of them are answered at once.
#include <algorithm>

#include "cm/agent.hpp"
#include "engine/wire/bytes.hpp"

namespace verbena::emulator::cm {

void Agent::take(const Received& received) {
  const std::optional<Message> message = parse(received.mad);
  if (!message) return;
  std::visit([&](const auto& body) { on(body, *message, received); }, message->body);
}

Connection* Agent::find(std::uint32_t local_id, std::uint32_t remote_id) const noexcept {
  const auto found = connections_.find(local_id);
  return found != connections_.end() && found->second->remote_id == remote_id ? found->second.get() : nullptr;
}

Connection* Agent::by_remote(std::uint32_t remote_id, std::uint64_t guid) const noexcept {
  const auto found = by_remote_id_.find({guid, remote_id});
  return found != by_remote_id_.end() ? found->second : nullptr;
}

Connection* Agent::stale(Connection& connection) {
  const auto [entry, fresh] = by_remote_qpn_.try_emplace({connection.remote_guid, connection.remote_qpn}, &connection);
  return fresh ? nullptr : entry->second;
}

void Agent::on(const Req& req, const Message& message, const Received& received) {
  if (Connection* const known = by_remote(req.local_comm_id, req.local_ca_guid)) return request_again(*known);
  Connection& connection = make();
  connection.state = State::req_received;
  connection.remote_id = req.local_comm_id;
  connection.remote_guid = req.local_ca_guid;
  connection.remote_qpn = req.local_qpn;
  connection.service = req.service_id;
  connection.transaction = message.transaction_id;
  connection.type = req.transport_service_type == 1 ? IBV_QPT_UC : IBV_QPT_RC;
  connection.to.ip.source = received.destination;
  connection.to.ip.destination = received.source;
  connection.to.ip.version =
      engine::wire::is_mapped(received.source) ? engine::wire::IpVersion::v4 : engine::wire::IpVersion::v6;
  connection.patience = milliseconds_of(req.local_cm_response_timeout);
  connection.retries = req.max_cm_retries;
  connection.initiator_depth = req.responder_resources;
  connection.responder_resources = req.initiator_depth;
  connection.path_mtu = req.path_mtu;
  connection.sq_psn = req.starting_psn;
  connection.retry_count = req.retry_count;
  connection.rnr_retry_count = req.rnr_retry_count;
  connection.ack_timeout = req.primary.local_ack_timeout;

  const auto refused = [&](Reason reason) {
    connection.state = State::idle;  // nothing more is said to the other end
    destroy(connection);
    refuse(req, message, received, reason);
  };
  if (Connection* const old = stale(connection)) {
    refused(Reason::stale_connection);
    disconnect(*old);
    return;
  }
  by_remote_id_.try_emplace({connection.remote_guid, connection.remote_id}, &connection);
  switch (owner_.requested(connection, message, received)) {
    case Owner::Verdict::taken:
      break;
    case Owner::Verdict::nobody:
      return refused(Reason::invalid_service_id);
    case Owner::Verdict::refused:
      return refused(Reason::consumer_defined);
    case Owner::Verdict::bad_gid:
      return refused(Reason::invalid_gid);
    case Owner::Verdict::bad_type:
      return refused(Reason::invalid_transport_type);
    case Owner::Verdict::no_room:
      connection.state = State::idle;
      return destroy(connection);
  }
  ask_for_patience(connection, Times{}.service_timeout);
  if (identity_.rejection_delay.count() > 0) request_again(connection);
}

/// The request came once more: what is said to it is said again.
void Agent::request_again(Connection& connection) {
  if (connection.state == State::mra_req_sent) {
    send(connection, Mra{connection.local_id, connection.remote_id, Answers::req, connection.service_timeout, {}});
  } else if (connection.state == State::timewait) {
    Rej rej;
    rej.local_comm_id = connection.local_id;
    rej.remote_comm_id = connection.remote_id;
    rej.message = Answers::other;
    rej.reason = Reason::stale_connection;
    send(connection, rej);
  }
}

void Agent::refuse(const Req& req, const Message& message, const Received& received, Reason reason) {
  Rej rej;
  rej.remote_comm_id = req.local_comm_id;
  rej.message = Answers::req;
  rej.reason = reason;
  const auto wait = std::max(identity_.rejection_delay, identity_.listener_wait);
  if (reason != Reason::invalid_service_id || last_call_ || wait.count() == 0)
    return answer(received, message.transaction_id, rej);
  unheard_.emplace(clock_.now() + wait, received);
}

void Agent::on(const Mra& mra, const Message& /*message*/, const Received& /*received*/) {
  Connection* const connection = find(mra.remote_comm_id, mra.message == Answers::req ? 0 : mra.local_comm_id);
  if (connection == nullptr) return;
  if (connection->state == State::req_sent && mra.message == Answers::req) {
    connection->state = State::mra_req_received;
  } else if (connection->state == State::rep_sent && mra.message == Answers::rep) {
    connection->state = State::mra_rep_received;
  } else {
    return;
  }
  wait(*connection, milliseconds_of(mra.service_timeout) + milliseconds_of(connection->ack_timeout));
}

void Agent::on(const Rej& rej, const Message& message, const Received& /*received*/) {
  Connection* connection = nullptr;
  if (rej.reason == Reason::timeout) {
    connection = by_remote(rej.local_comm_id, engine::wire::load<std::uint64_t>(rej.info.data()));
  } else {
    connection = find(rej.remote_comm_id, rej.message == Answers::req ? 0 : rej.local_comm_id);
  }
  if (connection == nullptr) return;
  switch (connection->state) {
    case State::mra_req_received:
      // One that has the same address knows no such service; who does has said so.
      if (rej.reason == Reason::invalid_service_id && identity_.rejection_delay.count() > 0) return;
      [[fallthrough]];
    case State::req_sent:
    case State::rep_sent:
    case State::mra_rep_received:
    case State::req_received:
    case State::mra_req_sent:
      if (rej.reason == Reason::stale_connection) {
        enter_timewait(*connection);
      } else {
        end(*connection);
      }
      break;
    case State::dreq_sent:
    case State::rep_received:
    case State::mra_rep_sent:
    case State::established:
      enter_timewait(*connection);
      break;
    default:
      return;
  }
  tell(*connection, Told::What::rej, &message);
}

void Agent::on(const Rep& rep, const Message& message, const Received& received) {
  Connection* const connection = find(rep.remote_comm_id, 0);
  if (connection == nullptr) {
    // Its answer was lost, or it itself was doubled.
    Connection* const known = find(rep.remote_comm_id, rep.local_comm_id);
    if (known == nullptr) return;
    if (known->state == State::established) {
      send(*known, Rtu{known->local_id, known->remote_id, {}});
    } else if (known->state == State::mra_rep_sent) {
      send(*known, Mra{known->local_id, known->remote_id, Answers::rep, known->service_timeout, {}});
    }
    return;
  }
  if (connection->state != State::req_sent && connection->state != State::mra_req_received) return;
  connection->remote_guid = rep.local_ca_guid;
  connection->remote_qpn = rep.local_qpn;
  if (Connection* const old = stale(*connection)) {
    Rej rej;
    rej.local_comm_id = rep.remote_comm_id;
    rej.remote_comm_id = rep.local_comm_id;
    rej.message = Answers::rep;
    rej.reason = Reason::stale_connection;
    answer(received, message.transaction_id, rej);
    disconnect(*old);
    return;
  }
  connection->remote_id = rep.local_comm_id;
  by_remote_id_.try_emplace({connection->remote_guid, connection->remote_id}, connection);
  connection->state = State::rep_received;
  connection->initiator_depth = rep.responder_resources;
  connection->responder_resources = rep.initiator_depth;
  connection->sq_psn = rep.starting_psn;
  connection->rnr_retry_count = rep.rnr_retry_count;
  connection->ack_timeout = ack_timeout(rep.target_ack_delay, connection->ack_timeout - 1U);
  stop_waiting(*connection);
  ask_for_patience(*connection, Times{}.service_timeout);
  tell(*connection, Told::What::rep, &message);
}

void Agent::on(const Rtu& rtu, const Message& message, const Received& /*received*/) {
  Connection* const connection = find(rtu.remote_comm_id, rtu.local_comm_id);
  if (connection == nullptr) return;
  if (connection->state != State::rep_sent && connection->state != State::mra_rep_received) return;
  stop_waiting(*connection);
  connection->state = State::established;
  tell(*connection, Told::What::ready, &message);
}

void Agent::on(const Dreq& dreq, const Message& message, const Received& received) {
  Connection* const connection = find(dreq.remote_comm_id, dreq.local_comm_id);
  if (connection == nullptr) {
    // It has gone, so it is disconnected; but who shares its address may have it.
    if (identity_.rejection_delay.count() > 0 && !connections_.contains(dreq.remote_comm_id)) return;
    return answer(received, message.transaction_id, Drep{dreq.remote_comm_id, dreq.local_comm_id, {}});
  }
  if (connection->local_qpn != dreq.remote_qpn) return;
  switch (connection->state) {
    case State::rep_sent:
    case State::mra_rep_received:
    case State::dreq_sent:
    case State::established:
      break;
    case State::timewait:
      return answer(received, message.transaction_id, Drep{connection->local_id, connection->remote_id, {}});
    default:
      return;
  }
  stop_waiting(*connection);
  connection->state = State::dreq_received;
  connection->transaction = message.transaction_id;
  tell(*connection, Told::What::dreq, &message);
}

void Agent::on(const Drep& drep, const Message& message, const Received& /*received*/) {
  Connection* const connection = find(drep.remote_comm_id, drep.local_comm_id);
  if (connection == nullptr) return;
  if (connection->state != State::dreq_sent && connection->state != State::dreq_received) return;
  stop_waiting(*connection);
  enter_timewait(*connection);
  tell(*connection, Told::What::drep, &message);
}

void Agent::on(const SidrReq& req, const Message& message, const Received& received) {
  for (const auto& [id, known] : connections_) {
    const bool same = known->state == State::sidr_req_received && known->remote_id == req.request_id &&
                      known->to.ip.destination == received.source;
    if (same) return;  // it will be answered
  }
  Connection& connection = make();
  connection.state = State::sidr_req_received;
  connection.type = IBV_QPT_UD;
  connection.remote_id = req.request_id;
  connection.service = req.service_id;
  connection.transaction = message.transaction_id;
  connection.to.ip.source = received.destination;
  connection.to.ip.destination = received.source;
  connection.to.ip.version =
      engine::wire::is_mapped(received.source) ? engine::wire::IpVersion::v4 : engine::wire::IpVersion::v6;
  switch (owner_.requested(connection, message, received)) {
    case Owner::Verdict::taken:
      return;
    case Owner::Verdict::nobody:
      if (identity_.rejection_delay.count() == 0) answer_service(connection, SidrStatus::unsupported, 0, 0, {});
      connection.state = State::idle;
      break;
    case Owner::Verdict::no_room:
      connection.state = State::idle;
      break;
    default:
      answer_service(connection, SidrStatus::reject, 0, 0, {});
      break;
  }
  destroy(connection);
}

void Agent::on(const SidrRep& rep, const Message& message, const Received& /*received*/) {
  Connection* const connection = find(rep.request_id, 0);
  if (connection == nullptr || connection->state != State::sidr_req_sent) return;
  end(*connection);
  tell(*connection, Told::What::sidr_rep, &message);
}

}  // namespace verbena::emulator::cm
