// SPDX-License-Identifier: Apache-2.0 OR MIT
// Where rules leave nothing of a number, every request is refused and both sides are named; a minimum lifts nothing
// above a bound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "contracts.hpp"
#include "unit/requests.hpp"
#include "verbena/fit.hpp"

namespace verbena {
namespace {

using contracts::Made;
using ::testing::AllOf;
using ::testing::HasSubstr;

Caps caps() {
  Caps caps;
  caps.set(Cap::max_qp_wr, 4000);
  caps.set(Cap::max_sge, 300);
  caps.set(Cap::max_cqe, 4194303);
  caps.set(Cap::max_srq, 100);
  caps.set(Cap::max_srq_wr, 4000);
  caps.set(Cap::max_srq_sge, 300);
  caps.set(Cap::max_mr_size, 1U << 30U);
  return caps;
}

/// What a request for that object is told; empty when it is granted.
std::optional<Error> refusal(Object object, std::uint32_t want, const Contract& contract) {
  const auto error = [](const auto& result) {
    return result ? std::optional<Error>{} : std::optional<Error>{result.error()};
  };
  switch (object) {
    case Object::cq:
      return error(fit(requests::cq(want), contract));
    case Object::srq:
      return error(fit(SrqRequest{.max_wr = {want}, .max_sge = {1}, .srq_limit = want}, contract));
    case Object::mr: {
      MrRequest request;
      request.length = want == 0 ? 1 : want;
      return error(fit(request, contract));
    }
    default:
      return error(fit(requests::rc(want, want, want, want, want), contract));
  }
}

struct Emptied {
  std::string what;
  Field field;
  std::function<void(Made&)> rules;
  std::vector<std::string> names;   ///< what the refusal has to name
};

std::vector<Emptied> cases() {
  std::vector<Emptied> all;
  for (const Field field : {Field::max_send_wr, Field::max_recv_wr, Field::max_send_sge, Field::max_recv_sge,
                            Field::max_inline_data, Field::cqe, Field::max_wr, Field::max_sge, Field::mr_length}) {
    const std::string word(name(field));
    all.push_back({word + ": min above max",
                   field,
                   [field](Made& made) { made.at_least(field, 100).at_most(field, 99); },
                   {word + "-min", word + "-max", "100", "99"}});
    all.push_back({word + ": min above a max of nothing",
                   field,
                   [field](Made& made) { made.at_least(field, 100).at_most(field, 0); },
                   {word + "-min", word + "-max"}});
    all.push_back({word + ": min above a replaced bound",
                   field,
                   [field](Made& made) { made.at_least(field, 100).replaces_declared(field, 60); },
                   {word + "-min", word + "-more"}});
    if (field == Field::mr_length) continue;
    all.push_back(
        {word + ": what is rounded passes above max",
         field,
         [field](Made& made) { made.at_least(field, 65).at_most(field, 100).asks(field, AskKind::power_of_two, 0); },
         {word + "-min", word + "-max", "65", "128", "100"}});
    all.push_back({word + ": a reserve leaves nothing",
                   field,
                   [field](Made& made) { made.at_least(field, 1).at_most(field, 8).reserves(field, 8); },
                   {word + "-min", word + "-max"}});
  }
  for (const Field field : {Field::max_send_wr, Field::max_recv_wr, Field::max_send_sge, Field::max_recv_sge,
                            Field::cqe, Field::max_wr, Field::max_sge}) {
    const std::string word(name(field));
    all.push_back({word + ": min above the device's own word",
                   field,
                   [field](Made& made) { made.at_least(field, 5000000); },
                   {word + "-min", "the device says"}});
  }
  return all;
}

TEST(EmptyDomain, IsRefusedWhateverIsAskedForAndNamesBothRules) {
  for (const Emptied& each : cases())
    for (const bool beyond_declared : {true, false}) {
      Made made(caps(), beyond_declared);
      each.rules(made);
      const Contract contract = made.build();
      EXPECT_TRUE(contract.domain(each.field).empty()) << each.what;
      for (const std::uint32_t want : {0U, 1U, 99U, 100U, 128U, 5000U}) {
        const auto refused = refusal(info(each.field).object, want, contract);
        ASSERT_TRUE(refused) << each.what << " was granted " << want;
        EXPECT_EQ(refused->kind, ErrorKind::limit) << each.what;
        EXPECT_EQ(refused->field, name(each.field)) << each.what << ": " << to_string(*refused);
        EXPECT_EQ(refused->allowed, std::nullopt) << each.what;
        if (!beyond_declared && each.what.find("replaced") != std::string::npos) continue;
        for (const std::string& word : each.names) EXPECT_THAT(refused->text, HasSubstr(word)) << each.what;
      }
    }
}

TEST(EmptyDomain, AMinimumThatTheRingDoesNotHoldIsRefusedAndNamesBothRules) {
  struct Ring {
    const char* what;
    Field field;
    std::function<Contract()> contract;
    const char* joint;
  };
  const Ring rings[] = {
      {"a depth of irdma", Field::max_send_wr,
       [] {
         Caps declared;
         declared.set(Cap::max_qp_wr, 40000);
         return Made(declared).at_least(Field::max_send_wr, 35000).joint("irdma_quanta").build();
       },
       "irdma_quanta-rule"},
      {"a receive depth of irdma", Field::max_recv_wr,
       [] {
         Caps declared;
         declared.set(Cap::max_qp_wr, 40000);
         return Made(declared).at_least(Field::max_recv_wr, 35000).joint("irdma_quanta").build();
       },
       "irdma_quanta-rule"},
      {"inline bytes of rxe", Field::max_inline_data,
       [] { return Made(Caps{}).at_least(Field::max_inline_data, 600).joint("rxe_shared_bytes").build(); },
       "rxe_shared_bytes-rule"},
      {"SGEs of mlx5", Field::max_send_sge,
       [] { return Made(Caps{}).at_least(Field::max_send_sge, 100).joint("mlx5_wqe_blocks").build(); },
       "mlx5_wqe_blocks-rule"},
  };
  for (const Ring& ring : rings) {
    const Contract contract = ring.contract();
    for (const std::uint32_t want : {0U, 1U, 700U, 40000U})
      for (const Policy policy : {Policy::require, Policy::prefer, Policy::allow}) {
        QpRequest request = requests::rc(want, want, want, want, want);
        request.policy = policy;
        const auto refused = fit(request, contract);
        ASSERT_FALSE(refused) << ring.what << " " << want;
        EXPECT_EQ(refused.error().field, name(ring.field)) << ring.what << ": " << to_string(refused.error());
        EXPECT_EQ(refused.error().allowed, std::nullopt) << ring.what;
        EXPECT_THAT(refused.error().text,
                    AllOf(HasSubstr(std::string(name(ring.field)) + "-min"), HasSubstr(ring.joint)))
            << ring.what;
      }
  }
}

}  // namespace
}  // namespace verbena
