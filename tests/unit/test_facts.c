// The facts: uniformity, ranges and alignment of named values in small pieces of IR, and the trip
// counts of loops.
#include <stdio.h>
#include <string.h>

#include "pass/loop.h"
#include "pass/pass.h"
#include "tests/test.h"

typedef struct facts_case {
    arena *a;
    ir_func *f;
} facts_case;

static facts_case read_kernel(const char *input)
{
    facts_case c = {.a = arena_new()};
    const char *error = NULL;
    ir_module *m = ir_read(c.a, names_in(c.a), str_of(input), &error);
    if (!m)
        printf("%s\n", error);
    assert_non_null(m);
    const char *wrong = ir_verify_module(m, c.a);
    if (wrong)
        printf("%s\n", wrong);
    assert_null(wrong);
    c.f = m->funcs.at[m->funcs.len - 1];
    return c;
}

static ir_ref named(const ir_func *f, const char *name)
{
    for (ir_ref v = 1; v < f->values.len; v++)
        if (f->values.at[v].name && !strcmp(f->values.at[v].name, name))
            return v;
    printf("no value named %s\n", name);
    fail();
    return 0;
}

// --- uniformity

static uint8_t level_of(const char *input, const char *name)
{
    facts_case c = read_kernel(input);
    uniform_facts u = uniform_compute(c.f, c.a);
    uint8_t level = u.value[named(c.f, name)];
    arena_free(c.a);
    return level;
}

// One value made from geometry, in a block of 64 x 2.
static uint8_t level_in_64_2(const char *lines)
{
    char input[1000];
    snprintf(input, sizeof input,
             "kernel @k(%%x: ptr.global i32, %%n: i32) block(64, 2, 1) {\n%s\nreturn\n}\n", lines);
    return level_of(input, "v");
}

TEST(uniform_geometry)
{
    assert_int_equal(level_in_64_2("%v = thread.x"), UNIFORM_NOT);
    assert_int_equal(level_in_64_2("%v = thread.y"), UNIFORM_WARP);
    assert_int_equal(level_in_64_2("%v = thread.z"), UNIFORM_BLOCK);
    assert_int_equal(level_in_64_2("%v = blockidx.x"), UNIFORM_BLOCK);
    assert_int_equal(level_in_64_2("%v = lane"), UNIFORM_NOT);
    assert_int_equal(level_in_64_2("%v = warp"), UNIFORM_WARP);
    assert_int_equal(level_in_64_2("%v = add i32 %n, 3"), UNIFORM_BLOCK);
    assert_int_equal(level_in_64_2("%a = lane\n%v = add i32 %n, %a"), UNIFORM_NOT);
}

TEST(uniform_lane_arithmetic)
{
    assert_int_equal(level_in_64_2("%a = thread.x\n%v = lshr i32 %a, 5"), UNIFORM_WARP);
    assert_int_equal(level_in_64_2("%a = thread.x\n%v = udiv i32 %a, 32"), UNIFORM_WARP);
    assert_int_equal(level_in_64_2("%a = thread.x\n%v = udiv i32 %a, 16"), UNIFORM_NOT);
    assert_int_equal(level_in_64_2("%a = thread.x\n%v = ult i32 %a, 32"), UNIFORM_WARP);
    assert_int_equal(level_in_64_2("%a = thread.x\n%v = ult i32 %a, 33"), UNIFORM_NOT);
    assert_int_equal(level_in_64_2("%a = thread.x\n%v = ule i32 %a, 31"), UNIFORM_WARP);
    assert_int_equal(level_in_64_2("%a = thread.x\n%v = ult i32 31, %a"), UNIFORM_WARP);
    assert_int_equal(level_in_64_2("%b = blockidx.x\n%c = mul i32 %b, 64\n%a = thread.x\n"
                                   "%d = add i32 %c, %a\n%v = lshr i32 %d, 5"),
                     UNIFORM_WARP);
    assert_int_equal(level_in_64_2("%a = thread.x\n%d = add i32 %n, %a\n%v = lshr i32 %d, 5"),
                     UNIFORM_NOT);
    // A shift by the width takes only the low bits of its count: nothing is shifted.
    assert_int_equal(level_in_64_2("%a = thread.x\n%b = shl i32 %n, 32\n%d = add i32 %b, %a\n"
                                   "%v = lshr i32 %d, 5"),
                     UNIFORM_NOT);
    assert_int_equal(level_in_64_2("%a = thread.x\n%b = shl i32 %n, 31\n%d = add i32 %b, %a\n"
                                   "%v = lshr i32 %d, 5"),
                     UNIFORM_WARP);
}

