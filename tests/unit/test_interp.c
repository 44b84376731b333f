// The interpreter on hand-built IR: every lane loop against ir_eval, masks and reconvergence,
// barriers, memory faults, determinism.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dev/interp/engine.h"
#include "ir/eval.h"
#include "tests/test.h"

// --- lane loops agree with ir_eval
static const uint64_t edge[] = {0,
                                1,
                                2,
                                3,
                                5,
                                7,
                                8,
                                31,
                                32,
                                33,
                                63,
                                64,
                                100,
                                127,
                                128,
                                255,
                                256,
                                32767,
                                32768,
                                65535,
                                65536,
                                0x7fffffff,
                                0x80000000u,
                                0xfffffffe,
                                0xffffffff,
                                0x3f800000,
                                0xbf800000,
                                0x7f800000,
                                0xff800000,
                                0x7fc00000,
                                0x00000001,
                                0x80000001,
                                0x007fffff,
                                0x00800000,
                                0x7f7fffff,
                                0x4b000001,
                                0x4f000000,
                                0xcf000000,
                                0x5f000000,
                                0xdf000000,
                                0x3effffff,
                                0x3f000000,
                                0x3fc00000,
                                0x33000000,
                                0x33000001,
                                0x38800000,
                                0x387fffff,
                                0x477fe000,
                                0x477fefff,
                                0x477ff000,
                                0x477fffff,
                                0x42fe0000,
                                0xc3000000,
                                0x123456789abcdef0,
                                0xfedcba9876543210,
                                0x7fffffffffffffff,
                                0x8000000000000000u,
                                0x8000000000000001u,
                                0xffffffffffffffff,
                                0x3ff0000000000000,
                                0xbff0000000000000,
                                0x7ff0000000000000,
                                0xfff0000000000000,
                                0x7ff8000000000000,
                                0x0000000000000001,
                                0x000fffffffffffff,
                                0x0010000000000000,
                                0x7fefffffffffffff,
                                0x43e0000000000000,
                                0xc3e0000000000000,
                                0x43f0000000000000,
                                0x41dfffffffc00000,
                                0x41e0000000000000,
                                0xc1e0000000000000,
                                0x41efffffffe00000,
                                0x3fe0000000000000,
                                0x36a0000000000000,
                                0x3ff8000000000000,
                                0x400c000000000000,
                                0x405fc00000000000,
                                0x00010001,
                                0x3c003c00,
                                0xfc007e00};

static bool is_nan_bits(ir_type t, uint64_t bits)
{
    if (t == IR_F32)
        return (bits & 0x7fffffff) > 0x7f800000;
    if (t == IR_F64)
        return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
    if (t == IR_F16)
        return (bits & 0x7fff) > 0x7c00;
    if (t == IR_BF16)
        return (bits & 0x7fff) > 0x7f80;
    return false;
}

static uint64_t cut(ir_type t, uint64_t bits)
{
    uint32_t size = ir_type_size(t);
    return t == IR_I1 ? bits & 1 : size == 8 ? bits : bits & (((uint64_t)1 << (8 * size)) - 1);
}

static int lanes_checked; // loops that ran beside ir_eval to their end

