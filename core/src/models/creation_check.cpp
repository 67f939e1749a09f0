// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "models/creation_check.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "models/formula_check.hpp"
#include "quirks/scalars.hpp"
#include "verbena/errno_family.hpp"
#include "verbena/request.hpp"

namespace verbena::models {
namespace {

using quirks::Reporter;
using yaml::Node;

/// What stands under a key.
enum class Kind : std::uint8_t {
  number,      ///< a formula, or a word of its own
  by_type,     ///< a number, or a map of one for each queue pair type
  by_opcodes,  ///< a number, or a map by type and by the opcodes named
  error,       ///< an errno, or a word of its own
  word,        ///< one of the words
  types,       ///< a list of queue pair types
  classes,     ///< sizes of a work request
  returned,    ///< what creation writes back
  part,        ///< a map of the part with that name
};

struct Key {
  std::string_view part, key;
  Kind kind;
  std::string_view words = {};  ///< allowed beside, separated by blanks; or the part
};

constexpr std::array kKeys{
    Key{"creation", "cq", Kind::part, "cq"},
    Key{"creation", "qp", Kind::part, "qp"},
    Key{"creation", "srq", Kind::part, "srq"},
    Key{"creation", "mr", Kind::part, "mr"},
    Key{"creation", "post", Kind::part, "post"},
    Key{"cq", "min", Kind::number},
    Key{"cq", "max", Kind::number, "unchecked"},
    Key{"cq", "ring", Kind::number},
    Key{"cq", "ring_max", Kind::number},
    Key{"cq", "reported", Kind::number, "unset"},
    Key{"cq", "zero", Kind::error},
    Key{"cq", "over", Kind::error},
    Key{"cq", "flags", Kind::error},
    Key{"cq", "failure", Kind::error},
    Key{"qp", "types", Kind::types},
    Key{"qp", "other_type", Kind::error},
    Key{"qp", "rc", Kind::error},
    Key{"qp", "uc", Kind::error},
    Key{"qp", "ud", Kind::error},
    Key{"qp", "over", Kind::error},
    Key{"qp", "memory_failure", Kind::error},
    Key{"qp", "inline_max", Kind::number},
    Key{"qp", "inline_over", Kind::error, "clamped"},
    Key{"qp", "send", Kind::part, "queue"},
    Key{"qp", "recv", Kind::part, "queue"},
    Key{"queue", "min", Kind::number},
    Key{"queue", "max", Kind::number, "unchecked unbounded"},
    Key{"queue", "zero", Kind::error},
    Key{"queue", "over", Kind::error, "clamped"},
    Key{"queue", "sge_min", Kind::by_type},
    Key{"queue", "sge_max", Kind::number},
    Key{"queue", "sge_over", Kind::word, "taken"},
    Key{"queue", "sge_zero", Kind::error},
    Key{"queue", "sge_extra", Kind::number},
    Key{"queue", "classes", Kind::classes},
    Key{"queue", "overhead", Kind::by_opcodes},
    Key{"queue", "wqe", Kind::number},
    Key{"queue", "wqe_max", Kind::number},
    Key{"queue", "bytes", Kind::number},
    Key{"queue", "least", Kind::number},
    Key{"queue", "overrun", Kind::by_type},
    Key{"queue", "extended", Kind::number},
    Key{"queue", "sge_in_wqe", Kind::by_type},
    Key{"queue", "ring", Kind::number},
    Key{"queue", "ring_max", Kind::number},
    Key{"queue", "returned", Kind::returned},
    Key{"srq", "min", Kind::number},
    Key{"srq", "max", Kind::number, "unchecked unbounded"},
    Key{"srq", "zero", Kind::error},
    Key{"srq", "over", Kind::error, "clamped"},
    Key{"srq", "sge_min", Kind::number},
    Key{"srq", "sge_max", Kind::number},
    Key{"srq", "sge_over", Kind::word, "taken"},
    Key{"srq", "sge_zero", Kind::error},
    Key{"srq", "ring", Kind::number},
    Key{"srq", "ring_max", Kind::number},
    Key{"srq", "returned", Kind::returned},
    Key{"mr", "length_max", Kind::number},
    Key{"mr", "zero", Kind::error},
    Key{"mr", "over", Kind::error},
    Key{"mr", "bad_access", Kind::error},
    Key{"mr", "memory_failure", Kind::error},
    Key{"mr", "hardware_failure", Kind::error},
    Key{"post", "full", Kind::error},
    Key{"post", "too_many_sges", Kind::error},
    Key{"post", "too_many_recv_sges", Kind::error},
    Key{"post", "unsignaled", Kind::error},
    Key{"post", "fence", Kind::error},
    Key{"post", "solicited", Kind::error},
    Key{"post", "in_error", Kind::error},
    Key{"post", "sign", Kind::word, "positive negative mixed"},
    Key{"post", "bad_wr", Kind::word, "cleared"},
};

constexpr std::array<std::string_view, 2> kCqNames{"n", "ring"};
constexpr std::array<std::string_view, 11> kQueueNames{"wr",  "sge",   "inline",   "size",  "overhead", "sge_in_wqe",
                                                       "wqe", "bytes", "extended", "least", "ring"};

std::vector<std::string_view> split(std::string_view words) {
  std::vector<std::string_view> list;
  while (!words.empty()) {
    const std::size_t blank = words.find(' ');
    list.push_back(words.substr(0, blank));
    words.remove_prefix(blank == std::string_view::npos ? words.size() : blank + 1);
  }
  return list;
}

bool is_one_of(std::string_view word, std::string_view words) {
  const auto list = split(words);
  return std::find(list.begin(), list.end(), word) != list.end();
}

class CreationChecker {
public:
  explicit CreationChecker(Reporter& report) : report_(report) {}

