// Opening and closing an OpenCL device, streams and events, waiting, and turning the driver's
// answers into sentences. A device must have what the promise of equal bits rests on: double
// precision, fused multiply-add, subnormals; and addresses that host and kernels share.
#include "dev/opencl/opencl.h"

#include <stdio.h>
#include <stdlib.h>

#include "rt/graph/capture.h"

static const target opencl_target = {
    .name = "opencl",
    .family = "opencl",
    .has_no_calls = true,
    .caps =
        {
            .subgroup = 32,
            .block_threads = 1024,
            .shared_bytes = 227 * 1024,
            .has_f64 = true,
            .has_f16 = true,
            .has_atomic64 = true,
            .has_addresses = true,
        },
    .barriers_wait_for_all = true,
    .backend = &opencl_backend,
};

// --- facts
static uint64_t number_of(const ocl_api *cl, ocl_device_id d, uint32_t what)
{
    uint64_t value = 0; // of 4 or 8 bytes
    return cl->device_info(d, what, sizeof value, &value, NULL) ? 0 : value;
}

static void text_of(const ocl_api *cl, ocl_device_id d, uint32_t what, char *out, size_t size)
{
    out[0] = 0;
    cl->device_info(d, what, size - 1, out, NULL);
    out[size - 1] = 0;
}

static bool has_extension(const ocl_api *cl, ocl_device_id d, const char *name)
{
    size_t size = 0;
    cl->device_info(d, OCL_EXTENSIONS, 0, NULL, &size);
    char *all = calloc(1, size + 1);
    bool has = all && !cl->device_info(d, OCL_EXTENSIONS, size, all, NULL) && strstr(all, name);
    free(all);
    return has;
}

static void fill_info(const ocl_device *d, kiln_device_info *out)
{
    char name[80], driver[40];
    ocl_device_id id = d->found->device;
    *out = (kiln_device_info){.target = "opencl"};
    text_of(d->cl, id, OCL_DEVICE_NAME, name, sizeof name);
    text_of(d->cl, id, OCL_DRIVER_VERSION, driver, sizeof driver);
    snprintf(out->device, sizeof out->device, "opencl:%d", d->ordinal);
    snprintf(out->name, sizeof out->name, "%.52s, %.36s %.32s", name, d->found->platform, driver);
    uint64_t threads = number_of(d->cl, id, OCL_GROUP_SIZE);
    out->memory_bytes = number_of(d->cl, id, OCL_MEMORY_BYTES);
    out->multiprocessors = (uint32_t)number_of(d->cl, id, OCL_COMPUTE_UNITS);
    size_t shared_bytes = (size_t)number_of(d->cl, id, OCL_LOCAL_BYTES);
    out->caps = opencl_target.caps;
    out->caps.block_threads = (uint32_t)(threads < 1024 ? threads : 1024);
    // The same bound as elsewhere, so that a kernel that fits here fits on a GPU, too.
    if (shared_bytes < out->caps.shared_bytes)
        out->caps.shared_bytes = shared_bytes;
    out->clock_khz = (uint32_t)number_of(d->cl, id, OCL_CLOCK_MHZ) * 1000;
    out->is_integrated = (d->found->type & OCL_TYPE_CPU) != 0;
}

static size_t count_devices(void)
{
    size_t count = 0;
    while (ocl_found_at(count))
        count++;
    return count;
}

static kiln_status info(const kiln *k, kiln_device_info *out)
{
    *out = ocl_of(k)->facts;
    return KILN_OK;
}

static kiln_status lacks(const ocl_device *d, const char *what)
{
    char name[80];
    text_of(d->cl, d->found->device, OCL_DEVICE_NAME, name, sizeof name);
    return error_set(NULL, KILN_E_UNSUPPORTED, K6040,
                     "the OpenCL device opencl:%d (%s) lacks %s, which kernels need", d->ordinal,
                     name, what);
}

