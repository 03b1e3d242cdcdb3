// SPDX-License-Identifier: GPL-2.0-only
/*
 * Uncommon users of swap slots, and which memory cgroup is charged.
 *
 * UFFDIO_MOVE moves swap entries from one mapping of a process to another,
 * maybe while other threads read and swap out: the slots stay what they are.
 * memory.reclaim swaps out a frozen cgroup, whose processes may be killed before
 * they run again. Hibernation takes slots that belong to no cgroup: one that
 * still has the id of its last user would uncharge this one when it is freed.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <linux/suspend_ioctls.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../kselftest_harness.h"
#include "swap_util.h"

#define NR_PAGES	1024L
#define HALF		(NR_PAGES / 2)
#define NR_SLOTS	(3 * NR_PAGES)
#define NR_HIBERNATION	(NR_PAGES * 3 / 2)

static struct shared {
	bool stop;
	long rounds;
} *shared;

FIXTURE(paths)
{
	char *cgroup[2];
	struct worker worker[2];
	int area, fd;			/* of /dev/snapshot: swapoff waits for its slots */
};

FIXTURE_SETUP(paths)
{
	ASSERT_EQ(0, swap_test_begin());
	shared = shared_alloc(sizeof(*shared));
	ASSERT_NE(NULL, shared);
	self->area = swap_area_add(NR_SLOTS, AREA_SSD);
	ASSERT_LE(0, self->area);
	ASSERT_EQ(0, workers_start(self->worker, self->cgroup, 2, NR_PAGES, MADV_NOHUGEPAGE));
}

FIXTURE_TEARDOWN(paths)
{
	workers_kill(self->worker, 2);
	if (self->fd > 0)
		close(self->fd);
	EXPECT_EQ(0, swap_test_end());
}

/* in the worker: another mapping, and the direction of a move */
static struct worker second, *from, *to;
static int uffd;
static long moved;
static bool moving;

static bool userfaultfd_open(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_MOVE };

	uffd = syscall(__NR_userfaultfd, O_CLOEXEC);
	return uffd >= 0 && !ioctl(uffd, UFFDIO_API, &api);
}

static long op_userfaultfd(struct worker *w, long a, long b)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct worker *map[] = { w, &second };
	int i;

	second = *w;
	if (!userfaultfd_open() || op_map(&second, NR_PAGES, MADV_NOHUGEPAGE))
		return -errno;
	for (i = 0; i < 2; i++) {
		reg.range.start = (unsigned long)map[i]->mem;
		reg.range.len = NR_PAGES * psize();
		if (ioctl(uffd, UFFDIO_REGISTER, &reg))
			return -errno;
	}
	return 0;
}

/* Move the first half, in pieces; a page that is busy is tried again. */
static void *move(void *unused)
{
	struct uffdio_move m = { };
	long i = 0, nr, tries;

	cpu_pin(1);
	for (tries = 0; i < HALF && tries < 100000; tries++) {
		nr = i % 61 + 1;
		m.src = (unsigned long)(from->mem + i * psize());
		m.dst = (unsigned long)(to->mem + i * psize());
		m.len = (nr < HALF - i ? nr : HALF - i) * psize();
		m.move = 0;
		if (ioctl(uffd, UFFDIO_MOVE, &m) && errno != EAGAIN && errno != EBUSY)
			break;
		if (m.move > 0)
			i += m.move / psize();
	}
	moved = i;
	WRITE_ONCE(moving, false);
	return NULL;
}

/* Move the first half while another thread reads and swaps out the second. */
static long op_move(struct worker *w, long back, long b)
{
	__u64 before[HALF], after[HALF];
	pthread_t thread;
	long i, ret = 0;

	moving = true;
	from = back ? &second : w;
	to = back ? w : &second;
	if (swap_entries(from, 0, HALF, before) || pthread_create(&thread, NULL, move, NULL))
		return -EIO;
	for (i = 0; ret >= 0 && (i < HALF || READ_ONCE(moving)); i += 32)
		ret = op_verify(w, HALF + i % HALF, 32) ?: op_pageout(w, HALF + i % HALF, 32);
	pthread_join(thread, NULL);
	if (ret < 0 || moved != HALF || swap_entries(to, 0, HALF, after) ||
	    memcmp(before, after, sizeof(before)))
		return -EINVAL;
	return op_swapped(from, 0, HALF);
}

TEST_F_TIMEOUT(paths, uffdio_move, TEST_SECONDS)
{
	struct worker *w = &self->worker[0];
	long i, back, user[2];

	if (!userfaultfd_open() && (errno == ENOSYS || errno == EINVAL))
		SKIP(return, "needs UFFDIO_MOVE");
	/* alternating pages of both cgroups */
	ASSERT_EQ(0, worker_call(w, op_write_half, 0, 1));
	ASSERT_EQ(0, cg_enter(self->cgroup[1], w->pid));
	ASSERT_EQ(0, worker_call(w, op_write_half, 1, 1));
	ASSERT_EQ(0, worker_pageout(w, NR_PAGES));
	ASSERT_EQ(0, worker_call(w, op_userfaultfd));
	/* some in the swap cache */
	ASSERT_EQ(0, worker_call(w, op_willneed, 0, HALF / 4));
	for (back = 0; back < 2; back++) {
		ASSERT_EQ(0, worker_call(w, op_move, back));
		ASSERT_TRUE(wait_until((lru_drain(),
					worker_call(w, op_pageout, HALF, HALF) == HALF)));
		EXPECT_EQ(0, check_slots(0));
		for (i = 0; i < 2; i++)
			EXPECT_EQ(HALF, memcg_swap(self->cgroup[i]));
	}
	/* each page returns to its cgroup */
	for (i = 0; i < 2; i++)
		user[i] = memcg_anon(self->cgroup[i]);
	ASSERT_EQ(0, worker_call(w, op_verify));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(user[i] + HALF, memcg_anon(self->cgroup[i]));
	EXPECT_EQ(0, check_slots(0));
	EXPECT_EQ(0, check_end(self->area, self->cgroup, 2, self->worker, 2));
}

