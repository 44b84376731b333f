// What kernels say and how they fail: printf, assert, trap, the text of a fault.     channel
// [DEVICE]
#include "api.h"
#include "kiln/hostcall.h"

static const char source[] =
    "#include <kiln/kernel.h>\n"
    "kernel block(64) void count(u32 n) { u32 i = global_x(); if (i < n) printf(\"thread %u of "
    "block %u: %.2f %d\\n\", thread_x(), block_x(), (f32)i * 0.5f, -(i32)i); }\n"
    "kernel block(32) void words(i64 big) { if (thread_x() == 3) printf(\"%s %lld %c%%\\n\", "
    "\"text\", big, 'x'); }\n"
    "kernel block(64) void positive(const i32 *x, i32 *seen, u32 n) {\n"
    "    u32 i = global_x();\n"
    "    if (i < n) {\n"
    "        assert(x[i] > 0);\n"
    "        seen[i] = 1;\n"
    "    }\n"
    "}\n"
    "kernel block(64) void stop(u32 at) { if (global_x() == at) trap(); }\n"
    "kernel block(256) void flood(u32 n) { for (u32 k = 0; k < n; k++) printf(\"%u %u\\n\", "
    "global_x(), k); }\n"
    "kernel block(64) void wild(i32 *x, i64 far) { if (global_x() == 0u) { printf(\"before the "
    "end\\n\"); fence_at(order_acq_rel, scope_system); atomic_store(x, 7); } else if (block_x() == "
    "2u) { while (atomic_load(x) != 7) {} x[(i64)thread_x() + far] = 1; } }\n"
    "kernel block(64) void fine(i32 *x) { x[thread_x()] = 1; }\n";

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The lines in an order that does not depend on the device.
static size_t sort_lines(char *text, const char **out, size_t cap)
{
    size_t count = 0;
    for (char *line = strtok(text, "\n"); line && count < cap; line = strtok(NULL, "\n"))
        out[count++] = line;
    qsort(out, count, sizeof *out, by_text);
    return count;
}

static kiln_status run(kiln *k, kiln_kernel *kernel, uint32_t grid, const kiln_arg *args,
                       size_t count)
{
    kiln_status status = api_launch(kernel, grid, 0, args, count);
    return status ? status : kiln_sync(k);
}

static char *printed(kiln *k)
{
    size_t len = 0;
    const char *text = kiln_printed(k, &len);
    char *copy = (char *)malloc(len + 1);
    memcpy(copy, text, len + 1);
    return copy;
}

static void test_print(kiln *k, kiln_module *m)
{
    kiln_arg n[] = {kiln_arg_i64(KILN_U32, 100)};
    const char *lines[200];
    char want[80];
    CHECK(!run(k, api_kernel(m, "count"), 2, n, 1));
    char *text = printed(k);
    size_t count = sort_lines(text, lines, 200);
    CHECK(count == 100);
    int found = 0;
    for (int i = 0; i < 100; i++) {
        snprintf(want, sizeof want, "thread %d of block %d: %.2f %d", i % 64, i / 64, i * 0.5, -i);
        const char *key = want;
        found += bsearch(&key, lines, count, sizeof *lines, by_text) != NULL;
    }
    CHECK(found == 100);
    free(text);
    kiln_arg big[] = {kiln_arg_i64(KILN_I64, -(1LL << 50))};
    CHECK(!run(k, api_kernel(m, "words"), 1, big, 1));
    CHECK(!strcmp(kiln_printed(k, NULL), "text -1125899906842624 x%\n"));
}

static void test_faults(kiln *k, kiln_module *m)
{
    enum { N = 1000 };
    static int32_t x[N], seen[N];
    kiln_buffer *a = NULL, *b = NULL;
    for (int i = 0; i < N; i++)
        x[i] = 1;
    CHECK(!kiln_buffer_new(k, KILN_I32, N, &a) && !kiln_buffer_new(k, KILN_I32, N, &b) &&
          !kiln_write(a, 0, x, N));
    kiln_arg args[] = {kiln_arg_buffer(a), kiln_arg_buffer(b), kiln_arg_i64(KILN_U32, N)};
    CHECK(!run(k, api_kernel(m, "positive"), 16, args, 3));
    x[70] = -1;
    CHECK(!kiln_write(a, 0, x, N));
    kiln_kernel *positive = api_kernel(m, "positive"), *stop = api_kernel(m, "stop");
    EXPECT(run(k, positive, 16, args, 3), KILN_E_KERNEL, "K6024", "assertion failed: x[i] > 0");
    const kiln_error *e = kiln_last_error(k);
    CHECK(strstr(e->text, "kernel 'positive'") &&
          strstr(e->text, "thread (6, 0, 0) of block (1, 0, 0)") && strstr(e->text, "test.c:7:"));
    CHECK(!strcmp(e->kernel, "positive") && e->line == 7 && !strcmp(e->file, "test.c"));
    // everything is alive afterwards
    x[70] = 1;
    CHECK(!kiln_write(a, 0, x, N) && !run(k, positive, 16, args, 3) && !kiln_read(b, 0, seen, N) &&
          seen[0] == 1 && seen[N - 1] == 1);
    kiln_arg at[] = {kiln_arg_i64(KILN_U32, 65)};
    EXPECT(run(k, stop, 2, at, 1), KILN_E_KERNEL, "K6025", "trap()");
    CHECK(strstr(kiln_last_error(k)->text, "thread (1, 0, 0) of block (1, 0, 0)"));
    CHECK(!kiln_sync(k));
    kiln_buffer_free(a);
    kiln_buffer_free(b);
}