  void part(const Node& node, std::string_view part, const std::string& where) {
    if (!is_map(node, where)) return;
    std::vector<std::string_view> known;
    for (const Key& each : kKeys)
      if (each.part == part) known.push_back(each.key);
    for (const auto& [key, value] : node.entries) {
      if (report_.full()) return;
      const auto found = std::find_if(kKeys.begin(), kKeys.end(),
                                      [&](const Key& each) { return each.part == part && each.key == key.scalar; });
      if (found == kKeys.end())
        unknown_key(key, where, known);
      else
        value_of(*found, value, where + "." + key.scalar);
    }
  }

private:
  void value_of(const Key& key, const Node& node, const std::string& where) {
    const std::span<const std::string_view> names =
        key.part == "cq" ? std::span<const std::string_view>(kCqNames) : std::span<const std::string_view>(kQueueNames);
    switch (key.kind) {
      case Kind::number:
        return number(node, where, names, key.words);
      case Kind::by_type:
        return node.is_map() ? numbers(node, where, "rc uc ud", names) : number(node, where, names);
      case Kind::by_opcodes:
        return node.is_map() ? numbers(node, where, "rc uc ud send write_read atomics", names)
                             : number(node, where, names);
      case Kind::error:
        return error(node, where, key.words);
      case Kind::word:
        if (node.is_scalar() && node.scalar == "unknown") return;
        report_.choice(node, where, split(key.words));
        return;
      case Kind::types:
        return types(node, where);
      case Kind::classes:
        return classes(node, where);
      case Kind::returned:
        return is_map(node, where) ? numbers(node, where, "wr sge inline", names) : void();
      case Kind::part:
        if (key.words == "srq" && node.is_scalar() && node.scalar == "absent") return;
        return part(node, key.words, where);
    }
  }

  bool is_map(const Node& node, const std::string& where) {
    if (node.is_map()) return true;
    report_.error(node.at, fmt::format("found {} for '{}'; allowed is a map{}", yaml::describe(node), where,
                                       where.ends_with(".srq") ? " or 'absent'" : ""));
    return false;
  }
  void unknown_key(const Node& key, const std::string& where, std::span<const std::string_view> known) {
    report_.error(key.at, fmt::format("unknown key '{}' in {}; allowed are {}{}", key.scalar, where,
                                      quirks::join(known), quirks::did_you_mean(key.scalar, known)));
  }
  void number(const Node& node, const std::string& where, std::span<const std::string_view> names,
              std::string_view words = {}) {
    const bool said = node.is_scalar() && (node.scalar == "unknown" || is_one_of(node.scalar, words));
    if (said) return;
    if (!node.is_scalar()) {
      report_.error(node.at, fmt::format("found {} for '{}'; allowed are a number, a cap or a formula, 'unknown'{}",
                                         yaml::describe(node), where, or_words(words)));
      return;
    }
    const std::string fault = formula_fault(node.scalar, names);
    if (!fault.empty())
      report_.error(node.at, fmt::format("'{}' for '{}' {}{}", node.scalar, where, fault, or_words(words)));
  }
  void numbers(const Node& node, const std::string& where, std::string_view keys,
               std::span<const std::string_view> names) {
    const auto known = split(keys);
    for (const auto& [key, value] : node.entries) {
      if (report_.full()) return;
      if (std::find(known.begin(), known.end(), key.scalar) == known.end())
        unknown_key(key, where, known);
      else
        number(value, where + "." + key.scalar, names);
    }
  }
  void error(const Node& node, const std::string& where, std::string_view words) {
    auto known = split(words);
    for (const std::string_view word : {"unknown", "null_without_errno"}) known.push_back(word);
    const std::size_t others = known.size();
    for (int value = 1; value < kPastErrnos; ++value)
      if (errno_name(value) != "?") known.push_back(errno_name(value));
    if (node.is_scalar() && std::find(known.begin(), known.end(), node.scalar) != known.end()) return;
    report_.error(node.at, fmt::format("{} for '{}'; allowed are an errno's name, {}{}", yaml::describe(node), where,
                                       quirks::join(std::span(known).first(others)),
                                       node.is_scalar() ? quirks::did_you_mean(node.scalar, known) : std::string{}));
  }
  void types(const Node& node, const std::string& where) {
    if (!node.is_sequence()) {
      report_.error(node.at, fmt::format("found {} for '{}'; allowed is a list of queue pair types",
                                         yaml::describe(node), where));
      return;
    }
    for (const Node& item : node.items) report_.choice(item, where, split("rc uc ud"));
  }
  void classes(const Node& node, const std::string& where) {
    if (!node.is_sequence()) {
      report_.error(node.at, fmt::format("found {} for '{}'; allowed is a list of sizes", yaml::describe(node), where));
      return;
    }
    for (const Node& item : node.items) {
      if (!is_map(item, where)) continue;
      numbers(item, where, "sge inline size", {});
      if (!item.find("size")) report_.error(item.at, fmt::format("an entry of '{}' has no 'size'", where));
    }
  }
  static std::string or_words(std::string_view words) {
    std::string text;
    for (const std::string_view word : split(words)) text += fmt::format(", '{}'", word);
    return text;
  }

  static constexpr int kPastErrnos = 134;
  Reporter& report_;
};

constexpr auto kPublicKeys = [] {
  std::array<CreationKey, kKeys.size()> keys{};
  for (std::size_t at = 0; at < keys.size(); ++at) keys[at] = {kKeys[at].part, kKeys[at].key};
  return keys;
}();

}  // namespace

void check_creation(const Node& node, Reporter& report) {
  CreationChecker(report).part(node, "creation", "creation");
}

std::span<const CreationKey> creation_keys() noexcept {
  return kPublicKeys;
}

}  // namespace verbena::models
