// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/run_body.hpp"

#include <chrono>
#include <exception>

#include "verbena/provenance.hpp"

namespace conform {

namespace {

Adjustment reported(const verbena::Adjustment& adjustment) {
  Adjustment out;
  out.field = adjustment.field;
  out.asked = adjustment.asked;
  out.granted = adjustment.granted;
  out.kind = verbena::name(adjustment.kind);
  out.rule = adjustment.by.rule;
  out.reason = adjustment.by.reason;
  out.source = adjustment.by.source;
  return out;
}

}  // namespace

Outcome run_body(const Body& body, Case& c) {
  Outcome outcome;
  const auto begun = std::chrono::steady_clock::now();
  try {
    body.run(c);
  } catch (const Stop& stop) {
    outcome.stop = stop;
  } catch (const std::exception& error) {
    outcome.fault = error.what();
  }
  outcome.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
  outcome.findings = c.findings();
  outcome.notes = c.notes();
  for (Way* way : {&c.way(), &c.other_way()}) {
    for (const verbena::Adjustment& adjustment : way->adjustments()) {
      Adjustment one = reported(adjustment);
      bool known = false;
      for (const Adjustment& other : outcome.adjustments) known = known || other == one;
      if (!known) outcome.adjustments.push_back(std::move(one));
    }
  }
  return outcome;
}

}  // namespace conform
