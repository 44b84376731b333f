// Paths of kernels without openat2: every part by itself, no link followed. And texts of host
// functions that are no such texts.
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
