// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/queues/send_queue.hpp"

namespace verbena::engine::queues {

SendQueue::SendQueue(std::uint32_t depth, std::uint32_t most_sges, std::uint32_t inline_bytes, bool datagrams)
    : works(depth),
      most_sges_(most_sges),
      inline_bytes_(inline_bytes),
      sges_(std::make_unique_for_overwrite<ibv_sge[]>(works.slots() * most_sges)),
      inline_(std::make_unique_for_overwrite<std::byte[]>(works.slots() * inline_bytes)),
      addresses_(datagrams ? std::make_unique<Address[]>(works.slots()) : nullptr) {}

}  // namespace verbena::engine::queues
