// Host functions: every kind of parameter and result on interp and cpu, who is missing, who does
// not fit, who stops the kernel.
#include "api.h"

#include <kiln/hostcall.h>

static const char source[] =
    "#include <kiln/kernel.h>\n"
    "typedef struct pair { f32 x; i64 n; u8 tag[3]; bool on; } pair;\n"
    "host i32 lookup(u32 key, f32 *best);\n"
    "host struct pair turn(struct pair p, const i32x4 *v);\n"
    "host per_warp u32 ticket(u32 first);\n"
    "host no_wait void note(u32 who, f64 value);\n"
    "host i64 take(counted(n) u8 *data, i32 n, counted(m) const f32 *from, u64 m);\n"
    "host bool narrow(i8 a, u16 b, bool c, f16 d, u16 *e);\n"
    "host void quit(i32 code);\n"
    "host void strange(i32 code);\n"
    "kernel block(64) void scalars(i32 *out, f32 *best, i64 n) {\n"
    "    i64 i = global_x();\n"
    "    if (i >= n) return;\n"
    "    best[i] = (f32)i;\n"
    "    out[i] = lookup((u32)i * 3u, &best[i]);\n"
    "    note((u32)i, (f64)best[i]);\n"
    "}\n"
    "kernel block(64) void structs(i32 *out) {\n"
    "    u32 i = thread_x();\n"
    "    pair p = {.x = (f32)i, .n = (i64)i << 40, .tag = {1, 2, 3}, .on = i % 3u == 0};\n"
    "    i32x4 v = {1, 2, 3, (i32)i};\n"
    "    p = turn(p, &v);\n"
    "    out[i] = (i32)p.x + (i32)(p.n >> 40) * 1000 + p.tag[0] * 1000000 + (p.on ? 1 << 30 : 0);\n"
    "}\n"
    "kernel block(64) void warps(u32 *out) {\n"
    "    u32 i = thread_x();\n"
    "    if (i % 3u == 1u) out[i] = ticket(i);\n"
    "    else out[i] = 1000u + ticket(i);\n"
    "}\n"
    "kernel block(32) void arrays(u8 *bytes, i64 *out, i32 n) {\n"
    "    u32 i = thread_x();\n"
    "    shared f32 tile[32];\n"
    "    f32 mine[3] = {(f32)i, 1, 2};\n"
    "    tile[i] = (f32)i;\n"
    "    warp_sync();\n"
    "    out[i] = take(bytes + 4u * i, n, mine, 3) + take(bytes, -1, tile, 32);\n"
    "    u8 own[6] = {0};\n"
    "    take(own, 6, mine, 0);\n"
    "    out[i] += own[5];\n"
    "}\n"
    "kernel block(32) void narrows(u32 *out) {\n"
    "    u32 i = thread_x();\n"
    "    u16 e = (u16)i;\n"
    "    bool is = narrow((i8)(0 - (i32)i), (u16)(60000u + i), i % 2u == 0, to_f16((f32)i), &e);\n"
    "    out[i] = e + (is ? 100000u : 0u);\n"
    "}\n"
    "kernel block(32) void stops(i32 *out) {\n"
    "    if (thread_x() == 5u) quit(7);\n"
    "    out[thread_x()] = 1;\n"
    "}\n"
    "noinline static i32 twice(u32 key, f32 *best) { return lookup(key, best) + lookup(key, best); "
    "}\n"
    "kernel block(64) void calls(i32 *out, f32 *best, i64 n) {\n"
    "    i64 i = global_x();\n"
    "    if (i < n) out[i] = i % 2 ? twice((u32)i, &best[i]) : -1;\n"
    "}\n"
    "host i32 nests(i32 how);\n"
    "kernel block(2) void outer(i32 *out, i32 how) { out[thread_x()] = nests(how); }\n"
    "kernel block(1) void inner(i32 *out) { out[0]++; }\n"
    "kernel block(1) void lacks(void) { strange(1); }\n"
    "kernel block(1) void leaves(u8 *bytes) { take(bytes, 1000000, NULL, 0); }\n";

