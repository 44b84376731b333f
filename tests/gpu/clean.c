// Correct kernels only, for compute-sanitizer: shared memory, barriers, warp operations, atomics,
// vectors, printf, calls of the host.     clean [DEVICE]
#include "api.h"
#include "kiln/hostcall.h"

static const char source[] =
    "#include <kiln/kernel.h>\n"
    "kernel block(256) void sum(const f32 *x, f32 *total, u32 n) {\n"
    "    shared f32 part[256];\n"
    "    f32 mine = 0;\n"
    "    for (u32 i = global_x(); i < n; i += grid_dim_x() * 256) mine += x[i];\n"
    "    part[thread_x()] = mine;\n"
    "    barrier();\n"
    "    for (u32 step = 128; step > 0; step /= 2) {\n"
    "        if (thread_x() < step) part[thread_x()] += part[thread_x() + step];\n"
    "        barrier();\n"
    "    }\n"
    "    if (thread_x() == 0) total[block_x()] = part[0];\n"
    "}\n"
    "kernel block(64) void neighbours(const i32 *x, i32 *y, u32 n) {\n"
    "    u32 i = global_x();\n"
    "    i32 v = i < n ? x[i] : 0;\n"
    "    v += shuffle_xor(v, 1);\n"
    "    if (i < n) { y[i] = v; atomic_add(&y[n], 1); }\n"
    "}\n"
    "kernel block(64) void speak(u32 n) { u32 i = global_x(); assert(i < 1000000); if (i < n) "
    "printf(\"%u\\n\", i); }\n"
    "kernel block(128) void copy4(const f32x4 *x, f32x4 *y, u32 n) { u32 i = global_x(); if (i < "
    "n) y[i] = x[i]; }\n";

static const char asking[] =
    "#include <kiln/kernel.h>\n"
    "host i32 twice(i32 x);\n"
    "kernel block(64) void asks(const i32 *x, i32 *y, u32 n) { u32 i = global_x(); if (i < n) y[i] "
    "= i % 3u ? twice(x[i]) : -x[i]; }\n";

static void twice(void *user, const kiln_host_call *call)
{
    (void)user;
    *(int32_t *)call->result = 2 * *(int32_t *)call->args[0];
}

static void test_calls(kiln *k)
{
    enum { N = 150 };
    int32_t x[N], y[N];
    kiln_buffer *from = NULL, *to = NULL;
    kiln_module *m = api_compile(k, asking, 0);
    for (int i = 0; i < N; i++)
        x[i] = y[i] = i - 20;
    CHECK(!kiln_host_register(k, &(kiln_host_desc){.name = "twice", .call = twice}));
    CHECK(!kiln_buffer_new(k, KILN_I32, N, &from) && !kiln_buffer_new(k, KILN_I32, N, &to) &&
          !kiln_write(from, 0, x, N) && !kiln_write(to, 0, y, N));
    kiln_arg args[] = {kiln_arg_buffer(from), kiln_arg_buffer(to), kiln_arg_i64(KILN_U32, N)};
    CHECK(m && !api_launch(api_kernel(m, "asks"), 3, 0, args, 3) && !kiln_read(to, 0, y, N));
    int right = 0;
    for (int i = 0; i < N; i++)
        right += y[i] == (i % 3 ? 2 : -1) * x[i];
    CHECK(right == N);
}

int main(int argc, char **argv)
{
    kiln *k = api_open(argc > 1 ? argv[1] : "cuda");
    enum { N = 4096 };
    static float x[N], y[N];
    static int32_t numbers[N + 1];
    kiln_buffer *a = NULL, *b = NULL, *c = NULL, *d = NULL;
    float total[4], sum = 0;
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 7);
        numbers[i] = i;
        sum += x[i];
    }
    kiln_module *m = api_compile(k, source, 0);
    CHECK(!kiln_buffer_new(k, KILN_F32, N, &a) && !kiln_buffer_new(k, KILN_F32, N, &b) &&
          !kiln_buffer_new(k, KILN_I32, N, &c) && !kiln_buffer_new(k, KILN_I32, N + 1, &d));
    CHECK(!kiln_write(a, 0, x, N) && !kiln_write(c, 0, numbers, N));
    if (m) {
        kiln_arg sums[] = {kiln_arg_buffer(a), kiln_arg_buffer(b), kiln_arg_i64(KILN_U32, N)};
        CHECK(!api_launch(api_kernel(m, "sum"), 4, 0, sums, 3) && !kiln_read(b, 0, total, 4) &&
              total[0] + total[1] + total[2] + total[3] == sum);
        kiln_arg pairs[] = {kiln_arg_buffer(c), kiln_arg_buffer(d), kiln_arg_i64(KILN_U32, N)};
        CHECK(!api_launch(api_kernel(m, "neighbours"), 64, 0, pairs, 3) &&
              !kiln_read(d, 0, numbers, N + 1) && numbers[0] == 1 && numbers[N] == N);
        kiln_arg lines[] = {kiln_arg_i64(KILN_U32, 10)};
        size_t len = 0;
        CHECK(!api_launch(api_kernel(m, "speak"), 2, 0, lines, 1) && !kiln_sync(k) &&
              kiln_printed(k, &len) && len == 20);
        kiln_arg four[] = {kiln_arg_buffer(a), kiln_arg_buffer(b), kiln_arg_i64(KILN_U32, N / 4)};
        CHECK(!api_launch(api_kernel(m, "copy4"), 8, 0, four, 3) && !kiln_read(b, 0, y, N) &&
              !memcmp(x, y, sizeof x));
    }
    if (argc < 2 || strncmp(argv[1], "opencl", 6) != 0)
        test_calls(k);
    kiln_close(k);
    return api_done("clean");
}
