// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swapoff, and several swap areas at once.
 *
 * Each area has an array of cgroup ids, indexed by offset. Swapoff reads every
 * page back, charges it to the cgroup whose id it finds there, uncharges the
 * slot, and frees the array. A wrong id charges memory to a stranger, who may
 * be OOM killed for it; a charge that is left behind stays for ever. A swapoff
 * that fails must leave the area in use, a swapon that fails must leave nothing.
 *
 * When the arrays of two areas are mixed up, a slot is charged to the user of
 * the same offset in the other area. That shows if both are in use by
 * different cgroups, to the last slot. Discard delays the reuse of slots.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/swap.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "swap_util.h"

#define NR		3		/* cgroups, with a worker each */
#define NR_PAGES	640L
#define AREA		(2 * NR * NR_PAGES)
#define ROUNDS		3

static struct {			/* shared with the workers */
	int stop;
	__u64 entry[2][NR_PAGES];	/* of each page, by worker */
} *shared;

static void interrupted(int sig)
{
}

static long op_swapoff(struct worker *w, long area, long b)
{
	const struct sigaction action = { .sa_handler = interrupted };	/* no SA_RESTART */
	char path[32];

	sigaction(SIGINT, &action, NULL);
	sprintf(path, "/dev/zram%ld", area);
	return swapoff(path) ? -errno : 0;
}

/* Swap ranges out and in, in children that share them too, until told to stop. */
static long op_load(struct worker *w, long seed, long b)
{
	long gen, i, n, half = w->nr / 2;
	int status;

	for (gen = 1; !READ_ONCE(shared->stop); gen++) {
		op_fill(w, gen, 0);
		for (i = 0; i < w->nr; i += n) {
			n = 1 + (i + gen + seed) % 61;
			if (op_pageout(w, i, n < w->nr - i ? n : w->nr - i) < 0)
				return -EIO;
		}
		op_willneed(w, half + w->nr / 4, w->nr / 8);
		if (!fork())
			_exit(!!op_verify(w, half, w->nr / 4));
		if (wait(&status) < 0 || status || op_dontneed(w, 32, 48) || op_verify(w, 0, half))
			return -EIO;
	}
	return op_verify(w, 0, w->nr);
}

FIXTURE(swapoff)
{
	char *cgroup[NR];
	struct worker worker[NR];
	int area;
};

FIXTURE_SETUP(swapoff)
{
	ASSERT_EQ(0, swap_test_begin());
	shared = shared_alloc(sizeof(*shared));
	ASSERT_NE(NULL, shared);
	self->area = swap_area_add(AREA, AREA_SSD);
	ASSERT_GE(self->area, 0);
	ASSERT_EQ(0, workers_start(self->worker, self->cgroup, NR, NR_PAGES, MADV_NOHUGEPAGE));
	/* once before anything is counted, so that each has all the memory it needs */
	ASSERT_EQ(0, workers_call(self->worker, NR, op_fill, 1));
	ASSERT_EQ(0, workers_pageout(self->worker, NR, NR_PAGES));
	ASSERT_EQ(-ENOENT, worker_call(&self->worker[2], op_swapoff, -1));
	ASSERT_EQ(0, workers_call(self->worker, NR, op_fill, 2));
}

FIXTURE_TEARDOWN(swapoff)
{
	workers_kill(self->worker, NR);
	EXPECT_EQ(0, swap_test_end());
}

