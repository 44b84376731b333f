// Builtins to IR. BK_OP rows map to their operation; the others are rows of the tables below or
// small functions. The arguments are evaluated left to right before anything else. (Two operands
// that both add instructions never stand in one C call: host compilers order them differently.)
// Start at lower_builtin.
#include "front/lower.h"

typedef struct call_site { // one call being lowered
    lower *l;
    const ast_expr *e;
    const builtin *row;
    const type *of; // the T, or NULL
    ir_type t;      // its IR type, or the result's
    ir_ref arg[6];  // scalar arguments
} call_site;

static ir_ref emit(call_site *c, ir_op op, ir_type t, const ir_ref *operands, uint32_t count,
                   ir_type result, uint32_t aux)
{
    uint8_t result_type = (uint8_t)result;
    ir_inst_id id = ir_add(&c->l->at, op, t, operands, count, &result_type, result ? 1 : 0);
    ir_at(c->l->func, id)->aux = aux;
    return ir_at(c->l->func, id)->result;
}

static ir_ref bin(call_site *c, ir_op op, ir_type t, ir_ref a, ir_ref b)
{
    return ir_bin(&c->l->at, op, t, a, b);
}

static ir_ref int_of(call_site *c, int32_t v)
{
    return ir_i32(c->l->func, v);
}

static bool is_float(const call_site *c)
{
    return ir_is_float(c->t);
}

static bool is_unsigned(const call_site *c)
{
    return c->of && type_is_integer(c->of) && !type_is_signed(c->of);
}

// Argument `n`, which the checker has made a constant.
static uint64_t constant_arg(call_site *c, uint32_t n)
{
    const_value v;
    if (!const_eval(c->l->f, c->e->args.at[n], &v))
        bug("argument %u of '%s' is no constant", n, c->row->name);
    return v.integer;
}

// --- where am I

static ir_ref axis(call_site *c, ir_op op, int64_t n)
{
    uint8_t result = IR_I32;
    ir_inst_id id = ir_add(&c->l->at, op, IR_I32, NULL, 0, &result, 1);
    ir_at(c->l->func, id)->imm = n;
    return ir_at(c->l->func, id)->result;
}

static ir_ref block_threads(call_site *c)
{
    ir_ref x = axis(c, IR_BLOCKDIM, 0), y = axis(c, IR_BLOCKDIM, 1), z = axis(c, IR_BLOCKDIM, 2);
    return bin(c, IR_MUL, IR_I32, bin(c, IR_MUL, IR_I32, x, y), z);
}

static ir_ref thread_rank(call_site *c)
{
    ir_ref x = axis(c, IR_THREAD, 0), y = axis(c, IR_THREAD, 1), z = axis(c, IR_THREAD, 2);
    ir_ref dx = axis(c, IR_BLOCKDIM, 0), dy = axis(c, IR_BLOCKDIM, 1);
    y = bin(c, IR_MUL, IR_I32, y, dx);
    z = bin(c, IR_MUL, IR_I32, z, bin(c, IR_MUL, IR_I32, dx, dy));
    return bin(c, IR_ADD, IR_I32, bin(c, IR_ADD, IR_I32, x, y), z);
}

static ir_ref global_axis(call_site *c, int64_t n)
{
    ir_ref block = axis(c, IR_BLOCK, n), dim = axis(c, IR_BLOCKDIM, n);
    ir_ref start = bin(c, IR_MUL, IR_I32, block, dim);
    return bin(c, IR_ADD, IR_I32, start, axis(c, IR_THREAD, n));
}

static ir_ref warp_count(call_site *c)
{
    ir_ref up = bin(c, IR_ADD, IR_I32, block_threads(c), int_of(c, 31));
    return bin(c, IR_LSHR, IR_I32, up, int_of(c, 5));
}

static ir_ref warp_lanes(call_site *c)
{
    ir_ref start = bin(c, IR_SHL, IR_I32, axis(c, IR_WARP, 0), int_of(c, 5));
    ir_ref left = bin(c, IR_SUB, IR_I32, block_threads(c), start);
    return bin(c, IR_UMIN, IR_I32, left, int_of(c, 32));
}

