// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "wishes.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "verbena/fields.hpp"
#include "verbena/fit.hpp"

namespace agreement {
namespace {

using namespace verbena;

constexpr std::uint64_t kLargestCqe = 64;  // bytes; of any driver here

template <class Grant>
void note_bounds(const Grant& grant, Fitted& fitted) {
  fitted.adjusted = !grant.adjustments.empty();
  for (const Adjustment& each : grant.adjustments)
    for (std::size_t i = 0; i < fitted.tuple.count(); ++i)
      if (each.field == name(field_of(fitted.tuple.kind, i))) fitted.changed_by[i] = each.by;
}

void take(const FieldGrant& field, std::size_t i, Fitted& fitted) {
  fitted.asked[i] = field.asked;
  fitted.granted[i] = field.granted;
  fitted.tuple.passed[i] = field.passed;
}

std::array<Wish*, 5> members(QpRequest& request) {
  return {&request.max_send_wr, &request.max_recv_wr, &request.max_send_sge, &request.max_recv_sge,
          &request.max_inline_data};
}

}  // namespace

Feature feature_of(QpType type) noexcept {
  if (type == QpType::uc) return Feature::uc;
  return type == QpType::ud ? Feature::ud : Feature::rc;
}

std::optional<Fitted> fit(const Wishes& wishes, const Contract& contract) {
  Fitted fitted;
  fitted.tuple.kind = wishes.kind;
  fitted.tuple.type = wishes.type;
  const auto wish = [&](std::size_t i) {
    Wish one;
    one.want = wishes.want[i];
    one.at_least = wishes.at_least[i];
    return one;
  };
  if (wishes.kind == Kind::cq) {
    CqRequest request;
    request.cqe = wish(kDepth);
    const auto grant = verbena::fit(request, contract);
    if (!grant) return std::nullopt;
    take(grant->cqe, kDepth, fitted);
    note_bounds(*grant, fitted);
  } else if (wishes.kind == Kind::srq) {
    SrqRequest request;
    request.max_wr = wish(kDepth);
    request.max_sge = wish(kSges);
    const auto grant = verbena::fit(request, contract);
    if (!grant) return std::nullopt;
    take(grant->max_wr, kDepth, fitted);
    take(grant->max_sge, kSges, fitted);
    note_bounds(*grant, fitted);
  } else {
    QpRequest request;
    request.type = wishes.type;
    request.ops = wishes.ops;
    const auto fields = members(request);
    for (std::size_t i = 0; i < fields.size(); ++i) *fields[i] = wish(i);
    const auto made = verbena::fit(request, contract);
    if (!made) return std::nullopt;
    if (made->declare_ops) fitted.tuple.ops = wishes.ops;
    for (std::size_t i = 0; i < fields.size(); ++i) take(made->grant.fields[i], i, fitted);
    note_bounds(made->grant, fitted);
  }
  fitted.bytes = bytes_of(fitted.tuple, contract);
  return fitted;
}

std::uint64_t bytes_of(const Tuple& tuple, const Contract& contract) {
  const Numbers& passed = tuple.passed;
  if (tuple.kind == Kind::cq) return std::uint64_t{passed[kDepth]} * kLargestCqe;
  if (tuple.kind == Kind::srq) return std::uint64_t{passed[kDepth]} * (std::uint64_t{16} * passed[kSges] + 64);
  QpGrant grant;
  grant.type = tuple.type;
  grant.ops = tuple.ops;
  for (std::size_t i = 0; i < grant.fields.size(); ++i) grant.fields[i].passed = passed[i];
  return ring_bytes(grant, contract);
}

std::string to_string(const Fitted& fitted) {
  std::string text = fitted.tuple.kind == Kind::cq    ? "cq"
                     : fitted.tuple.kind == Kind::srq ? "srq"
                                                      : std::string{name(fitted.tuple.type)};
  if (fitted.tuple.kind == Kind::qp && !fitted.tuple.ops.is_all())
    text += fmt::format(" ops={}", to_string(fitted.tuple.ops));
  text += ", asked/granted/passed";
  for (std::size_t i = 0; i < fitted.tuple.count(); ++i)
    text += fmt::format(" {}={}/{}/{}", name(field_of(fitted.tuple.kind, i)), fitted.asked[i], fitted.granted[i],
                        fitted.tuple.passed[i]);
  return text;
}

Draw::Draw(const Contract& contract, std::uint64_t seed) : contract_(&contract), random_(seed) {
  static constexpr std::array kAll{QpType::rc, QpType::uc, QpType::ud};
  for (const QpType type : kAll)
    if (contract.native(feature_of(type))) types_.push_back(type);
  if (types_.empty()) types_.assign(kAll.begin(), kAll.end());
}

std::uint32_t Draw::number(Kind kind, std::size_t index) {
  const Domain& domain = contract_->domain(field_of(kind, index));
  const double top = std::min<double>(4.0 * static_cast<double>(domain.largest_grant()), 1U << 24);
  std::uniform_real_distribution<double> exponent(0.0, std::log2(top + 2.0));
  return static_cast<std::uint32_t>(std::exp2(exponent(random_)) - 1.0);
}

SendOps Draw::some_ops(QpType type) {
  if (!contract_->native(Feature::create_qp_ex)) return SendOps::all();
  SendOps ops{SendOps::kSend};
  if (once_in(2) && contract_->native(Feature::send_with_imm)) ops.bits |= SendOps::kSendWithImm;
  if (type == QpType::ud) return ops;
  if (once_in(2)) ops.bits |= SendOps::kRdmaWrite;
  if (type == QpType::uc) return ops;
  if (once_in(2)) ops.bits |= SendOps::kRdmaRead;
  if (once_in(4) && contract_->native(Feature::fetch_add)) ops.bits |= SendOps::kCompareSwap | SendOps::kFetchAdd;
  return ops;
}

Wishes Draw::random() {
  Wishes wishes;
  const auto choice = random_() % 8;
  if (choice == 0) wishes.kind = Kind::cq;
  if (choice == 1 && contract_->native(Feature::srq)) wishes.kind = Kind::srq;
  const std::size_t count = wishes.kind == Kind::qp ? 5 : wishes.kind == Kind::cq ? 1 : 2;
  for (std::size_t i = 0; i < count; ++i) wishes.want[i] = number(wishes.kind, i);
  if (wishes.kind != Kind::qp) return wishes;
  wishes.type = types_[below(types_.size())];
  if (once_in(2)) wishes.want[kInline] = 0;
  if (once_in(4)) wishes.ops = some_ops(wishes.type);
  return wishes;
}

std::vector<Wishes> Draw::deepest(QpType type) const {
  std::vector<Wishes> all;
  const auto most = [&](Field field) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(contract_->domain(field).largest_grant(), 1U << 24));
  };
  Wishes base{Kind::qp, type, {}, {1, 1, 1, 1, 0}, {}};
  for (const std::size_t depth : {kSendWr, kRecvWr}) {
    Wishes one = base;
    const std::size_t sges = depth == kSendWr ? kSendSge : kRecvSge;
    one.want[depth] = most(field_of(Kind::qp, depth));
    one.at_least[depth] = 0;
    const std::uint32_t top = most(field_of(Kind::qp, sges));
    for (const std::uint32_t sge : {0U, 1U, 2U, 4U, 7U, top}) {
      if (sge > top) continue;
      one.want[sges] = sge;
      one.at_least[sges] = sge;
      all.push_back(one);
    }
  }
  base.want[kSendWr] = most(Field::max_send_wr);
  base.at_least[kSendWr] = 0;
  for (const std::uint32_t inline_data : {8U, 9U, 40U, 102U, 300U, 1024U}) {
    if (inline_data > most(Field::max_inline_data)) continue;
    base.want[kInline] = inline_data;
    base.at_least[kInline] = inline_data;
    all.push_back(base);
  }
  return all;
}

