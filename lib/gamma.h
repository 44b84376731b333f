// tgamma and lgamma in Kiln C; host compilers read the same text.
//
// Stirling's series from 12 on; smaller arguments are moved up, and the factors x (x + 1) … taken out in two parts.
// Negative ones through gamma(-a) = -pi / (a sin(pi a) gamma(a)). Around 1 and 2 lgamma has its own polynomials.
// Close to one of its zeros below -2, lgamma is computed from the distance to that zero. f32 is computed in f64.
#ifndef KILN_LIB_GAMMA_H
#define KILN_LIB_GAMMA_H
#include "trig_f64.h"
#include "wide.h"

// log gamma(z + low), z >= 12, in two parts
static inline f64x2 k_stirling_f64(f64 z, f64 low)
{
    f64x2 log = k_log_wide_f64(z, 0.0);
    f64 inverse = 1.0 / z, w = inverse * inverse;
    f64 q = fma(0.0057519981848607989, w, -0.00191142783745410654);
    q = fma(q, w, 0.000841722410944041859);
    q = fma(q, w, -0.000595238026825275178);
    q = fma(q, w, 0.000793650793572209592);
    q = fma(q, w, -0.00277777777777774406);
    q = fma(q, w, 0.0833333333333333287);
    // (z - 1/2) (log z - 1) + log(2 pi)/2 - 1/2 + q/z
    f64x2 less = k_sum_f64(log.x, -1.0);
    less.y += log.y;
    f64x2 main = k_times_f64(less, z - 0.5), sum = k_sum_any_f64(main.x, 0x1.acfe390c97d69p-2);
    return (f64x2){sum.x, sum.y + (main.y + (0x1.3494bc9001442p-56 + fma(q, inverse, low * (log.x - 0.5 * inverse))))};
}

// x (x + 1) … in two parts (p, p_low), up to where x + n >= 12: z + low
typedef struct k_raised {
    f64 z, low, p, p_low;
} k_raised;

static inline k_raised k_raise_f64(f64 x)
{
    k_raised r = {x, 0.0, 1.0, 0.0};
    f64 n = 0.0;
    while (r.z < 12.0) {
        f64x2 p = k_product_f64(r.p, r.z);
        p.y += fma(r.p, r.low, r.p_low * r.z);
        p = k_sum_f64(p.x, p.y);
        n += 1.0;
        f64x2 next = k_sum_f64(n < fabs(x) ? x : n, n < fabs(x) ? n : x);
        r = (k_raised){next.x, next.y, p.x, p.y};
    }
    return r;
}

// |sin(pi a)| in two parts, a >= 0
static inline f64x2 k_sin_pi_f64(f64 a)
{
    f64 r = fabs(a - rint(a));
    bool is_cos = r > 0.25;
    r = is_cos ? 0.5 - r : r;
    f64 t = r * 0x1.921fb54442d18p+1, low = fma(r, 0x1.921fb54442d18p+1, -t) + r * 0x1.1a62633145c07p-53;
    f64x2 s = k_sum_f64(t, k_sin_tail_f64(t, low)), c = k_cos_parts_f64(t, low);
    return is_cos ? c : s;
}

static inline f64 k_tgamma_f64(f64 x)
{
    f64 a = fabs(x);
    a = a > 190.0 ? 190.0 : a;
    k_raised up = k_raise_f64(a);
    f64x2 log = k_stirling_f64(up.z, up.low);
    log = k_sum_f64(log.x, log.y);
    k_power e = k_exp_wide_f64(log.x, log.y);
    f64 y = e.x / up.p, y_low = (fma(-y, up.p, e.x) + fma(-y, up.p_low, e.y)) / up.p;
    f64 positive = k_scale_f64(y + y_low, e.bits);
    // -pi / (a sin(pi a) gamma(a))
    f64x2 s = k_sin_pi_f64(a), d = k_times_f64(s, a), g = k_product_f64(d.x, y);
    g.y += fma(d.y, y, d.x * y_low);
    f64 q = 0x1.921fb54442d18p+1 / g.x;
    f64 rest = (fma(-q, g.x, 0x1.921fb54442d18p+1) + fma(-q, g.y, 0x1.1a62633145c07p-53)) / g.x;
    f64 whole = floor(fabs(x));
    f64 negative = k_scale_f64(q + rest, (u64)0 - e.bits);
    negative = whole > 188.0 ? 0.0 : negative;
    negative = whole * 0.5 == floor(whole * 0.5) ? -negative : negative;
    negative = whole == fabs(x) ? KILN_NAN64 : negative;
    f64 result = x < 0 ? negative : positive;
    result = fabs(x) < 1e-17 ? 1.0 / x : result;
    return x == KILN_INF64 || x != x ? x : result;
}

