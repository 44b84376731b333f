// The functions that calls of the host and printf become (back/library.h). Short ones are placed
// where they are called: a module with functions is assembled with less optimisation
// (docs/assembler.md), and a kernel that prints shall not be. A copy is a block of PTX with
// registers and labels of its own, and its frame is registers of the caller. Start at
// ptx_call_library.
#include <stdlib.h>

#include "back/ptx/ptx.h"

enum { TABLE_PARAM, FRAME_PARAM }; // the parameters that are addresses: of a table, of the frame

typedef struct name {
    const char *at;
    size_t len;
} name;

static bool is_same(name a, name b)
{
    return a.len == b.len && !memcmp(a.at, b.at, a.len);
}

// "%rd12" but not "%clock64" or "%tid.x": the length of the name, or 0.
static size_t register_len(const char *at)
{
    for (int c = 0; at[0] == '%' && c < RC_COUNT; c++) {
        size_t len = strlen(ptx_prefixes[c]);
        if (!strncmp(at, ptx_prefixes[c], len) && at[len] >= '0' && at[len] <= '9')
            return len + strspn(at + len, "0123456789");
    }
    return 0;
}

typedef struct line {
    const char *at;
    size_t len;
    int param;                 // what it loads; -1: no parameter
    name to, from;             // the first two registers, of len 0 where there are fewer
    int frame_word;            // that it loads or stores; -1: none, -2: it uses the frame otherwise
    bool is_store, is_address; // is_address: it only copies the frame's address
} line;

static name next_register(const char *at, const char *end)
{
    for (; at < end; at++)
        if (register_len(at))
            return (name){at, register_len(at)};
    return (name){end, 0};
}

// "ld.param.b64 %rd1, [$name_param_2]" loads parameter 2.
static int param_of(const char *function, const char *at, size_t len)
{
    const char *bracket = memchr(at, '[', len);
    if (strncmp(at, "\tld.param.", 10) != 0 || !bracket)
        return -1;
    const char *number = bracket + strlen("[$") + strlen(function) + strlen("_param_");
    return number < at + len ? (int)(*number - '0') : -1;
}

// `frame` are the registers that hold the frame's address so far.
enum { MOST_NAMES = 4 };
static line read_line(const char *function, const char *at, const char *end, name *frame)
{
    size_t len = (size_t)((const char *)memchr(at, '\n', (size_t)(end - at)) - at) + 1;
    line l = {.at = at, .len = len, .param = param_of(function, at, len), .frame_word = -1};
    bool is_load = !strncmp(at, "\tld.b32 ", 8), is_move = !strncmp(at, "\tmov.b64 ", 9),
         uses_frame = false;
    l.is_store = !strncmp(at, "\tst.b32 ", 8);
    l.to = next_register(at, at + len);
    l.from = next_register(l.to.at + l.to.len, at + len);
    for (int n = 0; n < MOST_NAMES; n++)
        for (name r = l.to; r.len; r = next_register(r.at + r.len, at + len))
            uses_frame |= is_same(r, frame[n]);
    if (l.param == FRAME_PARAM || (uses_frame && is_move)) {
        for (int n = 0; n < MOST_NAMES; n++)
            if (!frame[n].len) {
                frame[n] = l.to;
                l.is_address = true;
                return l;
            }
        l.frame_word = -2;
    } else if (uses_frame) {
        name base = l.is_store ? l.to : l.from;
        bool is_base = (is_load || l.is_store) && base.at[-1] == '[';
        const char *behind = base.at + base.len;
        l.frame_word = !is_base ? -2 : *behind == '+' ? (int)strtoul(behind + 1, NULL, 10) / 4 : 0;
    }
    return l;
}

// Those that carry bytes are long, and wait for the bus anyway.
static bool is_placed(const ptx *p)
{
    name frame[MOST_NAMES] = {0};
    if (!strncmp(p->f->name, "kiln_host_carry", 15) || p->locals.bytes || p->calls_host)
        return false;
    for (const char *at = p->body.at, *end = at + p->body.len; at < end;) {
        line l = read_line(p->f->name, at, end, frame);
        if (l.frame_word == -2)
            return false;
        at += l.len;
    }
    return true;
}

bool ptx_keep_placed(ptx *p)
{
    if (!p->is_library || !is_placed(p))
        return false;
    ptx_placed placed = {.name = p->f->name, .body = p->body};
    memcpy(placed.registers, p->next_reg, sizeof placed.registers);
    vec_push(p->scratch, &p->placed, placed);
    return true;
}

