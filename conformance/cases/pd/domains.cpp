// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <string>

#include "cases/bodies.hpp"
#include "rig/rdma.hpp"

namespace conform {

namespace {

using verbena::Feature;
using verbena::Made;

/// Plain verbs in both columns: Verbena has no parent domains of its own.
Object<ibv_pd> parent_domain(Case& c, ibv_parent_domain_init_attr attr) {
  const Made<ibv_pd> made = c.verbs().alloc_parent_domain(c.context(), attr);
  if (!made) return Object<ibv_pd>::refused(made.error);
  return Object<ibv_pd>(made.handle, [verbs = c.ground().verbs, pd = made.handle] { return verbs->dealloc_pd(pd); });
}

Object<ibv_td> thread_domain(Case& c) {
  ibv_td_init_attr attr{};
  const Made<ibv_td> made = c.verbs().alloc_td(c.context(), attr);
  if (!made) return Object<ibv_td>::refused(made.error);
  return Object<ibv_td>(made.handle, [verbs = c.ground().verbs, td = made.handle] { return verbs->dealloc_td(td); });
}

void domains_native(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const auto judged = [&](Feature feature, int error, const std::string& what) {
    if (c.contract().feature(feature).support == verbena::Support::native) c.accepted(error, what);
    if (c.contract().feature(feature).support == verbena::Support::absent) c.refused(error, what);
  };
  const Object<ibv_td> td = thread_domain(c);
  judged(Feature::thread_domain, td.error(), "ibv_alloc_td");
  ibv_parent_domain_init_attr attr{};
  attr.pd = pd.raw();
  const Object<ibv_pd> parent = parent_domain(c, attr);
  judged(Feature::parent_domain, parent.error(), "ibv_alloc_parent_domain");
  if (td && parent) {
    attr.td = td.raw();
    Object<ibv_pd> with_threads = parent_domain(c, attr);
    c.accepted(with_threads, "ibv_alloc_parent_domain with a thread domain");
    c.accepted(with_threads.destroy(), "ibv_dealloc_pd of a parent domain");
  }
}

void stands_for_pd(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  ibv_parent_domain_init_attr attr{};
  attr.pd = pd.raw();
  const Object<ibv_pd> parent = c.made(parent_domain(c, attr), "ibv_alloc_parent_domain");
  const Memory memory(c.verbs().page_size(), c.verbs().page_size());
  const Object<ibv_mr> mr =
      c.made(c.way().mr(pd.raw(), {.address = memory.data(), .length = memory.size()}), "ibv_reg_mr of the domain");
  LoopShape shape{.type = verbena::QpType::rc};
  shape.a.pd = parent.raw();
  Loop loop(c, shape);
  ibv_sge sge{memory.address(), 64, mr->lkey};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, 64), "ibv_post_recv"));
  c.need(c.accepted(loop.post(loop.a(), wr), "ibv_post_send"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS,
              "a send of the domain's region by the parent's queue pair");
}

/// What an allocator was asked for, and gave back.
struct Allocations {
  bool use_default = false;
  int asked = 0;
  std::map<void*, bool> held;

  static void* alloc(ibv_pd*, void* context, std::size_t size, std::size_t alignment, std::uint64_t) {
    auto& self = *static_cast<Allocations*>(context);
    ++self.asked;
    if (self.use_default) return IBV_ALLOCATOR_USE_DEFAULT;
    void* memory = nullptr;
    if (posix_memalign(&memory, std::max(alignment, sizeof(void*)), size) != 0) return nullptr;
    self.held[memory] = true;
    return memory;
  }
  static void free(ibv_pd*, void* context, void* memory, std::uint64_t) {
    auto& self = *static_cast<Allocations*>(context);
    self.held.erase(memory);
    std::free(memory);
  }
};

Object<ibv_pd> allocating(Case& c, ibv_pd* pd, Allocations& allocations) {
  ibv_parent_domain_init_attr attr{};
  attr.pd = pd;
  attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  attr.alloc = Allocations::alloc;
  attr.free = Allocations::free;
  attr.pd_context = &allocations;
  return c.made(parent_domain(c, attr), "ibv_alloc_parent_domain with an allocator");
}