std::vector<Wishes> Draw::bounds() const {
  std::vector<Wishes> all;
  const auto around = [&](Wishes base, std::size_t index) {
    const Domain& domain = contract_->domain(field_of(base.kind, index));
    for (const std::uint64_t bound : {domain.min, domain.largest_grant()})
      for (const std::uint64_t value : {bound == 0 ? 0 : bound - 1, bound, bound + 1}) {
        base.want[index] = static_cast<std::uint32_t>(std::min<std::uint64_t>(value, UINT32_MAX));
        base.at_least[index] = 0;
        all.push_back(base);
      }
  };
  for (const QpType type : types_) {
    for (std::size_t i = 0; i < 5; ++i) around({Kind::qp, type, {}, {1, 1, 1, 1, 0}, {}}, i);
    if (contract_->joints().empty()) continue;
    const std::vector<Wishes> deep = deepest(type);
    all.insert(all.end(), deep.begin(), deep.end());
  }
  for (const QpType type : {QpType::rc, QpType::uc, QpType::ud})
    if (std::find(types_.begin(), types_.end(), type) == types_.end())
      all.push_back({Kind::qp, type, {}, {1, 1, 1, 1, 0}, {}});
  around({Kind::cq, {}, {}, {}, {}}, kDepth);
  if (contract_->native(Feature::srq))
    for (const std::size_t i : {kDepth, kSges}) around({Kind::srq, {}, {}, {1, 1}, {}}, i);
  return all;
}

}  // namespace agreement
