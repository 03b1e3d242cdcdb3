// SPDX-License-Identifier: GPL-2.0-only
// Files: mm/swapfile.c mem_cgroup_uncharge_swap()
// Calls: uncharge_swap|range_free
//
// swap_entry_range_free() alone frees slots, and it does not drop the si->lock
// that it was called with between the byte and the record.

@initialize:python@
@@
clearers = set()

def refuse(file, fn, what):
	print(f"{file}: {fn}() {what}: a slot could be used again before its record is cleared")

@clear@
identifier fn != mem_cgroup_swapin_uncharge_swap;
position p;
@@
  fn(...) { <+... mem_cgroup_uncharge_swap@p(...) ...+> }

@script:python@
fn << clear.fn;
p << clear.p;
@@
if fn == "swap_entry_range_free":
	clearers.add(fn)
else:
	refuse(p[0].file, fn, "calls mem_cgroup_uncharge_swap()")

@dropped exists@
identifier si;
position p;
@@
  swap_entry_range_free(struct swap_info_struct *si, ...)
  {
  ... when any
(
  spin_unlock@p(&si->lock)
|
  unlock_cluster_or_swap_info@p(si, ...)
)
  ... when any
  }

@script:python@
p << dropped.p;
@@
refuse(p[0].file, "swap_entry_range_free", "drops si->lock")

@finalize:python@
@@
if not clearers:
	refuse("mm/swapfile.c", "swap_entry_range_free", "does not call mem_cgroup_uncharge_swap()")