// --- warps

// Values that are no whole registers travel as i32 through shuffles.
static ir_ref to_word(call_site *c, ir_ref v)
{
    ir_cursor *at = &c->l->at;
    if (c->t == IR_F16 || c->t == IR_BF16)
        v = ir_convert(at, IR_BITCAST, IR_I16, v);
    return ir_type_size(c->t) < 4 ? ir_convert(at, IR_ZEXT, IR_I32, v) : v;
}

static ir_ref from_word(call_site *c, ir_ref v)
{
    ir_cursor *at = &c->l->at;
    if (ir_type_size(c->t) >= 4)
        return v;
    if (c->t != IR_F16 && c->t != IR_BF16)
        return ir_convert(at, IR_TRUNC, c->t, v);
    return ir_convert(at, IR_BITCAST, c->t, ir_convert(at, IR_TRUNC, IR_I16, v));
}

static ir_ref either(call_site *c, ir_ref condition, ir_ref yes, ir_ref no)
{
    ir_ref operands[] = {condition, yes, no};
    return emit(c, IR_SELECT, IR_I32, operands, 3, IR_I32, 0);
}

// The lane that a shuffle within segments reads, when their width is only known at run time.
static ir_ref source_lane(call_site *c, ir_shuffle how, ir_ref by, ir_ref width)
{
    ir_ref lane = axis(c, IR_LANE, 0);
    ir_ref mask = bin(c, IR_SUB, IR_I32, width, int_of(c, 1));
    ir_ref outside = bin(c, IR_XOR, IR_I32, mask, int_of(c, -1));
    ir_ref first = bin(c, IR_AND, IR_I32, lane, outside);
    if (how == IR_SH_IDX)
        return bin(c, IR_OR, IR_I32, first, bin(c, IR_AND, IR_I32, by, mask));
    if (how == IR_SH_XOR) {
        ir_ref other = bin(c, IR_XOR, IR_I32, lane, by);
        ir_ref its_first = bin(c, IR_AND, IR_I32, other, outside);
        return either(c, bin(c, IR_IEQ, IR_I32, its_first, first), other, lane);
    }
    bool is_up = how == IR_SH_UP;
    ir_ref last = bin(c, IR_ADD, IR_I32, first, mask);
    ir_ref room = is_up ? bin(c, IR_SUB, IR_I32, lane, first) : bin(c, IR_SUB, IR_I32, last, lane);
    ir_ref other = bin(c, is_up ? IR_SUB : IR_ADD, IR_I32, lane, by);
    return either(c, bin(c, IR_ULE, IR_I32, by, room), other, lane);
}

static ir_ref shuffle(call_site *c, ir_shuffle how, bool has_width)
{
    const_value known = {.integer = 32};
    ir_ref by = c->arg[1];
    if (has_width && !const_eval(c->l->f, c->e->args.at[2], &known)) {
        by = source_lane(c, how, by, c->arg[2]);
        how = IR_SH_IDX;
        known.integer = 32;
    }
    ir_ref v = to_word(c, c->arg[0]);
    ir_ref operands[] = {v, by, int_of(c, (int32_t)known.integer)};
    ir_type t = ir_type_of(c->l->func, v);
    return from_word(c, emit(c, IR_SHUFFLE, t, operands, 3, t, how));
}

static ir_ref ballot(call_site *c, ir_ref condition)
{
    return emit(c, IR_BALLOT, IR_I1, &condition, 1, IR_I32, 0);
}

static ir_ref inverted(call_site *c, ir_ref truth)
{
    return bin(c, IR_XOR, IR_I1, truth, ir_bool(c->l->func, true));
}

static ir_ref promise(call_site *c, uint32_t among)
{
    return emit(c, IR_UNIFORM, c->t, c->arg, 1, c->t, among);
}

// --- atomics

typedef struct atomic_row {
    builtin_id id;
    uint8_t of_signed, of_unsigned, of_float; // ir_atomic
    bool is_negated, has_order;
} atomic_row;