static void check_lanes(ir_op op, ir_type t, ir_type from, const ir_type in[3], uint32_t count,
                        ir_type result, bool fast)
{
    lane_fn *fn = lane_find(op, t, from, fast);
    if (!fn)
        return;
    static uint64_t d[LANES], slot[3][LANES];
    uint64_t state = 88172645463325252u;
    for (int round = 0; round < 200; round++) {
        uint64_t bits[3][LANES];
        for (uint32_t k = 0; k < count; k++)
            for (uint32_t lane = 0; lane < LANES; lane++) {
                state ^= state << 13, state ^= state >> 7, state ^= state << 17;
                uint64_t pick = state % (COUNT(edge) + 12);
                uint64_t v = pick < COUNT(edge) ? edge[pick] : state * 0x9e3779b97f4a7c15u;
                bits[k][lane] = cut(in[k], v);
                uint32_t size = ir_type_size(in[k]);
                memcpy((uint8_t *)slot[k] + lane * size, &bits[k][lane], size);
            }
        fn(d, slot[0], slot[1], slot[2]);
        for (uint32_t lane = 0; lane < LANES; lane++) {
            uint64_t operands[3] = {bits[0][lane], bits[1][lane], bits[2][lane]}, want = 0, got = 0;
            if (!ir_eval(op, t, (uint32_t)from, operands, &want))
                return;
            memcpy(&got, (uint8_t *)d + lane * ir_type_size(result), ir_type_size(result));
            if (is_nan_bits(result, got) && is_nan_bits(result, want))
                continue;
            if (op >= IR_HADD2 && op <= IR_HMAX2)
                for (int shift = 0; shift < 32; shift += 16)
                    if (is_nan_bits(from, got >> shift & 0xffff) &&
                        is_nan_bits(from, want >> shift & 0xffff))
                        got = (got & ~(0xffffull << shift)) | (want & 0xffffull << shift);
            if (got != want)
                fail_msg("%s %s (from %s): %llx %llx %llx gives %llx, not %llx", ir_op_name(op),
                         ir_type_name(t), ir_type_name(from), (unsigned long long)operands[0],
                         (unsigned long long)operands[1], (unsigned long long)operands[2],
                         (unsigned long long)got, (unsigned long long)want);
        }
    }
    lanes_checked++;
}

static void check_all_lanes(bool fast)
{
    for (int op = IR_ADD; op <= IR_SELECT; op++)
        for (int t = IR_I1; t <= IR_F64; t++) {
            bool compares = op >= IR_IEQ && op <= IR_FLE;
            bool shifts = op == IR_SHL || op == IR_LSHR || op == IR_ASHR;
            ir_type types[3] = {(ir_type)t, shifts ? IR_I32 : (ir_type)t,
                                op == IR_FSHL ? IR_I32 : (ir_type)t};
            if (op == IR_SELECT)
                types[0] = IR_I1;
            check_lanes((ir_op)op, (ir_type)t, IR_VOID, types, 3, compares ? IR_I1 : (ir_type)t,
                        fast);
        }
    for (int op = IR_TRUNC; op <= IR_FNARROW; op++)
        for (int t = IR_I1; t <= IR_F64; t++)
            for (int from = IR_I1; from <= IR_F64; from++) {
                ir_type types[3] = {(ir_type)from, IR_I1, IR_I1};
                check_lanes((ir_op)op, (ir_type)t, (ir_type)from, types, 1, (ir_type)t, fast);
            }
    for (int op = IR_HADD2; op <= IR_HMAX2; op++)
        for (int half = IR_F16; half <= IR_BF16; half++) {
            ir_type types[3] = {IR_I32, IR_I32, IR_I32};
            check_lanes((ir_op)op, IR_I32, (ir_type)half, types, 3, IR_I32, fast);
        }
}

TEST(interp_lane_loops_agree_with_eval)
{
    check_all_lanes(false);
    assert_true(lanes_checked > 150); // there are 192
    int plain = lanes_checked;
    if (lane_has_fast())
        check_all_lanes(true);
    assert_true(!lane_has_fast() || lanes_checked > plain);
}

// --- building kernels
typedef struct bench {
    arena *a;
    ir_module *m;
    ir_func *f;
    ir_cursor c;
    ir_ref params[4];
} bench;

// Parameters: x and y point to i32, n is an i32.
static bench bench_new(void)
{
    bench b = {.a = arena_new()};
    name_table *names = names_in(b.a);
    b.m = ir_module_in(b.a, names);
    b.f = ir_func_add(b.m, name_cstr(names, "k"));
    b.f->is_kernel = true;
    ir_param pointer = {.kind = IR_PARAM_POINTER,
                        .type = IR_PTR_GLOBAL,
                        .elem = IR_I32,
                        .elem_size = 4,
                        .elem_align = 4,
                        .size = 8};
    pointer.name = "x";
    b.params[0] = ir_param_add(b.f, pointer);
    pointer.name = "y";
    b.params[1] = ir_param_add(b.f, pointer);
    b.params[2] = ir_param_add(
        b.f, (ir_param){.name = "n", .kind = IR_PARAM_SCALAR, .type = IR_I32, .size = 4});
    b.c = ir_at_end(b.f, b.f->body, (span){0, 0});
    return b;
}

