// Null, foreign and freed handles: every call says so, none crashes.
#include "api.h"

static const char source[] =
    "#include <kiln/kernel.h>\nkernel block(1) void f(i32 *x) { x[0] = 1; }\n";

static void all_calls(kiln *k, kiln_module *m, kiln_kernel *f, kiln_buffer *b)
{
    kiln_buffer *made = NULL;
    kiln_module *module = NULL;
    kiln_kernel *kernel = NULL;
    kiln_param_info info;
    kiln_compile_desc compile;
    kiln_launch_desc launch;
    uint32_t block[3] = {7, 7, 7};
    size_t len = 1;
    int32_t x = 0;
    memset(&compile, 0, sizeof compile);
    memset(&launch, 0, sizeof launch);
    compile.source = source;
#define BAD(call) EXPECT(call, KILN_E_BAD_HANDLE, "K6002", "")
    BAD(kiln_buffer_new(k, KILN_I32, 1, &made));
    BAD(kiln_buffer_new_bytes(k, 4, 1, &made));
    BAD(kiln_compile(k, &compile, &module));
    BAD(kiln_sync(k));
    BAD(kiln_module_kernel(m, "f", &kernel));
    BAD(kiln_module_kernel_at(m, 0, &kernel));
    BAD(kiln_kernel_param(f, 0, &info));
    BAD(kiln_launch(f, &launch));
    BAD(kiln_write(b, 0, &x, 1));
    BAD(kiln_read(b, 0, &x, 1));
    BAD(kiln_fill(b, &x));
    CHECK(kiln_buffer_count(b) == 0 && kiln_buffer_bytes(b) == 0);
    CHECK(kiln_buffer_type(b) == KILN_VOID);
    CHECK(kiln_module_kernel_count(m) == 0 && kiln_kernel_param_count(f) == 0);
    CHECK(!strcmp(kiln_module_log(m), "") && !strcmp(kiln_kernel_name(f), ""));
    CHECK(!strcmp(kiln_device_name(k), "") && !strcmp(kiln_printed(k, &len), "") && len == 0);
    kiln_kernel_block(f, block);
    kiln_on_print(k, NULL, NULL);
    kiln_on_print_error(k, NULL, NULL);
    kiln_cancel(k);
    kiln_buffer_free(b);
    kiln_module_free(m);
    kiln_close(k);
    CHECK(made == NULL && module == NULL && kernel == NULL && block[0] == 7);
}

// A graph that outlives what it uses; what comes after may lie in the same place.
static void graphs(const char *device, bool by_hand)
{
    kiln *k = NULL;
    kiln_stream *s = NULL;
    kiln_buffer *b[3] = {NULL, NULL, NULL};
    int32_t zero = 0;
    CHECK(!kiln_open(device, &k) && !kiln_stream_new(k, 0, &s));
    for (int round = 0; round < 4; round++) { // what is freed: nothing, kernel, argument, other
        for (int n = 0; n < 3; n++)
            CHECK(!kiln_buffer_new(k, KILN_I32, 1, &b[n]));
        kiln_module *m = api_compile(k, source, 0);
        kiln_arg arg = kiln_arg_buffer(b[0]);
        kiln_launch_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.grid[0] = 1;
        desc.args = &arg;
        desc.arg_count = 1;
        kiln_graph *g = NULL;
        if (by_hand) {
            CHECK(!kiln_graph_new(k, &g) &&
                  !kiln_graph_add(g, api_kernel(m, NULL), &desc, NULL, 0, NULL));
        } else {
            kiln_copy_desc copy;
            memset(&copy, 0, sizeof copy);
            copy.to = b[1], copy.from = b[0], copy.count = 1, copy.stream = s;
            desc.stream = s;
            CHECK(!kiln_capture_begin(s) && !kiln_launch(api_kernel(m, NULL), &desc));
            CHECK(!kiln_copy(&copy) && !kiln_fill_async(b[2], 0, 1, &zero, s));
            CHECK(!kiln_capture_end(s, &g));
        }
        CHECK(!kiln_graph_launch(g, NULL));
        if (round == 1)
            kiln_module_free(m);
        if (round == 2)
            kiln_buffer_free(b[0]);
        if (round == 3 && !by_hand)
            kiln_buffer_free(b[2]);
        // New ones take the places, in time.
        for (int n = 0; n < 3000 && round; n++) {
            kiln_buffer *again = NULL;
            CHECK(!kiln_buffer_new(k, KILN_I32, 1, &again));
            kiln_buffer_free(again);
        }
        if (round == 1) {
            EXPECT(kiln_graph_launch(g, NULL), KILN_E_BAD_HANDLE, "K6002",
                   "uses a module that was freed");
            CHECK(kiln_last_error(k)->status == KILN_E_BAD_HANDLE);
        } else { // the graph holds its buffers; for the program they are dead
            CHECK(!kiln_graph_launch(g, NULL));
        }
        if (round == 2)
            EXPECT(kiln_fill(b[0], &zero), KILN_E_BAD_HANDLE, "K6002", "");
        // Another argument mends a node, another kernel does not.
        arg = kiln_arg_buffer(b[1]);
        desc.stream = NULL;
        if (by_hand && round == 1)
            EXPECT(kiln_graph_set(g, 0, &desc), KILN_E_BAD_HANDLE, "K6002", "a module");
        if (by_hand && round == 2)
            CHECK(!kiln_graph_set(g, 0, &desc) && !kiln_graph_launch(g, NULL));
        kiln_graph_free(g);
        EXPECT(kiln_graph_launch(g, NULL), KILN_E_BAD_HANDLE, "K6002", "not a live kiln_graph");
        EXPECT(kiln_graph_launch(NULL, NULL), KILN_E_BAD_HANDLE, "K6002", "NULL");
    }
    kiln_close(k);
}

