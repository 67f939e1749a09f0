// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "conform_peer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>

#include "exit_code.hpp"
#include "peer/pair_verbs.hpp"
#include "peer/server.hpp"
#include "rig/memory.hpp"
#include "say.hpp"
#include "session.hpp"
#include "verbena/verbs.hpp"
#include "verbena/version.h"

namespace cli {

using conform::Ground;
using verbena::Failure;

namespace {

constexpr std::chrono::milliseconds kConnectWithin{3000};

/// Said before anybody connects; a driver may be loaded yet, so it is no error.
void warn_without_device() {
  const verbena::Result<Session> session = Session::open();
  if (!session) return complain(to_string(session.error()));
  const auto listed = session->library().devices();
  const auto usable = [](const verbena::ListedDevice& one) { return one.openable; };
  if (!listed || std::none_of(listed->begin(), listed->end(), usable))
    complain("no RDMA device that can be opened on this host yet: a run needs one at each end");
}

/// The only device of the far end that can be opened, or an error that names those that are there.
verbena::Result<std::string> only_device(const verbena::Library& library, const std::string& host) {
  const auto listed = library.devices();
  if (!listed) return Failure(listed.error());
  std::string names;
  std::string only;
  unsigned count = 0;
  for (const verbena::ListedDevice& one : *listed) {
    if (!one.openable) continue;
    names += (names.empty() ? "" : ", ") + one.id.name;
    only = one.id.name;
    ++count;
  }
  if (count == 1) return only;
  verbena::Error error{.kind = verbena::ErrorKind::no_device};
  error.text = count == 0 ? fmt::format("the peer {} has no device that can be opened", host)
                          : fmt::format("the peer {} has {}; name one with --peer-device", host, names);
  return Failure(std::move(error));
}

/// A device that only rdma_cm connects can't be one end of a run over a peer.
verbena::Result<void> connects_by_states(const verbena::Device& device, std::uint8_t port) {
  const auto contract = device.contract(port);
  if (!contract) return Failure(contract.error());
  if (!(*contract)->is(verbena::Behaviour::rts_driven_by, verbena::Choice::rdma_cm)) return {};
  verbena::Error error{.kind = verbena::ErrorKind::unsupported};
  error.text = fmt::format(
      "{} connects by rdma_cm alone, and rdma_cm does not go over a peer; --other runs the suite "
      "between two such devices of one host",
      device.id().name);
  return Failure(std::move(error));
}

/// Where bodies lay their memory in a run over a peer: far from where any process has its own, and elsewhere in each.
std::uintptr_t memory_base() {
  return (std::uintptr_t{0x3} << 44) + (static_cast<std::uintptr_t>(getpid()) << 24);
}

verbena::Result<conform::peer::HostPort> place_of(const GroundOptions& options) {
  const auto where = conform::peer::host_port(options.peer, conform::peer::kDefaultPort);
  if (where && !where->host.empty() && where->port != 0) return *where;
  verbena::Error error{.kind = verbena::ErrorKind::invalid_request};
  error.text = fmt::format("'{}' is not HOST[:PORT] or [IPv6]:PORT", options.peer);
  return Failure(std::move(error));
}

conform::peer::Hello hello_of(const GroundOptions& options) {
  conform::peer::Hello hello;
  hello.layout = conform::peer::layout_here();
  hello.list_version = options.peer_run.list_version;
  hello.list_hash = options.peer_run.list_hash;
  hello.token = options.peer_run.token;
  hello.seed = options.seed;
  hello.verbena = verbena_version();
  hello.host = conform::peer::host_here();
  hello.device = options.device;
  return hello;
}

}  // namespace

std::string to_word(const PeerRun& run) {
  return fmt::format("{}:{:x}:{:x}", run.list_version, run.list_hash, run.token);
}

std::optional<PeerRun> peer_run_from(const std::string& word) {
  PeerRun run;
  char end = 0;
  if (std::sscanf(word.c_str(), "%" SCNu32 ":%" SCNx64 ":%" SCNx64 "%c", &run.list_version, &run.list_hash, &run.token,
                  &end) != 3)
    return std::nullopt;
  return run;
}

verbena::Result<void> load_far(const GroundOptions& options, const verbena::LoadedSettings& settings, Opened& opened) {
  const auto where = place_of(options);
  if (!where) return Failure(where.error());
  auto far = conform::peer::FarVerbs::connect(*where, hello_of(options), kConnectWithin);
  if (!far) return Failure(far.error());
  opened.far = *std::move(far);
  opened.ground.verbs = conform::peer::pair_verbs(opened.ground.verbs, opened.far);
  verbena::LibraryOptions wish;
  wish.verbs = opened.far;
  wish.settings = settings;
  auto library = verbena::Library::create(std::move(wish));
  if (!library) return Failure(library.error());
  opened.far_library.emplace(*std::move(library));
  return {};
}

verbena::Result<void> connect_far_again(const GroundOptions& options, Opened& opened) {
  conform::lay_memory_from(memory_base());
  const auto where = place_of(options);
  if (!where) return Failure(where.error());
  return opened.far->connect_again(*where, hello_of(options), kConnectWithin);
}

verbena::Result<void> open_far(const GroundOptions& options, Opened& opened) {
  std::string name = options.peer_device;
  if (name.empty()) {
    auto only = only_device(*opened.far_library, opened.far->welcome().host);
    if (!only) return Failure(only.error());
    name = *std::move(only);
  }
  auto device = opened.far_library->open(name);
  if (!device) {
    verbena::Error error = device.error();
    error.text = fmt::format("on the peer {}: {}", opened.far->welcome().host, error.text);
    return Failure(std::move(error));
  }
  Ground& ground = opened.ground;
  ground.other = *std::move(device);
  conform::Far far;
  far.library = &*opened.far_library;
  far.same_host = opened.far->welcome().boot == conform::peer::boot_here();
  far.lost = [line = &opened.far->line()] { return line->trouble(); };
  ground.far = std::move(far);
  ground.completion_within *= 3;  // each poll at the far end is a question over the network
  if (auto good = connects_by_states(*ground.device, ground.port); !good) return good;
  return connects_by_states(*ground.other, ground.other_port);
}

int serve(const std::string& where, const conform::CaseList& list) {
  const auto at = conform::peer::host_port(where, conform::peer::kDefaultPort);
  if (!at) return fail_usage(fmt::format("'{}' is not [ADDRESS][:PORT]", where));
  warn_without_device();
  conform::peer::ServeOptions options;
  options.where = *at;
  options.list_version = list.version;
  options.list_hash = list.hash();
  options.verbena = verbena_version();
  options.verbs = [] { return verbena::real_verbs(); };
  options.say = [](const std::string& line) {
    say("{}\n", line);
    std::fflush(stdout);
  };
  const auto served = conform::peer::serve(options);
  return served ? kOk : fail(served.error());
}

}  // namespace cli
