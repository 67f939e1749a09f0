// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine/memory/access.hpp"
#include "engine/memory/key_table.hpp"
#include "engine/memory/window.hpp"

namespace verbena::engine::memory {
namespace {

constexpr DomainId kDomain = 3;

Region& region(KeyTable& keys, std::byte* at, std::uint64_t bytes, unsigned access) {
  Region& region = *keys.add();
  region.domain = kDomain;
  region.host = at;
  region.address = 0x1000;  // the iova, which isn't where it lies
  region.length = bytes;
  region.access = access;
  return region;
}

TEST(Keys, AreNeverZeroAndNeverTwoRegionsAtATime) {
  KeyTable keys;
  std::set<std::uint32_t> seen;
  std::vector<Region*> regions;
  for (int each = 0; each < 200; ++each) {
    Region* const region = keys.add();
    ASSERT_NE(region, nullptr);
    EXPECT_NE(region->key, 0U);
    EXPECT_TRUE(seen.insert(region->key).second);
    regions.push_back(region);
  }
  for (Region* const region : regions) EXPECT_EQ(keys.find(region->key), region);
  EXPECT_EQ(keys.find(0), nullptr);
  EXPECT_EQ(keys.find(0xffffffff), nullptr);
}

TEST(Keys, OfARegionThatIsGoneAreNobodysForLong) {
  KeyTable keys;
  std::set<std::uint32_t> gone;
  for (int each = 0; each < 2000; ++each) {
    Region* const region = keys.add();
    EXPECT_FALSE(gone.contains(region->key)) << "after " << each;
    gone.insert(region->key);
    keys.remove(*region);
    for (const std::uint32_t key : gone) ASSERT_EQ(keys.find(key), nullptr);
  }
}

TEST(Keys, EndWhereTheNumberDoes) {
  KeyTable keys(3);
  Region* const first = keys.add();
  keys.add();
  keys.add();
  EXPECT_EQ(keys.add(), nullptr);
  keys.remove(*first);
  EXPECT_NE(keys.add(), nullptr);
  EXPECT_EQ(keys.count(), 3U);
}

struct Bounds {
  std::uint64_t address;
  std::uint32_t bytes;
  bool allowed;
};

TEST(Access, IsForEachByteOfTheRegionAndNoneBeside) {
  KeyTable keys;
  std::array<std::byte, 64> memory{};
  const Region& mine = region(keys, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
  for (const Bounds& bounds : {Bounds{0x1000, 64, true}, Bounds{0x1000, 1, true}, Bounds{0x103f, 1, true},
                               Bounds{0x1000, 65, false}, Bounds{0xfff, 1, false}, Bounds{0x1040, 1, false},
                               Bounds{~std::uint64_t{0}, 2, false}, Bounds{0x1001, 0xffffffff, false}}) {
    const Place place = local(keys, {bounds.address, bounds.bytes, mine.key}, kDomain, true);
    ASSERT_EQ(place.has_value(), bounds.allowed) << bounds.address << " " << bounds.bytes;
    if (bounds.allowed) {
      EXPECT_EQ(*place, memory.data() + (bounds.address - 0x1000));
    } else {
      EXPECT_EQ(place.error(), Fault::bounds);
    }
  }
}

TEST(Access, NamesTheFirstThingThatIsWrong) {
  KeyTable keys;
  std::array<std::byte, 64> memory{};
  Region& mine = region(keys, memory.data(), memory.size(), IBV_ACCESS_REMOTE_READ);
  const Asker asker{kDomain, 7};
  const auto fault = [&](const Place& place) { return place ? "none" : std::string(name(place.error())); };
  EXPECT_EQ(fault(remote(keys, mine.key + 1, 0x1000, 8, IBV_ACCESS_REMOTE_READ, asker)), "unknown_key");
  EXPECT_EQ(fault(remote(keys, mine.key, 0x1000, 8, IBV_ACCESS_REMOTE_READ, {4, 7})), "other_domain");
  EXPECT_EQ(fault(remote(keys, mine.key, 0x1000, 8, IBV_ACCESS_REMOTE_WRITE, asker)), "access");
  EXPECT_EQ(fault(local(keys, {0x1000, 8, mine.key}, kDomain, true)), "access");
  EXPECT_EQ(fault(local(keys, {0x1000, 8, mine.key}, kDomain, false)), "none");
  EXPECT_EQ(fault(local(keys, {0, 0, 0xdead}, kDomain, true)), "none") << "no byte, no key";
  mine.valid = false;
  EXPECT_EQ(fault(remote(keys, mine.key, 0x1000, 8, IBV_ACCESS_REMOTE_READ, asker)), "invalidated");
}

class Windows : public ::testing::Test {
protected:
  Bind asked() const {
    return {.window = window.key,
            .rkey = window.key + 1,
            .lkey = mine.key,
            .address = 0x1010,
            .length = 16,
            .access = IBV_ACCESS_REMOTE_WRITE,
            .queue_pair = 7,
            .domain = kDomain};
  }

  KeyTable keys;
  std::array<std::byte, 64> memory{};
  Region& mine = region(keys, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  Region& window = [this]() -> Region& {
    Region& made = *keys.add();
    made.kind = Region::Kind::window_type_2;
    made.domain = kDomain;
    made.valid = false;
    return made;
  }();
};

TEST_F(Windows, LetInWhatTheyCoverAndOnlyThere) {
  ASSERT_EQ(bind(keys, asked()), BindFault::none);
  EXPECT_EQ(mine.windows, 1U);
  const std::uint32_t rkey = window.key;
  const auto place = remote(keys, rkey, 0x1010, 16, IBV_ACCESS_REMOTE_WRITE, {kDomain, 7});
  ASSERT_TRUE(place);
  EXPECT_EQ(*place, memory.data() + 16);
  EXPECT_EQ(remote(keys, rkey, 0x100f, 2, IBV_ACCESS_REMOTE_WRITE, {kDomain, 7}).error(), Fault::bounds);
  EXPECT_EQ(remote(keys, rkey, 0x1010, 16, IBV_ACCESS_REMOTE_WRITE, {kDomain, 8}).error(), Fault::other_queue_pair);
  EXPECT_EQ(local(keys, {0x1010, 1, rkey}, kDomain, false).error(), Fault::not_local);
  EXPECT_FALSE(invalidate(keys, rkey, kDomain, 8));
  EXPECT_TRUE(invalidate(keys, rkey, kDomain, 7));
  EXPECT_EQ(mine.windows, 0U);
  EXPECT_EQ(remote(keys, rkey, 0x1010, 16, IBV_ACCESS_REMOTE_WRITE, {kDomain, 7}).error(), Fault::invalidated);
}

TEST_F(Windows, ThatAreZeroBasedBeginAtZero) {
  Bind zero = asked();
  zero.access |= IBV_ACCESS_ZERO_BASED;
  ASSERT_EQ(bind(keys, zero), BindFault::none);
  EXPECT_EQ(*remote(keys, window.key, 0, 16, IBV_ACCESS_REMOTE_WRITE, {kDomain, 7}), memory.data() + 16);
}

TEST_F(Windows, AreNotBoundToWhatDoesNotAllowIt) {
  const auto with = [this](auto change) {
    Bind bind = asked();
    change(bind);
    return verbena::engine::memory::bind(keys, bind);
  };
  EXPECT_EQ(with([](Bind& bind) { bind.window = 0xffffff00; }), BindFault::no_window);
  EXPECT_EQ(with([this](Bind& bind) { bind.window = mine.key; }), BindFault::no_window);
  EXPECT_EQ(with([](Bind& bind) { bind.domain = 9; }), BindFault::no_window);
  EXPECT_EQ(with([](Bind& bind) { bind.lkey ^= 1; }), BindFault::no_region);
  EXPECT_EQ(with([](Bind& bind) { bind.length = 0; }), BindFault::no_bytes);
  EXPECT_EQ(with([](Bind& bind) { bind.length = 49; }), BindFault::bounds);
  EXPECT_EQ(with([](Bind& bind) { bind.access = IBV_ACCESS_HUGETLB; }), BindFault::zero_based);
  EXPECT_EQ(with([this](Bind& bind) { bind.rkey = window.key; }), BindFault::variant);
  EXPECT_EQ(with([](Bind& bind) { bind.rkey += 0x100; }), BindFault::variant);
  mine.access = IBV_ACCESS_MW_BIND;
  EXPECT_EQ(with([](Bind&) {}), BindFault::not_writable);
  mine.access = IBV_ACCESS_LOCAL_WRITE;
  EXPECT_EQ(with([](Bind&) {}), BindFault::not_allowed);
  EXPECT_EQ(mine.windows, 0U);
}

TEST_F(Windows, OfTypeOneAreBoundOverAndUnboundByLengthZero) {
  window.kind = Region::Kind::window_type_1;
  ASSERT_EQ(bind(keys, asked()), BindFault::none);
  const std::uint32_t first = window.key;
  ASSERT_EQ(bind(keys, asked()), BindFault::none);
  EXPECT_NE(window.key, first);
  EXPECT_EQ(keys.find(first), nullptr);
  EXPECT_EQ(mine.windows, 1U);
  Bind zero = asked();
  zero.access |= IBV_ACCESS_ZERO_BASED;
  EXPECT_EQ(bind(keys, zero), BindFault::zero_based);
  Bind none = asked();
  none.length = 0;
  ASSERT_EQ(bind(keys, none), BindFault::none);
  EXPECT_EQ(mine.windows, 0U);
  EXPECT_FALSE(window.valid);
}

}  // namespace
}  // namespace verbena::engine::memory
