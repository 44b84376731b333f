// kiln_matmul against sums in double precision: all kernels, types, layouts and epilogues, ragged
// sizes, strides, batches, wrong descriptions.
//     matmul [DEVICE]        (default: cuda)
// Operands are small integers, so that every sum is exact and every result must be right bit for
// bit; a second run with other numbers must stay near, and repeat bit for bit.
#include "api.h"
#include "kiln/ops.h"
#include "test_numbers.h"

static bool is_fake, is_cuda, is_brief; // is_brief: compiling takes seconds
static int skipped;

typedef struct test_case {
    kiln_type in, out;
    uint32_t m, n, k;
    bool a_t, b_t, is_tf32;
    kiln_epilogue epilogue;
    uint32_t pad; // elements between rows
    uint32_t batch;
    uint32_t tile_m, tile_n;
    kiln_matmul_sm90 sm90;
    bool b_is_constant;
} test_case;

// --- one case
typedef struct data {
    double *a, *b, *want;
    float *bias;
    kiln_buffer *a_buffer, *b_buffer, *out_buffer, *bias_buffer;
    void *got;
    uint64_t a_rows, a_columns, b_rows, b_columns, out_stride;
    size_t out_count;
} data;

static kiln_buffer *operand(kiln *k, kiln_type t, double *values, uint64_t rows, uint64_t columns,
                            uint32_t pad, uint32_t batch, bool is_integer, uint32_t *seed)
{
    size_t stride = columns + pad, count = rows * stride * batch;
    void *bytes = calloc(count + 1, 4);
    kiln_buffer *b = NULL;
    for (size_t i = 0; i < rows * columns * batch; i++) {
        uint32_t r = random_bits(seed);
        double x = t == KILN_I8                   ? (double)(r % 255) - 127
                   : is_integer && t == KILN_F8E4 ? (double)(r % 3) - 1
                   : is_integer                   ? (double)(r % 7) - 3
                                                  : narrowed(t, (double)(r % 20011) / 10000 - 1);
        if (fabs(x) < 0.02) // no subnormal e4m3: `store` does not know them
            x = 0;
        values[i] = x;
        store(t, bytes, i / columns * stride + i % columns, x);
    }
    CHECK(!kiln_buffer_new(k, t, count, &b) && !kiln_write(b, 0, bytes, count));
    free(bytes);
    return b;
}

static double finished(kiln_epilogue e, double x, double bias)
{
    x += e ? bias : 0;
    return e == KILN_EPILOGUE_BIAS_RELU ? fmax(x, 0)
           : e == KILN_EPILOGUE_BIAS_GELU
               ? 0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
           : e == KILN_EPILOGUE_BIAS_SILU ? x / (1 + exp(-x))
                                          : x;
}

static void make_data(kiln *k, const test_case *c, data *d, bool is_integer)
{
    uint32_t seed = 7 + c->m + c->n * 3 + c->k * 5;
    size_t m = c->m, n = c->n, depth = c->k;
    d->a_rows = c->a_t ? depth : m;
    d->a_columns = c->a_t ? m : depth;
    d->b_rows = c->b_t ? n : depth;
    d->b_columns = c->b_t ? depth : n;
    d->out_stride = n + c->pad;
    d->out_count = m * d->out_stride * c->batch;
    d->a = calloc(m * depth * c->batch + 1, sizeof(double));
    d->b = calloc(n * depth * c->batch + 1, sizeof(double));
    d->want = calloc(m * n * c->batch + 1, sizeof(double));
    d->bias = calloc(n + 1, 4);
    d->got = calloc(d->out_count + 1, 4);
    d->a_buffer =
        operand(k, c->in, d->a, d->a_rows, d->a_columns, c->pad, c->batch, is_integer, &seed);
    d->b_buffer =
        operand(k, c->in, d->b, d->b_rows, d->b_columns, c->pad, c->batch, is_integer, &seed);
    d->out_buffer = d->bias_buffer = NULL;
    for (size_t i = 0; i < n; i++)
        d->bias[i] = (float)((int)(random_bits(&seed) % 9) - 4);
    CHECK(!kiln_buffer_new(k, c->out, d->out_count, &d->out_buffer));
    CHECK(!kiln_buffer_new(k, KILN_F32, n, &d->bias_buffer) &&
          !kiln_write(d->bias_buffer, 0, d->bias, n));
    double *rows = calloc(depth * n + 1, sizeof(double)); // b as [k, n]
    for (size_t z = 0; z < c->batch; z++) {
        const double *b = d->b + z * n * depth;
        for (size_t p = 0; p < depth; p++)
            for (size_t q = 0; q < n; q++)
                rows[p * n + q] = c->b_t ? b[q * depth + p] : b[p * n + q];
        for (size_t i = 0; i < m; i++)
            for (size_t p = 0; p < depth; p++) {
                double x = d->a[z * m * depth + (c->a_t ? p * m + i : i * depth + p)];
                double *want = d->want + (z * m + i) * n;
                for (size_t q = 0; q < n; q++)
                    want[q] += x * rows[p * n + q];
            }
    }
    free(rows);
}

