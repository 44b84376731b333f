// A kernel's IR as C text: one function that runs one warp, 32 lanes at a time. Branches that all
// active lanes take together are C branches. Where lanes may part, each side runs under a mask of
// its lanes, and is skipped when no lane is active: so code runs only when some lane is active,
// which is what the scalars of a warp rely on. A lane that leaves a control instruction waits in
// its mask
// (`out`) or, for the next round of a loop, in `again`. Start reading at cpu_emit.
#include "back/cpu/cpu.h"

#include "back/channel.h"

static void emit_region(cpu_emitter *e, ir_region_id region);

static void declare(cpu_emitter *e, const char *prefix, ir_ref first, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        const char *type = cpu_type(e, first + k);
        const char *zero = type[0] == 'M'   ? "m_of(0)"
                           : type[0] == 'V' ? (type[1] == '8' ? "s8(0)" : "s4(0)")
                                            : "0";
        ctext_put(&e->t, "%s %sv%u = %s;", type, prefix, first + k, zero);
    }
}

static const char *select_name(ir_type t)
{
    return t == IR_I1 ? "selm" : ctext_is_wide(t) ? "sel8" : "sel4";
}

// One value goes into a control's result or a loop's argument, for the active lanes.
static void move(cpu_emitter *e, const char *prefix, ir_ref to, ir_ref from, bool is_whole)
{
    if (cpu_shape(e, to).held != HELD_LANES)
        ctext_put(&e->t, "%sv%u = %s;", prefix, to, cpu_scalar(e, from));
    else if (is_whole || !e->mask)
        ctext_put(&e->t, "%sv%u = %s;", prefix, to, cpu_lanes(e, from));
    else
        ctext_put(&e->t, "%sv%u = %s(%s, %s, %sv%u);", prefix, to,
                  select_name(ir_type_of(e->t.f, to)), e->mask, cpu_lanes(e, from), prefix, to);
}

// Nobody has written the results before this exit in the same round, so lanes that are off may get
// any value.
bool cpu_is_first_exit(const ir_func *f, const control *controls, ir_inst_id id, ir_inst_id left)
{
    const control *c = &controls[left];
    if (!c->is_split)
        return true;
    for (ir_inst_id x = ir_region_at(f, ir_at(f, id)->parent)->owner;;
         x = ir_region_at(f, ir_at(f, x)->parent)->owner) {
        if (ir_at(f, x)->op == IR_LOOP)
            return false;
        if (x == left)
            return c->seen_exits == 0;
    }
}

// The lanes here have left: what follows in this region is not for them.
static void leave_region(cpu_emitter *e)
{
    ctext_put(&e->t, "goto end%u;", e->region_end);
}

static void emit_terminator(cpu_emitter *e, ir_inst_id id)
{
    const ir_func *f = e->t.f;
    const ir_inst *i = ir_at(f, id);
    if (i->op == IR_UNREACHABLE) {
        ctext_put(&e->t, "w->fault(w, 3, 0, %s); goto done;", cpu_bits(e));
        return;
    }
    if (i->op == IR_RETURN) {
        if (e->inside)
            leave_region(e);
        else
            ctext_put(&e->t, "goto done;");
        return;
    }
    control *c = &e->controls[i->aux];
    const ir_inst *x = ir_at(f, i->aux);
    if (i->op == IR_EXIT) {
        bool is_whole = cpu_is_first_exit(e->t.f, e->controls, id, i->aux);
        c->seen_exits++;
        for (uint32_t k = 0; k < i->operand_count; k++)
            move(e, "", x->result + k, ir_operand(f, i, k), is_whole);
        if (!c->is_split) {
            ctext_put(&e->t, "goto after%u;", i->aux);
            return;
        }
        if (c->leaks)
            ctext_put(&e->t, "out%u = m_or(out%u, %s);", i->aux, i->aux, cpu_mask(e));
        leave_region(e);
        return;
    }
    ir_ref args = ir_region_at(f, x->regions)->args;
    bool is_whole = !c->is_split || c->nexts == 1;
    for (uint32_t k = 0; k < i->operand_count; k++)
        move(e, "n", args + k, ir_operand(f, i, k), is_whole);
    if (!c->is_split) {
        for (uint32_t k = 0; k < i->operand_count; k++)
            ctext_put(&e->t, "v%u = nv%u;", args + k, args + k);
        ctext_put(&e->t, "goto again%u;", i->aux);
        return;
    }
    ctext_put(&e->t, "again%u = m_or(again%u, %s);", i->aux, i->aux, cpu_mask(e));
    leave_region(e);
}

