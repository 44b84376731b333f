// Judges kernels (fuzz_judge) and shrinks a bad one by taking lines away while it stays bad
// (shrink). A line that ends in `{` stands for everything up to its `}`; a barrier only goes
// together with what is around it, because without it the host's answer would depend on luck.
#include "fuzz/shrink.h"

#include "host/corpus.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const kind_names[] = {"fine",
                                         "Kiln refuses it",
                                         "the launch failed",
                                         "not the host's result",
                                         "the optimiser changes the result",
                                         "the cpu device's own machine code is wrong",
                                         "Kiln crashed or hung"};

const char *fuzz_kind_name(fuzz_kind kind)
{
    return kind_names[kind];
}

static const char *const folders[] = {"include", "tests/run", NULL};

// --- one kernel on Kiln
static fuzz_kind judge_device(kiln *k, const char *source, corpus_case *c, const corpus_data *want,
                              int optimise, char *why, size_t why_size)
{
    kiln_module *m = NULL;
    corpus_data got = {0};
    fuzz_kind kind = FUZZ_FINE;
    kiln_compile_desc desc = {
        .source = source, .path = "tests/run/fuzz.c", .optimise = optimise, .include = folders};
    if (kiln_compile(k, &desc, &m) != KILN_OK) {
        snprintf(why, why_size, "%s", kiln_last_error(k)->text);
        return FUZZ_REFUSED;
    }
    const char *problem = corpus_data_new(c, &got) ? corpus_run(k, m, c, &got) : "no memory";
    if (problem) {
        snprintf(why, why_size, "%s", problem);
        kind = FUZZ_FAILED;
    } else if (corpus_compare(c, want, &got, why, why_size)) {
        kind = optimise > 0 ? FUZZ_OPTIMISED : FUZZ_PLAIN;
    }
    corpus_data_free(c, &got);
    kiln_module_free(m);
    return kind;
}

// The text of one kernel alone: the lines before the first test, then from the end of the kernel
// before to the end of this one.
static char *alone(const char *text, const corpus_file *f, int index)
{
    char *out = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&out, &size);
    int line = 1, from = 0, number = 0;
    bool in_prelude = true;
    for (const char *p = text; *p && to; line++) {
        size_t len = strcspn(p, "\n") + (p[strcspn(p, "\n")] == '\n');
        if (len == 1 && in_prelude && strstr(text, "open.h") < p) {
            in_prelude = false;
            from = line;
        }
        if (in_prelude || (number == index && line >= from))
            fwrite(p, 1, len, to);
        if (strncmp(p, "}\n", 2) == 0 && number < f->case_count && line > f->cases[number].line) {
            number++;
            from = line + 1;
        }
        p += len;
    }
    if (to)
        fclose(to);
    return out;
}

// The interpreter, then the machine code that the cpu device makes itself.
static void judge_devices(kiln *const devices[2], const char *source, corpus_case *c,
                          const corpus_data *want, fuzz_verdict *v)
{
    for (int n = 0; n < 4 && v->kind == FUZZ_FINE; n++) {
        v->kind =
            judge_device(devices[n / 2], source, c, want, n % 2 ? 1 : -1, v->why, sizeof v->why);
        if (n >= 2 && v->kind != FUZZ_FINE)
            v->kind = FUZZ_QUICK;
    }
}

static void judge_one(const char *text, corpus_file *f, int index, const host_kernel *h,
                      kiln *const devices[2], fuzz_verdict *v)
{
    corpus_case *c = &f->cases[index];
    corpus_data want;
    char *source = f->case_count == 1 ? strdup(text) : alone(text, f, index);
    for (int i = 0; i < c->arg_count; i++)
        c->args[i].size = h->sizes[i];
    if (!source || !corpus_data_new(c, &want))
        return;
    host_launch launch = {.call = h->call, .args = want.args, .shared_bytes = c->shared_bytes};
    memcpy(launch.grid, c->grid, sizeof launch.grid);
    memcpy(launch.block, c->block, sizeof launch.block);
    const char *problem = host_run(&launch);
    if (problem) {
        fprintf(stderr, "%s: on the host %s\n", c->label, problem);
    } else {
        judge_devices(devices, source, c, &want, v);
    }
    corpus_data_free(c, &want);
    free(source);
}

// --- a file of kernels
static void judge_all(const char *so_path, const char *text, corpus_file *f, int first,
                      int pipe_end)
{
    void *so = dlopen(so_path, RTLD_NOW | RTLD_LOCAL);
    const host_kernel *table = so ? (const host_kernel *)dlsym(so, "host_kernels_fuzz") : NULL;
    kiln *devices[2] = {0};
    setenv("KILN_CPU", "quick", 1);
    if (!table || kiln_open("interp", &devices[0]) || kiln_open("cpu", &devices[1])) {
        fprintf(stderr, "%s\n", table ? kiln_last_error(NULL)->text : dlerror());
        _exit(1);
    }
    for (int i = first; i < f->case_count; i++) {
        fuzz_verdict v = {FUZZ_FINE, ""};
        alarm(20);
        judge_one(text, f, i, &table[i], devices, &v);
        if (write(pipe_end, &v, sizeof v) != (ssize_t)sizeof v)
            _exit(1);
    }
    _exit(0);
}

