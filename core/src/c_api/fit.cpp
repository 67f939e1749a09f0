// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/fit.hpp"

#include <array>
#include <optional>
#include <string>

#include "c_api/handles.hpp"
#include "c_api/sized_struct.hpp"

namespace verbena::c_api {
namespace {

Error error_of(ErrorKind kind, std::string field, std::optional<std::uint64_t> asked, std::string text) {
  Error error;
  error.kind = kind;
  error.field = std::move(field);
  error.asked = asked;
  error.by.set_by = SetBy::request;
  error.text = std::move(text);
  return error;
}

Error invalid(std::string field, std::uint64_t asked, std::string text) {
  return error_of(ErrorKind::invalid_request, std::move(field), asked, std::move(text));
}

Result<Policy> policy_of(int policy, Policy usual, const char* field) {
  switch (policy) {
    case VERBENA_POLICY_DEFAULT:
      return usual;
    case VERBENA_POLICY_REQUIRE:
      return Policy::require;
    case VERBENA_POLICY_PREFER:
      return Policy::prefer;
    case VERBENA_POLICY_ALLOW:
      return Policy::allow;
    default:
      return Failure(error_of(ErrorKind::invalid_request, field, std::nullopt,
                              std::to_string(policy) + " is not a value of enum verbena_policy"));
  }
}

Result<QpType> type_of(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_RC:
      return QpType::rc;
    case IBV_QPT_UC:
      return QpType::uc;
    case IBV_QPT_UD:
      return QpType::ud;
    default:
      return Failure(error_of(ErrorKind::unsupported, "qp_type", static_cast<std::uint64_t>(type),
                              "only RC, UC and UD are fitted; create queue pairs of other types as they are"));
  }
}

/// What ibv_qp_init_attr and its extended form have in common, fitted in place.
template <class Attr>
int fit_qp(const verbena_contract* contract, Attr* attr, std::optional<std::uint64_t> declared,
           const verbena_qp_options* given, verbena_report** report) {
  if (contract == nullptr) return fail(invalid("contract", 0, "the contract is NULL"), report);
  if (attr == nullptr) return fail(invalid("attr", 0, "the attributes are NULL"), report);
  Result<verbena_qp_options> options = read_sized(given, "struct verbena_qp_options");
  if (!options) return fail(options.error(), report);
  Result<QpType> type = type_of(attr->qp_type);
  if (!type) return fail(type.error(), report);
  Result<Policy> policy = policy_of(options->policy, Policy::prefer, "policy");
  if (!policy) return fail(policy.error(), report);
  Result<Policy> substitutes = policy_of(options->substitutes, Policy::require, "substitutes");
  if (!substitutes) return fail(substitutes.error(), report);

  const ibv_qp_cap& cap = attr->cap;
  QpRequest request;
  request.type = *type;
  if (declared && (options->send_ops & ~*declared) != 0) {
    Error error =
        invalid("send_ops", options->send_ops,
                "names operations that attr->send_ops_flags lacks, so that the queue pair could not post them");
    error.allowed = *declared & options->send_ops;
    return fail(error, report);
  }
  request.ops = SendOps{declared.value_or(options->send_ops)};
  request.declare_ops = declared.has_value();
  request.max_send_wr.want = cap.max_send_wr;
  request.max_recv_wr.want = cap.max_recv_wr;
  request.max_send_sge.want = cap.max_send_sge;
  request.max_recv_sge.want = cap.max_recv_sge;
  request.max_inline_data.want = cap.max_inline_data;
  if (const ibv_qp_cap* floor = options->at_least) {
    request.max_send_wr.at_least = floor->max_send_wr;
    request.max_recv_wr.at_least = floor->max_recv_wr;
    request.max_send_sge.at_least = floor->max_send_sge;
    request.max_recv_sge.at_least = floor->max_recv_sge;
    request.max_inline_data.at_least = floor->max_inline_data;
  }
  request.srq = attr->srq != nullptr;
  request.sq_sig_all = attr->sq_sig_all != 0;
  request.policy = *policy;
  request.substitutes = *substitutes;

  Result<QpFit> fitted = fit(request, *contract->contract);
  if (!fitted) return fail(fitted.error(), report);
  const QpGrant& grant = fitted->grant;
  succeed(grant.fields, grant, report);
  // An RC queue pair that stands in is what has to be created, so that is what is asked for.
  if (grant.type == QpType::rc) attr->qp_type = IBV_QPT_RC;
  attr->cap = ibv_qp_cap{.max_send_wr = grant.max_send_wr().passed,
                         .max_recv_wr = grant.max_recv_wr().passed,
                         .max_send_sge = grant.max_send_sge().passed,
                         .max_recv_sge = grant.max_recv_sge().passed,
                         .max_inline_data = grant.max_inline_data().passed};
  return VERBENA_OK;
}

}  // namespace
}  // namespace verbena::c_api

