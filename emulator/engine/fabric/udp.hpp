// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/fabric/descriptor.hpp"
#include "engine/fabric/udp_address.hpp"
#include "engine/fabric/udp_arrivals.hpp"
#include "engine/fabric/udp_counters.hpp"
#include "engine/fabric/udp_receiver.hpp"
#include "engine/fabric/udp_sender.hpp"
#include "engine/fabric/udp_settings.hpp"
#include "engine/transport/adapter.hpp"
#include "engine/transport/surroundings.hpp"

namespace verbena::engine::fabric {

/// RoCE v2 over UDP port 4791: between processes, network namespaces and hosts, and with whoever else speaks it. It has
/// no thread and never waits: whoever owns a port calls progress() as long as that takes something, and may then sleep
/// on descriptor().
class Udp {
public:
  explicit Udp(const UdpSettings& settings = {}) noexcept : settings_(settings) {}

  /// One NIC's end. One thread at a time.
  class Port final : public transport::Outlet {
  public:
    explicit Port(const Udp& fabric);
    ~Port() override;
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    void connect(transport::Adapter& adapter) {
      adapter_ = &adapter;
      arrivals_.emplace(adapter, counters_);
    }
    /// What comes to this address is the adapter's from now on. It must be one of this network namespace, whose link
    /// has room for the largest path MTU. A group is joined on the interfaces of the addresses that the port has then.
    UdpResult listen(const wire::Gid& gid);
    /// The address, or group, is this port's no more.
    void forget(const wire::Gid& gid) noexcept;

    bool send(const transport::Train& train) noexcept override;
    std::uint32_t most_packets(const transport::QueuePair& /*qp*/) const noexcept override { return most_packets_; }
    std::uint32_t window() const noexcept override { return window_; }

    /// Takes up to so many messages of the kernel's that have arrived, and sends what waits; how many it took. What is
    /// owed to the other ends is sent before it returns, or, with late_acknowledgements, at the latest when it returns
    /// 0.
    std::size_t progress(std::size_t budget);
    /// For poll(): readable when progress() has something to do.
    int descriptor() const noexcept { return poll_.number(); }

    const UdpCounters& counters() const noexcept { return counters_; }
    /// What is not as it could be on this host, in a sentence; empty where all is.
    const std::string& remark() const noexcept { return remark_; }
    /// Sockets that things arrive at, for those who watch or filter them.
    std::vector<int> sockets() const;

  private:
    static constexpr std::size_t kMostSenders = 64;  // sockets for source ports, each address

    struct Sender {
      std::uint16_t wanted = 0;
      std::uint16_t port = 0;  ///< what it has come to
      Descriptor socket;  ///< none where that is 4791's
    };
    struct Local {
      wire::Gid gid{};
      Interface interface;
      Descriptor socket;
      std::vector<Sender> senders;
    };
    struct Group {
      wire::Gid gid{};
      std::vector<Descriptor> sockets;  ///< one an interface
    };
    struct Arriving {
      int socket = -1;
      wire::Gid gid{};
    };

    UdpResult add_address(const wire::Gid& gid);
    UdpResult add_group(const wire::Gid& gid);
    UdpResult prepare_packets();
    UdpResult watch(int socket);
    void list_arriving();
    void size_window(int socket) noexcept;
    Local* local(const wire::Gid& gid) noexcept;
    const Sender& sender(Local& from, std::uint16_t wanted);

    std::size_t take_from(const Arriving& from, std::size_t budget);
    std::size_t take_frames(std::size_t budget);
    std::size_t take_ready(std::size_t budget);
    std::size_t take_others(std::size_t budget);
    void foreign(const wire::Gid& source);
    void filter_socket(int socket, const wire::Gid& gid) noexcept;
    bool is_mine(const wire::Gid& gid) const noexcept;
    void watch_waiting() noexcept;

    UdpSettings settings_;
    transport::Adapter* adapter_ = nullptr;
    UdpCounters counters_;
    std::optional<UdpArrivals> arrivals_;
    std::string remark_;
    Descriptor poll_;
    std::vector<Local> locals_;
    std::vector<Group> groups_;
    std::vector<Arriving> arriving_;
    Descriptor packets_;  ///< sees nothing unless `packets_bound_`
    bool packets_bound_ = false;
    std::vector<wire::Gid> foreign_;  ///< sources that don't count as this fabric does
    UdpSender sender_;
    UdpReceiver receiver_;
    std::size_t hot_ = 0;  ///< of arriving_: where something came last
    unsigned cold_turns_ = 0;  ///< how often it alone was looked at
    bool refused_ = false;  ///< somebody was asked to wait
    int refused_by_ = -1;  ///< and whose room was missing
    bool owing_ = false;  ///< since the last call
    int waiting_for_ = -1;  ///< socket whose room is watched
    std::uint32_t most_packets_ = 62;
    std::uint32_t window_ = 62;
  };

private:
  UdpSettings settings_;
};

}  // namespace verbena::engine::fabric
