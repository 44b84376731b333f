// Calls of the host while kernels run: every kind of argument, any lanes, several streams, messages
// that nobody waits for, bytes in many rounds, functions that block, stop or are cancelled.
//     hostcall [DEVICE [bench]]      bench: round trips and rates, printed
#include "api.h"

#include <kiln/hostcall.h>
#include <pthread.h>
#include <time.h>

static const char source[] =
    "#include <kiln/kernel.h>\n"
    "host i32 twice(i32 x);\n"
    "host u64 place(u32 x, u64 big);\n"
    "host per_warp u32 once(u32 first);\n"
    "host no_wait void tell(u32 who);\n"
    "host i64 turn(counted(n) u8 *bytes, i64 n);\n"
    "host void stamp(counted(n) u8 *bytes, i64 n, u32 x);\n"
    "host per_warp i64 turn_once(counted(n) u8 *bytes, i64 n, counted(m) const u8 *more, i64 m);\n"
    "host i32 slow(i32 x);\n"
    "host void enough(i32 x);\n"
    "kernel block(32) void one(i32 *out) { if (thread_x() == 0) out[0] = twice(21); }\n"
    "kernel block(64) void all(i32 *out, u32 n) { u32 i = global_x(); if (i < n) out[i] = "
    "twice((i32)i); }\n"
    "kernel block(96) void branches(i32 *out, u32 times) {\n"
    "    u32 i = global_x();\n"
    "    i32 sum = 0;\n"
    "    for (u32 k = 0; k < times; k++) {\n"
    "        if ((i + k) % 3u == 0u) sum += twice((i32)(i + k));\n"
    "        else if ((i + k) % 3u == 1u) sum += (i32)place(i, (u64)k << 40);\n"
    "        else if (i % 7u == 0u) sum -= twice(1);\n"
    "    }\n"
    "    out[i] = sum;\n"
    "}\n"
    "kernel block(64) void warps(u32 *out) {\n"
    "    u32 i = thread_x();\n"
    "    if (i % 3u == 1u) out[i] = once(i);\n"
    "    else out[i] = 1000u + once(i);\n"
    "}\n"
    "kernel block(128) void messages(u32 n) { u32 i = global_x(); if (i < n && i % 5u != 0u) "
    "tell(i); }\n"
    "kernel block(32) void bytes(u8 *data, i64 *out, i64 n) {\n"
    "    i64 i = thread_x();\n"
    "    if (i % 2 == 0) out[i] = turn(data + i * n, n - i);\n"
    "    else out[i] = -1;\n"
    "}\n"
    "kernel block(32) void own_bytes(u8 *data) {\n"
    "    u8 mine[37];\n"
    "    shared u8 ours[4096];\n"
    "    u32 t = thread_x();\n"
    "    for (u32 k = 0; k < 37u; k++) mine[k] = (u8)(t + k);\n"
    "    for (u32 k = t; k < 4096u; k += 32u) ours[k] = (u8)(k * 3u);\n"
    "    barrier();\n"
    "    turn(mine, (i64)t);\n"
    "    if (t == 3u) turn(ours + 1, 4000);\n"
    "    barrier();\n"
    "    for (u32 k = 0; k < 37u; k++) data[t * 37u + k] = mine[k];\n"
    "    for (u32 k = t; k < 4096u; k += 32u) data[32u * 37u + k] = ours[k];\n"
    "}\n"
    "kernel block(32) void shared_bytes(u8 *data) {\n" // too large to be sent as it is, out of
                                                       // reach
    "    shared u8 ours[40000];\n"
    "    u32 t = thread_x();\n"
    "    for (u32 k = t; k < 40000u; k += 32u) ours[k] = (u8)(k * 5u);\n"
    "    barrier();\n"
    "    if (t == 3u) turn(ours, 40000);\n"
    "    barrier();\n"
    "    for (u32 k = t; k < 40000u; k += 32u) data[k] = ours[k];\n"
    "}\n"
    // large objects of a warp that calls once: lanes 0 … lanes - 1 of each warp
    "kernel block(64) void once_bytes(u8 *data, i64 *out, i64 n, i64 from, i64 m, u32 lanes) {\n"
    "    shared u8 ours[16384];\n"
    "    for (u32 k = thread_x(); k < 16384u; k += 64u) ours[k] = (u8)(k * 11u);\n"
    "    barrier();\n"
    "    i64 warp = thread_x() / 32u;\n"
    "    if (lane() < lanes) out[thread_x()] = turn_once(data + warp * (n + 64) + from, n, ours, "
    "m);\n"
    "}\n"
    // a large object of one lane's own, which the others do not have
    "kernel block(32) void lone_bytes(i64 *out) {\n"
    "    u8 mine[6000];\n"
    "    for (u32 k = 0; k < 6000u; k++) mine[k] = (u8)(k * 3u + thread_x());\n"
    "    out[thread_x()] = turn_once(mine, 40, mine + 48, 5000);\n"
    "}\n"
    // one thread alone, and the threads of a block that call one after the other, at any address
    "kernel block(1) void alone(u8 *data, i64 *out, i64 n) { out[block_x()] = turn(data + "
    "block_x() * (n + 77), n); }\n"
    "kernel block(96) void threads(u8 *data, i64 *out, i64 n) {\n"
    "    u32 t = thread_x();\n"
    "    if (t % 24u == 5u) out[t / 24u] = turn(data + t / 24u * (n + 77), n);\n"
    "    else if (t % 24u == 6u) out[4u + t / 24u] = turn(data + (4u + t / 24u) * (n + 77), n);\n"
    "}\n"
    "kernel block(32) void stamped(u8 *data) {\n" // the same in all lanes until the host has it
    "    u8 mine[9];\n"
    "    for (u32 k = 0; k < 9u; k++) mine[k] = 5;\n"
    "    stamp(mine, 9, thread_x() * 3u);\n"
    "    data[thread_x()] = mine[8];\n"
    "    if (mine[8] > 40) data[thread_x() + 32u] = 1;\n"
    "    else data[thread_x() + 32u] = 2;\n"
    "}\n"
    "kernel block(32) void both(i32 *out) { if (block_x() == 0u) out[thread_x()] = slow(7); else "
    "out[global_x()] = twice((i32)global_x()); }\n"
    "kernel block(32) void stops(i32 *out) { if (thread_x() == 5u) enough(7); out[thread_x()] = 1; "
    "}\n"
    "kernel block(32) void asks(i32 *out) { for (;;) if (twice(1) == 3) break; out[0] = 1; }\n";

