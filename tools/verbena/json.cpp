// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "json.hpp"

#include <fmt/format.h>

namespace cli {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json hex(const std::optional<std::uint32_t>& value) {
  return value ? Json(fmt::format("0x{:04x}", *value)) : Json(nullptr);
}

Json text(const std::string& value) {
  return value.empty() ? Json(nullptr) : Json(value);
}

std::string gid_text(const std::array<std::uint8_t, 16>& gid) {
  std::string out;
  for (std::size_t i = 0; i < gid.size(); ++i) out += fmt::format("{}{:02x}", i > 0 && i % 2 == 0 ? ":" : "", gid[i]);
  return out;
}

}  // namespace

std::string hash_text(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

void print(const Json& document) {
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::detail::error_handler_t::replace));
}

Json to_json(const verbena::DeviceId& id) {
  Json out;
  out["name"] = id.name;
  out["model"] = text(id.model);
  out["driver"] = text(id.driver);
  out["driver_found_by"] = name(id.driver_found_by);
  out["node_guid"] = fmt::format("{:016x}", id.node_guid);
  out["pci_vendor"] = hex(id.pci_vendor);
  out["part_id"] = hex(id.part_id);
  out["pci_revision"] = hex(id.pci_revision);
  out["subsystem_vendor"] = hex(id.subsystem_vendor);
  out["subsystem_device"] = hex(id.subsystem_device);
  out["verbs_vendor_id"] = hex(id.verbs_vendor_id);
  out["verbs_part_id"] = hex(id.verbs_part_id);
  out["hw_ver"] = hex(id.hw_ver);
  out["board_id"] = text(id.board_id);
  out["firmware"] = text(id.firmware);
  out["kernel"] = text(id.kernel);
  out["module_version"] = text(id.module_version);
  out["out_of_tree"] = or_null(id.out_of_tree);
  out["rdma_core"] = text(id.rdma_core);
  out["uverbs_abi"] = or_null(id.uverbs_abi);
  out["provider"] = text(id.provider);
  out["arch"] = text(id.arch);
  out["hypervisor"] = text(id.hypervisor);
  out["page_size_bytes"] = or_null(id.page_size);
  out["function"] = name(id.function);
  out["bond"] = or_null(id.bond);
  out["ports"] = Json::array();
  for (const verbena::PortId& port : id.ports) {
    Json entry;
    entry["number"] = port.number;
    entry["transport"] = name(port.transport);
    entry["link_layer"] = name(port.link_layer);
    entry["netdev"] = text(port.netdev);
    out["ports"].push_back(std::move(entry));
  }
  return out;
}

Json to_json(const verbena::Caps& caps) {
  Json out;
  for (const verbena::Cap cap : verbena::all_caps()) out[std::string(name(cap))] = or_null(caps[cap]);
  out["assumed"] = Json::array();
  for (const verbena::Cap cap : caps.assumed) out["assumed"].push_back(name(cap));
  out["ports"] = Json::array();
  for (const verbena::PortCaps& port : caps.ports) {
    Json entry;
    entry["number"] = port.number;
    for (const verbena::PortCap cap : verbena::all_port_caps()) entry[std::string(name(cap))] = or_null(port[cap]);
    entry["gids"] = Json::array();
    for (const verbena::GidEntry& gid : port.gids) {
      Json row;
      row["index"] = gid.index;
      row["gid"] = gid_text(gid.gid);
      row["type"] = name(gid.type);
      row["netdev"] = text(gid.netdev);
      entry["gids"].push_back(std::move(row));
    }
    out["ports"].push_back(std::move(entry));
  }
  return out;
}

void add_provenance(Json& object, const verbena::Provenance& by) {
  object["set_by"] = name(by.set_by);
  object["rule"] = by.rule;
  object["reason"] = by.reason;
  object["source"] = by.source;
  object["file"] = by.file;
  object["line"] = by.line;
}

Json to_json(const verbena::Adjustment& adjustment) {
  Json out;
  out["field"] = adjustment.field;
  out["asked"] = adjustment.asked;
  out["granted"] = adjustment.granted;
  out["kind"] = name(adjustment.kind);
  add_provenance(out, adjustment.by);
  return out;
}

Json to_json(const verbena::Error& error) {
  Json out;
  out["kind"] = name(error.kind);
  out["field"] = error.field;
  out["asked"] = or_null(error.asked);
  out["allowed"] = or_null(error.allowed);
  add_provenance(out, error.by);
  out["errno"] = error.errno_value;
  out["vendor_code"] = error.vendor_code;
  out["text"] = error.text;
  return out;
}

Json to_json(const verbena::Finding& finding) {
  Json out;
  out["level"] = name(finding.level);
  out["file"] = finding.file;
  out["line"] = finding.line;
  out["column"] = finding.column;
  out["rule"] = finding.rule;
  out["text"] = finding.text;
  return out;
}

Json to_json(const verbena::LadderStep& step) {
  Json out;
  out["passed"] = step.passed;
  out["errno"] = step.errno_value;
  out["changed"] = step.changed;
  return out;
}

}  // namespace cli
