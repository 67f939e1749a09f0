// SPDX-License-Identifier: Apache-2.0 OR MIT
// Queue pairs over UDP against sockets without them, in alternating blocks of one run: what is told is the median block
// of each, and the ratio of the two. `one_way_us` is half a round trip of 64 bytes; `GB_per_s` is of messages of 1 MiB
// in packets of path MTU 1024. Two threads, each with one end, want two idle processors; `one_thread` wants one, and is
// the time that both ends take together.
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "engine/fabric/udp.hpp"
#include "engine/memory/key_table.hpp"
#include "engine/transport/posting.hpp"

namespace {

using namespace verbena::engine;  // NOLINT(google-build-using-namespace)
using std::chrono::steady_clock;

constexpr int kBlocks = 10;  // the first of which isn't counted
constexpr std::uint32_t kSmall = 64;
constexpr std::uint32_t kLarge = 1U << 20;
constexpr std::uint32_t kSegment = 1040;  // what a packet of path MTU 1024 has behind UDP
constexpr std::uint32_t kSegments = 62;

struct Clock final : transport::Clock {
  transport::Time now() noexcept override { return steady_clock::now().time_since_epoch(); }
};

struct Nobody final : transport::Notices {
  void completion(queues::CompletionQueue& /*cq*/) noexcept override {}
  void on_queue_pair(transport::QueuePair& /*qp*/, ibv_event_type /*event*/) noexcept override {}
  void on_completion_queue(queues::CompletionQueue& /*cq*/) noexcept override {}
  void on_shared_receive_queue(queues::SharedReceiveQueue& /*srq*/, ibv_event_type /*event*/) noexcept override {}
};

wire::Gid address(unsigned host) {
  return wire::mapped(127, 0, 47, static_cast<std::uint8_t>(host));
}

/// A NIC with one connected queue pair.
struct Node {
  Node(const fabric::UdpSettings& settings, unsigned host)
      : udp(settings),
        port(udp),
        adapter(keys, port, clock, nobody),
        gid(address(host)),
        memory(std::size_t{2} * kLarge) {
    port.connect(adapter);
    const auto opened = port.listen(gid);
    if (!opened) missing = opened.error().text;
    region = keys.add();
    region->domain = 1;
    region->access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    region->host = memory.data();
    region->address = reinterpret_cast<std::uintptr_t>(memory.data());
    region->length = memory.size();
    qp.number = 0x100 + host;
    qp.domain = 1;
    qp.send_cq = qp.receive_cq = &cq;
    adapter.add(qp);
  }
  ~Node() { adapter.remove(qp); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void connect(const Node& other) {
    qp.attr.path_mtu = IBV_MTU_1024;
    qp.attr.timeout = 14;
    qp.attr.retry_cnt = qp.attr.rnr_retry = 7;
    qp.attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    qp.attr.dest_qp_num = other.qp.number;
    qp.route.ip.source = gid;
    qp.route.ip.destination = other.gid;
    for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) adapter.enter(qp, state);
    for (int receive = 0; receive < 32; ++receive) post_receive();
  }
  void post_receive() {
    ibv_sge sge{region->address + kLarge, kSmall, region->key};
    ibv_recv_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    transport::post_receive(qp.receive_queue, wr);
  }
  void post(ibv_wr_opcode opcode, std::uint32_t bytes, const Node& to) {
    ibv_sge sge{region->address, bytes, region->key};
    ibv_send_wr wr{};
    wr.opcode = opcode;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    // Places of a send queue are free again when a later completion is polled.
    wr.send_flags = opcode != IBV_WR_SEND || ++posted % 16 == 0 ? unsigned{IBV_SEND_SIGNALED} : 0U;
    wr.wr.rdma.remote_addr = to.region->address;
    wr.wr.rdma.rkey = to.region->key;
    transport::post_send(qp, wr, nullptr);
    adapter.progress(qp);
  }
  /// One turn; true where a work of the kind that counts completed.
  bool turn(ibv_wc_opcode counts) {
    if (port.progress(16) == 0 && ++quiet % 1024 == 0) adapter.expire(clock.now());
    ibv_wc wc{};
    if (cq.poll(1, &wc) == 0) return false;
    failed = failed || wc.status != IBV_WC_SUCCESS;
    if (wc.opcode == IBV_WC_RECV) post_receive();
    return wc.opcode == counts;
  }

