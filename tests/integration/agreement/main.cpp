// SPDX-License-Identifier: Apache-2.0 OR MIT
// Does fit promise only what the device gives, and all that it gives? Seeded random requests and every bound at -1, 0
// and +1 are fitted from the contract alone, then created with plain verbs as fitted. On shells of NICs
// (tests/vm/nicshell), where the vendor's own user-space driver answers, three more things are held against it: what
// the device's model says, the next larger value of what fit reduced, and what the queues take when posted to.
// The last line for each device is its row of the table.

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "comparison.hpp"
#include "verbena/library.hpp"
#include "verbena/model.hpp"
#include "verbena/settings.hpp"

namespace {

using namespace verbena;

/// Ring memory that one request may need: a guest has a few GiB, and a host's own ENOMEM says nothing of the NIC. In a
/// sample on a shell it is less, since pinning pages is slow there.
constexpr std::uint64_t kRingBudget = std::uint64_t{256} << 20, kSampleRingBudget = std::uint64_t{32} << 20;
constexpr unsigned kSample = 500;

struct Options {
  std::vector<std::string> devices;
  // A sample in the everyday check, all of it with VERBENA_CHECK_FULL or -n.
  unsigned count = std::getenv("VERBENA_CHECK_FULL") ? 2000 : 300;
  std::uint64_t seed = 1;
  std::string models;  ///< folder that stands in for the models of this build
};

void usage() {
  std::fprintf(stderr,
               "usage: agreement -d DEVICE... [-n COUNT] [-s SEED] [-m FOLDER]\n\n"
               "On a shell of a NIC, DEVICE may be NAME@VARIANT of its model; -m takes the models from FOLDER.\n"
               "Exit code: 0, 1 on a disagreement, 2 usage, 77 when no such device is there.\n");
}

std::optional<agreement::ModelCreation> creation_of(const std::string& device, const Device& open,
                                                    const std::string& folder) {
  std::string source = device;
  if (!folder.empty()) source = folder + "/" + device + ".yaml";
  auto model = load_model(source);
  if (!model) {
    std::printf("agreement: no model of %s: %s\n", device.c_str(), to_string(model.error()).c_str());
    return std::nullopt;
  }
  return agreement::ModelCreation::of(*model, open.caps());
}

/// Devices of one driver and like caps would else be asked the same.
std::uint64_t seed_of(const std::string& name, std::uint64_t seed) {
  for (const char letter : name) seed = (seed ^ static_cast<unsigned char>(letter)) * 0x100000001b3;  // FNV-1a
  return seed;
}

int judge(const Library& library, const std::string& wanted, const Options& options, bool judged) {
  const std::string name = wanted.substr(0, wanted.find('@'));
  auto device = library.open(name);
  if (!device) {
    std::printf("%s\n", to_string(device.error()).c_str());
    return device.error().kind == ErrorKind::no_device ? 77 : 1;
  }
  auto contract = device->contract(1);
  if (!contract) {
    std::printf("%s\n", to_string(contract.error()).c_str());
    return 1;
  }
  std::optional<agreement::ModelCreation> model;
  if (judged) {
    model = creation_of(wanted, *device, options.models);
    if (!model) return 1;
  }

  agreement::Comparison comparison(*device, **contract, seed_of(wanted, options.seed), judged, std::move(model),
                                   judged && options.count <= kSample ? kSampleRingBudget : kRingBudget);
  if (!comparison.start()) {
    std::printf("agreement: %s: no PD, CQ or MR: %s\n", name.c_str(), std::strerror(errno));
    return 1;
  }
  const auto begun = std::chrono::steady_clock::now();
  comparison.random_requests(options.count);
  const agreement::Tally random = comparison.tally();
  comparison.bounds();
  const agreement::Tally& all = comparison.tally();
  const double share = random.tried != 0 ? 100.0 * random.adjusted / random.tried : 0.0;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  std::printf(
      "%s: seed %llu: %u random requests created (%.0f%% adjusted), %u at bounds; %u refused by fit, "
      "%u over the ring budget, %u host ENOMEM; %u disagreements\n",
      name.c_str(), static_cast<unsigned long long>(options.seed), random.tried, share, all.tried - random.tried,
      all.refused_by_fit, all.over_budget, all.host_enomem, all.disagreed);
  if (judged)
    std::printf(
        "table: %s | rdma-core %s | tuples %u (%u denied) | agreed %u | disagreed %u | raw creations %u "
        "(%u the next larger value: %u refused by the driver, %u by the copy, %u made with less or refused when "
        "posted, "
        "%u taken beyond what is declared, %u refused by the shell, which shows nothing) | filled %u (%u by the work "
        "request builder) "
        "with %lu posts (%u taken beyond what was returned) | refused by the user-space driver %u, the kernel driver's "
        "copy %u, the shell %u | %.0f s\n",
        wanted.c_str(), device->id().rdma_core.c_str(), all.tried, all.denied, all.agreed, all.disagreed, all.raw,
        all.next_larger, all.next_by_driver, all.next_by_copy, all.next_less, all.beyond_declared, all.next_unjudged,
        all.filled, comparison.posting().built(), comparison.posting().posted(), comparison.posting().surplus(),
        all.refused_by_driver, all.refused_by_copy, all.refused_by_shell, seconds);
  std::fflush(stdout);
  if (random.tried < options.count) {
    std::printf("agreement: only %u of %u requests could be drawn within the ring budget\n", random.tried,
                options.count);
    return 1;
  }
  // Shells are asked more of each request, so that few adjusted ones are enough.
  if (share < 40.0 && !judged) {
    std::printf("agreement: only %.0f%% of the requests were adjusted; the draw is too tame to show anything\n", share);
    return 1;
  }
  return all.disagreed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int option = 0; (option = getopt(argc, argv, "d:n:s:m:")) != -1;) {
    if (option == 'd') options.devices.emplace_back(optarg);
    if (option == 'n') options.count = static_cast<unsigned>(std::strtoul(optarg, nullptr, 10));
    if (option == 's') options.seed = std::strtoull(optarg, nullptr, 10);
    if (option == 'm') options.models = optarg;
    if (option == '?') return usage(), 2;
  }
  if (options.devices.empty()) return usage(), 2;

  LibraryOptions library_options;
  if (auto settings = load_settings()) library_options.settings = std::move(*settings);
  auto library = Library::create(std::move(library_options));
  if (!library) {
    std::printf("%s\n", to_string(library.error()).c_str());
    return 1;
  }
  const bool judged = agreement::KernelRecord().there();
  int result = 0;
  for (const std::string& device : options.devices) {
    const int code = judge(*library, device, options, judged);
    if (result != 1 && code != 0) result = code;
  }
  return result;
}
