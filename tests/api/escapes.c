// What kernels must not reach, and what goes wrong outside: paths that change while they are
// opened, ports that were not allowed, lengths that make no sense, a full disk, a peer that resets.
//     escapes
#include "api.h"

#include <arpa/inet.h>
#include <errno.h>
#include <kiln/hostcall.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const char source[] =
    "#include <kiln/io.h>\n"
    // How often each path was opened, and how often it was the file outside.
    "kernel block(1) void races(i64 *out, i32 n) {\n"
    "    static const char file[] = \"in/flip\", deep[] = \"in/sub/secret.txt\";\n"
    "    char text[8];\n"
    "    for (i32 k = 0; k < 4; k++) out[k] = 0;\n"
    "    for (i32 k = 0; k < n; k++) {\n"
    "        i32 f = io_open(k % 2 ? deep : file, IO_READ_ONLY, 0);\n"
    "        if (f < 0) continue;\n"
    "        i64 got = io_read(f, text, 6);\n"
    "        out[k % 2]++;\n"
    "        if (got == 6 && text[0] == 's') out[2 + k % 2]++;\n"
    "        io_close(f);\n"
    "    }\n"
    "}\n"
    "kernel block(1) void ports(i64 *out, i32 port) {\n"
    "    static const char here[] = \"127.0.0.1\", any[] = \"0.0.0.0\", other[] = \"127.0.0.2\";\n"
    "    out[0] = io_connect(here, port, 1000) > 0;\n"
    "    out[1] = io_connect(here, port + 1, 1000);\n"
    "    out[2] = io_connect(other, port, 1000);\n"
    "    out[3] = io_listen(any, port, 1);\n"
    "    out[4] = io_datagram(here, port + 1);\n"
    "    out[5] = io_connect(here, port + 65536, 1000);\n"
    "    out[6] = io_connect(here, -1, 1000);\n"
    "}\n"
    "kernel block(1) void lengths(i64 *out) {\n"
    "    static const char file[] = \"in/a.txt\";\n"
    "    char text[16];\n"
    "    i32 f = io_open(file, IO_READ_WRITE, 0);\n"
    "    out[0] = io_pread(f, text, 4, -1);\n"
    "    out[1] = io_pread(f, text, 4, (i64)1 << 62);\n"
    "    out[2] = io_truncate(f, -5);\n"
    "    out[3] = io_seek(f, -100, IO_FROM_START);\n"
    "    out[4] = io_read(f, text, 0);\n"
    "    out[5] = kiln_io_open(file, 0, IO_READ_ONLY, 0);\n"
    "    out[6] = io_read(-1, text, 4);\n"
    "    out[7] = io_read(0x7fffffff, text, 4);\n"
    "    out[8] = io_close(f);\n"
    "    out[9] = io_close(f);\n"
    "}\n"
    "kernel block(1) void full(i64 *out) {\n"
    "    static const char disk[] = \"/dev/full\";\n"
    "    char text[16];\n"
    "    for (i32 k = 0; k < 16; k++) text[k] = 'x';\n"
    "    i32 f = io_open(disk, IO_WRITE_ONLY, 0);\n"
    "    out[0] = f > 0;\n"
    "    out[1] = io_write(f, text, 16);\n"
    "    out[2] = io_write(f, text, 16);\n"
    "    out[3] = io_close(f);\n"
    "}\n"
    "kernel block(1) void reset(i64 *out, i32 port) {\n"
    "    static const char here[] = \"127.0.0.1\";\n"
    "    char text[16] = {0};\n"
    "    i32 s = io_connect(here, port, 2000);\n"
    "    out[0] = s > 0 && io_write(s, text, 1) == 1;\n"
    "    io_option(s, IO_READ_TIMEOUT, 5000);\n"
    "    out[1] = io_read(s, text, 16);\n"
    "    out[2] = io_write(s, text, 16);\n"
    "    out[3] = io_write(s, text, 16);\n"
    "    out[4] = io_close(s);\n"
    "}\n";

static kiln_buffer *out;
static int64_t got[16];

static kiln_status run(kiln *k, kiln_module *m, const char *name, int32_t value, size_t args)
{
    kiln_arg list[2] = {kiln_arg_buffer(out), kiln_arg_i64(KILN_I32, value)};
    kiln_status status = api_launch(api_kernel(m, name), 1, 0, list, args);
    status = status ? status : kiln_sync(k);
    return status ? status : kiln_read(out, 0, got, 16);
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0);
    if (f)
        fclose(f);
}

// --- a path that is another one from moment to moment
static int is_over;

static void *flip(void *unused)
{
    (void)unused;
    for (int n = 0; !__atomic_load_n(&is_over, __ATOMIC_RELAXED); n++) {
        int is_link = n % 2;
        unlink("in/next");
        if (is_link ? symlink("../secret.txt", "in/next") : link("in/a.txt", "in/next"))
            break;
        rename("in/next", "in/flip");
        // the folder `sub` and a link to the one above take turns
        if (is_link)
            rename("in/sub", "in/kept");
        else
            unlink("in/sub");
        if (is_link ? symlink("..", "in/sub") : rename("in/kept", "in/sub"))
            break;
    }
    return NULL;
}

