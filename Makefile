# SPDX-License-Identifier: GPL-2.0-only
#
# The flow, as a graph over real files. Data flows one way:
#
#   source -> tree -> (patched) tree -> objects -> image -> boot -> verdict -> report
#
# `make help` lists targets and variables. Each step is a script in ci/ that
# reads top to bottom; this file only says what depends on what.

BASE    ?= 6.12
KSRC    ?=
VARIANT ?= lockstat
TOPIC   ?=
STATE   ?= after
CGROUP  ?= v2
ACCEL   ?= auto
SMP     ?= 4
MEM     ?= 1G
TESTS   ?=
MUTANTS ?=
JOBS    ?= $(shell nproc)
O       ?= build
V       ?= 0

# kbuild's own names, handed on to it.
ARCH          ?= x86_64
CROSS_COMPILE ?=
LLVM          ?=
export ARCH V
ifneq ($(CROSS_COMPILE),)
export CROSS_COMPILE
else
unexport CROSS_COMPILE
endif
ifneq ($(LLVM),)
export LLVM
else
unexport LLVM
endif

bases    := $(notdir $(wildcard series/*))
variants := $(shell awk '$$1 ~ /^[a-z]/ { print $$1 }' kernel-config/variants)
mutants  := $(sort $(notdir $(basename $(wildcard selftests/mutants/*.patch))))
topics   := $(shell sed -n 's|^$(BASE)/\([^/]*\)/.*|\1|p' series/$(BASE) | uniq)
programs := $(shell awk '$$1 ~ /:/ { print $$1 }' selftests/plan)

# $(call one-of,NAME,VALUES): the variable is one of the words.
one-of = $(if $(and $(filter 1,$(words $($(1)))),$(filter $($(1)),$(2))),,\
	$(error $(1)=$($(1)) is not allowed; allowed: $(2)))
# $(call matches,NAME,EXTENDED-REGEX,TEXT): it matches as a whole.
matches = $(if $(shell printf %s '$(subst ','\'',$($(1)))' | grep -xE '$(2)'),,\
	$(error $(1)=$($(1)) is not allowed; allowed: $(3)))

$(call one-of,BASE,$(bases))
$(call one-of,VARIANT,$(variants))
$(call one-of,STATE,before after)
$(if $(TOPIC),$(call one-of,TOPIC,$(topics)))
$(call one-of,CGROUP,v1 v2 off)
$(call one-of,ACCEL,auto kvm tcg)
$(call one-of,ARCH,x86_64)
$(call matches,SMP,[1-9]|[1-5][0-9]|6[0-4],a number from 1 to 64)
$(call matches,MEM,[1-9][0-9]{2}M|[1-3][0-9]{3}M|[1-4]G,a size up to 4G such as 512M or 2G)
$(call matches,JOBS,[1-9][0-9]*,a number of processes)
$(call matches,V,[012],0 1 2)
$(call matches,O,[A-Za-z0-9_./+-]+,a folder with a plain name)
$(if $(LLVM),$(call matches,LLVM,1|-[0-9]+|/.*/,1 -14 /path/to/bin/))
$(foreach t,$(TESTS),$(if $(filter $(t),$(programs)),,\
	$(error TESTS: $(t) is not in selftests/plan; allowed: $(programs))))

$(foreach m,$(MUTANTS),$(if $(filter $(m),$(mutants)),,\
	$(error MUTANTS: $(m) is not in selftests/mutants; allowed: $(mutants))))
whole   := $(filter check check-all bisect mutants known devmem coverage series-checks,$(MAKECMDGOALS))
$(if $(whole),$(if $(LLVM),$(error LLVM=$(LLVM) is not for $(whole))))
$(if $(whole),$(if $(TOPIC),$(error TOPIC=$(TOPIC) is not for $(whole))))

