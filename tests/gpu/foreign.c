// Foreign memory, streams and contexts: wrapped, used, released. Nothing foreign is freed, and
// the release callback is called exactly once, however a buffer ends.
//     foreign [DEVICE]        (default: cuda)
// "Others" is a second handle of the same device: its buffers' addresses, its streams, its context.
#include <dlfcn.h>
#include <kiln/dlpack.h>
#include <kiln/ops.h>

#include "api.h"

static const char source[] = "#include <kiln/kernel.h>\n"
                             "kernel void add(i32 *to, const i32 *from, u32 n)\n"
                             "{ u32 i = global_x(); if (i < n) to[i] += from[i]; }\n";
enum { COUNT = 300 };
static bool is_fake;
static int released;

static void release(void *user)
{
    released++;
    CHECK(user == &released);
}

static kiln_wrap_desc host_memory(void *at, size_t count)
{
    kiln_wrap_desc desc = {.type = KILN_I32, .count = count, .host = at};
    desc.release = release;
    desc.user = &released;
    return desc;
}

static kiln_wrap_desc device_memory(uint64_t at, size_t count)
{
    kiln_wrap_desc desc = host_memory(NULL, count);
    desc.address = at;
    return desc;
}

static void run_add(kiln *k, kiln_buffer *to, kiln_buffer *from, kiln_stream *s)
{
    kiln_module *m = api_compile(k, source, 0);
    kiln_arg args[] = {kiln_arg_buffer(to), kiln_arg_buffer(from), kiln_arg_i64(KILN_U32, COUNT)};
    kiln_launch_desc desc = {.block = {64}, .items = {COUNT}, .args = args, .arg_count = 3};
    desc.stream = s;
    CHECK(!kiln_launch(api_kernel(m, NULL), &desc) && !kiln_sync(k));
    kiln_module_free(m);
}

// Memory of the host: kernels read and write it in place. At odd places, too.
static void test_host(const char *device)
{
    kiln *k = api_open(device);
    for (size_t off = 0; off < 3; off++) {
        int32_t *numbers = calloc(COUNT + 8, sizeof *numbers);
        for (int n = 0; n < COUNT + 8; n++)
            numbers[n] = n;
        kiln_buffer *b = NULL, *own = NULL;
        kiln_wrap_desc desc = host_memory(numbers + 3 + off, COUNT);
        released = 0;
        kiln_status status = kiln_buffer_wrap(k, &desc, &b);
        if (status == KILN_E_UNSUPPORTED) { // not all devices reach all memory
            EXPECT(status, KILN_E_UNSUPPORTED, "K6044", "do not reach all memory of the host");
            CHECK(!released && !strncmp(device, "opencl", 6));
            free(numbers);
            break;
        }
        CHECK(!status && !kiln_buffer_new(k, KILN_I32, COUNT, &own));
        CHECK(kiln_buffer_host(b) == numbers + 3 + off);
        kiln_memory_info info;
        CHECK(!kiln_memory_info_of(k, &info) && info.used_bytes == COUNT * 4);
        int32_t x[2] = {7, 7};
        CHECK(!kiln_fill(own, x));
        run_add(k, b, own, NULL);
        CHECK(is_fake || (numbers[3 + off] == 3 + (int)off + 7 &&
                          numbers[3 + off + COUNT - 1] == 3 + (int)off + COUNT - 1 + 7));
        CHECK(numbers[2 + off] == 2 + (int)off && numbers[3 + off + COUNT] == 3 + (int)off + COUNT);
        CHECK(!kiln_read(b, 1, x, 2) && x[0] == numbers[4 + off]);
        CHECK(!kiln_write(b, 1, (const int32_t[]){-1, -2}, 2) && numbers[4 + off] == -1);
        CHECK(!released);
        kiln_buffer_free(b);
        CHECK(released == 1);
        kiln_buffer_free(b); // dead
        CHECK(released == 1);
        kiln_buffer_free(own);
        free(numbers);
    }
    // what ends a buffer: the last reference, a graph, kiln_close
    static int32_t numbers[COUNT];
    kiln_buffer *b = NULL;
    kiln_wrap_desc desc = host_memory(numbers, COUNT);
    released = 0;
    if (!kiln_buffer_wrap(k, &desc, &b)) {
        kiln_stream *s = NULL;
        kiln_graph *g = NULL;
        int32_t x = 1;
        CHECK(!kiln_buffer_retain(b));
        kiln_buffer_free(b);
        CHECK(!released && !kiln_stream_new(k, 0, &s) && !kiln_capture_begin(s));
        CHECK(!kiln_fill_async(b, 0, COUNT, &x, s) && !kiln_capture_end(s, &g));
        kiln_buffer_free(b);
        CHECK(!released && !kiln_graph_launch(g, NULL) && !kiln_sync(k));
        CHECK(is_fake || numbers[COUNT - 1] == 1);
        kiln_graph_free(g);
        CHECK(released == 1);
        CHECK(!kiln_buffer_wrap(k, &desc, &b));
        kiln_close(k);
        CHECK(released == 2);
    } else {
        kiln_close(k);
    }
}