static void free_data(data *d)
{
    free(d->a);
    free(d->b);
    free(d->want);
    free(d->bias);
    free(d->got);
    kiln_buffer_free(d->a_buffer);
    kiln_buffer_free(d->b_buffer);
    kiln_buffer_free(d->out_buffer);
    kiln_buffer_free(d->bias_buffer);
}

// Matrices behind one another, with `pad` elements between the rows.
static kiln_view matrices(kiln_buffer *b, uint64_t batch, uint64_t rows, uint64_t columns,
                          uint64_t pad)
{
    kiln_view v = KILN_VIEW(b, batch, rows, columns + pad);
    v = kiln_view_slice(v, 2, 0, (int64_t)columns, 1);
    return batch == 1 ? kiln_view_squeeze(v, 0) : v;
}

static kiln_matmul_desc desc_of(const test_case *c, const data *d, kiln_matmul_kernel kernel)
{
    kiln_matmul_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.a = matrices(d->a_buffer, c->batch, d->a_rows, d->a_columns, c->pad);
    desc.b = matrices(d->b_buffer, c->batch, d->b_rows, d->b_columns, c->pad);
    desc.out = matrices(d->out_buffer, c->batch, c->m, c->n, c->pad);
    if (c->a_t)
        desc.a = kiln_view_transpose(desc.a);
    if (c->b_t)
        desc.b = kiln_view_transpose(desc.b);
    if (c->epilogue)
        desc.bias = KILN_VIEW(d->bias_buffer, c->n);
    desc.is_tf32 = c->is_tf32;
    desc.epilogue = c->epilogue;
    desc.kernel = kernel;
    desc.tile_m = c->tile_m;
    desc.tile_n = c->tile_n;
    desc.sm90 = c->sm90;
    desc.b_is_constant = c->b_is_constant;
    return desc;
}

// The largest error, in units of sqrt(k) unless results must be exact.
static double worst_of(const test_case *c, const data *d, bool is_exact)
{
    double worst = 0;
    for (size_t i = 0; i < (size_t)c->m * c->n * c->batch && !is_fake; i++) {
        size_t row = i / c->n, column = i % c->n;
        double want = narrowed(c->out, finished(c->epilogue, d->want[i], (double)d->bias[column]));
        double got = load(c->out, d->got, row * d->out_stride + column);
        double error = fabs(got - want) / (is_exact || !c->k ? 1 : sqrt(c->k));
        if (!(error <= worst))
            worst = isnan(error) ? HUGE_VAL : error;
    }
    return worst;
}

static double limit_of(const test_case *c)
{
    double result = c->out == KILN_BF16 ? 0.02 : c->out == KILN_F16 ? 0.004 : 1e-5;
    double operands = c->in == KILN_F8E4 ? 0.02 : c->is_tf32 ? 4e-3 : 1e-5;
    double finish = c->epilogue >= KILN_EPILOGUE_BIAS_GELU ? 4e-3 : 0;
    return result + operands + finish;
}

static const char *const names[] = {"best", "sm90", "sm80", "portable", "cpu", "thin", "small"};
enum { KERNELS = sizeof names / sizeof *names };
static int refused[KERNELS], has_run[KERNELS]; // by kernel

