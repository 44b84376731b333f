// What the tests of NVIDIA's builtins share: small whole numbers in every element type, one launch
// on the device; on interp also without optimisation, and with kiln_check, which must find nothing.
#ifndef KILN_TESTS_NV_H
#define KILN_TESTS_NV_H

#include "api.h"

enum { F16, BF16, TF32, E4M3, E5M2, S8, U8 };
static const int elem_bytes[] = {2, 2, 4, 1, 1, 1, 1};

// The bits of a whole number from -8 to 8 (0 to 255 as U8).
static inline uint32_t encode(int type, int v)
{
    static const int mantissa[] = {10, 7, 23, 3, 2}, bias[] = {15, 127, 127, 7, 15};
    static const int sign[] = {15, 15, 31, 7, 7};
    uint32_t size = (uint32_t)(v < 0 ? -v : v), e = 0;
    if (type >= S8)
        return (uint32_t)v & 255;
    if (!v)
        return 0;
    while (size >> (e + 1))
        e++;
    uint32_t m = mantissa[type] >= (int)e ? (size - (1u << e)) << (mantissa[type] - (int)e)
                                          : (size - (1u << e)) >> ((int)e - mantissa[type]);
    return (uint32_t)(v < 0) << sign[type] | (e + (uint32_t)bias[type]) << mantissa[type] | m;
}

static uint32_t nv_seed = 1;
static inline int small_number(int type)
{
    nv_seed = nv_seed * 1664525u + 1013904223u;
    int v = (int)(nv_seed >> 16) % 9;
    return type == U8 ? v * 31 : v - 4;
}

static inline void put_bits(uint8_t *at, uint32_t bits, int bytes)
{
    for (int n = 0; n < bytes; n++)
        at[n] = (uint8_t)(bits >> (8 * n));
}

typedef struct nv_job {
    kiln *k;
    const char *path, *kernel;
    const char *source;     // IR text; NULL: the file at path
    const char *define[16]; // ends with NULL
    kiln_launch_desc launch;
    kiln_arg args[12];
    // What the kernel changes; before each run it gets `before`.
    kiln_buffer *out;
    const void *before;
    void *after; // of the last run
    size_t count;
} nv_job;

static inline void nv_finding(void *user, const kiln_finding *f)
{
    (void)user;
    printf("%s\n", f->text);
}

static inline bool nv_once(nv_job *j, int optimise, bool checks)
{
    kiln_compile_desc desc;
    kiln_module *m = NULL;
    kiln_kernel *kernel = NULL;
    size_t findings = 0;
    memset(&desc, 0, sizeof desc);
    desc.path = j->path;
    desc.source = j->source;
    desc.is_ir = j->source != NULL;
    desc.define = j->define;
    desc.optimise = optimise;
    desc.for_check = checks;
    j->launch.args = j->args;
    kiln_status status = kiln_write(j->out, 0, j->before, j->count);
    if (!status)
        status = kiln_compile(j->k, &desc, &m);
    if (!status)
        status = kiln_module_kernel(m, j->kernel, &kernel);
    if (!status && checks) {
        kiln_check_desc check;
        memset(&check, 0, sizeof check);
        check.launch = j->launch;
        check.finding = nv_finding;
        status = kiln_check(kernel, &check, &findings);
    } else if (!status) {
        status = kiln_launch(kernel, &j->launch);
    }
    if (!status)
        status = kiln_read(j->out, 0, j->after, j->count);
    if (status)
        printf("%s\n", kiln_last_error(j->k)->text);
    kiln_module_free(m);
    return !status && !findings;
}

// Runs it in every way the device has; `is_right` looks at `after`.
static inline bool nv_run(nv_job *j, bool (*is_right)(void *user), void *user)
{
    bool is_interp = !strcmp(kiln_device_name(j->k), "interp");
    static const int optimise[] = {0, -1, 0};
    for (int way = 0; way < (is_interp ? 3 : 1); way++)
        if (!nv_once(j, optimise[way], way == 2) || !is_right(user)) {
            static const char *const names[] = {"optimised", "not optimised", "checked"};
            printf("'%s' of %s (%s), %s\n", j->kernel, j->path, j->define[0] ? j->define[0] : "",
                   names[way]);
            return false;
        }
    return true;
}

static inline kiln_buffer *nv_buffer(kiln *k, kiln_type type, size_t count, const void *data)
{
    kiln_buffer *b = NULL;
    if (kiln_buffer_new(k, type, count, &b) || (data && kiln_write(b, 0, data, count)))
        printf("%s\n", kiln_last_error(k)->text);
    return b;
}

#endif
