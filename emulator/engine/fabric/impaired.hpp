// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "engine/fabric/address_book.hpp"
#include "engine/fabric/impairments.hpp"
#include "engine/fabric/port.hpp"
#include "engine/transport/adapter.hpp"
#include "engine/transport/surroundings.hpp"
#include "engine/transport/time.hpp"
#include "engine/wire/packet.hpp"
#include "engine/wire/refusal.hpp"

namespace verbena::engine::fabric {

/// NICs of one process on a wire that can be bad: packets go as bytes, and are lost, doubled, late, or other than they
/// were, as a seed has it. They wait until deliver() hands them over. One thread at a time, over all of them.
class Impaired final : public Fabric {
public:
  Impaired(transport::Clock& clock, std::uint64_t seed) noexcept : clock_(clock), random_(seed) {}

  /// One NIC's end.
  class Port final : public fabric::Port {
  public:
    explicit Port(Impaired& fabric) noexcept : fabric_(fabric) {}
    ~Port() override { fabric_.book_.remove(*this); }
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    void connect(transport::Adapter& adapter) noexcept override { adapter_ = &adapter; }
    void listen(const wire::Gid& gid) override { fabric_.book_.add(gid, *this); }
    void forget(const wire::Gid& gid) noexcept override { fabric_.book_.remove(gid, *this); }
    void set_link(bool is_up) noexcept override { up = is_up; }

    bool send(const transport::Train& train) noexcept override;
    std::uint32_t most_packets(const transport::QueuePair& /*qp*/) const noexcept override { return 1; }
    std::uint32_t window() const noexcept override { return kWindow; }

    /// While it is down, nothing comes or goes.
    bool up = true;

  private:
    friend class Impaired;
    Impaired& fabric_;
    transport::Adapter* adapter_ = nullptr;
  };

  /// From the next packet on.
  Impairments impairments;

  std::unique_ptr<fabric::Port> port() override { return std::make_unique<Port>(*this); }
  /// One packet.
  bool deliver() override;
  std::optional<transport::Time> next() const noexcept override;

  const wire::RefusalCounts& refused() const noexcept { return refused_; }
  std::uint64_t sent() const noexcept { return sent_; }
  std::uint64_t lost() const noexcept { return lost_; }

private:
  static constexpr std::uint32_t kWindow = 128;  // linux sw/rxe/rxe_param.h RXE_MAX_UNACKED_PSNS

  struct Flying {
    transport::Time due{};
    std::uint64_t turn = 0;
    wire::Gid to{};
    std::vector<std::byte> bytes;
  };

  bool chance(std::uint32_t of_million) { return of_million > 0 && random_() % kOfMillion < of_million; }
  void fly(const wire::Gid& to, std::uint32_t lost, std::span<const std::byte> bytes);
  void hand_over(Port& port, const Flying& packet);
  std::vector<Flying>::const_iterator first() const noexcept;

  transport::Clock& clock_;
  std::mt19937_64 random_;
  AddressBook<Port> book_;
  std::vector<Flying> flying_;
  std::uint64_t turn_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t lost_ = 0;
  wire::RefusalCounts refused_;
};

}  // namespace verbena::engine::fabric
