// Calls of host functions while a kernel runs, on devices whose memory the host sees at the same
// time: operands go into the thread's frame, a function of the library (back/library.h) brings them
// to a mailbox and waits, results come out of the frame. A thread is a warp of its own there, so
// that no thread waits for another one. Start at threads_emit_host.
#include "back/channel.h"
#include "back/ctext/threads.h"
#include "back/library.h"

enum {
    CALLS_BEHIND = 64, // in the channel: behind the lines, the fault, then a mailbox_calls
    CHANNEL_HEAD = 64,
    COUNTED_BACK = 1, // MAILBOX_COUNTED_…
    COUNTED_LOCAL = 4
};
_Static_assert(sizeof(channel_fault) <= CALLS_BEHIND, "dev/opencl/calls.c");

uint64_t threads_host_bytes(const ir_func *f)
{
    for (ir_inst_id id = 1; id < f->insts.len; id++)
        if (ir_at(f, id)->op == IR_HOST)
            return HOST_FRAME_WORDS * 4 + HOST_MOST_COUNTED * 16;
    return 0;
}

static void store(threads *e, uint64_t at, bool is_wide, const char *value)
{
    const char *type = is_wide ? e->t.words->wide_word : e->t.words->word;
    ctext_put(&e->t, "*(%s *)(frame + %llu) = %s;", type, (unsigned long long)(e->host_frame + at),
              value);
}

static const char *load(threads *e, uint32_t word)
{
    return str_format(e->t.a, "*(%s *)(frame + %llu)", e->t.words->word,
                      (unsigned long long)(e->host_frame + 4 * word));
}

static uint32_t store_words(threads *e, uint32_t word, ir_ref r)
{
    const char *x = ctext_bits(&e->t, r), *type = e->t.words->word;
    store(e, 4 * word++, false, str_format(e->t.a, "(%s)%s", type, x));
    if (host_words((uint8_t)ir_type_of(e->t.f, r)) == 2)
        store(e, 4 * word++, false, str_format(e->t.a, "(%s)(%s >> 32)", type, x));
    return word;
}

static uint32_t load_words(threads *e, uint32_t word, ir_ref r)
{
    ir_type t = ir_type_of(e->t.f, r);
    const char *x = load(e, word++), *wide = e->t.words->wide_word;
    if (host_words((uint8_t)t) == 2)
        x = str_format(e->t.a, "((%s)%s | (%s)%s << 32)", wide, x, wide, load(e, word++));
    if (t == IR_F32 || t == IR_F64)
        x = str_format(e->t.a, "%s_bits(%s)", ir_type_name(t), x);
    else if (t == IR_I1)
        x = str_format(e->t.a, "(%s != 0)", x);
    else if (ir_type_size(t) < 4)
        x = str_format(e->t.a, "(%s & 0x%xu)", x, ir_type_size(t) == 1 ? 0xffu : 0xffffu);
    threads_set(e, r, x);
    return word;
}

// The object's row behind the words, and its bytes as a word. All of it travels as bytes: nobody
// but the thread knows what its pointers mean.
static void store_counted(threads *e, uint32_t word, uint32_t row, const ir_inst *i,
                          const host_param *param)
{
    uint64_t at = 4 * HOST_FRAME_WORDS + 16 * (uint64_t)row;
    const char *bytes = ctext_bits(&e->t, ir_operand(e->t.f, i, param->first + 1)),
               *wide = e->t.words->wide_word,
               *least = str_format(e->t.a, "(%s)((%s)%s < 0xffffffff%s ? %s : 0xffffffff%s)",
                                   e->t.words->word, wide, bytes, e->t.words->wide, bytes,
                                   e->t.words->wide);
    store(e, at, true, ctext_bits(&e->t, ir_operand(e->t.f, i, param->first)));
    store(e, at + 8, false, least);
    store(e, at + 12, false,
          str_format(e->t.a, "%d", COUNTED_LOCAL + (param->kind == 'm' ? COUNTED_BACK : 0)));
    store(e, 4 * word, false, least);
}

static void store_who(threads *e, uint32_t word)
{
    const char *t = e->dialect->thread, *b = e->dialect->block, *s = e->dialect->block_size;
    store(e, 4 * word, false, str_format(e->t.a, "%s(0) | %s(1) << 10 | %s(2) << 20", t, t, t));
    store(e, 4 * word + 4, false, str_format(e->t.a, "(%s(0) - 1) | (%s(1) - 1) << 10", s, s));
    store(e, 4 * word + 8, false, str_format(e->t.a, "%s(0)", b));
    store(e, 4 * word + 12, false, str_format(e->t.a, "%s(1) | %s(2) << 16", b, b));
}

void threads_emit_host(threads *e, const ir_inst *i, uint32_t site)
{
    host_shape s;
    host_of_inst(e->t.f, i, &s);
    host_rows rows = host_rows_of(&s);
    uint32_t word = 0, row = 0;
    for (uint32_t k = 0; k < s.in_count; k++) {
        const host_param *param = &s.params[s.in[k].param];
        if (!host_is_counted(param->kind))
            word = store_words(e, word, ir_operand(e->t.f, i, k));
        else if (k == param->first)
            store_counted(e, word++, row++, i, param);
    }
    if (rows.has_who)
        store_who(e, rows.out);
    const char *wide = e->t.words->wide_word;
    ctext_put(&e->t,
              "%s(shared, frame, (%s)channel + %u + ((%s%s *)channel)[2], %llu%s | %s, %u, "
              "home_of());",
              library_call(e->t.a, &s), wide, CHANNEL_HEAD + CALLS_BEHIND,
              e->dialect->spaces[SPACE_GLOBAL].qualifier, e->t.words->word,
              (unsigned long long)e->host_frame, e->t.words->wide,
              e->dialect->spaces[SPACE_PRIVATE].tag, HOST_SITE_NUMBERS * site);
    ctext_put(&e->t, "if (%s) { fault(channel, %u, %s, 0); %s }", load(e, 0), site, load(e, 0),
              threads_end(e));
    word = 1;
    for (uint32_t k = 0; k < i->result_count; k++)
        word = load_words(e, word, i->result + k);
}
