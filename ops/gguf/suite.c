// The cases of gguf (ops/suite.h). Weights are random bytes; the reference decodes them on the
// host, which the stored vectors check (suite_vectors.c), and multiplies in double.
#include "ops/gguf/suite_gguf.h"

#include <ctype.h>
#include <stdlib.h>

enum {
    TYPE = 31,
    TO_FLOATS = 32,
    TO_BLOCKS = 64,
    HAS_BIAS = 128,
    TILE = 256,
    TENSOR = 512,
    FEW = 1024
};
enum { X, WEIGHT, BIAS, OUT, COPY, PRODUCT_TENSORS };
enum { FROM, TO, BLOCKS_COPY, CONVERSION_TENSORS };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/gguf/cases.def"
};

static const op_case tensor_cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/gguf/cases_tensor.def"
};

static kiln_gguf_type type_of(const op_case *c)
{
    return (kiln_gguf_type)(c->option & TYPE);
}

static kiln_gguf_format format_of(const op_case *c)
{
    kiln_gguf_format f = {.name = "?", .block_size = 1, .block_bytes = 1};
    kiln_gguf_format_of(type_of(c), &f);
    return f;
}

static bool is_product(const op_case *c)
{
    return !(c->option & (TO_FLOATS | TO_BLOCKS));
}

// --- tensors
static op_tensor bytes_tensor(const char *name, uint64_t rows, uint64_t bytes)
{
    return (op_tensor){.name = name,
                       .type = KILN_U8,
                       .rank = 2,
                       .sizes = {rows, bytes},
                       .high = 256,
                       .is_integer = true};
}

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    kiln_gguf_format f = format_of(c);
    if (!is_product(c)) {
        bool is_packing = c->option & TO_BLOCKS;
        uint64_t bytes = c->sizes[1] * f.block_bytes;
        op_tensor floats = {.name = is_packing ? "x" : "out",
                            .type = type,
                            .rank = 2,
                            .sizes = {c->sizes[0], c->sizes[1] * f.block_size},
                            .low = -1,
                            .high = 1.5,
                            .tolerance = 1};
        op_tensor blocks = bytes_tensor(is_packing ? "out" : "weight", c->sizes[0], bytes);
        out[FROM] = is_packing ? floats : blocks;
        out[TO] = is_packing ? blocks : floats;
        out[TO].role = ROLE_OUTPUT;
        out[BLOCKS_COPY] = bytes_tensor("copy", c->sizes[0], bytes);
        out[BLOCKS_COPY].role = ROLE_SCRATCH;
        return CONVERSION_TENSORS;
    }
    uint64_t m = c->sizes[0], n = c->sizes[1], k = c->sizes[2] * f.block_size;
    kiln_type result = c->axis ? (kiln_type)c->axis : type;
    out[X] =
        (op_tensor){.name = "x", .type = type, .rank = 2, .sizes = {m, k}, .low = -1, .high = 1};
    out[WEIGHT] = bytes_tensor("weight", n, c->sizes[2] * f.block_bytes);
    out[BIAS] = (op_tensor){.name = "bias",
                            .type = c->option & TILE ? KILN_F32 : type,
                            .rank = 1,
                            .sizes = {n},
                            .low = -1,
                            .high = 1};
    // Each addition in f32 rounds a sum of up to k terms of about 1, which is about the root of k:
    // the errors of all add up to a small multiple of k. On tensor cores each weight is rounded to
    // the type of x.
    double unit = 4 + (double)k / (c->option & TENSOR ? 8 : 64);
    if (result == KILN_F32)
        unit =
            c->option & TENSOR ? unit * (type == KILN_F16 ? 0x1p13 : 0x1p16) : 16 + 2 * (double)k;
    out[OUT] = (op_tensor){.name = "out",
                           .role = ROLE_OUTPUT,
                           .type = result,
                           .rank = 2,
                           .sizes = {m, n},
                           .tolerance = unit};
    out[COPY] = bytes_tensor("copy", n, c->sizes[2] * f.block_bytes);
    out[COPY].role = ROLE_SCRATCH;
    return PRODUCT_TENSORS;
}

// --- calls
// Rows of blocks are contiguous: where the case's are not, the call works on a dense copy.
static kiln_status copied(kiln *k, kiln_view from, kiln_view to)
{
    return kiln_view_count(from) ? kiln_copy_view(k, &(kiln_copy_view_desc){.in = from, .out = to})
                                 : KILN_OK;
}

