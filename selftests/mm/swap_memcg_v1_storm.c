// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap and cgroup v1 while everybody comes to an end.
 *
 * The same storms as in swap_memcg_storm. With cgroup v1 more is at stake in
 * each of them: a slot's record is not made when the slot is allocated but when
 * the page leaves the swap cache, and cleared when it is read again, so that an
 * exit, a fault of a child and a swap-out of the parent meet records that come
 * and go; the limit that ends in the OOM killer is one of memory and swap
 * together, and what is not given back when a slot is freed lowers it for good.
 */
#include <stdio.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

FIXTURE(swap_memcg_v1_storm)
{
	struct storm storm;
};

FIXTURE_SETUP(swap_memcg_v1_storm)
{
	const char *why;

	why = storm_setup(&self->storm, 1);
	if (why)
		SKIP(return, "%s", why);
}

FIXTURE_TEARDOWN(swap_memcg_v1_storm)
{
	storm_kill(&self->storm);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

TEST_F_TIMEOUT(swap_memcg_v1_storm, of_forks, TEST_SECONDS)
{
	ASSERT_STREQ("", storm_run(&self->storm, 4, 0, 0) ?: "");
}

TEST_F_TIMEOUT(swap_memcg_v1_storm, of_oom_kills, TEST_SECONDS)
{
	ASSERT_STREQ("", storm_run(&self->storm, 2, 2, 0) ?: "");
}

TEST_F_TIMEOUT(swap_memcg_v1_storm, of_removals, TEST_SECONDS)
{
	ASSERT_STREQ("", storm_run(&self->storm, 2, 0, 2) ?: "");
}

TEST_F_TIMEOUT(swap_memcg_v1_storm, of_everything, TEST_SECONDS)
{
	ASSERT_STREQ("", storm_run(&self->storm, 2, 1, 1) ?: "");
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
