// kiln_copy_view, kiln_concat and kiln_split: elements from view to view. A copy whose views are
// contiguous along different dimensions is a launch of transpose.c. Other single ones are maps
// (ops/map.h); several are parts of launches of parts.c, up to eight each.
#include "kiln/ops.h"

#include "ops/launch.h"
#include "ops/map.h"
#include "ops/moved.h"
#include "ops/nest.h"
#include "ops/operands.h"

#define AXES "ops/copy/axes.def"
#include "ops/axes.h"
static const op_program transpose = OP_PROGRAM("ops/copy/transpose.c", "transpose"),
                        parts = OP_PROGRAM("ops/copy/parts.c", "copy_parts");

enum { IN, OUT, PARTS = 8, THREADS = 256, PER = 4, LEAST = 16, FEW_TILES = 128 };

typedef struct copy { // of a part: its views as elements of bits, and their loops
    kiln_view views[2];
    op_nest nest;
} copy;

static void make(kiln_view in, kiln_view out, copy *c)
{
    c->views[IN] = op_moved_view(in);
    c->views[OUT] = op_moved_view(out);
    op_nest_make(c->views, 2, &c->nest);
}

// --- transposed copies
typedef struct transposed { // `struct transpose` of the kernel
    uint64_t tiles_t, tiles_c, packs_t, packs_c;
    int64_t in_c, out_t;
    uint64_t sizes[6];
    int64_t in[6], out[6];
    uint32_t magic[8], shift[8];
} transposed;

// The loop along which the source is contiguous, where that is not the innermost one.
static bool find_line(const op_nest *n, uint32_t *line)
{
    uint32_t last = n->rank - 1;
    if (n->strides[OUT][last] != 1 || n->strides[IN][last] == 1 || n->strides[IN][last] == 0 ||
        n->sizes[last] < LEAST || n->sizes[last] > INT32_MAX)
        return false;
    for (uint32_t d = 0; d < last; d++)
        if (n->strides[IN][d] == 1 && n->sizes[d] >= LEAST && n->sizes[d] <= INT32_MAX) {
            *line = d;
            return true;
        }
    return false;
}

// Is loop `line` of view v one of whole packs of `width` elements?
static bool is_of_packs(const copy *c, uint32_t v, uint32_t line, uint32_t width)
{
    return c->nest.sizes[line] % width == 0 &&
           op_nest_is_aligned(&c->nest, &c->views[v], v, line, width);
}

// Elements along a side of a tile.
static uint32_t tile_of(uint32_t width, uint32_t bytes)
{
    return width * (width == 16 ? 8 : width * bytes >= 8 ? 16 : 32);
}

static kiln_status run_transposed(kiln *k, const copy *c, uint32_t line, kiln_stream *stream)
{
    const op_nest *n = &c->nest;
    uint32_t last = n->rank - 1, width = 16, bytes = (uint32_t)kiln_type_size(c->views[IN].type);
    while (!is_of_packs(c, IN, line, width) || !is_of_packs(c, OUT, last, width))
        width /= 2;
    // Few tiles: smaller ones, so that more blocks share the work.
    uint64_t elements = op_product(n->sizes[line], n->sizes[last]);
    while (width > 2 && elements / (tile_of(width, bytes) * tile_of(width, bytes)) < FEW_TILES)
        width /= 2;
    uint32_t tile = tile_of(width, bytes) / width; // P of the kernel
    transposed a = {.packs_t = n->sizes[line] / width,
                    .packs_c = n->sizes[last] / width,
                    .in_c = n->strides[IN][last] / width,
                    .out_t = n->strides[OUT][line] / width};
    a.tiles_t = op_ceil_div(a.packs_t, tile);
    a.tiles_c = op_ceil_div(a.packs_c, tile);
    uint64_t blocks = op_product(a.tiles_t, a.tiles_c);
    op_nest_divide(a.tiles_c, &a.magic[0], &a.shift[0]);
    op_nest_divide(a.tiles_t, &a.magic[1], &a.shift[1]);
    for (uint32_t d = 0, to = 0; d < last; d++) {
        if (d == line)
            continue;
        a.sizes[to] = n->sizes[d];
        op_nest_divide(a.sizes[to], &a.magic[2 + to], &a.shift[2 + to]);
        a.in[to] = n->strides[IN][d] / width;
        a.out[to++] = n->strides[OUT][d] / width;
        blocks = op_product(blocks, n->sizes[d]);
    }
    op_request r = {.program = &transpose};
    op_set(&r, BYTES, bytes);
    op_set(&r, V, width);
    op_set(&r, RANK, n->rank);
    const kiln_arg args[] = {kiln_arg_view(c->views[IN]), kiln_arg_view(c->views[OUT]),
                             kiln_arg_struct(&a, sizeof a)};
    return op_launch_blocks(k, &r, blocks, args, COUNT(args), stream);
}

