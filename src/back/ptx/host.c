// What a kernel does while it runs with the host's help. Calls of host functions as PTX: operands
// go into the lane's frame, a function of the library (rt/channel/mailbox_call.h) brings them to
// the host, results come out of the frame. The library's text is written by ptx_library, one
// function for each shape of call in the module. Start at ptx_host.
#include "ir/host.h"
#include "back/ptx/ptx.h"
#include "base/embed.h"

// --- the library
// "kiln_host_call_3_2_lane_0": how, words out and in, lane, warp or those without the words that
// say who calls, counted objects.
static const char *function_of(arena *a, const host_shape *s)
{
    host_rows r = host_rows_of(s);
    return str_format(
        a, "kiln_host_%s_%u_%u_%s_%u",
        r.counted      ? "carry"
        : s->is_posted ? "send"
                       : "call",
        r.out, r.in, str_format(a, "%s%s", s->is_warp ? "warp" : "lane", r.has_who ? "" : "_quiet"),
        r.counted);
}

static const char *use_of(arena *a, const host_shape *s)
{
    host_rows r = host_rows_of(s);
    const char *name = function_of(a, s), *is_warp = s->is_warp ? "true" : "false",
               *who = r.has_who ? "MAILBOX_HAS_WHO" : "0";
    if (r.counted)
        return str_format(a, "MAILBOX_CARRY(%s, %u, %u, %s, %s, %u)\n", name, r.out, r.in, is_warp,
                          who, r.counted);
    return str_format(a, "MAILBOX_%s(%s, %u, %u, %s, %s)\n", s->is_posted ? "SEND" : "CALL", name,
                      r.out, r.in, is_warp, who);
}

// "kiln_print_2_2": arguments, and the set of those that have 8 bytes.
static uint64_t wide_of(const ir_func *f, const ir_inst *i)
{
    uint64_t wide = 0;
    for (uint32_t k = 0; k < i->operand_count; k++)
        wide |= (uint64_t)(host_words((uint8_t)ir_type_of(f, ir_operand(f, i, k))) == 2) << k;
    return wide;
}

static const char *line_of(arena *a, const ir_func *f, const ir_inst *i)
{
    return str_format(a, "kiln_print_%u_%llx", i->operand_count, (unsigned long long)wide_of(f, i));
}

static const char *line_use_of(arena *a, const ir_func *f, const ir_inst *i)
{
    return str_format(a, "PRINT_LINE(%s, %u, 0x%llxu)\n", line_of(a, f, i), i->operand_count,
                      (unsigned long long)wide_of(f, i));
}

// The headers one after the other: what they include of each other is left out.
static void add_header(text *out, const char *name)
{
    for (const char *at = embed_find(name, NULL); at && *at;) {
        size_t len = strcspn(at, "\n") + 1;
        if (strncmp(at, "#include \"", 10) != 0)
            text_add(out, at, len);
        at += len;
    }
}

const char *ptx_library(const ir_module *m, arena *a)
{
    static const char *const headers[] = {"channel/word.h", "channel/mailbox.h",
                                          "channel/mailbox_warp.h", "channel/mailbox_call.h"};
    text out = {.in = a};
    bool prints = false, calls = false;
    vec(const char *) uses = {0};
    for (uint32_t n = 0; n < m->funcs.len; n++) {
        const ir_func *f = m->funcs.at[n];
        for (uint32_t k = 1; k < f->insts.len; k++) {
            const ir_inst *i = &f->insts.at[k];
            host_shape shape;
            bool is_line = i->op == IR_PRINT;
            if (i->op != IR_HOST && !is_line)
                continue;
            prints |= is_line;
            calls |= !is_line;
            if (!is_line)
                host_of_inst(f, i, &shape);
            const char *use = is_line ? line_use_of(a, f, i) : use_of(a, &shape);
            bool is_known = false;
            for (uint32_t u = 0; u < uses.len && !is_known; u++)
                is_known = !strcmp(uses.at[u], use);
            if (!is_known)
                vec_push(a, &uses, use);
        }
    }
    if (!uses.len)
        return NULL;
    for (size_t n = 0; n < (calls ? COUNT(headers) : 1); n++)
        add_header(&out, headers[n]);
    if (prints)
        add_header(&out, "channel/print_room.h");
    for (uint32_t u = 0; u < uses.len; u++)
        text_puts(&out, uses.at[u]);
    return out.at;
}

// --- the frame
const char *ptx_host_frame(ptx *p)
{
    return str_format(p->scratch, "__host_%s", p->label);
}

// The frame of a function that is placed at its calls is registers; `frame` is NULL then.
static void store_word(ptx *p, const char *frame, uint32_t word, const char *value)
{
    if (frame)
        ptx_line(p, "st.local.b32 [%s+%u], %s", frame, 4 * word, value);
    else
        ptx_line(p, "mov.b32 %%frame%u, %s", word, value);
}

