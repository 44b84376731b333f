// Opening and closing a GPU, waiting for it, and turning the driver's answers into sentences. The
// device's primary context is used, so that libraries in the same process share it. A fault of a
// kernel kills the context: the error names the earliest launch that had not ended, and every later
// call says that the device is lost.
#include "dev/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/knobs.h"

// --- facts
int cuda_attribute(const cuda_device *d, int attribute)
{
    int value = 0;
    return d->cu->device_attribute(&value, attribute, d->device) == CU_OK ? value : 0;
}

// The driver that knows a PTX version.
static int driver_of_ptx(int ptx)
{
    static const int rows[][2] = {{63, 10000}, {70, 11000}, {71, 11010}, {74, 11040},
                                  {78, 11080}, {80, 12000}, {81, 12010}, {84, 12040},
                                  {86, 12070}, {87, 12080}, {88, 12090}, {90, 13000}};
    for (size_t k = 0; k < COUNT(rows); k++)
        if (ptx <= rows[k][0])
            return rows[k][1];
    return 13000;
}

const target *cuda_pick_target(int sm, int driver_version)
{
    const target *best = NULL;
    for (size_t k = 0; target_at(k); k++) {
        const target *t = target_at(k);
        if (t->sm > sm || (t->variant && t->sm != sm) || driver_of_ptx(t->ptx) > driver_version)
            continue;
        if (!best || t->sm > best->sm || (t->sm == best->sm && t->variant))
            best = t;
    }
    return best;
}

static void fill_info(const cuda_device *d, kiln_device_info *out)
{
    size_t bytes = 0;
    *out = (kiln_device_info){0};
    d->cu->device_name(out->name, (int)sizeof out->name, d->device);
    out->name[sizeof out->name - 1] = 0;
    d->cu->device_memory(&bytes, d->device);
    snprintf(out->device, sizeof out->device, "cuda:%d", d->ordinal);
    int sm = cuda_attribute(d, CU_ATTR_SM_MAJOR) * 10 + cuda_attribute(d, CU_ATTR_SM_MINOR);
    const target *asked = target_find(knob_text(KNOB_TARGET));
    const target *t = asked ? asked : cuda_pick_target(sm, d->cu->version);
    snprintf(out->target, sizeof out->target, "%s", t ? t->name : "");
    out->caps = t ? t->caps : (kiln_caps){0};
    out->caps.sm = (uint32_t)sm;
    out->caps.block_threads = (uint32_t)cuda_attribute(d, CU_ATTR_MAX_THREADS_PER_BLOCK);
    out->caps.shared_bytes = (size_t)cuda_attribute(d, CU_ATTR_SHARED_OPTIN);
    out->caps.has_tensor_copies = out->caps.has_tensor_copies && d->cu->tensor_map_tiled;
    out->caps.has_clusters = cuda_attribute(d, CU_ATTR_CLUSTER) != 0;
    out->caps.has_cooperative = cuda_attribute(d, CU_ATTR_COOPERATIVE) != 0;
    out->memory_bytes = bytes;
    out->driver_version = d->cu->version;
    const struct {
        uint32_t *to;
        int attribute;
    } rows[] = {{&out->multiprocessors, CU_ATTR_MULTIPROCESSORS},
                {&out->threads_per_multiprocessor, CU_ATTR_THREADS_PER_SM},
                {&out->registers_per_multiprocessor, CU_ATTR_REGISTERS_PER_SM},
                {&out->clock_khz, CU_ATTR_CLOCK_KHZ},
                {&out->memory_clock_khz, CU_ATTR_MEMORY_CLOCK_KHZ},
                {&out->memory_bus_bits, CU_ATTR_MEMORY_BUS_BITS}};
    for (size_t k = 0; k < COUNT(rows); k++)
        *rows[k].to = (uint32_t)cuda_attribute(d, rows[k].attribute);
    out->shared_per_multiprocessor = (size_t)cuda_attribute(d, CU_ATTR_SHARED_PER_SM);
    out->cache_bytes = (size_t)cuda_attribute(d, CU_ATTR_L2_BYTES);
    out->is_integrated = cuda_attribute(d, CU_ATTR_INTEGRATED) != 0;
}

