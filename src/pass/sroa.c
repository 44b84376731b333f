// Splits local arrays and structs into scalars: a local that is only loaded and stored at constant
// offsets becomes one small local per piece, which mem2reg then turns into values. Pieces that are
// accessed with several sizes, or through a volatile access, stay together in memory; the same
// bytes seen as another type of the same size go through a bitcast. A local whose address is used
// in any other way (a variable index, a comparison, stored somewhere) is left alone.
//
// Two walks: find where every pointer into a local points (`place` per value) and what is accessed;
// then rewrite the accesses of the pieces.
#include "pass/passes.h"

enum { SIZE_LIMIT = 64 * 1024 }; // of one local, in bytes

typedef struct place {
    uint32_t local; // + 1; 0: not a pointer into a local
    int64_t offset;
} place;

typedef struct piece {
    uint32_t offset, size;
    uint32_t local; // the new one
    ir_ref pointer; // to it; 0: not made yet
    uint8_t type;
    bool is_bad;
} piece;

typedef struct split {
    bool is_bad;
    bool needs_work;    // some access is not a plain one of the whole local
    uint32_t *piece_of; // per byte: index + 1 into pieces
} split;

typedef struct sroa {
    ir_func *f;
    arena *scratch;
    place *places; // per value
    split *splits; // per local
    vec(piece) pieces;
    bool did_change, has_renamed;
} sroa;

static void leave_alone(sroa *s, ir_ref r)
{
    if (!ir_is_const(r) && s->places[r].local)
        s->splits[s->places[r].local - 1].is_bad = true;
}

static uint32_t new_piece(sroa *s, uint32_t offset, uint32_t size, ir_type type, bool is_bad)
{
    vec_push(s->scratch, &s->pieces,
             (piece){.offset = offset, .size = size, .type = (uint8_t)type, .is_bad = is_bad});
    return s->pieces.len;
}

static bool is_castable(ir_type a, ir_type b)
{
    return a == b || (a != IR_I1 && b != IR_I1 && !ir_is_ptr(a) && !ir_is_ptr(b));
}

static void note_scalar(sroa *s, split *sp, uint32_t offset, ir_type type, bool is_bad)
{
    uint32_t size = ir_type_size(type), first = sp->piece_of[offset];
    const piece *here = first ? &s->pieces.at[first - 1] : NULL;
    if (here && !here->is_bad && !is_bad && here->offset == offset && here->size == size &&
        here->type == type)
        return; // as before
    bool is_same = true;
    for (uint32_t b = 0; b < size; b++)
        is_same &= sp->piece_of[offset + b] == first;
    if (first && is_same) {
        piece *p = &s->pieces.at[first - 1];
        sp->needs_work |= (ir_type)p->type != type;
        if (p->offset != offset || p->size != size || !is_castable((ir_type)p->type, type) ||
            is_bad)
            p->is_bad = true;
        return;
    }
    uint32_t fresh = new_piece(s, offset, size, type, is_bad || !is_same);
    for (uint32_t b = 0; b < size; b++) {
        uint32_t *owner = &sp->piece_of[offset + b];
        if (*owner)
            s->pieces.at[*owner - 1].is_bad = true;
        else
            *owner = fresh;
    }
}

static void note_access(sroa *s, const ir_inst *i, uint32_t count)
{
    place at = s->places[ir_operand(s->f, i, 0)];
    split *sp = &s->splits[at.local - 1];
    const ir_local *l = &s->f->locals.at[at.local - 1];
    int64_t offset;
    uint32_t size = ir_type_size((ir_type)i->type);
    if (sp->is_bad)
        return;
    if (__builtin_add_overflow(at.offset, i->imm, &offset) || offset < 0 ||
        (uint64_t)offset > l->size || (uint64_t)size * count > l->size - (uint64_t)offset) {
        sp->is_bad = true; // out of bounds: kept as written, so that checking finds it
        return;
    }
    ir_inst_id def = ir_def_of(s->f, ir_operand(s->f, i, 0));
    if (i->imm || size != l->size || count != 1 || ir_at(s->f, def)->op != IR_LOCAL)
        sp->needs_work = true;
    for (uint32_t k = 0; k < count; k++)
        note_scalar(s, sp, (uint32_t)offset + k * size, (ir_type)i->type,
                    i->hint == IR_HINT_VOLATILE);
}

