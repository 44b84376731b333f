// ulp: the largest error of every function of the math library, in units in the last place.
//
//     ulp [--quick] [--samples N] [--stride N] [--threads N] [--table FILE] [--resume]
//         [--only NAME] [NAME | NAME_TYPE | TYPE …]
//
// f32 functions of one argument: all 2^32 arguments (every Nth with --stride) against the C
// library's f64 function. The others: N samples (samples.c) against its long double function (its
// f64 function for f32). The C library is off by less than `bound` of its own ulps (functions.c),
// so a result is worse than the worst known only when its distance from the C library's plus that
// bound is larger: those go to MPFR, and what MPFR says is what counts. The bound itself is
// compared with MPFR on some arguments of every piece of work. --table rewrites the rows of FILE as
// they come, --resume leaves out those that are there already with as many arguments. Exit status 1
// when a function is above its limit or the C library above its bound. Start reading at main.
#include "ulp.h"
#include <pthread.h>
#include <unistd.h>

enum { MAX_THREADS = 256, PIECE = 1 << 18, PROBES = 8, DIGITS = 200, SPREAD = 7919 /* a prime */ };

static struct options {
    u64 samples, stride;
    u32 threads;
    const char *table;
    bool is_resumed;
} options = {.samples = 100000000, .stride = 1};

typedef struct worst {
    f64 error, x, y;
} worst;

// What the threads that measure one function share.
typedef struct measurement {
    const function *f;
    u64 total, pieces;
    _Atomic u64 next_piece;
    _Atomic u64 count, exact_count; // arguments; those that MPFR looked at
    pthread_mutex_t lock;
    worst all;
    f64 reference_error; // of the C library, in its own ulps
} measurement;

// --- errors

static f64 power_of_two(int e)
{
    return __builtin_ldexp(1.0, e);
}

// One unit of a format of so many digits, as an exponent of 2.
static int unit_exponent(int exponent, int digits, int lowest)
{
    return exponent - digits < lowest ? lowest : exponent - digits;
}

// What MPFR has no part in: NaNs, infinities, zeros. True when that settles it.
static bool is_special(const function *f, f64 got, long double want, f64 *error)
{
    long double top = is_f32(f) ? 0x1p128L : 0x1p1024L, half = is_f32(f) ? 0x1p103L : 0x1p970L;
    *error = KILN_INF64;
    bool is_same_sign = (__builtin_signbit(got) != 0) == (__builtin_signbit(want) != 0);
    if (isnan(got) || __builtin_isnan(want)) {
        if (isnan(got) && __builtin_isnan(want))
            *error = 0;
        return true;
    }
    if (isinf(got) || __builtin_isinf(want)) {
        if (!is_same_sign)
            return true;
        long double size = __builtin_fabsl(want);
        if (isinf(got) && size >= top - half)
            *error = 0;
        else if (isinf(got) && size > top - 8 * half)
            *error = (f64)((top - size) / (2 * half)); // the format goes on beyond its top
        return true;
    }
    if ((got == 0 || want == 0) && !is_same_sign)
        return true;
    if (want == 0) {
        *error = got == 0 ? 0 : KILN_INF64;
        return true;
    }
    return false;
}

static void exact_value(const function *f, f64 x, f64 y, mpfr_t want)
{
    mpfr_t a, b;
    mpfr_inits2(53, a, b, (mpfr_ptr)0);
    mpfr_set_d(a, x, MPFR_RNDN);
    mpfr_set_d(b, y, MPFR_RNDN);
    if (f->mpfr_1)
        f->mpfr_1(want, a, MPFR_RNDN);
    else
        f->mpfr_2(want, a, b, MPFR_RNDN);
    mpfr_clears(a, b, (mpfr_ptr)0);
}

// |got - want| in units of a format.
static f64 distance(mpfr_t want, long double got, int digits, int lowest)
{
    if (!mpfr_regular_p(want))
        return mpfr_zero_p(want) && got == 0 ? 0 : KILN_INF64;
    int e = unit_exponent((int)mpfr_get_exp(want), digits, lowest);
    mpfr_t d;
    mpfr_init2(d, DIGITS);
    mpfr_set_ld(d, got, MPFR_RNDN);
    mpfr_sub(d, d, want, MPFR_RNDN);
    mpfr_mul_2si(d, d, -e, MPFR_RNDN);
    f64 result = fabs(mpfr_get_d(d, MPFR_RNDN));
    mpfr_clear(d);
    return result;
}