bool ptx_is_placed(const ptx *p, const char *function)
{
    for (uint32_t k = 0; k < p->placed.len; k++)
        if (!strcmp(p->placed.at[k].name, function))
            return true;
    return false;
}

// With names of the copy's own.
static void place_text(ptx *p, const char *at, const char *end, uint32_t copy)
{
    text *out = &p->body;
    while (at < end) {
        size_t own = register_len(at), plain = strcspn(at + 1, "%$\n") + 1;
        if (own) {
            text_puts(out, "%in_");
            text_add(out, at + 1, own - 1);
            at += own;
        } else if (at[0] == '$' && at[1] == 'L') {
            text_printf(out, "$in%u_", copy);
            at += 2;
        } else {
            plain = plain < (size_t)(end - at) ? plain : (size_t)(end - at);
            text_add(out, at, plain);
            at += plain;
        }
    }
}

// A plain load of the table, which stays as it is while a kernel runs (the number of mailboxes may
// grow: the old one is right, too). For calls there is a copy of it in constant memory, which
// fences leave alone.
static bool is_of_table(const line *l, name table)
{
    return !strncmp(l->at, "\tld.global.", 11) && strncmp(l->at, "\tld.global.nc", 13) &&
           table.len && memchr(l->at, '[', l->len) &&
           is_same(next_register(memchr(l->at, '[', l->len), l->at + l->len), table);
}

static void place_table_load(ptx *p, const ptx_placed *f, const line *l, uint32_t copy)
{
    const char *end = l->at + l->len, *bracket = memchr(l->at, '[', l->len),
               *rest = l->at + strlen("\tld.global.");
    name base = next_register(bracket, end);
    if (strncmp(f->name, "kiln_host", 9) != 0) {
        text_puts(&p->body, "\tld.global.nc.");
        place_text(p, rest, end, copy);
        return;
    }
    text_puts(&p->body, "\tld.const.");
    place_text(p, rest, bracket, copy);
    text_puts(&p->body, "[" CHANNEL_CALLS_NAME);
    place_text(p, base.at + base.len, end, copy);
}

static void place(ptx *p, const ptx_placed *f, const char *const *values)
{
    text *out = &p->body;
    uint32_t copy = ++p->next_label;
    name frame[MOST_NAMES] = {0}, table = {0};
    text_puts(out, "\t{\n");
    for (int c = 0; c < RC_COUNT; c++)
        if (f->registers[c])
            text_printf(out, "\t.reg %s %%in_%s<%u>;\n", ptx_register_types[c], ptx_prefixes[c] + 1,
                        f->registers[c] + 1);
    for (const char *at = f->body.at, *end = at + f->body.len; at < end;) {
        line l = read_line(f->name, at, end, frame);
        const char *comma = memchr(at, ',', l.len);
        table = l.param == TABLE_PARAM ? l.to : table;
        if (l.is_address) {
            // nobody needs it
        } else if (l.param >= 0) {
            text_puts(out, "\tmov.");
            place_text(p, at + strlen("\tld.param."), comma, copy);
            text_printf(out, ", %s;\n", values[l.param]);
        } else if (l.frame_word >= 0 && l.is_store) {
            text_printf(out, "\tmov.b32 %%frame%d", l.frame_word);
            place_text(p, comma, at + l.len, copy);
        } else if (l.frame_word >= 0) {
            text_puts(out, "\tmov.b32 ");
            place_text(p, l.to.at, comma, copy);
            text_printf(out, ", %%frame%d;\n", l.frame_word);
        } else if (is_of_table(&l, table)) {
            place_table_load(p, f, &l, copy);
        } else if (!strncmp(at, "\tret;", 5)) {
            text_printf(out, "\tbra $in%u_end;\n", copy);
        } else {
            place_text(p, at, at + l.len, copy);
        }
        at += l.len;
    }
    text_printf(out, "$in%u_end:\n\t}\n", copy);
}

void ptx_call_library(ptx *p, const char *function, const char *const values[4])
{
    static const char *const types[] = {"b64", "b64", "b32", "b32"};
    for (uint32_t k = 0; k < p->placed.len; k++)
        if (!strcmp(p->placed.at[k].name, function)) {
            place(p, &p->placed.at[k], values);
            return;
        }
    text_puts(&p->body, "\t{\n");
    for (uint32_t k = 0; k < COUNT(types); k++) {
        ptx_line(p, ".param .%s argument%u", types[k], k);
        ptx_line(p, "st.param.%s [argument%u], %s", types[k], k, values[k]);
    }
    ptx_line(p, "call.uni $%s, (argument0, argument1, argument2, argument3)", function);
    text_puts(&p->body, "\t}\n");
}