static uint64_t buffers_of(kiln *k)
{
    kiln_memory_info info;
    CHECK(!kiln_memory_info_of(k, &info));
    return info.buffer_count;
}

// References of the program, of graphs and of captures; a graph's buffer of another context.
static void references(const char *device)
{
    kiln *k = api_open(device), *other = api_open(device);
    kiln_stream *s = NULL;
    kiln_buffer *b = NULL, *away = NULL;
    kiln_graph *g = NULL;
    int32_t x = 5;
    CHECK(!kiln_stream_new(k, 0, &s) && !kiln_buffer_new(k, KILN_I32, 1, &b));
    CHECK(!kiln_buffer_retain(b) && !kiln_buffer_retain(b));
    kiln_buffer_free(b);
    kiln_buffer_free(b);
    CHECK(!kiln_write(b, 0, &x, 1) && buffers_of(k) == 1);
    kiln_buffer_free(b);
    EXPECT(kiln_buffer_retain(b), KILN_E_BAD_HANDLE, "K6002", "not a live kiln_buffer");
    EXPECT(kiln_buffer_retain(NULL), KILN_E_BAD_HANDLE, "K6002", "");
    CHECK(buffers_of(k) == 0);
    for (int is_ended = 0; is_ended < 2; is_ended++) { // a capture holds, and so does its graph
        CHECK(!kiln_buffer_new(k, KILN_I32, 1, &b) && !kiln_capture_begin(s));
        CHECK(!kiln_fill_async(b, 0, 1, &x, s));
        kiln_buffer_free(b);
        kiln_buffer_free(b); // once too often: found out, nothing happens
        CHECK(buffers_of(k) == 1 && !kiln_capture_end(s, &g) && buffers_of(k) == 1);
        CHECK(!kiln_graph_launch(g, NULL) && !kiln_sync(k));
        kiln_graph_free(g);
        CHECK(buffers_of(k) == 0);
    }
    // updated, it holds the new one and not the old one
    kiln_buffer *old = NULL;
    CHECK(!kiln_buffer_new(k, KILN_I32, 1, &old) && !kiln_buffer_new(k, KILN_I32, 1, &b));
    CHECK(!kiln_capture_begin(s) && !kiln_fill_async(old, 0, 1, &x, s) && !kiln_capture_end(s, &g));
    CHECK(!kiln_capture_begin(s) && !kiln_fill_async(b, 0, 1, &x, s) && !kiln_capture_update(s, g));
    kiln_buffer_free(old);
    kiln_buffer_free(b);
    CHECK(buffers_of(k) == 1);
    kiln_graph_free(g);
    CHECK(buffers_of(k) == 0);
    // a buffer of another context goes with that context
    kiln_copy_desc copy;
    memset(&copy, 0, sizeof copy);
    CHECK(!kiln_buffer_new(k, KILN_I32, 1, &b) && !kiln_buffer_new(other, KILN_I32, 1, &away));
    copy.to = b, copy.from = away, copy.count = 1, copy.stream = s;
    CHECK(!kiln_capture_begin(s) && !kiln_copy(&copy) && !kiln_capture_end(s, &g));
    kiln_close(other);
    EXPECT(kiln_graph_launch(g, NULL), KILN_E_BAD_HANDLE, "K6002", "a kiln handle that was closed");
    kiln_graph_free(g);
    // and a capture that is never ended
    CHECK(!kiln_capture_begin(s) && !kiln_fill_async(b, 0, 1, &x, s));
    kiln_buffer_free(b);
    kiln_close(k);
}

