// What Kiln says about OpenCL that is missing, too limited, or fails: on tests/opencl/libopencl.c,
// which the loader finds before the real one.     check MODE…   (MODE: see libopencl.c; absent)
#include "api.h"
#include "kiln/hostcall.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char source[] = "#include <kiln/kernel.h>\n"
                             "host i32 answer(void);\n"
                             "kernel block(64) void fine(i32 *x) { x[thread_x()] += 1; }\n"
                             "kernel block(64) void asks(void) { answer(); }\n";

static void on_answer(void *user, const kiln_host_call *call)
{
    (void)user;
    *(int32_t *)call->result = 42;
}
static const kiln_host_desc answer = {.name = "answer", .call = on_answer};

static void check_open(const char *mode)
{
    kiln *k = NULL;
    static const struct {
        const char *mode, *code, *says;
    } rows[] = {{"none", "K6039", "no driver of it finds a device"},
                {"absent", "K6039", "OpenCL is not installed here"},
                {"old", "K6040", "shared virtual memory"},
                {"single", "K6040", "double precision"},
                {"flush", "K6040", "subnormal numbers"},
                {"nofma", "K6040", "fused multiply-add"}};
    bool is_known = false;
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++)
        if (!strcmp(rows[n].mode, mode)) {
            is_known = true;
            kiln_status status = kiln_open("opencl", &k);
            const kiln_error *e = kiln_last_error(NULL);
            CHECK(status && !k && !strcmp(e->code, rows[n].code) && strstr(e->text, rows[n].says));
        }
    CHECK(is_known);
    CHECK(!kiln_open("interp", &k)); // other devices go on
    kiln_close(k);
}

// Exactly at -O0 the driver's compiler is told not to optimise, from the cache too.
static void check_options(kiln *k)
{
    for (int optimise = -1; optimise <= 0; optimise++) {
        kiln_module *m = NULL;
        kiln_compile_desc desc = {.path = "test.c", .source = source, .optimise = optimise};
        CHECK(!kiln_compile(k, &desc, &m));
        const char *options = getenv("FAKE_OPENCL_OPTIONS");
        CHECK(options && (strstr(options, "-cl-opt-disable") != NULL) == (optimise < 0));
    }
}

static void check_fine(const char *mode)
{
    kiln *k = NULL;
    kiln_module *m = NULL;
    kiln_buffer *x = NULL;
    CHECK(!kiln_open("opencl:0", &k));
    EXPECT(kiln_open("opencl:7", &(kiln *){NULL}), KILN_E_NOT_FOUND, "K6001", "no device");
    kiln_compile_desc desc = {.path = "test.c", .source = source};
    kiln_status status = kiln_compile(k, &desc, &m);
    if (!strcmp(mode, "build")) {
        EXPECT(status, KILN_E_DRIVER, "K6033", "I do not like it");
    } else {
        CHECK(!status && !kiln_buffer_new(k, KILN_I32, 64, &x));
        kiln_arg args[] = {kiln_arg_buffer(x)};
        CHECK(!api_launch(api_kernel(m, "fine"), 1, 0, args, 1));
        if (!strcmp(mode, "shared")) { // threads that serve wait for a kernel that does not run
            CHECK(!kiln_host_register(k, &answer));
            for (uint32_t grid = 1; grid < 200; grid += 99)
                CHECK(!api_launch(api_kernel(m, "asks"), grid, 0, NULL, 0) && !kiln_sync(k));
        } else {
            EXPECT(api_launch(api_kernel(m, "asks"), 1, 0, NULL, 0), KILN_E_UNSUPPORTED, "K6047",
                   "the host function 'answer'");
        }
        if (!strcmp(mode, "lost")) {
            EXPECT(kiln_sync(k), KILN_E_KERNEL, "K6035", "kernel 'fine'");
            EXPECT(kiln_sync(k), KILN_E_DRIVER, "K6036", "lost");
        } else {
            CHECK(!kiln_sync(k));
            check_options(k);
        }
    }
    kiln_close(k);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    bool opens = !strcmp(mode, "fine") || !strcmp(mode, "build") || !strcmp(mode, "lost") ||
                 !strcmp(mode, "shared");
    if (opens)
        check_fine(mode);
    else
        check_open(mode);
    return api_done("check");
}
