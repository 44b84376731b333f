// What a device can do beyond compiling and launching: memory, copies, streams, events, graphs,
// resources, special launches.
//     features [DEVICE]        (default: cuda)
// Runs on interp too; what a device cannot do it must refuse with KILN_E_UNSUPPORTED. On the fake
// driver ("nothing") kernels do not run, so results are not looked at.
#include "api.h"

#include <poll.h>
#include <unistd.h>

static bool is_fake, is_cuda;

static const char source[] =
    "#include <kiln/kernel.h>\n"
    "kernel block(128) void scale(f32 *x, f32 by, u32 n) { u32 i = global_x(); if (i < n) x[i] = "
    "x[i] * by; }\n"
    "kernel block(128) void add(const f32 *a, const f32 *b, f32 *c, u32 n) { u32 i = global_x(); "
    "if (i < n) c[i] = a[i] + b[i]; }\n"
    "kernel block(128) void rotate(const u32 *in, u32 *out, u32 n) {\n"
    "    shared u32 tile[];\n"
    "    for (u32 i = thread_x(); i < n; i += 128) tile[i] = in[i];\n"
    "    barrier();\n"
    "    for (u32 i = thread_x(); i < n; i += 128) out[i] = tile[(i + 1) % n];\n"
    "}\n"
    "typedef struct pair { f32 low; f64 high; i32 n; } pair;\n"
    "kernel block(32) void unpack(pair p, f64 *out) { if (thread_x() == 0) { out[0] = (f64)p.low; "
    "out[1] = p.high; out[2] = (f64)p.n; } }\n"
    "kernel block(32) void narrow(i8 a, u8 b, i16 c, bool d, u64 e, i64 *out) {\n"
    "    if (thread_x() == 0) { out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = (i64)e; "
    "}\n"
    "}\n";

typedef struct pair {
    float low;
    double high;
    int32_t n;
} pair;

enum { N = 1000 };

static kiln_status launch(kiln_kernel *kernel, uint64_t items, size_t shared_bytes, kiln_stream *s,
                          const kiln_arg *args, size_t count)
{
    kiln_launch_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.items[0] = items;
    desc.shared_bytes = shared_bytes;
    desc.stream = s;
    desc.args = args;
    desc.arg_count = count;
    return kiln_launch(kernel, &desc);
}

static bool all_are(const float *x, size_t count, float value)
{
    for (size_t i = 0; i < count; i++)
        if (!is_fake && x[i] != value) {
            printf("element %zu is %g, not %g\n", i, (double)x[i], (double)value);
            return false;
        }
    return true;
}

static void test_info(kiln *k)
{
    kiln_device_info info;
    CHECK(!kiln_device_info_of(k, &info));
    printf(
        "%s: %s, target %s, %u multiprocessors, %.1f GiB, %zu bytes of shared memory, driver %d\n",
        info.device, info.name, info.target, info.multiprocessors,
        (double)info.memory_bytes / 1073741824.0, info.caps.shared_bytes, info.driver_version);
    CHECK(kiln_device_count() >= 1);
    CHECK(!kiln_device_info_at(kiln_device_count() - 1, &info) && !strcmp(info.device, "interp"));
    EXPECT(kiln_device_info_at(99, &info), KILN_E_NOT_FOUND, "K6001", "device 99");
}

