// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <endian.h>

#include <cstring>

#include "verbs/beside_emulated.hpp"
#include "verbs/real_verbs.hpp"
#include "verbs/verb_outcome.hpp"

namespace verbena {

std::shared_ptr<Verbs> real_verbs() {
  if (runs_on_emulated()) return std::make_shared<BesideEmulated>();
  return std::make_shared<RealVerbs>();
}

Made<ibv_device*> RealVerbs::get_device_list(int& count) {
  count = 0;
  return made([&] { return ibv_get_device_list(&count); });
}

void RealVerbs::free_device_list(ibv_device** list) {
  ibv_free_device_list(list);
}

const char* RealVerbs::get_device_name(ibv_device* device) {
  return ibv_get_device_name(device);
}

int RealVerbs::get_device_index(ibv_device* device) {
  return ibv_get_device_index(device);
}

std::uint64_t RealVerbs::get_device_guid(ibv_device* device) {
  return be64toh(ibv_get_device_guid(device));
}

Made<ibv_context> RealVerbs::open_device(ibv_device* device) {
  return made([&] { return ibv_open_device(device); });
}

int RealVerbs::close_device(ibv_context* context) {
  return outcome([&] { return ibv_close_device(context); });
}

int RealVerbs::query_device(ibv_context* context, ibv_device_attr& attr) {
  return outcome([&] { return ibv_query_device(context, &attr); });
}

int RealVerbs::query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex& attr) {
  return outcome([&] { return ibv_query_device_ex(context, input, &attr); });
}

int RealVerbs::query_rt_values_ex(ibv_context* context, ibv_values_ex& values) {
  return outcome([&] { return ibv_query_rt_values_ex(context, &values); });
}

// The name is a macro in verbs.h: it takes the provider's own entry where there is one, and fills the fields that the
// exported symbol of the old ABI leaves out.
int RealVerbs::query_port(ibv_context* context, std::uint8_t port, ibv_port_attr& attr) {
  return outcome([&] { return ibv_query_port(context, port, &attr); });
}

int RealVerbs::query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid& gid) {
  return outcome([&] { return ibv_query_gid(context, port, index, &gid); });
}

int RealVerbs::query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry& entry) {
  return outcome([&] { return ibv_query_gid_ex(context, port, index, &entry, 0); });
}

std::int64_t RealVerbs::query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t max_entries) {
  return ibv_query_gid_table(context, entries, max_entries, 0);
}

int RealVerbs::query_pkey(ibv_context* context, std::uint8_t port, int index, std::uint16_t& pkey) {
  __be16 value = 0;
  const int error = outcome([&] { return ibv_query_pkey(context, port, index, &value); });
  pkey = be16toh(value);
  return error;
}

int RealVerbs::get_async_event(ibv_context* context, ibv_async_event& event) {
  return outcome([&] { return ibv_get_async_event(context, &event); });
}

void RealVerbs::ack_async_event(ibv_async_event& event) {
  ibv_ack_async_event(&event);
}

int RealVerbs::fork_init() {
  return outcome([] { return ibv_fork_init(); });
}

ibv_fork_status RealVerbs::is_fork_initialized() {
  return ibv_is_fork_initialized();
}

const char* RealVerbs::wc_status_str(ibv_wc_status status) {
  return ibv_wc_status_str(status);
}

const char* RealVerbs::event_type_str(ibv_event_type event) {
  return ibv_event_type_str(event);
}

const char* RealVerbs::port_state_str(ibv_port_state state) {
  return ibv_port_state_str(state);
}

const char* RealVerbs::node_type_str(ibv_node_type type) {
  return ibv_node_type_str(type);
}

}  // namespace verbena
