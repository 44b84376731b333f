// From views of one shape to loops over packs of elements (nest.h).
#include "ops/nest.h"

#include "rt/memory/view.h"

static uint64_t magnitude(int64_t stride)
{
    return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

// Does dimension `a` belong outside dimension `b`? The last orderer says so; the others where it
// has the same stride in both.
static bool is_outside(const op_nest *n, uint32_t a, uint32_t b)
{
    for (uint32_t v = n->orderers; v-- > 0;) {
        uint64_t x = magnitude(n->strides[v][a]), y = magnitude(n->strides[v][b]);
        if (x != y)
            return x > y;
    }
    return false;
}

static void exchange(op_nest *n, uint32_t a, uint32_t b)
{
    uint64_t size = n->sizes[a];
    n->sizes[a] = n->sizes[b];
    n->sizes[b] = size;
    for (uint32_t v = 0; v < n->view_count; v++) {
        int64_t stride = n->strides[v][a];
        n->strides[v][a] = n->strides[v][b];
        n->strides[v][b] = stride;
    }
}

// Insertion: there are eight at most, and equal ones keep their order.
static void sort(op_nest *n)
{
    for (uint32_t d = 1; d < n->rank; d++)
        for (uint32_t at = d; at > 0 && is_outside(n, at, at - 1); at--)
            exchange(n, at, at - 1);
}

// Is dimension d + 1 the inside of d in every view?
static bool is_one(const op_nest *n, uint32_t d)
{
    for (uint32_t v = 0; v < n->view_count; v++)
        if (n->strides[v][d] != n->strides[v][d + 1] * (int64_t)n->sizes[d + 1])
            return false;
    return true;
}

static void remove_dimension(op_nest *n, uint32_t d)
{
    n->rank--;
    for (; d < n->rank; d++)
        exchange(n, d, d + 1);
}

static void merge(op_nest *n)
{
    for (uint32_t d = n->rank - 1; d-- > 0;)
        if (is_one(n, d)) {
            n->sizes[d + 1] *= n->sizes[d];
            remove_dimension(n, d);
        }
}

// Takes the dimension out of the nest, and gives its strides.
static uint64_t remove_loop(op_nest *n, uint32_t d, int64_t strides[NEST_VIEWS])
{
    uint64_t size = n->sizes[d];
    for (uint32_t v = 0; v < n->view_count; v++)
        strides[v] = n->strides[v][d];
    remove_dimension(n, d);
    return size;
}

static void append(op_nest *n, uint64_t size, const int64_t strides[NEST_VIEWS])
{
    n->sizes[n->rank] = size;
    for (uint32_t v = 0; v < n->view_count; v++)
        n->strides[v][n->rank] = strides[v];
    n->rank++;
}

static void begin(const kiln_view *views, uint32_t count, op_nest *out)
{
    *out = (op_nest){.rank = views->rank, .view_count = count, .orderers = count};
    memcpy(out->sizes, views->sizes, sizeof out->sizes);
    for (uint32_t v = 0; v < count; v++)
        view_strides(&views[v], out->strides[v]);
}

static void simplify(op_nest *n)
{
    for (uint32_t d = n->rank; d-- > 0;)
        if (n->sizes[d] == 1)
            remove_dimension(n, d);
    sort(n);
    if (n->rank)
        merge(n);
}

static void make_one(op_nest *n)
{
    static const int64_t ones[NEST_VIEWS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    if (!n->rank) // one element
        append(n, 1, ones);
}

void op_nest_make(const kiln_view *views, uint32_t count, op_nest *out)
{
    begin(views, count, out);
    simplify(out);
    make_one(out);
}

void op_nest_some(const kiln_view *views, uint32_t count, uint32_t dimensions, op_nest *out)
{
    begin(views, count, out);
    for (uint32_t d = out->rank; d-- > 0;)
        if (!(dimensions >> d & 1))
            remove_dimension(out, d);
    simplify(out);
    make_one(out);
}

uint64_t op_nest_count(const op_nest *n)
{
    uint64_t count = 1;
    for (uint32_t d = 0; d < n->rank; d++)
        count *= n->sizes[d];
    return count;
}

void op_nest_widen(op_nest *n, uint32_t width)
{
    n->sizes[n->rank - 1] /= width;
    for (uint32_t v = 0; v < n->view_count; v++)
        n->strides[v][n->rank - 1] *= (int64_t)width;
}

void op_nest_rows(const kiln_view *views, uint32_t count, uint32_t axis, bool is_by_first,
                  op_nest *out)
{
    int64_t strides[NEST_VIEWS];
    begin(views, count, out);
    out->orderers = is_by_first ? 1 : count;
    uint64_t size = remove_loop(out, axis, strides);
    for (uint32_t v = 0; v < count && size == 1; v++)
        strides[v] = 1; // a single element is as dense as any
    simplify(out);
    append(out, size, strides);
    out->is_of_rows = true;
}

void op_nest_reduce(const kiln_view *views, uint32_t count, uint32_t axes, op_nest *out,
                    uint32_t *outer)
{
    int64_t strides[NEST_VIEWS];
    op_nest inner;
    begin(views, count, out);
    inner = *out;
    for (uint32_t d = views->rank; d-- > 0;) {
        op_nest *without = axes >> d & 1 ? out : &inner;
        remove_dimension(without, d);
    }
    for (uint32_t d = 0; d < inner.rank; d++)
        inner.sizes[d] += !inner.sizes[d];
    simplify(out);
    simplify(&inner);
    *outer = out->rank;
    if (!inner.rank)
        append(&inner, 1, (const int64_t[NEST_VIEWS]){0});
    for (uint32_t d = 0; d < inner.rank; d++) {
        for (uint32_t v = 0; v < count; v++)
            strides[v] = inner.strides[v][d];
        append(out, inner.sizes[d], strides);
    }
    out->is_of_rows = true;
}

bool op_nest_is_aligned(const op_nest *n, const kiln_view *view, uint32_t v, uint32_t along,
                        uint32_t width)
{
    size_t bytes = width * view_element_size(view);
    if (bytes > 16 || !view_is_aligned(view, bytes))
        return false;
    for (uint32_t d = 0; d < n->rank; d++)
        if (d != along && n->sizes[d] > 1 && n->strides[v][d] % width)
            return false;
    return true;
}

// Can a view have packs of that width along the innermost loop, or one element for all of a pack?
static bool has_packs(const op_nest *n, const kiln_view *view, uint32_t v, uint32_t width)
{
    uint32_t last = n->rank - 1;
    int64_t inner = n->strides[v][last];
    size_t bytes = view_element_size(view);
    if (inner == 0 && n->has_singles)
        return width <= (bytes == 2 ? 8 : 16); // kiln/pack.h has no others
    if (inner == 0 || width == 1)
        return width * bytes <= 16;
    return inner == 1 && op_nest_is_aligned(n, view, v, last, width);
}

static bool is_possible(const op_nest *n, const kiln_view *views, uint32_t width)
{
    if ((n->rank > 1 || n->is_of_rows) && n->sizes[n->rank - 1] % width)
        return false;
    for (uint32_t v = 0; v < n->view_count; v++)
        if (!has_packs(n, &views[v], v, width))
            return false;
    return true;
}

void op_nest_divide(uint64_t size, uint32_t *magic, uint32_t *shift)
{
    uint32_t bits = 0;
    while (bits < 31 && (uint64_t)1 << bits < size)
        bits++;
    *shift = bits ? bits - 1 : 0;
    *magic = bits ? (uint32_t)(((uint64_t)1 << (31 + bits)) / size + 1) : 0;
}

static void cut(const op_nest *nest, uint32_t width, op_packs *out)
{
    uint32_t last = nest->rank - 1;
    *out = (op_packs){
        .rank = nest->rank, .width = width, .view_count = nest->view_count, .argument.packs = 1};
    for (uint32_t d = 0; d < nest->rank; d++) {
        uint64_t size = d == last ? nest->sizes[d] / width : nest->sizes[d];
        out->argument.packs *= size;
        out->argument.sizes[d] = size;
        op_nest_divide(size, &out->argument.magic[d], &out->argument.shift[d]);
    }
    out->argument.rest = nest->sizes[last] % width;
    out->is_long = out->argument.packs >= ((uint64_t)1 << 31) - 4096; // and those of a last block
    for (uint32_t v = 0; v < nest->view_count; v++) {
        int64_t inner = nest->strides[v][last];
        out->inner[v] = inner == 1 ? OP_DENSE : inner == 0 ? OP_BROADCAST : OP_STRIDED;
        for (uint32_t d = 0; d < nest->rank; d++)
            out->argument.strides[v][d] =
                nest->strides[v][d] / (inner == 1 && d != last ? (int64_t)width : 1);
    }
}

void op_nest_cut(const op_nest *nest, op_packs *out)
{
    cut(nest, 1, out);
}

kiln_arg op_nest_arg(op_packs *packs, uint32_t loops)
{
    uint64_t *to = packs->words;
    *to++ = packs->argument.packs;
    *to++ = packs->argument.rest;
    memcpy(to, packs->argument.sizes, loops * sizeof *to);
    to += loops;
    memcpy(to, packs->argument.magic, loops * sizeof(uint32_t));
    memcpy((uint32_t *)to + loops, packs->argument.shift, loops * sizeof(uint32_t));
    to += loops;
    for (uint32_t v = 0; v < packs->view_count; v++, to += loops)
        memcpy(to, packs->argument.strides[v], loops * sizeof *to);
    return kiln_arg_struct(packs->words, (size_t)(to - packs->words) * sizeof *to);
}

uint32_t op_nest_spread(kiln *k, const op_nest *nest)
{
    enum { THREADS = 1 << 18, WIDEST = 16 };
    uint64_t count = op_nest_count(nest);
    const kiln_device_info *info;
    if (!op_device(k, &info) && info->caps.is_host && !info->caps.is_emulated)
        return nest->rank == 1 ? 1 : WIDEST;
    uint32_t width = 1;
    while (width < WIDEST && count / width > THREADS)
        width *= 2;
    return width;
}

void op_nest_pack(const op_nest *nest, const kiln_view *views, op_packs *out)
{
    uint32_t width = nest->widest ? nest->widest : 16;
    while (!is_possible(nest, views, width))
        width /= 2;
    cut(nest, width, out);
}

// Is the view dense in the order of the loops?
static bool is_flat(const op_nest *n, uint32_t v)
{
    int64_t step = 1;
    for (uint32_t d = n->rank; d-- > 0; step *= (int64_t)n->sizes[d])
        if (n->strides[v][d] != step)
            return false;
    return true;
}

void op_nest_pack_flat(const op_nest *nest, const kiln_view *views, uint32_t first_result,
                       op_packs *out)
{
    enum { MOST = (1 << 30) - 4096 }; // elements: their numbers have 31 bits, and so have the next
    uint32_t last = nest->rank - 1, width = nest->widest ? nest->widest : 16;
    uint64_t total = 1;
    op_nest_pack(nest, views, out);
    for (uint32_t v = first_result; v < nest->view_count; v++)
        if (!is_flat(nest, v))
            return;
    for (uint32_t d = 0; d < nest->rank && total < MOST; d++)
        total *= nest->sizes[d];
    for (uint32_t v = 0; v < nest->view_count; v++) {
        size_t bytes = view_element_size(&views[v]);
        while (is_flat(nest, v) &&
               (width * bytes > 16 || !view_is_aligned(&views[v], width * bytes)))
            width /= 2;
        if (bytes == 2 && width > 8) // kiln/pack.h has no wider ones, also where none is loaded
            width = 8;
    }
    while (width > nest->sizes[last]) // two rows at most
        width /= 2;
    if (nest->rank == 1 || width <= out->width || total >= MOST)
        return;
    cut(nest, 1, out);
    out->is_flat = true;
    out->width = width;
    out->argument.packs = total / width;
    out->argument.rest = total % width;
    for (uint32_t v = 0; v < nest->view_count; v++)
        if (!is_flat(nest, v))
            out->inner[v] = nest->strides[v][last] == 1 ? OP_ROW
                            : nest->strides[v][last]    ? OP_STRIDED
                                                        : OP_BROADCAST;
}