static double noted;
static uint32_t tickets;

static void lookup(void *user, const kiln_host_call *call)
{
    float *best = (float *)call->args[1];
    *best += 0.5f;
    *(int32_t *)call->result = (int32_t) * (uint32_t *)call->args[0] + *(int32_t *)user +
                               (int32_t)(call->thread[0] + 64 * call->block[0]);
}

typedef struct pair {
    float x;
    int64_t n;
    uint8_t tag[3];
    bool on;
} pair;

static void turn(void *user, const kiln_host_call *call)
{
    pair p = *(pair *)call->args[0];
    const int32_t *v = (const int32_t *)call->args[1];
    (void)user;
    p.x += (float)v[3];
    p.n += (int64_t)v[0] << 40;
    p.tag[0] = (uint8_t)(p.tag[1] + p.tag[2]);
    p.on = !p.on;
    *(pair *)call->result = p;
}

static void ticket(void *user, const kiln_host_call *call)
{
    (void)user;
    tickets++;
    *(uint32_t *)call->result = *(uint32_t *)call->args[0];
}

static void note(void *user, const kiln_host_call *call)
{
    (void)user;
    noted += *(double *)call->args[1] + *(uint32_t *)call->args[0];
}

static int64_t take(uint8_t *data, int32_t n, const float *from, uint64_t m)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < n; i++)
        data[i] = (uint8_t)(data[i] + i + 1);
    for (uint64_t i = 0; i < m; i++)
        sum += (int64_t)from[i];
    return sum;
}

