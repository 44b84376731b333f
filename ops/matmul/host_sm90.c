// kiln_matmul with gemm_sm90.c: whether it can do a product, the variant and its arguments, and the
// kernels around it: gemm_pack.c in front, where rows of an operand do not begin at multiples of 16
// bytes, and gemm_add.c behind, where K is cut into parts. host_tile.c picks the tile. Start
// reading at matmul_run_sm90, near the end.
#include <stdlib.h>

#include "ops/matmul/host_matmul.h"

static const op_program gemm_sm90 = MATMUL_PROGRAM("ops/matmul/gemm_sm90.c"),
                        gemm_pack = MATMUL_PROGRAM("ops/matmul/gemm_pack.c"),
                        gemm_turn = MATMUL_PROGRAM("ops/matmul/gemm_turn.c");

// A single row may have any pitch.
static uint64_t pitch_bytes(const matrix *x, uint32_t bytes)
{
    return x->rows > 1 ? x->stride * bytes : (x->stride * bytes + 15) / 16 * 16;
}

// Can the copy engine read it? It reads rows that start at multiples of 16 bytes.
static bool is_readable(const job *j, const matrix *x)
{
    return (x->buffer->address + x->first * j->bytes) % 16 == 0 &&
           pitch_bytes(x, j->bytes) % 16 == 0 && (j->batch == 1 || x->next * j->bytes % 16 == 0);
}

bool matmul_copies(const job *j)
{
    return !is_readable(j, &j->a) || !is_readable(j, &j->b);
}

void matmul_set_loose(job *j)
{
    uint32_t step = 16 / j->out_bytes;
    bool has_bias = j->desc->epilogue != KILN_EPILOGUE_NONE;
    j->is_loose = (j->out.buffer->address + j->out.first * j->out_bytes) % 16 != 0 ||
                  j->n % step != 0 || (j->m > 1 && j->out.stride % step != 0) ||
                  (j->batch > 1 && j->out.next % step != 0) ||
                  (has_bias && (j->bias.buffer->address + j->bias.first * 4) % 16 != 0);
}

static bool has_overlapping_rows(const matrix *x, uint64_t line)
{
    return x->rows > 1 && x->stride < line;
}

// --- the kernel
// Bytes that the cache loads where one is asked for. Rows that begin anywhere in their lines would
// bring many that nobody wants; a product of 4104 takes 243 us with 256 bytes, 211 us with 128
// (H200).
static uint32_t promotion_of(const job *j, const matrix *x)
{
    return matmul_is_lined(j, x) ? 256 : pitch_bytes(x, j->bytes) >= 128 ? 128 : 0;
}

kiln_tensor_map_desc matmul_operand_map(const job *j, const side *s, uint32_t n, uint32_t rows,
                                        uint32_t sharers)
{
    return (kiln_tensor_map_desc){
        .buffer = s->in->buffer,
        .first = s->in->first + n * s->in->next,
        .type = s->in->type,
        .rank = 2,
        .size = {s->columns, s->in->rows},
        .stride_bytes = {0, pitch_bytes(s->in, j->bytes)},
        .box = {s->is_mn ? 64 : 128 / j->bytes, (s->is_mn ? 64 : rows) / sharers},
        .swizzle_bytes = 128,
        .promotion_bytes = promotion_of(j, s->in)};
}

// Results that are stored while other work runs go through the copy engine, which stores whole
// slabs of 128 bytes a line.
static bool is_async(const job *j, const tile *t)
{
    return matmul_is_deferred(j, t) ||
           (t->is_pingpong && t->n * j->out_bytes >= 128 && !j->is_loose);
}

// The map of result `n` for slabs of 16 rows, or of 64 where they are stored transposed.
static kiln_tensor_map_desc result_map(const job *j, uint32_t n, bool is_swapped)
{
    return (kiln_tensor_map_desc){.buffer = j->out.buffer,
                                  .first = j->out.first + n * j->out.next,
                                  .type = j->out.type,
                                  .rank = 2,
                                  .size = {j->n, j->m},
                                  .stride_bytes = {0, pitch_bytes(&j->out, j->out_bytes)},
                                  .box = {128 / j->out_bytes, is_swapped ? 64 : 16},
                                  .swizzle_bytes = 128};
}

