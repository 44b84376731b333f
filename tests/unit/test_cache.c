// rt/cache: hits and misses, included files, explanations; then everything a disk can do wrong, and
// many processes at once.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sha256.h"
#include "kiln/kiln.h"
#include "rt/cache/cache.h"
#include "tests/test.h"

static char folder[64], beside[64]; // the cache, and files of the test

static void clean(const char *path)
{
    char command[128];
    chmod(path, 0700);
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    (void)!system(command);
}

static void start(void)
{
    strcpy(folder, "/tmp/kiln-cache-XXXXXX");
    strcpy(beside, "/tmp/kiln-beside-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_non_null(mkdtemp(beside));
    setenv("KILN_CACHE_DIR", folder, 1);
    unsetenv("KILN_CACHE");
    unsetenv("KILN_CACHE_SIZE");
}

static void end(void)
{
    clean(folder);
    clean(beside);
    unsetenv("KILN_CACHE_DIR");
    unsetenv("KILN_CACHE");
    unsetenv("KILN_CACHE_SIZE");
}

// What the process remembers (a full disk) must not reach the next test: run in a child. 0: fine.
static int in_child(int (*run)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (!child)
        _exit(run());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static cache_part parts[] = {{"defines", "TILE=64\nFAST"}, {"target", "sm_90a"}, {"kiln", "0.1.0"}};

static cache_request request_of(const char *path, const char *source)
{
    return (cache_request){.path = path,
                           .source = source,
                           .source_len = strlen(source),
                           .parts = parts,
                           .part_count = 3};
}

// What is on disk: the memory is emptied before.
static bool get_is(const cache_request *q, const char *want)
{
    cache_drop_memory();
    void *bytes;
    size_t len;
    bool got = cache_get(q, &bytes, &len);
    bool same = got && want && len == strlen(want) && !memcmp(bytes, want, len);
    free(bytes);
    return want ? same : !got;
}

static void put(const cache_request *q, const char *value)
{
    cache_put(q, NULL, 0, value, strlen(value));
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int entry_path(char out[512], const char *ending)
{
    DIR *dir = opendir(folder);
    int count = 0;
    for (struct dirent *d; dir && (d = readdir(dir));) {
        size_t n = strlen(d->d_name), m = strlen(ending);
        if (n > m && !strcmp(d->d_name + n - m, ending)) {
            snprintf(out, 512, "%s/%s", folder, d->d_name);
            count++;
        }
    }
    if (dir)
        closedir(dir);
    return count;
}

static uint64_t folder_bytes(void)
{
    DIR *dir = opendir(folder);
    uint64_t total = 0;
    struct stat st;
    for (struct dirent *d; dir && (d = readdir(dir));)
        if (!fstatat(dirfd(dir), d->d_name, &st, 0) && S_ISREG(st.st_mode))
            total += (uint64_t)st.st_size;
    if (dir)
        closedir(dir);
    return total;
}

static void check_sha256(void)
{
    uint8_t hash[SHA256_BYTES];
    char shown[SHA256_TEXT];
    sha256_of("abc", 3, hash);
    sha256_text(hash, shown);
    assert_string_equal(shown, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    char *million = malloc(1000000);
    memset(million, 'a', 1000000);
    sha256 s;
    sha256_start(&s);
    for (size_t at = 0, step = 1; at < 1000000; at += step, step = step % 301 + 1)
        sha256_add(&s, million + at, at + step > 1000000 ? 1000000 - at : step);
    sha256_end(&s, hash);
    sha256_text(hash, shown);
    assert_string_equal(shown, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

TEST(sha256_is_the_standard_one)
{
    check_sha256();
    sha256_plain(true); // as on a processor without instructions for it
    check_sha256();
    sha256_plain(false);
}

TEST(cache_finds_what_was_put_and_nothing_else)
{
    start();
    cache_request q = request_of("a.c", "text"), other = request_of("a.c", "texu"),
                  elsewhere = request_of("b.c", "text");
    assert_true(get_is(&q, NULL));
    put(&q, "code");
    assert_true(get_is(&q, "code"));
    assert_true(get_is(&other, NULL));
    assert_true(get_is(&elsewhere, NULL));
    parts[1].value = "sm_80";
    assert_true(get_is(&q, NULL));
    parts[1].value = "sm_90a";
    put(&q, "");
    assert_true(get_is(&q, ""));
    setenv("KILN_CACHE", "off", 1);
    assert_true(get_is(&q, NULL));
    end();
}

static int remembers(void)
{
    static char value[100000];
    char inside[128], source[16];
    void *bytes;
    size_t len, found = 0;
    snprintf(inside, sizeof inside, "%s/file", beside);
    write_text(inside, "");
    strcat(inside, "/cache");
    setenv("KILN_CACHE_DIR", inside, 1);
    cache_drop_memory();
    for (int k = 0; k < 1000; k++) {
        snprintf(source, sizeof source, "%d", k);
        cache_request q = request_of("a.c", source);
        if (cache_get(&q, &bytes, &len))
            return 1;
        cache_put(&q, NULL, 0, value, (size_t)k * 100);
        if (!cache_get(&q, &bytes, &len) || len != (size_t)k * 100)
            return 2;
        free(bytes);
    }
    for (int k = 0; k < 1000; k++) {
        snprintf(source, sizeof source, "%d", k);
        cache_request q = request_of("a.c", source);
        found += cache_get(&q, &bytes, &len);
        free(bytes);
    }
    if (found != 128) // the newest
        return 3;
    cache_request last = request_of("a.c", "999");
    cache_forget(&last);
    if (cache_get(&last, &bytes, &len))
        return 4;
    setenv("KILN_CACHE", "off", 1);
    cache_put(&last, NULL, 0, value, 10);
    return cache_get(&last, &bytes, &len) ? 5 : 0;
}

TEST(cache_remembers_without_a_disk)
{
    start();
    assert_int_equal(in_child(remembers), 0);
    end();
}

TEST(cache_parts_do_not_run_into_each_other)
{
    start();
    cache_part one[] = {{"a", "bc"}, {"d", ""}}, two[] = {{"ab", "c"}, {"d", ""}},
               three[] = {{"a", "b"}, {"cd", ""}};
    cache_request q = {"x", NULL, "s", 1, one, 2}, p = {"x", NULL, "s", 1, two, 2},
                  r = {"x", NULL, "s", 1, three, 2};
    put(&q, "1");
    assert_true(get_is(&p, NULL));
    assert_true(get_is(&r, NULL));
    assert_true(get_is(&q, "1"));
    end();
}

TEST(cache_watches_the_included_files)
{
    start();
    char header[128], missing[128];
    snprintf(header, sizeof header, "%s/tile.h", beside);
    snprintf(missing, sizeof missing, "%s/near.h", beside);
    write_text(header, "enum { TILE = 8 };");
    cache_request q = request_of("a.c", "text");
    cache_input inputs[] = {{.path = header}, {.path = missing, .is_absent = true}};
    sha256_of("enum { TILE = 8 };", 18, inputs[0].hash);
    cache_put(&q, inputs, 2, "code", 4);
    assert_true(get_is(&q, "code"));
    write_text(header, "enum { TILE = 9 };");
    assert_true(get_is(&q, NULL));
    write_text(header, "enum { TILE = 8 };");
    assert_true(get_is(&q, "code"));
    write_text(missing, ""); // would be found first now
    assert_true(get_is(&q, NULL));
    unlink(missing);
    unlink(header);
    assert_true(get_is(&q, NULL));
    end();
}

static void assert_why(const char *path, const char *want)
{
    char *said = cache_why(path);
    assert_non_null(said);
    if (!strstr(said, want))
        fail_msg("'%s' is not in: %s", want, said);
    free(said);
}

TEST(cache_says_why_it_compiled_again)
{
    start();
    char path[128];
    snprintf(path, sizeof path, "%s/k.c", beside);
    write_text(path, "text");
    assert_why(path, "never compiled");
    cache_request q = request_of(path, "text");
    put(&q, "1");
    assert_why(path, "nothing in the cache for this file");
    parts[0].value = "TILE=128\nFAST";
    put(&q, "2");
    assert_why(path,
               "recompiled: -DTILE changed 64 -> 128; source same; target same; compiler same");
    parts[0].value = "TILE=128\nDEEP=2";
    parts[1].value = "sm_80";
    put(&q, "3");
    assert_why(path, "-DFAST is gone; -DDEEP=2 is new; target changed sm_90a -> sm_80");
    put(&q, "3");
    assert_why(path, "no longer in the cache");
    write_text(path, "texts");
    assert_why(path, "has changed: the next use compiles it");
    parts[0].value = "TILE=64\nFAST";
    parts[1].value = "sm_90a";
    setenv("KILN_CACHE", "off", 1);
    assert_why(path, "KILN_CACHE is off");
    end();
}

static void spoil(const char *ending)
{
    char path[512];
    assert_int_equal(entry_path(path, ending), 1);
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    fseek(f, -3, SEEK_END);
    fputc(0x5a, f);
    fclose(f);
}

TEST(cache_says_before_whether_it_will_compile_again)
{
    start();
    char path[128], entry[512];
    snprintf(path, sizeof path, "%s/k.c", beside);
    write_text(path, "text");
    cache_request q = request_of(path, "text");
    put(&q, "some compiled code");
    assert_why(path, "its compiled code is in the cache");
    spoil(".code");
    assert_why(path, "was damaged: the next use compiles it and writes it again");
    assert_int_equal(entry_path(entry, ".code"), 1); // to ask changes nothing
    assert_true(get_is(&q, NULL));
    assert_why(path, "not in the cache (any more): the next use compiles it");
    put(&q, "some compiled code");
    assert_why(path, "recompiled: nothing has changed");
    assert_why(path, "its compiled code is in the cache");
    spoil(".why");
    assert_why(path, "the note about");
    end();
}

// The disk is full: nothing could be written, or a note just found room.
static bool has_room; // for a note
static int full_disk_why(void)
{
    static char much[100000];
    cache_request q = request_of("c.c", "text");
    struct rlimit limit = {has_room ? 2000 : 0, has_room ? 2000 : 0};
    setrlimit(RLIMIT_FSIZE, &limit);
    cache_put(&q, NULL, 0, much, sizeof much);
    char *said = cache_why("c.c");
    bool is_told =
        said && strstr(said, "nothing can be kept now, every use compiles: writing into") &&
        strstr(said, "files may not grow so large here") && !strstr(said, "never compiled");
    bool is_noted = said && strstr(said, "the compiled code could not be kept: writing into");
    free(said);
    return is_told && is_noted == has_room ? 0 : 1;
}

TEST(cache_says_why_nothing_is_kept)
{
    start();
    for (int round = 0; round < 2; round++) {
        has_room = round == 1;
        assert_int_equal(in_child(full_disk_why), 0);
    }
    end();
}

TEST(cache_says_what_is_too_large_for_it)
{
    start();
    static char much[100000];
    cache_request q = request_of("d.c", "text");
    setenv("KILN_CACHE_SIZE", "100K", 1);
    cache_put(&q, NULL, 0, much, sizeof much);
    assert_why("d.c", "could not be kept: it is larger than half of KILN_CACHE_SIZE");
    end();
}

TEST(cache_survives_every_flipped_byte_and_every_cut)
{
    start();
    cache_request q = request_of(NULL, "text");
    put(&q, "some compiled code");
    char path[512];
    assert_int_equal(entry_path(path, ".code"), 1);
    static char good[4096], bad[4096];
    FILE *f = fopen(path, "r");
    size_t len = fread(good, 1, sizeof good, f);
    fclose(f);
    uint64_t broken = cache_counts_now().broken;
    for (size_t k = 0; k < 2 * len; k++) {
        memcpy(bad, good, len);
        if (k < len)
            bad[k] = (char)(bad[k] ^ 0x41);
        f = fopen(path, "w");
        fwrite(bad, 1, k < len ? len : k - len, f);
        fclose(f);
        bool reserved = k >= 12 && k < 16; // not looked at
        assert_true(get_is(&q, reserved ? "some compiled code" : NULL));
        assert_int_equal(access(path, F_OK) == 0, reserved); // and it is gone
    }
    assert_true(cache_counts_now().broken > broken);
    put(&q, "again");
    assert_true(get_is(&q, "again"));
    end();
}

static int read_only_folder(void)
{
    cache_request q = request_of("a.c", "text"), other = request_of("a.c", "more");
    put(&q, "code");
    if (chmod(folder, 0500))
        return 1;
    if (geteuid() ==
        0) { // a root may write everywhere: a file where the folder should be does the same
        char inside[128];
        snprintf(inside, sizeof inside, "%s/file", beside);
        write_text(inside, "");
        strcat(inside, "/cache");
        setenv("KILN_CACHE_DIR", inside, 1);
    } else if (!get_is(&q, "code")) {
        return 2;
    }
    put(&other, "code");
    if (!get_is(&other, NULL))
        return 3;
    cache_state state;
    cache_look(&state);
    return state.is_on || !strstr(state.reason, "failed") ? 4 : 0;
}

TEST(cache_in_a_read_only_folder_is_no_error)
{
    start();
    assert_int_equal(in_child(read_only_folder), 0);
    end();
}

static int full_disk(void)
{
    cache_request small = request_of("a.c", "text"), large = request_of("b.c", "text");
    put(&small, "code");
    struct rlimit limit = {2000, 2000};
    setrlimit(RLIMIT_FSIZE, &limit);
    static char much[100000];
    cache_put(&large, NULL, 0, much, sizeof much);
    if (!get_is(&large, NULL) || !get_is(&small, "code"))
        return 1;
    char path[512];
    DIR *dir = opendir(folder);
    for (struct dirent *d; dir && (d = readdir(dir));)
        if (!strncmp(d->d_name, "part-", 5))
            return 2;
    closedir(dir);
    cache_state state;
    cache_look(&state);
    return state.is_on || entry_path(path, ".code") != 1 ? 3 : 0;
}

TEST(cache_on_a_full_disk_is_no_error)
{
    start();
    assert_int_equal(in_child(full_disk), 0);
    end();
}

static int no_home(void)
{
    unsetenv("KILN_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    cache_request q = request_of("a.c", "text");
    put(&q, "code");
    cache_state state;
    cache_look(&state);
    return get_is(&q, NULL) && !state.is_on && strstr(state.reason, "HOME") ? 0 : 1;
}

TEST(cache_without_a_home_is_no_error)
{
    start();
    assert_int_equal(in_child(no_home), 0);
    end();
}

static void count_foreign(void *user, const cache_entry *e)
{
    *(int *)user += e->is_foreign;
}

static int foreign_entries(void)
{
    int count = 0;
    cache_each(count_foreign, &count);
    return count;
}

// Entries are run: whatever somebody else could have written is not used.
TEST(cache_takes_nothing_that_others_may_write)
{
    start();
    char path[512], aside[600];
    cache_request q = request_of("a.c", "text");
    cache_state seen;
    put(&q, "code");
    assert_true(get_is(&q, "code"));
    assert_int_equal(entry_path(path, ".code"), 1);
    static const mode_t modes[] = {0666, 0620, 0602};
    for (int k = 0; k < 3; k++) {
        chmod(path, modes[k]);
        assert_true(get_is(&q, NULL));
        assert_int_equal(foreign_entries(), 1);
    }
    chmod(path, 0644);
    assert_true(get_is(&q, "code") && !foreign_entries());
    // A link, even to the right file; what is compiled then takes its place.
    snprintf(aside, sizeof aside, "%s/aside", beside);
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(symlink(aside, path), 0);
    assert_true(get_is(&q, NULL));
    put(&q, "code");
    assert_true(get_is(&q, "code"));
    static const mode_t folder_modes[] = {01777, 0770, 0702};
    for (int k = 0; k < 3; k++) {
        chmod(folder, folder_modes[k]);
        assert_true(get_is(&q, NULL));
        cache_look(&seen);
        assert_true(!seen.is_on && strstr(seen.reason, "others may write into the folder"));
    }
    chmod(folder, 0755);
    assert_true(get_is(&q, "code"));
    if (geteuid() == 0) { // only root can give files away
        assert_int_equal(chown(path, 65534, 65534), 0);
        assert_true(get_is(&q, NULL));
        assert_int_equal(chown(path, 0, 0) | chown(folder, 65534, 65534), 0);
        assert_true(get_is(&q, NULL));
        cache_look(&seen);
        assert_true(strstr(seen.reason, "belongs to another user") != NULL);
        assert_int_equal(chown(folder, 0, 0), 0);
    }
    end();
}

// A text that was made from a file: found by its text, shown with the file's name.
TEST(cache_says_about_which_file_a_text_is)
{
    start();
    char path[512];
    snprintf(path, sizeof path, "%s/kernel.c", beside);
    write_text(path, "the source");
    cache_request q = request_of(NULL, "generated text"), same = q;
    char *answer = cache_why(path);
    assert_true(strstr(answer, "never compiled with this cache") &&
                strstr(answer, "KILN_CPU=wait"));
    free(answer);
    q.about = path;
    put(&q, "code");
    assert_true(get_is(&same, "code"));
    answer = cache_why(path);
    assert_true(strstr(answer, "there was nothing in the cache") &&
                strstr(answer, "its compiled code is in the cache"));
    free(answer);
    write_text(path, "another source");
    answer = cache_why(path);
    assert_true(strstr(answer, "has changed: the next use compiles it") != NULL);
    free(answer);
    end();
}

TEST(cache_stays_below_its_limit_and_keeps_what_is_used)
{
    start();
    setenv("KILN_CACHE_SIZE", "256K", 1);
    static char value[16000];
    char source[16];
    cache_request kept = request_of("kept.c", "kept");
    cache_put(&kept, NULL, 0, value, sizeof value);
    for (int k = 0; k < 100; k++) {
        snprintf(source, sizeof source, "%d", k);
        cache_request q = request_of(NULL, source);
        cache_put(&q, NULL, 0, value, sizeof value);
        void *bytes;
        size_t len;
        assert_true(cache_get(&kept, &bytes, &len)); // in use
        free(bytes);
        assert_true(folder_bytes() <= 256 * 1024);
    }
    assert_true(folder_bytes() > 200 * 1024);
    cache_request huge = request_of("huge.c", "huge");
    char *much = calloc(1, 200 * 1024);
    cache_put(&huge, NULL, 0, much, 200 * 1024); // more than half of it: not worth it
    free(much);
    assert_true(get_is(&huge, NULL));
    assert_true(cache_clear() > 5);
    assert_int_equal(folder_bytes(), 0);
    end();
}

// Puts and gets shared keys; a value must be whole and the key's own whenever there is one. 0:
// fine.
static int hammer(unsigned seed)
{
    static const size_t most = 40000;
    char *value = malloc(most), source[16];
    if (!value)
        return 1;
    for (int round = 0; round < 150; round++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned key = seed >> 16 & 31;
        snprintf(source, sizeof source, "%u", key);
        cache_request q = request_of("same.c", source);
        size_t want = 1000 + key * 1200;
        void *bytes;
        size_t len;
        if (cache_get(&q, &bytes, &len)) {
            bool good = len == want;
            for (size_t k = 0; good && k < len; k++)
                good = ((unsigned char *)bytes)[k] == (unsigned char)(key * 7 + k);
            free(bytes);
            if (!good)
                return 2;
        } else {
            for (size_t k = 0; k < want; k++)
                value[k] = (char)(key * 7 + k);
            cache_put(&q, NULL, 0, value, want);
        }
        if (round % 50 == 49)
            free(cache_why("same.c"));
        if (seed % 97 == 0)
            cache_clear();
    }
    free(value);
    return 0;
}

TEST(cache_is_shared_by_sixteen_processes)
{
    start();
    setenv("KILN_CACHE_SIZE", "300K", 1); // so that they throw each other's entries out, too
    pid_t children[16];
    fflush(NULL);
    for (unsigned k = 0; k < 16; k++)
        if (!(children[k] = fork()))
            _exit(hammer(k + 1));
    int bad = 0;
    for (int k = 0; k < 16; k++) {
        int status = 0;
        waitpid(children[k], &status, 0);
        bad += status != 0;
    }
    assert_int_equal(bad, 0);
    assert_true(folder_bytes() <= 300 * 1024 + 16 * 40000);
    char path[512];
    assert_int_equal(entry_path(path, "part-"), 0);
    end();
}

static void *hammer_thread(void *seed)
{
    return (void *)(intptr_t)hammer((unsigned)(uintptr_t)seed);
}

TEST(cache_is_shared_by_threads)
{
    start();
    setenv("KILN_CACHE_SIZE", "300K", 1);
    pthread_t threads[8];
    void *result;
    for (uintptr_t k = 0; k < 8; k++)
        assert_int_equal(pthread_create(&threads[k], NULL, hammer_thread, (void *)(k + 100)), 0);
    int bad = 0;
    for (int k = 0; k < 8; k++) {
        pthread_join(threads[k], &result);
        bad += result != NULL;
    }
    assert_int_equal(bad, 0);
    end();
}

// --- whole modules, on a driver that runs nothing (tests/fake)
static const char talking[] =
    "#include <kiln/kernel.h>\n#include \"tile.h\"\n"
    "struct pair { i32 a; f32 b; };\n"
    "kernel block(TILE) min_blocks(2) void first(f32 *y, const u8 *x, struct pair p, i64 n)\n"
    "{ assert(n > 0); if (n == 7) printf(\"%d %s\\n\", p.a, \"seven\"); y[0] = (f32)x[0] * p.b; }\n"
    "kernel void second(u32 *x) { x[0] = 1; }\n";

static void describe_module(const kiln_module *m, char *out, size_t size)
{
    size_t len = 0, code_len;
    const char *code = kiln_module_code(m, &code_len);
    for (size_t k = 0; k < kiln_module_kernel_count(m); k++) {
        kiln_kernel *kernel;
        uint32_t block[3];
        kiln_module_kernel_at(m, k, &kernel);
        kiln_kernel_block(kernel, block);
        len += (size_t)snprintf(out + len, size - len, "%s %u", kiln_kernel_name(kernel), block[0]);
        for (size_t p = 0; p < kiln_kernel_param_count(kernel); p++) {
            kiln_param_info info;
            kiln_kernel_param(kernel, p, &info);
            len += (size_t)snprintf(out + len, size - len, " [%s %d %d %zu %d %s]", info.name,
                                    info.kind, info.type, info.size, info.is_const, info.c_type);
        }
    }
    snprintf(out + len, size - len, "\n%s\n%.*s", kiln_module_log(m), (int)code_len, code);
}

// Compiles the file and describes it; hits and misses must be as said. 0: fine.
static int compile_once(kiln *k, const char *path, const char *define, uint64_t hits,
                        uint64_t misses, char *out, size_t size)
{
    const char *defines[] = {define, NULL};
    kiln_module *m;
    cache_counts before = cache_counts_now();
    if (kiln_compile(k, &(kiln_compile_desc){.path = path, .define = defines}, &m)) {
        fprintf(stderr, "%s\n", kiln_last_error(k)->text);
        return 1;
    }
    cache_counts after = cache_counts_now();
    describe_module(m, out, size);
    kiln_buffer *b;
    kiln_kernel *kernel;
    int bad = kiln_buffer_new(k, KILN_U32, 4, &b) || kiln_module_kernel(m, "second", &kernel) ||
              kiln_launch(kernel, &(kiln_launch_desc){.grid = {1},
                                                      .block = {32},
                                                      .args = (kiln_arg[]){kiln_arg_buffer(b)},
                                                      .arg_count = 1});
    kiln_module_free(m);
    return bad || after.hits - before.hits != hits || after.misses - before.misses != misses;
}

static int modules_come_back(void)
{
    static char first[20000], again[20000];
    char path[128], header[128];
    snprintf(path, sizeof path, "%s/talks.c", beside);
    snprintf(header, sizeof header, "%s/tile.h", beside);
    write_text(path, talking);
    write_text(header, "enum { TILE = 64 };\n");
    kiln *k;
    if (kiln_open("cuda", &k))
        return 1;
    if (compile_once(k, path, "A=1", 0, 1, first, sizeof first) ||
        !strstr(first, "first 64 [y 1 14 4 0"))
        return 2;
    if (compile_once(k, path, "A=1", 1, 0, again, sizeof again) || strcmp(first, again))
        return 3;
    if (compile_once(k, path, "A=2", 0, 1, again, sizeof again))
        return 4;
    write_text(header, "enum { TILE = 128 };\n");
    if (compile_once(k, path, "A=1", 0, 1, again, sizeof again) || !strstr(again, "first 128"))
        return 5;
    char entry[512];
    if (entry_path(entry, ".code") != 2 || truncate(entry, 1000))
        return 6;
    compile_once(k, path, "A=1", 0, 1, again, sizeof again); // one of the two was cut
    compile_once(k, path, "A=2", 0, 1, again, sizeof again);
    if (compile_once(k, path, "A=1", 1, 0, again, sizeof again) ||
        compile_once(k, path, "A=2", 1, 0, again, sizeof again))
        return 7;
    setenv("KILN_CACHE", "off", 1);
    if (compile_once(k, path, "A=1", 0, 0, again, sizeof again))
        return 8;
    kiln_close(k);
    return 0;
}

TEST(cache_gives_modules_back_without_compiling)
{
    char fake[512];
    ssize_t len = readlink("/proc/self/exe", fake, sizeof fake - 32);
    assert_true(len > 0);
    fake[len] = 0;
    char *folder_end = strrchr(fake, '/');
    *folder_end = 0;
    folder_end = strrchr(fake, '/');
    strcpy(folder_end, "/libfakecuda.so");
    if (access(fake, R_OK))
        SKIP("there is no tests/libfakecuda.so in the build folder");
    start();
    setenv("KILN_CUDA_LIBRARY", fake, 1);
    assert_int_equal(in_child(modules_come_back), 0);
    unsetenv("KILN_CUDA_LIBRARY");
    end();
}
