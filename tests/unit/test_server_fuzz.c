// Nonsense in mailboxes. Random requests: the server answers them, functions get arguments that
// hold together, and calls that make sense are served in between. Random replies: the caller's side
// comes to an end and touches nothing but its objects. AddressSanitizer runs this, too.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/played.h"
#include "tests/test.h"

#include "rt/channel/server.h"

static const char source[] =
    "#include <kiln/kernel.h>\n"
    "host i32 twice(i32 x);\n"
    "host no_wait void tell(u32 who, counted(n) const u16 *text, u32 n);\n"
    "host i64 turn(counted(n) u8 *bytes, i64 n, counted(m) const u8 *more, i64 m);\n"
    "host per_warp i64 flip(counted(n) u8 *bytes, i64 n, counted(m) const u8 *more, i64 m);\n"
    "host u32x4 four(u32x4 x);\n"
    "kernel block(32) void all(i32 *out, u8 *bytes, const u16 *text) {\n"
    "    out[0] = twice(3); tell(2, text, 3); turn(bytes, 1, bytes, 2); flip(bytes, 3, bytes, 1);\n"
    "    u32x4 x; x.x = x.y = x.z = x.w = 1u; out[1] = (i32)four(x).y;\n"
    "}\n";

enum { BOXES = 20, REQUESTS = 6000, REPLIES = 3000, OF_GPU = 40000 };

typedef struct fuzz {
    kiln *k;
    kiln_module *m;
    server *s;
    server_place place;
    uint32_t first, random;
    uint32_t made, sum; // atomic; sum: so that bytes are read
    uint8_t memory[OF_GPU];
} fuzz;

static uint32_t draw(fuzz *f, uint32_t below)
{
    f->random ^= f->random << 13, f->random ^= f->random >> 17, f->random ^= f->random << 5;
    return f->random % below;
}
// Any number; most are small, or at an edge.
static uint32_t draw_any(fuzz *f)
{
    static const uint32_t edges[] = {0,
                                     1,
                                     15,
                                     16,
                                     17,
                                     4095,
                                     4096,
                                     5000,
                                     MAILBOX_DATA,
                                     MAILBOX_DATA + 16,
                                     MAILBOX_WIDE,
                                     1024,
                                     UINT32_MAX,
                                     INT32_MAX,
                                     MAILBOX_MOST_BYTES};
    uint32_t any = draw(f, UINT32_MAX), how = draw(f, 4);
    return how == 0   ? any
           : how == 1 ? any % 64 * 16
           : how == 2 ? any % 100
                      : edges[any % COUNT(edges)];
}

static void read_bytes(fuzz *f, const uint8_t *bytes, int64_t n)
{
    uint32_t sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += bytes[k];
    __atomic_fetch_add(&f->sum, sum, __ATOMIC_RELAXED);
}
static void on_twice(void *user, const kiln_host_call *call)
{
    (void)user;
    *(uint32_t *)call->result = 2 * *(uint32_t *)call->args[0];
}
static void on_tell(void *user, const kiln_host_call *call)
{
    __atomic_fetch_add(&((fuzz *)user)->made, 1, __ATOMIC_RELAXED);
    read_bytes(user, call->args[1], 2 * (int64_t) * (uint32_t *)call->args[2]);
}
static void on_turn(void *user, const kiln_host_call *call)
{
    uint8_t *bytes = call->args[0];
    int64_t n = *(int64_t *)call->args[1];
    __atomic_fetch_add(&((fuzz *)user)->made, 1, __ATOMIC_RELAXED);
    read_bytes(user, call->args[2], *(int64_t *)call->args[3]);
    for (int64_t k = 0; k < n; k++)
        bytes[k] = (uint8_t)~bytes[k];
    *(int64_t *)call->result = n;
}
static void on_four(void *user, const kiln_host_call *call)
{
    (void)user;
    memcpy(call->result, call->args[0], 16);
}

