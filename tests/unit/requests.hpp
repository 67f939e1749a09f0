// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstdint>

#include "verbena/request.hpp"

namespace verbena::requests {

inline QpRequest rc(std::uint32_t send_wr, std::uint32_t recv_wr, std::uint32_t send_sge, std::uint32_t recv_sge,
                    std::uint32_t inline_data) {
  QpRequest request;
  request.max_send_wr.want = send_wr;
  request.max_recv_wr.want = recv_wr;
  request.max_send_sge.want = send_sge;
  request.max_recv_sge.want = recv_sge;
  request.max_inline_data.want = inline_data;
  return request;
}

/// Each wish of a queue pair.
inline std::array<Wish*, 5> wishes(QpRequest& request) {
  return {&request.max_send_wr, &request.max_recv_wr, &request.max_send_sge, &request.max_recv_sge,
          &request.max_inline_data};
}

inline CqRequest cq(std::uint32_t cqe) {
  CqRequest request;
  request.cqe.want = cqe;
  return request;
}

}  // namespace verbena::requests
