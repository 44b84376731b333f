// Memory in lowering: where an object is, and how it is read, written, copied and cleared.
//
// A `place` is a base pointer, a constant byte offset and a type. Bases keep the most precise
// address space that is known (shared arrays give ptr.shared at once); only lower_generic gives it
// up. Invariant: computing a place evaluates the expression's side effects exactly once.
// Start at lower_place; copies start at gather and lower_copy.
#include "front/lower.h"

typedef struct piece { // consecutive scalars of one type, moved by one access
    uint64_t offset;
    ir_type type;
    uint32_t count;
} piece;

typedef vec(piece) pieces;

static uint32_t align_of(const type *t)
{
    uint32_t align = type_is_record(t) && !t->is_low ? type_def(t)->align : t->align;
    return align ? align : 1;
}

static place place_at(ir_ref base, int64_t offset, const type *t)
{
    uint8_t hint = t->quals & QUAL_VOLATILE ? IR_HINT_VOLATILE : IR_HINT_NONE;
    return (place){.base = base, .offset = offset, .type = t, .hint = hint};
}

place lower_inside(lower *l, place p, uint64_t offset, const type *t, const field *bits)
{
    t = bits ? type_lowered(l->f->in, t, type_align(p.type))
             : type_inside(l->f->in, p.type, offset, t);
    place part = place_at(p.base, lower_offset(p.offset, offset), t);
    if (p.hint)
        part.hint = p.hint;
    part.bits = bits;
    return part;
}

// --- slots

ir_ref lower_local(lower *l, const char *name, const type *t, uint32_t align, span at)
{
    ir_func *f = l->func;
    uint64_t size = lower_size(t);
    ir_local slot = {.name = name,
                     .size = size ? size : 1,
                     .align = align > align_of(t) ? align : align_of(t),
                     .elem = (uint8_t)lower_leaf_type(t),
                     .row = lower_row_size(t),
                     .at = at};
    vec_push(l->f->in, &f->locals, slot);
    ir_inst_id before =
        l->last_local ? ir_at(f, l->last_local)->next : ir_region_at(f, f->body)->first;
    ir_cursor c = {f, f->body, before, at};
    uint8_t result = IR_PTR_LOCAL;
    l->last_local = ir_add(&c, IR_LOCAL, IR_PTR_LOCAL, NULL, 0, &result, 1);
    ir_at(f, l->last_local)->aux = f->locals.len - 1;
    ir_ref pointer = ir_at(f, l->last_local)->result;
    f->values.at[pointer].name = name;
    return pointer;
}

place lower_temp(lower *l, const type *t, span at)
{
    return place_at(lower_local(l, NULL, t->unqualified, 0, at), 0, t->unqualified);
}

var_slot *lower_slot(lower *l, ast_decl *d)
{
    if (!d->lower_data) {
        var_slot *slot = arena_new_of(l->f->in, var_slot);
        slot->pointer = lower_local(l, d->name, d->type, d->align, d->at);
        d->lower_data = slot;
    }
    return d->lower_data;
}

static ir_ref module_pointer(lower *l, ir_op op, ir_type space, uint32_t index)
{
    uint8_t result = (uint8_t)space;
    ir_inst_id id = ir_add(&l->at, op, space, NULL, 0, &result, 1);
    ir_at(l->func, id)->aux = index;
    return ir_at(l->func, id)->result;
}

static place name_place(lower *l, const ast_expr *e)
{
    ast_decl *d = e->decl;
    if (!d || (d->kind != DECL_VAR && d->kind != DECL_PARAM))
        bug("'%s' is no variable", e->name);
    ir_ref base;
    if (d->is_shared)
        base = module_pointer(l, IR_SHARED, IR_PTR_SHARED, lower_shared(l, d));
    else if (d->is_per_thread)
        return place_at(l->thread, d->value, d->type);
    else if (d->is_const_data)
        base = module_pointer(l, IR_CONSTANT, IR_PTR_CONST, lower_const_data(l, d));
    else
        base = lower_slot(l, d)->pointer;
    if (!base)
        bug("parameter '%s' is written but was kept as a value", d->name);
    return place_at(base, 0, d->type);
}