static void test_address(const char *device)
{
    kiln *others = api_open(device), *k = api_open(device);
    kiln_buffer *theirs = NULL, *b = NULL, *own = NULL;
    int32_t numbers[COUNT], seven = 7;
    for (int n = 0; n < COUNT; n++)
        numbers[n] = n;
    CHECK(!kiln_buffer_new(others, KILN_I32, COUNT, &theirs) && !kiln_sync(others));
    CHECK(!kiln_write(theirs, 0, numbers, COUNT));
    kiln_wrap_desc desc = device_memory(kiln_buffer_address(theirs), COUNT);
    released = 0;
    if (!desc.address) { // interp, cpu: the host's memory is all there is
        desc.address = 4096;
        EXPECT(kiln_buffer_wrap(k, &desc, &b), KILN_E_UNSUPPORTED, "K6044", "as `host`");
    } else if (!strncmp(device, "opencl", 6)) { // another context
        kiln_close(k);
        k = others;
    }
    if (!b && kiln_buffer_address(theirs)) {
        CHECK(!kiln_buffer_wrap(k, &desc, &b) && !kiln_buffer_new(k, KILN_I32, COUNT, &own));
        CHECK(kiln_buffer_address(b) == desc.address && !kiln_buffer_host(b));
        CHECK(!kiln_fill(own, &seven));
        run_add(k, b, own, NULL);
        CHECK(!kiln_read(b, 0, numbers, COUNT));
        CHECK(is_fake || (numbers[0] == 7 && numbers[COUNT - 1] == COUNT + 6));
        CHECK(!kiln_read(theirs, 0, numbers, COUNT));
        CHECK(is_fake || numbers[5] == 12);
        CHECK(!released);
        kiln_buffer_free(b);
        CHECK(released == 1 && !kiln_write(theirs, 0, numbers, COUNT)); // theirs lives on
    }
    CHECK(released <= 1);
    if (k != others)
        kiln_close(k);
    kiln_close(others);
}

static void test_errors(const char *device)
{
    kiln *k = api_open(device);
    kiln_buffer *b = NULL;
    static int32_t numbers[COUNT + 1];
    kiln_wrap_desc good = host_memory(numbers, COUNT), bad;
    released = 0;
#define WRONG(change, status, code, part)                                                          \
    bad = good;                                                                                    \
    change;                                                                                        \
    EXPECT(kiln_buffer_wrap(k, &bad, &b), status, code, part)
    WRONG(bad.host = NULL, KILN_E_BAD_ARGUMENT, "K6003", "exactly one of");
    WRONG(bad.address = 4096, KILN_E_BAD_ARGUMENT, "K6003", "exactly one of");
    WRONG(bad.type = KILN_VOID, KILN_E_BAD_ARGUMENT, "K6003", "a type or a size");
    WRONG(bad.element_size = 3, KILN_E_BAD_ARGUMENT, "K6003", "element_size says 3");
    WRONG(bad.host = (char *)numbers + 1, KILN_E_BAD_ARGUMENT, "K6044", "not aligned");
    WRONG(bad.count = SIZE_MAX / 2, KILN_E_NO_MEMORY, "K6004", "");
    EXPECT(kiln_buffer_wrap(k, NULL, &b), KILN_E_BAD_ARGUMENT, "K6003", "description is NULL");
    EXPECT(kiln_buffer_wrap(NULL, &good, &b), KILN_E_BAD_HANDLE, "K6002", "");
    CHECK(kiln_buffer_wrap(k, &good, NULL) == KILN_E_BAD_ARGUMENT);
    CHECK(!released && !b);
    // read-only: all that would write it
    good.is_read_only = true;
    if (!kiln_buffer_wrap(k, &good, &b)) {
        int32_t x = 1;
        kiln_stream *s = NULL;
        kiln_copy_desc copy = {.to = b, .from_host = &x, .count = 1};
        CHECK(!kiln_stream_new(k, 0, &s));
        EXPECT(kiln_write(b, 0, &x, 1), KILN_E_BAD_ARGUMENT, "K6045", "kiln_write");
        EXPECT(kiln_fill(b, &x), KILN_E_BAD_ARGUMENT, "K6045", "kiln_fill");
        EXPECT(kiln_fill_async(b, 0, 1, &x, s), KILN_E_BAD_ARGUMENT, "K6045", "kiln_fill_async");
        EXPECT(kiln_copy(&copy), KILN_E_BAD_ARGUMENT, "K6045", "kiln_copy");
        EXPECT(kiln_write_view(KILN_VIEW(b, 2), &x), KILN_E_BAD_ARGUMENT, "K6045", "read-only");
        kiln_module *m = api_compile(k, source, 0);
        kiln_arg args[] = {kiln_arg_buffer(b), kiln_arg_buffer(b), kiln_arg_i64(KILN_U32, 1)};
        EXPECT(api_launch(api_kernel(m, NULL), 1, 64, args, 3), KILN_E_LAUNCH, "K6045",
               "argument 1 'to'");
        kiln_buffer *own = NULL;
        CHECK(!kiln_buffer_new(k, KILN_I32, COUNT, &own));
        args[0] = kiln_arg_buffer(own); // as const it is fine
        CHECK(!api_launch(api_kernel(m, NULL), 1, 64, args, 3) && !kiln_read(b, 0, &x, 1));
    }
    kiln_close(k);
    CHECK(released == (b ? 1 : 0));
    k = api_open(device); // nothing of nothing
    good.count = 0;
    good.host = NULL;
    CHECK(!kiln_buffer_wrap(k, &good, &b) && kiln_buffer_count(b) == 0);
    released = 0;
    kiln_close(k);
    CHECK(released == 1);
}

