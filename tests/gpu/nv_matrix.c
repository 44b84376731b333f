// nv_matrix: every matrix instruction with whole numbers, so that results are exact: mma of all
// types, ldmatrix and stmatrix, wgmma of all types, widths, layouts and swizzles.
//     nv_matrix [DEVICE]
#include "nv/nv.h"

#define KERNELS "tests/gpu/nv/matrix.c"

typedef struct product { // A is m x k, B is k x n
    const char *fn, *acc;
    int a_type, b_type;
    int m, n, k;
    bool is_half; // pairs of f16 in the accumulator
    int a[64][32], b[32][256], c[64][256];
    int repeats; // how often the product is added
    uint32_t *words;
    int acc_words;
} product;

static product p;

static void fill(void)
{
    for (int k = 0; k < p.k; k++) {
        for (int i = 0; i < p.m; i++)
            p.a[i][k] = small_number(p.a_type);
        for (int j = 0; j < p.n; j++)
            p.b[k][j] = small_number(p.b_type);
    }
    for (int i = 0; i < p.m; i++)
        for (int j = 0; j < p.n; j++)
            p.c[i][j] = (i * 7 + j * 3) % 11 - 5;
}

static uint32_t number(int v)
{
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return !strcmp(p.acc, "i32") ? (uint32_t)v : bits;
}

static uint32_t half(int v) // whole numbers up to 2048
{
    uint32_t size = (uint32_t)(v < 0 ? -v : v), e = 0;
    if (!v)
        return 0;
    while (size >> (e + 1))
        e++;
    uint32_t m = e > 10 ? (size - (1u << e)) >> (e - 10) : (size - (1u << e)) << (10 - e);
    return (uint32_t)(v < 0) << 15 | (e + 15) << 10 | m;
}

// Word w of thread t: one element, or a pair of f16.
static void place(int t, int w, int *row, int *column)
{
    int lane = t % 32, j = p.is_half ? w / 2 : w / 4, h = p.is_half ? w % 2 : w / 2 % 2;
    *row = t / 32 * 16 + lane / 4 + 8 * h;
    *column = 8 * j + 2 * (lane % 4) + (p.is_half ? 0 : w % 2);
}

static int wanted(int row, int column, int start)
{
    int sum = 0;
    for (int k = 0; k < p.k; k++)
        sum += p.a[row][k] * p.b[k][column];
    return start + p.repeats * sum;
}

static uint32_t word_of(int t, int w, bool is_result, bool has_start)
{
    int row, column, v[2];
    place(t, w, &row, &column);
    for (int e = 0; e < 1 + p.is_half; e++) {
        int start = has_start ? p.c[row][column + e] : 0;
        v[e] = is_result ? wanted(row, column + e, start) : start;
    }
    return p.is_half ? half(v[0]) | half(v[1]) << 16 : number(v[0]);
}

static bool is_right(void *has_start)
{
    int threads = p.m * 2;
    for (int t = 0; t < threads; t++)
        for (int w = 0; w < p.acc_words; w++) {
            uint32_t want = word_of(t, w, true, has_start != NULL);
            uint32_t got = p.words[t * p.acc_words + w];
            if (want == got)
                continue;
            printf("%s, n %d: word %d of thread %d is 0x%x, not 0x%x\n", p.fn, p.n, w, t, got,
                   want);
            return false;
        }
    return true;
}

// A fragment in registers, as the PTX manual draws them.
static void fragment(uint32_t *out, int words, bool is_a)
{
    int type = is_a ? p.a_type : p.b_type, bytes = elem_bytes[type], per = 4 / bytes;
    for (int t = 0; t < (is_a ? p.m * 2 : 32); t++)
        for (int i = 0; i < words; i++) {
            uint32_t bits = 0;
            for (int e = 0; e < per; e++) {
                int k = t % 4 * per + e + (is_a ? i / 2 : i) * 4 * per;
                int line = t % 32 / 4 + (is_a ? t / 32 * 16 + i % 2 * 8 : 0);
                int v = is_a ? p.a[line][k] : p.b[k][line];
                bits |= encode(type, v) << (8 * bytes * e);
            }
            out[t * words + i] = bits;
        }
}

static void define(char *to, const char *name, const char *value)
{
    snprintf(to, 64, "%s=%s", name, value);
}

static void define_number(char *to, const char *name, int value)
{
    snprintf(to, 64, "%s=%d", name, value);
}

