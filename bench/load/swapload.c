// SPDX-License-Identifier: GPL-2.0-only
/*
 * swapload: a swap load in phases, for counts per page.
 *
 * usage: swapload CGROUP TASKS PAGES FOLIO_KB ROUNDS [LOCK_STAT]
 *
 * CGROUP     a cgroup v2 or v1 (memory) directory, to make the tasks' cgroups in
 * TASKS      tasks, each on a CPU and in a cgroup of its own
 * PAGES      base pages of each, a multiple of a folio's
 * FOLIO_KB   size of the folios that are swapped out, 0 for single pages
 * ROUNDS     how often all phases are run; one more, the first, is not printed
 * LOCK_STAT  /proc/lock_stat: also copied after each phase, which begins at 0
 *
 * A round is: write, out (MADV_PAGEOUT), in (read each page), write, out, on v1
 * move (of the task and its charges to another cgroup), free (MADV_DONTNEED).
 * Within a phase no task waits for another; between them all wait for the parent.
 * Needs root, and swap for all pages that is on already; turns nothing on or off.
 *
 * Prints a line a phase, "phase round NAME pages N ns N", with the pages of all
 * tasks and the time in them, summed; then the copy of LOCK_STAT up to a line
 * "end". Fails, and says which, if a phase did not do what it counts: fewer than
 * 95 % of the pages swapped out, any page with wrong contents.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_TASKS	64
#define PAGEMAP_SWAP	(1ULL << 62)
#define MOVE_CHARGE	"memory.move_charge_at_immigrate"

enum phase { WRITE, OUT, IN, MOVE, FREE };
static const char *const names[] = { "write", "out", "in", "move", "free" };
/* A round; each phase finds what the one before has left. */
static const enum phase round_v1[] = { WRITE, OUT, IN, WRITE, OUT, MOVE, FREE };
static const enum phase round_v2[] = { WRITE, OUT, IN, WRITE, OUT, FREE };

struct order {
	enum phase phase;
	long round;
};

struct result {
	long pages;
	long ns;
};

static struct task {
	int order, result;		/* pipes */
} task[MAX_TASKS];

static long page_size, nr_pages;
static char *mem;
static int pagemap;

static void fail(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "swapload: ");
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(1);
}

static long number(const char *name, const char *text, long min, long max)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (!*text || *end || n < min || n > max) {
		fprintf(stderr, "swapload: %s is %s, not a number from %ld to %ld\n", name, text,
			min, max);
		exit(2);
	}
	return n;
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s%s%s", dir, *name ? "/" : "", name);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail("cannot write '%s' to %s: %s", text, path, strerror(errno));
	close(fd);
}

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static long *word(long page)
{
	return (long *)(mem + page * page_size);
}

/*
 * A page has one value of its own in all its words, which zram stores without
 * compressing it; not 0, as such a page would not reach the swap area.
 */
static long value(long stamp, long page)
{
	return (stamp << 32 | page) * 0x9e3779b97f4a7c15L | 1;
}

static void fill(long stamp)
{
	long i, n;

	for (i = 0; i < nr_pages; i++)
		for (n = 0; n < page_size / (long)sizeof(long); n++)
			word(i)[n] = value(stamp, i);
}

static long swapped(void)
{
	uint64_t entry[512];
	long i, k, n = 0;
	ssize_t len;

	for (i = 0; i < nr_pages; i += k) {
		k = nr_pages - i < 512 ? nr_pages - i : 512;
		len = k * sizeof(*entry);
		if (pread(pagemap, entry, len, ((unsigned long)mem / page_size + i) * 8) != len)
			fail("cannot read pagemap: %s", strerror(errno));
		for (long e = 0; e < k; e++)
			n += !!(entry[e] & PAGEMAP_SWAP);
	}
	return n;
}

/* Each task's two cgroups, on v2 only the first one. */
static void cgroup_path(char *path, size_t size, const char *cgroup, int id, int n)
{
	snprintf(path, size, "%s/swapload-%d-%d", cgroup, id, n);
}

static struct result run(struct order order, const char *cgroup, int id)
{
	struct result r = { .pages = order.phase == WRITE ? nr_pages : swapped() };
	bool ok = true;
	char path[256];
	long i;

	cgroup_path(path, sizeof(path), cgroup, id, (order.round + 1) % 2);
	r.ns = -now();
	switch (order.phase) {
	case WRITE:
		ok = !madvise(mem, nr_pages * page_size, MADV_DONTNEED);
		fill(order.round);
		break;
	case OUT:
		ok = !madvise(mem, nr_pages * page_size, MADV_PAGEOUT);
		break;
	case IN:
		for (i = 0; i < nr_pages; i++)
			ok &= *word(i) == value(order.round, i);
		break;
	case MOVE:
		write_file(path, "cgroup.procs", "0");
		break;
	case FREE:
		ok = !madvise(mem, nr_pages * page_size, MADV_DONTNEED);
		break;
	}
	r.ns += now();
	if (!ok)
		fail("%s: %s", names[order.phase], order.phase == IN ?
		     "a page came back with wrong contents" : strerror(errno));
	if (order.phase == OUT)
		r.pages = swapped();
	if (r.pages < nr_pages - nr_pages / 20)
		fail("%s: only %ld of %ld pages are in swap", names[order.phase], r.pages, nr_pages);
	return r;
}

