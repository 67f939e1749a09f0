// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>

namespace verbena::engine::memory {

/// What registration does to memory of this process: every page is there afterwards, as the kernel's pin_user_pages
/// would have it (with a copy of its own, where it is to be written). Nothing is locked: a page that the program unmaps
/// while it is registered is gone, where a NIC would still have it. 0, or EFAULT: a page isn't mapped, or may not be
/// touched so. ENOMEM: the host has no memory left. Source: linux drivers/infiniband/core/umem.c ib_umem_get;
/// madvise(2), MADV_POPULATE_READ (Linux 5.14; before it, mincore(2) says which pages are mapped, and nothing says
/// which may be written).
int pin(const void* address, std::size_t bytes, bool written) noexcept;

}  // namespace verbena::engine::memory
