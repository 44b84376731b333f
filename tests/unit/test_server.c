// Calls of host functions through mailboxes, whole but for the GPU: the functions that kernels get
// (mailbox_call.h) are played by threads, the server serves them with its own.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/played.h"
#include "tests/test.h"

#include "rt/channel/server.h"

static const char source[] =
    "#include <kiln/kernel.h>\n"
    "host i32 twice(i32 x);\n"
    "host per_warp u64 once(u64 first);\n"
    "host no_wait void tell(u32 who);\n"
    "host i64 turn(counted(n) u8 *bytes, i64 n, counted(m) const u8 *more, i64 m);\n"
    "host per_warp i64 flip(counted(n) u8 *bytes, i64 n, counted(m) const u8 *more, i64 m);\n"
    "host u32x4 four(u32x4 x);\n"
    "host void hold(void);\n"
    "host void quit(void);\n"
    "kernel block(32) void all(i32 *out, u8 *bytes) {\n"
    "    out[0] = twice((i32)once(3)); tell(2); turn(bytes, 1, bytes, 2); flip(bytes, 1, bytes, "
    "2); hold(); quit();\n"
    "    u32x4 x; x.x = x.y = x.z = x.w = 1u; out[1] = (i32)four(x).y;\n"
    "}\n";

// As back/library.c writes them: words out, words in, who calls, counted objects.
MAILBOX_CALL(call_twice, 1, 2, false, MAILBOX_HAS_WHO)
MAILBOX_CALL(call_once, 2, 3, true, MAILBOX_HAS_WHO)
MAILBOX_SEND(call_tell, 1, 0, false, MAILBOX_HAS_WHO)
MAILBOX_CARRY(call_turn, 8, 5, false, MAILBOX_HAS_WHO, 2, true, true)
MAILBOX_CARRY(call_turn_once, 8, 5, true, MAILBOX_HAS_WHO, 2, true, true)
MAILBOX_CALL(call_hold, 0, 1, false, MAILBOX_HAS_WHO)
MAILBOX_CALL(call_four, 4, 5, false, MAILBOX_HAS_WHO)

enum { BOXES = 64, WARPS = 3, MOST = 20000 }; // of four shares

typedef struct stage {
    kiln *k;
    kiln_module *m;
    server *s;
    mailbox_calls calls;
    uint64_t own[BOXES + 1], beat[8];
    uint32_t first, rounds;
    uint32_t told, once, wrong, is_held, has_held; // atomic
    uint32_t far_copies, far_taken;                // atomic
    played_warp warps[WARPS];
} stage;

typedef struct frame {
    uint32_t words[MAILBOX_ROWS];
    mailbox_counted counted[MAILBOX_MOST_COUNTED];
    mailbox_ring ring;
} frame;

static void on_twice(void *user, const kiln_host_call *call)
{
    (void)user;
    *(int32_t *)call->result = 2 * *(int32_t *)call->args[0] + (int32_t)call->thread[1];
}
static void on_once(void *user, const kiln_host_call *call)
{
    __atomic_fetch_add(&((stage *)user)->once, 1, __ATOMIC_RELAXED);
    *(uint64_t *)call->result = *(uint64_t *)call->args[0] + 1;
}
static void on_tell(void *user, const kiln_host_call *call)
{
    __atomic_fetch_add(&((stage *)user)->told, *(uint32_t *)call->args[0], __ATOMIC_RELAXED);
}
static void on_turn(void *user, const kiln_host_call *call)
{
    uint8_t *bytes = call->args[0];
    const uint8_t *more = call->args[2];
    int64_t n = *(int64_t *)call->args[1], m = *(int64_t *)call->args[3], sum = 0;
    (void)user;
    for (int64_t k = 0; k < n; k++)
        bytes[k] = (uint8_t)~bytes[k];
    for (int64_t k = 0; k < m; k++)
        sum += more[k];
    *(int64_t *)call->result = sum;
}
static void on_four(void *user, const kiln_host_call *call)
{
    const uint32_t *x = call->args[0];
    uint32_t *out = call->result;
    (void)user;
    for (uint32_t n = 0; n < 4; n++)
        out[n] += x[3 - n] + call->thread[0]; // it was zero
}
static void on_hold(void *user, const kiln_host_call *call)
{
    stage *t = user;
    (void)call;
    __atomic_store_n(&t->has_held, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&t->is_held, __ATOMIC_ACQUIRE))
        nanosleep(&(struct timespec){0, 100000}, NULL);
}
static void on_quit(void *user, const kiln_host_call *call)
{
    (void)user;
    kiln_host_stop(call, "that was all");
}

