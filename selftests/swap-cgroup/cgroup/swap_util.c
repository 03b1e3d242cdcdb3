// SPDX-License-Identifier: GPL-2.0-only
/* Helpers of the swap accounting tests, see swap_util.h. */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/swap.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "swap_util.h"

#define NAME		"ksft_swap"	/* top cgroup */
#define STATE_FILE	"/dev/" NAME	/* gone after a reboot */
#define THP		"/sys/kernel/mm/transparent_hugepage/"
#define MAX_PTES_SWAP	THP "khugepaged/max_ptes_swap"
#define ZRAM		"/sys/class/zram-control/"
#define ZSWAP		"/sys/module/zswap/parameters/enabled"
#define V1_ROOT		"/sys/fs/cgroup/memory"
#define NR_AREAS	64
/* CONFIG_THP_SWAP: who selects ARCH_WANTS_THP_SWAP, arm64 for 4 kB pages only */
#if defined(__x86_64__) || defined(__aarch64__) || defined(__riscv) || defined(__loongarch__)
#define THP_SWAP	(psize() == 4096)
#else
#define THP_SWAP	false
#endif
#define NR_SETTINGS	128

/*
 * What to undo, in a file that the running program has locked: the next one
 * finds there what a killed one has left.
 */
static struct state {
	bool wait_timed_out;
	long dying;			/* removed cgroups before the test */
	bool area[NR_AREAS];
	int nr;				/* settings */
	struct {
		char path[96];
		char value[64];
	} setting[NR_SETTINGS];
} *state;

static bool zswap_was_on;
static int version;			/* of the cgroup hierarchy */
static char root[PATH_MAX / 4];		/* of the hierarchy */
static char parent[PATH_MAX / 2];
static pid_t program;
static long complaints;			/* of the kernel when the test began */
static cpu_set_t cpus_allowed;

#define area_path(area)	str("/dev/zram%d", area)
#define pmd_size()	read_number(THP "hpage_pmd_size")

/* A string that the fourth call from now overwrites. */
static __printf(1, 2) char *str(const char *fmt, ...)
{
	static char buf[4][PATH_MAX];
	static int i;
	va_list args;

	i = (i + 1) % 4;
	va_start(args, fmt);
	vsnprintf(buf[i], sizeof(buf[i]), fmt, args);
	va_end(args);
	return buf[i];
}

static long read_number(const char *path)
{
	char buf[32];
	int ret = read_text(path, buf, sizeof(buf));

	return ret < 0 ? ret : atol(buf);
}

static int write_string(const char *path, const char *value)
{
	int ret = write_text(path, (char *)value, strlen(value));

	return ret < 0 ? ret : 0;
}

int setting_write(const char *path, const char *value)
{
	char buf[160] = "", *old = buf;
	int ret = read_text(path, buf, sizeof(buf));

	if (ret < 0 || state->nr == NR_SETTINGS)
		return ret < 0 ? ret : -ENOSPC;
	/* "always [madvise] never" */
	if (strchr(buf, '['))
		old = strchr(buf, '[') + 1;
	old[strcspn(old, "]\n")] = 0;
	snprintf(state->setting[state->nr].path, sizeof(state->setting->path), "%s", path);
	snprintf(state->setting[state->nr].value, sizeof(state->setting->value), "%.63s", old);
	state->nr++;
	return write_string(path, value);
}

/* Only grows: by warnings, oopses, and the first bad page. */
static long complaints_read(void)
{
	return read_number("/sys/kernel/warn_count") + read_number("/sys/kernel/oops_count") +
	       !!(read_number("/proc/sys/kernel/tainted") & 1 << 5);
}

bool kernel_complained(void)
{
	return complaints_read() != complaints;
}

time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

bool wait_more(time_t begin)
{
	bool late = seconds() >= begin + (state && state->wait_timed_out ? NEXT_SECONDS :
					   WAIT_SECONDS);

	if (late && state)
		state->wait_timed_out = true;
	return !late && !kernel_complained();
}

