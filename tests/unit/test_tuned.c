// rt/tuned: lines of tables, what is found for which sizes, broken and random texts, many writers
// at once, compiles that ask for tuned values, and products whose tile was tuned.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/embed.h"
#include "kiln/kiln.h"
#include "kiln/ops.h"
#include "ops/op.h"
#include "rt/tuned/tuned.h"
#include "tests/test.h"

static char folder[64];

static void start(void)
{
    strcpy(folder, "/tmp/kiln-tuned-XXXXXX");
    assert_non_null(mkdtemp(folder));
    setenv("KILN_CACHE_DIR", folder, 1);
    setenv("KILN_TUNED", "on", 1); // tests/all switches it off
}

static void end(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    (void)!system(command);
    unsetenv("KILN_CACHE_DIR");
    unsetenv("KILN_TUNED");
}

static tuned_row row_of(const char *device, const char *program, const char *shape,
                        const char *choice)
{
    return (tuned_row){.device = device,
                       .driver = 13000,
                       .program = program,
                       .shape = shape,
                       .choice = choice,
                       .us = 1.5,
                       .default_us = 2,
                       .tried = 4,
                       .failed = 1};
}

static void add(tuned_table *t, const char *device, const char *program, const char *shape,
                const char *choice)
{
    tuned_row row = row_of(device, program, shape, choice);
    assert_true(tuned_add(t, &row));
}

static const char *found(const tuned_table *t, const char *program, const char *sizes)
{
    const tuned_row *row = tuned_find(t, "GPU", 13000, program, sizes);
    return row ? row->choice : "none";
}

TEST(tuned_rows_are_found_by_the_nearest_sizes)
{
    tuned_table t = {0};
    assert_null(tuned_find(&t, "GPU", 13000, "p", ""));
    add(&t, "GPU", "p", "n=1024 m=8", "TILE=32");
    add(&t, "GPU", "p", "n=4096 m=8", "TILE=64");
    add(&t, "GPU", "p", "n=16384 m=8", "TILE=128");
    add(&t, "GPU", "q", "", "STEP=2");
    add(&t, "other", "p", "n=4096 m=8", "TILE=1");
    assert_string_equal(found(&t, "p", "n=4096"), "TILE=64");
    assert_string_equal(found(&t, "p", "m=8 n=5000"), "TILE=64");
    assert_string_equal(found(&t, "p", "n=2100"), "TILE=64");  // within a factor of two
    assert_string_equal(found(&t, "p", "n=2040"), "TILE=32");  // the same
    assert_string_equal(found(&t, "p", "n=9000"), "TILE=128"); // nearer to 16384
    assert_string_equal(found(&t, "p", "n=100"), "none");
    assert_string_equal(found(&t, "p", "n=4096 m=100"), "none");
    assert_string_equal(found(&t, "p", "k=5 n=4096"), "TILE=64"); // no row has a k
    assert_string_equal(found(&t, "p", "n=0"), "none");
    assert_string_equal(found(&t, "q", ""), "STEP=2");
    assert_string_equal(found(&t, "r", ""), "none");
    assert_null(tuned_find(&t, "GPU", 12000, "p", "n=4096"));
    assert_null(tuned_find(&t, "GPU", 13000, "p", "n"));
    tuned_free(&t);
}

TEST(tuned_without_sizes_takes_the_longest)
{
    tuned_table t = {0};
    tuned_row small = row_of("GPU", "p", "n=9", "TILE=1"),
              large = row_of("GPU", "p", "n=99", "TILE=2");
    large.default_us = 50;
    assert_true(tuned_add(&t, &large) && tuned_add(&t, &small));
    assert_string_equal(found(&t, "p", ""), "TILE=2");
    tuned_free(&t);
}

