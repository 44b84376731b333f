// kiln/smooth.h and kiln/narrow.h: functions in few steps, beside those in double; what is no
// number stays none.
#include <kiln/narrow.h>

static bool is_near(f32 got, f64 want, f64 bound)
{
    if (want != want)
        return got != got;
    return fabs((f64)got - want) <= fabs(want) * bound + 0x1p-125 || (f64)got == want;
}

static bool smooth_exp_is_near(const f32 *x, const f32 *out)
{
    bool all = true;
    for (u32 i = 0; i < 256; i++)
        all = all && (x[i] > 0.0f || is_near(out[i], exp((f64)x[i]), 0x1p-21));
    return all;
}
//! run smooth_exp_of grid=4 block=64 check=smooth_exp_is_near (f32[256]:edge, f32[256])
//! run smooth_exp_of grid=4 block=64 check=smooth_exp_is_near (f32[256]:sym3, f32[256])
kernel void smooth_exp_of(const f32 *x, f32 *out)
{
    out[global_x()] = smooth_exp(x[global_x()]);
}

static bool smooth_logistic_is_near(const f32 *x, const f32 *out)
{
    bool all = true;
    for (u32 i = 0; i < 256; i++)
        all = all && (is_near(out[i], 1.0 / (1.0 + exp((f64)x[i])), 0x1p-21));
    return all;
}
//! run smooth_logistic_of grid=4 block=64 check=smooth_logistic_is_near (f32[256]:edge, f32[256])
//! run smooth_logistic_of grid=4 block=64 check=smooth_logistic_is_near (f32[256]:sym3, f32[256])
kernel void smooth_logistic_of(const f32 *x, f32 *out)
{
    out[global_x()] = smooth_over_one_plus_exp(1.0f, x[global_x()]);
}

static bool smooth_tanh_is_near(const f32 *x, const f32 *out)
{
    bool all = true;
    for (u32 i = 0; i < 256; i++)
        all = all && (is_near(out[i], tanh((f64)x[i]), 0x1p-21));
    return all;
}
//! run smooth_tanh_of grid=4 block=64 check=smooth_tanh_is_near (f32[256]:edge, f32[256])
//! run smooth_tanh_of grid=4 block=64 check=smooth_tanh_is_near (f32[256]:sym3, f32[256])
kernel void smooth_tanh_of(const f32 *x, f32 *out)
{
    out[global_x()] = smooth_tanh(x[global_x()]);
}

static bool smooth_erf_is_near(const f32 *x, const f32 *out)
{
    bool all = true;
    for (u32 i = 0; i < 256; i++)
        all = all && (x[i] < -4.0f || is_near(out[i], erfc(-(f64)x[i]), 0x1p-19));
    return all;
}
//! run smooth_erf_of grid=4 block=64 check=smooth_erf_is_near (f32[256]:edge, f32[256])
//! run smooth_erf_of grid=4 block=64 check=smooth_erf_is_near (f32[256]:sym3, f32[256])
kernel void smooth_erf_of(const f32 *x, f32 *out)
{
    out[global_x()] = smooth_one_plus_erf(x[global_x()]);
}

static bool narrow_exp_is_near(const f32 *x, const f32 *out)
{
    bool all = true;
    for (u32 i = 0; i < 256; i++)
        all = all && (x[i] > 0.0f || is_near(out[i], exp((f64)x[i]), 0x1p-15));
    return all;
}
//! run narrow_exp_of grid=4 block=64 check=narrow_exp_is_near (f32[256]:edge, f32[256])
//! run narrow_exp_of grid=4 block=64 check=narrow_exp_is_near (f32[256]:sym3, f32[256])
kernel void narrow_exp_of(const f32 *x, f32 *out)
{
    out[global_x()] = narrow_exp(x[global_x()]);
}

static bool narrow_logistic_is_near(const f32 *x, const f32 *out)
{
    bool all = true;
    for (u32 i = 0; i < 256; i++)
        all = all && (is_near(out[i], 1.0 / (1.0 + exp((f64)x[i])), 0x1p-15));
    return all;
}
//! run narrow_logistic_of grid=4 block=64 check=narrow_logistic_is_near (f32[256]:edge, f32[256])
//! run narrow_logistic_of grid=4 block=64 check=narrow_logistic_is_near (f32[256]:sym3, f32[256])
kernel void narrow_logistic_of(const f32 *x, f32 *out)
{
    out[global_x()] = narrow_over_one_plus_exp(1.0f, x[global_x()]);
}

static bool narrow_tanh_is_near(const f32 *x, const f32 *out)
{
    bool all = true;
    for (u32 i = 0; i < 256; i++)
        all = all && (is_near(out[i], tanh((f64)x[i]), 0x1p-15));
    return all;
}
//! run narrow_tanh_of grid=4 block=64 check=narrow_tanh_is_near (f32[256]:edge, f32[256])
//! run narrow_tanh_of grid=4 block=64 check=narrow_tanh_is_near (f32[256]:sym3, f32[256])
kernel void narrow_tanh_of(const f32 *x, f32 *out)
{
    out[global_x()] = narrow_tanh(x[global_x()]);
}

