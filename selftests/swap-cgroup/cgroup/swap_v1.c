// SPDX-License-Identifier: GPL-2.0-only
/* Two cgroups of v1, and a process that is moved between them: see swap_util.h. */
#define _GNU_SOURCE

#include <errno.h>
#include <sys/wait.h>

#include "swap_util.h"

#define MOVE_CHARGE	"memory.move_charge_at_immigrate"
#define IN_MEMORY	256		/* pages of each worker that stay there */
#define NR_LAST		64		/* pages that are swapped out at the end */
#define NR_CHILDREN	3

void v1_test_init(void)
{
	int ret;

	swap_test_init(MEMCG_V1);
	ret = cg_write(memcg_parent(), MOVE_CHARGE, "1");
	/* no such file; or only 0 is allowed, since 6.13 */
	if (ret == -ENOENT || ret == -EINVAL)
		skip("this kernel does not move charges\n");
	if (ret || cg_write(memcg_parent(), MOVE_CHARGE, "0"))
		ksft_exit_fail_msg("cannot write " MOVE_CHARGE "\n");
}

int v1_setup(struct v1_cgroups *v, long nr_slots, long swapped)
{
	int ret = swap_test_begin();

	if (ret)
		return ret;
	v->area = swap_area_add(nr_slots, AREA_SSD);
	if (v->area < 0)
		return v->area;
	v->swapped = swapped;
	return workers_start(v->worker, v->cgroup, 2, IN_MEMORY + swapped, MADV_NOHUGEPAGE) ?:
	       workers_call(v->worker, 2, op_fill, 1) ?:
	       workers_pageout(v->worker, 2, swapped);
}

int v1_end(struct v1_cgroups *v)
{
	worker_kill(&v->process);
	workers_kill(v->worker, 2);
	return swap_test_end();
}

long v1_swap(struct v1_cgroups *v, int i)
{
	return memcg_swap(v->cgroup[i]) - v->swapped;
}

int v1_move(struct v1_cgroups *v, pid_t pid, int to, bool charges)
{
	int ret;

	ret = cg_write(v->cgroup[to], MOVE_CHARGE, charges ? "1" : "0");
	return ret ?: cg_enter(v->cgroup[to], pid);
}

int check_v1_swap(struct v1_cgroups *v)
{
	int i, ret = swap_drain_slot_caches();

	for (i = 0; i < 2; i++)
		ret = check_charge(v->cgroup[i], v1_swap(v, i), 0) ?: ret;
	return ret;
}

/* New swap is charged, which it is not if the refcount of the id has become 0. */
static int check_new_charges(struct v1_cgroups *v, int i)
{
	struct worker w = {};
	long charged;
	int ret;

	/* or else it would bring charges along */
	ret = cg_write(v->cgroup[i], MOVE_CHARGE, "0") ?: worker_start(&w, v->cgroup[i], 0) ?:
	      worker_call(&w, op_map, NR_LAST, MADV_NOHUGEPAGE) ?: worker_call(&w, op_fill, 1) ?:
	      worker_pageout(&w, NR_LAST);
	charged = v1_swap(v, i);
	worker_stop(&w);
	if (ret || charged == NR_LAST)
		return ret;
	return fail("cgroup %d: charged for %ld of %d new swap slots\n", i, charged, NR_LAST);
}

int check_v1_end(struct v1_cgroups *v)
{
	long swapped = v->swapped;
	int ret;

	worker_stop(&v->process);
	ret = check_v1_swap(v) ?: check_new_charges(v, 0) ?: check_new_charges(v, 1) ?:
	      swap_area_off(v->area);
	v->swapped = 0;
	ret = ret ?: check_v1_swap(v) ?: workers_call(v->worker, 2, op_verify, 0, swapped) ?:
	      check_stat(v->cgroup[0], "swap", 0) ?: check_stat(v->cgroup[1], "swap", 0);
	workers_kill(v->worker, 2);
	return ret ?: check_released(v->cgroup, 2);
}

/*
 * Moving a process while its children use the swap entries that they share
 * with it. They only read, so that nothing is copied and all keep the same
 * entries. MADV_PAGEOUT spares pages that two processes have mapped, so each
 * page is used by one of the children at a time.
 */

static struct {
	/* odd: swap out and in all the time; even: swap out all pages, and pause */
	unsigned long phase;
	unsigned long turn;		/* which child has which pages */
	int paused;			/* children */
	bool stop;
	long faults;
} *shared;