// The map for tails of `count` columns: of boxes of 64 all others are outside. They begin at any
// multiple of 16.
static kiln_tensor_map_desc tail_map(kiln_tensor_map_desc whole, uint32_t count)
{
    return (kiln_tensor_map_desc){.buffer = whole.buffer,
                                  .first = whole.first,
                                  .type = whole.type,
                                  .rank = 3,
                                  .size = {count, (whole.size[0] - count) / 16 + 1, whole.size[1]},
                                  .stride_bytes = {0, 32, whole.stride_bytes[1]},
                                  .box = {64, 1, whole.box[1]},
                                  .swizzle_bytes = 128,
                                  .promotion_bytes = whole.promotion_bytes};
}

// Of an operand smaller than a tile only its own rows are loaded, rounded up to whole lines.
static uint32_t rows_loaded(const side *s, uint32_t rows)
{
    return !s->is_mn && s->size < rows ? s->size : matmul_lines(s->is_mn, rows);
}

static void tune_sm90(const job *j, const tile *t, const side s[2], op_request *r)
{
    matmul_set_types(j, s[LEFT].is_mn, s[RIGHT].is_mn, r);
    op_set(r, ASYNC_OUT, is_async(j, t));
    op_set(r, NARROW_BN, t->narrow_columns ? t->narrow_n : 0);
    op_set(r, B_TAIL, matmul_has_tail(j, &s[RIGHT], t));
    op_set(r, PARTS, t->parts > 1);
    op_set(r, LOOSE, j->is_loose && t->parts == 1);
    op_set(r, BM, t->m);
    op_set(r, BN, t->n);
    op_set(r, WGS, t->warpgroups);
    op_set(r, MOST_STAGES, t->most_stages);
    bool is_large = t->is_pingpong || t->warpgroups == 3 || t->m * t->n / t->warpgroups >= 64 * 192;
    op_set(r, PRODUCER_WARPS, is_large ? 4 : 1);
    op_set(r, PINGPONG, t->is_pingpong);
    op_set(r, DEFERRED, matmul_is_deferred(j, t));
    op_set(r, GROUP, t->group);
    op_set(r, SPLIT_K, t->split_k);
    op_set(r, SHARERS, t->sharers);
    op_set(r, SWAP, t->is_swapped);
    op_set(r, EARLY,
           j->desc->b_is_constant && t->is_swapped && !j->desc->waits_for_previous &&
               is_readable(j, &j->b) && !j->b_is_late);
}

// Asks for the kernel. It gets more than half of a multiprocessor's shared memory: the next kernel
// of a chain then spreads over multiprocessors that are idle instead of joining the blocks of this
// one.
static kiln_status get_sm90(const job *j, const tile *t, const side s[2], const op_kernel **out)
{
    enum { MORE_THAN_HALF = 115840 };
    op_request r = {.program = &gemm_sm90};
    r.shared_bytes = j->desc->sm90.stages ? 0 : MORE_THAN_HALF;
    tune_sm90(j, t, s, &r);
    return op_kernel_get(j->k, &r, out);
}

// Whether the requested tile leaves room for two stages is a constant of its kernel. A kernel that
// does not compile is reported when it is run.
static bool has_room(const job *j)
{
    const op_kernel *kernel;
    tile t = matmul_tile(j);
    side s[2];
    int64_t fits = 1;
    matmul_sides(j, t.is_swapped, s);
    if (!get_sm90(j, &t, s, &kernel))
        kiln_kernel_constant(kernel->kernel, "FITS", &fits);
    return fits;
}

