// same: what a kernel says and does on the cpu device beside the interpreter: printed lines,
// failures with code, text and place, data. Also what only the cpu device has: a launch of another
// shape than expected, a cancelled endless loop, work without a C compiler, results that are larger
// than the caches. Ends with "cpu: N passed, N failed, N skipped". Start reading at main.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kiln/kiln.h"

enum { COUNT_OF_OUT = 4096 };

static int passed, failed;

typedef struct row {
    const char *name, *source;
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    const char *code; // of its failure; NULL: it succeeds
} row;

static const row rows[] = {
    {"print",
     "kernel block(64) void f(u32 *out) { u32 i = global_x(); if (i % 7 == 3) printf(\"%u %f %s "
     "%lld\\n\", i, (f64)i * 0.5, \"word\", (i64)i); out[i] = i; }",
     {3},
     {0},
     0,
     NULL},
    {"print all",
     "kernel block(5) void f(u32 *out) { printf(\"t%u b%u\\n\", thread_x(), block_x()); out[0] = "
     "1; }",
     {3},
     {0},
     0,
     NULL},
    {"assert",
     "kernel block(64) void f(u32 *out) { u32 i = global_x(); assert(i != 70); out[i] = i; }",
     {4},
     {0},
     0,
     "K6024"},
    {"assert uniform",
     "kernel block(64) void f(u32 *out) { assert(block_x() < 2); out[0] = 1; }",
     {4},
     {0},
     0,
     "K6024"},
    {"recursion",
     "static u32 f1(u32 n) { return n ? f1(n - 1) * 3 + 1 : 2; } kernel block(64) void f(u32 *out) "
     "{ out[global_x()] = f1(global_x() % 60); }",
     {4},
     {0},
     0,
     NULL},
    {"recursion too deep",
     "static u32 f1(u32 n) { return n ? f1(n - 1) * 3 + 1 : 2; } kernel block(64) void f(u32 *out) "
     "{ out[global_x()] = f1(global_x()); }",
     {4},
     {0},
     0,
     "K6080"},
    {"stray function",
     "typedef u32 (*fn)(u32); static u32 f1(u32 n) { return n + 1; } static const fn all[2] = "
     "{f1, 0}; kernel block(64) void f(u32 *out) { out[global_x()] = all[global_x() / "
     "70](global_x()); }",
     {4},
     {0},
     0,
     "K6081"},
    {"function of another type",
     "typedef u32 (*fn)(u32); static i64 f1(i64 n) { return n + 1; } static u32 f2(u32 n) { return "
     "n; } kernel block(64) void f(u32 *out) { fn g = global_x() == 80 ? (fn)f1 : f2; "
     "out[global_x()] = g(global_x()); }",
     {4},
     {0},
     0,
     "K6081"},
    {"trap",
     "kernel block(64) void f(u32 *out) { if (global_x() == 99) trap(); out[0] = 7; }",
     {4},
     {0},
     0,
     "K6025"},
    {"barrier",
     "kernel block(256) void f(u32 *out) { shared u32 s[256]; u32 t = thread_x(); s[t] = t * 3; "
     "barrier(); out[block_x() * 256 + t] = s[255 - t]; }",
     {4},
     {0},
     0,
     NULL},
    {"odd block",
     "kernel void f(u32 *out) { u32 i = block_x() * block_dim_x() + thread_x(); out[i] = "
     "warp_ballot((thread_x() & 1) != 0) + lane(); }",
     {5},
     {37},
     0,
     NULL},
    {"three axes",
     "kernel void f(u32 *out) { u32 i = thread_x() + 5 * (thread_y() + 3 * thread_z()); out[i] = "
     "thread_x() * 100 + thread_y() * 10 + thread_z(); }",
     {1},
     {5, 3, 2},
     0,
     NULL},
    {"rows not whole",
     "kernel void f(u32 *out) { out[thread_x() + 64 * block_x()] = thread_x() + 1; }",
     {2},
     {5, 7},
     0,
     NULL},
    {"dynamic shared",
     "shared u32 pool[]; kernel void f(u32 *out) { pool[thread_x()] = thread_x(); barrier(); "
     "out[thread_x()] = pool[block_dim_x() - 1 - thread_x()] + dynamic_shared_bytes(); }",
     {1},
     {96},
     96 * 4,
     NULL},
    {"waits for another warp",
     "kernel block(64) void f(u32 *out) { shared u32 flag; if (thread_x() == 0) flag = 0; "
     "barrier(); if (thread_x() < 32) { while (atomic_load(&flag) == 0) {} out[thread_x()] = 5; }"
     " else atomic_store(&flag, 1); }",
     {1},
     {0},
     0,
     NULL},
    {"local arrays",
     "kernel block(64) void f(u32 *out) { u32 a[9]; u8 b[16]; u64 c[3]; u32 t = thread_x(); for "
     "(u32 i = 0; i < 9; i++) a[i] = i * t; b[t % 16] = (u8)t; c[t % 3] = (u64)t << 33;"
     " u32 *p = t % 2 ? a : out + 1000; p[2] = p[2] + 1; out[t] = a[t % 9] + b[t % 16] + (u32)(c[t "
     "% 3] >> 33) + a[2]; }",
     {1},
     {0},
     0,
     NULL},
};

