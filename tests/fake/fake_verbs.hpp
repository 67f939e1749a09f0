// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <rdma/rdma_cma.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fake/fake_device.hpp"
#include "verbena/verbs.hpp"

namespace verbena::fake {

/// One ibv_modify_qp as it was called.
struct ModifyCall {
  ibv_qp* qp = nullptr;
  ibv_qp_attr attr{};
  int mask = 0;
};

struct FakeContext;

/// A host in memory: devices that are scripted, a file system that holds what sysfs and /proc would, and a log of every
/// call. Its contexts have working data-path ops, so inline verbs run on them. Control calls may come from any thread.
class FakeVerbs final : public Verbs {
public:
  FakeVerbs();
  ~FakeVerbs() override;

  /// Adds a device and what sysfs shows of it. The reference stays good for the life of the fake.
  FakeDevice& add(FakeDevice device);
  /// Takes the device out of the lists and out of sysfs, and makes every call on it answer EIO.
  void remove(FakeDevice& device);
  /// Registers it anew under another index: a driver reload.
  void register_again(FakeDevice& device, std::uint32_t new_index);
  /// Queues an asynchronous event and makes async_fd readable.
  void raise(ibv_context* context, ibv_event_type type);
  /// Queues a completion event on the CQ's channel.
  void raise_completion(ibv_cq* cq);
  /// Puts a completion into a CQ.
  void complete(ibv_cq* cq, const ibv_wc& wc);
  FakeDevice& device_of(ibv_context* context);

  /// How often a verb was called; `total_calls()` counts all but the clock.
  unsigned count(std::string_view verb) const;
  unsigned total_calls() const;
  void forget_calls();
  std::vector<ModifyCall> modifies() const;
  std::set<ibv_qp*> live_qps() const;
  /// QPs, CQs, ... of all devices that were not destroyed.
  unsigned live_objects() const;

  // The host, free to change between calls.
  std::map<std::string, std::string> files;  ///< path -> text
  std::map<std::string, std::string> links;  ///< path -> absolute target
  std::map<std::string, int> denied;  ///< path -> errno of any access to it
  std::map<std::string, std::uint64_t> stamps;  ///< path -> entry_stamp
  std::map<std::uint32_t, std::string> interfaces;
  std::map<std::string, std::vector<IpAddress>> interface_ips;  ///< by interface name
  MemlockLimit memlock;
  std::uint64_t locked_bytes = 0;  ///< what live regions have locked
  bool may_lock = false;
  HostName host{"6.1.0-44-amd64", "x86_64"};
  std::uint32_t page = 4U << 10;
  int netlink_error = 0;
  int device_list_error = 0;
  std::uint64_t now_ns = 1'000'000'000;  ///< turned by hand; wait_readable turns it by its timeout
  std::map<std::string, void*> vendor_functions;  ///< `library:function`