static void test_memory(kiln *k)
{
    kiln_memory_info before, after;
    kiln_buffer *b = NULL, *tiny = NULL;
    float values[N];
    uint64_t pattern = 0x0123456789abcdefu, got[4];
    CHECK(!kiln_memory_info_of(k, &before));
    CHECK(!kiln_buffer_new(k, KILN_F32, N, &b));
    CHECK(!kiln_read(b, 0, values, N));
    bool is_zero = true;
    for (int i = 0; i < N; i++)
        is_zero = is_zero && values[i] == 0;
    CHECK(is_zero);
    CHECK(!kiln_memory_info_of(k, &after) && after.used_bytes == before.used_bytes + N * 4 &&
          after.buffer_count == before.buffer_count + 1);
    float one = 1.25f;
    CHECK(!kiln_fill(b, &one) && !kiln_read(b, 0, values, N) && values[0] == 1.25f &&
          values[N - 1] == 1.25f);
    CHECK(!kiln_buffer_new(k, KILN_U64, 77, &tiny) && !kiln_fill(tiny, &pattern) &&
          !kiln_read(tiny, 73, got, 4) && got[0] == pattern && got[3] == pattern);
    EXPECT(kiln_read(tiny, 75, got, 4), KILN_E_BAD_ARGUMENT, "K6017", "75 to 79");
    kiln_buffer *none = NULL;
    CHECK(!kiln_buffer_new(k, KILN_F32, 0, &none) && !kiln_write(none, 0, NULL, 0));
    kiln_buffer_free(none);
    kiln_buffer_free(b);
    kiln_buffer_free(tiny);
    CHECK(!kiln_memory_trim(k));
    kiln_buffer *huge = NULL;
    kiln_status status = kiln_buffer_new(k, KILN_F32, (size_t)1 << 43, &huge);
    CHECK(status == KILN_E_NO_MEMORY && strstr(kiln_last_error(k)->text, "no memory"));
    printf("  %s\n", kiln_last_error(k)->text);
}

static void test_copies(kiln *k)
{
    kiln_buffer *a = NULL, *b = NULL, *mapped = NULL;
    float host[64], back[64];
    void *pinned = NULL;
    for (int i = 0; i < 64; i++)
        host[i] = (float)i;
    CHECK(!kiln_buffer_new(k, KILN_F32, 64, &a) && !kiln_buffer_new(k, KILN_F32, 64, &b) &&
          !kiln_write(a, 0, host, 64));
    kiln_copy_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.to = b;
    desc.from = a;
    desc.to_first = 8;
    desc.count = 32;
    CHECK(!kiln_copy(&desc) && !kiln_read(b, 0, back, 64) && back[7] == 0 && back[8] == 0 &&
          back[9] == 1 && back[39] == 31 && back[40] == 0);
    memset(&desc, 0, sizeof desc); // the 4 x 4 block at (2, 1) of an 8 x 8 matrix
    desc.to_host = back;
    desc.from = a;
    desc.from_first = 1 * 8 + 2;
    desc.count = 4;
    desc.rows = 4;
    desc.from_pitch = 8;
    memset(back, 0, sizeof back);
    CHECK(!kiln_copy(&desc) && back[0] == 10 && back[3] == 13 && back[4] == 18 && back[15] == 37 &&
          back[16] == 0);
    desc.from_first = 40;
    EXPECT(kiln_copy(&desc), KILN_E_BAD_ARGUMENT, "K6017", "28 elements from 40");
    CHECK(!kiln_host_alloc(k, sizeof host, &pinned));
    memcpy(pinned, host, sizeof host);
    kiln_stream *s = NULL;
    CHECK(!kiln_stream_new(k, 0, &s));
    memset(&desc, 0, sizeof desc);
    desc.to = b;
    desc.from_host = pinned;
    desc.count = 64;
    desc.stream = s;
    CHECK(!kiln_copy(&desc) && !kiln_stream_sync(s) && !kiln_read(b, 0, back, 64) &&
          !memcmp(back, host, sizeof host));
    kiln_host_free(k, pinned);
    kiln_buffer_desc how;
    memset(&how, 0, sizeof how);
    how.type = KILN_F32;
    how.count = 64;
    how.is_mapped = true;
    how.name = "mapped";
    kiln_status made = kiln_buffer_make(k, &how, &mapped);
    bool is_opencl = !strncmp(kiln_device_name(k), "opencl", 6);
    if (made == KILN_E_UNSUPPORTED && is_opencl) { // OpenCL without fine-grained memory
        CHECK(!kiln_buffer_new(k, KILN_F32, 64, &mapped));
    } else {
        CHECK(!made && kiln_buffer_host(mapped));
        memcpy(kiln_buffer_host(mapped), host, sizeof host);
        CHECK(!kiln_read(mapped, 0, back, 64) && !memcmp(back, host, sizeof host));
    }
    kiln *other = NULL;
    kiln_buffer *far_away = NULL;
    CHECK(!kiln_open("interp", &other) && !kiln_buffer_new(other, KILN_F32, 64, &far_away));
    memset(&desc, 0, sizeof desc);
    desc.to = far_away;
    desc.from = b;
    desc.count = 64;
    CHECK(!kiln_copy(&desc) && !kiln_read(far_away, 0, back, 64) &&
          !memcmp(back, host, sizeof host));
    kiln_close(other);
    kiln_stream_free(s);
    kiln_buffer_free(a);
    kiln_buffer_free(b);
    kiln_buffer_free(mapped);
}

