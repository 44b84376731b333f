// erf of f64 in Kiln C, and what erfc needs; host compilers read the same text.
//
// A polynomial in x^2 below 0.84; above it erfc(x) = exp(-x^2) p(t) / (1 + 2x) with t = (x - 4) / (x + 4).
#ifndef KILN_LIB_ERF_F64_H
#define KILN_LIB_ERF_F64_H
#include "exp_f64.h"

// erf(x) / x in two parts as a function of z = x^2 <= 0.75
static inline f64x2 k_erf_small_f64(f64 z)
{
    f64 q = fma(-8.73113975926033269e-10, z, 1.41486507310334783e-8);
    q = fma(q, z, -1.62936904021014829e-7);
    q = fma(q, z, 1.64570387473364684e-6);
    q = fma(q, z, -0.0000149254130907075488);
    q = fma(q, z, 0.000120553255576656189);
    q = fma(q, z, -0.000854832687022414684);
    q = fma(q, z, 0.00522397762343498277);
    q = fma(q, z, -0.0268661706449760083);
    q = fma(q, z, 0.112837916709545058);
    q = fma(q, z, -0.376126389031837427);
    q = fma(q, z, 1.50848740860832469e-17);
    return (f64x2){0x1.20dd750429b6dp+0, q};
}

// erfc(a) in two parts, 0.7 <= a <= 27.5
static inline f64x2 k_erfc_parts_f64(f64 a)
{
    f64 t = (a - 4.0) / (a + 4.0);
    f64 q = fma(3.12822566703378244e-9, t, -1.02587096168317684e-8);
    q = fma(q, t, -2.1695058394200437e-8);
    q = fma(q, t, 1.04894776159898561e-7);
    q = fma(q, t, 7.9447654343072312e-8);
    q = fma(q, t, -8.21406095733684339e-7);
    q = fma(q, t, 2.90320141664301316e-7);
    q = fma(q, t, 5.70772562722919219e-6);
    q = fma(q, t, -0.000011220454056249052);
    q = fma(q, t, -0.0000243985470034326574);
    q = fma(q, t, 0.000150621218672080125);
    q = fma(q, t, -0.000199256842544793974);
    q = fma(q, t, -0.00075777320341238936);
    q = fma(q, t, 0.00503196999920918746);
    q = fma(q, t, -0.0161977340677248449);
    q = fma(q, t, 0.0371675155356239323);
    q = fma(q, t, -0.0663303658115374645);
    q = fma(q, t, 0.0937328349984394571);
    q = fma(q, t, -0.10103906603632852);
    q = fma(q, t, 0.0680970542546907032);
    q = fma(q, t, 0.0153796521026200832);
    q = fma(q, t, -0.139621116840562498);
    f64x2 p = k_sum_f64(1.23299511862555256, q * t);
    f64x2 d = k_sum_any_f64(1.0, 2.0 * a);
    f64 y = p.x / d.x, y_low = (fma(-y, d.x, p.x) + (p.y - y * d.y)) / d.x;
    f64x2 square = k_product_f64(a, a);
    f64 u = fma(square.x, -1.4426950408889634, KILN_ROUND64), n = u - KILN_ROUND64;
    f64x2 r = k_sum_f64(fma(n, -0x1.62e42fefa38p-1, -square.x), n * -0x1.ef35793c7673p-45);
    r = k_sum_f64(r.x, r.y - square.y);
    f64x2 e = k_sum_f64(1.0, r.x);
    e.y += fma(r.x, r.y, r.y) + k_exp_tail_f64(r.x);
    f64x2 product = k_product_f64(e.x, y);
    product.y += fma(e.y, y, e.x * y_low);
    return (f64x2){k_scale_f64(product.x + product.y, bits_f64(u)), k_scale_f64(product.y - ((product.x + product.y) - product.x), bits_f64(u))};
}

static inline f64 k_erf_f64(f64 x)
{
    f64 a = fabs(x);
    f64x2 small = k_erf_small_f64(a * a), c = k_erfc_parts_f64(a > 6.0 ? 6.0 : a < 0.7 ? 0.7 : a);
    f64x2 sum = k_sum_f64(1.0, -c.x);
    f64 y = a < 0.84 ? fma(a, small.x, a * small.y) : sum.x + (sum.y - c.y);
    return copysign(y, x);
}
#endif