// Finds the device and what it can do; says why when it cannot be used.
static kiln_status find(ocl_device *d, int ordinal)
{
    const char *why = "";
    d->ordinal = ordinal;
    d->cl = ocl_load(&why);
    if (!d->cl)
        return error_set(NULL, KILN_E_NOT_FOUND, K6039, "opencl cannot be used: %s", why);
    d->found = ocl_found_at((size_t)ordinal);
    if (!d->found)
        return error_set(NULL, KILN_E_NOT_FOUND, K6001,
                         "there is no device 'opencl:%d': OpenCL has %zu here, counted from 0",
                         ordinal, count_devices());
    ocl_device_id id = d->found->device;
    uint64_t single = number_of(d->cl, id, OCL_SINGLE_CONFIG),
             real = number_of(d->cl, id, OCL_DOUBLE_CONFIG);
    d->svm = number_of(d->cl, id, OCL_SVM_ABILITIES);
    d->options.is_exact = (single & OCL_FP_EXACT_DIVIDE) != 0;
    d->options.has_ptx = has_extension(d->cl, id, "cl_nv_");
    d->options.has_loops = !strcmp(d->found->platform, "Portable Computing Language");
    // Where kernels run on the host's cores, its memory is theirs at the same time, and in the
    // same order. Elsewhere that takes atomics that all devices see, which OpenCL C 1.2 lacks.
    d->options.calls_host =
        (d->found->type & OCL_TYPE_CPU) && (d->svm & OCL_SVM_FINE) && (d->svm & OCL_SVM_ATOMIC);
    if (!real)
        return lacks(d, "double precision");
    if (!(single & OCL_FP_DENORMS))
        return lacks(d, "subnormal numbers");
    if (!(single & OCL_FP_FMA))
        return lacks(d, "a fused multiply-add");
    if (!has_extension(d->cl, id, "cl_khr_int64_base_atomics"))
        return lacks(d, "atomics of 64 bits");
    return d->svm & OCL_SVM_COARSE ? KILN_OK : lacks(d, "shared virtual memory");
}

static kiln_status info_at(int ordinal, kiln_device_info *out)
{
    ocl_device d = {0};
    kiln_status status = find(&d, ordinal);
    if (!status || d.found)
        fill_info(&d, out);
    return d.found ? KILN_OK : status;
}

// --- errors
kiln_status ocl_ready(kiln *k)
{
    if (!ocl_of(k)->is_lost)
        return KILN_OK;
    return error_set(k, KILN_E_DRIVER, K6036, "%s is lost: %s", k->device, ocl_of(k)->lost_text);
}

kiln_status ocl_fail(kiln *k, ocl_result r, const char *doing)
{
    ocl_device *d = ocl_of(k);
    char driver[64];
    ocl_describe(r, driver, sizeof driver);
    if (r == OCL_NO_MEMORY || r == OCL_NO_HOST_MEMORY)
        return error_set(k, KILN_E_NO_MEMORY, K6004, "the driver has no memory while %s [%s]",
                         doing, driver);
    bool is_fault = r == OCL_OUT_OF_RESOURCES || r == OCL_EVENT_FAILED || r == OCL_INVALID_QUEUE ||
                    r == OCL_NVIDIA_FAULT;
    if (!is_fault || !d->last_kernel[0])
        return error_set(k, KILN_E_DRIVER, K6034, "the driver reports an error while %s [%s]",
                         doing, driver);
    d->is_lost = true;
    snprintf(d->lost_text, sizeof d->lost_text,
             "kernel '%s', or one launched before it, failed on %s", d->last_kernel, k->device);
    return error_set(k, KILN_E_KERNEL, K6035, "%s [%s]", d->lost_text, driver);
}

// --- waiting
ocl_queue ocl_queue_of(const kiln *k, const kiln_stream *s)
{
    return s ? ocl_stream_of(s)->queue : ocl_of(k)->main;
}

ocl_event *ocl_last_of(kiln_stream *s)
{
    if (!s)
        return NULL;
    ocl_stream *o = ocl_stream_of(s);
    if (o->last)
        ocl_of(s->k)->cl->event_release(o->last);
    o->last = NULL;
    return &o->last;
}

kiln_status ocl_sync(kiln *k, kiln_stream *s)
{
    ocl_device *d = ocl_of(k);
    kiln_status status = context_may_use(k, "a call that waits for the device");
    if (!status)
        status = ocl_ready(k);
    if (status)
        return status;
    // What kernels print can only be read after all of them have ended.
    bool waits_for_all = !s || d->has_talked;
    ocl_result r = d->cl->finish(ocl_queue_of(k, s));
    if (waits_for_all && s && !r)
        r = d->cl->finish(d->main);
    for (kiln_stream *each = k->streams; each && waits_for_all && !r; each = each->next)
        r = d->cl->finish(ocl_stream_of(each)->queue);
    if (r)
        return ocl_fail(k, r, "waiting for the device");
    if (waits_for_all)
        ocl_calls_rest(d);
    return d->has_talked ? ocl_channel_drain(k) : KILN_OK;
}

