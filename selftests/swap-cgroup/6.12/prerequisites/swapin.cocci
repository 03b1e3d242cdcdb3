// SPDX-License-Identifier: GPL-2.0-only
// Files: mm/memory.c mem_cgroup_swapin_uncharge_swap()
// Calls: uncharge_swap
//
// Swapin clears the record of an entry when swapcache_prepare() has reserved
// it: mem_cgroup_swapin_uncharge_swap() is reached by no other way.

@initialize:python@
@@
where = {"do_swap_page": "mm/memory.c", "__read_swap_cache_async": "mm/swap_state.c"}
seen = set()

def refuse(fn, what):
	print(f"{where[fn]}: {fn}() {what}: two swapins of one entry would both write its record")

// Others that call it; the name of the file is lost when the code is changed.
@other@
position p;
@@
  mem_cgroup_swapin_uncharge_swap@p(...)

@script:python@
p << other.p;
@@
where[p[0].current_element] = p[0].file

// The two forms of a reservation, with a mark where it was granted. To spatch
// "for (;;)" is a loop that can end by itself, so it becomes a goto.
@@
expression E, N;
statement S;
@@
  if (swapcache_prepare(E, N)) S
+ else swapin_reserved(E, N);

@@
expression E, N;
identifier err;
statement S;
@@
- for (;;)
+ swapin_again:
  {
  ...
  err = swapcache_prepare(E, N);
  if (!err)
- break;
+ { swapin_reserved(E, N); goto swapin_out; }
  else S
  ...
  }
+ goto swapin_again;
+ swapin_out: ;

@uncharge@
expression E, N;
position p;
@@
  mem_cgroup_swapin_uncharge_swap@p(E, N)

@script:python@
p << uncharge.p;
@@
seen.add(p[0].current_element)

@bare exists@
identifier fn;
expression uncharge.E, uncharge.N;
position uncharge.p;
@@
  fn(...)
  {
  ... when != swapin_reserved(E, N)
  mem_cgroup_swapin_uncharge_swap@p(E, N)
  ... when any
  }

@script:python@
fn << bare.fn;
@@
refuse(fn, "uncharges swap that swapcache_prepare() has not reserved")

@finalize:python@
@@
for fn in sorted(where.keys() - seen):
	refuse(fn, "is not there, or does not reserve and uncharge swap in a known form")
