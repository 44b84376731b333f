// kiln/narrow.h: functions for results of 16 bits, beside those in double; what is no number stays
// none.
#include <kiln/narrow.h>

static bool is_near(f32 got, f64 want)
{
    if (want != want)
        return got != got;
    return fabs((f64)got - want) <= fabs(want) * 0x1p-16 + 0x1p-125 || (f64)got == want;
}

static bool exp_is_near(const f32 *x, const f32 *out)
{
    bool all = true;
    for (u32 i = 0; i < 256; i++)
        all = all && (x[i] > 0.0f || is_near(out[i], exp((f64)x[i])));
    return all;
}
//! run narrow_exp_of grid=4 block=64 check=exp_is_near (f32[256]:edge, f32[256])
//! run narrow_exp_of grid=4 block=64 check=exp_is_near (f32[256]:sym3, f32[256])
kernel void narrow_exp_of(const f32 *x, f32 *out)
{
    out[global_x()] = narrow_exp(x[global_x()]);
}

static bool sum_is_near(const f32 *x, const f32 *out)
{
    bool all = true;
    for (u32 i = 0; i < 256; i++) {
        f64 want = 1.0 + exp((f64)x[i]); // beyond f32 it is infinite
        all = all && (is_near(out[i], want) || (want > 3.4e38 && out[i] > 3.4e38f));
    }
    return all;
}
//! run narrow_sum_of grid=4 block=64 check=sum_is_near (f32[256]:edge, f32[256])
//! run narrow_sum_of grid=4 block=64 check=sum_is_near (f32[256]:sym3, f32[256])
kernel void narrow_sum_of(const f32 *x, f32 *out)
{
    out[global_x()] = narrow_one_plus_exp(x[global_x()]);
}

static bool erf_is_near(const f32 *x, const f32 *out)
{
    bool all = true;
    for (u32 i = 0; i < 256; i++)
        all = all && (x[i] != x[i] || x[i] < -6.5f || is_near(out[i], erfc(-(f64)x[i])));
    return all;
}
//! run narrow_erf_of grid=4 block=64 check=erf_is_near (f32[256]:edge, f32[256])
//! run narrow_erf_of grid=4 block=64 check=erf_is_near (f32[256]:sym3, f32[256])
kernel void narrow_erf_of(const f32 *x, f32 *out)
{
    out[global_x()] = narrow_one_plus_erf(x[global_x()]);
}