bool zswap_used(void)
{
	FILE *f = fopen("/proc/vmstat", "r");
	char line[128];
	long n = 0;

	while (fgets(line, sizeof(line), f) && sscanf(line, "zswpout %ld", &n) != 1)
		;
	fclose(f);
	return n || zswap_was_on;
}

/* swap areas */

static int area_flags[NR_AREAS];	/* for swapon() */
static int drain_area;

/* What mkswap(8) does; all @nr_bad bad pages are page 0, which swapon rejects, but late. */
static int area_format(int area, size_t nr_pages, int nr_bad)
{
	__u32 *page = calloc(1, psize()), *header = page + 256;
	int ret = -EIO, fd = open(area_path(area), O_WRONLY);

	header[0] = 1;			/* version */
	header[1] = nr_pages - 1;
	header[2] = nr_bad;
	memcpy((char *)page + psize() - 10, "SWAPSPACE2", 10);
	if (pwrite(fd, page, psize(), 0) == psize() && !fsync(fd))
		ret = 0;
	free(page);
	close(fd);
	return ret;
}

int swap_area_remove(int area)
{
	int ret = swap_area_off(area);

	/* EINVAL: it is not on; ENOENT: there is no such device any more */
	if (ret && ret != -EINVAL && ret != -ENOENT)
		return ret;
	/* udev may hold the device for a moment: EBUSY */
	if (ret != -ENOENT &&
	    !wait_until(!write_string(str("/sys/block/zram%d/reset", area), "1") &&
			!write_string(ZRAM "hot_remove", str("%d", area))))
		return -EBUSY;
	state->area[area] = false;
	return 0;
}

int swap_area_new(size_t nr_pages, enum area_kind kind)
{
	int ret, area = read_number(ZRAM "hot_add");

	if (area >= NR_AREAS)
		area = write_string(ZRAM "hot_remove", str("%d", area)) ?: -ENOSPC;
	if (area < 0)
		return area;
	state->area[area] = true;
	area_flags[area] = kind == AREA_LAST ? 0 : SWAP_FLAG_PREFER | SWAP_FLAG_PRIO_MASK;
	ret = write_string(str("/sys/block/zram%d/disksize", area),
			   str("%zu", nr_pages * psize())) ?:
	      write_string(str("/sys/block/zram%d/queue/rotational", area),
			   kind == AREA_ROTATIONAL ? "1" : "0");
	if (!ret && !wait_until(!access(area_path(area), W_OK)))
		ret = -ENODEV;
	ret = ret ?: area_format(area, nr_pages, kind == AREA_BAD);
	if (ret)
		swap_area_remove(area);
	return ret ?: area;
}

int swap_area_add(size_t nr_pages, enum area_kind kind)
{
	int area = swap_area_new(nr_pages, kind);

	return area < 0 ? area : swap_area_on(area) ?: area;
}

int swap_area_on(int area)
{
	return swapon(area_path(area), area_flags[area]) ? -errno : 0;
}

int swap_area_off(int area)
{
	return swapoff(area_path(area)) ? -errno : 0;
}

long swap_area_used(int area)
{
	FILE *f = fopen("/proc/swaps", "r");
	long kb, sum = 0;
	char line[256];
	int id;

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "/dev/zram%d %*s %*u %ld", &id, &kb) == 2 &&
		    (area < 0 ? id < NR_AREAS && state->area[id] : id == area))
			sum += kb;
	fclose(f);
	return sum * 1024 / psize();
}

int swap_drain_slot_caches(void)
{
	return swap_area_on(drain_area) ?: swap_area_off(drain_area);
}

long swap_cluster_slots(void)
{
	return pmd_size() > 0 && THP_SWAP ? pmd_size() / psize() : 256;
}

bool thp_swap_supported(int kb)
{
	return THP_SWAP && folio_stat(kb, "swpout") >= 0;
}

/* memory cgroups */

int memcg_version(void)
{
	return version;
}

const char *memcg_parent(void)
{
	return parent;
}