static ir_ref geometry(ir_cursor *c, ir_op op, int axis)
{
    uint8_t type = IR_I32;
    ir_inst_id i = ir_add(c, op, IR_I32, NULL, 0, &type, 1);
    ir_at(c->f, i)->imm = axis;
    return ir_at(c->f, i)->result;
}

static ir_ref global_x(ir_cursor *c)
{
    ir_ref base = ir_bin(c, IR_MUL, IR_I32, geometry(c, IR_BLOCK, 0), geometry(c, IR_BLOCKDIM, 0));
    return ir_bin(c, IR_ADD, IR_I32, base, geometry(c, IR_THREAD, 0));
}

static ir_ref element(ir_cursor *c, ir_ref pointer, ir_ref index)
{
    ir_ref wide = ir_convert(c, IR_SEXT, IR_I64, index);
    return ir_ptradd(c, pointer, ir_bin(c, IR_MUL, IR_I64, wide, ir_i64(c->f, 4)));
}

static void effect(ir_cursor *c, ir_op op)
{
    ir_add(c, op, IR_VOID, NULL, 0, NULL, 0);
}

typedef struct outcome {
    bool fine;
    interp_error error;
} outcome;

static outcome go(bench *b, uint32_t grid, uint32_t block, int32_t *x, size_t x_count, int32_t *y,
                  size_t y_count, int32_t n, uint32_t threads)
{
    const char *wrong = ir_verify_module(b->m, b->a);
    if (wrong)
        fail_msg("%s", wrong);
    interp_buffer buffers[] = {{NULL, 0}, {(uint8_t *)x, x_count * 4}, {(uint8_t *)y, y_count * 4}};
    rt_arg args[] = {
        {.bits = interp_address(1, 0)}, {.bits = interp_address(2, 0)}, {.bits = (uint32_t)n}};
    interp_launch l = {.program = interp_decode(b->a, b->f),
                       .grid = {grid, 1, 1},
                       .block = {block, 1, 1},
                       .args = args,
                       .buffers = buffers,
                       .buffer_count = 3,
                       .threads = threads,
                       .step_limit = 1000000};
    outcome o;
    o.fine = interp_run(&l, &o.error);
    return o;
}

TEST(interp_adds_with_a_tail)
{
    bench b = bench_new();
    ir_cursor *c = &b.c;
    ir_ref i = global_x(c), in_range = ir_bin(c, IR_SLT, IR_I32, i, b.params[2]);
    ir_inst_id branch = ir_control(c, IR_IF, &in_range, 1, 2, NULL, 0);
    ir_cursor yes = ir_at_end(b.f, ir_at(b.f, branch)->regions, (span){0, 0});
    ir_ref sum = ir_bin(&yes, IR_ADD, IR_I32,
                        ir_load(&yes, IR_I32, element(&yes, b.params[0], i), 0), ir_i32(b.f, 1000));
    ir_store(&yes, IR_I32, element(&yes, b.params[1], i), 0, sum);
    ir_exit(&yes, branch, NULL, 0);
    ir_cursor no = ir_at_end(b.f, ir_at(b.f, branch)->regions + 1, (span){0, 0});
    ir_exit(&no, branch, NULL, 0);
    ir_return(c, NULL, 0);

    enum { N = 1000 };
    int32_t x[N], y[N] = {0};
    for (int k = 0; k < N; k++)
        x[k] = k * 3;
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        memset(y, 0, sizeof y);
        outcome o = go(&b, 8, 128, x, N, y, N, N, threads);
        assert_true(o.fine);
        for (int k = 0; k < N; k++)
            assert_int_equal(y[k], k * 3 + 1000);
    }
    // One element less than n says: the access at the end is named.
    outcome o = go(&b, 8, 128, x, N, y, N - 1, N, 4);
    assert_false(o.fine);
    assert_int_equal(o.error.code, K6020);
    assert_non_null(strstr(o.error.text, "writes element 999 of 'y', which has 999 elements"));
    assert_non_null(strstr(o.error.text, "thread (103, 0, 0) of block (7, 0, 0)"));
    arena_free(b.a);
}

