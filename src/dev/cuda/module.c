// PTX text in, launchable kernels out. The driver's compiler makes a cubin (cuLink), which the
// cache may keep; its log goes into the error when it refuses, and spilled bytes are read from it
// when it does not. Where the linker does not take the target, the text is loaded directly.
#include "dev/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>

enum { LOG_BYTES = 64 << 10, OPTION_COUNT = 8, CU_JIT_TARGET = 9, CU_TARGET_ACCELERATED = 0x10000 };

typedef struct jit {
    char *log, *errors;
    int options[OPTION_COUNT];
    void *values[OPTION_COUNT];
    unsigned count;
} jit;

static void add_option(jit *j, int option, uintptr_t value)
{
    j->options[j->count] = option;
    memcpy(&j->values[j->count++], &value, sizeof value);
}

static void start_jit(jit *j, char *logs, const rt_image *image, const target *t)
{
    *j = (jit){.log = logs, .errors = logs + LOG_BYTES};
    j->log[0] = j->errors[0] = 0;
    add_option(j, CU_JIT_INFO_LOG, (uintptr_t)j->log);
    add_option(j, CU_JIT_INFO_LOG_BYTES, LOG_BYTES - 1);
    add_option(j, CU_JIT_ERROR_LOG, (uintptr_t)j->errors);
    add_option(j, CU_JIT_ERROR_LOG_BYTES, LOG_BYTES - 1);
    add_option(j, CU_JIT_LOG_VERBOSE, 1);
    add_option(j, CU_JIT_LINE_INFO, 1);
    if (image->is_plain) // without an option: 4, which folds some patterns wrongly
                         // (docs/assembler.md)
        add_option(j, CU_JIT_OPTIMISATION, 0);
    if (t && t->variant)
        add_option(j, CU_JIT_TARGET, (uintptr_t)(CU_TARGET_ACCELERATED + t->sm));
}

// Does a function call itself, directly or in a circle? Then a check of the depth stands there.
static bool has_recursion(const kiln_module *m)
{
    for (uint32_t n = 0; n < m->site_count; n++)
        if (m->sites[n].op == IR_ASSERT && channel_assert_code(m->sites[n].text) == K6080)
            return true;
    return false;
}

// PTX to cubin, in malloc'ed memory; the log is in `j`.
static cu_result link(const cuda_api *cu, jit *j, const rt_image *image, void **cubin, size_t *size)
{
    cu_link state = NULL;
    void *made = NULL, *text_in = NULL;
    size_t len = 0;
    if (!cu->link_create || !cu->link_add || !cu->link_complete || !cu->link_destroy)
        return CU_NOT_FOUND;
    cu_result r = cu->link_create(j->count, j->options, j->values, &state);
    if (r)
        return r;
    memcpy(&text_in, &image->code, sizeof text_in);
    r = cu->link_add(state, CU_INPUT_PTX, text_in, image->code_len + 1, "kiln.ptx", 0, NULL, NULL);
    if (!r)
        r = cu->link_complete(state, &made, &len);
    if (!r) {
        *cubin = malloc(len);
        *size = len;
        if (*cubin)
            memcpy(*cubin, made, len);
        else
            r = CU_OUT_OF_MEMORY;
    }
    cu->link_destroy(state);
    return r;
}

// "… 'name' …" then "N bytes stack frame, N bytes spill stores, N bytes spill loads"
static void read_spills(const char *log, kiln_kernel *kernel)
{
    char quoted[160];
    snprintf(quoted, sizeof quoted, "'%s'", kernel->name);
    const char *at = log ? strstr(log, quoted) : NULL;
    const char *next = at ? strstr(at + 1, "Compiling entry") : NULL;
    const char *line = at ? strstr(at, "bytes stack frame") : NULL;
    unsigned long stores, loads;
    if (line && (!next || line < next) &&
        sscanf(line, "bytes stack frame, %lu bytes spill stores, %lu bytes spill loads", &stores,
               &loads) == 2) {
        kernel->resources.spill_stores = stores;
        kernel->resources.spill_loads = loads;
    }
}

