// nv_mistakes: what a GPU would hang on, or do wrongly without a word, the interpreter says: every
// fault of mbarriers, copies, tensors, named barriers, clusters and matrix instructions, beside the
// same code without the mistake.
//     nv_mistakes [interp]
#include "nv/nv.h"

static kiln *k;

typedef struct mistake {
    const char *wrong, *right; // all 128 threads run it; NULL: no right one
    const char *code, *words;
} mistake;

// Values that no pass knows come from x: x[n] == n % 251.
static const mistake mistakes[] = {
    {"mbarrier_arrive(&b[1]);", NULL, "K6041", "element 1 of 'b' is used before"},
    {"if (t == 0) { mbarrier_init(b, 1); *(u32 *)b = 77; mbarrier_arrive(b); }", NULL, "K6041",
     "overwritten"},
    {"if (t == 0) mbarrier_init(b, x[0]);", "if (t == 0) mbarrier_init(b, x[1]);", "K6041",
     "0 arrivals"},
    {"if (t == 0) mbarrier_init(b, (u32)x[1] << 20);",
     "if (t == 0) mbarrier_init(b, ((u32)x[1] << 20) - 1);", "K6041", "1048576 arrivals"},
    {"if (t == 0) { mbarrier_init(b, 1); mbarrier_expect(b, 16); mbarrier_arrive(b); "
     "mbarrier_arrive(b); }",
     "if (t == 0) { mbarrier_init(b, 2); mbarrier_expect(b, 0); mbarrier_arrive(b); "
     "mbarrier_arrive(b); }",
     "K6041", "more than 1 arrivals"},
    {"if (t == 0) { mbarrier_init(b, 1); mbarrier_arrive_at(b, 1); }",
     "if (t == 0) { mbarrier_init(b, 1); mbarrier_arrive_at(b, 0); }", "K6041",
     "block 1 of a cluster of 1"},
    {"if (t == 0) { mbarrier_init(b, 2); mbarrier_arrive(b); mbarrier_wait(b, 0); }",
     "if (t == 0) { mbarrier_init(b, 1); mbarrier_arrive(b); mbarrier_wait(b, 0); }", "K6042",
     "phase 0 lacks 1 of 2 arrivals and 0 bytes"},
    {"if (t == 0) { mbarrier_init(b, 1); mbarrier_arrive_expect(b, 32); bulk_load(tile, x, 16, b); "
     "mbarrier_wait(b, 0); }",
     "if (t == 0) { mbarrier_init(b, 1); mbarrier_arrive_expect(b, 16); bulk_load(tile, x, 16, b); "
     "mbarrier_wait(b, 0); }",
     "K6042", "and 16 bytes"},
    {"async_copy_4_part(tile + 4 * t, x + 4 * (t % 64), x[5]); async_commit(); async_wait(0);",
     "async_copy_4_part(tile + 4 * t, x + 4 * (t % 64), x[4]); async_commit(); async_wait(0);",
     "K6043", "a copy of 4 bytes that reads 5"},
    {"async_copy_8_part(tile + 8 * t, x + 8 * (t % 32), x[9]); async_commit(); async_wait(0);",
     "async_copy_8_part(tile + 8 * t, x + 8 * (t % 32), x[8]); async_commit(); async_wait(0);",
     "K6043", "a copy of 8 bytes that reads 9"},
    {"async_copy_16_part(tile + 16 * t, x + 16 * (t % 16), x[17]); async_commit(); async_wait(0);",
     "async_copy_16_part(tile + 16 * t, x + 16 * (t % 16), x[16]); async_commit(); async_wait(0);",
     "K6043", "a copy of 16 bytes that reads 17"},
    {"if (t == 0) { mbarrier_init(b, 1); bulk_load(tile, x, x[100], b); }",
     "if (t == 0) { mbarrier_init(b, 1); bulk_load(tile, x, x[96], b); }", "K6043",
     "a bulk copy of 100 bytes"},
    {"if (t == 0) { mbarrier_init(b, 1); bulk_load(tile, x + x[8], 112, b); }",
     "if (t == 0) { mbarrier_init(b, 1); bulk_load(tile, x + x[16], 112, b); }", "K6022",
     "multiple of 16"},
    {"if (t == 0) { mbarrier_init(b, 1); bulk_load(tile, x + 256, x[32], b); }",
     "if (t == 0) { mbarrier_init(b, 1); bulk_load(tile, x + 240, x[16], b); }", "K6020", "'x'"},
    {"if (t == 0) { mbarrier_init(b, 1); bulk_send(tile, tile + 16, 16, b, x[1]); }",
     "if (t == 0) { mbarrier_init(b, 1); bulk_send(tile, tile + 16, 16, b, x[0]); }", "K6043",
     "no block 1 in a cluster of 1"},
    {"barrier_sync(x[16], 128);", "barrier_sync(x[15], 128);", "K6043", "barrier 16 for 128"},
    {"barrier_sync(1, x[0]);", "barrier_sync(1, x[128]);", "K6043", "barrier 1 for 0 threads"},
    {"barrier_sync(1, x[48]);", NULL, "K6043", "barrier 1 for 48 threads"},
    {"if (warp() < 1) barrier_sync(1, x[64]); else barrier_sync(1, x[96]);",
     "if (warp() < 2) barrier_sync(1, x[64]); else barrier_sync(2, x[64]);", "K6043",
     "where others of this round expect"},
    {"if (warp() == 0) barrier_sync(3, x[64]);", "if (warp() < 2) barrier_sync(3, x[64]);", "K6042",
     "barrier 3: 32 of 64 threads have come"},
    {"cluster_wait();", "cluster_arrive(); cluster_wait();", "K6043",
     "cluster_wait without cluster_arrive"},
    {"cluster_arrive(); cluster_arrive();",
     "cluster_arrive(); cluster_wait(); cluster_arrive(); "
     "cluster_wait();",
     "K6043", "a second cluster_arrive"},
    {"f32 d[32]; u64 a = wgmma_k_major(tile, 128) + x[t < 32 ? 0 : t == 33], c = "
     "wgmma_k_major(tile, 128);"
     "wgmma_fence(); wgmma_bf16(d, a, c, false); wgmma_commit(); wgmma_wait(0); if (d[0] == 7) "
     "tile[0] = 1;",
     "f32 d[32]; u64 a = wgmma_k_major(tile, 128) + x[0], c = wgmma_k_major(tile, 128);"
     "wgmma_fence(); wgmma_bf16(d, a, c, false); wgmma_commit(); wgmma_wait(0); if (d[0] == 7) "
     "tile[0] = 1;",
     "K6043", "differ between threads"},
    {"f32 d[32]; u64 a = wgmma_k_major(tile, 128), c = wgmma_k_major(tile, 128);"
     "if (t < 64) { wgmma_fence(); wgmma_bf16(d, a, c, false); wgmma_commit(); wgmma_wait(0); if "
     "(d[0] == 7) "
     "tile[0] = 1; }",
     "f32 d[32]; u64 a = wgmma_k_major(tile, 128), c = wgmma_k_major(tile, 128);"
     "if (t < 128) { wgmma_fence(); wgmma_bf16(d, a, c, false); wgmma_commit(); wgmma_wait(0); if "
     "(d[0] == 7) "
     "tile[0] = 1; }",
     "K6043", "warp 0 issued 1, warp 2 0"},
    {"f32 d[32]; u64 a = wgmma_k_major(tile, 128), c = wgmma_k_major(tile, 128) + 0x3f00;"
     "wgmma_fence(); wgmma_bf16(d, a, c, false); wgmma_commit(); wgmma_wait(0); if (d[0] == 7) "
     "tile[0] = 1;",
     NULL, "K6043", "operand b of wgmma leaves shared memory"},
    {"f32 d[32]; u64 a = wgmma_k_major(tile, 128) + 0x3f00, c = wgmma_k_major(tile, 128);"
     "wgmma_fence(); wgmma_bf16(d, a, c, false); wgmma_commit(); wgmma_wait(0); if (d[0] == 7) "
     "tile[0] = 1;",
     NULL, "K6043", "operand a of wgmma leaves shared memory"},
};