static bool has_far(void *user, uint64_t at, size_t bytes)
{
    uintptr_t from = (uintptr_t)((fuzz *)user)->memory;
    return at >= from && at - from <= OF_GPU && bytes <= OF_GPU - (at - from);
}
static bool copy_far(void *user, void *host, uint64_t at, size_t bytes, bool is_to_gpu)
{
    void *of_gpu = (void *)(uintptr_t)at;
    (void)user;
    memcpy(is_to_gpu ? of_gpu : host, is_to_gpu ? host : of_gpu, bytes);
    return true;
}
static void *take_far(void *user, size_t bytes)
{
    (void)user;
    return malloc(bytes);
}
static void give_far(void *user, void *at, size_t bytes)
{
    (void)user, (void)bytes;
    free(at);
}

static fuzz *fuzz_new(uint32_t seed)
{
    static const struct {
        const char *name;
        kiln_host_function *call;
    } rows[] = {{"twice", on_twice},
                {"tell", on_tell},
                {"turn", on_turn},
                {"flip", on_turn},
                {"four", on_four}};
    static server_far far;
    fuzz *f = calloc(1, sizeof *f);
    kiln_kernel *kernel = NULL;
    assert_non_null(f);
    f->random = seed;
    far = (server_far){has_far, copy_far, take_far, give_far, f};
    assert_int_equal(kiln_open("interp", &f->k), 0);
    assert_int_equal(
        kiln_compile(f->k, &(kiln_compile_desc){.path = "t.c", .source = source}, &f->m), 0);
    for (size_t n = 0; n < COUNT(rows); n++)
        assert_int_equal(kiln_host_register(f->k, &(kiln_host_desc){.name = rows[n].name,
                                                                    .call = rows[n].call,
                                                                    .user = f,
                                                                    .is_concurrent = true}),
                         0);
    assert_int_equal(kiln_module_kernel(f->m, "all", &kernel), 0);
    assert_int_equal(host_check(kernel), 0);
    size_t wide = (size_t)MAILBOX_WIDE_ALL;
    uint8_t *data = calloc(1, wide + (size_t)BOXES * MAILBOX_DATA);
    assert_non_null(data);
    f->place = (server_place){.boxes = calloc(BOXES, sizeof(mailbox)),
                              .rows = aligned_alloc(64, BOXES * sizeof(mailbox_rows)),
                              .data = (uint64_t *)(void *)(data + wide),
                              .beat = calloc(8, 8),
                              .count = BOXES,
                              .far = &far,
                              .threads = 2};
    assert_true(f->place.boxes && f->place.rows && f->place.beat);
    memset(f->place.rows, 0, BOXES * sizeof(mailbox_rows));
    f->s = server_new(f->k, &f->place);
    assert_non_null(f->s);
    f->first = server_add(f->s, f->m);
    return f;
}

static void fuzz_free(fuzz *f)
{
    server_remove(f->s, f->m);
    server_free(f->s);
    free(f->place.boxes);
    free(f->place.rows);
    free(mailbox_wide(f->place.data, MAILBOX_WIDE_BOXES - 1));
    free(f->place.beat);
    kiln_close(f->k);
    free(f);
}

// --- requests
// A kind that a function of the module has, or one that is off by something.
static uint32_t draw_kind(fuzz *f, uint32_t *counted)
{
    serve_row row;
    uint32_t site = draw(f, f->m->site_count);
    *counted = 0;
    if (!serve_row_init(&row, f->m, site, f->first + site * MAILBOX_SITE))
        return draw_any(f);
    uint32_t what = row.rows.counted ? draw(f, 8) : 0, kind = row.kinds[what < 3 ? what : 0];
    *counted = row.rows.counted;
    return draw(f, 8) ? kind : kind ^ UINT32_C(1) << draw(f, 32);
}

