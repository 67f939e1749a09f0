// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "quirks/match.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "quirks/firmware.hpp"

namespace verbena::quirks {
namespace {

enum class Answer : std::uint8_t { yes, no, unknown };

bool contains(const NumberSet& set, std::uint64_t number) {
  return std::any_of(set.begin(), set.end(),
                     [&](const Range& range) { return number >= range.low && number <= range.high; });
}

bool meet(const NumberSet& left, const NumberSet& right) {
  for (const Range& one : left)
    for (const Range& other : right)
      if (one.low <= other.high && other.low <= one.high) return true;
  return false;
}

std::string_view word_of(MatchKey key, const DeviceId& device, const PortId* port) {
  switch (key) {
    case MatchKey::driver:
      return device.driver;
    case MatchKey::transport:
      return port && port->transport != Transport::unknown ? name(port->transport) : std::string_view{};
    case MatchKey::link_layer:
      return port && port->link_layer != LinkLayer::unknown ? name(port->link_layer) : std::string_view{};
    case MatchKey::function:
      return device.function != Function::unknown ? name(device.function) : std::string_view{};
    case MatchKey::arch:
      return device.arch;
    case MatchKey::hypervisor:
      return device.hypervisor;
    case MatchKey::board_id:
      return device.board_id;
    default:
      return {};
  }
}

std::optional<std::uint32_t> number_of(MatchKey key, const DeviceId& device) {
  switch (key) {
    case MatchKey::pci_vendor:
      return device.pci_vendor;
    case MatchKey::part_id:
      return device.part_id ? device.part_id : device.verbs_part_id;
    case MatchKey::pci_revision:
      return device.pci_revision;
    case MatchKey::subsystem_vendor:
      return device.subsystem_vendor;
    case MatchKey::subsystem_device:
      return device.subsystem_device;
    case MatchKey::hw_ver:
      return device.hw_ver;
    case MatchKey::uverbs_abi:
      return device.uverbs_abi;
    case MatchKey::page_size:
      return device.page_size;
    default:
      return std::nullopt;
  }
}

std::string_view version_text(MatchKey key, const DeviceId& device) {
  switch (key) {
    case MatchKey::kernel:
      return device.kernel;
    case MatchKey::firmware:
      return device.firmware;
    case MatchKey::module_version:
      return device.module_version;
    case MatchKey::rdma_core:
      return device.rdma_core;
    default:
      return {};
  }
}

VersionKey version_key(MatchKey key) {
  return static_cast<VersionKey>(static_cast<int>(key) - static_cast<int>(MatchKey::kernel));
}

/// Unknown revisions and versions hold for rules that only tighten; an unknown identity is nobody's.
bool unknown_may_match(MatchKey key) {
  return form(key) == MatchForm::versions || key == MatchKey::hw_ver || key == MatchKey::pci_revision;
}

Answer ask(const Condition& condition, const Subject& subject, std::string* found) {
  const MatchKey key = condition.key;
  switch (form(key)) {
    case MatchForm::words: {
      const std::string_view word = subject.words[static_cast<std::size_t>(key)];
      if (word.empty()) return Answer::unknown;
      if (found) *found = word;
      return std::find(condition.words.begin(), condition.words.end(), word) != condition.words.end() ? Answer::yes
                                                                                                      : Answer::no;
    }
    case MatchForm::numbers: {
      const auto number = number_of(key, subject.device);
      if (!number) return Answer::unknown;
      if (found) *found = fmt::format("0x{:x}", *number);
      return contains(condition.numbers, *number) ? Answer::yes : Answer::no;
    }
    case MatchForm::flag: {
      const auto& flag = key == MatchKey::bond ? subject.device.bond : subject.device.out_of_tree;
      if (!flag) return Answer::unknown;
      if (found) *found = *flag ? "true" : "false";
      return *flag == condition.flag ? Answer::yes : Answer::no;
    }
    case MatchForm::versions: {
      const auto& version = subject.versions[static_cast<std::size_t>(version_key(key))];
      if (!version) return Answer::unknown;
      if (found) *found = version_text(key, subject.device);
      return condition.versions.contains(*version) ? Answer::yes : Answer::no;
    }
  }
  return Answer::unknown;
}

std::optional<std::uint64_t> probed(const WhenTest& test, const Subject& subject) {
  if (test.cap) return subject.caps[*test.cap];
  const PortCaps* port = subject.caps.port(subject.port);
  return port && test.port_cap ? (*port)[*test.port_cap] : std::nullopt;
}

std::string_view when_name(const WhenTest& test) {
  return test.cap ? name(*test.cap) : test.port_cap ? name(*test.port_cap) : std::string_view{};
}

}  // namespace

Subject::Subject(const DeviceId& who, const Caps& says, std::uint8_t number) : device(who), caps(says), port(number) {
  const PortId* where = device.port(port);
  for (std::size_t key = 0; key < words.size(); ++key) words[key] = word_of(static_cast<MatchKey>(key), device, where);
  // An out-of-tree module brings a driver of its own: the kernel's release says nothing of it.
  if (!device.out_of_tree.value_or(false)) versions[0] = read_host_version(VersionKey::kernel, device.kernel);
  versions[1] = read_firmware(device.driver, device.firmware);
  versions[2] = read_host_version(VersionKey::module_version, device.module_version);
  versions[3] = read_host_version(VersionKey::rdma_core, device.rdma_core);
}

bool matches(const Rule& rule, const Subject& subject, std::string* why_not, DriverCondition driver) {
  std::string found;
  for (const Condition& condition : rule.match) {
    if (driver == DriverCondition::answered && condition.key == MatchKey::driver) continue;
    const Answer answer = ask(condition, subject, why_not ? &found : nullptr);
    if (answer == Answer::yes) continue;
    if (answer == Answer::unknown && !rule.loosens && unknown_may_match(condition.key)) continue;
    if (why_not) {
      *why_not =
          answer == Answer::unknown
              ? fmt::format(
                    "{} is unknown{}", name(condition.key),
                    rule.loosens && unknown_may_match(condition.key) ? ", and a rule that loosens needs to know" : "")
              : fmt::format("{} is {}, not {}", name(condition.key), found, condition.written);
    }
    return false;
  }
  for (const WhenTest& test : rule.when) {
    const auto value = probed(test, subject);
    if (value && contains(test.numbers, *value)) continue;
    if (why_not)
      *why_not = value ? fmt::format("{} is {}, not {}", when_name(test), *value, test.written)
                       : fmt::format("{} is unknown", when_name(test));
    return false;
  }
  return true;
}

std::string held_unknown(const Rule& rule, const Subject& subject) {
  std::string text;
  for (const Condition& condition : rule.match) {
    if (!unknown_may_match(condition.key) || ask(condition, subject, nullptr) != Answer::unknown) continue;
    const std::string_view written = version_text(condition.key, subject.device);
    text += written.empty()
                ? fmt::format("; held to be so, since {} is unknown", name(condition.key))
                : fmt::format("; held to be so, since {} '{}' cannot be compared", name(condition.key), written);
  }
  return text;
}

bool could_both_match(const Rule& left, const Rule& right) {
  for (const Condition& one : left.match) {
    const Condition* other = right.condition(one.key);
    if (!other) continue;
    switch (form(one.key)) {
      case MatchForm::words: {
        const bool share = std::any_of(one.words.begin(), one.words.end(), [&](const std::string& word) {
          return std::find(other->words.begin(), other->words.end(), word) != other->words.end();
        });
        if (!share) return false;
        break;
      }
      case MatchForm::numbers:
        if (!meet(one.numbers, other->numbers)) return false;
        break;
      case MatchForm::flag:
        if (one.flag != other->flag) return false;
        break;
      case MatchForm::versions:
        if (!one.versions.meets(other->versions)) return false;
        break;
    }
  }
  for (const WhenTest& one : left.when)
    for (const WhenTest& other : right.when)
      if (one.cap == other.cap && one.port_cap == other.port_cap && !meet(one.numbers, other.numbers)) return false;
  return true;
}

}  // namespace verbena::quirks