char *memcg_add(const char *name, int index)
{
	char *cgroup = cg_name_indexed(parent, name, index);

	return cg_create(cgroup) ? NULL : cgroup;
}

/* Like cg_destroy(), but does not try for ever. */
static int cgroup_rmdir(const char *cgroup)
{
	return wait_until(!rmdir(cgroup) || errno == ENOENT ||
			  (cg_killall(cgroup), false)) ? 0 : -EBUSY;
}

static int nftw_rmdir(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return type == FTW_DP ? cgroup_rmdir(path) : 0;
}

static long nr_dirs;

static int nftw_count(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	nr_dirs += type == FTW_D;
	return 0;
}

/* The top cgroup; the test enters one below it that stays, see lru_drain(). */
static int cgroups_create(void)
{
	if (version == 2 && cg_write(root, "cgroup.subtree_control", "+memory"))
		return -EIO;
	if (cg_create(parent) || cg_create(str("%s/test", parent)))
		return -errno;
	return version == 2 ? cg_write(parent, "cgroup.subtree_control", "+memory") : 0;
}

long memcg_swap(const char *cgroup)
{
	long both, memory, before, n = LONG_MIN;
	int tries = 50;

	if (version == 2) {
		both = cg_read_long(cgroup, "memory.swap.current");
		return both < 0 ? -EIO : both / psize();
	}
	/*
	 * Both are charged in the same batches, so only swap makes a difference,
	 * which is below 0 when something is wrong. One is uncharged after the
	 * other, so read until the difference is stable.
	 */
	do {
		before = n;
		memory = cg_read_long(cgroup, "memory.usage_in_bytes");
		both = cg_read_long(cgroup, "memory.memsw.usage_in_bytes");
		if (both < 0 || memory < 0)
			return -EIO;
		n = (both - memory) / psize();
	} while (n != before && --tries && !usleep(2000));
	return n;
}

long memcg_usage(const char *cgroup)
{
	long bytes;

	lru_drain();
	bytes = cg_read_long(cgroup, version == 2 ? "memory.current" : "memory.usage_in_bytes");
	return bytes < 0 ? -EIO : bytes / psize();
}

long memcg_anon(const char *cgroup)
{
	if (version == 2)
		return memcg_stat(cgroup, "anon");
	/* makes cached bytes of kernel memory a cached page, which the next drain frees */
	lru_drain();
	return memcg_usage(cgroup) -
	       cg_read_long(cgroup, "memory.kmem.usage_in_bytes") / psize();
}

int memcg_limit(const char *cgroup, const char *file, long pages)
{
	return cg_write(cgroup, file, str("%ld", pages * psize()));
}

long memcg_stat(const char *cgroup, const char *key)
{
	char buf[8192] = "\n", *value, *name = str("\n%s ", key);

	/* flushes what CPUs have counted; small changes are ignored otherwise */
	cg_read(cgroup, "cpu.stat", buf + 1, sizeof(buf) - 1);
	if (cg_read(cgroup, "memory.stat", buf + 1, sizeof(buf) - 1))
		return -EIO;
	value = strstr(buf, name);
	return value ? atol(value + strlen(name)) / psize() : -ENOENT;
}

/* The number of memory cgroups; 0 when they are disabled. */
static long nr_memcgs(void)
{
	char buf[4096], *line = NULL;
	long n = 0, enabled = 0;

	if (read_text("/proc/cgroups", buf, sizeof(buf)) > 0)
		line = strstr(buf, "\nmemory\t");
	if (line)
		sscanf(line, " memory %*d %ld %ld", &n, &enabled);
	return enabled ? n : 0;
}

long memcg_dying(void)
{
	if (version == 2)
		return cg_read_key_long(parent, "cgroup.stat", "nr_dying_descendants ");
	nr_dirs = 0;
	if (nftw(root, nftw_count, 16, FTW_PHYS | FTW_MOUNT))
		return -EIO;
	return nr_memcgs() - nr_dirs;
}

