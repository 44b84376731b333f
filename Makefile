# Kiln: one makefile, no configure step. `make help` lists the targets.
FLAVOUR ?= gcc
BUILD   ?= build$(if $(filter-out gcc,$(FLAVOUR)),-$(FLAVOUR))
PREFIX  ?= /usr/local
DESTDIR ?=
O       := $(BUILD)/obj
T       := $(BUILD)/tests
VERSION := $(shell sed -n 's/^\#define KILN_VERSION  *"\(.*\)"/\1/p' include/kiln/kiln.h)

# make V=1 shows whole commands
Q = $(if $(V),,@echo '  $(1) $@';)

# --- compilers and flags, by flavour
# Plain make takes $(CC) where it was given, else gcc; where there is none, cc or clang.
ifneq ($(filter command environment,$(firstword $(origin CC))),)
CC.gcc    := $(CC)
else
CC.gcc    := $(or $(shell for c in gcc cc clang; do command -v $$c >/dev/null 2>&1 && { echo $$c; break; }; done),gcc)
endif
IS_CLANG  := $(if $(filter gcc,$(FLAVOUR)),$(if $(filter gcc,$(CC.gcc)),,$(findstring clang,$(shell $(CC.gcc) --version 2>/dev/null))))
CC.clang   = clang
CC.asan    = gcc
CC.ubsan   = gcc
CC.tsan    = gcc
CC.coverage = gcc
CC.fuzz    = clang
KILN_CC   := $(or $(CC.$(FLAVOUR)),$(error unknown FLAVOUR '$(FLAVOUR)': gcc clang asan ubsan tsan coverage fuzz))

# most loops that copy or clear are over a few elements: a call of memcpy costs more
OPT.gcc     = -O2 -g $(if $(IS_CLANG),,-fno-tree-loop-distribute-patterns)
OPT.clang   = -O2 -g
OPT.asan    = -O1 -g1 -DKILN_HOSTILE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-format-truncation -Wno-maybe-uninitialized
OPT.ubsan   = -O1 -g -fsanitize=undefined -fno-sanitize-recover=all -Wno-format-truncation -Wno-maybe-uninitialized
OPT.tsan    = -O1 -g -fsanitize=thread -Wno-format-truncation -Wno-maybe-uninitialized
OPT.coverage = -O0 -g --coverage -fprofile-update=atomic -Wno-clobbered
OPT.fuzz    = -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion -Wstrict-prototypes \
       -Wmissing-prototypes -Wundef -Wvla -Wformat=2 -Wwrite-strings -Wcast-align -Wswitch \
       -Wimplicit-fallthrough -Werror
BASE_FLAGS = -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -Isrc -Iinclude -I$(BUILD)/gen \
             -fPIC -fvisibility=hidden -ffp-contract=off -fno-math-errno $(OPT.$(FLAVOUR)) $(CFLAGS)
ALL_FLAGS  = $(BASE_FLAGS) $(WARN)
LIBS       = -lm -ldl -lpthread

