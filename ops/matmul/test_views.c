// kiln_matmul with views of every kind: transposed, sliced, backwards, broadcast, every second
// element, batches in one or more dimensions, results that are columns, biases with gaps. Operands
// are small integers: results must be right bit for bit, and what lies between the elements of the
// result must stay.
//     matmul_views [DEVICE]        (default: cuda)
#include <math.h>

#include "api.h"
#include "kiln/ops.h"

enum { LENGTH = 1 << 16 };
static bool is_fake;

static uint32_t seed = 1;
static uint32_t pick(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(seed >> 8) * below) >> 24);
}

typedef struct shapes {
    uint32_t batches[2], m, n, k;
} shapes;

typedef enum kind {
    DENSE,
    TRANSPOSED,
    PADDED,
    SECOND,   // every second column
    BACKWARD, // columns from the last to the first
    SCATTERED,
    ROW_TIMES, // one row for all
    KINDS
} kind;

// A view of `rows` x `columns` with batches in front; `is_out`: it reaches no element twice.
static kiln_view make_view(kiln_buffer *b, kind how, const uint32_t *batches, uint64_t rows,
                           uint64_t columns, bool is_out)
{
    uint64_t y = batches[0], z = batches[1];
    kiln_view v;
    switch (how) {
    case TRANSPOSED: v = kiln_view_transpose(KILN_VIEW(b, y, z, columns, rows)); break;
    case PADDED:
        v = kiln_view_slice(KILN_VIEW(b, y, z, rows, columns + 8), 3, 8, KILN_TO_END, 1);
        break;
    case SECOND:
        v = kiln_view_slice(KILN_VIEW(b, y, z, rows, 2 * columns), 3, 0, KILN_TO_END, 2);
        break;
    case BACKWARD: v = kiln_view_flip(KILN_VIEW(b, y, z, rows, columns), 3); break;
    case SCATTERED:
        v = kiln_view_slice(KILN_VIEW(b, z, columns, 3 * rows, y), 2, 1, KILN_TO_END, 3);
        v = kiln_view_permute(v, (const uint32_t[]){3, 0, 2, 1});
        v = kiln_view_flip(v, 2);
        break;
    case ROW_TIMES:
        v = KILN_VIEW(b, y, z, is_out ? rows : 1, columns);
        v = kiln_view_broadcast(v, 4, (const uint64_t[]){y, z, rows, columns});
        break;
    default: v = KILN_VIEW(b, y, z, rows, columns); break;
    }
    return v;
}

static float *all_of(kiln_view v)
{
    float *out = calloc(kiln_view_count(v) + 1, sizeof *out);
    CHECK(!kiln_read_view(v, out));
    return out;
}

