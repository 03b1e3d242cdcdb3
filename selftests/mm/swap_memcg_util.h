/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the swap_memcg tests share: a guard that undoes everything, a swap area
 * of the test's own, memory cgroups, and worker processes that own pages.
 */
#ifndef __SWAP_MEMCG_UTIL_H__
#define __SWAP_MEMCG_UTIL_H__

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "vm_util.h"
#include "../cgroup/cgroup_util.h"

/* A test under an emulator is slow: generous, but every wait has an end. */
#define TEST_SECONDS	300
#define WAIT_SECONDS	60

/* Freed slots that a CPU may keep, still charged: SWAP_SLOTS_CACHE_SIZE. */
#define SLOT_CACHE	64
/* Pages of a process's own, page tables for example, that come and go. */
#define MEMORY_SLACK	32
/* Free slots per CPU below which 6.12 turns the slot caches off and on. */
#define SLOT_CACHE_OFF	(2 * SLOT_CACHE)
#define SLOT_CACHE_ON	(5 * SLOT_CACHE)

/*
 * Poll until @cond is true; its last value is the value of the expression.
 * There is nothing to wait for once the kernel has complained, and not long
 * once something was waited for in vain: the program fails anyway.
 */
#define wait_until(cond)						\
({									\
	time_t __end = time(NULL) + state->wait_seconds;		\
	bool __ok;							\
									\
	while (!(__ok = (cond)) && time(NULL) < __end &&		\
	       !kernel_complained())					\
		usleep(20000);						\
	if (!__ok)							\
		state->wait_seconds = 2;				\
	__ok;								\
})

#define TREE		"ksft_swap_memcg"	/* top cgroup, and swap label */
#define NR_AREAS	4
#define NR_SETTINGS	64

/* Shared by the test program, its children and the guardian. */
extern struct state {
	pid_t program;
	pid_t guardian;
	pid_t group;			/* process group of the running test */
	struct {
		char path[32];		/* empty: none */
		int flags;		/* for swapon() */
	} area[NR_AREAS];
	bool zram_adding;		/* while it has no path yet */
	char zram_known[32];		/* and those that were there: by number */
	int drain;			/* area + 1 */
	unsigned long taint;		/* of the kernel, at the start */
	int wait_seconds;		/* that wait_until() waits at most */
	int nr_settings;
	struct {
		char path[128];
		char value[64];
	} setting[NR_SETTINGS];
} *state;

/* guard: call first in main(), before anything is set up */
void swap_memcg_guard(void);
/* Undo whatever any swap_memcg test has left; the number of leftovers. */
int swap_memcg_reset(void);
/* The same at the end of a test, and what was wrong then, or NULL. */
const char *swap_memcg_undo(void);
/*
 * What the kernel has complained about since the program began (a warning, an
 * oops, a bad page: /proc/sys/kernel/tainted), or NULL.
 */
const char *kernel_complained(void);
/* Write a setting and have the guard restore it (@undo: NULL for as it was). */
int setting_write(const char *path, const char *value, const char *undo);
/* What the kernel has counted so far in /proc/vmstat, or -1. */
long vm_event(const char *name);

/* Zswap before the swap areas; NULL, or why it cannot be had. */
#define ZSWAP		"/sys/module/zswap/parameters/"
const char *zswap_enable(void);
bool zswap_is_on(void);

/* swap areas, by number, or -errno: a zram device each, or a file */
enum area_kind {
	AREA_SOLID_STATE,
	AREA_ROTATIONAL,
	AREA_FILE,			/* in the current directory */
};

int swap_area_add(size_t nr_pages, bool rotational);
/* Of a priority @below the one of the others, which is the highest. */
int swap_area_add_kind(size_t nr_pages, enum area_kind kind, int below);
/* One that is used when the others are full: its free slots count, though. */
int swap_area_spare(size_t nr_pages);
int swap_area_off(int area);
/* The same area again. */
int swap_area_on(int area);
/* Slots in use in it, those in slot caches included. */
long swap_area_used(int area);
int swap_areas_remove(void);
/*
 * A labelled area of any size that costs no memory, for swapon(): a loop device
 * over a file with holes. @dev: its path; it lives while the returned file, or
 * -errno, is open, or it is on. @nr_bad: bad pages in its header, all page 0:
 * one is an error, which swapon() finds after it has allocated its maps.
 */
int swap_sparse_open(size_t nr_pages, int nr_bad, char *dev, size_t len);
/* Slots that were freed wait in per-CPU caches, still charged: return them. */
int swap_drain_slot_caches(void);
/* Slots in use in the areas of the test, those in slot caches included. */
long swap_slots_used(void);
/* True when the system has swap besides the areas of the test. */
bool swap_in_use(void);

/*
 * memory cgroups: version 1 or 2, or 0 for none at all, just cgroups, on a
 * kernel that was told so, after a reset; NULL, or why they cannot be had
 */
