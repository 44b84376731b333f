// `nv` instructions as PTX: the text of their row in back/ptx/nv.def with the operands put in. Only
// the matrix products and the wait for a barrier are printed by code. Start at ptx_nvidia.
#include "ir/nv.h"
#include "back/ptx/ptx.h"

static void needs_hopper(ptx *p, const ir_inst *i)
{
    if (p->t->sm == 90 && p->t->variant == 'a')
        return;
    if (p->ds) {
        diag *d = diag_raise(p->ds, K4301, i->at, "'%s': only sm_90a has it, but the target is %s",
                             nv_row_of(i)->name, p->t->name);
        diag_note(d, "put the code under 'if (target_has_wgmma())' beside a portable path, or "
                     "compile for sm_90a");
    }
    p->failed = true;
}

static void needs(ptx *p, const ir_inst *i, int sm, int version)
{
    if (sm == 900)
        needs_hopper(p, i);
    else if (p->t->sm < sm)
        ptx_lacks(p, i, sm, str_format(p->scratch, "'%s'", nv_row_of(i)->name));
    ptx_needs(p, version);
}

// --- constants that the hardware does not take: ptxas would say so without the source's line
enum { IMM = -1, ANY = INT32_MAX };

static const struct limit {
    nv_op op;
    int operand; // or IMM
    int64_t least, most, step;
    const char *what;
} limits[] = {
    {NV_MBAR_INIT, 1, 1, (1 << 20) - 1, 1, "arrivals"},
    {NV_MBAR_EXPECT, 1, 0, (1 << 20) - 1, 1, "expected bytes"},
    {NV_MBAR_ARRIVE_EXPECT, 1, 0, (1 << 20) - 1, 1, "expected bytes"},
    {NV_CPA_4_PART, 2, 0, 4, 1, "bytes"},
    {NV_CPA_8_PART, 2, 0, 8, 1, "bytes"},
    {NV_CPA_16_PART, 2, 0, 16, 1, "bytes"},
    {NV_BULK_LOAD, 2, 0, ANY, 16, "bytes"},
    {NV_BULK_SEND, 2, 0, ANY, 16, "bytes"},
    {NV_BULK_STORE, 2, 0, ANY, 16, "bytes"},
    {NV_BULK_ADD_F32, 2, 0, ANY, 16, "bytes"},
    {NV_BULK_ADD_F64, 2, 0, ANY, 16, "bytes"},
    {NV_BULK_ADD_F16, 2, 0, ANY, 16, "bytes"},
    {NV_BULK_ADD_BF16, 2, 0, ANY, 16, "bytes"},
    {NV_BULK_ADD_I32, 2, 0, ANY, 16, "bytes"},
    {NV_BULK_ADD_I64, 2, 0, ANY, 16, "bytes"},
    {NV_BAR_SYNC, 0, 0, 15, 1, "the number of a barrier"},
    {NV_BAR_SYNC, 1, 32, 1024, 32, "threads at a barrier"},
    {NV_BAR_ARRIVE, 0, 0, 15, 1, "the number of a barrier"},
    {NV_BAR_ARRIVE, 1, 32, 1024, 32, "threads at a barrier"},
    {NV_REGS_MORE, IMM, 24, 256, 8, "registers"},
    {NV_REGS_LESS, IMM, 24, 256, 8, "registers"},
};

static void check_constants(ptx *p, const ir_inst *i)
{
    for (size_t n = 0; n < COUNT(limits); n++) {
        const struct limit *l = &limits[n];
        uint64_t bits = (uint64_t)i->imm;
        if (l->op != i->aux ||
            (l->operand != IMM &&
             !ir_const_bits(p->f, ir_operand(p->f, i, (uint32_t)l->operand), &bits)))
            continue;
        int64_t value = l->operand == IMM ? (int64_t)bits : (int64_t)(uint32_t)bits;
        if (value >= l->least && value <= l->most && value % l->step == 0)
            continue;
        p->failed = true;
        if (!p->ds)
            continue;
        diag *d = diag_raise(p->ds, K4303, i->at, "%s cannot be %lld", l->what, (long long)value);
        if (l->most == ANY)
            diag_note(d, "a multiple of %lld is possible", (long long)l->step);
        else
            diag_note(d, "%lld to %lld%s", (long long)l->least, (long long)l->most,
                      l->step == 1
                          ? ""
                          : str_format(p->scratch, " in steps of %lld", (long long)l->step));
    }
}