static void load_word(ptx *p, const char *frame, uint32_t word, const char *to)
{
    if (frame)
        ptx_line(p, "ld.local.b32 %s, [%s+%u]", to, frame, 4 * word);
    else
        ptx_line(p, "mov.b32 %s, %%frame%u", to, word);
}

// Stores a number as one or two words; returns the word behind it.
static uint32_t store_words(ptx *p, const char *frame, uint32_t word, ir_ref value)
{
    ir_type t = ir_type_of(p->f, value);
    const char *v = ptx_reg(p, value);
    if (host_words((uint8_t)t) == 2) {
        const char *low = ptx_temp(p, RC_R), *high = ptx_temp(p, RC_R);
        ptx_line(p, "mov.b64 {%s, %s}, %s", low, high, v);
        store_word(p, frame, word, low);
        store_word(p, frame, word + 1, high);
        return word + 2;
    }
    if (ptx_class(t) == RC_H) {
        const char *wide = ptx_temp(p, RC_R);
        ptx_line(p, "cvt.u32.u16 %s, %s", wide, v);
        v = wide;
    }
    store_word(p, frame, word, v);
    return word + 1;
}

static uint32_t load_words(ptx *p, const char *frame, uint32_t word, ir_ref into)
{
    ir_type t = ir_type_of(p->f, into);
    const char *to = ptx_def(p, into);
    if (host_words((uint8_t)t) == 2) {
        const char *low = ptx_temp(p, RC_R), *high = ptx_temp(p, RC_R);
        load_word(p, frame, word, low);
        load_word(p, frame, word + 1, high);
        ptx_line(p, "mov.b64 %s, {%s, %s}", to, low, high);
        return word + 2;
    }
    if (ptx_class(t) == RC_H) {
        const char *wide = ptx_temp(p, RC_R);
        load_word(p, frame, word, wide);
        ptx_line(p, "cvt.u16.u32 %s, %s", to, wide);
    } else {
        load_word(p, frame, word, to);
    }
    return word + 1;
}

// A counted object's row behind the words, and its bytes as a word.
static void store_counted(ptx *p, const char *frame, uint32_t word, uint32_t row, const ir_inst *i,
                          const host_param *param)
{
    uint32_t at = 4 * HOST_FRAME_WORDS + 16 * row;
    const char *least = ptx_temp(p, RC_RD), *bytes = ptx_temp(p, RC_R), *flag = ptx_temp(p, RC_R);
    ptx_line(p, "st.local.b64 [%s+%u], %s", frame, at,
             ptx_reg(p, ir_operand(p->f, i, param->first)));
    ptx_line(p, "min.u64 %s, %s, 0xffffffff", least,
             ptx_reg(p, ir_operand(p->f, i, param->first + 1)));
    ptx_line(p, "cvt.u32.u64 %s, %s", bytes, least);
    ptx_line(p, "st.local.b32 [%s+%u], %s", frame, at + 8, bytes);
    ptx_line(p, "mov.b32 %s, %d", flag, param->kind == 'm');
    ptx_line(p, "st.local.b32 [%s+%u], %s", frame, at + 12, flag);
    ptx_line(p, "st.local.b32 [%s+%u], %s", frame, 4 * word, bytes);
}

static const char *special(ptx *p, const char *name)
{
    const char *r = ptx_temp(p, RC_R);
    ptx_line(p, "mov.u32 %s, %s", r, name);
    return r;
}

// low | high << shift
static const char *joined(ptx *p, const char *low, const char *high, uint32_t shift)
{
    const char *shifted = ptx_temp(p, RC_R), *both = ptx_temp(p, RC_R);
    ptx_line(p, "shl.b32 %s, %s, %u", shifted, high, shift);
    ptx_line(p, "or.b32 %s, %s, %s", both, low, shifted);
    return both;
}

static void store_who(ptx *p, const char *frame, uint32_t word)
{
    const char *thread = joined(p, special(p, "%tid.x"), special(p, "%tid.y"), 10);
    thread = joined(p, thread, special(p, "%tid.z"), 20);
    store_word(p, frame, word, thread);
    const char *size[2] = {ptx_temp(p, RC_R), ptx_temp(p, RC_R)};
    ptx_line(p, "add.u32 %s, %s, -1", size[0], special(p, "%ntid.x"));
    ptx_line(p, "add.u32 %s, %s, -1", size[1], special(p, "%ntid.y"));
    store_word(p, frame, word + 1, joined(p, size[0], size[1], 10));
    store_word(p, frame, word + 2, special(p, "%ctaid.x"));
    store_word(p, frame, word + 3, joined(p, special(p, "%ctaid.y"), special(p, "%ctaid.z"), 16));
}

