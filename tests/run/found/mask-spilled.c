// Found by fuzz-diff: the C compiler stored 16 bits of a mask on the stack and read
// 32 back (mask16 in back/cpu/lanes.h).
#ifndef __KILN__
#    include "fuzz/simt_oracle.h" // first: it must not see what kernel.h makes of C's names
#endif
#include <kiln/kernel.h>
#pragma kiln conversions(c)
static u32 simt_bits32(f32 x)
{
    return isnan(x) ? 0x7fc00000u : bits_f32(x);
}
static u64 simt_bits64(f64 x)
{
    return isnan(x) ? 0x7ff8000000000000ull : bits_f64(x);
}

// clang-format off
//! run fuzz_mask grid=3 block=128 oracle=oracle_mask (u32[12288]:bits, u64[6144], u64[8]:bits, i32[8]:bits, u32=3)
// clang-format on
kernel block(128) void fuzz_mask(const u32 *m, u64 *out, u64 *acc, i32 *acc32, u32 n)
{
    const u32 *w = m + 32u * global_x();
    i8 v_1 = (i8)(w[0] & 15u);
    i16 v_3 = (i16)((u64)w[10] << 32 | w[5]);
    u16 v_4 = (u16)65535ull;
    i32 v_5 = (i32)((u64)w[9] << 32 | w[4]);
    u32 v_6 = (w[24] & 3u) == 0u ? (u32)0x7fffffffffffffffull : (u32)(w[9] & 1u);
    i64 v_7 = (i64)((u64)w[3] << 32 | w[18]);
    u64 v_8 = (u64)((u64)w[3] << 32 | w[5]);
    f32 v_9 = (f32)(i32)(w[28] >> 4u) * (f32)0.5;
    f64 v_10 = f64_from_bits((u64)w[16] << 32 | w[5]);
    bool v_11 = (w[22] & 3u) == 0u ? (bool)1 : (bool)(w[31] & 1u);
    u32 v_12 = (u32)((u64)w[7] << 32 | w[31]);
    i32 v_13 = (i32)((u64)w[29] << 32 | w[12]);
    i64 v_14 = (i64)(w[0] & 15u);
    u64 v_15 = (u64)(w[19] & 1u);
    i32 v_16 = (i32)((u64)w[15] << 32 | w[1]);
    u32 tx = thread_x();
    u32 ln = lane();
    u32 gx = global_x();
    u8 a_17[8] = {0};
    u64 a_18[16] = {0};
    if (block_any((bool)((v_5 != v_16) && (v_9 > (f32)(-2.5e-3))))) {
        {
            atomic_min(&acc[2], max(max(v_8, v_8), a_18[v_6 & 15u]));
        }
    }
    v_11 = shuffle_up_in(
        (bool)((((v_3 == (i16)5ull) != (v_14 >= v_7)) ||
                ((v_10 == (f64)(255.5)) && ((u8)256ull <= a_17[tx & 7u]))) ||
               (((f64)(1e-30) + (f64)(16777217.0)) <= (v_10 * v_10))),
        (min(min(v_6, tx), ((u32)((v_10 > v_10) ? (u32)1000ull : (u32)31ull))) & 0u), 1u);
    v_8 = warp_or(
        (u64)((u64)((u64)(-a_18[(u32)0x123456789abcdefull & 15u]) / (u64)(v_15 * v_15 + v_8)) /
              (u64)0ull));
    for (u32 i_21 = 0u; i_21 < n; i_21++) {
        {
            v_4++;
            if (((((i16)(((((i64)(v_8))) * ((i64)(v_5))) >> 32u)) & 1) != 0)) {
                switch ((u8)((a_17[tx & 7u] >> 4u) & (u8)0x3ffull) & 3) {
                case 0: {
                    if ((bool)(!(v_7 < v_7))) {
                        v_14 = (i64)(((i64)(((u64)(((u16)(a_17[tx & 7u])))))) -
                                     min(v_7, (i64)(v_7 * (i64)5ull - v_14)));
                    }
                } break;
                }
            }
        }
        {
            atomic_or(&acc32[5],
                      ((i32)(((i16)256ull >= (i16)32ull) ? dot4_i8(ln, tx, v_13)
                                                         : ((i32)((i16)0x8000000000000000ull)))));
        }
    }
    {
        out[(u64)gx * 16u + 0u] = (u64)v_1;
        out[(u64)gx * 16u + 2u] = (u64)v_3;
        out[(u64)gx * 16u + 3u] = (u64)v_4;
        out[(u64)gx * 16u + 4u] = (u64)v_5;
        out[(u64)gx * 16u + 5u] = (u64)v_6;
        out[(u64)gx * 16u + 6u] = (u64)v_7;
        out[(u64)gx * 16u + 7u] = (u64)v_8;
        out[(u64)gx * 16u + 8u] = (u64)simt_bits32(v_9);
        out[(u64)gx * 16u + 9u] = (u64)simt_bits64(v_10);
        out[(u64)gx * 16u + 10u] = (u64)v_11;
        out[(u64)gx * 16u + 11u] = (u64)v_12;
        out[(u64)gx * 16u + 12u] = (u64)v_13;
        out[(u64)gx * 16u + 13u] = (u64)v_14;
        out[(u64)gx * 16u + 14u] = (u64)v_15;
        out[(u64)gx * 16u + 15u] = (u64)v_16;
    }
}
#ifndef __KILN__
void oracle_mask(const u32 *m, u64 *out, u64 *acc, i32 *acc32, u32 n)
{
    enum { NT = 128 };
    for (u32 B = 0; B < 3; B++) {
        const int L0 = 0, L1 = NT;
        static bool done[NT];
        memset(done, 0, sizeof done);
        static i8 v_1[NT];
        static i16 v_3[NT];
        static u16 v_4[NT];
        static i32 v_5[NT];
        static u32 v_6[NT];
        static i64 v_7[NT];
        static u64 v_8[NT];
        static f32 v_9[NT];
        static f64 v_10[NT];
        static bool v_11[NT];
        static u32 v_12[NT];
        static i32 v_13[NT];
        static i64 v_14[NT];
        static u64 v_15[NT];
        static i32 v_16[NT];
        static u32 tx[NT];
        static u32 ln[NT];
        static u32 gx[NT];
        static u8 a_17[NT][8];
        memset(a_17, 0, sizeof a_17);
        static u64 a_18[NT][16];
        memset(a_18, 0, sizeof a_18);
        for (int L = L0; L < L1; L++) {
            const u32 *w = m + 32u * (B * NT + (u32)L);
            v_1[L] = (i8)(w[0] & 15u);
            v_3[L] = (i16)((u64)w[10] << 32 | w[5]);
            v_4[L] = (u16)65535ull;
            v_5[L] = (i32)((u64)w[9] << 32 | w[4]);
            v_6[L] = (w[24] & 3u) == 0u ? (u32)0x7fffffffffffffffull : (u32)(w[9] & 1u);
            v_7[L] = (i64)((u64)w[3] << 32 | w[18]);
            v_8[L] = (u64)((u64)w[3] << 32 | w[5]);
            v_9[L] = (f32)(i32)(w[28] >> 4u) * (f32)0.5;
            v_10[L] = o_f64_from_bits((u64)w[16] << 32 | w[5]);
            v_11[L] = (w[22] & 3u) == 0u ? (bool)1 : (bool)(w[31] & 1u);
            v_12[L] = (u32)((u64)w[7] << 32 | w[31]);
            v_13[L] = (i32)((u64)w[29] << 32 | w[12]);
            v_14[L] = (i64)(w[0] & 15u);
            v_15[L] = (u64)(w[19] & 1u);
            v_16[L] = (i32)((u64)w[15] << 32 | w[1]);
            tx[L] = (u32)L;
            ln[L] = (u32)L % 32;
            gx[L] = B * NT + (u32)L;
        }
        for (int L = L0; L < L1; L++)
            o_in_bool[L] = (bool)((v_5[L] != v_16[L]) && (v_9[L] > (f32)(-2.5e-3)));
        o_block_any(o_in_bool, o_out_bool, L0, L1);
        if (o_out_bool[L0]) {
            for (int L = L0; L < L1; L++) {
                {
                    u64 X = o_max_u64(o_max_u64(v_8[L], v_8[L]), a_18[L][v_6[L] & 15u]);
                    if (X < acc[2])
                        acc[2] = X;
                }
            }
        }
        for (int L = L0; L < L1; L++)
            o_in_bool[L] =
                (bool)((((v_3[L] == (i16)5ull) != (v_14[L] >= v_7[L])) ||
                        ((v_10[L] == (f64)(255.5)) && ((u8)256ull <= a_17[L][tx[L] & 7u]))) ||
                       (((f64)(1e-30) + (f64)(16777217.0)) <= (v_10[L] * v_10[L])));
        for (int L = L0; L < L1; L++)
            o_index[L] = (o_min_u32(o_min_u32(v_6[L], tx[L]),
                                    ((u32)((v_10[L] > v_10[L]) ? (u32)1000ull : (u32)31ull))) &
                          0u);
        o_shuffle_up_bool(o_in_bool, o_out_bool, 1, L0, L1);
        for (int L = L0; L < L1; L++)
            v_11[L] = o_out_bool[L];
        for (int L = L0; L < L1; L++)
            o_in_u64[L] =
                (u64)o_div_u64((u64)o_div_u64((u64)(-a_18[L][(u32)0x123456789abcdefull & 15u]),
                                              (u64)(v_15[L] * v_15[L] + v_8[L])),
                               (u64)0ull);
        o_warp_or_u64(o_in_u64, o_out_u64, L0, L1);
        for (int L = L0; L < L1; L++)
            v_8[L] = o_out_u64[L];
        for (u32 i_21 = 0u; i_21 < n; i_21++) {
            for (int L = L0; L < L1; L++) {
                v_4[L]++;
                if (((((i16)(((((i64)(v_8[L]))) * ((i64)(v_5[L]))) >> 32u)) & 1) != 0)) {
                    switch ((u8)((a_17[L][tx[L] & 7u] >> 4u) & (u8)0x3ffull) & 3) {
                    case 0: {
                        if ((bool)(!(v_7[L] < v_7[L]))) {
                            v_14[L] = (i64)(((i64)(((u64)(((u16)(a_17[L][tx[L] & 7u])))))) -
                                            o_min_i64(v_7[L], (i64)(v_7[L] * (i64)5ull - v_14[L])));
                        }
                    } break;
                    }
                }
            }
            for (int L = L0; L < L1; L++) {
                {
                    i32 X =
                        ((i32)(((i16)256ull >= (i16)32ull) ? o_dot4_i8(ln[L], tx[L], v_13[L])
                                                           : ((i32)((i16)0x8000000000000000ull))));
                    acc32[5] |= X;
                }
            }
        }
        for (int L = L0; L < L1; L++) {
            out[(u64)gx[L] * 16u + 0u] = (u64)v_1[L];
            out[(u64)gx[L] * 16u + 2u] = (u64)v_3[L];
            out[(u64)gx[L] * 16u + 3u] = (u64)v_4[L];
            out[(u64)gx[L] * 16u + 4u] = (u64)v_5[L];
            out[(u64)gx[L] * 16u + 5u] = (u64)v_6[L];
            out[(u64)gx[L] * 16u + 6u] = (u64)v_7[L];
            out[(u64)gx[L] * 16u + 7u] = (u64)v_8[L];
            out[(u64)gx[L] * 16u + 8u] = (u64)o_bits_f32(v_9[L]);
            out[(u64)gx[L] * 16u + 9u] = (u64)o_bits_f64(v_10[L]);
            out[(u64)gx[L] * 16u + 10u] = (u64)v_11[L];
            out[(u64)gx[L] * 16u + 11u] = (u64)v_12[L];
            out[(u64)gx[L] * 16u + 12u] = (u64)v_13[L];
            out[(u64)gx[L] * 16u + 13u] = (u64)v_14[L];
            out[(u64)gx[L] * 16u + 14u] = (u64)v_15[L];
            out[(u64)gx[L] * 16u + 15u] = (u64)v_16[L];
        }
    }
}
#endif