// Large objects by their address. An odd number of bytes is out of reach, as shared memory is.
static bool has_far(void *user, uint64_t at, size_t bytes)
{
    (void)user, (void)at;
    return bytes % 2 == 0;
}
static bool copy_far(void *user, void *host, uint64_t at, size_t bytes, bool is_to_gpu)
{
    __atomic_fetch_add(&((stage *)user)->far_copies, 1, __ATOMIC_RELAXED);
    memcpy(is_to_gpu ? (void *)(uintptr_t)at : host, is_to_gpu ? host : (void *)(uintptr_t)at,
           bytes);
    return true;
}
static void *take_far(void *user, size_t bytes)
{
    bool has_room = bytes < 50000;
    __atomic_fetch_add(&((stage *)user)->far_taken, has_room, __ATOMIC_RELAXED);
    return has_room ? malloc(bytes) : NULL;
}
static void give_far(void *user, void *at, size_t bytes)
{
    (void)bytes;
    __atomic_fetch_add(&((stage *)user)->far_taken, UINT32_MAX, __ATOMIC_RELAXED);
    free(at);
}

static uint32_t site_of(const stage *t, const char *name)
{
    for (uint32_t n = 0; n < t->m->site_count; n++)
        if (t->m->sites[n].op == IR_HOST && !strncmp(t->m->sites[n].text.at, name, strlen(name)))
            return n * MAILBOX_SITE;
    return UINT16_MAX;
}

static uint64_t *data_new(void)
{
    size_t wide = (size_t)MAILBOX_WIDE_ALL;
    uint8_t *memory = calloc(1, wide + (size_t)BOXES * MAILBOX_DATA);
    return memory ? (uint64_t *)(void *)(memory + wide) : NULL;
}

static stage *stage_new(void)
{
    static const struct {
        const char *name;
        kiln_host_function *call;
    } rows[] = {{"twice", on_twice}, {"once", on_once}, {"tell", on_tell}, {"turn", on_turn},
                {"hold", on_hold},   {"quit", on_quit}, {"four", on_four}, {"flip", on_turn}};
    stage *t = calloc(1, sizeof *t);
    kiln_kernel *kernel = NULL;
    static server_far far;
    assert_non_null(t);
    far = (server_far){has_far, copy_far, take_far, give_far, t};
    assert_int_equal(kiln_open("interp", &t->k), 0);
    assert_int_equal(
        kiln_compile(t->k, &(kiln_compile_desc){.path = "t.c", .source = source}, &t->m), 0);
    for (size_t n = 0; n < COUNT(rows); n++)
        assert_int_equal(kiln_host_register(t->k, &(kiln_host_desc){.name = rows[n].name,
                                                                    .call = rows[n].call,
                                                                    .user = t,
                                                                    .is_concurrent = true}),
                         0);
    assert_int_equal(kiln_module_kernel(t->m, "all", &kernel), 0);
    assert_int_equal(host_check(kernel), 0);
    server_place place = {.boxes = calloc(BOXES, sizeof(mailbox)),
                          .rows = aligned_alloc(64, BOXES * sizeof(mailbox_rows)),
                          .data = data_new(),
                          .beat = t->beat,
                          .count = BOXES,
                          .far = &far,
                          .threads = 4};
    assert_true(place.boxes && place.rows && place.data);
    memset(place.rows, 0, BOXES * sizeof *place.rows);
    t->calls = (mailbox_calls){.boxes = place.boxes,
                               .rows = place.rows,
                               .own = t->own,
                               .dead = &t->own[BOXES],
                               .beat = t->beat,
                               .data = place.data,
                               .silence = UINT64_C(600000000000),
                               .count = BOXES};
    t->s = server_new(t->k, &place);
    assert_non_null(t->s);
    t->first = server_add(t->s, t->m);
    assert_int_equal(t->first, 1);
    t->calls.first = t->first;
    return t;
}

