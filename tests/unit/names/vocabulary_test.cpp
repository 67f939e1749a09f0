// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "verbena/behaviours.hpp"
#include "verbena/caps.hpp"
#include "verbena/device_id.hpp"
#include "verbena/features.hpp"
#include "verbena/fields.hpp"
#include "verbena/request.hpp"

namespace verbena {
namespace {

TEST(Vocabulary, EveryFieldIsFoundByItsNameOnItsObject) {
  EXPECT_EQ(all_fields().size(), kFieldCount);
  for (const FieldInfo& field : all_fields()) {
    EXPECT_EQ(find_field(field.object, field.name), field.field);
    EXPECT_FALSE(field.meaning.empty()) << field.name;
  }
  EXPECT_FALSE(find_field(Object::cq, "max_send_wr").has_value());
}

TEST(Vocabulary, EveryFeatureIsFoundByItsName) {
  EXPECT_EQ(all_features().size(), kFeatureCount);
  for (const FeatureInfo& feature : all_features()) {
    EXPECT_EQ(find_feature(feature.name), feature.feature);
    EXPECT_EQ(name(feature.feature), feature.name);
    EXPECT_FALSE(feature.meaning.empty()) << feature.name;
  }
}

TEST(Vocabulary, EveryFlagHasAFallbackAmongItsChoices) {
  for (const BehaviourInfo& flag : all_behaviours()) {
    EXPECT_EQ(find_behaviour(flag.name), flag.behaviour);
    EXPECT_GE(flag.choices.size(), 2U) << flag.name;
    EXPECT_NE(std::find(flag.choices.begin(), flag.choices.end(), flag.fallback), flag.choices.end()) << flag.name;
  }
}

TEST(Vocabulary, EveryChoiceOfAnEnumerationHasAWordOfItsOwn) {
  std::set<std::string_view> words;
  for (std::size_t at = 0; at < kChoiceCount; ++at) {
    const auto choice = static_cast<Choice>(at);
    EXPECT_EQ(find_choice(name(choice)), choice);
    words.insert(name(choice));
  }
  EXPECT_EQ(words.size(), kChoiceCount);
}

TEST(Vocabulary, EveryCapIsFoundByItsName) {
  EXPECT_EQ(all_caps().size(), kCapCount);
  for (const Cap cap : all_caps()) EXPECT_EQ(find_cap(name(cap)), cap);
  for (const PortCap cap : all_port_caps()) EXPECT_EQ(find_port_cap(name(cap)), cap);
  EXPECT_FALSE(find_cap("max_sges").has_value());
}

TEST(Vocabulary, TransportsAreWrittenAsInTables) {
  EXPECT_EQ(find_transport("roce2"), Transport::roce_v2);
  EXPECT_EQ(name(Transport::iwarp), "iwarp");
  EXPECT_EQ(find_link_layer("ethernet"), LinkLayer::ethernet);
  EXPECT_EQ(find_function("vf"), Function::vf);
}

TEST(Vocabulary, SendOpsReadWhatTheyWrite) {
  for (const std::uint64_t bits : {SendOps::kSend | SendOps::kRdmaWrite | SendOps::kRdmaRead,
                                   SendOps::kCompareSwap | SendOps::kBindMw, SendOps::kFlush | SendOps::kTso}) {
    EXPECT_EQ(parse_send_ops(to_string(SendOps{bits})), SendOps{bits});
  }
  EXPECT_EQ(to_string(SendOps::all()), "all");
  EXPECT_EQ(parse_send_ops("all"), SendOps::all());
  EXPECT_EQ(parse_send_ops("send+atomic"), (SendOps{SendOps::kSend | SendOps::kCompareSwap | SendOps::kFetchAdd}));
}

TEST(Vocabulary, SendOpsRefuseWhatTheyDoNotKnow) {
  for (const std::string_view text : {"", "sends", "send+", "+send", "send++read", "send,read"}) {
    EXPECT_FALSE(parse_send_ops(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace verbena
