// A libOpenCL.so.1 with one device that runs nothing, for tests of what Kiln says about OpenCL.
// FAKE_OPENCL lists what is wrong with it: none (no device), old (shared virtual memory is
// missing), single (no double precision), flush (no subnormals), nofma, build (the compiler
// refuses), lost (waiting fails after a launch). With a player (player.h) the device is one of
// NVIDIA's that runs kernels.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dev/opencl/abi.h"
#include "player.h"

static int thing; // everything but programs and kernels has this handle
static int is_launched;

struct ocl_program_s {
    char *text;
    size_t len;
    player_program *played;
    char log[1024];
};

enum { ARG_LIMIT = 256, ARG_BYTES = 4096 };
struct ocl_kernel_s {
    ocl_program program;
    char name[300];
    uint32_t local_bytes;
    bool is_local[ARG_LIMIT];
    void *args[ARG_LIMIT];
};

static int is(const char *what)
{
    const char *wrong = getenv("FAKE_OPENCL");
    return wrong && strstr(wrong, what) != NULL;
}

static ocl_result give(const void *value, size_t len, size_t size, void *out, size_t *needed)
{
    if (needed)
        *needed = len;
    if (out)
        memcpy(out, value, len < size ? len : size);
    return OCL_OK;
}

static ocl_result give_number(uint64_t value, size_t size, void *out, size_t *needed)
{
    return give(&value, size < 8 ? size : 8, size, out, needed);
}

static ocl_result give_text(const char *value, size_t size, void *out, size_t *needed)
{
    return give(value, strlen(value) + 1, size, out, needed);
}

#define HANDLE(r) (*(r) = OCL_OK, (void *)&thing)

