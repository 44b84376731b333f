// A kernel as a function that runs warps: the frame, the parameters, the body, the way to the next
// warp. All kernels of a module lie one after the other, with their constants behind. A kernel
// that has something the generator lacks is left out. Start reading at x86_make.
#include "back/x86/make.h"

#include <stddef.h>

#include "back/channel.h"
#include "back/x86/x86.h"

enum { MOST_FRAME = 128 << 10 };

#define OF_WARP(field) x86_at(RBX, (int32_t)offsetof(x86_warp, field))

bool x86_is_here(void)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

static const uint8_t saved_words[] = {RBX, RBP, R12, R13, R14, R15};

// The place of the frame's size, known at the end.
static uint32_t begin(x86_gen *g, int32_t *saved)
{
    x86_code *c = g->code;
    for (size_t k = 0; k < COUNT(saved_words); k++)
        x86_push(c, saved_words[k]);
    x86_mov(c, true, RBX, RDI);
    x86_mov(c, true, RAX, RSP);
    x86_alu_imm(c, ALU_SUB, true, RSP, INT32_MAX);
    uint32_t size_at = c->bytes.len - 4;
    x86_alu_imm(c, ALU_AND, true, RSP, -64);
    *saved = x86_slot(g, 8, 8);
    x86_store(c, 8, x86_frame(*saved), RAX);
    return size_at;
}

static void end(x86_gen *g, int32_t saved)
{
    x86_code *c = g->code;
    x86_byte(c, 0xc5); // vzeroupper
    x86_byte(c, 0xf8);
    x86_byte(c, 0x77);
    x86_load(c, 8, RSP, x86_frame(saved));
    for (size_t k = COUNT(saved_words); k-- > 0;)
        x86_pop(c, saved_words[k]);
    x86_byte(c, 0xc3); // ret
}

static void clear_locals(x86_gen *g)
{
    if (!g->c.t.local_bytes)
        return;
    x86_load(g->code, 8, RDI, OF_WARP(local));
    x86_mov_imm(g->code, RAX, 0);
    x86_mov_imm(g->code, RCX, g->c.t.local_bytes * 4);
    x86_byte(g->code, 0xf3); // rep stosq
    x86_byte(g->code, 0x48);
    x86_byte(g->code, 0xab);
}

static void load_params(x86_gen *g)
{
    for (uint32_t k = 0; k < g->f->params.len; k++) {
        ir_ref r = g->f->first_param + k;
        if (g->places[r].class == CLASS_NONE)
            continue;
        ir_type t = ir_type_of(g->f, r);
        x86_load(g->code, 8, RDX, OF_WARP(args));
        x86_load(g->code, ir_type_size(t), RDX, x86_at(RDX, (int32_t)(k * 8)));
        x86_put_word(g, r, RDX);
    }
}

// As next_warp of back/cpu/lanes.h.
static void go_on(x86_gen *g, uint32_t first)
{
    x86_code *c = g->code;
    uint32_t leave = x86_label(c);
    x86_load(c, 4, RAX, OF_WARP(warp));
    x86_alu_imm(c, ALU_ADD, false, RAX, 1);
    x86_store(c, 4, OF_WARP(warp), RAX);
    x86_alu_mem(c, ALU_CMP, false, RAX, OF_WARP(warp_end));
    x86_jump_if(c, WHEN_NOT_BELOW, leave);
    for (int32_t axis = 0; axis < 3; axis++)
        x86_alu_mem_imm(c, ALU_ADD, true,
                        x86_at(RBX, (int32_t)offsetof(x86_warp, thread) + 8 * axis), 128);
    x86_shift_imm(c, SHIFT_LEFT, false, RAX, 5);
    x86_load(c, 4, RCX, OF_WARP(threads));
    x86_alu_reg(c, ALU_SUB, false, RCX, RAX);
    x86_mov_imm(c, RAX, 1);
    x86_shift_cl(c, SHIFT_LEFT, true, RAX);
    x86_alu_imm(c, ALU_SUB, false, RAX, 1);
    x86_mov_imm(c, RDX, UINT32_MAX);
    x86_alu_imm(c, ALU_CMP, false, RCX, 32);
    x86_cmov(c, WHEN_NOT_BELOW, false, RAX, RDX);
    x86_store(c, 4, OF_WARP(live), RAX);
    x86_jump(c, first);
    x86_bind(c, leave);
}

