// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/request.hpp"

#include <fmt/format.h>

#include <array>

#include "names/word_table.hpp"

namespace verbena {
namespace {

constexpr names::WordTable<3> kPolicies{"require", "prefer", "allow"};
constexpr names::WordTable<3> kQpTypes{"rc", "uc", "ud"};

struct OpWord {
  std::string_view word;
  std::uint64_t bits;
};

constexpr std::array<OpWord, 13> kOps{{
    {"send", SendOps::kSend},
    {"send_imm", SendOps::kSendWithImm},
    {"send_inv", SendOps::kSendWithInv},
    {"write", SendOps::kRdmaWrite},
    {"write_imm", SendOps::kRdmaWriteWithImm},
    {"read", SendOps::kRdmaRead},
    {"cmp_swap", SendOps::kCompareSwap},
    {"fetch_add", SendOps::kFetchAdd},
    {"atomic_write", SendOps::kAtomicWrite},
    {"flush", SendOps::kFlush},
    {"local_inv", SendOps::kLocalInv},
    {"bind_mw", SendOps::kBindMw},
    {"tso", SendOps::kTso},
}};

/// Short for both of the 8-byte atomics; read, never written.
constexpr OpWord kAtomic{"atomic", SendOps::kCompareSwap | SendOps::kFetchAdd};
constexpr std::string_view kAllWord{"all"};

}  // namespace

std::string_view name(Policy policy) noexcept {
  return names::word_of(kPolicies, policy);
}
std::optional<Policy> find_policy(std::string_view name) noexcept {
  return names::find_word<Policy>(kPolicies, name);
}

std::string_view name(QpType type) noexcept {
  return names::word_of(kQpTypes, type);
}
std::optional<QpType> find_qp_type(std::string_view name) noexcept {
  return names::find_word<QpType>(kQpTypes, name);
}

std::string to_string(SendOps ops) {
  if (ops.is_all()) return std::string{kAllWord};
  std::string text;
  std::uint64_t unnamed = ops.bits;
  for (const OpWord& op : kOps) {
    if ((ops.bits & op.bits) == 0) continue;
    if (!text.empty()) text += '+';
    text += op.word;
    unnamed &= ~op.bits;
  }
  if (unnamed != 0) text += fmt::format("{}{:#x}", text.empty() ? "" : "+", unnamed);
  return text;
}

std::optional<SendOps> parse_send_ops(std::string_view text) {
  if (text == kAllWord) return SendOps::all();
  SendOps ops{};
  while (true) {
    const std::size_t end = text.find('+');
    const std::string_view word = text.substr(0, end);
    std::uint64_t bits = word == kAtomic.word ? kAtomic.bits : 0;
    for (const OpWord& op : kOps) {
      if (op.word == word) bits = op.bits;
    }
    if (bits == 0) return std::nullopt;
    ops.bits |= bits;
    if (end == std::string_view::npos) return ops;
    text.remove_prefix(end + 1);
  }
}

}  // namespace verbena
