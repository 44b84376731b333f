// Unrolling: a loop whose rounds are counted becomes its rounds one after the other, when asked for
// (`#pragma unroll`) or when that is small; by n when asked for, with the old loop left to do the
// rest. Inner loops come first. Local arrays indexed by a loop's counter get constant indices this
// way and can become registers, so such loops have a larger allowance.
//
// The test of a copied round is known to go on, so it is dropped, and the operands of its NEXT are
// the arguments of the following round. Integers that become constants are not written at all, nor
// is what an earlier round has computed: it counts as the `copies` of what stands for it, so that
// decisions do not depend on it. Start reading at pass_unroll.
#include "ir/eval.h"
#include "pass/known.h"
#include "pass/loop.h"
#include "pass/pass.h"
#include "pass/passes.h"

enum {
    SMALL = 512,   // instructions that may result without being asked
    FEW_TRIPS = 8, // rounds that may result in more:
    FEW = 2048,
    TILE = 4096,             // the same when the loop indexes a local array by its counter
    RAW = 16384,             // before folding
    ASKED = 262144,          // when asked for
    MOST_TRIPS = 1 << 16,    // rounds worth counting
    MOST_IN_REGISTERS = 4096 // bytes of a local array
};

typedef struct unroller {
    ir_func *f;
    arena *scratch;
    uint8_t *marks; // per value, for weighing
    uint32_t marks_len;
    // Per value and instruction, for copying: entries of earlier loops are never asked for again,
    // since those loops are gone or, as the rest of one unrolled by n, stay as they are.
    vec(ir_ref) with;       // old value -> new; 0: itself
    vec(ir_inst_id) target; // old control instruction -> new; 0: itself
    vec(uint32_t) copies;   // instructions that it stands for beside itself
    bool has_copies;
    bool changed;
    bool only_asked; // loops that `#pragma unroll` wants gone, no others
} unroller;

static uint32_t copies_of(const unroller *u, ir_inst_id id)
{
    return id < u->copies.len ? u->copies.at[id] : 0;
}

static void add_copies(unroller *u, ir_inst_id id, uint32_t count)
{
    if (!count)
        return;
    vec_reserve(u->f->module->in, &u->copies, id + 1); // scratch is taken back after each loop
    while (u->copies.len <= id)
        u->copies.at[u->copies.len++] = 0;
    u->copies.at[id] += count;
    u->has_copies = true;
}

// --- weighing: what is left of a round after folding

enum { KNOWN = 1, COUNTED = 2, LOCAL = 4 }; // constant then; depends on the counter; local pointer

// An array too large for registers gains nothing from constant indices.
static uint8_t local_mark(const ir_func *f, const ir_inst *i)
{
    return f->locals.at[i->aux].size <= MOST_IN_REGISTERS ? LOCAL | KNOWN : KNOWN;
}

typedef struct weight {
    uint32_t folded;
    bool indexes_local;
} weight;

static uint8_t mark_of(const unroller *u, ir_ref r)
{
    return ir_is_const(r) ? KNOWN : r < u->marks_len ? u->marks[r] : 0;
}

static void weigh(unroller *u, ir_region_id region, weight *w)
{
    const ir_func *f = u->f;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        uint8_t all = KNOWN, any = 0;
        for (uint32_t k = 0; k < i->operand_count; k++) {
            uint8_t m = mark_of(u, ir_operand(f, i, k));
            all &= m;
            any |= m & COUNTED;
        }
        bool is_memory = i->op == IR_LOAD || i->op == IR_STORE;
        uint8_t pointer = i->operand_count ? mark_of(u, ir_operand(f, i, 0)) : 0;
        if (is_memory && (pointer & LOCAL) && (pointer & COUNTED))
            w->indexes_local = true;
        bool is_free = (ir_op_effect(i->op) == IR_FX_PURE && all) || i->op == IR_LOCAL ||
                       (is_memory && (pointer & LOCAL) && (pointer & KNOWN)) ||
                       ir_is_terminator(i->op);
        uint8_t local = i->op == IR_LOCAL                           ? local_mark(f, i)
                        : i->op == IR_PTRADD || i->op == IR_PTRCAST ? pointer & LOCAL
                                                                    : 0;
        w->folded += is_free ? 0 : 1 + copies_of(u, id);
        bool folds = ir_op_effect(i->op) == IR_FX_PURE && i->operand_count && all;
        for (uint32_t k = 0; k < i->result_count; k++)
            if (i->result + k < u->marks_len)
                u->marks[i->result + k] = (uint8_t)(local | any | (folds ? KNOWN : 0));
        for (uint32_t k = 0; k < i->region_count; k++)
            weigh(u, i->regions + k, w);
    }
}

