/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in for <linux/vmalloc.h>: zeroed memory from the C library. */
#ifndef STANDIN_LINUX_VMALLOC_H
#define STANDIN_LINUX_VMALLOC_H

#include <stdlib.h>

#define vcalloc(n, size)	calloc(n, size)
#define vzalloc(size)		calloc(1, size)
#define vfree(p)		free(p)

#endif
