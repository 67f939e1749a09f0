// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <memory>

#include "peer/far_verbs.hpp"

namespace conform::peer {

/// This host's verbs and a far host's as one table: an object of the far end is asked there, all else here. The
/// devices that it lists are this host's.
///
/// Near work and far memory meet: what a body wrote into mirrored memory is sent before this host's device is given
/// work, and what the far device wrote is taken after this host's device completed some. So the data path of the near
/// contexts that are opened through this passes through it, as long as it lives; there can be one in a process.
std::shared_ptr<verbena::Verbs> pair_verbs(std::shared_ptr<verbena::Verbs> near, std::shared_ptr<FarVerbs> far);

}  // namespace conform::peer
