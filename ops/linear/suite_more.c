// Tests of linear layers that are not cases: int4 layouts against vectors of other code
// (suite_vectors.py), three layers in one launch against three launches, what is refused.
#include "ops/linear/suite_linear.h"

#include <math.h>
#include <string.h>

#include "ops/linear/suite_vectors.h"

float suite_linear_rounded(float x, bool is_f16)
{
    int exponent;
    if (!is_f16 || x == 0)
        return x;
    frexpf(x, &exponent);
    exponent = exponent < -13 ? -13 : exponent;
    return ldexpf(nearbyintf(ldexpf(x, 11 - exponent)), exponent - 11);
}

// --- layouts
typedef struct vector {
    const char *name;
    kiln_int4_form form;
    const void *weight, *zero;
    size_t weight_bytes, zero_bytes;
} vector;

static int check_vector(const vector *v)
{
    uint32_t words[VECTOR_N * 4];
    uint8_t zeros[VECTOR_N * VECTOR_GROUPS], back[256], zero_back[64];
    memset(words, 0xff, sizeof words);
    kiln_int4_desc d = {.form = v->form,
                        .n = VECTOR_N,
                        .k = VECTOR_K,
                        .groups = VECTOR_GROUPS,
                        .weight = back,
                        .zero = zero_back,
                        .words = words,
                        .zeros = zeros};
    memcpy(back, v->weight, v->weight_bytes);
    memcpy(zero_back, v->zero, v->zero_bytes);
    bool is_right = sizeof words == sizeof vector_kiln && !kiln_pack_int4(&d) &&
                    !memcmp(words, vector_kiln, sizeof words) &&
                    !memcmp(zeros, vector_zeros, sizeof zeros);
    memset(back, 0xff, sizeof back);
    memset(zero_back, 0xff, sizeof zero_back);
    is_right = is_right && !kiln_unpack_int4(&d) && !memcmp(back, v->weight, v->weight_bytes) &&
               !memcmp(zero_back, v->zero, v->zero_bytes) && back[v->weight_bytes] == 0xff &&
               zero_back[v->zero_bytes] == 0xff;
    if (!is_right)
        printf("linear: int4 weights as %s are not what the vectors say\n", v->name);
    return !is_right;
}

static int check_layouts(int *passed)
{
    static const vector vectors[] = {
        {"bytes", KILN_INT4_BYTES, vector_bytes, vector_zeros, sizeof vector_bytes,
         sizeof vector_zeros},
        {"GPTQ's", KILN_INT4_GPTQ, vector_gptq, vector_gptq_zeros, sizeof vector_gptq,
         sizeof vector_gptq_zeros},
        {"GPTQ's v2", KILN_INT4_GPTQ_V2, vector_gptq, vector_gptq_v2_zeros, sizeof vector_gptq,
         sizeof vector_gptq_v2_zeros},
        {"AWQ's", KILN_INT4_AWQ, vector_awq, vector_awq_zeros, sizeof vector_awq,
         sizeof vector_awq_zeros},
    };
    int failed = 0;
    for (size_t n = 0; n < sizeof vectors / sizeof *vectors; n++)
        failed += check_vector(&vectors[n]);
    uint8_t large[1] = {16};
    uint32_t word[4];
    const kiln_int4_desc wrong = {.n = 1, .k = 1, .weight = large, .words = word};
    const kiln_int4_desc lonely = {
        .n = 1, .k = 1, .groups = 1, .weight = large, .words = word, .zeros = large};
    failed += kiln_pack_int4(&wrong) != KILN_E_BAD_ARGUMENT ||
              !strstr(kiln_last_error(NULL)->text, "weight [0, 0] is 16");
    failed += kiln_pack_int4(&lonely) != KILN_E_BAD_ARGUMENT || kiln_unpack_int4(NULL) == KILN_OK;
    failed += kiln_int4_words(0) != 0 || kiln_int4_words(1) != 4 || kiln_int4_words(33) != 8;
    *passed += !failed;
    return failed;
}

