// SPDX-License-Identifier: GPL-2.0-only
/*
 * A swap area whose map of owners cannot be had, and one that fails after it.
 *
 * swapon allocates the map from slots to memory cgroups page by page: 2 bytes
 * a slot, 512 MB for an area of 1 TB. When memory runs out half way, swapon has
 * a way out: it can fail, and whoever runs it can take a smaller area. But if
 * the allocation insists, the OOM killer runs first, and goes on to kill one
 * process after the other for an administrator's typing error, most likely a
 * database, before swapon itself is picked.
 *
 * So an area is made that is too large for the map but not for the array of
 * counts, of 1 byte a slot, which is allocated before it: with F bytes free,
 * 0.6 F slots. swapon must say ENOMEM and nobody be killed. Two processes stand
 * by to be killed first, so that a kernel that does kill harms nobody else and
 * the test can tell: one that does nothing, then the one that calls swapon.
 *
 * What has failed must leave nothing behind: the area that comes next gets the
 * same number, and its slots must be paid for exactly. A map that is not given
 * back when swapon fails later on is found by its size.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/swap.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define NR_PAGES	1024		/* of the small area's user */
#define BYSTANDER	256		/* pages of the one that does nothing */
#define MAX_MEMORY	(4L << 20)	/* KB: what a test may use up */
#define FAIL_SLOTS	1048576		/* of an area that fails late */
#define FAIL_ROUNDS	60
#define FAIL_KB		(2 * FAIL_SLOTS / 1024L)	/* of its map */
#define MAX_LOST	(FAIL_ROUNDS * FAIL_KB / 3)
#define NO_MAP		"couldn't allocate enough memory for swap_cgroup"

static char device[64];			/* as the workers know it */

FIXTURE(swap_memcg_nomap)
{
	char *cgroup;
	struct worker user;
	struct worker bystander;
	struct worker swapper;
	int area;			/* the file of the area that fails */
};

static long memory_kb(const char *key)
{
	char buf[4096], *s;

	if (read_text("/proc/meminfo", buf, sizeof(buf)) < 0)
		return -1;
	s = strstr(buf, key);
	return s ? atol(s + strlen(key)) : -1;
}

/* KB that can be had: caches are emptied, so that it is no estimate. */
static long memory_free(void)
{
	write_text("/proc/sys/vm/drop_caches", "3", 1);
	return memory_kb("MemAvailable:");
}

static long op_oom_score(struct worker *w, long score, long unused)
{
	char buf[16];

	snprintf(buf, sizeof(buf), "%ld", score);
	return write_text("/proc/self/oom_score_adj", buf, strlen(buf)) < 0 ?
		-errno : 0;
}

static long op_swapon(struct worker *w, long rounds, long expected)
{
	long ret = -EINVAL;

	while (rounds--) {
		ret = swapon(device, 0) ? -errno : 0;
		if (ret != expected)
			break;
	}
	return ret;
}

