// Values on the command line: scalars, shapes, lists, members; .npy in memory and on disk; layouts
// as text; what is inferred about a launch.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/infer.h"
#include "cli/value.h"
#include "compile.h"
#include "tests/test.h"

static void is_integer(kiln_type of, const char *word, int64_t want)
{
    char why[VALUE_WHY] = "";
    int64_t got = 0;
    if (!value_scalar(of, word, &got, why))
        fail_msg("%s: %s", word, why);
    assert_memory_equal(&got, &want, kiln_type_size(of));
}

static void is_refused(kiln_type of, const char *word, const char *reason)
{
    char why[VALUE_WHY] = "";
    uint64_t got;
    if (value_scalar(of, word, &got, why))
        fail_msg("%s is taken", word);
    if (!strstr(why, reason))
        fail_msg("%s: %s", word, why);
}

TEST(cli_integers_keep_every_bit)
{
    is_integer(KILN_U64, "18446744073709551615", -1);
    is_integer(KILN_U64, "0x8000000000000000", INT64_MIN);
    is_integer(KILN_I64, "-9223372036854775808", INT64_MIN);
    is_integer(KILN_I64, "8G", INT64_C(8) << 30);
    is_integer(KILN_I32, "-2147483648", INT32_MIN);
    is_integer(KILN_U8, "255", 255);
    is_integer(KILN_I8, "-128", -128);
    is_integer(KILN_U32, "1e6", 1000000);
    is_integer(KILN_U32, "64K", 65536);
    is_integer(KILN_U32, "-0", 0);
    is_integer(KILN_BOOL, "true", 1);
    is_refused(KILN_U64, "18446744073709551616", "does not fit");
    is_refused(KILN_U64, "-1", "does not fit");
    is_refused(KILN_I64, "9223372036854775808", "does not fit");
    is_refused(KILN_I64, "-9223372036854775809", "does not fit");
    is_refused(KILN_U64, "99999999999999999999999", "does not fit");
    is_refused(KILN_U64, "17179869184G", "does not fit");
    is_refused(KILN_U64, "1e30", "does not fit");
    is_refused(KILN_U32, "1.5", "not an integer");
    is_refused(KILN_U32, "", "not an integer");
    is_refused(KILN_U32, " 1", "not an integer");
    is_refused(KILN_U32, "1KK", "not an integer");
    is_refused(KILN_BOOL, "2", "does not fit");
}

TEST(cli_floats_are_rounded_once_and_never_to_infinity)
{
    char why[VALUE_WHY];
    float f;
    uint16_t h;
    assert_true(value_scalar(KILN_F32, "0x1p-3", &f, why) && f == 0.125f);
    assert_true(value_scalar(KILN_F32, "-inf", &f, why) && isinf(f) && f < 0);
    assert_true(value_scalar(KILN_F32, "nan", &f, why) && isnan(f));
    assert_true(value_scalar(KILN_F16, "0.33333", &h, why) && h == 0x3555);
    assert_true(value_scalar(KILN_BF16, "1.00390625", &h, why) && h == 0x3f80); // to even
    assert_true(value_scalar(KILN_F32, "infinity", &f, why) && isinf(f));
    is_refused(KILN_F32, "1e39", "too large");
    is_refused(KILN_F64, "1e400", "too large");
    is_refused(KILN_F16, "65536", "too large");
    is_refused(KILN_F32, "1.0f", "not a number");
    is_refused(KILN_F32, "", "not a number");
}

TEST(cli_shapes)
{
    value_shape s;
    assert_true(value_read_shape("3x4", 3, &s) && s.rank == 2 && s.count == 12 && s.size[1] == 4);
    assert_true(value_read_shape("1M", 2, &s) && s.rank == 1 && s.count == 1 << 20);
    assert_true(value_read_shape("0x10", 4, &s) && s.rank == 1 && s.count == 16);
    assert_true(value_read_shape("2x0x10", 6, &s) && s.rank == 2 && s.count == 32);
    assert_true(value_read_shape("0", 1, &s) && s.count == 0);
    static const char *const bad[] = {"",     "x",    "3x",   "x3",         "3xx4",
                                      "-1x2", "3x-4", "3.5x", "4G4Gx4Gx4G", "3x4y"};
    for (size_t k = 0; k < COUNT(bad); k++)
        if (value_read_shape(bad[k], strlen(bad[k]), &s))
            fail_msg("'%s' is taken as a shape", bad[k]);
}

