// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two cgroup v1 memory cgroups for the swap_memcg tests, and what must hold
 * for them when everything that was charged to them is gone.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "swap_memcg_util.h"

#define RESIDENT	256		/* pages that keep a counter above 0 */
#define PROBE		64		/* pages of the last swap-out */

static char message[256];

const char *pair_setup(struct pair *p, size_t nr_pages, long swapped)
{
	const char *why = memcg_setup(1);
	int i;

	memset(p, 0, sizeof(*p));
	if (why)
		return why;
	p->online = memcg_v1_count();
	p->area = swap_area_add(nr_pages, false);
	if (p->area < 0)
		return "cannot set up a swap area";
	if (!move_init())
		return "no shared memory";
	for (i = 0; i < 2; i++) {
		p->cgroup[i] = memcg_add("pair", i);
		if (!p->cgroup[i] ||
		    worker_start(&p->resident[i], p->cgroup[i], 0) ||
		    worker_call(&p->resident[i], op_map, RESIDENT + swapped,
				MADV_NOHUGEPAGE) ||
		    worker_call(&p->resident[i], op_fill, 1, 0))
			return "cannot set up a cgroup";
		if (swapped &&
		    !wait_until(worker_call(&p->resident[i], op_pageout, 0,
					    swapped) == swapped))
			return "a resident worker is not swapped out";
	}
	p->swapped = swapped;
	return NULL;
}

void pair_kill(struct pair *p)
{
	worker_kill(&p->resident[0]);
	worker_kill(&p->resident[1]);
}

long pair_swap(struct pair *p, int i)
{
	/*
	 * Both counters are charged and uncharged in the same batches, and
	 * what is left of a batch is cached in both, so that only swap makes
	 * a difference.
	 */
	return (cg_read_long(p->cgroup[i], "memory.memsw.usage_in_bytes") -
		cg_read_long(p->cgroup[i], "memory.usage_in_bytes")) /
		(long)psize() - p->swapped;
}

static int move_charges(const char *cgroup, bool on)
{
	return cg_write(cgroup, "memory.move_charge_at_immigrate",
			on ? "1" : "0");
}

bool pair_can_move_charges(struct pair *p)
{
	return !move_charges(p->cgroup[0], true) &&
	       !move_charges(p->cgroup[0], false);
}

int pair_move(struct pair *p, struct worker *w, int to, bool charges)
{
	int ret;

	if (charges && move_charges(p->cgroup[to], true))
		return -EINVAL;
	ret = cg_enter(p->cgroup[to], w->pid);
	/* or else the next worker brings pages along that it shares with us */
	if (charges && move_charges(p->cgroup[to], false))
		return -EINVAL;
	return ret;
}

/* A cgroup whose id was given up too often no longer pays for its swap. */
static const char *probe(struct pair *p, int i)
{
	struct worker w;
	long out, paid;

	if (worker_start(&w, p->cgroup[i], 0) ||
	    worker_call(&w, op_map, PROBE, MADV_NOHUGEPAGE) ||
	    worker_call(&w, op_fill, 1, 0))
		return "no worker";
	out = worker_call(&w, op_pageout, 0, PROBE);
	paid = pair_swap(p, i);
	worker_stop(&w);
	if (out > PROBE / 2 && out == paid)
		return NULL;
	snprintf(message, sizeof(message),
		 "cgroup %d pays for %ld of %ld pages that it swaps out", i,
		 paid, out);
	return message;
}

static long v1_usage(const char *cgroup)
{
	/* what is cached for the next charge is given back, then the slab */
	cg_write(cgroup, "memory.force_empty", "0");
	return cg_read_long(cgroup, "memory.memsw.usage_in_bytes") -
	       cg_read_long(cgroup, "memory.kmem.usage_in_bytes");
}

const char *pair_finish(struct pair *p)
{
	const char *why;
	long n, swapped;
	int i;

	if (swap_drain_slot_caches())
		return "cannot drain the slot caches";
	for (i = 0; i < 2; i++) {
		n = pair_swap(p, i);
		if (n) {
			snprintf(message, sizeof(message),
				 "cgroup %d: %ld pages of swap that nobody has",
				 i, n);
			return message;
		}
		why = probe(p, i);
		if (why)
			return why;
	}
	if (swap_area_off(p->area))
		return "swapoff failed";
	swapped = p->swapped;
	p->swapped = 0;
	for (i = 0; i < 2; i++) {
		n = pair_swap(p, i);
		if (n) {
			snprintf(message, sizeof(message),
				 "cgroup %d: %ld pages of swap after swapoff",
				 i, n);
			return message;
		}
		if (worker_call(&p->resident[i], op_verify, 0, swapped))
			return "a page has come back with other contents";
		worker_stop(&p->resident[i]);
	}
	memcg_drain();
	for (i = 0; i < 2; i++) {
		if (!wait_until(!cg_read_key_long(p->cgroup[i], "memory.stat",
						  "\nswap ")))
			return "memory.stat still counts swap";
		if (!wait_until(!v1_usage(p->cgroup[i]))) {
			snprintf(message, sizeof(message),
				 "cgroup %d: %ld bytes of memory and swap left",
				 i, v1_usage(p->cgroup[i]));
			return message;
		}
		if (cg_destroy(p->cgroup[i]))
			return "a cgroup cannot be removed";
	}
	if (!wait_until((memcg_drain(), memcg_v1_count() <= p->online))) {
		snprintf(message, sizeof(message),
			 "%ld removed cgroups are still there",
			 memcg_v1_count() - p->online);
		return message;
	}
	return NULL;
}