// --- mma
static void mma(kiln *k, const char *fn, const char *acc, int type, int depth)
{
    static uint32_t a[128], b[64], before[128], after[128];
    char defines[5][64];
    p = (product){
        .fn = fn, .acc = acc, .a_type = type, .b_type = type, .m = 16, .n = 8, .k = depth};
    p.is_half = !strcmp(acc, "u32");
    p.acc_words = p.is_half ? 2 : 4;
    p.repeats = 1;
    p.words = after;
    fill();
    int a_words = 16 * depth * elem_bytes[type] / 128, b_words = a_words / 2;
    fragment(a, a_words, true);
    fragment(b, b_words, false);
    for (int t = 0; t < 32; t++)
        for (int w = 0; w < p.acc_words; w++)
            before[t * p.acc_words + w] = word_of(t, w, false, true);
    define(defines[0], "FN", fn);
    define(defines[1], "ACC", acc);
    define_number(defines[2], "D_WORDS", p.acc_words);
    define_number(defines[3], "A_WORDS", a_words);
    define_number(defines[4], "B_WORDS", b_words);
    nv_job j = {.k = k, .path = KERNELS, .kernel = "multiply", .before = before, .after = after};
    for (int n = 0; n < 5; n++)
        j.define[n] = defines[n];
    j.count = 32 * (size_t)p.acc_words;
    kiln_type d_type = !strcmp(acc, "f32") ? KILN_F32 : !strcmp(acc, "i32") ? KILN_I32 : KILN_U32;
    kiln_buffer *ba = nv_buffer(k, KILN_U32, 32 * (size_t)a_words, a);
    kiln_buffer *bb = nv_buffer(k, KILN_U32, 32 * (size_t)b_words, b);
    j.out = nv_buffer(k, d_type, j.count, NULL);
    j.args[0] = kiln_arg_buffer(ba);
    j.args[1] = kiln_arg_buffer(bb);
    j.args[2] = kiln_arg_buffer(j.out);
    j.launch.grid[0] = 1;
    j.launch.arg_count = 3;
    CHECK(nv_run(&j, is_right, &p));
    kiln_buffer_free(ba);
    kiln_buffer_free(bb);
    kiln_buffer_free(j.out);
}

// --- ldmatrix, stmatrix
typedef struct moved {
    int count;
    bool is_transposed, is_store;
    uint32_t rows[128], words[128], got[128];
} moved;
static moved mv;

static uint32_t cell(int matrix, int row, int column)
{
    uint32_t w = mv.rows[(matrix * 8 + row) * 4 + column / 2];
    return column % 2 ? w >> 16 : w & 0xffff;
}

static bool is_moved(void *user)
{
    (void)user;
    for (int n = 0; n < 32 * (mv.is_store ? 4 : mv.count); n++) {
        uint32_t want = mv.is_store ? (n < mv.count * 32 ? mv.rows[n] : 0) : mv.words[n];
        if (mv.got[n] != want) {
            printf("%s of %d%s: word %d is 0x%x, not 0x%x\n", mv.is_store ? "stmatrix" : "ldmatrix",
                   mv.count, mv.is_transposed ? " transposed" : "", n, mv.got[n], want);
            return false;
        }
    }
    return true;
}

static void move(kiln *k, int count, bool is_transposed)
{
    static const uint32_t nothing[128];
    char defines[3][64];
    mv.count = count;
    mv.is_transposed = is_transposed;
    for (uint32_t n = 0; n < 128; n++)
        mv.rows[n] = n * 2 << 16 | (n * 2 + 1001);
    for (int t = 0; t < 32; t++)
        for (int i = 0; i < count; i++) {
            int x = t % 4 * 2, y = t / 4;
            mv.words[t * count + i] = is_transposed ? cell(i, x, y) | cell(i, x + 1, y) << 16
                                                    : cell(i, y, x) | cell(i, y, x + 1) << 16;
        }
    define(defines[0], "FN", is_transposed ? "ldmatrix_transposed" : "ldmatrix");
    define(defines[1], "STORE", is_transposed ? "stmatrix_transposed" : "stmatrix");
    define_number(defines[2], "COUNT", count);
    nv_job j = {.k = k, .path = KERNELS, .before = nothing, .after = mv.got};
    for (int n = 0; n < 3; n++)
        j.define[n] = defines[n];
    kiln_buffer *rows = nv_buffer(k, KILN_U32, 128, mv.rows);
    kiln_buffer *words = nv_buffer(k, KILN_U32, 32 * (size_t)count, mv.words);
    kiln_buffer *out_words = nv_buffer(k, KILN_U32, 32 * (size_t)count, NULL);
    kiln_buffer *out_rows = nv_buffer(k, KILN_U32, 128, NULL);
    j.launch.grid[0] = 1;
    j.launch.arg_count = 2;
    for (int is_store = 0; is_store < 2; is_store++) {
        mv.is_store = is_store;
        j.kernel = is_store ? "store" : "load";
        j.out = is_store ? out_rows : out_words;
        j.count = is_store ? 128 : 32 * (size_t)count;
        j.args[0] = kiln_arg_buffer(is_store ? words : rows);
        j.args[1] = kiln_arg_buffer(j.out);
        CHECK(nv_run(&j, is_moved, NULL));
    }
    kiln_buffer_free(rows);
    kiln_buffer_free(words);
    kiln_buffer_free(out_words);
    kiln_buffer_free(out_rows);
}

