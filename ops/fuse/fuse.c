// kiln_fuse: an expression and views become one kernel (kiln/ops_fuse.h). Its text is made of
// macros for ops/elementwise/kernel.c, or for ops/fuse/reduce.c where something is reduced: an
// operand for each input, a statement for each node, a result for each output. The kernel is kept
// under a hash of all that. Start reading at kiln_fuse, the last function.
#include "kiln/ops_fuse.h"

#include <math.h>
#include <stdio.h>

#include "ops/fuse/host_rows.h"
#include "ops/launch.h"
#include "ops/map.h"
#include "ops/operands.h"
#include "ops/scratch.h"
#include "rt/memory/view.h"

#define AXES "ops/fuse/axes.def"
#include "ops/axes.h"
_Static_assert((int)KILN_FUSE_VIEWS == (int)NEST_VIEWS, "views of a fused kernel");

enum { THREADS = 256, MANY = 1 << 20, REGISTERS = 64, SPLIT_BLOCKS = 1056, LEAST_CHUNK = 16 };

static const char *const input_names[] = {"in[0]", "in[1]", "in[2]", "in[3]", "in[4]",  "in[5]",
                                          "in[6]", "in[7]", "in[8]", "in[9]", "in[10]", "in[11]"};
static const char *const output_names[] = {"out[0]", "out[1]", "out[2]", "out[3]",
                                           "out[4]", "out[5]", "out[6]", "out[7]"};
_Static_assert(COUNT(input_names) == KILN_FUSE_INPUTS, "names of inputs");
_Static_assert(COUNT(output_names) == KILN_FUSE_OUTPUTS, "names of outputs");

typedef struct job {
    const char *call;
    const kiln_fuse_desc *d;
    const kiln_expr *e;
    uint32_t inputs, outputs;           // views; of the inputs those that are used
    uint32_t input_of[NEST_VIEWS];      // view → in[…]
    kiln_view views[NEST_VIEWS];        // inputs, then outputs, broadcast to the shape
    op_operand operands[NEST_VIEWS];    // the same, for checks
    bool is_used[KILN_EXPR_NODES + 1];  // by an output
    uint8_t types[KILN_EXPR_NODES + 1]; // of the numbers; KILN_VOID: of whoever uses it
    uint8_t over[KILN_EXPR_NODES + 1];  // of an op's operands
    uint32_t more[KILN_EXPR_NODES + 1]; // of a parameter: types that it has beside its own, as bits
    uint32_t rank;                      // the shape
    uint64_t sizes[KILN_MAX_RANK];
    bool is_reduction, is_in_place;
    uint64_t total; // elements that become one in a reduction
    op_packs packs;
    // Reductions: loops over results; threads of one; results; packs of one, and of a block.
    uint32_t outer, lanes, splits;
    uint64_t rows, row_packs, chunk;
    kiln_view parts; // memory for those of split results
} job;

// --- nodes: which are used, and of which type
static void mark_used(job *j)
{
    for (uint32_t n = 0; n < j->outputs; n++)
        j->is_used[j->d->out[n].node] = true;
    for (kiln_node node = j->e->count; node > 0; node--)
        for (uint32_t i = 0; i < FUSE_NAMES && j->is_used[node]; i++)
            j->is_used[j->e->nodes[node - 1].of[i]] = true;
}

static uint32_t set_of(uint32_t number)
{
    return number == KILN_F32 || number == KILN_F64   ? 1
           : number == KILN_I32 || number == KILN_I64 ? 2
                                                      : 4;
}

// Gives a type to what had none, and to what a derivative without one is made of; one more to what
// is free.
static void use_as(job *j, kiln_node node, uint8_t type)
{
    if (!node)
        return;
    if (j->types[node] == KILN_VOID)
        j->types[node] = type;
    else if (j->types[node] != type && fuse_is_free(j->e, node))
        j->more[node] |= (uint32_t)1 << type;
    else
        return;
    for (uint32_t i = 0; i < FUSE_NAMES; i++)
        use_as(j, j->e->nodes[node - 1].of[i], type);
}

