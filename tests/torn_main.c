// Texts with one slip each: every word and sign of tests/diag/NAME.c is dropped, doubled or swapped
// with the next one, by turns, and what the user would read then must stay what it was, as a
// checksum for each file (tests/diag/torn.txt). So recovery after errors, places and messages are
// looked at where nobody has written a test; a mistake of Kiln's own is a failure by itself. Ends
// with "torn: N passed, N failed, N skipped". Start reading at main.
//
//     torn [--bless]
//     torn NAME        prints what it says to each text of tests/diag/NAME.c, to be compared
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "back/back.h"
#include "compile.h"
#include "dev/device.h"

static const char list_path[] = "tests/diag/torn.txt";
// Macros that grow to the limit take a second each.
static const char *const left_out[] = {"K0040.c", "K0041.c"};
enum { MAX_TOKENS = 4096, STEP = 3 }; // one in STEP tokens gets a slip

typedef struct piece {
    const char *from;
    size_t len;
} piece;

// Words, strings and single signs; spaces belong to none.
static int split(const char *source, piece *out)
{
    int count = 0;
    for (const char *at = source; *at && count < MAX_TOKENS;) {
        const char *from = at++;
        if (isspace((unsigned char)*from))
            continue;
        if (*from == '"' || *from == '\'') {
            while (*at && *at != *from && *at != '\n')
                at += at[0] == '\\' && at[1] ? 2 : 1;
            at += *at == *from;
        } else if (isalnum((unsigned char)*from) || *from == '_') {
            while (isalnum((unsigned char)*at) || *at == '_')
                at++;
        }
        out[count++] = (piece){from, (size_t)(at - from)};
    }
    return count;
}

// The text with a slip at piece k.
static char *torn_text(const char *source, const piece *p, int count, int k)
{
    char *made = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&made, &size);
    if (!out)
        return NULL;
    const piece *next = k + 1 < count ? &p[k + 1] : &p[k];
    const char *behind = next->from + next->len;
    fwrite(source, 1, (size_t)(p[k].from - source), out);
    switch (k / STEP % 3) {
    case 0: // dropped
        behind = p[k].from + p[k].len;
        break;
    case 1: // doubled
        fprintf(out, "%.*s %.*s", (int)p[k].len, p[k].from, (int)p[k].len, p[k].from);
        behind = p[k].from + p[k].len;
        break;
    default: // swapped
        fprintf(out, "%.*s %.*s", (int)next->len, next->from, (int)p[k].len, p[k].from);
    }
    fputs(behind, out);
    fclose(out);
    return made;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL, chunk[4096];
    size_t size = 0, got;
    FILE *out = file ? open_memstream(&bytes, &size) : NULL;
    while (out && (got = fread(chunk, 1, sizeof chunk, file)) > 0)
        fwrite(chunk, 1, got, out);
    if (out)
        fclose(out);
    if (file)
        fclose(file);
    return bytes;
}

static uint64_t add(uint64_t sum, const char *said) // FNV-1a
{
    for (; *said; said++)
        sum = (sum ^ (uint8_t)*said) * 0x100000001b3u;
    return sum;
}

static int passed, failed, texts;

static void fail(const char *name, const char *what)
{
    printf("FAIL %s: %s\n", name, what);
    failed++;
}

// Of all that is said to the texts of a file.
static uint64_t sum_of_file(const char *name, bool print)
{
    static piece pieces[MAX_TOKENS];
    static const char *const folders[] = {"tests/diag", NULL};
    char path[512];
    snprintf(path, sizeof path, "tests/diag/%s", name);
    char *source = read_file(path);
    uint64_t sum = 0xcbf29ce484222325u;
    int count = source ? split(source, pieces) : 0;
    for (int k = 0; k < count; k += STEP) {
        char *made = torn_text(source, pieces, count, k);
        compile_options options = {.path = name,
                                   .source = made,
                                   .front = {.includes = folders,
                                             .target = device_target("interp"),
                                             .allow_file_includes = true},
                                   .level = 2,
                                   .verifies = true,
                                   .json = k / STEP % 5 == 0};
        compile_outcome outcome = compile_run(&options);
        texts++;
        if (print)
            printf("--- %d\n%s\n%s\n", k, made, outcome.log);
        if (outcome.status == KILN_E_INTERNAL) {
            fail(name, "a mistake of Kiln's own, with this text:");
            printf("%s\n%s\n", made, outcome.log);
        }
        sum = add(sum, outcome.log ? outcome.log : "");
        compile_outcome_free(&outcome);
        free(made);
    }
    free(source);
    return sum;
}

// What the list has of a file; false: nothing.
static bool find_sum(FILE *list, const char *name, uint64_t *sum)
{
    char line[512], found[256];
    rewind(list);
    while (fgets(line, sizeof line, list)) {
        unsigned long long value;
        if (sscanf(line, "%255s %llx", found, &value) == 2 && !strcmp(found, name)) {
            *sum = value;
            return true;
        }
    }
    return false;
}

static void check_file(FILE *list, const char *name)
{
    uint64_t want = 0, sum = sum_of_file(name, false);
    if (!find_sum(list, name, &want))
        fail(name, "torn.txt lacks it (make bless)");
    else if (want != sum)
        fail(name, "another text than before: compare `torn NAME` of both (make bless records it)");
    else
        passed++;
}

static bool is_left_out(const char *name)
{
    for (size_t k = 0; k < COUNT(left_out); k++)
        if (!strcmp(name, left_out[k]))
            return true;
    return false;
}

static int is_test(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return len > 2 && !strcmp(entry->d_name + len - 2, ".c") && !is_left_out(entry->d_name);
}

int main(int argc, char **argv)
{
    bool bless = argc > 1 && !strcmp(argv[1], "--bless");
    if (argc > 1 && !bless) {
        char name[256];
        snprintf(name, sizeof name, "%s.c", argv[1]);
        sum_of_file(name, true);
        return failed || !texts;
    }
    struct dirent **names;
    int count = scandir("tests/diag", &names, is_test, alphasort);
    FILE *list = fopen(list_path, bless ? "wb" : "rb");
    if (count < 0 || !list)
        return 2;
    for (int k = 0; k < count; k++) {
        if (bless)
            fprintf(list, "%s %016llx\n", names[k]->d_name,
                    (unsigned long long)sum_of_file(names[k]->d_name, false));
        else
            check_file(list, names[k]->d_name);
        free(names[k]);
    }
    free(names);
    fclose(list);
    if (!texts)
        fail("*", "no text was compiled");
    printf("torn: %d passed, %d failed, 0 skipped\n", passed, failed);
    return failed != 0;
}
