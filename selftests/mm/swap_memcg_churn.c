// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads for the swap_memcg tests, of processes and cgroups that end.
 *
 * op_fork_churn: a worker whose pages are swapped out forks children that share
 * the entries. They read some, free some, write some and swap out again, and
 * end at odd moments, by themselves or killed half way, so that an entry's last
 * user is anybody: a fault, an exit, a parent that reads on meanwhile. Works
 * without swap and without memory cgroups as well.
 *
 * op_range_churn: a worker swaps out, reads and drops ranges of many lengths,
 * while somebody does something to all of them, swapoff for example.
 *
 * op_oom_churn: processes fill a cgroup, its swap too, until the OOM killer
 * ends them. Swap that may not be charged goes back to where it came from.
 *
 * op_remove_churn: processes swap out in a cgroup of their own, leave it, and
 * remove it while its slots are in use, which from then on pin it.
 *
 * How much is done depends on counts only, not on time, but for the second one,
 * which is told to stop; what a child does, on its number only.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "swap_memcg_util.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

#define STEPS		24		/* of a child, at most */
#define MAX_RANGE	37		/* pages of a step, at most */
#define OOM_MEMORY	512		/* pages that a cgroup may have */
#define OOM_SWAP	256
#define GONE_PAGES	64		/* of a cgroup that is removed */

struct churn *churn;

bool churn_init(void)
{
	churn = shared_alloc(sizeof(*churn));
	return churn;
}

static void count(unsigned long *counter, long n)
{
	__atomic_add_fetch(counter, n, __ATOMIC_RELAXED);
}

static unsigned int dice(unsigned int *seed, unsigned int sides)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % sides;
}

/* The contents of pages that are free to go are no longer known. */
static long op_free(struct worker *w, long first, long nr)
{
	long i;

	for (i = first; i < first + nr; i++)
		w->gen[i] = 0;
	if (madvise(w->mem + first * psize(), nr * psize(), MADV_FREE))
		return -errno;
	count(&churn->freed, nr);
	return 0;
}

static long step(struct worker *w, unsigned int *seed)
{
	long first = dice(seed, w->nr - MAX_RANGE);
	long nr = 1 + dice(seed, MAX_RANGE), n;

	switch (dice(seed, 7)) {
	case 0:
		n = op_pageout(w, first, nr);
		if (n > 0)
			count(&churn->slots, n);
		return n < 0 ? n : 0;
	case 1:
		return op_dontneed(w, first, nr);
	case 2:
		return op_free(w, first, nr);
	case 3:
		/* EBADF: without swap there is nothing to read ahead */
		op_willneed(w, first, nr);
		return 0;
	case 4:
		for (n = first; n < first + nr; n += 3)
			page_write(w, n, 1 + dice(seed, 1000));
		return 0;
	default:
		return op_verify(w, first, nr);
	}
}

/* Every other child goes on until it is killed. */
static bool is_killed(int child)
{
	return child % 2;
}

static void child_main(struct worker *w, int child, unsigned int seed)
{
	int steps = 1 + dice(&seed, STEPS);

	cpu_pin(w->cpu + child);
	/* or else it were the parent's */
	w->pagemap = open("/proc/self/pagemap", O_RDONLY);
	while (steps-- || is_killed(child))
		if (step(w, &seed))
			_exit(1);
	_exit(0);
}

static long reap(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return -ECHILD;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		count(&churn->killed, 1);
	else if (status)
		return -EIO;
	count(&churn->ended, 1);
	return 0;
}

static long fork_round(struct worker *w, unsigned int *seed)
{
	pid_t pid[CHURN_CHILDREN];
	long n, ret = 0;
	int i;

	n = op_pageout(w, 0, w->nr);
	if (n < 0)
		return n;
	count(&churn->slots, n);
	for (i = 0; i < CHURN_CHILDREN; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			return -errno;
		if (!pid[i])
			child_main(w, i, *seed + i);
		/* the next one gets another mixture of pages and entries */
		if (op_verify(w, i * w->nr / CHURN_CHILDREN, w->nr / 8))
			ret = -EIO;
	}
	for (i = 0; i < CHURN_CHILDREN; i++) {
		if (is_killed(i))
			kill(pid[i], SIGKILL);
		if (reap(pid[i]))
			ret = -EIO;
		if (op_verify(w, dice(seed, w->nr / 2), w->nr / 4))
			ret = -EIO;
	}
	return ret;
}

long op_fork_churn(struct worker *w, long rounds, long seed)
{
	unsigned int s = seed * 7919 + 1;
	long ret = 0;

	for (; rounds && !ret; rounds--) {
		op_fill(w, rounds, 0);
		ret = fork_round(w, &s);
		/* freed, by any of the ways there are */
		if (!ret)
			ret = op_dontneed(w, dice(&s, w->nr / 2), w->nr / 3);
		if (!ret)
			ret = op_free(w, dice(&s, w->nr / 2), w->nr / 3);
	}
	return ret;
}

/* ranges */

/* Verify a part in a child that shares the swap entries, and exits. */
static int child_verify(struct worker *w, long first, long nr)
{
	int status = -1;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(!!op_verify(w, first, nr));
	if (pid > 0)
		waitpid(pid, &status, 0);
	count(&churn->ended, 1);
	return status;
}

