// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "nearest.hpp"
#include "numbers.hpp"

namespace cli {
namespace {

using verbena::Failure;
using verbena::Result;
using verbena::Wish;

struct Part {
  std::string_view key, value;
  bool has_value = false;
};

std::vector<Part> split(std::string_view spec) {
  std::vector<Part> parts;
  while (true) {
    const std::size_t comma = spec.find(',');
    const std::string_view text = spec.substr(0, comma);
    const std::size_t equals = text.find('=');
    parts.push_back({text.substr(0, equals), equals == std::string_view::npos ? "" : text.substr(equals + 1),
                     equals != std::string_view::npos});
    if (comma == std::string_view::npos) return parts;
    spec.remove_prefix(comma + 1);
  }
}

verbena::Error unknown(std::string_view what, std::string_view word, std::span<const std::string_view> known) {
  return bad_argument(
      what, fmt::format("'{}' is unknown{}; known: {}", word, did_you_mean(word, known), fmt::join(known, ", ")));
}

/// Keys of a SPEC that hold a wish; verbs' own names are taken too.
struct WishKey {
  std::string_view key, verbs_name;
  Wish* wish;
};

/// Reads `part` into the wish it names. False when it names none; a name in its two spellings is still one name.
Result<bool> read_into(std::span<const WishKey> keys, const Part& part, std::span<const Part> parts) {
  for (const WishKey& entry : keys) {
    if (part.key != entry.key && part.key != entry.verbs_name) continue;
    const auto same = [&](const Part& other) { return other.key == entry.key || other.key == entry.verbs_name; };
    if (std::count_if(parts.begin(), parts.end(), same) > 1) {
      return Failure(bad_argument(entry.verbs_name, fmt::format("'{}' is given twice", part.key)));
    }
    Result<Wish> wish = read_wish(entry.verbs_name, part.value);
    if (!wish) return Failure(wish.error());
    *entry.wish = *wish;
    return true;
  }
  return false;
}

/// Beside an SRQ a receive number of 1 with nothing else said would count as left out (verbena/request.hpp): one that
/// the SPEC holds is not, and one that it does not hold is nothing.
void mark_what_is_said(std::span<const WishKey> keys, std::span<const Part> parts, const verbena::QpRequest& request) {
  for (const WishKey& entry : keys) {
    if (entry.wish != &request.max_recv_wr && entry.wish != &request.max_recv_sge) continue;
    const bool said = std::any_of(parts.begin(), parts.end(), [&](const Part& part) {
      return part.key == entry.key || part.key == entry.verbs_name;
    });
    if (said)
      entry.wish->policy = request.policy;
    else
      *entry.wish = Wish{0};
  }
}

Result<void> refuse_twice(std::string_view what, std::span<const Part> parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!parts[i].key.empty() && parts[i].key == parts[j].key) {
        return Failure(bad_argument(what, fmt::format("'{}' is given twice", parts[i].key)));
      }
    }
  }
  return {};
}

}  // namespace