static void stage_free(stage *t)
{
    server_remove(t->s, t->m);
    server_free(t->s);
    free(t->calls.boxes);
    free(t->calls.rows);
    free(mailbox_wide(t->calls.data, MAILBOX_WIDE_BOXES - 1));
    kiln_close(t->k);
    free(t);
}

static void check(stage *t, bool is_right)
{
    if (!is_right)
        __atomic_fetch_add(&t->wrong, 1, __ATOMIC_RELAXED);
}

static void bytes_once(stage *t, uint32_t home, uint32_t n, uint32_t m)
{
    frame f = {{0}, {{0}}, {0}};
    uint8_t *bytes = malloc(n + 8), *more = malloc(m + 8);
    uint32_t sum = 0;
    bool is_right = bytes && more;
    for (uint32_t k = 0; is_right && k < n; k++)
        bytes[k] = (uint8_t)(k * 7 + my_lane);
    for (uint32_t k = 0; is_right && k < m; k++)
        sum += more[k] = (uint8_t)(k * 3 + my_lane);
    f.counted[0] = (mailbox_counted){(uintptr_t)bytes, n, 3};
    f.counted[1] = (mailbox_counted){(uintptr_t)more, m, 2};
    // operands: bytes of the first, n, bytes of the second, m; two that are filled; who calls
    uint32_t words[] = {n, n, 0, m, m, 0, 0, 0, my_lane, 31, 0, 0};
    memcpy(f.words, words, sizeof words);
    call_turn(&t->calls, (uintptr_t)&f, site_of(t, "turn"), home);
    is_right = is_right && f.words[0] == MAILBOX_OK && f.words[1] == sum && f.words[2] == 0;
    for (uint32_t k = 0; is_right && k < n; k++)
        is_right = bytes[k] == (uint8_t) ~(k * 7 + my_lane);
    check(t, is_right);
    free(bytes);
    free(more);
}

static void play_all(player *p)
{
    stage *t = p->t;
    for (uint32_t n = 0; n < t->rounds; n++) {
        // thread x = 30 … of rows of 32: the third lane is the first of the next row
        frame f = {{n * 8 + p->lane, 30 | 5 << 10, 31 | 7 << 10, 3, 4}, {{0}}, {0}};
        call_twice(&t->calls, (uintptr_t)&f, site_of(t, "twice"), p->warp);
        check(t, f.words[0] == MAILBOX_OK && f.words[1] == 2 * (n * 8 + p->lane) + 5 + p->lane / 2);
        f = (frame){{p->lane + 10, 7}, {{0}}, {0}};
        call_once(&t->calls, (uintptr_t)&f, site_of(t, "once"), p->warp);
        check(t, f.words[0] == MAILBOX_OK && f.words[1] == 11 && f.words[2] == 7);
        f = (frame){{n, n + 1, p->lane, 9, 4, 31, 0, 0}, {{0}}, {0}};
        call_four(&t->calls, (uintptr_t)&f, site_of(t, "four"), p->warp);
        uint32_t x = 4 + p->lane;
        check(t, f.words[0] == MAILBOX_OK && f.words[1] == 9 + x && f.words[2] == p->lane + x &&
                     f.words[3] == n + 1 + x && f.words[4] == n + x);
        f = (frame){{p->lane + 1}, {{0}}, {0}};
        call_tell(&t->calls, (uintptr_t)&f, site_of(t, "tell"), n);
        check(t, f.words[0] == MAILBOX_OK);
        bytes_once(t, n, n % 3 == 0 ? 0 : n * 5 + p->lane, n % 2 ? 0 : 100 * p->lane + n);
    }
    bytes_once(t, 0, p->lane == 1 ? MOST : 100, p->lane == 0 ? MOST + 1 : 3);
}

// Objects of which the address is sent; then one that the host cannot reach, beside one it can.
static void play_far(player *p)
{
    stage *t = p->t;
    bytes_once(t, 0, 40000 + 2 * p->lane, 33000);
    bytes_once(t, 1, 60000, 10);
    bytes_once(t, 2, p->lane == 1 ? 40001 : 40000, p->lane == 2 ? 70001 : 1000);
}

