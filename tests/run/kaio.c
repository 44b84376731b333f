// The holes that a study of the nearest peer found (numbered as there): each must run right here.
// Those that must be errors are tests/diag/kaio-NN.c.
#include <kiln/kernel.h>

static bool literals_are_floats(const f32 *x, f32 *out)
{
    for (u32 i = 0; i < 32; i++) {
        f32 want = x[i] * 2.0f + (x[i] > 1.0f ? 1.0f : 0.0f);
        if (out[i] != want || out[32 + i] != 1.0f)
            return false;
    }
    return true;
}
// 1: an integer literal beside a float is that number, not its bit pattern.
//! run kaio_01 block=32 check=literals_are_floats (f32[32]:rand, f32[64])
kernel void kaio_01(const f32 *x, f32 *out)
{
    u32 i = thread_x();
    out[i] = x[i] * 2 + (x[i] > 1 ? 1 : 0);
    out[32 + i] = 1;
}

// 2: mixed operands follow C's conversions.
//! run kaio_02 block=32 (i32[32]:bits, u8[32]:bits, i64[32]:bits, i64[32], f64[32])
kernel void kaio_02(const i32 *a, const u8 *b, const i64 *c, i64 *out, f64 *real)
{
    u32 i = thread_x();
    out[i] = a[i] * b[i] + c[i] - (a[i] < c[i]);
    real[i] = a[i] * 0.5 + b[i];
}

// 3: a declared type is the variable's type.
static bool types_are_kept(u32 *out)
{
    return out[0] == 0xffffffffu / 2 && out[1] == 1 && out[2] == 255;
}
//! run kaio_03 block=1 check=types_are_kept (u32[3])
kernel void kaio_03(u32 *out)
{
    u32 x = 1;
    x -= 2;
    out[0] = x / 2;
    out[1] = x > 5;
    u8 y = 0;
    y -= 1;
    out[2] = y;
}

// 4: a name declared in a block ends with it.
static bool names_end(const i32 *in, i32 *out)
{
    for (i32 i = 0; i < 16; i++)
        if (out[i] != in[i] + 100)
            return false;
    return true;
}
//! run kaio_04 block=16 check=names_end (i32[16]:iota, i32[16])
kernel void kaio_04(const i32 *in, i32 *out)
{
    i32 x = in[thread_x()], y = 100;
    if (x > 3) {
        i32 y = 5;
        x += y;
        x -= y;
    }
    for (i32 y = 0; y < 3; y++) {
        i32 x = y;
        (void)x;
    }
    while (y == 100) {
        i32 y = 1;
        if (y)
            break;
    }
    out[thread_x()] = x + y;
}

// 5: a loop's bound and variable are ordinary variables.
static bool loops_are_c(const i32 *in, i32 *out)
{
    for (i32 t = 0; t < 16; t++) {
        i32 n = in[t], turns = 0;
        for (i32 i = 0; i < n; i++) {
            n -= 1;
            turns++;
        }
        if (out[t] != turns)
            return false;
    }
    return true;
}
//! run kaio_05 block=16 check=loops_are_c (i32[16]:iota, i32[16])
kernel void kaio_05(const i32 *in, i32 *out)
{
    i32 n = in[thread_x()], turns = 0;
    for (i32 i = 0; i < n; i++) {
        n -= 1;
        turns++;
    }
    out[thread_x()] = turns;
}

// 6: the guarded block reduction, written as an expression.
//! run kaio_06 grid=3 block=64 (f32[150]:rand, f32[3], u32=150)
kernel block(64) void kaio_06(const f32 *in, f32 *out, u32 n)
{
    u32 i = global_x();
    f32 v = i < n ? in[i] : 0;
    f32 sum = block_sum(v);
    if (thread_x() == 0)
        out[block_x()] = sum;
}

// 7: bool as parameter, in memory, converted and compared.
//! run kaio_07 block=32 (bool=1, bool[32]:bits, bool[32]:bits, i32[32], bool[32])
kernel void kaio_07(bool flag, const bool *a, const bool *b, i32 *out, bool *same)
{
    u32 i = thread_x();
    out[i] = (i32)a[i] + b[i] * 2 + flag * 4;
    same[i] = a[i] == b[i];
    if (flag != a[i])
        out[i] += 100;
}

// 8: casts between floats, and to the type it already has.
//! run kaio_08 block=32 (f32[32]:edge, f64[32]:edge, f16[32]:bits, f32[96], f64[64])
kernel void kaio_08(const f32 *a, const f64 *b, const f16 *c, f32 *out, f64 *wide)
{
    u32 i = thread_x();
    out[i] = (f32)a[i];
    out[32 + i] = (f32)b[i];
    out[64 + i] = f32(c[i]);
    wide[i] = (f64)a[i];
    wide[32 + i] = (f64)b[i];
}