TEST(tuned_later_rows_replace_earlier_ones)
{
    tuned_table t = {0};
    for (int n = 0; n < 100; n++) {
        char shape[32], choice[32];
        snprintf(shape, sizeof shape, "n=%d", n % 7 + 1);
        snprintf(choice, sizeof choice, "TILE=%d", n);
        add(&t, "GPU", "p", shape, choice);
    }
    const tuned_row *rows;
    assert_int_equal(tuned_rows(&t, "GPU", 13000, "p", &rows), 7);
    assert_int_equal(t.count, 7);
    assert_string_equal(found(&t, "p", "n=1"), "TILE=98");
    assert_string_equal(found(&t, "p", "n=2"), "TILE=99");
    assert_string_equal(found(&t, "p", "n=7"), "TILE=97");
    tuned_free(&t);
}

TEST(tuned_broken_lines_are_counted_and_left_out)
{
    static const char *const broken[] = {
        "words",
        "GPU\t1\tp\tn=1\tT=1\t1\t1\t1",       // a field is missing
        "GPU\t1\tp\tn=1\tT=1\t1\t1\t1\t1\t1", // one too many
        "GPU\t-1\tp\tn=1\tT=1\t1\t1\t1\t1",   // numbers
        "GPU\tx\tp\tn=1\tT=1\t1\t1\t1\t1",
        "GPU\t1\tp\tn=1\tT=1\tnan\t1\t1\t1",
        "GPU\t1\tp\tn=1\tT=1\t1\tinf\t1\t1",
        "GPU\t1\tp\tn=1\tT=1\t-1\t1\t1\t1",
        "GPU\t1\tp\tn=1\tT=1\t1\t1\t-1\t1",
        "GPU\t1\tp\tn=1\tT=1\t1\t1\t1\t99999999999",
        "\t1\tp\tn=1\tT=1\t1\t1\t1\t1", // names
        "GPU\t1\t\tn=1\tT=1\t1\t1\t1\t1",
        "GPU\t1\tp\tn\tT=1\t1\t1\t1\t1", // lists
        "GPU\t1\tp\tn=1 \tT=1\t1\t1\t1\t1",
        "GPU\t1\tp\tn=1\tT=x\t1\t1\t1\t1",
        "GPU\t1\tp\tn=1\tT=1  S=2\t1\t1\t1\t1",
        "GPU\t1\tp\tn=1\t1=1\t1\t1\t1\t1",
        "GPU\t1\tp\tn=1\tT=99999999999999999999\t1\t1\t1\t1",
        "G\033[2JPU\t1\tp\tn=1\tT=1\t1\t1\t1\t1", // would clear a terminal
    };
    tuned_table t = {0};
    const char *good = "GPU\t13000\tp\tn=1\tTILE=2\t1\t2\t3\t4";
    for (size_t n = 0; n < sizeof broken / sizeof *broken; n++) {
        char lines[400];
        snprintf(lines, sizeof lines, "%s\n\n# comment\n%s", broken[n], good);
        assert_true(tuned_read(&t, lines, strlen(lines)));
        assert_int_equal(t.broken, n + 1);
        assert_int_equal(t.count, 1);
    }
    assert_true(tuned_read(&t, "GPU\0\t1\n", 7));
    assert_int_equal(t.count, 1);
    assert_string_equal(found(&t, "p", "n=1"), "TILE=2");
    tuned_free(&t);
}

static uint64_t next(uint64_t *from)
{
    *from = *from * 6364136223846793005u + 1442695040888963407u;
    return *from >> 33;
}

// Whatever the bytes are: what is read is written and read again as the same table.
TEST(tuned_random_texts_read_back)
{
    static const char pieces[] = "\t\t\t\t\n\nGPU n=1 T=64 -0123456789.e#\033\xff=pq";
    static const char line[] = "GPU\t1\tp\tn=1\tT=1\t1\t1\t1\t1\n";
    uint64_t seed = 7;
    size_t rows = 0;
    for (int round = 0; round < 3000; round++) {
        char lines[600];
        size_t len = next(&seed) % sizeof lines;
        for (size_t n = 0; n < len; n++)
            lines[n] = pieces[next(&seed) % (sizeof pieces - 1)];
        size_t at = len > sizeof line ? next(&seed) % (len - sizeof line) : 0;
        if (len > sizeof line && round % 2) { // a line that is fine, but for a byte or two
            memcpy(lines + at, line, sizeof line - 1);
            for (uint64_t n = next(&seed) % 3; n; n--)
                lines[at + next(&seed) % sizeof line] = pieces[next(&seed) % (sizeof pieces - 1)];
        }
        tuned_table first = {0}, second = {0};
        size_t first_len = 0, second_len = 0;
        assert_true(tuned_read(&first, lines, len));
        char *written = tuned_write(&first, &first_len);
        assert_non_null(written);
        assert_true(tuned_read(&second, written, first_len));
        char *again = tuned_write(&second, &second_len);
        assert_non_null(again);
        assert_int_equal(second.broken, 0);
        assert_int_equal(first.count, second.count);
        assert_string_equal(written, again);
        rows += first.count;
        free(written);
        free(again);
        tuned_free(&first);
        tuned_free(&second);
    }
    assert_true(rows > 100);
}

