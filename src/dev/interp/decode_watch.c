// Chooses the instructions a checker sees. Every access to memory is watched but those of locals
// that provably are set before they are read: a variable whose bytes are all stored, in one region,
// before its first load, with no access outside that region and no pointer to it that gets away.
// Start at decode_watch.
#include "dev/interp/decode.h"
#include "ir/nv.h"

typedef struct local_facts {
    uint64_t stored;     // bytes stored so far, one bit each
    ir_region_id region; // of the first store
    bool is_open;        // some access may come before the variable is set
} local_facts;

typedef struct watcher {
    decoder *d;
    const ir_func *f;
    uint32_t *local; // per value: the local it points into, + 1
    bool *is_moved;  // per value: at a place that is not known
    int64_t *offset; // per value: from the local's start
    local_facts *locals;
} watcher;

static bool is_access(ir_op op)
{
    return op == IR_LOAD || op == IR_STORE || (op >= IR_ATOMIC && op <= IR_ATOMSTORE);
}

static uint32_t access_count(const ir_inst *i)
{
    return i->op == IR_LOAD ? i->result_count : i->op == IR_STORE ? i->operand_count - 1 : 1;
}

// --- locals
static bool is_inside(const ir_func *f, ir_region_id region, ir_region_id outer)
{
    while (region && region != outer) {
        ir_inst_id owner = ir_region_at(f, region)->owner;
        region = owner ? ir_at(f, owner)->parent : 0;
    }
    return region == outer;
}

static void follow_pointer(watcher *w, const ir_inst *i)
{
    ir_ref from = ir_operand(w->f, i, 0);
    uint64_t bits;
    if (ir_is_const(from) || !w->local[from])
        return;
    w->local[i->result] = w->local[from];
    w->is_moved[i->result] = w->is_moved[from];
    w->offset[i->result] = w->offset[from];
    if (i->op != IR_PTRADD)
        return;
    if (ir_const_bits(w->f, ir_operand(w->f, i, 1), &bits))
        w->offset[i->result] += (int64_t)bits;
    else
        w->is_moved[i->result] = true;
}

static void access_local(watcher *w, const ir_inst *i, uint32_t local, ir_ref pointer)
{
    local_facts *l = &w->locals[local];
    uint64_t size = w->f->locals.at[local].size;
    uint64_t bytes = (uint64_t)ir_type_size((ir_type)i->type) * access_count(i);
    int64_t at = w->offset[pointer] + i->imm;
    if (size > 64 || w->is_moved[pointer] || at < 0 || (uint64_t)at + bytes > size) {
        l->is_open = true;
        return;
    }
    uint64_t whole = size == 64 ? ~(uint64_t)0 : ((uint64_t)1 << size) - 1;
    if (l->stored == whole) {
        l->is_open |= !is_inside(w->f, i->parent, l->region);
    } else if (i->op == IR_STORE && (!l->stored || l->region == i->parent)) {
        l->region = i->parent;
        l->stored |= (bytes == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bytes) - 1) << at;
    } else {
        l->is_open = true;
    }
}

static void look_at_locals(watcher *w)
{
    const ir_func *f = w->f;
    for (ir_inst_id id = 1; id < f->insts.len; id++) { // reading order: compact has run
        const ir_inst *i = ir_at(f, id);
        if (i->op == IR_LOCAL)
            w->local[i->result] = i->aux + 1;
        else if (i->op == IR_PTRADD || i->op == IR_PTRCAST || i->op == IR_UNIFORM)
            follow_pointer(w, i);
        for (uint32_t k = 0; i->op != IR_NOP && k < i->operand_count; k++) {
            ir_ref r = ir_operand(f, i, k);
            if (ir_is_const(r) || !w->local[r])
                continue;
            uint32_t local = w->local[r] - 1;
            if (k == 0 && is_access((ir_op)i->op))
                access_local(w, i, local, r);
            else if (k > 0 || (i->op != IR_PTRADD && i->op != IR_PTRCAST && i->op != IR_UNIFORM))
                w->locals[local].is_open = true; // a pointer gets away
        }
    }
}

