// Wide accesses: loads (stores) of neighbouring elements through one pointer become one access of
// 2, 4, 8 or 16 elements, at most 16 bytes, where the address is known to be aligned for it. Works
// within one stretch of a region between control instructions. A load moves up to the first of
// those it joins, a store down to the last, only over accesses that cannot touch the same bytes.
//
// Stores are merged first, in a walk of their own; loads in a second walk over the result. A store
// that sinks and a load that rises could each be legal and together swap two accesses of the same
// bytes. In a walk, what moves is judged against accesses of the other kind, which stay where they
// are; so no list ever names an instruction that moved or is gone. Start reading at pass_vector.
#include "pass/alias.h"
#include "pass/pass.h"
#include "pass/passes.h"

enum { MOST_BYTES = 16, MOST_ELEMENTS = 64, MOST_GROUPS = 16, MOST_BETWEEN = 32 };

typedef struct element {
    ir_inst_id inst;
    uint32_t which; // result of the load, value of the store
    uint32_t order; // in the program
    int64_t imm;
} element;

typedef struct group { // loads or stores, as the walk collects
    ir_ref pointer;
    ir_type type;
    uint8_t hint;
    element elements[MOST_ELEMENTS];
    uint32_t len;
    ir_inst_id between[MOST_BETWEEN]; // loads: writes since the first
    uint32_t between_len;
} group;

typedef struct merger {
    ir_func *f;
    arena *a;
    const uint32_t *align;
    uint32_t align_len;
    bool is_store; // the walk collects stores, else loads
    group groups[MOST_GROUPS];
    uint32_t group_count, order;
    vec(ir_ref) old, with; // renames
    bool changed;
} merger;

// --- conflicts

static int64_t access_bytes(const ir_inst *i)
{
    uint32_t n = i->op == IR_LOAD ? i->result_count : i->operand_count - 1;
    return (int64_t)ir_type_size(i->type) * n;
}

// Addresses wrap: so do distances between them.
static bool is_apart(int64_t a, int64_t a_bytes, int64_t b, int64_t b_bytes)
{
    uint64_t up = (uint64_t)b - (uint64_t)a, down = (uint64_t)a - (uint64_t)b;
    return up >= (uint64_t)a_bytes && down >= (uint64_t)b_bytes;
}

static int64_t offset_plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

// May two plain accesses touch the same byte?
static bool may_touch(const ir_func *f, const ir_inst *x, const ir_inst *y)
{
    ir_ref p = ir_operand(f, x, 0), q = ir_operand(f, y, 0);
    if (p == q)
        return !is_apart(x->imm, access_bytes(x), y->imm, access_bytes(y));
    alias_base a = alias_base_of(f, p), b = alias_base_of(f, q);
    if (!alias_may_meet(f, &a, &b))
        return false;
    bool is_one = a.kind != ALIAS_UNKNOWN && a.kind == b.kind && a.index == b.index;
    if (is_one && a.is_offset_known && b.is_offset_known)
        return !is_apart(offset_plus(a.offset, x->imm), access_bytes(x),
                         offset_plus(b.offset, y->imm), access_bytes(y));
    return true;
}

// --- merging a group

static uint32_t known_align(const merger *m, ir_ref pointer, int64_t imm, ir_inst_id inst)
{
    uint32_t of = pointer < m->align_len ? m->align[pointer] : 1;
    uint64_t low = (uint64_t)imm | MOST_BYTES;
    low &= 0 - low;
    uint32_t both = low < of ? (uint32_t)low : of;
    uint32_t said = ir_at(m->f, inst)->align;
    return said > both ? said : both;
}

static void sort_elements(group *g)
{
    for (uint32_t i = 1; i < g->len; i++) {
        element e = g->elements[i];
        uint32_t k = i;
        for (; k > 0 && g->elements[k - 1].imm > e.imm; k--)
            g->elements[k] = g->elements[k - 1];
        g->elements[k] = e;
    }
}

// Where a run's one access goes: to its first load, or its last store.
static ir_inst_id place_of(const merger *m, const element *run, uint32_t n)
{
    const element *at = run;
    for (uint32_t k = 1; k < n; k++)
        if (m->is_store ? run[k].order > at->order : run[k].order < at->order)
            at = &run[k];
    return at->inst;
}

