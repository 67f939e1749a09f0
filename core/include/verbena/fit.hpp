// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <span>

#include "verbena/contract.hpp"
#include "verbena/grant.hpp"
#include "verbena/request.hpp"
#include "verbena/result.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// What a backend needs to make the QP besides the numbers in the grant.
struct QpFit {
  QpGrant grant;              ///< `passed` holds what goes to create
  bool in_place = false;      ///< as the request's
  bool declare_ops = false;   ///< create with ibv_create_qp_ex and send_ops_flags = grant.ops
};

/// Fits a request into a contract. Pure: no I/O, nothing created, and no allocation when nothing is adjusted.
/// Fails with the attribute's name, the asked value, the limit and who set it.
/// Order when a ring's competitors do not all fit: request.give_way (inline bytes, then depth, then SGEs). A wish that
/// is raised never lowers its own grant nor raises another's but of what gives way first; fitting a grant again changes
/// nothing; beside what is granted no number could be larger.
[[nodiscard]] Result<QpFit> fit(const QpRequest& request, const Contract& contract);
[[nodiscard]] Result<CqGrant> fit(const CqRequest& request, const Contract& contract);
[[nodiscard]] Result<SrqGrant> fit(const SrqRequest& request, const Contract& contract);
[[nodiscard]] Result<MrGrant> fit(const MrRequest& request, const Contract& contract);

/// Ring memory in bytes that a granted QP needs by its contract's formulas; 0 where no formula is known.
std::uint64_t ring_bytes(const QpGrant& grant, const Contract& contract) noexcept;

/// Entries that a CQ must hold so that it can never overflow: for every queue attached, each WR that can complete or
/// flush. After an error every outstanding WR flushes, signalled or not, so each send and receive slot counts, at the
/// larger of what was granted and what the provider returned.
/// Source: man ibv_create_cq (an overrun makes the CQ unusable).
std::uint64_t cq_entries_needed(std::span<const QpGrant> senders, std::span<const QpGrant> receivers,
                                std::span<const SrqGrant> shared_receivers = {}) noexcept;

}  // namespace verbena
#pragma GCC visibility pop
