// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "cm/messages.hpp"

#include <algorithm>
#include <concepts>
#include <type_traits>

#include "engine/wire/bytes.hpp"

namespace verbena::emulator::cm {

namespace {

using engine::wire::load;
using engine::wire::store;

// Linux include/rdma/ib_mad.h: struct ib_mad_hdr, IB_MGMT_BASE_VERSION, IB_MGMT_CLASS_CM, IB_MGMT_METHOD_SEND;
// drivers/infiniband/core/cm_msgs.h IB_CM_CLASS_VERSION.
constexpr std::size_t kHeaderBytes = 24;
constexpr std::uint8_t kBaseVersion = 1;
constexpr std::uint8_t kClass = 0x07;
constexpr std::uint8_t kClassVersion = 2;
constexpr std::uint8_t kSend = 0x03;
constexpr std::size_t kTransactionAt = 8;
constexpr std::size_t kAttributeAt = 16;
constexpr std::uint16_t kFirstAttribute = 0x0010;  // REQ; the others follow in the order of Body

/// A number that the table below names by its byte, its first bit (the most significant one is 0) and its width.
struct Place {
  std::size_t byte;
  unsigned bit;
  unsigned width;

  unsigned shift() const noexcept { return (8 - (bit + width) % 8) % 8; }
  std::size_t bytes() const noexcept { return (bit + width + 7) / 8; }
};

/// Puts fields into a datagram.
class Writer {
public:
  explicit Writer(Mad& mad) noexcept : mad_(mad) {}

  template <class Number>
  void operator()(std::size_t byte, unsigned bit, unsigned width, const Number& number) noexcept {
    const Place place{kHeaderBytes + byte, bit, width};
    std::uint64_t left = static_cast<std::uint64_t>(number);
    if (width < 64) left &= (std::uint64_t{1} << width) - 1;
    left <<= place.shift();
    for (std::size_t index = place.bytes(); index > 0; --index, left >>= 8) {
      mad_[place.byte + index - 1] |= static_cast<std::byte>(left & 0xff);
    }
  }
  template <std::size_t Bytes>
  void operator()(std::size_t byte, const std::array<std::byte, Bytes>& bytes) noexcept {
    std::copy(bytes.begin(), bytes.end(), mad_.begin() + static_cast<std::ptrdiff_t>(kHeaderBytes + byte));
  }

private:
  Mad& mad_;
};

/// Takes them out again.
class Reader {
public:
  explicit Reader(std::span<const std::byte, kMadBytes> mad) noexcept : mad_(mad) {}