static kiln_status info(const kiln *k, kiln_device_info *out)
{
    *out = cuda_of(k)->facts;
    return KILN_OK;
}

// Finds the device; says why when there is none.
static kiln_status find(cuda_device *d, int ordinal)
{
    const char *why = "";
    int count = 0;
    d->ordinal = ordinal;
    d->cu = cuda_load(&why);
    if (!d->cu)
        return error_set(NULL, KILN_E_NOT_FOUND, K6031, "cuda cannot be used: %s", why);
    cu_result r = d->cu->device_count(&count);
    if (r == CU_OK && ordinal < count)
        r = d->cu->device_get(&d->device, ordinal);
    if (r != CU_OK && r != CU_NO_DEVICE)
        return cuda_fail(NULL, r, "looking for GPUs");
    if (ordinal >= count)
        return error_set(
            NULL, KILN_E_NOT_FOUND, K6001,
            count ? "there is no device 'cuda:%d': this machine has %d GPU%s, counted from 0"
                  : "there is no device 'cuda:%d': the driver finds no GPU",
            ordinal, count, count == 1 ? "" : "s");
    int sm = cuda_attribute(d, CU_ATTR_SM_MAJOR) * 10 + cuda_attribute(d, CU_ATTR_SM_MINOR);
    if (!cuda_pick_target(sm, d->cu->version))
        return error_set(
            NULL, KILN_E_UNSUPPORTED, K6032,
            sm < 75 ? "the GPU cuda:%d is too old: it is sm_%d, Kiln needs sm_75"
                    : "the driver is too old for the GPU cuda:%d (sm_%d): it knows CUDA %d.%d",
            ordinal, sm, d->cu->version / 1000, d->cu->version % 1000 / 10);
    return KILN_OK;
}

static size_t count_devices(void)
{
    const cuda_api *cu = cuda_load(NULL);
    int count = 0;
    return cu && cu->device_count(&count) == CU_OK && count > 0 ? (size_t)count : 0;
}

static kiln_status find_device(int ordinal)
{
    cuda_device d = {0};
    return find(&d, ordinal);
}

static kiln_status info_at(int ordinal, kiln_device_info *out)
{
    cuda_device d = {0};
    kiln_status status = find(&d, ordinal);
    if (!status)
        fill_info(&d, out);
    return status;
}

// --- errors
bool cuda_is_fault(cu_result r)
{
    return r == CU_ILLEGAL_ADDRESS || r == CU_LAUNCH_TIMEOUT || r == CU_ASSERT ||
           (r >= CU_HARDWARE_STACK_ERROR && r <= CU_LAUNCH_FAILED) || r == CU_TENSOR_MEMORY_LEAK;
}

static const char *fault_words(cu_result r)
{
    switch (r) {
    case CU_ILLEGAL_ADDRESS: return "it used memory that is not its own";
    case CU_MISALIGNED_ADDRESS: return "it used a misaligned address";
    case CU_ILLEGAL_INSTRUCTION:
        return "it reached an instruction that cannot be run (a trap, or unreachable code)";
    case CU_LAUNCH_TIMEOUT: return "it ran too long for this system";
    case CU_INVALID_ADDRESS_SPACE: return "it used an address of the wrong kind of memory";
    case CU_HARDWARE_STACK_ERROR: return "its stack broke";
    case CU_ASSERT: return "an assertion failed";
    default: return "it was stopped";
    }
}

// How many of the newest launches of `s` are not known to have ended.
static uint32_t unfinished(const cuda_device *d, const cuda_stream *s)
{
    uint32_t done = s->known_done;
    if (d->marks && (int32_t)(d->marks[s->slot] - done) > 0)
        done = d->marks[s->slot];
    uint32_t count = s->launched - done;
    return count > LAUNCH_RING ? LAUNCH_RING : count;
}

