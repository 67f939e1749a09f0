// SPDX-License-Identifier: GPL-2.0-only
// exercise DEVICE WORD...: what the vendor's user-space driver can do on this device, done once through plain verbs.
// Words: rc, uc, ud (a QP of that type, moved to RTS and posted to until it refuses), srq, ah, mw, resize, moderate.
// Each must work. What is left out: no-rts (a QP stays in INIT: iWARP), no-cq (and so no QP), no-srq-query. Exit code:
// 0, or 1 with what failed.
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* device_name;
static int failures;
static int rts = 1, cqs = 1, srq_query = 1;

static int check(int good, const char* what) {
  if (good) {
    printf("ok: %s: %s\n", device_name, what);
  } else {
    printf("FAILED: %s: %s: %s\n", device_name, what, strerror(errno));
    failures++;
  }
  return good;
}

static int answered(int error, const char* what) {
  if (error) errno = error > 0 ? error : -error;
  return check(error == 0, what);
}

struct objects {
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_mr* mr;
  struct ibv_cq* cq;
  union ibv_gid gid;
  void* memory;
  size_t size;
};

static int open_all(struct objects* o) {
  int count = 0;
  struct ibv_device** list = ibv_get_device_list(&count);

  for (int i = 0; list && i < count; i++)
    if (strcmp(ibv_get_device_name(list[i]), device_name) == 0) o->context = ibv_open_device(list[i]);
  if (!check(o->context != NULL, "open")) return 0;
  struct ibv_device_attr attr;
  struct ibv_port_attr port;
  answered(ibv_query_device(o->context, &attr), "query device");
  answered(ibv_query_port(o->context, 1, &port), "query port");
  answered(ibv_query_gid(o->context, 1, 0, &o->gid), "query GID");
  o->pd = ibv_alloc_pd(o->context);
  if (!check(o->pd != NULL, "allocate PD")) return 0;
  o->size = (size_t)sysconf(_SC_PAGESIZE) * 4;
  o->memory = aligned_alloc((size_t)sysconf(_SC_PAGESIZE), o->size);
  const unsigned access = IBV_ACCESS_LOCAL_WRITE;  // the macro would join the enumeration with flags of another one
  o->mr = ibv_reg_mr(o->pd, o->memory, o->size, access);
  if (!check(o->mr != NULL, "register MR")) return 0;
  if (!cqs) return 1;
  o->cq = ibv_create_cq(o->context, 256, NULL, NULL, 0);
  return check(o->cq != NULL, "create CQ");
}

static void close_all(struct objects* o) {
  if (o->cq) answered(ibv_destroy_cq(o->cq), "destroy CQ");
  answered(ibv_dereg_mr(o->mr), "deregister MR");
  answered(ibv_dealloc_pd(o->pd), "deallocate PD");
  answered(ibv_close_device(o->context), "close");
}

static struct ibv_ah* create_ah(struct objects* o) {
  struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = o->gid, .hop_limit = 64}};

  return ibv_create_ah(o->pd, &attr);
}

