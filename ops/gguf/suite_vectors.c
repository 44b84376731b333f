// Checks of gguf that are not cases: blocks that independent code wrote and read (vectors.def), on
// the host and on the device; how far packed numbers are from what they were; refusals.
#include "ops/gguf/suite_gguf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct vector {
    kiln_gguf_type type;
    size_t bytes, count;
    const uint8_t *blocks;
    const uint32_t *values; // NULL: what `blocks` holds is the formula's, packed
} vector;

#define q4_0 KILN_GGUF_Q4_0
#define q4_1 KILN_GGUF_Q4_1
#define q5_0 KILN_GGUF_Q5_0
#define q5_1 KILN_GGUF_Q5_1
#define q8_0 KILN_GGUF_Q8_0
#define q2_k KILN_GGUF_Q2_K
#define q3_k KILN_GGUF_Q3_K
#define q4_k KILN_GGUF_Q4_K
#define q5_k KILN_GGUF_Q5_K
#define q6_k KILN_GGUF_Q6_K
#define LIST(...)                                                                                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define BYTES(list) (const uint8_t[]) LIST list
#define WORDS(list) (const uint32_t[]) LIST list
static const vector vectors[] = {
#define UNPACKED(id, bytes_of, values_of)                                                          \
    {.type = id,                                                                                   \
     .bytes = sizeof(BYTES(bytes_of)),                                                             \
     .count = sizeof(WORDS(values_of)) / sizeof(uint32_t),                                         \
     .blocks = BYTES(bytes_of),                                                                    \
     .values = WORDS(values_of)},
#define PACKED(id, bytes_of)                                                                       \
    {.type = id, .bytes = sizeof(BYTES(bytes_of)), .count = 64, .blocks = BYTES(bytes_of)},
#include "ops/gguf/vectors.def"
};

const kiln_gguf_type gguf_types[GGUF_TYPES] = {q4_0, q4_1, q5_0, q5_1, q8_0,
                                               q2_k, q3_k, q4_k, q5_k, q6_k};
enum { MOST_ELEMENTS = 512, MOST_BYTES = 544 };

static const char *name_of(kiln_gguf_type type)
{
    kiln_gguf_format f = {.name = "?"};
    kiln_gguf_format_of(type, &f);
    return f.name;
}

static int wrong(kiln_gguf_type type, const char *what)
{
    printf("gguf: %s: %s\n", name_of(type), what);
    return 1;
}

// --- on the device
static kiln_status on_device(kiln *k, kiln_gguf_type type, bool is_packing, uint8_t *blocks,
                             size_t bytes, float *x, size_t count)
{
    kiln_buffer *b = NULL, *f = NULL;
    kiln_status status = kiln_buffer_new(k, KILN_U8, bytes, &b);
    if (!status)
        status = kiln_buffer_new(k, KILN_F32, count, &f);
    if (!status)
        status = is_packing ? kiln_write(f, 0, x, count) : kiln_write(b, 0, blocks, bytes);
    kiln_view weight = KILN_VIEW(b, 1, bytes), dense = KILN_VIEW(f, 1, count);
    if (!status && is_packing)
        status = kiln_gguf_quantise(
            k, &(kiln_gguf_quantise_desc){.type = type, .x = dense, .out = weight});
    else if (!status)
        status = kiln_gguf_dequantise(
            k, &(kiln_gguf_dequantise_desc){.type = type, .weight = weight, .out = dense});
    if (!status)
        status = is_packing ? kiln_read(b, 0, blocks, bytes) : kiln_read(f, 0, x, count);
    kiln_buffer_free(b);
    kiln_buffer_free(f);
    return status;
}

static int check_vector(kiln *k, const vector *v)
{
    float x[MOST_ELEMENTS];
    uint8_t blocks[MOST_BYTES];
    uint64_t bytes = 0;
    int failed = 0;
    if (kiln_gguf_row_bytes(v->type, v->count, &bytes) || bytes != v->bytes)
        return wrong(v->type, "rows have other sizes than the stored vector");
    if (v->values) {
        memset(x, 0, sizeof x);
        if (kiln_gguf_unpack(v->type, v->blocks, v->count, x) ||
            memcmp(x, v->values, v->count * sizeof *x))
            failed += wrong(v->type, "unpacked on the host it is not the stored vector");
        memcpy(blocks, v->blocks, v->bytes);
        memset(x, 0, sizeof x);
        if (on_device(k, v->type, false, blocks, v->bytes, x, v->count) ||
            memcmp(x, v->values, v->count * sizeof *x))
            failed += wrong(v->type, "unpacked on the device it is not the stored vector");
        return failed;
    }
    for (size_t i = 0; i < v->count; i++)
        x[i] = (float)((int)(i * 7919 % 2003) - 1001) / 512;
    memset(blocks, 0, sizeof blocks);
    if (kiln_gguf_pack(v->type, x, v->count, blocks) || memcmp(blocks, v->blocks, v->bytes))
        failed += wrong(v->type, "packed on the host it is not the stored vector");
    memset(blocks, 0, sizeof blocks);
    if (on_device(k, v->type, true, blocks, v->bytes, x, v->count) ||
        memcmp(blocks, v->blocks, v->bytes))
        failed += wrong(v->type, "packed on the device it is not the stored vector");
    return failed;
}

