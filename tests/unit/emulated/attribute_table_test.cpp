// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gtest/gtest.h>

#include "nic/attribute_table.hpp"

namespace verbena::emulator {
namespace {

constexpr ibv_qp_state kStates[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                                    IBV_QPS_SQD,   IBV_QPS_SQE,  IBV_QPS_ERR};
constexpr ibv_qp_type kTypes[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};

TEST(Attributes, EveryBitThatIsRequiredIsMissedAndEveryOtherIsTooMuch) {
  for (const ibv_qp_type type : kTypes) {
    for (const ibv_qp_state from : kStates) {
      for (const ibv_qp_state to : kStates) {
        const auto attributes = attributes_of(type, from, to);
        if (!attributes) {
          EXPECT_FALSE(allowed(type, from, to, IBV_QP_STATE));
          continue;
        }
        const int all = IBV_QP_STATE | attributes->required;
        EXPECT_TRUE(allowed(type, from, to, all));
        for (int bit = 1; bit <= IBV_QP_RATE_LIMIT; bit <<= 1) {
          if (bit == IBV_QP_STATE) continue;
          if ((attributes->required & bit) != 0) {
            EXPECT_FALSE(allowed(type, from, to, all & ~bit)) << from << " to " << to << " without " << bit;
          } else if ((attributes->optional & bit) == 0) {
            EXPECT_FALSE(allowed(type, from, to, all | bit)) << from << " to " << to << " with " << bit;
          } else if (bit != IBV_QP_CUR_STATE) {
            EXPECT_TRUE(allowed(type, from, to, all | bit)) << from << " to " << to << " with " << bit;
          }
        }
      }
    }
  }
}

TEST(Attributes, ResetToErrorIsNoMoveAndAnythingGoesToReset) {
  for (const ibv_qp_type type : kTypes) {
    EXPECT_FALSE(attributes_of(type, IBV_QPS_RESET, IBV_QPS_ERR));
    for (const ibv_qp_state from : kStates) EXPECT_TRUE(attributes_of(type, from, IBV_QPS_RESET));
  }
}

}  // namespace
}  // namespace verbena::emulator
