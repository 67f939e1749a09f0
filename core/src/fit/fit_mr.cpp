// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "fit/field_fit.hpp"
#include "verbena/fit.hpp"

namespace verbena {
namespace {

// Younger than the headers that this is built with: enum ib_uverbs_access_flags (linux
// include/uapi/rdma/ib_user_ioctl_verbs.h), enum ib_uverbs_device_cap_flags (ib_user_verbs.h).
constexpr std::uint32_t kFlushGlobal = 1U << 8;
constexpr std::uint32_t kFlushPersistent = 1U << 9;
constexpr std::uint64_t kDeviceFlushGlobal = 1ULL << 38;
constexpr std::uint64_t kDeviceFlushPersistent = 1ULL << 39;

constexpr std::uint32_t kNeedLocalWrite = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

/// What a flag means where the device lacks what it is for.
enum class Without : std::uint8_t {
  another_region,  ///< the region would not be the one asked for: refused
  never_used,      ///< it permits an operation that cannot come: left out, and told; an error under `require`
  slower,          ///< it is a hint that any driver may ignore: left out, and told
};

struct Access {
  std::uint32_t bit;
  std::string_view word;
  std::array<Feature, 2> any_of;  ///< one of them is enough
  std::string_view use;           ///< what the device has not
  Without without;
};
constexpr std::array kAccess{
    Access{IBV_ACCESS_ON_DEMAND,
           "IBV_ACCESS_ON_DEMAND",
           {Feature::on_demand_paging, Feature::on_demand_paging},
           "on-demand paging",
           Without::another_region},
    Access{IBV_ACCESS_ZERO_BASED,
           "IBV_ACCESS_ZERO_BASED",
           {Feature::zero_based_mr, Feature::zero_based_mr},
           "zero-based regions",
           Without::another_region},
    Access{IBV_ACCESS_REMOTE_ATOMIC,
           "IBV_ACCESS_REMOTE_ATOMIC",
           {Feature::compare_swap, Feature::fetch_add},
           "atomics",
           Without::never_used},
    Access{IBV_ACCESS_MW_BIND,
           "IBV_ACCESS_MW_BIND",
           {Feature::memory_window_1, Feature::memory_window_2},
           "memory windows",
           Without::never_used},
    Access{kFlushGlobal, "IBV_ACCESS_FLUSH_GLOBAL", {Feature::flush, Feature::flush}, "FLUSH", Without::never_used},
    Access{kFlushPersistent,
           "IBV_ACCESS_FLUSH_PERSISTENT",
           {Feature::flush, Feature::flush},
           "FLUSH",
           Without::never_used},
    Access{IBV_ACCESS_RELAXED_ORDERING,
           "IBV_ACCESS_RELAXED_ORDERING",
           {Feature::relaxed_ordering, Feature::relaxed_ordering},
           "relaxed ordering",
           Without::slower},
};

Failure invalid(std::string field, std::uint64_t asked, std::string text, std::string source) {
  Error error;
  error.kind = ErrorKind::invalid_request;
  error.field = std::move(field);
  error.asked = asked;
  error.by.set_by = SetBy::request;
  error.by.source = std::move(source);
  error.text = std::move(text);
  return Failure(std::move(error));
}

/// Global visibility and persistence are one feature with two bits: the device may have the first alone.
std::optional<Provenance> denied_by_bits(const Access& access, const Contract& contract) {
  const bool global = access.bit == kFlushGlobal;
  if (!global && access.bit != kFlushPersistent) return std::nullopt;
  const auto flags = contract.caps()[Cap::device_cap_flags_ex];
  if (!flags || (*flags & (global ? kDeviceFlushGlobal : kDeviceFlushPersistent)) != 0) return std::nullopt;
  Provenance by;
  by.reason =
      fmt::format("the device denies it by device_cap_flags_ex {}", global ? "FLUSH_GLOBAL" : "FLUSH_PERSISTENT");
  by.source = "ibv_query_device_ex";
  return by;
}

/// Who says that the device lacks what a flag is for; empty when nobody does.
std::optional<Provenance> denied(const Access& access, const Contract& contract) {
  const bool lacks = std::all_of(access.any_of.begin(), access.any_of.end(),
                                 [&](Feature feature) { return contract.feature(feature).support == Support::absent; });
  if (lacks) return contract.provenance(contract.feature(access.any_of.front()).by);
  return denied_by_bits(access, contract);
}

Failure refused(const Access& access, Provenance by) {
  Error error;
  error.kind = ErrorKind::unsupported;
  error.field = name(access.any_of.front());
  error.asked = access.bit;
  error.by = std::move(by);
  error.text = fmt::format("the device has no {}; register without {}", access.use, access.word);
  return Failure(std::move(error));
}

/// A length is the caller's memory and is never changed: outside the bounds it is refused.
std::optional<Error> refused_length(std::uint64_t asked, const Contract& contract) {
  const Domain& length = contract.domain(Field::mr_length);
  const bool too_small = asked < length.min;
  if (!too_small && asked <= length.max) return std::nullopt;
  if (length.empty()) {
    fitting::FieldFit none;
    none.field = Field::mr_length;
    Error error = fitting::nothing_left(none, contract);
    error.asked = asked;
    return error;
  }
  Error error;
  error.kind = ErrorKind::limit;
  error.field = name(Field::mr_length);
  error.asked = asked;
  error.allowed = too_small ? length.min : length.max;
  error.by = contract.provenance(too_small ? length.min_by : length.max_by);
  error.text = too_small ? "the region is smaller than any that the device registers; register more around it"
                         : "the region is larger than the device registers at once; register it in parts";
  return error;
}

void leave_out(MrGrant& grant, std::string_view word, std::uint32_t bit, Provenance by) {
  grant.access &= ~bit;
  Adjustment& adjustment = grant.adjustments.emplace_back();
  adjustment.field = word;
  adjustment.asked = bit;
  adjustment.granted = 0;
  adjustment.kind = AdjustmentKind::reduced;
  adjustment.by = std::move(by);
}

/// Only on-demand regions look at that flag (linux core/umem_odp.c), and rxe refuses it (sw/rxe/rxe_verbs.h
/// RXE_ACCESS_SUPPORTED_MR).
void leave_out_huge_pages(MrGrant& grant) {
  if ((grant.access & IBV_ACCESS_HUGETLB) == 0 || (grant.access & IBV_ACCESS_ON_DEMAND) != 0) return;
  Provenance by;
  by.set_by = SetBy::build;
  by.reason = "it counts for on-demand regions alone, and a pinned one is refused for it by some drivers";
  by.source = "Linux 6.12 core/umem_odp.c ib_umem_odp_get; sw/rxe/rxe_verbs.h RXE_ACCESS_SUPPORTED_MR";
  leave_out(grant, "IBV_ACCESS_HUGETLB", IBV_ACCESS_HUGETLB, std::move(by));
}

}  // namespace

Result<MrGrant> fit(const MrRequest& request, const Contract& contract) {
  if (request.length == 0)
    return invalid("length", 0, "a region of no bytes cannot be registered",
                   "core/umem.c ib_umem_get (Linux 6.12); some drivers refuse it without an errno");
  if (auto none = fitting::none_of(Field::max_mr, "memory region", contract)) return Failure(std::move(*none));
  if ((request.access & kNeedLocalWrite) != 0 && (request.access & IBV_ACCESS_LOCAL_WRITE) == 0)
    return invalid("access", request.access, "remote writes and atomics need IBV_ACCESS_LOCAL_WRITE as well",
                   "man ibv_reg_mr; include/rdma/ib_verbs.h ib_check_mr_access (Linux 6.12)");
  MrGrant grant;
  grant.length = request.length;
  grant.access = request.access;
  grant.quirks_hash = contract.quirks_hash();
  for (const Access& access : kAccess) {
    if ((request.access & access.bit) == 0) continue;
    auto by = denied(access, contract);
    if (!by) continue;
    const bool may_do_without = access.without == Without::slower ||
                                (access.without == Without::never_used && request.policy != Policy::require);
    if (!may_do_without) return refused(access, std::move(*by));
    leave_out(grant, access.word, access.bit, std::move(*by));
  }
  leave_out_huge_pages(grant);
  // Last, so that the length that it names is all that stands in the way.
  if (auto error = refused_length(request.length, contract)) return Failure(std::move(*error));
  return grant;
}

}  // namespace verbena
