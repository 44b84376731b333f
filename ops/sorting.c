// Launches of sorts (sorting.h), over the kernels of ops/sort. Short rows are sorted in one launch,
// in registers (warp.c) or in shared memory (short.c). Long ones in passes of three launches, eight
// bits of the keys each (count.c, digits.c, scatter.c); of few wanted results each tile keeps its
// own, until one tile is left (select.c).
#include "ops/sorting.h"

#include "ops/checks.h"
#include "ops/walk.h"
#include "rt/memory/view.h"

#define AXES "ops/sort/axes.def"
#include "ops/axes.h"
static const op_program short_rows = OP_PROGRAM("ops/sort/short.c", "sort_short"),
                        warp_rows = OP_PROGRAM("ops/sort/warp.c", "sort_warp_rows"),
                        count = OP_PROGRAM("ops/sort/count.c", "sort_count"),
                        digits = OP_PROGRAM("ops/sort/digits.c", "sort_digits"),
                        scatter = OP_PROGRAM("ops/sort/scatter.c", "sort_scatter"),
                        select_few = OP_PROGRAM("ops/sort/select.c", "sort_select"),
                        backward = OP_PROGRAM("ops/sort/backward.c", "sort_backward");

enum { AT_OUT, AT_INDEX, AT_VALUE, AT_TO_VALUE, AT_X, VIEWS }; // as in key.h
enum { DIGITS = 256, FEW = 1024, THREADS = 256, MANY = 512 };

// Unsigned, of that size.
static kiln_type bits_type(size_t size)
{
    return size == 1 ? KILN_U8 : size == 2 ? KILN_U16 : size == 4 ? KILN_U32 : KILN_U64;
}

static uint64_t tile_of(const op_sorting *j)
{
    return kiln_type_size(j->key) == 8 ? 2048 : 4096;
}

static bool is_short(const op_sorting *j)
{
    return j->row.count <= tile_of(j);
}

static bool is_few(const op_sorting *j)
{
    return j->row.results <= FEW && j->row.results * 4 <= j->row.count && !j->d.values_out.buffer;
}

// Elements of that type in the workspace, after those before.
static kiln_view part(op_sorting *j, kiln_type type, uint64_t elements)
{
    size_t size = kiln_type_size(type);
    kiln_view v = {.buffer = j->words.buffer,
                   .first = (j->words.first * 8 + j->used) / size,
                   .type = type,
                   .rank = 1,
                   .sizes = {elements}};
    j->used += op_ceil_div(elements * size, 8) * 8;
    return v;
}

static kiln_status launch(kiln *k, const op_sorting *j, op_request *r, kiln_arg *args,
                          size_t arg_count, size_t nest_at, uint64_t blocks)
{
    op_packs packs;
    op_nest_cut(&j->lines.nest, &packs);
    if (r->program != &digits) {
        op_set(r, T, j->type);
        op_set(r, KEY, j->key);
        op_set(r, INDEX, j->d.index.buffer ? kiln_view_type(j->d.index) : KILN_I64);
        op_set(r, VALUE,
               j->d.values.buffer ? bits_type(view_element_size(&j->d.values)) : KILN_U32);
        op_set(r, DESCENDING, j->d.is_descending);
        op_walk_set_loops(r, &packs);
        op_set(r, TO_OUT, j->d.out.buffer != NULL);
        op_set(r, TO_INDEX, j->d.index.buffer != NULL);
        op_set(r, TO_VALUE, j->d.values_out.buffer != NULL);
        args[nest_at] = op_walk_arg(&packs);
        args[nest_at + 1] = kiln_arg_struct(&j->row, sizeof j->row);
    }
    return op_lines_launch(k, &j->lines,
                           (op_launch_desc){.request = r,
                                            .blocks = blocks,
                                            .args = args,
                                            .arg_count = arg_count,
                                            .stream = j->d.stream});
}

// A view that nobody touches where there is none: of a result, because x may be read-only.
static kiln_arg maybe(const op_sorting *j, kiln_view v, kiln_type type)
{
    if (v.buffer && v.type != type)
        v.type = type; // of the same size
    kiln_view result = j->d.out.buffer     ? j->d.out
                       : j->d.index.buffer ? j->d.index
                                           : j->d.values_out;
    return op_launch_view(v, result, type);
}

typedef struct ends { // the results' arguments, in the kernels' order
    kiln_arg out, index, value, to_value;
} ends;

