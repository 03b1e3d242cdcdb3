#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# mutants.sh and known.sh, with stand-ins for apply, build and boot: what is a
# catch, what is none, and what is not done twice.

load common

setup()
{
	export BASE=6.12 SMP=4 MEM=1G JOBS=2
	repo
	topic=$repo/selftests/toy/6.12
	mkdir -p "$repo/kernel-config" "$repo/selftests/guest" "$topic"/{known,mutants/delays} \
		"$tmp/work/default/obj" "$tmp/work/default/before"
	echo config > "$repo/kernel-config/boot.config"
	echo 6.12/toy/0001-toy.patch > "$repo/series/6.12"
	echo source > "$tmp/work/source"
	echo accel=tcg > "$tmp/accel"
	printf 'mm:swap_x\tv2\t2\nmm:swap_y\tv1\t1\n' > "$repo/selftests/toy/plan"
	touch "$repo/selftests/guest/init" "$repo/selftests/guest/run-tests"
	# The patches that are applied last decide how the kernel behaves.
	stand_in apply 'shift 2; echo applied "$@" >> "$tmp/log"; cat /dev/null "$@" > "$tmp/tree"'
	stand_in build 'mkdir -p "$3"; ! grep -q BROKEN "$tmp/tree" || exit 1; cp "$tmp/tree" "$3/image"; : > "$3/boot-parameters"'
	stand_in test-boot 'mkdir -p "$4"; echo "boot $TESTS $5" >> "$tmp/log"
		n=$(grep -c "^boot" "$tmp/log"); result=ok
		! grep -q MISTAKE "$1/image" || [ "$TESTS" = mm:swap_y ] || result="not ok"
		! grep -q RARE "$1/image" || [ "$n" != 3 ] || result=ok
		! grep -q UNSTABLE "$1/image" || [ "$n" != 7 ] || result="not ok"
		grep -q PANIC "$1/image" || echo "guest: end" > "$4/console.log"
		! grep -q ASSERTION "$1/image" || echo "swap slot 0:7 has memcg id 3" >> "$4/console.log"
		! grep -q TIMEOUT "$1/image" || echo "# # Test terminated by timeout" > "$4/ktap.log"
		! grep -q OOPS "$1/image" || echo "Oops: 0000" >> "$4/console.log"
		touch "$4/ktap.log"
		verdict=PASS; [ "$result" = ok ] || verdict=FAIL
		jq -n --arg r "$result" --arg v "$verdict" --arg p "$TESTS" \
			"{result: \$v, reason: \"why\", programs: [{name: \$p, cases: [{name: \"swap_x.one\", result: \$r}, {name: \"swap_x.two\", result: \"ok\"}]}]}" > "$4/verdict.json"'
}

# stand_in NAME SCRIPT: ci/NAME.sh, with $tmp set
stand_in()
{
	printf '#!/usr/bin/env bash\nset -eu\ntmp=%q\n%s\n' "$tmp" "$2" > "$repo/ci/$1.sh"
	chmod +x "$repo/ci/$1.sh"
}

# mutant NAME CAUGHT-BY BEHAVIOUR [DELAY]
mutant()
{
	{
		printf '%s\n' "Mistake: $1" ${4:+"With: $4.patch"} "Kernel: default" \
			"Cgroup: v2" "Caught-by: $2" "Program: mm:swap_x" ---
		echo "$3"
	} > "$topic/mutants/$1.patch"
	[ -z "${4:-}" ] || echo "${5:-pause}" > "$topic/mutants/delays/$4.patch"
}

mutants()
{
	run "$repo/ci/mutants.sh" "$tmp/work" "$tmp/accel" "$@"
}

known()
{
	{ printf '%s\t' "$@"; echo; } > "$topic/known-failures"
	touch "$tmp/work/default/before/image"
	run "$repo/ci/known.sh" "$tmp/work" "$tmp/accel"
}

@test "a mutant whose test fails is caught" {
	mutant 0001-a "mm:swap_x swap_x.one" MISTAKE
	mutants
	is 0 "$status"
	has "1 of 1 caught, 1 of them in the default kernel"
}

