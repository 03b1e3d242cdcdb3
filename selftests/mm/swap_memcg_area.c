// SPDX-License-Identifier: GPL-2.0-only
/*
 * The swap areas of the swap_memcg tests, see swap_memcg_util.h: each a zram
 * device of its own, whose label tells a later run that it may be removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/swap.h>

#include "swap_memcg_util.h"

#define SWAP_PRIORITY	SWAP_FLAG_PRIO_MASK	/* before any other area */

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

static int zram_mkswap(const char *dev, size_t nr_pages)
{
	struct swap_header *h = calloc(1, psize());
	int fd, ret = -EIO;

	if (!h)
		return -ENOMEM;
	h->version = 1;
	h->last_page = nr_pages - 1;
	memcpy(h->label, TREE, sizeof(TREE));
	memcpy((char *)h + psize() - 10, "SWAPSPACE2", 10);

	fd = open(dev, O_WRONLY);
	if (fd >= 0) {
		if (write(fd, h, psize()) == psize() && !fsync(fd))
			ret = 0;
		close(fd);
	}
	free(h);
	return ret;
}

static bool zram_is_ours(int id)
{
	struct swap_header h;
	char dev[64];
	bool ours = false;
	int fd, i;

	for (i = 0; state && i < NR_AREAS; i++)
		if (state->zram[i] == id + 1)
			return true;

	zram_path(dev, sizeof(dev), id, NULL);
	fd = open(dev, O_RDONLY);
	if (fd < 0)
		return false;
	if (pread(fd, &h, sizeof(h), 0) == sizeof(h))
		ours = !strncmp(h.label, TREE, sizeof(h.label));
	close(fd);
	return ours;
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

int swap_areas_remove(void)
{
	struct dirent *d;
	int id, left = 0;
	DIR *dir;

	dir = opendir("/sys/block");
	if (!dir)
		return 0;
	while ((d = readdir(dir))) {
		if (sscanf(d->d_name, "zram%d", &id) == 1 && zram_is_ours(id))
			left += !!zram_remove(id);
	}
	closedir(dir);
	memset(state->zram, 0, sizeof(state->zram));
	state->drain = 0;
	return left;
}

static int swap_area_on(int area, int flags)
{
	char dev[64];

	zram_path(dev, sizeof(dev), state->zram[area] - 1, NULL);
	return swapon(dev, flags) ? -errno : 0;
}

/* The area by number, or -errno. */
static int swap_area_new(size_t nr_pages, bool rotational)
{
	char buf[32], dev[64];
	int area, id, ret;

	for (area = 0; area < NR_AREAS && state->zram[area]; area++)
		;
	if (area == NR_AREAS)
		return -ENOSPC;
	ret = read_text("/sys/class/zram-control/hot_add", buf, sizeof(buf));
	if (ret < 0)
		return ret;
	id = atoi(buf);
	state->zram[area] = id + 1;

	snprintf(buf, sizeof(buf), "%zu", nr_pages * psize());
	ret = zram_write(id, "disksize", buf);
	if (!ret)
		ret = zram_write(id, "queue/rotational",
				 rotational ? "1" : "0");
	if (ret)
		return ret;
	zram_path(dev, sizeof(dev), id, NULL);
	if (!wait_until(!access(dev, W_OK)))
		return -ENODEV;
	ret = zram_mkswap(dev, nr_pages);
	return ret ?: area;
}

int swap_area_add(size_t nr_pages, bool rotational)
{
	int area = swap_area_new(nr_pages, rotational), ret;

	if (area < 0)
		return area;
	ret = swap_area_on(area, SWAP_FLAG_PREFER | SWAP_PRIORITY);
	return ret ?: area;
}

int swap_area_off(int area)
{
	char dev[64];

	zram_path(dev, sizeof(dev), state->zram[area] - 1, NULL);
	return swapoff(dev) ? -errno : 0;
}

int swap_drain_slot_caches(void)
{
	int ret;

	/* swapoff of any area drains them for all areas: take a small one */
	if (!state->drain) {
		ret = swap_area_new(16, false);
		if (ret < 0)
			return ret;
		state->drain = ret + 1;
	}
	ret = swap_area_on(state->drain - 1, 0);
	return ret ?: swap_area_off(state->drain - 1);
}

long swap_slots_used(void)
{
	unsigned long kb, used = 0;
	char line[256];
	int id;
	FILE *f;

	f = fopen("/proc/swaps", "r");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "/dev/zram%d %*s %*u %lu", &id, &kb) == 2 &&
		    zram_is_ours(id))
			used += kb;
	fclose(f);
	return used * 1024 / psize();
}

bool swap_in_use(void)
{
	char line[256];
	bool used = false;
	int id;
	FILE *f;

	f = fopen("/proc/swaps", "r");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "Filename", 8))
			continue;
		if (sscanf(line, "/dev/zram%d", &id) != 1 || !zram_is_ours(id))
			used = true;
	}
	fclose(f);
	return used;
}