# A source of one's own has a folder of its own, so has each compiler.
work    := $(O)/$(BASE)$(if $(KSRC),-ksrc)
variant := $(VARIANT)$(if $(LLVM),-llvm)
objects := $(work)/$(variant)/obj
kernel  := $(work)$(if $(TOPIC),/$(TOPIC))/$(variant)
series  := series/$(BASE)
patches := $(addprefix patches/,$(shell sed 's/[ \t]*\#.*//' $(series)))
tree    := $(work)/linux
# The map's own file in both states, for the programs of bench/native.
microdir := $(work)/micro$(if $(LLVM),-llvm)
micro    := $(foreach s,before after,$(microdir)/$(s)/mm/swap_cgroup.c)
image   := bzImage
sets     = run $(if $(KSRC),,base-$(BASE)) $(if $(LLVM),llvm)

# The folder of a run; `ci/steps.sh` makes it. One time, not one at each use.
ifeq ($(origin SESSION),undefined)
SESSION := $(O)/runs/$(if $(filter report,$(MAKECMDGOALS)),latest,$(shell date -u +%Y%m%dT%H%M%SZ))
endif

# The tree stands in one state at a time: what moves it, or needs it to stay,
# holds this lock. $(call in-state,STATE,COMMAND): move the tree, run the command.
in-state = mkdir -p $(work) && flock $(work)/lock sh -ec 'ci/apply.sh $(tree) $(series) $(1); $(2)'

# The states: without any patch and with all, or before and after one topic.
nth     = $(shell sed -n 's|^$(BASE)/\([^/]*\)/.*|\1|p' $(series) | awk '$(1)')
before := $(if $(TOPIC),$(call nth,$$1 == "$(TOPIC)" { print NR - 1; exit }),before)
after  := $(if $(TOPIC),$(call nth,$$1 == "$(TOPIC)" { n = NR } END { print n }),after)

# $(call test-boot,STATE): boot the kernel of that state. Two boots stand each
# other no more in the way than a loaded host does, and what is set side by side
# has run while the host was equally fast.
test-boot = ci/test-boot.sh $(kernel)/$(1) $(work)/initramfs.cpio $(kernel)/accel-$(ACCEL) \
	$(SESSION)/$(VARIANT)-$(1)-$(CGROUP) $(CGROUP) $(SMP) $(MEM) "$(TESTS)"

# $(call show-failed,TAP): what has failed and what was printed of it; fails.
show-failed = { awk '/^(not )?ok/ { failed = /^not/ } failed' $(1); false; }

.DELETE_ON_ERROR:
.NOTPARALLEL:
.SUFFIXES:
.DEFAULT_GOAL := help

##@ The two commands

.PHONY: run
run: ## build before and after the series, boot both, test, report
	+@ci/steps.sh $(SESSION) deps fetch tree \
		"build STATE=before" "build STATE=after" initramfs accel \
		$(foreach c,v2 v1 off,"-boots CGROUP=$(c)") \
		report

.PHONY: check
check: ## all that CI runs: host side, then default and debug kernels
	+@ci/check.sh $(SESSION)

##@ Steps

.PHONY: doctor
doctor: ## say in one line what is missing on this machine
	@ci/deps.sh check $(sets) check micro && echo "nothing is missing"

.PHONY: deps
deps: ## install what is missing (Debian, Ubuntu; needs root or sudo)
	@ci/deps.sh install $(sets)

.PHONY: fetch
fetch: $(work)/source ## find the kernel source and record its checksum
	@sed 's/^/  /' $<

.PHONY: tree
tree: $(work)/tree.stamp ## unpack it

.PHONY: apply
apply: tree ## move the tree to STATE: before or after the series, or TOPIC
	@$(call in-state,$($(STATE)))

.PHONY: push pop
push pop: tree ## one patch up, one down (quilt)
	@$(call in-state,$@)

.PHONY: config
config: $(objects)/.config ## configure VARIANT

.PHONY: build
build: $(kernel)/$(STATE)/image ## the kernel VARIANT in STATE

.PHONY: selftests
selftests: $(work)/kselftest/log ## the kselftests that the guest runs

.PHONY: initramfs
initramfs: $(work)/initramfs.cpio ## the guest's root

.PHONY: accel
accel: $(kernel)/accel-$(ACCEL) ## choose KVM or TCG by a timed boot
	@sed -n 's/^reason=/  /p' $<

