// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "fit/qp_numbers.hpp"
#include "verbena/result.hpp"

namespace verbena::fitting {

/// What is said of a request that fit_numbers() refuses at that place: the attribute, what was asked, and as `allowed`
/// the most that would be granted, as the wish and as the floor, with everything else as it is in the request. Where
/// another number of the same queue is the only one that helps, the error is about that one; where no single number
/// helps, `allowed` is empty and the text says what else must shrink, and to what.
Error refused_number(const QpRequest& request, const Contract& contract, Place place);

}  // namespace verbena::fitting
