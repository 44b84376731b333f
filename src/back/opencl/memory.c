// Loads, stores and atomics as OpenCL C: an access goes through a pointer of the right address
// space, made from the pointer's number; a generic one looks at its top bits first. Start reading
// at ocl_emit_memory.
#include "back/opencl/opencl.h"

typedef enum space { SPACE_GLOBAL, SPACE_SHARED, SPACE_PRIVATE, SPACE_DATA, SPACE_ANY } space;

static const struct {
    const char *qualifier, *base, *end; // base: what the number is an offset in; end: of at_…
} spaces[] = {{"__global ", NULL, "_g"},
              {"__local ", "shared", "_s"},
              {"", "frame", "_p"},
              {"__constant ", "data", NULL}};

static space space_of(ir_type t)
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

const char *ocl_pointer_cast(ocl_emitter *e, const ir_inst *i)
{
    static const char *const tags[] = {[SPACE_GLOBAL] = NULL,
                                       [SPACE_SHARED] = "1ul << 62",
                                       [SPACE_PRIVATE] = "1ul << 63",
                                       [SPACE_DATA] = "1ul << 61",
                                       [SPACE_ANY] = NULL};
    space to = space_of((ir_type)i->type), from = space_of((ir_type)i->aux);
    const char *x = cpu_scalar(&e->c, ir_operand(e->c.f, i, 0));
    if (to == SPACE_ANY && tags[from])
        return str_format(e->c.a, "(%s | %s)", x, tags[from]);
    if (from == SPACE_ANY && tags[to])
        return str_format(e->c.a, "OFFSET(%s)", x);
    return x;
}

static const char *address(ocl_emitter *e, const ir_inst *i, uint32_t index)
{
    const char *base = cpu_scalar(&e->c, ir_operand(e->c.f, i, 0));
    int64_t offset = i->imm + (int64_t)index * ir_type_size((ir_type)i->type);
    return offset ? str_format(e->c.a, "(%s + 0x%llxul)", base, (unsigned long long)offset) : base;
}

// A pointer to the cell at `at` in one of the four spaces.
static const char *cell(ocl_emitter *e, space in, const char *at, uint32_t size, bool is_volatile)
{
    const char *type =
        str_format(e->c.a, "%s%sm%u *", is_volatile ? "volatile " : "", spaces[in].qualifier, size);
    if (!spaces[in].base)
        return str_format(e->c.a, "((%s)%s)", type, at);
    return str_format(e->c.a, "((%s)(%s + %s))", type, spaces[in].base, at);
}

static bool has_shared(const ocl_emitter *e)
{
    for (ir_inst_id id = 1; id < e->c.f->insts.len; id++)
        if (ir_at(e->c.f, id)->op == IR_SHARED)
            return true;
    return false;
}

// Prints `one` for the space an access is in: once, or once for each a generic pointer may mean.
static void in_space(ocl_emitter *e, space in, const char *at, bool writes,
                     void (*one)(ocl_emitter *e, void *user, space in, const char *at), void *user)
{
    if (in != SPACE_ANY) {
        one(e, user, in, at);
        return;
    }
    const struct {
        bool is_possible;
        space in;
        const char *test;
    } rows[] = {{e->c.local_bytes > 0, SPACE_PRIVATE, "IS_PRIVATE"},
                {has_shared(e), SPACE_SHARED, "IS_SHARED"},
                {!writes && e->c.m->data.len > 0, SPACE_DATA, "IS_DATA"}};
    const char *offset = str_format(e->c.a, "OFFSET(%s)", at);
    for (size_t k = 0; k < COUNT(rows); k++) {
        if (!rows[k].is_possible)
            continue;
        cpu_put(&e->c, "if (%s(%s)) {", rows[k].test, at);
        one(e, user, rows[k].in, offset);
        cpu_put(&e->c, "} else");
    }
    cpu_put(&e->c, "{");
    one(e, user, SPACE_GLOBAL, at);
    cpu_put(&e->c, "}");
}

// --- loads and stores
static const char *from_cell(ocl_emitter *e, ir_type t, const char *x)
{
    if (t == IR_F32 || t == IR_F64)
        return str_format(e->c.a, "%s_bits(%s)", ir_type_name(t), x);
    return t == IR_I1 ? str_format(e->c.a, "(%s != 0)", x) : x;
}

