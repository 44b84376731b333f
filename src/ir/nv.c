// The rows of nv.def as data; shapes of matrix instructions packed into an integer and back; what
// an `nv` instruction must look like. Start at nv_mistake.
#include "ir/nv.h"

// clang-format off
static const nv_row rows[NV_COUNT] = {
#define NV(e, name, operands, results, imm, copy, group, sm) [NV_##e] = {name, operands, results, NV_IMM_##imm, NV_COPY_##copy, NV_##group, sm},
#include "ir/nv.def"
#undef NV
};
// clang-format on

static const char *const elem_names[NV_ELEM_COUNT] = {"f16", "bf16", "tf32", "e4m3", "e5m2",
                                                      "s8",  "u8",   "f32",  "s32"};

const nv_row *nv_row_at(nv_op op)
{
    must(op < NV_COUNT);
    return &rows[op];
}

const nv_row *nv_row_of(const ir_inst *i)
{
    return nv_row_at((nv_op)i->aux);
}

int nv_find(str name)
{
    for (int k = 0; k < NV_COUNT; k++)
        if (str_same(name, str_of(rows[k].name)))
            return k;
    return -1;
}

const char *nv_elem_name(nv_elem e)
{
    return e < NV_ELEM_COUNT ? elem_names[e] : "?";
}

int nv_elem_find(str name)
{
    for (int k = 0; k < NV_ELEM_COUNT; k++)
        if (str_same(name, str_of(elem_names[k])))
            return k;
    return -1;
}

// --- shapes

int64_t nv_pack(nv_shape s)
{
    return (int64_t)s.n | (int64_t)s.k << 9 | (int64_t)s.a << 16 | (int64_t)s.b << 20 |
           (int64_t)s.d << 24 | (int64_t)s.from_words << 28 | (int64_t)s.a_is_mn << 29 |
           (int64_t)s.b_is_mn << 30;
}

nv_shape nv_unpack(int64_t imm)
{
    uint64_t v = (uint64_t)imm;
    return (nv_shape){.n = v & 511,
                      .k = v >> 9 & 127,
                      .a = (nv_elem)(v >> 16 & 15),
                      .b = (nv_elem)(v >> 20 & 15),
                      .d = (nv_elem)(v >> 24 & 15),
                      .from_words = v >> 28 & 1,
                      .a_is_mn = v >> 29 & 1,
                      .b_is_mn = v >> 30 & 1};
}

void nv_shape_text(nv_shape s, text *out)
{
    text_printf(out, "n%u.k%u.%s.%s.%s%s%s%s", s.n, s.k, nv_elem_name(s.d), nv_elem_name(s.a),
                nv_elem_name(s.b), s.from_words ? ".regs" : "", s.a_is_mn ? ".amn" : "",
                s.b_is_mn ? ".bmn" : "");
}

// The next part of a word with dots.
static str next_part(str *word)
{
    size_t len = 0;
    while (len < word->len && word->at[len] != '.')
        len++;
    str part = {word->at, len};
    len += len < word->len;
    *word = (str){word->at + len, word->len - len};
    return part;
}

static bool next_number(str *word, char letter, uint32_t limit, uint32_t *out)
{
    str part = next_part(word);
    *out = 0;
    if (part.len < 2 || part.len > 4 || part.at[0] != letter)
        return false;
    for (size_t k = 1; k < part.len; k++) {
        if (part.at[k] < '0' || part.at[k] > '9')
            return false;
        *out = *out * 10 + (uint32_t)(part.at[k] - '0');
    }
    return *out <= limit;
}

