// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

namespace verbena::fake {

struct FakePort {
  ibv_port_attr attr{};
  std::vector<ibv_gid_entry> gids;
  std::string netdev;
};

/// Anything asked above `above` is refused with `error`. Fields: the verbs' names (max_send_wr, ..., cqe, max_wr,
/// max_sge, mr_length).
struct Threshold {
  std::string field;
  std::uint64_t above = 0;
  int error = EINVAL;
};

/// Given in next_errors for a call that fails without setting errno (libhns' reg_mr).
inline constexpr int kNoErrno = -1;

/// One device of the fake: plain settings, read at every call, so a test may change them while the device is open.
struct FakeDevice {
  // who it is
  std::string name = "fake0";
  std::uint32_t index = 1;
  std::uint64_t node_guid = 0x0a0b0c0d0e0f0001;
  std::optional<std::uint32_t> driver_id;         ///< as netlink tells it
  std::string driver_link;                        ///< name that sysfs' driver link ends in; empty: no such link
  std::string provider = "/usr/lib/libibverbs/libfake-rdmav34.so";
  std::optional<std::uint32_t> pci_vendor, pci_device, pci_revision, subsystem_vendor, subsystem_device;
  bool virtual_function = false;
  std::string firmware = "1.2.3", hw_rev, board_id;
  std::string node_type = "1: CA";
  std::uint32_t uverbs_abi = 1;
  bool claimed = true;     ///< a provider claims it, so libibverbs lists it
  int open_error = 0;      ///< what ibv_open_device fails with

  // what it says
  ibv_device_attr_ex attr{};
  std::vector<FakePort> ports;
  int query_device_ex_error = 0;   ///< ENOSYS, EOPNOTSUPP: only the old query works
  int query_gid_table_error = 0;
  bool counts_shrink = false;      ///< max_qp, max_cq, max_mr, max_pd are what is left

  // what it does
  std::vector<Threshold> thresholds;
  std::function<int(const ibv_qp_init_attr_ex&)> judge_qp;                    ///< an errno, 0 accepts
  std::function<int(const ibv_qp&, const ibv_qp_attr&, int mask)> judge_modify;
  std::function<void(ibv_qp_cap&)> qp_write_back;
  std::function<int(int asked)> cqe_write_back;
  std::function<void(ibv_srq_attr&)> srq_write_back;
  std::map<std::string, std::deque<int>> next_errors;  ///< by verb: what its next calls fail with; 0 lets one through
  int rereg_code = IBV_REREG_MR_ERR_CMD;  ///< the class of a rereg_mr that fails by next_errors
  bool has_rereg = true, has_parent_domains = true, has_thread_domains = true;  ///< the provider has these calls
  bool gone = false;  ///< removed: every call answers EIO
  int post_error = 0;  ///< what post_send and post_recv return, with its sign
  bool post_sets_bad_wr = true;
  bool complete_sends = true;  ///< a posted send completes at once

  // what happened
  unsigned contexts = 0, pds = 0, cqs = 0, qps = 0, srqs = 0, mrs = 0, mws = 0, ahs = 0, channels = 0, parents = 0,
           tds = 0;
  std::deque<ibv_async_event> events;
};

/// A RoCE v2 device with one active port, 32768 WRs, 30 SGEs and two GIDs.
FakeDevice roce_device(const std::string& name, std::uint32_t index);
/// An iWARP device with one active port, as siw or irdma show themselves.
FakeDevice iwarp_device(const std::string& name, std::uint32_t index);

}  // namespace verbena::fake
