// The public builder <kiln/ir.h>: a kernel built by hand runs; mistakes are kept and named.
#include <kiln/ir.h>
#include <string.h>

#include "tests/test.h"

// y[i] = sum of x[0..n), each thread its own copy, in shared memory first.
static kiln_ir *sum_kernel(void)
{
    kiln_ir *b = kiln_ir_new();
    kiln_ir_param params[] = {
        {.name = "x", .type = KILN_F32, .is_pointer = true, .is_const = true},
        {.name = "y", .type = KILN_F32, .is_pointer = true},
        {.name = "n", .type = KILN_U32},
    };
    kiln_ir_kernel(b, &(kiln_ir_kernel_desc){
                          .name = "sum", .block = {32}, .params = params, .param_count = 3});
    kiln_ir_value lane = kiln_ir_emit(b, "thread.x", KILN_IR_NONE, NULL, 0);
    kiln_ir_value tile = kiln_ir_shared(b, "tile", KILN_IR_F32, 32);
    kiln_ir_value start[] = {kiln_ir_int(b, KILN_IR_I32, 0), kiln_ir_real(b, KILN_IR_F32, 0)};
    kiln_ir_type real = KILN_IR_F32;
    kiln_ir_label loop = kiln_ir_loop(b, start, 2, &real, 1);
    kiln_ir_value i = kiln_ir_loop_arg(b, loop, 0), s = kiln_ir_loop_arg(b, loop, 1);
    kiln_ir_if(b, kiln_ir_emit2(b, "ult", KILN_IR_I32, i, kiln_ir_arg(b, 2)), NULL, 0);
    kiln_ir_else(b);
    kiln_ir_exit(b, loop, &s, 1);
    kiln_ir_end(b);
    kiln_ir_value v = kiln_ir_load(b, KILN_IR_F32, kiln_ir_index(b, kiln_ir_arg(b, 0), i, 4), 0);
    kiln_ir_value next[] = {kiln_ir_emit2(b, "add", KILN_IR_I32, i, kiln_ir_int(b, KILN_IR_I32, 1)),
                            kiln_ir_emit2(b, "fadd", KILN_IR_F32, s, v)};
    kiln_ir_next(b, loop, next, 2);
    kiln_ir_end(b);
    kiln_ir_value mine = kiln_ir_index(b, tile, lane, 4);
    kiln_ir_store(b, KILN_IR_F32, mine, 0, kiln_ir_result(b, loop, 0));
    kiln_ir_emit(b, "barrier", KILN_IR_NONE, NULL, 0);
    kiln_ir_value out = kiln_ir_index(b, kiln_ir_arg(b, 1), lane, 4);
    kiln_ir_store(b, KILN_IR_F32, out, 0, kiln_ir_load(b, KILN_IR_F32, mine, 0));
    kiln_ir_end(b);
    return b;
}

TEST(ir_public_builds_and_runs)
{
    kiln_ir *b = sum_kernel();
    assert_string_equal(kiln_ir_error(b), "");
    const char *source = NULL;
    size_t len = 0;
    assert_int_equal(kiln_ir_text(b, &source, &len), KILN_OK);
    kiln *k;
    assert_int_equal(kiln_open("interp", &k), KILN_OK);
    kiln_module *m;
    kiln_compile_desc desc = {.source = source, .source_len = len, .is_ir = true};
    if (kiln_compile(k, &desc, &m) != KILN_OK)
        fail_msg("%s", kiln_last_error(k)->text);
    kiln_kernel *sum;
    assert_int_equal(kiln_module_kernel(m, "sum", &sum), KILN_OK);
    kiln_buffer *x, *y;
    assert_int_equal(kiln_buffer_new(k, KILN_F32, 5, &x), KILN_OK);
    assert_int_equal(kiln_buffer_new(k, KILN_F32, 32, &y), KILN_OK);
    float in[] = {1, 2, 3, 4, 0.5f}, out[32] = {0};
    kiln_write(x, 0, in, 5);
    kiln_arg args[] = {kiln_arg_buffer(x), kiln_arg_buffer(y), kiln_arg_i64(KILN_U32, 5)};
    if (kiln_launch(sum, &(kiln_launch_desc){.grid = {1}, .args = args, .arg_count = 3}) != KILN_OK)
        fail_msg("%s", kiln_last_error(k)->text);
    kiln_read(y, 0, out, 32);
    for (int i = 0; i < 32; i++)
        assert_true(out[i] == 10.5f);
    kiln_close(k);
    kiln_ir_free(b);
}

static kiln_ir *open_kernel(void)
{
    kiln_ir *b = kiln_ir_new();
    kiln_ir_param x = {.name = "x", .type = KILN_I32, .is_pointer = true};
    kiln_ir_kernel(b, &(kiln_ir_kernel_desc){.name = "k", .params = &x, .param_count = 1});
    return b;
}

static void expect_mistake(kiln_ir *b, const char *says)
{
    const char *source;
    assert_int_equal(kiln_ir_text(b, &source, NULL), KILN_E_COMPILE);
    if (!strstr(kiln_ir_error(b), says))
        fail_msg("'%s' does not say '%s'", kiln_ir_error(b), says);
    kiln_ir_free(b);
}

