// Kernels compiled with check_bounds: an access outside names array, index, length, line and
// thread, and harms nothing.     bounds [DEVICE]
#include "api.h"

static const char source[] =
    "#include <kiln/kernel.h>\n"
    "static const i32 table[4] = {1, 2, 3, 4};\n"
    "static f32 at(const f32 *p, i64 i) { return p[i]; }\n"
    "kernel block(64) void copy(const f32 *x, f32 *out, i64 from, u32 to) {\n"
    "    i64 i = global_x();\n"
    "    f32 v = at(x, i + from);\n"
    "    out[i + to] = v;\n"
    "}\n"
    "kernel block(64) void arrays(i32 *out, u32 shift, u32 which) {\n"
    "    shared i32 tile[64];\n"
    "    i32 own[8];\n"
    "    for (u32 k = 0; k < 8; k++) own[k] = (i32)k;\n"
    "    tile[thread_x() + (which == 1 ? shift : 0)] = (i32)thread_x();\n"
    "    barrier();\n"
    "    i32 sum = tile[63 - thread_x()] + own[thread_x() % 8 + (which == 2 ? shift : 0)];\n"
    "    sum += table[thread_x() % 4 + (which == 3 ? shift : 0)];\n"
    "    out[thread_x()] = sum;\n"
    "}\n"
    "kernel block(32) void walk(const i32 *x, i32 *out, u32 n) {\n"
    "    i32 sum = 0;\n"
    "    const i32 *p = x + thread_x();\n"
    "    for (u32 k = 0; k < n; k++, p++)\n"
    "        sum += *p;\n"
    "    out[thread_x()] = sum;\n"
    "}\n"
    "kernel block(32) void walk_own(i32 *out, i32 last, u32 from) {\n"
    "    shared i32 tile[32];\n"
    "    i32 own[8];\n"
    "    for (u32 k = 0; k < 8; k++) own[k] = (i32)k + 1;\n"
    "    tile[thread_x()] = (i32)(31 - thread_x());\n"
    "    barrier();\n"
    "    own[7] = last;\n"
    "    i32 count = 0;\n"
    "    for (const i32 *p = own; *p; p++) count++;\n"
    "    for (const i32 *p = tile + from; *p; p++) count++;\n"
    "    out[thread_x()] = count;\n"
    "}\n"
    "kernel block(32) void dynamic(i32 *out, u32 far) {\n"
    "    shared i32 slots[];\n"
    "    slots[thread_x() + far] = 1;\n"
    "    barrier();\n"
    "    out[thread_x()] = slots[31 - thread_x()];\n"
    "}\n"
    "kernel block(32) void count(u32 *bins, const u32 *x) { atomic_add(&bins[x[thread_x()]], 1u); "
    "}\n"
    "kernel block(32) void either(const i32 *x, i32 *out, u32 far) {\n"
    "    const i32 *p;\n"
    "    if (thread_x() & 1)\n"
    "        for (p = x; *p < 5; p++) {}\n"
    "    else\n"
    "        p = x + 2;\n"
    "    out[thread_x()] = p[far];\n"
    "}\n"
    "kernel block(32) void walks(i32 *out, u32 n) {\n"
    "    shared i32 tile[32];\n"
    "    i32 own[8];\n"
    "    for (u32 k = 0; k < 8; k++) own[k] = (i32)k;\n"
    "    tile[thread_x()] = (i32)thread_x();\n"
    "    barrier();\n"
    "    const i32 *p = own, *q = tile, *r = table;\n"
    "    i32 sum = 0;\n"
    "    for (u32 k = 0; k < n; k++) sum += *p++ + *q++;\n"
    "    for (u32 k = 0; k < n / 2; k++) sum += *r++;\n"
    "    out[thread_x()] = sum;\n"
    "}\n"
    "kernel block(32) void wide(const f32x4 *x, f32x4 *out) { out[thread_x()] = x[thread_x()]; }\n";

static kiln_status run(kiln *k, kiln_kernel *kernel, size_t shared_bytes, const kiln_arg *args,
                       size_t count)
{
    kiln_launch_desc desc = {
        .grid = {1}, .shared_bytes = shared_bytes, .args = args, .arg_count = count};
    kiln_status status = kiln_launch(kernel, &desc);
    return status ? status : kiln_sync(k);
}