static ends ends_of(const op_sorting *j)
{
    kiln_type index = j->d.index.buffer ? kiln_view_type(j->d.index) : KILN_I64;
    kiln_type value = j->d.values.buffer ? bits_type(view_element_size(&j->d.values)) : KILN_U32;
    return (ends){maybe(j, j->d.out, j->type), maybe(j, j->d.index, index),
                  maybe(j, j->d.values, value), maybe(j, j->d.values_out, value)};
}

static kiln_status sort_short(kiln *k, const op_sorting *j)
{
    uint32_t length = 2;
    while (length < j->row.count)
        length *= 2;
    ends e = ends_of(j);
    kiln_arg args[7] = {kiln_arg_view(j->d.x), e.out, e.index, e.value, e.to_value};
    // A block sorts a row sooner than a warp: where there are few rows, that counts on a GPU.
    const kiln_device_info *info;
    bool is_many = !op_device(k, &info) && (info->caps.is_host || j->lines.rows >= MANY);
    bool is_warp = is_many && length >= 64 && kiln_type_size(j->key) <= 4;
    uint64_t together = is_warp ? 1 + (length <= 1024) : length > 512 ? 1 : 512 / length;
    op_request r = {.program = is_warp ? &warp_rows : &short_rows};
    op_set(&r, LENGTH, length);
    return launch(k, j, &r, args, COUNT(args), 5, op_ceil_div(j->lines.rows, together));
}

static kiln_status sort_long(kiln *k, op_sorting *j, bool is_dry)
{
    uint64_t elements = j->lines.rows * j->row.count, tiles = op_ceil_div(j->row.count, tile_of(j));
    kiln_view none = {.buffer = NULL}, keys[2] = {none, none}, places[2] = {none, none}; // in turn
    for (uint64_t n = 0; n < 2 && n + 1 < j->digits; n++) {
        keys[n] = part(j, j->key, elements);
        if (j->has_places)
            places[n] = part(j, KILN_U32, elements);
    }
    kiln_view counts = part(j, KILN_U32, j->lines.rows * DIGITS * tiles);
    kiln_view totals = part(j, KILN_U32, j->lines.rows * DIGITS);
    ends e = ends_of(j);
    kiln_status status = KILN_OK;
    for (uint32_t pass = 0; pass < j->digits && !status && !is_dry; pass++) {
        struct {
            uint32_t shift, tiles;
        } p = {8 * pass, (uint32_t)tiles};
        bool is_first = pass == 0, is_last = pass + 1 == j->digits;
        kiln_arg from = maybe(j, keys[(pass + 1) % 2], j->key);
        kiln_arg from_places = maybe(j, places[(pass + 1) % 2], KILN_U32);
        kiln_arg to = maybe(j, keys[pass % 2], j->key);
        kiln_arg to_places = maybe(j, places[pass % 2], KILN_U32);
        kiln_arg of_pass = kiln_arg_struct(&p, sizeof p);
        kiln_arg counting[6] = {kiln_arg_view(j->d.x), from, kiln_arg_view(counts)};
        kiln_arg adding[] = {kiln_arg_view(counts), kiln_arg_view(totals),
                             kiln_arg_i64(KILN_U32, (int64_t)tiles)};
        kiln_arg moving[14] = {kiln_arg_view(j->d.x),
                               from,
                               from_places,
                               kiln_arg_view(counts),
                               kiln_arg_view(totals),
                               to,
                               to_places,
                               e.out,
                               e.index,
                               e.value,
                               e.to_value};
        counting[5] = moving[13] = of_pass;
        op_request r = {.program = &count};
        op_set(&r, FIRST, is_first);
        status = launch(k, j, &r, counting, COUNT(counting), 3, j->lines.rows * tiles);
        op_request add = {.program = &digits};
        if (!status)
            status = launch(k, j, &add, adding, COUNT(adding), 0, j->lines.rows * DIGITS);
        r.program = &scatter;
        op_set(&r, LAST, is_last);
        if (!status)
            status = launch(k, j, &r, moving, COUNT(moving), 11, j->lines.rows * tiles);
    }
    return status;
}