// A program that polls hears of the end of a stream's work.
static void test_notify(kiln *k, kiln_kernel *scale, kiln_stream *s, const kiln_arg *args)
{
    int ends[2];
    uint64_t note = 0;
    if (pipe(ends))
        return;
    kiln_arg same[3] = {args[0], kiln_arg_f64(KILN_F32, 1), args[2]};
    CHECK(!launch(scale, 1 << 16, 0, s, same, 3));
    if (!strncmp(kiln_device_name(k), "opencl", 6)) {
        EXPECT(kiln_stream_notify(k, s, ends[1]), KILN_E_UNSUPPORTED, "K6038", "kiln_stream_sync");
    } else {
        struct pollfd wait = {ends[0], POLLIN, 0};
        CHECK(!kiln_stream_notify(k, s, ends[1]));
        CHECK(poll(&wait, 1, 20000) == 1 && read(ends[0], &note, sizeof note) == 8 && note == 1);
        CHECK(!kiln_stream_notify(k, NULL, ends[1]));
        CHECK(poll(&wait, 1, 20000) == 1 && read(ends[0], &note, sizeof note) == 8 && note == 1);
        EXPECT(kiln_stream_notify(k, s, -1), KILN_E_BAD_ARGUMENT, "K6003", "no file descriptor");
    }
    CHECK(!kiln_stream_sync(s));
    close(ends[0]);
    close(ends[1]);
}

static void test_streams(kiln *k, kiln_kernel *scale)
{
    kiln_stream *s[2] = {NULL, NULL};
    kiln_event *start = NULL, *end = NULL;
    kiln_buffer *x = NULL;
    static float host[1 << 16];
    double ms = -1;
    bool is_done = false;
    float one = 1;
    CHECK(!kiln_stream_new(k, 0, &s[0]) && !kiln_stream_new(k, -1, &s[1]) &&
          !kiln_event_new(k, &start) && !kiln_event_new(k, &end));
    CHECK(!kiln_buffer_new(k, KILN_F32, 1 << 16, &x) && !kiln_fill(x, &one));
    kiln_arg args[] = {kiln_arg_buffer(x), kiln_arg_f64(KILN_F32, 2),
                       kiln_arg_i64(KILN_U32, 1 << 16)};
    EXPECT(kiln_stream_wait(s[0], end), KILN_E_BAD_ARGUMENT, "K6003", "never recorded");
    CHECK(!kiln_event_record(start, s[0]));
    for (int i = 0; i < 3; i++)
        CHECK(!launch(scale, 1 << 16, 0, s[0], args, 3));
    CHECK(!kiln_event_record(end, s[0]) && !kiln_stream_wait(s[1], end));
    CHECK(!launch(scale, 1 << 16, 0, s[1], args, 3));
    CHECK(!kiln_stream_sync(s[1]) && !kiln_event_sync(end) &&
          !kiln_event_elapsed(start, end, &ms) && ms >= 0 && ms < 60000);
    CHECK(!kiln_stream_is_done(s[0], &is_done) && is_done);
    CHECK(!kiln_read(x, 0, host, 1 << 16) && all_are(host, 1 << 16, 16));
    test_notify(k, scale, s[0], args);
    // 200 launches: more than the ring of notes holds
    args[1] = kiln_arg_f64(KILN_F32, 1);
    for (int i = 0; i < 200; i++)
        CHECK(!launch(scale, 1 << 16, 0, NULL, args, 3));
    CHECK(!kiln_sync(k) && !kiln_read(x, 0, host, 1 << 16) && all_are(host, 1 << 16, 16));
    kiln_event_free(start);
    kiln_event_free(end);
    kiln_stream_free(s[0]);
    kiln_stream_free(s[1]);
    kiln_buffer_free(x);
}

