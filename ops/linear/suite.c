// The cases of linear layers (ops/suite.h): tensors, calls, and the reference, which takes every
// weight by itself. Tests that are not cases are in suite_more.c.
#include "ops/linear/suite_linear.h"

#include <math.h>

enum {
    I4 = 1,
    ZERO = 2,
    BIAS = 4,
    BYTES = 8, // x is i8
    TOKENS = 16,
    RAW = 32, // to i32
    THREE = 64,
    SCALE_F16 = 128,
    ONE_SCALE = 256,
    TO_F32 = 512,
    QUANTISE = 1024,
    DEQUANTISE = 2048
};
#define GROUP(n)      ((n) << 16)
#define ACTIVATION(a) ((a) << 20)

// Tensors of a product, of three, of weights made, of weights unpacked. The copy is of weights that
// lie in another layout than a call takes.
enum { X, WEIGHT, SCALE, POINT, X_SCALE, ADDED, OUT, COPY, WORK, TENSORS };
enum {
    X3,
    WEIGHT3,
    SCALE3 = WEIGHT3 + 3,
    POINT3 = SCALE3 + 3,
    OUT3 = POINT3 + 3,
    TENSORS3 = OUT3 + 3
};
enum { MADE_X, MADE_WEIGHT, MADE_SCALE, MADE_POINT, MADE };
enum { OLD_WEIGHT, OLD_SCALE, OLD_POINT, OLD_OUT, OLD_COPY, OLD };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/linear/cases.def"
};
static const op_case tensor_cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/linear/cases_tensor.def"
};

// --- sizes
static uint32_t group_of(const op_case *c)
{
    uint32_t n = c->option >> 16 & 15;
    return n ? 16u << n : 0;
}

static kiln_activation activation_of(const op_case *c)
{
    return (kiln_activation)(c->option >> 20 & 3);
}

static uint64_t groups_of(const op_case *c)
{
    uint64_t k = c->sizes[2], group = group_of(c);
    return group && k ? (k + group - 1) / group : 1;
}

// Outputs of q, k and v.
static uint64_t outputs_of(const op_case *c, uint32_t which)
{
    return which == 0 ? c->sizes[1] : which == 1 ? c->sizes[1] / 2 + 1 : c->sizes[1] / 3;
}

static bool has_workspace(const op_case *c)
{
    return c->axis == KILN_LINEAR_UNPACK || c->tags & SUITE_BENCH;
}

static double largest_weight(const op_case *c)
{
    return c->option & I4 ? 15 : 255;
}

// --- tensors
static op_tensor weight_tensor(const op_case *c, uint64_t n, op_role role)
{
    bool is_i4 = c->option & I4;
    return (op_tensor){.name = "weight",
                       .role = role,
                       .type = is_i4 ? KILN_U32 : KILN_I8,
                       .rank = 2,
                       .sizes = {n, is_i4 ? (c->sizes[2] + 31) / 32 * 4 : c->sizes[2]},
                       .low = is_i4 ? 0 : -128,
                       .high = is_i4 ? 4294967296.0 : 128,
                       .is_integer = true};
}

// Sums of K products have a magnitude of at most 4.
static op_tensor scale_tensor(const op_case *c, uint64_t n, op_role role)
{
    double most = 4 / (largest_weight(c) * (double)(c->sizes[2] + 1));
    most = c->option & BYTES ? most * 16 / 127 : most;
    most = most < 1e-4 && c->option & SCALE_F16 ? 1e-4 : most;
    return (op_tensor){.name = "scale",
                       .role = role,
                       .type = c->option & SCALE_F16 ? KILN_F16 : KILN_F32,
                       .rank = 2,
                       .sizes = {c->option & ONE_SCALE ? 1 : n, groups_of(c)},
                       .low = most / 2,
                       .high = most,
                       .tolerance = 2};
}