static void test_one(kiln *k, kiln_buffer *const b[4], const shapes *s, const kind how[3],
                     bool has_bias, kiln_matmul_kernel kernel)
{
    static float before[LENGTH], after[LENGTH];
    const uint32_t one[2] = {1, 1};
    kiln_matmul_desc desc = {.kernel = kernel};
    desc.a = make_view(b[0], how[0], pick(3) ? s->batches : one, s->m, s->k, false);
    desc.b = make_view(b[1], how[1], pick(3) ? s->batches : one, s->k, s->n, false);
    desc.out = make_view(b[2], how[2], s->batches, s->m, s->n, true);
    desc.epilogue = has_bias ? KILN_EPILOGUE_BIAS : KILN_EPILOGUE_NONE;
    if (desc.a.sizes[0] == 1 && pick(2))
        desc.a = kiln_view_squeeze(desc.a, 0);
    if (has_bias)
        desc.bias = kiln_view_slice(KILN_VIEW(b[3], 2 * s->n), 0, 0, KILN_TO_END, 1 + pick(2));
    if (has_bias)
        desc.bias.sizes[0] = s->n;
    CHECK(!kiln_read(b[2], 0, before, LENGTH));
    kiln_status status = kiln_matmul(k, &desc);
    if (status) {
        printf("%s\n", kiln_last_error(k)->text);
        CHECK(false);
        return;
    }
    if (is_fake)
        return;
    float *got = all_of(desc.out), *bias = has_bias ? all_of(desc.bias) : NULL;
    uint64_t y = s->batches[0], z = s->batches[1];
    float *left = all_of(kiln_view_broadcast(desc.a, 4, (const uint64_t[]){y, z, s->m, s->k}));
    float *right = all_of(kiln_view_broadcast(desc.b, 4, (const uint64_t[]){y, z, s->k, s->n}));
    bool is_right = true;
    for (uint64_t q = 0; q < y * z; q++)
        for (uint64_t i = 0; i < s->m; i++)
            for (uint64_t j = 0; j < s->n; j++) {
                float sum = bias ? bias[j] : 0;
                for (uint64_t p = 0; p < s->k; p++)
                    sum += left[(q * s->m + i) * s->k + p] * right[(q * s->k + p) * s->n + j];
                is_right = is_right && got[(q * s->m + i) * s->n + j] == sum;
            }
    // all other elements of the buffer are as they were
    CHECK(!kiln_write_view(desc.out, (got[0] = got[0], got)) && !kiln_read(b[2], 0, after, LENGTH));
    float *old = calloc(kiln_view_count(desc.out) + 1, sizeof *old);
    CHECK(!kiln_write(b[2], 0, before, LENGTH) && !kiln_read_view(desc.out, old));
    CHECK(!kiln_write(b[2], 0, after, LENGTH) && !kiln_write_view(desc.out, old));
    CHECK(!kiln_read(b[2], 0, after, LENGTH));
    is_right = is_right && !memcmp(before, after, sizeof before);
    if (!is_right)
        printf("wrong: %ux%ux%u batches %u %u, views %d %d %d, bias %d\n", s->m, s->n, s->k,
               s->batches[0], s->batches[1], (int)how[0], (int)how[1], (int)how[2], has_bias);
    CHECK(is_right);
    free(got);
    free(bias);
    free(left);
    free(right);
    free(old);
}

// 16-bit operands and bytes: one product of each, of every second column.
static void test_types(kiln *k)
{
    static const struct {
        kiln_type in, out;
        bool is_tf32;
        uint64_t one; // its bits
    } types[] = {{KILN_BF16, KILN_BF16, false, 0x3f80},
                 {KILN_F16, KILN_F32, false, 0x3c00},
                 {KILN_F8E4, KILN_F16, false, 0x38},
                 {KILN_I8, KILN_I32, false, 1},
                 {KILN_F32, KILN_BF16, true, 0x3f800000}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        kiln_buffer *a = NULL, *b = NULL, *out = NULL;
        CHECK(!kiln_buffer_new(k, types[t].in, 4 * 6, &a) &&
              !kiln_buffer_new(k, types[t].in, 3 * 5, &b) &&
              !kiln_buffer_new(k, types[t].out, 4 * 5, &out));
        CHECK(!kiln_fill(a, &types[t].one) && !kiln_fill(b, &types[t].one));
        kiln_matmul_desc desc = {
            .a = kiln_view_slice(KILN_VIEW(a, 4, 6), 1, 0, KILN_TO_END, 2),
            .b = KILN_VIEW(b, 3, 5),
            .out = KILN_VIEW(out, 4, 5),
            .is_tf32 = types[t].is_tf32,
        };
        CHECK(!kiln_matmul(k, &desc));
        uint8_t got[80], three[4] = {0};
        const uint16_t three_bf16 = 0x4040, three_f16 = 0x4200;
        const float three_f32 = 3;
        const int32_t three_i32 = 3;
        size_t size = kiln_type_size(types[t].out);
        memcpy(three,
               types[t].out == KILN_BF16  ? (const void *)&three_bf16
               : types[t].out == KILN_F16 ? (const void *)&three_f16
               : types[t].out == KILN_F32 ? (const void *)&three_f32
                                          : (const void *)&three_i32,
               size);
        bool is_right = !kiln_read(out, 0, got, 20);
        for (size_t n = 0; n < 20 && !is_fake; n++)
            is_right = is_right && !memcmp(got + n * size, three, size);
        CHECK(is_right);
        desc.kernel = KILN_MATMUL_SM80;
        kiln_status status = kiln_matmul(k, &desc);
        CHECK(status == KILN_E_UNSUPPORTED);
        kiln_buffer_free(a);
        kiln_buffer_free(b);
        kiln_buffer_free(out);
    }
}

