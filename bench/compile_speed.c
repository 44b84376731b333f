// How long the compiler takes: source text to optimised IR, by stage, median of many runs, for each
// file given.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"

enum { RUNS = 51 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_ms(double times[RUNS])
{
    qsort(times, RUNS, sizeof times[0], by_value);
    return times[RUNS / 2] * 1e3;
}

int main(int argc, char **argv)
{
    printf("%-34s", "file (ms)");
    for (int s = STAGE_PREPROCESS; s <= STAGE_PASSES; s++)
        printf(" %10s", compile_stage_names[s]);
    printf(" %10s\n", "all");
    static const char *const includes[] = {"tests/run", NULL};
    for (int i = 1; i < argc; i++) {
        static double times[STAGE_COUNT + 1][RUNS];
        bool ok = true;
        for (int run = 0; run < RUNS && ok; run++) {
            compile_options options = {
                .path = argv[i],
                .front = {.includes = includes, .allow_file_includes = true},
                .level = 2,
                .no_remarks = true,
            };
            compile_outcome outcome = compile_run(&options);
            ok = outcome.status == KILN_OK;
            times[STAGE_COUNT][run] = 0;
            for (int s = 0; s < STAGE_COUNT; s++) {
                times[s][run] = outcome.seconds[s];
                if (s >= STAGE_PREPROCESS && s <= STAGE_PASSES)
                    times[STAGE_COUNT][run] += outcome.seconds[s];
            }
            compile_outcome_free(&outcome);
        }
        printf("%-34s", argv[i]);
        if (!ok) {
            printf(" does not compile\n");
            continue;
        }
        for (int s = STAGE_PREPROCESS; s <= STAGE_PASSES; s++)
            printf(" %10.3f", median_ms(times[s]));
        printf(" %10.3f\n", median_ms(times[STAGE_COUNT]));
    }
    return 0;
}
