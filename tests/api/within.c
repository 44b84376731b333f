// What a host function may do with the context whose kernel calls it, on interp and cpu: launch,
// read, write, make and free buffers; what it frees stays until the kernel has ended. What would
// wait for the kernel is refused.
#include "api.h"

#include <kiln/hostcall.h>

static const char source[] =
    "#include <kiln/kernel.h>\n"
    "#include <stdlib.h>\n"
    "host i32 act(i32 what);\n"
    "kernel block(1) void outer(i32 *out, i32 what) {\n"
    "    i32 *kept = malloc(64);\n"
    "    kept[3] = 17;\n"
    "    out[1] = 5;\n"
    "    out[0] = act(what);\n"
    "    out[2] = out[1] + kept[3];\n"
    "    free(kept);\n"
    "}\n"
    "kernel block(32) void many(i32 *out, i32 what) { out[global_x()] = act(what); }\n"
    "kernel block(1) void inner(i32 *out) { out[0] += 1; }\n";

enum { MADE = 100 };
typedef struct state {
    kiln *k;
    kiln_module *m;
    kiln_stream *s;
    kiln_event *e;
    kiln_graph *g;
    kiln_buffer *given, *other, *made[MADE];
} state;

static void act(void *user, const kiln_host_call *call);

// --- what is refused
static kiln_status sync_all(state *t)
{
    return kiln_sync(t->k);
}
static kiln_status sync_stream(state *t)
{
    return kiln_stream_sync(t->s);
}
static kiln_status sync_event(state *t)
{
    return kiln_event_sync(t->e);
}
static kiln_status close_it(state *t)
{
    kiln_close(t->k);
    return KILN_E_BAD_ARGUMENT;
}
static kiln_status set_heap(state *t)
{
    return kiln_heap_set(t->k, 1 << 20);
}
static kiln_status reset_heap(state *t)
{
    return kiln_heap_reset(t->k);
}
static kiln_status provide(state *t) // itself, in another way: the lock of the call stays its own
{
    kiln_host_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.name = "act";
    desc.call = act;
    desc.user = t;
    desc.is_concurrent = true;
    return kiln_host_register(t->k, &desc);
}
static kiln_status provide_library(state *t)
{
    return kiln_host_library(t->k, "libm.so.6", t->m);
}

static const struct {
    kiln_status (*call)(state *t);
    const char *words;
} refused[] = {
    {sync_all, "kiln_sync: a host function, or one that takes what kernels print, cannot wait"},
    {sync_stream, "kiln_stream_sync: a host function"},
    {sync_event, "kiln_event_sync: a host function"},
    {close_it, "kiln_close: a kernel of this context runs now"},
    {set_heap, "kiln_heap_set: a host function"},
    {reset_heap, "kiln_heap_reset: a host function"},
    {provide, "kiln_host_register: a kernel of this context runs now"},
    {provide_library, "kiln_host_register: a kernel of this context runs now"},
};
enum { REFUSED = sizeof refused / sizeof *refused };

// --- what is fine
static kiln_status launch(state *t)
{
    kiln_arg arg = kiln_arg_buffer(t->other);
    return api_launch(api_kernel(t->m, "inner"), 1, 0, &arg, 1);
}
static kiln_status read_and_write(state *t)
{
    int32_t seen[2] = {0, 0};
    kiln_status status = kiln_read(t->given, 0, seen, 2);
    seen[1] += 100;
    CHECK(seen[1] == 105);
    return status ? status : kiln_write(t->given, 1, &seen[1], 1);
}
static kiln_status make_buffers(state *t) // more than the table of buffers has room for
{
    for (int n = 0; n < MADE; n++)
        CHECK(!kiln_buffer_new(t->k, KILN_I32, 1000, &t->made[n]));
    return launch(t);
}
static kiln_status free_buffers(state *t)
{
    for (int n = 0; n < MADE; n++)
        kiln_buffer_free(t->made[n]);
    kiln_buffer_free(t->given); // the kernel goes on with it
    t->given = NULL;
    return KILN_OK;
}
static kiln_status free_others(state *t) // the module among them whose kernel this is
{
    kiln_kernel *kernel;
    kiln_graph_free(t->g);
    kiln_stream_free(t->s);
    kiln_module_free(t->m);
    EXPECT(kiln_stream_sync(t->s), KILN_E_BAD_HANDLE, "K6002", "");
    EXPECT(kiln_module_kernel(t->m, "outer", &kernel), KILN_E_BAD_HANDLE, "K6002", "");
    return KILN_OK;
}
static kiln_status count_heap(state *t)
{
    kiln_heap_stats stats;
    kiln_status status = kiln_heap_stats_of(t->k, &stats);
    CHECK(stats.block_count == 1);
    return status;
}
static kiln_status compile(state *t)
{
    kiln_module *m = api_compile(t->k, source, 1);
    kiln_arg arg = kiln_arg_buffer(t->other);
    return api_launch(api_kernel(m, "inner"), 1, 0, &arg, 1);
}
static kiln_status use_another(state *t) // context: it is not waited for
{
    kiln *other = api_open(kiln_device_name(t->k));
    kiln_module *m = api_compile(other, source, 1);
    kiln_buffer *b;
    CHECK(!kiln_buffer_new(other, KILN_I32, 1, &b));
    kiln_arg arg = kiln_arg_buffer(b);
    CHECK(!api_launch(api_kernel(m, "inner"), 1, 0, &arg, 1) && !kiln_sync(other));
    kiln_close(other);
    return KILN_OK;
}
static kiln_status (*const fine[])(state *t) = {launch,       read_and_write, make_buffers,
                                                free_buffers, count_heap,     compile,
                                                use_another,  free_others};
