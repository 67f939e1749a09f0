// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>

#include "verbena/caps.hpp"
#include "verbena/verbs.hpp"

namespace verbena::mlx5 {

/// libmlx5's own interface, mlx5dv. The library, which is the provider itself, is looked up at run time, function by
/// function, and its absence is no error: everything then goes by plain verbs. It is absent where the provider was
/// linked in statically or has another name; a second copy that something else loaded refuses contexts of the first,
/// and counts as absent.
inline constexpr const char* kLibrary = "libmlx5.so.1";

template <class Function>
Function function_of(Verbs& verbs, const char* name) {
  return reinterpret_cast<Function>(verbs.vendor_function(kLibrary, name));
}

/// Whether the libmlx5 that is found here serves this device.
bool serves(Verbs& verbs, ibv_device* device);

/// Adds what mlx5dv_query_device and the firmware tell (hca_caps.hpp) and whether mlx5dv_create_qp is there. Returns
/// what was found, and what is lost without the rest.
std::string probe_direct_verbs(Verbs& verbs, ibv_context* context, Caps& caps);

/// Makes a QP whose small messages are not left in the completion (MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE). Null on
/// refusal, EOPNOTSUPP where libmlx5 is not there: never a QP that would do otherwise.
ibv_qp* create_qp_in_place(Verbs& verbs, ibv_context* context, ibv_qp_init_attr_ex& attr, int& errno_value);

}  // namespace verbena::mlx5
