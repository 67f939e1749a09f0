// SPDX-License-Identifier: Apache-2.0 OR MIT
// Does fit promise only what the device gives? Seeded random requests and every bound at -1, 0 and +1 are fitted from
// the contract alone, then created with plain verbs as fitted. A grant that the device refuses, or that it gives less
// than, is a disagreement; so is a wish at most as large as the contract's bound that fit cut.

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <infiniband/verbs.h>
#include <unistd.h>

#include "verbena/fit.hpp"
#include "verbena/library.hpp"

namespace {

using namespace verbena;

/// Ring memory that one request may need: the guest has a few GiB, and a host's own ENOMEM says nothing of the NIC.
constexpr std::uint64_t kRingBudgetBytes = std::uint64_t{256} << 20;

struct Tally {
  unsigned tried = 0, adjusted = 0, refused_by_fit = 0, host_enomem = 0, over_budget = 0, disagreements = 0;
};

class Comparison {
public:
  Comparison(const Device& device, const Contract& contract, std::uint64_t seed)
      : device_(device), contract_(contract), random_(seed) {}

  bool start() {
    pd_ = ibv_alloc_pd(device_.raw());
    cq_ = pd_ ? ibv_create_cq(device_.raw(), 16, nullptr, nullptr, 0) : nullptr;
    return cq_ != nullptr;
  }
  ~Comparison() {
    if (cq_) ibv_destroy_cq(cq_);
    if (pd_) ibv_dealloc_pd(pd_);
  }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  void random_requests(unsigned count);
  void bounds();
  const Tally& tally() const { return tally_; }

private:
  std::uint32_t log_uniform(Field field);
  QpType random_type();
  void try_qp(const QpRequest& request, const char* what);
  void try_cq(const CqRequest& request, const char* what);
  void try_srq(const SrqRequest& request, const char* what);
  bool refused_for_want_of_memory(int error, std::uint64_t bytes);
  void disagree(const std::string& text);

