// Remarks on performance, from the finished IR: what was asked for and could not be done (always
// told), and, when remarks are wanted, what costs time and could be helped. Changes nothing.
// One function per remark; start reading at pass_remark.
#include "pass/alias.h"
#include "pass/loop.h"
#include "pass/pass.h"
#include "pass/passes.h"

typedef struct remarker {
    const ir_func *f;
    pass_ctx *ctx;
    uniform_facts uniform;
    const uint32_t *align;
} remarker;

// --- K5001: a loop that was to be unrolled

static void remark_loop(const remarker *m, ir_inst_id id)
{
    const ir_func *f = m->f;
    const ir_inst *i = ir_at(f, id);
    if (i->unroll != -1)
        return;
    loop_info l = loop_look(f, id);
    diag *d = diag_raise(m->ctx->diags, K5001, i->at, "this loop cannot be unrolled fully");
    int64_t trips = loop_trips(f, &l, 1 << 16);
    if (trips >= 0)
        diag_label(d, i->at, "%lld rounds of %u operations are too many", (long long)trips, l.size);
    else if (!l.next || !l.exit_if)
        diag_label(d, i->at, "it has no single test that counts its rounds");
    else
        diag_label(d, i->at, "its number of rounds is not a constant");
    diag_note(d, "make start, end and step constants, or ask for '#pragma unroll 4' to unroll by "
                 "four with a remainder");
}

// --- K5002: a local array in memory

static const ir_inst *use_that_keeps(const ir_func *f, uint32_t local, bool *is_index)
{
    for (uint32_t id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        for (uint32_t k = 0; k < i->operand_count; k++) {
            ir_ref r = ir_operand(f, i, k);
            if (ir_is_const(r) || !ir_is_ptr(ir_type_of(f, r)))
                continue;
            alias_base b = alias_base_of(f, r);
            if (b.kind != ALIAS_LOCAL || b.index != local)
                continue;
            bool is_access = k == 0 && (i->op == IR_LOAD || i->op == IR_STORE);
            bool is_step = i->op == IR_PTRADD || i->op == IR_PTRCAST;
            *is_index = is_access && !b.is_offset_known;
            if (*is_index || (!is_access && !is_step))
                return i;
        }
    }
    return NULL;
}

static void remark_local(const remarker *m, const ir_inst *i)
{
    const ir_func *f = m->f;
    const ir_local *local = &f->locals.at[i->aux];
    bool is_index = false;
    const ir_inst *use = use_that_keeps(f, i->aux, &is_index);
    diag *d =
        diag_raise(m->ctx->diags, K5002, local->at, "'%s' stays in memory (%llu bytes a thread)",
                   local->name ? local->name : "local array", (unsigned long long)local->size);
    diag_label(d, local->at, "registers have no addresses, so this array is in slow local memory");
    if (use && is_index)
        diag_label(d, use->at, "this index is not a constant");
    else if (use)
        diag_label(d, use->at, "its address is taken here");
    diag_note(d, "index it by constants only: loops over it need constant bounds, or "
                 "'#pragma unroll'");
}

// --- how an address grows from thread to thread

typedef enum growth_kind { GROWS_BY, GROWS_UNKNOWN } growth_kind;
typedef struct growth {
    growth_kind kind;
    int64_t by; // bytes from one thread of a row to the next
} growth;

static growth growth_of(const remarker *m, ir_ref r, int fuel)
{
    const ir_func *f = m->f;
    growth none = {GROWS_UNKNOWN, 0};
    if (ir_is_const(r) || m->uniform.value[r] >= UNIFORM_WARP)
        return (growth){GROWS_BY, 0};
    ir_inst_id def = ir_def_of(f, r);
    if (!def || fuel == 0)
        return none;
    const ir_inst *i = ir_at(f, def);
    uint64_t k;
    growth a, b;
    switch (i->op) {
    case IR_THREAD: return (growth){i->imm == 0 ? GROWS_BY : GROWS_UNKNOWN, 1};
    case IR_LANE: return (growth){GROWS_BY, 1};
    case IR_SEXT:
    case IR_ZEXT:
    case IR_PTRCAST:
    case IR_UNIFORM: return growth_of(m, ir_operand(f, i, 0), fuel - 1);
    case IR_ADD:
    case IR_SUB:
    case IR_PTRADD:
        a = growth_of(m, ir_operand(f, i, 0), fuel - 1);
        b = growth_of(m, ir_operand(f, i, 1), fuel - 1);
        if (a.kind || b.kind)
            return none;
        return (growth){GROWS_BY, i->op == IR_SUB ? a.by - b.by : a.by + b.by};
    case IR_MUL:
    case IR_SHL:
        a = growth_of(m, ir_operand(f, i, 0), fuel - 1);
        if (a.kind || !ir_const_bits(f, ir_operand(f, i, 1), &k) || k > (1 << 24))
            return none;
        return (growth){GROWS_BY, a.by * (i->op == IR_SHL ? INT64_C(1) << (k & 31) : (int64_t)k)};
    default: return none;
    }
}

static const char *base_name(const ir_func *f, const alias_base *b)
{
    const char *name = b->kind == ALIAS_PARAM    ? f->params.at[b->index].name
                       : b->kind == ALIAS_SHARED ? f->module->shared.at[b->index].name
                                                 : NULL;
    return name ? name : "memory";
}

static int64_t access_bytes(const ir_inst *i)
{
    uint32_t n = i->op == IR_LOAD ? i->result_count : i->operand_count - 1;
    return (int64_t)ir_type_size(i->type) * n;
}