// Does the product have the same bits that many times? Several results lie behind one another
// before the host waits for them: where processes share a GPU, each wait is a turn of all the
// others.
static bool repeats(kiln *k, const test_case *c, const data *d, kiln_matmul_desc desc, int times)
{
    size_t step = (d->out_count + 127) / 128 * 128, size = kiln_type_size(c->out);
    int at_once = times < 25 || step > 1 << 18 ? 1 : 25;
    size_t count = step * (size_t)at_once;
    uint32_t poison = 0xffffffffu;
    char *again = calloc(count + 1, size);
    kiln_buffer *out = NULL;
    bool is_same = again && !kiln_buffer_new(k, c->out, count, &out);
    for (int n = 0; n < times && is_same; n += at_once) {
        is_same = !kiln_fill(out, &poison);
        desc.out.buffer = out;
        for (int i = 0; i < at_once; i++) {
            desc.out.first = step * (size_t)i;
            is_same = is_same && !kiln_matmul(k, &desc);
        }
        is_same = is_same && !kiln_read(out, 0, again, count);
        for (int i = 0; i < at_once; i++)
            is_same =
                is_same && !memcmp(d->got, again + step * size * (size_t)i, d->out_count * size);
    }
    kiln_buffer_free(out);
    free(again);
    return is_same;
}

// False: the kernel has refused it.
static bool test_kernel(kiln *k, const test_case *c, data *d, kiln_matmul_kernel kernel,
                        bool is_integer)
{
    kiln_matmul_desc desc = desc_of(c, d, kernel);
    uint32_t poison = 0xffffffffu;
    CHECK(!kiln_fill(d->out_buffer, &poison));
    kiln_status status = kiln_matmul(k, &desc);
    if (status == KILN_E_UNSUPPORTED && (kernel != KILN_MATMUL_BEST || c->tile_m)) {
        // most tiles are that kernel's alone
        refused[kernel] += !c->tile_m || kernel == KILN_MATMUL_SM90;
        return false;
    }
    has_run[kernel]++;
    if (!status)
        status = kiln_sync(k);
    if (!status)
        status = kiln_read(d->out_buffer, 0, d->got, d->out_count);
    bool is_exact = c->in == KILN_I8 || (is_integer && c->epilogue <= KILN_EPILOGUE_BIAS_RELU);
    double worst = status ? HUGE_VAL : worst_of(c, d, is_exact);
    bool is_right = !status && worst <= (is_exact ? 0 : limit_of(c));
    if (!is_right)
        printf("%s %s -> %s %ux%ux%u a%s b%s epilogue %d pad %u batch %u tile %s%ux%u "
               "split %u: %s %g\n",
               names[kernel], kiln_type_name(c->in), kiln_type_name(c->out), c->m, c->n, c->k,
               c->a_t ? "t" : "n", c->b_t ? "t" : "n", (int)c->epilogue, c->pad, c->batch,
               c->sm90.is_swapped ? "swapped " : "", c->tile_m, c->tile_n, c->sm90.split_k,
               status ? kiln_last_error(k)->text : "largest error", worst);
    CHECK(is_right);
    is_right = is_right && (is_integer || repeats(k, c, d, desc, is_cuda && !is_fake ? 100 : 1));
    CHECK(is_right);
    return true;
}

// With integers, of which sums are exact, and with other numbers. Did the kernel run?
static bool test_both(kiln *k, const test_case *c, kiln_matmul_kernel kernel)
{
    bool all = true;
    for (int is_integer = 1; is_integer >= 0; is_integer--) {
        data d;
        make_data(k, c, &d, is_integer);
        all &= test_kernel(k, c, &d, kernel, is_integer);
        free_data(&d);
    }
    return all;
}

static void test_one(kiln *k, const test_case *given)
{
    test_case c = *given;
    c.batch = c.batch ? c.batch : 1;
    for (int is_integer = 1; is_integer >= 0; is_integer--) {
        data d;
        make_data(k, &c, &d, is_integer);
        bool ran[KILN_MATMUL_SMALL + 1];
        for (int kernel = KILN_MATMUL_BEST; kernel <= KILN_MATMUL_SMALL; kernel++)
            ran[kernel] = test_kernel(k, &c, &d, (kiln_matmul_kernel)kernel, is_integer);
        // On a GPU the best kernel is that for sm_90a wherever that one can.
        CHECK(ran[KILN_MATMUL_BEST] || !is_cuda || !ran[KILN_MATMUL_SM90]);
        free_data(&d);
    }
}

