// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/memory/access.hpp"

namespace verbena::engine::memory {

namespace {

Place within(const Region& region, std::uint64_t address, std::uint64_t bytes) noexcept {
  if (!region.holds(address, bytes)) return tl::unexpected(Fault::bounds);
  return region.host == nullptr ? nullptr : region.host + (address - region.address);
}

}  // namespace

Place local(const KeyTable& keys, const ibv_sge& sge, DomainId domain, bool written) noexcept {
  if (sge.length == 0) return nullptr;
  const Region* const region = keys.find(sge.lkey);
  if (region == nullptr) return tl::unexpected(Fault::unknown_key);
  if (region->window()) return tl::unexpected(Fault::not_local);
  if (!region->valid) return tl::unexpected(Fault::invalidated);
  if (region->domain != domain) return tl::unexpected(Fault::other_domain);
  if (written && (region->access & IBV_ACCESS_LOCAL_WRITE) == 0) return tl::unexpected(Fault::access);
  return within(*region, sge.addr, sge.length);
}

Place remote(const KeyTable& keys, std::uint32_t rkey, std::uint64_t address, std::uint64_t bytes, unsigned access,
             const Asker& asker) noexcept {
  const Region* const region = keys.find(rkey);
  if (region == nullptr) return tl::unexpected(Fault::unknown_key);
  if (!region->valid) return tl::unexpected(Fault::invalidated);
  if (region->domain != asker.domain) return tl::unexpected(Fault::other_domain);
  if (region->kind == Region::Kind::window_type_2 && region->queue_pair != asker.queue_pair)
    return tl::unexpected(Fault::other_queue_pair);
  if ((region->access & access) != access) return tl::unexpected(Fault::access);
  if (region->lies_in != nullptr && !asker.windows_bound && region->host != nullptr) {
    Region whole = *region;
    const auto before = static_cast<std::uint64_t>(region->host - region->lies_in->host);
    whole.address = region->address - before;
    whole.host = region->lies_in->host;
    whole.length = region->lies_in->length;
    return within(whole, address, bytes);
  }
  return within(*region, address, bytes);
}

}  // namespace verbena::engine::memory