TEST_F_TIMEOUT(paths, frozen_cgroup, TEST_SECONDS)
{
	struct worker *w = self->worker;
	char *cgroup;
	int i;

	ASSERT_EQ(0, workers_call(w, 2, op_fill, 1));
	for (i = 0; i < 2; i++) {
		cgroup = self->cgroup[i];
		ASSERT_EQ(0, cg_write(cgroup, "cgroup.freeze", "1"));
		ASSERT_TRUE(wait_until(cg_read_key_long(cgroup, "cgroup.events", "frozen ") == 1));
		ASSERT_TRUE(wait_until((memcg_limit(cgroup, "memory.reclaim", HALF),
					memcg_swap(cgroup) >= HALF)));
	}
	EXPECT_EQ(0, check_slots(0));
	worker_kill(&w[1]);
	EXPECT_EQ(0, check_slots(0));
	EXPECT_EQ(0, memcg_swap(self->cgroup[1]));
	ASSERT_EQ(0, cg_write(self->cgroup[0], "cgroup.freeze", "0"));
	ASSERT_EQ(0, worker_pageout(&w[0], NR_PAGES));
	EXPECT_EQ(0, check_workers(self->cgroup, w, 2));
	EXPECT_EQ(0, check_end(self->area, self->cgroup, 2, self->worker, 2));
}

static long op_swap(struct worker *w, long a, long b)
{
	while (!READ_ONCE(shared->stop)) {
		if (op_pageout(w, 0, NR_PAGES) < 0 || op_verify(w, 0, NR_PAGES))
			return -EIO;
		shared->rounds++;
	}
	return 0;
}

TEST_F_TIMEOUT(paths, hibernation, TEST_SECONDS)
{
	struct resume_swap_area dev = { };
	struct worker *w = self->worker;
	int i;
	loff_t block;
	struct stat st;
	char path[32];
	long rounds;

	snprintf(path, sizeof(path), "/dev/zram%d", self->area);
	ASSERT_EQ(0, stat(path, &st));
	dev.dev = st.st_rdev;
	self->fd = open("/dev/snapshot", O_RDONLY);
	if (self->fd < 0 && (errno == ENOENT || errno == ENODEV || errno == EPERM))
		SKIP(return, "needs /dev/snapshot");
	ASSERT_LT(0, self->fd);
	ASSERT_EQ(0, ioctl(self->fd, SNAPSHOT_SET_SWAP_AREA, &dev));

	/* one leaves its slots to hibernation, while the other one swaps */
	ASSERT_EQ(0, workers_call(w, 2, op_fill, 1));
	ASSERT_EQ(0, workers_pageout(w, 2, NR_PAGES));
	ASSERT_EQ(0, worker_call(&w[1], op_dontneed, 0, NR_PAGES));
	EXPECT_EQ(0, check_workers(self->cgroup, w, 2));
	worker_send(&w[0], op_swap);
	for (i = 0; i < 2 * NR_HIBERNATION; i++) {
		if (i == NR_HIBERNATION)
			ASSERT_EQ(0, ioctl(self->fd, SNAPSHOT_FREE_SWAP_PAGES));
		ASSERT_EQ(0, ioctl(self->fd, SNAPSHOT_ALLOC_SWAP_PAGE, &block));
		ASSERT_TRUE(i % 64 || !kernel_complained());
	}
	rounds = READ_ONCE(shared->rounds);
	ASSERT_TRUE(wait_until(READ_ONCE(shared->rounds) > rounds));
	WRITE_ONCE(shared->stop, true);
	ASSERT_EQ(0, worker_wait(&w[0]));

	ASSERT_EQ(0, worker_pageout(&w[0], NR_PAGES));
	ASSERT_EQ(0, swap_drain_slot_caches());
	EXPECT_EQ(NR_PAGES, memcg_swap(self->cgroup[0]));
	EXPECT_EQ(0, memcg_swap(self->cgroup[1]));
	EXPECT_EQ(NR_PAGES + NR_HIBERNATION, swap_slots_used());
	ASSERT_EQ(0, ioctl(self->fd, SNAPSHOT_FREE_SWAP_PAGES));
	EXPECT_EQ(0, check_workers(self->cgroup, w, 2));
	EXPECT_EQ(0, check_end(self->area, self->cgroup, 2, self->worker, 2));
}

int main(int argc, char **argv)
{
	swap_test_init(MEMCG_V2);
	return test_harness_run(argc, argv);
}