// --- parts
typedef struct part { // `struct part` of the kernel
    uint64_t packs, first_block, sizes[KILN_MAX_RANK];
    int64_t in[KILN_MAX_RANK], out[KILN_MAX_RANK];
} part;

static kiln_status run_parts(kiln *k, copy *all, uint32_t count, kiln_stream *stream)
{
    part a[PARTS] = {{0}};
    kiln_arg args[2 * PARTS + 1];
    op_request r = {.program = &parts};
    op_packs packs;
    uint32_t width = 16, rank = 1;
    uint64_t blocks = 0;
    bool is_long = false;
    for (uint32_t n = 0; n < count; n++) {
        all[n].nest.is_of_rows = true; // whole packs
        op_nest_pack(&all[n].nest, all[n].views, &packs);
        width = packs.inner[IN] != OP_DENSE    ? 1
                : packs.inner[OUT] != OP_DENSE ? 1
                : packs.width < width          ? packs.width
                                               : width;
        rank = packs.rank > rank ? packs.rank : rank;
        is_long |= packs.argument.packs * packs.width >= (uint64_t)1 << 31;
    }
    for (uint32_t n = 0; n < PARTS; n++) {
        copy *c = &all[n < count ? n : 0];
        args[n] = kiln_arg_view(c->views[IN]);
        args[PARTS + n] = kiln_arg_view(c->views[OUT]);
        if (n >= count)
            continue;
        const op_nest *nest = &c->nest;
        part *p = &a[n];
        p->packs = 1;
        p->first_block = blocks;
        for (uint32_t d = 0; d < rank; d++) { // loops of one element are put outside
            bool is_new = d < rank - nest->rank, is_last = d == rank - 1;
            uint32_t from = d - (rank - nest->rank);
            p->sizes[d] = is_new ? 1 : nest->sizes[from] / (is_last ? width : 1);
            p->in[d] = is_new ? 0 : nest->strides[IN][from] / (is_last ? 1 : (int64_t)width);
            p->out[d] = is_new ? 0 : nest->strides[OUT][from] / (is_last ? 1 : (int64_t)width);
            p->packs *= p->sizes[d];
        }
        blocks += op_ceil_div(p->packs, THREADS * PER);
    }
    args[2 * PARTS] = kiln_arg_struct(a, sizeof a);
    op_set(&r, BYTES, kiln_type_size(all->views[IN].type));
    op_set(&r, V, width);
    op_set(&r, RANK, rank);
    op_set(&r, LONG, is_long);
    op_set(&r, PARTS, count);
    return op_launch_blocks(k, &r, blocks, args, COUNT(args), stream);
}

// --- maps: elements as wide as they can be taken together, or of other types, also those of eight
// bits that no other op has
static kiln_status run_map(kiln *k, kiln_view in, kiln_view out, kiln_type type,
                           kiln_stream *stream)
{
    static const uint32_t key = 0x636f7079; // of the map's text; no other op has it
    return op_map_run(k, &(op_map){.key = key,
                                   .operands = "a",
                                   .result_count = 1,
                                   .values = {"a"},
                                   .views = {in, out},
                                   .type = type,
                                   .stream = stream});
}

// Are two neighbours one element of twice the size, everywhere?
static bool is_of_pairs(const copy *c, uint32_t v)
{
    const kiln_view *view = &c->views[v];
    uint64_t bytes = kiln_type_size(view->type), last = c->nest.rank - 1;
    bool all = bytes < 8 && c->nest.strides[v][last] == 1 && c->nest.sizes[last] % 2 == 0 &&
               view->first % 2 == 0 && view->buffer->address % (2 * bytes) == 0;
    for (uint32_t d = 0; d < last; d++)
        all = all && c->nest.strides[v][d] % 2 == 0;
    return all;
}

static kiln_status run_flat(kiln *k, copy *c, kiln_stream *stream)
{
    op_nest *n = &c->nest;
    while (is_of_pairs(c, IN) && is_of_pairs(c, OUT)) {
        n->sizes[n->rank - 1] /= 2;
        for (uint32_t v = 0; v < 2; v++) {
            kiln_view *view = &c->views[v];
            view->first /= 2;
            view->type = view->type == KILN_U8    ? KILN_U16
                         : view->type == KILN_U16 ? KILN_U32
                                                  : KILN_U64;
            for (uint32_t d = 0; d + 1 < n->rank; d++)
                n->strides[v][d] /= 2;
        }
    }
    for (uint32_t v = 0; v < 2; v++) {
        kiln_view *view = &c->views[v];
        view->rank = n->rank;
        view->has_strides = true;
        memcpy(view->sizes, n->sizes, sizeof view->sizes);
        memcpy(view->strides, n->strides[v], sizeof view->strides);
    }
    return run_map(k, c->views[IN], c->views[OUT], c->views[IN].type, stream);
}

