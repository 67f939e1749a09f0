// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <rdma/rdma_cma.h>

namespace verbena::emulator::cm {

/// rdma_getaddrinfo(3), which in librdmacm wants the kernel's rdma_cm for no more than to be there. 0, EINVAL, ENOMEM;
/// EADDRNOTAVAIL where no address is known. Source: rdma-core librdmacm/addrinfo.c.
int address_information(const char* node, const char* service, const rdma_addrinfo* hints, rdma_addrinfo** result);
void free_address_information(rdma_addrinfo* result) noexcept;

}  // namespace verbena::emulator::cm
