// SPDX-License-Identifier: Apache-2.0 OR MIT
// Protection domains and regions.
#include "process.hpp"
#include "real.hpp"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

using namespace verbena::preload;

extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  if (EmulatedVerbs* const verbs = owner(context)) return made(*verbs, [&] { return verbs->alloc_pd(context); });
  return forward<&ibv_alloc_pd>("ibv_alloc_pd", context);
}

int ibv_dealloc_pd(ibv_pd* pd) {
  if (EmulatedVerbs* const verbs = owner_of(pd)) return gone(*verbs, [&] { return verbs->dealloc_pd(pd); });
  return forward<&ibv_dealloc_pd>("ibv_dealloc_pd", pd);
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t length, int access) {
  if (EmulatedVerbs* const verbs = owner_of(pd))
    return made(*verbs, [&] { return verbs->reg_mr(pd, address, length, static_cast<unsigned>(access)); });
  return forward<&ibv_reg_mr>("ibv_reg_mr", pd, address, length, access);
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, int access) {
  if (EmulatedVerbs* const verbs = owner_of(pd))
    return made(*verbs, [&] { return verbs->reg_mr_iova(pd, address, length, iova, static_cast<unsigned>(access)); });
  return forward<&ibv_reg_mr_iova>("ibv_reg_mr_iova", pd, address, length, iova, access);
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, unsigned access) {
  if (EmulatedVerbs* const verbs = owner_of(pd))
    return made(*verbs, [&] { return verbs->reg_mr_iova(pd, address, length, iova, access); });
  return forward<&ibv_reg_mr_iova2>("ibv_reg_mr_iova2", pd, address, length, iova, access);
}

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova, int descriptor,
                          int access) {
  if (EmulatedVerbs* const verbs = owner_of(pd)) {
    return made(*verbs, [&] {
      return verbs->reg_dmabuf_mr(pd, offset, length, iova, descriptor, static_cast<unsigned>(access));
    });
  }
  return forward<&ibv_reg_dmabuf_mr>("ibv_reg_dmabuf_mr", pd, offset, length, iova, descriptor, access);
}

int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length, int access) {
  EmulatedVerbs* const verbs = owner_of(mr);
  if (verbs == nullptr) return forward<&ibv_rereg_mr>("ibv_rereg_mr", mr, flags, pd, address, length, access);
  int code = IBV_REREG_MR_ERR_CMD;
  const int error = outcome(
      *verbs, [&] { return verbs->rereg_mr(mr, flags, pd, address, length, static_cast<unsigned>(access), code); });
  return error == 0 ? 0 : code;
}

int ibv_dereg_mr(ibv_mr* mr) {
  if (EmulatedVerbs* const verbs = owner_of(mr)) return gone(*verbs, [&] { return verbs->dereg_mr(mr); });
  return forward<&ibv_dereg_mr>("ibv_dereg_mr", mr);
}

}  // extern "C"
