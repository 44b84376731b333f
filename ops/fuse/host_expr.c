// Building expressions (kiln/ops_fuse.h): a node is checked when it is added, and found again when
// it is there already. Nodes refer to earlier ones alone, so there are no cycles.
#include "ops/fuse/host_rows.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rt/rt.h"

const fuse_row fuse_rows[KILN_ELEMENTWISE_COUNT] = {
#define ROW(name, signature, types, value, da, db, dc, ...)                                        \
    {#name, #signature, #value, {#da, #db, #dc}, FUSE_##types},
#include "ops/elementwise/elementwise.def"
};

uint32_t fuse_name(const char *expression, size_t *len)
{
    static const char letters[] = "abcpq";
    size_t n = 0;
    while (isalnum((unsigned char)expression[n]) || expression[n] == '_' ||
           (n && expression[n] == '.'))
        n++; // 0.5e is one word, too
    *len = n;
    const char *at = n == 1 ? strchr(letters, *expression) : NULL;
    return at && *at ? (uint32_t)(at - letters) : FUSE_NAMES;
}

// Does the expression use that name?
static bool uses(const char *expression, uint32_t name)
{
    for (size_t len; *expression; expression += len ? len : 1)
        if (fuse_name(expression, &len) == name)
            return true;
    return false;
}

bool fuse_is_mask(const kiln_expr_node *n, uint32_t i)
{
    uint32_t row = n->kind == FUSE_DERIVATIVE ? n->what / FUSE_OPERANDS : n->what;
    return i < FUSE_OPERANDS && fuse_rows[row].signature[i] == 'B';
}

bool fuse_is_free(const kiln_expr *e, kiln_node node)
{
    const kiln_expr_node *n = &e->nodes[node - 1];
    if (n->kind != FUSE_DERIVATIVE)
        return n->kind == FUSE_CONSTANT || n->kind == FUSE_PARAMETER;
    for (uint32_t i = 0; i < FUSE_NAMES; i++)
        if (n->of[i] && !fuse_is_mask(n, i) && !fuse_is_free(e, n->of[i]))
            return false;
    return true;
}

static kiln_node PRINTF_LIKE(2, 3) refuse(kiln_expr *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!*e->mistake)
        vsnprintf(e->mistake, sizeof e->mistake, format, args);
    va_end(args);
    return 0;
}

typedef struct fuse_node {
    fuse_kind kind;
    kiln_type type;
    uint32_t what;
    kiln_node of[FUSE_NAMES];
    double value;
} fuse_node;

static bool is_at(const kiln_expr *e, uint32_t at, const fuse_node *n)
{
    bool is_same = e->nodes[at].kind == n->kind && e->nodes[at].type == n->type &&
                   e->nodes[at].what == n->what &&
                   !memcmp(&e->nodes[at].value, &n->value, sizeof n->value); // -0 is not 0
    for (uint32_t i = 0; i < FUSE_NAMES; i++)
        is_same = is_same && e->nodes[at].of[i] == n->of[i];
    return is_same;
}

static kiln_node add(kiln_expr *e, fuse_node n)
{
    if (!e || *e->mistake)
        return 0;
    for (uint32_t at = 0; at < e->count && at < KILN_EXPR_NODES; at++)
        if (is_at(e, at, &n))
            return at + 1;
    if (e->count >= KILN_EXPR_NODES)
        return refuse(e, "the expression has more than %d nodes", KILN_EXPR_NODES);
    uint32_t at = e->count++;
    e->nodes[at].kind = (uint8_t)n.kind;
    e->nodes[at].type = (uint8_t)n.type;
    e->nodes[at].what = (uint16_t)n.what;
    e->nodes[at].value = n.value;
    for (uint32_t i = 0; i < FUSE_NAMES; i++)
        e->nodes[at].of[i] = (uint16_t)n.of[i];
    return at + 1;
}

kiln_node kiln_expr_input(kiln_expr *e, uint32_t index)
{
    if (e && index >= KILN_FUSE_INPUTS)
        return refuse(e, "input %u: there may be %d of them", index, KILN_FUSE_INPUTS);
    return add(e, (fuse_node){.kind = FUSE_INPUT, .what = index});
}

kiln_node kiln_expr_parameter(kiln_expr *e, uint32_t index)
{
    if (e && index >= KILN_FUSE_PARAMETERS)
        return refuse(e, "parameter %u: there may be %d of them", index, KILN_FUSE_PARAMETERS);
    return add(e, (fuse_node){.kind = FUSE_PARAMETER, .what = index});
}

kiln_node kiln_expr_constant(kiln_expr *e, double value)
{
    return add(e, (fuse_node){.kind = FUSE_CONSTANT, .value = value});
}

kiln_node kiln_expr_cast(kiln_expr *e, kiln_type type, kiln_node a)
{
    if (!e)
        return 0;
    if (!a || a > e->count)
        return refuse(e, "a cast to %s of node %u, which is not in the expression",
                      kiln_type_name(type), a);
    bool is_known =
        (unsigned)type <= KILN_F64 && type != KILN_VOID && type != KILN_F8E4 && type != KILN_F8E5;
    if (!is_known)
        return refuse(e, "a cast to a type that elementwise ops lack (%d)", (int)type);
    return add(e, (fuse_node){.kind = FUSE_CAST, .type = type, .of = {a}});
}

