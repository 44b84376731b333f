// Calls of the host by kernels that run: round trips, rates, services, printed lines, bytes, and
// what waiting costs. Every answer is checked on the GPU. docs/hostcalls.md has the table.
//     hostcall [DEVICE [PART…]]     another device than cuda, without a result file; some parts
//     only
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench/gpu/bench.h"
#include "kiln/hostcall.h"

static const char kernels[] = "bench/gpu/kernels/hostcall.c";
// What is measured is this source, too.
static const char *const measured[] = {"src/rt/channel/mailbox.h",
                                       "src/rt/channel/mailbox_warp.h",
                                       "src/rt/channel/mailbox_ring.h",
                                       "src/rt/channel/mailbox_call.h",
                                       "src/rt/channel/mailbox_host.c",
                                       "src/rt/channel/server.c",
                                       "src/rt/channel/serve.c",
                                       "src/rt/host/group.c",
                                       "src/rt/channel/print_room.h",
                                       "src/dev/cuda/print.c",
                                       "src/dev/cuda/large_objects.c",
                                       "src/dev/cuda/ring.c"};

typedef struct bench {
    report r;
    kiln_module *m;
    kiln_buffer *times, *clock, *wrong;
    uint32_t *host_times;
    bool is_slow; // no GPU: sizes that only show that it works
} bench;
enum { MOST_TIMES = 1 << 20 };

// --- the functions
typedef struct sums {
    _Alignas(128) uint64_t sum;
    uint64_t count;
} sums;
enum { MOST_THREADS = 256 };
static sums all_sums[MOST_THREADS]; // one of each thread that has called mix
static uint32_t thread_count;
static _Thread_local sums *mine;

static void twice(void *user, const kiln_host_call *call)
{
    (void)user;
    *(int32_t *)call->result = (int32_t)(2u * *(uint32_t *)call->args[0]);
}
// All calls of a warp at once, as the header that kiln build writes registers them.
static void twice_many(void *user, const kiln_host_calls *calls)
{
    const uint32_t *x = calls->args[0];
    uint32_t *to = calls->result;
    (void)user;
    for (uint32_t n = 0; n < calls->count; n++)
        to[n] = 2u * x[n];
}
static void add_one(const kiln_host_calls *calls, size_t bytes)
{
    memcpy(calls->result, calls->args[0], bytes * calls->count);
    uint32_t *first = calls->result;
    for (uint32_t n = 0; n < calls->count; n++)
        ++first[n * (bytes / sizeof *first)];
}
static void four(void *user, const kiln_host_calls *calls)
{
    (void)user;
    add_one(calls, 16);
}
static void sixteen(void *user, const kiln_host_calls *calls)
{
    (void)user;
    add_one(calls, 64);
}
static void mix(void *user, const kiln_host_call *call)
{
    uint32_t x = *(uint32_t *)call->args[0];
    (void)user;
    *(uint32_t *)call->result = (x ^ x << 7) * 2246822519u;
    if (!mine)
        mine = &all_sums[__atomic_fetch_add(&thread_count, 1, __ATOMIC_RELAXED) % MOST_THREADS];
    __atomic_store_n(&mine->sum, mine->sum + x, __ATOMIC_RELAXED);
    __atomic_store_n(&mine->count, mine->count + 1, __ATOMIC_RELAXED);
}
static void take(void *user, const kiln_host_call *call)
{
    const uint8_t *bytes = call->args[0];
    int64_t n = *(int64_t *)call->args[1];
    (void)user;
    *(int64_t *)call->result = bytes[0] == 1 && bytes[n / 2] == 1 && bytes[n - 1] == 1 ? n : -1;
}
static void give(void *user, const kiln_host_call *call)
{
    uint8_t *bytes = call->args[0];
    int64_t n = *(int64_t *)call->args[1];
    (void)user;
    *(int64_t *)call->result = n;
    bytes[0] = bytes[n - 1] = 1;
}

