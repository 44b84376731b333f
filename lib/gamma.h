// tgamma and lgamma in Kiln C; host compilers read the same text.
//
// Stirling's series from 12 on; smaller arguments are moved up, and the factors x (x + 1) … taken out in two parts.
// Negative ones through gamma(-a) = -pi / (a sin(pi a) gamma(a)). Around 1 and 2 lgamma has its own polynomials.
// Close to its zeros below -2, lgamma is good to about 2^-55 absolutely, not to the last place. f32 is computed in f64.
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

static inline f64 k_lgamma_f64(f64 x)
{
    f64 a = fabs(x);
    if (!(a <= 0x1.754d9278b51a7p+1014)) // the largest with a finite result
        return a != a ? a : KILN_INF64;
    if (x <= 0 && a == floor(a))
        return KILN_INF64; // 0 and the negative integers
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