// --- wgmma
typedef struct layout {
    bool is_mn;
    int swizzle;       // bytes
    uint32_t lbo, sbo; // bytes
} layout;

static uint32_t swizzle_of(uint32_t at, int swizzle)
{
    uint32_t mask = swizzle == 128 ? 7 : swizzle == 64 ? 3 : swizzle == 32 ? 1 : 0;
    return at ^ ((at >> 7 & mask) << 4);
}

// Where element (r, k) of an operand lies, r along M or N, before the swizzle.
static uint32_t offset_of(const layout *l, int type, uint32_t r, uint32_t k)
{
    uint32_t bytes = (uint32_t)elem_bytes[type], w = (uint32_t)l->swizzle;
    if (!l->is_mn && w)
        return r / 8 * l->sbo + r % 8 * w + k * bytes;
    if (!l->is_mn)
        return r / 8 * l->sbo + r % 8 * 16 + k * bytes / 16 * l->lbo + k * bytes % 16;
    if (w)
        return r / (w / 2) * l->lbo + k / 8 * l->sbo + k % 8 * w + r % (w / 2) * 2;
    return r / 8 * l->sbo + r % 8 * 2 + k % 8 * 16 + k / 8 * l->lbo;
}

static layout layout_for(bool is_mn, int swizzle)
{
    layout l = {.is_mn = is_mn, .swizzle = swizzle};
    l.sbo = swizzle ? 8u * (uint32_t)swizzle : 256;
    l.lbo = !is_mn ? (swizzle ? 16 : 128) : swizzle ? 16u * (uint32_t)swizzle : 128;
    return l;
}

static uint64_t descriptor(const layout *l)
{
    uint64_t mode = l->swizzle == 128 ? 1 : l->swizzle == 64 ? 2 : l->swizzle == 32 ? 3 : 0;
    return mode << 62 | (uint64_t)(l->sbo >> 4) << 32 | (uint64_t)(l->lbo >> 4) << 16;
}

