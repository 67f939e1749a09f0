// SPDX-License-Identifier: Apache-2.0 OR MIT
// A process on a shared fabric, for the tests of several: engine_shared_peer NAME ACT. It prints its queue pair's
// number, and address and key of its memory, reads the same of the other end, and then does as ACT says until its input
// ends:
//
//   sleep     nothing at all: what is asked of it is done by the fabric's thread
//   poll      polls, without that thread, and sends each message back
//   flood     writes all of its memory to the other end's, again and again
//   stranger  as sleep, and as another user, or one whose memory nobody may read
#include <cstdio>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "engine_shared/rig.hpp"

namespace {

using namespace engine_test;

constexpr std::size_t kBytes = 1 << 20;
constexpr std::uint8_t kHost = 2;
constexpr std::uint8_t kOther = 1;
constexpr uid_t kNobody = 65534;

bool input_ended() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0;
}

void sleep_until_input_ends() {
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

struct Far {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
};

void echo(Member& member, End<Shared>& end) {
  for (std::uint64_t rounds = 0; rounds % 1024 != 0 || !input_ended(); ++rounds) {
    const std::lock_guard locked(member.mutex);
    member.fabric->progress();
    while (const auto wc = end.poll()) {
      if (wc->status != IBV_WC_SUCCESS || wc->opcode != IBV_WC_RECV) continue;
      end.receive(1, {end.sge(0, kBytes)});
      end.send(work(IBV_WR_SEND, 2), {end.sge(0, wc->byte_len)});
    }
  }
}

void flood(Member& member, End<Shared>& end, const Far& far) {
  for (std::uint64_t rounds = 0; rounds % 1024 != 0 || !input_ended(); ++rounds) {
    const std::lock_guard locked(member.mutex);
    end.send(rdma(IBV_WR_RDMA_WRITE, 1, far.address, far.key), {end.sge(0, kBytes)});
    member.fabric->progress();
    while (end.poll()) {
    }
  }
}

int run(const std::string& name, const std::string& act) {
  Shared::Options wish = options(name, true, act == "sleep" || act == "stranger");
  if (act == "stranger") {
    wish.mode = 0666;
    if (::geteuid() != 0) {
      ::prctl(PR_SET_DUMPABLE, 0);
    } else if (::setuid(kNobody) != 0) {
      return 77;
    }
  }
  wish.pull_refused = [](int error) { std::fprintf(stderr, "pull refused: %s\n", std::strerror(error)); };
  Steady clock;
  Member member(wish, kHost, clock);
  if (!member.fabric) return 1;
  std::unique_lock locked(member.mutex);
  End<Shared> end(*member.nic, member.number(17), {.depth = 256}, kBytes);
  for (std::size_t at = 0; at < kBytes; ++at) end.memory[at] = static_cast<std::byte>(at * 5 + (at >> 8));
  std::printf("%u %llu %u\n", end.qp.number, static_cast<unsigned long long>(end.address(0)), end.region->key);
  std::fflush(stdout);
  unsigned number = 0;
  unsigned long long address = 0;
  Far far;
  if (std::scanf("%u %llu %u", &number, &address, &far.key) != 3) return 1;
  far.address = address;
  aim_at(end, number, wire::mapped(10, 0, 0, kOther), {.timeout = 14, .retry_cnt = 7}, 0);
  for (int count = 0; count < 64; ++count) end.receive(1, {end.sge(0, kBytes)});
  locked.unlock();
  std::printf("ready\n");
  std::fflush(stdout);
  if (act == "poll") {
    echo(member, end);
  } else if (act == "flood") {
    flood(member, end, far);
  } else {
    sleep_until_input_ends();
  }
  // The queue pair goes before the NIC and the fabric, and under the lock.
  locked.lock();
  member.nic->adapter.enter(end.qp, IBV_QPS_RESET);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: engine_shared_peer NAME sleep|poll|flood|stranger\n");
    return 2;
  }
  return run(argv[1], argv[2]);
}
