// SPDX-License-Identifier: Apache-2.0 OR MIT
// Queue pairs on scripted devices whose contract a test writes by hand.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/generic/generic_backend.hpp"
#include "contract/contract_builder.hpp"
#include "device/device_state.hpp"
#include "fake/fake_verbs.hpp"
#include "objects/states.hpp"
#include "verbena/qp.hpp"

namespace verbena::fake {

/// What the rules of a test come to.
struct Rules {
  std::vector<std::pair<Behaviour, Choice>> behaviours;
  std::vector<std::pair<Field, std::uint64_t>> limits;
};

class ScriptedRules final : public QuirkSet {
public:
  explicit ScriptedRules(Rules rules) : rules_(std::move(rules)) {}
  std::uint64_t hash() const noexcept override { return 0x5eed; }
  std::span<const RuleSummary> rules() const noexcept override { return {}; }
  std::span<const LayerReport> layers() const noexcept override { return {}; }
  Contract contract(const DeviceId& device, const Caps& caps, std::uint8_t port, bool beyond) const override {
    ContractBuilder builder(device, caps, port, beyond);
    const ProvenanceIndex rule = builder.add(
        {.set_by = SetBy::rule, .rule = "test-rule", .reason = "because the test says so", .source = "the test"});
    for (const auto& [flag, choice] : rules_.behaviours) builder.behaviour(flag, choice, rule);
    for (const auto& [field, max] : rules_.limits) builder.at_most(field, max, rule);
    return std::move(builder).build(hash());
  }

private:
  Rules rules_;
};

class PlainBackend final : public GenericBackend {
public:
  std::string_view name() const noexcept override { return "plain"; }
  std::span<const std::string_view> drivers() const noexcept override { return {}; }
  std::span<const JointFormula> formulas() const noexcept override { return {}; }
};

/// One open device of the rig.
struct RigDevice {
  FakeDevice* fake = nullptr;
  std::shared_ptr<Device::State> state;
  Device device() const { return Device(state); }
};

class QpRig {
public:
  explicit QpRig(Rules rules = {}) : verbs(std::make_shared<FakeVerbs>()), library(std::make_shared<Library::State>()) {
    library->verbs = verbs;
    library->rules = std::make_shared<ScriptedRules>(std::move(rules));
    library->sink = [this](const LogRecord& record) { logged.push_back(record.text); };
  }

  RigDevice open(FakeDevice script, Transport transport) {
    FakeDevice& fake = verbs->add(std::move(script));
    int count = 0;
    ibv_device** list = verbs->get_device_list(count).handle;
    ibv_context* context = nullptr;
    for (int i = 0; i < count; ++i) {
      if (fake.name == verbs->get_device_name(list[i])) context = verbs->open_device(list[i]).handle;
    }
    verbs->free_device_list(list);
    auto probed = std::make_shared<Probed>();
    probed->id.name = fake.name;
    probed->id.driver = "test";
    probed->id.ports.push_back(
        {.number = 1, .transport = transport, .link_layer = LinkLayer::ethernet, .netdev = fake.ports[0].netdev});
    probed->caps = caps_of(fake);
    return {&fake, std::make_shared<Device::State>(library, context, true, backend, std::move(probed))};
  }

  std::shared_ptr<FakeVerbs> verbs;
  std::vector<std::string> logged;

private:
  static Caps caps_of(const FakeDevice& fake) {
    const ibv_device_attr& attr = fake.attr.orig_attr;
    Caps caps;
    caps.set(Cap::max_qp_wr, static_cast<std::uint64_t>(attr.max_qp_wr));
    caps.set(Cap::max_sge, static_cast<std::uint64_t>(attr.max_sge));
    caps.set(Cap::max_cqe, static_cast<std::uint64_t>(attr.max_cqe));
    caps.set(Cap::max_qp_rd_atom, static_cast<std::uint64_t>(attr.max_qp_rd_atom));
    caps.set(Cap::max_qp_init_rd_atom, static_cast<std::uint64_t>(attr.max_qp_init_rd_atom));
    caps.set(Cap::max_res_rd_atom, static_cast<std::uint64_t>(attr.max_res_rd_atom));
    caps.set(Cap::max_inline_data, 256);
    caps.set(Cap::atomic_cap, static_cast<std::uint64_t>(attr.atomic_cap));
    PortCaps& port = caps.ports.emplace_back();
    port.set(PortCap::active_mtu, std::uint64_t{128} << static_cast<unsigned>(fake.ports[0].attr.active_mtu));
    port.set(PortCap::gid_tbl_len, static_cast<std::uint64_t>(fake.ports[0].attr.gid_tbl_len));
    return caps;
  }

  PlainBackend backend;

public:
  std::shared_ptr<Library::State> library;
};

/// A PD, a CQ and what they belong to, ready to make queue pairs on.
struct Bench {
  RigDevice on;
  Pd pd;
  Cq cq;

  static Bench make(QpRig& rig, FakeDevice script, Transport transport = Transport::roce_v2) {
    RigDevice device = rig.open(std::move(script), transport);
    Pd pd = Pd::alloc(device.device()).value();
    // Adopted, so that these tests stand apart from the fit.
    ibv_cq* raw = rig.verbs->create_cq(device.state->context, 64, nullptr, nullptr, 0).handle;
    Cq cq = Cq::adopt(device.device(), raw).value();
    return {std::move(device), std::move(pd), std::move(cq)};
  }

  /// A queue pair made by plain verbs and taken over.
  Qp qp(QpRig& rig, ibv_qp_type type = IBV_QPT_RC) const {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = cq.raw();
    attr.qp_type = type;
    attr.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 2, .max_recv_sge = 1, .max_inline_data = 0};
    return Qp::adopt(pd, rig.verbs->create_qp(pd.raw(), attr).handle).value();
  }
};

}  // namespace verbena::fake