// The type that the operands of an op share; all of them have it from now on.
static kiln_status type_of_op(kiln *k, job *j, kiln_node node, uint8_t *type)
{
    const uint16_t *of = j->e->nodes[node - 1].of;
    uint32_t what = j->e->nodes[node - 1].what;
    bool is_derivative = j->e->nodes[node - 1].kind == FUSE_DERIVATIVE;
    const fuse_row *row = &fuse_rows[is_derivative ? what / FUSE_OPERANDS : what];
    *type = KILN_VOID;
    for (uint32_t i = 0; i < FUSE_NAMES; i++) {
        uint8_t own = j->types[of[i]];
        if (!of[i] || fuse_is_mask(&j->e->nodes[node - 1], i) || own == KILN_VOID || own == *type ||
            fuse_is_free(j->e, of[i]))
            continue;
        if (*type != KILN_VOID)
            return op_refuse(k, j->call, "node %u, %s, is over %s and %s: cast one of them", node,
                             row->name, kiln_type_name((kiln_type)*type),
                             kiln_type_name((kiln_type)own));
        *type = own;
    }
    if (*type == KILN_VOID && is_derivative) // that of the gradient it is multiplied with
        return KILN_OK;
    for (uint32_t i = 0; i < FUSE_NAMES && *type == KILN_VOID; i++) // numbers alone
        *type = j->types[of[i]];
    if (*type == KILN_VOID)
        *type = KILN_F32;
    for (uint32_t i = 0; i < FUSE_NAMES; i++)
        use_as(j, of[i], *type);
    j->over[node] = *type;
    if (!(set_of(*type) & (is_derivative ? (uint32_t)FUSE_FLOATS : row->types)))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                         "%s: node %u, %s, is over %s, which it lacks", j->call, node, row->name,
                         kiln_type_name((kiln_type)*type));
    if (!is_derivative && strchr(row->signature, '_')[1] == 'B')
        *type = KILN_U32; // 1 or 0
    return KILN_OK;
}

static kiln_status find_types(kiln *k, job *j)
{
    kiln_status status = KILN_OK;
    for (kiln_node node = 1; node <= j->e->count && !status; node++) {
        if (!j->is_used[node])
            continue;
        kiln_type type = (kiln_type)j->e->nodes[node - 1].type;
        uint32_t what = j->e->nodes[node - 1].what;
        switch ((fuse_kind)j->e->nodes[node - 1].kind) {
        case FUSE_NONE: return op_refuse(k, j->call, "node %u of the expression is nothing", node);
        case FUSE_INPUT:
            j->types[node] = (uint8_t)op_number_type(kiln_view_type(j->d->in[what]));
            break;
        case FUSE_PARAMETER:
        case FUSE_CONSTANT: break;
        case FUSE_CAST:
        case FUSE_LIKE:
            j->types[node] = type == KILN_VOID ? j->types[j->e->nodes[node - 1].of[1]]
                                               : (uint8_t)op_number_type(type);
            use_as(j, j->e->nodes[node - 1].of[0],
                   type == KILN_BOOL ? (uint8_t)KILN_F32 : j->types[node]);
            break;
        case FUSE_OP:
        case FUSE_DERIVATIVE: status = type_of_op(k, j, node, &j->types[node]); break;
        }
    }
    for (uint32_t n = 0; n < j->outputs; n++) // a constant alone
        use_as(j, j->d->out[n].node, (uint8_t)op_number_type(kiln_view_type(j->d->out[n].view)));
    return status;
}

// --- views
static kiln_status check_desc(kiln *k, const kiln_fuse_desc *d, job *j)
{
    const kiln_expr *e = d->expression;
    if (!e)
        return op_refuse(k, j->call, "the expression is NULL");
    if (*e->mistake || e->count > KILN_EXPR_NODES)
        return op_refuse(k, j->call, "the expression: %s",
                         *e->mistake ? e->mistake : "it was not made by kiln_expr_…");
    while (j->outputs < KILN_FUSE_OUTPUTS && d->out[j->outputs].node) {
        const kiln_fuse_output *o = &d->out[j->outputs];
        if (o->node > e->count)
            return op_refuse(k, j->call, "'%s' is node %u, and the expression has %u",
                             output_names[j->outputs], o->node, e->count);
        if ((unsigned)o->reduction > KILN_FUSE_MIN)
            return op_refuse(k, j->call, "'%s': there is no reduction %d", output_names[j->outputs],
                             (int)o->reduction);
        j->is_reduction |= o->reduction != KILN_FUSE_NO_REDUCTION;
        j->outputs++;
    }
    return j->outputs ? KILN_OK : op_refuse(k, j->call, "'out[0]' has no node: nothing is wanted");
}

static kiln_status check_element(kiln *k, const job *j, const kiln_view *v, const char *name)
{
    kiln_type type = kiln_view_type(*v);
    bool is_known = type != KILN_VOID && type != KILN_F8E4 && type != KILN_F8E5;
    return is_known ? KILN_OK
                    : error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                                "%s: '%s' is %s, which elementwise ops lack", j->call, name,
                                kiln_type_name(type));
}

// Each input that a used node names becomes a view.
static kiln_status find_inputs(kiln *k, job *j)
{
    for (kiln_node node = 1; node <= j->e->count; node++) {
        uint32_t at = node - 1, what = j->e->nodes[at].what;
        if (!j->is_used[node] || j->e->nodes[at].kind != FUSE_INPUT)
            continue;
        kiln_status status = view_check(k, &j->d->in[what], j->call, input_names[what]);
        if (!status)
            status = check_element(k, j, &j->d->in[what], input_names[what]);
        if (status)
            return status;
        if (j->inputs + j->outputs >= NEST_VIEWS)
            return op_refuse(k, j->call, "%u inputs and %u outputs: there may be %d in all",
                             j->inputs + 1, j->outputs, NEST_VIEWS);
        j->input_of[j->inputs++] = what;
    }
    return KILN_OK;
}

