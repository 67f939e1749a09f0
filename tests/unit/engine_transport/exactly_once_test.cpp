// SPDX-License-Identifier: Apache-2.0 OR MIT
// Whatever a wire does to packets: each request is done once, in order, and completes once.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <string>

#include "engine/fabric/direct.hpp"
#include "engine/fabric/impaired.hpp"
#include "engine_transport/rig.hpp"

namespace engine_test {
namespace {

struct Wire {
  const char* name;
  fabric::Impairments impairments;
};

const Wire kWires[] = {
    {"Good", {}},
    {"Loses1Percent", {.lost = 10'000}},
    {"Loses10Percent", {.lost = 100'000}},
    {"Doubles", {.doubled = 200'000}},
    {"Reorders", {.late = 200'000, .behind = 5}},
    {"Corrupts", {.corrupted = 50'000}},
    {"IsSlow", {.delay = std::chrono::milliseconds(3)}},
    {"DoesItAll",
     {.lost = 30'000,
      .doubled = 30'000,
      .late = 50'000,
      .behind = 7,
      .corrupted = 20'000,
      .delay = std::chrono::microseconds(20)}},
};

constexpr std::uint32_t kSlot = 12'000;  // bytes of the largest message
constexpr std::uint32_t kSlots = 32;
constexpr std::size_t kCounter = std::size_t{kSlot} * kSlots * 3;

/// What each message is of; never twice the same in a row.
std::byte pattern(std::uint64_t number, std::size_t at) {
  return static_cast<std::byte>(number * 131 + at * 7 + (at >> 8));
}

using Bad = fabric::Impaired;

/// Messages from one end to the other, of all kinds and sizes.
class Talk {
public:
  Talk(Turned& clock, Bad& wire, End<Bad>& from, End<Bad>& to, std::uint64_t seed)
      : clock_(clock), wire_(wire), from_(from), to_(to), random_(seed) {}

  void run(std::uint64_t messages) {
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) offer(slot);
    while (completed_ < messages && !::testing::Test::HasFailure()) {
      while (posted_ < messages && under_way_.size() < kSlots && post()) {
      }
      if (!step()) break;
      take();
    }
    while (step()) take();
    EXPECT_EQ(completed_, messages);
    EXPECT_EQ(received_, sent_);
    EXPECT_TRUE(expected_.empty());
    std::uint64_t counter = 0;
    std::memcpy(&counter, to_.memory.data() + kCounter, sizeof counter);
    EXPECT_EQ(counter, added_);
  }

private:
  struct Sent {
    std::uint64_t number = 0;
    ibv_wr_opcode opcode{};
    std::uint32_t bytes = 0;
    std::uint32_t slot = 0;
  };

  void offer(std::uint32_t slot) {
    ASSERT_EQ(to_.receive(slot, {to_.sge(std::size_t{slot} * kSlot, kSlot / 2),
                                 to_.sge(std::size_t{slot} * kSlot + kSlot / 2, kSlot / 2)}),
              transport::PostFault::none);
  }

  bool post() {
    const auto draw = [this](std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); };
    static constexpr ibv_wr_opcode kOpcodes[] = {
        IBV_WR_SEND,      IBV_WR_SEND_WITH_IMM,       IBV_WR_RDMA_WRITE,
        IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_ATOMIC_FETCH_AND_ADD};
    Sent sent;
    sent.number = posted_;
    sent.opcode = kOpcodes[draw(std::size(kOpcodes))];
    sent.bytes = draw(3) == 0 ? draw(kSlot + 1) : draw(200);
    sent.slot = static_cast<std::uint32_t>(posted_ % kSlots);
    const std::size_t mine = std::size_t{sent.slot} * kSlot;
    // Written and read at places of their own, so that no message is in another's way.
    const std::size_t written = std::size_t{kSlot} * kSlots + mine;
    const std::size_t read = std::size_t{kSlot} * kSlots * 2 + mine;
    ibv_send_wr wr = rdma(sent.opcode, posted_, to_.address(written), to_.region->key);
    wr.imm_data = static_cast<std::uint32_t>(posted_);
    std::vector<ibv_sge> sges{from_.sge(mine, sent.bytes / 3),
                              from_.sge(mine + sent.bytes / 3, sent.bytes - sent.bytes / 3)};
    switch (sent.opcode) {
      case IBV_WR_RDMA_READ:
        wr.wr.rdma.remote_addr = to_.address(read);
        for (std::uint32_t at = 0; at < sent.bytes; ++at) to_.memory[read + at] = pattern(posted_, at);
        break;
      case IBV_WR_ATOMIC_FETCH_AND_ADD:
        wr.wr.atomic.remote_addr = to_.address(kCounter);
        wr.wr.atomic.rkey = to_.region->key;
        wr.wr.atomic.compare_add = posted_ + 1;
        sges = {from_.sge(mine, 8)};
        break;
      default:
        for (std::uint32_t at = 0; at < sent.bytes; ++at) from_.memory[mine + at] = pattern(posted_, at);
        break;
    }
    under_way_.push_back(sent);
    if (sent.opcode == IBV_WR_SEND || sent.opcode == IBV_WR_SEND_WITH_IMM ||
        sent.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
      expected_.push_back(sent);
      ++sent_;
    }
    ++posted_;
    EXPECT_EQ(from_.send(wr, sges), transport::PostFault::none);
    return true;
  }

  /// False where nothing is under way any more.
  bool step() {
    if (wire_.deliver()) return true;
    const auto flies = wire_.next();
    const auto one = from_.nic.adapter.expire(clock_.time);
    const auto other = to_.nic.adapter.expire(clock_.time);
    std::optional<transport::Time> next = flies;
    for (const auto& due : {one, other}) {
      if (due && (!next || *due < *next)) next = due;
    }
    if (wire_.next() && (!next || *wire_.next() < *next)) next = wire_.next();
    if (!next) return false;
    clock_.time = std::max(clock_.time, *next);
    return true;
  }

  void take() {
    while (const auto wc = from_.poll()) {
      ASSERT_FALSE(under_way_.empty());
      const Sent sent = under_way_.front();
      under_way_.pop_front();
      ASSERT_EQ(wc->status, IBV_WC_SUCCESS) << " of " << sent.number;
      ASSERT_EQ(wc->wr_id, sent.number);
      ++completed_;
      const std::size_t mine = std::size_t{sent.slot} * kSlot;
      if (sent.opcode == IBV_WR_RDMA_READ) check(from_.memory.data() + mine, sent);
      if (sent.opcode == IBV_WR_RDMA_WRITE || sent.opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
        check(to_.memory.data() + std::size_t{kSlot} * kSlots + mine, sent);
      if (sent.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        std::uint64_t before = 0;
        std::memcpy(&before, from_.memory.data() + mine, sizeof before);
        ASSERT_EQ(before, added_) << "an atomic was done twice, or not in its turn";
        added_ += sent.number + 1;
      }
    }
    while (const auto wc = to_.poll()) {
      ASSERT_EQ(wc->status, IBV_WC_SUCCESS);
      ASSERT_FALSE(expected_.empty());
      const Sent sent = expected_.front();
      expected_.pop_front();
      ++received_;
      ASSERT_EQ(wc->byte_len, sent.bytes);
      if (sent.opcode != IBV_WR_SEND) {
        ASSERT_EQ(wc->imm_data, static_cast<std::uint32_t>(sent.number));
      }
      if (sent.opcode != IBV_WR_RDMA_WRITE_WITH_IMM) check(to_.memory.data() + wc->wr_id * kSlot, sent);
      offer(static_cast<std::uint32_t>(wc->wr_id));
    }
  }

  static void check(const std::byte* data, const Sent& sent) {
    for (std::uint32_t at = 0; at < sent.bytes; ++at)
      ASSERT_EQ(data[at], pattern(sent.number, at)) << "byte " << at << " of message " << sent.number;
  }

  Turned& clock_;
  Bad& wire_;
  End<Bad>& from_;
  End<Bad>& to_;
  std::mt19937_64 random_;
  std::deque<Sent> under_way_;
  std::deque<Sent> expected_;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t added_ = 0;
};

class ExactlyOnce : public ::testing::TestWithParam<Wire> {};

bool full_length() {
  return std::getenv("VERBENA_CHECK_FULL") != nullptr;
}

/// Of each seed. A variable sets it where the full length of `tools/check --full` is not enough: a million of 20 seeds
/// are 50,000 each, and want an optimised build.
std::uint64_t messages() {
  if (const char* const set = std::getenv("VERBENA_TEST_MESSAGES"); set != nullptr) return std::stoull(set);
  return full_length() ? 2'000 : 400;
}

TEST_P(ExactlyOnce, InOrderWhateverTheWire) {
  const std::uint64_t seeds = full_length() ? 20 : 5;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Turned clock;
    Bad wire(clock, seed);
    Nic<Bad> a(wire, clock, 1);
    Nic<Bad> b(wire, clock, 2);
    End<Bad> from(a, 17, {}, kCounter + 64);
    End<Bad> to(b, 18, {}, kCounter + 64);
    connect(from, to);
    wire.impairments = GetParam().impairments;
    Talk(clock, wire, from, to, seed).run(messages());
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, ExactlyOnce, ::testing::ValuesIn(kWires),
                         [](const ::testing::TestParamInfo<Wire>& wire) { return std::string(wire.param.name); });

}  // namespace
}  // namespace engine_test