// --- three layers
enum { M = 3, DEPTH = 80, GROUP = 32, GROUPS = 3, MOST = 20, WORDS = 12 };
static const uint64_t outputs[3] = {20, 7, 3};

typedef struct weights {
    kiln_buffer *data, *scale, *zero, *bias, *out, *alone;
} weights;

static uint32_t next(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u;
}

static kiln_status make_weights(kiln *k, uint32_t *state, bool is_i4, weights *w)
{
    uint32_t words[MOST * DEPTH];
    float numbers[MOST * GROUPS];
    uint8_t zeros[MOST * GROUPS];
    for (uint32_t i = 0; i < MOST * DEPTH; i++)
        words[i] = next(state);
    for (uint32_t i = 0; i < MOST * GROUPS; i++) {
        numbers[i] = (float)(next(state) >> 20) * 0x1p-16f;
        zeros[i] = (uint8_t)(next(state) >> 28);
    }
    size_t count = is_i4 ? MOST * WORDS : MOST * DEPTH;
    kiln_status status = kiln_buffer_new(k, is_i4 ? KILN_U32 : KILN_I8, count, &w->data);
    if (!status)
        status = kiln_write(w->data, 0, words, count);
    if (!status)
        status = kiln_buffer_new(k, KILN_F32, MOST * GROUPS, &w->scale);
    if (!status)
        status = kiln_write(w->scale, 0, numbers, MOST * GROUPS);
    if (!status)
        status = kiln_buffer_new(k, is_i4 ? KILN_U8 : KILN_I8, MOST * GROUPS, &w->zero);
    if (!status)
        status = kiln_write(w->zero, 0, zeros, MOST * GROUPS);
    if (!status)
        status = kiln_buffer_new(k, KILN_F32, MOST, &w->bias);
    if (!status)
        status = kiln_write(w->bias, 0, numbers, MOST);
    if (!status)
        status = kiln_buffer_new(k, KILN_F32, M * MOST, &w->out);
    return status ? status : kiln_buffer_new(k, KILN_F32, M * MOST, &w->alone);
}

static kiln_linear_desc one_layer(kiln_view x, const weights *w, uint64_t n, bool is_i4)
{
    return (kiln_linear_desc){.x = x,
                              .weight = KILN_VIEW(w->data, n, is_i4 ? WORDS : DEPTH),
                              .scale = KILN_VIEW(w->scale, n, GROUPS),
                              .zero = KILN_VIEW(w->zero, n, GROUPS),
                              .bias = KILN_VIEW(w->bias, n),
                              .out = KILN_VIEW(w->alone, M, n),
                              .group = GROUP};
}

static int check_three(kiln *k, bool is_i4, int *passed)
{
    uint32_t state = 7;
    weights w[3] = {{.data = NULL}};
    kiln_buffer *x = NULL;
    float numbers[M * DEPTH], got[M * MOST], want[M * MOST];
    for (uint32_t i = 0; i < M * DEPTH; i++)
        numbers[i] = (float)(int32_t)next(&state) * 0x1p-31f;
    kiln_status status = kiln_buffer_new(k, KILN_F32, M * DEPTH, &x);
    if (!status)
        status = kiln_write(x, 0, numbers, M * DEPTH);
    for (uint32_t n = 0; n < 3 && !status; n++)
        status = make_weights(k, &state, is_i4, &w[n]);
    kiln_linear_desc one[3];
    for (uint32_t n = 0; n < 3 && !status; n++) {
        one[n] = one_layer(KILN_VIEW(x, M, DEPTH), &w[n], outputs[n], is_i4);
        status = kiln_linear(k, &one[n]);
    }
    if (!status)
        status =
            kiln_linear_qkv(k, &(kiln_linear_qkv_desc){.x = one[0].x,
                                                       .weight_q = one[0].weight,
                                                       .weight_k = one[1].weight,
                                                       .weight_v = one[2].weight,
                                                       .scale_q = one[0].scale,
                                                       .scale_k = one[1].scale,
                                                       .scale_v = one[2].scale,
                                                       .zero_q = one[0].zero,
                                                       .zero_k = one[1].zero,
                                                       .zero_v = one[2].zero,
                                                       .bias_q = one[0].bias,
                                                       .bias_k = one[1].bias,
                                                       .bias_v = one[2].bias,
                                                       .out_q = KILN_VIEW(w[0].out, M, outputs[0]),
                                                       .out_k = KILN_VIEW(w[1].out, M, outputs[1]),
                                                       .out_v = KILN_VIEW(w[2].out, M, outputs[2]),
                                                       .group = GROUP});
    int failed = status != KILN_OK;
    for (uint32_t n = 0; n < 3 && !status; n++) {
        size_t count = M * outputs[n];
        status = kiln_read(w[n].out, 0, got, count);
        if (!status)
            status = kiln_read(w[n].alone, 0, want, count);
        failed += status || memcmp(got, want, count * sizeof *got);
    }
    if (failed)
        printf("linear: three layers of %s in one launch are not three launches: %s\n",
               is_i4 ? "int4" : "int8", status ? kiln_last_error(k)->text : "other bits");
    for (uint32_t n = 0; n < 3; n++) {
        kiln_buffer *all[] = {w[n].data, w[n].scale, w[n].zero, w[n].bias, w[n].out, w[n].alone};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            kiln_buffer_free(all[i]);
    }
    kiln_buffer_free(x);
    *passed += !failed;
    return failed;
}

