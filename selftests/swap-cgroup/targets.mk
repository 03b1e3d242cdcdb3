# SPDX-License-Identifier: GPL-2.0-only
#
# Targets of this topic.

##@ The swap_cgroup map alone

# Its file in both states, for the programs of bench/native.
microdir := $(work)/micro$(if $(LLVM),-llvm)
micro    := $(foreach s,before after,$(microdir)/$(s)/mm/swap_cgroup.c)

.PHONY: micro
micro: $(microdir)/bin/time ## time the map alone on this machine, before and after
	@bench/native/micro.sh $(microdir)

.PHONY: micro-test
micro-test: $(micro) ## the map alone under the sanitizers, with real threads
	@mkdir -p $(SESSION)
	@bench/native/micro-check.sh $(microdir) > $(SESSION)/micro.tap || $(call show-failed,$(SESSION)/micro.tap)

.PHONY: devmem
devmem: $(work)/initramfs.cpio accel ## exit with an overwritten page table entry, before and after
	+@$(MAKE) --no-print-directory build VARIANT=devmem STATE=before
	+@$(MAKE) --no-print-directory build VARIANT=devmem STATE=after
	@selftests/swap-cgroup/devmem.sh $(work) $(kernel)/accel-$(ACCEL)

# The map's file and header, as the tree has them in each state.
$(microdir)/before/mm/swap_cgroup.c: $(work)/tree.stamp
	@export TOPIC=; $(call in-state,before,bench/native/micro-snapshot.sh $(tree) $(microdir)/before)

$(microdir)/after/mm/swap_cgroup.c: $(work)/tree.stamp $(series) $(patches)
	@export TOPIC=; $(call in-state,after,bench/native/micro-snapshot.sh $(tree) $(microdir)/after)

$(microdir)/bin/time: $(micro) $(wildcard bench/native/Makefile bench/native/*.[ch] bench/native/include/*/*.h)
	@$(MAKE) -s -C bench/native OUT=$(abspath $(microdir)) CC=$(if $(LLVM),clang,gcc) timing
