// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/qp/shape.hpp"
#include "cases/steps.hpp"
#include "rig/loop.hpp"
#include "rig/rdma.hpp"

namespace conform {

namespace {

using verbena::Behaviour;
using verbena::Choice;
using verbena::Domain;
using verbena::Field;

/// A hexadecimal number of the device's PCI parent; empty where it has none.
std::optional<std::uint32_t> of_pci(Case& c, const char* file) {
  std::string text;
  if (c.verbs().read_file("/sys/class/infiniband/" + c.device().id().name + "/device/" + file, text) != 0) return {};
  std::uint32_t value = 0;
  const char* begin = text.data() + (text.starts_with("0x") ? 2 : 0);
  if (std::from_chars(begin, text.data() + text.size(), value, 16).ec != std::errc{}) return {};
  return value;
}

void pci_not_vendor_id(Case& c) {
  const verbena::DeviceId& id = c.contract().device();
  const auto same = [&](const std::optional<std::uint32_t>& is, const char* file) {
    const std::optional<std::uint32_t> must = of_pci(c, file);
    c.holds(is == must, Seen::value,
            std::string(file) + " of the identity is " + (is ? std::to_string(*is) : "unknown") + " and sysfs says " +
                (must ? std::to_string(*must) : "none"));
  };
  if (!c.device().id().model.empty()) return c.note("a model has no PCI parent of its own");
  same(id.pci_vendor, "vendor");
  // Without a PCI parent the part that verbs tell stands in.
  if (id.pci_vendor) same(id.part_id, "device");
  for (const verbena::RuleTrace& rule : c.contract().trace()) {
    c.holds(!rule.applied || rule.why_not.empty(), Seen::value, rule.id + " is applied and says why it is not");
  }
}

void vendor_id_zero(Case& c) {
  const ibv_device_attr attr = queried_device(c);
  if (attr.vendor_id != 0 || attr.vendor_part_id != 0) {
    return c.note("vendor_id and vendor_part_id are not both 0: nothing to make up for");
  }
  const verbena::DeviceId& id = c.device().id();
  c.holds(id.pci_vendor.has_value() && id.part_id.value_or(0) != 0, Seen::value,
          "a device without a verbs vendor and part has no PCI part in its identity");
  c.holds(id.pci_vendor == of_pci(c, "vendor"), Seen::value, "the vendor of the identity is not the PCI parent's");
}

/// What is there now: ibv_query_device gives what the kernel was told when the device was registered.
ibv_device_attr counts_now(Case& c) {
  ibv_device_attr_ex attr{};
  c.need(c.accepted(c.verbs().query_device_ex(c.context(), nullptr, attr), "ibv_query_device_ex"));
  return attr.orig_attr;
}

void counts_shrink(Case& c) {
  const ibv_device_attr before = counts_now(c);
  std::vector<Object<ibv_pd>> domains;
  std::vector<Object<ibv_cq>> queues;
  std::vector<Object<ibv_mr>> regions;
  std::vector<Object<ibv_qp>> pairs;
  constexpr int kMade = 3;
  const Memory memory(c.verbs().page_size(), c.verbs().page_size());
  c.needs_queue_pairs();
  for (int made = 0; made < kMade; ++made) {
    domains.push_back(c.made(c.way().pd(), "ibv_alloc_pd"));
    queues.push_back(c.made(c.way().cq({.cqe = c.within(Field::cqe, 4)}), "ibv_create_cq"));
    regions.push_back(
        c.made(c.way().mr(domains.back().raw(), {.address = memory.data(), .length = memory.size()}), "ibv_reg_mr"));
    QpShape shape;
    shape.type = c.qp_types().front();
    shape.send_cq = queues.back().raw();
    pairs.push_back(c.made(c.way().qp(domains.back().raw(), shape), "ibv_create_qp"));
  }
  const ibv_device_attr after = counts_now(c);
  const bool shrinks = c.contract().is(Behaviour::caps_shrink_with_use, Choice::yes);
  const auto count = [&](const char* name, int then, int now) {
    if (shrinks)
      c.holds(now <= then - kMade, Seen::value,
              std::string(name) + " is " + std::to_string(now) + " after " + std::to_string(then) + " and " +
                  std::to_string(kMade) + " made, where the contract says that it is what is left");
    else
      c.equal(now, then, std::string(name) + " after objects were made");
  };
  count("max_qp", before.max_qp, after.max_qp);
  count("max_cq", before.max_cq, after.max_cq);
  count("max_mr", before.max_mr, after.max_mr);
  count("max_pd", before.max_pd, after.max_pd);
  // The device could go while these stand; they go in the order in which verbs allow it.
  pairs.clear();
  regions.clear();
  queues.clear();
}

/// Sends and receives once, so that what was refused elsewhere has left these ends intact.
void carries(Case& c, Loop& loop, const std::string& when) {
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, kGrhBytes + 64), "ibv_post_recv " + when));
  c.need(c.accepted(loop.send(loop.a(), 2, 0, 64), "ibv_post_send " + when));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send " + when);
  c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "a receive " + when);
}

