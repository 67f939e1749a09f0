// SPDX-License-Identifier: Apache-2.0 OR MIT
// Figures of drivers' sources that the shipped tables once had otherwise, or not at all.
#include <gtest/gtest.h>

#include "unit/shipped_nics.hpp"

namespace verbena {
namespace {

struct Figure {
  const char* nic;
  Field field;
  std::uint64_t max;
  const char* rule;
};

class ShippedFigure : public testing::TestWithParam<Figure> {};

TEST_P(ShippedFigure, IsTheDrivers) {
  const Contract nic = shipped::contract(GetParam().nic);
  const Domain& domain = nic.domain(GetParam().field);
  EXPECT_EQ(domain.max, GetParam().max);
  EXPECT_EQ(nic.provenance(domain.max_by).rule, GetParam().rule);
}

INSTANTIATE_TEST_SUITE_P(All, ShippedFigure,
                         testing::Values(Figure{"ionic", Field::max_send_sge, 8, "ionic-sges"},
                                         Figure{"ionic", Field::max_recv_sge, 8, "ionic-sges"},
                                         Figure{"ionic", Field::read_sge, 8, "ionic-read-sge"},
                                         Figure{"erdma", Field::max_send_wr, 8192, "erdma-depth"},
                                         Figure{"erdma@kernel-6.1.0", Field::max_send_wr, 4096, "erdma-depth-old"}));

struct Parts {
  const char* model;  ///< of the generation
  std::uint64_t first, last;
  std::uint64_t inline_bytes;
};

class IrdmaParts : public testing::TestWithParam<Parts> {};

TEST_P(IrdmaParts, HaveTheRulesOfTheirGeneration) {
  Model nic = shipped::model(GetParam().model);
  for (std::uint64_t part = GetParam().first; part <= GetParam().last; ++part) {
    SCOPED_TRACE(part);
    nic.device.part_id = static_cast<std::uint32_t>(part);
    const Contract contract = shipped::contract(nic);
    EXPECT_EQ(contract.domain(Field::max_inline_data).max, GetParam().inline_bytes);
    EXPECT_FALSE(contract.joints().empty()) << "no ring";
  }
}

// Parts: torvalds/linux drivers/net/ethernet/intel/i40e/i40e_devids.h, ice/ice_devids.h.
INSTANTIATE_TEST_SUITE_P(All, IrdmaParts,
                         testing::Values(Parts{"x722", 0x0dda, 0x0dda, 48}, Parts{"x722", 0x37ce, 0x37d3, 48},
                                         Parts{"e810-roce", 0x1248, 0x124a, 101},
                                         Parts{"e810-roce", 0x1261, 0x1263, 101},
                                         Parts{"e810-roce", 0x1265, 0x1267, 101},
                                         Parts{"e810-roce", 0x1888, 0x1888, 101},
                                         Parts{"e810-roce", 0x579c, 0x579f, 101}));

}  // namespace
}  // namespace verbena
