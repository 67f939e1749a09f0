// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a model says of how its device acts: faults that are switched on, behaviours, features.
#include <gmock/gmock.h>

#include <string>

#include "verbena/model.hpp"

namespace verbena {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

Model model_with(const std::string& conduct, std::string_view variant = {}) {
  auto model = parse_model("schema: 1\nmodel: some-nic\nidentity: {driver: irdma}\n" + conduct, "some.yaml", variant);
  if (!model) {
    ADD_FAILURE() << to_string(model.error());
    return {};
  }
  return std::move(*model);
}

const SwitchedFault& only(const Model& model) {
  static const SwitchedFault none;
  EXPECT_EQ(model.faults.size(), 1U);
  return model.faults.empty() ? none : model.faults.front();
}

auto number(std::string_view name, std::uint64_t value) {
  return AllOf(testing::Field(&SwitchedFault::Parameter::name, name),
               testing::Field(&SwitchedFault::Parameter::number, value));
}

auto word(std::string_view name, std::string_view value) {
  return AllOf(testing::Field(&SwitchedFault::Parameter::name, name),
               testing::Field(&SwitchedFault::Parameter::word, value));
}

TEST(ModelFaults, ANameAloneHasEveryParameterAtItsFallback) {
  const Model model = model_with("faults: [timeout_ignored]\n");
  EXPECT_EQ(only(model).fault, Fault::timeout_ignored);
  EXPECT_THAT(only(model).parameters, ElementsAre(number("milliseconds", 2), word("then", "same")));
}

TEST(ModelFaults, AParameterThatIsNamedStandsAndTheOthersKeepTheirFallback) {
  const Model model = model_with("faults: [{timeout_ignored: {then: doubled}}]\n");
  EXPECT_THAT(only(model).parameters, ElementsAre(number("milliseconds", 2), word("then", "doubled")));
  EXPECT_THAT(only(model_with("faults: [{vendor_err_undocumented: {code: 0x51}}]\n")).parameters,
              ElementsAre(number("code", 0x51)));
  EXPECT_THAT(only(model_with("faults: [{pinned_bytes_run_out: {bytes: 18446744073709551615}}]\n")).parameters,
              ElementsAre(number("bytes", ~std::uint64_t{0})));
}

TEST(ModelFaults, StandInTheOrderNamedAndAreNoneUnlessNamed) {
  const Model model = model_with("faults: [reset_spoils, {flush_lost: {}}, errno_left_alone]\n");
  std::vector<Fault> order;
  for (const SwitchedFault& one : model.faults) order.push_back(one.fault);
  EXPECT_THAT(order, ElementsAre(Fault::reset_spoils, Fault::flush_lost, Fault::errno_left_alone));
  EXPECT_THAT(model_with("").faults, IsEmpty());
}

TEST(ModelFaults, AVariantsListStandsInPlaceOfTheModels) {
  const std::string text =
      "faults: [reset_spoils]\nvariants:\n  mended: {faults: []}\n  worse: {faults: [flush_lost]}\n"
      "  same: {identity: {kernel: '6.12'}}\n";
  EXPECT_THAT(model_with(text, "mended").faults, IsEmpty());
  EXPECT_EQ(only(model_with(text, "worse")).fault, Fault::flush_lost);
  EXPECT_EQ(only(model_with(text, "same")).fault, Fault::reset_spoils);
  EXPECT_EQ(only(model_with(text)).fault, Fault::reset_spoils) << "another variant's list is not the model's";
}

TEST(ModelBehaviours, AVariantChangesTheFlagsThatItNamesAndNoOther) {
  const std::string text =
      "behaviours: {recycle_through_reset: no, ack_timeout: ignored}\n"
      "variants: {newer: {behaviours: {ack_timeout: honoured, post_return_sign: positive}}}\n";
  EXPECT_THAT(model_with(text).behaviours, ElementsAre(Pair(Behaviour::recycle_through_reset, Choice::no),
                                                       Pair(Behaviour::ack_timeout, Choice::ignored)));
  EXPECT_THAT(model_with(text, "newer").behaviours, ElementsAre(Pair(Behaviour::recycle_through_reset, Choice::no),
                                                                Pair(Behaviour::ack_timeout, Choice::honoured),
                                                                Pair(Behaviour::post_return_sign, Choice::positive)));
}

TEST(ModelFeatures, AreNativeOrAbsentAndAVariantChangesThoseThatItNames) {
  const std::string text =
      "features: {cq_resize: absent, sqd: native}\n"
      "variants: {newer: {features: {cq_resize: native}}}\n";
  EXPECT_THAT(model_with(text).features,
              ElementsAre(Pair(Feature::cq_resize, Support::absent), Pair(Feature::sqd, Support::native)));
  EXPECT_THAT(model_with(text, "newer").features,
              ElementsAre(Pair(Feature::cq_resize, Support::native), Pair(Feature::sqd, Support::native)));
}

TEST(Faults, AreFoundByTheirNamesAlone) {
  for (const FaultInfo& one : all_faults()) {
    EXPECT_EQ(find_fault(one.name), one.fault);
    EXPECT_EQ(name(one.fault), one.name);
    EXPECT_FALSE(one.meaning.empty()) << one.name;
  }
  EXPECT_FALSE(find_fault("flush_lots"));
  EXPECT_FALSE(find_fault(""));
}

TEST(Faults, HaveFallbacksWithinTheirBounds) {
  for (const FaultInfo& one : all_faults())
    for (const FaultParameterInfo& parameter : one.parameters) {
      if (!parameter.words.empty()) continue;
      EXPECT_LE(parameter.least, parameter.fallback) << one.name << '.' << parameter.name;
      EXPECT_LE(parameter.fallback, parameter.most) << one.name << '.' << parameter.name;
    }
}

TEST(Faults, NameNoBehaviourThatItsFlagDoesNotTake) {
  for (const FaultInfo& one : all_faults()) {
    if (!one.same_as) continue;
    EXPECT_THAT(info(one.same_as->flag).choices, testing::Contains(one.same_as->choice)) << one.name;
  }
}

}  // namespace
}  // namespace verbena