// A product is a row's start by its own operands, not by those of the instructions around it.
TEST(uniform_rank_needs_its_own_operands)
{
    static const char text_of[] = "kernel @k(%%x: ptr.global i32, %%n: i32) {\n"
                                  "%%tx = thread.x\n%%ty = thread.y\n%%tz = thread.z\n"
                                  "%%bx = blockdim.x\n%%by = blockdim.y\n"
                                  "%%before = add i32 %%n, %%bx\n%%row = mul i32 %s\n"
                                  "%%behind = add i32 %%ty, %%n\n%%size = mul i32 %%bx, %%by\n"
                                  "%%far = mul i32 %%tz, %%size\n%%plane = add i32 %%tx, %%row\n"
                                  "%%rank = add i32 %%plane, %%far\n%%v = lshr i32 %%rank, 5\n"
                                  "return\n}\n";
    static const struct {
        const char *row;
        uint8_t level;
    } cases[] = {{"%ty, %bx", UNIFORM_WARP}, {"%bx, %ty", UNIFORM_WARP}, {"%n, 3", UNIFORM_NOT}};
    for (size_t k = 0; k < COUNT(cases); k++) {
        char input[1000];
        snprintf(input, sizeof input, text_of, cases[k].row);
        assert_int_equal(level_of(input, "v"), cases[k].level);
    }
}

TEST(uniform_collectives_and_memory)
{
    assert_int_equal(level_in_64_2("%a = thread.x\n%b = ieq i32 %a, 3\n%v = ballot %b"),
                     UNIFORM_WARP);
    assert_int_equal(level_in_64_2("%a = thread.x\n%v = shuffle.idx i32 %a, 3, 32"), UNIFORM_WARP);
    assert_int_equal(level_in_64_2("%a = thread.x\n%v = shuffle.xor i32 %a, 3, 32"), UNIFORM_NOT);
    assert_int_equal(level_in_64_2("%v = load i32 %x"), UNIFORM_BLOCK);
    assert_int_equal(level_in_64_2("%v = atomic.add i32 %x, 1"), UNIFORM_NOT);
    assert_int_equal(level_in_64_2("%a = thread.x\n%b = sext i64 %a\n%c = ptradd ptr.global %x, "
                                   "%b\n%v = load i32 %c"),
                     UNIFORM_NOT);
}

// A thread gets its own value from a lane that is not there: only some lanes surely are.
TEST(uniform_shuffle_from_a_missing_lane)
{
    static const char *const blocks[] = {"block(40, 1, 1)", ""};
    for (size_t n = 0; n < 2; n++)
        for (uint32_t lane = 0; lane < 4; lane += 3) {
            char input[300];
            snprintf(input, sizeof input,
                     "kernel @k(%%x: ptr.global i32) %s {\n%%a = thread.x\n"
                     "%%v = shuffle.idx i32 %%a, %u, 32\nreturn\n}\n",
                     blocks[n], lane);
            assert_int_equal(level_of(input, "v"), lane ? UNIFORM_NOT : UNIFORM_WARP);
        }
    assert_int_equal(level_in_64_2("%a = thread.x\n%c = slt i32 %a, %n\nL1: if %c {\n"
                                   "%v = shuffle.idx i32 %a, 0, 32\nexit L1\n} else {\nexit "
                                   "L1\n}"),
                     UNIFORM_NOT);
}

