// Services for kernels on interp and cpu: files, folders, standard input, sockets on loopback,
// clocks, environment, entropy, exit; what is denied, and what tries to escape.     io FOLDER
#include "api.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <kiln/hostcall.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const char source[] =
    "#include <kiln/io.h>\n"
    "kernel block(1) void denied(i64 *out) {\n"
    "    static const char file[] = \"in/a.txt\", name[] = \"127.0.0.1\", home[] = \"HOME\";\n"
    "    char text[8];\n"
    "    io_status about;\n"
    "    out[0] = io_open(file, IO_READ_ONLY, 0);\n"
    "    out[1] = io_open(file, IO_WRITE_ONLY | IO_CREATE, 420u);\n"
    "    out[2] = io_stat(file, &about);\n"
    "    out[3] = io_connect(name, 80, 100);\n"
    "    out[4] = io_listen(name, 0, 1);\n"
    "    out[5] = io_env(home, text, 8);\n"
    "    out[6] = io_read(IO_STDIN, text, 8);\n"
    "    out[7] = io_remove(file);\n"
    "    out[8] = io_make_folder(file, 448u);\n"
    "    out[9] = io_datagram(name, 0);\n"
    "}\n"
    "kernel block(1) void copies(i64 *out) {\n"
    "    static const char from[] = \"in/a.txt\", to[] = \"out/b.txt\";\n"
    "    char text[64];\n"
    "    i32 a = io_open(from, IO_READ_ONLY, 0);\n"
    "    i32 b = io_open(to, IO_READ_WRITE | IO_CREATE | IO_TRUNCATE, 420u);\n"
    "    out[0] = io_read(a, text, 64);\n"
    "    for (i64 i = 0; i < out[0]; i++)\n"
    "        if (text[i] >= 'a' && text[i] <= 'z') text[i] = (char)(text[i] - 32);\n"
    "    out[1] = io_write(b, text, out[0]);\n"
    "    out[2] = io_pwrite(b, text, 2, 20);\n"
    "    out[3] = io_seek(b, 0, IO_FROM_END);\n"
    "    out[4] = io_truncate(b, 21);\n"
    "    out[5] = io_sync(b);\n"
    "    io_status about;\n"
    "    out[6] = io_fstat(b, &about);\n"
    "    out[7] = about.size * 10 + about.kind;\n"
    "    out[8] = io_pread(a, text, 3, 1);\n"
    "    out[9] = text[0] + 256 * text[2];\n"
    "    out[10] = io_close(a) + io_close(b);\n"
    "    out[11] = io_read(a, text, 1);\n"
    "    out[12] = io_close(12345678);\n"
    "    out[13] = io_stat(to, &about);\n"
    "    out[14] = io_open(to, IO_READ_WRITE | IO_CREATE | IO_EXCLUSIVE, 420u);\n"
    "    out[15] = io_read(IO_STDIN, text, 64);\n"
    "    out[16] = io_seek(b, 0, IO_FROM_START);\n"
    "    out[17] = io_open(to, 0x1000, 0);\n"
    "}\n"
    "kernel block(1) void escapes(i64 *out) {\n"
    "    static const char up[] = \"in/../secret.txt\", link[] = \"in/link.txt\", away[] = "
    "\"in/away/secret.txt\",\n"
    "        whole[] = \"/etc/passwd\", inside[] = \"in/inside.txt\", empty[] = \"\", zero[] = "
    "\"in/a.txt\\0x\", slash[] = \"in//./a.txt\";\n"
    "    io_status about;\n"
    "    out[0] = io_open(up, IO_READ_ONLY, 0);\n"
    "    out[1] = io_open(link, IO_READ_ONLY, 0);\n"
    "    out[2] = io_open(away, IO_READ_ONLY, 0);\n"
    "    out[3] = io_open(whole, IO_READ_ONLY, 0);\n"
    "    out[4] = io_stat(link, &about);\n"
    "    out[5] = io_open(inside, IO_READ_ONLY, 0) > 0;\n"
    "    out[6] = io_open(empty, IO_READ_ONLY, 0);\n"
    "    out[7] = kiln_io_open(zero, 10, IO_READ_ONLY, 0);\n"
    "    out[8] = io_open(slash, IO_READ_ONLY, 0) > 0;\n"
    "    out[9] = io_open(inside, IO_WRITE_ONLY, 0);\n"
    "    out[10] = io_remove(up);\n"
    "}\n"
    "kernel block(1) void lists(i64 *out) {\n"
    "    static const char folder[] = \"in\";\n"
    "    char name[64];\n"
    "    i32 kind, f = io_open(folder, IO_READ_ONLY | IO_DIRECTORY, 0);\n"
    "    i64 count = 0, sum = 0, kinds = 0;\n"
    "    for (i32 n; (n = io_next(f, name, 64, &kind)) > 0; count++) {\n"
    "        sum += name[0];\n"
    "        kinds += kind;\n"
    "    }\n"
    "    out[0] = count; out[1] = sum; out[2] = kinds; out[3] = io_close(f);\n"
    "}\n"
    "kernel block(1) void short_names(i64 *out) {\n"
    "    static const char folder[] = \"in\";\n"
    "    char name[64];\n"
    "    i32 kind = 77, f = io_open(folder, IO_READ_ONLY | IO_DIRECTORY, 0);\n"
    "    i64 count = 0, again = 0, untouched = 0;\n"
    "    for (i32 need; name[0] = '?', (need = io_next(f, name, 3, &kind)) > 0; count++) {\n"
    "        untouched += name[0] == '?' && kind == 77;\n"
    "        again += io_next(f, name, 2, &kind) == need && io_next(f, name, 64, &kind) == need;\n"
    "        kind = 77;\n"
    "    }\n"
    "    out[0] = count; out[1] = again; out[2] = untouched; out[3] = io_close(f);\n"
    "    out[4] = io_at_once((i64)3 << 30); out[5] = io_at_once(9); out[6] = io_at_once(-9);\n"
    "}\n";