// log gamma around 1 (|w| <= 1/4) and around 2 (-3/4 <= w <= 1/2), in two parts; w is the distance
static inline f64x2 k_lgamma_one_f64(f64 w)
{
    f64 q = fma(0.0709511708510455058, w, -0.0760496080935659791);
    q = fma(q, w, 0.0607519158695588868);
    q = fma(q, w, -0.0645573528254813067);
    q = fma(q, w, 0.0715342129212874628);
    q = fma(q, w, -0.0770684415647300697);
    q = fma(q, w, 0.0833506492667900889);
    q = fma(q, w, -0.0909489786823137469);
    q = fma(q, w, 0.100099509265073661);
    q = fma(q, w, -0.11133437463693148);
    q = fma(q, w, 0.125509669214847186);
    q = fma(q, w, -0.144049895462225408);
    q = fma(q, w, 0.169557176996141867);
    q = fma(q, w, -0.207385551036417065);
    q = fma(q, w, 0.270580808427800856);
    q = fma(q, w, -0.400685634386514444);
    q = fma(q, w, 0.822467033424113203);
    f64x2 p = k_sum_any_f64(-0x1.2788cfc6fb619p-1, q * w);
    return k_times_f64((f64x2){p.x, p.y + 0x1.6cb90701fbfabp-58}, w);
}

static inline f64x2 k_lgamma_two_f64(f64 w)
{
    f64 q = fma(9.71231107053493798e-8, w, 1.11020767102605892e-7);
    q = fma(q, w, 4.31196472817972819e-8);
    q = fma(q, w, -2.38115740958263775e-7);
    q = fma(q, w, 1.49724858745476463e-7);
    q = fma(q, w, -3.97262736656174531e-7);
    q = fma(q, w, 9.96690307152810688e-7);
    q = fma(q, w, -2.0466835948945729e-6);
    q = fma(q, w, 4.36233087968333243e-6);
    q = fma(q, w, -9.43992455626964167e-6);
    q = fma(q, w, 0.0000205093192710711012);
    q = fma(q, w, -0.0000449259351171084836);
    q = fma(q, w, 0.0000994573069505006276);
    q = fma(q, w, -0.000223154801957129866);
    q = fma(q, w, 0.000509669536132652734);
    q = fma(q, w, -0.0011927539087035709);
    q = fma(q, w, 0.0028905103304166283);
    q = fma(q, w, -0.00738555102877596313);
    q = fma(q, w, 0.0205808084277884704);
    q = fma(q, w, -0.067352301053196631);
    f64x2 t = k_product_f64(w, 0.322467033424113203), p = k_sum_any_f64(0x1.b0ee6072093cep-2, t.x);
    p = k_sum_any_f64(p.x, p.y + fma(q * w, w, t.y + 0x1.6cb90701fbfabp-58));
    return k_times_f64(p, w);
}

// log gamma(a), a > 0 and finite, in two parts
static inline f64x2 k_lgamma_parts_f64(f64 a)
{
    if (a >= 2.5) {
        k_raised up = k_raise_f64(a);
        f64x2 s = k_stirling_f64(up.z, up.low);
        if (a >= 12.0)
            return s;
        f64x2 log = k_log_wide_f64(up.p, up.p_low), sum = k_sum_f64(s.x, -log.x);
        return (f64x2){sum.x, sum.y + (s.y - log.y)};
    }
    bool is_low = a < 0.75;
    f64 b = is_low ? a + 1.0 : a;
    f64x2 y = b < 1.25 ? k_lgamma_one_f64(is_low ? a : a - 1.0) : k_lgamma_two_f64(is_low ? a - 1.0 : a - 2.0);
    f64x2 log = k_log_wide_f64(a, 0.0), sum = k_sum_any_f64(-log.x, y.x);
    return is_low ? (f64x2){sum.x, sum.y + (y.y - log.y)} : y;
}

