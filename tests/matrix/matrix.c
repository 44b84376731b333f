// matrix: the kernels of the corpus and every function of the math library, on every device of this
// machine, bit for bit against gcc's code for the host. Rows are files (--full: kernels), columns
// devices; a cell says how many cases are equal (=57), how many of how many are not (x2/57), or
// that the device cannot run them (-), with the reasons below.
//
//     matrix --host SO [--golden FILE] [--devices A,B…] [--jobs N] [--full] [--json OUT] FILES…
//
// Cases of files under tests/run run twice on each device, as they are and optimised; those under
// tests/matrix only optimised. Each file on each device is a child process of its own, so that a
// crash or a hang is one cell; what a child finds out it writes into shared memory. A device that
// is asked for and not there, a case of the corpus without a record, and a case that the
// interpreter cannot run are failures, not gaps. Ends with
// "matrix: N passed, N failed, N skipped". Start reading at main.
#include "host/corpus.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_FILES = 64, MOST_DEVICES = 12, MOST_CASES = 512, SECONDS_OF_A_CELL = 300 };

typedef enum verdict { NOT_RUN, EQUAL, DIFFERS, UNABLE } verdict;

typedef struct cell {
    uint8_t cases[MOST_CASES]; // verdicts
    char reason[400];          // why the first one is not equal
    bool has_ended;
} cell;

typedef struct column {
    char device[32], name[128];
} column;

static struct state {
    const char *host, *golden, *json, *only_devices;
    bool full;
    int jobs;
    corpus_file files[MOST_FILES];
    int file_count;
    column columns[MOST_DEVICES];
    int column_count;
    cell *cells; // shared with the children: [file * MOST_DEVICES + column]
    char *golden_text;
} state = {.jobs = 2};

static cell *cell_at(int file, int col)
{
    return &state.cells[file * MOST_DEVICES + col];
}

// --- one cell, in a child process

static const host_kernel *host_table(const corpus_file *f)
{
    char symbol[128];
    void *so = dlopen(state.host, RTLD_NOW | RTLD_LOCAL);
    snprintf(symbol, sizeof symbol, "host_kernels_%s", f->name);
    return so ? (const host_kernel *)dlsym(so, symbol) : NULL;
}

static verdict say(cell *c, const corpus_case *k, verdict v, const char *why)
{
    if (v != EQUAL && !c->reason[0])
        snprintf(c->reason, sizeof c->reason, "%s: %.*s", k->label, (int)strcspn(why, "\n"), why);
    return v;
}

static const char *run_host(const host_kernel *h, const corpus_case *c, corpus_data *out)
{
    const char *problem = corpus_run_host(c, h, out);
    return problem                            ? problem
           : h->check && !h->check(out->args) ? "the test's own check says no"
                                              : NULL;
}

static verdict compare(kiln *k, kiln_module *m, corpus_case *c, const corpus_data *want, cell *out)
{
    corpus_data got;
    char why[160];
    if (!corpus_data_new(c, &got))
        return say(out, c, DIFFERS, "no memory");
    verdict v = EQUAL;
    const char *problem = corpus_run(k, m, c, &got);
    if (problem)
        v = say(out, c, kiln_last_error(k)->status == KILN_E_UNSUPPORTED ? UNABLE : DIFFERS,
                problem);
    else if (corpus_compare(c, want, &got, why, sizeof why))
        v = say(out, c, DIFFERS, why);
    corpus_data_free(c, &got);
    return v;
}

static verdict against_record(const corpus_file *f, const corpus_case *c, const corpus_data *got,
                              cell *out)
{
    char key[160];
    snprintf(key, sizeof key, "\n%s %s ", f->name, c->label);
    const char *at = state.golden_text ? strstr(state.golden_text, key) : NULL;
    if (!at && state.golden_text && !strstr(f->path, "tests/matrix/"))
        return say(out, c, DIFFERS, "its result is not recorded (make bless)");
    if (at && strtoull(at + strlen(key), NULL, 16) != corpus_hash(c, got))
        return say(out, c, DIFFERS, "the result's hash is not the recorded one");
    return EQUAL;
}

typedef struct modules {
    kiln *k;
    kiln_module *at[2];
    int count;
} modules;

static bool open_modules(const corpus_file *f, const char *device, modules *m, cell *out)
{
    static const char *const folders[] = {"include", "tests/run", "tests/matrix", NULL};
    static const int levels[] = {1, -1};
    int wanted = strstr(f->path, "tests/matrix/") ? 1 : 2;
    if (kiln_open(device, &m->k) != KILN_OK) {
        say(out, &f->cases[0], UNABLE, kiln_last_error(NULL)->text);
        return false;
    }
    for (; m->count < wanted; m->count++) {
        kiln_compile_desc desc = {
            .path = f->path, .optimise = levels[m->count], .include = folders};
        if (kiln_compile(m->k, &desc, &m->at[m->count]) != KILN_OK) {
            bool is_unable = kiln_last_error(m->k)->status == KILN_E_UNSUPPORTED;
            say(out, &f->cases[0], is_unable ? UNABLE : DIFFERS, kiln_last_error(m->k)->text);
            memset(out->cases, is_unable ? UNABLE : DIFFERS, (size_t)f->case_count);
            return false;
        }
    }
    return true;
}

