/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included before every implementation (-include): puts IMPL, the name of the
 * implementation, before the map's functions, so that several can be linked
 * into one program and the tree's file need not be touched.
 */
#ifndef NATIVE_NAMES_H
#define NATIVE_NAMES_H

#define NAMES_PASTE(a, b)	a##_##b
#define NAMES_JOIN(a, b)	NAMES_PASTE(a, b)
#define NAMED(function)		NAMES_JOIN(IMPL, function)

#define swap_cgroup_record	NAMED(swap_cgroup_record)
#define swap_cgroup_clear	NAMED(swap_cgroup_clear)
#define swap_cgroup_cmpxchg	NAMED(swap_cgroup_cmpxchg)
#define lookup_swap_cgroup_id	NAMED(lookup_swap_cgroup_id)
#define swap_cgroup_swapon	NAMED(swap_cgroup_swapon)
#define swap_cgroup_swapoff	NAMED(swap_cgroup_swapoff)

#endif
