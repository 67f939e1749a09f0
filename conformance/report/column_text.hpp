// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>

#include "run.hpp"

namespace conform {

/// `violates (missing): Without IBV_QP_PORT: ENOMEM instead of EINVAL.`: the verdict, and the first thing said of it.
std::string one_line(const Column& column);

/// The case's sentence, then every finding, expectation, adjustment and note of the column, one a line.
std::string full_text(const CaseResult& result, Side side);

/// `completion WR_FLUSH_ERR, state ERR`: what was seen, in the words of an expectation.
std::string seen_text(const Finding& finding);

/// `cqe: asked 65536, granted 32767 (reduced)`
std::string adjustment_text(const Adjustment& adjustment);

}  // namespace conform
