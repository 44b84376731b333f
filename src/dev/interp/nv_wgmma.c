// wgmma: issued products wait in the warp's list; wgmma_wait does them, in order. Each warp of a
// warpgroup does its own 16 of the 64 rows. An operand in shared memory is a descriptor: start,
// two strides and a swizzle; operand_piece says where its 16-byte pieces are. Start at wgmma_step.
#include "dev/interp/nv.h"

typedef struct operand { // of one product
    uint64_t desc;
    bool is_mn;
    nv_elem elem;
    uint32_t first, rows; // along M or N
} operand;

// Where the 16 bytes from (row, k) on are, in the window. `k` counts pieces when the operand is
// contiguous along K, else elements; `row` the other way round.
static uint32_t operand_piece(const operand *o, uint32_t row, uint32_t k)
{
    static const uint8_t masks[4] = {0, 7, 3, 1}; // by the descriptor's code
    static const uint8_t widths[4] = {16, 128, 64, 32};
    uint32_t start = (uint32_t)(o->desc & 0x3fff) << 4;
    uint32_t lbo = (uint32_t)(o->desc >> 16 & 0x3fff) << 4;
    uint32_t sbo = (uint32_t)(o->desc >> 32 & 0x3fff) << 4;
    uint32_t mode = (uint32_t)(o->desc >> 62), width = widths[mode], at;
    if (!o->is_mn)
        at = row / 8 * sbo + row % 8 * width + (mode ? k * 16 : k * lbo);
    else if (mode)
        at = row * 2 / width * lbo + k / 8 * sbo + k % 8 * width + row * 2 % width;
    else
        at = row / 8 * sbo + k % 8 * 16 + k / 8 * lbo;
    at += start;
    return at ^ ((at >> 7 & masks[mode]) << 4);
}

typedef bool piece_fn(void *user, uint32_t row, uint32_t k, uint32_t at);
// Every piece, with the row and element of K it starts at.
static bool each_piece(const operand *o, piece_fn *fn, void *user)
{
    if (o->is_mn) {
        for (uint32_t k = 0; k < 16; k++)
            for (uint32_t row = o->first; row < o->first + o->rows; row += 8)
                if (!fn(user, row, k, operand_piece(o, row, k)))
                    return false;
        return true;
    }
    uint32_t per_piece = 16 / nv_elem_bytes(o->elem);
    for (uint32_t row = o->first; row < o->first + o->rows; row++)
        for (uint32_t k = 0; k < 2; k++)
            if (!fn(user, row, k * per_piece, operand_piece(o, row, k)))
                return false;
    return true;
}

static operand operand_a(const warp *w, const nv_product *p, nv_shape s)
{
    return (operand){p->a, s.a_is_mn, s.a, w->index % 4 * 16, 16};
}

static operand operand_b(const nv_product *p, nv_shape s)
{
    return (operand){p->b, s.b_is_mn, s.b, 0, s.n};
}

// --- doing it
typedef struct fetch {
    runner *r;
    const operand *o;
    product *p;
    bool is_a;
} fetch;

static void place_piece(const fetch *f, const double *v, uint32_t count, uint32_t row, uint32_t k)
{
    const operand *o = f->o;
    product *p = f->p;
    row -= o->first;
    for (uint32_t n = 0; n < count; n++) {
        uint32_t at_row = o->is_mn ? row + n : row, at_k = o->is_mn ? k : k + n;
        if (f->is_a)
            p->a.f[at_row][at_k] = v[n];
        else
            p->b.f[at_k][at_row] = v[n];
    }
}

static bool fetch_piece(void *user, uint32_t row, uint32_t k, uint32_t at)
{
    const fetch *f = user;
    if (at + 16 > f->r->shared_size)
        return false;
    const uint8_t *from = f->r->shared + at;
    if (!f->p->is_int) {
        double v[16];
        place_piece(f, v, product_floats(f->o->elem, from, v), row, k);
        return true;
    }
    for (uint32_t n = 0; n < 16; n++) {
        int32_t v = product_int(f->o->elem, from[n]);
        if (f->is_a)
            f->p->a.i[row - f->o->first][k + n] = v;
        else
            f->p->b.i[k + n][row] = v;
    }
    return true;
}

