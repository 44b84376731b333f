// Reads, writes and accepts of several lanes at once: nobody waits for another one's peer, the
// order of the lanes is kept on one socket, and every end of a wait is told. By io_uring and
// without.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/test.h"

#include "rt/io/io.h"

enum { LANES = 8, BYTES = 64 };

typedef struct stage {
    kiln *k;
    io_state *s;
    int32_t handle[LANES]; // of kernels
    int peer[LANES];       // the other ends
    int64_t n[LANES], result[LANES];
    int32_t accepted[LANES], timeout;
    char bytes[LANES][BYTES];
    void *args[LANES][3];
    kiln_host_call calls[LANES];
} stage;

static void stage_start(stage *t, bool is_plain)
{
    memset(t, 0, sizeof *t);
    setenv("KILN_IO", is_plain ? "plain" : "ring", 1);
    assert_int_equal(kiln_open("interp", &t->k), 0);
    t->s = io_of(t->k);
    assert_non_null(t->s);
    for (int l = 0; l < LANES; l++) {
        int both[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, both), 0);
        t->handle[l] = io_add(t->s, IO_STREAM, both[0], NULL);
        t->peer[l] = both[1];
        assert_true(t->handle[l] > 2);
        t->n[l] = BYTES;
        void *args[3] = {&t->handle[l], t->bytes[l], &t->n[l]};
        memcpy(t->args[l], args, sizeof args);
        t->calls[l] = (kiln_host_call){.args = t->args[l], .result = &t->result[l]};
    }
}

static void stage_end(stage *t)
{
    for (int l = 0; l < LANES; l++)
        if (t->peer[l] >= 0)
            close(t->peer[l]);
    kiln_close(t->k);
    unsetenv("KILN_IO");
}

static void set_timeout(stage *t, int lane, int write, int32_t ms)
{
    io_handle *h = io_take(t->s, t->handle[lane], 1u << IO_STREAM);
    assert_non_null(h);
    h->timeout_ms[write] = ms;
    io_give(t->s, h);
}

// The peers answer in the other order, each when the one before it was read: lane after lane would
// never end.
static void *peers_answer(void *user)
{
    stage *t = user;
    for (int l = LANES - 1; l >= 0; l--) {
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        if (l == 3) {
            close(t->peer[l]); // the end of what it says
            t->peer[l] = -1;
        } else if (l != 5 &&
                   write(t->peer[l], "hello", (size_t)l + 1 > 5 ? 5 : (size_t)l + 1) < 1) {
            return user;
        }
    }
    return NULL;
}

static void reads(bool is_plain)
{
    stage t;
    pthread_t peers;
    void *failed = NULL;
    stage_start(&t, is_plain);
    set_timeout(&t, 5, 0, 40); // its peer says nothing
    t.n[6] = -1;
    int32_t good = t.handle[7];
    t.handle[7] = 12345 << 8;
    assert_int_equal(pthread_create(&peers, NULL, peers_answer, &t), 0);
    io_read_together(t.s, t.calls, LANES);
    pthread_join(peers, &failed);
    assert_null(failed);
    static const int64_t wanted[LANES] = {1, 2, 3, 0, 5, -ETIMEDOUT, -EINVAL, -EBADF};
    for (int l = 0; l < LANES; l++) {
        assert_int_equal(t.result[l], wanted[l]);
        if (wanted[l] > 0)
            assert_memory_equal(t.bytes[l], "hello", (size_t)wanted[l]);
    }
    t.handle[7] = good;
    stage_end(&t);
}

