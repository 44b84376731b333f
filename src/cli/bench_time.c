// The time of a call of the library (bench.h): median and spread of rounds, each about 20 ms.
#include <stdlib.h>
#include <time.h>

#include "cli/bench.h"

enum { ROUNDS = 9, MOST_ROUNDS = 999 };
static int most_rounds = ROUNDS;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Seconds of `count` calls, the device's queue emptied before and after.
static kiln_status time_calls(kiln *k, bench_call *call, void *user, int count, double *seconds)
{
    kiln_status status = kiln_sync(k);
    double start = now();
    for (int i = 0; i < count && !status; i++)
        status = call(user, i);
    if (!status)
        status = kiln_sync(k);
    *seconds = now() - start;
    return status;
}

bool bench_read_rounds(const char *word)
{
    char *end;
    long rounds = strtol(word, &end, 10);
    if (end == word || *end || rounds < 1 || rounds > MOST_ROUNDS)
        return false;
    most_rounds = (int)rounds;
    return true;
}

kiln_status bench_measure(kiln *k, bench_call *call, void *user, bench_times *out)
{
    double times[MOST_ROUNDS], once = 0;
    *out = (bench_times){0};
    kiln_status status = time_calls(k, call, user, 1, &once); // compiles
    if (!status)
        status = time_calls(k, call, user, 1, &once);
    int count = once > 0.02 ? 1 : (int)(0.02 / (once > 1e-5 ? once : 1e-5)) + 1;
    int rounds = once > 1 ? 1 : most_rounds;
    for (int i = 0; i < rounds && !status; i++) {
        status = time_calls(k, call, user, count, &times[i]);
        times[i] /= count;
    }
    if (status)
        return status;
    qsort(times, (size_t)rounds, sizeof *times, by_value);
    out->median = times[rounds / 2];
    out->spread = (times[rounds * 3 / 4] - times[rounds / 4]) / 2 / out->median;
    return KILN_OK;
}

double bench_glance(kiln *k, bench_call *call, void *user)
{
    double once = 0, seconds = 0;
    kiln_status status = time_calls(k, call, user, 1, &once);
    if (!status)
        status = time_calls(k, call, user, 1, &once);
    int count = once > 0.005 ? 1 : (int)(0.005 / (once > 1e-5 ? once : 1e-5)) + 1;
    if (!status)
        status = time_calls(k, call, user, count, &seconds);
    return status ? 0 : seconds / count;
}