static void add_function(bench *b, const char *name, kiln_host_function *call, kiln_host_many *many)
{
    kiln_host_desc desc = {.name = name, .call = call, .is_concurrent = true, .many = many};
    bench_must(&b->r, kiln_host_register(b->r.k, &desc), name);
}

// --- launching
static void start(bench *b, const char *name, uint32_t grid, const kiln_arg *args, size_t count,
                  kiln_stream *stream)
{
    kiln_launch_desc desc = {.grid = {grid}, .args = args, .arg_count = count, .stream = stream};
    kiln_kernel *kernel = NULL;
    bench_must(&b->r, kiln_module_kernel(b->m, name, &kernel), name);
    bench_must(&b->r, kiln_launch(kernel, &desc), name);
}

static double run(bench *b, const char *name, uint32_t grid, const kiln_arg *args, size_t count)
{
    double begun = bench_now();
    start(b, name, grid, args, count, NULL);
    bench_must(&b->r, kiln_sync(b->r.k), name);
    return bench_now() - begun;
}

static void check_wrong(bench *b, const char *what)
{
    uint32_t wrong = 1, zero = 0;
    bench_must(&b->r, kiln_read(b->wrong, 0, &wrong, 1), what);
    report_check(&b->r, wrong == 0, "%s", what);
    bench_must(&b->r, kiln_write(b->wrong, 0, &zero, 1), what);
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void tell_times(bench *b, const char *name, uint32_t n, double us)
{
    uint32_t *t = b->host_times;
    qsort(t, n, sizeof *t, by_size);
    report_check(&b->r, t[0] > 0, "%s: all answers", name);
    report_number(&b->r, t[n / 2] * us, "%s.p50.us", name);
    report_number(&b->r, t[n - 1 - n / 100] * us, "%s.p99.us", name);
    report_number(&b->r, t[n - 1 - n / 1000] * us, "%s.p99_9.us", name);
}

// --- round trips
static double us_of_cycle = 1e-3;

static void trips(bench *b)
{
    static const char *const names[] = {"trip_lane", "trip_once", "trip_warp", "trip_16",
                                        "trip_64"};
    uint32_t n = b->is_slow ? 200 : 20000;
    uint64_t clock[2];
    for (size_t t = 0; t < sizeof names / sizeof *names; t++) {
        kiln_arg args[] = {kiln_arg_buffer(b->times), kiln_arg_buffer(b->clock),
                           kiln_arg_i64(KILN_U32, n)};
        run(b, names[t], 1, args, 3);
        bench_must(&b->r, kiln_read(b->clock, 0, clock, 2), "a copy");
        bench_must(&b->r, kiln_read(b->times, 0, b->host_times, n), "a copy");
        us_of_cycle = (double)clock[1] / (double)clock[0] * 1e-3;
        tell_times(b, names[t], n, us_of_cycle);
    }
}

static void loads(bench *b)
{
    static const uint32_t warps[] = {16, 132, 528};
    uint32_t n = b->is_slow ? 20 : 1000;
    char name[32];
    for (size_t w = 0; w < (b->is_slow ? 1 : 3); w++) {
        kiln_arg args[] = {kiln_arg_buffer(b->times), kiln_arg_i64(KILN_U32, n)};
        run(b, "load", warps[w], args, 2);
        bench_must(&b->r, kiln_read(b->times, 0, b->host_times, warps[w] * n), "a copy");
        snprintf(name, sizeof name, "load_%u", warps[w]);
        tell_times(b, name, warps[w] * n, us_of_cycle);
    }
}

// --- rates
static void rate(bench *b, const char *name, uint32_t warps, uint32_t ms)
{
    enum { MOST = 64 };
    uint64_t windows[MOST] = {0}, all = 0, least = UINT64_MAX;
    kiln_buffer *counts = NULL;
    bench_must(&b->r, kiln_buffer_new(b->r.k, KILN_U64, MOST, &counts), "a buffer");
    bench_must(&b->r, kiln_write(counts, 0, windows, MOST), "a copy");
    kiln_arg args[] = {kiln_arg_buffer(counts), kiln_arg_buffer(b->wrong),
                       kiln_arg_i64(KILN_U32, ms), kiln_arg_i64(KILN_U32, 77)};
    run(b, "rate", warps, args, 4);
    bench_must(&b->r, kiln_read(counts, 0, windows, MOST), "a copy");
    check_wrong(b, "rate: all answers");
    for (uint32_t n = 0; n < MOST; n++)
        all += windows[n];
    for (uint32_t n = 0; n < ms / 100; n++)
        least = windows[n] < least ? windows[n] : least;
    report_number(&b->r, (double)all / ms * 1e-3, "%s_%u.Mcalls", name, warps);
    if (ms >= 100)
        report_number(&b->r, (double)least / 100 * 1e-3, "%s_%u.worst_100ms.Mcalls", name, warps);
    kiln_buffer_free(counts);
}

static void rates(bench *b)
{
    static const uint32_t warps[] = {16, 132, 528, 1056, 2112};
    for (size_t w = 0; w < (b->is_slow ? 1 : sizeof warps / sizeof *warps); w++)
        rate(b, "rate", warps[w], b->is_slow ? 100 : warps[w] == 1056 ? 1200 : 500);
    add_function(b, "twice", twice, NULL); // once for each lane
    rate(b, "rate_each", b->is_slow ? 16 : 1056, b->is_slow ? 100 : 500);
    add_function(b, "twice", NULL, twice_many);
}

static void soak(bench *b)
{
    uint32_t n = b->is_slow ? 16 : 1500, blocks = b->is_slow ? 4 : 1056;
    uint64_t calls = (uint64_t)n * 64 * blocks, sum = 0;
    kiln_arg args[] = {kiln_arg_buffer(b->wrong), kiln_arg_i64(KILN_U32, n),
                       kiln_arg_i64(KILN_U32, 5)};
    memset(all_sums, 0, sizeof all_sums);
    double took = run(b, "soak", blocks, args, 3);
    check_wrong(b, "soak: all answers");
    for (uint64_t k = 0; k < calls; k++) {
        uint32_t x = (5u + (uint32_t)k) * 2654435761u;
        sum += x ^ x >> 15;
    }
    uint64_t got = 0, got_sum = 0;
    for (uint32_t t = 0; t < MOST_THREADS; t++) {
        got += __atomic_load_n(&all_sums[t].count, __ATOMIC_RELAXED);
        got_sum += __atomic_load_n(&all_sums[t].sum, __ATOMIC_RELAXED);
    }
    report_check(&b->r, got == calls && got_sum == sum,
                 "soak: the host got each argument once (%llu calls)", (unsigned long long)got);
    report_number(&b->r, (double)calls, "soak.calls");
    report_number(&b->r, (double)calls / took * 1e-6, "soak.Mcalls");
}

// --- services
static void services(bench *b)
{
    enum { FILE_BYTES = 1 << 20 };
    char folder[] = "/dev/shm/kiln-bench-XXXXXX", path[64];
    uint32_t warps = b->is_slow ? 4 : 528, n = b->is_slow ? 4 : 100;
    kiln_arg args[] = {kiln_arg_buffer(b->wrong), kiln_arg_i64(KILN_U32, n)};
    double took = run(b, "clocks", warps, args, 2);
    check_wrong(b, "clocks: they do not go back");
    report_number(&b->r, warps * 32.0 * n / took * 1e-6, "clock.Mcalls");
    uint8_t *bytes = malloc(FILE_BYTES);
    if (!mkdtemp(folder) || !bytes)
        return;
    for (uint32_t k = 0; k < FILE_BYTES; k++)
        bytes[k] = (uint8_t)(k * 7u >> 3);
    snprintf(path, sizeof path, "%s/data", folder);
    FILE *f = fopen(path, "wb");
    bool is_written = f && fwrite(bytes, 1, FILE_BYTES, f) == FILE_BYTES && !fclose(f);
    report_check(&b->r, is_written, "the file to read");
    bench_must(&b->r, kiln_allow(b->r.k, "read", folder), "kiln_allow");
    kiln_buffer *name = NULL;
    bench_must(&b->r, kiln_buffer_new(b->r.k, KILN_I8, sizeof path, &name), "a buffer");
    bench_must(&b->r, kiln_write(name, 0, path, sizeof path), "a copy");
    n = b->is_slow ? 2 : 20;
    for (uint32_t is_one = 0; is_one < 2; is_one++) {
        kiln_arg these[] = {kiln_arg_buffer(name), kiln_arg_buffer(b->wrong),
                            kiln_arg_i64(KILN_U32, n), kiln_arg_i64(KILN_U32, is_one)};
        took = run(b, "reads", warps, these, 4);
        check_wrong(b, "reads: the file's bytes");
        report_number(&b->r, warps * 32.0 * n / took * 1e-6,
                      is_one ? "read_64_together.Mreads" : "read_64.Mreads");
    }
    kiln_buffer_free(name);
    free(bytes);
    unlink(path);
    rmdir(folder);
}

// --- printed lines
typedef struct sink {
    uint64_t lines, bytes;
    int file; // -1: they are counted alone
    char buffer[1 << 16];
    size_t held;
} sink;

// Eight characters at a time: to count is not what is measured.
static uint64_t count_lines(const char *text, size_t len)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), low = ones * 0x7f;
    uint64_t count = 0, eight;
    size_t n = 0;
    for (; n + sizeof eight <= len; n += sizeof eight) {
        memcpy(&eight, text + n, sizeof eight);
        eight ^= ones * '\n'; // a byte that is 0 is a line's end
        eight = ~(((eight & low) + low) | eight | low) >> 7;
        count += eight * ones >> 56;
    }
    for (; n < len; n++)
        count += text[n] == '\n';
    return count;
}

