// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap accounting while processes exit, are OOM-killed, and cgroups are removed.
 *
 * A swap slot outlives much: the process that swapped out the page, when a
 * child shares the entry, and the cgroup that is charged for it, which can be
 * removed when its processes have left. Most slots of a busy system are freed
 * by an exit, often one by the OOM killer, when memory and swap of a cgroup are
 * full and the next swap-out is refused. A charge that is forgotten on one of
 * these ways stays for ever, and pins a removed cgroup; one that is dropped
 * twice makes another cgroup's swap free of charge. On cgroup v1 a slot is
 * charged when its page leaves the swap cache, and uncharged when the page is
 * read again, which an exit, a fault of a child and a swap-out of the parent
 * do at the same time.
 *
 * All of this is done on all CPUs at once. Afterwards each cgroup must be
 * charged for exactly what it has in swap, and the removed ones must be gone.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "swap_util.h"

#define MAX_WORKERS	8
#define NR_PAGES	512L		/* of each worker that forks */
#define ROUNDS		4
#define CHILDREN	4		/* a round; every other one is killed */
#define STEPS		24		/* of a child */
#define MAX_RANGE	37		/* pages of a step */
#define OOM_MEMORY	512L		/* limits, in pages */
#define OOM_SWAP	256L
#define REMOVED_PAGES	64L		/* of a cgroup that is removed */
#define TRIES		8

#define fail(...)	(ksft_print_msg(__VA_ARGS__), -1)

static unsigned int dice(unsigned int *seed, unsigned int sides)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % sides;
}

/* A child that does not survive its worker. */
static pid_t child_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static bool child_is_killed(int child)
{
	return child % 2;
}

