// SPDX-License-Identifier: GPL-2.0-only
/*
 * The limit: what a call costs that finds the records and stores them, and
 * does nothing else. One 16-bit store an entry, as a record that others may
 * read at any time has to be written; not memset(), which may write it in
 * parts.
 */
#include "pages.h"

static inline void store(struct pages_map *map, pgoff_t offset,
			 unsigned short id, unsigned int nr)
{
	unsigned int run;
	uint16_t *p, *end;

	do {
		run = run_of(offset, nr);
		p = record_of(map, offset);
		end = p + run;
		do {
			WRITE_ONCE(*p, id);
		} while (++p < end);
		offset += run;
		nr -= run;
	} while (unlikely(nr));
}

/* swap_cgroup_record - record @id for @nr entries from @ent on, at least one */
void swap_cgroup_record(swp_entry_t ent, unsigned short id, unsigned int nr)
{
	store(pages_maps[swp_type(ent)], swp_offset(ent), id, nr);
}

/* swap_cgroup_clear - clear @nr records; returns the first one's old id */
unsigned short swap_cgroup_clear(swp_entry_t ent, unsigned int nr)
{
	struct pages_map *map = pages_maps[swp_type(ent)];
	unsigned short old = READ_ONCE(*record_of(map, swp_offset(ent)));

	store(map, swp_offset(ent), 0, nr);
	return old;
}