static void test_graphs(kiln *k, kiln_kernel *scale, kiln_kernel *add)
{
    kiln_stream *s = NULL;
    kiln_graph *g = NULL, *hand = NULL;
    kiln_buffer *x = NULL, *y = NULL;
    float host[N], one = 1;
    CHECK(!kiln_stream_new(k, 0, &s) && !kiln_buffer_new(k, KILN_F32, N, &x) &&
          !kiln_buffer_new(k, KILN_F32, N, &y));
    kiln_arg double_it[] = {kiln_arg_buffer(x), kiln_arg_f64(KILN_F32, 2),
                            kiln_arg_i64(KILN_U32, N)};
    kiln_arg sum[] = {kiln_arg_buffer(x), kiln_arg_buffer(x), kiln_arg_buffer(y),
                      kiln_arg_i64(KILN_U32, N)};
    EXPECT(kiln_capture_end(s, &g), KILN_E_BAD_ARGUMENT, "K6037", "no capture");
    CHECK(!kiln_fill(x, &one) && !kiln_capture_begin(s));
    EXPECT(kiln_stream_sync(s), KILN_E_BAD_ARGUMENT, "K6037", "being captured");
    CHECK(!launch(scale, N, 0, s, double_it, 3) && !launch(add, N, 0, s, sum, 4));
    CHECK(!kiln_capture_end(s, &g) && kiln_graph_node_count(g) == 2);
    CHECK(!kiln_read(x, 0, host, N) && all_are(host, N, 1)); // nothing ran yet
    CHECK(!kiln_graph_launch(g, s) && !kiln_graph_launch(g, s) && !kiln_sync(k));
    CHECK(!kiln_read(x, 0, host, N) && all_are(host, N, 4) && !kiln_read(y, 0, host, N) &&
          all_are(host, N, 8));
    double_it[1] = kiln_arg_f64(KILN_F32, 0.5);
    CHECK(!kiln_capture_begin(s) && !launch(scale, N, 0, s, double_it, 3) &&
          !launch(add, N, 0, s, sum, 4) && !kiln_capture_update(s, g));
    CHECK(!kiln_graph_launch(g, NULL) && !kiln_sync(k) && !kiln_read(y, 0, host, N) &&
          all_are(host, N, 4));
    CHECK(!kiln_capture_begin(s) && !launch(scale, N, 0, s, double_it, 3));
    EXPECT(kiln_capture_update(s, g), KILN_E_BAD_ARGUMENT, "K6003", "another shape");

    CHECK(!kiln_fill(x, &one) && !kiln_graph_new(k, &hand));
    kiln_launch_desc desc;
    size_t first = 9, second = 9, bad = 7;
    memset(&desc, 0, sizeof desc);
    desc.items[0] = N;
    desc.args = double_it;
    desc.arg_count = 3;
    double_it[1] = kiln_arg_f64(KILN_F32, 3);
    CHECK(!kiln_graph_add(hand, scale, &desc, NULL, 0, &first) && first == 0);
    EXPECT(kiln_graph_add(hand, scale, &desc, &bad, 1, NULL), KILN_E_BAD_ARGUMENT, "K6003",
           "no node");
    desc.args = sum;
    desc.arg_count = 4;
    CHECK(!kiln_graph_add(hand, add, &desc, &first, 1, &second) && second == 1);
    CHECK(!kiln_graph_launch(hand, s) && !kiln_stream_sync(s) && !kiln_read(y, 0, host, N) &&
          all_are(host, N, 6));
    desc.args = double_it;
    desc.arg_count = 3;
    double_it[1] = kiln_arg_f64(KILN_F32, 5);
    CHECK(!kiln_graph_set(hand, first, &desc) && !kiln_graph_launch(hand, s) &&
          !kiln_stream_sync(s));
    CHECK(!kiln_read(y, 0, host, N) && all_are(host, N, 30));
    kiln_graph_free(g);
    kiln_graph_free(hand);
    EXPECT(kiln_graph_launch(hand, s), KILN_E_BAD_HANDLE, "K6002", "kiln_graph");
    kiln_stream_free(s);
    kiln_buffer_free(x);
    kiln_buffer_free(y);
}