// --- addresses

ir_ref lower_scaled(lower *l, const ast_expr *index, uint64_t size, int64_t *constant)
{
    const_value known;
    *constant = 0;
    if (const_eval(l->f, index, &known) && !known.is_float) {
        *constant = (int64_t)(known.integer * size);
        return IR_NONE;
    }
    ir_ref i = lower_convert(l, lower_value(l, index), index->type, type_scalar(TY_I64));
    l->at.at = index->at;
    if (size == 1)
        return i;
    return ir_bin(&l->at, IR_MUL, IR_I64, i, ir_i64(l->func, (int64_t)size));
}

static place moved(lower *l, place p, ir_ref bytes, int64_t constant, span at)
{
    l->at.at = at;
    if (bytes)
        p.base = ir_ptradd(&l->at, p.base, bytes);
    p.offset = lower_offset(p.offset, (uint64_t)constant);
    return p;
}

// `pointer ± integer`, the operands in the order they are written.
static place offset_pointee(lower *l, const ast_expr *e)
{
    uint64_t size = lower_size(e->type->base);
    int64_t constant;
    ir_ref bytes;
    place p;
    size = size ? size : 1;
    if (e->a->type->kind == TY_PTR) {
        p = lower_pointee(l, e->a);
        bytes = lower_scaled(l, e->b, size, &constant);
    } else {
        bytes = lower_scaled(l, e->a, size, &constant);
        p = lower_pointee(l, e->b);
    }
    l->at.at = e->at;
    if (e->op == TOK_MINUS) {
        constant = (int64_t)(0 - (uint64_t)constant);
        if (bytes)
            bytes = ir_bin(&l->at, IR_SUB, IR_I64, ir_i64(l->func, 0), bytes);
    }
    return moved(l, p, bytes, constant, e->at);
}

place lower_pointee(lower *l, const ast_expr *e)
{
    const type *to = e->type->base;
    place p;
    if (e->kind == E_CONVERT && e->convert == CONVERT_DECAY)
        p = lower_place(l, e->a);
    else if (((e->kind == E_CONVERT && e->convert == CONVERT_NOOP) || e->kind == E_CAST) &&
             e->a->type->kind == TY_PTR)
        p = lower_pointee(l, e->a);
    else if (e->kind == E_UNARY && e->op == TOK_AMP)
        p = lower_place(l, e->a);
    else if (e->kind == E_BINARY && (e->op == TOK_PLUS || e->op == TOK_MINUS))
        p = offset_pointee(l, e);
    else
        p = (place){.base = lower_value(l, e), .type = to};
    bool is_inside = e->kind == E_CONVERT && e->convert == CONVERT_DECAY;
    return place_at(p.base, p.offset, is_inside ? type_inside(l->f->in, p.type, 0, to) : to);
}

static place index_place(lower *l, const ast_expr *e)
{
    int64_t constant;
    if (e->a->type->kind != TY_PTR)
        bug("the base of an index is not a pointer");
    place p = lower_pointee(l, e->a);
    ir_ref bytes = lower_scaled(l, e->b, lower_size(e->type), &constant);
    p = moved(l, p, bytes, constant, e->at);
    return place_at(p.base, p.offset,
                    p.type->is_low ? type_lowered(l->f->in, e->type, p.type->align) : e->type);
}

static place member_place(lower *l, const ast_expr *e)
{
    place p = e->is_arrow ? lower_pointee(l, e->a) : lower_place(l, e->a);
    return lower_inside(l, p, e->field_offset, e->type, e->bits);
}