@test "one whose test passes, or another case of it fails, is not" {
	mutant 0001-a "mm:swap_x swap_x.one" nothing
	mutant 0002-b "mm:swap_x swap_x.two" MISTAKE
	mutants
	is 1 "$status"
	has "0 of 2 caught"
}

@test "a build that fails, or a boot that does not end, is no catch" {
	mutant 0001-a mm:swap_x "BROKEN MISTAKE"
	mutant 0002-b mm:swap_x "PANIC MISTAKE"
	mutants
	is 1 "$status"
	has "does not apply or build"
	has "NOT CAUGHT: 0 of 1"
}

@test "an assertion on the console" {
	mutant 0001-a "console swap slot .* has memcg id" ASSERTION
	mutant 0002-b "console swap slot .* has memcg id" MISTAKE
	mutants
	is 1 "$status"
	has "1 of 2 caught"
}

@test "an assertion excuses no oops beside it" {
	mutant 0001-a "console swap slot .* has memcg id" "ASSERTION OOPS"
	mutants
	is 1 "$status"
	has "0 of 1 caught"
}

@test "a test that was ended by its time, or an oops that nobody named, is no catch" {
	mutant 0001-a mm:swap_x "MISTAKE TIMEOUT"
	mutant 0002-b mm:swap_x "MISTAKE OOPS"
	mutants
	is 1 "$status"
	has "0 of 2 caught"
}

@test "of several lines each must hold; an oops may be one" {
	mutant 0001-a $'mm:swap_x swap_x.one\nCaught-by: console Oops' "MISTAKE OOPS"
	mutant 0002-b $'mm:swap_x swap_x.one\nCaught-by: mm:swap_y' MISTAKE
	mutants
	is 1 "$status"
	has "1 of 2 caught"
	# each in a boot of its own
	grep -qx "boot mm:swap_x v2" "$tmp/log"
	grep -qx "boot mm:swap_y v2" "$tmp/log"
}

@test "with a delay: five boots of five, and the series with it passes five" {
	mutant 0001-a mm:swap_x MISTAKE slow
	mutants
	is 0 "$status"
	has "caught 5 of 5, clean 5 of 5"
	is 10 "$(grep -c ^boot "$tmp/log")"
}

@test "with a delay: one boot of five missed is no catch" {
	mutant 0001-a mm:swap_x "MISTAKE RARE" slow
	mutants
	is 1 "$status"
	has "NOT CAUGHT: 4 of 5"
}

@test "with a delay: a series that fails with it once" {
	mutant 0001-a mm:swap_x MISTAKE slow UNSTABLE
	mutants
	is 1 "$status"
	has "CLEAN SERIES FAILS: passes 4 of 5"
}

@test "two with the same delay and test share the clean boots" {
	mutant 0001-a mm:swap_x MISTAKE slow
	mutant 0002-b mm:swap_x MISTAKE slow
	mutants
	is 0 "$status"
	is 15 "$(grep -c ^boot "$tmp/log")"
}

@test "what was done is not done again, unless something changed" {
	mutant 0001-a mm:swap_x MISTAKE
	mutants
	mutants
	is 1 "$(grep -c ^boot "$tmp/log")"
	has "1 of 1 caught"
	printf 'mm:swap_z\tv1\t1\n' >> "$repo/selftests/toy/plan"
	mutants
	is 2 "$(grep -c ^boot "$tmp/log")"
	# another machine is a change too
	echo accel=kvm > "$tmp/accel"
	mutants
	is 3 "$(grep -c ^boot "$tmp/log")"
}

@test "what was not caught is tried again" {
	mutant 0001-a mm:swap_x nothing
	mutants
	is 1 "$status"
	mutants
	is 1 "$status"
	is 2 "$(grep -c ^boot "$tmp/log")"
}

@test "a mutant that is not there: exit status 2 and its name" {
	mutant 0001-a mm:swap_x MISTAKE
	mutants 0009-z
	is 2 "$status"
	has 0009-z
}

@test "a known failure that fails, with its line: ok" {
	echo "MISTAKE ASSERTION" > "$topic/known/slow.patch"
	known "mm:swap_x swap_x.one" slow.patch "swap slot 0:7" why -
	is 0 "$status"
	has "ok 1 - mm:swap_x"
	grep -qx "boot mm:swap_x v2" "$tmp/log"
}