static const char more[] =
    "#include <kiln/io.h>\n"
    "kernel block(1) void serves(i64 *out, i32 *port, i32 clients) {\n"
    "    static const char here[] = \"127.0.0.1\";\n"
    "    char text[128];\n"
    "    i32 listener = io_listen(here, 0, 8);\n"
    "    out[0] = listener > 0;\n"
    "    atomic_store(port, io_port(listener));\n"
    "    out[1] = io_accept(listener, 10);\n"
    "    static const char ready[] = \"ready\\n\";\n"
    "    printf(\"%d\\n\", io_port(listener));\n"
    "    io_write(IO_STDOUT, ready, 6);\n"
    "    i64 bytes = 0;\n"
    "    for (i32 c = 0; c < clients; c++) {\n"
    "        i32 s = io_accept(listener, 5000);\n"
    "        io_option(s, IO_NO_DELAY, 1);\n"
    "        io_option(s, IO_READ_TIMEOUT, 5000);\n"
    "        for (i64 n; (n = io_read(s, text, 128)) > 0; bytes += n) io_write(s, text, n);\n"
    "        io_close(s);\n"
    "    }\n"
    "    out[2] = bytes;\n"
    "    out[3] = io_close(listener);\n"
    "}\n"
    "kernel block(1) void sends(i64 *out) {\n"
    "    static const char here[] = \"127.0.0.1\", word[] = \"hello\", local[] = \"localhost\";\n"
    "    char text[64];\n"
    "    io_peer peer;\n"
    "    i32 a = io_datagram(here, 0), b = io_datagram(here, 0);\n"
    "    out[0] = io_option(b, IO_READ_TIMEOUT, 20);\n"
    "    out[1] = io_receive_from(b, text, 64, &peer);\n"
    "    out[2] = io_send_to(a, word, 5, here, io_port(b));\n"
    "    out[3] = io_receive_from(b, text, 64, &peer);\n"
    "    out[4] = text[4] + 256 * (peer.port == io_port(a)) + 512 * peer.address[12];\n"
    "    out[5] = io_send_to(a, word, 5, local, 9);\n"
    "    out[6] = io_connect(here, 1, 200);\n"
    "    out[7] = io_resolve(here, text, 64);\n"
    "}\n"
    "kernel block(32) void others(i64 *out) {\n"
    "    static const char name[] = \"KILN_IO_TEST\", none[] = \"KILN_IO_NONE\";\n"
    "    char value[4];\n"
    "    u32 lane = thread_x();\n"
    "    i64 start = io_clock(IO_STEADY_CLOCK);\n"
    "    u64 a = 0, b = 0;\n"
    "    i64 got = io_random(&a, 8) + io_random(&b, 8);\n"
    "    if (lane) return;\n"
    "    out[0] = io_env(name, value, 4);\n"
    "    out[1] = value[3];\n"
    "    out[2] = io_env(none, value, 4);\n"
    "    out[3] = got + (a == b);\n"
    "    io_sleep(2000000);\n"
    "    i64 slept = io_clock(IO_STEADY_CLOCK) - start;\n"
    "    out[4] = slept >= 2000000 && slept < 10000000000;\n"
    "    out[5] = io_clock(IO_WALL_CLOCK) > 1500000000000000000;\n"
    "    out[6] = io_clock(9);\n"
    "    out[7] = io_random(&a, -1);\n"
    "    out[8] = io_read(IO_STDIN, value, -5);\n"
    "}\n"
    "kernel block(4) void leaves(i64 *out) { if (thread_x() == 2u) io_exit(42); out[0] = 1; }\n";

