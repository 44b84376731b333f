// A kernel as a function of one thread: its frame (local arrays, then structs given by value), its
// parameters, its body; and what kernels of a module share, structs and constant arrays. Start
// reading at threads_emit_kernel.
#include "back/channel.h"
#include "back/ctext/threads.h"
#include "back/folds.h"

static const char *offset(threads *e, uint64_t at)
{
    return ctext_literal(&e->t, IR_I64, at);
}

// Structs given by value lie in the frame, behind the local arrays.
static void lay_out_frame(threads *e)
{
    const ir_func *f = e->t.f;
    e->structs = arena_array(e->t.a, uint64_t, f->params.len + 1);
    e->t.locals = ir_layout_locals(f, 16, e->t.a);
    e->t.local_bytes = e->t.locals.behind;
    for (uint32_t k = 0; k < f->params.len; k++)
        if (ir_param_has_bytes(&f->params.at[k])) {
            uint32_t align = f->params.at[k].align;
            e->structs[k] = ir_round_up(e->t.local_bytes, align > 16 ? align : 16);
            e->t.local_bytes = ir_round_up(e->structs[k] + f->params.at[k].size, 16);
        }
    e->host_frame = ir_round_up(e->t.local_bytes, 16);
    uint64_t host_bytes = e->calls_host ? threads_host_bytes(f) : 0;
    if (host_bytes)
        e->t.local_bytes = e->host_frame + host_bytes;
}

static void emit_frame(threads *e)
{
    const ctext_words *w = e->t.words;
    const char *block = e->dialect->spaces[SPACE_SHARED].qualifier;
    ctext_put(&e->t, "%s%s *shared = (%s%s *)shared_words;", block, w->byte, block, w->byte);
    if (!e->t.local_bytes)
        return;
    unsigned long long words = e->t.local_bytes / 8;
    ctext_put(&e->t, "%s frame_words[%llu] __attribute__((aligned(16)));", w->wide_word, words);
    ctext_put(&e->t, "for (%s n = 0; n < %llu; n++) frame_words[n] = 0;", w->word, words);
    ctext_put(&e->t, "%s *frame = (%s *)frame_words;", w->byte, w->byte);
}

static void emit_param(threads *e, uint32_t k)
{
    const ctext_words *w = e->t.words;
    const ir_param *p = &e->t.f->params.at[k];
    ir_ref r = e->t.f->first_param + k;
    ir_type t = ir_type_of(e->t.f, r);
    const char *type = ctext_type(&e->t, t);
    if (ir_param_has_bytes(p)) {
        ctext_put(&e->t, "const %s v%u = %s;", w->wide_word, r, offset(e, e->structs[k]));
        ctext_put(&e->t, "for (%s n = 0; n < %u; n++) frame[v%u + n] = p%u.b[n];", w->word, p->size,
                  r, k);
    } else if (p->kind == IR_PARAM_POINTER) {
        ctext_put(&e->t, "const %s v%u = (%s)p%u;", w->wide_word, r, w->wide_word, k);
    } else if (t == IR_F32 || t == IR_F64) {
        ctext_put(&e->t, "const %s v%u = %s_bits(p%u);", type, r, ir_type_name(t), k);
    } else {
        uint32_t size = ir_type_size(t);
        ctext_put(&e->t, size < 4 ? "const %s v%u = p%u & 0x%xu;" : "const %s v%u = p%u;", type, r,
                  k, size == 1 ? 0xffu : 0xffffu);
    }
}

static void start(threads *e, const ir_func *f, arena *a, text *out)
{
    e->t = (ctext){.words = &e->dialect->words, .f = f, .m = f->module, .a = a, .out = out};
    e->t.folds = folds_find(f, a);
    e->controls = arena_array(a, thread_control, f->insts.len + 1);
    e->is_whole = true;
    threads_find_together(e);
    e->is_plain = !e->is_together;
    lay_out_frame(e);
    e->t.shared = ir_layout_shared(f, 1, a);
    e->t.sites = channel_number_sites(f, a);
}

void threads_emit_function(threads *e, const ir_func *f, arena *a, text *out)
{
    const ctext_words *w = &e->dialect->words;
    start(e, f, a, out);
    must(!e->t.local_bytes && !e->t.shared.behind); // `frame` and `shared` are the caller's
    text_printf(out, "\nstatic void %s(%s%s *shared, %s *frame", f->name,
                e->dialect->spaces[SPACE_SHARED].qualifier, w->byte, w->byte);
    for (uint32_t k = 0; k < f->params.len; k++)
        text_printf(out, ", %s p%u",
                    ir_type_size(ir_type_of(f, f->first_param + k)) == 8 ? w->wide_word : w->word,
                    k);
    text_puts(out, ")\n{\n");
    e->t.depth = 1;
    for (uint32_t k = 0; k < f->params.len; k++)
        emit_param(e, k);
    ctext_put(&e->t, "%s ticks = 0;", w->wide_word);
    threads_emit_region(e, f->body);
    text_puts(out, "}\n");
}

// A lane's place in the block, and how many threads that has: of kernels that ask for them.
static void emit_place(threads *e)
{
    const ir_func *f = e->t.f;
    bool asks = false, shuffles = false;
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        uint16_t op = ir_at(f, id)->op;
        asks |= op == IR_LANE || op == IR_WARP;
        shuffles |= op == IR_SHUFFLE && e->has_lanes;
    }
    if (asks || shuffles)
        ctext_put(&e->t, "const %s rank = thread_rank();", e->t.words->word);
    if (shuffles && f->block[0])
        ctext_put(&e->t, "const %s count = %uu;", e->t.words->word,
                  f->block[0] * f->block[1] * f->block[2]);
    else if (shuffles)
        ctext_put(&e->t, "const %s count = thread_count();", e->t.words->word);
}

void threads_emit_kernel(threads *e, const ir_func *f, const char *what, arena *a, text *out)
{
    start(e, f, a, out);
    text_printf(out, "\n// kernel %s: %llu bytes of shared memory%s\n", f->name,
                (unsigned long long)e->t.shared.behind, what);
    e->dialect->put_signature(e);
    text_puts(out, "{\n");
    e->t.depth = 1;
    emit_frame(e);
    for (uint32_t k = 0; k < f->params.len; k++)
        emit_param(e, k);
    emit_place(e);
    ctext_put(&e->t, "%s ticks = 0;", e->t.words->wide_word);
    ctext_put(&e->t, "ONE_BY_ONE();");
    if (e->is_together)
        threads_declare_all(e);
    threads_emit_region(e, f->body);
    text_puts(out, "}\n");
}

// --- of a module
void threads_emit_structs(const ir_module *m, const ctext_dialect *d, arena *a, text *out)
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
            text_printf(out, "struct bytes_%u { %s b[%u]; };\n", p->size, d->words.byte, p->size);
        }
}

uint64_t *threads_emit_data(const ir_module *m, const char *head, arena *a, text *out)
{
    uint64_t *at = arena_array(a, uint64_t, m->data.len + 1), end = 0;
    if (!m->data.len)
        return at;
    text_printf(out, "%s = {", head);
    for (uint32_t k = 0; k < m->data.len; k++) {
        const ir_data *d = &m->data.at[k];
        at[k] = ir_round_up(end, d->align > 16 ? d->align : 16);
        for (; end < at[k]; end++)
            text_puts(out, "0,");
        ctext_put_bytes(out, d);
        end += d->size;
    }
    text_puts(out, "0};\n");
    return at;
}
