// SPDX-License-Identifier: Apache-2.0 OR MIT
// What inline verbs look up in a verbs_context: creation of what has extended attributes, queries, windows.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "verbs/emulated_verbs.hpp"

namespace verbena::emulator {

namespace {

EmulatedVerbs& verbs_of(ibv_context* context) noexcept {
  return *Context::of(context).verbs;
}

/// As verbs hand it over: null and errno, which is left alone where the driver does so.
template <class T>
T* handed_over(const Made<T>& made) {
  if (!made && !made.errno_missing) errno = made.error;
  return made.handle;
}

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attr, std::size_t bytes) {
  ibv_port_attr whole{};
  const int error = verbs_of(context).query_port(context, port, whole);
  if (error == 0) std::memcpy(attr, &whole, std::min(bytes, sizeof whole));
  return error;
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attr,
                    std::size_t bytes) {
  if (bytes < sizeof attr->orig_attr) return EINVAL;
  ibv_device_attr_ex whole{};
  const int error = verbs_of(context).query_device_ex(context, input, whole);
  if (error != 0) return error;
  std::memset(attr, 0, bytes);
  std::memcpy(attr, &whole, std::min(bytes, sizeof whole));
  return 0;
}

}  // namespace

void fill_extended(verbs_context& table) {
  table.query_port = query_port;
  table.query_device_ex = query_device_ex;
  table.query_rt_values = [](ibv_context* context, ibv_values_ex* values) {
    return verbs_of(context).query_rt_values_ex(context, *values);
  };
  table.create_cq_ex = [](ibv_context* context, ibv_cq_init_attr_ex* attr) {
    return handed_over(verbs_of(context).create_cq_ex(context, *attr));
  };
  table.modify_cq = [](ibv_cq* cq, ibv_modify_cq_attr* attr) { return verbs_of(cq->context).modify_cq(cq, *attr); };
  table.create_qp_ex = [](ibv_context* context, ibv_qp_init_attr_ex* attr) {
    return handed_over(verbs_of(context).create_qp_ex(context, *attr));
  };
  table.create_srq_ex = [](ibv_context* context, ibv_srq_init_attr_ex* attr) {
    return handed_over(verbs_of(context).create_srq_ex(context, *attr));
  };
  table.alloc_td = [](ibv_context* context, ibv_td_init_attr* attr) {
    return handed_over(verbs_of(context).alloc_td(context, *attr));
  };
  table.dealloc_td = [](ibv_td* td) { return verbs_of(td->context).dealloc_td(td); };
  table.alloc_parent_domain = [](ibv_context* context, ibv_parent_domain_init_attr* attr) {
    return handed_over(verbs_of(context).alloc_parent_domain(context, *attr));
  };
  table.alloc_null_mr = [](ibv_pd* pd) { return handed_over(verbs_of(pd->context).alloc_null_mr(pd)); };
  table.advise_mr = [](ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list,
                       std::uint32_t count) { return verbs_of(pd->context).advise_mr(pd, advice, flags, list, count); };
  table.context.ops.alloc_mw = [](ibv_pd* pd, ibv_mw_type type) {
    return handed_over(verbs_of(pd->context).alloc_mw(pd, type));
  };
  table.context.ops.dealloc_mw = [](ibv_mw* mw) { return verbs_of(mw->context).dealloc_mw(mw); };
}

}  // namespace verbena::emulator
