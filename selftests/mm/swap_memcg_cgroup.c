// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory cgroups of the swap_memcg tests, see swap_memcg_util.h: with
 * cgroup v2 or v1, what they pay for, and that they can be removed. All are
 * below one, whose name tells a later run that they may be removed.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "swap_memcg_util.h"

static char parent[PATH_MAX / 2];
static int version;			/* of the cgroup hierarchy */

static int memcg_v1_root(char *root, size_t len)
{
	char line[PATH_MAX], type[32], opts[256];
	int ret = -1;
	FILE *f;

	f = fopen("/proc/self/mounts", "r");
	if (!f)
		return -1;
	while (ret && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %2047s %31s %255s", root, type,
			   opts) == 3 &&
		    !strcmp(type, "cgroup") && strstr(opts, "memory"))
			ret = 0;
	}
	fclose(f);
	return ret;
}

static bool memcg_disabled(void)
{
	char buf[8192], *s;
	int enabled = 0;

	if (read_text("/proc/cgroups", buf, sizeof(buf)) < 0)
		return false;
	s = strstr(buf, "\nmemory\t");
	if (s)
		sscanf(s, " memory %*d %*d %d", &enabled);
	return !enabled;
}

const char *memcg_setup(int cgroup_version)
{
	char root[PATH_MAX / 4], path[PATH_MAX];

	swap_memcg_reset();
	version = cgroup_version;
	if (geteuid())
		return "needs root";
	if (access("/sys/class/zram-control/hot_add", R_OK))
		return "no zram: CONFIG_ZRAM, or load the module";

	if (version == 1) {
		if (memcg_v1_root(root, sizeof(root)))
			return "no cgroup v1 memory controller is mounted";
	} else {
		if (!version && !memcg_disabled())
			return "memory cgroups are enabled: needs cgroup_disable=memory";
		if (cg_find_unified_root(root, sizeof(root), NULL))
			return "cgroup v2 is not mounted";
	}
	if (version == 2) {
		if (cg_read_strstr(root, "cgroup.controllers", "memory"))
			return "no memory controller on cgroup v2";
		if (cg_read_strstr(root, "cgroup.subtree_control", "memory")) {
			snprintf(path, sizeof(path),
				 "%s/cgroup.subtree_control", root);
			if (setting_write(path, "+memory", "-memory"))
				return "cannot enable the memory controller";
		}
		/* an exact count turns an area off, which waits for RCU */
		setting_write("/sys/kernel/rcu_expedited", "1", NULL);
	}

	snprintf(parent, sizeof(parent), "%s/%s", root, TREE);
	if (cg_create(parent))
		return "cannot create a cgroup";
	if (!version)
		return NULL;
	if (version == 2 && cg_write(parent, "cgroup.subtree_control",
				     "+memory"))
		return "cannot enable the memory controller";
	/* for memcg_drain() */
	snprintf(path, sizeof(path), "%s/drain", parent);
	if (cg_create(path))
		return "cannot create a cgroup";
	snprintf(path, sizeof(path), "%s/%s", parent, version == 1 ?
		 "memory.memsw.usage_in_bytes" : "memory.swap.current");
	if (access(path, R_OK))
		return "no swap accounting: swapaccount=0?";
	return NULL;
}

const char *memcg_parent(void)
{
	return parent;
}

int memcg_version(void)
{
	return version;
}

char *memcg_add(const char *name, int index)
{
	char *cgroup = cg_name_indexed(parent, name, index);

	if (cgroup && cg_create(cgroup)) {
		free(cgroup);
		return NULL;
	}
	return cgroup;
}

const char *memcg_check_empty(char **cgroup, int nr)
{
	static char message[128];
	long n;
	int i;

	for (i = 0; i < nr; i++) {
		n = cg_read_long(cgroup[i], "memory.swap.current");
		if (n) {
			snprintf(message, sizeof(message),
				 "cgroup %d still pays for %ld bytes of swap",
				 i, n);
			return message;
		}
	}
	return NULL;
}

/* A counter in pages; -1 when it cannot be read. */
static long read_pages(const char *cgroup, const char *file)
{
	long bytes = cg_read_long(cgroup, file);

	return bytes < 0 ? -1 : bytes / (long)psize();
}

long memcg_swap(const char *cgroup)
{
	long memory, both;

	if (version == 2)
		return read_pages(cgroup, "memory.swap.current");
	memory = cg_read_long(cgroup, "memory.usage_in_bytes");
	both = cg_read_long(cgroup, "memory.memsw.usage_in_bytes");
	return memory < 0 ? -1 : (both - memory) / (long)psize();
}

long memcg_memory(const char *cgroup)
{
	memcg_drain();
	return read_pages(cgroup, version == 2 ? "memory.current" :
			  "memory.usage_in_bytes");
}

int memcg_limit(const char *cgroup, const char *file, long pages)
{
	char value[32];

	snprintf(value, sizeof(value), "%ld", pages * (long)psize());
	return cg_write(cgroup, file, value);
}

long memcg_v1_count(void)
{
	char line[128];
	long n = -1;
	FILE *f;

	f = fopen("/proc/cgroups", "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "memory %*d %ld", &n) == 1)
			break;
	fclose(f);
	return n;
}

const char *memcg_check_slots(long cached)
{
	static char message[128];
	long used, paid;

	if (swap_drain_slot_caches())
		return "cannot drain the slot caches";
	used = swap_slots_used();
	paid = memcg_swap(parent);
	if (paid <= used && paid >= used - cached)
		return NULL;
	snprintf(message, sizeof(message),
		 "%ld slots are in use, %ld are paid for, %ld may be cached",
		 used, paid, cached);
	return message;
}

const char *memcg_check_gone(char **cgroup, int nr)
{
	static char message[128];
	long n = -1;
	int i;

	for (i = 0; i < nr; i++)
		if (cg_destroy(cgroup[i]))
			return "a cgroup cannot be removed";
	/* they are pinned for good then */
	if (memcg_swap(parent))
		return "removed cgroups still pay for swap";
	wait_until((memcg_drain(),
		    n = cg_read_key_long(parent, "cgroup.stat",
					 "nr_dying_descendants "), !n));
	if (!n)
		return NULL;
	snprintf(message, sizeof(message),
		 "%ld removed cgroups are still there", n);
	return message;
}

static int cgroup_remove(const char *cgroup)
{
	char path[PATH_MAX];
	struct dirent *d;
	int left = 0;
	DIR *dir;

	dir = opendir(cgroup);
	if (!dir)
		return 0;
	while ((d = readdir(dir))) {
		if (d->d_type != DT_DIR || d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", cgroup, d->d_name);
		left += cgroup_remove(path);
	}
	closedir(dir);
	if (!wait_until(!rmdir(cgroup) || errno == ENOENT ||
			(cg_killall(cgroup), false)))
		left++;
	return left;
}

int memcg_remove(void)
{
	char root[PATH_MAX / 4], path[PATH_MAX];
	int left = 0;

	if (!cg_find_unified_root(root, sizeof(root), NULL)) {
		snprintf(path, sizeof(path), "%s/%s", root, TREE);
		left += cgroup_remove(path);
	}
	if (!memcg_v1_root(root, sizeof(root))) {
		snprintf(path, sizeof(path), "%s/%s", root, TREE);
		left += cgroup_remove(path);
	}
	return left;
}
