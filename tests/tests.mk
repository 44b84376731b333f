# The suites. Each is a program that ends with "NAME: N passed, N failed, N skipped"; tests/all runs them and adds up.
TEST_FLAGS  = $(ALL_FLAGS) -I. -Wno-missing-prototypes
TEST_LIBS   = $(BUILD)/libkiln-internal.a $(LIBS) -lcmocka

UNIT_OBJ := $(patsubst tests/%.c,$(T)/%.o,$(sort $(wildcard tests/unit/*.c))) $(T)/main.o

$(T)/%.o: tests/%.c Makefile tests/tests.mk | deps
	@mkdir -p $(@D)
	$(call Q,cc  )$(KILN_CC) $(TEST_FLAGS) -MMD -MP -c $< -o $@
$(T)/unit/unit: $(UNIT_OBJ) $(BUILD)/libkiln-internal.a
	$(call Q,link)$(KILN_CC) $(TEST_FLAGS) $(UNIT_OBJ) -o $@ $(TEST_LIBS)
$(T)/diag: $(T)/diag_main.o $(BUILD)/libkiln-internal.a
	$(call Q,link)$(KILN_CC) $(TEST_FLAGS) $< -o $@ $(TEST_LIBS)
-include $(wildcard $(T)/*.d $(T)/*/*.d)

test: deps all $(T)/unit/unit $(T)/diag
	@BUILD=$(BUILD) FLAVOUR=$(FLAVOUR) KILN_CC='$(KILN_CC)' SANITIZE='$(filter -fsanitize%,$(OPT.$(FLAVOUR)))' sh tests/all

bless: all $(T)/diag
	@$(T)/diag --bless
	@sh tools/doctables
	@sh tools/docs-check $(BUILD)/kiln '-I$(CURDIR)/include' '$(CURDIR)/$(BUILD)/libkiln.a $(LIBS)' --bless