const char *matmul_sm90_obstacle(const job *j)
{
    const kiln_matmul_desc *d = j->desc;
    if (!j->k->caps.has_wgmma)
        return "the device is not sm_90a";
    if (!j->k->caps.has_tensor_copies)
        return "the device has no tensor maps";
    const char *obstacle = matmul_operand_obstacle(j);
    if (obstacle)
        return obstacle;
    if (!j->depth)
        return "k is 0";
    if ((d->tile_m || d->tile_n) && !matmul_has_tile(j))
        return "it has no such tile";
    if (has_overlapping_rows(&j->a, j->a.is_transposed ? j->m : j->depth) ||
        has_overlapping_rows(&j->b, j->b.is_transposed ? j->depth : j->n))
        return "the rows of an operand overlap";
    if ((d->tile_m || d->tile_n) && !has_room(j))
        return "it has no such tile";
    return NULL;
}

// --- its arguments
typedef struct arguments {
    kiln_tensor_map maps[5];
    kiln_arg args[14];
    size_t count;
} arguments;

static kiln_status add_map(const job *j, kiln_tensor_map_desc desc, arguments *to)
{
    kiln_tensor_map *made = &to->maps[to->count];
    to->args[to->count++] = kiln_arg_struct(made, sizeof *made);
    return kiln_tensor_map_make(j->k, &desc, made);
}

// Operands and result of product `n`.
static kiln_status add_matrices(const job *j, const tile *t, const side s[2], uint32_t n,
                                arguments *to)
{
    kiln_tensor_map_desc left = matmul_operand_map(j, &s[LEFT], n, rows_loaded(&s[LEFT], t->m), 1);
    kiln_tensor_map_desc right =
        matmul_operand_map(j, &s[RIGHT], n, rows_loaded(&s[RIGHT], t->n), t->sharers);
    kiln_tensor_map_desc result = result_map(j, n, t->is_swapped);
    bool has_tail = matmul_has_tail(j, &s[RIGHT], t);
    kiln_status status = add_map(j, left, to);
    if (!status)
        status = add_map(j, right, to);
    if (!status && t->narrow_columns)
        status = add_map(j, matmul_operand_map(j, &s[RIGHT], n, t->narrow_n, t->sharers), to);
    if (!status && has_tail)
        status = add_map(j, tail_map(right, t->n % 64), to);
    if (!status && is_async(j, t))
        status = add_map(j, result, to);
    else
        to->args[to->count++] = matmul_arg(&j->out, n);
    if (!status && has_tail)
        status = add_map(j, tail_map(result, t->n % 64), to);
    return status;
}

typedef struct schedule { // as gemm_sm90.c has it
    uint32_t rows, columns, tile_rows, tile_columns, wide, shift, steps, loaded, first, rank, pitch;
} schedule;

// From so many cycles on, a third of a millisecond at 1.5 GHz, an early start saves nothing; at the
// power limit it costs up to one percent (H200, square products of 4096 to 7168,
// docs/performance.md).
enum { LONG_CYCLES = 500000 };

static job with_turned(const job *j);

// What the tuner has found takes the place of what the model would choose, if the kernel has it.
// `desc` is where the description that asks for it goes.
static job with_tuned(const job *j, kiln_matmul_desc *desc)
{
    job tuned = *j;
    matmul_tuned *found =
        j->desc->tile_m || j->desc->tile_n || j->list ? NULL : matmul_find_tuned(j, AT_SM90);
    if (!found || (found->is_checked && !found->is_possible))
        return tuned;
    *desc = *j->desc;
    desc->tile_m = found->choice.m;
    desc->tile_n = found->choice.n;
    desc->sm90 = found->choice.sm90;
    tuned.desc = desc;
    if (!found->is_checked) { // another split of the sum would have other bits
        job turned = with_turned(j);
        tile model = matmul_tile(&turned), own = matmul_tile(&tuned);
        found->is_possible = matmul_has_tile(&tuned) && has_room(&tuned) &&
                             own.split_k == model.split_k && own.parts == model.parts;
    }
    found->is_checked = true;
    return found->is_possible ? tuned : *j;
}

