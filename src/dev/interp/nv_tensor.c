// Boxes of tensors: a tensor map and coordinates, and the walk that loads, stores or adds a box.
// Rows of a box lie one after another in shared memory; a swizzle exchanges 16-byte pieces there,
// by the address. Start at tensor_load.
#include "dev/interp/nv.h"
#include "ir/eval.h"

// The bytes come from the host program, which may have made them up.
static bool is_map(const interp_tensor *m)
{
    if (m->magic != INTERP_TENSOR_MAGIC || m->rank < 1 || m->rank > 5 || m->swizzle > 3 ||
        m->elem > INTERP_F64 || !m->elem_size || m->elem_size > 8)
        return false;
    for (uint32_t k = 0; k < m->rank; k++)
        if (!m->box[k] || m->box[k] > 256 || !m->step[k])
            return false;
    return true;
}

bool tensor_read(runner *r, const warp *w, const code *c, uint32_t lane, uint32_t operand,
                 tensor_box *out)
{
    uint64_t address = operand_u64(r, w, c, operand, lane);
    uint64_t s = address >> INTERP_SEGMENT_BITS, offset = address & OFFSET_MASK;
    uint32_t array = (uint32_t)(s - STATIC_SEGMENT);
    *out = (tensor_box){.map = {.magic = 0}};
    bool is_param = s & STATIC_SEGMENT && array < r->program->segment_count &&
                    r->program->segments[array].kind == SEGMENT_PARAM;
    if (is_param && offset + 128 <= r->segments[array].size)
        memcpy(&out->map, r->segments[array].base + offset, sizeof out->map);
    if (!is_map(&out->map))
        return fault_raise(r, w, c, lane, K6043,
                           "the tensor map is none of this device: make it with "
                           "kiln_tensor_map_make and pass it as a kernel argument");
    uint32_t around = (uint32_t)strlen(nv_row_at((nv_op)c->align)->operands) - 1;
    uint32_t rank = c->c - around;
    if (rank != out->map.rank)
        return fault_raise(r, w, c, lane, K6043, "%u coordinates for a tensor of %u dimensions",
                           rank, out->map.rank);
    for (uint32_t k = 0; k < rank; k++)
        out->at[k] = (int32_t)operand_u32(r, w, c, operand + 1 + k, lane);
    uint32_t width = out->map.box[0] * out->map.elem_size, chunk = 16u << out->map.swizzle;
    if (out->map.swizzle && width != chunk)
        return fault_raise(r, w, c, lane, K6043,
                           "a box row of %u bytes with a swizzle of %u: interp only knows rows as "
                           "wide as the swizzle",
                           width, chunk);
    return true;
}

static uint32_t count_of(const interp_tensor *m, uint32_t dim)
{
    uint32_t step = dim ? m->step[dim] : 1; // along the contiguous one it is ignored
    return (m->box[dim] + step - 1) / step;
}

uint32_t tensor_bytes(const tensor_box *b)
{
    uint32_t bytes = b->map.elem_size;
    for (uint32_t k = 0; k < b->map.rank; k++)
        bytes *= count_of(&b->map, k);
    return bytes;
}

// --- one row of the box
typedef struct row_place {
    bool is_inside;
    uint64_t address;    // of element 0 of the box, which may be outside
    uint32_t first, end; // elements of the box that are inside
} row_place;

static row_place row_at(const tensor_box *b, const uint32_t at[5])
{
    const interp_tensor *m = &b->map;
    row_place p = {.is_inside = true, .address = m->address};
    int64_t width = count_of(m, 0), left = b->at[0];
    for (uint32_t k = 1; k < m->rank; k++) {
        int64_t index = b->at[k] + (int64_t)at[k] * m->step[k];
        p.is_inside = p.is_inside && index >= 0 && (uint64_t)index < m->size[k];
        p.address += (uint64_t)index * m->stride[k - 1];
    }
    p.address += (uint64_t)(left * m->elem_size);
    int64_t first = left < 0 ? -left : 0, end = (int64_t)m->size[0] - left;
    p.first = (uint32_t)(first > width ? width : first);
    p.end = (uint32_t)(end > width ? width : end < 0 ? 0 : end);
    if (p.first >= p.end)
        p.is_inside = false;
    return p;
}

static bool next_row(const tensor_box *b, uint32_t at[5])
{
    for (uint32_t k = 1; k < b->map.rank; k++) {
        if (++at[k] < count_of(&b->map, k))
            return true;
        at[k] = 0;
    }
    return false;
}

static uint32_t swizzled(uint32_t offset, uint32_t mode)
{
    static const uint8_t masks[4] = {0, 1, 3, 7};
    return offset ^ ((offset >> 7 & masks[mode]) << 4);
}

static void fill_row(const interp_tensor *m, uint8_t *row, uint32_t bytes)
{
    static const uint64_t nans[] = {[INTERP_F16] = 0x7fff,
                                    [INTERP_BF16] = 0x7fff,
                                    [INTERP_F32] = 0x7fffffff,
                                    [INTERP_F64] = 0x7fffffffffffffff};
    memset(row, 0, bytes);
    if (!m->fills_nan || m->elem < INTERP_F16)
        return;
    for (uint32_t k = 0; k < bytes; k += m->elem_size)
        memcpy(row + k, &nans[m->elem], m->elem_size);
}

