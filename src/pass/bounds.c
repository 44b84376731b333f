// Accesses whose array is known become checked ones: before each load, store, atomic and call of
// the host with counted objects stands a `bounds` that compares its byte offset with the array's
// length and stops the thread outside. Arrays of the kernel have their length from their
// declaration, dynamic shared memory from the launch, buffers from hidden parameters (one per
// pointer parameter, i64 bytes) that the launch fills. Accesses that cannot fail need no check;
// those whose array is not known are left alone, with a remark. Invariant: the checked kernel does
// the same as the plain one while every access is inside. Start at pass_bounds.
#include "ir/host.h"
#include "pass/alias.h"
#include "pass/passes.h"

typedef struct guard {
    ir_func *f;
    pass_ctx *ctx;
    ir_ref *length;     // per user parameter: the hidden one, 0: none
    uint32_t *seen;     // per value: the last search for a base that met it
    uint32_t search;    // counts them
    ir_inst_id *leaves; // per instruction: the first exit from it or round of it, 0: none
    ir_inst_id *beside; // per exit and round: the next one of the same instruction
    bool changed;
} guard;

// --- the array behind a pointer
typedef struct base {
    bool is_found, is_mixed;
    alias_kind kind;
    uint32_t index;
} base;

static void find_base(guard *g, ir_ref pointer, base *out);

static void found(base *out, alias_kind kind, uint32_t index)
{
    out->is_mixed |= out->is_found && (out->kind != kind || out->index != index);
    *out = (base){true, out->is_mixed, kind, index};
}

// What the exits of `owner` (or the rounds of a loop) hand to its result or argument `n`.
static void find_incoming(guard *g, ir_op op, ir_inst_id owner, uint32_t n, base *out)
{
    for (ir_inst_id id = g->leaves[owner]; id && !out->is_mixed; id = g->beside[id]) {
        const ir_inst *i = ir_at(g->f, id);
        if (i->op == op && n < i->operand_count)
            find_base(g, ir_operand(g->f, i, n), out);
    }
}

static void find_base(guard *g, ir_ref pointer, base *out)
{
    ir_func *f = g->f;
    if (out->is_mixed || (!ir_is_const(pointer) && g->seen[pointer] == g->search))
        return;
    alias_base direct = alias_base_of(f, pointer);
    if (direct.kind != ALIAS_UNKNOWN) {
        found(out, direct.kind, direct.index);
        return;
    }
    if (ir_is_const(pointer)) {
        out->is_mixed = true;
        return;
    }
    g->seen[pointer] = g->search;
    const ir_value *v = &f->values.at[pointer];
    if (v->def == IR_DEF_REGION_ARG) {
        ir_inst_id loop = ir_region_at(f, v->owner)->owner;
        if (loop && v->index < ir_at(f, loop)->operand_count) {
            find_base(g, ir_operand(f, ir_at(f, loop), v->index), out);
            find_incoming(g, IR_NEXT, loop, v->index, out);
            return;
        }
        out->is_mixed = true;
        return;
    }
    const ir_inst *i = ir_at(f, ir_def_of(f, pointer));
    if (ir_is_control((ir_op)i->op)) {
        find_incoming(g, IR_EXIT, ir_def_of(f, pointer), pointer - i->result, out);
    } else if (i->op == IR_SELECT) {
        find_base(g, ir_operand(f, i, 1), out);
        find_base(g, ir_operand(f, i, 2), out);
    } else if (i->op == IR_PTRADD || i->op == IR_PTRCAST || i->op == IR_UNIFORM) {
        find_base(g, ir_operand(f, i, 0), out);
    } else {
        out->is_mixed = true;
    }
}

static base base_of(guard *g, ir_ref pointer)
{
    base b = {0};
    g->search++;
    find_base(g, pointer, &b);
    return b;
}

// Functions may have tens of thousands of exits, and as many accesses ask for those of one
// instruction. Pointers of accesses, and all that lead to them, are older than the checks.
static void index_exits(guard *g)
{
    const ir_func *f = g->f;
    g->seen = arena_array(g->ctx->scratch, uint32_t, f->values.len);
    g->leaves = arena_array(g->ctx->scratch, ir_inst_id, f->insts.len);
    g->beside = arena_array(g->ctx->scratch, ir_inst_id, f->insts.len);
    for (ir_inst_id id = f->insts.len - 1; id; id--) {
        const ir_inst *i = ir_at(f, id);
        if (i->op != IR_EXIT && i->op != IR_NEXT)
            continue;
        g->beside[id] = g->leaves[i->aux];
        g->leaves[i->aux] = id;
    }
}

