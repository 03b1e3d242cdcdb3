// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the swap_memcg tests share, see swap_memcg_util.h.
 *
 * A killed test must leave no cgroup, swap area or changed setting behind, so
 * swap_memcg_guard() forks a guardian into a session of its own. It sleeps
 * until the test program ends in whatever way, and then undoes what is left.
 * When the guardian is killed, the test program undoes it; when both are, the
 * next run does: cgroups are known by their name, swap areas by their label.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "swap_memcg_util.h"

struct state *state;

static char parent[PATH_MAX / 2];
static int version;			/* of the cgroup hierarchy */

/* settings */

int setting_write(const char *path, const char *value, const char *undo)
{
	char buf[256] = "", *val = buf, *end;
	int ret, i = state->nr_settings;

	ret = read_text(path, buf, sizeof(buf));
	if (ret < 0)
		return ret;
	/* "always [madvise] never": the value is what stands in brackets */
	end = strchr(buf, '[');
	if (end)
		val = end + 1;
	val[strcspn(val, "]\n")] = 0;

	if (i >= NR_SETTINGS)
		return -ENOSPC;
	snprintf(state->setting[i].path, sizeof(state->setting[i].path), "%s",
		 path);
	snprintf(state->setting[i].value, sizeof(state->setting[i].value),
		 "%s", undo ?: val);
	state->nr_settings++;

	ret = write_text(path, (char *)value, strlen(value));
	return ret < 0 ? ret : 0;
}

static int settings_restore(void)
{
	int left = 0;

	while (state->nr_settings > 0) {
		int i = --state->nr_settings;
		char *value = state->setting[i].value;

		if (write_text(state->setting[i].path, value,
			       strlen(value)) < 0)
			left++;
	}
	return left;
}

/* memory cgroups */

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

long memcg_swap(const char *cgroup)
{
	long memory, both;

	if (version == 2)
		return cg_read_long(cgroup, "memory.swap.current") /
		       (long)psize();
	memory = cg_read_long(cgroup, "memory.usage_in_bytes");
	both = cg_read_long(cgroup, "memory.memsw.usage_in_bytes");
	return memory < 0 ? -1 : (both - memory) / (long)psize();
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

/* the guard */

static unsigned long kernel_taint(void)
{
	/* a warning, an oops, a bad page */
	const unsigned long complaints = 1 << 9 | 1 << 7 | 1 << 5;
	char buf[32];

	if (read_text("/proc/sys/kernel/tainted", buf, sizeof(buf)) < 0)
		return 0;
	return strtoul(buf, NULL, 10) & complaints;
}

const char *kernel_complained(void)
{
	static char message[64];
	unsigned long taint = kernel_taint() & ~state->taint;

	if (!taint)
		return NULL;
	snprintf(message, sizeof(message),
		 "the kernel has complained: tainted %#lx", taint);
	return message;
}

int swap_memcg_reset(void)
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
	left += swap_areas_remove();
	return left + settings_restore();
}

static pid_t forking;

static void fork_prepare(void)
{
	forking = getpid();
}

/* Whoever dies takes its children along, down to the last worker. */
static void fork_child(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != forking)
		_exit(1);
	if (forking == state->program)
		state->group = getpid();
}

static void guardian(void)
{
	sigset_t set;
	int sig;

	setsid();
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (getppid() == state->program)
		sigwait(&set, &sig);

	if (state->group)
		wait_until(kill(-state->group, SIGKILL) && errno == ESRCH);
	_exit(!!swap_memcg_reset());
}

static void guard_exit(void)
{
	int status = -1;

	if (getpid() != state->program)
		return;
	state->group = 0;
	kill(state->guardian, SIGUSR1);
	if (waitpid(state->guardian, &status, 0) < 0 || status)
		swap_memcg_reset();
}

void swap_memcg_guard(void)
{
	pid_t pid;

	state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (state == MAP_FAILED)
		ksft_exit_fail_msg("no memory for the guard\n");
	state->wait_seconds = WAIT_SECONDS;
	if (geteuid())
		return;

	swap_memcg_reset();
	state->taint = kernel_taint();
	state->program = getpid();
	pid = fork();
	if (!pid)
		guardian();
	state->guardian = pid;
	if (pid < 0 || atexit(guard_exit) ||
	    pthread_atfork(fork_prepare, NULL, fork_child))
		ksft_exit_fail_msg("cannot start the guardian\n");
}
