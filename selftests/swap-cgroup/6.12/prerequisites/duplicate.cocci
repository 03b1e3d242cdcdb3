// SPDX-License-Identifier: GPL-2.0-only
// Files: mm/swapfile.c
//
// __swap_duplicate(), by which swapin reserves an entry, tests and sets the
// byte under lock_cluster_or_swap_info(), which charge moving takes.

@initialize:python@
@@
seen = False

def refuse(what):
	print(f"mm/swapfile.c: __swap_duplicate() {what}: charge moving could not exclude a swapin")

@set@
expression X;
@@
  __swap_duplicate(...) { <+... WRITE_ONCE(X->swap_map[...], ...) ...+> }

@script:python depends on set@
@@
seen = True

@bare exists@
expression X;
@@
  __swap_duplicate(...)
  {
  ... when != lock_cluster_or_swap_info(X, ...)
(
  X->swap_map[...]
|
  unlock_cluster_or_swap_info(X, ...)
)
  ... when any
  }

@script:python depends on bare@
@@
refuse("does not take lock_cluster_or_swap_info()")

@dropped exists@
expression X;
@@
  __swap_duplicate(...)
  {
  ... when any
  unlock_cluster_or_swap_info(X, ...)
  ... when any
  X->swap_map[...]
  ... when any
  }

@script:python depends on dropped@
@@
refuse("drops lock_cluster_or_swap_info() before it sets the byte")

@finalize:python@
@@
if not seen:
	refuse("is not there, or does not set the byte of a slot")