static kiln_status refused(kiln_module *m, cu_result r, const jit *j)
{
    char driver[256];
    cuda_describe(cuda_of(m->k)->cu, r, driver, sizeof driver);
    const char *hint = r == CU_UNSUPPORTED_PTX_VERSION
                           ? "the driver is too old for this PTX version; a newer one helps"
                       : r == CU_NO_BINARY_FOR_GPU ? "the code is for another GPU"
                       : r == CU_JIT_COMPILER_NOT_FOUND
                           ? "the driver's compiler (libnvidia-ptxjitcompiler) is not installed"
                           : "the driver's compiler refused the code";
    char *text_of = malloc(LOG_BYTES + 1024);
    if (!text_of)
        return error_no_memory(m->k, "an error's text");
    snprintf(text_of, LOG_BYTES + 1024, "%s [%s]\n%s", hint, driver, j->errors);
    error_set_text(m->k, KILN_E_DRIVER, diag_code_name(K6033), text_of);
    free(text_of);
    return KILN_E_DRIVER;
}

static kiln_status find_functions(kiln_module *m, const char *log)
{
    const cuda_api *cu = cuda_of(m->k)->cu;
    for (size_t n = 0; n < m->kernel_count; n++) {
        kiln_kernel *kernel = m->kernels[n];
        cuda_kernel *c = kernel->dev = arena_new_of(m->a, cuda_kernel);
        cu_result r = cu->module_function(&c->function, cuda_module_of(m)->loaded, kernel->name);
        if (r)
            return cuda_fail(m->k, r, "looking for a kernel in the loaded code");
        const struct {
            int attribute;
            size_t *to;
        } rows[] = {{CU_FN_SHARED_BYTES, &kernel->resources.shared_bytes},
                    {CU_FN_LOCAL_BYTES, &kernel->resources.local_bytes},
                    {CU_FN_CONST_BYTES, &kernel->resources.constant_bytes}};
        int value = 0;
        for (size_t row = 0; row < COUNT(rows); row++)
            if (cu->function_attribute(&value, rows[row].attribute, c->function) == CU_OK)
                *rows[row].to = (size_t)value;
        if (cu->function_attribute(&value, CU_FN_REGISTERS, c->function) == CU_OK)
            kernel->resources.registers = (uint32_t)value;
        if (cu->function_attribute(&value, CU_FN_MAX_THREADS, c->function) == CU_OK)
            kernel->resources.block_threads = (uint32_t)value;
        kernel->shared_bytes = kernel->resources.shared_bytes;
        c->dynamic_limit =
            kernel->shared_bytes < (48 << 10) ? (48 << 10) - kernel->shared_bytes : 0;
        read_spills(log, kernel);
    }
    return KILN_OK;
}

static kiln_status load_image(kiln_module *m, const rt_image *image, char *logs)
{
    kiln *k = m->k;
    const cuda_api *cu = cuda_of(k)->cu;
    cuda_module *c = cuda_module_of(m);
    jit j;
    cu_result r;
    if (m->binary) { // from the cache: whatever it is, it may be no code for this GPU
        r = cu->module_load(&c->loaded, m->binary, 0, NULL, NULL);
        if (!r)
            return find_functions(m, NULL);
        free(m->binary);
        m->binary = NULL;
    }
    // To the linker a text is one of several. Its compiler then ignores changes of the register
    // count (C7504), so that kernels that need them spill and multiply one step at a time; and in
    // functions that call themselves it does not join threads that parted (docs/assembler.md).
    bool can_link = !strstr(image->code, "setmaxnreg") && !has_recursion(m);
    r = CU_NOT_FOUND;
    if (can_link) {
        start_jit(&j, logs, image, k->target);
        r = link(cu, &j, image, &m->binary, &m->binary_len);
    }
    if (!r)
        r = cu->module_load(&c->loaded, m->binary, 0, NULL, NULL);
    if (r && r != CU_OUT_OF_MEMORY) {
        free(m->binary);
        m->binary = NULL;
        start_jit(&j, logs, image, NULL);
        r = cu->module_load(&c->loaded, image->code, j.count, j.options, j.values);
    }
    if (r == CU_OUT_OF_MEMORY)
        return cuda_fail(k, r, "loading code");
    return r ? refused(m, r, &j) : find_functions(m, j.log);
}