static op_tensor zero_tensor(const op_case *c, uint64_t n, op_role role)
{
    bool is_i4 = c->option & I4;
    return (op_tensor){.name = "zero",
                       .role = role,
                       .type = is_i4 ? KILN_U8 : KILN_I8,
                       .rank = 2,
                       .sizes = {n, groups_of(c)},
                       .low = is_i4 ? 0 : -100,
                       .high = is_i4 ? 16 : 100,
                       .is_integer = true};
}

// A sum of f32 in any order has K roundings of at most 4; a narrow result one of its own.
static op_tensor out_tensor(const op_case *c, kiln_type type, uint64_t n)
{
    kiln_type own = c->option & RAW ? KILN_I32 : c->option & TO_F32 ? KILN_F32 : type;
    return (op_tensor){.name = "out",
                       .role = ROLE_OUTPUT,
                       .type = own,
                       .rank = 2,
                       .sizes = {c->sizes[0], n},
                       .tolerance = own == KILN_F32 ? 4 * (double)(c->sizes[2] + 16) : 2};
}

static op_tensor matrix(const char *name, kiln_type type, uint64_t rows, uint64_t columns)
{
    return (op_tensor){
        .name = name, .type = type, .rank = 2, .sizes = {rows, columns}, .low = -1, .high = 1};
}

static op_tensor x_tensor(const op_case *c, kiln_type type)
{
    op_tensor x = matrix("x", c->option & BYTES ? KILN_I8 : type, c->sizes[0], c->sizes[2]);
    if (c->option & BYTES) {
        x.low = -128;
        x.high = 128;
        x.is_integer = true;
    }
    return x;
}

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    uint64_t n = c->sizes[1];
    if (c->option & QUANTISE) {
        out[MADE_X] = matrix("x", type, n, c->sizes[2]);
        out[MADE_WEIGHT] = weight_tensor(c, n, ROLE_OUTPUT);
        out[MADE_SCALE] = scale_tensor(c, n, ROLE_OUTPUT);
        out[MADE_POINT] = zero_tensor(c, n, ROLE_OUTPUT);
        return c->option & ZERO ? MADE : MADE - 1;
    }
    if (c->option & DEQUANTISE) {
        out[OLD_WEIGHT] = weight_tensor(c, n, ROLE_INPUT);
        out[OLD_SCALE] = scale_tensor(c, n, ROLE_INPUT);
        out[OLD_POINT] = zero_tensor(c, n, ROLE_INPUT);
        out[OLD_OUT] = matrix("out", type, n, c->sizes[2]);
        out[OLD_OUT].role = ROLE_OUTPUT;
        out[OLD_OUT].tolerance = 2;
        out[OLD_COPY] = weight_tensor(c, n, ROLE_SCRATCH);
        return OLD;
    }
    out[X] = x_tensor(c, type);
    if (c->option & THREE) {
        for (uint32_t w = 0; w < 3; w++) {
            out[WEIGHT3 + w] = weight_tensor(c, outputs_of(c, w), ROLE_INPUT);
            out[SCALE3 + w] = scale_tensor(c, outputs_of(c, w), ROLE_INPUT);
            out[POINT3 + w] = zero_tensor(c, outputs_of(c, w), ROLE_INPUT);
            out[OUT3 + w] = out_tensor(c, type, outputs_of(c, w));
        }
        return TENSORS3;
    }
    out[WEIGHT] = weight_tensor(c, n, ROLE_INPUT);
    out[SCALE] = scale_tensor(c, n, ROLE_INPUT);
    out[POINT] = zero_tensor(c, n, ROLE_INPUT);
    out[X_SCALE] = (op_tensor){.name = "x_scale",
                               .type = KILN_F32,
                               .rank = 1,
                               .sizes = {c->sizes[0]},
                               .low = 0.02,
                               .high = 0.06};
    out[ADDED] = (op_tensor){
        .name = "bias", .type = KILN_F32, .rank = 1, .sizes = {n}, .low = -1, .high = 1};
    out[OUT] = out_tensor(c, type, n);
    out[COPY] = weight_tensor(c, n, ROLE_SCRATCH);
    out[WORK] =
        matrix("workspace", type, has_workspace(c) ? n : 1, has_workspace(c) ? c->sizes[2] : 1);
    if (has_workspace(c) && (c->option & BYTES))
        out[WORK] = matrix("workspace", KILN_I32, c->sizes[0], n);
    out[WORK].role = ROLE_SCRATCH;
    if (c->axis == KILN_LINEAR_UNPACK) // weights are rounded, too
        out[OUT].tolerance += type == KILN_F32 ? 16 : 4;
    return TENSORS;
}

