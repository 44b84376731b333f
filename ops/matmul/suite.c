// The cases of the matrix product (ops/suite.h). Tensors: a, b, bias where there is an epilogue,
// factors of rows and columns, a residual, where there are these, out. Sizes of a case: [batch,] m,
// n, k. Tests of single kernels and tiles are in test*.c.
#include "ops/suite.h"

#include <math.h>

enum { // option: an epilogue and which operands lie transposed in memory
    EPILOGUE = 7,
    A_TRANSPOSED = 8,
    B_TRANSPOSED = 16, // as weights do: [n, k]
    B_SHARED = 32,     // one b for all batches
    SCALED = 64,       // factors of rows and columns; of an i8 product the result is f32
    RESIDUAL = 128,
};

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/matmul/cases.def"
};

typedef struct shape {
    uint64_t batch, m, n, k;
    bool is_batched;
} shape;

static shape shape_of(const op_case *c)
{
    bool is_batched = c->rank == 4;
    const uint64_t *s = c->sizes + is_batched;
    return (shape){.batch = is_batched ? c->sizes[0] : 1,
                   .m = s[0],
                   .n = s[1],
                   .k = s[2],
                   .is_batched = is_batched};
}

static op_tensor matrix(const char *name, kiln_type type, shape s, bool is_batched, uint64_t rows,
                        uint64_t columns)
{
    bool is_integer = type == KILN_I8;
    op_tensor t = {.name = name,
                   .type = type,
                   .rank = is_batched ? 3 : 2,
                   .low = is_integer ? -100 : -1,
                   .high = is_integer ? 100 : 1,
                   .is_integer = is_integer,
                   .tolerance = 16 + (double)s.k / 2};
    uint64_t *to = t.sizes;
    if (is_batched)
        *to++ = s.batch;
    to[0] = rows;
    to[1] = columns;
    return t;
}

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    shape s = shape_of(c);
    uint32_t count = 0;
    bool is_a_t = c->option & A_TRANSPOSED, is_b_t = c->option & B_TRANSPOSED;
    out[count++] = matrix("a", type, s, s.is_batched, is_a_t ? s.k : s.m, is_a_t ? s.m : s.k);
    out[count++] = matrix("b", type, s, s.is_batched && !(c->option & B_SHARED), is_b_t ? s.n : s.k,
                          is_b_t ? s.k : s.n);
    if (c->option & EPILOGUE)
        out[count++] = (op_tensor){
            .name = "bias", .type = KILN_F32, .rank = 1, .sizes = {s.n}, .low = -1, .high = 1};
    kiln_type to = c->axis              ? (kiln_type)c->axis
                   : type != KILN_I8    ? type
                   : c->option & SCALED ? KILN_F32
                                        : KILN_I32;
    for (uint32_t i = 0; i < 2 && c->option & SCALED; i++)
        out[count++] = (op_tensor){.name = i ? "b_scale" : "a_scale",
                                   .type = KILN_F32,
                                   .rank = 1,
                                   .sizes = {i ? s.n : s.m},
                                   .low = 0.5,
                                   .high = 2};
    if (c->option & RESIDUAL)
        out[count++] = matrix("residual", to, s, s.is_batched, s.m, s.n);
    out[count] = matrix("out", to, s, s.is_batched, s.m, s.n);
    out[count++].role = ROLE_OUTPUT;
    return count;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    bool has_bias = c->option & EPILOGUE;
    const kiln_view *next = views + 2 + has_bias;
    (void)pass;
    kiln_matmul_desc desc = {
        .a = c->option & A_TRANSPOSED ? kiln_view_transpose(views[0]) : views[0],
        .b = c->option & B_TRANSPOSED ? kiln_view_transpose(views[1]) : views[1],
        .epilogue = (kiln_epilogue)(c->option & EPILOGUE)};
    if (c->option & SCALED) {
        desc.a_scale = *next++;
        desc.b_scale = *next++;
    }
    if (c->option & RESIDUAL)
        desc.residual = *next++;
    desc.out = *next;
    if (has_bias)
        desc.bias = views[2];
    return kiln_matmul(k, &desc);
}

static double finished(kiln_epilogue epilogue, double x)
{
    switch (epilogue) {
    case KILN_EPILOGUE_BIAS_RELU: return x > 0 ? x : 0;
    case KILN_EPILOGUE_BIAS_GELU:
        return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    case KILN_EPILOGUE_BIAS_SILU: return x / (1 + exp(-x));
    case KILN_EPILOGUE_NONE:
    case KILN_EPILOGUE_BIAS: break;
    }
    return x;
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    shape s = shape_of(c);
    bool has_bias = c->option & EPILOGUE, is_a_t = c->option & A_TRANSPOSED,
         is_b_t = c->option & B_TRANSPOSED;
    double *const *next = values + 2 + has_bias;
    const double *a_scale = c->option & SCALED ? *next++ : NULL,
                 *b_scale = c->option & SCALED ? *next++ : NULL,
                 *residual = c->option & RESIDUAL ? *next++ : NULL;
    (void)t;
    for (uint64_t at = 0; at < s.batch * s.m * s.n; at++) {
        uint64_t batch = at / (s.m * s.n), i = at / s.n % s.m, j = at % s.n;
        const double *a = values[0] + batch * s.m * s.k;
        const double *b = values[1] + (c->option & B_SHARED ? 0 : batch * s.k * s.n);
        double sum = 0;
        for (uint64_t l = 0; l < s.k; l++)
            sum += a[is_a_t ? l * s.m + i : i * s.k + l] * b[is_b_t ? j * s.k + l : l * s.n + j];
        sum *= a_scale ? a_scale[i] * b_scale[j] : 1;
        sum += has_bias ? values[2][j] : 0;
        sum = finished((kiln_epilogue)(c->option & EPILOGUE), sum);
        (*next)[at] = sum + (residual ? residual[at] : 0);
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    static const char *const epilogues[] = {"", " bias", " bias relu", " bias gelu", " bias silu"};
    snprintf(out, size, "%s%s%s%s%s%s%s%s", c->option & A_TRANSPOSED ? "a transposed " : "",
             c->option & B_TRANSPOSED ? "b transposed" : "plain",
             c->option & B_SHARED ? " one b" : "", epilogues[c->option & EPILOGUE],
             c->option & SCALED ? " factors" : "", c->option & RESIDUAL ? " residual" : "",
             c->axis ? " to " : "", c->axis ? kiln_type_name((kiln_type)c->axis) : "");
}

static double operations(const op_case *c)
{
    shape s = shape_of(c);
    return 2 * (double)s.batch * (double)s.m * (double)s.n * (double)s.k;
}

const op_suite op_suite_matmul = {.name = "matmul",
                                  .cases = cases,
                                  .case_count = sizeof cases / sizeof *cases,
                                  .bits_differ = true,
                                  .tensors = tensors,
                                  .call = call,
                                  .reference = reference,
                                  .describe = describe,
                                  .operations = operations};