int memcg_offline(const char *cgroup)
{
	char *second = memcg_add("second", 0);
	long n = memcg_dying();
	cpu_set_t cpus;
	int ret = 0;

	/*
	 * A removed cgroup goes offline in a work that is queued on this CPU.
	 * Nothing pins a second one: when it is gone, that work is done.
	 */
	sched_getaffinity(0, sizeof(cpus), &cpus);
	cpu_pin(0);
	if (!second || cgroup_rmdir(cgroup) || cgroup_rmdir(second))
		ret = -EBUSY;
	else if (!wait_until(memcg_dying() <= n + 1))
		ret = -ETIMEDOUT;
	sched_setaffinity(0, sizeof(cpus), &cpus);
	return ret;
}

int check_stat(const char *cgroup, const char *key, long pages)
{
	long n;

	wait_until((n = memcg_stat(cgroup, key)) == pages);
	return n == pages ? 0 : fail("%s: memory.stat has %ld pages of %s, expected %ld\n",
				     strrchr(cgroup, '/') + 1, n, key, pages);
}

int check_slots(long cached)
{
	int ret = swap_drain_slot_caches(), tries = 50;
	long used, charged;

	if (ret)
		return fail("cannot drain the slot caches: %d\n", ret);
	/* on v1 a page may be on its way out of the swap cache */
	do {
		used = swap_slots_used();
		charged = memcg_swap(parent);
		if (charged >= 0 && charged <= used && charged >= used - cached)
			return 0;
	} while (version == 1 && tries-- && !usleep(20000));
	return fail("%ld swap slots are in use, %ld are charged, %ld may be cached\n",
		    used, charged, cached);
}

int check_charge(const char *cgroup, long charged, long pages)
{
	if (charged == pages)
		return 0;
	return fail("%s: %ld swap slots are charged, expected %ld\n", strrchr(cgroup, '/') + 1,
		    charged, pages);
}

int check_swap(const char *cgroup, long pages)
{
	return check_slots(0) ?: check_charge(cgroup, memcg_swap(cgroup), pages);
}

int check_empty(char **cgroup, int nr)
{
	int i, ret = 0;

	for (i = 0; i < nr; i++)
		ret = check_charge(cgroup[i], memcg_swap(cgroup[i]), 0) ?: ret;
	return ret;
}

int check_released(char **cgroup, int nr)
{
	long n;
	int i;

	for (i = 0; i < nr; i++)
		if (cgroup_rmdir(cgroup[i]))
			return fail("cgroup %d cannot be removed\n", i);
	/* on v1 two counters, of memory that is still being uncharged */
	wait_until((n = memcg_swap(parent)) == 0);
	if (n)
		return fail("removed cgroups: leaked charge of %ld swap slots\n", n);
	wait_until((lru_drain(), n = memcg_dying()) >= 0 && n <= state->dying);
	return n >= 0 && n <= state->dying ? 0 :
	       fail("%ld removed cgroups still exist\n", n - state->dying);
}

/* begin and end */

static int reset(void)
{
	int area, ret = 0;

	if (!access(parent, F_OK) && nftw(parent, nftw_rmdir, 16, FTW_PHYS | FTW_DEPTH))
		ret = fail("cannot remove %s\n", parent);
	for (area = 0; area < NR_AREAS; area++)
		if (state->area[area] && swap_area_remove(area))
			ret = fail("cannot remove %s\n", area_path(area));
	for (; state->nr; state->nr--)
		if (write_string(state->setting[state->nr - 1].path,
				 state->setting[state->nr - 1].value))
			ret = fail("cannot restore %s\n", state->setting[state->nr - 1].path);
	return ret;
}

