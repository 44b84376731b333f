// The cases of scatters (ops/suite.h): a base is copied to out, then changed. The backward pass is
// a gather, whose suite is ops/gather.
#include "ops/gather/suite_index.h"

#include <math.h>

enum { BASE, INDEX, SOURCE, OUT, WORK, TENSORS };
enum { NUMBERS = SUITE_FLOATS | SUITE_F64 | 1 << KILN_I32 | 1 << KILN_I64 };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/scatter/cases.def"
};

static kiln_index_form form_of(const op_case *c)
{
    return (kiln_index_form)(c->option % 4);
}

static uint64_t count_of(const op_tensor *t)
{
    uint64_t count = 1;
    for (uint32_t d = 0; d < t->rank; d++)
        count *= t->sizes[d];
    return count;
}

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    suite_index_tensors(c, form_of(c), type, &out[BASE], &out[INDEX], &out[SOURCE]);
    out[BASE].name = "base";
    out[SOURCE].name = "source";
    out[BASE].tolerance = out[SOURCE].tolerance = 200; // products of several
    out[OUT] = out[BASE];
    out[OUT].name = "out";
    out[OUT].role = ROLE_OUTPUT;
    out[WORK] = (op_tensor){.name = "workspace",
                            .role = ROLE_SCRATCH,
                            .type = KILN_U32,
                            .rank = 1,
                            .sizes = {8 * count_of(&out[INDEX]) + 2 * count_of(&out[BASE]) + 1024}};
    return TENSORS;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    kiln_scatter_desc d = {.index = views[INDEX],
                           .source = views[SOURCE],
                           .out = views[OUT],
                           .workspace = views[WORK],
                           .form = form_of(c),
                           .axis = c->axis,
                           .op = (kiln_scatter_op)(c->option / 4)};
    uint64_t needed;
    (void)pass;
    kiln_status status =
        kiln_copy_view(k, &(kiln_copy_view_desc){.in = views[BASE], .out = views[OUT]});
    if (!status)
        status = kiln_scatter_workspace(k, &d, &needed);
    return status ? status : kiln_scatter(k, &d);
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    for (size_t i = 0; i < count_of(&t[OUT]); i++)
        values[OUT][i] = values[BASE][i];
    for (size_t i = 0; i < count_of(&t[SOURCE]); i++) {
        int64_t at = suite_index_place(form_of(c), c->axis, &t[OUT], &t[INDEX], &t[SOURCE],
                                       values[INDEX], i);
        if (at < 0)
            continue;
        double x = values[SOURCE][i], *to = &values[OUT][at];
        switch (c->option / 4) {
        case KILN_SCATTER_SET: *to = x; break;
        case KILN_SCATTER_ADD: *to += x; break;
        case KILN_SCATTER_MUL: *to *= x; break;
        case KILN_SCATTER_MIN: *to = fmin(*to, x); break;
        default: *to = fmax(*to, x); break;
        }
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    static const char *const forms[] = {"elements of axis", "take of axis", "nd"}, *const ops[] = {
                                                                                       "set", "add",
                                                                                       "mul", "min",
                                                                                       "max"};
    snprintf(out, size, "%s %s %u%s", ops[c->option / 4], forms[c->option % 4], c->axis,
             c->beta != 0 ? " i64" : "");
}

// Inside a captured graph: nothing happens until it is launched, and every launch adds again.
static int more(kiln *k, int *passed)
{
    static const int32_t index[4] = {0, 2, 0, 9};
    static const float source[4] = {1, 2, 3, 4}, base[3] = {10, 20, 30}, want[3] = {18, 20, 34};
    float before[3] = {0}, after[3] = {0};
    kiln_i32s i = {NULL};
    kiln_f32s s = {NULL}, o = {NULL};
    kiln_u32s work = {NULL};
    kiln_stream *stream = NULL;
    kiln_graph *graph = NULL;
    bool is_made = !kiln_i32s_new(k, 4, &i) && !kiln_f32s_new(k, 4, &s) &&
                   !kiln_f32s_new(k, 3, &o) && !kiln_u32s_new(k, 300, &work) &&
                   !kiln_i32s_write(i, 0, index, 4) && !kiln_f32s_write(s, 0, source, 4) &&
                   !kiln_f32s_write(o, 0, base, 3) && !kiln_stream_new(k, 0, &stream);
    kiln_scatter_desc d = {.index = KILN_VIEW(i.buffer, 4),
                           .source = KILN_VIEW(s.buffer, 4),
                           .out = KILN_VIEW(o.buffer, 3),
                           .workspace = KILN_VIEW(work.buffer, 300),
                           .op = KILN_SCATTER_ADD,
                           .stream = stream};
    bool is_right = is_made && !kiln_capture_begin(stream) && !kiln_scatter(k, &d) &&
                    !kiln_capture_end(stream, &graph) && !kiln_f32s_read(o, 0, before, 3) &&
                    !kiln_graph_launch(graph, NULL) && !kiln_graph_launch(graph, NULL) &&
                    !kiln_f32s_read(o, 0, after, 3);
    for (int n = 0; n < 3; n++)
        is_right = is_right && before[n] == base[n] && after[n] == want[n];
    if (!is_right)
        printf("scatter in a graph: %g %g %g; %s\n", (double)after[0], (double)after[1],
               (double)after[2], kiln_last_error(k)->text);
    kiln_graph_free(graph);
    kiln_stream_free(stream);
    kiln_buffer_free(i.buffer);
    kiln_buffer_free(s.buffer);
    kiln_buffer_free(o.buffer);
    kiln_buffer_free(work.buffer);
    *passed += is_right;
    return !is_right;
}

const op_suite op_suite_scatter = {.name = "scatter",
                                   .cases = cases,
                                   .case_count = sizeof cases / sizeof *cases,
                                   .tensors = tensors,
                                   .call = call,
                                   .reference = reference,
                                   .describe = describe,
                                   .more = more};