TEST_F_TIMEOUT(swapoff, charges_those_who_swapped_out, TEST_SECONDS)
{
	/* of cgroup 1: every other page of worker 0, holes in those of worker 1 */
	const long hole = 77, swap[] = { NR_PAGES / 2, NR_PAGES * 3 / 2 - hole, NR_PAGES };
	/* on v1 a page in the swap cache is charged as memory only */
	const long cached = 64, uncharged = memcg_version() == 1 ? cached : 0;
	struct worker *w = self->worker;
	char **cgroup = self->cgroup;
	long i, round, user[NR];

	for (round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(0, workers_call(w, NR, op_fill, round + 1));
		ASSERT_EQ(0, worker_call(&w[0], op_dontneed, 0, NR_PAGES));
		ASSERT_EQ(0, worker_call(&w[0], op_write_half, 0, round + 1));
		ASSERT_EQ(0, cg_enter(cgroup[1], w[0].pid));
		ASSERT_EQ(0, worker_call(&w[0], op_write_half, 1, round + 1));
		ASSERT_EQ(0, cg_enter(cgroup[0], w[0].pid));
		for (i = 0; i < NR; i++)
			user[i] = memcg_anon(cgroup[i]) - (i == 1 ? hole : 0);

		ASSERT_EQ(0, workers_pageout(w, NR, NR_PAGES));
		ASSERT_EQ(0, worker_call(&w[1], op_dontneed, 33, hole));
		ASSERT_EQ(0, worker_call(&w[2], op_willneed, 7, cached));
		ASSERT_EQ(0, check_stat(cgroup[2], "swapcached", cached));
		EXPECT_EQ(0, check_slots(uncharged));
		for (i = 0; i < NR; i++)
			EXPECT_EQ(swap[i] - (i == 2 ? uncharged : 0), memcg_swap(cgroup[i]));

		ASSERT_EQ(0, swap_area_off(self->area));
		EXPECT_EQ(0, check_empty(cgroup, NR));
		for (i = 0; i < NR; i++)
			EXPECT_EQ(user[i], memcg_anon(cgroup[i]));
		EXPECT_EQ(0, workers_call(w, NR, op_verify, 0, NR_PAGES));
		ASSERT_EQ(0, swap_area_on(self->area));
	}
	EXPECT_EQ(0, check_end(self->area, self->cgroup, NR, self->worker, NR));
}

TEST_F_TIMEOUT(swapoff, of_a_removed_cgroup_charges_the_caller, TEST_SECONDS)
{
	const long unmapped = 64, swap = NR_PAGES - unmapped;
	struct worker *w = self->worker;
	char **cgroup = self->cgroup;
	long user;

	ASSERT_EQ(0, workers_pageout(w, 1, NR_PAGES));
	ASSERT_EQ(0, cg_enter(cgroup[1], w[0].pid));
	ASSERT_EQ(0, memcg_offline(cgroup[0]));
	ASSERT_EQ(0, worker_call(&w[0], op_dontneed, 0, unmapped));
	EXPECT_EQ(0, check_swap(memcg_parent(), swap));

	user = memcg_anon(cgroup[2]);
	ASSERT_EQ(0, worker_call(&w[2], op_swapoff, self->area));
	EXPECT_EQ(0, memcg_swap(memcg_parent()));
	EXPECT_EQ(user + swap, memcg_anon(cgroup[2]));
	EXPECT_EQ(0, workers_call(w, NR, op_verify, 0, NR_PAGES));
	workers_kill(w, NR);
	EXPECT_EQ(0, check_released(cgroup + 1, NR - 1));
}

TEST_F_TIMEOUT(swapoff, while_others_swap, TEST_SECONDS)
{
	struct worker *w = self->worker;
	/* of the same priority: both are used in turn */
	int area[] = { self->area, swap_area_add(AREA, AREA_SSD) }, i, round;

	ASSERT_GE(area[1], 0);
	for (i = 0; i < NR; i++)
		worker_send(&w[i], op_load, 17 * i);
	for (round = 0; round < 2 * ROUNDS; round++) {
		i = round % 2;
		ASSERT_TRUE(wait_until(swap_area_used(area[i]) >= NR_PAGES / 4));
		ASSERT_EQ(0, swap_area_off(area[i]));
		ASSERT_EQ(0, swap_area_on(area[i]));
	}
	WRITE_ONCE(shared->stop, 1);
	for (i = 0; i < NR; i++)
		ASSERT_EQ(0, worker_wait(&w[i]));
	ASSERT_EQ(0, swap_area_off(area[0]));
	EXPECT_EQ(0, check_end(area[1], self->cgroup, NR, self->worker, NR));
}

/* Try until a swapoff is interrupted before it has finished. */
static long interrupt(FIXTURE_DATA(swapoff) *self, int sig)
{
	struct worker caller;
	long ret = 0, used = 0;
	time_t begin;
	int i;

	for (i = 0; i < 20 && !ret && !used; i++) {
		if ((i && swap_area_on(self->area)) ||
		    workers_pageout(self->worker, NR, NR_PAGES) ||
		    worker_start(&caller, self->cgroup[0], NR))
			return -EIO;
		worker_send(&caller, op_swapoff, self->area);
		/* polled without a pause, which could be as long as the swapoff */
		for (begin = seconds(); swap_area_used(self->area) >= NR * NR_PAGES;)
			if (!wait_more(begin))
				return -ETIMEDOUT;
		kill(caller.pid, sig);
		ret = sig == SIGKILL ? 0 : worker_wait(&caller);
		worker_kill(&caller);
		used = swap_area_used(self->area);
	}
	return used ? ret : -EBUSY;
}

