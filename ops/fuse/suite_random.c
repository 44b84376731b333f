// Fused expressions drawn at random: the bits of the same ops one after the other, and values in
// double. Then refusals, types, workspaces, and that a warm call compiles nothing.
#include "ops/fuse/suite_fuse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/fuse/host_rows.h"
#include "ops/op.h"

// What the rows' expressions call, in double.
#define R(x)                    ((double)(x))
#define min(a, b)               fmin(a, b)
#define max(a, b)               fmax(a, b)
#define abs(a)                  fabs(a)
#define rsqrt(a)                (1 / sqrt(a))
#define gelu_of(a)              (0.5 * (a) * (1 + erf((a)*0.7071067811865476)))
#define exp_below(a)            exp(a)
#define over_one_plus_exp(a, b) ((a) / (1 + exp(b)))
#define remainder_of(a, b)                                                                         \
    (fmod(a, b) != 0 && (fmod(a, b) < 0) != ((b) < 0) ? fmod(a, b) + (b) : fmod(a, b))
#define floor_divide_of(a, b) floor((a) / (b))
#define ROW(name, signature, set, value, ...)                                                      \
    static double value_##name(double a, double b, double c, double p, double q)                   \
    {                                                                                              \
        (void)a, (void)b, (void)c, (void)p, (void)q;                                               \
        return value;                                                                              \
    }
#include "ops/elementwise/elementwise.def"
#undef min
#undef max
#undef abs

static const struct row {
    const char *signature, *value;
    double (*run)(double a, double b, double c, double p, double q);
    double low, high; // of the operands in tests; from and to anywhere: a smooth row
} rows[] = {
#define ROW(name, signature, set, value, da, db, dc, low, high, ...)                               \
    {#signature, #value, value_##name, low, high},
#include "ops/elementwise/elementwise.def"
};

// Rows that do not make errors much larger, for the comparison in double.
static const kiln_elementwise smooth[] = {
    KILN_EW_ADD,  KILN_EW_SUB,      KILN_EW_MIN,       KILN_EW_MAX,      KILN_EW_NEG,
    KILN_EW_ABS,  KILN_EW_LERP,     KILN_EW_SIN,       KILN_EW_COS,      KILN_EW_TANH,
    KILN_EW_ERF,  KILN_EW_RELU,     KILN_EW_GELU,      KILN_EW_SIGMOID,  KILN_EW_SILU,
    KILN_EW_MISH, KILN_EW_SOFTPLUS, KILN_EW_HARDSWISH, KILN_EW_SOFTSIGN, KILN_EW_SCALE,
    KILN_EW_ATAN, KILN_EW_CLAMP,    KILN_EW_BLEND,     KILN_EW_ELU};

enum { ROWS = 5, COLUMNS = 12, ELEMENTS = ROWS * COLUMNS, INPUTS = 4, MOST = 40 };

typedef struct tree {
    kiln_expr e;
    kiln_node nodes[MOST], of[MOST][3];
    int ops[MOST]; // -1: an input
    uint32_t count;
    double alpha, beta;
} tree;

static uint32_t pick(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % below);
}

// Does the row use that name of "abcpq"?
static bool uses(const char *value, uint32_t name)
{
    for (size_t len; *value; value += len ? len : 1)
        if (fuse_name(value, &len) == name)
            return true;
    return false;
}