// clang-format off
static const atomic_row atomic_rows[] = {
    {BI_atomic_add,     IR_AT_ADD,  IR_AT_ADD,  IR_AT_FADD, false, false},
    {BI_atomic_sub,     IR_AT_ADD,  IR_AT_ADD,  IR_AT_FADD, true,  false},
    {BI_atomic_min,     IR_AT_SMIN, IR_AT_UMIN, IR_AT_FMIN, false, false},
    {BI_atomic_max,     IR_AT_SMAX, IR_AT_UMAX, IR_AT_FMAX, false, false},
    {BI_atomic_and,     IR_AT_AND,  IR_AT_AND,  IR_AT_AND,  false, false},
    {BI_atomic_or,      IR_AT_OR,   IR_AT_OR,   IR_AT_OR,   false, false},
    {BI_atomic_xor,     IR_AT_XOR,  IR_AT_XOR,  IR_AT_XOR,  false, false},
    {BI_atomic_swap,    IR_AT_XCHG, IR_AT_XCHG, IR_AT_XCHG, false, false},
    {BI_atomic_add_at,  IR_AT_ADD,  IR_AT_ADD,  IR_AT_FADD, false, true},
    {BI_atomic_swap_at, IR_AT_XCHG, IR_AT_XCHG, IR_AT_XCHG, false, true},
};
// clang-format on

static const atomic_row *atomic_row_of(builtin_id id)
{
    for (size_t i = 0; i < COUNT(atomic_rows); i++) {
        if (atomic_rows[i].id == id)
            return &atomic_rows[i];
    }
    return NULL;
}

static ir_ref ordered(call_site *c, ir_op op, const ir_ref *operands, uint32_t count,
                      ir_type result, uint32_t aux, uint32_t order_arg)
{
    uint32_t order = IR_RELAXED, reach = IR_SCOPE_DEVICE;
    if (order_arg) {
        order = (uint32_t)constant_arg(c, order_arg - 1);
        reach = (uint32_t)constant_arg(c, order_arg);
    }
    uint8_t result_type = (uint8_t)result;
    ir_inst_id id = ir_add(&c->l->at, op, c->t, operands, count, &result_type, result ? 1 : 0);
    ir_inst *in = ir_at(c->l->func, id);
    in->aux = aux;
    in->order = (uint8_t)order;
    in->scope = (uint8_t)reach;
    return in->result;
}

static ir_ref atomic(call_site *c, const atomic_row *row)
{
    ir_ref v = c->arg[1];
    if (row->is_negated)
        v = is_float(c) ? ir_un(&c->l->at, IR_FNEG, c->t, v)
                        : bin(c, IR_SUB, c->t, ir_constant(c->l->func, c->t, 0), v);
    uint32_t how = is_float(c) ? row->of_float : is_unsigned(c) ? row->of_unsigned : row->of_signed;
    ir_ref operands[] = {c->arg[0], v};
    return ordered(c, IR_ATOMIC, operands, 2, c->t, how, row->has_order ? 3 : 0);
}

static ir_ref fence(call_site *c, ir_order order, ir_scope reach)
{
    ir_inst_id id = ir_add(&c->l->at, IR_FENCE, IR_VOID, NULL, 0, NULL, 0);
    ir_at(c->l->func, id)->order = (uint8_t)order;
    ir_at(c->l->func, id)->scope = (uint8_t)reach;
    return IR_NONE;
}

// --- numbers and bits

static ir_op pick(const call_site *c, ir_op of_signed, ir_op of_unsigned, ir_op of_float)
{
    return is_float(c) ? of_float : is_unsigned(c) ? of_unsigned : of_signed;
}

static ir_ref smaller(call_site *c, ir_ref a, ir_ref b)
{
    return bin(c, pick(c, IR_SMIN, IR_UMIN, IR_FMIN), c->t, a, b);
}

static ir_ref larger(call_site *c, ir_ref a, ir_ref b)
{
    return bin(c, pick(c, IR_SMAX, IR_UMAX, IR_FMAX), c->t, a, b);
}

