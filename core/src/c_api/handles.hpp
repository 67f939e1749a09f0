// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "verbena/contract.hpp"
#include "verbena/grant.hpp"
#include "verbena/library.hpp"
#include "verbena/result.hpp"
#include "verbena/verbena.h"

struct verbena_library {
  verbena::Library library;
};

struct verbena_contract {
  std::shared_ptr<const verbena::Contract> contract;
  std::string device;
  /// The word of each behaviour flag, as C strings that live as long as the handle.
  std::array<std::string, verbena::kBehaviourCount> choices;
  /// The words of each limit's provenance.
  std::vector<std::string> set_by;
};

/// Everything that a caller may read is made when the report is, so that reading cannot fail.
struct verbena_report {
  struct Field {
    std::string name;
    verbena::FieldGrant grant;
  };
  struct Change {
    verbena::Adjustment adjustment;
    std::string kind, set_by;
  };
  struct Failed {
    verbena::Error error;
    std::string set_by;
  };
  std::vector<Field> fields;
  std::vector<Change> changes;
  std::optional<Failed> failed;
  std::string text;
};

namespace verbena::c_api {

int status_of(ErrorKind kind) noexcept;

/// Both are null when there is no memory left for a report.
verbena_report* report_of(const Error& error) noexcept;
verbena_report* report_of(std::span<const FieldGrant> fields, const GrantNotes& notes) noexcept;

/// Hands the report out, where the caller wants one, and gives the status.
int fail(const Error& error, verbena_report** report) noexcept;
void succeed(std::span<const FieldGrant> fields, const GrantNotes& notes, verbena_report** report) noexcept;

/// Nothing thrown leaves: what escapes `work` becomes VERBENA_NO_MEMORY or VERBENA_INTERNAL.
template <class Work>
int guarded(verbena_report** report, Work&& work) noexcept {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    if (report != nullptr) *report = nullptr;
    return VERBENA_NO_MEMORY;
  } catch (...) {
    if (report != nullptr) *report = nullptr;
    return VERBENA_INTERNAL;
  }
}

}  // namespace verbena::c_api