static void draw(tree *t, uint64_t *state, bool is_smooth)
{
    memset(t, 0, sizeof *t);
    t->alpha = 0.5;
    t->beta = 1.25;
    for (; t->count < INPUTS; t->count++) {
        t->nodes[t->count] = kiln_expr_input(&t->e, t->count);
        t->ops[t->count] = -1;
    }
    kiln_node alpha = kiln_expr_parameter(&t->e, 0), beta = kiln_expr_constant(&t->e, t->beta);
    uint32_t wanted = INPUTS + 1 + pick(state, MOST - INPUTS - 1);
    while (t->count < wanted) {
        uint32_t n = t->count;
        int op = is_smooth ? (int)smooth[pick(state, sizeof smooth / sizeof *smooth)]
                           : (int)pick(state, KILN_ELEMENTWISE_COUNT);
        const struct row *row = &rows[op];
        kiln_node of[3] = {0};
        bool is_possible = fuse_rows[op].types & 1; // floats
        for (uint32_t i = 0; row->signature[i] != '_'; i++) {
            t->of[n][i] = pick(state, n);
            of[i] = t->nodes[t->of[n][i]];
            // The result of a comparison is an integer: only masks take it.
            int from = t->ops[t->of[n][i]];
            bool is_mask = from >= 0 && strchr(rows[from].signature, '_')[1] == 'B';
            is_possible &= !is_mask || row->signature[i] == 'B';
        }
        if (!is_possible)
            continue;
        bool has_p = uses(row->value, 3), has_q = uses(row->value, 4);
        t->ops[n] = op;
        t->nodes[n] = kiln_expr_op_with(&t->e, (kiln_elementwise)op, of[0], of[1], of[2],
                                        has_p ? alpha : 0, has_q ? beta : 0);
        t->count++;
    }
}

static bool is_mask_node(const tree *t, uint32_t n)
{
    return t->ops[n] >= 0 && strchr(rows[t->ops[n]].signature, '_')[1] == 'B';
}

// The inputs: dense, one row, one column, transposed.
static kiln_status make_inputs(kiln *k, kiln_buffer **buffers, kiln_view *views,
                               double values[][ELEMENTS])
{
    static const uint64_t sizes[INPUTS][2] = {
        {ROWS, COLUMNS}, {1, COLUMNS}, {ROWS, 1}, {COLUMNS, ROWS}};
    uint64_t state = 7;
    kiln_status status = KILN_OK;
    for (uint32_t n = 0; n < INPUTS && !status; n++) {
        float bytes[ELEMENTS];
        size_t count = (size_t)(sizes[n][0] * sizes[n][1]);
        for (size_t i = 0; i < count; i++)
            bytes[i] = (float)pick(&state, 4096) / 1024 - 2;
        status = kiln_buffer_new(k, KILN_F32, count, &buffers[n]);
        if (!status)
            status = kiln_write(buffers[n], 0, bytes, count);
        views[n] = kiln_view_of(buffers[n], 2, sizes[n]);
        if (n == 3)
            views[n] = kiln_view_transpose(views[n]);
        for (size_t i = 0; i < ELEMENTS; i++) {
            size_t row = i / COLUMNS, column = i % COLUMNS;
            values[n][i] = (double)bytes[n == 0   ? i
                                         : n == 1 ? column
                                         : n == 2 ? row
                                                  : column * ROWS + row];
        }
    }
    return status;
}

// The same one op after the other: each node has a buffer.
static kiln_status run_unfused(kiln *k, const tree *t, const kiln_view *inputs, float *out)
{
    kiln_buffer *buffers[MOST] = {NULL};
    kiln_view views[MOST];
    kiln_status status = KILN_OK;
    for (uint32_t n = 0; n < t->count && !status; n++) {
        if (n < INPUTS) {
            views[n] = inputs[n];
            continue;
        }
        status =
            kiln_buffer_new(k, is_mask_node(t, n) ? KILN_U32 : KILN_F32, ELEMENTS, &buffers[n]);
        views[n] = kiln_view_of(buffers[n], 2, (const uint64_t[]){ROWS, COLUMNS});
        kiln_elementwise_desc d = {
            .op = (kiln_elementwise)t->ops[n], .out = views[n], .alpha = t->alpha, .beta = t->beta};
        for (uint32_t i = 0; rows[t->ops[n]].signature[i] != '_'; i++)
            d.in[i] = views[t->of[n][i]];
        if (!status)
            status = kiln_elementwise_forward(k, &d);
    }
    if (!status)
        status = kiln_read_view(views[t->count - 1], out);
    for (uint32_t n = 0; n < MOST; n++)
        kiln_buffer_free(buffers[n]);
    return status;
}

