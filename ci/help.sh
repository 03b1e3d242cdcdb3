#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# help.sh MAKEFILE...: print the targets (their "##" comments), the variables (the
# "##" lines above them), and where to find what.
. "$(dirname "$0")/lib.sh"

[ $# -ge 1 ] || usage_die "usage: help.sh MAKEFILE..."

awk -F ':.*## ' '
	/^##@ /                 { printf "\n%s\n", substr($0, 5) }
	/^[a-z -]+:.*## /       { printf "  %-14s %s\n", $1, $2 }
' "$@"

printf '\nVariables (default)\n'
awk '
	/^## /                  { text[++n] = substr($0, 4); next }
	n && /^[A-Z_]+ *[?:]?=/ {
		name = $1; sub(/^[^=]*= */, "")
		if (/\$/) $0 = ""		# computed: its text says it
		for (i = 1; i <= n; i++)
			printf "  %-17s %s\n", i == 1 ? name "=" $0 : "", text[i]
	}
	{ n = 0 }
' "$1"

cat <<TEXT

Where to look
  ci/qemu-command.sh     the machine that QEMU plays
  ci/console-verdicts    which console line fails a run (applied by ci/verdict.pl)
  ci/verdict.pl          console and test results to PASS or FAIL
  ci/bases/, ci/arch/    what is known of a base and of an architecture, a file each
  kernel-config/         kernel options, a file a purpose (debug.config: the debug
                         kernel's); variants says which make a kernel
  bench/load/            the swap load that make load counts
  bench/native/          the tree's own mm/swap_cgroup.c in a program of the host
  series/, patches/      the patches and their order
  selftests/plan         the tests of the tree that must report
  selftests/swap-cgroup/ all of a topic: its plan, tests, mutants, prerequisites
  build/runs/            a folder a run, in it the report and a folder a boot:
                         command, config, console, KTAP, verdict
TEXT