// Kernels that ask for the device itself differ by right.
static bool is_about_device(const corpus_case *c, const char *device)
{
    return !strcmp(c->kernel, "targets") && strcmp(device, "host") && strcmp(device, "interp");
}

static verdict run_case(const corpus_file *f, corpus_case *c, const host_kernel *h,
                        const modules *m, bool is_host, cell *out)
{
    corpus_data want;
    for (int i = 0; i < c->arg_count; i++)
        c->args[i].size = h->sizes[i];
    if (!corpus_data_new(c, &want))
        return say(out, c, DIFFERS, "no memory");
    const char *problem = run_host(h, c, &want);
    verdict v = EQUAL;
    if (problem)
        v = say(out, c, DIFFERS, problem);
    else if (is_host)
        v = against_record(f, c, &want, out);
    for (int i = 0; i < m->count && v == EQUAL; i++)
        v = compare(m->k, m->at[i], c, &want, out);
    corpus_data_free(c, &want);
    return v;
}

static void fill_cell(corpus_file *f, const char *device, cell *out)
{
    modules m = {0};
    const host_kernel *table = host_table(f);
    bool is_host = !strcmp(device, "host");
    if (!table) {
        say(out, &f->cases[0], DIFFERS, "the host's side is missing");
        return;
    }
    if (!is_host && !open_modules(f, device, &m, out)) {
        out->has_ended = true;
        return;
    }
    for (int i = 0; i < f->case_count && i < MOST_CASES; i++)
        if (is_about_device(&f->cases[i], device))
            out->cases[i] = UNABLE;
        else
            out->cases[i] = (uint8_t)run_case(f, &f->cases[i], &table[i], &m, is_host, out);
    out->has_ended = true;
    kiln_close(m.k);
}

// --- all cells

static void run_all(void)
{
    int running = 0, total = state.file_count * state.column_count;
    for (int at = 0; at < total || running; at++) {
        if (running && (running >= state.jobs || at >= total)) {
            wait(NULL);
            running--;
        }
        if (at >= total)
            continue;
        int file = at / state.column_count, col = at % state.column_count;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            alarm(SECONDS_OF_A_CELL);
            fill_cell(&state.files[file], state.columns[col].device, cell_at(file, col));
            _exit(0);
        }
        running += child > 0;
    }
    for (int f = 0; f < state.file_count; f++)
        for (int c = 0; c < state.column_count; c++) {
            cell *x = cell_at(f, c);
            for (int i = 0; i < state.files[f].case_count; i++)
                if (x->cases[i] == NOT_RUN)
                    x->cases[i] = x->has_ended ? UNABLE : DIFFERS;
            const char *device = state.columns[c].device;
            bool has_all = !strcmp(device, "host") || !strcmp(device, "interp");
            for (int i = 0; has_all && i < state.files[f].case_count; i++)
                if (x->cases[i] == UNABLE)
                    x->cases[i] = DIFFERS;
            if (!x->has_ended && !x->reason[0])
                snprintf(x->reason, sizeof x->reason, "crashed or took more than %d s",
                         SECONDS_OF_A_CELL);
        }
}

// --- telling

typedef struct tally {
    int counts[UNABLE + 1];
} tally;

// Of the cases of one kernel, or of all when it is NULL.
static tally count_cases(int file, int col, const char *kernel)
{
    tally t = {0};
    const corpus_file *f = &state.files[file];
    for (int i = 0; i < f->case_count; i++)
        if (!kernel || !strcmp(kernel, f->cases[i].kernel))
            t.counts[cell_at(file, col)->cases[i]]++;
    return t;
}

static const char *cell_text(tally t, char out[32])
{
    int all = t.counts[EQUAL] + t.counts[DIFFERS];
    if (t.counts[DIFFERS])
        snprintf(out, 32, "x%d/%d", t.counts[DIFFERS], all);
    else if (t.counts[EQUAL])
        snprintf(out, 32, t.counts[UNABLE] ? "=%d -%d" : "=%d", t.counts[EQUAL], t.counts[UNABLE]);
    else
        snprintf(out, 32, "-");
    return out;
}

static void print_row(const char *name, int file, const char *kernel)
{
    char text[32];
    printf("%-28s", name);
    for (int c = 0; c < state.column_count; c++)
        printf(" %10s", cell_text(count_cases(file, c, kernel), text));
    printf("\n");
}