static kiln_status launch(const char *body)
{
    char source[2048];
    snprintf(source, sizeof source,
             "#include <kiln/kernel.h>\n"
             "kernel block(128) void f(const u8 *x) {\n"
             "    _Alignas(1024) shared u8 tile[16384]; shared mbarrier b[2]; u32 t = thread_x();\n"
             "    tile[t] = 0;\n"
             "    %s\n"
             "}\n",
             body);
    uint8_t bytes[256];
    for (int n = 0; n < 256; n++)
        bytes[n] = (uint8_t)(n % 251);
    kiln_module *m = api_compile(k, source, 0);
    kiln_buffer *x = nv_buffer(k, KILN_U8, 256, bytes);
    kiln_arg arg = kiln_arg_buffer(x);
    kiln_status status = m ? api_launch(api_kernel(m, "f"), 1, 0, &arg, 1) : KILN_E_COMPILE;
    kiln_module_free(m);
    kiln_buffer_free(x);
    return status;
}

// Registers that warpgroups give each other: of 512 threads each has 128 at first.
static void moved_registers(void)
{
    static const struct {
        const char *bounds, *groups[4], *code, *words; // code: NULL if it is right
    } rows[] = {{"", {"more(176)", "more(176)", "more(136)", "less(24)"}, NULL, NULL},
                {"", {"more(208)", "more(208)", "less(72)", "less(24)"}, NULL, NULL},
                {"",
                 {"more(176)", "more(176)", "less(136)", "less(24)"},
                 "K6043",
                 "registers_less(136), where threads have 128"},
                {"",
                 {"more(208)", "more(208)", "less(72)", "less(32)"},
                 "K6042",
                 "for 208 registers: a block of 512 threads has 128 for each"},
                {"min_blocks(2)", {"less(64)", "less(64)", "less(64)", "less(56)"}, NULL, NULL},
                {"min_blocks(2)",
                 {"less(64)", "less(72)", "less(64)", "less(64)"},
                 "K6043",
                 "registers_less(72), where threads have 64"}};
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        char source[1024];
        snprintf(source, sizeof source,
                 "#include <kiln/kernel.h>\n"
                 "kernel block(512) %s void f(u32 *x) {\n"
                 "    if (warp() < 4) registers_%s; else if (warp() < 8) registers_%s;\n"
                 "    else if (warp() < 12) registers_%s; else registers_%s;\n"
                 "    x[thread_x()] = 1;\n"
                 "}\n",
                 rows[n].bounds, rows[n].groups[0], rows[n].groups[1], rows[n].groups[2],
                 rows[n].groups[3]);
        kiln_module *m = api_compile(k, source, 0);
        kiln_buffer *x = nv_buffer(k, KILN_U32, 512, NULL);
        kiln_arg arg = kiln_arg_buffer(x);
        int before = api_failed;
        if (rows[n].code)
            EXPECT(api_launch(api_kernel(m, "f"), 1, 0, &arg, 1), KILN_E_KERNEL, rows[n].code,
                   rows[n].words);
        else
            CHECK(!api_launch(api_kernel(m, "f"), 1, 0, &arg, 1));
        if (api_failed != before)
            printf("in row %zu of the registers\n", n);
        kiln_module_free(m);
        kiln_buffer_free(x);
    }
}

