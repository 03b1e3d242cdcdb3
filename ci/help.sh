#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# help.sh MAKEFILE: print the targets (their "##" comments), the variables, and
# where to find what.
. "$(dirname "$0")/lib.sh"

[ $# = 1 ] || usage_die "usage: help.sh MAKEFILE"

awk -F ':.*## ' '
	/^##@ /                 { printf "\n%s\n", substr($0, 5) }
	/^[a-z -]+:.*## /       { printf "  %-14s %s\n", $1, $2 }
' "$1"

cat <<TEXT

Variables (default)
  BASE=6.12          series of the kernel: a file in series/
  KSRC=              the distribution's linux-source package, or a directory,
                     a tarball, or DIR@REVISION of a git tree
  VARIANT=lockstat   kernel configuration: $(awk '$1 ~ /^[a-z]/ { printf "%s ", $1 }' "$top/kernel-config/variants")
  STATE=after        before or after the series
  TOPIC=             before and after just this one (a folder of patches/BASE/),
                     on top of those that come first in the series
  CGROUP=v2          the memory controller's hierarchy in the guest: v1 v2, or off
  TESTS=             programs of selftests/plan (all of them)
  MUTANTS=           mutants of selftests/mutants (all of them)
  ACCEL=auto         auto kvm tcg
  SMP=4 MEM=1G       the guest's CPUs and memory
  JOBS=              processes of a build (number of CPUs)
  O=build            all that is written goes there
  SESSION=           folder of a run (a new one in O/runs)
  ARCH=x86_64        as kbuild has it; no other yet
  CROSS_COMPILE= LLVM= V=0    as kbuild has them (LLVM=1: clang)

Where to look
  ci/qemu-command.sh     the machine that QEMU plays
  ci/console-verdicts    which console line fails a run (applied by ci/verdict.pl)
  ci/verdict.pl          console and test results to PASS or FAIL
  kernel-config/         kernel options, a file a purpose (debug.config: the debug
                         kernel's); variants says which make a kernel
  bench/native/          the tree's own mm/swap_cgroup.c in a program of the host
  selftests/plan         the tests that must report
  series/, patches/      the patches and their order
  selftests/cgroup/      the kselftests that the series brings
  build/runs/            a folder a run, in it the report and a folder a boot:
                         command, config, console, KTAP, verdict
TEXT