// A view may see a buffer of bytes as numbers.
static void test_bytes(kiln *k)
{
    kiln_buffer *bytes = NULL;
    const float numbers[] = {9, 1, 2, 3, 4, 9, 9, 9};
    float got[4];
    CHECK(!kiln_buffer_new(k, KILN_U8, sizeof numbers + 16, &bytes));
    CHECK(!kiln_write(bytes, 0, numbers, sizeof numbers));
    kiln_view v = {.buffer = bytes, .first = 1, .type = KILN_F32, .rank = 2, .sizes = {2, 2}};
    kiln_view out = v;
    out.first = 8;
    CHECK(!kiln_matmul(k, &(kiln_matmul_desc){.a = v, .b = v, .out = out}));
    CHECK(!kiln_read_view(out, got));
    CHECK(is_fake || (got[0] == 7 && got[1] == 10 && got[2] == 15 && got[3] == 22));
    out.first = 4;
    EXPECT(kiln_matmul(k, &(kiln_matmul_desc){.a = v, .b = v, .out = out}), KILN_E_BAD_ARGUMENT,
           "K6003", "'out' and 'a' overlap");
    kiln_buffer_free(bytes);
}

// --- memory between the kernels of one call: copies of operands whose rows start anywhere, sums of
// parts of k
typedef struct product {
    uint32_t m, n, k;
    kiln_buffer *a, *b, *out;
    float want[2048];
} product;

static void make_product(kiln *k, uint32_t m, uint32_t n, uint32_t depth, product *p)
{
    static uint16_t bits[2][1 << 16];
    static float values[2][1 << 16];
    const uint32_t counts[2] = {m * depth, n * depth};
    kiln_buffer **const to[2] = {&p->a, &p->b};
    *p = (product){.m = m, .n = n, .k = depth};
    for (int o = 0; o < 2; o++) {
        for (uint32_t i = 0; i < counts[o]; i++) {
            uint32_t word;
            values[o][i] = (float)((int)pick(5) - 2);
            memcpy(&word, &values[o][i], 4);
            bits[o][i] = (uint16_t)(word >> 16);
        }
        CHECK(!kiln_buffer_new(k, KILN_BF16, counts[o], to[o]) &&
              !kiln_write(*to[o], 0, bits[o], counts[o]));
    }
    CHECK(!kiln_buffer_new(k, KILN_F32, (size_t)m * n, &p->out));
    for (uint32_t i = 0; i < m * n; i++)
        for (uint32_t l = 0; l < depth; l++)
            p->want[i] += values[0][i / n * depth + l] * values[1][i % n * depth + l];
}

static kiln_status multiply(kiln *k, const product *p, uint32_t parts, kiln_stream *stream)
{
    return kiln_matmul(k, &(kiln_matmul_desc){.a = KILN_VIEW(p->a, p->m, p->k),
                                              .b = kiln_view_transpose(KILN_VIEW(p->b, p->n, p->k)),
                                              .out = KILN_VIEW(p->out, p->m, p->n),
                                              .kernel = KILN_MATMUL_SM90,
                                              .tile_m = 64,
                                              .tile_n = 32,
                                              .sm90 = {.parts = parts},
                                              .stream = stream});
}

static void check_product(const product *p)
{
    static float got[2048];
    const float nothing = -1;
    CHECK(!kiln_read(p->out, 0, got, p->m * p->n));
    CHECK(is_fake || !memcmp(got, p->want, p->m * p->n * sizeof *got));
    CHECK(!kiln_fill(p->out, &nothing));
}

