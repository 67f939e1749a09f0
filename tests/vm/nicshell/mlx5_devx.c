// SPDX-License-Identifier: GPL-2.0-only
// DevX: firmware commands of a process's own, as hw/mlx5/devx.c takes them. Two of firmware's commands are answered,
// QUERY_HCA_CAP with the sizes that the model knows and zero for all else, and CREATE_MKEY for an indirect key.
#include <linux/mlx5/device.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>

#include "mlx5.h"

#define UVERBS_MODULE_NAME nicshell_mlx5
#include <rdma/uverbs_named_ioctl.h>

struct devx_key {
  struct nic* nic;
  int number;
};

static struct nic_context* context_of(struct uverbs_attr_bundle* attrs) {
  struct ib_ucontext* context = ib_uverbs_get_ucontext(attrs);

  return IS_ERR(context) ? NULL : container_of(context, struct nic_context, ib);
}

static u16 opcode_of(const void* command) {
  return MLX5_GET(query_hca_cap_in, command, opcode);
}

// devx_get_uid: what only asks is served without a DevX context of the process's own
static int may(const struct nic_context* context, u16 opcode, struct verdict* verdict) {
  if (context->config & NIC_MLX5_DEVX) return 0;
  if (opcode == MLX5_CMD_OP_QUERY_HCA_CAP) return REFUSE(verdict, -EOPNOTSUPP, "devx_get_uid");
  return REFUSE(verdict, -EINVAL, "devx_get_uid");
}

static void answer_caps(struct nic* nic, void* answer) {
  MLX5_SET(query_hca_cap_out, answer, capability.cmd_hca_cap.log_max_qp_sz, ilog2(nic_mlx5_max_blocks(nic)));
  MLX5_SET(query_hca_cap_out, answer, capability.cmd_hca_cap.max_wqe_sz_sq, nic_mlx5_max_send_wqe(nic));
  MLX5_SET(query_hca_cap_out, answer, capability.cmd_hca_cap.max_wqe_sz_rq, nic_mlx5_max_recv_wqe(nic));
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_OTHER)(struct uverbs_attr_bundle* attrs) {
  const void* command = uverbs_attr_get_alloced_ptr(attrs, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN);
  int length = uverbs_attr_get_len(attrs, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT);
  struct nic_context* context = context_of(attrs);
  struct verdict verdict = {};
  u16 opcode = opcode_of(command), which = MLX5_GET(query_hca_cap_in, command, op_mod);
  struct nic* nic;
  void* answer;
  int error;

  if (!context) return -EINVAL;
  nic = nic_of(context->ib.device);
  error = may(context, opcode, &verdict);
  if (!error && opcode != MLX5_CMD_OP_QUERY_HCA_CAP) error = -EOPNOTSUPP;
  if (!error) {
    answer = uverbs_zalloc(attrs, length);
    if (IS_ERR(answer)) return PTR_ERR(answer);
    // op_mod is twice the type of capability, and 1 for the values in force
    if (which >> 1 == MLX5_CAP_GENERAL && length >= MLX5_ST_SZ_BYTES(query_hca_cap_out)) answer_caps(nic, answer);
    error = uverbs_copy_to(attrs, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, answer, length);
  }
  return nic_record(nic, "devx_other", error, &verdict, "opcode %#x, op_mod %#x", opcode, which);
}

static int devx_key_cleanup(struct ib_uobject* object, enum rdma_remove_reason why, struct uverbs_attr_bundle* attrs) {
  struct devx_key* key = object->object;

  ida_free(&key->nic->keys, key->number);
  nic_record(key->nic, "devx_obj_destroy", 0, NULL, "mkey %#x", key->number);
  kfree(key);
  return 0;
}

static int create_key(struct nic* nic, const void* command, int length, struct verdict* verdict) {
  const void* entry = MLX5_ADDR_OF(create_mkey_in, command, memory_key_mkey_entry);
  u8 mode;

  // devx_handle_mkey_create
  if (length < MLX5_BYTE_OFF(create_mkey_in, memory_key_mkey_entry) + MLX5_ST_SZ_BYTES(mkc))
    return REFUSE(verdict, -EINVAL, "devx_handle_mkey_create");
  mode = MLX5_GET(mkc, entry, access_mode_1_0) | MLX5_GET(mkc, entry, access_mode_4_2) << 2;
  if (mode != MLX5_MKC_ACCESS_MODE_KLMS) return -EOPNOTSUPP;
  return ida_alloc_range(&nic->keys, 1, 0xffffff, GFP_KERNEL);
}

