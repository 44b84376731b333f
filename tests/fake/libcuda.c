// A CUDA driver that runs nothing: device memory is host memory, launches are counted and checked,
// code is taken as it is. It lets the runtime's CUDA paths and error texts be tested where there is
// no GPU. FAKE_CUDA says what goes wrong, with commas:
//
//     old           the driver knows CUDA 11.0 only
//     driver=11040  the driver's version (default 13000): it has no entry point newer than that
//     init          cuInit fails
//     missing=NAME  an entry point is not there
//     nodevice      there is no GPU
//     gpus=2        number of GPUs (default 1)
//     sm=61         the GPU's architecture (default 90)
//     memory=BYTES  device memory (default 1 GiB)
//     nopool        the GPU has no memory pools
//     jit           the compiler refuses all code
//     nolink        the linker refuses, loading the text works
//     launch=CODE   every launch is refused with that code
//     waits         a kernel that overlaps with the one before is refused if it never waits
//     fault=N       the N-th launch dies: every later call gives 700
//     nomap         the GPU maps no host memory
//     play=ADDRESS  every launch calls the function there, void (const char *kernel, void **params)
//     clock         time between events: a microsecond for each block launched (else 1.5 ms)
//
// FAKE_CUDA_LOG names a file that gets a line for every launch, load and question for the clock.
#include "handles.h"
#define SETTINGS "FAKE_CUDA"
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static struct cu_context_s contexts[8];
static _Thread_local cu_context current;
static _Atomic size_t used; // atomic what threads with handles of their own change
static int launches;
static double clock_us;
static bool is_dead;

static void note(const char *what, const char *name, unsigned x, unsigned y)
{
    const char *path = getenv("FAKE_CUDA_LOG");
    FILE *out = path ? fopen(path, "a") : NULL;
    if (out) {
        fprintf(out, "%s %s %u %u\n", what, name, x, y);
        fclose(out);
    }
}

#define ALIVE()                                                                                    \
    do {                                                                                           \
        if (is_dead)                                                                               \
            return CU_ILLEGAL_ADDRESS;                                                             \
        if (!current)                                                                              \
            return CU_INVALID_CONTEXT;                                                             \
    } while (0)

// A capture in a mode that forbids calls which may be unsafe, by threads that are not relaxed: such
// a call fails and spoils it. What works on a stream whose capture is spoilt fails, too.
static cu_stream strict_capture;
static _Thread_local int capture_mode = CU_CAPTURE_GLOBAL;

#define UNSAFE()                                                                                   \
    do {                                                                                           \
        if (strict_capture && capture_mode != CU_CAPTURE_RELAXED) {                                \
            strict_capture->is_spoilt = true;                                                      \
            return CU_CAPTURE_UNSUPPORTED;                                                         \
        }                                                                                          \
    } while (0)
#define GOES_ON(stream)                                                                            \
    do {                                                                                           \
        ALIVE();                                                                                   \
        if ((stream) && (stream)->is_capturing && (stream)->is_spoilt)                             \
            return CU_CAPTURE_INVALIDATED;                                                         \
    } while (0)

