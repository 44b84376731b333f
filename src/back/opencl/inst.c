// One instruction that is no control and no memory access, as a statement of OpenCL C. Collectives
// are inline PTX for NVIDIA's compiler; elsewhere all threads of the block come together, and those
// that are active say so. Start reading at ocl_emit_plain.
#include "back/opencl/opencl.h"

#include "back/channel.h"

const char *ocl_type(ir_type t)
{
    return t == IR_F32 ? "float" : t == IR_F64 ? "double" : cpu_is_wide(t) ? "ulong" : "uint";
}

void ocl_set(ocl_emitter *e, ir_ref r, const char *value)
{
    if (e->is_together)
        cpu_put(&e->c, "v%u = %s;", r, value);
    else
        cpu_put(&e->c, "%s v%u = %s;", ocl_type(ir_type_of(e->c.f, r)), r, value);
}

bool ocl_is_collective(uint16_t op)
{
    return op == IR_BARRIER || op == IR_WARPSYNC || op == IR_SHUFFLE || op == IR_BALLOT ||
           op == IR_ACTIVE || op == IR_MATCH;
}

bool ocl_may_end(uint16_t op)
{
    return op == IR_ASSERT || op == IR_BOUNDS || op == IR_TRAP;
}

const char *ocl_end(ocl_emitter *e)
{
    if (!e->controls[0].is_masked)
        return "return;";
    return e->is_plain ? str_format(e->c.a, "act = 0; goto gone%u;", e->plain) : "act = 0;";
}

// --- between threads
// The row of boxes of the next operation, and who takes part.
static const char *boxes(ocl_emitter *e)
{
    cpu_put(&e->c, "turn ^= 1;");
    return e->is_whole ? "box + turn * BOXES, 0, 1u"
                       : "box + turn * BOXES, flag + turn * BOXES, act";
}

static const char *bits_of(ocl_emitter *e, ir_ref r)
{
    ir_type t = ir_type_of(e->c.f, r);
    const char *x = cpu_scalar(&e->c, r);
    return t == IR_F32 || t == IR_F64 ? str_format(e->c.a, "bits_%s(%s)", ir_type_name(t), x) : x;
}

static const char *shuffled(ocl_emitter *e, const ir_inst *i)
{
    ir_type t = (ir_type)i->type;
    const char *value = bits_of(e, ir_operand(e->c.f, i, 0));
    const char *by = cpu_scalar(&e->c, ir_operand(e->c.f, i, 1));
    const char *width = cpu_scalar(&e->c, ir_operand(e->c.f, i, 2)), *bits;
    if (e->options->has_ptx)
        bits = str_format(e->c.a, "shuffle_%d(%u, %s, %s, %s)", cpu_is_wide(t) ? 64 : 32, i->aux,
                          value, by, width);
    else
        bits = str_format(e->c.a, "(%s)shuffle_box(%s, %u, %s, %s, %s)",
                          cpu_is_wide(t) ? "ulong" : "uint", boxes(e), i->aux, value, by, width);
    return t == IR_F32 || t == IR_F64 ? str_format(e->c.a, "%s_bits(%s)", ir_type_name(t), bits)
                                      : bits;
}

static const char *voted(ocl_emitter *e, const ir_inst *i)
{
    bool has_ptx = e->options->has_ptx;
    if (i->op == IR_ACTIVE)
        return has_ptx ? "active_lanes()" : str_format(e->c.a, "match_box(%s, 0, 0)", boxes(e));
    ir_ref a = ir_operand(e->c.f, i, 0);
    const char *x = bits_of(e, a);
    if (!has_ptx)
        return str_format(e->c.a, "match_box(%s, %s, %s)", boxes(e), x,
                          i->op == IR_BALLOT ? "1" : x);
    return i->op == IR_BALLOT ? str_format(e->c.a, "ballot(%s)", x)
                              : str_format(e->c.a, "match_%d(%s)",
                                           cpu_is_wide(ir_type_of(e->c.f, a)) ? 64 : 32, x);
}

static const char *geometry(ocl_emitter *e, const ir_inst *i)
{
    int axis = (int)i->imm;
    const uint32_t *block = e->c.f->block;
    switch (i->op) {
    case IR_THREAD:
        return block[0] && block[axis] == 1 ? "0u"
                                            : str_format(e->c.a, "(uint)get_local_id(%d)", axis);
    case IR_BLOCK: return str_format(e->c.a, "(uint)get_group_id(%d)", axis);
    case IR_BLOCKDIM:
        return block[0] ? str_format(e->c.a, "%uu", block[axis])
                        : str_format(e->c.a, "(uint)get_local_size(%d)", axis);
    case IR_GRIDDIM: return str_format(e->c.a, "(uint)get_num_groups(%d)", axis);
    case IR_CLUSTER: { // every block is one by itself
        static const char *const parts[] = {"0u", "1u", "(uint)get_group_id(0)",
                                            "(uint)get_num_groups(0)"};
        return parts[i->imm & 3];
    }
    case IR_LANE: return "(thread_rank() & 31)";
    case IR_WARP: return "(thread_rank() >> 5)";
    default: return "dynamic_bytes";
    }
}

