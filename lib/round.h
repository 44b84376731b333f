// round in Kiln C; host compilers read the same text.
#ifndef KILN_LIB_ROUND_H
#define KILN_LIB_ROUND_H

static inline f32 k_round_f32(f32 x)
{
    f32 t = trunc(x);
    return fabs(x - t) >= 0.5f ? t + copysign(1.0f, x) : t;
}

static inline f64 k_round_f64(f64 x)
{
    f64 t = trunc(x);
    return fabs(x - t) >= 0.5 ? t + copysign(1.0, x) : t;
}
#endif