// --- the cases
static void test_sizes(kiln *k)
{
    static const uint32_t small[][3] = {{16, 16, 16}, {32, 48, 64}, {1, 8, 8},   {40, 72, 24},
                                        {17, 33, 9},  {70, 5, 1},   {5, 3, 130}, {64, 64, 32},
                                        {65, 16, 40}, {19, 131, 7}};
    static const uint32_t large[][3] = {
        {256, 256, 256}, {200, 328, 136}, {129, 264, 520},   {1, 512, 512},  {64, 2048, 256},
        {333, 77, 61},   {512, 512, 72},  {128, 1000, 1024}, {301, 777, 13}, {2001, 1501, 21}};
    const uint32_t(*sizes)[3] = is_cuda ? large : small;
    size_t count = is_cuda ? sizeof large / sizeof *large : sizeof small / sizeof *small;
    static const struct {
        kiln_type in, out;
        bool is_tf32;
    } types[] = {
        {KILN_BF16, KILN_BF16, false}, {KILN_BF16, KILN_F32, false},  {KILN_F16, KILN_F16, false},
        {KILN_F32, KILN_F32, true},    {KILN_F8E4, KILN_BF16, false}, {KILN_I8, KILN_I32, false},
        {KILN_F32, KILN_F32, false},   {KILN_F16, KILN_BF16, false},  {KILN_F8E4, KILN_F32, false}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t += is_brief ? 5 : 1)
        for (size_t s = is_brief ? 4 : 0; s < (is_brief ? 5 : count); s++)
            test_one(k, &(test_case){.in = types[t].in,
                                     .out = types[t].out,
                                     .is_tf32 = types[t].is_tf32,
                                     .m = sizes[s][0],
                                     .n = sizes[s][1],
                                     .k = sizes[s][2],
                                     .b_t = true});
}

static void test_layouts(kiln *k)
{
    static const kiln_type types[] = {KILN_BF16, KILN_F16, KILN_F32, KILN_I8, KILN_F8E4};
    uint32_t scale = is_cuda ? 3 : 1;
    for (size_t t = 0; t < (is_brief ? 1 : sizeof types / sizeof *types); t++)
        for (int layout = 0; layout < 4; layout++)
            for (uint32_t odd = 0; odd < (is_brief ? 1 : 2); odd++)
                test_one(k, &(test_case){.in = types[t],
                                         .out = types[t] == KILN_I8     ? KILN_I32
                                                : types[t] == KILN_F8E4 ? KILN_F16
                                                                        : types[t],
                                         .m = 48 * scale + 8 * scale + odd,
                                         .n = 40 * scale - odd,
                                         .k = 72 * scale + odd,
                                         .a_t = layout / 2,
                                         .b_t = layout % 2});
}

// Nothing but whole tiles, several for each block: the kernels leave out what edges need.
static void test_whole(kiln *k)
{
    static const struct {
        kiln_type in, out;
    } types[] = {{KILN_BF16, KILN_BF16}, {KILN_F16, KILN_F32}, {KILN_I8, KILN_I32}};
    for (size_t t = 0; t < (is_brief ? 1 : sizeof types / sizeof *types); t++)
        for (int layout = 0; layout < (is_brief ? 1 : 4); layout++) {
            test_case c = {.in = types[t].in,
                           .out = types[t].out,
                           .m = 128,
                           .n = 192,
                           .k = t == 2 ? 640 : 320,
                           .a_t = layout / 2,
                           .b_t = layout % 2 == 0};
            test_one(k, &c);
            if (!is_cuda)
                continue;
            c.m = c.n = 512;
            c.tile_m = 128;
            c.tile_n = 128;
            test_one(k, &c);
            c.tile_n = 256;
            c.epilogue = types[t].in == KILN_I8 ? KILN_EPILOGUE_NONE : KILN_EPILOGUE_BIAS_RELU;
            if (t == 0 && layout == 0 && !is_fake) { // more tiles than multiprocessors
                c.m = 1536;
                c.n = 3072;
            }
            test_one(k, &c);
        }
}

static void test_epilogues(kiln *k)
{
    for (kiln_epilogue e = KILN_EPILOGUE_BIAS; e <= KILN_EPILOGUE_BIAS_SILU; e++) {
        test_case c = {.in = KILN_BF16,
                       .out = KILN_F32,
                       .m = 40,
                       .n = 72,
                       .k = 48,
                       .b_t = true,
                       .epilogue = e};
        test_one(k, &c);
        if (is_brief)
            return;
        c.out = KILN_BF16;
        c.n = 75;
        test_one(k, &c);
        c.in = c.out = KILN_F32;
        test_one(k, &c);
    }
}

