// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <infiniband/verbs.h>

struct rdma_event_channel;
struct rdma_cm_id;
struct rdma_cm_event;
struct rdma_conn_param;
struct rdma_addrinfo;
struct rdma_cm_join_mc_attr_ex;
struct sockaddr;

#pragma GCC visibility push(default)
namespace verbena {

/// What a call that makes something gives: the handle, or null and why.
template <class T>
struct Made {
  T* handle = nullptr;
  int error = 0;               ///< positive errno; 0 when there is a handle
  bool errno_missing = false;  ///< the driver refused without setting errno; `error` then is EINVAL

  explicit operator bool() const noexcept { return handle != nullptr; }
};

/// One device as RDMA netlink lists it (RDMA_NLDEV_CMD_GET).
struct NetlinkDevice {
  std::uint32_t index = 0;  ///< new at each registration
  std::string name;
  std::string firmware;
  std::uint64_t node_guid = 0;  ///< host byte order; 0 when not told
  std::uint32_t ports = 0;

  friend bool operator==(const NetlinkDevice&, const NetlinkDevice&) = default;
};

/// The character device through which libibverbs talks to a device (RDMA_NLDEV_CMD_GET_CHARDEV, type uverbs).
struct NetlinkChardev {
  std::string name;                        ///< `uverbs0`, below /dev/infiniband
  std::optional<std::uint32_t> abi;        ///< the driver's uverbs ABI version
  std::optional<std::uint32_t> driver_id;  ///< enum rdma_driver_id

  friend bool operator==(const NetlinkChardev&, const NetlinkChardev&) = default;
};

/// RLIMIT_MEMLOCK in bytes; kUnlimited where there is none.
struct MemlockLimit {
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
  std::uint64_t soft = kUnlimited;
  std::uint64_t hard = kUnlimited;
};

/// An IPv6 address in network order, or an IPv4 one mapped into it (::ffff:a.b.c.d).
using IpAddress = std::array<std::uint8_t, 16>;

struct HostName {
  std::string release;  ///< uname -r
  std::string machine;  ///< uname -m
};

/// The table that a device is driven through: libibverbs and librdmacm on this host, an emulated NIC, or a scripted
/// fake. Control path only: posting, polling and arming a CQ go through ibv_context::ops and never come here.
///
/// Conventions, whatever the function beneath does: a call that returns int gives 0 or a positive errno; one that makes
/// something gives Made; a string is empty when unknown. Nothing throws but std::bad_alloc. Methods are named as the
/// verbs they stand for, without `ibv_`; those of librdmacm begin with `cm_`. Any thread may call any method; what one
/// object may be used for at one time is as libibverbs says.
class Verbs {
public:
  virtual ~Verbs() = default;
  Verbs(const Verbs&) = delete;
  Verbs& operator=(const Verbs&) = delete;