// A foreign stream, and a device opened on a foreign context and stream.
static void test_streams(const char *device)
{
    kiln *others = api_open(device), *k = NULL;
    kiln_stream *theirs = NULL, *s = NULL;
    kiln_buffer *a = NULL, *b = NULL;
    int32_t x = 3, got = 0;
    CHECK(!kiln_stream_new(others, 0, &theirs));
    void *native = kiln_stream_native(others, theirs);
    if (!native) {
        EXPECT(kiln_stream_wrap(others, NULL, &s), KILN_E_UNSUPPORTED, "K6038", "foreign streams");
        kiln_open_desc desc = {.device = device, .stream = &x};
        EXPECT(kiln_open_on(&desc, &k), KILN_E_UNSUPPORTED, "K6038", "foreign");
        kiln_close(others);
        return;
    }
    CHECK(!kiln_stream_wrap(others, native, &s) && kiln_stream_native(others, s) == native);
    CHECK(!kiln_buffer_new(others, KILN_I32, COUNT, &a) &&
          !kiln_buffer_new(others, KILN_I32, COUNT, &b) && !kiln_fill(b, &x));
    run_add(others, a, b, s);
    CHECK(!kiln_stream_sync(s) && !kiln_read(a, 0, &got, 1) && (is_fake || got == 3));
    kiln_stream_free(s);
    CHECK(!kiln_stream_sync(theirs)); // it was not destroyed
    CHECK(!kiln_fill_async(a, 0, COUNT, &x, theirs) && !kiln_stream_sync(theirs));

    // their context: the driver is asked for it
    void *context = NULL;
    if (!strncmp(device, "opencl", 6)) {
        void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
        int32_t (*info)(void *, uint32_t, size_t, void *, size_t *) = NULL;
        void *symbol = library ? dlsym(library, "clGetCommandQueueInfo") : NULL;
        memcpy(&info, &symbol, sizeof info);
        CHECK(info && !info(native, 0x1090, sizeof context, &context, NULL));
    } else {
        const char *name = getenv("KILN_CUDA_LIBRARY");
        void *library = dlopen(name && *name ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        int (*find)(const char *, void **, int, uint64_t, int *) = NULL;
        int (*current)(void **) = NULL;
        void *symbol = library ? dlsym(library, "cuGetProcAddress_v2") : NULL, *found = NULL;
        memcpy(&find, &symbol, sizeof find);
        CHECK(find && !find("cuCtxGetCurrent", &found, 4000, 0, NULL));
        memcpy(&current, &found, sizeof current);
        CHECK(current && !current(&context));
    }
    CHECK(context);
    if (context) {
        kiln_open_desc desc = {.device = device, .context = context, .stream = native};
        CHECK(!kiln_open_on(&desc, &k));
        CHECK(kiln_stream_native(k, NULL) == native);
        kiln_buffer *c = NULL, *d = NULL;
        kiln_wrap_desc memory = device_memory(kiln_buffer_address(a), COUNT);
        released = 0;
        CHECK(!kiln_buffer_wrap(k, &memory, &c) && !kiln_buffer_new(k, KILN_I32, COUNT, &d));
        CHECK(!kiln_fill(d, &x));
        run_add(k, c, d, NULL);
        kiln_close(k);
        CHECK(released == 1 && !kiln_read(a, 0, &got, 1) && (is_fake || got == 6));
        CHECK(!kiln_stream_sync(theirs)); // stream and context live on
        run_add(others, a, b, theirs);
    }
    kiln_close(others);
}

// Entry point `name` of the CUDA driver as a function, which `to` points to.
static bool find_entry(const char *name, int version, void *to)
{
    const char *path = getenv("KILN_CUDA_LIBRARY");
    void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "cuGetProcAddress_v2") : NULL, *found = NULL;
    int (*find)(const char *, void **, int, uint64_t, int *) = NULL;
    memcpy(&find, &symbol, sizeof find);
    if (!find || find(name, &found, version, 0, NULL) || !found)
        return false;
    memcpy(to, &found, sizeof found);
    return true;
}

