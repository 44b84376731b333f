// What the parts of the ulp program share: the table of functions and the arguments to try.
//
// functions.c says what there is to measure and with what, samples.c which arguments, ulp.c
// measures. Numbers travel as f64 whatever the type of the function (an f32 is one exactly).
#ifndef KILN_TESTS_ULP_H
#define KILN_TESTS_ULP_H
#include <kiln/kernel.h>
#include <mpfr.h>

enum { BATCH = 1024, CENTRES = 48 };

typedef void ours_fn(const f64 *x, const f64 *y, f64 *out, u32 n);
typedef void wide_fn(const f64 *x, const f64 *y, long double *out, u32 n);

// How the two arguments of a function should be related, every fourth time.
typedef enum relation { ALONE, PAIR_POWER, PAIR_RATIO, PAIR_MULTIPLE } relation;

typedef struct function {
    const char *name, *type;
    ours_fn *ours;
    ours_fn *plain; // the C library's f64 function, for f32
    wide_fn *wide;  // the C library's long double function, for f64
    int (*mpfr_1)(mpfr_t, const mpfr_t, mpfr_rnd_t);
    int (*mpfr_2)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
    f64 low, high; // the interesting range
    f64 limit;     // ulp
    f64 bound;     // the C library's own error is below this many of its ulps
    relation pair;
    f64 edges[8]; // where a result overflows, underflows or a branch ends
} function;

extern const function functions[];
extern const u32 function_count;

static inline bool is_f32(const function *f)
{
    return f->type[1] == '3';
}

// All values are tried, not some.
static inline bool is_exhaustive(const function *f)
{
    return is_f32(f) && f->mpfr_1;
}

// Arguments first … first + n of `total`; n <= BATCH. The same numbers whoever asks.
void sample_batch(const function *f, u64 first, u64 total, u32 n, f64 *x, f64 *y);

// Special values, all pairs of them, and what is known to be hard (zeros and multiples of pi/2,
// missed as closely as a number can). Calls `take` with at most BATCH at a time.
void each_hard_batch(const function *f, void (*take)(void *, const f64 *x, const f64 *y, u32 n),
                     void *data);
#endif