// --- x of i8
// The product of integers with scales has the bits of the kernel for every device, and no
// workspace.
static int check_bytes(kiln *k, int *passed)
{
    enum { ROWS = 5, COLUMNS = 9, LENGTH = 70 };
    uint32_t state = 3;
    int8_t x[ROWS * LENGTH], weight[COLUMNS * LENGTH];
    float scale[COLUMNS], tokens[ROWS], bias[COLUMNS], got[ROWS * COLUMNS], want[ROWS * COLUMNS];
    for (uint32_t i = 0; i < ROWS * LENGTH; i++)
        x[i] = (int8_t)(next(&state) >> 24);
    for (uint32_t i = 0; i < COLUMNS * LENGTH; i++)
        weight[i] = (int8_t)(next(&state) >> 24);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        scale[i] = (float)(next(&state) >> 8) * 0x1p-30f;
        bias[i] = (float)(int32_t)next(&state) * 0x1p-31f;
    }
    for (uint32_t i = 0; i < ROWS; i++)
        tokens[i] = (float)(next(&state) >> 8) * 0x1p-30f;
    kiln_buffer *b[6] = {NULL};
    const struct {
        kiln_type type;
        size_t count;
        const void *data;
    } of[6] = {{KILN_I8, ROWS * LENGTH, x}, {KILN_I8, COLUMNS * LENGTH, weight},
               {KILN_F32, COLUMNS, scale},  {KILN_F32, ROWS, tokens},
               {KILN_F32, COLUMNS, bias},   {KILN_F32, ROWS * COLUMNS, want}};
    memset(want, 0, sizeof want);
    kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < 6 && !status; i++) {
        status = kiln_buffer_new(k, of[i].type, of[i].count, &b[i]);
        if (!status)
            status = kiln_write(b[i], 0, of[i].data, of[i].count);
    }
    kiln_linear_desc d = {.x = KILN_VIEW(b[0], ROWS, LENGTH),
                          .weight = KILN_VIEW(b[1], COLUMNS, LENGTH),
                          .scale = KILN_VIEW(b[2], COLUMNS),
                          .x_scale = KILN_VIEW(b[3], ROWS),
                          .bias = KILN_VIEW(b[4], COLUMNS),
                          .out = KILN_VIEW(b[5], ROWS, COLUMNS),
                          .kernel = KILN_LINEAR_ROWS};
    uint64_t needed = 1;
    if (!status)
        status = kiln_linear(k, &d);
    if (!status)
        status = kiln_read(b[5], 0, want, ROWS * COLUMNS);
    d.kernel = KILN_LINEAR_UNPACK;
    if (!status)
        status = kiln_linear_workspace(k, &d, &needed);
    if (!status)
        status = kiln_linear(k, &d);
    if (!status)
        status = kiln_read(b[5], 0, got, ROWS * COLUMNS);
    bool is_right = !status && !needed && !memcmp(got, want, sizeof want);
    if (!is_right)
        printf("linear: x of i8: %s\n", status   ? kiln_last_error(k)->text
                                        : needed ? "a workspace is asked for"
                                                 : "the kernels have different bits");
    for (uint32_t i = 0; i < 6; i++)
        kiln_buffer_free(b[i]);
    *passed += is_right;
    return !is_right;
}

