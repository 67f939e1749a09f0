// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "cm/connection.hpp"
#include "cm/general_service.hpp"
#include "cm/messages.hpp"
#include "cm/times.hpp"
#include "engine/transport/time.hpp"

namespace verbena::emulator::cm {

/// What happened to a connection.
struct Told {
  enum class What : std::uint8_t {
    req_error,   ///< nobody answered, as of the other two errors
    rep_error,
    dreq_error,
    rep,
    ready,       ///< an RTU came, or something that says as much
    rej,
    dreq,
    drep,
    timewait_exit,
    sidr_error,
    sidr_rep,
  };
  What what{};
  const Message* message = nullptr;  ///< that said so, until the call returns; null where none did
};

/// Whom an agent tells. Called while the NIC is locked; it may send in answer, and destroys nothing.
class Owner {
public:
  virtual ~Owner() = default;
  enum class Verdict : std::uint8_t {
    taken,
    nobody,   ///< nobody listens
    no_room,  ///< there will be: no answer, so that it is asked again
    refused,  ///< as the consumer would
    bad_gid,  ///< its path is not one of this NIC
    bad_type, ///< of another type of queue pair than the service
  };
  /// A REQ or a SIDR_REQ that came from `from`: the connection has what the message says.
  virtual Verdict requested(Connection& connection, const Message& message, const Received& from) = 0;
  virtual void told(Connection& connection, const Told& told) = 0;
};

/// The communication manager of one NIC: what the messages do to connections, and what is sent again when no answer
/// comes. It has no thread: progress() takes what has come, and does what is due. All of it with the NIC locked.
/// Source of its states and of each answer: linux drivers/infiniband/core/cm.c.
class Agent {
public:
  struct Identity {
    std::uint64_t node_guid = 0;
    std::uint8_t ack_delay = 0;   ///< the device's local_ca_ack_delay
    std::uint32_t first_id = 1;   ///< of the connections' own; differs from process to process
    /// NICs of other processes may have the same address, and each of them gets what comes for it. So who has the
    /// service says at once that it has the request, and who doesn't says nothing before this time is over; 0 where it
    /// is alone.
    std::chrono::milliseconds rejection_delay{};
    /// How long a request waits for somebody to listen before it is rejected: programs have the time between two calls
    /// counted in what a wire takes.
    std::chrono::milliseconds listener_wait{};
  };
  Agent(GeneralService& service, engine::transport::Clock& clock, Owner& owner, Identity identity)
      : service_(service), clock_(clock), owner_(owner), identity_(identity), next_id_(identity.first_id) {}
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  Connection& make();
  /// It is gone, and the other end is told where it waits for something.
  void destroy(Connection& connection);

  // What its user does; 0, or an errno that the kernel gives. Private data longer than the message has room for:
  // EINVAL.
  using Data = std::span<const std::byte>;
  struct Request {
    std::uint64_t service = 0;
    ibv_qp_type type = IBV_QPT_RC;
    std::uint32_t qpn = 0;
    std::uint32_t psn = 0;
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    std::uint8_t retry_count = 0;
    std::uint8_t rnr_retry_count = 0;
    bool flow_control = false;
    bool srq = false;
    std::uint16_t pkey = 0xffff;
    std::uint8_t path_mtu = IBV_MTU_1024;
    Path path{};
    Times times{};
  };
  int request(Connection& connection, const engine::queues::Address& to, const Request& request, Data data);
  struct Reply {
    std::uint32_t qpn = 0;
    std::uint32_t psn = 0;
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    std::uint8_t rnr_retry_count = 0;
    bool flow_control = false;
    bool srq = false;
  };
  int reply(Connection& connection, const Reply& reply, Data data);
  int ready(Connection& connection);
  int reject(Connection& connection, Reason reason, Data data);
  /// A duplicate of the last message is asked for patience from now on.
  int ask_for_patience(Connection& connection, std::uint8_t service_timeout);
  int disconnect(Connection& connection);
  int confirm_disconnect(Connection& connection);
  /// Data arrived before the RTU did: it isn't waited for any more.
  int established(Connection& connection);

  int ask_service(Connection& connection, const engine::queues::Address& to, std::uint64_t service, const Times& times,
                  Data data);
  int answer_service(Connection& connection, SidrStatus status, std::uint32_t qpn, std::uint32_t qkey, Data data);

  /// Connections whose other end isn't there any more end as if it had said so, and their users are told. `who` says
  /// who is there now (Net::who). False where none is left to look after.
  using Who = std::function<std::optional<std::uint64_t>(const engine::wire::Gid& address, std::uint32_t qpn)>;
  bool look_after(const Who& who);
  /// Somebody listens now: requests that wait for that are taken.
  void listened();
  /// All of it ends, and nothing is heard any more: the other ends are told, more than once, as they can't ask again.
  void leave();

  /// Takes what has come and does what is due; false where there was nothing.
  bool progress();
  /// When something will be due.
  std::optional<engine::transport::Time> next() const noexcept;

private:
  // agent_receive.cpp
  void take(const Received& received);
  void on(const Req& req, const Message& message, const Received& received);
  void on(const Mra& mra, const Message& message, const Received& received);
  void on(const Rej& rej, const Message& message, const Received& received);
  void on(const Rep& rep, const Message& message, const Received& received);
  void on(const Rtu& rtu, const Message& message, const Received& received);
  void on(const Dreq& dreq, const Message& message, const Received& received);
  void on(const Drep& drep, const Message& message, const Received& received);
  void on(const SidrReq& req, const Message& message, const Received& received);
  void on(const SidrRep& rep, const Message& message, const Received& received);
  void request_again(Connection& connection);
  void refuse(const Req& req, const Message& message, const Received& received, Reason reason);
  Connection* find(std::uint32_t local_id, std::uint32_t remote_id) const noexcept;
  Connection* by_remote(std::uint32_t remote_id, std::uint64_t guid) const noexcept;
  /// The one that has that queue pair of the other end's, or null and now it is this one.
  Connection* stale(Connection& connection);

  // agent.cpp
  void send(const Connection& connection, Body body);
  void send_and_wait(Connection& connection, Body body, std::chrono::milliseconds patience, std::uint8_t retries);
  void answer(const Received& to, std::uint64_t transaction, Body body);
  void wait(Connection& connection, std::chrono::milliseconds time);
  void stop_waiting(Connection& connection) noexcept;
  void enter_timewait(Connection& connection);
  void end(Connection& connection);
  void forget_queue_pair(const Connection& connection) noexcept;
  void forget(const Connection& connection) noexcept;
  void expired(Connection& connection);
  void left_alone(Connection& connection);
  void tell(Connection& connection, Told::What what, const Message* message = nullptr);
  std::uint64_t new_transaction(const Connection& connection) const noexcept;

  GeneralService& service_;
  engine::transport::Clock& clock_;
  Owner& owner_;
  Identity identity_;
  std::uint32_t next_id_;
  std::map<std::uint32_t, std::unique_ptr<Connection>> connections_;  ///< by their own numbers
  using Remote = std::pair<std::uint64_t, std::uint32_t>;  ///< the other end's GUID, and a number of its own
  std::map<Remote, Connection*> by_remote_id_;
  std::map<Remote, Connection*> by_remote_qpn_;
  std::set<std::pair<engine::transport::Time, Connection*>> waiting_;
  std::multimap<engine::transport::Time, Received> unheard_;  ///< requests that nobody listened to yet, until when
  bool last_call_ = false;  ///< what is taken has waited long enough
};

}  // namespace verbena::emulator::cm
