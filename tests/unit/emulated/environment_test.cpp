// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a program's environment asks for, and how it is refused.
#include "verbs/environment.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace verbena::emulator {
namespace {

using Set = std::map<std::string, std::string>;

Result<EmulatedOptions> read(const Set& set) {
  return options_from([&set](const char* name) -> std::optional<std::string> {
    const auto found = set.find(name);
    return found == set.end() ? std::nullopt : std::optional(found->second);
  });
}

struct Refusal {
  const char* variable;
  const char* value;
  const char* says;
};

class Refuses : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refuses, WithTheNearestNameOrWhatIsAllowed) {
  Set set{{kNicsVariable, "connectx5"}};
  set[GetParam().variable] = GetParam().value;
  if (std::string(GetParam().variable) == kAddressesVariable) set[kNetVariable] = "inproc";
  const auto options = read(set);
  ASSERT_FALSE(options);
  EXPECT_NE(options.error().text.find(GetParam().says), std::string::npos) << options.error().text;
}

INSTANTIATE_TEST_SUITE_P(
    Environment, Refuses,
    ::testing::Values(Refusal{kNicsVariable, "", "names no model"}, Refusal{kNicsVariable, "connectx5,", "empty name"},
                      Refusal{kNicsVariable, "e810-roc", "did you mean 'e810-roce'?"},
                      Refusal{kNetVariable, "tcp", "allowed are shm, udp, inproc"},
                      Refusal{kFabricVariable, "../x", "is no name"}, Refusal{kFabricVariable, "", "is no name"},
                      Refusal{kAddressesVariable, "10.0.0.1", "to the nets shm and udp alone"},
                      Refusal{kFaultsVariable, "reset_spoil", "did you mean 'reset_spoils'?"},
                      Refusal{kFaultsVariable, "reset_spoils:x", "write NAME:PARAMETER=VALUE"},
                      Refusal{kFaultsVariable, "reset_spoils:times=1", "has no parameter 'times'"},
                      Refusal{kLossVariable, "1", "from 0 to below 1"}, Refusal{kLossVariable, "-0.1", "from 0"},
                      Refusal{kLossVariable, "nan", "from 0"}, Refusal{kLossVariable, "0.1%", "from 0"},
                      Refusal{kSeedVariable, "-1", "no number"}));

TEST(Environment, IsCalledAsWhoeverSetItKnowsIt) {
  const Set set{{kNicsVariable, "connectx5"}, {kNetVariable, "tcp"}};
  const auto options =
      options_from([&set](const char* name) { return set.contains(name) ? std::optional(set.at(name)) : std::nullopt; },
                   [](const char* variable) { return std::string(variable) == kNetVariable ? "--net" : variable; });
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().text.rfind("--net: 'tcp'", 0), 0U) << options.error().text;
}

TEST(Environment, SaysWhatThereIs) {
  const auto options = read({{kNicsVariable, "connectx5,e810-roce,connectx5"},
                             {kNetVariable, "udp"},
                             {kAddressesVariable, "127.0.0.2,fe80::1"},
                             {kFaultsVariable, "reset_spoils,windows_declared"},
                             {kLossVariable, "0.01"},
                             {kSeedVariable, "7"}});
  ASSERT_TRUE(options) << options.error().text;
  EXPECT_EQ(options->models.size(), 3U);
  EXPECT_EQ(options->net, NetKind::udp);
  EXPECT_EQ(options->addresses, (std::vector<std::string>{"127.0.0.2", "fe80::1"}));
  EXPECT_EQ(options->impairments.lost, 10'000U);
  EXPECT_EQ(options->seed, 7U);
  for (const Model& model : options->models) {
    for (const Fault fault : {Fault::reset_spoils, Fault::windows_declared}) {
      EXPECT_EQ(std::count_if(model.faults.begin(), model.faults.end(),
                              [fault](const SwitchedFault& one) { return one.fault == fault; }),
                1);
    }
  }
}

TEST(Environment, IsSharedMemoryOfTheUserWhereNothingIsSaid) {
  const auto options = read({{kNicsVariable, "hip09"}});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->net, NetKind::shared);
  EXPECT_TRUE(options->fabric.starts_with("user-"));
}

}  // namespace
}  // namespace verbena::emulator
