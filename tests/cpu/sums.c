// sums: the machine code that Kiln makes for the kernels of a list of files, as a checksum for each
// file and level: code that has become another one is noticed, also when it is right. Compares with
// tests/cpu/sums.txt; --bless writes that. Ends with "cpu: N passed, N failed, N skipped". Start
// reading at main.
//
//     sums [--bless] FILE…
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "back/x86/make.h"
#include "compile.h"
#include "dev/cpu/cpu.h"

static const char list_path[] = "tests/cpu/sums.txt";
enum { LEVELS = 3 };

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
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t k = 0; k < len; k++) {
        size_t helper = helper_at(code + k, len - k);
        sum = (sum ^ (helper ? 256 + helper : code[k])) * 0x100000001b3u;
        k += helper ? sizeof(x86_helper *) - 1 : 0;
    }
    return sum;
}

static void make_code(void *user, const char *name, front *f, ir_module *m)
{
    (void)f;
    if (strcmp(name, "final") != 0)
        return;
    x86_module made = x86_make(m, m->in);
    *(uint64_t *)user = sum_of(made.code, made.code_len);
}

static uint64_t sum_of_file(const char *path, int level)
{
    static const char *const folders[] = {"include", "tests/run", NULL};
    uint64_t sum = 0;
    compile_options options = {.path = path,
                               .front = {.includes = folders, .allow_file_includes = true},
                               .level = level ? 2 : 0,
                               .no_remarks = true,
                               .wants_plain_exits = level == 2,
                               .stage = make_code,
                               .user = &sum};
    compile_outcome outcome = compile_run(&options);
    if (outcome.status != KILN_OK)
        fprintf(stderr, "%s: %s\n", path, outcome.log ? outcome.log : "");
    compile_outcome_free(&outcome);
    return sum;
}

// The line of a file; false: there is none.
static bool find_line(FILE *list, const char *path, uint64_t want[LEVELS])
{
    char line[512], name[256];
    rewind(list);
    while (fgets(line, sizeof line, list)) {
        unsigned long long v[LEVELS];
        if (sscanf(line, "%255s %llx %llx %llx", name, &v[0], &v[1], &v[2]) == 1 + LEVELS &&
            !strcmp(name, path)) {
            for (int n = 0; n < LEVELS; n++)
                want[n] = v[n];
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    static const char *const levels[LEVELS] = {"as written", "optimised", "with plain exits"};
    unsigned passed = 0, failed = 0;
    bool blesses = argc > 1 && !strcmp(argv[1], "--bless");
    FILE *list = fopen(list_path, blesses ? "w" : "r");
    if (!list) {
        perror(list_path);
        return 1;
    }
    for (int i = 1 + blesses; i < argc; i++) {
        uint64_t got[LEVELS], want[LEVELS];
        for (int n = 0; n < LEVELS; n++)
            got[n] = sum_of_file(argv[i], n);
        if (blesses) {
            fprintf(list, "%s %016llx %016llx %016llx\n", argv[i], (unsigned long long)got[0],
                    (unsigned long long)got[1], (unsigned long long)got[2]);
            continue;
        }
        bool is_there = find_line(list, argv[i], want);
        for (int n = 0; n < LEVELS; n++) {
            bool fine = is_there && got[n] && got[n] == want[n];
            if (!fine)
                printf("%s, %s: %s (make bless records it)\n", argv[i], levels[n],
                       is_there ? "another machine code" : "sums.txt lacks it");
            *(fine ? &passed : &failed) += 1;
        }
    }
    fclose(list);
    if (!blesses)
        printf("cpu: %u passed, %u failed, 0 skipped\n", passed, failed);
    return failed || (!passed && !blesses);
}
