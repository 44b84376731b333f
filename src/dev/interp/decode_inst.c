// Decoding of single instructions, and of the moves that exit and next stand for.
#include "back/channel.h"
#include "dev/interp/decode.h"

int decode_special(const ir_inst *i)
{
    int axis = (int)(i->imm < 0 || i->imm > 2 ? 0 : i->imm);
    int first = i->op == IR_THREAD     ? SPECIAL_THREAD_X
                : i->op == IR_BLOCK    ? SPECIAL_BLOCK_X
                : i->op == IR_BLOCKDIM ? SPECIAL_BLOCKDIM_X
                : i->op == IR_GRIDDIM  ? SPECIAL_GRIDDIM_X
                                       : -1;
    if (first >= 0)
        return first + axis;
    static const uint8_t of_cluster[] = {SPECIAL_CLUSTER_RANK, SPECIAL_CLUSTER_BLOCKS,
                                         SPECIAL_CLUSTER_X, SPECIAL_CLUSTER_COUNT_X};
    if (i->op == IR_CLUSTER)
        return of_cluster[i->imm & 3];
    return i->op == IR_LANE        ? SPECIAL_LANE
           : i->op == IR_WARP      ? SPECIAL_WARP
           : i->op == IR_DYNSHARED ? SPECIAL_DYNSHARED
                                   : -1;
}

// --- moves
typedef struct move {
    uint32_t to, from;
    uint8_t size;
    bool is_done;
} move;

static void emit_move(decoder *d, const ir_inst *at, uint32_t to, uint32_t from, uint8_t size,
                      move_kind kind, uint32_t depth)
{
    code *c = decode_emit(d, CODE_MOVE, at);
    c->d = to;
    c->a = from;
    c->size = size;
    c->count = (uint8_t)kind;
    c->depth = (uint16_t)depth;
}

static uint32_t spare_slot(decoder *d, uint8_t size)
{
    uint32_t class = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
    if (!d->move_slot[class]) {
        d->move_slot[class] = d->p->reg_bytes + 1;
        d->p->reg_bytes += (uint32_t)LANES << class;
    }
    return d->move_slot[class] - 1;
}

static bool is_read_later(const move *moves, uint32_t count, uint32_t slot)
{
    for (uint32_t k = 0; k < count; k++)
        if (!moves[k].is_done && moves[k].from == slot)
            return true;
    return false;
}

void decode_moves(decoder *d, const ir_inst *at, ir_ref first, const ir_ref *from, uint32_t count,
                  move_kind kind, uint32_t depth)
{
    move *moves = arena_array(d->scratch, move, count + 1);
    uint32_t left = 0;
    decode_nv_moves(d, at, first, from, count);
    for (uint32_t k = 0; k < count; k++) {
        ir_type type = (ir_type)d->f->values.at[first + k].type;
        moves[k] =
            (move){d->slot[first + k], decode_slot(d, from[k]), (uint8_t)ir_type_size(type), false};
        moves[k].is_done = moves[k].to == moves[k].from;
        left += !moves[k].is_done;
    }
    while (left) {
        bool moved = false;
        for (uint32_t k = 0; k < count; k++) {
            move *m = &moves[k];
            if (m->is_done)
                continue;
            m->is_done = true; // its own source does not block it
            if (is_read_later(moves, count, m->to)) {
                m->is_done = false;
                continue;
            }
            emit_move(d, at, m->to, m->from, m->size, kind, depth);
            left--;
            moved = true;
        }
        if (moved)
            continue;
        // Only cycles are left: save one source aside and read it from there.
        uint32_t k = 0;
        while (moves[k].is_done)
            k++;
        uint32_t spare = spare_slot(d, moves[k].size), saved = moves[k].to;
        emit_move(d, at, spare, saved, moves[k].size, MOVE_ALL, depth);
        for (uint32_t j = 0; j < count; j++)
            if (!moves[j].is_done && moves[j].from == saved)
                moves[j].from = spare;
    }
}

// --- plain instructions
static uint16_t access_align(const ir_inst *i)
{
    must(!(i->align & (i->align - 1)));
    return (uint16_t)(i->align ? i->align : ir_type_size((ir_type)i->type));
}

