// The kernels of kernel.c on a device, against the host's side of the protocol in a thread: the
// GPU's source after Kiln's compiler, calling a host that serves while they run.   live DEVICE The
// mailboxes are memory of the host, so a GPU can run this, too.
#include <pthread.h>

#include "rt/channel/mailbox_host.h"
#include "tests/api/api.h"

enum { BOXES = 3, N = 700, LINES = 192, BLOCKS = 5 };

typedef struct service {
    mailbox *boxes;
    mailbox_rows *rows;
    uint64_t state, beat[8], *arena;
    mailbox_taken taken[BOXES];
    uint32_t looked_up[N], told[LINES], turned, wrong; // by the host's thread alone
} service;

static uint32_t kind_of(void *unused, uint32_t function)
{
    (void)unused;
    static const uint32_t kinds[] = {0, MAILBOX_KIND(1, 2, 2), MAILBOX_KIND(2, 1, 0),
                                     MAILBOX_KIND(3, 1, 1) | MAILBOX_IS_BULK};
    return function < 4 ? kinds[function] : 0;
}

static bool serve(void *user, mailbox_packet *call)
{
    service *s = user;
    uint64_t *slice = s->arena + 32 * (call->box - s->boxes);
    for (uint32_t l = 0; l < MAILBOX_LANES; l++) {
        uint32_t first = call->words[0][l], second = call->words[1][l];
        if (!(call->lanes >> l & 1))
            continue;
        switch (MAILBOX_FUNCTION(call->kind)) {
        case 1:
            s->wrong += second >= N || !(first & 1);
            s->looked_up[second % N]++;
            call->words[1][l] = first * 3 + second;
            break;
        case 2:
            s->wrong += first >= LINES || l >= 7;
            s->told[first % LINES]++;
            break;
        default:
            s->wrong += first != l || slice[l] % 32 != l;
            s->turned++;
            slice[l] = ~slice[l];
        }
        call->words[0][l] = MAILBOX_OK;
    }
    return true;
}

static void *host_main(void *user)
{
    static mailbox_packet call;
    service *s = user;
    mailbox_functions functions = {kind_of, serve, s};
    mailbox_host host = {s->boxes, s->rows, s->taken,   &s->state, s->beat,
                         0,        BOXES,   &functions, false};
    mailbox_host_start(&host);
    mailbox_run(&host, &call);
    return NULL;
}

static kiln_buffer *wrapped(kiln *k, void *at, kiln_type type, size_t element_size, size_t count)
{
    kiln_wrap_desc desc;
    kiln_buffer *b = NULL;
    memset(&desc, 0, sizeof desc);
    desc.type = type;
    desc.element_size = element_size;
    desc.count = count;
    desc.host = at;
    CHECK(!kiln_buffer_wrap(k, &desc, &b));
    return b;
}

// Objects of any size at any address through the ring, nothing else.
static void test_ring(kiln *k)
{
    enum { ROOM = 250000 };
    static const uint32_t cases[][2] = {{100000, 0}, {100001, 3}, {4096, 15}, {5, 7},
                                        {20, 9},     {40000, 1},  {16, 0},    {65543, 8}};
    static uint8_t from[ROOM], to[ROOM];
    kiln_module *m = NULL;
    kiln_buffer *from_buffer, *to_buffer, *missed;
    kiln_compile_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.path = "tests/model/ring.c";
    CHECK(!kiln_compile(k, &desc, &m));
    CHECK(!kiln_buffer_new(k, KILN_U8, ROOM, &from_buffer));
    CHECK(!kiln_buffer_new(k, KILN_U8, ROOM, &to_buffer));
    CHECK(!kiln_buffer_new(k, KILN_U32, 1, &missed));
    for (uint32_t i = 0; i < ROOM; i++)
        from[i] = (uint8_t)(i * 7 + i / 256 + 1);
    CHECK(!kiln_write(from_buffer, 0, from, ROOM));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        uint32_t n = cases[c][0], at = cases[c][1], wrong = 0, none = 0;
        memset(to, 0, ROOM);
        CHECK(!kiln_write(to_buffer, 0, to, ROOM) && !kiln_write(missed, 0, &none, 1));
        kiln_arg args[5] = {kiln_arg_buffer(to_buffer), kiln_arg_buffer(from_buffer),
                            kiln_arg_i64(KILN_U32, n), kiln_arg_i64(KILN_U32, at),
                            kiln_arg_buffer(missed)};
        CHECK(!api_launch(api_kernel(m, "through_ring"), 1, 0, args, 5) && !kiln_sync(k));
        CHECK(!kiln_read(to_buffer, 0, to, ROOM) && !kiln_read(missed, 0, &none, 1) && none == 0);
        for (uint32_t i = 0; i < ROOM; i++) {
            uint32_t second = at + n + 48;
            bool is_in = (i >= at && i < at + n) || (i >= second && i < second + n);
            wrong += to[i] != (is_in ? from[i] : 0);
        }
        CHECK(wrong == 0);
    }
    kiln_buffer_free(from_buffer);
    kiln_buffer_free(to_buffer);
    kiln_buffer_free(missed);
}