// A box in shared memory is whole rows of 16-byte pieces.
enum { PIECE = 16, ROW_MAX = 256 * 8 };

static uint32_t row_bytes(const tensor_box *b)
{
    return count_of(&b->map, 0) * b->map.elem_size;
}

bool tensor_load(runner *r, const warp *w, const code *c, uint32_t lane, const tensor_box *b,
                 uint32_t to)
{
    const interp_tensor *m = &b->map;
    uint32_t at[5] = {0}, bytes = row_bytes(b);
    uint8_t row[ROW_MAX];
    do {
        row_place p = row_at(b, at);
        fill_row(m, row, bytes);
        if (p.is_inside) {
            uint32_t skip = p.first * m->elem_size, len = (p.end - p.first) * m->elem_size;
            const uint8_t *from = nv_global(r, w, c, lane, p.address + skip, len, 1);
            if (!from)
                return false;
            memcpy(row + skip, from, len);
        }
        for (uint32_t k = 0; k < bytes; k += PIECE)
            memcpy(r->shared + swizzled(to + k, m->swizzle), row + k,
                   bytes - k < PIECE ? bytes - k : PIECE);
        to += bytes;
    } while (next_row(b, at));
    return true;
}

bool tensor_store(runner *r, const warp *w, const code *c, uint32_t lane, const tensor_box *b,
                  const uint8_t *source, uint32_t from, bool adds)
{
    const interp_tensor *m = &b->map;
    uint32_t at[5] = {0}, bytes = row_bytes(b), first = from; // a swizzle goes by the address
    uint8_t row[ROW_MAX];
    do {
        row_place p = row_at(b, at);
        for (uint32_t k = 0; k < bytes; k += PIECE)
            memcpy(row + k, source + (swizzled(from + k, m->swizzle) - first),
                   bytes - k < PIECE ? bytes - k : PIECE);
        from += bytes;
        if (!p.is_inside)
            continue;
        uint32_t skip = p.first * m->elem_size, len = (p.end - p.first) * m->elem_size;
        uint8_t *to = nv_global(r, w, c, lane, p.address + skip, len, 1);
        if (!to)
            return false;
        if (adds)
            elem_add((interp_elem)m->elem, to, row + skip, len);
        else
            memcpy(to, row + skip, len);
    } while (next_row(b, at));
    return true;
}

bool tensor_watch(runner *r, warp *w, const code *c, uint32_t lane, const tensor_box *b,
                  global_kind kind)
{
    uint32_t at[5] = {0}, size = b->map.elem_size;
    do {
        row_place p = row_at(b, at);
        if (p.is_inside &&
            !r->launch->hooks->async->global(r, w, c, lane, kind, p.address + p.first * size,
                                             (p.end - p.first) * size))
            return false;
    } while (next_row(b, at));
    return true;
}

// --- sums
static void add_double(uint8_t *to, const uint8_t *from)
{
    double a, b;
    memcpy(&a, to, 8);
    memcpy(&b, from, 8);
    a += b;
    memcpy(to, &a, 8);
}

static void add_float(uint8_t *to, const uint8_t *from)
{
    float a, b;
    memcpy(&a, to, 4);
    memcpy(&b, from, 4);
    a += b;
    memcpy(to, &a, 4);
}

static void add_int(uint8_t *to, const uint8_t *from, uint32_t size)
{
    uint64_t a = 0, b = 0;
    memcpy(&a, to, size);
    memcpy(&b, from, size);
    a += b;
    memcpy(to, &a, size);
}

static void add_half(uint8_t *to, const uint8_t *from, nv_elem e)
{
    uint16_t a, b;
    memcpy(&a, to, 2);
    memcpy(&b, from, 2);
    double sum = product_float(e, a) + product_float(e, b); // exact enough for one rounding
    a = (uint16_t)(ir_narrow(e == NV_F16 ? IR_F16 : IR_BF16, sum));
    memcpy(to, &a, 2);
}

void elem_add(interp_elem e, uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    static const uint8_t sizes[] = {
        [INTERP_BYTES] = 1, [INTERP_I32] = 4, [INTERP_I64] = 8, [INTERP_F16] = 2,
        [INTERP_BF16] = 2,  [INTERP_F32] = 4, [INTERP_F64] = 8};
    uint32_t size = sizes[e];
    for (uint64_t k = 0; k + size <= bytes; k += size)
        switch (e) {
        case INTERP_BYTES: break;
        case INTERP_I32:
        case INTERP_I64: add_int(to + k, from + k, size); break;
        case INTERP_F16: add_half(to + k, from + k, NV_F16); break;
        case INTERP_BF16: add_half(to + k, from + k, NV_BF16); break;
        case INTERP_F32: add_float(to + k, from + k); break;
        case INTERP_F64: add_double(to + k, from + k); break;
        }
}
