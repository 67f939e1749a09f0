// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/link.hpp"

namespace conform {

namespace {

/// The valid entries of all ports.
std::vector<ibv_gid_entry> table(Case& c) {
  ibv_device_attr device{};
  c.need(c.accepted(c.verbs().query_device(c.context(), device), "ibv_query_device"));
  std::size_t room = 0;
  for (unsigned port = 1; port <= device.phys_port_cnt; ++port) {
    ibv_port_attr attr{};
    c.need(c.accepted(c.verbs().query_port(c.context(), static_cast<std::uint8_t>(port), attr), "ibv_query_port"));
    room += static_cast<std::size_t>(std::max(attr.gid_tbl_len, 0));
  }
  std::vector<ibv_gid_entry> entries(room);
  const std::int64_t count = c.verbs().query_gid_table(c.context(), entries.data(), entries.size());
  c.need(c.accepted(count < 0 ? static_cast<int>(-count) : 0, "ibv_query_gid_table"));
  entries.resize(static_cast<std::size_t>(count));
  return entries;
}

std::vector<ibv_gid_entry> of_port(Case& c) {
  std::vector<ibv_gid_entry> entries = table(c);
  std::erase_if(entries, [&](const ibv_gid_entry& entry) { return entry.port_num != c.port(); });
  return entries;
}

std::string at(const ibv_gid_entry& entry) {
  return "entry " + std::to_string(entry.gid_index) + " of port " + std::to_string(entry.port_num);
}

bool zero(const ibv_gid& gid) {
  return std::all_of(std::begin(gid.raw), std::end(gid.raw), [](std::uint8_t byte) { return byte == 0; });
}

bool equal(const ibv_gid& one, const ibv_gid& other) {
  return std::memcmp(one.raw, other.raw, sizeof one.raw) == 0;
}

void len_is_bound(Case& c) {
  const ibv_port_attr attr = queried_port(c);
  ibv_gid gid{};
  for (int index = 0; index < attr.gid_tbl_len; ++index) {
    if (!c.accepted(c.verbs().query_gid(c.context(), c.port(), index, gid),
                    "ibv_query_gid of " + std::to_string(index)))
      return;
  }
  c.refused(c.verbs().query_gid(c.context(), c.port(), attr.gid_tbl_len, gid), "ibv_query_gid of gid_tbl_len");
}

void table_not_empty(Case& c) {
  if (queried_port(c).state != IBV_PORT_ACTIVE) return c.note("the port is not active");
  c.holds(!of_port(c).empty(), Seen::value, "the GID table of an active port is empty");
}

void lists_valid_only(Case& c) {
  for (const ibv_gid_entry& entry : table(c)) c.holds(!zero(entry.gid), Seen::value, at(entry) + " is zero");
}

void agrees_with_entry(Case& c) {
  for (const ibv_gid_entry& entry : table(c)) {
    ibv_gid_entry one{};
    if (!c.accepted(c.verbs().query_gid_ex(c.context(), entry.port_num, entry.gid_index, one),
                    "ibv_query_gid_ex of " + at(entry)))
      continue;
    c.holds(equal(one.gid, entry.gid), Seen::value, at(entry) + " has another GID by ibv_query_gid_ex");
    c.equal(one.gid_index, entry.gid_index, "gid_index of " + at(entry));
    c.equal(one.port_num, entry.port_num, "port_num of " + at(entry));
    c.equal(one.gid_type, entry.gid_type, "gid_type of " + at(entry));
    c.equal(one.ndev_ifindex, entry.ndev_ifindex, "ndev_ifindex of " + at(entry));
  }
}

void agrees_with_plain(Case& c) {
  for (const ibv_gid_entry& entry : of_port(c)) {
    ibv_gid gid{};
    ibv_gid_entry one{};
    if (c.accepted(c.verbs().query_gid(c.context(), c.port(), static_cast<int>(entry.gid_index), gid),
                   "ibv_query_gid of " + at(entry)) &&
        c.accepted(c.verbs().query_gid_ex(c.context(), c.port(), entry.gid_index, one),
                   "ibv_query_gid_ex of " + at(entry)))
      c.holds(equal(gid, one.gid), Seen::value, at(entry) + " has another GID by ibv_query_gid");
  }
}

/// A negative errno, and never the count of a table that was cut.
void fails_with_room_for(Case& c, std::size_t room) {
  std::vector<ibv_gid_entry> entries(room + 1);
  const std::int64_t count = c.verbs().query_gid_table(c.context(), entries.data(), room);
  c.holds(count < 0, Seen::accepted,
          "ibv_query_gid_table with room for " + std::to_string(room) + " returned " + std::to_string(count));
}

void too_small_fails(Case& c) {
  const std::size_t valid = table(c).size();
  c.need(c.holds(valid >= 1, Seen::value, "the GID table is empty"));
  if (valid == 1) return c.note("one valid entry: room for fewer is room for none");
  fails_with_room_for(c, valid - 1);
  fails_with_room_for(c, 1);
}

void zero_entries_fails(Case& c) {
  c.need(c.holds(!table(c).empty(), Seen::value, "the GID table is empty"));
  fails_with_room_for(c, 0);
}

/// The flags go by libibverbs' own calls in both columns; the table always gives 0.
void flags_refused(Case& c) {
  c.needs_libibverbs();
  const std::vector<ibv_gid_entry> valid = table(c);
  c.need(c.holds(!valid.empty(), Seen::value, "the GID table is empty"));
  std::vector<ibv_gid_entry> entries(valid.size() + 8);
  for (const std::uint32_t flags : {1U, 0x80000000U}) {
    c.holds(ibv_query_gid_table(c.context(), entries.data(), entries.size(), flags) < 0, Seen::accepted,
            "ibv_query_gid_table with flags " + std::to_string(flags));
    ibv_gid_entry entry{};
    const int error = ibv_query_gid_ex(c.context(), valid[0].port_num, valid[0].gid_index, &entry, flags);
    c.refused(error < 0 ? -error : error, "ibv_query_gid_ex with flags " + std::to_string(flags));
  }
}

void empty_entry(Case& c) {
  const std::vector<ibv_gid_entry> valid = of_port(c);
  const int length = queried_port(c).gid_tbl_len;
  for (int index = 0; index < length; ++index) {
    const bool there = std::any_of(valid.begin(), valid.end(), [&](const ibv_gid_entry& entry) {
      return entry.gid_index == static_cast<std::uint32_t>(index);
    });
    if (there) continue;
    ibv_gid_entry entry{};
    // libibverbs' own sentence in both columns: nothing is asked through Verbena's objects.
    const int error = c.verbs().query_gid_ex(c.context(), c.port(), static_cast<std::uint32_t>(index), entry);
    if (c.refused(error, "ibv_query_gid_ex of the empty entry " + std::to_string(index)))
      c.equal(error, ENODATA, "errno of ibv_query_gid_ex of the empty entry " + std::to_string(index));
    return;
  }
  c.note("the GID table has no empty entry");
}

void type_known(Case& c) {
  const verbena::PortId* id = c.device().id().port(c.port());
  const bool infiniband = id != nullptr && id->transport == verbena::Transport::infiniband;
  for (const ibv_gid_entry& entry : of_port(c)) {
    const bool good = infiniband ? entry.gid_type == IBV_GID_TYPE_IB
                                 : entry.gid_type == IBV_GID_TYPE_ROCE_V1 || entry.gid_type == IBV_GID_TYPE_ROCE_V2;
    c.holds(good, Seen::value, "gid_type of " + at(entry) + " is " + std::to_string(entry.gid_type));
  }
}

void netdev_of_roce(Case& c) {
  for (const ibv_gid_entry& entry : of_port(c)) {
    c.holds(entry.ndev_ifindex != 0 && !c.verbs().interface_name(entry.ndev_ifindex).empty(), Seen::value,
            at(entry) + " names interface " + std::to_string(entry.ndev_ifindex) + ", which does not exist");
  }
}

constexpr std::uint32_t kAddress = 0xc0000277;  // 192.0.2.119, RFC 5737: for documentation, so nobody's

ibv_gid mapped(std::uint32_t ipv4) {
  ibv_gid gid{};
  gid.raw[10] = 0xff;
  gid.raw[11] = 0xff;
  for (unsigned byte = 0; byte < 4; ++byte) gid.raw[12 + byte] = static_cast<std::uint8_t>(ipv4 >> (24 - 8 * byte));
  return gid;
}

bool present(Case& c, bool wanted) {
  const auto end = std::chrono::steady_clock::now() + c.ground().completion_within;
  for (;;) {
    const std::vector<ibv_gid_entry> entries = of_port(c);
    const bool there = std::any_of(entries.begin(), entries.end(),
                                   [](const ibv_gid_entry& entry) { return equal(entry.gid, mapped(kAddress)); });
    if (there == wanted) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void follows_addresses(Case& c) {
  Link link(c);
  const std::size_t before = of_port(c).size();
  c.need(c.accepted(link.add_address(kAddress), "adding an address to the interface"));
  c.need(c.holds(present(c, true), Seen::value, "the added address is not in the GID table"));
  c.holds(of_port(c).size() > before, Seen::value, "the GID table did not grow with the address");
  c.need(c.accepted(link.remove_address(kAddress), "removing the address"));
  c.holds(present(c, false), Seen::value, "the removed address is still in the GID table");
}

void ipv4_is_mapped(Case& c) {
  Link link(c);
  const std::vector<ibv_gid_entry> before = of_port(c);
  c.need(c.accepted(link.add_address(kAddress), "adding an address to the interface"));
  c.need(c.holds(present(c, true), Seen::value, "no entry holds the IPv4 address mapped into IPv6"));
  for (const ibv_gid_entry& entry : of_port(c)) {
    const bool is_new = std::none_of(before.begin(), before.end(), [&](const ibv_gid_entry& old) {
      return old.gid_index == entry.gid_index && equal(old.gid, entry.gid);
    });
    c.holds(!is_new || equal(entry.gid, mapped(kAddress)), Seen::value,
            at(entry) + " came with the IPv4 address and is not it");
  }
}

}  // namespace

Bodies port_gid_bodies() {
  static constexpr Body kBodies[] = {
      {"port.gid.len_is_bound", len_is_bound},
      {"port.gid.table_not_empty", table_not_empty},
      {"port.gid.table_lists_valid_only", lists_valid_only},
      {"port.gid.table_agrees_with_entry", agrees_with_entry},
      {"port.gid.entry_agrees_with_plain", agrees_with_plain},
      {"port.gid.table_too_small_fails", too_small_fails},
      {"port.gid.table_zero_entries_fails", zero_entries_fails},
      {"port.gid.table_flags_refused", flags_refused},
      {"port.gid.empty_entry_enodata", empty_entry},
      {"port.gid.type_known", type_known},
      {"port.gid.netdev_of_roce", netdev_of_roce},
      {"port.gid.follows_addresses", follows_addresses},
      {"port.gid.ipv4_is_mapped", ipv4_is_mapped},
  };
  return kBodies;
}

}  // namespace conform
