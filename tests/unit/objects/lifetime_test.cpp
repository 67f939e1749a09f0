// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "object_fixture.hpp"
#include "verbena/ah.hpp"
#include "verbena/cq.hpp"
#include "verbena/mr.hpp"
#include "verbena/mw.hpp"
#include "verbena/srq.hpp"

namespace verbena {
namespace {

using ::testing::HasSubstr;

class Lifetime : public WithDevice {};

TEST_F(Lifetime, ChildrenKeepTheirParentsAlive) {
  char memory[64];
  std::optional<Mr> mr;
  std::optional<Cq> cq;
  {
    const Device device = open();
    const Pd pd = pd_of(device);
    MrRequest request;
    request.length = sizeof memory;
    request.access = IBV_ACCESS_LOCAL_WRITE;
    auto made = Mr::reg(pd, memory, request);
    ASSERT_TRUE(made) << to_string(made.error());
    mr = std::move(*made);
    auto channel = CompChannel::create(device);
    ASSERT_TRUE(channel);
    auto queue = Cq::create(device, CqRequest{Wish{16}}, &*channel);
    ASSERT_TRUE(queue) << to_string(queue.error());
    cq = std::move(*queue);
  }
  library.reset();
  EXPECT_EQ(nic.contexts, 1U);
  EXPECT_EQ(nic.pds, 1U);
  EXPECT_EQ(nic.channels, 1U);
  mr.reset();
  EXPECT_EQ(nic.pds, 0U);
  cq.reset();
  EXPECT_EQ(host->live_objects(), 0U);
}

TEST_F(Lifetime, AFailedDestroyIsLoggedAndCounted) {
  const Device device = open();
  ibv_cq* left = nullptr;
  {
    const auto cq = Cq::create(device, CqRequest{Wish{16}});
    ASSERT_TRUE(cq);
    left = cq->raw();
    nic.next_errors["destroy_cq"] = {EBUSY};
  }
  EXPECT_EQ(device.counters().destroy_failures, 1U);
  ASSERT_EQ(logged(LogLevel::error), 1U);
  EXPECT_THAT(log.back().text, HasSubstr("ibv_destroy_cq failed with EBUSY"));
  EXPECT_EQ(log.back().device, "nic0");
  EXPECT_EQ(host->destroy_cq(left), 0) << "what could not be destroyed is still there";
}

// F105: after a fatal event destroy calls give EIO; the kernel has freed the objects already.
TEST_F(Lifetime, EioOnAGoneDeviceCountsAsDone) {
  const Device device = open();
  {
    const Pd pd = pd_of(device);
    auto cq = Cq::create(device, CqRequest{Wish{16}});
    ASSERT_TRUE(cq);
    host->remove(nic);
  }
  EXPECT_TRUE(device.gone());
  EXPECT_EQ(device.counters().destroy_failures, 0U);
  EXPECT_EQ(logged(LogLevel::error), 1U) << "that the device is gone is said once";
  EXPECT_EQ(nic.pds + nic.cqs, 0U);
}

TEST_F(Lifetime, OnAGoneDeviceEveryCallSaysSo) {
  char memory[64];
  const Device device = open();
  const Pd pd = pd_of(device);
  host->remove(nic);
  MrRequest request;
  request.length = sizeof memory;
  const auto mr = Mr::reg(pd, memory, request);
  ASSERT_FALSE(mr);
  EXPECT_EQ(mr.error().kind, ErrorKind::device_gone);
  EXPECT_TRUE(device.gone());
  host->forget_calls();
  EXPECT_EQ(Cq::create(device, CqRequest{Wish{16}}).error().kind, ErrorKind::device_gone);
  EXPECT_EQ(CompChannel::create(device).error().kind, ErrorKind::device_gone);
  EXPECT_EQ(Srq::create(pd, SrqRequest{}).error().kind, ErrorKind::device_gone);
  EXPECT_EQ(Mw::alloc(pd, IBV_MW_TYPE_1).error().kind, ErrorKind::device_gone);
  EXPECT_EQ(Ah::create(pd, ibv_ah_attr{}).error().kind, ErrorKind::device_gone);
  EXPECT_EQ(device.alloc_pd().error().kind, ErrorKind::device_gone);
  EXPECT_EQ(device.contract(1).error().kind, ErrorKind::device_gone);
  EXPECT_EQ(host->total_calls(), 0U) << "nothing is asked of a device that is known to be gone";
  EXPECT_EQ(open_device(library, "nic0").error().kind, ErrorKind::no_device);
}

// erdma answers EIO where a number is too big: that alone does not make the device gone.
TEST_F(Lifetime, EioAloneDoesNotMakeADeviceGone) {
  const Device device = open();
  nic.next_errors["alloc_pd"] = {EIO};
  const auto pd = device.alloc_pd();
  ASSERT_FALSE(pd);
  EXPECT_EQ(pd.error().kind, ErrorKind::refused);
  EXPECT_FALSE(device.gone());
  EXPECT_TRUE(device.alloc_pd());
}

/// The context is gone whatever closing it answered: a query of it would read freed memory.
TEST_F(Lifetime, ACloseThatFailsIsToldAndNotLookedInto) {
  {
    const Device device = open();
    nic.next_errors["close_device"] = {EIO};
    host->forget_calls();
  }
  EXPECT_EQ(nic.contexts, 0U);
  EXPECT_EQ(host->count("query_device"), 0U);
  ASSERT_FALSE(log.empty());
  EXPECT_NE(log.back().text.find("ibv_close_device failed with EIO"), std::string::npos);
}

TEST_F(Lifetime, ReleaseGivesTheHandleBack) {
  const Device device = open();
  Pd pd = pd_of(device);
  ibv_pd* const raw = pd.release();
  EXPECT_EQ(pd.release(), nullptr) << "it is gone already";
  EXPECT_EQ(nic.pds, 1U);
  auto adopted = Pd::adopt(device, raw);
  ASSERT_TRUE(adopted);
  EXPECT_EQ(adopted->raw(), raw);
  {
    const Pd end = std::move(*adopted);
  }
  EXPECT_EQ(nic.pds, 0U);
}

TEST_F(Lifetime, WhatWasMovedFromHoldsNoHandle) {
  const Device device = open();
  Pd pd = pd_of(device);
  ibv_pd* const raw_pd = pd.raw();
  Pd to = std::move(pd);
  EXPECT_EQ(pd.raw(), nullptr);  // NOLINT(bugprone-use-after-move): that is the promise
  EXPECT_EQ(to.raw(), raw_pd);
  pd = std::move(to);
  EXPECT_EQ(to.raw(), nullptr);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(pd.raw(), raw_pd);
  auto made = Cq::create(device, CqRequest{Wish{16}});
  ASSERT_TRUE(made);
  const Cq cq = std::move(*made);
  EXPECT_EQ(made->raw(), nullptr);
  EXPECT_NE(cq.raw(), nullptr);
}

TEST_F(Lifetime, AHandleThatStaysTheCallersIsNotDestroyed) {
  const Device device = open();
  const auto raw = host->alloc_pd(device.raw());
  ASSERT_TRUE(Pd::adopt(device, raw.handle, Ownership::callers));
  EXPECT_EQ(nic.pds, 1U);
  host->dealloc_pd(raw.handle);
}

TEST_F(Lifetime, NullAndForeignHandlesAreNotAdopted) {
  const Device device = open();
  const auto other = open_device(library, "nic0");
  ASSERT_TRUE(other);
  const Pd foreign = pd_of(*other);
  EXPECT_EQ(Pd::adopt(device, nullptr).error().kind, ErrorKind::invalid_request);
  const auto taken = Pd::adopt(device, foreign.raw());
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().text, HasSubstr("another context"));
  EXPECT_EQ(Cq::adopt(device, nullptr).error().kind, ErrorKind::invalid_request);
  EXPECT_EQ(CompChannel::adopt(device, nullptr).error().kind, ErrorKind::invalid_request);
}

TEST_F(Lifetime, CompletionEventsAreAcknowledgedBeforeTheyAreGiven) {
  const Device device = open();
  const auto channel = CompChannel::create(device);
  ASSERT_TRUE(channel);
  int tag = 0;
  const auto cq = Cq::create(device, CqRequest{Wish{16}}, &*channel, &tag);
  ASSERT_TRUE(cq);
  const auto nothing = channel->wait(50);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind, ErrorKind::timeout);
  ASSERT_TRUE(cq->arm());
  host->raise_completion(cq->raw());
  const auto event = channel->wait(50);
  ASSERT_TRUE(event) << to_string(event.error());
  EXPECT_EQ(event->cq, cq->raw());
  EXPECT_EQ(event->cq_context, &tag);
  EXPECT_EQ(host->count("ack_cq_events"), 1U);
}

TEST_F(Lifetime, AnAddressOnRoceNeedsAGid) {
  const Device device = open();
  const Pd pd = pd_of(device);
  ibv_ah_attr attr{};
  attr.port_num = 1;
  auto ah = Ah::create(pd, attr);
  ASSERT_FALSE(ah);
  EXPECT_EQ(ah.error().field, "is_global");
  attr.is_global = 1;
  EXPECT_TRUE(Ah::create(pd, attr));
  attr.port_num = 9;
  ah = Ah::create(pd, attr);
  ASSERT_FALSE(ah);
  EXPECT_EQ(ah.error().field, "port_num");
}

TEST_F(Lifetime, AWindowTypeThatTheDeviceDeniesIsNamed) {
  const Device device = open();
  const Pd pd = pd_of(device);
  EXPECT_TRUE(Mw::alloc(pd, IBV_MW_TYPE_1));
  const auto two = Mw::alloc(pd, IBV_MW_TYPE_2);
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(two.error().field, "memory_window_2");
  EXPECT_EQ(host->count("alloc_mw"), 1U);
}

}  // namespace
}  // namespace verbena