// --- calls
// Weights with contiguous rows.
static kiln_status straighten(kiln *k, const kiln_view *from, const kiln_view *copy,
                              kiln_view *weight)
{
    *weight = *from;
    if (from->sizes[1] < 2 || kiln_view_stride(*from, 1) == 1)
        return KILN_OK;
    *weight = *copy;
    return kiln_elementwise_forward(
        k, &(kiln_elementwise_desc){.op = KILN_EW_COPY, .in = {*from}, .out = *copy});
}

// Tests compare the bits of devices: unless a case names a kernel, they take one that every device
// has. Kernels that are assembled alone are those that the GPU has.
static kiln_linear_kernel kernel_of(kiln *k, const op_case *c)
{
    kiln_device_info info;
    if (c->tags & SUITE_EMIT && (kiln_device_info_of(k, &info) || !info.caps.has_wgmma))
        return KILN_LINEAR_BEST;
    bool is_chosen =
        c->axis != KILN_LINEAR_BEST || c->tags & (SUITE_BENCH | SUITE_EMIT | SUITE_GPU);
    return is_chosen ? (kiln_linear_kernel)c->axis : KILN_LINEAR_ROWS;
}

static kiln_status call_three(kiln *k, const op_case *c, const kiln_view *v)
{
    static const kiln_view none = {0};
    bool has_zero = c->option & ZERO;
    return kiln_linear_qkv(k, &(kiln_linear_qkv_desc){.x = v[X],
                                                      .weight_q = v[WEIGHT3],
                                                      .weight_k = v[WEIGHT3 + 1],
                                                      .weight_v = v[WEIGHT3 + 2],
                                                      .scale_q = v[SCALE3],
                                                      .scale_k = v[SCALE3 + 1],
                                                      .scale_v = v[SCALE3 + 2],
                                                      .zero_q = has_zero ? v[POINT3] : none,
                                                      .zero_k = has_zero ? v[POINT3 + 1] : none,
                                                      .zero_v = has_zero ? v[POINT3 + 2] : none,
                                                      .out_q = v[OUT3],
                                                      .out_k = v[OUT3 + 1],
                                                      .out_v = v[OUT3 + 2],
                                                      .group = group_of(c),
                                                      .kernel = kernel_of(k, c)});
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *v)
{
    static const kiln_view none = {0};
    uint32_t o = c->option;
    kiln_view weight;
    kiln_status status;
    (void)pass;
    if (o & THREE)
        return call_three(k, c, v);
    if (o & QUANTISE)
        return kiln_quantise_weights(
            k, &(kiln_quantise_weights_desc){.x = v[MADE_X],
                                             .weight = v[MADE_WEIGHT],
                                             .scale = v[MADE_SCALE],
                                             .zero = o & ZERO ? v[MADE_POINT] : none,
                                             .group = group_of(c)});
    if (o & DEQUANTISE) {
        status = straighten(k, &v[OLD_WEIGHT], &v[OLD_COPY], &weight);
        return status ? status
                      : kiln_dequantise_weights(k, &(kiln_dequantise_weights_desc){
                                                       .weight = weight,
                                                       .scale = v[OLD_SCALE],
                                                       .zero = o & ZERO ? v[OLD_POINT] : none,
                                                       .out = v[OLD_OUT],
                                                       .group = group_of(c)});
    }
    status = straighten(k, &v[WEIGHT], &v[COPY], &weight);
    if (status)
        return status;
    return kiln_linear(k, &(kiln_linear_desc){.x = v[X],
                                              .weight = weight,
                                              .scale = o & RAW ? none : v[SCALE],
                                              .zero = o & ZERO ? v[POINT] : none,
                                              .x_scale = o & TOKENS ? v[X_SCALE] : none,
                                              .bias = o & BIAS ? v[ADDED] : none,
                                              .out = v[OUT],
                                              .group = group_of(c),
                                              .activation = activation_of(c),
                                              .kernel = kernel_of(k, c),
                                              .workspace = has_workspace(c) ? v[WORK] : none});
}

