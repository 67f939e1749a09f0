// SPDX-License-Identifier: Apache-2.0 OR MIT
// rdma_cm between two hosts, each with NICs of its own, as two processes have them.
#include <gtest/gtest.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cm/addresses.hpp"
#include "nic/udp_net.hpp"
#include "unit/shipped_nics.hpp"
#include "verbs/emulated_verbs.hpp"

namespace verbena::emulator {
namespace {

constexpr std::uint16_t kPort = 7174;

/// What joins two hosts, and what each one's first port has.
struct Joined {
  const char* name;
  NetKind kind;
  const char* one;
  const char* other;
  const char* from_one = nullptr;  ///< where the first one asks for the other; null: by its address
  bool gives = true;               ///< the net gives these addresses itself, and isn't told
};

void PrintTo(const Joined& joined, std::ostream* to) {
  *to << joined.name;
}

struct Happened {
  rdma_cm_event_type type{};
  int status = 0;
  rdma_cm_id* id = nullptr;
};

/// A host, and one channel of it.
class HostOn {
public:
  HostOn(const Joined& joined, const char* model, const std::string& fabric, const char* address,
         std::uint32_t lost = 0) {
    EmulatedOptions options;
    options.models.push_back(shipped::model(model));
    options.net = joined.kind;
    options.fabric = fabric;
    options.impairments.lost = lost;
    if (!joined.gives) options.addresses.push_back(address);
    auto made = joined_verbs(std::move(options));
    if (!made) throw std::runtime_error(made.error().text);
    verbs = *std::move(made);
    channel = verbs->cm_create_event_channel().handle;
    verbs->set_nonblocking(channel->fd, true);
  }
  HostOn(const HostOn&) = delete;
  HostOn& operator=(const HostOn&) = delete;
  ~HostOn() {
    for (rdma_cm_id* const id : ids) {
      if (id->qp != nullptr) verbs->cm_destroy_qp(id);
      verbs->cm_destroy_id(id);
    }
    for (ibv_cq* const cq : cqs) verbs->destroy_cq(cq);
    verbs->cm_destroy_event_channel(channel);
  }

  /// As a process that ends, or that is killed.
  void ends() { static_cast<EmulatedVerbs&>(*verbs).leave(); }
  void is_killed() { static_cast<EmulatedVerbs&>(*verbs).host().end(); }

  rdma_cm_id* make() {
    ids.push_back(verbs->cm_create_id(channel, nullptr, RDMA_PS_TCP).handle);
    return ids.back();
  }
  static sockaddr_storage at(const char* address, std::uint16_t port) {
    return cm::socket_address(address_from(address).value(), port);
  }
  int listen(const char* address) {
    sockaddr_storage own = at(address, kPort);
    rdma_cm_id* const id = make();
    const int error = verbs->cm_bind_addr(id, reinterpret_cast<sockaddr*>(&own));
    return error != 0 ? error : verbs->cm_listen(id, 4);
  }
  std::optional<Happened> next(int within_ms = 4000) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(within_ms);
    while (std::chrono::steady_clock::now() < until) {
      rdma_cm_event* event = nullptr;
      const int error = verbs->cm_get_event(channel, &event);
      if (error == 0) {
        const Happened happened{event->event, event->status, event->id};
        verbs->cm_ack_event(event);
        return happened;
      }
      if (error != EAGAIN) return std::nullopt;
      verbs->wait_readable(channel->fd, 20);
    }
    return std::nullopt;
  }
  Happened take(rdma_cm_event_type type, int within_ms = 4000) {
    const std::optional<Happened> happened = next(within_ms);
    EXPECT_TRUE(happened) << verbs->cm_event_str(type) << " was to come";
    if (!happened) return {};
    EXPECT_STREQ(verbs->cm_event_str(happened->type), verbs->cm_event_str(type)) << "status " << happened->status;
    return *happened;
  }
  rdma_cm_id* resolve(const char* address, std::uint16_t port = kPort) {
    sockaddr_storage to = at(address, port);
    rdma_cm_id* const id = make();
    EXPECT_EQ(verbs->cm_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&to), 100), 0);
    if (take(RDMA_CM_EVENT_ADDR_RESOLVED).id == nullptr) return nullptr;
    EXPECT_EQ(verbs->cm_resolve_route(id, 100), 0);
    take(RDMA_CM_EVENT_ROUTE_RESOLVED);
    return id;
  }
  void pair(rdma_cm_id* id) {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = cqs.emplace_back(verbs->create_cq(id->verbs, 16, nullptr, nullptr, 0).handle);
    attr.cap = {4, 4, 1, 1, 0};
    attr.qp_type = IBV_QPT_RC;
    ASSERT_EQ(verbs->cm_create_qp(id, nullptr, attr), 0);
  }
  static rdma_conn_param terms() {
    rdma_conn_param param{};
    param.responder_resources = param.initiator_depth = 1;
    param.retry_count = 7;
    return param;
  }
  int connect(rdma_cm_id* id) {
    rdma_conn_param param = terms();
    return verbs->cm_connect(id, param);
  }
  rdma_cm_id* accept() {
    rdma_cm_id* const id = take(RDMA_CM_EVENT_CONNECT_REQUEST).id;
    if (id == nullptr) return nullptr;
    ids.push_back(id);
    pair(id);
    rdma_conn_param param = terms();
    EXPECT_EQ(verbs->cm_accept(id, param), 0);
    return id;
  }

  std::shared_ptr<Verbs> verbs;
  rdma_event_channel* channel = nullptr;
  std::vector<rdma_cm_id*> ids;
  std::vector<ibv_cq*> cqs;
};