static weight weigh_loop(unroller *u, const loop_info *l)
{
    arena_mark mark = arena_save(u->scratch);
    if (u->marks_len < u->f->values.len) {
        uint8_t *more = arena_array(u->f->module->in, uint8_t, u->f->values.len * 2);
        memcpy(more, u->marks, u->marks_len);
        u->marks = more;
        u->marks_len = u->f->values.len * 2;
    }
    loop_known known = loop_start(u->f, l, u->scratch);
    for (uint32_t k = 0; k < known.count; k++)
        u->marks[known.first + k] = known.is_known[k] ? KNOWN | COUNTED : 0;
    weight w = {0};
    weigh(u, l->body, &w);
    arena_restore(u->scratch, mark);
    return w;
}

// Pointers into local arrays made before the loop count as local inside.
static void mark_locals(unroller *u)
{
    const ir_func *f = u->f;
    u->marks_len = f->values.len * 2;
    u->marks = arena_array(f->module->in, uint8_t, u->marks_len);
    for (uint32_t id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (i->op == IR_LOCAL)
            u->marks[i->result] = local_mark(f, i);
        if (i->op == IR_PTRADD || i->op == IR_PTRCAST)
            u->marks[i->result] = mark_of(u, ir_operand(f, i, 0)) & LOCAL;
    }
}

// --- copying rounds

typedef struct copier {
    unroller *u;
    ir_func *f;
    const loop_info *l;
    ir_ref *with;       // of the unroller
    ir_inst_id *target; // the same
    uint32_t values;    // those that stood there before copying
    known_table table;  // what the rounds have computed
    ir_ref *now;        // arguments of the coming round
    loop_known known;
    arena *a;
} copier;

// Room for the maps of all there is now; to be called before a mark is set.
static void reserve_maps(unroller *u)
{
    vec_reserve(u->scratch, &u->with, u->f->values.len);
    while (u->with.len < u->f->values.len)
        u->with.at[u->with.len++] = 0;
    vec_reserve(u->scratch, &u->target, u->f->insts.len);
    while (u->target.len < u->f->insts.len)
        u->target.at[u->target.len++] = 0;
}

static copier start_copies(unroller *u, const loop_info *l, ir_inst_id leaves_to, int64_t rounds)
{
    enum { MOST_SLOTS = 1 << 14 };
    ir_func *f = u->f;
    arena *a = u->scratch;
    uint32_t n = ir_region_at(f, l->body)->arg_count;
    uint64_t size = (uint64_t)l->size * (uint64_t)rounds;
    copier c = {.u = u, .f = f, .l = l, .a = a, .values = u->with.len};
    if (size < MOST_SLOTS) // room at once, instead of step by step
        vec_reserve(f->module->in, &f->insts, f->insts.len + (uint32_t)size);
    c.with = u->with.at;
    c.target = u->target.at;
    c.table = known_open(f, a, size < MOST_SLOTS ? (uint32_t)size : MOST_SLOTS);
    c.now = arena_array(a, ir_ref, n + 1);
    for (uint32_t k = 0; k < n; k++)
        c.now[k] = ir_operand(f, ir_at(f, l->loop), k);
    c.known = loop_start(f, l, a);
    c.target[l->loop] = leaves_to;
    return c;
}

