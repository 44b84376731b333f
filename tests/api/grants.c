// Permissions that lie in one another, name one file, or were given through a link: what several of
// them allow together is what each allows by itself. And what waits while it is opened.
//     grants
#include "api.h"

#include <errno.h>
#include <fcntl.h>
#include <kiln/hostcall.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static const char source[] =
    "#include <kiln/io.h>\n"
    // The first two bytes of the file, or why not.
    "kernel block(1) void opens(i64 *out, const i8 *path, i32 flags) {\n"
    "    u8 text[2] = {0, 0};\n"
    "    i32 f = kiln_io_open((const char *)path + 4, path[0], flags, 420u);\n"
    "    out[0] = f < 0 ? f : io_read(f, text, 2);\n"
    "    out[1] = text[0] + 256 * text[1];\n"
    "    io_close(f);\n"
    "}\n"
    "kernel block(1) void writes(i64 *out, const i8 *path, i32 flags) {\n"
    "    static const char text[] = \"ab\";\n"
    "    i32 f = io_open((const char *)path + 4, flags, 420u);\n"
    "    out[0] = f < 0 ? f : io_write(f, text, 2);\n"
    "    out[1] = io_close(f);\n"
    "}\n"
    "kernel block(1) void moves(i64 *out, const i8 *path, i32 split) {\n"
    "    out[0] = io_rename((const char *)path + 4, (const char *)path + 4 + split);\n"
    "}\n"
    "kernel block(1) void makes(i64 *out, const i8 *path, i32 is_folder) {\n"
    "    out[0] = is_folder ? io_make_folder((const char *)path + 4, 448u)\n"
    "                       : io_remove_folder((const char *)path + 4);\n"
    "}\n"
    "kernel block(1) void looks(i64 *out, const i8 *path, i32 unused) {\n"
    "    io_status about = {0};\n"
    "    out[0] = io_stat((const char *)path + 4, &about);\n"
    "    out[1] = about.kind;\n"
    "}\n";

enum { LONGEST = 8000, READ = 0, READ_WRITE = 2, CREATE = 4, AT_ONCE = 0x40 };
static const int16_t inside = 'i' + 256 * 'n', secret = 's' + 256 * 'e';
static kiln *k;
static kiln_module *m;
static kiln_buffer *out, *path_buffer;
static int64_t got[2];

static int64_t attempt(const char *kernel, const char *path, size_t len, int32_t value)
{
    static char text[LONGEST + 8];
    kiln_arg list[3];
    memset(text, 0, sizeof text);
    memcpy(text + 4, path, len);
    text[0] = (char)len; // only `opens` with a zero inside asks for it
    CHECK(!kiln_write(path_buffer, 0, text, sizeof text));
    list[0] = kiln_arg_buffer(out);
    list[1] = kiln_arg_buffer(path_buffer);
    list[2] = kiln_arg_i64(KILN_I32, value);
    CHECK(!api_launch(api_kernel(m, kernel), 1, 0, list, 3) && !kiln_sync(k));
    CHECK(!kiln_read(out, 0, got, 2));
    return got[0];
}

static int64_t opens(const char *path, int32_t flags)
{
    return attempt("opens", path, strlen(path), flags);
}

static void start(const char *device)
{
    k = api_open(device);
    m = api_compile(k, source, 0);
    CHECK(!kiln_buffer_new(k, KILN_I64, 2, &out));
    CHECK(!kiln_buffer_new(k, KILN_I8, LONGEST + 8, &path_buffer));
}

static void stop(void)
{
    kiln_buffer_free(out);
    kiln_buffer_free(path_buffer);
    kiln_close(k);
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0);
    if (f)
        fclose(f);
}

// A link in the inner folder leads to what only the outer one allows.
static void test_nested(const char *device)
{
    for (int is_read_inner = 0; is_read_inner < 2; is_read_inner++) {
        start(device);
        CHECK(!kiln_allow(k, is_read_inner ? "read" : "write", "in"));
        CHECK(!kiln_allow(k, is_read_inner ? "write" : "read", "."));
        CHECK(opens("in/link", READ_WRITE) == -EXDEV && got[1] == 0);
        CHECK(strstr(kiln_refusal(k), is_read_inner ? "--allow-read=" : "--allow-write=") != NULL);
        CHECK(opens("in/away/secret.txt", READ_WRITE) == -EXDEV && got[1] == 0);
        CHECK(opens("in/a.txt", READ_WRITE) == 2 && got[1] == inside);
        CHECK(opens("secret.txt", READ_WRITE) == -EACCES);
        stop();
    }
    for (int is_first = 0; is_first < 2; is_first++) { // in any order
        start(device);
        CHECK(!kiln_allow(k, "read", is_first ? "in" : "."));
        CHECK(!kiln_allow(k, "read", is_first ? "." : "in"));
        CHECK(opens("in/link", READ) == 2 && got[1] == secret);
        stop();
    }
}

