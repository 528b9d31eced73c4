# SPDX-License-Identifier: BSD-2-Clause
# shunt: everything is built into $(B); see `make help`.

VERSION := 0.1.0
PREFIX  ?= /usr
DESTDIR ?=
B       ?= build
V       ?= 0
# Override MARCH when the binaries go to other machines, e.g. MARCH=x86-64-v2.
MARCH   ?= native
CC      ?= cc
ifeq ($(origin CC),default)
CC      := gcc
endif
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/bin/bpftool) bpftool)

ifeq ($(V),0)
Q   := @
say  = @printf '  %-8s%s\n' $(1) $(2)
else
Q   :=
say  = @:
endif

# Only lib/model needs LAPACK, so only what uses it is linked with it.
MODEL_PKGS := lapacke
PKGS     := libxdp libbpf liburcu-qsbr libmnl libnftnl yaml-0.1 jansson libpcap libcap-ng libseccomp
WARN     := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	    -Wpointer-arith -Wno-missing-field-initializers
OPT      ?= -O3 -g -march=$(MARCH) -fno-strict-aliasing
SAN      ?=
# `make deps` may still have to install these libraries: asked for only when a rule needs them.
PKGFLAGS  = $(shell pkg-config --cflags $(PKGS) $(MODEL_PKGS) 2>/dev/null)
CPPFLAGS += -D_GNU_SOURCE -DSHUNT_VERSION=\"$(VERSION)\" -Ilib -Ibpf -I$(B)/bpf
CFLAGS   += -std=gnu11 $(OPT) $(WARN) $(SAN) -pthread
LDLIBS    = $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lm
MODEL_LIBS = $(shell pkg-config --libs $(MODEL_PKGS) 2>/dev/null)
LDFLAGS  += $(SAN) -pthread

# Lists come from the folders, so that a new file is one file.
# Those of bpf/ are shuntd's, and installed; those of bpf/tools/ only measure and test.
BPF_SRC   := $(wildcard bpf/*.bpf.c bpf/tools/*.bpf.c)
BPF_HDR   := $(wildcard bpf/*.h bpf/*/*.h)
BPF_OBJ   := $(BPF_SRC:bpf/%.c=$(B)/bpf/%.o)
SKEL      := $(BPF_SRC:bpf/%.bpf.c=$(B)/bpf/%.skel.h)
LIB_SRC   := $(wildcard lib/*/*.c)
LIB_OBJ   := $(LIB_SRC:%.c=$(B)/%.o)
LIB       := $(B)/libshunt.a
# A program is a folder of user/ with a main.c, or one of tools/ that holds C files.
PROG_DIRS := $(patsubst %/,%,$(sort $(dir $(wildcard user/*/main.c tools/*/*.c))))
PROGS     := $(notdir $(PROG_DIRS))
BINS      := $(PROGS:%=$(B)/bin/%)
# A folder of tools/ with a __main__.py is a program in Python, started by a script.
PY_PROGS  := $(patsubst tools/%/__main__.py,%,$(wildcard tools/*/__main__.py))
PY_BINS   := $(PY_PROGS:%=$(B)/bin/%)
MAN_SRC   := $(wildcard user/man/*.scd)
MAN       := $(MAN_SRC:user/man/%.scd=$(B)/man/%)
UNIT_SRC  := $(wildcard tests/unit/*.c)
UNIT_OBJ  := $(UNIT_SRC:%.c=$(B)/%.o)
UNIT      := $(B)/tests/unit/shunt-unit
# The programs' own files, but for main, are tested with the library.
USER_OBJ  := $(patsubst %.c,$(B)/%.o,$(filter-out %/main.c,$(wildcard user/*/*.c)))

.PHONY: all
all: $(BPF_OBJ) $(LIB) $(BINS) $(PY_BINS) $(MAN) compile_commands.json ## build everything into build/

# --- BPF objects and their skeletons ------------------------------------------------------------
MULTIARCH  = $(shell $(CC) -print-multiarch 2>/dev/null)
BPF_CFLAGS = -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -Werror -Wno-unused-parameter \
	     -Ibpf -I/usr/include/$(MULTIARCH) -DSHUNT_STEER_VERSION=0x$(STEER_VERSION)