// --- properties: packed and unpacked again, numbers are near what they were
// The largest error of a number in a block whose largest magnitude is 1. Signed levels reach to one
// step below the largest positive number; rounding moves half a step, and the rounding of a scale
// of `c` codes another part of it. With a minimum the range is 2 at most, and the minimum is
// rounded, too.
static double most_of(kiln_gguf_type type)
{
    switch (type) {
    case KILN_GGUF_Q4_0: return 1.0 / 8;
    case KILN_GGUF_Q4_1: return 1.0 / 15;
    case KILN_GGUF_Q5_0: return 1.0 / 16;
    case KILN_GGUF_Q5_1: return 1.0 / 31;
    case KILN_GGUF_Q8_0: return 0.5 / 127;
    case KILN_GGUF_Q2_K: return 1.0 / 3 + 1.0 / 15 + 0.5 / 15;
    case KILN_GGUF_Q3_K: return 1.0 / 4 + 0.5 / 32;
    case KILN_GGUF_Q4_K: return 1.0 / 15 + 1.0 / 63 + 0.5 / 63;
    case KILN_GGUF_Q5_K: return 1.0 / 31 + 1.0 / 63 + 0.5 / 63;
    case KILN_GGUF_Q6_K: break;
    }
    return 1.0 / 32 + 0.5 / 128;
}

static int check_error(kiln_gguf_type type, uint64_t seed)
{
    float x[MOST_ELEMENTS], back[MOST_ELEMENTS];
    uint8_t blocks[MOST_BYTES];
    kiln_gguf_format f;
    if (kiln_gguf_format_of(type, &f))
        return wrong(type, "it is no format");
    uint64_t state = seed;
    double largest = 0, size = pow(2, (double)(seed % 9) - 6);
    for (uint32_t i = 0; i < f.block_size; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        double u = (double)(state >> 11) * 0x1p-52 - 1; // every third block has one sign
        double group = pow(2, -(double)(i / 16 % 4));
        x[i] = (float)(size * group * (seed % 3 == 0 ? fabs(u) : seed % 3 == 1 ? u : -fabs(u)));
        largest = fmax(largest, fabs((double)x[i]));
    }
    if (kiln_gguf_pack(type, x, f.block_size, blocks) ||
        kiln_gguf_unpack(type, blocks, f.block_size, back))
        return wrong(type, kiln_last_error(NULL)->text);
    for (uint32_t i = 0; i < f.block_size; i++)
        if (!(fabs((double)back[i] - (double)x[i]) <= (most_of(type) + 0x1p-11) * largest)) {
            printf("gguf: %s, seed %llu: %g became %g; the largest is %g\n", f.name,
                   (unsigned long long)seed, (double)x[i], (double)back[i], largest);
            return 1;
        }
    return 0;
}

// Zeros stay zeros, and what a block holds is packed as the same numbers again where all levels are
// multiples of one scale.
static int check_zeros(kiln_gguf_type type)
{
    float x[MOST_ELEMENTS] = {0}, back[MOST_ELEMENTS];
    uint8_t blocks[MOST_BYTES];
    if (kiln_gguf_pack(type, x, 256, blocks) || kiln_gguf_unpack(type, blocks, 256, back))
        return wrong(type, kiln_last_error(NULL)->text);
    for (int i = 0; i < 256; i++)
        if (back[i] != 0)
            return wrong(type, "zeros do not stay zeros");
    return 0;
}

// --- refusals
static int refused(kiln *k, kiln_status status, const char *wanted)
{
    bool is_right = status && strstr(kiln_last_error(k)->text, wanted);
    if (!is_right)
        printf("gguf: '%s' was expected, not: %s\n", wanted, kiln_last_error(k)->text);
    return !is_right;
}

static int check_host_refusals(void)
{
    float x[64] = {0};
    uint8_t blocks[64];
    uint64_t bytes;
    kiln_gguf_format f;
    return refused(NULL, kiln_gguf_format_of((kiln_gguf_type)0, &f), "no block format") +
           refused(NULL, kiln_gguf_format_of(q4_0, NULL), "'out' is NULL") +
           refused(NULL, kiln_gguf_row_bytes(q4_0, 33, &bytes), "blocks of q4_0, which have 32") +
           refused(NULL, kiln_gguf_row_bytes(q4_0, 32, NULL), "'bytes' is NULL") +
           refused(NULL, kiln_gguf_pack(q6_k, x, 64, blocks), "blocks of q6_k, which have 256") +
           refused(NULL, kiln_gguf_pack(q8_0, NULL, 32, blocks), "'x' is NULL") +
           refused(NULL, kiln_gguf_unpack((kiln_gguf_type)9, blocks, 32, x), "no block format") +
           refused(NULL, kiln_gguf_unpack(q8_0, NULL, 32, x), "'blocks' is NULL") +
           (kiln_gguf_pack(q8_0, NULL, 0, NULL) != KILN_OK);
}

