// nv_copies: asynchronous copies and barriers, with exact expectations: cp.async, bulk copies and
// sums, tensor copies of 1 to 5 dimensions with every swizzle and parts outside, multicast in a
// cluster, named barriers, and a matrix product that uses most of it.     nv_copies [DEVICE]
#include "nv/nv.h"

#define KERNELS "tests/gpu/nv/copies.c"

static kiln *k;
static const uint32_t *expected;
static uint32_t got[1 << 16];
static size_t expected_count;

static bool is_expected(void *user)
{
    (void)user;
    for (size_t n = 0; n < expected_count; n++)
        if (got[n] != expected[n]) {
            printf("word %zu is 0x%x, not 0x%x\n", n, got[n], expected[n]);
            return false;
        }
    return true;
}

static nv_job job(const char *kernel, kiln_buffer *out, const void *before, const uint32_t *want,
                  size_t count)
{
    nv_job j;
    memset(&j, 0, sizeof j);
    j.k = k;
    j.path = KERNELS;
    j.kernel = kernel;
    j.out = out;
    j.before = before;
    j.after = got;
    j.count = count;
    j.launch.grid[0] = 1;
    expected = want;
    expected_count = count;
    return j;
}

static const uint32_t zeros[1 << 16];

// --- cp.async and named barriers: x in, out out
static void plain(const char *kernel, uint32_t threads, const uint32_t *x, size_t x_count,
                  const uint32_t *want)
{
    kiln_buffer *in = nv_buffer(k, KILN_U32, x_count, x);
    kiln_buffer *out = nv_buffer(k, KILN_U32, threads, NULL);
    nv_job j = job(kernel, out, zeros, want, threads);
    int count = 0;
    if (x)
        j.args[count++] = kiln_arg_buffer(in);
    j.args[count++] = kiln_arg_buffer(out);
    j.launch.arg_count = (size_t)count;
    CHECK(nv_run(&j, is_expected, NULL));
    kiln_buffer_free(in);
    kiln_buffer_free(out);
}

static void small(void)
{
    uint32_t x[512], want[64];
    for (uint32_t n = 0; n < 512; n++)
        x[n] = n * n + 1;
    for (uint32_t t = 0; t < 64; t++) {
        const uint32_t *mine = x + t * 8, *other = x + (63 - t) * 8;
        want[t] = mine[0] + mine[3] + other[4] + other[5] * 3 + ((63 - t) % 2 ? other[6] * 5 : 0) +
                  other[7] * 7;
    }
    plain("small", 64, x, 512, want);
    for (uint32_t t = 0; t < 64; t++)
        want[t] = x[63 - t];
    plain("small_barrier", 64, x, 512, want);
}

static void turns(void)
{
    uint32_t want[128];
    for (uint32_t t = 0; t < 128; t++)
        want[t] = t < 32 ? 0 : 55;
    plain("turns", 128, NULL, 1, want);
}