static void test_buffers(kiln *k, kiln_module *m)
{
    kiln_kernel *copy = api_kernel(m, "copy");
    kiln_buffer *x = NULL, *out = NULL;
    float in[64], got[64];
    for (int i = 0; i < 64; i++)
        in[i] = (float)i;
    CHECK(!kiln_buffer_new(k, KILN_F32, 64, &x) && !kiln_buffer_new(k, KILN_F32, 64, &out));
    CHECK(!kiln_write(x, 0, in, 64));
    kiln_arg args[] = {kiln_arg_buffer(x), kiln_arg_buffer(out), kiln_arg_i64(KILN_I64, 0),
                       kiln_arg_i64(KILN_U32, 0)};
    CHECK(kiln_kernel_param_count(copy) == 4);
    CHECK(!run(k, copy, 0, args, 4));
    CHECK(!kiln_read(out, 0, got, 64) && !memcmp(in, got, sizeof in));
    args[2] = kiln_arg_i64(KILN_I64, 1);
    EXPECT(run(k, copy, 0, args, 4), KILN_E_KERNEL, "K6020",
           "reads element 64 of 'x', which has 64 elements");
    CHECK(strstr(kiln_last_error(k)->text, ":3:") &&
          strstr(kiln_last_error(k)->text, "thread (63, 0, 0) of block (0, 0, 0)"));
    CHECK(kiln_last_error(k)->line == 3 && !strcmp(kiln_last_error(k)->kernel, "copy"));
    args[2] = kiln_arg_i64(KILN_I64, -1);
    EXPECT(run(k, copy, 0, args, 4), KILN_E_KERNEL, "K6020",
           "reads element -1 of 'x', which has 64 elements");
    args[2] = kiln_arg_i64(KILN_I64, 0);
    args[3] = kiln_arg_i64(KILN_U32, 4000000000);
    EXPECT(run(k, copy, 0, args, 4), KILN_E_KERNEL, "K6020", "writes element 40000000");
    // From the middle of a buffer, its rest counts.
    args[3] = kiln_arg_i64(KILN_U32, 0);
    args[1] = kiln_arg_buffer_at(out, 32);
    EXPECT(run(k, copy, 0, args, 4), KILN_E_KERNEL, "K6020", "of 'out', which has 32 elements");
    // The device is as good as new, each time.
    args[1] = kiln_arg_buffer(out);
    for (int n = 0; n < 100; n++) {
        args[2] = kiln_arg_i64(KILN_I64, n % 2 ? 1 : -1);
        EXPECT(run(k, copy, 0, args, 4), KILN_E_KERNEL, "K6020",
               n % 2 ? "reads element 64 of 'x'" : "reads element -1 of 'x'");
    }
    args[2] = kiln_arg_i64(KILN_I64, 0);
    CHECK(!run(k, copy, 0, args, 4));
    CHECK(!kiln_read(out, 0, got, 64) && !memcmp(in, got, sizeof in));
    kiln_buffer_free(x);
    kiln_buffer_free(out);
}

static void test_arrays(kiln *k, kiln_module *m)
{
    static const char *const said[] = {NULL, "writes element 64 of 'tile', which has 64 elements",
                                       "reads element 8 of 'own', which has 8 elements",
                                       "reads element 4 of 'table', which has 4 elements"};
    kiln_buffer *out;
    CHECK(!kiln_buffer_new(k, KILN_I32, 64, &out));
    for (int which = 0; which < 4; which++) {
        kiln_arg args[] = {kiln_arg_buffer(out), kiln_arg_i64(KILN_U32, 1),
                           kiln_arg_i64(KILN_U32, which)};
        kiln_status status = run(k, api_kernel(m, "arrays"), 0, args, 3);
        if (said[which])
            EXPECT(status, KILN_E_KERNEL, "K6020", said[which]);
        else
            CHECK(!status);
    }
    kiln_buffer_free(out);
}

