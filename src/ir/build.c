// Making modules, functions, constants and instructions. Every instruction enters the world through
// ir_add (ir_control adds its regions): results are consecutive values, operands a slice of the
// function's operand array. ir_add also fixes the type field of operations that have only one.
#include "ir/tables.h"

ir_module *ir_module_in(arena *a, name_table *names)
{
    ir_module *m = arena_new_of(a, ir_module);
    m->in = a;
    m->names = names;
    return m;
}

ir_region_id ir_new_region(ir_func *f, ir_inst_id owner)
{
    vec_push(f->module->in, &f->regions, (ir_region){.owner = owner});
    return f->regions.len - 1;
}

ir_func *ir_func_add(ir_module *m, const char *name)
{
    ir_func *f = arena_new_of(m->in, ir_func);
    f->module = m;
    f->name = name;
    f->const_index = map_make(m->in);
    // Index 0 of every array means "none".
    vec_push(m->in, &f->values, (ir_value){0});
    vec_push(m->in, &f->consts, (ir_const){0});
    vec_push(m->in, &f->insts, (ir_inst){0});
    vec_push(m->in, &f->regions, (ir_region){0});
    vec_reserve(m->in, &f->operands, 8); // never NULL: a function may have no operand at all
    vec_push(m->in, &m->funcs, f);
    f->body = ir_new_region(f, 0);
    return f;
}

static ir_ref new_value(ir_func *f, ir_type type, ir_def def, uint32_t owner, uint32_t index)
{
    must(index <= UINT16_MAX && f->values.len < IR_CONST_BIT);
    vec_push(
        f->module->in, &f->values,
        (ir_value){
            .type = (uint8_t)type, .def = (uint8_t)def, .index = (uint16_t)index, .owner = owner});
    return f->values.len - 1;
}

ir_ref ir_param_add(ir_func *f, ir_param param)
{
    uint32_t index = f->params.len;
    ir_ref value = new_value(f, (ir_type)param.type, IR_DEF_PARAM, 0, index);
    if (!index)
        f->first_param = value;
    must(value == f->first_param + index);
    f->values.at[value].name = param.name;
    vec_push(f->module->in, &f->params, param);
    return value;
}

static uint64_t const_mask(ir_type type)
{
    uint32_t size = ir_type_size(type);
    return type == IR_I1 ? 1 : size >= 8 ? UINT64_MAX : ((uint64_t)1 << (size * 8)) - 1;
}

ir_ref ir_constant(ir_func *f, ir_type type, uint64_t bits)
{
    bits &= const_mask(type);
    uint64_t key = bits * 0x9e3779b97f4a7c15u ^ (bits >> 32) ^ ((uint64_t)type << 56);
    for (;; key++) {
        uint64_t *slot = map_at(&f->const_index, key);
        if (!*slot) {
            vec_push(f->module->in, &f->consts, (ir_const){type, bits});
            *slot = (f->consts.len - 1) | IR_CONST_BIT;
            return (ir_ref)*slot;
        }
        const ir_const *known = &f->consts.at[ir_index((ir_ref)*slot)];
        if (known->type == type && known->bits == bits)
            return (ir_ref)*slot;
    }
}

ir_ref ir_i32(ir_func *f, int32_t v)
{
    return ir_constant(f, IR_I32, (uint32_t)v);
}

ir_ref ir_i64(ir_func *f, int64_t v)
{
    return ir_constant(f, IR_I64, (uint64_t)v);
}

ir_ref ir_f32(ir_func *f, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return ir_constant(f, IR_F32, bits);
}

ir_ref ir_f64(ir_func *f, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return ir_constant(f, IR_F64, bits);
}

ir_ref ir_bool(ir_func *f, bool v)
{
    return ir_constant(f, IR_I1, v);
}

