// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drives a kernel with one of the delays of repro-*.patch into its window.
 * Not a test: what is to be seen stands in the header of each patch.
 *
 * repro-swap-cgroup move | zap
 *
 * move - charge moving while a child that shares the swapped pages reads them
 * zap  - a range is zapped while its pages leave the swap cache
 *
 * Needs root, four CPUs, cgroup v1 memory at /sys/fs/cgroup/memory, mounted
 * before any swap was used, and a solid-state swap area of its own. Leaves the
 * groups A, B and Z behind: meant for a virtual machine that is thrown away.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMCG		"/sys/fs/cgroup/memory/"
#define NR_PAGES	64

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

static size_t psize;

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		perror(path);
	if (fd >= 0)
		close(fd);
}

static void enter(const char *procs)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	put(procs, pid);
}

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int nr_swapped(char *mem)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry[NR_PAGES] = {};
	int i, nr = 0;

	if (pread(fd, entry, sizeof(entry), (uintptr_t)mem / psize * 8) < 0)
		perror("pagemap");
	close(fd);
	for (i = 0; i < NR_PAGES; i++)
		nr += entry[i] >> 62 & 1;
	return nr;
}

static void page_out(char *mem)
{
	int tries;

	for (tries = 0; tries < 9 && nr_swapped(mem) < NR_PAGES; tries++)
		madvise(mem, NR_PAGES * psize, MADV_PAGEOUT);
	printf("%d of %d pages in swap\n", nr_swapped(mem), NR_PAGES);
}

static void read_all(volatile char *mem, useconds_t pause)
{
	int i;

	for (i = 0; i < NR_PAGES; i++) {
		(void)mem[i * psize];
		usleep(pause);
	}
}

static void do_move(char *mem)
{
	put(MEMCG "B/memory.move_charge_at_immigrate", "1");
	enter(MEMCG "A/cgroup.procs");
	run_on(0);
	memset(mem, 1, NR_PAGES * psize);
	page_out(mem);

	if (!fork()) {
		run_on(1);
		read_all(mem, 10000);
		_exit(0);
	}
	usleep(50000);
	enter(MEMCG "B/cgroup.procs");
	wait(NULL);
}

static void do_zap(char *mem)
{
	int i;

	run_on(0);
	for (i = 0; i < NR_PAGES; i++) {
		enter(i & 1 ? MEMCG "B/cgroup.procs" : MEMCG "A/cgroup.procs");
		mem[i * psize] = 1;
	}
	page_out(mem);

	/* The child reads them and goes: in the swap cache, still swapped for us */
	if (!fork()) {
		run_on(1);
		read_all(mem, 0);
		_exit(0);
	}
	wait(NULL);
	/* drains the batches of pages that are not on the LRU yet */
	put(MEMCG "Z/memory.force_empty", "0");

	if (!fork()) {
		munmap(mem, NR_PAGES * psize);
		run_on(2);
		usleep(300000);
		/* Reclaim; that the limit cannot be set at last is no matter */
		put(MEMCG "A/memory.limit_in_bytes", "4096");
		put(MEMCG "B/memory.limit_in_bytes", "4096");
		_exit(0);
	}
	usleep(150000);
	run_on(3);
	prctl(PR_SET_NAME, "slowzap");	/* for whom the patch delays */
	madvise(mem, NR_PAGES * psize, MADV_DONTNEED);
	wait(NULL);
}

int main(int argc, char **argv)
{
	char *mem;

	setvbuf(stdout, NULL, _IONBF, 0);
	psize = sysconf(_SC_PAGESIZE);
	mkdir(MEMCG "A", 0755);
	mkdir(MEMCG "B", 0755);
	mkdir(MEMCG "Z", 0755);
	put("/proc/sys/vm/page-cluster", "0");
	mem = mmap(NULL, NR_PAGES * psize, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		return 1;
	madvise(mem, NR_PAGES * psize, MADV_NOHUGEPAGE);

	if (argc == 2 && !strcmp(argv[1], "move"))
		do_move(mem);
	else if (argc == 2 && !strcmp(argv[1], "zap"))
		do_zap(mem);
	else
		return 2;
	return 0;
}
