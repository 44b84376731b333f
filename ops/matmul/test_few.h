// A part of test.c: the kernels for few rows or columns, and for short sums, in forms that are
// asked for.
#ifndef KILN_TEST_FEW_H
#define KILN_TEST_FEW_H

static const struct {
    kiln_type in, out;
} few_types[] = {{KILN_BF16, KILN_BF16},
                 {KILN_F16, KILN_F32},
                 {KILN_F32, KILN_F32},
                 {KILN_F8E4, KILN_F16},
                 {KILN_I8, KILN_I32}};
// Types, layouts and whether the rows or the columns are few.
enum { FEW_FORMS = 8 * sizeof few_types / sizeof *few_types };

// Form `form` of many by few by k; `epilogue` is the one of types that have any.
static test_case few_case(const uint32_t size[3], uint32_t form, size_t epilogue)
{
    bool is_swapped = form % 2;
    test_case c = {.in = few_types[form / 8].in,
                   .out = few_types[form / 8].out,
                   .m = size[is_swapped],
                   .n = size[!is_swapped],
                   .k = size[2],
                   .a_t = form / 4 % 2,
                   .b_t = form / 2 % 2,
                   .is_tf32 = few_types[form / 8].in == KILN_F32,
                   .batch = 1,
                   .sm90 = {.is_swapped = is_swapped}};
    c.epilogue = c.in == KILN_I8 ? KILN_EPILOGUE_NONE : (kiln_epilogue)(epilogue % 5);
    return c;
}

// Have types that are not of 16 bits rows along K, as they must?
static bool has_rows_along_k(const test_case *c)
{
    return kiln_type_size(c->in) == 2 || (!c->a_t && c->b_t);
}

// Few rows and few columns: warps and parts that share the sum, rows that start anywhere.
static void test_thin(kiln *k)
{
    static const uint32_t tiles[][3] = {{8, 8, 1}, {1, 16, 1}, {2, 24, 3}, {4, 32, 2}};
    static const uint32_t sizes[][3] = {{141, 7, 261}, {72, 24, 520}, {333, 33, 31}, {65, 1, 96}};
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (uint32_t form = 0; form < FEW_FORMS; form++) {
                test_case c = few_case(sizes[s], form, t + s);
                if (!has_rows_along_k(&c) || (t + s + form / 2) % (is_cuda ? 6 : 3))
                    continue;
                c.batch = tiles[t][2] == 1 && s == 0 ? 3 : 1;
                c.tile_m = tiles[t][0] < 4 ? 256 / tiles[t][0] : 64;
                c.tile_n = tiles[t][1];
                c.sm90.split_k = tiles[t][0];
                c.sm90.parts = tiles[t][2] * 64 > c.k ? 1 : tiles[t][2];
                CHECK(test_both(k, &c, KILN_MATMUL_THIN));
            }
}

// Few rows or columns through shared memory; rows anywhere, but for many that are contiguous across
// K.
static void test_stream(kiln *k)
{
    static const uint32_t tiles[][3] = {{128, 16, 1}, {256, 48, 2}, {128, 32, 1}, {256, 64, 3}};
    static const uint32_t sizes[][3] = {{141, 7, 261}, {72, 24, 520}, {336, 70, 31}, {88, 41, 200}};
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (uint32_t form = 0; form < FEW_FORMS; form++) {
                test_case c = few_case(sizes[s], form, t + s);
                bool is_across = c.sm90.is_swapped ? !c.b_t : c.a_t;
                if (!has_rows_along_k(&c) || (t + s + form / 2) % (is_cuda ? 5 : 3) ||
                    (is_across && sizes[s][0] % 8))
                    continue;
                c.tile_m = tiles[t][0];
                c.tile_n = tiles[t][1];
                c.sm90.stages = 4 - (uint32_t)(t + s) % 3;
                c.sm90.parts = tiles[t][2] * 128 > c.k ? 1 : tiles[t][2];
                c.batch = s == 1 && c.sm90.parts == 1 ? 3 : 1;
                CHECK(test_both(k, &c, KILN_MATMUL_THIN));
            }
}