# What tells a steering program of another version: a number made of its source.
STEER_VERSION = $(shell cat bpf/shunt_steer* bpf/steer/* bpf/shunt_tables.h | sha256sum | cut -c1-15)

$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(BPF_HDR) Makefile
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(B)/bpf/%.skel.h: $(B)/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(notdir $*) > $@.tmp && mv $@.tmp $@

# Make would remove them as intermediates, and build again what includes them.
.SECONDARY: $(SKEL)

# --- C ------------------------------------------------------------------------------------------
$(B)/%.o: %.c Makefile | $(SKEL)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(PKGFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(LIB): $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

define prog_rule
$(B)/bin/$(notdir $(1)): $(patsubst %.c,$(B)/%.o,$(wildcard $(1)/*.c)) $(LIB)
	$$(call say,LD,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(CC) $$(LDFLAGS) -o $$@ $$^ $$(LDLIBS) $(if $(filter %/shunt-model,$(1)),$$(MODEL_LIBS))
endef
$(foreach d,$(PROG_DIRS),$(eval $(call prog_rule,$(d))))

$(PY_BINS): $(B)/bin/%: Makefile
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)printf '#!/bin/sh\nB=%s exec /usr/bin/python3 -B "%s" "$$@"\n' '$(abspath $(B))' '$(CURDIR)/tools/$*' > $@.tmp
	$(Q)chmod 755 $@.tmp && mv $@.tmp $@

# A test's own code, none of what it tests: compiled in less time.
$(UNIT_OBJ): OPT = -O1 -g -march=$(MARCH) -fno-strict-aliasing

$(UNIT): $(UNIT_OBJ) $(USER_OBJ) $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(MODEL_LIBS) -lcriterion

# A shuntd whose steering program is another than that of bin/shuntd, as after an upgrade: the same
# source made for size.
OTHER := $(B)/tests/other
STACK := $(B)/tests/torture/stack.bpf.o
$(OTHER)/bpf/%.bpf.o: BPF_CFLAGS += -Os
$(OTHER)/bpf/%.bpf.o: bpf/%.bpf.c $(BPF_HDR) Makefile
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(OTHER)/bpf/%.skel.h: $(OTHER)/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(notdir $*) > $@.tmp && mv $@.tmp $@

$(OTHER)/xdp_program.o: lib/xdp/program.c Makefile \
		$(OTHER)/bpf/shunt_steer.skel.h $(OTHER)/bpf/shunt_steer_tag.skel.h
	$(call say,CC,$@)
	$(Q)$(CC) -I$(OTHER)/bpf $(CPPFLAGS) $(PKGFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(OTHER)/shuntd: $(patsubst %.c,$(B)/%.o,$(wildcard user/shuntd/*.c)) $(OTHER)/xdp_program.o $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# The threaded tests alone, without Criterion (tests/tsan/criterion/criterion.h says why).
RACE_SRC := $(wildcard tests/unit/*_rcu.c) tests/tsan/main.c
$(B)/shunt-race: CPPFLAGS := -Itests/tsan $(CPPFLAGS)
$(B)/shunt-race: $(RACE_SRC:%.c=$(B)/%.o) $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Each fuzz target twice: with libFuzzer, which clang brings, and with a main that replays files.
# What targets share, and the rigs of the unit tests that they use, without Criterion.
FUZZ_SRC    := $(wildcard tests/fuzz/fuzz_*.c)
FUZZERS     := $(FUZZ_SRC:tests/fuzz/%.c=$(B)/fuzzers/%)
REPLAYS     := $(FUZZ_SRC:%.c=$(B)/%)
FUZZ_HELP   := $(filter-out tests/fuzz/replay.c $(FUZZ_SRC),$(wildcard tests/fuzz/*.c))
FUZZ_RIGS   := $(addprefix $(B)/tests/fuzz/rig/,steer_rig.o steer_frame.o steer_naive.o)
FUZZ_LIB    := $(B)/tests/fuzz/help.a

$(B)/tests/fuzz/%.o: CPPFLAGS := -Itests/fuzz -Itests/unit $(CPPFLAGS)
$(FUZZ_RIGS): $(B)/tests/fuzz/rig/%.o: tests/unit/%.c Makefile | $(SKEL)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(PKGFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(FUZZ_LIB): $(FUZZ_HELP:%.c=$(B)/%.o) $(FUZZ_RIGS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(FUZZERS): $(B)/fuzzers/%: $(B)/tests/fuzz/%.o $(FUZZ_LIB) $(LIB)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

$(REPLAYS): %: %.o $(B)/tests/fuzz/replay.o $(FUZZ_LIB) $(LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/man/%: user/man/%.scd
	$(call say,MAN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)scdoc < $< > $@.tmp && mv $@.tmp $@

compile_commands.json: Makefile $(LIB_SRC) $(UNIT_SRC)
	$(Q)tests/lint/compile-commands '$(CC) $(CPPFLAGS) $(PKGFLAGS) $(CFLAGS)' > $@.tmp && mv $@.tmp $@

$(B)/tests/vm/idler: %: %.o
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/tests/%.bpf.o: tests/%.bpf.c $(wildcard bpf/*.bpf.c) $(BPF_HDR)
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

-include $(shell find $(B) -name '*.d' 2>/dev/null)

FRAMES ?= 1000000
SEED   ?= 1
SECONDS_ ?= 600

# --- what one runs ------------------------------------------------------------------------------
# What a target builds by itself, it builds on all processors.
SUB = --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
.PHONY: deps demo demo-router test test-long build-vm vm-tests test-vm bench-vm bench-vm-auto bench-vm-flows unit e2e bench bench-auto report torture pictures parity lint asan asan-tests tsan tsan-tests fuzz fuzzers fuzz-coverage format install uninstall clean help
deps: ## install the Debian packages that are missing (root)
	$(Q)tests/deps

demo: deps ## a lab, real traffic, shunt beside the kernel stack, two tables (root)
	$(Q)$(MAKE) $(SUB) all
	$(Q)$(B)/bin/shunt-bench --short --no-figures --out $(B)/demo \
		--only 'kernel bridge,kernel ip_forward,user spin,lane xdp,lane auto' compare

demo-router: build-vm ## a router of a bridge, a VLAN and nftables in QEMU, shunt beside the kernel: shunt-router(7) (root)
	$(Q)B=$(VM_B) BENCH_DRIVERS=$${BENCH_DRIVERS:-virtio} tests/vm/bench vm.kernel.ip_forward.router \
		vm.kernel.flowtable.router vm.shunt.route.router

test: deps ## lint and tests, every feature once, eleven minutes on two processors (root)
	$(Q)$(MAKE) $(SUB) all $(UNIT) $(OTHER)/shuntd $(STACK)
	$(Q)tests/run

test-long: deps ## all tests that there are, on every guest that they are for (root)
	$(Q)$(MAKE) $(SUB) all $(UNIT) $(OTHER)/shuntd $(STACK)
	$(Q)tests/run --long

unit: all $(UNIT) ## the unit tests alone
	$(Q)$(UNIT) --quiet

# An emulated processor has no AVX-512: what runs in the guest is built for one that it has.
VM_B     := build/vm
build-vm: deps
	$(Q)$(MAKE) $(SUB) B=$(VM_B) MARCH=x86-64-v3 all \
		$(addprefix $(VM_B)/tests/,other/shuntd vm/idler vm/napi.bpf.o torture/stack.bpf.o)

# What the suite vm runs: without most programs that only measure.
vm-tests:
	$(Q)$(MAKE) $(SUB) B=$(VM_B) MARCH=x86-64-v3 $(BPF_OBJ:$(B)/%=$(VM_B)/%) \
		$(addprefix $(VM_B)/,bin/shuntd bin/shuntctl bin/shunt-gen tests/other/shuntd \
			tests/vm/idler tests/torture/stack.bpf.o)

test-vm: deps ## the tests on drivers with zero-copy, in QEMU
	$(Q)tests/run vm

bench-vm: build-vm ## instructions a forwarded packet takes on zero-copy drivers, in QEMU
	$(Q)B=$(VM_B) tests/vm/bench

bench-vm-auto: build-vm ## the same of guests: igb, virtio_net, Linux 6.1, 6.12, newest, in instructions; fails where slower
	$(Q)B=$(VM_B) tests/vm/bench --auto

bench-vm-flows: build-vm ## the same of connections under a firewall: a million in turn, and new ones (4 GB a guest)
	$(Q)B=$(VM_B) tests/vm/bench --flows

torture: deps ## random faults under load for SECONDS_ (600), from SEED; a table of what each cost (root)
	$(Q)$(MAKE) $(SUB) all $(STACK)
	$(Q)tools/torture --seconds $(SECONDS_) $(if $(filter command line environment,$(origin SEED)),--seed $(SEED))

bench: deps ## parts in memory, written to build/bench.json too, then compare on veth, five runs (root)
	$(Q)$(MAKE) $(SUB) all
	$(Q)taskset -c 1 $(B)/bin/shunt-membench --json $(B)/bench.json all
	$(Q)$(B)/bin/shunt-bench --short --runs 5 --out $(B)/bench compare

bench-auto: deps ## lane auto beside the kernel on what the lab can build, 2 to 5 min; fails where slower (root)
	$(Q)$(MAKE) $(SUB) all
	$(Q)PYTHONPATH=tools tools/lab run --static-neigh /usr/bin/python3 -B tests/bench/bench_auto.py

# A picture is drawn from the text beside it: .dot by graphviz, .gp by gnuplot. graphviz is wanted here alone.
PICTURES := .github/pictures
pictures: ## draw the SVG files of the READMEs again (graphviz, gnuplot)
	$(Q)for f in $(PICTURES)/*.dot; do dot -Tsvg "$$f" > "$${f%.dot}.svg" || exit 1; done
	$(Q)for f in $(PICTURES)/*.gp; do gnuplot "$$f" > "$${f%.gp}.svg" || exit 1; done
	$(Q)sed -i '1a <!-- SPDX-License-Identifier: BSD-2-Clause -->' $(PICTURES)/*.svg

report: deps ## all experiments in shortened form, in build/report/report.html (root)
	$(Q)$(MAKE) $(SUB) all
	$(Q)$(B)/bin/shunt-bench --short --out $(B)/report all

ASAN := B=build/asan OPT='-Og -g1 -fno-omit-frame-pointer -march=$(MARCH) -fno-strict-aliasing' \
	SAN='-fsanitize=address,undefined -fno-sanitize-recover=undefined'
ASAN_TESTS := build/asan/tests/unit/shunt-unit $(REPLAYS:$(B)/%=build/asan/%)

asan: ## everything again with address and undefined-behaviour sanitizers, in build/asan
	$(Q)$(MAKE) $(SUB) $(ASAN) all $(ASAN_TESTS)

# What the suites asan and fuzz run, without the programs.
asan-tests:
	$(Q)$(MAKE) $(SUB) $(ASAN) $(ASAN_TESTS)

tsan: deps ## lookups while tables change, under ThreadSanitizer, in build/tsan
	$(Q)tests/run tsan

tsan-tests:
	$(Q)$(MAKE) $(SUB) B=build/tsan OPT='-O1 -g -fno-omit-frame-pointer -march=$(MARCH) -fno-strict-aliasing' \
		SAN='-fsanitize=thread' build/tsan/shunt-race

parity: deps ## a million frames to the kernel and to shunt, what leaves compared byte by byte (root)
	$(Q)$(MAKE) $(SUB) all
	$(Q)tools/parity --frames $(FRAMES) --seed $(SEED)

fuzzers:
	$(Q)$(MAKE) $(SUB) B=build/fuzz CC=$(CLANG) \
		OPT='-O1 -g -fno-omit-frame-pointer -march=$(MARCH) -fno-strict-aliasing -Wno-gnu' \
		SAN='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined' \
		$(FUZZERS:$(B)/%=build/fuzz/%)

# The replays again, with the counters of lines and regions that tests/fuzz/coverage reads.
fuzz-coverage:
	$(Q)$(MAKE) $(SUB) B=build/cov CC=$(CLANG) \
		OPT='-O1 -g -march=$(MARCH) -fno-strict-aliasing -Wno-gnu' \
		SAN='-fprofile-instr-generate -fcoverage-mapping' $(REPLAYS:$(B)/%=build/cov/%)

fuzz: SECONDS_ = 1200
fuzz: deps ## search with libFuzzer for inputs that break something, SECONDS_ (1200) each of TARGETS; a table (root)
	$(Q)$(MAKE) $(SUB) fuzzers
	$(Q)$(MAKE) $(SUB) fuzz-coverage
	$(Q)tests/fuzz/run $(SECONDS_) $(TARGETS)

lint: deps ## C, shell and Python files, layers, manuals, licences
	$(Q)$(MAKE) $(SUB) all
	$(Q)tests/run --long lint

format: ## rewrite the C files in the project's format
	$(Q)git ls-files '*.c' '*.h' | xargs clang-format -i

# Programs with a manual; what only shunt-bench starts is in lib/shunt.
install: all ## install to $(DESTDIR)$(PREFIX)
	$(Q)install -d $(DESTDIR)$(PREFIX)/sbin $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/bpf \
		$(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/shunt
	$(Q)install -d $(DESTDIR)$(PREFIX)/lib/shunt
	$(Q)for p in $(PROGS); do case $$p in shuntd) d=sbin;; shunt-parity) continue;; \
		shunt-devmap|shunt-membench) d=lib/shunt;; *) d=bin;; esac; \
		install -m 755 $(B)/bin/$$p $(DESTDIR)$(PREFIX)/$$d/ || exit 1; done
	$(Q)install -m 755 tools/lab $(DESTDIR)$(PREFIX)/lib/shunt/
	$(Q)for p in $(PY_PROGS); do install -d $(DESTDIR)$(PREFIX)/lib/shunt/$$p; \
		install -m 644 tools/$$p/*.py tools/$$p/*.json $(DESTDIR)$(PREFIX)/lib/shunt/$$p/; \
		printf '#!/bin/sh\nexec /usr/bin/python3 -B "%s" "$$@"\n' "$(PREFIX)/lib/shunt/$$p" \
			> $(DESTDIR)$(PREFIX)/bin/$$p; chmod 755 $(DESTDIR)$(PREFIX)/bin/$$p || exit 1; done
	$(Q)install -m 644 $(B)/bpf/*.bpf.o $(DESTDIR)$(PREFIX)/lib/bpf/
	$(Q)install -m 644 $(LIB) $(DESTDIR)$(PREFIX)/lib/
	$(Q)for d in lib/*/; do install -d $(DESTDIR)$(PREFIX)/include/shunt/$$(basename $$d); \
		for h in $$d*.h; do [ ! -f "$$h" ] || install -m 644 $$h $(DESTDIR)$(PREFIX)/include/shunt/$$(basename $$d)/; done; done
	$(Q)for h in $(filter-out %.bpf.h,$(wildcard bpf/*.h)); do install -m 644 $$h $(DESTDIR)$(PREFIX)/include/shunt/; done
	$(Q)printf 'Name: libshunt\nDescription: AF_XDP packet forwarding library\nVersion: %s\nRequires: %s\nLibs: -L%s/lib -lshunt -lm\nCflags: -I%s/include/shunt\n' \
		'$(VERSION)' '$(PKGS)' '$(PREFIX)' '$(PREFIX)' > $(DESTDIR)$(PREFIX)/lib/pkgconfig/shunt.pc
	$(Q)printf 'Name: libshunt-model\nDescription: the part of libshunt in model/, which needs LAPACK\nVersion: %s\nRequires: shunt %s\n' \
		'$(VERSION)' '$(MODEL_PKGS)' > $(DESTDIR)$(PREFIX)/lib/pkgconfig/shunt-model.pc
	$(Q)install -D -m 644 user/shuntd.yaml $(DESTDIR)$(PREFIX)/share/doc/shunt/shuntd.yaml
	$(Q)install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	$(Q)sed 's|/usr/\(s*bin\)/|$(PREFIX)/\1/|' user/shuntd.service > $(DESTDIR)$(PREFIX)/lib/systemd/system/shuntd.service
	$(Q)install -D -m 644 user/shunt.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/shunt.conf
	$(Q)for m in $(MAN); do s=$${m##*.}; install -D -m 644 $$m $(DESTDIR)$(PREFIX)/share/man/man$$s/$$(basename $$m) || exit 1; done

uninstall: ## remove what install put there
	$(Q)rm -f $(PROGS:%=$(DESTDIR)$(PREFIX)/bin/%) $(PY_PROGS:%=$(DESTDIR)$(PREFIX)/bin/%) $(DESTDIR)$(PREFIX)/sbin/shuntd \
		$(patsubst bpf/%.c,$(DESTDIR)$(PREFIX)/lib/bpf/%.o,$(wildcard bpf/*.bpf.c)) $(DESTDIR)$(PREFIX)/lib/libshunt.a \
		$(DESTDIR)$(PREFIX)/lib/pkgconfig/shunt.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig/shunt-model.pc
	$(Q)for m in $(MAN); do rm -f $(DESTDIR)$(PREFIX)/share/man/man$${m##*.}/$$(basename $$m); done
	$(Q)rm -f $(DESTDIR)$(PREFIX)/lib/systemd/system/shuntd.service $(DESTDIR)$(PREFIX)/lib/sysusers.d/shunt.conf
	$(Q)rm -rf $(DESTDIR)$(PREFIX)/include/shunt $(DESTDIR)$(PREFIX)/share/doc/shunt $(DESTDIR)$(PREFIX)/lib/shunt

clean: ## remove build/
	$(Q)rm -rf build compile_commands.json

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | sort | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'
	@echo "  V=1 shows the commands; B=DIR builds elsewhere; MARCH, CC, CLANG, PREFIX, DESTDIR as usual."