static void test_races(kiln *k, kiln_module *m)
{
    pthread_t thread;
    __atomic_store_n(&is_over, 0, __ATOMIC_RELAXED);
    CHECK(!mkdir("in/kept", 0755));
    put("in/kept/secret.txt", "inner!");
    CHECK(!pthread_create(&thread, NULL, flip, NULL));
    // Until each path was opened: the file inside may be read, the one outside never.
    bool has_file = false, has_deep = false;
    int64_t outside = 0;
    for (int n = 0; n < 200 && (!has_file || !has_deep || n < 3); n++) {
        CHECK(!run(k, m, "races", 1000, 2));
        has_file = has_file || got[0] > 0;
        has_deep = has_deep || got[1] > 0;
        outside += got[2] + got[3];
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    CHECK(outside == 0);
    CHECK(has_file && has_deep);
    static const char *const made[] = {"in/flip", "in/next", "in/sub/secret.txt",
                                       "in/kept/secret.txt", "in/sub"};
    for (size_t n = 0; n < sizeof made / sizeof *made; n++)
        unlink(made[n]);
    rmdir("in/sub");
    rmdir("in/kept");
}

// --- sockets
static int listener;

static int listen_here(void)
{
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(!bind(listener, (struct sockaddr *)&at, sizeof at) && !listen(listener, 8));
    CHECK(!getsockname(listener, (struct sockaddr *)&at, &size));
    return ntohs(at.sin_port);
}

static void *hang_up(void *unused)
{
    struct linger at_once = {1, 0};
    char byte;
    int s = accept(listener, NULL, NULL);
    (void)unused;
    // A reset before the first byte may be one of the connecting.
    while (read(s, &byte, 1) < 0 && errno == EINTR)
        ;
    setsockopt(s, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(s); // the peer gets a reset
    return NULL;
}

static void test_net(kiln *k, kiln_module *m)
{
    pthread_t thread;
    char right[32];
    int port = listen_here();
    snprintf(right, sizeof right, "127.0.0.1:%d", port);
    CHECK(!run(k, m, "ports", port, 2) && got[0] == 0); // nothing was allowed yet
    CHECK(strstr(kiln_refusal(k), "--allow-net=") != NULL);
    CHECK(!kiln_allow(k, "net", right));
    CHECK(!run(k, m, "ports", port, 2) && got[0] == 1);
    for (int n = 1; n <= 6; n++)
        CHECK(got[n] == (n < 5 ? -EACCES : got[n]) && got[n] < 0);
    CHECK(!close(accept(listener, NULL, NULL)));
    CHECK(!pthread_create(&thread, NULL, hang_up, NULL));
    CHECK(!run(k, m, "reset", port, 2));
    pthread_join(thread, NULL);
    CHECK(got[0] == 1 && got[1] == -ECONNRESET && got[2] == -EPIPE && got[3] == -EPIPE);
    CHECK(got[4] == 0);
    close(listener);
}

static void test_lengths(kiln *k, kiln_module *m)
{
    CHECK(!run(k, m, "lengths", 0, 1));
    CHECK(got[0] == -EINVAL && got[1] <= 0 && got[2] == -EINVAL && got[3] == -EINVAL);
    CHECK(got[4] == 0 && got[5] < 0 && got[6] == -EBADF && got[7] == -EBADF);
    CHECK(got[8] == 0 && got[9] == -EBADF);
    CHECK(!run(k, m, "full", 0, 1) && got[0] == 0); // denied
    CHECK(!kiln_allow(k, "write", "/dev/full"));
    CHECK(!run(k, m, "full", 0, 1));
    CHECK(got[0] == 1 && got[1] == -ENOSPC && got[2] == -ENOSPC && got[3] == 0);
}

int main(void)
{
    static const char *const devices[] = {"interp", "cpu"};
    char folder[] = "/tmp/kiln-escapes-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder))
        return 1;
    CHECK(!mkdir("in", 0755));
    put("secret.txt", "secret");
    for (int d = 0; d < 2; d++) {
        kiln *k = api_open(devices[d]);
        kiln_module *m = api_compile(k, source, 0);
        put("in/a.txt", "fine, a file");
        CHECK(!kiln_buffer_new(k, KILN_I64, 16, &out));
        CHECK(!kiln_allow(k, "read", "in") && !kiln_allow(k, "write", "in"));
        test_races(k, m);
        test_net(k, m);
        test_lengths(k, m);
        kiln_buffer_free(out);
        kiln_close(k);
    }
    unlink("in/a.txt");
    unlink("secret.txt");
    rmdir("in");
    rmdir(folder);
    return api_done("escapes");
}
