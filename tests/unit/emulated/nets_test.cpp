// SPDX-License-Identifier: Apache-2.0 OR MIT
// Emulated NICs of two hosts: they meet on a net, and a child of fork() is on none.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "unit/shipped_nics.hpp"
#include "verbs/emulated.hpp"

namespace verbena::emulator {
namespace {

struct Way {
  const char* name;
  NetKind kind;
  std::uint32_t lost;  // of a million
};

constexpr std::uint32_t kBytes = 3000;  // three packets

/// One host with one NIC, and a queue pair on it that sleeps until something comes.
struct End {
  End(const Way& way, const std::string& fabric, const std::string& address) {
    EmulatedOptions options;
    options.models.push_back(shipped::model("connectx5"));
    options.net = way.kind;
    options.fabric = fabric;
    if (way.kind == NetKind::udp) options.addresses.push_back(address);
    options.impairments.lost = way.lost;
    auto joined = joined_verbs(std::move(options));
    if (!joined) throw std::runtime_error(joined.error().text);
    verbs = *std::move(joined);
    int count = 0;
    const auto list = verbs->get_device_list(count);
    context = verbs->open_device(list.handle[0]).handle;
    verbs->free_device_list(list.handle);
    pd = verbs->alloc_pd(context).handle;
    channel = verbs->create_comp_channel(context).handle;
    cq = verbs->create_cq(context, 64, nullptr, channel, 0).handle;
    mr = verbs->reg_mr(pd, bytes.data(), bytes.size(), IBV_ACCESS_LOCAL_WRITE).handle;
    make_qp();
    // The last entry: IPv4 where there is one.
    ibv_port_attr port{};
    verbs->query_port(context, 1, port);
    for (int index = 0; verbs->query_gid_ex(context, 1, static_cast<std::uint32_t>(index), entry) == 0; ++index)
      last = index;
    verbs->query_gid_ex(context, 1, static_cast<std::uint32_t>(last), entry);
  }
  ~End() {
    if (qp != nullptr) verbs->destroy_qp(qp);
    verbs->dereg_mr(mr);
    verbs->destroy_cq(cq);
    verbs->destroy_comp_channel(channel);
    verbs->dealloc_pd(pd);
    verbs->close_device(context);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  int make_qp() {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = cq;
    attr.cap = {16, 16, 1, 1, 0};
    attr.qp_type = IBV_QPT_RC;
    attr.sq_sig_all = 1;
    const Made<ibv_qp> made = verbs->create_qp(pd, attr);
    qp = made.handle;
    return made.error;
  }
  void connect(const End& other) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    ASSERT_EQ(verbs->modify_qp(qp, attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = other.qp->qp_num;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 1;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.dgid = other.entry.gid;
    attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(last);
    attr.ah_attr.grh.hop_limit = 64;
    ASSERT_EQ(verbs->modify_qp(qp, attr,
                               IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
              0);
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 14;
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = 1;
    ASSERT_EQ(verbs->modify_qp(qp, attr,
                               IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                   IBV_QP_MAX_QP_RD_ATOMIC),
              0);
  }
  ibv_sge all() { return {reinterpret_cast<std::uintptr_t>(bytes.data()), kBytes, mr->lkey}; }
  int receive() {
    ibv_sge sge = all();
    ibv_recv_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    return ibv_post_recv(qp, &wr, &bad);
  }
  int send() {
    ibv_sge sge = all();
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp, &wr, &bad);
  }
  /// Sleeps until a completion comes, and never polls before.
  ibv_wc_status sleep() {
    ibv_cq* of = nullptr;
    void* user = nullptr;
    ibv_wc wc{};
    for (int found = 0; found == 0; found = ibv_poll_cq(cq, 1, &wc)) {
      if (verbs->wait_readable(channel->fd, 20'000) != 0 || verbs->get_cq_event(channel, &of, &user) != 0)
        return IBV_WC_GENERAL_ERR;
      verbs->ack_cq_events(cq, 1);
    }
    return wc.status;
  }

  std::shared_ptr<Verbs> verbs;
  std::array<std::byte, kBytes> bytes{};
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_mr* mr = nullptr;
  ibv_qp* qp = nullptr;
  ibv_gid_entry entry{};
  int last = 0;
};

/// Of loopback, and no other process's that runs these tests.
std::string address(int end) {
  const int own = getpid();
  return "127." + std::to_string(1 + own / 256 % 254) + "." + std::to_string(own % 256) + "." + std::to_string(end);
}

class Nets : public ::testing::TestWithParam<Way> {
protected:
  void SetUp() override {
#ifdef VERBENA_TEST_EMULATED
    if (GetParam().kind == NetKind::udp) GTEST_SKIP() << "qemu-user carries neither UDP_SEGMENT nor UDP_GRO";
#endif
  }
  std::string fabric = "unit-" + std::to_string(getpid());
};

TEST_P(Nets, JoinTwoHosts) {
  End one(GetParam(), fabric, address(2));
  End other(GetParam(), fabric, address(3));
  EXPECT_NE(
      one.qp->qp_num == other.qp->qp_num && one.entry.gid.global.interface_id == other.entry.gid.global.interface_id,
      true);
  one.connect(other);
  other.connect(one);
  std::memset(one.bytes.data(), 7, one.bytes.size());
  for (int round = 0; round < 3; ++round) {
    // The receiver is asleep when the message comes, the sender when it is acknowledged.
    ASSERT_EQ(other.receive(), 0);
    ASSERT_EQ(ibv_req_notify_cq(other.cq, 0), 0);
    ASSERT_EQ(ibv_req_notify_cq(one.cq, 0), 0);
    ASSERT_EQ(one.send(), 0);
    EXPECT_EQ(other.sleep(), IBV_WC_SUCCESS);
    EXPECT_EQ(one.sleep(), IBV_WC_SUCCESS);
    EXPECT_EQ(std::memcmp(one.bytes.data(), other.bytes.data(), one.bytes.size()), 0);
    std::memset(other.bytes.data(), 0, other.bytes.size());
  }
}

TEST_P(Nets, AreNotInAChild) {
#ifdef VERBENA_TEST_EMULATED
  GTEST_SKIP() << "qemu-user wipes no page at a fork";
#endif
  End one(GetParam(), fabric, address(2));
  End other(GetParam(), fabric, address(3));
  one.connect(other);
  other.connect(one);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ibv_wc wc{};
    const bool inert = one.receive() == EIO && one.send() == EIO && ibv_poll_cq(one.cq, 1, &wc) == 0;
    _exit(inert ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  ASSERT_EQ(other.receive(), 0);
  ASSERT_EQ(ibv_req_notify_cq(other.cq, 0), 0);
  ASSERT_EQ(one.send(), 0);
  EXPECT_EQ(other.sleep(), IBV_WC_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(All, Nets,
                         ::testing::Values(Way{"shared", NetKind::shared, 0},
                                           Way{"shared_lossy", NetKind::shared, 200'000}, Way{"udp", NetKind::udp, 0},
                                           Way{"udp_lossy", NetKind::udp, 200'000}),
                         [](const auto& each) { return std::string(each.param.name); });

/// So that NICs of programs that only look, and of those that take turns, can have one address.
TEST(Nets, OfUdpHaveAnAddressWhileAQueuePairUsesIt) {
#ifdef VERBENA_TEST_EMULATED
  GTEST_SKIP() << "qemu-user carries neither UDP_SEGMENT nor UDP_GRO";
#endif
  const Way udp{"udp", NetKind::udp, 0};
  End one(udp, "", address(2));
  End other(udp, "", address(2));
  ASSERT_NE(one.qp, nullptr);
  ASSERT_EQ(other.qp, nullptr);
  EXPECT_EQ(other.make_qp(), EADDRINUSE);
  EXPECT_EQ(other.verbs->cm_create_event_channel().error, EADDRINUSE);
  ASSERT_EQ(one.verbs->destroy_qp(std::exchange(one.qp, nullptr)), 0);
  EXPECT_EQ(other.make_qp(), 0);
  EXPECT_EQ(one.make_qp(), EADDRINUSE);
}

TEST(Nets, RefuseWhatTheyHaveNot) {
  EmulatedOptions options;
  options.models.push_back(shipped::model("connectx5"));
  options.net = NetKind::shared;
  options.impairments.delay = std::chrono::milliseconds(1);
  const auto delayed = joined_verbs(options);
  ASSERT_FALSE(delayed);
  EXPECT_NE(delayed.error().text.find("delayed"), std::string::npos);
  options.impairments = {};
  options.net = NetKind::udp;
  options.addresses = {"203.0.113.7"};
  const auto elsewhere = joined_verbs(options);
  ASSERT_FALSE(elsewhere);
  EXPECT_NE(elsewhere.error().text.find("no interface of this network namespace has that address"), std::string::npos);
}

}  // namespace
}  // namespace verbena::emulator
