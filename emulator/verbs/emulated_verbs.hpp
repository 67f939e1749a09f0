// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cm/ids.hpp"
#include "nic/host.hpp"
#include "nic/nic.hpp"
#include "verbena/emulated.hpp"
#include "verbena/verbs.hpp"
#include "verbs/emulated.hpp"
#include "verbs/objects.hpp"

namespace verbena::emulator {

/// The Verbs table over emulated NICs.
class EmulatedVerbs final : public Verbs, public EmulatedHost, private engine::transport::Notices {
public:
  EmulatedVerbs(std::unique_ptr<Host> host, std::vector<Model> models);
  ~EmulatedVerbs() override;

  Host& host() noexcept { return *host_; }
  /// The process ends: other ends of connections are told, and the NICs leave their net. What is called after that
  /// does nothing.
  void leave();
  bool has(const ibv_device* device) const noexcept;

  // Devices
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

  // Protection and thread domains
  Made<ibv_pd> alloc_pd(ibv_context* context) override;
  int dealloc_pd(ibv_pd* pd) override;
  Made<ibv_pd> alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr& attr) override;
  Made<ibv_td> alloc_td(ibv_context* context, ibv_td_init_attr& attr) override;
  int dealloc_td(ibv_td* td) override;

  // Memory
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

  // Completions
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

  // Shared receive queues
  Made<ibv_srq> create_srq(ibv_pd* pd, ibv_srq_init_attr& attr) override;
  Made<ibv_srq> create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex& attr) override;
  int modify_srq(ibv_srq* srq, ibv_srq_attr& attr, int mask) override;
  int query_srq(ibv_srq* srq, ibv_srq_attr& attr) override;
  int destroy_srq(ibv_srq* srq) override;

  // Queue pairs
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

  // Addresses
  Made<ibv_ah> create_ah(ibv_pd* pd, ibv_ah_attr& attr) override;
  Made<ibv_ah> create_ah_from_wc(ibv_pd* pd, ibv_wc& wc, ibv_grh* grh, std::uint8_t port) override;
  int init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc& wc, ibv_grh* grh, ibv_ah_attr& attr) override;
  int destroy_ah(ibv_ah* ah) override;
  int resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr& attr, std::uint8_t mac[6],
                              std::uint16_t* vlan) override;

  // The process and words for people
  int fork_init() override;
  ibv_fork_status is_fork_initialized() override;
  const char* wc_status_str(ibv_wc_status status) override;
  const char* event_type_str(ibv_event_type event) override;
  const char* port_state_str(ibv_port_state state) override;
  const char* node_type_str(ibv_node_type type) override;

  // rdma_cm
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
  /// rdma_create_qp_ex(3); without a protection domain it is the id's own.
  int cm_create_qp_ex(rdma_cm_id* id, ibv_qp_init_attr_ex& attr);
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

  // RDMA netlink
  int netlink_devices(std::vector<NetlinkDevice>& devices) override;
  int netlink_uverbs(std::uint32_t device_index, NetlinkChardev& chardev) override;

  // The host: sysfs, /proc and the process. Paths are absolute.
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

  // What is done from outside
  int set_link(ibv_context* context, std::uint8_t port, bool up) override;
  int set_interface_mtu(ibv_context* context, std::uint8_t port, std::uint32_t bytes) override;
  int add_address(ibv_context* context, std::uint8_t port, const IpAddress& address) override;
  int remove_address(ibv_context* context, std::uint8_t port, const IpAddress& address) override;
  int spoil_packets(const SpoiledPackets& how) override;
  int make_dmabuf(std::size_t bytes) override;

private:
  // Notices
  void completion(engine::queues::CompletionQueue& cq) noexcept override;
  void on_queue_pair(engine::transport::QueuePair& qp, ibv_event_type event) noexcept override;
  void on_completion_queue(engine::queues::CompletionQueue& cq) noexcept override;
  void on_shared_receive_queue(engine::queues::SharedReceiveQueue& srq, ibv_event_type event) noexcept override;
  void on_stopped(engine::transport::QueuePair& qp) noexcept override;
  void on_error(engine::transport::QueuePair& qp) noexcept override;

  void write_files(const Nic& nic);
  void tell(const Nic& nic, std::uint8_t port, ibv_event_type event);
  std::string resolved(const std::string& path) const;
  template <class T>
  Made<T> made_cq(ibv_context* context, std::uint32_t cqe, void* cq_context, ibv_comp_channel* channel, int vector,
                  std::uint64_t wc_flags, std::uint32_t creation_flags);
  Made<ibv_qp> made_qp(ibv_pd* pd, ibv_qp_init_attr& attr, std::uint64_t send_ops, bool builder);

  // connections.cpp, connection_events.cpp
  /// What librdmacm keeps of a device: a context of its own, and a protection domain while any id is bound to it.
  struct CmDevice {
    ibv_context* context = nullptr;
    ibv_pd* pd = nullptr;
    std::uint64_t users = 0;
    std::uint8_t most_responder_resources = 0;
    std::uint8_t most_initiator_depth = 0;
  };
  /// With the host's mutex held.
  cm::Manager& manager();
  int enter_nics();
  void end_connections() noexcept;
  int attach_device(cm::Identifier& id);
  void leave_device(cm::Identifier& id) noexcept;
  const CmDevice& device_of(const cm::Identifier& id);
  int checked(const cm::Identifier& id, const rdma_conn_param& param);
  int complete(cm::Identifier& id);
  int await_event(cm::Channel& channel, std::unique_lock<HostMutex>& lock, std::unique_ptr<cm::Event>& event);
  int move_qp(rdma_cm_id& id, ibv_qp_state state, int depth = -1);
  int initialise_qp(rdma_cm_id& id);
  bool prepare(cm::Event& event);
  void respond(cm::Event& event);
  void forget_groups(cm::Identifier& id);

  std::unique_ptr<Host> host_;
  std::vector<std::unique_ptr<Nic>> nics_;
  std::vector<std::unique_ptr<DeviceEntry>> devices_;
  std::vector<Context*> contexts_;             ///< those that are open
  std::map<std::string, std::string> files_;  ///< what /sys and /proc hold: path to text
  std::map<std::string, std::string> links_;  ///< path to target
  std::unique_ptr<cm::Manager> manager_;      ///< from when rdma_cm is first used
  std::size_t entered_ = 0;  ///< NICs that rdma_cm uses
  std::deque<std::unique_ptr<cm::Channel>> ended_channels_;
  std::mutex cm_devices_mutex_;
  std::map<const Nic*, CmDevice> cm_devices_;
  std::condition_variable_any acknowledged_;  ///< an event of rdma_cm was, with the host's mutex
};

/// The functions that inline verbs call through a context.
void fill_operations(verbs_context& context);
/// Those that inline verbs look up behind it.
void fill_extended(verbs_context& context);
/// Those of a queue pair that was made with opcodes for the builder.
void fill_builder(ibv_qp_ex& qp);
/// Those of an extended completion queue.
void fill_polling(ibv_cq_ex& cq);

}  // namespace verbena::emulator