.PHONY: boot
boot: $(kernel)/$(STATE)/image $(work)/initramfs.cpio $(kernel)/accel-$(ACCEL) ## boot STATE with CGROUP, run TESTS
	@$(call test-boot,$(STATE))

.PHONY: boots
boots: $(kernel)/before/image $(kernel)/after/image $(work)/initramfs.cpio $(kernel)/accel-$(ACCEL) ## boot before and after side by side
	@$(call test-boot,before) & before=$$!; after=0; \
	$(call test-boot,after) || after=$$?; \
	wait $$before && exit $$after

.PHONY: shell
shell: $(kernel)/$(STATE)/image $(work)/initramfs.cpio $(kernel)/accel-$(ACCEL) ## an interactive guest (leave with exit, or C-a x)
	@ci/shell.sh $(kernel)/$(STATE) $(work)/initramfs.cpio $(kernel)/accel-$(ACCEL) \
		$(CGROUP) $(SMP) $(MEM)

.PHONY: report
report: ## the table of SESSION (the last run), also as JSON
	@ci/report.pl $(SESSION)

.PHONY: micro
micro: $(microdir)/bin/time ## time the map alone on this machine, before and after
	@ci/micro.sh $(microdir)

.PHONY: testpatch
testpatch: tree ## write the series' test patches from selftests/cgroup
	@$(call in-state,before,ci/testpatch.sh $(tree) patches/$(BASE)/swap-cgroup)

.PHONY: clean
clean: ## remove the build folder
	rm -rf $(O)

.PHONY: help
help: ## this text
	@ci/help.sh Makefile

##@ Parts of the check, and what takes longer

.PHONY: check-all
check-all: check ## and all that takes longer: devmem, each topic, coverage, mutants, bisect
	+@$(MAKE) --no-print-directory devmem
	+@$(foreach t,$(topics),$(MAKE) --no-print-directory run TOPIC=$(t) &&) true
	+@$(MAKE) --no-print-directory boot VARIANT=debug TESTS=cgroup:test_zswap
	+@$(MAKE) --no-print-directory boot VARIANT=debug CGROUP=v1 TESTS=cgroup:test_swapoff
	+@$(MAKE) --no-print-directory coverage
	+@$(MAKE) --no-print-directory mutants
	+@$(MAKE) --no-print-directory bisect VARIANT=default

.PHONY: check-deps
check-deps: ## deps, and what the checks need besides
	@ci/deps.sh install $(sets) check micro

.PHONY: host-tests
host-tests: ## tests of the host side (bats)
	@mkdir -p $(SESSION)
	@bats --jobs 4 --formatter tap ci/tests > $(SESSION)/host.tap || $(call show-failed,$(SESSION)/host.tap)

.PHONY: bisect
bisect: $(work)/initramfs.cpio accel ## patch after patch: it builds, boots and passes
	+@$(MAKE) --no-print-directory config
	@mkdir -p $(work) && flock $(work)/lock ci/bisect.sh $(work) $(tree) $(series) $(VARIANT) \
		$(kernel)/accel-$(ACCEL) $(SMP) $(MEM) $(JOBS)

