// SPDX-License-Identifier: Apache-2.0 OR MIT
// From trains to the bytes of packets and back, for fabrics that speak of packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/transport/train.hpp"
#include "engine/wire/encode.hpp"
#include "engine/wire/parse.hpp"

namespace verbena::engine::fabric {

/// Writes packet `index` of the train; 0 where it can't be one.
std::size_t write_packet(const transport::Train& train, std::uint32_t index, std::span<std::byte> to) noexcept;

/// A packet as a train of one, whose payload stays in the bytes. `piece` must live as long as the train.
transport::Train as_train(const wire::Received& received, memory::Piece& piece) noexcept;

}  // namespace verbena::engine::fabric
