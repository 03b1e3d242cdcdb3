// SPDX-License-Identifier: GPL-2.0-only
// Files: mm/vmscan.c mem_cgroup_swapout()
// Calls: cgroup_swapout
//
// Reclaim records the cgroup of an entry while the entry is in the swap cache:
// mem_cgroup_swapout() comes before put_swap_folio().

@initialize:python@
@@
unseen = {"__remove_mapping"}

def refuse(file, fn, what):
	print(f"{file}: {fn}() {what}: the record would be written when the slot may be another's")

@swapout@
identifier fn;
expression F, E;
position p;
@@
  fn(...) { <+... mem_cgroup_swapout@p(F, E) ...+> }

@script:python@
fn << swapout.fn;
@@
unseen.discard(fn)

@put@
identifier swapout.fn;
expression swapout.F, swapout.E;
@@
  fn(...) { <+... put_swap_folio(F, E) ...+> }

@script:python depends on !put@
p << swapout.p;
fn << swapout.fn;
@@
refuse(p[0].file, fn, "does not call put_swap_folio() after mem_cgroup_swapout()")

@early exists@
identifier swapout.fn;
expression swapout.F, swapout.E;
@@
  fn(...)
  {
  ... when != mem_cgroup_swapout(F, E)
  put_swap_folio(F, E)
  ... when any
  }

@script:python depends on early@
p << swapout.p;
fn << swapout.fn;
@@
refuse(p[0].file, fn, "calls put_swap_folio() before mem_cgroup_swapout()")

@finalize:python@
@@
for fn in unseen:
	refuse("mm/vmscan.c", fn, "is not there, or does not call mem_cgroup_swapout()")