static ir_ref absolute(call_site *c, ir_ref v)
{
    if (is_float(c))
        return ir_un(&c->l->at, IR_FABS, c->t, v);
    return bin(c, IR_SMAX, c->t, v, bin(c, IR_SUB, c->t, ir_constant(c->l->func, c->t, 0), v));
}

static ir_ref infinity(call_site *c)
{
    uint64_t bits = c->t == IR_F32 ? 0x7f800000u : 0x7ff0000000000000u;
    return ir_constant(c->l->func, c->t, bits);
}

static ir_ref sign_bit(call_site *c)
{
    ir_type t = c->t == IR_F32 ? IR_I32 : IR_I64;
    ir_ref bits = ir_convert(&c->l->at, IR_BITCAST, t, c->arg[0]);
    return bin(c, IR_SLT, t, bits, ir_constant(c->l->func, t, 0));
}

static ir_ref counted(call_site *c, ir_op op)
{
    ir_ref n = ir_un(&c->l->at, op, c->t, c->arg[0]);
    return c->t == IR_I64 ? ir_convert(&c->l->at, IR_TRUNC, IR_I32, n) : n;
}

static ir_ref rotate(call_site *c, ir_ref count)
{
    ir_ref operands[] = {c->arg[0], c->arg[0], count};
    return emit(c, IR_FSHL, c->t, operands, 3, c->t, 0);
}

static ir_ref unpack_nibble(call_site *c)
{
    ir_ref four = bin(c, IR_SHL, IR_I32, c->arg[1], int_of(c, 2));
    ir_ref up = bin(c, IR_SUB, IR_I32, int_of(c, 28), four);
    return bin(c, IR_ASHR, IR_I32, bin(c, IR_SHL, IR_I32, c->arg[0], up), int_of(c, 28));
}

static ir_ref pack_nibble(call_site *c)
{
    ir_ref four = bin(c, IR_SHL, IR_I32, c->arg[1], int_of(c, 2));
    ir_ref mask = bin(c, IR_SHL, IR_I32, int_of(c, 15), four);
    ir_ref hole = bin(c, IR_XOR, IR_I32, mask, int_of(c, -1));
    ir_ref low = bin(c, IR_AND, IR_I32, c->arg[2], int_of(c, 15));
    ir_ref rest = bin(c, IR_AND, IR_I32, c->arg[0], hole);
    return bin(c, IR_OR, IR_I32, rest, bin(c, IR_SHL, IR_I32, low, four));
}

static ir_ref bitcast(call_site *c)
{
    return ir_convert(&c->l->at, IR_BITCAST, type_ir(c->e->type), c->arg[0]);
}

static ir_ref narrowed(call_site *c)
{
    return ir_convert(&c->l->at, IR_FNARROW, type_ir(c->e->type), c->arg[0]);
}

static ir_ref to_f32(call_site *c)
{
    const type *from = c->e->args.at[0]->type;
    if (type_is_storage_float(from))
        return ir_convert(&c->l->at, IR_FEXT, IR_F32, c->arg[0]);
    return lower_convert(c->l, c->arg[0], from, type_scalar(TY_F32));
}

static ir_ref scaled(call_site *c, ir_ref v, float by)
{
    return bin(c, IR_FMUL, IR_F32, v, ir_f32(c->l->func, by));
}

static ir_ref fast_pow(call_site *c)
{
    ir_ref log2 = ir_un(&c->l->at, IR_FAST_LOG2, IR_F32, c->arg[0]);
    return ir_un(&c->l->at, IR_FAST_EXP2, IR_F32, bin(c, IR_FMUL, IR_F32, c->arg[1], log2));
}

// --- pairs of 16-bit floats: records of two outside, an i32 inside

static const struct {
    builtin_id id;
    ir_op op;
} pair_rows[] = {
    {BI_add2, IR_HADD2}, {BI_sub2, IR_HSUB2}, {BI_mul2, IR_HMUL2},
    {BI_fma2, IR_HFMA2}, {BI_min2, IR_HMIN2}, {BI_max2, IR_HMAX2},
};