static f64 exact_error(const function *f, f64 x, f64 y, f64 got, long double reference)
{
    f64 error;
    if (is_special(f, got, reference, &error))
        return error;
    mpfr_t want;
    mpfr_init2(want, DIGITS);
    exact_value(f, x, y, want);
    error = is_f32(f) ? distance(want, (long double)got, 24, -149)
                      : distance(want, (long double)got, 53, -1074);
    mpfr_clear(want);
    return error;
}

// The C library's own error, in its own ulps; 0 where it has no choice.
static f64 reference_error(const function *f, f64 x, f64 y, long double reference)
{
    long double size = __builtin_fabsl(reference);
    if (!(size > (is_f32(f) ? 0x1p-1000L : 0x1p-16000L) &&
          size < (is_f32(f) ? 0x1p1000L : 0x1p16000L)))
        return 0;
    mpfr_t want;
    mpfr_init2(want, DIGITS);
    exact_value(f, x, y, want);
    f64 error =
        is_f32(f) ? distance(want, reference, 53, -1074) : distance(want, reference, 64, -16445);
    mpfr_clear(want);
    return error;
}

// --- batches: most results are surely no worse than the worst known, and this runs 2^32 times

// The unit of an f64, from its exponent.
static f64 unit_of(f64 value)
{
    int exponent = (int)(bits_f64(value) >> 52 & 2047), e = (exponent ? exponent : 1) - 1023 - 52;
    return e >= -1022 ? f64_from_bits((u64)(e + 1023) << 52) : power_of_two(e);
}

// Writes the places of the results that MPFR must see; returns how many.
static u32 pick_f32(const f64 *got, const f64 *want, f64 most, u32 n, u32 *picked)
{
    u8 is_dull[BATCH];
    for (u32 i = 0; i < n; i++) {
        u64 g = bits_f64(got[i]), w = bits_f64(want[i]), size = w & ~((u64)1 << 63);
        u64 exponent = size >> 52;
        exponent = exponent < 897 ? 897 : exponent; // subnormal f32 share the smallest unit
        f64 allowed = most * f64_from_bits((exponent - 23) << 52);
        bool is_near = (fabs(got[i] - want[i]) <= allowed) & (g >> 63 == w >> 63) & (size != 0) &
                       (size <= 0x47efffffe0000000u); // FLT_MAX
        bool is_nan = (got[i] != got[i]) & (want[i] != want[i]);
        bool is_above = (size >= 0x47effffff8000000u) & ((g & ~((u64)1 << 63)) == (u64)2047 << 52) &
                        (g >> 63 == w >> 63);
        is_dull[i] = (g == w) | is_near | is_nan | is_above;
    }
    u32 count = 0;
    for (u32 i = 0; i < n; i++) {
        picked[count] = i;
        count += !is_dull[i];
    }
    return count;
}

static u32 pick_f64(const f64 *got, const long double *want, f64 most, u32 n, u32 *picked)
{
    u32 count = 0;
    for (u32 i = 0; i < n; i++) {
        f64 near = (f64)want[i];
        bool is_same_sign = bits_f64(got[i]) >> 63 == bits_f64(near) >> 63;
        f64 off = (f64)__builtin_fabsl((long double)got[i] - want[i]);
        bool is_dull = ((long double)got[i] == want[i] && is_same_sign) ||
                       (isnan(got[i]) && __builtin_isnan(want[i])) ||
                       (isinf(got[i]) && is_same_sign && __builtin_fabsl(want[i]) >= 0x1p1024L) ||
                       (want[i] != 0 && !isinf(near) && !isinf(got[i]) && is_same_sign &&
                        off <= most * unit_of(near));
        picked[count] = i;
        count += !is_dull;
    }
    return count;
}

typedef struct worker {
    measurement *m;
    worst found;
    f64 reference_error;
    f64 x[BATCH], y[BATCH], got[BATCH], plain[BATCH];
    long double wide[BATCH];
    u32 picked[BATCH];
} worker;

static bool is_worse(const worst *a, const worst *b)
{
    return a->error > b->error ||
           (a->error == b->error && a->error > 0 && bits_f64(a->x) < bits_f64(b->x));
}

