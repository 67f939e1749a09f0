// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>

#include "engine/fabric/address_book.hpp"
#include "engine/fabric/port.hpp"
#include "engine/transport/adapter.hpp"
#include "engine/transport/surroundings.hpp"

namespace verbena::engine::fabric {

/// NICs of one process that hand trains to each other as they are: nothing is encoded, nothing is lost, and each train
/// has arrived, and been answered, when send() returns. One thread at a time, over all of them.
class Direct final : public Fabric {
public:
  /// One NIC's end.
  class Port final : public fabric::Port {
  public:
    explicit Port(Direct& fabric) noexcept : fabric_(fabric) {}
    ~Port() override { fabric_.book_.remove(*this); }
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    void connect(transport::Adapter& adapter) noexcept override { adapter_ = &adapter; }
    void listen(const wire::Gid& gid) override { fabric_.book_.add(gid, *this); }
    void forget(const wire::Gid& gid) noexcept override { fabric_.book_.remove(gid, *this); }
    void set_link(bool up) noexcept override { up_ = up; }

    bool send(const transport::Train& train) noexcept override;
    /// The packets of a message are numbered, and otherwise go together.
    std::uint32_t most_packets(const transport::QueuePair& /*qp*/) const noexcept override { return kMost; }
    std::uint32_t window() const noexcept override { return kMost; }
    bool hands_over() const noexcept override { return true; }

  private:
    bool takes() const noexcept { return up_ && adapter_ != nullptr; }

    Direct& fabric_;
    transport::Adapter* adapter_ = nullptr;
    bool up_ = true;
  };

  std::unique_ptr<fabric::Port> port() override { return std::make_unique<Port>(*this); }
  bool deliver() override { return false; }
  std::optional<transport::Time> next() const noexcept override { return std::nullopt; }

  /// Trains to nobody's address, and those of a link that is down.
  std::uint64_t lost() const noexcept { return lost_; }

private:
  static constexpr std::uint32_t kMost = 1U << 22;  // half of the PSNs that can be told from each other

  AddressBook<Port> book_;
  std::uint64_t lost_ = 0;
};

}  // namespace verbena::engine::fabric
