// What operations compute, against independent definitions: integers by wider arithmetic, narrow
// floats by trying every value, packed fused multiply-add by exact integers.
#include <math.h>
#include <string.h>

#include "ir/eval.h"
#include "tests/test.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

static uint64_t eval(ir_op op, ir_type t, uint32_t aux, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t in[3] = {a, b, c}, out = 0;
    assert_true(ir_eval(op, t, aux, in, &out));
    return out;
}

static uint64_t bits32(float v)
{
    uint32_t b;
    memcpy(&b, &v, sizeof b);
    return b;
}

static uint64_t bits64(double v)
{
    uint64_t b;
    memcpy(&b, &v, sizeof b);
    return b;
}

static const uint64_t edges[] = {0,
                                 1,
                                 2,
                                 3,
                                 7,
                                 31,
                                 32,
                                 33,
                                 63,
                                 64,
                                 0x7fffffff,
                                 0x80000000,
                                 0xffffffff,
                                 0x100000000,
                                 0x7fffffffffffffff,
                                 0x8000000000000000,
                                 0xfffffffffffffffe,
                                 0xffffffffffffffff,
                                 0x0123456789abcdef,
                                 0xdeadbeefcafebabe};

static void check_ints(ir_type t, uint64_t a, uint64_t b)
{
    uint32_t width = t == IR_I32 ? 32 : 64;
    uint64_t mask = width == 32 ? UINT32_MAX : UINT64_MAX;
    a &= mask;
    b &= mask;
    wide sa = width == 32 ? (wide)(int32_t)a : (wide)(int64_t)a;
    wide sb = width == 32 ? (wide)(int32_t)b : (wide)(int64_t)b, ua = (wide)a, ub = (wide)b;
    uint32_t n = (uint32_t)b % width;
#define IS(op, want) assert_true(eval(IR_##op, t, 0, a, b, 0) == ((uint64_t)(want)&mask))
    IS(ADD, ua + ub);
    IS(SUB, ua - ub);
    IS(MUL, (uint64_t)a * (uint64_t)b);
    IS(SMULHI, (sa * sb) >> width);
    IS(UMULHI, width == 32 ? a * b >> 32 : (uint64_t)((unsigned_wide)a * b >> 64));
    IS(SDIV, sb ? sa / sb : 0);
    IS(SREM, sb ? sa % sb : sa);
    IS(UDIV, ub ? ua / ub : 0);
    IS(UREM, ub ? ua % ub : ua);
    IS(ASHR, sa >> n);
    IS(LSHR, ua >> n);
    IS(SHL, a << n);
    IS(SMIN, sa < sb ? sa : sb);
    IS(SMAX, sa > sb ? sa : sb);
    IS(UMIN, ua < ub ? ua : ub);
    IS(UMAX, ua > ub ? ua : ub);
    IS(SLT, sa < sb);
    IS(SLE, sa <= sb);
    IS(ULT, ua < ub);
    IS(ULE, ua <= ub);
    IS(IEQ, ua == ub);
    assert_true(eval(IR_FSHL, t, 0, a, b, n) == (n ? ((a << n | b >> (width - n)) & mask) : a));
#undef IS
}

TEST(eval_integers)
{
    size_t count = sizeof edges / sizeof edges[0];
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            check_ints(IR_I32, edges[i], edges[k]);
            check_ints(IR_I64, edges[i], edges[k]);
        }
    assert_int_equal(eval(IR_CLZ, IR_I32, 0, 0, 0, 0), 32);
    assert_int_equal(eval(IR_CTZ, IR_I64, 0, 0, 0, 0), 64);
    assert_int_equal(eval(IR_BREV, IR_I32, 0, 1, 0, 0), 0x80000000);
    assert_int_equal(eval(IR_POPC, IR_I64, 0, UINT64_MAX, 0, 0), 64);
    assert_int_equal(eval(IR_PRMT, IR_I32, 0, 0x33221100, 0x77665544, 0x7531), 0x77553311);
    assert_int_equal(eval(IR_PRMT, IR_I32, 0, 0x00008000, 0, 0x0009), 0x000000ff);
    assert_int_equal(eval(IR_DP4A_S, IR_I32, 0, 0xff02ff80, 0x01030280, 10),
                     10 - 1 + 6 - 2 + 16384);
    assert_int_equal(eval(IR_DP4A_U, IR_I32, 0, 0xff02ff80, 0x01030280, 0),
                     255 + 6 + 510 + 128 * 128);
}

