// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "yaml/tree.hpp"

#include <algorithm>
#include <exception>
#include <istream>
#include <optional>
#include <streambuf>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "yaml/text_guard.hpp"

namespace verbena::yaml {
namespace {

/// Thrown through yaml-cpp, which has no other way to stop; caught in parse().
struct Refused {
  Place at;
  std::string text;
};

Place place(const YAML::Mark& mark) {
  return {mark.line + 1, mark.column + 1};
}

class TreeMaker : public YAML::EventHandler {
public:
  explicit TreeMaker(const Limits& limits) : limits_(limits) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    Node node;
    node.at = place(mark);
    add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused{place(mark), "an alias; tables are written out in full"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    Node node;
    node.kind = Node::Kind::scalar;
    node.at = place(mark);
    node.quoted = tag == "!";
    node.scalar = value;
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::sequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::map);
  }
  void OnMapEnd() override { close(); }

  Node take() { return std::move(root_); }

private:
  struct Open {
    Node node;
    std::optional<Node> key;
  };

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != YAML::NullAnchor) throw Refused{place(mark), "an anchor; tables are written out in full"};
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!") throw Refused{place(mark), "a tag; tables have none"};
  }
  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Node::Kind kind) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (static_cast<int>(open_.size()) >= limits_.depth)
      throw Refused{place(mark), fmt::format("nested deeper than {} levels", limits_.depth)};
    Open next;
    next.node.kind = kind;
    next.node.at = place(mark);
    open_.push_back(std::move(next));
  }
  void close() {
    Node node = std::move(open_.back().node);
    refuse_twice(node);
    open_.pop_back();
    add(std::move(node));
  }
  /// Sorted, since a map of many keys would otherwise take the square of their number.
  static void refuse_twice(const Node& map) {
    std::vector<const Node*> keys;
    keys.reserve(map.entries.size());
    for (const auto& entry : map.entries) keys.push_back(&entry.first);
    std::stable_sort(keys.begin(), keys.end(),
                     [](const Node* left, const Node* right) { return left->scalar < right->scalar; });
    const auto twice = std::adjacent_find(
        keys.begin(), keys.end(), [](const Node* left, const Node* right) { return left->scalar == right->scalar; });
    if (twice == keys.end()) return;
    const Node& again = **(twice + 1);
    throw Refused{again.at, fmt::format("key '{}' a second time (first in line {})", again.scalar, (*twice)->at.line)};
  }
  void add(Node node) {
    if (++values_ > limits_.values)
      throw Refused{node.at, fmt::format("more than {} values in one file", limits_.values)};
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.is_sequence()) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.key) {
      if (!node.is_scalar()) throw Refused{node.at, "a key that is no word"};
      parent.key = std::move(node);
    } else {
      parent.node.entries.emplace_back(std::move(*parent.key), std::move(node));
      parent.key.reset();
    }
  }

  const Limits& limits_;
  std::vector<Open> open_;
  Node root_;
  std::size_t values_ = 0;
};

/// Reads from a view without a copy.
class ViewBuffer : public std::streambuf {
public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // streambuf wants it; nothing writes
    setg(begin, begin, begin + text.size());
  }
};

}  // namespace

namespace {

/// So much of a value as tells which one is meant.
std::string shortened(const std::string& text) {
  std::size_t end = 80;
  if (text.size() <= end) return text;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

const Node* Node::find(std::string_view key) const noexcept {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first.scalar == key; });
  return found == entries.end() ? nullptr : &found->second;
}

Finding error_at(std::string_view file, Place at, const std::string& text) {
  Finding finding;
  finding.level = FindingLevel::error;
  finding.file = std::string{file};
  finding.line = at.line;
  finding.column = at.column;
  finding.text = one_line(text);
  return finding;
}

std::string one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    const bool upper_control = byte == 0xc2U && next >= 0x80U && next < 0xa0U;  // U+0080 to U+009f
    if (upper_control) ++i;
    if (byte > 0x20U && byte != 0x7fU && !upper_control) {
      line += text[i];
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  if (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::scalar:
      return fmt::format("'{}'", shortened(node.scalar));
    case Node::Kind::map:
      return node.entries.empty() ? "an empty map" : "a map";
    case Node::Kind::sequence:
      return "a list";
  }
  return "nothing";
}

tl::expected<Node, Finding> parse(std::string_view text, std::string_view file, const Limits& limits) {
  if (auto finding = guard_text(text, file, limits)) return tl::unexpected(std::move(*finding));
  try {
    ViewBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    TreeMaker maker(limits);
    if (!parser.HandleNextDocument(maker)) return Node{};
    Node root = maker.take();
    TreeMaker second(limits);
    if (parser.HandleNextDocument(second))
      return tl::unexpected(error_at(file, {}, "more than one document; a table is one"));
    return root;
  } catch (const Refused& refused) {
    return tl::unexpected(error_at(file, refused.at, "found " + refused.text));
  } catch (const YAML::Exception& exception) {
    return tl::unexpected(
        error_at(file, {exception.mark.line + 1, exception.mark.column + 1}, "not YAML: " + exception.msg));
  } catch (const std::exception& exception) {
    return tl::unexpected(error_at(file, {}, std::string{"cannot be read: "} + exception.what()));
  }
}

}  // namespace verbena::yaml