static bool fault_operand(runner *r, const warp *w, const code *c, const operand *o, char which)
{
    return fault_raise(r, w, c, 0, K6043,
                       "operand %c of wgmma leaves shared memory: it starts at byte %u of %llu, "
                       "strides %u and %u",
                       which, (uint32_t)(o->desc & 0x3fff) << 4, (unsigned long long)r->shared_size,
                       (uint32_t)(o->desc >> 16 & 0x3fff) << 4,
                       (uint32_t)(o->desc >> 32 & 0x3fff) << 4);
}

static bool release_piece(void *user, uint32_t row, uint32_t k, uint32_t at)
{
    const fetch *f = user;
    (void)row;
    (void)k;
    f->r->launch->hooks->async->end(f->r, NULL, 0, ASYNC_READS, at, 16);
    return true;
}

static bool product_do(runner *r, warp *w, const nv_product *n)
{
    nv_shape s = nv_unpack(n->c->u.imm);
    product p;
    p.n = s.n;
    p.k = s.k;
    p.is_int = s.d == NV_S32;
    operand a = operand_a(w, n, s), b = operand_b(n, s);
    fetch from_a = {r, &a, &p, true}, from_b = {r, &b, &p, false};
    if (s.from_words)
        product_read_words(&p, s.a, true, n->words, 4);
    else if (!each_piece(&a, fetch_piece, &from_a))
        return fault_operand(r, w, n->c, &a, 'a');
    if (!each_piece(&b, fetch_piece, &from_b))
        return fault_operand(r, w, n->c, &b, 'b');
    product_multiply(&p);
    lane_u32 *words[128];
    for (uint32_t k = 0; k < nv_acc_words(NV_WGMMA, s); k++)
        words[k] = slot_at(w, r->program->extra[n->c->d + k]);
    product_add(&p, s.d, words, n->accumulates);
    if (is_watched(r)) {
        if (!s.from_words)
            each_piece(&a, release_piece, &from_a);
        each_piece(&b, release_piece, &from_b);
    }
    return true;
}

bool wgmma_finish(runner *r, warp *w, uint32_t keep_groups, bool and_open)
{
    nv_warp *n = w->nv;
    uint32_t done = 0;
    const nv_product *at = n->products.at;
    while (done < n->products.len &&
           (and_open || at[done].group + (uint64_t)keep_groups < n->product_group)) {
        if (!product_do(r, w, &at[done]))
            return false;
        done++;
    }
    if (done) {
        n->products.len -= done;
        memmove(n->products.at, (nv_product *)n->products.at + done,
                n->products.len * sizeof(nv_product));
    }
    return true;
}

bool nv_settle(runner *r, warp *w)
{
    return !w->nv->products.len || wgmma_finish(r, w, 0, true);
}

// Four warps issue a wgmma together: a GPU waits for those that do not, or computes nonsense.
static bool is_by_all(runner *r, warp *w)
{
    warp *first = w - w->index % 4;
    if (w->nv->issued == first->nv->issued)
        return true;
    warp *more = w->nv->issued > first->nv->issued ? w : first;
    warp *less = more == w ? first : w;
    return fault_raise(r, more, more->nv->last_issue, 0, K6043,
                       "wgmma needs all 128 threads of its warpgroup: warp %u issued %llu, warp %u "
                       "%llu",
                       more->index, (unsigned long long)more->nv->issued, less->index,
                       (unsigned long long)less->nv->issued);
}

bool wgmma_end(runner *r, warp *w)
{
    w->nv->product_group++;
    return is_by_all(r, w) && nv_settle(r, w);
}

// --- issuing it
static bool is_together(runner *r, const warp *w, const code *c)
{
    uint32_t returned = 0;
    for (uint32_t lane = 0; lane < LANES; lane++)
        returned |= (uint32_t)(w->ended[lane] != NULL) << lane;
    if (w->active == ALL_LANES && !returned && r->warp_count / 4 > w->index / 4)
        return true;
    return fault_raise(r, w, c, lowest_lane(w->active), K6043,
                       "%s needs all 128 threads of its warpgroup",
                       nv_row_at((nv_op)c->align)->name);
}