  // Devices
  /// The devices that a provider claims, null-terminated; to be freed by free_device_list. A handle stays usable until
  /// its list is freed.
  virtual Made<ibv_device*> get_device_list(int& count) = 0;
  virtual void free_device_list(ibv_device** list) = 0;
  virtual const char* get_device_name(ibv_device* device) = 0;
  virtual int get_device_index(ibv_device* device) = 0;  ///< -1 when unknown
  virtual std::uint64_t get_device_guid(ibv_device* device) = 0;  ///< host byte order
  virtual Made<ibv_context> open_device(ibv_device* device) = 0;
  virtual int close_device(ibv_context* context) = 0;
  virtual int query_device(ibv_context* context, ibv_device_attr& attr) = 0;
  virtual int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                              ibv_device_attr_ex& attr) = 0;
  virtual int query_rt_values_ex(ibv_context* context, ibv_values_ex& values) = 0;
  virtual int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr& attr) = 0;
  virtual int query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid& gid) = 0;
  virtual int query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry& entry) = 0;
  /// Fills at most `max_entries` populated entries of all ports. Returns their count, or a negative errno.
  virtual std::int64_t query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t max_entries) = 0;
  virtual int query_pkey(ibv_context* context, std::uint8_t port, int index, std::uint16_t& pkey) = 0;
  /// Blocks unless async_fd was made non-blocking; each event must be acknowledged before its object can be destroyed.
  virtual int get_async_event(ibv_context* context, ibv_async_event& event) = 0;
  virtual void ack_async_event(ibv_async_event& event) = 0;

  // Protection and thread domains
  virtual Made<ibv_pd> alloc_pd(ibv_context* context) = 0;
  virtual int dealloc_pd(ibv_pd* pd) = 0;
  virtual Made<ibv_pd> alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr& attr) = 0;
  virtual Made<ibv_td> alloc_td(ibv_context* context, ibv_td_init_attr& attr) = 0;
  virtual int dealloc_td(ibv_td* td) = 0;

  // Memory
  virtual Made<ibv_mr> reg_mr(ibv_pd* pd, void* address, std::size_t length, unsigned access) = 0;
  virtual Made<ibv_mr> reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                                   unsigned access) = 0;
  virtual Made<ibv_mr> reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova, int fd,
                                     unsigned access) = 0;
  virtual Made<ibv_mr> alloc_null_mr(ibv_pd* pd) = 0;
  /// `code` is enum ibv_rereg_mr_err_code, negative where the region may be unusable now; 0 on success.
  virtual int rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length, unsigned access,
                       int& code) = 0;
  virtual int dereg_mr(ibv_mr* mr) = 0;
  virtual int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list,
                        std::uint32_t count) = 0;
  virtual Made<ibv_mw> alloc_mw(ibv_pd* pd, ibv_mw_type type) = 0;
  virtual int dealloc_mw(ibv_mw* mw) = 0;

  // Completions
  virtual Made<ibv_comp_channel> create_comp_channel(ibv_context* context) = 0;
  virtual int destroy_comp_channel(ibv_comp_channel* channel) = 0;
  virtual Made<ibv_cq> create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                                 int comp_vector) = 0;
  virtual Made<ibv_cq_ex> create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex& attr) = 0;
  virtual int resize_cq(ibv_cq* cq, int cqe) = 0;
  virtual int modify_cq(ibv_cq* cq, ibv_modify_cq_attr& attr) = 0;
  virtual int destroy_cq(ibv_cq* cq) = 0;
  virtual int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) = 0;
  virtual void ack_cq_events(ibv_cq* cq, unsigned count) = 0;

  // Shared receive queues
  virtual Made<ibv_srq> create_srq(ibv_pd* pd, ibv_srq_init_attr& attr) = 0;
  virtual Made<ibv_srq> create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex& attr) = 0;
  virtual int modify_srq(ibv_srq* srq, ibv_srq_attr& attr, int mask) = 0;
  virtual int query_srq(ibv_srq* srq, ibv_srq_attr& attr) = 0;
  virtual int destroy_srq(ibv_srq* srq) = 0;

  // Queue pairs
  virtual Made<ibv_qp> create_qp(ibv_pd* pd, ibv_qp_init_attr& attr) = 0;
  virtual Made<ibv_qp> create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex& attr) = 0;
  virtual int modify_qp(ibv_qp* qp, ibv_qp_attr& attr, int mask) = 0;
  virtual int query_qp(ibv_qp* qp, ibv_qp_attr& attr, int mask, ibv_qp_init_attr& init) = 0;
  virtual int query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode opcode, std::uint32_t flags) = 0;
  virtual int destroy_qp(ibv_qp* qp) = 0;
  virtual int query_ece(ibv_qp* qp, ibv_ece& ece) = 0;
  virtual int set_ece(ibv_qp* qp, ibv_ece& ece) = 0;
  virtual int attach_mcast(ibv_qp* qp, const ibv_gid& gid, std::uint16_t lid) = 0;
  virtual int detach_mcast(ibv_qp* qp, const ibv_gid& gid, std::uint16_t lid) = 0;

  // Addresses
  virtual Made<ibv_ah> create_ah(ibv_pd* pd, ibv_ah_attr& attr) = 0;
  virtual Made<ibv_ah> create_ah_from_wc(ibv_pd* pd, ibv_wc& wc, ibv_grh* grh, std::uint8_t port) = 0;
  virtual int init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc& wc, ibv_grh* grh, ibv_ah_attr& attr) = 0;
  virtual int destroy_ah(ibv_ah* ah) = 0;
  virtual int resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr& attr, std::uint8_t mac[6],
                                      std::uint16_t* vlan) = 0;

  // The process and words for people
  virtual int fork_init() = 0;
  virtual ibv_fork_status is_fork_initialized() = 0;
  virtual const char* wc_status_str(ibv_wc_status status) = 0;
  virtual const char* event_type_str(ibv_event_type event) = 0;
  virtual const char* port_state_str(ibv_port_state state) = 0;
  virtual const char* node_type_str(ibv_node_type type) = 0;

  // rdma_cm
  virtual Made<rdma_event_channel> cm_create_event_channel() = 0;
  virtual void cm_destroy_event_channel(rdma_event_channel* channel) = 0;
  virtual Made<rdma_cm_id> cm_create_id(rdma_event_channel* channel, void* context, int port_space) = 0;
  virtual int cm_destroy_id(rdma_cm_id* id) = 0;
  virtual int cm_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) = 0;
  virtual int cm_bind_addr(rdma_cm_id* id, sockaddr* address) = 0;
  virtual int cm_resolve_addr(rdma_cm_id* id, sockaddr* source, sockaddr* destination, int timeout_ms) = 0;
  virtual int cm_resolve_route(rdma_cm_id* id, int timeout_ms) = 0;
  virtual int cm_listen(rdma_cm_id* id, int backlog) = 0;
  virtual int cm_connect(rdma_cm_id* id, rdma_conn_param& param) = 0;
  virtual int cm_accept(rdma_cm_id* id, rdma_conn_param& param) = 0;
  virtual int cm_reject(rdma_cm_id* id, const void* private_data, std::uint8_t length) = 0;
  virtual int cm_establish(rdma_cm_id* id) = 0;
  virtual int cm_disconnect(rdma_cm_id* id) = 0;
  virtual int cm_notify(rdma_cm_id* id, ibv_event_type event) = 0;
  virtual int cm_get_event(rdma_event_channel* channel, rdma_cm_event** event) = 0;
  virtual int cm_ack_event(rdma_cm_event* event) = 0;
  virtual const char* cm_event_str(int event) = 0;
  virtual int cm_init_qp_attr(rdma_cm_id* id, ibv_qp_attr& attr, int& mask) = 0;
  virtual int cm_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr& attr) = 0;
  virtual void cm_destroy_qp(rdma_cm_id* id) = 0;
  /// rdma_join_multicast_ex: the kind of membership is in `attr`.
  virtual int cm_join_multicast(rdma_cm_id* id, rdma_cm_join_mc_attr_ex& attr, void* context) = 0;
  virtual int cm_leave_multicast(rdma_cm_id* id, sockaddr* group) = 0;
  virtual int cm_set_option(rdma_cm_id* id, int level, int name, void* value, std::size_t length) = 0;
  virtual int cm_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints,
                             rdma_addrinfo** result) = 0;
  virtual void cm_freeaddrinfo(rdma_addrinfo* result) = 0;
  virtual sockaddr* cm_get_local_addr(rdma_cm_id* id) = 0;
  virtual sockaddr* cm_get_peer_addr(rdma_cm_id* id) = 0;
  virtual std::uint16_t cm_get_src_port(rdma_cm_id* id) = 0;  ///< host byte order
  virtual std::uint16_t cm_get_dst_port(rdma_cm_id* id) = 0;  ///< host byte order

  // RDMA netlink
  virtual int netlink_devices(std::vector<NetlinkDevice>& devices) = 0;
  virtual int netlink_uverbs(std::uint32_t device_index, NetlinkChardev& chardev) = 0;

  // The host: sysfs, /proc and the process. Paths are absolute.
  /// The whole file, at most 1 MiB of it; a trailing newline is cut off.
  virtual int read_file(const std::string& path, std::string& text) = 0;
  virtual int read_link(const std::string& path, std::string& target) = 0;
  /// The path with every link resolved.
  virtual int real_path(const std::string& path, std::string& resolved) = 0;
  /// Names in a directory, sorted, without `.` and `..`.
  virtual int list_directory(const std::string& path, std::vector<std::string>& names) = 0;
  /// 0 when the path may be used so (R_OK, W_OK, F_OK of access(2)).
  virtual int access(const std::string& path, int mode) = 0;
  /// A number that stays the same as long as this entry of /sys does, and is another once it was made anew. The link
  /// itself is meant, not what it points to. Empty when there is no such entry.
  virtual std::optional<std::uint64_t> entry_stamp(const std::string& path) = 0;
  virtual std::uint32_t page_size() = 0;
  virtual HostName host_name() = 0;
  virtual MemlockLimit memlock_limit() = 0;
  /// May this process lock memory beyond its limit (CAP_IPC_LOCK)?
  virtual bool may_lock_memory() = 0;
  virtual std::string interface_name(std::uint32_t interface_index) = 0;
  /// The IP addresses of a network interface in the kernel's order: IPv6, or IPv4 mapped (::ffff:a.b.c.d). Those of
  /// link scope come last. None when there is no such interface.
  virtual int interface_addresses(const std::string& interface, std::vector<IpAddress>& addresses) = 0;
  /// Path of the shared object that holds this code, links resolved: which provider really serves a context.
  virtual std::string library_of(const void* code) = 0;
  /// Path of libibverbs itself, links resolved (its file name ends in rdma-core's version).
  virtual std::string libibverbs_path() = 0;
  /// Waits until a descriptor can be read: 0 when it can, ETIMEDOUT after `timeout_ms` (-1: no limit), EINTR, ...
  virtual int wait_readable(int descriptor, int timeout_ms) = 0;
  virtual int set_nonblocking(int descriptor, bool nonblocking) = 0;
  virtual std::uint64_t monotonic_ns() = 0;
  virtual std::uint32_t random32() = 0;

  /// A vendor slot: a function of a vendor's own library (`libmlx5.so.1`, `mlx5dv_query_device`), null when that
  /// library is not loaded (a provider is while its devices are listed), or not behind this table.
  virtual void* vendor_function(const char* library, const char* function) = 0;

protected:
  Verbs() = default;
};

/// libibverbs, librdmacm and this host. Stateless but for the vendor libraries that were asked for.
std::shared_ptr<Verbs> real_verbs();

}  // namespace verbena
#pragma GCC visibility pop
