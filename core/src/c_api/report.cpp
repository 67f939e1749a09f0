// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <string_view>

#include "c_api/handles.hpp"
#include "c_api/sized_struct.hpp"
#include "verbena/fields.hpp"

namespace verbena::c_api {

int status_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::invalid_request:
      return VERBENA_INVALID_REQUEST;
    case ErrorKind::limit:
      return VERBENA_LIMIT;
    case ErrorKind::unsupported:
      return VERBENA_UNSUPPORTED;
    case ErrorKind::no_memory:
      return VERBENA_NO_MEMORY;
    case ErrorKind::permission:
      return VERBENA_PERMISSION;
    case ErrorKind::no_device:
      return VERBENA_NO_DEVICE;
    case ErrorKind::device_gone:
      return VERBENA_DEVICE_GONE;
    case ErrorKind::refused:
      return VERBENA_REFUSED;
    case ErrorKind::timeout:
      return VERBENA_TIMEOUT;
    case ErrorKind::bad_table:
      return VERBENA_BAD_TABLE;
    case ErrorKind::io:
      return VERBENA_IO;
  }
  return VERBENA_INTERNAL;
}

verbena_report* report_of(const Error& error) noexcept {
  try {
    auto report = std::make_unique<verbena_report>();
    report->failed = verbena_report::Failed{error, std::string(name(error.by.set_by))};
    report->text = to_string(error) + '\n';
    return report.release();
  } catch (...) {
    return nullptr;
  }
}

verbena_report* report_of(std::span<const FieldGrant> fields, const GrantNotes& notes) noexcept {
  try {
    auto report = std::make_unique<verbena_report>();
    for (const FieldGrant& grant : fields) report->fields.push_back({std::string(name(grant.field)), grant});
    for (const Adjustment& adjustment : notes.adjustments) {
      report->changes.push_back(
          {adjustment, std::string(name(adjustment.kind)), std::string(name(adjustment.by.set_by))});
      report->text += to_string(adjustment);
      report->text += '\n';
    }
    return report.release();
  } catch (...) {
    return nullptr;
  }
}

int fail(const Error& error, verbena_report** report) noexcept {
  if (report != nullptr) *report = report_of(error);
  return status_of(error.kind);
}

void succeed(std::span<const FieldGrant> fields, const GrantNotes& notes, verbena_report** report) noexcept {
  if (report != nullptr) *report = report_of(fields, notes);
}

}  // namespace verbena::c_api

namespace {

verbena_field plain(const verbena_report::Field& from) noexcept {
  verbena_field field{};
  field.name = from.name.c_str();
  field.asked = from.grant.asked;
  field.granted = from.grant.granted;
  field.passed = from.grant.passed;
  return field;
}

}  // namespace

extern "C" {

const char* verbena_status_name(int status) {
  switch (status) {
    case VERBENA_OK:
      return "ok";
    case VERBENA_INVALID_REQUEST:
      return "invalid_request";
    case VERBENA_LIMIT:
      return "limit";
    case VERBENA_UNSUPPORTED:
      return "unsupported";
    case VERBENA_NO_MEMORY:
      return "no_memory";
    case VERBENA_PERMISSION:
      return "permission";
    case VERBENA_NO_DEVICE:
      return "no_device";
    case VERBENA_DEVICE_GONE:
      return "device_gone";
    case VERBENA_REFUSED:
      return "refused";
    case VERBENA_TIMEOUT:
      return "timeout";
    case VERBENA_BAD_TABLE:
      return "bad_table";
    case VERBENA_IO:
      return "io";
    case VERBENA_INTERNAL:
      return "internal";
    default:
      return "unknown";
  }
}

size_t verbena_report_field_count(const verbena_report* report) {
  return report == nullptr ? 0 : report->fields.size();
}

int verbena_report_field(const verbena_report* report, size_t i, verbena_field* field) {
  if (report == nullptr || i >= report->fields.size()) return VERBENA_INVALID_REQUEST;
  return verbena::c_api::write_sized(field, plain(report->fields[i])) ? VERBENA_OK : VERBENA_INVALID_REQUEST;
}

int verbena_report_find_field(const verbena_report* report, const char* name, verbena_field* field) {
  if (report == nullptr || name == nullptr) return VERBENA_INVALID_REQUEST;
  for (std::size_t i = 0; i < report->fields.size(); ++i) {
    if (report->fields[i].name == name) return verbena_report_field(report, i, field);
  }
  return VERBENA_INVALID_REQUEST;
}

size_t verbena_report_adjustment_count(const verbena_report* report) {
  return report == nullptr ? 0 : report->changes.size();
}

int verbena_report_adjustment(const verbena_report* report, size_t i, verbena_adjustment* adjustment) {
  if (report == nullptr || i >= report->changes.size()) return VERBENA_INVALID_REQUEST;
  const verbena_report::Change& change = report->changes[i];
  verbena_adjustment out{};
  out.field = change.adjustment.field.c_str();
  out.asked = change.adjustment.asked;
  out.granted = change.adjustment.granted;
  out.kind = change.kind.c_str();
  out.set_by = change.set_by.c_str();
  out.rule = change.adjustment.by.rule.c_str();
  out.reason = change.adjustment.by.reason.c_str();
  out.source = change.adjustment.by.source.c_str();
  out.file = change.adjustment.by.file.c_str();
  out.line = change.adjustment.by.line;
  return verbena::c_api::write_sized(adjustment, out) ? VERBENA_OK : VERBENA_INVALID_REQUEST;
}

int verbena_report_error(const verbena_report* report, verbena_error* error) {
  if (report == nullptr || !report->failed) return VERBENA_INVALID_REQUEST;
  const verbena::Error& from = report->failed->error;
  verbena_error out{};
  out.status = verbena::c_api::status_of(from.kind);
  out.field = from.field.c_str();
  out.has_asked = from.asked ? 1 : 0;
  out.has_allowed = from.allowed ? 1 : 0;
  out.asked = from.asked.value_or(0);
  out.allowed = from.allowed.value_or(0);
  out.set_by = report->failed->set_by.c_str();
  out.rule = from.by.rule.c_str();
  out.reason = from.by.reason.c_str();
  out.source = from.by.source.c_str();
  out.file = from.by.file.c_str();
  out.line = from.by.line;
  out.errno_value = from.errno_value;
  out.text = from.text.c_str();
  return verbena::c_api::write_sized(error, out) ? VERBENA_OK : VERBENA_INVALID_REQUEST;
}

const char* verbena_report_text(const verbena_report* report) {
  return report == nullptr ? "" : report->text.c_str();
}

void verbena_report_free(verbena_report* report) {
  delete report;
}

}  // extern "C"
