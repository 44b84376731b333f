// Warnings about operators whose operands say that something is odd: shift counts beyond the width,
// division by zero, comparisons that are decided or mix signs. Nothing is changed.
#include "front/check.h"

const char *check_op_text(const ast_expr *e)
{
    return token_kind_spelling((token_kind)e->op); // with its quotes
}

span check_op_place(const ast_expr *e)
{
    return e->op_at.lo ? e->op_at : e->at;
}

void check_warn_shift(front *f, const ast_expr *e, const ast_expr *count)
{
    const_value v;
    if (f->unevaluated || f->shifts == SHIFT_WRAP || !count->is_const || !const_eval(f, count, &v))
        return;
    unsigned bits = check_bits(e->type);
    if (v.integer < bits)
        return;
    diag *d = diag_raise(f->diags, K2201, count->at, "a shift by %lld of a %u-bit value",
                         (long long)v.integer, bits);
    if (f->shifts == SHIFT_CLAMP)
        diag_label(d, count->at, "everything is shifted out");
    else
        diag_label(d, count->at, "counts are taken modulo %u: this shifts by %u", bits,
                   (unsigned)(v.integer & (bits - 1)));
}

void check_warn_zero(front *f, const ast_expr *e, const ast_expr *divisor)
{
    const_value v;
    if (f->unevaluated || !type_is_integer(divisor->type) || !divisor->is_const ||
        !const_eval(f, divisor, &v) || v.integer)
        return;
    bool is_remainder = e->op == TOK_PERCENT || e->op == TOK_PERCENT_EQ;
    diag *d = diag_raise(f->diags, K2203, e->at, "division by zero");
    diag_label(d, divisor->at, is_remainder ? "x %% 0 is x" : "x / 0 is 0");
}

__extension__ typedef __int128 wide; // holds every i64 and u64

typedef struct range {
    wide low, high;
} range;

static range range_of(const type *t)
{
    range r = {0, 1};
    unsigned bits = check_bits(t);
    if (bits == 1)
        return r;
    if (type_is_signed(t)) {
        r.high = ((wide)1 << (bits - 1)) - 1;
        r.low = -r.high - 1;
    } else {
        r.high = ((wide)1 << bits) - 1;
    }
    return r;
}

// Unsigned numbers wrap on purpose: hashes, masks.
void check_warn_overflow(front *f, const ast_expr *e)
{
    const_value a, b;
    if (f->unevaluated || !e->is_const || !type_is_integer(e->type) || !type_is_signed(e->type) ||
        !const_eval(f, e->a, &a) || !const_eval(f, e->b, &b))
        return;
    wide x = (int64_t)a.integer, y = (int64_t)b.integer;
    wide exact = e->op == TOK_STAR ? x * y : e->op == TOK_PLUS ? x + y : x - y;
    range r = range_of(e->type);
    if (exact >= r.low && exact <= r.high)
        return;
    diag *d = diag_raise(f->diags, K2212, check_op_place(e), "this constant wraps to %lld",
                         (long long)(int64_t)check_wrap_int(e->type, (uint64_t)exact));
    diag_label(d, e->at, "%s", check_range_text(f, e->type));
    if (check_bits(e->type) == 32)
        check_fix_around(f, d, e->a, "compute in 64 bits", "(i64)", "");
}

static int decided(token_kind op, range x, wide c)
{
    bool below = x.high<c, above = x.low> c;
    switch (op) {
    case TOK_LT: return below ? 1 : x.low >= c ? 0 : -1;
    case TOK_LE: return x.high <= c ? 1 : above ? 0 : -1;
    case TOK_GT: return above ? 1 : x.high <= c ? 0 : -1;
    case TOK_GE: return x.low >= c ? 1 : below ? 0 : -1;
    case TOK_EQ: return below || above ? 0 : -1;
    case TOK_NE: return below || above ? 1 : -1;
    default: break;
    }
    return -1;
}

static token_kind mirrored(token_kind op)
{
    switch (op) {
    case TOK_LT: return TOK_GT;
    case TOK_LE: return TOK_GE;
    case TOK_GT: return TOK_LT;
    case TOK_GE: return TOK_LE;
    default: break;
    }
    return op;
}

void check_warn_comparison(front *f, const ast_expr *e)
{
    const ast_expr *x = e->a, *c = e->b;
    token_kind op = (token_kind)e->op;
    const_value v;
    if (f->unevaluated || !type_is_integer(x->type) || x->is_const == c->is_const)
        return;
    if (x->is_const) {
        x = e->b;
        c = e->a;
        op = mirrored(op);
    }
    if (!const_eval(f, c, &v))
        return;
    wide value = type_is_signed(c->type) ? (wide)(int64_t)v.integer : v.integer;
    // A widening that keeps values does not hide the variable's own range.
    while (x->kind == E_CONVERT && x->convert == CONVERT_INT && !x->cast_type &&
           (check_bits(x->a->type) < check_bits(x->type)) &&
           (!type_is_signed(x->a->type) || type_is_signed(x->type)))
        x = x->a;
    range r = range_of(x->type);
    if (type_is_signed(x->type) && value >= r.low && value <= r.high)
        return; // x <= INT_MAX and the like are idioms
    int result = decided(op, r, value);
    if (result < 0)
        return;
    diag *d = diag_raise(f->diags, K2202, check_op_place(e), "this comparison is always %s",
                         result ? "true" : "false");
    diag_label(d, x->at, "%s", check_range_text(f, x->type));
}

static bool may_be_negative(front *f, const ast_expr *e)
{
    const_value v;
    if (!type_is_signed(check_promoted_type(e->type)) || !type_is_signed(e->type))
        return false;
    if (e->is_const && const_eval(f, e, &v)) // what it stands for is plain to see
        return false;
    return !check_fits(f, e, type_scalar(TY_U8)) && !check_is_unsigned_bits(e);
}

// A negative number becomes a huge one when it is compared with an unsigned one.
void check_warn_signs(front *f, const ast_expr *e)
{
    const type *t = check_usual_type(e->a->type, e->b->type);
    bool is_left = may_be_negative(f, e->a);
    const ast_expr *x = is_left ? e->a : e->b, *other = is_left ? e->b : e->a;
    if (!check_is_strict(f) || type_is_signed(t) || (!is_left && !may_be_negative(f, e->b)))
        return;
    diag *d = diag_raise(f->diags, K2210, check_op_place(e), "%s compares '%s' with '%s'",
                         check_op_text(e), T_OF(f, x->type->unqualified),
                         T_OF(f, other->type->unqualified));
    diag_label(d, x->at, "a negative value counts as a huge '%s'", T_OF(f, t));
    diag_label(d, other->at, "because this is '%s'", T_OF(f, other->type->unqualified));
    check_fix_around(f, d, x, "say that it is never negative",
                     str_format(f->in, "(%s)", T_OF(f, t)), "");
}
