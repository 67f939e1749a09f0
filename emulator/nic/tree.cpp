// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "nic/tree.hpp"

#include <yaml-cpp/yaml.h>

namespace verbena::emulator {

namespace {

Tree converted(const YAML::Node& node) {
  Tree tree;
  if (node.IsScalar()) {
    tree.kind = Tree::Kind::scalar;
    tree.scalar = node.Scalar();
  } else if (node.IsSequence()) {
    tree.kind = Tree::Kind::list;
    for (const YAML::Node& item : node) tree.items.push_back(converted(item));
  } else if (node.IsMap()) {
    tree.kind = Tree::Kind::map;
    for (const auto& entry : node) tree.entries.push_back({entry.first.Scalar(), converted(entry.second)});
  }
  return tree;
}

}  // namespace

Tree Tree::of(const std::string& text) {
  try {
    return converted(YAML::Load(text));
  } catch (const YAML::Exception&) {
    return {};
  }
}

}  // namespace verbena::emulator