// --- lists

static void put_values(ptx *p, text *out, const ir_ref *values, ir_ref first, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        text_printf(out, "%s%s", k ? ", " : "",
                    values ? ptx_op(p, values[k]) : ptx_def(p, first + k));
}

// Values that an instruction wants in registers.
static void put_registers(ptx *p, text *out, const ir_ref *values, uint32_t count)
{
    text_putc(out, '{');
    for (uint32_t k = 0; k < count; k++)
        text_printf(out, "%s%s", k ? ", " : "", ptx_reg(p, values[k]));
    text_putc(out, '}');
}

// --- rows with a text

// The map's address as the copy engine takes it: generic.
static const char *map_address(ptx *p, ir_ref r)
{
    ptx_needs(p, 77);
    const char *generic = ptx_temp(p, RC_RD);
    ptx_line(p, "cvta.param.u64 %s, %s", generic, ptx_reg(p, r));
    return generic;
}

typedef struct filling { // one instruction whose text is being filled in
    ptx *p;
    const ir_inst *i;
    const char *operand[10]; // by letter of the row, lists left out
    uint32_t list_at, list_len;
    const char *temp[2], *half;
} filling;

static void read_operands(filling *fill)
{
    ptx *p = fill->p;
    const ir_inst *i = fill->i;
    const char *letters = nv_row_of(i)->operands;
    uint32_t count = (uint32_t)strlen(letters), at = 0;
    for (uint32_t k = 0; k < count; k++) {
        must(k < COUNT(fill->operand));
        if (letters[k] == 'c' || letters[k] == 'w') {
            fill->list_at = at;
            fill->list_len = i->operand_count - count + 1;
            at += fill->list_len;
            continue;
        }
        ir_ref r = ir_operand(p->f, i, at++);
        fill->operand[k] = letters[k] == 'm'   ? map_address(p, r)
                           : letters[k] == 'i' ? ptx_op(p, r)
                                               : ptx_reg(p, r);
    }
}

static void put_field(filling *fill, text *out, char field)
{
    ptx *p = fill->p;
    const ir_inst *i = fill->i;
    const ir_ref *list = ir_operands(p->f, i) + fill->list_at;
    switch (field) {
    case 'd':
        for (uint32_t k = 0; k < i->result_count; k++)
            text_printf(out, "%s%s", k ? ", " : "", ptx_def(p, i->result + k));
        break;
    case 'i': text_printf(out, "%lld", (long long)i->imm); break;
    case 'n': text_printf(out, "%u", fill->list_len); break;
    case 'c': put_values(p, out, list, 0, fill->list_len); break;
    case 'w':
        for (uint32_t k = 0; k < fill->list_len; k++)
            text_printf(out, "%s%s", k ? ", " : "", ptx_reg(p, list[k]));
        break;
    case 't':
    case 'u': {
        const char **temp = &fill->temp[field - 't'];
        if (!*temp)
            *temp = ptx_temp(p, RC_R);
        text_puts(out, *temp);
        break;
    }
    case 'h':
        if (!fill->half)
            fill->half = ptx_temp(p, RC_H);
        text_puts(out, fill->half);
        break;
    default:
        must(field >= '0' && field <= '9' && fill->operand[field - '0']);
        text_puts(out, fill->operand[field - '0']);
    }
}

static void put_text(ptx *p, const ir_inst *i, const char *pattern)
{
    filling fill = {.p = p, .i = i};
    read_operands(&fill);
    text line = {.in = p->scratch};
    for (const char *c = pattern;; c++) {
        if (*c == ';' || !*c) {
            text_putc(&p->body, '\t');
            if (p->guard)
                text_printf(&p->body, "@%s ", p->guard);
            text_add(&p->body, line.at, line.len);
            text_puts(&p->body, ";\n");
            line.len = 0;
            if (!*c)
                return;
            c++; // the space after it
        } else if (*c == '$') {
            put_field(&fill, &line, *++c);
        } else {
            text_putc(&line, *c);
        }
    }
}

// --- rows without

