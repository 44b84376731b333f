// Bit-fields in lowering: a load takes the bits out of their unit, a store puts them in between the
// others. Invariant: only the units of the field are touched, which hold nothing but bit-fields, so
// that threads may write to other members meanwhile. A field in one unit costs one load, and one
// load and one store. Start at lower_load_bits.
#include "front/lower.h"

static ir_type unit_type(const field *f)
{
    return f->unit == 8 ? IR_I64 : f->unit == 4 ? IR_I32 : f->unit == 2 ? IR_I16 : IR_I8;
}

// What the bits are handled in: i32 where all of them and their place fit.
static ir_type work_type(const field *f)
{
    return f->unit == 8 || f->bit + f->bits > 32 ? IR_I64 : IR_I32;
}

static uint64_t mask_of(const field *f)
{
    return f->bits == 64 ? UINT64_MAX : (UINT64_C(1) << f->bits) - 1;
}

static ir_ref resized(lower *l, ir_ref v, ir_type to, bool is_signed)
{
    ir_type from = ir_type_of(l->func, v);
    if (from == to)
        return v;
    if (to == IR_I1)
        return ir_bin(&l->at, IR_INE, from, v, ir_constant(l->func, from, 0));
    bool widens = from == IR_I1 || ir_type_size(to) > ir_type_size(from);
    return ir_convert(&l->at, !widens ? IR_TRUNC : is_signed ? IR_SEXT : IR_ZEXT, to, v);
}

static ir_ref shifted(lower *l, ir_op op, ir_ref v, unsigned by)
{
    return by ? ir_bin(&l->at, op, ir_type_of(l->func, v), v, ir_i32(l->func, (int32_t)by)) : v;
}

static ir_ref masked(lower *l, ir_ref v, uint64_t mask)
{
    ir_type t = ir_type_of(l->func, v);
    return ir_bin(&l->at, IR_AND, t, v, ir_constant(l->func, t, mask));
}

static place unit_place(lower *l, const place *p, uint32_t i)
{
    static const type_kind kinds[9] = {[1] = TY_U8, [2] = TY_U16, [4] = TY_U32, [8] = TY_U64};
    const field *f = p->bits;
    const type *t = type_scalar(kinds[f->unit]);
    return (place){.base = p->base,
                   .offset = lower_offset(p->offset, (uint64_t)i * f->unit),
                   .type = p->type->is_low ? type_lowered(l->f->in, t, type_align(p->type)) : t,
                   .hint = p->hint};
}

// The field's bits at `bit` of v, as a value of its type.
static ir_ref extracted(lower *l, const field *f, ir_ref v, unsigned bit)
{
    unsigned width = 8 * ir_type_size(ir_type_of(l->func, v));
    bool is_signed = type_is_signed(f->type);
    if (is_signed) {
        v = shifted(l, IR_SHL, v, width - bit - (unsigned)f->bits);
        v = shifted(l, IR_ASHR, v, width - (unsigned)f->bits);
    } else {
        v = shifted(l, IR_LSHR, v, bit);
        if (bit + (unsigned)f->bits < width)
            v = masked(l, v, mask_of(f));
    }
    return resized(l, v, type_ir(f->type), is_signed);
}

ir_ref lower_load_bits(lower *l, place p)
{
    const field *f = p.bits;
    ir_type t = work_type(f);
    ir_ref all = IR_NONE;
    for (uint32_t i = 0; i < f->units; i++) {
        ir_ref unit = resized(l, lower_load(l, unit_place(l, &p, i)), t, false);
        unit = shifted(l, IR_SHL, unit, 8 * i * f->unit);
        all = i ? ir_bin(&l->at, IR_OR, t, all, unit) : unit;
    }
    return extracted(l, f, all, f->bit);
}

void lower_store_bits(lower *l, place p, ir_ref value)
{
    const field *f = p.bits;
    ir_type t = work_type(f);
    uint64_t mask = mask_of(f) << f->bit;
    ir_ref v = shifted(l, IR_SHL, masked(l, resized(l, value, t, false), mask_of(f)), f->bit);
    for (uint32_t i = 0; i < f->units; i++) {
        unsigned low = 8 * i * f->unit;
        uint64_t whole = f->unit == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * f->unit) - 1;
        uint64_t own = mask >> low & whole;
        place at = unit_place(l, &p, i);
        ir_ref part = shifted(l, IR_LSHR, v, low);
        if (own != whole) {
            ir_ref rest = masked(l, resized(l, lower_load(l, at), t, false), whole & ~own);
            part = ir_bin(&l->at, IR_OR, t, rest, f->units > 1 ? masked(l, part, own) : part);
        }
        lower_store(l, at, resized(l, part, unit_type(f), false));
    }
}

ir_ref lower_wrap_bits(lower *l, place p, ir_ref value)
{
    const field *f = p.bits;
    if (f->type->kind == TY_BOOL)
        return value;
    return extracted(l, f, resized(l, value, work_type(f), false), 0);
}
