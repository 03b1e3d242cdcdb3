# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What mutants.sh and known.sh share: kernels that must fail, in a way that
# was said beforehand. Source it after lib.sh, with these variables set:
#
# work, tree  build folder of the base, its tree
# accel       what accel.sh chose
set -euo pipefail

# build_kernel VARIANT STATE OUT [PATCH...]: the kernel of that state, with the
# patches on top, in OUT/VARIANT/STATE.
build_kernel()
{
	local variant=$1 state=$2 out=$3
	shift 3
	# Checked here: a condition switches errexit off.
	"$top/ci/apply.sh" "$tree" "$state" "$@" || return 1
	"$top/ci/build.sh" "$tree" "$work/$variant/obj" "$out/$variant/$state" \
		"variant=$variant" "state=$state" || return 1
}

# boot_kernel KERNEL RUN CGROUP PROGRAM: the verdict is read from what it leaves.
boot_kernel()
{
	# A test that waits in vain is silent, and has to come to its end.
	SILENCE=${SILENCE:-400} TESTS=$4 "$top/ci/test-boot.sh" "$1" "$work/initramfs.cpio" "$accel" \
		"$2" "$3" || true
}

# failed_as RUN WHAT...: did that boot come to its end (with oops=panic, or where a
# warning panics, that may be a panic), and fail as each WHAT says? WHAT is "COLLECTION:PROGRAM [CASE]", of which
# a case, or that case, must have printed "not ok", or "console EXTENDED-REGEX". An
# oops that no WHAT names is no such failure, nor is a test that was ended by its
# time, unless by that oops.
failed_as()
{
	local run=$1 what oops=
	shift
	grep -qE '^guest: end|Kernel panic - not syncing: (Fatal exception|kernel: panic_on_warn)' "$run/console.log" || return 1
	for what; do
		failed "$run" "$what" || return 1
		case $what in
		console\ *)
			# No pipe: with pipefail, it fails when grep -q ends first.
			! grep -qE "${what#console }" <<< "$(grep -E 'BUG:|kernel BUG at|Oops' "$run/console.log" || true)" || oops=named
			;;
		esac
	done
	[ -n "$oops" ] || {
		! grep -q 'Oops:' "$run/console.log" &&
		! grep -q 'Test terminated by timeout\|^not ok .*TIMEOUT' "$run/ktap.log"
	}
}

failed()
{
	case $2 in
	console\ *)
		grep -qE "${2#console }" "$1/console.log"
		;;
	*)
		jq -e --arg program "${2%% *}" --arg case "${2#"${2%% *}"}" '
			any(.programs[]; .name == $program and
			    any(.cases[]; .result == "not ok" and ($case == "" or " " + .name == $case)))
		' "$1/verdict.json" > /dev/null
		;;
	esac
}

# passed RUN: is its verdict PASS?
passed()
{
	[ "$(jq -r .result "$1/verdict.json")" = PASS ]
}