static bool narrow_erf_is_near(const f32 *x, const f32 *out)
{
    bool all = true;
    for (u32 i = 0; i < 256; i++)
        all = all && (x[i] < -4.0f || is_near(out[i], erfc(-(f64)x[i]), 0x1p-14));
    return all;
}
//! run narrow_erf_of grid=4 block=64 check=narrow_erf_is_near (f32[256]:edge, f32[256])
//! run narrow_erf_of grid=4 block=64 check=narrow_erf_is_near (f32[256]:sym3, f32[256])
kernel void narrow_erf_of(const f32 *x, f32 *out)
{
    out[global_x()] = narrow_one_plus_erf(x[global_x()]);
}

// Half of x times erfc; far below 0 it is next to nothing.
static bool gelu_is_near(f32 x, f32 got, f64 bound)
{
    if (x < -5.5f)
        return got <= 0.0f && got > -1e-6f;
    return is_near(got, x > 1e30f ? (f64)x : 0.5 * (f64)x * erfc((f64)x * -0.70710678118654752), bound);
}

static bool smooth_gelu_is_near(const f32 *x, const f32 *out)
{
    bool all = true;
    for (u32 i = 0; i < 256; i++)
        all = all && gelu_is_near(x[i], out[i], 0x1p-19);
    return all;
}
//! run smooth_gelu_of grid=4 block=64 check=smooth_gelu_is_near (f32[256]:edge, f32[256])
//! run smooth_gelu_of grid=4 block=64 check=smooth_gelu_is_near (f32[256]:sym3, f32[256])
kernel void smooth_gelu_of(const f32 *x, f32 *out)
{
    out[global_x()] = smooth_gelu(x[global_x()]);
}

static bool narrow_gelu_is_near(const f32 *x, const f32 *out)
{
    bool all = true;
    for (u32 i = 0; i < 256; i++)
        all = all && gelu_is_near(x[i], out[i], 0x1p-14);
    return all;
}
//! run narrow_gelu_of grid=4 block=64 check=narrow_gelu_is_near (f32[256]:edge, f32[256])
//! run narrow_gelu_of grid=4 block=64 check=narrow_gelu_is_near (f32[256]:sym3, f32[256])
kernel void narrow_gelu_of(const f32 *x, f32 *out)
{
    out[global_x()] = narrow_gelu(x[global_x()]);
}

// Where it passes 0 the parts of the slope cancel each other: the error is that of their size.
static bool slope_is_near(f32 x, f32 got, f64 bound)
{
    f64 z = (f64)(x < -40.0f ? -40.0f : x > 40.0f ? 40.0f : x);
    f64 wanted = 0.5 * erfc(z * -0.70710678118654752) + z * 0.39894228040143268 * exp(-0.5 * z * z);
    return x != x ? got != got : fabs((f64)got - wanted) <= bound * (0.25 + fabs(wanted));
}

static bool smooth_slope_is_near(const f32 *x, const f32 *out)
{
    bool all = true;
    for (u32 i = 0; i < 256; i++)
        all = all && slope_is_near(x[i], out[i], 0x1p-20);
    return all;
}
//! run smooth_gelu_slope_of grid=4 block=64 check=smooth_slope_is_near (f32[256]:sym3, f32[256])
kernel void smooth_gelu_slope_of(const f32 *x, f32 *out)
{
    out[global_x()] = smooth_gelu_slope(x[global_x()]);
}

static bool narrow_slope_is_near(const f32 *x, const f32 *out)
{
    bool all = true;
    for (u32 i = 0; i < 256; i++)
        all = all && slope_is_near(x[i], out[i], 0x1p-15);
    return all;
}
//! run narrow_gelu_slope_of grid=4 block=64 check=narrow_slope_is_near (f32[256]:edge, f32[256])
//! run narrow_gelu_slope_of grid=4 block=64 check=narrow_slope_is_near (f32[256]:sym3, f32[256])
kernel void narrow_gelu_slope_of(const f32 *x, f32 *out)
{
    out[global_x()] = narrow_gelu_slope(x[global_x()]);
}

// How often is smooth_reciprocal not 1 / d rounded to nearest? From 1 to 2^126, 16384 mantissas.
static bool reciprocals_are_right(const u32 *wrong)
{
    bool all = true;
    for (u32 i = 0; i < 256; i++)
        all = all && wrong[i] == 0;
    return all;
}
//! run reciprocal_of grid=4 block=64 check=reciprocals_are_right (u32[256])
kernel void reciprocal_of(u32 *wrong)
{
    u32 count = 0;
    for (u32 k = 0; k < 64; k++) {
        f32 d = f32_from_bits((127 + 2 * k - (k == 63)) << 23 | ((global_x() * 64 + k) * 2654435761u) >> 9);
        count += bits_f32(smooth_reciprocal(d)) != bits_f32(1.0f / d);
    }
    wrong[global_x()] = count;
}
