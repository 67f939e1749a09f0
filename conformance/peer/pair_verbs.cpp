// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "peer/pair_verbs.hpp"

#include <utility>

#include "peer/near_path.hpp"
#include "rig/event_element.hpp"

namespace conform::peer {

namespace {

using verbena::Made;

class PairVerbs final : public verbena::Verbs {
public:
  PairVerbs(std::shared_ptr<verbena::Verbs> near, std::shared_ptr<FarVerbs> far)
      : near_(std::move(near)), far_(std::move(far)) {
    near_path::use(&far_->line());
  }
  ~PairVerbs() override { near_path::use(nullptr); }

  // Where a near object's functions are put before the driver's own.
  Made<ibv_context> open_device(ibv_device* device) override {
    if (far_->owns(device)) return far_->open_device(device);
    Made<ibv_context> made = near_->open_device(device);
    if (made) near_path::enter(made.handle);
    return made;
  }
  int close_device(ibv_context* context) override {
    if (is_far(context)) return far_->close_device(context);
    near_path::leave(context);
    return near_->close_device(context);
  }
  Made<ibv_qp> create_qp(ibv_pd* pd, ibv_qp_init_attr& attr) override { return entered(of(pd).create_qp(pd, attr)); }
  Made<ibv_qp> create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex& attr) override {
    return entered(of(context).create_qp_ex(context, attr));
  }
  int destroy_qp(ibv_qp* qp) override {
    if (is_far(qp->context)) return far_->destroy_qp(qp);
    ibv_qp_ex* builder = ibv_qp_to_qp_ex(qp);
    const int error = near_->destroy_qp(qp);
    if (error == 0 && builder != nullptr) near_path::leave(builder);
    return error;
  }
  Made<ibv_cq_ex> create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex& attr) override {
    Made<ibv_cq_ex> made = of(context).create_cq_ex(context, attr);
    if (made && !is_far(context)) near_path::enter(made.handle);
    return made;
  }
  int destroy_cq(ibv_cq* cq) override {
    if (is_far(cq->context)) return far_->destroy_cq(cq);
    const int error = near_->destroy_cq(cq);
    if (error == 0) near_path::leave(reinterpret_cast<ibv_cq_ex*>(cq));
    return error;
  }
  std::string library_of(const void* code) override { return near_->library_of(near_path::driver_code(code)); }

