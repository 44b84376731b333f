# GPU benchmarks: bench/gpu/*.c, each against the bare driver or a library, in one process. `make gpu-bench` builds and runs them here;
# what is built runs on another machine from the source tree's root with `sh bench/gpu/run BUILD/bench`.
BENCHES := launch compile bandwidth matmul gemm random ladder hostcall
$(BUILD)/bench/%: bench/gpu/%.c bench/gpu/bench.c bench/gpu/bench.h $(BUILD)/libkiln-internal.a
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) $(ALL_FLAGS) -I. bench/gpu/$*.c bench/gpu/bench.c $(BUILD)/libkiln-internal.a -o $@ $(LIBS)

$(BUILD)/bench/gemm: bench/gpu/gemm.c bench/gpu/gemm_data.c bench/gpu/gemm_theirs.c bench/gpu/gemm.h bench/gpu/bench.c bench/gpu/bench.h $(BUILD)/libkiln-internal.a
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) $(ALL_FLAGS) -I. bench/gpu/gemm.c bench/gpu/gemm_data.c bench/gpu/gemm_theirs.c bench/gpu/bench.c $(BUILD)/libkiln-internal.a -o $@ $(LIBS)

$(BUILD)/bench/random: bench/gpu/random.c bench/gpu/gemm_theirs.c bench/gpu/gemm.h bench/gpu/bench.c bench/gpu/bench.h $(BUILD)/libkiln-internal.a
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) $(ALL_FLAGS) -I. bench/gpu/random.c bench/gpu/gemm_theirs.c bench/gpu/bench.c $(BUILD)/libkiln-internal.a -o $@ $(LIBS)

$(BUILD)/bench/ladder: bench/gpu/ladder.c bench/gpu/gemm_data.c bench/gpu/gemm_theirs.c bench/gpu/gemm.h bench/gpu/bench.c bench/gpu/bench.h ops/matmul/ladder/ladder.h ops/matmul/ladder/rungs.def $(BUILD)/libkiln-internal.a
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) $(ALL_FLAGS) -I. bench/gpu/ladder.c bench/gpu/gemm_data.c bench/gpu/gemm_theirs.c bench/gpu/bench.c $(BUILD)/libkiln-internal.a -o $@ $(LIBS)

# The suites for bench/gpu/ops.py, which sets the ops beside PyTorch
OP_SHIM := $(BUILD)/bench/libkilnops.so
$(OP_SHIM): bench/gpu/ops_shim.c $(OP_SUITES:%.c=$(O)/%.o) $(BUILD)/libkiln-internal.a
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) $(ALL_FLAGS) -Wno-missing-prototypes -I. -shared $^ -o $@ $(LIBS)

# The cpu device beside PoCL, OpenBLAS (both opened at run time, left out when missing) and the interpreter.
$(BUILD)/bench/cpu_speed: bench/cpu_speed.c $(BUILD)/libkiln-internal.a
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) $(ALL_FLAGS) $< $(BUILD)/libkiln-internal.a -o $@ $(LIBS)
# Products on one core beside OpenBLAS
$(BUILD)/bench/cpu_products: bench/cpu_products.c $(BUILD)/libkiln-internal.a
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) $(ALL_FLAGS) $< $(BUILD)/libkiln-internal.a -o $@ $(LIBS)
.PHONY: bench-cpu
bench-cpu: $(BUILD)/bench/cpu_speed $(BUILD)/bench/cpu_products
	@$(BUILD)/bench/cpu_speed bench/cpu
	@$(BUILD)/bench/cpu_products

# The ops on the cpu device beside NumPy.
.PHONY: bench-ops-cpu
bench-ops-cpu: $(OP_SHIM) $(BUILD)/kiln
	@python3 bench/ops_cpu.py --build $(BUILD)

# The interpreter on one core, in lane-operations a second.
$(BUILD)/bench/interp_speed: bench/interp_speed.c $(BUILD)/libkiln-internal.a
	@mkdir -p $(@D)
	$(call Q,link)$(KILN_CC) $(ALL_FLAGS) $< $(BUILD)/libkiln-internal.a -o $@ $(LIBS)
.PHONY: bench-interp
bench-interp: $(BUILD)/bench/interp_speed
	@$(BUILD)/bench/interp_speed

.PHONY: gpu-bench gpu-bench-build
gpu-bench-build: $(BENCHES:%=$(BUILD)/bench/%) $(OP_SHIM)
gpu-bench: gpu-bench-build
	@sh bench/gpu/run $(BUILD)/bench
test: gpu-bench-build # so that they keep compiling