static void map_args(copier *c)
{
    ir_ref args = ir_region_at(c->f, c->l->body)->args;
    for (uint32_t k = 0; k < c->known.count; k++) {
        if (c->known.is_known[k])
            c->now[k] = ir_constant(c->f, ir_type_of(c->f, args + k), c->known.bits[k]);
        c->with[args + k] = c->now[k];
    }
}

static ir_ref mapped(const copier *c, ir_ref r)
{
    return !ir_is_const(r) && r < c->values && c->with[r] ? c->with[r] : r;
}

// Integers that are constants in this round need no instruction.
static bool fold_copy(copier *c, const ir_inst *old, const ir_ref *operands)
{
    uint64_t bits[3], out;
    if (old->operand_count == 0 || old->operand_count > 3)
        return false;
    for (uint32_t k = 0; k < old->operand_count; k++)
        if (!ir_const_bits(c->f, operands[k], &bits[k]))
            return false;
    ir_type t = old->result_count == 1 ? ir_type_of(c->f, old->result) : IR_VOID;
    if (!ir_is_int(t) || ir_op_effect(old->op) != IR_FX_PURE)
        return false;
    if (!ir_eval(old->op, old->type, old->aux, bits, &out))
        return false;
    c->with[old->result] = ir_constant(c->f, t, out);
    return true;
}

// Nor do values that an earlier round has computed. True: `old` is one. Else *is_new says whether
// it is to be learned.
static bool reuse_copy(copier *c, ir_inst_id id, const ir_inst *old, const ir_ref *operands,
                       bool *is_new)
{
    ir_func *f = c->f;
    *is_new = false;
    if (!known_can_be(old)) {
        known_written(&c->table, known_writes(f, old));
        return false;
    }
    if (old->op == IR_LOAD && ir_type_of(f, operands[0]) == IR_PTR_LOCAL)
        return false; // becomes a register
    ir_ref value = known_find(&c->table, old, operands);
    *is_new = !value;
    if (!value)
        return false;
    c->with[old->result] = value;
    if (!f->values.at[value].name)
        f->values.at[value].name = f->values.at[old->result].name;
    add_copies(c->u, ir_def_of(f, value), 1 + copies_of(c->u, id));
    return true;
}

static void copy_results(copier *c, ir_ref old, ir_ref fresh, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        c->with[old + k] = fresh + k;
        c->f->values.at[fresh + k].name = c->f->values.at[old + k].name;
    }
}

static void copy_inst(copier *c, ir_cursor *at, ir_inst_id id);

static void copy_regions(copier *c, const ir_inst *old, ir_inst_id made)
{
    ir_func *f = c->f;
    uint32_t floor = c->table.floor;
    if (old->op == IR_LOOP) {
        known_written(&c->table, known_all_spaces); // a later round sees what an earlier one wrote
        c->table.floor = c->table.entries.len;      // its weight stays its own
    }
    for (uint32_t k = 0; k < old->region_count; k++) {
        ir_region_id from = old->regions + k, to = ir_at(f, made)->regions + k;
        uint32_t len = c->table.entries.len;
        copy_results(c, ir_region_at(f, from)->args, ir_region_at(f, to)->args,
                     ir_region_at(f, from)->arg_count);
        ir_cursor in = ir_at_end(f, to, old->at);
        for (ir_inst_id i = ir_region_at(f, from)->first; i; i = ir_at(f, i)->next)
            copy_inst(c, &in, i);
        known_forget(&c->table, len);
        known_written(&c->table, known_all_spaces);
    }
    c->table.floor = floor;
}

