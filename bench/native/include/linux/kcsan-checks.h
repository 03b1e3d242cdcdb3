/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in for <linux/kcsan-checks.h>; see <standin/access.h>. */
#ifndef STANDIN_LINUX_KCSAN_CHECKS_H
#define STANDIN_LINUX_KCSAN_CHECKS_H

#include <standin/access.h>

#endif