static place string_place(lower *l, const ast_expr *e)
{
    ir_data data = {
        .name = "string", .size = e->bytes.len + 1, .align = 1, .elem = IR_I8, .at = e->at};
    uint8_t *bytes = arena_alloc(l->f->in, e->bytes.len + 1);
    memcpy(bytes, e->bytes.at, e->bytes.len);
    data.bytes = bytes;
    vec_push(l->f->in, &l->module->data, data);
    return place_at(module_pointer(l, IR_CONSTANT, IR_PTR_CONST, l->module->data.len - 1), 0,
                    e->type);
}

place lower_place(lower *l, const ast_expr *e)
{
    l->at.at = e->at;
    switch ((expr_kind)e->kind) {
    case E_NAME: return name_place(l, e);
    case E_INDEX: return index_place(l, e);
    case E_MEMBER: return member_place(l, e);
    case E_STRING: return string_place(l, e);
    case E_UNARY:
        if (e->op == TOK_STAR)
            return lower_pointee(l, e->a);
        break;
    case E_CONVERT:
    case E_CAST:
        if (type_is_record(e->type) || (e->convert == CONVERT_NOOP && e->is_lvalue))
            return lower_place(l, e->a);
        break;
    case E_COMPOUND:
    case E_ASSIGN:
    case E_COND:
    case E_COMMA:
    case E_CALL: return lower_record(l, e);
    case E_POISON:
    case E_INT:
    case E_FLOAT:
    case E_INCDEC:
    case E_BINARY:
    case E_SIZEOF:
    case E_ALIGNOF:
    case E_INIT_LIST:
    case E_GENERIC:
    case E_STMT:
    case E_KIND_COUNT: break;
    }
    bug("expression kind %d has no place in memory", e->kind);
}

ir_ref lower_address(lower *l, place p)
{
    if (!p.offset)
        return p.base;
    return ir_ptradd(&l->at, p.base, ir_i64(l->func, p.offset));
}

ir_ref lower_generic(lower *l, ir_ref pointer)
{
    if (ir_type_of(l->func, pointer) == IR_PTR_GEN)
        return pointer;
    return ir_convert(&l->at, IR_PTRCAST, IR_PTR_GEN, pointer);
}

// --- accesses

static void load_piece(lower *l, place p, piece part, ir_ref *values)
{
    uint8_t types[16];
    memset(types, (int)part.type, sizeof types);
    ir_inst_id id = ir_add(&l->at, IR_LOAD, part.type, &p.base, 1, types, part.count);
    ir_inst *in = ir_at(l->func, id);
    in->imm = lower_offset(p.offset, part.offset);
    in->hint = p.hint;
    in->align = (uint16_t)(part.count > 1 ? part.count * ir_type_size(part.type) : 0);
    for (uint32_t i = 0; i < part.count; i++)
        values[i] = in->result + i;
}

static void store_piece(lower *l, place p, piece part, const ir_ref *values)
{
    ir_ref operands[17] = {p.base};
    memcpy(operands + 1, values, part.count * sizeof *values);
    ir_inst_id id = ir_add(&l->at, IR_STORE, part.type, operands, part.count + 1, NULL, 0);
    ir_inst *in = ir_at(l->func, id);
    in->imm = lower_offset(p.offset, part.offset);
    in->hint = p.hint;
    in->align = (uint16_t)(part.count > 1 ? part.count * ir_type_size(part.type) : 0);
}

// --- numbers that are not aligned, by units that are

static ir_type unit_of(uint32_t bytes)
{
    return bytes >= 8 ? IR_I64 : bytes == 4 ? IR_I32 : bytes == 2 ? IR_I16 : IR_I8;
}

static bool is_split(place p)
{
    return p.type->is_low && p.type->align < p.type->size;
}