LIB_SRC := $(filter-out src/cli/%,$(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c)))
CLI_SRC := $(sort $(wildcard src/cli/*.c))
# The ops: ops/*.c, ops/NAME/NAME.c and ops/NAME/host_*.c (host_*.h) are compiled into the library; ops/suite*.c and ops/NAME/suite*.c drive the cases of
# tests and benchmarks; ops/NAME/test*.c are test programs; the other files of ops/NAME are kernels, embedded as text.
OP_SUITES  := $(sort $(wildcard ops/suite*.c ops/*/suite*.c))
OP_TESTS   := $(sort $(wildcard ops/*/test*.c))
OP_SRC     := $(sort $(filter-out $(OP_SUITES),$(wildcard ops/*.c)) $(foreach d,$(wildcard ops/*/),$(wildcard $d$(notdir $(d:/=)).c $dhost_*.c)))
OP_KERNELS := $(filter-out $(OP_SRC) $(OP_SUITES) $(OP_TESTS) $(wildcard ops/*/host_*.h ops/*/suite*.h ops/*/test*.h),$(sort $(wildcard ops/*/*.c ops/*/*.h)))
LIB_OBJ := $(LIB_SRC:src/%.c=$(O)/%.o) $(OP_SRC:%.c=$(O)/%.o) $(O)/gen/embed.o $(O)/gen/build_id.o
CLI_OBJ := $(CLI_SRC:src/%.c=$(O)/%.o) $(OP_SUITES:%.c=$(O)/%.o) # kiln bench runs the cases of the suites
$(O)/cli/bench_op.o $(O)/cli/tune_matmul.o $(O)/cli/tune_attention.o: BASE_FLAGS += -I.

.PHONY: all build-deps showcase-now test-now test showcase bench fuzz fuzz-diff install uninstall clean help format check-format bless deps man test-bare FORCE
all: $(BUILD)/libkiln.a $(BUILD)/libkiln.so $(BUILD)/kiln $(BUILD)/pkgconfig/kiln.pc $(BUILD)/man/man1

# --- so that programs can be built, and manuals read, with nothing but $(BUILD) in PATH: kiln --cflags, kiln --libs, man kiln-run
ABSOLUTE_BUILD = $(if $(filter /%,$(BUILD)),$(BUILD),$(CURDIR)/$(BUILD))
# one argument of a shell, whatever is in it
quote  = '$(subst ','\'',$(1))'
# the same within the replacement of sed's s|…|…|
pc      = sed -e $(call quote,s|@PREFIX@|$(1)|) -e $(call quote,s|@LIBDIR@|$(2)|) -e $(call quote,s|@INCLUDEDIR@|$(3)|) -e $(call quote,s|@LIBS@|$(4)|) \
          -e 's|@VERSION@|$(VERSION)|' tools/kiln.pc.in
$(BUILD)/pkgconfig/kiln.pc: FORCE # the folder may have been moved
	@mkdir -p $(@D)
	@$(call pc,$(CURDIR),$(ABSOLUTE_BUILD),$(CURDIR)/include,"$${libdir}/libkiln.a" $(LIBS) $(filter -fsanitize%,$(OPT.$(FLAVOUR)))) > $@.new && \
	    { cmp -s $@.new $@ && rm $@.new || mv $@.new $@; }
$(BUILD)/man/man1: $(wildcard docs/man/*.1)
	@mkdir -p $@ && cp docs/man/*.1 $@/ && touch $@

# --- the library: one relocatable object whose internal names are local, so they collide with nobody's
$(O)/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(call Q,cc  )$(KILN_CC) $(ALL_FLAGS) -MMD -MP -c $< -o $@

$(O)/ops/%.o: ops/%.c Makefile
	@mkdir -p $(@D)
	$(call Q,cc  )$(KILN_CC) $(ALL_FLAGS) -I. -MMD -MP -c $< -o $@

EMBEDDED := $(sort $(OP_KERNELS) $(wildcard lib/*.h lib/tuned.txt lib/libc/*.h include/kiln/*.h include/kiln/host/*.h docs/errors/*.md) $(addprefix src/back/cpu/,lanes.h convert.h memory.h) src/back/ctext/opencl.cl $(addprefix src/rt/channel/,word.h mailbox.h mailbox_warp.h mailbox_ring.h mailbox_call.h print_room.h))
$(BUILD)/gen/embed.c: tools/embed $(EMBEDDED)
	@mkdir -p $(@D)
	@sh tools/embed $(EMBEDDED) > $@.new && mv $@.new $@
# the build's name: a hash of all it is made from (the cache of compiled code goes by it)
MADE_FROM := $(sort $(LIB_SRC) $(OP_SRC) $(wildcard src/*.h src/*/*.h src/*/*.def src/*/*/*.h src/*/*/*.def ops/*.h ops/*.def ops/*/*.def ops/*/host_*.h) $(EMBEDDED))
$(BUILD)/gen/build_id.c: $(MADE_FROM)
	@mkdir -p $(@D)
	@printf 'extern const char embed_build_id[];\nconst char embed_build_id[] = "$(VERSION) %s";\n' \
	    "$$(cat $(MADE_FROM) | cksum | tr ' ' -)" > $@
$(O)/gen/build_id.o: $(BUILD)/gen/build_id.c
	@mkdir -p $(@D)
	$(call Q,cc  )$(KILN_CC) $(BASE_FLAGS) -w -c $< -o $@
$(O)/gen/embed.o: $(BUILD)/gen/embed.c
	@mkdir -p $(@D)
	$(call Q,cc  )$(KILN_CC) $(BASE_FLAGS) -w -c $< -o $@

$(BUILD)/libkiln-internal.a: $(LIB_OBJ)
	@rm -f $@ && ar rcs $@ $^
$(BUILD)/libkiln.a: $(LIB_OBJ)
	@rm -f $@ && ld -r -o $(O)/kiln.o $^ && objcopy --localize-hidden $(O)/kiln.o && ar rcs $@ $(O)/kiln.o
$(BUILD)/libkiln.so: $(LIB_OBJ) # stays after dlclose: its threads may still be at work
	$(call Q,link)$(KILN_CC) $(ALL_FLAGS) -shared -Wl,-soname,libkiln.so.0 -Wl,-z,nodelete $^ -o $@ $(LIBS)
	@ln -sf libkiln.so $@.0 # programs that link it from here look for that name
$(BUILD)/kiln: $(CLI_OBJ) $(BUILD)/libkiln-internal.a
	$(call Q,link)$(KILN_CC) $(ALL_FLAGS) $^ -o $@ $(LIBS)

# what reads values and files for the kiln program: tests and fuzzers look at it alone
CLI_READERS := $(addprefix $(O)/cli/,npy.o layout.o value.o infer.o infer_form.o infer_reach.o)

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d)

include tests/tests.mk
include bench/bench.mk

# --- for people
help:
	@echo 'make                      $(BUILD)/libkiln.a, libkiln.so and the kiln program'
	@echo 'make test [FLAVOUR=f]     every check this machine can run; f: gcc clang asan ubsan tsan'
	@echo "make test ONLY='unit ops' some suites alone; tests/all lists them"
	@echo 'make test-bare            README and guide on a bare Debian in a chroot, with gcc alone, then clang alone (root, debootstrap, network)'
	@echo 'make showcase             build, then run the examples on the best device present'
	@echo 'make gpu-test             every test that can use a GPU (gcc, make and a driver are enough)'
	@echo 'make matrix [FULL=1] [JSON=file]  equal bits: every kernel and math function on every device here'
	@echo 'make test-opencl          the whole corpus on the first OpenCL device (long with PoCL)'
	@echo 'make bench                compile-time and interpreter speed'
	@echo 'make bench-cpu            the cpu device beside PoCL, OpenBLAS and the interpreter'
	@echo 'make gpu-bench            ours against driver and libraries on this GPU, into bench/results'
	@echo 'make fuzz [SECONDS=60 | SAME=1] [SEED=1] [JSON=file]  libFuzzer on every reader, SECONDS each; SAME=1: the inputs that CI tries'
	@echo 'make fuzz-diff [SECONDS=60] [SEED=1]  random kernels: gcc against the interpreter and own machine code, plain and optimised'
	@echo 'make fuzz-campaign [COUNT=200000]  the same until bench/results/fuzz.json has so many; goes on where that ends (long)'
	@echo 'make fuzz-simt, fuzz-csmith [COUNT=200] [SEED=1]  lanes against plain C; programs of Csmith against gcc'
	@echo 'make gpu-fuzz [SECONDS=60] [SEED=1]  random kernels on the GPU: cuda and OpenCL, plain and optimised'
	@echo 'make sass-test, sass-fuzz  the corpus, random kernels as NVIDIA machine code without a GPU (tests/sass; needs ptxas and nvdisasm)'
	@echo 'make fuzz-proof           puts old bugs back in; the random kernels must find each (not in CI: long)'
	@echo 'make prove                all states of the mailbox protocol, up to 4 warps and 4 mailboxes (minutes)'
	@echo 'make mutants [COUNT=500] [SEED=1]  small changes of the compiler, one at a time: do the tests notice? (long)'
	@echo 'make coverage             lines and branches of the compiler that the suites reach'
	@echo 'make bless                rewrite the golden files from what the compiler says now'
	@echo 'make op-pages             the generated parts of docs/ops and of the enums of kiln/ops.h'
	@echo 'make install [PREFIX=/usr/local] [DESTDIR=…], make uninstall'
	@echo 'make python, make wheel   rewrite what bind/python generates from headers and tables; the Python package as $(BUILD)/wheel/*.whl'
	@echo 'make man                  rewrite docs/man/*.1 from the tables of the program'
	@echo 'make compile_commands.json, make format, make check-format, make clean'

deps:
	@sh tools/deps
# every command of README and guide on a bare Debian: needs root, debootstrap, the network
test-bare:
	@bash tests/install/bare
build-deps:
	@sh tools/deps build

# the Python package: what is generated from the headers and tables, and a wheel with library and program inside
PYTHON ?= $(or $(wildcard /usr/bin/python3),python3)
.PHONY: python wheel
python:
	@$(PYTHON) bind/python/generate.py
wheel: $(BUILD)/libkiln.so $(BUILD)/kiln
	@mkdir -p $(BUILD)/wheel && rm -f $(BUILD)/wheel/*.whl
	@KILN_BUILD=$(call quote,$(ABSOLUTE_BUILD)) $(PYTHON) bind/python/backend.py $(BUILD)/wheel

# the manual pages, from the tables of the program and the prose beside them
man: $(BUILD)/kiln
	@sh tools/man $(BUILD)/kiln

compile_commands.json: FORCE
	@sh tools/compile-commands '$(KILN_CC) $(ALL_FLAGS)' $(LIB_SRC) $(CLI_SRC) > $@
FORCE:

FORMATTED = $(OP_SUITES) $(OP_TESTS) $(wildcard ops/*.h ops/*/host_*.h ops/*/ladder/*.h ops/*/suite*.h ops/*/test*.h) $(OP_SRC) $(shell find src include tests -name '*.c' -o -name '*.h' | grep -v -e '^src/back/cpu/[a-z]*\.h' -e '^tests/run/' -e '^tests/diag/' -e '^tests/check/' -e '^tests/emit/')
format:
	@clang-format -i $(FORMATTED)
check-format:
	@clang-format --dry-run -Werror $(FORMATTED)

# Folders may have spaces: every one is quoted. A library outside /usr/lib is found through the path that pkg-config and kiln --libs give.
TO        = $(call quote,$(DESTDIR)$(PREFIX)/$(1))
RPATH     = $(if $(filter /usr,$(PREFIX)),, -Wl,-rpath,"$${libdir}")
MAN_PAGES = $(notdir $(wildcard docs/man/*.1))
BASH_TO   = share/bash-completion/completions
ZSH_TO    = share/zsh/site-functions
FISH_TO   = share/fish/vendor_completions.d
# kiln.pc and the library's name for the loader hold the prefix.
ABSOLUTE_PREFIX = $(if $(filter-out /%,$(firstword $(PREFIX))),$(error PREFIX is an absolute path, not '$(PREFIX)'))
install: all
	@:$(ABSOLUTE_PREFIX)
	install -d $(foreach d,bin lib/pkgconfig lib/cmake/kiln include/kiln/host include/kiln/lib share/man/man1 $(BASH_TO) $(ZSH_TO) $(FISH_TO),$(call TO,$d))
	install -m 755 $(BUILD)/kiln $(call TO,bin/kiln)
	install -m 644 $(BUILD)/libkiln.a $(call TO,lib/libkiln.a)
	install -m 755 $(BUILD)/libkiln.so $(call TO,lib/libkiln.so.$(VERSION))
	ln -sf libkiln.so.$(VERSION) $(call TO,lib/libkiln.so.0)
	ln -sf libkiln.so.0 $(call TO,lib/libkiln.so)
	install -m 644 include/kiln/*.h $(call TO,include/kiln/)
	install -m 644 include/kiln/host/*.h $(call TO,include/kiln/host/)
	install -m 644 lib/*.h $(call TO,include/kiln/lib/)
	$(call pc,$(PREFIX),$${prefix}/lib,$${prefix}/include,-L"$${libdir}" -lkiln$(RPATH)) > $(call TO,lib/pkgconfig/kiln.pc)
	for f in kiln-config kiln-config-version; do sed -e 's|@VERSION@|$(VERSION)|' tools/$$f.cmake.in > $(call TO,lib/cmake/kiln)/$$f.cmake || exit 1; done
	install -m 644 docs/man/*.1 $(call TO,share/man/man1/)
	$(BUILD)/kiln completion bash > $(call TO,$(BASH_TO)/kiln)
	$(BUILD)/kiln completion zsh > $(call TO,$(ZSH_TO)/_kiln)
	$(BUILD)/kiln completion fish > $(call TO,$(FISH_TO)/kiln.fish)

# Removes what install has written, and the folders that are Kiln's alone.
uninstall:
	@:$(ABSOLUTE_PREFIX)
	rm -f $(foreach f,bin/kiln lib/libkiln.a lib/libkiln.so lib/libkiln.so.0 lib/libkiln.so.$(VERSION) lib/pkgconfig/kiln.pc $(BASH_TO)/kiln \
	    $(ZSH_TO)/_kiln $(FISH_TO)/kiln.fish $(MAN_PAGES:%=share/man/man1/%),$(call TO,$f))
	rm -rf $(call TO,include/kiln) $(call TO,lib/cmake/kiln)

clean:
	rm -rf build build-*

# What is missing must be there before anything is compiled, also under -j: hence the second make.
showcase: build-deps
	@$(MAKE) --no-print-directory showcase-now
showcase-now: all
	@sh tools/showcase $(call quote,$(BUILD))

$(T)/compile_speed: bench/compile_speed.c $(BUILD)/libkiln-internal.a
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) $(ALL_FLAGS) $^ -o $@ $(LIBS)
bench: all $(T)/compile_speed
	@$(T)/compile_speed examples/saxpy.c $(wildcard examples/*/kernel.c tests/run/*.c)

# --- fuzzing: libFuzzer on every reader (clang), random kernels against gcc
SECONDS  ?= 60
FUZZERS  := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz: deps
	@$(MAKE) --no-print-directory FLAVOUR=fuzz fuzz-run SECONDS=$(SECONDS) SAME=$(SAME)
$(T)/fuzz_%: tests/fuzz/fuzz_%.c $(CLI_READERS) $(BUILD)/libkiln-internal.a
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) $(ALL_FLAGS) -Wno-missing-prototypes -fsanitize=fuzzer $^ -o $@ $(LIBS)
.PHONY: fuzz-run
fuzz-run: $(FUZZERS:%=$(T)/fuzz_%)
	@BUILD=$(BUILD) SECONDS=$(SECONDS) SAME=$(SAME) JSON='$(JSON)' sh tests/fuzz/run $(FUZZERS)