// A tensor map comes from the host program, which may have made it up: one field at a time is set
// to what none has. The offsets are those of interp_tensor (dev/interp/interp.h).
static void made_up_maps(void)
{
    static const char source[] = "#include <kiln/kernel.h>\n"
                                 "kernel block(32) void f(const tensor_map map, u32 *out) {\n"
                                 "    _Alignas(128) shared u32 tile[64]; shared mbarrier full;\n"
                                 "    if (thread_x() == 0) {\n"
                                 "        mbarrier_init(&full, 1);\n"
                                 "        mbarrier_arrive_expect(&full, 64);\n"
                                 "        tensor_load_2d(tile, &map, 0, 1, &full);\n"
                                 "        mbarrier_wait(&full, 0);\n"
                                 "        out[0] = tile[5];\n"
                                 "    }\n"
                                 "}\n";
    static const struct {
        unsigned at, bytes, value;
        const char *words; // NULL: a map as good as before
    } rows[] = {{0, 0, 0, NULL},
                {0, 1, 0, "none of this device"},
                {16, 1, 0, "none of this device"},
                {16, 1, 6, "none of this device"},
                {16, 1, 1, "2 coordinates for a tensor of 1"},
                {16, 1, 3, "none of this device"},
                {17, 1, 0, "none of this device"},
                {17, 1, 9, "none of this device"},
                {18, 1, 4, "none of this device"},
                {18, 1, 3, "a box row of 64 bytes with a swizzle of 128"},
                {19, 1, 100, "none of this device"},
                {24, 2, 0, "none of this device"},
                {24, 2, 257, "none of this device"},
                {26, 2, 0, "none of this device"},
                {34, 1, 0, "none of this device"},
                {35, 1, 0, "none of this device"},
                {36, 1, 0, NULL}}; // of a dimension that it does not have
    uint32_t data[64];
    for (uint32_t n = 0; n < 64; n++)
        data[n] = 100 + n;
    kiln_module *m = api_compile(k, source, 0);
    kiln_buffer *x = nv_buffer(k, KILN_U32, 64, data), *out = nv_buffer(k, KILN_U32, 1, data);
    kiln_tensor_map_desc desc;
    kiln_tensor_map map, changed;
    memset(&desc, 0, sizeof desc);
    desc.buffer = x;
    desc.type = KILN_U32;
    desc.rank = 2;
    desc.size[0] = 16;
    desc.size[1] = 4;
    desc.box[0] = 16;
    desc.box[1] = 1;
    CHECK(m && !kiln_tensor_map_make(k, &desc, &map));
    for (size_t n = 0; m && n < sizeof rows / sizeof *rows; n++) {
        changed = map;
        memcpy((char *)&changed + rows[n].at, &rows[n].value, rows[n].bytes);
        kiln_arg args[] = {kiln_arg_struct(&changed, sizeof changed), kiln_arg_buffer(out)};
        uint32_t got = 0;
        int before = api_failed;
        if (rows[n].words)
            EXPECT(api_launch(api_kernel(m, "f"), 1, 0, args, 2), KILN_E_KERNEL, "K6043",
                   rows[n].words);
        else
            CHECK(!api_launch(api_kernel(m, "f"), 1, 0, args, 2) && !kiln_read(out, 0, &got, 1) &&
                  got == 121);
        if (api_failed != before)
            printf("in row %zu of the maps: byte %u, got %u\n", n, rows[n].at, got);
    }
    kiln_module_free(m);
    kiln_buffer_free(x);
    kiln_buffer_free(out);
}

int main(int argc, char **argv)
{
    if (kiln_open(argc > 1 ? argv[1] : "interp", &k)) {
        printf("%s\n", kiln_last_error(NULL)->text);
        return 1;
    }
    if (strcmp(kiln_device_name(k), "interp") != 0) {
        printf("skipped: on %s such a kernel ends the device's work, or hangs\n"
               "nv_mistakes: 0 passed, 0 failed, 1 skipped\n",
               kiln_device_name(k));
        kiln_close(k);
        return 0;
    }
    for (size_t n = 0; n < sizeof mistakes / sizeof *mistakes; n++) {
        const mistake *m = &mistakes[n];
        int before = api_failed;
        EXPECT(launch(m->wrong), KILN_E_KERNEL, m->code, m->words);
        if (m->right)
            CHECK(launch(m->right) == KILN_OK);
        if (api_failed != before)
            printf("in row %zu: %s\n%s\n", n, m->wrong, kiln_last_error(k)->text);
    }
    moved_registers();
    made_up_maps();
    kiln_close(k);
    return api_done("nv_mistakes");
}