static cu_result fake_init(unsigned flags)
{
    (void)flags;
    return setting("init") ? CU_SYSTEM_DRIVER_MISMATCH : setting("nodevice") ? CU_NO_DEVICE : CU_OK;
}
static cu_result fake_driver_version(int *v)
{
    *v = setting("old") ? 11000 : (int)setting_number("driver", 13000);
    return CU_OK;
}
static cu_result fake_error_name(cu_result r, const char **name)
{
    *name = r == CU_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : r == CU_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                    : "CUDA_ERROR_FAKE";
    return CU_OK;
}
static cu_result fake_error_string(cu_result r, const char **text)
{
    (void)r;
    *text = "an error of the fake driver";
    return CU_OK;
}
static cu_result fake_device_count(int *n)
{
    *n = setting("nodevice") ? 0 : (int)setting_number("gpus", 1);
    return CU_OK;
}
static cu_result fake_device_get(cu_device *d, int ordinal)
{
    *d = ordinal;
    return CU_OK;
}
static cu_result fake_device_name(char *name, int size, cu_device d)
{
    snprintf(name, (size_t)size, "Fake GPU %d", d);
    return CU_OK;
}
static size_t memory_bytes(void)
{
    return (size_t)setting_number("memory", 1 << 30);
}
static cu_result fake_device_memory(size_t *bytes, cu_device d)
{
    (void)d;
    *bytes = memory_bytes();
    return CU_OK;
}
static cu_result fake_device_attribute(int *value, int attribute, cu_device d)
{
    (void)d;
    long sm = setting_number("sm", 90);
    switch (attribute) {
    case CU_ATTR_SM_MAJOR: *value = (int)(sm / 10); break;
    case CU_ATTR_SM_MINOR: *value = (int)(sm % 10); break;
    case CU_ATTR_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_ATTR_SHARED_OPTIN: *value = 232448; break;
    case CU_ATTR_SHARED_PER_SM: *value = 233472; break;
    case CU_ATTR_CLUSTER: *value = sm >= 90; break;
    case CU_ATTR_MULTIPROCESSORS: *value = 132; break;
    case CU_ATTR_CAN_MAP_HOST: *value = setting("nomap") ? 0 : 1; break;
    case CU_ATTR_POOLS: *value = setting("nopool") ? 0 : 1; break;
    case CU_ATTR_CLOCK_KHZ:
        note("ask", "clock", 0, 0);
        *value = 1;
        break;
    default: *value = 1; break;
    }
    return CU_OK;
}
static cu_result fake_device_pool(cu_pool *pool, cu_device d)
{
    (void)d;
    memcpy(pool, &(void *){&used}, sizeof *pool);
    return CU_OK;
}
static cu_result fake_context_retain(cu_context *c, cu_device d)
{
    if (is_dead)
        return CU_ILLEGAL_ADDRESS;
    *c = &contexts[d];
    contexts[d].device = d;
    return CU_OK;
}
static cu_result fake_context_release(cu_device d)
{
    (void)d;
    return CU_OK;
}
static cu_result fake_context_reset(cu_device d)
{
    (void)d; // as the real one: the process stays lost
    return CU_OK;
}
static cu_result fake_context_set(cu_context c)
{
    current = c;
    return CU_OK;
}
static cu_result fake_context_get(cu_context *c)
{
    *c = current;
    return CU_OK;
}
static cu_result fake_context_device(cu_device *d)
{
    *d = current ? current->device : 0;
    return current ? CU_OK : CU_INVALID_VALUE;
}
static cu_result fake_context_sync(void)
{
    ALIVE();
    return CU_OK;
}
static cu_result fake_peer_can(int *can, cu_device a, cu_device b)
{
    (void)a, (void)b;
    *can = 1;
    return CU_OK;
}
static cu_result fake_peer_enable(cu_context c, unsigned flags)
{
    (void)c, (void)flags;
    return CU_OK;
}
static cu_result fake_memory_info(size_t *free_bytes, size_t *total)
{
    ALIVE();
    *total = memory_bytes();
    *free_bytes = *total - used;
    return CU_OK;
}

