// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "cases/address/by.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace conform {

std::vector<ibv_gid_entry> gid_entries(Case& c, const verbena::Device& device, std::uint8_t port) {
  return gid_entries(c, device.raw(), port);
}

std::vector<ibv_gid_entry> gid_entries(Case& c, ibv_context* context, std::uint8_t port) {
  ibv_port_attr attr{};
  c.need(c.accepted(c.verbs().query_port(context, port, attr), "ibv_query_port"));
  std::vector<ibv_gid_entry> entries;
  for (int index = 0; index < std::min(attr.gid_tbl_len, 256); ++index) {  // an address vector's index has 8 bits
    ibv_gid_entry entry{};
    if (c.verbs().query_gid_ex(context, port, static_cast<std::uint32_t>(index), entry) == 0) entries.push_back(entry);
  }
  return entries;
}

bool is_ipv4(const ibv_gid& gid) {
  static constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(gid.raw, kMapped, sizeof kMapped) == 0;
}

std::string text_of(const ibv_gid& gid) {
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(AF_INET6, gid.raw, text, sizeof text);
}

std::string kind_of(const ibv_gid_entry& entry) {
  const bool link = entry.gid.raw[0] == 0xfe && (entry.gid.raw[1] & 0xc0) == 0x80;
  const std::string address = is_ipv4(entry.gid) ? "ipv4" : (link ? "link-local" : "global");
  if (entry.gid_type == IBV_GID_TYPE_ROCE_V2) return "roce_v2 " + address;
  return entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? "roce_v1 " + address : "ib";
}

PathTo between(PathTo path, const ibv_gid_entry& own, const ibv_gid& peer) {
  path.address.is_global = 1;
  path.address.grh.sgid_index = static_cast<std::uint8_t>(own.gid_index);
  path.address.grh.dgid = peer;
  if (path.address.grh.hop_limit == 0) path.address.grh.hop_limit = 64;
  return path;
}

void connect_by(Case& c, Loop& loop, const PathTo& of_a, const PathTo& of_b, const Terms& of_a_terms,
                const Terms& of_b_terms) {
  const verbena::QpType type = loop.shape().type;
  for (const auto& [end, path, terms] :
       {std::tuple(&loop.a(), &of_a, &of_a_terms), std::tuple(&loop.b(), &of_b, &of_b_terms)}) {
    for (const Move& move : {to_init(type, end->port, *terms), to_rtr(type, *path, *terms), to_rts(type, *terms)}) {
      c.need(c.accepted(end->way->modify(end->qp.raw(), move.attr, move.mask),
                        "ibv_modify_qp to state " + std::to_string(move.attr.qp_state)));
    }
  }
}

Terms impatient() {
  Terms terms;
  terms.timeout = 12;  // 17 ms
  terms.retry_cnt = 2;
  terms.rnr_retry = 1;
  return terms;
}

void arrives(Case& c, Loop& loop, std::size_t bytes, const std::string& what) {
  loop.a().memory->fill(static_cast<std::uint32_t>(bytes + what.size()));
  loop.b().memory->clear();
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, bytes), "ibv_post_recv"));
  c.need(c.accepted(loop.send(loop.a(), 2, 0, bytes), "ibv_post_send"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the send of " + what));
  c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive of " + what));
  c.holds(std::equal(loop.a().data(), loop.a().data() + bytes, loop.b().data()), Seen::no_data, "other bytes: " + what);
}

void never_arrives(Case& c, Loop& loop, std::size_t bytes, const std::string& what) {
  loop.a().memory->fill(7);
  loop.b().memory->clear();
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, bytes), "ibv_post_recv"));
  if (loop.send(loop.a(), 2, 0, bytes) != 0) return;
  const std::optional<ibv_wc> wc = next(c, loop.a().send_cq.raw());
  if (!wc || wc->status == IBV_WC_SUCCESS) c.completed(wc, IBV_WC_RETRY_EXC_ERR, what);
  ibv_wc received{};
  const bool got = c.way().poll(loop.b().recv_cq.raw(), 1, &received) == 1 && received.status == IBV_WC_SUCCESS;
  c.holds(!got, Seen::completion, what + " was received");
  c.holds(std::all_of(loop.b().data(), loop.b().data() + bytes, [](std::uint8_t byte) { return byte == 0; }),
          Seen::data, what + " changed the receiver's memory");
}

}  // namespace conform
