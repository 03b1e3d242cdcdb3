// SPDX-License-Identifier: GPL-2.0-only
/*
 * Large folios for the swap_memcg tests, see swap_memcg_util.h: which sizes the
 * kernel may use, and how many were swapped out whole.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "swap_memcg_util.h"

#define THP	"/sys/kernel/mm/transparent_hugepage/hugepages-%ukB/%s"

int folio_size(unsigned int kb, const char *enabled)
{
	char path[128];

	snprintf(path, sizeof(path), THP, kb, "enabled");
	return setting_write(path, enabled, NULL);
}

void folio_only(unsigned int only)
{
	unsigned int kb;

	for (kb = 4; kb <= 16384; kb *= 2)
		folio_size(kb, kb == only ? "madvise" : "never");
}

static long folio_stat(unsigned int kb, const char *stat)
{
	char path[128], buf[32];

	snprintf(path, sizeof(path), THP, kb, stat);
	return read_text(path, buf, sizeof(buf)) < 0 ? -1 : atol(buf);
}

long folio_swpout(unsigned int kb)
{
	return folio_stat(kb, "stats/swpout");
}

long folio_split(unsigned int kb)
{
	return folio_stat(kb, "stats/split");
}

long op_ranges(struct worker *w, long n, long unused)
{
	__u64 *off = calloc(w->nr, sizeof(*off));
	long i, k, whole = 0;

	if (!off || swap_offsets(w, 0, w->nr, off))
		return -EIO;
	for (i = 0; i < w->nr; i += n) {
		for (k = 0; k < n && off[i + k] &&
		     off[i + k] == off[i] + k; k++)
			;
		whole += k == n && off[i] % n == 0;
	}
	free(off);
	return whole;
}