static void decode_access(decoder *d, const ir_inst *i)
{
    bool is_load = i->op == IR_LOAD;
    uint32_t count = is_load ? i->result_count : i->operand_count - 1;
    code_op op = is_load ? (count == 1 ? CODE_LOAD : CODE_LOAD_MANY)
                         : (count == 1 ? CODE_STORE : CODE_STORE_MANY);
    code *c = decode_emit(d, op, i);
    c->count = (uint8_t)count;
    c->align = access_align(i);
    c->u.imm = i->imm;
    c->a = decode_slot(d, ir_operand(d->f, i, 0));
    uint32_t list = d->extra.len;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t slot = decode_slot(d, is_load ? i->result + k : ir_operand(d->f, i, k + 1));
        if (count > 1)
            vec_push(d->a, &d->extra, slot);
        else
            list = slot;
    }
    if (is_load)
        c->d = list;
    else
        c->b = list;
}

static void decode_pure(decoder *d, const ir_inst *i)
{
    lane_fn *fn = lane_find((ir_op)i->op, (ir_type)i->type, (ir_type)i->aux, d->fast);
    uint32_t slots[3] = {0};
    must(i->operand_count <= 3 && i->result_count == 1);
    for (uint32_t k = 0; k < i->operand_count; k++)
        slots[k] = decode_slot(d, ir_operand(d->f, i, k));
    if (fn) {
        code *c = decode_emit(d, CODE_LANE, i);
        c->d = d->slot[i->result];
        c->a = slots[0];
        c->b = slots[1];
        c->c = slots[2];
        c->u.fn = fn;
        return;
    }
    uint32_t list = d->extra.len;
    for (uint32_t k = 0; k < i->operand_count; k++) {
        vec_push(d->a, &d->extra, slots[k]);
        vec_push(d->a, &d->extra, ir_type_size(ir_type_of(d->f, ir_operand(d->f, i, k))));
    }
    code *c = decode_emit(d, CODE_EVAL, i);
    c->d = d->slot[i->result];
    c->b = list;
    c->size = (uint8_t)ir_type_size(ir_type_of(d->f, i->result));
    c->u.eval.op = i->op;
    c->u.eval.type = i->type;
    c->u.eval.count = (uint8_t)i->operand_count;
    c->u.eval.aux = i->aux;
}

static void decode_print(decoder *d, const ir_inst *i)
{
    must(i->aux < d->f->module->strings.len);
    uint32_t list = d->extra.len;
    for (uint32_t k = 0; k < i->operand_count; k++)
        vec_push(d->a, &d->extra, decode_slot(d, ir_operand(d->f, i, k)));
    for (uint32_t k = 0; k < i->operand_count; k++)
        vec_push(d->a, &d->extra, ir_type_of(d->f, ir_operand(d->f, i, k)));
    code *c = decode_emit(d, CODE_PRINT, i);
    c->a = i->aux;
    c->b = list;
    c->c = i->operand_count;
}

static void decode_host(decoder *d, const ir_inst *i)
{
    const uint32_t *sites = channel_number_sites(d->f, d->scratch);
    uint32_t list = d->extra.len;
    for (uint32_t k = 0; k < i->operand_count; k++)
        vec_push(d->a, &d->extra, decode_slot(d, ir_operand(d->f, i, k)));
    uint32_t results = d->extra.len;
    for (uint32_t k = 0; k < i->result_count; k++)
        vec_push(d->a, &d->extra, d->slot[i->result + k]);
    code *c = decode_emit(d, CODE_HOST, i);
    c->a = sites[i - d->f->insts.at] - 1;
    c->b = list;
    c->c = i->operand_count;
    c->d = results;
    c->size = c->count = 1; // of what its pointers must be multiples
    c->u.imm = i->aux;
}

typedef struct other_row { // instructions that only need their operands' slots
    uint8_t code;
    uint8_t is_set;
} other_row;