// --- the reference
// q of row and column, from the tensor's numbers.
static double integer_at(const op_case *c, const double *weights, uint64_t row, uint64_t column)
{
    static const int order[8] = {0, 4, 1, 5, 2, 6, 3, 7}; // digits of an element
    if (!(c->option & I4))
        return weights[row * c->sizes[2] + column];
    double word = weights[row * ((c->sizes[2] + 31) / 32 * 4) + column / 8];
    return fmod(floor(word / pow(16, order[column % 8])), 16);
}

static double weight_at(const op_case *c, const double *weights, const double *scale,
                        const double *zero, uint64_t row, uint64_t column)
{
    uint64_t group = group_of(c) ? column / group_of(c) : 0;
    uint64_t at = row * groups_of(c) + group;
    double z = c->option & ZERO ? zero[at] : c->option & I4 ? 8 : 0;
    double s = c->option & RAW ? 1 : scale[c->option & ONE_SCALE ? 0 : at];
    return (integer_at(c, weights, row, column) - z) * s;
}

static double activate(double x, kiln_activation activation)
{
    switch (activation) {
    case KILN_ACTIVATION_RELU: return x > 0 ? x : 0;
    case KILN_ACTIVATION_GELU:
        return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case KILN_ACTIVATION_SILU: return x / (1 + exp(-x));
    case KILN_ACTIVATION_NONE: break;
    }
    return x;
}

// Numbers as f32 has them, and as the scale's type has them: what the op says it computes with.
static void make_weights(const op_case *c, double *const *v)
{
    uint64_t depth = c->sizes[2], size = group_of(c) ? group_of(c) : depth;
    uint64_t words = (depth + 31) / 32 * 4;
    bool is_i4 = c->option & I4, has_zero = c->option & ZERO;
    float most = is_i4 ? 15 : 255, least = is_i4 ? 0 : -128;
    for (uint64_t i = 0; is_i4 && i < c->sizes[1] * words; i++)
        v[MADE_WEIGHT][i] = 0;
    for (uint64_t row = 0; row < c->sizes[1]; row++)
        for (uint64_t g = 0; g < groups_of(c); g++) {
            uint64_t end = (g + 1) * size < depth ? (g + 1) * size : depth;
            float low = 0, high = 0;
            for (uint64_t i = g * size; i < end; i++) {
                low = fminf(low, (float)v[MADE_X][row * depth + i]);
                high = fmaxf(high, (float)v[MADE_X][row * depth + i]);
            }
            float scale = has_zero ? (high - low) / most : fmaxf(high, -low) / (is_i4 ? 7 : 127);
            scale = suite_linear_rounded(scale, c->option & SCALE_F16);
            float zero = is_i4 ? 8 : 0;
            if (has_zero)
                zero = fminf(scale > 0 ? nearbyintf(-low / scale) : 0, most) + least;
            v[MADE_SCALE][row * groups_of(c) + g] = (double)scale;
            if (has_zero)
                v[MADE_POINT][row * groups_of(c) + g] = (double)zero;
            for (uint64_t i = g * size; i < end; i++) {
                static const int order[8] = {0, 4, 1, 5, 2, 6, 3, 7};
                float q = scale > 0 ? nearbyintf((float)v[MADE_X][row * depth + i] / scale) : 0;
                q = fminf(fmaxf(q + zero, least), least + most);
                if (is_i4)
                    v[MADE_WEIGHT][row * words + i / 8] += (double)q * pow(16, order[i % 8]);
                else
                    v[MADE_WEIGHT][row * depth + i] = (double)q;
            }
        }
}