static void take_lines(void *user, const char *text, size_t len)
{
    sink *s = user;
    s->bytes += len;
    if (s->file < 0) {
        s->lines += count_lines(text, len);
        return;
    }
    if (s->held + len > sizeof s->buffer) {
        s->held -= (size_t)write(s->file, s->buffer, s->held);
        s->held = 0;
    }
    if (len <= sizeof s->buffer) {
        memcpy(s->buffer + s->held, text, len);
        s->held += len;
    } else if (write(s->file, text, len) != (ssize_t)len) {
        s->bytes = 0; // they will not be counted
    }
}

// What the file holds.
static void count_file(sink *s)
{
    ssize_t got;
    if (write(s->file, s->buffer, s->held) != (ssize_t)s->held)
        return;
    for (off_t at = 0; (got = pread(s->file, s->buffer, sizeof s->buffer, at)) > 0; at += got)
        s->lines += count_lines(s->buffer, (size_t)got);
}

static void lines(bench *b)
{
    static sink s;
    char path[] = "/dev/shm/kiln-bench-XXXXXX";
    bool is_live = strcmp(getenv("KILN_PRINT"), "live") == 0;
    uint32_t blocks = b->is_slow ? 2 : 264, n = b->is_slow ? 4 : is_live ? 500 : 1;
    kiln_arg args[] = {kiln_arg_i64(KILN_U32, n)};
    for (int to_file = 0; to_file < 2; to_file++) {
        s.lines = s.bytes = s.held = 0;
        s.file = to_file ? mkstemp(path) : -1;
        kiln_on_print(b->r.k, take_lines, &s);
        double took = run(b, "lines", blocks, args, 1);
        if (to_file)
            count_file(&s);
        kiln_on_print(b->r.k, NULL, NULL);
        report_check(&b->r, s.lines == (uint64_t)blocks * 64 * n, "lines: %llu of %llu",
                     (unsigned long long)s.lines, (unsigned long long)blocks * 64 * n);
        report_number(&b->r, (double)s.lines / took * 1e-6,
                      to_file ? "lines_to_file.Mlines" : "lines.Mlines");
        if (to_file) {
            close(s.file);
            unlink(path);
        }
    }
}

