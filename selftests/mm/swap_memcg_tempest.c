// SPDX-License-Identifier: GPL-2.0-only
/*
 * The storms of swap_memcg_storm and swap_memcg_v1_storm: workers that fork,
 * have processes OOM-killed and remove cgroups, on all CPUs at the same time,
 * and what must hold when it is calm again.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "swap_memcg_util.h"

#define NR_PAGES	512		/* of each worker that forks */
#define AREA		(16 * NR_PAGES)	/* slots; there is always room */
#define FORK_ROUNDS	3
#define OOM_ROUNDS	3
#define REMOVE_ROUNDS	4
#define TRIES		8

static char message[256];

static const char *say(const char *format, const char *what, long a, long b)
{
	snprintf(message, sizeof(message), format, what, a, b);
	return message;
}

const char *storm_setup(struct storm *s, int version)
{
	const char *why = memcg_setup(version);
	int i;

	if (why)
		return why;
	s->online = memcg_v1_count();
	s->area = swap_area_add(AREA, false);
	if (s->area < 0)
		return "cannot set up a swap area";
	if (!churn_init())
		return "no shared memory";
	s->refuge = memcg_add("refuge", 0);
	if (!s->refuge)
		return "cannot create a cgroup";
	for (i = 0; i < STORM_WORKERS; i++) {
		s->cgroup[i] = memcg_add("fork", i);
		s->oom[i] = memcg_add("oom", i);
		if (!s->cgroup[i] || !s->oom[i] || memcg_oom_limit(s->oom[i]))
			return "cannot set up a cgroup";
	}
	return NULL;
}

void storm_kill(struct storm *s)
{
	int i;

	for (i = 0; i < STORM_WORKERS; i++) {
		worker_kill(&s->forker[i]);
		worker_kill(&s->hog[i]);
		worker_kill(&s->remover[i]);
	}
}

static bool start(struct worker *w, const char *cgroup, int cpu, worker_fn fn,
		  long a, long b)
{
	if (worker_start(w, cgroup, cpu))
		return false;
	if (cgroup && worker_call(w, op_map, NR_PAGES, MADV_NOHUGEPAGE))
		return false;
	worker_send(w, fn, a, b);
	return true;
}

static const char *rage(struct storm *s, int forkers, int hogs, int removers)
{
	int i;

	/* those that are swapped out later than others meet them half way */
	for (i = 0; i < forkers; i++)
		if (!start(&s->forker[i], s->cgroup[i], i, op_fork_churn,
			   FORK_ROUNDS, i))
			return "no worker that forks";
	for (i = 0; i < hogs; i++)
		if (!start(&s->hog[i], NULL, forkers + i, op_oom_churn,
			   OOM_ROUNDS, (long)s->oom[i]))
			return "no worker that is OOM-killed";
	for (i = 0; i < removers; i++)
		if (!start(&s->remover[i], NULL, forkers + hogs + i,
			   op_remove_churn, REMOVE_ROUNDS, (long)s->refuge))
			return "no worker that removes cgroups";
	for (i = 0; i < forkers; i++)
		if (worker_wait(&s->forker[i]))
			return "a worker that forks has failed";
	for (i = 0; i < hogs; i++)
		if (worker_wait(&s->hog[i]))
			return "an OOM has not ended as it should";
	for (i = 0; i < removers; i++)
		if (worker_wait(&s->remover[i]))
			return "a removal has failed";
	return NULL;
}

/*
 * All pages are in swap, so that none is on its way, and each cgroup pays for
 * them exactly. A page that was busy is written and swapped out once more.
 */
static const char *swap_out_whole(struct storm *s, int forkers, bool again)
{
	struct worker *w;
	long gen, n;
	int i;

	for (i = 0; i < forkers; i++) {
		w = &s->forker[i];
		for (gen = 1; gen < TRIES; gen++) {
			n = worker_call(w, op_swapped, 0, NR_PAGES);
			if (n == NR_PAGES && (!again || gen > 1))
				break;
			if (worker_call(w, op_verify, 0, NR_PAGES) ||
			    worker_call(w, op_fill, gen, 0) ||
			    worker_call(w, op_pageout, 0, NR_PAGES) < 0)
				return "a worker has failed in the end";
		}
		if (gen == TRIES)
			return "the last pages are not swapped out";
	}
	return NULL;
}

