// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verbena/device.hpp"
#include "verbena/log.hpp"
#include "verbena/quirks.hpp"
#include "verbena/registry.hpp"
#include "verbena/result.hpp"
#include "verbena/settings.hpp"

struct ibv_context;

#pragma GCC visibility push(default)
namespace verbena {

class Verbs;

struct LibraryOptions {
  std::shared_ptr<Verbs> verbs;             ///< null: libibverbs on this host
  BackendRegistry backends = BackendRegistry::builtin();
  std::optional<LoadedSettings> settings;   ///< unset: what load_settings() finds on this host
  std::vector<LayerSource> layers;          ///< empty: default_layers()
  LogSink log;                              ///< null: silence
};

/// One device as the host lists it, before it is opened.
struct ListedDevice {
  DeviceId id;              ///< what sysfs and netlink tell without opening
  bool openable = false;    ///< a provider claimed it (ibv_get_device_list has it)
  std::string why_not;      ///< the first broken link when not: no /dev/infiniband node, ABI 6 vs 1..1, no provider
};

/// The root object: backends, rules in force, settings, probe cache. No global state stands behind it; two libraries
/// in one process know nothing of each other. Thread-safe: all members may be called from any thread.
class Library {
public:
  /// Reads the tables. Fails on a broken built-in layer, or any broken layer when settings say strict; and, where it
  /// reads the settings itself, as load_settings() does.
  [[nodiscard]] static Result<Library> create(LibraryOptions options = {});

  Library(Library&&) noexcept;
  Library& operator=(Library&&) noexcept;
  ~Library();

  /// Every RDMA device of the host, openable or not. An empty list is an answer, not an error.
  [[nodiscard]] Result<std::vector<ListedDevice>> devices() const;

  /// Opens and probes; a second open of the same registered device takes its caps from the cache.
  /// Errors: no_device (with the names there are, and the nearest), permission, device_gone.
  [[nodiscard]] Result<Device> open(std::string_view name) const;

  /// Takes a context that the caller opened and goes on to own: never closed by Verbena.
  [[nodiscard]] Result<Device> adopt(ibv_context* context) const;

  /// The rules in force now; shared, immutable.
  std::shared_ptr<const QuirkSet> quirks() const;
  /// Reads all layers anew and swaps the whole set at once. Objects that exist keep their contract. A layer that fails
  /// keeps its last good rules, and says so in the report.
  [[nodiscard]] Result<std::shared_ptr<const QuirkSet>> reload();

  const Settings& settings() const noexcept;
  const BackendRegistry& backends() const noexcept;

  struct State;  // core/src/device: shared with the devices
private:
  explicit Library(std::shared_ptr<State> state) noexcept;
  std::shared_ptr<State> state_;
};

}  // namespace verbena
#pragma GCC visibility pop
