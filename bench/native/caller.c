// SPDX-License-Identifier: GPL-2.0-only
/*
 * The callers of one implementation, compiled once for each with IMPL set to
 * its name. Same source, same flags, direct calls: what differs between two
 * implementations is only what is called.
 *
 * CALLER_STOCK    the stock interface: clear is record(entry, 0, nr), replace
 *                 is cmpxchg, and there is no batch
 * CALLER_MINIMAL  no replace and no batch either (the models of this folder)
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
#else
void swap_cgroup_record(swp_entry_t ent, unsigned short id, unsigned int nr_ents);
unsigned short swap_cgroup_clear(swp_entry_t ent, unsigned int nr_ents);
unsigned int swap_cgroup_batch(swp_entry_t ent, unsigned int max_nr);
bool swap_cgroup_replace(swp_entry_t ent, unsigned short old, unsigned short new);
#define CLEAR(entry, nr)	swap_cgroup_clear(entry, nr)
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
#endif

#if defined(CALLER_STOCK) || defined(CALLER_MINIMAL)
/* What swap_cgroup_batch() does, by lookups. */
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
#endif

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
#if defined(CALLER_STOCK)
	.batch		= batch,
	.replace	= replace,
#elif defined(CALLER_MINIMAL)
	.batch		= batch,
#else
	.batch		= swap_cgroup_batch,
	.replace	= swap_cgroup_replace,
#endif
};