const char *memcg_setup(int version);
const char *memcg_parent(void);
int memcg_version(void);
/* All of them, whichever test has left them; how many cannot be removed. */
int memcg_remove(void);
char *memcg_add(const char *name, int index);
/* Pages of swap that a cgroup and those below it pay for, by its counters. */
long memcg_swap(const char *cgroup);
/* The same of memory, without the charges that CPUs have cached. */
long memcg_memory(const char *cgroup);
int memcg_limit(const char *cgroup, const char *file, long pages);
/* The memory cgroups of the v1 hierarchy, those that are dying included. */
long memcg_v1_count(void);
/* After swapoff: nothing is charged to v2 cgroups; what is left, or NULL. */
const char *memcg_check_empty(char **cgroup, int nr);
/*
 * What all cgroups of the test pay for is what is in use in its swap areas:
 * exactly with cgroup v2 once the slot caches are empty, which this sees to;
 * with v1 a slot whose page is in the swap cache is not paid for. @cached is
 * the most slots of that kind. What is wrong, or NULL.
 */
const char *memcg_check_slots(long cached);
/* They can be removed, and are gone then. */
const char *memcg_check_gone(char **cgroup, int nr);

/*
 * A worker is a process in a cgroup, pinned to a CPU, with an arena of pages
 * that it fills and verifies. The test sends it functions to run.
 */
struct worker {
	pid_t pid;
	int cpu;
	int to;				/* requests, test to worker */
	int from;			/* results, worker to test */
	/* of the worker's own process */
	char *mem;
	size_t nr;			/* pages in the arena */
	__u32 *gen;			/* generation of each page, 0: not written */
	int pagemap;
};

typedef long (*worker_fn)(struct worker *w, long a, long b);

#define WORKER_DEAD	(-1000000L)

int worker_start(struct worker *w, const char *cgroup, int cpu);
void worker_send(struct worker *w, worker_fn fn, long a, long b);
long worker_wait(struct worker *w);
long worker_call(struct worker *w, worker_fn fn, long a, long b);
/* All at the same time: the sum of what they return, or a failure. */
long workers_call(struct worker *w, int nr, worker_fn fn, long a, long b);
void worker_stop(struct worker *w);
void worker_kill(struct worker *w);
void workers_kill(struct worker *w, int nr);
/* A cgroup and a CPU for each, with mapped pages; what has failed, or NULL. */
const char *workers_setup(struct worker *w, char **cgroup, int nr, long pages,
			  long advice);
/*
 * Swap out the first @nr pages, all of them: one may be busy, or in the batch
 * of the CPU that has read it. False when some stay.
 */
bool worker_pageout(struct worker *w, long nr);

/* requests: those that fail return a negative number */
long op_map(struct worker *w, long nr, long advice);
long op_fill(struct worker *w, long gen, long unused);
long op_write_half(struct worker *w, long parity, long gen);
long op_verify(struct worker *w, long first, long nr);
long op_pageout(struct worker *w, long first, long nr);
long op_dontneed(struct worker *w, long first, long nr);
long op_willneed(struct worker *w, long first, long nr);
long op_lock(struct worker *w, long unused_a, long unused_b);
long op_swapped(struct worker *w, long first, long nr);
long op_swapoff(struct worker *w, long area, long unused);

/* for code that runs in the worker */
void page_write(struct worker *w, size_t i, __u32 gen);
bool page_check(struct worker *w, size_t i);
/* The swap offset of each page, 0 for a page that is not swapped out. */
int swap_offsets(struct worker *w, size_t first, size_t nr, __u64 *off);
/* The same with the area's type, the kernel's number for it, in bits 0-4. */
int swap_entries(struct worker *w, size_t first, size_t nr, __u64 *ent);
#define SWAP_TYPE_BITS	5
#define SWAP_TYPE(ent)	((ent) & ((1 << SWAP_TYPE_BITS) - 1))

/*
 * Slots, by the worker that has them. In an area of @nr_slots slots, read from
 * pagemap: call this before the workers are started.
 */
int owners_init(long nr_slots);
/*
 * Of the borders between ranges of @n slots, aligned, with slots in use at both
 * sides, those with different workers at each; @borders: of all. Negative when
 * two pages have the same slot, or one that is none.
 */
long owners_mixed(struct worker *w, int nr, long n, long *borders);
/* Pages of the whole arena that are swapped out. */
long op_own(struct worker *w, long unused_a, long unused_b);
/*
 * Cgroup by cgroup, what is paid for is what its worker has swapped out, 0 for
 * a worker that is gone, and together it is memcg_check_slots(0). Or what not.
 */
const char *memcg_check_workers(char **cgroup, struct worker *w, int nr);

/* large folios: those of one size only, where advised; 0 for none */
void folio_only(unsigned int kb);
int folio_size(unsigned int kb, const char *enabled);
/* Folios of that size ever swapped out whole; negative: not offered. */
long folio_swpout(unsigned int kb);
/* Folios of that size ever split. */
long folio_split(unsigned int kb);
/* Folios of @n pages in swap: neighbours, and aligned like the memory. */
long op_ranges(struct worker *w, long n, long unused);

/*
 * A shared mapping of tmpfs: its pages stay when whoever wrote them has gone.
 * Workers that are started after shm_init() can attach to it: then it is their
 * arena. Whether a page of it is in swap does not show in pagemap.
 */
