// The interpreter as a device: buffers are host memory and rows of a segment table, work is done
// when its call returns, so streams never wait; a capture records calls, and launching the graph
// makes them.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#ifdef __x86_64__
#    include <xmmintrin.h>
#else
#    include <fenv.h>
#endif

#include "base/knobs.h"
#include "dev/cpu/cpu.h"
#include "rt/graph/capture.h"

enum { ALIGNMENT = GUARDED_ALIGNMENT, ROW_LIMIT = 1 << 23 };

// --- buffers
// A free row of the segment table, or 0.
static uint32_t row_new(kiln *k)
{
    if (k->free_row_count)
        return k->free_rows[--k->free_row_count];
    if (k->row_count < k->row_cap)
        return k->row_count++;
    if (k->row_count >= ROW_LIMIT)
        return 0;
    uint32_t cap = k->row_cap ? k->row_cap * 2 : 16;
    interp_buffer *rows = realloc(k->rows, cap * sizeof *rows);
    if (!rows)
        return 0;
    k->rows = rows;
    uint32_t *spare = realloc(k->free_rows, cap * sizeof *spare);
    if (!spare)
        return 0;
    k->free_rows = spare;
    memset(rows + k->row_cap, 0, (cap - k->row_cap) * sizeof *rows);
    k->row_cap = cap;
    return k->row_count++;
}

// Large pages for large buffers: kernels that stream through memory look up fewer of them. It is
// advice, so nothing is lost when the system does not take it.
static void advise_large_pages(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)2 << 20, inside = page - 1;
    uintptr_t first = ((uintptr_t)memory + inside) & ~inside,
              end = ((uintptr_t)memory + bytes) & ~inside;
    if (memory && end > first + page)
        (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}

