// Sizes from the shapes of buffers: a=64x32 and a[row * k + i] say that k is 32; row < m beside it
// says that m is 64. An offset is read as a sum of terms, each an index times parameters times a
// number; the dimension a term walks along is known from what it is multiplied with. Start at
// infer_from_shapes.
#include "cli/infer_form.h"

#include <stdio.h>

enum { MOST_TERMS = 8, MOST_FACTORS = 4 };

typedef struct term {
    ir_ref index;     // what is neither a parameter nor a number; widenings are left out
    int64_t constant; // in bytes
    uint32_t params[MOST_FACTORS], param_count;
} term;

typedef struct terms {
    term at[MOST_TERMS];
    uint32_t len;
    bool is_lost; // more than fits, or something else
} terms;

static ir_ref unwidened(const infer *x, ir_ref r)
{
    for (int fuel = FORM_FUEL; fuel && !ir_is_const(r); fuel--) {
        ir_inst_id def = ir_def_of(x->f, r);
        if (!def || (ir_at(x->f, def)->op != IR_ZEXT && ir_at(x->f, def)->op != IR_SEXT))
            break;
        r = ir_operand(x->f, ir_at(x->f, def), 0);
    }
    return r;
}

static bool is_param(const infer *x, ir_ref r)
{
    return !ir_is_const(r) && x->f->values.at[r].def == IR_DEF_PARAM;
}

static terms single(ir_ref r)
{
    return (terms){.at = {{.index = r, .constant = 1}}, .len = 1};
}

static void add_terms(terms *to, const terms *more)
{
    to->is_lost |= more->is_lost || to->len + more->len > MOST_TERMS;
    for (uint32_t k = 0; k < more->len && !to->is_lost; k++)
        to->at[to->len++] = more->at[k];
}

static bool has_params(const terms *t)
{
    for (uint32_t k = 0; k < t->len; k++)
        if (t->at[k].param_count)
            return true;
    return false;
}

static terms terms_of(infer *x, ir_ref r, int fuel);

// r * by, where `by` is a number or a parameter; an index of its own when it is neither.
static terms product_terms(infer *x, ir_ref whole, ir_ref r, ir_ref by, int fuel)
{
    uint64_t number = 0;
    by = unwidened(x, by);
    bool is_number = ir_const_bits(x->f, by, &number);
    if (!is_number && !is_param(x, by))
        return single(whole);
    terms out = terms_of(x, r, fuel - 1);
    for (uint32_t k = 0; k < out.len; k++) {
        term *t = &out.at[k];
        if (is_number)
            t->constant = form_times(t->constant, (int64_t)number);
        else if (t->param_count < MOST_FACTORS)
            t->params[t->param_count++] = by - x->f->first_param;
        else
            out.is_lost = true;
    }
    return out;
}

static terms terms_of(infer *x, ir_ref r, int fuel)
{
    r = unwidened(x, r);
    ir_inst_id def = ir_is_const(r) ? 0 : ir_def_of(x->f, r);
    uint64_t bits;
    if (ir_const_bits(x->f, r, &bits)) // moves every index alike
        return (terms){0};
    if (!fuel || !def || x->steps++ > FORM_STEPS)
        return single(r);
    const ir_inst *i = ir_at(x->f, def);
    if (i->operand_count != 2 || i->result_count != 1)
        return single(r);
    ir_ref a = ir_operand(x->f, i, 0), b = ir_operand(x->f, i, 1);
    if (i->op == IR_SHL && ir_const_bits(x->f, b, &bits) && bits < 60) {
        terms out = terms_of(x, a, fuel - 1);
        for (uint32_t k = 0; k < out.len; k++)
            out.at[k].constant = form_times(out.at[k].constant, INT64_C(1) << bits);
        return out;
    }
    if (i->op == IR_MUL)
        return is_param(x, unwidened(x, b)) || ir_is_const(b) ? product_terms(x, r, a, b, fuel)
                                                              : product_terms(x, r, b, a, fuel);
    if (i->op == IR_ADD) { // a sum without parameters is one index: block * 16 + thread
        terms out = terms_of(x, a, fuel - 1), more = terms_of(x, b, fuel - 1);
        add_terms(&out, &more);
        return out.is_lost || has_params(&out) ? out : single(r);
    }
    return single(r);
}

// The terms of an access's offset, in bytes, and the parameter behind its pointer; -1: none.
static int64_t access_terms(infer *x, ir_ref r, terms *out)
{
    *out = (terms){0};
    for (int fuel = FORM_FUEL; fuel && !ir_is_const(r); fuel--) {
        if (is_param(x, r))
            return out->is_lost || x->f->params.at[r - x->f->first_param].is_hidden
                       ? -1
                       : (int64_t)r - x->f->first_param;
        ir_inst_id def = ir_def_of(x->f, r);
        const ir_inst *i = def ? ir_at(x->f, def) : NULL;
        if (!i || (i->op != IR_PTRADD && i->op != IR_PTRCAST && i->op != IR_UNIFORM))
            return -1;
        if (i->op == IR_PTRADD) {
            terms more = terms_of(x, ir_operand(x->f, i, 1), FORM_FUEL);
            add_terms(out, &more);
        }
        r = ir_operand(x->f, i, 0);
    }
    return -1;
}