TEST(tuned_writers_do_not_lose_each_others_rows)
{
    enum { WRITERS = 6, ROWS = 5 };
    start();
    fflush(NULL);
    pid_t children[WRITERS];
    for (int child = 0; child < WRITERS; child++) {
        children[child] = fork();
        if (children[child])
            continue;
        int failed = 0;
        for (int n = 0; n < ROWS; n++) {
            char shape[32], why[200];
            snprintf(shape, sizeof shape, "child=%d n=%d", child, n);
            tuned_row row = row_of("GPU", "p", shape, "TILE=3");
            tuned_table t = {0};
            failed |= !tuned_add(&t, &row) || !tuned_merge(&t, why, sizeof why);
            tuned_free(&t);
        }
        _exit(failed);
    }
    for (int child = 0; child < WRITERS; child++) {
        int status = 1;
        waitpid(children[child], &status, 0);
        assert_int_equal(status, 0);
    }
    tuned_table all;
    char path[1200], why[200];
    assert_true(tuned_load(&all, path, why, sizeof why));
    assert_int_equal(all.count, WRITERS * ROWS);
    assert_int_equal(all.broken, 0);
    tuned_free(&all);
    end();
}

// Each shipped row by itself, with a look for another device in between; one's own rows win, and no
// device gets those of another whose name begins alike.
TEST(tuned_shipped_rows_are_found)
{
    size_t len = 0;
    const char *lines = embed_find("lib/tuned.txt", &len);
    tuned_table all = {0}, own = {0};
    char choice[TUNED_FIELD], why[200], longer[TUNED_FIELD];
    assert_non_null(lines);
    assert_true(tuned_read(&all, lines, len) && all.count && !all.broken);
    start();
    for (size_t n = 0; n < all.count; n++) {
        const tuned_row *row = &all.rows[n];
        snprintf(longer, sizeof longer, "%s.", row->device);
        assert_true(tuned_lookup(row->device, row->driver, row->program, row->shape, choice));
        assert_string_equal(choice, row->choice);
        assert_false(tuned_lookup(longer, row->driver, row->program, row->shape, choice));
    }
    tuned_row mine = all.rows[0];
    mine.choice = "tile_m=1 tile_n=1";
    assert_true(tuned_add(&own, &mine) && tuned_merge(&own, why, sizeof why));
    assert_true(tuned_lookup(mine.device, mine.driver, mine.program, mine.shape, choice));
    assert_string_equal(choice, mine.choice);
    tuned_free(&own);
    tuned_free(&all);
    end();
}

TEST(tuned_files_of_others_are_not_read)
{
    start();
    tuned_table t = {0};
    char path[1200], why[200], choice[TUNED_FIELD];
    add(&t, "GPU", "p", "n=1", "TILE=3");
    assert_true(tuned_merge(&t, why, sizeof why));
    assert_true(tuned_lookup("GPU", 13000, "p", "n=1", choice));
    tuned_free(&t);
    snprintf(path, sizeof path, "%s/tuned.txt", folder);
    chmod(path, 0666);
    assert_true(tuned_load(&t, path, why, sizeof why));
    assert_int_equal(t.count, 0);
    chmod(folder, 0777);
    assert_false(tuned_load(&t, path, why, sizeof why));
    assert_false(tuned_merge(&t, why, sizeof why));
    assert_non_null(strstr(why, "others may write"));
    end();
}

// --- compiling

