// OpenCL C in, launchable kernels out: the driver's compiler builds the text, its log goes into the
// error when it refuses. What it made is kept by the cache where asking for it is quick.
#include "dev/opencl/opencl.h"

#include <stdio.h>
#include <stdlib.h>

static kiln_status refused(kiln_module *m, ocl_result r)
{
    ocl_device *d = ocl_of(m->k);
    char driver[64];
    size_t len = 0;
    ocl_describe(r, driver, sizeof driver);
    d->cl->build_info(ocl_module_of(m)->program, d->found->device, OCL_BUILD_LOG, 0, NULL, &len);
    char *text_of = calloc(1, len + 256);
    if (!text_of)
        return error_no_memory(m->k, "an error's text");
    int head = snprintf(text_of, 256, "the OpenCL compiler of %s refused the code [%s]\n",
                        m->k->device, driver);
    d->cl->build_info(ocl_module_of(m)->program, d->found->device, OCL_BUILD_LOG, len,
                      text_of + head, NULL);
    error_set_text(m->k, KILN_E_DRIVER, diag_code_name(K6033), text_of);
    free(text_of);
    return KILN_E_DRIVER;
}

// The numbers of "// kernel NAME: N bytes of shared memory[; reads pointers]".
static void read_facts(kiln_kernel *kernel, const char *code)
{
    char head[192];
    snprintf(head, sizeof head, "\n// kernel %s: ", kernel->name);
    const char *at = strstr(code, head), *end = at ? strchr(at + 1, '\n') : NULL;
    if (!end)
        return;
    kernel->shared_bytes = strtoull(at + strlen(head), NULL, 10);
    const char *reads = strstr(at, "; reads pointers");
    ocl_function_of(kernel)->follows_pointers = reads && reads < end;
}

static kiln_status find_kernels(kiln_module *m)
{
    ocl_device *d = ocl_of(m->k);
    for (size_t n = 0; n < m->kernel_count; n++) {
        kiln_kernel *kernel = m->kernels[n];
        char name[160];
        ocl_result r;
        size_t threads = 0;
        uint64_t local = 0;
        ocl_function *f = calloc(1, sizeof *f);
        if (!f)
            return error_no_memory(m->k, "a kernel");
        kernel->dev = f;
        snprintf(name, sizeof name, "k_%s", kernel->name);
        f->native = d->cl->kernel_create(ocl_module_of(m)->program, name, &r);
        if (r)
            return ocl_fail(m->k, r, "looking for a kernel in the built code");
        read_facts(kernel, m->code);
        d->cl->kernel_info(f->native, d->found->device, OCL_KERNEL_GROUP_SIZE, sizeof threads,
                           &threads, NULL);
        d->cl->kernel_info(f->native, d->found->device, OCL_KERNEL_PRIVATE_BYTES, sizeof local,
                           &local, NULL);
        kernel->resources =
            (kiln_resources){.shared_bytes = (size_t)kernel->shared_bytes,
                             .local_bytes = (size_t)local,
                             .block_threads = (uint32_t)(threads < 1024 ? threads : 1024)};
    }
    return KILN_OK;
}

static void keep_binary(kiln_module *m)
{
    ocl_device *d = ocl_of(m->k);
    size_t len = 0;
    if (d->cl->program_info(ocl_module_of(m)->program, OCL_BINARY_SIZES, sizeof len, &len, NULL) ||
        !len)
        return;
    unsigned char *bytes = malloc(len);
    if (bytes && !d->cl->program_info(ocl_module_of(m)->program, OCL_BINARIES, sizeof bytes,
                                      (void *)&bytes, NULL)) {
        m->binary = bytes;
        m->binary_len = len;
    } else {
        free(bytes);
    }
}

static ocl_result build(ocl_device *d, kiln_module *m, const rt_image *image)
{
    char options[128];
    ocl_result r, each;
    snprintf(options, sizeof options, "-w -cl-std=CL1.2%s%s",
             d->options.is_exact ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
             image->is_plain ? " -cl-opt-disable" : "");
    if (m->binary) { // from the cache: whatever it is, it may be no code for this driver
        const unsigned char *bytes = m->binary;
        ocl_module_of(m)->program = d->cl->program_binary(d->context, 1, &d->found->device,
                                                          &m->binary_len, &bytes, &each, &r);
        if (!r &&
            !d->cl->build(ocl_module_of(m)->program, 1, &d->found->device, options, NULL, NULL))
            return OCL_OK;
        if (ocl_module_of(m)->program)
            d->cl->program_release(ocl_module_of(m)->program);
        free(m->binary);
        m->binary = NULL;
    }
    const char *code = image->code;
    ocl_module_of(m)->program = d->cl->program_source(d->context, 1, &code, &image->code_len, &r);
    if (!r)
        r = d->cl->build(ocl_module_of(m)->program, 1, &d->found->device, options, NULL, NULL);
    // Of PoCL this would mean compiling all kernels for any block; it has a cache of its own.
    if (!r && !d->options.has_loops)
        keep_binary(m);
    return r;
}

kiln_status ocl_load_module(kiln_module *m, const rt_image *image)
{
    kiln_status status = ocl_ready(m->k);
    if (status)
        return status;
    m->dev = arena_new_of(m->a, ocl_module);
    ocl_result r = build(ocl_of(m->k), m, image);
    if (r)
        return ocl_module_of(m)->program ? refused(m, r) : ocl_fail(m->k, r, "giving it a program");
    status = find_kernels(m);
    bool talks = false;
    for (size_t n = 0; n < m->kernel_count; n++)
        talks = talks || m->kernels[n]->talks;
    return !status && talks ? ocl_channel_open(m) : status;
}

void ocl_unload_module(kiln_module *m)
{
    ocl_device *d = ocl_of(m->k);
    if (!m->dev || !ocl_module_of(m)->program)
        return;
    if (!d->is_lost)
        ocl_sync(m->k, NULL); // its kernels may still run
    ocl_calls_forget(m);
    ocl_channel_close(m);
    for (size_t n = 0; n < m->kernel_count; n++) {
        ocl_function *f = ocl_function_of(m->kernels[n]);
        if (f && f->native)
            d->cl->kernel_release(f->native);
        free(f);
        m->kernels[n]->dev = NULL;
    }
    d->cl->program_release(ocl_module_of(m)->program);
    ocl_module_of(m)->program = NULL;
}