// Records of large objects among the bytes: addresses that exist and others.
static void fill_slice(fuzz *f, uint64_t *slice, uint32_t len)
{
    for (uint32_t w = 0; w < MAILBOX_DATA / 8; w += 1 + draw(f, 64))
        slice[w] = draw_any(f);
    for (uint32_t n = 0; n < 2; n++) {
        slice[2 * n] = draw(f, 4) ? (uintptr_t)f->memory + draw(f, OF_GPU) : draw_any(f);
        slice[2 * n + 1] =
            (draw(f, 4) ? len : draw_any(f)) | (uint64_t)(draw(f, 2) ? draw_any(f) : 0) << 32;
    }
}

// Words that belong together, as far as chance has it.
static void fill_rows(fuzz *f, uint32_t b, uint32_t number, uint32_t lanes, uint32_t rows,
                      uint32_t counted)
{
    mailbox_rows *to = &f->place.rows[b];
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint32_t l = word_lowest(left), len = draw_any(f), more = draw_any(f);
        uint32_t far = draw(f, 2) ? draw(f, 4) : 0, sent = (far & 1 ? 16 : mailbox_padded(len)) +
                                                           (far & 2 ? 16 : mailbox_padded(more));
        for (uint32_t r = 0; r < rows; r++) {
            uint32_t bits = draw_any(f);
            if (counted == 2 && r < 6 && draw(f, 16)) // bytes, n, bytes, m
                bits = r % 3 == 2 ? 0 : r < 3 ? len : more;
            if (counted == 2 && r + 2 == rows && draw(f, 16))
                bits = MAILBOX_START | far << MAILBOX_FAR_AT | (draw(f, 8) ? 0 : draw_any(f));
            if (counted == 2 && r + 1 == rows && draw(f, 16))
                bits = sent;
            word_store(&to->request[r][l], mailbox_word(number, bits));
        }
        if (counted)
            fill_slice(f, f->place.data + (size_t)b * (MAILBOX_DATA / 8), len);
    }
}

static void post(fuzz *f, uint32_t b, uint32_t number, uint32_t lanes, uint32_t kind)
{
    mailbox *box = &f->place.boxes[b];
    for (uint32_t n = 0; n < MAILBOX_WHO; n++)
        word_store(&box->who[n], mailbox_word(number, draw_any(f)));
    word_fence();
    word_store(&box->header[0], mailbox_word(number, lanes));
    word_store_release(&box->header[1], mailbox_word(number, kind));
}

static bool is_answered(const fuzz *f, uint32_t b, uint32_t number)
{
    for (uint32_t looks = 0; looks < 20000; looks++) {
        if (word_load_acquire(&f->place.boxes[b].done) == number)
            return true;
        if (looks > 100)
            nanosleep(&(struct timespec){0, 100000}, NULL);
    }
    return false;
}

TEST(random_requests_are_answered)
{
    fuzz *f = fuzz_new(2463534242u);
    uint32_t numbers[BOXES] = {0}, twice = 0;
    serve_row row;
    for (uint32_t n = 0; n < f->m->site_count; n++)
        if (serve_row_init(&row, f->m, n, f->first + n * MAILBOX_SITE) &&
            str_starts(row.shape.name, "twice"))
            twice = row.kinds[MAILBOX_SITE_CALL];
    assert_true(server_wake(f->s, BOXES));
    for (uint32_t n = 0; n < REQUESTS; n++) {
        uint32_t b = draw(f, BOXES), lanes = draw(f, 3) ? 1u << draw(f, 32) : draw_any(f), counted;
        uint32_t kind = draw_kind(f, &counted);
        lanes |= draw(f, 8) ? 1 : 0;
        numbers[b] = mailbox_after(numbers[b]);
        fill_rows(f, b, numbers[b], lanes, MAILBOX_ROWS_OUT(kind) % MAILBOX_ROWS, counted);
        post(f, b, numbers[b], lanes, kind);
        if (!is_answered(f, b, numbers[b]))
            fail_msg("request %u: kind %x, lanes %x", n, kind, lanes);
        if (n % 50)
            continue;
        numbers[b] = mailbox_after(numbers[b]);
        word_store(&f->place.rows[b].request[0][7], mailbox_word(numbers[b], n));
        post(f, b, numbers[b], 1u << 7, twice);
        assert_true(is_answered(f, b, numbers[b]));
        assert_true(word_load(&f->place.rows[b].reply[0][7]) == mailbox_word(numbers[b], 2 * n));
    }
    assert_true(f->made > REQUESTS / 20); // of those with objects enough made sense
    server_rest(f->s);
    fuzz_free(f);
}

