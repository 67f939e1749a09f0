// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "contracts.hpp"
#include "verbena/fit.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTED_BY_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTED_BY_SANITIZER
#endif
#endif
#ifdef COUNTED_BY_SANITIZER
#include <sanitizer/allocator_interface.h>
#endif

namespace {

// Per thread, and counted only while a test looks.
thread_local bool counting = false;
thread_local int allocations = 0;

}  // namespace

// A sanitizer has these operators itself, and tells of what they do.
#ifdef COUNTED_BY_SANITIZER
namespace {

const int kHooked = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void* /*memory*/, std::size_t /*size*/) {
      if (counting) ++allocations;
    },
    [](const volatile void* /*memory*/) {});

}  // namespace
#else
// Not inlined: GCC would then see memory of one go to the free of the other, and warn.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (counting) ++allocations;
  void* const memory = std::malloc(size != 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  if (counting) ++allocations;
  return std::malloc(size != 0 ? size : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#endif

namespace verbena {
namespace {

#ifdef COUNTED_BY_SANITIZER
TEST(FitAllocation, TheSanitizerTellsOfAllocations) {
  EXPECT_NE(kHooked, 0);
}
#endif

TEST(FitAllocation, NothingIsAllocatedWhenNothingIsAdjusted) {
  const Contract contract = contracts::connectx5();
  QpRequest request;
  request.max_send_wr.want = 1024;
  request.max_recv_wr.want = 1024;
  request.max_send_sge.want = 4;
  request.max_inline_data.want = 60;
  CqRequest queue;
  queue.cqe.want = 2048;
  allocations = 0;
  counting = true;
  const auto fitted = fit(request, contract);
  const auto completion = fit(queue, contract);
  counting = false;
  EXPECT_EQ(allocations, 0);
  ASSERT_TRUE(fitted.has_value());
  EXPECT_TRUE(fitted->grant.adjustments.empty());
  EXPECT_TRUE(completion.has_value());
}

TEST(FitAllocation, TheCountSeesAnAdjustment) {
  const Contract contract = contracts::connectx5();
  QpRequest request;
  request.max_send_wr.want = 32768;
  allocations = 0;
  counting = true;
  const auto fitted = fit(request, contract);
  counting = false;
  EXPECT_GT(allocations, 0);
  ASSERT_TRUE(fitted.has_value());
}

}  // namespace
}  // namespace verbena
