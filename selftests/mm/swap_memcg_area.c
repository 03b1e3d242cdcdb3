// SPDX-License-Identifier: GPL-2.0-only
/*
 * The swap areas of the swap_memcg tests, see swap_memcg_util.h. Each is a
 * zram device of its own, or a loop device over a file without a name, whose
 * label tells a later run that it may be removed, or a file in the current
 * directory, known by its name.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/swap.h>

#include "swap_memcg_util.h"

#define SWAP_PRIORITY	SWAP_FLAG_PRIO_MASK	/* before any other area */
#define FILE_PREFIX	TREE ".area"

/* The header that mkswap(8) writes. */
struct swap_header {
	char boot[1024];
	__u32 version;
	__u32 last_page;
	__u32 nr_badpages;
	__u8 uuid[16];
	char label[16];
};

static void zram_path(char *path, size_t len, int id, const char *attr)
{
	if (attr)
		snprintf(path, len, "/sys/block/zram%d/%s", id, attr);
	else
		snprintf(path, len, "/dev/zram%d", id);
}

static int zram_write(int id, const char *attr, const char *value)
{
	char path[128];
	int ret;

	zram_path(path, sizeof(path), id, attr);
	ret = write_text(path, (char *)value, strlen(value));
	return ret < 0 ? ret : 0;
}

static int area_mkswap(const char *path, size_t nr_pages, bool file, int nr_bad)
{
	char *page = calloc(1, psize());
	struct swap_header *h = (struct swap_header *)page;
	int fd, ret = 0;
	size_t i;

	if (!page)
		return -ENOMEM;
	fd = open(path, O_WRONLY | (file ? O_CREAT | O_TRUNC : 0), 0600);
	if (fd < 0) {
		ret = -errno;
		goto out;
	}
	/* a swap file must not have holes */
	for (i = 0; file && !ret && i < nr_pages; i++)
		if (write(fd, page, psize()) != psize())
			ret = -ENOSPC;
	h->version = 1;
	h->last_page = nr_pages - 1;
	h->nr_badpages = nr_bad;
	memcpy(h->label, TREE, sizeof(TREE));
	memcpy(page + psize() - 10, "SWAPSPACE2", 10);
	if (!ret && (pwrite(fd, page, psize(), 0) != psize() || fsync(fd)))
		ret = -EIO;
	close(fd);
out:
	free(page);
	return ret;
}

static bool area_is_labelled(const char *dev)
{
	struct swap_header h;
	bool ours = false;
	int fd;

	fd = open(dev, O_RDONLY);
	if (fd < 0)
		return false;
	if (pread(fd, &h, sizeof(h), 0) == sizeof(h))
		ours = !strncmp(h.label, TREE, sizeof(h.label));
	close(fd);
	return ours;
}

/*
 * A device that is new has no label, and when its test was killed before it
 * had the number, no other name either than that there was none of that number
 * before. It has no size and so no contents.
 */
static bool zram_is_new(int id)
{
	char path[64], buf[32];

	zram_path(path, sizeof(path), id, "disksize");
	return state->zram_adding && id < (int)sizeof(state->zram_known) &&
	       !state->zram_known[id] &&
	       read_text(path, buf, sizeof(buf)) > 0 && !atol(buf);
}

static bool zram_is_ours(int id)
{
	char dev[64];
	int i;

	zram_path(dev, sizeof(dev), id, NULL);
	for (i = 0; i < NR_AREAS; i++)
		if (!strcmp(state->area[i].path, dev))
			return true;
	return zram_is_new(id) || area_is_labelled(dev);
}

static int zram_remove(int id)
{
	char path[64], num[16];

	zram_path(path, sizeof(path), id, NULL);
	if (swapoff(path) && errno != EINVAL && errno != ENOENT)
		return -errno;
	snprintf(num, sizeof(num), "%d", id);
	/* udev may hold the device for a moment: EBUSY */
	return wait_until(!zram_write(id, "reset", "1") &&
			  write_text("/sys/class/zram-control/hot_remove",
				     num, strlen(num)) > 0) ? 0 : -EBUSY;
}