static ir_op pair_op(const builtin *row)
{
    for (size_t i = 0; row && i < COUNT(pair_rows); i++) {
        if (pair_rows[i].id == row->id)
            return pair_rows[i].op;
    }
    return IR_NOP;
}

static ir_type half_of(const type *pair)
{
    return type_ir(type_def(pair)->fields.at[0].type);
}

static ir_ref pack(lower *l, const ir_ref *half)
{
    ir_ref word[2];
    for (uint32_t i = 0; i < 2; i++) {
        ir_ref bits = ir_convert(&l->at, IR_BITCAST, IR_I16, half[i]);
        word[i] = ir_convert(&l->at, IR_ZEXT, IR_I32, bits);
    }
    ir_ref high = ir_bin(&l->at, IR_SHL, IR_I32, word[1], ir_i32(l->func, 16));
    return ir_bin(&l->at, IR_OR, IR_I32, word[0], high);
}

static void unpack(lower *l, ir_ref word, ir_type t, ir_ref *half)
{
    ir_ref high = ir_bin(&l->at, IR_LSHR, IR_I32, word, ir_i32(l->func, 16));
    half[0] = ir_convert(&l->at, IR_BITCAST, t, ir_convert(&l->at, IR_TRUNC, IR_I16, word));
    half[1] = ir_convert(&l->at, IR_BITCAST, t, ir_convert(&l->at, IR_TRUNC, IR_I16, high));
}

// The value of a pair as one word. Nested pair builtins hand theirs over without unpacking.
static ir_ref pair_word(lower *l, const ast_expr *e)
{
    ir_op op = e->kind == E_CALL ? pair_op(e->builtin) : IR_NOP;
    ir_ref operands[3];
    if (!op) {
        place p = lower_place(l, e);
        ir_type space = ir_type_of(l->func, p.base);
        l->at.at = e->at;
        if (space != IR_PTR_LOCAL && space != IR_PTR_GEN) { // will never be split into values
            p.type = type_scalar(TY_U32);
            return lower_load(l, p);
        }
        lower_load_many(l, p, half_of(e->type), 2, operands);
        return pack(l, operands);
    }
    must(e->args.len <= COUNT(operands));
    for (uint32_t i = 0; i < e->args.len; i++)
        operands[i] = pair_word(l, e->args.at[i]);
    l->at.at = e->at;
    uint8_t result = IR_I32;
    ir_inst_id id = ir_add(&l->at, op, IR_I32, operands, e->args.len, &result, 1);
    ir_at(l->func, id)->aux = half_of(e->type);
    return ir_at(l->func, id)->result;
}

static void store_pair(call_site *c, place *record, const ir_ref *half)
{
    *record = lower_temp(c->l, c->e->type, c->e->at);
    lower_store_many(c->l, *record, half_of(c->e->type), 2, half);
}

static void give_pair(call_site *c, ir_ref word, place *record)
{
    ir_ref half[2];
    unpack(c->l, word, half_of(c->e->type), half);
    store_pair(c, record, half);
}

static void pair_builtin(call_site *c, place *record)
{
    give_pair(c, pair_word(c->l, c->e), record);
}

static void make_pair(call_site *c, place *record)
{
    ir_ref half[2];
    for (uint32_t i = 0; i < 2; i++)
        half[i] = ir_convert(&c->l->at, IR_FNARROW, half_of(c->e->type), c->arg[i]);
    store_pair(c, record, half);
}

// --- memory hints

static ir_ref hinted_load(call_site *c, ir_hint hint, place *record)
{
    place p = lower_pointee(c->l, c->e->args.at[0]);
    c->l->at.at = c->e->at;
    p.hint = (uint8_t)hint;
    p.type = p.type->unqualified;
    if (!type_is_record(p.type))
        return lower_load(c->l, p);
    // Read now: a later store must not change it.
    *record = lower_temp(c->l, p.type, c->e->at);
    lower_copy(c->l, *record, p);
    return IR_NONE;
}

