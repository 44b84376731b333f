// quick: which kernels of a list of files the cpu device makes machine code for by itself, as
// written and optimised. Every kernel of a file given after --all must have it, of the others all
// but one in fifty. Without AVX-512 there is nothing to count. Ends with "cpu: N passed, N failed,
// N skipped". Start reading at main.
//
//     quick FILE… --all FILE…
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dev/cpu/cpu.h"

typedef struct tally {
    unsigned kernels, quick;
} tally;

static bool count_file(kiln *k, const char *path, int optimise, bool talks, tally *t)
{
    static const char *const folders[] = {"tests/run", NULL};
    kiln_module *m = NULL;
    if (kiln_compile(
            k, &(kiln_compile_desc){.path = path, .optimise = optimise, .include = folders}, &m)) {
        fprintf(stderr, "%s: %s\n", path, kiln_last_error(k)->text);
        return false;
    }
    for (size_t n = 0; n < m->kernel_count; n++) {
        if (m->kernels[n]->stack_bytes) // recursion is interpreted
            continue;
        t->kernels++;
        t->quick += cpu_kernel_of(m->kernels[n])->quick != NULL;
        if (!cpu_kernel_of(m->kernels[n])->quick && talks)
            printf("%s: '%s' has no quick code\n", path, m->kernels[n]->name);
    }
    kiln_module_free(m);
    return true;
}

int main(int argc, char **argv)
{
    const char *why;
    tally some = {0}, all = {0}, *to = &some;
    kiln *k;
    bool fine = true;
    if (!quick_is_here(&why)) {
        printf("skipped: %s\ncpu: 0 passed, 0 failed, 1 skipped\n", why);
        return 0;
    }
    setenv("KILN_CPU", "quick", 1);
    if (kiln_open("cpu", &k))
        return 1;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--all")) {
            to = &all;
            continue;
        }
        for (int optimise = -1; optimise <= 1; optimise += 2)
            fine = count_file(k, argv[i], optimise, true, to) && fine;
    }
    kiln_close(k);
    printf("quick code: %u of %u kernels, and %u of %u that must have it\n", some.quick,
           some.kernels, all.quick, all.kernels);
    bool enough = some.kernels && all.kernels && some.quick * 50 >= some.kernels * 49 &&
                  all.quick == all.kernels;
    printf("cpu: %d passed, %d failed, 0 skipped\n", fine + enough, 2 - fine - enough);
    return !fine || !enough;
}
