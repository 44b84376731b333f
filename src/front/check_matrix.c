// Calls of the matrix builtins: their arguments are arrays of registers, whose lengths and element
// types say which instruction is meant. An array stays an array here, it does not decay. Start at
// check_matrix_call; matrix_shape turns a checked call into the instruction's shape.
#include "front/check.h"
#include "front/matrix.h"

typedef struct matrix_row {
    builtin_id id;
    nv_elem a, b;
} matrix_row;

static const matrix_row rows[] = {
    {BI_mma_f16, NV_F16, NV_F16},
    {BI_mma_bf16, NV_BF16, NV_BF16},
    {BI_mma_tf32, NV_TF32, NV_TF32},
    {BI_mma_e4m3, NV_E4M3, NV_E4M3},
    {BI_mma_e5m2, NV_E5M2, NV_E5M2},
    {BI_mma_s8, NV_S8, NV_S8},
    {BI_mma_u8, NV_U8, NV_U8},
    {BI_wgmma_f16, NV_F16, NV_F16},
    {BI_wgmma_bf16, NV_BF16, NV_BF16},
    {BI_wgmma_tf32, NV_TF32, NV_TF32},
    {BI_wgmma_e4m3, NV_E4M3, NV_E4M3},
    {BI_wgmma_e5m2, NV_E5M2, NV_E5M2},
    {BI_wgmma_e4m3_e5m2, NV_E4M3, NV_E5M2},
    {BI_wgmma_e5m2_e4m3, NV_E5M2, NV_E4M3},
    {BI_wgmma_s8, NV_S8, NV_S8},
    {BI_wgmma_u8, NV_U8, NV_U8},
    {BI_wgmma_s8_u8, NV_S8, NV_U8},
    {BI_wgmma_u8_s8, NV_U8, NV_S8},
};

static bool is_words(const ast_expr *e, type_kind kind)
{
    return e->type->kind == TY_ARRAY && e->type->base->kind == kind;
}

static bool is_accumulator(const ast_expr *e)
{
    return is_words(e, TY_F32) || is_words(e, TY_I32) || is_words(e, TY_U32);
}

nv_shape matrix_shape(front *f, const ast_expr *e)
{
    const matrix_row *row = rows;
    while (row < rows + COUNT(rows) - 1 && row->id != e->builtin->id)
        row++;
    const ast_expr *d = e->args.at[0];
    uint32_t len = (uint32_t)d->type->len, bytes = nv_elem_bytes(row->a);
    nv_shape s = {.n = 8, .k = 32 / bytes, .a = row->a, .b = row->b};
    s.d = is_words(d, TY_F32) ? NV_F32 : is_words(d, TY_I32) ? NV_S32 : NV_F16;
    if (e->builtin->op == NV_MMA) {
        if (e->args.at[1]->type->len == 2)
            s.k /= 2;
        return s;
    }
    const_value layout = {0};
    if (e->args.len > 4)
        const_eval(f, e->args.at[4], &layout);
    s.n = len * (s.d == NV_F16 ? 4 : 2);
    s.from_words = e->args.at[1]->type->kind == TY_ARRAY;
    s.a_is_mn = layout.integer & 1;
    s.b_is_mn = layout.integer >> 1 & 1;
    return s;
}

// --- arguments

static bool wrong_argument(front *f, const ast_expr *e, uint32_t n, const char *wanted)
{
    const ast_expr *arg = e->args.at[n];
    diag *d = diag_raise(f->diags, K2028, arg->at, "'%s' does not take '%s'", e->builtin->name,
                         T_OF(f, arg->type->unqualified));
    diag_label(d, arg->at, "expected %s", wanted);
    if (arg->type->kind == TY_PTR)
        diag_note(d, "the array itself is needed, for its length counts: in a function take "
                     "'f32 (*d)[64]' and write '*d'");
    return false;
}

static bool check_words(front *f, ast_expr *e, uint32_t n, bool is_written)
{
    ast_expr *arg = e->args.at[n];
    if (!is_words(arg, TY_U32))
        return wrong_argument(f, e, n, "an array of u32");
    return !is_written || check_writes_array(f, arg);
}

