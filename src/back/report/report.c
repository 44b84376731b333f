// Kernel in, one line about its resources out. ptxas knows best; without it, registers are guessed
// from how many values live at the same time. Start at report_collect.
#include "back/report/report.h"

#include "back/report/ptxas.h"
#include "ir/layout.h"
#include "ir/live.h"

enum { USUAL_BLOCK = 256 }; // threads, when the launch decides

void report_line(const report_row *row, const target *t, text *out)
{
    uint32_t usual = row->most_threads && row->most_threads < USUAL_BLOCK ? row->most_threads
                                                                          : USUAL_BLOCK,
             threads = row->threads ? row->threads : usual;
    occupancy o = occupancy_of(t, row->registers, threads, row->shared_bytes);
    const char *about = row->source == REPORT_ESTIMATE ? "~" : "";
    text_printf(out, "%s  %s  %s%u regs  ", row->kernel, t->name, about, row->registers);
    if (row->source == REPORT_ESTIMATE)
        text_puts(out, "spills unknown  ");
    else
        text_printf(out, "%u spills  ", row->spills);
    if (row->shared_bytes < 1024)
        text_printf(out, "%llu B shared", (unsigned long long)row->shared_bytes);
    else
        text_printf(out, "%.1f KiB shared", (double)row->shared_bytes / 1024);
    text_printf(out, "  occupancy %s%u %%", about, o.percent);
    if (o.limit != LIMIT_NONE)
        text_printf(out, " (limited by %s)", occupancy_limit_name(o.limit));
    if (!row->threads)
        text_printf(out, ", blocks of %u", threads);
    if (row->source == REPORT_ESTIMATE)
        text_puts(out, ", estimated");
}

// --- a guess
static uint32_t words_of(ir_type t)
{
    if (t == IR_I1 || t == IR_VOID)
        return 0;
    return t == IR_PTR_SHARED || ir_type_size(t) <= 4 ? 1 : 2;
}

static uint32_t guess_registers(const ir_func *f, arena *a)
{
    ir_live live = ir_live_number(f, a);
    ir_live_spans(&live, NULL);
    int32_t *change = arena_array(a, int32_t, live.last + 2);
    for (uint32_t v = 1; v < f->values.len; v++) {
        const ir_life *l = &live.lives[v];
        if (l->until <= l->from || f->values.at[v].def == IR_DEF_PARAM)
            continue; // parameters stay in constant memory
        int32_t words = (int32_t)words_of(ir_type_of(f, v));
        change[l->from] += words;
        change[l->until] -= words;
    }
    int32_t now = 0, most = 0;
    for (uint32_t k = 0; k < live.last + 2; k++) {
        now += change[k];
        most = now > most ? now : most;
    }
    return most + 8 > 255 ? 255 : (uint32_t)most + 8; // addresses and temporaries
}

static report_row guess(const ir_func *f, arena *a)
{
    return (report_row){.kernel = f->name,
                        .registers = guess_registers(f, a),
                        .shared_bytes = ir_layout_shared(f, 16, a).bytes,
                        .threads = f->block[0] * f->block[1] * f->block[2],
                        .most_threads = f->max_threads};
}

static report_row row_of(const ir_func *f, str log, arena *a)
{
    report_row row = guess(f, a);
    ptxas_numbers numbers;
    if (!ptxas_read(log, f->name, &numbers))
        return row;
    row.source = REPORT_PTXAS;
    row.registers = numbers.registers;
    row.spills = numbers.spills;
    row.local_bytes = numbers.local_bytes;
    row.shared_bytes = numbers.shared_bytes;
    return row;
}

void report_collect(const ir_module *m, const ir_func *only, const target *t, str ptx, arena *a,
                    report_rows *rows, const char **note)
{
    const char *unused;
    str log = {0};
    ptxas_run(a, t->name, ptx, &log, note ? note : &unused);
    for (uint32_t k = 0; k < m->funcs.len; k++) {
        const ir_func *f = m->funcs.at[k];
        if (!f->is_kernel || (only && only != f))
            continue;
        report_row row = row_of(f, log, a);
        vec_push(a, rows, row);
    }
}