// y[i] = number of Collatz steps of x[i]: lanes leave the loop at different rounds.
TEST(interp_loops_diverge_and_reconverge)
{
    bench b = bench_new();
    ir_cursor *c = &b.c;
    ir_ref i = global_x(c);
    ir_ref start[] = {ir_load(c, IR_I32, element(c, b.params[0], i), 0), ir_i32(b.f, 0)};
    uint8_t result = IR_I32;
    ir_inst_id loop = ir_control(c, IR_LOOP, start, 2, 1, &result, 1);
    ir_region_id body = ir_at(b.f, loop)->regions;
    ir_ref v = ir_region_at(b.f, body)->args, steps = v + 1;
    ir_cursor l = ir_at_end(b.f, body, (span){0, 0});
    ir_ref done = ir_bin(&l, IR_SLE, IR_I32, v, ir_i32(b.f, 1));
    ir_inst_id leave = ir_control(&l, IR_IF, &done, 1, 2, NULL, 0);
    ir_cursor out = ir_at_end(b.f, ir_at(b.f, leave)->regions, (span){0, 0});
    ir_exit(&out, loop, &steps, 1);
    ir_cursor stay = ir_at_end(b.f, ir_at(b.f, leave)->regions + 1, (span){0, 0});
    ir_exit(&stay, leave, NULL, 0);
    ir_ref odd = ir_convert(&l, IR_TRUNC, IR_I1, v);
    ir_ref triple =
        ir_bin(&l, IR_ADD, IR_I32, ir_bin(&l, IR_MUL, IR_I32, v, ir_i32(b.f, 3)), ir_i32(b.f, 1));
    ir_ref half = ir_bin(&l, IR_LSHR, IR_I32, v, ir_i32(b.f, 1));
    ir_ref again[] = {ir_select(&l, odd, triple, half),
                      ir_bin(&l, IR_ADD, IR_I32, steps, ir_i32(b.f, 1))};
    ir_next(&l, loop, again, 2);
    ir_store(c, IR_I32, element(c, b.params[1], i), 0, ir_at(b.f, loop)->result);
    ir_return(c, NULL, 0);

    int32_t x[256], y[256];
    for (int k = 0; k < 256; k++)
        x[k] = k + 1;
    assert_true(go(&b, 2, 128, x, 256, y, 256, 0, 2).fine);
    for (int k = 0; k < 256; k++) {
        int64_t value = k + 1;
        int count = 0;
        for (; value > 1; count++)
            value = value & 1 ? value * 3 + 1 : value / 2;
        assert_int_equal(y[k], count);
    }
    arena_free(b.a);
}

