// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap and cgroups that are removed, with cgroup v2: what is tested is in
 * swap_memcg_offline.h and swap_memcg_offline_shm.h.
 */
#define VERSION		2
#include "swap_memcg_offline.h"
#include "swap_memcg_offline_shm.h"