// --- what the terms say

typedef struct evidence {
    bool is_stride, is_bound; // elements from one row to the next; a limit of an index
    int64_t stride, bound;
    bool contradicts;
    char stride_of[INFER_TEXT], bound_of[INFER_TEXT];
} evidence;

static void name_dimension(const infer *x, int64_t base, int dimension, char out[INFER_TEXT])
{
    const char *name = x->f->params.at[base].name;
    if (x->args[base].rank == 2)
        snprintf(out, INFER_TEXT, "the %s of %.40s", dimension ? "columns" : "rows", name);
    else
        snprintf(out, INFER_TEXT, "size %d of %.40s", dimension + 1, name);
}

static void note_stride(const infer *x, evidence *e, int64_t base, int dimension)
{
    int64_t size = (int64_t)x->args[base].sizes[dimension];
    e->contradicts |= e->is_stride && e->stride != size;
    e->is_stride = true;
    e->stride = size;
    name_dimension(x, base, dimension, e->stride_of);
}

// Comparisons of `index` with the parameter: what is below it is a size.
static void note_bounds(infer *x, evidence *e, ir_ref index, uint32_t param, int64_t base,
                        int dimension)
{
    int64_t size = (int64_t)x->args[base].sizes[dimension];
    for (uint32_t k = 1; k < x->f->insts.len; k++) {
        const ir_inst *i = ir_at(x->f, k);
        bool is_less = i->op == IR_ULT || i->op == IR_SLT,
             is_most = i->op == IR_ULE || i->op == IR_SLE;
        if (!i->parent || (!is_less && !is_most))
            continue;
        // index < param, or the way out of it: param <= index
        ir_ref low = unwidened(x, ir_operand(x->f, i, is_most)),
               high = unwidened(x, ir_operand(x->f, i, !is_most));
        if (low != index || high != x->f->first_param + param || (e->is_bound && e->bound <= size))
            continue;
        e->is_bound = true;
        e->bound = size;
        name_dimension(x, base, dimension, e->bound_of);
    }
}

// Along which dimension does a term of an index into `base` walk? -1: not known.
static int dimension_of(const infer *x, const term *t, int64_t base)
{
    const infer_arg *a = &x->args[base];
    int64_t unit = a->element_bytes, trailing = 1;
    int skipped = 0; // dimensions whose sizes are in the number: x[(row * w + col) * 3 + channel]
    if (unit <= 0 || t->constant % unit)
        return -1;
    while (skipped < a->rank && trailing != t->constant / unit)
        trailing = form_times(trailing, (int64_t)a->sizes[a->rank - 1 - skipped++]);
    int out = a->rank - 1 - skipped - (int)t->param_count;
    return trailing == t->constant / unit ? out : -1;
}

static void read_access(infer *x, evidence *e, uint32_t param, ir_ref pointer)
{
    terms all;
    int64_t base = access_terms(x, pointer, &all);
    if (base < 0 || !x->args[base].is_known || x->args[base].rank < 2)
        return;
    if (all.len == 1 && !all.at[0].param_count) // one index walks all elements, whatever the shape
        return;
    for (uint32_t k = 0; k < all.len; k++) {
        const term *t = &all.at[k];
        int dimension = dimension_of(x, t, base);
        if (dimension < 0)
            continue;
        // What it is multiplied with are the sizes behind it; all but one must be known.
        uint32_t unknown = 0;
        bool is_among = false;
        int64_t rest = 1;
        for (uint32_t n = 0; n < t->param_count; n++)
            rest = form_times(rest, (int64_t)x->args[base].sizes[dimension + 1 + (int)n]);
        for (uint32_t n = 0; n < t->param_count; n++) {
            const infer_arg *other = &x->args[t->params[n]];
            is_among |= t->params[n] == param;
            if (t->params[n] == param || !other->is_known || other->value <= 0)
                unknown++;
            else
                rest = rest % other->value ? -1 : rest / other->value;
        }
        if (is_among && unknown == 1 && rest > 0)
            for (int d = dimension + 1; d <= dimension + (int)t->param_count; d++)
                if ((int64_t)x->args[base].sizes[d] == rest) {
                    note_stride(x, e, base, d);
                    break;
                }
        note_bounds(x, e, t->index, param, base, dimension);
    }
}

bool infer_from_shapes(const ir_func *f, arena *a, const infer_arg *args, const uint32_t block[3],
                       uint32_t param, int64_t *value, char because[INFER_TEXT])
{
    infer x = {.f = f, .a = a, .args = args, .block = block};
    evidence e = {0};
    for (uint32_t k = 1; k < f->insts.len; k++) {
        const ir_inst *i = ir_at(f, k);
        if (i->parent && form_is_access((ir_op)i->op))
            read_access(&x, &e, param, ir_operand(f, i, 0));
    }
    if (e.contradicts || (!e.is_stride && !e.is_bound) ||
        (e.is_stride && e.is_bound && e.bound < e.stride))
        return false;
    *value = e.is_stride ? e.stride : e.bound;
    snprintf(because, INFER_TEXT, "%s", e.is_stride ? e.stride_of : e.bound_of);
    return true;
}
