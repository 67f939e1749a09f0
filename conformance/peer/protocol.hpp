// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "peer/packet.hpp"

namespace conform::peer {

/// Goes up when a frame means something else.
inline constexpr std::uint32_t kProtocol = 1;
/// Where a server listens, and a client asks, when no port is named.
inline constexpr std::uint16_t kDefaultPort = 18590;

/// What the server is asked to do. Each is a verb, or one of the host's answers that belong to a device.
enum class Call : std::uint16_t {
  sync,         ///< nothing: for the memory that goes with each question and answer
  hold_memory,  ///< memory at these addresses, to be registered
  drop_memory,
  get_device_list,
  open_device,
  close_device,
  query_device,
  query_device_ex,
  query_rt_values_ex,
  query_port,
  query_gid,
  query_gid_ex,
  query_gid_table,
  query_pkey,
  get_async_event,
  ack_async_event,
  alloc_pd,
  dealloc_pd,
  alloc_parent_domain,
  alloc_td,
  dealloc_td,
  reg_mr,
  reg_mr_iova,
  alloc_null_mr,
  rereg_mr,
  dereg_mr,
  advise_mr,
  alloc_mw,
  dealloc_mw,
  create_comp_channel,
  destroy_comp_channel,
  create_cq,
  create_cq_ex,
  resize_cq,
  modify_cq,
  destroy_cq,
  get_cq_event,
  ack_cq_events,
  create_srq,
  create_srq_ex,
  modify_srq,
  query_srq,
  destroy_srq,
  create_qp,
  create_qp_ex,
  modify_qp,
  query_qp,
  query_qp_data_in_order,
  destroy_qp,
  query_ece,
  set_ece,
  attach_mcast,
  detach_mcast,
  create_ah,
  create_ah_from_wc,
  init_ah_from_wc,
  destroy_ah,
  resolve_eth_l2_from_gid,
  post_send,
  post_recv,
  post_srq_recv,
  poll_cq,
  req_notify_cq,
  bind_mw,
  start_poll,
  next_poll,
  end_poll,
  channel_readable,
  events_readable,
  netlink_devices,
  netlink_uverbs,
  read_file,
  read_link,
  real_path,
  list_directory,
  access,
  entry_stamp,
  host,
  interface_name,
  interface_addresses,
  provider,
};

/// Calls that are asked again and again until something has come. Where nothing has, memory is not looked at each time.
constexpr bool waits(Call call) noexcept {
  switch (call) {
    case Call::poll_cq:
    case Call::start_poll:
    case Call::next_poll:
    case Call::get_async_event:
    case Call::get_cq_event:
    case Call::channel_readable:
    case Call::events_readable:
      return true;
    default:
      return false;
  }
}

/// What a client says first.
struct Hello {
  std::uint32_t protocol = kProtocol;
  std::uint64_t layout = 0;  ///< of the structures that go over the wire: layout_here()
  std::uint32_t list_version = 0;
  std::uint64_t list_hash = 0;
  std::uint64_t seed = 0;
  std::uint64_t token = 0;  ///< 0: begins a run; else a further connection of the run that was given this token
  std::string verbena{};  ///< version
  std::string host{};  ///< name, for the server's log
  std::string device{};  ///< the client's own
};

/// What the server answers.
struct Welcome {
  std::string refused{};  ///< why it does not go on; empty: it does
  std::uint64_t token = 0;
  std::string host{};
  std::string boot{};  ///< differs between hosts, and between boots of one
};

/// Changes with the byte order, the word size and the structures of the verbs headers.
std::uint64_t layout_here();
/// This host's name, and a word that names its boot.
std::string host_here();
std::string boot_here();

Packet packet_of(const Hello& hello);
std::optional<Hello> hello_from(Packet packet);
Packet packet_of(const Welcome& welcome);
std::optional<Welcome> welcome_from(Packet packet);

/// Why a server with this list cannot serve that client: both versions are named. Empty: it can.
std::string mismatch(const Hello& client, std::uint32_t list_version, std::uint64_t list_hash,
                     const std::string& verbena);

}  // namespace conform::peer