static void wgmma(kiln *k, const product *what, bool from_words, layout a, layout b)
{
    enum { B_AT = 8192, IMAGE = 49152 };
    static uint8_t image[IMAGE];
    static uint32_t left[512], nothing[128 * 128], after[128 * 128];
    char defines[6][64];
    p = *what;
    p.m = 64;
    p.k = 32 / elem_bytes[p.a_type];
    p.is_half = !strcmp(p.acc, "u32");
    p.acc_words = p.is_half ? p.n / 4 : p.n / 2;
    p.repeats = 2;
    p.words = after;
    fill();
    memset(image, 0, sizeof image);
    for (uint32_t x = 0; x < (uint32_t)p.k; x++) {
        for (uint32_t i = 0; i < 64; i++)
            put_bits(image + swizzle_of(offset_of(&a, p.a_type, i, x), a.swizzle),
                     encode(p.a_type, p.a[i][x]), elem_bytes[p.a_type]);
        for (uint32_t j = 0; j < (uint32_t)p.n; j++)
            put_bits(image + swizzle_of(B_AT + offset_of(&b, p.b_type, j, x), b.swizzle),
                     encode(p.b_type, p.b[x][j]), elem_bytes[p.b_type]);
    }
    fragment(left, 4, true);
    define(defines[0], "FN", p.fn);
    define(defines[1], "ACC", p.acc);
    define_number(defines[2], "D_WORDS", p.acc_words);
    define_number(defines[3], "LAYOUT", a.is_mn | b.is_mn << 1);
    define(defines[4], from_words ? "FROM_WORDS" : "FROM_MEMORY", "1");
    nv_job j = {.k = k, .path = KERNELS, .kernel = "multiply", .before = nothing, .after = after};
    for (int n = 0; n < 5; n++)
        j.define[n] = defines[n];
    j.count = 128 * (size_t)p.acc_words;
    kiln_type d_type = !strcmp(p.acc, "f32")   ? KILN_F32
                       : !strcmp(p.acc, "i32") ? KILN_I32
                                               : KILN_U32;
    kiln_buffer *bi = nv_buffer(k, KILN_U32, IMAGE / 4, image);
    kiln_buffer *bl = nv_buffer(k, KILN_U32, 512, left);
    j.out = nv_buffer(k, d_type, j.count, NULL);
    j.args[0] = kiln_arg_buffer(bi);
    j.args[1] = kiln_arg_i64(KILN_U32, IMAGE / 4);
    j.args[2] = kiln_arg_i64(KILN_U64, (int64_t)descriptor(&a));
    j.args[3] = kiln_arg_i64(KILN_U64, (int64_t)descriptor(&b));
    j.args[4] = kiln_arg_i64(KILN_U32, B_AT);
    j.args[5] = kiln_arg_buffer(bl);
    j.args[6] = kiln_arg_buffer(j.out);
    j.launch.grid[0] = 1;
    j.launch.arg_count = 7;
    j.launch.shared_bytes = IMAGE;
    CHECK(nv_run(&j, is_right, NULL));
    kiln_buffer_free(bi);
    kiln_buffer_free(bl);
    kiln_buffer_free(j.out);
}

// --- accumulators on their way through control flow
typedef struct sums { // start and how often the product was added, of d and e
    int start[2], times[2];
    float *got;
} sums;

static bool are_right(void *user)
{
    const sums *s = (const sums *)user;
    for (int t = 0; t < 128; t++)
        for (int w = 0; w < 32; w++) {
            int row, column;
            p.repeats = s->times[w / 16];
            place(t, w % 16, &row, &column);
            float want = (float)wanted(row, column, s->start[w / 16]);
            if (s->got[t * 32 + w] != want) {
                printf("paths: word %d of thread %d is %g, not %g\n", w, t,
                       (double)s->got[t * 32 + w], (double)want);
                return false;
            }
        }
    return true;
}

static void exchange(int v[2])
{
    int t = v[0];
    v[0] = v[1];
    v[1] = t;
}

static void paths(kiln *k, int steps)
{
    enum { B_AT = 8192, IMAGE = 16384 };
    static uint8_t image[IMAGE];
    static float nothing[4096], after[4096];
    layout l = layout_for(false, 128);
    sums s = {{1, 2}, {0, 0}, after};
    p = (product){.fn = "paths", .acc = "f32", .a_type = BF16, .b_type = BF16, .m = 64, .n = 32};
    p.k = 16;
    p.acc_words = 16;
    fill();
    memset(image, 0, sizeof image);
    for (uint32_t x = 0; x < 16; x++)
        for (uint32_t i = 0; i < 64; i++) {
            put_bits(image + swizzle_of(offset_of(&l, BF16, i, x), 128), encode(BF16, p.a[i][x]),
                     2);
            if (i < 32)
                put_bits(image + swizzle_of(B_AT + offset_of(&l, BF16, i, x), 128),
                         encode(BF16, p.b[x][i]), 2);
        }
    for (int n = 0; n < steps; n++) {
        s.times[0] += n % 3 == 0 || n % 3 == 1;
        s.times[1] += (n % 3 != 0) + n % 3;
        if (n % 4 == 3) {
            exchange(s.start);
            exchange(s.times);
        }
    }
    nv_job j = {.k = k, .path = KERNELS, .kernel = "paths", .before = nothing, .after = after};
    j.define[0] = "PATHS=1";
    j.count = 4096;
    kiln_buffer *bi = nv_buffer(k, KILN_U32, IMAGE / 4, image);
    j.out = nv_buffer(k, KILN_F32, j.count, NULL);
    j.args[0] = kiln_arg_buffer(bi);
    j.args[1] = kiln_arg_i64(KILN_U32, IMAGE / 4);
    j.args[2] = kiln_arg_i64(KILN_U32, B_AT);
    j.args[3] = kiln_arg_i64(KILN_U32, steps);
    j.args[4] = kiln_arg_buffer(j.out);
    j.launch.grid[0] = 1;
    j.launch.arg_count = 5;
    j.launch.shared_bytes = IMAGE;
    CHECK(nv_run(&j, are_right, &s));
    kiln_buffer_free(bi);
    kiln_buffer_free(j.out);
}

