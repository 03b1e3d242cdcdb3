// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who has which swap slots, and who pays, for the swap_memcg tests, see
 * swap_memcg_util.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "swap_memcg_util.h"

static int *owner;			/* of each slot: worker + 1 */
static long nr_owners;

int owners_init(long nr_slots)
{
	owner = shared_alloc(nr_slots * sizeof(*owner));
	nr_owners = nr_slots;
	return owner ? 0 : -ENOMEM;
}

static long op_owner(struct worker *w, long me, long unused)
{
	__u64 *off = calloc(w->nr, sizeof(*off));
	long i, ret = 0;

	if (!off || swap_offsets(w, 0, w->nr, off))
		return -EIO;
	for (i = 0; i < w->nr && !ret; i++) {
		if (!off[i])
			continue;
		if (off[i] >= nr_owners)
			ret = -ERANGE;
		else if (owner[off[i]])
			ret = -EEXIST;
		else
			owner[off[i]] = me + 1;
	}
	free(off);
	return ret;
}

long owners_mixed(struct worker *w, int nr, long n, long *borders)
{
	long i, ret, mixed = 0;

	memset(owner, 0, nr_owners * sizeof(*owner));
	for (i = 0; i < nr; i++) {
		ret = w[i].pid ? worker_call(&w[i], op_owner, i, 0) : 0;
		if (ret)
			return ret;
	}
	*borders = 0;
	for (i = n; i < nr_owners; i += n) {
		if (!owner[i - 1] || !owner[i])
			continue;
		++*borders;
		mixed += owner[i - 1] != owner[i];
	}
	return mixed;
}

long op_own(struct worker *w, long unused_a, long unused_b)
{
	return op_swapped(w, 0, w->nr);
}

const char *memcg_check_workers(char **cgroup, struct worker *w, int nr)
{
	static char message[128];
	const char *wrong = memcg_check_slots(0);
	long own, paid;
	int i;

	for (i = 0; i < nr && !wrong; i++) {
		own = w[i].pid ? worker_call(&w[i], op_own, 0, 0) : 0;
		paid = cg_read_long(cgroup[i], "memory.swap.current");
		if (paid == own * (long)psize())
			continue;
		snprintf(message, sizeof(message),
			 "cgroup %d pays for %ld bytes of swap, has %ld pages",
			 i, paid, own);
		wrong = message;
	}
	return wrong;
}
