// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "cases/mr/target.hpp"

#include <algorithm>
#include <string>

namespace conform {

Target target(Case& c, const End& end, const TargetShape& shape) {
  const std::size_t page = c.verbs().page_size();
  Target made{.memory = Memory(shape.pages * page, page), .offset = shape.offset, .length = shape.length, .mr = {}};
  if (made.length == 0) made.length = made.memory.size() - made.offset;
  made.memory.fill(17);
  made.mr = c.made(end.way->mr(end.pd.raw(), {.address = made.first(), .length = made.length, .access = shape.access}),
                   "ibv_reg_mr");
  return made;
}

bool Before::only(Case& c, const std::uint8_t* first, const std::uint8_t* must, std::size_t length,
                  std::string_view what) const {
  const auto from = static_cast<std::size_t>(first - memory_.data());
  const bool there = std::equal(must, must + length, first);
  const bool rest = std::equal(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(from), memory_.data()) &&
                    std::equal(bytes_.begin() + static_cast<std::ptrdiff_t>(from + length), bytes_.end(),
                               memory_.data() + from + length);
  return c.holds(there, Seen::no_data, std::string(what) + ": the bytes are not there") &&
         c.holds(rest, Seen::data, std::string(what) + ": other bytes were changed");
}

int send_of(Loop& loop, End& from, std::uint64_t address, std::size_t length, std::uint32_t lkey) {
  ibv_sge sge{address, static_cast<std::uint32_t>(length), lkey};
  ibv_send_wr wr{};
  wr.wr_id = 5;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  return loop.post(from, wr);
}

int receive_into(Loop& loop, End& at, std::uint64_t address, std::size_t length, std::uint32_t lkey) {
  ibv_sge sge{address, static_cast<std::uint32_t>(length), lkey};
  ibv_recv_wr wr{};
  wr.wr_id = 6;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  return loop.post(at, wr);
}

void local_key_denied(Case& c, Loop& loop, std::uint64_t address, std::size_t length, std::uint32_t lkey,
                      std::string_view what) {
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, length), "ibv_post_recv"));
  if (send_of(loop, loop.a(), address, length, lkey) != 0) return;
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_LOC_PROT_ERR, what);
}

}  // namespace conform
