// SPDX-License-Identifier: Apache-2.0 OR MIT
// The emulator between two processes of one host, next to what else moves bytes there: a bare process_vm_readv, memcpy,
// and two processes that spin on a line of the cache. Peers of other makes are measured by hand in the same run
// (docs/emulator.md says how). Each program here is one of two processes that both poll.
#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/fabric/shared.hpp"
#include "engine/memory/key_table.hpp"
#include "engine/transport/posting.hpp"

namespace {

using namespace verbena::engine;

constexpr std::size_t kBytes = 1 << 21;
constexpr memory::DomainId kDomain = 1;

struct Steady final : transport::Clock {
  transport::Time now() noexcept override {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::chrono::seconds(now.tv_sec) + transport::Time(now.tv_nsec);
  }
};

struct Deaf final : transport::Notices {
  void completion(queues::CompletionQueue& /*cq*/) noexcept override {}
  void on_queue_pair(transport::QueuePair& /*qp*/, ibv_event_type /*event*/) noexcept override {}
  void on_completion_queue(queues::CompletionQueue& /*cq*/) noexcept override {}
  void on_shared_receive_queue(queues::SharedReceiveQueue& /*srq*/, ibv_event_type /*event*/) noexcept override {}
};

/// A lock that costs what a front's costs: it is taken at each post and each poll.
struct Locked {
  std::mutex mutex;
  fabric::LockOf<std::mutex> lock{mutex};
};

/// What the two tell each other before they begin, and in which they tell that they are done.
struct Meeting {
  alignas(128) std::atomic<std::uint64_t> turn{0};
  alignas(128) std::atomic<int> ready{0};
  std::array<std::uint32_t, 2> number{};
  std::array<std::uint64_t, 2> address{};
  std::array<std::uint32_t, 2> key{};
};

Meeting& meeting() {
  void* const memory = ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *new (memory) Meeting;
}

/// One process's NIC with one queue pair.
class End {
public:
  End(const std::string& name, int side, bool pulls, Meeting& meeting)
      : side_(side),
        meeting_(meeting),
        shared_(*fabric::Shared::join({.name = name, .pulls = pulls, .serves = true}, locked_.lock, clock_)),
        port_(std::make_unique<fabric::Shared::Port>(*shared_)),
        adapter_(keys_, *port_, clock_, notices_) {
    const std::lock_guard held(locked_.mutex);
    port_->connect(adapter_);
    port_->listen(gid(side));
    qp_.number = shared_->number(17);
    adapter_.add(qp_);
    region_ = keys_.add();
    region_->domain = kDomain;
    region_->access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    region_->host = bytes_.data();
    region_->address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    region_->length = bytes_.size();
    const auto at = static_cast<std::size_t>(side);
    meeting.number[at] = qp_.number;
    meeting.address[at] = region_->address;
    meeting.key[at] = region_->key;
    meeting.ready.fetch_add(1);
  }
  ~End() {
    const std::lock_guard held(locked_.mutex);
    adapter_.remove(qp_);
    port_.reset();
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  void connect() {
    while (meeting_.ready.load() < 2) {
    }
    const std::lock_guard held(locked_.mutex);
    const auto other = static_cast<std::size_t>(1 - side_);
    ibv_qp_attr& attr = qp_.attr;
    attr.path_mtu = IBV_MTU_4096;
    attr.timeout = 18;
    attr.retry_cnt = attr.rnr_retry = 7;
    attr.min_rnr_timer = 12;
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 16;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    attr.dest_qp_num = meeting_.number[other];
    qp_.route.ip.source = gid(side_);
    qp_.route.ip.destination = gid(1 - side_);
    for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) adapter_.enter(qp_, state);
    for (int count = 0; count < 32; ++count) receive();
    meeting_.ready.fetch_add(1);
  }

  void receive() {
    ibv_sge sge = piece(bytes_.size() / 2, 4096);
    ibv_recv_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    transport::post_receive(qp_.receive_queue, wr);
  }

  void post(ibv_wr_opcode opcode, std::uint32_t bytes) {
    const auto other = static_cast<std::size_t>(1 - side_);
    ibv_sge sge = piece(0, bytes);
    ibv_send_wr wr{};
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.wr.rdma.remote_addr = meeting_.address[other];
    wr.wr.rdma.rkey = meeting_.key[other];
    const std::lock_guard held(locked_.mutex);
    transport::post_send(qp_, wr, nullptr);
    adapter_.progress(qp_);
  }

  /// As a program polls: what has come, of one kind or the other.
  ibv_wc poll() {
    ibv_wc wc{};
    for (;;) {
      const std::lock_guard held(locked_.mutex);
      if (cq_.poll(1, &wc) == 1) return wc;
      shared_->progress();
    }
  }
  /// The next receive; sends complete on the way.
  void take() {
    while (poll().opcode != IBV_WC_RECV) {
    }
    const std::lock_guard held(locked_.mutex);
    receive();
  }
  /// Does what is asked of it until the process is killed.
  void serve() {
    for (;;) {
      const std::lock_guard held(locked_.mutex);
      shared_->progress();
    }
  }

  const fabric::SharedCounts& counts() const { return shared_->counts(); }

private:
  static wire::Gid gid(int side) { return wire::mapped(10, 0, 0, static_cast<std::uint8_t>(1 + side)); }
  ibv_sge piece(std::size_t at, std::uint32_t bytes) {
    return {reinterpret_cast<std::uintptr_t>(bytes_.data() + at), bytes, region_->key};
  }

