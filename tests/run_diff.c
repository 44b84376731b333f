// run_diff: every kernel of tests/run on gcc (the host runner) and on Kiln without and with its
// optimiser, results compared bit for bit, with the tests' own checks and with the recorded hashes.
//
//     run_diff --wrap FILE                      C text of the host's side of FILE, to standard
//     output run_diff [--host SO] [--device D] [--optimised] [--only TEXT] [--skip LABEL]
//     [--seconds N] [--validate] [--golden FILE [--bless]] FILES…
//
// A device that does not open, a kernel that no line runs, and with --golden a kernel without a
// recorded hash or a record of a kernel that is not there, are failures.
//
// A kernel whose optimised result is wrong is run again after each pass, to name the pass that
// changed it (host/validate.h). --validate does so for every kernel.
//
// Each file runs in a child process of its own, so that a crash is one failed file and not the end.
// The last line is "run: N passed, N failed, N skipped". Start reading at main.
#include "host/corpus.h"
#include "host/validate.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct counts {
    int passed, failed, skipped;
} counts;

static struct options {
    const char *host, *device, *only, *skip, *golden;
    bool bless, verbose, only_optimised, validate;
    unsigned seconds; // for one file
    const char *const *include;
} options = {.device = "interp", .seconds = 1500};

static char *golden_text;

// --- recorded hashes: lines "file kernel hash"
static bool golden_load(void)
{
    FILE *in = options.golden ? fopen(options.golden, "rb") : NULL;
    if (!in)
        return !options.golden;
    fseek(in, 0, SEEK_END);
    long len = ftell(in);
    rewind(in);
    golden_text = calloc(1, (size_t)len + 2);
    if (golden_text && fread(golden_text + 1, 1, (size_t)len, in) == (size_t)len)
        golden_text[0] = '\n';
    fclose(in);
    return golden_text && golden_text[0];
}

static bool golden_find(const corpus_file *f, const corpus_case *c, uint64_t *hash)
{
    char key[160];
    snprintf(key, sizeof key, "\n%s %s ", f->name, c->label);
    const char *at = golden_text ? strstr(golden_text, key) : NULL;
    if (at)
        *hash = strtoull(at + strlen(key), NULL, 16);
    return at != NULL;
}

// Records of kernels that the file no longer has.
static int golden_strangers(const corpus_file *f)
{
    char key[100];
    int strangers = 0;
    snprintf(key, sizeof key, "\n%s ", f->name);
    for (const char *at = golden_text; at && (at = strstr(at, key)) != NULL; at++) {
        const char *label = at + strlen(key);
        size_t len = strcspn(label, " \n");
        bool is_known = false;
        for (int i = 0; i < f->case_count; i++)
            is_known |= strlen(f->cases[i].label) == len && !memcmp(f->cases[i].label, label, len);
        if (is_known)
            continue;
        strangers++;
        fprintf(stderr, "%s: it has no %.*s, which %s records\n", f->path, (int)len, label,
                options.golden);
    }
    return strangers;
}

// --- one case
typedef struct subject { // the ways a file was compiled
    const host_kernel *host;
    kiln *k;
    kiln_module *plain, *optimised;
    validator *passes; // made when first asked for
} subject;

static bool complain(const corpus_file *f, const corpus_case *c, const char *how, const char *why)
{
    fprintf(stderr, "%s:%d: %s: %s: %s\n", f->path, c->line, c->label, how, why);
    return false;
}

static const char no_record[] = "its result is not recorded (make bless)";

// The result goes to *keep when that is given.
static bool try_device(const corpus_file *f, corpus_case *c, const subject *s, kiln_module *m,
                       const char *how, const corpus_data *want, corpus_data *keep)
{
    corpus_data got = {0};
    char why[160];
    corpus_learn_sizes(m, c);
    bool ok = corpus_data_new(c, &got);
    const char *problem = ok ? corpus_run(s->k, m, c, &got) : "no memory";
    if (problem)
        ok = complain(f, c, how, problem);
    else if (want && corpus_compare(c, want, &got, why, sizeof why))
        ok = complain(f, c, how, why);
    else if (s->host && s->host->check && !s->host->check(got.args))
        ok = complain(f, c, how, "the test's own check says no");
    uint64_t hash = 0;
    if (ok && !want && golden_text && !golden_find(f, c, &hash))
        ok = complain(f, c, how, no_record);
    else if (ok && !want && golden_text && hash != corpus_hash(c, &got))
        ok = complain(f, c, how, "the result's hash is not the recorded one");
    if (ok && keep) {
        *keep = got;
        got = (corpus_data){0};
    }
    corpus_data_free(c, &got);
    return ok;
}