// The few contiguous across K, and many enough of the others that gemm_sm90.c gets a copy of them
// along K; of numbers that start anywhere the others are copied, too.
static void test_turned(kiln *k)
{
    static const struct {
        uint32_t m, n, k;
        bool a_t, b_t;
    } cases[] = {{4608, 8, 1160, false, false},
                 {4552, 23, 1160, true, false},
                 {7, 4559, 1161, true, true},
                 {40, 4680, 1192, true, false}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        test_case c = {.in = KILN_BF16,
                       .out = n % 2 ? KILN_F32 : KILN_BF16,
                       .m = cases[n].m,
                       .n = cases[n].n,
                       .k = cases[n].k,
                       .a_t = cases[n].a_t,
                       .b_t = cases[n].b_t,
                       .batch = 1,
                       .epilogue = n % 2 ? KILN_EPILOGUE_BIAS : KILN_EPILOGUE_NONE};
        data d;
        make_data(k, &c, &d, true);
        CHECK(test_kernel(k, &c, &d, KILN_MATMUL_SM90, true));
        free_data(&d);
    }
}

// Short sums, in tiles of 32 and 64 rows; rows of operands and results anywhere.
static void test_short(kiln *k)
{
    static const uint32_t sizes[][3] = {{141, 137, 20}, {72, 264, 8},   {33, 1, 31},
                                        {7, 300, 1},    {200, 131, 64}, {66, 136, 48}};
    enum { TYPES = 3 }; // the first ones
    for (uint32_t rows = 32; rows <= 64; rows *= 2)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (uint32_t n = 0; n < 4 * TYPES; n++) {
                test_case c = {.in = few_types[n / 4].in,
                               .out = few_types[n / 4].out,
                               .m = sizes[s][0],
                               .n = sizes[s][1],
                               .k = sizes[s][2],
                               .a_t = n / 2 % 2,
                               .b_t = n % 2,
                               .is_tf32 = few_types[n / 4].in == KILN_F32,
                               .batch = s == 1 ? 2 : 1,
                               .tile_m = rows,
                               .tile_n = 128,
                               .epilogue = (kiln_epilogue)((rows / 16 + s + n) % 5)};
                if ((c.is_tf32 && c.k > 32) || (is_cuda && (rows / 16 + s + n) % 4))
                    continue;
                CHECK(test_both(k, &c, KILN_MATMUL_SMALL));
            }
}

// Sums straight from memory: each by a warp or a block, as the library chooses and in every form.
static void test_small(kiln *k)
{
    static const uint32_t sizes[][3] = {
        {1, 1, 2053}, {1, 2, 3001}, {2, 1, 4098}, {1, 46, 6202}, {37, 3, 549}};
    static const uint32_t forms[] = {0, 1, 32, 128, 512}; // lanes of a sum; 0: chosen
    enum { SIZES = sizeof sizes / sizeof *sizes, FORMS = sizeof forms / sizeof *forms };
    for (size_t n = 0; n < SIZES * FORMS; n++)
        for (int layout = 0; layout < 5; layout++) {
            size_t s = n / FORMS;
            uint32_t lanes = forms[n % FORMS];
            if (lanes && (n + (size_t)layout) % 3)
                continue;
            test_case c = {.in = layout == 4  ? KILN_F32
                                 : layout % 2 ? KILN_BF16
                                              : KILN_F16,
                           .out = layout > 2   ? KILN_F32
                                  : layout % 2 ? KILN_BF16
                                               : KILN_F16,
                           .m = sizes[s][0],
                           .n = sizes[s][1],
                           .k = sizes[s][2],
                           .a_t = layout / 2 == 1,
                           .b_t = layout % 2 || layout == 4,
                           .is_tf32 = layout == 4,
                           .batch = 1 + s % 2,
                           .tile_m = lanes ? 1 : 0,
                           .tile_n = !lanes      ? 0
                                     : lanes > 1 ? 1
                                                 : 128,
                           .sm90 = {.split_k = lanes},
                           .epilogue = (kiln_epilogue)((size_t)layout)};
            CHECK(test_both(k, &c, KILN_MATMUL_SMALL));
        }
}

#endif