static bool is_set_local(const watcher *w, const ir_inst *i)
{
    ir_ref pointer = ir_operand(w->f, i, 0);
    return !ir_is_const(pointer) && w->local[pointer] && !w->locals[w->local[pointer] - 1].is_open;
}

// --- copies of records: what is not set may be copied, only its use is a mistake
static bool is_same_span(span a, span b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

// Whether each load and store is part of one.
static bool *find_copies(const watcher *w)
{
    const ir_func *f = w->f;
    bool *is_copy = arena_array(w->d->scratch, bool, f->insts.len);
    for (ir_inst_id id = 1; id < f->insts.len; id++)
        is_copy[id] = ir_at(f, id)->op == IR_LOAD || ir_at(f, id)->op == IR_STORE;
    for (bool did_change = true; did_change;) {
        did_change = false;
        for (ir_inst_id id = 1; id < f->insts.len; id++) {
            const ir_inst *i = ir_at(f, id);
            for (uint32_t k = 0; i->op != IR_NOP && k < i->operand_count; k++) {
                ir_inst_id from = ir_def_of(f, ir_operand(f, i, k));
                bool is_load = from && ir_at(f, from)->op == IR_LOAD;
                bool is_value = i->op == IR_STORE && k > 0;
                bool fits = is_load && is_same_span(i->at, ir_at(f, from)->at) && is_value &&
                            is_copy[id] && is_copy[from];
                if (fits)
                    continue;
                did_change |= (is_load && is_copy[from]) || (is_value && is_copy[id]);
                if (is_load)
                    is_copy[from] = false;
                if (is_value)
                    is_copy[id] = false;
            }
        }
    }
    return is_copy;
}

// A variable that a copy stores to is as little set as what was copied.
static void open_copied(watcher *w, const bool *is_copy)
{
    const ir_func *f = w->f;
    for (bool did_change = true; did_change;) {
        did_change = false;
        for (ir_inst_id id = 1; id < f->insts.len; id++) {
            const ir_inst *i = ir_at(f, id);
            if (i->op != IR_STORE || !is_copy[id] || !is_set_local(w, i))
                continue;
            for (uint32_t k = 1; k < i->operand_count; k++) {
                ir_inst_id from = ir_def_of(f, ir_operand(f, i, k));
                if (!from || is_set_local(w, ir_at(f, from)))
                    continue;
                w->locals[w->local[ir_operand(f, i, 0)] - 1].is_open = true;
                did_change = true;
                break;
            }
        }
    }
}

static void mark_copies(const watcher *w, const bool *is_copy)
{
    const ir_func *f = w->f;
    for (ir_inst_id id = 1; id < f->insts.len; id++)
        if (is_copy[id] && w->d->watched[id])
            w->d->watched[id] =
                (uint8_t)(w->d->watched[id] +
                          (ir_at(f, id)->op == IR_LOAD ? WATCH_COPIES : WATCH_COPIED));
}

// --- what is watched
static bool can_make_nan(const ir_inst *i)
{
    return (i->op >= IR_FADD && i->op <= IR_FSQRT) ||
           (i->op >= IR_FAST_EXP2 && i->op <= IR_FAST_DIV);
}

static uint8_t flags_of(const ir_inst *i)
{
    unsigned flags = i->hint == IR_HINT_VOLATILE ? WATCH_VOLATILE : 0;
    if ((i->op >= IR_ATOMIC && i->op <= IR_FENCE)) {
        if (i->order == IR_ACQUIRE || i->order >= IR_ACQ_REL)
            flags |= WATCH_ACQUIRE;
        if (i->order >= IR_RELEASE)
            flags |= WATCH_RELEASE;
        if (i->scope == IR_SCOPE_BLOCK)
            flags |= WATCH_BLOCK_SCOPE;
    }
    return (uint8_t)(flags + 1);
}

static bool is_wanted(const watcher *w, const ir_inst *i)
{
    if (is_access((ir_op)i->op))
        return !is_set_local(w, i);
    return i->op == IR_FENCE || i->op == IR_SHUFFLE || i->op == IR_BALLOT || i->op == IR_MATCH ||
           i->op == IR_WARPSYNC || i->op == IR_ASSUME || i->op == IR_HOST ||
           (w->d->watch & INTERP_WATCH_NAN && can_make_nan(i));
}

static bool is_same_place(const ir_func *f, const ir_inst *a, const ir_inst *b)
{
    ir_ref at = ir_operand(f, a, 0), other = ir_operand(f, b, 0);
    const ir_inst *from = ir_at(f, ir_def_of(f, at)), *of = ir_at(f, ir_def_of(f, other));
    bool is_variable = from->op == IR_SHARED && of->op == IR_SHARED && from->aux == of->aux;
    return a->imm == b->imm && (at == other || is_variable);
}

// What a compare and swap of the same place expects first, `u64 old = *p; do … cas(p, old, …)`, may
// be out of date: the swap finds out. It counts as volatile.
static void forgive_guesses(watcher *w)
{
    const ir_func *f = w->f;
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (i->op != IR_CAS)
            continue;
        ir_ref expected = ir_operand(f, i, 1);
        const ir_value *v = ir_is_const(expected) ? NULL : &f->values.at[expected];
        if (v && v->def == IR_DEF_REGION_ARG) { // the round of a loop
            const ir_inst *loop = ir_at(f, ir_region_at(f, v->owner)->owner);
            expected = loop->op == IR_LOOP ? ir_operand(f, loop, v->index) : 0;
        }
        ir_inst_id from = ir_def_of(f, expected);
        const ir_inst *load = from ? ir_at(f, from) : NULL;
        if (load && load->op == IR_LOAD && w->d->watched[from] && is_same_place(f, load, i))
            w->d->watched[from] = (uint8_t)(((w->d->watched[from] - 1) | WATCH_VOLATILE) + 1);
    }
}

