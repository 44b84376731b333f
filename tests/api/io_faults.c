// Services whose other side fails: a full disk, a peer that resets, one that says nothing, no
// descriptors left. The kernel gets a number and goes on.     io_faults
#include "api.h"

#include <arpa/inet.h>
#include <errno.h>
#include <kiln/hostcall.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char source[] =
    "#include <kiln/io.h>\n"
    "#include <stdio.h>\n"
    "kernel block(1) void disk(i64 *out) {\n"
    "    static const char full[] = \"/dev/full\";\n"
    "    char text[64];\n"
    "    for (i32 i = 0; i < 64; i++) text[i] = i < 63 ? 'x' : 0;\n"
    "    i32 a = io_open(full, IO_WRITE_ONLY, 0);\n"
    "    out[0] = io_write(a, text, 64);\n"
    "    out[3] = io_close(a);\n"
    "    FILE *f = fopen(full, \"w\");\n"
    "    out[4] = f != NULL;\n"
    "    fputs(text, f);\n"
    "    out[5] = fflush(f) != 0 || ferror(f) != 0;\n"
    "    out[6] = fclose(f);\n"
    "}\n"
    "kernel block(512) void sleeps(i64 *out) {\n" // each lane by itself
    "    i32 result = io_sleep((i64)1 << 60);\n"
    "    if (thread_x() == 0) out[0] = result;\n"
    "}\n"
    "kernel block(512) void waits(i64 *out) {\n"
    "    static const char here[] = \"127.0.0.1\";\n"
    "    shared i32 listener;\n"
    "    if (thread_x() == 0) listener = io_listen(here, 0, 1);\n"
    "    barrier();\n"
    "    i32 result = io_accept(listener, -1);\n"
    "    if (thread_x() == 0) out[0] = result;\n"
    "}\n"
    "kernel block(1) void peers(i64 *out, i32 port) {\n"
    "    static const char here[] = \"127.0.0.1\";\n"
    "    char text[64];\n"
    "    for (i32 i = 0; i < 64; i++) text[i] = 'x';\n"
    "    i32 a = io_connect(here, port, 1000);\n" // it resets the connection after a byte
    "    out[0] = a > 0 && io_write(a, text, 1) == 1;\n"
    "    out[1] = io_read(a, text, 1);\n"
    "    i64 sent = 1;\n"
    "    for (i32 i = 0; i < 100 && sent > 0; i++) sent = io_write(a, text, 64);\n"
    "    out[2] = sent;\n"
    "    i32 b = io_connect(here, port, 1000);\n" // it says nothing
    "    io_option(b, IO_READ_TIMEOUT, 30);\n"
    "    out[3] = io_read(b, text, 1);\n"
    "    out[4] = io_write(b, text, 64);\n"
    "    out[5] = io_close(a) + io_close(b);\n"
    "}\n"
    "kernel block(1) void handles(i64 *out) {\n"
    "    static const char null[] = \"/dev/null\";\n"
    "    i32 last = 0, made = 0, first = 0;\n"
    "    for (i32 i = 0; i < 2000 && last >= 0; i++) {\n"
    "        last = io_open(null, IO_READ_ONLY, 0);\n"
    "        first = i == 0 ? last : first;\n"
    "        made += last >= 0;\n"
    "    }\n"
    "    out[0] = last;\n"
    "    out[1] = made;\n"
    "    out[2] = io_close(first);\n"
    "    out[3] = io_open(null, IO_READ_ONLY, 0) > 0;\n"
    "}\n";

static int64_t got[8];

static kiln_status run(kiln *k, kiln_module *m, const char *name, int port)
{
    kiln_buffer *out = NULL;
    memset(got, 0, sizeof got);
    CHECK(!kiln_buffer_new(k, KILN_I64, 8, &out) && !kiln_write(out, 0, got, 8));
    kiln_arg args[] = {kiln_arg_buffer(out), kiln_arg_i64(KILN_I32, port)};
    kiln_status status = api_launch(api_kernel(m, name), 1, 0, args, port ? 2 : 1);
    status = status ? status : kiln_sync(k);
    CHECK(!kiln_read(out, 0, got, 8));
    kiln_buffer_free(out);
    return status;
}