static void reference(const op_case *c, const op_tensor *t, double *const *v)
{
    uint32_t layers = c->option & THREE ? 3 : 1;
    uint64_t depth = c->sizes[2];
    (void)t;
    if (c->option & QUANTISE) {
        make_weights(c, v);
        return;
    }
    for (uint64_t i = 0; c->option & DEQUANTISE && i < c->sizes[1] * depth; i++)
        v[OLD_OUT][i] =
            weight_at(c, v[OLD_WEIGHT], v[OLD_SCALE], v[OLD_POINT], i / depth, i % depth);
    if (c->option & DEQUANTISE)
        return;
    for (uint32_t w = 0; w < layers; w++) {
        uint64_t n = layers > 1 ? outputs_of(c, w) : c->sizes[1];
        const double *weights = v[layers > 1 ? WEIGHT3 + w : WEIGHT];
        const double *scale = v[layers > 1 ? SCALE3 + w : SCALE];
        const double *zero = v[layers > 1 ? POINT3 + w : POINT];
        for (uint64_t i = 0; i < c->sizes[0] * n; i++) {
            double sum = 0;
            for (uint64_t k = 0; k < depth; k++)
                sum += v[X][i / n * depth + k] * weight_at(c, weights, scale, zero, i % n, k);
            if (c->option & TOKENS)
                sum *= v[X_SCALE][i / n];
            if (c->option & BIAS)
                sum += v[ADDED][i % n];
            v[layers > 1 ? OUT3 + w : OUT][i] = activate(sum, activation_of(c));
        }
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    uint32_t o = c->option;
    static const char *const activations[] = {"", " relu", " gelu", " silu"};
    char group[32] = "";
    if (group_of(c))
        snprintf(group, sizeof group, " groups of %u", group_of(c));
    snprintf(out, size, "%s%s%s%s%s%s%s%s%s%s%s",
             o & QUANTISE     ? "to "
             : o & DEQUANTISE ? "from "
                              : "",
             o & I4 ? "int4" : "int8", group, o & ZERO ? " zeros" : "",
             o & SCALE_F16 ? " f16 scales" : "", o & BYTES ? " x int8" : "",
             o & TOKENS ? " token scales" : "", o & ONE_SCALE ? " one scale" : "",
             o & RAW      ? " to i32"
             : o & TO_F32 ? " to f32"
                          : "",
             o & BIAS ? " bias" : "", o & THREE ? " three" : activations[activation_of(c)]);
}

static double operations(const op_case *c)
{
    double outputs = 0;
    for (uint32_t w = 0; w < (c->option & THREE ? 3u : 1u); w++)
        outputs += (double)outputs_of(c, w);
    return c->option & (QUANTISE | DEQUANTISE)
               ? (double)c->sizes[1] * (double)c->sizes[2]
               : 2 * (double)c->sizes[0] * outputs * (double)c->sizes[2];
}

static const op_suite tensor_suite = {.name = "linear",
                                      .cases = tensor_cases,
                                      .case_count = sizeof tensor_cases / sizeof *tensor_cases,
                                      .tensors = tensors,
                                      .call = call,
                                      .reference = reference,
                                      .describe = describe};

static int more(kiln *k, int *passed)
{
    return suite_test_nv(k, &tensor_suite, passed) + suite_linear_more(k, passed);
}

const op_suite op_suite_linear = {.name = "linear",
                                  .cases = cases,
                                  .case_count = sizeof cases / sizeof *cases,
                                  .tensors = tensors,
                                  .call = call,
                                  .reference = reference,
                                  .describe = describe,
                                  .operations = operations,
                                  .more = more};
