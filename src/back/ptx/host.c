// What a kernel does while it runs with the host's help. Calls of host functions as PTX: operands
// go into the lane's frame, a function of the library (rt/channel/mailbox_call.h) brings them to
// the host, results come out of the frame. The library's text is written by back/library.c. Start
// at ptx_host.
#include "ir/host.h"
#include "back/library.h"
#include "back/ptx/ptx.h"

#define RING_NAME "$ring"
enum { RING_SM = 90 }; // has bulk copies

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
    const char *least = ptx_temp(p, RC_RD), *bytes = ptx_temp(p, RC_R), *flag = ptx_temp(p, RC_R),
               *space = ptx_temp(p, RC_R), *is_global = ptx_temp(p, RC_PRED),
               *is_local = ptx_temp(p, RC_PRED),
               *at_object = ptx_reg(p, ir_operand(p->f, i, param->first));
    enum { COUNTED_BACK = 1, COUNTED_GLOBAL = 2, COUNTED_LOCAL = 4 }; // MAILBOX_COUNTED_…
    int changed = param->kind == 'm' ? COUNTED_BACK : 0;
    ptx_line(p, "st.local.b64 [%s+%u], %s", frame, at, at_object);
    ptx_line(p, "min.u64 %s, %s, 0xffffffff", least,
             ptx_reg(p, ir_operand(p->f, i, param->first + 1)));
    ptx_line(p, "cvt.u32.u64 %s, %s", bytes, least);
    ptx_line(p, "st.local.b32 [%s+%u], %s", frame, at + 8, bytes);
    ptx_line(p, "isspacep.global %s, %s", is_global, at_object);
    ptx_line(p, "isspacep.local %s, %s", is_local, at_object);
    ptx_line(p, "selp.b32 %s, %d, %d, %s", space, COUNTED_GLOBAL + changed, changed, is_global);
    ptx_line(p, "selp.b32 %s, %d, %s, %s", flag, COUNTED_LOCAL + changed, space, is_local);
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

// --- the ring: dynamic shared memory (rt/channel/mailbox_ring.h)
static bool has_ring(const ptx *p)
{
    return p->t->sm >= RING_SM && p->m->library && library_has_ring(p->m);
}

static bool is_carry(const ir_func *f, const ir_inst *i)
{
    host_shape shape;
    if (i->op != IR_HOST)
        return false;
    host_of_inst(f, i, &shape);
    return host_rows_of(&shape).counted;
}

// Does it call with counted objects, itself or through others?
static bool carries(const ir_module *m, const ir_func *f, bool *is_seen)
{
    for (uint32_t k = 1; k < f->insts.len; k++) {
        const ir_inst *i = &f->insts.at[k];
        if (is_carry(f, i))
            return true;
        if (i->op != IR_CALL || is_seen[i->aux])
            continue;
        is_seen[i->aux] = true;
        if (carries(m, m->funcs.at[i->aux], is_seen))
            return true;
    }
    return false;
}

bool ptx_carries(const ptx *p, const ir_func *f)
{
    return has_ring(p) && carries(p->m, f, arena_array(p->scratch, bool, p->m->funcs.len + 1));
}

// How many bytes there are, or 0. What is before the ring's place, which is aligned by hand, is
// less than that.
static const char *ring_bytes(ptx *p, const char *is_there)
{
    const char *bytes = special(p, "%dynamic_smem_size"), *left = ptx_temp(p, RC_R),
               *given = ptx_temp(p, RC_R);
    ptx_line(p, "setp.ge.u32 %s, %s, %u", is_there, bytes, CHANNEL_RING_LEAST);
    ptx_line(p, "sub.u32 %s, %s, %u", left, bytes, CHANNEL_RING_ALIGN);
    ptx_line(p, "selp.b32 %s, %s, 0, %s", given, left, is_there);
    return given;
}

static const char *ring_address(ptx *p)
{
    const char *start = ptx_temp(p, RC_RD), *added = ptx_temp(p, RC_RD),
               *aligned = ptx_temp(p, RC_RD);
    ptx_line(p, "mov.u64 %s, " RING_NAME, start);
    ptx_line(p, "add.u64 %s, %s, %u", added, start, CHANNEL_RING_ALIGN - 1);
    ptx_line(p, "and.b64 %s, %s, -%u", aligned, added, CHANNEL_RING_ALIGN);
    return aligned;
}

// A kernel's first instructions: nobody has the ring.
void ptx_start_ring(ptx *p)
{
    const char *is_there = ptx_temp(p, RC_PRED), *is_first = ptx_temp(p, RC_PRED),
               *thread = ptx_temp(p, RC_R), *all = ptx_temp(p, RC_R);
    uint32_t none = ++p->next_label;
    ring_bytes(p, is_there);
    ptx_line(p, "@!%s bra.uni $L%u", is_there, none);
    ptx_line(p, "or.b32 %s, %s, %s", thread, special(p, "%tid.x"), special(p, "%tid.y"));
    ptx_line(p, "or.b32 %s, %s, %s", all, thread, special(p, "%tid.z"));
    ptx_line(p, "setp.eq.u32 %s, %s, 0", is_first, all);
    ptx_line(p, "@%s st.shared.v2.b32 [%s], {0, 0}", is_first, ring_address(p));
    ptx_line(p, "bar.sync 0");
    text_printf(&p->body, "$L%u:\n", none);
}

void ptx_declare_ring(ptx *p)
{
    for (uint32_t k = 0; k < p->m->funcs.len; k++)
        if (ptx_carries(p, p->m->funcs.at[k])) {
            text_puts(p->out, ".extern .shared .align 128 .b8 " RING_NAME "[];\n");
            p->has_ring = true;
            return;
        }
}

static void store_ring(ptx *p, const char *frame)
{
    uint32_t at = 4 * HOST_FRAME_WORDS + 16 * HOST_MOST_COUNTED;
    const char *generic = ptx_temp(p, RC_RD);
    ptx_line(p, "cvta.shared.u64 %s, %s", generic, ring_address(p));
    ptx_line(p, "st.local.b64 [%s+%u], %s", frame, at, generic);
    ptx_line(p, "st.local.b32 [%s+%u], %s", frame, at + 8, ring_bytes(p, ptx_temp(p, RC_PRED)));
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
    ptx_call_library(p, library_call(p->scratch, s),
                     (const char *const[]){calls, address, number, home_of(p)});
}

// Lines that nobody reads while kernels run take the same way: the channel says which it is.
void ptx_print(ptx *p, const ir_inst *i, uint32_t site)
{
    const char *function = library_line(p->scratch, p->f, i);
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
    const char *frame = frame_for(p, library_call(p->scratch, &s));
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
    if (rows.counted && has_ring(p))
        store_ring(p, frame);
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