// A loop whose arguments swap every round: moves are parallel.
TEST(interp_next_moves_in_parallel)
{
    bench b = bench_new();
    ir_cursor *c = &b.c;
    ir_ref i = global_x(c);
    ir_ref start[] = {ir_i32(b.f, 1), ir_i32(b.f, 2), ir_i32(b.f, 3), ir_i32(b.f, 0)};
    uint8_t result = IR_I32;
    ir_inst_id loop = ir_control(c, IR_LOOP, start, 4, 1, &result, 1);
    ir_region_id body = ir_at(b.f, loop)->regions;
    ir_ref p = ir_region_at(b.f, body)->args, q = p + 1, r = p + 2, k = p + 3;
    ir_cursor l = ir_at_end(b.f, body, (span){0, 0});
    ir_ref done = ir_bin(&l, IR_SLE, IR_I32, i, k);
    ir_inst_id leave = ir_control(&l, IR_IF, &done, 1, 2, NULL, 0);
    ir_cursor out = ir_at_end(b.f, ir_at(b.f, leave)->regions, (span){0, 0});
    ir_ref packed = ir_bin(&out, IR_MUL, IR_I32, p, ir_i32(b.f, 100));
    packed = ir_bin(&out, IR_ADD, IR_I32, packed, ir_bin(&out, IR_MUL, IR_I32, q, ir_i32(b.f, 10)));
    packed = ir_bin(&out, IR_ADD, IR_I32, packed, r);
    ir_exit(&out, loop, &packed, 1);
    ir_cursor stay = ir_at_end(b.f, ir_at(b.f, leave)->regions + 1, (span){0, 0});
    ir_exit(&stay, leave, NULL, 0);
    ir_ref again[] = {q, r, p, ir_bin(&l, IR_ADD, IR_I32, k, ir_i32(b.f, 1))};
    ir_next(&l, loop, again, 4);
    ir_store(c, IR_I32, element(c, b.params[1], i), 0, ir_at(b.f, loop)->result);
    ir_return(c, NULL, 0);
    int32_t x[1] = {0}, y[40];
    assert_true(go(&b, 1, 40, x, 1, y, 40, 0, 1).fine);
    static const int want[] = {123, 231, 312};
    for (int lane = 0; lane < 40; lane++)
        assert_int_equal(y[lane], want[lane % 3]);
    arena_free(b.a);
}

// Reverses 128 numbers through shared memory; the barrier makes the warps meet.
TEST(interp_barrier_orders_warps)
{
    bench b = bench_new();
    vec_push(b.a, &b.m->shared,
             (ir_shared){.name = "tile", .size = 512, .align = 4, .elem = IR_I32});
    ir_cursor *c = &b.c;
    uint8_t pointer = IR_PTR_SHARED;
    ir_ref tile = ir_at(b.f, ir_add(c, IR_SHARED, IR_PTR_SHARED, NULL, 0, &pointer, 1))->result;
    ir_ref t = geometry(c, IR_THREAD, 0);
    ir_store(c, IR_I32, element(c, tile, t), 0, ir_load(c, IR_I32, element(c, b.params[0], t), 0));
    effect(c, IR_BARRIER);
    ir_ref other = ir_bin(c, IR_SUB, IR_I32, ir_i32(b.f, 127), t);
    ir_store(c, IR_I32, element(c, b.params[1], t), 0,
             ir_load(c, IR_I32, element(c, tile, other), 0));
    ir_return(c, NULL, 0);
    int32_t x[128], y[128];
    for (int k = 0; k < 128; k++)
        x[k] = k * k;
    assert_true(go(&b, 1, 128, x, 128, y, 128, 0, 1).fine);
    for (int k = 0; k < 128; k++)
        assert_int_equal(y[k], (127 - k) * (127 - k));
    // 129 threads: the last one leaves the tile.
    outcome o = go(&b, 1, 129, x, 128, y, 128, 0, 1);
    assert_false(o.fine);
    assert_non_null(strstr(o.error.text, "element 128 of 'x'"));
    arena_free(b.a);
}

// Threads below n wait, the others return. Within a warp the others have not returned yet when the
// barrier is met: it is missed. A warp that has returned counts as arrived.
TEST(interp_missed_barrier)
{
    for (int n = 16; n <= 32; n += 16) {
        bench b = bench_new();
        ir_cursor *c = &b.c;
        ir_ref some = ir_bin(c, IR_SLT, IR_I32, geometry(c, IR_THREAD, 0), b.params[2]);
        ir_inst_id branch = ir_control(c, IR_IF, &some, 1, 2, NULL, 0);
        ir_cursor yes = ir_at_end(b.f, ir_at(b.f, branch)->regions, (span){0, 0});
        effect(&yes, IR_BARRIER);
        ir_exit(&yes, branch, NULL, 0);
        ir_cursor no = ir_at_end(b.f, ir_at(b.f, branch)->regions + 1, (span){0, 0});
        ir_exit(&no, branch, NULL, 0);
        ir_return(c, NULL, 0);
        int32_t x[1] = {0};
        outcome o = go(&b, 1, 64, x, 1, x, 1, n, 1);
        assert_int_equal(o.fine, n == 32);
        assert_true(o.fine || o.error.code == K6027);
        assert_true(o.fine || strstr(o.error.text, "does not reach"));
        arena_free(b.a);
    }
}