// The shape: that of an output that is not reduced, or what all inputs are broadcast to, also those
// that no output needs.
static kiln_status find_shape(kiln *k, job *j)
{
    bool is_found = false;
    for (uint32_t n = 0; n < j->outputs; n++) {
        const kiln_view *v = &j->d->out[n].view;
        kiln_status status = view_check_written(k, v, j->call, output_names[n]);
        if (!status)
            status = check_element(k, j, v, output_names[n]);
        if (status)
            return status;
        if (j->d->out[n].reduction == KILN_FUSE_NO_REDUCTION && !is_found) {
            is_found = true;
            j->rank = v->rank;
            memcpy(j->sizes, v->sizes, sizeof j->sizes);
        }
    }
    if (is_found)
        return KILN_OK;
    for (uint32_t n = 0; n < KILN_FUSE_INPUTS; n++) {
        const kiln_view *v = &j->d->in[n];
        kiln_status status = v->buffer ? view_check(k, v, j->call, input_names[n]) : KILN_OK;
        if (status)
            return status;
        if (v->buffer && v->rank > j->rank)
            j->rank = v->rank;
    }
    for (uint32_t d = 0; d < j->rank; d++)
        j->sizes[d] = 1;
    for (uint32_t n = 0; n < KILN_FUSE_INPUTS; n++) {
        const kiln_view *v = &j->d->in[n];
        uint64_t *to = &j->sizes[v->buffer ? j->rank - v->rank : 0];
        for (uint32_t d = 0; v->buffer && d < v->rank; d++)
            to[d] = to[d] == 1 ? v->sizes[d] : to[d];
    }
    return KILN_OK;
}

// A result with its axes put back, repeated along them.
static kiln_status expand(kiln *k, const job *j, uint32_t n, kiln_view *out)
{
    kiln_view v = j->d->out[n].view;
    char is[VIEW_TEXT], shape[VIEW_TEXT];
    uint32_t removed = (uint32_t)__builtin_popcount(j->d->axes);
    bool is_right = v.rank == j->rank || v.rank + removed == j->rank;
    for (uint32_t d = 0; d < j->rank && v.rank < j->rank && is_right; d++)
        if (j->d->axes >> d & 1)
            v = kiln_view_unsqueeze(v, d);
    for (uint32_t d = 0; d < j->rank && is_right; d++)
        is_right = v.sizes[d] == (j->d->axes >> d & 1 ? 1 : j->sizes[d]);
    if (!is_right)
        return op_refuse(k, j->call, "'%s' is %s, which is no reduction of %s along the axes",
                         output_names[n], view_shape_text(&j->d->out[n].view, is),
                         view_sizes_text(j->rank, j->sizes, shape));
    uint64_t sizes[KILN_MAX_RANK]; // an empty view has no strides to speak of
    for (uint32_t d = 0; d < j->rank; d++)
        sizes[d] = j->d->axes >> d & 1 && !j->sizes[d] ? 1 : j->sizes[d];
    *out = kiln_view_broadcast(v, j->rank, sizes);
    return KILN_OK;
}

static kiln_status make_views(kiln *k, job *j)
{
    char is[VIEW_TEXT], shape[VIEW_TEXT];
    for (uint32_t n = 0; n < j->inputs; n++) {
        j->views[n] = kiln_view_broadcast(j->d->in[j->input_of[n]], j->rank, j->sizes);
        j->operands[n] = (op_operand){
            .name = input_names[j->input_of[n]], .view = &j->views[n], .may_be_replaced = true};
    }
    if (j->is_reduction && (!j->d->axes || j->d->axes >> j->rank))
        return op_refuse(k, j->call, "axes is %#x: a reduction needs dimensions of its %u",
                         j->d->axes, j->rank);
    for (uint32_t n = 0; n < j->outputs; n++) {
        uint32_t v = j->inputs + n;
        kiln_status status = KILN_OK;
        bool is_reduced = j->d->out[n].reduction != KILN_FUSE_NO_REDUCTION;
        j->views[v] = j->d->out[n].view;
        j->operands[v] =
            (op_operand){.name = output_names[n], .view = &j->d->out[n].view, .is_result = true};
        if (is_reduced)
            status = expand(k, j, n, &j->views[v]);
        else if (j->views[v].rank != j->rank ||
                 memcmp(j->views[v].sizes, j->sizes, j->rank * sizeof *j->sizes))
            status = op_refuse(k, j->call, "'%s' is %s, and another output is %s", output_names[n],
                               view_shape_text(&j->views[v], is),
                               view_sizes_text(j->rank, j->sizes, shape));
        if (!status && j->d->out[n].reduction == KILN_FUSE_MEAN &&
            set_of(j->types[j->d->out[n].node]) != 1)
            status =
                op_refuse(k, j->call, "'%s' is the mean of integers: cast them", output_names[n]);
        if (status)
            return status;
    }
    return op_check_operands(k, j->call, j->operands, j->inputs + j->outputs, &j->is_in_place);
}