TEST(eval_floats)
{
    float zero = 0.0f, nan = NAN;
    assert_int_equal(eval(IR_FMIN, IR_F32, 0, bits32(zero), bits32(-zero), 0), bits32(-zero));
    assert_int_equal(eval(IR_FMAX, IR_F32, 0, bits32(-zero), bits32(zero), 0), bits32(zero));
    assert_int_equal(eval(IR_FMIN, IR_F32, 0, bits32(nan), bits32(3), 0), bits32(3));
    assert_int_equal(eval(IR_FMAX, IR_F64, 0, bits64(-2), bits64((double)nan), 0), bits64(-2));
    assert_int_equal(eval(IR_FEQ, IR_F32, 0, bits32(nan), bits32(nan), 0), 0);
    assert_int_equal(eval(IR_FNE, IR_F32, 0, bits32(nan), bits32(nan), 0), 1);
    assert_int_equal(eval(IR_FRINT, IR_F32, 0, bits32(2.5f), 0, 0), bits32(2));
    assert_int_equal(eval(IR_FNEG, IR_F32, 0, bits32(0), 0, 0), 0x80000000);
    // One rounding: 1 + 2^-24 squared would lose its last term.
    float near = 1.0f + 0x1p-12f;
    assert_int_equal(eval(IR_FFMA, IR_F32, 0, bits32(near), bits32(near), bits32(-1.0f)),
                     bits32((float)((double)near * (double)near - 1.0)));
}

TEST(eval_conversions)
{
#define SAT(op, t, v, want) assert_true(eval(op, t, IR_F32, bits32(v), 0, 0) == (uint64_t)(want))
    SAT(IR_FTOSI, IR_I32, 1e10f, 0x7fffffff);
    SAT(IR_FTOSI, IR_I32, -1e10f, 0x80000000);
    SAT(IR_FTOSI, IR_I32, -1.9f, 0xffffffff);
    SAT(IR_FTOSI, IR_I32, NAN, 0);
    SAT(IR_FTOSI, IR_I8, 127.9f, 127);
    SAT(IR_FTOSI, IR_I8, -129.0f, 0x80);
    SAT(IR_FTOUI, IR_I8, 256.0f, 255);
    SAT(IR_FTOUI, IR_I8, -0.5f, 0);
    SAT(IR_FTOUI, IR_I64, 0x1p63f, (uint64_t)1 << 63);
    SAT(IR_FTOUI, IR_I64, INFINITY, UINT64_MAX);
    SAT(IR_FTOSI, IR_I64, INFINITY, INT64_MAX);
    SAT(IR_FTOSI, IR_I64, -INFINITY, (uint64_t)1 << 63);
#undef SAT
    assert_int_equal(eval(IR_SITOF, IR_F32, IR_I32, 16777217, 0, 0), bits32(16777216));
    assert_true(eval(IR_UITOF, IR_F64, IR_I64, UINT64_MAX, 0, 0) == bits64(0x1p64));
    assert_true(eval(IR_SEXT, IR_I64, IR_I8, 0x80, 0, 0) == 0xffffffffffffff80u);
    assert_true(eval(IR_SEXT, IR_I32, IR_I1, 1, 0, 0) == 0xffffffffu);
    assert_int_equal(eval(IR_TRUNC, IR_I1, IR_I32, 6, 0, 0), 0);
    assert_int_equal(eval(IR_TRUNC, IR_I8, IR_I64, 0x1ff, 0, 0), 0xff);
}

// Rounding to nearest even by definition: the closest of all finite values, the even one of two.
static uint32_t closest(ir_type t, uint32_t largest, double v)
{
    uint32_t best = 0;
    double best_distance = HUGE_VAL;
    for (uint32_t b = 0; b <= largest; b++) {
        double distance = fabs(ir_widen(t, b) - v);
        if (distance < best_distance || (distance == best_distance && !(b & 1))) {
            best = b;
            best_distance = distance;
        }
    }
    return best;
}