static const char branches[] = "kernel @k(%x: ptr.global i32, %n: i32) block(64, 1, 1) {\n"
                               "  %t = thread.x\n"
                               "  %c = slt i32 %t, %n\n"
                               "  L1: if %c -> (%other: i32, %same: i32) {\n"
                               "    exit L1 (i32 1, %n)\n"
                               "  } else {\n"
                               "    exit L1 (i32 2, %n)\n"
                               "  }\n"
                               "  L2: loop (%i: i32 = 0) -> (%left: i32, %outer: i32) {\n"
                               "    %d = slt i32 %i, %t\n"
                               "    L3: if %d {\n"
                               "      exit L3\n"
                               "    } else {\n"
                               "      exit L2 (%i, %n)\n"
                               "    }\n"
                               "    %step = add i32 %i, 1\n"
                               "    next L2 (%step)\n"
                               "  }\n"
                               "  return\n"
                               "}\n";

TEST(uniform_joins)
{
    assert_int_equal(level_of(branches, "other"), UNIFORM_NOT);
    assert_int_equal(level_of(branches, "same"), UNIFORM_BLOCK);
    assert_int_equal(level_of(branches, "i"), UNIFORM_BLOCK); // among those still there
    assert_int_equal(level_of(branches, "left"), UNIFORM_NOT);
    assert_int_equal(level_of(branches, "outer"), UNIFORM_BLOCK);
}

// --- ranges

static range range_in(const char *lines, const char *name)
{
    char input[1500];
    snprintf(
        input, sizeof input,
        "kernel @k(%%x: ptr.global i32, %%n: i32, %%w: i64) block(64, 2, 1) {\n%s\nreturn\n}\n",
        lines);
    facts_case c = read_kernel(input);
    range r = range_compute(c.f, c.a)[named(c.f, name)];
    arena_free(c.a);
    return r;
}

#define RANGE_IS(lines, low, high)                                                                 \
    do {                                                                                           \
        range r_ = range_in(lines, "v");                                                           \
        assert_true(r_.lo == (low));                                                               \
        assert_true(r_.hi == (high));                                                              \
    } while (0)

TEST(range_arithmetic)
{
    RANGE_IS("%v = thread.x", 0, 63);
    RANGE_IS("%t = thread.x\n%v = mul i32 %t, 3", 0, 189);
    RANGE_IS("%t = thread.x\n%a = sub i32 %t, 10\n%v = mul i32 %a, -2", -106, 20);
    RANGE_IS("%v = and i32 %n, 15", 0, 15);
    RANGE_IS("%v = srem i32 %n, 8", -7, 7);
    RANGE_IS("%v = urem i32 %n, 8", 0, 7);
    RANGE_IS("%v = add i32 %n, 1", INT32_MIN, INT32_MAX);
    RANGE_IS("%v = zext i64 %n", 0, UINT32_MAX);
    RANGE_IS("%a = trunc i8 %n\n%v = sext i32 %a", -128, 127);
    RANGE_IS("%t = thread.x\n%v = xor i32 %t, 100", 0, 127);
}