// --- bytes
typedef struct object_size {
    const char *name;
    int64_t bytes;
} object_size;

// Median of the calls of one thread, or of a warp that calls once; there and back for `is_in`.
static double bulk_of(bench *b, const char *kernel, const char *name, const object_size *size,
                      kiln_buffer *bytes, uint32_t is_in)
{
    enum { MOST = 101 };
    uint64_t times[MOST];
    double us[MOST];
    uint32_t n = b->is_slow || size->bytes > 1 << 20 ? 3 : MOST;
    kiln_arg args[] = {kiln_arg_buffer(bytes),    kiln_arg_i64(KILN_I64, size->bytes),
                       kiln_arg_i64(KILN_U32, n), kiln_arg_i64(KILN_U32, is_in),
                       kiln_arg_buffer(b->clock), kiln_arg_buffer(b->wrong)};
    run(b, kernel, 1, args, 6);
    check_wrong(b, "bulk: the bytes");
    bench_must(&b->r, kiln_read(b->clock, 0, times, n), "a copy");
    for (uint32_t k = 0; k < n; k++)
        us[k] = (double)times[k] * 1e-3;
    double middle = bench_median(us, n);
    // there and back for `give`, whose bytes the host may change
    double moved = (double)size->bytes * (is_in ? 2 : 1);
    const char *way = is_in ? "both" : "out";
    report_number(&b->r, middle, "%s_%s_%s.us", name, way, size->name);
    report_number(&b->r, moved / middle * 1e-3, "%s_%s_%s.GBps", name, way, size->name);
    return middle;
}