static void writes(bool is_plain)
{
    stage t;
    char got[BYTES * LANES];
    stage_start(&t, is_plain);
    for (int l = 0; l < LANES; l++) {
        memset(t.bytes[l], 'a' + l, BYTES);
        t.n[l] = 3;
    }
    close(t.peer[2]);
    t.peer[2] = -1; // nobody is there: an error, no signal
    for (int l = 4; l < LANES; l++)
        t.args[l][0] = &t.handle[4]; // all to one: in their order
    t.n[7] = 0;
    io_write_together(t.s, t.calls, LANES);
    for (int l = 0; l < LANES; l++)
        assert_int_equal(t.result[l], l == 2 ? -EPIPE : t.n[l]);
    assert_int_equal(read(t.peer[0], got, sizeof got), 3);
    assert_memory_equal(got, "aaa", 3);
    assert_int_equal(read(t.peer[4], got, sizeof got), 9);
    assert_memory_equal(got, "eeefffggg", 9);
    // A peer that reads nothing: full, and then its time is over.
    set_timeout(&t, 1, 1, 20);
    t.n[1] = BYTES;
    for (int n = 0; n < 1000000 && t.result[1] > 0; n++)
        io_write_together(t.s, &t.calls[1], 1);
    assert_int_equal(t.result[1], -ETIMEDOUT);
    stage_end(&t);
}

static void *cancel_soon(void *user)
{
    nanosleep(&(struct timespec){0, 10000000}, NULL);
    __atomic_store_n(&((stage *)user)->k->cancel, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void cancelled(bool is_plain)
{
    stage t;
    pthread_t other;
    stage_start(&t, is_plain);
    assert_int_equal(write(t.peer[0], "x", 1), 1);
    assert_int_equal(pthread_create(&other, NULL, cancel_soon, &t), 0);
    io_read_together(t.s, t.calls, 3);
    pthread_join(other, NULL);
    assert_int_equal(t.result[0], 1);
    assert_int_equal(t.result[1], -ECANCELED);
    assert_int_equal(t.result[2], -ECANCELED);
    stage_end(&t);
}

static void accepts(bool is_plain)
{
    stage t;
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof here;
    stage_start(&t, is_plain);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), clients[2];
    assert_int_equal(bind(listener, (const void *)&here, size), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (void *)&here, &size), 0);
    int32_t handle = io_add(t.s, IO_LISTENER, listener, NULL);
    for (int n = 0; n < 2; n++) {
        clients[n] = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(connect(clients[n], (const void *)&here, size), 0);
    }
    t.timeout = 60;
    for (int l = 0; l < 3; l++) {
        t.args[l][0] = l == 2 ? &t.handle[0] : &handle; // of no listener
        t.args[l][1] = &t.timeout;
        t.calls[l].result = &t.accepted[l];
    }
    io_accept_together(t.s, t.calls, 3);
    assert_true(t.accepted[0] > 2 && t.accepted[1] > 2 && t.accepted[0] != t.accepted[1]);
    assert_int_equal(t.accepted[2], -EBADF);
    assert_int_equal(write(clients[0], "a", 1), 1);
    assert_int_equal(write(clients[1], "b", 1), 1);
    for (int l = 0; l < 2; l++) {
        t.args[l][0] = &t.accepted[l];
        t.args[l][1] = t.bytes[l];
        t.calls[l].result = &t.result[l];
    }
    io_read_together(t.s, t.calls, 2);
    assert_int_equal(t.bytes[0][0] + t.bytes[1][0], 'a' + 'b');
    t.args[0][0] = t.args[1][0] = &handle; // nobody comes any more
    t.args[0][1] = t.args[1][1] = &t.timeout;
    t.calls[0].result = &t.accepted[0];
    t.calls[1].result = &t.accepted[1];
    io_accept_together(t.s, t.calls, 2);
    assert_int_equal(t.accepted[0], -ETIMEDOUT);
    assert_int_equal(t.accepted[1], -ETIMEDOUT);
    close(clients[0]);
    close(clients[1]);
    stage_end(&t);
}

// A pipe is no socket: it goes its own way.
static void pipes(bool is_plain)
{
    stage t;
    int both[2];
    stage_start(&t, is_plain);
    assert_int_equal(pipe(both), 0);
    int32_t handle = io_add(t.s, IO_STREAM, both[0], NULL);
    assert_int_equal(write(both[1], "pipe", 4), 4);
    assert_int_equal(write(t.peer[1], "socket", 6), 6);
    t.args[0][0] = &handle;
    io_read_together(t.s, t.calls, 2);
    assert_int_equal(t.result[0], 4);
    assert_int_equal(t.result[1], 6);
    close(both[1]);
    stage_end(&t);
}

