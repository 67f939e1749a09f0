// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "peer/far_verbs.hpp"
#include "rig/event_element.hpp"

namespace conform::peer {

using verbena::Made;

namespace {

/// How often the far end is asked whether an event came.
constexpr std::chrono::milliseconds kAskAgain{1};

/// A connection that was greeted.
verbena::Result<std::pair<Socket, Welcome>> greet(const HostPort& where, const Hello& hello,
                                                  std::chrono::milliseconds within) {
  auto socket = connect_to(where, within);
  if (!socket) return verbena::Failure(std::move(socket.error()));
  const std::string address = address_of(socket->fd(), true);
  verbena::Error error{.kind = verbena::ErrorKind::io};
  std::optional<Packet> answer;
  if (send_frame(socket->fd(), packet_of(hello))) {
    answer = receive_frame(socket->fd(), kLongestHello, std::chrono::milliseconds(10000));
  }
  std::optional<Welcome> welcome;
  if (answer) welcome = welcome_from(*std::move(answer));
  if (!welcome) {
    error.errno_value = EPROTO;
    error.text = "what listens at " + address + " does not speak as `verbena conform --serve` does";
    return verbena::Failure(std::move(error));
  }
  if (!welcome->refused.empty()) {
    error.errno_value = EBUSY;
    error.text = "the peer at " + address + " refuses: " + welcome->refused;
    return verbena::Failure(std::move(error));
  }
  return std::pair(*std::move(socket), *std::move(welcome));
}

}  // namespace

FarVerbs::FarVerbs(Socket socket, Welcome welcome) : line_(std::move(socket)), welcome_(std::move(welcome)) {}

FarVerbs::~FarVerbs() {
  for (const auto& [descriptor, watched] : watched_) ::close(descriptor);
}

verbena::Result<std::shared_ptr<FarVerbs>> FarVerbs::connect(const HostPort& where, const Hello& hello,
                                                             std::chrono::milliseconds within) {
  auto greeted = greet(where, hello, within);
  if (!greeted) return verbena::Failure(std::move(greeted.error()));
  return std::make_shared<FarVerbs>(std::move(greeted->first), std::move(greeted->second));
}

verbena::Result<void> FarVerbs::connect_again(const HostPort& where, const Hello& hello,
                                              std::chrono::milliseconds within) {
  auto greeted = greet(where, hello, within);
  if (!greeted) return verbena::Failure(std::move(greeted.error()));
  line_.connect_again(std::move(greeted->first));
  welcome_ = std::move(greeted->second);
  return {};
}

bool FarVerbs::owns(ibv_device* device) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(devices_.begin(), devices_.end(), [&](const auto& one) { return &one->object == device; });
}

bool FarVerbs::owns(int descriptor) const {
  const std::lock_guard lock(mutex_);
  return watched_.contains(descriptor);
}

int FarVerbs::new_descriptor() {
  return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void FarVerbs::close_descriptor(int descriptor) {
  const std::lock_guard lock(mutex_);
  if (watched_.erase(descriptor) != 0) ::close(descriptor);
}

Made<ibv_device*> FarVerbs::get_device_list(int& count) {
  Line::Answer answer = line_.ask(Call::get_device_list);
  if (answer.error != 0) return {.handle = nullptr, .error = answer.error};
  const auto listed = answer.rest.get<std::uint32_t>();
  const std::lock_guard lock(mutex_);
  std::vector<ibv_device*> list;
  for (std::uint32_t at = 0; at < listed && answer.rest.good(); ++at) {
    auto device = std::make_unique<Device>();
    answer.rest.get(device->id);
    answer.rest.get(device->index);
    answer.rest.get(device->guid);
    answer.rest.get(device->object.node_type);
    answer.rest.get(device->object.transport_type);
    for (char* text :
         {device->object.name, device->object.dev_name, device->object.dev_path, device->object.ibdev_path}) {
      // The two kinds of arrays differ in length; the shorter one is of names.
      const std::size_t room =
          text == device->object.name || text == device->object.dev_name ? IBV_SYSFS_NAME_MAX : IBV_SYSFS_PATH_MAX;
      const std::string value = answer.rest.text();
      text[value.copy(text, room - 1)] = '\0';
    }
    list.push_back(&device->object);
    devices_.push_back(std::move(device));
  }
  count = static_cast<int>(list.size());
  list.push_back(nullptr);
  // What the handle points at stays where it is when the vector is moved.
  ibv_device** handle = list.data();
  lists_[handle] = std::move(list);
  return {.handle = handle};
}

void FarVerbs::free_device_list(ibv_device** list) {
  const std::lock_guard lock(mutex_);
  lists_.erase(list);
}

const char* FarVerbs::get_device_name(ibv_device* device) {
  return device->name;
}

int FarVerbs::get_device_index(ibv_device* device) {
  return reinterpret_cast<Device*>(device)->index;
}

std::uint64_t FarVerbs::get_device_guid(ibv_device* device) {
  return reinterpret_cast<Device*>(device)->guid;
}

Made<ibv_context> FarVerbs::open_device(ibv_device* device) {
  Line::Answer answer = line_.ask(Call::open_device, reinterpret_cast<Device*>(device)->id);
  if (answer.error != 0) return {.handle = nullptr, .error = answer.error, .errno_missing = answer.rest.get<bool>()};
  answer.rest.get<bool>();
  auto* context = new ShadowContext;
  answer.rest.get(context->id);
  answer.rest.get(context->object.num_comp_vectors);
  context->far = this;
  context->object.device = device;
  context->object.cmd_fd = -1;
  context->object.async_fd = new_descriptor();
  set_far_data_path(context->object.ops);
  const std::lock_guard lock(mutex_);
  opened_ = context->id;
  watched_[context->object.async_fd] = {Call::events_readable, context->id, false};
  return {.handle = &context->object};
}

int FarVerbs::close_device(ibv_context* context) {
  ShadowContext& shadow = ShadowContext::of(context);
  const int error = line_.ask(Call::close_device, shadow.id).error;
  close_descriptor(context->async_fd);
  delete &shadow;
  return error;
}

int FarVerbs::query_device(ibv_context* context, ibv_device_attr& attr) {
  Line::Answer answer = line_.ask(Call::query_device, id_of(context));
  answer.rest.get(attr);
  return answer.error;
}

int FarVerbs::query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex& attr) {
  Line::Answer answer =
      line_.ask(Call::query_device_ex, id_of(context), input != nullptr ? input->comp_mask : 0U, attr);
  answer.rest.get(attr);
  return answer.error;
}

