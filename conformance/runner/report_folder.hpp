// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <vector>

#include "report/run.hpp"
#include "verbena/result.hpp"

namespace conform {

/// Where a run leaves what it says: cases.jsonl grows by a line a case, `running` names the cases under way (so a
/// machine that dies leaves their names), and run.json, junit.xml and index.html come at the end.
class ReportFolder {
public:
  /// Makes the folder where it is not there, and begins a new cases.jsonl. Error: io, before anything has run.
  static verbena::Result<ReportFolder> open(const std::string& folder);
  ReportFolder(ReportFolder&&) noexcept;
  ReportFolder(const ReportFolder&) = delete;
  ReportFolder& operator=(const ReportFolder&) = delete;
  ReportFolder& operator=(ReportFolder&&) = delete;
  ~ReportFolder();

  const std::string& path() const noexcept { return folder_; }
  verbena::Result<void> running(const std::vector<std::string>& ids);
  verbena::Result<void> add(const CaseResult& result);
  verbena::Result<void> finish(const Run& run);

private:
  ReportFolder(std::string folder, int lines, int running);

  std::string folder_;
  int lines_;
  int running_;
};

}  // namespace conform