static void lay_out(x86_gen *g)
{
    cpu_lay_out(&g->c);
    if (g->c.t.shared.bytes > 1 << 30 || g->c.t.local_bytes > 1 << 24)
        x86_refuse(g, "very large arrays");
}

static void emit_function(x86_gen *g)
{
    x86_code *c = g->code;
    int32_t saved, live = -1;
    uint32_t size_at = begin(g, &saved), first = x86_label(c);
    g->done = x86_label(c);
    g->buffers = x86_slot(g, (X86_BUFFERS + 1) * X86_BUFFER, 64);
    g->spare = x86_slot(g, 8, 8);
    g->spins = x86_slot(g, 4, 4);
    x86_store_imm(c, false, x86_frame(g->spins), 0);
    x86_bind(c, first);
    clear_locals(g);
    if (!g->c.has_whole_warps) {
        live = x86_slot(g, 4, 4);
        x86_load(c, 4, RAX, OF_WARP(live));
        x86_store(c, 4, x86_frame(live), RAX);
    }
    x86_step(g, 0);
    load_params(g);
    g->mask = live;
    g->region_end = g->done;
    x86_emit_region(g, g->f->body);
    x86_bind(c, g->done);
    go_on(g, first);
    end(g, saved);
    if (g->frame > MOST_FRAME)
        x86_refuse(g, "too many values");
    int32_t size = (g->frame + 127) & ~63;
    memcpy(c->bytes.at + size_at, &size, sizeof size);
}

// What a refused kernel has left behind.
static void undo_code(x86_code *c, const x86_code *before)
{
    c->bytes.len = before->bytes.len;
    c->jumps.len = before->jumps.len;
    c->pooled.len = before->pooled.len;
}

static x86_kernel make_kernel(const ir_func *f, arena *a, x86_code *code)
{
    x86_gen g = {.c = {.t = {.words = &cpu_words, .f = f, .m = f->module, .a = a}},
                 .a = a,
                 .code = code,
                 .f = f,
                 .mask = -1};
    while (code->bytes.len % 64)
        x86_byte(code, 0xcc);
    x86_code before = *code;
    x86_kernel k = {.name = f->name, .at = code->bytes.len};
    if (ir_has_calls(f))
        return (x86_kernel){.name = f->name, .at = code->bytes.len, .refusal = "calls"};
    cpu_find_shapes(&g.c);
    cpu_find_streams(&g.c);
    lay_out(&g);
    g.c.t.sites = channel_number_sites(f, a);
    if (!g.refusal)
        x86_plan(&g);
    if (!g.refusal)
        emit_function(&g);
    if (g.refusal)
        undo_code(code, &before);
    k.refusal = g.refusal;
    k.local_bytes = g.c.t.local_bytes * 32;
    k.shared_bytes = g.c.t.shared.behind;
    k.needs_fibers = cpu_needs_fibers(&g.c);
    k.needs_rows = g.c.has_rows && !f->block[0];
    return k;
}

x86_module x86_make(const ir_module *m, arena *a)
{
    x86_code code = {.a = a, .pool_index = map_make(a)};
    x86_module out = {.kernels = arena_array(a, x86_kernel, m->funcs.len + 1)};
    for (uint32_t k = 0; k < m->funcs.len; k++)
        if (m->funcs.at[k]->is_kernel)
            out.kernels[out.kernel_count++] = make_kernel(m->funcs.at[k], a, &code);
    x86_link(&code);
    out.code = code.bytes.at;
    out.code_len = code.bytes.len;
    return out;
}