static void test_disk(kiln *k, kiln_module *m)
{
    if (access("/dev/full", W_OK)) {
        printf("skipped: there is no /dev/full\n");
        return;
    }
    CHECK(!kiln_allow(k, "write", "/dev/full") && !kiln_allow(k, "read", "/dev/full"));
    CHECK(!run(k, m, "disk", 0));
    CHECK(got[0] == -ENOSPC && got[3] == 0);
    CHECK(got[4] == 1 && got[5] == 1);
}

// Resets the first connection, and holds the second until the kernel closes it.
static void *peer(void *user)
{
    int listener = *(int *)user;
    struct linger at_once = {1, 0};
    char waits;
    int fd = accept(listener, NULL, NULL);
    (void)!read(fd, &waits, 1);
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
    fd = accept(listener, NULL, NULL);
    while (read(fd, &waits, 1) > 0) {
    }
    close(fd);
    return NULL;
}

static void test_peers(kiln *k, kiln_module *m)
{
    struct sockaddr_in at;
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    pthread_t thread;
    CHECK(listener >= 0 && !bind(listener, (struct sockaddr *)&at, sizeof at) &&
          !listen(listener, 4) && !getsockname(listener, (struct sockaddr *)&at, &size));
    CHECK(!pthread_create(&thread, NULL, peer, &listener));
    CHECK(!kiln_allow(k, "net", "127.0.0.1:*"));
    CHECK(!run(k, m, "peers", ntohs(at.sin_port)));
    CHECK(got[0] == 1 && got[1] == -ECONNRESET);
    CHECK(got[2] == -EPIPE || got[2] == -ECONNRESET);
    CHECK(got[3] == -ETIMEDOUT && got[4] == 64 && got[5] == 0);
    pthread_join(thread, NULL);
    close(listener);
}

static void test_handles(kiln *k, kiln_module *m)
{
    struct rlimit before, few;
    CHECK(!kiln_allow(k, "read", "/dev/null") && !getrlimit(RLIMIT_NOFILE, &before));
    few = before;
    few.rlim_cur = 64;
    CHECK(!setrlimit(RLIMIT_NOFILE, &few));
    kiln_status status = run(k, m, "handles", 0);
    CHECK(!setrlimit(RLIMIT_NOFILE, &before));
    CHECK(!status && got[0] == -EMFILE && got[1] > 0 && got[1] < 64 && got[2] == 0 && got[3] == 1);
}

static void *cancel_soon(void *k)
{
    struct timespec moment = {0, 50000000};
    nanosleep(&moment, NULL);
    kiln_cancel((kiln *)k);
    return NULL;
}

// No lane waits when one before it was cancelled: many would take as many moments.
static void test_cancel(kiln *k, kiln_module *m)
{
    static const char *const kernels[] = {"sleeps", "waits"};
    CHECK(!kiln_allow(k, "net", "127.0.0.1:0"));
    for (int n = 0; n < 2; n++) {
        pthread_t thread;
        time_t start = time(NULL);
        CHECK(!pthread_create(&thread, NULL, cancel_soon, k));
        kiln_status status = run(k, m, kernels[n], 0);
        CHECK(status == KILN_E_CANCELLED || (!status && got[0] == -ECANCELED)); // it has ended
        CHECK(time(NULL) - start < 15);
        pthread_join(thread, NULL);
    }
}

int main(void)
{
    static const char *const devices[] = {"interp", "cpu"};
    for (int d = 0; d < 2; d++) {
        kiln *k = api_open(devices[d]);
        kiln_module *m = api_compile(k, source, 0);
        if (m) {
            test_disk(k, m);
            test_peers(k, m);
            test_handles(k, m);
            test_cancel(k, m);
        }
        kiln_close(k);
    }
    return api_done("io_faults");
}