static ir_inst_id copy_control(copier *c, ir_cursor *at, const ir_inst *old, const ir_ref *operands)
{
    ir_func *f = c->f;
    uint8_t *types = arena_array(c->a, uint8_t, old->result_count + 1);
    for (uint32_t k = 0; k < old->result_count; k++)
        types[k] = f->values.at[old->result + k].type;
    ir_inst_id id = ir_control(at, old->op, operands, old->operand_count, old->region_count, types,
                               old->result_count);
    ir_inst *made = ir_at(f, id);
    made->unroll = old->unroll;
    made->hint = old->hint;
    made->order = old->order;
    made->scope = old->scope;
    made->aux = old->aux;
    if (old->op != IR_SWITCH)
        made->imm = old->imm;
    else if (old->region_count > 1)
        memcpy(made->cases, old->cases, (old->region_count - 1) * sizeof *old->cases);
    copy_results(c, old->result, made->result, old->result_count);
    return id;
}

static void copy_inst(copier *c, ir_cursor *at, ir_inst_id id)
{
    ir_func *f = c->f;
    vec_reserve(f->module->in, &f->insts, f->insts.len + 1); // one more does not move `old`
    const ir_inst *old = ir_at(f, id);
    enum { FEW_OPERANDS = 16 };
    ir_ref few[FEW_OPERANDS], *operands = few;
    bool is_new;
    if (old->operand_count > FEW_OPERANDS)
        operands = arena_array(c->a, ir_ref, old->operand_count);
    for (uint32_t k = 0; k < old->operand_count; k++)
        operands[k] = mapped(c, ir_operand(f, old, k));
    if (fold_copy(c, old, operands) || reuse_copy(c, id, old, operands, &is_new))
        return;
    at->at = old->at;
    if (ir_is_control(old->op)) {
        const ir_inst control = *old; // the array may move now
        ir_inst_id made = copy_control(c, at, &control, operands);
        c->target[id] = made;
        copy_regions(c, &control, made);
        return;
    }
    ir_inst_id id_new = ir_add_like(at, f, old, operands);
    ir_inst *made = ir_at(f, id_new);
    for (uint32_t k = 0; k < old->result_count; k++)
        c->with[old->result + k] = made->result + k;
    if ((old->op == IR_EXIT || old->op == IR_NEXT) && c->target[old->aux])
        made->aux = c->target[old->aux];
    add_copies(c->u, id_new, copies_of(c->u, id));
    if (is_new)
        known_learn(&c->table, made->result);
}

// One whole round; its test is known to go on.
static void copy_round(copier *c, ir_cursor *at)
{
    ir_func *f = c->f;
    span place = at->at;
    map_args(c);
    ir_inst_id id = ir_region_at(f, c->l->body)->first;
    while (id != c->l->next) {
        if (id != c->l->exit_if)
            copy_inst(c, at, id);
        else if (c->l->goes_on_inside) {
            id = ir_region_at(f, ir_at(f, id)->regions + 1 - c->l->exit_side)->first;
            continue;
        }
        id = ir_at(f, id)->next;
    }
    for (uint32_t k = 0; k < c->known.count; k++)
        c->now[k] = mapped(c, ir_operand(f, ir_at(f, id), k));
    loop_step(f, c->l, &c->known, c->a);
    at->at = place;
}

// What stands before the test does nothing that the loop's results need.
static bool leaves_at_once(const ir_func *f, const loop_info *l)
{
    for (ir_inst_id id = ir_at(f, l->exit_if)->prev; id; id = ir_at(f, id)->prev) {
        const ir_inst *i = ir_at(f, id);
        if (i->region_count || ir_op_effect(i->op) != IR_FX_PURE)
            return false;
        const ir_inst *leave = ir_at(f, l->leave);
        for (uint32_t k = 0; k < leave->operand_count; k++)
            for (uint32_t r = 0; r < i->result_count; r++)
                if (ir_operand(f, leave, k) == i->result + r)
                    return false;
    }
    return true;
}

// The last, partial round: up to the test, which leaves. out gets the loop's results.
static void copy_last(copier *c, ir_cursor *at, ir_ref *out)
{
    ir_func *f = c->f;
    map_args(c);
    if (!leaves_at_once(f, c->l))
        for (ir_inst_id id = ir_region_at(f, c->l->body)->first; id != c->l->exit_if;
             id = ir_at(f, id)->next)
            copy_inst(c, at, id);
    const ir_inst *leave = ir_at(f, c->l->leave);
    for (uint32_t k = 0; k < leave->operand_count; k++)
        out[k] = mapped(c, ir_operand(f, leave, k));
}

