// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace bench {

/// A table of that many rules over 20 drivers, each as long as a shipped one is on average, with every kind of match.
inline std::string many_rules(int count) {
  constexpr std::array<std::string_view, 4> matches{
      "    match: {driver: DRIVER, part_id: [0x1591-0x1593, 0x1599-0x159b], transport: [roce2, iwarp]}\n",
      "    match: {driver: DRIVER, kernel: \">=5.14 <6.18\", function: pf}\n",
      "    match: {driver: DRIVER, hw_ver: 2, arch: [x86_64, aarch64]}\n    when: {max_qp_wr: 4063}\n",
      "    match: {driver: DRIVER, rdma_core: [\"<42\", \">=50 <55\"]}\n",
  };
  constexpr std::array<std::string_view, 4> effects{
      "    on: qp\n    limit:\n      max_inline_data: {max: 101}\n      max_send_sge: {max: 13}\n",
      "    on: cq\n    limit:\n      cqe: {max: max_cqe - 1, reserve: 1}\n",
      "    on: qp\n    feature: {uc: absent}\n",
      "    on: qp\n    joint: {irdma_quanta: {ring: 32768, hidden: 258}}\n",
  };
  std::string text = "schema: 1\nversion: \"2026.11\"\nrules:\n";
  for (int i = 0; i < count; ++i) {
    const std::string driver = i % 20 == 0 ? "irdma" : "driver" + std::to_string(i % 20);
    // Rules of one driver take every kind in turn.
    const auto kind = static_cast<std::size_t>(i / 20 + i) % 4;
    std::string match{matches[kind]};
    match.replace(match.find("DRIVER"), 6, driver);
    text += "  - id: rule-" + std::to_string(i) + "\n" + match;
    text += effects[kind];
    text +=
        "    because: The device declares more than a queue of this kind can hold, and creation fails above it.\n"
        "    source: Linux 6.12 drivers/infiniband/hw/irdma/verbs.c irdma_query_device; uk.c irdma_uk_init\n"
        "    evidence: driver-source\n"
        "    severity: correctness\n"
        "    until: open\n"
        "    proof: qp.create.inline_at_limit\n";
  }
  return text;
}

}  // namespace bench