// NULL: it is registers.
static const char *frame_for(ptx *p, const char *function)
{
    if (ptx_is_placed(p, function)) {
        p->has_frame_words = true;
        return NULL;
    }
    const char *frame = ptx_temp(p, RC_RD);
    p->calls_host = true;
    ptx_line(p, "mov.u64 %s, %s", frame, ptx_host_frame(p));
    return frame;
}

// The frame as an argument.
static const char *address_of(ptx *p, const char *frame)
{
    const char *generic = frame ? ptx_temp(p, RC_RD) : "0";
    if (frame)
        ptx_line(p, "cvta.local.u64 %s, %s", generic, frame);
    return generic;
}

// --- the call
// a + b * c
static const char *added(ptx *p, const char *a, const char *b, const char *c)
{
    const char *sum = ptx_temp(p, RC_R);
    ptx_line(p, "mad.lo.u32 %s, %s, %s, %s", sum, b, c, a);
    return sum;
}

// The number of the warp in its grid: neighbours, which run at the same time, look for a mailbox in
// different places.
static const char *home_of(ptx *p)
{
    const char *block = added(p, special(p, "%ctaid.y"), special(p, "%ctaid.z"),
                              special(p, "%nctaid.y")),
               *thread =
                   added(p, special(p, "%tid.y"), special(p, "%tid.z"), special(p, "%ntid.y")),
               *size = added(p, "31", special(p, "%ntid.x"), special(p, "%ntid.y")),
               *warps = ptx_temp(p, RC_R), *warp = ptx_temp(p, RC_R);
    block = added(p, special(p, "%ctaid.x"), block, special(p, "%nctaid.x"));
    thread = added(p, special(p, "%tid.x"), thread, special(p, "%ntid.x"));
    ptx_line(p, "shr.u32 %s, %s, 5", warps, size);
    ptx_line(p, "shr.u32 %s, %s, 5", warp, thread);
    return added(p, warp, block, warps);
}

static void call_host(ptx *p, const host_shape *s, const char *frame, uint32_t site)
{
    const char *channel = ptx_load_channel(p), *calls = ptx_temp(p, RC_RD),
               *number = ptx_temp(p, RC_R);
    ptx_line(p, "add.u64 %s, %s, %u", calls, channel, (uint32_t)offsetof(channel_header, calls));
    ptx_line(p, "mov.b32 %s, %u", number, HOST_SITE_NUMBERS * site);
    const char *address = address_of(p, frame);
    ptx_call_library(p, function_of(p->scratch, s),
                     (const char *const[]){calls, address, number, home_of(p)});
}

// Lines that nobody reads while kernels run take the same way: the channel says which it is.
void ptx_print(ptx *p, const ir_inst *i, uint32_t site)
{
    const char *function = line_of(p->scratch, p->f, i);
    if (!p->m->library) { // nobody can launch this
        ptx_fault(p, site, NULL);
        return;
    }
    const char *frame = frame_for(p, function), *number = ptx_temp(p, RC_R);
    for (uint32_t k = 0, word = 0; k < i->operand_count; k++)
        word = store_words(p, frame, word, ir_operand(p->f, i, k));
    ptx_line(p, "mov.b32 %s, %u", number, site);
    const char *channel = ptx_load_channel(p), *address = address_of(p, frame);
    ptx_call_library(p, function, (const char *const[]){channel, address, number, number});
}

void ptx_host(ptx *p, const ir_inst *i, uint32_t site)
{
    host_shape s;
    host_of_inst(p->f, i, &s);
    if (!p->m->library) { // nobody can launch this
        for (uint32_t k = 0; k < i->result_count; k++)
            ptx_def(p, i->result + k);
        ptx_fault(p, site, NULL);
        return;
    }
    uint32_t word = 0, row = 0, fine = ++p->next_label;
    const char *frame = frame_for(p, function_of(p->scratch, &s));
    for (uint32_t k = 0; k < s.in_count; k++) {
        const host_param *param = &s.params[s.in[k].param];
        if (!host_is_counted(param->kind))
            word = store_words(p, frame, word, ir_operand(p->f, i, k));
        else if (k == param->first)
            store_counted(p, frame, word++, row++, i, param);
    }
    host_rows rows = host_rows_of(&s);
    if (rows.has_who)
        store_who(p, frame, rows.out);
    call_host(p, &s, frame, site);
    const char *status = ptx_temp(p, RC_R), *is_fine = ptx_temp(p, RC_PRED),
               *wide = ptx_temp(p, RC_RD);
    load_word(p, frame, 0, status);
    ptx_line(p, "setp.eq.u32 %s, %s, 0", is_fine, status);
    ptx_line(p, "@%s bra $L%u", is_fine, fine);
    ptx_line(p, "cvt.u64.u32 %s, %s", wide, status);
    ptx_fault(p, site, (const char *const[]){wide, wide});
    text_printf(&p->body, "$L%u:\n", fine);
    word = 1;
    for (uint32_t k = 0; k < i->result_count; k++)
        word = load_words(p, frame, word, i->result + k);
}
