// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <string>

#include "rig/case.hpp"
#include "verbena/emulated.hpp"

namespace conform {

/// The network interface of the case's port: this host's, or an emulated NIC's. What a case changes of it is put back
/// at the end of the scope, and the port is waited for.
class Link {
public:
  /// Ends the case as blocked (link_control) where there is no interface or it may not be changed.
  explicit Link(Case& c);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link();

  const std::string& name() const noexcept { return name_; }
  /// Each gives 0 or a positive errno.
  int set_up(bool up);
  int set_mtu(int bytes);
  int add_address(std::uint32_t ipv4);  ///< host byte order; /32
  int remove_address(std::uint32_t ipv4);

private:
  int request(unsigned long code, void* data) const;
  int flags(short& value) const;
  int address(bool add, std::uint32_t ipv4) const;

  Case& case_;
  verbena::EmulatedHost* emulated_ = nullptr;  ///< null: the interface is this host's
  std::string name_;
  int socket_ = -1;
  short flags_before_ = 0;
  int mtu_before_ = 0;
  std::uint32_t added_ = 0;
};

}  // namespace conform
