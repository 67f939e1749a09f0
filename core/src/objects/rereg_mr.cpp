// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <infiniband/verbs.h>

#include <fmt/format.h>

#include <string>
#include <utility>

#include "objects/refusal.hpp"
#include "objects/states.hpp"
#include "verbena/errno_family.hpp"
#include "verbena/fit.hpp"
#include "verbena/mr.hpp"

namespace verbena {
namespace {

/// Flags for which the kernel pins memory to be written (linux include/rdma/ib_verbs.h ib_access_writable).
constexpr std::uint32_t kWritable =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;

Failure invalid_change(std::string field, std::string text) {
  Error error;
  error.kind = ErrorKind::invalid_request;
  error.field = std::move(field);
  error.by.set_by = SetBy::request;
  error.text = std::move(text);
  return Failure(std::move(error));
}

/// Whether the region is what it was: by the classes of ibv_rereg_mr(3), whose two of a failed command leave it open.
/// libibverbs reports a provider without the call as a failed command too (verbs.c ibv_rereg_mr, dummy_ops.c rereg_mr);
/// where the driver does have it, EOPNOTSUPP may come after it took the old translation down (irdma
/// irdma_rereg_mr_trans).
bool as_it_was(int code, int error, bool native) {
  if (code == IBV_REREG_MR_ERR_INPUT || code == IBV_REREG_MR_ERR_DONT_FORK_NEW) return true;
  return errno_family(error) == ErrnoFamily::unsupported && !native;
}

}  // namespace

Result<MrGrant> Mr::rereg(const MrChange& change) {
  State& region = *state_;
  Device::State& on = *region.pd->device;
  if (on.gone()) return gone(on);
  const auto contract = on.contract();
  if (!contract) return gone(on);
  if (!region.usable)
    return invalid_change("mr", "an earlier change of this memory region failed half-way: destroy it");
  if (contract->feature(Feature::rereg_mr).support == Support::absent) {
    return Failure(lacking(*contract, Feature::rereg_mr,
                           fmt::format("{} changes no memory region in place: register the memory anew, tell the peer "
                                       "the new keys, and let this region go",
                                       on.name())));
  }
  if (change.pd == nullptr && !change.memory && !change.access) {
    return invalid_change("flags", "nothing of the memory region is to change: name a domain, memory or access");
  }
  if (change.pd != nullptr && change.pd->raw()->context != raw_->context) {
    return invalid_change("pd", "a memory region cannot move to a protection domain of another context");
  }
  if (change.memory && change.memory->address == nullptr) {
    return invalid_change("addr", "a memory region cannot move to a null address");
  }

  MrRequest request;
  request.length = change.memory ? change.memory->length : raw_->length;
  request.access = change.access.value_or(region.grant.access);
  request.kind = region.kind;
  request.policy = change.policy;
  auto fitted = fit(request, *contract);
  if (!fitted) return Failure(std::move(fitted.error()));
  if (!change.memory && (fitted->access & kWritable) != 0 && (region.pinned_access & kWritable) == 0) {
    return invalid_change(
        "access",
        "this memory was pinned for reading and cannot be written by a change of access alone: give its "
        "address and length again with the new access");
  }

  int flags = 0;
  if (change.pd != nullptr) flags |= IBV_REREG_MR_CHANGE_PD;
  if (change.memory) flags |= IBV_REREG_MR_CHANGE_TRANSLATION;
  if (change.access) flags |= IBV_REREG_MR_CHANGE_ACCESS;
  int code = 0;
  const int error = on.verbs().rereg_mr(raw_.get(), flags, change.pd != nullptr ? change.pd->raw() : nullptr,
                                        change.memory ? change.memory->address : nullptr,
                                        change.memory ? static_cast<std::size_t>(change.memory->length) : 0,
                                        change.access ? fitted->access : 0, code);
  if (error != 0 && code != IBV_REREG_MR_ERR_DO_FORK_OLD) {
    Attempt what{"ibv_rereg_mr", "memory region"};
    what.need_bytes = change.memory ? change.memory->length : 0;
    what.creates = false;
    what.without = "register the memory anew and let this region go";
    what.torn = !as_it_was(code, error, contract->native(Feature::rereg_mr));
    if (what.torn) {
      region.usable = false;
      if (change.pd != nullptr) region.torn_to = change.pd->state();
    }
    return Failure(refusal(on, what, {false, error, false}));
  }
  if (error != 0) {
    on.log(LogLevel::warn, fmt::format("ibv_rereg_mr on {} made the change, but could not give the old memory back to "
                                       "fork() ({}): a child process may not see it",
                                       on.name(), errno_name(error)));
  }
  if (change.pd != nullptr) region.pd = change.pd->state();
  if (change.memory) region.pinned_access = fitted->access;
  region.grant = std::move(*fitted);
  return region.grant;
}

bool Mr::usable() const noexcept {
  return state_->usable;
}

}  // namespace verbena
