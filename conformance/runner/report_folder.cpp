// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/report_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "report/file.hpp"
#include "report/html.hpp"
#include "report/junit.hpp"
#include "report/run_json.hpp"

namespace conform {
namespace {

verbena::Failure failed(const std::string& file, int error) {
  verbena::Error out{.kind = verbena::ErrorKind::io};
  out.errno_value = error;
  out.text = file + " cannot be written: " + std::strerror(error);
  return verbena::Failure(std::move(out));
}

/// 0, or the errno.
int write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return 0;
}

int open_new(const std::string& file) {
  return ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

}  // namespace

ReportFolder::ReportFolder(std::string folder, int lines, int running)
    : folder_(std::move(folder)), lines_(lines), running_(running) {}

ReportFolder::ReportFolder(ReportFolder&& other) noexcept
    : folder_(std::move(other.folder_)),
      lines_(std::exchange(other.lines_, -1)),
      running_(std::exchange(other.running_, -1)) {}

ReportFolder::~ReportFolder() {
  if (lines_ >= 0) close(lines_);
  if (running_ >= 0) close(running_);
}

verbena::Result<ReportFolder> ReportFolder::open(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return failed(folder, error.value());
  const int lines = open_new(folder + "/cases.jsonl");
  if (lines < 0) return failed(folder + "/cases.jsonl", errno);
  ReportFolder made(folder, lines, -1);
  made.running_ = open_new(folder + "/running");
  if (made.running_ < 0) return failed(folder + "/running", errno);
  // What an earlier run left would be taken for this one's.
  for (const char* old : {"/run.json", "/junit.xml", "/index.html"}) unlink((folder + old).c_str());
  return made;
}

verbena::Result<void> ReportFolder::running(const std::vector<std::string>& ids) {
  std::string text;
  for (const std::string& id : ids) text += id + "\n";
  const std::string file = folder_ + "/running";
  if (ftruncate(running_, 0) != 0) return failed(file, errno);
  if (lseek(running_, 0, SEEK_SET) < 0) return failed(file, errno);
  if (const int error = write_whole(running_, text)) return failed(file, error);
  return {};
}

verbena::Result<void> ReportFolder::add(const CaseResult& result) {
  if (const int error = write_whole(lines_, case_to_json_line(result) + "\n"))
    return failed(folder_ + "/cases.jsonl", error);
  return {};
}

verbena::Result<void> ReportFolder::finish(const Run& run) {
  const std::pair<const char*, std::string> files[] = {
      {"/run.json", run_to_json(run)},
      {"/junit.xml", run_to_junit(run)},
      {"/index.html", run_to_html(run)},
  };
  for (const auto& [name, text] : files) {
    if (auto written = write_file(folder_ + name, text); !written) return written;
  }
  return running({});
}

}  // namespace conform