static uint32_t told[4096], pauses;
static bool has_warps;
static volatile int is_quick_done;

static void twice(void *user, const kiln_host_call *call)
{
    (void)user;
    *(int32_t *)call->result = 2 * *(int32_t *)call->args[0];
}
static void place(void *user, const kiln_host_call *call)
{
    (void)user;
    uint64_t big = *(uint64_t *)call->args[1];
    *(uint64_t *)call->result =
        (big >> 40) + *(uint32_t *)call->args[0] * 10 + call->thread[0] + 1000 * call->block[0];
}
static void once(void *user, const kiln_host_call *call)
{
    *(uint32_t *)call->result = *(uint32_t *)call->args[0];
    ++*(uint32_t *)user;
}
static void tell(void *user, const kiln_host_call *call)
{
    (void)user;
    told[*(uint32_t *)call->args[0] % 4096]++;
}
static void turn(void *user, const kiln_host_call *call)
{
    uint8_t *bytes = (uint8_t *)call->args[0];
    int64_t n = *(int64_t *)call->args[1], sum = 0;
    (void)user;
    for (int64_t k = 0; k < n; k++) {
        sum += bytes[k];
        bytes[k] = (uint8_t)~bytes[k];
    }
    *(int64_t *)call->result = sum;
}
static void turn_once(void *user, const kiln_host_call *call)
{
    const uint8_t *more = (const uint8_t *)call->args[2];
    int64_t m = *(int64_t *)call->args[3], sum = 0;
    for (int64_t k = 0; k < m; k++)
        sum += more[k] * (k % 7 + 1);
    turn(user, call);
    *(int64_t *)call->result += sum;
}
static void stamp(void *user, const kiln_host_call *call)
{
    (void)user;
    ((uint8_t *)call->args[0])[*(int64_t *)call->args[1] - 1] =
        (uint8_t) * (uint32_t *)call->args[2];
}
// Returns only after other calls have been served.
static void slow(void *user, const kiln_host_call *call)
{
    (void)user;
    for (int n = 0; n < 2000 && !is_quick_done; n++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    *(int32_t *)call->result = is_quick_done ? 1 : -1;
}
static void quick(void *user, const kiln_host_call *call)
{
    twice(user, call);
    is_quick_done = 1;
}
static void enough(void *user, const kiln_host_call *call)
{
    (void)user;
    (void)call;
    kiln_host_stop(call, "the program has had enough");
}

static void add(kiln *k, const char *name, kiln_host_function *call, void *user, bool is_concurrent)
{
    kiln_host_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.name = name;
    desc.call = call;
    desc.user = user;
    desc.is_concurrent = is_concurrent;
    CHECK(!kiln_host_register(k, &desc));
}

// The same functions with the calls of a warp as arrays.
static void twice_many(void *user, const kiln_host_calls *calls)
{
    (void)user;
    for (uint32_t n = 0; n < calls->count; n++)
        ((int32_t *)calls->result)[n] = 2 * ((const int32_t *)calls->args[0])[n];
}
static void tell_many(void *user, const kiln_host_calls *calls)
{
    (void)user;
    for (uint32_t n = 0; n < calls->count; n++)
        told[((const uint32_t *)calls->args[0])[n] % 4096]++;
}
static void add_many(kiln *k, const char *name, kiln_host_many *many, bool is_concurrent)
{
    kiln_host_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.name = name;
    desc.many = many;
    desc.is_concurrent = is_concurrent;
    CHECK(!kiln_host_register(k, &desc));
}

static kiln_status run(kiln *k, kiln_module *m, const char *name, uint32_t grid,
                       const kiln_arg *args, size_t count)
{
    kiln_status status = api_launch(api_kernel(m, name), grid, 0, args, count);
    return status ? status : kiln_sync(k);
}

// Where it was, when it does not come to an end.
static void step(const char *name)
{
    printf("%s\n", name);
    fflush(stdout);
}

static void test_numbers(kiln *k, kiln_module *m)
{
    enum { N = 5000, BRANCHES = 96 * 20, TIMES = 7 };
    static int32_t got[N];
    kiln_buffer *out = NULL;
    uint32_t wrong = 0, warps[64];
    CHECK(!kiln_buffer_new(k, KILN_I32, N, &out));
    kiln_arg args[2] = {kiln_arg_buffer(out), kiln_arg_i64(KILN_U32, N)};
    CHECK(!run(k, m, "one", 1, args, 1) && !kiln_read(out, 0, got, 1) && got[0] == 42);
    CHECK(!run(k, m, "all", (N + 63) / 64, args, 2) && !kiln_read(out, 0, got, N));
    for (int i = 0; i < N; i++)
        wrong += got[i] != 2 * i;
    CHECK(wrong == 0);
    args[1] = kiln_arg_i64(KILN_U32, TIMES);
    step("branches");
    CHECK(!run(k, m, "branches", 20, args, 2) && !kiln_read(out, 0, got, BRANCHES));
    for (int i = 0; i < BRANCHES; i++) {
        int32_t sum = 0;
        for (int t = 0; t < TIMES; t++)
            sum += (i + t) % 3 == 0   ? 2 * (i + t)
                   : (i + t) % 3 == 1 ? t + i * 10 + i % 96 + 1000 * (i / 96)
                   : i % 7 == 0       ? -2
                                      : 0;
        wrong += got[i] != sum;
    }
    CHECK(wrong == 0);
    kiln_buffer_free(out);
    CHECK(!kiln_buffer_new(k, KILN_U32, 64, &out));
    args[0] = kiln_arg_buffer(out);
    pauses = 0;
    step("warps");
    if (!has_warps) // every thread calls by itself: once for a warp is not possible
        EXPECT(run(k, m, "warps", 1, args, 1), KILN_E_UNSUPPORTED, "K6047", "once for a warp");
    else // A GPU's assembler may join the two calls: then the lanes of both branches arrive
         // together.
        CHECK(!run(k, m, "warps", 1, args, 1) && !kiln_read(out, 0, warps, 64));
    bool is_joined = !strncmp(kiln_device_name(k), "cuda", 4) && pauses == 2;
    CHECK(pauses == (has_warps ? 4 : 0) || is_joined);
    for (int i = 0; has_warps && i < 64; i++) {
        int first = i < 32 ? 0 : 32;
        if (i % 3 == 1 && !is_joined)
            first = i < 32 ? 1 : 34;
        wrong += (int)warps[i] != first + (i % 3 == 1 ? 0 : 1000);
    }
    CHECK(wrong == 0);
    kiln_buffer_free(out);
    args[0] = kiln_arg_i64(KILN_U32, 4000);
    memset(told, 0, sizeof told);
    CHECK(!run(k, m, "messages", 32, args, 1)); // all have arrived when it returns
    for (int i = 0; i < 4096; i++)
        wrong += told[i] != (i < 4000 && i % 5 != 0);
    CHECK(wrong == 0);
}

// Bytes of every lane, in as many rounds as they need.
static void test_bytes(kiln *k, kiln_module *m, int64_t n)
{
    uint8_t *data = (uint8_t *)malloc((size_t)(32 * n));
    int64_t sums[32];
    uint32_t wrong = 0;
    kiln_buffer *bytes = NULL, *out = NULL;
    CHECK(!kiln_buffer_new(k, KILN_U8, (size_t)(32 * n), &bytes));
    CHECK(!kiln_buffer_new(k, KILN_I64, 32, &out));
    for (int64_t i = 0; i < 32 * n; i++)
        data[i] = (uint8_t)(i * 7 + i / 256);
    CHECK(!kiln_write(bytes, 0, data, (size_t)(32 * n)));
    kiln_arg args[3] = {kiln_arg_buffer(bytes), kiln_arg_buffer(out), kiln_arg_i64(KILN_I64, n)};
    CHECK(!run(k, m, "bytes", 1, args, 3));
    CHECK(!kiln_read(bytes, 0, data, (size_t)(32 * n)) && !kiln_read(out, 0, sums, 32));
    for (int64_t i = 0; i < 32; i++) {
        int64_t sum = 0;
        for (int64_t b = 0; b < n; b++) {
            uint8_t was = (uint8_t)((i * n + b) * 7 + (i * n + b) / 256);
            bool is_turned = i % 2 == 0 && b < n - i;
            sum += is_turned ? was : 0;
            wrong += data[i * n + b] != (uint8_t)(is_turned ? ~was : was);
        }
        wrong += sums[i] != (i % 2 ? -1 : sum);
    }
    CHECK(wrong == 0);
    free(data);
    kiln_buffer_free(bytes);
    kiln_buffer_free(out);
}

// Two warps call once each, with an object that goes and comes and one in shared memory that goes.
static void test_once_bytes(kiln *k, kiln_module *m, int64_t n, int64_t from, int64_t more,
                            uint32_t lanes)
{
    size_t size = 2 * (size_t)(n + 64);
    uint8_t *data = (uint8_t *)malloc(size);
    int64_t sums[64], more_sum = 0;
    uint32_t wrong = 0;
    kiln_buffer *bytes = NULL, *out = NULL;
    CHECK(!kiln_buffer_new(k, KILN_U8, size, &bytes) && !kiln_buffer_new(k, KILN_I64, 64, &out));
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(i * 7 + i / 256);
    for (int64_t i = 0; i < more; i++)
        more_sum += (uint8_t)(i * 11) * (i % 7 + 1);
    CHECK(!kiln_write(bytes, 0, data, size));
    kiln_arg args[6] = {kiln_arg_buffer(bytes),       kiln_arg_buffer(out),
                        kiln_arg_i64(KILN_I64, n),    kiln_arg_i64(KILN_I64, from),
                        kiln_arg_i64(KILN_I64, more), kiln_arg_i64(KILN_U32, lanes)};
    CHECK(!run(k, m, "once_bytes", 1, args, 6));
    CHECK(!kiln_read(bytes, 0, data, size) && !kiln_read(out, 0, sums, 64));
    int64_t sum[2] = {more_sum, more_sum};
    for (size_t i = 0; i < size; i++) {
        int64_t warp = (int64_t)i / (n + 64), at = (int64_t)i % (n + 64) - from;
        uint8_t was = (uint8_t)(i * 7 + i / 256);
        bool is_turned = at >= 0 && at < n;
        sum[warp] += is_turned ? was : 0;
        wrong += data[i] != (uint8_t)(is_turned ? ~was : was);
    }
    for (uint32_t t = 0; t < 64; t++)
        wrong += t % 32 < lanes && sums[t] != sum[t / 32];
    CHECK(wrong == 0);
    free(data);
    kiln_buffer_free(bytes);
    kiln_buffer_free(out);
}

// `count` objects of n bytes with gaps between them.
static void test_lone(kiln *k, kiln_module *m, const char *name, uint32_t blocks, uint32_t count,
                      int64_t n)
{
    size_t size = count * (size_t)(n + 77);
    uint8_t *data = (uint8_t *)malloc(size);
    int64_t sums[16], sum = 0;
    uint32_t wrong = 0;
    kiln_buffer *bytes = NULL, *out = NULL;
    CHECK(!kiln_buffer_new(k, KILN_U8, size, &bytes) && !kiln_buffer_new(k, KILN_I64, 16, &out));
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(i * 7 + i / 256);
    CHECK(!kiln_write(bytes, 0, data, size));
    kiln_arg args[3] = {kiln_arg_buffer(bytes), kiln_arg_buffer(out), kiln_arg_i64(KILN_I64, n)};
    CHECK(!run(k, m, name, blocks, args, 3));
    CHECK(!kiln_read(bytes, 0, data, size) && !kiln_read(out, 0, sums, count));
    for (size_t i = 0; i < size; i++) {
        uint8_t was = (uint8_t)(i * 7 + i / 256);
        bool is_turned = (int64_t)(i % (size_t)(n + 77)) < n;
        sum += is_turned ? was : 0;
        wrong += data[i] != (uint8_t)(is_turned ? ~was : was);
    }
    for (uint32_t t = 0; t < count; t++)
        sum -= sums[t];
    CHECK(wrong == 0 && sum == 0);
    free(data);
    kiln_buffer_free(bytes);
    kiln_buffer_free(out);
}

static void test_local_bytes(kiln *k, kiln_module *m)
{
    int64_t sums[32], sum = 0;
    kiln_buffer *out = NULL;
    CHECK(!kiln_buffer_new(k, KILN_I64, 32, &out));
    kiln_arg args[1] = {kiln_arg_buffer(out)};
    CHECK(!run(k, m, "lone_bytes", 1, args, 1) && !kiln_read(out, 0, sums, 32));
    for (uint32_t b = 0; b < 40; b++)
        sum += (uint8_t)(b * 3);
    for (uint32_t b = 0; b < 5000; b++)
        sum += (uint8_t)((b + 48) * 3) * (b % 7 + 1);
    for (uint32_t t = 0; t < 32; t++)
        CHECK(sums[t] == sum);
    kiln_buffer_free(out);
}

static void test_own_bytes(kiln *k, kiln_module *m)
{
    enum { ALL = 32 * 37 + 4096 };
    uint8_t data[ALL];
    uint32_t wrong = 0;
    static uint8_t large[40000];
    kiln_buffer *bytes = NULL;
    CHECK(!kiln_buffer_new(k, KILN_U8, sizeof large, &bytes));
    kiln_arg args[1] = {kiln_arg_buffer(bytes)};
    CHECK(!run(k, m, "own_bytes", 1, args, 1) && !kiln_read(bytes, 0, data, ALL));
    for (uint32_t t = 0; t < 32; t++)
        for (uint32_t b = 0; b < 37; b++)
            wrong += data[t * 37 + b] != (uint8_t)(b < t ? ~(t + b) : t + b);
    for (uint32_t b = 0; b < 4096; b++)
        wrong += data[32 * 37 + b] != (uint8_t)(b >= 1 && b < 4001 ? ~(b * 3) : b * 3);
    CHECK(wrong == 0);
    CHECK(!run(k, m, "shared_bytes", 1, args, 1) && !kiln_read(bytes, 0, large, sizeof large));
    for (uint32_t b = 0; b < sizeof large; b++)
        wrong += large[b] != (uint8_t) ~(b * 5);
    CHECK(wrong == 0);
    CHECK(!run(k, m, "stamped", 1, args, 1) && !kiln_read(bytes, 0, data, 64));
    for (uint32_t t = 0; t < 32; t++)
        wrong += data[t] != t * 3 || data[32 + t] != (t * 3 > 40 ? 1 : 2);
    CHECK(wrong == 0);
    kiln_buffer_free(bytes);
}

// Two kernels on two streams call at the same time.
static void test_streams(kiln *k, kiln_module *m)
{
    enum { N = 640, EACH = 8 };
    kiln_stream *streams[3] = {NULL, NULL, NULL};
    kiln_buffer *out[3] = {NULL, NULL, NULL};
    int32_t got[N];
    uint32_t wrong = 0;
    for (int s = 0; s < 3; s++)
        CHECK(!kiln_stream_new(k, 0, &streams[s]) && !kiln_buffer_new(k, KILN_I32, N, &out[s]));
    for (int n = 0; n < EACH; n++)
        for (int s = 0; s < 3; s++) {
            kiln_arg args[2] = {kiln_arg_buffer(out[s]), kiln_arg_i64(KILN_U32, N)};
            kiln_launch_desc desc;
            memset(&desc, 0, sizeof desc);
            desc.grid[0] = N / 64;
            desc.args = args;
            desc.arg_count = 2;
            desc.stream = streams[s];
            CHECK(!kiln_launch(api_kernel(m, "all"), &desc));
        }
    CHECK(!kiln_sync(k));
    for (int s = 0; s < 3; s++) {
        CHECK(!kiln_read(out[s], 0, got, N));
        for (int i = 0; i < N; i++)
            wrong += got[i] != 2 * i;
        kiln_buffer_free(out[s]);
        kiln_stream_free(streams[s]);
    }
    CHECK(wrong == 0);
}

static void test_blocking(kiln *k, kiln_module *m, bool is_parallel)
{
    int32_t got[64];
    kiln_buffer *out = NULL;
    CHECK(!kiln_buffer_new(k, KILN_I32, 64, &out));
    kiln_arg args[1] = {kiln_arg_buffer(out)};
    is_quick_done = !is_parallel; // where blocks take turns nobody else can be served
    add(k, "twice", quick, NULL, true);
    CHECK(!run(k, m, "both", 2, args, 1) && !kiln_read(out, 0, got, 64));
    CHECK(got[0] == 1 && got[31] == 1 && got[32] == 64 && got[63] == 126);
    add(k, "twice", twice, NULL, true);
    kiln_buffer_free(out);
}

static void test_stop(kiln *k, kiln_module *m)
{
    int32_t got[32];
    kiln_buffer *out = NULL;
    CHECK(!kiln_buffer_new(k, KILN_I32, 32, &out));
    kiln_arg args[1] = {kiln_arg_buffer(out)};
    EXPECT(run(k, m, "stops", 1, args, 1), KILN_E_KERNEL, "K6048", "the program has had enough");
    CHECK(strstr(kiln_last_error(k)->text, "in thread (5, 0, 0) of block (0, 0, 0)") != NULL);
    CHECK(!kiln_read(out, 0, got, 32));
    CHECK(!run(k, m, "one", 1, args, 1) && !kiln_read(out, 0, got, 1) && got[0] == 42);
    kiln_buffer_free(out);
}

static void *cancel_soon(void *k)
{
    nanosleep(&(struct timespec){0, 30000000}, NULL);
    kiln_cancel((kiln *)k);
    return NULL;
}

static void test_cancel(kiln *k, kiln_module *m)
{
    pthread_t thread;
    int32_t got[1];
    kiln_buffer *out = NULL;
    CHECK(!kiln_buffer_new(k, KILN_I32, 32, &out));
    kiln_arg args[1] = {kiln_arg_buffer(out)};
    if (pthread_create(&thread, NULL, cancel_soon, k))
        return;
    EXPECT(run(k, m, "asks", 1, args, 1), KILN_E_CANCELLED, "K6029", "was cancelled");
    pthread_join(thread, NULL);
    CHECK(!run(k, m, "one", 1, args, 1) && !kiln_read(out, 0, got, 1) && got[0] == 42);
    kiln_buffer_free(out);
}

// Who waits for the kernel that waits for him is told so.
typedef struct waits {
    kiln *k;
    kiln_stream *s;
    kiln_event *e;
    int32_t refused; // atomic
} waits;

static void waiting_twice(void *user, const kiln_host_call *call)
{
    waits *w = (waits *)user;
    kiln_status got[3] = {kiln_sync(w->k), kiln_stream_sync(w->s), kiln_event_sync(w->e)};
    for (int n = 0; n < 3; n++)
        __atomic_fetch_add(&w->refused, got[n] == KILN_E_BAD_ARGUMENT, __ATOMIC_RELAXED);
    twice(NULL, call);
}

static void test_waits(kiln *k, kiln_module *m)
{
    enum { N = 640 };
    static int32_t got[N];
    waits w = {k, NULL, NULL, 0};
    kiln_buffer *out = NULL;
    uint32_t wrong = 0;
    CHECK(!kiln_stream_new(k, 0, &w.s) && !kiln_event_new(k, &w.e) &&
          !kiln_event_record(w.e, w.s) && !kiln_buffer_new(k, KILN_I32, N, &out));
    kiln_arg args[2] = {kiln_arg_buffer(out), kiln_arg_i64(KILN_U32, N)};
    add(k, "twice", waiting_twice, &w, true);
    CHECK(!run(k, m, "all", N / 64, args, 2) && !kiln_read(out, 0, got, N));
    add(k, "twice", twice, NULL, true);
    for (int i = 0; i < N; i++)
        wrong += got[i] != 2 * i;
    CHECK(!wrong && w.refused == 3 * N);
    CHECK(!kiln_stream_sync(w.s) && !kiln_event_sync(w.e));
    kiln_event_free(w.e);
    kiln_stream_free(w.s);
    kiln_buffer_free(out);
}

// --- figures
static const char bench_source[] =
    "#include <kiln/kernel.h>\n"
    "host i32 twice(i32 x);\n"
    "host u32x4 four(u32x4 x);\n"
    "kernel block(32) void lane_trip(u64 *times, u64 *clock, u32 n) {\n"
    "    if (thread_x() != 0) return;\n"
    "    u64 first = clock_cycles(), wall = nano_time();\n"
    "    for (u32 k = 0; k < n; k++) {\n"
    "        u64 start = clock_cycles();\n"
    "        i32 got = twice((i32)k);\n"
    "        times[k] = got == 2 * (i32)k ? clock_cycles() - start : 0;\n"
    "    }\n"
    "    clock[0] = clock_cycles() - first;\n"
    "    clock[1] = nano_time() - wall;\n"
    "}\n"
    "kernel block(32) void warp_trip(u64 *times, u64 *clock, u32 n) {\n"
    "    u64 first = clock_cycles(), wall = nano_time();\n"
    "    for (u32 k = 0; k < n; k++) {\n"
    "        u64 start = clock_cycles();\n"
    "        i32 got = twice((i32)(k + thread_x()));\n"
    "        u64 took = clock_cycles() - start;\n"
    "        if (thread_x() == 0) times[k] = got == 2 * (i32)k ? took : 0;\n"
    "    }\n"
    "    if (thread_x() == 0) { clock[0] = clock_cycles() - first; clock[1] = nano_time() - wall; "
    "}\n"
    "}\n"
    "kernel block(32) void four_trip(u64 *times, u64 *clock, u32 n) {\n"
    "    u64 first = clock_cycles(), wall = nano_time();\n"
    "    for (u32 k = 0; k < n; k++) {\n"
    "        u64 start = clock_cycles();\n"
    "        u32x4 x = {k, thread_x(), 3, 4};\n"
    "        u32x4 got = four(x);\n"
    "        u64 took = clock_cycles() - start;\n"
    "        if (thread_x() == 0) times[k] = got.x == k + 1u ? took : 0;\n"
    "    }\n"
    "    if (thread_x() == 0) { clock[0] = clock_cycles() - first; clock[1] = nano_time() - wall; "
    "}\n"
    "}\n"
    "kernel block(64) void rate(u32 *bad, u32 n) {\n"
    "    u32 i = global_x(), wrong = 0;\n"
    "    for (u32 k = 0; k < n; k++) wrong += twice((i32)(k + i)) != 2 * (i32)(k + i) ? 1u : 0u;\n"
    "    if (wrong) atomic_add(bad, wrong);\n"
    "}\n"
    "kernel block(64) void says(u32 n) { for (u32 k = 0; k < n; k++) printf(\"i=%u f=%f\\n\", "
    "global_x(), (f64)k * 0.5); }\n"
    "kernel block(64) void nothing(u32 *bad) { if (bad[0] == 77u) bad[1] = 1; }\n";

static void four(void *user, const kiln_host_call *call)
{
    (void)user;
    memcpy(call->result, call->args[0], 16);
    ++*(uint32_t *)call->result;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void bench_trip(kiln *k, kiln_module *m, const char *name, uint32_t n)
{
    uint64_t *times = (uint64_t *)malloc(n * sizeof *times), clock[2];
    kiln_buffer *out = NULL, *clocks = NULL;
    CHECK(!kiln_buffer_new(k, KILN_U64, n, &out) && !kiln_buffer_new(k, KILN_U64, 2, &clocks));
    kiln_arg args[3] = {kiln_arg_buffer(out), kiln_arg_buffer(clocks), kiln_arg_i64(KILN_U32, n)};
    CHECK(!run(k, m, name, 1, args, 3));
    CHECK(!kiln_read(out, 0, times, n) && !kiln_read(clocks, 0, clock, 2));
    qsort(times, n, sizeof *times, by_value);
    CHECK(times[0] > 0);
    double us = clock[0] ? (double)clock[1] / (double)clock[0] * 1e-3 : 0;
    printf("%-10s %6u calls: p50 %.2f p90 %.2f p99 %.2f p99.9 %.2f max %.1f us, mean %.2f us\n",
           name, n, (double)times[n / 2] * us, (double)times[n * 9 / 10] * us,
           (double)times[n * 99 / 100] * us, (double)times[n - 1 - n / 1000] * us,
           (double)times[n - 1] * us, (double)clock[1] * 1e-3 / n);
    fflush(stdout);
    free(times);
    kiln_buffer_free(out);
    kiln_buffer_free(clocks);
}

static void bench_rate(kiln *k, kiln_module *m, uint32_t warps, uint32_t n)
{
    uint32_t bad[2] = {0, 0};
    kiln_buffer *out = NULL;
    CHECK(!kiln_buffer_new(k, KILN_U32, 2, &out) && !kiln_write(out, 0, bad, 2));
    kiln_arg args[2] = {kiln_arg_buffer(out), kiln_arg_i64(KILN_U32, n)};
    double start = now();
    CHECK(!run(k, m, "rate", warps / 2, args, 2));
    double took = now() - start;
    CHECK(!kiln_read(out, 0, bad, 2) && bad[0] == 0);
    printf("rate       %6u warps x %u calls: %.1f M lane-calls/s (%.1f ms, %.1f us a call)\n",
           warps, n, (double)warps * 32 * n / took * 1e-6, took * 1e3, took * 1e6 / n);
    fflush(stdout);
    kiln_buffer_free(out);
}

static uint64_t lines, print_bytes;
static double first_line;
static void count_lines(void *user, const char *text, size_t len)
{
    (void)user;
    if (first_line == 0)
        first_line = now();
    print_bytes += len;
    for (size_t n = 0; n < len; n++)
        lines += text[n] == '\n';
}

static void bench_print(kiln *k, kiln_module *m, uint32_t blocks, uint32_t n)
{
    lines = print_bytes = 0;
    first_line = 0;
    kiln_arg args[1] = {kiln_arg_i64(KILN_U32, n)};
    double start = now();
    CHECK(!run(k, m, "says", blocks, args, 1));
    double took = now() - start;
    printf(
        "printf     %6u blocks x %u: %.2f M lines/s, %.1f MB, %llu of %llu lines, first after %.0f "
        "us of %.0f\n",
        blocks, n, (double)lines / took * 1e-6, (double)print_bytes * 1e-6,
        (unsigned long long)lines, (unsigned long long)blocks * 64 * n, (first_line - start) * 1e6,
        took * 1e6);
    fflush(stdout);
}

static void bench(kiln *k)
{
    kiln_module *m = api_compile(k, bench_source, 0);
    bool is_slow = strcmp(kiln_device_name(k), "cuda:0") != 0;
    uint32_t n = is_slow ? 200 : 20000;
    add(k, "twice", twice, NULL, true);
    add(k, "four", four, NULL, true);
    bench_trip(k, m, "lane_trip", 100);
    bench_trip(k, m, "lane_trip", n);
    bench_trip(k, m, "warp_trip", n);
    bench_trip(k, m, "four_trip", n);
    static const uint32_t warps[] = {2, 16, 64, 132, 528, 1056, 2112};
    for (size_t w = 0; w < sizeof warps / sizeof *warps && (!is_slow || w < 2); w++)
        bench_rate(k, m, warps[w], is_slow ? 20 : warps[w] < 100 ? 20000 : 4000);
    kiln_on_print(k, count_lines, NULL);
    bench_print(k, m, 1, is_slow ? 10 : 100);
    bench_print(k, m, is_slow ? 1 : 132, 100);
    kiln_module_free(m);
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "interp";
    kiln *k = api_open(device);
    if (argc > 2 && !strcmp(argv[2], "bench")) {
        bench(k);
        kiln_close(k);
        return api_done("hostcall-bench");
    }
    bool is_cuda = !strncmp(kiln_device_name(k), "cuda", 4);
    has_warps = strncmp(kiln_device_name(k), "opencl", 6) != 0;
    // PoCL's compiler takes long: once is enough there
    for (int optimise = has_warps ? -1 : 1; optimise <= 1; optimise += 2) {
        kiln_module *m = api_compile(k, source, optimise);
        add(k, "twice", twice, NULL, true);
        add(k, "place", place, NULL, false);
        add(k, "once", once, &pauses, false);
        add(k, "tell", tell, NULL, false);
        add(k, "turn", turn, NULL, true);
        add(k, "turn_once", turn_once, NULL, true);
        add(k, "stamp", stamp, NULL, true);
        add(k, "slow", slow, NULL, false);
        add(k, "enough", enough, NULL, false);
        step("numbers");
        test_numbers(k, m);
        add_many(k, "twice", twice_many, true);
        add_many(k, "tell", tell_many, false);
        step("numbers of many");
        test_numbers(k, m);
        add(k, "twice", twice, NULL, true);
        add(k, "tell", tell, NULL, false);
        step("bytes");
        static const int64_t sizes[] = {33, 500, 9000};
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
            test_bytes(k, m, sizes[n]);
        if (is_cuda)
            test_bytes(k, m, 70001);
        static const struct {
            int64_t n, from, more;
            uint32_t lanes;
        } once[] = {{100, 0, 100, 32},   {4096, 0, 4096, 32},  {5003, 0, 16384, 32},
                    {8192, 3, 5000, 32}, {65536, 16, 10, 32},  {40001, 0, 4097, 9},
                    {131072, 0, 0, 32},  {131073, 0, 99, 32},  {120000, 32, 16384, 32},
                    {4096, 0, 4096, 1},  {300000, 0, 8000, 31}};
        for (size_t n = 0; has_warps && n < sizeof once / sizeof *once; n++)
            test_once_bytes(k, m, once[n].n, once[n].from, once[n].more, once[n].lanes);
        test_own_bytes(k, m);
        if (has_warps)
            test_local_bytes(k, m);
        step("large objects of one");
        static const int64_t larger[] = {100, 4095, 4096, 4111, 16384, 20000, 65536, 100001};
        for (size_t n = 0; n < sizeof larger / sizeof *larger; n++) {
            test_lone(k, m, "alone", 7, 7, larger[n]);
            test_lone(k, m, "threads", 1, 8, larger[n]);
        }
        if (is_cuda) // more than the ring, than the first wide slices, than the others
            for (int64_t n = 1000000; n < 6000000; n += 1600001)
                test_lone(k, m, "alone", 16, 16, n);
        step("streams");
        test_streams(k, m);
        step("blocking");
        test_blocking(k, m, is_cuda);
        step("waits");
        test_waits(k, m);
        step("stop");
        test_stop(k, m);
        step("cancel");
        test_cancel(k, m);
        printf("%s, optimise %d: %d passed so far\n", device, optimise, api_passed);
        fflush(stdout);
        kiln_module_free(m);
    }
    kiln_close(k);
    return api_done("hostcall");
}