/*
 * The next area of the system that is in use, from /proc/swaps: its path, the
 * kilobytes in use, and whether it is one of the tests'.
 */
static bool swaps_next(FILE *f, char *path, unsigned long *kb, bool *ours)
{
	char line[PATH_MAX + 128];
	const char *base;
	int id;

	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%4095s %*s %*u %lu", path, kb) != 2)
			continue;	/* the heading */
		base = strrchr(path, '/');
		if (sscanf(path, "/dev/zram%d", &id) == 1)
			*ours = zram_is_ours(id);
		else if (!strncmp(path, "/dev/loop", 9))
			*ours = area_is_labelled(path);
		else
			*ours = base && !strncmp(base + 1, FILE_PREFIX,
						 strlen(FILE_PREFIX));
		return true;
	}
	return false;
}

static int file_remove(const char *path)
{
	if (access(path, F_OK))
		return 0;
	if (swapoff(path) && errno != EINVAL)
		return -errno;
	return unlink(path) ? -errno : 0;
}

/* Those in use, wherever they are, and all that are in this directory. */
static int files_remove(void)
{
	char path[PATH_MAX];
	unsigned long kb;
	int i, left = 0;
	bool ours;
	FILE *f;

	f = fopen("/proc/swaps", "r");
	while (f && swaps_next(f, path, &kb, &ours)) {
		/* a loop device goes with its last user */
		if (ours && !strncmp(path, "/dev/loop", 9))
			left += !!swapoff(path);
		else if (ours && strncmp(path, "/dev/", 5))
			left += !!file_remove(path);
	}
	if (f)
		fclose(f);
	for (i = 0; i < NR_AREAS; i++) {
		snprintf(path, sizeof(path), FILE_PREFIX "%d", i);
		left += !!file_remove(path);
	}
	return left;
}

int swap_areas_remove(void)
{
	struct dirent *d;
	int id, left = files_remove();
	DIR *dir;

	dir = opendir("/sys/block");
	if (!dir)
		return left;
	while ((d = readdir(dir))) {
		if (sscanf(d->d_name, "zram%d", &id) == 1 && zram_is_ours(id))
			left += !!zram_remove(id);
	}
	closedir(dir);
	state->zram_adding = false;
	memset(state->area, 0, sizeof(state->area));
	state->drain = 0;
	return left;
}

static int zram_new(int area, size_t nr_pages, bool rotational)
{
	char *path = state->area[area].path, buf[32];
	int id, ret;

	for (id = 0; id < (int)sizeof(state->zram_known); id++) {
		zram_path(buf, sizeof(buf), id, "disksize");
		state->zram_known[id] = !access(buf, F_OK);
	}
	state->zram_adding = true;
	ret = read_text("/sys/class/zram-control/hot_add", buf, sizeof(buf));
	id = atoi(buf);
	if (ret > 0)
		zram_path(path, sizeof(state->area[area].path), id, NULL);
	state->zram_adding = false;
	if (ret < 0)
		return ret;

	snprintf(buf, sizeof(buf), "%zu", nr_pages * psize());
	ret = zram_write(id, "disksize", buf);
	if (!ret)
		ret = zram_write(id, "queue/rotational",
				 rotational ? "1" : "0");
	if (ret)
		return ret;
	return wait_until(!access(path, W_OK)) ? 0 : -ENODEV;
}

/* The area by number, or -errno. */
static int swap_area_new(size_t nr_pages, enum area_kind kind, int flags)
{
	int area, ret = 0;
	char *path;

	for (area = 0; area < NR_AREAS && *state->area[area].path; area++)
		;
	if (area == NR_AREAS)
		return -ENOSPC;
	path = state->area[area].path;
	state->area[area].flags = flags;
	if (kind == AREA_FILE)
		snprintf(path, sizeof(state->area[area].path),
			 FILE_PREFIX "%d", area);
	else
		ret = zram_new(area, nr_pages, kind == AREA_ROTATIONAL);
	if (!ret)
		ret = area_mkswap(path, nr_pages, kind == AREA_FILE, 0);
	return ret ?: area;
}