// --- the check
typedef struct array {
    const char *name;
    uint64_t size; // when it is fixed
    ir_ref length; // else: i64 bytes
    uint32_t elem; // bytes
} array;

static uint32_t elem_size(uint8_t elem, uint32_t row)
{
    return elem || row ? ir_row_size(elem, row) : 1;
}

static array array_of(guard *g, ir_cursor *c, base b)
{
    const ir_func *f = g->f;
    const ir_module *m = f->module;
    if (b.kind == ALIAS_PARAM) {
        const ir_param *p = &f->params.at[b.index];
        if (p->kind == IR_PARAM_POINTER)
            return (array){p->name, 0, g->length[b.index], p->elem_size ? p->elem_size : 1};
        return (array){p->name, p->size, 0, 1};
    }
    if (b.kind == ALIAS_LOCAL)
        return (array){f->locals.at[b.index].name, f->locals.at[b.index].size, 0,
                       elem_size(f->locals.at[b.index].elem, f->locals.at[b.index].row)};
    if (b.kind == ALIAS_CONSTANT)
        return (array){m->data.at[b.index].name, m->data.at[b.index].size, 0,
                       elem_size(m->data.at[b.index].elem, m->data.at[b.index].row)};
    const ir_shared *s = &m->shared.at[b.index];
    array a = {s->name, s->size, 0, elem_size(s->elem, s->row)};
    if (s->is_dynamic) {
        static const uint8_t i32 = IR_I32;
        ir_inst_id id = ir_add(c, IR_DYNSHARED, IR_I32, NULL, 0, &i32, 1);
        a.length = ir_convert(c, IR_ZEXT, IR_I64, ir_at(g->f, id)->result);
    }
    return a;
}

static ir_ref base_pointer(guard *g, ir_cursor *c, base b)
{
    static const ir_op makers[] = {
        [ALIAS_SHARED] = IR_SHARED, [ALIAS_LOCAL] = IR_LOCAL, [ALIAS_CONSTANT] = IR_CONSTANT};
    if (b.kind == ALIAS_PARAM)
        return g->f->first_param + b.index;
    static const ir_type types[] = {[ALIAS_SHARED] = IR_PTR_SHARED,
                                    [ALIAS_LOCAL] = IR_PTR_LOCAL,
                                    [ALIAS_CONSTANT] = IR_PTR_CONST};
    uint8_t type = (uint8_t)types[b.kind];
    ir_inst_id id = ir_add(c, makers[b.kind], (ir_type)type, NULL, 0, &type, 1);
    ir_at(g->f, id)->aux = b.index;
    return ir_at(g->f, id)->result;
}

// The bytes between two pointers into one array. Without optimisation one of them may still be
// generic, and an address within the space of locals or of shared memory is another number.
static ir_ref distance(guard *g, ir_cursor *c, ir_ref pointer, ir_ref start)
{
    ir_ref ends[2] = {start, pointer};
    bool same_space = ir_type_of(g->f, pointer) == ir_type_of(g->f, start);
    for (uint32_t k = 0; k < COUNT(ends); k++) {
        if (!same_space && ir_type_of(g->f, ends[k]) != IR_PTR_GEN)
            ends[k] = ir_convert(c, IR_PTRCAST, IR_PTR_GEN, ends[k]);
        ends[k] = ir_convert(c, IR_PTRTOINT, IR_I64, ends[k]);
    }
    return ir_bin(c, IR_SUB, IR_I64, ends[1], ends[0]);
}

// The distance from the start of the array, as an i64; *constant gets what is known of it, and 0
// stands for nothing else. A pointer that was carried around is compared by address.
static ir_ref offset_of(guard *g, ir_cursor *c, ir_ref pointer, base b, int64_t *constant)
{
    ir_func *f = g->f;
    ir_ref sum = 0;
    if (alias_base_of(f, pointer).kind == ALIAS_UNKNOWN)
        return distance(g, c, pointer, base_pointer(g, c, b));
    for (ir_inst_id def; (def = ir_def_of(f, pointer)) != 0;
         pointer = ir_operand(f, ir_at(f, def), 0)) {
        const ir_inst *i = ir_at(f, def);
        uint64_t bits;
        if (!i->operand_count)
            break;
        if (i->op != IR_PTRADD)
            continue;
        ir_ref more = ir_operand(f, i, 1);
        if (ir_const_bits(f, more, &bits))
            *constant = (int64_t)((uint64_t)*constant + bits);
        else
            sum = sum ? ir_bin(c, IR_ADD, IR_I64, sum, more) : more;
    }
    return sum;
}

