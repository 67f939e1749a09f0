// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "connect/cm_end.hpp"
#include "connect/gid_choice.hpp"
#include "objects/refusal.hpp"
#include "qp/qp_state.hpp"
#include "verbena/verbs.hpp"

namespace verbena {
namespace {

constexpr std::uint8_t kReadsByDefault = 16;
/// A budget that queue pairs share is cut for a nominal 16 of them (Mooncake #3977).
constexpr std::uint64_t kNominalSharers = 16;

Failure no_address(const Qp::State& qp, std::string field, std::string text) {
  return Failure(Error{.kind = ErrorKind::no_device,
                       .field = std::move(field),
                       .by = {.set_by = SetBy::probed, .reason = "the port was asked for its addresses"},
                       .text = fmt::format("{} port {}: {}", qp.device().name(), qp.port, text)});
}

const PortId* port_id(const Contract& contract, std::uint8_t port) noexcept {
  for (const PortId& candidate : contract.device().ports) {
    if (candidate.number == port) return &candidate;
  }
  return nullptr;
}

const PortCaps* port_caps(const Contract& contract, std::uint8_t port) noexcept {
  for (const PortCaps& candidate : contract.caps().ports) {
    if (candidate.number == port) return &candidate;
  }
  return nullptr;
}

GidType gid_type(std::uint32_t type) noexcept {
  switch (type) {
    case IBV_GID_TYPE_ROCE_V1:
      return GidType::roce_v1;
    case IBV_GID_TYPE_ROCE_V2:
      return GidType::roce_v2;
    default:
      return GidType::ib;
  }
}

/// The entry as the device has it now; empty when the index is not populated.
std::optional<GidEntry> entry_now(Qp::State& qp, std::uint32_t index) {
  ibv_gid_entry entry{};
  if (qp.verbs().query_gid_ex(qp.device().context, qp.port, index, entry) != 0) return std::nullopt;
  GidEntry out{.index = index, .gid = {}, .type = gid_type(entry.gid_type), .netdev = {}};
  std::copy(std::begin(entry.gid.raw), std::end(entry.gid.raw), out.gid.begin());
  return out;
}

/// All entries of the port as the device has them now: the probe's may be older than the address.
std::vector<GidEntry> entries_now(Qp::State& qp, std::size_t table_length) {
  std::vector<ibv_gid_entry> table(std::max<std::size_t>(table_length, 1));
  const std::int64_t count = qp.verbs().query_gid_table(qp.device().context, table.data(), table.size());
  std::vector<GidEntry> entries;
  for (std::int64_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = table[static_cast<std::size_t>(i)];
    if (entry.port_num != qp.port) continue;
    GidEntry& out = entries.emplace_back();
    out.index = entry.gid_index;
    out.type = gid_type(entry.gid_type);
    out.netdev = entry.ndev_ifindex != 0 ? qp.verbs().interface_name(entry.ndev_ifindex) : std::string();
    std::copy(std::begin(entry.gid.raw), std::end(entry.gid.raw), out.gid.begin());
  }
  return entries;
}

Result<GidEntry> roce_gid(Qp::State& qp, const ConnectWish& wish) {
  if (wish.gid_index) {
    std::optional<GidEntry> entry = entry_now(qp, *wish.gid_index);
    if (entry && reach_of(entry->gid) != AddressReach::nowhere) return *entry;
    return no_address(qp, "gid_index", fmt::format("GID {} is not populated.", *wish.gid_index));
  }
  const PortId* id = port_id(*qp.contract, qp.port);
  const std::string netdev = id != nullptr ? id->netdev : std::string();
  const PortCaps* caps = port_caps(*qp.contract, qp.port);
  if (caps != nullptr) {
    if (const GidEntry* probed = choose_roce_gid(caps->gids, netdev)) {
      const std::optional<GidEntry> now = entry_now(qp, probed->index);
      if (now && now->gid == probed->gid && now->type == probed->type) return *probed;
    }
  }
  const std::size_t length = caps != nullptr ? (*caps)[PortCap::gid_tbl_len].value_or(0) : 0;
  const std::vector<GidEntry> entries = entries_now(qp, length * qp.contract->caps().ports.size());
  if (const GidEntry* chosen = choose_roce_gid(entries, netdev)) return *chosen;
  return no_address(qp, "gid_index",
                    fmt::format("it has no GID to send from; give its interface ({}) an IP address and set it up.",
                                netdev.empty() ? "unknown" : netdev));
}

std::uint8_t reads_within(const Qp::State& qp, Field field, std::uint64_t wanted) noexcept {
  const Domain& domain = qp.contract->domain(field);
  // Where nobody gives a limit, one is what every device can do.
  const std::uint64_t limit = domain.known ? domain.max : 1;
  return static_cast<std::uint8_t>(std::min<std::uint64_t>({wanted, limit, 255}));
}

/// Reserves the responder depth and fills in both depths.
Result<void> read_depths(Qp::State& qp, const ConnectWish& wish, QpFacts& facts) {
  if (qp.type != QpType::rc) return {};
  facts.max_rd_atomic = reads_within(qp, Field::max_rd_atomic, wish.max_rd_atomic.value_or(kReadsByDefault));
  std::uint64_t answers = wish.max_dest_rd_atomic.value_or(kReadsByDefault);
  if (!wish.max_dest_rd_atomic && qp.contract->is(Behaviour::rd_atomic_budget, Choice::shared)) {
    const std::optional<std::uint64_t> total = qp.device().ledger.snapshot().responder_total;
    if (total) answers = std::min(answers, std::max<std::uint64_t>(1, *total / kNominalSharers));
  }
  const Result<std::uint8_t> reserved = qp.reserve_responder(reads_within(qp, Field::max_dest_rd_atomic, answers), 1);
  if (!reserved) return Failure(reserved.error());
  facts.max_dest_rd_atomic = *reserved;
  return {};
}

std::uint32_t port_mtu(const Qp::State& qp, const ConnectWish& wish) noexcept {
  std::uint64_t bytes = 1024;
  const Domain& domain = qp.contract->domain(Field::path_mtu_bytes);
  if (domain.known) {
    bytes = domain.max;
  } else if (const PortCaps* caps = port_caps(*qp.contract, qp.port)) {
    bytes = (*caps)[PortCap::active_mtu].value_or(bytes);
  }
  if (wish.mtu) bytes = std::min<std::uint64_t>(bytes, *wish.mtu);
  const std::optional<ibv_mtu> mtu = mtu_within(bytes);
  return mtu ? mtu_bytes(*mtu) : 0;
}

/// RESET to INIT with what rdma_cm wants sent there, and this side's access on top.
Result<void> init_by_cm(Qp::State& qp, const ConnectWish& wish) {
  ibv_qp_attr attr = qp.cm->init_attributes();
  attr.qp_state = IBV_QPS_INIT;
  attr.qp_access_flags |= wish.access.value_or(qp.default_access());
  return qp.send_as_told(attr, qp.cm->init_mask());
}

Result<void> listen_by_cm(Qp::State& qp, QpFacts& facts) {
  const PortId* id = port_id(*qp.contract, qp.port);
  const std::string netdev = id != nullptr ? id->netdev : std::string();
  std::vector<IpAddress> addresses;
  if (!netdev.empty()) qp.verbs().interface_addresses(netdev, addresses);
  const auto usable = std::find_if(addresses.begin(), addresses.end(), [](const IpAddress& address) {
    return reach_of(address) > AddressReach::link;  // a link-local one needs a scope, which facts do not carry
  });
  if (usable == addresses.end()) {
    return no_address(qp, "cm_address",
                      fmt::format("its interface ({}) has no IP address that a peer could dial; give it one.",
                                  netdev.empty() ? "unknown" : netdev));
  }
  Result<std::unique_ptr<CmEnd>> end = CmEnd::listen(qp.verbs(), *usable);
  if (!end) return Failure(std::move(end.error()));
  qp.cm = std::move(*end);
  facts.over_rdma_cm = true;
  facts.cm_address = *usable;
  facts.cm_port = qp.cm->port();
  return {};
}

}  // namespace

Result<QpFacts> Qp::facts(const ConnectWish& wish) {
  State& qp = *state_;
  if (qp.facts) return *qp.facts;
  if (qp.device().gone()) return gone(qp.device());
  if (qp.state != IBV_QPS_RESET && qp.state != IBV_QPS_INIT) {
    return Failure(Error{.kind = ErrorKind::invalid_request,
                         .field = "qp_state",
                         .by = {.set_by = SetBy::request},
                         .text = fmt::format("QP {:#x} is in {}; facts to connect by are made in RESET or INIT.",
                                             qp.raw->qp_num, qp_state_name(qp.state))});
  }
  QpFacts facts;
  facts.type = qp.type;
  const PortId* id = port_id(*qp.contract, qp.port);
  facts.transport = id != nullptr ? id->transport : Transport::unknown;
  facts.qp_num = qp.raw->qp_num;
  facts.psn = qp.verbs().random32() & 0xffffffU;
  facts.port = qp.port;
  facts.mtu = port_mtu(qp, wish);
  facts.timers = wish.timers;
  if (qp.type == QpType::ud) facts.qkey = wish.qkey;

  const bool by_cm = qp.type == QpType::rc && qp.contract->is(Behaviour::rts_driven_by, Choice::rdma_cm);
  if (by_cm) {
    if (auto listening = listen_by_cm(qp, facts); !listening) return Failure(std::move(listening.error()));
  } else if (facts.transport == Transport::infiniband) {
    ibv_port_attr attr{};
    if (const int error = qp.verbs().query_port(qp.device().context, qp.port, attr)) {
      return Failure(refusal(qp.device(), {.verb = "ibv_query_port", .object = "port", .creates = false},
                             {.made = false, .error = error}));
    }
    facts.lid = attr.lid;
    qp.gid_index = wish.gid_index.value_or(0);
    if (const std::optional<GidEntry> entry = entry_now(qp, qp.gid_index)) facts.gid = entry->gid;
  } else {
    Result<GidEntry> gid = roce_gid(qp, wish);
    if (!gid) return Failure(std::move(gid.error()));
    facts.gid = gid->gid;
    facts.gid_type = gid->type;
    qp.gid_index = gid->index;
  }
  if (auto depths = read_depths(qp, wish, facts); !depths) return Failure(std::move(depths.error()));

  if (qp.state == IBV_QPS_RESET) {
    if (by_cm) {
      if (auto moved = init_by_cm(qp, wish); !moved) return Failure(std::move(moved.error()));
    } else if (auto moved = to_init({.pkey_index = wish.pkey_index, .access = wish.access, .qkey = wish.qkey});
               !moved) {
      return Failure(std::move(moved.error()));
    }
  }
  qp.facts = facts;
  return facts;
}

}  // namespace verbena
