// SPDX-License-Identifier: GPL-2.0-only
/*
 * The workers of the swap_memcg tests, see swap_memcg_util.h: processes that
 * own pages and run what the test sends them.
 *
 * Each page is filled from its address, its worker and a generation, and is
 * compared word by word when it is read, so that a page that came back from
 * the wrong slot, or from an earlier life of the right one, is noticed. No
 * page is filled with one value only: those would not reach the swap area.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "swap_memcg_util.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

#define HUGE_ALIGN	(2UL << 20)
#define BATCH		512		/* pagemap entries read at once */
#define PATTERN		8		/* words until the content repeats */

struct request {
	worker_fn fn;
	long a, b;
};

int online_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

void *shared_alloc(size_t size)
{
	/* a page of it that a worker were the first to use would be charged */
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

int cpu_pin(int n)
{
	int cpu, online = online_cpus();
	cpu_set_t cpus;

	/* the n-th of those that are online, counted round */
	n %= online;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		CPU_ZERO(&cpus);
		CPU_SET(cpu, &cpus);
		if (!sched_setaffinity(0, sizeof(cpus), &cpus) && !n--)
			return 0;
	}
	return -EINVAL;
}

void lru_drain(void)
{
	size_t size = psize();
	cpu_set_t old, cpus;
	char *page;
	int cpu;

	page = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return;
	sched_getaffinity(0, sizeof(old), &old);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		CPU_ZERO(&cpus);
		CPU_SET(cpu, &cpus);
		if (sched_setaffinity(0, sizeof(cpus), &cpus)) {
			if (cpu >= sysconf(_SC_NPROCESSORS_CONF))
				break;
			continue;
		}
		/* charged to this process's cgroup: the only one cached then */
		*page = 1;
		madvise(page, size, MADV_DONTNEED);
		/* before it looks at the range, this drains the CPU's batches */
		madvise(page, size, MADV_PAGEOUT);
	}
	sched_setaffinity(0, sizeof(old), &old);
	munmap(page, size);
}

static void worker_main(struct worker *w, const char *cgroup)
{
	struct request req;
	long ret = 0;

	if (cpu_pin(w->cpu))
		_exit(1);
	w->pagemap = open("/proc/self/pagemap", O_RDONLY);
	if (w->pagemap < 0 || (cgroup && cg_enter_current(cgroup)))
		_exit(1);

	/* the first result says that the worker has started */
	while (write(w->from, &ret, sizeof(ret)) == sizeof(ret) &&
	       read(w->to, &req, sizeof(req)) == sizeof(req) && req.fn)
		ret = req.fn(w, req.a, req.b);
	_exit(0);
}

int worker_start(struct worker *w, const char *cgroup, int cpu)
{
	int to[2], from[2];

	memset(w, 0, sizeof(*w));
	w->cpu = cpu;
	if (pipe(to))
		return -errno;
	if (pipe(from)) {
		close(to[0]);
		close(to[1]);
		return -errno;
	}
	fflush(stdout);
	fflush(stderr);
	w->pid = fork();
	if (!w->pid) {
		close(to[1]);
		close(from[0]);
		w->to = to[0];
		w->from = from[1];
		worker_main(w, cgroup);
	}
	close(to[0]);
	close(from[1]);
	w->to = to[1];
	w->from = from[0];
	if (w->pid < 0)
		return -errno;
	return worker_wait(w) ? -ECHILD : 0;
}

void worker_send(struct worker *w, worker_fn fn, long a, long b)
{
	struct request req = { .fn = fn, .a = a, .b = b };

	if (write(w->to, &req, sizeof(req)) != sizeof(req))
		fprintf(stderr, "# worker %d: no request taken\n", w->pid);
}

long worker_wait(struct worker *w)
{
	struct pollfd pfd = { .fd = w->from, .events = POLLIN };
	long ret;

	if (poll(&pfd, 1, WAIT_SECONDS * 1000) != 1 ||
	    read(w->from, &ret, sizeof(ret)) != sizeof(ret)) {
		fprintf(stderr, "# worker %d: no answer\n", w->pid);
		return WORKER_DEAD;
	}
	return ret;
}

long worker_call(struct worker *w, worker_fn fn, long a, long b)
{
	worker_send(w, fn, a, b);
	return worker_wait(w);
}

long workers_call(struct worker *w, int nr, worker_fn fn, long a, long b)
{
	long n, sum = 0;
	int i;

	for (i = 0; i < nr; i++)
		worker_send(&w[i], fn, a, b);
	for (i = 0; i < nr; i++) {
		n = worker_wait(&w[i]);
		if (n < 0)
			sum = n;
		else if (sum >= 0)
			sum += n;
	}
	return sum;
}

static void worker_reap(struct worker *w)
{
	waitpid(w->pid, NULL, 0);
	close(w->to);
	close(w->from);
	memset(w, 0, sizeof(*w));
}

void worker_stop(struct worker *w)
{
	if (w->pid <= 0)
		return;
	worker_send(w, NULL, 0, 0);
	worker_reap(w);
}

void worker_kill(struct worker *w)
{
	if (w->pid <= 0)
		return;
	kill(w->pid, SIGKILL);
	worker_reap(w);
}

static long op_drain(struct worker *w, long unused_a, long unused_b)
{
	lru_drain();
	return 0;
}

void memcg_drain(void)
{
	char *cgroup = cg_name(memcg_parent(), "drain");
	struct worker w;

	if (!worker_start(&w, cgroup, 0))
		worker_call(&w, op_drain, 0, 0);
	worker_stop(&w);
	free(cgroup);
}

/* pages */

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
