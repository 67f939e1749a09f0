/* SPDX-License-Identifier: GPL-2.0-only */
/* What the two halves of mlx5 share: the plain driver (mlx5.c) and DevX (mlx5_devx.c). */
#ifndef NICSHELL_MLX5_H
#define NICSHELL_MLX5_H

#include "nicshell.h"

/* nic_context.config: the process has a DevX context */
#define NIC_MLX5_DEVX 1

extern const struct uapi_definition nic_mlx5_objects[];

/* 1 << log_max_qp_sz of firmware, and the bytes of the largest WQEs */
u32 nic_mlx5_max_blocks(const struct nic* nic);
u32 nic_mlx5_max_send_wqe(const struct nic* nic);
u32 nic_mlx5_max_recv_wqe(const struct nic* nic);

#endif
