// The preprocessor's conditions: which branch is taken, what #if computes, and what is reported.
#include <stdlib.h>

#include "pp_text.h"

TEST(pp_chooses_branches)
{
    expect("#if 0\na\n#elif 1\nb\n#elif 1\nc\n#else\nd\n#endif\ne", "b e");
    expect("#ifdef X\n#if 1\nno\n#else\nno\n#endif\n#else\nyes\n#endif", "yes");
    expect("#ifndef X\n#define X\n#ifdef X\nyes\n#endif\n#endif", "yes");
    expect("#if 0\n'unbalanced \" /* \n#else in a comment */\n#else\nyes\n#endif", "yes");
    expect("#if 0\n#bogus\n#include \"missing\"\n#if (\n#endif\n#endif\nx", "x");
    expect("#if 1\nx\n#elif 1/0\n#endif", "x");
    expect("#define f(x) [x]\nf(\n#if 1\na\n#else\nb\n#endif\n)", "[ a ]");
}

static void expect_condition(const char *condition, bool holds)
{
    char source[300];
    snprintf(source, sizeof source, "#if %s\nyes\n#else\nno\n#endif", condition);
    expect(source, holds ? "yes" : "no");
}

TEST(pp_computes_conditions)
{
    static const char *const true_ones[] = {"1 + 2 * 3 == 7",
                                            "(1 + 2) * 3 == 9",
                                            "10 - 3 - 2 == 5",
                                            "-1 < 0",
                                            "-1 > 0u",
                                            "0x7fffffffffffffff + 1 < 0",
                                            "~0u == 0xffffffffffffffff",
                                            "1 ? 2 : 0",
                                            "0 ? 0 : 1",
                                            "(0 ? 1 : 1u) - 2 > 0",
                                            "1 << 62 > 0",
                                            "-8 >> 1 == -4",
                                            "'a' == 97",
                                            "'\\xff' < 0",
                                            "defined FLAG && defined(FLAG) && !defined(NOPE)",
                                            "undefined_name == 0",
                                            "0 && 1 / 0 || 1",
                                            "1 || 1 / 0",
                                            "7 % 4 == 3",
                                            "-7 / 2 == -3",
                                            "-7 % 2 == -1",
                                            "!0 && !!5",
                                            "(2 | 1 ^ 1 & 3) == 2",
                                            "__has_include(<stdint.h>)",
                                            "!__has_include(\"no_such.h\")",
                                            "ADD(1, 2) == 3",
                                            "18446744073709551615u == -1",
                                            "(-9223372036854775807 - 1) / -1 < 0",
                                            "1 == 1 != 0",
                                            "3 > 2 > 0",
                                            "FROM_OPTION == 42",
                                            "0b11 == 3",
                                            "1 ? 1 : 1 / 0"};
    for (size_t i = 0; i < COUNT(true_ones); i++)
        expect_condition(true_ones[i], true);
    expect_condition("0", false);
    expect_condition("FROM_OPTION != 42", false);
    expect("#define HAS defined(FLAG)\n#if HAS\nyes\n#endif", "yes");
}

// Every operator on numbers at the edges, signed and not, against the host's own arithmetic.
typedef struct operand {
    const char *text;
    uint64_t bits;
    bool is_unsigned;
} operand;

static bool applied(const char *op, operand a, operand b, uint64_t *out) // false: has no value
{
    bool is_unsigned = a.is_unsigned || b.is_unsigned;
    int64_t x = (int64_t)a.bits, y = (int64_t)b.bits;
    bool less = is_unsigned ? a.bits < b.bits : x < y, same = a.bits == b.bits;
    if (strchr("/%", *op) && (!y || (!is_unsigned && x == INT64_MIN && y == -1)))
        return false;
    uint64_t divided = !strchr("/%", *op) ? 0
                       : is_unsigned      ? (*op == '/' ? a.bits / b.bits : a.bits % b.bits)
                                          : (uint64_t)(*op == '/' ? x / y : x % y);
    *out = !strcmp(op, "*")    ? a.bits * b.bits
           : strchr("/%", *op) ? divided
           : !strcmp(op, "+")  ? a.bits + b.bits
           : !strcmp(op, "-")  ? a.bits - b.bits
           : !strcmp(op, "<")  ? less
           : !strcmp(op, ">")  ? !less && !same
           : !strcmp(op, "<=") ? less || same
           : !strcmp(op, ">=") ? !less
           : !strcmp(op, "==") ? same
           : !strcmp(op, "!=") ? !same
           : !strcmp(op, "&")  ? (a.bits & b.bits)
           : !strcmp(op, "^")  ? (a.bits ^ b.bits)
           : !strcmp(op, "|")  ? (a.bits | b.bits)
           : !strcmp(op, "&&") ? a.bits && b.bits
                               : a.bits || b.bits;
    return true;
}

