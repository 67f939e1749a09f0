// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>

#include "rig/loop.hpp"

namespace conform {

/// Membership of an end's interface in an IP multicast group while it lives, as a router and this host's own stack want
/// it before they carry the group's packets. Nothing on InfiniBand, where a subnet manager is asked instead.
class IpMember {
public:
  IpMember(Case& c, const End& end, const ibv_gid& group);
  IpMember(const IpMember&) = delete;
  IpMember& operator=(const IpMember&) = delete;
  ~IpMember();

private:
  int socket_ = -1;
};

/// A group that nobody else is likely to use, number `index`, of the kind that the path's addresses are.
ibv_gid group_of(Case& c, Loop& loop, std::uint8_t index);

/// A LID of the range of groups, which the kernel's core asks for on InfiniBand and doesn't look at elsewhere.
inline constexpr std::uint16_t kGroupLid = 0xc001;

/// Attachment of a queue pair to a group while it lives.
class Attached {
public:
  /// What fails is a finding, and ends the case.
  Attached(Case& c, ibv_qp* qp, const ibv_gid& group);
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  ~Attached();
  int detach();

private:
  Case& case_;
  ibv_qp* qp_;
  ibv_gid group_;
  bool attached_ = true;
};

/// A datagram from the end to the group: posted, and completed as sent.
void send_to_group(Case& c, Loop& loop, End& from, const End& near, const ibv_gid& group, std::uint8_t fill);

inline constexpr std::size_t kDatagram = 64;

}  // namespace conform
