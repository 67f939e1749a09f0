// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <thread>

#include "fake_ground.hpp"
#include "peer/pair_verbs.hpp"
#include "peer/server.hpp"
#include "rig/memory.hpp"
#include "runner/worker.hpp"

namespace conform::testing {
namespace {

using peer::FarVerbs;
using peer::Hello;
using peer::HostPort;
using ::testing::HasSubstr;

constexpr std::uint32_t kVersion = 3;
constexpr std::uint64_t kHash = 0xabc;

/// A server of one scripted device, far0, in a process of its own on the loopback address.
class Served {
public:
  Served() {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return;
    pid_ = fork();
    if (pid_ == 0) _exit(served(ends[1]));
    close(ends[1]);
    if (::read(ends[0], &port_, sizeof port_) != sizeof port_) port_ = 0;
    close(ends[0]);
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  ~Served() { end(SIGKILL); }

  std::uint16_t port() const { return port_; }
  /// The exit code that it ends with, or minus the signal.
  int end(int signal) {
    if (pid_ <= 0) return -1;
    int status = 0;
    kill(pid_, signal);
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

private:
  static int served(int told) {
    peer::ServeOptions options;
    options.list_version = kVersion;
    options.list_hash = kHash;
    options.verbs = [] {
      auto host = std::make_shared<verbena::fake::FakeVerbs>();
      verbena::fake::FakeDevice device = verbena::fake::roce_device("far0", 9);
      device.driver_id = 14;  // rxe
      device.complete_sends = true;
      host->add(device);
      host->files["/etc/shadow"] = "a secret";
      return host;
    };
    options.say = [](const std::string&) {};
    options.listening = [told](std::uint16_t port) {
      if (write(told, &port, sizeof port) != sizeof port) _exit(9);
    };
    return peer::serve(options) ? 0 : 1;
  }

  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

struct Peer : ::testing::Test {
  Served server;

  Hello hello() const {
    Hello out;
    out.layout = peer::layout_here();
    out.list_version = kVersion;
    out.list_hash = kHash;
    out.host = "near";
    return out;
  }
  verbena::Result<std::shared_ptr<FarVerbs>> connect(const Hello& hello) const {
    return FarVerbs::connect({.host = "127.0.0.1", .port = server.port()}, hello, std::chrono::seconds(3));
  }
  static verbena::Library library(std::shared_ptr<verbena::Verbs> verbs) {
    verbena::LibraryOptions wish;
    wish.settings.emplace();
    wish.verbs = std::move(verbs);
    auto made = verbena::Library::create(std::move(wish));
    if (!made) ADD_FAILURE() << to_string(made.error());
    return *std::move(made);
  }
};

TEST_F(Peer, ShowsTheFarDeviceAsItIsThere) {
  const auto far = connect(hello());
  ASSERT_TRUE(far) << to_string(far.error());
  const verbena::Library over = library(*far);
  const auto device = over.open("far0");
  ASSERT_TRUE(device) << to_string(device.error());
  EXPECT_EQ(device->id().name, "far0");
  EXPECT_EQ(device->id().driver, "rxe");
  EXPECT_EQ(device->id().kernel, "6.1.0-44-amd64");
  EXPECT_FALSE(device->caps().ports.empty());
  EXPECT_FALSE(over.open("fake0"));
}

TEST_F(Peer, CarriesObjectsAndWorkThereAndCompletionsBack) {
  const auto far = connect(hello());
  ASSERT_TRUE(far) << to_string(far.error());
  const verbena::Library over = library(*far);
  const auto device = over.open("far0");
  ASSERT_TRUE(device) << to_string(device.error());
  const auto way = raw_way(*device, *far);
  const Object<ibv_pd> pd = way->pd();
  const Object<ibv_comp_channel> channel = way->channel();
  int place = 0;
  const Object<ibv_cq> cq = way->cq({.cqe = 8, .channel = channel.raw(), .cq_context = &place});
  ASSERT_TRUE(pd && channel && cq);
  QpShape shape;
  shape.cap = {4, 2, 1, 1, 0};
  shape.send_cq = cq.raw();
  const Object<ibv_qp> qp = way->qp(pd.raw(), shape);
  ASSERT_TRUE(qp) << qp.error();
  EXPECT_NE(qp->qp_num, 0U);
  EXPECT_EQ(qp->send_cq, cq.raw());
  const Memory memory(100, 1U << 16);
  const Object<ibv_mr> mr = way->mr(pd.raw(), {.address = memory.data(), .length = 100});
  ASSERT_TRUE(mr) << (*far)->line().trouble();
  ibv_sge sge{memory.address(), 8, mr->lkey};
  ibv_send_wr wr{};
  wr.wr_id = 0x1234567890ULL;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(way->post_send(qp.raw(), wr, bad), 0);
  ibv_wc wc{};
  ASSERT_EQ(way->poll(cq.raw(), 1, &wc), 1);
  EXPECT_EQ(wc.wr_id, 0x1234567890ULL);
  EXPECT_EQ(wc.qp_num, qp->qp_num);
  EXPECT_EQ(way->poll(cq.raw(), 1, &wc), 0);
  // A receive more than the queue holds: the refusal names its place in the list.
  std::array<ibv_recv_wr, 3> receives{};
  receives[0].next = &receives[1];
  receives[1].next = &receives[2];
  ibv_recv_wr* refused = nullptr;
  EXPECT_EQ(way->post_recv(qp.raw(), receives[0], refused), ENOMEM);
  EXPECT_EQ((*far)->line().trouble(), "");
}

TEST_F(Peer, TellsNearObjectsFromFarOnes) {
  const auto far = connect(hello());
  ASSERT_TRUE(far) << to_string(far.error());
  auto host = std::make_shared<verbena::fake::FakeVerbs>();
  host->add(verbena::fake::roce_device("near0", 1));
  const auto pair = peer::pair_verbs(host, *far);
  const verbena::Library near = library(pair);
  const verbena::Library over = library(*far);
  const auto here = near.open("near0");
  const auto there = over.open("far0");
  ASSERT_TRUE(here && there);
  const unsigned before = host->live_objects();
  const verbena::Made<ibv_pd> far_pd = pair->alloc_pd(there->raw());
  ASSERT_TRUE(far_pd);
  EXPECT_EQ(host->live_objects(), before);
  const verbena::Made<ibv_pd> near_pd = pair->alloc_pd(here->raw());
  EXPECT_EQ(host->live_objects(), before + 1);
  EXPECT_EQ(pair->dealloc_pd(near_pd.handle), 0);
  EXPECT_EQ(pair->dealloc_pd(far_pd.handle), 0);
}

TEST_F(Peer, ShowsNoFileBesideThoseOfDevices) {
  const auto far = connect(hello());
  ASSERT_TRUE(far);
  std::string text;
  EXPECT_EQ((*far)->read_file("/etc/shadow", text), EACCES);
  EXPECT_EQ((*far)->read_file("/sys/../etc/shadow", text), EACCES);
  EXPECT_EQ(text, "");
}

TEST_F(Peer, RefusesAnotherListWithBothVersions) {
  Hello other = hello();
  other.list_version = kVersion + 1;
  const auto far = connect(other);
  ASSERT_FALSE(far);
  EXPECT_THAT(far.error().text,
              HasSubstr("its list of cases is version 3 (0000000000000abc) and this end's version 4"));
}

TEST_F(Peer, RefusesASecondRunUntilTheFirstIsOver) {
  {
    const auto first = connect(hello());
    ASSERT_TRUE(first);
    const auto second = connect(hello());
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().text, HasSubstr("a run of 127.0.0.1"));
    EXPECT_THAT(second.error().text, HasSubstr("(near) is under way"));
    Hello further = hello();
    further.token = (*first)->welcome().token;
    EXPECT_TRUE(connect(further));
    further.token ^= 1;
    EXPECT_FALSE(connect(further));
  }
  verbena::Result<std::shared_ptr<FarVerbs>> third = connect(hello());
  for (int tries = 0; !third && tries < 100; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    third = connect(hello());
  }
  EXPECT_TRUE(third) << to_string(third.error());
}

TEST_F(Peer, APortInUseIsSaid) {
  peer::ServeOptions options;
  options.where = {.host = "127.0.0.1", .port = server.port()};
  const auto served = peer::serve(options);
  ASSERT_FALSE(served);
  EXPECT_THAT(served.error().text, HasSubstr("cannot be served: Address already in use"));
}

TEST_F(Peer, NobodyThereIsSaid) {
  EXPECT_EQ(server.end(SIGINT), 0);
  const auto far = connect(hello());
  ASSERT_FALSE(far);
  EXPECT_THAT(far.error().text, HasSubstr("no peer answers at 127.0.0.1"));
}

TEST_F(Peer, ALostConnectionIsEioFromThenOnAndSaid) {
  const auto far = connect(hello());
  ASSERT_TRUE(far);
  const verbena::Library over = library(*far);
  const auto device = over.open("far0");
  ASSERT_TRUE(device);
  EXPECT_EQ((*far)->line().trouble(), "");
  server.end(SIGTERM);
  EXPECT_THAT((*far)->line().trouble(), HasSubstr("the connection to the peer was lost"));
  EXPECT_EQ((*far)->alloc_pd(device->raw()).error, EIO);
  ibv_port_attr attr{};
  EXPECT_EQ((*far)->query_port(device->raw(), 1, attr), EIO);
}

struct OverPeer : FakeGround {
  verbena::Result<conform::Run> run(const std::string& items) {
    loaded = read(cases_of("pd", items));
    return run_suite(loaded.list, ground, options, nullptr);
  }
  LoadedList loaded;
};

std::string one(const std::string& id, const std::string& more = {}) {
  return "  - id: " + id + "\n    says: It holds.\n    covers: [pd.alloc.works]\n" + more;
}

TEST_F(OverPeer, WhatCameBeforeALossIsKeptAndTheRestIsBlocked) {
  int asked = 0;
  ground.far = Far{.lost = [&asked] { return std::string(++asked > 2 ? "the connection to the peer was lost" : ""); }};
  const auto done = run(one("pd.alloc.works") + one("pd.crashes"));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->cases[0].raw.verdict, Verdict::conforms);
  EXPECT_EQ(done->cases[1].raw.verdict, Verdict::blocked);
  EXPECT_EQ(done->cases[1].verbena.reason, "peer: the connection to the peer was lost");
  EXPECT_TRUE(done->red);
}

TEST_F(OverPeer, ACaseDuringWhichThePeerIsLostSaysNothingOfTheDevice) {
  // The workers' ground, not the runner's: each finds its own connection lost.
  options.start_worker = forked([this](int channel) {
    ground.far = Far{.lost = [] { return std::string("the connection to the peer was lost"); }};
    return work(channel, channel, ground, scripted_bodies());
  });
  const auto done = run(one("pd.throws") + one("pd.alloc.works"));
  ASSERT_TRUE(done);
  for (const CaseResult& result : done->cases) {
    EXPECT_EQ(result.raw.verdict, Verdict::blocked) << result.id;
    EXPECT_EQ(result.raw.reason, "peer: the connection to the peer was lost");
  }
}

TEST_F(OverPeer, AWorkerWithoutItsPeerBlocksEachCase) {
  options.start_worker = forked([](int channel) { return work_without_peer(channel, channel, "no peer answers"); });
  const auto done = run(one("pd.alloc.works"));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->cases[0].raw.verdict, Verdict::blocked);
  EXPECT_EQ(done->cases[0].verbena.reason, "peer: no peer answers");
}

TEST_F(OverPeer, ACaseOfOneProcessIsLeftToAnotherRunAndCounted) {
  ground.far = Far{.lost = [] { return std::string(); }};
  const auto done = run(one("pd.crashes", "    setup: [one_process]\n") + one("pd.alloc.works"));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->cases[0].raw.verdict, Verdict::not_run);
  EXPECT_THAT(done->cases[0].raw.reason, HasSubstr("one_process"));
  EXPECT_FALSE(done->red) << done->why_red.front();
}

}  // namespace
}  // namespace conform::testing
