// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which memory cgroup is charged for a swap slot.
 *
 * For each swap slot the kernel stores the id of the memory cgroup that is
 * charged for it, and uncharges this one when the slot is freed. An id that is
 * lost, stays behind, or is another slot's shows much later: a cgroup's
 * memory.swap.current never returns to 0, memory.swap.max refuses swap that
 * nobody uses, a removed cgroup is pinned for ever, or a counter goes below 0.
 *
 * Here processes of many cgroups swap pages and large folios out and in, and
 * free swap slots one by one, in ranges, and in the batches of a page table.
 * After that, every cgroup must be charged for exactly what pagemap says
 * that it has in swap, and all together for the slots in use. (6.12 keeps freed
 * slots in per-CPU caches, still charged: these are drained first.) Each page
 * is verified when it is read. At the end, after swapoff, nothing may be
 * charged, and removed cgroups must be freed.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <string.h>

#include "../kselftest_harness.h"
#include "swap_util.h"

/* Single pages, in one cgroup for each CPU. */
#define MAX_WORKERS	16
#define NR_PAGES	1024
#define ROUNDS		3

/* Fill, swap out, read back and verify, @rounds times; the pages swapped out. */
static long op_swap(struct worker *w, long rounds, long b)
{
	long i, n, step, gen, out = 0;

	for (gen = 1; gen <= rounds; gen++) {
		op_fill(w, gen, 0);
		/* ranges of many lengths, odd starts and ends */
		for (i = 0, step = gen % 61 + 1; i + step <= w->nr; i += step, step = 1 + i % 61) {
			n = op_pageout(w, i, step);
			if (n < 0)
				return n;
			out += n;
		}
		/* slots are freed here and there, some or one at a time */
		for (i = 0; i < w->nr; i += 64)
			if (op_dontneed(w, i, 8))
				return -errno;
		for (i = 0; i < w->nr; i++)
			if (i % 8 != 7 && !page_check(w, i))
				return -EIO;
		if (op_verify(w, 0, 0))
			return -EIO;
	}
	return out;
}

FIXTURE(pages)
{
	char *cgroup[MAX_WORKERS];
	struct worker worker[MAX_WORKERS];
	int nr, area;
};

FIXTURE_SETUP(pages)
{
	self->nr = cpus_between(4, MAX_WORKERS);
	ASSERT_EQ(0, swap_test_begin());
	/* slots are used again, but never half: the kernel would empty the swap cache */
	self->area = swap_area_add(5 * self->nr * NR_PAGES / 2, AREA_SSD);
	ASSERT_LE(0, self->area);
	ASSERT_EQ(0, workers_start(self->worker, self->cgroup, self->nr, NR_PAGES,
				   MADV_NOHUGEPAGE));
}

FIXTURE_TEARDOWN(pages)
{
	workers_kill(self->worker, self->nr);
	EXPECT_EQ(0, swap_test_end());
}

static int check_pages(FIXTURE_DATA(pages) *self)
{
	return workers_pageout(self->worker, self->nr, NR_PAGES) ?:
	       check_workers(self->cgroup, self->worker, self->nr) ?:
	       check_end(self->area, self->cgroup, self->nr, self->worker, self->nr);
}

TEST_F_TIMEOUT(pages, swapped_by_all_cpus, TEST_SECONDS)
{
	long out = workers_call(self->worker, self->nr, op_swap, ROUNDS);

	ksft_print_msg("pages swapped out: %ld\n", out);
	/* some are busy when they are to be swapped out */
	EXPECT_LE(self->nr * NR_PAGES * ROUNDS / 2, out);
	EXPECT_EQ(0, check_pages(self));
}

/* As long as it is in the swap cache, a page that was read keeps its slot. */
TEST_F_TIMEOUT(pages, read_ahead, TEST_SECONDS)
{
	struct worker *w = self->worker;
	int i;

	ASSERT_EQ(0, workers_call(w, self->nr, op_fill, 1));
	ASSERT_EQ(0, workers_pageout(w, self->nr, NR_PAGES));
	ASSERT_EQ(0, workers_call(w, self->nr, op_willneed, 0, NR_PAGES / 2));
	for (i = 0; i < self->nr; i++)
		EXPECT_EQ(0, check_stat(self->cgroup[i], "swapcached", NR_PAGES / 2));
	EXPECT_EQ(0, check_workers(self->cgroup, w, self->nr));
	ASSERT_EQ(0, workers_call(w, self->nr, op_verify, 0, NR_PAGES / 2));
	EXPECT_EQ(0, check_slots(0));
	for (i = 0; i < self->nr; i++)
		EXPECT_EQ(NR_PAGES, memcg_swap(self->cgroup[i]));
	ASSERT_EQ(0, workers_call(w, self->nr, op_dontneed, 0, NR_PAGES / 2));
	EXPECT_EQ(0, check_pages(self));
}