// Each rule at its edges: the smallest constant that it is for, and a value of both signs.
TEST(range_every_rule)
{
#define SIGNED "%t = thread.x\n%a = sub i32 %t, 10\n" // -10 to 53
    RANGE_IS("%t = thread.x\n%v = shl i32 %t, 3", 0, 504);
    RANGE_IS(SIGNED "%v = shl i32 %a, 2", -40, 212);
    RANGE_IS("%t = thread.x\n%a = add i32 %t, 5\n%v = shl i32 %a, 2", 20, 272);
    RANGE_IS("%t = thread.x\n%a = sub i32 %t, 100\n%v = shl i32 %a, 2", -400, -148);
    RANGE_IS("%t = thread.x\n%a = add i32 %t, 5\n%v = udiv i32 %a, 2", 2, 34);
    RANGE_IS(SIGNED "%v = shl i32 %a, 0", -10, 53);
    RANGE_IS(SIGNED "%v = shl i32 %a, 31", INT32_MIN, INT32_MAX);
    RANGE_IS(SIGNED "%v = ashr i32 %a, 1", -5, 26);
    RANGE_IS("%t = thread.x\n%v = lshr i32 %t, 1", 0, 31);
    RANGE_IS(SIGNED "%v = lshr i32 %a, 0", -10, 53);
    RANGE_IS(SIGNED "%v = lshr i32 %a, 1", 0, INT32_MAX);
    RANGE_IS(SIGNED "%v = lshr i32 %a, 31", 0, 1);
    RANGE_IS("%t = thread.x\n%v = udiv i32 %t, 2", 0, 31);
    RANGE_IS("%t = thread.x\n%v = sdiv i32 %t, 3", 0, 21);
    RANGE_IS("%v = udiv i32 %n, 2", 0, INT32_MAX);
    RANGE_IS("%v = udiv i32 %n, 3", 0, UINT32_MAX / 3);
    RANGE_IS("%v = udiv i64 %w, 2", 0, INT64_MAX);
    RANGE_IS("%v = udiv i32 %n, 1", INT32_MIN, INT32_MAX);
    RANGE_IS(SIGNED "%v = srem i32 %a, 8", -7, 7);
    RANGE_IS("%t = thread.x\n%v = srem i32 %t, 8", 0, 7);
    RANGE_IS("%t = thread.x\n%v = urem i32 %t, 100", 0, 63);
    RANGE_IS("%t = thread.x\n%v = or i32 %t, 64", 0, 127);
    RANGE_IS(SIGNED "%v = or i32 %a, 64", INT32_MIN, INT32_MAX);
    RANGE_IS(SIGNED "%v = and i32 %a, %n", INT32_MIN, INT32_MAX);
    RANGE_IS("%t = thread.x\n%v = and i32 %t, 100", 0, 63);
    RANGE_IS(SIGNED "%v = smin i32 %a, 7", -10, 7);
    RANGE_IS(SIGNED "%v = smax i32 %a, 7", 7, 53);
#undef SIGNED
}

TEST(range_conditions)
{
    RANGE_IS("%c = slt i32 %n, 50\nassume %c\n%d = sle i32 1, %n\nassume %d\n%v = add i32 %n, 1", 2,
             50);
    RANGE_IS("%c = ult i32 %n, 10\nL1: if %c {\n%v = mul i32 %n, 4\nexit L1\n} else {\nexit L1\n}",
             0, 36);
    RANGE_IS("%c = slt i32 %n, 0\nL1: if %c {\nreturn\n} else {\nexit L1\n}\n%v = ashr i32 %n, 1",
             0, INT32_MAX / 2);
}

TEST(range_counters)
{
    RANGE_IS("L1: loop (%v: i32 = 5) {\n%c = slt i32 %v, 90\nL2: if %c {\nexit L2\n} else {\n"
             "exit L1\n}\n%s = add i32 %v, 4\nnext L1 (%s)\n}",
             5, 93);
    RANGE_IS("L1: loop (%v: i32 = 0) {\n%c = slt i32 %v, %n\nL2: if %c {\nexit L2\n} else {\n"
             "exit L1\n}\n%s = add i32 %v, 1\nnext L1 (%s)\n}",
             0, INT32_MAX);
    RANGE_IS("L1: loop (%v: i32 = 0) {\n%c = slt i32 %v, %n\nL2: if %c {\nexit L2\n} else {\n"
             "exit L1\n}\n%s = add i32 %v, 2\nnext L1 (%s)\n}",
             INT32_MIN, INT32_MAX);
}

// --- alignment