static kiln_status alloc_buffer(kiln_buffer *b, size_t bytes, const kiln_buffer_desc *desc)
{
    kiln *k = b->k;
    bool is_possible = bytes <= ((size_t)1 << (INTERP_SEGMENT_BITS - 1)) - ALIGNMENT;
    size_t mapped = 0;
    uint8_t *base = NULL;
    void *memory = is_possible && k->guards_buffers ? guarded_new(bytes, &mapped, &base) : NULL;
    if (!memory && is_possible)
        memory = calloc(1, bytes + ALIGNMENT);
    if (!base)
        base = (uint8_t *)(((uintptr_t)memory + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
    advise_large_pages(memory, bytes);
    uint32_t row = memory ? row_new(k) : 0;
    if (!row) {
        guarded_free(memory, mapped);
        return error_set(k, KILN_E_NO_MEMORY, K6004,
                         "no memory for a buffer of %zu elements of %zu bytes", b->count,
                         b->elem_size);
    }
    b->memory = memory;
    b->mapped = mapped;
    b->base = base;
    b->row = row;
    b->address = interp_address(row, 0);
    b->is_mapped = desc->is_mapped;
    k->rows[row] = (interp_buffer){b->base, bytes};
    return KILN_OK;
}

static void free_buffer(kiln_buffer *b)
{
    kiln *k = b->k;
    k->rows[b->row] = (interp_buffer){NULL, 0};
    k->free_rows[k->free_row_count++] = b->row;
    guarded_free(b->memory, b->mapped);
}

static kiln_status memory_info(kiln *k, kiln_memory_info *out)
{
    (void)k;
    (void)out;
    return KILN_OK;
}

static kiln_status memory_trim(kiln *k)
{
    (void)k;
    return KILN_OK;
}

static kiln_status host_alloc(kiln *k, size_t bytes, void **out)
{
    *out = calloc(1, bytes ? bytes : 1);
    return *out ? KILN_OK : error_no_memory(k, "host memory");
}

static void host_free(kiln *k, void *memory)
{
    (void)k;
    free(memory);
}

// --- work
// The program may have chosen another rounding, flushed small numbers to zero or turned on traps:
// kernels compute as they always do.
#ifdef __x86_64__
typedef unsigned float_state;
static float_state plain_floats(void)
{
    float_state before = _mm_getcsr();
    _mm_setcsr(0x1f80);
    return before;
}
static void put_floats_back(const float_state *before)
{
    _mm_setcsr(*before);
}
#else
typedef fenv_t float_state;
static float_state plain_floats(void)
{
    float_state before;
    fegetenv(&before);
    fesetenv(FE_DFL_ENV);
    return before;
}
static void put_floats_back(const float_state *before)
{
    fesetenv(before);
}
#endif

// The blocks of a cooperative launch may wait for one another. The interpreter lets them take
// turns, for the cpu device, too.
static kiln_status check_together(const kiln_kernel *kernel, const rt_launch *l, bool *is_together)
{
    kiln *k = kernel->module->k;
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    *is_together = l->is_cooperative && blocks > 1;
    if (*is_together && blocks > INTERP_TOGETHER)
        return error_set(k, KILN_E_UNSUPPORTED, K6038,
                         "kernel '%s': a cooperative launch of %llu blocks: %s runs at most %d at "
                         "the same time",
                         kernel->name, (unsigned long long)blocks, k->device, INTERP_TOGETHER);
    if (*is_together && kernel->work && !work_can_move(kernel->work))
        return error_set(k, KILN_E_UNSUPPORTED, K6038,
                         "kernel '%s' uses addresses as values: a cooperative launch of it is not "
                         "possible on %s",
                         kernel->name, k->device);
    return KILN_OK;
}

static kiln_status launch_with_plain_floats(kiln_kernel *kernel, const rt_launch *l)
{
    kiln *k = kernel->module->k;
    __atomic_store_n(&k->cancel, 0, __ATOMIC_RELAXED);
    k->has_lost_print = false;
    __atomic_store_n(&kernel->ran, RAN_NOT_YET, __ATOMIC_RELAXED);
    __atomic_store_n(&k->blocks_taken, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&k->blocks_all, (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
                     __ATOMIC_RELAXED);
    bool is_together;
    kiln_status status = check_together(kernel, l, &is_together);
    if (status)
        return status;
    const cpu_row *row = is_together ? NULL : cpu_takes(kernel, l);
    rt_ran ran = !row ? RAN_INTERPRETED : row == kernel->native ? RAN_COMPILED : RAN_OWN;
    __atomic_store_n(&kernel->ran, ran, __ATOMIC_RELAXED);
    if (row)
        return cpu_launch(kernel, row, l);
    if (__atomic_load_n(&k->cancel, __ATOMIC_RELAXED)) // while it waited for machine code
        return error_set(k, KILN_E_CANCELLED, K6029, "kernel '%s': the launch was cancelled",
                         kernel->name);
    interp_launch launch = {.program = kernel->program,
                            .shared_bytes = l->shared_bytes,
                            .args = l->args,
                            .buffers = k->rows,
                            .buffer_count = k->row_count,
                            .threads = k->threads,
                            .step_limit = k->step_limit,
                            .cancel = &k->cancel,
                            .taken = &k->blocks_taken,
                            .is_together = is_together,
                            .print = context_print,
                            .print_user = k};
    memcpy(launch.grid, l->grid, sizeof launch.grid);
    memcpy(launch.block, l->block, sizeof launch.block);
    memcpy(launch.cluster, l->cluster, sizeof launch.cluster);
    interp_error error;
    if (interp_run(&launch, &error))
        return k->has_lost_print ? error_no_memory(k, "the kernel's output") : KILN_OK;
    status = error.code == K6029   ? KILN_E_CANCELLED
             : error.code == K6004 ? KILN_E_NO_MEMORY
                                   : KILN_E_KERNEL;
    error_set(k, status, error.code, "%s", error.text);
    error_add_place(k, kernel->name, error.file ? error.file : "", error.line, error.column);
    return status;
}

static kiln_status launch_now(kiln_kernel *kernel, const rt_launch *l)
{
    float_state before = plain_floats();
    kiln_status status = launch_with_plain_floats(kernel, l);
    put_floats_back(&before);
    return status;
}

static kiln_status launch(kiln_kernel *kernel, const rt_launch *l)
{
    if (l->stream && l->stream->capture)
        return capture_launch(l->stream->capture, kernel, l);
    return launch_now(kernel, l);
}

static void copy_now(const rt_copy *c)
{
    const uint8_t *from =
        c->from_host ? c->from_host : c->from->base + (c->from_address - c->from->address);
    uint8_t *to = c->to_host ? c->to_host : c->to->base + (c->to_address - c->to->address);
    for (size_t row = 0; row < c->rows; row++)
        memmove(to + row * c->to_pitch, from + row * c->from_pitch, c->width);
}

static kiln_status copy(kiln *k, const rt_copy *c)
{
    (void)k;
    if (c->stream && c->stream->capture)
        return capture_copy(c->stream->capture, c);
    copy_now(c);
    return KILN_OK;
}

static void fill_now(kiln_buffer *b, size_t first, size_t count, const void *element)
{
    for (size_t n = 0; n < count; n++)
        memcpy(b->base + (first + n) * b->elem_size, element, b->elem_size);
}

static kiln_status fill(kiln_buffer *b, size_t first, size_t count, const void *element,
                        kiln_stream *s)
{
    if (!s || !s->capture) {
        fill_now(b, first, count, element);
        return KILN_OK;
    }
    return capture_fill(s->capture, b, first, count, element);
}

// --- streams, events
static kiln_status sync(kiln *k, kiln_stream *s)
{
    (void)k;
    (void)s;
    return KILN_OK;
}

static kiln_status stream_new(kiln_stream *s, int priority)
{
    (void)s;
    (void)priority;
    return KILN_OK;
}

static kiln_status stream_is_done(kiln_stream *s, bool *is_done)
{
    (void)s;
    *is_done = true;
    return KILN_OK;
}

static kiln_status stream_wait(kiln_stream *s, const kiln_event *e)
{
    (void)s;
    (void)e;
    return KILN_OK;
}

static kiln_status event_new(kiln_event *e)
{
    (void)e;
    return KILN_OK;
}

static void event_free(kiln_event *e)
{
    (void)e;
}

static kiln_status event_record(kiln_event *e, kiln_stream *s)
{
    (void)s;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    e->time = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
    return KILN_OK;
}

static kiln_status event_sync(kiln_event *e)
{
    (void)e;
    return KILN_OK;
}

static kiln_status event_elapsed(const kiln_event *start, const kiln_event *end, double *ms)
{
    *ms = (end->time - start->time) * 1e3;
    return KILN_OK;
}

// --- the device
static kiln_status resources(const kiln_kernel *kernel, kiln_resources *out)
{
    *out = (kiln_resources){.shared_bytes = kernel->shared_bytes,
                            .block_threads = kernel->module->k->caps.block_threads};
    return KILN_OK;
}

static const kiln_caps caps = {
    .subgroup = 32,
    .block_threads = 1024,
    .shared_bytes = 227 * 1024, // of sm_90: a kernel that fits here fits on a GPU, too
    .has_f64 = true,
    .has_f16 = true,
    .has_atomic64 = true,
    .has_nv = true,
    .has_wgmma = true,
    .has_tensor_copies = true,
    .has_clusters = true,
    .has_cooperative = true,
    .has_host_memory = true,
    .can_cancel = true,
    .is_host = true,
    .is_emulated = true,
};

static kiln_status info(const kiln *k, kiln_device_info *out)
{
    (void)k;
    *out = (kiln_device_info){.device = "interp",
                              .name = "the interpreter, on the host's cores",
                              .target = "interp",
                              .caps = caps,
                              .multiprocessors = 1};
    return KILN_OK;
}

// --- tensor maps
static interp_elem map_elem(kiln_type type)
{
    switch (type) {
    case KILN_I32:
    case KILN_U32: return INTERP_I32;
    case KILN_I64:
    case KILN_U64: return INTERP_I64;
    case KILN_F16: return INTERP_F16;
    case KILN_BF16: return INTERP_BF16;
    case KILN_F32: return INTERP_F32;
    case KILN_F64: return INTERP_F64;
    default: return INTERP_BYTES;
    }
}

static kiln_status tensor_map(kiln *k, const kiln_tensor_map_desc *desc, kiln_tensor_map *out)
{
    tensor_layout l;
    kiln_status status = tensor_layout_of(k, desc, &l);
    if (status)
        return status;
    interp_tensor m = {.magic = INTERP_TENSOR_MAGIC,
                       .address = l.address,
                       .rank = (uint8_t)desc->rank,
                       .elem_size = (uint8_t)kiln_type_size(l.type),
                       .swizzle = (uint8_t)l.swizzle,
                       .elem = (uint8_t)map_elem(l.type),
                       .fills_nan = desc->fills_nan};
    for (uint32_t n = 0; n < desc->rank; n++) {
        m.box[n] = (uint16_t)desc->box[n];
        m.step[n] = (uint8_t)l.steps[n];
        m.size[n] = desc->size[n];
        if (n)
            m.stride[n - 1] = l.strides[n - 1];
    }
    memset(out, 0, sizeof *out);
    memcpy(out->opaque, &m, sizeof m);
    return KILN_OK;
}

static kiln_status open_device(kiln *k, int ordinal)
{
    if (ordinal > 0)
        return error_set(NULL, KILN_E_NOT_FOUND, K6001, "there is one interpreter: 'interp'");
    int threads = knob_number(KNOB_THREADS), steps = knob_number(KNOB_STEPS);
    snprintf(k->device, sizeof k->device, "interp");
    k->target = "interp";
    k->row_count = 1;
    k->threads = threads > 0 ? (uint32_t)threads : 0;
    k->step_limit = steps > 0 ? (uint64_t)steps : 0;
    k->caps = caps;
    return KILN_OK;
}

static void close_device(kiln *k)
{
    free(k->rows);
    free(k->free_rows);
}

const device_ops interp_device = {
    .name = "interp",
    .open = open_device,
    .close = close_device,
    .info = info,
    .sync = sync,
    .alloc = alloc_buffer,
    .free = free_buffer,
    .copy = copy,
    .fill = fill,
    .memory_info = memory_info,
    .memory_trim = memory_trim,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .launch = launch,
    .resources = resources,
    .stream_new = stream_new,
    .stream_free = capture_stream_free,
    .stream_is_done = stream_is_done,
    .stream_wait = stream_wait,
    .event_new = event_new,
    .event_free = event_free,
    .event_record = event_record,
    .event_sync = event_sync,
    .event_elapsed = event_elapsed,
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .graph_new = capture_graph_new,
    .graph_add = capture_graph_add,
    .graph_kernel = capture_graph_kernel,
    .graph_set = capture_graph_set,
    .graph_launch = capture_graph_launch,
    .graph_free = capture_drop,
    .tensor_map = tensor_map,
};