.PHONY: mutants
mutants: $(work)/initramfs.cpio accel ## broken kernels must make the tests fail (MUTANTS=names)
	+@$(foreach v,$(shell sed -n 's/^Kernel: //p' selftests/mutants/*.patch | sort -u),\
		$(MAKE) --no-print-directory config VARIANT=$(v) &&) true
	@mkdir -p $(work) && flock $(work)/lock ci/mutants.sh $(work) $(tree) $(series) $(kernel)/accel-$(ACCEL) $(SMP) $(MEM) $(JOBS) $(MUTANTS)

.PHONY: known
known: $(work)/initramfs.cpio accel ## what is known to fail on BASE must fail there
	+@$(MAKE) --no-print-directory build VARIANT=default STATE=before
	@mkdir -p $(SESSION)
	@flock $(work)/lock ci/known.sh $(BASE) $(work) $(tree) $(series) $(kernel)/accel-$(ACCEL) $(SMP) $(MEM) $(JOBS) \
		> $(SESSION)/known.tap || $(call show-failed,$(SESSION)/known.tap)

.PHONY: devmem
devmem: $(work)/initramfs.cpio accel ## exit with an overwritten page table entry, before and after
	+@$(MAKE) --no-print-directory build VARIANT=devmem STATE=before
	+@$(MAKE) --no-print-directory build VARIANT=devmem STATE=after
	@ci/devmem.sh $(work) $(kernel)/accel-$(ACCEL) $(SMP) $(MEM)

.PHONY: coverage
coverage: $(work)/initramfs.cpio accel ## lines and branches of the changed functions that the tests execute
	+@$(MAKE) --no-print-directory config VARIANT=gcov
	@flock $(work)/lock ci/coverage.sh $(work) $(tree) $(series) $(kernel)/accel-$(ACCEL) $(SMP) $(MEM) $(JOBS)

.PHONY: micro-test
micro-test: $(micro) ## the map alone under the sanitizers, with real threads
	@mkdir -p $(SESSION)
	@ci/micro-check.sh $(microdir) > $(SESSION)/micro.tap || $(call show-failed,$(SESSION)/micro.tap)

.PHONY: series-checks
series-checks: ## what must hold of the series and its kernels (bats)
	@mkdir -p $(SESSION)
	@WORK=$(work) TREE=$(tree) SERIES=$(series) bats --formatter tap ci/checks > $(SESSION)/series.tap || \
		$(call show-failed,$(SESSION)/series.tap)

# --- Real files ------------------------------------------------------------

.PHONY: FORCE
FORCE:

$(work)/source: FORCE
	@ci/fetch.sh "$(BASE)" "$(KSRC)" $@

$(work)/tree.stamp: $(work)/source
	@ci/unpack.sh $< $(tree)
	@ci/prerequisites.sh $(tree)
	@touch $@

fragments = $(wildcard kernel-config/*)

$(objects)/.config: $(work)/tree.stamp $(fragments)
	@ci/config.sh $(VARIANT) $(tree) $(objects)

# All states come from one tree and one object folder, so that the second is
# an incremental build; the products stand apart. (For a call trace, the tree
# is beside the variant.)
build = $(call in-state,$($(1)),ci/build.sh $(tree) $(objects) $(@D) $(image) $(JOBS)) \
	$(if $(TOPIC),&& ln -sfn ../linux $(work)/$(TOPIC)/linux)

$(kernel)/before/image: $(objects)/.config $(if $(TOPIC),$(series) $(patches))
	@$(call build,before)

$(kernel)/after/image: $(objects)/.config $(series) $(patches)
	@$(call build,after)

# The tests come with the series; the same programs run on both kernels.
$(work)/kselftest/log: $(work)/tree.stamp $(series) $(patches) selftests/plan $(wildcard selftests/guest/programs/* selftests/stress/*)
	@$(call in-state,after,ci/selftests.sh $(tree) $(work)/headers $(@D) $(JOBS))

$(work)/initramfs.cpio: $(work)/kselftest/log selftests/guest/init selftests/guest/run-tests
	@ci/initramfs.sh $(tree) $(work)/kselftest $@

# Order-only: the choice is made once, by the first kernel and guest there are.
$(kernel)/accel-$(ACCEL): | $(kernel)/$(STATE)/image $(work)/initramfs.cpio
	@ci/accel.sh $(kernel)/$(STATE) $(work)/initramfs.cpio $(ACCEL) $(SMP) $(MEM) $@

# The map's file and header, as the tree has them in each state.
$(microdir)/before/mm/swap_cgroup.c: $(work)/tree.stamp
	@$(call in-state,before,ci/micro-snapshot.sh $(tree) $(microdir)/before)

$(microdir)/after/mm/swap_cgroup.c: $(work)/tree.stamp $(series) $(patches)
	@$(call in-state,after,ci/micro-snapshot.sh $(tree) $(microdir)/after)

$(microdir)/bin/time: $(micro) $(wildcard bench/native/Makefile bench/native/*.[ch] bench/native/include/*/*.h)
	@$(MAKE) -s -C bench/native OUT=$(abspath $(microdir)) CC=$(if $(LLVM),clang,gcc) timing