/* Not killed: it has not ended, reaped or not. */
static bool worker_lives(struct worker *w)
{
	siginfo_t info = {};

	return !waitid(P_PID, w->pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       !info.si_pid;
}

FIXTURE_SETUP(swap_memcg_nomap)
{
	const char *why;

	why = memcg_setup(2);
	if (why)
		SKIP(return, "%s", why);
	if (swap_in_use())
		SKIP(return, "other swap is in use: it makes room for the map");
	if (access("/dev/loop-control", R_OK))
		SKIP(return, "no loop device: CONFIG_BLK_DEV_LOOP");
	if (memory_kb("MemTotal:") > MAX_MEMORY)
		SKIP(return, "too much memory to use it all up");

	self->cgroup = memcg_add("user", 0);
	ASSERT_NE(NULL, self->cgroup);
	ASSERT_EQ(0, worker_start(&self->user, self->cgroup, 0));
	ASSERT_EQ(0, worker_call(&self->user, op_map, NR_PAGES,
				 MADV_NOHUGEPAGE));
}

FIXTURE_TEARDOWN(swap_memcg_nomap)
{
	worker_kill(&self->user);
	worker_kill(&self->bystander);
	worker_kill(&self->swapper);
	if (self->area > 0)
		close(self->area);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

/* An area that comes after the one that failed is like any other. */
static void small_area_works(struct __test_metadata *_metadata,
			     struct _test_data_swap_memcg_nomap *self)
{
	struct worker *w = &self->user;
	int area = swap_area_add(4 * NR_PAGES, false), round;
	long n;

	ASSERT_GE(area, 0);
	for (round = 1; round <= 2; round++) {
		ASSERT_EQ(0, worker_call(w, op_fill, round, 0));
		/* a page may be busy for a moment */
		ASSERT_TRUE(wait_until((n = worker_call(w, op_pageout, 0,
							NR_PAGES)) == NR_PAGES));
		EXPECT_STREQ("", memcg_check_slots(0) ?: "");
		EXPECT_EQ(n, memcg_swap(self->cgroup));
		ASSERT_EQ(0, worker_call(w, op_verify, 0, NR_PAGES));
	}
	ASSERT_EQ(0, swap_area_off(area));
	EXPECT_STREQ("", memcg_check_empty(&self->cgroup, 1) ?: "");
	EXPECT_EQ(0, worker_call(w, op_verify, 0, NR_PAGES));
	worker_stop(w);
	EXPECT_STREQ("", memcg_check_gone(&self->cgroup, 1) ?: "");
}

/* The lines that the kernel has printed since @kmsg was opened, for one. */
static bool kmsg_has(int kmsg, const char *text)
{
	char line[8192];
	ssize_t n;

	while ((n = read(kmsg, line, sizeof(line) - 1)) > 0 ||
	       (n < 0 && errno == EPIPE)) {
		if (n > 0) {
			line[n] = 0;
			if (strstr(line, text))
				return true;
		}
	}
	return false;
}

TEST_F_TIMEOUT(swap_memcg_nomap, no_memory_for_the_map, TEST_SECONDS)
{
	long kills, slots, kb, ret;
	int kmsg;

	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	ASSERT_GE(kmsg, 0);
	lseek(kmsg, 0, SEEK_END);

	ASSERT_EQ(0, worker_start(&self->bystander, NULL, 1));
	ASSERT_EQ(0, worker_call(&self->bystander, op_map, BYSTANDER,
				 MADV_NOHUGEPAGE));
	ASSERT_EQ(0, worker_call(&self->bystander, op_fill, 1, 0));
	ASSERT_EQ(0, worker_call(&self->bystander, op_oom_score, 1000, 0));

	kb = memory_free();
	ASSERT_GT(kb, 0);
	slots = kb * 1024 / 10 * 6;
	self->area = swap_sparse_open(slots, 0, device, sizeof(device));
	ASSERT_GE(self->area, 0);
	/* started now: it knows the device */
	ASSERT_EQ(0, worker_start(&self->swapper, NULL, 0));
	ASSERT_EQ(0, worker_call(&self->swapper, op_oom_score, 999, 0));

	kills = vm_event("oom_kill");
	ret = worker_call(&self->swapper, op_swapon, 1, -ENOMEM);
	kills = vm_event("oom_kill") - kills;
	EXPECT_EQ(-ENOMEM, ret);
	EXPECT_EQ(0, kills);
	EXPECT_TRUE(worker_lives(&self->bystander));
	/* and not for an earlier or a later allocation */
	EXPECT_TRUE(kmsg_has(kmsg, NO_MAP));
	close(kmsg);
	EXPECT_FALSE(swap_in_use());

	worker_kill(&self->bystander);
	worker_kill(&self->swapper);
	small_area_works(_metadata, self);
	ksft_print_msg("memory: %ld KB, slots: %ld, which need %ld KB for their owners\n",
		       kb, slots, 2 * slots / 1024);
	ASSERT_GT(2 * slots / 1024 + slots / 1024, kb);
}

TEST_F_TIMEOUT(swap_memcg_nomap, swapon_fails_after_the_map, TEST_SECONDS)
{
	long before, lost;

	/* page 0 is the header and cannot be bad: read after the map is made */
	self->area = swap_sparse_open(FAIL_SLOTS, 1, device, sizeof(device));
	ASSERT_GE(self->area, 0);
	ASSERT_EQ(0, worker_start(&self->swapper, NULL, 0));
	ASSERT_EQ(-EINVAL, worker_call(&self->swapper, op_swapon, 1, -EINVAL));

	before = memory_free();
	ASSERT_EQ(-EINVAL, worker_call(&self->swapper, op_swapon, FAIL_ROUNDS,
				       -EINVAL));
	lost = before - memory_free();
	small_area_works(_metadata, self);
	ksft_print_msg("%d maps of %ld KB given back, %ld KB lost (at most %ld)\n",
		       FAIL_ROUNDS, FAIL_KB, lost, MAX_LOST);
	EXPECT_LE(lost, MAX_LOST);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
