// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "peer/socket.hpp"
#include "verbena/result.hpp"
#include "verbena/verbs.hpp"

namespace conform::peer {

struct ServeOptions {
  HostPort where;
  std::uint32_t list_version = 0;
  std::uint64_t list_hash = 0;
  std::string verbena;  ///< version
  std::function<std::shared_ptr<verbena::Verbs>()> verbs;  ///< called in the process of each connection
  std::function<void(const std::string&)> say;             ///< a line for people
  std::function<void(std::uint16_t port)> listening;       ///< told once; may be empty
};

/// Serves one run after another until SIGINT or SIGTERM, each connection in a process of its own, so that what a lost
/// connection leaves behind ends with its process. A second run is refused while one is under way. Errors: io, when it
/// can't listen.
verbena::Result<void> serve(const ServeOptions& options);

/// Answers the questions of one connection until it is lost.
void serve_connection(int fd, verbena::Verbs& verbs);

}  // namespace conform::peer
