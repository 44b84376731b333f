// Tests of kiln check. Seeded bugs: every kernel of tests/check/NAME.c that a "//! run" line
// launches (see host/corpus.h) is checked, and what the user would read is compared with
// NAME.expect. No false alarms: nothing is found in the files given after --clean. A first line "//
// flags: --all --nan --unset=0,2 --steps=1000" sets options (unset: arguments by number). An
// .expect file without its .c, or the other way round, fails. --bless rewrites .expect files.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "host/corpus.h"

typedef struct flags {
    bool all, nan, leaks, is_unset[CORPUS_MAX_ARGS];
    uint64_t steps;
} flags;

static int passed, failed;

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    long len = ftell(file);
    rewind(file);
    char *bytes = calloc(1, (size_t)len + 1);
    if (bytes && fread(bytes, 1, (size_t)len, file) != (size_t)len)
        bytes[0] = 0;
    fclose(file);
    return bytes;
}

// False: a flag is not known.
static bool read_flags(flags *f, const char *source)
{
    memset(f, 0, sizeof *f);
    if (!source || strncmp(source, "// flags:", 9) != 0)
        return true;
    char line[256];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(source + 9, "\n"), source + 9);
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) {
        if (!strcmp(word, "--all"))
            f->all = true;
        else if (!strcmp(word, "--nan"))
            f->nan = true;
        else if (!strcmp(word, "--leaks"))
            f->leaks = true;
        else if (!strncmp(word, "--steps=", 8) && (f->steps = strtoull(word + 8, NULL, 10)) > 0)
            continue;
        else if (!strncmp(word, "--unset=", 8))
            for (const char *at = word + 8; *at >= '0' && *at <= '9'; at += at[1] == ',' ? 2 : 1)
                f->is_unset[*at - '0'] = true;
        else
            return false;
    }
    return true;
}

static void on_finding(void *user, const kiln_finding *f)
{
    text_puts(user, f->text);
}

static bool make_arg(kiln *k, kiln_kernel *kernel, corpus_case *c, size_t n,
                     const corpus_data *data, kiln_buffer **buffer, kiln_arg *out)
{
    kiln_param_info info;
    corpus_arg *a = &c->args[n];
    if (kiln_kernel_param(kernel, n, &info) != KILN_OK ||
        a->is_buffer != (info.kind == KILN_PARAM_POINTER) || a->size != info.size)
        return false;
    if (!a->is_buffer) {
        if (info.kind == KILN_PARAM_STRUCT)
            *out = kiln_arg_struct(data->args[n], a->size);
        else if (info.type >= KILN_F16)
            *out = kiln_arg_f64(info.type, a->value);
        else
            *out = kiln_arg_i64(info.type, a->whole);
        return true;
    }
    kiln_status st = info.type == KILN_VOID
                         ? kiln_buffer_new_bytes(k, info.size ? info.size : 1, a->count, buffer)
                         : kiln_buffer_new(k, info.type, a->count, buffer);
    *out = kiln_arg_buffer(*buffer);
    return st == KILN_OK && kiln_write(*buffer, 0, data->args[n], a->count) == KILN_OK;
}

// Adds what was found, or what went wrong, to `out`; gives the number of findings.
static size_t check_case(kiln *k, kiln_module *m, corpus_case *c, const flags *f, text *out)
{
    kiln_kernel *kernel;
    kiln_buffer *buffers[CORPUS_MAX_ARGS] = {0};
    kiln_arg args[CORPUS_MAX_ARGS];
    corpus_data data = {0};
    size_t findings = 0, count = (size_t)c->arg_count;
    if (kiln_module_kernel(m, c->kernel, &kernel) != KILN_OK ||
        kiln_kernel_param_count(kernel) != count) {
        text_printf(out, "no kernel '%s' with %zu arguments\n", c->kernel, count);
        return 1;
    }
    for (size_t n = 0; n < count; n++) {
        kiln_param_info info;
        if (kiln_kernel_param(kernel, n, &info) == KILN_OK && !c->args[n].size)
            c->args[n].size = info.size;
    }
    bool is_fine = corpus_data_new(c, &data);
    for (size_t n = 0; n < count && is_fine; n++)
        is_fine = make_arg(k, kernel, c, n, &data, &buffers[n], &args[n]);
    kiln_check_desc desc = {
        .launch = {.args = args, .arg_count = count, .shared_bytes = c->shared_bytes},
        .all = f->all,
        .nan = f->nan,
        .leaks = f->leaks,
        .step_limit = f->steps,
        .is_unset = f->is_unset,
        .finding = on_finding,
        .user = out};
    memcpy(desc.launch.grid, c->grid, sizeof desc.launch.grid);
    memcpy(desc.launch.block, c->block, sizeof desc.launch.block);
    if (!is_fine || kiln_check(kernel, &desc, &findings) != KILN_OK) {
        text_printf(out, "cannot be checked: %s\n", kiln_last_error(k)->text);
        findings = 1;
    }
    for (size_t n = 0; n < count; n++)
        kiln_buffer_free(buffers[n]);
    corpus_data_free(c, &data);
    return findings;
}