// One call of a warp: its lanes stream the objects that are large enough and at a multiple of 16.
typedef struct streamed {
    uint32_t n, m, from;
    uint32_t copies[LANES + 1]; // of all objects, by so many lanes
} streamed;
static const streamed streams[] = {
    {4096, 100, 0, {0, 1, 1, 1}},   // goes back by one copy
    {100, 4096, 0, {0, 0, 0, 0}},   // does not go back
    {4098, 8000, 16, {0, 3, 1, 1}}, // one lane streams 4096 bytes, at most
    {4096, 4096, 8, {0, 3, 3, 3}},  // not at a multiple of 16
    {8192, 12288, 0, {0, 3, 2, 1}},
    {4097, 5001, 0, {0, 0, 0, 0}}, // out of reach: comes in pieces after all
};

static void flip_once(stage *t, const player *p, const streamed *s)
{
    static uint8_t memory[WARPS][2][40000] __attribute__((aligned(16)));
    uint8_t *bytes = memory[p->warp][0] + s->from, *more = memory[p->warp][1] + s->from;
    frame f = {{0}, {{0}}, {0}};
    uint32_t sum = 0;
    for (uint32_t k = 0; p->lane == 0 && k < s->n; k++)
        bytes[k] = (uint8_t)(k * 7 + 1);
    for (uint32_t k = 0; k < s->m; k++) {
        sum += (uint8_t)(k * 3 + 5);
        if (p->lane == 0)
            more[k] = (uint8_t)(k * 3 + 5);
    }
    lanes_meet();
    bool is_first = p->lane == 0; // the others' arguments do not matter
    f.counted[0] = (mailbox_counted){is_first ? (uintptr_t)bytes : 3, is_first ? s->n : 7, 3};
    f.counted[1] = (mailbox_counted){is_first ? (uintptr_t)more : 5, is_first ? s->m : 9000, 2};
    uint32_t words[] = {s->n, s->n, 0, s->m, s->m, 0, 0, 0, my_lane, 31, 0, 0};
    memcpy(f.words, words, sizeof words);
    call_turn_once(&t->calls, (uintptr_t)&f, site_of(t, "flip"), p->warp);
    bool is_right = f.words[0] == MAILBOX_OK && f.words[1] == sum && f.words[2] == 0;
    for (uint32_t k = 0; is_right && k < s->n; k++)
        is_right = bytes[k] == (uint8_t) ~(k * 7 + 1);
    check(t, is_right);
    lanes_meet();
}

static void play_streams(player *p)
{
    stage *t = p->t;
    flip_once(t, p, &streams[t->rounds]);
}

static void play_held(player *p)
{
    stage *t = p->t;
    frame f = {{4}, {{0}}, {0}};
    if (p->warp == 0) {
        f = (frame){{4, 31, 9, 0}, {{0}}, {0}}; // who calls
        call_hold(&t->calls, (uintptr_t)&f, site_of(t, "hold"), 0);
        check(t, f.words[0] == MAILBOX_OK);
        return;
    }
    while (!__atomic_load_n(&t->has_held, __ATOMIC_ACQUIRE))
        nanosleep(&(struct timespec){0, 100000}, NULL);
    char pending[200];
    if (p->warp == WARPS - 1) // the one that is held, whatever else is on its way
        check(t, server_pending(t->s, pending, sizeof pending) >= 1 &&
                     strstr(pending, "'hold' of thread (4, 0, 0) of block 9") != NULL);
    call_twice(&t->calls, (uintptr_t)&f, site_of(t, "twice"), p->warp);
    check(t, f.words[0] == MAILBOX_OK && f.words[1] == 8);
    if (p->warp == WARPS - 1)
        __atomic_store_n(&t->is_held, 0, __ATOMIC_RELEASE);
}

