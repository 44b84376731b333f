// Golden tests of the diagnostics: tests/diag/NAME.c is compiled and what the user would read is
// compared with NAME.expect. Every fix-it must work: with all first fix-its applied, the error they
// belong to is gone and nothing new appears. A first line "// flags: -O0 -DX=1 --tune T=2 --target
// sm_80 --remarks" sets options. An .expect file without its .c, or the other way round, fails.
// --bless rewrites the .expect files.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "back/back.h"
#include "base/diag.h"
#include "compile.h"
#include "dev/device.h"

typedef struct outcome {
    char *fixed; // the text with fix-its applied, malloc'ed; NULL: none applied
    uint32_t fix_count, errors_without_fix, warnings_without_fix;
} outcome;

static void inspect(void *user, diags *ds, source_file *file)
{
    outcome *o = user;
    for (uint32_t i = 0; i < ds->list.len; i++) {
        const diag *d = ds->list.at[i];
        o->errors_without_fix += d->level == DIAG_ERROR && !d->fixes.len;
        o->warnings_without_fix += d->level == DIAG_WARNING && !d->fixes.len;
    }
    if (!file)
        return;
    str fixed = diag_apply_fixes(ds, ds->in, file, &o->fix_count);
    if (o->fix_count)
        o->fixed = strndup(fixed.at, fixed.len);
}

typedef struct flags {
    char line[512];
    const char *defines[16], *tunes[16], *includes[2];
    const char *target;
    int define_count, tune_count, level;
    bool remarks, checks_bounds;
} flags;

// False: a flag is not known, or lacks its value.
static bool read_flags(flags *f, const char *source)
{
    memset(f, 0, sizeof *f);
    f->level = 2;
    f->target = "interp";
    f->includes[0] = "tests/diag";
    if (strncmp(source, "// flags:", 9) != 0)
        return true;
    snprintf(f->line, sizeof f->line, "%.*s", (int)strcspn(source + 9, "\n"), source + 9);
    for (char *word = strtok(f->line, " "); word; word = strtok(NULL, " ")) {
        if (!strcmp(word, "-O0"))
            f->level = 0;
        else if (!strcmp(word, "--remarks"))
            f->remarks = true;
        else if (!strcmp(word, "--check-bounds"))
            f->checks_bounds = true;
        else if (!strncmp(word, "-D", 2) && f->define_count < 15)
            f->defines[f->define_count++] = word + 2;
        else if (!strcmp(word, "--tune") && f->tune_count < 15)
            f->tunes[f->tune_count++] = word = strtok(NULL, " ");
        else if (!strcmp(word, "--target"))
            f->target = word = strtok(NULL, " ");
        else
            return false;
        if (!word)
            return false;
    }
    return true;
}

static compile_outcome compile(const flags *f, const char *name, const char *source, outcome *o)
{
    const target *t = device_target(f->target);
    compile_options options = {
        .path = name,
        .source = source,
        .front = {.defines = f->defines,
                  .tunes = f->tunes,
                  .includes = f->includes,
                  .target = t,
                  .allow_file_includes = true},
        .level = f->level,
        .verifies = true,
        .no_remarks = !f->remarks,
        .checks_bounds = f->checks_bounds,
        // CUDA's emitter has complaints of its own.
        .backend = target_find(f->target) ? &ptx_backend : NULL,
        .inspect = inspect,
        .user = o,
    };
    return compile_run(&options);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *bytes = NULL;
    size_t len = 0, got;
    char chunk[4096];
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0) {
        bytes = realloc(bytes, len + got + 1);
        memcpy(bytes + len, chunk, got);
        len += got;
    }
    fclose(file);
    if (!bytes)
        bytes = calloc(1, 1);
    bytes[len] = 0;
    return bytes;
}

static int passed, failed, fixes_tried;

static void check(bool ok, const char *name, const char *what)
{
    if (ok) {
        passed++;
        return;
    }
    failed++;
    printf("FAIL: tests/diag/%s: %s\n", name, what);
}

static void run_one(const char *file, bool bless)
{
    char path[512], expect_path[512];
    snprintf(path, sizeof path, "tests/diag/%s", file);
    snprintf(expect_path, sizeof expect_path, "tests/diag/%.*s.expect", (int)strlen(file) - 2,
             file);
    char *source = read_file(path), *expected = read_file(expect_path);
    flags f;
    if (!source || !read_flags(&f, source)) {
        check(false, file, "it cannot be read, or its flags are not known");
        free(source);
        free(expected);
        return;
    }
    outcome first = {0};
    compile_outcome got = compile(&f, file, source, &first);
    if (bless && (!expected || strcmp(expected, got.log) != 0)) {
        FILE *out = fopen(expect_path, "wb");
        if (out) {
            fputs(got.log, out);
            fclose(out);
        }
    } else {
        check(expected && !strcmp(expected, got.log), file, "other text than expected:");
        if (!expected || strcmp(expected, got.log) != 0)
            printf("%s\n", got.log);
    }
    // A file named after a code must give it.
    if (file[0] == 'K' && strspn(file + 1, "0123456789") == 4) {
        char code[16];
        snprintf(code, sizeof code, "[%.5s]", file);
        check(strstr(got.log, code) != NULL, file, "its own code is not reported");
    }
    if (first.fixed) {
        fixes_tried++;
        outcome second = {0};
        compile_outcome again = compile(&f, file, first.fixed, &second);
        bool ok = again.error_count <= first.errors_without_fix &&
                  again.warning_count <= first.warnings_without_fix;
        check(ok, file, "the fix-its do not compile, or leave what they were to mend:");
        if (!ok)
            printf("%s\n--- fixed text:\n%s\n", again.log, first.fixed);
        free(second.fixed);
        compile_outcome_free(&again);
    }
    check(got.status != KILN_E_INTERNAL, file, "a mistake of Kiln's own");
    free(first.fixed);
    compile_outcome_free(&got);
    free(source);
    free(expected);
}

// An .expect file must have its .c.
static void expect_source(const char *file)
{
    char path[512];
    snprintf(path, sizeof path, "tests/diag/%.*s.c", (int)strlen(file) - 7, file);
    FILE *source = fopen(path, "rb");
    if (source)
        fclose(source);
    else
        check(false, file, "there is no such .c");
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv)
{
    bool bless = argc > 1 && !strcmp(argv[1], "--bless");
    const char *only = argc > 1 && !bless ? argv[1] : NULL;
    static char *names[4096];
    int count = 0;
    DIR *dir = opendir("tests/diag");
    if (!dir)
        return 2;
    for (struct dirent *entry; (entry = readdir(dir));) {
        size_t len = strlen(entry->d_name);
        if (len > 7 && !strcmp(entry->d_name + len - 7, ".expect") && !only)
            expect_source(entry->d_name);
        if (len > 2 && !strcmp(entry->d_name + len - 2, ".c") && count < 4096 &&
            (!only || strstr(entry->d_name, only)))
            names[count++] = strdup(entry->d_name);
    }
    closedir(dir);
    qsort(names, (size_t)count, sizeof names[0], by_name);
    for (int i = 0; i < count; i++) {
        run_one(names[i], bless);
        free(names[i]);
    }
    if (!count)
        check(false, only ? only : "*", "there is no such test");
    // The fix-its come through a callback; a compiler that never calls it must not pass.
    if (!only && !bless)
        check(fixes_tried > 50, "*", "fix-its are not tried");
    printf("diag: %d passed, %d failed, 0 skipped\n", passed, failed);
    return failed != 0;
}
