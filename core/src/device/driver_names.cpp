// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "device/driver_names.hpp"

#include <algorithm>
#include <array>

namespace verbena {
namespace {

// Ids: linux include/uapi/rdma/ib_user_ioctl_verbs.h, enum rdma_driver_id (irdma took over i40iw's). Modules and
// parents: the MODULE_ and auxiliary_driver declarations of linux drivers/infiniband. ABI ranges: match_min_abi_version
// and match_max_abi_version of rdma-core providers/*, the same in versions 44 and 64; empty where a provider takes
// every ABI (INT_MAX), or where there is no provider (usnic).
constexpr std::array kDrivers = {
    DriverNames{"mlx5", 1, "mlx5_ib", "mlx5_core", 1, 1},
    DriverNames{"mlx4", 2, "mlx4_ib", "mlx4_core", 2, 4},
    DriverNames{"cxgb4", 4, "iw_cxgb4", "cxgb4", std::nullopt, std::nullopt},
    DriverNames{"mthca", 5, "ib_mthca", "ib_mthca", 0, 1},
    DriverNames{"bnxt_re", 6, "bnxt_re", "bnxt_en", 1, 1},
    DriverNames{"ocrdma", 7, "ocrdma", "be2net", 2, 2},
    DriverNames{"irdma", 9, "irdma", "ice", 0, 5},
    DriverNames{"irdma", 9, "irdma", "i40e", 0, 5},
    DriverNames{"irdma", 9, "irdma", "idpf", 0, 5},
    DriverNames{"vmw_pvrdma", 10, "vmw_pvrdma", "vmw_pvrdma", 3, 3},
    DriverNames{"qedr", 11, "qedr", "qede", 8, 8},
    DriverNames{"hns", 12, "hns_roce_hw_v2", "hns3", std::nullopt, std::nullopt},
    DriverNames{"usnic", 13, "usnic_verbs", "enic", std::nullopt, std::nullopt},
    DriverNames{"rxe", 14, "rdma_rxe", "", 1, 2, true},
    DriverNames{"hfi1verbs", 15, "hfi1", "hfi1", std::nullopt, std::nullopt},
    DriverNames{"ipathverbs", 16, "ib_qib", "ib_qib", std::nullopt, std::nullopt},
    DriverNames{"efa", 17, "efa", "efa", 1, 1},
    DriverNames{"siw", 18, "siw", "", 1, 1, true},
    DriverNames{"erdma", 19, "erdma", "erdma", 0, 1},
    DriverNames{"mana", 20, "mana_ib", "mana", 1, 1},
    DriverNames{"ionic", 21, "ionic_rdma", "ionic", 1, 1},
};

template <class Matches>
const DriverNames* first(Matches matches) noexcept {
  const auto found = std::find_if(kDrivers.begin(), kDrivers.end(), matches);
  return found != kDrivers.end() ? &*found : nullptr;
}

}  // namespace

const DriverNames* driver_by_name(std::string_view driver) noexcept {
  return first([&](const DriverNames& names) { return names.driver == driver; });
}

const DriverNames* driver_by_netlink_id(std::uint32_t id) noexcept {
  return first([&](const DriverNames& names) { return names.netlink_id == id; });
}

const DriverNames* driver_by_link(std::string_view link_name) noexcept {
  if (link_name.empty()) return nullptr;
  return first([&](const DriverNames& names) {
    return names.parent_driver == link_name || names.module == link_name || names.driver == link_name;
  });
}

std::string driver_of_provider(std::string_view path) {
  std::string_view file = path.substr(path.rfind('/') + 1);
  if (!file.starts_with("lib")) return {};
  file.remove_prefix(3);
  const auto end = std::min(file.find("-rdmav"), file.find(".so"));
  if (end == std::string_view::npos) return {};
  const std::string_view driver = file.substr(0, end);
  return driver == "ibverbs" ? std::string() : std::string(driver);
}

}  // namespace verbena
