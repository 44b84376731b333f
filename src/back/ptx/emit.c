// IR module in, PTX text out: module header, shared and constant arrays, then each kernel: its body
// is printed first, so that the registers it used can be declared above it. Structured control
// becomes labels and branches; results of control instructions are registers that every exit
// writes. The text depends on the IR alone.
#include "back/ptx/ptx.h"
#include "ir/host.h"
#include "ir/nv.h"

const char *const ptx_prefixes[RC_COUNT] = {"%p", "%h", "%r", "%rd", "%f", "%fd"};
const char *const ptx_register_types[RC_COUNT] = {".pred", ".b16", ".b32", ".b64", ".f32", ".f64"};

const uint8_t ptx_classes[IR_TYPE_COUNT] = {
    [IR_I1] = RC_PRED,      [IR_I8] = RC_H,          [IR_I16] = RC_H,        [IR_F16] = RC_H,
    [IR_BF16] = RC_H,       [IR_F8E4] = RC_H,        [IR_F8E5] = RC_H,       [IR_I32] = RC_R,
    [IR_PTR_SHARED] = RC_R, [IR_F32] = RC_F,         [IR_F64] = RC_FD,       [IR_I64] = RC_RD,
    [IR_PTR_GEN] = RC_RD,   [IR_PTR_GLOBAL] = RC_RD, [IR_PTR_LOCAL] = RC_RD, [IR_PTR_CONST] = RC_RD,
    [IR_PTR_PARAM] = RC_RD,
};

const char *ptx_space(ir_type pointer)
{
    switch (pointer) {
    case IR_PTR_GLOBAL: return ".global";
    case IR_PTR_SHARED: return ".shared";
    case IR_PTR_LOCAL: return ".local";
    case IR_PTR_CONST: return ".const";
    case IR_PTR_PARAM: return ".param";
    default: return "";
    }
}

void ptx_line(ptx *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_putc(&p->body, '\t');
    if (p->guard)
        text_printf(&p->body, "@%s ", p->guard);
    text_vprintf(&p->body, format, args);
    text_putc(&p->body, ';');
    text_putc(&p->body, '\n');
    va_end(args);
}

// "%r12"
static void name_register(char name[16], reg_class c, uint32_t number)
{
    char digits[10];
    uint32_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    for (const char *prefix = ptx_prefixes[c]; *prefix;)
        *name++ = *prefix++;
    while (count)
        *name++ = digits[--count];
    *name = 0;
}

const char *ptx_temp(ptx *p, reg_class c)
{
    char *name = arena_room(p->scratch, 16);
    name_register(name, c, ++p->next_reg[c]);
    return name;
}

const char *ptx_def(ptx *p, ir_ref r)
{
    r = p->coalesced ? p->coalesced[r] : r; // of the same type
    if (!p->reg[r]) {
        reg_class c = ptx_class(ir_type_of(p->f, r));
        p->reg[r] = ++p->next_reg[c];
        name_register(p->reg_name[r], c, p->reg[r]);
    }
    return p->reg_name[r];
}

static const char *constant_text(ptx *p, const ir_const *c)
{
    switch (c->type) {
    case IR_F32: return str_format(p->scratch, "0f%08X", (uint32_t)c->bits);
    case IR_F64: return str_format(p->scratch, "0d%016llX", (unsigned long long)c->bits);
    case IR_I32: return str_format(p->scratch, "%d", (int32_t)(uint32_t)c->bits);
    case IR_I64: return str_format(p->scratch, "%lld", (long long)c->bits);
    case IR_I1: return c->bits ? "-1" : "0";
    default: return str_format(p->scratch, "%llu", (unsigned long long)c->bits);
    }
}

static const char *immediate(ptx *p, ir_ref r)
{
    const char **known = &p->const_text[ir_index(r)];
    if (!*known)
        *known = constant_text(p, &p->f->consts.at[ir_index(r)]);
    return *known;
}