static void test_others(kiln *k, kiln_module *m)
{
    kiln_buffer *x = NULL, *out = NULL;
    CHECK(!kiln_buffer_new(k, KILN_I32, 64, &x) && !kiln_buffer_new(k, KILN_I32, 32, &out));
    kiln_arg args[] = {kiln_arg_buffer(x), kiln_arg_buffer(out), kiln_arg_i64(KILN_U32, 33)};
    CHECK(!run(k, api_kernel(m, "walk"), 0, args, 3));
    args[2] = kiln_arg_i64(KILN_U32, 34);
    EXPECT(run(k, api_kernel(m, "walk"), 0, args, 3), KILN_E_KERNEL, "K6020",
           "reads element 64 of 'x', which has 64 elements");
    int32_t low[64] = {0, 1, 2, 3, 4, 5};
    CHECK(!kiln_write(x, 0, low, 64));
    args[2] = kiln_arg_i64(KILN_U32, 58);
    CHECK(!run(k, api_kernel(m, "either"), 0, args, 3));
    args[2] = kiln_arg_i64(KILN_U32, 59);
    EXPECT(run(k, api_kernel(m, "either"), 0, args, 3), KILN_E_KERNEL, "K6020",
           "reads element 64 of 'x', which has 64 elements");
    kiln_arg own[] = {kiln_arg_buffer(out), kiln_arg_i64(KILN_I32, 0), kiln_arg_i64(KILN_U32, 0)};
    int32_t count = 0;
    CHECK(!run(k, api_kernel(m, "walk_own"), 0, own, 3) && !kiln_read(out, 31, &count, 1) &&
          count == 38);
    own[2] = kiln_arg_i64(KILN_U32, 32);
    EXPECT(run(k, api_kernel(m, "walk_own"), 0, own, 3), KILN_E_KERNEL, "K6020",
           "reads element 32 of 'tile', which has 32 elements");
    own[1] = kiln_arg_i64(KILN_I32, 1);
    EXPECT(run(k, api_kernel(m, "walk_own"), 0, own, 3), KILN_E_KERNEL, "K6020",
           "reads element 8 of 'own', which has 8 elements");
    kiln_arg two[] = {kiln_arg_buffer(out), kiln_arg_i64(KILN_U32, 0)};
    CHECK(!run(k, api_kernel(m, "dynamic"), 128, two, 2));
    EXPECT(run(k, api_kernel(m, "dynamic"), 124, two, 2), KILN_E_KERNEL, "K6020",
           "writes element 31 of 'slots', which has 31 elements");
    // Pointers that walk through arrays which are no buffers.
    int32_t sums[32];
    two[1] = kiln_arg_i64(KILN_U32, 8);
    CHECK(!run(k, api_kernel(m, "walks"), 0, two, 2) && !kiln_read(out, 0, sums, 32) &&
          sums[31] == 2 * 28 + 10);
    two[1] = kiln_arg_i64(KILN_U32, 9);
    EXPECT(run(k, api_kernel(m, "walks"), 0, two, 2), KILN_E_KERNEL, "K6020",
           "reads element 8 of 'own', which has 8 elements");
    kiln_buffer *bins, *places;
    uint32_t where[32] = {0};
    where[7] = 9;
    CHECK(!kiln_buffer_new(k, KILN_U32, 9, &bins) && !kiln_buffer_new(k, KILN_U32, 32, &places) &&
          !kiln_write(places, 0, where, 32));
    kiln_arg counts[] = {kiln_arg_buffer(bins), kiln_arg_buffer(places)};
    EXPECT(run(k, api_kernel(m, "count"), 0, counts, 2), KILN_E_KERNEL, "K6020",
           "writes element 9 of 'bins', which has 9 elements");
    kiln_buffer *floats, *more;
    CHECK(!kiln_buffer_new(k, KILN_F32, 126, &floats) && !kiln_buffer_new(k, KILN_F32, 128, &more));
    kiln_arg vectors[] = {kiln_arg_buffer(floats), kiln_arg_buffer(more)};
    EXPECT(run(k, api_kernel(m, "wide"), 0, vectors, 2), KILN_E_KERNEL, "K6020",
           "reads element 31 of 'x', which has 31 elements");
    vectors[0] = kiln_arg_buffer(more);
    CHECK(!run(k, api_kernel(m, "wide"), 0, vectors, 2));
}

int main(int argc, char **argv)
{
    kiln_module *m;
    const char *device = argc > 1 ? argv[1] : "cuda";
    kiln *k = api_open(device);
    for (int level = -1; level <= 1; level += 2) {
        kiln_compile_desc desc = {
            .source = source, .path = "bounds.c", .check_bounds = true, .optimise = level};
        kiln_status status = kiln_compile(k, &desc, &m);
        CHECK(!status);
        if (status) {
            printf("%s\n", kiln_last_error(k)->text);
            break;
        }
        test_buffers(k, m);
        test_arrays(k, m);
        test_others(k, m);
        kiln_module_free(m);
    }
    kiln_close(k);
    return api_done("bounds");
}
