// Lowering: the shape of the IR that comes out of a few lines of C.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front/front.h"
#include "tests/test.h"

static arena *test_arena; // of the newest text

static void drop_arena(void)
{
    arena_free(test_arena);
    test_arena = NULL;
}

// Kiln C to printed IR, verified; NULL after an error (`errors` gets the rendered text).
static const char *lower_text(const char *body, const char **errors)
{
    if (test_arena)
        drop_arena();
    arena *a = test_arena = arena_new();
    static const front_options options = {0};
    front f = {.in = a, .names = names_in(a), .sources = sources_in(a), .options = &options};
    f.diags = diags_in(a, f.sources);
    const char *all = str_format(a, "#include <kiln/kernel.h>\n%s\n", body);
    source_file *file = source_add(f.sources, "test.c", str_of(all));
    text out = {.in = a};
    if (pp_run(&f, file))
        parse_file(&f);
    if (!f.diags->error_count)
        lower_module(&f);
    if (f.diags->error_count) {
        diag_render_text(f.diags, &out, false);
        *errors = out.at;
        return NULL;
    }
    const char *problem = ir_verify_module(f.module, a);
    if (problem)
        printf("%s\n", problem);
    assert_null(problem);
    ir_print_module(f.module, &out);
    return out.at;
}

static const char *lowered(const char *body)
{
    const char *errors = NULL;
    const char *out = lower_text(body, &errors);
    if (errors)
        printf("%s\n", errors);
    assert_non_null(out);
    return out;
}