// Checks every case of a file; the number of cases in which something was found, or -1.
static int check_file(const char *path, bool is_clean, text *out)
{
    static const char *folders[] = {"include", "tests/run", NULL};
    corpus_file file;
    flags f;
    char *source = read_file(path);
    const char *problem = corpus_read(path, &file);
    if (!read_flags(&f, is_clean ? NULL : source) && !problem)
        problem = "a flag in its first line is not known";
    free(source);
    if (problem) {
        text_printf(out, "%s: %s\n", path, problem);
        return -1;
    }
    kiln *k = NULL;
    kiln_module *m = NULL;
    int bad = 0;
    kiln_compile_desc desc = {.path = path, .include = folders, .for_check = true};
    if (kiln_open("interp", &k) != KILN_OK || kiln_compile(k, &desc, &m) != KILN_OK) {
        text_puts(out, kiln_last_error(k)->text);
        bad = -1;
    }
    for (int i = 0; m && i < file.case_count; i++) {
        if (!is_clean)
            text_printf(out, "== %s\n", file.cases[i].label);
        size_t before = out->len, findings = check_case(k, m, &file.cases[i], &f, out);
        bad += findings != 0;
        if (is_clean && findings)
            printf("FAIL: %s:%d: %s:\n%s\n", path, file.cases[i].line, file.cases[i].label,
                   out->at + before);
        if (is_clean)
            *(findings ? &failed : &passed) += 1;
        else if (!findings)
            text_puts(out, "nothing found\n");
    }
    kiln_close(k);
    corpus_free(&file);
    return bad;
}

static void check_seeded(const char *name, bool bless)
{
    char path[512], expect_path[512];
    snprintf(path, sizeof path, "tests/check/%s", name);
    snprintf(expect_path, sizeof expect_path, "tests/check/%.*s.expect", (int)strlen(name) - 2,
             name);
    arena *a = arena_new();
    text got = {.in = a};
    int bad = check_file(path, false, &got);
    char *expected = read_file(expect_path);
    bool is_same = expected && got.at && !strcmp(expected, got.at);
    if (bless && !is_same) {
        FILE *out = fopen(expect_path, "wb");
        if (out) {
            fputs(got.at ? got.at : "", out);
            fclose(out);
        }
        is_same = out != NULL;
    }
    bool is_fine = is_same && bad > 0;
    *(is_fine ? &passed : &failed) += 1;
    if (!is_fine)
        printf("FAIL: %s: %s\n%s\n", path,
               bad > 0 ? "other text than expected:" : "nothing was found, or it does not compile:",
               got.at ? got.at : "");
    free(expected);
    arena_free(a);
}

// An .expect file must have its .c.
static void expect_source(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "tests/check/%.*s.c", (int)strlen(name) - 7, name);
    char *source = read_file(path);
    if (!source) {
        failed++;
        printf("FAIL: tests/check/%s: there is no %s\n", name, path);
    }
    free(source);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv)
{
    static char *names[1024];
    int count = 0, at = 1;
    bool bless = at < argc && !strcmp(argv[at], "--bless");
    at += bless;
    const char *only = at < argc && argv[at][0] != '-' ? argv[at++] : NULL;
    DIR *dir = opendir("tests/check");
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        size_t len = strlen(entry->d_name);
        if (len > 7 && !strcmp(entry->d_name + len - 7, ".expect") && !only)
            expect_source(entry->d_name);
        if (len > 2 && !strcmp(entry->d_name + len - 2, ".c") && count < 1024 &&
            (!only || strstr(entry->d_name, only)))
            names[count++] = strdup(entry->d_name);
    }
    if (dir)
        closedir(dir);
    if (!count) {
        failed++;
        printf("FAIL: there is no such test in tests/check\n");
    }
    qsort(names, (size_t)count, sizeof names[0], by_name);
    for (int i = 0; i < count; i++) {
        check_seeded(names[i], bless);
        free(names[i]);
    }
    if (at < argc && strcmp(argv[at], "--clean") != 0) {
        printf("usage: check [--bless] [NAME] [--clean FILES…]\n");
        return 2;
    }
    for (at += at < argc; at < argc; at++) {
        arena *a = arena_new();
        text out = {.in = a};
        if (check_file(argv[at], true, &out) < 0) {
            printf("FAIL: %s\n", out.at);
            failed++;
        }
        arena_free(a);
    }
    printf("check: %d passed, %d failed, 0 skipped\n", passed, failed);
    return failed != 0;
}
