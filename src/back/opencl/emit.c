// A kernel's IR as OpenCL C: one thread's work, with the C control flow of the IR. Where the device
// has no warps of 32 lanes, an operation among threads needs all threads of the block at one place,
// and so does every barrier. A control instruction with such an operation inside that threads may
// enter, leave or repeat apart is masked: all threads go through all of it, `act` says whether a
// thread is meant, and one that leaves waits (`out`, `again`) with `act` at 0 until it is. Control
// without collectives inside stays plain C. Start reading at opencl_emit.
#include "back/opencl/opencl.h"

#include "back/channel.h"
#include "base/embed.h"
#include "ir/nv.h"

static void emit_region(ocl_emitter *e, ir_region_id region);

static ir_inst_id owner_of(const ir_func *f, ir_inst_id id)
{
    return ir_region_at(f, ir_at(f, id)->parent)->owner;
}

// --- what goes together, what may part
static void find_together(ocl_emitter *e)
{
    const ir_func *f = e->c.f;
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        uint16_t op = ir_at(f, id)->op;
        if (!ocl_is_collective(op))
            continue;
        e->has_warps |= op != IR_BARRIER && op != IR_WARPSYNC;
        for (ir_inst_id x = owner_of(f, id); x; x = owner_of(f, x))
            e->controls[x].is_together = true;
        e->is_together = e->controls[0].is_together = true;
    }
}

// A branch that threads may take apart; for a compiler that makes loops of the block's threads also
// one with a barrier inside: PoCL copies all that follows such a branch for each of its sides.
static bool is_parting(const ocl_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->c.f, id);
    if (i->op != IR_IF && i->op != IR_SWITCH)
        return false;
    ir_ref condition = ir_operand(e->c.f, i, 0);
    return (e->options->has_loops && e->controls[id].is_together) ||
           (!ir_is_const(condition) && e->c.uniform.value[condition] < UNIFORM_BLOCK);
}

// A control is split when a transfer out of it, or to its next round, happens within another split
// one. A thread that fails an assert returns by itself.
static void find_splits(ocl_emitter *e)
{
    const ir_func *f = e->c.f;
    for (ir_inst_id id = 1; id < f->insts.len; id++)
        e->controls[id].is_split = is_parting(e, id);
    for (bool changed = true; changed;) {
        changed = false;
        for (ir_inst_id id = 1; id < f->insts.len; id++) {
            const ir_inst *i = ir_at(f, id);
            bool ends = i->op == IR_RETURN || i->op == IR_UNREACHABLE || ocl_may_end(i->op);
            if (i->op != IR_EXIT && i->op != IR_NEXT && !ends)
                continue;
            ir_inst_id left = ends ? 0 : i->aux;
            bool is_parted = ocl_may_end(i->op);
            for (ir_inst_id x = owner_of(f, id);; x = owner_of(f, x)) {
                ocl_control *c = &e->controls[x];
                if (x != left)
                    c->leaks = true;
                if (is_parted && !c->is_split)
                    changed = c->is_split = true;
                is_parted |= c->is_split;
                if (x == left)
                    break;
            }
        }
    }
}

// --- moving values and threads
static void declare(ocl_emitter *e, const char *prefix, ir_ref first, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        cpu_put(&e->c, "%s %sv%u = 0;", ocl_type(ir_type_of(e->c.f, first + k)), prefix, first + k);
}

static void move_all(ocl_emitter *e, const char *prefix, ir_ref to, const ir_inst *i)
{
    for (uint32_t k = 0; k < i->operand_count; k++)
        cpu_put(&e->c, "%sv%u = %s;", prefix, to + k, cpu_scalar(&e->c, ir_operand(e->c.f, i, k)));
}

static void take_next(ocl_emitter *e, const ir_inst *loop)
{
    const ir_region *body = ir_region_at(e->c.f, loop->regions);
    for (uint32_t k = 0; k < body->arg_count; k++)
        cpu_put(&e->c, "v%u = nv%u;", body->args + k, body->args + k);
}

// All threads that are here leave together, and all of the block are here.
static bool is_common(const ocl_emitter *e)
{
    return e->is_whole && !(e->is_plain && e->controls[e->plain].is_split);
}

static void emit_end(ocl_emitter *e)
{
    cpu_put(&e->c, "%s", is_common(e) ? "return;" : ocl_end(e));
}