const char *ptx_reg(ptx *p, ir_ref r)
{
    if (!ir_is_const(r))
        return ptx_def(p, r);
    static const char *const moves[RC_COUNT] = {"mov.pred", "mov.b16", "mov.b32",
                                                "mov.b64",  "mov.f32", "mov.f64"};
    reg_class c = ptx_class(ir_type_of(p->f, r));
    const char *t = ptx_temp(p, c);
    ptx_line(p, "%s %s, %s", moves[c], t, immediate(p, r));
    return t;
}

const char *ptx_op(ptx *p, ir_ref r)
{
    return ir_is_const(r) ? immediate(p, r) : ptx_def(p, r);
}

void ptx_lacks(ptx *p, const ir_inst *i, int sm, const char *feature)
{
    if (p->ds) {
        diag *d = diag_raise(p->ds, K4301, i->at, "%s: needs sm_%d or newer, but the target is %s",
                             feature, sm, p->t->name);
        diag_note(d,
                  "put the code under 'if (target_sm() >= %d)' beside a portable path, or compile "
                  "for a newer target",
                  sm);
    }
    p->failed = true;
}

const char *ptx_name(ptx *p, const char *name)
{
    char *copy = str_dup(p->scratch, str_of(name));
    for (char *c = copy; *c; c++)
        if (*c == '.')
            *c = '$';
    return copy;
}

// Tables of the library may carry the same name as another array of the module.
const char *ptx_data_name(ptx *p, uint32_t index)
{
    const char *name = p->m->data.at[index].name;
    bool is_taken = false;
    for (uint32_t k = 0; k < index && !is_taken; k++)
        is_taken = !strcmp(p->m->data.at[k].name, name);
    for (uint32_t k = 0; k < p->m->shared.len && !is_taken; k++)
        is_taken = !strcmp(p->m->shared.at[k].name, name);
    return is_taken ? str_format(p->scratch, "%s$%u", ptx_name(p, name), index) : ptx_name(p, name);
}

void ptx_needs(ptx *p, int version)
{
    if (p->version < version)
        p->version = version;
}

// --- control

const char *ptx_branch(const ptx *p, ir_ref condition)
{
    bool is_uniform =
        ir_is_const(condition) || !condition || p->uniform.value[condition] >= UNIFORM_WARP;
    return is_uniform ? "bra.uni" : "bra";
}

static void emit_region(ptx *p, ir_region_id r);
static void emit_inst(ptx *p, ir_inst_id id);

// The register as a number that no other class shares, for comparing.
static uint64_t register_key(ptx *p, ir_ref r)
{
    if (ir_is_const(r))
        return 0;
    ptx_def(p, r);
    return (uint64_t)p->reg[p->coalesced ? p->coalesced[r] : r] << 8 |
           ptx_class(ir_type_of(p->f, r));
}

// A value that one of the targets holds is read before it is overwritten.
void ptx_parallel_move(ptx *p, ir_ref first, const ir_ref *values, uint32_t count)
{
    static const char *const moves[RC_COUNT] = {"mov.pred", "mov.b16", "mov.b32",
                                                "mov.b64",  "mov.f32", "mov.f64"};
    const char **from = arena_array(p->scratch, const char *, count);
    uint64_t *into = arena_array(p->scratch, uint64_t, count);
    for (uint32_t k = 0; k < count; k++) {
        into[k] = register_key(p, first + k);
        uint64_t source = register_key(p, values[k]);
        from[k] = ptx_op(p, values[k]);
        bool is_lost = false; // the into of an earlier move of this group?
        for (uint32_t n = 0; n < k && source && source != into[k] && !is_lost; n++)
            is_lost = into[n] == source && register_key(p, values[n]) != source;
        if (is_lost) {
            reg_class c = ptx_class(ir_type_of(p->f, values[k]));
            const char *saved = ptx_temp(p, c);
            ptx_line(p, "%s %s, %s", moves[c], saved, from[k]);
            from[k] = saved;
        }
    }
    for (uint32_t k = 0; k < count; k++)
        if (register_key(p, values[k]) != into[k])
            ptx_line(p, "%s %s, %s", moves[ptx_class(ir_type_of(p->f, first + k))],
                     ptx_def(p, first + k), from[k]);
}