static void merge_loads(merger *m, const group *g, const element *run, uint32_t n, uint32_t align)
{
    ir_func *f = m->f;
    uint8_t types[MOST_BYTES];
    memset(types, (int)g->type, sizeof types);
    ir_cursor c = ir_before(f, place_of(m, run, n));
    ir_inst_id made = ir_add(&c, IR_LOAD, g->type, &g->pointer, 1, types, n);
    ir_inst *i = ir_at(f, made);
    i->imm = run[0].imm;
    i->align = (uint16_t)align;
    i->hint = g->hint;
    for (uint32_t k = 0; k < n; k++) {
        const ir_inst *old = ir_at(f, run[k].inst);
        ir_ref result = old->result + run[k].which;
        f->values.at[ir_at(f, made)->result + k].name = f->values.at[result].name;
        vec_push(m->a, &m->old, result);
        vec_push(m->a, &m->with, ir_at(f, made)->result + k);
    }
}

static void merge_stores(merger *m, const group *g, const element *run, uint32_t n, uint32_t align)
{
    ir_func *f = m->f;
    ir_ref operands[MOST_BYTES + 1] = {g->pointer};
    for (uint32_t k = 0; k < n; k++)
        operands[k + 1] = ir_operand(f, ir_at(f, run[k].inst), run[k].which + 1);
    ir_cursor c = ir_before(f, place_of(m, run, n));
    ir_inst_id made = ir_add(&c, IR_STORE, g->type, operands, n + 1, NULL, 0);
    ir_inst *i = ir_at(f, made);
    i->imm = run[0].imm;
    i->align = (uint16_t)align;
    i->hint = g->hint;
}

// The longest run that may start at `from`: a power of two of neighbours, whole accesses, aligned.
static uint32_t run_length(const merger *m, const group *g, uint32_t from)
{
    uint32_t size = ir_type_size(g->type), n = 1, best = 0;
    const element *e = g->elements + from;
    if (e->which != 0)
        return 0;
    while (from + n < g->len && n * size < MOST_BYTES &&
           e[n].imm == offset_plus(e[n - 1].imm, size))
        n++;
    uint32_t align = known_align(m, g->pointer, e->imm, e->inst);
    for (uint32_t k = 2; k <= n; k *= 2) {
        bool is_whole = from + k == g->len || e[k].which == 0;
        if (is_whole && k * size <= MOST_BYTES && align >= k * size && e[k - 1].inst != e->inst)
            best = k;
    }
    return best;
}

static void flush(merger *m, group *g)
{
    sort_elements(g);
    ir_inst_id gone[MOST_ELEMENTS];
    uint32_t gone_len = 0;
    for (uint32_t from = 0; from < g->len;) {
        uint32_t n = run_length(m, g, from);
        if (n < 2) {
            from++;
            continue;
        }
        const element *run = g->elements + from;
        uint32_t align = known_align(m, g->pointer, run->imm, run->inst);
        align = align > MOST_BYTES ? MOST_BYTES : align;
        (m->is_store ? merge_stores : merge_loads)(m, g, run, n, align);
        for (uint32_t k = 0; k < n; k++)
            if (run[k].which == 0)
                gone[gone_len++] = run[k].inst;
        m->changed = true;
        from += n;
    }
    for (uint32_t k = 0; k < gone_len; k++)
        ir_remove(m->f, gone[k]);
    if (g != &m->groups[--m->group_count])
        *g = m->groups[m->group_count];
}

static void flush_all(merger *m)
{
    while (m->group_count)
        flush(m, &m->groups[m->group_count - 1]);
}

// --- collecting

static bool is_writer(const ir_inst *i)
{
    ir_effect e = ir_op_effect(i->op);
    return e == IR_FX_WRITE || e == IR_FX_CONV || e == IR_FX_SIDE;
}

// A plain access meets the open groups: which of them may go on?
static void pass_access(merger *m, ir_inst_id id)
{
    for (uint32_t k = m->group_count; k-- > 0;) {
        group *g = &m->groups[k];
        const ir_inst *i = ir_at(m->f, id); // again: flush makes instructions
        bool hits = false;
        for (uint32_t e = 0; m->is_store && e < g->len && !hits; e++)
            hits = may_touch(m->f, i, ir_at(m->f, g->elements[e].inst));
        if (!m->is_store && i->op == IR_STORE) {
            if (g->between_len == MOST_BETWEEN)
                hits = true;
            else
                g->between[g->between_len++] = id;
        }
        if (hits)
            flush(m, g);
    }
}

