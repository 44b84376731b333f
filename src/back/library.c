// The Kiln C that calls of the host and printed lines become on a device with mailboxes: the
// protocol's source (rt/channel), then one use of its functions for each shape of call in the
// module. Start at library_text.
#include "back/library.h"

#include "base/embed.h"

// Does a call give counted objects back?
static bool changes(const host_shape *s)
{
    for (uint32_t p = 0; p < s->param_count; p++)
        if (s->params[p].kind == 'm')
            return true;
    return false;
}

// "kiln_host_call_3_2_lane_0": how, words out and in, lane, warp or those without the words that
// say who calls, counted objects.
const char *library_call(arena *a, const host_shape *s)
{
    host_rows r = host_rows_of(s);
    return str_format(
        a, "kiln_host_%s_%u_%u_%s_%u",
        r.counted      ? changes(s) ? "carry_both" : "carry"
        : s->is_posted ? "send"
                       : "call",
        r.out, r.in, str_format(a, "%s%s", s->is_warp ? "warp" : "lane", r.has_who ? "" : "_quiet"),
        r.counted);
}

static const char *use_of(arena *a, const host_shape *s, bool has_ring)
{
    host_rows r = host_rows_of(s);
    const char *name = library_call(a, s), *is_warp = s->is_warp ? "true" : "false",
               *who = r.has_who ? "MAILBOX_HAS_WHO" : "0";
    if (r.counted)
        return str_format(a, "MAILBOX_CARRY(%s, %u, %u, %s, %s, %u, %s, %s)\n", name, r.out, r.in,
                          is_warp, who, r.counted, changes(s) ? "true" : "false",
                          has_ring ? "true" : "false");
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

const char *library_line(arena *a, const ir_func *f, const ir_inst *i)
{
    return str_format(a, "kiln_print_%u_%llx", i->operand_count, (unsigned long long)wide_of(f, i));
}

static const char *line_use_of(arena *a, const ir_func *f, const ir_inst *i)
{
    return str_format(a, "PRINT_LINE(%s, %u, 0x%llxu)\n", library_line(a, f, i), i->operand_count,
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

// Else dynamic shared memory is the kernels' own.
bool library_has_ring(const ir_module *m)
{
    for (uint32_t k = 0; k < m->shared.len; k++)
        if (m->shared.at[k].is_dynamic)
            return false;
    return true;
}

const char *library_text(const ir_module *m, arena *a, bool has_lines)
{
    static const char *const headers[] = {"channel/word.h", "channel/mailbox.h",
                                          "channel/mailbox_warp.h", "channel/mailbox_ring.h",
                                          "channel/mailbox_call.h"};
    text out = {.in = a};
    bool prints = false, calls = false;
    vec(const char *) uses = {0};
    for (uint32_t n = 0; n < m->funcs.len; n++) {
        const ir_func *f = m->funcs.at[n];
        for (uint32_t k = 1; k < f->insts.len; k++) {
            const ir_inst *i = &f->insts.at[k];
            host_shape shape;
            bool is_line = i->op == IR_PRINT;
            if (i->op != IR_HOST && !(is_line && has_lines))
                continue;
            prints |= is_line;
            calls |= !is_line;
            if (!is_line)
                host_of_inst(f, i, &shape);
            const char *use =
                is_line ? line_use_of(a, f, i) : use_of(a, &shape, library_has_ring(m));
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