static uint32_t add_operands(ir_func *f, const ir_ref *operands, uint32_t count)
{
    uint32_t start = f->operands.len;
    if (f->operands.cap < start + count) {
        // The operands may be a slice of the very array that grows.
        bool is_own = operands >= f->operands.at && operands < f->operands.at + start;
        size_t own_at = is_own ? (size_t)(operands - f->operands.at) : 0;
        vec_reserve(f->module->in, &f->operands, start + count);
        if (is_own)
            operands = f->operands.at + own_at;
    }
    ir_ref *to = f->operands.at + start;
    for (uint32_t k = 0; k < count; k++)
        to[k] = operands[k];
    f->operands.len += count;
    return start;
}

static void add_results(ir_func *f, ir_inst_id inst, const uint8_t *types, uint32_t count)
{
    ir_ref first = 0;
    for (uint32_t i = 0; i < count; i++) {
        ir_ref v = new_value(f, (ir_type)types[i], IR_DEF_INST, inst, i);
        first = first ? first : v;
    }
    ir_at(f, inst)->result = first;
    ir_at(f, inst)->result_count = count;
}

ir_inst_id ir_add(ir_cursor *c, ir_op op, ir_type type, const ir_ref *operands,
                  uint32_t operand_count, const uint8_t *result_types, uint32_t result_count)
{
    ir_func *f = c->f;
    (void)ir_op_fixed_type(op, &type);
    uint32_t slice = add_operands(f, operands, operand_count);
    vec_push(f->module->in, &f->insts,
             (ir_inst){.op = (uint16_t)op,
                       .type = (uint8_t)type,
                       .operands = slice,
                       .operand_count = operand_count,
                       .at = c->at});
    ir_inst_id inst = f->insts.len - 1;
    add_results(f, inst, result_types, result_count);
    ir_insert(c, inst);
    return inst;
}

ir_inst_id ir_add_like(ir_cursor *c, const ir_func *from, const ir_inst *like,
                       const ir_ref *operands)
{
    ir_func *f = c->f;
    uint32_t slice = add_operands(f, operands, like->operand_count), count = like->result_count;
    vec_push(f->module->in, &f->insts, *like);
    ir_inst_id id = f->insts.len - 1;
    ir_inst *made = ir_at(f, id);
    must(f->values.len + count < IR_CONST_BIT);
    vec_reserve(f->module->in, &f->values, f->values.len + count);
    for (uint32_t k = 0; k < count; k++) {
        ir_value *v = &f->values.at[f->values.len + k];
        *v = from->values.at[made->result + k];
        v->owner = id;
    }
    made->operands = slice;
    made->result = count ? f->values.len : 0;
    made->at = c->at;
    f->values.len += count;
    ir_insert(c, id);
    return id;
}

static ir_ref add_one(ir_cursor *c, ir_op op, ir_type type, const ir_ref *operands, uint32_t count,
                      ir_type result)
{
    uint8_t result_type = (uint8_t)result;
    ir_inst_id inst = ir_add(c, op, type, operands, count, &result_type, 1);
    return ir_at(c->f, inst)->result;
}

ir_ref ir_un(ir_cursor *c, ir_op op, ir_type type, ir_ref a)
{
    return add_one(c, op, type, &a, 1, type);
}

ir_ref ir_bin(ir_cursor *c, ir_op op, ir_type type, ir_ref a, ir_ref b)
{
    ir_ref operands[] = {a, b};
    return add_one(c, op, type, operands, 2, ir_op_rows[op].rule == IR_RULE_CMP ? IR_I1 : type);
}

ir_ref ir_convert(ir_cursor *c, ir_op op, ir_type to, ir_ref a)
{
    ir_ref v = add_one(c, op, to, &a, 1, to);
    ir_at(c->f, ir_def_of(c->f, v))->aux = ir_type_of(c->f, a);
    return v;
}

ir_ref ir_select(ir_cursor *c, ir_ref condition, ir_ref yes, ir_ref no)
{
    ir_ref operands[] = {condition, yes, no};
    ir_type type = ir_type_of(c->f, yes);
    return add_one(c, IR_SELECT, type, operands, 3, type);
}