// --- bulk copies
static void bulk(void)
{
    uint32_t x[128], want[192];
    float f[64];
    double d[64];
    uint16_t h[64];
    uint64_t q[64];
    for (uint32_t n = 0; n < 128; n++)
        x[n] = n * 5 + 3;
    for (uint32_t n = 0; n < 128; n++)
        want[n] = x[n] * 2;
    for (uint32_t n = 0; n < 64; n++)
        want[128 + n] = 7 + want[n] + want[64 + n];
    for (uint32_t n = 0; n < 192; n++)
        got[n] = n < 128 ? 0 : 7;
    uint32_t before[192];
    memcpy(before, got, sizeof before);
    kiln_buffer *in = nv_buffer(k, KILN_U32, 128, x), *out = nv_buffer(k, KILN_U32, 192, NULL);
    kiln_buffer *fs = nv_buffer(k, KILN_F32, 64, NULL), *ds = nv_buffer(k, KILN_F64, 64, NULL);
    kiln_buffer *hs = nv_buffer(k, KILN_F16, 64, NULL), *bs = nv_buffer(k, KILN_BF16, 64, NULL);
    kiln_buffer *qs = nv_buffer(k, KILN_U64, 64, NULL);
    nv_job j = job("bulk", out, before, want, 192);
    kiln_buffer *all[] = {in, out, fs, ds, hs, bs, qs};
    for (size_t n = 0; n < 7; n++)
        j.args[n] = kiln_arg_buffer(all[n]);
    j.launch.arg_count = 7;
    CHECK(nv_run(&j, is_expected, NULL));
    int runs = strcmp(kiln_device_name(k), "interp") ? 1 : 3; // each adds again
    CHECK(!kiln_read(fs, 0, f, 64) && !kiln_read(ds, 0, d, 64) && !kiln_read(qs, 0, q, 64));
    bool is_right = true;
    for (uint32_t n = 0; n < 64; n++) {
        uint64_t sum = (uint64_t)(want[n] + want[64 + n]) * (uint64_t)runs;
        is_right = is_right && f[n] == (float)sum && d[n] == (double)sum && q[n] == sum << 32;
    }
    CHECK(is_right);
    for (int which = 0; which < 2; which++) {
        CHECK(!kiln_read(which ? bs : hs, 0, h, 64));
        is_right = true;
        for (uint32_t n = 0; n < 64; n++) {
            int sum = (int)(want[n] % 64 + want[64 + n] % 64) * runs;
            // sums of up to 378: exact in f16; bf16 rounds above 256
            is_right =
                is_right && ((which && sum > 256) || h[n] == encode(which ? BF16 : F16, sum));
        }
        CHECK(is_right);
    }
    for (size_t n = 0; n < 7; n++)
        kiln_buffer_free(all[n]);
}

// --- tensors
typedef struct tensor {
    kiln_type type;
    int rank, bytes; // of an element
    uint64_t size[5];
    uint32_t box[5], step[5];
    uint32_t swizzle;
    int32_t at[5];     // the first one times the element's size: a multiple of 16
    bool is_load_only; // stores do not start before the tensor
} tensor;

// The element of the tensor behind element e of the box; false: outside.
static bool behind(const tensor *t, size_t e, size_t *out)
{
    size_t index = 0, scale = 1;
    bool is_inside = true;
    for (int d = 0; d < t->rank; d++) {
        uint32_t step = d && t->step[d] ? t->step[d] : 1, count = (t->box[d] + step - 1) / step;
        int64_t at = t->at[d] + (int64_t)(e % count) * step;
        e /= count;
        is_inside = is_inside && at >= 0 && at < (int64_t)t->size[d];
        index += (size_t)at * scale;
        scale *= t->size[d];
    }
    *out = index;
    return is_inside;
}

static size_t box_count(const tensor *t)
{
    size_t count = 1;
    for (int d = 0; d < t->rank; d++) {
        uint32_t step = d && t->step[d] ? t->step[d] : 1;
        count *= (t->box[d] + step - 1) / step;
    }
    return count;
}

static size_t swizzled(const tensor *t, size_t at)
{
    size_t mask = t->swizzle == 128 ? 7 : t->swizzle == 64 ? 3 : t->swizzle == 32 ? 1 : 0;
    return at ^ ((at >> 7 & mask) << 4);
}

static kiln_tensor_map map_of(const tensor *t, kiln_buffer *b)
{
    kiln_tensor_map out;
    kiln_tensor_map_desc desc;
    memset(&desc, 0, sizeof desc);
    memset(&out, 0, sizeof out);
    desc.buffer = b;
    desc.rank = (uint32_t)t->rank;
    desc.swizzle_bytes = t->swizzle;
    for (int d = 0; d < 5; d++) {
        desc.size[d] = t->size[d];
        desc.box[d] = t->box[d];
        desc.element_stride[d] = t->step[d];
    }
    CHECK(!kiln_tensor_map_make(k, &desc, &out));
    return out;
}

static size_t tensor_count(const tensor *t)
{
    size_t count = 1;
    for (int d = 0; d < t->rank; d++)
        count *= t->size[d];
    return count;
}

