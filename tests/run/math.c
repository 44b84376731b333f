// The elementary functions: the same text runs everywhere, so every bit must agree; the host's libm
// says whether the answers make sense.
#include <kiln/kernel.h>

// The macros hide libm; these are libm.
#define CLOSE(got, want)                                                                           \
    (isnan(want) ? isnan(got)                                                                      \
                 : (got) == (want) || fabs((f64)(got) - (want)) <= 4e-7 * fabs(want) + 1e-37)
#define ONE(name, libm)                                                                            \
    static bool name##_is_close(const f32 *in, f32 *out)                                           \
    {                                                                                              \
        for (u32 i = 0; i < 256; i++) {                                                            \
            f64 want = libm((f64)in[i]);                                                           \
            if ((f64)(f32)want == want || fabs(want) < 1e38)                                       \
                if (!CLOSE(out[i], want))                                                          \
                    return false;                                                                  \
        }                                                                                          \
        return true;                                                                               \
    }                                                                                              \
    kernel void name##_f32(const f32 *in, f32 *out)                                                \
    {                                                                                              \
        out[global_x()] = name(in[global_x()]);                                                    \
    }                                                                                              \
    kernel void name##_f64(const f64 *in, f64 *out)                                                \
    {                                                                                              \
        out[global_x()] = name(in[global_x()]);                                                    \
    }
//! run {round,rsqrt,cbrt,exp,exp2,expm1,log,log2,log10,log1p,sin,cos,tan,asin,acos,atan,sinh,cosh,tanh,erf,erfc,tgamma,lgamma}_f32 grid=4 block=64 check=$1_is_close (f32[256]:edge, f32[256])
//! run {round,rsqrt,cbrt,exp,exp2,expm1,log,log2,log10,log1p,sin,cos,tan,asin,acos,atan,sinh,cosh,tanh,erf,erfc,tgamma,lgamma}_f32 grid=4 block=64 check=$1_is_close (f32[256]:unit, f32[256])
//! run {round,rsqrt,cbrt,exp,exp2,expm1,log,log2,log10,log1p,sin,cos,tan,asin,acos,atan,sinh,cosh,tanh,erf,erfc}_f32 grid=4 block=64 check=$1_is_close (f32[256]:bits, f32[256])
//! run {round,rsqrt,cbrt,exp,exp2,expm1,log,log2,log10,log1p,sin,cos,tan,asin,acos,atan,sinh,cosh,tanh,erf,erfc,tgamma,lgamma}_f64 grid=4 block=64 (f64[256]:edge, f64[256])
//! run {round,rsqrt,cbrt,exp,exp2,expm1,log,log2,log10,log1p,sin,cos,tan,asin,acos,atan,sinh,cosh,tanh,erf,erfc,tgamma,lgamma}_f64 grid=4 block=64 (f64[256]:rand, f64[256])
//! run {round,rsqrt,cbrt,exp,exp2,expm1,log,log2,log10,log1p,sin,cos,tan,asin,acos,atan,sinh,cosh,tanh,erf,erfc,tgamma,lgamma}_f64 grid=16 block=64 (f64[1024]:bits, f64[1024])
//! run {round,rsqrt,cbrt,exp,exp2,expm1,log,log2,log10,log1p,sin,cos,tan,asin,acos,atan,sinh,cosh,tanh,erf,erfc,tgamma,lgamma}_f64 grid=16 block=64 (f64[1024]:unit, f64[1024])
//! run {round,rsqrt,cbrt,exp,exp2,expm1,log,log2,log10,log1p,sin,cos,tan,asin,acos,atan,sinh,cosh,tanh,erf,erfc,tgamma,lgamma}_f32 grid=4 block=64 check=$1_is_close (f32[256]:rand, f32[256])
ONE(round, __builtin_round)
ONE(rsqrt, 1 / __builtin_sqrt)
ONE(cbrt, __builtin_cbrt)
ONE(exp, __builtin_exp)
ONE(exp2, __builtin_exp2)
ONE(expm1, __builtin_expm1)
ONE(log, __builtin_log)
ONE(log2, __builtin_log2)
ONE(log10, __builtin_log10)
ONE(log1p, __builtin_log1p)
ONE(sin, __builtin_sin)
ONE(cos, __builtin_cos)
ONE(tan, __builtin_tan)
ONE(asin, __builtin_asin)
ONE(acos, __builtin_acos)
ONE(atan, __builtin_atan)
ONE(sinh, __builtin_sinh)
ONE(cosh, __builtin_cosh)
ONE(tanh, __builtin_tanh)
ONE(erf, __builtin_erf)
ONE(erfc, __builtin_erfc)
ONE(tgamma, __builtin_tgamma)
ONE(lgamma, __builtin_lgamma)

#define TWO(name)                                                                                  \
    kernel void name##_f32(const f32 *a, const f32 *b, f32 *out)                                   \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        out[i] = name(a[i], b[i]);                                                                 \
    }                                                                                              \
    kernel void name##_f64(const f64 *a, const f64 *b, f64 *out)                                   \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        out[i] = name(a[i], b[i]);                                                                 \
    }