static kiln_buffer *out;
static int64_t got[32];

static kiln_status run(kiln *k, kiln_module *m, const char *name)
{
    kiln_arg args[1] = {kiln_arg_buffer(out)};
    memset(got, 0, sizeof got);
    CHECK(!kiln_write(out, 0, got, 32));
    kiln_status status = api_launch(api_kernel(m, name), 1, 0, args, 1);
    CHECK(!kiln_sync(k) || status);
    CHECK(!kiln_read(out, 0, got, 32));
    return status;
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    if (!f)
        return;
    fputs(text, f);
    fclose(f);
}

static bool holds(const char *path, const char *text, size_t len)
{
    char found[128];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(found, 1, sizeof found, f) : 0;
    if (f)
        fclose(f);
    return n == len && !memcmp(found, text, len);
}

static void test_denied(kiln *k, kiln_module *m)
{
    CHECK(!run(k, m, "denied"));
    for (int n = 0; n < 10; n++)
        CHECK(got[n] == -EACCES);
    CHECK(strstr(kiln_refusal(k), "--allow-net=127.0.0.1:0") != NULL);
    CHECK(access("in/a.txt", F_OK) == 0);
}

static void test_files(kiln *k, kiln_module *m)
{
    static const int64_t want[] = {12, 12, 2, 22, 0, 0, 0, 211, 3, 'e' + 256 * 'l', 0};
    CHECK(!kiln_allow(k, "read", "in") && !kiln_allow(k, "write", "out"));
    CHECK(!run(k, m, "copies"));
    CHECK(got[1] == -EBADF && got[13] == -EACCES); // out/ may not be read
    CHECK(strstr(kiln_refusal(k), "--allow-stdin") != NULL);
    CHECK(!kiln_allow(k, "read", "out"));
    CHECK(!run(k, m, "copies"));
    for (size_t n = 0; n < sizeof want / sizeof *want; n++)
        CHECK(got[n] == want[n]);
    CHECK(got[11] == -EBADF && got[12] == -EBADF && got[13] == 0 && got[14] == -EEXIST);
    CHECK(got[15] == -EACCES && got[16] == -EBADF && got[17] == -EINVAL);
    CHECK(holds("out/b.txt", "HELLO FILES!\0\0\0\0\0\0\0\0H", 21));
    CHECK(!run(k, m, "escapes"));
    CHECK(got[0] == -EACCES && got[1] < 0 && got[2] < 0 && got[3] == -EACCES);
    CHECK(got[4] < 0);
    CHECK(got[6] == -ENOENT && got[7] == -ENOENT && got[8] == 1 && got[9] == -EACCES);
    CHECK(got[10] == -EACCES && access("secret.txt", F_OK) == 0);
    CHECK(!run(k, m, "lists"));
    CHECK(got[0] == 4 && got[1] == 'a' + 'a' + 'i' + 'l' && got[3] == 0);
    CHECK(!run(k, m, "short_names"));
    CHECK(got[0] == 4 && got[1] == 4 && got[2] == 4 && got[3] == 0);  // five letters at least
    CHECK(got[4] == (int64_t)1 << 30 && got[5] == 9 && got[6] == -9); // what one call carries
    CHECK(!kiln_allow(k, "stdin", NULL));
    int before = dup(0), ends[2];
    CHECK(!pipe(ends) && write(ends[1], "typed", 5) == 5);
    dup2(ends[0], 0);
    CHECK(!run(k, m, "copies") && got[15] == 5);
    dup2(before, 0);
    close(before);
    close(ends[0]);
    close(ends[1]);
}

// --- sockets
static int port_found;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;

static void on_print(void *user, const char *text, size_t len)
{
    char line[32] = "";
    (void)user;
    memcpy(line, text, len < 31 ? len : 31);
    pthread_mutex_lock(&lock);
    if (atoi(line) > 0)
        port_found = atoi(line);
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
}

static void *client(void *user)
{
    struct sockaddr_in to;
    char text[64];
    int *echoed = (int *)user;
    memset(&to, 0, sizeof to);
    pthread_mutex_lock(&lock);
    while (!port_found)
        pthread_cond_wait(&change, &lock);
    to.sin_family = AF_INET;
    to.sin_port = htons((uint16_t)port_found);
    pthread_mutex_unlock(&lock);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int c = 0; c < 3; c++) {
        int s = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(s, (struct sockaddr *)&to, sizeof to) == 0) {
            ssize_t sent = send(s, "to the kernel", 13, 0), back = 0, n;
            shutdown(s, SHUT_WR);
            while ((n = recv(s, text + back, (size_t)(64 - back), 0)) > 0)
                back += n;
            *echoed += sent == back && !memcmp(text, "to the kernel", 13);
        }
        close(s);
    }
    return NULL;
}