static void bulk(bench *b)
{
    static const object_size sizes[] = {{"64", 64},       {"4K", 4096},      {"16K", 16384},
                                        {"64K", 65536},   {"256K", 1 << 18}, {"1M", 1 << 20},
                                        {"16M", 16 << 20}};
    double middle = 0;
    for (size_t s = 0; s < (b->is_slow ? 2 : sizeof sizes / sizeof *sizes) && middle < 1e5; s++) {
        uint8_t one = 1;
        kiln_buffer *bytes = NULL;
        bench_must(&b->r, kiln_buffer_new(b->r.k, KILN_U8, (size_t)sizes[s].bytes, &bytes),
                   "a buffer");
        bench_must(&b->r, kiln_fill(bytes, &one), "a fill");
        for (uint32_t is_in = 0; is_in < 2; is_in++) {
            middle = bulk_of(b, "bulk", "bulk", &sizes[s], bytes, is_in);
            bulk_of(b, "bulk_once", "bulk_once", &sizes[s], bytes, is_in);
        }
        kiln_buffer_free(bytes);
    }
}

// Objects of 1 MiB of many callers at once, there and back for is_in.
static void bulk_of_many(bench *b)
{
    enum { MOST = 16 };
    static const uint32_t callers[] = {4, MOST};
    int64_t size = b->is_slow ? 8192 : 1 << 20;
    uint32_t n = b->is_slow ? 2 : 60;
    uint8_t one = 1;
    char name[32];
    kiln_buffer *bytes = NULL;
    bench_must(&b->r, kiln_buffer_new(b->r.k, KILN_U8, (size_t)size * MOST, &bytes), "a buffer");
    bench_must(&b->r, kiln_fill(bytes, &one), "a fill");
    for (size_t c = 0; c < sizeof callers / sizeof *callers; c++)
        for (uint32_t is_in = 0; is_in < 2; is_in++) {
            kiln_arg args[] = {kiln_arg_buffer(bytes), kiln_arg_i64(KILN_I64, size),
                               kiln_arg_i64(KILN_U32, n), kiln_arg_i64(KILN_U32, is_in),
                               kiln_arg_buffer(b->wrong)};
            double took = run(b, "bulks", callers[c], args, 5);
            check_wrong(b, "bulks: the bytes");
            snprintf(name, sizeof name, "bulk_%s_1M_of_%u", is_in ? "both" : "out", callers[c]);
            report_number(&b->r, (is_in ? 2.0 : 1.0) * (double)size * n * callers[c] / took * 1e-9,
                          "%s.GBps", name);
        }
    kiln_buffer_free(bytes);
}