int swap_test_begin(void)
{
	char zswap[8] = "";
	time_t begin;
	int ret;

	complaints = complaints_read();
	/* there is something left if the last test has timed out */
	ret = reset() ?: cgroups_create() ?: cg_enter_current(str("%s/test", parent));
	/* the checks turn a swap area off, which waits for RCU */
	ret = ret ?: setting_write("/sys/kernel/rcu_expedited", "1");
	/* no page is read that nobody has asked for */
	ret = ret ?: setting_write("/proc/sys/vm/page-cluster", "0");
	ret = ret ?: setting_write("/proc/sys/vm/swappiness", "60");
	if (!access(MAX_PTES_SWAP, W_OK))
		ret = ret ?: setting_write(MAX_PTES_SWAP, "0");
	/* writing even N initialises zswap, which disables swapin of large folios */
	if (read_text(ZSWAP, zswap, sizeof(zswap)) > 0 && *zswap == 'Y') {
		ret = ret ?: setting_write(ZSWAP, "N");
		zswap_was_on = true;
	}
	drain_area = ret ?: swap_area_new(16, AREA_LAST);
	if (ret || drain_area < 0)
		return fail("cannot set the test up: %d\n", ret ?: drain_area);
	/* those of the last test, unless it has leaked one */
	for (begin = seconds(); memcg_dying() > state->dying; lru_drain(), usleep(20000))
		if (seconds() > begin + NEXT_SECONDS)
			state->dying = memcg_dying();
	return 0;
}

int swap_test_end(void)
{
	int ret = cg_enter_current(root) ?: reset();

	return kernel_complained() ? fail("the kernel has complained, see its log\n") : ret;
}

/* All that are forked die with their parents, down to the last worker. */
static void program_fork(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void program_exit(void)
{
	if (getpid() == program)
		reset();
}

static void state_init(void)
{
	int fd = open(STATE_FILE, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(*state)))
		ksft_exit_fail_msg("cannot write " STATE_FILE "\n");
	/* workers of a killed program may still be on their way out */
	if (!wait_until(!flock(fd, LOCK_EX | LOCK_NB)))
		ksft_exit_fail_msg("another swap accounting test is running\n");
	state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	/* it is in a tmpfs and must not be swapped out itself */
	if (state == MAP_FAILED || mlock(state, sizeof(*state)))
		ksft_exit_fail_msg("cannot map " STATE_FILE "\n");
	state->wait_timed_out = false;
}

void swap_test_init(int supported)
{
	const int bit[] = { MEMCG_DISABLED, MEMCG_V1, MEMCG_V2 };
	struct sysinfo info;
	int tries;

	version = !nr_memcgs() ? 0 : !access(V1_ROOT "/memory.limit_in_bytes", F_OK) ? 1 : 2;
	snprintf(root, sizeof(root), V1_ROOT);
	if (geteuid())
		skip("needs root\n");
	if (access(ZRAM "hot_add", R_OK))
		skip("needs zram\n");
	if (version != 1 && cg_find_unified_root(root, sizeof(root), NULL))
		skip("cgroup v2 is not mounted\n");
	if (version == 2 && cg_read_strstr(root, "cgroup.controllers", "memory"))
		skip("no memory controller on cgroup v2, nor on " V1_ROOT "\n");
	if (!(supported & bit[version]))
		skip("not for %s\n", version == 1 ? "cgroup v1" :
		     version == 2 ? "cgroup v2" : "cgroup_disable=memory");

	signal(SIGPIPE, SIG_IGN);
	snprintf(parent, sizeof(parent), "%s/" NAME, root);
	complaints = complaints_read();
	state_init();
	program = getpid();
	/* or else the cgroup of its first user is charged for a page of the program */
	if (mlockall(MCL_CURRENT) || sched_getaffinity(0, sizeof(cpus_allowed), &cpus_allowed) ||
	    pthread_atfork(NULL, NULL, program_fork) || atexit(program_exit) || reset())
		ksft_exit_fail_msg("cannot set up\n");
	/* on v1 there may be others that something pins */
	state->dying = 0;
	for (tries = 50; version == 1 && (state->dying = memcg_dying()) > 0 && tries; tries--)
		usleep(20000);
	if (cgroups_create())
		ksft_exit_fail_msg("cannot create %s\n", parent);
	if (version && access(str("%s/%s", parent, version == 1 ? "memory.memsw.usage_in_bytes" :
				  "memory.swap.current"), R_OK))
		skip("swap is not accounted to memory cgroups\n");
	if (sysinfo(&info) || info.totalswap)
		skip("other swap is on, turn it off\n");
}

