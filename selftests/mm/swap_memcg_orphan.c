// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages that outlive the cgroup that they are charged to, for the swap_memcg
 * tests, see swap_memcg_util.h: tmpfs pages that processes of several cgroups
 * share, and cgroups that are removed while something still pins them.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "swap_memcg_util.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

#define SHM_PID		1	/* same contents for whoever reads or writes */

static struct {
	int fd;
	char *mem;
	__u32 *gen;
	size_t nr;
} shm = { .fd = -1 };

bool shm_init(size_t nr)
{
	/* which pages have which neighbours in swap is what is tested */
	setting_write("/sys/kernel/mm/transparent_hugepage/shmem_enabled",
		      "never", NULL);
	shm.fd = memfd_create(TREE, MFD_CLOEXEC);
	if (shm.fd < 0 || ftruncate(shm.fd, nr * psize()))
		return false;
	shm.mem = mmap(NULL, nr * psize(), PROT_READ | PROT_WRITE, MAP_SHARED,
		       shm.fd, 0);
	shm.gen = shared_alloc(nr * sizeof(*shm.gen));
	shm.nr = nr;
	return shm.mem != MAP_FAILED && shm.gen;
}

void shm_exit(void)
{
	munmap(shm.mem, shm.nr * psize());
	munmap(shm.gen, shm.nr * sizeof(*shm.gen));
	close(shm.fd);
	shm.fd = -1;
}

long op_shm_attach(struct worker *w, long unused_a, long unused_b)
{
	w->mem = shm.mem;
	w->gen = shm.gen;
	w->nr = shm.nr;
	w->pid = SHM_PID;
	return 0;
}

long op_shm_detach(struct worker *w, long unused_a, long unused_b)
{
	return madvise(w->mem, w->nr * psize(), MADV_DONTNEED) ? -errno : 0;
}

long op_shm_truncate(struct worker *w, long nr, long unused)
{
	memset(w->gen + nr, 0, (w->nr - nr) * sizeof(*w->gen));
	return ftruncate(shm.fd, nr * psize()) ? -errno : 0;
}

long op_shm_out(struct worker *w, long first, long nr)
{
	unsigned char *in = malloc(nr);
	long i, out = -ENOMEM;

	if (in && !mincore(w->mem + first * psize(), nr * psize(), in)) {
		for (i = out = 0; i < nr; i++)
			out += !(in[i] & 1);
	}
	free(in);
	return out;
}

long op_shm_pageout(struct worker *w, long first, long nr)
{
	/* others have written them, on other CPUs */
	lru_drain();
	if (madvise(w->mem + first * psize(), nr * psize(), MADV_PAGEOUT))
		return -errno;
	return op_shm_out(w, first, nr);
}

/* removed cgroups */

static long nr_dirs;

static int count_dir(const char *path, const struct stat *st, int type,
		     struct FTW *ftw)
{
	nr_dirs += type == FTW_D;
	return 0;
}

long memcg_dying(void)
{
	char root[PATH_MAX];

	if (memcg_version() == 2)
		return cg_read_key_long(memcg_parent(), "cgroup.stat",
					"nr_dying_descendants ");
	snprintf(root, sizeof(root), "%s/..", memcg_parent());
	nr_dirs = 0;
	if (nftw(root, count_dir, 16, FTW_PHYS | FTW_MOUNT))
		return -1;
	return memcg_v1_count() - nr_dirs;
}

long memcg_settle(void)
{
	long n = -1;
	int i;

	for (i = 0; i < 50 && n; i++) {
		memcg_drain();
		n = memcg_dying();
		if (n)
			usleep(20000);
	}
	return n;
}

const char *memcg_offline(const char *cgroup)
{
	char *witness = memcg_add("witness", 0);
	const char *why = NULL;
	cpu_set_t cpus;
	long dying;

	/*
	 * A removed cgroup goes offline, and gives its id up, in a work that
	 * is done some time later. That of a second one, which is removed on
	 * the same CPU, is done after it.
	 */
	sched_getaffinity(0, sizeof(cpus), &cpus);
	cpu_pin(0);
	dying = memcg_dying();
	if (!witness || cg_destroy(cgroup) || cg_destroy(witness))
		why = "a cgroup cannot be removed";
	else if (!wait_until(memcg_dying() <= dying + 1))
		why = "a cgroup that nothing pins is still there";
	sched_setaffinity(0, sizeof(cpus), &cpus);
	free(witness);
	return why;
}

long memcg_stat(const char *cgroup, const char *key)
{
	long bytes = cg_read_key_long(cgroup, "memory.stat", key);

	return bytes < 0 ? bytes : bytes / (long)psize();
}
