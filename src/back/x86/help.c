// What machine code calls for operations that are rare or long: lane by lane in C, on buffers. The
// meaning of a pure operation is ir_eval's. Memory is touched for active lanes only, in ascending
// order. Start reading at x86_help_eval.
#include <math.h>
#include <string.h>

#include "back/x86/make.h"
#include "ir/eval.h"

enum { LANES = 32 };

static uint64_t get(const uint64_t *buffers, uint32_t index, uint32_t size, uint32_t lane)
{
    const uint8_t *at = (const uint8_t *)buffers + index * X86_BUFFER;
    uint32_t u4 = 0;
    uint64_t u8;
    if (size == 8) {
        memcpy(&u8, at + lane * 8, sizeof u8);
        return u8;
    }
    memcpy(&u4, size ? at + lane * 4 : at, sizeof u4);
    return size ? u4 : u4 >> lane & 1;
}

// Results go to the first buffer. Bits are set one by one: it must be 0 before.
static void set(uint64_t *buffers, uint32_t size, uint32_t lane, uint64_t value)
{
    uint8_t *at = (uint8_t *)buffers;
    uint32_t u4 = (uint32_t)value;
    if (size == 8) {
        memcpy(at + lane * 8, &value, sizeof value);
    } else if (size) {
        memcpy(at + lane * 4, &u4, sizeof u4);
    } else {
        memcpy(&u4, at, sizeof u4);
        u4 |= (uint32_t)(value & 1) << lane;
        memcpy(at, &u4, sizeof u4);
    }
}

void x86_help_eval(x86_warp *w, uint64_t *buffers, const x86_info *info, uint32_t active)
{
    (void)w;
    (void)active;
    uint64_t out[LANES];
    for (uint32_t l = 0; l < info->lanes; l++) {
        uint64_t in[3] = {0};
        for (uint32_t k = 0; k < info->count; k++)
            in[k] = get(buffers, k, info->size[k], l);
        out[l] = 0;
        ir_eval((ir_op)info->op, (ir_type)info->type, info->aux, in, &out[l]);
    }
    if (!info->out)
        buffers[0] = 0;
    for (uint32_t l = 0; l < info->lanes; l++)
        set(buffers, info->out, l, out[l]);
}

// As the C text of back/cpu does them: the tiers of the device give the same.
static float fast(ir_op op, float a, float b)
{
    switch ((ir_fast_op)op) {
    case IR_FAST_EXP2: return exp2f(a);
    case IR_FAST_LOG2: return log2f(a);
    case IR_FAST_SIN: return sinf(a);
    case IR_FAST_COS: return cosf(a);
    case IR_FAST_TANH: return tanhf(a);
    case IR_FAST_RCP: return 1.0f / a;
    case IR_FAST_RSQRT: return 1.0f / sqrtf(a);
    case IR_FAST_SQRT: return sqrtf(a);
    case IR_FAST_DIV: break;
    }
    return a / b;
}

static float float_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, sizeof f);
    return f;
}

void x86_help_fast(x86_warp *w, uint64_t *buffers, const x86_info *info, uint32_t active)
{
    (void)w;
    (void)active;
    for (uint32_t l = 0; l < info->lanes; l++) {
        float a = float_of(get(buffers, 0, info->size[0], l));
        float b = info->count > 1 ? float_of(get(buffers, 1, info->size[1], l)) : 0;
        float r = fast((ir_op)info->op, a, b);
        uint32_t bits;
        memcpy(&bits, &r, sizeof bits);
        set(buffers, info->out, l, bits);
    }
}

// --- memory
// A lane's words of local arrays lie 128 bytes apart.
static uint8_t *local_cell(const x86_warp *w, uint64_t address, uint32_t lane)
{
    return w->local + (address & ~(uint64_t)3) * LANES + lane * 4 + (address & 3);
}

static uint8_t *cell_of(const x86_warp *w, const x86_info *info, uint64_t address, uint32_t lane)
{
    bool is_local = info->is_local;
    if (info->is_tagged && address >> 63) {
        is_local = true;
        address &= UINT64_MAX >> 1;
    }
    return is_local ? local_cell(w, address, lane) : (uint8_t *)(uintptr_t)address;
}

#define LOCAL_CELL(address, lane) local_cell(w, address, lane)
#define ANY_CELL(address, lane)   cell_of(w, info, address, lane)

// One loop a size: a cell that is put together from pieces would be waited for.
#define LOAD_CELLS(u, AT)                                                                          \
    for (uint32_t bits = active; bits; bits &= bits - 1) {                                         \
        uint32_t l = (uint32_t)__builtin_ctz(bits);                                                \
        u cell;                                                                                    \
        memcpy(&cell, AT(addresses[l], l), sizeof cell);                                           \
        out[l] = cell;                                                                             \
    }
#define STORE_CELLS(u, AT)                                                                         \
    for (uint32_t bits = active; bits; bits &= bits - 1) {                                         \
        uint32_t l = (uint32_t)__builtin_ctz(bits);                                                \
        u cell = (u)get(buffers, 1, size, l);                                                      \
        memcpy(AT(addresses[l], l), &cell, sizeof cell);                                           \
    }