/*
 * A process with pages of several cgroups.
 *
 * It touches blocks of pages in one cgroup after the other, and is swapped out
 * in the order of its addresses. Entries that are neighbours, both in the page
 * table and in the swap area, are freed in one batch, which must end where the
 * cgroup changes. A batch that goes on in the next cluster of slots is freed
 * slot by slot. In two variants an id or an offset that is cut off is another
 * one's: there are more cgroups than fit into 8 bits, or used slots whose
 * offsets have the same low 16 bits.
 */

#define MIX_PAGES	4096
#define MIX_CGROUPS	260
#define SHIFT		(7 * 16)	/* clusters do not begin where page tables do */

static struct mix {
	short memcg[MIX_PAGES];		/* cgroup of each page, by number */
	short alias[1 << 16];		/* a page at each offset, modulo 2^16 */
	/* what is in swap, by op_scan_entries() */
	struct {
		long own[MIX_CGROUPS];	/* pages of each cgroup */
		long mixed;		/* neighbours of different cgroups */
		long across;		/* those of one, in different clusters */
		long aliases;		/* pages with an alias of another cgroup */
	} in;
} *mix;

static long op_touch(struct worker *w, long memcg, long b)
{
	long i;

	for (i = 0; i < w->nr; i++)
		if (mix->memcg[i] == memcg)
			page_write(w, i, 1);
	return 0;
}

static long op_scan_entries(struct worker *w, long a, long b)
{
	static __u64 off[MIX_PAGES];
	long i, cluster = swap_cluster_slots();
	short *alias, *memcg = mix->memcg;

	memset(mix->alias, 0xff, sizeof(mix->alias));
	if (swap_offsets(w, 0, w->nr, off))
		return -EIO;
	for (i = 0; i < w->nr; i++) {
		if (!off[i])
			continue;
		mix->in.own[memcg[i]]++;
		alias = &mix->alias[off[i] % (1 << 16)];
		mix->in.aliases += *alias >= 0 && memcg[*alias] != memcg[i];
		*alias = i;
		/* a batch ends where a page table does */
		if (!(i % cluster) || off[i] != off[i - 1] + 1)
			continue;
		if (memcg[i] != memcg[i - 1])
			mix->in.mixed++;
		else if (!(off[i] % cluster))
			mix->in.across++;
	}
	return 0;
}

FIXTURE(mixed)
{
	char *cgroup[MIX_CGROUPS];
	struct worker worker;
	int nr, area;
	long blocks;
};

FIXTURE_VARIANT(mixed)
{
	int cgroups;
	long slots;			/* of the area */
	int kb;				/* size of folios, 0: single pages */
	int lengths;
	int length[5];			/* of blocks, in folios, in this order */
	bool across;			/* entries of one cgroup go across clusters */
};

FIXTURE_VARIANT_ADD(mixed, single_pages) { 2, 2 * MIX_PAGES, 0, 1, { 1 }, false };
FIXTURE_VARIANT_ADD(mixed, blocks) { 2, 2 * MIX_PAGES, 0, 5, { 7, 13, 1, 5, 3 }, true };
FIXTURE_VARIANT_ADD(mixed, folios_16kB) { 2, 2 * MIX_PAGES, 16, 1, { 3 }, true };
FIXTURE_VARIANT_ADD(mixed, folios_64kB) { 2, 2 * MIX_PAGES, 64, 1, { 3 }, true };
FIXTURE_VARIANT_ADD(mixed, cgroups_260) { MIX_CGROUPS, 2 * MIX_PAGES, 0, 1, { 3 }, true };
FIXTURE_VARIANT_ADD(mixed, slots_196608) { 2, 3 << 16, 0, 1, { 3 }, false };