// Of all streams, the first launch behind `order` that is not known to have ended; NULL: none.
static const launch_note *next_unfinished(const kiln *k, uint64_t order)
{
    const cuda_device *d = cuda_of(k);
    const launch_note *first = NULL;
    for (const cuda_stream *s = &d->main; s; s = s->next)
        for (uint32_t n = unfinished(d, s); n > 0; n--) {
            const launch_note *note = &s->ring[(s->launched - n) % LAUNCH_RING];
            if (note->order <= order)
                continue;
            if (!first || note->order < first->order)
                first = note;
            break; // the later ones of a stream have a higher order
        }
    return first;
}

static void list_others(const kiln *k, const launch_note *first, char *out, size_t size)
{
    enum { SHOWN = 4 };
    size_t len = 0, count = 0;
    out[0] = 0;
    for (const launch_note *n = next_unfinished(k, first->order); n && len + 60 < size;
         n = next_unfinished(k, n->order)) {
        if (!count)
            len += (size_t)snprintf(out, size,
                                    "; it is the earliest launch that had not ended, the others:");
        if (count++ == SHOWN) {
            snprintf(out + len, size - len, " …");
            return;
        }
        len += (size_t)snprintf(out + len, size - len, n->kernel ? " '%.32s'" : " %.32s",
                                n->kernel ? n->kernel->name : "a graph");
    }
}

// A kernel failed: which one?
static kiln_status fault(kiln *k, cu_result r)
{
    cuda_device *d = cuda_of(k);
    char driver[256], others[320] = "";
    const launch_note *first = next_unfinished(k, 0);
    cuda_describe(d->cu, r, driver, sizeof driver);
    d->is_lost = true;
    if (first)
        list_others(k, first, others, sizeof others);
    if (!first)
        snprintf(d->lost_text, sizeof d->lost_text, "the GPU stopped: %s", driver);
    else if (!first->kernel)
        snprintf(d->lost_text, sizeof d->lost_text, "a kernel of a graph failed on %s: %s%s",
                 k->device, fault_words(r), others);
    else
        snprintf(d->lost_text, sizeof d->lost_text,
                 "kernel '%s' failed on %s: %s; grid %u x %u x %u, block %u x %u x %u%s",
                 first->kernel->name, k->device, fault_words(r), first->grid[0], first->grid[1],
                 first->grid[2], first->block[0], first->block[1], first->block[2], others);
    char calls[400] = "";
    uint32_t pending = cuda_calls_pending(d, calls, sizeof calls);
    cuda_channel_salvage(k); // what kernels have printed is the host's
    error_set(k, KILN_E_KERNEL, K6035, "%s [%s]%s%s", d->lost_text, driver,
              pending ? "\n  calls of the host without an answer: " : "", calls);
    if (first && first->kernel)
        error_add_kernel(k, first->kernel);
    return KILN_E_KERNEL;
}

kiln_status cuda_fail(kiln *k, cu_result r, const char *doing)
{
    const cuda_api *cu = k ? cuda_of(k)->cu : cuda_load(NULL);
    char driver[256];
    if (k && cuda_is_fault(r))
        return cuda_of(k)->is_lost ? cuda_ready(k) : fault(k, r);
    cuda_describe(cu, r, driver, sizeof driver);
    if (r == CU_OUT_OF_MEMORY)
        return error_set(k, KILN_E_NO_MEMORY, K6004, "the driver has no memory while %s [%s]",
                         doing, driver);
    if (k && (r == CU_CONTEXT_IS_DESTROYED || r == CU_DEINITIALIZED)) {
        cuda_of(k)->is_lost = true;
        snprintf(cuda_of(k)->lost_text, sizeof cuda_of(k)->lost_text,
                 "other code in this process destroyed the GPU's context");
        return cuda_ready(k);
    }
    return error_set(k, KILN_E_DRIVER, K6034, "the driver reports an error while %s [%s]", doing,
                     driver);
}

kiln_status cuda_ready(kiln *k)
{
    if (cuda_of(k)->is_lost)
        return error_set(k, KILN_E_DRIVER, K6036, "%s is lost since: %s", k->device,
                         cuda_of(k)->lost_text);
    cuda_enter(cuda_of(k));
    return KILN_OK;
}