/// Two hosts, and a connection from the first one to the second one.
struct Connected {
  Connected(const Joined& joined, const char* model, std::uint32_t lost = 0)
      : fabric("unit-cm-" + std::to_string(getpid())),
        one(joined, model, fabric, joined.one, lost),
        other(std::make_unique<HostOn>(joined, model, fabric, joined.other, lost)) {
    // Of loopback's address one that listens to all is asked alone.
    EXPECT_EQ(other->listen(joined.from_one != nullptr ? "0.0.0.0" : joined.other), 0);
    calling = one.resolve(joined.from_one != nullptr ? joined.from_one : joined.other);
    if (calling == nullptr) return;
    one.pair(calling);
    EXPECT_EQ(one.connect(calling), 0);
    called = other->accept();
    one.take(RDMA_CM_EVENT_ESTABLISHED);
    other->take(RDMA_CM_EVENT_ESTABLISHED);
  }

  std::string fabric;
  HostOn one;
  std::unique_ptr<HostOn> other;
  rdma_cm_id* calling = nullptr;
  rdma_cm_id* called = nullptr;
};

const Joined kShared{"shared", NetKind::shared, "10.12.1.1", "10.13.1.1"};
/// Of loopback, and no other process's that runs these tests.
const char* loopback(std::size_t end) {
  static std::array<std::string, 4> made;
  const int own = getpid();
  made[end] =
      "127." + std::to_string(1 + own / 256 % 254) + "." + std::to_string(own % 256) + "." + std::to_string(end);
  return made[end].c_str();
}
const Joined kUdp{"udp", NetKind::udp, loopback(2), loopback(3), nullptr, false};
const Joined kGiven{"given", NetKind::shared, "10.0.0.1", "10.0.0.2", nullptr, false};
const Joined kOneAddress{"one_address", NetKind::shared, "10.0.0.1", "10.0.0.1", nullptr, false};
const Joined kLoopback{"loopback", NetKind::shared, "10.0.0.1", "10.0.0.1", "127.0.0.1", false};

class Hosts : public ::testing::TestWithParam<std::tuple<Joined, const char*>> {
protected:
  void SetUp() override {
#ifdef VERBENA_TEST_EMULATED
    if (std::get<0>(GetParam()).kind == NetKind::udp) {
      GTEST_SKIP() << "qemu-user carries neither UDP_SEGMENT nor UDP_GRO";
    }
#endif
  }
};

TEST_P(Hosts, AConnectionGoesFromOneToTheOtherAndEnds) {
  const auto& [joined, model] = GetParam();
  Connected connected(joined, model);
  ASSERT_NE(connected.called, nullptr);
  EXPECT_EQ(connected.one.verbs->cm_disconnect(connected.calling), 0);
  connected.other->take(RDMA_CM_EVENT_DISCONNECTED);
  connected.other->verbs->cm_disconnect(connected.called);
  connected.one.take(RDMA_CM_EVENT_DISCONNECTED);
}

TEST_P(Hosts, OneThatEndsTellsTheOther) {
  const auto& [joined, model] = GetParam();
  Connected connected(joined, model);
  ASSERT_NE(connected.called, nullptr);
  connected.other->ends();
  connected.one.take(RDMA_CM_EVENT_DISCONNECTED);
}

