// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <array>

#include "object_fixture.hpp"
#include "verbena/mr.hpp"

namespace verbena {
namespace {

using ::testing::HasSubstr;

class ParentDomain : public WithDevice {
protected:
  static fake::FakeRules::Apply domains(Support parent, Support thread) {
    return [=](ContractBuilder& rules) {
      if (parent != Support::unknown)
        rules.feature(Feature::parent_domain, parent, true, rules.add(fake::rule("parent")));
      if (thread != Support::unknown)
        rules.feature(Feature::thread_domain, thread, true, rules.add(fake::rule("thread")));
    };
  }
};

TEST_F(ParentDomain, IsMadeWithAThreadDomainAndFreedBeforeItsParts) {
  const Device device = open(domains(Support::native, Support::native));
  auto pd = std::make_optional(pd_of(device));
  auto parent = Pd::alloc_parent(*pd);
  ASSERT_TRUE(parent) << to_string(parent.error());
  EXPECT_NE(parent->raw(), pd->raw());
  EXPECT_NE(parent->thread_domain(), nullptr);
  EXPECT_TRUE(parent->notes().adjustments.empty());
  pd.reset();
  EXPECT_EQ(nic.pds, 1U) << "the domain it was made from lives as long";
  {
    const Pd end = std::move(*parent);
  }
  EXPECT_EQ(nic.pds + nic.parents + nic.tds, 0U);
  EXPECT_EQ(device.counters().destroy_failures, 0U);
}

TEST_F(ParentDomain, ChildrenKeepIt) {
  std::array<char, 64> memory{};
  const Device device = open(domains(Support::native, Support::native));
  auto parent = Pd::alloc_parent(pd_of(device));
  ASSERT_TRUE(parent);
  MrRequest request;
  request.length = memory.size();
  auto mr = Mr::reg(*parent, memory.data(), request);
  ASSERT_TRUE(mr);
  {
    const Pd end = std::move(*parent);
  }
  EXPECT_EQ(nic.parents + nic.tds + nic.pds, 3U);
  {
    const Mr end = std::move(*mr);
  }
  EXPECT_EQ(nic.parents + nic.tds + nic.pds, 0U);
}

TEST_F(ParentDomain, WithoutOneTheDomainItselfServesAndThatIsTold) {
  const Device device = open(domains(Support::absent, Support::absent));
  const Pd pd = pd_of(device);
  {
    const auto parent = Pd::alloc_parent(pd);
    ASSERT_TRUE(parent);
    EXPECT_EQ(parent->raw(), pd.raw());
    EXPECT_EQ(parent->thread_domain(), nullptr);
    ASSERT_EQ(parent->notes().adjustments.size(), 1U);
    EXPECT_EQ(parent->notes().adjustments[0].field, "parent_domain");
    EXPECT_EQ(parent->notes().adjustments[0].by.rule, "parent");
    EXPECT_EQ(logged(LogLevel::warn), 1U);
  }
  EXPECT_EQ(nic.pds, 1U) << "and is not destroyed with it";
  EXPECT_EQ(host->count("alloc_parent_domain") + host->count("alloc_td"), 0U);
}

// mana has parent domains and no thread domains.
TEST_F(ParentDomain, AThreadDomainAloneCanBeMissing) {
  const Device device = open(domains(Support::native, Support::absent));
  const Pd pd = pd_of(device);
  const auto parent = Pd::alloc_parent(pd);
  ASSERT_TRUE(parent);
  EXPECT_NE(parent->raw(), pd.raw());
  ASSERT_EQ(parent->notes().adjustments.size(), 1U);
  EXPECT_EQ(parent->notes().adjustments[0].field, "thread_domain");
  const auto plain = Pd::alloc_parent(pd, {.thread_domain = false, .policy = Policy::require});
  ASSERT_TRUE(plain) << "nobody asked for a thread domain";
  EXPECT_TRUE(plain->notes().adjustments.empty());
}

TEST_F(ParentDomain, UnderRequireWhatIsMissingIsAnError) {
  const Device device = open(domains(Support::native, Support::absent));
  const Pd pd = pd_of(device);
  const auto refused = Pd::alloc_parent(pd, {.policy = Policy::require});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(refused.error().field, "thread_domain");
  EXPECT_EQ(refused.error().by.rule, "thread");
}

TEST_F(ParentDomain, WhatNoTableKnowsIsTriedAndItsRefusalTaken) {
  const Device device = open();
  const Pd pd = pd_of(device);
  EXPECT_NE(Pd::alloc_parent(pd)->raw(), pd.raw());
  nic.has_parent_domains = false;
  const auto parent = Pd::alloc_parent(pd);
  ASSERT_TRUE(parent);
  EXPECT_EQ(parent->raw(), pd.raw());
  ASSERT_EQ(parent->notes().adjustments.size(), 1U);
  EXPECT_EQ(parent->notes().adjustments[0].by.set_by, SetBy::probed);
  EXPECT_THAT(parent->notes().adjustments[0].by.reason, HasSubstr("EOPNOTSUPP"));
  EXPECT_EQ(nic.tds, 0U) << "a thread domain without a parent is not left behind";
  EXPECT_EQ(Pd::alloc_parent(pd, {.policy = Policy::require}).error().field, "parent_domain");
  EXPECT_EQ(nic.tds, 0U);
}

TEST_F(ParentDomain, AnotherRefusalIsAnErrorAndLeavesNothing) {
  const Device device = open(domains(Support::native, Support::native));
  const Pd pd = pd_of(device);
  nic.next_errors["alloc_parent_domain"] = {ENOMEM};
  const auto refused = Pd::alloc_parent(pd);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::no_memory);
  EXPECT_EQ(nic.tds + nic.parents, 0U);
}

TEST_F(ParentDomain, ReleaseGivesBothPartsBack) {
  const Device device = open(domains(Support::native, Support::native));
  const Pd pd = pd_of(device);
  auto parent = Pd::alloc_parent(pd);
  ASSERT_TRUE(parent);
  ibv_td* const td = parent->thread_domain();
  ibv_pd* const raw = parent->release();
  EXPECT_EQ(nic.parents + nic.tds, 2U);
  EXPECT_EQ(host->dealloc_pd(raw), 0);
  EXPECT_EQ(host->dealloc_td(td), 0);
}

}  // namespace
}  // namespace verbena