// --- control
// Runs a region as a side of the split control `id`, for the lanes of `mask`.
static void emit_side(cpu_emitter *e, ir_inst_id id, ir_region_id region, const char *mask)
{
    const char *mask_before = e->mask;
    uint32_t end_before = e->region_end;
    ir_inst_id inside_before = e->inside;
    e->mask = mask;
    e->inside = id;
    e->region_end = ++e->label_count;
    ctext_put(&e->t, "{");
    e->t.depth++;
    emit_region(e, region);
    e->t.depth--;
    ctext_put(&e->t, "}");
    ctext_put(&e->t, "end%u:;", e->region_end);
    e->mask = mask_before;
    e->inside = inside_before;
    e->region_end = end_before;
}

static void emit_within(cpu_emitter *e, ir_region_id region)
{
    e->t.depth++;
    emit_region(e, region);
    e->t.depth--;
}

// A region of `id` with the mask it came with: a side of its own when the control is split.
static void emit_same(cpu_emitter *e, ir_inst_id id, ir_region_id region)
{
    if (e->controls[id].is_split) {
        e->t.depth++;
        emit_side(e, id, region, e->mask);
        e->t.depth--;
    } else {
        emit_within(e, region);
    }
}

static bool is_empty(const cpu_emitter *e, ir_region_id region, ir_inst_id owner)
{
    const ir_inst *i = ir_at(e->t.f, ir_region_at(e->t.f, region)->first);
    return i->op == IR_EXIT && i->aux == owner && !i->operand_count;
}

static void emit_if(cpu_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    ir_ref c = ir_operand(e->t.f, i, 0);
    ir_region_id yes = i->regions, no = i->regions + 1;
    if (cpu_shape(e, c).held == HELD_ONE) {
        ctext_put(&e->t, "if (%s) {", cpu_scalar(e, c));
        emit_same(e, id, yes);
        ctext_put(&e->t, "} else {");
        emit_same(e, id, no);
        ctext_put(&e->t, "}");
        return;
    }
    bool leaks = e->controls[id].leaks;
    const char *m0 = str_format(e->t.a, "m%u_0", id), *m1 = str_format(e->t.a, "m%u_1", id);
    if (e->mask)
        ctext_put(&e->t, "M %s = m_and(%s, %s), %s = m_less(%s, %s);", m0, e->mask, cpu_lanes(e, c),
                  m1, e->mask, cpu_lanes(e, c));
    else
        ctext_put(&e->t, "M %s = %s, %s = m_not(%s);", m0, cpu_lanes(e, c), m1, cpu_lanes(e, c));
    if (leaks || !is_empty(e, yes, id)) {
        ctext_put(&e->t, "if (any(%s))", m0);
        emit_side(e, id, yes, m0);
    }
    if (leaks || !is_empty(e, no, id)) {
        ctext_put(&e->t, "if (any(%s))", m1);
        emit_side(e, id, no, m1);
    }
}

static void emit_switch_one(cpu_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    const char *value = cpu_scalar(e, ir_operand(e->t.f, i, 0));
    bool is_wide = ctext_is_wide(ir_type_of(e->t.f, ir_operand(e->t.f, i, 0)));
    for (uint32_t k = 0; k < i->region_count; k++) {
        if (k + 1 < i->region_count)
            ctext_put(&e->t,
                      is_wide ? "%sif (%s == (uint64_t)%lldll) {"
                              : "%sif (%s == (uint32_t)%lldll) {",
                      k ? "} else " : "", value, (long long)i->cases[k]);
        else
            ctext_put(&e->t, k ? "} else {" : "{");
        emit_same(e, id, i->regions + k);
    }
    ctext_put(&e->t, "}");
}

static void emit_switch(cpu_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    ir_ref c = ir_operand(e->t.f, i, 0);
    if (cpu_shape(e, c).held == HELD_ONE) {
        emit_switch_one(e, id);
        return;
    }
    bool is_wide = ctext_is_wide(ir_type_of(e->t.f, c));
    const char *rest = str_format(e->t.a, "m%u_rest", id), *value = cpu_lanes(e, c);
    ctext_put(&e->t, "M %s = %s;", rest, cpu_mask(e));
    for (uint32_t k = 0; k < i->region_count; k++) {
        const char *side = str_format(e->t.a, "m%u_%u", id, k);
        if (k + 1 < i->region_count) {
            ctext_put(&e->t,
                      is_wide ? "M %s = m_and(%s, ieq_i8(%s, s8((uint64_t)%lldll)));"
                              : "M %s = m_and(%s, ieq_i4(%s, s4((uint32_t)%lldll)));",
                      side, rest, value, (long long)i->cases[k]);
            ctext_put(&e->t, "%s = m_less(%s, %s);", rest, rest, side);
        } else {
            side = rest;
        }
        ctext_put(&e->t, "if (any(%s))", side);
        emit_side(e, id, i->regions + k, side);
    }
}

