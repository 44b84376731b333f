// The builtins of NVIDIA's hardware to `nv` instructions. An array of registers is a local array
// here: it is loaded word by word before the instruction and stored after it, and the passes that
// split local arrays make registers of it. Start at lower_nv and lower_matrix.
#include "front/lower.h"
#include "front/matrix.h"

enum { MAX_OPERANDS = 160 };

typedef struct operands {
    ir_ref at[MAX_OPERANDS];
    uint32_t len;
} operands;

static void add(operands *o, ir_ref r)
{
    must(o->len < MAX_OPERANDS);
    o->at[o->len++] = r;
}

static ir_inst_id emit(lower *l, nv_op op, int64_t imm, const operands *o, const uint8_t *results,
                       uint32_t result_count)
{
    ir_inst_id id = ir_add(&l->at, IR_NV, IR_VOID, o->at, o->len, results, result_count);
    ir_at(l->func, id)->aux = op;
    ir_at(l->func, id)->imm = imm;
    return id;
}

static ir_ref in_space(lower *l, ir_ref pointer, ir_type space)
{
    if (ir_type_of(l->func, pointer) == space)
        return pointer;
    return ir_convert(&l->at, IR_PTRCAST, space, lower_generic(l, pointer));
}

static ir_type space_of_letter(char letter)
{
    return letter == 's' ? IR_PTR_SHARED : letter == 'g' ? IR_PTR_GLOBAL : IR_PTR_PARAM;
}

static uint64_t constant_of(lower *l, const ast_expr *e)
{
    const_value v;
    if (!const_eval(l->f, e, &v))
        bug("an argument is no constant");
    return v.integer;
}

// --- one operand per argument

ir_ref lower_nv(lower *l, const ast_expr *e)
{
    const nv_row *row = nv_row_at((nv_op)e->builtin->op);
    operands o = {0};
    int64_t imm = 0;
    const char *letter = row->operands;
    uint32_t spare = e->args.len - (uint32_t)strlen(row->operands);
    for (uint32_t i = 0; i < e->args.len; i++) {
        if (row->imm == NV_IMM_NUMBER) {
            imm = (int64_t)constant_of(l, e->args.at[i]);
            continue;
        }
        ir_ref v = lower_value(l, e->args.at[i]);
        bool is_pointer = *letter == 's' || *letter == 'g' || *letter == 'm';
        l->at.at = e->at;
        add(&o, is_pointer ? in_space(l, v, space_of_letter(*letter)) : v);
        if (*letter == 'c' && spare)
            spare--;
        else
            letter++;
    }
    l->at.at = e->at;
    uint8_t truth = IR_I1;
    ir_inst_id id = emit(l, (nv_op)e->builtin->op, imm, &o, &truth, *row->results ? 1 : 0);
    return ir_at(l->func, id)->result;
}

// --- arrays of registers

static place word_of(place array, uint64_t n)
{
    const type *word = array.type->base;
    array.type = word;
    array.offset = lower_offset(array.offset, n * word->size);
    return array;
}

static ir_ref load_word(lower *l, place array, uint64_t n)
{
    return lower_load(l, word_of(array, n));
}

static void add_words(lower *l, operands *o, const ast_expr *e)
{
    place array = lower_place(l, e);
    for (uint64_t k = 0; k < e->type->len; k++)
        add(o, load_word(l, array, k));
}

static void store_results(lower *l, place array, ir_inst_id id)
{
    uint32_t count = ir_at(l->func, id)->result_count;
    ir_ref first = ir_at(l->func, id)->result;
    for (uint32_t k = 0; k < count; k++)
        lower_store(l, word_of(array, k), first + k);
}

static nv_op moved_row(const ast_expr *e, uint64_t words)
{
    return (nv_op)(e->builtin->op + (words == 1 ? 0 : words == 2 ? 1 : 2));
}

