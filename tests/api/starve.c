// Memory that runs out: the n-th allocation of a call fails, for every n until the call needs no
// more. Each gives KILN_OK or KILN_E_NO_MEMORY; none aborts, and what is open stays usable.
#include "api.h"

#if defined(__has_feature)
#    if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#        define HAS_SANITIZER
#    endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define HAS_SANITIZER
#endif

#if !defined(__GLIBC__) || defined(HAS_SANITIZER)
int main(void)
{
    printf("skipped: the allocator cannot be replaced here\n");
    return 0;
}
#else
#    ifdef __cplusplus
extern "C" {
#    endif
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
#    ifdef __cplusplus
}
#        define KEPT noexcept // as the headers of C++ declare them
#    else
#        define KEPT
#    endif

static int allocations_left = -1; // before one fails; negative: none does
static bool has_failed;

static bool fails(void)
{
    if (__atomic_load_n(&allocations_left, __ATOMIC_RELAXED) < 0)
        return false;
    if (__atomic_fetch_sub(&allocations_left, 1, __ATOMIC_RELAXED) != 0)
        return false;
    has_failed = true;
    return true;
}

void *malloc(size_t bytes) KEPT
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) KEPT
{
    return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes) KEPT
{
    return fails() ? NULL : __libc_realloc(old, bytes);
}

static const char source[] =
    "#include <kiln/kernel.h>\n"
    "kernel block(32) void twice(f32 *x, u32 n) { u32 i = global_x(); if (i < n) x[i] *= 2; }\n";

// Compiles, launches or checks, reads back.
static kiln_status work(kiln *k, bool for_check)
{
    float values[40] = {0};
    kiln_module *m = NULL;
    kiln_kernel *kernel = NULL;
    kiln_buffer *x = NULL;
    kiln_compile_desc compile;
    kiln_check_desc check;
    memset(&compile, 0, sizeof compile);
    memset(&check, 0, sizeof check);
    compile.path = "starve.c";
    compile.source = source;
    compile.for_check = for_check;
    kiln_status status = kiln_compile(k, &compile, &m);
    if (!status)
        status = kiln_module_kernel(m, "twice", &kernel);
    if (!status)
        status = kiln_buffer_new(k, KILN_F32, 40, &x);
    if (!status)
        status = kiln_write(x, 0, values, 40);
    const kiln_arg args[] = {kiln_arg_buffer(x), kiln_arg_i64(KILN_U32, 40)};
    check.launch.args = args;
    check.launch.arg_count = 2;
    check.launch.items[0] = 40;
    if (!status)
        status = for_check ? kiln_check(kernel, &check, NULL) : kiln_launch(kernel, &check.launch);
    if (!status)
        status = kiln_sync(k);
    if (!status)
        status = kiln_read(x, 0, values, 40);
    kiln_buffer_free(x);
    kiln_module_free(m);
    return status;
}

static void on_log(void *user, int level, const char *text)
{
    (void)level;
    *(size_t *)user += strlen(text);
}

static void starve(const char *device, bool for_check)
{
    kiln *k = NULL;
    int refused = 0;
    CHECK(!kiln_open(device, &k));
    CHECK(!work(k, for_check)); // what is made once for the process is there
    has_failed = true;
    for (int n = 0; has_failed && n < 5000; n++) {
        has_failed = false;
        __atomic_store_n(&allocations_left, n, __ATOMIC_RELAXED);
        kiln_status status = work(k, for_check);
        __atomic_store_n(&allocations_left, -1, __ATOMIC_RELAXED);
        refused += status != KILN_OK;
        if (status && status != KILN_E_NO_MEMORY)
            printf("%s, allocation %d: %s\n", device, n, kiln_last_error(k)->text);
        CHECK(!status || status == KILN_E_NO_MEMORY);
    }
    CHECK(!has_failed && refused > 3);
    CHECK(!work(k, for_check));
    kiln_close(k);
}

int main(void)
{
    size_t logged = 0;
    for (int with_log = 0; with_log < 2; with_log++) {
        kiln_on_log(with_log ? 2 : 0, with_log ? on_log : NULL, &logged);
        starve("interp", false);
        starve("interp", true);
        starve("cpu", false);
        starve("cpu", true);
    }
    kiln_on_log(0, NULL, NULL);
    CHECK(logged > 0);
    return api_done("starve");
}
#endif
