// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace verbena::emulator {

/// A part of a dma-buf, mapped for as long as a region of it is registered.
struct MappedBuffer {
  void* mapping = nullptr;  ///< null: none
  std::size_t mapped = 0;   ///< bytes
  std::byte* data = nullptr;
};

/// Maps `bytes` bytes from `offset` on. 0, or an errno: EBADF, there is no such descriptor; EINVAL, it is no dma-buf
/// (nor EmulatedHost::make_dmabuf() made it), or ends before. Source: linux drivers/infiniband/core/umem_dmabuf.c
/// ib_umem_dmabuf_get, drivers/dma-buf/dma-buf.c dma_buf_get.
int map_buffer(int descriptor, std::uint64_t offset, std::size_t bytes, bool written, MappedBuffer& buffer) noexcept;
void unmap_buffer(MappedBuffer& buffer) noexcept;

}  // namespace verbena::emulator
