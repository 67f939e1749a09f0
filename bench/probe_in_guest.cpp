// SPDX-License-Identifier: Apache-2.0 OR MIT
// What Library::open costs beside the same calls and reads written by hand, and what a second open adds to
// ibv_open_device. The figures mean something only where instructions are counted:
//   tools/vm run 6.12 --icount --devices rxe -- build/release/bench/probe_in_guest
// What is counted is the processor time of the thread, system calls included. The guest's files are folders of the
// host: looking one up may have to wait for it, and the guest's clock runs on meanwhile. Exit code 1 when a limit is
// broken: first open 1.2 times the same by hand; second open's own part 0.05 times that of the first.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "blocks.hpp"
#include "by_hand.hpp"
#include "control.hpp"
#include "verbena/library.hpp"
#include "verbs/real_verbs.hpp"

namespace {

using namespace verbena;

constexpr int kBlocks = 11;
constexpr int kRounds = 5;
constexpr double kFirstLimit = 1.2, kSecondLimit = 0.05;

/// Knows how long ibv_open_device took.
class TimedVerbs final : public RealVerbs {
public:
  Made<ibv_context> open_device(ibv_device* device) override {
    const std::int64_t start = bench::cpu_ns();
    const auto made = RealVerbs::open_device(device);
    opening_ns = bench::cpu_ns() - start;
    return made;
  }
  std::int64_t opening_ns = 0;
};

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", to_string(result.error()).c_str());
  std::exit(3);
}

struct Sides {
  bench::Side by_hand, first, first_own, second_own, second;
};

void round_by_hand(const char* name, std::int64_t clock, Sides& sides) {
  const std::int64_t start = bench::cpu_ns();
  const bench::OpenedByHand opened = bench::open_by_hand(name);
  sides.by_hand.add(bench::cpu_ns() - start - clock);
  bench::close_by_hand(opened);
}

/// A library of its own each time, its tables loaded before the clock starts: nothing is known of the device or host.
void round_of_library(const char* name, std::int64_t clock, Sides& sides) {
  auto verbs = std::make_shared<TimedVerbs>();
  LibraryOptions options;
  options.verbs = verbs;
  const Library library = must(Library::create(std::move(options)));
  std::int64_t start = bench::cpu_ns();
  const Device first = must(library.open(name));
  // Verbena's time holds the two readings of the clock around ibv_open_device; take those off too.
  const std::int64_t first_ns = bench::cpu_ns() - start - 2 * clock;
  const std::int64_t first_opening = verbs->opening_ns - clock;
  start = bench::cpu_ns();
  const Device second = must(library.open(name));
  const std::int64_t second_ns = bench::cpu_ns() - start - 2 * clock;
  const std::int64_t second_opening = verbs->opening_ns - clock;
  sides.first.add(first_ns);
  sides.first_own.add(first_ns - first_opening);
  sides.second.add(second_ns);
  sides.second_own.add(second_ns - second_opening);
}

bool report(const char* what, const char* beside, const bench::Side& ours, const bench::Side& theirs, double limit) {
  const bench::Comparison found = bench::compare(ours, theirs);
  const bool holds = found.ratio <= limit;
  std::printf("%-24s %10.0f   %-28s %10.0f   ratio %.3f   limit %.2f   %s\n", what, found.ours, beside, found.theirs,
              found.ratio, limit, holds ? "holds" : "BROKEN");
  std::printf("%-24s worst block %.3f (number %zu); blocks:", "", found.worst_ratio, found.worst_block);
  for (std::size_t block = 1; block < ours.blocks(); ++block) {
    std::printf(" %.3f", ours.block(block) / theirs.block(block));
  }
  std::printf("\n");
  return holds;
}

int measure(const char* name) {
  const std::int64_t clock = bench::clock_cost(bench::cpu_ns);
  Sides sides;
  for (int block = 0; block < kBlocks; ++block) {
    for (bench::Side* side : {&sides.by_hand, &sides.first, &sides.first_own, &sides.second, &sides.second_own}) {
      side->next_block();
    }
    for (int round = 0; round < kRounds; ++round) round_by_hand(name, clock, sides);
    for (int round = 0; round < kRounds; ++round) round_of_library(name, clock, sides);
  }
  std::printf("%s: medians in ns (instructions under --icount) of %d alternating blocks of %d, the first left out\n",
              name, kBlocks, kRounds);
  bool holds = report("first open", "the same by hand", sides.first, sides.by_hand, kFirstLimit);
  holds &= report("second open, own part", "first open, own part", sides.second_own, sides.first_own, kSecondLimit);
  const bench::Comparison whole = bench::compare(sides.second, sides.first);
  std::printf("%-24s %10.0f   %-28s %10.0f   ratio %.3f\n", "second open, whole", whole.ours, "first open, whole",
              whole.theirs, whole.ratio);
  return holds ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const name = argc > 1 ? argv[1] : "rxe0";
  return bench::under_control([name] { return measure(name); });
}