// --- the kernel's text
static const char *inner_of(const job *j, uint32_t view)
{
    static const char *const names[] = {"BROADCAST", "DENSE", "STRIDED", "ROW"};
    return names[j->packs.inner[view]];
}

static void write_constant(op_words *w, kiln_type type, double value)
{
    if (type != KILN_F32 && type != KILN_F64) {
        uint64_t whole = op_number_whole(type, value);
        if (type == KILN_U64 && whole > INT64_MAX)
            op_word_more(w, "(u64)(%lluu)", (unsigned long long)whole);
        else if ((int64_t)whole == INT64_MIN) // no literal
            op_word_more(w, "(i64)(-%lld - 1)", (long long)INT64_MAX);
        else
            op_word_more(w, "(%s)(%lld)", kiln_type_name(type), (long long)whole);
    } else if (isnan(value)) {
        op_word_more(w, "(%s)NAN", kiln_type_name(type));
    } else if (isinf(value)) {
        op_word_more(w, "(%s)%sINFINITY", kiln_type_name(type), value < 0 ? "-" : "");
    } else {
        char digits[40];
        snprintf(digits, sizeof digits, "%.17g", value);
        op_word_more(w, "(%s)(%s%s)", kiln_type_name(type), digits,
                     strpbrk(digits, ".e") ? "" : ".0");
    }
}

// The type of an op's operands and literals: not that of the mask that it may give.
static kiln_type literal_type(const job *j, kiln_node node)
{
    uint8_t over = j->over[node];
    return (kiln_type)(over != KILN_VOID ? over : j->types[node]);
}

static void write_row(op_words *w, const job *j, kiln_node node, kiln_type type);

// `of` as an operand of that type.
static void write_operand(op_words *w, const job *j, kiln_node of, kiln_type type)
{
    if (!fuse_is_free(j->e, of) || j->types[of] == type)
        op_word_more(w, "v%u", of);
    else if (j->e->nodes[of - 1].kind == FUSE_CONSTANT)
        write_constant(w, type, j->e->nodes[of - 1].value);
    else if (j->e->nodes[of - 1].kind == FUSE_PARAMETER)
        op_word_more(w, "v%u_%s", of, kiln_type_name(type));
    else {
        op_word_more(w, "(%s)(", kiln_type_name(type));
        write_row(w, j, of, type);
        op_word_more(w, ")");
    }
}

// The row's text with nodes in place of a, b, c, p, q, and literals of that type.
static void write_row(op_words *w, const job *j, kiln_node node, kiln_type type)
{
    const uint16_t *of = j->e->nodes[node - 1].of, what = j->e->nodes[node - 1].what;
    const char *row = j->e->nodes[node - 1].kind == FUSE_OP
                          ? fuse_rows[what].value
                          : fuse_rows[what / FUSE_OPERANDS].derivatives[what % FUSE_OPERANDS];
    while (*row) {
        size_t len;
        uint32_t name = fuse_name(row, &len);
        if (name < FUSE_NAMES)
            write_operand(w, j, of[name], type);
        else if (len == 1 && *row == 'R')
            op_word_more(w, "(%s)", kiln_type_name(type));
        else
            op_word_more(w, "%.*s", (int)(len ? len : 1), row);
        row += len ? len : 1;
    }
}

static void write_node(op_words *w, const job *j, kiln_node node)
{
    const uint16_t *of = j->e->nodes[node - 1].of;
    kiln_type type = (kiln_type)j->types[node], cast = (kiln_type)j->e->nodes[node - 1].type;
    uint32_t what = j->e->nodes[node - 1].what;
    fuse_kind kind = (fuse_kind)j->e->nodes[node - 1].kind;
    if (kind == FUSE_PARAMETER) // an argument
        return;
    op_word_more(w, "const %s v%u = (%s)(", kiln_type_name(type), node, kiln_type_name(type));
    switch (kind) {
    case FUSE_NONE:
    case FUSE_PARAMETER: break;
    case FUSE_INPUT: op_word_more(w, "in%u", what); break;
    case FUSE_CONSTANT: write_constant(w, type, j->e->nodes[node - 1].value); break;
    case FUSE_LIKE: write_operand(w, j, of[0], type); break;
    case FUSE_CAST:
        if (cast != KILN_BOOL)
            op_word_more(w, "pack_get(%s, pack_put(%s, (%s)", kiln_type_name(cast),
                         kiln_type_name(cast), kiln_type_name(type));
        write_operand(w, j, of[0], cast == KILN_BOOL ? KILN_F32 : type);
        op_word_more(w, cast == KILN_BOOL ? " != 0" : "))");
        break;
    case FUSE_OP:
    case FUSE_DERIVATIVE: write_row(w, j, node, literal_type(j, node)); break;
    }
    op_word_more(w, "); ");
}

