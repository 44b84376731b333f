// The conditions of #if and #elif: 64-bit integers with C's promotions between signed and unsigned.
// Precedence climbing over a list of tokens that is expanded already. A part that does not count
// (`0 && 1 / 0`) is parsed but not judged. Start reading at pp_condition.
#include "front/pp.h"

typedef struct number {
    uint64_t bits;
    bool is_unsigned;
} number;

typedef struct reader {
    pp *p;
    const token *at, *end;
    span whole; // where to point at the end of the line
    uint32_t depth;
    uint32_t unjudged; // > 0: in a part that does not count
    bool failed;
} reader;

static span place_of(const reader *r)
{
    return r->at < r->end ? r->at->at : r->whole;
}

static number fail(reader *r, const char *message, const char *label)
{
    if (!r->failed) {
        diag *d = diag_raise(r->p->f->diags, K0042, place_of(r), "%s", message);
        diag_label(d, place_of(r), "%s", label);
    }
    r->failed = true;
    return (number){0, false};
}

static bool accept(reader *r, token_kind kind)
{
    if (r->at < r->end && r->at->kind == kind) {
        r->at++;
        return true;
    }
    return false;
}

static number read_conditional(reader *r);

static number read_name(reader *r)
{
    const token *name = r->at++;
    if (r->at < r->end && r->at->kind == TOK_LPAREN && !r->failed) {
        diag *d = diag_raise(r->p->f->diags, K0044, name->at, "the preprocessor cannot call '%s'",
                             name->name);
        diag_label(d, name->at, "not a macro");
        if (!strncmp(name->name, "target_", 7)) {
            diag_note(d,
                      "target conditions are ordinary expressions: write if (%s() …) in the kernel",
                      name->name);
            diag_note(d, "or test __KILN_TARGET_SM__, __KILN_TARGET_CUDA__ … here");
        }
        r->failed = true;
    }
    if (!r->failed)
        vec_push(r->p->f->in, &r->p->f->taken_for_0, *name);
    return (number){0, false};
}

static number read_primary(reader *r)
{
    if (r->failed)
        return (number){0, false};
    if (r->at == r->end)
        return fail(r, "this #if condition is incomplete", "a value is missing at its end");
    if (accept(r, TOK_LPAREN)) {
        const token *open = r->at - 1;
        number value = read_conditional(r);
        if (!accept(r, TOK_RPAREN) && !r->failed) {
            diag *d = diag_raise(r->p->f->diags, K0042, open->at,
                                 "this '(' is not closed in the #if condition");
            diag_label(d, open->at, "opened here");
            r->failed = true;
        }
        return value;
    }
    token t = *r->at;
    if (t.kind == TOK_IDENT)
        return read_name(r);
    if (t.kind == TOK_CHAR) {
        lex_settle_char(r->p->f, &t);
        r->at++;
        return (number){t.integer, false};
    }
    if (t.kind == TOK_INT) {
        lex_settle_number(r->p->f, &t);
        if (t.kind == TOK_FLOAT)
            return fail(r, "#if works on integers only", "a floating number");
        r->at++;
        return (number){t.integer, t.flags & TF_UNSIGNED || t.integer > INT64_MAX};
    }
    return fail(r, "this does not belong in an #if condition", "a value is expected here");
}

static number read_unary(reader *r)
{
    if (r->at == r->end || r->failed)
        return read_primary(r);
    token_kind kind = (token_kind)r->at->kind;
    bool is_operator =
        kind == TOK_NOT || kind == TOK_TILDE || kind == TOK_MINUS || kind == TOK_PLUS;
    if (!is_operator && kind != TOK_LPAREN)
        return read_primary(r);
    if (r->depth >= PP_PARENS)
        return fail(r, "this #if condition is nested too deep", "one too many");
    r->depth++;
    number a;
    if (is_operator) {
        r->at++;
        a = read_unary(r);
        if (kind == TOK_NOT)
            a = (number){!a.bits, false};
        else if (kind == TOK_TILDE)
            a.bits = ~a.bits;
        else if (kind == TOK_MINUS)
            a.bits = 0 - a.bits;
    } else {
        a = read_primary(r);
    }
    r->depth--;
    return a;
}

static int precedence(const reader *r)
{
    if (r->at == r->end)
        return 0;
    switch (r->at->kind) {
    case TOK_STAR:
    case TOK_SLASH:
    case TOK_PERCENT: return 10;
    case TOK_PLUS:
    case TOK_MINUS: return 9;
    case TOK_SHL:
    case TOK_SHR: return 8;
    case TOK_LT:
    case TOK_GT:
    case TOK_LE:
    case TOK_GE: return 7;
    case TOK_EQ:
    case TOK_NE: return 6;
    case TOK_AMP: return 5;
    case TOK_CARET: return 4;
    case TOK_PIPE: return 3;
    case TOK_ANDAND: return 2;
    case TOK_OROR: return 1;
    default: return 0;
    }
}

static number divide(reader *r, const token *op, number a, number b)
{
    if (!b.bits) {
        if (!r->unjudged && !r->failed) {
            diag *d =
                diag_raise(r->p->f->diags, K0043, op->at, "division by zero in an #if condition");
            diag_label(d, op->at, "the right side is 0");
            r->failed = true;
        }
        return (number){0, a.is_unsigned};
    }
    bool is_rest = op->kind == TOK_PERCENT;
    if (a.is_unsigned)
        return (number){is_rest ? a.bits % b.bits : a.bits / b.bits, true};
    int64_t x = (int64_t)a.bits, y = (int64_t)b.bits;
    if (y == -1)
        return (number){is_rest ? 0 : 0 - a.bits, false};
    return (number){(uint64_t)(is_rest ? x % y : x / y), false};
}