static void note_pointer(sroa *s, const ir_inst *i)
{
    ir_ref base = ir_operand(s->f, i, 0);
    if (ir_is_const(base) || !s->places[base].local)
        return;
    place at = s->places[base];
    if (i->op == IR_PTRADD) {
        uint64_t bits;
        if (!ir_const_bits(s->f, ir_operand(s->f, i, 1), &bits) ||
            __builtin_add_overflow(at.offset, (int64_t)bits, &at.offset)) {
            leave_alone(s, base);
            return;
        }
    }
    s->places[i->result] = at;
}

static void find_accesses(sroa *s, ir_region_id region)
{
    const ir_func *f = s->f;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        const ir_ref *operands = ir_operands(f, i);
        uint32_t from = 0; // operands before it are understood
        if (i->op == IR_LOCAL) {
            s->places[i->result] = (place){i->aux + 1, 0};
        } else if (i->op == IR_PTRADD || i->op == IR_PTRCAST) {
            note_pointer(s, i);
            from = 1;
        } else if (i->op == IR_LOAD || i->op == IR_STORE) {
            if (!ir_is_const(operands[0]) && s->places[operands[0]].local)
                note_access(s, i, i->op == IR_LOAD ? i->result_count : i->operand_count - 1);
            from = 1;
        }
        for (uint32_t k = from; k < i->operand_count; k++)
            leave_alone(s, operands[k]);
        for (uint32_t k = 0; k < i->region_count; k++)
            find_accesses(s, i->regions + k);
    }
}

// --- rewriting

static ir_ref piece_pointer(sroa *s, uint32_t index, uint32_t local)
{
    ir_func *f = s->f;
    piece *p = &s->pieces.at[index];
    if (p->pointer)
        return p->pointer;
    ir_local old = f->locals.at[local];
    vec_push(f->module->in, &f->locals,
             (ir_local){.name = old.name,
                        .size = p->size,
                        .align = p->size ? p->size : 1,
                        .elem = p->type,
                        .at = old.at});
    p->local = f->locals.len - 1;
    ir_cursor c = ir_before(f, ir_region_at(f, f->body)->first);
    c.at = old.at;
    uint8_t type = IR_PTR_LOCAL;
    ir_inst_id inst = ir_add(&c, IR_LOCAL, IR_PTR_LOCAL, NULL, 0, &type, 1);
    ir_at(f, inst)->aux = p->local;
    p->pointer = ir_at(f, inst)->result;
    return p->pointer;
}

// One scalar of the piece's own type: only the pointer changes.
static bool redirect(sroa *s, ir_inst_id id, place at)
{
    ir_func *f = s->f;
    const ir_inst *i = ir_at(f, id);
    uint32_t index = s->splits[at.local - 1].piece_of[at.offset + i->imm] - 1;
    uint32_t count = i->op == IR_LOAD ? i->result_count : i->operand_count - 1;
    if (count != 1 || s->pieces.at[index].is_bad || s->pieces.at[index].type != i->type)
        return false;
    ir_ref pointer = piece_pointer(s, index, at.local - 1);
    ir_inst *changed = ir_at(f, id);
    ir_operands(f, changed)[0] = pointer;
    changed->imm = 0;
    changed->align = 0;
    changed->hint = IR_HINT_NONE;
    return true;
}

static void rewrite_load(sroa *s, ir_inst_id id, place at, ir_ref *with)
{
    ir_func *f = s->f;
    ir_inst old = *ir_at(f, id);
    uint32_t size = ir_type_size((ir_type)old.type);
    split *sp = &s->splits[at.local - 1];
    ir_cursor c = ir_before(f, id);
    for (uint32_t k = 0; k < old.result_count; k++) {
        int64_t offset = at.offset + old.imm + (int64_t)k * size;
        uint32_t index = sp->piece_of[offset] - 1;
        piece *p = &s->pieces.at[index];
        ir_ref v;
        if (p->is_bad) { // part of a wide access that stays
            v = ir_load(&c, (ir_type)old.type, ir_operand(f, ir_at(f, id), 0),
                        old.imm + (int64_t)k * size);
            ir_at(f, ir_def_of(f, v))->hint = old.hint;
        } else {
            v = ir_load(&c, (ir_type)p->type, piece_pointer(s, index, at.local - 1), 0);
            if (p->type != old.type)
                v = ir_convert(&c, IR_BITCAST, (ir_type)old.type, v);
        }
        f->values.at[v].name = f->values.at[old.result + k].name;
        with[old.result + k] = v;
    }
    ir_remove(f, id);
}

