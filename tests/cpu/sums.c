// sums: code that `kiln show` has no stage for, as a checksum for each file and way to make it:
// machine code of the cpu device, OpenCL for NVIDIA's and PoCL's compilers, PTX with calls of the
// host, programs of the interpreter; and for random kernels also what it has one for. Code that has
// become another one is noticed, also when it is right. Compares with tests/cpu/sums.txt; --bless
// writes that. Ends with "cpu: N passed, N failed, N skipped". Start reading at main.
//
//     sums [--bless] (FILE | random-PROFILE)…
//
// random-PROFILE: the first kernels of that generator of tests/fuzz. Who changes it blesses anew.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "back/x86/make.h"
#include "compile.h"
#include "cpu/sums.h"
#include "dev/cpu/cpu.h"
#include "dev/interp/interp.h"
#include "fuzz/profile.h"

static const char list_path[] = "tests/cpu/sums.txt";

typedef enum kind { X86, OPENCL_NVIDIA, OPENCL_POCL, PTX, INTERP, CHECK, C, REMARKS } kind;
typedef struct way {
    const char *name;
    kind kind;
    const char *target;
    int level;
    bool plain_exits, checks_bounds;
} way;
static const way ways[] = {{"as written", X86, "cpu", 0, false, false},
                           {"optimised", X86, "cpu", 2, false, false},
                           {"with plain exits", X86, "cpu", 2, true, false},
                           {"with bounds", X86, "cpu", 2, false, true},
                           {"NVIDIA's OpenCL", OPENCL_NVIDIA, "opencl", 2, false, false},
                           {"PoCL", OPENCL_POCL, "opencl", 2, false, false},
                           {"PTX", PTX, "sm_90a", 2, false, false},
                           {"PTX as written", PTX, "sm_90a", 0, false, false},
                           {"PTX with bounds", PTX, "sm_90a", 2, false, true},
                           {"PTX for sm_75", PTX, "sm_75", 2, false, false},
                           {"interp", INTERP, "interp", 2, false, false},
                           {"interp as written", INTERP, "interp", 0, false, false},
                           {"kiln check", CHECK, "interp", 1, false, false},
                           {"C", C, "cpu", 2, false, false},
                           {"remarks", REMARKS, "sm_90a", 2, false, false}};
enum { WAYS = COUNT(ways), RANDOM_KERNELS = 40 };

typedef struct job {
    const way *way;
    uint64_t sum;
} job;

// Where the code calls a helper it has the address, which differs from run to run.
static size_t helper_at(const uint8_t *at, size_t left)
{
    static x86_helper *const helpers[] = {x86_help_eval, x86_help_fast,  x86_help_atomic,
                                          x86_help_load, x86_help_store, x86_help_shuffle,
                                          x86_help_match};
    for (size_t n = 0; n < COUNT(helpers) && left >= sizeof *helpers; n++)
        if (!memcmp(at, &helpers[n], sizeof *helpers))
            return n + 1;
    return 0;
}

static uint64_t sum_of(const uint8_t *code, size_t len) // FNV-1a
{
    uint64_t sum = SUM_START;
    for (size_t k = 0; k < len; k++) {
        size_t helper = helper_at(code + k, len - k);
        sum = (sum ^ (helper ? 256 + helper : code[k])) * 0x100000001b3u;
        k += helper ? sizeof(x86_helper *) - 1 : 0;
    }
    return sum;
}

static void make_code(void *user, const char *name, front *f, ir_module *m)
{
    job *j = user;
    text out = {.in = m ? m->in : NULL};
    opencl_options options = {0};
    (void)f;
    if (strcmp(name, "final") != 0)
        return;
    switch (j->way->kind) {
    case X86: {
        x86_module made = x86_make(m, m->in);
        j->sum = sum_of(made.code, made.code_len);
        return;
    }
    case OPENCL_NVIDIA: options = (opencl_options){.has_ptx = true, .is_exact = true}; break;
    case OPENCL_POCL: options = (opencl_options){.has_loops = true}; break;
    case INTERP: j->sum = interp_sum(m, 0); return;
    case CHECK:
        j->sum = interp_sum(m, INTERP_WATCH_MEMORY) ^
                 interp_sum(m, INTERP_WATCH_MEMORY | INTERP_WATCH_NAN) << 1;
        return;
    case C:
        cpu_emit(m, NULL, m->in, &out);
        j->sum = sum_of((const uint8_t *)out.at, out.len);
        return;
    case PTX:
    case REMARKS: return;
    }
    bool ok = opencl_emit(m, NULL, &options, NULL, m->in, &out);
    j->sum = ok ? sum_of((const uint8_t *)out.at, out.len) : 1; // OpenCL does not have all
}