// Where lgamma is 0: the distances from -n, n = 2 to 17, of the zero below and the one above, each in two parts.
static const f64 k_lgamma_zeros[64] = {
    -0x1.d3fe4b007c361p-2, 0x1.541360cea0e60p-56, 0.0, 0.0, // -2
    -0x1.260dbc9e59af8p-3, 0x1.1d065994b0991p-58, 0x1.025f7af2137fap-2, -0x1.7995a4b4641ebp-56,
    -0x1.4273c2ccac062p-5, 0x1.e307a790f3f77p-59, 0x1.6e3aae0f406bdp-5, 0x1.e5753daddb926p-61,
    -0x1.0d4afe16db219p-7, -0x1.498adcb2a729cp-61, 0x1.1510b222a0657p-7, 0x1.e5eab7f12cef6p-61,
    -0x1.6b25897c8ced8p-10, -0x1.f0b65b458e173p-66, 0x1.6d0a6e0bf2a09p-10, -0x1.4ed62cbd31ee0p-64,
    -0x1.9fef6ff0f5be9p-13, 0x1.be919233c3eaap-67, 0x1.a044a3c880185p-13, 0x1.d949a3dc02de1p-68,
    -0x1.a01459fc9f60dp-16, 0x1.30c4f8c4dea26p-70, 0x1.a01fa98c3c356p-16, 0x1.7d4add4f3562dp-72,
    -0x1.71dda3ec36b6cp-19, -0x1.0ffb70d477adfp-74, 0x1.71ded0bf801bdp-19, -0x1.3a55d249679f9p-74,
    -0x1.27e4eee649ed1p-22, -0x1.d95e15441e031p-76, 0x1.27e50808cbe75p-22, 0x1.1885afab83963p-76, // -10
    -0x1.ae6454c576597p-26, 0x1.90015bf1b415cp-80, 0x1.ae64583932495p-26, -0x1.a55b7a31a0b4ap-81,
    -0x1.1eed8ee62acf8p-29, -0x1.e04a1e70f241cp-85, 0x1.1eed8f18f0438p-29, -0x1.acc3d3c978bd8p-84,
    -0x1.612461380cd08p-33, 0x1.17237e0e47fbdp-87, 0x1.6124613d00d0bp-33, 0x1.001c54155b96cp-87,
    -0x1.93974a8bd29cfp-37, 0x1.09d47384560edp-91, 0x1.93974a8c3cf6cp-37, -0x1.f04e88bb6e247p-91,
    -0x1.ae7f3e7337a1dp-41, 0x1.ef83d0b08e728p-95, 0x1.ae7f3e733f622p-41, -0x1.81b8fc4e9b9acp-95,
    -0x1.ae7f3e733b428p-45, -0x1.25fc9dc8f8bbep-99, 0x1.ae7f3e733bc16p-45, -0x1.2e72e4d113627p-100,
    -0x1.952c77030ad11p-49, -0x1.db2968e993b05p-106, 0x1.952c77030ad84p-49, -0x1.c46a08a2e008bp-104, // -17
};

// The polynomial of k_lgamma_two_f64, for quotients of differences
static const f64 k_lgamma_two_table[22] = {
    9.71231107053493798e-8, 1.11020767102605892e-7, 4.31196472817972819e-8, -2.38115740958263775e-7, 1.49724858745476463e-7, -3.97262736656174531e-7,
    9.96690307152810688e-7, -2.0466835948945729e-6, 4.36233087968333243e-6, -9.43992455626964167e-6, 0.0000205093192710711012, -0.0000449259351171084836,
    0.0000994573069505006276, -0.000223154801957129866, 0.000509669536132652734, -0.0011927539087035709, 0.0028905103304166283, -0.00738555102877596313,
    0.0205808084277884704, -0.067352301053196631, 0.322467033424113203, 0x1.b0ee6072093cep-2,
};

