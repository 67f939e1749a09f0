// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <array>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "verbena/transition.hpp"

namespace verbena {
namespace {

// The expectation, written apart from the library's own table: one line an edge, as the specification's chapter on
// modify QP (and the kernel's documentation of it) words it. `-` is nothing; what is not listed is no transition.
constexpr const char* kExpectation = R"(
rc INIT->INIT   -                                                              pkey_index,port,access
rc RESET->INIT  pkey_index,port,access                                         -
rc INIT->RTR    av,path_mtu,dest_qpn,rq_psn,max_dest_rd_atomic,min_rnr_timer   alt_path,access,pkey_index
rc RTR->RTS     timeout,retry_cnt,rnr_retry,sq_psn,max_rd_atomic               cur_state,alt_path,access,min_rnr_timer,path_mig_state
rc RTS->RTS     -                                                              cur_state,access,alt_path,path_mig_state,min_rnr_timer
rc RTS->SQD     -                                                              en_sqd_async_notify
rc SQD->RTS     -                                                              cur_state,alt_path,access,min_rnr_timer,path_mig_state
rc SQD->SQD     -                                                              port,av,timeout,retry_cnt,rnr_retry,max_rd_atomic,max_dest_rd_atomic,alt_path,access,pkey_index,min_rnr_timer,path_mig_state
rc SQE->RTS     -                                                              -
uc RESET->INIT  pkey_index,port,access                                         -
uc INIT->INIT   -                                                              pkey_index,port,access
uc INIT->RTR    av,path_mtu,dest_qpn,rq_psn                                    alt_path,access,pkey_index
uc RTR->RTS     sq_psn                                                         cur_state,alt_path,access,path_mig_state
uc RTS->RTS     -                                                              cur_state,access,alt_path,path_mig_state
uc RTS->SQD     -                                                              en_sqd_async_notify
uc SQD->RTS     -                                                              cur_state,alt_path,access,path_mig_state
uc SQD->SQD     -                                                              av,alt_path,access,pkey_index,path_mig_state
uc SQE->RTS     -                                                              cur_state,access
ud RESET->INIT  pkey_index,port,qkey                                           -
ud INIT->INIT   -                                                              pkey_index,port,qkey
ud INIT->RTR    -                                                              pkey_index,qkey
ud RTR->RTS     sq_psn                                                         cur_state,qkey
ud RTS->RTS     -                                                              cur_state,qkey
ud RTS->SQD     -                                                              en_sqd_async_notify
ud SQD->RTS     -                                                              cur_state,qkey
ud SQD->SQD     -                                                              pkey_index,qkey
ud SQE->RTS     -                                                              cur_state,qkey
)";

const std::map<std::string, QpAttributes>& attribute_words() {
  static const std::map<std::string, QpAttributes> words{
      {"cur_state", IBV_QP_CUR_STATE},
      {"en_sqd_async_notify", IBV_QP_EN_SQD_ASYNC_NOTIFY},
      {"access", IBV_QP_ACCESS_FLAGS},
      {"pkey_index", IBV_QP_PKEY_INDEX},
      {"port", IBV_QP_PORT},
      {"qkey", IBV_QP_QKEY},
      {"av", IBV_QP_AV},
      {"path_mtu", IBV_QP_PATH_MTU},
      {"timeout", IBV_QP_TIMEOUT},
      {"retry_cnt", IBV_QP_RETRY_CNT},
      {"rnr_retry", IBV_QP_RNR_RETRY},
      {"rq_psn", IBV_QP_RQ_PSN},
      {"max_rd_atomic", IBV_QP_MAX_QP_RD_ATOMIC},
      {"alt_path", IBV_QP_ALT_PATH},
      {"min_rnr_timer", IBV_QP_MIN_RNR_TIMER},
      {"sq_psn", IBV_QP_SQ_PSN},
      {"max_dest_rd_atomic", IBV_QP_MAX_DEST_RD_ATOMIC},
      {"path_mig_state", IBV_QP_PATH_MIG_STATE},
      {"dest_qpn", IBV_QP_DEST_QPN},
  };
  return words;
}

QpAttributes parse_attributes(const std::string& text) {
  QpAttributes mask = 0;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    if (word != "-") mask |= attribute_words().at(word);
  }
  return mask;
}

