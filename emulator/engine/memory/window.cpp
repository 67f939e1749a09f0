// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/memory/window.hpp"

#include <utility>

namespace verbena::engine::memory {

namespace {

/// Those of a region too, which mean nothing in a window (linux sw/rxe/rxe_verbs.h RXE_ACCESS_SUPPORTED_MW).
constexpr unsigned kWindowAccess = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC |
                                   IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND |
                                   IBV_ACCESS_ON_DEMAND;

BindFault judge(const Region& window, const Region* region, const Bind& asked) noexcept {
  const bool type_2 = window.kind == Region::Kind::window_type_2;
  if (type_2) {
    if (window.valid) return BindFault::bound;
    if (asked.length == 0) return BindFault::no_bytes;
    if ((asked.rkey & ~kVariantMask) != (window.key & ~kVariantMask) || asked.rkey == window.key)
      return BindFault::variant;
  }
  if (asked.length == 0) return BindFault::none;
  if (!type_2 && (asked.access & IBV_ACCESS_ZERO_BASED) != 0) return BindFault::zero_based;
  if (region == nullptr || region->window() || !region->valid || region->domain != window.domain)
    return BindFault::no_region;
  if ((region->access & IBV_ACCESS_MW_BIND) == 0) return BindFault::not_allowed;
  if ((region->access & IBV_ACCESS_ZERO_BASED) != 0 || (asked.access & ~kWindowAccess) != 0)
    return BindFault::zero_based;
  if ((asked.access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 &&
      (region->access & IBV_ACCESS_LOCAL_WRITE) == 0)
    return BindFault::not_writable;
  return region->holds(asked.address, asked.length) ? BindFault::none : BindFault::bounds;
}

}  // namespace

BindFault bind(const KeyTable& keys, const Bind& asked) noexcept {
  Region* const window = keys.of_index(asked.window);
  if (window == nullptr || !window->window() || window->domain != asked.domain) return BindFault::no_window;
  Region* const region = keys.find(asked.lkey);
  if (const BindFault fault = judge(*window, region, asked); fault != BindFault::none) return fault;

  release(*window);
  const bool type_2 = window->kind == Region::Kind::window_type_2;
  window->key = type_2 ? asked.rkey : (window->key & ~kVariantMask) | ((window->key + 1) & kVariantMask);
  if (asked.length == 0) return BindFault::none;
  window->valid = true;
  window->access = asked.access;
  window->address = (asked.access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : asked.address;
  window->length = asked.length;
  window->host = region->host == nullptr ? nullptr : region->host + (asked.address - region->address);
  window->queue_pair = type_2 ? asked.queue_pair : 0;
  window->lies_in = region;
  ++region->windows;
  return BindFault::none;
}

bool invalidate(const KeyTable& keys, std::uint32_t rkey, DomainId domain, std::uint32_t queue_pair,
                bool regions) noexcept {
  Region* const region = keys.find(rkey);
  if (regions && region != nullptr && region->kind == Region::Kind::registered) {
    if (region->domain != domain || !region->valid || region->windows > 0) return false;
    region->valid = false;
    return true;
  }
  if (region == nullptr || region->kind != Region::Kind::window_type_2) return false;
  if (region->domain != domain || !region->valid || region->queue_pair != queue_pair) return false;
  release(*region);
  return true;
}

void release(Region& window) noexcept {
  if (Region* const region = std::exchange(window.lies_in, nullptr); region != nullptr) --region->windows;
  window.valid = false;
  window.queue_pair = 0;
  window.length = 0;
  window.host = nullptr;
}

}  // namespace verbena::engine::memory