// The text of random-PROFILE, which the caller frees; NULL: that is no such name.
static char *random_text(const char *name)
{
    static const char prefix[] = "random-";
    const fuzz_profile *p = NULL;
    char *made = NULL;
    size_t size = 0;
    if (strncmp(name, prefix, sizeof prefix - 1) == 0)
        p = fuzz_profile_named(name + sizeof prefix - 1);
    FILE *out = p ? open_memstream(&made, &size) : NULL;
    if (!out)
        return NULL;
    fputs(p->prelude, out);
    for (unsigned seed = 1; seed <= RANDOM_KERNELS; seed++)
        p->write(seed, seed, out);
    fclose(out);
    return made;
}

static uint64_t sum_of_file(const char *path, const way *w)
{
    static const char *const folders[] = {"include", "tests/run", NULL};
    job j = {.way = w};
    char *made = random_text(path);
    compile_options options = {.path = path,
                               .source = made,
                               .front = {.includes = folders,
                                         .target = device_target(w->target),
                                         .keeps_unset = w->kind == CHECK,
                                         .watches_shifts = w->kind == CHECK,
                                         .watches_heap = w->kind == CHECK,
                                         .allow_file_includes = true},
                               .level = w->level,
                               .no_remarks = w->kind != REMARKS,
                               .wants_plain_exits = w->plain_exits,
                               .checks_bounds = w->checks_bounds,
                               .stage = make_code,
                               .user = &j};
    options.backend = w->kind == PTX ? &ptx_backend : NULL;
    compile_outcome outcome = compile_run(&options);
    if (outcome.status == KILN_OK && w->kind == REMARKS)
        j.sum = sum_of((const uint8_t *)outcome.log, outcome.log_len);
    else if (outcome.status == KILN_E_COMPILE) // OpenCL has no recursion
        j.sum = sum_of((const uint8_t *)outcome.code, strlen(outcome.code));
    else if (outcome.status != KILN_OK)
        fprintf(stderr, "%s: %s\n", path, outcome.log ? outcome.log : "");
    // Of PTX the kernels: what they call of the mailboxes is another source's.
    const char *from = outcome.emitted.len ? strstr(outcome.emitted.at, ".entry") : NULL;
    if (from)
        j.sum = sum_of((const uint8_t *)from, strlen(from));
    compile_outcome_free(&outcome);
    free(made);
    return j.sum;
}

// What the list has of a file; false: nothing.
static bool find_line(FILE *list, const char *path, uint64_t want[WAYS])
{
    char line[512];
    rewind(list);
    while (fgets(line, sizeof line, list)) {
        size_t len = strlen(path), n = 0;
        if (strncmp(line, path, len) != 0 || line[len] != ' ')
            continue;
        for (char *at = line + len, *end; n < WAYS; n++, at = end) {
            want[n] = strtoull(at, &end, 16);
            if (end == at)
                return false;
        }
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    unsigned passed = 0, failed = 0;
    bool blesses = argc > 1 && !strcmp(argv[1], "--bless");
    FILE *list = fopen(list_path, blesses ? "w" : "r");
    if (!list) {
        perror(list_path);
        return 1;
    }
    for (int i = 1 + blesses; i < argc; i++) {
        uint64_t got[WAYS], want[WAYS];
        for (int n = 0; n < WAYS; n++)
            got[n] = sum_of_file(argv[i], &ways[n]);
        if (blesses) {
            fputs(argv[i], list);
            for (int n = 0; n < WAYS; n++)
                fprintf(list, " %016llx", (unsigned long long)got[n]);
            fputc('\n', list);
            continue;
        }
        bool is_there = find_line(list, argv[i], want);
        for (int n = 0; n < WAYS; n++) {
            bool fine = is_there && got[n] && got[n] == want[n];
            if (!fine)
                printf("%s, %s: %s (make bless records it)\n", argv[i], ways[n].name,
                       is_there ? "another code" : "sums.txt lacks it");
            *(fine ? &passed : &failed) += 1;
        }
    }
    fclose(list);
    if (!blesses)
        printf("cpu: %u passed, %u failed, 0 skipped\n", passed, failed);
    return failed || (!passed && !blesses);
}