/* Does what it is told until the pipe is closed. */
static void task_main(int id, const char *cgroup, long folio_kb, int order_fd, int result_fd)
{
	long size = nr_pages * page_size, align = folio_kb ? folio_kb * 1024 : page_size;
	struct order order;
	struct result r;
	char path[256];
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(id, &cpu);
	cgroup_path(path, sizeof(path), cgroup, id, 0);
	write_file(path, "cgroup.procs", "0");
	pagemap = open("/proc/self/pagemap", O_RDONLY);
	mem = mmap(NULL, size + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED || pagemap < 0 || sched_setaffinity(0, sizeof(cpu), &cpu))
		fail("cannot set task %d up: %s", id, strerror(errno));
	mem = (char *)(((unsigned long)mem + align - 1) & -align);
	madvise(mem, size, folio_kb ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	while (read(order_fd, &order, sizeof(order)) == sizeof(order)) {
		r = run(order, cgroup, id);
		if (write(result_fd, &r, sizeof(r)) != sizeof(r))
			exit(1);
	}
	exit(0);
}

static void task_start(int id, const char *cgroup, long folio_kb)
{
	int order[2], result[2];

	if (pipe2(order, O_CLOEXEC) || pipe2(result, O_CLOEXEC))
		fail("cannot make a pipe: %s", strerror(errno));
	switch (fork()) {
	case -1:
		fail("cannot fork: %s", strerror(errno));
		break;
	case 0:
		/* The write ends of this and all earlier tasks, or it never sees its end of file. */
		for (int i = 0; i < id; i++)
			close(task[i].order);
		close(order[1]);
		close(result[0]);
		task_main(id, cgroup, folio_kb, order[0], result[1]);
	}
	close(order[0]);
	close(result[1]);
	task[id] = (struct task){ .order = order[1], .result = result[0] };
}

static void phase(struct order order, int tasks, const char *lock_stat, bool print)
{
	struct result r, sum = { };
	char buf[4096];
	ssize_t len;
	int i, fd;

	if (lock_stat)
		write_file(lock_stat, "", "0");
	for (i = 0; i < tasks; i++)
		if (write(task[i].order, &order, sizeof(order)) != sizeof(order))
			fail("task %d is gone", i);
	for (i = 0; i < tasks; i++) {
		if (read(task[i].result, &r, sizeof(r)) != sizeof(r))
			fail("task %d is gone", i);
		sum.pages += r.pages;
		sum.ns += r.ns;
	}
	if (!print)
		return;
	printf("phase %ld %s pages %ld ns %ld\n", order.round, names[order.phase], sum.pages,
	       sum.ns);
	if (lock_stat) {
		fd = open(lock_stat, O_RDONLY);
		if (fd < 0)
			fail("cannot read %s: %s", lock_stat, strerror(errno));
		fflush(stdout);
		while ((len = read(fd, buf, sizeof(buf))) > 0)
			if (write(STDOUT_FILENO, buf, len) != len)
				fail("cannot write: %s", strerror(errno));
		close(fd);
	}
	printf("end\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	long tasks, folio_kb, rounds;
	const enum phase *order;
	int i, n, nr, cgroups;
	struct order o;
	char path[256];
	bool v1;

	if (argc != 6 && argc != 7) {
		fprintf(stderr, "usage: swapload CGROUP TASKS PAGES FOLIO_KB ROUNDS [LOCK_STAT]\n");
		return 2;
	}
	page_size = sysconf(_SC_PAGESIZE);
	tasks = number("TASKS", argv[2], 1, MAX_TASKS);
	nr_pages = number("PAGES", argv[3], 1, 1L << 24);
	folio_kb = number("FOLIO_KB", argv[4], 0, 1L << 16);
	rounds = number("ROUNDS", argv[5], 1, 1000);
	if (folio_kb && nr_pages * page_size % (folio_kb * 1024))
		fail("%ld pages are not a multiple of %ld kB", nr_pages, folio_kb);

	snprintf(path, sizeof(path), "%s/" MOVE_CHARGE, argv[1]);
	v1 = !access(path, F_OK);
	order = v1 ? round_v1 : round_v2;
	nr = v1 ? sizeof(round_v1) / sizeof(*order) : sizeof(round_v2) / sizeof(*order);
	cgroups = v1 ? 2 : 1;
	for (i = 0; i < tasks; i++) {
		for (n = 0; n < cgroups; n++) {
			cgroup_path(path, sizeof(path), argv[1], i, n);
			if (mkdir(path, 0755))
				fail("cannot make cgroup %s: %s", path, strerror(errno));
			if (v1)
				write_file(path, MOVE_CHARGE, "1");
		}
		task_start(i, argv[1], folio_kb);
	}
	for (o.round = 0; o.round <= rounds; o.round++)
		for (n = 0; n < nr; n++) {
			o.phase = order[n];
			phase(o, tasks, argc == 7 ? argv[6] : NULL, o.round);
		}
	for (i = 0; i < tasks; i++)
		close(task[i].order);
	while (wait(&n) > 0)
		if (n)
			fail("a task failed");
	for (i = 0; i < tasks; i++)
		for (n = 0; n < cgroups; n++) {
			cgroup_path(path, sizeof(path), argv[1], i, n);
			if (rmdir(path))
				fail("cannot remove cgroup %s: %s", path, strerror(errno));
		}
	return 0;
}
