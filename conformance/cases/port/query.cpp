// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/link.hpp"
#include "rig/rdma.hpp"
#include "verbena/transition.hpp"

namespace conform {

namespace {

using verbena::LinkLayer;
using verbena::Transport;

/// Whether it comes true in the time that the run allows.
template <class Condition>
bool soon(Case& c, Condition condition) {
  const auto end = std::chrono::steady_clock::now() + c.ground().completion_within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void number_zero(Case& c) {
  queried_port(c);
  ibv_port_attr attr{};
  c.refused(c.verbs().query_port(c.context(), 0, attr), "ibv_query_port of port 0", {EINVAL});
}

void number_above(Case& c) {
  ibv_device_attr device{};
  c.need(c.accepted(c.verbs().query_device(c.context(), device), "ibv_query_device"));
  ibv_port_attr attr{};
  c.accepted(c.verbs().query_port(c.context(), device.phys_port_cnt, attr), "ibv_query_port of port phys_port_cnt");
  c.refused(c.verbs().query_port(c.context(), static_cast<std::uint8_t>(device.phys_port_cnt + 1), attr),
            "ibv_query_port of port phys_port_cnt + 1", {EINVAL});
}

void state_known(Case& c) {
  const int state = queried_port(c).state;
  c.holds(state >= IBV_PORT_NOP && state <= IBV_PORT_ACTIVE_DEFER, Seen::value, "state is " + std::to_string(state));
}

void active_mtu_below_max(Case& c) {
  const ibv_port_attr attr = queried_port(c);
  if (attr.state != IBV_PORT_ACTIVE) return c.note("the port is not active");
  const auto code = [&](const char* name, int value) {
    c.holds(value >= IBV_MTU_256 && value <= IBV_MTU_4096, Seen::value,
            std::string(name) + " is " + std::to_string(value) + ", no code of an MTU");
  };
  code("active_mtu", attr.active_mtu);
  code("max_mtu", attr.max_mtu);
  c.holds(attr.active_mtu <= attr.max_mtu, Seen::value, "active_mtu is above max_mtu");
}

/// Where the interface can be seen, the MTU leaves room for it; 40 + 8 + 12 + 4 bytes of headers are the least on RoCE.
void active_mtu(Case& c) {
  const verbena::PortCaps* port = c.caps().port(c.port());
  c.need(c.holds(port != nullptr, Seen::value, "the port is not in the caps"));
  const std::optional<std::uint64_t> known = (*port)[verbena::PortCap::active_mtu];
  c.need(c.holds(known.has_value(), Seen::value, "the active MTU is unknown"));
  const std::uint64_t bytes = *known;
  c.holds(bytes == 256 || bytes == 512 || bytes == 1024 || bytes == 2048 || bytes == 4096, Seen::value,
          "the active MTU is " + std::to_string(bytes) + " bytes");
  const verbena::PortId* id = c.device().id().port(c.port());
  std::string text;
  if (id != nullptr && !id->netdev.empty() && c.verbs().read_file("/sys/class/net/" + id->netdev + "/mtu", text) == 0) {
    const std::uint64_t headers = id->transport == Transport::roce_v2 ? 40 + 8 + 12 + 4 : 0;
    c.holds(bytes + headers <= std::stoull(text), Seen::value,
            "the active MTU of " + std::to_string(bytes) + " does not fit an interface of " + text);
  }
}

void max_msg_sz_range(Case& c) {
  const ibv_port_attr attr = queried_port(c);
  c.holds(attr.max_msg_sz >= verbena::mtu_bytes(attr.active_mtu), Seen::value,
          "max_msg_sz " + std::to_string(attr.max_msg_sz) + " is below the path MTU");
  c.holds(attr.max_msg_sz <= 1U << 31, Seen::value,
          "max_msg_sz " + std::to_string(attr.max_msg_sz) + " is above 2 GiB");
}

/// A largest message of more than 8 MiB is not tried, nor its bound; 1 MiB is.
void max_msg_sz(Case& c) {
  const verbena::Domain& domain = c.contract().domain(verbena::Field::message_bytes);
  const std::uint64_t promised = domain.known ? domain.max : queried_port(c).max_msg_sz;
  const auto bytes = static_cast<std::size_t>(promised > 8U << 20 ? 1U << 20 : promised);
  {
    Loop loop(c, open_to_all(c, bytes + 1));
    loop.a().memory->fill(3);
    loop.b().memory->clear();
    c.need(works(c, loop, {.address = loop.b().remote(0), .rkey = loop.b().rkey(), .length = bytes},
                 "an RDMA WRITE of " + std::to_string(bytes) + " bytes"));
    c.holds(std::equal(loop.a().data(), loop.a().data() + bytes, loop.b().data()), Seen::data,
            "other bytes than those of the message arrived");
  }
  if (bytes < promised) return c.note("the largest message is " + std::to_string(promised) + " bytes: not tried");
  c.about("error.length.write_too_long_refused");
  Loop loop(c, open_to_all(c, bytes + 1));
  loop.a().memory->fill(4);
  loop.b().memory->clear();
  denied(c, loop, {.address = loop.b().remote(0), .rkey = loop.b().rkey(), .length = bytes + 1},
         "an RDMA WRITE of one byte more than the largest message", {}, &*loop.b().memory);
}

void link_layer(Case& c) {
  const verbena::PortId* id = c.device().id().port(c.port());
  c.need(c.holds(id != nullptr, Seen::value, "the port is not in the identity"));
  const int must = id->transport == Transport::infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
  c.equal(static_cast<int>(queried_port(c).link_layer), must, "link_layer");
}

void lid_of_infiniband(Case& c) {
  const ibv_port_attr attr = queried_port(c);
  if (attr.state != IBV_PORT_ACTIVE) c.blocked("subnet_manager", "the port is not active");
  c.holds(attr.lid >= 1 && attr.lid <= 0xbfff, Seen::value, "lid is " + std::to_string(attr.lid));
}

void down_is_seen(Case& c) {
  c.need(c.holds(queried_port(c).state == IBV_PORT_ACTIVE, Seen::value, "the port is not active to begin with"));
  Link link(c);
  c.need(c.accepted(link.set_up(false), "taking the interface down"));
  c.holds(soon(c, [&] { return queried_port(c).state != IBV_PORT_ACTIVE; }), Seen::value,
          "state is still IBV_PORT_ACTIVE after the interface was taken down");
  c.need(c.accepted(link.set_up(true), "taking the interface up"));
  c.holds(soon(c, [&] { return queried_port(c).state == IBV_PORT_ACTIVE; }), Seen::value,
          "state is not IBV_PORT_ACTIVE after the interface was taken up");
}

/// The interface's MTUs are well inside the step, so that how many bytes a driver sets aside for headers is its own.
void mtu_follows(Case& c) {
  const auto before = queried_port(c).active_mtu;
  {
    Link link(c);
    for (const auto& [bytes, must] : {std::pair(1500, IBV_MTU_1024), std::pair(2400, IBV_MTU_2048)}) {
      c.need(c.accepted(link.set_mtu(bytes), "setting the MTU of the interface"));
      c.holds(soon(c, [&] { return queried_port(c).active_mtu == must; }), Seen::value,
              "active_mtu is " + std::to_string(queried_port(c).active_mtu) + " with an interface MTU of " +
                  std::to_string(bytes));
    }
  }
  c.holds(soon(c, [&] { return queried_port(c).active_mtu == before; }), Seen::value,
          "active_mtu did not come back with the interface's MTU");
}

void pkey_len_is_bound(Case& c) {
  const ibv_port_attr attr = queried_port(c);
  c.holds(attr.pkey_tbl_len >= 1, Seen::value, "pkey_tbl_len is 0");
  std::uint16_t pkey = 0;
  for (int index = 0; index < attr.pkey_tbl_len; ++index) {
    c.accepted(c.verbs().query_pkey(c.context(), c.port(), index, pkey), "ibv_query_pkey of " + std::to_string(index));
  }
  c.refused(c.verbs().query_pkey(c.context(), c.port(), attr.pkey_tbl_len, pkey), "ibv_query_pkey of pkey_tbl_len");
}

void pkey_default(Case& c) {
  std::uint16_t pkey = 0;
  c.need(c.accepted(c.verbs().query_pkey(c.context(), c.port(), 0, pkey), "ibv_query_pkey of 0"));
  c.equal(pkey, std::uint16_t{0xffff}, "P_Key 0");
}

// ibv_get_pkey_index is libibverbs' own in both columns: the table has no word for it.

void pkey_index_found(Case& c) {
  c.needs_libibverbs();
  std::uint16_t pkey = 0;
  c.need(c.accepted(c.verbs().query_pkey(c.context(), c.port(), 0, pkey), "ibv_query_pkey of 0"));
  const int index = ibv_get_pkey_index(c.context(), c.port(), htons(pkey));
  c.need(c.holds(index >= 0, Seen::refused, "ibv_get_pkey_index of the P_Key at index 0 failed"));
  std::uint16_t again = 0;
  c.accepted(c.verbs().query_pkey(c.context(), c.port(), index, again), "ibv_query_pkey of the index found");
  c.equal(again, pkey, "the P_Key at the index found");
}

void pkey_index_absent(Case& c) {
  c.needs_libibverbs();
  const ibv_port_attr attr = queried_port(c);
  std::uint16_t candidate = 0x1234;
  for (int index = 0; index < attr.pkey_tbl_len; ++index) {
    std::uint16_t pkey = 0;
    c.need(c.accepted(c.verbs().query_pkey(c.context(), c.port(), index, pkey), "ibv_query_pkey"));
    if ((pkey & 0x7fff) == (candidate & 0x7fff)) ++candidate;
  }
  c.equal(ibv_get_pkey_index(c.context(), c.port(), htons(candidate)), -1, "ibv_get_pkey_index of a P_Key not there");
}

}  // namespace

Bodies port_query_bodies() {
  static constexpr Body kBodies[] = {
      {"port.query.number_zero_refused", number_zero},
      {"port.query.number_above_refused", number_above},
      {"port.query.state_known", state_known},
      {"port.query.active_mtu_below_max", active_mtu_below_max},
      {"port.query.active_mtu", active_mtu},
      {"port.query.max_msg_sz_range", max_msg_sz_range},
      {"port.query.max_msg_sz", max_msg_sz},
      {"port.query.link_layer_fits_transport", link_layer},
      {"port.query.lid_of_infiniband", lid_of_infiniband},
      {"port.query.down_is_seen", down_is_seen},
      {"port.query.mtu_follows_netdev", mtu_follows},
      {"port.pkey.len_is_bound", pkey_len_is_bound},
      {"port.pkey.default_on_roce", pkey_default},
      {"port.pkey.index_found", pkey_index_found},
      {"port.pkey.index_absent", pkey_index_absent},
  };
  return kBodies;
}

}  // namespace conform
