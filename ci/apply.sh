#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# apply.sh TREE SERIES STATE: move the tree to a state of the series by quilt.
#
# TREE    an unpacked kernel tree of this project's
# SERIES  a file in series/
# STATE   before (no patch applied), after (all of them), or push or pop
#         (one step, for a person at work)
#
# A patch that does not apply without fuzz stops it: the patch, the file and
# the hunk are said, and the tree is back as it was. So does a hand-made change
# that a patch cannot be removed over.
. "$(dirname "$0")/lib.sh"

[ $# = 3 ] || usage_die "usage: apply.sh TREE SERIES before|after|push|pop"
tree=$(realpath "$1") series=$(realpath "$2") state=$3
export QUILT_PATCHES=$top/patches QUILT_SERIES=$series QUILT_PC=.pc
cd "$tree"

# Which text of the patches is applied: a patch file that was edited since has
# to be taken out and put in again.
text()
{
	local patch
	{ quilt_ series 2> /dev/null || true; } | while IFS= read -r patch; do
		cat "$QUILT_PATCHES/${patch#"$QUILT_PATCHES/"}"
	done | sha256sum | cut -d' ' -f1
}

quilt_()
{
	quilt --quiltrc "$top/.quiltrc" "$@"
}

applied()
{
	# With none, quilt fails.
	{ quilt_ applied 2> /dev/null || true; } | wc -l
}

# move VERB ARGS...: push or pop; on failure, undo to DEPTH patches and say why.
move()
{
	local log depth rc=0
	depth=$(applied)
	log=$(mktemp)
	on_exit rm -f "$log"
	quilt_ "$@" > "$log" 2>&1 || rc=$?
	# 2 means that there is nothing (more) to push or to pop; 1 with those
	# words that there is no patch in the series.
	if [ "$rc" = 0 ] || [ "$rc" = 2 ] || grep -q '^No \(patch\|series\)' "$log"; then
		return 0
	fi
	grep -E '^(Applying patch|patching file|Hunk|can.t find|File|Patch|Removing patch)' "$log" |
		grep -B2 -A1 -E 'FAILED|does not|can.t find|unapplied' >&2 || cat "$log" >&2
	if [ "$1" = push ] && [ "$(applied)" -gt "$depth" ]; then
		quilt_ pop "$(($(applied) - depth))" > /dev/null
	fi
	die "quilt $*: stopped; the tree is as it was"
}

case $state in
before)
	move pop -a
	;;
after)
	want=$(text)
	if [ "$(cat .pc/text 2> /dev/null)" != "$want" ]; then
		move pop -a
	fi
	move push -a
	# quilt has no word for "this text": its own folder is the place for ours.
	[ ! -d .pc ] || echo "$want" > .pc/text
	;;
push|pop)
	quilt_ "$state"
	;;
*)
	usage_die "state '$state' is not known (before, after, push, pop)"
	;;
esac