static bool is_first_case(const corpus_file *f, int index)
{
    for (int i = 0; i < index; i++)
        if (!strcmp(f->cases[i].kernel, f->cases[index].kernel))
            return false;
    return true;
}

static void print_matrix(void)
{
    printf("%-28s", "");
    for (int c = 0; c < state.column_count; c++)
        printf(" %10s", state.columns[c].device);
    printf("\n");
    for (int f = 0; f < state.file_count; f++) {
        const corpus_file *file = &state.files[f];
        print_row(file->path + (strncmp(file->path, "tests/", 6) ? 0 : 6), f, NULL);
        for (int i = 0; state.full && i < file->case_count; i++)
            if (is_first_case(file, i)) {
                char name[80];
                snprintf(name, sizeof name, "  %s", file->cases[i].kernel);
                print_row(name, f, file->cases[i].kernel);
            }
    }
    for (int f = 0; f < state.file_count; f++)
        for (int c = 0; c < state.column_count; c++)
            if (cell_at(f, c)->reason[0])
                printf("%s on %s: %s\n", state.files[f].path, state.columns[c].device,
                       cell_at(f, c)->reason);
}

static tally total_of(int col)
{
    tally sum = {0};
    for (int f = 0; f < state.file_count; f++) {
        tally t = count_cases(f, col, NULL);
        for (int i = 0; i <= UNABLE; i++)
            sum.counts[i] += t.counts[i];
    }
    return sum;
}