static double in_double(const tree *t, double values[][ELEMENTS], size_t i)
{
    double v[MOST];
    for (uint32_t n = 0; n < t->count; n++)
        v[n] = n < INPUTS ? values[n][i]
                          : rows[t->ops[n]].run(v[t->of[n][0]], v[t->of[n][1]], v[t->of[n][2]],
                                                t->alpha, t->beta);
    return v[t->count - 1];
}

// One tree; false: it is wrong.
static bool test_tree(kiln *k, const tree *t, const kiln_view *inputs, kiln_view out,
                      double values[][ELEMENTS], bool is_smooth)
{
    float fused[ELEMENTS], unfused[ELEMENTS];
    kiln_fuse_desc d = {.expression = &t->e,
                        .out = {{t->nodes[t->count - 1], out, KILN_FUSE_NO_REDUCTION}},
                        .parameters = {t->alpha}};
    memcpy(d.in, inputs, INPUTS * sizeof *inputs);
    if (kiln_fuse(k, &d) || kiln_read_view(out, fused) || run_unfused(k, t, inputs, unfused)) {
        printf("fuse: a random expression: %s\n", kiln_last_error(k)->text);
        return false;
    }
    bool is_mask = is_mask_node(t, t->count - 1);
    for (size_t i = 0; i < ELEMENTS; i++) {
        float a = fused[i], b = unfused[i];
        uint32_t mask;
        memcpy(&mask, &b, sizeof mask);
        if (is_mask)
            b = (float)mask;
        double want = is_smooth ? in_double(t, values, i) : 0;
        bool is_same = !memcmp(&a, &b, sizeof a) || (isnan(a) && isnan(b));
        bool is_near = !is_smooth || fabs((double)a - want) <= 1e-4 * (1 + fabs(want));
        if (!is_same || !is_near) {
            printf("fuse: a random expression of %u nodes: element %zu is %a, unfused %a, in "
                   "double %a\n",
                   t->count, i, (double)a, (double)b, want);
            return false;
        }
    }
    return true;
}

// --- the cache
static void count_variants(void *user, const op_program *p, const char *const *define,
                           const char *const *tune)
{
    (void)p, (void)define, (void)tune;
    ++*(int *)user;
}

static int test_cache(kiln *k, const kiln_view *inputs, kiln_view out)
{
    kiln_expr e = {0};
    int compiled = 0, failed = 0;
    kiln_node y = kiln_expr_op_with(&e, KILN_EW_SCALE, kiln_expr_input(&e, 0), 0, 0,
                                    kiln_expr_parameter(&e, 0), kiln_expr_constant(&e, 0.625));
    kiln_fuse_desc d = {
        .expression = &e, .in = {inputs[0]}, .out = {{y, out, KILN_FUSE_NO_REDUCTION}}};
    failed += op_see_variants(k, count_variants, &compiled) != KILN_OK;
    for (int n = 0; n < 3; n++) {
        d.parameters[0] = n; // another value is the same kernel
        failed += kiln_fuse(k, &d) != KILN_OK;
    }
    failed += compiled != 1;
    d.in[0] = inputs[3]; // another layout is another one
    failed += kiln_fuse(k, &d) != KILN_OK || compiled != 2;
    kiln_expr other = {0};
    y = kiln_expr_op_with(&other, KILN_EW_SCALE, kiln_expr_input(&other, 0), 0, 0,
                          kiln_expr_parameter(&other, 0), kiln_expr_constant(&other, 0.5));
    d.expression = &other;
    failed += kiln_fuse(k, &d) != KILN_OK || compiled != 3; // and so is another constant
    op_see_variants(k, NULL, NULL);
    if (failed)
        printf("fuse: %d kernels were compiled, not 3\n", compiled);
    return failed;
}