static bool is_empty_exit(const ptx *p, ir_region_id r, ir_inst_id owner)
{
    const ir_region *region = ir_region_at(p->f, r);
    const ir_inst *only = ir_at(p->f, region->first);
    return region->first == region->last && only->op == IR_EXIT && only->aux == owner &&
           !only->operand_count;
}

// A branch that only computes a little and then stores needs no jump: the arithmetic runs always,
// the stores under the condition. ptxas can then move other code across them.
static bool is_guardable(const ptx *p, ir_region_id r, ir_inst_id owner)
{
    enum { MAX_PURE = 10, MAX_STORES = 4 };
    uint32_t pure = 0, stores = 0;
    for (ir_inst_id id = ir_region_at(p->f, r)->first; id; id = ir_at(p->f, id)->next) {
        const ir_inst *i = ir_at(p->f, id);
        bool is_arrival = i->op == IR_NV && i->aux == NV_MBAR_ARRIVE;
        if (i->op == IR_EXIT)
            return i->aux == owner && !i->operand_count && stores && stores <= MAX_STORES &&
                   pure <= MAX_PURE;
        if (i->op == IR_STORE || is_arrival)
            stores++;
        else if (ir_op_effect((ir_op)i->op) == IR_FX_PURE && !i->region_count &&
                 !(i->op >= IR_SDIV && i->op <= IR_UREM) && i->op != IR_FDIV && i->op != IR_FSQRT &&
                 i->op != IR_LOCAL)
            pure++;
        else
            return false;
    }
    return false;
}

static void emit_guarded(ptx *p, ir_region_id r, const char *condition)
{
    for (ir_inst_id id = ir_region_at(p->f, r)->first; id; id = ir_at(p->f, id)->next) {
        ir_op op = (ir_op)ir_at(p->f, id)->op;
        if (op == IR_EXIT)
            return;
        p->guard = op == IR_STORE || op == IR_NV ? condition : NULL;
        emit_inst(p, id);
        p->guard = NULL;
    }
}

static void emit_if(ptx *p, ir_inst_id id)
{
    const ir_inst *i = ir_at(p->f, id);
    const char *c = ptx_reg(p, ir_operand(p->f, i, 0)),
               *bra = ptx_branch(p, ir_operand(p->f, i, 0));
    uint32_t end = ++p->next_label;
    p->frame[id].end_label = end;
    ir_region_id yes = i->regions, no = i->regions + 1;
    if (is_empty_exit(p, no, id) && is_guardable(p, yes, id)) {
        emit_guarded(p, yes, c);
        return;
    }
    if (is_empty_exit(p, yes, id)) {
        ptx_line(p, "@%s %s $L%u", c, bra, end);
        emit_region(p, no);
    } else if (is_empty_exit(p, no, id)) {
        ptx_line(p, "@!%s %s $L%u", c, bra, end);
        emit_region(p, yes);
    } else {
        uint32_t other = ++p->next_label;
        ptx_line(p, "@!%s %s $L%u", c, bra, other);
        emit_region(p, yes);
        text_printf(&p->body, "$L%u:\n", other);
        emit_region(p, no);
    }
    text_printf(&p->body, "$L%u:\n", end);
}

static void emit_loop(ptx *p, ir_inst_id id)
{
    const ir_inst *i = ir_at(p->f, id);
    const ir_region *region = ir_region_at(p->f, i->regions);
    p->frame[id].end_label = ++p->next_label;
    p->frame[id].loop_label = ++p->next_label;
    ir_ref *starts =
        arena_copy(p->scratch, ir_operands(p->f, i), i->operand_count * sizeof(ir_ref));
    ptx_parallel_move(p, region->args, starts, i->operand_count);
    if (i->unroll == 1)
        text_puts(&p->body, "\t.pragma \"nounroll\";\n");
    text_printf(&p->body, "$L%u:\n", p->frame[id].loop_label);
    emit_region(p, i->regions);
    text_printf(&p->body, "$L%u:\n", p->frame[id].end_label);
}