static ir_ref load_split(lower *l, place p)
{
    uint32_t unit = p.type->align, size = (uint32_t)p.type->size;
    ir_type work = size == 8 ? IR_I64 : IR_I32, t = type_ir(p.type);
    ir_ref all = IR_NONE;
    for (uint32_t i = 0; i < size; i += unit) {
        ir_ref part;
        load_piece(l, p, (piece){i, unit_of(unit), 1}, &part);
        if (unit_of(unit) != work)
            part = ir_convert(&l->at, IR_ZEXT, work, part);
        if (i)
            part = ir_bin(&l->at, IR_SHL, work, part, ir_i32(l->func, (int32_t)(8 * i)));
        all = i ? ir_bin(&l->at, IR_OR, work, all, part) : part;
    }
    if (size == 2)
        all = ir_convert(&l->at, IR_TRUNC, IR_I16, all);
    if (t == IR_PTR_GEN)
        return ir_convert(&l->at, IR_INTTOPTR, t, all);
    return t == unit_of(size) ? all : ir_convert(&l->at, IR_BITCAST, t, all);
}

static void store_split(lower *l, place p, ir_ref value)
{
    uint32_t unit = p.type->align, size = (uint32_t)p.type->size;
    ir_type work = size == 8 ? IR_I64 : IR_I32, t = type_ir(p.type);
    if (t == IR_PTR_GEN)
        value = ir_convert(&l->at, IR_PTRTOINT, IR_I64, lower_generic(l, value));
    else if (t != unit_of(size))
        value = ir_convert(&l->at, IR_BITCAST, unit_of(size), value);
    if (size == 2)
        value = ir_convert(&l->at, IR_ZEXT, work, value);
    for (uint32_t i = 0; i < size; i += unit) {
        ir_ref part = value;
        if (i)
            part = ir_bin(&l->at, IR_LSHR, work, part, ir_i32(l->func, (int32_t)(8 * i)));
        part = ir_convert(&l->at, IR_TRUNC, unit_of(unit), part);
        store_piece(l, p, (piece){i, unit_of(unit), 1}, &part);
    }
}

ir_ref lower_load(lower *l, place p)
{
    ir_ref value;
    if (p.bits)
        return lower_load_bits(l, p);
    if (is_split(p))
        return load_split(l, p);
    load_piece(l, p, (piece){0, type_ir(p.type), 1}, &value);
    return value;
}

void lower_store(lower *l, place p, ir_ref value)
{
    if (p.bits)
        lower_store_bits(l, p, value);
    else if (is_split(p))
        store_split(l, p, value);
    else
        store_piece(l, p, (piece){0, type_ir(p.type), 1}, &value);
}

void lower_load_many(lower *l, place p, ir_type t, uint32_t count, ir_ref *values)
{
    load_piece(l, p, (piece){0, t, count}, values);
}

void lower_store_many(lower *l, place p, ir_type t, uint32_t count, const ir_ref *values)
{
    store_piece(l, p, (piece){0, t, count}, values);
}

// --- whole records and arrays

static uint32_t align_at(uint32_t align, uint64_t offset)
{
    uint64_t low = offset & (~offset + 1);
    return offset && low < align ? (uint32_t)low : align;
}

// Appends the scalars of `t`, `offset` bytes behind what is aligned to `align`; false when there
// are more than LOWER_LEAF_LIMIT. Those that are not aligned there are several pieces.
static bool gather(lower *l, const type *t, uint32_t align, uint64_t offset, pieces *out);

static uint64_t pieces_bytes(const pieces *list)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < list->len; i++)
        bytes += ir_type_size(list->at[i].type);
    return bytes;
}