/* Zero, the exit status, the signal that ended the child, or negative. */
static int child_wait(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -ECHILD;
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

/* exit: the last user of an entry is a fault, a child, or its parent */

/* Afterwards the contents are not known. */
static long op_free(struct worker *w, long first, long nr)
{
	memset(w->gen + first, 0, nr * sizeof(*w->gen));
	return madvise(w->mem + first * psize(), nr * psize(), MADV_FREE) ? -errno : 0;
}

static long step(struct worker *w, unsigned int *seed)
{
	long first = dice(seed, w->nr - MAX_RANGE), nr = 1 + dice(seed, MAX_RANGE), i;

	switch (dice(seed, 7)) {
	case 0:
		return op_pageout(w, first, nr) < 0;
	case 1:
		return op_dontneed(w, first, nr);
	case 2:
		return op_free(w, first, nr);
	case 3:
		return op_willneed(w, first, nr);
	case 4:
		for (i = first; i < first + nr; i += 3)
			page_write(w, i, 1 + dice(seed, 1000));
		return 0;
	default:
		return op_verify(w, first, nr);
	}
}

static void fork_child(struct worker *w, int child, unsigned int seed)
{
	int steps = child_is_killed(child) ? 1000 * STEPS : 1 + dice(&seed, STEPS);

	cpu_pin(seed);
	while (steps--)
		if (step(w, &seed))
			_exit(1);
	_exit(0);
}

static long op_fork(struct worker *w, long index, long rounds)
{
	unsigned int seed = index * 7919 + 1;
	pid_t pid[CHILDREN];
	long n, ret = 0;
	int i;

	for (; rounds && !ret; rounds--) {
		op_fill(w, rounds, 0);
		n = op_pageout(w, 0, w->nr);
		if (n < w->nr / 2)
			return fail("only %ld pages are swapped out\n", n);
		for (i = 0; i < CHILDREN; i++) {
			pid[i] = child_fork();
			if (!pid[i])
				fork_child(w, i, seed + i);
			/* the next one gets other pages and entries */
			ret = ret ?: op_verify(w, i * w->nr / CHILDREN, w->nr / 8);
		}
		for (i = 0; i < CHILDREN; i++) {
			if (child_is_killed(i))
				kill(pid[i], SIGKILL);
			n = child_wait(pid[i]);
			if (n && n != SIGKILL)
				ret = fail("a child has failed: %ld\n", n);
			ret = ret ?: op_verify(w, dice(&seed, w->nr / 2), w->nr / 4);
		}
		ret = ret ?: op_dontneed(w, dice(&seed, w->nr / 2), w->nr / 3) ?:
			     op_free(w, dice(&seed, w->nr / 2), w->nr / 3);
	}
	return ret;
}

/* OOM: memory and swap of the cgroup are full */

static int limit(const char *cgroup)
{
	if (memcg_version() == 2)
		return memcg_limit(cgroup, "memory.max", OOM_MEMORY) ?:
		       memcg_limit(cgroup, "memory.swap.max", OOM_SWAP);
	/* in this order: the second may not be below the first */
	return memcg_limit(cgroup, "memory.limit_in_bytes", OOM_MEMORY) ?:
	       memcg_limit(cgroup, "memory.memsw.limit_in_bytes", OOM_MEMORY + OOM_SWAP);
}

static void oom_child(struct worker *w)
{
	/* this process, and not its worker */
	if (write_text("/proc/self/oom_score_adj", "1000", 4) < 0 ||
	    op_map(w, 2 * (OOM_MEMORY + OOM_SWAP), MADV_NOHUGEPAGE) || op_fill(w, 1, 0))
		_exit(1);
	_exit(0);
}

static long op_oom(struct worker *w, long index, long rounds)
{
	pid_t pid;
	int n;

	for (; rounds; rounds--) {
		pid = child_fork();
		if (!pid)
			oom_child(w);
		n = child_wait(pid);
		if (n != SIGKILL)
			return fail("a child that exceeds its limits has ended with %d\n", n);
	}
	return 0;
}

/* removal: of cgroups whose processes have left, but not their swap */

static void remove_child(struct worker *w, const char *cgroup, const char *other, int child)
{
	int steps = child_is_killed(child) ? 1000 * STEPS : 1;

	if (cg_enter_current(cgroup) || op_map(w, REMOVED_PAGES, MADV_NOHUGEPAGE) ||
	    op_fill(w, 1, 0) ||
	    !wait_until((op_pageout(w, 0, w->nr), memcg_swap(cgroup)) > w->nr / 2))
		_exit(1);
	if (cg_enter_current(other) || memcg_swap(cgroup) < w->nr / 2 || rmdir(cgroup))
		_exit(2);
	/* what is read is charged to the other cgroup, and swapped out there */
	while (steps--)
		if (op_verify(w, child, w->nr / 2) || op_dontneed(w, w->nr / 2, 5) ||
		    op_pageout(w, 0, w->nr) < 0)
			_exit(3);
	_exit(0);
}

static long op_remove(struct worker *w, long index, long rounds)
{
	char *own = cg_name_indexed(memcg_parent(), "worker", index), *cgroup[CHILDREN];
	unsigned int seed = index;
	pid_t pid[CHILDREN];
	long n, ret = 0;
	int i;

	for (; rounds && !ret; rounds--) {
		for (i = 0; i < CHILDREN; i++) {
			cgroup[i] = memcg_add("removed", index * CHILDREN + i);
			if (!cgroup[i])
				return -errno;
			pid[i] = child_fork();
			if (!pid[i])
				remove_child(w, cgroup[i], own, i);
		}
		for (i = 0; i < CHILDREN; i++) {
			if (child_is_killed(i)) {
				usleep(dice(&seed, 50000));
				kill(pid[i], SIGKILL);
			}
			n = child_wait(pid[i]);
			if (n && n != SIGKILL)
				ret = fail("a child that removes its cgroup has failed: %ld\n", n);
			/* it may have been killed before */
			if (!wait_until(!rmdir(cgroup[i]) || errno == ENOENT))
				ret = fail("a cgroup that is empty cannot be removed\n");
			free(cgroup[i]);
		}
	}
	free(own);
	return ret;
}

FIXTURE(stress)
{
	char *cgroup[MAX_WORKERS];
	struct worker worker[MAX_WORKERS];
	int nr;
	int area;
};

FIXTURE_VARIANT(stress)
{
	int fork, oom, remove;		/* workers */
};

FIXTURE_VARIANT_ADD(stress, exit) { .fork = 4 };
FIXTURE_VARIANT_ADD(stress, oom) { .fork = 2, .oom = 2 };
FIXTURE_VARIANT_ADD(stress, removal) { .fork = 2, .remove = 2 };
FIXTURE_VARIANT_ADD(stress, all) { .fork = 3, .oom = 2, .remove = 2 };

FIXTURE_SETUP(stress)
{
	int i;

	ASSERT_EQ(0, swap_test_begin());
	self->nr = variant->fork + variant->oom + variant->remove;
	/* room for what the children swap out */
	self->area = swap_area_add(4 * self->nr * NR_PAGES, false, 0);
	ASSERT_GE(self->area, 0);
	ASSERT_EQ(0, workers_start(self->worker, self->cgroup, self->nr, NR_PAGES,
				   MADV_NOHUGEPAGE));
	for (i = variant->fork; i < variant->fork + variant->oom; i++)
		ASSERT_EQ(0, limit(self->cgroup[i]));
}

FIXTURE_TEARDOWN(stress)
{
	workers_kill(self->worker, self->nr);
	EXPECT_EQ(0, swap_test_undo());
}

TEST_F_TIMEOUT(stress, leaves_exact_charges, TEST_SECONDS)
{
	struct worker *w = self->worker;
	long gen, pages = variant->fork * NR_PAGES;
	int i;

	for (i = 0; i < self->nr; i++)
		worker_send(&w[i], i < variant->fork ? op_fork :
			    i < variant->fork + variant->oom ? op_oom : op_remove, i, ROUNDS);
	for (i = 0; i < self->nr; i++)
		ASSERT_EQ(0, worker_wait(&w[i]));
	for (i = variant->fork; i < self->nr; i++)
		worker_stop(&w[i]);

	/* a page that a child has read may be left in the swap cache: write it */
	for (gen = 1; gen < TRIES; gen++) {
		ASSERT_EQ(0, workers_call(w, variant->fork, op_verify, 0, NR_PAGES));
		ASSERT_EQ(0, workers_call(w, variant->fork, op_fill, gen));
		for (i = 0; i < variant->fork; i++)
			ASSERT_EQ(0, worker_pageout(&w[i], NR_PAGES));
		ASSERT_EQ(0, swap_drain_slot_caches());
		if (swap_slots_used() == pages && memcg_swap(memcg_parent()) == pages)
			break;
	}
	ASSERT_EQ(0, check_workers(self->cgroup, w, self->nr));

	ASSERT_EQ(0, swap_area_off(self->area));
	ASSERT_EQ(0, check_empty(self->cgroup, self->nr));
	ASSERT_EQ(0, workers_call(w, variant->fork, op_verify, 0, NR_PAGES));
	workers_kill(w, self->nr);
	ASSERT_EQ(0, check_gone(self->cgroup, self->nr));
}

int main(int argc, char **argv)
{
	swap_test_init(MEMCG_V1 | MEMCG_V2);
	return test_harness_run(argc, argv);
}
