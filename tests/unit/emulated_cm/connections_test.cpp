// SPDX-License-Identifier: Apache-2.0 OR MIT
// rdma_cm as a program has it, over emulated NICs of one process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <rdma/rdma_cma.h>

#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cm/addresses.hpp"
#include "unit/shipped_nics.hpp"
#include "verbena/verbs.hpp"
#include "verbs/emulated.hpp"

namespace verbena::emulator {
namespace {

constexpr int kSoonMs = 2000;

sockaddr_storage address(unsigned nic, std::uint16_t port = 0) {
  return cm::socket_address(engine::wire::mapped(10, 11, 1, static_cast<std::uint8_t>(nic)), port);
}
sockaddr* plain(sockaddr_storage& storage) {
  return reinterpret_cast<sockaddr*>(&storage);
}

std::shared_ptr<Verbs> host(std::initializer_list<const char*> models, engine::fabric::Impairments impairments = {}) {
  EmulatedOptions options;
  for (const char* const model : models) options.models.push_back(shipped::model(model));
  options.impairments = impairments;
  return emulated_verbs(std::move(options));
}

/// An event as a value: the object was acknowledged.
struct Came {
  rdma_cm_event_type type{};
  int status = 0;
  rdma_cm_id* id = nullptr;
  rdma_cm_id* listener = nullptr;
  rdma_conn_param conn{};
  rdma_ud_param ud{};
  std::vector<std::uint8_t> data;
};

class Channel {
public:
  explicit Channel(Verbs& verbs) : verbs_(verbs), channel_(verbs.cm_create_event_channel().handle) {
    verbs_.set_nonblocking(channel_->fd, true);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel() { verbs_.cm_destroy_event_channel(channel_); }

  rdma_event_channel* raw() const { return channel_; }
  bool readable() const { return verbs_.wait_readable(channel_->fd, 0) == 0; }
  std::optional<Came> next(int within_ms = kSoonMs) {
    if (verbs_.wait_readable(channel_->fd, within_ms) != 0) return std::nullopt;
    rdma_cm_event* event = nullptr;
    if (verbs_.cm_get_event(channel_, &event) != 0) return std::nullopt;
    Came came;
    came.type = event->event;
    came.status = event->status;
    came.id = event->id;
    came.listener = event->listen_id;
    if (event->id->qp_type == IBV_QPT_UD) {
      came.ud = event->param.ud;
    } else {
      came.conn = event->param.conn;
    }
    const auto* const bytes = static_cast<const std::uint8_t*>(event->param.conn.private_data);
    const bool group = came.type == RDMA_CM_EVENT_MULTICAST_JOIN || came.type == RDMA_CM_EVENT_MULTICAST_ERROR;
    if (bytes != nullptr && !group) came.data.assign(bytes, bytes + event->param.conn.private_data_len);
    verbs_.cm_ack_event(event);
    return came;
  }
  /// That event, or a failure.
  Came take(rdma_cm_event_type type) {
    const std::optional<Came> came = next();
    EXPECT_TRUE(came) << "no event came; " << verbs_.cm_event_str(type) << " was to come";
    if (!came) return {};
    EXPECT_STREQ(verbs_.cm_event_str(came->type), verbs_.cm_event_str(type)) << "status " << came->status;
    return *came;
  }

private:
  Verbs& verbs_;
  rdma_event_channel* channel_;
};

/// A queue pair on an id, with memory and a receive.
class Pair {
public:
  Pair(Verbs& verbs, rdma_cm_id* id) : verbs_(verbs), id_(id), memory_(64) {
    pd_ = verbs.alloc_pd(id->verbs).handle;
    cq_ = verbs.create_cq(id->verbs, 16, nullptr, nullptr, 0).handle;
    mr_ = verbs.reg_mr(pd_, memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE).handle;
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.cap = {4, 4, 1, 1, 0};
    init.qp_type = id->qp_type;
    EXPECT_EQ(verbs.cm_create_qp(id, pd_, init), 0);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    verbs_.cm_destroy_qp(id_);
    EXPECT_EQ(verbs_.dereg_mr(mr_), 0);
    EXPECT_EQ(verbs_.destroy_cq(cq_), 0);
    EXPECT_EQ(verbs_.dealloc_pd(pd_), 0);
  }

