// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "verbena/contract.hpp"
#include "verbena/grant.hpp"
#include "verbena/quirks.hpp"
#include "verbena/result.hpp"

namespace cli {

/// Keys keep the order in which they are written, which is part of each document's layout.
using Json = nlohmann::ordered_json;

inline constexpr int kSchema = 1;

Json to_json(const verbena::DeviceId& id);
Json to_json(const verbena::Caps& caps);
Json to_json(const verbena::Adjustment& adjustment);
Json to_json(const verbena::Error& error);
Json to_json(const verbena::Finding& finding);
Json to_json(const verbena::LadderStep& step);
/// 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);
/// Adds set_by, rule, reason, source, file and line.
void add_provenance(Json& object, const verbena::Provenance& by);
void print(const Json& document);

}  // namespace cli