static void measure_batch(worker *w, const f64 *x, const f64 *y, u32 n)
{
    const function *f = w->m->f;
    bool is_32 = is_f32(f);
    // the reference's error in units of the result, twice: a unit of each is up to twice the ratio
    f64 bound = f->bound * 2 * power_of_two(is_32 ? -29 : -11), most = w->found.error - bound;
    f->ours(x, y, w->got, n);
    if (is_32)
        f->plain(x, y, w->plain, n);
    else
        f->wide(x, y, w->wide, n);
    u32 count = is_32 ? pick_f32(w->got, w->plain, most, n, w->picked)
                      : pick_f64(w->got, w->wide, most, n, w->picked);
    for (u32 k = 0; k < count; k++) {
        u32 i = w->picked[k];
        long double want = is_32 ? (long double)w->plain[i] : w->wide[i];
        worst one = {exact_error(f, x[i], y[i], w->got[i], want), x[i], y[i]};
        if (is_worse(&one, &w->found))
            w->found = one;
    }
    w->m->count += n;
    w->m->exact_count += count;
}

static void measure_hard(void *data, const f64 *x, const f64 *y, u32 n)
{
    measure_batch(data, x, y, n);
}

static void probe_reference(worker *w, u32 n)
{
    const function *f = w->m->f;
    for (u32 i = 0; i < n; i += n / PROBES + 1) {
        f64 error =
            reference_error(f, w->x[i], w->y[i], is_f32(f) ? (long double)w->plain[i] : w->wide[i]);
        w->reference_error = error > w->reference_error ? error : w->reference_error;
    }
}

static void measure_piece(worker *w, u64 piece)
{
    measurement *m = w->m;
    u64 first = piece * PIECE, end = first + PIECE < m->total ? first + PIECE : m->total;
    for (u64 at = first; at < end; at += BATCH) {
        u32 n = (u32)(end - at < BATCH ? end - at : BATCH);
        if (is_exhaustive(m->f))
            for (u32 i = 0; i < n; i++)
                w->x[i] = (f64)f32_from_bits((u32)((at + i) * options.stride));
        else
            sample_batch(m->f, at, m->total, n, w->x, w->y);
        measure_batch(w, w->x, w->y, n);
        if (at == first)
            probe_reference(w, n);
    }
}

// Takes pieces until there are none, from everywhere: what was found so far spares MPFR work, and
// an error that grows with the argument would spare none.
static void *work(void *data)
{
    measurement *m = data;
    worker *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->m = m;
    for (u64 piece; (piece = m->next_piece++) <= m->pieces;) {
        pthread_mutex_lock(&m->lock);
        w->found = m->all;
        pthread_mutex_unlock(&m->lock);
        if (piece == 0)
            each_hard_batch(m->f, measure_hard, w);
        else
            measure_piece(w, (piece - 1) * SPREAD % m->pieces);
        pthread_mutex_lock(&m->lock);
        if (is_worse(&w->found, &m->all))
            m->all = w->found;
        if (w->reference_error > m->reference_error)
            m->reference_error = w->reference_error;
        pthread_mutex_unlock(&m->lock);
    }
    free(w);
    mpfr_free_cache();
    return NULL;
}

static f64 seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (f64)now.tv_sec + (f64)now.tv_nsec * 1e-9;
}