// --- replacing loops

static void rename_region(ir_func *f, ir_inst_id from, ir_ref first, uint32_t count,
                          const ir_ref *with)
{
    for (ir_inst_id id = from; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        ir_ref *operands = ir_operands(f, i);
        for (uint32_t k = 0; k < i->operand_count; k++)
            if (operands[k] >= first && operands[k] < first + count)
                operands[k] = with[operands[k] - first];
        for (uint32_t k = 0; k < i->region_count; k++)
            rename_region(f, ir_region_at(f, i->regions + k)->first, first, count, with);
    }
}

static uint8_t *result_types(const ir_func *f, const ir_inst *i, arena *a)
{
    uint8_t *types = arena_array(a, uint8_t, i->result_count + 1);
    for (uint32_t k = 0; k < i->result_count; k++)
        types[k] = f->values.at[i->result + k].type;
    return types;
}

static void replace_results(ir_func *f, ir_inst_id loop, const ir_ref *with)
{
    const ir_inst *i = ir_at(f, loop);
    if (i->result_count)
        rename_region(f, i->next, i->result, i->result_count, with);
}

// A block around what replaces the loop, for its `break`s; 0 when it has none.
static ir_inst_id open_block(unroller *u, const loop_info *l, ir_cursor *at)
{
    ir_func *f = u->f;
    *at = ir_before(f, l->loop);
    if (l->own_exits <= 1)
        return 0;
    const ir_inst *i = ir_at(f, l->loop);
    uint8_t *types = result_types(f, i, u->scratch);
    ir_inst_id block = ir_control(at, IR_BLOCKSCOPE, NULL, 0, 1, types, i->result_count);
    *at = ir_at_end(f, ir_at(f, block)->regions, at->at);
    return block;
}

static void unroll_fully(unroller *u, const loop_info *l, int64_t trips)
{
    ir_func *f = u->f;
    reserve_maps(u);
    arena_mark mark = arena_save(u->scratch);
    uint32_t results = ir_at(f, l->loop)->result_count;
    ir_cursor at;
    ir_inst_id block = open_block(u, l, &at);
    copier c = start_copies(u, l, block, trips);
    for (int64_t round = 0; round < trips; round++)
        copy_round(&c, &at);
    ir_ref *out = arena_array(u->scratch, ir_ref, results + 1);
    copy_last(&c, &at, out);
    if (block) {
        ir_exit(&at, block, out, results);
        for (uint32_t k = 0; k < results; k++)
            out[k] = ir_at(f, block)->result + k;
    }
    replace_results(f, l->loop, out);
    ir_remove(f, l->loop);
    arena_restore(u->scratch, mark);
    u->changed = true;
}

// --- by n

static uint64_t extreme(ir_type t, bool is_signed, bool is_most)
{
    uint64_t ones = t == IR_I32 ? UINT32_MAX : UINT64_MAX;
    uint64_t sign = t == IR_I32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
    return is_signed ? (is_most ? ones ^ sign : sign) : is_most ? ones : 0;
}

// The condition under which n rounds follow without a test: the counter's value n - 1 rounds on
// still passes, in numbers that do not wrap. `safe` and `limit` are computed before the loop.
typedef struct main_test {
    ir_ref safe, limit;
} main_test;

