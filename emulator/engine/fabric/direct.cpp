// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/direct.hpp"

namespace verbena::engine::fabric {

bool Direct::Port::send(const transport::Train& train) noexcept {
  const wire::Gid& to = train.head.ip.destination;
  if (!up_) {
    ++fabric_.lost_;
  } else if (Port* const port = fabric_.book_.find(to); port != nullptr && port->takes()) {
    port->adapter_->receive(train);
  } else if (multicast(to)) {
    for (Port* const each : fabric_.book_.all()) {
      if (each->takes()) each->adapter_->receive(train);
    }
  } else {
    ++fabric_.lost_;
  }
  return true;
}

}  // namespace verbena::engine::fabric