static int32_t sum_of(const int32_t *x, int64_t n)
{
    int32_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

static int32_t fill_with(int32_t *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        x[i] = 7;
    return 1;
}

static void narrow(void *user, const kiln_host_call *call)
{
    uint16_t *e = (uint16_t *)call->args[4], half = *(uint16_t *)call->args[3];
    int8_t a = *(int8_t *)call->args[0];
    uint16_t b = *(uint16_t *)call->args[1];
    bool c = *(bool *)call->args[2];
    (void)user;
    *e = (uint16_t)(b + a + *e);
    *(bool *)call->result = c && (half || a == 0);
}

static void quit(void *user, const kiln_host_call *call)
{
    char text[64];
    (void)user;
    snprintf(text, sizeof text, "the program has had enough: %d", *(int32_t *)call->args[0]);
    kiln_host_stop(call, text);
}

static kiln_status add(kiln *k, const char *name, const char *signature, kiln_host_function *call,
                       void *user)
{
    kiln_host_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.name = name;
    desc.signature = signature;
    desc.call = call;
    desc.user = user;
    return kiln_host_register(k, &desc);
}

static void test_launches(kiln *k, kiln_module *m)
{
    enum { COUNT = 100 };
    kiln_buffer *out, *best, *bytes;
    int32_t got[COUNT], stopped[32];
    int64_t sums[32];
    float bests[COUNT];
    uint8_t data[144];
    CHECK(!kiln_buffer_new(k, KILN_I32, COUNT, &out));
    CHECK(!kiln_buffer_new(k, KILN_F32, COUNT, &best));
    CHECK(!kiln_buffer_new(k, KILN_U8, sizeof data, &bytes));
    kiln_arg args[3] = {kiln_arg_buffer(out), kiln_arg_buffer(best), kiln_arg_i64(KILN_I64, COUNT)};
    noted = 0;
    CHECK(!api_launch(api_kernel(m, "scalars"), 2, 0, args, 3));
    CHECK(!kiln_read(out, 0, got, COUNT) && !kiln_read(best, 0, bests, COUNT));
    bool is_right = true;
    double want = 0;
    for (int i = 0; i < COUNT; i++) {
        is_right = is_right && got[i] == 3 * i + 11 + i && bests[i] == (float)i + 0.5f;
        want += 2 * i + 0.5;
    }
    CHECK(is_right && noted == want);
    CHECK(!api_launch(api_kernel(m, "calls"), 2, 0, args, 3));
    CHECK(!kiln_read(out, 0, got, COUNT) && !kiln_read(best, 0, bests, COUNT));
    is_right = true;
    for (int i = 0; i < COUNT; i++) {
        is_right = is_right && got[i] == (i % 2 ? 2 * (2 * i + 11) : -1);
        is_right = is_right && bests[i] == (float)i + (i % 2 ? 1.5f : 0.5f);
    }
    CHECK(is_right);

    CHECK(!api_launch(api_kernel(m, "structs"), 1, 0, args, 1));
    CHECK(!kiln_read(out, 0, got, 64));
    is_right = true;
    for (int i = 0; i < 64; i++)
        is_right = is_right && got[i] == 2 * i + (i + 1) * 1000 + 5000000 + (i % 3 ? 1 << 30 : 0);
    CHECK(is_right);

    kiln_buffer *words;
    CHECK(!kiln_buffer_new(k, KILN_U32, 64, &words));
    args[0] = kiln_arg_buffer(words);
    tickets = 0;
    CHECK(!api_launch(api_kernel(m, "warps"), 1, 0, args, 1));
    CHECK(!kiln_read(words, 0, got, 64));
    is_right = tickets == 4; // two warps, each in two parts
    for (int i = 0; i < 64; i++) {
        int first = i < 32 ? (i % 3 == 1 ? 1 : 0) : (i % 3 == 1 ? 34 : 32);
        is_right = is_right && got[i] == first + (i % 3 == 1 ? 0 : 1000);
    }
    CHECK(is_right);

    CHECK(!api_launch(api_kernel(m, "narrows"), 1, 0, args, 1));
    CHECK(!kiln_read(words, 0, got, 32));
    is_right = true;
    for (int i = 0; i < 32; i++)
        is_right = is_right && got[i] == 60000 + i + (i % 2 == 0 ? 100000 : 0);
    CHECK(is_right);
    kiln_buffer_free(words);

    kiln_buffer *longs;
    CHECK(!kiln_buffer_new(k, KILN_I64, 32, &longs));
    memset(data, 0, sizeof data);
    CHECK(!kiln_write(bytes, 0, data, sizeof data));
    kiln_arg more[3] = {kiln_arg_buffer(bytes), kiln_arg_buffer(longs), kiln_arg_i64(KILN_I32, 3)};
    CHECK(!api_launch(api_kernel(m, "arrays"), 1, 0, more, 3));
    CHECK(!kiln_read(bytes, 0, data, sizeof data) && !kiln_read(longs, 0, sums, 32));
    is_right = true;
    for (int i = 0; i < 32; i++) {
        is_right = is_right && data[4 * i] == 1 && data[4 * i + 2] == 3 && data[4 * i + 3] == 0;
        is_right = is_right && sums[i] == i + 3 + 31 * 16 + 6;
    }
    CHECK(is_right);

    args[0] = kiln_arg_buffer(out);
    EXPECT(api_launch(api_kernel(m, "stops"), 1, 0, args, 1), KILN_E_KERNEL, "K6048",
           "the program has had enough: 7");
    CHECK(strstr(kiln_last_error(k)->text, "in thread (5, 0, 0)") != NULL);
    CHECK(!kiln_read(out, 0, stopped, 32));
    kiln_buffer_free(longs);
    kiln_buffer_free(out);
    kiln_buffer_free(best);
    kiln_buffer_free(bytes);
}

static void test_errors(kiln *k, kiln_module *m)
{
    EXPECT(api_launch(api_kernel(m, "lacks"), 1, 0, NULL, 0), KILN_E_LAUNCH, "K6046",
           "'strange', which the program does not provide");
    CHECK(!add(k, "strange", "void strange(u32)", quit, NULL));
    EXPECT(api_launch(api_kernel(m, "lacks"), 1, 0, NULL, 0), KILN_E_LAUNCH, "K6046",
           "calls 'void strange(i32)', but the program provides 'void strange(u32)'");
    CHECK(!add(k, "strange", "void strange( i32 )", quit, NULL));
    EXPECT(api_launch(api_kernel(m, "lacks"), 1, 0, NULL, 0), KILN_E_KERNEL, "K6048", "enough");
    CHECK(!add(k, "strange", NULL, NULL, NULL)); // taken away
    EXPECT(api_launch(api_kernel(m, "lacks"), 1, 0, NULL, 0), KILN_E_LAUNCH, "K6046", "'strange'");
    EXPECT(add(k, "strange", NULL, NULL, NULL), KILN_E_NOT_FOUND, "K6003", "take away");
    // A graph calls what is there when it is launched, and nothing that does not fit.
    kiln_graph *graph;
    kiln_launch_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.grid[0] = 1;
    CHECK(!add(k, "strange", "void strange(i32)", quit, NULL) && !kiln_graph_new(k, &graph));
    CHECK(!kiln_graph_add(graph, api_kernel(m, "lacks"), &desc, NULL, 0, NULL));
    CHECK(!add(k, "strange", NULL, NULL, NULL));
    EXPECT(kiln_graph_launch(graph, NULL), KILN_E_LAUNCH, "K6046", "'strange'");
    EXPECT(api_launch(api_kernel(m, "lacks"), 1, 0, NULL, 0), KILN_E_LAUNCH, "K6046", "'strange'");
    EXPECT(kiln_graph_launch(graph, NULL), KILN_E_LAUNCH, "K6046", "'strange'");
    CHECK(!add(k, "strange", "void strange(u32)", quit, NULL));
    EXPECT(kiln_graph_launch(graph, NULL), KILN_E_LAUNCH, "K6046", "provides 'void strange(u32)'");
    CHECK(!add(k, "strange", "void strange(i32)", quit, NULL));
    EXPECT(kiln_graph_launch(graph, NULL), KILN_E_KERNEL, "K6048", "enough");
    kiln_graph_free(graph);
    CHECK(!add(k, "strange", NULL, NULL, NULL));
    EXPECT(add(k, NULL, NULL, quit, NULL), KILN_E_BAD_ARGUMENT, "K6003", "no name");
    EXPECT(kiln_host_register(k, NULL), KILN_E_BAD_ARGUMENT, "K6003", "no description");
    EXPECT(kiln_host_register(NULL, NULL), KILN_E_BAD_HANDLE, "K6002", "");
    EXPECT(kiln_host_library(k, "/there/is/no.so", m), KILN_E_NOT_FOUND, "K6005", "no.so");
    EXPECT(kiln_host_library(k, NULL, m), KILN_E_BAD_ARGUMENT, "K6003", "NULL");
    kiln_host_stop(NULL, "nobody");
}

// Objects of a call lie within their arrays, also where the machine code of the cpu device copies
// them, and their number does not wrap.
// --- a function that uses the context whose kernel calls it
enum { LAUNCH_OTHER, LAUNCH_ITSELF, LAUNCH_GRAPH, CLOSE };
typedef struct nest {
    kiln *k;
    kiln_module *m;
    kiln_buffer *other;
    kiln_graph *graph; // of a launch of itself
    int depth;
} nest;

static void nests(void *user, const kiln_host_call *call)
{
    nest *n = (nest *)user;
    int32_t how = *(int32_t *)call->args[0], *result = (int32_t *)call->result;
    kiln_arg args[2] = {kiln_arg_buffer(n->other), kiln_arg_i64(KILN_I32, how)};
    *result = 0;
    if (how == LAUNCH_OTHER)
        *result = api_launch(api_kernel(n->m, "inner"), 1, 0, args, 1);
    if (how == LAUNCH_ITSELF && n->depth++ < 2)
        *result = api_launch(api_kernel(n->m, "outer"), 1, 0, args, 2);
    if (how == LAUNCH_GRAPH && n->depth++ < 2)
        *result = kiln_graph_launch(n->graph, NULL);
    if (how == CLOSE)
        kiln_close(n->k);
}

static void test_nested(kiln *k, kiln_module *m)
{
    kiln_buffer *out;
    int32_t got[2];
    nest n = {k, m, NULL, NULL, 0};
    kiln_launch_desc itself;
    CHECK(!kiln_buffer_new(k, KILN_I32, 2, &n.other) && !kiln_buffer_new(k, KILN_I32, 2, &out));
    kiln_arg args[2] = {kiln_arg_buffer(out), kiln_arg_i64(KILN_I32, LAUNCH_OTHER)};
    for (int concurrent = 0; concurrent < 2; concurrent++) {
        kiln_host_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.name = "nests";
        desc.call = nests;
        desc.user = &n;
        desc.is_concurrent = concurrent;
        n.depth = 0;
        CHECK(!kiln_host_register(k, &desc));
        args[1] = kiln_arg_i64(KILN_I32, LAUNCH_OTHER);
        CHECK(!api_launch(api_kernel(m, "outer"), 1, 0, args, 2));
        CHECK(!kiln_read(n.other, 0, got, 1) && got[0] == 2 * concurrent + 2);
        CHECK(!kiln_read(out, 0, got, 2) && !got[0] && !got[1]);
        args[1] = kiln_arg_i64(KILN_I32, LAUNCH_ITSELF);
        CHECK(!api_launch(api_kernel(m, "outer"), 1, 0, args, 2));
        CHECK(!kiln_read(out, 0, got, 2));
        CHECK(got[0] == (concurrent ? KILN_OK : KILN_E_LAUNCH));
        if (!concurrent)
            CHECK(strstr(kiln_last_error(k)->text, "wait for itself") != NULL);
        memset(&itself, 0, sizeof itself);
        itself.grid[0] = 1;
        itself.args = args;
        itself.arg_count = 2;
        args[1] = kiln_arg_i64(KILN_I32, LAUNCH_GRAPH);
        n.depth = 0;
        CHECK(!kiln_graph_new(k, &n.graph));
        CHECK(!kiln_graph_add(n.graph, api_kernel(m, "outer"), &itself, NULL, 0, NULL));
        CHECK(!kiln_graph_launch(n.graph, NULL) && !kiln_read(out, 0, got, 2));
        CHECK(got[0] == (concurrent ? KILN_OK : KILN_E_LAUNCH));
        kiln_graph_free(n.graph);
        args[1] = kiln_arg_i64(KILN_I32, CLOSE);
        CHECK(!api_launch(api_kernel(m, "outer"), 1, 0, args, 2));
        CHECK(strstr(kiln_last_error(k)->text, "kiln_close: a kernel") != NULL);
    }
    kiln_buffer_free(n.other);
    kiln_buffer_free(out);
}

// A service writes as much as its count says: another parameter cannot stand for it, nor another
// struct for its own. The signature is the same.
static void test_services(const char *device)
{
    static const struct {
        const char *text;
        bool is_refused;
    } rows[] = {{"host i64 kiln_io_random(counted(n) void *to, i64 n);\n"
                 "kernel block(1) void one(i64 *out) { u8 b[4]; out[0] = kiln_io_random(b, 4); }",
                 false},
                {"host i64 kiln_io_pread(i32 f, counted(at) void *to, i64 n, i64 at);\n"
                 "kernel block(1) void one(i64 *out) {"
                 " u8 b[4]; out[0] = kiln_io_pread(5, b, 1000000, 1); }",
                 true},
                {"host i64 kiln_io_take(i32 f, counted(how) void *to, i64 n, i32 how);\n"
                 "kernel block(1) void one(i64 *out) {"
                 " u8 b[4]; out[0] = kiln_io_take(5, b, 1000000, 1); }",
                 true},
                {"typedef struct io_status { i32 size; } io_status;\n"
                 "host i32 kiln_io_status(i32 f, struct io_status *to);\n"
                 "kernel block(1) void one(i64 *out) {"
                 " io_status s = {1}; out[0] = kiln_io_status(5, &s); }",
                 true}};
    kiln *k = api_open(device);
    kiln_buffer *out;
    CHECK(!kiln_buffer_new(k, KILN_I64, 1, &out));
    kiln_arg arg = kiln_arg_buffer(out);
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        char text[600];
        snprintf(text, sizeof text, "#include <kiln/kernel.h>\n%s\n", rows[n].text);
        kiln_module *m = api_compile(k, text, 0);
        if (rows[n].is_refused)
            EXPECT(api_launch(api_kernel(m, "one"), 1, 0, &arg, 1), KILN_E_LAUNCH, "K6046",
                   "with other counts or structs than kiln/io.h");
        else
            CHECK(!api_launch(api_kernel(m, "one"), 1, 0, &arg, 1));
    }
    // The text of a host function in IR: objects are no larger than a call has room for.
    static const char *const sizes[] = {"128.4[i32@124]", "1000.4[i32@996]"};
    for (int n = 0; n < 4; n++) {
        char text[400];
        snprintf(text, sizeof text,
                 "kernel @one(%%out: ptr.global i32 \"i32 *\") block(1, 1, 1) {\n"
                 "    %%1 = host \"f lane wait (%s%s) %s%s : i32 f(struct s)\" %s : (i32)\n"
                 "    return\n}\n",
                 n < 2 ? "o" : "", n < 2 ? sizes[n] : "", n < 2 ? "-" : "v",
                 n < 2 ? "" : sizes[n - 2], n < 2 ? "(i32 1)" : "()");
        kiln_compile_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.source = text;
        desc.is_ir = true;
        kiln_module *m = NULL;
        CHECK(kiln_compile(k, &desc, &m) == (n % 2 ? KILN_E_COMPILE : KILN_OK));
        if (n % 2)
            CHECK(strstr(kiln_last_error(k)->text, "host") != NULL);
    }
    kiln_close(k);
}

