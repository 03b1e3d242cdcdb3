// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lock of `before` over some work that touches no memory, as one more
 * implementation, for the queueing model. The work is so long that whoever
 * wants the lock is waiting for it when it is given up: each time it is handed
 * over, and what two threads take longer than one is the cost of that.
 */
#include <linux/mm.h>
#include "impl.h"

static struct {
	_Alignas(64) spinlock_t lock;
} alone;

static unsigned long pass(const struct walk *walk)
{
	unsigned int i, work, n = walk->ranges * CALLS_PER_RANGE;
	unsigned long flags;

	for (i = 0; i < n; i++) {
		spin_lock_irqsave(&alone.lock, flags);
		for (work = walk->nr; work; work--)
			__asm__ volatile("" : "+r"(work));
		spin_unlock_irqrestore(&alone.lock, flags);
	}
	return (unsigned long)walk->ranges * walk->id;
}

extern const struct impl lock_impl;
const struct impl lock_impl = { .name = "lock", .pass = pass };