// A parameter that only the copy engine reads: in the text and at launch it has its own kind.
TEST(ir_public_takes_tensor_maps)
{
    kiln_ir *b = kiln_ir_new();
    kiln_ir_param params[] = {{.name = "map", .is_tensor_map = true}};
    kiln_ir_kernel(
        b, &(kiln_ir_kernel_desc){.name = "k", .block = {32}, .params = params, .param_count = 1});
    kiln_ir_emit1(b, "nv.tensor.map_prefetch", KILN_IR_NONE, kiln_ir_arg(b, 0));
    kiln_ir_end(b);
    const char *source = NULL;
    size_t len = 0;
    assert_int_equal(kiln_ir_text(b, &source, &len), KILN_OK);
    assert_non_null(strstr(source, "%map: tensor_map"));
    kiln *k;
    assert_int_equal(kiln_open("interp", &k), KILN_OK);
    kiln_module *m;
    kiln_compile_desc desc = {.source = source, .source_len = len, .is_ir = true};
    if (kiln_compile(k, &desc, &m) != KILN_OK)
        fail_msg("%s", kiln_last_error(k)->text);
    kiln_kernel *kernel;
    kiln_param_info info;
    assert_int_equal(kiln_module_kernel(m, "k", &kernel), KILN_OK);
    assert_int_equal(kiln_kernel_param(kernel, 0, &info), KILN_OK);
    assert_int_equal(info.kind, KILN_PARAM_TENSOR_MAP);
    assert_int_equal(info.size, sizeof(kiln_tensor_map));
    kiln_tensor_map map = {{0}};
    kiln_arg wrong = kiln_arg_struct(&map, 64), right = kiln_arg_struct(&map, sizeof map);
    kiln_launch_desc launch = {.grid = {1}, .args = &wrong, .arg_count = 1};
    assert_int_equal(kiln_launch(kernel, &launch), KILN_E_LAUNCH);
    assert_non_null(strstr(kiln_last_error(k)->text, "expects a kiln_tensor_map"));
    launch.args = &right;
    assert_int_equal(kiln_launch(kernel, &launch), KILN_OK);
    kiln_close(k);
    kiln_ir_free(b);
}

TEST(ir_public_keeps_the_first_mistake)
{
    kiln_ir *b = open_kernel();
    kiln_ir_emit(b, "nonsense", KILN_IR_I32, NULL, 0);
    kiln_ir_arg(b, 7);
    expect_mistake(b, "'nonsense'");

    b = open_kernel();
    kiln_ir_arg(b, 7);
    expect_mistake(b, "no parameter 7");

    b = open_kernel();
    kiln_ir_emit1(b, "add", KILN_IR_I32, kiln_ir_int(b, KILN_IR_I32, 1));
    expect_mistake(b, "takes 2 operands");

    b = open_kernel();
    kiln_ir_emit2(b, "add", KILN_IR_I32, (kiln_ir_value){99}, kiln_ir_int(b, KILN_IR_I32, 1));
    expect_mistake(b, "value 99");

    b = open_kernel();
    kiln_ir_emit2(b, "add", KILN_IR_I32, kiln_ir_int(b, KILN_IR_I64, 1),
                  kiln_ir_int(b, KILN_IR_I32, 1));
    kiln_ir_end(b);
    expect_mistake(b, "operand 1 has type i64");

    b = open_kernel();
    kiln_ir_return(b);
    kiln_ir_emit(b, "barrier", KILN_IR_NONE, NULL, 0);
    expect_mistake(b, "nothing can follow");

    b = open_kernel();
    expect_mistake(b, "still open");

    static const kiln_ir_param maps[] = {
        {.name = "map", .is_tensor_map = true},
        {.name = "map", .is_tensor_map = true, .is_pointer = true}};
    b = kiln_ir_new();
    kiln_ir_kernel(b, &(kiln_ir_kernel_desc){.name = "k", .params = &maps[1], .param_count = 1});
    expect_mistake(b, "'map' is a tensor map");
    b = kiln_ir_new();
    kiln_ir_kernel(b, &(kiln_ir_kernel_desc){.name = "k", .params = maps, .param_count = 1});
    kiln_ir_load(b, KILN_IR_I32, kiln_ir_arg(b, 0), 0);
    kiln_ir_end(b);
    expect_mistake(b, "a tensor map cannot be read");

    b = open_kernel();
    kiln_ir_else(b);
    expect_mistake(b, "without an open if");

    b = open_kernel();
    kiln_ir_load_many(b, KILN_IR_I32, kiln_ir_arg(b, 0), 0, 12, &(kiln_ir_value){0}, 1);
    expect_mistake(b, "alignment 12");

    b = kiln_ir_new();
    kiln_ir_int(b, KILN_IR_I32, 1);
    expect_mistake(b, "open a kernel first");

    b = kiln_ir_new();
    kiln_ir_kernel(b, &(kiln_ir_kernel_desc){.name = "no name"});
    expect_mistake(b, "is not a name");

    assert_int_equal(kiln_ir_text(NULL, NULL, NULL), KILN_E_BAD_HANDLE);
    kiln_ir_free(NULL);
}
