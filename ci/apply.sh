#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# apply.sh TREE STATE [PATCH...]: move the tree to a state of BASE's series, or of
# TOPIC.
#
# TREE   an unpacked kernel tree of this project's
# STATE  before, after (see ci/list.sh), a number (the first so many of the
#        patches of after), or push or pop (one step, for a person at work)
# PATCH  more patches on top of that (mutants, faults)
#
# A state is a commit in TREE.git: each patch is one on top of the one before it,
# found by its content and made once, without a touch of the tree. Moving is a
# checkout, which writes only the files that differ and keeps hand-made changes
# of others. Callers hold a lock: what a killed one has left is finished here.
#
# Fails, and leaves the tree as it was, if a patch does not apply without fuzz, or
# if the move would overwrite a hand-made change. push and pop exit with 2 at an end.
. "$(dirname "$0")/lib.sh"

[ $# -ge 2 ] || usage_die "usage: apply.sh TREE before|after|NUMBER|push|pop [PATCH...]"
need BASE
tree=$(realpath "$1") state=$2
shift 2
export GIT_DIR=$tree.git GIT_WORK_TREE=$tree GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1

if [ ! -d "$GIT_DIR" ]; then
	say "  recording the unpatched tree"
	rm -rf "$GIT_DIR.new"
	git --git-dir="$GIT_DIR.new" --work-tree="$tree" init -q
	git --git-dir="$GIT_DIR.new" config user.name state
	git --git-dir="$GIT_DIR.new" config user.email state@localhost
	git --git-dir="$GIT_DIR.new" config gc.auto 0
	# One pack, not compressed, in place of 80,000 files.
	git --git-dir="$GIT_DIR.new" --work-tree="$tree" -c core.compression=0 \
		-c core.bigFileThreshold=1 add -f -A
	git --git-dir="$GIT_DIR.new" commit -q -m base
	git --git-dir="$GIT_DIR.new" branch -q base
	git --git-dir="$GIT_DIR.new" checkout -q --detach
	mv "$GIT_DIR.new" "$GIT_DIR"
fi
find "$GIT_DIR" -name '*.lock' -delete

# put PATCH: make $commit the commit of that patch on top of $commit
put()
{
	local ref error
	[ -r "$1" ] || die "the patch $1 is not there"
	ref=refs/patches/$({ echo "$commit"; cat "$1"; } | git hash-object --stdin)
	if ! git rev-parse -q --verify "$ref" > /dev/null; then
		export GIT_INDEX_FILE=$GIT_DIR/index.patch
		git read-tree "$commit"
		error=$(git apply --cached --whitespace=nowarn "$1" 2>&1) ||
			die "${1##*/} does not apply without fuzz; the tree is as it was
$error"
		git update-ref "$ref" "$(git commit-tree -p "$commit" -m "${1##*/}" "$(git write-tree)")"
		unset GIT_INDEX_FILE
	fi
	commit=$(git rev-parse "$ref")
}

list=$("$top/ci/list.sh" patches after)
patches=()
[ -z "$list" ] || mapfile -t patches <<< "$list"
at=$(git rev-list --count base..HEAD)
case $state in
before)  n=$("$top/ci/list.sh" patches before | wc -l) ;;
after)   n=${#patches[@]} ;;
push)    n=$((at + 1)) ;;
pop)     n=$((at - 1)) ;;
[0-9]*)  n=$state ;;
*)       usage_die "state '$state' is not known (before, after, a number, push, pop)" ;;
esac
[ "$n" -ge 0 ] || usage_die "no patch is applied"
[ "$n" -le "${#patches[@]}" ] || usage_die "the series has ${#patches[@]} patches, not $n"

commit=$(git rev-parse base)
for patch in "${patches[@]:0:n}"; do
	put "$top/patches/$patch"
done
for patch; do
	put "$patch"
done

# A checkout that was killed has written some files and no index.
force=
[ ! -e "$GIT_DIR/moving" ] || force=-f
if [ -n "$force" ] || [ "$(git rev-parse HEAD)" != "$commit" ]; then
	touch "$GIT_DIR/moving"
	error=$(git checkout -q $force --detach "$commit" 2>&1) || {
		[[ $error != *"would be overwritten"* ]] ||
			{ rm "$GIT_DIR/moving"; error="a hand-made change stands in the way: save it (diff), or undo it
$error"; }
		die "$error"
	}
	rm "$GIT_DIR/moving"
fi
