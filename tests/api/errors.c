// Every way a call can be refused or a kernel can fail: status, code and words.
#include "api.h"

static const char source[] =
    "#include <kiln/kernel.h>\n"                                                         // 1
    "typedef struct pair { i32 a, b; } pair;\n"                                          // 2
    "static const i32 table[4] = {1, 2, 3, 4};\n"                                        // 3
    "kernel block(64) void f(const f16 *gamma, u8 small, pair p, f32 *y) {\n"            // 4
    "    y[0] = f32(gamma[0]) + f32((i32)small + p.a);\n"                                // 5
    "}\n"                                                                                // 6
    "kernel void bounds(i32 *x, i32 i) {\n"                                              // 7
    "    x[i] = 1;\n"                                                                    // 8
    "}\n"                                                                                // 9
    "kernel void null(i32 *x) { i32 *p = x; if (x[0] == 0) p = 0; p[0] = 1; }\n"         // 10
    "kernel void align(u8 *x, i32 i) { *(i32 *)(x + i) = 1; }\n"                         // 11
    "kernel void constant(i32 *x, i32 i) { i32 *p = i ? (i32 *)table : x; p[0] = 1; }\n" // 12
    "kernel void asserts(i32 n) {\n"                                                     // 13
    "    assert((i32)thread_x() < n);\n"                                                 // 14
    "}\n"                                                                                // 15
    "kernel void traps(i32 n) { if (n == 3) trap(); }\n"                                 // 16
    "kernel void never(i32 n) { if (n == 3) unreachable(); }\n"                          // 17
    "kernel block(64) void missed(i32 *x) {\n"                                           // 18
    "    if (promise_block_uniform(thread_x() < 40))\n"                                  // 19
    "        barrier();\n"                                                               // 20
    "}\n"                                                                                // 21
    "kernel block(64) void parted(i32 *x) {\n"                                           // 22
    "    if (promise_block_uniform(warp() == 0))\n"                                      // 23
    "        barrier();\n"                                                               // 24
    "    else\n"                                                                         // 25
    "        barrier();\n"                                                               // 26
    "}\n"                                                                                // 27
    "kernel void forever(i32 *x) { while (atomic_load(x) == 0) { } }\n"                  // 28
    "shared i32 huge[50000];\n"                                                          // 29
    "kernel block(32) void big(i32 *x) { huge[thread_x()] = 1; x[0] = huge[0]; }\n"      // 30
    "kernel block(32) void scale(f32 *x, f32 a) { x[thread_x()] *= a; }\n";              // 31

static kiln *k;
static kiln_module *m;

static void opening(void)
{
    kiln *other = NULL;
    EXPECT(kiln_open("toaster", &other), KILN_E_NOT_FOUND, "K6001", "no device 'toaster'");
    CHECK(other == NULL);
    EXPECT(kiln_open("interp", NULL), KILN_E_BAD_ARGUMENT, "K6003", "out is NULL");
    EXPECT(kiln_sync(NULL), KILN_E_BAD_HANDLE, "K6002", "NULL was given");
}