static void load_and_store(const tensor *t)
{
    static uint8_t data[1 << 16], want[1 << 16], image[1 << 16];
    size_t count = tensor_count(t), box = box_count(t), bytes = box * (size_t)t->bytes, index;
    char dims[32];
    snprintf(dims, sizeof dims, "TENSOR=%d", t->rank);
    for (size_t n = 0; n < count * (size_t)t->bytes; n++)
        data[n] = (uint8_t)(n * 7 + n / 256 + 1);
    memset(want, 0, sizeof want);
    for (size_t e = 0; e < box; e++)
        if (behind(t, e, &index))
            memcpy(want + swizzled(t, e * (size_t)t->bytes), data + index * (size_t)t->bytes,
                   (size_t)t->bytes);
    kiln_buffer *b = nv_buffer(k, t->type, count, data),
                *out = nv_buffer(k, KILN_U32, bytes / 4, NULL);
    kiln_tensor_map map = map_of(t, b);
    nv_job j = job("load", out, zeros, (const uint32_t *)(const void *)want, bytes / 4);
    j.define[0] = dims;
    j.args[0] = kiln_arg_struct(&map, sizeof map);
    j.args[1] = kiln_arg_struct(t->at, 16);
    j.args[2] = kiln_arg_i64(KILN_I32, t->at[4]);
    j.args[3] = kiln_arg_i64(KILN_U32, (int64_t)bytes);
    j.args[4] = kiln_arg_buffer(out);
    j.launch.arg_count = 5;
    j.launch.shared_bytes = bytes;
    CHECK(nv_run(&j, is_expected, NULL));
    if (t->is_load_only) {
        kiln_buffer_free(b);
        kiln_buffer_free(out);
        return;
    }
    // And back: the image of another box.
    for (size_t n = 0; n < bytes; n++)
        image[n] = (uint8_t)(n * 3 + 5);
    memcpy(want, data, count * (size_t)t->bytes);
    for (size_t e = 0; e < box; e++)
        if (behind(t, e, &index))
            memcpy(want + index * (size_t)t->bytes, image + swizzled(t, e * (size_t)t->bytes),
                   (size_t)t->bytes);
    kiln_buffer *in = nv_buffer(k, KILN_U32, bytes / 4, image);
    j = job("store", b, data, (const uint32_t *)(const void *)want, 0);
    j.count = count;
    expected_count = count * (size_t)t->bytes / 4;
    j.define[0] = dims;
    j.args[0] = kiln_arg_struct(&map, sizeof map);
    j.args[1] = kiln_arg_struct(t->at, 16);
    j.args[2] = kiln_arg_i64(KILN_I32, t->at[4]);
    j.args[3] = kiln_arg_i64(KILN_U32, (int64_t)bytes);
    j.args[4] = kiln_arg_buffer(in);
    j.args[5] = kiln_arg_buffer(out);
    j.launch.arg_count = 6;
    j.launch.shared_bytes = bytes;
    CHECK(nv_run(&j, is_expected, NULL));
    kiln_buffer_free(b);
    kiln_buffer_free(out);
    kiln_buffer_free(in);
}

// All of them, or only number `only`: a GPU is lost after a mistake.
static void tensors(long only)
{
    static const tensor all[] = {
        {.type = KILN_U8, .rank = 1, .bytes = 1, .size = {200}, .box = {64}, .at = {160}},
        {.type = KILN_F32, .rank = 1, .bytes = 4, .size = {256}, .box = {256}, .at = {0}},
        {.type = KILN_BF16,
         .rank = 2,
         .bytes = 2,
         .size = {128, 40},
         .box = {64, 16},
         .swizzle = 128,
         .at = {64, 8}},
        {.type = KILN_BF16,
         .rank = 2,
         .bytes = 2,
         .size = {72, 40},
         .box = {64, 16},
         .swizzle = 128,
         .at = {32, 32}},
        {.type = KILN_F16,
         .rank = 2,
         .bytes = 2,
         .size = {64, 24},
         .box = {32, 24},
         .swizzle = 64,
         .at = {40, 3}},
        {.type = KILN_U8,
         .rank = 2,
         .bytes = 1,
         .size = {64, 24},
         .box = {32, 32},
         .swizzle = 32,
         .at = {48, 4}},
        {.type = KILN_F32, .rank = 2, .bytes = 4, .size = {40, 12}, .box = {24, 5}, .at = {28, 9}},
        {.type = KILN_F32, .rank = 2, .bytes = 4, .size = {40, 12}, .box = {24, 5}, .at = {100, 0}},
        {.type = KILN_F64,
         .rank = 3,
         .bytes = 8,
         .size = {8, 6, 5},
         .box = {4, 3, 2},
         .at = {6, 4, 4}},
        {.type = KILN_BF16,
         .rank = 3,
         .bytes = 2,
         .size = {64, 9, 4},
         .box = {64, 8, 2},
         .swizzle = 128,
         .at = {0, 3, 3}},
        {.type = KILN_I32,
         .rank = 3,
         .bytes = 4,
         .size = {8, 16, 9},
         .box = {8, 8, 5},
         .step = {1, 2, 3},
         .at = {0, 5, 1}},
        {.type = KILN_U16,
         .rank = 4,
         .bytes = 2,
         .size = {16, 5, 4, 3},
         .box = {8, 2, 3, 2},
         .at = {8, 4, 1, 2}},
        {.type = KILN_F32,
         .rank = 5,
         .bytes = 4,
         .size = {8, 3, 4, 2, 3},
         .box = {4, 2, 2, 2, 2},
         .at = {4, 2, 1, 0, 1}},
        {.type = KILN_BF16,
         .rank = 2,
         .bytes = 2,
         .size = {128, 40},
         .box = {64, 16},
         .swizzle = 128,
         .at = {-8, -3},
         .is_load_only = true},
    };
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        if (only < 0 || (size_t)only == n)
            load_and_store(&all[n]);
}