// --- streams and events
static void *stream_native(kiln *k, kiln_stream *s)
{
    return ocl_queue_of(k, s);
}

static kiln_status new_queue(kiln *k, ocl_queue *out)
{
    ocl_device *d = ocl_of(k);
    ocl_result r;
    *out = d->cl->queue_create(d->context, d->found->device, OCL_QUEUE_PROFILING, &r);
    return r ? ocl_fail(k, r, "making a stream") : KILN_OK;
}

// `native`: the foreign queue, where there is one.
static kiln_status make_stream(kiln_stream *s, bool is_foreign, void *native)
{
    kiln_status status = ocl_ready(s->k);
    ocl_stream *o = status ? NULL : calloc(1, sizeof *o);
    if (!o)
        return status ? status : error_no_memory(s->k, "a stream");
    s->dev = o;
    status = is_foreign ? ocl_adopt_queue(s->k, native, &o->queue) : new_queue(s->k, &o->queue);
    if (status)
        free(o);
    return status;
}

static kiln_status stream_new(kiln_stream *s, int priority)
{
    (void)priority;
    return make_stream(s, false, NULL);
}

static kiln_status stream_wrap(kiln_stream *s, void *native)
{
    return make_stream(s, true, native);
}

static void stream_free(kiln_stream *s)
{
    capture_stream_free(s);
    ocl_stream *o = ocl_stream_of(s);
    ocl_of(s->k)->cl->finish(o->queue);
    ocl_last_of(s);
    ocl_of(s->k)->cl->queue_release(o->queue);
    free(o);
}

static void event_free(kiln_event *e)
{
    if (e->dev)
        ocl_of(e->k)->cl->event_release(e->dev);
    e->dev = NULL;
}

static kiln_status event_new(kiln_event *e)
{
    return ocl_ready(e->k);
}

static kiln_status event_record(kiln_event *e, kiln_stream *s)
{
    ocl_device *d = ocl_of(e->k);
    kiln_status status = ocl_ready(e->k);
    if (status)
        return status;
    event_free(e);
    ocl_event made = NULL;
    ocl_result r = d->cl->marker(ocl_queue_of(e->k, s), 0, NULL, &made);
    if (!r)
        r = d->cl->flush(ocl_queue_of(e->k, s));
    e->dev = made;
    return r ? ocl_fail(e->k, r, "recording an event") : KILN_OK;
}

static kiln_status event_sync(kiln_event *e)
{
    ocl_device *d = ocl_of(e->k);
    kiln_status status = ocl_ready(e->k);
    if (status)
        return status;
    ocl_event native = e->dev;
    ocl_result r = d->cl->wait(1, &native);
    return r ? ocl_fail(e->k, r, "waiting for an event") : KILN_OK;
}

static kiln_status event_elapsed(const kiln_event *start, const kiln_event *end, double *ms)
{
    ocl_device *d = ocl_of(start->k);
    ocl_event both[2] = {start->dev, end->dev};
    uint64_t from = 0, to = 0;
    ocl_result r = d->cl->wait(2, both);
    if (!r)
        r = d->cl->event_time(both[0], OCL_PROFILING_END, sizeof from, &from, NULL);
    if (!r)
        r = d->cl->event_time(both[1], OCL_PROFILING_END, sizeof to, &to, NULL);
    *ms = to > from ? (double)(to - from) * 1e-6 : 0;
    return r ? ocl_fail(start->k, r, "asking for the time between events") : KILN_OK;
}

static kiln_status stream_wait(kiln_stream *s, const kiln_event *e)
{
    ocl_device *d = ocl_of(s->k);
    ocl_event native = e->dev;
    kiln_status status = ocl_ready(s->k);
    if (status)
        return status;
    if (e->k != s->k) { // events of another context cannot be waited for in a queue
        ocl_result r = ocl_of(e->k)->cl->wait(1, &native);
        return r ? ocl_fail(e->k, r, "waiting for an event") : KILN_OK;
    }
    ocl_result r = d->cl->wait_in_queue(ocl_stream_of(s)->queue, 1, &native, ocl_last_of(s));
    return r ? ocl_fail(s->k, r, "making a stream wait") : KILN_OK;
}

