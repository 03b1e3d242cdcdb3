#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# list.sh topics|patches STATE|plan|own-plan|shown|locks: what the series of BASE, or TOPIC
# alone, consists of, one a line.
#
# topics    those in the series, in its order. With TOPIC: that one, what it builds
#           on, and what builds on it, whose tests show what it does
# patches   those that are applied in STATE, below patches/, in order: none before,
#           all after. With TOPIC, those that it builds on are applied before, its own
#           too after, and no others
# plan      the tests: rows "program boot least notes" as in selftests/plan, without
#           comments
# own-plan  the topics' own among them
# shown     the programs among them that make run runs
# locks     those that the topics remove, as /proc/lock_stat names them
#
# From the environment: BASE, TOPIC (may be empty). What a topic builds on and its
# lock are in selftests/TOPIC/topic.
. "$(dirname "$0")/lib.sh"

[ $# -ge 1 ] || usage_die "usage: list.sh topics|patches STATE|plan|own-plan|shown|locks"
need BASE
topic=${TOPIC:-}

# fact TOPIC KEY
fact()
{
	[ ! -e "$top/selftests/$1/topic" ] || field "$top/selftests/$1/topic" "$2"
}

# family TOPIC: the topic, and those that it builds on
family()
{
	local on
	echo "$1"
	for on in $(fact "$1" builds-on); do
		family "$on"
	done
}

# among TOPIC LIST
among()
{
	grep -qxF "$1" <<< "$2"
}

topics()
{
	local t below
	below=$(family "$topic")
	for t in $(sed -n "s|^$BASE/\([^/]*\)/.*|\1|p" "$top/series/$BASE" | uniq); do
		if [ -z "$topic" ] || among "$t" "$below" || among "$topic" "$(family "$t")"; then
			echo "$t"
		fi
	done
}

# patches STATE
patches()
{
	local below patch of
	[ -n "$topic" ] || {
		[ "$1" = before ] || rows "$top/series/$BASE"
		return
	}
	below=$(family "$topic")
	rows "$top/series/$BASE" | while IFS= read -r patch; do
		of=${patch#*/} of=${of%%/*}
		! among "$of" "$below" || [ "$1 $of" = "before $topic" ] || echo "$patch"
	done
}

own_plan()
{
	local t
	for t in $(topics); do
		[ ! -e "$top/selftests/$t/plan" ] || rows "$top/selftests/$t/plan"
	done
}

case $* in
topics)                            topics ;;
"patches before"|"patches after")  patches "$2" ;;
own-plan)                          own_plan ;;
shown)                             own_plan | awk '/[ \t]shown/ { print $1 }' | sort -u ;;
plan)                              own_plan
                                   rows "$top/selftests/plan" ;;
locks)                             for t in $(topics); do fact "$t" lock; done ;;
*)                                 usage_die "'$*' is not known (topics, patches before, patches after, plan, own-plan, shown, locks)" ;;
esac
