// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cerrno>

#include "peer/answers.hpp"

namespace conform::peer {

namespace {

void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

}  // namespace

int Answers::domains(Call call, Packet& in, Packet& out) {
  const auto made_mr = [&](const verbena::Made<ibv_mr>& mr) {
    const int error = made(mr, mrs_, out);
    if (error == 0) {
      out.put(mr.handle->handle);
      out.put(mr.handle->lkey);
      out.put(mr.handle->rkey);
    }
    return error;
  };
  const auto made_pd = [&](const verbena::Made<ibv_pd>& pd) {
    const int error = made(pd, pds_, out);
    if (error == 0) out.put(pd.handle->handle);
    return error;
  };
  switch (call) {
    case Call::alloc_pd: {
      ibv_context* context = taken(in, contexts_);
      return context != nullptr ? made_pd(verbs_.alloc_pd(context)) : EINVAL;
    }
    case Call::dealloc_pd:
      return destroyed(in, pds_, [&](ibv_pd* pd) { return verbs_.dealloc_pd(pd); });
    case Call::alloc_parent_domain: {
      ibv_context* context = taken(in, contexts_);
      ibv_parent_domain_init_attr attr{};
      attr.pd = taken(in, pds_);
      attr.td = taken(in, tds_);
      in.get(attr.comp_mask);
      return context != nullptr ? made_pd(verbs_.alloc_parent_domain(context, attr)) : EINVAL;
    }
    case Call::alloc_td: {
      ibv_context* context = taken(in, contexts_);
      ibv_td_init_attr attr{};
      in.get(attr.comp_mask);
      return context != nullptr ? made(verbs_.alloc_td(context, attr), tds_, out) : EINVAL;
    }
    case Call::dealloc_td:
      return destroyed(in, tds_, [&](ibv_td* td) { return verbs_.dealloc_td(td); });
    case Call::reg_mr: {
      ibv_pd* pd = taken(in, pds_);
      const auto address = in.get<std::uint64_t>();
      const auto length = in.get<std::uint64_t>();
      const auto access = in.get<unsigned>();
      return pd != nullptr ? made_mr(verbs_.reg_mr(pd, pointer(address), length, access)) : EINVAL;
    }
    case Call::reg_mr_iova: {
      ibv_pd* pd = taken(in, pds_);
      const auto address = in.get<std::uint64_t>();
      const auto length = in.get<std::uint64_t>();
      const auto iova = in.get<std::uint64_t>();
      const auto access = in.get<unsigned>();
      return pd != nullptr ? made_mr(verbs_.reg_mr_iova(pd, pointer(address), length, iova, access)) : EINVAL;
    }
    case Call::alloc_null_mr: {
      ibv_pd* pd = taken(in, pds_);
      return pd != nullptr ? made_mr(verbs_.alloc_null_mr(pd)) : EINVAL;
    }
    case Call::rereg_mr: {
      ibv_mr* mr = taken(in, mrs_);
      const auto flags = in.get<int>();
      ibv_pd* pd = taken(in, pds_);
      const auto address = in.get<std::uint64_t>();
      const auto length = in.get<std::uint64_t>();
      const auto access = in.get<unsigned>();
      if (mr == nullptr) return EINVAL;
      int code = 0;
      const int error = verbs_.rereg_mr(mr, flags, pd, pointer(address), length, access, code);
      out.put(code);
      out.put(mr->lkey);
      out.put(mr->rkey);
      return error;
    }
    case Call::dereg_mr:
      return destroyed(in, mrs_, [&](ibv_mr* mr) { return verbs_.dereg_mr(mr); });
    case Call::advise_mr: {
      ibv_pd* pd = taken(in, pds_);
      const auto advice = in.get<ibv_advise_mr_advice>();
      const auto flags = in.get<std::uint32_t>();
      const auto count = in.get<std::uint32_t>();
      if (pd == nullptr || count > in.left() / sizeof(ibv_sge)) return EINVAL;
      std::vector<ibv_sge> list(count);
      for (ibv_sge& sge : list) in.get(sge);
      return verbs_.advise_mr(pd, advice, flags, list.data(), count);
    }
    case Call::alloc_mw: {
      ibv_pd* pd = taken(in, pds_);
      const auto type = in.get<ibv_mw_type>();
      if (pd == nullptr) return EINVAL;
      const verbena::Made<ibv_mw> mw = verbs_.alloc_mw(pd, type);
      if (const int error = made(mw, mws_, out); error != 0) return error;
      out.put(mw.handle->handle);
      out.put(mw.handle->rkey);
      return 0;
    }
    case Call::dealloc_mw:
      return destroyed(in, mws_, [&](ibv_mw* mw) { return verbs_.dealloc_mw(mw); });
    case Call::create_ah: {
      ibv_pd* pd = taken(in, pds_);
      auto attr = in.get<ibv_ah_attr>();
      return pd != nullptr ? made(verbs_.create_ah(pd, attr), ahs_, out) : EINVAL;
    }
    case Call::create_ah_from_wc: {
      ibv_pd* pd = taken(in, pds_);
      auto wc = in.get<ibv_wc>();
      const auto has_grh = in.get<bool>();
      auto grh = in.get<ibv_grh>();
      const auto port = in.get<std::uint8_t>();
      if (pd == nullptr) return EINVAL;
      return made(verbs_.create_ah_from_wc(pd, wc, has_grh ? &grh : nullptr, port), ahs_, out);
    }
    case Call::init_ah_from_wc: {
      ibv_context* context = taken(in, contexts_);
      const auto port = in.get<std::uint8_t>();
      auto wc = in.get<ibv_wc>();
      const auto has_grh = in.get<bool>();
      auto grh = in.get<ibv_grh>();
      if (context == nullptr) return EINVAL;
      ibv_ah_attr attr{};
      const int error = verbs_.init_ah_from_wc(context, port, wc, has_grh ? &grh : nullptr, attr);
      out.put(attr);
      return error;
    }
    case Call::destroy_ah:
      return destroyed(in, ahs_, [&](ibv_ah* ah) { return verbs_.destroy_ah(ah); });
    case Call::resolve_eth_l2_from_gid: {
      ibv_context* context = taken(in, contexts_);
      auto attr = in.get<ibv_ah_attr>();
      if (context == nullptr) return EINVAL;
      std::uint8_t mac[6] = {};
      std::uint16_t vlan = 0;
      const int error = verbs_.resolve_eth_l2_from_gid(context, attr, mac, &vlan);
      for (const std::uint8_t byte : mac) out.put(byte);
      out.put(vlan);
      return error;
    }
    default:
      return ENOSYS;
  }
}

}  // namespace conform::peer
