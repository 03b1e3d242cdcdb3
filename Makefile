# SPDX-License-Identifier: GPL-2.0-only
#
# The flow, as a graph over real files. Data flows one way:
#
#   source -> tree -> (patched) tree -> objects -> image -> boot -> verdict -> report
#
# `make help` lists targets and variables. Each step is a script in ci/ that
# reads top to bottom; this file only says what depends on what.

## series of the kernel: a file in series/
BASE ?= 6.12
## the kernel source in place of the distribution's package: a directory, a
## tarball, or DIR@REVISION of a git tree; it is only read
KSRC ?=
## before and after just this topic, on top of those that it builds on
TOPIC ?=
## kernel configuration: a row of kernel-config/variants
VARIANT ?= default
## before or after the series, or TOPIC
STATE ?= after
## the memory controller's hierarchy in the guest: v1 v2, or off
CGROUP ?= v2
## programs of the plan (all that it has for STATE, VARIANT and CGROUP)
TESTS ?=
## mutants (all of them)
MUTANTS ?=
## rows of check-all by name (all of them)
ROWS ?=
## auto, kvm or tcg; for make load also icount: QEMU counts instructions
ACCEL ?= auto
## the guest's CPUs
SMP ?= 4
## the guest's memory
MEM ?= 1G
## processes of a build (number of CPUs)
JOBS ?= $(shell nproc)
## the build folder
O ?= build
## as kbuild has it: a file in ci/arch/
ARCH ?= x86_64
## as kbuild has it
CROSS_COMPILE ?=
## as kbuild has it (LLVM=1: clang)
LLVM ?=
## as kbuild has it
V ?= 0

