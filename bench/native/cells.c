// SPDX-License-Identifier: GPL-2.0-only
/*
 * One sample of a cell: pinned threads that wait asleep between samples, start
 * together, and are timed each on its own.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include "cells.h"

static struct job {
	const struct impl	*impl;
	const struct cell	*cell;
	unsigned long		passes;		/* of thread 0 */
} job;

static struct result {
	_Alignas(64) double	ns;
	unsigned long		calls;
	bool			disturbed;
} results[MAX_CPUS];

static pthread_mutex_t job_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_new = PTHREAD_COND_INITIALIZER;
static unsigned long job_number;
static int cpus[MAX_CPUS];

/* Each on a line of its own: they are polled while others are timed. */
static _Alignas(64) unsigned int ready;
static _Alignas(64) unsigned long go;		/* number of the job that may run */
static _Alignas(64) unsigned int done;
static _Alignas(64) bool stop;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw + usage.ru_nvcsw;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("sched_setaffinity");
		exit(1);
	}
}

struct walk walk_of(const struct cell *cell, unsigned int thread)
{
	struct walk walk = {
		.ranges = RANGES, .nr = cell->nr, .id = thread + 1,
		.first = (unsigned long)thread * THREAD_SLOTS, .stride = cell->nr,
	};

	if (cell->layout == NEIGHBOURING) {
		/* range by range, the threads take turns */
		walk.first = (unsigned long)thread * cell->nr;
		walk.stride = (unsigned long)cell->threads * cell->nr;
	}
	return walk;
}

/* Thread 0 runs its passes and then stops the others. */
static void run(unsigned int me)
{
	const struct impl *impl = job.impl;
	struct walk walk = walk_of(job.cell, me);
	bool lookup = job.cell->layout == LOOKUP;
	unsigned long passes = 0, wanted = me ? ~0UL : job.passes;
	unsigned long sum = (unsigned long)walk.ranges * walk.id;
	long before = switches();
	double start = now();

	do {
		if (lookup) {
			if (impl->lookups(&walk, CALLS_PER_RANGE))
				goto wrong;
		} else if (impl->pass(&walk) != sum) {
			goto wrong;
		}
	} while (++passes < wanted && !__atomic_load_n(&stop, __ATOMIC_RELAXED));
	results[me].ns = now() - start;
	results[me].calls = passes * walk.ranges * CALLS_PER_RANGE;
	results[me].disturbed = switches() != before;
	if (!me)
		__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	return;
wrong:
	fprintf(stderr, "%s: a record is not what was recorded (%u entries, %u threads)\n",
		impl->name, job.cell->nr, job.cell->threads);
	exit(1);
}

static void *worker(void *arg)
{
	unsigned int me = (uintptr_t)arg;
	unsigned long seen = 0;

	pin(cpus[me]);
	standin_thread(me);
	for (;;) {
		pthread_mutex_lock(&job_lock);
		while (job_number == seen)
			pthread_cond_wait(&job_new, &job_lock);
		seen = job_number;
		pthread_mutex_unlock(&job_lock);
		if (me >= job.cell->threads)
			goto out;
		__atomic_add_fetch(&ready, 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&go, __ATOMIC_ACQUIRE) != seen)
			;
		run(me);
out:
		__atomic_add_fetch(&done, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static unsigned int nr_workers;		/* besides this thread */

unsigned int workers_start(void)
{
	unsigned int n = 0;
	cpu_set_t set;
	pthread_t thread;
	int cpu;

	if (sched_getaffinity(0, sizeof(set), &set)) {
		perror("sched_getaffinity");
		exit(1);
	}
	for (cpu = 0; cpu < CPU_SETSIZE && n < MAX_CPUS; cpu++) {
		if (CPU_ISSET(cpu, &set))
			cpus[n++] = cpu;
	}
	nr_workers = n - 1;
	for (n = 1; n <= nr_workers; n++) {
		if (pthread_create(&thread, NULL, worker, (void *)(uintptr_t)n)) {
			perror("pthread_create");
			exit(1);
		}
	}
	pin(cpus[0]);
	standin_thread(0);
	return nr_workers + 1;
}

double sample(const struct impl *impl, const struct cell *cell, unsigned long passes,
	      bool *disturbed)
{
	unsigned long calls = 0;
	unsigned int i;
	double ns = 0;

	job = (struct job){ impl, cell, passes };
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	if (cell->threads > 1) {
		ready = done = 0;
		pthread_mutex_lock(&job_lock);
		job_number++;
		pthread_cond_broadcast(&job_new);
		pthread_mutex_unlock(&job_lock);
		while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != cell->threads - 1)
			;
		__atomic_store_n(&go, job_number, __ATOMIC_RELEASE);
	}
	run(0);
	while (cell->threads > 1 && __atomic_load_n(&done, __ATOMIC_ACQUIRE) != nr_workers)
		;
	*disturbed = false;
	for (i = 0; i < cell->threads; i++) {
		ns += results[i].ns;
		calls += results[i].calls;
		*disturbed |= results[i].disturbed;
	}
	return ns / calls;
}