static void test_strides(kiln *k)
{
    for (uint32_t pad = 0; pad <= 8; pad += pad == 0 ? 3 : 5) {
        test_case c = {.in = KILN_F16,
                       .out = KILN_F16,
                       .m = 33,
                       .n = 40,
                       .k = 48,
                       .pad = pad,
                       .batch = 3,
                       .b_t = true};
        if (pad != 3 && is_brief)
            continue;
        test_one(k, &c);
        if (is_brief)
            return;
        c.b_t = false;
        c.out = KILN_F32;
        test_one(k, &c);
        c.in = KILN_I8;
        c.out = KILN_I32;
        test_one(k, &c);
    }
    test_one(k,
             &(test_case){.in = KILN_BF16, .out = KILN_BF16, .m = 8, .n = 8, .k = 0, .b_t = true});
}

// The tiles of the sm_90a kernel, on the GPU with several rows and columns of each.
static void test_tiles(kiln *k)
{
    uint32_t rows = is_cuda ? 264 : 136, columns = is_cuda ? 520 : 264, depth = is_cuda ? 200 : 136;
    for (uint32_t m = 64; m <= 256; m += 64)
        for (uint32_t n = 32; n <= (m == 256 ? 128 : m == 192 ? 192 : 256); n += 16) {
            test_case c = {.in = KILN_BF16,
                           .out = KILN_BF16,
                           .m = rows,
                           .n = columns,
                           .k = depth,
                           .tile_m = m,
                           .tile_n = n};
            for (int b_t = 0; b_t < 2; b_t++) {
                c.b_t = b_t;
                c.a_t = (n / 16 + (uint32_t)b_t) % 2;
                c.epilogue = n == 224 ? (kiln_epilogue)(1 + b_t) : KILN_EPILOGUE_NONE;
                c.sm90.is_pingpong = false;
                test_one(k, &c);
                c.sm90.is_pingpong = true;
                if (m == 128 && n <= 192)
                    test_one(k, &c);
            }
        }
}

// Ways of the sm_90a kernel: warpgroups that take turns, sums split over blocks, transposed
// results, tiles that are narrower than what is loaded.
static void test_ways(kiln *k)
{
    static const test_case ways[] = {
#include "test_ways.def"
    };
    static const struct {
        kiln_type in, out;
        bool is_tf32;
    } types[] = {{KILN_BF16, KILN_BF16, false},
                 {KILN_F16, KILN_F32, false},
                 {KILN_F32, KILN_F16, true},
                 {KILN_F8E4, KILN_BF16, false},
                 {KILN_I8, KILN_I32, false}};
    // The last two have rows that start anywhere.
    static const uint32_t sizes[][3] = {
        {5, 144, 264}, {72, 208, 520}, {264, 520, 1032}, {7, 141, 261}, {131, 519, 1029}};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                bool is_odd = sizes[i][1] % 8;
                if (is_cuda ? (t && (w + t) % 2) || (is_odd && (w + t + i) % 3 != 0)
                            : sizes[i][0] > 100 || (i == 1 && t) || (i == 3 && (w + t) % 2))
                    continue; // there are many variants, and the interpreter is slow
                test_case c = ways[w];
                c.in = types[t].in;
                c.out = types[t].out;
                c.is_tf32 = types[t].is_tf32;
                c.m = sizes[i][0] & (c.a_t && !is_odd ? ~7u : ~0u);
                c.m = c.m ? c.m : 8;
                c.n = sizes[i][1];
                c.k = sizes[i][2] & (is_odd ? ~0u : ~15u);
                c.batch = 1 + (i == 0 && w % 3 == 0);
                c.epilogue = c.in == KILN_I8 ? KILN_EPILOGUE_NONE : (kiln_epilogue)(w % 5);
                test_both(k, &c, KILN_MATMUL_SM90);
            }
}

// Small tiles of the portable kernel for rows that start anywhere, with and without parts of k.
static void test_loose(kiln *k)
{
    static const uint32_t tiles[][3] = {{16, 64, 1},  {16, 128, 2}, {64, 16, 3},
                                        {128, 16, 1}, {64, 64, 2},  {128, 128, 4},
                                        {64, 128, 1}, {64, 256, 1}, {128, 128, 1}};
    static const uint32_t sizes[][3] = {{5, 77, 261}, {67, 13, 331}, {16, 64, 256}, {70, 139, 19}};
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int layout = 0; layout < 4; layout++) {
                test_case c = {.in = layout % 2 ? KILN_BF16 : KILN_F16,
                               .out = layout == 3  ? KILN_F32
                                      : layout % 2 ? KILN_BF16
                                                   : KILN_F16,
                               .m = sizes[s][0],
                               .n = sizes[s][1],
                               .k = sizes[s][2],
                               .a_t = layout / 2,
                               .b_t = layout % 2,
                               .batch = 1,
                               // not by the size: each variant is compiled once for all sizes
                               .epilogue = (kiln_epilogue)((t + (size_t)layout) % 5),
                               .tile_m = tiles[t][0],
                               .tile_n = tiles[t][1],
                               .sm90 = {.parts = tiles[t][2]}};
                if (!is_cuda && (t + s + (size_t)layout) % 2)
                    continue;
                test_both(k, &c, KILN_MATMUL_PORTABLE);
            }
}