static void play_wrong(player *p)
{
    stage *t = p->t;
    uint32_t first = p->warp == 0   ? site_of(t, "quit")
                     : p->warp == 1 ? site_of(t, "hold") + 1 // no function of its own
                                    : 60000;
    frame f = {{0}, {{0}}, {0}};
    call_hold(&t->calls, (uintptr_t)&f, first, p->warp);
    check(t, (int32_t)f.words[0] == (p->warp == 0 ? (int32_t)SERVER_STOPPED : MAILBOX_BAD));
    f = (frame){{1, 1, 0, 0, 0, 0}, {{0}}, {0}}; // says one byte, sends none
    call_turn(&t->calls, (uintptr_t)&f, site_of(t, "turn"), p->warp);
    check(t, f.words[0] == MAILBOX_BAD);
}

static void perform(stage *t, void (*play)(player *), const uint32_t *lanes)
{
    assert_true(players_perform(t, t->warps, lanes, WARPS, play));
}

TEST(served_calls_bring_everything_back)
{
    static const uint32_t lanes[WARPS] = {LANES, 1, 2};
    stage *t = stage_new();
    t->rounds = 12;
    assert_true(server_wake(t->s, BOXES));
    perform(t, play_all, lanes);
    server_rest(t->s);
    assert_int_equal(t->wrong, 0);
    assert_int_equal(t->told, t->rounds * (6 + 1 + 3));
    assert_int_equal(t->once, t->rounds * WARPS);
    t->rounds = 2; // the threads sleep, and wake
    assert_true(server_wake(t->s, 1));
    perform(t, play_all, lanes);
    server_rest(t->s);
    assert_int_equal(t->wrong, 0);
    stage_free(t);
}

