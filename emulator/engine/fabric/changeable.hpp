// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/fabric/direct.hpp"
#include "engine/fabric/impaired.hpp"
#include "engine/fabric/port.hpp"

namespace verbena::engine::fabric {

/// NICs of one process on a wire that is good, and hands trains over as they are, until it is made bad. What is under
/// way when that changes arrives yet.
class Changeable final : public Fabric {
public:
  Changeable(transport::Clock& clock, std::uint64_t seed) noexcept : impaired_(clock, seed) {}

  /// One NIC's end.
  class Port final : public fabric::Port {
  public:
    explicit Port(Changeable& fabric) noexcept
        : fabric_(fabric), direct_(fabric.direct_), impaired_(fabric.impaired_) {}

    void connect(transport::Adapter& adapter) noexcept override {
      direct_.connect(adapter);
      impaired_.connect(adapter);
    }
    void listen(const wire::Gid& gid) override {
      direct_.listen(gid);
      impaired_.listen(gid);
    }
    void forget(const wire::Gid& gid) noexcept override {
      direct_.forget(gid);
      impaired_.forget(gid);
    }
    void set_link(bool up) noexcept override {
      direct_.set_link(up);
      impaired_.set_link(up);
    }

    bool send(const transport::Train& train) noexcept override {
      return fabric_.bad_ ? impaired_.send(train) : direct_.send(train);
    }
    std::uint32_t most_packets(const transport::QueuePair& qp) const noexcept override {
      return fabric_.bad_ ? impaired_.most_packets(qp) : direct_.most_packets(qp);
    }
    std::uint32_t window() const noexcept override { return fabric_.bad_ ? impaired_.window() : direct_.window(); }
    bool hands_over() const noexcept override { return !fabric_.bad_; }

  private:
    Changeable& fabric_;
    Direct::Port direct_;
    Impaired::Port impaired_;
  };

  /// From the next packet on.
  void impair(const Impairments& impairments) noexcept {
    impaired_.impairments = impairments;
    bad_ = any(impairments);
  }

  std::unique_ptr<fabric::Port> port() override { return std::make_unique<Port>(*this); }
  bool deliver() override { return impaired_.deliver(); }
  std::optional<transport::Time> next() const noexcept override { return impaired_.next(); }

private:
  Direct direct_;
  Impaired impaired_;
  bool bad_ = false;
};

}  // namespace verbena::engine::fabric