// --- a reduction over the whole device, and its workspace
static int test_workspace(kiln *k)
{
    enum { LONG = 1 << 16 };
    kiln_expr e = {0};
    kiln_buffer *x = NULL, *sum = NULL, *workspace = NULL;
    uint64_t elements = 0;
    float *values = calloc(LONG, sizeof *values), got[2] = {0};
    int failed = 0;
    for (size_t i = 0; values && i < LONG; i++)
        values[i] = (float)(i % 17) - 8;
    kiln_node y = kiln_expr_op(&e, KILN_EW_SQUARE, kiln_expr_input(&e, 0), 0, 0);
    failed += kiln_buffer_new(k, KILN_F32, LONG, &x) || kiln_buffer_new(k, KILN_F32, 2, &sum) ||
              !values || kiln_write(x, 0, values, LONG);
    kiln_fuse_desc d = {.expression = &e, .in = {kiln_view_all(x)}, .axes = 1};
    kiln_view results = kiln_view_all(sum);
    d.out[0] = (kiln_fuse_output){y, kiln_view_slice(results, 0, 0, 1, 1), KILN_FUSE_SUM};
    d.out[1] = (kiln_fuse_output){y, kiln_view_slice(results, 0, 1, 2, 1), KILN_FUSE_MEAN};
    failed += kiln_fuse_workspace(k, &d, &elements) || elements < 4;
    failed += kiln_buffer_new(k, KILN_F32, elements, &workspace) != KILN_OK;
    double want = 0;
    for (size_t i = 0; values && i < LONG; i++)
        want += (double)values[i] * (double)values[i]; // exact in f32, too
    for (int pass = 0; pass < 2; pass++) {
        d.workspace = pass ? kiln_view_all(workspace) : (kiln_view){0};
        failed += kiln_fuse(k, &d) || kiln_read(sum, 0, got, 2);
        failed += (double)got[0] != want || (double)got[1] != want / LONG;
    }
    d.workspace.sizes[0]--;
    failed += !kiln_fuse(k, &d);
    if (failed)
        printf("fuse: the sum is %g, the mean %g, not %g and %g: %s\n", (double)got[0],
               (double)got[1], want, want / LONG, kiln_last_error(k)->text);
    kiln_buffer_free(x);
    kiln_buffer_free(sum);
    kiln_buffer_free(workspace);
    free(values);
    return failed;
}

// --- an input that no output needs still has a part in the shape
static int test_unused_input(kiln *k)
{
    static const float values[3] = {1, 2, 4};
    float got[3] = {0};
    kiln_buffer *row = NULL, *all = NULL, *sum = NULL;
    kiln_expr e = {0};
    kiln_node x = kiln_expr_input(&e, 0);
    kiln_status status = kiln_buffer_new(k, KILN_F32, 3, &row);
    status = status ? status : kiln_buffer_new(k, KILN_F32, 60, &all);
    status = status ? status : kiln_buffer_new(k, KILN_F32, 3, &sum);
    status = status ? status : kiln_write(row, 0, values, 3);
    kiln_fuse_desc d = {.expression = &e, .in = {kiln_view_all(row)}, .axes = 1 | 2};
    d.in[1] = kiln_view_of(all, 3, (const uint64_t[]){4, 5, 3});
    d.out[0] = (kiln_fuse_output){x, kiln_view_all(sum), KILN_FUSE_SUM};
    status = status ? status : kiln_fuse(k, &d);
    status = status ? status : kiln_read(sum, 0, got, 3);
    bool is_right = !status && got[0] == 20 && got[1] == 40 && got[2] == 80;
    if (!is_right)
        printf("fuse: the sum of a repeated row is %g %g %g: %s\n", (double)got[0], (double)got[1],
               (double)got[2], status ? kiln_last_error(k)->text : "");
    kiln_buffer_free(row);
    kiln_buffer_free(all);
    kiln_buffer_free(sum);
    return !is_right;
}