static void tensor_sums(void)
{
    uint32_t data[8 * 12], image[8 * 4], want[8 * 12];
    tensor t = {
        .type = KILN_U32, .rank = 2, .bytes = 4, .size = {8, 12}, .box = {8, 4}, .at = {4, 10}};
    for (uint32_t n = 0; n < 96; n++)
        want[n] = data[n] = n * 3;
    for (uint32_t n = 0; n < 32; n++)
        image[n] = n * 1000;
    for (size_t e = 0, index; e < 32; e++)
        if (behind(&t, e, &index))
            want[index] += image[e];
    kiln_buffer *b = nv_buffer(k, KILN_U32, 96, data), *in = nv_buffer(k, KILN_U32, 32, image);
    kiln_tensor_map map = map_of(&t, b);
    nv_job j = job("store", b, data, want, 96);
    j.define[0] = "TENSOR=2";
    j.define[1] = "SUMS=1";
    j.args[0] = kiln_arg_struct(&map, sizeof map);
    j.args[1] = kiln_arg_struct(t.at, 16);
    j.args[2] = kiln_arg_i64(KILN_I32, 0);
    j.args[3] = kiln_arg_i64(KILN_U32, 128);
    j.args[4] = kiln_arg_buffer(in);
    j.args[5] = kiln_arg_buffer(in);
    j.launch.arg_count = 6;
    j.launch.shared_bytes = 128;
    CHECK(nv_run(&j, is_expected, NULL));
    kiln_buffer_free(b);
    kiln_buffer_free(in);
}

// --- clusters
static void spread(void)
{
    uint32_t x[64 * 12], want[256];
    for (uint32_t n = 0; n < 64 * 12; n++)
        x[n] = n * n % 1009;
    for (uint32_t n = 0; n < 256; n++) {
        uint32_t sum = 0, first = n / 128 * 6, column = n % 64;
        for (uint32_t round = 0; round < 3; round++)
            sum +=
                x[(first + round * 2) * 64 + column] * 3 + x[(first + round * 2 + 1) * 64 + column];
        want[n] = sum * 10 + 2 + 2;
    }
    tensor t = {.type = KILN_U32, .rank = 2, .bytes = 4, .size = {64, 12}, .box = {64, 1}};
    kiln_buffer *b = nv_buffer(k, KILN_U32, 64 * 12, x), *out = nv_buffer(k, KILN_U32, 256, NULL);
    kiln_tensor_map map = map_of(&t, b);
    nv_job j = job("spread", out, zeros, want, 256);
    j.args[0] = kiln_arg_struct(&map, sizeof map);
    j.args[1] = kiln_arg_buffer(out);
    j.launch.arg_count = 2;
    j.launch.grid[0] = 4;
    CHECK(nv_run(&j, is_expected, NULL));
    kiln_buffer_free(b);
    kiln_buffer_free(out);
}

