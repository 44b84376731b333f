// Arguments for what cannot be tried completely: strata, close calls, and known hard cases.
//
// Every argument is a function of its number, so the same ones are tried whatever the threads.
// Of four samples one is from the bit patterns (cut into as many equal parts as there are samples,
// one from each), one from the interesting range (the same), one close to a point where something
// changes (0, 1, integers, multiples of pi/2, the function's own edges and zeros; at distances from
// 1 down to 2^-60), and one close to such a point again or, with two arguments, a pair that belongs
// together. Start reading at sample_batch.
#include "ulp.h"

static u64 next(u64 *state)
{
    u64 z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static f64 unit(u64 *state)
{
    return (f64)(next(state) >> 11) * 0x1p-53;
}

static f64 power_of_two(i64 e)
{
    return __builtin_ldexp(1.0, (int)e);
}

static f64 near_a_point(const function *f, u64 *state)
{
    static const f64 points[] = {0, 1, -1, 2, 0.5, 0.7071067811865476, 1.4142135623730951, -0.5};
    u64 pick = next(state);
    f64 x = f->low + (f->high - f->low) * unit(state), centre = points[pick & 7];
    u64 kind = pick >> 3 & 3, edge = pick >> 5 & 7;
    centre = kind == 1 ? rint(x) : kind == 2 ? rint(x) * 1.5707963267948966 : centre;
    if (kind == 3 && f->edges[edge] != 0)
        centre = f->edges[edge];
    return centre + (unit(state) - 0.5) * power_of_two(-(i64)(next(state) % 60));
}

// Stratum `at` of `strata`.
static f64 pattern(const function *f, u64 at, u64 strata, u64 *state)
{
    u32 width = is_f32(f) ? 32 : 64;
    u64 step = (width == 32 ? (u64)1 << 32 : ~(u64)0) / strata,
        bits = at * step + next(state) % step;
    return width == 32 ? (f64)f32_from_bits((u32)bits) : f64_from_bits(bits);
}

static f64 partner(const function *f, f64 x, u64 *state)
{
    u64 pick = next(state);
    switch (f->pair) {
    case PAIR_POWER: // results over the whole range, x close to 1 too
        return (unit(state) * 1460 - 748) / (is_f32(f) ? 7 : 1) / __builtin_log(fabs(x));
    case PAIR_RATIO: // quotients close to a power of two, and any
        return x * power_of_two((i64)(pick % 128) - 64) *
               (1 + (unit(state) - 0.5) * power_of_two(-(i64)(pick >> 8) % 60));
    case PAIR_MULTIPLE: { // quotients close to an integer or a half of one
        f64 quotient =
            rint(unit(state) * power_of_two((i64)(pick % 60))) + ((pick >> 8) & 1 ? 0.5 : 0.0);
        f64 y = x / quotient;
        return y + y * power_of_two(-52) * (f64)((i64)(pick >> 16 & 7) - 4);
    }
    case ALONE: break;
    }
    return 0;
}

static f64 as_type(const function *f, f64 x)
{
    return is_f32(f) ? (f64)(f32)x : x;
}

void sample_batch(const function *f, u64 first, u64 total, u32 n, f64 *x, f64 *y)
{
    u64 state = 0x1234567 + first * 0xd1342543de82ef95u, strata = total / 4 + 1;
    for (u32 i = 0; i < n; i++) {
        u64 at = first + i, stratum = at / 4;
        switch (at % 4) {
        case 0: x[i] = pattern(f, stratum, strata, &state); break;
        case 1:
            x[i] = f->low + (f->high - f->low) * (((f64)stratum + unit(&state)) / (f64)strata);
            break;
        default: x[i] = near_a_point(f, &state);
        }
        x[i] = as_type(f, x[i]);
        y[i] = 0;
        if (f->pair == ALONE)
            continue;
        u64 pick = next(&state);
        if (at % 4 == 3 || (pick & 15) == 0) {
            x[i] = pick & 16 ? as_type(f, pattern(f, next(&state) % strata, strata, &state)) : x[i];
            y[i] = partner(f, x[i], &state);
        } else {
            y[i] = pick & 32   ? f->low + (f->high - f->low) * unit(&state)
                   : pick & 64 ? near_a_point(f, &state)
                               : pattern(f, next(&state) % strata, strata, &state);
        }
        y[i] = as_type(f, y[i]);
    }
}

// --- hard cases

typedef struct out {
    f64 x[BATCH], y[BATCH];
    u32 n;
    void (*take)(void *, const f64 *, const f64 *, u32);
    void *data;
} out;

static void flush(out *o)
{
    if (o->n)
        o->take(o->data, o->x, o->y, o->n);
    o->n = 0;
}

static void put(out *o, f64 x, f64 y)
{
    o->x[o->n] = x;
    o->y[o->n++] = y;
    if (o->n == BATCH)
        flush(o);
}

static void put_around(out *o, f64 x)
{
    for (i64 step = -64; step <= 64; step++) {
        f64 at = f64_from_bits(bits_f64(x) + (u64)step);
        put(o, at, 0);
        put(o, -at, 0);
    }
}

static void special_values(const function *f, out *o)
{
    static const f64 values[] = {0.0,
                                 1,
                                 2,
                                 3,
                                 0.5,
                                 1.5,
                                 2.5,
                                 355.0,
                                 0x1p53,
                                 0x1p53 + 2,
                                 1e-30,
                                 1e30,
                                 1e38,
                                 1e-44,
                                 1e300,
                                 4.9e-324,
                                 2.2250738585072014e-308,
                                 1.7976931348623157e308,
                                 0x1p1023,
                                 0x1.fffffep127,
                                 0x1p-149,
                                 0x1p-126,
                                 0x1.fffffcp-127,
                                 0x1p24,
                                 0x1.000002p0,
                                 0x1.fffffep-1,
                                 0x1.0000000000001p0,
                                 0x1.fffffffffffffp-1,
                                 __builtin_inf(),
                                 __builtin_nan("")};
    enum { VALUES = sizeof values / sizeof *values };
    for (u32 i = 0; i < 4 * VALUES * VALUES; i++) {
        f64 x = values[i / 4 % VALUES], y = values[i / 4 / VALUES];
        put(o, as_type(f, i & 1 ? -x : x), as_type(f, i & 2 ? -y : y));
    }
    for (u32 i = 0; i < 8 && !is_f32(f); i++)
        if (f->edges[i] != 0)
            put_around(o, fabs(f->edges[i]));
}

// The numbers m 2^e, m of 53 bits, that come closest to multiples of pi/2: denominators of the
// continued fraction of 2^e 2/pi.
static void close_to_quarter_turns(out *o)
{
    mpfr_t a, whole;
    mpfr_inits2(1400, a, whole, (mpfr_ptr)0);
    for (i64 e = -60; e <= 971; e++) {
        mpfr_const_pi(a, MPFR_RNDN);
        mpfr_ui_div(a, 1, a, MPFR_RNDN);
        mpfr_mul_2si(a, a, (long)e + 1, MPFR_RNDN);
        mpfr_frac(a, a, MPFR_RNDN);
        f64 q_before = 0, q = 1;
        while (q < 0x1p53 && mpfr_sgn(a) > 0) {
            f64 m = q * __builtin_ceil(0x1p52 / q);
            for (u32 k = 0; q > 0x1p44 && k < 4 && m < 0x1p53; k++, m += q) {
                put(o, __builtin_ldexp(m, (int)e), 0);
                put(o, -__builtin_ldexp(m, (int)e), 0);
            }
            mpfr_ui_div(a, 1, a, MPFR_RNDN);
            mpfr_floor(whole, a);
            mpfr_sub(a, a, whole, MPFR_RNDN);
            f64 after = mpfr_get_d(whole, MPFR_RNDN) * q + q_before;
            q_before = q;
            q = after;
        }
    }
    mpfr_clears(a, whole, (mpfr_ptr)0);
}

// lgamma changes its sign twice between two negative integers.
static void close_to_zeros(const function *f, out *o)
{
    for (f64 n = -2; n >= -20; n -= 1)
        for (u32 side = 0; side < 2; side++) {
            f64 peak = n - 0.5, edge = side ? n - 1 : n;
            for (u32 i = 0; i < 200 && fabs(peak - edge) > 0; i++) {
                f64 middle = (peak + edge) * 0.5;
                if (middle == peak || middle == edge)
                    break;
                long double result;
                f->wide(&middle, &middle, &result, 1);
                if (result > 0)
                    edge = middle;
                else
                    peak = middle;
            }
            for (u32 i = 0; i < 50; i++) { // at both sides, ever farther
                f64 distance = power_of_two((i64)i - 50);
                put(o, edge + distance * fabs(edge), 0);
                put(o, edge - distance * fabs(edge), 0);
            }
            put_around(o, -edge);
        }
}

void each_hard_batch(const function *f, void (*take)(void *, const f64 *x, const f64 *y, u32 n),
                     void *data)
{
    out *o = malloc(sizeof *o);
    if (!o)
        return;
    *o = (out){.take = take, .data = data};
    special_values(f, o);
    bool is_turn = f->mpfr_1 == mpfr_sin || f->mpfr_1 == mpfr_cos || f->mpfr_1 == mpfr_tan;
    if (is_turn && !is_f32(f))
        close_to_quarter_turns(o);
    if (f->wide && !strcmp(f->name, "lgamma"))
        close_to_zeros(f, o);
    flush(o);
    free(o);
}
