// Layers whose weights become numbers in a workspace, and those of integers: products of
// ops/matmul. Start reading at linear_run_unpack.
#include "ops/linear/host_job.h"

#include "rt/memory/view.h"

#define AXES "ops/linear/axes.def"
#include "ops/axes.h"
static const op_program scaled_program = OP_PROGRAM("ops/linear/scaled.c", "linear_scaled");

enum { MOST_BYTE_ROWS = 64 }; // of x of i8: up to where the kernel of one launch is faster

// Why it is impossible; NULL: it is possible.
const char *linear_unpack_obstacle(const job *j)
{
    kiln_type x = kiln_view_type(j->x), out = kiln_view_type(*j->layers[0].out);
    if (j->count > 1)
        return "there are three weights";
    if (!j->x.sizes[1])
        return "K is 0";
    return x == KILN_F32 && out != KILN_F32 ? "the product of f32 is f32" : NULL;
}

bool linear_is_unpacked(const job *j, const kiln_device_info *info)
{
    kiln_type x = kiln_view_type(j->x);
    uint64_t most = x == KILN_I8 ? MOST_BYTE_ROWS : FEW_ROWS;
    bool is_fast = !info->caps.is_host && (x != KILN_I8 || info->caps.has_wgmma);
    return j->kernel == KILN_LINEAR_UNPACK || (j->kernel == KILN_LINEAR_BEST && is_fast &&
                                               j->x.sizes[0] > most && !linear_unpack_obstacle(j));
}

static bool is_step(int64_t stride)
{
    return stride >= 0 && stride <= UINT32_MAX;
}

// Does the product of integers apply the scales itself? Its activations round in another way.
static bool is_one_product(const job *j)
{
    const kiln_view *scale = &j->layers[0].weights.scale, *tokens = &j->x_scale;
    return kiln_view_type(*j->layers[0].out) == KILN_I32 ||
           (kiln_view_type(*scale) == KILN_F32 && !j->activation &&
            is_step(kiln_view_stride(*scale, 0)) &&
            (!tokens->buffer || !tokens->rank || is_step(kiln_view_stride(*tokens, 0))));
}

// Bytes of the workspace: the weights as numbers; with x of i8 the sums, where scales follow them.
uint64_t linear_unpacked_bytes(const job *j)
{
    if (kiln_view_type(j->x) == KILN_I8)
        return is_one_product(j) ? 0
                                 : op_product(op_product(j->x.sizes[0], j->layers[0].weights.n), 4);
    uint64_t count = op_product(j->layers[0].weights.n, j->x.sizes[1]);
    return op_product(count, kiln_type_size(kiln_view_type(j->x)));
}

static kiln_status multiply_bytes(kiln *k, const job *j, kiln_view sums)
{
    return kiln_matmul(k, &(kiln_matmul_desc){.a = j->x,
                                              .b = kiln_view_transpose(*j->layers[0].weights.data),
                                              .out = sums,
                                              .stream = j->stream});
}

// The result at once.
static kiln_status multiply_scaled(kiln *k, const job *j)
{
    const layer *y = &j->layers[0];
    kiln_matmul_desc d = {.a = j->x,
                          .b = kiln_view_transpose(*y->weights.data),
                          .out = *y->out,
                          .bias = *y->bias,
                          .epilogue = y->bias->buffer ? KILN_EPILOGUE_BIAS : KILN_EPILOGUE_NONE,
                          .b_scale = kiln_view_index(y->weights.scale, 1, 0),
                          .stream = j->stream};
    if (j->x_scale.buffer) {
        const uint64_t one = 1;
        d.a_scale = j->x_scale.rank ? j->x_scale : kiln_view_reshape(j->x_scale, 1, &one);
    }
    return kiln_matmul(k, &d);
}

