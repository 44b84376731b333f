// ulp: the largest error of every function of the math library, in units in the last place.
//
//     ulp [--quick] [--samples N] [--stride N] [--threads N] [--table FILE] [--limit] [NAME_TYPE …]
//
// f32 functions of one argument: all 2^32 arguments (every Nth with --stride) against the C
// library's f64 function, whose own error is below 2^-28 ulp of f32. The others: N random arguments
// of three kinds (any bit pattern; uniform over the interesting range; near 0, 1, integers and
// multiples of pi/2) against the C library's long double function. The worst argument is computed
// again with MPFR in 200 bits, and so is whatever looks worse than the function's limit. The
// library text is what gcc makes of lib/*.h: the same operations as on every device. --table
// rewrites the rows of FILE. Exit status 1 when a function is above its limit. Start reading at
// main.
#include <kiln/kernel.h>
#include <mpfr.h>
#include <pthread.h>

typedef struct function {
    const char *name, *type;
    float (*f32_1)(float); // f32(…) is a conversion
    float (*f32_2)(float, float);
    f64 (*f64_1)(f64);
    f64 (*f64_2)(f64, f64);
    f64 (*plain_1)(f64); // what a result is compared with
    f64 (*plain_2)(f64, f64);
    long double (*wide_1)(long double);
    long double (*wide_2)(long double, long double);
    int (*mpfr_1)(mpfr_t, const mpfr_t, mpfr_rnd_t);
    int (*mpfr_2)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
    f64 low, high; // the interesting range
    f64 limit;     // ulp
    f64 coarse; // of a negative argument: a smaller result counts as this (lgamma crosses 0 between
                // numbers)
} function;

// The C library's functions; its names are macros here.
#define WRAP1(name)                                                                                \
    static f64 plain_##name(f64 x)                                                                 \
    {                                                                                              \
        return __builtin_##name(x);                                                                \
    }                                                                                              \
    static long double wide_##name(long double x)                                                  \
    {                                                                                              \
        return __builtin_##name##l(x);                                                             \
    }
#define WRAP2(name)                                                                                \
    static f64 plain_##name(f64 x, f64 y)                                                          \
    {                                                                                              \
        return __builtin_##name(x, y);                                                             \
    }                                                                                              \
    static long double wide_##name(long double x, long double y)                                   \
    {                                                                                              \
        return __builtin_##name##l(x, y);                                                          \
    }
// clang-format off
WRAP1(round) WRAP1(cbrt) WRAP1(exp) WRAP1(exp2) WRAP1(expm1) WRAP1(log) WRAP1(log2) WRAP1(log10) WRAP1(log1p) WRAP1(sin) WRAP1(cos) WRAP1(tan)
WRAP1(asin) WRAP1(acos) WRAP1(atan) WRAP1(sinh) WRAP1(cosh) WRAP1(tanh) WRAP1(erf) WRAP1(erfc) WRAP1(tgamma)
WRAP2(pow) WRAP2(atan2) WRAP2(fmod) WRAP2(remainder) WRAP2(hypot)
    // clang-format on

    static long double wide_rsqrt(long double x)
{
    return 1.0L / __builtin_sqrtl(x);
}
static f64 plain_rsqrt(f64 x)
{
    return (f64)wide_rsqrt((long double)x);
}
static long double wide_lgamma(long double x)
{
    int sign;
    return lgammal_r(x, &sign);
}
static f64 plain_lgamma(f64 x)
{
    int sign;
    return lgamma_r(x, &sign);
}
static int mpfr_log_gamma(mpfr_t y, const mpfr_t x, mpfr_rnd_t rnd)
{
    int sign;
    return mpfr_lgamma(y, &sign, x, rnd);
}
static int mpfr_round_any(mpfr_t y, const mpfr_t x, mpfr_rnd_t rnd)
{
    (void)rnd;
    return mpfr_round(y, x);
}

