// SPDX-License-Identifier: GPL-2.0-only
/*
 * Zswap before the swap area: who pays for a slot whose page is not there yet.
 *
 * With zswap a page that is swapped out gets its slot, and the slot its
 * record, but the contents stay in memory, compressed. Later, behind the back
 * of the one it belongs to, writeback reads an entry into the swap cache and
 * writes it to its slot; the process may be reading it in, freeing it or
 * exiting at this moment. The slot stays the same all the time, and so must
 * its record: writeback that clears it, or records it anew, leaves a cgroup
 * that pays twice or not at all, and so does a page that zswap refuses because
 * it cannot be compressed.
 *
 * A cgroup that is beyond its memory.zswap.max has an entry written back, the
 * oldest that was not stored or passed over since, for each page that it
 * stores. So one worker's pages are in zswap, the limit is set below what they
 * take, and a second worker of the same cgroup swaps out until a least number
 * of pages was written back.
 *
 * Once zswap was on, no large folio is read back from swap as one until the
 * next boot: tests of that come before.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

#define NR		2		/* cgroups */
#define NR_WORKERS	3		/* the last one in the first cgroup */
#define OTHER		2
#define NR_PAGES	256		/* of each worker */
#define MIN_BACK	200		/* pages written back at least */
#define MIN_RACED	100		/* the same, while others use them */

static struct shared {
	int stop;
	long reads;
} *shared;

FIXTURE(zswap)
{
	char *cgroup[NR];
	struct worker worker[NR_WORKERS];
	int area;
};

FIXTURE_SETUP(zswap)
{
	const char *why;
	int i;

	why = memcg_setup(2);
	if (why)
		SKIP(return, "%s", why);
	why = zswap_enable();
	if (why)
		SKIP(return, "%s", why);
	shared = shared_alloc(sizeof(*shared));
	ASSERT_NE(NULL, shared);

	self->area = swap_area_add(4 * NR_WORKERS * NR_PAGES, false);
	ASSERT_GE(self->area, 0);
	for (i = 0; i < NR; i++) {
		self->cgroup[i] = memcg_add("zswap", i);
		ASSERT_NE(NULL, self->cgroup[i]);
	}
	for (i = 0; i < NR_WORKERS; i++) {
		ASSERT_EQ(0, worker_start(&self->worker[i],
					  self->cgroup[i % NR], i));
		ASSERT_EQ(0, worker_call(&self->worker[i], op_map, NR_PAGES,
					 MADV_NOHUGEPAGE));
	}
}