// --- integers, masks and casts
static int test_types(kiln *k)
{
    static const uint8_t bytes[8] = {0, 1, 100, 200, 250, 255, 7, 8};
    static const int8_t want_cast[8] = {1, 3, -55, -111, -11, -1, 15, 17}; // 2 b + 1 in 8 bits
    kiln_expr e = {0};
    kiln_buffer *b = NULL, *flags = NULL, *cast = NULL, *half = NULL;
    uint8_t got_flags[8] = {0};
    int8_t got_cast[8] = {0};
    float got_half[8] = {0};
    int failed = 0;
    kiln_node x = kiln_expr_input(&e, 0), one = kiln_expr_constant(&e, 1);
    kiln_node y = kiln_expr_op(&e, KILN_EW_MULTIPLY_ADD, x, kiln_expr_constant(&e, 2), one);
    kiln_node f = kiln_expr_cast(&e, KILN_F32, y);
    kiln_node rounded = kiln_expr_op(
        &e, KILN_EW_ADD,
        kiln_expr_cast(&e, KILN_F16,
                       kiln_expr_op(&e, KILN_EW_EXP, kiln_expr_op(&e, KILN_EW_SIN, f, 0, 0), 0, 0)),
        kiln_expr_constant(&e, 0), 0);
    kiln_node many = kiln_expr_op(&e, KILN_EW_GREATER, x, kiln_expr_constant(&e, 99), 0);
    failed += kiln_buffer_new(k, KILN_U8, 8, &b) || kiln_buffer_new(k, KILN_BOOL, 8, &flags) ||
              kiln_buffer_new(k, KILN_I8, 8, &cast) || kiln_buffer_new(k, KILN_F32, 8, &half) ||
              kiln_write(b, 0, bytes, 8);
    kiln_fuse_desc d = {.expression = &e,
                        .in = {kiln_view_all(b)},
                        .out = {{many, kiln_view_all(flags), KILN_FUSE_NO_REDUCTION},
                                {y, kiln_view_all(cast), KILN_FUSE_NO_REDUCTION},
                                {rounded, kiln_view_all(half), KILN_FUSE_NO_REDUCTION}}};
    failed += kiln_fuse(k, &d) || kiln_read(flags, 0, got_flags, 8) ||
              kiln_read(cast, 0, got_cast, 8) || kiln_read(half, 0, got_half, 8);
    for (int i = 0; i < 8; i++) {
        double exact = exp(sin(2.0 * bytes[i] + 1)), error = fabs((double)got_half[i] - exact);
        failed += got_flags[i] != (bytes[i] > 99) || got_cast[i] != want_cast[i];
        failed += error > 0x1p-10 ||
                  (double)got_half[i] != ldexp(rint(ldexp((double)got_half[i], 13)), -13);
    }
    // any and all: the largest and the smallest mask
    d.out[0] =
        (kiln_fuse_output){many, kiln_view_slice(kiln_view_all(flags), 0, 0, 1, 1), KILN_FUSE_MAX};
    d.out[1] =
        (kiln_fuse_output){many, kiln_view_slice(kiln_view_all(flags), 0, 1, 2, 1), KILN_FUSE_MIN};
    d.out[2].node = 0;
    d.axes = 1;
    failed += kiln_fuse(k, &d) || kiln_read(flags, 0, got_flags, 2) || got_flags[0] != 1 ||
              got_flags[1] != 0;
    if (failed)
        printf("fuse: types: %s\n", kiln_last_error(k)->text);
    kiln_buffer_free(b);
    kiln_buffer_free(flags);
    kiln_buffer_free(cast);
    kiln_buffer_free(half);
    return failed;
}

