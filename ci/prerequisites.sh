#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# prerequisites.sh TREE: does an unpacked, unpatched kernel tree have what the topics
# of BASE (or TOPIC) rest on? Why it matters is in the notes of each topic.
#
# TREE  a kernel tree of which some files are read; nothing is written
#
# A patch can apply cleanly to a base on which it is wrong. So this looks at the
# code, by a semantic patch a property in selftests/TOPIC/BASE/prerequisites/, and
# not at version numbers. A rule prints a line for what it refuses. Its head says
# where it looks:
#   // Files: FILE... CALLEE()...   these, and all beside the first that name CALLEE
#   // Calls: REGEX                 a call that must not be in code that spatch
#                                   cannot parse: it would be passed over
#
# Prints nothing and returns 0 when all is there, or says that no rule is stated. Returns 1 with one line that
# says what is missing, in which file and function, and why it matters; 2 for
# a wrong call, or when spatch is missing or fails.
. "$(dirname "$0")/lib.sh"

[ $# = 1 ] || usage_die "usage: prerequisites.sh TREE"
need BASE
topics=$("$top/ci/list.sh" topics)
shopt -s nullglob
rules=()
for topic in $topics; do
	rules+=("$top/selftests/$topic/$BASE/prerequisites"/*.cocci)
done
shopt -u nullglob
if [ "${#rules[@]}" = 0 ]; then
	say "  not checked: no topic states what it rests on (selftests/TOPIC/$BASE/prerequisites/)"
	exit 0
fi
command -v spatch > /dev/null ||
	usage_die "spatch is missing: install the packages coccinelle and python3-dev"
[ -d "$1" ] || usage_die "$1 is no folder"
cd "$1"

# files RULE: where it looks, one file a line
files()
{
	local word first=
	# shellcheck disable=SC2013 # words
	for word in $(sed -n 's|^// Files: ||p' "$1"); do
		case $word in
		*'()') grep -lw "${word%'()'}" "$(dirname "$first")"/*.c || true ;;
		*)     first=${first:-$word}
		       echo "$word" ;;
		esac
	done | sort -u
}

for rule in "${rules[@]}"; do
	mapfile -t looked < <(files "$rule")
	for file in "${looked[@]}"; do
		[ -e "$file" ] || usage_die "$1 is not a tree for this series: it has no $file"
	done
	# Every line that the rule prints is a refusal.
	found=$(spatch --very-quiet --no-includes --no-show-diff --sp-file "$rule" "${looked[@]}" 2>&1) ||
		usage_die "spatch cannot run ${rule##*/} (it needs python3-dev): ${found##*$'\n'}"
	[ -z "$found" ] || die "${found%%$'\n'*}"
	mapfile -t calls < <(sed -n 's|^// Calls: ||p' "$rule")
	[ "${#calls[@]}" -gt 0 ] || continue
	unparsed=$(spatch --parse-c "${looked[@]}" 2>&1 |
		sed -nE "s/^(bad:|BAD:!+)[[:space:]]*(.*(${calls[0]}).*)/\2/p")
	[ -z "$unparsed" ] || die "${looked[0]%/*}: spatch cannot parse \"${unparsed%%$'\n'*}\": nothing can be said of it"
done
