// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "runner/table_text.hpp"

namespace conform {

/// needs, qp_types, transport and setup of a requirement or a case.
Conditions read_conditions(TableText& text, const YAML::Node& entry);

}  // namespace conform
