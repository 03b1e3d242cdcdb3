// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap and cgroups that are removed, with cgroup v1, where the record is not
 * made before a page leaves the swap cache, and is cleared when it comes back,
 * and where both charges, memory+swap and memory, pass from one to the other
 * cgroup: what is tested is in swap_memcg_offline.h
 * and swap_memcg_offline_shm.h.
 */
#define VERSION		1
#include "swap_memcg_offline.h"
#include "swap_memcg_offline_shm.h"