kiln_status cuda_load_module(kiln_module *m, const rt_image *image)
{
    kiln_status status = cuda_ready(m->k);
    if (status)
        return status;
    m->dev = arena_new_of(m->a, cuda_module);
    char *logs = malloc(2 * LOG_BYTES);
    if (!logs)
        return error_no_memory(m->k, "the log of the driver's compiler");
    logs[LOG_BYTES - 1] = logs[2 * LOG_BYTES - 1] = 0; // what the driver does not write
    int mode = cuda_relax(cuda_of(m->k)->cu);
    status = load_image(m, image, logs);
    cuda_strict(cuda_of(m->k)->cu, mode);
    free(logs);
    bool talks = false;
    for (size_t n = 0; n < m->kernel_count; n++)
        talks = talks || m->kernels[n]->talks;
    return !status && talks ? cuda_channel_open(m) : status;
}

void cuda_unload_module(kiln_module *m)
{
    cuda_device *d = cuda_of(m->k);
    cuda_module *c = cuda_module_of(m);
    if (!c || !c->loaded)
        return;
    cuda_enter(d);
    if (!d->is_lost)
        cuda_sync(m->k, NULL); // its kernels may still run
    cuda_calls_forget(m);
    cuda_channel_close(m);
    d->cu->module_unload(c->loaded);
    c->loaded = NULL;
}

kiln_status cuda_occupancy(const kiln_kernel *kernel, uint32_t threads, size_t shared_bytes,
                           uint32_t *blocks)
{
    kiln *k = kernel->module->k;
    kiln_status status = cuda_ready(k);
    if (status)
        return status;
    int count = 0;
    cu_result r = cuda_of(k)->cu->occupancy(&count, cuda_kernel_of(kernel)->function, (int)threads,
                                            shared_bytes);
    *blocks = (uint32_t)count;
    return r ? cuda_fail(k, r, "asking for the occupancy") : KILN_OK;
}

kiln_status cuda_clusters(kiln_kernel *kernel, uint32_t threads, size_t shared_bytes,
                          uint32_t *clusters)
{
    kiln *k = kernel->module->k;
    kiln_status status = cuda_ready(k);
    if (!status && !cuda_of(k)->cu->clusters)
        status = cuda_no_entry(k, "the number of clusters");
    if (!status && shared_bytes > cuda_kernel_of(kernel)->dynamic_limit)
        status = cuda_raise_shared(kernel, shared_bytes);
    if (status)
        return status;
    int count = 0;
    const uint32_t *size = kernel->cluster;
    cu_launch_attribute attribute = {.id = CU_LAUNCH_CLUSTER};
    attribute.value.cluster.x = size[0];
    attribute.value.cluster.y = size[1];
    attribute.value.cluster.z = size[2];
    cu_launch_config config = {.grid_x = size[0],
                               .grid_y = size[1],
                               .grid_z = size[2],
                               .block_x = threads,
                               .block_y = 1,
                               .block_z = 1,
                               .shared_bytes = (unsigned)shared_bytes,
                               .attributes = &attribute,
                               .attribute_count = 1};
    cu_result r = cuda_of(k)->cu->clusters(&count, cuda_kernel_of(kernel)->function, &config);
    *clusters = (uint32_t)count;
    return r ? cuda_fail(k, r, "asking for the number of clusters") : KILN_OK;
}