static const char source[] = "#include <kiln/kernel.h>\n"
                             "tune(TILE, 16, 8, 32);\ntune(STEP, 1, 2);\n"
                             "kernel block(TILE) void scale(f32 *x, i32 n)\n"
                             "{ i32 i = (i32)global_x(); if (i < n) x[i] *= (f32)STEP; }\n";

static void keep(kiln *k, const char *lines, const char *kernel, const char *choice)
{
    char program[TUNED_PROGRAM], device[TUNED_FIELD], why[200];
    int driver;
    assert_int_equal(tuned_device(k, device, &driver), KILN_OK);
    tuned_program(lines, strlen(lines), NULL, kernel, program);
    tuned_row row = row_of(device, program, "n=1000", choice);
    row.driver = driver;
    tuned_table t = {0};
    assert_true(tuned_add(&t, &row));
    assert_true(tuned_merge(&t, why, sizeof why));
    tuned_free(&t);
}

// TILE and STEP of the compiled kernel as TILE * 10 + STEP; below 0: the status.
static int64_t values_of(kiln *k, kiln_compile_desc desc)
{
    kiln_module *m;
    kiln_kernel *kernel;
    int64_t tile = 0, step = 0;
    desc.source = desc.source ? desc.source : source;
    kiln_status status = kiln_compile(k, &desc, &m);
    if (status)
        return -(int64_t)status;
    assert_int_equal(kiln_module_kernel(m, "scale", &kernel), KILN_OK);
    assert_int_equal(kiln_kernel_constant(kernel, "TILE", &tile), KILN_OK);
    assert_int_equal(kiln_kernel_constant(kernel, "STEP", &step), KILN_OK);
    kiln_module_free(m);
    return tile * 10 + step;
}

TEST(tuned_compiles_take_what_was_found)
{
    start();
    kiln *k;
    assert_int_equal(kiln_open("interp", &k), KILN_OK);
    assert_int_equal(values_of(k, (kiln_compile_desc){.tuned = "scale n=1000"}), 161);
    keep(k, source, "scale", "TILE=32 STEP=2");
    assert_int_equal(values_of(k, (kiln_compile_desc){.tuned = NULL}), 161); // nobody asks
    assert_int_equal(values_of(k, (kiln_compile_desc){.tuned = "scale n=1000"}), 322);
    assert_int_equal(values_of(k, (kiln_compile_desc){.tuned = "scale"}), 322);
    assert_int_equal(values_of(k, (kiln_compile_desc){.tuned = "scale n=9000"}), 161);
    assert_int_equal(values_of(k, (kiln_compile_desc){.tuned = "other"}), 161);
    const char *const tile[] = {"TILE=8", NULL}, *const define[] = {"FAST", NULL};
    assert_int_equal(values_of(k, (kiln_compile_desc){.tuned = "scale", .tune = tile}), 82);
    assert_int_equal(values_of(k, (kiln_compile_desc){.tuned = "scale", .define = define}), 161);
    setenv("KILN_TUNED", "off", 1);
    assert_int_equal(values_of(k, (kiln_compile_desc){.tuned = "scale"}), 161);
    setenv("KILN_TUNED", "on", 1); // tests/all switches it off
    // A row whose values the file does not have, or that do not compile together.
    keep(k, source, "scale", "TILE=7 STEP=2");
    assert_int_equal(values_of(k, (kiln_compile_desc){.tuned = "scale"}), 161);
    keep(k, source, "scale", "WIDTH=1");
    assert_int_equal(values_of(k, (kiln_compile_desc){.tuned = "scale"}), 161);
    kiln_close(k);
    end();
}

TEST(tuned_words_that_make_no_sense_are_refused)
{
    kiln *k;
    assert_int_equal(kiln_open("interp", &k), KILN_OK);
    static const char *const wrong[] = {"", " n=1", "scale n", "scale n=x", "scale n=1  m=2"};
    for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
        assert_int_equal(values_of(k, (kiln_compile_desc){.tuned = wrong[n]}),
                         -KILN_E_BAD_ARGUMENT);
        assert_string_equal(kiln_last_error(k)->code, "K6003");
    }
    kiln_close(k);
}

