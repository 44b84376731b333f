// The way through: open, compile, look, fill, launch, read, close.
#include "api.h"

static const char source[] =
    "#include <kiln/kernel.h>\n"
    "typedef struct pair { i32 first; f32 second; } pair;\n"
    "kernel block(64) void scale(const f32 *x, f32 *y, f32 a, u32 n)\n"
    "{\n"
    "    u32 i = global_x();\n"
    "    if (i < n)\n"
    "        y[i] = a * x[i];\n"
    "}\n"
    "kernel void structs(pair p, pair *out, i64 big, bool flag)\n"
    "{\n"
    "    if (thread_x() == 0) {\n"
    "        out[0].first = p.first + (flag ? 1 : 0);\n"
    "        out[0].second = p.second + f32(big);\n"
    "    }\n"
    "}\n"
    "kernel block(32) void wide(const f32x4 *in, f32 *out)\n"
    "{\n"
    "    f32x4 v = in[thread_x()];\n"
    "    out[thread_x()] = v.x + v.y + v.z + v.w;\n"
    "}\n"
    "tune(FACTOR, 3, 5);\n"
    "enum { FIRST = -2, ROW_BYTES = sizeof(f32x4) * FACTOR };\n"
    "shared i32 tile[];\n"
    "kernel block(32) void dynamic(i32 *out)\n"
    "{\n"
    "    tile[thread_x()] = (i32)thread_x() * 2;\n"
    "    barrier();\n"
    "    out[thread_x()] = tile[31 - thread_x()] + (i32)dynamic_shared_bytes();\n"
    "}\n";

typedef struct pair {
    int32_t first;
    float second;
} pair;

static void reflection(kiln_module *m)
{
    kiln_param_info info;
    uint32_t block[3];
    kiln_kernel *scale = api_kernel(m, "scale"), *structs = api_kernel(m, "structs");
    CHECK(kiln_module_kernel_count(m) == 4);
    CHECK(strcmp(kiln_kernel_name(scale), "scale") == 0);
    CHECK(kiln_kernel_param_count(scale) == 4);
    CHECK(!kiln_kernel_param(scale, 0, &info) && info.kind == KILN_PARAM_POINTER);
    CHECK(info.type == KILN_F32 && info.is_const && strcmp(info.name, "x") == 0 && info.size == 4);
    CHECK(strcmp(info.c_type, "const f32 *") == 0);
    CHECK(!kiln_kernel_param(scale, 3, &info) && info.kind == KILN_PARAM_SCALAR &&
          info.type == KILN_U32);
    CHECK(!kiln_kernel_param(structs, 0, &info) && info.kind == KILN_PARAM_STRUCT &&
          info.size == 8);
    kiln_kernel_block(scale, block);
    CHECK(block[0] == 64 && block[1] == 1 && block[2] == 1);
    kiln_kernel_block(structs, block);
    CHECK(block[0] == 0);
    int64_t value = 0;
    CHECK(!kiln_kernel_constant(scale, "ROW_BYTES", &value) && value == 48);
    CHECK(!kiln_kernel_constant(scale, "FIRST", &value) && value == -2);
    CHECK(!kiln_kernel_constant(scale, "FACTOR", &value) && value == 3);
    CHECK(kiln_kernel_constant(scale, "SECOND", &value) == KILN_E_BAD_ARGUMENT && value == 3);
    CHECK(kiln_kernel_constant(scale, "FIRST", NULL) == KILN_E_BAD_ARGUMENT);
    CHECK(kiln_kernel_constant(scale, NULL, &value) == KILN_E_BAD_ARGUMENT);
    CHECK(kiln_kernel_constant(NULL, "FIRST", &value) == KILN_E_BAD_HANDLE);
}

