#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# testpatch.sh TREE TOPIC [OUT]: write the test patches of a topic for BASE from
# selftests/TOPIC/cgroup, which is the truth that they are made from.
#
# TREE   an unpacked kernel tree, before the topic (its files are only read)
# TOPIC  its test patches are numbered after its others, and one that is there
#        already keeps its date
# OUT    folder for the patches; without it they take the place of the topic's, also
#        in series/BASE
#
# The first patch brings what they share, *_util.[ch], each further one a program, test_*.c. Its
# message is the comment at the head of the file. A helper X.c comes with the first
# program test_X*, and is linked to these alone. git writes the patches, with the
# configured identity and its sign-off. Prints their names, in order.
. "$(dirname "$0")/lib.sh"

[ $# = 2 ] || [ $# = 3 ] || usage_die "usage: testpatch.sh TREE TOPIC [OUT]"
need BASE
tree=$(realpath "$1") name=$2 topic=$top/patches/$BASE/$2 out=${3:+$(realpath "$3")}
from=$top/selftests/$name/cgroup facts=$top/selftests/$name/topic to=tools/testing/selftests/cgroup
[ -d "$from" ] || usage_die "topic '$name' has no tests for the tree: there is no selftests/$name/cgroup"
number=$(find "$topic" -name '*.patch' ! -name '*-selftests-cgroup-*' | wc -l)

# insert FILE PREFIX LINE: put LINE in its place among the sorted lines of FILE
# that begin with PREFIX, if it is not there.
insert()
{
	! grep -qxF "$3" "$1" || return 0
	LC_ALL=C awk -v prefix="$2" -v line="$3" '
		index($0, prefix) == 1 { if ($0 > line && !done++) print line; seen = 1 }
		index($0, prefix) != 1 && seen && !done++ { print line }
		{ print }
		END { if (!done) print line }
	' "$1" > "$1.new"
	mv "$1.new" "$1"
}

# mail SUBJECT FILE...: a patch with these files
mail()
{
	local subject=$1 old message
	shift
	cp "${@/#/$from/}" "$to"
	git add -f -A
	number=$((number + 1))
	old=$(grep -lxF "Subject: [PATCH] selftests/cgroup: $subject" "$topic"/*-selftests-cgroup-*.patch 2> /dev/null |
		head -n 1 || true)
	GIT_AUTHOR_DATE=${old:+$(sed -n 's/^Date: //p' "$old" | head -n 1)}
	export GIT_AUTHOR_DATE=${GIT_AUTHOR_DATE:-$(date -R)}
	# Wrapped again, an item of a list with its indent.
	message=$(sed -n '\|^/\*$|,\|^ \*/$| { \|^ \*/$|q; s/^ \* \{0,1\}//p }' "$from/$1" |
		perl -MText::Wrap -00 -ne '$Text::Wrap::columns = 75; s/\n+$//;
			print join("\n", map { my $in = /^( *- )/ ? " " x length $1 : "";
				my $to = s/^( *- )// ? $1 : ""; s/\s+/ /g; s/^ | $//g;
				wrap($to, $in, $_) } split /\n(?= *- )/), "\n\n"')
	[ -n "$message" ] || die "$from/$1 has no comment at its head (/*, on a line of its own), the patch's message"
	printf 'selftests/cgroup: %s\n\n%s\n' "$subject" "$message" | git commit -qsF -
	basename "$(git format-patch -1 --start-number "$number" -N --zero-commit --no-signature -o "$work/out")"
}

work=$(mktemp -d)
on_exit rm -rf "$work"
mkdir "$work/git" "$work/out"
cd "$work/git"
git init -q
mkdir -p "$to"
cp "$tree/$to"/{Makefile,.gitignore,config} "$to"
# .gitignore of the selftests ignores all but sources: it is not for us here.
git add -f -A
git commit -qm base

# shellcheck disable=SC2016 # make's variable
sed -i 's/^CFLAGS += -Wall -pthread$/& $(KHDR_INCLUDES)/' "$to/Makefile"
for option in $(field "$facts" config); do
	[[ " $(field "$top/ci/bases/$BASE" lacks) " != *" $option "* ]] || continue
	insert "$to/config" CONFIG_ "CONFIG_$option=y"
done
# kselftest stops a program after 45 s otherwise.
echo timeout=600 > "$to/settings"
util=$(find "$from" -name '*_util.h' -printf '%f\n' | head -n 1)
util=${util%.h}
if [ -n "$util" ]; then
	insert "$to/Makefile" LOCAL_HDRS "LOCAL_HDRS += \$(selfdir)/cgroup/$util.h"
	mail "$(field "$facts" helpers)" "$util.h" "$util.c"
fi

for program in "$from"/test_*.c; do
	program=$(basename "$program" .c) helpers=${util:+$util.c} files=("$program.c")
	for helper in "$from"/*.c; do
		helper=$(basename "$helper")
		[[ $program == test_${helper%.c}* ]] || continue
		helpers+=" $helper"
		[ -e "$to/$helper" ] || files+=("$helper")
	done
	insert "$to/.gitignore" test_ "$program"
	insert "$to/Makefile" "TEST_GEN_PROGS +=" "TEST_GEN_PROGS += $program"
	insert "$to/Makefile" "\$(OUTPUT)/test_" "\$(OUTPUT)/$program: cgroup_util.c${helpers:+ $helpers}"
	mail "add $program" "${files[@]}"
done

for helper in "$from"/*.c; do
	[ -e "$to/${helper##*/}" ] || die "$helper comes with no program: name it as the first test_NAME*.c that needs it"
done

if [ -n "$out" ]; then
	cp "$work"/out/* "$out"
	exit 0
fi
rm -f "$topic"/*-selftests-cgroup-*.patch
cp "$work"/out/* "$topic"
# Their lines go behind the topic's last one.
awk -v topic="$BASE/$name/" -v new="$(cd "$work/out" && printf "$BASE/$name/%s\\n" ./*.patch | sed 's|/\./|/|')" '
	index($0, topic) == 1 && /-selftests-cgroup-/ { next }
	{ line[++n] = $0 }
	index($0, topic) == 1 { last = n }
	END { for (i = 1; i <= n; i++) { print line[i]; if (i == last) print new } }
' "$top/series/$BASE" > "$work/series"
cat "$work/series" > "$top/series/$BASE"
