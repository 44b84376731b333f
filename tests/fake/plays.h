// Scenarios of check.c in which the fake GPU plays kernels that talk to the host: lines that were
// printed before it was lost, calls of host functions.
#ifndef KILN_TESTS_FAKE_PLAYS_H
#define KILN_TESTS_FAKE_PLAYS_H

#include "api.h"
#include <kiln/hostcall.h>

#include "back/channel.h"
#include "rt/channel/mailbox_call.h"

// --- what was printed before the GPU was lost
static void play_line(const char *kernel, void **params)
{
    channel_header *header;
    uint64_t at;
    if (strcmp(kernel, "says") != 0)
        return;
    memcpy(&at, params[1], sizeof at);
    header = (channel_header *)(uintptr_t)at;
    uint64_t record[5] = {40, 0, 0, 0, 7}; // bytes, site 0, thread and block, the argument
    memcpy((uint8_t *)(uintptr_t)header->ring + header->position, record, sizeof record);
    header->position += 40;
}

static void lost_lines(void)
{
    char settings[64];
    snprintf(settings, sizeof settings, "play=0x%llx,fault=3",
             (unsigned long long)(uintptr_t)play_line);
    setenv("FAKE_CUDA", settings, 1);
    kiln *k = api_open("cuda");
    kiln_module *m = api_compile(k,
                                 "#include <kiln/kernel.h>\n"
                                 "kernel block(32) void says(i32 *x) { printf(\"it was %d\\n\", "
                                 "x[0]); }\n",
                                 0);
    kiln_buffer *x = NULL;
    CHECK(!kiln_buffer_new(k, KILN_I32, 1, &x));
    kiln_arg args[1] = {kiln_arg_buffer(x)};
    for (int n = 0; n < 3; n++)
        CHECK(!api_launch(api_kernel(m, "says"), 1, 0, args, 1));
    EXPECT(kiln_sync(k), KILN_E_KERNEL, "K6035", "it used memory that is not its own");
    CHECK(!strcmp(kiln_printed(k, NULL), "it was 7\nit was 7\nit was 7\n"));
    kiln_close(k);
}

// --- calls of the host: the fake GPU plays a lane with the functions that kernels get
static const char calling[] =
    "#include <kiln/kernel.h>\n"
    "host i32 twice(i32 x);\n"
    "host no_wait void tell(i32 x);\n"
    "kernel block(64) void calls(i32 *x) { x[thread_x()] = twice(3); tell(5); }\n"
    "kernel block(64) void quiet(i32 *x) { x[thread_x()] = 2; }\n";
MAILBOX_CALL(call_twice, 1, 2, false, MAILBOX_HAS_WHO)
MAILBOX_SEND(call_tell, 1, 0, false, MAILBOX_HAS_WHO)

static int32_t heard, played, wrong_plays, fails_with;

static void play(const char *kernel, void **params)
{
    channel_header header;
    uint64_t at;
    if (strcmp(kernel, "calls") != 0)
        return;
    memcpy(&at, params[1], sizeof at); // behind the kernel's own parameters
    memcpy(&header, (const void *)(uintptr_t)at, sizeof header);
    const mailbox_calls *calls = (const mailbox_calls *)(const void *)header.calls;
    if (fails_with) { // as emitted code does
        channel_fault fault = {.is_set = 1, .thread = {7}, .values = {(uint32_t)fails_with}};
        memcpy((void *)(uintptr_t)header.fault, &fault, sizeof fault);
        ((channel_header *)(uintptr_t)at)->fault_taken = 1;
        return;
    }
    uint32_t frame[MAILBOX_ROWS] = {21, 7, 8, 9};
    call_twice(calls, (uintptr_t)frame, 0, 1);
    wrong_plays += frame[0] != MAILBOX_OK || frame[1] != 42;
    frame[0] = 5;
    call_tell(calls, (uintptr_t)frame, MAILBOX_SITE, 2);
    wrong_plays += frame[0] != MAILBOX_OK;
    played++;
}

static void twice(void *user, const kiln_host_call *call)
{
    (void)user;
    *(int32_t *)call->result = 2 * *(int32_t *)call->args[0];
}
static void tell(void *user, const kiln_host_call *call)
{
    *(int32_t *)user += *(int32_t *)call->args[0];
}