static void exchange(void)
{
    uint32_t want[512];
    for (uint32_t n = 0; n < 512; n++) {
        uint32_t block = n / 64, rank = block % 4, from = rank * 16 + n % 16, sum = 0;
        for (uint32_t i = 0; i < 4; i++)
            sum = sum * 3 + (block - rank + i) * 1000 + from * from;
        want[n] = sum;
    }
    kiln_buffer *out = nv_buffer(k, KILN_U32, 512, NULL);
    nv_job j = job("exchange", out, zeros, want, 512);
    j.args[0] = kiln_arg_buffer(out);
    j.launch.arg_count = 1;
    j.launch.grid[0] = 8;
    CHECK(nv_run(&j, is_expected, NULL));
    kiln_buffer_free(out);
}

static void pass_on(void)
{
    uint32_t value[512], want[512];
    for (uint32_t n = 0; n < 512; n++)
        want[n] = n / 64 * 1000 + n % 64 * (n % 64);
    for (uint32_t round = 0; round < 3; round++) {
        memcpy(value, want, sizeof value);
        for (uint32_t n = 0; n < 512; n++) {
            uint32_t before = n / 256 * 4 + (n / 64 + 3) % 4;
            want[n] = value[before * 64 + 63 - n % 64] * 3 + n % 64;
        }
    }
    kiln_buffer *out = nv_buffer(k, KILN_U32, 512, NULL);
    nv_job j = job("pass_on", out, zeros, want, 512);
    j.args[0] = kiln_arg_buffer(out);
    j.launch.arg_count = 1;
    j.launch.grid[0] = 8;
    CHECK(nv_run(&j, is_expected, NULL));
    kiln_buffer_free(out);
}

// Each block reads what the other one of its cluster has stored.
static void neighbours(void)
{
    static const char source[] =
        "shared $tile.0 size(128) align(16) elem(i32)\n"
        "kernel @f(%out: ptr.global u32 \"u32 *\") block(32, 1, 1) cluster(2, 1, 1) {\n"
        "    %1 = shared $tile.0\n"
        "    %2 = thread.x\n"
        "    %3 = zext i64 %2\n"
        "    %4 = shl i64 %3, i32 2\n"
        "    %5 = ptradd ptr.shared %1, %4\n"
        "    %6 = blockidx.x\n"
        "    %7 = mul i32 %6, 100\n"
        "    %8 = add i32 %7, %2\n"
        "    store i32 %5, %8\n"
        "    nv.cluster.arrive () : ()\n"
        "    nv.cluster.wait () : ()\n"
        "    %9 = shl i32 %6, 5\n"
        "    %10 = add i32 %9, %2\n"
        "    %11 = zext i64 %10\n"
        "    %12 = shl i64 %11, i32 2\n"
        "    %13 = ptradd ptr.global %out, %12\n"
        "    %14 = cluster\n"
        "    %15 = xor i32 %14, 1\n"
        "    %16 = mapa %5, %15\n"
        "    %17 = load i32 %16\n"
        "    store i32 %13, %17\n"
        "    nv.cluster.arrive () : ()\n"
        "    nv.cluster.wait () : ()\n"
        "    return\n"
        "}\n";
    uint32_t want[128];
    for (uint32_t n = 0; n < 128; n++)
        want[n] = (n / 32 ^ 1) * 100 + n % 32;
    kiln_buffer *out = nv_buffer(k, KILN_U32, 128, NULL);
    nv_job j = job("f", out, zeros, want, 128);
    j.source = source;
    j.path = "neighbours.ir";
    j.args[0] = kiln_arg_buffer(out);
    j.launch.arg_count = 1;
    j.launch.grid[0] = 4;
    CHECK(nv_run(&j, is_expected, NULL));
    kiln_buffer_free(out);
}