static void emit_switch(ptx *p, ir_inst_id id)
{
    const ir_inst *i = ir_at(p->f, id);
    bool is_wide = ir_type_of(p->f, ir_operand(p->f, i, 0)) == IR_I64;
    const char *v = ptx_reg(p, ir_operand(p->f, i, 0));
    p->frame[id].end_label = ++p->next_label;
    uint32_t first = p->next_label + 1;
    p->next_label += i->region_count;
    for (uint32_t k = 0; k + 1 < i->region_count; k++) {
        const char *same = ptx_temp(p, RC_PRED);
        ptx_line(p, "setp.eq.s%s %s, %s, %lld", is_wide ? "64" : "32", same, v,
                 is_wide ? (long long)i->cases[k] : (long long)(int32_t)i->cases[k]);
        ptx_line(p, "@%s %s $L%u", same, ptx_branch(p, ir_operand(p->f, i, 0)), first + k);
    }
    ptx_line(p, "bra.uni $L%u", first + i->region_count - 1);
    for (uint32_t k = 0; k < i->region_count; k++) {
        text_printf(&p->body, "$L%u:\n", first + k);
        emit_region(p, i->regions + k);
    }
    text_printf(&p->body, "$L%u:\n", p->frame[id].end_label);
}

// True when control runs into the end label of `target` by itself after the last instruction of
// this region.
static bool falls_out(const ptx *p, const ir_inst *exit_inst)
{
    const ir_inst *left = ir_at(p->f, exit_inst->aux);
    const ir_region *region = ir_region_at(p->f, exit_inst->parent);
    if (region->owner != exit_inst->aux)
        return false;
    return exit_inst->parent == left->regions + left->region_count - 1 ||
           (left->op == IR_IF && is_empty_exit(p, left->regions + 1, exit_inst->aux));
}

static void emit_terminator(ptx *p, const ir_inst *i)
{
    ir_ref *values =
        arena_copy(p->scratch, ir_operands(p->f, i), i->operand_count * sizeof(ir_ref));
    switch ((ir_end_op)i->op) {
    case IR_EXIT:
        ptx_parallel_move(p, ir_at(p->f, i->aux)->result, values, i->operand_count);
        if (!falls_out(p, i))
            ptx_line(p, "bra.uni $L%u", p->frame[i->aux].end_label);
        break;
    case IR_NEXT: {
        const ir_inst *loop = ir_at(p->f, i->aux);
        ptx_parallel_move(p, ir_region_at(p->f, loop->regions)->args, values, i->operand_count);
        ptx_line(p, "bra.uni $L%u", p->frame[i->aux].loop_label);
        break;
    }
    case IR_RETURN: ptx_return(p, i); break;
    case IR_UNREACHABLE: ptx_line(p, "trap"); break;
    }
}

// Numbers from 1, in the order of first use.
static uint32_t file_number(ptx *p, const source_file *file)
{
    for (uint32_t k = 0; k < p->files.len; k++)
        if (p->files.at[k] == file)
            return k + 1;
    vec_push(p->scratch, &p->files, file);
    return p->files.len;
}

static void emit_files(const ptx *p, text *out)
{
    for (uint32_t k = 0; k < p->files.len; k++) {
        text_printf(out, ".file %u \"", k + 1);
        for (const char *c = p->files.at[k]->path; *c; c++)
            text_putc(out, *c == '"' || *c == '\\' || (unsigned char)*c < ' ' ? '_' : *c);
        text_puts(out, "\"\n");
    }
}

