/* SPDX-License-Identifier: GPL-2.0-only */
/* What time.c (which cells, in which order) and cells.c (one sample) share. */
#ifndef NATIVE_CELLS_H
#define NATIVE_CELLS_H

#include <stdbool.h>
#include "impl.h"

#define RANGES		16		/* that a thread cycles through */
#define MAX_NR		512		/* entries of a range, at most */
#define THREAD_SLOTS	(RANGES * MAX_NR)	/* 4 pages of the map: "distant" */
#define MAX_CPUS	1024

enum layout { NEIGHBOURING, DISTANT, LOOKUP };

/* What is timed, for each implementation. */
struct cell {
	unsigned int	nr;		/* entries of a range */
	unsigned int	threads;
	enum layout	layout;
};

/* workers_start - pin this thread and start one on each other CPU we may use */
unsigned int workers_start(void);

/* walk_of - the ranges of thread number @thread in @cell */
struct walk walk_of(const struct cell *cell, unsigned int thread);

/*
 * sample - run @cell with @impl for @passes passes of thread 0, the others all
 * the while.
 *
 * Returns nanoseconds per call, the mean of all threads, and in @disturbed
 * whether a thread lost its CPU meanwhile. Ends the program when a cleared
 * record was not the one recorded.
 */
double sample(const struct impl *impl, const struct cell *cell, unsigned long passes,
	      bool *disturbed);

#endif
