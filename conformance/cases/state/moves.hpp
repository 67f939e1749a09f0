// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rig/loop.hpp"
#include "verbena/transition.hpp"

namespace conform {

/// What one move of the state machine takes beside IBV_QP_STATE.
struct Takes {
  int required = 0;
  int optional = 0;
};
/// InfiniBand specification, volume 1, modify queue pair; Linux core/verbs.c qp_state_table. Empty: no such move.
/// Written down here once more, so that what judges a device is not the table that Verbena goes by.
std::optional<Takes> takes(verbena::QpType type, ibv_qp_state from, ibv_qp_state to);

/// An attribute of ibv_modify_qp under the name that the lists use (`av`, `path_mtu`, ...).
struct Attribute {
  std::string_view name;
  int bit = 0;
};
/// Every attribute that takes part in the table but IBV_QP_STATE; IBV_QP_RATE_LIMIT has rules of its own.
std::span<const Attribute> attributes();
int attribute_of(std::string_view name);
/// `reset`, `init`, ... of the lists.
ibv_qp_state state_of(std::string_view name);
std::string state_name(ibv_qp_state state);
/// "RC from INIT to RTR".
std::string move_words(verbena::QpType type, ibv_qp_state from, ibv_qp_state to);

/// `IBV_QP_STATE` and those of `bits`, with right values for a move of `end` towards `peer`.
Move move_with(Loop& loop, const End& end, const End& peer, ibv_qp_state to, int bits, const Terms& terms = {});
/// With what the type needs for that move.
Move required_move(Loop& loop, const End& end, const End& peer, ibv_qp_state from, ibv_qp_state to,
                   const Terms& terms = {});

/// The state that a query tells; empty, with a finding, where it tells none.
std::optional<ibv_qp_state> state_now(Case& c, const End& end);
/// A move that must succeed, and be seen after it by a query and in the handle.
bool moves(Case& c, End& end, const Move& move, ibv_qp_state to, std::string_view what);
/// A move that must be refused with one of these (any, where none is named) and leave the state as it is. The finding
/// names the state afterwards.
bool refuses(Case& c, End& end, const Move& move, ibv_qp_state stays, std::string_view what,
             std::initializer_list<int> errnos = {});
/// As refuses; through Verbena the value may be lowered instead, if that is said.
bool refuses_or_lowers(Case& c, End& end, const Move& move, ibv_qp_state stays, std::string_view what);

/// Another queue pair of the same shape in place of this one.
void renew(Case& c, const Loop& loop, End& end);
/// Waits until a query in SQD says that the send queue has drained.
bool drains(Case& c, const End& end);

/// Brings `end` from RESET to that state, over those before it; ends the case where that fails. One that has left RESET
/// is made anew first. ERR is reached from RTS, and SQD is drained.
void bring(Case& c, Loop& loop, End& end, End& peer, ibv_qp_state state, const Terms& terms = {});
/// The same from where it is, without making it anew.
void climb(Case& c, Loop& loop, End& end, End& peer, ibv_qp_state state, const Terms& terms = {});
/// With IBV_QP_STATE alone; ends the case where that fails.
void change(Case& c, End& end, ibv_qp_state state);
/// Two ends to RTS by the state machine, in both columns: what one sends begins at its own PSN.
void bring_pair(Case& c, Loop& loop, End& one, End& other, const Terms& of_one, const Terms& of_other);
void bring_both(Case& c, Loop& loop, const Terms& of_a = {}, const Terms& of_b = {});

/// Address handles of a UD pair that was brought up by moves.
void address(Case& c, Loop& loop);

/// One SEND from one end to the other arrives whole; `wr_id` tells it from others. Both queues must be empty.
bool carries(Case& c, Loop& loop, End& from, End& to, std::uint64_t wr_id, std::string_view what);

/// A signalled SEND of that SGE; on UD to the peer.
ibv_send_wr send_of(const Loop& loop, const End& from, ibv_sge& sge, std::uint64_t wr_id);

/// The next completion where a known fault of drivers is that there is none: waits for a second at most.
std::optional<ibv_wc> soon(Case& c, ibv_cq* cq);
/// As Case::completed, of what soon() gave.
bool completed_soon(Case& c, const std::optional<ibv_wc>& wc, ibv_wc_status status, std::string_view what);

/// Small ends of that type.
LoopShape small(verbena::QpType type);

}  // namespace conform