#include "test_few.h"

// Products of products, each of which may start before the one before it ends: the same bits as one
// after the other.
static void test_chain(kiln *k)
{
    enum { M = 64, MOST = 1024, WAYS = 3 };
    uint32_t n = is_cuda ? MOST : M, links = is_cuda ? 20 : 5;
    test_case c = {
        .in = KILN_BF16, .out = KILN_BF16, .m = M, .n = n, .k = n, .b_t = true, .batch = 1};
    static uint16_t results[WAYS][M * MOST];
    data d;
    make_data(k, &c, &d, false);
    kiln_buffer *turns[2] = {d.out_buffer, NULL};
    CHECK(!kiln_buffer_new(k, KILN_BF16, M * n, &turns[1]));
    for (int way = 0; way < WAYS; way++) { // the last: b may be read early
        kiln_matmul_desc desc = desc_of(&c, &d, KILN_MATMUL_BEST);
        desc.waits_for_previous = way == 0;
        desc.b_is_constant = way == 2;
        kiln_status status = KILN_OK;
        for (uint32_t i = 0; i < links && !status; i++) {
            desc.out = KILN_VIEW(turns[i % 2], M, n);
            status = kiln_matmul(k, &desc);
            desc.a = desc.out;
        }
        CHECK(!status && !kiln_sync(k) &&
              !kiln_read(turns[(links - 1) % 2], 0, results[way], M * n));
    }
    CHECK(!memcmp(results[0], results[1], sizeof results[0]));
    CHECK(!memcmp(results[0], results[2], sizeof results[0]));
    kiln_buffer_free(turns[1]);
    free_data(&d);
}