static int check_refusals(kiln *k)
{
    kiln_buffer *floats = NULL, *bytes = NULL;
    int failed =
        kiln_buffer_new(k, KILN_F32, 4096, &floats) || kiln_buffer_new(k, KILN_U8, 4096, &bytes);
    kiln_view out = KILN_VIEW(floats, 2, 3);
    out.first = 2000;
    const kiln_gguf_matmul_desc good = {
        .type = q4_0, .x = KILN_VIEW(floats, 2, 64), .weight = KILN_VIEW(bytes, 3, 36), .out = out};
    kiln_gguf_matmul_desc d = good;
    failed += kiln_gguf_matmul(k, &d) != KILN_OK;
    failed += refused(k, kiln_gguf_matmul(k, NULL), "the description is NULL");
    d.type = (kiln_gguf_type)1;
    failed += refused(k, kiln_gguf_matmul(k, &d), "1 is the number of no block format");
    d = good;
    d.x = KILN_VIEW(floats, 2, 48);
    failed += refused(k, kiln_gguf_matmul(k, &d), "rows of 48 elements; q4_0 has blocks of 32");
    d.x = KILN_VIEW(floats, 2, 96);
    failed += refused(k, kiln_gguf_matmul(k, &d), "rows of 36 bytes; 96 elements of q4_0");
    d.x = KILN_VIEW(floats, 128);
    failed += refused(k, kiln_gguf_matmul(k, &d), "'x' has 1 dimensions, not two");
    d.x = KILN_VIEW(bytes, 2, 64);
    failed += refused(k, kiln_gguf_matmul(k, &d), "'x' is u8; bf16, f16 and f32 are possible");
    d = good;
    d.weight = KILN_VIEW(floats, 3, 36);
    failed += refused(k, kiln_gguf_matmul(k, &d), "'weight' is f32; blocks are bytes, u8");
    d.weight = kiln_view_transpose(KILN_VIEW(bytes, 36, 3));
    failed += refused(k, kiln_gguf_matmul(k, &d), "not contiguous: bytes are 3 apart");
    d = good;
    d.out = KILN_VIEW(floats, 3, 2);
    d.out.first = 2000;
    failed += refused(k, kiln_gguf_matmul(k, &d), "'out' is [3, 2]; it must be [2, 3]");
    d.out = KILN_VIEW(floats, 2, 3);
    failed += refused(k, kiln_gguf_matmul(k, &d), "'out' overlaps 'x'");
    d = good;
    d.bias = KILN_VIEW(floats, 2);
    failed += refused(k, kiln_gguf_matmul(k, &d), "'bias' must be [3]");
    d = good;
    d.kernel = KILN_GGUF_VECTOR;
    d.x = KILN_VIEW(floats, 9, 64);
    d.out.sizes[0] = 9;
    failed += refused(k, kiln_gguf_matmul(k, &d), "8 rows of 'x' at most, not 9");
    d.tile_rows = 32;
    d.kernel = KILN_GGUF_TILE;
    failed += refused(k, kiln_gguf_matmul(k, &d), "'tile_rows' is 32; 16, 64 and 128");
    d.tile_rows = 0;
    d.kernel = KILN_GGUF_TENSOR;
    failed += refused(k, kiln_gguf_matmul(k, &d), "KILN_GGUF_TENSOR is impossible here");
    d.kernel = (kiln_gguf_kernel)77;
    failed += refused(k, kiln_gguf_matmul(k, &d), "77 is no kernel");
    kiln_gguf_dequantise_desc to = {
        .type = q4_0, .weight = good.weight, .out = KILN_VIEW(floats, 2, 64)};
    failed += refused(k, kiln_gguf_dequantise(k, &to), "'out' has 2 rows, and 'weight' has 3");
    to.out = KILN_VIEW(floats, 3, 32);
    failed += refused(k, kiln_gguf_dequantise(k, &to), "rows of 36 bytes; 32 elements of q4_0");
    kiln_gguf_quantise_desc from = {
        .type = q4_0, .x = KILN_VIEW(floats, 3, 64), .out = KILN_VIEW(bytes, 3, 35)};
    failed += refused(k, kiln_gguf_quantise(k, &from), "'out' has rows of 35 bytes");
    kiln_buffer_free(floats);
    kiln_buffer_free(bytes);
    return failed;
}

int gguf_check_vectors(kiln *k, int *passed)
{
    int failed = 0;
    for (size_t n = 0; n < sizeof vectors / sizeof *vectors; n++) {
        int now = check_vector(k, &vectors[n]);
        *passed += !now;
        failed += now;
    }
    for (size_t n = 0; n < GGUF_TYPES; n++) {
        int now = check_zeros(gguf_types[n]);
        for (uint64_t seed = 1; seed <= 60 && !now; seed++)
            now = check_error(gguf_types[n], seed);
        *passed += !now;
        failed += now;
    }
    int now = check_host_refusals() + check_refusals(k);
    *passed += !now;
    return failed + now;
}