static bool make_main_test(ir_cursor *at, const loop_test *t, int64_t n, main_test *out)
{
    ir_func *f = at->f;
    ir_type type = ir_type_of(f, t->count.arg);
    int64_t step = loop_signed(type, t->count.step);
    bool is_signed = t->op == IR_SLT || t->op == IR_SLE;
    int64_t size = step < 0 ? -step : step;
    if (t->op == IR_INE || t->is_stepped || step == 0 || t->is_greater != (step < 0) ||
        size > (1 << 20) || n > 1024)
        return false;
    uint64_t ahead = (uint64_t)(size * (n - 1));
    ir_op compare = is_signed ? IR_SLE : IR_ULE;
    if (step > 0) {
        ir_ref least = ir_constant(f, type, extreme(type, is_signed, false) + ahead);
        out->safe = ir_bin(at, compare, type, least, t->limit);
        out->limit = ir_bin(at, IR_SUB, type, t->limit, ir_constant(f, type, ahead));
    } else {
        ir_ref most = ir_constant(f, type, extreme(type, is_signed, true) - ahead);
        out->safe = ir_bin(at, compare, type, t->limit, most);
        out->limit = ir_bin(at, IR_ADD, type, t->limit, ir_constant(f, type, ahead));
    }
    return true;
}

// The main loop: n rounds each time. Its results are the arguments it stopped with.
static ir_inst_id make_main_loop(unroller *u, const loop_info *l, const loop_test *t,
                                 const main_test *m, int64_t n, ir_cursor *at, ir_inst_id block)
{
    ir_func *f = u->f;
    copier c = start_copies(u, l, block, n);
    uint32_t args = c.known.count;
    uint8_t *types = arena_array(u->scratch, uint8_t, args + 1);
    ir_ref old_args = ir_region_at(f, l->body)->args;
    for (uint32_t k = 0; k < args; k++)
        types[k] = f->values.at[old_args + k].type;
    ir_inst_id loop = ir_control(at, IR_LOOP, c.now, args, 1, types, args);
    ir_at(f, loop)->unroll = 1;
    ir_region_id body = ir_at(f, loop)->regions;
    for (uint32_t k = 0; k < args; k++) {
        c.now[k] = ir_region_at(f, body)->args + k;
        f->values.at[c.now[k]].name = f->values.at[old_args + k].name;
        c.known.is_known[k] = false;
    }
    ir_cursor in = ir_at_end(f, body, at->at);
    ir_ref counter = c.now[t->count.index];
    ir_type type = ir_type_of(f, counter);
    ir_ref passes = t->is_greater ? ir_bin(&in, t->op, type, m->limit, counter)
                                  : ir_bin(&in, t->op, type, counter, m->limit);
    passes = ir_bin(&in, IR_AND, IR_I1, m->safe, passes);
    ir_inst_id test = ir_control(&in, IR_IF, &passes, 1, 2, NULL, 0);
    ir_cursor yes = ir_at_end(f, ir_at(f, test)->regions, at->at);
    ir_exit(&yes, test, NULL, 0);
    ir_cursor no = ir_at_end(f, ir_at(f, test)->regions + 1, at->at);
    ir_exit(&no, loop, c.now, args);
    for (int64_t round = 0; round < n; round++)
        copy_round(&c, &in);
    ir_next(&in, loop, c.now, args);
    return loop;
}

static bool unroll_by(unroller *u, const loop_info *l, int64_t n)
{
    ir_func *f = u->f;
    loop_test t;
    if (n < 2 || !loop_find_test(f, l, &t) || !leaves_at_once(f, l) ||
        (uint64_t)l->size * (uint64_t)n > ASKED)
        return false;
    reserve_maps(u);
    arena_mark mark = arena_save(u->scratch);
    int64_t trips = loop_trips(f, l, MOST_TRIPS);
    ir_cursor before = ir_before(f, l->loop);
    main_test m;
    if (!make_main_test(&before, &t, n, &m))
        return false;
    ir_cursor at;
    ir_inst_id block = open_block(u, l, &at);
    ir_inst_id main_loop = make_main_loop(u, l, &t, &m, n, &at, block);
    ir_inst *rest = ir_at(f, l->loop);
    for (uint32_t k = 0; k < rest->operand_count; k++)
        ir_operands(f, rest)[k] = ir_at(f, main_loop)->result + k;
    rest->unroll = 1;
    if (block) {
        uint32_t results = rest->result_count;
        ir_ref *out = arena_array(u->scratch, ir_ref, results + 1);
        for (uint32_t k = 0; k < results; k++)
            out[k] = ir_at(f, block)->result + k;
        replace_results(f, l->loop, out);
        ir_unlink(f, l->loop);
        ir_insert(&at, l->loop);
        for (uint32_t k = 0; k < results; k++)
            out[k] = ir_at(f, l->loop)->result + k;
        ir_exit(&at, block, out, results);
    }
    arena_restore(u->scratch, mark);
    u->changed = true;
    if (trips >= 0 && trips % n == 0) // nothing is left for the old loop
        unroll_fully(u, l, 0);
    return true;
}

