// SPDX-License-Identifier: GPL-2.0-only
/*
 * The callers of one implementation, compiled once for each with IMPL set to
 * its name. Same source, same flags, direct calls: what differs between two
 * implementations is only what is called.
 *
 * CALLER_STOCK    the stock interface: clear is record(entry, 0, nr), replace
 *                 is cmpxchg
 * CALLER_MINIMAL  the models of this folder: no replace
 */
#include <stdbool.h>
#include <linux/mm.h>
#include <linux/swapops.h>
#include "impl.h"

int swap_cgroup_swapon(int type, unsigned long max_pages);
void swap_cgroup_swapoff(int type);
unsigned short lookup_swap_cgroup_id(swp_entry_t ent);

#ifdef CALLER_STOCK
unsigned short swap_cgroup_record(swp_entry_t ent, unsigned short id, unsigned int nr_ents);
unsigned short swap_cgroup_cmpxchg(swp_entry_t ent, unsigned short old, unsigned short new);
#define CLEAR(entry, nr)	swap_cgroup_record(entry, 0, nr)
#elif defined(CALLER_MINIMAL)
void swap_cgroup_record(swp_entry_t ent, unsigned short id, unsigned int nr_ents);
unsigned short swap_cgroup_clear(swp_entry_t ent, unsigned int nr_ents);
#define CLEAR(entry, nr)	swap_cgroup_clear(entry, nr)
#else
unsigned short swap_cgroup_record(swp_entry_t ent, unsigned short id, unsigned int nr_ents);
unsigned int swap_cgroup_clear(swp_entry_t ent, unsigned int nr_ents, unsigned short *id);
#define CLEAR(entry, nr) ({						\
	unsigned short id_cleared;					\
	swap_cgroup_clear(entry, nr, &id_cleared);			\
	id_cleared;							\
})
#endif

static unsigned long pass(const struct walk *walk)
{
	unsigned long sum = 0;
	swp_entry_t entry;
	unsigned int r;

	entry = swp_entry(0, walk->first);
	for (r = 0; r < walk->ranges; r++) {
		swap_cgroup_record(entry, walk->id, walk->nr);
		entry.val += walk->stride;
	}
	entry = swp_entry(0, walk->first);
	for (r = 0; r < walk->ranges; r++) {
		sum += CLEAR(entry, walk->nr);
		entry.val += walk->stride;
	}
	return sum;
}

static unsigned long lookups(const struct walk *walk, unsigned int times)
{
	unsigned long sum = 0;
	swp_entry_t entry;
	unsigned int r;

	while (times--) {
		entry = swp_entry(0, walk->first);
		for (r = 0; r < walk->ranges; r++) {
			sum += lookup_swap_cgroup_id(entry);
			entry.val += walk->stride;
		}
	}
	return sum;
}

static void record(swp_entry_t entry, unsigned short id, unsigned int nr)
{
	swap_cgroup_record(entry, id, nr);
}

static unsigned short clear(swp_entry_t entry, unsigned int nr)
{
	return CLEAR(entry, nr);
}

#if defined(CALLER_STOCK)
static bool replace(swp_entry_t entry, unsigned short old, unsigned short new)
{
	return swap_cgroup_cmpxchg(entry, old, new) == old;
}
#elif !defined(CALLER_MINIMAL)
/* As swap_move_memcg_id() does under the cluster lock. */
static bool replace(swp_entry_t entry, unsigned short old, unsigned short new)
{
	if (lookup_swap_cgroup_id(entry) != old)
		return false;
	swap_cgroup_record(entry, new, 1);
	return true;
}
#endif

/* The length of the run of equal ids. */
static unsigned int batch(swp_entry_t entry, unsigned int max_nr)
{
	unsigned short id = lookup_swap_cgroup_id(entry);
	unsigned int nr;

	for (nr = 1; nr < max_nr; nr++) {
		entry.val++;
		if (lookup_swap_cgroup_id(entry) != id)
			break;
	}
	return nr;
}

extern const struct impl NAMED(impl);
const struct impl NAMED(impl) = {
	.name		= IMPL_NAME,
	.swapon		= swap_cgroup_swapon,
	.swapoff	= swap_cgroup_swapoff,
	.pass		= pass,
	.lookups	= lookups,
	.record		= record,
	.clear		= clear,
	.lookup		= lookup_swap_cgroup_id,
	.batch		= batch,
#ifndef CALLER_MINIMAL
	.replace	= replace,
#endif
};