void makes_queues(Case& c, Allocations& allocations) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Object<ibv_pd> parent = allocating(c, pd.raw(), allocations);
  const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = c.within(verbena::Field::cqe, 4)}), "ibv_create_cq");
  for (const verbena::QpType type : c.qp_types()) {
    QpShape shape;
    shape.type = type;
    shape.send_cq = cq.raw();
    shape.cap = {16, 16, 1, 1, 0};
    c.accepted(c.way().qp(parent.raw(), shape), "ibv_create_qp with the parent domain");
  }
}

void allocator_used(Case& c) {
  Allocations allocations;
  makes_queues(c, allocations);
  c.holds(allocations.asked > 0, Seen::value, "alloc was never called");
  c.holds(allocations.held.empty(), Seen::value,
          std::to_string(allocations.held.size()) + " blocks were not given to free");
}

void allocator_default(Case& c) {
  Allocations allocations;
  allocations.use_default = true;
  makes_queues(c, allocations);
}

void td_dealloc_after_use(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  Object<ibv_td> td = c.made(thread_domain(c), "ibv_alloc_td");
  {
    ibv_parent_domain_init_attr attr{};
    attr.pd = pd.raw();
    attr.td = td.raw();
    const Object<ibv_pd> parent = c.made(parent_domain(c, attr), "ibv_alloc_parent_domain");
    const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = c.within(verbena::Field::cqe, 4)}), "ibv_create_cq");
    c.needs_queue_pairs();
    QpShape shape;
    shape.type = c.qp_types().front();
    shape.send_cq = cq.raw();
    const Object<ibv_qp> qp = c.made(c.way().qp(parent.raw(), shape), "ibv_create_qp with the thread domain");
  }
  c.accepted(td.destroy(), "ibv_dealloc_td after all that was made with it is gone");
}

// XRC is libibverbs' own in both columns: Verbena has no such objects.

Object<ibv_xrcd> xrc_domain(Case& c, int fd, int oflags) {
  ibv_xrcd_init_attr init{};
  init.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  init.fd = fd;
  init.oflags = oflags;
  errno = 0;
  ibv_xrcd* domain = ibv_open_xrcd(c.context(), &init);
  if (domain == nullptr) return Object<ibv_xrcd>::refused(errno != 0 ? errno : EINVAL);
  return Object<ibv_xrcd>(domain, [domain] {
    const int error = ibv_close_xrcd(domain);
    return error < 0 ? errno : error;
  });
}

/// A file without a name, for an inode.
class Inode {
public:
  Inode() {
    char path[] = "/tmp/verbena-xrcd-XXXXXX";
    fd_ = mkstemp(path);
    if (fd_ >= 0) unlink(path);
  }
  Inode(const Inode&) = delete;
  Inode& operator=(const Inode&) = delete;
  ~Inode() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const noexcept { return fd_; }

private:
  int fd_ = -1;
};

Object<ibv_srq> xrc_srq(Case& c, ibv_pd* pd, ibv_xrcd* domain, ibv_cq* cq) {
  ibv_srq_init_attr_ex init{};
  init.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
  init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD;
  init.srq_type = IBV_SRQT_XRC;
  init.pd = pd;
  init.xrcd = domain;
  init.cq = cq;
  const Made<ibv_srq> made = c.verbs().create_srq_ex(c.context(), init);
  if (!made) return Object<ibv_srq>::refused(made.error);
  return Object<ibv_srq>(made.handle,
                         [verbs = c.ground().verbs, srq = made.handle] { return verbs->destroy_srq(srq); });
}