static void write_output(op_words *w, const job *j, uint32_t n, bool is_reduced)
{
    static const char *const how[] = {"", "ADD", "MEAN", "MAX", "MIN"};
    const kiln_fuse_output *o = &j->d->out[n];
    uint32_t v = j->inputs + n;
    kiln_type type = kiln_view_type(j->views[v]);
    kiln_fuse_reduction reduction = o->reduction;
    bool is_bool = kiln_view_type(o->view) == KILN_BOOL; // of the result, not of a part
    if ((reduction != KILN_FUSE_NO_REDUCTION) != is_reduced)
        return;
    if (is_bool && reduction != KILN_FUSE_MIN) // a sum or a mean of masks is not 0: one of them
        reduction = KILN_FUSE_MAX;
    else if (j->splits > 1 && reduction == KILN_FUSE_MEAN)
        reduction = KILN_FUSE_SUM;
    if (is_reduced)
        op_word_more(w, "SUM(out%u, %u, %s, %s, %s, ", n, v, kiln_type_name(type),
                     kiln_type_name(is_bool ? KILN_U32 : (kiln_type)j->types[o->node]),
                     how[reduction]);
    else
        op_word_more(w, "RESULT(out%u, %u, %s, %s, ", n, v, kiln_type_name(type), inner_of(j, v));
    op_word_more(w, is_bool ? "(u32)(v%u != 0)) " : "v%u) ", o->node);
}

// How exact functions are (kiln/activate.h): 16 where all tensors have 16 bits, 0 where a number
// has 64.
static int smoothness(const job *j)
{
    int bits = 16;
    for (uint32_t v = 0; v < j->inputs + j->outputs; v++) {
        kiln_type type = kiln_view_type(j->views[v]);
        if (type != KILN_F16 && type != KILN_BF16)
            bits = 32;
    }
    for (kiln_node node = 1; node <= j->e->count; node++)
        if (j->is_used[node] && j->types[node] == KILN_F64)
            return 0;
    return bits;
}

static void write_words(const op_request *r, op_words *w)
{
    const job *j = r->context;
    uint32_t seen = 0;
    if (smoothness(j))
        op_word(w, "SMOOTH", "%d", smoothness(j));
    op_word(w, "NEST_OF", "%u", j->inputs + j->outputs);
    op_word(w, "OPERANDS", "%s", "");
    for (uint32_t v = 0; v < j->inputs; v++)
        op_word_more(w, "OPERAND(in%u, %u, %s, %s) ", j->input_of[v], v,
                     kiln_type_name(kiln_view_type(j->views[v])), inner_of(j, v));
    op_word(w, "PACKS", "%s", "");
    for (uint32_t v = 0; v < j->inputs + j->outputs; v++) {
        uint32_t type = (uint32_t)kiln_view_type(j->views[v]);
        if (!(seen >> type & 1))
            op_word_more(w, "PACK(%s, %u) ", kiln_type_name((kiln_type)type), op_get(r, V));
        seen |= (uint32_t)1 << type;
    }
    op_word(w, "PARAMETERS", "%s", "");
    for (kiln_node node = 1; node <= j->e->count; node++)
        if (j->is_used[node] && j->e->nodes[node - 1].kind == FUSE_PARAMETER) {
            op_word_more(w, ", %s v%u", kiln_type_name((kiln_type)j->types[node]), node);
            for (uint32_t more = j->more[node]; more; more &= more - 1) {
                const char *type = kiln_type_name((kiln_type)__builtin_ctz(more));
                op_word_more(w, ", %s v%u_%s", type, node, type);
            }
        }
    op_word(w, "NODES", "%s", "");
    for (kiln_node node = 1; node <= j->e->count; node++)
        if (j->is_used[node])
            write_node(w, j, node);
    op_word(w, "RESULTS", "%s", "");
    for (uint32_t n = 0; n < j->outputs; n++)
        write_output(w, j, n, false);
    if (!j->is_reduction)
        return;
    op_word(w, "SUMS", "%s", "");
    for (uint32_t n = 0; n < j->outputs; n++)
        write_output(w, j, n, true);
}

static const op_program map_program = {.file = "ops/elementwise/kernel.c",
                                       .axes = axes,
                                       .axis_count = COUNT(axes),
                                       .write = write_words};