// Somebody else captures a stream, in the mode that allows least: an op that needs memory between
// its blocks makes it, for this capture alone.
static void test_capture_of_others(const char *device)
{
    enum { KEYS = 8192, DIM = 64 };
    kiln *k = api_open(device);
    kiln_stream *theirs = NULL, *s = NULL;
    kiln_buffer *q = NULL, *keys = NULL, *out = NULL;
    int (*begin)(void *, int) = NULL, (*end)(void *, void **) = NULL, (*destroy)(void *) = NULL;
    int (*info)(void *, int *, uint64_t *, void *, void *, void *) = NULL;
    int is = 0; // 0: no capture, 1: one, 2: one that is spoilt
    uint64_t id = 0;
    kiln_memory_info before, after, again;
    CHECK(find_entry("cuStreamBeginCapture", 10010, &begin) &&
          find_entry("cuStreamEndCapture", 10000, &end) &&
          find_entry("cuStreamGetCaptureInfo", 11030, &info) &&
          find_entry("cuGraphDestroy", 10000, &destroy));
    CHECK(!kiln_stream_new(k, 0, &theirs) &&
          !kiln_stream_wrap(k, kiln_stream_native(k, theirs), &s));
    CHECK(!kiln_buffer_new(k, KILN_F16, DIM, &q) && !kiln_buffer_new(k, KILN_F16, DIM, &out) &&
          !kiln_buffer_new(k, KILN_F16, (size_t)KEYS * DIM, &keys));
    kiln_attention_desc d = {.q = KILN_VIEW(q, 1, 1, 1, DIM),
                             .k = KILN_VIEW(keys, 1, 1, KEYS, DIM),
                             .v = KILN_VIEW(keys, 1, 1, KEYS, DIM),
                             .out = KILN_VIEW(out, 1, 1, 1, DIM)};
    CHECK(!kiln_attention_forward(k, &d) && !kiln_sync(k)); // the kernel is loaded
    d.stream = s;
    void *native = kiln_stream_native(k, s);
    for (int n = 0; n < 2; n++) {
        void *graph = NULL;
        kiln_buffer *other = NULL;
        CHECK(!kiln_buffer_new(k, KILN_F16, DIM, &other));
        CHECK(!kiln_memory_info_of(k, &before) && !begin(native, 0));
        CHECK(!kiln_attention_forward(k, &d));
        CHECK(!info(native, &is, &id, NULL, NULL, NULL) && is == 1);
        CHECK(!kiln_memory_info_of(k, &after));
        CHECK(!info(native, &is, &id, NULL, NULL, NULL) && is == 1);
        CHECK(!kiln_attention_forward(k, &d));
        CHECK(!kiln_memory_info_of(k, &again));
        CHECK(!info(native, &is, &id, NULL, NULL, NULL) && is == 1);
        kiln_buffer_free(other); // waits for no work of the capture
        CHECK(!info(native, &is, &id, NULL, NULL, NULL) && is == 1);
        CHECK(!kiln_buffer_new(k, KILN_F16, DIM, &other));
        CHECK(!info(native, &is, &id, NULL, NULL, NULL) && is == 1);
        kiln_buffer_free(other);
        CHECK(!kiln_sync(k)); // waits for all streams but that one
        CHECK(!info(native, &is, &id, NULL, NULL, NULL) && is == 1);
        CHECK(!end(native, &graph) && graph && !destroy(graph));
        CHECK(after.buffer_count >= before.buffer_count);
        CHECK(again.buffer_count == after.buffer_count); // both calls have one
        CHECK(n > 0 || after.buffer_count == before.buffer_count + 1);
    }
    kiln_stream_free(s);
    kiln_close(k);
}