// On two streams at the same time, and in a graph beside calls on the stream that captured it.
static void test_scratch(kiln *k)
{
    static product x, y;
    kiln_stream *streams[2] = {NULL, NULL};
    kiln_graph *graph = NULL;
    make_product(k, 33, 37, 901, &x);
    make_product(k, 41, 23, 1155, &y);
    for (int n = 0; n < 2; n++)
        CHECK(!kiln_stream_new(k, 0, &streams[n]));
    kiln_status status = multiply(k, &x, 3, NULL);
    if (status == KILN_E_UNSUPPORTED)
        goto free_all;
    CHECK(!status);
    check_product(&x);
    for (uint32_t round = 0; round < 3; round++) {
        CHECK(!multiply(k, &x, 2 + round, streams[0]) && !multiply(k, &y, 7, streams[1]));
        CHECK(!kiln_sync(k));
        check_product(&x);
        check_product(&y);
    }
    CHECK(!kiln_capture_begin(streams[0]));
    CHECK(!multiply(k, &x, 2, streams[0]) && !multiply(k, &y, 9, streams[0]));
    CHECK(!kiln_capture_end(streams[0], &graph));
    for (int round = 0; round < 2; round++) {
        CHECK(!kiln_graph_launch(graph, streams[1]) && !kiln_stream_sync(streams[1]));
        check_product(&x);
        check_product(&y);
        CHECK(!multiply(k, &y, 5, streams[0]) && !kiln_stream_sync(streams[0]));
        check_product(&y);
    }
    kiln_graph_free(graph);
free_all:
    for (int n = 0; n < 2; n++)
        kiln_stream_free(streams[n]);
    kiln_buffer *const all[] = {x.a, x.b, x.out, y.a, y.b, y.out};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        kiln_buffer_free(all[n]);
}

// A residual and 'pre' with batches in three dimensions, of which operands have some.
static void test_residual(kiln *k)
{
    enum { X = 2, Y = 3, Z = 2, M = 4, N = 5, K = 3, ALL = X * Y * Z * M * N };
    static float a[Y * Z * M * K], b[X * K * N], added[ALL], out[ALL], pre[ALL];
    kiln_buffer *all[5];
    static const size_t counts[5] = {Y * Z * M * K, X * K * N, ALL, ALL, ALL};
    float *const data[5] = {a, b, added, out, pre};
    for (int n = 0; n < 5; n++) {
        for (size_t i = 0; i < counts[n]; i++)
            data[n][i] = (float)((int)pick(7) - 3);
        CHECK(!kiln_buffer_new(k, KILN_F32, counts[n], &all[n]) &&
              !kiln_write(all[n], 0, data[n], counts[n]));
    }
    kiln_matmul_desc desc = {.a = KILN_VIEW(all[0], Y, Z, M, K),
                             .b = KILN_VIEW(all[1], X, 1, 1, K, N),
                             .residual = KILN_VIEW(all[2], X, Y, Z, M, N),
                             .out = KILN_VIEW(all[3], X, Y, Z, M, N),
                             .pre = KILN_VIEW(all[4], X, Y, Z, M, N)};
    kiln_status status = kiln_matmul(k, &desc);
    if (status)
        printf("%s\n", kiln_last_error(k)->text);
    CHECK(!status && !kiln_read(all[3], 0, out, ALL) && !kiln_read(all[4], 0, pre, ALL));
    for (int n = 0; n < ALL && !is_fake; n++) {
        const float *row = a + n / N % (Y * Z * M) * K, *column = b + n / (ALL / X) * K * N + n % N;
        float sum = row[0] * column[0] + row[1] * column[N] + row[2] * column[2 * N];
        CHECK(out[n] == sum + added[n] && pre[n] == sum);
    }
    for (int n = 0; n < 5; n++)
        kiln_buffer_free(all[n]);
}

