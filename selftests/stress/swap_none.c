// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exits on a system that has no swap area, or has none any more.
 *
 * For the swap entries that a task unmaps, the kernel looks up which memory
 * cgroups are charged. Without a swap area there is nothing to look into: an
 * exit followed a NULL pointer when a damaged page table entry looked like a
 * swap entry (Linux commit 63b02a9409cb). Other entries must not get that far
 * either: those of pages that are being migrated, and markers that poison an
 * address. So processes with such entries fork, unmap and exit on all CPUs at
 * once, while memory is compacted. The kernel must not complain.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "swap_util.h"

#define MAX_WORKERS	16
#define CHILDREN	8
#define COMPACT		"/proc/sys/vm/compact_memory"

FIXTURE(none)
{
	char *cgroup[MAX_WORKERS];
	struct worker worker[MAX_WORKERS];
	int nr;
};

FIXTURE_VARIANT(none)
{
	bool swapoff;
};

FIXTURE_VARIANT_ADD(none, never) { .swapoff = false };
FIXTURE_VARIANT_ADD(none, any_more) { .swapoff = true };

FIXTURE_SETUP(none)
{
	ASSERT_EQ(0, swap_test_begin());
	self->nr = cpus_between(4, MAX_WORKERS);
}

FIXTURE_TEARDOWN(none)
{
	workers_kill(self->worker, self->nr);
	EXPECT_EQ(0, swap_test_undo());
}

/* Poison some addresses. The markers stay when the file is closed. */
static int poison(struct worker *w)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_POISON };
	struct uffdio_range mem = { (unsigned long)w->mem, w->nr * psize() };
	struct uffdio_register reg = { .range = mem, .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_poison poison = { .range.len = psize() };
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC);
	long i;

	if (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))
		return -errno;
	for (i = 3; i < w->nr; i += 7) {
		poison.range.start = (unsigned long)w->mem + i * psize();
		if (op_dontneed(w, i, 1) || ioctl(fd, UFFDIO_POISON, &poison))
			return -errno;
	}
	return close(fd);
}

/* Children unmap a part and exit, while their memory is compacted. */
static long op_exits(struct worker *w, long a, long b)
{
	long i, part = w->nr / CHILDREN;
	int status, ret = op_dontneed(w, 0, w->nr) ?: op_fill(w, 1, 0) ?: poison(w);

	for (i = 0; i < CHILDREN; i++)
		if (!fork())
			_exit(op_verify(w, 0, w->nr) || op_dontneed(w, i * part, part));
	if (write_text(COMPACT, "1", 1) < 0 || op_dontneed(w, part, part))
		ret = -EIO;
	for (i = 0; i < CHILDREN; i++)
		if (wait(&status) < 0 || status)
			ret = -ECHILD;
	return ret ?: op_verify(w, 0, w->nr);
}

TEST_F_TIMEOUT(none, exits, TEST_SECONDS)
{
	long moved = vm_event("pgmigrate_success"), pages = swap_cluster_slots(), n;
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK), area, bad = 0;
	struct worker *w = self->worker;
	char line[8192] = "";

	ASSERT_GE(lseek(kmsg, 0, SEEK_END), 0);
	ASSERT_EQ(0, workers_start(w, self->cgroup, self->nr, pages, MADV_NOHUGEPAGE));
	ASSERT_EQ(0, workers_call(w, self->nr, op_fill, 1));
	if (variant->swapoff) {
		area = swap_area_add(2 * self->nr * pages, false, 0);
		ASSERT_GT(workers_call(w, self->nr, op_pageout, 0, pages), 0);
		ASSERT_EQ(0, swap_area_remove(area));
	}
	/* until there were migration entries */
	wait_until((n = workers_call(w, self->nr, op_exits)) ||
		   vm_event("pgmigrate_success") > moved);
	ASSERT_EQ(0, n);
	ASSERT_GT(vm_event("pgmigrate_success"), moved);
	workers_kill(w, self->nr);
	ASSERT_EQ(0, check_gone(self->cgroup, self->nr));
	/* what an exit says when it has taken another entry for one of swap */
	while (read(kmsg, line, sizeof(line) - 1) > 0)
		bad |= !!strstr(line, "BUG: Bad rss-counter state");
	ASSERT_EQ(0, bad);
}

int main(int argc, char **argv)
{
	struct sysinfo info;

	swap_test_init(MEMCG_V1 | MEMCG_V2);
	if (sysinfo(&info) || info.totalswap)
		ksft_exit_skip("there is other swap\n");
	if (access(COMPACT, W_OK) || syscall(__NR_userfaultfd, O_CLOEXEC) < 0)
		ksft_exit_skip("needs compaction and userfaultfd\n");
	return test_harness_run(argc, argv);
}