static void test_errors(kiln *k)
{
    test_case c = {
        .in = KILN_F16, .out = KILN_F16, .m = 16, .n = 16, .k = 16, .b_t = true, .batch = 1};
    data d;
    kiln_buffer *other = NULL;
    make_data(k, &c, &d, true);
    CHECK(!kiln_buffer_new(k, KILN_BF16, 256, &other));
    kiln_matmul_desc good = desc_of(&c, &d, KILN_MATMUL_BEST), bad;
#define WRONG(change, status, code, part)                                                          \
    bad = good;                                                                                    \
    change;                                                                                        \
    EXPECT(kiln_matmul(k, &bad), status, code, part)
    WRONG(bad.a.buffer = NULL, KILN_E_BAD_HANDLE, "K6002", "'a' has no buffer");
    WRONG(bad.out.buffer = NULL, KILN_E_BAD_HANDLE, "K6002", "'out' has no buffer");
    WRONG(bad.b.buffer = other, KILN_E_BAD_ARGUMENT, "K6011", "'a' is f16 and 'b' is bf16");
    WRONG(bad.b.type = KILN_BF16, KILN_E_BAD_ARGUMENT, "K6011", "'a' is f16 and 'b' is bf16");
    WRONG(bad.a.sizes[0] = 17, KILN_E_BAD_ARGUMENT, "K7002", "'a', [17, 16] from element 0 on, re");
    WRONG(bad.out.first = 1, KILN_E_BAD_ARGUMENT, "K7002", "reaches element 256");
    WRONG(bad.out = kiln_view_broadcast(KILN_VIEW(d.out_buffer, 16), 2, good.out.sizes),
          KILN_E_BAD_ARGUMENT, "K7005", "kiln_matmul: 'out'");
    WRONG(bad.out = good.a, KILN_E_BAD_ARGUMENT, "K6003", "'out' and 'a' overlap");
    WRONG(bad.a = KILN_VIEW(d.a_buffer, 256), KILN_E_BAD_ARGUMENT, "K7004", "'a' is [256]");
    WRONG(bad.a = KILN_VIEW(d.a_buffer, 16, 8), KILN_E_BAD_ARGUMENT, "K7004",
          "[16, 8] * [16, 16] does not make [16, 16]");
    WRONG(bad.b = KILN_VIEW(d.b_buffer, 2, 16, 8), KILN_E_BAD_ARGUMENT, "K7004", "[2, 16, 8]");
    WRONG(bad.out = KILN_VIEW(d.out_buffer, 4, 4), KILN_E_BAD_ARGUMENT, "K7004", "[4, 4]");
    WRONG(bad.a = kiln_view_index(good.a, 3, 0), KILN_E_BAD_ARGUMENT, "K7003", "kiln_view_index");
    WRONG(bad.bias = KILN_VIEW(d.bias_buffer, 16), KILN_E_BAD_ARGUMENT, "K6003",
          "no epilogue that adds it");
    WRONG(bad.epilogue = KILN_EPILOGUE_BIAS, KILN_E_BAD_HANDLE, "K6002", "'bias' has no buffer");
    WRONG((bad.epilogue = KILN_EPILOGUE_BIAS, bad.bias = KILN_VIEW(d.bias_buffer, 15)),
          KILN_E_BAD_ARGUMENT, "K7004", "'bias' is [15]");
    WRONG((bad.epilogue = KILN_EPILOGUE_BIAS, bad.bias = KILN_VIEW(d.a_buffer, 16)),
          KILN_E_BAD_ARGUMENT, "K6011", "'bias' is f16, not f32");
    WRONG(bad.epilogue = (kiln_epilogue)9, KILN_E_BAD_ARGUMENT, "K6003", "no such epilogue");
    WRONG(bad.is_tf32 = true, KILN_E_BAD_ARGUMENT, "K6003", "is_tf32");
    for (int kernel = KILN_MATMUL_BEST; kernel <= KILN_MATMUL_SMALL; kernel++) {
        WRONG((bad.kernel = (kiln_matmul_kernel)kernel, bad.tile_m = 13, bad.tile_n = 7),
              KILN_E_UNSUPPORTED, "K6038", "cannot");
    }
    good.kernel = KILN_MATMUL_SM90;
    WRONG((bad.tile_m = 192, bad.tile_n = 256), KILN_E_UNSUPPORTED, "K6038", "cannot");
    WRONG((bad.tile_m = 96, bad.tile_n = 64), KILN_E_UNSUPPORTED, "K6038", "cannot");
    good.kernel = KILN_MATMUL_BEST;
    EXPECT(kiln_matmul(k, NULL), KILN_E_BAD_ARGUMENT, "K6003", "description is NULL");
    EXPECT(kiln_matmul(NULL, &good), KILN_E_BAD_HANDLE, "K6002", "NULL was given");
    bad = good;
    bad.a = kiln_view_slice(good.a, 0, 0, 0, 1);
    bad.out = kiln_view_slice(good.out, 0, 0, 0, 1);
    CHECK(!kiln_matmul(k, &bad)); // no rows: nothing to do
    kiln_buffer_free(other);
    free_data(&d);
    c.out = KILN_F32;
    make_data(k, &c, &d, true);
    bad = desc_of(&c, &d, KILN_MATMUL_BEST);
    bad.epilogue = KILN_EPILOGUE_BIAS;
    bad.bias = KILN_VIEW(d.out_buffer, 16);
    EXPECT(kiln_matmul(k, &bad), KILN_E_BAD_ARGUMENT, "K6003", "'out' and 'bias' overlap");
    free_data(&d);
}

// Tiles of two widths: what is refused.
static void test_narrow_errors(kiln *k)
{
    test_case c = {
        .in = KILN_F16, .out = KILN_F16, .m = 16, .n = 160, .k = 16, .b_t = true, .batch = 1};
    data d;
    make_data(k, &c, &d, true);
    kiln_matmul_desc good = desc_of(&c, &d, KILN_MATMUL_SM90), bad;
    good.tile_m = 128;
    good.tile_n = 96;
    good.sm90 = (kiln_matmul_sm90){.is_pingpong = true, .narrow_n = 64, .narrow_columns = 2};
    bad = good;
    bad.sm90 = (kiln_matmul_sm90){.is_pingpong = true};
    CHECK(!kiln_matmul(k, &good) == !kiln_matmul(k, &bad)); // where the kernel runs, it has both
    WRONG((bad.b = kiln_view_slice(good.b, 1, 0, 128, 1),
           bad.out = KILN_VIEW(good.out.buffer, 16, 128)),
          KILN_E_UNSUPPORTED, "K6038", "cannot"); // no wide column is left
    WRONG(bad.sm90.is_pingpong = false, KILN_E_UNSUPPORTED, "K6038", "cannot");
    WRONG(bad.sm90.narrow_columns = 0, KILN_E_UNSUPPORTED, "K6038", "cannot");
    WRONG(bad.sm90.narrow_n = 0, KILN_E_UNSUPPORTED, "K6038", "cannot");
    WRONG(bad.sm90.narrow_n = 96, KILN_E_UNSUPPORTED, "K6038", "cannot");
    WRONG(bad.sm90.narrow_n = 48, KILN_E_UNSUPPORTED, "K6038", "cannot");
    WRONG(bad.sm90.narrow_n = 72, KILN_E_UNSUPPORTED, "K6038", "cannot");
    WRONG(bad.sm90.narrow_columns = UINT32_MAX, KILN_E_UNSUPPORTED, "K6038", "cannot");
    free_data(&d);
}