FIXTURE_SETUP(mixed)
{
	long i, left, n = variant->kb ? variant->kb * 1024 / psize() : 1;

	if (variant->kb && !thp_swap_supported(variant->kb))
		SKIP(return, "no folios of %d kB", variant->kb);
	ASSERT_EQ(0, swap_test_begin());
	ASSERT_EQ(0, folio_only(variant->kb));
	self->area = swap_area_add(variant->slots, AREA_SSD);
	ASSERT_LE(0, self->area);

	self->nr = variant->cgroups;
	mix = shared_alloc(sizeof(*mix));
	ASSERT_NE(NULL, mix);
	for (i = 0; i < MIX_PAGES; self->blocks++) {
		left = n * variant->length[self->blocks % variant->lengths];
		for (; left && i < MIX_PAGES; left--, i++)
			mix->memcg[i] = self->blocks % self->nr;
	}
	for (i = 0; i < self->nr; i++) {
		self->cgroup[i] = memcg_add("mixed", i);
		ASSERT_NE(NULL, self->cgroup[i]);
	}
	ASSERT_EQ(0, worker_start(&self->worker, self->cgroup[0], 0));
	ASSERT_EQ(0, worker_call(&self->worker, op_map, MIX_PAGES,
				 variant->kb ? MADV_HUGEPAGE : MADV_NOHUGEPAGE));
	for (i = 0; i < self->nr; i++) {
		ASSERT_EQ(0, cg_enter(self->cgroup[i], self->worker.pid));
		ASSERT_EQ(0, worker_call(&self->worker, op_touch, i));
	}
	ASSERT_LE(1, worker_call(&self->worker, op_pageout, SHIFT, MIX_PAGES - SHIFT));
	ASSERT_EQ(0, worker_pageout(&self->worker, MIX_PAGES));
}

FIXTURE_TEARDOWN(mixed)
{
	worker_kill(&self->worker);
	EXPECT_EQ(0, swap_test_end());
}

/* Each cgroup is charged for what it has, whatever cgroup the process is in. */
static int check_mixed(FIXTURE_DATA(mixed) *self)
{
	int i, ret = check_slots(0);

	memset(&mix->in, 0, sizeof(mix->in));
	if (self->worker.pid && worker_call(&self->worker, op_scan_entries))
		return -1;
	for (i = 0; i < self->nr; i++)
		ret = check_charge(self->cgroup[i], memcg_swap(self->cgroup[i]),
				   mix->in.own[i]) ?: ret;
	return ret;
}

TEST_F_TIMEOUT(mixed, exit, TEST_SECONDS)
{
	typeof(mix->in) in;

	EXPECT_EQ(0, check_mixed(self));
	in = mix->in;
	worker_kill(&self->worker);
	EXPECT_EQ(0, check_mixed(self));
	EXPECT_EQ(0, check_end(self->area, self->cgroup, self->nr, &self->worker, 1));
	ksft_print_msg("freed: %ld borders between cgroups, %ld across clusters, %ld aliases\n",
		       in.mixed, in.across, in.aliases);
	EXPECT_LE(self->blocks / 2, in.mixed);
	EXPECT_LE(variant->across, in.across);
	EXPECT_LE(variant->slots / (1 << 16), in.aliases);
}

/*
 * Large folios, of two cgroups side by side.
 *
 * One that is swapped out whole gets a range of slots, one that is split gets
 * slots here and there, maybe for a part of it only. A range need not be freed
 * as one: a part of it is unmapped, some pages are read one by one, the rest is
 * read at once or freed at exit.
 */

#define NR_CGROUPS	2
#define FOLIO_PAGES	((8L << 20) / psize())	/* of each */
#define SPLIT		8		/* one folio of so many is */

/* Swap out a part of some folios, which splits them, and unmap a page. */
static long op_part(struct worker *w, long n, long b)
{
	long i, ret = 0, parts = 0;

	for (i = n; i < w->nr && !ret; i += SPLIT * n) {
		parts += op_pageout(w, i + 1, n / 2) == n / 2 && !op_swapped(w, i, 1);
		ret = op_dontneed(w, i, 1);
	}
	return ret ?: parts;
}

/* Unmap a part of every other folio, and what lies across a border. */
static long op_holes(struct worker *w, long n, long b)
{
	long i, ret = 0;

	for (i = n; i < w->nr && !ret; i += 2 * n)
		ret = op_dontneed(w, i + 1, (n / 2) | 1);
	return ret ?: op_dontneed(w, w->nr / 2 - 1, 3);
}

/* Read what is left of those folios. */
static long op_read_rest(struct worker *w, long n, long b)
{
	long i, ret = 0;

	for (i = n; i < w->nr && !ret; i += 2 * n)
		ret = op_verify(w, i, n);
	return ret;
}