static void emit_loc(ptx *p, const ir_inst *i)
{
    if (!p->m->sources || !i->at.lo || !(p->options->line_info || p->options->annotate))
        return;
    source_place place = source_find(p->m->sources, i->at.lo);
    if (!place.file || place.file->is_builtin)
        return; // Kiln's own code belongs to the line that called it
    uint32_t file = file_number(p, place.file);
    if (place.line == p->last_line && file == p->last_file)
        return;
    p->last_line = place.line;
    p->last_file = file;
    if (p->options->annotate) {
        str line = source_line(p->m->sources, place.file, place.line);
        while (line.len && (*line.at == ' ' || *line.at == '\t')) {
            line.at++;
            line.len--;
        }
        text_printf(&p->body, "\t// %u: %.*s\n", place.line, (int)line.len, line.at);
    }
    if (p->options->line_info)
        text_printf(&p->body, "\t.loc %u %u %u\n", file, place.line, place.column);
}

static void emit_control(ptx *p, ir_inst_id id)
{
    switch ((ir_control_op)ir_at(p->f, id)->op) {
    case IR_IF: emit_if(p, id); break;
    case IR_LOOP: emit_loop(p, id); break;
    case IR_SWITCH: emit_switch(p, id); break;
    case IR_BLOCKSCOPE:
        p->frame[id].end_label = ++p->next_label;
        emit_region(p, ir_at(p->f, id)->regions);
        text_printf(&p->body, "$L%u:\n", p->frame[id].end_label);
        break;
    }
}

static void emit_inst(ptx *p, ir_inst_id id)
{
    const ir_inst *i = ir_at(p->f, id);
    if (p->is_narrow[id] || p->is_packed[id])
        return; // made where it is needed
    emit_loc(p, i);
    if (p->pair[id].type) {
        const float_pair *pair = &p->pair[id];
        ptx_line(p, "cvt.rn.%s.f32 %s, %s, %s", pair->type == IR_F16 ? "f16x2" : "bf16x2",
                 ptx_def(p, i->result), ptx_reg(p, pair->high), ptx_reg(p, pair->low));
        return;
    }
    if (ir_is_control(i->op))
        emit_control(p, id);
    else if (ir_is_terminator(i->op))
        emit_terminator(p, i);
    else
        ptx_inst(p, i);
}

static void emit_region(ptx *p, ir_region_id r)
{
    for (ir_inst_id id = ir_region_at(p->f, r)->first; id; id = ir_at(p->f, id)->next)
        emit_inst(p, id);
}

// --- kernels

// What the kernel asks for, or what the target can hold: the same source may be meant for larger
// ones. Only for a kernel that says its block.
static uint32_t min_blocks_of(const ptx *p)
{
    const ir_func *f = p->f;
    uint32_t threads = f->block[0] ? f->block[0] * f->block[1] * f->block[2] : f->max_threads;
    uint32_t most = p->t->threads / threads;
    uint32_t blocks = f->min_blocks < most ? f->min_blocks : most;
    return blocks ? blocks : 1;
}

// A kernel whose code is all for other targets asks for nothing.
static bool is_empty(const ir_func *f)
{
    return ir_at(f, ir_region_at(f, f->body)->first)->op == IR_RETURN;
}

static void emit_cluster(ptx *p)
{
    const uint32_t *size = p->f->cluster;
    if (size[0] * size[1] * size[2] <= 1)
        return;
    if (p->t->sm >= 90) {
        text_printf(p->out, ".explicitcluster\n.reqnctapercluster %u, %u, %u\n", size[0], size[1],
                    size[2]);
        return;
    }
    if (is_empty(p->f))
        return;
    p->failed = true;
    if (!p->ds)
        return;
    diag *d = diag_raise(p->ds, K4301, p->f->cluster_at.lo ? p->f->cluster_at : p->f->at,
                         "kernel '%s' runs in clusters of %u x %u x %u blocks: needs sm_90 or "
                         "newer, but the target is %s",
                         p->f->name, size[0], size[1], size[2], p->t->name);
    diag_note(d, "the mark may ask for the target: 'cluster(target_sm() >= 90 ? 2 : 1)'");
}

