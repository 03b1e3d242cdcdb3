/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The layout of the map as in mm/swap_cgroup.c after the series - one pointer
 * to an array of pages with a 16-bit record for each slot - for the models
 * that differ from it only in how a record is written.
 */
#ifndef NATIVE_PAGES_H
#define NATIVE_PAGES_H

#include <linux/mm.h>
#include <linux/swapops.h>
#include <linux/vmalloc.h>

#define RECORDS_PER_PAGE	(PAGE_SIZE / sizeof(uint16_t))

struct pages_map {
	unsigned long	nr_pages;
	uint16_t	*pages[];
};

static struct pages_map *pages_maps[MAX_SWAPFILES];

/* record_of - where the record of slot @offset of @map is */
static inline uint16_t *record_of(struct pages_map *map, pgoff_t offset)
{
	return map->pages[offset / RECORDS_PER_PAGE] + offset % RECORDS_PER_PAGE;
}

/* run_of - how many of @nr records from slot @offset on are in its page */
static inline unsigned int run_of(pgoff_t offset, unsigned int nr)
{
	return min_t(unsigned long, nr, RECORDS_PER_PAGE - offset % RECORDS_PER_PAGE);
}

int swap_cgroup_swapon(int type, unsigned long max_pages);
void swap_cgroup_swapoff(int type);
void swap_cgroup_record(swp_entry_t ent, unsigned short id, unsigned int nr_ents);
unsigned short swap_cgroup_clear(swp_entry_t ent, unsigned int nr_ents);
unsigned short lookup_swap_cgroup_id(swp_entry_t ent);

void swap_cgroup_swapoff(int type)
{
	struct pages_map *map = pages_maps[type];
	unsigned long i;

	pages_maps[type] = NULL;
	for (i = 0; map && i < map->nr_pages && map->pages[i]; i++)
		free_page((unsigned long)map->pages[i]);
	vfree(map);
}

int swap_cgroup_swapon(int type, unsigned long max_pages)
{
	unsigned long i, nr_pages = DIV_ROUND_UP(max_pages, RECORDS_PER_PAGE);
	struct pages_map *map = vzalloc(struct_size(map, pages, nr_pages));

	if (!map)
		return -ENOMEM;
	pages_maps[type] = map;
	map->nr_pages = nr_pages;
	for (i = 0; i < nr_pages; i++) {
		map->pages[i] = (void *)get_zeroed_page(GFP_KERNEL);
		if (!map->pages[i]) {
			swap_cgroup_swapoff(type);
			return -ENOMEM;
		}
	}
	return 0;
}

unsigned short lookup_swap_cgroup_id(swp_entry_t ent)
{
	struct pages_map *map = READ_ONCE(pages_maps[swp_type(ent)]);
	pgoff_t offset = swp_offset(ent);

	if (unlikely(!map || offset / RECORDS_PER_PAGE >= map->nr_pages))
		return 0;
	return READ_ONCE(*record_of(map, offset));
}

#endif
