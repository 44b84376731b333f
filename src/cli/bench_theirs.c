// kiln bench … --against NAME[=FILE]: another library beside ours, opened at run time. Which one is
// asked for which op is a row of `libraries` (bench_cublas.c, bench_cudnn.c). Where it is not
// there, a sentence says so, and ours is measured alone.
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/bench.h"
#include "cli/cli.h"
#include "cli/cudnn.h"

static const struct library {
    const char *name, *label, *op;
    const char *(*open)(kiln *k, const char *file);
} libraries[] = {{"cublas", "cuBLAS", "matmul", bench_cublas_open},
                 {"cublaslt", "cuBLASLt", "matmul", bench_cublaslt_open},
                 {"cudnn", "cuDNN", "attention", cudnn_open},
                 {"cudnn", "cuDNN", "conv", cudnn_open}};

// "cublas or cublaslt": those of the op.
static void names_of(const char *op, char *out, size_t room)
{
    size_t at = 0;
    *out = 0;
    for (size_t n = 0; n < COUNT(libraries); n++)
        if (!strcmp(libraries[n].op, op))
            at +=
                (size_t)snprintf(out + at, room - at, "%s%s", at ? " or " : "", libraries[n].name);
}

int bench_theirs_read(bench_theirs *t, const char *op, const char *word)
{
    char names[64];
    if (!word)
        return EXIT_FINE;
    for (size_t n = 0; n < COUNT(libraries); n++) {
        const struct library *l = &libraries[n];
        size_t length = strlen(l->name);
        if (strcmp(l->op, op) || strncmp(word, l->name, length) ||
            (word[length] && word[length] != '='))
            continue;
        *t = (bench_theirs){.name = l->name, .label = l->label, .why = "it is not open"};
        if (word[length])
            t->file = word + length + 1;
        return EXIT_FINE;
    }
    names_of(op, names, sizeof names);
    if (!*names)
        return cli_usage("bench", "--against has no library for %s", op);
    return cli_usage("bench", "--against is %s for %s, and =FILE where it is", names, op);
}

void bench_theirs_open(bench_theirs *t, kiln *k, bool is_json)
{
    for (size_t n = 0; n < COUNT(libraries) && t->name; n++)
        if (!strcmp(libraries[n].name, t->name)) {
            t->why = libraries[n].open(k, t->file);
            break;
        }
    if (t->why && !is_json)
        printf("%s is not measured: %s\n", t->label, t->why);
}

bool bench_theirs_is_there(const bench_theirs *t)
{
    return t->name && !t->why;
}

void bench_theirs_print(bench_theirs *t, bool is_json, double theirs, double ours, const char *why)
{
    if (!bench_theirs_is_there(t))
        return;
    if (theirs > 0 && is_json)
        printf(", \"%s_us\": %.3f, \"ratio\": %.4f", t->name, theirs * 1e6, theirs / ours);
    else if (theirs > 0)
        printf("  %s %10.2f us  ratio %.3f", t->label, theirs * 1e6, theirs / ours);
    else if (is_json) {
        printf(", \"%s_missing\": \"", t->name);
        cli_put_json(why);
        printf("\"");
    } else
        printf("  %s: %s", t->label, why);
    if (theirs > 0 && t->count < BENCH_ROWS)
        t->ratios[t->count++] = theirs / ours;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_theirs_print_ratios(bench_theirs *t, bool is_json)
{
    int count = t->count;
    double *r = t->ratios;
    qsort(r, (size_t)count, sizeof *r, by_value);
    double median = count ? (r[(count - 1) / 2] + r[count / 2]) / 2 : 0;
    if (t->name && is_json && t->why) {
        printf(", \"%s\": {\"missing\": \"", t->name);
        cli_put_json(t->why);
        printf("\"}");
    } else if (count && is_json)
        printf(", \"%s\": {\"worst\": %.4f, \"median\": %.4f, \"best\": %.4f}", t->name, r[0],
               median, r[count - 1]);
    else if (count)
        printf("%s takes %.3f (worst), %.3f (median), %.3f (best) of our time\n", t->label, r[0],
               median, r[count - 1]);
}

// Both round to 16 bits in between, and sum in other orders.
int bench_is_same(double difference)
{
    if (difference <= 0.02)
        return EXIT_FINE;
    fprintf(stderr, "kiln bench: the results differ by %.3g of the largest number\n", difference);
    return EXIT_KERNEL;
}