static void emit_params(ptx *p)
{
    const ir_func *f = p->f;
    text_printf(p->out, "\n.visible .entry %s(", f->name);
    for (uint32_t k = 0; k < f->params.len; k++) {
        const ir_param *a = &f->params.at[k];
        text_puts(p->out, k ? ",\n\t" : "\n\t");
        if (ir_param_has_bytes(a))
            text_printf(p->out, ".param .align %u .b8 %s_param_%u[%u]", a->align, f->name, k,
                        a->size);
        else if (a->kind == IR_PARAM_POINTER)
            text_printf(p->out, ".param .u64 .ptr.global.align %u %s_param_%u",
                        a->elem_align ? a->elem_align : 1, f->name, k);
        else
            text_printf(p->out, ".param .%s%u %s_param_%u",
                        ir_is_float((ir_type)a->type) && a->size >= 4 ? "f" : "b", a->size * 8,
                        f->name, k);
    }
    bool talks = channel_is_used(f);
    if (talks)
        text_printf(p->out, "%s.param .u64 %s_param_%u", f->params.len ? ",\n\t" : "\n\t", f->name,
                    f->params.len);
    text_puts(p->out, f->params.len || talks ? "\n)\n" : ")\n");
    if (f->block[0])
        text_printf(p->out, ".reqntid %u, %u, %u\n", f->block[0], f->block[1], f->block[2]);
    else if (f->max_threads)
        text_printf(p->out, ".maxntid %u\n", f->max_threads);
    emit_cluster(p);
    // Without a block's size ptxas ignores it. It needs it to know how many registers there are at
    // entry when the kernel changes that.
    if ((f->block[0] || f->max_threads) && (f->min_blocks || p->moves_registers))
        text_printf(p->out, ".minnctapersm %u\n", min_blocks_of(p));
    if (f->max_registers)
        text_printf(p->out, ".maxnreg %u\n", f->max_registers);
}

static void load_params(ptx *p)
{
    static const char *const types[RC_COUNT] = {"u8", "b16", "b32", "b64", "f32", "f64"};
    const ir_func *f = p->f;
    for (uint32_t k = 0; k < f->params.len; k++) {
        const ir_param *a = &f->params.at[k];
        ir_ref r = f->first_param + k;
        if (ir_param_has_bytes(a)) {
            ptx_line(p, "mov.b64 %s, %s_param_%u", ptx_def(p, r), f->name, k);
        } else if (a->kind == IR_PARAM_POINTER) {
            const char *raw = ptx_temp(p, RC_RD);
            ptx_line(p, "ld.param.b64 %s, [%s_param_%u]", raw, f->name, k);
            ptx_line(p, "cvta.to.global.u64 %s, %s", ptx_def(p, r), raw);
        } else if (a->type == IR_I1) {
            const char *raw = ptx_temp(p, RC_H);
            ptx_line(p, "ld.param.u8 %s, [%s_param_%u]", raw, f->name, k);
            ptx_line(p, "setp.ne.u16 %s, %s, 0", ptx_def(p, r), raw);
        } else {
            const char *type = a->size == 1 ? "u8" : types[ptx_class((ir_type)a->type)];
            ptx_line(p, "ld.param.%s %s, [%s_param_%u]", type, ptx_def(p, r), f->name, k);
        }
    }
}