static int print_totals(void)
{
    int passed = 0, failed = 0, skipped = 0;
    for (int c = 0; c < state.column_count; c++) {
        tally t = total_of(c);
        printf("%-10s %5d equal, %d different, %d not run  (%s)\n", state.columns[c].device,
               t.counts[EQUAL], t.counts[DIFFERS], t.counts[UNABLE], state.columns[c].name);
        passed += t.counts[EQUAL];
        failed += t.counts[DIFFERS];
        skipped += t.counts[UNABLE];
    }
    printf("matrix: %d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed != 0;
}

static void json_string(FILE *out, const char *s)
{
    fputc('"', out);
    for (; *s; s++)
        if (*s == '"' || *s == '\\')
            fprintf(out, "\\%c", *s);
        else if ((unsigned char)*s >= ' ')
            fputc(*s, out);
    fputc('"', out);
}

static void json_rows(FILE *out)
{
    char text[32];
    bool is_first = true;
    for (int f = 0; f < state.file_count; f++) {
        const corpus_file *file = &state.files[f];
        for (int i = 0; i < file->case_count; i++) {
            if (!is_first_case(file, i))
                continue;
            fprintf(out, "%s\n\"%s %s\": {", is_first ? "" : ",", file->name,
                    file->cases[i].kernel);
            is_first = false;
            for (int c = 0; c < state.column_count; c++)
                fprintf(out, "%s\"%s\": \"%s\"", c ? ", " : "", state.columns[c].device,
                        cell_text(count_cases(f, c, file->cases[i].kernel), text));
            fprintf(out, "}");
        }
    }
}

// The same lines as the other files of bench/results: one fact a line
static bool write_json(void)
{
    FILE *out = fopen(state.json, "wb");
    char date[32];
    time_t now = time(NULL);
    if (!out)
        return false;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    fprintf(out, "{\n\"bench\": \"equality\",\n\"command\": \"make matrix\",\n\"date\": \"%s\",\n",
            date);
    fprintf(out, "\"kiln\": \"%s\",\n\"devices\": {", kiln_version());
    for (int c = 0; c < state.column_count; c++) {
        fprintf(out, "%s\n\"%s\": ", c ? "," : "", state.columns[c].device);
        json_string(out, state.columns[c].name);
    }
    fprintf(out, "\n},\n\"results\": {");
    for (int c = 0; c < state.column_count; c++) {
        tally t = total_of(c);
        const char *d = state.columns[c].device;
        fprintf(out, "%s\n\"%s.equal\": %d,\n\"%s.different\": %d,\n\"%s.not_run\": %d",
                c ? "," : "", d, t.counts[EQUAL], d, t.counts[DIFFERS], d, t.counts[UNABLE]);
    }
    fprintf(out, "\n},\n\"kernels_by_device\": {");
    json_rows(out);
    fprintf(out, "\n}\n}\n");
    return fclose(out) == 0;
}

// --- the command line

// "cuda" asks for "cuda:0" and "cuda:1", too.
static bool is_asked_for(const char *device)
{
    const char *at = state.only_devices;
    while (at && *at) {
        size_t len = strcspn(at, ",");
        if (!strncmp(at, device, len) && (!device[len] || device[len] == ':'))
            return true;
        at += len + (at[len] == ',');
    }
    return !state.only_devices;
}

// Each device of --devices has a column.
static bool are_all_here(void)
{
    bool all = state.column_count > 1;
    for (const char *at = state.only_devices; at && *at;) {
        size_t len = strcspn(at, ",");
        bool is_here = false;
        for (int c = 0; c < state.column_count; c++) {
            const char *device = state.columns[c].device;
            is_here |= !strncmp(at, device, len) && (!device[len] || device[len] == ':');
        }
        if (!is_here)
            fprintf(stderr, "there is no device %.*s\n", (int)len, at);
        all &= is_here;
        at += len + (at[len] == ',');
    }
    return all;
}

static void add_column(const char *device, const char *name)
{
    if (state.column_count == MOST_DEVICES)
        return;
    column *c = &state.columns[state.column_count++];
    snprintf(c->device, sizeof c->device, "%s", device);
    snprintf(c->name, sizeof c->name, "%s", name);
}

// In a child: a driver that was used before a fork does not work after it.
static void find_devices(void)
{
    column *found = mmap(NULL, sizeof *found * MOST_DEVICES, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED)
        return;
    pid_t child = fork();
    if (child == 0) {
        size_t count = kiln_device_count(), n = 0;
        for (size_t i = count; i-- > 0 && n < MOST_DEVICES;) {
            kiln_device_info info;
            if (kiln_device_info_at(i, &info) != KILN_OK)
                continue;
            snprintf(found[n].device, sizeof found[n].device, "%s", info.device);
            snprintf(found[n++].name, sizeof found[0].name, "%s", info.name);
        }
        _exit(0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
    add_column("host", "gcc's code, the reference; beside the recorded hashes");
    for (int i = 0; i < MOST_DEVICES && found[i].device[0]; i++)
        if (is_asked_for(found[i].device))
            add_column(found[i].device, found[i].name);
    munmap(found, sizeof *found * MOST_DEVICES);
}

static char *read_golden(const char *path)
{
    FILE *in = path ? fopen(path, "rb") : NULL;
    char *text = in ? calloc(1, 1 << 22) : NULL;
    if (text) {
        text[0] = '\n';
        text[1 + fread(text + 1, 1, (1 << 22) - 2, in)] = 0;
    }
    if (in)
        fclose(in);
    return text;
}

static bool read_options(int argc, char **argv)
{
    for (int at = 1; at < argc; at++) {
        const char *value = at + 1 < argc ? argv[at + 1] : "";
        if (!strcmp(argv[at], "--full")) {
            state.full = true;
        } else if (argv[at][0] == '-') {
            at++;
            if (!strcmp(argv[at - 1], "--host"))
                state.host = value;
            else if (!strcmp(argv[at - 1], "--golden"))
                state.golden = value;
            else if (!strcmp(argv[at - 1], "--devices"))
                state.only_devices = value;
            else if (!strcmp(argv[at - 1], "--jobs"))
                state.jobs = atoi(value) > 0 ? atoi(value) : 1;
            else if (!strcmp(argv[at - 1], "--json"))
                state.json = value;
            else
                return false;
        } else if (state.file_count == MOST_FILES) {
            fprintf(stderr, "more than %d files\n", MOST_FILES);
            return false;
        } else {
            corpus_file *file = &state.files[state.file_count++];
            const char *problem = corpus_read(argv[at], file);
            if (!problem && file->case_count > MOST_CASES)
                problem = "too many cases";
            if (problem) {
                fprintf(stderr, "%s: %s\n", argv[at], problem);
                return false;
            }
        }
    }
    return state.host && state.file_count;
}

int main(int argc, char **argv)
{
    setenv("KILN_CPU", "wait", 0); // the cpu device is there for its machine code
    if (!read_options(argc, argv)) {
        fprintf(stderr, "matrix --host SO [--golden FILE] [--devices A,B] [--jobs N] [--full] "
                        "[--json OUT] FILES…\n");
        return 2;
    }
    size_t bytes = sizeof(cell) * MOST_DEVICES * (size_t)state.file_count;
    state.cells = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (state.cells == MAP_FAILED)
        return 2;
    state.golden_text = read_golden(state.golden);
    if (state.golden && !state.golden_text) {
        fprintf(stderr, "%s cannot be read\n", state.golden);
        return 2;
    }
    find_devices();
    if (!are_all_here())
        return 2;
    run_all();
    print_matrix();
    int status = print_totals();
    if (state.json && !write_json()) {
        fprintf(stderr, "%s cannot be written\n", state.json);
        status = 2;
    }
    for (int i = 0; i < state.file_count; i++)
        corpus_free(&state.files[i]);
    free(state.golden_text);
    munmap(state.cells, bytes);
    return status;
}
