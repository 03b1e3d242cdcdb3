// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pages of the workers of the swap_memcg tests, see swap_memcg_util.h.
 *
 * Each page is filled from its address, its worker and a generation, and is
 * compared word by word when it is read, so that a page that came back from
 * the wrong slot, or from an earlier life of the right one, is noticed. No
 * page is filled with one value only: those would not reach the swap area.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "swap_memcg_util.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

#define HUGE_ALIGN	(2UL << 20)
#define BATCH		512		/* pagemap entries read at once */
#define PATTERN		8		/* words until the content repeats */

static __u64 page_word(struct worker *w, size_t i, __u32 gen, int word)
{
	__u64 x = (uintptr_t)(w->mem + i * psize());

	x ^= ((__u64)gen << 40) ^ ((__u64)w->pid << 20) ^ word;
	/* spread, so that neighbours share no bytes */
	return (x * 0x9e3779b97f4a7c15ULL) ^ gen;
}

void page_write(struct worker *w, size_t i, __u32 gen)
{
	__u64 *p = (__u64 *)(w->mem + i * psize()), pattern[PATTERN];
	size_t n;

	for (n = 0; n < PATTERN; n++)
		pattern[n] = page_word(w, i, gen, n);
	for (n = 0; n < psize() / sizeof(*p); n++)
		p[n] = pattern[n % PATTERN];
	w->gen[i] = gen;
}

bool page_check(struct worker *w, size_t i)
{
	__u64 *p = (__u64 *)(w->mem + i * psize()), pattern[PATTERN];
	size_t n;

	if (!w->gen[i])
		return true;
	for (n = 0; n < PATTERN; n++)
		pattern[n] = page_word(w, i, w->gen[i], n);
	for (n = 0; n < psize() / sizeof(*p); n++) {
		if (p[n] == pattern[n % PATTERN])
			continue;
		fprintf(stderr,
			"# worker %d: page %zu word %zu generation %u: %llx, expected %llx\n",
			w->pid, i, n, w->gen[i], (unsigned long long)p[n],
			(unsigned long long)pattern[n % PATTERN]);
		return false;
	}
	return true;
}

int swap_entries(struct worker *w, size_t first, size_t nr, __u64 *ent)
{
	size_t i, n, pfn = (uintptr_t)w->mem / psize() + first;

	for (; nr; nr -= n, pfn += n, ent += n) {
		n = nr < BATCH ? nr : BATCH;
		if (pread(w->pagemap, ent, n * sizeof(*ent),
			  pfn * sizeof(*ent)) != (ssize_t)(n * sizeof(*ent)))
			return -EIO;
		/* bits 0-4: the swap area, bits 5-54: the offset in it */
		for (i = 0; i < n; i++)
			ent[i] = ent[i] & PM_SWAP ?
				 ent[i] & (BIT_ULL(55) - 1) : 0;
	}
	return 0;
}

int swap_offsets(struct worker *w, size_t first, size_t nr, __u64 *off)
{
	int ret = swap_entries(w, first, nr, off);
	size_t i;

	for (i = 0; !ret && i < nr; i++)
		off[i] >>= SWAP_TYPE_BITS;
	return ret;
}

/* requests */

long op_map(struct worker *w, long nr, long advice)
{
	size_t size = nr * psize();
	char *mem;

	/* aligned, and never merged with a neighbour */
	mem = mmap(NULL, size + 2 * HUGE_ALIGN, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		return -errno;
	mem = (char *)(((uintptr_t)mem + HUGE_ALIGN) & ~(HUGE_ALIGN - 1));
	if (mprotect(mem, size, PROT_READ | PROT_WRITE) ||
	    (madvise(mem, size, advice) && advice != MADV_NOHUGEPAGE))
		return -errno;
	w->gen = calloc(nr, sizeof(*w->gen));
	if (!w->gen)
		return -ENOMEM;
	w->mem = mem;
	w->nr = nr;
	w->pid = getpid();
	return 0;
}

long op_fill(struct worker *w, long gen, long unused)
{
	size_t i;

	for (i = 0; i < w->nr; i++)
		page_write(w, i, gen);
	return 0;
}

/* Every other page only: those whose number is even, or odd. */
long op_write_half(struct worker *w, long parity, long gen)
{
	long i;

	for (i = parity; i < w->nr; i += 2)
		page_write(w, i, gen);
	return 0;
}

long op_verify(struct worker *w, long first, long nr)
{
	long i;

	for (i = first; i < first + nr; i++)
		if (!page_check(w, i))
			return -EIO;
	return 0;
}

long op_swapped(struct worker *w, long first, long nr)
{
	__u64 *off = calloc(nr, sizeof(*off));
	long i, swapped = -ENOMEM;

	if (off && !swap_offsets(w, first, nr, off)) {
		for (i = swapped = 0; i < nr; i++)
			swapped += !!off[i];
	}
	free(off);
	return swapped;
}

/* The number of pages of the range that are swapped out then. */
long op_pageout(struct worker *w, long first, long nr)
{
	if (madvise(w->mem + first * psize(), nr * psize(), MADV_PAGEOUT))
		return -errno;
	return op_swapped(w, first, nr);
}

bool worker_pageout(struct worker *w, long nr)
{
	return wait_until((lru_drain(),
			   worker_call(w, op_pageout, 0, nr) == nr));
}

long op_dontneed(struct worker *w, long first, long nr)
{
	memset(w->gen + first, 0, nr * sizeof(*w->gen));
	return madvise(w->mem + first * psize(), nr * psize(),
		       MADV_DONTNEED) ? -errno : 0;
}

/* Into the swap cache, without being mapped. */
long op_willneed(struct worker *w, long first, long nr)
{
	return madvise(w->mem + first * psize(), nr * psize(), MADV_WILLNEED);
}

/* Nothing that this process has in memory is swapped out from now on. */
long op_lock(struct worker *w, long unused_a, long unused_b)
{
	return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
}
