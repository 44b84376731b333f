// Every function of f32 for the matrix of equal bits: 256 pairs of special values, and 4096 inputs
// each of any bits, of numbers up to 100, and up to 1; beside each of them the edges of an exponent
// (functions.h).
#include <kiln/kernel.h>

// clang-format off
//! run fn_{sqrt,floor,ceil,trunc,rint,fabs,round,rsqrt,cbrt,exp,exp2,expm1,log,log2,log10,log1p,sin,cos,tan,asin,acos,atan,sinh,cosh,tanh,erf,erfc,tgamma,lgamma}_f32 grid=2 block=128 (f32[256]:edge, f32[512])
//! run fn_{sqrt,floor,ceil,trunc,rint,fabs,round,rsqrt,cbrt,exp,exp2,expm1,log,log2,log10,log1p,sin,cos,tan,asin,acos,atan,sinh,cosh,tanh,erf,erfc,tgamma,lgamma}_f32 grid=32 block=128 (f32[4096]:bits, f32[8192])
//! run fn_{sqrt,floor,ceil,trunc,rint,fabs,round,rsqrt,cbrt,exp,exp2,expm1,log,log2,log10,log1p,sin,cos,tan,asin,acos,atan,sinh,cosh,tanh,erf,erfc,tgamma,lgamma}_f32 grid=32 block=128 (f32[4096]:rand, f32[8192])
//! run fn_{sqrt,floor,ceil,trunc,rint,fabs,round,rsqrt,cbrt,exp,exp2,expm1,log,log2,log10,log1p,sin,cos,tan,asin,acos,atan,sinh,cosh,tanh,erf,erfc,tgamma,lgamma}_f32 grid=32 block=128 (f32[4096]:unit, f32[8192])
//! run fn_{divide,fma_one,fma_small,fmin,fmax,copysign,pow,atan2,fmod,remainder,hypot}_f32 grid=2 block=128 (f32[256]:edge, f32[256]:edge2, f32[768])
//! run fn_{divide,fma_one,fma_small,fmin,fmax,copysign,pow,atan2,fmod,remainder,hypot}_f32 grid=32 block=128 (f32[4096]:bits, f32[4096]:bits, f32[12288])
//! run fn_{divide,fma_one,fma_small,fmin,fmax,copysign,pow,atan2,fmod,remainder,hypot}_f32 grid=32 block=128 (f32[4096]:rand, f32[4096]:rand, f32[12288])
//! run fn_{divide,fma_one,fma_small,fmin,fmax,copysign,pow,atan2,fmod,remainder,hypot}_f32 grid=32 block=128 (f32[4096]:bits, f32[4096]:unit, f32[12288])
// clang-format on
#define REAL f32
static const u32 mantissas[8] = {0, 1, 2, 0x2aaaaa, 0x3fffff, 0x400000, 0x7ffffe, 0x7fffff};

// Every exponent with both signs and eight mantissas
static inline f32 edge_of(u32 i, f32 x)
{
    (void)x;
    return f32_from_bits((i & 255) << 23 | (i >> 8 & 1) << 31 | mantissas[i >> 9 & 7]);
}
#include "functions.h"