// --- rounding
// Numbers at and beside the middle between two integers become what a division says.
static int check_rounding(kiln *k, int *passed)
{
    enum { COUNT_OF = 1512 };
    static float x[COUNT_OF];
    static int8_t got[COUNT_OF];
    kiln_buffer *numbers = NULL, *bytes = NULL, *scales = NULL;
    kiln_status status = kiln_buffer_new(k, KILN_F32, COUNT_OF, &numbers);
    if (!status)
        status = kiln_buffer_new(k, KILN_I8, COUNT_OF, &bytes);
    if (!status)
        status = kiln_buffer_new(k, KILN_F32, 1, &scales);
    int failed = 0;
    for (uint32_t trial = 0; trial < 4 && !status && !failed; trial++) {
        const float most = trial == 0 ? 127.0f : trial == 1 ? 100.0f : trial == 2 ? 1e-5f : 1e-42f;
        const float scale = most / 127.0f;
        x[0] = most;
        for (uint32_t i = 1; i < COUNT_OF; i++) {
            float middle = ((float)((int)(i / 6) - 126) + 0.5f) * scale;
            x[i] = i % 6 < 3 ? nextafterf(middle, i % 3 == 0   ? -INFINITY
                                                  : i % 3 == 1 ? middle
                                                               : INFINITY)
                             : middle * (1.0f + (float)((int)(i % 6) - 4) * 0x1p-22f);
        }
        status = kiln_write(numbers, 0, x, COUNT_OF);
        if (!status)
            status = kiln_quantise_weights(
                k, &(kiln_quantise_weights_desc){.x = KILN_VIEW(numbers, 1, COUNT_OF),
                                                 .weight = KILN_VIEW(bytes, 1, COUNT_OF),
                                                 .scale = KILN_VIEW(scales, 1)});
        if (!status)
            status = kiln_read(bytes, 0, got, COUNT_OF);
        for (uint32_t i = 0; i < COUNT_OF && !status; i++) {
            float q = rintf(x[i] / scale);
            q = q < -127 ? -127 : q > 127 ? 127 : q;
            if (got[i] == (int8_t)q)
                continue;
            printf("linear: %a is quantised as %d, not %d\n", (double)x[i], got[i], (int)q);
            failed++;
            break;
        }
    }
    if (status)
        printf("linear: %s\n", kiln_last_error(k)->text);
    kiln_buffer_free(numbers);
    kiln_buffer_free(bytes);
    kiln_buffer_free(scales);
    *passed += !status && !failed;
    return status || failed;
}

// --- refusals
static int refused(kiln *k, const kiln_linear_desc *d, const char *wanted)
{
    bool is_right = kiln_linear(k, d) && strstr(kiln_last_error(k)->text, wanted);
    if (!is_right)
        printf("linear: '%s' was expected, not: %s\n", wanted, kiln_last_error(k)->text);
    return !is_right;
}

