// SPDX-License-Identifier: Apache-2.0 OR MIT
// On a real device: what the probe says is what verbs says, a second open is a cache hit, objects are made and let go,
// and a lock limit that is too low is named. `probe -d DEVICE`.
#include <infiniband/verbs.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "verbena/ah.hpp"
#include "verbena/cq.hpp"
#include "verbena/library.hpp"
#include "verbena/mr.hpp"
#include "verbena/srq.hpp"

namespace {

using namespace verbena;

int failures = 0;

void check(bool holds, const char* promise, const std::string& detail = {}) {
  std::printf("%s  %s%s%s\n", holds ? "ok    " : "FAILED", promise, detail.empty() ? "" : ": ", detail.c_str());
  if (!holds) ++failures;
}

template <class T>
bool made(const Result<T>& result, const char* promise) {
  check(result.has_value(), promise, result ? std::string() : to_string(result.error()));
  return result.has_value();
}

void compare_with_verbs(const Device& device) {
  ibv_device_attr attr{};
  check(ibv_query_device(device.raw(), &attr) == 0, "plain verbs answer");
  const Caps& caps = device.caps();
  const auto same = [&](Cap cap, std::uint64_t value) { check(caps[cap] == value, std::string(name(cap)).c_str()); };
  same(Cap::max_qp_wr, static_cast<std::uint64_t>(attr.max_qp_wr));
  same(Cap::max_sge, static_cast<std::uint64_t>(attr.max_sge));
  same(Cap::max_cqe, static_cast<std::uint64_t>(attr.max_cqe));
  same(Cap::max_mr_size, attr.max_mr_size);
  same(Cap::max_qp_rd_atom, static_cast<std::uint64_t>(attr.max_qp_rd_atom));
  check(caps.ports.size() == attr.phys_port_cnt, "every port is probed");
  const DeviceId& id = device.id();
  check(!id.driver.empty() && id.driver_found_by == DriverFoundBy::netlink, "the driver is told by netlink", id.driver);
  check(id.provider.find("lib" + id.driver) != std::string::npos, "the provider is the driver's own", id.provider);
  check(id.uverbs_abi.has_value(), "the uverbs ABI is known");
  check(id.index.has_value(), "the kernel's device index is known");
  check(!id.rdma_core.empty(), "rdma-core's version is known", id.rdma_core);
  for (const PortId& port : id.ports) {
    check(port.transport != Transport::unknown, "the transport is known", std::string(name(port.transport)));
    check(!port.netdev.empty(), "the port's network device is known", port.netdev);
  }
}

void compare_gids(const Device& device) {
  for (const PortCaps& port : device.caps().ports) {
    check(!port.gids.empty(), "there are GIDs");
    for (const GidEntry& gid : port.gids) {
      ibv_gid raw{};
      check(ibv_query_gid(device.raw(), port.number, static_cast<int>(gid.index), &raw) == 0 &&
                std::memcmp(raw.raw, gid.gid.data(), sizeof raw.raw) == 0,
            "a GID is what verbs says at its index", std::to_string(gid.index));
    }
  }
}

void make_objects(const Device& device) {
  const auto channel = CompChannel::create(device);
  if (!made(channel, "a completion channel is made")) return;
  const auto cq = Cq::create(device, CqRequest{Wish{100}}, &*channel);
  if (!made(cq, "a completion queue is made")) return;
  check(cq->grant().adjustments.empty(), "100 entries are granted as asked");
  check(cq->raw()->cqe >= 100, "the provider wrote back no less");
  check(made(cq->arm(), "the queue can be armed") && channel->wait(0).error().kind == ErrorKind::timeout,
        "and nothing completes on its own");
  const auto most = device.contract(1).value()->domain(Field::cqe).largest_grant();
  const auto largest = Cq::create(device, CqRequest{Wish{static_cast<std::uint32_t>(most), 1}});
  if (made(largest, "the deepest queue that the contract allows is made")) {
    check(largest->grant().cqe.granted == most && largest->grant().ladder.empty(), "at its first try");
  }
  const auto beyond = Cq::create(device, CqRequest{Wish{static_cast<std::uint32_t>(most) + 1, {}, Policy::require}});
  check(!beyond && beyond.error().allowed == most, "one more is refused with the limit",
        beyond ? "" : to_string(beyond.error()));

  const auto pd = device.alloc_pd();
  if (!made(pd, "a protection domain is made")) return;
  std::vector<char> memory(1U << 20);
  MrRequest request;
  request.length = memory.size();
  request.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  const auto mr = Mr::reg(*pd, memory.data(), request);
  if (made(mr, "1 MiB is registered")) check(mr->length() == memory.size(), "all of it");
  check(!Mr::reg(*pd, memory.data(), MrRequest{}), "no bytes at all are refused");
  const auto srq = Srq::create(*pd, SrqRequest{Wish{64}, Wish{1}});
  if (made(srq, "a shared receive queue is made")) {
    // libsiw has no query_srq (rdma-core providers/siw/siw.c).
    const auto now = srq->query();
    check(now || now.error().kind == ErrorKind::unsupported, "and can be queried, or says that it cannot",
          now ? "" : to_string(now.error()));
  }
  check(device.counters().destroy_failures == 0, "nothing failed to be destroyed");
}

void drop_lock_right() {
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return;
  data[CAP_IPC_LOCK / 32].effective &= ~(1U << (CAP_IPC_LOCK % 32));
  ::syscall(SYS_capset, &header, data.data());
}

void run_into_the_lock_limit(const Device& device) {
  const auto pd = device.alloc_pd();
  if (!pd) return;
  rlimit limit{};
  limit.rlim_cur = limit.rlim_max = 64U << 10;
  if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
    std::printf("skip    the lock limit cannot be lowered here\n");
    return;
  }
  drop_lock_right();
  std::vector<char> memory(4U << 20);
  MrRequest request;
  request.length = memory.size();
  request.access = IBV_ACCESS_LOCAL_WRITE;
  const auto mr = Mr::reg(*pd, memory.data(), request);
  check(!mr && mr.error().kind == ErrorKind::no_memory, "registering beyond the lock limit is no_memory",
        mr ? "it was registered" : to_string(mr.error()));
  if (!mr) {
    check(mr.error().text.find("64 KiB") != std::string::npos && mr.error().text.find("4 MiB") != std::string::npos,
          "with the limit and the need");
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string wanted;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) == "-d") wanted = argv[i + 1];
  }
  auto library = Library::create();
  if (!library) {
    std::printf("%s\n", to_string(library.error()).c_str());
    return 1;
  }
  const auto listed = library->devices();
  if (!listed || listed->empty()) {
    std::printf("skip    no RDMA device on this host\n");
    return 77;
  }
  for (const ListedDevice& device : *listed) {
    std::printf("        %s%s%s\n", to_string(device.id).c_str(), device.openable ? "" : ": ", device.why_not.c_str());
  }
  if (wanted.empty()) wanted = listed->front().id.name;
  const auto device = library->open(wanted);
  if (!made(device, "the device opens")) return 1;
  std::printf("        %s\n", to_string(device->id()).c_str());
  compare_with_verbs(*device);
  compare_gids(*device);
  const auto again = library->open(wanted);
  check(again && again->counters().probe_cache_hits == 1, "a second open takes what the first one learnt");
  const auto none = library->open(wanted + "x");
  check(!none && none.error().kind == ErrorKind::no_device, "an unknown device is refused",
        none ? "" : to_string(none.error()));
  make_objects(*device);
  run_into_the_lock_limit(*device);
  std::printf("%d failed\n", failures);
  return failures == 0 ? 0 : 1;
}