// --- replies
MAILBOX_CARRY(call_turn, 8, 5, false, MAILBOX_HAS_WHO, 2, true, true)

typedef struct liar {
    fuzz *f;
    mailbox_calls calls;
    uint64_t own[BOXES + 1];
    uint32_t is_over; // atomic
} liar;

// Answers every call with random words, which have the right number, at last.
static void *liar_main(void *user)
{
    liar *a = user;
    fuzz *f = a->f;
    uint32_t taken[BOXES] = {0};
    for (uint32_t idle = 0; !__atomic_load_n(&a->is_over, __ATOMIC_ACQUIRE); idle++) {
        for (uint32_t b = 0; b < BOXES; b++) {
            uint64_t second = word_load_acquire(&f->place.boxes[b].header[1]);
            uint32_t number = mailbox_number(second);
            if (number == taken[b])
                continue;
            taken[b] = number;
            idle = 0;
            uint32_t rows = mailbox_replies(MAILBOX_ROWS_IN(mailbox_bits(second)));
            bool is_failed = !draw(f, 4);
            for (uint32_t r = 0; r < rows; r++)
                word_store(&f->place.rows[b].reply[r][0],
                           mailbox_word(number | (is_failed ? MAILBOX_FAILED : 0), draw_any(f)));
            word_store_release(&f->place.boxes[b].done, (uint64_t)number);
        }
        if (idle > 50)
            nanosleep(&(struct timespec){0, 20000}, NULL);
    }
    return NULL;
}

TEST(random_replies_end_and_touch_nothing_else)
{
    enum { ROOM = 3 * MAILBOX_DATA, EDGE = 64 };
    fuzz *f = fuzz_new(88172645u);
    liar *a = calloc(1, sizeof *a);
    uint8_t *memory = malloc(2 * ROOM);
    played_warp warp = {.count = 1};
    pthread_t thread;
    assert_true(a && memory);
    a->f = f;
    a->calls = (mailbox_calls){.boxes = f->place.boxes,
                               .rows = f->place.rows,
                               .own = a->own,
                               .dead = &a->own[BOXES],
                               .beat = f->place.beat,
                               .data = f->place.data,
                               .silence = UINT64_C(600000000000),
                               .count = BOXES,
                               .first = f->first};
    my_warp = &warp;
    my_lane = 0;
    assert_int_equal(pthread_create(&thread, NULL, liar_main, a), 0);
    uint32_t random = 123456789;
    for (uint32_t n = 0; n < REPLIES; n++) {
        struct {
            uint32_t words[MAILBOX_ROWS];
            mailbox_counted counted[MAILBOX_MOST_COUNTED];
            mailbox_ring ring;
        } frame = {{0}, {{0}}, {0}};
        random ^= random << 13, random ^= random >> 17, random ^= random << 5;
        uint32_t len = random % 3 ? random % 300 : random % (ROOM - 2 * EDGE);
        memset(memory, 0xa5, 2 * ROOM);
        frame.counted[0] = (mailbox_counted){(uintptr_t)memory + EDGE + random / 16 % 16, len, 3};
        frame.counted[1] = (mailbox_counted){(uintptr_t)memory + ROOM, random % 500, 2};
        call_turn(&a->calls, (uintptr_t)&frame, 0, n % BOXES);
        uint64_t from = frame.counted[0].at - (uintptr_t)memory;
        for (uint32_t k = 0; k < 2 * ROOM; k++)
            if (memory[k] != 0xa5 && (k < from || k >= from + len))
                fail_msg("reply %u: byte %u of an object of %u at %u", n, k, len, (uint32_t)from);
    }
    __atomic_store_n(&a->is_over, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    free(memory);
    free(a);
    fuzz_free(f);
}
