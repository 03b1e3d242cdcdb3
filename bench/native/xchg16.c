// SPDX-License-Identifier: GPL-2.0-only
/*
 * The same layout with an atomic 16-bit exchange an entry: what an
 * architecture that has one could do without an ownership rule.
 */
#include "pages.h"

static inline unsigned short exchange(swp_entry_t ent, unsigned short id,
				      unsigned int nr)
{
	struct pages_map *map = pages_maps[swp_type(ent)];
	pgoff_t offset = swp_offset(ent);
	unsigned short old;
	unsigned int run;
	uint16_t *p, *end;

	do {
		run = run_of(offset, nr);
		p = record_of(map, offset);
		end = p + run;
		do {
			old = __atomic_exchange_n(p, id, __ATOMIC_SEQ_CST);
		} while (++p < end);
		offset += run;
		nr -= run;
	} while (unlikely(nr));
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