  // Verbs
  Made<ibv_device*> get_device_list(int& count) override;
  void free_device_list(ibv_device** list) override;
  const char* get_device_name(ibv_device* device) override;
  int get_device_index(ibv_device* device) override;
  std::uint64_t get_device_guid(ibv_device* device) override;
  Made<ibv_context> open_device(ibv_device* device) override;
  int close_device(ibv_context* context) override;
  int query_device(ibv_context* context, ibv_device_attr& attr) override;
  int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex& attr) override;
  int query_rt_values_ex(ibv_context* context, ibv_values_ex& values) override;
  int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr& attr) override;
  int query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid& gid) override;
  int query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry& entry) override;
  std::int64_t query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t max_entries) override;
  int query_pkey(ibv_context* context, std::uint8_t port, int index, std::uint16_t& pkey) override;
  int get_async_event(ibv_context* context, ibv_async_event& event) override;
  void ack_async_event(ibv_async_event& event) override;
  Made<ibv_pd> alloc_pd(ibv_context* context) override;
  int dealloc_pd(ibv_pd* pd) override;
  Made<ibv_pd> alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr& attr) override;
  Made<ibv_td> alloc_td(ibv_context* context, ibv_td_init_attr& attr) override;
  int dealloc_td(ibv_td* td) override;
  Made<ibv_mr> reg_mr(ibv_pd* pd, void* address, std::size_t length, unsigned access) override;
  Made<ibv_mr> reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, unsigned access) override;
  Made<ibv_mr> reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova, int fd,
                             unsigned access) override;
  Made<ibv_mr> alloc_null_mr(ibv_pd* pd) override;
  int rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length, unsigned access,
               int& code) override;
  int dereg_mr(ibv_mr* mr) override;
  int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list,
                std::uint32_t count) override;
  Made<ibv_mw> alloc_mw(ibv_pd* pd, ibv_mw_type type) override;
  int dealloc_mw(ibv_mw* mw) override;
  Made<ibv_comp_channel> create_comp_channel(ibv_context* context) override;
  int destroy_comp_channel(ibv_comp_channel* channel) override;
  Made<ibv_cq> create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                         int comp_vector) override;
  Made<ibv_cq_ex> create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex& attr) override;
  int resize_cq(ibv_cq* cq, int cqe) override;
  int modify_cq(ibv_cq* cq, ibv_modify_cq_attr& attr) override;
  int destroy_cq(ibv_cq* cq) override;
  int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) override;
  void ack_cq_events(ibv_cq* cq, unsigned count) override;
  Made<ibv_srq> create_srq(ibv_pd* pd, ibv_srq_init_attr& attr) override;
  Made<ibv_srq> create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex& attr) override;
  int modify_srq(ibv_srq* srq, ibv_srq_attr& attr, int mask) override;
  int query_srq(ibv_srq* srq, ibv_srq_attr& attr) override;
  int destroy_srq(ibv_srq* srq) override;
  Made<ibv_qp> create_qp(ibv_pd* pd, ibv_qp_init_attr& attr) override;
  Made<ibv_qp> create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex& attr) override;
  int modify_qp(ibv_qp* qp, ibv_qp_attr& attr, int mask) override;
  int query_qp(ibv_qp* qp, ibv_qp_attr& attr, int mask, ibv_qp_init_attr& init) override;
  int query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode opcode, std::uint32_t flags) override;
  int destroy_qp(ibv_qp* qp) override;
  int query_ece(ibv_qp* qp, ibv_ece& ece) override;
  int set_ece(ibv_qp* qp, ibv_ece& ece) override;
  int attach_mcast(ibv_qp* qp, const ibv_gid& gid, std::uint16_t lid) override;
  int detach_mcast(ibv_qp* qp, const ibv_gid& gid, std::uint16_t lid) override;
  Made<ibv_ah> create_ah(ibv_pd* pd, ibv_ah_attr& attr) override;
  Made<ibv_ah> create_ah_from_wc(ibv_pd* pd, ibv_wc& wc, ibv_grh* grh, std::uint8_t port) override;
  int init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc& wc, ibv_grh* grh, ibv_ah_attr& attr) override;
  int destroy_ah(ibv_ah* ah) override;
  int resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr& attr, std::uint8_t mac[6],
                              std::uint16_t* vlan) override;
  int fork_init() override;
  ibv_fork_status is_fork_initialized() override;
  const char* wc_status_str(ibv_wc_status status) override;
  const char* event_type_str(ibv_event_type event) override;
  const char* port_state_str(ibv_port_state state) override;
  const char* node_type_str(ibv_node_type type) override;

  // rdma_cm: listeners are found by port number; connect and accept meet at once, and a queue pair that was passed by
  // number is in RTS when ESTABLISHED is raised, as the kernel's iw_cm does it.
  Made<rdma_event_channel> cm_create_event_channel() override;
  void cm_destroy_event_channel(rdma_event_channel* channel) override;
  Made<rdma_cm_id> cm_create_id(rdma_event_channel* channel, void* context, int port_space) override;
  int cm_destroy_id(rdma_cm_id* id) override;
  int cm_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) override;
  int cm_bind_addr(rdma_cm_id* id, sockaddr* address) override;
  int cm_resolve_addr(rdma_cm_id* id, sockaddr* source, sockaddr* destination, int timeout_ms) override;
  int cm_resolve_route(rdma_cm_id* id, int timeout_ms) override;
  int cm_listen(rdma_cm_id* id, int backlog) override;
  int cm_connect(rdma_cm_id* id, rdma_conn_param& param) override;
  int cm_accept(rdma_cm_id* id, rdma_conn_param& param) override;
  int cm_reject(rdma_cm_id* id, const void* private_data, std::uint8_t length) override;
  int cm_establish(rdma_cm_id* id) override;
  int cm_disconnect(rdma_cm_id* id) override;
  int cm_notify(rdma_cm_id* id, ibv_event_type event) override;
  int cm_get_event(rdma_event_channel* channel, rdma_cm_event** event) override;
  int cm_ack_event(rdma_cm_event* event) override;
  const char* cm_event_str(int event) override;
  int cm_init_qp_attr(rdma_cm_id* id, ibv_qp_attr& attr, int& mask) override;
  int cm_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr& attr) override;
  void cm_destroy_qp(rdma_cm_id* id) override;
  int cm_join_multicast(rdma_cm_id* id, rdma_cm_join_mc_attr_ex& attr, void* context) override;
  int cm_leave_multicast(rdma_cm_id* id, sockaddr* group) override;
  int cm_set_option(rdma_cm_id* id, int level, int name, void* value, std::size_t length) override;
  int cm_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints,
                     rdma_addrinfo** result) override;
  void cm_freeaddrinfo(rdma_addrinfo* result) override;
  sockaddr* cm_get_local_addr(rdma_cm_id* id) override;
  sockaddr* cm_get_peer_addr(rdma_cm_id* id) override;
  std::uint16_t cm_get_src_port(rdma_cm_id* id) override;
  std::uint16_t cm_get_dst_port(rdma_cm_id* id) override;

  int netlink_devices(std::vector<NetlinkDevice>& devices) override;
  int netlink_uverbs(std::uint32_t device_index, NetlinkChardev& chardev) override;
  int read_file(const std::string& path, std::string& text) override;
  int read_link(const std::string& path, std::string& target) override;
  int real_path(const std::string& path, std::string& resolved) override;
  int list_directory(const std::string& path, std::vector<std::string>& names) override;
  int access(const std::string& path, int mode) override;
  std::optional<std::uint64_t> entry_stamp(const std::string& path) override;
  std::uint32_t page_size() override;
  HostName host_name() override;
  MemlockLimit memlock_limit() override;
  bool may_lock_memory() override;
  std::string interface_name(std::uint32_t interface_index) override;
  int interface_addresses(const std::string& interface, std::vector<IpAddress>& addresses) override;
  std::string library_of(const void* code) override;
  std::string libibverbs_path() override;
  int wait_readable(int descriptor, int timeout_ms) override;
  int set_nonblocking(int descriptor, bool nonblocking) override;
  std::uint64_t monotonic_ns() override;
  std::uint32_t random32() override;
  void* vendor_function(const char* library, const char* function) override;