void xrcd_anonymous(Case& c) {
  Object<ibv_xrcd> one = c.made(xrc_domain(c, -1, O_CREAT), "ibv_open_xrcd with fd -1 and O_CREAT");
  Object<ibv_xrcd> other = c.made(xrc_domain(c, -1, O_CREAT), "ibv_open_xrcd with fd -1 once more");
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = c.within(verbena::Field::cqe, 4)}), "ibv_create_cq");
  {
    c.accepted(xrc_srq(c, pd.raw(), one.raw(), cq.raw()), "an XRC shared receive queue in an anonymous domain");
  }
  c.accepted(one.destroy(), "ibv_close_xrcd of an anonymous domain");
  c.accepted(other.destroy(), "ibv_close_xrcd of the other one");
}

void xrcd_shared(Case& c) {
  const Inode file;
  const Object<ibv_xrcd> one = c.made(xrc_domain(c, file.fd(), O_CREAT), "ibv_open_xrcd of a file");
  const Object<ibv_xrcd> other = c.made(xrc_domain(c, file.fd(), O_CREAT), "ibv_open_xrcd of the same file");
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_XRC_RECV;
  init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  init.xrcd = one.raw();
  const Made<ibv_qp> target = c.verbs().create_qp_ex(c.context(), init);
  c.need(c.accepted(target.error, "creating a target queue pair in one domain"));
  ibv_qp_open_attr open{};
  open.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  open.qp_num = target.handle->qp_num;
  open.xrcd = other.raw();
  open.qp_type = IBV_QPT_XRC_RECV;
  errno = 0;
  ibv_qp* opened = ibv_open_qp(c.context(), &open);
  c.accepted(opened != nullptr ? 0 : errno, "ibv_open_qp through the other domain");
  if (opened != nullptr) {
    c.equal(opened->qp_num, target.handle->qp_num, "the number of the opened queue pair");
    c.accepted(c.verbs().destroy_qp(opened), "ibv_destroy_qp of the opened one");
  }
  c.accepted(c.verbs().destroy_qp(target.handle), "ibv_destroy_qp of the target");
}

void xrcd_exclusive(Case& c) {
  const Inode file;
  const Object<ibv_xrcd> one =
      c.made(xrc_domain(c, file.fd(), O_CREAT | O_EXCL), "ibv_open_xrcd with O_EXCL of a new file");
  c.refused(xrc_domain(c, file.fd(), O_CREAT | O_EXCL), "ibv_open_xrcd with O_EXCL of a file that has a domain");
}

void xrcd_busy(Case& c) {
  Object<ibv_xrcd> domain = c.made(xrc_domain(c, -1, O_CREAT), "ibv_open_xrcd");
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = c.within(verbena::Field::cqe, 4)}), "ibv_create_cq");
  Object<ibv_srq> srq = c.made(xrc_srq(c, pd.raw(), domain.raw(), cq.raw()), "an XRC shared receive queue");
  const Memory memory(c.verbs().page_size(), c.verbs().page_size());
  const Object<ibv_mr> mr =
      c.made(c.way().mr(pd.raw(), {.address = memory.data(), .length = memory.size()}), "ibv_reg_mr");
  c.need(c.refused(domain.destroy(), "ibv_close_xrcd under a shared receive queue"));
  ibv_sge sge{memory.address(), 64, mr->lkey};
  ibv_recv_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  c.accepted(srq->context->ops.post_srq_recv(srq.raw(), &wr, &bad), "ibv_post_srq_recv after the refusal");
  c.accepted(srq.destroy(), "ibv_destroy_srq after the refusal");
}

}  // namespace

Bodies pd_domain_bodies() {
  static constexpr Body kBodies[] = {
      {"pd.parent_domain.native", domains_native},
      {"pd.parent_domain.stands_for_pd", stands_for_pd},
      {"pd.parent_domain.allocator_used", allocator_used},
      {"pd.parent_domain.allocator_default", allocator_default},
      {"pd.thread_domain.dealloc_after_use", td_dealloc_after_use},
      {"pd.xrcd.anonymous", xrcd_anonymous},
      {"pd.xrcd.shared_by_inode", xrcd_shared},
      {"pd.xrcd.exclusive_refused", xrcd_exclusive},
      {"pd.xrcd.busy", xrcd_busy},
  };
  return kBodies;
}

}  // namespace conform
