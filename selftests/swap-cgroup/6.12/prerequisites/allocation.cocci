// SPDX-License-Identifier: GPL-2.0-only
// Files: mm/swapfile.c
//
// A slot's byte is tested and set without si->lock dropped in between: where
// the function takes the lock, a test comes before the byte is set.

@initialize:python@
@@
unseen = {"scan_swap_map_slots", "alloc_swap_scan_cluster", "cluster_alloc_range"}

def refuse(fn, what):
	print(f"mm/swapfile.c: {fn}() {what}: a slot could have two owners, who both write its record")

@set@
identifier fn, usage;
expression X;
position p;
@@
  fn(...)
  {
  <+...
(
  memset@p(X->swap_map + ..., usage, ...)
|
  cluster_alloc_range@p(X, ...)
)
  ...+>
  }

@script:python@
fn << set.fn;
@@
unseen.discard(fn)

@untested exists@
identifier set.fn, f;
expression set.X, O;
position set.p;
@@
  fn(...)
  {
  ... when any
  spin_lock(&X->lock)
  ... when != X->swap_map[O]
      when != cluster_scan_range(X, ...)
  f@p(...)
  ... when any
  }

@script:python depends on untested@
fn << set.fn;
@@
refuse(fn, "does not test the byte of a slot under the si->lock under which it sets it")

@finalize:python@
@@
for fn in sorted(unseen):
	refuse(fn, "is not there, or does not set the byte of a slot")