// Lanes that name one file, two by turns, or none.
static void files(bool is_plain)
{
    enum { FILES = 2 };
    static const int of[LANES] = {0, 0, 1, 0, -1, 1, 1, 0};
    stage t;
    int32_t files[FILES], none = 12345 << 8;
    int64_t offsets[LANES];
    void *args[LANES][4];
    stage_start(&t, is_plain);
    for (int f = 0; f < FILES; f++) {
        char name[] = "/tmp/kiln-unit-XXXXXX", same[BYTES];
        int fd = mkstemp(name);
        memset(same, 'a' + f, sizeof same);
        assert_true(fd >= 0 && write(fd, same, sizeof same) == (ssize_t)sizeof same);
        unlink(name);
        files[f] = io_add(t.s, IO_FILE, fd, NULL);
    }
    for (int l = 0; l < LANES; l++) {
        offsets[l] = l == 6 ? -1 : 8 * l;
        t.n[l] = 8;
        args[l][0] = of[l] < 0 ? &none : &files[of[l]];
        args[l][1] = t.bytes[l];
        args[l][2] = &t.n[l];
        args[l][3] = &offsets[l];
        t.calls[l].args = args[l];
    }
    io_pread_together(t.s, t.calls, LANES);
    for (int l = 0; l < LANES; l++) {
        assert_int_equal(t.result[l], of[l] < 0 ? -EBADF : l == 6 ? -EINVAL : 8);
        assert_int_equal(t.bytes[l][7], t.result[l] == 8 ? 'a' + of[l] : 0);
    }
    for (int f = 0; f < FILES; f++) { // nobody has it any more
        const io_handle *h = io_take(t.s, files[f], 1u << IO_FILE);
        assert_int_equal(h->users, 1);
        io_give(t.s, (io_handle *)(uintptr_t)h);
        assert_int_equal(io_close(t.s, files[f]), 0);
        assert_null(io_take(t.s, files[f], 1u << IO_FILE));
    }
    stage_end(&t);
}

TEST(io_together_takes_each_file_once)
{
    files(false);
    files(true);
}

TEST(io_together_waits_for_all_lanes_at_once)
{
    for (int is_plain = 0; is_plain < 2; is_plain++) {
        reads(is_plain);
        writes(is_plain);
        cancelled(is_plain);
        accepts(is_plain);
        pipes(is_plain);
    }
}

// Who waits for a datagram that another one has taken waits on.
enum { READERS = 4, EACH = 40 };

typedef struct reader {
    io_state *s;
    int32_t handle;
    int wrong;
} reader;

static void *receive_each(void *user)
{
    reader *r = user;
    char bytes[BYTES];
    uint8_t peer[24];
    int64_t n = BYTES, result = 0;
    void *args[4] = {&r->handle, bytes, &n, peer};
    kiln_host_call call = {.args = args, .result = &result};
    for (int times = 0; times < EACH; times++) {
        service_receive_from(r->s, &call);
        r->wrong += result != 5;
    }
    return NULL;
}

TEST(readers_of_one_datagram_socket_each_get_one)
{
    kiln *k;
    assert_int_equal(kiln_open("interp", &k), 0);
    io_state *s = io_of(k);
    pthread_t threads[READERS];
    reader readers[READERS];
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), from = socket(AF_INET, SOCK_DGRAM, 0);
    assert_true(fd >= 0 && from >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    int32_t handle = io_add(s, IO_DATAGRAM, fd, NULL);
    for (int n = 0; n < READERS; n++) {
        readers[n] = (reader){.s = s, .handle = handle};
        assert_int_equal(pthread_create(&threads[n], NULL, receive_each, &readers[n]), 0);
    }
    for (int times = 0; times < READERS * EACH; times++) {
        nanosleep(&(struct timespec){0, 200000}, NULL); // all of them wait
        assert_int_equal(sendto(from, "hello", 5, 0, (struct sockaddr *)&at, size), 5);
    }
    for (int n = 0; n < READERS; n++) {
        pthread_join(threads[n], NULL);
        assert_int_equal(readers[n].wrong, 0);
    }
    close(from);
    kiln_close(k);
}