// --- all together
static void gemm(uint32_t depth)
{
    enum { M = 128, N = 256, K = 576 };
    static int a[M][K], b[N][K];
    static uint16_t ha[M * K], hb[N * K];
    static uint32_t want[M * N];
    for (uint32_t x = 0; x < depth; x++) {
        for (int i = 0; i < M; i++)
            ha[(uint32_t)i * depth + x] = (uint16_t)encode(BF16, a[i][x] = small_number(BF16));
        for (int j = 0; j < N; j++)
            hb[(uint32_t)j * depth + x] = (uint16_t)encode(BF16, b[j][x] = small_number(BF16));
    }
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int sum = 0;
            for (uint32_t x = 0; x < depth; x++)
                sum += a[i][x] * b[j][x];
            float f = (float)sum;
            memcpy(&want[i * N + j], &f, 4);
        }
    tensor ta = {.type = KILN_BF16,
                 .rank = 2,
                 .bytes = 2,
                 .size = {depth, M},
                 .box = {64, 64},
                 .swizzle = 128};
    tensor tb = {.type = KILN_BF16,
                 .rank = 2,
                 .bytes = 2,
                 .size = {depth, N},
                 .box = {64, 128},
                 .swizzle = 128};
    kiln_buffer *ba = nv_buffer(k, KILN_BF16, (size_t)M * depth, ha);
    kiln_buffer *bb = nv_buffer(k, KILN_BF16, (size_t)N * depth, hb);
    kiln_buffer *c = nv_buffer(k, KILN_F32, (size_t)M * N, NULL);
    kiln_tensor_map ma = map_of(&ta, ba), mb = map_of(&tb, bb);
    nv_job j = job("gemm", c, zeros, want, (size_t)M * N);
    j.args[0] = kiln_arg_struct(&ma, sizeof ma);
    j.args[1] = kiln_arg_struct(&mb, sizeof mb);
    j.args[2] = kiln_arg_buffer(c);
    j.args[3] = kiln_arg_i64(KILN_U32, N);
    j.args[4] = kiln_arg_i64(KILN_U32, depth);
    j.launch.arg_count = 5;
    j.launch.grid[0] = N / 128;
    j.launch.grid[1] = M / 64;
    j.launch.shared_bytes = 4 * 24576;
    CHECK(nv_run(&j, is_expected, NULL));
    kiln_buffer_free(ba);
    kiln_buffer_free(bb);
    kiln_buffer_free(c);
}

// --- what cannot be
static void refusals(void)
{
    kiln_tensor_map out;
    kiln_buffer *b = nv_buffer(k, KILN_F32, 1024, NULL);
    kiln_tensor_map_desc d;
    memset(&d, 0, sizeof d);
    d.buffer = b;
    d.rank = 2;
    d.size[0] = d.size[1] = 32;
    d.box[0] = 33;
    d.box[1] = 8;
    EXPECT(kiln_tensor_map_make(k, &d, &out), KILN_E_BAD_ARGUMENT, "K6003", "multiple of 16");
    d.box[0] = 300;
    EXPECT(kiln_tensor_map_make(k, &d, &out), KILN_E_BAD_ARGUMENT, "K6003", "1 to 256");
    d.box[0] = 32;
    d.swizzle_bytes = 64;
    EXPECT(kiln_tensor_map_make(k, &d, &out), KILN_E_BAD_ARGUMENT, "K6003",
           "wider than the swizzle");
    d.swizzle_bytes = 48;
    EXPECT(kiln_tensor_map_make(k, &d, &out), KILN_E_BAD_ARGUMENT, "K6003", "a swizzle of 48");
    d.swizzle_bytes = 0;
    d.stride_bytes[1] = 100;
    EXPECT(kiln_tensor_map_make(k, &d, &out), KILN_E_BAD_ARGUMENT, "K6003",
           "must be a multiple of 16");
    d.stride_bytes[1] = 0;
    d.element_stride[1] = 9;
    EXPECT(kiln_tensor_map_make(k, &d, &out), KILN_E_BAD_ARGUMENT, "K6003", "element stride");
    d.element_stride[1] = 0;
    d.rank = 6;
    EXPECT(kiln_tensor_map_make(k, &d, &out), KILN_E_BAD_ARGUMENT, "K6003", "1 to 5 dimensions");
    kiln_buffer_free(b);
}

