# Kiln: one makefile, no configure step.
#   make            build/libkiln.a, build/libkiln.so, build/kiln
#   make test       everything CI checks on this flavour; FLAVOUR=asan|ubsan|tsan|clang|hostile for another build
#   make showcase   build, then run the examples on the best device present
# More: make help
FLAVOUR ?= gcc
BUILD   ?= build$(if $(filter-out gcc,$(FLAVOUR)),-$(FLAVOUR))
O       := $(BUILD)/obj

CC.gcc = gcc
CC.clang = clang
CC.asan = gcc
CC.ubsan = gcc
CC.tsan = gcc
CC.hostile = gcc
CC.fuzz = clang
KILN_CC := $(CC.$(FLAVOUR))

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla \
       -Wformat=2 -Wwrite-strings -Wcast-align -Wswitch-enum -Wimplicit-fallthrough -Werror
OPT.gcc = -O2 -g
OPT.clang = -O2 -g
OPT.asan = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
OPT.ubsan = -O1 -g -fsanitize=undefined -fno-sanitize-recover=all
OPT.tsan = -O1 -g -fsanitize=thread
OPT.hostile = -O1 -g -DKILN_HOSTILE
OPT.fuzz = -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -DKILN_FUZZ
CFLAGS ?=
ALL_CFLAGS = -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -Isrc -Iinclude -I$(BUILD)/gen -fPIC -fvisibility=hidden -ffp-contract=off -fno-math-errno $(WARN) $(OPT.$(FLAVOUR)) $(CFLAGS)
LIBS = -lm -ldl -lpthread

LIB_SRC := $(filter-out src/cli/%,$(wildcard src/*.c src/*/*.c src/*/*/*.c))
CLI_SRC := $(wildcard src/cli/*.c)
LIB_OBJ := $(LIB_SRC:src/%.c=$(O)/%.o)
CLI_OBJ := $(CLI_SRC:src/%.c=$(O)/%.o)

all: $(BUILD)/libkiln.a $(BUILD)/libkiln.so $(BUILD)/kiln

$(O)/%.o: src/%.c
	@mkdir -p $(@D)
	$(KILN_CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/libkiln-internal.a: $(LIB_OBJ)
	@rm -f $@; ar rcs $@ $^

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d)