INSTANTIATE_TEST_SUITE_P(Connections, Hosts,
                         ::testing::Combine(::testing::Values(kShared, kUdp, kOneAddress, kLoopback),
                                            ::testing::Values("connectx5", "e810-iwarp")),
                         [](const auto& of) {
                           return std::string(std::get<0>(of.param).name) +
                                  (std::string(std::get<1>(of.param)) == "connectx5" ? "_roce" : "_iwarp");
                         });

class Killed : public ::testing::TestWithParam<std::tuple<Joined, const char*>> {};

TEST_P(Killed, ItIsMissedAndBlocksNothing) {
  const auto& [joined, model] = GetParam();
  Connected connected(joined, model);
  ASSERT_NE(connected.called, nullptr);
  connected.other->is_killed();
  connected.one.take(RDMA_CM_EVENT_DISCONNECTED);
  connected.other.reset();
  // Another one at the same place, at once.
  HostOn again(joined, model, connected.fabric, joined.other);
  EXPECT_EQ(again.listen(joined.other), 0);
  rdma_cm_id* const calling = connected.one.resolve(joined.other);
  ASSERT_NE(calling, nullptr);
  connected.one.pair(calling);
  EXPECT_EQ(connected.one.connect(calling), 0);
  ASSERT_NE(again.accept(), nullptr);
  for (auto happened = connected.one.next(); happened; happened = connected.one.next()) {
    if (happened->type == RDMA_CM_EVENT_ESTABLISHED && happened->id == calling) return;
    EXPECT_EQ(happened->type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
  }
  FAIL() << "it was never established";
}

TEST_P(Killed, WhileItWasAskedItIsUnreachable) {
  const auto& [joined, model] = GetParam();
  const std::string fabric = "unit-cm-asked-" + std::to_string(getpid());
  HostOn one(joined, model, fabric, joined.one);
  HostOn other(joined, model, fabric, joined.other);
  ASSERT_EQ(other.listen(joined.other), 0);
  rdma_cm_id* const calling = one.resolve(joined.other);
  ASSERT_NE(calling, nullptr);
  one.pair(calling);
  ASSERT_EQ(one.connect(calling), 0);
  other.take(RDMA_CM_EVENT_CONNECT_REQUEST);
  other.is_killed();
  EXPECT_EQ(one.take(RDMA_CM_EVENT_UNREACHABLE).status, -ETIMEDOUT);
}

INSTANTIATE_TEST_SUITE_P(Connections, Killed,
                         ::testing::Combine(::testing::Values(kGiven), ::testing::Values("connectx5", "e810-iwarp")),
                         [](const auto& of) {
                           return std::string(std::string(std::get<1>(of.param)) == "connectx5" ? "roce" : "iwarp");
                         });

/// What nobody has is asked for in vain; what is no neighbour isn't asked for.
TEST(SharedHosts, AnAddressIsSomebodysOrAnErrorSaysWhy) {
  struct Row {
    const char* to;
    rdma_cm_event_type event;
    int status;
  };
  const std::string fabric = "unit-cm-whose-" + std::to_string(getpid());
  HostOn one(kShared, "connectx5", fabric, kShared.one);
  HostOn other(kShared, "connectx5", fabric, kShared.other);
  for (const Row& row :
       {Row{"10.13.1.1", RDMA_CM_EVENT_ADDR_RESOLVED, 0}, Row{"10.14.1.1", RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT},
        Row{"192.168.1.1", RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH}, Row{"127.0.0.1", RDMA_CM_EVENT_ADDR_RESOLVED, 0}}) {
    SCOPED_TRACE(row.to);
    sockaddr_storage to = HostOn::at(row.to, kPort);
    EXPECT_EQ(one.verbs->cm_resolve_addr(one.make(), nullptr, reinterpret_cast<sockaddr*>(&to), 50), 0);
    EXPECT_EQ(one.take(row.event).status, row.status);
  }
}

/// A connection of iWARP is its queue pair's: where that fails, both ends are told, and nobody asked for it.
TEST(SharedHosts, AConnectionOfIwarpEndsWithItsQueuePair) {
  Connected connected(kShared, "e810-iwarp");
  ASSERT_NE(connected.called, nullptr);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(connected.one.verbs->modify_qp(connected.calling->qp, attr, IBV_QP_STATE), 0);
  connected.one.take(RDMA_CM_EVENT_DISCONNECTED);
  connected.other->take(RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(connected.one.verbs->cm_disconnect(connected.calling), 0) << "which is no error";
}

}  // namespace
}  // namespace verbena::emulator