int main(int argc, char **argv)
{
    kiln *k = api_open(argc > 1 ? argv[1] : "interp");
    service *s = calloc(1, sizeof *s);
    mailbox *boxes = aligned_alloc(4096, (BOXES * sizeof *boxes + 4095) / 4096 * 4096);
    mailbox_rows *rows = aligned_alloc(4096, (BOXES * sizeof *rows + 4095) / 4096 * 4096);
    uint64_t *arena = aligned_alloc(4096, 4096), zero[BOXES + 1] = {0}, sum[32 * BLOCKS];
    uint32_t keys[N], found[N];
    int32_t status[N];
    pthread_t thread;
    if (!s || !boxes || !rows || !arena)
        return 1;
    memset(boxes, 0, BOXES * sizeof *boxes);
    memset(rows, 0, BOXES * sizeof *rows);
    memset(arena, 0, 4096);
    s->boxes = boxes;
    s->rows = rows;
    s->arena = arena;
    for (uint32_t i = 0; i < N; i++)
        keys[i] = i * 2654435761u >> 7;

    kiln_compile_desc desc;
    kiln_module *m = NULL;
    memset(&desc, 0, sizeof desc);
    desc.path = "tests/model/kernel.c";
    CHECK(!kiln_compile(k, &desc, &m));
    kiln_buffer *own, *key_buffer, *found_buffer, *status_buffer, *sum_buffer;
    kiln_buffer *box_buffer = wrapped(k, boxes, KILN_VOID, sizeof *boxes, BOXES);
    kiln_buffer *row_buffer = wrapped(k, rows, KILN_VOID, sizeof *rows, BOXES);
    kiln_buffer *arena_buffer = wrapped(k, arena, KILN_U64, 0, 512);
    kiln_buffer *beat_buffer = wrapped(k, s->beat, KILN_U64, 0, 1);
    CHECK(!kiln_buffer_new(k, KILN_U64, BOXES + 1, &own));
    CHECK(!kiln_buffer_new(k, KILN_U32, N, &key_buffer));
    CHECK(!kiln_buffer_new(k, KILN_U32, N, &found_buffer));
    CHECK(!kiln_buffer_new(k, KILN_I32, N, &status_buffer));
    CHECK(!kiln_buffer_new(k, KILN_U64, 32 * BLOCKS, &sum_buffer));
    CHECK(!kiln_write(own, 0, zero, BOXES + 1) && !kiln_write(key_buffer, 0, keys, N));
    if (api_failed || pthread_create(&thread, NULL, host_main, s))
        return 1;

    kiln_arg args[9] = {
        kiln_arg_buffer(box_buffer),   kiln_arg_buffer(row_buffer),    kiln_arg_buffer(own),
        kiln_arg_buffer(beat_buffer),  kiln_arg_i64(KILN_U32, BOXES),  kiln_arg_buffer(key_buffer),
        kiln_arg_buffer(found_buffer), kiln_arg_buffer(status_buffer), kiln_arg_i64(KILN_U32, N)};
    CHECK(!api_launch(api_kernel(m, "look_up"), (N + 127) / 128, 0, args, 9));
    CHECK(!kiln_sync(k) && !kiln_read(found_buffer, 0, found, N));
    CHECK(!kiln_read(status_buffer, 0, status, N));
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < N; i++)
        wrong += status[i] != 0 || found[i] != (keys[i] & 1 ? keys[i] * 3 + i : 0);
    CHECK(wrong == 0);

    args[5] = kiln_arg_buffer(status_buffer);
    CHECK(!api_launch(api_kernel(m, "log_all"), LINES / 64, 0, args, 6));
    args[5] = kiln_arg_buffer(arena_buffer);
    args[6] = kiln_arg_buffer(sum_buffer);
    CHECK(!api_launch(api_kernel(m, "transform"), BLOCKS, 0, args, 7));
    CHECK(!kiln_sync(k) && !kiln_read(sum_buffer, 0, sum, 32 * BLOCKS));
    for (uint64_t i = 0; i < 32 * BLOCKS; i++)
        wrong += sum[i] != ~i;
    CHECK(wrong == 0);

    mailbox_stop(&s->state); // what was sent is served before it stops
    pthread_join(thread, NULL);
    CHECK(s->wrong == 0 && s->turned == 32 * BLOCKS);
    for (uint32_t i = 0; i < N; i++)
        wrong += s->looked_up[i] != (keys[i] & 1);
    for (uint32_t i = 0; i < LINES; i++)
        wrong += s->told[i] != (i % 32 < 7);
    CHECK(wrong == 0);
    kiln_device_info info;
    CHECK(!kiln_device_info_of(k, &info));
    if (info.caps.has_tensor_copies) // then it has bulk copies, too
        test_ring(k);
    kiln_close(k);
    free(s);
    free(boxes);
    free(rows);
    free(arena);
    return api_done("model-live");
}
