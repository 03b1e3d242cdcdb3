// SPDX-License-Identifier: GPL-2.0-only
/*
 * The workers of the swap_memcg tests, see swap_memcg_util.h: processes that
 * run what the test sends them, each in a cgroup and on a CPU of its own.
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

int cpus_between(int least, int most)
{
	int n = online_cpus();

	return n < least ? least : n > most ? most : n;
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

void workers_kill(struct worker *w, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		worker_kill(&w[i]);
}

const char *workers_setup(struct worker *w, char **cgroup, int nr, long pages,
			  long advice)
{
	int i;

	for (i = 0; i < nr; i++) {
		cgroup[i] = memcg_add("worker", i);
		if (!cgroup[i])
			return "cannot create a cgroup";
		if (worker_start(&w[i], cgroup[i], i))
			return "cannot start a worker";
		if (worker_call(&w[i], op_map, pages, advice))
			return "a worker cannot map its pages";
	}
	return NULL;
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