@test "one that passes, or fails without its line: not ok" {
	echo ASSERTION > "$topic/known/slow.patch"
	known "mm:swap_x swap_x.one" slow.patch "swap slot 0:7" why -
	is 1 "$status"
	has "not ok 1"
	is 1 "$(grep -c ^boot "$tmp/log")"
	echo MISTAKE > "$topic/known/slow.patch"
	known "mm:swap_x swap_x.one" slow.patch "swap slot 0:7" why -
	is 1 "$status"
	has "not ok 1"
}

@test "one that needs no help boots the stock kernel" {
	known "mm:swap_y swap_x.one" - "swap slot" why -
	is 1 "$status"
	grep -qx "boot mm:swap_y v1" "$tmp/log"
	run grep -c "applied .*patch" "$tmp/log"
	is 0 "$output"
}

@test "where the console alone tells, an oops ends the boot" {
	mutant 0001-a "console kernel BUG at" "ASSERTION"
	mutant 0002-b "mm:swap_x swap_x.one" MISTAKE
	stand_in test-boot 'mkdir -p "$4"; echo "$TESTS $(cat "$1/boot-parameters")" >> "$tmp/log"
		printf "%s\n" "kernel BUG at mm/x.c:1!" "Kernel panic - not syncing: Fatal exception" > "$4/console.log"
		touch "$4/ktap.log"; echo "{}" > "$4/verdict.json"'
	mutants
	is 1 "$status"
	has "1 of 2 caught"
	is "mm:swap_x oops=panic" "$(grep -m 1 oops "$tmp/log" | xargs)"
	is 1 "$(grep -c oops=panic "$tmp/log")"
}

@test "a warning that panics ends the boot, and is what was named" {
	mutant 0001-a "console WARNING: .*swap_x" "ASSERTION"
	mutant 0002-b "mm:swap_x swap_x.one" MISTAKE
	stand_in test-boot 'mkdir -p "$4"; echo "$TESTS $(cat "$1/boot-parameters")" >> "$tmp/log"
		printf "%s\n" "WARNING: CPU: 0 PID: 1 at mm/x.c:1 swap_x+0x1/0x2" "Kernel panic - not syncing: kernel: panic_on_warn set ..." > "$4/console.log"
		touch "$4/ktap.log"; echo "{}" > "$4/verdict.json"'
	mutants
	is 1 "$status"
	has "1 of 2 caught"
}

@test "the real mutants and known failures name what is there" {
	local from f key
	cd "$top"
	for from in selftests/*/*/; do
		export BASE=${from%/}
		BASE=${BASE##*/}
		for f in "$from"mutants/*.patch; do
			[ -e "$f" ] || continue
			for key in Mistake Kernel Cgroup Caught-by; do
				grep -q "^$key: ." "$f" || { echo "$f: no $key"; return 1; }
			done
			key=$(sed -n 's/^With: //p' "$f")
			[ -z "$key" ] || [ -f "${from}mutants/delays/$key" ] || { echo "$f: $key"; return 1; }
			key=$(sed -n 's/^Program: //p; s/^Caught-by: \([a-z]*:[a-z0-9_]*\).*/\1/p' "$f" | head -n 1)
			ci/list.sh plan | awk -v p="$key" -v c="$(sed -n 's/^Cgroup: //p' "$f")" '$1 == p && $2 == c { n++ } END { exit !n }' ||
				{ echo "$f: $key is not in the plan for it"; return 1; }
		done
		[ -e "${from}known-failures" ] || continue
		while IFS=$'\t' read -r test with line cause link; do
			[ -n "$line" ] && [ -n "$cause" ] && [ -n "$link" ] || { echo "$test"; return 1; }
			[ "$with" = - ] || [ -f "${from}known/$with" ] || { echo "$with"; return 1; }
			grep -q "^${test%% *}[[:space:]]" <<< "$(ci/list.sh plan)" || { echo "$test is not in the plan"; return 1; }
		done < <(grep -v '^#' "${from}known-failures")
	done
	# what runs after the series only is known to fail before
	BASE=6.12
	for key in $(ci/list.sh plan | awk '/after-only/ { print $1 }'); do
		grep -qP "^$key( [^\t]*)?\t" selftests/*/6.12/known-failures || { echo "$key"; return 1; }
	done
}
