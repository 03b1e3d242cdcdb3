// SPDX-License-Identifier: GPL-2.0-only
// Files: mm/swapfile.c
//
// The two helpers that take si->lock for their caller do take it.

@initialize:python@
@@
unseen = {"swap_info_get_cont", "swap_offset_available_and_locked"}

@cont@
identifier p, q;
@@
  swap_info_get_cont(..., struct swap_info_struct *q)
  {
  ...
  if (p != q) {
  ...
  if (p != NULL)
  spin_lock(&p->lock);
  }
  return p;
  }

@script:python depends on cont@
@@
unseen.discard("swap_info_get_cont")

@available@
identifier si;
symbol true;
@@
  swap_offset_available_and_locked(struct swap_info_struct *si, ...)
  {
  <+...
  spin_lock(&si->lock);
  return true;
  ...+>
  }

@bare exists@
identifier si;
symbol true;
@@
  swap_offset_available_and_locked(struct swap_info_struct *si, ...)
  {
  ... when != spin_lock(&si->lock)
  return true;
  }

@script:python depends on available && !bare@
@@
unseen.discard("swap_offset_available_and_locked")

@finalize:python@
@@
for fn in sorted(unseen):
	print(f"mm/swapfile.c: {fn}() is not there, or does not take si->lock: a slot could be used again before its record is cleared")