static void wait_for_barrier(ptx *p, const ir_inst *i)
{
    const char *bar = ptx_reg(p, ir_operand(p->f, i, 0)),
               *parity = ptx_op(p, ir_operand(p->f, i, 1)), *done = ptx_temp(p, RC_PRED);
    uint32_t label = ++p->next_label;
    bool suspends = p->t->sm >= 90;
    if (suspends)
        ptx_needs(p, 78);
    text_printf(&p->body, "$L%u:\n", label);
    ptx_line(p, "mbarrier.%s.parity%s.shared%s.b64 %s, [%s], %s",
             suspends ? "try_wait" : "test_wait",
             i->aux == NV_MBAR_WAIT_CLUSTER ? ".acquire.cluster" : "", suspends ? "::cta" : "",
             done, bar, parity);
    ptx_line(p, "@!%s bra $L%u", done, label);
}

// 16 x 8 of bytes on sm_75, whose unit does 8 x 8 x 16: word r + 2h of a is half r of the rows and
// half h of K, word h of b that half of K, words 2r and 2r + 1 of the sum that half of the rows.
static void mma_bytes_in_eighths(ptx *p, const ir_inst *i, nv_shape s)
{
    needs(p, i, 75, 65);
    const ir_ref *c = ir_operands(p->f, i), *a = c + 4, *b = a + nv_a_words(NV_MMA, s);
    for (uint32_t r = 0; r < 2; r++)
        for (uint32_t h = 0; h < s.k / 16; h++) {
            const char *d0 = ptx_def(p, i->result + 2 * r), *d1 = ptx_def(p, i->result + 2 * r + 1);
            const char *x = ptx_reg(p, a[r + 2 * h]), *y = ptx_reg(p, b[h]);
            const char *c0 = h ? d0 : ptx_reg(p, c[2 * r]), *c1 = h ? d1 : ptx_reg(p, c[2 * r + 1]);
            ptx_line(
                p, "mma.sync.aligned.m8n8k16.row.col.s32.%s.%s.s32 {%s, %s}, {%s}, {%s}, {%s, %s}",
                nv_elem_name(s.a), nv_elem_name(s.b), d0, d1, x, y, c0, c1);
        }
}

static void mma(ptx *p, const ir_inst *i)
{
    nv_shape s = nv_unpack(i->imm);
    if (s.d == NV_S32 && p->t->sm < 80) {
        mma_bytes_in_eighths(p, i, s);
        return;
    }
    uint32_t acc = nv_acc_words(NV_MMA, s), a = nv_a_words(NV_MMA, s), b = nv_b_words(NV_MMA, s);
    bool is_f8 = s.a == NV_E4M3 || s.a == NV_E5M2, is_old = s.a == NV_F16 && s.k == 8;
    needs(p, i, is_f8 ? 89 : is_old ? 75 : 80, is_f8 ? 84 : is_old ? 65 : 70);
    const char *d = nv_elem_name(s.d);
    const ir_ref *operands = ir_operands(p->f, i);
    text line = {.in = p->scratch};
    text_printf(&line, "mma.sync.aligned.m16n8k%u.row.col.%s.%s.%s.%s {", s.k, d, nv_elem_name(s.a),
                nv_elem_name(s.b), d);
    put_values(p, &line, NULL, i->result, acc);
    text_puts(&line, "}, ");
    put_registers(p, &line, operands + acc, a);
    text_puts(&line, ", ");
    put_registers(p, &line, operands + acc + a, b);
    text_puts(&line, ", ");
    put_registers(p, &line, operands, acc);
    ptx_line(p, "%.*s", (int)line.len, line.at);
}