int FarVerbs::query_rt_values_ex(ibv_context* context, ibv_values_ex& values) {
  Line::Answer answer = line_.ask(Call::query_rt_values_ex, id_of(context), values);
  if (answer.error == 0) answer.rest.get(values);
  return answer.error;
}

int FarVerbs::query_port(ibv_context* context, std::uint8_t port, ibv_port_attr& attr) {
  Line::Answer answer = line_.ask(Call::query_port, id_of(context), port);
  if (answer.error == 0) answer.rest.get(attr);
  return answer.error;
}

int FarVerbs::query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid& gid) {
  Line::Answer answer = line_.ask(Call::query_gid, id_of(context), port, index);
  if (answer.error == 0) answer.rest.get(gid);
  return answer.error;
}

int FarVerbs::query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry& entry) {
  Line::Answer answer = line_.ask(Call::query_gid_ex, id_of(context), port, index);
  if (answer.error == 0) answer.rest.get(entry);
  return answer.error;
}

std::int64_t FarVerbs::query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t max_entries) {
  Line::Answer answer = line_.ask(Call::query_gid_table, id_of(context), std::uint64_t{max_entries});
  if (answer.error != 0) return -answer.error;
  const auto count = answer.rest.get<std::int64_t>();
  for (std::int64_t at = 0; at < count && static_cast<std::size_t>(at) < max_entries; ++at)
    answer.rest.get(entries[at]);
  return count;
}

int FarVerbs::query_pkey(ibv_context* context, std::uint8_t port, int index, std::uint16_t& pkey) {
  Line::Answer answer = line_.ask(Call::query_pkey, id_of(context), port, index);
  if (answer.error == 0) answer.rest.get(pkey);
  return answer.error;
}

int FarVerbs::get_async_event(ibv_context* context, ibv_async_event& event) {
  for (;;) {
    Line::Answer answer = line_.ask(Call::get_async_event, id_of(context));
    if (answer.error == 0) {
      answer.rest.get(event.event_type);
      const auto number = answer.rest.get<std::uint32_t>();
      const std::lock_guard lock(mutex_);
      const auto found = by_id_.find(number);
      set_element(event, found != by_id_.end() ? found->second : nullptr, number);
      return 0;
    }
    if (answer.error != EAGAIN) return answer.error;
    {
      const std::lock_guard lock(mutex_);
      if (watched_[context->async_fd].nonblocking) return EAGAIN;
    }
    std::this_thread::sleep_for(kAskAgain);
  }
}

void FarVerbs::ack_async_event(ibv_async_event& event) {
  std::uint32_t number = 0;
  switch (kind_of(event.event_type)) {
    case ElementKind::cq:
      number = id_of(event.element.cq);
      break;
    case ElementKind::qp:
      number = id_of(event.element.qp);
      break;
    case ElementKind::srq:
      number = id_of(event.element.srq);
      break;
    case ElementKind::port:
      number = static_cast<std::uint32_t>(event.element.port_num);
      break;
  }
  line_.ask(Call::ack_async_event, event.event_type, number);
}

int FarVerbs::get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  for (;;) {
    Line::Answer answer = line_.ask(Call::get_cq_event, id_of(channel));
    if (answer.error == 0) {
      const auto number = answer.rest.get<std::uint32_t>();
      const std::lock_guard lock(mutex_);
      const auto found = by_id_.find(number);
      if (found == by_id_.end()) return EIO;
      *cq = static_cast<ibv_cq*>(found->second);
      *cq_context = (*cq)->cq_context;
      return 0;
    }
    if (answer.error != EAGAIN) return answer.error;
    {
      const std::lock_guard lock(mutex_);
      if (watched_[channel->fd].nonblocking) return EAGAIN;
    }
    std::this_thread::sleep_for(kAskAgain);
  }
}

int FarVerbs::wait_readable(int descriptor, int timeout_ms) {
  Watched watched;
  {
    const std::lock_guard lock(mutex_);
    const auto found = watched_.find(descriptor);
    if (found == watched_.end()) return EBADF;
    watched = found->second;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(std::max(0, timeout_ms));
  for (;;) {
    const int error = line_.ask(watched.readable, watched.id).error;
    if (error != EAGAIN) return error;
    if (timeout_ms >= 0 && std::chrono::steady_clock::now() >= end) return ETIMEDOUT;
    std::this_thread::sleep_for(kAskAgain);
  }
}

int FarVerbs::set_nonblocking(int descriptor, bool nonblocking) {
  const std::lock_guard lock(mutex_);
  const auto found = watched_.find(descriptor);
  if (found == watched_.end()) return EBADF;
  found->second.nonblocking = nonblocking;
  return 0;
}

}  // namespace conform::peer