static void newest_error(void)
{
    kiln *k = NULL, *other = NULL;
    kiln_buffer *b = NULL;
    int32_t x = 0;
    CHECK(!kiln_open(NULL, &k) && !kiln_open(NULL, &other) && !kiln_buffer_new(k, KILN_I32, 1, &b));
    CHECK(kiln_read(b, 0, &x, 2) && !strcmp(kiln_last_error(k)->code, "K6017"));
    kiln_buffer_free(b);
    CHECK(kiln_write(b, 0, &x, 1) && !strcmp(kiln_last_error(k)->code, "K6002"));
    CHECK(kiln_graph_launch(NULL, NULL) && strstr(kiln_last_error(k)->text, "kiln_graph"));
    // A newer one on the context; and one on another context is not this one's.
    CHECK(kiln_buffer_new(k, KILN_I32, 1, NULL) && !strcmp(kiln_last_error(k)->code, "K6003"));
    CHECK(kiln_buffer_new(other, KILN_I32, 1, NULL) && !strcmp(kiln_last_error(k)->code, "K6003"));
    kiln_close(k);
    kiln_close(other);
}

static void odd_arguments(void)
{
    kiln *k = NULL;
    kiln_buffer *b = NULL;
    int32_t x = 0;
    CHECK(!kiln_open(NULL, &k) && !kiln_buffer_new(k, KILN_I32, 1, &b));
    kiln_module *m = api_compile(k, source, 0);
    EXPECT(kiln_kernel_param(api_kernel(m, NULL), 0, NULL), KILN_E_BAD_ARGUMENT, "K6003", "NULL");
    kiln_kernel_block(api_kernel(m, NULL), NULL);
    CHECK(!strcmp(kiln_last_error(k)->code, "K6003"));
    kiln_copy_desc copy;
    memset(&copy, 0, sizeof copy);
    copy.to = b, copy.to_host = &x, copy.from_host = &x, copy.count = 1;
    EXPECT(kiln_copy(&copy), KILN_E_BAD_ARGUMENT, "K6003", "'to' is a buffer and host memory");
    copy.to_host = NULL, copy.from = b;
    EXPECT(kiln_copy(&copy), KILN_E_BAD_ARGUMENT, "K6003", "'from' is a buffer and host memory");
    kiln_close(k);
}

