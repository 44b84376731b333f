// Paths of kernels without openat2: every part by itself, no link followed. Rings of transfers. And
// texts of host functions that are no such texts.
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE // O_PATH
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rt/io/io.h"
#include "rt/io/ring.h"
#include "tests/test.h"

static bool opens(int folder, const char *path, int flags)
{
    int fd = io_open_by_parts(folder, path, flags | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

TEST(io_paths_stay_beneath_without_openat2)
{
    char folder[] = "/tmp/kiln-unit-XXXXXX", name[80];
    assert_non_null(mkdtemp(folder));
    int at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(at >= 0);
    assert_int_equal(mkdirat(at, "in", 0700), 0);
    assert_true(opens(at, "in/a", O_WRONLY | O_CREAT));
    assert_int_equal(symlinkat("a", at, "in/link"), 0);
    assert_int_equal(symlinkat("/etc", at, "in/etc"), 0);
    assert_true(opens(at, "in/a", O_RDONLY));
    assert_true(opens(at, "in//a", O_RDONLY));
    assert_true(opens(at, "in", O_RDONLY | O_DIRECTORY));
    assert_true(opens(at, ".", O_RDONLY | O_DIRECTORY));
    assert_true(opens(at, "in/", O_RDONLY));
    assert_false(opens(at, "in/a/", O_RDONLY));
    assert_false(opens(at, "in/link", O_RDONLY));
    assert_false(opens(at, "in/etc/passwd", O_RDONLY));
    assert_false(opens(at, "in/../in/a", O_RDONLY));
    assert_false(opens(at, "..", O_RDONLY));
    assert_false(opens(at, "in/a/b", O_RDONLY));
    char longer[400];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_false(opens(at, longer, O_RDONLY));
    assert_int_equal(io_open_beneath(at, "in/etc/passwd", O_RDONLY, 0) < 0, 1);
    assert_int_equal(io_open_beneath(at, "../../etc/passwd", O_RDONLY, 0) < 0, 1);
    static const char *const made[] = {"in/a", "in/link", "in/etc"};
    for (size_t n = 0; n < COUNT(made); n++) {
        snprintf(name, sizeof name, "%s/%s", folder, made[n]);
        unlink(name);
    }
    snprintf(name, sizeof name, "%s/in", folder);
    rmdir(name);
    rmdir(folder);
    close(at);
}

// Writes and reads of all lanes, by a ring or one after the other: what comes back is the same.
enum { PLAIN, RING, JOINED };
static bool transfers(const char *folder, int how)
{
    enum { BYTES = 1000 };
    char path[64];
    static uint8_t from[IO_RING_JOBS][BYTES], to[IO_RING_JOBS][BYTES];
    io_job jobs[IO_RING_JOBS];
    bool has_ring = true, is_right = true;
    snprintf(path, sizeof path, "%s/kiln-unit-XXXXXX", folder);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (int round = 0; round < 4; round++) {
        bool is_write = round < 2; // the second of each finds it in memory
        for (uint32_t n = 0; n < IO_RING_JOBS; n++) {
            memset(from[n], (int)(n * 7 + 1), BYTES);
            jobs[n] = (io_job){.fd = n == 5 ? -1 : fd,
                               .what = is_write ? IO_PWRITE : IO_PREAD,
                               .lane = n,
                               .at = is_write ? from[n] : to[n],
                               .bytes = n == 6 ? 0 : BYTES,
                               .offset = n == 7 && !is_write ? 1 << 20 : (int64_t)n * BYTES};
        }
        uint32_t left = how == JOINED ? io_joined_run(jobs, IO_RING_JOBS) : IO_RING_JOBS;
        if (how == JOINED) // 0 … 4, then 7 … or, where it reads elsewhere, 8 …
            is_right &= left == (is_write ? 2 : 3);
        if (how == RING)
            has_ring = io_ring_run(jobs, IO_RING_JOBS);
        if (how != RING || !has_ring)
            io_plain_run(jobs, left);
        for (uint32_t k = 0; k < IO_RING_JOBS; k++) {
            uint32_t n = jobs[k].lane;
            int64_t wanted = n == 5 ? -EBADF : n == 6 || (n == 7 && !is_write) ? 0 : BYTES;
            is_right &= jobs[k].result == wanted;
            is_right &= is_write || wanted <= 0 || !memcmp(from[n], to[n], BYTES);
        }
    }
    unlink(path);
    close(fd);
    assert_true(is_right);
    return has_ring;
}

TEST(io_rings_do_what_system_calls_do)
{
    bool has_ring = transfers("/tmp", RING);
    transfers("/tmp", PLAIN);
    transfers("/tmp", JOINED);
    if (!access("/dev/shm", W_OK)) // a file system without rings
        transfers("/dev/shm", RING);
    setenv("KILN_IO", "plain", 1);
    assert_false(transfers("/tmp", RING));
    unsetenv("KILN_IO");
    if (!has_ring)
        printf("skipped: this system has no io_uring for us\n");
}

// The file ends within the third of five neighbours; the last one is elsewhere.
TEST(io_neighbours_end_with_the_file)
{
    char path[] = "/tmp/kiln-unit-XXXXXX", bytes[6][4] = {{0}};
    static const int64_t wanted[] = {4, 4, 2, 0, 0, 4};
    io_job jobs[6];
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "abcdefghij", 10) == 10);
    for (uint32_t n = 0; n < 6; n++)
        jobs[n] = (io_job){
            .fd = fd, .at = bytes[n], .bytes = 4, .offset = n == 5 ? 1 : 4 * (int64_t)n, .lane = n};
    assert_int_equal(io_joined_run(jobs, 6), 1);
    io_plain_run(jobs, 1);
    for (uint32_t k = 0; k < 6; k++)
        assert_int_equal(jobs[k].result, wanted[jobs[k].lane]);
    assert_memory_equal(bytes[2], "ij", 3);
    assert_memory_equal(bytes[5], "bcde", 4);
    unlink(path);
    close(fd);
}