static void child_main(struct worker *w, int child)
{
	unsigned long phase, turn, paused = -1UL;
	bool corrupt = false;
	long i;

	cpu_pin(child);
	while (!__atomic_load_n(&shared->stop, __ATOMIC_ACQUIRE)) {
		phase = __atomic_load_n(&shared->phase, __ATOMIC_ACQUIRE);
		turn = READ_ONCE(shared->turn);
		if (phase == paused) {
			usleep(1000);
			continue;
		}
		for (i = 0; i < w->nr; i++) {
			if ((i + turn) % NR_CHILDREN != child)
				continue;
			corrupt |= !page_check(w, i);
			madvise(w->mem + i * psize(), psize(), MADV_PAGEOUT);
			__atomic_add_fetch(&shared->faults, 1, __ATOMIC_RELAXED);
		}
		if (phase % 2)
			continue;
		madvise(w->mem, w->nr * psize(), MADV_PAGEOUT);
		paused = phase;
		__atomic_add_fetch(&shared->paused, 1, __ATOMIC_ACQ_REL);
	}
	_exit(corrupt);
}

static long op_fork_children(struct worker *w, long a, long b)
{
	pid_t pid;
	int i;

	for (i = 0; i < NR_CHILDREN; i++) {
		pid = fork();
		if (pid < 0)
			return -errno;
		if (!pid)
			child_main(w, i);
	}
	return 0;
}

static long op_wait_children(struct worker *w, long a, long b)
{
	int i, status, ret = 0;

	for (i = 0; i < NR_CHILDREN; i++)
		if (wait(&status) < 0 || status)
			ret = -ECHILD;
	return ret;
}

static void next_phase(void)
{
	shared->paused = 0;
	__atomic_add_fetch(&shared->phase, 1, __ATOMIC_ACQ_REL);
}

/* Let the children swap, and wait until they do. */
static int resume_children(void)
{
	long faults = READ_ONCE(shared->faults);

	next_phase();
	return wait_until(READ_ONCE(shared->faults) > faults + 4 * NR_CHILDREN) ? 0 :
	       fail("the children do not swap\n");
}

static int pause_children(void)
{
	next_phase();
	return wait_until(__atomic_load_n(&shared->paused, __ATOMIC_ACQUIRE) == NR_CHILDREN) ? 0 :
	       fail("the children do not pause\n");
}

/* All entries are in swap, and charged to one of the two. */
static int check_entries(struct v1_cgroups *v, long nr)
{
	long n[2] = {};
	int tries;

	for (tries = 0; tries < 100 && !kernel_complained(); tries++) {
		n[0] = v1_swap(v, 0);
		n[1] = v1_swap(v, 1);
		if (n[0] < 0 || n[1] < 0 || n[0] + n[1] > nr)
			break;
		if (n[0] + n[1] == nr)
			return 0;
		/* a page in an LRU batch was not swapped out */
		lru_drain();
		next_phase();
		if (pause_children())
			break;
	}
	return fail("%ld and %ld swap slots are charged, %ld are in use\n", n[0], n[1], nr);
}

static int move_rounds(struct v1_cgroups *v, long nr, int rounds, long min)
{
	long before, moves = 0, moved = 0, faults = 0;
	pid_t pid = v->process.pid;
	int i, ret, round, at = 0;

	for (round = 0; round < rounds || (round < 5 * rounds && moved < min); round++) {
		for (i = 0; i < 2; i++, at = !at) {
			before = v1_swap(v, !at);
			/* all are in swap, so any child may have any page now */
			shared->turn++;
			if (resume_children())
				return -1;
			faults -= READ_ONCE(shared->faults);
			ret = v1_move(v, pid, !at, true);
			faults += READ_ONCE(shared->faults);
			ret = ret ?: pause_children() ?: check_entries(v, nr);
			if (ret)
				return ret;
			moves++;
			moved += v1_swap(v, !at) - before;
		}
		/* with nobody in the way, all are moved, those left behind too */
		ret = v1_move(v, pid, !at, true);
		if (ret)
			return ret;
		at = !at;
		if (v1_swap(v, at) != nr || v1_swap(v, !at))
			return fail("cgroup %d is charged for %ld swap slots of %ld\n", at,
				    v1_swap(v, at), nr);
	}
	ksft_print_msg("%ld entries moved, %ld faults during %ld moves\n", moved, faults, moves);
	return moved >= min && faults >= moves ? 0 : fail("these are too few\n");
}

int v1_concurrent_move(struct v1_cgroups *v, long nr, int rounds, long min)
{
	struct worker *w = &v->process;
	int ret;

	shared = shared_alloc(sizeof(*shared));
	if (!shared)
		return -ENOMEM;
	/* swapped out first, so that the children share entries, not pages */
	ret = worker_start(w, v->cgroup[0], 0) ?:
	      worker_call(w, op_map, nr, MADV_NOHUGEPAGE) ?:
	      worker_call(w, op_fill, 1) ?: worker_pageout(w, nr);
	shared->phase = 1;
	ret = ret ?: worker_call(w, op_fork_children) ?: pause_children() ?:
	      move_rounds(v, nr, rounds, min);
	__atomic_store_n(&shared->stop, true, __ATOMIC_RELEASE);
	return ret ?: worker_call(w, op_wait_children) ?: worker_call(w, op_verify, 0, nr) ?:
	       check_v1_end(v);
}
