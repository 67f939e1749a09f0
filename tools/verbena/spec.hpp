// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string_view>

#include "verbena/request.hpp"
#include "verbena/result.hpp"

namespace cli {

/// What `ops=` may name, as verbena::parse_send_ops() reads it.
inline constexpr std::string_view kOpWords =
    "send, send_imm, send_inv, write, write_imm, read, cmp_swap, fetch_add, atomic, atomic_write, flush, local_inv, "
    "bind_mw, tso, all";

/// `rc,send_wr=512..4096,recv_wr=4096,send_sge=16,recv_sge=16,inline=256,ops=send+write+read`; absent keys are depth 1,
/// SGE 1, inline 0, all opcodes; with `srq` absent receive keys are 0. `srq`, `sig_all` and `in_place` are words of
/// their own. `usual` is the policy where the SPEC names none.
verbena::Result<verbena::QpRequest> read_qp_spec(std::string_view spec, verbena::Policy usual);

/// `wr=1024,sge=4,limit=16`.
verbena::Result<verbena::SrqRequest> read_srq_spec(std::string_view spec);

/// `BYTES[,local_write,remote_write,remote_read,remote_atomic,...]`.
verbena::Result<verbena::MrRequest> read_mr_spec(std::string_view spec);

}  // namespace cli
