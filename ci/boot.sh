#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# boot.sh RUN LABEL COMMAND...: boot a guest and watch it.
#
# RUN      the run's folder; must hold `plan` (see verdict.pl). Gets command,
#          console.log, ktap.log and, last, `end`: how QEMU ended, one of
#          "exit STATUS", or "silent|hang|limit SECONDS BYTES", with the size of
#          the console before the kernel was asked what it does
# LABEL    what the progress lines call this boot
# COMMAND  the QEMU command, its console on stdin and stdout
#
# A guest that prints nothing on any channel for a while is a hang; one that still
# prints after a longer while is ended, too. How long both are depends on the speed
# of this boot, the seconds until the guest's init has spoken: about 1 under KVM, 3
# under TCG on an idle host. SILENCE and LIMIT in the environment, in seconds, take
# their place.
#
# On a hang the kernel is asked for its blocked tasks, active CPUs and all
# tasks (sysrq w, l, t) before QEMU is killed. Exits 0 however the guest ended:
# that is for the verdict to judge. 0 but no `end`: interrupted.
. "$(dirname "$0")/lib.sh"

[ $# -ge 3 ] || usage_die "usage: boot.sh RUN LABEL COMMAND..."
run=$1 label=$2
shift 2

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

# patience SECONDS: set how long to wait, with init after so many seconds. A host
# under load may become four times slower.
patience()
{
	silence=${SILENCE:-$((60 + 30 * $1))}
	limit=${LIMIT:-$((300 + 200 * $1))}
}

programs=$(grep -c : "$run/plan" || true)
init=
patience 3
start=$SECONDS quiet_since=$SECONDS shown=$SECONDS size=0 end=
while kill -0 "$qemu" 2> /dev/null; do
	sleep 0.5
	now=$(stat -c %s "$console" "$ktap" | paste -sd+)
	if [ "$now" != "$size" ]; then
		size=$now quiet_since=$SECONDS
	fi
	if [ -z "$init" ] && grep -q '^guest: init' "$console"; then
		init=$((SECONDS - start))
		patience $((init > 1 ? init : 1))
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
