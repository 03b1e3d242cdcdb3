// SPDX-License-Identifier: GPL-2.0-only
// Files: mm/swapfile.c
// Calls: range_free|swap_map_slots|alloc_swap|alloc_range|range_alloc
//
// A slot's byte is cleared and set with si->lock held: from the functions that
// take it down to those that write the byte, each is called with it.
//
// What this and the other rules cannot decide: a lock that is dropped by a function
// called with it, except for those that the rules name (cluster_reclaim_range()
// does, and looks at the slots again); a lock taken by way of another pointer;
// whether two pointers are one device. That is left to the lockdep assertions of the
// series in the debug kernel.

@initialize:python@
@@
# function: those that call it in the base that was audited
unseen = {(callee, fn) for callee, callers in {
	"swap_entry_range_free": "__try_to_reclaim_swap __swap_entries_free put_swap_folio swapcache_free_entries",
	"scan_swap_map_slots": "get_swap_pages get_swap_page_of_type",
	"cluster_alloc_swap": "scan_swap_map_slots",
	"cluster_alloc_swap_entry": "cluster_alloc_swap",
	"alloc_swap_scan_cluster": "cluster_alloc_swap_entry",
	"cluster_alloc_range": "alloc_swap_scan_cluster",
	"swap_range_alloc": "cluster_alloc_range scan_swap_map_slots",
}.items() for fn in callers.split()}
locked = {callee for callee, fn in unseen}

def refuse(fn, what):
	print(f"mm/swapfile.c: {fn}() {what}: a slot could be used again before its record is cleared")

// Where this returns true it has taken the lock.
@@
expression X, O;
statement S;
@@
  if (swap_offset_available_and_locked(X, O))
+ { spin_lock(&X->lock);
  S
+ }

@call@
identifier callee;
expression X;
position p;
@@
  callee@p(X, ...)

@script:python@
callee << call.callee;
p << call.p;
@@
cocci.include_match(callee in locked)
unseen.discard((callee, p[0].current_element))

@bare exists@
identifier fn, call.callee;
expression call.X;
position call.p;
@@
  fn(...)
  {
  ... when != spin_lock(&X->lock)
      when != X = swap_info_get_cont(...)
  callee@p(X, ...)
  ... when any
  }

@script:python@
fn << bare.fn;
callee << call.callee;
@@
if fn not in locked:
	refuse(fn, f"calls {callee}() without si->lock")

@dropped exists@
identifier fn, call.callee;
expression call.X;
position call.p;
@@
  fn(...)
  {
  ... when any
  spin_unlock(&X->lock)
  ... when != spin_lock(&X->lock)
  callee@p(X, ...)
  ... when any
  }

@script:python@
fn << dropped.fn;
callee << call.callee;
@@
refuse(fn, f"calls {callee}() after it has dropped si->lock")

@finalize:python@
@@
for callee, fn in sorted(unseen):
	refuse(fn, f"is not there, or does not call {callee}()")
