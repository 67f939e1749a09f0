// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <string>

#include "verbena/verbs.hpp"

namespace verbena {

/// What is true of the host whatever device is asked: read once a library.
struct HostFacts {
  std::string kernel, arch, rdma_core, hypervisor;
  std::uint32_t page_size = 0;
};

HostFacts read_host_facts(Verbs& verbs);

}  // namespace verbena