static number shift(number a, number b, bool is_left)
{
    int64_t count = (int64_t)b.bits;
    if (!b.is_unsigned && count < 0) {
        is_left = !is_left;
        b.bits = 0 - b.bits;
    }
    bool is_negative = !a.is_unsigned && (int64_t)a.bits < 0;
    if (b.bits > 63)
        return (number){!is_left && is_negative ? UINT64_MAX : 0, a.is_unsigned};
    if (is_left)
        return (number){a.bits << b.bits, a.is_unsigned};
    uint64_t moved = a.bits >> b.bits;
    if (is_negative && b.bits)
        moved |= UINT64_MAX << (64 - b.bits);
    return (number){moved, a.is_unsigned};
}

static number apply(reader *r, const token *op, number a, number b)
{
    token_kind kind = (token_kind)op->kind;
    if (kind == TOK_SHL || kind == TOK_SHR)
        return shift(a, b, kind == TOK_SHL);
    bool is_unsigned = a.is_unsigned || b.is_unsigned;
    int64_t x = (int64_t)a.bits, y = (int64_t)b.bits;
    bool is_less = is_unsigned ? a.bits < b.bits : x < y;
    bool is_more = is_unsigned ? a.bits > b.bits : x > y;
    a.is_unsigned = is_unsigned;
    switch (op->kind) {
    case TOK_STAR: return (number){a.bits * b.bits, is_unsigned};
    case TOK_SLASH:
    case TOK_PERCENT: return divide(r, op, a, b);
    case TOK_PLUS: return (number){a.bits + b.bits, is_unsigned};
    case TOK_MINUS: return (number){a.bits - b.bits, is_unsigned};
    case TOK_LT: return (number){is_less, false};
    case TOK_GT: return (number){is_more, false};
    case TOK_LE: return (number){!is_more, false};
    case TOK_GE: return (number){!is_less, false};
    case TOK_EQ: return (number){a.bits == b.bits, false};
    case TOK_NE: return (number){a.bits != b.bits, false};
    case TOK_AMP: return (number){a.bits & b.bits, is_unsigned};
    case TOK_CARET: return (number){a.bits ^ b.bits, is_unsigned};
    case TOK_PIPE: return (number){a.bits | b.bits, is_unsigned};
    case TOK_ANDAND: return (number){a.bits && b.bits, false};
    default: return (number){a.bits || b.bits, false};
    }
}

static number read_binary(reader *r, int least)
{
    number a = read_unary(r);
    int here;
    while (!r->failed && (here = precedence(r)) >= least && here) {
        const token *op = r->at++;
        bool is_decided = (op->kind == TOK_ANDAND && !a.bits) || (op->kind == TOK_OROR && a.bits);
        r->unjudged += is_decided;
        number b = read_binary(r, here + 1);
        r->unjudged -= is_decided;
        a = apply(r, op, a, b);
    }
    return a;
}

static number read_conditional(reader *r)
{
    number test = read_binary(r, 1);
    if (!accept(r, TOK_QUESTION))
        return test;
    if (++r->depth > PP_PARENS)
        return fail(r, "this #if condition is nested too deep", "one too many");
    r->unjudged += !test.bits;
    number yes = read_conditional(r);
    r->unjudged -= !test.bits;
    if (!accept(r, TOK_COLON))
        return fail(r, "'?' in an #if condition needs a ':'", "expected ':' here");
    r->unjudged += test.bits != 0;
    number no = read_conditional(r);
    r->unjudged -= test.bits != 0;
    r->depth--;
    number chosen = test.bits ? yes : no;
    chosen.is_unsigned = yes.is_unsigned || no.is_unsigned;
    return chosen;
}

bool pp_evaluate(pp *p, const token *tokens, uint32_t len, span at, int64_t *value)
{
    reader r = {.p = p, .at = tokens, .end = tokens + len, .whole = at};
    number result = read_conditional(&r);
    if (!r.failed && r.at != r.end)
        fail(&r, "something follows this #if condition", "an operator is missing before this");
    *value = (int64_t)result.bits;
    return !r.failed;
}

bool pp_condition(pp *p, lexer *l, span directive)
{
    token_list line = pp_list_get(p, 16);
    token t;
    while (lex_next_in_line(l, &t)) {
        t.flags &= (uint8_t)~TF_LINE_START;
        vec_push(p->f->in, &line, t);
    }
    if (!line.len) {
        diag *d = diag_raise(p->f->diags, K0042, directive, "this #if has no condition");
        diag_label(d, directive, "an integer expression is expected after it");
        return false;
    }
    p->in_if = true;
    token_list list = pp_expand_list(p, line.at, line.len);
    p->in_if = false;
    int64_t value = 0;
    span whole = span_join(line.at[0].at, vec_last(&line).at);
    bool holds = !p->is_stopped && pp_evaluate(p, list.at, list.len, whole, &value) && value;
    pp_list_give(p, line);
    pp_list_give(p, list);
    return holds;
}