static bool has_rows(kiln_view v)
{
    return v.sizes[1] < 2 || kiln_view_stride(v, 1) == 1;
}

// Tests compare the bits of devices: they take a kernel that every device has.
static kiln_gguf_kernel kernel_of(const op_case *c)
{
    if (c->tags & (SUITE_BENCH | SUITE_EMIT | SUITE_GPU))
        return KILN_GGUF_BEST;
    if (c->option & TENSOR)
        return KILN_GGUF_TENSOR;
    if (c->option & FEW)
        return KILN_GGUF_FEW;
    return c->option & TILE || c->sizes[0] > 8 ? KILN_GGUF_TILE : KILN_GGUF_VECTOR;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    kiln_status status = KILN_OK;
    (void)pass;
    if (c->option & TO_FLOATS) {
        kiln_view weight = has_rows(views[FROM]) ? views[FROM] : views[BLOCKS_COPY];
        if (!has_rows(views[FROM]))
            status = copied(k, views[FROM], weight);
        kiln_gguf_dequantise_desc d = {.type = type_of(c), .weight = weight, .out = views[TO]};
        return status ? status : kiln_gguf_dequantise(k, &d);
    }
    if (c->option & TO_BLOCKS) {
        bool is_direct = has_rows(views[TO]);
        kiln_gguf_quantise_desc d = {.type = type_of(c),
                                     .x = views[FROM],
                                     .out = is_direct ? views[TO] : views[BLOCKS_COPY]};
        status = kiln_gguf_quantise(k, &d);
        return status || is_direct ? status : copied(k, d.out, views[TO]);
    }
    kiln_gguf_matmul_desc d = {.type = type_of(c),
                               .x = views[X],
                               .weight = has_rows(views[WEIGHT]) ? views[WEIGHT] : views[COPY],
                               .out = views[OUT],
                               .kernel = kernel_of(c),
                               .tile_rows = c->option & TENSOR ? (uint32_t)c->alpha : 0};
    if (c->option & HAS_BIAS)
        d.bias = views[BIAS];
    if (!has_rows(views[WEIGHT]))
        status = copied(k, views[WEIGHT], d.weight);
    return status ? status : kiln_gguf_matmul(k, &d);
}

// --- the reference
// Gives the f16 fields of a block exponents with which its elements are about 1.
static void settle(kiln_gguf_type type, double *block)
{
    static const struct {
        kiln_gguf_type type;
        uint8_t at[2], high[2]; // the second f16; 0: there is none
    } fields[] = {{KILN_GGUF_Q4_0, {0}, {0x2c}},          {KILN_GGUF_Q4_1, {0, 2}, {0x2c, 0x38}},
                  {KILN_GGUF_Q5_0, {0}, {0x28}},          {KILN_GGUF_Q5_1, {0, 2}, {0x28, 0x38}},
                  {KILN_GGUF_Q8_0, {0}, {0x20}},          {KILN_GGUF_Q2_K, {80, 82}, {0x24, 0x2c}},
                  {KILN_GGUF_Q3_K, {108}, {0x20}},        {KILN_GGUF_Q4_K, {0, 2}, {0x14, 0x24}},
                  {KILN_GGUF_Q5_K, {0, 2}, {0x10, 0x24}}, {KILN_GGUF_Q6_K, {208}, {0x0c}}};
    for (size_t n = 0; n < sizeof fields / sizeof *fields; n++)
        for (int i = 0; i < 2 && fields[n].type == type; i++)
            if (fields[n].high[i]) {
                double *high = &block[fields[n].at[i] + 1];
                *high = (double)(((uint32_t)*high & 0x83u) | fields[n].high[i]);
            }
}

// The elements of `count` blocks, whose bytes are settled first: the device gets them so.
static float *decoded(const op_case *c, double *bytes, size_t count)
{
    kiln_gguf_format f = format_of(c);
    float *out = malloc((count * f.block_size + 1) * sizeof *out);
    uint8_t *blocks = malloc(count * f.block_bytes + 1);
    if (!out || !blocks)
        abort();
    for (size_t n = 0; n < count; n++)
        settle(type_of(c), bytes + n * f.block_bytes);
    for (size_t i = 0; i < count * f.block_bytes; i++)
        blocks[i] = (uint8_t)bytes[i];
    if (kiln_gguf_unpack(type_of(c), blocks, count * f.block_size, out))
        abort();
    free(blocks);
    return out;
}

