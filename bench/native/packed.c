// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two 16-bit ids in each 32-bit word of one flat array, changed by one
 * compare-and-exchange an entry: what has to be done where the neighbour in
 * the word can be written by somebody else. An implementation of the idea, for
 * its cost; not the code of any kernel.
 */
#include <linux/mm.h>
#include <linux/swapops.h>
#include <linux/vmalloc.h>

struct packed_map {
	unsigned long	words;
	uint32_t	*word;
};

static struct packed_map packed_maps[MAX_SWAPFILES];

int swap_cgroup_swapon(int type, unsigned long max_pages);
void swap_cgroup_swapoff(int type);
void swap_cgroup_record(swp_entry_t ent, unsigned short id, unsigned int nr_ents);
unsigned short swap_cgroup_clear(swp_entry_t ent, unsigned int nr_ents);
unsigned short lookup_swap_cgroup_id(swp_entry_t ent);

static inline unsigned short exchange_half(uint32_t *word, unsigned int shift,
					   unsigned short id)
{
	uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED), new;

	do {
		new = (old & ~(0xffffU << shift)) | (uint32_t)id << shift;
	} while (unlikely(!__atomic_compare_exchange_n(word, &old, new, 0,
				__ATOMIC_SEQ_CST, __ATOMIC_RELAXED)));
	return old >> shift;
}

static inline unsigned short exchange(swp_entry_t ent, unsigned short id,
				      unsigned int nr)
{
	uint32_t *word = packed_maps[swp_type(ent)].word;
	pgoff_t offset = swp_offset(ent), end = offset + nr;
	unsigned short old;

	do {
		old = exchange_half(&word[offset / 2], offset % 2 * 16, id);
	} while (++offset < end);
	return old;
}

/* swap_cgroup_record - record @id for @nr entries from @ent on, at least one */
void swap_cgroup_record(swp_entry_t ent, unsigned short id, unsigned int nr)
{
	exchange(ent, id, nr);
}

/* swap_cgroup_clear - clear @nr records; returns the last one's old id */
unsigned short swap_cgroup_clear(swp_entry_t ent, unsigned int nr)
{
	return exchange(ent, 0, nr);
}

/* lookup_swap_cgroup_id - the record of @ent, 0 if there is none */
unsigned short lookup_swap_cgroup_id(swp_entry_t ent)
{
	struct packed_map *map = &packed_maps[swp_type(ent)];
	pgoff_t offset = swp_offset(ent);

	if (unlikely(offset / 2 >= map->words))
		return 0;
	return __atomic_load_n(&map->word[offset / 2], __ATOMIC_RELAXED) >> (offset % 2 * 16);
}

/* swap_cgroup_swapon - make the map of swap file @type; 0, or -ENOMEM */
int swap_cgroup_swapon(int type, unsigned long max_pages)
{
	unsigned long words = DIV_ROUND_UP(max_pages, 2);
	uint32_t *word = vcalloc(words, sizeof(*word));

	if (!word)
		return -ENOMEM;
	packed_maps[type] = (struct packed_map){ words, word };
	return 0;
}

/* swap_cgroup_swapoff - free the map of swap file @type */
void swap_cgroup_swapoff(int type)
{
	vfree(packed_maps[type].word);
	packed_maps[type] = (struct packed_map){ 0, NULL };
}