static const op_program reduce_program = {
    .file = "ops/fuse/reduce.c", .axes = axes, .axis_count = COUNT(axes), .write = write_words};

// --- running it
static void mix(uint64_t hash[2], uint64_t value)
{
    hash[0] = (hash[0] ^ value) * 0x9e3779b97f4a7c15u;
    hash[0] ^= hash[0] >> 29;
    hash[1] = (hash[1] + value) * 0xd6e8feb86659fd93u;
    hash[1] ^= hash[1] >> 32;
}

// All that the text depends on.
static void set_hash(const job *j, op_request *r)
{
    uint64_t hash[2] = {j->inputs, j->outputs};
    for (kiln_node node = 1; node <= j->e->count; node++) {
        if (!j->is_used[node])
            continue;
        const uint16_t *of = j->e->nodes[node - 1].of;
        uint64_t value;
        memcpy(&value, &j->e->nodes[node - 1].value, sizeof value);
        mix(hash, (uint64_t)node << 32 | (uint64_t)j->e->nodes[node - 1].kind << 24 |
                      (uint64_t)j->e->nodes[node - 1].type << 16 | j->e->nodes[node - 1].what);
        mix(hash, (uint64_t)of[0] << 48 | (uint64_t)of[1] << 32 | (uint64_t)of[2] << 16 | of[3]);
        mix(hash, of[4]);
        mix(hash, value);
    }
    for (uint32_t v = 0; v < j->inputs + j->outputs; v++) {
        const kiln_fuse_output *o = v < j->inputs ? NULL : &j->d->out[v - j->inputs];
        mix(hash, (uint64_t)kiln_view_type(j->views[v]) << 8 | (uint64_t)j->packs.inner[v]);
        mix(hash, o ? (uint64_t)kiln_view_type(o->view) << 24 | (uint64_t)o->node << 8 |
                          (uint64_t)o->reduction
                    : 0);
    }
    mix(hash, j->splits > 1);
    op_set(r, HASH0, hash[0] >> 32);
    op_set(r, HASH1, hash[0]);
    op_set(r, HASH2, hash[1] >> 32);
    op_set(r, HASH3, hash[1]);
    op_set(r, V, j->packs.width);
    op_set(r, IN_PLACE, j->is_in_place);
    op_set(r, RANK, j->packs.rank);
    op_set(r, LONG, j->packs.is_long);
}

// Values in registers of one thread: packs as wide as that allows.
static void limit_width(const job *j, op_nest *nest, uint32_t widest)
{
    nest->widest = widest;
    while (nest->widest > 1 && nest->widest * j->inputs > REGISTERS)
        nest->widest /= 2;
}

static kiln_status launch(kiln *k, const job *j, const op_request *r, const kiln_arg *first,
                          size_t first_count, uint64_t blocks, uint32_t splits)
{
    enum { OWN = 5, NUMBER_TYPES = 6 };
    kiln_arg args[NEST_VIEWS + OWN + KILN_FUSE_PARAMETERS * NUMBER_TYPES];
    size_t count = 0;
    for (uint32_t v = 0; v < j->inputs; v++)
        args[count++] = kiln_arg_view(j->views[v]);
    for (uint32_t is_reduced = 0; is_reduced < 2; is_reduced++) // those that are not first
        for (uint32_t n = 0; n < j->outputs; n++)
            if ((j->d->out[n].reduction != KILN_FUSE_NO_REDUCTION) == is_reduced)
                args[count++] = kiln_arg_view(j->views[j->inputs + n]);
    for (size_t n = 0; n < first_count; n++)
        args[count++] = first[n];
    for (kiln_node node = 1; node <= j->e->count; node++)
        if (j->is_used[node] && j->e->nodes[node - 1].kind == FUSE_PARAMETER) {
            double value = j->d->parameters[j->e->nodes[node - 1].what];
            args[count++] = op_number_argument((kiln_type)j->types[node], value);
            for (uint32_t more = j->more[node]; more; more &= more - 1)
                args[count++] = op_number_argument((kiln_type)__builtin_ctz(more), value);
        }
    return op_launch(k, &(op_launch_desc){.request = r,
                                          .blocks = blocks,
                                          .parts = splits,
                                          .call = j->call,
                                          .args = args,
                                          .arg_count = count,
                                          .stream = j->d->stream});
}

static kiln_status run_map(kiln *k, job *j)
{
    op_nest nest;
    op_nest_make(j->views, j->inputs + j->outputs, &nest);
    limit_width(j, &nest, op_nest_spread(k, &nest));
    op_nest_pack_flat(&nest, j->views, j->inputs, &j->packs);
    uint32_t per = j->inputs == 1 && j->packs.argument.packs >= MANY && nest.rank == 1 ? 4 : 1;
    op_request r = {.program = &map_program, .context = j};
    set_hash(j, &r);
    op_set(&r, PER, per);
    op_set(&r, TAIL, j->packs.argument.rest != 0);
    op_set(&r, FLAT, j->packs.is_flat);
    uint64_t threads = j->packs.argument.packs + (j->packs.argument.rest != 0);
    kiln_arg arg = op_nest_arg(&j->packs, j->packs.rank);
    return launch(k, j, &r, &arg, 1, (threads + THREADS * per - 1) / (THREADS * per), 1);
}

