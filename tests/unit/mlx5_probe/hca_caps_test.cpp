// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "backends/mlx5/hca_caps.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "fake/fake_verbs.hpp"

namespace verbena {
namespace {

int answer_error = 0;
std::uint8_t log_max_qp_size = 15;
bool probed_is_mlx5 = true;
unsigned asked = 0;

bool probed_is_supported(ibv_device*) {
  return probed_is_mlx5;
}

/// The firmware's side of QUERY_HCA_CAP, as mlx5_ifc.h lays it out.
int general_command(ibv_context*, const void* in, std::size_t in_length, void* out, std::size_t out_length) {
  ++asked;
  const auto* request = static_cast<const std::uint8_t*>(in);
  auto* answer = static_cast<std::uint8_t*>(out);
  EXPECT_EQ(in_length, 16U);
  EXPECT_GE(out_length, 16U + 256U);
  EXPECT_EQ(request[0], 0x01);
  EXPECT_EQ(request[1], 0x00);
  EXPECT_EQ(request[7], 1);
  if (answer_error != 0) return answer_error;
  std::memset(answer, 0, out_length);
  answer[16 + 17] = log_max_qp_size;
  answer[16 + 82] = 1024 >> 8;
  answer[16 + 87] = 512 & 0xff;
  answer[16 + 86] = 512 >> 8;
  return 0;
}

class Mlx5Probe : public ::testing::Test {
protected:
  void SetUp() override {
    answer_error = 0;
    log_max_qp_size = 15;
    probed_is_mlx5 = true;
    asked = 0;
    host.add(fake::roce_device("mlx5_0", 1));
    int count = 0;
    const auto list = host.get_device_list(count);
    context = host.open_device(list.handle[0]).handle;
    host.free_device_list(list.handle);
    caps.set(Cap::max_qp_wr, 8192);
  }
  void TearDown() override { host.close_device(context); }
  void bring_library() {
    host.vendor_functions["libmlx5.so.1:mlx5dv_is_supported"] = reinterpret_cast<void*>(&probed_is_supported);
    host.vendor_functions["libmlx5.so.1:mlx5dv_devx_general_cmd"] = reinterpret_cast<void*>(&general_command);
  }
  fake::FakeVerbs host;
  ibv_context* context = nullptr;
  Caps caps;
};

TEST_F(Mlx5Probe, BlocksAndWqeBytesComeFromTheFirmware) {
  bring_library();
  mlx5::probe_hca_caps(host, context, caps);
  EXPECT_EQ(caps[Cap::max_send_wqebb], 32768U);
  EXPECT_EQ(caps[Cap::max_sq_desc_bytes], 1024U);
  EXPECT_EQ(caps[Cap::max_rq_desc_bytes], 512U);
}

TEST_F(Mlx5Probe, WithoutTheLibraryNothingIsKnown) {
  mlx5::probe_hca_caps(host, context, caps);
  EXPECT_FALSE(caps[Cap::max_send_wqebb]);
}

TEST_F(Mlx5Probe, ADeviceThatLibmlx5DoesNotServeIsNotAsked) {
  bring_library();
  probed_is_mlx5 = false;
  mlx5::probe_hca_caps(host, context, caps);
  EXPECT_EQ(asked, 0U);
  EXPECT_FALSE(caps[Cap::max_send_wqebb]);
}

TEST_F(Mlx5Probe, ARefusedQueryLeavesTheCapsAlone) {
  bring_library();
  answer_error = EPERM;
  mlx5::probe_hca_caps(host, context, caps);
  EXPECT_FALSE(caps[Cap::max_send_wqebb]);
}

TEST_F(Mlx5Probe, AnAnswerThatContradictsTheDeclaredDepthIsNotTaken) {
  bring_library();
  log_max_qp_size = 10;
  mlx5::probe_hca_caps(host, context, caps);
  EXPECT_FALSE(caps[Cap::max_send_wqebb]);
}

}  // namespace
}  // namespace verbena
