// SPDX-License-Identifier: GPL-2.0-only
/*
 * check: threads own random slots and ranges of a swap file, write their
 * records through the map and verify what they read back, while all look up
 * what they do not own. A model of the map, kept by the owners, is compared
 * with the whole of it at the end.
 *
 * A slot is claimed and released as SWAP_HAS_CACHE is: by an atomic change of
 * its byte, which hands over what was written before. So ThreadSanitizer sees
 * the ownership rule, and reports whoever writes without it.
 *
 * Exits 0 when all is well, 1 when a record is wrong, 2 for a wrong call; a
 * sanitizer's report ends the program with the sanitizer's status.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/mm.h>
#include "impl.h"

extern const struct impl NAMED(impl);
static const struct impl *const map = &NAMED(impl);

#define RECORDS		(PAGE_SIZE / sizeof(uint16_t))	/* in a page of the map */
#define MEMORY		64UL			/* pages that there are */
#define SLOTS		(4 * RECORDS - 77)	/* of swap file 0 */
#define SMALL_SLOTS	(3 * RECORDS)		/* of swap file 1, that comes and goes */
#define HOT_SLOTS	64UL			/* where neighbours meet often */

static enum { RIGHT, NO_HANDOVER, SECOND_WRITER } wrong;
static bool small_file, no_lookups;
static unsigned int nr_threads = 4, seconds = 5;

static uint8_t claimed[SLOTS];
static uint16_t model[SLOTS];	/* plain: its slot's owner alone uses it */
static bool stop;

/* An id has two equal bytes, so that half of another one is noticed. */
#define ID(n)		((uint16_t)((n) * 0x101))
#define IS_ID(id)	((id) >> 8 == ((id) & 0xff))

__attribute__((format(printf, 1, 2), noreturn))
static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "FAIL: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	_exit(1);
}

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed % below;
}

