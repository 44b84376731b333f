// The GPU benchmarks' common part (bench.h).
#include "bench/gpu/bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/sha256.h"

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

bool report_start(report *r, const char *name, int argc, char **argv, bool needs_gpu)
{
    memset(r, 0, sizeof *r);
    r->name = name;
    (void)argc;
    r->command = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    printf("== %s\n", name);
    const char *why = "";
    r->cu = cuda_load(&why);
    if (!needs_gpu)
        return true;
    if (!r->cu || kiln_open("cuda:0", &r->k)) {
        printf("skipped: %s\n", r->cu ? kiln_last_error(NULL)->text : why);
        return false;
    }
    r->stream = kiln_stream_native(r->k, NULL);
    kiln_device_info info;
    if (!kiln_device_info_of(r->k, &info))
        printf("%s, %s\n", info.name, info.target);
    return true;
}

char *report_source(report *r, const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        die("%s cannot be read (run from the root of the source tree)", path);
    char *text = NULL;
    size_t have = 0, cap = 0;
    for (size_t got = 1; got; have += got) {
        if (cap - have < 4096)
            text = realloc(text, cap = cap * 2 + 8192);
        if (!text)
            die("no memory");
        got = fread(text + have, 1, cap - have - 1, f);
    }
    fclose(f);
    text[have] = 0;
    if (len)
        *len = have;
    size_t n = 0;
    while (n < r->file_count && strcmp(r->files[n], path))
        n++;
    if (n == r->file_count && n < BENCH_FILES) {
        uint8_t hash[SHA256_BYTES];
        sha256_of(text, have, hash);
        sha256_text(hash, r->hashes[n]);
        snprintf(r->files[n], sizeof r->files[n], "%s", path);
        r->file_count++;
    }
    return text;
}

static report_row *new_row(report *r)
{
    if (r->row_count == r->row_limit) {
        r->row_limit = r->row_limit ? r->row_limit * 2 : 256;
        r->rows = realloc(r->rows, r->row_limit * sizeof *r->rows);
        if (!r->rows)
            die("no memory for %zu numbers", r->row_limit);
    }
    return &r->rows[r->row_count++];
}

void report_number(report *r, double value, const char *key, ...)
{
    report_row *row = new_row(r);
    va_list args;
    va_start(args, key);
    vsnprintf(row->key, sizeof row->key, key, args);
    va_end(args);
    row->value = value;
    printf("  %-44s %12.4g\n", row->key, value);
    fflush(stdout);
}

void report_check(report *r, bool is_right, const char *what, ...)
{
    va_list args;
    va_start(args, what);
    printf("  %s: ", is_right ? "right" : "WRONG");
    vprintf(what, args);
    va_end(args);
    printf("\n");
    r->failed += !is_right;
}

// The first line of a file with that start, without it; "" when there is none.
static void line_of(const char *path, const char *start, char *out, size_t size)
{
    char line[512];
    FILE *f = fopen(path, "r");
    out[0] = 0;
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, start, strlen(start)))
            continue;
        const char *value = strchr(line, ':') ? strchr(line, ':') + 1 : line;
        snprintf(out, size, "%s", value + strspn(value, " \t"));
        for (char *p = out; *p; p++)
            if (*p == '"' || *p == '\\' || (unsigned char)*p < ' ')
                *p = *p == '\n' ? 0 : ' ';
        break;
    }
    if (f)
        fclose(f);
}

// What a file says before its numbers.
static void write_head(const report *r, FILE *f, const char *date)
{
    char cpu[200], driver[200];
    struct utsname system;
    line_of("/proc/cpuinfo", "model name", cpu, sizeof cpu);
    line_of("/proc/driver/nvidia/version", "NVRM version", driver, sizeof driver);
    uname(&system);
    kiln_device_info info = {.name = "none"};
    if (r->k)
        kiln_device_info_of(r->k, &info);
    fprintf(f,
            "{\n\"bench\": \"%s\",\n\"command\": \"%s\",\n\"date\": \"%s\",\n\"machine\": \"%s %s, "
            "%s\",\n",
            r->name, r->command, date, system.sysname, system.machine, cpu);
    fprintf(f,
            "\"gpu\": \"%s\",\n\"target\": \"%s\",\n\"driver\": \"%s\",\n\"driver_api\": "
            "%d,\n\"kiln\": \"%s\",\n",
            info.name, info.target, driver, info.driver_version, kiln_version());
    fprintf(f, "\"kernels\": {\n");
    for (size_t k = 0; k < r->file_count; k++)
        fprintf(f, "\"%s\": \"%s\"%s\n", r->files[k], r->hashes[k],
                k + 1 < r->file_count ? "," : "");
    fprintf(f, "},\n\"results\": {\n");
}

