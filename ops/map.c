// From texts and views to a launch of ops/elementwise/kernel.c (map.h). Start reading at
// op_map_run, the last function.
#include "ops/map.h"

#include <math.h>
#include <stdio.h>

#include "ops/launch.h"

#define AXES "ops/elementwise/axes.def"
#include "ops/axes.h"

enum { THREADS = 256, MANY = 1 << 20, TEXT = 6144 };

kiln_type op_number_type(kiln_type type)
{
    switch (type) {
    case KILN_F16:
    case KILN_BF16: return KILN_F32;
    case KILN_BOOL:
    case KILN_U8:
    case KILN_U16: return KILN_U32;
    case KILN_I8:
    case KILN_I16: return KILN_I32;
    case KILN_VOID:
    case KILN_I32:
    case KILN_U32:
    case KILN_I64:
    case KILN_U64:
    case KILN_F8E4:
    case KILN_F8E5:
    case KILN_F32:
    case KILN_F64: break;
    }
    return type;
}

// --- the kernel's macros
static const char *type_of(const op_request *r, uint32_t view)
{
    return kiln_type_name((kiln_type)(op_get(r, TYPES) >> 4 * view & 15));
}

static const char *inner_of(const op_request *r, uint32_t view)
{
    static const char *const names[] = {"BROADCAST", "DENSE", "STRIDED", "ROW"};
    return names[op_get(r, INNER) >> 2 * view & 3];
}

// Is `view` the first one of its type?
static bool is_first(const op_request *r, uint32_t view)
{
    for (uint32_t v = 0; v < view; v++)
        if (!strcmp(type_of(r, v), type_of(r, view)))
            return false;
    return true;
}

// Are all tensors of 16 bits, so that fewer bits of a function will do?
static bool is_narrow(const op_request *r, uint32_t views)
{
    bool all = true;
    for (uint32_t v = 0; v < views; v++) {
        kiln_type type = (kiln_type)(op_get(r, TYPES) >> 4 * v & 15);
        all = all && (type == KILN_F16 || type == KILN_BF16);
    }
    return all;
}

static void write_words(const op_request *r, op_words *words)
{
    const op_map *m = r->context;
    uint32_t operands = (uint32_t)strlen(m->operands), views = operands + m->result_count;
    char list[TEXT];
    size_t len = 0;
    for (uint32_t n = 0; n < operands; n++)
        len += (size_t)snprintf(list + len, TEXT - len, "OPERAND(%c, %u, %s, %s) ", m->operands[n],
                                n, type_of(r, n), inner_of(r, n));
    op_word(words, "OPERANDS", "%s", list);
    len = 0;
    for (uint32_t n = 0; n < m->result_count && len < TEXT; n++)
        len += (size_t)snprintf(list + len, TEXT - len, "RESULT(r%u, %u, %s, %s, %s(%s)) ", n,
                                operands + n, type_of(r, operands + n), inner_of(r, operands + n),
                                m->factor ? m->factor : "", m->values[n]);
    op_word(words, "RESULTS", "%s", list); // one that was cut off does not compile
    len = 0;
    for (uint32_t v = 0; v < views; v++)
        if (is_first(r, v))
            len += (size_t)snprintf(list + len, TEXT - len, "PACK(%s, %u) ", type_of(r, v),
                                    op_get(r, V));
    op_word(words, "PACKS", "%s", list);
    op_word(words, "NEST_OF", "%u", views);
    op_word(words, "NUMBER", "%s", kiln_type_name((kiln_type)op_get(r, NUMBER)));
    if (op_get(r, NUMBER) == KILN_F32) // kiln/activate.h
        op_word(words, "SMOOTH", "%d", is_narrow(r, views) ? 16 : 32);
}

static const op_program program = {.file = "ops/elementwise/kernel.c",
                                   .axes = axes,
                                   .axis_count = COUNT(axes),
                                   .write = write_words};

uint64_t op_number_whole(kiln_type type, double value)
{
    bool is_signed = type == KILN_I32 || type == KILN_I64;
    int bits = 8 * (int)kiln_type_size(type) - is_signed;
    uint64_t most = UINT64_MAX >> (64 - bits);
    if (isnan(value))
        return 0;
    if (value >= ldexp(1, bits))
        return most;
    if (value < 0)
        return !is_signed ? 0 : value <= -ldexp(1, bits) ? ~most : (uint64_t)(int64_t)value;
    return (uint64_t)value;
}

kiln_arg op_number_argument(kiln_type type, double value)
{
    if (type == KILN_F32 || type == KILN_F64)
        return kiln_arg_f64(type, value);
    return kiln_arg_i64(type, (int64_t)op_number_whole(type, value));
}

// One operand of 16 bits leaves room for more packs in flight.
static uint32_t packs_per_thread(const op_map *m, const op_packs *packs)
{
    bool is_many = packs->argument.packs >= MANY && packs->rank == 1;
    return !m->operands[1] && is_many && packs->width >= 8 ? 4 : 1;
}

void op_map_add(op_map *m, const char *name, kiln_view view, bool is_result)
{
    kiln_view *at = &m->views[m->count];
    *at = view;
    m->checked[m->count++] = (op_operand){
        .name = name, .view = at, .is_result = is_result, .may_be_replaced = !is_result};
}

kiln_status op_map_check(kiln *k, const char *call, op_map *m)
{
    return op_check_operands(k, call, m->checked, m->count, &m->is_in_place);
}

kiln_status op_map_run(kiln *k, const op_map *m)
{
    uint32_t operands = (uint32_t)strlen(m->operands), views = operands + m->result_count;
    kiln_type number = op_number_type(m->type);
    op_nest nest;
    op_packs packs;
    op_nest_make(m->views, views, &nest);
    nest.widest = op_nest_spread(k, &nest);
    nest.has_singles = true;
    op_nest_pack_flat(&nest, m->views, operands, &packs);
    uint32_t per = packs_per_thread(m, &packs), types = 0, inner = 0;
    kiln_arg args[NEST_VIEWS + 3];
    for (uint32_t v = 0; v < views; v++) {
        types |= (uint32_t)kiln_view_type(m->views[v]) << 4 * v;
        inner |= (uint32_t)packs.inner[v] << 2 * v;
        args[v] = kiln_arg_view(m->views[v]);
    }
    args[views] = op_nest_arg(&packs, packs.rank);
    args[views + 1] = op_number_argument(number, m->p);
    args[views + 2] = op_number_argument(number, m->q);
    op_request r = {.program = &program, .context = m};
    op_set(&r, TEXTS, m->key);
    op_set(&r, TYPES, types);
    op_set(&r, INNER, inner);
    op_set(&r, NUMBER, number);
    op_set(&r, V, packs.width);
    op_set(&r, IN_PLACE, m->is_in_place);
    op_set(&r, PER, per);
    op_set(&r, RANK, packs.rank);
    op_set(&r, LONG, packs.is_long);
    op_set(&r, TAIL, packs.argument.rest != 0);
    op_set(&r, FLAT, packs.is_flat);
    uint64_t threads = packs.argument.packs + (packs.argument.rest != 0);
    return op_launch_blocks(k, &r, op_ceil_div(threads, (uint64_t)THREADS * per), args, views + 3,
                            m->stream);
}