static cu_result take(cu_ptr *at, size_t bytes)
{
    ALIVE();
    if (!bytes)
        return CU_INVALID_VALUE;
    if (bytes > memory_bytes() - used)
        return CU_OUT_OF_MEMORY;
    size_t *block = aligned_alloc(256, (bytes + 511) / 256 * 256);
    if (!block)
        return CU_OUT_OF_MEMORY;
    *block = bytes;
    used += bytes;
    memset((char *)block + 256, 0xcd, bytes < 1 << 20 ? bytes : 1 << 20); // no pages of large ones
    *at = (cu_ptr)(uintptr_t)block + 256;
    return CU_OK;
}
static cu_result fake_alloc(cu_ptr *at, size_t bytes)
{
    UNSAFE();
    return take(at, bytes);
}
static cu_result fake_free(cu_ptr at)
{
    size_t *block = (size_t *)(uintptr_t)(at - 256);
    UNSAFE();
    used -= *block;
    free(block);
    return is_dead ? CU_ILLEGAL_ADDRESS : CU_OK;
}
static cu_result fake_alloc_async(cu_ptr *at, size_t bytes, cu_stream s)
{
    GOES_ON(s);
    return take(at, bytes);
}
static cu_result fake_free_async(cu_ptr at, cu_stream s)
{
    return (void)s, fake_free(at);
}
static cu_result fake_pool_get(cu_pool p, int a, void *v)
{
    (void)p, (void)a;
    UNSAFE();
    memcpy(v, &(uint64_t){used}, 8);
    return CU_OK;
}
static cu_result fake_pool_set(cu_pool p, int a, void *v)
{
    (void)p, (void)a, (void)v;
    UNSAFE();
    return CU_OK;
}
static cu_result fake_pool_trim(cu_pool p, size_t keep)
{
    (void)p, (void)keep;
    UNSAFE();
    return CU_OK;
}
// Host memory of the driver: the last 64 blocks are known.
static void *own_host[64];
static size_t own_count;
static cu_result fake_host_alloc(void **at, size_t bytes, unsigned flags)
{
    ALIVE();
    UNSAFE();
    (void)flags;
    *at = aligned_alloc(256, (bytes + 255) / 256 * 256);
    own_host[own_count++ % 64] = *at;
    return *at ? CU_OK : CU_OUT_OF_MEMORY;
}
static cu_result fake_host_free(void *at)
{
    for (size_t n = 0; n < 64; n++)
        if (own_host[n] == at)
            own_host[n] = NULL;
    free(at);
    return CU_OK;
}
// Host memory that is pinned; 712 where it is already, an invalid value where it is the driver's
// own.
static void *pinned[16];
static cu_result fake_host_register(void *at, size_t bytes, unsigned flags)
{
    (void)flags;
    size_t slot = 0;
    for (size_t n = 0; n < 64; n++)
        if (at && own_host[n] == at)
            return CU_INVALID_VALUE;
    for (size_t n = 0; n < 16; n++) {
        if (pinned[n] == at)
            return 712;
        slot = pinned[n] ? slot : n;
    }
    note("pin", "", (int)bytes, 0);
    pinned[slot] = at;
    return pinned[slot] && at ? CU_OK : CU_INVALID_VALUE;
}
static cu_result fake_host_unregister(void *at)
{
    for (size_t n = 0; n < 16; n++)
        if (pinned[n] == at) {
            pinned[n] = NULL;
            note("unpin", "", 0, 0);
            return CU_OK;
        }
    return 713;
}
// No memory is at addresses below 4096; bit 62 says that it is another GPU's.
static cu_result fake_pointer_attribute(void *value, int attribute, cu_ptr at)
{
    if (at < 4096)
        return CU_INVALID_VALUE;
    int is_away = (at >> 62) & 1;
    int number = attribute == 2 ? CU_MEMORY_DEVICE : attribute == 9 ? current->device + is_away : 0;
    memcpy(value, &number, sizeof number);
    return CU_OK;
}
static cu_result fake_host_device_pointer(cu_ptr *device, void *host, unsigned flags)
{
    (void)flags;
    *device = (cu_ptr)(uintptr_t)host;
    return CU_OK;
}
static void *at_host(cu_ptr at)
{
    return (void *)(uintptr_t)at;
}
static cu_result fake_copy_out(void *to, cu_ptr from, size_t n)
{
    ALIVE();
    memcpy(to, at_host(from), n);
    return CU_OK;
}
static cu_result fake_copy_in_async(cu_ptr to, const void *from, size_t n, cu_stream s)
{
    (void)s;
    ALIVE();
    memcpy(at_host(to), from, n);
    return CU_OK;
}
static cu_result fake_copy_out_async(void *to, cu_ptr from, size_t n, cu_stream s)
{
    (void)s;
    return fake_copy_out(to, from, n);
}
static cu_result fake_copy_device_async(cu_ptr to, cu_ptr from, size_t n, cu_stream s)
{
    (void)s;
    ALIVE();
    memmove(at_host(to), at_host(from), n);
    return CU_OK;
}
static cu_result fake_copy_peer_async(cu_ptr to, cu_context a, cu_ptr from, cu_context b, size_t n,
                                      cu_stream s)
{
    (void)a, (void)b;
    return fake_copy_device_async(to, from, n, s);
}
static cu_result fake_copy_2d_async(const cu_copy_2d *c, cu_stream s)
{
    (void)s;
    ALIVE();
    const char *from = c->src_kind == CU_MEMORY_HOST ? c->src_host : at_host(c->src_device);
    char *to = c->dst_kind == CU_MEMORY_HOST ? c->dst_host : at_host(c->dst_device);
    for (size_t row = 0; row < c->height; row++)
        memcpy(to + row * c->dst_pitch, from + row * c->src_pitch, c->width);
    return CU_OK;
}
static cu_result fake_fill8_async(cu_ptr at, unsigned char v, size_t n, cu_stream s)
{
    GOES_ON(s);
    memset(at_host(at), v, n);
    return CU_OK;
}
static cu_result fake_fill16_async(cu_ptr at, unsigned short v, size_t n, cu_stream s)
{
    GOES_ON(s);
    for (size_t i = 0; i < n; i++)
        memcpy((char *)at_host(at) + 2 * i, &v, 2);
    return CU_OK;
}
static cu_result fake_fill32_async(cu_ptr at, unsigned v, size_t n, cu_stream s)
{
    GOES_ON(s);
    for (size_t i = 0; i < n; i++)
        memcpy((char *)at_host(at) + 4 * i, &v, 4);
    return CU_OK;
}