static void delete_tensor(kiln_dl_managed *self)
{
    released++;
    CHECK(self->context == &released);
}

// DLPack on the device: its own memory, another one's, pinned memory of the host.
static void test_dlpack(const char *device)
{
    kiln *k = api_open(device);
    kiln_buffer *b = NULL, *mapped = NULL;
    kiln_dl_managed *t = NULL;
    kiln_dl_device of;
    kiln_view v;
    CHECK(!kiln_buffer_new(k, KILN_I32, COUNT, &b));
    if (kiln_dlpack_device(k, &of)) {
        EXPECT(kiln_dlpack_device(k, &of), KILN_E_UNSUPPORTED, "K6038",
               "DLPack has no device type for");
        EXPECT(kiln_dlpack_export(KILN_VIEW(b, COUNT), &t), KILN_E_UNSUPPORTED, "K6038", "DLPack");
        kiln_close(k);
        return;
    }
    bool is_cuda = !strncmp(device, "cuda", 4);
    CHECK(of.type == (is_cuda ? KILN_DL_CUDA : KILN_DL_CPU) && of.id == 0);
    CHECK(!kiln_dlpack_export(kiln_view_slice(KILN_VIEW(b, COUNT), 0, 4, KILN_TO_END, 2), &t));
    CHECK(t->tensor.device.type == of.type && t->tensor.strides[0] == 2);
    if (is_cuda)
        CHECK((uint64_t)(uintptr_t)t->tensor.data == kiln_buffer_address(b) + 16);
    kiln_dl_managed in = {.tensor = t->tensor, .context = &released, .deleter = delete_tensor};
    released = 0;
    CHECK(!kiln_dlpack_import(k, &in, &v) && kiln_view_count(v) == (COUNT - 4) / 2);
    int32_t x = 9, got[COUNT];
    CHECK(!kiln_fill(b, &x) && !kiln_read_view(v, got) && (is_fake || got[COUNT / 2 - 3] == 9));
    kiln_buffer_free(v.buffer);
    CHECK(released == 1);
    in.tensor.device.id = 7;
    if (is_cuda)
        EXPECT(kiln_dlpack_import(k, &in, &v), KILN_E_BAD_ARGUMENT, "K6044", "on device 2:7");
    in.tensor.device.type = is_cuda ? KILN_DL_CPU : KILN_DL_CUDA;
    EXPECT(kiln_dlpack_import(k, &in, &v), KILN_E_BAD_ARGUMENT, "K6044", "copy it there first");
    t->deleter(t);
    kiln_buffer_desc desc = {.type = KILN_I32, .count = COUNT, .is_mapped = true};
    if (!kiln_buffer_make(k, &desc, &mapped)) { // the host reaches it: so can others
        CHECK(!kiln_dlpack_export(KILN_VIEW(mapped, COUNT), &t));
        CHECK(t->tensor.device.type == (is_cuda ? KILN_DL_CUDA_HOST : KILN_DL_CPU) &&
              t->tensor.data == kiln_buffer_host(mapped));
        CHECK(!kiln_dlpack_import(k, t, &v) && !kiln_write_view(v, got));
    }
    kiln_close(k); // with the tensor that came back
    CHECK(released == 1);
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "cuda";
    kiln *k = api_open(device);
    kiln_open_desc none = {.device = device};
    is_fake = api_is_fake(k) || (getenv("FAKE_OPENCL") && *getenv("FAKE_OPENCL"));
    kiln_close(k);
    EXPECT(kiln_open_on(NULL, &k), KILN_E_BAD_ARGUMENT, "K6003", "description is NULL");
    CHECK(!kiln_open_on(&none, &k));
    kiln_close(k);
    test_host(device);
    test_address(device);
    test_errors(device);
    test_streams(device);
    if (!strncmp(device, "cuda", 4))
        test_capture_of_others(device);
    test_dlpack(device);
    return api_done("foreign");
}