static bool claim(unsigned long slot)
{
	uint8_t none = 0;

	if (wrong == NO_HANDOVER)
		return __atomic_compare_exchange_n(&claimed[slot], &none, 1, 0,
						   __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return __atomic_compare_exchange_n(&claimed[slot], &none, 1, 0,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void release(unsigned long slot)
{
	if (wrong == NO_HANDOVER)
		__atomic_store_n(&claimed[slot], 0, __ATOMIC_RELAXED);
	else
		__atomic_store_n(&claimed[slot], 0, __ATOMIC_RELEASE);
}

/* How many of the @nr owned records from @slot on are equal, by the model. */
static unsigned int run_of(unsigned long slot, unsigned int nr)
{
	unsigned int run = 1;

	while (run < nr && model[slot + run] == model[slot])
		run++;
	return run;
}

static void change(unsigned long slot, unsigned int nr, uint32_t *seed)
{
	uint16_t id = ID(1 + draw(seed, 254)), old = model[slot];
	swp_entry_t entry = swp_entry(0, slot);
	unsigned int i;

	if (!old) {
		map->record(entry, id, nr);
	} else if (map->replace && nr == 1 && draw(seed, 4) == 0) {
		uint16_t other = ~old;	/* no id is ~0, so this is not 0 */

		/* charge moving */
		if (map->replace(entry, other, id))
			fail("slot %lu: replaced another id than %#x", slot, old);
		if (!map->replace(entry, old, id))
			fail("slot %lu: %#x not replaced", slot, old);
	} else {
		uint16_t got = map->clear(entry, nr);

		if (got != old)
			fail("slot %lu: cleared %#x, the model has %#x", slot, got, old);
		id = 0;
	}
	for (i = 0; i < nr; i++)
		model[slot + i] = id;
}

/* Claim a range as far as it is free, change it run by run, verify, release. */
static unsigned long own(uint32_t *seed)
{
	static const unsigned int sizes[] = { 1, 1, 1, 2, 3, 16, 64, 512, RECORDS + 9 };
	bool hot = draw(seed, 4);
	unsigned long slot = draw(seed, hot ? HOT_SLOTS : SLOTS), calls = 0;
	unsigned int nr = 0, i, run, want;

	want = hot ? 1 + draw(seed, 3) : sizes[draw(seed, sizeof(sizes) / sizeof(*sizes))];
	while (nr < want && slot + nr < SLOTS && claim(slot + nr))
		nr++;
	for (i = 0; i < nr; i += run) {
		run = run_of(slot + i, nr - i);
		if (map->batch(swp_entry(0, slot + i), nr - i) != run)
			fail("slot %lu: batch is not %u", slot + i, run);
		change(slot + i, run, seed);
		calls++;
	}
	for (i = 0; i < nr; i++) {
		uint16_t got = map->lookup(swp_entry(0, slot + i));

		if (got != model[slot + i])
			fail("slot %lu, owned: %#x, the model has %#x", slot + i, got,
			     model[slot + i]);
	}
	for (i = 0; i < nr; i++)
		release(slot + i);
	return calls;
}

/* Look up what is not owned, what is beyond the end, and what may be going. */
static void look(uint32_t *seed)
{
	unsigned long slot = draw(seed, draw(seed, 2) ? HOT_SLOTS : SLOTS);
	uint16_t got = map->lookup(swp_entry(0, slot));

	if (!IS_ID(got))
		fail("slot %lu, not owned: %#x is no id that was recorded", slot, got);
	if (!small_file)
		return;
	if (map->lookup(swp_entry(0, 4 * RECORDS + draw(seed, 1 << 20))))
		fail("an id beyond the end");
	if (draw(seed, 16))
		return;
	rcu_read_lock();
	got = map->lookup(swp_entry(1, draw(seed, SMALL_SLOTS)));
	rcu_read_unlock();
	if (got)
		fail("the empty swap file has a record %#x", got);
}

static void *worker(void *arg)
{
	unsigned int me = (uintptr_t)arg;
	uint32_t seed = 2463534242u + me * 7919;
	unsigned long calls = 0;

	standin_thread(me);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		calls += own(&seed);
		if (!no_lookups)
			look(&seed);
		if (wrong == SECOND_WRITER && me == 1) {
			swp_entry_t entry = swp_entry(0, draw(&seed, HOT_SLOTS));

			map->clear(entry, 1);
		}
	}
	return (void *)calls;
}

/* swapon and swapoff of a file that only lookups with stale entries use */
static void come_and_go(void)
{
	struct timespec pause = { .tv_nsec = 300000 };

	if (map->swapon(1, SMALL_SLOTS))
		fail("swapon: no memory");
	nanosleep(&pause, NULL);
	map->swapoff(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* The whole map against the model, then empty it. */
static void compare(void)
{
	unsigned long slot;
	unsigned int run;

	for (slot = 0; slot < SLOTS; slot++) {
		uint16_t got = map->lookup(swp_entry(0, slot));

		if (got != model[slot])
			fail("slot %lu, at the end: %#x, the model has %#x", slot, got,
			     model[slot]);
	}
	for (slot = 0; slot < SLOTS; slot += run) {
		run = run_of(slot, SLOTS - slot);
		if (model[slot])
			map->clear(swp_entry(0, slot), run);
	}
}

static void run_threads(void)
{
	pthread_t thread[64];
	unsigned long calls = 0;
	double end = now() + seconds;
	struct timespec pause = { .tv_nsec = 10000000 };
	unsigned int i;
	void *result;

	for (i = 0; i < nr_threads; i++) {
		if (pthread_create(&thread[i], NULL, worker, (void *)(uintptr_t)i))
			fail("cannot start thread %u", i);
	}
	while (now() < end) {
		if (small_file)
			come_and_go();
		else
			nanosleep(&pause, NULL);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < nr_threads; i++) {
		pthread_join(thread[i], &result);
		calls += (unsigned long)result;
	}
	printf("%s: %lu writing calls by %u threads in %u s", map->name, calls, nr_threads,
	       seconds);
}

int main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "t:s:w:on")) != -1) {
		if (c == 't')
			nr_threads = strtoul(optarg, NULL, 10);
		else if (c == 's')
			seconds = strtoul(optarg, NULL, 10);
		else if (c == 'o')
			small_file = true;
		else if (c == 'n')
			no_lookups = true;
		else if (c == 'w' && !strcmp(optarg, "no-handover"))
			wrong = NO_HANDOVER;
		else if (c == 'w' && !strcmp(optarg, "second-writer"))
			wrong = SECOND_WRITER;
		else
			nr_threads = 0;
	}
	if (nr_threads < 2 || nr_threads > 64 || !seconds || optind != argc) {
		fprintf(stderr, "usage: check [-t threads (2 to 64)] [-s seconds] "
			"[-o (swapon and swapoff meanwhile)] [-n (no lookups of others'"
			" slots)] [-w no-handover|second-writer]\n");
		return 2;
	}
	standin_memory(MEMORY);
	if (map->swapon(1, (MEMORY + 1) * RECORDS) != -ENOMEM || standin_pages_in_use() ||
	    map->lookup(swp_entry(1, 0)))
		fail("a swapon without memory leaves something");
	if (map->swapon(0, SLOTS))
		fail("swapon: no memory");
	run_threads();
	compare();
	map->swapoff(0);
	if (standin_pages_in_use())
		fail("%lu pages not freed", standin_pages_in_use());
	if (standin_warnings())
		fail("%u warnings of the file under test", standin_warnings());
	printf("; the map is as the model\n");
	return 0;
}
