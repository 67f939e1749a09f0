// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/shared.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

namespace verbena::engine::fabric {

namespace {

/// Idle rounds between two looks at the clock, and between two questions to the kernel whether a reader lives.
constexpr std::uint32_t kClockEvery = 64;
constexpr std::uint32_t kAskEvery = 4096;

/// Nobody guesses it, and no memory holds it by chance.
std::uint64_t draw_witness() {
  std::random_device source;
  return (std::uint64_t{source()} << 32) | source() | 1U;
}

}  // namespace

tl::expected<std::unique_ptr<Shared>, JoinFailure> Shared::join(Options options, Lock& lock, transport::Clock& clock) {
  auto witness = std::make_unique<std::uint64_t>(draw_witness());
  auto board = SharedBoard::join(options.name, options.mode, *witness);
  if (!board) return tl::unexpected(std::move(board.error()));
  return std::unique_ptr<Shared>(new Shared(std::move(options), lock, clock, std::move(witness), std::move(*board)));
}

Shared::Shared(Options options, Lock& lock, transport::Clock& clock, std::unique_ptr<std::uint64_t> witness,
               SharedBoard board)
    : options_(std::move(options)),
      clock_(clock),
      witness_(std::move(witness)),
      board_(std::move(board)),
      service_(board_, lock, *this) {
  if (options_.serves) service_.start();
}

Shared::~Shared() {
  if (!guard_.here()) {
    // A child: it has neither the thread nor what was mapped, and the slot is its parent's.
    service_.forget();
    for (Peer& peer : peers_) {
      [[maybe_unused]] const auto* const out = peer.out.release();
      [[maybe_unused]] const auto* const in = peer.in.release();
    }
    board_.forget();
    return;
  }
  service_.stop();
  for (Peer& peer : peers_) {
    peer.out.reset();
    peer.in.reset();
  }
  board_.leave();
  *witness_ = 0;
}

int Shared::progress(int budget) noexcept {
  if (!guard_.here()) return 0;
  service_.polled();
  const int done = work(budget);
  if (++rounds_ % kClockEvery == 0) expire();
  for (transport::Served* const each : served_) each->serve();
  return done;
}

void Shared::settle() noexcept {
  if (!guard_.here() || !service_.runs()) return;
  if (const auto at = next()) service_.due(*at - clock_.now());
}

SharedService::Work::Round Shared::serve() noexcept {
  Round round;
  round.done = work(kBudget);
  push_stuck(true);
  expire();
  for (transport::Served* const each : served_) each->serve();
  round.stuck = !stuck_.empty();
  if (const auto at = next()) round.until = *at - clock_.now();
  return round;
}

int Shared::work(int budget) {
  if (scans_ || board_.own().knocks.load(std::memory_order_acquire) != knocks_) scan();
  int done = 0;
  const std::size_t count = attached_.size();
  for (std::size_t index = 0; index < count && done < budget; ++index) {
    const std::uint32_t slot = attached_[(first_ + index) % count];
    done += drain(*peers_[slot].in, budget - done);
  }
  if (count > 1) first_ = (first_ + 1) % count;
  if (!stuck_.empty()) push_stuck(++stuck_rounds_ % kAskEvery == 0);
  return done;
}

int Shared::drain(Incoming& in, int budget) {
  int done = 0;
  while (done < budget) {
    const Message* const message = in.next();
    if (message == nullptr) break;
    if (!deliver(message->train)) ++counts_.lost;
    in.pop();
    ++done;
  }
  in.tell_of_room();
  if (const int error = in.taught(); error != 0) tell(error);
  if (in.broken()) cut_off(peers_[in.from()]);
  return done;
}

/// Who is there, and who has made a ring to here, has changed.
void Shared::scan() {
  scans_ = false;
  knocks_ = board_.own().knocks.load(std::memory_order_acquire);
  attached_.clear();
  for (std::uint32_t slot = 1; slot <= kSlots; ++slot) {
    if (slot == board_.slot()) continue;
    Peer& peer = peers_[slot];
    const SlotSays* const says = look(slot);
    const std::uint32_t incarnation = says != nullptr ? says->incarnation : 0;
    if (peer.in && (peer.in->incarnation() != incarnation || peer.cut_off == incarnation)) {
      // What it sent before it left is under way still: the last acknowledgement of a program that is done.
      if (peer.in->incarnation() != incarnation) drain(*peer.in, std::numeric_limits<int>::max());
      peer.in.reset();
    }
    if (peer.out && peer.out->incarnation() != incarnation) peer.out.reset();
    if (!peer.in && incarnation != 0 && incarnation != peer.cut_off) attach(slot, peer);
    if (peer.in) attached_.push_back(slot);
  }
  first_ = 0;
}

void Shared::attach(std::uint32_t slot, Peer& peer) {
  const std::uint32_t made = board_.own().made[slot].load(std::memory_order_acquire);
  if (made != peer.says->incarnation) return;
  const RingMapping ring = board_.map(slot, board_.slot(), false);
  if (ring.control == nullptr) return;
  if (ring.control->writer.load(std::memory_order_relaxed) != made ||
      ring.control->reader.load(std::memory_order_relaxed) != board_.incarnation()) {
    SharedBoard::unmap(ring);
    return;
  }
  peer.in = std::make_unique<Incoming>(board_, slot, *peer.says, ring, counts_);
  if (!options_.pulls) return;
  if (const int error = peer.in->try_pull(); error != 0) tell(error);
}

/// Nothing of it is believed any more, until another process has its slot. What reads from it may be running: scan()
/// lets go of that.
void Shared::cut_off(Peer& peer) {
  const std::uint32_t incarnation = peer.in ? peer.in->incarnation() : peer.out ? peer.out->incarnation() : 0;
  if (peer.cut_off == incarnation) return;
  peer.cut_off = incarnation;
  ++counts_.cut_off;
  peer.out.reset();
  scans_ = true;
}

void Shared::tell(int error) {
  if (told_) return;
  told_ = true;
  if (options_.pull_refused) options_.pull_refused(error);
}

/// Where there is room again. Readers that have ended have none any more, which the kernel knows.
void Shared::push_stuck(bool asks_kernel) {
  bool again = false;
  std::erase_if(stuck_, [&](std::uint32_t slot) {
    Peer& peer = peers_[slot];
    if (!peer.out) return true;
    const SlotSays* const says = look(slot);
    const bool there = says != nullptr && says->incarnation == peer.out->incarnation() &&
                       (!asks_kernel || board_.lives(slot, says->process));
    if (!there) {
      peer.gone = peer.out->incarnation();
      peer.out.reset();
      again = true;
      return true;
    }
    again = peer.out->push() || again;
    return !peer.out->stuck();
  });
  if (again) retry();
}

void Shared::retry() {
  for (std::size_t index = 0; index < ports_.size(); ++index) {
    if (ports_[index]->adapter_ != nullptr) ports_[index]->adapter_->retry_refused();
  }
}

void Shared::expire() {
  for (std::size_t index = 0; index < ports_.size(); ++index) {
    transport::Adapter* const adapter = ports_[index]->adapter_;
    if (adapter == nullptr || !adapter->next()) continue;
    const transport::Time now = clock_.now();
    if (*adapter->next() <= now) adapter->expire(now);
  }
}

std::optional<transport::Time> Shared::next() const noexcept {
  std::optional<transport::Time> first;
  for (const Port* const port : ports_) {
    const auto at = port->adapter_ != nullptr ? port->adapter_->next() : std::nullopt;
    if (at && (!first || *at < *first)) first = at;
  }
  for (const transport::Served* const each : served_) {
    if (const auto at = each->next(); at && (!first || *at < *first)) first = at;
  }
  return first;
}

}  // namespace verbena::engine::fabric
