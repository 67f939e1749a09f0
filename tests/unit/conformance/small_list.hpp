// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <vector>

#include "runner/case_list.hpp"

namespace conform::testing {

/// The head of a file of requirements, and three of them: one for all, one that needs an SRQ, one of two ends.
inline const std::string kRequirements = R"(schema: 1
version: 3
requirements:
  - id: pd.alloc.works
    number: 1
    says: A protection domain can be made.
    area: pd
    level: must
    by: man_page
    source: rdma-core man page ibv_alloc_pd(3)
    needs: []
  - id: srq.create.works
    number: 2
    says: A shared receive queue can be made.
    area: srq
    level: must
    by: man_page
    source: rdma-core man page ibv_create_srq(3)
    needs: [srq]
    transport: [infiniband, roce2]
  - id: srq.data.works
    number: 3
    says: A receive comes from the shared queue.
    area: srq
    level: must
    by: man_page
    source: rdma-core man page ibv_create_srq(3), notes
    needs: [srq, send]
    qp_types: [rc, uc]
    transport: [roce2, iwarp]
    setup: [two_ends]
)";

inline std::string cases_of(const std::string& area, const std::string& items) {
  return "schema: 1\narea: " + area + "\ncases:\n" + items;
}

inline std::string table_of(const std::string& driver, const std::string& expectations,
                            const std::string& native = "[rc]") {
  return "schema: 1\ndriver: " + driver + "\nversion: \"2026.11\"\nmust_be_native:\n  - features: " + native +
         "\n    source: a source\nexpectations:\n" + expectations;
}

/// `cases` of area pd, and a table of one driver where it is given.
inline LoadedList read(const std::string& cases, const std::string& table = {}) {
  std::vector<verbena::TableText> texts = {{"requirements.yaml", kRequirements}, {"cases/pd.yaml", cases}};
  if (!table.empty()) texts.push_back({"expectations/fake.yaml", table});
  return read_list(texts);
}

}  // namespace conform::testing