// A constant and a parameter have the type of each op that uses them, also where the types differ.
static int test_numbers_of_two_types(kiln *k)
{
    static const int32_t whole[3] = {0, 2, 5};
    static const float x[3] = {0.5f, 1.5f, 8};
    static const float wanted[3] = {0.5f, 2.5f, 8};
    float got[2][3] = {{0}};
    kiln_buffer *buffers[3] = {NULL};
    kiln_expr e = {0};
    kiln_node i = kiln_expr_input(&e, 0), f = kiln_expr_input(&e, 1);
    kiln_node number = kiln_expr_parameter(&e, 0), two = kiln_expr_constant(&e, 2);
    kiln_node y = kiln_expr_op(&e, KILN_EW_EQUAL, number, i, 0); // 2.5 is 2 there
    y = kiln_expr_op(&e, KILN_EW_WHERE, y, number, f);
    kiln_node z = kiln_expr_cast(&e, KILN_F32, kiln_expr_op(&e, KILN_EW_MUL, i, two, 0));
    z = kiln_expr_op(&e, KILN_EW_MULTIPLY_ADD, f, two, z);
    kiln_status status = kiln_buffer_new(k, KILN_I32, 3, &buffers[0]);
    for (int n = 1; n < 3 && !status; n++)
        status = kiln_buffer_new(k, KILN_F32, n == 1 ? 3 : 6, &buffers[n]);
    status = status ? status : kiln_write(buffers[0], 0, whole, 3);
    status = status ? status : kiln_write(buffers[1], 0, x, 3);
    kiln_view out = kiln_view_all(buffers[2]);
    kiln_fuse_desc d = {.expression = &e,
                        .in = {kiln_view_all(buffers[0]), kiln_view_all(buffers[1])},
                        .out = {{y, kiln_view_slice(out, 0, 0, 3, 1), KILN_FUSE_NO_REDUCTION},
                                {z, kiln_view_slice(out, 0, 3, 6, 1), KILN_FUSE_NO_REDUCTION}},
                        .parameters = {2.5}};
    status = status ? status : kiln_fuse(k, &d);
    status = status ? status : kiln_read(buffers[2], 0, got, 6);
    int failed = status || memcmp(got[0], wanted, sizeof wanted);
    for (int n = 0; n < 3; n++)
        failed += (double)got[1][n] != 2 * (double)x[n] + 2 * whole[n];
    if (failed)
        printf("fuse: numbers of two types give %g %g %g and %g %g %g: %s\n", (double)got[0][0],
               (double)got[0][1], (double)got[0][2], (double)got[1][0], (double)got[1][1],
               (double)got[1][2], status ? kiln_last_error(k)->text : "");
    for (int n = 0; n < 3; n++)
        kiln_buffer_free(buffers[n]);
    return failed;
}

// What a bool takes a reduction of are masks, whether one block has all of it or many share it.
static int test_masks(kiln *k)
{
    enum { MANY = 1 << 17 };
    static const kiln_fuse_reduction how[] = {KILN_FUSE_SUM, KILN_FUSE_MEAN, KILN_FUSE_MAX,
                                              KILN_FUSE_MIN};
    int failed = 0;
    kiln_expr e = {0};
    kiln_buffer *x = NULL, *flags = NULL;
    kiln_node node = kiln_expr_input(&e, 0);
    float *values = calloc(MANY, sizeof *values);
    kiln_status status = values ? kiln_buffer_new(k, KILN_F32, MANY, &x) : KILN_E_NO_MEMORY;
    status = status ? status : kiln_buffer_new(k, KILN_BOOL, 4, &flags);
    for (int n = 0; n < 6 && !status; n++) {
        uint64_t size = n % 2 ? MANY : 100;
        uint8_t got[4] = {0};
        for (size_t i = 0; i < size; i++) // none is set; some are, their sum is 0; all are
            values[i] = n < 2 ? 0 : n < 4 ? (float)(i < 4) - 2 * (float)(i < 2) : -2;
        kiln_fuse_desc d = {.expression = &e, .axes = 1};
        d.in[0] = kiln_view_slice(kiln_view_all(x), 0, 0, (int64_t)size, 1);
        for (uint32_t i = 0; i < 4; i++)
            d.out[i] = (kiln_fuse_output){
                node, kiln_view_slice(kiln_view_all(flags), 0, i, i + 1, 1), how[i]};
        status = kiln_write(x, 0, values, size);
        status = status ? status : kiln_fuse(k, &d);
        status = status ? status : kiln_read(flags, 0, got, 4);
        bool is_right = got[0] == (n > 1) && got[1] == got[0] && got[2] == got[0];
        if (status || !is_right || got[3] != (n > 3)) {
            printf("fuse: masks of %llu numbers: sum %d, mean %d, max %d, min %d: %s\n",
                   (unsigned long long)size, got[0], got[1], got[2], got[3],
                   status ? kiln_last_error(k)->text : "");
            failed++;
        }
    }
    kiln_buffer_free(x);
    kiln_buffer_free(flags);
    free(values);
    return failed + (status != KILN_OK);
}