#include "modules.h"

static cu_result fake_launch(cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                             unsigned by, unsigned bz, unsigned shared, cu_stream s, void **params,
                             void **extra)
{
    (void)extra;
    GOES_ON(s);
    if ((int)shared > f->dynamic)
        return CU_INVALID_VALUE;
    if (setting("launch"))
        return (cu_result)setting_number("launch", CU_LAUNCH_OUT_OF_RESOURCES);
    note("launch", f->name, gx, bx);
    if (shared)
        note("shared", f->name, gx, shared);
    clock_us += (double)gx * gy * gz;
    launches++;
    if (s)
        s->launches++;
    if (launches == setting_number("fault", -1))
        is_dead = true;
    if (setting("play"))
        ((void (*)(const char *, void **))(uintptr_t)setting_number("play", 0))(f->name, params);
    const machine_launch launch = {{gx, gy, gz}, {bx, by, bz}, shared, (unsigned)stack_limit};
    return machine_run && !machine_run(f, &launch, params) ? CU_INVALID_VALUE : CU_OK;
}
static cu_result fake_launch_ex(const cu_launch_config *c, cu_function f, void **params,
                                void **extra)
{
    for (unsigned i = 0; i < c->attribute_count; i++) {
        note("attribute", f->name, (unsigned)c->attributes[i].id, c->attributes[i].value.cluster.x);
        if (c->attributes[i].id == CU_LAUNCH_PROGRAMMATIC && !f->waits && setting("waits"))
            return CU_INVALID_VALUE;
    }
    return fake_launch(f, c->grid_x, c->grid_y, c->grid_z, c->block_x, c->block_y, c->block_z,
                       c->shared_bytes, c->stream, params, extra);
}
static cu_result fake_occupancy(int *blocks, cu_function f, int threads, size_t shared)
{
    (void)f;
    *blocks = 2048 / threads;
    if (shared && 233472 / (int)(shared + 1024) < *blocks)
        *blocks = 233472 / (int)(shared + 1024);
    return CU_OK;
}
static cu_result fake_clusters(int *clusters, cu_function f, const cu_launch_config *config)
{
    (void)f, (void)config;
    *clusters = 66;
    return CU_OK;
}
static cu_result fake_stream_create(cu_stream *s, unsigned flags, int priority)
{
    (void)flags, (void)priority;
    ALIVE();
    *s = calloc(1, sizeof **s);
    return CU_OK;
}
static cu_result fake_stream_destroy(cu_stream s)
{
    free(s);
    return CU_OK;
}
static cu_result fake_stream_sync(cu_stream s)
{
    ALIVE();
    if (s)
        s->is_spoilt = s->is_capturing;
    return s && s->is_capturing ? CU_CAPTURE_UNSUPPORTED : CU_OK;
}
static cu_result fake_stream_query(cu_stream s)
{
    (void)s;
    ALIVE();
    return CU_OK;
}
static cu_result fake_stream_wait(cu_stream s, cu_event e, unsigned flags)
{
    (void)flags;
    ALIVE();
    if (s && strict_capture && e->is_captured)
        s->is_capturing = true; // it takes part
    return CU_OK;
}
static cu_result fake_launch_host(cu_stream s, void (*function)(void *user), void *user)
{
    (void)s;
    ALIVE();
    function(user); // everything has ended
    return CU_OK;
}
static cu_result fake_stream_write(cu_stream s, cu_ptr at, uint32_t v, unsigned flags)
{
    (void)s, (void)flags;
    ALIVE();
    memcpy(at_host(at), &v, 4);
    return CU_OK;
}
static cu_result fake_capture_begin(cu_stream s, int mode)
{
    ALIVE();
    s->is_capturing = true;
    s->is_spoilt = false;
    s->launches = 0;
    if (mode != CU_CAPTURE_RELAXED)
        strict_capture = s;
    return CU_OK;
}
static cu_result fake_capture_end(cu_stream s, cu_graph *g)
{
    ALIVE();
    s->is_capturing = false;
    strict_capture = strict_capture == s ? NULL : strict_capture;
    *g = NULL;
    if (s->is_spoilt)
        return CU_CAPTURE_INVALIDATED;
    *g = calloc(1, sizeof **g);
    (*g)->nodes = (size_t)s->launches;
    return CU_OK;
}
static cu_result fake_capture_info(cu_stream s, int *status, uint64_t *id, cu_graph *graph,
                                   const cu_graph_node **after, size_t *after_count)
{
    (void)graph, (void)after, (void)after_count;
    *status = !s || !s->is_capturing ? 0 : s->is_spoilt ? 2 : 1;
    *id = *status == 1;
    return CU_OK;
}
static cu_result fake_capture_mode(int *mode)
{
    int before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return CU_OK;
}
static cu_result fake_event_create(cu_event *e, unsigned flags)
{
    (void)flags;
    ALIVE();
    *e = calloc(1, sizeof **e);
    return CU_OK;
}
static cu_result fake_event_destroy(cu_event e)
{
    free(e);
    return CU_OK;
}
static cu_result fake_event_record(cu_event e, cu_stream s)
{
    ALIVE();
    e->is_captured = s && s->is_capturing;
    e->is_recorded = true;
    e->us = clock_us;
    return CU_OK;
}
static cu_result fake_event_sync(cu_event e)
{
    (void)e;
    ALIVE();
    return CU_OK;
}
static cu_result fake_event_query(cu_event e)
{
    (void)e;
    ALIVE();
    return CU_OK;
}
static cu_result fake_event_elapsed(float *ms, cu_event a, cu_event b)
{
    ALIVE();
    *ms = setting("clock") ? (float)((b->us - a->us) * 1e-3) : 1.5f;
    return CU_OK;
}
static cu_result fake_graph_create(cu_graph *g, unsigned flags)
{
    (void)flags;
    *g = calloc(1, sizeof **g);
    return CU_OK;
}
static cu_result fake_graph_destroy(cu_graph g)
{
    free(g);
    return CU_OK;
}
static cu_result fake_graph_instantiate(cu_graph_exec *e, cu_graph g, unsigned long long flags)
{
    (void)flags;
    *e = calloc(1, sizeof **e);
    (*e)->nodes = g->nodes;
    return CU_OK;
}
static cu_result fake_graph_launch(cu_graph_exec e, cu_stream s)
{
    (void)s;
    ALIVE();
    note("graph", "", (unsigned)e->nodes, 0);
    return CU_OK;
}
static cu_result fake_graph_exec_destroy(cu_graph_exec e)
{
    free(e);
    return CU_OK;
}
static cu_result fake_graph_update(cu_graph_exec e, cu_graph g, cu_graph_update *info)
{
    info->result = e->nodes != g->nodes;
    return e->nodes != g->nodes ? CU_GRAPH_UPDATE_FAILURE : CU_OK;
}
static cu_result fake_graph_nodes(cu_graph g, cu_graph_node *nodes, size_t *count)
{
    (void)nodes;
    *count = g->nodes;
    return CU_OK;
}
static struct cu_graph_node_s one_node;
static cu_result fake_graph_add_kernel(cu_graph_node *node, cu_graph g, const cu_graph_node *after,
                                       size_t count, const cu_kernel_node *params)
{
    (void)after, (void)count, (void)params;
    *node = &one_node;
    g->nodes++;
    return CU_OK;
}
static cu_result fake_graph_set_kernel(cu_graph_exec e, cu_graph_node node,
                                       const cu_kernel_node *params)
{
    (void)e, (void)node, (void)params;
    return CU_OK;
}
static cu_result fake_tensor_map_tiled(cu_tensor_map *map, int type, unsigned rank, void *base,
                                       const uint64_t *sizes, const uint64_t *strides,
                                       const uint32_t *box, const uint32_t *steps, int interleave,
                                       int swizzle, int promotion, int fill)
{
    (void)base, (void)sizes, (void)strides, (void)box, (void)steps, (void)interleave, (void)swizzle,
        (void)promotion, (void)fill;
    memset(map, 0, sizeof *map);
    map->opaque[0] = (uint64_t)type << 8 | rank;
    return CU_OK;
}

static const struct {
    const char *name;
    void (*function)(void);
} entries[] = {
#define E(field, name, version, symbol, arguments) {name, (void (*)(void))fake_##field},
    CUDA_ENTRIES(E)
#undef E
};

EXPORT cu_result cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                                     int *status);
cu_result cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                              int *status)
{
    (void)flags, (void)status;
    const char *missing = setting("missing");
    size_t len = strlen(name);
    *function = NULL;
    if (version > setting_number("driver", 13000))
        return CU_NOT_FOUND;
    if (missing && !strncmp(missing, name, len) && (missing[len] == ',' || !missing[len]))
        return CU_NOT_FOUND;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (!strcmp(entries[i].name, name)) {
            memcpy(function, &entries[i].function, sizeof *function);
            return CU_OK;
        }
    return CU_NOT_FOUND;
}
