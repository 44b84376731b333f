// Loads, stores and atomics as C-like text: an access goes through a pointer of the right address
// space, made from the pointer's number; a generic one looks at its top bits first. Start reading
// at threads_emit_memory.
#include "back/ctext/threads.h"

static thread_space space_of(ir_type t)
{
    switch (t) {
    case IR_PTR_SHARED: return SPACE_SHARED;
    case IR_PTR_LOCAL:
    case IR_PTR_PARAM: return SPACE_PRIVATE; // a struct given by value is copied into the frame
    case IR_PTR_CONST: return SPACE_DATA;
    case IR_PTR_GEN: return SPACE_ANY;
    default: return SPACE_GLOBAL;
    }
}

const char *threads_pointer_cast(threads *e, const ir_inst *i)
{
    thread_space to = space_of((ir_type)i->type), from = space_of((ir_type)i->aux);
    const char *x = ctext_scalar(&e->t, ir_operand(e->t.f, i, 0));
    if (to == SPACE_ANY && from != SPACE_ANY && e->dialect->spaces[from].tag)
        return str_format(e->t.a, "(%s | %s)", x, e->dialect->spaces[from].tag);
    if (from == SPACE_ANY && to != SPACE_ANY && e->dialect->spaces[to].tag)
        return str_format(e->t.a, "OFFSET(%s)", x);
    return x;
}

static const char *address(threads *e, const ir_inst *i, uint32_t index)
{
    const char *base = ctext_scalar(&e->t, ir_operand(e->t.f, i, 0));
    int64_t offset = i->imm + (int64_t)index * ir_type_size((ir_type)i->type);
    return offset ? str_format(e->t.a, "(%s + %s)", base,
                               ctext_literal(&e->t, IR_I64, (uint64_t)offset))
                  : base;
}

// A pointer to the cell at `at` in one of the four spaces.
static const char *cell(threads *e, thread_space in, const char *at, uint32_t size,
                        bool is_volatile)
{
    const char *type = str_format(e->t.a, "%s%sm%u *", is_volatile ? "volatile " : "",
                                  e->dialect->spaces[in].qualifier, size);
    if (!e->dialect->spaces[in].base)
        return str_format(e->t.a, "((%s)%s)", type, at);
    return str_format(e->t.a, "((%s)(%s + %s))", type, e->dialect->spaces[in].base, at);
}

static bool has_shared(const threads *e)
{
    for (ir_inst_id id = 1; id < e->t.f->insts.len; id++)
        if (ir_at(e->t.f, id)->op == IR_SHARED)
            return true;
    return false;
}

// Prints `one` for the space an access is in: once, or once for each a generic pointer may mean.
static void in_space(threads *e, thread_space in, const char *at, bool writes,
                     void (*one)(threads *e, void *user, thread_space in, const char *at),
                     void *user)
{
    if (in != SPACE_ANY) {
        one(e, user, in, at);
        return;
    }
    const struct {
        bool is_possible;
        thread_space in;
        const char *test;
    } rows[] = {{e->is_library || e->t.local_bytes > 0, SPACE_PRIVATE, "IS_PRIVATE"},
                {e->is_library || has_shared(e), SPACE_SHARED, "IS_SHARED"},
                {!writes && (e->has_data || e->t.m->data.len > 0), SPACE_DATA, "IS_DATA"}};
    const char *offset = str_format(e->t.a, "OFFSET(%s)", at);
    for (size_t k = 0; k < COUNT(rows); k++) {
        if (!rows[k].is_possible)
            continue;
        ctext_put(&e->t, "if (%s(%s)) {", rows[k].test, at);
        one(e, user, rows[k].in, offset);
        ctext_put(&e->t, "} else");
    }
    ctext_put(&e->t, "{");
    one(e, user, SPACE_GLOBAL, at);
    ctext_put(&e->t, "}");
}

// --- loads and stores
static const char *from_cell(threads *e, ir_type t, const char *x)
{
    if (t == IR_F32 || t == IR_F64)
        return str_format(e->t.a, "%s_bits(%s)", ir_type_name(t), x);
    return t == IR_I1 ? str_format(e->t.a, "(%s != 0)", x) : x;
}