static void emit_kernel(ptx *p, const ir_func *f)
{
    p->f = f;
    p->label = ptx_label_of(p, f);
    p->body = (text){.in = p->scratch};
    p->reg = arena_array(p->scratch, uint32_t, f->values.len);
    p->reg_name = arena_room(p->scratch, f->values.len * sizeof *p->reg_name);
    p->const_text = arena_array(p->scratch, const char *, f->consts.len);
    p->frame = arena_alloc(p->scratch, f->insts.len * sizeof *p->frame);
    memset(p->next_reg, 0, sizeof p->next_reg);
    p->calls_host = p->has_frame_words = false;
    p->next_label = 0;
    p->last_line = p->last_file = 0;
    ptx_find_facts(p);
    p->coalesced = ptx_coalesce(f, p->scratch);
    p->moves_registers = false;
    p->locals = ir_layout_locals(f, 1, p->scratch);
    ptx_place_shared(p);
    p->site = channel_number_sites(f, p->scratch);
    enum { MOST_LINES_ARE_SHORTER = 40 }; // bytes
    text_reserve(&p->body, (size_t)f->insts.len * MOST_LINES_ARE_SHORTER);
    text_puts(&p->body, "");
    bool is_entry = f->is_kernel && !p->is_library;
    p->lanes = "-1";
    if (p->is_library) { // whoever comes together is the warp
        p->lanes = ptx_temp(p, RC_R);
        ptx_line(p, "activemask.b32 %s", p->lanes);
    }
    if (is_entry) {
        ptx_reach_helpers(p);
        load_params(p);
        if (ptx_carries(p, f))
            ptx_start_ring(p);
    } else {
        ptx_function_params(p);
    }
    emit_region(p, f->body);
    if (ptx_keep_placed(p))
        return;
    if (is_entry) {
        emit_params(p);
    } else {
        text_puts(p->out, "\n");
        ptx_function_head(p, f, "");
    }
    text_puts(p->out, "{\n");
    if (p->locals.bytes)
        text_printf(p->out, "\t.local .align %u .b8 __local_%s[%llu];\n\t.reg .b64 %%SPL;\n",
                    p->locals.align > 16 ? p->locals.align : 16, p->label,
                    (unsigned long long)p->locals.bytes);
    if (p->calls_host)
        text_printf(p->out, "\t.local .align 16 .b8 %s[%u];\n", ptx_host_frame(p),
                    HOST_FRAME_WORDS * 4 + HOST_MOST_COUNTED * 16 + HOST_RING_BYTES);
    if (p->has_frame_words)
        text_printf(p->out, "\t.reg .b32 %%frame<%u>;\n", HOST_FRAME_WORDS + HOST_MOST_COUNTED * 4);
    for (int c = 0; c < RC_COUNT; c++)
        if (p->next_reg[c])
            text_printf(p->out, "\t.reg %s %s<%u>;\n", ptx_register_types[c], ptx_prefixes[c],
                        p->next_reg[c] + 1);
    if (p->locals.bytes)
        text_printf(p->out, "\tmov.u64 %%SPL, __local_%s;\n", p->label);
    text_add(p->out, p->body.at, p->body.len);
    text_puts(p->out, "}\n");
}

static void emit_arrays(ptx *p)
{
    ptx_declare_shared(p);
    ptx_declare_ring(p);
    for (uint32_t k = 0; k < p->m->data.len; k++) {
        const ir_data *d = &p->m->data.at[k];
        text_printf(p->out, ".const .align %u .b8 %s[%llu] = {", d->align > 16 ? d->align : 16,
                    ptx_data_name(p, k), (unsigned long long)d->size);
        for (uint64_t b = 0; b < d->size; b++)
            text_printf(p->out, "%s%u", b ? "," : "", d->bytes[b]);
        text_puts(p->out, "};\n");
    }
}

static void mark_called(const ir_module *m, const ir_func *f, bool *is_called)
{
    for (uint32_t k = 1; k < f->insts.len; k++) {
        const ir_inst *i = &f->insts.at[k];
        if (i->op != IR_CALL || is_called[i->aux])
            continue;
        is_called[i->aux] = true;
        mark_called(m, m->funcs.at[i->aux], is_called);
    }
}

