// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "peer/near_path.hpp"

#include <map>
#include <mutex>
#include <shared_mutex>

namespace conform::peer::near_path {

namespace {

struct Polling {
  int (*start)(ibv_cq_ex*, ibv_poll_cq_attr*) = nullptr;
  int (*next)(ibv_cq_ex*) = nullptr;
};

// C functions have no object to ask, so what they stand before is kept here.
struct Kept {
  std::shared_mutex mutex;
  Line* line = nullptr;
  std::map<ibv_context*, ibv_context_ops> contexts;
  std::map<ibv_qp_ex*, int (*)(ibv_qp_ex*)> builders;
  std::map<ibv_cq_ex*, Polling> queues;
};

Kept& kept() {
  static Kept one;
  return one;
}

ibv_context_ops ops_of(ibv_context* context) {
  const std::shared_lock lock(kept().mutex);
  return kept().contexts.at(context);
}

Line* line() {
  const std::shared_lock lock(kept().mutex);
  return kept().line;
}

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  if (Line* to = line()) to->push();
  return ops_of(qp->context).post_send(qp, wr, bad);
}

int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) {
  const int found = ops_of(cq->context).poll_cq(cq, count, wc);
  if (Line* from = line()) {
    if (found > 0) {
      from->sync();
    } else {
      from->sync_at_leisure();
    }
  }
  return found;
}

int wr_complete(ibv_qp_ex* qp) {
  int (*own)(ibv_qp_ex*) = nullptr;
  {
    const std::shared_lock lock(kept().mutex);
    own = kept().builders.at(qp);
  }
  if (Line* to = line()) to->push();
  return own(qp);
}

Polling polling_of(ibv_cq_ex* cq) {
  const std::shared_lock lock(kept().mutex);
  return kept().queues.at(cq);
}

int polled(int error) {
  if (Line* from = line()) {
    if (error == 0) {
      from->sync();
    } else {
      from->sync_at_leisure();
    }
  }
  return error;
}

int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) {
  return polled(polling_of(cq).start(cq, attr));
}

int next_poll(ibv_cq_ex* cq) {
  return polled(polling_of(cq).next(cq));
}

}  // namespace

void use(Line* line) {
  const std::unique_lock lock(kept().mutex);
  kept().line = line;
}

void enter(ibv_context* context) {
  const std::unique_lock lock(kept().mutex);
  kept().contexts[context] = context->ops;
  context->ops.post_send = post_send;
  context->ops.poll_cq = poll_cq;
}

void leave(ibv_context* context) {
  const std::unique_lock lock(kept().mutex);
  const auto found = kept().contexts.find(context);
  if (found == kept().contexts.end()) return;
  context->ops = found->second;
  kept().contexts.erase(found);
}

void enter(ibv_qp_ex* qp) {
  const std::unique_lock lock(kept().mutex);
  kept().builders[qp] = qp->wr_complete;
  qp->wr_complete = wr_complete;
}

void leave(ibv_qp_ex* qp) {
  const std::unique_lock lock(kept().mutex);
  kept().builders.erase(qp);
}

void enter(ibv_cq_ex* cq) {
  const std::unique_lock lock(kept().mutex);
  kept().queues[cq] = {cq->start_poll, cq->next_poll};
  cq->start_poll = start_poll;
  cq->next_poll = next_poll;
}

void leave(ibv_cq_ex* cq) {
  const std::unique_lock lock(kept().mutex);
  kept().queues.erase(cq);
}

const void* driver_code(const void* code) {
  const std::shared_lock lock(kept().mutex);
  if (code != reinterpret_cast<const void*>(poll_cq) || kept().contexts.empty()) return code;
  return reinterpret_cast<const void*>(kept().contexts.begin()->second.poll_cq);
}

}  // namespace conform::peer::near_path