export ARCH V BASE TOPIC SMP MEM JOBS TESTS ACCEL
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
archs    := $(notdir $(wildcard ci/arch/*))
variants := $(shell awk '$$1 ~ /^[a-z]/ { print $$1 }' kernel-config/variants)

# $(call one-of,NAME,VALUES): the variable is one of the words.
one-of = $(if $(and $(filter 1,$(words $($(1)))),$(filter $($(1)),$(2))),,\
	$(error $(1)=$($(1)) is not allowed; allowed: $(2)))
# $(call matches,NAME,EXTENDED-REGEX,TEXT): it matches as a whole.
matches = $(if $(shell printf %s '$(subst ','\'',$($(1)))' | grep -xE '$(2)'),,\
	$(error $(1)=$($(1)) is not allowed; allowed: $(3)))

# A variable that nothing reads is a mistake.
given     := $(foreach v,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(v)))),$(v)))
variables := $(shell sed -n 's/^\([A-Z_]*\) [?:]=.*/\1/p' Makefile)
$(foreach v,$(filter-out $(variables) MAKEFLAGS MAKEOVERRIDES -%,$(given)),\
	$(error $(v)= is no variable of this project; allowed: $(variables)))
# Nor is one that the target does not read. Steps get those of the call that they are
# steps of.
reads-STATE   := apply build boot shell accel
reads-CGROUP  := boot boots load shell
reads-VARIANT := config build boot boots load shell accel bisect
reads-MUTANTS := mutants
reads-ROWS    := check-all
ifeq ($(MAKELEVEL),0)
$(foreach v,STATE CGROUP VARIANT MUTANTS ROWS,$(if $(filter $(v),$(given)),\
	$(foreach g,$(filter-out help,$(MAKECMDGOALS)),$(if $(filter $(g),$(reads-$(v))),,\
		$(error $(v)=$($(v)) is not for make $(g), only for: $(reads-$(v)))))))
endif

$(call one-of,BASE,$(bases))
# What the base's series consists of.
list      = $(shell BASE=$(BASE) TOPIC= ci/list.sh $(1))
topics   := $(call list,topics)
$(if $(TOPIC),$(call one-of,TOPIC,$(topics)))
planned  := $(call list,plan | awk '{ print $$1 "/" $$2 }')
programs := $(sort $(foreach p,$(planned),$(firstword $(subst /, ,$(p)))))
mutants  := $(sort $(notdir $(basename $(wildcard $(patsubst %,selftests/%/$(BASE)/mutants/*.patch,$(or $(TOPIC),$(topics)))))))
$(call one-of,VARIANT,$(variants))
$(call one-of,STATE,before after)
$(call one-of,CGROUP,v1 v2 off)
$(call one-of,ACCEL,auto kvm tcg icount)
$(call one-of,ARCH,$(archs))
$(call matches,SMP,[1-9]|[1-5][0-9]|6[0-4],a number from 1 to 64)
$(call matches,MEM,[1-9][0-9]{2}M|[1-3][0-9]{3}M|[1-4]G,a size up to 4G such as 512M or 2G)
$(call matches,JOBS,[1-9][0-9]*,a number of processes)
$(call matches,V,[012],0 1 2)
$(call matches,O,[A-Za-z0-9_./+-]+,a folder with a plain name)
$(if $(LLVM),$(call matches,LLVM,1|-[0-9]+|/.*/,1 -14 /path/to/bin/))
$(foreach t,$(TESTS),$(if $(filter $(t),$(programs)),,\
	$(error TESTS: $(t) is not in the plan; allowed: $(programs))))

$(if $(filter boot,$(MAKECMDGOALS)),$(foreach t,$(TESTS),$(if $(filter $(t)/$(CGROUP),$(planned)),,\
	$(error TESTS: $(t) is not planned for CGROUP=$(CGROUP); it is for: $(patsubst $(t)/%,%,$(filter $(t)/%,$(planned)))))))
$(foreach m,$(MUTANTS),$(if $(filter $(m),$(mutants)),,\
	$(error MUTANTS: $(m) is no mutant of $(BASE); allowed: $(mutants))))
whole   := $(filter check check-all bisect mutants known devmem coverage series-checks,$(MAKECMDGOALS))
$(if $(whole),$(if $(LLVM),$(error LLVM=$(LLVM) is not for make $(whole), only for: run and the steps)))
$(if $(filter check check-all series-checks known devmem,$(whole)),$(if $(TOPIC),$(error TOPIC=$(TOPIC) is not for make $(whole), which has all topics; try: run TOPIC=$(TOPIC))))

# A source of one's own has a folder of its own, so has each other architecture and
# compiler.
work    := $(O)/$(BASE)$(if $(filter-out x86_64,$(ARCH)),-$(ARCH))$(if $(KSRC),-ksrc)
variant := $(VARIANT)$(if $(LLVM),-llvm)
objects := $(work)/$(variant)/obj
kernel  := $(work)$(if $(TOPIC),/$(TOPIC))/$(variant)
series  := series/$(BASE)
patches := $(addprefix patches/,$(call list,patches after))
tree    := $(work)/linux
sets     = run arch/$(ARCH) $(if $(KSRC),,bases/$(BASE)) $(if $(LLVM),llvm)

# One time, not one at each use.
ifeq ($(origin SESSION),undefined)
## folder of a run (a new one in the build folder; for report, the last)
SESSION := $(O)/runs/$(if $(filter report,$(MAKECMDGOALS)),latest,$(shell date -u +%Y%m%dT%H%M%SZ))
endif

# The tree stands in one state at a time: what moves it, or needs it to stay,
# holds this lock. $(call in-state,STATE,COMMAND): move the tree, run the command.
in-state = mkdir -p $(work) && flock $(work)/lock sh -ec 'ci/apply.sh $(tree) $(1); $(2)'

on-top   = echo "  on top: $$(git --git-dir=$(tree).git log -1 --format=%s)"

# $(call test-boot,STATE): boot the kernel of that state. Two boots at once disturb each
# other no more than other load on the host would, and both see the same host speed.
test-boot = ci/test-boot.sh $(kernel)/$(1) $(work)/initramfs.cpio $(kernel)/accel-$(ACCEL) \
	$(SESSION)/$(VARIANT)-$(1)-$(CGROUP) $(CGROUP)

load-boot = TESTS=load:swap_counts ci/test-boot.sh $(kernel)/$(1) $(work)/initramfs.cpio $(kernel)/accel-$(ACCEL) \
	$(SESSION)/$(VARIANT)-$(if $(filter icount,$(ACCEL)),instructions,load)-$(1)-$(CGROUP) \
	$(CGROUP)

# An interrupt reaches the one in the background, too, which a shell would keep from it.
side-by-side = env --default-signal=INT,QUIT $(1) & other=$$!; status=0; $(2) || status=$$?; wait $$other && exit $$status

# $(call show-failed,TAP): what has failed and what was printed of it; fails.
show-failed = { ci/tap.pl $(1) | sed '$$d'; false; }

.DELETE_ON_ERROR:
.NOTPARALLEL:
.SUFFIXES:
.DEFAULT_GOAL := help

##@ The two commands

# The tests that show the point; make check runs all.
run: export NOTE := shown
run: export LEFT := $(filter-out $(or $(TESTS),$(shell BASE=$(BASE) ci/list.sh shown)) guest:% load:%,$(programs))

.PHONY: run
run: ## build before and after the series, test both, count instructions and locks, report
	+@ci/steps.sh $(SESSION) deps fetch tree \
		"build VARIANT=small STATE=before" "build VARIANT=small STATE=after" initramfs "accel VARIANT=small" \
		$(foreach c,v2 v1,"-boots VARIANT=small CGROUP=$(c)") \
		$(foreach c,v2 v1,"-load VARIANT=small ACCEL=icount SMP=1 CGROUP=$(c)") \
		"build VARIANT=lockstat STATE=before" "build VARIANT=lockstat STATE=after" \
		$(foreach c,v2 v1,"-load VARIANT=lockstat CGROUP=$(c)") \
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
tree: $(work)/tree.stamp ## unpack the kernel source

.PHONY: apply
apply: tree ## move the tree to STATE: before or after the series, or TOPIC
	@$(call in-state,$(STATE)) && $(on-top)

.PHONY: push pop
push pop: tree ## one patch up, one down
	@$(call in-state,$@) && $(on-top)

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
	@$(call side-by-side,$(call test-boot,before),$(call test-boot,after))

# Instructions are the same on a loaded host. Lock contention depends on the CPUs that
# are free: one boot after the other.
.PHONY: load
load: $(kernel)/before/image $(kernel)/after/image $(work)/initramfs.cpio $(kernel)/accel-$(ACCEL) ## count what a swap load costs, before and after
	@$(if $(filter icount,$(ACCEL)),$(call side-by-side,$(call load-boot,before),$(call load-boot,after)),\
		$(call load-boot,before) && $(call load-boot,after))

.PHONY: shell
shell: $(kernel)/$(STATE)/image $(work)/initramfs.cpio $(kernel)/accel-$(ACCEL) ## an interactive guest (leave with exit, or C-a x)
	@ci/shell.sh $(kernel)/$(STATE) $(work)/initramfs.cpio $(kernel)/accel-$(ACCEL) $(CGROUP)

.PHONY: report
report: ## the table of SESSION (the last run), also as JSON
	@ci/report.pl $(SESSION)

.PHONY: testpatch
testpatch: tree ## write the test patches of the topics, or TOPIC, from selftests/TOPIC
	@$(call in-state,before,\
		$(foreach t,$(or $(TOPIC),$(topics)),$(if $(wildcard selftests/$(t)/cgroup),\
			TOPIC=$(t) ci/apply.sh $(tree) before; ci/testpatch.sh $(tree) $(t);)))

.PHONY: clean
clean: ## remove the build folder
	rm -rf $(O)

.PHONY: help
help: ## this text
	@ci/help.sh $(MAKEFILE_LIST)

##@ Parts of the check, and what takes longer

.PHONY: check-all
check-all: ## check, and all that takes longer: the ROWS of ci/check-all.sh
	+@ci/check-all.sh $(O) $(work) $(ROWS)

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
	@mkdir -p $(work) && flock $(work)/lock ci/bisect.sh $(work) $(VARIANT) $(kernel)/accel-$(ACCEL)

.PHONY: mutants
mutants: $(work)/initramfs.cpio accel ## broken kernels must make the tests fail (MUTANTS=names)
	+@$(foreach v,$(shell sed -n 's/^Kernel: //p' selftests/*/$(BASE)/mutants/*.patch | sort -u),\
		$(MAKE) --no-print-directory config VARIANT=$(v) &&) true
	@mkdir -p $(work) && flock $(work)/lock ci/mutants.sh $(work) $(kernel)/accel-$(ACCEL) $(MUTANTS)

.PHONY: known
known: $(work)/initramfs.cpio accel ## what is known to fail on BASE must fail there
	+@$(MAKE) --no-print-directory build VARIANT=default STATE=before
	@mkdir -p $(SESSION)
	@flock $(work)/lock ci/known.sh $(work) $(kernel)/accel-$(ACCEL) \
		> $(SESSION)/known.tap || $(call show-failed,$(SESSION)/known.tap)

.PHONY: coverage
coverage: $(work)/initramfs.cpio accel ## lines and branches of the changed functions that the tests execute
	+@$(MAKE) --no-print-directory config VARIANT=gcov
	@flock $(work)/lock ci/coverage.sh $(work) $(kernel)/accel-$(ACCEL)

.PHONY: series-checks
series-checks: ## what must hold of the series and its kernels (bats)
	@mkdir -p $(SESSION) $(work)
	@WORK=$(work) TREE=$(tree) flock $(work)/lock bats --formatter tap ci/checks \
		$(foreach t,$(topics),$(wildcard selftests/$(t)/*.bats selftests/$(t)/$(BASE)/*.bats)) > $(SESSION)/series.tap || \
		$(call show-failed,$(SESSION)/series.tap)

# --- Real files ------------------------------------------------------------

.PHONY: FORCE
FORCE:

$(work)/source: FORCE
	@ci/fetch.sh "$(BASE)" "$(KSRC)" $@

$(work)/tree.stamp: $(work)/source
	@flock $(work)/lock ci/unpack.sh $< $(tree)
	@TOPIC= ci/prerequisites.sh $(tree)
	@touch $@

fragments = $(wildcard kernel-config/* ci/bases/$(BASE))

$(objects)/.config: $(work)/tree.stamp $(fragments)
	@$(call in-state,before,ci/config.sh $(VARIANT) $(tree) $(objects))

# All states come from one tree and one object folder, so that the second is
# an incremental build; the products stand apart.
build = $(call in-state,$(1),ci/build.sh $(tree) $(objects) $(@D) variant=$(variant) state=$(1) topic=$(TOPIC))

$(kernel)/before/image: $(objects)/.config $(if $(TOPIC),$(series) $(patches))
	@$(call build,before)

$(kernel)/after/image: $(objects)/.config $(series) $(patches)
	@$(call build,after)

# The tests come with the series; the same programs run on both kernels.
# Those of all topics.
$(work)/kselftest/log: $(work)/tree.stamp $(series) $(patches) $(wildcard selftests/plan selftests/*/plan selftests/guest/programs/* selftests/*/local/* bench/load/*)
	@export TOPIC=; $(call in-state,after,ci/selftests.sh $(tree) $(work)/headers $(@D))

$(work)/initramfs.cpio: $(work)/kselftest/log selftests/guest/init selftests/guest/run-tests
	@ci/initramfs.sh $(tree) $(work)/kselftest $@

# Order-only: the choice is made once, by the first kernel and guest there are.
$(kernel)/accel-$(ACCEL): | $(kernel)/$(STATE)/image $(work)/initramfs.cpio
	@ci/accel.sh $(kernel)/$(STATE) $(work)/initramfs.cpio $(ACCEL) $@

# What is a topic's own.
include $(wildcard $(patsubst %,selftests/%/targets.mk,$(topics)))