static void emit_terminator(ocl_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->c.f, id);
    if (i->op == IR_RETURN || i->op == IR_UNREACHABLE) {
        emit_end(e);
        return;
    }
    const ir_inst *x = ir_at(e->c.f, i->aux);
    bool is_next = i->op == IR_NEXT, is_masked = e->controls[i->aux].is_masked;
    bool is_guarded = is_masked && !e->is_plain && !e->is_whole;
    if (is_guarded)
        cpu_put(&e->c, "if (act) {");
    move_all(e, is_next ? "n" : "", is_next ? ir_region_at(e->c.f, x->regions)->args : x->result,
             i);
    if (!is_masked) {
        if (is_next)
            take_next(e, x);
        cpu_put(&e->c, is_next ? "goto again%u;" : "goto after%u;", i->aux);
        return;
    }
    cpu_put(&e->c, is_next ? "again%u = 1; act = 0;" : "out%u = 1; act = 0;", i->aux);
    if (is_common(e))
        cpu_put(&e->c, is_next ? "goto turn%u;" : "goto end%u;", i->aux);
    else if (e->is_plain)
        cpu_put(&e->c, "goto gone%u;", e->plain);
    if (is_guarded)
        cpu_put(&e->c, "}");
}

// --- control that C does
static void emit_within(ocl_emitter *e, ir_region_id region)
{
    e->c.depth++;
    emit_region(e, region);
    e->c.depth--;
}

static const char *case_test(ocl_emitter *e, const ir_inst *i, uint32_t k)
{
    ir_ref value = ir_operand(e->c.f, i, 0);
    bool is_wide = cpu_is_wide(ir_type_of(e->c.f, value));
    return str_format(e->c.a, "%s == 0x%llx%s", cpu_scalar(&e->c, value),
                      is_wide ? (unsigned long long)i->cases[k]
                              : (unsigned long long)(uint32_t)i->cases[k],
                      is_wide ? "ul" : "u");
}

static void emit_branches(ocl_emitter *e, const ir_inst *i)
{
    for (uint32_t k = 0; k < i->region_count; k++) {
        if (i->op == IR_IF)
            cpu_put(&e->c, k ? "} else {" : "if (%s) {",
                    cpu_scalar(&e->c, ir_operand(e->c.f, i, 0)));
        else if (k + 1 < i->region_count)
            cpu_put(&e->c, "%sif (%s) {", k ? "} else " : "", case_test(e, i, k));
        else
            cpu_put(&e->c, k ? "} else {" : "{");
        emit_within(e, i->regions + k);
    }
    cpu_put(&e->c, "}");
}

static void emit_open(ocl_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->c.f, id);
    if (i->op == IR_IF || i->op == IR_SWITCH) {
        emit_branches(e, i);
    } else if (i->op == IR_LOOP) {
        move_all(e, "", ir_region_at(e->c.f, i->regions)->args, i);
        cpu_put(&e->c, "again%u: {", id);
        emit_within(e, i->regions);
        cpu_put(&e->c, "}");
    } else {
        cpu_put(&e->c, "{");
        emit_within(e, i->regions);
        cpu_put(&e->c, "}");
    }
    cpu_put(&e->c, "after%u:;", id);
}

// --- control that all threads go through
static void emit_masked_branches(ocl_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->c.f, id);
    cpu_put(&e->c, "uint rest%u = act;", id);
    if (i->op == IR_IF)
        cpu_put(&e->c, "uint yes%u = %s;", id, cpu_scalar(&e->c, ir_operand(e->c.f, i, 0)));
    for (uint32_t k = 0; k < i->region_count; k++) {
        e->is_whole = false;
        if (k + 1 == i->region_count)
            cpu_put(&e->c, "act = rest%u;", id);
        else if (i->op == IR_IF)
            cpu_put(&e->c, "act = rest%u & yes%u; rest%u &= !yes%u;", id, id, id, id);
        else
            cpu_put(&e->c, "act = rest%u & (%s); rest%u &= !(%s);", id, case_test(e, i, k), id,
                    case_test(e, i, k));
        emit_within(e, i->regions + k);
    }
}

