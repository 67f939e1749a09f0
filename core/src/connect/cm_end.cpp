// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "connect/cm_end.hpp"

#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "connect/gid_choice.hpp"
#include "verbena/errno_family.hpp"

namespace verbena {
namespace {

constexpr int kBacklog = 8;

sockaddr_storage socket_address(const IpAddress& address, std::uint16_t port) noexcept {
  sockaddr_storage storage{};
  if (reach_of(address) == AddressReach::ipv4_mapped) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    std::memcpy(&in.sin_addr, &address[12], sizeof in.sin_addr);
    std::memcpy(&storage, &in, sizeof in);
  } else {
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(port);
    std::memcpy(&in6.sin6_addr, address.data(), sizeof in6.sin6_addr);
    std::memcpy(&storage, &in6, sizeof in6);
  }
  return storage;
}

/// What the dialling side says of itself, so that a listener answers its own peer only: a mark, who calls, who is
/// called, and the caller's PSN, which two connections hardly share.
std::array<std::uint8_t, 16> greeting(const QpFacts& caller, const QpFacts& called) noexcept {
  std::array<std::uint8_t, 16> bytes{'v', 'b', 'n', static_cast<std::uint8_t>(caller.version)};
  const auto put = [&bytes](std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
  };
  put(4, caller.qp_num);
  put(8, called.qp_num);
  put(12, caller.psn);
  return bytes;
}

int whole_milliseconds(std::chrono::milliseconds left) noexcept {
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 1, std::numeric_limits<int>::max()));
}

}  // namespace

Failure CmEnd::failed(std::string_view what, int error) const {
  ErrorKind kind = ErrorKind::refused;
  if (errno_family(error) == ErrnoFamily::permission) kind = ErrorKind::permission;
  if (error == ETIMEDOUT) kind = ErrorKind::timeout;
  std::string peer = "a peer not known yet";
  if (peer_.cm_port != 0) peer = fmt::format("{} port {}", address_text(peer_.cm_address), peer_.cm_port);
  return Failure(Error{.kind = kind,
                       .by = {.set_by = SetBy::probed, .reason = "rdma_cm said so"},
                       .errno_value = error,
                       .text = fmt::format("{} failed with {} ({}), between {} port {} and {}.", what,
                                           errno_name(error), error, address_text(address_), port_, peer)});
}

Result<std::unique_ptr<CmEnd>> CmEnd::listen(Verbs& verbs, const IpAddress& address) {
  std::unique_ptr<CmEnd> end(new CmEnd(verbs));
  end->address_ = address;
  const Made<rdma_event_channel> channel = verbs.cm_create_event_channel();
  if (!channel) {
    Failure failure = end->failed("rdma_create_event_channel", channel.error);
    failure.value().text += " Is the module rdma_ucm loaded, and /dev/infiniband/rdma_cm there?";
    return failure;
  }
  end->channel_ = channel.handle;
  if (const int error = verbs.set_nonblocking(channel.handle->fd, true)) return end->failed("fcntl", error);
  const Made<rdma_cm_id> id = verbs.cm_create_id(channel.handle, nullptr, RDMA_PS_TCP);
  if (!id) return end->failed("rdma_create_id", id.error);
  end->listener_ = id.handle;
  sockaddr_storage own = socket_address(address, 0);
  if (const int error = verbs.cm_bind_addr(id.handle, reinterpret_cast<sockaddr*>(&own))) {
    return end->failed("rdma_bind_addr", error);
  }
  // A bound id tells; one that listens does not (kernel drivers/infiniband/core/iwcm.c, iwcm_init_qp_init_attr).
  end->init_attributes_.qp_state = IBV_QPS_INIT;
  if (const int error = verbs.cm_init_qp_attr(id.handle, end->init_attributes_, end->init_mask_)) {
    return end->failed("rdma_init_qp_attr", error);
  }
  if (const int error = verbs.cm_listen(id.handle, kBacklog)) return end->failed("rdma_listen", error);
  end->port_ = verbs.cm_get_src_port(id.handle);
  return end;
}

CmEnd::~CmEnd() {
  if (id_ != nullptr) verbs_.cm_destroy_id(id_);
  stop_listening();
  if (channel_ != nullptr) verbs_.cm_destroy_event_channel(channel_);
}

void CmEnd::stop_listening() noexcept {
  if (listener_ != nullptr) verbs_.cm_destroy_id(listener_);
  listener_ = nullptr;
}

std::string_view CmEnd::waits_for() const noexcept {
  switch (step_) {
    case Step::address:
      return "the peer's address to be resolved";
    case Step::route:
      return "a route to the peer";
    case Step::reply:
      return "the peer's answer";
    case Step::request:
      return "the peer to dial";
    case Step::use:
      return "the peer to take the connection into use";
    default:
      return "nothing";
  }
}

void CmEnd::begin(const QpFacts& own, const QpFacts& peer, const Agreement& agreement) {
  own_ = own;
  peer_ = peer;
  agreement_ = agreement;
  greeting_ = agreement.dials ? greeting(own, peer) : greeting(peer, own);
  step_ = agreement.dials ? Step::start_dial : Step::request;
}

