// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap and cgroups while everybody comes to an end.
 *
 * A swap slot outlives much: the process that filled it, when a child shares
 * its entry; the cgroup that pays for it, which can be removed when nobody is
 * in it any more, and is then only kept by the ids of its slots. Most slots of
 * a busy host are freed by an exit, one that was asked for or one by a signal,
 * often by the OOM killer, when memory and swap of a cgroup are full and each
 * swap-out may be refused at the last moment. A record that is forgotten on one
 * of these ways charges a cgroup for ever, and one that is cleared twice takes
 * from a cgroup what it needs to stay.
 *
 * So processes that share swapped pages fork and end at odd moments, others are
 * OOM-killed in cgroups with little memory and little swap, and cgroups are
 * removed while their pages are swapped out, with swapping all the time. When
 * it is calm again each cgroup pays for exactly what it has in swap, and all
 * that were removed have gone.
 */
#include <stdio.h>

#include "../kselftest_harness.h"
#include "swap_memcg_util.h"

FIXTURE(swap_memcg_storm)
{
	struct storm storm;
};

FIXTURE_SETUP(swap_memcg_storm)
{
	const char *why;

	why = storm_setup(&self->storm, 2);
	if (why)
		SKIP(return, "%s", why);
}

FIXTURE_TEARDOWN(swap_memcg_storm)
{
	storm_kill(&self->storm);
	EXPECT_STREQ("", swap_memcg_undo() ?: "");
}

TEST_F_TIMEOUT(swap_memcg_storm, of_forks, TEST_SECONDS)
{
	ASSERT_STREQ("", storm_run(&self->storm, 4, 0, 0) ?: "");
}

TEST_F_TIMEOUT(swap_memcg_storm, of_oom_kills, TEST_SECONDS)
{
	ASSERT_STREQ("", storm_run(&self->storm, 2, 2, 0) ?: "");
}

TEST_F_TIMEOUT(swap_memcg_storm, of_removals, TEST_SECONDS)
{
	ASSERT_STREQ("", storm_run(&self->storm, 2, 0, 2) ?: "");
}

TEST_F_TIMEOUT(swap_memcg_storm, of_everything, TEST_SECONDS)
{
	ASSERT_STREQ("", storm_run(&self->storm, 2, 1, 1) ?: "");
}

int main(int argc, char **argv)
{
	swap_memcg_guard();
	return test_harness_run(argc, argv);
}