static void hinted_store(call_site *c, ir_hint hint)
{
    place p = lower_pointee(c->l, c->e->args.at[0]);
    p.hint = (uint8_t)hint;
    p.type = p.type->unqualified;
    lower_init(c->l, p, c->e->args.at[1]);
}

// --- dispatch

// Builtins with records, strings or conditions: they evaluate their arguments themselves.
static ir_ref lower_special(call_site *c, place *record)
{
    switch ((special_builtin)c->row->id) {
    case BI_printf: lower_print(c->l, c->e); break;
    case BI_assert: lower_assert(c->l, c->e); break;
    case BI_load_readonly: return hinted_load(c, IR_HINT_READONLY, record);
    case BI_load_stream: return hinted_load(c, IR_HINT_STREAM, record);
    case BI_store_stream: hinted_store(c, IR_HINT_STREAM); break;
    }
    return IR_NONE;
}

static ir_ref lower_geometry(call_site *c)
{
    switch ((geometry_builtin)c->row->id) {
    case BI_thread_x: return axis(c, IR_THREAD, 0);
    case BI_thread_y: return axis(c, IR_THREAD, 1);
    case BI_thread_z: return axis(c, IR_THREAD, 2);
    case BI_block_x: return axis(c, IR_BLOCK, 0);
    case BI_block_y: return axis(c, IR_BLOCK, 1);
    case BI_block_z: return axis(c, IR_BLOCK, 2);
    case BI_block_dim_x: return axis(c, IR_BLOCKDIM, 0);
    case BI_block_dim_y: return axis(c, IR_BLOCKDIM, 1);
    case BI_block_dim_z: return axis(c, IR_BLOCKDIM, 2);
    case BI_grid_dim_x: return axis(c, IR_GRIDDIM, 0);
    case BI_grid_dim_y: return axis(c, IR_GRIDDIM, 1);
    case BI_grid_dim_z: return axis(c, IR_GRIDDIM, 2);
    case BI_global_x: return global_axis(c, 0);
    case BI_global_y: return global_axis(c, 1);
    case BI_global_z: return global_axis(c, 2);
    case BI_thread_rank: return thread_rank(c);
    case BI_block_threads: return block_threads(c);
    case BI_lane: return axis(c, IR_LANE, 0);
    case BI_warp: return axis(c, IR_WARP, 0);
    case BI_warp_count: return warp_count(c);
    case BI_warp_lanes: return warp_lanes(c);
    case BI_dynamic_shared_bytes: return axis(c, IR_DYNSHARED, 0);
    }
    return IR_NONE;
}

static ir_ref lower_warp(call_site *c)
{
    ir_ref none = ir_i32(c->l->func, 0);
    switch ((warp_builtin)c->row->id) {
    case BI_shuffle: return shuffle(c, IR_SH_IDX, false);
    case BI_shuffle_up: return shuffle(c, IR_SH_UP, false);
    case BI_shuffle_down: return shuffle(c, IR_SH_DOWN, false);
    case BI_shuffle_xor: return shuffle(c, IR_SH_XOR, false);
    case BI_shuffle_in: return shuffle(c, IR_SH_IDX, true);
    case BI_shuffle_up_in: return shuffle(c, IR_SH_UP, true);
    case BI_shuffle_down_in: return shuffle(c, IR_SH_DOWN, true);
    case BI_shuffle_xor_in: return shuffle(c, IR_SH_XOR, true);
    case BI_warp_ballot: return ballot(c, c->arg[0]);
    case BI_warp_any: return bin(c, IR_INE, IR_I32, ballot(c, c->arg[0]), none);
    case BI_warp_all: return bin(c, IR_IEQ, IR_I32, ballot(c, inverted(c, c->arg[0])), none);
    case BI_warp_active: return emit(c, IR_ACTIVE, IR_I32, NULL, 0, IR_I32, 0);
    case BI_warp_match: return emit(c, IR_MATCH, c->t, c->arg, 1, IR_I32, 0);
    case BI_promise_warp_uniform: return promise(c, 1);
    case BI_promise_block_uniform: return promise(c, 2);
    }
    return IR_NONE;
}