// clang-format off
#define ONE(name, from, to, limit32, limit64) ONE_AS(name, mpfr_##name, from, to, limit32, limit64)
#define ONE_AS(name_, exact, from, to, limit32, ...)                                                                                \
    {.name = #name_, .type = "f32", .f32_1 = k_##name_##_f32, .plain_1 = plain_##name_, .mpfr_1 = exact, .low = from, .high = to, .limit = limit32}, \
    {.name = #name_, .type = "f64", .f64_1 = k_##name_##_f64, .wide_1 = wide_##name_, .mpfr_1 = exact, .low = from, .high = to, .limit = __VA_ARGS__},
#define TWO(name_, from, to, limit32, limit64)                                                                                           \
    {.name = #name_, .type = "f32", .f32_2 = k_##name_##_f32, .plain_2 = plain_##name_, .mpfr_2 = mpfr_##name_, .low = from, .high = to, .limit = limit32}, \
    {.name = #name_, .type = "f64", .f64_2 = k_##name_##_f64, .wide_2 = wide_##name_, .mpfr_2 = mpfr_##name_, .low = from, .high = to, .limit = limit64},
// clang-format on

static const function functions[] = {
    // clang-format off
    ONE_AS(round, mpfr_round_any, -1e3, 1e3, 0, 0)
    ONE_AS(rsqrt, mpfr_rec_sqrt, 0, 4, 1, 1.5)
    ONE(cbrt, -10, 10, 1, 1.5)
    ONE(exp, -745, 710, 1, 1.5)
    ONE(exp2, -1080, 1030, 1, 1.5)
    ONE(expm1, -40, 710, 1, 1.5)
    ONE(log, 0, 4, 1, 1.5)
    ONE(log2, 0, 4, 1, 1.5)
    ONE(log10, 0, 4, 1, 1.5)
    ONE(log1p, -1, 3, 1, 1.5)
    ONE(sin, -100, 100, 1, 1.5)
    ONE(cos, -100, 100, 1, 1.5)
    ONE(tan, -100, 100, 1, 1.5)
    ONE(asin, -1, 1, 1, 1.5)
    ONE(acos, -1, 1, 1, 1.5)
    ONE(atan, -10, 10, 1, 1.5)
    ONE(sinh, -20, 20, 1, 1.5)
    ONE(cosh, -20, 20, 1, 1.5)
    ONE(tanh, -20, 20, 1, 1.5)
    ONE(erf, -7, 7, 1, 1.5)
    ONE(erfc, -7, 28, 1, 2)
    ONE_AS(tgamma, mpfr_gamma, -180, 175, 2, 2)
    ONE_AS(lgamma, mpfr_log_gamma, -20, 200, 2, 2, .coarse = 0.125)
    TWO(pow, -100, 100, 2, 2)
    TWO(atan2, -10, 10, 1, 1.5)
    TWO(fmod, -100, 100, 0, 0)
    TWO(remainder, -100, 100, 0, 0)
    TWO(hypot, -100, 100, 1, 1.5)
    // clang-format on
};

enum { FUNCTIONS = sizeof functions / sizeof *functions, MAX_THREADS = 64 };

static struct options {
    u64 samples, stride;
    u32 threads;
    const char *table;
} options = {.samples = 100000000, .stride = 1, .threads = 2};

typedef struct worst {
    f64 error, x, y;
    u64 count;
} worst;

// --- errors

static bool is_f32(const function *f)
{
    return f->type[1] == '3';
}

static f64 ulp_at(const function *f, long double value)
{
    int digits = is_f32(f) ? 24 : 53, lowest = is_f32(f) ? -149 : -1074, e;
    __builtin_frexpl(value, &e);
    e = e - digits < lowest ? lowest : e - digits;
    return __builtin_ldexp(1.0, e);
}

// In ulps of the format; 0 for equal specials, infinite for unequal ones. Beyond the largest number
// the format goes on.
static f64 error_of(const function *f, f64 x, f64 got, long double want)
{
    f64 huge = is_f32(f) ? 0x1p128 : 0x1p1023;
    long double top = is_f32(f) ? 0x1p128L : 0x1p1024L, half = is_f32(f) ? 0x1p103L : 0x1p970L;
    if (isnan(got) || __builtin_isnan(want))
        return isnan(got) && __builtin_isnan(want) ? 0 : KILN_INF64;
    if (__builtin_isinf(want) || __builtin_isinf(got)) {
        if (__builtin_fabsl(want) >= top - half)
            return isinf(got) && (got < 0) == (want < 0) ? 0
                   : __builtin_isinf(want)               ? KILN_INF64
                                                         : 1;
        return __builtin_fabsl(want) > (long double)huge / 4
                   ? (f64)((top - __builtin_fabsl(want)) / (2 * half))
                   : KILN_INF64;
    }
    if (want == 0 || got == 0)
        if ((long double)got == want)
            return signbit(got) == (__builtin_signbit(want) != 0) ? 0 : KILN_INF64;
    long double size = __builtin_fabsl(want);
    size = x < 0 && size < (long double)f->coarse ? (long double)f->coarse : size;
    return (f64)(__builtin_fabsl((long double)got - want) / (long double)ulp_at(f, size));
}

static f64 call(const function *f, f64 x, f64 y)
{
    if (f->f32_1)
        return (f64)f->f32_1((f32)x);
    if (f->f32_2)
        return (f64)f->f32_2((f32)x, (f32)y);
    return f->f64_1 ? f->f64_1(x) : f->f64_2(x, y);
}

static f64 quick_error(const function *f, f64 x, f64 y)
{
    long double want = f->plain_1   ? (long double)f->plain_1(x)
                       : f->plain_2 ? (long double)f->plain_2(x, y)
                       : f->wide_1  ? f->wide_1((long double)x)
                                    : f->wide_2((long double)x, (long double)y);
    return error_of(f, x, call(f, x, y), want);
}

static f64 exact_error(const function *f, f64 x, f64 y)
{
    mpfr_t a, b, want;
    mpfr_inits2(200, a, b, want, (mpfr_ptr)0);
    mpfr_set_d(a, x, MPFR_RNDN);
    mpfr_set_d(b, y, MPFR_RNDN);
    if (f->mpfr_1)
        f->mpfr_1(want, a, MPFR_RNDN);
    else
        f->mpfr_2(want, a, b, MPFR_RNDN);
    f64 error = error_of(f, x, call(f, x, y), mpfr_get_ld(want, MPFR_RNDN));
    mpfr_clears(a, b, want, (mpfr_ptr)0);
    return error;
}

// True when an f32 result is surely no worse than what was found so far: most are, and this is the
// loop that runs 2^32 times.
static bool is_dull(const function *f, const worst *w, f32 x)
{
    f64 got = (f64)f->f32_1(x), want = f->plain_1((f64)x);
    u64 exponent = bits_f64(want) >> 52 & 2047;
    exponent = exponent < 897 ? 897 : exponent; // subnormal f32 share the smallest ulp
    return fabs(want) < 0x1p127 && want != 0 && got != 0 &&
           fabs(got - want) <= w->error * f64_from_bits((exponent - 23) << 52);
}

static void consider(const function *f, worst *w, f64 x, f64 y)
{
    w->count++;
    if (f->f32_1 && is_dull(f, w, (f32)x))
        return;
    f64 error = quick_error(f, x, y);
    if (!(error > w->error * 1.0001))
        return;
    if (error > f->limit * 0.9 ||
        error > 0.9) // close calls and anything that looks wrong: ask MPFR
        error = exact_error(f, x, y);
    if (error > w->error)
        *w = (worst){error, x, y, w->count};
}

// --- arguments

typedef struct job {
    const function *f;
    u32 index;
    worst found;
} job;

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

static f64 sample(const function *f, u64 *state, u32 kind)
{
    if (kind == 0) {
        u64 bits = next(state);
        return is_f32(f) ? (f64)f32_from_bits((u32)bits) : f64_from_bits(bits);
    }
    f64 x = f->low + (f->high - f->low) * unit(state);
    if (kind == 2) {
        static const f64 centres[] = {0,   1, -1, 2, 0.5, 0.7071067811865476, 1.4142135623730951,
                                      -0.5};
        u64 pick = next(state);
        f64 centre = centres[pick & 7];
        if ((pick >> 3 & 3) == 1)
            centre = rint(x);
        if ((pick >> 3 & 3) == 2)
            centre = rint(x) * 1.5707963267948966;
        x = centre + (unit(state) - 0.5) * __builtin_ldexp(1.0, -(int)(next(state) % 60));
    }
    return is_f32(f) ? (f64)(f32)x : x;
}

static void *work(void *data)
{
    job *j = data;
    const function *f = j->f;
    static const f64 edges[] = {0.0,
                                -0.0,
                                1,
                                -1,
                                2,
                                -2,
                                3,
                                -3,
                                0.5,
                                -0.5,
                                1.5,
                                -1.5,
                                2.5,
                                1e300,
                                -1e300,
                                4.9e-324,
                                -4.9e-324,
                                2.2250738585072014e-308,
                                1.7976931348623157e308,
                                -1.7976931348623157e308,
                                0x1p53,
                                0x1p53 + 2,
                                -0x1p53,
                                1e-30,
                                0x1.6ac5b262ca1ffp+849 /* a multiple of pi/2, almost */,
                                0x1p1023,
                                355.0,
                                1e30,
                                1e38,
                                1e-44};
    enum { EDGES = sizeof edges / sizeof *edges };
    for (u32 i = 0; i < (EDGES + 3) * (EDGES + 3); i++) {
        f64 pair[2];
        for (u32 k = 0; k < 2; k++) {
            u32 at = k ? i / (EDGES + 3) : i % (EDGES + 3);
            pair[k] = at < EDGES        ? edges[at]
                      : at == EDGES     ? KILN_INF64
                      : at == EDGES + 1 ? -KILN_INF64
                                        : KILN_NAN64;
            pair[k] = is_f32(f) ? (f64)(f32)pair[k] : pair[k];
        }
        consider(f, &j->found, pair[0], pair[1]);
    }
    if (f->f32_1) {
        for (u64 i = j->index * options.stride; i < 1ull << 32;
             i += options.stride * options.threads)
            consider(f, &j->found, (f64)f32_from_bits((u32)i), 0);
        return NULL;
    }
    u64 state = 0x1234567 + j->index;
    for (u64 i = j->index; i < options.samples; i += options.threads) {
        u32 kind = (u32)(i / options.threads % 3);
        f64 x = sample(f, &state, kind), y = 0;
        if (f->f32_2 || f->f64_2)
            y = sample(f, &state, next(&state) & 1 ? kind : 1);
        if (f->mpfr_2 == mpfr_pow && i % 4 == 0) { // results over the whole range, x close to 1 too
            y = (unit(&state) * 1460 - 748) / (is_f32(f) ? 7 : 1) / __builtin_log(fabs(x));
            y = is_f32(f) ? (f64)(f32)y : y;
        }
        consider(f, &j->found, x, y);
    }
    return NULL;
}

static worst measure(const function *f)
{
    job jobs[MAX_THREADS];
    pthread_t threads[MAX_THREADS];
    for (u32 i = 0; i < options.threads; i++) {
        jobs[i] = (job){.f = f, .index = i};
        pthread_create(&threads[i], NULL, work, &jobs[i]);
    }
    worst all = {0};
    for (u32 i = 0; i < options.threads; i++) {
        pthread_join(threads[i], NULL);
        u64 count = all.count + jobs[i].found.count;
        if (jobs[i].found.error > all.error)
            all = jobs[i].found;
        all.count = count;
    }
    all.error = all.error > 0 ? exact_error(f, all.x, all.y) : 0;
    return all;
}

// --- the table

static void row_text(const function *f, const worst *w, char *out, size_t size)
{
    char date[16], argument[80], how[40];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    if (f->f32_1 || f->f64_1)
        snprintf(argument, sizeof argument, "%a", w->x);
    else
        snprintf(argument, sizeof argument, "%a, %a", w->x, w->y);
    if (f->f32_1 && options.stride == 1)
        snprintf(how, sizeof how, "all 2^32");
    else
        snprintf(how, sizeof how, "%.2g", (f64)w->count);
    snprintf(out, size, "| %s | %s | %.3f | %g | %s | %s | %s |\n", f->name, f->type, w->error,
             f->limit, w->error > 0 ? argument : "exact", how, date);
}

// Replaces the rows of FILE that were measured now; a function not yet in it is added at the end.
static bool table_update(const char *path, char rows[FUNCTIONS][256])
{
    static char text[1 << 16];
    FILE *file = fopen(path, "rb");
    size_t len = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[len] = 0;
    file = fopen(path, "wb");
    if (!file)
        return false;
    bool is_written[FUNCTIONS] = {0};
    for (char *line = text, *end; *line; line = end) {
        end = strchr(line, '\n');
        end = end ? end + 1 : line + strlen(line);
        u32 match = FUNCTIONS;
        for (u32 i = 0; i < FUNCTIONS; i++) {
            char key[40];
            snprintf(key, sizeof key, "| %s | %s |", functions[i].name, functions[i].type);
            if (rows[i][0] && !strncmp(line, key, strlen(key)))
                match = i;
        }
        if (match < FUNCTIONS) {
            fputs(rows[match], file);
            is_written[match] = true;
        } else {
            fwrite(line, 1, (size_t)(end - line), file);
        }
    }
    for (u32 i = 0; i < FUNCTIONS; i++)
        if (rows[i][0] && !is_written[i])
            fputs(rows[i], file);
    return fclose(file) == 0;
}

static bool is_wanted(const function *f, char **names)
{
    char whole[40];
    snprintf(whole, sizeof whole, "%s_%s", f->name, f->type);
    if (!*names)
        return true;
    for (; *names; names++)
        if (!strcmp(*names, whole) || !strcmp(*names, f->name) || !strcmp(*names, f->type))
            return true;
    return false;
}

int main(int argc, char **argv)
{
    int at = 1;
    for (; at < argc && argv[at][0] == '-'; at++) {
        const char *option = argv[at], *value = at + 1 < argc ? argv[at + 1] : "";
        if (!strcmp(option, "--quick")) {
            options.samples = 1000000;
            options.stride = 4099;
            continue;
        }
        if (!strcmp(option, "--samples"))
            options.samples = strtoull(value, NULL, 10);
        else if (!strcmp(option, "--stride"))
            options.stride = strtoull(value, NULL, 10);
        else if (!strcmp(option, "--threads"))
            options.threads = (u32)strtoul(value, NULL, 10);
        else if (!strcmp(option, "--table"))
            options.table = value;
        else
            return fprintf(stderr, "ulp: unknown option %s\n", option), 2;
        at++;
    }
    if (!options.stride || !options.threads || options.threads > MAX_THREADS)
        return fprintf(stderr, "ulp: a number is out of range\n"), 2;
    static char rows[FUNCTIONS][256];
    int passed = 0, failed = 0;
    for (u32 i = 0; i < FUNCTIONS; i++) {
        const function *f = &functions[i];
        if (!is_wanted(f, argv + at))
            continue;
        worst w = measure(f);
        row_text(f, &w, rows[i], sizeof rows[i]);
        bool is_good = w.error <= f->limit;
        printf("%s%s", is_good ? "" : "ABOVE ITS LIMIT: ", rows[i]);
        fflush(stdout);
        is_good ? passed++ : failed++;
    }
    if (options.table && !table_update(options.table, rows))
        return fprintf(stderr, "ulp: %s cannot be written\n", options.table), 2;
    printf("ulp: %d passed, %d failed, 0 skipped\n", passed, failed);
    return failed != 0;
}
