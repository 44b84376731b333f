// The cases of embeddings (ops/suite.h).
#include "ops/suite.h"

enum { WEIGHT, INDEX, OUT, WORK, TENSORS };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/embedding/cases.def"
};

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    out[WEIGHT] = (op_tensor){.name = "weight",
                              .type = type,
                              .rank = 2,
                              .sizes = {c->sizes[0], c->sizes[1]},
                              .low = -3,
                              .high = 3,
                              .has_gradient = true,
                              .tolerance = 24};
    out[INDEX] = (op_tensor){.name = "index",
                             .type = KILN_I32,
                             .rank = 2,
                             .sizes = {c->axis / 3, 3},
                             .high = (double)c->sizes[0],
                             .is_integer = true};
    out[OUT] = (op_tensor){.name = "out",
                           .role = ROLE_OUTPUT,
                           .type = type,
                           .rank = 3,
                           .sizes = {c->axis / 3, 3, c->sizes[1]},
                           .tolerance = 1};
    uint64_t count = c->axis / 3 * 3;
    out[WORK] = (op_tensor){.name = "workspace",
                            .role = ROLE_SCRATCH,
                            .type = KILN_U32,
                            .rank = 1,
                            .sizes = {8 * count + 2 * c->sizes[0] + 1024}};
    return TENSORS;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    (void)c;
    if (pass == PASS_FORWARD)
        return kiln_embedding_forward(k, &(kiln_embedding_desc){.weight = views[WEIGHT],
                                                                .index = views[INDEX],
                                                                .out = views[OUT]});
    return kiln_embedding_backward(
        k, &(kiln_embedding_backward_desc){.index = views[INDEX],
                                           .dout = views[TENSORS + OUT],
                                           .dweight = views[TENSORS + WEIGHT],
                                           .workspace = views[WORK]});
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    (void)t;
    for (size_t i = 0; i < c->axis / 3 * 3; i++)
        for (size_t n = 0; n < c->sizes[1]; n++)
            values[OUT][i * c->sizes[1] + n] =
                values[WEIGHT][(size_t)values[INDEX][i] * c->sizes[1] + n];
}

static void describe(const op_case *c, char *out, size_t size)
{
    snprintf(out, size, "%u indices", c->axis / 3 * 3);
}

// The row of the padding index has no gradient; a gradient that is added keeps what was there.
static int more(kiln *k, int *passed)
{
    static const int32_t index[4] = {1, 2, 1, 2};
    static const float dout[4] = {1, 2, 4, 8}, before[3] = {10, 20, 30}, want[3] = {10, 25, 30};
    float got[3] = {0};
    kiln_i32s i = {NULL};
    kiln_f32s g = {NULL}, w = {NULL};
    kiln_u32s work = {NULL};
    kiln_status status = kiln_i32s_new(k, 4, &i);
    if (!status && !(status = kiln_f32s_new(k, 4, &g)) && !(status = kiln_f32s_new(k, 3, &w)) &&
        !(status = kiln_u32s_new(k, 300, &work)) && !(status = kiln_i32s_write(i, 0, index, 4)) &&
        !(status = kiln_f32s_write(g, 0, dout, 4)) && !(status = kiln_f32s_write(w, 0, before, 3)))
        status = kiln_embedding_backward(
            k, &(kiln_embedding_backward_desc){.index = KILN_VIEW(i.buffer, 4),
                                               .dout = KILN_VIEW(g.buffer, 4, 1),
                                               .dweight = KILN_VIEW(w.buffer, 3, 1),
                                               .workspace = KILN_VIEW(work.buffer, 300),
                                               .has_padding = true,
                                               .padding = 2,
                                               .is_added = true});
    if (!status)
        status = kiln_f32s_read(w, 0, got, 3);
    bool is_right = !status && got[0] == want[0] && got[1] == want[1] && got[2] == want[2];
    if (!is_right)
        printf("embedding with padding: %g %g %g\n", (double)got[0], (double)got[1],
               (double)got[2]);
    kiln_buffer_free(i.buffer);
    kiln_buffer_free(g.buffer);
    kiln_buffer_free(w.buffer);
    kiln_buffer_free(work.buffer);
    *passed += is_right;
    return !is_right;
}

// An index is a row of the table.
static bool is_possible(const op_case *c)
{
    return c->sizes[0] > 0;
}

const op_suite op_suite_embedding = {.name = "embedding",
                                     .cases = cases,
                                     .case_count = sizeof cases / sizeof *cases,
                                     .has_backward = true,
                                     .tensors = tensors,
                                     .call = call,
                                     .reference = reference,
                                     .is_possible = is_possible,
                                     .describe = describe,
                                     .more = more};