// Operands and result are as the kernel needs them.
static kiln_status multiply(const job *j, tile t)
{
    const kiln_matmul_desc *d = j->desc;
    uint32_t steps = matmul_steps(j);
    side s[2];
    matmul_sides(j, t.is_swapped, s);
    const op_kernel *kernel;
    kiln_status status = get_sm90(j, &t, s, &kernel);
    if (status)
        return status;
    // Blocks that load together count as one, with a tile as high as all of theirs.
    uint32_t rows = ceil_div(s[LEFT].size, t.m * t.sharers);
    uint32_t columns = matmul_columns(&t, s[RIGHT].size);
    uint32_t sms = kernel->resident > t.sharers ? kernel->resident / t.sharers : 1;
    uint64_t tiles = (uint64_t)rows * columns, blocks = tiles * t.split_k;
    bool is_streaming = columns == 1 && s[RIGHT].size <= MATMUL_FEW;
    if (t.split_k == 1 && t.parts == 1 && tiles > sms) {
        // A kernel bound by products wants as many tiles in each block, one bound by loads as many
        // blocks as possible.
        uint64_t waves = (tiles + sms - 1) / sms;
        blocks = is_streaming ? sms : (tiles + waves - 1) / waves;
    }
    // A streaming kernel that leaves a few multiprocessors idle gives these to the next one, which
    // then is spread unevenly; that costs more than the early start gains.
    bool is_uneven = is_streaming && !d->b_is_constant && blocks > sms / 2 &&
                     blocks < sms - sms / MATMUL_FEW_IDLE && t.parts == 1;
    bool is_long = matmul_cycles(&t, steps, (tiles + blocks - 1) / blocks) > LONG_CYCLES;
    uint32_t loaded = rows_loaded(&s[LEFT], t.m) + rows_loaded(&s[RIGHT], t.n);
    for (uint32_t n = 0; n < j->batch && !status; n++) {
        arguments to = {.count = 0};
        status = add_matrices(j, &t, s, n, &to);
        if (status)
            break;
        if (d->epilogue != KILN_EPILOGUE_NONE)
            to.args[to.count++] = matmul_arg(&j->bias, 0);
        const schedule w = {.rows = s[LEFT].size,
                            .columns = s[RIGHT].size,
                            .tile_rows = rows,
                            .tile_columns = columns,
                            .wide = columns - t.narrow_columns,
                            .shift = t.shift,
                            .steps = steps,
                            .loaded = loaded * 128,
                            .pitch = (uint32_t)j->out.stride};
        to.args[to.count++] = kiln_arg_struct(&w, sizeof w);
        status = kiln_launch(kernel->kernel,
                             &(kiln_launch_desc){.grid = {(uint32_t)blocks * t.sharers, t.parts},
                                                 .shared_bytes = kernel->shared_bytes,
                                                 .args = to.args,
                                                 .arg_count = to.count,
                                                 .stream = d->stream,
                                                 .overlaps_previous = !d->waits_for_previous &&
                                                                      !is_uneven && !is_long});
    }
    return status;
}

// --- what comes before and after
typedef struct packed { // as gemm_pack.c has it
    uint64_t from_pitch, to_pitch, end;
    uint32_t pieces, count;
} packed;

// Rows begin at whole lines of memory, unless they are short.
static packed packed_of(const job *j, const matrix *x, uint64_t columns)
{
    uint64_t bytes = columns * j->bytes, unit = bytes > 256 ? 128 : 16;
    return (packed){.from_pitch = x->stride * j->bytes,
                    .to_pitch = (bytes + unit - 1) / unit * unit,
                    .end = (x->rows - 1) * x->stride * j->bytes + bytes,
                    .pieces = (uint32_t)((bytes + 15) / 16),
                    .count = (uint32_t)((bytes + 15) / 16 * x->rows)};
}

static uint64_t columns_of(const job *j, const matrix *x)
{
    return x == &j->a ? (x->is_transposed ? j->m : j->depth) : (x->is_transposed ? j->depth : j->n);
}