ocl_result clGetPlatformIDs(uint32_t room, ocl_platform *list, uint32_t *count)
{
    (void)room;
    *count = is("none") ? 0 : 1;
    list[0] = (void *)&thing;
    return is("none") ? OCL_PLATFORM_NOT_FOUND : OCL_OK;
}
ocl_result clGetPlatformInfo(ocl_platform p, uint32_t what, size_t size, void *out, size_t *needed)
{
    (void)p, (void)what;
    return give_text("a fake", size, out, needed);
}
ocl_result clGetDeviceIDs(ocl_platform p, uint64_t type, uint32_t room, ocl_device_id *list,
                          uint32_t *count)
{
    (void)p, (void)type, (void)room;
    list[0] = (void *)&thing;
    *count = 1;
    return OCL_OK;
}
ocl_result clGetDeviceInfo(ocl_device_id d, uint32_t what, size_t size, void *out, size_t *needed)
{
    (void)d;
    switch (what) {
    case OCL_DEVICE_TYPE:
        return give_number(is("shared") ? OCL_TYPE_CPU : OCL_TYPE_GPU, size, out, needed);
    case OCL_GROUP_SIZE: return give_number(1024, size, out, needed);
    case OCL_SINGLE_CONFIG:
        return give_number((is("flush") ? 0u : OCL_FP_DENORMS) | (is("nofma") ? 0u : OCL_FP_FMA) |
                               (player_build ? OCL_FP_EXACT_DIVIDE : 0u),
                           size, out, needed);
    case OCL_DOUBLE_CONFIG: return give_number(is("single") ? 0 : 63, size, out, needed);
    case OCL_SVM_ABILITIES:
        return give_number(is("old") ? 0
                           : is("shared") || is("fine")
                               ? OCL_SVM_COARSE | OCL_SVM_FINE | OCL_SVM_ATOMIC
                               : OCL_SVM_COARSE,
                           size, out, needed);
    case OCL_DEVICE_NAME: return give_text("Nothing 1000", size, out, needed);
    case OCL_DRIVER_VERSION: return give_text("1.0", size, out, needed);
    case OCL_EXTENSIONS:
        return give_text(player_build ? "cl_khr_int64_base_atomics cl_nv_compiler_options"
                                      : "cl_khr_int64_base_atomics",
                         size, out, needed);
    case OCL_LOCAL_BYTES: return give_number(48 << 10, size, out, needed);
    default: return give_number(1, size, out, needed);
    }
}
ocl_context clCreateContext(const intptr_t *properties, uint32_t count, const ocl_device_id *list,
                            void (*notify)(const char *, const void *, size_t, void *), void *user,
                            ocl_result *r)
{
    (void)properties, (void)count, (void)list, (void)notify, (void)user;
    return HANDLE(r);
}
ocl_queue clCreateCommandQueue(ocl_context c, ocl_device_id d, uint64_t properties, ocl_result *r)
{
    (void)c, (void)d, (void)properties;
    return HANDLE(r);
}
ocl_result clRetainContext(ocl_context c)
{
    return c == (void *)&thing ? OCL_OK : -34;
}
ocl_result clGetContextInfo(ocl_context c, uint32_t what, size_t size, void *out, size_t *needed)
{
    void *device = &thing;
    (void)what;
    return c == (void *)&thing ? give(&device, sizeof device, size, out, needed) : -34;
}
ocl_result clRetainCommandQueue(ocl_queue q)
{
    (void)q;
    return OCL_OK;
}
ocl_result clGetCommandQueueInfo(ocl_queue q, uint32_t what, size_t size, void *out, size_t *needed)
{
    void *context = &thing;
    if (what == OCL_QUEUE_CONTEXT)
        return give(&context, sizeof context, size, out, needed);
    return q == (void *)&thing ? give_number(0, size, out, needed)
                               : give_number(1, size, out, needed);
}
void *clSVMAlloc(ocl_context c, uint64_t flags, size_t size, uint32_t alignment)
{
    (void)c, (void)flags, (void)alignment;
    return calloc(1, size);
}
void clSVMFree(ocl_context c, void *memory)
{
    (void)c;
    free(memory);
}
ocl_result clEnqueueSVMMemcpy(ocl_queue q, uint32_t waits, void *to, const void *from, size_t size,
                              uint32_t count, const ocl_event *list, ocl_event *out)
{
    (void)q, (void)waits, (void)count, (void)list;
    memcpy(to, from, size);
    if (out)
        *out = (void *)&thing;
    return OCL_OK;
}
ocl_result clEnqueueSVMMemFill(ocl_queue q, void *to, const void *pattern, size_t pattern_size,
                               size_t size, uint32_t count, const ocl_event *list, ocl_event *out)
{
    (void)q, (void)count, (void)list;
    for (size_t at = 0; at < size; at += pattern_size)
        memcpy((char *)to + at, pattern, pattern_size);
    if (out)
        *out = (void *)&thing;
    return OCL_OK;
}
static ocl_program program_of(const char *text, size_t len, ocl_result *r)
{
    ocl_program p = calloc(1, sizeof *p);
    char *copy = malloc(len + 1);
    *r = p && copy ? OCL_OK : OCL_NO_HOST_MEMORY;
    if (*r) {
        free(copy);
        free(p);
        return NULL;
    }
    memcpy(copy, text, len);
    copy[len] = 0;
    strcpy(p->log, "line 7: I do not like it");
    p->text = copy;
    p->len = len;
    return p;
}
ocl_program clCreateProgramWithSource(ocl_context c, uint32_t count, const char **texts,
                                      const size_t *lengths, ocl_result *r)
{
    (void)c, (void)count;
    return program_of(texts[0], lengths[0], r);
}
ocl_program clCreateProgramWithBinary(ocl_context c, uint32_t count, const ocl_device_id *list,
                                      const size_t *lengths, const unsigned char **binaries,
                                      ocl_result *each, ocl_result *r)
{
    (void)c, (void)count, (void)list, (void)each;
    return program_of((const char *)binaries[0], lengths[0], r); // what clGetProgramInfo gave
}
ocl_result clBuildProgram(ocl_program p, uint32_t count, const ocl_device_id *list,
                          const char *options, void (*notify)(ocl_program, void *), void *user)
{
    (void)count, (void)list, (void)notify, (void)user;
    setenv("FAKE_OPENCL_OPTIONS", options, 1); // for check.c
    if (player_build && !p->played)
        p->played = player_build(p->text, p->len, options, p->log, sizeof p->log);
    return is("build") || (player_build && !p->played) ? OCL_BUILD_FAILED : OCL_OK;
}
ocl_result clReleaseProgram(ocl_program p)
{
    if (player_forget && p->played)
        player_forget(p->played);
    free(p->text);
    free(p);
    return OCL_OK;
}
ocl_result clGetProgramBuildInfo(ocl_program p, ocl_device_id d, uint32_t what, size_t size,
                                 void *out, size_t *needed)
{
    (void)d, (void)what;
    return give_text(p->log, size, out, needed);
}
ocl_result clGetProgramInfo(ocl_program p, uint32_t what, size_t size, void *out, size_t *needed)
{
    if (what == OCL_BINARY_SIZES)
        return give_number(p->len, size, out, needed);
    memcpy(*(unsigned char **)out, p->text, p->len);
    return OCL_OK;
}
ocl_kernel clCreateKernel(ocl_program p, const char *name, ocl_result *r)
{
    ocl_kernel f = calloc(1, sizeof *f);
    *r = f ? OCL_OK : OCL_NO_HOST_MEMORY;
    if (f) {
        f->program = p;
        snprintf(f->name, sizeof f->name, "%s", name);
    }
    return f;
}
ocl_result clReleaseKernel(ocl_kernel f)
{
    for (uint32_t n = 0; n < ARG_LIMIT; n++)
        free(f->args[n]);
    free(f);
    return OCL_OK;
}
ocl_result clGetKernelWorkGroupInfo(ocl_kernel f, ocl_device_id d, uint32_t what, size_t size,
                                    void *out, size_t *needed)
{
    (void)f, (void)d, (void)what;
    return give_number(player_build ? 1024 : 256, size, out, needed);
}
ocl_result clSetKernelArg(ocl_kernel f, uint32_t index, size_t size, const void *value)
{
    size_t room = size < 8 ? 8 : size;
    if (index >= ARG_LIMIT || (value && size > ARG_BYTES))
        return OCL_OUT_OF_RESOURCES;
    void *copy = calloc(1, value ? room : 8);
    if (!copy)
        return OCL_NO_HOST_MEMORY;
    if (value)
        memcpy(copy, value, size);
    else
        f->local_bytes = (uint32_t)size; // one of Kiln's arguments is local memory
    f->is_local[index] = !value;
    free(f->args[index]);
    f->args[index] = copy;
    return OCL_OK;
}
ocl_result clSetKernelArgSVMPointer(ocl_kernel f, uint32_t index, const void *value)
{
    return clSetKernelArg(f, index, sizeof value, &value);
}
ocl_result clSetKernelExecInfo(ocl_kernel f, uint32_t what, size_t size, const void *value)
{
    (void)f, (void)what, (void)size, (void)value;
    return OCL_OK;
}
ocl_result clEnqueueNDRangeKernel(ocl_queue q, ocl_kernel f, uint32_t rank, const size_t *offset,
                                  const size_t *global, const size_t *local, uint32_t count,
                                  const ocl_event *list, ocl_event *out)
{
    (void)q, (void)rank, (void)offset, (void)count, (void)list;
    is_launched = 1;
    if (out)
        *out = (void *)&thing;
    if (!player_launch)
        return OCL_OK;
    uint32_t grid[3], threads[3];
    for (uint32_t k = 0; k < 3; k++) {
        threads[k] = (uint32_t)local[k];
        grid[k] = (uint32_t)(global[k] / local[k]);
    }
    for (uint32_t n = 0; n < ARG_LIMIT; n++)
        if (f->args[n] && f->is_local[n]) {
            uint64_t at = player_local_at(f->program->played, f->name);
            memcpy(f->args[n], &at, sizeof at);
        }
    return player_launch(f->program->played, f->name, grid, threads, f->local_bytes, f->args)
               ? OCL_OK
               : OCL_OUT_OF_RESOURCES;
}
ocl_result clFinish(ocl_queue q)
{
    (void)q;
    return is("lost") && is_launched ? OCL_OUT_OF_RESOURCES : OCL_OK;
}
ocl_result clEnqueueMarkerWithWaitList(ocl_queue q, uint32_t count, const ocl_event *list,
                                       ocl_event *out)
{
    (void)q, (void)count, (void)list;
    if (out)
        *out = (void *)&thing;
    return OCL_OK;
}
ocl_result clEnqueueBarrierWithWaitList(ocl_queue q, uint32_t count, const ocl_event *list,
                                        ocl_event *out)
{
    return clEnqueueMarkerWithWaitList(q, count, list, out);
}
ocl_result clWaitForEvents(uint32_t count, const ocl_event *list)
{
    (void)count, (void)list;
    return OCL_OK;
}
ocl_result clGetEventInfo(ocl_event e, uint32_t what, size_t size, void *out, size_t *needed)
{
    (void)e, (void)what;
    return give_number(0, size, out, needed);
}
ocl_result clGetEventProfilingInfo(ocl_event e, uint32_t what, size_t size, void *out,
                                   size_t *needed)
{
    (void)e, (void)what;
    return give_number(0, size, out, needed);
}
#define NOTHING(name, type)                                                                        \
    ocl_result name(type x)                                                                        \
    {                                                                                              \
        (void)x;                                                                                   \
        return OCL_OK;                                                                             \
    }
NOTHING(clReleaseContext, ocl_context)
NOTHING(clReleaseCommandQueue, ocl_queue)
NOTHING(clFlush, ocl_queue)
NOTHING(clReleaseEvent, ocl_event)