using namespace verbena;  // the functions below are outside any namespace, the words they use are not
using c_api::fail;
using c_api::guarded;

extern "C" {

int verbena_fit_qp(const verbena_contract* contract, ibv_qp_init_attr* attr, const verbena_qp_options* options,
                   verbena_report** report) {
  return guarded(report, [&] { return c_api::fit_qp(contract, attr, std::nullopt, options, report); });
}

int verbena_fit_qp_ex(const verbena_contract* contract, ibv_qp_init_attr_ex* attr, const verbena_qp_options* options,
                      verbena_report** report) {
  return guarded(report, [&] {
    const bool declares = attr != nullptr && (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
    if (declares && contract != nullptr &&
        contract->contract->feature(Feature::create_qp_ex).support == Support::absent) {
      Error error = c_api::error_of(ErrorKind::unsupported, "send_ops_flags", attr->send_ops_flags,
                                    "this device has no work request builder: create the QP without send_ops_flags");
      error.by = contract->contract->provenance(contract->contract->feature(Feature::create_qp_ex).by);
      return fail(error, report);
    }
    return c_api::fit_qp(contract, attr, declares ? std::optional<std::uint64_t>(attr->send_ops_flags) : std::nullopt,
                         options, report);
  });
}

int verbena_fit_cq(const verbena_contract* contract, uint32_t* cqe, const verbena_cq_options* given,
                   verbena_report** report) {
  return guarded(report, [&] {
    if (contract == nullptr) return fail(c_api::invalid("contract", 0, "the contract is NULL"), report);
    if (cqe == nullptr) return fail(c_api::invalid("cqe", 0, "the depth is NULL"), report);
    Result<verbena_cq_options> options = c_api::read_sized(given, "struct verbena_cq_options");
    if (!options) return fail(options.error(), report);
    Result<Policy> policy = c_api::policy_of(options->policy, Policy::prefer, "policy");
    if (!policy) return fail(policy.error(), report);
    CqRequest request;
    request.cqe.want = *cqe;
    if (options->at_least != 0) request.cqe.at_least = options->at_least;
    request.policy = *policy;
    Result<CqGrant> grant = fit(request, *contract->contract);
    if (!grant) return fail(grant.error(), report);
    c_api::succeed({&grant->cqe, 1}, *grant, report);
    *cqe = grant->cqe.passed;
    return static_cast<int>(VERBENA_OK);
  });
}

int verbena_fit_srq(const verbena_contract* contract, ibv_srq_init_attr* attr, const verbena_srq_options* given,
                    verbena_report** report) {
  return guarded(report, [&] {
    if (contract == nullptr) return fail(c_api::invalid("contract", 0, "the contract is NULL"), report);
    if (attr == nullptr) return fail(c_api::invalid("attr", 0, "the attributes are NULL"), report);
    Result<verbena_srq_options> options = c_api::read_sized(given, "struct verbena_srq_options");
    if (!options) return fail(options.error(), report);
    Result<Policy> policy = c_api::policy_of(options->policy, Policy::prefer, "policy");
    if (!policy) return fail(policy.error(), report);
    SrqRequest request;
    request.max_wr.want = attr->attr.max_wr;
    request.max_sge.want = attr->attr.max_sge;
    request.srq_limit = attr->attr.srq_limit;
    if (const ibv_srq_attr* floor = options->at_least) {
      request.max_wr.at_least = floor->max_wr;
      request.max_sge.at_least = floor->max_sge;
    }
    request.policy = *policy;
    Result<SrqGrant> grant = fit(request, *contract->contract);
    if (!grant) return fail(grant.error(), report);
    const std::array fields{grant->max_wr, grant->max_sge, grant->srq_limit};
    c_api::succeed(fields, *grant, report);
    attr->attr.max_wr = grant->max_wr.passed;
    attr->attr.max_sge = grant->max_sge.passed;
    attr->attr.srq_limit = grant->srq_limit.passed;
    return static_cast<int>(VERBENA_OK);
  });
}

}  // extern "C"