// Within one memory: columns beside each other are copied, and what shares elements is refused on
// every device, whatever its driver would do.
static void copies_in_place(const char *device)
{
    static const struct {
        size_t to, from, count, rows, to_pitch, from_pitch;
        bool is_refused;
    } rows[] = {{0, 8, 8, 1, 0, 0, false},  {8, 0, 8, 1, 0, 0, false}, {0, 7, 8, 1, 0, 0, true},
                {1, 0, 8, 1, 0, 0, true},   {3, 3, 8, 1, 0, 0, false}, {3, 3, 8, 1, 9, 10, false},
                {0, 2, 2, 4, 4, 4, false},  {0, 1, 2, 4, 4, 4, true},  {0, 4, 2, 4, 4, 4, true},
                {0, 0, 2, 4, 4, 4, false},  {0, 0, 2, 4, 4, 5, true},  {0, 16, 4, 4, 4, 4, false},
                {0, 1, 1, 16, 2, 2, false}, {0, 1, 1, 8, 2, 3, true}};
    kiln *k = api_open(device);
    int32_t memory[32], got[32];
    kiln_buffer *b = NULL, *same = NULL;
    kiln_wrap_desc wrap;
    memset(&wrap, 0, sizeof wrap);
    wrap.type = KILN_I32, wrap.count = 32, wrap.host = memory;
    CHECK(!kiln_buffer_wrap(k, &wrap, &b) && !kiln_buffer_wrap(k, &wrap, &same));
    for (size_t n = 0; n < 2 * sizeof rows / sizeof *rows; n++) {
        size_t r = n / 2;
        kiln_copy_desc copy;
        memset(&copy, 0, sizeof copy);
        copy.to = b, copy.to_first = rows[r].to, copy.to_pitch = rows[r].to_pitch;
        copy.from = n % 2 ? same : b, copy.from_first = rows[r].from;
        copy.from_pitch = rows[r].from_pitch, copy.count = rows[r].count, copy.rows = rows[r].rows;
        for (int i = 0; i < 32; i++)
            memory[i] = i;
        bool is_own_place = rows[r].to == rows[r].from && !rows[r].is_refused;
        if (rows[r].is_refused || (n % 2 && is_own_place)) {
            EXPECT(kiln_copy(&copy), KILN_E_BAD_ARGUMENT, "K6003", "share elements");
            continue;
        }
        CHECK(!kiln_copy(&copy) && !kiln_read(b, 0, got, 32));
        size_t to_pitch = rows[r].to_pitch ? rows[r].to_pitch : rows[r].count,
               from_pitch = rows[r].from_pitch ? rows[r].from_pitch : rows[r].count;
        for (size_t row = 0; row < rows[r].rows; row++)
            for (size_t c = 0; c < rows[r].count; c++)
                CHECK(got[rows[r].to + row * to_pitch + c] ==
                      (int32_t)(rows[r].from + row * from_pitch + c));
    }
    kiln_close(k);
}

int main(void)
{
    kiln *k = NULL;
    kiln_buffer *b = NULL;
    all_calls(NULL, NULL, NULL, NULL);

    CHECK(!kiln_open(NULL, &k) && !kiln_buffer_new(k, KILN_I32, 1, &b));
    kiln_module *m = api_compile(k, source, 0);
    kiln_kernel *f = api_kernel(m, NULL);
    // Each in the place of another.
    all_calls((kiln *)b, (kiln_module *)f, (kiln_kernel *)m, (kiln_buffer *)k);
    CHECK(kiln_last_error((kiln *)b)->status == KILN_E_BAD_HANDLE);
    uint64_t junk[32];
    memset(junk, 0x5a, sizeof junk);
    all_calls((kiln *)junk, (kiln_module *)junk, (kiln_kernel *)junk, (kiln_buffer *)junk);
    // Nothing is there; inside of a handle.
    const uintptr_t odd[] = {
        1, 8, 0xdead0000, 0x5a5a5a5a5a5a5a5au, (uintptr_t)k + 8, (uintptr_t)b + 1};
    for (int i = 0; i < 6; i++)
        all_calls((kiln *)odd[i], (kiln_module *)odd[i], (kiln_kernel *)odd[i],
                  (kiln_buffer *)odd[i]);

    kiln_arg arg = kiln_arg_buffer(b);
    CHECK(!api_launch(f, 1, 0, &arg, 1));
    kiln_buffer_free(b);
    EXPECT(api_launch(f, 1, 0, &arg, 1), KILN_E_BAD_HANDLE, "K6002", "argument 1 'x'");
    kiln_buffer_free(b); // twice: an error, not a crash
    kiln_module_free(m);
    CHECK(kiln_launch(f, NULL) == KILN_E_BAD_HANDLE);
    kiln_close(k);
    all_calls(k, m, f, b);
    for (int by_hand = 0; by_hand < 2; by_hand++) {
        graphs("interp", by_hand);
        graphs("cpu", by_hand);
    }
    references("interp");
    references("cpu");
    newest_error();
    odd_arguments();
    copies_in_place("interp");
    copies_in_place("cpu");
    return api_done("handles");
}
