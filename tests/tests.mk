# The suites. Each is a program that ends with "NAME: N passed, N failed, N skipped"; tests/all runs them and adds up.
TEST_FLAGS  = $(ALL_FLAGS) -I. -Itests -Wno-missing-prototypes
TEST_LIBS   = $(BUILD)/libkiln-internal.a $(LIBS) -lcmocka

HARNESS_OBJ := $(patsubst tests/%.c,$(T)/%.o,$(wildcard tests/host/*.c))
UNIT_OBJ := $(patsubst tests/%.c,$(T)/%.o,$(sort $(wildcard tests/unit/*.c))) $(T)/main.o
$(UNIT_OBJ) $(T)/diag_main.o $(T)/check_main.o: | deps # cmocka; what runs on a GPU needs gcc and make alone

$(T)/%.o: tests/%.c Makefile tests/tests.mk
	@mkdir -p $(@D)
	$(call Q,cc  )$(KILN_CC) $(TEST_FLAGS) -MMD -MP -c $< -o $@
$(T)/unit/unit: $(UNIT_OBJ) $(HARNESS_OBJ) $(CLI_READERS) $(BUILD)/libkiln-internal.a
	$(call Q,link)$(KILN_CC) $(TEST_FLAGS) $(UNIT_OBJ) $(HARNESS_OBJ) $(CLI_READERS) -o $@ $(TEST_LIBS)
$(T)/diag $(T)/torn: $(T)/%: $(T)/%_main.o $(BUILD)/libkiln-internal.a
	$(call Q,link)$(KILN_CC) $(TEST_FLAGS) $< -o $@ $(TEST_LIBS)

# --- the ops: cases of ops/NAME/cases.def on every device
OP_SUITE_OBJ := $(OP_SUITES:%.c=$(O)/%.o)
$(T)/ops: $(T)/ops_main.o $(OP_SUITE_OBJ) $(BUILD)/libkiln-internal.a
	$(call Q,link)$(KILN_CC) $(TEST_FLAGS) $^ -o $@ $(LIBS)
$(T)/ops_check: $(T)/ops_check.o $(OP_SUITE_OBJ) $(BUILD)/libkiln-internal.a
	$(call Q,link)$(KILN_CC) $(TEST_FLAGS) -Wl,--wrap=kiln_compile,--wrap=kiln_launch $^ -o $@ $(LIBS)

# The generated parts of docs/ops and of kiln/ops.h, from ops.def and the suites
.PHONY: op-pages
op-pages: $(T)/ops
	@sh tools/ops $(T)/ops

# --- the differential corpus: tests/run compiled by gcc (host) into one shared object, and run by Kiln beside it
HARNESS_FLAGS = $(filter-out -fvisibility=hidden,$(ALL_FLAGS)) -Itests -I.
CORPUS       := $(sort $(wildcard tests/run/*.c tests/run/found/*.c))
CORPUS_OBJ   := $(CORPUS:tests/%.c=$(T)/corpus/%.o)
CORPUS_FLAGS  = -std=c11 -O1 -fPIC -ffp-contract=off -frounding-math -fwrapv -fno-strict-aliasing -fno-math-errno -I. -Iinclude -Itests -Itests/run \
                $(if $(findstring /found/,$<),-w,-Wall -Wextra -Werror)

$(T)/host/%.o: tests/host/%.c
	@mkdir -p $(@D)
	$(call Q,cc  )$(KILN_CC) $(HARNESS_FLAGS) -MMD -MP -c $< -o $@
$(T)/run_diff.o: tests/run_diff.c
	@mkdir -p $(@D)
	$(call Q,cc  )$(KILN_CC) $(HARNESS_FLAGS) -MMD -MP -c $< -o $@
$(T)/run_diff: $(T)/run_diff.o $(HARNESS_OBJ) $(BUILD)/libkiln-internal.a
	$(call Q,link)$(KILN_CC) $(HARNESS_FLAGS) -rdynamic $^ -o $@ $(LIBS)
$(T)/check_main.o: tests/check_main.c
	@mkdir -p $(@D)
	$(call Q,cc  )$(KILN_CC) $(HARNESS_FLAGS) -MMD -MP -c $< -o $@
$(T)/check: $(T)/check_main.o $(HARNESS_OBJ) $(BUILD)/libkiln-internal.a
	$(call Q,link)$(KILN_CC) $(HARNESS_FLAGS) -rdynamic $^ -o $@ $(LIBS)
$(T)/corpus/%.c: tests/%.c $(T)/run_diff
	@mkdir -p $(@D)
	@$(T)/run_diff --wrap $< > $@.new && { cmp -s $@.new $@ && touch $@ && rm $@.new || mv $@.new $@; }
$(T)/corpus/%.o: $(T)/corpus/%.c $(wildcard include/kiln/*.h include/kiln/host/*.h lib/*.h)
	$(call Q,cc  )gcc $(CORPUS_FLAGS) -c $< -o $@
$(T)/corpus.so: $(CORPUS_OBJ)
	$(call Q,link)gcc -shared $^ -o $@ -lm
.PRECIOUS: $(T)/corpus/%.c

# The matrix of equal bits: the corpus and every math function on every device of this machine. make matrix [FULL=1] [JSON=file]
MATRIX_FILES := $(CORPUS) $(sort $(wildcard tests/matrix/functions_*.c))
$(T)/matrix/matrix.o: tests/matrix/matrix.c
	@mkdir -p $(@D)
	$(call Q,cc  )$(KILN_CC) $(HARNESS_FLAGS) -MMD -MP -c $< -o $@
$(T)/matrix/matrix: $(T)/matrix/matrix.o $(HARNESS_OBJ) $(BUILD)/libkiln-internal.a
	$(call Q,link)$(KILN_CC) $(HARNESS_FLAGS) -rdynamic $^ -o $@ $(LIBS)
$(T)/matrix/matrix.so: $(MATRIX_FILES:tests/%.c=$(T)/corpus/%.o)
	@mkdir -p $(@D)
	$(call Q,link)gcc -shared $^ -o $@ -lm
.PHONY: matrix matrix-build
matrix-build: $(T)/matrix/matrix $(T)/matrix/matrix.so
matrix: matrix-build
	@$(T)/matrix/matrix --host $(T)/matrix/matrix.so --golden tests/run/golden.txt --jobs $$(nproc) $(if $(FULL),--full) $(if $(JSON),--json $(JSON)) $(MATRIX_FILES)

FUZZ_DIFF_OBJ = $(patsubst tests/%.c,$(T)/%.o,$(filter-out tests/fuzz/fuzz_%.c,$(wildcard tests/fuzz/*.c))) $(T)/fuzz/build_id.o
# The build of a campaign: what compiles and runs its kernels; not ops, networks, the program, and the pages of errors.
FUZZ_MADE_FROM = $(filter src/base/% src/front/% src/ir/% src/pass/% src/back/% src/rt/% src/dev/% src/compile.% lib/%.h include/kiln/kernel.h,$(MADE_FROM))
$(BUILD)/gen/fuzz_build_id.c: $(MADE_FROM)
	@mkdir -p $(@D)
	@printf 'extern const char fuzz_build_id[];\nconst char fuzz_build_id[] = "$(VERSION) %s";\n' "$$(cat $(FUZZ_MADE_FROM) | cksum | tr ' ' -)" > $@
$(T)/fuzz/build_id.o: $(BUILD)/gen/fuzz_build_id.c
	@mkdir -p $(@D)
	$(call Q,cc  )$(KILN_CC) $(BASE_FLAGS) -w -c $< -o $@
$(T)/fuzz/%.o: tests/fuzz/%.c
	@mkdir -p $(@D)
	$(call Q,cc  )$(KILN_CC) $(HARNESS_FLAGS) -MMD -MP -c $< -o $@
$(T)/fuzz_diff: $(FUZZ_DIFF_OBJ) $(HARNESS_OBJ) $(BUILD)/libkiln-internal.a
	$(call Q,link)$(KILN_CC) $(HARNESS_FLAGS) -rdynamic $^ -o $@ $(LIBS)
# make fuzz-diff [SECONDS=60 | COUNT=n] [SEED=1] [FUZZ='options of fuzz_diff']
fuzz-diff: deps $(T)/fuzz_diff
	@mkdir -p $(BUILD)/fuzz
	@$(T)/fuzz_diff $(if $(COUNT),--count $(COUNT),--seconds $(SECONDS)) --seed $(or $(SEED),1) --work $(BUILD)/fuzz --keep tests/run/found $(FUZZ)
# The campaign: goes on where bench/results/fuzz.json ends, until it has COUNT kernels; who stops it (Ctrl-C) loses nothing.
# make fuzz-campaign [COUNT=200000] [FUZZ='--jobs 1 --seconds 600']
.PHONY: fuzz-campaign
fuzz-campaign: deps $(T)/fuzz_diff
	@mkdir -p $(BUILD)/fuzz
	@$(T)/fuzz_diff --count $(or $(COUNT),200000) --seed 1 --work $(BUILD)/fuzz --keep tests/run/found --json bench/results/fuzz.json --resume $(FUZZ)

# One kind of random kernels each: make fuzz-simt, make fuzz-csmith [COUNT=200] [SEED=1] [FUZZ='--devices interp,x86,cpu,opencl …']
.PHONY: fuzz-simt fuzz-csmith
fuzz-simt fuzz-csmith: fuzz-%: deps $(T)/fuzz_diff
	@[ $* != csmith ] || command -v csmith >/dev/null || { echo 'make fuzz-csmith: csmith is missing: apt-get install csmith' >&2; exit 3; }
	@mkdir -p $(BUILD)/fuzz
	@$(T)/fuzz_diff --profile $* --count $(or $(COUNT),200) --seed $(or $(SEED),1) --work $(BUILD)/fuzz --keep tests/run/found $(FUZZ)

# Old bugs put back in: the random kernels must find each. make fuzz-proof [SECONDS=300] [BUGS='vector-store-sinks …'] [JSON=file]
.PHONY: fuzz-proof
fuzz-proof:
	@SECONDS=$(if $(filter-out file,$(origin SECONDS)),$(SECONDS),300) JSON='$(JSON)' sh tests/fuzz/proof/run $(BUILD) $(BUGS)

-include $(wildcard $(T)/*.d $(T)/*/*.d)

$(T)/cpu/same $(T)/cpu/tier $(T)/cpu/quick: $(T)/cpu/%: $(T)/cpu/%.o $(BUILD)/libkiln-internal.a
	$(call Q,link)$(KILN_CC) $(TEST_FLAGS) $< -o $@ $(BUILD)/libkiln-internal.a $(LIBS)
SUMS_GENERATORS := $(patsubst tests/%.c,$(T)/%.o,tests/fuzz/profile.c tests/fuzz/csmith.c $(wildcard tests/fuzz/gen*.c tests/fuzz/simt*.c))
SUMS_OF         := $(CORPUS) $(sort $(wildcard tests/emit/*.c)) bench/cpu/kernels.c tests/cpu/hosted.c $(sort $(wildcard examples/*/kernel.c)) $(addprefix random-,mixed memory call simt)
$(T)/cpu/sums: $(T)/cpu/sums.o $(T)/cpu/sums_interp.o $(SUMS_GENERATORS) $(BUILD)/libkiln-internal.a
	$(call Q,link)$(KILN_CC) $(TEST_FLAGS) $^ -o $@ $(LIBS)

# --- a device that a test adds: one folder and one row. All other objects are those of the build.
E := $(T)/extend
$(E)/src/dev/devices.def: src/dev/devices.def tests/extend/device/row.def
	@mkdir -p $(@D)
	@cat $^ > $@
$(E)/devices.o: src/dev/devices.c $(E)/src/dev/devices.def src/dev/device.h
	$(call Q,cc  )$(KILN_CC) -I$(E)/src $(ALL_FLAGS) -c $< -o $@
$(E)/device.o: tests/extend/device/device.c $(wildcard src/dev/*.h src/dev/host/*.h src/dev/interp/*.h src/rt/*.h src/ir/*.h src/back/*.h)
	@mkdir -p $(@D)
	$(call Q,cc  )$(KILN_CC) $(ALL_FLAGS) -c $< -o $@
$(E)/run_diff: $(T)/run_diff.o $(HARNESS_OBJ) $(E)/devices.o $(E)/device.o $(BUILD)/libkiln-internal.a
	$(call Q,link)$(KILN_CC) $(HARNESS_FLAGS) -rdynamic $^ -o $@ $(LIBS)

# --- an op that a test adds: one folder and one row. A copy of the tables gets the row; of the build only the list of suites is compiled again, and
# the op's own files.
X := $(E)/tree
$(X)/made: tests/extend/op $(wildcard tests/extend/op/*) $(wildcard ops/*.h ops/*.def ops/*/* include/kiln/*.h docs/ops/*.md) src/dev/devices.def
	@rm -rf $(X) && mkdir -p $(X)/src/dev $(X)/docs && cp -R ops include $(X) && cp -R docs/ops $(X)/docs && cp src/dev/devices.def $(X)/src/dev
	@mkdir $(X)/ops/twice && cp $(filter-out %/row.def,$(wildcard tests/extend/op/*.c tests/extend/op/*.def) tests/extend/op/element.h) $(X)/ops/twice
	@cp tests/extend/op/ops_twice.h $(X)/include/kiln
	@awk 'FNR == NR { row = row $$0 "\n"; next } /^\/\/ clang-format on/ { printf "%s", row } { print }' tests/extend/op/row.def ops/ops.def > $(X)/ops/ops.def
	@touch $@
$(E)/op_text.c: $(X)/made tools/embed # the op's texts, found before those of the build
	@(cd $(X) && sh $(CURDIR)/tools/embed ops/twice/kernel.c ops/twice/element.h) | sed 's/embed_find(/embed_new(/' > $@
	@printf 'extern const char *__real_embed_find(const char *, size_t *);\nconst char *__wrap_embed_find(const char *n, size_t *len)\n{\n    const char *t = embed_new(n, len);\n    return t ? t : __real_embed_find(n, len);\n}\n' >> $@
$(E)/op_text.o: $(E)/op_text.c
	$(call Q,cc  )$(KILN_CC) $(BASE_FLAGS) -w -c $< -o $@
$(E)/op_%.o: $(X)/made
	$(call Q,cc  )$(KILN_CC) -I$(X) -I$(X)/include $(ALL_FLAGS) -c $(X)/ops/$(if $(filter list,$*),suite_list,twice/$*).c -o $@
OP_EXTENSION := $(addprefix $(E)/op_,text.o list.o twice.o suite.o)
OLD_LIST     := $(O)/ops/suite_list.o
$(E)/ops: $(T)/ops_main.o $(filter-out $(OLD_LIST),$(OP_SUITE_OBJ)) $(OP_EXTENSION) $(BUILD)/libkiln-internal.a
	$(call Q,link)$(KILN_CC) $(TEST_FLAGS) -Wl,--wrap=embed_find $^ -o $@ $(LIBS)
# the kiln program with the device and the op
$(E)/kiln: $(filter-out $(OLD_LIST),$(CLI_OBJ)) $(E)/devices.o $(E)/device.o $(OP_EXTENSION) $(BUILD)/libkiln-internal.a
	$(call Q,link)$(KILN_CC) $(ALL_FLAGS) -Wl,--wrap=embed_find $^ -o $@ $(LIBS)

# --- the mailbox protocol under a model checker, which switches stacks: no sanitizer follows that
MODEL_FLAGS = $(filter-out -fsanitize% -fno-sanitize%,$(TEST_FLAGS))
MODEL_OBJ  := $(addprefix $(T)/model/,actors.o thread.o store.o memory.o reduce.o tidy.o explore.o main.o)
$(T)/model/%.o: tests/model/%.c Makefile tests/tests.mk
	@mkdir -p $(@D)
	$(call Q,cc  )$(KILN_CC) $(MODEL_FLAGS) -MMD -MP -c $< -o $@
$(T)/model/model: $(MODEL_OBJ)
	$(call Q,link)$(KILN_CC) $(MODEL_FLAGS) $^ -o $@
$(T)/model/live: tests/model/live.c src/rt/channel/mailbox.h src/rt/channel/mailbox_host.h src/rt/channel/word.h tests/api/api.h $(BUILD)/libkiln-internal.a
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) $(TEST_FLAGS) $< -o $@ $(BUILD)/libkiln-internal.a $(LIBS)
# All states of 4 warps and 4 mailboxes; minutes, prove-long also gigabytes of memory. Their output is kept in tests/model/proved.txt.
.PHONY: prove prove-long
prove prove-long: $(T)/model/model
	@MODEL_CC='$(KILN_CC)' sh tests/model/run $(BUILD) $@

test: deps
	@$(MAKE) --no-print-directory test-now
.PHONY: test-build
test-build: all $(T)/libfakecuda.so $(T)/unit/unit $(T)/ops $(T)/ops_check $(T)/diag $(T)/torn $(T)/check $(T)/run_diff $(T)/corpus.so $(T)/fuzz_diff $(T)/model/model $(T)/model/live $(T)/cpu/same $(T)/cpu/tier $(T)/cpu/quick $(T)/cpu/sums $(E)/kiln $(E)/ops $(E)/run_diff
test-now: test-build
	@BUILD=$(BUILD) FLAVOUR=$(FLAVOUR) KILN_CC='$(KILN_CC)' SANITIZE='$(filter -fsanitize%,$(OPT.$(FLAVOUR)))' sh tests/all

bless: all $(T)/cpu/sums $(T)/ops $(T)/diag $(T)/torn $(T)/check $(T)/run_diff $(T)/corpus.so
	@$(T)/run_diff --bless --device none --host $(T)/corpus.so $(CORPUS) > $(T)/golden && mv $(T)/golden tests/run/golden.txt
	@$(T)/diag --bless
	@$(T)/check --bless
	@sh tests/emit/golden $(BUILD)/kiln --bless
	@sh tests/emit/sums $(BUILD)/kiln --bless
	@$(T)/cpu/sums --bless $(SUMS_OF)
	@$(T)/torn --bless > /dev/null
	@sh tools/doctables
	@sh tools/ops $(T)/ops
	@sh tools/man $(BUILD)/kiln
	@$(PYTHON) bind/python/generate.py
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL sh tools/docs-check $(BUILD)/kiln --bless # a make in the docs is no part of this one

# --- on a GPU: programs over the public header alone; built with gcc and make, run with a driver
# tests/gpu/X.c is X; ops/NAME/test.c is NAME, ops/NAME/test_X.c is NAME_X
op_program = $(T)/gpu/$(notdir $(patsubst %/,%,$(dir $(1))))$(patsubst test%.c,%,$(notdir $(1)))
GPU_PROGRAMS := $(patsubst tests/gpu/%.c,$(T)/gpu/%,$(sort $(wildcard tests/gpu/*.c))) $(foreach f,$(OP_TESTS),$(call op_program,$f))
GPU_FLAGS     = -std=c11 -D_POSIX_C_SOURCE=200809L $(OPT.$(FLAVOUR)) -Wall -Wextra -Wpedantic -Werror -Iinclude -Itests/api
$(T)/gpu/%: tests/gpu/%.c tests/api/api.h $(BUILD)/libkiln.a
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) $(GPU_FLAGS) $< $(BUILD)/libkiln.a -o $@ $(LIBS)
$(T)/gpu/nv_matrix $(T)/gpu/nv_copies $(T)/gpu/nv_mistakes: tests/gpu/nv/nv.h
$(T)/gpu/libc: tests/gpu/libc/calls.h
$(T)/gpu/libc_streams: tests/gpu/libc/streams.h
define OP_TEST
$(call op_program,$(1)): $(1) $$(wildcard $(dir $(1))test*.h $(dir $(1))test*.def) tests/api/api.h $(BUILD)/libkiln.a
	@mkdir -p $$(@D)
	$$(call Q,link)$(KILN_CC) $(GPU_FLAGS) $$< $(BUILD)/libkiln.a -o $$@ $(LIBS)
endef
$(foreach f,$(OP_TESTS),$(eval $(call OP_TEST,$f)))
$(T)/gpu/ladder: GPU_FLAGS += -I.
$(T)/gpu/ladder: ops/matmul/ladder/ladder.h ops/matmul/ladder/rungs.def
$(T)/libfakecuda.so: tests/fake/libcuda.c tests/fake/handles.h tests/fake/modules.h tests/fake/machine.h tests/fake/settings.h src/dev/cuda/abi.h
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -O1 -g -Wall -Wextra -Wno-cast-function-type -fPIC -shared -Isrc $< -o $@
# The same driver, and the same OpenCL, with a machine: NVIDIA's machine code played on the host. make sass-test,
# make sass-fuzz [SECONDS=60] [SEED=1] [FUZZ='--profile call --devices cuda,opencl:0']
SASS_FLAGS = -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -O2 -g -Wall -Wextra -Wno-cast-function-type -ffp-contract=off -frounding-math -Isrc -Itests
SASS_PLAYER = $(filter-out tests/sass/check.c tests/sass/machine.c tests/sass/opencl.c,$(wildcard tests/sass/*.c))
$(T)/libsasscuda.so: $(wildcard tests/sass/*.[ch] tests/fake/*.h) tests/fake/libcuda.c src/dev/cuda/abi.h
	@mkdir -p $(@D)
	$(call Q,link)gcc $(SASS_FLAGS) -fPIC -shared tests/fake/libcuda.c tests/sass/machine.c $(SASS_PLAYER) -o $@ -lm
$(T)/sass/opencl/libOpenCL.so.1: $(wildcard tests/sass/*.[ch] tests/opencl/*.[ch]) src/dev/opencl/abi.h
	@mkdir -p $(@D)
	$(call Q,link)gcc $(SASS_FLAGS) -fPIC -shared -DSASS_PRELUDE='"$(abspath tests/sass/prelude.cl)"' tests/opencl/libopencl.c tests/sass/opencl.c $(SASS_PLAYER) -o $@ -lm -ldl -lpthread
$(T)/sass/check: $(wildcard tests/sass/*.[ch])
	@mkdir -p $(@D)
	$(call Q,link)gcc $(SASS_FLAGS) tests/sass/check.c $(SASS_PLAYER) -o $@ -lm
.PHONY: sass-build sass-test sass-fuzz
sass-build: all $(T)/libsasscuda.so $(T)/sass/opencl/libOpenCL.so.1 $(T)/sass/check $(T)/run_diff $(T)/corpus.so $(T)/fuzz_diff
sass-test: sass-build
	@sh tests/sass/run $(BUILD)
sass-fuzz: sass-build
	@KEEP='$(KEEP)' sh tests/sass/run $(BUILD) $(if $(COUNT),--count $(COUNT),--seconds $(SECONDS)) --seed $(or $(SEED),1) $(FUZZ)
test: $(T)/libsasscuda.so $(T)/sass/opencl/libOpenCL.so.1 $(T)/sass/check
.PHONY: gpu-build gpu-test gpu-fuzz
gpu-build: all $(GPU_PROGRAMS) $(T)/ops $(T)/run_diff $(T)/corpus.so $(T)/fuzz_diff matrix-build
gpu-test: gpu-build
	@sh tests/gpu/run $(BUILD)
# Random kernels on the GPU. make gpu-fuzz [SECONDS=60 | COUNT=n] [SEED=1] [FUZZ='--profile memory --json file …'] [KEEP=folder]
# A campaign of several runs adds up in bench/results, each goes on where the one before ended: make gpu-fuzz ONLY=cuda SECONDS=600 FUZZ='--json bench/results/fuzz_cuda.json --resume' (ONLY=opencl: NVIDIA's OpenCL; EXPECT=file: tests/fuzz/README.md).
gpu-fuzz: all $(T)/fuzz_diff
	@KEEP='$(KEEP)' sh tests/fuzz/gpu $(BUILD) $(if $(COUNT),--count $(COUNT),--seconds $(SECONDS)) --seed $(or $(SEED),1) $(FUZZ)
# The same runtime on a driver that runs nothing
$(T)/fake_check: tests/fake/check.c tests/fake/plays.h tests/api/api.h src/dev/cuda/abi.h src/back/channel.h $(wildcard src/rt/channel/*.h) $(BUILD)/libkiln.a
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) $(GPU_FLAGS) -Isrc -D_DEFAULT_SOURCE $< $(BUILD)/libkiln.a -o $@ $(LIBS)
# kiln bench --against: libraries that run on the host
$(T)/libfakecudnn.so $(T)/libfakecublas.so: $(T)/libfake%.so: tests/fake/lib%.c tests/fake/settings.h tests/fake/play_cudnn.h tests/fake/play_numbers.h src/cli/cudnn.def
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -g -Wall -Wextra -fPIC -shared -Isrc $< -o $@ -lm
THEIRS_OBJ := $(addprefix $(O)/cli/,cudnn.o cudnn_ops.o bench_cudnn.o bench_cublas.o bench_load.o bench_time.o bench_data.o) $(OP_SUITES:%.c=$(O)/%.o)
$(T)/theirs_check: tests/fake/theirs_check.c tests/api/api.h src/cli/bench.h src/cli/cudnn.h src/cli/cudnn.def ops/conv/suite.h $(THEIRS_OBJ) $(BUILD)/libkiln-internal.a
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) $(GPU_FLAGS) -Isrc -I. -D_DEFAULT_SOURCE $< $(THEIRS_OBJ) $(BUILD)/libkiln-internal.a -o $@ $(LIBS)
test: $(GPU_PROGRAMS) $(T)/fake_check $(T)/libfakecuda.so $(T)/theirs_check $(T)/libfakecudnn.so $(T)/libfakecublas.so

# --- OpenCL: an OpenCL library that runs nothing, and the corpus where a real one is found
$(T)/libfakeopencl.so: tests/opencl/libopencl.c tests/opencl/player.h src/dev/opencl/abi.h
	@mkdir -p $(@D)
	$(call Q,link)gcc -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -g -Wall -Wextra -fPIC -shared -Isrc $< -o $@
$(T)/opencl/check: tests/opencl/check.c tests/api/api.h $(BUILD)/libkiln.a
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) $(GPU_FLAGS) -D_DEFAULT_SOURCE $< $(BUILD)/libkiln.a -o $@ $(LIBS)
OPENCL_PROGRAMS = $(T)/opencl/check $(T)/libfakeopencl.so $(GPU_PROGRAMS)
test: $(OPENCL_PROGRAMS)
.PHONY: test-opencl
test-opencl: all $(T)/run_diff $(T)/corpus.so $(OPENCL_PROGRAMS)
	@sh tests/opencl/run $(BUILD) all

# The math library's errors in ulps: make ulp (quick), make ulp ULP='--table docs/math.md' (everything; an hour of CPU time).
# make ulp-static gives one file that runs on any x86-64 with AVX2 and FMA, without MPFR there.
ULP ?= --quick
ULP_SRC   := $(addprefix tests/ulp/,ulp.c functions.c samples.c)
ULP_FLAGS  = -std=c11 -D_DEFAULT_SOURCE -Iinclude -O3 -ffp-contract=off -frounding-math -fno-trapping-math -fno-math-errno -fwrapv -fno-strict-aliasing $(WARN)
ULP_NEEDS := $(ULP_SRC) tests/ulp/ulp.h $(wildcard lib/*.h include/kiln/*.h include/kiln/host/*.h)
$(T)/ulp: $(ULP_NEEDS)
	@mkdir -p $(@D)
	$(call Q,link)gcc $(ULP_FLAGS) -march=native $(ULP_SRC) -o $@ -lmpfr -lgmp -lm -lpthread
$(BUILD)/ulp: $(ULP_NEEDS)
	@mkdir -p $(@D)
	$(call Q,link)gcc $(ULP_FLAGS) -march=x86-64-v3 -static $(ULP_SRC) -o $@ -lmpfr -lgmp -lm -lpthread
.PHONY: ulp ulp-static
ulp-static: deps $(BUILD)/ulp
ulp: deps $(T)/ulp
	@$(T)/ulp $(ULP)

# Mutation testing and coverage of the compiler; long, not in CI. make mutants [COUNT=500] [SEED=1] [FUZZ=60] [MUTANTS="JOBS=4 LOG=file STOP=600"]
$(T)/mutate: tests/mutants/mutate.c
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -Wall -Wextra -Werror $< -o $@
.PHONY: mutants
mutants: $(addprefix $(T)/,unit/unit diag torn check run_diff corpus.so fuzz_diff cpu/same cpu/quick cpu/sums mutate fake_check libfakecuda.so $(addprefix gpu/,features channel hostcall bounds fast libc_streams nv_matrix nv_copies nv_mistakes ladder heap limits libc attention)) $(BUILD)/kiln
	@sh tests/mutants/run $(BUILD) COUNT=$(or $(COUNT),500) SEED=$(or $(SEED),1) FUZZ=$(or $(FUZZ),60) OUT=$(or $(OUT),bench/results/mutants.json) $(MUTANTS)
# make coverage: lines and branches of the same folders that the same suites reach; build-coverage/coverage.txt lists the lines they do not
.PHONY: coverage coverage-now
coverage:
	@$(MAKE) --no-print-directory FLAVOUR=coverage coverage-now
coverage-now: test-build $(addprefix $(T)/gpu/,features channel hostcall bounds fast libc_streams nv_matrix nv_copies nv_mistakes heap limits libc)
	@sh tests/mutants/coverage $(BUILD) $(or $(OUT),bench/results/coverage.json)
