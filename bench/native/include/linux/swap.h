/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stand-in for <linux/swap.h>: the type of a swap entry and the bounds.
 * include/linux/swap_cgroup.h comes from the tree and includes this.
 */
#ifndef STANDIN_LINUX_SWAP_H
#define STANDIN_LINUX_SWAP_H

#include <stdbool.h>

#define CONFIG_SWAP		1
#define CONFIG_MEMCG		1
#define CONFIG_MEMCG_V1		1

/* A swap entry: the type (which swap file) in the top bits, then the slot. */
typedef struct { unsigned long val; } swp_entry_t;
typedef unsigned long pgoff_t;

/* 32, less what 6.12 takes for devices, migration, poison and markers */
#define MAX_SWAPFILES		23
#define SWAP_CLUSTER_MAX	32UL

#endif
