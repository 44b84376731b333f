// Which tile of gemm_sm90.c a product gets (ops/matmul/host_tile.c): some choices by name, and one
// hash of the choices for many products, so that a change of the cost model cannot go unnoticed.
// Whoever changes the model on purpose, with measurements, writes the new hash here.
#include "ops/matmul/host_matmul.h"
#include "rt/rt.h"
#include "tests/test.h"

static kiln context;
static const kiln_device_info h200 = {.multiprocessors = 132};

static tile choice(uint32_t m, uint32_t n, uint32_t depth, bool a_is_transposed,
                   bool b_is_transposed, uint32_t out_bytes, kiln_epilogue epilogue)
{
    const kiln_matmul_desc desc = {.epilogue = epilogue};
    job j = {.k = &context,
             .desc = &desc,
             .device = &h200,
             .type = BF16,
             .bytes = 2,
             .result = out_bytes == 2 ? OUT_BF16 : OUT_F32,
             .out_bytes = out_bytes,
             .m = m,
             .n = n,
             .depth = depth,
             .batch = 1};
    j.a.is_transposed = a_is_transposed;
    j.b.is_transposed = b_is_transposed;
    return matmul_tile(&j);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 1099511628211u;
}

static uint64_t mix_tile(uint64_t hash, tile t)
{
    const uint64_t all[] = {t.m,          t.n,           t.warpgroups, t.most_stages,
                            t.group,      t.shift,       t.split_k,    t.is_swapped,
                            t.is_partial, t.is_pingpong, t.narrow_n,   t.narrow_columns};
    for (size_t n = 0; n < COUNT(all); n++)
        hash = mix(hash, all[n]);
    return hash;
}

TEST(tiles_of_square_products)
{
    tile t = choice(512, 512, 512, false, true, 2, KILN_EPILOGUE_NONE);
    assert_true(t.m == 64 && !t.is_pingpong && t.split_k == 1); // more tiles than in 128 rows
    t = choice(3072, 3072, 3072, false, true, 2, KILN_EPILOGUE_NONE);
    assert_true(t.m == 128 && t.is_pingpong && t.narrow_columns); // two widths
    t = choice(7168, 7168, 7168, false, true, 2, KILN_EPILOGUE_NONE);
    assert_true(t.m == 128 && t.n >= 192);
    t = choice(16, 4096, 4096, false, true, 2, KILN_EPILOGUE_NONE);
    assert_true(t.is_swapped && t.n == 16 && t.split_k > 1); // few rows: k is split
    t = choice(4096, 16, 4096, false, true, 2, KILN_EPILOGUE_NONE);
    assert_true(!t.is_swapped && t.n == 16 && t.split_k > 1); // and few columns
    t = choice(104, 104, 30000, false, true, 2, KILN_EPILOGUE_NONE);
    assert_true(t.parts > 8); // a long sum: more parts than a cluster has blocks
    t = choice(192, 21312, 1856, true, true, 2, KILN_EPILOGUE_NONE);
    assert_true(t.m == 192 && !t.is_swapped); // else a quarter of the products are of nothing
    t = choice(64, 10624, 6336, false, true, 2, KILN_EPILOGUE_NONE);
    assert_true(t.is_swapped && t.m == 128); // one wave, on two of three multiprocessors
}

// The products of docs/performance.md: what was measured there stays chosen.
TEST(tiles_of_measured_products)
{
    static const uint32_t cubes[] = {256,  384,  512,  768,  1024, 1280, 1536, 2048,
                                     2560, 3072, 4096, 5120, 6144, 7168, 8192};
    static const uint32_t few[][3] = {{1, 4096, 4096},   {8, 4096, 4096},   {16, 4096, 4096},
                                      {32, 4096, 4096},  {64, 4096, 4096},  {1, 14336, 4096},
                                      {16, 14336, 4096}, {64, 14336, 4096}, {1, 4096, 14336},
                                      {16, 4096, 14336}, {64, 4096, 14336}, {16, 7168, 7168},
                                      {64, 7168, 7168},  {128, 4096, 4096}, {256, 7168, 7168}};
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < COUNT(cubes) * 4; i++)
        hash = mix_tile(hash, choice(cubes[i / 4], cubes[i / 4], cubes[i / 4], i & 2, i & 1, 2,
                                     KILN_EPILOGUE_NONE));
    for (size_t i = 0; i < COUNT(few); i++)
        hash = mix_tile(
            hash, choice(few[i][0], few[i][1], few[i][2], false, true, 2, KILN_EPILOGUE_NONE));
    assert_int_equal(hash, 0xf89d38184378ffcu);
}

TEST(tiles_stay_as_measured)
{
    static const uint32_t sizes[] = {1,    16,   64,   65,   256,  384,  1000,
                                     1536, 2048, 2560, 4096, 5120, 6000, 8192};
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t n = 0; n < COUNT(sizes); n++)
            for (size_t layout = 0; layout < 4; layout++)
                for (uint32_t out = 2; out <= 4; out += 2)
                    for (uint32_t depth = 512; depth <= 8192; depth *= 4) {
                        kiln_epilogue e =
                            out == 2 && layout == 1 ? KILN_EPILOGUE_BIAS_SILU : KILN_EPILOGUE_NONE;
                        tile t = choice(sizes[i], sizes[n], depth, layout & 2, layout & 1, out, e);
                        hash = mix(mix_tile(hash, t), t.parts);
                    }
    assert_int_equal(hash, 0x46ca66ca3617892fu);
}
