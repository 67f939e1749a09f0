// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "contract/lacking.hpp"

#include <utility>

namespace verbena {

Error lacking(const Contract& contract, Feature feature, std::string text) {
  Error error;
  error.kind = ErrorKind::unsupported;
  error.field = name(feature);
  error.by = contract.provenance(contract.feature(feature).by);
  error.text = std::move(text);
  return error;
}

}  // namespace verbena
