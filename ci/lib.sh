# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What every host step shares: messages, failure, and one clean-up stack.
# Sourced, never run. Messages go to stderr, results to stdout.

set -Eeuo pipefail
shopt -s inherit_errexit

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# A step must not end without a word.
trap 'printf "%s: line %s failed: %s\n" "${0##*/}" "$LINENO" "$BASH_COMMAND" >&2' ERR

# say TEXT...: one line for the person who watches.
say()
{
	printf '%s\n' "$*" >&2
}

# die TEXT...: say what was wrong, with which value and what to do; exit 1.
die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# usage_die TEXT...: the call itself is wrong; exit 2.
usage_die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 2
}

# on_exit COMMAND...: run COMMAND when the script ends, last given first,
# however it ends. The only trap on EXIT in these scripts.
cleanups=()
on_exit()
{
	cleanups=("$(printf '%q ' "$@")" "${cleanups[@]}")
}

run_cleanups()
{
	local command
	for command in "${cleanups[@]}"; do
		eval "$command" 2> /dev/null || true
	done
}
trap run_cleanups EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# update FILE: stdin becomes FILE, but only when the text differs, so that
# Make rebuilds nothing for an unchanged fact. Atomic.
update()
{
	cat > "$1.new"
	if cmp -s "$1.new" "$1"; then
		rm "$1.new"
	else
		mv "$1.new" "$1"
	fi
}

# field FILE KEY: the value of the line "KEY=value" in FILE, empty if none.
field()
{
	sed -n "s/^$2=//p" "$1"
}

# need NAME...: these variables are set, by the Makefile or by whoever calls a
# script alone: SMP and MEM, the guest's CPUs and memory; JOBS, the processes of a
# build; BASE, as in series/; ARCH, as in ci/arch/. TOPIC may be empty, but if it is
# set, it is in the series of BASE.
need()
{
	local name
	for name; do
		[ -n "${!name:-}" ] || usage_die "$name is not set (the Makefile sets it)"
	done
	[[ " $* " == *" BASE "* ]] || return 0
	[ -r "$top/series/$BASE" ] || usage_die "BASE=$BASE: there is no series/$BASE"
	[ -z "${TOPIC:-}" ] || grep -q "^$BASE/$TOPIC/" "$top/series/$BASE" ||
		usage_die "TOPIC=$TOPIC is not in series/$BASE"
}

# rows FILE: its lines without comments, which are lines of their own, and empty lines.
rows()
{
	sed '/^[ \t]*\(#\|$\)/d' "$1"
}

# elapsed START: "m:ss" since START (seconds, as of $SECONDS).
elapsed()
{
	local s=$((SECONDS - $1))
	printf '%d:%02d' $((s / 60)) $((s % 60))
}

# dry_run: make only says what it would do (-n); a recipe with "+" runs all the same.
dry_run()
{
	[[ ${MAKEFLAGS:-} =~ ^[a-zA-Z]*n ]]
}