// A table that is never read. The assembler folds branches that Kiln does not; where that removes
// every call of a function, it crashes. A function whose address is known is never without a use.
static void emit_addresses(ptx *p, const bool *is_called)
{
    text names = {.in = p->scratch};
    const ir_module *m = p->m, *library = m->library;
    uint32_t count = 0;
    for (uint32_t k = 0; library && k < library->funcs.len; k++)
        if (library->funcs.at[k]->is_kernel && !ptx_is_placed(p, library->funcs.at[k]->name))
            text_printf(&names, "%s$%s", count++ ? ", " : "", library->funcs.at[k]->name);
    for (uint32_t k = 0; k < m->funcs.len; k++)
        if (is_called[k])
            text_printf(&names, "%s%s", count++ ? ", " : "", ptx_label_of(p, m->funcs.at[k]));
    if (!count)
        return;
    text_printf(p->out, ".visible .global .align 8 .u64 $functions[%u] = {", count);
    text_add(p->out, names.at, names.len);
    text_puts(p->out, "};\n");
}

// The functions that the kernels call: all are declared first, because they call each other.
static void emit_functions(ptx *p, const ir_func *only)
{
    const ir_module *m = p->m;
    bool *is_called = arena_array(p->scratch, bool, m->funcs.len + 1);
    bool calls = false;
    for (uint32_t k = 0; k < m->funcs.len; k++)
        if (m->funcs.at[k]->is_kernel && (!only || only == m->funcs.at[k]))
            mark_called(m, m->funcs.at[k], is_called);
    for (uint32_t k = 0; k < m->funcs.len; k++)
        if (is_called[k]) {
            ptx_function_head(p, m->funcs.at[k], ";");
            calls = true;
        }
    for (uint32_t k = 0; k < m->funcs.len; k++)
        if (is_called[k])
            emit_kernel(p, m->funcs.at[k]);
    emit_addresses(p, is_called);
    ptx_keep_helpers(p, calls);
}

// What calls of the host become: functions whose warp is the lanes that call together.
static void emit_library(ptx *p)
{
    static const ptx_options plain;
    if (!p->m->library)
        return;
    ptx l = {.m = p->m->library,
             .t = p->t,
             .options = &plain,
             .scratch = p->scratch,
             .out = p->out,
             .version = p->version,
             .is_library = true};
    must(!l.m->data.len && !l.m->shared.len);
    for (uint32_t k = 0; k < l.m->funcs.len; k++) {
        const ir_func *f = l.m->funcs.at[k];
        if (f->is_kernel)
            emit_kernel(&l, f);
        p->has_table = p->has_table || !strncmp(f->name, "kiln_host", 9);
    }
    p->version = l.version;
    memcpy(&p->placed, &l.placed, sizeof p->placed);
}

bool ptx_emit(const ir_module *m, const ir_func *only, const target *t, const ptx_options *options,
              diags *ds, arena *scratch, text *out)
{
    static const ptx_options none;
    text kernels = {.in = scratch};
    ptx p = {.m = m,
             .t = t,
             .options = options ? options : &none,
             .ds = ds,
             .scratch = scratch,
             .out = &kernels};
    p.version = t->ptx;
    text_puts(&kernels, "");
    emit_arrays(&p);
    emit_library(&p);
    emit_functions(&p, only);
    for (uint32_t k = 0; k < m->funcs.len; k++) {
        if (m->funcs.at[k]->is_kernel && (!only || only == m->funcs.at[k]))
            emit_kernel(&p, m->funcs.at[k]);
    }
    text_printf(out, "// Made by Kiln from %s\n.version %d.%d\n.target %s\n.address_size 64\n",
                m->name ? m->name : "IR", p.version / 10, p.version % 10, t->name);
    emit_files(&p, out);
    text_puts(out, "\n");
    if (p.has_table) // on a line of its own
        text_printf(out, ".visible .const .align 256 .b8 " CHANNEL_CALLS_NAME "[%u];\n",
                    (uint32_t)sizeof((channel_header *)0)->calls +
                        (p.has_ring ? CHANNEL_RING_MARK : 0));
    text_add(out, kernels.at, kernels.len);
    return !p.failed;
}