static const char *to_cell(ocl_emitter *e, ir_ref r)
{
    ir_type t = ir_type_of(e->c.f, r);
    const char *x = cpu_scalar(&e->c, r);
    if (t == IR_F32 || t == IR_F64)
        return str_format(e->c.a, "bits_%s(%s)", ir_type_name(t), x);
    return ir_type_size(t) == 1   ? str_format(e->c.a, "(uchar)%s", x)
           : ir_type_size(t) == 2 ? str_format(e->c.a, "(ushort)%s", x)
                                  : x;
}

typedef struct access {
    const ir_inst *i;
    ir_ref value;
} access;

static void load_one(ocl_emitter *e, void *user, space in, const char *at)
{
    const access *x = user;
    ir_type t = (ir_type)x->i->type;
    bool is_volatile = x->i->hint == IR_HINT_VOLATILE || x->i->op == IR_ATOMLOAD;
    const char *from = cell(e, in, at, ir_type_size(t), is_volatile && in != SPACE_DATA);
    cpu_put(&e->c, "v%u = %s;", x->value, from_cell(e, t, str_format(e->c.a, "*%s", from)));
}

static void store_one(ocl_emitter *e, void *user, space in, const char *at)
{
    const access *x = user;
    bool is_volatile = x->i->hint == IR_HINT_VOLATILE || x->i->op == IR_ATOMSTORE;
    cpu_put(&e->c, "*%s = %s;", cell(e, in, at, ir_type_size((ir_type)x->i->type), is_volatile),
            to_cell(e, x->value));
}

static void declare(ocl_emitter *e, const ir_inst *i)
{
    if (e->is_together)
        return;
    for (uint32_t k = 0; k < i->result_count; k++)
        cpu_put(&e->c, "%s v%u;", ocl_type((ir_type)i->type), i->result + k);
}

// --- atomics
static const char *const atomic_names[IR_AT_COUNT] = {
    [IR_AT_ADD] = "add",   [IR_AT_SMIN] = "smin", [IR_AT_SMAX] = "smax", [IR_AT_UMIN] = "umin",
    [IR_AT_UMAX] = "umax", [IR_AT_AND] = "and",   [IR_AT_OR] = "or",     [IR_AT_XOR] = "xor",
    [IR_AT_XCHG] = "xchg", [IR_AT_FADD] = "fadd", [IR_AT_FMIN] = "fmin", [IR_AT_FMAX] = "fmax"};

static void atomic_one(ocl_emitter *e, void *user, space in, const char *at)
{
    const access *x = user;
    const ir_inst *i = x->i;
    ir_type t = (ir_type)i->type;
    uint32_t size = ir_type_size(t);
    const char *args = to_cell(e, ir_operand(e->c.f, i, 1));
    if (i->op == IR_CAS)
        args = str_format(e->c.a, "%s, %s", args, to_cell(e, ir_operand(e->c.f, i, 2)));
    const char *call =
        str_format(e->c.a, "at_%s%u%s(%s, %s)", i->op == IR_CAS ? "cas" : atomic_names[i->aux],
                   size, spaces[in].end, cell(e, in, at, size, false), args);
    cpu_put(&e->c, "v%u = %s;", i->result, from_cell(e, t, call));
}

void ocl_emit_memory(ocl_emitter *e, const ir_inst *i)
{
    space in = space_of(ir_type_of(e->c.f, ir_operand(e->c.f, i, 0)));
    bool is_guarded = e->is_together && !e->is_plain && !e->is_whole;
    bool is_ordered = i->op >= IR_ATOMIC && i->op <= IR_ATOMSTORE && i->order != IR_RELAXED;
    access x = {.i = i, .value = i->result};
    declare(e, i);
    if (is_guarded)
        cpu_put(&e->c, "if (act) {");
    if (is_ordered)
        cpu_put(&e->c, "FENCE();");
    if (i->op == IR_LOAD || i->op == IR_ATOMLOAD) {
        for (uint32_t k = 0; k < i->result_count; k++, x.value++)
            in_space(e, in, address(e, i, k), false, load_one, &x);
    } else if (i->op == IR_STORE || i->op == IR_ATOMSTORE) {
        for (uint32_t k = 0; k + 1 < i->operand_count; k++) {
            x.value = ir_operand(e->c.f, i, k + 1);
            in_space(e, in, address(e, i, k), true, store_one, &x);
        }
    } else {
        in_space(e, in, address(e, i, 0), true, atomic_one, &x);
    }
    if (is_ordered)
        cpu_put(&e->c, "FENCE();");
    if (is_guarded)
        cpu_put(&e->c, "}");
}