// --- kinds of instructions
typedef struct kind_row {
    const char *name;
    ir_op first, last;
} kind_row;

static const kind_row kinds[] = {
    {"integer", IR_ADD, IR_DP4A_U},
    {"float", IR_FADD, IR_FRINT},
    {"fma", IR_FFMA, IR_FFMA},
    {"division", IR_FDIV, IR_FDIV},
    {"square root", IR_FSQRT, IR_FSQRT},
    {"approximation", IR_FAST_EXP2, IR_FAST_DIV},
    {"comparison", IR_IEQ, IR_FLE},
    {"select", IR_SELECT, IR_SELECT},
    {"conversion", IR_TRUNC, IR_PTRCAST},
    {"packed pair", IR_HADD2, IR_HMAX2},
    {"address", IR_PTRADD, IR_PTRADD},
    {"load", IR_LOAD, IR_LOAD},
    {"store", IR_STORE, IR_STORE},
    {"atomic", IR_ATOMIC, IR_ATOMSTORE},
    {"fence", IR_FENCE, IR_FENCE},
    {"barrier", IR_BARRIER, IR_WARPSYNC},
    {"shuffle", IR_SHUFFLE, IR_SHUFFLE},
    {"vote", IR_BALLOT, IR_MATCH},
    {"check", IR_ASSERT, IR_BOUNDS},
    {"branch", IR_IF, IR_IF},
    {"loop", IR_LOOP, IR_LOOP},
    {"switch", IR_SWITCH, IR_SWITCH},
    {"print", IR_PRINT, IR_PRINT},
    {"host call", IR_HOST, IR_HOST},
};

// Bytes that one pass over the kernel's text moves, by space.
static uint64_t width_of(const ir_inst *i)
{
    uint32_t lanes = i->op == IR_LOAD    ? i->result_count
                     : i->op == IR_STORE ? i->operand_count - 1
                                         : 1;
    return (uint64_t)ir_type_size((ir_type)i->type) * lanes;
}

static void space_stats(const ir_func *f, ir_op op, text *out)
{
    static const struct {
        ir_type space;
        const char *name;
    } spaces[] = {{IR_PTR_GLOBAL, "global"},  {IR_PTR_SHARED, "shared"},   {IR_PTR_LOCAL, "local"},
                  {IR_PTR_CONST, "constant"}, {IR_PTR_PARAM, "parameter"}, {IR_PTR_GEN, "generic"}};
    for (size_t s = 0; s < COUNT(spaces); s++) {
        uint32_t count = 0, wide = 0;
        uint64_t bytes = 0;
        for (uint32_t k = 1; k < f->insts.len; k++) {
            const ir_inst *i = &f->insts.at[k];
            if ((ir_op)i->op != op || ir_type_of(f, ir_operand(f, i, 0)) != spaces[s].space)
                continue;
            count++;
            wide += width_of(i) >= 16;
            bytes += width_of(i);
        }
        if (count)
            text_printf(out, "    %-12s %6u   %u of 16 bytes, %llu bytes in all\n", spaces[s].name,
                        count, wide, (unsigned long long)bytes);
    }
}

void report_stats(const ir_func *f, arena *a, text *out)
{
    uint32_t all = 0, counts[COUNT(kinds)] = {0};
    for (uint32_t k = 1; k < f->insts.len; k++) {
        ir_op op = (ir_op)f->insts.at[k].op;
        all += op != IR_NOP && !ir_is_terminator(op);
        // A kind that comes later in the list is the more precise one.
        for (size_t n = COUNT(kinds); n-- > 0;)
            if (op >= kinds[n].first && op <= kinds[n].last) {
                counts[n]++;
                break;
            }
    }
    text_printf(out, "%s: %u instructions, %u shared bytes\n", f->name, all,
                (unsigned)ir_layout_shared(f, 16, a).bytes);
    for (size_t n = 0; n < COUNT(kinds); n++) {
        if (!counts[n])
            continue;
        text_printf(out, "  %-14s %6u\n", kinds[n].name, counts[n]);
        if (kinds[n].first == IR_LOAD || kinds[n].first == IR_STORE)
            space_stats(f, kinds[n].first, out);
    }
}