struct Masks {
  QpAttributes required = 0;
  QpAttributes optional = 0;
};
using Edge = std::tuple<std::string, std::string, std::string>;

std::map<Edge, Masks> expectation() {
  std::map<Edge, Masks> edges;
  std::istringstream lines(kExpectation);
  for (std::string type, arrow, required, optional; lines >> type >> arrow >> required >> optional;) {
    const auto at = arrow.find("->");
    edges[{type, arrow.substr(0, at), arrow.substr(at + 2)}] = {parse_attributes(required), parse_attributes(optional)};
  }
  for (const char* type : {"rc", "uc", "ud"}) {
    for (const char* from : {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"}) {
      edges[{type, from, "RESET"}] = {};
      if (std::string_view(from) != "RESET") edges[{type, from, "ERR"}] = {};
    }
  }
  return edges;
}

constexpr std::array kNamedTypes{std::pair{QpType::rc, "rc"}, std::pair{QpType::uc, "uc"}, std::pair{QpType::ud, "ud"}};
constexpr std::array kEdgeStates{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                                 IBV_QPS_SQD,   IBV_QPS_SQE,  IBV_QPS_ERR};

TEST(TransitionTable, HoldsEachEdgeOfThreeTypesAndSevenStatesAndNoOther) {
  const auto expected = expectation();
  std::size_t edges = 0;
  for (const auto& [type, type_name] : kNamedTypes) {
    for (const ibv_qp_state from : kEdgeStates) {
      for (const ibv_qp_state to : kEdgeStates) {
        const Edge edge{type_name, qp_state_name(from), qp_state_name(to)};
        SCOPED_TRACE(std::string(type_name) + " " + std::get<1>(edge) + "->" + std::get<2>(edge));
        const auto row = find_transition(type, from, to);
        const auto want = expected.find(edge);
        ASSERT_EQ(row.has_value(), want != expected.end());
        if (!row) continue;
        ++edges;
        EXPECT_EQ(attribute_names(row->required), attribute_names(want->second.required));
        EXPECT_EQ(attribute_names(row->optional), attribute_names(want->second.optional));
      }
    }
  }
  EXPECT_EQ(edges, expected.size());
}

TEST(TransitionTable, KnowsNoStateOutsideTheSeven) {
  EXPECT_FALSE(find_transition(QpType::rc, IBV_QPS_UNKNOWN, IBV_QPS_RESET));
  EXPECT_FALSE(find_transition(QpType::rc, IBV_QPS_RESET, IBV_QPS_UNKNOWN));
  EXPECT_FALSE(find_transition(QpType::rc, IBV_QPS_UNKNOWN, IBV_QPS_ERR));
}

TEST(TransitionNames, AttributesAreNamedAsInVerbsLowestBitFirst) {
  EXPECT_EQ(attribute_names(IBV_QP_PATH_MTU | IBV_QP_AV), "IBV_QP_AV, IBV_QP_PATH_MTU");
  EXPECT_EQ(attribute_names(0), "");
  EXPECT_EQ(attribute_names(QpAttributes{1} << 30), "0x40000000");
}

TEST(TransitionNames, MtuBytesAndTheLargestThatFits) {
  EXPECT_EQ(mtu_bytes(IBV_MTU_256), 256U);
  EXPECT_EQ(mtu_bytes(IBV_MTU_4096), 4096U);
  EXPECT_EQ(mtu_bytes(static_cast<ibv_mtu>(0)), 0U);
  EXPECT_EQ(mtu_within(4200), IBV_MTU_4096);
  EXPECT_EQ(mtu_within(1500), IBV_MTU_1024);
  EXPECT_EQ(mtu_within(255), std::nullopt);
}

}  // namespace
}  // namespace verbena