// Tiles of two widths, in three groups of rows that begin at different columns; tiles with a tail,
// in front of each second one, two of them in a block; and turns of one step. Small enough for the
// sanitizers.
static void test_narrow(kiln *k)
{
    static const test_case cases[] = {
        {.m = 3072,
         .n = 3072,
         .k = 72,
         .tile_m = 64,
         .tile_n = 96,
         .sm90 = {.is_pingpong = true, .narrow_n = 64, .narrow_columns = 3}},
        {.m = 1288, .n = 3600, .k = 136, .tile_m = 128, .tile_n = 224},
        {.m = 1288,
         .n = 7200,
         .k = 40,
         .tile_m = 128,
         .tile_n = 128,
         .sm90 = {.is_pingpong = true}}};
    test_narrow_errors(k);
    for (size_t i = 0; i < sizeof cases / sizeof *cases && is_cuda && !is_fake; i++)
        for (int layout = 0; layout < 4; layout++) {
            test_case c = cases[i];
            data d;
            c.in = c.out = KILN_BF16;
            c.a_t = layout / 2;
            c.b_t = layout % 2 == 0;
            c.batch = 1;
            c.epilogue = layout % 2 ? KILN_EPILOGUE_BIAS : KILN_EPILOGUE_NONE;
            make_data(k, &c, &d, true);
            test_kernel(k, &c, &d, KILN_MATMUL_SM90, true);
            free_data(&d);
        }
}

// The parts, by name: each can run alone, and beside the others.
static const struct {
    const char *name;
    void (*run)(kiln *k);
    bool is_long; // left out on slow devices
} parts[] = {
    {"errors", test_errors, false},
    {"sizes", test_sizes, false},
    {"layouts", test_layouts, false},
    {"whole", test_whole, false},
    {"epilogues", test_epilogues, false},
    {"strides", test_strides, false},
    {"chain", test_chain, false},
    {"loose", test_loose, false},
    {"thin", test_thin, true},
    {"stream", test_stream, true},
    {"turned", test_turned, true},
    {"short", test_short, true},
    {"small", test_small, false},
    {"ways", test_ways, true},
    {"tiles", test_tiles, true},
    {"narrow", test_narrow, false},
};

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "cuda", *only = argc > 2 ? argv[2] : NULL;
    kiln *k;
    is_cuda = !strncmp(device, "cuda", 4);
    is_brief = !strncmp(device, "cpu", 3) || !strncmp(device, "opencl", 6);
    if (!strcmp(device, "parts")) {
        for (size_t n = 0; n < sizeof parts / sizeof *parts; n++)
            printf("%s\n", parts[n].name);
        return 0;
    }
    k = api_open(device);
    is_fake = api_is_fake(k);
    is_brief |= is_fake;
    bool known = false;
    for (size_t n = 0; n < sizeof parts / sizeof *parts; n++)
        if ((!only || !strcmp(only, parts[n].name)) && !(parts[n].is_long && is_brief))
            parts[n].run(k), known = true;
    // The interpreter has every kernel: one that refuses everything is broken, not skipped.
    for (int n = 0; n < KERNELS; n++) {
        CHECK(has_run[n] || !refused[n] || strcmp(device, "interp") != 0);
        skipped += refused[n];
        if (refused[n])
            printf("skipped: cases that kernel %s does not take\n", names[n]);
    }
    CHECK(known); // a part of that name
    kiln_close(k);
    printf("matmul: %d passed, %d failed, %d skipped\n", api_passed, api_failed, skipped);
    return api_failed != 0;
}
