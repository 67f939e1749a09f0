// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "explained.hpp"

namespace cli {

/// The object as it was asked for, nothing granted yet.
Explained begin(const verbena::CqRequest& request);
Explained begin(const verbena::QpRequest& request);
Explained begin(const verbena::SrqRequest& request);
Explained begin(const verbena::MrRequest& request);

/// Fills in what was granted, and what was changed on the way.
void finish(Explained& object, const verbena::CqGrant& grant);
void finish(Explained& object, const verbena::QpGrant& grant);
void finish(Explained& object, const verbena::SrqGrant& grant);
void finish(Explained& object, const verbena::MrGrant& grant);

/// Notes which reserve or rounding of the contract makes more be passed than is granted.
void note_passings(Explained& object, const verbena::Contract& contract);

}  // namespace cli
