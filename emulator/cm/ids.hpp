// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "cm/agent.hpp"
#include "cm/general_service.hpp"
#include "cm/identifier.hpp"
#include "cm/ports.hpp"
#include "cm/times.hpp"
#include "engine/transport/served.hpp"
#include "nic/host.hpp"
#include "nic/nic.hpp"

namespace verbena::emulator::cm {

/// rdma_cm as the kernel has it, over the NICs of one host: identifiers, and an agent for each NIC. All of it with the
/// host's mutex held, and it moves no queue pair but those of iWARP, which their driver moves. Each call gives 0 or an
/// errno. Source: linux drivers/infiniband/core/cma.c and ucma.c, where nothing else is said.
class Manager final : private Owner, public engine::transport::Served {
public:
  struct Options {
    Times times;
    std::uint32_t seed = 1;  ///< of port numbers, PSNs and the agents' own numbers; another one in each process
    /// NICs of other processes may be there: an address that none here has is theirs, or taken for theirs where the
    /// net can't tell.
    bool others = false;
    /// How often it is looked whether other ends are there, where the net can tell.
    std::chrono::milliseconds look_every{250};
    /// And may have the same addresses as those here (Agent::Identity).
    std::chrono::milliseconds rejection_delay{};
    std::chrono::milliseconds listener_wait{};  ///< Agent::Identity
  };
  Manager(Host& host, const std::vector<Nic*>& nics, Options options);
  ~Manager() override;
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  Identifier& make(rdma_event_channel* channel, void* context, rdma_port_space port_space, ibv_qp_type type);
  /// Nothing more comes of it; events about it that wait are gone. Its memory stays until free().
  void end(Identifier& id);
  void free(Identifier& id) noexcept;

  int bind(Identifier& id, const sockaddr_storage& address);
  int resolve_address(Identifier& id, const sockaddr_storage* source, const sockaddr_storage& destination,
                      int timeout_ms);
  int resolve_route(Identifier& id);
  int listen(Identifier& id, int backlog);
  int connect(Identifier& id, const rdma_conn_param& param);
  /// `param` is null for the answer to a response (RDMA_CM_EVENT_CONNECT_RESPONSE): ready to use.
  int accept(Identifier& id, const rdma_conn_param* param, std::uint32_t qkey = 0);
  int reject(Identifier& id, Agent::Data why);
  int disconnect(Identifier& id);
  int notify(Identifier& id, ibv_event_type event);
  int qp_attributes(Identifier& id, ibv_qp_attr& attr, int& mask);
  int join(Identifier& id, const sockaddr_storage& address, bool sends_only, void* context);
  /// The membership that was left stays until its events are acknowledged; null where there is none.
  std::unique_ptr<Membership> leave(Identifier& id, const sockaddr_storage& address);
  int set_option(Identifier& id, int level, int name, const void* value, std::size_t length);
  void migrate(Identifier& id, rdma_event_channel& channel);

  /// A queue pair is about to go: a connection of iWARP that stands on it ends.
  void queue_pair_goes(const Nic& nic, std::uint32_t number);
  /// One is in ERR: a connection of iWARP that stands on it will end.
  void queue_pair_failed(const Nic& nic, std::uint32_t number);
  /// The process ends: nothing is heard any more, and the other ends of all connections are told.
  void leave();

  // Served
  bool serve() override;
  std::optional<engine::transport::Time> next() const noexcept override;

private:
  struct Station {
    Nic* nic;
    GeneralService service;
    Agent agent;
    Station(Nic& of, engine::transport::Clock& clock, Owner& owner, const Agent::Identity& identity)
        : nic(&of), service(of.adapter(), of.keys()), agent(service, clock, owner, identity) {}
  };
  struct Local {
    Nic* nic = nullptr;
    std::uint8_t port = 0;
  };

  // Owner: incoming.cpp
  Verdict requested(Connection& connection, const Message& message, const Received& from) override;
  void told(Connection& connection, const Told& told) override;
  Identifier* listener(std::uint64_t service, const engine::wire::Gid& destination, const Nic& nic) const noexcept;
  void told_offloaded(Identifier& id, Connection& connection, const Told& told);

  // Where addresses lead: binding.cpp
  Local whose(const engine::wire::Gid& ip, std::uint32_t scope) const noexcept;
  Local way_out(const engine::wire::Gid& destination, std::uint32_t scope) const;
  Local first() const noexcept;
  bool is_own(const sockaddr_storage& address) const;
  int attach(Identifier& id, const sockaddr_storage& address);
  engine::wire::Gid own_ip(const Identifier& id) const noexcept;
  int find_way(Identifier& id);

  Station& station(const Nic& nic) noexcept;
  bool iwarp(const Identifier& id) const noexcept;
  std::unique_ptr<Event> event(Identifier& id, rdma_cm_event_type type, int status = 0);
  void raise(std::unique_ptr<Event> event);
  void raise(Identifier& id, rdma_cm_event_type type, int status = 0) { raise(event(id, type, status)); }
  void drop_connection(Identifier& id);
  void watch(Connection& connection);
  void look_after();
  int set_qkey(Identifier& id, std::uint32_t qkey) noexcept;
  void fill_addresses(Identifier& id) noexcept;

  // What an iWARP driver does with a queue pair: offload.cpp
  int bring_up(Identifier& id);
  void end_failed();
  void bring_down(Identifier& id);

  Host& host_;
  Options options_;
  std::mt19937 random_;
  Ports ports_;
  std::vector<std::unique_ptr<Station>> stations_;
  std::set<Identifier*> identifiers_;
  std::set<std::pair<engine::transport::Time, Identifier*>> unanswered_;  ///< questions about addresses
  std::set<Identifier*> failed_;  ///< of iWARP: their queue pair is in ERR
  std::optional<engine::transport::Time> look_;  ///< when other ends are looked after next
};

/// The private data of an event, as many bytes as the message has room for behind `from`.
void set_private_data(Event& event, std::span<const std::byte> data);

}  // namespace verbena::emulator::cm