  Clock clock;
  Nobody nobody;
  fabric::Udp udp;
  memory::KeyTable keys;
  fabric::Udp::Port port;
  transport::Adapter adapter;
  wire::Gid gid;
  std::vector<std::byte> memory;
  memory::Region* region = nullptr;
  queues::CompletionQueue cq{1024};
  transport::QueuePair qp{.send_queue = queues::SendQueue(128, 1, 0, false),
                          .receive_queue = queues::ReceiveQueue(64, 1)};
  std::string missing;
  unsigned quiet = 0;
  unsigned posted = 0;
  bool failed = false;
};

/// A UDP socket as the fabric's are, and nothing on top.
struct Raw {
  explicit Raw(unsigned host) : socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const int on = 1;
    const int bytes = 8 << 20;
    ::setsockopt(socket.number(), SOL_UDP, UDP_GRO, &on, sizeof on);
    ::setsockopt(socket.number(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    ::setsockopt(socket.number(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    const fabric::SocketAddress mine(address(host), 4792);
    if (::bind(socket.number(), &mine.any, mine.bytes) != 0) std::abort();
    at = mine;
  }
  void send(const Raw& to) { ::sendto(socket.number(), data.data(), kSmall, 0, &to.at.any, to.at.bytes); }
  bool receive() { return ::recv(socket.number(), data.data(), data.size(), 0) > 0; }
  void send_segments(const Raw& to, std::size_t bytes) {
    msghdr head{};
    iovec piece{data.data(), bytes};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint16_t))> control{};
    head.msg_name = const_cast<sockaddr*>(&to.at.any);
    head.msg_namelen = to.at.bytes;
    head.msg_iov = &piece;
    head.msg_iovlen = 1;
    head.msg_control = control.data();
    head.msg_controllen = control.size();
    cmsghdr* const segment = CMSG_FIRSTHDR(&head);
    segment->cmsg_level = SOL_UDP;
    segment->cmsg_type = UDP_SEGMENT;
    segment->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    const std::uint16_t each = kSegment;
    std::memcpy(CMSG_DATA(segment), &each, sizeof each);
    while (::sendmsg(socket.number(), &head, 0) < 0) {
    }
  }
  /// As many bytes as a WRITE of 1 MiB has behind UDP.
  void send_large(const Raw& to, const std::function<void()>& between) {
    for (std::size_t left = std::size_t{kLarge} / 1024 * kSegment; left > 0;) {
      const std::size_t step = std::min<std::size_t>(left, std::size_t{kSegment} * kSegments);
      send_segments(to, step);
      between();
      left -= step;
    }
  }
  fabric::Descriptor socket;
  fabric::SocketAddress at;
  std::vector<std::byte> data = std::vector<std::byte>(1 << 16);
};

/// One end in a thread of its own, turning until it is told to stop.
class Turning {
public:
  explicit Turning(std::function<void()> turn)
      : thread_([this, turn = std::move(turn)] {
          while (!stop_.load(std::memory_order_relaxed)) turn();
        }) {}
  ~Turning() {
    stop_ = true;
    thread_.join();
  }
  Turning(const Turning&) = delete;
  Turning& operator=(const Turning&) = delete;

private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

double seconds(const std::function<void()>& run) {
  const auto begin = steady_clock::now();
  run();
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

struct Medians {
  double engine = 0;
  double raw = 0;
};

/// Seconds that each takes for a block, in turn.
Medians alternate(const std::function<void()>& engine, const std::function<void()>& raw, int blocks) {
  std::vector<double> of_engine;
  std::vector<double> of_raw;
  for (int block = 0; block < blocks; ++block) {
    const double first = seconds(engine);
    const double second = seconds(raw);
    if (block == 0 && blocks > 1) continue;
    of_engine.push_back(first);
    of_raw.push_back(second);
  }
  return {median(of_engine), median(of_raw)};
}

/// A round trip of 64 bytes, `rounds` a block.
void round_trips(benchmark::State& state, const fabric::UdpSettings& settings, bool threads) {
  Node one(settings, 1);
  Node other(settings, 2);
  if (!one.missing.empty() || !other.missing.empty()) return state.SkipWithError((one.missing + other.missing).c_str());
  one.connect(other);
  other.connect(one);
  Raw raw_one(3);
  Raw raw_other(4);
  const auto echo = [&] {
    if (other.turn(IBV_WC_RECV)) other.post(IBV_WR_SEND, kSmall, one);
  };
  const auto raw_echo = [&] {
    if (raw_other.receive()) raw_other.send(raw_one);
  };
  const int rounds = 5000;
  const auto engine = [&] {
    std::unique_ptr<Turning> peer;
    if (threads) peer = std::make_unique<Turning>(echo);
    for (int round = 0; round < rounds; ++round) {
      one.post(IBV_WR_SEND, kSmall, other);
      while (!one.turn(IBV_WC_RECV)) {
        if (!threads) echo();
      }
    }
  };
  const auto raw = [&] {
    std::unique_ptr<Turning> peer;
    if (threads) peer = std::make_unique<Turning>(raw_echo);
    for (int round = 0; round < rounds; ++round) {
      raw_one.send(raw_other);
      while (!raw_one.receive()) {
        if (!threads) raw_echo();
      }
    }
  };
  for (auto iteration : state) {
    static_cast<void>(iteration);
    const Medians medians = alternate(engine, raw, kBlocks);
    constexpr double kMicro = 1e6;
    state.counters["one_way_us"] = medians.engine / rounds / 2 * kMicro;
    state.counters["raw_one_way_us"] = medians.raw / rounds / 2 * kMicro;
    state.counters["ratio"] = medians.engine / medians.raw;
  }
  if (one.failed || other.failed) state.SkipWithError("a work failed");
}

/// WRITEs of 1 MiB, two under way.
void writes(benchmark::State& state, const fabric::UdpSettings& settings, bool threads) {
  Node one(settings, 1);
  Node other(settings, 2);
  if (!one.missing.empty() || !other.missing.empty()) return state.SkipWithError((one.missing + other.missing).c_str());
  one.connect(other);
  other.connect(one);
  Raw raw_one(3);
  Raw raw_other(4);
  const int rounds = 64;
  const auto engine = [&] {
    std::unique_ptr<Turning> peer;
    if (threads) peer = std::make_unique<Turning>([&] { other.turn(IBV_WC_RDMA_WRITE); });
    one.post(IBV_WR_RDMA_WRITE, kLarge, other);
    for (int done = 0; done < rounds;) {
      if (done + 1 < rounds) one.post(IBV_WR_RDMA_WRITE, kLarge, other);
      while (!one.turn(IBV_WC_RDMA_WRITE)) {
        if (!threads) other.turn(IBV_WC_RDMA_WRITE);
      }
      ++done;
    }
  };
  const auto raw = [&] {
    std::unique_ptr<Turning> peer;
    const auto drain = [&] { static_cast<void>(raw_other.receive()); };
    if (threads) peer = std::make_unique<Turning>(drain);
    for (int round = 0; round < rounds; ++round)
      raw_one.send_large(raw_other, threads ? std::function<void()>([] {}) : std::function<void()>(drain));
  };
  for (auto iteration : state) {
    static_cast<void>(iteration);
    const Medians medians = alternate(engine, raw, kBlocks);
    const double bytes = double{rounds} * kLarge;
    constexpr double kGiga = 1e9;
    state.counters["GB_per_s"] = bytes / medians.engine / kGiga;
    state.counters["raw_GB_per_s"] = bytes / medians.raw / kGiga;
    state.counters["ratio"] = medians.raw / medians.engine;
    state.counters["packets_resent"] =
        static_cast<double>(one.port.counters().packets_out) - double{kBlocks} * rounds * 1024;
  }
  if (one.failed || other.failed) state.SkipWithError("a work failed");
}

const fabric::UdpSettings kUsual;
const fabric::UdpSettings kLate{.late_acknowledgements = true};
const fabric::UdpSettings kPackets{.way = fabric::UdpWay::packets};
const fabric::UdpSettings kPlain{.segmentation = false};

// Each alternates by itself: once is enough.
BENCHMARK_CAPTURE(round_trips, two_threads, kUsual, true)->Iterations(1);
BENCHMARK_CAPTURE(round_trips, two_threads_late_acknowledgements, kLate, true)->Iterations(1);
BENCHMARK_CAPTURE(round_trips, one_thread, kUsual, false)->Iterations(1);
BENCHMARK_CAPTURE(round_trips, one_thread_late_acknowledgements, kLate, false)->Iterations(1);
BENCHMARK_CAPTURE(writes, two_threads, kUsual, true)->Iterations(1);
BENCHMARK_CAPTURE(writes, one_thread, kUsual, false)->Iterations(1);
BENCHMARK_CAPTURE(writes, one_thread_packet_socket, kPackets, false)->Iterations(1);
BENCHMARK_CAPTURE(writes, one_thread_without_segmentation, kPlain, false)->Iterations(1);

}  // namespace