bool nv_shape_read(str word, nv_shape *out)
{
    *out = (nv_shape){0};
    if (!next_number(&word, 'n', 511, &out->n) || !next_number(&word, 'k', 127, &out->k))
        return false;
    int d = nv_elem_find(next_part(&word)), a = nv_elem_find(next_part(&word)),
        b = nv_elem_find(next_part(&word));
    if (d < 0 || a < 0 || b < 0)
        return false;
    out->d = (nv_elem)d;
    out->a = (nv_elem)a;
    out->b = (nv_elem)b;
    while (word.len) {
        str part = next_part(&word);
        if (str_same(part, STR("regs")))
            out->from_words = true;
        else if (str_same(part, STR("amn")))
            out->a_is_mn = true;
        else if (str_same(part, STR("bmn")))
            out->b_is_mn = true;
        else
            return false;
    }
    return true;
}

uint32_t nv_elem_bytes(nv_elem e)
{
    static const uint8_t bytes[NV_ELEM_COUNT] = {2, 2, 4, 1, 1, 1, 1, 4, 4};
    must(e < NV_ELEM_COUNT);
    return bytes[e];
}

uint32_t nv_acc_words(nv_op op, nv_shape s)
{
    uint32_t values = op == NV_WGMMA ? s.n / 2 : 4;
    return s.d == NV_F16 ? values / 2 : values;
}

uint32_t nv_a_words(nv_op op, nv_shape s)
{
    return op == NV_WGMMA ? 4 : 16 * s.k * nv_elem_bytes(s.a) / 128;
}

uint32_t nv_b_words(nv_op op, nv_shape s)
{
    return op == NV_WGMMA ? 0 : 8 * s.k * nv_elem_bytes(s.b) / 128;
}

ir_type nv_acc_type(nv_shape s)
{
    return s.d == NV_F32 ? IR_F32 : IR_I32;
}

const char *nv_shape_mistake(nv_op op, nv_shape s)
{
    bool is_int = s.a == NV_S8 || s.a == NV_U8, is_8bit = s.a < NV_F32 && nv_elem_bytes(s.a) == 1;
    if (s.a >= NV_F32 || s.b >= NV_F32 || s.d >= NV_ELEM_COUNT)
        return "the operand types are unknown";
    if (is_8bit ? nv_elem_bytes(s.b) != 1 || (s.b == NV_S8 || s.b == NV_U8) != is_int : s.a != s.b)
        return "the operand types do not go together";
    if (is_int != (s.d == NV_S32) || (s.d != NV_S32 && s.d != NV_F32 && s.d != NV_F16))
        return "the accumulator's type does not go with the operands'";
    if (s.d == NV_F16 && (s.a == NV_BF16 || s.a == NV_TF32))
        return "only f16 and 8-bit floats accumulate in f16";
    uint32_t k = 32 / nv_elem_bytes(s.a);
    if (op == NV_MMA) {
        bool is_half_k = s.k * 2 == k;
        if (s.n != 8 || (s.k != k && !is_half_k))
            return "mma has no such shape";
        if (s.d == NV_F16 && s.a != NV_F16)
            return "mma accumulates in f16 for f16 operands only";
        return NULL;
    }
    if (s.k != k)
        return "wgmma takes 32 bytes of K";
    if (s.n < 8 || s.n > 256 || s.n % 8 || (is_int && s.n > 32 && s.n % 16))
        return "wgmma has no such width";
    if ((s.a_is_mn || s.b_is_mn) && nv_elem_bytes(s.a) != 2)
        return "only 16-bit operands may be stored M- or N-contiguous";
    if (s.a_is_mn && s.from_words)
        return "an operand in registers has no layout in memory";
    return NULL;
}

// --- instructions

static ir_type letter_type(char letter)
{
    switch (letter) {
    case 's': return IR_PTR_SHARED;
    case 'g': return IR_PTR_GLOBAL;
    case 'm': return IR_PTR_PARAM;
    case 'l': return IR_I64;
    case 'b': return IR_I1;
    case 'c':
    case 'w':
    case 'i': return IR_I32;
    default: bug("nv.def: no operand letter '%c'", letter);
    }
}