ir_ref ir_load(ir_cursor *c, ir_type type, ir_ref pointer, int64_t offset)
{
    ir_ref v = add_one(c, IR_LOAD, type, &pointer, 1, type);
    ir_at(c->f, ir_def_of(c->f, v))->imm = offset;
    return v;
}

void ir_store(ir_cursor *c, ir_type type, ir_ref pointer, int64_t offset, ir_ref value)
{
    ir_ref operands[] = {pointer, value};
    ir_inst_id inst = ir_add(c, IR_STORE, type, operands, 2, NULL, 0);
    ir_at(c->f, inst)->imm = offset;
}

ir_ref ir_ptradd(ir_cursor *c, ir_ref pointer, ir_ref bytes_i64)
{
    ir_ref operands[] = {pointer, bytes_i64};
    ir_type type = ir_type_of(c->f, pointer);
    return add_one(c, IR_PTRADD, type, operands, 2, type);
}

ir_ref ir_region_arg(ir_func *f, ir_region_id region, ir_type type)
{
    uint32_t index = ir_region_at(f, region)->arg_count;
    ir_ref value = new_value(f, type, IR_DEF_REGION_ARG, region, index);
    ir_region *r = ir_region_at(f, region);
    if (!index)
        r->args = value;
    must(value == r->args + index);
    r->arg_count++;
    return value;
}

ir_inst_id ir_control(ir_cursor *c, ir_op op, const ir_ref *operands, uint32_t operand_count,
                      uint32_t region_count, const uint8_t *result_types, uint32_t result_count)
{
    ir_func *f = c->f;
    ir_inst_id inst = ir_add(c, op, IR_VOID, operands, operand_count, result_types, result_count);
    ir_region_id first = f->regions.len;
    for (uint32_t i = 0; i < region_count; i++)
        ir_new_region(f, inst);
    ir_inst *made = ir_at(f, inst);
    made->regions = first;
    made->region_count = region_count;
    if (op == IR_SWITCH)
        made->cases = arena_array(f->module->in, int64_t, region_count);
    if (op == IR_LOOP)
        for (uint32_t i = 0; i < operand_count; i++)
            ir_region_arg(f, first, ir_type_of(f, ir_operand(f, ir_at(f, inst), i)));
    return inst;
}

ir_inst_id ir_exit(ir_cursor *c, ir_inst_id target, const ir_ref *values, uint32_t count)
{
    ir_inst_id inst = ir_add(c, IR_EXIT, IR_VOID, values, count, NULL, 0);
    ir_at(c->f, inst)->aux = target;
    return inst;
}

ir_inst_id ir_next(ir_cursor *c, ir_inst_id loop, const ir_ref *values, uint32_t count)
{
    ir_inst_id inst = ir_add(c, IR_NEXT, IR_VOID, values, count, NULL, 0);
    ir_at(c->f, inst)->aux = loop;
    return inst;
}

ir_inst_id ir_return(ir_cursor *c, const ir_ref *values, uint32_t count)
{
    return ir_add(c, IR_RETURN, IR_VOID, values, count, NULL, 0);
}

void ir_set_operands(ir_func *f, ir_inst_id inst, const ir_ref *operands, uint32_t count)
{
    ir_inst *i = ir_at(f, inst);
    if (count <= i->operand_count) {
        if (count)
            memmove(ir_operands(f, i), operands, count * sizeof *operands);
    } else {
        i->operands = add_operands(f, operands, count);
    }
    i->operand_count = count;
}

void ir_set_results(ir_func *f, ir_inst_id inst, const uint8_t *types, uint32_t count)
{
    add_results(f, inst, types, count);
}

bool ir_has_calls(const ir_func *f)
{
    for (ir_inst_id id = 1; id < f->insts.len; id++)
        if (f->insts.at[id].op == IR_CALL)
            return true;
    return false;
}
