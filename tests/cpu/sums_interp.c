// sums_interp: what the interpreter makes of a kernel, as a checksum. See sums.c.
#include "cpu/sums.h"

#include <string.h>

#include "dev/interp/engine.h"

uint64_t sum_bytes(uint64_t sum, const void *bytes, size_t len) // FNV-1a
{
    for (size_t k = 0; k < len; k++)
        sum = (sum ^ ((const uint8_t *)bytes)[k]) * 0x100000001b3u;
    return sum;
}

static uint64_t sum_number(uint64_t sum, uint64_t number)
{
    return sum_bytes(sum, &number, sizeof number);
}

static uint64_t sum_name(uint64_t sum, const char *name)
{
    return name ? sum_bytes(sum, name, strlen(name) + 1) : sum_number(sum, 0);
}

// What an instruction has in the program's lists: slots of operands and results, cases, targets.
static uint64_t sum_lists(uint64_t sum, const interp_program *p, const code *c)
{
    uint32_t from = c->b, count = 0;
    switch (c->op) {
    case CODE_LOAD_MANY:
        from = c->d;
        count = c->count;
        break;
    case CODE_STORE_MANY: count = c->count; break;
    case CODE_EVAL: count = 2u * c->u.eval.count; break;
    case CODE_PRINT: count = 2 * c->c; break;
    case CODE_HOST:
    case CODE_NV:
    case CODE_CALL: count = c->c; break;
    case CODE_SWITCH:
        sum = sum_bytes(sum, p->cases + c->b, c->c * sizeof *p->cases);
        return sum_bytes(sum, p->targets + c->u.to.other, (c->c + 1) * sizeof *p->targets);
    default: return sum;
    }
    return sum_bytes(sum, p->extra + from, count * sizeof *p->extra);
}

static uint64_t sum_code(uint64_t sum, const interp_program *p)
{
    for (uint32_t k = 0; k < p->code_len; k++) {
        code c = p->code[k];
        sum = sum_lists(sum, p, &c);
        if (c.op == CODE_LANE)
            c.u.fn = NULL; // the processor's own
        sum = sum_bytes(sum, &c, sizeof c);
        const code_info *info = &p->info[k];
        const place *at = &p->places[info->place];
        sum = sum_number(sum_number(sum, info->base), info->elem_size);
        sum = sum_number(sum_number(sum, at->line), (uint64_t)at->column << 32 | at->use_line);
    }
    return sum;
}

static uint64_t sum_program(uint64_t sum, const interp_program *p)
{
    const uint64_t numbers[] = {
        p->reg_bytes,          p->frame_depth,        p->local_bytes,    p->own_local_bytes,
        p->shared_bytes,       p->dynamic_at,         p->param_bytes,    p->granule,
        p->stack_segment,      p->has_dynamic_shared, p->is_sequential,  p->has_nv,
        p->has_wgmma,          p->keeps_warps,        p->function_count, p->segment_count,
        p->allows_early_return};
    sum = sum_bytes(sum, numbers, sizeof numbers);
    sum = sum_bytes(sum, p->specials, sizeof p->specials);
    sum = sum_bytes(sum, p->uniform, p->uniform_bytes);
    sum = sum_bytes(sum, p->const_bytes, p->const_size);
    for (uint32_t k = 0; k < p->segment_count; k++) {
        const segment_info *s = &p->segments[k];
        sum = sum_number(sum_name(sum, s->name), s->kind);
        sum = sum_number(sum_number(sum_number(sum, s->offset), s->size), s->elem_size);
    }
    for (uint32_t k = 0; k < p->param_count; k++) {
        const param_info *a = &p->params[k];
        sum = sum_number(sum_name(sum, a->name), (uint64_t)a->slot << 32 | a->size);
        sum = sum_number(sum, (uint64_t)a->kind << 8 | a->value_size);
        sum = sum_number(sum_number(sum, a->elem_size), a->offset);
    }
    for (uint32_t k = 0; k < p->function_count; k++) {
        const interp_function *f = &p->functions[k];
        const uint32_t of[] = {f->start,  f->reg_bytes,    f->frame_depth, f->local_bytes,
                               f->result, f->result_bytes, f->param_count};
        sum = sum_bytes(sum_name(sum, f->name), of, sizeof of);
        sum = sum_bytes(sum, f->specials, sizeof f->specials);
        sum = sum_bytes(sum, p->extra + f->params, 2 * f->param_count * sizeof *p->extra);
    }
    return sum_code(sum, p);
}

uint64_t interp_sum(const ir_module *m, unsigned watch)
{
    uint64_t sum = SUM_START;
    for (uint32_t k = 0; k < m->funcs.len; k++)
        if (m->funcs.at[k]->is_kernel)
            sum = sum_program(sum, interp_decode_watched(m->in, m->funcs.at[k], watch));
    return sum;
}
