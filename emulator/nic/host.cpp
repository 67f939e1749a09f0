// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "nic/host.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "nic/in_process_net.hpp"
#include "nic/shared_net.hpp"
#include "nic/udp_net.hpp"

namespace verbena::emulator {

using engine::transport::Time;

Time MonotonicClock::now() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch();
}

/// A NIC's end of the net, which can be taken from it: then what it sends is lost. Of a bad wire it sends packet by
/// packet, and some of them not, or twice.
class Host::Wire final : public engine::fabric::Port {
public:
  Wire(Host& host, std::unique_ptr<engine::fabric::Port> port) : host_(host), port_(std::move(port)) {
    host_.wires_.push_back(this);
  }
  ~Wire() override { std::erase(host_.wires_, this); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  void connect(engine::transport::Adapter& adapter) noexcept override { port_->connect(adapter); }
  void listen(const engine::wire::Gid& gid) override {
    if (port_) port_->listen(gid);
  }
  void forget(const engine::wire::Gid& gid) noexcept override {
    if (port_) port_->forget(gid);
  }
  int take_addresses() override { return port_ ? port_->take_addresses() : 0; }
  void give_addresses() noexcept override {
    if (port_) port_->give_addresses();
  }
  bool send(const engine::transport::Train& train) noexcept override {
    if (host_.inert() || !port_) return true;
    if (!bad()) return port_->send(train);
    const std::uint32_t copies = host_.copies();
    for (std::uint32_t copy = 0; copy < copies; ++copy) {
      if (!port_->send(train)) return copy > 0;
    }
    return true;
  }
  std::uint32_t most_packets(const engine::transport::QueuePair& qp) const noexcept override {
    return !port_ || bad() ? 1 : port_->most_packets(qp);
  }
  std::uint32_t window() const noexcept override {
    constexpr std::uint32_t kOfBadWire = 128;  // linux sw/rxe/rxe_param.h RXE_MAX_UNACKED_PSNS
    const std::uint32_t window = port_ ? port_->window() : kOfBadWire;
    return bad() ? std::min(window, kOfBadWire) : window;
  }
  void withdraw(const engine::transport::QueuePair& qp) noexcept override {
    if (port_) port_->withdraw(qp);
  }
  void withdraw(const engine::memory::Piece& memory) noexcept override {
    if (port_) port_->withdraw(memory);
  }
  void cut() noexcept { port_.reset(); }

private:
  bool bad() const noexcept { return engine::fabric::any(host_.impairments_); }

  Host& host_;
  std::unique_ptr<engine::fabric::Port> port_;
};

tl::expected<std::unique_ptr<Host>, std::string> Host::on(const NetOptions& options) {
  std::unique_ptr<Host> host(new Host);
  host->random_.seed(options.seed);
  if (options.kind == NetKind::in_process) {
    host->net_ = std::make_unique<InProcessNet>(options.impairments, options.seed, host->mutex, host->clock_);
    return host;
  }
  if (options.impairments.late > 0 || options.impairments.delay.count() > 0)
    return tl::unexpected<std::string>("packets are delayed or reordered within one process alone");
  host->mutex.inert_in_child();
  host->impairments_ = options.impairments;
  tl::expected<std::unique_ptr<Net>, std::string> net;
  std::vector<std::vector<engine::wire::Gid>> addresses;
  for (const std::string& text : options.addresses) {
    const auto gid = address_from(text);
    if (!gid) return tl::unexpected("'" + text + "' is no address; one is written as 10.0.0.1 or fe80::1");
    addresses.push_back({*gid});
  }
  if (options.kind == NetKind::shared) {
    if (!addresses.empty() && addresses.size() < options.ports) {
      return tl::unexpected(std::to_string(addresses.size()) + " addresses were given to NICs that have " +
                            std::to_string(options.ports) + " ports");
    }
    net = SharedNet::join(options.fabric, GivenAddresses(std::move(addresses)), host->mutex, host->clock_);
  } else {
    net = UdpNet::open(std::move(addresses), options.ports, host->mutex, host->clock_);
  }
  if (!net) return tl::unexpected(std::move(net.error()));
  host->net_ = std::move(*net);
  return host;
}

Host::~Host() {
  // A child has not the threads of its parent, which none of them may wait for.
  if (!mutex.here()) [[maybe_unused]]
    const auto* const left = net_.release();
}

void Host::end() {
  if (!mutex.here() || !net_ || !net_->reaches_others()) return;
  {
    const std::scoped_lock lock(mutex);
    if (ended_.exchange(true)) return;
    for (Wire* const wire : wires_) wire->cut();
  }
  net_.reset();
}

std::unique_ptr<engine::fabric::Port> Host::port() {
  if (!net_->reaches_others()) return net_->port();
  return std::make_unique<Wire>(*this, net_->port());
}

/// What becomes of one packet. A wrong bit is a wrong ICRC, and the packet is dropped where it arrives.
std::uint32_t Host::copies() noexcept {
  const auto chance = [this](std::uint32_t of_million) {
    return of_million > 0 && random_() % engine::fabric::kOfMillion < of_million;
  };
  std::uint32_t copies = chance(impairments_.doubled) ? 2 : 1;
  for (std::uint32_t copy = copies; copy > 0; --copy) {
    if (chance(impairments_.lost) || chance(impairments_.corrupted)) --copies;
  }
  return copies;
}

}  // namespace verbena::emulator