// The letters of `wanted` against the types; one list letter takes what is left over.
static bool fits(const ir_func *f, const char *wanted, const ir_ref *refs, ir_ref first,
                 uint32_t count)
{
    uint32_t letters = (uint32_t)strlen(wanted), at = 0;
    for (const char *c = wanted; *c; c++) {
        bool is_list = *c == 'c' || *c == 'w';
        if (count + (is_list ? 0 : 1) < letters + (is_list ? 0 : 1))
            return false;
        uint32_t take = is_list ? count - letters + 1 : 1;
        for (uint32_t k = 0; k < take; k++, at++)
            if (at >= count || ir_type_of(f, refs ? refs[at] : first + at) != letter_type(*c))
                return false;
    }
    return at == count;
}

static bool are(const ir_func *f, const ir_inst *i, uint32_t *at, uint32_t count, ir_type t)
{
    for (uint32_t k = 0; k < count; k++, (*at)++)
        if (*at >= i->operand_count || ir_type_of(f, ir_operand(f, i, *at)) != t)
            return false;
    return true;
}

static const char *matrix_mistake(const ir_func *f, const ir_inst *i)
{
    nv_op op = (nv_op)i->aux;
    nv_shape s = nv_unpack(i->imm);
    const char *wrong = nv_shape_mistake(op, s);
    if (wrong)
        return wrong;
    uint32_t acc = nv_acc_words(op, s), at = 0;
    ir_type t = nv_acc_type(s);
    if (i->result_count != acc)
        return "the accumulator has another number of words";
    for (uint32_t k = 0; k < acc; k++)
        if (ir_type_of(f, i->result + k) != t)
            return "the accumulator has words of another type";
    if (op == NV_MMA)
        return are(f, i, &at, acc, t) && are(f, i, &at, nv_a_words(op, s), IR_I32) &&
                       are(f, i, &at, nv_b_words(op, s), IR_I32) && at == i->operand_count
                   ? NULL
                   : "the operands are not c, a, b";
    bool is_started = i->operand_count > acc;
    return (!is_started || are(f, i, &at, acc, t)) &&
                   (s.from_words ? are(f, i, &at, 4, IR_I32) : are(f, i, &at, 1, IR_I64)) &&
                   are(f, i, &at, 1, IR_I64) && are(f, i, &at, 1, IR_I1) && at == i->operand_count
               ? NULL
               : "the operands are not c, a, b, accumulate";
}

const char *nv_mistake(const ir_func *f, const ir_inst *i)
{
    if (i->aux >= NV_COUNT)
        return "it names no row of nv.def";
    const nv_row *row = nv_row_of(i);
    if (*row->operands == 'x')
        return matrix_mistake(f, i);
    if (!fits(f, row->operands, ir_operands(f, i), 0, i->operand_count))
        return "its operands are not those of its row";
    if (!fits(f, row->results, NULL, i->result, i->result_count))
        return "its results are not those of its row";
    uint32_t coordinates = i->operand_count - (uint32_t)strlen(row->operands) + 1;
    if (strchr(row->operands, 'c') && coordinates > 5)
        return "a tensor has at most 5 coordinates";
    if (row->imm == NV_IMM_NONE && i->imm)
        return "it takes no number";
    return NULL;
}

bool nv_writes_global(nv_op op)
{
    nv_copy copy = nv_row_at(op)->copy;
    return copy == NV_COPY_STORE || copy == NV_COPY_ADD;
}

bool nv_has_wgmma(const ir_func *f)
{
    for (uint32_t k = 1; k < f->insts.len; k++)
        if (f->insts.at[k].op == IR_NV && f->insts.at[k].aux == NV_WGMMA)
            return true;
    return false;
}

ir_inst_id nv_first(const ir_func *f)
{
    for (uint32_t k = 1; k < f->insts.len; k++)
        if (f->insts.at[k].op == IR_NV || f->insts.at[k].op == IR_MAPA)
            return k;
    return 0;
}