typedef struct outcome {
    kiln_status status;
    char code[16], text[2000], printed[8000];
    uint32_t out[COUNT_OF_OUT];
} outcome;

static void run(const char *device, const row *r, outcome *o)
{
    memset(o, 0, sizeof *o);
    kiln *k;
    kiln_module *m = NULL;
    kiln_kernel *kernel = NULL;
    kiln_buffer *out = NULL;
    if ((o->status = kiln_open(device, &k)) != KILN_OK)
        return;
    char source[2000];
    snprintf(source, sizeof source, "#include <kiln/kernel.h>\n%s", r->source);
    o->status = kiln_compile(k, &(kiln_compile_desc){.source = source, .path = "same.c"}, &m);
    if (!o->status)
        o->status = kiln_module_kernel(m, "f", &kernel);
    if (!o->status)
        o->status = kiln_buffer_new(k, KILN_U32, COUNT_OF_OUT, &out);
    if (!o->status) {
        kiln_arg arg = kiln_arg_buffer(out);
        kiln_launch_desc launch = {.args = &arg, .arg_count = 1, .shared_bytes = r->shared_bytes};
        memcpy(launch.grid, r->grid, sizeof launch.grid);
        memcpy(launch.block, r->block, sizeof launch.block);
        o->status = kiln_launch(kernel, &launch);
        kiln_read(out, 0, o->out, COUNT_OF_OUT);
    }
    if (o->status) {
        snprintf(o->code, sizeof o->code, "%s", kiln_last_error(k)->code);
        snprintf(o->text, sizeof o->text, "%s", kiln_last_error(k)->text);
    }
    snprintf(o->printed, sizeof o->printed, "%s", kiln_printed(k, NULL));
    kiln_close(k);
}

static void expect(bool ok, const char *name, const char *what)
{
    passed += ok;
    failed += !ok;
    if (!ok)
        fprintf(stderr, "%s: %s\n", name, what);
}

static void compare(const row *r)
{
    static outcome want, got;
    run("interp", r, &want);
    run("cpu", r, &got);
    char what[5000];
    snprintf(what, sizeof what, "interp: status %d %s\n%s\ncpu: status %d %s\n%s", want.status,
             want.code, want.text, got.status, got.code, got.text);
    bool same =
        want.status == got.status && !strcmp(want.code, got.code) && !strcmp(want.text, got.text);
    expect(same, r->name, what);
    // Equal is not enough: a kernel that neither of them compiles is equal, too.
    expect(!strcmp(want.code, r->code ? r->code : ""), r->name, what);
    expect(!strcmp(want.printed, got.printed), r->name, "the printed lines differ");
    // After a failure other blocks may or may not have run.
    expect(want.status || !memcmp(want.out, got.out, sizeof want.out), r->name, "the data differs");
}

