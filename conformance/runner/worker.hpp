// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "rig/case.hpp"

namespace conform {

/// What a worker process does: says that the device can be used, then runs each task that comes in until the end of
/// input. Returns its exit code.
int work(int in, int out, const Ground& ground, Bodies bodies);

/// A worker that could not open its device says so.
int refuse_to_work(int out, const std::string& why_not);

/// A worker that could not reach its peer says so of each task: what the tasks need of their own device is not asked.
int work_without_peer(int in, int out, const std::string& why_not);

}  // namespace conform