TEST(host_texts_are_checked)
{
    host_shape s;
    static const char good[] =
        "f lane wait (v4.4[i32@0] o8.8[f64@0] c4.4 m1.1) v16.8[i64@0 i8@8] : x f(...)";
    assert_true(host_read(str_of(good), &s));
    assert_int_equal(s.in_count, 6);
    assert_int_equal(s.out_count, 3);
    assert_int_equal(s.params[3].first, 4);
    assert_false(s.is_warp || s.is_posted);
    static const char *const bad[] = {"",
                                      "f",
                                      "f lane wait",
                                      "f lane wait () - :",
                                      "f some wait () - : void f(void)",
                                      "f lane wait (q4.4[i32@0]) - : void f(i32)",
                                      "f lane wait (v4.4[i32@1]) - : void f(i32)",
                                      "f lane wait (v4.4[i99@0]) - : void f(i32)",
                                      "f lane wait (v4.3[i32@0]) - : void f(i32)",
                                      "f lane wait (v4.4[i1@0]) - : void f(i32)",
                                      "f lane wait (v8.8[ptr.gen@0]) - : void f(i32)",
                                      "f lane wait (v4.4[i32@0) - : void f(i32)",
                                      "f lane wait (v99999.4[i32@0]) - : void f(i32)"};
    for (size_t n = 0; n < COUNT(bad); n++)
        assert_false(host_read(str_of(bad[n]), &s));
    for (size_t len = 0; len < sizeof good - 9; len++) // every beginning but the whole
        assert_false(host_read((str){good, len}, &s));
}

TEST(permissions_of_ipv6_may_have_brackets)
{
    kiln *k;
    assert_int_equal(kiln_open("interp", &k), 0);
    assert_int_equal(kiln_allow(k, "net", "[::1]:80"), 0);
    assert_int_equal(kiln_allow(k, "net", "fe80::2%lo:*"), 0);
    io_state *s = io_of(k);
    assert_true(io_may(s, IO_NET, "::1:80"));
    assert_true(io_may(s, IO_NET, "fe80::2%lo:7"));
    assert_false(io_may(s, IO_NET, "::1:81"));
    assert_false(io_may(s, IO_NET, "::2:80"));
    assert_false(io_may(s, IO_NET, "fe80::2:7"));
    kiln_close(k);
}