static const char *bare(guard *g, const char *name)
{
    size_t len = name ? strcspn(name, ".") : 0;
    return len ? str_format(g->ctx->scratch, "%.*s", (int)len, name) : "an array";
}

static uint32_t text_index(ir_module *m, const char *s)
{
    for (uint32_t k = 0; k < m->strings.len; k++)
        if (str_same(m->strings.at[k], str_of(s)))
            return k;
    vec_push(m->in, &m->strings, ((str){str_dup(m->in, str_of(s)), strlen(s)}));
    return m->strings.len - 1;
}

static void remark(guard *g, ir_inst_id access)
{
    if (!g->ctx->diags || !g->ctx->wants_remarks)
        return;
    diag *d = diag_raise(g->ctx->diags, K5006, ir_at(g->f, access)->at,
                         "this access is not checked: its pointer may point into several arrays, "
                         "or came from memory");
    if (d)
        diag_note(d, "use an index into one array, or choose the array outside the access");
}

static void add_check(guard *g, ir_cursor *c, const array *a, bool is_read, ir_ref fine, ir_ref at,
                      ir_ref length)
{
    ir_func *f = g->f;
    ir_ref operands[3] = {fine, at, length};
    const char *what =
        str_format(g->ctx->scratch, "%s %s", is_read ? "reads" : "writes", bare(g, a->name));
    ir_inst_id check = ir_add(c, IR_BOUNDS, IR_VOID, operands, 3, NULL, 0);
    ir_at(f, check)->aux = text_index(f->module, what);
    ir_at(f, check)->imm = a->elem;
    g->changed = true;
}

static void check_access(guard *g, ir_inst_id access)
{
    ir_func *f = g->f;
    const ir_inst *i = ir_at(f, access);
    bool is_read = i->op == IR_LOAD || i->op == IR_ATOMLOAD;
    uint32_t lanes = i->op == IR_LOAD    ? i->result_count
                     : i->op == IR_STORE ? i->operand_count - 1
                                         : 1;
    uint64_t width = (uint64_t)ir_type_size((ir_type)i->type) * lanes;
    int64_t constant = i->imm;
    ir_ref pointer = ir_operand(f, i, 0);
    base b = base_of(g, pointer);
    if (!b.is_found || b.is_mixed) {
        remark(g, access);
        return;
    }
    ir_cursor c = ir_before(f, access);
    array a = array_of(g, &c, b);
    ir_ref offset = offset_of(g, &c, pointer, b, &constant);
    if (!offset && !a.length && constant >= 0 && (uint64_t)constant + width <= a.size)
        return;
    ir_ref at = !offset    ? ir_i64(f, constant)
                : constant ? ir_bin(&c, IR_ADD, IR_I64, offset, ir_i64(f, constant))
                           : offset;
    // fine: 0 <= at and at + width <= length, in one comparison of unsigned numbers
    ir_ref length = a.length ? a.length : ir_i64(f, (int64_t)a.size), limit;
    if (!a.length)
        limit = ir_i64(f, a.size >= width ? (int64_t)(a.size - width + 1) : 0);
    else if (width == 1)
        limit = length;
    else
        limit =
            ir_bin(&c, IR_SMAX, IR_I64,
                   ir_bin(&c, IR_SUB, IR_I64, length, ir_i64(f, (int64_t)width - 1)), ir_i64(f, 0));
    add_check(g, &c, &a, is_read, ir_bin(&c, IR_ULT, IR_I64, at, limit), at, length);
}

