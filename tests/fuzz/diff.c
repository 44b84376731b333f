// fuzz-diff: random kernels on the host's compiler, on Kiln without and with its optimiser, on the
// interpreter and as the cpu device's own machine code; the results must be equal bit for bit.
//
//     fuzz_diff [--seconds N] [--count N] [--seed N] [--batch N] [--keep FOLDER] [--work FOLDER]
//
// A batch of kernels is one gcc run and one child process; a child that dies or hangs is a finding,
// too. Every finding is made smaller (shrink.c) and kept as FOLDER/fuzz-SEED.c, a test like the
// others. Run it from the top of the source tree. Start reading at main.
#include "fuzz/shrink.h"

#include "fuzz/gen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static struct options {
    unsigned seconds, count, batch;
    unsigned long long seed;
    const char *keep, *work;
} options = {.seconds = 60, .batch = 50, .keep = "tests/run/found", .work = "build/fuzz"};

static char *program_text(unsigned long long seed, unsigned number)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    gen_program(seed, number, out);
    fclose(out);
    return text;
}

static char *whole_file(const char *const *programs, unsigned count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out, "%s\n", gen_prelude);
    for (unsigned i = 0; i < count; i++)
        fputs(programs[i], out);
    fclose(out);
    return text;
}

static void keep(unsigned long long seed, const char *text, const char *why)
{
    char path[512];
    snprintf(path, sizeof path, "%s/fuzz-%llu.c", options.keep, seed);
    FILE *out = fopen(path, "w");
    if (!out) {
        fprintf(stderr, "cannot write %s\n", path);
        return;
    }
    fprintf(out, "// Found by fuzz-diff, seed %llu: %.*s\n%s", seed, (int)strcspn(why, "\n"), why,
            text);
    fclose(out);
    fprintf(stderr, "  kept as %s\n", path);
}

static void report(unsigned long long seed, const char *program, const fuzz_verdict *v)
{
    const char *one[] = {program};
    char *text = whole_file(one, 1), *small = text ? shrink(options.work, text, v->kind) : NULL;
    fprintf(stderr, "seed %llu: %s: %s\n", seed, fuzz_kind_name(v->kind), v->why);
    keep(seed, small ? small : program, v->why);
    free(small);
    free(text);
}

static unsigned run_batch(unsigned long long seed, unsigned count)
{
    char **programs = calloc(count, sizeof *programs);
    fuzz_verdict *verdicts = calloc(count, sizeof *verdicts);
    unsigned findings = 0;
    for (unsigned i = 0; programs && i < count; i++)
        programs[i] = program_text(seed + i, i);
    char *text = programs ? whole_file((const char *const *)programs, count) : NULL;
    if (!verdicts || !text || !fuzz_judge(options.work, text, (int)count, verdicts)) {
        fprintf(stderr, "seeds %llu to %llu: the host's compiler did not take them\n", seed,
                seed + count - 1);
        findings++;
    } else {
        for (unsigned i = 0; i < count; i++)
            if (verdicts[i].kind != FUZZ_FINE) {
                report(seed + i, programs[i], &verdicts[i]);
                findings++;
            }
    }
    for (unsigned i = 0; programs && i < count; i++)
        free(programs[i]);
    free(programs);
    free(verdicts);
    free(text);
    return findings;
}

int main(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *value = argv[i + 1];
        if (strcmp(argv[i], "--seconds") == 0)
            options.seconds = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--count") == 0)
            options.count = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            options.seed = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--batch") == 0)
            options.batch = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--keep") == 0)
            options.keep = value;
        else if (strcmp(argv[i], "--work") == 0)
            options.work = value;
    }
    mkdir(options.work, 0777);
    mkdir(options.keep, 0777);
    unsigned done = 0, findings = 0;
    time_t start = time(NULL);
    unsigned long long seed = options.seed ? options.seed : (unsigned long long)start * 100003u;
    if (!options.batch)
        options.batch = 1;
    while (options.count ? done < options.count
                         : (unsigned)(time(NULL) - start) < options.seconds) {
        unsigned n = options.count && options.count - done < options.batch ? options.count - done
                                                                           : options.batch;
        findings += run_batch(seed + done, n);
        done += n;
        if (findings > 20)
            break;
    }
    printf("%u programs in %ld s, %u findings\n", done, (long)(time(NULL) - start), findings);
    printf("fuzz-diff: %u passed, %u failed, 0 skipped\n",
           done - (findings < done ? findings : done), findings);
    return findings != 0;
}