static kiln_status stream_is_done(kiln_stream *s, bool *is_done)
{
    ocl_device *d = ocl_of(s->k);
    int32_t state = 0;
    kiln_status status = ocl_ready(s->k);
    if (status)
        return status;
    ocl_result r = OCL_OK;
    if (ocl_stream_of(s)->last)
        r = d->cl->event_info(ocl_stream_of(s)->last, OCL_EVENT_STATUS, sizeof state, &state, NULL);
    *is_done = state <= 0;
    return r ? ocl_fail(s->k, r, "asking a stream") : KILN_OK;
}

// --- opening and closing
static void close_device(kiln *k)
{
    ocl_device *d = ocl_of(k);
    if (!d)
        return;
    ocl_calls_close(k);
    if (d->main)
        d->cl->queue_release(d->main);
    if (d->context)
        d->cl->context_release(d->context);
    pthread_mutex_destroy(&d->lock);
    free(d);
    k->dev = NULL;
}

static kiln_status open_parts(kiln *k)
{
    ocl_device *d = ocl_of(k);
    ocl_result r;
    if (!d->context)
        d->context = d->cl->context_create(NULL, 1, &d->found->device, NULL, NULL, &r);
    else
        r = OCL_OK; // it was given
    if (!r && k->given->stream)
        return ocl_adopt_queue(k, k->given->stream, &d->main);
    if (!r)
        d->main = d->cl->queue_create(d->context, d->found->device, OCL_QUEUE_PROFILING, &r);
    return r ? ocl_fail(k, r, "opening the device") : KILN_OK;
}

static kiln_status open_device(kiln *k, int ordinal)
{
    ocl_device *d = calloc(1, sizeof *d);
    if (!d)
        return error_no_memory(NULL, "an OpenCL device's handle");
    pthread_mutex_init(&d->lock, NULL);
    k->dev = d;
    kiln_status status = KILN_OK;
    d->cl = ocl_load(NULL); // find says why there is none
    if (k->given->context && d->cl)
        status = ocl_adopt_context(k, d->cl, &ordinal, &d->context);
    snprintf(k->device, sizeof k->device, "opencl:%d", ordinal);
    if (!status)
        status = find(d, ordinal);
    if (!status)
        status = open_parts(k);
    if (status) {
        close_device(k);
        return status;
    }
    fill_info(d, &d->facts);
    k->target = &opencl_target;
    k->caps = d->facts.caps;
    k->has_no_calls = !d->options.calls_host;
    k->has_no_warp_calls = true;
    return KILN_OK;
}

static kiln_status find_device(int ordinal)
{
    ocl_device d = {0};
    return find(&d, ordinal);
}

static const target *target_number(size_t index)
{
    return index ? NULL : &opencl_target;
}

static const backend *backend_of(const kiln_module *m, const kiln_compile_desc *desc,
                                 const void **options)
{
    (void)desc;
    *options = &ocl_of(m->k)->options;
    return &opencl_backend;
}

const device_ops opencl_device_ops = {
    .is_numbered = true,
    .keeps_code = true,
    .calls_host = true, // where the device's memory allows it: calls.c
    .count = count_devices,
    .find = find_device,
    .info_at = info_at,
    .target_at = target_number,
    .open = open_device,
    .close = close_device,
    .info = info,
    .sync = ocl_sync,
    .alloc = ocl_alloc,
    .wrap = ocl_wrap,
    .free = ocl_free,
    .copy = ocl_copy,
    .fill = ocl_fill,
    .memory_info = ocl_memory_info,
    .memory_trim = ocl_memory_trim,
    .host_alloc = ocl_host_alloc,
    .host_free = ocl_host_free,
    .backend = backend_of,
    .load = ocl_load_module,
    .unload = ocl_unload_module,
    .launch = ocl_launch,
    .stream_native = stream_native,
    .stream_new = stream_new,
    .stream_wrap = stream_wrap,
    .stream_free = stream_free,
    .stream_is_done = stream_is_done,
    .stream_wait = stream_wait,
    .event_new = event_new,
    .event_free = event_free,
    .event_record = event_record,
    .event_sync = event_sync,
    .event_elapsed = event_elapsed,
    CAPTURE_OPS,
};