// Two warps, each at a barrier of its own: both are named by their first threads.
TEST(interp_barriers_that_differ)
{
    bench b = bench_new();
    ir_cursor *c = &b.c;
    ir_ref some = ir_bin(c, IR_SLT, IR_I32, geometry(c, IR_THREAD, 0), b.params[2]);
    ir_inst_id branch = ir_control(c, IR_IF, &some, 1, 2, NULL, 0);
    for (uint32_t side = 0; side < 2; side++) {
        ir_cursor in = ir_at_end(b.f, ir_at(b.f, branch)->regions + side, (span){0, 0});
        effect(&in, IR_BARRIER);
        ir_exit(&in, branch, NULL, 0);
    }
    ir_return(c, NULL, 0);
    int32_t x[1] = {0};
    outcome o = go(&b, 1, 64, x, 1, x, 1, 32, 1);
    assert_false(o.fine);
    assert_int_equal(o.error.code, K6027);
    assert_non_null(strstr(o.error.text, "thread (0, 0, 0) waits at a barrier that thread (32, 0, "
                                         "0) does not reach: it waits at another"));
    arena_free(b.a);
}

// One address for all lanes, in the middle of a buffer, and a constant distance from it.
TEST(interp_uniform_addresses_stay_inside)
{
    static const struct {
        int64_t distance;
        bool is_inside;
    } rows[] = {{0, true},   {12, true},  {-16, true},  {16, false},
                {20, false}, {32, false}, {-20, false}, {-32, false}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        bench b = bench_new();
        ir_ref value = ir_load(&b.c, IR_I32, b.params[0], rows[k].distance);
        ir_store(&b.c, IR_I32, element(&b.c, b.params[1], global_x(&b.c)), 0, value);
        ir_return(&b.c, NULL, 0);
        int32_t x[8] = {10, 11, 12, 13, 14, 15, 16, 17}, y[32] = {0}, more[8] = {0};
        interp_buffer buffers[] = {{NULL, 0},
                                   {(uint8_t *)more, sizeof more},
                                   {(uint8_t *)x, sizeof x},
                                   {(uint8_t *)y, sizeof y}};
        rt_arg args[] = {
            {.bits = interp_address(2, 16)}, {.bits = interp_address(3, 0)}, {.bits = 0}};
        interp_launch l = {.program = interp_decode(b.a, b.f),
                           .grid = {1, 1, 1},
                           .block = {32, 1, 1},
                           .args = args,
                           .buffers = buffers,
                           .buffer_count = 4,
                           .threads = 1};
        interp_error error;
        assert_int_equal(interp_run(&l, &error), rows[k].is_inside);
        for (int lane = 0; lane < 32; lane++)
            assert_int_equal(y[lane], rows[k].is_inside ? 14 + rows[k].distance / 4 : 0);
        arena_free(b.a);
    }
}

