// SPDX-License-Identifier: GPL-2.0-only
// Files: mm/swap_cgroup.c
//
// lookup_swap_cgroup_id() returns 0 when there is no map. The series extends
// this test.

@initialize:python@
@@
seen = False

@lookup@
expression C;
@@
  lookup_swap_cgroup_id(...)
  {
  <+...
(
  if (!C->map) return 0;
|
  if (unlikely(!C->map)) return 0;
)
  ...+>
  }

@script:python depends on lookup@
@@
seen = True

@finalize:python@
@@
if not seen:
	print("mm/swap_cgroup.c: lookup_swap_cgroup_id() does not test for a missing map: the series extends this test")