static void test_links(const char *device)
{
    start(device);
    CHECK(!kiln_allow(k, "read", "in"));
    CHECK(opens("in/link", READ) == -EXDEV);
    CHECK(strstr(kiln_refusal(k), "secret.txt") && strstr(kiln_refusal(k), "--allow-read="));
    CHECK(attempt("looks", "in/link", 7, 0) == -EXDEV);
    CHECK(!kiln_allow(k, "write", "in"));
    CHECK(attempt("makes", "in/away/new", 11, 1) == -EXDEV);
    CHECK(strstr(kiln_refusal(k), "--allow-write=") != NULL);
    stop();
    start(device); // a file, through a link: by the link's name and by its own
    CHECK(!kiln_allow(k, "read", "in/link"));
    CHECK(opens("in/link", READ) == 2 && got[1] == secret);
    CHECK(opens("secret.txt", READ) == 2 && opens("./in/./link", READ) == 2);
    CHECK(opens("in/secret.txt", READ) == -EACCES && opens("in/a.txt", READ) == -EACCES);
    CHECK(opens("in/link/", READ) == -EACCES);
    stop();
    start(device); // a file that became a link
    CHECK(!kiln_allow(k, "read", "in/b.txt"));
    CHECK(opens("in/b.txt", READ) == 2);
    CHECK(!unlink("in/b.txt") && !symlink("a.txt", "in/b.txt"));
    CHECK(opens("in/b.txt", READ) < 0 && got[1] == 0);
    CHECK(!unlink("in/b.txt"));
    put("in/b.txt", "in b");
    stop();
}

static void test_moves(const char *device)
{
    start(device);
    CHECK(!kiln_allow(k, "write", ".") && !kiln_allow(k, "read", "in"));
    CHECK(attempt("moves", "secret.txt\0in/seen.txt", 22, 11) == -EACCES);
    CHECK(strstr(kiln_refusal(k), "--allow-read=") && opens("in/seen.txt", READ) == -ENOENT);
    CHECK(attempt("moves", "in/a.txt\0a.txt", 14, 9) == 0);
    CHECK(attempt("moves", "a.txt\0in/a.txt", 14, 6) == -EACCES); // and not back
    CHECK(!rename("a.txt", "in/a.txt"));
    CHECK(attempt("moves", "in/a.txt\0in/c.txt", 17, 9) == 0);
    CHECK(attempt("moves", "in/c.txt\0in/a.txt", 17, 9) == 0);
    CHECK(attempt("makes", "in/new", 6, 1) == 0 && attempt("makes", "in/new", 6, 0) == 0);
    stop();
}

// A right to write is none to read, whatever path leads to where it may be read: folders that were
// moved away keep their permission, links lead into them, and a permission has two names.
static void test_moves_by_other_paths(const char *device)
{
    for (int is_file = 0; is_file < 2; is_file++) { // the permission's folder under another name
        start(device);
        CHECK(!kiln_allow(k, "write", "."));
        CHECK(!kiln_allow(k, "read", is_file ? "in/a.txt" : "in"));
        CHECK(attempt("moves", "in\0other", 8, 3) == 0);
        CHECK(attempt("moves", "secret.txt\0other/a.txt", 23, 11) == -EACCES);
        CHECK(strstr(kiln_refusal(k), "secret.txt") && strstr(kiln_refusal(k), "--allow-read="));
        CHECK(opens("in/a.txt", READ) == 2 && got[1] == inside);
        if (is_file) // a folder in place of the file
            CHECK(attempt("makes", "apart", 5, 1) == 0 && !rename("other/a.txt", "a.txt") &&
                  attempt("moves", "apart/\0other/a.txt/", 20, 7) == -EACCES &&
                  !rename("a.txt", "other/a.txt") && !rmdir("apart"));
        else // within the folder, which may be read wherever it lies
            CHECK(attempt("moves", "other/a.txt\0other/c.txt", 24, 12) == 0 &&
                  attempt("moves", "other/c.txt\0other/a.txt", 24, 12) == 0);
        CHECK(!rename("other", "in"));
        stop();
    }
    CHECK(!mkdir("w", 0755) && !mkdir("w/sub", 0755));
    CHECK(!symlink("sub", "w/inner") && !symlink("w", "to-w") && !symlink("w/sub", "to-sub"));
    put("w/own.txt", "own!");
    start(device); // a link within what may be written
    CHECK(!kiln_allow(k, "write", "w") && !kiln_allow(k, "read", "w/sub"));
    CHECK(attempt("moves", "w/own.txt\0w/inner/x", 19, 10) < 0);
    CHECK(attempt("moves", "w/own.txt\0w/inner/x/", 20, 10) < 0);
    CHECK(opens("w/sub/x", READ) == -ENOENT);
    stop();
    start(device); // both permissions through links
    CHECK(!kiln_allow(k, "write", "to-w") && !kiln_allow(k, "read", "to-sub"));
    CHECK(attempt("moves", "to-w/own.txt\0to-w/sub/x", 23, 13) == -EACCES);
    CHECK(opens("to-sub/x", READ) == -ENOENT);
    CHECK(attempt("moves", "to-w/own.txt\0to-w/x", 19, 13) == 0);
    stop();
    CHECK(!unlink("w/x") && !unlink("w/inner") && !unlink("to-w") && !unlink("to-sub"));
    CHECK(!rmdir("w/sub") && !rmdir("w"));
}