kiln_status kiln_copy_view(kiln *k, const kiln_copy_view_desc *d)
{
    const char *call = "kiln_copy_view";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    const op_operand o[] = {{.name = "in", .view = &d->in},
                            {.name = "out", .view = &d->out, .is_result = true}};
    status = op_check_operands(k, call, o, COUNT(o), NULL);
    if (!status)
        status = op_check_sizes(k, call, &o[0], &o[1]);
    kiln_type from = kiln_view_type(d->in), to = kiln_view_type(d->out);
    if (!status && (from == KILN_VOID) != (to == KILN_VOID))
        status = op_check_type(k, call, &o[0], to);
    if (status || !kiln_view_count(d->out))
        return status;
    if (from != to)
        return run_map(k, d->in, d->out, KILN_F32, d->stream);
    copy c;
    uint32_t line;
    make(d->in, d->out, &c);
    return find_line(&c.nest, &line) ? run_transposed(k, &c, line, d->stream)
                                     : run_flat(k, &c, d->stream);
}

// --- concat and split
// The part of `whole` that is part n along the axis; it starts after those before it.
static kiln_view place_of(const kiln_concat_desc *d, uint32_t n, uint64_t first)
{
    return kiln_view_slice(d->whole, d->axis, (int64_t)first,
                           (int64_t)(first + d->parts[n].sizes[d->axis]), 1);
}

static kiln_status check(kiln *k, const char *call, const kiln_concat_desc *d, bool is_split)
{
    const op_operand whole = {.name = "whole", .view = &d->whole, .is_result = !is_split};
    kiln_status status = op_check_operands(k, call, &whole, 1, NULL);
    if (!status && d->axis >= d->whole.rank)
        status = op_refuse(k, call, "axis %u of 'whole', which has %u dimensions", d->axis,
                           d->whole.rank);
    if (!status && d->count && !d->parts)
        status = op_refuse(k, call, "'parts' is NULL");
    uint64_t sum = 0;
    for (uint32_t n = 0; n < d->count && !status; n++) {
        kiln_view like = d->whole;
        const op_operand o[] = {whole,
                                {.name = "part", .view = &d->parts[n], .is_result = is_split},
                                {.name = "whole", .view = &like}};
        status = op_check_operands(k, call, o, 2, NULL);
        like.sizes[d->axis] = d->parts[n].rank > d->axis ? d->parts[n].sizes[d->axis] : 0;
        if (!status)
            status = op_check_sizes(k, call, &o[1], &o[2]);
        if (!status)
            status = op_check_type(k, call, &o[1], kiln_view_type(d->whole));
        for (uint32_t m = 0; m < n && is_split && !status; m++)
            if (kiln_view_overlaps(d->parts[m], d->parts[n]))
                status = op_refuse(k, call, "parts %u and %u overlap", m, n);
        sum += like.sizes[d->axis];
    }
    return status || sum == d->whole.sizes[d->axis]
               ? status
               : op_refuse(k, call, "the parts are %llu along axis %u, 'whole' is %llu",
                           (unsigned long long)sum, d->axis,
                           (unsigned long long)d->whole.sizes[d->axis]);
}

static kiln_status run(kiln *k, const char *call, const kiln_concat_desc *d, bool is_split)
{
    copy all[PARTS];
    uint32_t waiting = 0, line;
    uint64_t first = 0;
    kiln_status status = op_begin(k, call, d);
    if (!status)
        status = check(k, call, d, is_split);
    for (uint32_t n = 0; !status && n < d->count; n++) {
        kiln_view place = place_of(d, n, first);
        first += d->parts[n].sizes[d->axis];
        if (!kiln_view_count(d->parts[n]))
            continue;
        make(is_split ? place : d->parts[n], is_split ? d->parts[n] : place, &all[waiting]);
        if (find_line(&all[waiting].nest, &line))
            status = run_transposed(k, &all[waiting], line, d->stream);
        else if (++waiting == PARTS) {
            status = run_parts(k, all, waiting, d->stream);
            waiting = 0;
        }
    }
    return status || !waiting ? status : run_parts(k, all, waiting, d->stream);
}

kiln_status kiln_concat(kiln *k, const kiln_concat_desc *d)
{
    return run(k, "kiln_concat", d, false);
}

kiln_status kiln_split(kiln *k, const kiln_concat_desc *d)
{
    return run(k, "kiln_split", d, true);
}