private:
  friend struct FakeContext;
  struct Entry;
  using Lock = std::unique_lock<std::recursive_mutex>;

  Lock enter(const char* verb);
  /// The scripted error of the next call of that verb on the device; EIO when it is gone; 0 to go on.
  int scripted(FakeDevice& device, const char* verb);
  int over_threshold(const FakeDevice& device, const char* field, std::uint64_t asked) const;
  template <class T>
  static Made<T> refused(int error);
  void write_sysfs(const FakeDevice& device);
  void erase_sysfs(const FakeDevice& device);
  std::string resolve(const std::string& path) const;
  int lock_pages(std::size_t length);
  void cm_raise(rdma_cm_id* id, rdma_cm_event_type type, rdma_cm_id* listener = nullptr,
                const rdma_conn_param* param = nullptr, int status = 0);
  void cm_move_to_rts(std::uint32_t qp_num);

  mutable std::recursive_mutex mutex_;
  std::vector<std::unique_ptr<Entry>> devices_;
  std::map<std::string, unsigned, std::less<>> calls_;
  std::vector<ModifyCall> modifies_;
  std::set<ibv_qp*> qps_;
  std::map<ibv_mr*, std::size_t> locked_;
  struct ParentParts {
    ibv_pd* pd = nullptr;
    ibv_td* td = nullptr;
  };
  std::map<ibv_pd*, ParentParts> parents_;
  std::set<rdma_cm_id*> cm_ids_;
  std::map<std::uint16_t, rdma_cm_id*> cm_listeners_;
  std::uint16_t cm_next_port_ = 40000;
  std::uint32_t next_qp_num_ = 0x11;
  std::uint32_t next_key_ = 0x100;
  std::uint32_t random_ = 0x12345678;
  std::uint64_t next_stamp_ = 1000;
};

}  // namespace verbena::fake