static void load_matrices(lower *l, const ast_expr *e)
{
    operands o = {0};
    uint64_t words = e->args.at[0]->type->len;
    uint8_t results[4] = {IR_I32, IR_I32, IR_I32, IR_I32};
    place array = lower_place(l, e->args.at[0]);
    ir_ref row = lower_value(l, e->args.at[1]);
    l->at.at = e->at;
    add(&o, in_space(l, row, IR_PTR_SHARED));
    store_results(l, array, emit(l, moved_row(e, words), 0, &o, results, (uint32_t)words));
}

static void store_matrices(lower *l, const ast_expr *e)
{
    operands o = {0};
    ir_ref row = lower_value(l, e->args.at[0]);
    l->at.at = e->at;
    add(&o, in_space(l, row, IR_PTR_SHARED));
    add_words(l, &o, e->args.at[1]);
    l->at.at = e->at;
    emit(l, moved_row(e, e->args.at[1]->type->len), 0, &o, NULL, 0);
}

static bool is_false(lower *l, const ast_expr *e)
{
    const_value v;
    return e->is_const && const_eval(l->f, e, &v) && !v.integer;
}

static void multiply(lower *l, const ast_expr *e)
{
    nv_op op = (nv_op)e->builtin->op;
    nv_shape s = matrix_shape(l->f, e);
    operands o = {0};
    bool is_wgmma = op == NV_WGMMA;
    ir_ref a = IR_NONE, b = IR_NONE, accumulate = IR_NONE;
    if (is_wgmma) { // in the order they are written, before the accumulator is read
        if (!s.from_words)
            a = lower_value(l, e->args.at[1]);
        b = lower_value(l, e->args.at[2]);
        accumulate = lower_value(l, e->args.at[3]);
    }
    place d = lower_place(l, e->args.at[0]);
    l->at.at = e->at;
    if (!is_wgmma || !is_false(l, e->args.at[3]))
        for (uint64_t k = 0; k < d.type->len; k++)
            add(&o, load_word(l, d, k));
    if (a)
        add(&o, a);
    else
        add_words(l, &o, e->args.at[1]);
    if (is_wgmma) {
        add(&o, b);
        add(&o, accumulate);
    } else {
        add_words(l, &o, e->args.at[2]);
    }
    uint8_t results[128];
    memset(results, (int)nv_acc_type(s), sizeof results);
    l->at.at = e->at;
    store_results(l, d, emit(l, op, nv_pack(s), &o, results, nv_acc_words(op, s)));
}

void lower_matrix(lower *l, const ast_expr *e)
{
    if (e->builtin->op == NV_MMA || e->builtin->op == NV_WGMMA)
        multiply(l, e);
    else if (e->builtin->id == BI_ldmatrix || e->builtin->id == BI_ldmatrix_transposed)
        load_matrices(l, e);
    else
        store_matrices(l, e);
}

// --- addresses and descriptors

static ir_ref shared_address(lower *l, const ast_expr *pointer)
{
    ir_ref p = in_space(l, lower_value(l, pointer), IR_PTR_SHARED);
    return ir_un(&l->at, IR_SHADDR, IR_I32, p);
}

// A descriptor counts in 16 bytes; addresses have 18 bits, above them the hardware keeps the rank
// in the cluster.
static ir_ref descriptor(lower *l, const ast_expr *tile, uint64_t constant_part)
{
    ir_func *f = l->func;
    ir_ref at = ir_bin(&l->at, IR_AND, IR_I32, shared_address(l, tile), ir_i32(f, 0x3ffff));
    at = ir_bin(&l->at, IR_LSHR, IR_I32, at, ir_i32(f, 4));
    ir_ref wide = ir_convert(&l->at, IR_ZEXT, IR_I64, at);
    return ir_bin(&l->at, IR_OR, IR_I64, wide, ir_constant(f, IR_I64, constant_part));
}

static uint64_t swizzle_part(uint64_t bytes)
{
    uint64_t mode = bytes == 128 ? 1 : bytes == 64 ? 2 : 3;
    return mode << 62 | (bytes * 8 >> 4) << 32; // eight rows of the swizzle's width
}