// The accumulator is one list of registers, read and written: what is not there yet is moved in,
// unless it is ignored.
static void wgmma(ptx *p, const ir_inst *i)
{
    nv_shape s = nv_unpack(i->imm);
    uint32_t acc = i->result_count, at = i->operand_count > acc ? acc : 0;
    bool is_mixed_int = s.d == NV_S32 && s.a != s.b;
    if (is_mixed_int)
        ptx_needs(p, 84);
    const ir_ref *operands = ir_operands(p->f, i);
    ir_ref accumulate = operands[i->operand_count - 1];
    uint64_t bits = 0;
    bool is_known = ir_const_bits(p->f, accumulate, &bits);
    if (at && (!is_known || bits))
        ptx_parallel_move(p, i->result, operands, acc);
    text line = {.in = p->scratch};
    text_printf(&line, "wgmma.mma_async.sync.aligned.m64n%uk%u.%s.%s.%s {", s.n, s.k,
                nv_elem_name(s.d), nv_elem_name(s.a), nv_elem_name(s.b));
    put_values(p, &line, NULL, i->result, acc);
    text_puts(&line, "}, ");
    if (s.from_words)
        put_registers(p, &line, operands + at, 4);
    else
        text_puts(&line, ptx_reg(p, operands[at]));
    at += s.from_words ? 4 : 1;
    text_printf(&line, ", %s, ", ptx_reg(p, operands[at]));
    if (is_known)
        text_puts(&line, bits ? "1" : "0");
    else
        text_puts(&line, ptx_reg(p, accumulate));
    if (s.d != NV_S32)
        text_puts(&line, ", 1, 1");
    if (nv_elem_bytes(s.a) == 2 && !s.from_words)
        text_printf(&line, ", %d", s.a_is_mn);
    if (nv_elem_bytes(s.a) == 2)
        text_printf(&line, ", %d", s.b_is_mn);
    ptx_line(p, "%.*s", (int)line.len, line.at);
}

// --- the table

typedef struct ptx_row {
    int version;
    const char *text; // NULL: `print` does it
    void (*print)(ptx *p, const ir_inst *i);
} ptx_row;

// A switch, and no array: the compiler names the row that has no text.
static ptx_row row_of(nv_op op)
{
    switch (op) {
// clang-format off
#define TEXT(e, version, text) case NV_##e: return (ptx_row){version, text, NULL};
#define CODE(e, version, print) case NV_##e: return (ptx_row){version, NULL, print};
// clang-format on
#include "back/ptx/nv.def"
#undef TEXT
#undef CODE
    case NV_COUNT: break;
    }
    bug("an nv instruction names no row");
}

static void named_row(ptx *p, const ir_inst *i)
{
    ptx_row row = row_of((nv_op)i->aux);
    needs(p, i, nv_row_of(i)->sm, row.version);
    check_constants(p, i);
    p->moves_registers |= i->aux == NV_REGS_MORE || i->aux == NV_REGS_LESS;
    if (row.text)
        put_text(p, i, row.text);
    else
        row.print(p, i);
}

static void cluster(ptx *p, const ir_inst *i)
{
    static const char *const names[] = {"%cluster_ctarank", "%cluster_nctarank", "%clusterid.x",
                                        "%nclusterid.x"};
    const char *d = ptx_def(p, i->result);
    if (p->t->sm >= 90) {
        ptx_needs(p, 78);
        ptx_line(p, "mov.u32 %s, %s", d, names[i->imm]);
    } else if (i->imm < 2) { // no clusters: each block is one
        ptx_line(p, "mov.u32 %s, %d", d, (int)i->imm);
    } else {
        ptx_line(p, "mov.u32 %s, %s", d, i->imm == 2 ? "%ctaid.x" : "%nctaid.x");
    }
}

static void other_shared(ptx *p, const ir_inst *i)
{
    const char *d = ptx_def(p, i->result);
    if (p->t->sm < 90)
        ptx_lacks(p, i, 90, "another block's shared memory");
    ptx_needs(p, 78);
    const char *own = ptx_temp(p, RC_RD), *wide = ptx_temp(p, RC_RD);
    ptx_line(p, "cvt.u64.u32 %s, %s", wide, ptx_reg(p, ir_operand(p->f, i, 0)));
    ptx_line(p, "cvta.shared.u64 %s, %s", own, wide);
    ptx_line(p, "mapa.u64 %s, %s, %s", d, own, ptx_op(p, ir_operand(p->f, i, 1)));
}

void ptx_nvidia(ptx *p, const ir_inst *i)
{
    switch ((ir_nvidia_op)i->op) {
    case IR_NV: named_row(p, i); break;
    case IR_SHADDR:
        ptx_line(p, "mov.b32 %s, %s", ptx_def(p, i->result), ptx_reg(p, ir_operand(p->f, i, 0)));
        break;
    case IR_MAPA: other_shared(p, i); break;
    case IR_CLUSTER: cluster(p, i); break;
    }
}