static bool compile_host(const char *work, corpus_file *f, const char *text)
{
    char path[512], command[1600];
    snprintf(path, sizeof path, "%s/fuzz.c", work);
    FILE *out = fopen(path, "w");
    if (!out)
        return false;
    fputs(text, out);
    fclose(out);
    snprintf(path, sizeof path, "%s/wrap.c", work);
    out = fopen(path, "w");
    if (!out)
        return false;
    corpus_wrapper(f, "fuzz.c", out);
    fclose(out);
    snprintf(command, sizeof command,
             "gcc -w -Werror=implicit-function-declaration -std=c11 -O0 -fPIC -shared "
             "-ffp-contract=off -fwrapv -fno-strict-aliasing "
             "-fno-math-errno -frounding-math "
             "-Iinclude -Itests -Itests/run %s/wrap.c -o %s/fuzz.so -lm 2>%s/gcc.log",
             work, work, work);
    return system(command) == 0;
}

bool fuzz_judge(const char *work, const char *text, int count, fuzz_verdict *verdicts)
{
    corpus_file f = {.name = "fuzz", .path = "fuzz.c"};
    char so_path[512];
    snprintf(so_path, sizeof so_path, "%s%s/fuzz.so", work[0] == '/' ? "" : "./", work);
    bool ok =
        corpus_parse(text, &f) == NULL && f.case_count == count && compile_host(work, &f, text);
    for (int done = 0; ok && done < count;) {
        int ends[2];
        if (pipe(ends) != 0)
            break;
        pid_t child = fork();
        if (child == 0)
            judge_all(so_path, text, &f, done, ends[1]);
        close(ends[1]);
        while (done < count &&
               read(ends[0], &verdicts[done], sizeof *verdicts) == (ssize_t)sizeof *verdicts)
            done++;
        close(ends[0]);
        waitpid(child, NULL, 0);
        if (done < count)
            verdicts[done++] = (fuzz_verdict){FUZZ_DIED, "the process ended"};
    }
    corpus_free(&f);
    return ok;
}

// --- shrinking
enum { MOST_TRIES = 200 };

typedef struct lines {
    char **at;
    int count;
} lines;

static lines split(const char *text)
{
    lines l = {calloc(strlen(text) + 1, sizeof(char *)), 0};
    while (l.at && *text) {
        size_t len = strcspn(text, "\n");
        l.at[l.count++] = strndup(text, len);
        text += len + (text[len] == '\n');
    }
    return l;
}

static char *join(const lines *l, const char *skip)
{
    char *out = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&out, &size);
    for (int i = 0; i < l->count && to; i++)
        if (!skip[i])
            fprintf(to, "%s\n", l->at[i]);
    if (to)
        fclose(to);
    return out;
}

static bool ends_with(const char *text, char c)
{
    size_t len = strlen(text);
    return len && text[len - 1] == c;
}

// The line that closes what line `first` opens; `first` itself when it opens nothing.
static int unit_end(const lines *l, int first)
{
    int depth = 0;
    for (int i = first; i < l->count; i++) {
        for (const char *p = l->at[i]; *p; p++)
            depth += (*p == '{') - (*p == '}');
        if (depth <= 0 && !(i == first && i + 1 < l->count && strcmp(l->at[i + 1], "{") == 0))
            return i;
    }
    return l->count - 1;
}

static bool still_bad(const char *work, const lines *l, const char *skip, fuzz_kind kind)
{
    fuzz_verdict v = {FUZZ_FINE, ""};
    char *text = join(l, skip);
    bool bad = text && fuzz_judge(work, text, 1, &v) && v.kind == kind;
    free(text);
    return bad;
}

static bool try_without(const char *work, const lines *l, char *skip, int first, int last,
                        bool only_ends, fuzz_kind kind)
{
    char *trial = malloc((size_t)l->count + 1);
    if (!trial)
        return false;
    memcpy(trial, skip, (size_t)l->count);
    for (int i = first; i <= last; i++)
        if (!only_ends || i == first || i == last)
            trial[i] = 1;
    bool better = still_bad(work, l, trial, kind);
    if (better)
        memcpy(skip, trial, (size_t)l->count);
    free(trial);
    return better;
}

char *shrink(const char *work, const char *text, fuzz_kind kind)
{
    lines l = split(text);
    char *skip = calloc(1, (size_t)l.count + 1), *result = NULL;
    int tries = 0;
    for (bool moved = true; l.at && skip && moved && tries < MOST_TRIES;) {
        moved = false;
        for (int i = l.count - 1; i >= 0 && tries < MOST_TRIES; i--) {
            const char *s = l.at[i] + strspn(l.at[i], " ");
            if (skip[i] || !*s || *s == '#' || *s == '}' || strncmp(s, "//", 2) == 0 ||
                strncmp(s, "barrier", 7) == 0 || strncmp(s, "kernel", 6) == 0)
                continue;
            int last = unit_end(&l, i);
            tries++;
            if (try_without(work, &l, skip, i, last, false, kind))
                moved = true;
            else if (last > i && ends_with(l.at[i], '{') &&
                     (tries++, try_without(work, &l, skip, i, last, true, kind)))
                moved = true;
        }
    }
    if (l.at && skip)
        result = join(&l, skip);
    for (int i = 0; l.at && i < l.count; i++)
        free(l.at[i]);
    free(l.at);
    free(skip);
    return result;
}
