// SPDX-License-Identifier: Apache-2.0 OR MIT
// Two communication managers on a wire, with a clock that the test turns.
#include "cm/agent.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "engine/fabric/impaired.hpp"
#include "unit/engine_transport/rig.hpp"

namespace verbena::emulator::cm {
namespace {

using engine::fabric::Impaired;
using engine::fabric::Impairments;
using engine_test::Turned;
using std::chrono::seconds;

constexpr std::uint64_t kService = 0x0000000001061111;
constexpr std::uint16_t kWhy = 0x5a;

/// One side: a NIC, its manager, and what it is told.
struct Side final : Owner {
  Side(Impaired& wire, Turned& clock, std::uint8_t host, Agent::Identity identity)
      : nic(wire, clock, host), service(nic.adapter, nic.keys), agent(service, clock, *this, identity) {}

  Verdict requested(Connection& connection, const Message& /*message*/, const Received& /*from*/) override {
    if (verdict != Verdict::taken) return verdict;
    if (connection.service != kService) return Verdict::nobody;
    connection.user = this;
    requests.push_back(&connection);
    return Verdict::taken;
  }
  void told(Connection& /*connection*/, const Told& told) override {
    events.push_back(told.what);
    if (told.what == Told::What::rej) reason = std::get<Rej>(told.message->body).reason;
    if (told.what == Told::What::rep) reply = std::get<Rep>(told.message->body);
  }
  std::size_t count(Told::What what) const {
    return static_cast<std::size_t>(std::count(events.begin(), events.end(), what));
  }

  engine_test::Nic<Impaired> nic;
  GeneralService service;
  Agent agent;
  Verdict verdict = Verdict::taken;
  std::vector<Connection*> requests;
  std::vector<Told::What> events;
  Reason reason{};
  Rep reply{};
};

struct Two {
  explicit Two(std::uint64_t seed = 1, std::chrono::milliseconds rejection_delay = {})
      : wire(clock, seed),
        a(wire, clock, 1, {.node_guid = 0xa, .first_id = 100, .rejection_delay = rejection_delay}),
        b(wire, clock, 2, {.node_guid = 0xb, .first_id = 200, .rejection_delay = rejection_delay}) {}

  engine::queues::Address to_b() {
    engine::queues::Address address;
    address.ip.source = a.nic.gid;
    address.ip.destination = b.nic.gid;
    return address;
  }

  Connection& ask(std::uint64_t service = kService) {
    Connection& connection = a.agent.make();
    connection.user = &a;
    Agent::Request request;
    request.service = service;
    request.qpn = 0x11;
    request.psn = 0x1234;
    request.responder_resources = 3;
    request.initiator_depth = 4;
    EXPECT_EQ(a.agent.request(connection, to_b(), request, {}), 0);
    return connection;
  }
  int grant(Connection& connection) {
    Agent::Reply reply;
    reply.qpn = 0x22;
    reply.psn = 0x4321;
    reply.responder_resources = 2;
    reply.initiator_depth = 1;
    return b.agent.reply(connection, reply, {});
  }

  /// All that can be done without the clock.
  void settle() {
    for (bool again = true; again;) {
      again = false;
      while (wire.deliver()) again = true;
      again = a.agent.progress() || again;
      again = b.agent.progress() || again;
    }
  }
  /// To the next moment when something is due, if that is before `until`; false where it is not.
  bool turn(engine::transport::Time until) {
    std::optional<engine::transport::Time> next = wire.next();
    for (const auto& due : {a.agent.next(), b.agent.next()}) {
      if (due && (!next || *due < *next)) next = due;
    }
    if (!next || *next > until) return false;
    clock.time = std::max(clock.time, *next);
    return true;
  }

