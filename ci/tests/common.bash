# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the bats files share. Each test works in $BATS_TEST_TMPDIR, offline, as
# any user, from any checkout; nothing of the caller's environment reaches the
# script under test.

bats_require_minimum_version 1.8.0

# A script that never ends is a failed test; bats looks at this.
# shellcheck disable=SC2034
BATS_TEST_TIMEOUT=60

top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
fixtures=$BATS_TEST_DIRNAME/fixtures
tmp=$BATS_TEST_TMPDIR

# The tests are themselves run by Make, whose variables must not reach the
# scripts; neither must a user's choices or git settings.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
unset BASE TOPIC KSRC VARIANT STATE CGROUP ACCEL SMP MEM TESTS JOBS O V SESSION
unset ARCH CROSS_COMPILE LLVM QEMU SILENCE LIMIT KERNEL_CONFIG
unset QUILT_PATCHES QUILT_SERIES QUILT_PC
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org
export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
export LC_ALL=C.UTF-8

# has TEXT: the output of the last `run` contains it; else show the output.
has()
{
	[[ "$output" == *"$1"* ]] && return
	printf 'not in the output: %s\n--- output\n%s\n---\n' "$1" "$output" >&2
	return 1
}

# has_not TEXT: the opposite.
has_not()
{
	[[ "$output" != *"$1"* ]] && return
	printf 'must not be in the output: %s\n--- output\n%s\n---\n' "$1" "$output" >&2
	return 1
}

# is EXPECTED GOT: equal, else show both.
is()
{
	[ "$1" = "$2" ] && return
	printf 'wanted: %s\ngot:    %s\n' "$1" "$2" >&2
	return 1
}

# program NAME: stdin becomes an executable $tmp/bin/NAME, first on the PATH.
program()
{
	mkdir -p "$tmp/bin"
	cat > "$tmp/bin/$1"
	chmod +x "$tmp/bin/$1"
	case $PATH in
	"$tmp/bin:"*) ;;
	*) PATH=$tmp/bin:$PATH ;;
	esac
}

# short_sleeps: a script's `sleep` takes a tenth of its time.
short_sleeps()
{
	local real
	real=$(command -v sleep)
	program sleep <<-EOF
		#!/bin/sh
		exec $real "\$(echo "\$1" | awk '{ print \$1 / 10 }')"
	EOF
}

# gone PID: the process has ended, or does within 2 s.
gone()
{
	local i
	for ((i = 0; i < 20; i++)); do
		kill -0 "$1" 2> /dev/null || return 0
		/bin/sleep 0.1
	done
	kill -9 "$1"
	printf 'process %s was left behind\n' "$1" >&2
	return 1
}

# await FILE: it exists with something in it, within 5 s.
await()
{
	local i
	for ((i = 0; i < 50; i++)); do
		[ ! -s "$1" ] || return 0
		/bin/sleep 0.1
	done
	printf 'no %s came\n' "$1" >&2
	return 1
}

# repo: $tmp/repo, a project with this one's scripts and nothing else, for
# those that find patches/ or kernel-config/ beside themselves.
repo()
{
	repo=$tmp/repo
	mkdir -p "$repo/ci" "$repo/patches" "$repo/series" "$repo/selftests"
	find "$top/ci" -maxdepth 1 -type f -exec cp -p {} "$repo/ci" \;
	cp -r "$top/ci/bases" "$top/ci/arch" "$repo/ci"
	# A plan without the tree's own tests.
	: > "$repo/selftests/plan"
}

# kernel_makefile VERSION PATCHLEVEL SUBLEVEL: a kernel's top Makefile.
kernel_makefile()
{
	printf '%s\n' "# SPDX-License-Identifier: GPL-2.0" "VERSION = $1" "PATCHLEVEL = $2" \
		"SUBLEVEL = $3" "EXTRAVERSION =" "NAME = Baby Opossum Posse"
}

# digest DIR: one checksum over names, modes, times and contents below DIR.
digest()
{
	(cd "$1" && find . -printf '%P %m %T@ %l\n' | sort &&
		find . -type f -print0 | sort -z | xargs -0r sha256sum) | sha256sum
}

# files: all of the project's, tracked and new; without git (a tarball), all
# but the build folder.
files()
{
	cd "$top" || return
	if git -c safe.directory="$top" rev-parse --show-cdup 2> /dev/null | grep -qx ''; then
		git -c safe.directory="$top" ls-files -co --exclude-standard
	else
		find . -name .git -prune -o -path ./build -prune -o -type f -printf '%P\n'
	fi | while IFS= read -r f; do
		[ ! -f "$f" ] || printf '%s\n' "$f"
	done
}