// Addresses that no lane may use, for a whole warp and a part of one, the same for all lanes and
// one for each: the checks of all lanes at once must send each to the fault.
TEST(interp_wrong_addresses_of_whole_warps)
{
    static const struct {
        uint32_t buffer, bytes; // of the buffer that x is
        diag_code code;
    } rows[] = {{0, 64, K6021}, {9, 64, K6020}, {1, 0, K6020}, {1, 2, K6020}};
    for (uint32_t k = 0; k < 8 * sizeof rows / sizeof *rows; k++) {
        uint32_t row = k / 8;
        bool writes = k & 1, is_uniform = k & 2, is_whole = k & 4;
        bench b = bench_new();
        ir_ref i = global_x(&b.c), at = element(&b.c, b.params[0], is_uniform ? b.params[2] : i);
        ir_ref value = i;
        if (writes)
            ir_store(&b.c, IR_I32, at, 0, value);
        else
            value = ir_load(&b.c, IR_I32, at, 0);
        ir_store(&b.c, IR_I32, element(&b.c, b.params[1], i), 0, value);
        ir_return(&b.c, NULL, 0);
        int32_t x[16] = {0}, y[32] = {0};
        interp_buffer buffers[] = {
            {NULL, 0}, {(uint8_t *)x, rows[row].bytes}, {(uint8_t *)y, sizeof y}};
        rt_arg args[] = {
            {.bits = interp_address(rows[row].buffer, 0)}, {.bits = interp_address(2, 0)}, {0}};
        interp_launch l = {.program = interp_decode(b.a, b.f),
                           .grid = {1, 1, 1},
                           .block = {is_whole ? 32 : 20, 1, 1},
                           .args = args,
                           .buffers = buffers,
                           .buffer_count = 3,
                           .threads = 1};
        interp_error error = {0};
        assert_false(interp_run(&l, &error));
        assert_int_equal(error.code, rows[row].code);
        assert_non_null(strstr(error.text, writes ? "writes" : "reads"));
        assert_non_null(strstr(error.text, "thread (0, 0, 0)"));
        arena_free(b.a);
    }
}

TEST(interp_endless_loop_stops_at_the_limit)
{
    bench b = bench_new();
    ir_inst_id loop = ir_control(&b.c, IR_LOOP, NULL, 0, 1, NULL, 0);
    ir_cursor l = ir_at_end(b.f, ir_at(b.f, loop)->regions, (span){0, 0});
    ir_next(&l, loop, NULL, 0);
    effect(&b.c, IR_UNREACHABLE);
    int32_t x[1] = {0};
    outcome o = go(&b, 1, 1, x, 1, x, 1, 0, 1);
    assert_false(o.fine);
    assert_int_equal(o.error.code, K6028);
    arena_free(b.a);
}

// assume() is free unless the launch asks for the test.
TEST(interp_assume_is_checked_on_request)
{
    bench b = bench_new();
    ir_ref small = ir_bin(&b.c, IR_SLT, IR_I32, b.params[2], ir_i32(b.f, 10));
    ir_add(&b.c, IR_ASSUME, IR_VOID, &small, 1, NULL, 0);
    ir_return(&b.c, NULL, 0);
    int32_t x[1] = {0};
    assert_true(go(&b, 1, 1, x, 1, x, 1, 11, 1).fine);
    rt_arg args[] = {{.bits = 0}, {.bits = 0}, {.bits = 11}};
    interp_launch l = {.program = interp_decode(b.a, b.f),
                       .grid = {1, 1, 1},
                       .block = {1, 1, 1},
                       .args = args,
                       .checks_assumes = true};
    interp_error error;
    assert_false(interp_run(&l, &error));
    assert_int_equal(error.code, K6030);
    arena_free(b.a);
}

// A histogram by relaxed atomics: the same in every number of threads.
TEST(interp_atomics_add_up)
{
    bench b = bench_new();
    ir_cursor *c = &b.c;
    ir_ref bin = ir_bin(c, IR_UREM, IR_I32, global_x(c), ir_i32(b.f, 7));
    ir_ref operands[] = {element(c, b.params[1], bin), ir_i32(b.f, 1)};
    uint8_t type = IR_I32;
    ir_inst_id add = ir_add(c, IR_ATOMIC, IR_I32, operands, 2, &type, 1);
    ir_at(b.f, add)->aux = IR_AT_ADD;
    ir_return(c, NULL, 0);
    int32_t x[1] = {0}, y[7] = {0};
    assert_true(go(&b, 1000, 64, x, 1, y, 7, 0, 8).fine);
    for (int k = 0; k < 7; k++)
        assert_int_equal(y[k], 64000 / 7 + (k < 64000 % 7));
    assert_true(interp_is_parallel(interp_decode(b.a, b.f)));
    arena_free(b.a);
}
