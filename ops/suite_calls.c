// Tensors of a case on a device, and calls of the op with them: for benchmarks, and for tests that
// only want to see the kernels that are asked for.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/suite_tensors.h"

void suite_release(suite_run *r)
{
    for (uint32_t n = 0; n < 2 * SUITE_TENSORS; n++)
        kiln_buffer_free(r->buffers[n]);
}

kiln_status suite_call(const suite_run *r, op_pass pass)
{
    return r->suite->call(r->k, r->c, pass, r->views);
}

double suite_bytes(const op_suite *s, const op_case *c, kiln_type type)
{
    op_tensor tensors[SUITE_TENSORS];
    uint32_t count = s->tensors(c, type, tensors);
    double bytes = 0;
    for (uint32_t n = 0; n < count; n++)
        if (tensors[n].role != ROLE_SCRATCH)
            bytes += (double)suite_count(&tensors[n]) * (double)kiln_type_size(tensors[n].type);
    return bytes;
}

// Halves the first size that can be halved; false: there is none. The last ones often have a
// meaning that goes with an option.
static bool halve(const op_suite *s, op_case *c)
{
    for (uint32_t n = 0; n < c->rank; n++) {
        op_case smaller = *c;
        smaller.sizes[n] /= 2;
        if (smaller.sizes[n] && (!s->is_possible || s->is_possible(&smaller))) {
            *c = smaller;
            return true;
        }
    }
    return false;
}

op_case suite_fitted(const op_suite *s, op_case c, kiln_type type, double most_bytes)
{
    while (most_bytes > 0 && suite_bytes(s, &c, type) > most_bytes && halve(s, &c))
        continue;
    return c;
}

bool suite_has_backward(const op_suite *s, const op_case *c)
{
    op_tensor tensors[SUITE_TENSORS];
    uint32_t count = s->tensors(c, c->types & SUITE_F32 ? KILN_F32 : KILN_BF16, tensors);
    bool is_any = false;
    for (uint32_t n = 0; n < count; n++)
        is_any |= tensors[n].role == ROLE_INPUT && tensors[n].has_gradient;
    return s->has_backward && is_any && !(c->tags & SUITE_BROADCAST);
}

// Inputs by repeating a few thousand random values: quick for large tensors, and nothing is
// compared.
static kiln_status fill_random(kiln *k, const op_tensor *t, kiln_buffer *b)
{
    enum { SOME = 4093 };
    size_t count = kiln_buffer_count(b), size = kiln_type_size(t->type), some = SOME * size;
    uint8_t *bytes = malloc(count * size + 1);
    uint64_t state = 1;
    (void)k;
    if (!bytes)
        return KILN_E_NO_MEMORY;
    for (size_t i = 0; i < count && i < SOME; i++) {
        double v = suite_random(&state, t->low, t->high);
        suite_put(t->type, bytes, i, t->is_integer ? floor(v) : v);
    }
    for (size_t at = some; at < count * size; at += some)
        memcpy(bytes + at, bytes, count * size - at < some ? count * size - at : some);
    kiln_status status = count ? kiln_write(b, 0, bytes, count) : KILN_OK;
    free(bytes);
    return status;
}

// is_filled: inputs have random numbers.
// like: another one of the same, whose data it gets; NULL: random data where is_filled.
static kiln_status make_run(kiln *k, const op_suite *s, const op_case *c, kiln_type type,
                            uint32_t layout, op_pass pass, bool is_filled, const suite_run *like,
                            suite_run *out)
{
    op_tensor tensors[SUITE_TENSORS];
    uint32_t count = s->tensors(c, type, tensors);
    kiln_status status = KILN_OK;
    *out = (suite_run){.suite = s, .c = c, .k = k};
    for (uint32_t n = 0; n < count * (pass == PASS_BACKWARD ? 2 : 1) && !status; n++) {
        op_tensor x = tensors[n % count];
        bool is_gradient = n >= count;
        if (is_gradient &&
            (x.role == ROLE_SCRATCH || x.is_constant || (x.role == ROLE_INPUT && !x.has_gradient)))
            continue;
        if (layout == SUITE_IN_PLACE && n && x.role == ROLE_OUTPUT && !is_gradient &&
            tensors[n - 1].role == ROLE_INPUT) {
            out->views[n] = out->views[0];
            continue;
        }
        if (x.role != ROLE_INPUT) {
            x.low = -1;
            x.high = 1;
        }
        bool is_dense = x.role == ROLE_SCRATCH || layout == SUITE_IN_PLACE;
        status =
            suite_view(k, &x, is_dense ? SUITE_DENSE : layout, &out->buffers[n], &out->views[n]);
        if (!status && like)
            status = kiln_copy(&(kiln_copy_desc){.to = out->buffers[n],
                                                 .from = like->buffers[n],
                                                 .count = kiln_buffer_count(out->buffers[n])});
        else if (!status && is_filled && (x.role == ROLE_INPUT) != is_gradient)
            status = fill_random(k, &x, out->buffers[n]);
    }
    if (!status && pass == PASS_BACKWARD && !like)
        status = suite_call(out, PASS_FORWARD);
    if (status)
        suite_release(out);
    return status;
}

kiln_status suite_prepare(kiln *k, const op_suite *s, const op_case *c, kiln_type type,
                          op_pass pass, const suite_run *like, suite_run *out)
{
    return make_run(k, s, c, type, SUITE_DENSE, pass, true, like, out);
}

static void emit_one(kiln *k, const op_suite *s, const op_case *c, kiln_type type, uint32_t layout,
                     suite_counts *counts)
{
    bool has_backward = suite_has_backward(s, c) && layout != SUITE_IN_PLACE &&
                        (SUITE_FLOATS | SUITE_F64) >> type & 1 &&
                        c->tags & (SUITE_GRADIENT | SUITE_BENCH);
    op_pass pass = has_backward ? PASS_BACKWARD : PASS_FORWARD;
    suite_run r;
    kiln_status status = make_run(k, s, c, type, layout, pass, false, NULL, &r);
    if (!status) {
        status = suite_call(&r, pass);
        suite_release(&r);
    }
    bool is_too_large = status == KILN_E_NO_MEMORY; // the fake driver's memory is the host's
    counts->passed += !status;
    counts->skipped += is_too_large;
    counts->failed += status && !is_too_large;
    if (status) {
        char text[160];
        suite_describe(s, c, text, sizeof text);
        printf("%s%s %s %s: %s\n", is_too_large ? "skipped: " : "", s->name, text,
               kiln_type_name(type), kiln_last_error(k)->text);
    }
}

void suite_emit(kiln *k, const op_suite *s, suite_counts *counts)
{
    for (size_t n = 0; n < s->case_count; n++) {
        const op_case *c = &s->cases[n];
        uint32_t layouts = c->layouts ? c->layouts : SUITE_DENSE;
        for (int type = 0; type <= KILN_F64; type++)
            for (uint32_t layout = 1; layout <= SUITE_IN_PLACE; layout *= 2)
                if (c->types >> type & 1 && layouts & layout)
                    emit_one(k, s, c, (kiln_type)type, layout, counts);
    }
}
