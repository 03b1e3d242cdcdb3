// SPDX-License-Identifier: GPL-2.0-only
/*
 * time: nanoseconds per call of each implementation in each cell (entries of a
 * range, threads, layout).
 *
 * The speed of a machine drifts, so nothing is timed twice in a row: a round
 * goes over all cells, and in a cell the implementations take turns, SUBSAMPLES
 * times in changing order, each sample some 200 us long. A round's value is the
 * median of these; a sample in which a thread lost its CPU is taken again.
 * Ratios are formed within a round by who reads this.
 *
 * Prints a line a value: impl, nr, threads, layout, round, ns per call. A call
 * is record or clear, in equal numbers; with layout "lookup" it is a lookup.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cells.h"

#define SUBSAMPLES	3
#define RETRIES		10
#define SAMPLE_NS	200000.0

extern const struct impl before_impl, before_irq_impl, after_impl, packed_impl,
	xchg16_impl, store_impl;

static const struct impl *const impls[] = {
	&before_impl, &before_irq_impl, &after_impl, &packed_impl, &xchg16_impl,
	&store_impl,
};
#define NR_IMPLS (sizeof(impls) / sizeof(*impls))

static const char *const layouts[] = { "neighbouring", "distant", "lookup" };
static const unsigned int sizes[] = { 1, 2, 16, 64, MAX_NR };
#define NR_SIZES (sizeof(sizes) / sizeof(*sizes))

static struct cell cells[512];
static unsigned int nr_cells;
static unsigned long passes[512][NR_IMPLS];
static unsigned long disturbed_samples, samples;

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* 1, 2, 4 ... and all */
static void make_cells(unsigned int cpus)
{
	unsigned int threads, size;
	enum layout layout;

	for (threads = 1; threads <= cpus;
	     threads = threads * 2 > cpus && threads < cpus ? cpus : threads * 2) {
		for (layout = NEIGHBOURING; layout <= DISTANT; layout++) {
			for (size = 0; size < NR_SIZES; size++)
				cells[nr_cells++] = (struct cell){ sizes[size], threads, layout };
		}
		cells[nr_cells++] = (struct cell){ 1, threads, LOOKUP };
	}
}

static double undisturbed(const struct impl *impl, const struct cell *cell, unsigned long n)
{
	unsigned int tries = 0;
	bool disturbed;
	double ns;

	do {
		ns = sample(impl, cell, n, &disturbed);
		samples++;
		disturbed_samples += disturbed;
	} while (disturbed && ++tries < RETRIES);
	return ns;
}

/*
 * How many passes make a sample long enough. The shortest of three counts: one
 * that was disturbed seems to need few.
 */
static unsigned long calibrate(const struct impl *impl, const struct cell *cell)
{
	const double calls = RANGES * CALLS_PER_RANGE;
	unsigned long n = 1;
	double ns, best;
	int i;

	do {
		n *= 2;
		best = 1e12;
		for (i = 0; i < 3; i++) {
			ns = undisturbed(impl, cell, n) * calls * n;
			best = ns < best ? ns : best;
		}
	} while (best < SAMPLE_NS / 4 && n < 1UL << 30);
	n = n * (SAMPLE_NS / best);
	return n ? n : 1;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void round_of(unsigned int cell, unsigned int round)
{
	double ns[NR_IMPLS][SUBSAMPLES];
	const struct cell *c = &cells[cell];
	unsigned int s, i;

	for (s = 0; s < SUBSAMPLES; s++) {
		/* a different first one each time, and both directions */
		for (i = 0; i < NR_IMPLS; i++) {
			unsigned int k = (s % 2 ? NR_IMPLS - 1 - i : i) + round + s;

			k %= NR_IMPLS;
			ns[k][s] = undisturbed(impls[k], c, passes[cell][k]);
		}
	}
	for (i = 0; i < NR_IMPLS; i++) {
		qsort(ns[i], SUBSAMPLES, sizeof(double), compare);
		printf("%s\t%u\t%u\t%s\t%u\t%.4f\n", impls[i]->name, c->nr, c->threads,
		       layouts[c->layout], round, ns[i][SUBSAMPLES / 2]);
	}
}

/* For callgrind: a dump is taken after each return from here. */
__attribute__((noinline))
void count_cell(const struct impl *impl, unsigned int nr);
void count_cell(const struct impl *impl, unsigned int nr)
{
	struct cell cell = { nr, 1, DISTANT };
	struct walk walk = walk_of(&cell, 0);

	impl->pass(&walk);
	printf("%s\t%u\t%u\n", impl->name, nr, walk.ranges * CALLS_PER_RANGE);
}

static void count(void)
{
	unsigned int i, size;

	for (i = 0; i < NR_IMPLS; i++) {
		for (size = 0; size < NR_SIZES; size++)
			count_cell(impls[i], sizes[size]);
	}
}

static void time_all(unsigned int rounds, unsigned int limit, unsigned int cpus)
{
	double start = seconds_now(), spent;
	unsigned int cell, i, round;

	make_cells(cpus);
	for (cell = 0; cell < nr_cells; cell++) {
		for (i = 0; i < NR_IMPLS; i++)
			passes[cell][i] = calibrate(impls[i], &cells[cell]);
	}
	for (round = 0; round < rounds; round++) {
		for (cell = 0; cell < nr_cells; cell++)
			round_of(cell, round);
		spent = seconds_now() - start;
		if (round >= 20 && spent / (round + 1) * (round + 2) > limit)
			break;
	}
	fprintf(stderr, "%u rounds in %.0f s; %lu of %lu samples lost their CPU and were taken "
		"again\n", round < rounds ? round + 1 : round, seconds_now() - start,
		disturbed_samples, samples);
}

int main(int argc, char **argv)
{
	unsigned int rounds = 61, limit = 90, cpus, i;
	bool counting = false;
	int c;

	while ((c = getopt(argc, argv, "r:s:c")) != -1) {
		if (c == 'r')
			rounds = strtoul(optarg, NULL, 10);
		else if (c == 's')
			limit = strtoul(optarg, NULL, 10);
		else if (c == 'c')
			counting = true;
		else
			rounds = 0;
	}
	if (!rounds || optind != argc) {
		fprintf(stderr, "usage: time [-r rounds, at most] [-s seconds, after 21 rounds] "
			"[-c (each cell once, for callgrind)]\n");
		return 2;
	}
	cpus = counting ? 1 : workers_start();
	standin_memory(cpus * (THREAD_SLOTS / 2048 + 1) * NR_IMPLS);
	for (i = 0; i < NR_IMPLS; i++) {
		if (impls[i]->swapon(0, (unsigned long)cpus * THREAD_SLOTS))
			return 1;
	}
	if (counting)
		count();
	else
		time_all(rounds, limit, cpus);
	for (i = 0; i < NR_IMPLS; i++)
		impls[i]->swapoff(0);
	return 0;
}