  // What names its object in another way.
  Made<ibv_device*> get_device_list(int& count) override { return near_->get_device_list(count); }
  void free_device_list(ibv_device** list) override { near_->free_device_list(list); }
  const char* get_device_name(ibv_device* device) override { return of(device).get_device_name(device); }
  int get_device_index(ibv_device* device) override { return of(device).get_device_index(device); }
  std::uint64_t get_device_guid(ibv_device* device) override { return of(device).get_device_guid(device); }
  int get_async_event(ibv_context* context, ibv_async_event& event) override {
    return of(context).get_async_event(context, event);
  }
  void ack_async_event(ibv_async_event& event) override {
    const ibv_context* context = nullptr;
    switch (kind_of(event.event_type)) {
      case ElementKind::cq:
        context = event.element.cq->context;
        break;
      case ElementKind::qp:
        context = event.element.qp->context;
        break;
      case ElementKind::srq:
        context = event.element.srq->context;
        break;
      case ElementKind::port:
        break;  // nothing waits for these to be acknowledged
    }
    if (is_far(context)) {
      far_->ack_async_event(event);
    } else {
      near_->ack_async_event(event);
    }
  }
  int init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc& wc, ibv_grh* grh, ibv_ah_attr& attr) override {
    return of(context).init_ah_from_wc(context, port, wc, grh, attr);
  }
  int wait_readable(int descriptor, int timeout_ms) override {
    return of(descriptor).wait_readable(descriptor, timeout_ms);
  }
  int set_nonblocking(int descriptor, bool nonblocking) override {
    return of(descriptor).set_nonblocking(descriptor, nonblocking);
  }

  // Everything else by the context of its object, or near.
  int query_device(ibv_context* context, ibv_device_attr& attr) override {
    return of(context).query_device(context, attr);
  }
  int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex& attr) override {
    return of(context).query_device_ex(context, input, attr);
  }
  int query_rt_values_ex(ibv_context* context, ibv_values_ex& values) override {
    return of(context).query_rt_values_ex(context, values);
  }
  int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr& attr) override {
    return of(context).query_port(context, port, attr);
  }
  int query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid& gid) override {
    return of(context).query_gid(context, port, index, gid);
  }
  int query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry& entry) override {
    return of(context).query_gid_ex(context, port, index, entry);
  }
  std::int64_t query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t max_entries) override {
    return of(context).query_gid_table(context, entries, max_entries);
  }
  int query_pkey(ibv_context* context, std::uint8_t port, int index, std::uint16_t& pkey) override {
    return of(context).query_pkey(context, port, index, pkey);
  }
  verbena::Made<ibv_pd> alloc_pd(ibv_context* context) override { return of(context).alloc_pd(context); }
  int dealloc_pd(ibv_pd* pd) override { return of(pd).dealloc_pd(pd); }
  verbena::Made<ibv_pd> alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr& attr) override {
    return of(context).alloc_parent_domain(context, attr);
  }
  verbena::Made<ibv_td> alloc_td(ibv_context* context, ibv_td_init_attr& attr) override {
    return of(context).alloc_td(context, attr);
  }
  int dealloc_td(ibv_td* td) override { return of(td).dealloc_td(td); }
  verbena::Made<ibv_mr> reg_mr(ibv_pd* pd, void* address, std::size_t length, unsigned access) override {
    return of(pd).reg_mr(pd, address, length, access);
  }
  verbena::Made<ibv_mr> reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova,
                                    unsigned access) override {
    return of(pd).reg_mr_iova(pd, address, length, iova, access);
  }
  verbena::Made<ibv_mr> reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova, int fd,
                                      unsigned access) override {
    return of(pd).reg_dmabuf_mr(pd, offset, length, iova, fd, access);
  }
  verbena::Made<ibv_mr> alloc_null_mr(ibv_pd* pd) override { return of(pd).alloc_null_mr(pd); }
  int rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length, unsigned access,
               int& code) override {
    return of(mr).rereg_mr(mr, flags, pd, address, length, access, code);
  }
  int dereg_mr(ibv_mr* mr) override { return of(mr).dereg_mr(mr); }
  int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list,
                std::uint32_t count) override {
    return of(pd).advise_mr(pd, advice, flags, list, count);
  }
  verbena::Made<ibv_mw> alloc_mw(ibv_pd* pd, ibv_mw_type type) override { return of(pd).alloc_mw(pd, type); }
  int dealloc_mw(ibv_mw* mw) override { return of(mw).dealloc_mw(mw); }
  verbena::Made<ibv_comp_channel> create_comp_channel(ibv_context* context) override {
    return of(context).create_comp_channel(context);
  }
  int destroy_comp_channel(ibv_comp_channel* channel) override { return of(channel).destroy_comp_channel(channel); }
  verbena::Made<ibv_cq> create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                                  int comp_vector) override {
    return of(context).create_cq(context, cqe, cq_context, channel, comp_vector);
  }
  int resize_cq(ibv_cq* cq, int cqe) override { return of(cq).resize_cq(cq, cqe); }
  int modify_cq(ibv_cq* cq, ibv_modify_cq_attr& attr) override { return of(cq).modify_cq(cq, attr); }
  int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) override {
    return of(channel).get_cq_event(channel, cq, cq_context);
  }
  void ack_cq_events(ibv_cq* cq, unsigned count) override { of(cq).ack_cq_events(cq, count); }
  verbena::Made<ibv_srq> create_srq(ibv_pd* pd, ibv_srq_init_attr& attr) override {
    return of(pd).create_srq(pd, attr);
  }
  verbena::Made<ibv_srq> create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex& attr) override {
    return of(context).create_srq_ex(context, attr);
  }
  int modify_srq(ibv_srq* srq, ibv_srq_attr& attr, int mask) override { return of(srq).modify_srq(srq, attr, mask); }
  int query_srq(ibv_srq* srq, ibv_srq_attr& attr) override { return of(srq).query_srq(srq, attr); }
  int destroy_srq(ibv_srq* srq) override { return of(srq).destroy_srq(srq); }
  int modify_qp(ibv_qp* qp, ibv_qp_attr& attr, int mask) override { return of(qp).modify_qp(qp, attr, mask); }
  int query_qp(ibv_qp* qp, ibv_qp_attr& attr, int mask, ibv_qp_init_attr& init) override {
    return of(qp).query_qp(qp, attr, mask, init);
  }
  int query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode opcode, std::uint32_t flags) override {
    return of(qp).query_qp_data_in_order(qp, opcode, flags);
  }
  int query_ece(ibv_qp* qp, ibv_ece& ece) override { return of(qp).query_ece(qp, ece); }
  int set_ece(ibv_qp* qp, ibv_ece& ece) override { return of(qp).set_ece(qp, ece); }
  int attach_mcast(ibv_qp* qp, const ibv_gid& gid, std::uint16_t lid) override {
    return of(qp).attach_mcast(qp, gid, lid);
  }
  int detach_mcast(ibv_qp* qp, const ibv_gid& gid, std::uint16_t lid) override {
    return of(qp).detach_mcast(qp, gid, lid);
  }
  verbena::Made<ibv_ah> create_ah(ibv_pd* pd, ibv_ah_attr& attr) override { return of(pd).create_ah(pd, attr); }
  verbena::Made<ibv_ah> create_ah_from_wc(ibv_pd* pd, ibv_wc& wc, ibv_grh* grh, std::uint8_t port) override {
    return of(pd).create_ah_from_wc(pd, wc, grh, port);
  }
  int destroy_ah(ibv_ah* ah) override { return of(ah).destroy_ah(ah); }
  int resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr& attr, std::uint8_t mac[6],
                              std::uint16_t* vlan) override {
    return of(context).resolve_eth_l2_from_gid(context, attr, mac, vlan);
  }
  int fork_init() override { return near_->fork_init(); }
  ibv_fork_status is_fork_initialized() override { return near_->is_fork_initialized(); }
  const char* wc_status_str(ibv_wc_status status) override { return near_->wc_status_str(status); }
  const char* event_type_str(ibv_event_type event) override { return near_->event_type_str(event); }
  const char* port_state_str(ibv_port_state state) override { return near_->port_state_str(state); }
  const char* node_type_str(ibv_node_type type) override { return near_->node_type_str(type); }
  verbena::Made<rdma_event_channel> cm_create_event_channel() override { return near_->cm_create_event_channel(); }
  void cm_destroy_event_channel(rdma_event_channel* channel) override { near_->cm_destroy_event_channel(channel); }
  verbena::Made<rdma_cm_id> cm_create_id(rdma_event_channel* channel, void* context, int port_space) override {
    return near_->cm_create_id(channel, context, port_space);
  }
  int cm_destroy_id(rdma_cm_id* id) override { return near_->cm_destroy_id(id); }
  int cm_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) override { return near_->cm_migrate_id(id, channel); }
  int cm_bind_addr(rdma_cm_id* id, sockaddr* address) override { return near_->cm_bind_addr(id, address); }
  int cm_resolve_addr(rdma_cm_id* id, sockaddr* source, sockaddr* destination, int timeout_ms) override {
    return near_->cm_resolve_addr(id, source, destination, timeout_ms);
  }
  int cm_resolve_route(rdma_cm_id* id, int timeout_ms) override { return near_->cm_resolve_route(id, timeout_ms); }
  int cm_listen(rdma_cm_id* id, int backlog) override { return near_->cm_listen(id, backlog); }
  int cm_connect(rdma_cm_id* id, rdma_conn_param& param) override { return near_->cm_connect(id, param); }
  int cm_accept(rdma_cm_id* id, rdma_conn_param& param) override { return near_->cm_accept(id, param); }
  int cm_reject(rdma_cm_id* id, const void* private_data, std::uint8_t length) override {
    return near_->cm_reject(id, private_data, length);
  }
  int cm_establish(rdma_cm_id* id) override { return near_->cm_establish(id); }
  int cm_disconnect(rdma_cm_id* id) override { return near_->cm_disconnect(id); }
  int cm_notify(rdma_cm_id* id, ibv_event_type event) override { return near_->cm_notify(id, event); }
  int cm_get_event(rdma_event_channel* channel, rdma_cm_event** event) override {
    return near_->cm_get_event(channel, event);
  }
  int cm_ack_event(rdma_cm_event* event) override { return near_->cm_ack_event(event); }
  const char* cm_event_str(int event) override { return near_->cm_event_str(event); }
  int cm_init_qp_attr(rdma_cm_id* id, ibv_qp_attr& attr, int& mask) override {
    return near_->cm_init_qp_attr(id, attr, mask);
  }
  int cm_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr& attr) override {
    return near_->cm_create_qp(id, pd, attr);
  }
  void cm_destroy_qp(rdma_cm_id* id) override { near_->cm_destroy_qp(id); }
  int cm_join_multicast(rdma_cm_id* id, rdma_cm_join_mc_attr_ex& attr, void* context) override {
    return near_->cm_join_multicast(id, attr, context);
  }
  int cm_leave_multicast(rdma_cm_id* id, sockaddr* group) override { return near_->cm_leave_multicast(id, group); }
  int cm_set_option(rdma_cm_id* id, int level, int name, void* value, std::size_t length) override {
    return near_->cm_set_option(id, level, name, value, length);
  }
  int cm_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints,
                     rdma_addrinfo** result) override {
    return near_->cm_getaddrinfo(node, service, hints, result);
  }
  void cm_freeaddrinfo(rdma_addrinfo* result) override { near_->cm_freeaddrinfo(result); }
  sockaddr* cm_get_local_addr(rdma_cm_id* id) override { return near_->cm_get_local_addr(id); }
  sockaddr* cm_get_peer_addr(rdma_cm_id* id) override { return near_->cm_get_peer_addr(id); }
  std::uint16_t cm_get_src_port(rdma_cm_id* id) override { return near_->cm_get_src_port(id); }
  std::uint16_t cm_get_dst_port(rdma_cm_id* id) override { return near_->cm_get_dst_port(id); }
  int netlink_devices(std::vector<verbena::NetlinkDevice>& devices) override { return near_->netlink_devices(devices); }
  int netlink_uverbs(std::uint32_t device_index, verbena::NetlinkChardev& chardev) override {
    return near_->netlink_uverbs(device_index, chardev);
  }
  int read_file(const std::string& path, std::string& text) override { return near_->read_file(path, text); }
  int read_link(const std::string& path, std::string& target) override { return near_->read_link(path, target); }
  int real_path(const std::string& path, std::string& resolved) override { return near_->real_path(path, resolved); }
  int list_directory(const std::string& path, std::vector<std::string>& names) override {
    return near_->list_directory(path, names);
  }
  int access(const std::string& path, int mode) override { return near_->access(path, mode); }
  std::optional<std::uint64_t> entry_stamp(const std::string& path) override { return near_->entry_stamp(path); }
  std::uint32_t page_size() override { return near_->page_size(); }
  verbena::HostName host_name() override { return near_->host_name(); }
  verbena::MemlockLimit memlock_limit() override { return near_->memlock_limit(); }
  bool may_lock_memory() override { return near_->may_lock_memory(); }
  std::string interface_name(std::uint32_t interface_index) override { return near_->interface_name(interface_index); }
  int interface_addresses(const std::string& interface, std::vector<verbena::IpAddress>& addresses) override {
    return near_->interface_addresses(interface, addresses);
  }
  std::string libibverbs_path() override { return near_->libibverbs_path(); }
  std::uint64_t monotonic_ns() override { return near_->monotonic_ns(); }
  std::uint32_t random32() override { return near_->random32(); }
  void* vendor_function(const char* library, const char* function) override {
    return near_->vendor_function(library, function);
  }

private:
  verbena::Verbs& at(bool far) {
    if (far) return *far_;
    return *near_;
  }
  verbena::Verbs& of(ibv_context* context) { return at(is_far(context)); }
  template <class T>
    requires requires(T* object) { object->context; }
  verbena::Verbs& of(T* object) {
    return at(is_far(object->context));
  }
  verbena::Verbs& of(ibv_device* device) { return at(far_->owns(device)); }
  verbena::Verbs& of(int descriptor) { return at(far_->owns(descriptor)); }

  static Made<ibv_qp> entered(Made<ibv_qp> made) {
    if (!made || is_far(made.handle->context)) return made;
    if (ibv_qp_ex* builder = ibv_qp_to_qp_ex(made.handle)) near_path::enter(builder);
    return made;
  }

  std::shared_ptr<verbena::Verbs> near_;
  std::shared_ptr<FarVerbs> far_;
};

}  // namespace

std::shared_ptr<verbena::Verbs> pair_verbs(std::shared_ptr<verbena::Verbs> near, std::shared_ptr<FarVerbs> far) {
  return std::make_shared<PairVerbs>(std::move(near), std::move(far));
}

}  // namespace conform::peer