static void test_launches(kiln *k, kiln_module *m)
{
    kiln_kernel *rotate = api_kernel(m, "rotate"), *unpack = api_kernel(m, "unpack"),
                *narrow = api_kernel(m, "narrow"), *scale = api_kernel(m, "scale");
    enum { WIDE = 40000 }; // 160 KB of dynamic shared memory
    static uint32_t in[WIDE], out[WIDE];
    kiln_buffer *a = NULL, *b = NULL, *c = NULL, *d = NULL;
    for (uint32_t i = 0; i < WIDE; i++)
        in[i] = i * 7;
    CHECK(!kiln_buffer_new(k, KILN_U32, WIDE, &a) && !kiln_buffer_new(k, KILN_U32, WIDE, &b) &&
          !kiln_write(a, 0, in, WIDE));
    kiln_arg args[] = {kiln_arg_buffer(a), kiln_arg_buffer(b), kiln_arg_i64(KILN_U32, WIDE)};
    kiln_device_info info;
    CHECK(!kiln_device_info_of(k, &info));
    if (strncmp(info.device, "opencl", 6) == 0 && info.caps.shared_bytes < sizeof in) {
        EXPECT(launch(rotate, 128, sizeof in, NULL, args, 3), KILN_E_LAUNCH, "K6016",
               "shared memory");
    } else {
        CHECK(!launch(rotate, 128, sizeof in, NULL, args, 3) && !kiln_sync(k) &&
              !kiln_read(b, 0, out, WIDE));
        CHECK(is_fake || (out[0] == 7 && out[WIDE - 1] == 0 && out[WIDE - 2] == (WIDE - 1) * 7));
    }
    EXPECT(launch(rotate, 128, 300000, NULL, args, 3), KILN_E_LAUNCH, "K6016", "shared memory");

    pair p = {1.5f, -2.25, 42};
    double values[3] = {0, 0, 0};
    CHECK(!kiln_buffer_new(k, KILN_F64, 3, &c));
    kiln_arg by_value[] = {kiln_arg_struct(&p, sizeof p), kiln_arg_buffer(c)};
    CHECK(!launch(unpack, 32, 0, NULL, by_value, 2) && !kiln_sync(k) &&
          !kiln_read(c, 0, values, 3));
    CHECK(is_fake || (values[0] == 1.5 && values[1] == -2.25 && values[2] == 42));
    int64_t wide[5] = {0};
    CHECK(!kiln_buffer_new(k, KILN_I64, 5, &d));
    kiln_arg small[] = {kiln_arg_i64(KILN_I8, -5),         kiln_arg_i64(KILN_U8, 250),
                        kiln_arg_i64(KILN_I16, -30000),    kiln_arg_i64(KILN_BOOL, 1),
                        kiln_arg_i64(KILN_U64, 1LL << 40), kiln_arg_buffer(d)};
    CHECK(!launch(narrow, 32, 0, NULL, small, 6) && !kiln_sync(k) && !kiln_read(d, 0, wide, 5));
    CHECK(is_fake || (wide[0] == -5 && wide[1] == 250 && wide[2] == -30000 && wide[3] == 1 &&
                      wide[4] == 1LL << 40));

    kiln_resources r;
    uint32_t blocks = 0;
    CHECK(!kiln_kernel_resources(scale, &r));
    printf("  scale: %u registers, %zu shared, %zu local, %zu spilled\n", r.registers,
           r.shared_bytes, r.local_bytes, r.spill_stores);
    if (is_cuda)
        CHECK(r.registers > 0 && !kiln_kernel_occupancy(scale, 128, 0, &blocks) && blocks >= 1);
    else
        EXPECT(kiln_kernel_occupancy(scale, 128, 0, &blocks), KILN_E_UNSUPPORTED, "K6038",
               "no multiprocessors");
    // special launches
    kiln_buffer *x = NULL;
    static float host[1024];
    float one = 1;
    CHECK(!kiln_buffer_new(k, KILN_F32, 1024, &x) && !kiln_fill(x, &one));
    kiln_arg twice[] = {kiln_arg_buffer(x), kiln_arg_f64(KILN_F32, 2),
                        kiln_arg_i64(KILN_U32, 1024)};
    kiln_launch_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.grid[0] = 8;
    desc.args = twice;
    desc.arg_count = 3;
    CHECK(!kiln_device_info_of(k, &info));
    if (is_cuda && info.caps.has_cooperative) {
        desc.is_cooperative = true;
        CHECK(!kiln_launch(scale, &desc) && !kiln_sync(k) && !kiln_read(x, 0, host, 1024) &&
              all_are(host, 1024, 2));
        desc.is_cooperative = false;
        desc.overlaps_previous = true;
        CHECK(!kiln_launch(scale, &desc) && !kiln_sync(k) && !kiln_read(x, 0, host, 1024) &&
              all_are(host, 1024, 4));
        desc.overlaps_previous = false;
    }
    desc.cluster[0] = 2;
    if (is_cuda && info.caps.has_clusters)
        CHECK(!kiln_launch(scale, &desc) && !kiln_sync(k) && !kiln_read(x, 0, host, 1024) &&
              all_are(host, 1024, 8));
    desc.cluster[0] = 3;
    if (info.caps.has_clusters)
        EXPECT(kiln_launch(scale, &desc), KILN_E_LAUNCH, "K6015", "no multiple");
    else
        EXPECT(kiln_launch(scale, &desc), KILN_E_UNSUPPORTED, "K6038", "has no clusters");
    kiln_tensor_map map;
    kiln_tensor_map_desc how;
    memset(&how, 0, sizeof how);
    how.buffer = x;
    how.rank = 2;
    how.size[0] = how.size[1] = 32;
    how.box[0] = how.box[1] = 16;
    kiln_status status = kiln_tensor_map_make(k, &how, &map);
    bool has_maps = info.caps.has_tensor_copies;
    CHECK(has_maps ? !status : status == KILN_E_UNSUPPORTED || status == KILN_E_DRIVER);
    kiln_buffer_free(a);
    kiln_buffer_free(b);
    kiln_buffer_free(c);
    kiln_buffer_free(d);
    kiln_buffer_free(x);
}