FIXTURE_TEARDOWN(zswap)
{
	workers_kill(self->worker, NR_WORKERS);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

/* The pages of a cgroup that are in zswap; the kernel counts with a lag. */
static bool in_zswap(char *cgroup, long nr)
{
	return wait_until(memcg_stat(cgroup, "zswapped ") == nr);
}

static long written_back(char *cgroup)
{
	return cg_read_key_long(cgroup, "memory.stat", "zswpwb ");
}

/*
 * Each cgroup pays for what it has swapped out, in zswap or not. Of @cached
 * pages at most, slot and page are there at the same time.
 */
static void check_exact(struct __test_metadata *_metadata,
			struct _test_data_zswap *self, long cached)
{
	long own[NR] = {}, paid;
	int i;

	EXPECT_STREQ("", memcg_check_slots(0) ?: "");
	for (i = 0; i < NR_WORKERS; i++)
		if (self->worker[i].pid)
			own[i % NR] += worker_call(&self->worker[i],
						   op_swapped, 0, NR_PAGES);
	for (i = 0; i < NR; i++) {
		paid = memcg_swap(self->cgroup[i]);
		EXPECT_LE(own[i], paid) {
			TH_LOG("of cgroup %d", i);
		}
		EXPECT_GE(own[i] + cached, paid) {
			TH_LOG("of cgroup %d", i);
		}
	}
}

static void check_nothing_left(struct __test_metadata *_metadata,
			       struct _test_data_zswap *self)
{
	int i;

	ASSERT_EQ(0, swap_area_off(self->area));
	EXPECT_STREQ("", memcg_check_empty(self->cgroup, NR) ?: "");
	for (i = 0; i < NR; i++)
		EXPECT_TRUE(in_zswap(self->cgroup[i], 0));
	for (i = 0; i < NR_WORKERS; i++) {
		if (!self->worker[i].pid)
			continue;
		EXPECT_EQ(0, worker_call(&self->worker[i], op_verify, 0,
					 NR_PAGES));
		worker_stop(&self->worker[i]);
	}
	EXPECT_STREQ("", memcg_check_gone(self->cgroup, NR) ?: "");
}

TEST_F_TIMEOUT(zswap, compressed, TEST_SECONDS)
{
	struct worker *w = self->worker;
	int i;

	for (i = 0; i < NR_WORKERS; i++)
		worker_send(&w[i], op_fill, i + 1, 0);
	for (i = 0; i < NR_WORKERS; i++)
		ASSERT_EQ(0, worker_wait(&w[i]));
	for (i = 0; i < NR_WORKERS; i++)
		worker_send(&w[i], op_pageout, 0, NR_PAGES);
	for (i = 0; i < NR_WORKERS; i++)
		ASSERT_LT(0, worker_wait(&w[i]));
	for (i = 0; i < NR_WORKERS; i++)
		ASSERT_TRUE(worker_pageout(&w[i], NR_PAGES));
	check_exact(_metadata, self, 0);
	ASSERT_TRUE(in_zswap(self->cgroup[0], 2 * NR_PAGES));
	ASSERT_TRUE(in_zswap(self->cgroup[1], NR_PAGES));

	/* an entry is freed with its slot: read, dropped, by exit */
	ASSERT_EQ(0, worker_call(&w[0], op_verify, 3, NR_PAGES / 2));
	ASSERT_EQ(0, worker_call(&w[1], op_dontneed, 64, 33));
	check_exact(_metadata, self, NR_PAGES / 2);
	EXPECT_TRUE(in_zswap(self->cgroup[1], NR_PAGES - 33));
	ASSERT_TRUE(worker_pageout(&w[0], NR_PAGES));
	worker_kill(&w[OTHER]);
	check_exact(_metadata, self, 0);
	EXPECT_TRUE(in_zswap(self->cgroup[0], NR_PAGES));
	check_nothing_left(_metadata, self);
}

/* Contents that cannot be compressed, in every other page. */
static __u64 noise(struct worker *w, long i, size_t n)
{
	__u64 x = (i << 20) + n + w->pid;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static long op_noise(struct worker *w, long write, long unused)
{
	size_t n, words = psize() / sizeof(__u64);
	long i;

	for (i = 1; i < w->nr; i += 2) {
		__u64 *p = (__u64 *)(w->mem + i * psize());

		for (n = 0; n < words; n++) {
			if (write)
				p[n] = noise(w, i, n);
			else if (p[n] != noise(w, i, n))
				return -EIO;
		}
		w->gen[i] = 0;		/* not for op_verify() */
	}
	return 0;
}

TEST_F_TIMEOUT(zswap, not_compressible, TEST_SECONDS)
{
	struct worker *w = self->worker;
	int i;

	for (i = 0; i < NR; i++) {
		ASSERT_EQ(0, worker_call(&w[i], op_fill, i + 1, 0));
		ASSERT_EQ(0, worker_call(&w[i], op_noise, 1, 0));
		ASSERT_TRUE(worker_pageout(&w[i], NR_PAGES));
	}
	check_exact(_metadata, self, 0);
	for (i = 0; i < NR; i++)
		ASSERT_TRUE(in_zswap(self->cgroup[i], NR_PAGES / 2));

	ASSERT_EQ(0, worker_call(&w[0], op_noise, 0, 0));
	ASSERT_EQ(0, worker_call(&w[0], op_verify, 0, NR_PAGES / 2));
	check_exact(_metadata, self, NR_PAGES);
	/* what was in zswap is not now, and the other way round */
	ASSERT_EQ(0, worker_call(&w[0], op_fill, 9, 0));
	ASSERT_TRUE(worker_pageout(&w[0], NR_PAGES));
	check_exact(_metadata, self, 0);
	EXPECT_TRUE(in_zswap(self->cgroup[0], NR_PAGES));
	ASSERT_EQ(0, worker_call(&w[0], op_noise, 1, 0));
	ASSERT_TRUE(worker_pageout(&w[0], NR_PAGES));
	check_exact(_metadata, self, 0);
	EXPECT_TRUE(in_zswap(self->cgroup[0], NR_PAGES / 2));
	ASSERT_EQ(0, swap_area_off(self->area));
	for (i = 0; i < NR; i++)
		EXPECT_EQ(0, worker_call(&w[i], op_noise, 0, 0));
	ASSERT_EQ(0, swap_area_on(self->area));
	check_nothing_left(_metadata, self);
}

/* Write and swap out all pages, again and again, until told to stop. */
static long op_push(struct worker *w, long rounds, long unused)
{
	long n, gen;

	for (gen = 1; gen <= rounds && !__atomic_load_n(&shared->stop,
							__ATOMIC_RELAXED);
	     gen++) {
		op_fill(w, gen, 0);
		n = op_pageout(w, 0, w->nr);
		if (n < 0)
			return n;
	}
	return 0;
}

TEST_F_TIMEOUT(zswap, written_back, TEST_SECONDS)
{
	struct worker *w = self->worker;
	long back, before, read;
	int i;

	for (i = 0; i < NR; i++) {
		ASSERT_EQ(0, worker_call(&w[i], op_fill, i + 1, 0));
		ASSERT_TRUE(worker_pageout(&w[i], NR_PAGES));
		ASSERT_TRUE(in_zswap(self->cgroup[i], NR_PAGES));
	}
	check_exact(_metadata, self, 0);

	ASSERT_EQ(0, cg_write(self->cgroup[0], "memory.zswap.max", "4096"));
	ASSERT_TRUE(wait_until(worker_call(&w[OTHER], op_push, 1, 0) ||
			       written_back(self->cgroup[0]) >= MIN_BACK));
	back = written_back(self->cgroup[0]);
	ASSERT_TRUE(worker_pageout(&w[OTHER], NR_PAGES));
	/* all are still swapped out, and paid for as they were */
	EXPECT_EQ(NR_PAGES, worker_call(&w[0], op_swapped, 0, NR_PAGES));
	check_exact(_metadata, self, 0);
	EXPECT_EQ(0, written_back(self->cgroup[1]));
	EXPECT_TRUE(in_zswap(self->cgroup[1], NR_PAGES));

	/* out of the swap cache, and then from the area */
	EXPECT_EQ(0, worker_call(&w[0], op_verify, 0, NR_PAGES));
	check_exact(_metadata, self, NR_PAGES);
	ASSERT_TRUE(worker_pageout(&w[0], NR_PAGES));
	check_exact(_metadata, self, 0);
	before = vm_event("pswpin");
	EXPECT_EQ(0, worker_call(&w[0], op_verify, 0, NR_PAGES - 8));
	read = vm_event("pswpin") - before;
	ASSERT_TRUE(worker_pageout(&w[0], NR_PAGES));
	worker_kill(&w[OTHER]);
	check_exact(_metadata, self, 0);
	check_nothing_left(_metadata, self);

	ksft_print_msg("pages written back: %ld (at least %d)\n", back,
		       MIN_BACK);
	ksft_print_msg("pages read from the area: %ld (at least %d)\n", read,
		       MIN_BACK / 2);
	ASSERT_GE(back, MIN_BACK);
	ASSERT_GE(read, MIN_BACK / 2);
}

/* Swap out, then read or drop page by page: somebody writes them back. */
static long op_slowly(struct worker *w, long seed, long unused)
{
	long gen, i;

	for (gen = 1; !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED);
	     gen++) {
		op_fill(w, gen, 0);
		if (op_pageout(w, 0, w->nr) < 0)
			return -EIO;
		for (i = 0; i < w->nr; i++) {
			/* let the other one store pages in between */
			usleep(500);
			if ((i + gen) % 4 ? op_verify(w, i, 1) :
			    op_dontneed(w, i, 1))
				return -EIO;
			__atomic_add_fetch(&shared->reads, 1,
					   __ATOMIC_RELAXED);
		}
	}
	return 0;
}

TEST_F_TIMEOUT(zswap, written_back_while_used, TEST_SECONDS)
{
	struct worker *w = self->worker;
	long back;
	int i;

	ASSERT_EQ(0, cg_write(self->cgroup[0], "memory.zswap.max", "4096"));
	worker_send(&w[0], op_slowly, 0, 0);
	worker_send(&w[1], op_slowly, 0, 0);
	worker_send(&w[OTHER], op_push, 1000000, 0);
	EXPECT_TRUE(wait_until(written_back(self->cgroup[0]) >= MIN_RACED &&
			       __atomic_load_n(&shared->reads,
					       __ATOMIC_RELAXED) >= NR_PAGES));
	__atomic_store_n(&shared->stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < NR_WORKERS; i++)
		EXPECT_EQ(0, worker_wait(&w[i]));
	back = written_back(self->cgroup[0]);
	/* a page that was dropped while it was written still has its slot */
	ASSERT_EQ(0, swap_area_off(self->area));
	EXPECT_STREQ("", memcg_check_empty(self->cgroup, NR) ?: "");
	ASSERT_EQ(0, swap_area_on(self->area));
	for (i = 0; i < NR_WORKERS; i++) {
		EXPECT_EQ(0, worker_call(&w[i], op_verify, 0, NR_PAGES));
		ASSERT_EQ(0, worker_call(&w[i], op_fill, 1, 0));
		ASSERT_TRUE(worker_pageout(&w[i], NR_PAGES));
	}
	check_exact(_metadata, self, 0);
	worker_kill(&w[0]);
	check_exact(_metadata, self, 0);
	check_nothing_left(_metadata, self);

	ksft_print_msg("pages written back: %ld (at least %d)\n", back,
		       MIN_RACED);
	ksft_print_msg("pages read or dropped meanwhile: %ld\n",
		       shared->reads);
	ASSERT_GE(back, MIN_RACED);
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
