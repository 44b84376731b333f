// erf and erfc in Kiln C; host compilers read the same text.
//
// f32: a polynomial in x^2 below 0.92, 1 - exp(polynomial) above. f64: a polynomial in x^2 below 0.84; above it
// exp(-x^2) p(t) / (1 + 2x) with t = (x - 4) / (x + 4).
#ifndef KILN_LIB_ERF_H
#define KILN_LIB_ERF_H
#include "exp.h"

// exp(x + low) for -20 <= x <= 0
static inline f32 k_exp_near_f32(f32 x, f32 low)
{
    f32 t = fma(x, 1.44269504f, KILN_ROUND32), n = t - KILN_ROUND32;
    f32 r = fma(n, -0.693145752f, x);
    r += fma(n, -1.42860677e-6f, low);
    f32 q = fma(0.0013819309f, r, 0.0083686877f);
    q = fma(q, r, 0.0416682847f);
    q = fma(q, r, 0.166665211f);
    q = fma(q, r, 0.49999994f);
    q = fma(q, r, 1.0f);
    return fma(q, r, 1.0f) * f32_from_bits((bits_f32(t) << 23) + 0x3f800000u);
}

static inline f32 k_erf_f32(f32 x)
{
    f32 a = fabs(x), z = x * x;
    f32 s = fma(8.32773876e-5f, z, -0.00081308448f);
    s = fma(s, z, 0.00519974995f);
    s = fma(s, z, -0.0268587302f);
    s = fma(s, z, 0.112836786f);
    s = fma(s, z, -0.376126319f);
    s = fma(s, z, 0.128379166f);
    s = fma(s, x, x);
    f32 b = a > 4.0f ? 4.0f : a;
    f32 e = fma(-2.10960097e-5f, b, 0.000434468093f);
    e = fma(e, b, -0.00417107297f);
    e = fma(e, b, 0.0251194295f);
    e = fma(e, b, -0.108280078f);
    e = fma(e, b, -0.633346915f);
    e = fma(e, b, -1.12951493f);
    f32 high = e * b, low = fma(e, b, -high) + 0.000174687026f;
    return a < 0.921875f ? s : copysign(1.0f - k_exp_near_f32(high, low), x);
}

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

static inline f64 k_erfc_f64(f64 x)
{
    f64 a = fabs(x);
    f64x2 small = k_erf_small_f64(a * a), c = k_erfc_parts_f64(a > 27.5 ? 27.5 : a < 0.7 ? 0.7 : a);
    f64x2 p = k_product_f64(x, small.x), sum = k_sum_f64(1.0, -p.x), back = k_sum_f64(2.0, -c.x);
    f64 near = sum.x + (sum.y - fma(x, small.y, p.y));
    f64 far = x < 0 ? back.x + (back.y - c.y) : c.x;
    return a < 0.84 ? near : far;
}

static inline f32 k_erfc_f32(f32 x)
{
    return (f32)k_erfc_f64((f64)x);
}
#endif