static void test_ptx(kiln *k)
{
    static const char ptx[] =
        "// written by hand\n.version 7.0\n.target sm_75\n.address_size 64\n"
        ".visible .entry put(.param .u64 out, .param .u32 value)\n{\n\t.reg .b64 %a<3>;\n\t.reg "
        ".b32 %r<2>;\n"
        "\tld.param.u64 %a1, [out];\n\tcvta.to.global.u64 %a2, %a1;\n\tld.param.u32 %r1, "
        "[value];\n\tst.global.u32 [%a2], %r1;\n\tret;\n}\n";
    kiln_compile_desc desc;
    kiln_module *m = NULL;
    memset(&desc, 0, sizeof desc);
    desc.source = ptx;
    desc.is_ptx = true;
    if (!is_cuda) {
        EXPECT(kiln_compile(k, &desc, &m), KILN_E_UNSUPPORTED, "K6038", "PTX");
        return;
    }
    kiln_buffer *out = NULL;
    uint32_t got = 0;
    CHECK(!kiln_compile(k, &desc, &m) && kiln_module_kernel_count(m) == 1 &&
          !kiln_buffer_new(k, KILN_U32, 1, &out));
    kiln_kernel *put = api_kernel(m, "put");
    kiln_arg args[] = {kiln_arg_buffer(out), kiln_arg_i64(KILN_U32, 77)};
    CHECK(!api_launch(put, 1, 1, args, 2) && !kiln_sync(k) && !kiln_read(out, 0, &got, 1) &&
          (is_fake || got == 77));
    args[1] = kiln_arg_i64(KILN_U64, 77);
    EXPECT(api_launch(put, 1, 1, args, 2), KILN_E_LAUNCH, "K6013", "takes 4 bytes");
    if (is_fake)
        return;
    desc.source = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry "
                  "bad()\n{\n\tnonsense.u32 %r1;\n}\n";
    kiln_module *broken = NULL;
    EXPECT(kiln_compile(k, &desc, &broken), KILN_E_DRIVER, "K6033", "line 6");
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "cuda";
    kiln *k = api_open(device);
    is_cuda = !strncmp(device, "cuda", 4);
    is_fake = api_is_fake(k);
    kiln_module *m = api_compile(k, source, 0);
    test_info(k);
    test_memory(k);
    test_copies(k);
    if (m) {
        kiln_kernel *scale = api_kernel(m, "scale"), *add = api_kernel(m, "add");
        test_streams(k, scale);
        test_graphs(k, scale, add);
        test_launches(k, m);
    }
    test_ptx(k);
    CHECK(!kiln_sync(k));
    kiln_close(k);
    return api_done("features");
}