static uint32_t most_together;
static void on_turn_together(void *user, const kiln_host_call *calls, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++)
        on_turn(user, &calls[n]);
    uint32_t most = __atomic_load_n(&most_together, __ATOMIC_RELAXED);
    while (most < count && !__atomic_compare_exchange_n(&most_together, &most, count, true,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

// Without counted objects: words alone.
static uint32_t most_words;
static void on_twice_together(void *user, const kiln_host_call *calls, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++)
        on_twice(user, &calls[n]);
    if (count == LANES)
        __atomic_store_n(&most_words, count, __ATOMIC_RELAXED);
}

TEST(lanes_are_served_together)
{
    static const uint32_t lanes[WARPS] = {LANES, 1, 2};
    stage *t = stage_new();
    host_set_together(t->k, "turn", on_turn_together);
    host_set_together(t->k, "twice", on_twice_together);
    t->rounds = 6;
    assert_true(server_wake(t->s, BOXES));
    perform(t, play_all, lanes);
    perform(t, play_far, lanes);
    perform(t, play_wrong, (const uint32_t[WARPS]){1, 1, 1});
    server_rest(t->s);
    assert_int_equal(t->wrong, 0);
    assert_int_equal(t->far_taken, 0);
    assert_int_equal(most_together, LANES);
    assert_int_equal(most_words, LANES);
    stage_free(t);
}

TEST(large_objects_are_copied_where_they_can_be)
{
    static const uint32_t lanes[WARPS] = {LANES, 1, 2};
    stage *t = stage_new();
    assert_true(server_wake(t->s, BOXES));
    perform(t, play_far, lanes);
    server_rest(t->s);
    assert_int_equal(t->wrong, 0);
    assert_int_equal(t->far_taken, 0); // all were given back
    // 6 lanes: 40000 there and back, 33000 there; 60000 there and back; 4 lanes 40000 there and
    // back, of which the one with 70001 does not come back
    assert_int_equal(t->far_copies, 6 * 3 + 6 * 2 + 3 * 2 + 1);
    stage_free(t);
}

TEST(lanes_stream_the_large_object_of_one)
{
    stage *t = stage_new();
    for (uint32_t count = 1; count <= LANES; count++)
        for (t->rounds = 0; t->rounds < COUNT(streams); t->rounds++) {
            t->far_copies = 0;
            assert_true(server_wake(t->s, BOXES));
            perform(t, play_streams, (const uint32_t[WARPS]){count, 1, 1});
            server_rest(t->s);
            assert_int_equal(t->wrong, 0);
            assert_int_equal(t->far_taken, 0);
            assert_int_equal(t->far_copies,
                             streams[t->rounds].copies[count] + 2 * streams[t->rounds].copies[1]);
        }
    stage_free(t);
}

// Large objects of lanes that call alone go through the ring of their block, at any address. All
// warps share one: who does not get it goes another way.
enum { RING = 24 << 10 };
static uint8_t ring_memory[RING] __attribute__((aligned(MAILBOX_RING_ALIGN)));
static const struct {
    uint32_t n, m, from;
} ringed[] = {{4096, 0, 0},
              {4096, 4095, 1},
              {5003, 100001, 15},
              {65536, 4096, 8},
              {16, 70000, 3},
              {300000, 300001, 7},
              {60000, 4096, 16},
              {MAILBOX_WIDE, 9, 0},
              {MAILBOX_HUGE, 0, 0},
              {MAILBOX_HUGE - 1, 5, 1}, // the wide slice has no byte left
              {MAILBOX_HUGE, 0, 1},     // the host copies it
              {MAILBOX_HUGE + 1, 3000, 0}};

static void play_ringed(player *p)
{
    stage *t = p->t;
    uint32_t n = ringed[t->rounds].n, m = ringed[t->rounds].m, sum = 0;
    uint8_t *memory = aligned_alloc(16, (n + m + 160u) / 16 * 16), *bytes, *more;
    check(t, memory != NULL);
    if (!memory)
        return;
    bytes = memory + 32 + ringed[t->rounds].from;
    more = bytes + n + 32;
    memset(memory, 0xa5, n + m + 144);
    for (uint32_t k = 0; k < n; k++)
        bytes[k] = (uint8_t)(k * 7 + k / 256);
    for (uint32_t k = 0; k < m; k++)
        sum += more[k] = (uint8_t)(k * 3 + k / 256);
    frame f = {
        {n, n, 0, m, m, 0, 0, 0, my_lane, 31, 0, 0}, {{0}}, {(uintptr_t)ring_memory, RING, 0}};
    f.counted[0] = (mailbox_counted){(uintptr_t)bytes, n, 3};
    f.counted[1] = (mailbox_counted){(uintptr_t)more, m, 2};
    call_turn(&t->calls, (uintptr_t)&f, site_of(t, "turn"), p->warp);
    bool is_right = f.words[0] == MAILBOX_OK && f.words[1] == sum && f.words[2] == 0;
    for (uint32_t k = 0; is_right && k < n; k++)
        is_right = bytes[k] == (uint8_t) ~(k * 7 + k / 256);
    for (uint32_t k = 0; is_right && k < 32; k++)
        is_right = bytes[-1 - (int)k] == 0xa5 && bytes[n + k] == 0xa5 && more[m + k] == 0xa5;
    check(t, is_right);
    free(memory);
}

TEST(large_objects_go_through_the_ring)
{
    stage *t = stage_new();
    for (uint32_t n = 0; n < 3 * COUNT(ringed); n++) {
        t->rounds = n % COUNT(ringed);
        t->far_copies = 0;
        bool is_alone = n < COUNT(ringed);
        assert_true(server_wake(t->s, BOXES));
        // two lanes of a warp share the wide slice: theirs are copied
        perform(t, play_ringed, (const uint32_t[WARPS]){1, is_alone ? 1 : 2, 1});
        server_rest(t->s);
        assert_int_equal(t->wrong, 0);
        assert_int_equal(t->far_taken, 0);
        if (n == 0) // at least who was first
            assert_true(t->far_copies <= 2 * (WARPS - 1));
        uint32_t lock;
        memcpy(&lock, ring_memory, sizeof lock);
        assert_int_equal(lock, 0);
    }
    stage_free(t);
}

// Alone nobody takes the ring away: nothing is copied that fits.
static void play_alone(player *p)
{
    if (p->warp == 0)
        play_ringed(p);
}
TEST(nothing_is_copied_that_fits_into_the_wide_slice)
{
    stage *t = stage_new();
    for (t->rounds = 0; t->rounds < COUNT(ringed); t->rounds++) {
        t->far_copies = 0;
        assert_true(server_wake(t->s, BOXES));
        perform(t, play_alone, (const uint32_t[WARPS]){1, 1, 1});
        server_rest(t->s);
        assert_int_equal(t->wrong, 0);
        uint32_t n = ringed[t->rounds].n, from = ringed[t->rounds].from;
        bool is_copied = n + from % 16 > MAILBOX_HUGE && n % 2 == 0; // else it comes in pieces
        assert_int_equal(t->far_copies, is_copied ? 2 : 0);
    }
    stage_free(t);
}

// What a GPU says of an object in the wide slice is not trusted: {bytes, place, is it taken}.
static void play_forged(player *p)
{
    stage *t = p->t;
    static const struct {
        uint32_t bytes, place, status;
    } forged[] = {{4096, 1, MAILBOX_OK},
                  {MAILBOX_HUGE, 1, MAILBOX_OK},
                  {4096, 1 + (MAILBOX_HUGE - 4096) / 16, MAILBOX_OK},
                  {4096, 2 + (MAILBOX_HUGE - 4096) / 16, MAILBOX_BAD},
                  {MAILBOX_HUGE, 2, MAILBOX_BAD},
                  {MAILBOX_HUGE + 16, 1, MAILBOX_BAD},
                  {4096, UINT32_MAX, MAILBOX_BAD},
                  {4096, MAILBOX_FETCHED | 1, MAILBOX_OK},
                  {4096, MAILBOX_FETCHED, MAILBOX_BAD},
                  {4096, MAILBOX_FETCHED | (2 + (MAILBOX_HUGE - 4096) / 16), MAILBOX_BAD},
                  {100, 1, MAILBOX_BAD}}; // would not be copied, and may be a path
    for (size_t n = 0; n < COUNT(forged); n++) {
        mailbox_place at = mailbox_place_of(&t->calls, site_of(t, "turn"), 0);
        uint32_t kind = MAILBOX_KIND(MAILBOX_SITE_CALL, 8, 5) | MAILBOX_IS_BULK | MAILBOX_HAS_WHO,
                 len = forged[n].bytes, in[5] = {0};
        uint32_t out[12] = {0, 0, 0, len, len, 0, MAILBOX_START | 2u << MAILBOX_FAR_AT, 16};
        mailbox_hold hold;
        check(t, mailbox_claim(&at, 1, &hold) == MAILBOX_OK);
        uint64_t *slice = t->calls.data + (uint64_t)(hold.own - at.own) * (MAILBOX_DATA / 8);
        slice[0] = 0;
        slice[1] = len | (uint64_t)forged[n].place << 32;
        mailbox_post(&hold, true, kind, out);
        check(t, mailbox_wait(&at, &hold, true, kind, in) == MAILBOX_OK);
        check(t, in[0] == forged[n].status);
        mailbox_release(&hold, kind);
    }
}

TEST(what_is_streamed_is_not_trusted)
{
    stage *t = stage_new();
    assert_true(server_wake(t->s, BOXES));
    perform(t, play_forged, (const uint32_t[WARPS]){1, 1, 1});
    server_rest(t->s);
    assert_int_equal(t->wrong, 0);
    stage_free(t);
}

// Calls after pauses of any length: most threads sleep then.
static void play_pauses(player *p)
{
    stage *t = p->t;
    uint32_t random = (p->warp + 1) * 2654435761u ^ t->rounds * 40503u;
    for (uint32_t n = 0; n < 10; n++) {
        random ^= random << 13, random ^= random >> 17, random ^= random << 5;
        if (random % 4 == 0)
            nanosleep(&(struct timespec){0, (long)(random % 6000) * 1000}, NULL);
        frame f = {{n}, {{0}}, {0}};
        call_twice(&t->calls, (uintptr_t)&f, site_of(t, "twice"), random % BOXES);
        check(t, f.words[0] == MAILBOX_OK && f.words[1] == 2 * n);
        f = (frame){{1}, {{0}}, {0}};
        call_tell(&t->calls, (uintptr_t)&f, site_of(t, "tell"), random / 7 % BOXES);
        check(t, f.words[0] == MAILBOX_OK);
    }
}

TEST(threads_sleep_in_silence_and_wake)
{
    enum { TIMES = 25 };
    static const uint32_t lanes[WARPS] = {1, 1, 1};
    stage *t = stage_new();
    for (t->rounds = 1; t->rounds <= TIMES; t->rounds++) {
        assert_true(server_wake(t->s, BOXES));
        perform(t, play_pauses, lanes);
        if (t->rounds % 3 == 0)
            nanosleep(&(struct timespec){0, 4000000}, NULL);
        server_rest(t->s);
        assert_int_equal(t->wrong, 0);
        assert_int_equal(t->told, t->rounds * WARPS * 10);
    }
    stage_free(t);
}

TEST(a_function_that_blocks_stops_nobody_else)
{
    static const uint32_t lanes[WARPS] = {1, 1, 1};
    stage *t = stage_new();
    for (int n = 0; n < 5; n++) { // the thread that was blocked is there for the next time
        t->is_held = 1;
        t->has_held = 0;
        assert_true(server_wake(t->s, BOXES));
        perform(t, play_held, lanes);
        server_rest(t->s);
        assert_int_equal(t->wrong, 0);
    }
    stage_free(t);
}

// Functions that take about as long as the watcher waits: shares change hands while they return.
static void on_doze(void *user, const kiln_host_call *call)
{
    uint32_t made = __atomic_fetch_add(&((stage *)user)->once, 1, __ATOMIC_RELAXED);
    (void)call;
    nanosleep(&(struct timespec){0, 300000 + (long)(made * 7919 % 23) * 50000}, NULL);
}

static void play_doze(player *p)
{
    stage *t = p->t;
    for (uint32_t n = 0; n < 30; n++) {
        frame f = {{4, 31, 9, 0}, {{0}}, {0}};
        call_hold(&t->calls, (uintptr_t)&f, site_of(t, "hold"), (p->warp * 5 + n * 17) % BOXES);
        check(t, f.words[0] == MAILBOX_OK);
        f = (frame){{n}, {{0}}, {0}};
        call_twice(&t->calls, (uintptr_t)&f, site_of(t, "twice"), n * 11 % BOXES);
        check(t, f.words[0] == MAILBOX_OK && f.words[1] == 2 * n);
    }
}

TEST(shares_change_hands_while_functions_return)
{
    static const uint32_t lanes[WARPS] = {1, 1, 1};
    stage *t = stage_new();
    kiln_host_desc doze = {.name = "hold", .call = on_doze, .user = t, .is_concurrent = true};
    assert_int_equal(kiln_host_register(t->k, &doze), 0);
    assert_true(server_wake(t->s, BOXES));
    perform(t, play_doze, lanes);
    server_rest(t->s);
    assert_int_equal(t->wrong, 0);
    assert_int_equal(t->once, 30 * WARPS); // each call once
    stage_free(t);
}

TEST(served_calls_are_not_trusted)
{
    static const uint32_t lanes[WARPS] = {2, 1, 1};
    stage *t = stage_new();
    server_stop stop;
    assert_true(server_wake(t->s, BOXES));
    assert_false(server_take_stop(t->s, &stop));
    perform(t, play_wrong, lanes);
    server_rest(t->s);
    assert_int_equal(t->wrong, 0);
    assert_true(server_take_stop(t->s, &stop) && stop.m == t->m);
    assert_string_equal(stop.why, "that was all");
    stage_free(t);
}

TEST(cancelled_calls_end)
{
    stage *t = stage_new();
    frame f = {{0}, {{0}}, {0}};
    my_warp = &t->warps[0];
    my_warp->count = 1;
    my_lane = 0;
    assert_true(server_wake(t->s, BOXES));
    kiln_cancel(t->k);
    do {
        f.words[0] = 4;
        call_twice(&t->calls, (uintptr_t)&f, site_of(t, "twice"), 0);
    } while (f.words[0] == MAILBOX_OK); // until the watcher has seen it
    assert_int_equal(f.words[0], MAILBOX_CANCELLED);
    server_rest(t->s);
    assert_true(server_wake(t->s, BOXES)); // it is forgotten
    f.words[0] = 4;
    call_twice(&t->calls, (uintptr_t)&f, site_of(t, "twice"), 0);
    assert_true(f.words[0] == MAILBOX_OK && f.words[1] == 8);
    server_rest(t->s);
    stage_free(t);
}