static bool check_pointer(front *f, ast_expr *e, uint32_t n)
{
    e->args.at[n] = check_rvalue(f, e->args.at[n]);
    if (is_poison(e->args.at[n]))
        return false;
    return e->args.at[n]->type->kind == TY_PTR ||
           wrong_argument(f, e, n, "a pointer into shared memory");
}

static bool check_moved(front *f, ast_expr *e)
{
    bool is_load = e->builtin->id == BI_ldmatrix || e->builtin->id == BI_ldmatrix_transposed;
    uint32_t words = is_load ? 0 : 1;
    if (!check_words(f, e, words, is_load) || !check_pointer(f, e, 1 - words))
        return false;
    uint64_t len = e->args.at[words]->type->len;
    return len == 1 || len == 2 || len == 4 || wrong_argument(f, e, words, "1, 2 or 4 words");
}

static bool check_operand(front *f, ast_expr *e, uint32_t n)
{
    e->args.at[n] =
        check_convert(f, check_rvalue(f, e->args.at[n]), type_scalar(n == 3 ? TY_BOOL : TY_U64),
                      str_format(f->in, "argument %u of '%s'", n + 1, e->builtin->name));
    return !is_poison(e->args.at[n]);
}

static bool check_product(front *f, ast_expr *e)
{
    ast_expr *d = e->args.at[0];
    bool is_wgmma = e->builtin->op == NV_WGMMA;
    if (!is_accumulator(d))
        return wrong_argument(f, e, 0, "an array of f32, i32 or u32 (pairs of f16)");
    if (!check_writes_array(f, d))
        return false;
    if (!is_wgmma) {
        if (!check_words(f, e, 1, false) || !check_words(f, e, 2, false))
            return false;
    } else {
        if (e->args.at[1]->type->kind == TY_ARRAY ? !check_words(f, e, 1, false)
                                                  : !check_operand(f, e, 1))
            return false;
        if (!check_operand(f, e, 2) || !check_operand(f, e, 3))
            return false;
        if (e->args.len > 4) {
            e->args.at[4] = check_rvalue(f, e->args.at[4]);
            if (is_poison(e->args.at[4]) || !check_constant_arg(f, e, 4, e->builtin))
                return false;
        }
        if (e->args.at[1]->type->kind == TY_ARRAY && e->args.at[1]->type->len != 4)
            return wrong_argument(f, e, 1, "four words");
    }
    nv_op op = (nv_op)e->builtin->op;
    nv_shape s = matrix_shape(f, e);
    const char *wrong = nv_shape_mistake(op, s);
    bool fits = d->type->len == nv_acc_words(op, s) &&
                (is_wgmma || (e->args.at[1]->type->len == nv_a_words(op, s) &&
                              e->args.at[2]->type->len == nv_b_words(op, s)));
    if (!wrong && fits)
        return true;
    if (!wrong)
        return wrong_argument(f, e, 0, "arrays of the lengths in its signature");
    diag *bad = diag_raise(f->diags, K2028, d->at, "'%s' does not take '%s'", e->builtin->name,
                           T_OF(f, d->type->unqualified));
    diag_label(bad, d->at, "%s", wrong);
    return false;
}

ast_expr *check_matrix_call(front *f, ast_expr *e, const builtin *b)
{
    uint32_t wanted = b->op == NV_MMA ? 3 : b->op == NV_WGMMA ? 4 : 2;
    bool takes_layout = b->id == BI_wgmma_f16 || b->id == BI_wgmma_bf16;
    bool is_bad = false;
    for (uint32_t i = 0; i < e->args.len; i++) {
        e->args.at[i] = check_expr(f, e->args.at[i]);
        is_bad |= is_poison(e->args.at[i]);
    }
    if (is_bad)
        return check_poison(f, e);
    if (e->args.len != wanted && !(takes_layout && e->args.len == 5)) {
        diag *d = diag_raise(f->diags, K2027, e->a->at, "'%s' takes %u arguments, not %u", b->name,
                             wanted, e->args.len);
        diag_label(d, e->a->at, "%s", b->doc);
        return check_poison(f, e);
    }
    bool is_product = b->op == NV_MMA || b->op == NV_WGMMA;
    if (!(is_product ? check_product(f, e) : check_moved(f, e)))
        return check_poison(f, e);
    e->type = type_scalar(TY_VOID);
    e->is_checked = true;
    return e;
}