// A constant and a parameter of an integer type are the nearest of its numbers.
static int test_wholes(kiln *k)
{
    static const struct whole {
        kiln_type type;
        double value;
        uint64_t wanted;
    } wholes[] = {{KILN_I64, 0x1p53 + 2, ((uint64_t)1 << 53) + 2},
                  {KILN_I64, 0x1p62 + 0x1p20, ((uint64_t)1 << 62) + (1 << 20)},
                  {KILN_I64, 0x1p63, INT64_MAX},
                  {KILN_I64, -0x1p63, (uint64_t)1 << 63},
                  {KILN_I64, -HUGE_VAL, (uint64_t)1 << 63},
                  {KILN_U64, 0x1p63, (uint64_t)1 << 63},
                  {KILN_U64, HUGE_VAL, UINT64_MAX},
                  {KILN_U64, -5, 0},
                  {KILN_U64, (double)NAN, 0},
                  {KILN_I32, 0x1p31, INT32_MAX},
                  {KILN_I32, -2.75, (uint32_t)-2},
                  {KILN_I32, -HUGE_VAL, (uint32_t)1 << 31},
                  {KILN_U32, 0x1p31, (uint32_t)1 << 31},
                  {KILN_U32, 0x1p40, UINT32_MAX},
                  {KILN_U32, -1, 0}};
    int failed = 0;
    for (size_t n = 0; n < sizeof wholes / sizeof *wholes; n++) {
        const struct whole *w = &wholes[n];
        kiln_expr e = {0};
        kiln_buffer *b = NULL;
        uint64_t got[2] = {0}, zeros[3] = {0};
        uint32_t narrow[2] = {0};
        bool is_wide = kiln_type_size(w->type) == 8;
        kiln_node x = kiln_expr_input(&e, 0);
        kiln_node constant = kiln_expr_op(&e, KILN_EW_ADD, x, kiln_expr_constant(&e, w->value), 0);
        kiln_node parameter = kiln_expr_op(&e, KILN_EW_ADD, x, kiln_expr_parameter(&e, 0), 0);
        kiln_status status = kiln_buffer_new(k, w->type, 3, &b);
        status = status ? status : kiln_write(b, 0, zeros, 3);
        kiln_view v = kiln_view_all(b);
        kiln_fuse_desc d = {
            .expression = &e,
            .in = {kiln_view_slice(v, 0, 2, 3, 1)},
            .out = {{constant, kiln_view_slice(v, 0, 0, 1, 1), KILN_FUSE_NO_REDUCTION},
                    {parameter, kiln_view_slice(v, 0, 1, 2, 1), KILN_FUSE_NO_REDUCTION}},
            .parameters = {w->value}};
        status = status ? status : kiln_fuse(k, &d);
        status = status ? status : kiln_read(b, 0, is_wide ? (void *)got : narrow, 2);
        for (int i = 0; i < 2 && !is_wide; i++)
            got[i] = narrow[i];
        if (status || got[0] != w->wanted || got[1] != w->wanted) {
            printf("fuse: %g in %s is %#llx as a constant, %#llx as a parameter, not %#llx: %s\n",
                   w->value, kiln_type_name(w->type), (unsigned long long)got[0],
                   (unsigned long long)got[1], (unsigned long long)w->wanted,
                   status ? kiln_last_error(k)->text : "");
            failed++;
        }
        kiln_buffer_free(b);
    }
    return failed;
}

// --- refusals
static int refused(kiln *k, const kiln_fuse_desc *d, const char *wanted)
{
    bool is_right = kiln_fuse(k, d) && strstr(kiln_last_error(k)->text, wanted);
    if (!is_right)
        printf("fuse: '%s' was expected, not: %s\n", wanted, kiln_last_error(k)->text);
    return !is_right;
}

