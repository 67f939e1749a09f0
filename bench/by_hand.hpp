// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <infiniband/verbs.h>

namespace bench {

/// An open device and the list it came from.
struct OpenedByHand {
  ibv_device** list = nullptr;
  ibv_context* context = nullptr;
  unsigned long facts = 0;  ///< something of every answer, so that no read can be left out
};

/// What a careful program does by itself to learn of a device what Library::open learns: the same calls, the same
/// files, plain C buffers. Ends the process when anything fails.
OpenedByHand open_by_hand(const char* name);
void close_by_hand(const OpenedByHand& opened);

}  // namespace bench