static uint32_t align_in(const char *lines)
{
    char input[1500];
    snprintf(input, sizeof input,
             "shared $s.0 size(64) align(8) elem(f32)\n"
             "kernel @k(%%x: ptr.global f32, %%n: i32, %%w: i64) block(64, 1, 1) {\n%s\n"
             "return\n}\n",
             lines);
    facts_case c = read_kernel(input);
    uint32_t align = align_compute(c.f, c.a)[named(c.f, "v")];
    arena_free(c.a);
    return align;
}

TEST(align_arithmetic)
{
    assert_int_equal(align_in("%v = shl i32 %n, 3"), 8);
    assert_int_equal(align_in("%v = mul i32 %n, 12"), 4);
    assert_int_equal(align_in("%a = mul i32 %n, 12\n%v = add i32 %a, 8"), 4);
    assert_int_equal(align_in("%v = shared $s.0"), 8);
    assert_int_equal(align_in("%a = shared $s.0\n%v = ptradd ptr.shared %a, i64 20"), 4);
    assert_int_equal(align_in("%a = srem i32 %n, 16\n%c = ieq i32 %a, 0\nassume %c\n"
                              "%v = mul i32 %n, 4"),
                     64);
    // A promise made under a condition holds nowhere else.
    assert_int_equal(align_in("%a = srem i32 %n, 16\n%c = ieq i32 %a, 0\n%d = slt i32 %n, 5\n"
                              "L1: if %d {\nassume %c\nexit L1\n} else {\nexit L1\n}\n"
                              "%v = mul i32 %n, 4"),
                     4);
    assert_int_equal(
        align_in("L1: loop (%v: i32 = 8) {\n%c = slt i32 %v, %n\nL2: if %c {\nexit L2\n"
                 "} else {\nexit L1\n}\n%s = add i32 %v, 4\nnext L1 (%s)\n}"),
        4);
}

// --- loops

static int64_t trips_of(const char *type, const char *init, const char *test, const char *step)
{
    char input[1000];
    snprintf(input, sizeof input,
             "kernel @k(%%n: %s) {\nL1: loop (%%i: %s = %s) {\n%%c = %s\nL2: if %%c {\nexit L2\n"
             "} else {\nexit L1\n}\n%%s = %s\nnext L1 (%%s)\n}\nreturn\n}\n",
             type, type, init, test, step);
    facts_case c = read_kernel(input);
    loop_info l = {0};
    for (ir_inst_id id = 1; id < c.f->insts.len; id++)
        if (c.f->insts.at[id].op == IR_LOOP)
            l = loop_look(c.f, id);
    int64_t trips = loop_trips(c.f, &l, 1 << 16);
    arena_free(c.a);
    return trips;
}

TEST(loop_trip_counts)
{
    assert_int_equal(trips_of("i32", "0", "slt i32 %i, 10", "add i32 %i, 3"), 4);
    assert_int_equal(trips_of("i32", "0", "sle i32 %i, 9", "add i32 %i, 3"), 4);
    assert_int_equal(trips_of("i32", "10", "slt i32 %i, 10", "add i32 %i, 3"), 0);
    assert_int_equal(trips_of("i32", "10", "slt i32 0, %i", "sub i32 %i, 4"), 3);
    assert_int_equal(trips_of("i32", "0", "ine i32 %i, 12", "add i32 %i, 4"), 3);
    assert_int_equal(trips_of("i64", "1", "ult i64 %i, 1000", "shl i64 %i, i32 1"), 10);
    assert_int_equal(trips_of("i32", "0", "slt i32 %i, %n", "add i32 %i, 1"), -1);
    // Wraps past the limit and never ends.
    assert_int_equal(trips_of("i32", "0", "sle i32 %i, 2147483647", "add i32 %i, 1"), -1);
    assert_int_equal(trips_of("i32", "5", "ule i32 0, %i", "sub i32 %i, 1"), -1);
    // Wraps, but ends.
    assert_int_equal(trips_of("i32", "2147483640", "slt i32 0, %i", "add i32 %i, 1"), 8);
    assert_int_equal(trips_of("i32", "-4", "ult i32 7, %i", "add i32 %i, 1"), 4);
}
