// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <memory>
#include <utility>

#include <infiniband/verbs.h>

#include "verbena/device.hpp"
#include "verbena/grant.hpp"
#include "verbena/ownership.hpp"
#include "verbena/raw_handle.hpp"
#include "verbena/request.hpp"
#include "verbena/result.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// What a parent domain adds to its protection domain.
struct ParentDomainRequest {
  /// A thread domain: objects made with the parent domain are used by one thread at a time, so their provider may leave
  /// their locks out.
  bool thread_domain = true;
  /// `require`: what the device lacks is an error. Else the grant of the same rights without it, with an adjustment.
  Policy policy = Policy::prefer;
};

/// A protection domain. Like every object here it is never null until it is moved from or released, keeps its device
/// open, and is destroyed once neither it nor a child of it is left. Thread-safe, but for move and release.
class Pd {
public:
  /// Errors: device_gone, no_memory, refused.
  [[nodiscard]] static Result<Pd> alloc(const Device& device);
  /// A domain with the rights of `pd`, which stays alive as long as it: a key of one is good in the other. Where the
  /// device has no parent domains it is `pd` again under a handle of its own, and where it has no thread domains it is
  /// one without; notes() says so. Errors: unsupported under `require`, device_gone, no_memory, refused.
  [[nodiscard]] static Result<Pd> alloc_parent(const Pd& pd, const ParentDomainRequest& request = {});
  /// Error: invalid_request for null or for a handle of another context.
  [[nodiscard]] static Result<Pd> adopt(const Device& device, ibv_pd* pd, Ownership ownership = Ownership::taken);

  Pd(Pd&&) noexcept = default;
  Pd& operator=(Pd&&) noexcept = default;
  ~Pd() = default;

  ibv_pd* raw() const noexcept { return raw_.get(); }
  Device device() const noexcept;
  /// What alloc_parent() did without; empty for every other domain.
  const GrantNotes& notes() const noexcept;
  /// That of a parent domain, null where there is none.
  ibv_td* thread_domain() const noexcept;
  /// The caller destroys the handle from now on; children that exist stay usable, and the device stays open for them.
  /// So is thread_domain(), which can be freed once the handle is. Where alloc_parent() gave `pd` again, `pd` destroys
  /// it all the same.
  ibv_pd* release() noexcept;

  struct State;  // core/src/objects
  explicit Pd(std::shared_ptr<State> state) noexcept;
  const std::shared_ptr<State>& state() const noexcept { return state_; }

private:
  std::shared_ptr<State> state_;
  RawHandle<ibv_pd> raw_;
};

}  // namespace verbena
#pragma GCC visibility pop