// The few of the two, if a copy of them along K is made.
static const matrix *turned_of(const job *j)
{
    return !j->is_turned ? NULL : j->m < j->n ? &j->a : &j->b;
}

// Bytes of its copy, in whole lines of 256; 0: it stays where it is.
uint64_t matmul_copy_bytes(const job *j, const matrix *x)
{
    if (x == turned_of(j))
        return (x->stride * j->bytes * x->rows + 255) / 256 * 256;
    if (is_readable(j, x))
        return 0;
    return (packed_of(j, x, columns_of(j, x)).to_pitch * x->rows + 255) / 256 * 256;
}

kiln_status matmul_pack(const job *j, const matrix *only, kiln_buffer *to, job *out)
{
    const matrix *const from[] = {&j->a, &j->b};
    matrix *const copies[] = {&out->a, &out->b};
    enum { THREADS = 256, MOST_BLOCKS = 132 * 16 };
    packed all[2] = {{0}, {0}};
    kiln_arg args[6];
    uint64_t offset = 0, pieces = 0;
    out->b_is_late |= matmul_copy_bytes(j, &j->b) != 0;
    for (size_t n = 0; n < 2; n++) {
        const matrix *x = from[n];
        uint64_t bytes = (only && only != x) || x == turned_of(j) ? 0 : matmul_copy_bytes(j, x);
        if (bytes) {
            all[n] = packed_of(j, x, columns_of(j, x));
            copies[n]->buffer = to;
            copies[n]->first = offset / j->bytes;
            copies[n]->stride = all[n].to_pitch / j->bytes;
        }
        args[3 * n] = kiln_arg_view(
            (kiln_view){.buffer = x->buffer, .type = KILN_U8, .first = x->first * j->bytes});
        args[3 * n + 1] =
            kiln_arg_view((kiln_view){.buffer = to, .type = KILN_U8, .first = offset});
        args[3 * n + 2] = kiln_arg_struct(&all[n], sizeof all[n]);
        offset += bytes;
        pieces += all[n].count;
    }
    if (!pieces)
        return KILN_OK;
    op_request r = {.program = &gemm_pack};
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(j->k, &r, &kernel);
    uint64_t blocks = (pieces + THREADS - 1) / THREADS;
    if (status)
        return status;
    return kiln_launch(
        kernel->kernel,
        &(kiln_launch_desc){.grid = {(uint32_t)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS)},
                            .args = args,
                            .arg_count = COUNT(args),
                            .stream = j->desc->stream,
                            .overlaps_previous = kernel->overlaps && !j->desc->waits_for_previous});
}

// Makes the copy along K, at `offset` of `to`, and lets the job read it.
static kiln_status turn(const job *j, kiln_buffer *to, uint64_t offset, job *out)
{
    enum { ROWS = 32 }; // of a block
    bool is_left = turned_of(j) == &j->a;
    matrix *few = is_left ? &out->a : &out->b;
    op_request r = {.program = &gemm_turn};
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(j->k, &r, &kernel);
    few->buffer = to;
    few->first = offset / j->bytes;
    out->is_turned = false;
    if (status)
        return status;
    kiln_view from = {.buffer = j->unturned.buffer, .type = KILN_U16, .first = j->unturned.first},
              copy = {.buffer = to, .type = KILN_U16, .first = few->first};
    kiln_arg args[] = {kiln_arg_view(from),
                       kiln_arg_view(copy),
                       kiln_arg_i64(KILN_U64, (int64_t)j->unturned.stride),
                       kiln_arg_i64(KILN_U64, (int64_t)few->stride),
                       kiln_arg_i64(KILN_U32, j->depth),
                       kiln_arg_i64(KILN_U32, is_left ? j->m : j->n)};
    return kiln_launch(kernel->kernel,
                       &(kiln_launch_desc){.grid = {ceil_div(j->depth, ROWS)},
                                           .args = args,
                                           .arg_count = COUNT(args),
                                           .stream = j->desc->stream,
                                           .overlaps_previous = !j->desc->waits_for_previous});
}