static void rewrite_store(sroa *s, ir_inst_id id, place at)
{
    ir_func *f = s->f;
    ir_inst old = *ir_at(f, id);
    uint32_t size = ir_type_size((ir_type)old.type);
    split *sp = &s->splits[at.local - 1];
    ir_cursor c = ir_before(f, id);
    for (uint32_t k = 0; k + 1 < old.operand_count; k++) {
        int64_t offset = at.offset + old.imm + (int64_t)k * size;
        uint32_t index = sp->piece_of[offset] - 1;
        piece *p = &s->pieces.at[index];
        ir_ref v = ir_operand(f, ir_at(f, id), k + 1);
        if (p->is_bad) {
            ir_store(&c, (ir_type)old.type, ir_operand(f, ir_at(f, id), 0),
                     old.imm + (int64_t)k * size, v);
            ir_at(f, ir_at(f, id)->prev)->hint = old.hint;
            continue;
        }
        if (p->type != old.type)
            v = ir_convert(&c, IR_BITCAST, (ir_type)p->type, v);
        ir_store(&c, (ir_type)p->type, piece_pointer(s, index, at.local - 1), 0, v);
    }
    ir_remove(f, id);
}

static bool has_good_piece(const sroa *s, const ir_inst *i, place at, uint32_t count)
{
    uint32_t size = ir_type_size((ir_type)i->type);
    for (uint32_t k = 0; k < count; k++)
        if (!s->pieces
                 .at[s->splits[at.local - 1].piece_of[at.offset + i->imm + (int64_t)k * size] - 1]
                 .is_bad)
            return true;
    return false;
}

static ir_ref *rewrite(sroa *s, uint32_t inst_count)
{
    ir_func *f = s->f;
    // Loads and bitcasts add at most two values per result.
    uint32_t room = f->values.len * 3 + f->locals.len + s->pieces.len + 16;
    ir_ref *with = arena_array(s->scratch, ir_ref, room);
    for (uint32_t id = 1; id < inst_count; id++) {
        const ir_inst *i = ir_at(f, id);
        if ((i->op != IR_LOAD && i->op != IR_STORE) || !i->parent)
            continue;
        ir_ref pointer = ir_operand(f, i, 0);
        if (ir_is_const(pointer) || !s->places[pointer].local)
            continue;
        place at = s->places[pointer];
        const split *sp = &s->splits[at.local - 1];
        uint32_t count = i->op == IR_LOAD ? i->result_count : i->operand_count - 1;
        if (sp->is_bad || !sp->needs_work || !has_good_piece(s, i, at, count))
            continue;
        s->did_change = true;
        if (redirect(s, id, at))
            continue;
        if (i->op == IR_LOAD)
            rewrite_load(s, id, at, with);
        else
            rewrite_store(s, id, at);
        s->has_renamed = true;
    }
    must(f->values.len <= room);
    return with;
}

bool pass_sroa(ir_func *f, pass_ctx *ctx)
{
    if (!f->locals.len)
        return false;
    sroa s = {.f = f,
              .scratch = ctx->scratch,
              .places = arena_array(ctx->scratch, place, f->values.len),
              .splits = arena_array(ctx->scratch, split, f->locals.len)};
    for (uint32_t k = 0; k < f->locals.len; k++) {
        if (f->locals.at[k].size > SIZE_LIMIT || !f->locals.at[k].size)
            s.splits[k].is_bad = true;
        else
            s.splits[k].piece_of = arena_array(ctx->scratch, uint32_t, f->locals.at[k].size);
    }
    find_accesses(&s, f->body);
    ir_ref *with = rewrite(&s, f->insts.len);
    if (s.has_renamed)
        ir_rename(f, with);
    return s.did_change;
}
