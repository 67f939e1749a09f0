// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/bundle.hpp"

#include <fmt/format.h>
#include <sys/klog.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "report/file.hpp"
#include "report/run_json.hpp"
#include "runner/closing.hpp"
#include "runner/sha256.hpp"
#include "verbena/model.hpp"
#include "verbena/quirks.hpp"
#include "verbena/registry.hpp"

namespace conform {
namespace {

constexpr std::string_view kSums = "SHA256SUMS";

std::string kernel_log() {
  constexpr int kSize = 10;     // SYSLOG_ACTION_SIZE_BUFFER
  constexpr int kReadAll = 3;   // SYSLOG_ACTION_READ_ALL
  const int size = klogctl(kSize, nullptr, 0);
  if (size <= 0) return fmt::format("the kernel's log cannot be read: {}\n", std::strerror(errno));
  std::string text(static_cast<std::size_t>(size), '\0');
  const int got = klogctl(kReadAll, text.data(), size);
  if (got < 0) return fmt::format("the kernel's log cannot be read: {}\n", std::strerror(errno));
  text.resize(static_cast<std::size_t>(got));
  return text;
}

std::string versions(const CaseList& list, const Run& run) {
  utsname host{};
  uname(&host);
  return fmt::format("verbena {}\nlist {} {:016x}\nquirks {}\nkernel {} {}\nlibrary {}\ndriver {}\nfirmware {}\n",
                     run.verbena, list.version, list.hash(), run.quirks_hash, host.release, host.machine,
                     run.device.library, run.device.driver, run.device.firmware);
}

/// The files of the folder but the sums, by name.
std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.is_regular_file() && entry.path().filename() != kSums) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

verbena::Result<std::string> sums_of(const std::string& folder) {
  std::string text;
  for (const std::string& name : files_of(folder)) {
    const auto read = read_file(folder + "/" + name);
    if (!read) return verbena::Failure(read.error());
    text += sha256(*read) + "  " + name + "\n";
  }
  return text;
}

/// Lines of the one that the other lacks, with the file that each names.
void compare_sums(const std::string& written, const std::string& found, std::vector<std::string>& wrong) {
  const auto lines = [](const std::string& text) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      out.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return out;
  };
  const auto was = lines(written);
  const auto is = lines(found);
  const auto name = [](const std::string& line) { return line.size() > 66 ? line.substr(66) : line; };
  const auto names = [&](const std::vector<std::string>& all, const std::string& line) {
    return std::any_of(all.begin(), all.end(), [&](const std::string& one) { return name(one) == name(line); });
  };
  for (const std::string& line : was) {
    if (std::find(is.begin(), is.end(), line) != is.end()) continue;
    wrong.push_back(fmt::format("{} {}", name(line), names(is, line) ? "was changed" : "is not there any more"));
  }
  for (const std::string& line : is)
    if (!names(was, line)) wrong.push_back(fmt::format("{} was added", name(line)));
}

/// What this build's own rules make of the device, and the rules' hash.
verbena::Result<verbena::Contract> contract_of(const std::string& folder, const Run& run) {
  const std::string file = folder + "/device.yaml";
  const auto text = read_file(file);
  if (!text) return verbena::Failure(text.error());
  const auto model = verbena::parse_model(*text, file);
  if (!model) return verbena::Failure(model.error());
  const auto backends = verbena::BackendRegistry::builtin();
  verbena::QuirkOptions options;
  options.layers = {verbena::default_layers({}, true).front()};
  const auto quirks = verbena::load_quirks(options, backends);
  if (!quirks) return verbena::Failure(quirks.error());
  verbena::DeviceId id = model->device;
  id.driver = run.device.driver;
  return (*quirks)->contract(id, model->caps, 1, true);
}

}  // namespace

verbena::Result<void> write_bundle(const std::string& folder, const CaseList& list, const Ground& ground,
                                   const Run& run) {
  std::vector<std::pair<std::string, std::string>> files = {
      {"device.yaml", verbena::write_model(ground.device->id(), ground.device->caps(), false)},
      {"dmesg.txt", kernel_log()},
      {"versions.txt", versions(list, run)},
  };
  if (ground.other)
    files.emplace_back("other.yaml", verbena::write_model(ground.other->id(), ground.other->caps(), false));
  for (const auto& [name, text] : files) {
    if (auto written = write_file(folder + "/" + name, text); !written) return written;
  }
  // Says nothing once the run is over, and would not be there in a copy that leaves empty files out.
  std::error_code error;
  std::filesystem::remove(folder + "/running", error);
  const auto sums = sums_of(folder);
  if (!sums) return verbena::Failure(sums.error());
  return write_file(folder + "/" + std::string(kSums), *sums);
}

verbena::Result<std::vector<std::string>> verify_bundle(const std::string& folder, const CaseList& list) {
  std::vector<std::string> wrong;
  const auto written = read_file(folder + "/" + std::string(kSums));
  if (!written) return verbena::Failure(written.error());
  const auto found = sums_of(folder);
  if (!found) return verbena::Failure(found.error());
  compare_sums(*written, *found, wrong);
  const auto run = load_run(folder + "/run.json");
  if (!run) return verbena::Failure(run.error());
  const auto contract = contract_of(folder, *run);
  if (!contract) return verbena::Failure(contract.error());
  if (const std::string hash = fmt::format("{:016x}", contract->quirks_hash()); hash != run->quirks_hash)
    wrong.push_back(fmt::format("it ran under rules {}, and this build's own are {}", run->quirks_hash, hash));
  if (!run->official) wrong.emplace_back("run.json is of no official run");
  if (run->repeat < kOfficialRepeat)
    wrong.push_back(fmt::format("each case ran {} times, and {} are official", run->repeat, kOfficialRepeat));
  const auto anew = verify_run(*run, list, *contract);
  wrong.insert(wrong.end(), anew.begin(), anew.end());
  return wrong;
}

}  // namespace conform