// --- what waiting costs
static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void idle(bench *b)
{
    enum { CALLS = 5 };
    uint64_t times[CALLS];
    double us[CALLS], cpu = cpu_seconds(), begun = bench_now();
    nanosleep(&(struct timespec){0, 500000000}, NULL);
    report_number(&b->r, 100 * (cpu_seconds() - cpu) / (bench_now() - begun),
                  "idle_no_kernel.percent");
    uint32_t ms = b->is_slow ? 50 : 1000;
    kiln_arg args[] = {kiln_arg_buffer(b->clock), kiln_arg_i64(KILN_U32, ms),
                       kiln_arg_i64(KILN_U32, CALLS)};
    kiln_stream *stream = NULL;
    bench_must(&b->r, kiln_stream_new(b->r.k, 0, &stream), "a stream");
    start(b, "silent", 1, args, 3, stream);
    cpu = cpu_seconds();
    begun = bench_now();
    bool is_over = false;
    while (!is_over) { // waiting with kiln_sync may spin in the driver
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        bench_must(&b->r, kiln_stream_is_done(stream, &is_over), "a stream");
    }
    report_number(&b->r, 100 * (cpu_seconds() - cpu) / (bench_now() - begun),
                  "idle_silent_kernel.percent");
    bench_must(&b->r, kiln_sync(b->r.k), "silent");
    bench_must(&b->r, kiln_read(b->clock, 0, times, CALLS), "a copy");
    for (int n = 0; n < CALLS; n++)
        us[n] = (double)times[n] * 1e-3;
    report_number(&b->r, bench_median(us, CALLS), "first_call_after_1s.us");
    kiln_stream_free(stream);
}

// --- kernels that make no calls
static void quiet(bench *b)
{
    enum { N = 1 << 22, ROUNDS = 41 };
    kiln_module *alone = NULL;
    kiln_kernel *kernel[3] = {NULL, NULL, NULL};
    static const char text[] =
        "#include <kiln/kernel.h>\n"
        "kernel block(256) void add(const f32 *a, const f32 *b, f32 *to, u32 n)\n"
        "{ u32 i = global_x(); if (i < n) to[i] = a[i] + b[i]; }\n";
    bench_must(&b->r, kiln_compile(b->r.k, &(kiln_compile_desc){.source = text}, &alone), "add");
    bench_must(&b->r, kiln_module_kernel(alone, "add", &kernel[0]), "add");
    bench_must(&b->r, kiln_module_kernel(b->m, "add", &kernel[1]), "add");
    bench_must(&b->r, kiln_module_kernel(b->m, "add_or_say", &kernel[2]), "add");
    uint32_t n = b->is_slow ? 4096 : N, rounds = b->is_slow ? 3 : ROUNDS;
    kiln_buffer *x[3];
    for (int k = 0; k < 3; k++)
        x[k] = bench_upload(&b->r, NULL, n);
    kiln_arg args[] = {kiln_arg_buffer(x[0]), kiln_arg_buffer(x[1]), kiln_arg_buffer(x[2]),
                       kiln_arg_i64(KILN_U32, n)};
    double us[3][ROUNDS];
    for (uint32_t r = 0; r < rounds; r++)
        for (int which = 0; which < 3; which++) {
            double begun = bench_now();
            for (int k = 0; k < 20; k++)
                bench_must(&b->r,
                           kiln_launch(kernel[which], &(kiln_launch_desc){.grid = {n / 256},
                                                                          .args = args,
                                                                          .arg_count = 4}),
                           "add");
            bench_must(&b->r, kiln_sync(b->r.k), "add");
            us[which][r] = (bench_now() - begun) / 20 * 1e6;
        }
    double plain = bench_median(us[0], rounds), beside = bench_median(us[1], rounds);
    report_number(&b->r, plain, "no_calls.alone.us");
    report_number(&b->r, beside, "no_calls.beside_calls.us");
    report_number(&b->r, beside / plain, "no_calls.ratio");
    report_number(&b->r, bench_median(us[2], rounds) / plain, "silent_printf.ratio");
    for (int k = 0; k < 3; k++)
        kiln_buffer_free(x[k]);
    kiln_module_free(alone);
}

