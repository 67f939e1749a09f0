// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>

#include "fit/field_fit.hpp"
#include "fit/shared_ring.hpp"
#include "verbena/contract.hpp"
#include "verbena/grant.hpp"
#include "verbena/request.hpp"

namespace verbena::fitting {

/// The numbers of a queue pair, by their places in QpGrant::fields.
enum Place : std::uint8_t { kSendWr, kRecvWr, kSendSge, kRecvSge, kInlineData };
inline constexpr std::size_t kPlaces = std::tuple_size_v<decltype(QpGrant::fields)>;

struct QpNumber {
  Place place;
  Field field;
  Wish QpRequest::* wish;
  bool receives;
};
/// In the order in which shortfalls are told.
inline constexpr std::array<QpNumber, kPlaces> kQpNumbers{{
    {kSendWr, Field::max_send_wr, &QpRequest::max_send_wr, false},
    {kSendSge, Field::max_send_sge, &QpRequest::max_send_sge, false},
    {kInlineData, Field::max_inline_data, &QpRequest::max_inline_data, false},
    {kRecvWr, Field::max_recv_wr, &QpRequest::max_recv_wr, true},
    {kRecvSge, Field::max_recv_sge, &QpRequest::max_recv_sge, true},
}};
const QpNumber& number_at(Place place) noexcept;

struct QpNumbers {
  std::array<FieldFit, kPlaces> fields{};
  QueueShape shape{};  ///< type and opcodes

  /// The ring that this number shares; it refers to `fields`.
  Ring ring_of(Place place) noexcept;
};

Feature feature_of(QpType type) noexcept;

/// An RC queue pair does what a UC one does, but also acknowledges and resends.
bool stands_in(const QpRequest& request, const Contract& contract) noexcept;

/// Type and opcodes as the device is told them.
QueueShape shape_for(const QpRequest& request, const Contract& contract) noexcept;

/// One number by itself, as if nothing shared a ring with it.
void fit_alone(const QpNumber& number, const QpRequest& request, const Contract& contract, FieldFit& fit) noexcept;

/// Fits the numbers and no more; says nothing, and allocates nothing. The place of the first that contradicts() or is
/// forbidden(), or of the one that share() names; empty when all are settled.
std::optional<Place> fit_numbers(const QpRequest& request, const Contract& contract, QpNumbers& numbers) noexcept;

}  // namespace verbena::fitting