  Turned clock;
  Impaired wire;
  Side a;
  Side b;
};

/// A connection that stands: the connection of each side.
std::pair<Connection*, Connection*> stands(Two& two) {
  Connection& calling = two.ask();
  two.settle();
  EXPECT_EQ(two.b.requests.size(), 1U);
  Connection& called = *two.b.requests.back();
  EXPECT_EQ(two.grant(called), 0);
  two.settle();
  EXPECT_EQ(two.a.agent.ready(calling), 0);
  two.settle();
  EXPECT_EQ(calling.state, State::established);
  EXPECT_EQ(called.state, State::established);
  return {&calling, &called};
}

TEST(Agents, AgreeOnWhatAConnectionNeeds) {
  Two two;
  const auto [calling, called] = stands(two);
  EXPECT_EQ(two.a.events, std::vector{Told::What::rep});
  EXPECT_EQ(two.b.events, std::vector{Told::What::ready});
  EXPECT_EQ(calling->remote_qpn, 0x22U);
  EXPECT_EQ(called->remote_qpn, 0x11U);
  EXPECT_EQ(calling->sq_psn, 0x4321U);
  EXPECT_EQ(called->sq_psn, 0x1234U);
  // Crosswise: what one side answers is what the other one may ask.
  EXPECT_EQ(calling->initiator_depth, 2);
  EXPECT_EQ(calling->responder_resources, 1);
  EXPECT_EQ(calling->remote_id, called->local_id);
  EXPECT_EQ(called->remote_id, calling->local_id);
}

TEST(Agents, BothAreToldOfTheEnd) {
  Two two;
  const auto [calling, called] = stands(two);
  EXPECT_EQ(two.a.agent.disconnect(*calling), 0);
  two.settle();
  EXPECT_EQ(two.b.events.back(), Told::What::dreq);
  EXPECT_EQ(two.a.count(Told::What::drep), 0U) << "nobody has confirmed it";
  EXPECT_EQ(two.b.agent.disconnect(*called), EINVAL);
  EXPECT_EQ(two.b.agent.confirm_disconnect(*called), 0);
  two.settle();
  EXPECT_EQ(two.a.events.back(), Told::What::drep);
  EXPECT_EQ(calling->state, State::timewait);
  while (two.turn(seconds(60))) two.settle();
  EXPECT_EQ(two.a.events.back(), Told::What::timewait_exit);
  EXPECT_EQ(two.b.events.back(), Told::What::timewait_exit);
}

TEST(Agents, WhoseServiceNobodyHasIsRejected) {
  Two two;
  Connection& calling = two.ask(kService + 1);
  two.settle();
  EXPECT_EQ(two.a.events, std::vector{Told::What::rej});
  EXPECT_EQ(two.a.reason, Reason::invalid_service_id);
  EXPECT_EQ(calling.state, State::idle);
  EXPECT_FALSE(two.a.agent.next());
}

TEST(Agents, AreRejectedForAReason) {
  const struct {
    Owner::Verdict verdict;
    Reason reason;
  } rows[] = {{Owner::Verdict::nobody, Reason::invalid_service_id},
              {Owner::Verdict::refused, Reason::consumer_defined},
              {Owner::Verdict::bad_gid, Reason::invalid_gid},
              {Owner::Verdict::bad_type, Reason::invalid_transport_type}};
  for (const auto& row : rows) {
    Two two;
    two.b.verdict = row.verdict;
    two.ask();
    two.settle();
    ASSERT_EQ(two.a.events, std::vector{Told::What::rej});
    EXPECT_EQ(two.a.reason, row.reason);
  }
  Two two;
  two.ask();
  two.settle();
  const std::array why{static_cast<std::byte>(kWhy)};
  EXPECT_EQ(two.b.agent.reject(*two.b.requests.front(), Reason::consumer_defined, why), 0);
  two.settle();
  EXPECT_EQ(two.a.reason, Reason::consumer_defined);
  EXPECT_EQ(two.grant(*two.b.requests.front()), EINVAL) << "it was rejected";
}

/// Where there is no room, the request comes again, and is taken then.
TEST(Agents, AskAgainWhereThereWasNoRoom) {
  Two two;
  two.b.verdict = Owner::Verdict::no_room;
  two.ask();
  two.settle();
  EXPECT_TRUE(two.a.events.empty());
  two.b.verdict = Owner::Verdict::taken;
  ASSERT_TRUE(two.turn(seconds(10)));
  two.settle();
  EXPECT_EQ(two.b.requests.size(), 1U);
}

/// 16 times, 4.6 seconds apart (linux drivers/infiniband/core/cma.c CMA_MAX_CM_RETRIES, CMA_CM_RESPONSE_TIMEOUT).
TEST(Agents, GiveUpOnOneThatIsSilent) {
  Two two;
  two.b.nic.port.up = false;
  two.ask();
  two.settle();
  while (two.turn(seconds(300))) two.settle();
  EXPECT_EQ(two.a.events, std::vector{Told::What::req_error});
  EXPECT_EQ(two.clock.time, 16 * (2 * milliseconds_of(16) + milliseconds_of(20)));
  EXPECT_EQ(two.wire.sent(), 16U);

  Two later;
  const auto [calling, called] = stands(later);
  later.b.nic.port.up = false;
  EXPECT_EQ(later.a.agent.disconnect(*calling), 0);
  while (later.turn(seconds(300))) later.settle();
  EXPECT_EQ(later.a.count(Told::What::dreq_error), 1U);
  EXPECT_EQ(later.a.events.back(), Told::What::timewait_exit);

  Two between;
  between.ask();
  between.settle();
  between.a.nic.port.up = false;
  EXPECT_EQ(between.grant(*between.b.requests.front()), 0);
  while (between.turn(seconds(300))) between.settle();
  EXPECT_EQ(between.b.events, std::vector{Told::What::rep_error});
}

/// A listener that takes its time gets more of it, once the request has come twice.
TEST(Agents, AskForPatience) {
  Two two;
  Connection& calling = two.ask();
  two.settle();
  ASSERT_TRUE(two.turn(seconds(10)));
  two.settle();
  EXPECT_EQ(calling.state, State::mra_req_received);
  EXPECT_EQ(two.b.requests.size(), 1U);
  two.clock.time += seconds(60);
  two.settle();
  EXPECT_EQ(two.grant(*two.b.requests.front()), 0);
  two.settle();
  EXPECT_EQ(two.a.events, std::vector{Told::What::rep});
}

TEST(Agents, SayOnceMoreWhatWasLost) {
  Two two;
  Connection& calling = two.ask();
  two.settle();
  EXPECT_EQ(two.grant(*two.b.requests.front()), 0);
  two.settle();
  two.b.nic.port.up = false;
  EXPECT_EQ(two.a.agent.ready(calling), 0);  // and the RTU is lost
  two.settle();
  two.b.nic.port.up = true;
  EXPECT_TRUE(two.b.events.empty());
  ASSERT_TRUE(two.turn(seconds(10)));
  two.settle();
  EXPECT_EQ(two.b.events, std::vector{Told::What::ready});
  EXPECT_EQ(two.a.events, std::vector{Told::What::rep}) << "a second REP is no news";
}

TEST(Agents, AreReadyWhenDataComes) {
  Two two;
  two.ask();
  two.settle();
  Connection& called = *two.b.requests.front();
  EXPECT_EQ(two.b.agent.established(called), EINVAL);
  EXPECT_EQ(two.grant(called), 0);
  EXPECT_EQ(two.b.agent.established(called), 0);
  EXPECT_EQ(two.b.events, std::vector{Told::What::ready});
  EXPECT_EQ(two.b.agent.established(called), EISCONN);
}

/// Whoever goes says so: to a request, to a connection, and to one that asks it to end when it has gone.
TEST(Agents, TellTheOtherSideWhenTheyGo) {
  Two asked;
  asked.ask();
  asked.settle();
  asked.b.agent.destroy(*asked.b.requests.front());
  asked.settle();
  EXPECT_EQ(asked.a.reason, Reason::consumer_defined);

  Two asking;
  Connection& calling = asking.ask();
  asking.settle();
  asking.a.agent.destroy(calling);
  asking.settle();
  EXPECT_EQ(asking.b.events, std::vector{Told::What::rej});
  EXPECT_EQ(asking.b.reason, Reason::timeout);

  Two both;
  const auto [one, other] = stands(both);
  both.a.agent.destroy(*one);
  both.settle();
  EXPECT_EQ(both.b.events.back(), Told::What::dreq);
  EXPECT_EQ(both.b.agent.confirm_disconnect(*other), 0);

  Two gone;
  const auto [stays, goes] = stands(gone);
  gone.b.nic.port.up = false;
  gone.b.agent.destroy(*goes);  // its DREQ is lost
  gone.settle();
  gone.b.nic.port.up = true;
  EXPECT_EQ(gone.a.agent.disconnect(*stays), 0);
  gone.settle();
  EXPECT_EQ(gone.a.events.back(), Told::What::drep);
}

/// A queue pair that asks anew has no connection any more: the old one ends, and the new one may come later.
TEST(Agents, NoticeThatAConnectionIsStale) {
  Two two;
  const auto [calling, called] = stands(two);
  two.b.requests.clear();
  two.ask();
  two.settle();
  EXPECT_TRUE(two.b.requests.empty());
  EXPECT_EQ(two.a.reason, Reason::stale_connection);
  EXPECT_EQ(two.a.count(Told::What::dreq), 1U);
  EXPECT_EQ(called->state, State::dreq_sent);
  EXPECT_EQ(two.a.agent.confirm_disconnect(*calling), 0);
  two.settle();
  two.ask();
  two.settle();
  EXPECT_EQ(two.b.requests.size(), 1U);
}

/// What the one that is left is told, by how far both had come.
TEST(Agents, AreToldThatTheOtherEndIsGone) {
  struct Row {
    const char* name;
    int steps;  ///< asked, granted, ready, disconnecting
    bool of_a;  ///< a is left, else b
    Told::What what;
    State after;
  };
  const Row rows[] = {
      {"asked", 1, true, Told::What::req_error, State::idle},
      {"was asked", 1, false, Told::What::req_error, State::idle},
      {"got a reply", 2, true, Told::What::rep_error, State::timewait},
      {"replied", 2, false, Told::What::rep_error, State::timewait},
      {"connected", 3, true, Told::What::dreq, State::timewait},
      {"was connected", 3, false, Told::What::dreq, State::timewait},
      {"disconnects", 4, true, Told::What::drep, State::timewait},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Two two;
    Connection& calling = two.ask();
    two.settle();
    Connection& called = *two.b.requests.back();
    if (row.steps >= 2) {
      EXPECT_EQ(two.grant(called), 0);
      two.settle();
    }
    if (row.steps >= 3) {
      EXPECT_EQ(two.a.agent.ready(calling), 0);
      two.settle();
    }
    if (row.steps >= 4) {
      EXPECT_EQ(two.a.agent.disconnect(calling), 0);
    }
    Side& left = row.of_a ? two.a : two.b;
    Connection& connection = row.of_a ? calling : called;
    const auto is = [&left](std::uint64_t who) {
      return left.agent.look_after([who](const engine::wire::Gid&, std::uint32_t) { return who; });
    };
    EXPECT_TRUE(is(7)) << "one that is there is looked after";
    EXPECT_TRUE(is(7));
    EXPECT_EQ(left.count(row.what), 0U);
    EXPECT_FALSE(is(8)) << "another one is in its place";
    EXPECT_EQ(left.count(row.what), 1U);
    EXPECT_EQ(connection.state, row.after);
    EXPECT_FALSE(is(8));
    EXPECT_EQ(left.count(row.what), 1U) << "told once";
  }
}

/// A listener that comes a little late is not too late; nobody at all is told of when the time is over.
TEST(Agents, WaitForAListener) {
  for (const bool comes : {true, false}) {
    SCOPED_TRACE(comes);
    Turned clock;
    Impaired wire(clock, 1);
    Side a(wire, clock, 1, {.node_guid = 0xa, .first_id = 100});
    Side b(wire, clock, 2, {.node_guid = 0xb, .first_id = 200, .listener_wait = std::chrono::milliseconds(500)});
    const auto settle = [&] {
      for (bool again = true; again;) {
        again = false;
        while (wire.deliver()) again = true;
        again = a.agent.progress() || again;
        again = b.agent.progress() || again;
      }
    };
    b.verdict = Owner::Verdict::nobody;
    Connection& connection = a.agent.make();
    connection.user = &a;
    engine::queues::Address to;
    to.ip.source = a.nic.gid;
    to.ip.destination = b.nic.gid;
    Agent::Request request;
    request.service = kService;
    request.qpn = 0x11;
    EXPECT_EQ(a.agent.request(connection, to, request, {}), 0);
    settle();
    EXPECT_TRUE(a.events.empty()) << "it was not rejected yet";
    ASSERT_TRUE(b.agent.next());
    if (comes) {
      b.verdict = Owner::Verdict::taken;
      b.agent.listened();
    } else {
      clock.time = *b.agent.next();
    }
    settle();
    EXPECT_EQ(b.requests.size(), comes ? 1U : 0U);
    EXPECT_EQ(a.count(Told::What::rej), comes ? 0U : 1U);
    if (!comes) {
      EXPECT_EQ(a.reason, Reason::invalid_service_id);
    }
  }
}

TEST(Agents, ThatLeaveTellTheirOtherEnds) {
  Two two;
  const auto [calling, called] = stands(two);
  two.a.agent.leave();
  two.settle();
  EXPECT_EQ(two.b.count(Told::What::dreq), 1U) << "said several times, told once";
  EXPECT_EQ(called->state, State::dreq_received);
  EXPECT_EQ(calling->user, nullptr);
}

TEST(Agents, FindADatagramQueuePair) {
  Two two;
  const auto ask = [&two](std::uint64_t service) -> Connection& {
    Connection& connection = two.a.agent.make();
    connection.user = &two.a;
    EXPECT_EQ(two.a.agent.ask_service(connection, two.to_b(), service, {}, {}), 0);
    two.settle();
    return connection;
  };
  ask(kService + 1);
  EXPECT_EQ(two.a.events, std::vector{Told::What::sidr_rep});
  ask(kService);
  ASSERT_EQ(two.b.requests.size(), 1U);
  EXPECT_EQ(two.b.requests.front()->type, IBV_QPT_UD);
  EXPECT_EQ(two.b.agent.answer_service(*two.b.requests.front(), SidrStatus::success, 0x33, 0x44, {}), 0);
  two.settle();
  EXPECT_EQ(two.a.count(Told::What::sidr_rep), 2U);

  two.b.nic.port.up = false;
  ask(kService);
  while (two.turn(seconds(300))) two.settle();
  EXPECT_EQ(two.a.events.back(), Told::What::sidr_error);
}

TEST(Agents, RefuseWhatIsOutOfTurn) {
  Two two;
  Connection& connection = two.a.agent.make();
  EXPECT_EQ(two.a.agent.ready(connection), EINVAL);
  EXPECT_EQ(two.a.agent.disconnect(connection), EINVAL);
  EXPECT_EQ(two.a.agent.confirm_disconnect(connection), EINVAL);
  EXPECT_EQ(two.a.agent.reject(connection, Reason::consumer_defined, {}), EINVAL);
  EXPECT_EQ(two.a.agent.reply(connection, {}, {}), EINVAL);
  EXPECT_EQ(two.a.agent.answer_service(connection, SidrStatus::success, 1, 1, {}), EINVAL);
  Agent::Request request;
  const std::vector<std::byte> most(92);
  const std::vector<std::byte> more(93);
  EXPECT_EQ(two.a.agent.request(connection, two.to_b(), request, more), EINVAL);
  request.type = IBV_QPT_UD;
  EXPECT_EQ(two.a.agent.request(connection, two.to_b(), request, {}), EINVAL);
  request.type = IBV_QPT_UC;
  EXPECT_EQ(two.a.agent.request(connection, two.to_b(), request, most), 0);
  EXPECT_EQ(two.a.agent.request(connection, two.to_b(), request, {}), EINVAL);
}

/// Where others may have its address, who has no such service leaves the word to the one that has it.
TEST(Agents, ThatShareAnAddressLetTheOtherOneSpeak) {
  using std::chrono::milliseconds;
  Turned clock;
  Impaired wire(clock, 1);
  const Agent::Identity shared{.rejection_delay = milliseconds(20)};
  const auto identity = [&shared](std::uint64_t guid, std::uint32_t first) {
    Agent::Identity own = shared;
    own.node_guid = guid;
    own.first_id = first;
    return own;
  };
  Side a(wire, clock, 1, identity(0xa, 100));
  Side has(wire, clock, 2, identity(0xb, 200));
  Side lacks(wire, clock, 3, identity(0xb, 300));
  lacks.verdict = Owner::Verdict::nobody;
  Connection& calling = a.agent.make();
  calling.user = &a;
  engine::queues::Address to;
  to.ip.source = a.nic.gid;
  to.ip.destination = has.nic.gid;
  Agent::Request request;
  request.service = kService;
  EXPECT_EQ(a.agent.request(calling, to, request, {}), 0);
  while (wire.deliver()) {
  }
  // The wire of this test knows one NIC of an address: the other one gets the same by hand.
  const auto received = has.service.next();
  ASSERT_TRUE(received);
  for (Side* const side : {&lacks, &has}) {
    engine::queues::Address on;
    on.ip.source = a.nic.gid;
    on.ip.destination = side->nic.gid;
    a.service.send(on, received->mad);
    while (wire.deliver()) {
    }
    side->agent.progress();
  }
  while (wire.deliver()) {
  }
  a.agent.progress();
  EXPECT_TRUE(a.events.empty());
  EXPECT_EQ(calling.state, State::mra_req_received);
  ASSERT_EQ(lacks.agent.next(), milliseconds(20));
  clock.time = milliseconds(20);
  lacks.agent.progress();
  while (wire.deliver()) {
  }
  a.agent.progress();
  EXPECT_TRUE(a.events.empty()) << "it was rejected by one that isn't meant";
  has.agent.reply(*has.requests.front(), {}, {});
  while (wire.deliver()) {
  }
  a.agent.progress();
  EXPECT_EQ(a.events, std::vector{Told::What::rep});
}

struct Wire {
  const char* name;
  Impairments impairments;
};

const Wire kWires[] = {
    {"Good", {}},
    {"Loses10Percent", {.lost = 100'000}},
    {"Loses30Percent", {.lost = 300'000}},
    {"Doubles", {.doubled = 500'000}},
    {"Reorders", {.late = 300'000, .behind = 5}},
    {"Corrupts", {.corrupted = 100'000}},
    {"DoesItAll", {.lost = 100'000, .doubled = 100'000, .late = 100'000, .behind = 4, .corrupted = 50'000}},
};

class OnAnyWire : public ::testing::TestWithParam<Wire> {};

/// Each connection comes up once at each side, and ends once, or the side that can't know is told so, all in bounded
/// time.
TEST_P(OnAnyWire, AConnectionComesUpAndEndsOnce) {
  constexpr std::uint64_t kSeeds = 60;
  std::uint64_t stood = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Two two(seed);
    two.wire.impairments = GetParam().impairments;
    Connection& calling = two.ask();
    bool granted = false;
    bool ready = false;
    bool ended = false;
    const seconds limit(900);
    const auto act = [&] {
      two.settle();
      const std::size_t before = two.a.events.size() + two.b.events.size() + two.b.requests.size();
      if (!granted && !two.b.requests.empty()) granted = two.grant(*two.b.requests.front()) == 0;
      if (!ready && two.a.count(Told::What::rep) > 0) ready = two.a.agent.ready(calling) == 0;
      if (!ended && two.b.count(Told::What::ready) > 0) ended = two.a.agent.disconnect(calling) == 0;
      if (two.b.count(Told::What::dreq) > 0) two.b.agent.confirm_disconnect(*two.b.requests.front());
      two.settle();
      return before != two.a.events.size() + two.b.events.size() + two.b.requests.size();
    };
    do {
      act();
      while (act()) {
      }
    } while (two.turn(limit));
    EXPECT_LT(two.clock.time, limit);
    ASSERT_LE(two.b.requests.size(), 1U) << "seed " << seed;
    EXPECT_LE(two.a.count(Told::What::rep), 1U) << "seed " << seed;
    EXPECT_LE(two.b.count(Told::What::ready), 1U) << "seed " << seed;
    EXPECT_LE(two.b.count(Told::What::dreq), 1U) << "seed " << seed;
    EXPECT_EQ(two.a.count(Told::What::rej), 0U) << "seed " << seed;
    // Whatever happened, it is over: nobody waits.
    EXPECT_EQ(two.a.count(Told::What::rep) + two.a.count(Told::What::req_error), 1U) << "seed " << seed;
    if (ended) {
      ++stood;
      EXPECT_EQ(two.a.count(Told::What::drep) + two.a.count(Told::What::dreq_error), 1U) << "seed " << seed;
      EXPECT_EQ(calling.state, State::idle);
    }
  }
  // 16 tries of three messages: it hardly ever fails.
  EXPECT_EQ(stood, kSeeds);
}

INSTANTIATE_TEST_SUITE_P(Agents, OnAnyWire, ::testing::ValuesIn(kWires),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace verbena::emulator::cm
