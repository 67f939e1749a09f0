// SPDX-License-Identifier: Apache-2.0 OR MIT
// Two ways of doing one thing, measured in alternating blocks of one run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <utility>
#include <vector>

namespace bench {

inline std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Processor time of this thread: what others do on the machine does not count.
inline std::int64_t cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline double median(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? static_cast<double>(values[middle])
                                : static_cast<double>(values[middle - 1] + values[middle]) / 2;
}

/// What reading a clock twice costs by itself.
template <class Clock>
std::int64_t clock_cost(Clock clock) {
  std::vector<std::int64_t> costs;
  for (int i = 0; i < 101; ++i) {
    const std::int64_t start = clock();
    costs.push_back(clock() - start);
  }
  return static_cast<std::int64_t>(median(std::move(costs)));
}

/// One side of a comparison: the samples of each block, the first block left out by summaries.
class Side {
public:
  void next_block() { blocks_.emplace_back(); }
  void add(std::int64_t nanoseconds) { blocks_.back().push_back(nanoseconds); }
  /// Adds the processor time that `work` takes.
  template <class Work>
  void time(Work work) {
    const std::int64_t start = cpu_ns();
    work();
    add(cpu_ns() - start);
  }
  double block(std::size_t index) const { return median(blocks_[index]); }
  std::size_t blocks() const { return blocks_.size(); }
  double overall() const {
    std::vector<std::int64_t> all;
    for (std::size_t i = 1; i < blocks_.size(); ++i) all.insert(all.end(), blocks_[i].begin(), blocks_[i].end());
    return median(std::move(all));
  }

private:
  std::vector<std::vector<std::int64_t>> blocks_;
};

struct Comparison {
  double ours = 0, theirs = 0, ratio = 0, worst_ratio = 0, more = 0, worst_more = 0;
  std::size_t worst_block = 0;  ///< where worst_ratio was found, counted from 0: block 0 is left out
};

inline Comparison compare(const Side& ours, const Side& theirs) {
  Comparison result;
  result.ours = ours.overall();
  result.theirs = theirs.overall();
  result.ratio = result.ours / result.theirs;
  result.more = result.ours - result.theirs;
  result.worst_more = ours.block(1) - theirs.block(1);
  for (std::size_t i = 1; i < std::min(ours.blocks(), theirs.blocks()); ++i) {
    const double ratio = ours.block(i) / theirs.block(i);
    if (ratio > result.worst_ratio) {
      result.worst_ratio = ratio;
      result.worst_block = i;
    }
    result.worst_more = std::max(result.worst_more, ours.block(i) - theirs.block(i));
  }
  return result;
}

}  // namespace bench