static void test_sockets(kiln *k, kiln_module *m)
{
    pthread_t thread;
    kiln_buffer *port;
    int echoed = 0;
    port_found = 0;
    CHECK(!kiln_allow(k, "net", "127.0.0.1:*"));
    CHECK(!kiln_buffer_new(k, KILN_I32, 1, &port));
    kiln_on_print(k, on_print, NULL);
    CHECK(!pthread_create(&thread, NULL, client, &echoed));
    kiln_arg args[3] = {kiln_arg_buffer(out), kiln_arg_buffer(port), kiln_arg_i64(KILN_I32, 3)};
    CHECK(!api_launch(api_kernel(m, "serves"), 1, 0, args, 3) && !kiln_sync(k));
    pthread_join(thread, NULL);
    CHECK(!kiln_read(out, 0, got, 4));
    CHECK(got[0] == 1 && got[1] == -ETIMEDOUT && got[2] == 39 && got[3] == 0 && echoed == 3);
    kiln_buffer_free(port);
    CHECK(!run(k, m, "sends"));
    CHECK(got[0] == 0 && got[1] == -ETIMEDOUT && got[2] == 5 && got[3] == 5);
    CHECK(got[4] == 'o' + 256 + 512 * 127 && got[5] == -EACCES && got[7] == 9);
    CHECK(got[6] == -ECONNREFUSED);
    CHECK(strstr(kiln_refusal(k), "--allow-net=localhost:9") != NULL);
}

static void test_others(kiln *k, kiln_module *m)
{
    int status = 0;
    setenv("KILN_IO_TEST", "value", 1);
    CHECK(!kiln_allow(k, "env", "KILN_IO_TEST") && !kiln_allow(k, "env", "KILN_IO_NONE"));
    CHECK(!run(k, m, "others"));
    CHECK(got[0] == 5 && got[1] == 'u' && got[2] == -ENOENT && got[3] == 16 && got[4] == 1);
    CHECK(got[5] == 1 && got[6] == -EINVAL && got[7] == -EINVAL && got[8] == -EINVAL);
    CHECK(!kiln_exit_status(k, &status));
    EXPECT(run(k, m, "leaves"), KILN_E_KERNEL, "K6048", "io_exit(42)");
    CHECK(kiln_exit_status(k, &status) && status == 42);
    EXPECT(kiln_allow(k, "fly", "x"), KILN_E_BAD_ARGUMENT, "K6003", "'fly' is not");
    EXPECT(kiln_allow(k, "read", NULL), KILN_E_BAD_ARGUMENT, "K6003", "of what");
    EXPECT(kiln_allow(k, "read", "no such folder"), KILN_E_NOT_FOUND, "K6005", "no such folder");
    EXPECT(kiln_allow(k, "net", "host"), KILN_E_BAD_ARGUMENT, "K6003", "HOST:PORT");
    EXPECT(kiln_allow(NULL, "net", "host"), KILN_E_BAD_HANDLE, "K6002", "");
    CHECK(!strcmp(kiln_refusal(NULL), ""));
}

int main(void)
{
    static const char *const devices[] = {"interp", "cpu"};
    char folder[] = "/tmp/kiln-io-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder))
        return 1;
    CHECK(!mkdir("in", 0755) && !mkdir("out", 0755));
    put("in/a.txt", "hello files!");
    put("secret.txt", "secret");
    CHECK(!symlink("../secret.txt", "in/link.txt") && !symlink(folder, "in/away"));
    CHECK(!symlink("a.txt", "in/inside.txt"));
    for (int d = 0; d < 2; d++) {
        kiln *k = api_open(devices[d]);
        kiln_module *m = api_compile(k, source, 0), *n = api_compile(k, more, 0);
        unlink("out/b.txt");
        CHECK(!kiln_buffer_new(k, KILN_I64, 32, &out));
        test_denied(k, m);
        test_files(k, m);
        test_sockets(k, n);
        test_others(k, n);
        kiln_buffer_free(out);
        kiln_close(k);
    }
    static const char *const made[] = {"in/a.txt",      "in/link.txt", "in/away",
                                       "in/inside.txt", "secret.txt",  "out/b.txt"};
    for (size_t n = 0; n < sizeof made / sizeof *made; n++)
        unlink(made[n]);
    rmdir("in");
    rmdir("out");
    rmdir(folder);
    return api_done("io");
}
