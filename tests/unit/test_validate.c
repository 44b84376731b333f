// Translation validation names the pass that changes what a kernel does: wrong passes are put into
// the list, each must be named with its row.
#include "host/validate.h"

#include <string.h>

#include "pass/pass.h"
#include "pass/passes.h"
#include "tests/test.h"

static const char source[] = "#include <kiln/kernel.h>\n"
                             "//! run fine block=32 (u32[32]:rand, u32[32])\n"
                             "kernel block(32) void fine(const u32 *in, u32 *out)\n"
                             "{\n"
                             "    out[thread_x()] = in[thread_x()] ^ 5;\n"
                             "}\n"
                             "//! run victim block=32 (u32[32]:rand, u32[32])\n"
                             "kernel block(32) void victim(const u32 *in, u32 *out)\n"
                             "{\n"
                             "    u32 sum = 0;\n"
                             "    for (u32 k = 0; k < 4; k++)\n"
                             "        sum += in[(thread_x() + k * 3) & 31] / 3;\n"
                             "    out[thread_x()] = sum;\n"
                             "}\n";

// Turns the first division into a remainder.
static bool wrong_division(ir_func *f, pass_ctx *ctx)
{
    (void)ctx;
    for (uint32_t id = 1; id < f->insts.len; id++)
        if (ir_at(f, id)->op == IR_UDIV) {
            ir_at(f, id)->op = IR_UREM;
            return true;
        }
    return false;
}

// Drops the first store.
static bool wrong_store(ir_func *f, pass_ctx *ctx)
{
    (void)ctx;
    for (uint32_t id = 1; id < f->insts.len; id++)
        if (ir_at(f, id)->op == IR_STORE && !strcmp(f->name, "victim")) {
            ir_remove(f, id);
            return true;
        }
    return false;
}

enum { MOST_ROWS = 64 };

// The compiler's list with `wrong` before row `at` (from 0); at < 0: as it is.
static void make_list(pass_row rows[MOST_ROWS], int at, pass_fn *wrong)
{
    int n = 0;
    for (const pass_row *row = pass_list; row->name; row++) {
        if ((int)(row - pass_list) == at)
            rows[n++] = (pass_row){"wrong", wrong, 2, "a test"};
        assert_true(n < MOST_ROWS - 1);
        rows[n++] = *row;
    }
    rows[n] = (pass_row){0};
}

static bool is_sound(const pass_row *rows, int which, const corpus_data *want, char *why,
                     size_t size)
{
    corpus_file file = {.name = "validate"};
    assert_null(corpus_parse(source, &file));
    validator *v =
        validate_new(&(validate_source){.path = "v.c", .text = source, .passes = rows}, why, size);
    if (!v)
        print_error("%s\n", why);
    assert_non_null(v);
    bool ok = validate_case(v, &file.cases[which], want, why, size);
    assert_true(validate_runs(v) > 1 || !ok);
    validate_free(v);
    corpus_free(&file);
    return ok;
}

TEST(validate_accepts_the_passes)
{
    char why[300] = "";
    assert_true(is_sound(NULL, 0, NULL, why, sizeof why));
    assert_true(is_sound(NULL, 1, NULL, why, sizeof why));
}

TEST(validate_names_a_wrong_pass)
{
    pass_row rows[MOST_ROWS];
    char why[300] = "";
    make_list(rows, 7, wrong_division);
    assert_true(is_sound(rows, 0, NULL, why, sizeof why)); // the other kernel is left as it is
    assert_false(is_sound(rows, 1, NULL, why, sizeof why));
    assert_ptr_equal(strstr(why, "pass 'wrong' (row 8) changed the result of kernel 'victim': "),
                     why);
}

TEST(validate_names_a_late_wrong_pass)
{
    pass_row rows[MOST_ROWS];
    char why[300] = "";
    int last = 0;
    while (pass_list[last + 1].name)
        last++;
    make_list(rows, last, wrong_store);
    assert_false(is_sound(rows, 1, NULL, why, sizeof why));
    char expected[80];
    snprintf(expected, sizeof expected, "pass 'wrong' (row %d) changed", last + 1);
    assert_ptr_equal(strstr(why, expected), why);
}

TEST(validate_tells_front_and_passes_apart)
{
    corpus_file file = {.name = "validate"};
    corpus_data want;
    char why[300] = "";
    assert_null(corpus_parse(source, &file));
    for (int i = 0; i < 2; i++)
        file.cases[0].args[i].size = 4;
    assert_true(corpus_data_new(&file.cases[0], &want)); // what a kernel that does nothing leaves
    assert_false(is_sound(NULL, 0, &want, why, sizeof why));
    assert_ptr_equal(strstr(why, "kernel 'fine' is wrong before the passes: "), why);
    corpus_data_free(&file.cases[0], &want);
    corpus_free(&file);
}