static ir_ref lower_arithmetic(call_site *c)
{
    ir_ref *arg = c->arg;
    ir_cursor *at = &c->l->at;
    switch ((number_builtin)c->row->id) {
    case BI_min: return smaller(c, arg[0], arg[1]);
    case BI_max: return larger(c, arg[0], arg[1]);
    case BI_clamp: return smaller(c, larger(c, arg[0], arg[1]), arg[2]);
    case BI_abs: return absolute(c, arg[0]);
    case BI_isnan: return bin(c, IR_FNE, c->t, arg[0], arg[0]);
    case BI_isinf: return bin(c, IR_FEQ, c->t, ir_un(at, IR_FABS, c->t, arg[0]), infinity(c));
    case BI_isfinite: return bin(c, IR_FLT, c->t, ir_un(at, IR_FABS, c->t, arg[0]), infinity(c));
    case BI_signbit: return sign_bit(c);
    case BI_fast_exp: return ir_un(at, IR_FAST_EXP2, IR_F32, scaled(c, arg[0], 1.442695f));
    case BI_fast_log: return scaled(c, ir_un(at, IR_FAST_LOG2, IR_F32, arg[0]), 0.6931472f);
    case BI_fast_pow: return fast_pow(c);
    case BI_popcount: return counted(c, IR_POPC);
    case BI_leading_zeros: return counted(c, IR_CLZ);
    case BI_trailing_zeros: return counted(c, IR_CTZ);
    case BI_rotate_left: return rotate(c, arg[1]);
    case BI_rotate_right: return rotate(c, bin(c, IR_SUB, IR_I32, int_of(c, 0), arg[1]));
    case BI_mul_high: return bin(c, is_unsigned(c) ? IR_UMULHI : IR_SMULHI, c->t, arg[0], arg[1]);
    case BI_unpack_i4: return unpack_nibble(c);
    case BI_pack_i4: return pack_nibble(c);
    case BI_bits_f32:
    case BI_bits_f64:
    case BI_bits_f16:
    case BI_bits_bf16:
    case BI_bits_f8e4:
    case BI_bits_f8e5:
    case BI_f32_from_bits:
    case BI_f64_from_bits:
    case BI_f16_from_bits:
    case BI_bf16_from_bits:
    case BI_f8e4_from_bits:
    case BI_f8e5_from_bits: return bitcast(c);
    case BI_f32: return to_f32(c);
    case BI_to_f16:
    case BI_to_bf16:
    case BI_to_f8e4:
    case BI_to_f8e5: return narrowed(c);
    }
    return IR_NONE;
}

static ir_ref plain(call_site *c, ir_op op, ir_type result)
{
    return emit(c, op, result, c->arg, c->e->args.len, result, 0);
}