static int UVERBS_HANDLER(MLX5_IB_METHOD_DEVX_OBJ_CREATE)(struct uverbs_attr_bundle* attrs) {
  const void* command = uverbs_attr_get_alloced_ptr(attrs, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN);
  int in_length = uverbs_attr_get_len(attrs, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN);
  int length = uverbs_attr_get_len(attrs, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT);
  struct ib_uobject* object = uverbs_attr_get_uobject(attrs, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE);
  struct nic_context* context = container_of(object->context, struct nic_context, ib);
  struct nic* nic = nic_of(context->ib.device);
  struct verdict verdict = {};
  struct devx_key* key;
  u16 opcode = opcode_of(command);
  u32 entries = 0;
  void* answer;
  int error;

  error = may(context, opcode, &verdict);
  if (!error && opcode != MLX5_CMD_OP_CREATE_MKEY) error = -EOPNOTSUPP;
  if (error) goto out;
  answer = uverbs_zalloc(attrs, length);
  if (IS_ERR(answer)) return PTR_ERR(answer);
  key = kzalloc(sizeof(*key), GFP_KERNEL);
  if (!key) return -ENOMEM;
  key->nic = nic;
  error = key->number = create_key(nic, command, in_length, &verdict);
  if (error < 0) goto no_key;
  entries = MLX5_GET(create_mkey_in, command, memory_key_mkey_entry.translations_octword_size);
  MLX5_SET(create_mkey_out, answer, mkey_index, key->number);
  error = uverbs_copy_to(attrs, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, answer, length);
  if (!error) {
    object->object = key;
    goto out;
  }
  ida_free(&nic->keys, key->number);
no_key:
  kfree(key);
out:
  return nic_record(nic, "devx_obj_create", error, &verdict, "opcode %#x, %u entries", opcode, entries);
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_DEVX_OTHER,
                            UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN,
                                               UVERBS_ATTR_MIN_SIZE(MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr)),
                                               UA_MANDATORY, UA_ALLOC_AND_COPY),
                            UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT,
                                                UVERBS_ATTR_MIN_SIZE(MLX5_ST_SZ_BYTES(general_obj_out_cmd_hdr)),
                                                UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
    MLX5_IB_METHOD_DEVX_OBJ_CREATE,
    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, MLX5_IB_OBJECT_DEVX_OBJ, UVERBS_ACCESS_NEW, UA_MANDATORY),
    UVERBS_ATTR_PTR_IN(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN,
                       UVERBS_ATTR_MIN_SIZE(MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr)), UA_MANDATORY, UA_ALLOC_AND_COPY),
    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT,
                        UVERBS_ATTR_MIN_SIZE(MLX5_ST_SZ_BYTES(general_obj_out_cmd_hdr)), UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(MLX5_IB_METHOD_DEVX_OBJ_DESTROY,
                                    UVERBS_ATTR_IDR(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, MLX5_IB_OBJECT_DEVX_OBJ,
                                                    UVERBS_ACCESS_DESTROY, UA_MANDATORY));

DECLARE_UVERBS_GLOBAL_METHODS(MLX5_IB_OBJECT_DEVX, &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OTHER));

DECLARE_UVERBS_NAMED_OBJECT(MLX5_IB_OBJECT_DEVX_OBJ, UVERBS_TYPE_ALLOC_IDR(devx_key_cleanup),
                            &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OBJ_CREATE),
                            &UVERBS_METHOD(MLX5_IB_METHOD_DEVX_OBJ_DESTROY));

const struct uapi_definition nic_mlx5_objects[] = {
    UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX), UAPI_DEF_CHAIN_OBJ_TREE_NAMED(MLX5_IB_OBJECT_DEVX_OBJ), {}};