static void measure(measurement *m)
{
    pthread_t threads[MAX_THREADS];
    u32 started = 0;
    while (started < options.threads && !pthread_create(&threads[started], NULL, work, m))
        started++;
    if (!started)
        work(m);
    f64 begin = seconds(), told = begin;
    while (started && m->next_piece <= m->pieces) {
        usleep(2000);
        if (seconds() - told < 15)
            continue;
        told = seconds();
        fprintf(stderr, "%s %s: %.0f %% after %.0f s, largest so far %.3f\n", m->f->name,
                m->f->type, 100.0 * (f64)m->next_piece / (f64)(m->pieces + 1), told - begin,
                m->all.error);
    }
    for (u32 i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

// --- the table

static void row_text(const measurement *m, char *text, size_t size)
{
    const function *f = m->f;
    char date[16], argument[80], how[40];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    if (f->mpfr_1)
        snprintf(argument, sizeof argument, "%a", m->all.x);
    else
        snprintf(argument, sizeof argument, "%a, %a", m->all.x, m->all.y);
    if (is_exhaustive(f) && options.stride == 1)
        snprintf(how, sizeof how, "all 2^32");
    else
        snprintf(how, sizeof how, "%.2g", (f64)m->count);
    snprintf(text, size, "| %s | %s | %.3f | %g | %s | %s | %s |\n", f->name, f->type, m->all.error,
             f->limit, m->all.error > 0 ? argument : "exact", how, date);
}

static void row_key(const function *f, char *key, size_t size)
{
    snprintf(key, size, "| %s | %s |", f->name, f->type);
}

static size_t table_read(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "rb");
    size_t len = file ? fread(text, 1, size - 1, file) : 0;
    if (file)
        fclose(file);
    text[len] = 0;
    return len;
}

// Replaces a function's row of FILE; one that is not yet in it is added at the end.
static bool table_update(const char *path, const function *f, const char *row)
{
    static char text[1 << 16];
    char key[40];
    row_key(f, key, sizeof key);
    table_read(path, text, sizeof text);
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    bool is_written = false;
    for (char *line = text, *end; *line; line = end) {
        end = strchr(line, '\n');
        end = end ? end + 1 : line + strlen(line);
        if (!strncmp(line, key, strlen(key))) {
            fputs(row, file);
            is_written = true;
        } else {
            fwrite(line, 1, (size_t)(end - line), file);
        }
    }
    if (!is_written)
        fputs(row, file);
    return fclose(file) == 0;
}

// FILE has a row of this function with as many arguments as would be tried now.
static bool is_in_table(const char *path, const function *f)
{
    static char text[1 << 16];
    char key[40], arguments[40] = "";
    row_key(f, key, sizeof key);
    table_read(path, text, sizeof text);
    const char *row = strstr(text, key);
    if (!row || sscanf(row, "|%*[^|]|%*[^|]|%*[^|]|%*[^|]|%*[^|]|%39[^|]|", arguments) != 1)
        return false;
    return strstr(arguments, "all 2^32") ||
           (!is_exhaustive(f) && strtod(arguments, NULL) >= (f64)options.samples);
}

// --- the command line

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

static bool measure_and_tell(const function *f)
{
    measurement m = {.f = f, .lock = PTHREAD_MUTEX_INITIALIZER};
    m.total =
        is_exhaustive(f) ? (((u64)1 << 32) + options.stride - 1) / options.stride : options.samples;
    m.pieces = (m.total + PIECE - 1) / PIECE;
    f64 begin = seconds();
    measure(&m);
    char row[256];
    row_text(&m, row, sizeof row);
    bool is_sound = m.reference_error <= f->bound, is_good = m.all.error <= f->limit && is_sound;
    printf("%s%s", m.all.error <= f->limit ? "" : "ABOVE ITS LIMIT: ", row);
    printf("    %.1f s, %llu decided by MPFR, C library off by at most %.2f of its ulps (bound "
           "%g)%s\n",
           seconds() - begin, (unsigned long long)m.exact_count, m.reference_error, f->bound,
           is_sound ? "" : ": ABOVE ITS BOUND");
    fflush(stdout);
    if (options.table && !table_update(options.table, f, row)) {
        fprintf(stderr, "ulp: %s cannot be written\n", options.table);
        exit(2);
    }
    return is_good;
}

// Returns false for an option it does not know; `at` ends behind the options.
static bool read_options(int argc, char **argv, int *at)
{
    for (; *at < argc && argv[*at][0] == '-'; ++*at) {
        const char *option = argv[*at], *value = *at + 1 < argc ? argv[*at + 1] : "";
        if (!strcmp(option, "--quick")) {
            options.samples = 1000000;
            options.stride = 4099;
        } else if (!strcmp(option, "--resume")) {
            options.is_resumed = true;
        } else if (!strcmp(option, "--only")) {
            // the names follow anyway
        } else {
            if (!strcmp(option, "--samples"))
                options.samples = strtoull(value, NULL, 10);
            else if (!strcmp(option, "--stride"))
                options.stride = strtoull(value, NULL, 10);
            else if (!strcmp(option, "--threads"))
                options.threads = (u32)strtoul(value, NULL, 10);
            else if (!strcmp(option, "--table"))
                options.table = value;
            else
                return false;
            ++*at;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    int at = 1;
    options.threads = (u32)sysconf(_SC_NPROCESSORS_ONLN);
    if (!read_options(argc, argv, &at))
        return fprintf(stderr, "ulp: unknown option %s\n", argv[at]), 2;
    if (!options.stride || !options.samples || !options.threads || options.threads > MAX_THREADS)
        return fprintf(stderr, "ulp: a number is out of range\n"), 2;
    int passed = 0, failed = 0, skipped = 0;
    for (u32 i = 0; i < function_count; i++) {
        const function *f = &functions[i];
        if (!is_wanted(f, argv + at))
            continue;
        if (options.is_resumed && options.table && is_in_table(options.table, f)) {
            skipped++;
            continue;
        }
        measure_and_tell(f) ? passed++ : failed++;
    }
    printf("ulp: %d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed != 0;
}