/// No more than 256, whatever the contract counts, so that it ends; the refusal is then not reached.
void max_qp(Case& c) {
  constexpr std::uint64_t kMost = 256;
  const Domain& domain = c.contract().domain(Field::max_qp);
  const std::uint64_t promised = domain.known ? domain.largest_grant() : 1;
  const std::uint64_t count = std::min(promised, kMost);
  c.needs_queue_pairs();
  Loop loop(c, {.type = c.qp_types().front()});
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = c.within(Field::cqe, 4)}), "ibv_create_cq");
  QpShape shape;
  shape.type = c.qp_types().front();
  shape.send_cq = cq.raw();
  std::vector<Object<ibv_qp>> pairs;
  // Two of the promised are the loop's; what other programs hold is theirs where the device is not ours alone.
  for (std::uint64_t made = 2; made < count; ++made) {
    Object<ibv_qp> pair = c.way().qp(pd.raw(), shape);
    if (!pair && !c.ground().alone) break;
    c.need(c.accepted(pair, "ibv_create_qp, number " + std::to_string(made + 1) + " of " + std::to_string(promised)));
    pairs.push_back(std::move(pair));
  }
  for (std::size_t one = 0; one < pairs.size(); ++one) {
    for (std::size_t other = one + 1; other < pairs.size(); ++other) {
      c.holds(pairs[one]->qp_num != pairs[other]->qp_num, Seen::value, "two queue pairs have one number");
    }
  }
  if (count == promised) {
    const Object<ibv_qp> beyond = c.way().qp(pd.raw(), shape);  // refused or not, the others stay
    c.note(beyond ? "one more than max_qp was made" : "one more than max_qp was refused");
  } else {
    c.note("max_qp is " + std::to_string(promised) + ", of which " + std::to_string(count) + " were made");
  }
  carries(c, loop, "beside " + std::to_string(pairs.size()) + " further queue pairs");
}

void total_wr(Case& c) {
  // Where the device has a budget, what it allows; else four queues of up to 4096.
  const Domain& budget = c.contract().domain(Field::total_wr);
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = c.within(Field::cqe, 4)}), "ibv_create_cq");
  c.needs_queue_pairs();
  constexpr std::uint32_t kPairs = 4;
  const std::uint32_t depth = std::min(4096U, most(c, c.qp_types().front(), {CapField::send_wr}).max_send_wr);
  std::uint64_t left = budget.known ? budget.largest_grant() : std::uint64_t{depth} * kPairs;
  std::vector<Object<ibv_qp>> pairs;
  while (pairs.size() < kPairs && left > 1) {
    QpShape shape;
    shape.type = c.qp_types().front();
    shape.send_cq = cq.raw();
    shape.cap = {static_cast<std::uint32_t>(std::min<std::uint64_t>(depth, left - 1)), 1, 1, 1, 0};
    left -= shape.cap.max_send_wr + shape.cap.max_recv_wr;
    ibv_qp_cap granted{};
    Object<ibv_qp> pair = c.way().qp(pd.raw(), shape, &granted);
    c.need(c.accepted(pair, "ibv_create_qp of " + std::to_string(shape.cap.max_send_wr) + " work requests"));
    c.holds(granted.max_send_wr >= shape.cap.max_send_wr, Seen::value, "fewer work requests were granted than asked");
    pairs.push_back(std::move(pair));
  }
  c.holds(!pairs.empty(), Seen::value, "the budget of work requests has no room for one queue pair");
}