// Names the pass that changed the kernel's result, if one did.
static bool try_passes(const corpus_file *f, corpus_case *c, subject *s, const corpus_data *want)
{
    char why[400];
    if (!s->passes)
        s->passes = validate_new(&(validate_source){.path = f->path, .include = options.include},
                                 why, sizeof why);
    if (s->passes && validate_case(s->passes, c, want, why, sizeof why))
        return true;
    return complain(f, c, "pass by pass", why);
}

static bool try_host(const corpus_file *f, corpus_case *c, const host_kernel *h, corpus_data *out)
{
    const char *problem = corpus_run_host(c, h, out);
    if (problem)
        return complain(f, c, "host", problem);
    if (h->check && !h->check(out->args))
        return complain(f, c, "host", "the test's own check says no");
    uint64_t hash = 0;
    if (golden_text && !golden_find(f, c, &hash))
        return complain(f, c, "host", no_record);
    if (golden_text && hash != corpus_hash(c, out))
        return complain(f, c, "host", "the result's hash is not the recorded one");
    if (options.bless)
        printf("%s %s %016llx\n", f->name, c->label, (unsigned long long)corpus_hash(c, out));
    return true;
}

static bool run_case(const corpus_file *f, corpus_case *c, subject *s)
{
    corpus_data want = {0};
    bool ok = true, has_want = false;
    for (int i = 0; s->host && i < c->arg_count; i++)
        c->args[i].size = s->host->sizes[i];
    if (s->host)
        ok = has_want = corpus_data_new(c, &want) && try_host(f, c, s->host, &want);
    if (!has_want)
        corpus_data_free(c, &want);
    if (s->plain && has_want) {
        ok = try_device(f, c, s, s->plain, "Kiln -O0", &want, NULL) && ok;
    } else if (s->plain) { // without the host, optimised code must do what plain code does
        has_want = try_device(f, c, s, s->plain, "Kiln -O0", NULL, &want);
        ok = has_want && ok;
    }
    const corpus_data *reference = has_want ? &want : NULL;
    if (s->optimised) {
        bool is_same = try_device(f, c, s, s->optimised, "Kiln optimised", reference, NULL);
        if (!is_same || options.validate)
            ok = try_passes(f, c, s, reference) && ok;
        ok = is_same && ok;
    }
    corpus_data_free(c, &want);
    return ok;
}

// --- one file
static kiln_module *compile(kiln *k, const corpus_file *f, int optimise)
{
    kiln_module *m = NULL;
    kiln_compile_desc desc = {.path = f->path, .optimise = optimise, .include = options.include};
    if (kiln_compile(k, &desc, &m) != KILN_OK)
        fprintf(stderr, "%s: Kiln does not compile it:\n%s\n", f->path, kiln_last_error(k)->text);
    return m;
}

static const host_kernel *host_table(const corpus_file *f)
{
    char symbol[128];
    void *so = options.host ? dlopen(options.host, RTLD_NOW | RTLD_LOCAL) : NULL;
    snprintf(symbol, sizeof symbol, "host_kernels_%s", f->name);
    if (options.host && !so)
        fprintf(stderr, "%s\n", dlerror());
    return so ? (const host_kernel *)dlsym(so, symbol) : NULL;
}

// Kernels that no line runs: they look like tests.
static int idle_kernels(const corpus_file *f, const kiln_module *m)
{
    int idle = 0;
    for (size_t n = 0; n < kiln_module_kernel_count(m); n++) {
        kiln_kernel *kernel = NULL;
        bool runs = false;
        if (kiln_module_kernel_at(m, n, &kernel) != KILN_OK)
            return idle + 1;
        const char *name = kiln_kernel_name(kernel);
        for (int i = 0; i < f->case_count; i++)
            runs |= strcmp(f->cases[i].kernel, name) == 0;
        if (!runs)
            fprintf(stderr, "%s: no line with '//! run ' runs '%s'\n", f->path, name);
        idle += !runs;
    }
    return idle;
}

