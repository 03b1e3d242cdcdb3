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
# One run at a time: a second one on the same build folder is refused.
# Called by make; the variables of that call reach the steps through MAKEFLAGS.
. "$(dirname "$0")/lib.sh"

[ $# -ge 2 ] || usage_die "usage: steps.sh SESSION STEP..."
session=$1
shift
runs=$(dirname "$session")
mkdir -p "$runs"

exec 9> "$runs/.lock"
flock -n 9 || die "another run is under way in $runs; wait for it, or use another O="
mkdir -p "$session"
ln -sfn "$(basename "$session")" "$runs/latest"
: > "$session/steps.tsv"

n=0
for step in "$@"; do
	n=$((n + 1)) start=$SECONDS rc=0
	read -ra words <<< "${step#-}"
	say "[$n/$#] ${words[*]}"
	"${MAKE:-make}" --no-print-directory -C "$top" "${words[@]}" SESSION="$session" 9>&- || rc=$?
	say "  [$n/$#] took $(elapsed "$start")"
	printf '%s\t%s\t%s\n' "${words[*]}" "$((SECONDS - start))" "$rc" >> "$session/steps.tsv"
	if [ "$rc" != 0 ] && [ "${step#-}" = "$step" ]; then
		die "step $n of $#, '${words[*]}', failed; everything before it is kept"
	fi
done
