/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers of the swap accounting tests: swap areas on zram, memory cgroups
 * (v1 or v2), and worker processes that swap pages out and in.
 *
 * Unless stated otherwise, a function that returns int or long returns a
 * count or 0, or a negative errno. The check_*() functions print what is wrong
 * and return nonzero then.
 */
#ifndef __SWAP_UTIL_H__
#define __SWAP_UTIL_H__

#include <linux/types.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest.h"
#include "cgroup_util.h"

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, val)	__atomic_store_n(&(x), val, __ATOMIC_RELAXED)

/* Say what is wrong; nonzero. */
#define fail(...)	(ksft_print_msg(__VA_ARGS__), -1)
#define skip(...)	(ksft_print_header(), ksft_exit_skip(__VA_ARGS__))

/* Tests may run in an emulator: generous, but every wait has an end (and see settings). */
#define TEST_SECONDS	300
#define WAIT_SECONDS	60
#define NEXT_SECONDS	5		/* after one wait that has timed out */

/* Freed slots in a CPU's slot cache, still charged: SWAP_SLOTS_CACHE_SIZE. */
#define SLOT_CACHE	64

/* Poll until @cond is true; false after a while, or if the kernel complains. */
#define wait_until(cond)						\
({									\
	time_t __begin = seconds();					\
	bool __ok;							\
									\
	while (!(__ok = (cond)) && wait_more(__begin))			\
		usleep(20000);						\
	__ok || (cond);							\
})

/* What a program can run on: the hierarchy with the memory controller. */
#define MEMCG_V1	1
#define MEMCG_V2	2
#define MEMCG_DISABLED	4		/* booted with cgroup_disable=memory */

/*
 * Call first in main(). Skips the program if a feature is missing or other swap
 * is on, waits for others that use these helpers, removes what a killed one left.
 */
void swap_test_init(int supported);
/* First in FIXTURE_SETUP: a top cgroup, page-cluster 0, no zswap. */
int swap_test_begin(void);
/*
 * Last in FIXTURE_TEARDOWN, when all workers are gone: remove all cgroups and
 * swap areas, restore all settings. Fails also if the kernel has complained
 * (warning, oops, bad page) since swap_test_begin().
 */
int swap_test_end(void);
bool kernel_complained(void);
time_t seconds(void);
bool wait_more(time_t begin);
/* Write a file of sysfs or procfs, until swap_test_end(). */
int setting_write(const char *path, const char *value);
/* Was zswap ever on? Large folios are not swapped in as a whole since then. */
bool zswap_used(void);

/*
 * Swap areas, by number: area n is /dev/zram<n>. Those of the first two kinds
 * have the highest priority, AREA_LAST is used when all others are full, swapon
 * of AREA_BAD fails with -EINVAL once it has allocated everything.
 */
enum area_kind { AREA_SSD, AREA_ROTATIONAL, AREA_LAST, AREA_BAD };
/* A new area; one that is on. */
int swap_area_new(size_t nr_pages, enum area_kind kind);
int swap_area_add(size_t nr_pages, enum area_kind kind);
int swap_area_on(int area);
int swap_area_off(int area);
int swap_area_remove(int area);
/* Slots in use, those in slot caches included: in one area, in all. */
long swap_area_used(int area);
#define swap_slots_used()	swap_area_used(-1)
/* Free what is in the per-CPU slot caches, by swapoff of a small area. */
int swap_drain_slot_caches(void);
/* Slots in a cluster: SWAPFILE_CLUSTER. */
long swap_cluster_slots(void);
/* Are folios of this size swapped out as a whole (CONFIG_THP_SWAP)? */
bool thp_swap_supported(int kb);

/* memory cgroups, all below memcg_parent() */
int memcg_version(void);		/* 1, 2, or 0 if disabled */
const char *memcg_parent(void);
/* Create a cgroup, return its path or NULL. */
char *memcg_add(const char *name, int index);
/* Pages charged to a cgroup and those below it: of swap; of memory. */
long memcg_swap(const char *cgroup);
long memcg_usage(const char *cgroup);
int memcg_limit(const char *cgroup, const char *file, long pages);
/* Pages by a key of memory.stat ("anon"); it lags behind, see check_stat(). */
long memcg_stat(const char *cgroup, const char *key);
/* Pages of user space in memory; exact, for differences of anonymous memory. */
long memcg_anon(const char *cgroup);
/* Removed cgroups that still exist: below memcg_parent(); on v1 all. */
long memcg_dying(void);
/* Remove a cgroup and wait until it is offline; it may be pinned. */
int memcg_offline(const char *cgroup);

/* Wait until a key of memory.stat shows exactly @pages. */
int check_stat(const char *cgroup, const char *key, long pages);
/*
 * Drain the slot caches: the slots in use are charged then. On v1 those of pages
 * in the swap cache are not: there are @cached of them at most.
 */
int check_slots(long cached);
/* check_slots(0), and the cgroup is charged for exactly @pages; only compare. */
int check_swap(const char *cgroup, long pages);
int check_charge(const char *cgroup, long charged, long pages);
/* No swap is charged to these cgroups. */
int check_empty(char **cgroup, int nr);
/* These cgroups can be removed, and are freed then. */
int check_released(char **cgroup, int nr);

/*
 * A worker is a process in a cgroup, pinned to a CPU, with private anonymous
 * memory that it fills and verifies. The test sends it functions to run.
 */
struct worker {
	pid_t pid;
	int fd;				/* requests and results */
	/* only in the worker's process */
	char *mem;
	long nr;			/* pages */
	__u32 *gen;			/* generation of each page, 0: not written */
	int pagemap;
};