// One product, with what comes before and after.
static kiln_status run_one(const job *j, tile t)
{
    uint64_t copies = matmul_copy_bytes(j, &j->a) + matmul_copy_bytes(j, &j->b),
             bytes = copies + matmul_part_bytes(j, t.parts);
    kiln_buffer *scratch = NULL;
    bool is_temporary = false;
    kiln_matmul_desc plain;
    kiln_status status =
        bytes ? matmul_scratch(j->k, j->desc->stream, bytes, &scratch, &is_temporary) : KILN_OK;
    job inner = *j;
    if (!status && copies)
        status = matmul_pack(j, NULL, scratch, &inner);
    if (!status && j->is_turned)
        status = turn(j, scratch, copies - matmul_copy_bytes(j, turned_of(j)), &inner);
    if (!status && t.parts > 1) {
        job parts = matmul_job_of_parts(&inner, &plain, scratch, copies);
        status = multiply(&parts, t);
        if (!status)
            status = matmul_add_parts(j, &parts.out, t.parts);
    } else if (!status) {
        status = multiply(&inner, t);
    }
    if (is_temporary)
        kiln_buffer_free(scratch);
    return status;
}

// A result of one column is a result of one row, transposed: few rows are what is fast.
static job with_row(const job *j)
{
    job row = *j;
    if (j->n != 1 || j->m == 1 || j->desc->epilogue != KILN_EPILOGUE_NONE || j->out.stride != 1 ||
        j->desc->tile_m)
        return row;
    matrix *const turned[] = {&row.a, &row.b};
    row.a = j->b;
    row.b = j->a;
    row.b_is_late = true;
    for (size_t n = 0; n < 2; n++) {
        int64_t step = turned[n]->steps[0];
        turned[n]->is_transposed = !turned[n]->is_transposed;
        turned[n]->steps[0] = turned[n]->steps[1];
        turned[n]->steps[1] = step;
    }
    row.m = 1;
    row.n = j->m;
    row.out.rows = 1;
    row.out.stride = j->m;
    matmul_set_loose(&row);
    return row;
}

// Cycles of a copy's launch, and bytes that it moves in one; copies that stay in the cache are read
// from there, in half the time.
enum { COPY_CYCLES = 3500, COPIED_PER_CYCLE = 1050, CACHED = 16 << 20 };

static uint64_t cost_of(const job *j)
{
    enum { SECOND_CYCLES = 2500 }; // of a second copy's launch
    uint64_t a = matmul_copy_bytes(j, &j->a), bytes = a + matmul_copy_bytes(j, &j->b),
             cached = bytes < CACHED ? bytes : CACHED, moved = bytes - cached / 2;
    bool has_two = j->is_turned && a && a < bytes;
    return j->batch * (matmul_tile_cost(j) + (has_two ? SECOND_CYCLES : 0) +
                       (bytes ? COPY_CYCLES + moved / COPIED_PER_CYCLE : 0));
}

// The job with the few copied along K.
static job turned_job(const job *j)
{
    bool is_left = j->m < j->n;
    job turned = *j;
    matrix *few = is_left ? &turned.a : &turned.b;
    turned.is_turned = true;
    turned.unturned = *few;
    few->is_transposed = !few->is_transposed;
    few->rows = is_left ? j->m : j->n;
    few->stride = ((uint64_t)j->depth * j->bytes + 127) / 128 * 128 / j->bytes;
    few->first = 0;
    return turned;
}

// The same if they are short lines, and it is faster.
static job with_turned(const job *j)
{
    if (j->batch > 1 || !matmul_is_crowded(j, j->m < j->n ? &j->a : &j->b))
        return *j;
    job turned = turned_job(j);
    return cost_of(&turned) < cost_of(j) ? turned : *j;
}