TEST(eval_narrow_floats)
{
    static const struct {
        ir_type t;
        uint32_t sign, largest;
    } kinds[] = {{IR_F16, 0x8000, 0x7bff},
                 {IR_BF16, 0x8000, 0x7f7f},
                 {IR_F8E4, 0x80, 0x7e},
                 {IR_F8E5, 0x80, 0x7b}};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        ir_type t = kinds[k].t;
        for (uint32_t b = 0; b <= kinds[k].largest; b++) { // all finite ones come back
            assert_int_equal(ir_narrow(t, ir_widen(t, b)), b);
            assert_int_equal(ir_narrow(t, ir_widen(t, b | kinds[k].sign)), b | kinds[k].sign);
            if (b == kinds[k].largest)
                break;
            // Halfway to the next goes to the even one, a little more or less to the nearer.
            double low = ir_widen(t, b), high = ir_widen(t, b + 1), mid = (low + high) / 2;
            assert_int_equal(ir_narrow(t, mid), b & 1 ? b + 1 : b);
            assert_int_equal(ir_narrow(t, nextafter(mid, HUGE_VAL)), b + 1);
            assert_int_equal(ir_narrow(t, nextafter(mid, 0)), b);
        }
        assert_true(isnan(ir_widen(t, ir_narrow(t, (double)NAN))));
    }
    assert_int_equal(ir_narrow(IR_F16, 65520), 0x7c00);
    assert_int_equal(ir_narrow(IR_F16, 65519), 0x7bff);
    assert_int_equal(ir_narrow(IR_F8E4, 1e9), 0x7e);
    assert_int_equal(ir_narrow(IR_F8E5, -HUGE_VAL), 0xfb);
    assert_int_equal(ir_narrow(IR_BF16, HUGE_VAL), 0x7f80);
    assert_true(isinf(ir_widen(IR_F8E5, 0x7c)));
    uint32_t seed = 1;
    for (int i = 0; i < 300; i++) {
        seed = seed * 1664525 + 1013904223;
        double v = ldexp((double)(seed >> 8) / 0x1p24, (int)(seed & 15) - 9);
        assert_int_equal(ir_narrow(IR_F8E4, v), closest(IR_F8E4, 0x7e, v));
        assert_int_equal(ir_narrow(IR_F8E5, v), closest(IR_F8E5, 0x7b, v));
    }
}

// An f16 is a whole number of 2^-24; a product of 2^-48.
static wide scaled(uint32_t b, int shift)
{
    return (wide)ldexp(ir_widen(IR_F16, b), 24) * ((wide)1 << shift);
}

static uint32_t rounded(wide v) // of 2^-48
{
    uint32_t sign = v < 0 ? 0x8000 : 0;
    wide size = v < 0 ? -v : v;
    uint32_t low = 0, high = 0x7c00; // the largest f16 that is not above
    while (low + 1 < high) {
        uint32_t mid = (low + high) / 2;
        if (scaled(mid, 24) <= size)
            low = mid;
        else
            high = mid;
    }
    wide below = size - scaled(low, 24);
    wide above = low == 0x7bff ? ((wide)65536 << 48) - size : scaled(low + 1, 24) - size;
    bool is_up = below > above || (below == above && (low & 1));
    return sign | (is_up ? low + 1 : low);
}

TEST(eval_packed_fma_rounds_once)
{
    uint32_t seed = 7;
    for (int i = 0; i < 200000; i++) {
        uint32_t v[3];
        for (int k = 0; k < 3; k++) {
            seed = seed * 1664525 + 1013904223;
            v[k] = (seed >> 13) & 0xffff;
            if ((v[k] & 0x7c00) == 0x7c00)
                v[k] &= 0xbfff;
        }
        if (i & 1) // a tiny third term against a large product
            v[2] = (v[2] & 0x8000) | (v[2] & 3);
        uint32_t got = (uint32_t)eval(IR_HFMA2, IR_I32, IR_F16, v[0], v[1], v[2]) & 0xffff;
        wide exact = scaled(v[0], 0) * scaled(v[1], 0) + scaled(v[2], 24);
        if (exact)
            assert_int_equal(got, rounded(exact));
    }
    assert_int_equal(eval(IR_HADD2, IR_I32, IR_BF16, 0x3f803f80, 0x3f803b80, 0), 0x40003f80);
    assert_int_equal(eval(IR_HMIN2, IR_I32, IR_F16, 0x80007e00, 0x00003c00, 0), 0x80003c00);
}

TEST(eval_refuses)
{
    uint64_t in[3] = {0}, out;
    assert_false(ir_eval(IR_FAST_EXP2, IR_F32, 0, in, &out));
    assert_false(ir_eval(IR_THREAD, IR_I32, 0, in, &out));
    assert_false(ir_eval(IR_LOAD, IR_I32, 0, in, &out));
    assert_false(ir_eval(IR_PTRCAST, IR_PTR_GEN, IR_PTR_SHARED, in, &out));
}