static void write_json(const report *r, FILE *f)
{
    char date[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    write_head(r, f, date);
    for (size_t k = 0; k < r->row_count; k++)
        fprintf(f, "\"%s\": %.6g%s\n", r->rows[k].key, r->rows[k].value,
                k + 1 < r->row_count ? "," : "");
    fprintf(f, "}\n}\n");
}

static const char *result_path(const report *r, char *path, size_t size)
{
    const char *folder = getenv("RESULTS");
    folder = folder ? folder : "bench/results";
    mkdir(folder, 0777);
    snprintf(path, size, "%s/%s.json", folder, r->name);
    return path;
}

// Whether the next lines of `file` are those of `head`, but for the date.
static bool has_head(FILE *file, FILE *head)
{
    char got[1024], want[1024];
    while (fgets(want, sizeof want, head)) {
        if (!fgets(got, sizeof got, file))
            return false;
        if (strcmp(got, want) && strncmp(want, "\"date\"", 6) != 0)
            return false;
    }
    return true;
}

bool report_keep(report *r)
{
    char path[512], line[256];
    FILE *file = fopen(result_path(r, path, sizeof path), "r"), *head = tmpfile();
    bool is_same = false;
    if (file && head) {
        write_head(r, head, "");
        rewind(head);
        is_same = has_head(file, head);
    }
    while (is_same && fgets(line, sizeof line, file)) {
        report_row row;
        if (sscanf(line, "\"%95[^\"]\": %lf", row.key, &row.value) == 2)
            *new_row(r) = row;
    }
    if (file)
        fclose(file);
    if (head)
        fclose(head);
    return is_same;
}

void report_forget(report *r, const char *start)
{
    size_t kept = 0;
    for (size_t n = 0; n < r->row_count; n++)
        if (strncmp(r->rows[n].key, start, strlen(start)) != 0)
            r->rows[kept++] = r->rows[n];
    r->row_count = kept;
}

bool report_save(const report *r)
{
    char path[512];
    kiln_device_info info = {.name = ""};
    if (r->k)
        kiln_device_info_of(r->k, &info);
    bool is_fake = strstr(info.name, "Fake") && !getenv("RESULTS"); // the tests' driver: no speed
    FILE *f = r->failed || is_fake ? NULL : fopen(result_path(r, path, sizeof path), "w");
    if (f) {
        write_json(r, f);
        fclose(f);
    }
    return f != NULL;
}

int report_end(report *r)
{
    char path[512];
    bool is_saved = report_save(r);
    if (is_saved)
        printf("%s written\n", result_path(r, path, sizeof path));
    if (r->failed)
        printf("%d wrong: nothing is written\n", r->failed);
    kiln_close(r->k);
    free(r->rows);
    return !is_saved;
}

// --- kernels
void bench_must(report *r, kiln_status status, const char *doing)
{
    if (status)
        die("%s: %s: %s", r->name, doing, kiln_last_error(r->k)->text);
}

void bench_cu(report *r, cu_result result, const char *doing)
{
    char text[256];
    if (!result)
        return;
    cuda_describe(r->cu, result, text, sizeof text);
    die("%s: %s: %s", r->name, doing, text);
}

bench_kernel bench_compile(report *r, const char *path, const char *name, const char *tune,
                           const char *define)
{
    bench_kernel b;
    free(report_source(r, path, NULL));
    const char *tunes[] = {tune, NULL}, *defines[] = {define, NULL};
    bench_must(r,
               kiln_compile(r->k,
                            &(kiln_compile_desc){.path = path,
                                                 .tune = tune ? tunes : NULL,
                                                 .define = define ? defines : NULL},
                            &b.module),
               path);
    bench_must(r, kiln_module_kernel(b.module, name, &b.kernel), path);
    return b;
}

// --- time
double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double bench_middle(double *values, size_t count)
{
    double sum = 0;
    size_t first = count / 4, end = count - first;
    qsort(values, count, sizeof *values, by_value);
    for (size_t n = first; n < end; n++)
        sum += values[n];
    return sum / (double)(end - first);
}

double bench_gpu_ms(report *r, void (*run)(void *user, int i), void *user, int count)
{
    static cu_event start, end;
    float ms = 0;
    if (!start) {
        bench_cu(r, r->cu->event_create(&start, 0), "event");
        bench_cu(r, r->cu->event_create(&end, 0), "event");
    }
    bench_cu(r, r->cu->event_record(start, r->stream), "event");
    for (int i = 0; i < count; i++)
        run(user, i);
    bench_cu(r, r->cu->event_record(end, r->stream), "event");
    bench_cu(r, r->cu->event_sync(end), "waiting");
    bench_cu(r, r->cu->event_elapsed(&ms, start, end), "event");
    return (double)ms;
}

// --- data
void bench_random(float *to, size_t count, uint64_t seed)
{
    uint64_t s = seed * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; i < count; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        // Four uniform 14-bit numbers: the sum is nearly normal.
        uint32_t a = (uint32_t)(s >> 8 & 0x3fff), b = (uint32_t)(s >> 22 & 0x3fff),
                 c = (uint32_t)(s >> 36 & 0x3fff), d = (uint32_t)(s >> 50 & 0x3fff);
        to[i] = ((float)(a + b + c + d) - 32766.0f) * (1.0f / 9459.0f);
    }
}

float *bench_floats(size_t count)
{
    float *p = malloc(count * sizeof *p);
    if (!p)
        die("no memory for %zu values", count);
    return p;
}

kiln_buffer *bench_upload(report *r, const float *from, size_t count)
{
    kiln_buffer *b;
    bench_must(r, kiln_buffer_new(r->k, KILN_F32, count, &b), "a buffer");
    if (from)
        bench_must(r, kiln_write(b, 0, from, count), "a copy");
    return b;
}
