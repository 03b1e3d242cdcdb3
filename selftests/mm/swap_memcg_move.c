// SPDX-License-Identifier: GPL-2.0-only
/*
 * A parent is moved between two cgroup v1 memory cgroups, charges included,
 * while its children use the swap entries that they share with it.
 *
 * Children only read, so that nothing is copied and all of them keep the same
 * entries. A page that one of them maps is not swapped out by another one
 * (MADV_PAGEOUT leaves shared pages alone), hence each page belongs to one
 * child at a time.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>

#include "swap_memcg_util.h"

#define NR_CHILDREN	3

/*
 * Shared by the test, the parent that is moved, and its children. In odd
 * phases the children fault and swap out all the time; in even ones each gets
 * its pages into swap, once, and rests.
 */
struct fire {
	unsigned long phase;
	unsigned long turn;		/* which child has which pages */
	int resting;
	bool stop;
	unsigned long faults;
	unsigned long bad;
};

static struct fire *fire;
static char message[256];

/* A page belongs to one child at a time: nobody else maps it then. */
static bool page_is_mine(size_t i, int child, unsigned long turn)
{
	return (i + turn) % NR_CHILDREN == child;
}

static void fire_check(struct worker *w, size_t i)
{
	if (!page_check(w, i))
		__atomic_add_fetch(&fire->bad, 1, __ATOMIC_RELAXED);
}

static void child_main(struct worker *w, int child)
{
	unsigned long phase, turn, rested = -1UL;
	size_t i;

	cpu_pin(child);
	while (!__atomic_load_n(&fire->stop, __ATOMIC_ACQUIRE)) {
		phase = __atomic_load_n(&fire->phase, __ATOMIC_ACQUIRE);
		turn = __atomic_load_n(&fire->turn, __ATOMIC_ACQUIRE);
		if (phase == rested) {
			usleep(1000);
			continue;
		}
		for (i = 0; i < w->nr; i++) {
			if (!page_is_mine(i, child, turn))
				continue;
			fire_check(w, i);
			madvise(w->mem + i * psize(), psize(), MADV_PAGEOUT);
			__atomic_add_fetch(&fire->faults, 1, __ATOMIC_RELAXED);
		}
		if (phase % 2)
			continue;
		madvise(w->mem, w->nr * psize(), MADV_PAGEOUT);
		rested = phase;
		__atomic_add_fetch(&fire->resting, 1, __ATOMIC_ACQ_REL);
	}
	_exit(0);
}

/* In the parent that is moved: fork those that share its swapped pages. */
static long op_fork(struct worker *w, long unused_a, long unused_b)
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

static long op_join(struct worker *w, long unused_a, long unused_b)
{
	long ret = 0;
	int i, status;

	for (i = 0; i < NR_CHILDREN; i++)
		if (wait(&status) < 0 || status)
			ret = -ECHILD;
	return ret;
}

static void fire_phase(void)
{
	fire->resting = 0;
	__atomic_add_fetch(&fire->phase, 1, __ATOMIC_ACQ_REL);
}

static void fire_on(void)
{
	unsigned long n = fire->faults;

	/* all pages are in swap: other children may have them from now on */
	fire->turn++;
	fire_phase();
	/* the children are at it before the move begins */
	wait_until(__atomic_load_n(&fire->faults, __ATOMIC_RELAXED) >
		   n + 4 * NR_CHILDREN);
}

static bool fire_off(void)
{
	fire_phase();
	return wait_until(__atomic_load_n(&fire->resting, __ATOMIC_ACQUIRE) ==
			  NR_CHILDREN);
}

/* Every entry is in swap, and paid for by one of the two. */
static bool settled(struct pair *p, long nr)
{
	int tries = 100;

	long swap[2];

	while (swap[0] = pair_swap(p, 0), swap[1] = pair_swap(p, 1),
	       swap[0] + swap[1] != nr) {
		/* too much, or below zero, does not become right */
		if (swap[0] + swap[1] > nr || swap[0] < 0 || swap[1] < 0 ||
		    !--tries)
			return false;
		/* a page that waits for its LRU list is not swapped out */
		lru_drain();
		fire_phase();
		if (!fire_off())
			return false;
	}
	return true;
}

static const char *failed(struct pair *p, const char *what, long nr)
{
	snprintf(message, sizeof(message),
		 "%s: the cgroups have %ld and %ld of %ld entries", what,
		 pair_swap(p, 0), pair_swap(p, 1), nr);
	return message;
}

static const char *move_rounds(struct pair *p, struct worker *w, long nr,
			       int rounds, long least, struct moves *m)
{
	int i, at = 0, round;
	long before;

	for (round = 0; round < rounds ||
	     (round < 5 * rounds && m->moved < least); round++) {
		/* there and back, while the children fault and swap out */
		for (i = 0; i < 2; i++, at = !at) {
			before = pair_swap(p, !at);
			fire_on();
			m->during -= fire->faults;
			if (pair_move(p, w, !at, true))
				return "the parent cannot be moved";
			m->during += fire->faults;
			m->moves++;
			if (!fire_off())
				return "a child does not stop";
			if (!settled(p, nr))
				return failed(p, "after a move under fire", nr);
			if (pair_swap(p, 0) < 0 || pair_swap(p, 1) < 0)
				return failed(p, "below zero", nr);
			m->moved += pair_swap(p, !at) - before;
		}
		/* in silence: whatever was left behind is taken along */
		if (pair_move(p, w, !at, true))
			return "the parent cannot be moved";
		at = !at;
		if (pair_swap(p, at) != nr || pair_swap(p, !at))
			return failed(p, "after a move in silence", nr);
	}
	return NULL;
}

bool move_init(void)
{
	fire = shared_alloc(sizeof(*fire));
	return fire;
}

const char *move_under_fire(struct pair *p, struct worker *w, long nr,
			    int rounds, long least, struct moves *m)
{
	const char *why;

	/* swapped out first, so that the children share entries, not pages */
	if (worker_call(w, op_map, nr, MADV_NOHUGEPAGE) ||
	    worker_call(w, op_fill, 7, 0) ||
	    !wait_until(worker_call(w, op_pageout, 0, nr) == nr))
		return "the parent cannot be swapped out";
	fire->phase = 1;
	if (worker_call(w, op_fork, 0, 0) || !fire_off())
		return "no children";

	why = move_rounds(p, w, nr, rounds, least, m);
	m->faults = fire->faults;
	fire->stop = true;
	if (why)
		return why;
	if (worker_call(w, op_join, 0, 0) || fire->bad)
		return "a child has read what was not written";
	if (worker_call(w, op_verify, 0, nr))
		return "the parent has read what was not written";
	worker_stop(w);
	return NULL;
}