static void emit_loop(cpu_emitter *e, ir_inst_id id)
{
    const ir_func *f = e->t.f;
    const ir_inst *i = ir_at(f, id);
    const ir_region *body = ir_region_at(f, i->regions);
    bool is_split = e->controls[id].is_split;
    declare(e, "", body->args, body->arg_count);
    declare(e, "n", body->args, body->arg_count);
    for (uint32_t k = 0; k < i->operand_count; k++)
        move(e, "", body->args + k, ir_operand(f, i, k), true);
    const char *round = str_format(e->t.a, "round%u", id);
    if (is_split)
        ctext_put(&e->t, "M %s = %s;", round, cpu_mask(e));
    ctext_put(&e->t, is_split ? "for (;;) {" : "again%u: {", id);
    e->t.depth++;
    ctext_put(&e->t, "if (__builtin_expect(*w->cancel, 0)) goto done;");
    if (e->controls[id].spins)
        ctext_put(&e->t, "if (!(++spins & 63)) w->yield(w);");
    if (is_split) {
        ctext_put(&e->t, "M again%u = m_of(0);", id);
        emit_side(e, id, i->regions, round);
        ctext_put(&e->t, "if (!any(again%u)) break;", id);
        ctext_put(&e->t, "%s = again%u;", round, id);
        for (uint32_t k = 0; k < body->arg_count; k++)
            ctext_put(&e->t, "v%u = nv%u;", body->args + k, body->args + k);
    } else {
        emit_region(e, i->regions);
    }
    e->t.depth--;
    ctext_put(&e->t, "}");
}

static void emit_control(cpu_emitter *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    const control *c = &e->controls[id];
    declare(e, "", i->result, i->result_count);
    if (c->is_split && c->leaks)
        ctext_put(&e->t, "M out%u = m_of(0);", id);
    switch (i->op) {
    case IR_IF: emit_if(e, id); break;
    case IR_SWITCH: emit_switch(e, id); break;
    case IR_LOOP: emit_loop(e, id); break;
    default:
        ctext_put(&e->t, "{");
        emit_same(e, id, i->regions);
        ctext_put(&e->t, "}");
    }
    ctext_put(&e->t, "after%u:;", id);
    if (c->is_split && c->leaks) {
        e->mask = str_format(e->t.a, "out%u", id);
        // The lanes that are gone may be all there were.
        if (e->inside)
            ctext_put(&e->t, "if (!any(out%u)) goto end%u;", id, e->region_end);
        else
            ctext_put(&e->t, "if (!any(out%u)) goto done;", id);
    }
}

static void emit_region(cpu_emitter *e, ir_region_id region)
{
    const char *mask_before = e->mask;
    for (ir_inst_id id = ir_region_at(e->t.f, region)->first; id; id = ir_at(e->t.f, id)->next) {
        const ir_inst *i = ir_at(e->t.f, id);
        if (ir_is_terminator(i->op))
            emit_terminator(e, id);
        else if (ir_is_control(i->op))
            emit_control(e, id);
        else
            cpu_emit_plain(e, id);
    }
    e->mask = mask_before;
}

// --- a kernel
void cpu_lay_out(cpu_emitter *e)
{
    e->t.locals = ir_layout_locals(e->t.f, 16, e->t.a);
    e->t.local_bytes = e->t.locals.behind;
    e->t.shared = ir_layout_shared(e->t.f, CPU_SHARED_ALIGN, e->t.a);
    for (ir_inst_id id = 1; id < e->t.f->insts.len; id++) {
        const ir_inst *i = ir_at(e->t.f, id);
        e->has_tagged |= i->op == IR_PTRCAST && i->aux == IR_PTR_LOCAL;
    }
}

static void emit_shared(cpu_emitter *e)
{
    for (uint32_t k = 0; k < e->t.m->shared.len; k++)
        if (e->t.shared.used[k] && !e->t.m->shared.at[k].is_dynamic)
            ctext_put(&e->t, "enum { SHARED_%u = %llu };", k,
                      (unsigned long long)e->t.shared.at[k]);
}