// struct { u8 tag; struct { i32 a; f32 b; } two[2]; f32x3 pos; }
static layout pair_parts[2], two_part, vector_part, deep_parts[3];

static layout deep(void)
{
    pair_parts[0] = layout_scalar(KILN_I32);
    pair_parts[0].name = "a";
    pair_parts[1] = layout_scalar(KILN_F32);
    pair_parts[1].name = "b";
    pair_parts[1].offset = 4;
    two_part = (layout){.kind = LAYOUT_RECORD, .size = 8, .parts = pair_parts, .part_count = 2};
    vector_part = layout_scalar(KILN_F32);
    deep_parts[0] = layout_scalar(KILN_U8);
    deep_parts[0].name = "tag";
    deep_parts[1] = (layout){.kind = LAYOUT_ARRAY,
                             .name = "two",
                             .offset = 4,
                             .size = 16,
                             .count = 2,
                             .parts = &two_part};
    deep_parts[2] = (layout){.kind = LAYOUT_ARRAY,
                             .name = "pos",
                             .offset = 20,
                             .size = 12,
                             .count = 3,
                             .is_vector = true,
                             .parts = &vector_part};
    return (layout){.kind = LAYOUT_RECORD, .size = 32, .parts = deep_parts, .part_count = 3};
}

static void is_shown(const layout *l, const void *at, const char *want)
{
    text out = {.in = arena_new()};
    layout_show(l, at, &out);
    assert_string_equal(out.at, want);
    arena_free(out.in);
}

TEST(cli_members_by_path)
{
    layout l = deep();
    char why[LAYOUT_WHY];
    size_t offset;
    assert_non_null(layout_find(&l, "", &offset, why));
    assert_true(layout_find(&l, ".two[1].b", &offset, why) && offset == 16);
    assert_true(layout_find(&l, ".pos.z", &offset, why) && offset == 28);
    assert_true(layout_find(&l, ".pos[2]", &offset, why) && offset == 28);
    static const char *const bad[] = {".none",   ".two[2]", ".two[-1]", ".two[x]", ".pos.w", "tag",
                                      ".tag[0]", ".two.a",  "[0]",      ".",       ".two[1"};
    for (size_t k = 0; k < COUNT(bad); k++)
        if (layout_find(&l, bad[k], &offset, why))
            fail_msg("'%s' names a member", bad[k]);
    assert_int_equal(layout_scalar_count(&l), 8);
}

TEST(cli_literals_fill_what_they_name)
{
    layout l = deep();
    unsigned char bytes[32] = {0};
    char why[VALUE_WHY] = "";
    assert_true(value_read(&l, "[1,[[2,3],[4,5]],[6,7,8]]", bytes, why));
    is_shown(&l, bytes, "{tag=1 two=[{a=2 b=3} {a=4 b=5}] pos=(6 7 8)}");
    assert_true(value_read(&l, "{pos=[1,2,3], two[1].a=-9}", bytes, why));
    is_shown(&l, bytes, "{tag=1 two=[{a=2 b=3} {a=-9 b=5}] pos=(1 2 3)}");
    static const char *const bad[] = {"[1,[[2,3],[4,5]],[6,7]]",
                                      "[1,[[2,3],[4,5]],[6,7,8],9]",
                                      "[256,[[2,3],[4,5]],[6,7,8]]",
                                      "{pos=[1,2,3]",
                                      "{none=1}",
                                      "[1",
                                      "1",
                                      "",
                                      "{}x",
                                      "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["};
    for (size_t k = 0; k < COUNT(bad); k++)
        if (value_read(&l, bad[k], bytes, why))
            fail_msg("'%s' is taken", bad[k]);
}