static const other_row others[IR_OP_COUNT] = {
    [IR_ATOMIC] = {CODE_ATOMIC, 1},
    [IR_CAS] = {CODE_CAS, 1},
    [IR_ATOMLOAD] = {CODE_ATOMIC_LOAD, 1},
    [IR_ATOMSTORE] = {CODE_ATOMIC_STORE, 1},
    [IR_FENCE] = {CODE_FENCE, 1},
    [IR_BARRIER] = {CODE_BARRIER, 1},
    [IR_SHUFFLE] = {CODE_SHUFFLE, 1},
    [IR_BALLOT] = {CODE_BALLOT, 1},
    [IR_ACTIVE] = {CODE_ACTIVE, 1},
    [IR_MATCH] = {CODE_MATCH, 1},
    [IR_ASSERT] = {CODE_ASSERT, 1},
    [IR_TRAP] = {CODE_TRAP, 1},
    [IR_BOUNDS] = {CODE_BOUNDS, 1},
    [IR_ASSUME] = {CODE_ASSUME, 1},
    [IR_CLOCK] = {CODE_CLOCK, 1},
    [IR_NANOTIME] = {CODE_NANOTIME, 1},
    [IR_SLEEP] = {CODE_SLEEP, 1},
    [IR_SHADDR] = {CODE_SHADDR, 1},
    [IR_MAPA] = {CODE_MAPA, 1},
    [IR_RETURN] = {CODE_RETURN, 1},
    [IR_UNREACHABLE] = {CODE_UNREACHABLE, 1},
};

// One more than the slot of a watched shift's count: the shift follows at the same place. 0: it is
// gone.
static uint32_t watched_count(decoder *d, const ir_inst *i)
{
    for (ir_inst_id id = i->next; id; id = ir_at(d->f, id)->next) {
        const ir_inst *shift = ir_at(d->f, id);
        if (shift->op >= IR_SHL && shift->op <= IR_ASHR && shift->at.lo == i->at.lo &&
            shift->at.hi == i->at.hi)
            return decode_slot(d, ir_operand(d->f, shift, 1)) + 1;
    }
    return 0;
}

static void decode_other(decoder *d, const ir_inst *i)
{
    uint32_t slots[3] = {0};
    uint32_t count = i->op == IR_RETURN ? 0 : i->operand_count;
    must(count <= 3);
    for (uint32_t k = 0; k < count; k++)
        slots[k] = decode_slot(d, ir_operand(d->f, i, k));
    uint32_t watched = i->op == IR_ASSUME && i->imm ? watched_count(d, i) : 0;
    code *c = decode_emit(d, (code_op)others[i->op].code, i);
    c->d = i->result ? d->slot[i->result] : 0;
    c->a = slots[0];
    c->b = slots[1];
    c->c = slots[2];
    c->count = 1;
    c->u.imm = i->imm;
    if (i->op == IR_ATOMIC || i->op == IR_SHUFFLE)
        c->align = (uint16_t)i->aux;
    if (i->op == IR_ASSERT)
        c->b = i->aux;
    if (i->op == IR_ASSUME && i->imm)
        c->b = watched;
    if (i->op == IR_BOUNDS)
        c->d = i->aux;
    if (i->op == IR_MATCH && count)
        c->size = (uint8_t)ir_type_size(ir_type_of(d->f, ir_operand(d->f, i, 0)));
}

// --- calls
void decode_call(decoder *d, const ir_inst *i)
{
    const ir_func *callee = d->f->module->funcs.at[i->aux];
    must(callee->is_kept && i->result_count <= 1);
    if (!d->number[i->aux]) {
        vec_push(d->scratch, &d->wanted, callee);
        d->number[i->aux] = d->wanted.len;
    }
    uint32_t list = d->extra.len;
    for (uint32_t k = 0; k < i->operand_count; k++)
        vec_push(d->a, &d->extra, decode_slot(d, ir_operand(d->f, i, k)));
    code *c = decode_emit(d, CODE_CALL, i);
    c->a = d->number[i->aux] - 1;
    c->b = list;
    c->c = i->operand_count;
    c->d = i->result_count ? d->slot[i->result] : NO_SLOT;
}

// Lanes return at different times: each puts its own result.
void decode_return(decoder *d, const ir_inst *i)
{
    if (i->operand_count) {
        code *c = decode_emit(d, CODE_MOVE, i);
        c->d = d->function->result;
        c->a = decode_slot(d, ir_operand(d->f, i, 0));
        c->size = (uint8_t)d->function->result_bytes;
        c->count = 3;
    }
    decode_emit(d, CODE_LEAVE, i);
}