void x86_help_load(x86_warp *w, uint64_t *buffers, const x86_info *info, uint32_t active)
{
    uint64_t out[LANES] = {0};
    const uint64_t *addresses = buffers;
    if (info->is_local && info->cell == 1)
        LOAD_CELLS(uint8_t, LOCAL_CELL)
    else if (info->is_local && info->cell == 2)
        LOAD_CELLS(uint16_t, LOCAL_CELL)
    else if (info->is_local)
        LOAD_CELLS(uint32_t, LOCAL_CELL)
    else if (info->cell == 1)
        LOAD_CELLS(uint8_t, ANY_CELL)
    else if (info->cell == 2)
        LOAD_CELLS(uint16_t, ANY_CELL)
    else
        LOAD_CELLS(uint32_t, ANY_CELL)
    for (uint32_t bits = info->cell == 8 ? active : 0; bits; bits &= bits - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(bits), high;
        memcpy(&high, cell_of(w, info, addresses[l] + 4, l), sizeof high);
        out[l] |= (uint64_t)high << 32;
    }
    if (info->out == 4) {
        uint32_t *words = (uint32_t *)buffers;
        for (uint32_t l = 0; l < LANES; l++)
            words[l] = (uint32_t)out[l];
    } else if (info->out == 8) {
        memcpy(buffers, out, sizeof out);
    } else {
        if (!info->out)
            buffers[0] = 0;
        for (uint32_t l = 0; l < LANES; l++)
            set(buffers, info->out, l, info->out ? out[l] : out[l] != 0);
    }
}

void x86_help_store(x86_warp *w, uint64_t *buffers, const x86_info *info, uint32_t active)
{
    const uint64_t *addresses = buffers;
    uint32_t size = info->size[1];
    if (info->is_local && info->cell == 1)
        STORE_CELLS(uint8_t, LOCAL_CELL)
    else if (info->is_local && info->cell == 2)
        STORE_CELLS(uint16_t, LOCAL_CELL)
    else if (info->is_local)
        STORE_CELLS(uint32_t, LOCAL_CELL)
    else if (info->cell == 1)
        STORE_CELLS(uint8_t, ANY_CELL)
    else if (info->cell == 2)
        STORE_CELLS(uint16_t, ANY_CELL)
    else
        STORE_CELLS(uint32_t, ANY_CELL)
    for (uint32_t bits = info->cell == 8 ? active : 0; bits; bits &= bits - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(bits);
        uint32_t high = (uint32_t)(get(buffers, 1, size, l) >> 32);
        memcpy(cell_of(w, info, addresses[l] + 4, l), &high, sizeof high);
    }
}

// --- atomics
static uint64_t low_bits(uint64_t v, uint32_t bytes)
{
    return bytes == 8 ? v : v & (((uint64_t)1 << (bytes * 8)) - 1);
}

static int64_t as_signed(uint64_t v, uint32_t bytes)
{
    uint64_t sign = (uint64_t)1 << (bytes * 8 - 1);
    return (int64_t)((low_bits(v, bytes) ^ sign) - sign);
}

static uint64_t float_next(ir_atomic op, uint32_t bytes, uint64_t old, uint64_t v)
{
    static const ir_op ops[] = {IR_FADD, IR_FMIN, IR_FMAX};
    uint64_t in[3] = {old, v, 0}, out = 0;
    ir_eval(ops[op - IR_AT_FADD], bytes == 8 ? IR_F64 : IR_F32, 0, in, &out);
    return out;
}

static uint64_t next_of(ir_atomic op, uint32_t bytes, uint64_t old, uint64_t v)
{
    int64_t a = as_signed(old, bytes), b = as_signed(v, bytes);
    switch (op) {
    case IR_AT_ADD: return old + v;
    case IR_AT_SMIN: return a < b ? old : v;
    case IR_AT_SMAX: return a > b ? old : v;
    case IR_AT_UMIN: return old < v ? old : v;
    case IR_AT_UMAX: return old > v ? old : v;
    case IR_AT_AND: return old & v;
    case IR_AT_OR: return old | v;
    case IR_AT_XOR: return old ^ v;
    case IR_AT_FADD:
    case IR_AT_FMIN:
    case IR_AT_FMAX: return float_next(op, bytes, old, v);
    case IR_AT_XCHG:
    case IR_AT_COUNT: break;
    }
    return v;
}

typedef struct request {
    ir_op op;
    ir_atomic kind;
    uint64_t x1, x2;
    bool is_plain; // only this host thread can see the cell
} request;