long op_range_churn(struct worker *w, long seed, long unused)
{
	long gen, i, n, step, half = w->nr / 2;

	for (gen = 1; !__atomic_load_n(&churn->stop, __ATOMIC_RELAXED); gen++) {
		op_fill(w, gen, 0);
		for (i = 0; i < w->nr; i += step) {
			step = 1 + (i + gen + seed) % 61;
			if (step > w->nr - i)
				step = w->nr - i;
			n = op_pageout(w, i, step);
			if (n < 0)
				return n;
		}
		op_willneed(w, half + w->nr / 4, w->nr / 8);
		if (child_verify(w, half, w->nr / 4) ||
		    op_dontneed(w, 32, 48) || op_verify(w, 0, half))
			return -EIO;
		count(&churn->rounds, 1);
	}
	return op_verify(w, 0, w->nr);
}

/* OOM */

int memcg_oom_limit(const char *cgroup)
{
	if (memcg_version() == 2)
		return memcg_limit(cgroup, "memory.max", OOM_MEMORY) ?:
		       memcg_limit(cgroup, "memory.swap.max", OOM_SWAP);
	/* in this order: one may not be below the other */
	return memcg_limit(cgroup, "memory.limit_in_bytes", OOM_MEMORY) ?:
	       memcg_limit(cgroup, "memory.memsw.limit_in_bytes",
			   OOM_MEMORY + OOM_SWAP);
}

long memcg_oom_kills(const char *cgroup)
{
	return cg_read_key_long(cgroup, memcg_version() == 2 ?
				"memory.events" : "memory.oom_control",
				"\noom_kill ");
}

static void hog_main(const char *cgroup)
{
	struct worker w = {};
	long gen;

	if (cg_enter_current(cgroup) ||
	    op_map(&w, 4 * (OOM_MEMORY + OOM_SWAP), MADV_NOHUGEPAGE))
		_exit(1);
	for (gen = 1;; gen++)
		op_fill(&w, gen, 0);
}

long op_oom_churn(struct worker *w, long rounds, long cgroup)
{
	pid_t pid;

	for (; rounds; rounds--) {
		pid = fork();
		if (pid < 0)
			return -errno;
		if (!pid)
			hog_main((const char *)cgroup);
		if (reap(pid))
			return -EIO;
	}
	return 0;
}

/* removal */

static void gone_path(char *path, size_t len, struct worker *w, int child)
{
	snprintf(path, len, "%s/gone_%d_%d", memcg_parent(), w->cpu, child);
}

static void remover_main(struct worker *parent, int child, const char *refuge,
			 int *stage)
{
	struct worker w = { .cpu = parent->cpu };
	char path[1024];
	long slots;

	gone_path(path, sizeof(path), parent, child);
	w.pagemap = open("/proc/self/pagemap", O_RDONLY);
	if (cg_create(path) || cg_enter_current(path) ||
	    op_map(&w, GONE_PAGES, MADV_NOHUGEPAGE) || op_fill(&w, 1, 0) ||
	    !wait_until(op_pageout(&w, 0, GONE_PAGES) > GONE_PAGES / 2))
		_exit(1);
	__atomic_store_n(stage, 1, __ATOMIC_RELEASE);
	if (cg_enter_current(refuge))
		_exit(2);
	__atomic_store_n(stage, 2, __ATOMIC_RELEASE);
	slots = memcg_swap(path);
	if (rmdir(path) || slots < GONE_PAGES / 2)
		_exit(3);
	count(&churn->removed, 1);
	count(&churn->slots, slots);
	__atomic_store_n(stage, 3, __ATOMIC_RELEASE);
	/* of some that were read, the next slot is another cgroup's */
	do {
		if (op_verify(&w, child, GONE_PAGES / 2) ||
		    op_dontneed(&w, GONE_PAGES / 2, 5) ||
		    op_pageout(&w, 0, GONE_PAGES) < 0)
			_exit(4);
	} while (is_killed(child));
	_exit(0);
}

static long remove_round(struct worker *w, const char *refuge, int least)
{
	int *stage = &churn->stage[w->cpu * CHURN_REMOVERS % CHURN_STAGES];
	pid_t pid[CHURN_REMOVERS];
	char path[1024];
	long ret = 0;
	int i;

	for (i = 0; i < CHURN_REMOVERS; i++) {
		stage[i] = 0;
		pid[i] = fork();
		if (pid[i] < 0)
			return -errno;
		if (!pid[i])
			remover_main(w, i, refuge, &stage[i]);
	}
	for (i = 0; i < CHURN_REMOVERS; i++) {
		if (!is_killed(i))
			continue;
		if (!wait_until(__atomic_load_n(&stage[i], __ATOMIC_ACQUIRE) >=
				least))
			ret = -ETIME;
		kill(pid[i], SIGKILL);
	}
	for (i = 0; i < CHURN_REMOVERS; i++) {
		if (reap(pid[i]))
			ret = -EIO;
		/* whoever was killed has left it */
		gone_path(path, sizeof(path), w, i);
		if (!wait_until(!rmdir(path) || errno == ENOENT))
			ret = -EBUSY;
	}
	return ret;
}

long op_remove_churn(struct worker *w, long rounds, long refuge)
{
	long ret = 0;

	for (; rounds && !ret; rounds--)
		ret = remove_round(w, (const char *)refuge, rounds % 4);
	return ret;
}