rdma_conn_param CmEnd::parameters() noexcept {
  rdma_conn_param param{};
  param.private_data = greeting_.data();
  param.private_data_len = static_cast<std::uint8_t>(greeting_.size());
  param.responder_resources = agreement_.max_dest_rd_atomic;
  param.initiator_depth = agreement_.max_rd_atomic;
  param.retry_count = own_.timers.retry_cnt & 7U;
  param.rnr_retry_count = own_.timers.rnr_retry & 7U;
  param.qp_num = own_.qp_num;
  return param;
}

Result<void> CmEnd::dial() {
  // Whoever dials is not called: the peer computed the same.
  stop_listening();
  const Made<rdma_cm_id> id = verbs_.cm_create_id(channel_, nullptr, RDMA_PS_TCP);
  if (!id) return failed("rdma_create_id", id.error);
  id_ = id.handle;
  return resolve();
}

Result<void> CmEnd::resolve() {
  // The source binds the connection to this device; by route alone a peer on the same host would bind it to its own.
  sockaddr_storage from = socket_address(address_, 0);
  sockaddr_storage to = socket_address(peer_.cm_address, peer_.cm_port);
  // In slices: an ARP reply that comes while the kernel still queues its request is noticed at the time-out only
  // (kernel drivers/infiniband/core/addr.c, netevent_callback looks at queued requests; a veth pair answers that fast).
  constexpr int kSliceMs = 200;
  if (const int error =
          verbs_.cm_resolve_addr(id_, reinterpret_cast<sockaddr*>(&from), reinterpret_cast<sockaddr*>(&to), kSliceMs)) {
    return failed("rdma_resolve_addr", error);
  }
  step_ = Step::address;
  return {};
}

Result<void> CmEnd::accept(const rdma_cm_event& event, rdma_cm_id*& unwanted) {
  const auto* bytes = static_cast<const std::uint8_t*>(event.param.conn.private_data);
  // A transport may pad private data, never cut it.
  const bool expected = step_ == Step::request && event.param.conn.private_data_len >= greeting_.size() &&
                        std::equal(greeting_.begin(), greeting_.end(), bytes);
  if (!expected) {
    unwanted = event.id;
    return {};
  }
  id_ = event.id;
  rdma_conn_param param = parameters();
  if (const int error = verbs_.cm_accept(id_, param)) return failed("rdma_accept", error);
  step_ = Step::use;
  return {};
}

Result<void> CmEnd::handle(const rdma_cm_event& event, std::chrono::milliseconds left, rdma_cm_id*& unwanted) {
  if (event.event == RDMA_CM_EVENT_CONNECT_REQUEST) return accept(event, unwanted);
  if (event.id != id_) return {};
  switch (event.event) {
    case RDMA_CM_EVENT_ADDR_ERROR:
      // The deadline is the caller's, and is looked at there.
      if (event.status == -ETIMEDOUT && left.count() > 0) return resolve();
      return failed(verbs_.cm_event_str(event.event), event.status < 0 ? -event.status : event.status);
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (const int error = verbs_.cm_resolve_route(id_, whole_milliseconds(left))) {
        return failed("rdma_resolve_route", error);
      }
      step_ = Step::route;
      return {};
    case RDMA_CM_EVENT_ROUTE_RESOLVED: {
      rdma_conn_param param = parameters();
      if (const int error = verbs_.cm_connect(id_, param)) return failed("rdma_connect", error);
      step_ = Step::reply;
      return {};
    }
    case RDMA_CM_EVENT_ESTABLISHED:
      stop_listening();
      step_ = Step::connected;
      return {};
    default:
      // A status is a negated errno, but for a rejection, where it is the reason's own number.
      return failed(verbs_.cm_event_str(event.event), event.status < 0 ? -event.status : event.status);
  }
}

Result<bool> CmEnd::progress(std::chrono::milliseconds left) {
  if (step_ == Step::start_dial) {
    if (auto dialled = dial(); !dialled) return Failure(std::move(dialled.error()));
  }
  while (step_ != Step::connected) {
    rdma_cm_event* event = nullptr;
    const int error = verbs_.cm_get_event(channel_, &event);
    if (error == EAGAIN || error == EINTR) return false;
    if (error != 0) return failed("rdma_get_cm_event", error);
    rdma_cm_id* unwanted = nullptr;
    Result<void> handled = handle(*event, left, unwanted);
    // The event's own data dies with the acknowledgement, and an id cannot be destroyed before it.
    verbs_.cm_ack_event(event);
    if (unwanted != nullptr) {
      verbs_.cm_reject(unwanted, nullptr, 0);
      verbs_.cm_destroy_id(unwanted);
    }
    if (!handled) return Failure(std::move(handled.error()));
  }
  return true;
}

void CmEnd::disconnect() noexcept {
  if (id_ != nullptr && step_ == Step::connected) verbs_.cm_disconnect(id_);
}

}  // namespace verbena