static void pack_reference(const op_case *c, const double *x, double *to)
{
    kiln_gguf_format f = format_of(c);
    size_t count = (size_t)(c->sizes[0] * c->sizes[1]);
    float *floats = malloc((count * f.block_size + 1) * sizeof *floats);
    uint8_t *blocks = malloc(count * f.block_bytes + 1);
    if (!floats || !blocks)
        abort();
    for (size_t i = 0; i < count * f.block_size; i++)
        floats[i] = (float)x[i];
    if (kiln_gguf_pack(type_of(c), floats, count * f.block_size, blocks))
        abort();
    for (size_t i = 0; i < count * f.block_bytes; i++)
        to[i] = blocks[i];
    free(floats);
    free(blocks);
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    (void)t;
    if (c->option & TO_BLOCKS) {
        pack_reference(c, values[FROM], values[TO]);
        return;
    }
    uint32_t blocks_at = c->option & TO_FLOATS ? FROM : WEIGHT;
    uint64_t n = c->sizes[c->option & TO_FLOATS ? 0 : 1];
    uint64_t blocks = c->sizes[c->option & TO_FLOATS ? 1 : 2], k = blocks * format_of(c).block_size;
    float *w = decoded(c, values[blocks_at], (size_t)(n * blocks));
    if (c->option & TO_FLOATS) {
        for (size_t i = 0; i < n * k; i++)
            values[TO][i] = (double)w[i];
    } else {
        for (size_t i = 0; i < c->sizes[0] * n; i++) {
            const double *x = values[X] + i / n * k;
            const float *row = w + i % n * k;
            double sum = c->option & HAS_BIAS ? values[BIAS][i % n] : 0;
            for (size_t e = 0; e < k; e++)
                sum += x[e] * (double)row[e];
            values[OUT][i] = sum;
        }
    }
    free(w);
}

static void describe(const op_case *c, char *out, size_t size)
{
    snprintf(out, size, "blocks of %s%s%s%s", format_of(c).name,
             c->option & TO_FLOATS   ? " to floats"
             : c->option & TO_BLOCKS ? " from floats"
                                     : "",
             c->option & HAS_BIAS ? " bias" : "",
             c->option & TILE     ? " tile"
             : c->option & TENSOR ? " tensor cores"
             : c->option & FEW    ? " few rows"
                                  : "");
}

static double operations(const op_case *c)
{
    return is_product(c) && c->sizes[0] > 8 ? 2 * (double)c->sizes[0] * (double)c->sizes[1] *
                                                  (double)c->sizes[2] * format_of(c).block_size
                                            : 0;
}

static void print_rows(FILE *out)
{
    static const struct {
        const char *name, *text;
        int number, size, bytes;
    } rows[] = {
#define ROW(id, number, size, bytes, width, text) {#id, text, number, size, bytes},
#include "ops/gguf/gguf.def"
    };
    fprintf(out, "| `KILN_GGUF_…` | number | block | bytes | bits an element | what it holds |\n"
                 "|---|---|---|---|---|---|\n");
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        fprintf(out, "| ");
        for (const char *letter = rows[n].name; *letter; letter++)
            fputc(toupper((unsigned char)*letter), out);
        fprintf(out, " | %d | %d | %d | %g | %s |\n", rows[n].number, rows[n].size, rows[n].bytes,
                8.0 * rows[n].bytes / rows[n].size, rows[n].text);
    }
    fprintf(out, "\n");
}

static const op_suite tensor_suite = {.name = "gguf",
                                      .cases = tensor_cases,
                                      .case_count = sizeof tensor_cases / sizeof *tensor_cases,
                                      .tensors = tensors,
                                      .call = call,
                                      .reference = reference,
                                      .describe = describe};

static int more(kiln *k, int *passed)
{
    return suite_test_nv(k, &tensor_suite, passed) + gguf_check_vectors(k, passed);
}

const op_suite op_suite_gguf = {.name = "gguf",
                                .cases = cases,
                                .case_count = sizeof cases / sizeof *cases,
                                .tensors = tensors,
                                .call = call,
                                .reference = reference,
                                .describe = describe,
                                .operations = operations,
                                .rows = print_rows,
                                .more = more};
