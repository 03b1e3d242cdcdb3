// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exit of a process with a page table entry that was overwritten.
 *
 * A damaged entry can look like a swap entry of an area that does not exist, or
 * of a slot beyond the end of one. When the process exits, the kernel looks up
 * which memory cgroup is charged for the slot, before anything checks the entry.
 * This was reported from production for a missing area (fixed in mainline by
 * 63b02a9409cb); a slot beyond the end is the same.
 *
 * The entry is written through /dev/mem, so this needs a kernel built with
 * CONFIG_DEVMEM and without CONFIG_STRICT_DEVMEM, on x86-64. It must say "Bad
 * swap file entry" or "Bad swap offset entry", and no more than that the
 * process's count of swap entries is wrong then.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "swap_util.h"

#define NR_PTES		512		/* in a page table */
#define EMPTY		77		/* the one that is overwritten */
#define PRESENT		1ULL
#define PFN(entry)	((entry) & ((1ULL << 40) - 1))
#define SLOTS		1024

/* As x86-64 stores it: the offset inverted from bit 9 on, the type in the last 5. */
#define SWAP_PTE(type, offset) \
	((__u64)(type) << 59 | (~(__u64)(offset) << 9 & ((1ULL << 59) - 1)))

/* Is this the table of pages with these numbers? */
static bool is_table(int mem, off_t addr, const __u64 *pagemap)
{
	__u64 pte[NR_PTES];
	int i;

	if (pread(mem, pte, sizeof(*pte), addr) != sizeof(*pte) ||
	    !(pte[0] & PRESENT) || PFN(pte[0] >> 12) != PFN(pagemap[0]) ||
	    pread(mem, pte, sizeof(pte), addr) != sizeof(pte))
		return false;
	for (i = 0; i < NR_PTES; i++)
		if (i == EMPTY ? !!pte[i] : PFN(pte[i] >> 12) != PFN(pagemap[i]))
			return false;
	return true;
}

/* The physical address of the page table, or 0. */
static off_t find_table(int mem, const __u64 *pagemap)
{
	FILE *ranges = fopen("/proc/iomem", "r");
	unsigned long addr, end;
	char line[128];

	while (ranges && fgets(line, sizeof(line), ranges)) {
		if (!strstr(line, " : System RAM") || sscanf(line, "%lx-%lx", &addr, &end) != 2)
			continue;
		/* whole pages only */
		for (addr = (addr + psize() - 1) & -psize(); addr + psize() <= end + 1; addr += psize())
			if (is_table(mem, addr, pagemap))
				return addr;
	}
	return 0;
}

static void child_main(__u64 pte)
{
	struct worker w = {};
	__u64 pagemap[NR_PTES];
	off_t table;
	int mem;

	/* an oops at exit leaves them open, and others wait for the end of a pipe */
	close_range(0, ~0U, 0);
	mem = open("/dev/mem", O_RDWR | O_SYNC);
	w.pagemap = open("/proc/self/pagemap", O_RDONLY);
	if (op_map(&w, NR_PTES, MADV_NOHUGEPAGE) || op_fill(&w, 1, 0) || op_dontneed(&w, EMPTY, 1))
		_exit(1);
	if (pread(w.pagemap, pagemap, sizeof(pagemap),
		  (unsigned long)w.mem / psize() * sizeof(*pagemap)) != sizeof(pagemap))
		_exit(2);
	table = find_table(mem, pagemap);
	if (!table || pwrite(mem, &pte, sizeof(pte), table + EMPTY * sizeof(pte)) != sizeof(pte))
		_exit(3);
	_exit(0);
}

FIXTURE(bad_entry) { };

FIXTURE_VARIANT(bad_entry)
{
	int type;
	long offset;
	const char *message;
};

FIXTURE_VARIANT_ADD(bad_entry, no_area) { 20, 1, "Bad swap file entry" };
FIXTURE_VARIANT_ADD(bad_entry, beyond_the_end) { 0, 1 << 20, "Bad swap offset entry" };

FIXTURE_SETUP(bad_entry)
{
	ASSERT_EQ(0, swap_test_begin());
}

FIXTURE_TEARDOWN(bad_entry)
{
	EXPECT_EQ(0, swap_test_end());
}

TEST_F_TIMEOUT(bad_entry, exit, TEST_SECONDS)
{
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK), status = -1, seen = 0, n;
	char line[8192];
	pid_t pid;

	ASSERT_LE(0, lseek(kmsg, 0, SEEK_END));
	ASSERT_LE(0, swap_area_add(SLOTS, AREA_SSD));
	pid = fork();
	if (!pid)
		child_main(SWAP_PTE(variant->type, variant->offset));
	/* after an oops it does not end */
	EXPECT_TRUE(wait_until(waitpid(pid, &status, WNOHANG) == pid));
	EXPECT_EQ(0, status);
	/* EPIPE: messages were overwritten */
	while ((n = read(kmsg, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		line[n > 0 ? n : 0] = 0;
		seen += !!strstr(line, variant->message);
	}
	EXPECT_EQ(1, seen);
}

int main(int argc, char **argv)
{
	swap_test_init(MEMCG_V1 | MEMCG_V2);
	if (access("/dev/mem", W_OK))
		skip("needs /dev/mem\n");
	return test_harness_run(argc, argv);
}
