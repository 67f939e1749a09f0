// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "fake_ground.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>

#include "runner/worker.hpp"

namespace conform::testing {
namespace {

void makes_pd(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
}
void makes_srq(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Object<ibv_srq> srq =
      c.made(c.way().srq(pd.raw(), {.max_wr = 4, .max_sge = 1, .srq_limit = 0}), "ibv_create_srq");
}
void crashes(Case&) {
  std::abort();
}
void leaves(Case&) {
  _exit(3);
}
void hangs(Case&) {
  for (;;) pause();
}
void throws(Case& c) {
  static_cast<void>(c.with("nothing"));
}
void is_blocked(Case& c) {
  c.blocked("huge_pages", "there are none");
}
void sees_row(Case& c) {
  c.equal(c.with("type"), std::string("rc"), "the row's type");
  c.equal(c.with("qp_types"), std::string("rc"), "its types");
}
/// The child holds what it inherited, the channel too.
void forks_and_crashes(Case&) {
  if (fork() == 0) {
    for (;;) pause();
  }
  std::abort();
}

void waits(Case& c) {
  c.needs_data();
}
void fails_and_waits(Case& c) {
  c.holds(false, Seen::value, "something before the first completion");
  c.needs_data();
}

constexpr Body kBodies[] = {{"pd.alloc.works", makes_pd},
                            {"srq.create.works", makes_srq},
                            {"pd.crashes", crashes},
                            {"pd.leaves", leaves},
                            {"pd.hangs", hangs},
                            {"pd.throws", throws},
                            {"pd.blocked", is_blocked},
                            {"pd.waits", waits},
                            {"pd.fails_and_waits", fails_and_waits},
                            {"pd.row", sees_row},
                            {"pd.forks", forks_and_crashes}};

}  // namespace

Bodies scripted_bodies() {
  return kBodies;
}

void FakeGround::SetUp() {
  verbena::fake::FakeDevice device = verbena::fake::roce_device("fake0", 1);
  device.driver_id = 14;  // rxe
  nic = &host->add(device);
  options.seconds = 5;
  options.substrate = Substrate::kernel_driver;
  options.start_worker = forked([this](int channel) { return work(channel, channel, ground, kBodies); });
  open({});
}

void FakeGround::open(std::vector<verbena::LayerSource> layers) {
  verbena::LibraryOptions wish;
  wish.settings.emplace();
  wish.verbs = host;
  wish.layers = std::move(layers);
  auto made = verbena::Library::create(std::move(wish));
  ASSERT_TRUE(made) << to_string(made.error());
  ground.device.reset();
  library.emplace(*std::move(made));
  ground.verbs = host;
  ground.library = &*library;
  auto opened = library->open("fake0");
  ASSERT_TRUE(opened) << to_string(opened.error());
  ground.device = *std::move(opened);
}

}  // namespace conform::testing