void decode_local(decoder *d, const ir_inst *i)
{
    code *c = decode_emit(d, CODE_LOCAL, i);
    c->d = d->slot[i->result];
    c->u.imm = (int64_t)(((uint64_t)(STATIC_SEGMENT + d->p->stack_segment) << INTERP_SEGMENT_BITS) +
                         d->locals.at[i->aux]);
}

void decode_plain(decoder *d, const ir_inst *i)
{
    if (i->op == IR_CALL)
        decode_call(d, i);
    else if (i->op == IR_RETURN && d->function)
        decode_return(d, i);
    else if (i->op == IR_LOAD || i->op == IR_STORE)
        decode_access(d, i);
    else if (i->op == IR_PRINT)
        decode_print(d, i);
    else if (i->op == IR_HOST)
        decode_host(d, i);
    else if (i->op == IR_NV)
        decode_nv(d, i);
    else if (others[i->op].is_set)
        decode_other(d, i);
    else if (i->op == IR_PTRADD || (i->op < IR_PTRADD))
        decode_pure(d, i);
    else if (i->op == IR_WARPSYNC && d->watch)
        decode_emit(d, CODE_WARPSYNC, i);
    else if (i->op != IR_WARPSYNC && i->op != IR_PREFETCH)
        bug("the interpreter does not know '%s'", ir_op_name((ir_op)i->op));
}

// --- facts about the whole kernel
void decode_strings(decoder *d)
{
    const ir_module *m = d->f->module;
    d->p->string_count = m->strings.len;
    d->p->strings = arena_array(d->a, str, m->strings.len + 1);
    for (uint32_t k = 0; k < m->strings.len; k++)
        d->p->strings[k] = (str){str_dup(d->a, m->strings.at[k]), m->strings.at[k].len};
}

// Blocks may run in parallel when their order is not observable: no output, no atomics on global
// memory but commuting ones of one kind whose old value is not used.
void decode_facts(decoder *d)
{
    const ir_func *f = d->f;
    interp_program *p = d->p;
    bool *used = arena_array(d->scratch, bool, f->values.len);
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        for (uint32_t k = 0; i->op != IR_NOP && k < i->operand_count; k++)
            if (!ir_is_const(ir_operand(f, i, k)))
                used[ir_operand(f, i, k)] = true;
    }
    uint32_t kinds = 0;
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (i->op == IR_NV || i->op == IR_MAPA)
            decode_nv_facts(p, i);
        if (i->op == IR_PRINT || i->op == IR_HOST || i->op == IR_CLOCK || i->op == IR_NANOTIME)
            p->is_sequential = true;
        p->keeps_warps |= i->op == IR_BARRIER || i->op == IR_SLEEP;
        p->keeps_warps |= i->op == IR_LOAD && i->hint == IR_HINT_VOLATILE;
        if (i->op != IR_ATOMIC && i->op != IR_CAS && i->op != IR_ATOMLOAD && i->op != IR_ATOMSTORE)
            continue;
        p->keeps_warps = true;
        if (ir_type_of(f, ir_operand(f, i, 0)) == IR_PTR_SHARED)
            continue;
        bool commutes = i->op == IR_ATOMIC && i->aux != IR_AT_XCHG && i->aux < IR_AT_FADD &&
                        !d->function; // whose kinds nobody compares with the kernel's
        p->is_sequential |= !commutes || used[i->result];
        kinds |= 1u << (i->aux & 31);
    }
    p->is_sequential |= (kinds & (kinds - 1)) != 0;
}

uint64_t interp_dynamic_offset(const interp_program *p)
{
    return p->dynamic_at;
}

uint64_t interp_shared_bytes(const interp_program *p)
{
    return p->shared_bytes;
}

bool interp_uses_dynamic_shared(const interp_program *p)
{
    return p->has_dynamic_shared;
}

bool interp_is_parallel(const interp_program *p)
{
    return !p->is_sequential;
}

uint32_t interp_code_len(const interp_program *p)
{
    return p->code_len;
}
