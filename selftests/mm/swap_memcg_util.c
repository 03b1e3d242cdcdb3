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
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "swap_memcg_util.h"

struct state *state;

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

long vm_event(const char *name)
{
	char buf[65536], key[64], *value = NULL;

	snprintf(key, sizeof(key), "\n%s ", name);
	if (read_text("/proc/vmstat", buf, sizeof(buf)) > 0)
		value = strstr(buf, key);
	return value ? atol(value + strlen(key)) : -1;
}

bool zswap_is_on(void)
{
	char buf[16];

	return read_text(ZSWAP "enabled", buf, sizeof(buf)) > 0 &&
	       buf[0] == 'Y';
}

const char *zswap_enable(void)
{
	if (access(ZSWAP "enabled", W_OK))
		return "no zswap: CONFIG_ZSWAP";
	if (setting_write(ZSWAP "enabled", "Y", NULL) || !zswap_is_on())
		return "zswap cannot be enabled: no compressor?";
	/* nothing is written back before a test wants it */
	if (setting_write(ZSWAP "shrinker_enabled", "N", NULL))
		return "the shrinker of zswap cannot be disabled";
	return NULL;
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
	int left = memcg_remove() + swap_areas_remove();

	return left + settings_restore();
}

const char *swap_memcg_undo(void)
{
	return swap_memcg_reset() ? "something cannot be undone" :
	       kernel_complained();
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
