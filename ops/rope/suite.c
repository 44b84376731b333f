// The cases of rotary embeddings (ops/suite.h). The tables are made on the device first.
#include "ops/suite.h"

#include <math.h>

enum { INTERLEAVED = 1, LENGTH_FIRST = 2, POSITIONS = 4, FLOATS = SUITE_FLOATS | SUITE_F64 };
enum { X, POSITION, OUT, COS, SIN, TENSORS };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/rope/cases.def"
};

static uint64_t length_of(const op_case *c)
{
    return c->sizes[c->option & LENGTH_FIRST ? 1 : 2];
}

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    out[X] = (op_tensor){.name = "x",
                         .type = type,
                         .rank = 4,
                         .low = -3,
                         .high = 3,
                         .has_gradient = true,
                         .tolerance = 32};
    for (uint32_t d = 0; d < 4; d++)
        out[X].sizes[d] = c->sizes[d];
    out[POSITION] = (op_tensor){.name = "positions",
                                .type = type == KILN_F32 ? KILN_I64 : KILN_I32,
                                .rank = 2,
                                .sizes = {c->sizes[0], length_of(c)},
                                .high = 50,
                                .is_integer = true};
    out[OUT] = out[X];
    out[OUT].name = "out";
    out[OUT].role = ROLE_OUTPUT;
    out[OUT].has_gradient = false;
    out[COS] = (op_tensor){.name = "cos",
                           .role = ROLE_OUTPUT,
                           .type = type == KILN_F64 ? KILN_F64 : KILN_F32,
                           .rank = c->option & POSITIONS ? 3 : 2,
                           .sizes = {length_of(c), c->axis / 2},
                           .is_constant = true,
                           .tolerance = 8};
    if (c->option & POSITIONS) {
        out[COS].sizes[0] = c->sizes[0];
        out[COS].sizes[1] = length_of(c);
        out[COS].sizes[2] = c->axis / 2;
    }
    out[SIN] = out[COS];
    out[SIN].name = "sin";
    return TENSORS;
}

// A table with a dimension of one where x has its heads.
static kiln_view with_heads(const op_case *c, kiln_view table)
{
    uint32_t heads = table.rank - (c->option & LENGTH_FIRST ? 1 : 2);
    return kiln_view_unsqueeze(table, heads);
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    kiln_rope_tables_desc tables = {
        .cos = views[COS], .sin = views[SIN], .offset = (int64_t)c->beta, .base = c->alpha};
    if (c->option & POSITIONS)
        tables.positions = views[POSITION];
    kiln_rope_desc d = {.x = views[pass == PASS_FORWARD ? X : TENSORS + OUT],
                        .out = views[pass == PASS_FORWARD ? OUT : TENSORS + X],
                        .cos = with_heads(c, views[COS]),
                        .sin = with_heads(c, views[SIN]),
                        .is_interleaved = c->option & INTERLEAVED};
    kiln_status status = kiln_rope_tables(k, &tables);
    if (status)
        return status;
    return pass == PASS_FORWARD ? kiln_rope_forward(k, &d) : kiln_rope_backward(k, &d);
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    size_t dim = (size_t)c->sizes[3], pairs = c->axis / 2, length = (size_t)length_of(c);
    size_t inner = (size_t)c->sizes[2], outer = (size_t)c->sizes[1];
    for (size_t i = 0; i < t[COS].sizes[0] * t[COS].sizes[1] * (t[COS].rank == 3 ? pairs : 1);
         i++) {
        size_t place = i / pairs;
        double at = c->option & POSITIONS ? values[POSITION][place] : (double)place;
        double angle =
            (at + c->beta) * pow(c->alpha, -2.0 * (double)(i % pairs) / (double)(2 * pairs));
        values[COS][i] = cos(angle);
        values[SIN][i] = sin(angle);
    }
    for (size_t row = 0; row < (size_t)c->sizes[0] * outer * inner; row++) {
        size_t batch = row / (outer * inner);
        size_t place = c->option & LENGTH_FIRST ? row / inner % outer : row % inner;
        size_t table = ((c->option & POSITIONS ? batch * length : 0) + place) * pairs;
        const double *x = values[X] + row * dim;
        double *out = values[OUT] + row * dim;
        for (size_t n = 2 * pairs; n < dim; n++)
            out[n] = x[n];
        for (size_t n = 0; n < pairs; n++) {
            size_t a = c->option & INTERLEAVED ? 2 * n : n;
            size_t b = c->option & INTERLEAVED ? 2 * n + 1 : n + pairs;
            out[a] = x[a] * values[COS][table + n] - x[b] * values[SIN][table + n];
            out[b] = x[a] * values[SIN][table + n] + x[b] * values[COS][table + n];
        }
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    snprintf(out, size, "%u of %s%s%s", c->axis, c->option & INTERLEAVED ? "interleaved" : "halves",
             c->option & LENGTH_FIRST ? ", length before heads" : "",
             c->option & POSITIONS ? ", positions" : "");
}

const op_suite op_suite_rope = {.name = "rope",
                                .cases = cases,
                                .case_count = sizeof cases / sizeof *cases,
                                .has_backward = true,
                                .tensors = tensors,
                                .call = call,
                                .reference = reference,
                                .describe = describe};