static int test_refusals(kiln *k, const kiln_view *inputs, kiln_view out)
{
    int failed = 0;
    kiln_expr none = {0}, e = {0}, bad[6] = {{0}};
    kiln_node x = kiln_expr_input(&e, 0);
    kiln_node count = kiln_expr_op(&e, KILN_EW_LESS, x, x, 0);
    kiln_node mixed = kiln_expr_op(&e, KILN_EW_ADD, x, count, 0);
    kiln_fuse_desc d = {.in = {inputs[0]}, .out = {{x, out, KILN_FUSE_NO_REDUCTION}}};
    failed += refused(k, &d, "the expression is NULL");
    d.expression = &none;
    failed += refused(k, &d, "node 1, and the expression has 0");
    d.out[0].node = 0;
    failed += refused(k, &d, "nothing is wanted");
    d.expression = &e;
    d.out[0].node = mixed;
    failed += refused(k, &d, "is over f32 and u32: cast one of them");
    d.out[0].node = x;
    d.out[0].reduction = KILN_FUSE_SUM;
    failed += refused(k, &d, "a reduction needs dimensions");
    d.axes = 2;
    failed += refused(k, &d, "which is no reduction of [5, 12]");
    d.out[0] = (kiln_fuse_output){count, inputs[2], KILN_FUSE_MEAN};
    failed += refused(k, &d, "mean of integers");
    d.out[0] = (kiln_fuse_output){x, kiln_view_slice(out, 1, 0, 5, 1), KILN_FUSE_NO_REDUCTION};
    failed += refused(k, &d, "cannot be repeated to");
    d.out[0].view = kiln_view_flip(inputs[0], 0);
    failed += refused(k, &d, "overlaps");
    for (uint32_t n = 0; n < KILN_FUSE_INPUTS + 1; n++)
        kiln_expr_input(&bad[0], n);
    kiln_expr_op(&bad[1], KILN_EW_ADD, kiln_expr_input(&bad[1], 0), 0, 0);
    kiln_expr_op(&bad[2], KILN_EW_ADD, kiln_expr_input(&bad[2], 0), 7, 0);
    kiln_expr_op(&bad[3], (kiln_elementwise)12345, kiln_expr_input(&bad[3], 0), 0, 0);
    kiln_expr_op(&bad[4], KILN_EW_EXP, kiln_expr_input(&bad[4], 0), 0, 1);
    for (int n = 0; n <= KILN_EXPR_NODES; n++)
        kiln_expr_constant(&bad[5], n);
    static const char *const wanted[] = {"there may be 12",       "add needs a node for b",
                                         "not in the expression", "no elementwise op 12345",
                                         "exp has no c",          "more than 256 nodes"};
    for (int n = 0; n < 6; n++) {
        d.expression = &bad[n];
        failed += refused(k, &d, wanted[n]);
    }
    return failed;
}

int suite_fuse_more(kiln *k, int *passed)
{
    enum { TREES = 24 };
    static double values[INPUTS][ELEMENTS];
    kiln_buffer *buffers[INPUTS] = {NULL}, *result = NULL;
    kiln_view inputs[INPUTS];
    uint64_t state = 1;
    int failed = make_inputs(k, buffers, inputs, values) != KILN_OK ||
                 kiln_buffer_new(k, KILN_F32, ELEMENTS, &result) != KILN_OK;
    kiln_view out = kiln_view_of(result, 2, (const uint64_t[]){ROWS, COLUMNS});
    kiln_device_info info;
    bool is_slow = !kiln_device_info_of(k, &info) && info.caps.is_host && !info.caps.is_emulated;
    tree *t = malloc(sizeof *t);
    for (int n = 0; n < (is_slow ? 6 : TREES) && t && !failed; n++) {
        draw(t, &state, n % 2);
        bool is_good = test_tree(k, t, inputs, out, values, n % 2);
        *passed += is_good;
        failed += !is_good;
    }
    free(t);
    int others = failed ? 1
                        : test_cache(k, inputs, out) + test_workspace(k) + test_types(k) +
                              test_wholes(k) + test_unused_input(k) + test_numbers_of_two_types(k) +
                              test_masks(k) + test_refusals(k, inputs, out);
    *passed += !others;
    for (uint32_t n = 0; n < INPUTS; n++)
        kiln_buffer_free(buffers[n]);
    kiln_buffer_free(result);
    return failed + others;
}
