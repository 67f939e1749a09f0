// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "nic/shared_net.hpp"

#include <cstring>
#include <utility>

namespace verbena::emulator {

namespace {

using engine::fabric::Shared;

class SharedPort final : public engine::fabric::Port {
public:
  explicit SharedPort(Shared& fabric) : port_(fabric) {}

  void connect(engine::transport::Adapter& adapter) noexcept override { port_.connect(adapter); }
  void listen(const engine::wire::Gid& gid) override { port_.listen(gid); }
  void forget(const engine::wire::Gid& gid) noexcept override { port_.forget(gid); }
  bool send(const engine::transport::Train& train) noexcept override { return port_.send(train); }
  std::uint32_t most_packets(const engine::transport::QueuePair& qp) const noexcept override {
    return port_.most_packets(qp);
  }
  std::uint32_t window() const noexcept override { return port_.window(); }
  void withdraw(const engine::transport::QueuePair& qp) noexcept override { port_.withdraw(qp); }
  void withdraw(const engine::memory::Piece& memory) noexcept override { port_.withdraw(memory); }

private:
  Shared::Port port_;
};

}  // namespace

tl::expected<std::unique_ptr<Net>, std::string> SharedNet::join(const std::string& name, GivenAddresses addresses,
                                                                HostMutex& mutex, engine::transport::Clock& clock) {
  Shared::Options options;
  options.name = name;
  auto joined = Shared::join(std::move(options), mutex, clock);
  if (!joined) {
    return tl::unexpected("the fabric '" + name + "' can't be joined: " + joined.error().what + " (" +
                          std::strerror(joined.error().error) + ")");
  }
  return std::make_unique<SharedNet>(std::move(*joined), std::move(addresses));
}

std::unique_ptr<engine::fabric::Port> SharedNet::port() {
  return std::make_unique<SharedPort>(*fabric_);
}

}  // namespace verbena::emulator