// Objects that travel to a host function: `bytes` of them, none when that is not above 0.
static void check_counted(guard *g, ir_inst_id call, const host_param *p)
{
    ir_func *f = g->f;
    ir_ref pointer = ir_operand(f, ir_at(f, call), p->first),
           bytes = ir_operand(f, ir_at(f, call), p->first + 1);
    base b = base_of(g, pointer);
    if (!b.is_found || b.is_mixed) {
        remark(g, call);
        return;
    }
    int64_t constant = 0;
    uint64_t known;
    ir_cursor c = ir_before(f, call);
    array a = array_of(g, &c, b);
    ir_ref offset = offset_of(g, &c, pointer, b, &constant);
    if (!offset && !a.length && constant >= 0 && (uint64_t)constant <= a.size &&
        ir_const_bits(f, bytes, &known) && known <= a.size - (uint64_t)constant)
        return;
    ir_ref at = !offset    ? ir_i64(f, constant)
                : constant ? ir_bin(&c, IR_ADD, IR_I64, offset, ir_i64(f, constant))
                           : offset;
    ir_ref length = a.length ? a.length : ir_i64(f, (int64_t)a.size);
    ir_ref starts = ir_bin(&c, IR_ULT, IR_I64, at, length);
    ir_ref ends = ir_bin(&c, IR_SLE, IR_I64, bytes, ir_bin(&c, IR_SUB, IR_I64, length, at));
    ir_ref none = ir_bin(&c, IR_SLE, IR_I64, bytes, ir_i64(f, 0));
    ir_ref fine = ir_bin(&c, IR_OR, IR_I1, none, ir_bin(&c, IR_AND, IR_I1, starts, ends));
    add_check(g, &c, &a, p->kind == 'c', fine, ir_select(&c, starts, length, at), length);
}

static void check_call(guard *g, ir_inst_id call)
{
    host_shape shape;
    host_of_inst(g->f, ir_at(g->f, call), &shape);
    for (uint32_t k = 0; k < shape.param_count; k++)
        if (host_is_counted(shape.params[k].kind))
            check_counted(g, call, &shape.params[k]);
}

// --- hidden parameters
// Parameters' values are consecutive, so all of them move to the end of the values.
static void add_lengths(guard *g)
{
    ir_func *f = g->f;
    arena *in = f->module->in;
    uint32_t old = f->values.len, count = f->params.len;
    ir_ref *with = arena_array(g->ctx->scratch, ir_ref, old + 2 * count);
    for (uint32_t k = 0; k < count; k++) {
        with[f->first_param + k] = f->values.len;
        vec_push(in, &f->values, f->values.at[f->first_param + k]);
    }
    f->first_param = old;
    for (uint32_t k = 0; k < count; k++) {
        if (f->params.at[k].kind != IR_PARAM_POINTER)
            continue;
        ir_param p = {
            .name = str_format(in, "%s.bytes", f->params.at[k].name ? f->params.at[k].name : "p"),
            .kind = IR_PARAM_SCALAR,
            .type = IR_I64,
            .size = 8,
            .align = 8,
            .is_hidden = true,
            .at = f->params.at[k].at};
        g->length[k] = ir_param_add(f, p);
    }
    ir_rename(f, with);
}

// A check whose offset is known to lie inside is none.
static void drop_proven(guard *g)
{
    ir_func *f = g->f;
    range *facts = range_compute(f, g->ctx->scratch);
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (i->op != IR_BOUNDS)
            continue;
        ir_inst_id test = ir_def_of(f, ir_operand(f, i, 0));
        if (test && ir_at(f, test)->op != IR_ULT) // of objects for the host
            continue;
        uint64_t limit;
        range r = range_of(f, facts, ir_operand(f, i, 1));
        if (test && ir_const_bits(f, ir_operand(f, ir_at(f, test), 1), &limit) && r.lo >= 0 &&
            (uint64_t)r.hi < limit)
            ir_remove(f, id);
    }
}

static bool is_access(const ir_inst *i)
{
    return i->op == IR_LOAD || i->op == IR_STORE || i->op == IR_ATOMIC || i->op == IR_CAS ||
           i->op == IR_ATOMLOAD || i->op == IR_ATOMSTORE || i->op == IR_HOST;
}

bool pass_bounds(ir_func *f, pass_ctx *ctx)
{
    guard g = {.f = f, .ctx = ctx};
    if (!f->is_kernel) // the lengths are the kernel's
        return false;
    // Without optimisation pointer variables are memory still, and what they point into is not
    // seen.
    if (!ctx->level) {
        pass_sroa(f, ctx);
        pass_mem2reg(f, ctx);
        ir_compact(f, ctx->scratch);
    }
    g.length = arena_array(ctx->scratch, ir_ref, f->params.len + 1);
    if (f->params.len)
        add_lengths(&g);
    index_exits(&g);
    uint32_t count = f->insts.len;
    for (ir_inst_id id = 1; id < count; id++) {
        arena_mark mark = arena_save(ctx->scratch);
        if (ir_at(f, id)->op == IR_HOST)
            check_call(&g, id);
        else if (is_access(ir_at(f, id)))
            check_access(&g, id);
        arena_restore(ctx->scratch, mark);
    }
    drop_proven(&g);
    ir_compact(f, ctx->scratch);
    return g.changed;
}
