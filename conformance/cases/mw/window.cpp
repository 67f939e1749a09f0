// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "cases/mw/window.hpp"

#include <string>

namespace conform {

Window::Window(Case& of_case, ibv_mw_type type, unsigned access)
    : c(of_case),
      loop(c, open_to_all(c)),
      of(target(c, loop.b(), {.pages = 2, .offset = 256, .length = 0x800, .access = access})),
      mw(c.made(loop.b().way->mw(loop.b().pd.raw(), type), "ibv_alloc_mw")) {
  loop.a().memory->fill(61);
}

int Window::bind(std::size_t begin, std::size_t length, unsigned access, std::uint64_t wr_id, ibv_qp* on) {
  ibv_mw_bind bind{};
  bind.wr_id = wr_id;
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = {of.mr.raw(), of.address() + begin, length, access};
  return ibv_bind_mw(on != nullptr ? on : loop.b().qp.raw(), mw.raw(), &bind);
}

int Window::bind2(std::uint32_t rkey, std::size_t begin, std::size_t length, unsigned access) {
  ibv_send_wr wr{};
  wr.wr_id = 22;
  wr.opcode = IBV_WR_BIND_MW;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.bind_mw.mw = mw.raw();
  wr.bind_mw.rkey = rkey;
  wr.bind_mw.bind_info = {of.mr.raw(), of.address() + begin, length, access};
  ibv_send_wr* bad = nullptr;
  return loop.b().way->post_send(loop.b().qp.raw(), wr, bad);
}

int Window::invalidate(std::uint32_t rkey) {
  ibv_send_wr wr{};
  wr.wr_id = 23;
  wr.opcode = IBV_WR_LOCAL_INV;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.invalidate_rkey = rkey;
  ibv_send_wr* bad = nullptr;
  return loop.b().way->post_send(loop.b().qp.raw(), wr, bad);
}

void Window::bound(std::size_t begin, std::size_t length, unsigned access) {
  c.need(c.accepted(bind(begin, length, access), "ibv_bind_mw"));
  c.need(c.completed(next(c, loop.b().send_cq.raw()), IBV_WC_SUCCESS, "the bind"));
}

void Window::bound2(std::uint32_t rkey, std::size_t begin, std::size_t length, unsigned access) {
  c.need(c.accepted(bind2(rkey, begin, length, access), "posting a type 2 bind"));
  c.need(c.completed(next(c, loop.b().send_cq.raw()), IBV_WC_SUCCESS, "a type 2 bind"));
  // No call writes the structure, and the next bind finds the window by the key in it: rdma-core providers/rxe/rxe.c
  // wr_bind_mw.
  mw->rkey = rkey;
}

bool Window::bind_denied(int posted, std::string_view what) {
  if (posted != 0) return true;
  return c.completed(next(c, loop.b().send_cq.raw()), IBV_WC_MW_BIND_ERR, what);
}

void Window::writes(std::uint32_t rkey, std::size_t at, std::string_view what) {
  const Before before(of.memory);
  c.need(works(c, loop, {.address = of.address() + at, .rkey = rkey, .length = 16}, what));
  before.only(c, of.first() + at, loop.a().data(), 16, what);
}

void Window::no_write(std::uint32_t rkey, std::size_t at, std::string_view what, std::size_t length) {
  denied(c, loop, {.address = of.address() + at, .rkey = rkey, .length = length}, what, {}, &of.memory);
}

}  // namespace conform