// Sums of integers in the workspace, then scales and what follows them.
static kiln_status run_scaled(kiln *k, job *j, kiln_view sums)
{
    enum { WIDTH = 4, ROWS = 4, THREADS = 256 }; // of scaled.c
    const layer *y = &j->layers[0];
    bool is_packed = y->weights.n % WIDTH == 0 &&
                     (y->weights.n <= 1 || kiln_view_stride(*y->out, 1) == 1) &&
                     kiln_view_stride(*y->out, 0) % WIDTH == 0 &&
                     view_is_aligned(y->out, WIDTH * view_element_size(y->out));
    uint64_t units = op_product(op_ceil_div(y->weights.n, WIDTH), op_ceil_div(j->x.sizes[0], ROWS));
    if (units > (uint64_t)INT32_MAX * THREADS / 2)
        return op_refuse(k, j->call, "this kernel is impossible here: there are too many results");
    kiln_status status = multiply_bytes(k, j, sums);
    op_request r = {.program = &scaled_program};
    linear_set_result_axes(j, &r);
    op_set(&r, X_PACKED, is_packed);
    op_set(&r, ROWS, ROWS);
    const op_kernel *kernel;
    if (!status)
        status = op_kernel_get(k, &r, &kernel);
    if (status)
        return status;
    linear_set_argument(j);
    kiln_arg args[6] = {kiln_arg_view(sums), kiln_arg_view(y->weights.scale)};
    uint32_t count = 2;
    if (y->bias->buffer)
        args[count++] = kiln_arg_view(*y->bias);
    if (j->x_scale.buffer)
        args[count++] = kiln_arg_view(j->x_scale);
    args[count++] = kiln_arg_view(*y->out);
    args[count++] = kiln_arg_struct(&j->argument, sizeof j->argument);
    return kiln_launch(kernel->kernel,
                       &(kiln_launch_desc){.grid = {(uint32_t)op_ceil_div(units, THREADS)},
                                           .args = args,
                                           .arg_count = count,
                                           .stream = j->stream,
                                           .overlaps_previous = kernel->overlaps});
}

kiln_status linear_run_unpack(kiln *k, job *j)
{
    static const kiln_epilogue epilogues[] = {KILN_EPILOGUE_BIAS, KILN_EPILOGUE_BIAS_RELU,
                                              KILN_EPILOGUE_BIAS_GELU, KILN_EPILOGUE_BIAS_SILU};
    static const kiln_elementwise activations[] = {KILN_EW_COPY, KILN_EW_RELU, KILN_EW_GELU_TANH,
                                                   KILN_EW_SILU};
    const layer *y = &j->layers[0];
    kiln_type type = kiln_view_type(j->x);
    bool is_bytes = type == KILN_I8;
    if (is_bytes && is_one_product(j))
        return kiln_view_type(*y->out) == KILN_I32 ? multiply_bytes(k, j, *y->out)
                                                   : multiply_scaled(k, j);
    const uint64_t sizes[] = {is_bytes ? j->x.sizes[0] : y->weights.n,
                              is_bytes ? y->weights.n : j->x.sizes[1]};
    kiln_view words, numbers = kiln_view_of(j->workspace.buffer, 2, sizes);
    kiln_status status =
        op_check_workspace(k, j->call, &j->workspace, linear_unpacked_bytes(j), &words);
    if (status)
        return status;
    uint64_t first = j->workspace.first * view_element_size(&j->workspace);
    if (first % 16)
        return op_refuse(k, j->call, "'workspace' does not start at a multiple of 16 bytes");
    const kiln_view *others[] = {&j->x,   y->weights.data, &y->weights.scale, &y->weights.zero,
                                 y->bias, y->out,          &j->x_scale};
    for (size_t n = 0; n < COUNT(others); n++)
        if (others[n]->buffer && kiln_view_overlaps(j->workspace, *others[n]))
            return op_refuse(k, j->call, "'workspace' overlaps another operand");
    numbers.type = is_bytes ? KILN_I32 : type;
    numbers.first = first / kiln_type_size(numbers.type);
    if (is_bytes)
        return run_scaled(k, j, numbers);
    status = kiln_dequantise_weights(k, &(kiln_dequantise_weights_desc){.weight = *y->weights.data,
                                                                        .scale = y->weights.scale,
                                                                        .zero = y->weights.zero,
                                                                        .out = numbers,
                                                                        .group = j->group,
                                                                        .stream = j->stream});
    if (status)
        return status;
    bool has_bias = y->bias->buffer != NULL;
    status = kiln_matmul(
        k, &(kiln_matmul_desc){.a = j->x,
                               .b = kiln_view_transpose(numbers),
                               .out = *y->out,
                               .bias = *y->bias,
                               .epilogue = has_bias ? epilogues[j->activation] : KILN_EPILOGUE_NONE,
                               .stream = j->stream});
    if (status || has_bias || !j->activation)
        return status;
    return kiln_elementwise_forward(k, &(kiln_elementwise_desc){.op = activations[j->activation],
                                                                .in = {*y->out},
                                                                .out = *y->out,
                                                                .stream = j->stream});
}
