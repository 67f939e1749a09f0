// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <infiniband/verbs.h>

namespace conform::peer {

class FarVerbs;

/// What the near side holds of an object of the far end: the structure that a program sees, and the far end's number
/// of it. libibverbs looks behind some of them (verbs_qp.comp_mask), hence the zeroed room.
template <class T>
struct Shadow {
  T object{};
  std::array<std::byte, 512> room{};
  std::uint32_t id = 0;

  static Shadow& of(T* raw) { return *reinterpret_cast<Shadow*>(raw); }
};

template <class T>
std::uint32_t id_of(T* raw) {
  return raw == nullptr ? 0 : Shadow<T>::of(raw).id;
}

/// The fields of a completion that an extended queue shows; those that it was not made for stay 0.
struct FarCompletion {
  ibv_wc wc{};
  std::uint64_t timestamp = 0;
  std::uint64_t wallclock = 0;
};

/// A completion queue begins as ibv_cq_ex does, and ibv_cq_ex begins as ibv_cq.
struct ShadowCq {
  ibv_cq_ex object{};
  std::uint32_t id = 0;
  FarCompletion current{};

  static ShadowCq& of(ibv_cq* raw) { return *reinterpret_cast<ShadowCq*>(raw); }
  static ShadowCq& of(ibv_cq_ex* raw) { return *reinterpret_cast<ShadowCq*>(raw); }
  ibv_cq* plain() { return reinterpret_cast<ibv_cq*>(&object); }
};
inline std::uint32_t id_of(ibv_cq* raw) {
  return raw == nullptr ? 0 : ShadowCq::of(raw).id;
}

struct ShadowContext {
  ibv_context object{};  // abi_compat null: no extended operations behind it
  std::uint32_t id = 0;
  FarVerbs* far = nullptr;
  bool nonblocking = false;

  static ShadowContext& of(ibv_context* raw) { return *reinterpret_cast<ShadowContext*>(raw); }
};
inline std::uint32_t id_of(ibv_context* raw) {
  return raw == nullptr ? 0 : ShadowContext::of(raw).id;
}

/// Fills the data path of a far context: posting, polling, arming and binding go to its FarVerbs.
void set_far_data_path(ibv_context_ops& ops);
/// The same of an extended completion queue.
void set_far_polling(ibv_cq_ex& cq);
/// Is this context a far one?
bool is_far(const ibv_context* context);

}  // namespace conform::peer