// How many threads a result has, and how many blocks share one: from shapes and strides alone.
static void plan_reduction(job *j)
{
    op_nest nest;
    op_nest_reduce(j->views, j->inputs + j->outputs, j->d->axes, &nest, &j->outer);
    limit_width(j, &nest, 16);
    op_nest_pack(&nest, j->views, &j->packs);
    j->rows = 1;
    for (uint32_t d = 0; d < j->outer; d++)
        j->rows *= nest.sizes[d];
    j->row_packs = j->packs.argument.packs / j->rows;
    bool is_across =
        false; // neighbouring results lie side by side in an input, reduced ones do not
    for (uint32_t v = 0; v < j->inputs && j->outer; v++)
        is_across |= nest.strides[v][j->outer - 1] == 1 && nest.strides[v][nest.rank - 1] != 1;
    j->lanes = is_across || j->row_packs <= 2 ? 1 : j->row_packs <= 64 ? 32 : THREADS;
    uint64_t blocks = (j->rows * j->lanes + THREADS - 1) / THREADS;
    uint64_t splits = (SPLIT_BLOCKS + blocks - 1) / blocks;
    uint64_t most = j->row_packs / (j->lanes * (uint64_t)LEAST_CHUNK);
    splits = splits < most ? splits : most;
    j->splits = splits > 1 ? (uint32_t)splits : 1;
    for (uint32_t n = 0; n < j->outputs; n++)
        if (j->d->out[n].reduction && j->types[j->d->out[n].node] != KILN_F32)
            j->splits = 1; // parts are f32
    if (j->total == 0) {
        j->row_packs = 0;
        j->splits = 1; // the view of parts would be empty, without strides
    }
}

static kiln_status launch_reduction(kiln *k, job *j)
{
    op_request r = {.program = &reduce_program, .context = j};
    j->chunk = (j->row_packs + j->splits - 1) / j->splits;
    j->chunk = (j->chunk + j->lanes - 1) / j->lanes * j->lanes;
    set_hash(j, &r);
    op_set(&r, OUTER, j->outer);
    op_set(&r, LANES, j->lanes);
    const kiln_arg args[] = {
        op_nest_arg(&j->packs, j->packs.rank), kiln_arg_i64(KILN_U64, (int64_t)j->rows),
        kiln_arg_i64(KILN_U64, (int64_t)j->row_packs), kiln_arg_i64(KILN_U64, (int64_t)j->chunk),
        kiln_arg_i64(KILN_U64, (int64_t)j->total)};
    return launch(k, j, &r, args, COUNT(args), (j->rows * j->lanes + THREADS - 1) / THREADS,
                  j->splits);
}

// Part `n` of the workspace: [splits, sizes of a result].
static kiln_view part_of(const job *j, uint32_t n)
{
    uint64_t sizes[KILN_MAX_RANK] = {j->splits};
    uint32_t rank = 1;
    for (uint32_t d = 0; d < j->rank; d++)
        if (!(j->d->axes >> d & 1))
            sizes[rank++] = j->sizes[d];
    kiln_view v = kiln_view_of(j->parts.buffer, rank, sizes);
    v.first = j->parts.first + n * j->splits * j->rows;
    v.type = KILN_F32;
    return v;
}

static uint64_t workspace_of(const job *j)
{
    uint64_t parts = 0;
    for (uint32_t n = 0; n < j->outputs; n++)
        parts += j->d->out[n].reduction != KILN_FUSE_NO_REDUCTION;
    return j->splits > 1 ? parts * j->splits * j->rows : 0;
}