static void *cancel_soon(void *k)
{
    usleep(100000);
    kiln_cancel(k);
    return NULL;
}

static void endless(void)
{
    const char *source = "#include <kiln/kernel.h>\nkernel block(64) void f(u32 *out) { while "
                         "(out[0] == 0) { out[1] = out[1] + 1; } }";
    kiln *k;
    kiln_module *m;
    kiln_kernel *kernel;
    kiln_buffer *out;
    pthread_t id;
    if (kiln_open("cpu", &k) || kiln_compile(k, &(kiln_compile_desc){.source = source}, &m) ||
        kiln_module_kernel(m, NULL, &kernel) || kiln_buffer_new(k, KILN_U32, 16, &out) ||
        pthread_create(&id, NULL, cancel_soon, k)) {
        expect(false, "endless", "set-up");
        return;
    }
    kiln_arg arg = kiln_arg_buffer(out);
    kiln_status status =
        kiln_launch(kernel, &(kiln_launch_desc){.grid = {2}, .args = &arg, .arg_count = 1});
    pthread_join(id, NULL);
    expect(status == KILN_E_CANCELLED, "endless", "it was not cancelled");
    kiln_close(k);
}

// Results go past the caches: whole lines, lanes that end, addresses between lines.
static void large(const char *name, const char *type, kiln_type element, uint64_t from)
{
    enum { COUNT = (9 << 20) + 5, AROUND = 8 };
    size_t size = element == KILN_U64 ? 8 : 4, count = COUNT / (size / 4), all = count + AROUND;
    char source[300];
    snprintf(
        source, sizeof source,
        "#include <kiln/kernel.h>\nkernel block(256) void f(%s *out, u64 from, u32 n) { u32 i = "
        "global_x(); if (i < n) out[from + i] = (%s)i * 2654435761u + 1; }",
        type, type);
    kiln *k = NULL;
    kiln_module *m;
    kiln_kernel *kernel;
    kiln_buffer *out;
    uint8_t *got = malloc(all * size);
    if (!got || kiln_open("cpu", &k) ||
        kiln_compile(k, &(kiln_compile_desc){.source = source}, &m) ||
        kiln_module_kernel(m, NULL, &kernel) || kiln_buffer_new(k, element, all, &out)) {
        expect(false, name, "set-up");
        free(got);
        kiln_close(k);
        return;
    }
    kiln_arg args[] = {kiln_arg_buffer(out), kiln_arg_i64(KILN_U64, (int64_t)from),
                       kiln_arg_i64(KILN_U32, (int64_t)count)};
    kiln_launch_desc launch = {
        .grid = {(uint32_t)((count + 255) / 256)}, .args = args, .arg_count = 3};
    expect(!kiln_launch(kernel, &launch) && !kiln_read(out, 0, got, all), name, "it fails");
    size_t bad = 0;
    for (size_t i = 0; i < all; i++) {
        uint64_t is = 0, n = i - from;
        memcpy(&is, got + i * size, size);
        uint64_t want = i < from || n >= count ? 0 : n * 2654435761u + 1;
        bad += is != (size == 8 ? want : (uint32_t)want);
    }
    expect(!bad, name, "the data differs");
    free(got);
    kiln_close(k);
}

int main(void)
{
    alarm(300);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        compare(&rows[i]);
    endless();
    large("large", "u32", KILN_U32, 0);
    large("large, between lines", "u32", KILN_U32, 3);
    large("large and wide", "u64", KILN_U64, 0);
    printf("cpu: %d passed, %d failed, 0 skipped\n", passed, failed);
    return failed != 0;
}
