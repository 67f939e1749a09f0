// SPDX-License-Identifier: Apache-2.0 OR MIT
// RDMA WRITEs within a process, from ibv_post_send to their completions: an emulated NIC with all its checks beside a
// bare executor, which looks at key, bounds and access, copies, and writes a completion; and beside memcpy. In blocks
// that take turns.
//   emulated_write_bench           prints nanoseconds of processor time, medians, ratio, the worst block's ratio
//   emulated_write_bench --count emulated|bare N   does N WRITEs of 64 bytes, for valgrind --tool=callgrind
#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "blocks.hpp"
#include "verbena/model.hpp"
#include "verbena/verbs.hpp"
#include "verbs/emulated.hpp"

namespace {

constexpr std::size_t kLargest = std::size_t{1} << 20;
constexpr std::uint32_t kDepth = 64;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

template <class T>
T* made(T* value, const char* what) {
  if (value != nullptr) return value;
  std::perror(what);
  std::exit(1);
}

void must(int error, const char* what) {
  if (error == 0) return;
  errno = error;
  std::perror(what);
  std::exit(1);
}

/// Where a WRITE goes from and to, and through what.
struct Path {
  ibv_qp* qp = nullptr;
  ibv_cq* cq = nullptr;
  std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::uint32_t lkey = 0;
  std::uint32_t rkey = 0;
};

// ---- the bare executor

struct Registered {
  std::uintptr_t address = 0;
  std::size_t length = 0;
  int access = 0;
  ibv_pd* pd = nullptr;
};

struct BareCq {
  ibv_cq cq{};
  std::array<ibv_wc, kDepth> ring{};
  std::uint32_t head = 0, tail = 0;
};

struct BareQp {
  ibv_qp qp{};
  BareCq* sends = nullptr;
  const std::vector<Registered>* regions = nullptr;
};

const Registered* reach(const BareQp& qp, std::uint32_t key, std::uint64_t address, std::uint32_t length, int access) {
  if (key >= qp.regions->size()) return nullptr;
  const Registered& region = (*qp.regions)[key];
  const bool inside =
      address >= region.address && length <= region.length && address - region.address <= region.length - length;
  return inside && region.pd == qp.qp.pd && (region.access & access) == access ? &region : nullptr;
}

int bare_post(ibv_qp* plain, ibv_send_wr* list, ibv_send_wr** bad) {
  BareQp& qp = *reinterpret_cast<BareQp*>(plain);
  BareCq& cq = *qp.sends;
  for (ibv_send_wr* wr = list; wr != nullptr; wr = wr->next) {
    if (qp.qp.state != IBV_QPS_RTS || cq.tail - cq.head == kDepth || wr->num_sge != 1) {
      *bad = wr;
      return EINVAL;
    }
    const ibv_sge& sge = *wr->sg_list;
    const bool well = reach(qp, sge.lkey, sge.addr, sge.length, 0) != nullptr &&
                      reach(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, sge.length, IBV_ACCESS_REMOTE_WRITE);
    if (well) {
      std::memcpy(reinterpret_cast<void*>(wr->wr.rdma.remote_addr), reinterpret_cast<const void*>(sge.addr),
                  sge.length);
    }
    ibv_wc& wc = cq.ring[cq.tail++ % kDepth];
    wc = {};
    wc.wr_id = wr->wr_id;
    wc.status = well ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR;
    wc.opcode = IBV_WC_RDMA_WRITE;
    wc.qp_num = qp.qp.qp_num;
    wc.byte_len = sge.length;
  }
  return 0;
}

int bare_poll(ibv_cq* plain, int count, ibv_wc* out) {
  BareCq& cq = *reinterpret_cast<BareCq*>(plain);
  int found = 0;
  while (found < count && cq.head != cq.tail) out[found++] = cq.ring[cq.head++ % kDepth];
  return found;
}

class Bare {
public:
  explicit Bare(std::vector<std::byte>& from, std::vector<std::byte>& to) {
    context_.ops.post_send = bare_post;
    context_.ops.poll_cq = bare_poll;
    regions_ = {{},
                {reinterpret_cast<std::uintptr_t>(from.data()), from.size(), kAccess, &pd_},
                {reinterpret_cast<std::uintptr_t>(to.data()), to.size(), kAccess, &pd_}};
    cq_.cq.context = &context_;
    qp_.qp.context = &context_;
    qp_.qp.pd = &pd_;
    qp_.qp.state = IBV_QPS_RTS;
    qp_.sends = &cq_;
    qp_.regions = &regions_;
    path = {&qp_.qp, &cq_.cq, from.data(), to.data(), 1, 2};
  }
  Path path;

private:
  ibv_context context_{};
  ibv_pd pd_{};
  BareCq cq_;
  BareQp qp_;
  std::vector<Registered> regions_;
};

// ---- the emulated NIC

class Emulated {
public:
  Emulated(std::vector<std::byte>& from, std::vector<std::byte>& to) {
    verbena::emulator::EmulatedOptions options;
    auto model = verbena::load_model("strict");
    if (!model) std::exit(1);
    options.models.push_back(*std::move(model));
    verbs_ = verbena::emulator::emulated_verbs(std::move(options));
    int count = 0;
    ibv_device** const list = made(verbs_->get_device_list(count).handle, "get_device_list");
    ibv_context* const context = made(verbs_->open_device(*list).handle, "open_device");
    ibv_pd* const pd = made(verbs_->alloc_pd(context).handle, "alloc_pd");
    ibv_mr* const source = made(verbs_->reg_mr(pd, from.data(), from.size(), kAccess).handle, "reg_mr");
    ibv_mr* const target = made(verbs_->reg_mr(pd, to.data(), to.size(), kAccess).handle, "reg_mr");
    ibv_cq* const cq = made(verbs_->create_cq(context, kDepth, nullptr, nullptr, 0).handle, "create_cq");
    ibv_qp* const qp = create(pd, cq);
    ibv_qp* const other = create(pd, cq);
    connect(context, qp, other->qp_num);
    connect(context, other, qp->qp_num);
    path = {qp, cq, from.data(), to.data(), source->lkey, target->rkey};
  }
  Path path;

private:
  ibv_qp* create(ibv_pd* pd, ibv_cq* cq) {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = cq;
    attr.qp_type = IBV_QPT_RC;
    attr.cap = {.max_send_wr = kDepth, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    return made(verbs_->create_qp(pd, attr).handle, "create_qp");
  }

  void connect(ibv_context* context, ibv_qp* qp, std::uint32_t number) {
    constexpr int kGid = 1;
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    must(verbs_->modify_qp(qp, attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "INIT");
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = number;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.sgid_index = kGid;
    attr.ah_attr.grh.hop_limit = 64;
    must(verbs_->query_gid(context, 1, kGid, attr.ah_attr.grh.dgid), "query_gid");
    must(verbs_->modify_qp(qp, attr,
                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
         "RTR");
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 14;
    attr.retry_cnt = attr.rnr_retry = 7;
    attr.max_rd_atomic = 1;
    must(verbs_->modify_qp(qp, attr,
                           IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                               IBV_QP_MAX_QP_RD_ATOMIC),
         "RTS");
  }

  std::shared_ptr<verbena::Verbs> verbs_;
};

/// WRITEs of that size, so many a call, polled until all have come.
class Writes {
public:
  Writes(const Path& path, std::uint32_t bytes, std::uint32_t batch) : path_(path), batch_(batch) {
    sge_ = {reinterpret_cast<std::uintptr_t>(path.from), bytes, path.lkey};
    for (std::uint32_t index = 0; index < batch; ++index) {
      ibv_send_wr& wr = list_[index];
      wr.wr_id = index;
      wr.next = index + 1 < batch ? &list_[index + 1] : nullptr;
      wr.sg_list = &sge_;
      wr.num_sge = 1;
      wr.opcode = IBV_WR_RDMA_WRITE;
      wr.send_flags = IBV_SEND_SIGNALED;
      wr.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(path.to);
      wr.wr.rdma.rkey = path.rkey;
    }
  }
  Writes(const Writes&) = delete;
  Writes& operator=(const Writes&) = delete;

  void once() {
    ibv_send_wr* bad = nullptr;
    must(ibv_post_send(path_.qp, list_.data(), &bad), "ibv_post_send");
    for (std::uint32_t found = 0; found < batch_;) {
      const int more = ibv_poll_cq(path_.cq, static_cast<int>(batch_), done_.data());
      for (int index = 0; index < more; ++index) must(done_[static_cast<std::size_t>(index)].status, "a completion");
      found += static_cast<std::uint32_t>(more);
    }
  }

private:
  Path path_;
  std::uint32_t batch_;
  ibv_sge sge_{};
  std::array<ibv_send_wr, kDepth> list_{};
  std::array<ibv_wc, kDepth> done_{};
};

void compare(const Path& emulated, const Path& bare, std::uint32_t bytes, std::uint32_t batch) {
  Writes through_emulated(emulated, bytes, batch), through_bare(bare, bytes, batch);
  constexpr int kBlocks = 10, kSamples = 51;
  const int calls = static_cast<int>(bytes >= kLargest ? 4 : 512 / batch);
  bench::Side ours, theirs, plain;
  for (int block = 0; block < kBlocks; ++block) {
    for (bench::Side* const side : {&ours, &theirs, &plain}) side->next_block();
    for (int sample = 0; sample < kSamples; ++sample) {
      ours.time([&] {
        for (int call = 0; call < calls; ++call) through_emulated.once();
      });
      theirs.time([&] {
        for (int call = 0; call < calls; ++call) through_bare.once();
      });
      plain.time([&] {
        for (int call = 0; call < calls; ++call) {
          for (std::uint32_t index = 0; index < batch; ++index) {
            std::memcpy(emulated.to, emulated.from, bytes);
            asm volatile("" ::: "memory");
          }
        }
      });
    }
  }
  const double each = static_cast<double>(calls) * batch;
  const bench::Comparison found = bench::compare(ours, theirs);
  const bench::Comparison copy = bench::compare(ours, plain);
  std::printf(
      "%7u bytes, %u a call: emulated %9.1f ns, bare %9.1f ns, ratio %5.2f, worst block %5.2f; memcpy %9.1f ns, %4.2f "
      "of its rate\n",
      bytes, batch, found.ours / each, found.theirs / each, found.ratio, found.worst_ratio, copy.theirs / each,
      1 / copy.ratio);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::byte> from(kLargest), to(kLargest);
  Emulated emulated(from, to);
  Bare bare(from, to);
  if (argc == 4 && std::string_view(argv[1]) == "--count") {
    const Path& path = std::string_view(argv[2]) == "bare" ? bare.path : emulated.path;
    Writes writes(path, 64, 1);
    for (int left = std::atoi(argv[3]); left > 0; --left) writes.once();
    return 0;
  }
  for (const std::uint32_t batch : {1U, 8U}) compare(emulated.path, bare.path, 64, batch);
  for (const std::uint32_t bytes : {4096U, 65536U, static_cast<std::uint32_t>(kLargest)})
    compare(emulated.path, bare.path, bytes, 1);
}