// Sums of nothing: operands without an element, whose batches lie apart all the same.
static void test_empty(kiln *k)
{
    enum { BATCHES = 6, ROWS = 5, COLUMNS = 4, ALL = BATCHES * ROWS * COLUMNS };
    static const kiln_type types[] = {KILN_F32, KILN_F16};
    for (int type = 0; type < 2; type++)
        for (int has_bias = 0; has_bias < 2; has_bias++) {
            kiln_buffer *a = NULL, *b = NULL, *out = NULL, *bias = NULL;
            float row[COLUMNS] = {1, 2, 3, 4}, all[2 * ALL];
            for (int i = 0; i < 2 * ALL; i++)
                all[i] = 7;
            CHECK(!kiln_buffer_new(k, types[type], 0, &a) &&
                  !kiln_buffer_new(k, types[type], 0, &b) &&
                  !kiln_buffer_new(k, KILN_F32, 2 * ALL, &out) &&
                  !kiln_buffer_new(k, KILN_F32, COLUMNS, &bias) &&
                  !kiln_write(out, 0, all, 2 * ALL) && !kiln_write(bias, 0, row, COLUMNS));
            kiln_matmul_desc desc = {
                .a = KILN_VIEW(a, 2, 3, ROWS, 0),
                .b = KILN_VIEW(b, 0, COLUMNS),
                .out = kiln_view_slice(KILN_VIEW(out, 2, 2 * 3, ROWS, COLUMNS), 1, 0, 3, 1)};
            for (int n = 0; n < 3; n++) // as wide rows would lie
                desc.a.strides[n] = (int64_t[]){24, 8, 1}[n];
            desc.a.strides[3] = desc.a.has_strides = 1;
            if (has_bias) {
                desc.bias = KILN_VIEW(bias, COLUMNS);
                desc.epilogue = KILN_EPILOGUE_BIAS;
            }
            kiln_status status = kiln_matmul(k, &desc);
            if (status)
                printf("%s\n", kiln_last_error(k)->text);
            CHECK(!status && !kiln_read(out, 0, all, 2 * ALL));
            for (int i = 0; i < 2 * ALL && !is_fake; i++) {
                bool is_written = i / (ROWS * COLUMNS) % 6 < 3;
                CHECK(all[i] == (!is_written ? 7 : has_bias ? row[i % COLUMNS] : 0));
            }
            kiln_buffer *const buffers[] = {a, b, out, bias};
            for (int n = 0; n < 4; n++)
                kiln_buffer_free(buffers[n]);
        }
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "cuda";
    kiln *k = api_open(device);
    static float numbers[LENGTH];
    kiln_buffer *b[4] = {NULL, NULL, NULL, NULL};
    is_fake = api_is_fake(k);
    for (int i = 0; i < LENGTH; i++)
        numbers[i] = (float)((int)pick(7) - 3);
    for (int i = 0; i < 4; i++)
        CHECK(!kiln_buffer_new(k, KILN_F32, LENGTH, &b[i]) &&
              !kiln_write(b[i], 0, numbers, LENGTH));
    static const shapes sizes[] = {{{1, 1}, 33, 17, 20}, {{2, 3}, 16, 8, 12}, {{1, 4}, 5, 40, 1},
                                   {{3, 1}, 1, 9, 30},   {{2, 2}, 7, 1, 5},   {{1, 1}, 64, 64, 32}};
    // compiling takes its time
    uint32_t left_out = !strncmp(device, "cpu", 3) ? 4 : !strncmp(device, "opencl", 6) ? 16 : 1;
    for (kind x = DENSE; x < KINDS; x++)
        for (kind y = DENSE; y < KINDS; y++)
            for (kind z = DENSE; z < KINDS; z++) {
                const kind how[3] = {x, y, z};
                const shapes *s = &sizes[pick(6)];
                bool has_bias = pick(2) == 1;
                if (pick(left_out))
                    continue;
                test_one(k, b, s, how, has_bias, pick(4) ? KILN_MATMUL_BEST : KILN_MATMUL_PORTABLE);
            }
    test_types(k);
    test_bytes(k);
    test_empty(k);
    test_residual(k);
    test_scratch(k);
    kiln_close(k);
    return api_done("matmul_views");
}