// Effects: barriers, fences, ordered accesses, clocks.
static ir_ref lower_world(call_site *c, place *record)
{
    switch ((world_builtin)c->row->id) {
    case BI_barrier: plain(c, IR_BARRIER, IR_VOID); break;
    case BI_warp_sync: plain(c, IR_WARPSYNC, IR_VOID); break;
    case BI_fence_block: fence(c, IR_ACQ_REL, IR_SCOPE_BLOCK); break;
    case BI_fence_device: fence(c, IR_ACQ_REL, IR_SCOPE_DEVICE); break;
    case BI_fence_system: fence(c, IR_ACQ_REL, IR_SCOPE_SYSTEM); break;
    case BI_fence_at: ordered(c, IR_FENCE, NULL, 0, IR_VOID, 0, 1); break;
    case BI_atomic_cas: return ordered(c, IR_CAS, c->arg, 3, c->t, 0, 0);
    case BI_atomic_cas_at: return ordered(c, IR_CAS, c->arg, 3, c->t, 0, 4);
    case BI_atomic_load: return ordered(c, IR_ATOMLOAD, c->arg, 1, c->t, 0, 0);
    case BI_atomic_load_at: return ordered(c, IR_ATOMLOAD, c->arg, 1, c->t, 0, 2);
    case BI_atomic_store: ordered(c, IR_ATOMSTORE, c->arg, 2, IR_VOID, 0, 0); break;
    case BI_atomic_store_at: ordered(c, IR_ATOMSTORE, c->arg, 2, IR_VOID, 0, 3); break;
    case BI_prefetch: plain(c, IR_PREFETCH, IR_VOID); break;
    case BI_assume: plain(c, IR_ASSUME, IR_VOID); break;
    case BI_trap: plain(c, IR_TRAP, IR_VOID); break;
    case BI_unreachable: // inside an expression; as a statement it ends the region
        c->arg[0] = ir_bool(c->l->func, false);
        emit(c, IR_ASSUME, IR_VOID, c->arg, 1, IR_VOID, 0);
        break;
    case BI_heap_arena: return lower_heap_arena(c->l);
    case BI_clock_cycles: return plain(c, IR_CLOCK, IR_I64);
    case BI_nano_time: return plain(c, IR_NANOTIME, IR_I64);
    case BI_nano_sleep: plain(c, IR_SLEEP, IR_VOID); break;
    case BI_to_f16x2:
    case BI_to_bf16x2: make_pair(c, record); break;
    }
    return IR_NONE;
}

// Its arguments are values already.
static ir_ref lower_row(call_site *c, place *record)
{
    switch ((builtin_lowering)c->row->op) {
    case BL_GEOMETRY: return lower_geometry(c);
    case BL_WARP: return lower_warp(c);
    case BL_NUMBER: return lower_arithmetic(c);
    case BL_WORLD: return lower_world(c, record);
    case BL_ATOMIC: return atomic(c, atomic_row_of(c->row->id));
    case BL_PAIR:
    case BL_SPECIAL:
    case BL_NVIDIA: break;
    }
    bug("builtin '%s' has no lowering", c->row->name);
}

// Those that evaluate their arguments themselves; false: it is none of them.
static bool lower_own(call_site *c, place *record, ir_ref *out)
{
    *out = IR_NONE;
    if (c->row->kind == BK_MATRIX)
        lower_matrix(c->l, c->e);
    else if (c->row->kind == BK_NV)
        *out = lower_nv(c->l, c->e);
    else if (c->row->kind == BK_LOWER && c->row->op == BL_PAIR)
        pair_builtin(c, record);
    else if (c->row->kind == BK_LOWER && c->row->op == BL_SPECIAL)
        *out = lower_special(c, record);
    else if (c->row->kind == BK_LOWER && c->row->op == BL_NVIDIA)
        *out = lower_nv_value(c->l, c->e);
    else
        return false;
    return true;
}

ir_ref lower_builtin(lower *l, const ast_expr *e, place *record)
{
    call_site c = {.l = l, .e = e, .row = e->builtin, .of = e->builtin_type};
    ir_ref out;
    if (!c.row)
        bug("a call without a callee");
    c.t = c.of ? type_ir(c.of) : type_ir(e->type);
    if (lower_own(&c, record, &out))
        return out;
    must(e->args.len <= COUNT(c.arg));
    bool is_shuffle = c.row->kind == BK_LOWER && c.row->op == BL_WARP;
    bool is_pair = is_shuffle && c.of && type_is_record(c.of);
    for (uint32_t i = 0; i < e->args.len; i++)
        c.arg[i] = is_pair && i == 0 ? pair_word(l, e->args.at[i]) : lower_value(l, e->args.at[i]);
    l->at.at = e->at;
    if (is_pair) {
        c.t = IR_I32;
        give_pair(&c, lower_row(&c, record), record);
        return IR_NONE;
    }
    if (c.row->kind == BK_OP)
        return emit(&c, (ir_op)c.row->op, c.t, c.arg, e->args.len, c.t, 0);
    if (c.row->kind == BK_LOWER)
        return lower_row(&c, record);
    bug("builtin '%s' has no lowering", c.row->name);
}