static counts run_file(corpus_file *f)
{
    counts n = {0};
    subject s = {0};
    const host_kernel *table = host_table(f);
    bool wants_device = strcmp(options.device, "none") != 0;
    if (options.host && !table) {
        fprintf(stderr, "%s: the host's side is missing\n", f->path);
        n.failed++;
    }
    if (wants_device && kiln_open(options.device, &s.k) != KILN_OK) {
        fprintf(stderr, "%s: %s\n", options.device, kiln_last_error(NULL)->text);
        n.failed += f->case_count;
        return n;
    }
    if (wants_device) {
        s.plain = options.only_optimised ? NULL : compile(s.k, f, -1);
        s.optimised = s.plain || options.only_optimised ? compile(s.k, f, 1) : NULL;
        if (!s.optimised)
            n.failed++;
        else
            n.failed += idle_kernels(f, s.optimised);
    }
    n.failed += golden_strangers(f);
    for (int i = 0; i < f->case_count; i++) {
        if (options.only && !strstr(f->cases[i].label, options.only))
            continue;
        if (options.skip && !strcmp(f->cases[i].label, options.skip)) {
            n.skipped++;
            printf("skipped: %s of %s, as asked\n", f->cases[i].label, f->path);
            continue;
        }
        s.host = table ? &table[i] : NULL;
        bool ok = (table || s.optimised) && run_case(f, &f->cases[i], &s);
        *(ok ? &n.passed : &n.failed) += 1;
        if (options.verbose)
            fprintf(stderr, "%s %s %s\n", ok ? "ok  " : "FAIL", f->name, f->cases[i].label);
    }
    if (options.verbose && s.passes)
        fprintf(stderr, "%s: %d runs between passes\n", f->name, validate_runs(s.passes));
    validate_free(s.passes);
    kiln_close(s.k);
    return n;
}

static counts run_in_child(const char *path)
{
    counts n = {0};
    int ends[2], status = 0;
    corpus_file f;
    const char *problem = corpus_read(path, &f);
    if (problem || pipe(ends) != 0) {
        fprintf(stderr, "%s: %s\n", path, problem ? problem : "no pipe");
        return (counts){.failed = 1};
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(options.seconds);
        n = run_file(&f);
        fflush(stdout);
        ssize_t written = write(ends[1], &n, sizeof n);
        exit(written == (ssize_t)sizeof n ? 0 : 1); // not _exit: the leak checker runs at exit
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &n, sizeof n) != (ssize_t)sizeof n) {
        if (child > 0)
            waitpid(child, &status, 0);
        fprintf(stderr, "%s: crashed or hung (signal %d)\n", path, status & 127);
        n = (counts){.failed = f.case_count};
    } else if (waitpid(child, &status, 0) != child || status) {
        fprintf(stderr, "%s: the process of its tests ended with status %d\n", path, status);
        n.failed++;
    }
    close(ends[0]);
    corpus_free(&f);
    return n;
}

static int wrap(const char *path)
{
    corpus_file f;
    const char *problem = corpus_read(path, &f);
    if (problem) {
        fprintf(stderr, "%s: %s\n", path, problem);
        return 1;
    }
    corpus_wrapper(&f, path, stdout);
    corpus_free(&f);
    return 0;
}

int main(int argc, char **argv)
{
    static const char *folders[] = {"include", "tests/run", NULL};
    counts all = {0};
    int at = 1;
    options.include = folders;
    setenv("KILN_CPU", "wait", 0); // the cpu device is there for its machine code
    for (; at < argc && argv[at][0] == '-'; at++) {
        const char *value = at + 1 < argc ? argv[at + 1] : "";
        if (strcmp(argv[at], "--wrap") == 0)
            return wrap(value);
        else if (strcmp(argv[at], "--bless") == 0)
            options.bless = true;
        else if (strcmp(argv[at], "--optimised") == 0)
            options.only_optimised = true;
        else if (strcmp(argv[at], "--validate") == 0)
            options.validate = true;
        else if (strcmp(argv[at], "-v") == 0)
            options.verbose = true;
        else if (strcmp(argv[at], "--seconds") == 0)
            options.seconds = (unsigned)strtoul(argv[++at], NULL, 10);
        else if (strcmp(argv[at], "--host") == 0)
            options.host = argv[++at];
        else if (strcmp(argv[at], "--device") == 0)
            options.device = argv[++at];
        else if (strcmp(argv[at], "--only") == 0)
            options.only = argv[++at];
        else if (strcmp(argv[at], "--skip") == 0)
            options.skip = argv[++at];
        else if (strcmp(argv[at], "--golden") == 0)
            options.golden = argv[++at];
        else
            return fprintf(stderr, "run_diff: there is no option %s\n", argv[at]), 2;
    }
    if (!options.bless && !golden_load())
        return fprintf(stderr, "run_diff: cannot read %s\n", options.golden), 2;
    for (; at < argc; at++) {
        counts n = run_in_child(argv[at]);
        all.passed += n.passed;
        all.failed += n.failed;
        all.skipped += n.skipped;
    }
    free(golden_text);
    FILE *out = options.bless ? stderr : stdout;
    fprintf(out, "run: %d passed, %d failed, %d skipped\n", all.passed, all.failed, all.skipped);
    if (!all.passed && !all.failed && !all.skipped)
        fprintf(stderr, "run_diff: there is nothing to run\n");
    return all.failed != 0 || (!all.passed && !all.skipped);
}
