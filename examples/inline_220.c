/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A C program that owns its contexts. It asks for 220 inline bytes, as perftest does by default: on an Intel E810 plain
 * verbs refuses that with EINVAL and no hint. One call of verbena.h fits the request to what the NIC takes.
 *
 *   inline_220 DEVICE          opens the device, fits, and makes the queue pair
 *   inline_220 --nic MODEL     fits against a model: no NIC is needed (e810-roce)
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "verbena/verbena.h"

static struct ibv_context* open_named(const char* name) {
  struct ibv_context* context = NULL;
  int count = 0;
  struct ibv_device** list = ibv_get_device_list(&count);
  for (int i = 0; list != NULL && i < count; ++i)
    if (strcmp(ibv_get_device_name(list[i]), name) == 0) context = ibv_open_device(list[i]);
  if (list != NULL) ibv_free_device_list(list);
  return context;
}

static int create(struct ibv_context* context, struct ibv_qp_init_attr* attr) {
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 256, NULL, NULL, 0);
  attr->send_cq = attr->recv_cq = cq;
  struct ibv_qp* qp = pd != NULL && cq != NULL ? ibv_create_qp(pd, attr) : NULL;
  printf("ibv_create_qp: %s\n", qp != NULL ? "made" : strerror(errno));
  if (qp != NULL) ibv_destroy_qp(qp);
  if (cq != NULL) ibv_destroy_cq(cq);
  if (pd != NULL) ibv_dealloc_pd(pd);
  return qp != NULL;
}

int main(int argc, char** argv) {
  const int model = argc > 2 && strcmp(argv[1], "--nic") == 0;
  if (argc != (model ? 3 : 2)) {
    fprintf(stderr, "usage: inline_220 DEVICE | --nic MODEL\n");
    return 2;
  }
  struct verbena_contract* contract = NULL;
  struct verbena_report* report = NULL;
  struct ibv_context* context = model ? NULL : open_named(argv[1]);
  if (!model && context == NULL) {
    fprintf(stderr, "%s: no such device, or it cannot be opened\n", argv[1]);
    return 77;
  }
  int status = model ? verbena_contract_from_model(argv[2], 1, NULL, &contract, &report)
                     : verbena_contract_from_context(context, 1, NULL, &contract, &report);

  struct ibv_qp_init_attr attr = {0};
  attr.qp_type = IBV_QPT_RC;
  attr.cap.max_send_wr = attr.cap.max_recv_wr = 128;
  attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
  attr.cap.max_inline_data = 220;

  struct verbena_limit limit = {0};
  VERBENA_INIT(limit);
  if (status == VERBENA_OK && verbena_limit_of(contract, "qp", "max_inline_data", &limit) == VERBENA_OK &&
      limit.known && limit.max < attr.cap.max_inline_data)
    printf("plain verbs: 220 inline bytes are refused, the NIC takes %llu\n", (unsigned long long)limit.max);

  if (status == VERBENA_OK) {
    verbena_report_free(report);
    status = verbena_fit_qp(contract, &attr, NULL, &report); /* the one call */
  }
  printf("%s", verbena_report_text(report));
  if (status == VERBENA_OK) printf("passed to create: max_inline_data %u\n", attr.cap.max_inline_data);
  if (status == VERBENA_OK && context != NULL && !create(context, &attr)) status = VERBENA_REFUSED;

  verbena_report_free(report);
  verbena_contract_free(contract);
  if (context != NULL) ibv_close_device(context);
  return status == VERBENA_OK ? 0 : 1;
}