static int check_refusals(kiln *k, int *passed)
{
    weights w = {.data = NULL};
    uint32_t state = 1;
    kiln_buffer *x = NULL, *bytes = NULL;
    int failed = kiln_buffer_new(k, KILN_F32, 512, &x) != KILN_OK ||
                 kiln_buffer_new(k, KILN_I8, 2048, &bytes) != KILN_OK ||
                 make_weights(k, &state, true, &w) != KILN_OK;
    const kiln_view none = {0};
    const kiln_linear_desc right = one_layer(KILN_VIEW(x, M, DEPTH), &w, 7, true);
    kiln_linear_desc d = right;
    failed += kiln_linear(k, &d) != KILN_OK;
    d.group = 48;
    failed += refused(k, &d, "a group of 48 elements is not possible");
    d.group = 64;
    failed += refused(k, &d, "'scale' is [7, 3]; it is [7, 2] here");
    d = right;
    d.weight = KILN_VIEW(w.data, 7, 10);
    failed += refused(k, &d, "it has rows of 12 words (kiln_int4_words)");
    d.weight = KILN_VIEW(x, 7, 12);
    failed += refused(k, &d, "weights are i8, or int4 in words of u32");
    d.weight = kiln_view_transpose(KILN_VIEW(w.data, 12, 7));
    failed += refused(k, &d, "the rows of 'weight' are not contiguous");
    d = right;
    d.scale = none;
    failed += refused(k, &d, "'scale' is missing");
    d = right;
    d.zero = KILN_VIEW(bytes, 7, 3);
    failed += refused(k, &d, "'zero' is i8, not u8");
    d = right;
    d.bias = KILN_VIEW(w.bias, 6);
    failed += refused(k, &d, "'bias' is [6]; it is [7] here");
    d = right;
    d.out = KILN_VIEW(w.alone, 7, M);
    failed += refused(k, &d, "'out' is [7, 3]; it is [3, 7] here");
    d.out = KILN_VIEW(x, M, 7);
    failed += refused(k, &d, "'out' overlaps 'x'");
    d = right;
    d.x_scale = KILN_VIEW(w.scale, M);
    failed += refused(k, &d, "'x_scale' goes with 'x' of i8");
    d = right;
    d.x = KILN_VIEW(x, 1, M, DEPTH);
    failed += refused(k, &d, "it has two dimensions, rows and K");
    d = right;
    d.activation = (kiln_activation)9;
    failed += refused(k, &d, "there is no activation 9");
    d = right;
    uint64_t needed = 0;
    d.kernel = KILN_LINEAR_UNPACK;
    failed += kiln_linear_workspace(k, &d, &needed) != KILN_OK || needed != 7 * DEPTH * 4;
    failed += refused(k, &d, "'workspace'");
    d.workspace = KILN_VIEW(bytes, 2048);
    failed += refused(k, &d, "'workspace' is not 2240 dense bytes");
    d.workspace = KILN_VIEW(x, M, DEPTH);
    failed += refused(k, &d, "'workspace' is not 2240 dense bytes");
    d = right;
    failed += kiln_linear_workspace(k, &d, NULL) != KILN_E_BAD_ARGUMENT;
    d.kernel = (kiln_linear_kernel)9;
    failed += refused(k, &d, "there is no kernel 9");
    d.kernel = KILN_LINEAR_TENSOR;
    failed += refused(k, &d, "this kernel is impossible here: ");
    d = right;
    d.x = KILN_VIEW(bytes, M, DEPTH);
    failed += refused(k, &d, "'x' of i8 takes no groups");
    d.group = 0;
    d.scale = KILN_VIEW(w.scale, 7);
    d.zero = none;
    failed += refused(k, &d, "'x' of i8 takes 'weight' of i8");
    failed += kiln_linear(k, NULL) != KILN_E_BAD_ARGUMENT;
    kiln_quantise_weights_desc q = {.x = KILN_VIEW(x, 5, 40),
                                    .weight = KILN_VIEW(w.data, 5, 8),
                                    .scale = KILN_VIEW(w.scale, 1)};
    failed += kiln_quantise_weights(k, &q) != KILN_E_BAD_ARGUMENT; // one scale for five rows
    q.scale = KILN_VIEW(w.scale, 5);
    failed += kiln_quantise_weights(k, &q) != KILN_OK;
    kiln_buffer *all[] = {w.data, w.scale, w.zero, w.bias, w.out, w.alone, x, bytes};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kiln_buffer_free(all[i]);
    *passed += !failed;
    return failed;
}

int suite_linear_more(kiln *k, int *passed)
{
    int failed = check_layouts(passed);
    failed += check_three(k, true, passed);
    failed += check_three(k, false, passed);
    failed += check_bytes(k, passed);
    failed += check_rounding(k, passed);
    failed += suite_linear_registers(k, passed);
    return failed + check_refusals(k, passed);
}