typedef long (*worker_fn)(struct worker *w, long a, long b);

#define WORKER_DEAD	(-1000000L)	/* result of one that does not answer */

int worker_start(struct worker *w, const char *cgroup, int cpu);
/* worker_send(w, fn), worker_send(w, fn, a) or worker_send(w, fn, a, b) */
#define worker_send(w, fn, ...)						\
	__worker_send(w, fn, (long [2]) { __VA_ARGS__ })
#define worker_call(w, fn, ...)						\
	(worker_send(w, fn, ##__VA_ARGS__), worker_wait(w))
/* Send to all, then wait for all; the sum of the results, or a negative one. */
#define workers_call(w, nr, fn, ...)					\
	__workers_call(w, nr, fn, (long [2]) { __VA_ARGS__ })
long worker_wait(struct worker *w);
void worker_stop(struct worker *w);
void worker_kill(struct worker *w);
void workers_kill(struct worker *w, int nr);
/*
 * The end of most tests: swapoff (if @area is not negative), and no cgroup is
 * charged. The workers that are left verify what they have. All are gone then.
 */
int check_end(int area, char **cgroup, int nr_cgroups, struct worker *w, int nr);
/* For each a new cgroup, a CPU and mapped memory. */
int workers_start(struct worker *w, char **cgroup, int nr, long pages, int advice);
/* Swap out all of the first @nr pages that were written; one may be busy for a while. */
int worker_pageout(struct worker *w, long nr);
int workers_pageout(struct worker *w, int nr, long pages);
/* check_slots(0), and each cgroup is charged for what its worker has in swap. */
int check_workers(char **cgroup, struct worker *w, int nr);

/* requests; a and b are not used, an nr of 0 in op_verify and op_swapped means all */
long op_map(struct worker *w, long nr, long advice);
long op_fill(struct worker *w, long gen, long b);
long op_write_half(struct worker *w, long parity, long gen);
long op_verify(struct worker *w, long first, long nr);
/* Swap out; like op_swapped() returns the pages in swap. */
long op_pageout(struct worker *w, long first, long nr);
long op_swapped(struct worker *w, long first, long nr);
long op_dontneed(struct worker *w, long first, long nr);
/* Read into the swap cache without mapping. */
long op_willneed(struct worker *w, long first, long nr);

/* for code that runs in the worker */
void page_write(struct worker *w, long i, __u32 gen);
bool page_check(struct worker *w, long i);
/* Swap offset of each page, 0: not in swap. */
int swap_offsets(struct worker *w, long first, long nr, __u64 *off);
/* The same with the area's type (the kernel's number) in the low bits. */
int swap_entries(struct worker *w, long first, long nr, __u64 *ent);
#define SWAP_TYPE_BITS	5
#define SWAP_TYPE(ent)	((ent) & ((1 << SWAP_TYPE_BITS) - 1))

/* Large folios: use this size only, where advised; 0 for none. */
int folio_only(int kb);
int folio_size(int kb, const char *enabled);
/* A counter of hugepages-<size>kB/stats/; negative if the size is not offered. */
long folio_stat(int kb, const char *stat);
/* Folios of @n pages that lie in swap as an aligned range. */
long op_ranges(struct worker *w, long n, long b);

#define psize()		sysconf(_SC_PAGESIZE)
#define online_cpus()	((int)sysconf(_SC_NPROCESSORS_ONLN))
/* Memory that the test and its workers share, charged to no cgroup of them. */
void *shared_alloc(size_t size);
/* Online CPUs, but at least @min and at most @max. */
int cpus_between(int min, int max);
/* Stay on the n-th online CPU, modulo their number. */
int cpu_pin(int n);
/*
 * Empty the per-CPU LRU batches (a page in one is busy, or is not freed yet)
 * and the per-CPU caches of charges (which pin a cgroup), but those of the
 * caller's cgroup.
 */
void lru_drain(void);

void __worker_send(struct worker *w, worker_fn fn, const long *arg);
long __workers_call(struct worker *w, int nr, worker_fn fn, const long *arg);

/*
 * cgroup v1, charge moving (swap_v1.c): two cgroups and a swap area. A worker
 * in each has memory, so that a counter that is too low stays above 0, and
 * some pages in swap. Another process belongs to the test.
 */
struct v1_cgroups {
	char *cgroup[2];
	struct worker worker[2], process;
	long swapped;			/* pages that each worker has in swap */
	int area;
};

/* The same as swap_test_init(), and needs a kernel that moves charges. */
void v1_test_init(void);
/* Calls swap_test_begin(). */
int v1_setup(struct v1_cgroups *v, long nr_slots, long swapped);
/* Ends all processes, then calls swap_test_end(). */
int v1_end(struct v1_cgroups *v);
/* Slots that a cgroup is charged for, without those of its worker. */
long v1_swap(struct v1_cgroups *v, int i);
/* Move a process, with what it is charged for or without. */
int v1_move(struct v1_cgroups *v, pid_t pid, int to, bool charges);
/* Nothing else is in swap: v1_swap() is 0 for both. */
int check_v1_swap(struct v1_cgroups *v);
/*
 * When the process is stopped that holds, new swap is charged, after swapoff
 * nothing is, and the cgroups can be removed.
 */
int check_v1_end(struct v1_cgroups *v);

/*
 * Start the process with @nr pages in swap, and move it and its charges there
 * and back while its children swap these pages in and out: @rounds times, and
 * more often until @min entries were moved, as some are in memory then. Then
 * check_v1_end().
 */
int v1_concurrent_move(struct v1_cgroups *v, long nr, int rounds, long min);

#endif
