// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap accounting on cgroup v1 while processes and their charges are moved.
 *
 * On v1 the id of the charged cgroup is stored when a page leaves the swap
 * cache and cleared when it is read back, and a process that is moved can take
 * its charges along (memory.move_charge_at_immigrate). That is done by walking
 * its page tables, which stops nobody who shares a swap entry through other
 * ones: a child may read it in or swap it out at this moment. If the new id is
 * stored just after the old one was cleared, one cgroup stays charged for ever
 * and the other one's counter drops below what it uses.
 *
 * Pages of one process can also be charged to different cgroups, and lie next
 * to each other in swap. A range that is freed or read as one must end where
 * the cgroup changes. Otherwise one cgroup gets back what another one was
 * charged, and kernels with CONFIG_DEBUG_VM stop at "kernel BUG at
 * mm/swap_cgroup.c", which syzbot saw in linux-next in August 2024
 * (4745e725b07d34503a64).
 */
#define _GNU_SOURCE

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "swap_util.h"

#define NR_PAGES	512L
#define AREA		(8 * NR_PAGES)
#define SWAPPED		32		/* pages of each cgroup that stay in swap */
#define FOLIO_KB	64
#define BLOCK		16		/* pages */

FIXTURE(concurrent_move)
{
	struct v1_cgroups v1;
};

FIXTURE_SETUP(concurrent_move)
{
	ASSERT_EQ(0, v1_setup(&self->v1, AREA, SWAPPED));
}

FIXTURE_TEARDOWN(concurrent_move)
{
	EXPECT_EQ(0, v1_end(&self->v1));
}

TEST_F_TIMEOUT(concurrent_move, of_many_entries, TEST_SECONDS)
{
	EXPECT_EQ(0, v1_concurrent_move(&self->v1, NR_PAGES, 4, 1000));
}

TEST_F_TIMEOUT(concurrent_move, of_few_entries, TEST_SECONDS)
{
	EXPECT_EQ(0, v1_concurrent_move(&self->v1, 4, 8, 8));
}

/*
 * A process with pages of two parts, for two cgroups: page by page in its first
 * half, block by block in the second one.
 */

static int part(long i)
{
	return (i < NR_PAGES / 2 ? i : i / BLOCK) % 2;
}

static long op_write_part(struct worker *w, long nr, long gen)
{
	long i;

	for (i = 0; i < w->nr; i++)
		if (part(i) == nr)
			page_write(w, i, gen);
	return 0;
}

/* Pages of a part in swap; or only those just behind one of the other part. */
static long op_swapped_part(struct worker *w, long nr, long borders)
{
	__u64 off[NR_PAGES];
	long i, n = 0;

	if (swap_offsets(w, 0, w->nr, off))
		return -EIO;
	for (i = 0; i < w->nr; i++)
		if (off[i] && part(i) == nr)
			n += !borders || (i && off[i] == off[i - 1] + 1 && part(i - 1) != nr);
	return n;
}

/* Fork a child that has the pages of the second part only, and stops; its pid. */
static long op_fork_part(struct worker *w, long a, long b)
{
	pid_t pid = fork();
	int status;
	long i;

	if (!pid) {
		for (i = 0; i < w->nr; i++)
			if (!part(i))
				madvise(w->mem + i * psize(), psize(), MADV_DONTNEED);
		raise(SIGSTOP);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		return -ECHILD;
	return pid;
}

static long op_kill(struct worker *w, long pid, long b)
{
	kill(pid, SIGKILL);
	return waitpid(pid, NULL, 0) == pid ? 0 : -errno;
}

FIXTURE(neighbours)
{
	struct v1_cgroups v1;
};

FIXTURE_VARIANT(neighbours)
{
	bool charges_moved;		/* or only the process */
	bool large;			/* folios */
};

FIXTURE_VARIANT_ADD(neighbours, process_moved) { };
FIXTURE_VARIANT_ADD(neighbours, charges_moved) { .charges_moved = true, };
FIXTURE_VARIANT_ADD(neighbours, charges_moved_large) { .charges_moved = true, .large = true, };

FIXTURE_SETUP(neighbours)
{
	if (variant->large && !thp_swap_supported(FOLIO_KB))
		SKIP(return, "no folios of %d kB", FOLIO_KB);
	ASSERT_EQ(0, v1_setup(&self->v1, AREA, SWAPPED));
	ASSERT_EQ(0, folio_only(variant->large ? FOLIO_KB : 0));
	ASSERT_EQ(0, worker_start(&self->v1.process, self->v1.cgroup[0], 0));
	ASSERT_EQ(0, worker_call(&self->v1.process, op_map, NR_PAGES,
				 variant->large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE));
}

FIXTURE_TEARDOWN(neighbours)
{
	EXPECT_EQ(0, v1_end(&self->v1));
}

/* Each cgroup is charged for its part of what is in swap. */
static int check_parts(struct v1_cgroups *v)
{
	int i, ret = check_slots(0);

	for (i = 0; i < 2; i++)
		ret = check_charge(v->cgroup[i], v1_swap(v, i),
				   worker_call(&v->process, op_swapped_part, i)) ?: ret;
	return ret;
}

TEST_F_TIMEOUT(neighbours, freed_and_read, TEST_SECONDS)
{
	struct v1_cgroups *v = &self->v1;
	struct worker *w = &v->process;
	long child, borders, before;

	if (variant->charges_moved) {
		ASSERT_EQ(0, worker_call(w, op_fill, 1));
	} else {
		ASSERT_EQ(0, worker_call(w, op_write_part, 0, 1));
		ASSERT_EQ(0, v1_move(v, w->pid, 1, false));
		ASSERT_EQ(0, worker_call(w, op_write_part, 1, 2));
	}
	ASSERT_EQ(0, worker_pageout(w, NR_PAGES));
	if (variant->charges_moved) {
		child = worker_call(w, op_fork_part);
		ASSERT_LT(0, child);
		ASSERT_EQ(0, v1_move(v, child, 1, true));
		ASSERT_EQ(0, worker_call(w, op_kill, child));
	}
	EXPECT_EQ(0, check_parts(v));
	borders = worker_call(w, op_swapped_part, 1, true);
	ksft_print_msg("%ld neighbours of different cgroups\n", borders);
	EXPECT_LE(NR_PAGES / 8, borders);

	/* ranges of both that begin and end anywhere */
	ASSERT_EQ(0, worker_call(w, op_dontneed, 33, NR_PAGES / 4 + 1));
	ASSERT_EQ(0, worker_call(w, op_dontneed, NR_PAGES / 2 + 5, 3 * BLOCK));
	EXPECT_EQ(0, check_parts(v));
	ASSERT_EQ(0, worker_call(w, op_verify, 1, 21));
	EXPECT_EQ(0, check_parts(v));
	before = worker_call(w, op_swapped, 0, NR_PAGES);
	ASSERT_EQ(0, worker_call(w, op_verify, NR_PAGES - 3 * BLOCK - 1, 1));
	EXPECT_EQ(0, check_parts(v));
	/* a folio of one cgroup is read as one */
	EXPECT_EQ(variant->large && !zswap_used() ? FOLIO_KB * 1024 / psize() : 1,
		  before - worker_call(w, op_swapped, 0, NR_PAGES));
	ASSERT_EQ(0, worker_call(w, op_verify, NR_PAGES / 2 + 1, NR_PAGES / 4));
	EXPECT_EQ(0, check_parts(v));
	/* all others are freed by exit */
	EXPECT_EQ(0, check_v1_end(v));
}

int main(int argc, char **argv)
{
	v1_test_init();
	return test_harness_run(argc, argv);
}