static void emit_masked_loop(ocl_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->c.f, id);
    move_all(e, "", ir_region_at(e->c.f, i->regions)->args, i);
    cpu_put(&e->c, "uint round%u = act, again%u;", id, id);
    cpu_put(&e->c, "do {");
    e->c.depth++;
    cpu_put(&e->c, "act = round%u; again%u = 0;", id, id);
    e->is_whole = false;
    emit_region(e, i->regions);
    cpu_put(&e->c, "turn%u:;", id);
    take_next(e, i);
    cpu_put(&e->c, "round%u = again%u;", id, id);
    e->c.depth--;
    cpu_put(&e->c, "} while (any_of_block(&word, again%u));", id);
}

static void emit_masked(ocl_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->c.f, id);
    bool was_whole = e->is_whole;
    cpu_put(&e->c, "{");
    e->c.depth++;
    cpu_put(&e->c, "uint out%u = 0;", id);
    if (i->op == IR_IF || i->op == IR_SWITCH)
        emit_masked_branches(e, id);
    else if (i->op == IR_LOOP)
        emit_masked_loop(e, id);
    else
        emit_region(e, i->regions);
    cpu_put(&e->c, "end%u:;", id);
    cpu_put(&e->c, "act = out%u;", id);
    e->c.depth--;
    cpu_put(&e->c, "}");
    e->is_whole = was_whole && !e->controls[id].leaks;
}

// A control without collectives, where all threads are together.
static void emit_apart(ocl_emitter *e, ir_inst_id id)
{
    e->plain = id;
    e->is_plain = true;
    if (!e->is_whole)
        cpu_put(&e->c, "if (act) {");
    emit_open(e, id);
    if (!e->is_whole)
        cpu_put(&e->c, "}");
    cpu_put(&e->c, "gone%u:;", id);
    e->is_plain = false;
    if (e->controls[id].leaks && e->controls[id].is_split)
        e->is_whole = false;
}

static void emit_control(ocl_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->c.f, id);
    ocl_control *c = &e->controls[id];
    if (!e->is_together)
        declare(e, "", i->result, i->result_count);
    if (!e->is_together && i->op == IR_LOOP) {
        const ir_region *body = ir_region_at(e->c.f, i->regions);
        declare(e, "", body->args, body->arg_count);
        declare(e, "n", body->args, body->arg_count);
    }
    if (e->is_plain) {
        emit_open(e, id);
    } else if (!c->is_together) {
        emit_apart(e, id);
    } else {
        c->is_masked = c->is_split || !e->is_whole;
        if (c->is_masked)
            emit_masked(e, id);
        else
            emit_open(e, id);
    }
}

static void emit_region(ocl_emitter *e, ir_region_id region)
{
    for (ir_inst_id id = ir_region_at(e->c.f, region)->first; id; id = ir_at(e->c.f, id)->next) {
        const ir_inst *i = ir_at(e->c.f, id);
        if (ir_is_terminator(i->op))
            emit_terminator(e, id);
        else if (ir_is_control(i->op))
            emit_control(e, id);
        else
            ocl_emit_plain(e, id);
    }
}

// --- a kernel
// Structs given by value lie in the frame, behind the local arrays.
static uint64_t *lay_out_frame(ocl_emitter *e)
{
    const ir_func *f = e->c.f;
    uint64_t *structs = arena_array(e->c.a, uint64_t, f->params.len + 1);
    e->c.locals = ir_layout_locals(f, 16, e->c.a);
    e->c.local_bytes = e->c.locals.behind;
    for (uint32_t k = 0; k < f->params.len; k++)
        if (ir_param_has_bytes(&f->params.at[k])) {
            uint32_t align = f->params.at[k].align;
            structs[k] = ir_round_up(e->c.local_bytes, align > 16 ? align : 16);
            e->c.local_bytes = ir_round_up(structs[k] + f->params.at[k].size, 16);
        }
    return structs;
}

static void emit_signature(ocl_emitter *e)
{
    const ir_func *f = e->c.f;
    text *out = e->c.out;
    text_puts(out, "__kernel ");
    if (f->block[0])
        text_printf(out, "__attribute__((reqd_work_group_size(%u, %u, %u))) ", f->block[0],
                    f->block[1], f->block[2]);
    text_printf(out, "void k_%s(", f->name);
    for (uint32_t k = 0; k < f->params.len; k++) {
        const ir_param *p = &f->params.at[k];
        if (ir_param_has_bytes(p))
            text_printf(out, "struct bytes_%u p%u, ", p->size, k);
        else
            text_printf(out, "%s p%u, ",
                        p->kind == IR_PARAM_POINTER           ? "__global uchar *"
                        : ir_type_size((ir_type)p->type) == 8 ? "ulong"
                                                              : "uint",
                        k);
    }
    text_printf(out, "__local ulong *shared_words, uint dynamic_bytes%s)\n",
                channel_is_used(f) ? ", __global uchar *channel" : "");
}