/* Read one page of each of the others; how many come as a whole. */
static long op_whole(struct worker *w, long n, long b)
{
	long i, whole = 0;

	for (i = 0; i < w->nr; i += 2 * n) {
		if (op_swapped(w, i, n) != n)
			continue;
		if (!page_check(w, i + n / 2))
			return -EIO;
		whole += !op_swapped(w, i, n);
	}
	return whole;
}

FIXTURE(folios)
{
	char *cgroup[NR_CGROUPS];
	struct worker worker[NR_CGROUPS];
	int area;
};

FIXTURE_VARIANT(folios)
{
	int kb;
};

FIXTURE_VARIANT_ADD(folios, 16kB) { 16 };
FIXTURE_VARIANT_ADD(folios, 64kB) { 64 };
FIXTURE_VARIANT_ADD(folios, 512kB) { 512 };
FIXTURE_VARIANT_ADD(folios, 2048kB) { 2048 };	/* 512 slots: 0 in 8 bits */

FIXTURE_SETUP(folios)
{
	if (!thp_swap_supported(variant->kb))
		SKIP(return, "no folios of %d kB", variant->kb);
	ASSERT_EQ(0, swap_test_begin());
	ASSERT_EQ(0, folio_only(variant->kb));
	self->area = swap_area_add(NR_CGROUPS * 4 * FOLIO_PAGES, AREA_SSD);
	ASSERT_LE(0, self->area);
	ASSERT_EQ(0, workers_start(self->worker, self->cgroup, NR_CGROUPS, FOLIO_PAGES,
				   MADV_HUGEPAGE));
}

FIXTURE_TEARDOWN(folios)
{
	workers_kill(self->worker, NR_CGROUPS);
	EXPECT_EQ(0, swap_test_end());
}

/* Run @fn in both at the same time, and check; the sum of the results. */
static long run(struct __test_metadata *_metadata, FIXTURE_DATA(folios) *self, worker_fn fn,
		long a, long b)
{
	long sum = workers_call(self->worker, NR_CGROUPS, fn, a, b);

	ASSERT_LE(0, sum);
	EXPECT_EQ(0, check_workers(self->cgroup, self->worker, NR_CGROUPS));
	return sum;
}

TEST_F_TIMEOUT(folios, whole_and_split, TEST_SECONDS)
{
	long n = variant->kb * 1024L / psize(), folios = NR_CGROUPS * FOLIO_PAGES / n;
	long split = folio_stat(variant->kb, "split"), parts, out, in;
	struct worker *w = self->worker;

	run(_metadata, self, op_fill, 1, 0);
	parts = run(_metadata, self, op_part, n, 0);
	split = folio_stat(variant->kb, "split") - split;
	run(_metadata, self, op_pageout, 0, FOLIO_PAGES);
	out = run(_metadata, self, op_ranges, n, 0);
	run(_metadata, self, op_holes, n, 0);
	ASSERT_EQ(0, folio_size(variant->kb, "never"));
	run(_metadata, self, op_read_rest, n, 0);
	ASSERT_EQ(0, folio_size(variant->kb, "madvise"));
	in = run(_metadata, self, op_whole, n, 0);
	/* all of it again, in smaller pieces now; one exits, one unmaps */
	run(_metadata, self, op_pageout, 0, FOLIO_PAGES);
	worker_kill(&w[0]);
	EXPECT_EQ(0, check_workers(self->cgroup, w, NR_CGROUPS));
	ASSERT_EQ(0, worker_call(&w[1], op_verify, 3, FOLIO_PAGES / 2));
	ASSERT_EQ(0, worker_call(&w[1], op_dontneed, 1, FOLIO_PAGES - 6));
	EXPECT_EQ(0, check_workers(self->cgroup, w, NR_CGROUPS));
	EXPECT_EQ(0, check_end(self->area, self->cgroup, NR_CGROUPS, w, NR_CGROUPS));

	ksft_print_msg("of %ld folios: split %ld, swapped out in part %ld, whole %ld, read %ld\n",
		       folios, split, parts, out, in);
	/* not all that is written need be in folios of that size */
	EXPECT_LE((folios / SPLIT + 1) / 2, split);
	EXPECT_LE((folios / SPLIT + 1) / 2, parts);
	EXPECT_LE(folios / 2, out);
	/* never if PMD-sized */
	if (!zswap_used() && n < swap_cluster_slots())
		EXPECT_LE(folios / 8, in);
}

int main(int argc, char **argv)
{
	swap_test_init(MEMCG_V2);
	return test_harness_run(argc, argv);
}