  void receive() {
    ibv_sge sge = all();
    ibv_recv_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_recv(id_->qp, &wr, &bad), 0);
  }
  void send(std::uint8_t value, const rdma_ud_param* to = nullptr) {
    memory_[kGrh] = value;
    ibv_sge sge{reinterpret_cast<std::uintptr_t>(memory_.data() + kGrh), 8, mr_->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    ibv_ah* ah = nullptr;
    if (to != nullptr) {
      ibv_ah_attr attr = to->ah_attr;
      const Made<ibv_ah> made = verbs_.create_ah(pd_, attr);
      ASSERT_TRUE(made) << made.error;
      ah = made.handle;
      wr.wr.ud = {ah, to->qp_num, to->qkey};
    }
    ibv_send_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_send(id_->qp, &wr, &bad), 0);
    EXPECT_EQ(next().status, IBV_WC_SUCCESS);
    if (ah != nullptr) verbs_.destroy_ah(ah);
  }
  ibv_wc next() {
    ibv_wc wc{};
    wc.status = IBV_WC_GENERAL_ERR;
    for (int round = 0; round < 2000; ++round) {
      if (ibv_poll_cq(cq_, 1, &wc) == 1) return wc;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return wc;
  }
  bool quiet() {
    ibv_wc wc{};
    return ibv_poll_cq(cq_, 1, &wc) == 0;
  }
  std::uint8_t first(bool datagram) const { return memory_[datagram ? kGrh : 0]; }

private:
  static constexpr std::size_t kGrh = 40;
  ibv_sge all() {
    return {reinterpret_cast<std::uintptr_t>(memory_.data()), static_cast<std::uint32_t>(memory_.size()), mr_->lkey};
  }

  Verbs& verbs_;
  rdma_cm_id* id_;
  std::vector<std::uint8_t> memory_;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
};

/// A listener on the second NIC and a caller on the first one, which knows the way.
class Line {
public:
  explicit Line(std::shared_ptr<Verbs> on, int port_space = RDMA_PS_TCP, int backlog = 4)
      : verbs(std::move(on)), calling(*verbs), called(*verbs) {
    listener = verbs->cm_create_id(called.raw(), this, port_space).handle;
    sockaddr_storage own = address(2);
    EXPECT_EQ(verbs->cm_bind_addr(listener, plain(own)), 0);
    EXPECT_EQ(verbs->cm_listen(listener, backlog), 0);
    caller = resolved(port_space);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() {
    for (rdma_cm_id* const id : {caller, answering, listener}) {
      if (id == nullptr) continue;
      EXPECT_EQ(verbs->cm_destroy_id(id), 0);
    }
  }

  rdma_cm_id* resolved(int port_space = RDMA_PS_TCP) {
    rdma_cm_id* const id = verbs->cm_create_id(calling.raw(), nullptr, port_space).handle;
    sockaddr_storage from = address(1);
    sockaddr_storage to = address(2, verbs->cm_get_src_port(listener));
    EXPECT_EQ(verbs->cm_resolve_addr(id, plain(from), plain(to), 100), 0);
    EXPECT_EQ(calling.take(RDMA_CM_EVENT_ADDR_RESOLVED).id, id);
    EXPECT_EQ(verbs->cm_resolve_route(id, 100), 0);
    calling.take(RDMA_CM_EVENT_ROUTE_RESOLVED);
    return id;
  }
  static rdma_conn_param terms() {
    rdma_conn_param param{};
    param.responder_resources = 1;
    param.initiator_depth = 1;
    param.retry_count = 7;
    param.rnr_retry_count = 7;
    return param;
  }
  int connect(rdma_conn_param param = terms()) { return verbs->cm_connect(caller, param); }
  Came request() {
    const Came came = called.take(RDMA_CM_EVENT_CONNECT_REQUEST);
    answering = came.id;
    return came;
  }
  int accept(rdma_conn_param param = terms()) { return verbs->cm_accept(answering, param); }

  std::shared_ptr<Verbs> verbs;
  Channel calling;
  Channel called;
  rdma_cm_id* listener = nullptr;
  rdma_cm_id* caller = nullptr;
  rdma_cm_id* answering = nullptr;
};

class OfModel : public ::testing::TestWithParam<const char*> {};

TEST_P(OfModel, AConnectionCarriesAndEnds) {
  Line line(host({GetParam(), GetParam()}));
  const bool iwarp = line.caller->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
  Pair one(*line.verbs, line.caller);
  constexpr std::array<std::uint8_t, 5> kAsks{1, 2, 3, 4, 5};
  constexpr std::array<std::uint8_t, 3> kAnswers{6, 7, 8};
  rdma_conn_param asks = Line::terms();
  asks.private_data = kAsks.data();
  asks.private_data_len = kAsks.size();
  ASSERT_EQ(line.connect(asks), 0);
  const Came request = line.request();
  ASSERT_NE(line.answering, nullptr);
  EXPECT_EQ(request.listener, line.listener);
  EXPECT_EQ(line.answering->context, &line) << "the listener's context";
  ASSERT_GE(request.data.size(), kAsks.size());
  EXPECT_TRUE(std::equal(kAsks.begin(), kAsks.end(), request.data.begin()));
  EXPECT_EQ(request.conn.qp_num, line.caller->qp->qp_num);
  Pair other(*line.verbs, line.answering);
  other.receive();
  rdma_conn_param answers = Line::terms();
  answers.private_data = kAnswers.data();
  answers.private_data_len = kAnswers.size();
  ASSERT_EQ(line.accept(answers), 0);
  const Came established = line.calling.take(RDMA_CM_EVENT_ESTABLISHED);
  ASSERT_GE(established.data.size(), kAnswers.size());
  EXPECT_TRUE(std::equal(kAnswers.begin(), kAnswers.end(), established.data.begin()));
  line.called.take(RDMA_CM_EVENT_ESTABLISHED);

  one.send(0x77);
  EXPECT_EQ(other.next().status, IBV_WC_SUCCESS);
  EXPECT_EQ(other.first(false), 0x77);
  other.receive();

  EXPECT_EQ(line.verbs->cm_disconnect(line.caller), 0);
  line.called.take(RDMA_CM_EVENT_DISCONNECTED);
  if (!iwarp) {
    EXPECT_FALSE(line.calling.readable()) << "the other end has not confirmed it";
    EXPECT_EQ(line.verbs->cm_disconnect(line.answering), 0);
  }
  line.calling.take(RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(other.next().status, IBV_WC_WR_FLUSH_ERR);
  if (!iwarp) line.calling.take(RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

TEST_P(OfModel, ARejectionTellsWhy) {
  Line line(host({GetParam(), GetParam()}));
  const bool iwarp = line.caller->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
  Pair one(*line.verbs, line.caller);
  ASSERT_EQ(line.connect(), 0);
  line.request();
  constexpr std::array<std::uint8_t, 2> kWhy{9, 8};
  EXPECT_EQ(line.verbs->cm_reject(line.answering, kWhy.data(), kWhy.size()), 0);
  const Came rejected = line.calling.take(RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(rejected.status, iwarp ? -ECONNREFUSED : 28);
  ASSERT_GE(rejected.data.size(), kWhy.size());
  EXPECT_TRUE(std::equal(kWhy.begin(), kWhy.end(), rejected.data.begin()));
}

INSTANTIATE_TEST_SUITE_P(Connections, OfModel,
                         ::testing::Values("strict", "connectx5", "connectx6-ib", "e810-roce", "hip09", "rxe-6.12",
                                           "e810-iwarp", "siw-6.12"),
                         [](const auto& of) {
                           std::string name = of.param;
                           for (char& letter : name)
                             letter = std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '_';
                           return name;
                         });

/// A queue pair that isn't the id's own: the caller moves it, and says when it is ready.
TEST(Connections, ACallerMayMoveItsQueuePairItself) {
  Line line(host({"strict", "strict"}));
  Verbs& verbs = *line.verbs;
  ibv_pd* const pd = verbs.alloc_pd(line.caller->verbs).handle;
  ibv_cq* const cq = verbs.create_cq(line.caller->verbs, 4, nullptr, nullptr, 0).handle;
  std::array<ibv_qp*, 2> qps{};
  for (ibv_qp*& qp : qps) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {1, 1, 1, 1, 0};
    init.qp_type = IBV_QPT_RC;
    qp = verbs.create_qp(pd, init).handle;
  }
  const auto move = [&verbs](rdma_cm_id* id, ibv_qp* qp, ibv_qp_state state) {
    ibv_qp_attr attr{};
    int mask = 0;
    attr.qp_state = state;
    const int error = verbs.cm_init_qp_attr(id, attr, mask);
    return error != 0 ? error : verbs.modify_qp(qp, attr, mask);
  };
  EXPECT_EQ(move(line.caller, qps[0], IBV_QPS_RTR), EINVAL);
  rdma_conn_param param = Line::terms();
  param.qp_num = qps[0]->qp_num;
  ASSERT_EQ(line.connect(param), 0);
  EXPECT_EQ(line.request().conn.qp_num, qps[0]->qp_num);
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    EXPECT_EQ(move(line.answering, qps[1], state), 0) << state;
  }
  param.qp_num = qps[1]->qp_num;
  ASSERT_EQ(line.accept(param), 0);
  EXPECT_EQ(line.calling.take(RDMA_CM_EVENT_CONNECT_RESPONSE).conn.qp_num, qps[1]->qp_num);
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    EXPECT_EQ(move(line.caller, qps[0], state), 0) << state;
  }
  EXPECT_FALSE(line.called.readable());
  EXPECT_EQ(verbs.cm_establish(line.caller), 0);
  line.called.take(RDMA_CM_EVENT_ESTABLISHED);
  for (ibv_qp* const qp : qps) EXPECT_EQ(verbs.destroy_qp(qp), 0);
  EXPECT_EQ(verbs.destroy_cq(cq), 0);
  EXPECT_EQ(verbs.dealloc_pd(pd), 0);
}

TEST(Connections, NobodyListensIsARejection) {
  Line line(host({"strict", "strict"}));
  sockaddr_storage to = address(2, 9);
  rdma_cm_id* const id = line.verbs->cm_create_id(line.calling.raw(), nullptr, RDMA_PS_TCP).handle;
  EXPECT_EQ(line.verbs->cm_resolve_addr(id, nullptr, plain(to), 100), 0);
  line.calling.take(RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(line.verbs->cm_resolve_route(id, 100), 0);
  line.calling.take(RDMA_CM_EVENT_ROUTE_RESOLVED);
  rdma_conn_param param = Line::terms();
  EXPECT_EQ(line.verbs->cm_connect(id, param), 0);
  EXPECT_EQ(line.calling.take(RDMA_CM_EVENT_REJECTED).status, 8);
  EXPECT_EQ(line.verbs->cm_destroy_id(id), 0);
}

/// As many requests as the backlog says wait; the next one comes when one of them was fetched, as its sender asks
/// again.
TEST(Connections, ABacklogHasAnEnd) {
  Line line(host({"strict", "strict"}), RDMA_PS_TCP, 2);
  std::vector<rdma_cm_id*> callers{line.caller, line.resolved(), line.resolved()};
  std::uint32_t number = 0x100;  // the same one again would be a stale connection
  for (rdma_cm_id* const id : callers) {
    rdma_conn_param param = Line::terms();
    param.qp_num = number++;
    EXPECT_EQ(line.verbs->cm_connect(id, param), 0);
  }
  std::vector<rdma_cm_id*> came;
  for (int round = 0; round < 2; ++round) came.push_back(line.called.take(RDMA_CM_EVENT_CONNECT_REQUEST).id);
  EXPECT_FALSE(line.called.readable());
  for (rdma_cm_id* const id : came) line.verbs->cm_destroy_id(id);
  line.verbs->cm_destroy_id(callers[1]);
  line.verbs->cm_destroy_id(callers[2]);
}

TEST(Connections, DatagramsFindTheirQueuePair) {
  Line line(host({"strict", "strict"}), RDMA_PS_UDP);
  Pair one(*line.verbs, line.caller);
  rdma_conn_param param{};
  ASSERT_EQ(line.connect(param), 0);
  line.request();
  Pair other(*line.verbs, line.answering);
  other.receive();
  ASSERT_EQ(line.accept(param), 0);
  const Came established = line.calling.take(RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(established.ud.qp_num, line.answering->qp->qp_num);
  EXPECT_EQ(established.ud.qkey, std::uint32_t{RDMA_UDP_QKEY});
  one.send(0x66, &established.ud);
  EXPECT_EQ(other.next().status, IBV_WC_SUCCESS);
  EXPECT_EQ(other.first(true), 0x66);

  // Another one is refused.
  rdma_cm_id* const again = line.resolved(RDMA_PS_UDP);
  EXPECT_EQ(line.verbs->cm_connect(again, param), 0);
  rdma_cm_id* const unwanted = line.called.take(RDMA_CM_EVENT_CONNECT_REQUEST).id;
  EXPECT_EQ(line.verbs->cm_reject(unwanted, nullptr, 0), 0);
  EXPECT_EQ(line.calling.take(RDMA_CM_EVENT_UNREACHABLE).status, 2);
  line.verbs->cm_destroy_id(unwanted);
  line.verbs->cm_destroy_id(again);
}

TEST(Connections, AGroupIsJoinedAndLeft) {
  for (const char* const model : {"strict", "connectx6-ib", "rxe-6.12"}) {
    const auto verbs = host({model, model});
    Channel channel(*verbs);
    std::array<rdma_cm_id*, 2> ids{};
    for (unsigned nic = 1; nic <= 2; ++nic) {
      ids[nic - 1] = verbs->cm_create_id(channel.raw(), nullptr, RDMA_PS_UDP).handle;
      sockaddr_storage own = address(nic);
      EXPECT_EQ(verbs->cm_bind_addr(ids[nic - 1], plain(own)), 0);
    }
    {
      Pair sends(*verbs, ids[0]);
      Pair hears(*verbs, ids[1]);
      hears.receive();
      sockaddr_storage group = cm::socket_address(engine::wire::mapped(239, 1, 2, 3), 0);
      rdma_cm_join_mc_attr_ex attr{};
      attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
      attr.addr = plain(group);
      EXPECT_EQ(verbs->cm_join_multicast(ids[1], attr, &group), 0);
      EXPECT_EQ(channel.take(RDMA_CM_EVENT_MULTICAST_JOIN).ud.private_data, &group);
      attr.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
      EXPECT_EQ(verbs->cm_join_multicast(ids[0], attr, nullptr), 0);
      const Came joined = channel.take(RDMA_CM_EVENT_MULTICAST_JOIN);
      EXPECT_EQ(joined.ud.qp_num, 0xffffffU);
      sends.send(0x44, &joined.ud);
      EXPECT_EQ(hears.next().status, IBV_WC_SUCCESS) << model;
      EXPECT_EQ(hears.first(true), 0x44);
      EXPECT_EQ(verbs->cm_leave_multicast(ids[1], plain(group)), 0);
      EXPECT_EQ(verbs->cm_leave_multicast(ids[1], plain(group)), EADDRNOTAVAIL);
      hears.receive();
      sends.send(0x45, &joined.ud);
      EXPECT_TRUE(hears.quiet());
    }
    for (rdma_cm_id* const id : ids) EXPECT_EQ(verbs->cm_destroy_id(id), 0);
  }
}

TEST(Connections, AddressesLeadSomewhereOrAnErrorSaysWhy) {
  const auto verbs = host({"strict", "connectx5"});
  Channel channel(*verbs);
  const struct {
    const char* what;
    engine::wire::Gid to;
    rdma_cm_event_type event;
    int status;
    const char* device;
  } rows[] = {
      {"a NIC's own", engine::wire::mapped(10, 11, 1, 2), RDMA_CM_EVENT_ADDR_RESOLVED, 0, "connectx5"},
      {"the first one's", engine::wire::mapped(10, 11, 1, 1), RDMA_CM_EVENT_ADDR_RESOLVED, 0, "strict"},
      {"the host's", engine::wire::mapped(127, 0, 0, 1), RDMA_CM_EVENT_ADDR_RESOLVED, 0, "strict"},
      {"a neighbour that isn't there", engine::wire::mapped(10, 11, 1, 99), RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, ""},
      {"another net's", engine::wire::mapped(192, 0, 2, 1), RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH, ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    rdma_cm_id* const id = verbs->cm_create_id(channel.raw(), nullptr, RDMA_PS_TCP).handle;
    sockaddr_storage to = cm::socket_address(row.to, 7);
    EXPECT_EQ(verbs->cm_resolve_addr(id, nullptr, plain(to), 20), 0);
    EXPECT_EQ(channel.take(row.event).status, row.status);
    if (row.event == RDMA_CM_EVENT_ADDR_RESOLVED) {
      ASSERT_NE(id->verbs, nullptr);
      EXPECT_STREQ(verbs->get_device_name(id->verbs->device), row.device);
      EXPECT_EQ(id->port_num, 1);
      EXPECT_EQ(verbs->cm_get_dst_port(id), 7);
      EXPECT_NE(verbs->cm_get_src_port(id), 0);
    }
    EXPECT_EQ(verbs->cm_destroy_id(id), 0);
  }
}

TEST(Connections, WhatIsWrongIsRefused) {
  const auto verbs = host({"strict"});
  Channel channel(*verbs);
  EXPECT_EQ(verbs->cm_create_id(channel.raw(), nullptr, 0x77).error, EINVAL);
  const auto fresh = [&] { return verbs->cm_create_id(channel.raw(), nullptr, RDMA_PS_TCP).handle; };
  rdma_cm_id* const id = fresh();
  sockaddr_storage own = address(1, 4000);
  sockaddr_storage nobodys = address(77);
  sockaddr_storage unix_address{};
  unix_address.ss_family = AF_UNIX;
  EXPECT_EQ(verbs->cm_bind_addr(id, plain(unix_address)), EINVAL);
  EXPECT_EQ(verbs->cm_bind_addr(id, plain(nobodys)), EADDRNOTAVAIL);
  EXPECT_EQ(verbs->cm_bind_addr(id, plain(own)), 0);
  EXPECT_EQ(verbs->cm_bind_addr(id, plain(own)), EINVAL);
  EXPECT_EQ(verbs->cm_resolve_route(id, 10), EINVAL);
  rdma_conn_param param{};
  EXPECT_EQ(verbs->cm_connect(id, param), EINVAL);
  EXPECT_EQ(verbs->cm_accept(id, param), EINVAL);
  EXPECT_EQ(verbs->cm_reject(id, nullptr, 0), EINVAL);
  EXPECT_EQ(verbs->cm_disconnect(id), EINVAL);
  rdma_cm_id* const second = fresh();
  EXPECT_EQ(verbs->cm_bind_addr(second, plain(own)), EADDRINUSE);
  sockaddr_storage any{};
  any.ss_family = AF_INET;
  cm::set_port(any, 4000);
  EXPECT_EQ(verbs->cm_bind_addr(second, plain(any)), EADDRNOTAVAIL);
  EXPECT_EQ(verbs->cm_destroy_id(id), 0);
  EXPECT_EQ(verbs->cm_bind_addr(second, plain(own)), 0) << "the port is free again";
  EXPECT_EQ(verbs->cm_listen(second, 1), 0);
  EXPECT_EQ(verbs->cm_listen(second, 1), EINVAL);
  std::uint8_t timeout = 40;
  EXPECT_EQ(verbs->cm_set_option(second, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1), EINVAL);
  EXPECT_EQ(verbs->cm_set_option(second, RDMA_OPTION_ID, 99, &timeout, 1), ENOSYS);
  EXPECT_EQ(verbs->cm_destroy_id(second), 0);
}

/// The descriptor can be read while events wait, and then no more; what is left of an id that goes is gone with it.
TEST(Connections, ADescriptorWakesForEventsAlone) {
  const auto verbs = host({"strict"});
  Channel channel(*verbs);
  EXPECT_FALSE(channel.readable());
  std::array<rdma_cm_id*, 2> ids{};
  for (rdma_cm_id*& id : ids) {
    id = verbs->cm_create_id(channel.raw(), nullptr, RDMA_PS_TCP).handle;
    sockaddr_storage to = address(1, 7);
    EXPECT_EQ(verbs->cm_resolve_addr(id, nullptr, plain(to), 20), 0);
  }
  EXPECT_TRUE(channel.readable());
  EXPECT_EQ(channel.take(RDMA_CM_EVENT_ADDR_RESOLVED).id, ids[0]);
  EXPECT_TRUE(channel.readable());
  EXPECT_EQ(verbs->cm_destroy_id(ids[1]), 0);
  EXPECT_FALSE(channel.readable());
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(verbs->cm_get_event(channel.raw(), &event), EAGAIN);

  // Its events go with it to another channel.
  Channel other(*verbs);
  EXPECT_EQ(verbs->cm_resolve_route(ids[0], 20), 0);
  EXPECT_EQ(verbs->cm_migrate_id(ids[0], other.raw()), 0);
  EXPECT_FALSE(channel.readable());
  EXPECT_EQ(other.take(RDMA_CM_EVENT_ROUTE_RESOLVED).id, ids[0]);
  EXPECT_EQ(verbs->cm_destroy_id(ids[0]), 0);
}

/// An id waits for the acknowledgement of its events before it goes.
TEST(Connections, AnIdStaysUntilItsEventIsAcknowledged) {
  const auto verbs = host({"strict"});
  Channel channel(*verbs);
  rdma_cm_id* const id = verbs->cm_create_id(channel.raw(), nullptr, RDMA_PS_TCP).handle;
  sockaddr_storage to = address(1, 7);
  EXPECT_EQ(verbs->cm_resolve_addr(id, nullptr, plain(to), 20), 0);
  rdma_cm_event* event = nullptr;
  ASSERT_EQ(verbs->cm_get_event(channel.raw(), &event), 0);
  std::atomic<bool> gone = false;
  std::thread destroys([&] {
    verbs->cm_destroy_id(id);
    gone = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(gone);
  EXPECT_EQ(verbs->cm_ack_event(event), 0);
  destroys.join();
}

/// Without a channel, a call is done when its event is there.
TEST(Connections, AnIdWithoutAChannelWaits) {
  const auto verbs = host({"strict", "strict"});
  rdma_cm_id* const listener = verbs->cm_create_id(nullptr, nullptr, RDMA_PS_TCP).handle;
  sockaddr_storage own = address(2);
  EXPECT_EQ(verbs->cm_bind_addr(listener, plain(own)), 0);
  EXPECT_EQ(verbs->cm_listen(listener, 1), 0);
  const std::uint16_t port = verbs->cm_get_src_port(listener);
  std::thread serves([&] {
    rdma_cm_event* event = nullptr;
    ASSERT_EQ(verbs->cm_get_event(listener->channel, &event), 0);
    rdma_cm_id* const id = event->id;
    id->event = event;
    EXPECT_NE(id->channel, listener->channel);
    {
      Pair pair(*verbs, id);
      rdma_conn_param param = Line::terms();
      EXPECT_EQ(verbs->cm_accept(id, param), 0);
    }
    EXPECT_EQ(verbs->cm_destroy_id(id), 0);
  });
  rdma_cm_id* const caller = verbs->cm_create_id(nullptr, nullptr, RDMA_PS_TCP).handle;
  sockaddr_storage to = address(2, port);
  EXPECT_EQ(verbs->cm_resolve_addr(caller, nullptr, plain(to), 100), 0);
  EXPECT_EQ(verbs->cm_resolve_route(caller, 100), 0);
  {
    Pair pair(*verbs, caller);
    rdma_conn_param param = Line::terms();
    EXPECT_EQ(verbs->cm_connect(caller, param), 0);
  }
  serves.join();
  EXPECT_EQ(verbs->cm_destroy_id(caller), 0);
  EXPECT_EQ(verbs->cm_destroy_id(listener), 0);
}

TEST(Connections, AQueuePairOfIwarpGoesToRtsByItsConnectionAlone) {
  Line line(host({"siw-6.12", "siw-6.12"}));
  Pair one(*line.verbs, line.caller);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  EXPECT_EQ(line.verbs->modify_qp(line.caller->qp, attr, IBV_QP_STATE), EINVAL);
  ASSERT_EQ(line.connect(), 0);
  line.request();
  Pair other(*line.verbs, line.answering);
  ASSERT_EQ(line.accept(), 0);
  line.calling.take(RDMA_CM_EVENT_ESTABLISHED);
  line.called.take(RDMA_CM_EVENT_ESTABLISHED);
  ibv_qp_init_attr init{};
  for (const rdma_cm_id* const id : {line.caller, line.answering}) {
    ASSERT_EQ(line.verbs->query_qp(id->qp, attr, IBV_QP_STATE, init), 0);
    EXPECT_EQ(attr.qp_state, IBV_QPS_RTS);
  }
}

TEST(Connections, NamesAreLookedUp) {
  const auto verbs = host({"strict"});
  rdma_addrinfo* found = nullptr;
  EXPECT_EQ(verbs->cm_getaddrinfo(nullptr, nullptr, nullptr, &found), EINVAL);
  rdma_addrinfo hints{};
  hints.ai_flags = RAI_NUMERICHOST;
  hints.ai_port_space = RDMA_PS_TCP;
  ASSERT_EQ(verbs->cm_getaddrinfo("10.11.1.1", "7471", &hints, &found), 0);
  sockaddr_storage known = cm::copied(found->ai_dst_addr);
  EXPECT_EQ(cm::ip_of(known), engine::wire::mapped(10, 11, 1, 1));
  EXPECT_EQ(cm::port_of(known), 7471);
  EXPECT_EQ(found->ai_qp_type, IBV_QPT_RC);
  verbs->cm_freeaddrinfo(found);
  EXPECT_EQ(verbs->cm_getaddrinfo("not an address", "7471", &hints, &found), EADDRNOTAVAIL);
}

}  // namespace
}  // namespace verbena::emulator
