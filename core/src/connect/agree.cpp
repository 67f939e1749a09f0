// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "connect/gid_choice.hpp"
#include "verbena/connect.hpp"

namespace verbena {
namespace {

Failure disagree(std::string field, std::string text) {
  return Failure(Error{.kind = ErrorKind::invalid_request,
                       .field = std::move(field),
                       .by = {.set_by = SetBy::request, .reason = "both sides of a connection must agree"},
                       .text = std::move(text)});
}

}  // namespace

Result<Agreement> agree(const QpFacts& own, const QpFacts& peer) {
  if (own.version != peer.version) {
    return disagree("version", fmt::format("This side speaks version {} of the facts, the peer version {}.",
                                           own.version, peer.version));
  }
  if (own.type != peer.type) {
    return disagree("type",
                    fmt::format("This side has a {} queue pair, the peer a {} one.", name(own.type), name(peer.type)));
  }
  if (own.transport != peer.transport) {
    return disagree("transport", fmt::format("This side speaks {}, the peer {}: they cannot talk.", name(own.transport),
                                             name(peer.transport)));
  }
  if (own.over_rdma_cm != peer.over_rdma_cm) {
    return disagree("over_rdma_cm", "One side is connected by rdma_cm and the other is not.");
  }
  if (own.gid_type != peer.gid_type) {
    return disagree("gid_type",
                    fmt::format("This side sends as {}, the peer as {}.", name(own.gid_type), name(peer.gid_type)));
  }
  Agreement agreement;
  agreement.mtu = std::min(own.mtu, peer.mtu);
  agreement.max_rd_atomic = std::min(own.max_rd_atomic, peer.max_dest_rd_atomic);
  agreement.max_dest_rd_atomic = std::min(own.max_dest_rd_atomic, peer.max_rd_atomic);
  if (own.over_rdma_cm) {
    const auto key = [](const QpFacts& facts) { return std::tie(facts.cm_address, facts.cm_port, facts.qp_num); };
    if (key(own) == key(peer)) {
      return disagree("cm_port", "These are the facts of one and the same queue pair.");
    }
    agreement.dials = key(own) < key(peer);
  } else if (agreement.mtu < 256) {
    return disagree("mtu",
                    fmt::format("No path MTU fits both: this side takes {} bytes, the peer {}.", own.mtu, peer.mtu));
  }
  return agreement;
}

std::string to_string(const QpFacts& facts) {
  std::string text = fmt::format("{} qp {:#x} psn {:#08x} {} port {}", name(facts.type), facts.qp_num, facts.psn,
                                 name(facts.transport), facts.port);
  if (facts.over_rdma_cm) {
    text += fmt::format(" rdma_cm at {} port {}", address_text(facts.cm_address), facts.cm_port);
  } else if (facts.transport == Transport::infiniband) {
    text += fmt::format(" lid {}", facts.lid);
  } else {
    text += fmt::format(" gid {} ({})", address_text(facts.gid), name(facts.gid_type));
  }
  text += fmt::format(" mtu {}", facts.mtu);
  if (facts.type == QpType::ud) return text + fmt::format(" qkey {:#x}", facts.qkey);
  if (facts.type == QpType::rc) {
    text += fmt::format(" reads {} out {} in, timeout {} x {} retries, rnr timer {} x {} retries", facts.max_rd_atomic,
                        facts.max_dest_rd_atomic, to_string(facts.timers.ack_timeout), facts.timers.retry_cnt,
                        to_string(facts.timers.min_rnr_timer), facts.timers.rnr_retry);
  }
  return text;
}

}  // namespace verbena