static int swap_area_new_on(size_t nr_pages, enum area_kind kind, int flags)
{
	int area = swap_area_new(nr_pages, kind, flags);

	return area < 0 ? area : swap_area_on(area) ?: area;
}

int swap_area_add_kind(size_t nr_pages, enum area_kind kind, int below)
{
	return swap_area_new_on(nr_pages, kind,
				SWAP_FLAG_PREFER | (SWAP_PRIORITY - below));
}

int swap_area_add(size_t nr_pages, bool rotational)
{
	return swap_area_add_kind(nr_pages, rotational ? AREA_ROTATIONAL :
				  AREA_SOLID_STATE, 0);
}

int swap_area_on(int area)
{
	return swapon(state->area[area].path, state->area[area].flags) ?
	       -errno : 0;
}

int swap_area_spare(size_t nr_pages)
{
	return swap_area_new_on(nr_pages, AREA_SOLID_STATE, 0);
}

int swap_area_off(int area)
{
	return swapoff(state->area[area].path) ? -errno : 0;
}

/* Who ends the use of an area also pays for pages whose owner is gone. */
long op_swapoff(struct worker *w, long area, long unused)
{
	return swap_area_off(area);
}

int swap_drain_slot_caches(void)
{
	int ret;

	/* swapoff of any area drains them for all areas: take a small one */
	if (!state->drain) {
		ret = swap_area_new(16, AREA_SOLID_STATE, 0);
		if (ret < 0)
			return ret;
		state->drain = ret + 1;
	}
	ret = swap_area_on(state->drain - 1);
	return ret ?: swap_area_off(state->drain - 1);
}

/* Slots in use in the areas of the test, or in the one that is given. */
static long slots_used(const char *area)
{
	char path[PATH_MAX], *base;
	unsigned long kb;
	long used = 0;
	bool ours;
	FILE *f;

	f = fopen("/proc/swaps", "r");
	if (!f)
		return -errno;
	while (swaps_next(f, path, &kb, &ours)) {
		/* a file's path is relative */
		base = area && *area != '/' ? strrchr(path, '/') + 1 : path;
		if (area ? !strcmp(base, area) : ours)
			used += kb * 1024 / psize();
	}
	fclose(f);
	return used;
}

long swap_slots_used(void)
{
	return slots_used(NULL);
}

long swap_area_used(int area)
{
	return slots_used(state->area[area].path);
}

bool swap_in_use(void)
{
	char path[PATH_MAX];
	bool used = false, ours;
	unsigned long kb;
	FILE *f;

	f = fopen("/proc/swaps", "r");
	if (!f)
		return false;
	while (swaps_next(f, path, &kb, &ours))
		used |= !ours;
	fclose(f);
	return used;
}

int swap_sparse_open(size_t nr_pages, int nr_bad, char *dev, size_t len)
{
	struct loop_config config = { .info.lo_flags = LO_FLAGS_AUTOCLEAR };
	int control, file, id, fd = -ENODEV;

	control = open("/dev/loop-control", O_RDWR);
	file = memfd_create(TREE, 0);
	config.fd = file;
	if (control >= 0 && file >= 0 && !ftruncate(file, nr_pages * psize())) {
		id = ioctl(control, LOOP_CTL_GET_FREE);
		snprintf(dev, len, "/dev/loop%d", id);
		if (id >= 0 && wait_until(!access(dev, W_OK)))
			fd = open(dev, O_RDWR);
		if (fd >= 0 && (ioctl(fd, LOOP_CONFIGURE, &config) ||
				area_mkswap(dev, nr_pages, false,
					    nr_bad))) {
			close(fd);
			fd = -EIO;
		}
	}
	if (file >= 0)
		close(file);
	if (control >= 0)
		close(control);
	return fd;
}