static void emit_params(ocl_emitter *e, const uint64_t *structs)
{
    for (uint32_t k = 0; k < e->c.f->params.len; k++) {
        const ir_param *p = &e->c.f->params.at[k];
        ir_ref r = e->c.f->first_param + k;
        ir_type t = ir_type_of(e->c.f, r);
        if (ir_param_has_bytes(p)) {
            cpu_put(&e->c, "const ulong v%u = 0x%llxul;", r, (unsigned long long)structs[k]);
            cpu_put(&e->c, "for (uint n = 0; n < %u; n++) frame[v%u + n] = p%u.b[n];", p->size, r,
                    k);
        } else if (p->kind == IR_PARAM_POINTER) {
            cpu_put(&e->c, "const ulong v%u = (ulong)p%u;", r, k);
        } else if (t == IR_F32 || t == IR_F64) {
            cpu_put(&e->c, "const %s v%u = %s_bits(p%u);", ocl_type(t), r, ir_type_name(t), k);
        } else {
            uint32_t size = ir_type_size(t);
            cpu_put(&e->c, size < 4 ? "const %s v%u = p%u & 0x%xu;" : "const %s v%u = p%u;",
                    ocl_type(t), r, k, size == 1 ? 0xffu : 0xffffu);
        }
    }
}

// Where threads go masked, what one of them knows must outlive the braces.
static void declare_all(ocl_emitter *e)
{
    const ir_func *f = e->c.f;
    cpu_put(&e->c, "uint act = 1;");
    cpu_put(&e->c, "__local uint word;");
    if (e->has_warps) {
        uint64_t threads = (uint64_t)f->block[0] * f->block[1] * f->block[2];
        cpu_put(&e->c, "enum { BOXES = %u };", threads ? (unsigned)threads : 1024u);
        cpu_put(&e->c, "__local ulong box[2 * BOXES];");
        cpu_put(&e->c, "__local uchar flag[2 * BOXES];");
        cpu_put(&e->c, "uint turn = 0;");
    }
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (i->op == IR_NOP)
            continue;
        declare(e, "", i->result, i->result_count);
        if (i->op == IR_LOOP) {
            const ir_region *body = ir_region_at(f, i->regions);
            declare(e, "", body->args, body->arg_count);
            declare(e, "n", body->args, body->arg_count);
        }
    }
}

static void emit_frame(ocl_emitter *e)
{
    cpu_put(&e->c, "__local uchar *shared = (__local uchar *)shared_words;");
    if (!e->c.local_bytes)
        return;
    uint64_t words = e->c.local_bytes / 8;
    cpu_put(&e->c, "ulong frame_words[%llu] __attribute__((aligned(16)));",
            (unsigned long long)words);
    cpu_put(&e->c, "for (uint n = 0; n < %llu; n++) frame_words[n] = 0;",
            (unsigned long long)words);
    cpu_put(&e->c, "uchar *frame = (uchar *)frame_words;");
}

// Whether addresses come to the kernel in memory, not only as parameters.
static bool reads_pointers(const ir_func *f)
{
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (i->op == IR_INTTOPTR || (i->op == IR_LOAD && ir_is_ptr((ir_type)i->type)))
            return true;
    }
    return false;
}