static void test_names(const char *device)
{
    static char path[LONGEST];
    char whole[4200];
    start(device);
    CHECK(!kiln_allow(k, "read", "./in/"));
    CHECK(opens("in//a.txt", READ) == 2 && opens(".//in/./a.txt", READ) == 2);
    CHECK(getcwd(whole, 4096) != NULL);
    strcat(whole, "//in/.//a.txt");
    CHECK(attempt("looks", whole, strlen(whole), 0) == 0 && got[1] == 1);
    CHECK(attempt("looks", "in/a.txt/", 9, 0) == -ENOTDIR);
    CHECK(attempt("looks", "in/a.txt/.", 10, 0) == -ENOTDIR);
    CHECK(attempt("looks", "in/.", 4, 0) == 0 && got[1] == 2);
    CHECK(attempt("opens", "in/a.txt\0x", 10, READ) == -ENOENT);
    CHECK(attempt("opens", "", 0, READ) == -ENOENT);
    memset(path, 'x', sizeof path);
    memcpy(path, "in/", 3);
    CHECK(attempt("looks", path, 4096, 0) == -ENAMETOOLONG);
    CHECK(attempt("looks", path, LONGEST - 1, 0) == -ENAMETOOLONG);
    CHECK(attempt("looks", path, 3000, 0) == -ENAMETOOLONG); // of one part
    EXPECT(kiln_allow(k, "write", "in/new.txt"), KILN_E_NOT_FOUND, "K6005", "allow its folder");
    static const char *const wrong[] = {"a:http", "a:80-90", ":80",    "a:65536", "a:",    "a",
                                        "a:-1",   "::1",     "[a]:80", "a:b:80",  "[]:80", "[::1]"};
    for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++)
        EXPECT(kiln_allow(k, "net", wrong[n]), KILN_E_BAD_ARGUMENT, "K6003", wrong[n]);
    CHECK(!kiln_allow(k, "net", "::1:80") && !kiln_allow(k, "net", "*:*"));
    stop();
}

// A slash at the end says that a folder is meant, and nothing more.
static void test_slashes(const char *device)
{
    static const struct {
        const char *kernel, *path;
        size_t len;
        int32_t value; // of "moves": where the second path begins
        int64_t result;
    } rows[] = {{"makes", "in/new/", 7, 1, 0},
                {"makes", "in/new/", 7, 1, -EEXIST},
                {"makes", "in/a.txt/", 9, 1, -EEXIST},
                {"makes", "in/away/", 8, 1, -EEXIST},
                {"makes", "in/new/.", 8, 1, -EINVAL},
                {"makes", "in/", 3, 1, -EINVAL},
                {"moves", "in/new/\0in/newer/", 17, 8, 0},
                {"moves", "in/a.txt/\0in/c.txt", 18, 10, -ENOTDIR},
                {"moves", "in/a.txt\0in/c.txt/", 18, 9, -ENOTDIR},
                {"moves", "in/away/\0in/c.txt", 17, 9, -ENOTDIR},
                {"makes", "in/away/", 8, 0, -ENOTDIR},
                {"makes", "in/newer/.", 10, 0, -EINVAL},
                {"makes", "in/newer/", 9, 0, 0},
                {"makes", "in/away/new/", 12, 1, -EXDEV}};
    start(device);
    CHECK(!kiln_allow(k, "read", "in/.") && !kiln_allow(k, "write", "./in/"));
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        int64_t result = attempt(rows[n].kernel, rows[n].path, rows[n].len, rows[n].value);
        CHECK(result == rows[n].result);
        if (result != rows[n].result)
            printf("%s %s: %lld\n", rows[n].kernel, rows[n].path, (long long)result);
    }
    stop();
}