static void test_objects(const char *device, int optimise)
{
    static const char text[] =
        "#include <kiln/kernel.h>\n"                                                       // 1
        "host i32 sum(counted(n) const i32 *x, i64 n);\n"                                  // 2
        "host i32 fill(counted(n) i32 *x, u32 n);\n"                                       // 3
        "kernel block(1) void own(i32 *out, i64 n) {\n"                                    // 4
        "    i32 t[4] = {1, 2, 3, 4}; out[0] = sum(t + 1, n); }\n"                         // 5
        "kernel block(1) void whole(i32 *out, i64 n) {\n"                                  // 6
        "    shared i32 t[4], more[4]; more[0] = 0; t[0] = 5; out[0] = fill(t, (u32)n); "  // 7
        "out[1] = more[0]; }\n"                                                            // 7
        "kernel block(32) void buffer(i32 *out, i64 n) {\n"                                // 8
        "    if (thread_x() == 3) fill(out + n, 2); }\n"                                   // 9
        "kernel block(1) void nothing(i32 *out, i64 n) { out[0] = sum(out + 9, n - 9); }"; // 10
    static const struct {
        const char *kernel;
        int64_t n;
        const char *code, *error;
    } rows[] = {
        {"own", 3, "", NULL},
        {"own", 0, "", NULL},
        {"own", -7, "", NULL},
        {"own", 4, "K6020", "reads element 4 of 't', which has 4 elements"},
        {"own", (int64_t)1 << 62, "K6048", "'sum' is given more objects than memory can hold"},
        {"own", ((int64_t)1 << 62) + 1, "K6048", "more objects than memory can hold"},
        {"whole", 4, "", NULL},
        {"whole", 5, "K6020", "writes element 4 of 't', which has 4 elements"},
        {"buffer", 6, "", NULL},
        {"buffer", 7, "K6020", "writes element 8 of 'out', which has 8 elements"},
        {"buffer", 9, "K6020", "writes element 9 of 'out', which has 8 elements"},
        {"buffer", -1, "K6020", "writes element -1 of 'out', which has 8 elements"},
        {"nothing", 9, "", NULL},
        {"nothing", 10, "K6020", "reads element 9 of 'out', which has 8 elements"},
    };
    kiln *k = api_open(device);
    kiln_compile_desc desc;
    kiln_module *m = NULL;
    kiln_buffer *out = NULL;
    kiln_host_desc sum_row, fill_row;
    memset(&desc, 0, sizeof desc);
    desc.path = "test.c";
    desc.source = text;
    desc.optimise = optimise;
    desc.check_bounds = true;
    memset(&sum_row, 0, sizeof sum_row);
    sum_row.name = "sum";
    sum_row.plain = (void (*)(void))sum_of;
    fill_row = sum_row;
    fill_row.name = "fill";
    fill_row.plain = (void (*)(void))fill_with;
    CHECK(!kiln_compile(k, &desc, &m) && !kiln_buffer_new(k, KILN_I32, 8, &out) &&
          !kiln_host_register(k, &sum_row) && !kiln_host_register(k, &fill_row));
    for (size_t n = 0; m && n < sizeof rows / sizeof *rows; n++) {
        kiln_arg args[2] = {kiln_arg_buffer(out), kiln_arg_i64(KILN_I64, rows[n].n)};
        kiln_status got = api_launch(api_kernel(m, rows[n].kernel), 1, 0, args, 2);
        if (rows[n].error)
            api_expect(got, KILN_E_KERNEL, rows[n].code, rows[n].error, __LINE__);
        else
            CHECK(!got);
    }
    kiln_close(k);
}

