/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An implementation of the map as the programs see it. The loops over calls
 * are compiled per implementation (caller.c), so that each call is a direct
 * one to a function in another object, as in mm/memcontrol.c.
 */
#ifndef NATIVE_IMPL_H
#define NATIVE_IMPL_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/swapops.h>

/* Which slots a loop works on: range r begins at slot first + r * stride. */
struct walk {
	unsigned long	first;		/* slot */
	unsigned long	stride;		/* slots */
	unsigned int	ranges;		/* number of ranges */
	unsigned int	nr;		/* entries of a range, at least 1 */
	unsigned short	id;		/* to record, not 0 */
};

struct impl {
	const char *name;

	/* make and free the map of swap file @type; 0, or -ENOMEM */
	int (*swapon)(int type, unsigned long max_pages);
	void (*swapoff)(int type);

	/* record all ranges, then clear all; returns the sum of the old ids */
	unsigned long (*pass)(const struct walk *walk);
	/* look the first entry of each range up, @times; the sum of the ids */
	unsigned long (*lookups)(const struct walk *walk, unsigned int times);

	/* single calls, for the check */
	void (*record)(swp_entry_t entry, unsigned short id, unsigned int nr);
	unsigned short (*clear)(swp_entry_t entry, unsigned int nr);
	unsigned int (*batch)(swp_entry_t entry, unsigned int max_nr);
	bool (*replace)(swp_entry_t entry, unsigned short old, unsigned short new);
	unsigned short (*lookup)(swp_entry_t entry);
};

/* How many calls of record and clear a pass makes per range. */
#define CALLS_PER_RANGE 2

/* From standin.c. */
void standin_memory(unsigned long pages);
void standin_thread(unsigned int number);
unsigned int standin_warnings(void);
unsigned long standin_pages_in_use(void);

#endif