TEST_F_TIMEOUT(swapoff, interrupted_leaves_all_in_use, TEST_SECONDS)
{
	struct worker *w = self->worker;

	ASSERT_EQ(-EINTR, interrupt(self, SIGINT));
	EXPECT_EQ(0, check_workers(self->cgroup, w, NR));
	/* it is used as before, and interrupted once more */
	ASSERT_EQ(0, interrupt(self, SIGKILL));
	EXPECT_EQ(0, check_workers(self->cgroup, w, NR));
	EXPECT_EQ(0, check_end(self->area, self->cgroup, NR, self->worker, NR));
}

TEST_F_TIMEOUT(swapoff, beyond_the_memory_limit_fails, TEST_SECONDS)
{
	const bool v1 = memcg_version() == 1;
	const char *limit = v1 ? "memory.limit_in_bytes" : "memory.max";
	struct worker *w = self->worker;
	char *cgroup = self->cgroup[0];
	const long room = 100;
	long user, left;

	ASSERT_EQ(0, workers_pageout(w, 1, NR_PAGES));
	/* the OOM killer must not find a process in the cgroup */
	ASSERT_EQ(0, cg_enter(self->cgroup[1], w[0].pid));
	/* nor must pages go to other areas, if there are any */
	ASSERT_EQ(0, cg_write(cgroup, v1 ? "memory.swappiness" : "memory.swap.max", "0"));
	user = memcg_anon(cgroup);
	ASSERT_EQ(0, memcg_limit(cgroup, limit, memcg_usage(cgroup) + room));
	ASSERT_EQ(-ENOMEM, swap_area_off(self->area));
	left = worker_call(&w[0], op_swapped, 0, NR_PAGES);
	EXPECT_GT(NR_PAGES, left);
	EXPECT_LE(NR_PAGES - room, left);
	EXPECT_EQ(0, check_swap(cgroup, left));
	EXPECT_EQ(user + NR_PAGES - left, memcg_anon(cgroup));

	ASSERT_EQ(0, cg_write(cgroup, limit, v1 ? "-1" : "max"));
	ASSERT_EQ(0, swap_area_off(self->area));
	EXPECT_EQ(user + NR_PAGES, memcg_anon(cgroup));
	EXPECT_EQ(0, check_end(-1, self->cgroup, NR, self->worker, NR));
}

TEST_F_TIMEOUT(swapoff, swapon_after_one_that_failed, TEST_SECONDS)
{
	const __u32 nr_badpages = 0;
	struct worker *w = self->worker;
	int area, fd, i;
	char path[32];

	ASSERT_EQ(0, workers_pageout(w, 1, NR_PAGES));
	area = swap_area_new(AREA, AREA_BAD);
	ASSERT_GE(area, 0);
	for (i = 0; i < ROUNDS; i++)
		EXPECT_EQ(-EINVAL, swap_area_on(area));
	EXPECT_EQ(0, check_workers(self->cgroup, w, NR));

	sprintf(path, "/dev/zram%d", area);
	fd = open(path, O_WRONLY);
	ASSERT_EQ(sizeof(nr_badpages), pwrite(fd, &nr_badpages, sizeof(nr_badpages), 1032));
	close(fd);
	ASSERT_EQ(0, swap_area_on(area));
	ASSERT_EQ(0, swap_area_off(self->area));
	ASSERT_EQ(0, workers_pageout(w, NR, NR_PAGES));
	EXPECT_EQ(NR * NR_PAGES, swap_area_used(area));
	EXPECT_EQ(0, check_workers(self->cgroup, w, NR));
	EXPECT_EQ(0, check_end(area, self->cgroup, NR, self->worker, NR));
}

/* Pages that zram has freed, because a slot was freed or by discard: last field. */
static long zram_freed(int area)
{
	char path[64], buf[128];

	sprintf(path, "/sys/block/zram%d/io_stat", area);
	return read_text(path, buf, sizeof(buf)) > 0 ? atol(strrchr(buf, ' ')) : -1;
}