// --- pipes with names: who opens one waits for the other end, and can be cancelled
static void *other_end(void *how)
{
    struct timespec moment = {0, 100000000};
    char text[4];
    nanosleep(&moment, NULL);
    if (!how) {
        kiln_cancel(k);
        return NULL;
    }
    int fd = open("in/pipe", *(const int *)how);
    CHECK(fd >= 0);
    if (*(const int *)how == O_WRONLY)
        CHECK(write(fd, "in", 2) == 2);
    else
        CHECK(read(fd, text, 4) == 2);
    close(fd);
    return NULL;
}

static void test_pipes(const char *device)
{
    static int reads = O_RDONLY, writes = O_WRONLY;
    pthread_t thread;
    kiln_arg list[3];
    start(device);
    CHECK(!kiln_allow(k, "read", "in") && !kiln_allow(k, "write", "in"));
    CHECK(opens("in/pipe", READ | AT_ONCE) == 0); // nobody writes: the end
    CHECK(attempt("writes", "in/pipe", 7, 1 | AT_ONCE) == -ENXIO);
    int fd = open("in/pipe", O_RDWR);
    CHECK(opens("in/pipe", READ | AT_ONCE) == -EAGAIN);
    close(fd);
    CHECK(!pthread_create(&thread, NULL, other_end, &writes));
    CHECK(opens("in/pipe", READ) == 2 && got[1] == inside);
    pthread_join(thread, NULL);
    CHECK(!pthread_create(&thread, NULL, other_end, &reads));
    CHECK(attempt("writes", "in/pipe", 7, 1) == 2);
    pthread_join(thread, NULL);
    for (int n = 0; n < 2; n++) {
        CHECK(!kiln_write(path_buffer, 0, "\7\0\0\0in/pipe", 12));
        list[0] = kiln_arg_buffer(out);
        list[1] = kiln_arg_buffer(path_buffer);
        list[2] = kiln_arg_i64(KILN_I32, n);
        CHECK(!pthread_create(&thread, NULL, other_end, NULL));
        kiln_status status = api_launch(api_kernel(m, n ? "writes" : "opens"), 1, 0, list, 3);
        status = status ? status : kiln_sync(k);
        pthread_join(thread, NULL);
        CHECK(status == KILN_E_CANCELLED || (!status && !kiln_read(out, 0, got, 2) &&
                                             got[0] == -ECANCELED)); // it ended by itself
    }
    stop();
}

// Where the system has no openat2, no link is followed at all.
static bool follows_links(void)
{
    start("interp");
    CHECK(!symlink("a.txt", "in/inner") && !kiln_allow(k, "read", "in"));
    bool is_followed = opens("in/inner", READ) == 2;
    unlink("in/inner");
    stop();
    return is_followed;
}

int main(void)
{
    static const char *const devices[] = {"interp", "cpu"};
    static const char *const made[] = {"in/a.txt", "in/b.txt", "in/link",
                                       "in/away",  "in/pipe",  "secret.txt"};
    char folder[] = "/tmp/kiln-grants-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder))
        return 1;
    CHECK(!mkdir("in", 0755) && !mkfifo("in/pipe", 0600));
    CHECK(!symlink("../secret.txt", "in/link") && !symlink("..", "in/away"));
    put("secret.txt", "secret");
    put("in/a.txt", "in a");
    put("in/b.txt", "in b");
    bool has_links = follows_links();
    if (!has_links)
        printf("skipped: links, for want of openat2\n");
    for (int d = 0; d < 2; d++) {
        if (has_links) {
            test_nested(devices[d]);
            test_links(devices[d]);
        }
        test_moves(devices[d]);
        test_moves_by_other_paths(devices[d]);
        test_names(devices[d]);
        test_slashes(devices[d]);
        test_pipes(devices[d]);
    }
    for (size_t n = 0; n < sizeof made / sizeof *made; n++)
        unlink(made[n]);
    CHECK(!rmdir("in") && !rmdir(folder));
    return api_done("grants");
}
