#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# test-boot.sh KERNEL INITRAMFS ACCEL-FILE RUN CGROUP: boot one kernel with its tests
# and judge it.
#
# KERNEL      what build.sh kept
# ACCEL-FILE  what accel.sh chose
# RUN         folder to make: plan, facts, environment, command, config,
#             console.log, ktap.log, verdict.json and, if there is one, the
#             decoded call trace
# CGROUP      v1 or v2: the tests of the plan for that hierarchy; off: those for a
#             kernel whose memory cgroups are disabled
#
# From the environment: BASE and TOPIC, which choose the plan; SMP and MEM, the
# guest's; TESTS, just these programs (all); NOTE, just those with this note in the
# plan (any).
#
# Prints the verdict; exits 0 on PASS, 1 on FAIL.
. "$(dirname "$0")/lib.sh"

[ $# = 5 ] || usage_die "usage: test-boot.sh KERNEL INITRAMFS ACCEL-FILE RUN CGROUP"
need SMP MEM BASE ARCH
kernel=$1 initramfs=$2 accel_file=$3 run=$4 cgroup=$5 tests=${TESTS:-}
variant=$(field "$kernel/facts" variant) state=$(field "$kernel/facts" state)

accel=$(field "$accel_file" accel)
label=$(basename "$run")

rm -rf "$run"
mkdir -p "$run"
cp "$kernel/.config" "$run/config"
cp "$kernel/command" "$run/kernel-command"
# A program that is named runs in any case; else not what is known to fail
# without the series, what is too slow with lock debugging, what fails on purpose,
# nor the load.
"$top/ci/list.sh" plan | awk -v cgroup="$cgroup" -v tests=" $tests " -v note="${NOTE:-}" \
	-v state="$state" -v variant="$variant" '
	$2 != cgroup                 { next }
	tests !~ /^ *$/              { if (index(tests, " " $1 " ")) print; next }
	note != "" && $0 !~ "[ \t]" note "( |$)" { next }
	$1 ~ /^(guest|load):/        { next }
	/after-only/ && state != "after" { next }
	/default-only/ && variant !~ /^default/ { next }
	/not-debug/ && variant ~ /^debug/ { next }
	/devmem/ && variant != "devmem"  { next }
	{ print }
' > "$run/plan"
if [ ! -s "$run/plan" ]; then
	say "  $label: no test of the plan is for $cgroup${tests:+ among $tests}"
	exit 0
fi

cp "$kernel/facts" "$run/facts"
printf '%s\n' "cgroup=$cgroup" "accel=$accel" "cpus=$SMP" "memory=$MEM" \
	"locks=$("$top/ci/list.sh" locks | paste -sd' ')" >> "$run/facts"
{
	uname -a
	"${QEMU:-$(field "$top/ci/arch/$ARCH" qemu)}" --version | head -n 1 || true
	grep -m 1 'model name' /proc/cpuinfo || true
	echo "host CPUs: $(nproc)"
	env | grep -E '^(ARCH|CROSS_COMPILE|LLVM|V|QEMU|SILENCE|LIMIT)=' || true
} > "$run/environment"

# programs own|stock: those planned, separated by commas
programs()
{
	awk -v kind="$1" '(/[ \t]stock/ ? "stock" : "own") == kind { print $1 }' "$run/plan" | paste -sd,
}

ports=(ktap="$run/ktap.log" load="$run/load.log" gcov="$run/gcov.tar")
"$top/ci/qemu-command.sh" "$kernel" "$initramfs" "$accel" \
	"guest.mode=tests guest.cgroup=$cgroup guest.tests=$(programs own) guest.stock=$(programs stock)" \
	"${ports[@]}" > "$run/command"
mapfile -t command < "$run/command"
start=$SECONDS
"$top/ci/boot.sh" "$run" "$label" "${command[@]}"
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