static void wgmma_all(kiln *k)
{
    static const product kinds[] = {
        {.fn = "wgmma_f16", .acc = "f32", .a_type = F16, .b_type = F16},
        {.fn = "wgmma_f16", .acc = "u32", .a_type = F16, .b_type = F16},
        {.fn = "wgmma_bf16", .acc = "f32", .a_type = BF16, .b_type = BF16},
        {.fn = "wgmma_tf32", .acc = "f32", .a_type = TF32, .b_type = TF32},
        {.fn = "wgmma_e4m3", .acc = "f32", .a_type = E4M3, .b_type = E4M3},
        {.fn = "wgmma_e4m3", .acc = "u32", .a_type = E4M3, .b_type = E4M3},
        {.fn = "wgmma_e5m2", .acc = "f32", .a_type = E5M2, .b_type = E5M2},
        {.fn = "wgmma_e4m3_e5m2", .acc = "f32", .a_type = E4M3, .b_type = E5M2},
        {.fn = "wgmma_e5m2_e4m3", .acc = "f32", .a_type = E5M2, .b_type = E4M3},
        {.fn = "wgmma_s8", .acc = "i32", .a_type = S8, .b_type = S8},
        {.fn = "wgmma_u8", .acc = "i32", .a_type = U8, .b_type = U8},
        {.fn = "wgmma_s8_u8", .acc = "i32", .a_type = S8, .b_type = U8},
        {.fn = "wgmma_u8_s8", .acc = "i32", .a_type = U8, .b_type = S8},
    };
    static const int swizzles[] = {128, 64, 32, 0}, widths[] = {8, 24, 32, 128, 256};
    for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++) {
        product what = kinds[n];
        what.n = 64;
        for (int s = 0; s < 4; s++)
            wgmma(k, &what, false, layout_for(false, swizzles[s]), layout_for(false, swizzles[s]));
        wgmma(k, &what, true, layout_for(false, 128), layout_for(false, 128));
        for (int mn = 1; mn < 4 && elem_bytes[what.a_type] == 2; mn++)
            for (int s = 0; s < 4; s++)
                wgmma(k, &what, false, layout_for(mn & 1, swizzles[s]),
                      layout_for(mn & 2, swizzles[s]));
        if (elem_bytes[what.a_type] == 2)
            wgmma(k, &what, true, layout_for(false, 128), layout_for(true, 64));
    }
    for (size_t n = 0; n < sizeof widths / sizeof *widths; n++) {
        product what = kinds[2], whole = kinds[9];
        what.n = whole.n = widths[n];
        wgmma(k, &what, false, layout_for(false, 128), layout_for(false, 128));
        wgmma(k, &what, n % 2, layout_for(false, 64), layout_for(true, 128));
        wgmma(k, &whole, n % 2, layout_for(false, 128), layout_for(false, 64));
    }
}

int main(int argc, char **argv)
{
    kiln *k = NULL;
    if (kiln_open(argc > 1 ? argv[1] : "interp", &k)) {
        printf("%s\n", kiln_last_error(NULL)->text);
        return 1;
    }
    for (int half_depth = 1; half_depth <= 2; half_depth++) {
        mma(k, "mma_f16", "f32", F16, 8 * half_depth);
        mma(k, "mma_f16", "u32", F16, 8 * half_depth);
        mma(k, "mma_bf16", "f32", BF16, 8 * half_depth);
        mma(k, "mma_tf32", "f32", TF32, 4 * half_depth);
        mma(k, "mma_s8", "i32", S8, 16 * half_depth);
        mma(k, "mma_u8", "i32", U8, 16 * half_depth);
    }
    mma(k, "mma_e4m3", "f32", E4M3, 32);
    mma(k, "mma_e5m2", "f32", E5M2, 32);
    for (int count = 1; count <= 4; count *= 2) {
        move(k, count, false);
        move(k, count, true);
    }
    wgmma_all(k);
    for (int steps = 0; steps < 16; steps++)
        paths(k, steps);
    kiln_close(k);
    return api_done("nv_matrix");
}
