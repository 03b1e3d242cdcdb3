#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# deps.sh: what is missing, in one line, and how it is installed. apt-get is a
# script here; the PATH holds only what a test puts there.

load common

setup()
{
	local tool
	mkdir "$tmp/bin"
	for tool in bash sh env dirname id cat rm mktemp tail grep printf true; do
		ln -s "$(command -v "$tool" || echo /bin/$tool)" "$tmp/bin/$tool"
	done
}

# tools NAME...: they are there
tools()
{
	local t
	for t in "$@"; do
		ln -sf /bin/true "$tmp/bin/$t"
	done
}

deps()
{
	run env PATH="$tmp/bin" "$(command -v bash)" "$top/ci/deps.sh" "$@"
}

@test "nothing missing: exit status 0, not a word" {
	tools shellcheck bats parallel codespell
	deps check check
	is 0 "$status"
	is "" "$output"
}

@test "missing: one line with the packages, exit status 1" {
	tools bats
	deps check check
	is 1 "$status"
	is 1 "${#lines[@]}"
	has shellcheck
	has codespell
	has_not bats
}

@test "packages of several sets, in one line" {
	deps check check llvm
	is 1 "${#lines[@]}"
	has shellcheck
	has clang
}

@test "no apt-get: install only says what is missing" {
	deps install check
	is 1 "$status"
	has "missing: "
}

@test "install asks apt-get for what is missing and no more, and looks again" {
	tools bats parallel
	cat > "$tmp/bin/apt-get" <<-EOF
		#!/bin/sh
		echo "\$*" >> "$tmp/apt"
		case \$1 in
		install) cd "$tmp/bin" && : > shellcheck && : > codespell && /bin/chmod +x shellcheck codespell ;;
		esac
	EOF
	chmod +x "$tmp/bin/apt-get"
	printf '#!/bin/sh\n[ "$1" != -n ] || shift\n"$@"\n' > "$tmp/bin/sudo"
	chmod +x "$tmp/bin/sudo"
	deps install check
	is 0 "$status"
	has "installing: "
	grep -q '^install.* shellcheck' "$tmp/apt"
	run grep -w bats "$tmp/apt"
	is "" "$output"
}

@test "apt-get fails: its last words, and the packages" {
	printf '#!/bin/sh\necho "E: Unable to locate package"; exit 100\n' > "$tmp/bin/apt-get"
	printf '#!/bin/sh\n[ "$1" != -n ] || shift\n"$@"\n' > "$tmp/bin/sudo"
	chmod +x "$tmp/bin/apt-get" "$tmp/bin/sudo"
	deps install check
	is 1 "$status"
	has "E: Unable to locate package"
	has shellcheck
}

@test "an unknown set or verb: exit status 2 and its name" {
	deps check everything
	is 2 "$status"
	has "'everything'"
	deps remove check
	is 2 "$status"
	has "'remove'"
	deps check
	is 2 "$status"
	has usage
}
