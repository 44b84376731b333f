// Lines of printf as a GPU writes them (print_room.h), played by threads, against a host that reads
// while they write: a small ring goes round many times, and every line comes once and whole. Then
// records that make no sense.
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/played.h"
#include "tests/test.h"

#define PRINT_SILENCE UINT64_C(1000000000) // nanoseconds
#include "rt/channel/print_room.h"
#include "rt/channel/reader.h"

enum { CAPACITY = 1024, WARPS = 3, LINES = 150 };

static const char source[] = "#include <kiln/kernel.h>\n"
                             "kernel block(32) void says(u32 who, u64 n, f64 half)\n"
                             "{ printf(\"<%u %llu %.1f %u>\\n\", who, n, half, who + 1u); }\n";

typedef struct stage {
    kiln *k;
    kiln_module *m;
    print_channel channel;
    _Alignas(8) uint8_t ring[CAPACITY];
    uint64_t tail;
    uint32_t is_over; // atomic
    played_warp warps[WARPS];
} stage;

static void play(player *p)
{
    stage *t = p->t;
    for (uint64_t n = 0; n < LINES; n++) {
        double half = (double)n * 0.5;
        uint64_t bits, big = n << 33;
        uint32_t who = p->warp * LANES + p->lane;
        memcpy(&bits, &half, sizeof bits);
        uint32_t words[] = {
            who,    (uint32_t)big, (uint32_t)(big >> 32), (uint32_t)bits, (uint32_t)(bits >> 32),
            who + 1};
        print_line(&t->channel, words, 0, 4, 6);
    }
}

// As dev/cuda/print.c reads: a record, zeros behind it, then the tail.
static uint64_t read_some(stage *t, uint64_t at, print_out *out)
{
    uint32_t from = (uint32_t)(at % CAPACITY), word, bytes;
    word = __atomic_load_n((uint32_t *)(void *)(t->ring + from), __ATOMIC_ACQUIRE);
    bytes = CHANNEL_BYTES(word);
    if (!word)
        return at;
    assert_true(bytes && bytes % 8 == 0 && bytes <= CAPACITY - from);
    if (!(word & CHANNEL_SKIP))
        channel_format_lines(t->m, t->ring + from, bytes, out);
    memset(t->ring + from, 0, bytes);
    __atomic_store_n(&t->tail, at + bytes, __ATOMIC_RELEASE);
    return at + bytes;
}

static void *reader_main(void *user)
{
    stage *t = user;
    print_out *out = calloc(1, sizeof *out);
    uint64_t at = 0;
    for (;;) {
        bool is_over = __atomic_load_n(&t->is_over, __ATOMIC_ACQUIRE);
        uint64_t next = out ? read_some(t, at, out) : at;
        if (next == at && is_over)
            return out;
        if (next == at)
            sched_yield();
        at = next;
    }
}

static stage *stage_new(void)
{
    stage *t = calloc(1, sizeof *t);
    assert_non_null(t);
    assert_int_equal(kiln_open("interp", &t->k), 0);
    assert_int_equal(
        kiln_compile(t->k, &(kiln_compile_desc){.path = "t.c", .source = source}, &t->m), 0);
    t->channel = (print_channel){
        .ring = (uintptr_t)t->ring, .capacity = CAPACITY, .tail = (uintptr_t)&t->tail};
    return t;
}

static void perform(stage *t)
{
    static const uint32_t lanes[WARPS] = {LANES, 1, 2};
    assert_true(players_perform(t, t->warps, lanes, WARPS, play));
}

// Every lane's lines once, and in its order.
static void check_lines(const char *lines, size_t len)
{
    uint32_t next[WARPS * LANES] = {0}, count = 0;
    for (const char *at = lines; at < lines + len; count++) {
        char wanted[80];
        uint32_t who = (uint32_t)strtoul(at + 1, NULL, 10);
        assert_true(who < WARPS * LANES);
        uint64_t n = next[who]++;
        size_t size = (size_t)snprintf(wanted, sizeof wanted, "<%u %llu %.1f %u>\n", who,
                                       (unsigned long long)(n << 33), (double)n * 0.5, who + 1);
        assert_true(size <= len - (size_t)(at - lines) && !memcmp(at, wanted, size));
        at += size;
    }
    assert_int_equal(count, (LANES + 1 + 2) * LINES);
}

TEST(printed_lines_come_once_and_whole)
{
    stage *t = stage_new();
    pthread_t reader;
    void *read = NULL;
    assert_int_equal(pthread_create(&reader, NULL, reader_main, t), 0);
    perform(t);
    __atomic_store_n(&t->is_over, 1, __ATOMIC_RELEASE);
    pthread_join(reader, &read);
    print_out *out = read;
    assert_non_null(out);
    check_lines(out->at, out->len);
    print_free(out);
    free(out);
    kiln_close(t->k);
    free(t);
}

TEST(printed_lines_that_find_no_room_are_counted)
{
    stage *t = stage_new();
    print_out out = {0};
    t->channel.tail = 0; // nobody reads
    perform(t);
    uint32_t end = t->channel.position < CAPACITY ? t->channel.position : CAPACITY, there = 0;
    channel_format_lines(t->m, t->ring, end, &out);
    for (size_t n = 0; n < out.len; n++)
        there += out.at[n] == '\n';
    assert_true(there > 10 && out.at[out.len - 1] == '\n');
    assert_int_equal(there + t->channel.dropped, (LANES + 1 + 2) * LINES);
    print_free(&out);
    kiln_close(t->k);
    free(t);
}

TEST(printed_lines_that_nobody_reads_end_the_wait)
{
    stage *t = stage_new();
    print_out out = {0};
    uint32_t there = 0;
    perform(t); // with a tail, and no reader
    for (uint64_t at = 1, next = 0; next != at; next = read_some(t, at, &out))
        at = next;
    for (size_t n = 0; n < out.len; n++)
        there += out.at[n] == '\n';
    assert_true(there > 10);
    assert_int_equal(there + t->channel.dropped, (LANES + 1 + 2) * LINES);
    print_free(&out);
    kiln_close(t->k);
    free(t);
}

TEST(packed_lines_are_not_trusted)
{
    stage *t = stage_new();
    static const channel_lines wrong[] = {
        {CHANNEL_PACKED | 16, 0, 1, 0}, {CHANNEL_PACKED | 48, 1, 1, 0},
        {CHANNEL_PACKED | 48, 0, 0, 0}, {CHANNEL_PACKED | 48, 0, 33, 0},
        {CHANNEL_PACKED | 56, 0, 1, 0}, {CHANNEL_PACKED | 0x3ffffff8, 0, 1, 0},
        {CHANNEL_PACKED, 0, 1, 0}};
    for (size_t n = 0; n < COUNT(wrong); n++) {
        print_out out = {0};
        memcpy(t->ring, &wrong[n], sizeof wrong[n]);
        channel_format_lines(t->m, t->ring, CAPACITY, &out);
        assert_int_equal(out.len, 0);
        print_free(&out);
    }
    print_out out = {0};
    channel_lines right = {CHANNEL_PACKED | 48, 0, 1, 0};
    memset(t->ring, 0, CAPACITY);
    memcpy(t->ring, &right, sizeof right);
    channel_format_lines(t->m, t->ring, CAPACITY, &out);
    assert_true(out.len == strlen("<0 0 0.0 0>\n") && !memcmp(out.at, "<0 0 0.0 0>\n", out.len));
    print_free(&out);
    kiln_close(t->k);
    free(t);
}
