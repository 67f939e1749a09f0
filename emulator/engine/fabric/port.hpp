// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <memory>
#include <optional>

#include "engine/transport/adapter.hpp"
#include "engine/transport/surroundings.hpp"
#include "engine/transport/time.hpp"
#include "engine/wire/ip.hpp"

namespace verbena::engine::fabric {

/// One NIC's end of a fabric, whatever that is. It is gone from the fabric when it is destroyed.
class Port : public transport::Outlet {
public:
  /// What comes for its addresses is the adapter's from now on.
  virtual void connect(transport::Adapter& adapter) noexcept = 0;
  virtual void listen(const wire::Gid& gid) = 0;
  virtual void forget(const wire::Gid& gid) noexcept = 0;
  /// Somebody uses the NIC from now on, or nobody does any more. What others of the machine could have in its place is
  /// taken in between alone: an errno where one of them has it.
  virtual int take_addresses() { return 0; }
  virtual void give_addresses() noexcept {}
  /// While its link is down nothing comes or goes. Fabrics of several processes have no such switch.
  virtual void set_link(bool /*up*/) noexcept {}
};

/// What NICs are connected by. One thread at a time, over all of its ports.
class Fabric {
public:
  virtual ~Fabric() = default;
  virtual std::unique_ptr<Port> port() = 0;
  /// Hands over what has arrived, as much as is due; false where nothing was.
  virtual bool deliver() = 0;
  /// When something will be due; nothing is under way that a clock must bring: nullopt.
  virtual std::optional<transport::Time> next() const noexcept = 0;
};

}  // namespace verbena::engine::fabric