// The interpreter stores at the latest moment: bulk_wait_read is for the source, not for who reads
// the result; the end of the kernel is a wait, too.
static void late(void)
{
    static const char source[] =
        "#include <kiln/kernel.h>\n"
        "kernel block(32) void f(u32 *x, u32 *sum) {\n"
        "    _Alignas(128) shared u32 tile[32];\n"
        "    u32 t = thread_x();\n"
        "    for (u32 i = 0; i < 3; i++) {\n"
        "        tile[t] = 5 + i;\n"
        "        fence_async();\n"
        "        barrier();\n"
        "        if (t == 0) {\n"
        "            bulk_store(x + i * 32, tile, 128);\n"
        "            bulk_add_u32(sum, tile, 128);\n"
        "            bulk_commit();\n"
        "            bulk_wait_read(0);\n"
        "            if (i == 1)\n"
        "                bulk_wait(1);\n"
        "        }\n"
        "        barrier();\n"
        "        x[96 + i * 32 + t] = x[t] * 10000 + x[32 + t] * 100 + sum[t];\n"
        "    }\n"
        "}\n";
    if (strcmp(kiln_device_name(k), "interp") != 0)
        return;
    static const uint32_t want[] = {5, 6, 7, 0, 50005, 50005};
    uint32_t x[192] = {0}, sum[32] = {0};
    kiln_module *m = api_compile(k, source, 0);
    kiln_buffer *buffers[] = {nv_buffer(k, KILN_U32, 192, x), nv_buffer(k, KILN_U32, 32, sum)};
    kiln_arg args[] = {kiln_arg_buffer(buffers[0]), kiln_arg_buffer(buffers[1])};
    CHECK(m && !api_launch(api_kernel(m, "f"), 1, 0, args, 2));
    CHECK(!kiln_read(buffers[0], 0, x, 192) && !kiln_read(buffers[1], 0, sum, 32));
    size_t right = 0;
    for (size_t n = 0; n < 192; n++)
        right += x[n] == want[n / 32];
    CHECK(right == 192);
    CHECK(sum[0] == 5 + 6 + 7 && sum[31] == sum[0]);
    kiln_module_free(m);
    kiln_buffer_free(buffers[0]);
    kiln_buffer_free(buffers[1]);
}

// kiln check sees which global memory a box is: the code of what it finds in a block whose
// first thread copies the second of four lines of 16 numbers.
static const char *found_code;
static void keep_code(void *user, const kiln_finding *f)
{
    (void)user;
    found_code = f->code;
}

static const char *found(const char *before, const char *copy, const char *after)
{
    static const tensor lines = {
        .rank = 2, .size = {16, 4, 1, 1, 1}, .box = {16, 1, 1, 1, 1}, .step = {1, 1, 1, 1, 1}};
    char source[1024];
    snprintf(source, sizeof source,
             "#include <kiln/kernel.h>\n"
             "kernel block(64) void f(const tensor_map map, u32 *x, u32 *out) {\n"
             "    _Alignas(128) shared u32 tile[16]; shared mbarrier full;\n"
             "    u32 t = thread_x();\n"
             "    if (t == 0) { mbarrier_init(&full, 1); mbarrier_fence_init(); }\n"
             "    if (t < 16) tile[t] = t;\n"
             "    %s\n"
             "    fence_async();\n"
             "    barrier();\n"
             "    if (t == 0) { %s }\n"
             "    barrier();\n"
             "    %s\n"
             "}\n",
             before, copy, after);
    kiln_compile_desc compile;
    kiln_check_desc check;
    kiln_module *m = NULL;
    memset(&compile, 0, sizeof compile);
    memset(&check, 0, sizeof check);
    compile.path = "boxes.c";
    compile.source = source;
    compile.for_check = true;
    kiln_buffer *x = nv_buffer(k, KILN_U32, 64, zeros), *out = nv_buffer(k, KILN_U32, 64, zeros);
    kiln_tensor_map map = map_of(&lines, x);
    kiln_arg args[] = {kiln_arg_struct(&map, sizeof map), kiln_arg_buffer(x), kiln_arg_buffer(out)};
    check.launch.grid[0] = 1;
    check.launch.args = args;
    check.launch.arg_count = 3;
    check.finding = keep_code;
    found_code = "nothing";
    CHECK(!kiln_compile(k, &compile, &m) && !kiln_check(api_kernel(m, "f"), &check, NULL));
    kiln_module_free(m);
    kiln_buffer_free(x);
    kiln_buffer_free(out);
    return found_code;
}