  const Device& device_;
  const Contract& contract_;
  std::mt19937_64 random_;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  Tally tally_;
};

/// Log-uniform from zero to four times the field's bound, so that about a third lies beyond it.
std::uint32_t Comparison::log_uniform(Field field) {
  const Domain& domain = contract_.domain(field);
  const double top = std::min<double>(4.0 * static_cast<double>(domain.largest_grant()), 1U << 24);
  std::uniform_real_distribution<double> exponent(0.0, std::log2(top + 2.0));
  return static_cast<std::uint32_t>(std::exp2(exponent(random_)) - 1.0);
}

QpType Comparison::random_type() {
  std::vector<QpType> types;
  if (contract_.feature(Feature::rc).support == Support::native) types.push_back(QpType::rc);
  if (contract_.feature(Feature::uc).support == Support::native) types.push_back(QpType::uc);
  if (contract_.feature(Feature::ud).support == Support::native) types.push_back(QpType::ud);
  if (types.empty()) types.push_back(QpType::rc);
  return types[random_() % types.size()];
}

void Comparison::disagree(const std::string& text) {
  ++tally_.disagreements;
  std::printf("DISAGREE %s\n", text.c_str());
}

bool Comparison::refused_for_want_of_memory(int error, std::uint64_t bytes) {
  if (error != ENOMEM || bytes <= kRingBudgetBytes) return false;
  ++tally_.host_enomem;
  return true;
}

std::string describe(const QpGrant& grant) {
  std::string text{name(grant.type)};
  for (const FieldGrant& field : grant.fields)
    text += " " + std::string{name(field.field)} + "=" + std::to_string(field.asked) + "/" +
            std::to_string(field.granted) + "/" + std::to_string(field.passed);
  return text;
}

void Comparison::try_qp(const QpRequest& request, const char* what) {
  auto fitted = fit(request, contract_);
  if (!fitted) {
    ++tally_.refused_by_fit;
    return;
  }
  const QpGrant& grant = fitted->grant;
  const std::uint64_t bytes = ring_bytes(grant, contract_);
  if (bytes > kRingBudgetBytes) {
    ++tally_.over_budget;
    return;
  }
  ++tally_.tried;
  if (!grant.adjustments.empty()) ++tally_.adjusted;

  ibv_qp_init_attr attr{};
  attr.send_cq = attr.recv_cq = cq_;
  attr.qp_type = request.type == QpType::rc ? IBV_QPT_RC : request.type == QpType::uc ? IBV_QPT_UC : IBV_QPT_UD;
  attr.cap = {grant.max_send_wr().passed, grant.max_recv_wr().passed, grant.max_send_sge().passed,
              grant.max_recv_sge().passed, grant.max_inline_data().passed};
  errno = 0;
  ibv_qp* qp = ibv_create_qp(pd_, &attr);
  if (!qp) {
    const int error = errno;
    if (!refused_for_want_of_memory(error, bytes))
      disagree(std::string(what) + " refused errno " + std::to_string(error) + ": " + describe(grant));
    return;
  }
  const std::uint32_t returned[] = {attr.cap.max_send_wr, attr.cap.max_recv_wr, attr.cap.max_send_sge,
                                    attr.cap.max_recv_sge, attr.cap.max_inline_data};
  for (std::size_t i = 0; i < grant.fields.size(); ++i)
    if (returned[i] < grant.fields[i].granted)
      disagree(std::string(what) + " returned " + std::string{name(grant.fields[i].field)} + "=" +
               std::to_string(returned[i]) + " below the grant: " + describe(grant));
  ibv_destroy_qp(qp);
}

void Comparison::try_cq(const CqRequest& request, const char* what) {
  auto grant = fit(request, contract_);
  if (!grant) {
    ++tally_.refused_by_fit;
    return;
  }
  const std::uint64_t bytes = std::uint64_t{grant->cqe.passed} * 64;  // the largest CQE of any driver here
  if (bytes > kRingBudgetBytes) {
    ++tally_.over_budget;
    return;
  }
  ++tally_.tried;
  if (!grant->adjustments.empty()) ++tally_.adjusted;
  errno = 0;
  ibv_cq* cq = ibv_create_cq(device_.raw(), static_cast<int>(grant->cqe.passed), nullptr, nullptr, 0);
  if (!cq) {
    const int error = errno;
    if (!refused_for_want_of_memory(error, bytes))
      disagree(std::string(what) + " refused errno " + std::to_string(error) + ": cqe " +
               std::to_string(grant->cqe.asked) + "/" + std::to_string(grant->cqe.granted) + "/" +
               std::to_string(grant->cqe.passed));
    return;
  }
  const auto entries = static_cast<std::uint32_t>(cq->cqe);
  if (entries < grant->cqe.granted && !contract_.is(Behaviour::cqe_reported, Choice::unset))
    disagree(std::string(what) + " cqe returned " + std::to_string(entries) + " below the grant " +
             std::to_string(grant->cqe.granted));
  ibv_destroy_cq(cq);
}

void Comparison::try_srq(const SrqRequest& request, const char* what) {
  auto grant = fit(request, contract_);
  if (!grant) {
    ++tally_.refused_by_fit;
    return;
  }
  const std::uint64_t bytes = std::uint64_t{grant->max_wr.passed} * (16 * grant->max_sge.passed + 64);
  if (bytes > kRingBudgetBytes) {
    ++tally_.over_budget;
    return;
  }
  ++tally_.tried;
  if (!grant->adjustments.empty()) ++tally_.adjusted;
  ibv_srq_init_attr attr{};
  attr.attr.max_wr = grant->max_wr.passed;
  attr.attr.max_sge = grant->max_sge.passed;
  errno = 0;
  ibv_srq* srq = ibv_create_srq(pd_, &attr);
  if (!srq) {
    const int error = errno;
    if (!refused_for_want_of_memory(error, bytes))
      disagree(std::string(what) + " refused errno " + std::to_string(error) + ": srq max_wr " +
               std::to_string(grant->max_wr.passed) + " max_sge " + std::to_string(grant->max_sge.passed));
    return;
  }
  if (attr.attr.max_wr < grant->max_wr.granted || attr.attr.max_sge < grant->max_sge.granted)
    disagree(std::string(what) + " srq returned " + std::to_string(attr.attr.max_wr) + "/" +
             std::to_string(attr.attr.max_sge) + " below the grant");
  ibv_destroy_srq(srq);
}

void Comparison::random_requests(unsigned count) {
  // Requests that fit refuses or that need too much ring memory are drawn again, up to this many times in all.
  for (unsigned draws = 0; tally_.tried < count && draws < 20 * count; ++draws) {
    switch (random_() % 8) {
      case 0: {
        CqRequest request;
        request.cqe.want = log_uniform(Field::cqe);
        try_cq(request, "random");
        break;
      }
      case 1: {
        if (contract_.feature(Feature::srq).support != Support::native) break;
        SrqRequest request;
        request.max_wr.want = log_uniform(Field::max_wr);
        request.max_sge.want = log_uniform(Field::max_sge);
        try_srq(request, "random");
        break;
      }
      default: {
        QpRequest request;
        request.type = random_type();
        request.max_send_wr.want = log_uniform(Field::max_send_wr);
        request.max_recv_wr.want = log_uniform(Field::max_recv_wr);
        request.max_send_sge.want = log_uniform(Field::max_send_sge);
        request.max_recv_sge.want = log_uniform(Field::max_recv_sge);
        request.max_inline_data.want = random_() % 2 ? log_uniform(Field::max_inline_data) : 0;
        try_qp(request, "random");
      }
    }
  }
}

/// Each bound of each field alone: the other fields are at their smallest.
void Comparison::bounds() {
  const auto around = [&](Field field, auto&& attempt) {
    const Domain& domain = contract_.domain(field);
    const std::uint64_t top = domain.largest_grant();
    for (std::uint64_t bound : {domain.min, top}) {
      if (bound > 0) attempt(static_cast<std::uint32_t>(std::min<std::uint64_t>(bound - 1, UINT32_MAX)));
      attempt(static_cast<std::uint32_t>(std::min<std::uint64_t>(bound, UINT32_MAX)));
      if (bound < UINT32_MAX) attempt(static_cast<std::uint32_t>(bound + 1));
    }
  };
  const auto qp_field = [&](Field field, Wish QpRequest::* member) {
    around(field, [&](std::uint32_t value) {
      QpRequest request;
      request.type = random_type();
      (request.*member).want = value;
      try_qp(request, "bound");
    });
  };
  qp_field(Field::max_send_wr, &QpRequest::max_send_wr);
  qp_field(Field::max_recv_wr, &QpRequest::max_recv_wr);
  qp_field(Field::max_send_sge, &QpRequest::max_send_sge);
  qp_field(Field::max_recv_sge, &QpRequest::max_recv_sge);
  qp_field(Field::max_inline_data, &QpRequest::max_inline_data);
  around(Field::cqe, [&](std::uint32_t value) {
    CqRequest request;
    request.cqe.want = value;
    try_cq(request, "bound");
  });
  if (contract_.feature(Feature::srq).support == Support::native) {
    around(Field::max_wr, [&](std::uint32_t value) {
      SrqRequest request;
      request.max_wr.want = value;
      try_srq(request, "bound");
    });
    around(Field::max_sge, [&](std::uint32_t value) {
      SrqRequest request;
      request.max_sge.want = value;
      try_srq(request, "bound");
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* name = nullptr;
  // A sample in the everyday check, all of it with VERBENA_CHECK_FULL or -n.
  unsigned count = std::getenv("VERBENA_CHECK_FULL") ? 2000 : 300;
  std::uint64_t seed = 1;
  for (int option = 0; (option = getopt(argc, argv, "d:n:s:")) != -1;) {
    if (option == 'd') name = optarg;
    if (option == 'n') count = static_cast<unsigned>(std::strtoul(optarg, nullptr, 10));
    if (option == 's') seed = std::strtoull(optarg, nullptr, 10);
    if (option == '?') return 2;
  }
  if (!name) {
    std::fprintf(stderr, "usage: agreement -d DEVICE [-n COUNT] [-s SEED]\n");
    return 2;
  }

  auto library = Library::create();
  if (!library) {
    std::printf("%s\n", to_string(library.error()).c_str());
    return 1;
  }
  auto device = library->open(name);
  if (!device) {
    std::printf("%s\n", to_string(device.error()).c_str());
    return device.error().kind == ErrorKind::no_device ? 77 : 1;
  }
  auto contract = device->contract(1);
  if (!contract) {
    std::printf("%s\n", to_string(contract.error()).c_str());
    return 1;
  }
  Comparison comparison(*device, **contract, seed);
  if (!comparison.start()) {
    std::printf("agreement: %s: no PD or CQ: %s\n", name, std::strerror(errno));
    return 1;
  }
  comparison.random_requests(count);
  const Tally random = comparison.tally();
  comparison.bounds();
  const Tally& all = comparison.tally();
  const double share = random.tried ? 100.0 * random.adjusted / random.tried : 0.0;
  std::printf(
      "%s: seed %llu: %u random requests created (%.0f%% adjusted), %u at bounds; %u refused by fit, "
      "%u over the ring budget, %u host ENOMEM; %u disagreements\n",
      name, static_cast<unsigned long long>(seed), random.tried, share, all.tried - random.tried, all.refused_by_fit,
      all.over_budget, all.host_enomem, all.disagreements);
  if (random.tried < count) {
    std::printf("agreement: only %u of %u requests could be drawn within the ring budget\n", random.tried, count);
    return 1;
  }
  if (share < 40.0) {
    std::printf("agreement: only %.0f%% of the requests were adjusted; the draw is too tame to show anything\n", share);
    return 1;
  }
  return all.disagreements == 0 ? 0 : 1;
}