TEST(cli_lists_have_shapes)
{
    layout f32 = layout_scalar(KILN_F32), u8 = layout_scalar(KILN_U8), l = deep();
    value_list list;
    char why[VALUE_WHY] = "";
    assert_true(value_read_list(&f32, "[[1,2,3],[4,5,6]]", &list, why));
    assert_int_equal(list.shape.rank, 2);
    assert_int_equal(list.shape.size[0], 2);
    assert_int_equal(list.shape.size[1], 3);
    assert_true(((float *)(void *)list.bytes)[5] == 6.0f);
    free(list.bytes);
    assert_true(value_read_list(&deep_parts[2], "[1,2,3,4,5,6]", &list, why));
    assert_int_equal(list.shape.count, 2);
    free(list.bytes);
    assert_true(value_read_list(&deep_parts[2], "[[1,2,3]]", &list, why));
    assert_int_equal(list.shape.count, 1);
    free(list.bytes);
    assert_true(value_read_list(&l, "[{tag=1},{tag=2},{}]", &list, why));
    assert_int_equal(list.shape.count, 3);
    assert_int_equal(list.bytes[32], 2);
    free(list.bytes);
    assert_true(value_read_list(&f32, "[]", &list, why));
    assert_int_equal(list.shape.count, 0);
    free(list.bytes);
    assert_true(value_read_list(&u8, "\"abc\"", &list, why));
    assert_int_equal(list.shape.count, 3);
    free(list.bytes);
    static const char *const bad[] = {"[1,2",         "[[1,2],[3]]", "[1,,2]", "[1,2]]",
                                      "[[1],[2],3]]", "[x]",         "\"ab",   "1"};
    for (size_t k = 0; k < COUNT(bad); k++)
        if (value_read_list(&f32, bad[k], &list, why))
            fail_msg("'%s' is taken", bad[k]);
    assert_false(value_read_list(&f32, "\"abcd\"", &list, why));
    assert_false(value_read_list(&deep_parts[2], "[1,2]", &list, why));
}

// --- .npy

/* A record without a byte, repeated without end. */
#define ENDLESS                                                                                    \
    "{'descr': [('a', [('', '<f4')], (256666666666666666,))], 'fortran_order': False, "            \
    "'shape': (1,), }"

static bool read_made(const char *header, const void *data, size_t bytes, npy *out, char *why)
{
    unsigned char file[4096] = "\x93NUMPY\x01";
    size_t len = strlen(header);
    file[8] = (unsigned char)len;
    file[9] = (unsigned char)(len >> 8);
    memcpy(file + 10, header, len);
    memcpy(file + 10 + len, data, bytes);
    return npy_read_bytes(file, 10 + len + bytes, out, why);
}

TEST(npy_structured_types_are_fields)
{
    unsigned char data[64] = {0};
    npy n;
    char why[NPY_WHY] = "";
    const char *header = "{'descr': [('m', '<f4'), ('', '|V4'), ('pos', [('x', '<f4'), ('y', "
                         "'<f4')]), ('two', [('a', '<i2')], (2,)), ('v', '<f4', (3,))], "
                         "'fortran_order': False, 'shape': (1,), }";
    if (!read_made(header, data, sizeof data, &n, why))
        fail_msg("%s", why);
    assert_int_equal(n.element_size, 32);
    assert_int_equal(n.field_count, 6);
    static const struct {
        const char *path;
        size_t offset, count;
    } want[] = {{"m", 0, 1},         {"pos.x", 8, 1},     {"pos.y", 12, 1},
                {"two[0].a", 16, 1}, {"two[1].a", 18, 1}, {"v", 20, 3}};
    for (size_t k = 0; k < COUNT(want); k++) {
        assert_string_equal(n.fields[k].path, want[k].path);
        assert_int_equal(n.fields[k].offset, want[k].offset);
        assert_int_equal(n.fields[k].count, want[k].count);
    }
    npy_free(&n);
}

