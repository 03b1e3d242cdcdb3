#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# steps.sh: one step after the other. A script plays make: a step named
# "bad" fails, one named "slow" waits for $tmp/go.

load common

setup()
{
	program fake-make <<-EOF
		#!/bin/sh
		echo "\$*" >> "$tmp/calls"
		case "\$*" in
		*bad*)  exit 2 ;;
		*slow*) until [ -e "$tmp/go" ]; do /bin/sleep 0.05; done ;;
		esac
	EOF
	export MAKE=fake-make
	session=$tmp/runs/20260101T000000Z
}

# Whatever a test came to, the slow step does not outlive it.
teardown()
{
	touch "$tmp/go"
	/bin/sleep 0.1
}

steps()
{
	run "$top/ci/steps.sh" "$session" "$@"
}

table()
{
	cut -f1,3 "$session/steps.tsv" | tr '\t\n' ':;'
}

@test "each step is said, made and written down" {
	steps fetch "build STATE=before" report
	is 0 "$status"
	is "fetch:0;build STATE=before:0;report:0;" "$(table)"
	has "[1/3] fetch"
	has "[2/3] build STATE=before"
	has "[3/3] report"
	grep -q "build STATE=before SESSION=$session" "$tmp/calls"
	run cut -f2 "$session/steps.tsv"
	is "0 0 0" "$(echo "$output" | sed 's/^[12]$/0/' | paste -sd' ')"
}

@test "the newest run is the one called latest" {
	steps fetch
	is 20260101T000000Z "$(readlink "$tmp/runs/latest")"
	session=$tmp/runs/20260102T000000Z
	steps fetch
	is 20260102T000000Z "$(readlink "$tmp/runs/latest")"
}

@test "a step that fails stops the run, and is written down" {
	steps fetch bad report
	is 1 "$status"
	is "fetch:0;bad:2;" "$(table)"
	has "step 2 of 3, 'bad', failed"
	run grep report "$tmp/calls"
	is "" "$output"
}

@test "a step with a dash may fail: the rest is made" {
	steps -bad report
	is 0 "$status"
	is "bad:2;report:0;" "$(table)"
	run grep -- "-bad" "$tmp/calls"
	is "" "$output"
}

@test "a second run is refused while one is under way, and harms it not" {
	local first
	"$top/ci/steps.sh" "$session" slow 3>&- 2> /dev/null &
	first=$!
	await "$tmp/calls"
	run "$top/ci/steps.sh" "$tmp/runs/second" fetch
	is 1 "$status"
	has "another run is under way"
	is 20260101T000000Z "$(readlink "$tmp/runs/latest")"
	[ ! -e "$tmp/runs/second/steps.tsv" ]
	run grep fetch "$tmp/calls"
	is "" "$output"
	touch "$tmp/go"
	wait "$first"
	is "slow:0;" "$(table)"
	steps fetch
	is 0 "$status"
}

@test "what a step leaves running does not hold the lock" {
	program fake-make <<-EOF
		#!/bin/sh
		/bin/sleep 30 > /dev/null 2>&1 3>&- &
		echo \$! > "$tmp/pid"
	EOF
	steps fetch
	steps fetch
	is 0 "$status"
	kill "$(cat "$tmp/pid")"
}

@test "what steps took the last time tells how long they may take" {
	mkdir -p "$tmp/runs/20251231T000000Z"
	printf '%s\t%s\t%s\n' fetch 3 0 "build STATE=before" 61 0 report 200 1 > "$tmp/runs/20251231T000000Z/steps.tsv"
	steps fetch "build STATE=before"
	has "[1/2] fetch (0:03 the last time, 1:04 to the end)"
	has "[2/2] build STATE=before (1:01 the last time, 1:01 to the end)"
	# of a step that failed, or was never made, nothing is known
	rm -r "$tmp/runs/20260101T000000Z"
	steps fetch report
	is "[1/2] fetch (0:03 the last time)" "$(grep -F '[1/2] fetch' <<< "$output")"
	is "[2/2] report" "$(grep -F '[2/2] report' <<< "$output")"
}

@test "no steps: exit status 2 and the usage" {
	steps
	is 2 "$status"
	has "usage: steps.sh"
}