// log|gamma(t - n)| close to its zero at t = zero + zero_low: with 1 + e = (1 + t) t (1 - t) … (n - t) over the same of the zero,
// the difference of log gamma(2 + t) less log(1 + e). Everything is small where the result is.
static inline f64 k_lgamma_zero_f64(f64 t, f64 n, f64 zero, f64 zero_low)
{
    f64x2 d = k_sum_any_f64(t - zero, -zero_low), e = {0.0, 0.0};
    for (f64 k = -1.0; k <= n; k += 1.0) {
        f64x2 part = k_sum_any_f64(zero, -k);
        part.y += zero_low;
        f64 u = d.x / part.x, u_low = (fma(-u, part.x, d.x) + (d.y - u * part.y)) / part.x;
        f64x2 more = k_product_f64(e.x, u), plus = k_sum_any_f64(e.x, u), all = k_sum_any_f64(plus.x, more.x);
        f64 low = all.y + (plus.y + (e.y + u_low + (more.y + fma(e.x, u_low, e.y * u))));
        e = k_sum_f64(all.x, low);
    }
    f64 r = k_lgamma_two_table[0], q = r;
    for (u32 i = 1; i < 21; i++) {
        r = fma(r, zero, k_lgamma_two_table[i]);
        q = fma(q, t, r);
    }
    f64x2 a = k_product_f64(r, zero), b = k_product_f64(q, t), sum = k_sum_any_f64(k_lgamma_two_table[21], a.x), slope = k_sum_any_f64(sum.x, b.x);
    slope.y += sum.y + (a.y + b.y) + 0x1.6cb90701fbfabp-58;
    f64x2 one = k_sum_f64(1.0, e.x), log = k_log_wide_f64(one.x, one.y + e.y), change = k_product_f64(slope.x, d.x);
    f64x2 y = k_sum_any_f64(change.x, -log.x);
    return y.x + (y.y + (fma(slope.x, d.y, fma(slope.y, d.x, change.y)) - log.y));
}

static inline f64 k_lgamma_f64(f64 x)
{
    f64 a = fabs(x);
    if (!(a <= 0x1.754d9278b51a7p+1014)) // the largest with a finite result
        return a != a ? a : KILN_INF64;
    if (x <= 0 && a == floor(a))
        return KILN_INF64; // 0 and the negative integers
    f64 n = x < -2.0 && a < 2.625 ? 2.0 : rint(a), t = n - a; // the first two zeros are close to each other
    if (x < -2.0 && n < 17.5) {
        u32 at = ((u32)n - 2) * 4 + (t < 0 ? 0 : 2);
        f64 zero = k_lgamma_zeros[at];
        if (fabs(t) > 0.5 * fabs(zero) && fabs(t) < 2.0 * fabs(zero))
            return k_lgamma_zero_f64(t, n, zero, k_lgamma_zeros[at + 1]);
    }
    f64x2 y = k_lgamma_parts_f64(a);
    f64 positive = y.x + y.y;
    if (x > 0 || a < 1e-17)
        return positive;
    // log pi - log(a sin(pi a)) - log gamma(a)
    f64x2 s = k_sin_pi_f64(a), d = k_times_f64(s, a);
    d = k_sum_f64(d.x, d.y);
    f64x2 log = k_log_wide_f64(d.x, d.y);
    f64x2 sum = k_sum_any_f64(0x1.250d048e7a1bdp+0, -log.x), all = k_sum_any_f64(sum.x, -y.x);
    return all.x + (all.y + (sum.y + (0x1.7abf2ad8d5088p-57 - log.y - y.y)));
}

static inline f32 k_tgamma_f32(f32 x)
{
    return (f32)k_tgamma_f64((f64)x);
}

static inline f32 k_lgamma_f32(f32 x)
{
    return (f32)k_lgamma_f64((f64)x);
}
#endif
