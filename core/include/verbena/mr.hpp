// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <infiniband/verbs.h>

#include "verbena/grant.hpp"
#include "verbena/ownership.hpp"
#include "verbena/pd.hpp"
#include "verbena/raw_handle.hpp"
#include "verbena/request.hpp"
#include "verbena/result.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// What rereg() is to change; what is left out stays as it is.
struct MrChange {
  struct Memory {
    void* address = nullptr;
    std::uint64_t length = 0;  ///< bytes
  };
  const Pd* pd = nullptr;
  std::optional<Memory> memory{};         ///< remote addresses are those of the memory from then on
  std::optional<std::uint32_t> access{};  ///< IBV_ACCESS_*
  Policy policy = Policy::prefer;         ///< for access flags, as in MrRequest
};

/// A memory region. Keys are inline reads. Thread-safe, but for move, release and rereg; the memory itself stays the
/// caller's and must outlive the region.
class Mr {
public:
  /// Registers `request.length` bytes from `address`. Errors: those of fit(), no_memory (with RLIMIT_MEMLOCK, what this
  /// process has locked and what it needed), permission, device_gone, refused.
  [[nodiscard]] static Result<Mr> reg(const Pd& pd, void* address, const MrRequest& request);
  /// Registers memory behind a dma-buf descriptor; `offset` counts from the buffer's start. Errors: as reg, and
  /// unsupported.
  [[nodiscard]] static Result<Mr> reg_dmabuf(const Pd& pd, int descriptor, std::uint64_t offset,
                                             const MrRequest& request);
  /// `access` is what it was registered with, which no verb tells. Error: invalid_request for null or another
  /// context's.
  [[nodiscard]] static Result<Mr> adopt(const Pd& pd, ibv_mr* mr, std::uint32_t access,
                                        Ownership ownership = Ownership::taken);

  /// Changes the region in place. Both keys may be new afterwards. The old memory may be freed once this succeeds, and
  /// the old Pd goes when nothing else holds it. After an error the region is what it was, unless the driver failed
  /// half-way: then usable() is false, and all that is left is to destroy it. A driver that had done the change when
  /// libibverbs failed to give the old memory back to fork() counts as success, with a warning to the log.
  /// Errors: those of reg; unsupported where the device has no ibv_rereg_mr (register anew); invalid_request for a
  /// change of nothing, a Pd of another context, or write access to memory that was pinned for reading, which needs the
  /// memory given again.
  [[nodiscard]] Result<MrGrant> rereg(const MrChange& change);
  /// False after a rereg() that failed half-way: the keys must not be used any more.
  bool usable() const noexcept;

  Mr(Mr&&) noexcept = default;
  Mr& operator=(Mr&&) noexcept = default;
  ~Mr() = default;

  ibv_mr* raw() const noexcept { return raw_.get(); }
  std::uint32_t lkey() const noexcept { return raw_->lkey; }
  std::uint32_t rkey() const noexcept { return raw_->rkey; }
  void* address() const noexcept { return raw_->addr; }
  std::size_t length() const noexcept { return raw_->length; }
  const MrGrant& grant() const noexcept;
  MemoryKind kind() const noexcept;
  Device device() const noexcept;
  /// The caller deregisters the handle from now on.
  ibv_mr* release() noexcept;

  struct State;
  explicit Mr(std::shared_ptr<State> state) noexcept;
  const std::shared_ptr<State>& state() const noexcept { return state_; }

private:
  std::shared_ptr<State> state_;
  RawHandle<ibv_mr> raw_;
};

}  // namespace verbena
#pragma GCC visibility pop