// One function a size: the old value; the new one goes in when the cell still has the old one.
#define CELL(name, u)                                                                              \
    static uint64_t name(void *at, const request *q)                                               \
    {                                                                                              \
        u *p = at;                                                                                 \
        if (q->op == IR_ATOMLOAD)                                                                  \
            return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                           \
        if (q->op == IR_ATOMSTORE) {                                                               \
            __atomic_store_n(p, (u)q->x1, __ATOMIC_SEQ_CST);                                       \
            return 0;                                                                              \
        }                                                                                          \
        if (q->is_plain) {                                                                         \
            u was = *p;                                                                            \
            if (q->op == IR_CAS)                                                                   \
                *p = was == (u)q->x1 ? (u)q->x2 : was;                                             \
            else                                                                                   \
                *p = (u)next_of(q->kind, sizeof(u), was, low_bits(q->x1, sizeof(u)));              \
            return was;                                                                            \
        }                                                                                          \
        if (q->op == IR_CAS) {                                                                     \
            u was = (u)q->x1;                                                                      \
            __atomic_compare_exchange_n(p, &was, (u)q->x2, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
            return was;                                                                            \
        }                                                                                          \
        u old = __atomic_load_n(p, __ATOMIC_RELAXED);                                              \
        while (!__atomic_compare_exchange_n(                                                       \
            p, &old, (u)next_of(q->kind, sizeof(u), old, low_bits(q->x1, sizeof(u))), 1,           \
            __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {                                                 \
        }                                                                                          \
        return old;                                                                                \
    }
CELL(cell1, uint8_t)
CELL(cell2, uint16_t)
CELL(cell4, uint32_t)
CELL(cell8, uint64_t)

// The usual one, without detours.
static void add_plain(uint64_t *buffers, uint32_t active)
{
    uint32_t *values = (uint32_t *)(buffers + X86_BUFFER / 8), old[LANES] = {0};
    for (uint32_t bits = active; bits; bits &= bits - 1) {
        uint32_t l = (uint32_t)__builtin_ctz(bits), *p = (uint32_t *)(uintptr_t)buffers[l];
        old[l] = *p;
        *p += values[l];
    }
    memcpy(buffers, old, sizeof old);
}

void x86_help_atomic(x86_warp *w, uint64_t *buffers, const x86_info *info, uint32_t active)
{
    uint64_t out[LANES] = {0};
    if (info->op == IR_ATOMIC && info->aux == IR_AT_ADD && info->cell == 4 && info->is_plain &&
        !info->is_local && !info->is_tagged) {
        add_plain(buffers, active);
        return;
    }
    for (uint32_t l = 0; l < LANES; l++) {
        if (!(active >> l & 1))
            continue;
        uint8_t *at = cell_of(w, info, get(buffers, 0, 8, l), l);
        request q = {.op = (ir_op)info->op,
                     .kind = (ir_atomic)info->aux,
                     .x1 = info->count > 1 ? get(buffers, 1, info->size[1], l) : 0,
                     .x2 = info->count > 2 ? get(buffers, 2, info->size[2], l) : 0,
                     .is_plain = info->is_plain};
        out[l] = info->cell == 1   ? cell1(at, &q)
                 : info->cell == 2 ? cell2(at, &q)
                 : info->cell == 4 ? cell4(at, &q)
                                   : cell8(at, &q);
    }
    for (uint32_t l = 0; l < LANES; l++)
        set(buffers, info->out, l, out[l]);
}

// --- between lanes
uint32_t x86_lane_from(ir_shuffle kind, uint32_t lane, uint32_t by, uint32_t width)
{
    if (!width || width > LANES || (width & (width - 1)))
        width = LANES;
    uint32_t lo = lane & ~(width - 1), hi = lo + width - 1;
    switch (kind) {
    case IR_SH_IDX: return lo | (by & (width - 1));
    case IR_SH_UP: return by <= lane - lo ? lane - by : lane;
    case IR_SH_DOWN: return by <= hi - lane ? lane + by : lane;
    case IR_SH_XOR: break;
    }
    return (lane ^ by) >= lo && (lane ^ by) <= hi ? lane ^ by : lane;
}

void x86_help_shuffle(x86_warp *w, uint64_t *buffers, const x86_info *info, uint32_t active)
{
    (void)w;
    uint64_t out[LANES];
    for (uint32_t l = 0; l < LANES; l++) {
        uint32_t by = (uint32_t)get(buffers, 1, 4, l), width = (uint32_t)get(buffers, 2, 4, l);
        uint32_t from = x86_lane_from((ir_shuffle)info->aux, l, by, width);
        out[l] = get(buffers, 0, info->size[0], active >> from & 1 ? from : l);
    }
    if (!info->out)
        buffers[0] = 0;
    for (uint32_t l = 0; l < LANES; l++)
        set(buffers, info->out, l, out[l]);
}

void x86_help_match(x86_warp *w, uint64_t *buffers, const x86_info *info, uint32_t active)
{
    (void)w;
    uint32_t out[LANES];
    for (uint32_t l = 0; l < LANES; l++) {
        uint32_t same = 0;
        for (uint32_t n = 0; n < LANES; n++)
            same |=
                (uint32_t)(get(buffers, 0, info->size[0], n) == get(buffers, 0, info->size[0], l))
                << n;
        out[l] = same & active;
    }
    for (uint32_t l = 0; l < LANES; l++)
        set(buffers, 4, l, out[l]);
}