// Moves a QP from RESET to RTS, with itself as peer. Returns 0 or an errno.
static int move_up(struct objects* o, struct ibv_qp* qp, int to_rts) {
  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x1234};
  struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
                            .path_mtu = IBV_MTU_1024,
                            .dest_qp_num = qp->qp_num,
                            .max_dest_rd_atomic = 1,
                            .min_rnr_timer = 12,
                            .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = o->gid, .hop_limit = 64}}};
  struct ibv_qp_attr last = {
      .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
  int init_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  int rtr_mask = IBV_QP_STATE, rts_mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  int error;

  if (qp->qp_type == IBV_QPT_UD) {
    init_mask |= IBV_QP_QKEY;
  } else {
    init_mask |= IBV_QP_ACCESS_FLAGS;
    rtr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  }
  if (qp->qp_type == IBV_QPT_RC) {
    rtr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    rts_mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  error = ibv_modify_qp(qp, &init, init_mask);
  if (error || !to_rts) return error;
  error = ibv_modify_qp(qp, &rtr, rtr_mask);
  return error ? error : ibv_modify_qp(qp, &last, rts_mask);
}

#define MOST_POSTS 100000

static int post_receives(struct objects* o, struct ibv_qp* qp) {
  struct ibv_sge sge = {(uintptr_t)o->memory, 64, o->mr->lkey};
  struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
  int posted = 0;

  while (posted < MOST_POSTS && ibv_post_recv(qp, &wr, &bad) == 0) posted++;
  return posted;
}

static int post_sends(struct objects* o, struct ibv_qp* qp, struct ibv_ah* ah) {
  struct ibv_sge sge = {(uintptr_t)o->memory, 64, o->mr->lkey};
  struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
  int posted = 0;

  if (qp->qp_type == IBV_QPT_UD) {
    wr.wr.ud.ah = ah;
    wr.wr.ud.remote_qpn = qp->qp_num;
    wr.wr.ud.remote_qkey = 0x1234;
  }
  while (posted < MOST_POSTS && ibv_post_send(qp, &wr, &bad) == 0) posted++;
  return posted;
}

static void try_qp(struct objects* o, enum ibv_qp_type type, const char* word) {
  struct ibv_qp_init_attr init = {.send_cq = o->cq, .recv_cq = o->cq, .qp_type = type, .cap = {100, 50, 2, 1, 0}};
  struct ibv_qp_init_attr shown_init;
  struct ibv_qp_attr shown, error_state = {.qp_state = IBV_QPS_ERR};
  struct ibv_qp* qp = ibv_create_qp(o->pd, &init);
  struct ibv_ah* ah = NULL;
  char text[160];

  snprintf(text, sizeof text, "create %s QP of 100/50: grants %u/%u, SGEs %u/%u, inline %u", word, init.cap.max_send_wr,
           init.cap.max_recv_wr, init.cap.max_send_sge, init.cap.max_recv_sge, init.cap.max_inline_data);
  if (!check(qp != NULL, text)) return;
  snprintf(text, sizeof text, "move %s QP to %s", word, rts ? "RTS" : "INIT");
  if (answered(move_up(o, qp, rts), text)) {
    answered(ibv_query_qp(qp, &shown, IBV_QP_STATE, &shown_init), "query QP");
    check(shown.qp_state == (rts ? IBV_QPS_RTS : IBV_QPS_INIT), "its state is shown");
    int posted = post_receives(o, qp);
    snprintf(text, sizeof text, "%s takes %d receives where %u were granted", word, posted, init.cap.max_recv_wr);
    check(posted >= 50 && posted < MOST_POSTS, text);
    if (rts) {
      if (type == IBV_QPT_UD) check((ah = create_ah(o)) != NULL, "create AH to send to");
      posted = type == IBV_QPT_UD && !ah ? 0 : post_sends(o, qp, ah);
      snprintf(text, sizeof text, "%s takes %d sends where %u were granted", word, posted, init.cap.max_send_wr);
      check(posted >= 100 && posted < MOST_POSTS, text);
    }
    answered(ibv_modify_qp(qp, &error_state, IBV_QP_STATE), "move QP to ERR");
  }
  answered(ibv_destroy_qp(qp), "destroy QP");
  if (ah) answered(ibv_destroy_ah(ah), "destroy AH");
}

static void try_srq(struct objects* o) {
  struct ibv_srq_init_attr init = {.attr = {.max_wr = 100, .max_sge = 2}};
  struct ibv_srq* srq = ibv_create_srq(o->pd, &init);
  struct ibv_sge sge = {(uintptr_t)o->memory, 64, o->mr->lkey};
  struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
  struct ibv_srq_attr limit = {.srq_limit = 10}, shown;
  char text[120];
  int posted = 0;

  snprintf(text, sizeof text, "create SRQ of 100: grants %u, SGEs %u", init.attr.max_wr, init.attr.max_sge);
  if (!check(srq != NULL, text)) return;
  while (posted < MOST_POSTS && ibv_post_srq_recv(srq, &wr, &bad) == 0) posted++;
  snprintf(text, sizeof text, "SRQ takes %d receives where %u were granted", posted, init.attr.max_wr);
  check(posted >= 100 && posted < MOST_POSTS, text);
  answered(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), "arm SRQ limit");
  if (srq_query) answered(ibv_query_srq(srq, &shown), "query SRQ");
  struct ibv_qp_init_attr qp_init = {
      .send_cq = o->cq, .recv_cq = o->cq, .srq = srq, .qp_type = IBV_QPT_RC, .cap = {10, 0, 1, 0, 0}};
  struct ibv_qp* qp = ibv_create_qp(o->pd, &qp_init);
  if (check(qp != NULL, "create RC QP on SRQ")) answered(ibv_destroy_qp(qp), "destroy QP");
  answered(ibv_destroy_srq(srq), "destroy SRQ");
}