static void test_flood(kiln *k, kiln_module *m, bool has_ring)
{
    // A ring holds up to 250,000 lines: those of a warp are one record.
    uint32_t each = has_ring ? 32 : 4, all = 64 * 256 * each;
    kiln_arg n[] = {kiln_arg_i64(KILN_U32, each)};
    static const char *lines[600000];
    CHECK(!run(k, api_kernel(m, "flood"), 64, n, 1));
    char *text = printed(k);
    const char *lost = strstr(text, "lines lost");
    CHECK(has_ring == (lost != NULL));
    size_t count = sort_lines(text, lines, 600000);
    CHECK(has_ring ? count > 20000 && count < all : count == all);
    free(text);
}

// A line is there while its kernel runs: the kernel ends when the host says that it has seen it.
static uint32_t lines_seen;
static void see(void *unused, const char *text, size_t len)
{
    (void)unused;
    for (size_t n = 0; n < len; n++)
        if (text[n] == '\n')
            __atomic_fetch_add(&lines_seen, 1, __ATOMIC_RELEASE);
}
static void seen(void *unused, const kiln_host_call *call)
{
    (void)unused;
    *(uint32_t *)call->result = __atomic_load_n(&lines_seen, __ATOMIC_ACQUIRE);
}
static void test_live(kiln *k)
{
    static const char text[] =
        "#include <kiln/kernel.h>\n"
        "host u32 seen(void);\n"
        "kernel block(32) void says(u32 *out) { printf(\"%u: part %u of it\\n\", thread_x(), 1u);\n"
        "    if (thread_x() % 3u == 0) printf(\"%u: another\\n\", thread_x());\n"
        "    if (thread_x() == 0)\n"
        "        for (u32 n = 0; n < 200000u && *out < 43u; n++) *out = seen(); }\n";
    kiln_module *m = api_compile(k, text, 0);
    kiln_buffer *out = NULL;
    uint32_t got = 0;
    if (!m)
        return;
    lines_seen = 0;
    CHECK(!kiln_host_register(k, &(kiln_host_desc){.name = "seen", .call = seen}));
    CHECK(!kiln_buffer_new(k, KILN_U32, 1, &out) && !kiln_write(out, 0, &got, 1));
    kiln_on_print(k, see, NULL);
    kiln_arg args[] = {kiln_arg_buffer(out)};
    CHECK(!run(k, api_kernel(m, "says"), 1, args, 1));
    kiln_on_print(k, NULL, NULL);
    CHECK(!kiln_read(out, 0, &got, 1) && got == 43 && lines_seen == 43);
    kiln_buffer_free(out);
}

// Last: on a GPU the device is lost after it.
static void test_wild(kiln *k, kiln_module *m, const char *device, bool is_cuda)
{
    kiln_buffer *x = NULL;
    CHECK(!kiln_buffer_new(k, KILN_I32, 64, &x));
    kiln_arg good[] = {kiln_arg_buffer(x)},
             bad[] = {kiln_arg_buffer(x), kiln_arg_i64(KILN_I64, 1LL << 36)};
    kiln_kernel *fine = api_kernel(m, "fine"), *wild = api_kernel(m, "wild");
    CHECK(!run(k, fine, 1, good, 1));
    kiln_status status = api_launch(wild, 3, 0, bad, 2);
    if (!status)
        api_launch(fine, 1, 0, good, 1);
    if (!status)
        status = kiln_sync(k);
    char *text = printed(k); // also of a GPU that is lost
    CHECK(strstr(text, "before the end\n") != NULL);
    free(text);
    const kiln_error *e = kiln_last_error(k);
    printf("  %s\n", e->text);
    CHECK(status == KILN_E_KERNEL && !strcmp(e->code, is_cuda ? "K6035" : "K6020") &&
          !strcmp(e->kernel, "wild"));
    if (!is_cuda)
        return;
    CHECK(strstr(e->text, "grid 3 x 1 x 1, block 64 x 1 x 1") && !strcmp(e->file, "test.c") &&
          e->line == 13);
    EXPECT(kiln_sync(k), KILN_E_DRIVER, "K6036", "lost");
    EXPECT(api_launch(fine, 1, 0, good, 1), KILN_E_DRIVER, "K6036", "lost");
    kiln_close(k);
    k = NULL;
    EXPECT(kiln_open(device, &k), KILN_E_DRIVER, "K6036", "lost for this process");
    CHECK(!k && !kiln_open("interp", &k)); // other devices go on
    kiln_close(k);
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "cuda";
    kiln *k = api_open(device);
    bool is_cuda = !strncmp(device, "cuda", 4), is_opencl = !strncmp(device, "opencl", 6);
    const char *print = getenv("KILN_PRINT");
    bool is_live = !print || !strcmp(print, "live"); // a kernel that prints faster waits
    for (int optimise = -1; optimise <= 1; optimise += 2) {
        kiln_module *m = api_compile(k, source, optimise);
        if (!m)
            continue;
        test_print(k, m);
        test_faults(k, m);
        test_flood(k, m, (is_cuda && !is_live) || is_opencl);
    }
    if (is_live && !is_opencl)
        test_live(k);
    kiln_module *m = api_compile(k, source, 0);
    if (m && !is_opencl) // a wild store ends the process where the device is the host's CPU
        test_wild(k, m, device, is_cuda);
    if (!is_cuda)
        kiln_close(k);
    return api_done("channel");
}