kiln_status cuda_no_entry(kiln *k, const char *feature)
{
    int version = cuda_of(k)->cu->version;
    return error_set(k, KILN_E_UNSUPPORTED, K6038,
                     "%s: the driver of %s is too old for it (it knows CUDA %d.%d)", feature,
                     k->device, version / 1000, version % 1000 / 10);
}

// --- waiting
static void all_done(kiln *k)
{
    cuda_device *d = cuda_of(k);
    for (cuda_stream *s = &d->main; s; s = s->next)
        s->known_done = s->launched;
}

kiln_status cuda_sync(kiln *k, kiln_stream *handle)
{
    cuda_device *d = cuda_of(k);
    cuda_stream *s = handle ? handle->dev : NULL;
    kiln_status status = context_may_use(k, "a call that waits for the GPU");
    if (!status)
        status = cuda_ready(k);
    if (status)
        return status;
    // What kernels print can only be read after all of them have ended.
    bool waits_for_all = !s || d->has_talked;
    cu_result r = CU_OK;
    int mode = cuda_relax(d->cu);
    if (s)
        r = d->cu->stream_sync(s->native);
    else
        for (cuda_stream *each = &d->main; each && !r; each = each->next)
            r = cuda_is_captured(d->cu, each) ? CU_OK : d->cu->stream_sync(each->native);
    cuda_strict(d->cu, mode);
    if (!r && s && waits_for_all)
        return cuda_sync(k, NULL);
    if (r)
        return cuda_fail(k, r, "waiting for the GPU");
    if (s) {
        s->known_done = s->launched;
        return KILN_OK;
    }
    all_done(k);
    if (!d->has_talked)
        return KILN_OK;
    cuda_calls_rest(d);
    return cuda_channel_drain(k);
}

// --- opening and closing
static void close_device(kiln *k)
{
    cuda_device *d = cuda_of(k);
    if (!d)
        return;
    if (d->context) {
        cuda_enter(d);
        cuda_calls_close(k);
        cuda_printer_close(d);
        if (d->has_main)
            cuda_stream_close(d, &d->main);
        if (d->order)
            d->cu->event_destroy(d->order);
        if (d->memory)
            d->cu->stream_destroy(d->memory);
        if (d->marks)
            d->cu->host_free(d->marks);
    }
    if (d->context && !d->is_foreign) {
        d->cu->context_set(NULL);
        d->cu->context_release(d->device);
        // The driver may or may not let this process go on with the GPU after a fault; asking costs
        // nothing.
        if (d->is_lost && d->cu->context_reset)
            d->cu->context_reset(d->device);
    }
    free(d);
    k->dev = NULL;
}

// The driver gives a process no second chance after a fault.
static kiln_status cannot_open(kiln *k, cu_result r)
{
    if (!cuda_is_fault(r))
        return cuda_fail(k, r, "opening the GPU");
    return error_set(k, KILN_E_DRIVER, K6036,
                     "%s is lost for this process: a kernel failed on it earlier", k->device);
}

// A driver that lacks any part of the pools has none: buffers then come from plain allocation.
static bool has_pools(const cuda_device *d)
{
    const cuda_api *cu = d->cu;
    return cu->device_pool && cu->alloc_async && cu->free_async && cu->pool_get && cu->pool_set &&
           cu->pool_trim && cuda_attribute(d, CU_ATTR_POOLS);
}