// --- talking
static void emit_print(ocl_emitter *e, const ir_inst *i, uint32_t site)
{
    cpu_put(&e->c, "{ __global uchar *line = line_of(channel, %u, %u);", site, i->operand_count);
    for (uint32_t k = 0; k < i->operand_count; k++)
        cpu_put(&e->c, "  if (line) *(__global ulong *)(line + %u) = %s;", 32 + 8 * k,
                bits_of(e, ir_operand(e->c.f, i, k)));
    cpu_put(&e->c, "}");
}

static void emit_talk(ocl_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->c.f, id);
    uint32_t site = e->c.sites[id] - 1;
    bool is_guarded = e->is_together && !e->is_plain && !e->is_whole;
    if (is_guarded)
        cpu_put(&e->c, "if (act) {");
    if (i->op == IR_PRINT) {
        emit_print(e, i, site);
    } else {
        const char *unless =
            i->op == IR_TRAP
                ? ""
                : str_format(e->c.a, "if (!%s) ", cpu_scalar(&e->c, ir_operand(e->c.f, i, 0)));
        const char *a = "0", *b = "0";
        if (i->op == IR_BOUNDS) {
            a = cpu_scalar(&e->c, ir_operand(e->c.f, i, 1));
            b = cpu_scalar(&e->c, ir_operand(e->c.f, i, 2));
        }
        cpu_put(&e->c, "%s{ fault(channel, %u, %s, %s); %s }", unless, site, a, b, ocl_end(e));
    }
    if (is_guarded)
        cpu_put(&e->c, "}");
    if (ocl_may_end(i->op) && !e->is_plain)
        e->is_whole = false;
}

static bool emit_effect(ocl_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->c.f, id);
    switch (i->op) {
    case IR_BARRIER: cpu_put(&e->c, "BLOCK_BARRIER();"); return true;
    case IR_WARPSYNC:
        cpu_put(&e->c, e->options->has_ptx ? "WARP_BARRIER();" : "BLOCK_BARRIER();");
        return true;
    case IR_PREFETCH:
    case IR_ASSUME: return true;
    case IR_FENCE: cpu_put(&e->c, "FENCE();"); return true;
    case IR_SLEEP:
        cpu_put(&e->c, "NAP(%s);", cpu_scalar(&e->c, ir_operand(e->c.f, i, 0)));
        return true;
    case IR_PRINT:
    case IR_ASSERT:
    case IR_BOUNDS:
    case IR_TRAP: emit_talk(e, id); return true;
    default: return false;
    }
}

static const char *value_of(ocl_emitter *e, const ir_inst *i)
{
    switch (i->op) {
    case IR_LOCAL:
        return str_format(e->c.a, "0x%llxul", (unsigned long long)e->c.locals.at[i->aux]);
    case IR_SHARED:
        return str_format(e->c.a, "0x%llxul", (unsigned long long)e->c.shared.at[i->aux]);
    case IR_CONSTANT: return str_format(e->c.a, "0x%llxul", (unsigned long long)e->data_at[i->aux]);
    case IR_THREAD:
    case IR_BLOCK:
    case IR_BLOCKDIM:
    case IR_GRIDDIM:
    case IR_LANE:
    case IR_WARP:
    case IR_CLUSTER:
    case IR_DYNSHARED: return geometry(e, i);
    case IR_SHADDR:
        return str_format(e->c.a, "(uint)%s", cpu_scalar(&e->c, ir_operand(e->c.f, i, 0)));
    case IR_SHUFFLE: return shuffled(e, i);
    case IR_BALLOT:
    case IR_ACTIVE:
    case IR_MATCH: return voted(e, i);
    case IR_UNIFORM: return cpu_scalar(&e->c, ir_operand(e->c.f, i, 0));
    case IR_PTRCAST: return ocl_pointer_cast(e, i);
    case IR_CLOCK: return "time_now(0)";
    case IR_NANOTIME: return "time_now(1)";
    default: return cpu_pure(&e->c, i);
    }
}

void ocl_emit_plain(ocl_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->c.f, id);
    if (i->op >= IR_LOAD && i->op <= IR_ATOMSTORE && i->op != IR_LOCAL && i->op != IR_SHARED &&
        i->op != IR_CONSTANT) {
        ocl_emit_memory(e, i);
        return;
    }
    if (emit_effect(e, id))
        return;
    if (i->op == IR_CALL)
        bug("kernel '%s' still has a call: the inline pass must run before the OpenCL printer",
            e->c.f->name);
    ocl_set(e, i->result, value_of(e, i));
}