// A union travels as its first member that covers all its bytes, else as words.
static bool gather_union(lower *l, const type *t, uint32_t align, uint64_t offset, pieces *out)
{
    const type *def = type_def(t);
    for (uint32_t i = 0; i < def->fields.len; i++) {
        pieces member = {0};
        if (def->fields.at[i].bits)
            continue;
        if (!gather(l, def->fields.at[i].type, align, offset, &member))
            return false;
        if (pieces_bytes(&member) != def->size)
            continue;
        for (uint32_t k = 0; k < member.len; k++) {
            if (out->len >= LOWER_LEAF_LIMIT)
                return false;
            vec_push(l->f->in, out, member.at[k]);
        }
        return true;
    }
    uint32_t word = align_at(align, offset) < def->align ? align_at(align, offset) : def->align;
    word = word > 4 ? 4 : word;
    ir_type word_type = word == 4 ? IR_I32 : word == 2 ? IR_I16 : IR_I8;
    for (uint64_t at = 0; at < def->size; at += word) {
        if (out->len >= LOWER_LEAF_LIMIT)
            return false;
        vec_push(l->f->in, out, (piece){offset + at, word_type, 1});
    }
    return true;
}

// The bytes of the bit-fields from member *i on, and *i moved behind them.
static bool gather_bits(lower *l, const type *def, uint32_t *i, uint32_t align, uint64_t offset,
                        pieces *out)
{
    uint64_t lo = UINT64_MAX, hi = 0;
    for (; *i < def->fields.len && def->fields.at[*i].bits; ++*i) {
        const field *f = &def->fields.at[*i];
        uint64_t end = f->offset + f->unit * f->units;
        lo = f->offset < lo ? f->offset : lo;
        hi = end > hi ? end : hi;
    }
    while (lo < hi) {
        uint64_t size = 8;
        while (lo % size || size > hi - lo || size > def->align ||
               size > align_at(align, offset + lo))
            size /= 2;
        if (out->len >= LOWER_LEAF_LIMIT)
            return false;
        ir_type t = size == 8 ? IR_I64 : size == 4 ? IR_I32 : size == 2 ? IR_I16 : IR_I8;
        vec_push(l->f->in, out, (piece){offset + lo, t, 1});
        lo += size;
    }
    return true;
}

static bool gather(lower *l, const type *t, uint32_t align, uint64_t offset, pieces *out)
{
    const type *def = type_def(t);
    if (t->kind == TY_UNION)
        return gather_union(l, t, align, offset, out);
    if (t->kind == TY_STRUCT) {
        for (uint32_t i = 0; i < def->fields.len;) {
            const field *f = &def->fields.at[i];
            if (f->bits ? !gather_bits(l, def, &i, align, offset, out)
                        : !gather(l, f->type, align, offset + f->offset, out))
                return false;
            i += !f->bits;
        }
        return true;
    }
    if (t->kind == TY_ARRAY) {
        for (uint64_t i = 0; i < t->len; i++) {
            if (!gather(l, t->base, align, offset + i * lower_size(t->base), out))
                return false;
        }
        return true;
    }
    uint32_t unit = align_at(align, offset);
    if (unit >= t->size) {
        if (out->len >= LOWER_LEAF_LIMIT)
            return false;
        vec_push(l->f->in, out, (piece){offset, type_ir(t), 1});
        return true;
    }
    for (uint64_t at = 0; at < t->size; at += unit) {
        if (out->len >= LOWER_LEAF_LIMIT)
            return false;
        vec_push(l->f->in, out, (piece){offset + at, unit_of(unit), 1});
    }
    return true;
}

// How many of the scalars from `i` on can be moved by one access.
static uint32_t run_length(const pieces *list, uint32_t i, uint32_t align)
{
    piece first = list->at[i];
    uint32_t size = ir_type_size(first.type);
    uint32_t best = 1;
    for (uint32_t n = 2; n <= 16 && i + n <= list->len && first.type != IR_I1; n *= 2) {
        if (n * size > 16 || n * size > align_at(align, first.offset))
            break;
        for (uint32_t k = n / 2; k < n; k++) {
            piece next = list->at[i + k];
            if (next.type != first.type || next.offset != first.offset + k * size)
                return best;
        }
        best = n;
    }
    return best;
}

