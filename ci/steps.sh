#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# steps.sh SESSION STEP...: make the steps one by one, saying which of how
# many, and how long each took.
#
# SESSION  folder of the run; gets steps.tsv (step, seconds, status)
# STEP     words for make, "build STATE=before". A step that fails stops the
#          run, but for one with a leading "-": the report will tell.
#
# What each step took the last time that it went well tells how long it may take now,
# and all to the end.
#
# One run at a time: a second one on the same build folder is refused.
# Called by make; the variables of that call reach the steps through MAKEFLAGS.
. "$(dirname "$0")/lib.sh"

[ $# -ge 2 ] || usage_die "usage: steps.sh SESSION STEP..."
! dry_run || exit 0
session=$1
shift
runs=$(dirname "$session")
mkdir -p "$runs"

exec 9> "$runs/.lock"
flock -n 9 || die "another run is under way in $runs; wait for it, or use another O="
mkdir -p "$session"
ln -sfn "$(basename "$session")" "$runs/latest"
: > "$session/steps.tsv"

# took STEP: seconds, the last time, or nothing
took()
{
	cat "$runs"/*/steps.tsv | awk -F '\t' -v step="$1" '$1 == step && $3 == 0 { s = $2 } END { print s }'
}

# left STEP...: "m:ss for this, m:ss to the end", as far as it is known
left()
{
	local step now this='' sum=0
	for step; do
		now=$(took "${step#-}")
		[ -n "$this" ] || this=${now:--}
		[ -n "$now" ] || { sum=; break; }
		sum=$((sum + now))
	done
	[ "$this" = - ] || echo " ($(elapsed $((SECONDS - this))) the last time${sum:+, $(elapsed $((SECONDS - sum))) to the end})"
}

n=0
for step; do
	n=$((n + 1)) start=$SECONDS rc=0
	read -ra words <<< "${step#-}"
	say "[$n/$#] ${words[*]}$(left "${@:n}")"
	"${MAKE:-make}" --no-print-directory -C "$top" "${words[@]}" SESSION="$session" 9>&- || rc=$?
	say "  [$n/$#] took $(elapsed "$start")"
	printf '%s\t%s\t%s\n' "${words[*]}" "$((SECONDS - start))" "$rc" >> "$session/steps.tsv"
	if [ "$rc" != 0 ] && [ "${step#-}" = "$step" ]; then
		die "step $n of $#, '${words[*]}', failed; everything before it is kept"
	fi
done