static void emit_kernel(const ir_func *f, const opencl_options *options, const uint64_t *data_at,
                        arena *a, text *out)
{
    ocl_emitter e = {.c = {.f = f, .m = f->module, .a = a, .out = out, .wide = "ul"},
                     .options = options,
                     .data_at = arena_array(a, uint64_t, f->module->data.len + 1),
                     .is_whole = true};
    memcpy(e.data_at, data_at, f->module->data.len * sizeof *data_at);
    e.c.shapes = arena_array(a, shape, f->values.len + 1);
    for (ir_ref r = 0; r < f->values.len; r++)
        e.c.shapes[r].held = HELD_ONE;
    e.controls = arena_array(a, ocl_control, f->insts.len + 1);
    if (!options->has_ptx)
        find_together(&e);
    if (e.is_together) {
        e.c.uniform = uniform_compute(f, a);
        find_splits(&e);
        e.controls[0].is_masked = e.controls[0].is_split;
    }
    e.is_plain = !e.is_together;
    uint64_t *structs = lay_out_frame(&e);
    e.c.shared = ir_layout_shared(f, 1, a);
    e.c.sites = channel_number_sites(f, a);
    text_printf(out, "\n// kernel %s: %llu bytes of shared memory%s\n", f->name,
                (unsigned long long)e.c.shared.behind, reads_pointers(f) ? "; reads pointers" : "");
    emit_signature(&e);
    text_puts(out, "{\n");
    e.c.depth = 1;
    emit_frame(&e);
    emit_params(&e, structs);
    cpu_put(&e.c, "ulong ticks = 0;");
    cpu_put(&e.c, "ONE_BY_ONE();");
    if (e.is_together)
        declare_all(&e);
    emit_region(&e, f->body);
    text_puts(out, "}\n");
}

static void emit_structs(const ir_module *m, arena *a, text *out)
{
    vec(uint32_t) seen = {0};
    for (uint32_t n = 0; n < m->funcs.len; n++)
        for (uint32_t k = 0; m->funcs.at[n]->is_kernel && k < m->funcs.at[n]->params.len; k++) {
            const ir_param *p = &m->funcs.at[n]->params.at[k];
            bool is_new = ir_param_has_bytes(p);
            for (uint32_t s = 0; s < seen.len; s++)
                is_new = is_new && seen.at[s] != p->size;
            if (!is_new)
                continue;
            vec_push(a, &seen, p->size);
            text_printf(out, "struct bytes_%u { uchar b[%u]; };\n", p->size, p->size);
        }
}

static uint64_t *emit_data(const ir_module *m, arena *a, text *out)
{
    uint64_t *at = arena_array(a, uint64_t, m->data.len + 1), end = 0;
    if (!m->data.len)
        return at;
    text_puts(out, "__constant uchar data[] __attribute__((aligned(64))) = {");
    for (uint32_t k = 0; k < m->data.len; k++) {
        const ir_data *d = &m->data.at[k];
        at[k] = ir_round_up(end, d->align > 16 ? d->align : 16);
        for (; end < at[k]; end++)
            text_puts(out, "0,");
        for (uint64_t b = 0; b < d->size; b++)
            text_printf(out, "%s%u,", b % 32 ? "" : "\n    ", d->bytes[b]);
        end += d->size;
    }
    text_puts(out, "0};\n");
    return at;
}

// What only NVIDIA's instructions can do.
static bool is_portable(const ir_func *f, diags *ds)
{
    bool is_fine = true;
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (i->op != IR_NV && i->op != IR_MAPA)
            continue;
        is_fine = false;
        if (!ds)
            continue;
        diag *d = diag_raise(ds, K4301, i->at, "'%s': OpenCL does not have it",
                             i->op == IR_NV ? nv_row_of(i)->name : "mapa");
        diag_note(d, "put the code under 'if (target_sm() >= 80)' beside a portable path");
    }
    return is_fine;
}

bool opencl_emit(const ir_module *m, const ir_func *only, const opencl_options *options, diags *ds,
                 arena *scratch, text *out)
{
    bool is_fine = true;
    if (options->has_ptx)
        text_puts(out, "#define KILN_PTX 1\n");
    if (options->is_exact)
        text_puts(out, "#define KILN_EXACT 1\n");
    if (options->has_loops)
        text_puts(out, "#define KILN_LOOPS 1\n");
    text_puts(out, embed_find("opencl/prelude.cl", NULL));
    emit_structs(m, scratch, out);
    uint64_t *data_at = emit_data(m, scratch, out);
    for (uint32_t k = 0; k < m->funcs.len; k++) {
        const ir_func *f = m->funcs.at[k];
        if (!f->is_kernel || (only && only != f))
            continue;
        if (is_portable(f, ds))
            emit_kernel(f, options, data_at, scratch, out);
        else
            is_fine = false;
    }
    return is_fine;
}
