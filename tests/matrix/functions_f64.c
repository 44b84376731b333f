// Every function of f64 for the matrix of equal bits: 256 pairs of special values, and 4096 inputs
// each of any bits, of numbers up to 100, and up to 1; beside each of them the edges of an exponent
// (functions.h).
#include <kiln/kernel.h>

// clang-format off
//! run fn_{sqrt,floor,ceil,trunc,rint,fabs,round,rsqrt,cbrt,exp,exp2,expm1,log,log2,log10,log1p,sin,cos,tan,asin,acos,atan,sinh,cosh,tanh,erf,erfc,tgamma,lgamma}_f64 grid=2 block=128 (f64[256]:edge, f64[512])
//! run fn_{sqrt,floor,ceil,trunc,rint,fabs,round,rsqrt,cbrt,exp,exp2,expm1,log,log2,log10,log1p,sin,cos,tan,asin,acos,atan,sinh,cosh,tanh,erf,erfc,tgamma,lgamma}_f64 grid=32 block=128 (f64[4096]:bits, f64[8192])
//! run fn_{sqrt,floor,ceil,trunc,rint,fabs,round,rsqrt,cbrt,exp,exp2,expm1,log,log2,log10,log1p,sin,cos,tan,asin,acos,atan,sinh,cosh,tanh,erf,erfc,tgamma,lgamma}_f64 grid=32 block=128 (f64[4096]:rand, f64[8192])
//! run fn_{sqrt,floor,ceil,trunc,rint,fabs,round,rsqrt,cbrt,exp,exp2,expm1,log,log2,log10,log1p,sin,cos,tan,asin,acos,atan,sinh,cosh,tanh,erf,erfc,tgamma,lgamma}_f64 grid=32 block=128 (f64[4096]:unit, f64[8192])
//! run fn_{divide,fma_one,fma_small,fmin,fmax,copysign,pow,atan2,fmod,remainder,hypot}_f64 grid=2 block=128 (f64[256]:edge, f64[256]:edge2, f64[768])
//! run fn_{divide,fma_one,fma_small,fmin,fmax,copysign,pow,atan2,fmod,remainder,hypot}_f64 grid=32 block=128 (f64[4096]:bits, f64[4096]:bits, f64[12288])
//! run fn_{divide,fma_one,fma_small,fmin,fmax,copysign,pow,atan2,fmod,remainder,hypot}_f64 grid=32 block=128 (f64[4096]:rand, f64[4096]:rand, f64[12288])
//! run fn_{divide,fma_one,fma_small,fmin,fmax,copysign,pow,atan2,fmod,remainder,hypot}_f64 grid=32 block=128 (f64[4096]:bits, f64[4096]:unit, f64[12288])
// clang-format on
#define REAL f64
static const u64 mantissas[8] = {
    0, 1, 2, 0x5555555555555, 0x7ffffffffffff, 0x8000000000000, 0xffffffffffffe, 0xfffffffffffff};

// Every exponent with both signs; the input's last bits choose the mantissa
static inline f64 edge_of(u32 i, f64 x)
{
    return f64_from_bits((u64)(i & 2047) << 52 | (u64)(i >> 11 & 1) << 63 |
                         mantissas[bits_f64(x) & 7]);
}
#include "functions.h"
