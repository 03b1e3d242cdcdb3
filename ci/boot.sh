#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# boot.sh RUN LABEL SILENCE LIMIT COMMAND...: boot a guest and watch it.
#
# RUN      the run's folder; must hold `plan` (see verdict.pl). Gets command,
#          console.log, ktap.log and, last, `end`: how QEMU ended, one of
#          "exit STATUS", or "silent|hang|limit SECONDS BYTES", with the size of
#          the console before the kernel was asked what it does
# LABEL    what the progress lines call this boot
# SILENCE  seconds without a byte on any channel after which it is a hang
# LIMIT    seconds after which it is ended although it still prints
# COMMAND  the QEMU command, its console on stdin and stdout
#
# On a hang the kernel is asked for its blocked tasks, active CPUs and all
# tasks (sysrq w, l, t) before QEMU is killed. Exits 0 however the guest ended:
# that is for the verdict to judge. 0 but no `end`: interrupted.
. "$(dirname "$0")/lib.sh"

[ $# -ge 5 ] || usage_die "usage: boot.sh RUN LABEL SILENCE LIMIT COMMAND..."
run=$1 label=$2 silence=$3 limit=$4
shift 4

console=$run/console.log
ktap=$run/ktap.log
printf '%q ' "$@" > "$run/command"
rm -f "$run/end"
: > "$console"
: > "$ktap"

# A named pipe that stays open is the guest's keyboard.
keys=$(mktemp -u)
mkfifo "$keys"
on_exit rm -f "$keys"
exec 3<> "$keys"

"$@" <&3 > "$console" 2> "$run/qemu.log" &
qemu=$!
# stop: end QEMU, unless it was waited for already.
stop()
{
	[ -z "$qemu" ] || kill -9 "$qemu"
}
on_exit stop

# sysrq KEY: a break and a key on the serial line, through QEMU's C-a escape.
sysrq()
{
	printf '\001b%s' "$1" >&3
	sleep 2
}

# give_up TEXT: write down why, let the kernel speak, end QEMU.
give_up()
{
	end="$2 $(stat -c %s "$console")"
	say "  $label: $1 after $(elapsed "$start"); asking the kernel what it does (sysrq w, l, t)"
	for key in w l t; do
		sysrq "$key"
	done
	kill -9 "$qemu" 2> /dev/null || true	# it may have ended meanwhile
	wait "$qemu" 2> /dev/null || true
}

programs=$(grep -c : "$run/plan" || true)
start=$SECONDS quiet_since=$SECONDS shown=$SECONDS size=0 end=
while kill -0 "$qemu" 2> /dev/null; do
	sleep 0.5
	now=$(stat -c %s "$console" "$ktap" | paste -sd+)
	if [ "$now" != "$size" ]; then
		size=$now quiet_since=$SECONDS
	fi
	if [ $((SECONDS - shown)) -ge 15 ]; then
		shown=$SECONDS
		say "  $label: $(elapsed "$start"), $(grep -cE '^(not )?ok ' "$ktap" || true) of $programs programs done"
	fi
	if [ $((SECONDS - quiet_since)) -ge "$silence" ]; then
		if [ -s "$console" ]; then
			give_up "hang, no output for $silence s" "hang $silence"
		else
			give_up "nothing printed" "silent $silence"
		fi
	elif [ $((SECONDS - start)) -ge "$limit" ]; then
		give_up "over its limit" "limit $limit"
	fi
done
if [ -z "$end" ]; then
	rc=0
	wait "$qemu" || rc=$?
	qemu=
	end="exit $rc"
fi
echo "$end" > "$run/end"
