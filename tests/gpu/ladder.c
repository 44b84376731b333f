// Every rung of the ladder of matrix products (ops/matmul/ladder) that the device can run, on small
// shapes with edges in all directions. The operands are small integers, so that every sum is exact
// in f32 in any order: the results must be the exact products, rounded once.   ladder [DEVICE]
// Runs from the root of the source tree.
#include "ops/matmul/ladder/ladder.h"

#include "api.h"

typedef struct shape {
    uint32_t m, n, k, blocks; // blocks: of a persistent kernel
} shape;

static uint16_t bf16_of(float x) // to nearest, ties to even
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// -4 … 4, which no period of rows and columns repeats
static int number_at(uint32_t row, uint32_t column, uint32_t seed)
{
    uint32_t x = (row * 2654435761u) ^ (column * 40503u) ^ (seed * 97u);
    return (int)((x >> 7 ^ x >> 19) % 9) - 4;
}

static kiln_buffer *operand(kiln *k, uint32_t rows, uint32_t columns, uint32_t seed)
{
    kiln_buffer *b = NULL;
    uint16_t *bits = malloc((size_t)rows * columns * sizeof *bits);
    for (uint32_t i = 0; bits && i < rows * columns; i++)
        bits[i] = bf16_of((float)number_at(i / columns, i % columns, seed));
    CHECK(bits && !kiln_buffer_new(k, KILN_BF16, (size_t)rows * columns, &b));
    CHECK(!kiln_write(b, 0, bits, (size_t)rows * columns));
    free(bits);
    return b;
}

static uint16_t *expected(const shape *s)
{
    uint16_t *out = malloc((size_t)s->m * s->n * sizeof *out);
    for (uint32_t i = 0; out && i < s->m; i++)
        for (uint32_t j = 0; j < s->n; j++) {
            int sum = 0;
            for (uint32_t p = 0; p < s->k; p++)
                sum += number_at(i, p, 1) * number_at(j, p, 2);
            out[i * s->n + j] = bf16_of((float)sum);
        }
    return out;
}

static void test_shape(kiln *k, const ladder_rung *rung, kiln_kernel *kernel, const shape *s)
{
    size_t count = (size_t)s->m * s->n, wrong = 0, first = 0;
    ladder_problem p = {.m = s->m, .n = s->n, .k = s->k};
    const uint16_t not_a_number = 0x7fc0;
    uint16_t *got = malloc(count * sizeof *got), *want = expected(s);
    static ladder_launch launch;
    p.a = operand(k, s->m, s->k, 1);
    p.b = operand(k, s->n, s->k, 2);
    CHECK(got && want && !kiln_buffer_new(k, KILN_BF16, count, &p.c));
    CHECK(!kiln_fill(p.c, &not_a_number));
    CHECK(!ladder_prepare(k, kernel, &p, s->blocks, &launch));
    CHECK(!kiln_launch(kernel, &launch.desc) && !kiln_sync(k) && !kiln_read(p.c, 0, got, count));
    for (size_t i = count; got && want && i-- > 0;)
        if (got[i] != want[i] && !api_is_fake(k)) {
            wrong++;
            first = i;
        }
    if (wrong)
        printf("%s, %u x %u x %u: %zu of %zu results are wrong; first at row %zu, column %zu: "
               "bits %04x instead of %04x\n",
               rung->name, s->m, s->n, s->k, wrong, count, first / s->n, first % s->n, got[first],
               want[first]);
    CHECK(wrong == 0);
    kiln_buffer_free(p.a);
    kiln_buffer_free(p.b);
    kiln_buffer_free(p.c);
    free(got);
    free(want);
}

int main(int argc, char **argv)
{
    // one element of k; edges everywhere; many tiles for each block; whole tiles
    static const shape shapes[] = {
        {1, 8, 8, 1}, {200, 264, 136, 2}, {280, 392, 328, 1}, {256, 192, 64, 2}};
    kiln *k = api_open(argc > 1 ? argv[1] : "cuda");
    kiln_device_info info;
    CHECK(!kiln_device_info_of(k, &info));
    int run = 0;
    for (int r = 0; r < LADDER_RUNGS; r++) {
        const ladder_rung *rung = &ladder_rungs[r];
        if (!ladder_runs_on(rung, &info.caps))
            continue;
        kiln_module *m = NULL;
        if (kiln_compile(k, &(kiln_compile_desc){.path = rung->path}, &m)) {
            printf("%s\n", kiln_last_error(k)->text);
            api_failed++;
            continue;
        }
        kiln_kernel *kernel = api_kernel(m, "matmul");
        for (size_t s = 0; kernel && s < sizeof shapes / sizeof *shapes; s++)
            test_shape(k, rung, kernel, &shapes[s]);
        kiln_module_free(m);
        run++;
    }
    printf("%d of %d rungs run on %s\n", run, (int)LADDER_RUNGS, info.device);
    kiln_close(k);
    return api_done("ladder");
}