bool shm_init(size_t nr);
void shm_exit(void);
long op_shm_attach(struct worker *w, long unused_a, long unused_b);
/* Unmap all pages: MADV_PAGEOUT spares those that two processes have mapped. */
long op_shm_detach(struct worker *w, long unused_a, long unused_b);
long op_shm_truncate(struct worker *w, long nr, long unused);
/* Pages of the range that are not in memory, after MADV_PAGEOUT or as it is. */
long op_shm_pageout(struct worker *w, long first, long nr);
long op_shm_out(struct worker *w, long first, long nr);

/* Removed cgroups that are still there: below memcg_parent(), or with v1 all */
long memcg_dying(void);
/* The same, after a moment for those that nothing pins to go. */
long memcg_settle(void);
/* Remove a cgroup that may be pinned, and see it offline; an error or NULL. */
const char *memcg_offline(const char *cgroup);
/* Pages that a line of memory.stat shows. */
long memcg_stat(const char *cgroup, const char *key);

/*
 * Two v1 cgroups on a swap area. Each has resident pages besides, so that a
 * counter that is too low shows in a difference and is not cut off at 0.
 */
struct pair {
	char *cgroup[2];
	struct worker resident[2];
	int area;
	long swapped;			/* pages that each has in swap for good */
	long online;			/* v1 memory cgroups without these */
};

const char *pair_setup(struct pair *p, size_t nr_pages, long swapped);
void pair_kill(struct pair *p);
/* Pages that a cgroup has in swap: exact, and negative when it is broken. */
long pair_swap(struct pair *p, int i);
/* End what is left, swapoff; what is still charged or NULL. */
const char *pair_finish(struct pair *p);
/* Move a process, charges of memory and swap with it or not. */
int pair_move(struct pair *p, struct worker *w, int to, bool charges);
bool pair_can_move_charges(struct pair *p);

/* Move a worker with @nr pages in swap there and back, @rounds times. */
struct moves {
	long moves;			/* while children use the entries */
	long moved;			/* entries that these have moved */
	long during;			/* faults meanwhile */
	long faults;			/* faults in all */
};

/* before any worker is started, which pair_setup() does */
bool move_init(void);
/*
 * More rounds, up to five times as many, until @least entries were moved: how
 * many are in swap when the mover comes by depends on the CPUs' load.
 */
const char *move_under_fire(struct pair *p, struct worker *w, long nr,
			    int rounds, long least, struct moves *m);

#define CHURN_CHILDREN	4		/* of each worker and round, half killed */
#define CHURN_REMOVERS	3		/* the same, a third of them killed */
#define CHURN_STAGES	64

/* Of the churns in all workers; churn_init() before any is started. */
extern struct churn {
	unsigned long slots;		/* swapped out */
	unsigned long freed;		/* pages given to MADV_FREE */
	unsigned long ended;		/* children, those killed included */
	unsigned long killed;
	unsigned long removed;		/* cgroups with slots in use */
	unsigned long rounds;		/* of op_range_churn() */
	int stop;			/* it */
	int stage[CHURN_STAGES];
} *churn;

bool churn_init(void);
/* Of a worker that has mapped pages: fork children that share them. */
long op_fork_churn(struct worker *w, long rounds, long seed);
/* Swap ranges out and in, in children too, until churn->stop is set. */
long op_range_churn(struct worker *w, long seed, long unused);
/* Have the OOM killer end children in a cgroup, by path, with small limits. */
long op_oom_churn(struct worker *w, long rounds, long cgroup);
int memcg_oom_limit(const char *cgroup);
long memcg_oom_kills(const char *cgroup);
/* Remove cgroups whose pages are in swap, once they were left for @refuge. */
long op_remove_churn(struct worker *w, long rounds, long refuge);

/* All of them at once, on a swap area, with cgroup v1 or v2. */
#define STORM_WORKERS	4		/* of a kind, at most */

struct storm {
	char *cgroup[STORM_WORKERS];	/* of those that fork */
	char *oom[STORM_WORKERS];
	char *refuge;
	struct worker forker[STORM_WORKERS];
	struct worker hog[STORM_WORKERS];
	struct worker remover[STORM_WORKERS];
	int area;
	long online;			/* v1 memory cgroups without these */
};

const char *storm_setup(struct storm *s, int version);
void storm_kill(struct storm *s);
/* Workers of each kind; what has failed, or what is counted wrongly. */
const char *storm_run(struct storm *s, int forkers, int hogs, int removers);

/* Memory for the test and its workers, charged to none of their cgroups. */
void *shared_alloc(size_t size);
int online_cpus(void);
/* The same, but not less than @least and not more than @most. */
int cpus_between(int least, int most);
/* Stay on the CPU that is number @n of those online, counted round. */
int cpu_pin(int n);
/*
 * A page that was freed stays charged while it is in the batch of a CPU on its
 * way to an LRU list, which can be for ever on an idle CPU: empty them all.
 */
void lru_drain(void);
/*
 * A CPU also caches charges of the cgroup that charged or freed a page on it
 * last, and pins it: have another cgroup, which stays, charge a page on each.
 */
void memcg_drain(void);

#endif