//! run {pow,atan2,fmod,remainder,hypot}_{f32,f64} grid=4 block=64 ($2[256]:edge, $2[256]:edge2, $2[256])
//! run {pow,atan2,fmod,remainder,hypot}_{f32,f64} grid=4 block=64 ($2[256]:rand, $2[256]:rand, $2[256])
//! run {pow,atan2,fmod,remainder,hypot}_{f32,f64} grid=16 block=64 ($2[1024]:bits, $2[1024]:bits, $2[1024])
//! run {pow,atan2,fmod,remainder,hypot}_{f32,f64} grid=16 block=64 ($2[1024]:unit, $2[1024]:rand, $2[1024])
TWO(pow)
TWO(atan2)
TWO(fmod)
TWO(remainder)
TWO(hypot)

// Where the results cross 0 between negative integers, and where quotients are of tiny numbers
//! run lgamma_zeros grid=16 block=64 (f64[1024]:unit, f64[1024])
kernel void lgamma_zeros(const f64 *in, f64 *out)
{
    f64 u = in[global_x()], n = -2.0 - (f64)(global_x() % 18);
    f64 close = u * u * u * exp2(-(f64)(global_x() % 50));
    out[global_x()] = lgamma(global_x() & 1 ? n + close : n - close);
}
//! run atan2_tiny grid=16 block=64 (f64[1024]:unit, f64[1024])
kernel void atan2_tiny(const f64 *in, f64 *out)
{
    f64 y = in[global_x()] * 0x1p-1020, x = in[1023 - global_x()] * 0x1p-1010;
    out[global_x()] = atan2(y, global_x() & 1 ? x : -x);
}

//! run math_c_names block=64 (f32[64]:unit, f32[64])
kernel void math_c_names(const f32 *in, f32 *out)
{
    f32 x = in[thread_x()];
    out[thread_x()] = expf(x) + exp2f(x) + expm1f(x) + logf(x + 1) + log2f(x + 1) + log10f(x + 1) +
                      log1pf(x) + sinf(x) + cosf(x) + tanf(x) + asinf(x) + acosf(x) + atanf(x) +
                      sinhf(x) + coshf(x) + tanhf(x) + erff(x) + erfcf(x) + tgammaf(x + 1) +
                      lgammaf(x + 1) + powf(x, 2) + atan2f(x, 2) + fmodf(x, 0.3f) +
                      remainderf(x, 0.3f) + hypotf(x, 1) + roundf(x) + rsqrtf(x + 1) + cbrtf(x);
}

static bool silu_is_close(const f32 *x, const f32 *gate, f32 *out, u32 n)
{
    for (u32 i = 0; i < n; i++) {
        f64 want = (f64)x[i] / (1 + __builtin_exp(-(f64)x[i])) * (f64)gate[i];
        if (fabs((f64)out[i] - want) > 1e-5 * fabs(want) + 1e-30)
            return false;
    }
    return true;
}
//! run silu_gate grid=4 block=64 check=silu_is_close (f32[200]:rand, f32[200]:rand, f32[200], u32=200)
kernel block(64) void silu_gate(const f32 *x, const f32 *gate, f32 *out, u32 n)
{
    u32 i = global_x();
    if (i < n)
        out[i] = x[i] / (1.0f + exp(-x[i])) * gate[i];
}

static bool softmax_is_close(const f32 *in, f32 *out)
{
    for (u32 r = 0; r < 3; r++) {
        f64 sum = 0;
        for (u32 i = 0; i < 80; i++)
            sum += __builtin_exp((f64)in[r * 80 + i]);
        for (u32 i = 0; i < 80; i++)
            if (fabs((f64)out[r * 80 + i] - __builtin_exp((f64)in[r * 80 + i]) / sum) > 1e-6)
                return false;
    }
    return true;
}
//! run softmax_rows grid=3 block=80 check=softmax_is_close (f32[240]:unit, f32[240])
kernel block(80) void softmax_rows(const f32 *in, f32 *out)
{
    u32 i = global_x();
    f32 top = block_max(in[i]);
    f32 e = exp(in[i] - top);
    out[i] = e / block_sum(e);
}

// Approximations: outside the promise, so only their rough size is kept.
//! run approximations block=32 (f32[32]:unit, i32[32])
kernel void approximations(const f32 *in, i32 *out)
{
    f32 x = in[thread_x()] + 0.5f;
    f32 sum = fast_exp2(x) + fast_exp(x) + fast_log2(x) + fast_log(x) + fast_sin(x) + fast_cos(x) +
              fast_tanh(x) + fast_rcp(x) + fast_rsqrt(x) + fast_sqrt(x) + fast_div(x, 3) +
              fast_pow(x, 2);
    out[thread_x()] = sum > 1 && sum < 40;
}