int main(void)
{
    for (int optimise = -1; optimise <= 1; optimise += 2) {
        test_objects("interp", optimise);
        test_objects("cpu", optimise);
    }
    test_services("interp");
    test_services("cpu");
    static const char *const devices[] = {"interp", "cpu"};
    int32_t seven = 11;
    for (int d = 0; d < 2; d++)
        for (int optimise = -1; optimise <= 1; optimise += 2) {
            kiln *k = api_open(devices[d]);
            kiln_module *m = api_compile(k, source, optimise);
            kiln_host_desc plain;
            memset(&plain, 0, sizeof plain);
            plain.name = "take";
            plain.signature = "i64 take(u8 *, i32, const f32 *, u64)";
            plain.plain = (void (*)(void))take;
            CHECK(!kiln_host_register(k, &plain));
            CHECK(!add(k, "lookup", "i32 lookup(u32, f32 *)", lookup, &seven));
            CHECK(!add(k, "turn", NULL, turn, NULL) && !add(k, "ticket", NULL, ticket, NULL));
            CHECK(!add(k, "note", NULL, note, NULL) && !add(k, "quit", NULL, quit, NULL));
            CHECK(!add(k, "narrow", NULL, narrow, NULL));
            test_launches(k, m);
            test_errors(k, m);
            test_nested(k, m);
            kiln_buffer *few;
            CHECK(!kiln_buffer_new(k, KILN_U8, 16, &few));
            kiln_arg arg = kiln_arg_buffer(few);
            if (d == 0)
                EXPECT(api_launch(api_kernel(m, "leaves"), 1, 0, &arg, 1), KILN_E_KERNEL, "K6020",
                       "writes");
            kiln_buffer_free(few);
            kiln_close(k);
        }
    return api_done("host");
}