// A wgmma whose last operand is false ignores its accumulator, which need not be set then.
static void leave_accumulators(watcher *w)
{
    const ir_func *f = w->f;
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        bool takes_one = i->op == IR_NV && i->aux == NV_WGMMA && i->operand_count > i->result_count;
        if (!takes_one || ir_is_const(ir_operand(f, i, i->operand_count - 1)))
            continue;
        for (uint32_t k = 0; k < i->result_count; k++) {
            ir_inst_id from = ir_def_of(f, ir_operand(f, i, k));
            if (from && ir_at(f, from)->op == IR_LOAD)
                w->d->watched[from] = 0;
        }
    }
}

void decode_watch(decoder *d)
{
    const ir_func *f = d->f;
    watcher w = {.d = d, .f = f};
    w.local = arena_array(d->scratch, uint32_t, f->values.len);
    w.is_moved = arena_array(d->scratch, bool, f->values.len);
    w.offset = arena_array(d->scratch, int64_t, f->values.len);
    w.locals = arena_array(d->scratch, local_facts, f->locals.len + 1);
    d->watched = arena_array(d->scratch, uint8_t, f->insts.len);
    look_at_locals(&w);
    const bool *is_copy = find_copies(&w);
    open_copied(&w, is_copy);
    uint32_t granule = d->p->granule;
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (!is_wanted(&w, i))
            continue;
        d->watched[id] = flags_of(i);
        if (i->op == IR_HOST) // counted bytes
            granule = 1;
        ir_ref pointer = is_access((ir_op)i->op) ? ir_operand(f, i, 0) : 0;
        if (!pointer || (!ir_is_const(pointer) && w.local[pointer]))
            continue;
        uint32_t size = ir_type_size((ir_type)i->type);
        uint32_t align = i->align ? i->align : size;
        granule = size < granule ? size : granule;
        granule = align < granule ? align : granule;
    }
    d->p->granule = granule;
    mark_copies(&w, is_copy);
    forgive_guesses(&w);
    leave_accumulators(&w);
}