static const char *to_cell(threads *e, ir_ref r)
{
    ir_type t = ir_type_of(e->t.f, r);
    const char *x = ctext_scalar(&e->t, r);
    if (t == IR_F32 || t == IR_F64)
        return str_format(e->t.a, "bits_%s(%s)", ir_type_name(t), x);
    if (ir_type_size(t) >= 4)
        return x;
    return str_format(e->t.a, "(%s)%s", ir_type_size(t) == 1 ? e->t.words->byte : e->t.words->half,
                      x);
}

typedef struct access {
    const ir_inst *i;
    ir_ref value;
} access;

static void load_one(threads *e, void *user, thread_space in, const char *at)
{
    const access *x = user;
    ir_type t = (ir_type)x->i->type;
    bool is_volatile = x->i->hint == IR_HINT_VOLATILE || x->i->op == IR_ATOMLOAD;
    const char *from = cell(e, in, at, ir_type_size(t), is_volatile && in != SPACE_DATA);
    ctext_put(&e->t, "v%u = %s;", x->value, from_cell(e, t, str_format(e->t.a, "*%s", from)));
}

static void store_one(threads *e, void *user, thread_space in, const char *at)
{
    const access *x = user;
    bool is_volatile = x->i->hint == IR_HINT_VOLATILE || x->i->op == IR_ATOMSTORE;
    ctext_put(&e->t, "*%s = %s;", cell(e, in, at, ir_type_size((ir_type)x->i->type), is_volatile),
              to_cell(e, x->value));
}

static void declare_results(threads *e, const ir_inst *i)
{
    if (e->is_together)
        return;
    for (uint32_t k = 0; k < i->result_count; k++)
        ctext_put(&e->t, "%s v%u;", ctext_type(&e->t, (ir_type)i->type), i->result + k);
}

// --- atomics
static void atomic_one(threads *e, void *user, thread_space in, const char *at)
{
    const access *x = user;
    const ir_inst *i = x->i;
    ir_type t = (ir_type)i->type;
    uint32_t size = ir_type_size(t);
    const char *args = to_cell(e, ir_operand(e->t.f, i, 1));
    if (i->op == IR_CAS)
        args = str_format(e->t.a, "%s, %s", args, to_cell(e, ir_operand(e->t.f, i, 2)));
    const char *call =
        str_format(e->t.a, "at_%s%u%s(%s, %s)", i->op == IR_CAS ? "cas" : ctext_atomics[i->aux],
                   size, e->dialect->spaces[in].end, cell(e, in, at, size, false), args);
    ctext_put(&e->t, "v%u = %s;", i->result, from_cell(e, t, call));
}

void threads_emit_memory(threads *e, const ir_inst *i)
{
    thread_space in = space_of(ir_type_of(e->t.f, ir_operand(e->t.f, i, 0)));
    bool is_guarded = e->is_together && !e->is_plain && !e->is_whole;
    bool is_ordered = i->op >= IR_ATOMIC && i->op <= IR_ATOMSTORE && i->order != IR_RELAXED;
    access x = {.i = i, .value = i->result};
    declare_results(e, i);
    if (is_guarded)
        ctext_put(&e->t, "if (act) {");
    if (is_ordered)
        ctext_put(&e->t, "FENCE();");
    if (i->op == IR_LOAD || i->op == IR_ATOMLOAD) {
        for (uint32_t k = 0; k < i->result_count; k++, x.value++)
            in_space(e, in, address(e, i, k), false, load_one, &x);
    } else if (i->op == IR_STORE || i->op == IR_ATOMSTORE) {
        for (uint32_t k = 0; k + 1 < i->operand_count; k++) {
            x.value = ir_operand(e->t.f, i, k + 1);
            in_space(e, in, address(e, i, k), true, store_one, &x);
        }
    } else {
        in_space(e, in, address(e, i, 0), true, atomic_one, &x);
    }
    if (is_ordered)
        ctext_put(&e->t, "FENCE();");
    if (is_guarded)
        ctext_put(&e->t, "}");
}