enum { FINE = sizeof fine / sizeof *fine };

static void act(void *user, const kiln_host_call *call)
{
    state *t = (state *)user;
    int32_t what = *(int32_t *)call->args[0];
    *(int32_t *)call->result =
        (int32_t)(what < REFUSED ? refused[what].call(t) : fine[what - REFUSED](t));
}

static kiln_status run(state *t, int32_t what, int32_t got[3])
{
    kiln_arg args[2] = {kiln_arg_buffer(t->given), kiln_arg_i64(KILN_I32, what)};
    kiln_status status = api_launch(api_kernel(t->m, "outer"), 1, 0, args, 2);
    if (!status && t->given)
        CHECK(!kiln_read(t->given, 0, got, 3));
    return status;
}

static void test_one(const char *device, bool is_concurrent, int optimise)
{
    state t;
    kiln_host_desc desc;
    int32_t got[3] = {0, 0, 0};
    memset(&t, 0, sizeof t);
    memset(&desc, 0, sizeof desc);
    t.k = api_open(device);
    t.m = api_compile(t.k, source, optimise);
    CHECK(!kiln_stream_new(t.k, 0, &t.s) && !kiln_event_new(t.k, &t.e) &&
          !kiln_graph_new(t.k, &t.g));
    CHECK(!kiln_event_record(t.e, NULL));
    CHECK(!kiln_buffer_new(t.k, KILN_I32, 4, &t.given) &&
          !kiln_buffer_new(t.k, KILN_I32, 4, &t.other));
    desc.name = "act";
    desc.signature = "i32 act(i32)";
    desc.call = act;
    desc.user = &t;
    desc.is_concurrent = is_concurrent;
    CHECK(!kiln_host_register(t.k, &desc));
    for (int32_t what = 0; what < REFUSED; what++) {
        CHECK(!run(&t, what, got) && got[0] == KILN_E_BAD_ARGUMENT && got[2] == 22);
        const kiln_error *e = kiln_last_error(t.k);
        bool is_right = !strcmp(e->code, "K6003") && strstr(e->text, refused[what].words);
        CHECK(is_right);
        if (!is_right)
            printf("%s: %d: %s %s\n", device, (int)what, e->code, e->text);
    }
    for (int32_t what = REFUSED; what < REFUSED + FINE; what++) {
        bool writes = fine[what - REFUSED] == read_and_write;
        if (!t.given)
            CHECK(!kiln_buffer_new(t.k, KILN_I32, 4, &t.given));
        CHECK(!run(&t, what, got) && got[0] == KILN_OK);
        CHECK(!t.given || got[2] == (writes ? 122 : 22));
    }
    kiln_memory_info info;
    CHECK(!kiln_memory_info_of(t.k, &info) && info.buffer_count == 3); // with the heap
    CHECK(!kiln_sync(t.k) && !kiln_event_sync(t.e) && !kiln_heap_reset(t.k));
    CHECK(!kiln_host_register(t.k, &desc));
    kiln_close(t.k);
}

// Functions in several threads that all fail.
static void test_many(const char *device)
{
    enum { BLOCKS = 500 };
    static int32_t got[BLOCKS * 32];
    state t;
    kiln_host_desc desc;
    kiln_buffer *out;
    memset(&t, 0, sizeof t);
    memset(&desc, 0, sizeof desc);
    t.k = api_open(device);
    t.m = api_compile(t.k, source, 1);
    desc.name = "act";
    desc.call = act;
    desc.user = &t;
    desc.is_concurrent = true;
    CHECK(!kiln_host_register(t.k, &desc) && !kiln_buffer_new(t.k, KILN_I32, BLOCKS * 32, &out));
    kiln_arg args[2] = {kiln_arg_buffer(out), kiln_arg_i64(KILN_I32, 0)};
    CHECK(!api_launch(api_kernel(t.m, "many"), BLOCKS, 0, args, 2));
    CHECK(!kiln_read(out, 0, got, BLOCKS * 32));
    int wrong = 0;
    for (int n = 0; n < BLOCKS * 32; n++)
        wrong += got[n] != KILN_E_BAD_ARGUMENT;
    CHECK(!wrong && strstr(kiln_last_error(t.k)->text, "kiln_sync: "));
    kiln_close(t.k);
}

int main(void)
{
    static const char *const devices[] = {"interp", "cpu"};
    for (int d = 0; d < 2; d++) {
        test_one(devices[d], false, 1);
        test_one(devices[d], true, -1);
        test_many(devices[d]);
    }
    return api_done("within");
}
