#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# prerequisites.sh with a rule of a toy topic. The rules of the real topics are tried
# on real files by the bats beside them.

load common

setup()
{
	repo
	export BASE=9.9
	rules=$repo/selftests/toy/9.9/prerequisites tree=$tmp/tree
	mkdir -p "$rules" "$tree/mm"
	echo 9.9/toy/0001-one.patch > "$repo/series/9.9"
	rule locked 'mm/a.c put()' put
	printf 'void a(void)\n{\n\tlock();\n\tput();\n}\n' > "$tree/mm/a.c"
}

# rule NAME FILES CALLS: put() must come after lock()
rule()
{
	cat > "$rules/$1.cocci" <<-EOF
		// Files: $2
		// Calls: $3
		@bare exists@
		identifier fn;
		position p;
		@@
		  fn(...)
		  {
		  ... when != lock()
		  put@p()
		  ... when any
		  }

		@script:python@
		fn << bare.fn;
		p << bare.p;
		@@
		print(f"{p[0].file}: {fn}() is not locked: all is lost")
	EOF
}

check()
{
	run -"$1" "$repo/ci/prerequisites.sh" "$tree"
}

@test "a tree that has all of it is accepted without a word, and not touched" {
	before=$(digest "$tree")
	check 0
	is "" "$output"
	is "$before" "$(digest "$tree")"
}

@test "one that has not is refused in one line" {
	sed -i /lock/d "$tree/mm/a.c"
	check 1
	is "prerequisites.sh: mm/a.c: a() is not locked: all is lost" "$output"
}

@test "what is only spoken of in a comment does not count" {
	sed -i 's|lock();|/* & */|' "$tree/mm/a.c"
	check 1
}

@test "a caller in a file that had none" {
	printf 'void b(void)\n{\n\tput();\n}\n' > "$tree/mm/b.c"
	check 1
	has "mm/b.c: b()"
}

@test "a caller that spatch cannot parse is not passed over" {
	printf '%s\n' 'void x(void)' '{' 'DECLARE_BITMAP(bits, 64) = { 0 };' 'put();' '}' >> "$tree/mm/a.c"
	check 1
	has 'mm: spatch cannot parse "put();"'
}

@test "a rule of another topic counts when that topic is asked for" {
	sed -i /lock/d "$tree/mm/a.c"
	echo 9.9/other/0001-one.patch >> "$repo/series/9.9"
	TOPIC=other check 0
	TOPIC=toy check 1
}

@test "no spatch, or one that fails: exit status 2 and the packages" {
	program spatch <<< 'echo "no Python library"; exit 255'
	check 2
	has "python3-dev"
	has "no Python library"
	rm "$tmp/bin/spatch"
	for tool in bash dirname find sort sed grep uniq; do
		ln -s "$(command -v "$tool")" "$tmp/bin/$tool"
	done
	PATH=$tmp/bin check 2
	has "install the packages coccinelle and python3-dev"
}

@test "something that is no kernel tree is a wrong call" {
	run -2 "$repo/ci/prerequisites.sh" "$tmp/nowhere"
	has "is no folder"
	rm "$tree/mm/a.c"
	check 2
	has "is not a tree for this series: it has no mm/a.c"
	run -2 "$repo/ci/prerequisites.sh"
}
