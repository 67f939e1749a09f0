// SPDX-License-Identifier: Apache-2.0 OR MIT
// Address handles and groups.
#include <cerrno>
#include <cstring>

#include "engine/fabric/address_book.hpp"
#include "engine/wire/bytes.hpp"
#include "nic/faults.hpp"
#include "verbs/emulated_verbs.hpp"
#include "verbs/made.hpp"

namespace verbena::emulator {

namespace {

engine::wire::Gid bytes_of(const ibv_gid& gid) {
  engine::wire::Gid bytes;
  std::memcpy(bytes.data(), gid.raw, sizeof gid.raw);
  return bytes;
}

}  // namespace

Made<ibv_ah> EmulatedVerbs::create_ah(ibv_pd* plain, ibv_ah_attr& attr) {
  const std::scoped_lock lock(host_->mutex);
  Nic& nic = nic_of(plain->context);
  if (!nic.profile().has(Feature::user_ah)) {
    const bool left_alone = nic.profile().deviates(Deviation::handle_errno_left_alone);
    return left_alone ? refused_so<ibv_ah>(nic, kErrnoLeftAlone) : lacking<ibv_ah>(nic);
  }
  if (nic.counts.addresses >= nic.profile().figure(Cap::max_ah)) return refused<ibv_ah>(nic, ENOMEM);
  auto ah = std::make_unique<Ah>();
  const bool unchecked = nic.profile().deviates(Deviation::handle_index_unchecked) && attr.is_global != 0 &&
                         nic.gid(attr.port_num, attr.grh.sgid_index) == nullptr;  // then it leads nowhere
  if (const int error = unchecked ? 0 : nic.resolve(attr, ah->address); error != 0) {
    // rdma-core providers/irdma/uverbs.c irdma_ucreate_ah: what ibv_query_gid returned.
    return refused<ibv_ah>(
        nic, attr.is_global != 0 && nic.profile().deviates(Deviation::handle_errno_minus_one) ? -1 : error);
  }
  ah->base.context = plain->context;
  ah->base.pd = plain;
  ++nic.counts.addresses;
  if (!nic.profile().deviates(Deviation::handles_not_counted)) ++of<Pd>(plain).real().users;
  return {&ah.release()->base};
}

int EmulatedVerbs::destroy_ah(ibv_ah* plain) {
  const std::scoped_lock lock(host_->mutex);
  Nic& nic = nic_of(plain->context);
  if (const int error = faults::in_destroy(nic); error != 0) return error;
  --nic.counts.addresses;
  if (!nic.profile().deviates(Deviation::handles_not_counted)) --of<Pd>(plain->pd).real().users;
  delete &of<Ah>(plain);
  return 0;
}

int EmulatedVerbs::init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc& wc, ibv_grh* grh,
                                   ibv_ah_attr& attr) {
  const Nic& nic = nic_of(context);
  attr = {};
  attr.dlid = wc.slid;
  attr.sl = wc.sl;
  attr.src_path_bits = wc.dlid_path_bits;
  attr.port_num = port;
  if ((wc.wc_flags & IBV_WC_GRH) == 0) return 0;
  if (grh == nullptr) return EINVAL;
  // Of IPv4 the header lies in the last 20 of the 40 bytes (linux include/rdma/ib_verbs.h union rdma_network_hdr).
  const auto* const header = reinterpret_cast<const std::byte*>(grh);
  const bool v4 = header[20] == std::byte{0x45} && header[0] == std::byte{0};
  engine::wire::Gid source{};
  engine::wire::Gid destination{};
  if (v4) {
    const auto at = [header](std::size_t offset) { return std::to_integer<std::uint8_t>(header[offset]); };
    source = engine::wire::mapped(at(32), at(33), at(34), at(35));
    destination = engine::wire::mapped(at(36), at(37), at(38), at(39));
    attr.grh.traffic_class = at(21);
    attr.grh.hop_limit = 0xff;
  } else {
    source = bytes_of(grh->sgid);
    destination = bytes_of(grh->dgid);
    const auto flow = engine::wire::load<std::uint32_t>(header);
    attr.grh.flow_label = flow & 0xfffff;
    attr.grh.traffic_class = static_cast<std::uint8_t>((flow >> 20) & 0xff);
    attr.grh.hop_limit = 0xff;
  }
  attr.is_global = 1;
  std::memcpy(attr.grh.dgid.raw, source.data(), source.size());
  for (const Gid& gid : nic.gids(port)) {
    if (gid.bytes != destination) continue;
    attr.grh.sgid_index = static_cast<std::uint8_t>(gid.index);
    return 0;
  }
  return EINVAL;
}

Made<ibv_ah> EmulatedVerbs::create_ah_from_wc(ibv_pd* pd, ibv_wc& wc, ibv_grh* grh, std::uint8_t port) {
  ibv_ah_attr attr{};
  if (const int error = init_ah_from_wc(pd->context, port, wc, grh, attr); error != 0)
    return refused<ibv_ah>(nic_of(pd->context), error);
  return create_ah(pd, attr);
}

int EmulatedVerbs::resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr& attr, std::uint8_t mac[6],
                                           std::uint16_t* vlan) {
  if (nic_of(context).gid(attr.port_num, attr.grh.sgid_index) == nullptr) return EINVAL;
  const std::uint8_t made[6] = {0x02, 0, 0, 0, attr.port_num, attr.grh.dgid.raw[15]};
  std::memcpy(mac, made, sizeof made);
  if (vlan != nullptr) *vlan = 0xffff;
  return 0;
}

int EmulatedVerbs::attach_mcast(ibv_qp* plain, const ibv_gid& gid, std::uint16_t lid) {
  const std::scoped_lock lock(host_->mutex);
  Qp& qp = of<Qp>(reinterpret_cast<ibv_qp_ex*>(plain));
  Nic& nic = nic_of(plain->context);
  if (!nic.profile().has(Feature::multicast)) return nic.profile().unsupported();
  const engine::wire::Gid group = bytes_of(gid);
  if (plain->qp_type != IBV_QPT_UD || !engine::fabric::multicast(group)) return EINVAL;
  // Linux drivers/infiniband/core/verbs.c is_valid_mcast_lid: RoCE has none, whatever is said.
  constexpr std::uint16_t kFirstLid = 0xc000;
  constexpr std::uint16_t kPermissiveLid = 0xffff;
  const bool infiniband = nic.profile().transport(1) == Transport::infiniband;
  if (infiniband && (lid < kFirstLid || lid == kPermissiveLid)) return EINVAL;
  const std::size_t members = nic.adapter().members(group);
  const std::uint64_t most = nic.profile().figure(Cap::max_mcast_qp_attach);
  if (most > 0 && members >= most && !nic.adapter().member(qp.qp, group)) return ENOMEM;
  // A second time is no second membership (linux core/uverbs_cmd.c ib_uverbs_attach_mcast).
  if (nic.adapter().attach(qp.qp, group)) ++qp.groups;
  nic.join(group);
  return 0;
}

int EmulatedVerbs::detach_mcast(ibv_qp* plain, const ibv_gid& gid, std::uint16_t /*lid*/) {
  const std::scoped_lock lock(host_->mutex);
  Qp& qp = of<Qp>(reinterpret_cast<ibv_qp_ex*>(plain));
  Nic& nic = nic_of(plain->context);
  if (!nic.profile().has(Feature::multicast)) return nic.profile().unsupported();
  if (!nic.adapter().detach(qp.qp, bytes_of(gid))) return EINVAL;
  nic.leave(bytes_of(gid));
  --qp.groups;
  return 0;
}

}  // namespace verbena::emulator
