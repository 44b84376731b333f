// The cases of gathers (ops/suite.h), with indices that are negative and ones that are out of
// range.
#include "ops/gather/suite_index.h"

enum { X, INDEX, OUT, WORK, TENSORS, MOVED = SUITE_FLOATS | SUITE_F64 | 1 << KILN_U8 };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/gather/cases.def"
};

static uint64_t count_of(const op_tensor *t)
{
    uint64_t count = 1;
    for (uint32_t d = 0; d < t->rank; d++)
        count *= t->sizes[d];
    return count;
}

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    suite_index_tensors(c, (kiln_index_form)c->option, type, &out[X], &out[INDEX], &out[OUT]);
    out[X].name = "x";
    out[X].has_gradient = type >= KILN_F16;
    out[OUT].name = "out";
    out[OUT].role = ROLE_OUTPUT;
    out[WORK] = (op_tensor){.name = "workspace",
                            .role = ROLE_SCRATCH,
                            .type = KILN_U32,
                            .rank = 1,
                            .sizes = {8 * count_of(&out[INDEX]) + 2 * count_of(&out[X]) + 1024}};
    return TENSORS;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    kiln_index_form form = (kiln_index_form)c->option;
    if (pass == PASS_FORWARD)
        return kiln_gather_forward(k, &(kiln_gather_desc){.x = views[X],
                                                          .index = views[INDEX],
                                                          .out = views[OUT],
                                                          .form = form,
                                                          .axis = c->axis});
    kiln_gather_backward_desc d = {.index = views[INDEX],
                                   .dout = views[TENSORS + OUT],
                                   .dx = views[TENSORS + X],
                                   .workspace = views[WORK],
                                   .form = form,
                                   .axis = c->axis};
    uint64_t needed;
    if (!d.dx.buffer) // integers have no gradient
        return KILN_OK;
    kiln_status status = kiln_gather_backward_workspace(k, &d, &needed);
    return status ? status : kiln_gather_backward(k, &d);
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    for (size_t i = 0; i < count_of(&t[OUT]); i++) {
        int64_t at = suite_index_place((kiln_index_form)c->option, c->axis, &t[X], &t[INDEX],
                                       &t[OUT], values[INDEX], i);
        values[OUT][i] = at < 0 ? 0 : values[X][at];
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    static const char *const forms[] = {"elements of axis", "take of axis", "nd"};
    snprintf(out, size, "%s %u%s%s", forms[c->option], c->axis, c->alpha != 0 ? " alike" : "",
             c->beta != 0 ? " i64" : "");
}

const op_suite op_suite_gather = {.name = "gather",
                                  .cases = cases,
                                  .case_count = sizeof cases / sizeof *cases,
                                  .has_backward = true,
                                  .tensors = tensors,
                                  .call = call,
                                  .reference = reference,
                                  .describe = describe};