  template <class Number>
  void operator()(std::size_t byte, unsigned bit, unsigned width, Number& number) noexcept {
    const Place place{kHeaderBytes + byte, bit, width};
    std::uint64_t taken = 0;
    for (std::size_t index = 0; index < place.bytes(); ++index) {
      taken = (taken << 8) | std::to_integer<std::uint64_t>(mad_[place.byte + index]);
    }
    taken >>= place.shift();
    if (width < 64) taken &= (std::uint64_t{1} << width) - 1;
    number = static_cast<Number>(taken);
  }
  template <std::size_t Bytes>
  void operator()(std::size_t byte, std::array<std::byte, Bytes>& bytes) noexcept {
    std::copy_n(mad_.begin() + static_cast<std::ptrdiff_t>(kHeaderBytes + byte), Bytes, bytes.begin());
  }

private:
  std::span<const std::byte, kMadBytes> mad_;
};

// Each message once, for both directions. Offsets are from the end of the header.

template <class Fields, class PathOf>
void path(Fields& at, std::size_t from, PathOf& path) {
  at(from, 0, 16, path.local_lid);
  at(from + 2, 0, 16, path.remote_lid);
  at(from + 4, path.local_gid);
  at(from + 20, path.remote_gid);
  at(from + 36, 0, 20, path.flow_label);
  at(from + 39, 2, 6, path.packet_rate);
  at(from + 40, 0, 8, path.traffic_class);
  at(from + 41, 0, 8, path.hop_limit);
  at(from + 42, 0, 4, path.sl);
  at(from + 42, 4, 1, path.subnet_local);
  at(from + 43, 0, 5, path.local_ack_timeout);
}

template <class Message>
using Bare = std::remove_cv_t<Message>;

template <class Fields, class Of>
  requires std::same_as<Bare<Of>, Req>
void fields(Fields& at, Of& req) {
  at(0, 0, 32, req.local_comm_id);
  at(8, 0, 64, req.service_id);
  at(16, 0, 64, req.local_ca_guid);
  at(28, 0, 32, req.local_qkey);
  at(32, 0, 24, req.local_qpn);
  at(35, 0, 8, req.responder_resources);
  at(39, 0, 8, req.initiator_depth);
  at(43, 0, 5, req.remote_cm_response_timeout);
  at(43, 5, 2, req.transport_service_type);
  at(43, 7, 1, req.end_to_end_flow_control);
  at(44, 0, 24, req.starting_psn);
  at(47, 0, 5, req.local_cm_response_timeout);
  at(47, 5, 3, req.retry_count);
  at(48, 0, 16, req.pkey);
  at(50, 0, 4, req.path_mtu);
  at(50, 5, 3, req.rnr_retry_count);
  at(51, 0, 4, req.max_cm_retries);
  at(51, 4, 1, req.srq);
  path(at, 52, req.primary);
  path(at, 96, req.alternate);
  at(140, req.private_data);
}

template <class Fields, class Of>
  requires std::same_as<Bare<Of>, Mra>
void fields(Fields& at, Of& mra) {
  at(0, 0, 32, mra.local_comm_id);
  at(4, 0, 32, mra.remote_comm_id);
  at(8, 0, 2, mra.message);
  at(9, 0, 5, mra.service_timeout);
  at(10, mra.private_data);
}

template <class Fields, class Of>
  requires std::same_as<Bare<Of>, Rej>
void fields(Fields& at, Of& rej) {
  at(0, 0, 32, rej.local_comm_id);
  at(4, 0, 32, rej.remote_comm_id);
  at(8, 0, 2, rej.message);
  at(9, 0, 7, rej.info_length);
  at(10, 0, 16, rej.reason);
  at(12, rej.info);
  at(84, rej.private_data);
}

template <class Fields, class Of>
  requires std::same_as<Bare<Of>, Rep>
void fields(Fields& at, Of& rep) {
  at(0, 0, 32, rep.local_comm_id);
  at(4, 0, 32, rep.remote_comm_id);
  at(8, 0, 32, rep.local_qkey);
  at(12, 0, 24, rep.local_qpn);
  at(20, 0, 24, rep.starting_psn);
  at(24, 0, 8, rep.responder_resources);
  at(25, 0, 8, rep.initiator_depth);
  at(26, 0, 5, rep.target_ack_delay);
  at(26, 5, 2, rep.failover_accepted);
  at(26, 7, 1, rep.end_to_end_flow_control);
  at(27, 0, 3, rep.rnr_retry_count);
  at(27, 3, 1, rep.srq);
  at(28, 0, 64, rep.local_ca_guid);
  at(36, rep.private_data);
}

template <class Fields, class Of>
  requires std::same_as<Bare<Of>, Rtu> || std::same_as<Bare<Of>, Drep>
void fields(Fields& at, Of& message) {
  at(0, 0, 32, message.local_comm_id);
  at(4, 0, 32, message.remote_comm_id);
  at(8, message.private_data);
}

template <class Fields, class Of>
  requires std::same_as<Bare<Of>, Dreq>
void fields(Fields& at, Of& dreq) {
  at(0, 0, 32, dreq.local_comm_id);
  at(4, 0, 32, dreq.remote_comm_id);
  at(8, 0, 24, dreq.remote_qpn);
  at(12, dreq.private_data);
}

template <class Fields, class Of>
  requires std::same_as<Bare<Of>, SidrReq>
void fields(Fields& at, Of& req) {
  at(0, 0, 32, req.request_id);
  at(4, 0, 16, req.pkey);
  at(8, 0, 64, req.service_id);
  at(16, req.private_data);
}

template <class Fields, class Of>
  requires std::same_as<Bare<Of>, SidrRep>
void fields(Fields& at, Of& rep) {
  at(0, 0, 32, rep.request_id);
  at(4, 0, 8, rep.status);
  at(5, 0, 8, rep.info_length);
  at(8, 0, 24, rep.qpn);
  at(12, 0, 64, rep.service_id);
  at(20, 0, 32, rep.qkey);
  at(24, rep.info);
  at(96, rep.private_data);
}

/// The body of that index in the variant, all zeros.
template <std::size_t Index = 0>
std::optional<Body> body_of(std::size_t index) {
  if constexpr (Index < std::variant_size_v<Body>) {
    if (index == Index) return Body(std::in_place_index<Index>);
    return body_of<Index + 1>(index);
  } else {
    return std::nullopt;
  }
}

}  // namespace

Mad encode(const Message& message) noexcept {
  Mad mad{};
  mad[0] = std::byte{kBaseVersion};
  mad[1] = std::byte{kClass};
  mad[2] = std::byte{kClassVersion};
  mad[3] = std::byte{kSend};
  store(mad.data() + kTransactionAt, message.transaction_id);
  store(mad.data() + kAttributeAt, static_cast<std::uint16_t>(kFirstAttribute + message.body.index()));
  Writer writer(mad);
  std::visit([&writer](const auto& body) { fields(writer, body); }, message.body);
  return mad;
}

std::optional<Message> parse(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() != kMadBytes) return std::nullopt;
  const std::span<const std::byte, kMadBytes> mad(bytes);
  const std::byte wanted[] = {std::byte{kBaseVersion}, std::byte{kClass}, std::byte{kClassVersion}, std::byte{kSend}};
  if (!std::equal(std::begin(wanted), std::end(wanted), mad.begin())) return std::nullopt;
  const auto attribute = load<std::uint16_t>(mad.data() + kAttributeAt);
  if (attribute < kFirstAttribute) return std::nullopt;
  std::optional<Body> body = body_of(attribute - std::size_t{kFirstAttribute});
  if (!body) return std::nullopt;
  Reader reader(mad);
  std::visit([&reader](auto& of) { fields(reader, of); }, *body);
  return Message{load<std::uint64_t>(mad.data() + kTransactionAt), *body};
}

}  // namespace verbena::emulator::cm