  int side_;
  Meeting& meeting_;
  Locked locked_;
  Steady clock_;
  Deaf notices_;
  memory::KeyTable keys_;
  std::unique_ptr<fabric::Shared> shared_;
  std::unique_ptr<fabric::Shared::Port> port_;
  transport::Adapter adapter_;
  queues::CompletionQueue cq_{256};
  transport::QueuePair qp_{.type = IBV_QPT_RC,
                           .domain = kDomain,
                           .send_queue = queues::SendQueue(64, 2, 0),
                           .receive_queue = queues::ReceiveQueue(64, 1),
                           .send_cq = &cq_,
                           .receive_cq = &cq_};
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kBytes, std::byte{1});
  memory::Region* region_ = nullptr;
};

/// Another process, which goes when this one does.
class Child {
public:
  template <class Does>
  explicit Child(Does does) : process_(::fork()) {
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    does();
    ::_exit(0);
  }
  ~Child() { end(); }
  void end() {
    if (process_ == 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t process() const { return process_; }

private:
  pid_t process_;
};

std::string fresh_name() {
  static int count = 0;
  return "bench-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
}

/// Half of there and back again: one way is half of what is printed.
void send_and_back(benchmark::State& state) {
  const auto bytes = static_cast<std::uint32_t>(state.range(0));
  const std::string name = fresh_name();
  Meeting& meet = meeting();
  Child child([&] {
    End end(name, 1, true, meet);
    end.connect();
    for (;;) {
      end.take();
      end.post(IBV_WR_SEND, bytes);
    }
  });
  End end(name, 0, true, meet);
  end.connect();
  while (meet.ready.load() < 4) {
  }
  for (auto iteration : state) {
    static_cast<void>(iteration);
    end.post(IBV_WR_SEND, bytes);
    end.take();
  }
  child.end();  // before this end leaves, which is the last one then and takes the name away
  state.counters["wakes"] = static_cast<double>(end.counts().wakes);
}
BENCHMARK(send_and_back)->Arg(8)->Arg(64)->Arg(4096)->UseRealTime();

/// A message and its acknowledgement, both ends in one thread: all the work of both, and no waiting.
void send_alone(benchmark::State& state) {
  const auto bytes = static_cast<std::uint32_t>(state.range(0));
  const std::string name = fresh_name();
  Meeting& meet = meeting();
  End one(name, 0, true, meet);
  End other(name, 1, true, meet);
  one.connect();
  other.connect();
  for (auto iteration : state) {
    static_cast<void>(iteration);
    one.post(IBV_WR_SEND, bytes);
    other.take();
    benchmark::DoNotOptimize(one.poll());
  }
}
BENCHMARK(send_alone)->Arg(8)->Arg(64)->Arg(4096);

/// What a line of the cache needs there and back: no message can be faster than twice this.
void cache_line_and_back(benchmark::State& state) {
  Meeting& meet = meeting();
  const Child child([&] {
    for (std::uint64_t turn = 1;; turn += 2) {
      while (meet.turn.load(std::memory_order_acquire) != turn) {
      }
      meet.turn.store(turn + 1, std::memory_order_release);
    }
  });
  std::uint64_t turn = 0;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    meet.turn.store(++turn, std::memory_order_release);
    ++turn;
    while (meet.turn.load(std::memory_order_acquire) != turn) {
    }
  }
}
BENCHMARK(cache_line_and_back)->UseRealTime();

/// From post to completion of RDMA, eight under way; `range(1)`: payload is fetched, else copied.
void rdma(benchmark::State& state, ibv_wr_opcode opcode) {
  const auto bytes = static_cast<std::uint32_t>(state.range(0));
  const bool pulls = state.range(1) != 0;
  const std::string name = fresh_name();
  Meeting& meet = meeting();
  Child child([&] {
    End end(name, 1, pulls, meet);
    end.connect();
    end.serve();
  });
  End end(name, 0, pulls, meet);
  end.connect();
  while (meet.ready.load() < 4) {
  }
  constexpr int kUnderWay = 8;
  for (int count = 0; count < kUnderWay; ++count) end.post(opcode, bytes);
  for (auto iteration : state) {
    static_cast<void>(iteration);
    if (end.poll().status != IBV_WC_SUCCESS) return state.SkipWithError("it failed");
    end.post(opcode, bytes);
  }
  for (int count = 0; count < kUnderWay; ++count) end.poll();
  child.end();
  state.SetBytesProcessed(state.iterations() * bytes);
}
BENCHMARK_CAPTURE(rdma, write, IBV_WR_RDMA_WRITE)
    ->ArgsProduct({{64, 4096, 1 << 14, 1 << 15, 1 << 16, 1 << 20}, {0, 1}})
    ->UseRealTime();
BENCHMARK_CAPTURE(rdma, read, IBV_WR_RDMA_READ)->ArgsProduct({{64, 4096, 1 << 20}, {0, 1}})->UseRealTime();

/// What fetching costs by itself, the same bytes each time.
void process_vm_read(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  std::vector<std::byte> there(kBytes, std::byte{1});
  std::vector<std::byte> here(kBytes);
  const Child child([] {
    for (;;) ::pause();
  });
  const iovec to{here.data(), bytes};
  const iovec from{there.data(), bytes};
  for (auto iteration : state) {
    static_cast<void>(iteration);
    if (::process_vm_readv(child.process(), &to, 1, &from, 1, 0) != static_cast<ssize_t>(bytes))
      return state.SkipWithError("the kernel refuses");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}
BENCHMARK(process_vm_read)->Arg(4096)->Arg(1 << 14)->Arg(1 << 16)->Arg(1 << 20)->UseRealTime();

void copy(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const std::vector<std::byte> from(bytes, std::byte{1});
  std::vector<std::byte> to(bytes);
  for (auto iteration : state) {
    static_cast<void>(iteration);
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}
BENCHMARK(copy)->Arg(4096)->Arg(1 << 20)->UseRealTime();

}  // namespace