kiln_node kiln_expr_op(kiln_expr *e, kiln_elementwise op, kiln_node a, kiln_node b, kiln_node c)
{
    return kiln_expr_op_with(e, op, a, b, c, 0, 0);
}

kiln_node kiln_expr_op_with(kiln_expr *e, kiln_elementwise op, kiln_node a, kiln_node b,
                            kiln_node c, kiln_node alpha, kiln_node beta)
{
    static const char *const names[] = {"a", "b", "c", "alpha", "beta"};
    fuse_node n = {.kind = FUSE_OP, .what = (uint32_t)op, .of = {a, b, c, alpha, beta}};
    if (!e || *e->mistake)
        return 0;
    if ((unsigned)op >= COUNT(fuse_rows))
        return refuse(e, "there is no elementwise op %d", (int)op);
    const fuse_row *row = &fuse_rows[op];
    uint32_t operands = (uint32_t)(strchr(row->signature, '_') - row->signature);
    for (uint32_t i = 0; i < FUSE_NAMES; i++) {
        bool is_wanted = i < FUSE_OPERANDS ? i < operands : uses(row->value, i);
        if (is_wanted && !n.of[i])
            return refuse(e, "%s needs a node for %s", row->name, names[i]);
        if (!is_wanted && n.of[i])
            return refuse(e, "%s has no %s", row->name, names[i]);
        if (n.of[i] > e->count)
            return refuse(e, "%s of node %u, which is not in the expression", row->name, n.of[i]);
    }
    return add(e, n);
}

// --- gradients
static kiln_node sum(kiln_expr *e, kiln_node a, kiln_node b)
{
    return !a ? b : kiln_expr_op(e, KILN_EW_ADD, a, b, 0);
}

// `gradient` of the op `node`, times the op's derivative by operand `i`; 0: there is none.
static kiln_node through(kiln_expr *e, kiln_node node, uint32_t i, kiln_node gradient)
{
    uint32_t at = node - 1, op = e->nodes[at].what;
    const char *expression = fuse_rows[op].derivatives[i];
    if (!*expression || !strcmp(expression, "R(0)"))
        return 0;
    if (!strcmp(expression, "R(1)"))
        return gradient;
    if (!strcmp(expression, "R(-1)"))
        return kiln_expr_op(e, KILN_EW_NEG, gradient, 0, 0);
    fuse_node n = {.kind = FUSE_DERIVATIVE, .what = op * FUSE_OPERANDS + i};
    for (uint32_t j = 0; j < FUSE_NAMES; j++)
        n.of[j] = uses(expression, j) ? e->nodes[at].of[j] : 0;
    return kiln_expr_op(e, KILN_EW_MUL, gradient, add(e, n), 0);
}

static bool is_float(uint8_t type)
{
    return type == KILN_F16 || type == KILN_BF16 || type == KILN_F32 || type == KILN_F64;
}

void kiln_expr_gradient(kiln_expr *e, uint32_t outputs, const kiln_node *of, const kiln_node *dout,
                        uint32_t inputs, const kiln_node *by, kiln_node *gradients)
{
    kiln_node g[KILN_EXPR_NODES + 1] = {0};
    bool is_on_way[KILN_EXPR_NODES + 1] = {false}; // from one of `by`
    for (uint32_t m = 0; m < inputs; m++)
        gradients[m] = 0;
    if (!e || *e->mistake)
        return;
    uint32_t last = e->count;
    for (uint32_t n = 0; n < outputs + inputs; n++) {
        kiln_node node = n < outputs ? of[n] : by[n - outputs];
        if (!node || node > last || (n < outputs && (!dout[n] || dout[n] > last))) {
            refuse(e, "the gradient of a node that is not in the expression (%u)", node);
            return;
        }
        is_on_way[node] |= n >= outputs;
    }
    for (kiln_node node = 1; node <= last; node++)
        for (uint32_t i = 0; i < FUSE_OPERANDS; i++)
            is_on_way[node] |= is_on_way[e->nodes[node - 1].of[i]];
    for (uint32_t n = 0; n < outputs; n++)
        g[of[n]] = sum(e, g[of[n]], dout[n]);
    for (kiln_node node = last; node > 0; node--) {
        fuse_kind kind = (fuse_kind)e->nodes[node - 1].kind;
        for (uint32_t i = 0; i < FUSE_OPERANDS && g[node] && is_on_way[node]; i++) {
            kiln_node a = e->nodes[node - 1].of[i];
            if (kind == FUSE_DERIVATIVE && is_on_way[a]) {
                refuse(e, "a gradient of a gradient: there are no second derivatives");
                return;
            }
            bool is_passed_on =
                kind == FUSE_CAST ? is_float(e->nodes[node - 1].type) : kind == FUSE_LIKE && i == 0;
            fuse_node like = {.kind = FUSE_LIKE, .of = {g[node], a}};
            kiln_node part = !a || !is_on_way[a] ? 0
                             : is_passed_on      ? add(e, like)
                             : kind == FUSE_OP   ? through(e, node, i, g[node])
                                                 : 0;
            g[a] = part ? sum(e, g[a], part) : g[a];
        }
    }
    for (uint32_t m = 0; m < inputs; m++)
        gradients[m] = g[by[m]] ? g[by[m]] : kiln_expr_constant(e, 0);
}
