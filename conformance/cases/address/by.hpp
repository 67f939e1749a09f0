// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rig/loop.hpp"

namespace conform {

/// The valid GID entries of one port, as the verbs list them now.
std::vector<ibv_gid_entry> gid_entries(Case& c, ibv_context* context, std::uint8_t port);
std::vector<ibv_gid_entry> gid_entries(Case& c, const verbena::Device& device, std::uint8_t port);

/// What sort of address an entry is: entries of one kind reach each other.
std::string kind_of(const ibv_gid_entry& entry);
bool is_ipv4(const ibv_gid& gid);
/// As an IPv6 address.
std::string text_of(const ibv_gid& gid);

/// The path with these addresses in it.
PathTo between(PathTo path, const ibv_gid_entry& own, const ibv_gid& peer);

/// Both ends of an unconnected loop to RTS, each by its own path and terms; what fails is a finding, and ends the case.
void connect_by(Case& c, Loop& loop, const PathTo& of_a, const PathTo& of_b, const Terms& of_a_terms = {},
                const Terms& of_b_terms = {});

/// A few retries at short distance, for what must not be answered.
Terms impatient();

/// A message from the first end to the second arrives whole.
void arrives(Case& c, Loop& loop, std::size_t bytes, const std::string& what);
/// It doesn't: the second end receives nothing, and the send completes in error.
void never_arrives(Case& c, Loop& loop, std::size_t bytes, const std::string& what);

}  // namespace conform
