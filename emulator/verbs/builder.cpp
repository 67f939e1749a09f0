// SPDX-License-Identifier: Apache-2.0 OR MIT
// ibv_wr_*: work requests that are put together call by call. Source of its rules: ibv_wr_post(3).
#include <cerrno>
#include <cstring>

#include "verbs/emulated_verbs.hpp"

namespace verbena::emulator {

namespace {

Building& building_of(ibv_qp_ex* qp) {
  return *of<Qp>(qp).building;
}

ibv_send_wr& begin(ibv_qp_ex* qp, ibv_wr_opcode opcode) {
  Building& building = building_of(qp);
  Building::Work& work = building.works.emplace_back();
  work.wr.wr_id = qp->wr_id;
  work.wr.send_flags = qp->wr_flags & ~static_cast<unsigned>(IBV_SEND_INLINE);
  work.wr.opcode = opcode;
  return work.wr;
}

ibv_send_wr& rdma(ibv_qp_ex* qp, ibv_wr_opcode opcode, std::uint32_t rkey, std::uint64_t address) {
  ibv_send_wr& wr = begin(qp, opcode);
  wr.wr.rdma.rkey = rkey;
  wr.wr.rdma.remote_addr = address;
  return wr;
}

void atomic(ibv_qp_ex* qp, ibv_wr_opcode opcode, std::uint32_t rkey, std::uint64_t address, std::uint64_t compare_add,
            std::uint64_t swap) {
  ibv_send_wr& wr = begin(qp, opcode);
  wr.wr.atomic.rkey = rkey;
  wr.wr.atomic.remote_addr = address;
  wr.wr.atomic.compare_add = compare_add;
  wr.wr.atomic.swap = swap;
}

/// The work that setters speak of; where none was begun, ibv_wr_complete says so.
Building::Work* last(ibv_qp_ex* qp) {
  Building& building = building_of(qp);
  if (!building.works.empty()) return &building.works.back();
  building.error = EINVAL;
  return nullptr;
}

void add_inline(Building::Work& work, const void* data, std::size_t length) {
  work.wr.send_flags |= IBV_SEND_INLINE;
  const auto* const from = static_cast<const std::byte*>(data);
  work.inline_data.insert(work.inline_data.end(), from, from + length);
}

}  // namespace

int post_building(ibv_qp* plain, Building& building);

void fill_builder(ibv_qp_ex& table) {
  table.wr_start = [](ibv_qp_ex* qp) {
    Building& building = building_of(qp);
    building.one_at_a_time.lock();
    building.works.clear();
    building.error = 0;
  };
  table.wr_abort = [](ibv_qp_ex* qp) { building_of(qp).one_at_a_time.unlock(); };
  table.wr_complete = [](ibv_qp_ex* qp) {
    Building& building = building_of(qp);
    const int error = building.error != 0 ? building.error : post_building(&qp->qp_base, building);
    building.one_at_a_time.unlock();
    return error;
  };
  table.wr_send = [](ibv_qp_ex* qp) { begin(qp, IBV_WR_SEND); };
  table.wr_send_imm = [](ibv_qp_ex* qp, __be32 imm) { begin(qp, IBV_WR_SEND_WITH_IMM).imm_data = imm; };
  table.wr_send_inv = [](ibv_qp_ex* qp, std::uint32_t rkey) { begin(qp, IBV_WR_SEND_WITH_INV).invalidate_rkey = rkey; };
  table.wr_rdma_write = [](ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) {
    rdma(qp, IBV_WR_RDMA_WRITE, rkey, address);
  };
  table.wr_rdma_write_imm = [](ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, __be32 imm) {
    rdma(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, address).imm_data = imm;
  };
  table.wr_rdma_read = [](ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) {
    rdma(qp, IBV_WR_RDMA_READ, rkey, address);
  };
  table.wr_atomic_cmp_swp = [](ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t compare,
                               std::uint64_t swap) {
    atomic(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, address, compare, swap);
  };
  table.wr_atomic_fetch_add = [](ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t add) {
    atomic(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, address, add, 0);
  };
  table.wr_atomic_write = [](ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, const void* data) {
    rdma(qp, IBV_WR_ATOMIC_WRITE, rkey, address);
    add_inline(building_of(qp).works.back(), data, sizeof(std::uint64_t));
  };
  table.wr_local_inv = [](ibv_qp_ex* qp, std::uint32_t rkey) { begin(qp, IBV_WR_LOCAL_INV).invalidate_rkey = rkey; };
  table.wr_bind_mw = [](ibv_qp_ex* qp, ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info* info) {
    ibv_send_wr& wr = begin(qp, IBV_WR_BIND_MW);
    wr.bind_mw.mw = mw;
    wr.bind_mw.rkey = rkey;
    wr.bind_mw.bind_info = *info;
  };
  table.wr_send_tso = [](ibv_qp_ex* qp, void*, std::uint16_t, std::uint16_t) { building_of(qp).error = EOPNOTSUPP; };
  table.wr_set_xrc_srqn = [](ibv_qp_ex* qp, std::uint32_t) { building_of(qp).error = EOPNOTSUPP; };
  table.wr_set_ud_addr = [](ibv_qp_ex* qp, ibv_ah* ah, std::uint32_t number, std::uint32_t qkey) {
    Building::Work* const work = last(qp);
    if (work == nullptr) return;
    work->wr.wr.ud = {ah, number, qkey};
  };
  table.wr_set_sge = [](ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t address, std::uint32_t length) {
    if (Building::Work* const work = last(qp); work != nullptr) work->sges = {{address, length, lkey}};
  };
  table.wr_set_sge_list = [](ibv_qp_ex* qp, std::size_t count, const ibv_sge* list) {
    if (Building::Work* const work = last(qp); work != nullptr) work->sges.assign(list, list + count);
  };
  table.wr_set_inline_data = [](ibv_qp_ex* qp, void* data, std::size_t length) {
    if (Building::Work* const work = last(qp); work != nullptr) add_inline(*work, data, length);
  };
  table.wr_set_inline_data_list = [](ibv_qp_ex* qp, std::size_t count, const ibv_data_buf* list) {
    Building::Work* const work = last(qp);
    if (work == nullptr) return;
    work->wr.send_flags |= IBV_SEND_INLINE;
    for (std::size_t index = 0; index < count; ++index) add_inline(*work, list[index].addr, list[index].length);
  };
}

}  // namespace verbena::emulator
