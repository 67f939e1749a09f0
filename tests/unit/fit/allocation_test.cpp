// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "contracts.hpp"
#include "verbena/fit.hpp"

namespace {

// Per thread, and counted only while a test looks.
thread_local bool counting = false;
thread_local int allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
  if (counting) ++allocations;
  void* const memory = std::malloc(size != 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  if (counting) ++allocations;
  return std::malloc(size != 0 ? size : 1);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace verbena {
namespace {

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
