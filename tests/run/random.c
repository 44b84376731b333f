// Random numbers: the published first outputs of both generators, the same streams everywhere, and numbers of the
// right mean and deviation.
#include <kiln/kernel.h>

static bool philox_is_known(const u32 *out)
{
    static const u32 want[12] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8, 0x408f276d, 0x41c83b0e,
                                 0xa20bc7c6, 0x6d5451fd, 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    return memcmp(out, want, sizeof want) == 0;
}

//! run philox_known check=philox_is_known (u32[12])
kernel void philox_known(u32 *out)
{
    u32x4 a = philox((u32x4){0, 0, 0, 0}, (u32x2){0, 0});
    u32 ones = 0xffffffffu;
    u32x4 b = philox((u32x4){ones, ones, ones, ones}, (u32x2){ones, ones});
    u32x4 c = philox((u32x4){0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, (u32x2){0xa4093822u, 0x299f31d0u});
    out[0] = a.x;
    out[1] = a.y;
    out[2] = a.z;
    out[3] = a.w;
    out[4] = b.x;
    out[5] = b.y;
    out[6] = b.z;
    out[7] = b.w;
    out[8] = c.x;
    out[9] = c.y;
    out[10] = c.z;
    out[11] = c.w;
}

static bool pcg_is_known(const u32 *out)
{
    static const u32 want[6] = {0xa15c02b7, 0x7b47f409, 0xba1d3330, 0x83d2f293, 0xbfa4784b, 0xcbed606e};
    return memcmp(out, want, sizeof want) == 0;
}

//! run pcg_known check=pcg_is_known (u32[6])
kernel void pcg_known(u32 *out)
{
    u64 state = pcg32_seed(42, 54);
    for (u32 i = 0; i < 6; i++) {
        out[i] = pcg32(state);
        state = pcg32_step(state, 54);
    }
}

static bool is_uniform(const f32 *a, const f64 *b)
{
    f64 sum_a = 0, sum_b = 0;
    for (u32 i = 0; i < 4096; i++) {
        if (!(a[i] >= 0 && a[i] < 1 && b[i] >= 0 && b[i] < 1))
            return false;
        sum_a += (f64)a[i];
        sum_b += b[i];
    }
    return fabs(sum_a / 4096 - 0.5) < 0.02 && fabs(sum_b / 4096 - 0.5) < 0.02;
}

//! run uniform_numbers grid=16 block=256 check=is_uniform (f32[4096], f64[4096])
kernel void uniform_numbers(f32 *a, f64 *b)
{
    u32x4 r = philox((u32x4){global_x(), 0, 0, 0}, (u32x2){7, 8});
    a[global_x()] = uniform_f32(r.x);
    b[global_x()] = uniform_f64(r.y, r.z);
}

static bool is_normal(const f32x2 *a, const f64x2 *b)
{
    f64 sum[4] = {0}, square[4] = {0};
    for (u32 i = 0; i < 4096; i++) {
        f64 v[4] = {(f64)a[i].x, (f64)a[i].y, b[i].x, b[i].y};
        for (u32 k = 0; k < 4; k++) {
            sum[k] += v[k];
            square[k] += v[k] * v[k];
        }
    }
    for (u32 k = 0; k < 4; k++)
        if (!(fabs(sum[k] / 4096) < 0.06 && fabs(square[k] / 4096 - 1) < 0.1))
            return false;
    return true;
}

//! run normal_numbers grid=16 block=256 check=is_normal (f32x2[4096]:rand@f32, f64x2[4096]:rand@f64)
kernel void normal_numbers(f32x2 *a, f64x2 *b)
{
    u32x4 r = philox((u32x4){global_x(), 1, 0, 0}, (u32x2){7, 8});
    a[global_x()] = normal_f32(r.x, r.y);
    b[global_x()] = normal_f64(r);
}

//! run normal_edges grid=4 block=64 (u32[256]:edge, u32[256]:edge2, f32x2[256]:rand@f32, f64x2[256]:rand@f64)
kernel void normal_edges(const u32 *x, const u32 *y, f32x2 *a, f64x2 *b)
{
    u32 i = global_x();
    a[i] = normal_f32(x[i], y[i]);
    b[i] = normal_f64((u32x4){x[i], x[i], y[i], y[i]});
}
