#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# test-boot.sh KERNEL INITRAMFS ACCEL-FILE RUN CGROUP SMP MEM TESTS: boot one
# kernel with its tests and judge it.
#
# KERNEL      what build.sh kept
# ACCEL-FILE  what accel.sh chose and measured
# RUN         folder to make: plan, facts, environment, command, config,
#             console.log, ktap.log, verdict.json and, if there is one, the
#             decoded call trace
# CGROUP      v1 or v2: the tests of selftests/plan for that hierarchy; off: those
#             for a kernel whose memory cgroups are disabled
# TESTS       just these programs (all)
#
# Prints the verdict; exits 0 on PASS, 1 on FAIL.
. "$(dirname "$0")/lib.sh"

[ $# = 8 ] || usage_die "usage: test-boot.sh KERNEL INITRAMFS ACCEL-FILE RUN CGROUP SMP MEM TESTS"
kernel=$1 initramfs=$2 accel_file=$3 run=$4 cgroup=$5 smp=$6 mem=$7 tests=$8

accel=$(field "$accel_file" accel)
seconds=$(field "$accel_file" seconds)
label=$(basename "$run")

rm -rf "$run"
mkdir -p "$run"
cp "$kernel/.config" "$run/config"
cp "$kernel/command" "$run/kernel-command"
# A program that is named runs in any case; else not what is known to fail
# without the series, what is too slow with lock debugging, nor what fails on
# purpose.
awk -v cgroup="$cgroup" -v tests=" $tests " -v state="$(basename "$kernel")" \
    -v variant="$(basename "$(dirname "$kernel")")" '
	$1 !~ /:/ || $2 != cgroup    { next }
	tests !~ /^ *$/              { if (index(tests, " " $1 " ")) print; next }
	$1 ~ /^guest:/               { next }
	/after-only/ && state != "after" { next }
	/default-only/ && variant !~ /^default/ { next }
	/not-debug/ && variant ~ /^debug/ { next }
	/devmem/ && variant != "devmem"  { next }
	{ print }
' "$top/selftests/plan" > "$run/plan"
if [ ! -s "$run/plan" ]; then
	say "  $label: no test of the plan is for $cgroup${tests:+ among $tests}"
	touch "$run/no-test"	# for the report: nothing is missing here
	exit 0
fi

# A marker boot took $seconds s on this accelerator, about 1 s under KVM and 3
# under TCG on an idle host: the patience grows with it, and a host under load
# may be four times slower than when it was measured.
silence=${SILENCE:-$((60 + 30 * seconds))}
limit=${LIMIT:-$((300 + 200 * seconds))}
program_timeout=$((limit / 2))

printf '%s\n' "variant=$(basename "$(dirname "$kernel")")" "state=$(basename "$kernel")" \
	"cgroup=$cgroup" "accel=$accel" "cpus=$smp" "memory=$mem" \
	"silence=$silence" "limit=$limit" > "$run/facts"
{
	uname -a
	"${QEMU:-qemu-system-x86_64}" --version | head -n 1 || true
	grep -m 1 'model name' /proc/cpuinfo || true
	echo "host CPUs: $(nproc)"
	env | grep -E '^(ARCH|CROSS_COMPILE|LLVM|V|QEMU|SILENCE|LIMIT)=' || true
} > "$run/environment"

ports=(ktap="$run/ktap.log" lock_stat="$run/lock_stat.log" vmstat="$run/vmstat.log" gcov="$run/gcov.tar")
"$top/ci/qemu-command.sh" "$kernel" "$initramfs" "$accel" "$smp" "$mem" \
	"guest.mode=tests guest.cgroup=$cgroup guest.timeout=$program_timeout guest.tests=$(awk '{ print $1 }' "$run/plan" | paste -sd,)" \
	"${ports[@]}" > "$run/command"
mapfile -t command < "$run/command"
start=$SECONDS
"$top/ci/boot.sh" "$run" "$label" "$silence" "$limit" "${command[@]}"
echo "seconds=$((SECONDS - start))" >> "$run/facts"
sed -n 's/^guest: init .*kernel=\([^ ]*\).*/kernel=\1/p' "$run/console.log" | tr -d '\r' >> "$run/facts"

# A call trace, made readable by the kernel's own script.
if grep -q 'Call Trace' "$run/console.log"; then
	"$top/ci/decode-trace.sh" "$kernel" "$run" || say "  $label: the call trace could not be decoded"
fi

verdict=0
text=$("$top/ci/verdict.pl" "$run") || verdict=$?
say "  $label ($accel, $((SECONDS - start)) s): $text"
[ "$verdict" = 0 ] || say "  $label: all of it is in $run"
exit "$verdict"
