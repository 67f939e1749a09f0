// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "backends/mlx5/direct_verbs.hpp"

#include <cerrno>
#include <cstdint>

#include <fmt/format.h>

#include "backends/mlx5/hca_caps.hpp"
#include "verbena/errno_family.hpp"

#if __has_include(<infiniband/mlx5dv.h>)
#include <infiniband/mlx5dv.h>
#define VERBENA_HAS_MLX5DV 1
#else
#define VERBENA_HAS_MLX5DV 0
#endif

namespace verbena::mlx5 {
namespace {

using IsSupported = bool (*)(ibv_device*);

#if VERBENA_HAS_MLX5DV

using QueryDevice = decltype(&mlx5dv_query_device);
using CreateQp = decltype(&mlx5dv_create_qp);

/// libmlx5 clears the bits that it, or this device, does not know.
int query(Verbs& verbs, ibv_context* context, Caps& caps) {
  const auto query_device = function_of<QueryDevice>(verbs, "mlx5dv_query_device");
  if (query_device == nullptr) return ENOSYS;
  mlx5dv_context told{};
  told.comp_mask = MLX5DV_CONTEXT_MASK_CQE_COMPRESION | MLX5DV_CONTEXT_MASK_DYN_BFREGS;
  told.comp_mask |= MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS;
  if (const int error = query_device(context, &told); error != 0) return normalise_errno(error);
  const auto answered = [&](std::uint64_t bit) { return (told.comp_mask & bit) != 0; };
  if (answered(MLX5DV_CONTEXT_MASK_CQE_COMPRESION)) caps.set(Cap::cqe_comp_max_num, told.cqe_comp_caps.max_num);
  if (answered(MLX5DV_CONTEXT_MASK_DYN_BFREGS)) caps.set(Cap::max_dynamic_bfregs, told.max_dynamic_bfregs);
  if (answered(MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS)) caps.set(Cap::num_lag_ports, told.num_lag_ports);
  return 0;
}

bool can_create_qp(Verbs& verbs) {
  return function_of<CreateQp>(verbs, "mlx5dv_create_qp") != nullptr;
}

#else

int query(Verbs&, ibv_context*, Caps&) {
  return ENOSYS;
}
bool can_create_qp(Verbs&) {
  return false;
}

#endif

constexpr const char* kLostDevx = "the send ring's blocks are worked out from max_qp_wr";
constexpr const char* kLostCreate = "small messages come in the completion (no in_place_data)";

std::string absent(const char* why) {
  return fmt::format("mlx5dv is not used: {}; {}, and {}", why, kLostDevx, kLostCreate);
}

}  // namespace

bool serves(Verbs& verbs, ibv_device* device) {
  const auto supported = function_of<IsSupported>(verbs, "mlx5dv_is_supported");
  return supported != nullptr && supported(device);
}

std::string probe_direct_verbs(Verbs& verbs, ibv_context* context, Caps& caps) {
  if (verbs.vendor_function(kLibrary, "mlx5dv_is_supported") == nullptr)
    return absent("libmlx5.so.1 is not loaded here, or is older than rdma-core 22");
  if (!serves(verbs, context->device)) return absent("the libmlx5.so.1 that is loaded here does not serve the device");
#if !VERBENA_HAS_MLX5DV
  const std::string built = " (built without infiniband/mlx5dv.h)";
#else
  const std::string built;
#endif
  const auto outcome = [](int error) { return error == 0 ? std::string("answered") : std::string(errno_name(error)); };
  const int queried = query(verbs, context, caps);
  const bool creates = can_create_qp(verbs);
  if (creates) caps.set(Cap::vendor_create_qp, 1);
  const int devx = probe_hca_caps(verbs, context, caps);
  std::string says = fmt::format("mlx5dv of libmlx5.so.1{}: mlx5dv_query_device {}, mlx5dv_create_qp {}, DevX {}",
                                 built, outcome(queried), creates ? "is there" : "is missing", outcome(devx));
  if (!creates) says += fmt::format("; {}", kLostCreate);
  if (devx != 0) says += fmt::format("; {}", kLostDevx);
  return says;
}

ibv_qp* create_qp_in_place(Verbs& verbs, ibv_context* context, ibv_qp_init_attr_ex& attr, int& errno_value) {
#if VERBENA_HAS_MLX5DV
  const auto create = function_of<CreateQp>(verbs, "mlx5dv_create_qp");
  if (create != nullptr && serves(verbs, context->device)) {
    mlx5dv_qp_init_attr flags{};
    flags.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS;
    flags.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE;
    errno = 0;
    ibv_qp* const qp = create(context, &attr, &flags);
    errno_value = qp != nullptr ? 0 : normalise_errno(errno);
    return qp;
  }
#else
  static_cast<void>(verbs), static_cast<void>(context), static_cast<void>(attr);
#endif
  errno_value = EOPNOTSUPP;
  return nullptr;
}

}  // namespace verbena::mlx5