/* workers */

struct request {
	worker_fn fn;
	long arg[2];
};

void *shared_alloc(size_t size)
{
	/* prefault: the first to use a page is charged for it */
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

int cpus_between(int min, int max)
{
	int n = online_cpus();

	return n < min ? min : n > max ? max : n;
}

int cpu_pin(int n)
{
	cpu_set_t cpus;
	int cpu;

	n %= CPU_COUNT(&cpus_allowed);
	for (cpu = 0; !CPU_ISSET(cpu, &cpus_allowed) || n--; cpu++)
		;
	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	return sched_setaffinity(0, sizeof(cpus), &cpus) ? -errno : 0;
}

void lru_drain(void)
{
	cpu_set_t old;
	char *page;
	int i;

	page = mmap(NULL, psize(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sched_getaffinity(0, sizeof(old), &old);
	for (i = 0; page != MAP_FAILED && i < online_cpus(); i++) {
		cpu_pin(i);
		/* the CPU caches a charge to this process's cgroup */
		*page = 1;
		madvise(page, psize(), MADV_DONTNEED);
		/* drains the CPU's batches before it looks at the range */
		madvise(page, psize(), MADV_PAGEOUT);
	}
	sched_setaffinity(0, sizeof(old), &old);
	munmap(page, psize());
}

static void worker_main(struct worker *w, const char *cgroup, int cpu)
{
	struct request req;
	long ret = 0;

	w->pid = getpid();
	w->pagemap = open("/proc/self/pagemap", O_RDONLY);
	if (w->pagemap < 0 || cpu_pin(cpu) || (cgroup && cg_enter_current(cgroup)))
		_exit(1);

	/* the first result says that the worker has started */
	while (write(w->fd, &ret, sizeof(ret)) == sizeof(ret) &&
	       read(w->fd, &req, sizeof(req)) == sizeof(req))
		ret = req.fn(w, req.arg[0], req.arg[1]);
	_exit(0);
}

int worker_start(struct worker *w, const char *cgroup, int cpu)
{
	const struct timeval timeout = { .tv_sec = TEST_SECONDS / 2 };
	int fd[2];

	memset(w, 0, sizeof(*w));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd) ||
	    setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)))
		return -errno;
	w->pid = fork();
	if (!w->pid) {
		close(fd[0]);
		w->fd = fd[1];
		worker_main(w, cgroup, cpu);
	}
	close(fd[1]);
	w->fd = fd[0];
	return worker_wait(w) ? -ECHILD : 0;
}

void __worker_send(struct worker *w, worker_fn fn, const long *arg)
{
	struct request req = { .fn = fn, .arg = { arg[0], arg[1] } };

	if (w->pid > 0 && write(w->fd, &req, sizeof(req)) != sizeof(req))
		worker_kill(w);		/* worker_wait() tells */
}

long worker_wait(struct worker *w)
{
	long ret;

	if (w->pid > 0 && read(w->fd, &ret, sizeof(ret)) == sizeof(ret))
		return ret;
	ksft_print_msg("worker %d does not answer\n", w->pid);
	/* or else a late answer would be taken for the next one */
	worker_kill(w);
	return WORKER_DEAD;
}

long __workers_call(struct worker *w, int nr, worker_fn fn, const long *arg)
{
	long n, sum = 0;
	int i;

	for (i = 0; i < nr; i++)
		__worker_send(&w[i], fn, arg);
	for (i = 0; i < nr; i++) {
		n = worker_wait(&w[i]);
		sum = n < 0 ? n : sum < 0 ? sum : sum + n;
	}
	return sum;
}

void worker_stop(struct worker *w)
{
	if (w->pid <= 0)
		return;
	/* it exits at the end of file, although other workers have this too */
	shutdown(w->fd, SHUT_RDWR);
	close(w->fd);
	waitpid(w->pid, NULL, 0);
	memset(w, 0, sizeof(*w));
}