static ir_ref chunk_part(lower *l, ir_ref desc, ir_ref bytes)
{
    ir_func *f = l->func;
    ir_ref sixteens = ir_bin(&l->at, IR_LSHR, IR_I32, bytes, ir_i32(f, 4));
    ir_ref wide = ir_convert(&l->at, IR_ZEXT, IR_I64, sixteens);
    return ir_bin(&l->at, IR_OR, IR_I64, desc, ir_bin(&l->at, IR_SHL, IR_I64, wide, ir_i32(f, 16)));
}

static ir_ref halves(lower *l, const ast_expr *e, ir_type t)
{
    ir_ref half[2];
    for (uint32_t k = 0; k < 2; k++)
        half[k] = lower_value(l, e->args.at[k]);
    l->at.at = e->at;
    for (uint32_t k = 0; k < 2; k++) {
        ir_ref narrow = ir_convert(&l->at, IR_FNARROW, t, half[k]);
        half[k] =
            ir_convert(&l->at, IR_ZEXT, IR_I32, ir_convert(&l->at, IR_BITCAST, IR_I16, narrow));
    }
    ir_ref high = ir_bin(&l->at, IR_SHL, IR_I32, half[1], ir_i32(l->func, 16));
    return ir_bin(&l->at, IR_OR, IR_I32, half[0], high);
}

static ir_ref cluster(lower *l, const ast_expr *e, int64_t what)
{
    l->at.at = e->at;
    uint8_t result = IR_I32;
    ir_inst_id id = ir_add(&l->at, IR_CLUSTER, IR_I32, NULL, 0, &result, 1);
    ir_at(l->func, id)->imm = what;
    return ir_at(l->func, id)->result;
}

ir_ref lower_nv_value(lower *l, const ast_expr *e)
{
    ir_func *f = l->func;
    ast_expr *const *args = e->args.at;
    switch ((nvidia_builtin)e->builtin->id) {
    case BI_shared_address: return shared_address(l, args[0]);
    case BI_wgmma_k_major: // the leading offset is ignored there; 1 is what the tools write
        return descriptor(l, args[0], swizzle_part(constant_of(l, args[1])) | (uint64_t)1 << 16);
    case BI_wgmma_mn_major: {
        ir_ref desc = descriptor(l, args[0], swizzle_part(constant_of(l, args[1])));
        return chunk_part(l, desc, lower_value(l, args[2]));
    }
    case BI_wgmma_step: {
        ir_ref desc = lower_value(l, args[0]), bytes = lower_value(l, args[1]);
        ir_ref sixteens = ir_bin(&l->at, IR_LSHR, IR_I32, bytes, ir_i32(f, 4));
        return ir_bin(&l->at, IR_ADD, IR_I64, desc, ir_convert(&l->at, IR_ZEXT, IR_I64, sixteens));
    }
    case BI_cache_evict_first: return ir_i64(f, 0x12F0000000000000);
    case BI_cache_evict_last: return ir_i64(f, 0x14F0000000000000);
    case BI_pack_f16: return halves(l, e, IR_F16);
    case BI_pack_bf16: return halves(l, e, IR_BF16);
    case BI_cluster_at: {
        ir_ref p = in_space(l, lower_value(l, args[0]), IR_PTR_SHARED);
        ir_ref both[] = {p, lower_value(l, args[1])};
        uint8_t result = IR_PTR_GEN;
        ir_inst_id id = ir_add(&l->at, IR_MAPA, IR_PTR_GEN, both, 2, &result, 1);
        return ir_at(l->func, id)->result;
    }
    case BI_cluster_rank: return cluster(l, e, 0);
    case BI_cluster_blocks: return cluster(l, e, 1);
    case BI_cluster_x: return cluster(l, e, 2);
    case BI_cluster_count_x: return cluster(l, e, 3);
    }
    return IR_NONE;
}