static void boxes(void)
{
    if (strcmp(kiln_device_name(k), "interp") != 0)
        return;
    const char load[] = "mbarrier_arrive_expect(&full, 64); tensor_load_2d(tile, &map, 0, 1, "
                        "&full); mbarrier_wait(&full, 0);";
    const char early[] = "tensor_store_2d(&map, 0, 1, tile); bulk_commit(); bulk_wait_read(0);";
    const char waited[] = "tensor_store_2d(&map, 0, 1, tile); bulk_commit(); bulk_wait(0);";
    const char added[] = "tensor_add_2d(&map, 0, 1, tile); bulk_commit(); bulk_wait_read(0);";
    CHECK(!strcmp(found("x[t] = t;", load, ""), "K6221"));
    CHECK(!strcmp(found("x[t] = t; fence_async_all();", load, ""), "nothing"));
    CHECK(!strcmp(found("if (t < 16 || t >= 32) x[t] = t;", load, ""), "nothing"));
    CHECK(!strcmp(found("", early, "out[t] = x[t];"), "K6222"));
    CHECK(!strcmp(found("", added, "x[t] = 0;"), "K6222"));
    CHECK(!strcmp(found("", added, "atomic_add(&x[t], 1u);"), "nothing"));
    CHECK(!strcmp(found("", early, "if (t < 16 || t >= 32) out[t] = x[t];"), "nothing"));
    CHECK(!strcmp(found("", waited, "out[t] = x[t];"), "nothing"));
}

// What a GPU would hang or fail on, the interpreter says.
static kiln_status fail(const char *middle)
{
    char source[1024];
    snprintf(source, sizeof source,
             "#include <kiln/kernel.h>\n"
             "kernel block(32) void f(const u8 *x) {\n"
             "    _Alignas(128) shared u8 tile[256]; shared mbarrier b[2];\n"
             "    if (thread_x() == 0) { %s }\n"
             "}\n",
             middle);
    kiln_module *m = api_compile(k, source, 0);
    kiln_buffer *x = nv_buffer(k, KILN_U8, 256, NULL);
    kiln_arg arg = kiln_arg_buffer(x);
    kiln_status status = m ? api_launch(api_kernel(m, "f"), 1, 0, &arg, 1) : KILN_OK;
    kiln_module_free(m);
    kiln_buffer_free(x);
    return status;
}

static void mistakes(void)
{
    if (strcmp(kiln_device_name(k), "interp") != 0)
        return;
    EXPECT(fail("mbarrier_arrive(&b[1]);"), KILN_E_KERNEL, "K6041",
           "element 1 of 'b' is used before");
    EXPECT(fail("mbarrier_init(b, 0);"), KILN_E_KERNEL, "K6041", "0 arrivals");
    EXPECT(fail("mbarrier_init(b, 2); mbarrier_arrive(b); mbarrier_wait(b, 0);"), KILN_E_KERNEL,
           "K6042", "lacks 1 of 2 arrivals");
    EXPECT(fail("mbarrier_init(b, 1); bulk_load(tile, x, 100, b);"), KILN_E_KERNEL, "K6043",
           "multiple of 16");
    EXPECT(fail("mbarrier_init(b, 1); bulk_load(tile, x + 8, 112, b);"), KILN_E_KERNEL, "K6022",
           "multiple of 16");
    EXPECT(fail("mbarrier_init(b, 1); bulk_load(tile, x + 16, 256, b);"), KILN_E_KERNEL, "K6020",
           "'x'");
    EXPECT(fail("mbarrier_init(b, 1); bulk_send(tile, tile, 16, b, 1);"), KILN_E_KERNEL, "K6043",
           "no block 1 in a cluster of 1");
}

int main(int argc, char **argv)
{
    if (kiln_open(argc > 1 ? argv[1] : "interp", &k)) {
        printf("%s\n", kiln_last_error(NULL)->text);
        return 1;
    }
    if (argc > 2) {
        tensors(atol(argv[2]));
        kiln_close(k);
        return api_done("nv_copies");
    }
    small();
    turns();
    bulk();
    tensors(-1);
    tensor_sums();
    spread();
    exchange();
    pass_on();
    neighbours();
    gemm(64);
    gemm(576);
    gemm(200);
    refusals();
    late();
    boxes();
    mistakes();
    kiln_close(k);
    return api_done("nv_copies");
}
