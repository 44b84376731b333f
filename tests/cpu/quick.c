// quick: the cpu device makes machine code by itself for every kernel of a list of files, as
// written and optimised, but for those named below; a kernel that has lost it would still be right,
// by the interpreter. Without AVX-512 there is nothing to look at. Ends with "cpu: N passed, N
// failed, N skipped". Start reading at main.
//
//     quick FILE…
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dev/cpu/cpu.h"

// These, as written, are interpreted: more values than a frame on the stack may have; an atomic
// operation of 8 bytes whose pointer might be one to a local array.
static const char *const interpreted[][2] = {
    {"tests/run/fragment.c", "bytes"},  {"tests/run/heap.c", "heap_tree"},
    {"tests/run/heap.c", "heap_grow"},  {"tests/run/heap.c", "heap_calls"},
    {"tests/run/libc.c", "libc_print"}, {"tests/run/libc_more.c", "libc_copies"}};

typedef struct tally {
    unsigned passed, failed;
} tally;

static bool is_interpreted(const char *path, const char *kernel)
{
    for (size_t n = 0; n < COUNT(interpreted); n++)
        if (!strcmp(interpreted[n][0], path) && !strcmp(interpreted[n][1], kernel))
            return true;
    return false;
}

static void check_file(kiln *k, const char *path, int optimise, tally *t)
{
    static const char *const folders[] = {"tests/run", NULL};
    kiln_module *m = NULL;
    if (kiln_compile(
            k, &(kiln_compile_desc){.path = path, .optimise = optimise, .include = folders}, &m)) {
        fprintf(stderr, "%s: %s\n", path, kiln_last_error(k)->text);
        t->failed++;
        return;
    }
    for (size_t n = 0; n < m->kernel_count; n++) {
        const char *name = m->kernels[n]->name;
        if (m->kernels[n]->stack_bytes) // recursion is interpreted
            continue;
        bool has = cpu_kernel_of(m->kernels[n])->quick != NULL;
        bool fine = has == !(optimise < 0 && is_interpreted(path, name));
        if (!fine)
            printf("%s: '%s', %s, has %s code of its own\n", path, name,
                   optimise < 0 ? "as written" : "optimised", has ? "now" : "no");
        *(fine ? &t->passed : &t->failed) += 1;
    }
    kiln_module_free(m);
}

int main(int argc, char **argv)
{
    const char *why;
    tally t = {0};
    kiln *k;
    if (!quick_is_here(&why)) {
        printf("skipped: %s\ncpu: 0 passed, 0 failed, 1 skipped\n", why);
        return 0;
    }
    setenv("KILN_CPU", "quick", 1);
    if (kiln_open("cpu", &k))
        return 1;
    for (int i = 1; i < argc; i++)
        for (int optimise = -1; optimise <= 1; optimise += 2)
            check_file(k, argv[i], optimise, &t);
    kiln_close(k);
    printf("cpu: %u passed, %u failed, 0 skipped\n", t.passed, t.failed);
    return t.failed || !t.passed;
}