// Bytes that one thread accesses through this very pointer, at any offset.
static int64_t bytes_through(const ir_func *f, ir_ref pointer)
{
    int64_t sum = 0;
    for (uint32_t id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if ((i->op == IR_LOAD || i->op == IR_STORE) && ir_operand(f, i, 0) == pointer)
            sum += access_bytes(i);
    }
    return sum;
}

// K5004: neighbouring threads far apart in global memory, with most of the space between unused.
static void remark_coalescing(const remarker *m, const ir_inst *i, const alias_base *b)
{
    ir_ref pointer = ir_operand(m->f, i, 0);
    growth g = growth_of(m, pointer, 12);
    int64_t by = g.by < 0 ? -g.by : g.by, bytes = access_bytes(i);
    if (g.kind != GROWS_BY || by < 32 || 2 * bytes_through(m->f, pointer) > by)
        return;
    diag *d =
        diag_raise(m->ctx->diags, K5004, i->at, "neighbouring threads access '%s' %lld bytes apart",
                   base_name(m->f, b), (long long)by);
    diag_label(d, i->at, "a warp touches %lld bytes here to use %lld", (long long)(by * 32),
               (long long)(bytes * 32));
    diag_note(d, "let thread_x() run along the elements that are next to each other in memory, or "
                 "stage the tile through shared memory");
}

// Words that meet in the busiest bank when the lanes of one turn access `bytes` each, `by` apart.
static int64_t bank_conflict(int64_t by, int64_t bytes)
{
    int64_t lanes = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8, most = 1;
    int64_t count[32] = {0};
    for (int64_t lane = 0; lane < lanes; lane++)
        for (int64_t word = 0; word < bytes / 4; word++)
            count[(lane * by / 4 + word) % 32]++;
    for (int k = 0; k < 32; k++)
        most = count[k] > most ? count[k] : most;
    return most;
}

// K5005: lanes of a warp in one bank of shared memory.
static void remark_banks(const remarker *m, const ir_inst *i, const alias_base *b)
{
    growth g = growth_of(m, ir_operand(m->f, i, 0), 12);
    int64_t by = g.by < 0 ? -g.by : g.by, bytes = access_bytes(i);
    if (g.kind != GROWS_BY || by % 4 || by == 0 || bytes < 4)
        return;
    int64_t ways = bank_conflict(by, bytes);
    if (ways < 4)
        return;
    diag *d =
        diag_raise(m->ctx->diags, K5005, i->at, "%lld lanes of a warp meet in one bank of '%s'",
                   (long long)ways, base_name(m->f, b));
    diag_label(d, i->at, "neighbouring threads are %lld words apart; the access takes %lld turns",
               (long long)(by / 4), (long long)ways);
    diag_note(d, "pad the rows by one element, as in 'shared f32 tile[32][33]'");
}

// --- K5003: neighbours that stay apart for lack of alignment

static void remark_width(const remarker *m, ir_inst_id id)
{
    const ir_func *f = m->f;
    const ir_inst *i = ir_at(f, id);
    int64_t size = ir_type_size(i->type);
    if (i->op != IR_LOAD || i->result_count != 1 || size < 4 || i->hint == IR_HINT_VOLATILE)
        return;
    ir_ref pointer = ir_operand(f, i, 0);
    uint32_t found = 1;
    int64_t lowest = i->imm;
    for (ir_inst_id next = i->next; next && found * size < 16; next = ir_at(f, next)->next) {
        const ir_inst *n = ir_at(f, next);
        if (n->op == IR_LOAD && n->type == i->type && n->result_count == 1 &&
            ir_operand(f, n, 0) == pointer && n->imm == lowest + (int64_t)found * size)
            found++;
        else if (n->region_count || ir_op_effect(n->op) > IR_FX_READ)
            break;
    }
    alias_base b = alias_base_of(f, pointer);
    if (found * size < 16 || b.kind != ALIAS_PARAM || m->align[pointer] >= 16)
        return;
    const char *name = base_name(f, &b);
    diag *d =
        diag_raise(m->ctx->diags, K5003, i->at,
                   "%u loads of '%s' stay apart because its alignment is not known", found, name);
    diag_label(d, i->at, "one 16-byte load could do this if the address is a multiple of 16");
    if (m->align[f->first_param + b.index] < 16)
        diag_note(d, "promise it at the start of the kernel: assume((u64)%s %% 16 == 0);", name);
    else
        diag_note(d,
                  "the index must be known to be a multiple of %lld: assume it of the sizes it "
                  "is made of, as in assume(n %% %lld == 0);",
                  (long long)(16 / size), (long long)(16 / size));
}

static void visit_region(const remarker *m, ir_region_id region)
{
    const ir_func *f = m->f;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        if (i->op == IR_LOOP)
            remark_loop(m, id);
        if (m->ctx->wants_remarks && i->op == IR_LOCAL)
            remark_local(m, i);
        if (m->ctx->wants_remarks && (i->op == IR_LOAD || i->op == IR_STORE)) {
            alias_base b = alias_base_of(f, ir_operand(f, i, 0));
            if (b.space == IR_PTR_GLOBAL)
                remark_coalescing(m, i, &b);
            if (b.space == IR_PTR_SHARED)
                remark_banks(m, i, &b);
            remark_width(m, id);
        }
        for (uint32_t k = 0; k < i->region_count; k++)
            visit_region(m, i->regions + k);
    }
}

bool pass_remark(ir_func *f, pass_ctx *ctx)
{
    if (!ctx->diags)
        return false;
    remarker m = {.f = f, .ctx = ctx};
    if (ctx->wants_remarks) {
        m.uniform = uniform_compute(f, ctx->scratch);
        m.align = align_compute(f, ctx->scratch);
    }
    visit_region(&m, f->body);
    return false;
}