TEST(npy_headers_that_are_wrong_are_refused)
{
    static const char *const bad[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, -4), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (x,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 1), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }",
        "{'descr': '<f4', 'shape': (1,), }",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<q8', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '|V0', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '|V99999999', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': [], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': [('a', '<f4', (1048576,))], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': [('a', [('b', '<f4')], (1000,))], 'fortran_order': False, 'shape': (1,), }",
        ENDLESS,
        "{'descr': [('a', '<f4'], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (100,), }",
        "",
        "{",
        "{'",
        "[]"};
    unsigned char data[16] = {0};
    for (size_t k = 0; k < COUNT(bad); k++) {
        npy n;
        char why[NPY_WHY] = "";
        if (read_made(bad[k], data, sizeof data, &n, why))
            fail_msg("taken: %s", bad[k]);
        if (!why[0])
            fail_msg("without a reason: %s", bad[k]);
        for (const char *c = why; *c; c++)
            assert_in_range(*c, ' ', '~');
    }
}

TEST(npy_orders_are_turned)
{
    npy n;
    char why[NPY_WHY];
    unsigned char column_major[6] = {1, 4, 2, 5, 3, 6}, big[4] = {1, 2, 3, 4};
    assert_true(read_made("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }",
                          column_major, 6, &n, why));
    assert_memory_equal(n.data, "\1\2\3\4\5\6", 6);
    npy_free(&n);
    assert_true(
        read_made("{'descr': '>u2', 'fortran_order': False, 'shape': (2,), }", big, 4, &n, why));
    assert_memory_equal(n.data, "\2\1\4\3", 4);
    npy_free(&n);
}

TEST(npy_reads_what_it_writes)
{
    char path[64], why[NPY_WHY] = "";
    snprintf(path, sizeof path, "/tmp/kiln-npy-%ld.npy", (long)getpid());
    float data[6] = {1, 2, 3, 4, 5, 6};
    npy n;
    assert_true(npy_write(path, "'<f4'", (size_t[]){2, 3}, 2, data, sizeof data, why));
    if (!npy_read(path, &n, why))
        fail_msg("%s", why);
    assert_int_equal(n.rank, 2);
    assert_int_equal(n.shape[1], 3);
    assert_memory_equal(n.data, data, sizeof data);
    npy_free(&n);
    layout l = deep();
    text descr = {.in = arena_new()};
    layout_descr(&l, &descr);
    unsigned char records[64] = {7};
    assert_true(npy_write(path, descr.at, (size_t[]){2}, 1, records, sizeof records, why));
    if (!npy_read(path, &n, why))
        fail_msg("%s", why);
    assert_int_equal(n.element_size, 32);
    assert_int_equal(n.field_count, 6); // tag, two[0].a …, pos
    assert_memory_equal(n.data, records, sizeof records);
    npy_free(&n);
    arena_free(descr.in);
    unlink(path);
}

// --- inference

static str kept_ir;
static arena *kept_in;

static void keep(void *user, const char *name, front *f, ir_module *m)
{
    (void)user;
    (void)f;
    if (strcmp(name, "cse") != 0 || kept_ir.len)
        return;
    text out = {.in = kept_in};
    ir_print_module(m, &out);
    kept_ir = (str){out.at, out.len};
}

static ir_func *kernel_of(const char *body)
{
    const char *wrong = NULL;
    kept_ir = (str){0};
    kept_in = arena_new();
    char *source = str_format(kept_in, "#include <kiln/kernel.h>\n%s", body);
    compile_options o = {.source = source, .level = 2, .no_remarks = true, .stage = keep};
    compile_outcome outcome = compile_run(&o);
    if (outcome.status)
        fail_msg("%s", outcome.log);
    compile_outcome_free(&outcome);
    return ir_read(kept_in, names_in(kept_in), kept_ir, &wrong)->funcs.at[0];
}