static void emit_params(cpu_emitter *e)
{
    for (uint32_t k = 0; k < e->t.f->params.len; k++) {
        ir_ref r = e->t.f->first_param + k;
        ir_type t = ir_type_of(e->t.f, r);
        const char *from = str_format(e->t.a, "w->args[%u]", k);
        if (t == IR_F32)
            from = str_format(e->t.a, "f32_bits((uint32_t)%s)", from);
        else if (t == IR_F64)
            from = str_format(e->t.a, "f64_bits(%s)", from);
        else if (!ctext_is_wide(t))
            from =
                str_format(e->t.a, "(uint32_t)%s & 0x%xu", from,
                           ir_type_size(t) == 4 ? 0xffffffffu : (1u << (8 * ir_type_size(t))) - 1);
        ctext_put(&e->t, "const %s v%u = %s;", cpu_type(e, r), r, from);
    }
}

bool cpu_needs_fibers(const cpu_emitter *e)
{
    for (ir_inst_id id = 1; id < e->t.f->insts.len; id++) {
        const ir_inst *i = ir_at(e->t.f, id);
        if (i->op == IR_BARRIER || i->op == IR_SLEEP || (i->op == IR_LOOP && e->controls[id].spins))
            return true;
    }
    return false;
}

static void emit_kernel(const ir_func *f, arena *a, text *out, text *rows)
{
    cpu_emitter e = {.t = {.words = &cpu_words, .f = f, .m = f->module, .a = a, .out = out}};
    cpu_find_shapes(&e);
    cpu_find_streams(&e);
    cpu_lay_out(&e);
    e.t.sites = channel_number_sites(f, a);
    ctext_put(&e.t, "\nstatic void run_%s(struct kw *w)\n{", f->name);
    e.t.depth = 1;
    emit_shared(&e);
    ctext_put(&e.t, "const uint64_t local = (uint64_t)(uintptr_t)w->local;");
    ctext_put(&e.t, "uint32_t spins = 0;");
    ctext_put(&e.t, "(void)local; (void)spins;");
    if (e.streams)
        ctext_put(&e.t, "const uint32_t streams = w->streams;");
    emit_params(&e);
    ctext_put(&e.t, "do {");
    if (e.t.local_bytes)
        ctext_put(&e.t, "__builtin_memset(w->local, 0, %llu);",
                  (unsigned long long)e.t.local_bytes * 32);
    if (!e.has_whole_warps) {
        ctext_put(&e.t, "const M live = m_of(w->live);");
        e.mask = "live";
    }
    emit_region(&e, f->body);
    ctext_put(&e.t, "done:;");
    ctext_put(&e.t, "} while (next_warp(w));");
    e.t.depth = 0;
    ctext_put(&e.t, "}");
    if (!e.is_unsupported)
        text_printf(rows, "    {\"%s\", run_%s, %llu, %llu, %d, %d},\n", f->name, f->name,
                    (unsigned long long)e.t.local_bytes * 32, (unsigned long long)e.t.shared.behind,
                    cpu_needs_fibers(&e), e.has_rows && !f->block[0]);
}

static void emit_data(const ir_module *m, text *out)
{
    for (uint32_t k = 0; k < m->data.len; k++) {
        const ir_data *d = &m->data.at[k];
        text_printf(out, "static const uint8_t data_%u[] __attribute__((aligned(%u))) = {", k,
                    d->align > 16 ? d->align : 16);
        ctext_put_bytes(out, d);
        text_puts(out, d->size ? "};\n" : "0};\n");
    }
}

void cpu_emit(const ir_module *m, const ir_func *only, arena *scratch, text *out)
{
    text code = {.in = out->in}, rows = {.in = out->in};
    text_puts(&rows, "");
    emit_data(m, &code);
    for (uint32_t k = 0; k < m->funcs.len; k++)
        if (m->funcs.at[k]->is_kernel && (!only || only == m->funcs.at[k]) &&
            !ir_has_calls(m->funcs.at[k])) // those are interpreted
            emit_kernel(m->funcs.at[k], scratch, &code, &rows);
    text_puts(&code, "\nstruct kiln_cpu_row { const char *name; void (*run)(struct kw *); uint64_t "
                     "local_bytes, shared_bytes; uint32_t needs_fibers, "
                     "needs_rows; };\n__attribute__((visibility(\"default\"))) const struct "
                     "kiln_cpu_row kiln_cpu_table[] = {\n"
                     "    {\"kiln cpu 3\", 0, 0, 0, 0, 0},\n");
    text_add(&code, rows.at, rows.len);
    text_puts(&code, "    {0, 0, 0, 0, 0, 0}};\n");
    cpu_add_prelude(&code, scratch, out);
    text_add(out, code.at, code.len);
}