void worker_kill(struct worker *w)
{
	if (w->pid > 0)
		kill(w->pid, SIGKILL);
	worker_stop(w);
}

void workers_kill(struct worker *w, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		worker_kill(&w[i]);
}

int workers_start(struct worker *w, char **cgroup, int nr, long pages, int advice)
{
	int i, ret = 0;

	for (i = 0; i < nr && !ret; i++) {
		cgroup[i] = memcg_add("worker", i);
		if (!cgroup[i])
			return -errno;
		ret = worker_start(&w[i], cgroup[i], i) ?:
		      worker_call(&w[i], op_map, pages, advice);
	}
	return ret;
}

/* Those of the first @nr pages that were written, but are not swapped out. */
static long op_pageout_left(struct worker *w, long nr, long b)
{
	long i, n = -op_pageout(w, 0, nr);

	for (i = 0; i < nr; i++)
		n += !!w->gen[i];
	return n;
}

int worker_pageout(struct worker *w, long nr)
{
	long n;

	wait_until((n = worker_call(w, op_pageout_left, nr)) <= 0 || (lru_drain(), false));
	return !n ? 0 : fail("%ld of %ld pages are not swapped out\n", n, nr);
}

int workers_pageout(struct worker *w, int nr, long pages)
{
	int i, ret = 0;

	for (i = 0; i < nr && !ret; i++)
		ret = w[i].pid ? worker_pageout(&w[i], pages) : 0;
	return ret;
}

int check_workers(char **cgroup, struct worker *w, int nr)
{
	int i, ret = check_slots(0);

	for (i = 0; i < nr; i++)
		ret = check_charge(cgroup[i], memcg_swap(cgroup[i]),
				   w[i].pid ? worker_call(&w[i], op_swapped) : 0) ?: ret;
	return ret;
}

int check_end(int area, char **cgroup, int nr_cgroups, struct worker *w, int nr)
{
	int i, ret = area < 0 ? 0 : swap_area_off(area);

	ret = check_empty(cgroup, nr_cgroups) ?: ret;
	for (i = 0; i < nr; i++) {
		if (w[i].pid && worker_call(&w[i], op_verify))
			ret = -1;
		worker_stop(&w[i]);
	}
	return check_released(cgroup, nr_cgroups) ?: ret;
}

/*
 * Pages. Each is filled from its address, its worker and a generation, and is
 * compared word by word, so that a page that comes back from a wrong slot, or
 * from an earlier use of the right one, is noticed. (A page of one value only
 * would not reach the swap area.)
 */

#define PM_SWAP		0x4000000000000000ULL
#define PM_ENTRY	((1ULL << 55) - 1)	/* bits 0-4 are the type */

static __u64 page_word(struct worker *w, long i, __u32 gen, int word)
{
	__u64 x = (unsigned long)(w->mem + i * psize());

	x ^= ((__u64)gen << 40) ^ ((__u64)w->pid << 20) ^ (word % 8);
	/* spread, so that neighbours share no bytes */
	return (x * 0x9e3779b97f4a7c15ULL) ^ gen;
}

void page_write(struct worker *w, long i, __u32 gen)
{
	__u64 *p = (__u64 *)(w->mem + i * psize());
	size_t n, words = psize() / sizeof(*p);

	for (n = 0; n < words; n++)
		p[n] = page_word(w, i, gen, n);
	w->gen[i] = gen;
}

bool page_check(struct worker *w, long i)
{
	__u64 *p = (__u64 *)(w->mem + i * psize());
	size_t n, words = psize() / sizeof(*p);

	for (n = 0; w->gen[i] && n < words; n++) {
		if (p[n] == page_word(w, i, w->gen[i], n))
			continue;
		ksft_print_msg("data corruption: worker %d page %ld word %zu: %llx\n",
			       w->pid, i, n, (unsigned long long)p[n]);
		return false;
	}
	return true;
}

