/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stand-in for <linux/swapops.h>: the parts of a swap entry. The type takes
 * 5 bits below the one that an XArray keeps for itself, as in the kernel.
 */
#ifndef STANDIN_LINUX_SWAPOPS_H
#define STANDIN_LINUX_SWAPOPS_H

#include <linux/swap.h>

#define SWP_TYPE_SHIFT	58
#define SWP_OFFSET_MASK	((1UL << SWP_TYPE_SHIFT) - 1)

/* swp_entry - the entry of slot @offset in the swap file of type @type */
static inline swp_entry_t swp_entry(unsigned long type, pgoff_t offset)
{
	return (swp_entry_t){ (type << SWP_TYPE_SHIFT) | (offset & SWP_OFFSET_MASK) };
}

/* swp_type - the number of the swap file of @entry */
static inline unsigned int swp_type(swp_entry_t entry)
{
	return entry.val >> SWP_TYPE_SHIFT;
}

/* swp_offset - the slot of @entry in its swap file */
static inline pgoff_t swp_offset(swp_entry_t entry)
{
	return entry.val & SWP_OFFSET_MASK;
}

#endif