static unsigned count(const char *in, const char *what)
{
    unsigned n = 0;
    for (const char *at = in; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

#define HAS(out, what)                                                                             \
    do {                                                                                           \
        if (!strstr(out, what))                                                                    \
            printf("no '%s' in:\n%s\n", what, out);                                                \
        assert_non_null(strstr(out, what));                                                        \
    } while (0)

#define HAS_NOT(out, what)                                                                         \
    do {                                                                                           \
        if (strstr(out, what))                                                                     \
            printf("'%s' in:\n%s\n", what, out);                                                   \
        assert_null(strstr(out, what));                                                            \
    } while (0)

#define DONE drop_arena()

TEST(lower_reads_pointer_parameters_directly)
{
    const char *out = lowered("kernel void f(f32 *x, u32 n) { if (thread_x() < n) x[1] = x[2]; }");
    HAS(out, "load f32 %x offset(8)");
    HAS(out, "offset(4)");
    HAS_NOT(out, "ptrcast");
    HAS_NOT(out, "local");
    DONE;
}

TEST(lower_extends_indices_by_their_sign)
{
    const char *out = lowered("kernel void f(f32 *x, i32 i, u32 j) { x[i] = x[j]; }");
    HAS(out, "sext");
    HAS(out, "zext");
    HAS(out, "mul i64");
    DONE;
}

TEST(lower_drops_the_branch_a_constant_skips)
{
    const char *out =
        lowered("kernel void f(i32 *x) { if (target_sm() >= 90) x[0] = 1; else x[0] = 2;\n"
                "  while (0) x[1] = 3; do { x[2] = 4; } while (0); }");
    HAS_NOT(out, "if");
    HAS_NOT(out, "loop");
    assert_int_equal(count(out, "store"), 2);
    DONE;
}

TEST(lower_wraps_a_body_with_continue_in_a_block)
{
    const char *out = lowered("kernel void f(i32 *x, i32 n) { for (i32 i = 0; i < n; i++) {\n"
                              "  if (x[i]) continue; x[i] = i; } }");
    assert_int_equal(count(out, ": loop"), 1);
    assert_int_equal(count(out, ": block"), 1);
    out = lowered("kernel void f(i32 *x, i32 n) { for (i32 i = 0; i < n; i++) x[i] = i; }");
    assert_int_equal(count(out, ": block"), 0);
    DONE;
}

TEST(lower_keeps_infinite_loops_sound)
{
    lowered("kernel void f(i32 *x) { for (;;) { if (*x) break; } x[1] = 1; }");
    lowered("kernel void f(i32 *x) { for (;;) { *x = 1; } }");
    lowered(
        "kernel void f(i32 *x) { do { if (*x) return; if (x[1]) continue; x[2]++; } while (1); }");
    lowered("static i32 g(i32 *x) { while (1) { if (*x) return 1; } }\n"
            "kernel void f(i32 *x) { *x = g(x); }");
    DONE;
}

TEST(lower_switch_without_fallthrough_has_no_blocks)
{
    const char *out = lowered("kernel void f(i32 *x, i32 n) { switch (n) { case 1: *x = 1; break;\n"
                              " case -2: *x = 2; break; default: *x = 3; } }");
    HAS(out, "case -2:");
    HAS_NOT(out, ": block");
    DONE;
}

TEST(lower_switch_falls_through)
{
    const char *out =
        lowered("kernel void f(i32 *x, u32 n) { switch (n) { case 1: case 2: x[0] = 1;\n"
                " default: x[1] = 2; break; case 0xffffffffu: x[2] = 3; } }");
    HAS(out, "case -1:");
    assert_int_equal(count(out, ": block"), 3);
    assert_int_equal(count(out, "store"), 3);
    lowered("kernel void f(i32 *x, u32 n) { for (u32 i = 0; i < n; i++) switch (i) { case 1: "
            "continue;\n"
            " case 2: return; case 3: x[0] = 1; break; } }");
    DONE;
}

TEST(lower_switch_groups_share_declarations)
{
    lowered(
        "kernel void f(i32 *x, i32 n) { switch (n) { i32 c; case 0: c = 1; i32 d = 2; x[0] = d;\n"
        " case 1: x[1] = c; d = 3; x[2] = d; break; case 2: { i32 e = n; x[3] = e; } } }");
    DONE;
}

TEST(lower_moves_vectors_in_one_access)
{
    const char *out = lowered("kernel void f(f32x4 *x) { x[1] = x[0]; }");
    HAS(out, "align(16)");
    assert_int_equal(count(out, "load f32"), 1);
    assert_int_equal(count(out, "store f32"), 1);
    DONE;
}

TEST(lower_passes_records_by_address)
{
    const char *out = lowered("typedef struct { f32 a; i32 b[3]; } s;\n"
                              "static s twice(s v) { v.a *= 2.0f; v.b[1] = 7; return v; }\n"
                              "kernel void f(s *x) { x[0] = twice(x[1]); }");
    HAS(out, "call @twice");
    HAS(out, "func @twice(%__result: ptr.gen");
    DONE;
}

TEST(lower_reads_record_parameters_of_kernels_in_place)
{
    const char *out =
        lowered("typedef struct { f32 a; i32 b[3]; } s;\n"
                "kernel void f(s p, f32 *x, i32 i) { x[0] = p.a; x[1] = (f32)p.b[i]; }");
    HAS_NOT(out, "local");
    out = lowered("typedef struct { f32 a; i32 b[3]; } s;\n"
                  "kernel void f(s p, f32 *x) { p.a = 1.0f; x[0] = p.a; }");
    HAS(out, "local");
    out = lowered("typedef struct { f32 a; i32 b[3]; } s;\n"
                  "kernel void f(s p, i32 *x) { i32 *q = p.b; q[1] = 3; x[0] = p.b[1]; }");
    HAS_NOT(out, "ptrcast ptr.gen %p");
    DONE;
}

TEST(lower_shared_arrays_keep_their_space)
{
    const char *out =
        lowered("kernel block(32) void f(f32 *x) { shared f32 tile[8][33];\n"
                " tile[thread_x() % 8][lane()] = 1.0f; barrier(); x[lane()] = tile[3][lane()]; }");
    HAS(out, "shared");
    HAS(out, "barrier");
    HAS_NOT(out, "ptrcast");
    DONE;
}

TEST(lower_constant_tables_become_data)
{
    const char *out = lowered("static const i32 table[2][2] = {{1, 2}, {[1] = -1}};\n"
                              "kernel void f(i32 *x, u32 i) { static const f32 scale = 2.0f;\n"
                              " x[0] = table[i][1]; if (scale > 1.0f) x[1] = 2; }");
    HAS(out, "01 00 00 00 02 00 00 00 00 00 00 00 ff ff ff ff");
    HAS(out, "constant");
    DONE;
}

TEST(lower_short_circuit_gives_an_i1)
{
    const char *out =
        lowered("kernel void f(i32 *x, i32 n) { if (n > 0 && x[n] > 1 || n == -5) x[0] = 1; }");
    assert_int_equal(count(out, "-> ("), 2);
    DONE;
}

TEST(lower_printf_folds_literals_and_promotes)
{
    const char *out = lowered(
        "kernel void f(f32 *x, i8 *y) { printf(\"%s=%5s|%-4s|100%% %f %d\\n\", \"a%\", \"bc\",\n"
        " \"d\", x[0], y[0]); }");
    HAS(out, "a%%=   bc|d   |100%% %f %d");
    HAS(out, "fext");
    HAS(out, "sext");
    DONE;
}

TEST(lower_narrow_arithmetic_goes_through_i32)
{
    const char *out = lowered(
        "kernel void f(u8 *x, i16 *y, bool *b) { x[0] += 1; y[0]--; y[1] <<= 3; b[0] = x[1];\n"
        " x[2] = (u8)(x[3] * x[4] >> 2); x[5] |= (u8)b[1]; }");
    HAS_NOT(out, "add i8");
    HAS_NOT(out, "mul i8");
    HAS(out, "store i1");
    DONE;
}

TEST(lower_pointers_in_variables_are_generic)
{
    const char *out = lowered(
        "kernel void f(f32 *x, i32 n) { f32 *p = x + 3; const f32 *end = &x[n]; i64 d = end - p;\n"
        " while (p < end) *p++ = (f32)(i32)d; if (!p) p -= 2; x = p; x[0] = 1.0f; }");
    HAS(out, "ptrcast");
    HAS(out, "ashr i64");
    DONE;
}

TEST(lower_all_reductions_and_scans)
{
    static const char *const types[] = {"i32", "u32", "i64", "u64", "f32", "f64"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char body[1200];
        snprintf(
            body, sizeof body,
            "kernel void f(%s *x) { %s v = x[thread_rank()];\n"
            " x[0] = warp_sum(v); x[1] = warp_min(v); x[2] = warp_max(v); x[3] = block_sum(v);\n"
            " x[4] = block_min(v); x[5] = block_max(v); x[6] = warp_scan_sum(v); x[7] = "
            "warp_scan_min(v);\n"
            " x[8] = warp_scan_max(v); x[9] = warp_scan_sum_before(v); x[10] = block_scan_sum(v);\n"
            " x[11] = block_scan_min(v); x[12] = block_scan_max(v); x[13] = "
            "block_scan_sum_before(v); }",
            types[i], types[i]);
        lowered(body);
        DONE;
    }
    lowered("kernel void f(u64 *x, u32 *y, bool c) { x[0] = warp_and(x[1]); x[1] = warp_or(x[2]); "
            "x[2] = warp_xor(x[3]);\n"
            " x[4] = block_and(x[5]); x[5] = block_or(x[6]); x[6] = block_xor(x[7]); y[0] = "
            "warp_and(y[1]);\n"
            " y[2] = block_xor(y[3]); y[3] = block_count(c); y[4] = block_any(c); y[5] = "
            "block_all(c); }");
    DONE;
}

TEST(lower_builtins)
{
    lowered(
        "kernel void f(u32 *x, f32 *y, f64 *z, u64 *w, i32 *v) {\n"
        " x[0] = thread_x() + block_y() * block_dim_z() + grid_dim_x() + global_y() + "
        "thread_rank();\n"
        " x[1] = block_threads() + lane() + warp() + warp_count() + warp_lanes() + "
        "dynamic_shared_bytes();\n"
        " barrier(); warp_sync(); fence_block(); fence_device(); fence_system();\n"
        " y[0] = shuffle(y[0], 3) + shuffle_up(y[1], 1) + shuffle_down(y[2], 2) + "
        "shuffle_xor(y[3], 4);\n"
        " z[0] = shuffle_xor_in(z[0], 1, 8); x[2] = warp_ballot(x[0] > 1) + warp_active() + "
        "warp_match(w[0]);\n"
        " x[3] = warp_any(x[1]) + warp_all(x[2] != 0);\n"
        " atomic_add(&x[0], 1); atomic_sub(&x[0], 1); atomic_min(v, -1); atomic_max(x, 2); "
        "atomic_add(y, 1.0f);\n"
        " atomic_sub(z, 2.0); atomic_max(y, 3.0f); x[4] = atomic_swap(&x[5], 7); w[0] = "
        "atomic_cas(&w[1], 1, 2);\n"
        " atomic_store_at(x, 1, order_release, scope_block); x[6] = atomic_load_at(x, "
        "order_acquire, scope_system);\n"
        " fence_at(order_seq_cst, scope_device);\n"
        " v[0] = min(v[1], 3) + max(v[2], v[3]) + clamp(v[4], 0, 9) + abs(v[5]); x[7] = min(x[8], "
        "x[9]);\n"
        " y[1] = fma(y[1], y[2], y[3]) + sqrt(y[4]) + fabs(y[5]) + min(y[6], 1.0f) + "
        "copysign(y[7], -1.0f);\n"
        " v[6] = isnan(y[0]) + isinf(z[0]) + isfinite(y[1]) + signbit(z[2]);\n"
        " y[2] = fast_exp(y[0]) + fast_log(y[1]) + fast_pow(y[2], y[3]) + fast_div(y[1], y[2]);\n"
        " x[10] = popcount(w[1]) + leading_zeros(x[1]) + trailing_zeros(w[2]) + "
        "reverse_bits(x[3]);\n"
        " w[3] = rotate_left(w[4], 3) ^ rotate_right(w[5], x[0]) ^ funnel_left(w[6], w[7], 9) ^ "
        "mul_high(w[0], w[1]);\n"
        " x[11] = permute_bytes(x[1], x[2], 0x5410); v[7] = dot4_i8(x[1], x[2], v[1]);\n"
        " x[12] = bits_f32(y[1]); w[8] = bits_f64(z[1]); y[3] = f32_from_bits(x[1]);\n"
        " v[8] = unpack_i4(x[1], 3); x[13] = pack_i4(x[1], 2, v[1]);\n"
        " assert(x[0] > 0); assume(x[1] < 5); if (x[2]) trap(); w[9] = clock_cycles() + "
        "nano_time(); nano_sleep(10);\n"
        " prefetch(x); store_stream(&y[4], load_readonly(&y[5]) + load_stream(&y[6]));\n"
        " if (x[3] > 7) unreachable(); }");
    DONE;
    lowered("kernel void f(f16 *a, bf16 *b, f8e4 *c, f8e5 *d, f16x2 *p, bf16x2 *q, f32x4 *r, f32 "
            "*y) {\n"
            " a[0] = to_f16(f32(b[0]) + f32(c[0]) + f32(d[0])); b[1] = to_bf16(f32(a[1])); c[1] = "
            "to_f8e4(y[0]);\n"
            " d[1] = to_f8e5(y[1]); p[0] = fma2(p[1], add2(p[2], p[3]), mul2(p[4], p[5])); q[0] = "
            "max2(q[1], min2(q[2], sub2(q[3], q[4])));\n"
            " p[1] = to_f16x2(y[0], y[1]); q[1] = to_bf16x2(y[2], y[3]); a[2] = "
            "f16_from_bits(bits_f16(a[3]));\n"
            " a[4] = shuffle_xor(a[5], 1); b[2] = shuffle(b[3], 0); store_stream(&r[0], "
            "load_readonly(&r[1])); y[4] = f32(p[2].x); }");
    DONE;
}

TEST(lower_records_everywhere)
{
    lowered("typedef struct { f32x4 v; i32 n; struct { u8 a, b; } in[2]; } s; typedef union { f32 "
            "f; u32 u; u8 b[8]; } u;\n"
            "static s make(i32 n) { return (s){.n = n, .in[1].b = 3}; }\n"
            "static s pick(bool c, s a, s b) { return c ? a : b; }\n"
            "kernel void f(s *x, u *y, i32 n) { s a = {{1, 2, 3, 4}, 5}, b = a, c; c = b = "
            "make(n); x[0] = pick(n > 3, a, make(2));\n"
            " x[1].n = make(7).n + (n ? a : b).n; u t = {.f = 1.0f}; y[0] = t; y[1].u = t.b[2]; "
            "x[2] = (n++, c);\n"
            " s big[20]; x[3] = big[n]; f32 acc[8][8] = {0}; acc[n][1] = 2.0f; x[4].v.x = "
            "acc[1][n]; s *p = &x[5]; p->in[1].a++; *p = a; }");
    DONE;
}

// A macro of Kiln's own may declare variables: they are its own, and the user's of the same name
// stay the user's.
TEST(lower_a_macro_of_kilns_own_declares_variables)
{
    lowered(
        "#include <kiln/tile.h>\n"
        "tile_type(wide, bf16, 64, 128, 128); tile_type(flat, f32, 16, 32, 128);\n"
        "ring_type(barriers, 4);\n"
        "typedef struct layout { wide a[4]; flat b; barriers ring; } layout;\n"
        "_Static_assert(sizeof(wide) == 64 * 128 * 2 && sizeof(layout) == 68608, \"\");\n"
        "_Alignas(1024) dynamic_shared(layout, smem);\n"
        "kernel block(128) void f(tensor_map map, f32 *out, u32 k_panel) {\n"
        " ring_slot s = ring_at(&smem->ring, k_panel, RING_PRODUCER);\n"
        " tile_load(&smem->a[s.stage], &map, k_panel, 0, ring_full(&smem->ring, s));\n"
        " f32 acc[64]; mma_operand a = tile_operand(&smem->a[0]);\n"
        " mma_operand b = tile_operand_transposed(&smem->a[1]);\n"
        "#define MMA(d, x, y, adds) wgmma_bf16(d, x, y, adds, wgmma_b_mn)\n"
        " tile_mma(MMA, acc, a, b, 4, false);\n"
        " out[acc_row(0) * 64 + acc_column(0)] = acc[0]; u32 words[4] = {0, 0, 0, 0};\n"
        " tile_put(&smem->a[0], 16, 64, words); tile_put_transposed(&smem->a[0], 0, 0, words);\n"
        " tile_store(&map, 0, k_panel, &smem->a[0]); }");
    DONE;
}