// Parts into the workspace, then a reduction of the parts.
static kiln_status run_split(kiln *k, job *j)
{
    kiln_fuse_desc second = {.axes = 1, .stream = j->d->stream};
    kiln_expr e;
    e.count = 0;
    e.mistake[0] = 0;
    job parts = {.call = j->call, .d = &second, .e = &e, .is_reduction = true, .total = j->total};
    for (uint32_t n = 0; n < j->outputs; n++) {
        const kiln_fuse_output *o = &j->d->out[n];
        if (o->reduction == KILN_FUSE_NO_REDUCTION)
            continue;
        uint32_t at = parts.inputs++;
        kiln_view part = part_of(j, at), *view = &j->views[j->inputs + n];
        parts.input_of[at] = at;
        parts.views[at] = part;
        parts.rank = part.rank;
        memcpy(parts.sizes, part.sizes, sizeof parts.sizes);
        second.out[at] = *o;
        second.out[at].node = kiln_expr_input(&e, at);
        parts.is_used[at + 1] = true;
        parts.types[at + 1] = KILN_F32;
        // The result without its axes: [1, sizes], repeated along the parts.
        kiln_view result = *view;
        for (uint32_t d = j->rank; d-- > 0;)
            if (j->d->axes >> d & 1)
                result = kiln_view_index(result, d, 0);
        second.out[at].view = result;
        // And the part's own view, repeated along the axes.
        kiln_view own = kiln_view_index(part, 0, 0);
        for (uint32_t d = 0; d < j->rank; d++)
            if (j->d->axes >> d & 1)
                own = kiln_view_unsqueeze(own, d);
        *view = kiln_view_broadcast(own, j->rank, j->sizes);
    }
    parts.outputs = parts.inputs;
    for (uint32_t n = 0; n < parts.outputs; n++)
        parts.views[parts.inputs + n] = kiln_view_broadcast(
            kiln_view_unsqueeze(second.out[n].view, 0), parts.rank, parts.sizes);
    // The views have changed; how they lie in packs has, too.
    op_nest nest;
    op_nest_reduce(j->views, j->inputs + j->outputs, j->d->axes, &nest, &j->outer);
    nest.widest = j->packs.width;
    op_nest_pack(&nest, j->views, &j->packs);
    j->row_packs = j->packs.argument.packs / j->rows; // narrower ones: parts are wider than results
    kiln_status status = launch_reduction(k, j);
    plan_reduction(&parts);
    parts.splits = 1;
    return status ? status : launch_reduction(k, &parts);
}

// The caller's workspace, or memory of the context.
static kiln_status find_parts(kiln *k, job *j, uint64_t needed)
{
    const kiln_view *w = &j->d->workspace;
    if (!w->buffer) {
        kiln_buffer *own = NULL;
        const op_scratch want = {OP_KEEP_FUSE_SCRATCH, "kiln_fuse", KILN_F32, needed, 0};
        kiln_status status = op_scratch_of(k, &want, j->d->stream, &own);
        j->parts = kiln_view_all(own);
        return status;
    }
    j->parts = *w;
    kiln_status status = view_check_written(k, w, j->call, "workspace");
    if (!status &&
        (kiln_view_type(*w) != KILN_F32 || !kiln_view_is_dense(*w) || kiln_view_count(*w) < needed))
        status = op_refuse(k, j->call, "'workspace' must be dense f32 with %llu elements",
                           (unsigned long long)needed);
    for (uint32_t v = 0; v < j->inputs + j->outputs && !status; v++)
        if (kiln_view_overlaps(*w, j->views[v]))
            status = op_refuse(k, j->call, "'workspace' overlaps '%s'", j->operands[v].name);
    return status;
}

static kiln_status run_reduction(kiln *k, job *j)
{
    plan_reduction(j);
    uint64_t needed = workspace_of(j);
    if (!needed)
        return launch_reduction(k, j);
    kiln_status status = find_parts(k, j, needed);
    return status ? status : run_split(k, j);
}

static kiln_status prepare(kiln *k, const char *call, const kiln_fuse_desc *d, job *j)
{
    *j = (job){.call = call, .total = 1};
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    j->d = d;
    j->e = d->expression;
    status = check_desc(k, d, j);
    if (status)
        return status;
    mark_used(j);
    status = find_inputs(k, j);
    if (!status)
        status = find_types(k, j);
    if (!status)
        status = find_shape(k, j);
    if (!status)
        status = make_views(k, j);
    for (uint32_t n = 0; n < j->rank && !status; n++)
        j->total *= d->axes >> n & 1 ? j->sizes[n] : 1;
    return status;
}

// Is there nothing to write?
static bool is_empty(const job *j)
{
    for (uint32_t n = 0; n < j->outputs; n++)
        if (kiln_view_count(j->d->out[n].view))
            return false;
    return true;
}

kiln_status kiln_fuse_workspace(kiln *k, const kiln_fuse_desc *desc, uint64_t *elements)
{
    job j;
    kiln_status status = prepare(k, "kiln_fuse_workspace", desc, &j);
    if (status)
        return status;
    if (!elements)
        return op_refuse(k, j.call, "'elements' is NULL");
    *elements = 0;
    if (!j.is_reduction || is_empty(&j))
        return KILN_OK;
    plan_reduction(&j);
    *elements = workspace_of(&j);
    return KILN_OK;
}

kiln_status kiln_fuse(kiln *k, const kiln_fuse_desc *desc)
{
    job j;
    kiln_status status = prepare(k, "kiln_fuse", desc, &j);
    if (status || is_empty(&j))
        return status;
    return j.is_reduction ? run_reduction(k, &j) : run_map(k, &j);
}