TEST(pp_computes_every_operator)
{
    static const operand values[] = {
        {"0", 0, false},
        {"1", 1, false},
        {"-1", UINT64_MAX, false},
        {"7", 7, false},
        {"-7", 0 - (uint64_t)7, false},
        {"9223372036854775807", INT64_MAX, false},
        {"(-9223372036854775807 - 1)", (uint64_t)1 << 63, false},
        {"0u", 0, true},
        {"1u", 1, true},
        {"7u", 7, true},
        {"9223372036854775808u", (uint64_t)1 << 63, true},
        {"18446744073709551615u", UINT64_MAX, true},
    };
    static const char *const ops[] = {
        "*", "/", "%", "+", "-", "<", ">", "<=", ">=", "==", "!=", "&", "^", "|", "&&", "||"};
    for (size_t o = 0; o < COUNT(ops); o++)
        for (size_t x = 0; x < COUNT(values); x++)
            for (size_t y = 0; y < COUNT(values); y++) {
                char condition[200];
                uint64_t want;
                if (!applied(ops[o], values[x], values[y], &want))
                    continue;
                snprintf(condition, sizeof condition, "((%s %s %s) ^ 0u) == %lluu", values[x].text,
                         ops[o], values[y].text, (unsigned long long)want);
                expect_condition(condition, true);
                snprintf(condition, sizeof condition, "((%s %s %s) ^ 0u) == %lluu", values[x].text,
                         ops[o], values[y].text, (unsigned long long)want ^ 1);
                expect_condition(condition, false);
            }
}

TEST(pp_shifts)
{
    static const struct {
        const char *text;
        uint64_t want;
    } rows[] = {{"1 << 0", 1},
                {"1 << 63", (uint64_t)1 << 63},
                {"1 << 64", 0},
                {"3u >> 1", 1},
                {"-1 >> 63", UINT64_MAX},
                {"-1 >> 64", UINT64_MAX},
                {"-8 >> 0", 0 - (uint64_t)8},
                {"-8 >> 2", 0 - (uint64_t)2},
                {"18446744073709551615u >> 63", 1},
                {"18446744073709551615u >> 64", 0},
                {"4 << -1", 2},
                {"4 >> -1", 8},
                {"1 << 18446744073709551615u", 0}};
    for (size_t n = 0; n < COUNT(rows); n++) {
        char condition[200];
        snprintf(condition, sizeof condition, "((%s) ^ 0u) == %lluu", rows[n].text,
                 (unsigned long long)rows[n].want);
        expect_condition(condition, true);
    }
}

TEST(pp_reports_bad_conditions)
{
    static const char *const bad[] = {
        "",        "1 +",      "(1",  "1)",    "1 2", "1.5",           "\"s\"",
        "defined", "defined(", "1 ?", "1 ? 2", "= 1", "__has_include", "a b"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        char source[100];
        snprintf(source, sizeof source, "#if %s\n#endif\nx", bad[i]);
        expect_codes(source, "K0042");
    }
    expect_codes("#if 1 / 0\n#endif\n#if 5 % 0\n#endif", "K0043 K0043");
    expect_codes("#if target_sm() > 80\n#endif", "K0044");
}

TEST(pp_reports_misplaced_branches)
{
    expect_codes("#if 1\nx", "K0021");
    expect_codes("#if 0\nx", "K0021");
    expect_codes("#else\n#elif 1\n#endif", "K0022 K0022 K0022");
    expect_codes("#if 1\n#else\n#else\n#elif 1\n#endif", "K0023 K0023");
    expect_codes("#if 0\n#else\n#else\n#endif", "K0023");
    expect_codes("#ifdef A B\n#endif C", "K0024 K0024");
}