static void host_calls(void)
{
    char settings[64];
    kiln_graph *g = NULL;
    snprintf(settings, sizeof settings, "play=0x%llx", (unsigned long long)(uintptr_t)play);
    setenv("FAKE_CUDA", settings, 1);
    kiln *k = api_open("cuda");
    kiln_module *m = api_compile(k, calling, 0), *n = api_compile(k, calling, 0);
    kiln_buffer *x = NULL;
    CHECK(!kiln_buffer_new(k, KILN_I32, 64, &x));
    kiln_arg args[1] = {kiln_arg_buffer(x)};
    EXPECT(api_launch(api_kernel(m, "calls"), 1, 0, args, 1), KILN_E_LAUNCH, "K6046", "'twice'");
    CHECK(!kiln_host_register(k, &(kiln_host_desc){.name = "twice", .call = twice}));
    CHECK(!kiln_host_register(k, &(kiln_host_desc){.name = "tell", .call = tell, .user = &heard}));
    for (int32_t round = 1; round <= 3; round++) {
        CHECK(!api_launch(api_kernel(m, "quiet"), 5, 0, args, 1));
        CHECK(!api_launch(api_kernel(m, "calls"), 5, 0, args, 1) && !kiln_sync(k));
        CHECK(!api_launch(api_kernel(n, "calls"), 500, 0, args, 1) && !kiln_sync(k));
        CHECK(played == 2 * round && heard == 10 * round && !wrong_plays);
    }
    kiln_module_free(n);
    CHECK(!api_launch(api_kernel(m, "calls"), 5, 0, args, 1) && !kiln_sync(k) && heard == 35);
    static const struct {
        int32_t status;
        kiln_status result;
        const char *code, *words;
    } ends[] = {{MAILBOX_BAD, KILN_E_KERNEL, "K6049", "makes no sense"},
                {MAILBOX_TIMED_OUT, KILN_E_KERNEL, "K6049", "did not answer in time"},
                {MAILBOX_HOST_DOWN, KILN_E_KERNEL, "K6049", "the host program stands still"},
                {MAILBOX_CANCELLED, KILN_E_CANCELLED, "K6029", "was cancelled"}};
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        fails_with = ends[e].status;
        CHECK(!api_launch(api_kernel(m, "calls"), 5, 0, args, 1));
        EXPECT(kiln_sync(k), ends[e].result, ends[e].code, ends[e].words);
        CHECK(strstr(kiln_last_error(k)->text, "in thread (7, 0, 0)") != NULL);
    }
    fails_with = 0;
    CHECK(!api_launch(api_kernel(m, "calls"), 5, 0, args, 1) && !kiln_sync(k) && heard == 40);
    CHECK(!kiln_graph_new(k, &g));
    kiln_launch_desc node = {.grid = {1}, .args = args, .arg_count = 1};
    CHECK(!kiln_graph_add(g, api_kernel(m, "calls"), &node, NULL, 0, NULL));
    CHECK(!kiln_graph_launch(g, NULL) && !kiln_sync(k));
    kiln_close(k);
}

// --- functions that would wait for the kernel that calls them
static struct {
    kiln *k;
    kiln_module *m;
    kiln_stream *s;
    kiln_event *e;
    kiln_graph *g;
    kiln_buffer *x, *freed;
    void *memory;
} used;

static kiln_status wait_in_some_way(int32_t how)
{
    int32_t value = 1, values[64];
    void *memory = NULL;
    kiln_heap_stats stats;
    kiln_module *made = NULL;
    kiln_buffer *new_one = NULL;
    kiln_arg arg = kiln_arg_buffer(used.x);
    kiln_copy_desc copy = {.to = used.x, .from_host = &value, .count = 1};
    switch (how) {
    case 0: return kiln_sync(used.k);
    case 1: return kiln_stream_sync(used.s);
    case 2: return kiln_event_sync(used.e);
    case 3: return kiln_read(used.x, 0, &value, 1);
    case 4: return kiln_write(used.x, 0, &value, 1);
    case 5: return kiln_fill(used.x, &value);
    case 6: return kiln_fill_async(used.x, 0, 1, &value, NULL);
    case 7: return kiln_copy(&copy);
    case 8: return kiln_read_view(kiln_view_all(used.x), values);
    case 9: return kiln_memory_trim(used.k);
    case 10: return kiln_heap_stats_of(used.k, &stats);
    case 11: return kiln_heap_reset(used.k);
    case 12: return kiln_compile(used.k, &(kiln_compile_desc){.source = calling}, &made);
    case 13: kiln_close(used.k); break;
    case 14: return kiln_host_register(used.k, &(kiln_host_desc){.name = "twice", .call = twice});
    case 15: return kiln_buffer_new(used.k, KILN_I32, 64, &new_one);
    case 16: return kiln_host_alloc(used.k, 64, &memory);
    case 17: kiln_host_free(used.k, used.memory); break;
    case 18: return api_launch(api_kernel(used.m, "quiet"), 1, 0, &arg, 1);
    case 19: return kiln_graph_launch(used.g, NULL);
    default: return KILN_OK;
    }
    return kiln_last_error(used.k)->status;
}
enum { WAITS = 20 };
static int32_t way;
static const kiln_status refusal = KILN_E_BAD_ARGUMENT;