static void scale_numbers(kiln *k, kiln_module *m)
{
    enum { N = 1000 };
    static float x[N], y[N];
    kiln_buffer *bx, *by;
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    CHECK(!kiln_buffer_new(k, KILN_F32, N, &bx) && !kiln_buffer_new(k, KILN_F32, N, &by));
    CHECK(!kiln_write(bx, 0, x, N));
    CHECK(kiln_buffer_count(bx) == N && kiln_buffer_bytes(bx) == N * 4);
    CHECK(kiln_buffer_type(bx) == KILN_F32);
    kiln_arg args[] = {kiln_arg_buffer(bx), kiln_arg_buffer(by), kiln_arg_f64(KILN_F32, 2.5),
                       kiln_arg_i64(KILN_U32, N)};
    kiln_launch_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.items[0] = N;
    desc.args = args;
    desc.arg_count = 4;
    CHECK(!kiln_launch(api_kernel(m, "scale"), &desc));
    CHECK(!kiln_sync(k));
    CHECK(!kiln_read(by, 0, y, N));
    bool all = true;
    for (int i = 0; i < N; i++)
        all = all && y[i] == 2.5f * (float)i;
    CHECK(all);
    // From the middle of a buffer; and nothing at all.
    args[0] = kiln_arg_buffer_at(bx, 900);
    args[3] = kiln_arg_i64(KILN_U32, 100);
    desc.items[0] = 100;
    CHECK(!kiln_launch(api_kernel(m, "scale"), &desc));
    CHECK(!kiln_read(by, 99, y, 1) && y[0] == 2.5f * 999);
    desc.items[0] = 0, desc.items[1] = 1;
    CHECK(!kiln_launch(api_kernel(m, "scale"), &desc));
    desc.items[1] = 0;
    EXPECT(kiln_launch(api_kernel(m, "scale"), &desc), KILN_E_LAUNCH, "K6015",
           "neither a grid nor items");
    kiln_grid zero;
    memset(&zero, 0, sizeof zero);
    EXPECT(kiln_launch_grid(api_kernel(m, "scale"), zero, args, 4), KILN_E_LAUNCH, "K6015",
           "neither a grid nor items");
    kiln_buffer_free(bx);
    kiln_buffer_free(by);
}

static void structs_and_more(kiln *k, kiln_module *m)
{
    kiln_buffer *out, *empty, *in;
    pair p = {41, 0.5f}, result = {0, 0};
    CHECK(!kiln_buffer_new_bytes(k, sizeof(pair), 1, &out));
    kiln_arg args[] = {kiln_arg_struct(&p, sizeof p), kiln_arg_buffer(out),
                       kiln_arg_i64(KILN_I64, 10), kiln_arg_i64(KILN_BOOL, 1)};
    CHECK(!api_launch(api_kernel(m, "structs"), 1, 40, args, 4));
    CHECK(!kiln_read(out, 0, &result, 1) && result.first == 42 && result.second == 10.5f);
    CHECK(!kiln_buffer_new(k, KILN_F32, 0, &empty) && kiln_buffer_count(empty) == 0);
    CHECK(!kiln_write(empty, 0, NULL, 0) && !kiln_read(empty, 0, NULL, 0));
    kiln_buffer_free(empty);

    float one = 1, sum = 0;
    kiln_buffer *sums;
    CHECK(!kiln_buffer_new(k, KILN_F32, 128, &in) && !kiln_buffer_new(k, KILN_F32, 32, &sums));
    CHECK(!kiln_fill(in, &one));
    kiln_arg wide[] = {kiln_arg_buffer(in), kiln_arg_buffer(sums)};
    CHECK(!api_launch(api_kernel(m, "wide"), 1, 0, wide, 2));
    CHECK(!kiln_read(sums, 31, &sum, 1) && sum == 4);

    kiln_buffer *ints;
    int32_t got = 0;
    CHECK(!kiln_buffer_new(k, KILN_I32, 32, &ints));
    kiln_arg dynamic = kiln_arg_buffer(ints);
    kiln_launch_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.grid[0] = 1;
    desc.shared_bytes = 128;
    desc.args = &dynamic;
    desc.arg_count = 1;
    CHECK(!kiln_launch(api_kernel(m, "dynamic"), &desc));
    CHECK(!kiln_read(ints, 1, &got, 1) && got == 60 + 128);
    // The rest is freed by kiln_close.
}

int main(void)
{
    CHECK(strcmp(kiln_version(), KILN_VERSION) == 0);
    CHECK(kiln_type_size(KILN_BF16) == 2 && strcmp(kiln_type_name(KILN_F8E4), "f8e4") == 0);
    CHECK(kiln_last_error(NULL)->status == KILN_OK);
    kiln *k = NULL;
    CHECK(!kiln_open("interp", &k) && strcmp(kiln_device_name(k), "interp") == 0);
    for (int optimise = -1; optimise <= 1; optimise += 2) {
        kiln_module *m = api_compile(k, source, optimise);
        if (!m)
            break;
        CHECK(strcmp(kiln_module_log(m), "") == 0);
        reflection(m);
        scale_numbers(k, m);
        structs_and_more(k, m);
        kiln_module_free(m);
    }
    kiln_close(k);
    kiln_close(NULL);
    return api_done("basic");
}