// --- products

static void see_tile(void *user, const op_program *program, const char *const *define,
                     const char *const *tune)
{
    (void)program;
    (void)define;
    for (; *tune; tune++)
        if (!strncmp(*tune, "TILE=", 5))
            *(int *)user = atoi(*tune + 5);
}

// The tile of an f32 product on a fresh interpreter, which must give the right result.
static int tile_of_product(void)
{
    enum { M = 64, N = 96, K = 64 };
    static float a[M * K], b[K * N], c[M * N];
    int tile = 0;
    kiln *k;
    kiln_buffer *buffers[3];
    for (int n = 0; n < M * K; n++)
        a[n] = (float)(n % 7 - 3);
    for (int n = 0; n < K * N; n++)
        b[n] = (float)(n % 5 - 2);
    assert_int_equal(kiln_open("interp", &k), KILN_OK);
    assert_int_equal(op_see_variants(k, see_tile, &tile), KILN_OK);
    assert_int_equal(kiln_buffer_new(k, KILN_F32, M * K, &buffers[0]), KILN_OK);
    assert_int_equal(kiln_buffer_new(k, KILN_F32, K * N, &buffers[1]), KILN_OK);
    assert_int_equal(kiln_buffer_new(k, KILN_F32, M * N, &buffers[2]), KILN_OK);
    assert_int_equal(kiln_write(buffers[0], 0, a, M * K), KILN_OK);
    assert_int_equal(kiln_write(buffers[1], 0, b, K * N), KILN_OK);
    kiln_matmul_desc desc = {.a = KILN_VIEW(buffers[0], M, K),
                             .b = KILN_VIEW(buffers[1], K, N),
                             .out = KILN_VIEW(buffers[2], M, N)};
    for (int round = 0; round < 2; round++) // the second is warm
        assert_int_equal(kiln_matmul(k, &desc), KILN_OK);
    assert_int_equal(kiln_read(buffers[2], 0, c, M * N), KILN_OK);
    for (int row = 0; row < M; row++)
        for (int column = 0; column < N; column++) {
            float sum = 0;
            for (int n = 0; n < K; n++)
                sum += a[row * K + n] * b[n * N + column];
            assert_true(sum == c[row * N + column]);
        }
    kiln_close(k);
    return tile;
}

static void keep_tile(const char *program, const char *shape, const char *choice)
{
    kiln *k;
    char device[TUNED_FIELD], why[200];
    int driver;
    tuned_table t = {0};
    assert_int_equal(kiln_open("interp", &k), KILN_OK);
    assert_int_equal(tuned_device(k, device, &driver), KILN_OK);
    kiln_close(k);
    tuned_row row = row_of(device, program, shape, choice);
    row.driver = driver;
    assert_true(tuned_add(&t, &row));
    assert_true(tuned_merge(&t, why, sizeof why));
    tuned_free(&t);
}

TEST(tuned_products_take_the_tile_that_was_found)
{
    start();
    const char *program = "matmul:f32:f32:f32:nn:none", *shape = "m=64 n=96 k=64 batch=1";
    assert_int_equal(tile_of_product(), 64);
    keep_tile("matmul:f32:f32:f32:nt:none", shape, "tile_m=32 tile_n=32"); // another layout
    keep_tile(program, "m=64 n=96 k=65 batch=1", "tile_m=32 tile_n=32");   // another size
    assert_int_equal(tile_of_product(), 64);
    keep_tile(program, shape, "tile_m=32 tile_n=32");
    assert_int_equal(tile_of_product(), 32);
    setenv("KILN_TUNED", "off", 1);
    assert_int_equal(tile_of_product(), 64);
    setenv("KILN_TUNED", "on", 1);
    // Rows that no kernel has.
    static const char *const odd[] = {"tile_m=7 tile_n=7", "tile_m=-1 tile_n=32", "model=1", "",
                                      "tile_m=99999999999 tile_n=32"};
    for (size_t n = 0; n < sizeof odd / sizeof *odd; n++) {
        keep_tile(program, shape, odd[n]);
        assert_int_equal(tile_of_product(), 64);
    }
    end();
}
