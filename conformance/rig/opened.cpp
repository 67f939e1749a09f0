// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "rig/opened.hpp"

#include <cerrno>
#include <string_view>

namespace conform {

Opened::Opened(Case& c) : verbs_(c.verbs()) {
  int count = 0;
  const verbena::Made<ibv_device*> list = verbs_.get_device_list(count);
  c.need(c.accepted(list ? 0 : list.error, "ibv_get_device_list"));
  verbena::Made<ibv_context> context{.error = ENODEV};
  for (int index = 0; index < count; ++index) {
    ibv_device* device = list.handle[index];
    if (std::string_view(verbs_.get_device_name(device)) == c.device().id().name) context = verbs_.open_device(device);
  }
  verbs_.free_device_list(list.handle);
  c.need(c.accepted(context ? 0 : context.error, "ibv_open_device"));
  context_ = context.handle;
}

int Opened::close() {
  ibv_context* context = std::exchange(context_, nullptr);
  return context != nullptr ? verbs_.close_device(context) : 0;
}

}  // namespace conform