void read_atomic_budget(Case& c) {
  const auto depth = static_cast<std::uint8_t>(
      std::min<std::uint32_t>(c.within(Field::max_dest_rd_atomic, 255), c.within(Field::max_rd_atomic, 255)));
  c.holds(depth >= 1, Seen::value, "no READ in flight is allowed");
  // Each loop has two responders; where the budget is the device's, no more than it has.
  std::uint32_t loops = 3;
  const Domain& budget = c.contract().domain(Field::max_res_rd_atom);
  if (c.contract().is(Behaviour::rd_atomic_budget, Choice::shared) && budget.known) {
    loops = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(budget.max / (2U * depth), 1, loops));
  }
  std::vector<std::unique_ptr<Loop>> made;
  for (std::uint32_t count = 0; count < loops; ++count) {
    LoopShape shape = open_to_all(c);
    shape.terms.max_rd_atomic = depth;
    shape.terms.max_dest_rd_atomic = depth;
    made.push_back(std::make_unique<Loop>(c, shape));
  }
  for (const auto& loop : made) {
    loop->b().memory->fill(5);
    works(c, *loop,
          {.opcode = IBV_WR_RDMA_READ, .address = loop->b().remote(0), .rkey = loop->b().rkey(), .length = 64},
          "a READ of a queue pair with the full responder depth");
    c.holds(std::equal(loop->b().data(), loop->b().data() + 64, loop->a().data()), Seen::no_data,
            "a READ of a queue pair with the full responder depth brought other bytes");
  }
}

/// RLIMIT_MEMLOCK of this process until the end of the scope.
class MemlockLimit {
public:
  explicit MemlockLimit(rlim_t bytes) {
    getrlimit(RLIMIT_MEMLOCK, &before_);
    const rlimit limit{std::min(bytes, before_.rlim_max), before_.rlim_max};
    setrlimit(RLIMIT_MEMLOCK, &limit);
  }
  MemlockLimit(const MemlockLimit&) = delete;
  MemlockLimit& operator=(const MemlockLimit&) = delete;
  ~MemlockLimit() { setrlimit(RLIMIT_MEMLOCK, &before_); }

private:
  rlimit before_{};
};

void memory_failure(Case& c) {
  const std::size_t page = c.verbs().page_size();
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Memory memory(64 * page, page);
  const MemlockLimit limit(16 * page);
  if (c.verbs().may_lock_memory()) c.blocked("no_privilege", "the process may lock memory beyond its limit");
  const Object<ibv_mr> mr = c.way().mr(pd.raw(), {.address = memory.data(), .length = memory.size()});
  int wanted = ENOMEM;
  if (!c.through_verbena()) {
    if (c.contract().is(Behaviour::memory_failure_errno, Choice::efault)) wanted = EFAULT;
    if (c.contract().is(Behaviour::memory_failure_errno, Choice::eio)) wanted = EIO;
  }
  if (mr || c.through_verbena()) c.equal(mr.error(), wanted, "the errno of a creation that finds no memory");
  // The core's own answer comes before the driver's.
  else
    c.refused(mr, "ibv_reg_mr of more than may be locked", {wanted, ENOMEM});
}

}  // namespace

Bodies device_objects_bodies() {
  static constexpr Body kBodies[] = {
      {"device.match.pci_not_vendor_id", pci_not_vendor_id},
      {"device.query.vendor_id_zero", vendor_id_zero},
      {"device.query.counts_shrink", counts_shrink},
      {"device.objects.max_qp", max_qp},
      {"device.objects.total_wr", total_wr},
      {"device.objects.read_atomic_budget", read_atomic_budget},
      {"device.objects.memory_failure", memory_failure},
  };
  return kBodies;
}

}  // namespace conform
