// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>
#include <tl/expected.hpp>

#include "engine/fabric/fork_guard.hpp"
#include "engine/fabric/lock.hpp"
#include "engine/fabric/shared_board.hpp"
#include "engine/fabric/shared_counts.hpp"
#include "engine/fabric/shared_incoming.hpp"
#include "engine/fabric/shared_outgoing.hpp"
#include "engine/fabric/shared_service.hpp"
#include "engine/transport/adapter.hpp"
#include "engine/transport/served.hpp"
#include "engine/transport/surroundings.hpp"
#include "engine/transport/time.hpp"

namespace verbena::engine::fabric {

/// NICs of several processes of this host. All that isn't said otherwise is called under the lock that it was given,
/// one thread at a time; its own thread takes that lock too.
///
/// In a child of fork() it does nothing any more: nothing is sent, nothing comes, and what it had mapped isn't there.
class Shared final : private SharedService::Work {
public:
  struct Options {
    std::string name;      ///< of the fabric: who gives the same name is on the same one
    mode_t mode = 0600;    ///< who may join, as of a file
    bool pulls = true;     ///< large payload is read from the other process's memory, where the kernel lets it
    bool serves = true;    ///< it has a thread, which works while the program doesn't
    /// Said once: the kernel doesn't let this process read the memory of another one (errno), so its payload is copied
    /// twice. Called under the lock.
    std::function<void(int)> pull_refused{};
  };

  /// Not under the lock. `lock` and `clock` live longer.
  static tl::expected<std::unique_ptr<Shared>, JoinFailure> join(Options options, Lock& lock, transport::Clock& clock);
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  /// Not under the lock. Ports are gone before.
  ~Shared() override;

  /// One NIC's end. Several processes, and several NICs of one, may have the same address: then the number of the queue
  /// pair says whose a packet is.
  class Port final : public transport::Outlet {
  public:
    explicit Port(Shared& fabric) : fabric_(fabric) { fabric_.ports_.push_back(this); }
    ~Port() override;
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    void connect(transport::Adapter& adapter) noexcept { adapter_ = &adapter; }
    void listen(const wire::Gid& gid);
    void forget(const wire::Gid& gid);

    bool send(const transport::Train& train) noexcept override { return fabric_.send(train); }
    std::uint32_t most_packets(const transport::QueuePair& qp) const noexcept override;
    std::uint32_t window() const noexcept override { return kWindow; }
    void withdraw(const transport::QueuePair& qp) noexcept override;
    void withdraw(const memory::Piece& memory) noexcept override;

  private:
    friend class Shared;
    bool has(const wire::Gid& gid) const noexcept;

    Shared& fabric_;
    transport::Adapter* adapter_ = nullptr;
    std::vector<wire::Gid> gids_;
  };

  /// The number of a queue pair of this process, which no other process has: `low` are its low 16 bits, of which each
  /// NIC of this process takes others. Of this fabric only queue pairs of such numbers are reached, and those that have
  /// a number to themselves: 0, 1 and groups'.
  std::uint32_t number(std::uint32_t low) const noexcept { return (board_.slot() << kSlotShift) | (low & 0xffff); }

  /// Hands over at most so many trains that have come, sends what waits, and does what is due; how many trains those
  /// were. Where there is nothing, it costs a few loads, and now and then a look at the clock.
  int progress(int budget = kBudget) noexcept;
  /// What a program calls when it has posted, and won't poll soon: has the thread wake in time.
  void settle() noexcept;
  /// Whenever trains are handed over, by progress() and by the thread.
  void add(transport::Served& served) { served_.push_back(&served); }
  void remove(transport::Served& served) noexcept { std::erase(served_, &served); }
  /// The program is about to sleep until an event comes; progress() once more before it does.
  void doze() noexcept {
    if (here()) service_.doze();
  }

  /// This is the process that joined, and no child of it.
  bool here() const noexcept { return guard_.here(); }
  const SharedCounts& counts() const noexcept { return counts_; }
  std::uint32_t slot() const noexcept { return board_.slot(); }
  /// Who answers to that address: a number that no process had before it; 0 where none that lives does. Nothing where
  /// several do, unless a queue pair's number says which of them. Asks the kernel.
  std::optional<std::uint32_t> who(const wire::Gid& gid, std::uint32_t qpn);

private:
  static constexpr unsigned kSlotShift = 16;
  static constexpr int kBudget = 64;
  static constexpr std::uint32_t kWindow = 1U << 22;  // half of the PSNs that can be told from each other
  static_assert((kSlots << kSlotShift) < (0xffU << kSlotShift), "0xffffff is of no slot");

  /// Another process.
  struct Peer {
    bool read = false;
    std::uint32_t version = 0;  ///< of what was read
    std::optional<SlotSays> says;
    std::uint32_t gone = 0;  ///< the incarnation that is known to have ended
    std::uint32_t cut_off = 0;  ///< the incarnation that wrote rubbish
    std::unique_ptr<Outgoing> out;
    std::unique_ptr<Incoming> in;
  };

  Shared(Options options, Lock& lock, transport::Clock& clock, std::unique_ptr<std::uint64_t> witness,
         SharedBoard board);

  // shared_routes.cpp
  bool send(const transport::Train& train) noexcept;
  void send_to_all(const transport::Train& train);
  bool deliver(const transport::Train& train);
  Peer* reach(std::uint32_t slot, const wire::Gid& gid);
  const SlotSays* look(std::uint32_t slot);
  Outgoing& outgoing(std::uint32_t slot, Peer& peer);
  void publish();

  // shared.cpp
  Round serve() noexcept override;
  int work(int budget);
  int drain(Incoming& in, int budget);
  void scan();
  void attach(std::uint32_t slot, Peer& peer);
  void cut_off(Peer& peer);
  void tell(int error);
  void push_stuck(bool asks_kernel);
  void retry();
  void expire();
  std::optional<transport::Time> next() const noexcept;

  std::vector<transport::Served*> served_;
  Options options_;
  transport::Clock& clock_;
  ForkGuard guard_;
  std::unique_ptr<std::uint64_t> witness_;
  SharedBoard board_;
  SharedCounts counts_;
  std::vector<Port*> ports_;
  std::array<Peer, kSlots + 1> peers_;
  std::vector<std::uint32_t> attached_;  ///< slots that something may come from
  std::vector<std::uint32_t> stuck_;  ///< slots for which something waits
  std::uint32_t knocks_ = 0;
  bool scans_ = true;  ///< who is there has to be looked at, knock or not
  std::uint32_t rounds_ = 0;
  std::uint32_t stuck_rounds_ = 0;
  std::size_t first_ = 0;  ///< of attached_, which one is looked at first
  bool told_ = false;
  SharedService service_;
};

}  // namespace verbena::engine::fabric