// 9: fmod by name, minus on unsigned wraps, abs of signed. (Float % and abs of unsigned are
// errors.)
//! run kaio_09 block=32 (u32[32]:edge, i32[32]:edge, u32[32], i32[32])
kernel void kaio_09(const u32 *a, const i32 *b, u32 *out, i32 *absolute)
{
    u32 i = thread_x();
    out[i] = -a[i];
    absolute[i] = abs(b[i]);
}

// 10: negative and 64-bit indices.
static bool indices_work(const i32 *in, i32 *out)
{
    for (u32 i = 0; i < 32; i++)
        if (out[i] != in[31 - i] + in[i] * 2)
            return false;
    return true;
}
//! run kaio_10 block=32 check=indices_work (i32[32]:rand, i32[32])
kernel void kaio_10(const i32 *in, i32 *out)
{
    const i32 *end = in + 32;
    i32 back = -1 - (i32)thread_x();
    i64 wide = (i64)thread_x() + 4294967296;
    u8 narrow = (u8)thread_x();
    out[narrow] = end[back] + in[wide - 4294967296] * 2;
}

// 11: shifts of and by 64 bits, shuffles of doubles.
//! run kaio_11 block=64 (u64[64]:bits, u64[64]:mod64, f64[64]:rand, u64[64], f64[64])
kernel void kaio_11(const u64 *a, const u64 *count, const f64 *b, u64 *out, f64 *real)
{
    u32 i = thread_x();
    out[i] = a[i] << count[i] | a[i] >> (63 - count[i]);
    real[i] = shuffle_down(b[i], 3) + shuffle_xor(b[i], 16);
}

static bool sums_of_small_blocks(const i32 *in, i32 *out, u32 n)
{
    i32 sum = 0;
    for (u32 i = 0; i < n; i++)
        sum += in[i];
    for (u32 i = 0; i < n; i++)
        if (out[i] != sum)
            return false;
    return true;
}
// 12: block reductions of fewer than 32 threads, and of a partial last warp.
//! run kaio_12 block=20 check=sums_of_small_blocks (i32[20]:sym99, i32[20], u32=20)
//! run kaio_12 block=48 check=sums_of_small_blocks (i32[48]:sym99, i32[48], u32=48)
//! run kaio_12 block=1 check=sums_of_small_blocks (i32[1]:sym99, i32[1], u32=1)
//! run kaio_12 block=1000 check=sums_of_small_blocks (i32[1000]:sym99, i32[1000], u32=1000)
kernel void kaio_12(const i32 *in, i32 *out, u32 n)
{
    i32 sum = block_sum(in[thread_x()]);
    if (thread_x() < n)
        out[thread_x()] = sum;
}

static bool both_reductions(const f32 *in, f32 *out)
{
    f32 top = in[0];
    for (u32 i = 0; i < 96; i++)
        top = in[i] > top ? in[i] : top;
    for (u32 i = 0; i < 96; i++)
        if (out[i] != top || out[96 + i] != out[96])
            return false;
    return true;
}
// 13: two reductions in a row do not overwrite each other.
//! run kaio_13 block=96 check=both_reductions (f32[96]:rand, f32[192])
kernel block(96) void kaio_13(const f32 *in, f32 *out)
{
    f32 x = in[thread_x()];
    f32 top = block_max(x);
    f32 sum = block_sum(x - top);
    out[thread_x()] = top;
    out[96 + thread_x()] = sum;
}

// 14: tanh over its whole range (and what is built on it).
static bool tanh_is_bounded(const f32 *in, f32 *out)
{
    for (u32 i = 0; i < 64; i++) {
        bool bad =
            isnan(in[i]) ? !isnan(out[i]) : !(fabsf(out[i]) <= 1) || (in[i] > 20 && out[i] != 1);
        if (bad)
            return false;
    }
    return true;
}
//! run kaio_14 block=64 check=tanh_is_bounded (f32[64]:edge, f32[64])
//! run kaio_14 block=64 check=tanh_is_bounded (f32[64]:rand, f32[64])
kernel void kaio_14(const f32 *in, f32 *out)
{
    out[thread_x()] = tanh(in[thread_x()]);
}

// 15: shuffles in segments, and on a partial warp.
//! run kaio_15 block=24 (i32[24]:rand, i32[48])
kernel void kaio_15(const i32 *in, i32 *out)
{
    u32 i = thread_x();
    out[i] = shuffle_down_in(in[i], 2, 4);
    out[24 + i] = shuffle_down(in[i], 5);
}

// 17: a shared array may have the name of another kernel's parameter, or of a global function.
//! run kaio_17 block=32 (f32[32]:rand, f32=3.0)
kernel void kaio_17(f32 *a, f32 scale)
{
    shared f32 tile[32];
    tile[thread_x()] = a[thread_x()] * scale;
    barrier();
    a[thread_x()] = tile[31 - thread_x()];
}
//! run kaio_17_again block=32 (f32[32]:rand, f32=2.0)
kernel void kaio_17_again(f32 *a, f32 tile)
{
    shared f32 scale[32];
    scale[thread_x()] = a[thread_x()] * tile;
    barrier();
    a[thread_x()] = scale[31 - thread_x()];
}
