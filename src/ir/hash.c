// Identity of a function: the same IR gives the same hash on every machine, in every process.
// Numbers in the arrays, names of values, and spans do not count; values are hashed by their place
// in reading order. What the function refers to (strings, shared arrays, tables, callees) is hashed
// by content.
#include "ir/tables.h"

typedef struct hasher {
    const ir_func *f;
    uint64_t h;
    map values, insts; // index -> place in reading order
} hasher;

static void mix(hasher *x, uint64_t v)
{
    x->h = (x->h ^ v) * 0x9e3779b97f4a7c15u;
    x->h ^= x->h >> 29;
    x->h *= 0xbf58476d1ce4e5b9u;
    x->h ^= x->h >> 32;
}

static void mix_text(hasher *x, str s)
{
    mix(x, s.len);
    mix(x, hash_bytes(0, s.at, s.len));
}

static void mix_values(hasher *x, ir_ref first, uint32_t count)
{
    mix(x, count);
    for (uint32_t k = 0; k < count; k++) {
        uint64_t place = x->values.len + 1;
        *map_at(&x->values, first + k) = place;
        mix(x, ir_type_of(x->f, first + k));
    }
}

static void mix_ref(hasher *x, ir_ref r)
{
    if (ir_is_const(r)) {
        mix(x, x->f->consts.at[ir_index(r)].type);
        mix(x, x->f->consts.at[ir_index(r)].bits);
    } else {
        const uint64_t *place = map_find(&x->values, r);
        mix(x, (uint64_t)1 << 40 | (place ? *place : 0));
    }
}

static void mix_array(hasher *x, uint64_t size, uint32_t align, uint8_t elem)
{
    mix(x, size);
    mix(x, align);
    mix(x, elem);
}

static void mix_aux(hasher *x, const ir_inst *i)
{
    const ir_module *m = x->f->module;
    if (i->op == IR_EXIT || i->op == IR_NEXT) {
        const uint64_t *place = map_find(&x->insts, i->aux);
        mix(x, place ? *place : 0);
    } else if ((i->op == IR_PRINT || i->op == IR_HOST || i->op == IR_ASSERT ||
                i->op == IR_BOUNDS) &&
               i->aux < m->strings.len) {
        mix_text(x, m->strings.at[i->aux]);
    } else if (i->op == IR_SHARED && i->aux < m->shared.len) {
        const ir_shared *s = &m->shared.at[i->aux];
        mix(x, i->aux);
        mix_array(x, s->size, s->align, s->elem);
        mix(x, s->is_dynamic);
    } else if (i->op == IR_CONSTANT && i->aux < m->data.len) {
        const ir_data *d = &m->data.at[i->aux];
        mix_array(x, d->size, d->align, d->elem);
        mix(x, hash_bytes(0, d->bytes, d->size));
    } else if (i->op == IR_CALL && i->aux < m->funcs.len) {
        mix_text(x, str_of(m->funcs.at[i->aux]->name));
    } else {
        mix(x, i->aux);
    }
}

static void mix_region(hasher *x, ir_region_id id);

static void mix_inst(hasher *x, ir_inst_id id)
{
    const ir_inst *i = ir_at(x->f, id);
    mix(x, i->op | (uint64_t)i->type << 16 | (uint64_t)i->hint << 24 | (uint64_t)i->order << 32 |
               (uint64_t)i->scope << 40 | (uint64_t)i->align << 48);
    if (i->region_count) {
        uint64_t place = x->insts.len + 1;
        *map_at(&x->insts, id) = place;
    }
    mix_aux(x, i);
    mix(x, i->op == IR_SWITCH ? 0 : (uint64_t)i->imm);
    mix(x, i->operand_count);
    for (uint32_t k = 0; k < i->operand_count; k++)
        mix_ref(x, ir_operand(x->f, i, k));
    mix_values(x, i->result, i->result_count);
    mix(x, i->region_count);
    for (uint32_t k = 0; k < i->region_count; k++) {
        if (i->op == IR_SWITCH && k + 1 < i->region_count)
            mix(x, (uint64_t)i->cases[k]);
        mix_region(x, i->regions + k);
    }
}

static void mix_region(hasher *x, ir_region_id id)
{
    const ir_region *r = ir_region_at(x->f, id);
    mix_values(x, r->args, r->arg_count);
    for (ir_inst_id i = r->first; i; i = ir_at(x->f, i)->next)
        mix_inst(x, i);
    mix(x, 0x656e64);
}

static void mix_param(hasher *x, const ir_param *p)
{
    mix_text(x, str_of(p->name));
    mix(x, p->kind | (uint64_t)p->type << 8 | (uint64_t)p->elem << 16 |
               (uint64_t)p->elem_unsigned << 24 | (uint64_t)p->is_const << 25 |
               (uint64_t)p->is_restrict << 26 | (uint64_t)p->is_hidden << 27);
    if (ir_param_has_bytes(p))
        mix(x, (uint64_t)p->size << 32 | p->align);
    if (p->kind == IR_PARAM_POINTER)
        mix(x, (uint64_t)p->elem_size << 32 | p->elem_align);
}

uint64_t ir_hash_func(const ir_func *f)
{
    arena *a = f->module->in;
    arena_mark mark = arena_save(a);
    hasher x = {.f = f, .h = 0x6b696c6e, .values = map_make(a), .insts = map_make(a)};
    mix_text(&x, str_of(f->name));
    mix(&x, f->is_kernel);
    for (int k = 0; k < 3; k++)
        mix(&x, (uint64_t)f->block[k] << 32 | f->cluster[k]);
    mix(&x, (uint64_t)f->min_blocks << 32 | f->max_registers);
    mix(&x, f->max_threads);
    if (!f->is_kernel)
        mix(&x, (uint64_t)f->is_noinline | (uint64_t)f->is_kept << 1 |
                    (uint64_t)f->is_dispatcher << 2 | (uint64_t)f->is_bounded << 3 |
                    (uint64_t)f->recursion_limit << 8);
    for (uint32_t k = 0; k < f->params.len; k++)
        mix_param(&x, &f->params.at[k]);
    mix_values(&x, f->first_param, f->params.len);
    mix(&x, f->returns.len);
    for (uint32_t k = 0; k < f->returns.len; k++)
        mix(&x, f->returns.at[k]);
    for (uint32_t k = 0; k < f->locals.len; k++)
        mix_array(&x, f->locals.at[k].size, f->locals.at[k].align, f->locals.at[k].elem);
    mix_region(&x, f->body);
    arena_restore(a, mark);
    return x.h;
}