static void waits(void *user, const kiln_host_call *call)
{
    kiln_status got = wait_in_some_way(way);
    if (way == WAITS) { // they stay until the kernel has ended
        kiln_buffer_free(used.freed);
        kiln_graph_free(used.g);
        kiln_stream_free(used.s);
        kiln_module_free(used.m);
    } else if (got != refusal || strcmp(kiln_last_error(used.k)->code, "K6003") != 0)
        printf("wait %d was not refused: %s\n", (int)way, kiln_status_name(got));
    else
        ++*(int32_t *)user;
    *(int32_t *)call->result = 2 * *(int32_t *)call->args[0];
}

static void host_waits(void)
{
    char settings[64];
    int32_t refused = 0;
    kiln_memory_info before, after;
    snprintf(settings, sizeof settings, "play=0x%llx", (unsigned long long)(uintptr_t)play);
    setenv("FAKE_CUDA", settings, 1);
    kiln *k = used.k = api_open("cuda");
    kiln_module *m = used.m = api_compile(k, calling, 0);
    CHECK(!kiln_stream_new(k, 0, &used.s) && !kiln_event_new(k, &used.e));
    CHECK(!kiln_event_record(used.e, NULL) && !kiln_heap_reset(k) && !kiln_graph_new(k, &used.g));
    CHECK(!kiln_buffer_new(k, KILN_I32, 64, &used.x) &&
          !kiln_buffer_new(k, KILN_I32, 64, &used.freed));
    CHECK(!kiln_host_register(k,
                              &(kiln_host_desc){.name = "twice", .call = waits, .user = &refused}));
    CHECK(!kiln_host_register(k, &(kiln_host_desc){.name = "tell", .call = tell, .user = &heard}));
    CHECK(!kiln_memory_info_of(k, &before) && !kiln_host_alloc(k, 64, &used.memory));
    kiln_arg args[1] = {kiln_arg_buffer(used.x)};
    for (way = 0; way <= WAITS; way++) {
        CHECK(!api_launch(api_kernel(m, "calls"), 1, 0, args, 1) && !wrong_plays);
        CHECK(way < WAITS ||
              (!kiln_memory_info_of(k, &after) && after.buffer_count == before.buffer_count));
        CHECK(!kiln_sync(k) && refused == (way < WAITS ? way + 1 : WAITS));
    }
    CHECK(!kiln_memory_info_of(k, &after) && after.buffer_count == before.buffer_count - 1);
    kiln_close(k);
}

// --- lines of printf, and calls that come after them
static const char printing[] = "#include <kiln/kernel.h>\n"
                               "#include <stdio.h>\n"
                               "kernel block(1) void says(u32 n)\n"
                               "{ printf(\"line %u\\n\", n); fflush(stdout); }\n";
MAILBOX_CALL(call_flags, 2, 2, false, 0)
enum { FLUSHES = 40 };
static char flushed[32 * FLUSHES];
static uint32_t late_lines;

static void keep_lines(void *user, const char *text, size_t len)
{
    (void)user;
    strncat(flushed, text, len);
}

// Whoever reads the lines takes long naps in silence; the call must not overtake the line.
static void play_flushes(const char *kernel, void **params)
{
    channel_header header;
    uint64_t at;
    (void)kernel;
    memcpy(&at, params[1], sizeof at);
    memcpy(&header, (const void *)(uintptr_t)at, sizeof header);
    const mailbox_calls *calls = (const mailbox_calls *)(const void *)header.calls;
    word_pause(400000000);
    for (uint32_t n = 0; n < FLUSHES; n++) {
        char line[32];
        uint32_t words[] = {n}, frame[MAILBOX_ROWS] = {1, 0, 7, 8};
        print_line((print_channel *)(uintptr_t)at, words, 0, 1, 0);
        word_fence();
        call_flags(calls, (uintptr_t)frame, MAILBOX_SITE, 1); // printf is site 0
        wrong_plays += frame[0] != MAILBOX_OK || frame[1] != 0;
        snprintf(line, sizeof line, "line %u\n", n);
        late_lines += !strstr(flushed, line);
    }
}

static void lines_before_calls(void)
{
    char settings[64];
    snprintf(settings, sizeof settings, "play=0x%llx", (unsigned long long)(uintptr_t)play_flushes);
    setenv("FAKE_CUDA", settings, 1);
    kiln *k = api_open("cuda");
    kiln_module *m = api_compile(k, printing, 0);
    kiln_on_print(k, keep_lines, NULL);
    kiln_arg args[1] = {kiln_arg_i64(KILN_U32, 1)};
    CHECK(!api_launch(api_kernel(m, "says"), 1, 0, args, 1) && !kiln_sync(k));
    CHECK(!late_lines && !wrong_plays && strstr(flushed, "line 39\n"));
    kiln_close(k);
}

#endif