static void switches(void)
{
    static const char *const bad[][3] = {
        {"KILN_CHECK", "bogus", "KILN_CHECK=bogus: the switch takes some of these"},
        {"KILN_DEBUG", "abc", "KILN_DEBUG=abc: the switch takes a number from 0 to 6"},
        {"KILN_CACHE_SIZE", "abc", "KILN_CACHE_SIZE=abc: the switch takes a size"},
        {"KILN_CPU", "fast", "KILN_CPU=fast: the switch takes one of background wait quick"},
        {"KILN_TARGET", "bogus", "KILN_TARGET=bogus: the switch takes a GPU's target"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        kiln *other = NULL;
        const char *before = getenv(bad[i][0]);
        char kept[64];
        snprintf(kept, sizeof kept, "%s", before ? before : "");
        setenv(bad[i][0], bad[i][1], 1);
        EXPECT(kiln_open("interp", &other), KILN_E_BAD_ARGUMENT, "K6009", bad[i][2]);
        CHECK(other == NULL && kiln_last_error(NULL)->hint[0]);
        setenv(bad[i][0], kept, 1); // empty: as if it were not there
        CHECK(!kiln_open("interp", &other));
        kiln_close(other);
    }
}

static void targets(void)
{
    static const char *const devices[] = {"interp", "cpu"};
    for (int i = 0; i < 2; i++) {
        kiln *other = NULL;
        kiln_module *made = NULL;
        kiln_compile_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.source = "";
        desc.target = "sm_9999";
        CHECK(!kiln_open(devices[i], &other));
        EXPECT(kiln_compile(other, &desc, &made), KILN_E_BAD_ARGUMENT, "K6003",
               "'sm_9999' is no target of");
        desc.target = "sm_90a";
        CHECK(!kiln_compile(other, &desc, &made));
        desc.target = "interp";
        CHECK(!kiln_compile(other, &desc, &made));
        kiln_close(other);
    }
}

static kiln_status compile_text(const char *text, const char *path)
{
    kiln_compile_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.source = text;
    desc.path = path;
    kiln_module *made = NULL;
    kiln_status status = kiln_compile(k, &desc, &made);
    CHECK(!made == (status != KILN_OK));
    kiln_module_free(made);
    return status;
}

static void compiling(void)
{
    EXPECT(compile_text(NULL, NULL), KILN_E_BAD_ARGUMENT, "K6003", "neither a path nor a source");
    EXPECT(compile_text(NULL, "/nowhere/at/all.c"), KILN_E_IO, "K6005", "/nowhere/at/all.c");
    EXPECT(kiln_compile(k, NULL, &m), KILN_E_BAD_ARGUMENT, "K6003", "neither");
    CHECK(compile_text("#include <kiln/kernel.h>\nkernel void f(f32 *x) { x[0] = y; }\n", "a.c") ==
          KILN_E_COMPILE);
    const kiln_error *e = kiln_last_error(k);
    CHECK(e->code[0] == 'K' && strstr(e->text, "a.c:2:32") && strstr(e->text, "'y'"));
    CHECK(strcmp(e->file, "a.c") == 0 && e->line == 2 && e->column == 32);
    CHECK(compile_text("", "empty.c") == KILN_OK);
    kiln_compile_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.source = "this is no IR";
    desc.is_ir = true;
    EXPECT(kiln_compile(k, &desc, &m), KILN_E_COMPILE, "K6008", "the IR text");
}

static void asking(void)
{
    kiln_kernel *kernel = NULL;
    kiln_param_info info;
    EXPECT(kiln_module_kernel(m, "bound", &kernel), KILN_E_NOT_FOUND, "K6006",
           "did you mean 'bounds'");
    EXPECT(kiln_module_kernel(m, "xyzzy_nothing", &kernel), KILN_E_NOT_FOUND, "K6006",
           "no kernel 'xyzzy_nothing'");
    EXPECT(kiln_module_kernel(m, NULL, &kernel), KILN_E_NOT_FOUND, "K6006", "say which one");
    EXPECT(kiln_module_kernel_at(m, 99, &kernel), KILN_E_NOT_FOUND, "K6006", "kernel 99");
    EXPECT(kiln_module_kernel(m, "f", NULL), KILN_E_BAD_ARGUMENT, "K6003", "out is NULL");
    EXPECT(kiln_kernel_param(api_kernel(m, "f"), 9, &info), KILN_E_NOT_FOUND, "K6003",
           "parameter 9");
    EXPECT(kiln_kernel_param(api_kernel(m, "f"), 0, NULL), KILN_E_BAD_ARGUMENT, "K6003", "NULL");
}

static void buffers(void)
{
    kiln_buffer *b = NULL;
    float x[4] = {0, 0, 0, 0};
    EXPECT(kiln_buffer_new(k, KILN_F32, SIZE_MAX / 2, &b), KILN_E_NO_MEMORY, "K6004", "no memory");
    CHECK(b == NULL);
    EXPECT(kiln_buffer_new(k, (kiln_type)99, 1, &b), KILN_E_BAD_ARGUMENT, "K6003", "type");
    EXPECT(kiln_buffer_new_bytes(k, 0, 1, &b), KILN_E_BAD_ARGUMENT, "K6003", "size above 0");
    EXPECT(kiln_buffer_new(k, KILN_F32, 1, NULL), KILN_E_BAD_ARGUMENT, "K6003", "out is NULL");
    CHECK(!kiln_buffer_new(k, KILN_F32, 4, &b));
    EXPECT(kiln_write(b, 2, x, 3), KILN_E_BAD_ARGUMENT, "K6017",
           "elements 2 to 5 of a buffer of 4");
    EXPECT(kiln_read(b, 5, x, 0), KILN_E_BAD_ARGUMENT, "K6017", "buffer of 4");
    EXPECT(kiln_read(b, 1, x, SIZE_MAX), KILN_E_BAD_ARGUMENT, "K6017", "buffer of 4");
    EXPECT(kiln_write(b, 0, NULL, 1), KILN_E_BAD_ARGUMENT, "K6003", "host pointer is NULL");
    EXPECT(kiln_fill(b, NULL), KILN_E_BAD_ARGUMENT, "K6003", "NULL");
    kiln_buffer_free(b);
}

static void arguments(void)
{
    kiln_kernel *f = api_kernel(m, "f");
    kiln *other = NULL;
    kiln_buffer *half, *full, *foreign;
    int32_t pair[2] = {1, 2};
    CHECK(!kiln_open("interp", &other) && !kiln_buffer_new(other, KILN_F16, 4, &foreign));
    CHECK(!kiln_buffer_new(k, KILN_F16, 4, &half) && !kiln_buffer_new(k, KILN_F32, 4, &full));
    const kiln_arg good[] = {kiln_arg_buffer(half), kiln_arg_i64(KILN_U8, 255),
                             kiln_arg_struct(pair, 8), kiln_arg_buffer(full)};
    kiln_arg args[4];
#define TRY(index, arg, status, code, words)                                                       \
    do {                                                                                           \
        memcpy(args, good, sizeof args);                                                           \
        args[index] = (arg);                                                                       \
        EXPECT(api_launch(f, 1, 0, args, 4), status, code, words);                                 \
    } while (0)
    CHECK(!api_launch(f, 1, 0, good, 4));
    EXPECT(api_launch(f, 1, 0, good, 3), KILN_E_LAUNCH, "K6010",
           "has 4 parameters, the launch gives 3 arguments");
    EXPECT(api_launch(f, 1, 0, NULL, 4), KILN_E_BAD_ARGUMENT, "K6003", "4 arguments at NULL");
    TRY(0, kiln_arg_buffer(full), KILN_E_LAUNCH, "K6011",
        "argument 1 'gamma': kernel 'f' expects an f16 buffer, got an f32 buffer");
    TRY(0, kiln_arg_i64(KILN_I32, 1), KILN_E_LAUNCH, "K6011", "got an i32 number");
    TRY(0, kiln_arg_buffer(NULL), KILN_E_BAD_HANDLE, "K6002", "argument 1 'gamma'");
    TRY(0, kiln_arg_buffer(foreign), KILN_E_LAUNCH, "K6014", "belongs to another");
    TRY(0, kiln_arg_buffer_at(half, 5), KILN_E_LAUNCH, "K6017", "element 5 of a buffer of 4");
    TRY(1, kiln_arg_i64(KILN_U8, 256), KILN_E_LAUNCH, "K6012", "256 does not fit u8");
    TRY(1, kiln_arg_i64(KILN_I32, -1), KILN_E_LAUNCH, "K6012", "-1 does not fit u8");
    TRY(1, kiln_arg_f64(KILN_F32, 1), KILN_E_LAUNCH, "K6011", "expects a u8, got an f32 number");
    TRY(1, kiln_arg_buffer(full), KILN_E_LAUNCH, "K6011", "expects a u8");
    TRY(1, kiln_arg_f64(KILN_U8, 1), KILN_E_LAUNCH, "K6011",
        "kiln_arg_f64 of u8, which is no float");
    TRY(1, kiln_arg_bits(KILN_U8, pair, 3), KILN_E_LAUNCH, "K6011",
        "kiln_arg_bits of 3 bytes for u8, which has 1");
    TRY(1, kiln_arg_bits(KILN_U8, NULL, 1), KILN_E_LAUNCH, "K6011", "kiln_arg_bits of NULL");
    TRY(2, kiln_arg_struct(pair, 4), KILN_E_LAUNCH, "K6013", "struct of 8 bytes");
    TRY(2, kiln_arg_struct(NULL, 8), KILN_E_LAUNCH, "K6013", "at NULL");
    TRY(2, kiln_arg_i64(KILN_I32, 1), KILN_E_LAUNCH, "K6011", "expects a struct of 8 bytes");
    kiln_arg scale[] = {kiln_arg_buffer(full), kiln_arg_i64(KILN_F32, 1)};
    EXPECT(api_launch(api_kernel(m, "scale"), 1, 0, scale, 2), KILN_E_LAUNCH, "K6011",
           "expects an f32, got kiln_arg_i64 of f32, which is no integer");
    scale[1] = kiln_arg_bits(KILN_F32, pair, 8);
    EXPECT(api_launch(api_kernel(m, "scale"), 1, 0, scale, 2), KILN_E_LAUNCH, "K6011",
           "kiln_arg_bits of 8 bytes for f32, which has 4");
    kiln_arg nothing;
    memset(&nothing, 0, sizeof nothing);
    TRY(3, nothing, KILN_E_LAUNCH, "K6011", "got nothing");
    CHECK(!api_launch(f, 1, 64, good, 4)); // the kernel's own block said again
    EXPECT(api_launch(f, 1, 128, good, 4), KILN_E_LAUNCH, "K6015",
           "blocks of 64 x 1 x 1, the launch says 128 x 1 x 1");
    EXPECT(kiln_launch(f, NULL), KILN_E_BAD_ARGUMENT, "K6003", "description is NULL");
    EXPECT(kiln_launch(NULL, NULL), KILN_E_BAD_HANDLE, "K6002", "NULL was given");
    kiln_close(other);
}

static void sizes(void)
{
    kiln_buffer *b;
    kiln_launch_desc desc;
    memset(&desc, 0, sizeof desc);
    CHECK(!kiln_buffer_new(k, KILN_I32, 4, &b));
    kiln_arg args[] = {kiln_arg_buffer(b), kiln_arg_i64(KILN_I32, 0)};
    desc.args = args;
    desc.arg_count = 2;
    desc.grid[0] = 1;
    kiln_kernel *bounds = api_kernel(m, "bounds");
    EXPECT(kiln_launch(bounds, &desc), KILN_E_LAUNCH, "K6015", "must give the block's size");
    desc.block[0] = 2048;
    EXPECT(kiln_launch(bounds, &desc), KILN_E_LAUNCH, "K6015", "2048 threads along x");
    desc.block[0] = 64, desc.block[1] = 32;
    EXPECT(kiln_launch(bounds, &desc), KILN_E_LAUNCH, "K6015", "2048 threads: at most 1024");
    desc.block[1] = 1;
    desc.items[0] = 1;
    EXPECT(kiln_launch(bounds, &desc), KILN_E_LAUNCH, "K6015", "a grid and items");
    desc.items[0] = 0;
    desc.grid[1] = 65536;
    EXPECT(kiln_launch(bounds, &desc), KILN_E_LAUNCH, "K6015", "65536 blocks along y");
    // The text is complete: it names the kernel, where it is written, and the launch.
    const kiln_error *e = kiln_last_error(k);
    char at[64];
    snprintf(at, sizeof at, "\n  at %s:%d\n", e->file, e->line);
    CHECK(e->line > 0 && strstr(e->text, at));
    CHECK(strstr(e->text, "\n  in a launch of kernel 'bounds' with grid 1 x 65536 x 1, block 64 x "
                          "1 x 1"));
    CHECK(strcmp(e->text, kiln_last_error(NULL)->text) == 0);
    desc.grid[0] = desc.grid[1] = 0;
    desc.items[0] = 1, desc.items[1] = 70000;
    EXPECT(kiln_launch(bounds, &desc), KILN_E_LAUNCH, "K6015",
           "of kernel 'bounds' with items 1 x 70000 x 1");
    desc.items[0] = desc.items[1] = 0;
    desc.grid[0] = 1;
    desc.grid[1] = 1;
    desc.shared_bytes = 300000;
    EXPECT(kiln_launch(bounds, &desc), KILN_E_LAUNCH, "K6016", "the launch adds 300000");
    desc.shared_bytes = 0;
    desc.grid[0] = 0;
    CHECK(!kiln_launch(bounds, &desc)); // no blocks: nothing to do
    desc.grid[0] = 1;
    desc.block[0] = 0, desc.block[1] = 0;
    desc.arg_count = 1;
    desc.shared_bytes = 40000;
    EXPECT(kiln_launch(api_kernel(m, "big"), &desc), KILN_E_LAUNCH, "K6016", "200000 bytes");
    kiln_buffer_free(b);
}

static void kernels(int optimise)
{
    kiln_buffer *b, *bytes;
    int32_t zero = 0;
    CHECK(!kiln_buffer_new(k, KILN_I32, 4, &b) && !kiln_buffer_new(k, KILN_U8, 64, &bytes));
    kiln_arg args[] = {kiln_arg_buffer(b), kiln_arg_i64(KILN_I32, 4)};
    EXPECT(api_launch(api_kernel(m, "bounds"), 2, 3, args, 2), KILN_E_KERNEL, "K6020",
           "writes element 4 of 'x', which has 4 elements");
    const kiln_error *e = kiln_last_error(k);
    CHECK(strcmp(e->kernel, "bounds") == 0 && strcmp(e->file, "test.c") == 0 && e->line == 8);
    CHECK(strstr(e->text, "thread (0, 0, 0) of block (0, 0, 0)") && e->hint[0]);
    args[1] = kiln_arg_i64(KILN_I32, -1);
    EXPECT(api_launch(api_kernel(m, "bounds"), 1, 1, args, 2), KILN_E_KERNEL, "K6020",
           "element -1 of 'x'");
    args[0] = kiln_arg_buffer_at(b, 2);
    args[1] = kiln_arg_i64(KILN_I32, 2);
    EXPECT(api_launch(api_kernel(m, "bounds"), 1, 1, args, 2), KILN_E_KERNEL, "K6020",
           "element 2 of 'x', which has 2 elements");
    args[0] = kiln_arg_buffer(b);
    EXPECT(api_launch(api_kernel(m, "null"), 1, 1, args, 1), KILN_E_KERNEL, "K6021",
           "null pointer");
    kiln_arg align[] = {kiln_arg_buffer(bytes), kiln_arg_i64(KILN_I32, 2)};
    EXPECT(api_launch(api_kernel(m, "align"), 1, 1, align, 2), KILN_E_KERNEL, "K6022",
           "at byte 2 of 'x': not a multiple of 4");
    kiln_arg number[] = {kiln_arg_i64(KILN_I32, 3)};
    EXPECT(api_launch(api_kernel(m, "constant"), 1, 1, args, 2), KILN_E_KERNEL, "K6023",
           "'table', which is constant memory");
    EXPECT(api_launch(api_kernel(m, "asserts"), 2, 64, number, 1), KILN_E_KERNEL, "K6024",
           "assertion failed: (i32)thread_x() < n");
    e = kiln_last_error(k);
    CHECK(strstr(e->text, "thread (3, 0, 0) of block (0, 0, 0)") && e->line == 14);
    EXPECT(api_launch(api_kernel(m, "traps"), 1, 1, number, 1), KILN_E_KERNEL, "K6025", "trap()");
    if (optimise < 0) // the optimiser may use the promise
        EXPECT(api_launch(api_kernel(m, "never"), 1, 1, number, 1), KILN_E_KERNEL, "K6026",
               "unreachable");
    EXPECT(api_launch(api_kernel(m, "missed"), 1, 0, args, 1), KILN_E_KERNEL, "K6027",
           "does not reach");
    e = kiln_last_error(k);
    CHECK(e->line == 20 && strstr(e->text, "test.c:19"));
    EXPECT(api_launch(api_kernel(m, "parted"), 1, 0, args, 1), KILN_E_KERNEL, "K6027",
           "it waits at another");
    e = kiln_last_error(k);
    CHECK(strstr(e->text, "test.c:24") && strstr(e->text, "test.c:26"));
    CHECK(!kiln_fill(b, &zero));
    EXPECT(api_launch(api_kernel(m, "forever"), 1, 1, args, 1), KILN_E_KERNEL, "K6028",
           "the limit of this launch");
    // A kernel that failed leaves everything usable.
    args[1] = kiln_arg_i64(KILN_I32, 0);
    CHECK(!api_launch(api_kernel(m, "bounds"), 1, 1, args, 2));
    CHECK(!kiln_read(b, 0, &zero, 1) && zero == 1);
    kiln_buffer_free(b);
    kiln_buffer_free(bytes);
}

// A kernel may go wrong before the context has a single buffer.
static void without_buffers(const char *device)
{
    static const char text[] = "#include <kiln/kernel.h>\n"
                               "kernel void zero(u64 at) { *(u32 *)at = 1; }\n"
                               "kernel void rows(u64 at) { atomic_add((u32 *)at, 1u); }\n";
    kiln *other = NULL;
    CHECK(!kiln_open(device, &other));
    kiln_module *mine = api_compile(other, text, 0);
    kiln_arg at = kiln_arg_i64(KILN_U64, 0), far = kiln_arg_i64(KILN_U64, (int64_t)1 << 50);
    if (mine) {
        EXPECT(api_launch(api_kernel(mine, "zero"), 1, 1, &at, 1), KILN_E_KERNEL, "K6021",
               "writes through a null pointer");
        EXPECT(api_launch(api_kernel(mine, "rows"), 1, 1, &at, 1), KILN_E_KERNEL, "K6021",
               "writes through a null pointer");
        CHECK(api_launch(api_kernel(mine, "zero"), 1, 1, &far, 1) == KILN_E_KERNEL);
    }
    kiln_module_free(mine);
    kiln_close(other);
}

int main(void)
{
    setenv("KILN_STEPS", "3000000", 1);
    opening();
    without_buffers("interp");
    without_buffers("cpu");
    switches();
    targets();
    CHECK(!kiln_open(NULL, &k));
    compiling();
    for (int optimise = -1; optimise <= 1; optimise += 2) {
        m = api_compile(k, source, optimise);
        if (!m)
            break;
        asking();
        buffers();
        arguments();
        sizes();
        kernels(optimise);
        kiln_module_free(m);
    }
    kiln_close(k);
    return api_done("errors");
}