TEST_F_TIMEOUT(swapoff, discarded_clusters_are_used_again, TEST_SECONDS)
{
	const long cluster = swap_cluster_slots(), slots = 4 * cluster - 1;
	struct worker *w;
	char path[32];
	long freed;
	int i;

	ASSERT_EQ(0, swap_area_remove(self->area));
	self->area = swap_area_add(slots + 1, AREA_SSD);
	ASSERT_GE(self->area, 0);
	ASSERT_EQ(0, swap_area_off(self->area));
	sprintf(path, "/dev/zram%d", self->area);
	ASSERT_EQ(0, swapon(path, SWAP_FLAG_DISCARD));
	ASSERT_EQ(0, workers_call(self->worker, 2, op_map, slots, MADV_NOHUGEPAGE));
	freed = zram_freed(self->area);
	for (i = 0; i < 2 * ROUNDS; i++) {
		/* all slots, so those of clusters that were discarded too */
		w = &self->worker[i % 2];
		ASSERT_EQ(0, worker_call(w, op_fill, i + 1));
		ASSERT_EQ(0, worker_pageout(w, slots));
		EXPECT_EQ(slots, memcg_swap(self->cgroup[i % 2]));
		EXPECT_EQ(0, check_slots(0));
		EXPECT_EQ(0, worker_call(w, op_verify, 0, slots));
		EXPECT_EQ(0, check_slots(0));
		EXPECT_EQ(0, check_empty(self->cgroup, NR));
		ASSERT_EQ(0, worker_call(w, op_dontneed, 0, slots));
	}
	/* two of the three clusters without the header, in all rounds but the last */
	EXPECT_LE(i * slots + (i - 1) * 2 * cluster, zram_freed(self->area) - freed);
	EXPECT_EQ(0, check_end(self->area, self->cgroup, NR, self->worker, NR));
}

static long op_entries(struct worker *w, long i, long b)
{
	return swap_entries(w, 0, w->nr, shared->entry[i]);
}

/* Two full areas, used in turn as the workers take turns. */
TEST_F_TIMEOUT(swapoff, of_full_areas_of_the_same_priority, TEST_SECONDS)
{
	const long unmapped = 77;
	long i, k, a, b, same = 0, user[2], area[2];
	struct worker *w = self->worker;

	/* a CPU's slot cache is of one area */
	if (online_cpus() < 2)
		SKIP(return, "needs two CPUs");
	ASSERT_EQ(0, swap_area_remove(self->area));
	for (i = 0; i < 2; i++) {
		area[i] = swap_area_add(NR_PAGES + 1, AREA_SSD);
		ASSERT_GE(area[i], 0);
	}
	for (i = 0; i < 2 * NR_PAGES; i++)
		ASSERT_LE(0, worker_call(&w[i % 2], op_pageout, i / 2, 1));
	ASSERT_EQ(0, workers_pageout(w, 2, NR_PAGES));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(NR_PAGES, swap_area_used(area[i]));
		ASSERT_EQ(0, worker_call(&w[i], op_entries, i));
	}
	for (i = 0; i < NR_PAGES * NR_PAGES; i++) {
		a = shared->entry[0][i % NR_PAGES];
		b = shared->entry[1][i / NR_PAGES];
		same += a >> SWAP_TYPE_BITS == b >> SWAP_TYPE_BITS && SWAP_TYPE(a) != SWAP_TYPE(b);
	}
	ksft_print_msg("%ld of %ld offsets are used by both cgroups\n", same, NR_PAGES);
	ASSERT_LE(NR_PAGES / 2, same);
	EXPECT_EQ(0, check_workers(self->cgroup, w, 2));

	for (i = 0; i < 2; i++)
		user[i] = memcg_anon(self->cgroup[i]) + NR_PAGES;

	/* free slots of the first one, take an area away: the rest stays as it is */
	ASSERT_EQ(0, worker_call(&w[0], op_dontneed, 33, unmapped));
	user[0] -= unmapped;
	for (k = 1; k >= 0; k--) {
		EXPECT_EQ(0, check_workers(self->cgroup, w, 2));
		ASSERT_EQ(0, swap_area_off(area[k]));
		for (i = 0; i < 2; i++)
			EXPECT_EQ(user[i] - memcg_swap(self->cgroup[i]),
				  memcg_anon(self->cgroup[i]));
	}
	EXPECT_EQ(0, check_end(-1, self->cgroup, NR, self->worker, NR));
}

int main(int argc, char **argv)
{
	swap_test_init(MEMCG_V1 | MEMCG_V2);
	return test_harness_run(argc, argv);
}