typedef struct reading {
    runner *r;
    warp *w;
    const code *c;
    bool is_outside;
} reading;

static bool start_piece(void *user, uint32_t row, uint32_t k, uint32_t at)
{
    reading *g = user;
    (void)row;
    (void)k;
    g->is_outside = at + 16 > g->r->shared_size;
    return !g->is_outside &&
           g->r->launch->hooks->async->start(g->r, g->w, g->c, 0, ASYNC_READS, at, 16);
}

static bool watch_issue(runner *r, warp *w, const code *c, const nv_product *p, nv_shape s)
{
    reading g = {r, w, c, false};
    operand a = operand_a(w, p, s), b = operand_b(p, s);
    if (!w->nv->is_fenced &&
        !r->launch->hooks->async->mistake(
            r, w, c, 0, K6225, "this wgmma may start before its registers are set",
            "wgmma_fence() must come before the first wgmma, and again after other "
            "code has set an accumulator or register operand"))
        return false;
    if (!s.from_words && !each_piece(&a, start_piece, &g))
        return g.is_outside ? fault_operand(r, w, c, &a, 'a') : false;
    if (!each_piece(&b, start_piece, &g))
        return g.is_outside ? fault_operand(r, w, c, &b, 'b') : false;
    return true;
}

static bool issue(runner *r, warp *w, const code *c)
{
    nv_shape s = nv_unpack(c->u.imm);
    nv_product *p = nv_push(r, w, c, &w->nv->products, sizeof *p);
    if (!p)
        return false;
    p->c = c;
    p->group = w->nv->product_group;
    w->nv->issued++;
    w->nv->last_issue = c;
    uint32_t b = s.from_words ? 4 : 1;
    for (uint32_t k = 0; s.from_words && k < 4; k++)
        memcpy(p->words[k], slot_at(w, operand_slot(r, c, k)), sizeof p->words[k]);
    if (!s.from_words)
        p->a = operand_u64(r, w, c, 0, 0);
    p->b = operand_u64(r, w, c, b, 0);
    const lane_u8 *flag = slot_at(w, operand_slot(r, c, b + 1));
    p->accumulates = c->count && flag[0];
    for (uint32_t lane = 1; lane < LANES; lane++)
        if (operand_u64(r, w, c, b, lane) != p->b || !flag[lane] != !flag[0] ||
            (!s.from_words && operand_u64(r, w, c, 0, lane) != p->a))
            return fault_raise(r, w, c, lane, K6043,
                               "the operands of wgmma differ between threads of a warp");
    if ((p->a | p->b) >> 49 & 7)
        return fault_raise(r, w, c, 0, K6043,
                           "a wgmma operand with a base offset: interp has none");
    return !is_watched(r) || watch_issue(r, w, c, p, s);
}

bool wgmma_step(runner *r, warp *w, const code *c)
{
    nv_warp *n = w->nv;
    if (!is_together(r, w, c))
        return false;
    switch (c->align) {
    case NV_WG_FENCE: n->is_fenced = true; return true;
    case NV_WG_COMMIT: n->product_group++; return true;
    case NV_WG_WAIT: return wgmma_finish(r, w, (uint32_t)c->u.imm, false);
    default: return issue(r, w, c);
    }
}

// --- watched programs: other code reads or sets a register
bool nv_look(runner *r, warp *w, const code *c)
{
    nv_warp *n = w->nv;
    for (uint32_t k = 0; k < n->products.len; k++) {
        const code *p = ((const nv_product *)n->products.at)[k].c;
        uint32_t words = nv_acc_words(NV_WGMMA, nv_unpack(p->u.imm));
        for (uint32_t i = 0; i < words; i++)
            if (r->program->extra[p->d + i] == c->a)
                return r->launch->hooks->async->mistake(
                           r, w, c, lowest_lane(w->active), K6224,
                           "an accumulator is used while its wgmma is under way",
                           "wgmma_commit() and wgmma_wait() must come first") &&
                       nv_settle(r, w);
    }
    return true;
}

void nv_touched(warp *w)
{
    w->nv->is_fenced = false;
}