TEST(infer_bounds_the_grid_by_what_indices_are_compared_with)
{
    static const uint32_t block[3] = {128, 1, 1};
    static const struct {
        const char *body;
        uint64_t blocks; // 0: unknown
    } cases[] = {
        {"if (global_x() < n) x[0] = 1;", 8},
        {"if (global_x() >= n) return; x[0] = 1;", 8},
        {"if (n > global_x()) x[0] = 1;", 8},
        {"if (global_x() <= n) x[0] = 1;", 8},
        {"if (global_x() + 1 < n) x[0] = 1;", 8},
        {"if (global_x() + m <= n) x[0] = 1;", 8},
        {"if (global_x() * 4 < n) x[0] = 1;", 2},
        {"if (global_x() / m < n) x[0] = 1;", 55},
        {"if (global_x() / 2 >= n) return; x[0] = 1;", 16},
        {"if (block_x() < n) x[0] = 1;", 1000},
        {"if (block_x() < m) x[0] = 1;", 7},
        {"for (u32 i = global_x(); i < n; i += grid_dim_x() * 128) x[i] = 1;", 8},
        {"for (u32 k = 0; k < 2; k++) if (block_x() * 256 + k * 128 + thread_x() < n) x[k] = 1;",
         4},
        {"if ((u64)global_x() < (u64)n * m) x[0] = 1;", 55},
        {"if (thread_x() < n) x[thread_x()] = 1;", 1},
        {"if (global_x() < x[0]) x[1] = 1;", 0},
        {"x[block_x()] = 1;", 0},
    };
    for (size_t k = 0; k < COUNT(cases); k++) {
        char body[300];
        snprintf(body, sizeof body, "kernel block(128) void f(u32 *x, u32 n, u32 m) { %s }",
                 cases[k].body);
        ir_func *f = kernel_of(body);
        infer_arg args[3] = {{0},
                             {.is_known = true, .value = 1000, .is_integer = true},
                             {.is_known = true, .value = 7, .is_integer = true}};
        infer_axis axes[3];
        infer_grid(f, kept_in, args, block, axes);
        if (axes[0].is_known != (cases[k].blocks != 0) ||
            (axes[0].is_known && axes[0].blocks != cases[k].blocks))
            fail_msg("%s: %d %llu", cases[k].body, axes[0].is_known,
                     (unsigned long long)axes[0].blocks);
        arena_free(kept_in);
    }
}

TEST(infer_says_how_far_a_kernel_reaches)
{
    static const uint32_t block[3] = {128, 1, 1}, grid[3] = {8, 1, 1};
    static const struct {
        const char *body;
        int64_t elements; // -1: not bounded
    } cases[] = {
        {"if (global_x() < n) x[global_x()] = 1;", 1000},
        {"x[global_x()] = 1;", 1024},
        {"x[thread_x()] = 1;", 128},
        {"if (global_x() < n && global_x() > 0) x[global_x() - 1] = 1;", 999},
        {"if (block_x() < m) for (u32 c = thread_x(); c < n; c += 128) x[block_x() * n + c] = 1;",
         7000},
        {"if (global_x() < n) x[global_x() / 32] = 1;", 32},
        {"u32 r = global_x() / m; if (r < 10) x[r * m + global_x() % m] = 1;", 70},
        {"if (global_x() / m < 10) x[global_x()] = 1;", 70},
        {"if (global_x() < n) x[global_x() % m] = 1;", 7},
        {"if (global_x() < n) x[x[global_x()]] = 1;", -1},
        {"for (u32 k = 0; x[k]; k++) x[k] = 0;", -1},
        {"if (thread_x() == 0) x[block_x()] = 1;", 8},
        {"for (u32 s = 64; s > 0; s /= 2) if (thread_x() < s) x[thread_x() + s] = 1;", 128},
        {"atomic_add(&x[m], 1);", 8},
    };
    for (size_t k = 0; k < COUNT(cases); k++) {
        char body[300];
        snprintf(body, sizeof body, "kernel block(128) void f(u32 *x, u32 n, u32 m) { %s }",
                 cases[k].body);
        ir_func *f = kernel_of(body);
        infer_arg args[3] = {{0},
                             {.is_known = true, .value = 1000, .is_integer = true},
                             {.is_known = true, .value = 7, .is_integer = true}};
        uint64_t bytes = 0;
        bool is_bounded = infer_bytes(f, kept_in, args, block, grid, 0, &bytes);
        int64_t elements = is_bounded ? (int64_t)(bytes / 4) : -1;
        if (elements != cases[k].elements)
            fail_msg("%s: %lld", cases[k].body, (long long)elements);
        arena_free(kept_in);
    }
}