Result<verbena::QpRequest> read_qp_spec(std::string_view spec, verbena::Policy usual) {
  static constexpr std::array<std::string_view, 14> kKnown{"rc",       "uc",       "ud",     "send_wr",    "recv_wr",
                                                           "send_sge", "recv_sge", "inline", "ops",        "srq",
                                                           "sig_all",  "in_place", "policy", "substitutes"};
  verbena::QpRequest request;
  request.policy = usual;
  const std::array keys{WishKey{"send_wr", "max_send_wr", &request.max_send_wr},
                        WishKey{"recv_wr", "max_recv_wr", &request.max_recv_wr},
                        WishKey{"send_sge", "max_send_sge", &request.max_send_sge},
                        WishKey{"recv_sge", "max_recv_sge", &request.max_recv_sge},
                        WishKey{"inline", "max_inline_data", &request.max_inline_data}};
  const std::vector<Part> parts = split(spec);
  if (Result<void> once = refuse_twice("qp", parts); !once) return Failure(once.error());
  bool typed = false;
  for (const Part& part : parts) {
    if (part.key.empty()) return Failure(bad_argument("qp", fmt::format("'{}' has an empty part", spec)));
    if (!part.has_value) {
      if (const auto type = verbena::find_qp_type(part.key)) {
        if (typed) return Failure(bad_argument("qp", fmt::format("'{}' names a second type", part.key)));
        request.type = *type;
        typed = true;
        continue;
      }
      if (bool* const word = part.key == "srq"        ? &request.srq
                             : part.key == "sig_all"  ? &request.sq_sig_all
                             : part.key == "in_place" ? &request.in_place
                                                      : nullptr) {
        *word = true;
        continue;
      }
    } else if (part.key == "ops") {
      const auto ops = verbena::parse_send_ops(part.value);
      if (!ops) {
        return Failure(bad_argument(
            "ops", fmt::format("'{}' names an unknown opcode; known: {}; joined by +", part.value, kOpWords)));
      }
      request.ops = *ops;
      continue;
    } else if (part.key == "policy" || part.key == "substitutes") {
      const auto policy = verbena::find_policy(part.value);
      if (!policy) {
        return Failure(bad_argument(part.key, fmt::format("'{}' is none of require, prefer, allow", part.value)));
      }
      (part.key == "policy" ? request.policy : request.substitutes) = *policy;
      continue;
    }
    const Result<bool> read = read_into(keys, part, parts);
    if (!read) return Failure(read.error());
    if (*read) continue;
    if (std::find(kKnown.begin(), kKnown.end(), part.key) == kKnown.end()) {
      return Failure(unknown("qp", part.key, kKnown));
    }
    return Failure(bad_argument("qp", part.has_value ? fmt::format("'{}' takes no value", part.key)
                                                     : fmt::format("'{0}' needs a value: {0}=...", part.key)));
  }
  if (request.srq) mark_what_is_said(keys, parts, request);
  return request;
}

Result<verbena::SrqRequest> read_srq_spec(std::string_view spec) {
  static constexpr std::array<std::string_view, 3> kKnown{"wr", "sge", "limit"};
  verbena::SrqRequest request;
  Wish limit{0};
  const std::array keys{WishKey{"wr", "max_wr", &request.max_wr}, WishKey{"sge", "max_sge", &request.max_sge},
                        WishKey{"limit", "srq_limit", &limit}};
  const std::vector<Part> parts = split(spec);
  if (Result<void> once = refuse_twice("srq", parts); !once) return Failure(once.error());
  for (const Part& part : parts) {
    if (part.key.empty()) return Failure(bad_argument("srq", fmt::format("'{}' has an empty part", spec)));
    const Result<bool> read = read_into(keys, part, parts);
    if (!read) return Failure(read.error());
    if (!*read) return Failure(unknown("srq", part.key, kKnown));
  }
  if (limit.at_least)
    return Failure(bad_argument("srq_limit", "a limit has no floor: give one number; it is lowered with the depth"));
  request.srq_limit = limit.want;
  return request;
}

Result<verbena::MrRequest> read_mr_spec(std::string_view spec) {
  struct Access {
    std::string_view name;
    std::uint32_t bit;
  };
  static constexpr std::array<Access, 8> kAccess{{{"local_write", IBV_ACCESS_LOCAL_WRITE},
                                                  {"remote_write", IBV_ACCESS_REMOTE_WRITE},
                                                  {"remote_read", IBV_ACCESS_REMOTE_READ},
                                                  {"remote_atomic", IBV_ACCESS_REMOTE_ATOMIC},
                                                  {"mw_bind", IBV_ACCESS_MW_BIND},
                                                  {"zero_based", IBV_ACCESS_ZERO_BASED},
                                                  {"on_demand", IBV_ACCESS_ON_DEMAND},
                                                  {"relaxed_ordering", IBV_ACCESS_RELAXED_ORDERING}}};
  verbena::MrRequest request;
  bool first = true;
  for (const Part& part : split(spec)) {
    if (part.has_value) {
      return Failure(bad_argument("mr", fmt::format("'{}' takes no value, but has '={}'", part.key, part.value)));
    }
    if (first) {
      const Result<std::uint64_t> length = read_bytes("length", part.key);
      if (!length) return Failure(length.error());
      request.length = *length;
      first = false;
      continue;
    }
    const auto* found = std::find_if(kAccess.begin(), kAccess.end(), [&](Access a) { return a.name == part.key; });
    if (found == kAccess.end()) {
      std::array<std::string_view, kAccess.size()> known{};
      std::transform(kAccess.begin(), kAccess.end(), known.begin(), [](Access a) { return a.name; });
      return Failure(unknown("access", part.key, known));
    }
    request.access |= found->bit;
  }
  return request;
}

}  // namespace cli
