// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <infiniband/verbs.h>

#include <array>

#include <fmt/format.h>

#include "verbena/fit.hpp"

namespace verbena {
namespace {

constexpr std::uint32_t kNeedLocalWrite = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

struct Access {
  std::uint32_t bit;
  Feature feature;
  std::string_view word;
};
constexpr std::array<Access, 2> kNeedFeature{{
    {IBV_ACCESS_ON_DEMAND, Feature::on_demand_paging, "IBV_ACCESS_ON_DEMAND"},
    {IBV_ACCESS_ZERO_BASED, Feature::zero_based_mr, "IBV_ACCESS_ZERO_BASED"},
}};

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

}  // namespace

Result<MrGrant> fit(const MrRequest& request, const Contract& contract) {
  if (request.length == 0)
    return invalid("length", 0, "a region of no bytes cannot be registered",
                   "core/umem.c ib_umem_get (Linux 6.12); some drivers refuse it without an errno");
  if ((request.access & kNeedLocalWrite) != 0 && (request.access & IBV_ACCESS_LOCAL_WRITE) == 0)
    return invalid("access", request.access, "remote writes and atomics need IBV_ACCESS_LOCAL_WRITE as well",
                   "man ibv_reg_mr; include/rdma/ib_verbs.h ib_check_mr_access (Linux 6.12)");
  const Domain& length = contract.domain(Field::mr_length);
  if (request.length > length.max) {
    Error error;
    error.kind = ErrorKind::limit;
    error.field = name(Field::mr_length);
    error.asked = request.length;
    error.allowed = length.max;
    error.by = contract.provenance(length.max_by);
    error.text = "the region is larger than the device registers at once; register it in parts";
    return Failure(std::move(error));
  }
  for (const Access& access : kNeedFeature) {
    if ((request.access & access.bit) == 0) continue;
    const FeatureState& state = contract.feature(access.feature);
    if (state.support != Support::absent) continue;
    Error error;
    error.kind = ErrorKind::unsupported;
    error.field = name(access.feature);
    error.asked = request.access;
    error.by = contract.provenance(state.by);
    error.text = fmt::format("the device has no {}; register without it", access.word);
    return Failure(std::move(error));
  }
  MrGrant grant;
  grant.length = request.length;
  grant.access = request.access;
  grant.quirks_hash = contract.quirks_hash();
  return grant;
}

}  // namespace verbena