static void try_mw(struct objects* o) {
  struct ibv_mw* mw = ibv_alloc_mw(o->pd, IBV_MW_TYPE_1);

  if (check(mw != NULL, "allocate MW")) answered(ibv_dealloc_mw(mw), "deallocate MW");
}

static void try_resize(struct objects* o) {
  struct ibv_cq* cq = ibv_create_cq(o->context, 100, NULL, NULL, 0);
  char text[80];

  if (!check(cq != NULL, "create CQ of 100")) return;
  int before = cq->cqe, error = ibv_resize_cq(cq, 1000);
  snprintf(text, sizeof text, "resize CQ to 1000: %d, then %d", before, cq->cqe);
  answered(error, text);
  answered(ibv_destroy_cq(cq), "destroy CQ");
}

static void try_moderation(struct objects* o) {
  struct ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {16, 8}};

  answered(ibv_modify_cq(o->cq, &attr), "moderate CQ");
}

static void try_ah(struct objects* o) {
  struct ibv_ah* ah = create_ah(o);

  if (check(ah != NULL, "create AH")) answered(ibv_destroy_ah(ah), "destroy AH");
}

int main(int count, char** words) {
  struct objects o = {0};

  if (count < 2) {
    fputs("usage: exercise DEVICE WORD...    words: rc uc ud no-rts no-cq srq no-srq-query ah mw resize moderate\n",
          stderr);
    return 2;
  }
  device_name = words[1];
  for (int i = 2; i < count; i++) {
    if (strcmp(words[i], "no-rts") == 0) rts = 0;
    if (strcmp(words[i], "no-cq") == 0) cqs = 0;
    if (strcmp(words[i], "no-srq-query") == 0) srq_query = 0;
  }
  if (!open_all(&o)) return 1;
  for (int i = 2; i < count; i++) {
    if (strncmp(words[i], "no-", 3) == 0)
      continue;
    else if (strcmp(words[i], "rc") == 0)
      try_qp(&o, IBV_QPT_RC, "RC");
    else if (strcmp(words[i], "uc") == 0)
      try_qp(&o, IBV_QPT_UC, "UC");
    else if (strcmp(words[i], "ud") == 0)
      try_qp(&o, IBV_QPT_UD, "UD");
    else if (strcmp(words[i], "srq") == 0)
      try_srq(&o);
    else if (strcmp(words[i], "ah") == 0)
      try_ah(&o);
    else if (strcmp(words[i], "mw") == 0)
      try_mw(&o);
    else if (strcmp(words[i], "resize") == 0)
      try_resize(&o);
    else if (strcmp(words[i], "moderate") == 0)
      try_moderation(&o);
    else
      check(0, words[i]);
  }
  close_all(&o);
  return failures != 0;
}
