// Null, foreign and freed handles: every call says so, none crashes.
#include "api.h"

static const char source[] =
    "#include <kiln/kernel.h>\nkernel block(1) void f(i32 *x) { x[0] = 1; }\n";

static void all_calls(kiln *k, kiln_module *m, kiln_kernel *f, kiln_buffer *b)
{
    kiln_buffer *made = NULL;
    kiln_module *module = NULL;
    kiln_kernel *kernel = NULL;
    kiln_param_info info;
    kiln_compile_desc compile;
    kiln_launch_desc launch;
    uint32_t block[3] = {7, 7, 7};
    size_t len = 1;
    int32_t x = 0;
    memset(&compile, 0, sizeof compile);
    memset(&launch, 0, sizeof launch);
    compile.source = source;
#define BAD(call) EXPECT(call, KILN_E_BAD_HANDLE, "K6002", "")
    BAD(kiln_buffer_new(k, KILN_I32, 1, &made));
    BAD(kiln_buffer_new_bytes(k, 4, 1, &made));
    BAD(kiln_compile(k, &compile, &module));
    BAD(kiln_sync(k));
    BAD(kiln_module_kernel(m, "f", &kernel));
    BAD(kiln_module_kernel_at(m, 0, &kernel));
    BAD(kiln_kernel_param(f, 0, &info));
    BAD(kiln_launch(f, &launch));
    BAD(kiln_write(b, 0, &x, 1));
    BAD(kiln_read(b, 0, &x, 1));
    BAD(kiln_fill(b, &x));
    CHECK(kiln_buffer_count(b) == 0 && kiln_buffer_bytes(b) == 0);
    CHECK(kiln_buffer_type(b) == KILN_VOID);
    CHECK(kiln_module_kernel_count(m) == 0 && kiln_kernel_param_count(f) == 0);
    CHECK(!strcmp(kiln_module_log(m), "") && !strcmp(kiln_kernel_name(f), ""));
    CHECK(!strcmp(kiln_device_name(k), "") && !strcmp(kiln_printed(k, &len), "") && len == 0);
    kiln_kernel_block(f, block);
    kiln_on_print(k, NULL, NULL);
    kiln_cancel(k);
    kiln_buffer_free(b);
    kiln_module_free(m);
    kiln_close(k);
    CHECK(made == NULL && module == NULL && kernel == NULL && block[0] == 7);
}

int main(void)
{
    kiln *k = NULL;
    kiln_buffer *b = NULL;
    all_calls(NULL, NULL, NULL, NULL);

    CHECK(!kiln_open(NULL, &k) && !kiln_buffer_new(k, KILN_I32, 1, &b));
    kiln_module *m = api_compile(k, source, 0);
    kiln_kernel *f = api_kernel(m, NULL);
    // Each in the place of another.
    all_calls((kiln *)b, (kiln_module *)f, (kiln_kernel *)m, (kiln_buffer *)k);
    CHECK(kiln_last_error((kiln *)b)->status == KILN_E_BAD_HANDLE);
    uint64_t junk[32];
    memset(junk, 0x5a, sizeof junk);
    all_calls((kiln *)junk, (kiln_module *)junk, (kiln_kernel *)junk, (kiln_buffer *)junk);

    kiln_arg arg = kiln_arg_buffer(b);
    CHECK(!api_launch(f, 1, 0, &arg, 1));
    kiln_buffer_free(b);
    EXPECT(api_launch(f, 1, 0, &arg, 1), KILN_E_BAD_HANDLE, "K6002", "argument 1 'x'");
    kiln_buffer_free(b); // twice: an error, not a crash
    kiln_module_free(m);
    CHECK(kiln_launch(f, NULL) == KILN_E_BAD_HANDLE);
    kiln_close(k);
    all_calls(k, m, f, b);
    return api_done("handles");
}
