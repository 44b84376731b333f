// mma, ldmatrix and stmatrix: a warp's own matrix instructions, done at once. Start at matrix_step.
#include "dev/interp/nv.h"

// Fragments: word i of lane l holds neighbours along K of row l / 4 (A: rows of odd words are 8
// further), and the words of a fragment follow one another along K.
void product_read_words(product *p, nv_elem e, bool is_a, const uint32_t words[][LANES],
                        uint32_t count)
{
    uint32_t bytes = nv_elem_bytes(e), per_word = 4 / bytes;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t lane = 0; lane < LANES; lane++)
            for (uint32_t n = 0; n < per_word; n++) {
                uint32_t bits = bytes == 4
                                    ? words[i][lane]
                                    : words[i][lane] >> (8 * bytes * n) & ((1u << 8 * bytes) - 1);
                uint32_t row = lane / 4 + (is_a ? 8 * (i & 1) : 0);
                uint32_t k = per_word * (lane % 4) + 4 * per_word * (is_a ? i >> 1 : i) + n;
                if (p->is_int && is_a)
                    p->a.i[row][k] = product_int(e, bits);
                else if (p->is_int)
                    p->b.i[k][row] = product_int(e, bits);
                else if (is_a)
                    p->a.f[row][k] = product_float(e, bits);
                else
                    p->b.f[k][row] = product_float(e, bits);
            }
}

static bool multiply(runner *r, warp *w, const code *c)
{
    nv_shape s = nv_unpack(c->u.imm);
    uint32_t acc = nv_acc_words(NV_MMA, s), a = nv_a_words(NV_MMA, s), b = nv_b_words(NV_MMA, s);
    uint32_t words[4][LANES];
    lane_u32 *out[4];
    product p;
    p.n = 8;
    p.k = s.k;
    p.is_int = s.d == NV_S32;
    for (uint32_t k = 0; k < a; k++)
        memcpy(words[k], slot_at(w, operand_slot(r, c, acc + k)), sizeof words[k]);
    product_read_words(&p, s.a, true, (const uint32_t(*)[LANES])words, a);
    for (uint32_t k = 0; k < b; k++)
        memcpy(words[k], slot_at(w, operand_slot(r, c, acc + a + k)), sizeof words[k]);
    product_read_words(&p, s.b, false, (const uint32_t(*)[LANES])words, b);
    product_multiply(&p);
    // The results' slots may be the operands' in another order: read all first.
    for (uint32_t k = 0; k < acc; k++)
        memcpy(words[k], slot_at(w, operand_slot(r, c, k)), sizeof words[k]);
    for (uint32_t k = 0; k < acc; k++) {
        out[k] = slot_at(w, r->program->extra[c->d + k]);
        memcpy(out[k], words[k], sizeof words[k]);
    }
    product_add(&p, s.d, out, true);
    return true;
}

// --- moving 8 x 8 matrices of 16-bit elements; lane i names row i % 8 of matrix i / 8
enum { ROW = 16 };

static bool find_rows(runner *r, warp *w, const code *c, uint32_t count, bool writes,
                      uint32_t rows[LANES])
{
    for (uint32_t lane = 0; lane < 8 * count; lane++) {
        uint64_t address = operand_u64(r, w, c, 0, lane);
        if (!nv_offset(r, w, c, lane, address, ROW, ROW, &rows[lane]) ||
            (is_watched(r) &&
             !r->launch->hooks->async->touch(r, w, c, lane, rows[lane], ROW, writes)))
            return false;
    }
    return true;
}

// Byte offset, from the start of a matrix' rows, of element `e` of a lane's word.
static void element_at(uint32_t lane, uint32_t e, bool is_transposed, uint32_t *row,
                       uint32_t *column)
{
    uint32_t along = lane % 4 * 2 + e;
    *row = is_transposed ? along : lane / 4;
    *column = is_transposed ? lane / 4 : along;
}

static bool move_matrices(runner *r, warp *w, const code *c)
{
    bool writes = c->align >= NV_STMATRIX_1;
    uint32_t kind = c->align - (uint32_t)(writes ? NV_STMATRIX_1 : NV_LDMATRIX_1);
    uint32_t count = 1u << kind % 3, rows[LANES];
    bool is_transposed = kind >= 3;
    if (!find_rows(r, w, c, count, writes, rows))
        return false;
    uint16_t cells[4][8][8];
    for (uint32_t m = 0; m < count && !writes; m++)
        for (uint32_t row = 0; row < 8; row++)
            memcpy(cells[m][row], r->shared + rows[8 * m + row], ROW);
    for (uint32_t m = 0; m < count; m++) {
        lane_u32 *word =
            slot_at(w, writes ? operand_slot(r, c, 1 + m) : r->program->extra[c->d + m]);
        for (uint32_t lane = 0; lane < LANES; lane++) {
            uint32_t bits = writes ? word[lane] : 0, row, column;
            for (uint32_t e = 0; e < 2; e++) {
                element_at(lane, e, is_transposed, &row, &column);
                if (writes)
                    cells[m][row][column] = (uint16_t)(bits >> (16 * e));
                else
                    bits |= (uint32_t)cells[m][row][column] << (16 * e);
            }
            if (!writes)
                word[lane] = bits;
        }
    }
    for (uint32_t m = 0; m < count && writes; m++)
        for (uint32_t row = 0; row < 8; row++)
            memcpy(r->shared + rows[8 * m + row], cells[m][row], ROW);
    return true;
}

bool matrix_step(runner *r, warp *w, const code *c)
{
    if (w->active != ALL_LANES)
        return fault_raise(r, w, c, lowest_lane(w->active), K6043,
                           "%s needs all 32 threads of its warp", nv_row_at((nv_op)c->align)->name);
    return c->align == NV_MMA ? multiply(r, w, c) : move_matrices(r, w, c);
}
