// kiln bench FILE: how fast a user's kernel is. Prepares the launch as kiln run does, warms
// up, and times rounds of launches; every round starts from the same buffers.
#include <math.h>
#include <stdlib.h>

#include "cli/run.h"

enum { ROUNDS = 25 };
#define ROUND_MS 20.0   // launches of a round take about so long together
#define TOTAL_MS 3000.0 // and all rounds, of a slow kernel, about so long

typedef struct timing {
    double median, best, worst, spread; // ms of one launch; spread: half the middle half, of 1
    int rounds, per_round;
} timing;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int measure(run *r, run_launch *l, timing *out)
{
    double warm[3], *times = NULL;
    int failed = run_launch_all(r, l, 2, warm); // waits for the best code, compiles, fills caches
    if (failed)
        return failed;
    double once = warm[1] > 1e-4 ? warm[1] : 1e-4;
    out->per_round = once > ROUND_MS ? 1 : (int)(ROUND_MS / once);
    out->per_round = out->per_round > 1000 ? 1000 : out->per_round;
    out->rounds = r->repeat > 1 ? r->repeat : ROUNDS;
    while (r->repeat == 1 && out->rounds > 3 && out->rounds * out->per_round * once > TOTAL_MS)
        out->rounds--;
    times = malloc((size_t)out->rounds * sizeof *times);
    if (!times)
        return EXIT_WORLD;
    failed = run_time_rounds(r, l, out->rounds, out->per_round, times);
    if (!failed) {
        int n = out->rounds;
        qsort(times, (size_t)n, sizeof *times, by_value);
        out->median = n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
        out->best = times[0];
        out->worst = times[n - 1];
        out->spread = out->median > 0 ? (times[n * 3 / 4] - times[n / 4]) / 2 / out->median : 0;
    }
    free(times);
    return failed;
}

// Every buffer read or written once: what a kernel that moves data cannot do without.
static double bytes_of(const run_launch *l)
{
    double bytes = 0;
    for (size_t i = 0; i < l->arg_count; i++) {
        const run_arg *a = &l->args[i];
        if (a->info.kind == KILN_PARAM_POINTER)
            bytes += (double)a->shape.count * (double)a->element.size;
    }
    return bytes;
}

static void print_json(const run *r, const run_launch *l, const timing *t)
{
    double bytes = bytes_of(l);
    printf("{\"kernel\": \"%s\", \"device\": \"%s\", \"code\": \"%s\", \"grid\": [%u, %u, %u], "
           "\"block\": [%u, %u, %u], \"rounds\": %d, \"launches_per_round\": %d, "
           "\"median_us\": %.4g, \"best_us\": %.4g, \"worst_us\": %.4g, \"spread\": %.4g, "
           "\"buffer_bytes\": %.0f, \"bytes_per_second\": %.6g}\n",
           kiln_kernel_name(l->kernel), kiln_device_name(r->k), run_code_of(r, l), l->grid[0],
           l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], t->rounds, t->per_round,
           t->median * 1e3, t->best * 1e3, t->worst * 1e3, t->spread, bytes,
           t->median > 0 ? bytes / (t->median * 1e-3) : 0);
}

static void print_text(const run *r, const run_launch *l, const timing *t)
{
    const char *code = run_code_of(r, l);
    double bytes = bytes_of(l), rate = t->median > 0 ? bytes / (t->median * 1e-3) : 0;
    printf("%s on %s, grid %u,%u,%u block %u,%u,%u%s%s%s\n", kiln_kernel_name(l->kernel),
           kiln_device_name(r->k), l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
           l->block[2], *code ? " (" : "", code, *code ? ")" : "");
    if (l->assumed[0])
        printf("  grid assumed: %s (--grid or --items changes it)\n", l->assumed);
    printf("  time %.4g us a launch, the median of %d rounds of %d; best %.4g, worst %.4g, middle "
           "half within %.1f %%\n",
           t->median * 1e3, t->rounds, t->per_round, t->best * 1e3, t->worst * 1e3,
           t->spread * 100);
    if (bytes > 0)
        printf("  its buffers are %.4g MB: %.4g GB/s when each is read or written once\n",
               bytes * 1e-6, rate * 1e-9);
}

int bench_kernel(int argc, char **argv)
{
    run r = {.verb = "bench", .seed = 1, .repeat = 1};
    int failed = run_parse(&r, argc, argv);
    if (!failed) {
        failed = run_open(&r);
        for (size_t k = 0; !failed && k < r.launch_count; k++) {
            run_launch *l = &r.launches[k];
            timing t = {0};
            failed = run_prepare(&r, l);
            if (!failed && l->is_empty)
                failed = cli_usage("bench", "a size is 0: there is nothing to time");
            if (!failed)
                failed = measure(&r, l, &t);
            if (!failed && r.json)
                print_json(&r, l, &t);
            else if (!failed)
                print_text(&r, l, &t);
        }
        run_close(&r);
    }
    run_free(&r);
    return failed;
}