static kiln_status select_long(kiln *k, op_sorting *j, bool is_dry)
{
    uint64_t wanted = j->row.results, tile = tile_of(j), sizes[2] = {0, 0};
    kiln_view keys[2], places[2];
    uint64_t whole = j->row.count;
    for (uint32_t level = 0; level < 2; level++) { // the first two are the largest
        uint64_t tiles = op_ceil_div(whole, tile), last = whole - (tiles - 1) * tile;
        sizes[level] = (tiles - 1) * wanted + (last < wanted ? last : wanted);
        keys[level] = part(j, j->key, j->lines.rows * sizes[level]);
        places[level] = part(j, KILN_U32, j->lines.rows * sizes[level]);
        whole = sizes[level];
    }
    ends e = ends_of(j);
    kiln_status status = KILN_OK;
    for (uint32_t level = 0; !status && !is_dry; level++) {
        uint64_t tiles = op_ceil_div(j->row.count, tile), last = j->row.count - (tiles - 1) * tile;
        struct {
            uint32_t tiles, wanted;
            uint64_t next;
        } s = {(uint32_t)tiles, (uint32_t)wanted,
               (tiles - 1) * wanted + (last < wanted ? last : wanted)};
        uint32_t from = (level + 1) % 2, to = level % 2;
        kiln_arg args[10] = {kiln_arg_view(j->d.x),
                             kiln_arg_view(keys[from]),
                             kiln_arg_view(places[from]),
                             kiln_arg_view(keys[to]),
                             kiln_arg_view(places[to]),
                             e.out,
                             e.index};
        args[9] = kiln_arg_struct(&s, sizeof s);
        op_request r = {.program = &select_few};
        op_set(&r, FIRST, level == 0);
        op_set(&r, LAST, tiles == 1);
        status = launch(k, j, &r, args, COUNT(args), 7, j->lines.rows * tiles);
        if (tiles == 1)
            break;
        j->row.count = s.next;
    }
    return status;
}

// With is_dry: only counts the bytes of the workspace.
static kiln_status run(kiln *k, op_sorting *j, bool is_dry)
{
    j->used = 0;
    if (!j->lines.rows || !j->row.results)
        return KILN_OK;
    if (is_short(j))
        return is_dry ? KILN_OK : sort_short(k, j);
    return is_few(j) ? select_long(k, j, is_dry) : sort_long(k, j, is_dry);
}

void op_sorting_make(op_sorting *j)
{
    const kiln_view *given[VIEWS] = {&j->d.out, &j->d.index, &j->d.values, &j->d.values_out,
                                     &j->d.x};
    int64_t *steps[VIEWS] = {&j->row.out_step, &j->row.index_step, &j->row.value_step,
                             &j->row.to_value_step, &j->row.x_step};
    kiln_view views[VIEWS];
    for (uint32_t v = 0; v < VIEWS; v++) {
        views[v] = given[v]->buffer ? *given[v] : j->d.x;
        *steps[v] = kiln_view_stride(views[v], j->d.axis);
    }
    j->has_places = j->d.index.buffer || j->d.values_out.buffer;
    j->type = kiln_view_type(j->d.x);
    j->key = bits_type(view_element_size(&j->d.x));
    j->digits = j->digits ? j->digits : (uint32_t)kiln_type_size(j->key);
    j->row.count = j->d.x.sizes[j->d.axis];
    op_lines_make(views, VIEWS, j->d.axis, &j->lines);
}

uint64_t op_sorting_bytes(op_sorting *j)
{
    run(NULL, j, true);
    return j->used;
}

kiln_status op_sorting_run(kiln *k, const char *call, op_sorting *j)
{
    uint64_t bytes = op_sorting_bytes(j);
    kiln_status status = op_check_workspace(k, call, &j->d.workspace, bytes, &j->words);
    return status ? status : run(k, j, false);
}

kiln_status op_sorting_run_backward(kiln *k, const op_sorting *j)
{
    kiln_status status = KILN_OK;
    for (uint32_t zero = j->row.results < j->row.count; !status; zero--) {
        op_request r = {.program = &backward};
        uint64_t tiles = op_ceil_div(zero ? j->row.count : j->row.results, THREADS);
        kiln_arg args[6] = {kiln_arg_view(j->d.out), kiln_arg_view(j->d.index),
                            kiln_arg_view(j->d.x)};
        args[5] = kiln_arg_i64(KILN_U32, (int64_t)tiles);
        op_set(&r, ZERO, zero);
        if (tiles)
            status = launch(k, j, &r, args, COUNT(args), 3, j->lines.rows * tiles);
        if (!zero)
            break;
    }
    return status;
}

// --- keys of other ops
uint64_t op_sort_room(kiln_type type, uint64_t count_of_keys, uint32_t key_digits)
{
    return op_sorting_bytes(&(op_sorting){.key = type,
                                          .digits = key_digits,
                                          .lines.rows = 1,
                                          .row = {.count = count_of_keys, .results = count_of_keys},
                                          .has_places = true});
}

kiln_status op_sort_keys(kiln *k, const kiln_sort_desc *d, uint32_t key_digits)
{
    op_sorting j = {.d = *d, .digits = key_digits, .row.results = d->x.sizes[0]};
    op_sorting_make(&j);
    return op_sorting_run(k, "a sort of keys", &j);
}
