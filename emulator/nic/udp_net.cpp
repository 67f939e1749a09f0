// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "nic/udp_net.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <utility>

#include "engine/fabric/udp_address.hpp"
#include "engine/wire/mtu.hpp"
#include "nic/quiet_thread.hpp"

namespace verbena::emulator {

namespace {

using engine::transport::Time;
using std::chrono::milliseconds;

constexpr std::size_t kBudget = 64;         // messages of the kernel's at a time
constexpr std::uint32_t kClockEvery = 64;   // rounds in which nothing came
constexpr std::uint32_t kPollsAwake = 64;   // as many polls make a program that polls
constexpr Time kLook = milliseconds(2);     // whether the program still polls
constexpr Time kLongestSleep = milliseconds(100);

/// What the interfaces of this namespace have: those that are up, loopback left out. IPv6 of a link before IPv4, as the
/// kernel's GID tables have it (linux core/roce_gid_mgmt.c).
std::vector<std::vector<engine::wire::Gid>> interface_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  std::vector<std::pair<std::string, std::vector<engine::wire::Gid>>> found;
  for (const int family : {AF_INET6, AF_INET}) {
    for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
      if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != family) continue;
      if ((each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
      engine::wire::Gid gid{};
      if (family == AF_INET6) {
        std::memcpy(gid.data(), &reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr, gid.size());
      } else {
        gid[10] = gid[11] = std::byte{0xff};
        std::memcpy(gid.data() + 12, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr, 4);
      }
      const std::string name = each->ifa_name;
      auto at = std::find_if(found.begin(), found.end(), [&name](const auto& one) { return one.first == name; });
      if (at == found.end()) at = found.insert(found.end(), {name, {}});
      at->second.push_back(gid);
    }
  }
  ::freeifaddrs(list);
  std::vector<std::vector<engine::wire::Gid>> addresses;
  for (auto& [name, gids] : found) addresses.push_back(std::move(gids));
  return addresses;
}

/// Payload bytes that the link of this address has room for.
std::uint32_t room_of(const engine::wire::Gid& gid) {
  constexpr std::uint32_t kHeaders = 40 + 8 + 12 + 16 + 4 + 4;  // IPv6, UDP, BTH, RETH, ImmDt, ICRC
  const auto interface = engine::fabric::interface_of(gid);
  std::uint32_t mtu = engine::wire::kLargestMtu;
  if (!interface || interface->mtu == 0) return mtu;
  while (mtu > engine::wire::mtu_bytes(1) && mtu + kHeaders > interface->mtu) mtu /= 2;
  return mtu;
}

/// The address that the kernel would send from; nothing where no route leads there. Nothing is sent.
std::optional<engine::wire::Gid> source_towards(const engine::wire::Gid& to) {
  constexpr std::uint16_t kPort = 4791;
  engine::fabric::SocketAddress address(to, kPort);
  const engine::fabric::Descriptor socket(::socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.number(), &address.any, address.bytes) != 0) return std::nullopt;
  if (::getsockname(socket.number(), &address.any, &address.bytes) != 0) return std::nullopt;
  return address.gid();
}

}  // namespace

std::optional<engine::wire::Gid> address_from(const std::string& text) {
  engine::wire::Gid gid{};
  if (::inet_pton(AF_INET6, text.c_str(), gid.data()) == 1) return gid;
  if (::inet_pton(AF_INET, text.c_str(), gid.data() + 12) != 1) return std::nullopt;
  gid[10] = gid[11] = std::byte{0xff};
  return gid;
}

