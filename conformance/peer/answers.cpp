// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "peer/answers.hpp"

#include <algorithm>
#include <cerrno>

#include "rig/event_element.hpp"

namespace conform::peer {

std::optional<Packet> Answers::answer(Packet question) {
  const auto call = question.get<Call>();
  if (!memory_.apply(question)) return std::nullopt;
  Packet rest;
  nothing_ = false;
  int error = ENOSYS;
  if (call <= Call::drop_memory) {
    error = 0;
    const auto address = call == Call::sync ? 0 : question.get<std::uint64_t>();
    const auto length = call == Call::sync ? 0 : question.get<std::uint64_t>();
    if (call == Call::hold_memory) error = memory_.hold(address, length);
    if (call == Call::drop_memory) memory_.drop(address, length);
  } else if (call <= Call::ack_async_event || call == Call::events_readable) {
    error = devices(call, question, rest);
  } else if (call <= Call::dealloc_mw || (call >= Call::create_ah && call <= Call::resolve_eth_l2_from_gid)) {
    error = domains(call, question, rest);
  } else if (call <= Call::destroy_srq || call == Call::channel_readable) {
    error = queues(call, question, rest);
  } else if (call <= Call::detach_mcast) {
    error = queue_pairs(call, question, rest);
  } else if (call <= Call::end_poll) {
    error = data_path(call, question, rest);
  } else if (call <= Call::provider) {
    error = host(call, question, rest);
  }
  if (!question.good()) return std::nullopt;
  Packet out;
  nothing_ = waits(call) && (nothing_ || error == EAGAIN || error == ENOENT);
  if (nothing_ && !pace_.due()) {
    out.put(std::uint32_t{0});
  } else {
    const Pace::Clock::time_point begun = Pace::Clock::now();
    memory_.changes(out);
    pace_.done(begun);
  }
  out.put(error);
  out.put_bytes(rest.bytes().data(), rest.bytes().size());
  return out;
}

int Answers::list_devices(Packet& out) {
  int count = 0;
  const verbena::Made<ibv_device*> list = verbs_.get_device_list(count);
  if (!list) return list.error;
  out.put(static_cast<std::uint32_t>(count));
  for (int at = 0; at < count; ++at) {
    ibv_device* device = list.handle[at];
    std::uint32_t id = devices_.id(device);
    if (id == 0) id = devices_.add(device, next_++);
    out.put(id);
    out.put(verbs_.get_device_index(device));
    out.put(verbs_.get_device_guid(device));
    out.put(device->node_type);
    out.put(device->transport_type);
    out.put_text(verbs_.get_device_name(device));
    out.put_text(device->dev_name);
    out.put_text(device->dev_path);
    out.put_text(device->ibdev_path);
  }
  // The list is kept: a handle is good for as long as its list is, and a client opens what it was told of long ago.
  return 0;
}

int Answers::async_event(Packet& in, Packet& out) {
  ibv_context* context = taken(in, contexts_);
  if (context == nullptr) return EINVAL;
  ibv_async_event event{};
  if (const int error = verbs_.get_async_event(context, event); error != 0) return error;
  std::uint32_t number = 0;
  switch (kind_of(event.event_type)) {
    case ElementKind::cq:
      number = cqs_.id(event.element.cq);
      break;
    case ElementKind::qp:
      number = qps_.id(event.element.qp);
      break;
    case ElementKind::srq:
      number = srqs_.id(event.element.srq);
      break;
    case ElementKind::port:
      number = static_cast<std::uint32_t>(event.element.port_num);
      break;
  }
  out.put(event.event_type);
  out.put(number);
  return 0;
}

int Answers::ack_async_event(Packet& in) {
  ibv_async_event event{};
  in.get(event.event_type);
  const auto number = in.get<std::uint32_t>();
  void* object = nullptr;
  switch (kind_of(event.event_type)) {
    case ElementKind::cq:
      object = cqs_.at(number);
      break;
    case ElementKind::qp:
      object = qps_.at(number);
      break;
    case ElementKind::srq:
      object = srqs_.at(number);
      break;
    case ElementKind::port:
      set_element(event, nullptr, number);
      verbs_.ack_async_event(event);
      return 0;
  }
  if (object == nullptr) return EINVAL;
  set_element(event, object, 0);
  verbs_.ack_async_event(event);
  return 0;
}

int Answers::devices(Call call, Packet& in, Packet& out) {
  if (call == Call::get_device_list) return list_devices(out);
  if (call == Call::get_async_event) return async_event(in, out);
  if (call == Call::ack_async_event) return ack_async_event(in);
  if (call == Call::open_device) {
    ibv_device* device = taken(in, devices_);
    if (device == nullptr) return ENODEV;
    const verbena::Made<ibv_context> context = verbs_.open_device(device);
    if (const int error = made(context, contexts_, out); error != 0) return error;
    // A client that waits must not keep its other questions waiting.
    verbs_.set_nonblocking(context.handle->async_fd, true);
    out.put(context.handle->num_comp_vectors);
    return 0;
  }
  if (call == Call::close_device) return destroyed(in, contexts_, [&](auto* one) { return verbs_.close_device(one); });
  ibv_context* context = taken(in, contexts_);
  if (context == nullptr) return EINVAL;
  const auto answer = [&](auto value, auto ask) {
    const int error = ask(value);
    if (error == 0) out.put(value);
    return error;
  };
  switch (call) {
    case Call::query_device:
      return answer(ibv_device_attr{}, [&](auto& attr) { return verbs_.query_device(context, attr); });
    case Call::query_device_ex: {
      const ibv_query_device_ex_input input{in.get<std::uint32_t>()};
      return answer(in.get<ibv_device_attr_ex>(),
                    [&](auto& attr) { return verbs_.query_device_ex(context, &input, attr); });
    }
    case Call::query_rt_values_ex:
      return answer(in.get<ibv_values_ex>(), [&](auto& values) { return verbs_.query_rt_values_ex(context, values); });
    case Call::query_port: {
      const auto port = in.get<std::uint8_t>();
      return answer(ibv_port_attr{}, [&](auto& attr) { return verbs_.query_port(context, port, attr); });
    }
    case Call::query_gid: {
      const auto port = in.get<std::uint8_t>();
      const auto index = in.get<int>();
      return answer(ibv_gid{}, [&](auto& gid) { return verbs_.query_gid(context, port, index, gid); });
    }
    case Call::query_gid_ex: {
      const auto port = in.get<std::uint32_t>();
      const auto index = in.get<std::uint32_t>();
      return answer(ibv_gid_entry{}, [&](auto& entry) { return verbs_.query_gid_ex(context, port, index, entry); });
    }
    case Call::query_gid_table: {
      const auto most = std::min<std::uint64_t>(in.get<std::uint64_t>(), std::uint64_t{1} << 16);
      std::vector<ibv_gid_entry> entries(most);
      const std::int64_t count = verbs_.query_gid_table(context, entries.data(), entries.size());
      if (count < 0) return static_cast<int>(-count);
      out.put(count);
      for (std::int64_t at = 0; at < count; ++at) out.put(entries[static_cast<std::size_t>(at)]);
      return 0;
    }
    case Call::query_pkey: {
      const auto port = in.get<std::uint8_t>();
      const auto index = in.get<int>();
      return answer(std::uint16_t{0}, [&](auto& pkey) { return verbs_.query_pkey(context, port, index, pkey); });
    }
    case Call::events_readable: {
      const int error = verbs_.wait_readable(context->async_fd, 0);
      return error == ETIMEDOUT ? EAGAIN : error;
    }
    default:
      return ENOSYS;
  }
}

}  // namespace conform::peer