static const char *check_swap(char **cgroup, int nr, const char *what,
			      long expected)
{
	long paid;
	int i;

	for (i = 0; i < nr; i++) {
		paid = memcg_swap(cgroup[i]);
		if (paid != expected)
			return say("%s: %ld pages of swap are paid for, not %ld",
				   what, paid, expected);
	}
	return NULL;
}

/* Each cgroup pays for what its worker has in swap; the others for nothing. */
static const char *check_calm(struct storm *s, int forkers, long pages)
{
	return check_swap(s->cgroup, forkers, "of one that forked", pages) ?:
	       check_swap(s->cgroup + forkers, STORM_WORKERS - forkers,
			  "of an idle one", 0) ?:
	       check_swap(s->oom, STORM_WORKERS, "of an OOM", 0) ?:
	       check_swap(&s->refuge, 1, "of the refuge", 0);
}

static const char *check_gone(struct storm *s)
{
	char *all[2 * STORM_WORKERS + 1];
	long n = 0;
	int i;

	memcpy(all, s->cgroup, sizeof(s->cgroup));
	memcpy(all + STORM_WORKERS, s->oom, sizeof(s->oom));
	all[2 * STORM_WORKERS] = s->refuge;
	if (memcg_version() == 2)
		return memcg_check_gone(all, ARRAY_SIZE(all));
	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (cg_destroy(all[i]))
			return "a cgroup cannot be removed";
	wait_until((memcg_drain(),
		    n = memcg_v1_count() - s->online, n <= 0));
	if (n <= 0)
		return NULL;
	return say("%s: %ld", "removed cgroups are still there", n, 0);
}

static bool enough(const char *what, unsigned long n, long least)
{
	ksft_print_msg("%s: %lu (at least %ld)\n", what, n, least);
	return n >= least;
}

static const char *check_least(int forkers, int hogs, int removers)
{
	long forked = forkers * FORK_ROUNDS * CHURN_CHILDREN;
	long hogged = hogs * OOM_ROUNDS;
	long removed = removers * REMOVE_ROUNDS * CHURN_REMOVERS;
	bool ok;

	ok = enough("processes ended", churn->ended,
		    forked + hogged + removed);
	ok &= enough("of them killed", churn->killed,
		     forked / 2 + hogged + removed / 3);
	/* some are killed too early for it */
	ok &= enough("cgroups removed with slots in use", churn->removed,
		     2 * removed / 3);
	ok &= enough("slots exercised", churn->slots,
		     forkers * FORK_ROUNDS * NR_PAGES / 2 +
		     2 * removed / 3 * 32);
	return ok ? NULL : "too little was exercised";
}

const char *storm_run(struct storm *s, int forkers, int hogs, int removers)
{
	const char *why;
	int i;

	why = rage(s, forkers, hogs, removers);
	if (why)
		return why;
	for (i = 0; i < forkers; i++)
		if (worker_call(&s->forker[i], op_verify, 0, NR_PAGES))
			return "a page has come back with other contents";
	for (i = 0; i < STORM_WORKERS; i++) {
		worker_stop(&s->hog[i]);
		worker_stop(&s->remover[i]);
	}
	for (i = 0; i < TRIES; i++) {
		why = swap_out_whole(s, forkers, i) ?: memcg_check_slots(0) ?:
		      check_calm(s, forkers, NR_PAGES);
		/* with v1, a slot whose page is still cached is not paid for */
		if (!why || memcg_version() == 2)
			break;
	}
	if (why)
		return why;

	for (i = 0; i < hogs; i++)
		if (memcg_oom_kills(s->oom[i]) < OOM_ROUNDS)
			return say("%s: %ld OOM kills counted, not %ld",
				   "a cgroup", memcg_oom_kills(s->oom[i]), OOM_ROUNDS);
	if (swap_area_off(s->area))
		return "swapoff failed";
	why = check_calm(s, forkers, 0);
	if (why)
		return why;
	for (i = 0; i < forkers; i++) {
		if (worker_call(&s->forker[i], op_verify, 0, NR_PAGES))
			return "swapoff has brought back other contents";
		worker_stop(&s->forker[i]);
	}
	return check_gone(s) ?: check_least(forkers, hogs, removers);
}