/// A NIC's end, with what the net asks of it besides.
class UdpNet::Port final : public engine::fabric::Port {
public:
  explicit Port(UdpNet& net) : net_(net), port_(net.fabric_) { net_.ports_.push_back(this); }
  ~Port() override { std::erase(net_.ports_, this); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  void connect(engine::transport::Adapter& adapter) noexcept override { port_.connect(adapter); }
  // What can't be listened to at all was found out before there was a NIC; of groups the transport's own table says
  // whose.
  void listen(const engine::wire::Gid& gid) override {
    wanted_.push_back(gid);
    if (taken_) static_cast<void>(port_.listen(gid));
  }
  void forget(const engine::wire::Gid& gid) noexcept override {
    std::erase_if(wanted_, [&gid](const engine::wire::Gid& each) { return engine::wire::same(each, gid); });
    port_.forget(gid);
  }
  int take_addresses() override {
    int error = 0;
    for (const engine::wire::Gid& gid : wanted_) {
      const engine::fabric::UdpResult listens = port_.listen(gid);
      if (!listens && listens.error().number == EADDRINUSE) error = EADDRINUSE;
    }
    taken_ = error == 0;
    if (!taken_) give_addresses();
    return error;
  }
  void give_addresses() noexcept override {
    for (const engine::wire::Gid& gid : wanted_) port_.forget(gid);
    taken_ = false;
  }
  bool send(const engine::transport::Train& train) noexcept override { return port_.send(train); }
  std::uint32_t most_packets(const engine::transport::QueuePair& qp) const noexcept override {
    return port_.most_packets(qp);
  }
  std::uint32_t window() const noexcept override { return port_.window(); }
  std::size_t progress() { return port_.progress(kBudget); }
  int descriptor() const noexcept { return port_.descriptor(); }

private:
  UdpNet& net_;
  engine::fabric::Udp::Port port_;
  std::vector<engine::wire::Gid> wanted_;
  bool taken_ = false;
};

UdpNet::UdpNet(std::vector<std::vector<engine::wire::Gid>> addresses, std::uint32_t largest_mtu, HostMutex& mutex,
               engine::transport::Clock& clock)
    : mutex_(mutex),
      clock_(clock),
      addresses_(std::move(addresses)),
      settings_{.largest_mtu = largest_mtu},
      fabric_(settings_),
      bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

tl::expected<std::unique_ptr<Net>, std::string> UdpNet::open(std::vector<std::vector<engine::wire::Gid>> addresses,
                                                             std::size_t ports, HostMutex& mutex,
                                                             engine::transport::Clock& clock) {
  const bool given = !addresses.empty();
  if (!given) addresses = interface_addresses();
  std::uint32_t largest = engine::wire::kLargestMtu;
  std::string why;
  std::vector<std::vector<engine::wire::Gid>> taken;
  for (const std::vector<engine::wire::Gid>& each : addresses) {
    if (taken.size() == ports) break;
    std::uint32_t room = largest;
    for (const engine::wire::Gid& gid : each) room = std::min(room, room_of(gid));
    // Tried before there is a NIC, which couldn't say what is wrong.
    const engine::fabric::Udp trial({.largest_mtu = room});
    engine::fabric::Udp::Port port(trial);
    std::vector<engine::wire::Gid> listened;
    for (const engine::wire::Gid& gid : each) {
      // Another program's now: this one's, perhaps, when it is used.
      if (const auto listens = port.listen(gid); listens || listens.error().number == EADDRINUSE) {
        listened.push_back(gid);
      } else if (why.empty()) {
        why = listens.error().text;
      }
    }
    if (listened.empty() || (given && listened.size() < each.size())) continue;
    largest = room;
    taken.push_back(std::move(listened));
  }
  if (taken.size() < ports) {
    return tl::unexpected("no address is left for a NIC's port: " + (why.empty() ? "there are fewer than ports" : why) +
                          ". Addresses of their own are given by --address A,B or VERBENA_EMULATED_ADDRESSES");
  }
  std::unique_ptr<UdpNet> net(new UdpNet(std::move(taken), largest, mutex, clock));
  if (!net->bell_) return tl::unexpected(std::string("eventfd: ") + std::strerror(errno));
  net->start();
  return net;
}

UdpNet::~UdpNet() {
  thread_.request_stop();
  ring();
  if (thread_.joinable()) thread_.join();
}

void UdpNet::start() {
  thread_ = quiet_thread([this](const std::stop_token& stop) { serve(stop); });
}

std::unique_ptr<engine::fabric::Port> UdpNet::port() {
  ring();
  return std::make_unique<Port>(*this);
}

bool UdpNet::neighbours(const engine::wire::Gid& own, const engine::wire::Gid& other) const {
  return same_network(own, other, 1) || source_towards(other) == own;
}

bool UdpNet::take() {
  bool any = false;
  // By index: what came may be answered, and nothing else changes the list under the lock.
  for (std::size_t index = 0; index < ports_.size(); ++index) any = ports_[index]->progress() > 0 || any;
  for (engine::transport::Served* const each : served_) any = each->serve() || any;
  return any;
}

void UdpNet::expire() {
  for (engine::transport::Adapter* const adapter : adapters_) {
    if (adapter->next()) adapter->expire(clock_.now());
  }
}

std::optional<Time> UdpNet::next() const noexcept {
  std::optional<Time> first;
  for (const engine::transport::Adapter* const adapter : adapters_) {
    const auto due = adapter->next();
    if (due && (!first || *due < *first)) first = due;
  }
  for (const engine::transport::Served* const each : served_) {
    if (const auto due = each->next(); due && (!first || *due < *first)) first = due;
  }
  return first;
}

void UdpNet::ring() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(bell_.number(), &one, sizeof one));
}

void UdpNet::progress() {
  if (!dozes_ || ++polls_ > kPollsAwake) polled_ = true;
  if (!take() && ++rounds_ % kClockEvery == 0) expire();
}

void UdpNet::settle() {
  const auto due = next();
  if (!due || (wakes_at_ && *wakes_at_ <= *due)) return;
  wakes_at_ = due;
  ring();
}

void UdpNet::doze() {
  polls_ = 0;
  polled_ = false;
  if (!dozes_) {
    dozes_ = true;
    ring();
  }
  take();
}

/// What the thread does each time; how long it may sleep, and on what.
Time UdpNet::turn(std::vector<pollfd>& watched) {
  const std::scoped_lock lock(mutex_);
  const bool polls = std::exchange(polled_, false);
  if (dozes_ == polls) polls_ = 0;
  dozes_ = !polls;
  expire();
  const bool came = take();
  const Time now = clock_.now();
  Time sleep = polls ? kLook : came ? Time{} : kLongestSleep;
  if (const auto due = next()) sleep = std::clamp(*due - now, Time{}, sleep);
  wakes_at_ = now + sleep;
  watched = {{bell_.number(), POLLIN, 0}};
  if (!polls) {
    for (const Port* const port : ports_) watched.push_back({port->descriptor(), POLLIN, 0});
  }
  return sleep;
}

void UdpNet::serve(const std::stop_token& stop) {
  std::vector<pollfd> watched;
  while (!stop.stop_requested()) {
    const Time sleep = turn(watched);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(sleep);
    const timespec wait{seconds.count(), (sleep - seconds).count()};
    if (::ppoll(watched.data(), watched.size(), &wait, nullptr) <= 0) continue;
    if ((watched.front().revents & POLLIN) == 0) continue;
    std::uint64_t rung = 0;
    static_cast<void>(!::read(bell_.number(), &rung, sizeof rung));
  }
}

}  // namespace verbena::emulator
