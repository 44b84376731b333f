// kiln_check: findings with both ends, what is counted, what is refused.
#include "api.h"

static const char source[] =
    "#include <kiln/kernel.h>\n"                    // 1
    "kernel block(64) void turn(f32 *x) {\n"        // 2
    "    shared f32 tile[64];\n"                    // 3
    "    tile[thread_x()] = x[thread_x()];\n"       // 4
    "    x[thread_x()] = tile[63 - thread_x()];\n"  // 5
    "}\n"                                           // 6
    "kernel block(64) void fine(f32 *x, u32 n) {\n" // 7
    "    if (global_x() < n)\n"                     // 8
    "        x[global_x()] += 1;\n"                 // 9
    "}\n"                                           // 10
    "kernel block(32) void loop(u32 *x) { while (atomic_load(x) == 0) { } }\n"
    "kernel block(32) void null(u64 at) { *(u32 *)at = 1; }\n";

typedef struct seen {
    int calls;
    kiln_finding last;
    char code[8], array[16], text[2000];
} seen;

static void on_finding(void *user, const kiln_finding *f)
{
    seen *s = (seen *)user;
    s->calls++;
    s->last = *f;
    snprintf(s->code, sizeof s->code, "%s", f->code);
    snprintf(s->array, sizeof s->array, "%s", f->array);
    snprintf(s->text, sizeof s->text, "%s", f->text);
}

static size_t check(kiln_kernel *kernel, kiln_arg *args, size_t count, uint32_t blocks, bool all,
                    const bool *is_unset, seen *s)
{
    kiln_check_desc desc;
    size_t findings = 99;
    memset(&desc, 0, sizeof desc);
    memset(s, 0, sizeof *s);
    desc.launch.args = args;
    desc.launch.arg_count = count;
    desc.launch.grid[0] = blocks;
    desc.all = all;
    desc.is_unset = is_unset;
    desc.step_limit = 200000;
    desc.finding = on_finding;
    desc.user = s;
    CHECK(kiln_check(kernel, &desc, &findings) == KILN_OK);
    return findings;
}

int main(void)
{
    kiln *k = NULL;
    kiln_module *m = NULL, *plain = NULL;
    kiln_kernel *turn = NULL, *fine = NULL, *loop = NULL, *other = NULL, *null = NULL;
    kiln_buffer *x = NULL, *u = NULL;
    kiln_compile_desc desc;
    seen s;
    memset(&desc, 0, sizeof desc);
    desc.path = "test.c";
    desc.source = source;
    CHECK(kiln_open("interp", &k) == KILN_OK);
    CHECK(kiln_compile(k, &desc, &plain) == KILN_OK);
    desc.for_check = true;
    CHECK(kiln_compile(k, &desc, &m) == KILN_OK);
    CHECK(!kiln_module_kernel(m, "turn", &turn) && !kiln_module_kernel(m, "fine", &fine) &&
          !kiln_module_kernel(m, "loop", &loop) && !kiln_module_kernel(plain, "turn", &other) &&
          !kiln_module_kernel(m, "null", &null));
    kiln_arg nowhere = kiln_arg_i64(KILN_U64, 0); // before the first buffer
    CHECK(check(null, &nowhere, 1, 1, false, NULL, &s) == 1 && !strcmp(s.code, "K6212"));
    CHECK(!kiln_buffer_new(k, KILN_F32, 128, &x) && !kiln_buffer_new(k, KILN_U32, 4, &u));
    kiln_arg args[2] = {kiln_arg_buffer(x), kiln_arg_i64(KILN_U32, 128)};

    CHECK(check(fine, args, 2, 2, false, NULL, &s) == 0 && s.calls == 0);
    CHECK(check(turn, args, 1, 1, false, NULL, &s) == 1 && s.calls == 1);
    CHECK(!strcmp(s.code, "K6204") && !strcmp(s.array, "tile") && s.last.index == 32);
    CHECK(s.last.line == 4 && s.last.other_line == 5 && s.last.count == 1);
    CHECK(s.last.thread[0] == 32 && s.last.other_thread[0] == 31 && s.last.block[0] == 0);
    CHECK(strstr(s.text, "test.c:4:5") != NULL);
    CHECK(check(turn, args, 1, 1, true, NULL, &s) == 2); // and the other half of the tile
    const bool is_unset[2] = {true, false};
    CHECK(check(fine, args, 2, 2, true, is_unset, &s) == 1 && !strcmp(s.code, "K6203"));
    CHECK(s.last.count == 128);
    args[1] = kiln_arg_i64(KILN_U32, 129);
    CHECK(check(fine, args, 2, 3, true, NULL, &s) >= 1 && !strcmp(s.code, "K6201"));
    args[0] = kiln_arg_buffer(u);
    CHECK(check(loop, args, 1, 1, false, NULL, &s) == 1 && !strcmp(s.code, "K6211"));

    kiln_check_desc bad;
    memset(&bad, 0, sizeof bad);
    bad.launch.grid[0] = 1;
    EXPECT(kiln_check(other, &bad, NULL), KILN_E_BAD_ARGUMENT, "K6003", "for_check");
    kiln_launch_desc unwatched = bad.launch;
    args[0] = kiln_arg_buffer(x);
    unwatched.args = args;
    unwatched.arg_count = 1;
    EXPECT(kiln_launch(turn, &unwatched), KILN_E_BAD_ARGUMENT, "K6003", "compiled for kiln_check");
    EXPECT(kiln_check(turn, &bad, NULL), KILN_E_LAUNCH, "K6010", "1 parameter");
    EXPECT(kiln_check(turn, NULL, NULL), KILN_E_BAD_ARGUMENT, "K6003", "NULL");
    EXPECT(kiln_check(NULL, &bad, NULL), KILN_E_BAD_HANDLE, "K6002", "");
    kiln_close(k);

    kiln_resources resources; // cpu makes no machine code for it, so there is none to wait for
    CHECK(!kiln_open("cpu", &k) && !kiln_compile(k, &desc, &m) &&
          !kiln_module_kernel(m, "turn", &turn) && !kiln_kernel_resources(turn, &resources));
    kiln_close(k);
    return api_done("check");
}