int swap_entries(struct worker *w, long first, long nr, __u64 *ent)
{
	long i, start = (unsigned long)w->mem / psize() + first;
	ssize_t len = nr * sizeof(*ent);

	if (pread(w->pagemap, ent, len, start * sizeof(*ent)) != len)
		return -EIO;
	for (i = 0; i < nr; i++)
		ent[i] = ent[i] & PM_SWAP ? ent[i] & PM_ENTRY : 0;
	return 0;
}

int swap_offsets(struct worker *w, long first, long nr, __u64 *off)
{
	int ret = swap_entries(w, first, nr, off);

	while (nr--)
		off[nr] >>= SWAP_TYPE_BITS;
	return ret;
}

long op_map(struct worker *w, long nr, long advice)
{
	size_t align = pmd_size() > 0 ? pmd_size() : 2 << 20, size = nr * psize();
	char *mem;

	/* aligned, and never merged with a neighbour */
	mem = mmap(NULL, size + 2 * align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		return -errno;
	mem = (char *)(((unsigned long)mem + align) & ~(align - 1));
	if (mprotect(mem, size, PROT_READ | PROT_WRITE) ||
	    (madvise(mem, size, advice) && advice != MADV_NOHUGEPAGE))
		return -errno;
	w->mem = mem;
	w->nr = nr;
	w->gen = calloc(nr, sizeof(*w->gen));
	return w->gen ? 0 : -ENOMEM;
}

long op_fill(struct worker *w, long gen, long b)
{
	long i;

	for (i = 0; i < w->nr; i++)
		page_write(w, i, gen);
	return 0;
}

long op_write_half(struct worker *w, long parity, long gen)
{
	long i;

	for (i = parity; i < w->nr; i += 2)
		page_write(w, i, gen);
	return 0;
}

long op_verify(struct worker *w, long first, long nr)
{
	long i, end = nr ? first + nr : w->nr;

	for (i = first; i < end; i++)
		if (!page_check(w, i))
			return -EIO;
	return 0;
}

static int advise(struct worker *w, long first, long nr, int advice)
{
	return madvise(w->mem + first * psize(), nr * psize(), advice) ? -errno : 0;
}

long op_swapped(struct worker *w, long first, long nr)
{
	long i, n, pages = nr ?: w->nr - first;
	__u64 *ent = calloc(pages, sizeof(*ent));

	n = ent ? swap_entries(w, first, pages, ent) : -ENOMEM;
	for (i = 0; n >= 0 && i < pages; i++)
		n += !!ent[i];
	free(ent);
	return n;
}

long op_pageout(struct worker *w, long first, long nr)
{
	return advise(w, first, nr, MADV_PAGEOUT) ?: op_swapped(w, first, nr);
}

long op_dontneed(struct worker *w, long first, long nr)
{
	memset(w->gen + first, 0, nr * sizeof(*w->gen));
	return advise(w, first, nr, MADV_DONTNEED);
}

long op_willneed(struct worker *w, long first, long nr)
{
	return advise(w, first, nr, MADV_WILLNEED);
}

/* large folios */

int folio_size(int kb, const char *enabled)
{
	return setting_write(str(THP "hugepages-%dkB/enabled", kb), enabled);
}

int folio_only(int only)
{
	int kb, ret;

	for (kb = 4; kb <= 32768; kb *= 2) {
		ret = folio_size(kb, kb == only ? "madvise" : "never");
		if (ret && (kb == only || ret != -ENOENT))
			return ret;
	}
	return 0;
}

long folio_stat(int kb, const char *stat)
{
	return read_number(str(THP "hugepages-%dkB/stats/%s", kb, stat));
}

long op_ranges(struct worker *w, long n, long b)
{
	__u64 *off = calloc(w->nr, sizeof(*off));
	long i, k, ranges = 0;

	if (!off || swap_offsets(w, 0, w->nr, off))
		return -EIO;
	for (i = 0; i < w->nr; i += n) {
		for (k = 0; k < n && off[i + k] && off[i + k] == off[i] + k; k++)
			;
		ranges += k == n && off[i] % n == 0;
	}
	free(off);
	return ranges;
}