static bool gather_wide(lower *l, const type *t, uint32_t align, pieces *out)
{
    pieces scalars = {0};
    if (!gather(l, t, align, 0, &scalars))
        return false;
    for (uint32_t i = 0; i < scalars.len;) {
        uint32_t n = run_length(&scalars, i, align);
        vec_push(l->f->in, out, (piece){scalars.at[i].offset, scalars.at[i].type, n});
        i += n;
    }
    return true;
}

// What both are aligned to.
static uint32_t common_align(place to, const place *from)
{
    uint32_t align = align_of(to.type);
    return from && from->type->is_low && align_of(from->type) < align ? align_of(from->type)
                                                                      : align;
}

// loop over the words of `to`: from `from`, or zeros when it is NULL
static void word_loop(lower *l, place to, const place *from)
{
    ir_func *f = l->func;
    uint32_t word = common_align(to, from);
    word = word > 8 ? 8 : word;
    ir_type t = unit_of(word);
    ir_ref target = lower_address(l, to);
    ir_ref source = from ? lower_address(l, *from) : IR_NONE;
    ir_ref start = ir_i64(f, 0);
    ir_inst_id loop = ir_control(&l->at, IR_LOOP, &start, 1, 1, NULL, 0);
    ir_region_id outer = l->at.region;
    l->at.region = ir_at(f, loop)->regions;
    ir_ref at = ir_region_at(f, l->at.region)->args;
    ir_ref more = ir_bin(&l->at, IR_ULT, IR_I64, at, ir_i64(f, (int64_t)lower_size(to.type)));
    ir_inst_id test = ir_control(&l->at, IR_IF, &more, 1, 2, NULL, 0);
    ir_cursor yes = ir_at_end(f, ir_at(f, test)->regions, l->at.at);
    ir_exit(&yes, test, NULL, 0);
    ir_cursor no = ir_at_end(f, ir_at(f, test)->regions + 1, l->at.at);
    ir_exit(&no, loop, NULL, 0);
    ir_ref value = ir_constant(f, t, 0);
    if (from)
        load_piece(l, (place){.base = ir_ptradd(&l->at, source, at), .hint = from->hint},
                   (piece){0, t, 1}, &value);
    store_piece(l, (place){.base = ir_ptradd(&l->at, target, at), .hint = to.hint},
                (piece){0, t, 1}, &value);
    ir_ref next = ir_bin(&l->at, IR_ADD, IR_I64, at, ir_i64(f, word));
    ir_next(&l->at, loop, &next, 1);
    l->at.region = outer;
}

void lower_copy(lower *l, place to, place from)
{
    pieces list = {0};
    if (type_is_scalar(to.type) || type_is_storage_float(to.type)) {
        lower_store(l, to, lower_load(l, from));
        return;
    }
    if (!gather_wide(l, to.type, common_align(to, &from), &list)) {
        word_loop(l, to, &from);
        return;
    }
    ir_ref values[LOWER_LEAF_LIMIT];
    uint32_t n = 0;
    for (uint32_t i = 0; i < list.len; n += list.at[i++].count)
        load_piece(l, from, list.at[i], values + n);
    n = 0;
    for (uint32_t i = 0; i < list.len; n += list.at[i++].count)
        store_piece(l, to, list.at[i], values + n);
}

static bool zero_pieces(lower *l, place to)
{
    pieces list = {0};
    if (!gather_wide(l, to.type, align_of(to.type), &list))
        return false;
    for (uint32_t i = 0; i < list.len; i++) {
        ir_ref values[16];
        for (uint32_t k = 0; k < list.at[i].count; k++)
            values[k] = ir_constant(l->func, list.at[i].type, 0);
        store_piece(l, to, list.at[i], values);
    }
    return true;
}

void lower_zero(lower *l, place to)
{
    if (!zero_pieces(l, to))
        word_loop(l, to, NULL);
}

void lower_zero_small(lower *l, place to)
{
    (void)zero_pieces(l, to);
}
