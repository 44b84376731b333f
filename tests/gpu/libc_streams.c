// Streams of C's library in kernels: files by permission, standard input and output, against the
// same program on the host.     libc_streams [DEVICE]
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE // mkdtemp
#endif
#include "api.h"

#include <kiln/hostcall.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libc/streams.h"

static int32_t want[STREAM_RESULTS], got[STREAM_RESULTS];
static kiln_buffer *out;

static kiln_status run(kiln *k, kiln_module *m, const char *name)
{
    memset(got, 0, sizeof got);
    kiln_arg args[1] = {kiln_arg_buffer(out)};
    kiln_status status = kiln_write(out, 0, got, STREAM_RESULTS);
    if (!status)
        status = api_launch(api_kernel(m, name), 1, 0, args, 1);
    if (!status)
        status = kiln_sync(k);
    return status ? status : kiln_read(out, 0, got, STREAM_RESULTS);
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    if (f) {
        fputs(text, f);
        fclose(f);
    }
}

static size_t contents(const char *path, char *to, size_t room)
{
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(to, 1, room, f) : 0;
    if (f)
        fclose(f);
    return n;
}

static void prepare(void)
{
    put("files/in.txt", "42 2.5 hello\na line that is a little longer than the others are\nlast");
    put("files/gone.txt", "x");
    CHECK(!mkdir("files/full", 0755) && !mkdir("files/full/empty", 0755));
    remove("files/renamed.txt");
}

static void test_files(kiln *k, kiln_module *m)
{
    static char theirs[4096], ours[4096];
    prepare();
    use_streams(want);
    size_t length = contents("files/renamed.txt", theirs, sizeof theirs);
    CHECK(length > 800);
    prepare();
    CHECK(!run(k, m, "streams") && got[0] == 0);
    CHECK(strstr(kiln_refusal(k), "--allow-write") != NULL); // the newest
    CHECK(!kiln_allow(k, "read", "files") && !kiln_allow(k, "write", "files"));
    CHECK(!run(k, m, "streams"));
    for (int i = 0; i < STREAM_RESULTS; i++)
        if (want[i] != got[i])
            printf("result %d: host %d, kernel %d\n", i, want[i], got[i]);
    CHECK(!memcmp(want, got, sizeof want));
    CHECK(contents("files/renamed.txt", ours, sizeof ours) == length);
    CHECK(!memcmp(ours, theirs, length));
}

// Bytes that were put back: before the start of the file, before a place that does not exist, and
// such as are below 0 in a char.
static void test_put_back(kiln *k, kiln_module *m)
{
    static const int32_t wanted[] = {0, 0, 'a', -1, 'y', 'b', 200, 200, -1, 0};
    put("files/back.txt", "abcdef");
    CHECK(!run(k, m, "put_back") && !memcmp(got, wanted, sizeof wanted));
    remove("files/back.txt");
}

static void *cancel_soon(void *k)
{
    nanosleep(&(struct timespec){0, 50000000}, NULL);
    kiln_cancel(k);
    return NULL;
}

// More nanoseconds than an i64 holds.
static void test_long_sleep(kiln *k, kiln_module *m)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, cancel_soon, k))
        return;
    EXPECT(run(k, m, "sleeps"), KILN_E_CANCELLED, "K6029", "was cancelled");
    pthread_join(thread, NULL);
}

static void test_full(kiln *k, kiln_module *m)
{
    static const int32_t wanted[6] = {1, 1, 1, 0, 1, 0};
    CHECK(!kiln_allow(k, "write", "/dev/full"));
    CHECK(!run(k, m, "full") && !memcmp(got, wanted, sizeof wanted));
}

static void test_standard(kiln *k, kiln_module *m)
{
    char text[2048] = "", line[32], format[16];
    CHECK(!run(k, m, "lines"));
    for (int i = 0; i < 32; i++) {
        snprintf(format, sizeof format, "%%%dd|%%s\n", i % 5 + 1);
        snprintf(line, sizeof line, format, i * 7, i % 2 ? "odd" : "even");
        strcat(text, line);
    }
    CHECK(!strcmp(kiln_printed(k, NULL), text));
    int before = dup(0), ends[2];
    static const char typed[] = "1 20 300\nend of it\nx";
    CHECK(!pipe(ends) && write(ends[1], typed, sizeof typed - 1) == (ssize_t)sizeof typed - 1);
    close(ends[1]);
    dup2(ends[0], 0);
    CHECK(!kiln_allow(k, "stdin", NULL) && !run(k, m, "echo"));
    CHECK(got[0] == 321 && got[1] == 1 && got[2] == 'x' && got[3] == 1);
    dup2(before, 0);
    close(before);
    close(ends[0]);
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "interp";
    char folder[] = "/tmp/kiln-stdio-XXXXXX";
    kiln *k = api_open(device);
    kiln_module *m = NULL;
    if (kiln_compile(k, &(kiln_compile_desc){.path = "tests/gpu/libc/streams.c"}, &m)) {
        printf("%s\n", kiln_last_error(k)->text);
        return 1;
    }
    CHECK(!kiln_buffer_new(k, KILN_I32, STREAM_RESULTS, &out));
    bool is_opencl = !strncmp(device, "opencl", 6);
    if (is_opencl && run(k, m, "streams") == KILN_E_UNSUPPORTED) { // no way to the host
        EXPECT(run(k, m, "streams"), KILN_E_UNSUPPORTED, "K6047", "kiln_io_");
    } else {
        if (!mkdtemp(folder) || chdir(folder) || mkdir("files", 0755))
            return 1;
        test_files(k, m);
        test_put_back(k, m);
        test_long_sleep(k, m);
        test_full(k, m);
        test_standard(k, m);
        remove("files/in.txt");
        remove("files/renamed.txt");
        CHECK(rmdir("files") == 0);
        rmdir(folder);
    }
    kiln_buffer_free(out);
    kiln_module_free(m);
    kiln_close(k);
    return api_done("libc_streams");
}