// --- deciding

static uint32_t copies_inside(const unroller *u, ir_region_id region)
{
    const ir_func *f = u->f;
    uint32_t all = 0;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        all += copies_of(u, id);
        for (uint32_t k = 0; k < ir_at(f, id)->region_count; k++)
            all += copies_inside(u, ir_at(f, id)->regions + k);
    }
    return all;
}

// Rounds to write out, or -1: leave it a loop.
static int64_t rounds_to_write(unroller *u, const loop_info *l, int asked)
{
    if (asked == 1 || (u->only_asked && asked != -1))
        return -1;
    int64_t trips = loop_trips(u->f, l, MOST_TRIPS);
    if (trips < 0)
        return -1;
    uint64_t raw = (uint64_t)trips * l->size;
    if (asked == -1 || (asked > 1 && trips <= asked))
        return raw <= ASKED ? trips : -1;
    if (asked > 1 || raw > RAW)
        return -1;
    if (trips <= 1)
        return trips;
    weight w = weigh_loop(u, l);
    uint64_t folded = (uint64_t)trips * w.folded;
    bool is_small = folded <= SMALL || (trips <= FEW_TRIPS && folded <= FEW) ||
                    (w.indexes_local && folded <= TILE);
    return is_small ? trips : -1;
}

static void unroll_region(unroller *u, ir_region_id region)
{
    ir_func *f = u->f;
    for (ir_inst_id id = ir_region_at(f, region)->first, next; id; id = next) {
        next = ir_at(f, id)->next;
        for (uint32_t k = 0; k < ir_at(f, id)->region_count; k++)
            unroll_region(u, ir_at(f, id)->regions + k);
        if (ir_at(f, id)->op != IR_LOOP)
            continue;
        loop_info l = loop_look(f, id);
        if (!l.exit_if || !l.next)
            continue;
        l.size += u->has_copies ? copies_inside(u, l.body) : 0;
        int asked = ir_at(f, id)->unroll;
        int64_t trips = rounds_to_write(u, &l, asked);
        ir_inst_id before = ir_at(f, id)->prev;
        if (trips >= 0) {
            unroll_fully(u, &l, trips);
            // Inner loops may have constant counts now.
            if (l.has_loop)
                next = before ? ir_at(f, before)->next : ir_region_at(f, region)->first;
        } else if (asked > 1 && !u->only_asked) {
            unroll_by(u, &l, asked);
        }
    }
}

static bool unroll(ir_func *f, pass_ctx *ctx, bool only_asked)
{
    bool has_loop = false;
    for (uint32_t id = 1; id < f->insts.len && !has_loop; id++)
        has_loop = f->insts.at[id].op == IR_LOOP && (!only_asked || f->insts.at[id].unroll == -1);
    if (!has_loop)
        return false;
    unroller u = {.f = f, .scratch = ctx->scratch, .only_asked = only_asked};
    mark_locals(&u);
    unroll_region(&u, f->body);
    return u.changed;
}

bool pass_unroll(ir_func *f, pass_ctx *ctx)
{
    return unroll(f, ctx, false);
}

bool pass_unroll_asked(ir_func *f, pass_ctx *ctx)
{
    return unroll(f, ctx, true);
}