// Short sums of few rows or columns, and of copies, take longer than all of this says; those of
// a quarter of a line do so for any size, and parts of K of
// few that lie across it.
uint64_t matmul_sm90_cost(const job *given)
{
    enum { SHORT_STEPS = 16, SHORT_CYCLES = 1500, COPIED_SHORT_CYCLES = 2500, SHORT_BYTES = 32 };
    const job row = with_row(given), j = with_turned(&row);
    bool is_few = given->m <= MATMUL_FEW || given->n <= MATMUL_FEW, copies = matmul_copies(given);
    uint64_t cost = cost_of(&j);
    if (is_few && !j.is_turned && matmul_has_short_lines(&j, j.m < j.n ? &j.a : &j.b) &&
        matmul_tile(&j).parts > 1)
        cost += cost / 6;
    if (given->depth * given->bytes <= SHORT_BYTES && !is_few && !copies)
        return cost + COPIED_SHORT_CYCLES;
    if (matmul_steps(given) < SHORT_STEPS && (is_few || copies))
        return cost + (copies ? COPIED_SHORT_CYCLES : SHORT_CYCLES);
    return cost + (is_few && copies ? cost / 8 : 0);
}

// --- choices are kept: the model takes longer than a launch
enum { KEPT = 64 };

typedef struct kept_tile {
    uint32_t key[8];
    tile tile;
    bool is_turned; // of the job
} kept_tile;

static void *make_tiles(kiln *k)
{
    (void)k;
    return calloc(KEPT, sizeof(kept_tile));
}

static kept_tile new_tile(const job *j)
{
    job turned = with_turned(j);
    return (kept_tile){.tile = matmul_tile(&turned), .is_turned = turned.is_turned};
}

static kept_tile kept_tile_of(const job *j)
{
    kept_tile *all = op_keep(j->k, OP_KEEP_MATMUL_TILES, make_tiles, free);
    if (!all || j->desc->tile_m || j->desc->tile_n)
        return new_tile(j);
    const uint32_t key[8] = {j->m,
                             j->n,
                             j->depth,
                             (uint32_t)j->type,
                             (uint32_t)j->result,
                             (uint32_t)j->desc->epilogue,
                             (uint32_t)(j->a.is_transposed * 2 + j->b.is_transposed),
                             j->is_loose + 2u * matmul_is_lined(j, &j->a) +
                                 4u * matmul_is_lined(j, &j->b) + 8u * (j->batch == 1) +
                                 16u * is_readable(j, &j->a) + 32u * is_readable(j, &j->b)};
    uint32_t hash = 0;
    for (size_t n = 0; n < COUNT(key); n++)
        hash = (hash ^ key[n]) * 0x9e3779b1u;
    kept_tile *at = &all[(hash >> 16) % KEPT];
    if (memcmp(at->key, key, sizeof key) != 0) { // m is never 0
        *at = new_tile(j);
        memcpy(at->key, key, sizeof key);
    }
    return *at;
}

kiln_status matmul_run_sm90(const job *given)
{
    kiln_matmul_desc tuned;
    const job row = with_row(given), chosen = with_tuned(&row, &tuned), *j = &chosen;
    bool copies = matmul_copies(j);
    if (j->list) {
        job turned = with_turned(j);
        j->list->at = AT_SM90;
        j->list->is_packed = copies || turned.is_turned;
        matmul_list_sm90(&turned, j->list);
        return KILN_OK;
    }
    kept_tile kept = kept_tile_of(j);
    tile t = kept.tile;
    job whole = kept.is_turned ? turned_job(j) : *j;
    if (j->batch == 1 || (!copies && t.parts == 1))
        return run_one(&whole, t);
    kiln_status status = KILN_OK;
    for (uint32_t n = 0; n < j->batch && !status; n++) {
        job one = *j;
        one.batch = 1;
        one.a.first += n * j->a.next;
        one.b.first += n * j->b.next;
        one.out.first += n * j->out.next;
        status = run_one(&one, t);
    }
    return status;
}
