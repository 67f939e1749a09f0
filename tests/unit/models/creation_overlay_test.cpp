// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gtest/gtest.h>

#include "verbena/model.hpp"
#include "yaml/tree.hpp"

namespace verbena {
namespace {

constexpr std::string_view kNic = R"(schema: 1
model: nic
source: a test
identity: {driver: irdma}
creation:
  cq: {max: max_cqe, zero: EINVAL, ring: "n == 0 ? 1 : n"}
  qp: {types: [rc, ud]}
variants:
  old: {creation: {cq: {zero: EIO}}}
)";

TEST(ModelCreation, AVariantOverlaysKeyByKeyAndTheTextStaysYaml) {
  const auto model = parse_model(kNic, "nic.yaml", "old");
  ASSERT_TRUE(model) << model.error().text;
  const auto creation = yaml::parse(model->creation_yaml, "creation");
  ASSERT_TRUE(creation) << creation.error().text << "\n" << model->creation_yaml;
  const yaml::Node* cq = creation->find("cq");
  ASSERT_NE(cq, nullptr);
  EXPECT_EQ(cq->find("zero")->scalar, "EIO");
  EXPECT_EQ(cq->find("max")->scalar, "max_cqe");
  EXPECT_EQ(cq->find("ring")->scalar, "n == 0 ? 1 : n");
  EXPECT_NE(creation->find("qp"), nullptr);
}

TEST(ModelCreation, EveryVariantOfThisBuildDiffersFromItsModel) {
  for (const std::string& name : builtin_models()) {
    const auto model = load_model(name);
    ASSERT_TRUE(model) << model.error().text;
    for (const std::string& variant : model->variants) {
      const auto other = load_model(name + "@" + variant);
      ASSERT_TRUE(other) << other.error().text;
      EXPECT_TRUE(other->device != model->device || other->caps != model->caps ||
                  other->creation_yaml != model->creation_yaml)
          << other->name;
    }
  }
}

}  // namespace
}  // namespace verbena
