#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# apply.sh TREE SERIES STATE [PATCH...]: move the tree to a state of the series
# by quilt.
#
# TREE    an unpacked kernel tree of this project's
# SERIES  a file in series/
# STATE   before (no patch applied), after (all of them), a number (the first so
#         many), or push or pop (one step, for a person at work)
# PATCH   more patches, put on top of the series (mutants) or, before it, alone
#
# quilt works on a copy of the series, TREE.queue, made when the tree has no
# patch: it can only take out a patch whose file is still as it was put in.
# A patch that does not apply without fuzz stops it: the patch, the file and
# the hunk are said, and the tree is back as it was. So does a hand-made change
# that a patch cannot be taken out over.
. "$(dirname "$0")/lib.sh"

[ $# -ge 3 ] || usage_die "usage: apply.sh TREE SERIES before|after|NUMBER|push|pop [PATCH...]"
tree=$(realpath "$1") series=$(realpath "$2") state=$3
shift 3
queue=$tree.queue
export QUILT_PATCHES=$queue QUILT_SERIES=$queue/series QUILT_PC=.pc

quilt_()
{
	(cd "$tree" && quilt --quiltrc "$top/.quiltrc" "$@")
}

applied()
{
	# With none, quilt fails.
	{ quilt_ applied 2> /dev/null || true; } | wc -l
}

# move VERB ARGS...: quilt's push or pop; on failure, back to where it began.
move()
{
	local log depth rc=0
	depth=$(applied)
	log=$(mktemp)
	on_exit rm -f "$log"
	quilt_ "$@" > "$log" 2>&1 || rc=$?
	# 2 means that there is nothing (more) to push or to pop, and so do
	# these words where the series is empty.
	if [ "$rc" = 0 ] || [ "$rc" = 2 ] || grep -q '^No \(patch\|series\)' "$log"; then
		return 0
	fi
	grep -v '^$' "$log" | awk '/^(Applying|Removing) patch/ { s = "" } { s = s $0 "\n" } END { printf "%s", s }' >&2
	if [ "$(applied)" -gt "$depth" ]; then
		quilt_ pop "$(($(applied) - depth))" > /dev/null
	elif [ "$(applied)" -lt "$depth" ]; then
		quilt_ push "$((depth - $(applied)))" > /dev/null
	fi
	if [ -d "$queue.old" ]; then
		rm -rf "$queue"
		mv "$queue.old" "$queue"
		depth=$(applied)
		[ "$depth" -ge "$old_depth" ] || quilt_ push "$((old_depth - depth))" > /dev/null
	fi
	die "quilt $*: stopped; the tree is as it was"
}

# fill QUEUE PATCH...: a queue of the series as it is now, and more patches.
fill()
{
	local to=$1 patch
	shift
	rm -rf "$to"
	mkdir -p "$to"
	: > "$to/series"
	if [ "$state" != before ] || [ $# = 0 ]; then
		sed 's/[ \t]*#.*//; /^$/d' "$series" > "$to/series"
	fi
	while IFS= read -r patch; do
		mkdir -p "$to/$(dirname "$patch")"
		cp "$top/patches/$patch" "$to/$patch"
	done < "$to/series"
	for patch; do
		cp "$patch" "$to/"
		basename "$patch" >> "$to/series"
	done
}

# common: how many patches the old and the new queue begin with alike
common()
{
	local n=0 old new
	while IFS= read -r old <&3 && IFS= read -r new <&4 && [ "$old" = "$new" ] &&
	      cmp -s "$queue/$old" "$queue.new/$new"; do
		n=$((n + 1))
	done 3< "$queue/series" 4< "$queue.new/series"
	echo "$n"
}

# renew: the new queue takes the place of the old one.
renew()
{
	[ ! -d "$queue" ] || mv "$queue" "$queue.old"
	mv "$queue.new" "$queue"
}

fill "$queue.new" "$@"
on_exit rm -rf "$queue.new"
if [ ! -f "$queue/series" ]; then
	renew
elif ! diff -r "$queue.new" "$queue" > /dev/null; then
	# The old queue stays until the new one is in.
	rm -rf "$queue.old"
	old_depth=$(applied)
	# What both begin with stays in: its objects need not be built again.
	same=$(common)
	[ "$old_depth" -le "$same" ] || move pop "$((old_depth - same))"
	renew
fi

case $state in
before)   if [ $# = 0 ]; then move pop -a; else move push -a; fi ;;
after)    move push -a ;;
# At an end quilt says so itself.
push|pop) quilt_ "$state" || exit "$?" ;;
[0-9]*)
	move pop -a
	[ "$state" = 0 ] || move push "$state"
	;;
*)        usage_die "state '$state' is not known (before, after, a number, push, pop)" ;;
esac
rm -rf "$queue.old"