static void open_all(bench *b)
{
    kiln *k = b->r.k;
    uint32_t zero = 0;
    bench_kernel made = bench_compile(&b->r, kernels, "load", NULL, NULL);
    b->m = made.module;
    for (size_t n = 0; n < sizeof measured / sizeof *measured; n++)
        free(report_source(&b->r, measured[n], NULL));
    static const struct {
        const char *name;
        kiln_host_function *call;
        kiln_host_many *many;
    } functions[] = {
        {"twice", NULL, twice_many}, {"twice_once", twice, NULL}, {"four", NULL, four},
        {"sixteen", NULL, sixteen},  {"mix", mix, NULL},          {"take", take, NULL},
        {"give", give, NULL},        {"take_once", take, NULL},   {"give_once", give, NULL}};
    for (size_t n = 0; n < sizeof functions / sizeof *functions; n++)
        add_function(b, functions[n].name, functions[n].call, functions[n].many);
    bench_must(&b->r, kiln_buffer_new(k, KILN_U32, MOST_TIMES, &b->times), "a buffer");
    bench_must(&b->r, kiln_buffer_new(k, KILN_U64, 128, &b->clock), "a buffer");
    bench_must(&b->r, kiln_buffer_new(k, KILN_U32, 1, &b->wrong), "a buffer");
    bench_must(&b->r, kiln_write(b->wrong, 0, &zero, 1), "a copy");
    b->host_times = malloc(MOST_TIMES * sizeof *b->host_times);
}

static const struct {
    const char *name;
    void (*run)(bench *b);
} parts[] = {{"trips", trips},       {"loads", loads},       {"rates", rates}, {"soak", soak},
             {"services", services}, {"lines", lines},       {"idle", idle},   {"quiet", quiet},
             {"bulk", bulk},         {"bulks", bulk_of_many}};

int main(int argc, char **argv)
{
    static bench b;
    bool is_other = argc > 1;
    setenv("KILN_PRINT", "live", 0);
    if (!report_start(&b.r, "hostcall", argc, argv, !is_other))
        return BENCH_SKIPPED;
    if (is_other && kiln_open(argv[1], &b.r.k)) {
        printf("skipped: %s\n", kiln_last_error(NULL)->text);
        return BENCH_SKIPPED;
    }
    b.is_slow = strncmp(kiln_device_name(b.r.k), "cuda", 4) != 0;
    open_all(&b);
    if (!b.host_times)
        return 1;
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        bool is_wanted = argc < 3;
        for (int n = 2; n < argc; n++)
            is_wanted |= !strcmp(argv[n], parts[p].name);
        if (is_wanted)
            parts[p].run(&b);
        if (is_wanted && !is_other)
            report_save(&b.r);
    }
    free(b.host_times);
    if (!is_other)
        return report_end(&b.r);
    kiln_close(b.r.k);
    return b.r.failed != 0;
}
