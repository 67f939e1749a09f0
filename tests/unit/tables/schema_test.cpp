// SPDX-License-Identifier: Apache-2.0 OR MIT
// Editors complete and check tables by the JSON schemas; a word that the library knows and a schema does not is a bug.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "models/creation_check.hpp"
#include "verbena/behaviours.hpp"
#include "verbena/caps.hpp"
#include "verbena/deviations.hpp"
#include "verbena/faults.hpp"
#include "verbena/features.hpp"
#include "verbena/fields.hpp"

namespace {

using nlohmann::json;
using Words = std::set<std::string>;

json schema(const std::string& name) {
  std::ifstream file(std::string(VERBENA_SCHEMA_DIR) + "/" + name);
  return json::parse(file);
}

Words words(const json& list) {
  return list.get<Words>();
}

Words keys(const json& object) {
  Words result;
  for (const auto& [key, value] : object.items()) result.insert(key);
  return result;
}

Words caps() {
  Words result;
  for (const verbena::Cap cap : verbena::all_caps()) result.emplace(verbena::name(cap));
  return result;
}

Words port_caps() {
  Words result;
  for (const verbena::PortCap cap : verbena::all_port_caps()) result.emplace(verbena::name(cap));
  return result;
}

class TableSchema : public testing::Test {
protected:
  const json table = schema("quirk-table.schema.json");
  const json rule = table.at("$defs").at("rule");
  const json properties = rule.at("properties");
};

TEST_F(TableSchema, KnowsEveryFeature) {
  Words known;
  for (const verbena::FeatureInfo& feature : verbena::all_features()) known.emplace(feature.name);
  EXPECT_EQ(words(properties.at("feature").at("propertyNames").at("enum")), known);
}

TEST_F(TableSchema, KnowsEveryBehaviourAndItsChoices) {
  Words known;
  Words choices;
  for (const verbena::BehaviourInfo& flag : verbena::all_behaviours()) {
    known.emplace(flag.name);
    for (const verbena::Choice choice : flag.choices) choices.emplace(verbena::name(choice));
  }
  EXPECT_EQ(words(properties.at("set").at("propertyNames").at("enum")), known);
  const Words allowed = words(table.at("$defs").at("choice").at("enum"));
  for (const std::string& choice : choices) EXPECT_TRUE(allowed.contains(choice)) << choice;
}

TEST_F(TableSchema, KnowsEveryCapInWhen) {
  Words known = caps();
  known.merge(port_caps());
  EXPECT_EQ(words(properties.at("when").at("propertyNames").at("enum")), known);
}

TEST_F(TableSchema, KnowsTheFieldsOfEachObject) {
  std::map<std::string, Words> known;
  for (const verbena::FieldInfo& field : verbena::all_fields())
    known[std::string(verbena::name(field.object))].emplace(field.name);
  std::map<std::string, Words> written;
  for (const json& branch : rule.at("allOf")) {
    const json condition = branch.at("if").value("properties", json::object());
    if (!condition.contains("on") || !condition.at("on").contains("const")) continue;
    written[condition.at("on").at("const").get<std::string>()] =
        words(branch.at("then").at("properties").at("limit").at("propertyNames").at("enum"));
  }
  EXPECT_EQ(written, known);
}

TEST(ModelSchema, KnowsEveryCap) {
  const json model = schema("model.schema.json");
  EXPECT_EQ(keys(model.at("$defs").at("caps").at("properties")), caps());
  const Words port = keys(model.at("$defs").at("port").at("properties"));
  for (const std::string& cap : port_caps()) EXPECT_TRUE(port.contains(cap)) << cap;
}

TEST(ModelSchema, KnowsEveryFault) {
  Words known;
  for (const verbena::FaultInfo& fault : verbena::all_faults()) known.emplace(fault.name);
  const json definitions = schema("model.schema.json").at("$defs");
  EXPECT_EQ(words(definitions.at("fault").at("enum")), known);
  EXPECT_EQ(keys(definitions.at("fault_with_parameters").at("properties")), known);
}

TEST(ModelSchema, KnowsEveryDeviation) {
  Words known;
  for (const verbena::DeviationInfo& one : verbena::all_deviations()) known.emplace(one.name);
  EXPECT_EQ(words(schema("model.schema.json").at("$defs").at("deviations").at("items").at("enum")), known);
}

TEST(ModelSchema, KnowsTheParametersOfEachFaultAndTheirBounds) {
  const json faults = schema("model.schema.json").at("$defs").at("fault_with_parameters").at("properties");
  for (const verbena::FaultInfo& fault : verbena::all_faults()) {
    json known = json::object();
    for (const verbena::FaultParameterInfo& parameter : fault.parameters) {
      json& one = known[std::string(parameter.name)];
      if (parameter.words.empty()) {
        one = {{"type", "integer"},
               {"minimum", parameter.least},
               {"maximum", parameter.most},
               {"default", parameter.fallback}};
        continue;
      }
      std::istringstream words{std::string(parameter.words)};
      for (std::string word; words >> word;) one["enum"].push_back(word);
      one["default"] = one["enum"].at(0);
    }
    EXPECT_EQ(faults.at(std::string(fault.name)).at("properties"), known) << fault.name;
  }
}

TEST(ModelSchema, KnowsEveryFeatureAndBehaviour) {
  Words features;
  for (const verbena::FeatureInfo& feature : verbena::all_features()) features.emplace(feature.name);
  Words behaviours;
  Words choices;
  for (const verbena::BehaviourInfo& flag : verbena::all_behaviours()) {
    behaviours.emplace(flag.name);
    for (const verbena::Choice choice : flag.choices) choices.emplace(verbena::name(choice));
  }
  const json definitions = schema("model.schema.json").at("$defs");
  EXPECT_EQ(words(definitions.at("features").at("propertyNames").at("enum")), features);
  EXPECT_EQ(words(definitions.at("behaviours").at("propertyNames").at("enum")), behaviours);
  const Words allowed = words(definitions.at("behaviours").at("additionalProperties").at("enum"));
  for (const std::string& choice : choices) EXPECT_TRUE(allowed.contains(choice)) << choice;
}

TEST(ModelSchema, KnowsEveryKeyOfCreation) {
  std::map<std::string, Words> known;
  for (const auto& [part, key] : verbena::models::creation_keys())
    known[part == "creation" ? "creation" : "creation_" + std::string(part)].emplace(key);
  const json definitions = schema("model.schema.json").at("$defs");
  for (const auto& [part, expected] : known) EXPECT_EQ(keys(definitions.at(part).at("properties")), expected) << part;
}

}  // namespace