static bool can_join(const merger *m, const group *g, ir_inst_id id, uint32_t count)
{
    const ir_inst *i = ir_at(m->f, id);
    if (g->pointer != ir_operand(m->f, i, 0) || g->type != (ir_type)i->type || g->hint != i->hint ||
        g->len + count > MOST_ELEMENTS)
        return false;
    for (uint32_t k = 0; k < g->between_len; k++)
        if (may_touch(m->f, i, ir_at(m->f, g->between[k])))
            return false;
    int64_t bytes = access_bytes(i);
    for (uint32_t k = 0; k < g->len; k++)
        if (!is_apart(i->imm, bytes, g->elements[k].imm, ir_type_size(g->type)))
            return false;
    return true;
}

static void collect(merger *m, ir_inst_id id)
{
    const ir_inst *i = ir_at(m->f, id);
    uint32_t count = i->op == IR_LOAD ? i->result_count : i->operand_count - 1;
    uint32_t size = ir_type_size(i->type);
    group *g = NULL;
    for (uint32_t k = 0; k < m->group_count && !g; k++)
        if (can_join(m, &m->groups[k], id, count))
            g = &m->groups[k];
    if (!g) {
        if (m->group_count == MOST_GROUPS)
            flush(m, &m->groups[0]);
        i = ir_at(m->f, id);
        g = &m->groups[m->group_count++];
        g->pointer = ir_operand(m->f, i, 0);
        g->type = (ir_type)i->type;
        g->hint = i->hint;
        g->len = g->between_len = 0;
    }
    m->order++;
    for (uint32_t k = 0; k < count; k++)
        g->elements[g->len++] = (element){id, k, m->order, offset_plus(i->imm, (int64_t)k * size)};
}

static void walk_region(merger *m, ir_region_id region)
{
    ir_func *f = m->f;
    for (ir_inst_id id = ir_region_at(f, region)->first, next; id; id = next) {
        const ir_inst *i = ir_at(f, id);
        next = i->next;
        bool is_access = i->op == IR_LOAD || i->op == IR_STORE;
        if (i->region_count || ir_is_terminator(i->op)) {
            flush_all(m);
            for (uint32_t k = 0; k < ir_at(f, id)->region_count; k++)
                walk_region(m, ir_at(f, id)->regions + k);
        } else if (is_access && i->hint != IR_HINT_VOLATILE && !ir_is_const(ir_operand(f, i, 0))) {
            // A store that joins its group is no obstacle to it; it may be to others.
            pass_access(m, id);
            if ((ir_at(f, id)->op == IR_STORE) == m->is_store &&
                access_bytes(ir_at(f, id)) < MOST_BYTES)
                collect(m, id);
        } else if (is_access || is_writer(i)) {
            if (i->op != IR_ASSUME)
                flush_all(m);
        }
    }
}

// Kiln places shared and local arrays itself, so they can start on a 16-byte boundary.
static void align_arrays(ir_func *f)
{
    for (uint32_t id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (i->op == IR_SHARED) {
            ir_shared *s = &f->module->shared.at[i->aux];
            if ((s->is_dynamic || s->size >= 4 * MOST_BYTES) && s->align < MOST_BYTES)
                s->align = MOST_BYTES;
        } else if (i->op == IR_LOCAL) {
            ir_local *l = &f->locals.at[i->aux];
            if (l->size >= MOST_BYTES && l->align < MOST_BYTES)
                l->align = MOST_BYTES;
        }
    }
}

static bool has_op(const ir_func *f, ir_op op)
{
    for (uint32_t id = 1; id < f->insts.len; id++)
        if (f->insts.at[id].op == op)
            return true;
    return false;
}

bool pass_vector(ir_func *f, pass_ctx *ctx)
{
    bool has_loads = has_op(f, IR_LOAD), has_stores = has_op(f, IR_STORE);
    if (!has_loads && !has_stores)
        return false;
    align_arrays(f);
    // The groups are large, and each is set up when it is opened.
    merger *m = arena_room(ctx->scratch, sizeof *m);
    m->f = f;
    m->a = ctx->scratch;
    m->group_count = m->order = 0;
    m->old.at = m->with.at = NULL;
    m->old.len = m->old.cap = m->with.len = m->with.cap = 0;
    m->changed = false;
    m->align = align_compute(f, ctx->scratch);
    m->align_len = f->values.len;
    for (int stores = 1; stores >= 0; stores--) {
        m->is_store = stores;
        if (stores ? has_stores : has_loads)
            walk_region(m, f->body);
        flush_all(m);
    }
    if (m->old.len) {
        ir_ref *renames = arena_array(ctx->scratch, ir_ref, f->values.len);
        for (uint32_t k = 0; k < m->old.len; k++)
            renames[m->old.at[k]] = m->with.at[k];
        ir_rename(f, renames);
    }
    return m->changed;
}