static kiln_status open_parts(kiln *k)
{
    cuda_device *d = cuda_of(k);
    const cuda_api *cu = d->cu;
    cu_result r = CU_OK;
    d->is_foreign = k->given->context != NULL;
    if (d->is_foreign) {
        kiln_status status = cuda_enter_given(k);
        if (status)
            return status;
    } else {
        r = cu->context_retain(&d->context, d->device);
        if (!r)
            r = cu->context_set(d->context);
    }
    if (r)
        return cannot_open(k, r);
    void *marks = NULL;
    r = cu->host_alloc(&marks, CUDA_STREAM_LIMIT * sizeof(uint32_t),
                       CU_HOST_PORTABLE | CU_HOST_MAPPED);
    d->marks = marks;
    if (!r)
        memset(marks, 0, CUDA_STREAM_LIMIT * sizeof(uint32_t));
    if (!r)
        r = cu->host_device_pointer(&d->marks_at, marks, 0);
    if (!r)
        r = cu->stream_create(&d->memory, CU_STREAM_NON_BLOCKING, 0);
    if (!r)
        r = cu->event_create(&d->order, CU_EVENT_NO_TIMING);
    if (r)
        return cannot_open(k, r);
    if (has_pools(d) && cu->device_pool(&d->pool, d->device) == CU_OK) {
        uint64_t keep = UINT64_MAX; // freed memory stays with us until kiln_memory_trim
        cu->pool_set(d->pool, CU_POOL_RELEASE_THRESHOLD, &keep);
    }
    void *stream = k->given->stream;
    d->main.is_foreign = stream != NULL;
    memcpy(&d->main.native, &stream, sizeof stream);
    kiln_status status = cuda_stream_open(k, &d->main, 0);
    d->has_main = !status;
    return status;
}

static kiln_status open_device(kiln *k, int ordinal)
{
    cuda_device *d = calloc(1, sizeof *d);
    if (!d)
        return error_no_memory(NULL, "a GPU's handle");
    k->dev = d;
    kiln_status status = find(d, ordinal);
    if (!status) {
        snprintf(k->device, sizeof k->device, "cuda:%d", ordinal);
        d->mark_every = knob_lists(KNOB_CHECK, "launches") ? 1 : CUDA_MARK_EVERY;
        status = open_parts(k);
    }
    if (status) {
        close_device(k);
        return status;
    }
    fill_info(d, &d->facts);
    k->target = target_find(d->facts.target);
    k->caps = d->facts.caps;
    return KILN_OK;
}

static void *stream_native(kiln *k, kiln_stream *s)
{
    cuda_stream_of(k, s)->is_lent = true;
    return cuda_stream_of(k, s)->native;
}

static bool accepts_target(const kiln *k, const target *t)
{
    (void)k;
    return t->backend == &ptx_backend; // the driver says whether the GPU can run it
}

const device_ops cuda_device_ops = {
    .is_numbered = true,
    .calls_host = true,
    .keeps_code = true,
    .count = count_devices,
    .find = find_device,
    .info_at = info_at,
    .target_at = target_at,
    .accepts_target = accepts_target,
    .read_code = cuda_read_code,
    .open = open_device,
    .close = close_device,
    .info = info,
    .sync = cuda_sync,
    .print_lines = cuda_print_lines,
    .alloc = cuda_alloc,
    .wrap = cuda_wrap,
    .dlpack = cuda_dlpack,
    .free = cuda_free,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .memory_info = cuda_memory_info,
    .memory_trim = cuda_memory_trim,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .load = cuda_load_module,
    .unload = cuda_unload_module,
    .launch = cuda_launch,
    .occupancy = cuda_occupancy,
    .clusters = cuda_clusters,
    .stream_native = stream_native,
    .stream_new = cuda_stream_new,
    .stream_wrap = cuda_stream_wrap,
    .stream_free = cuda_stream_free,
    .stream_is_done = cuda_stream_is_done,
    .stream_notify = cuda_stream_notify,
    .stream_wait = cuda_stream_wait,
    .event_new = cuda_event_new,
    .event_free = cuda_event_free,
    .event_record = cuda_event_record,
    .event_sync = cuda_event_sync,
    .event_elapsed = cuda_event_elapsed,
    .capture_begin = cuda_capture_begin,
    .capture_end = cuda_capture_end,
    .capture_of_others = cuda_capture_of_others,
    .graph_new = cuda_graph_new,
    .graph_add = cuda_graph_add,
    .graph_kernel = cuda_graph_kernel,
    .graph_set = cuda_graph_set,
    .graph_launch = cuda_graph_launch,
    .graph_free = cuda_graph_free,
    .tensor_map = cuda_tensor_map,
};
