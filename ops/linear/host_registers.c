// Few rows of x on tensor cores with x in registers: how registers.c is launched. Start reading at
// linear_run_registers.
#include "ops/linear/host_job.h"

#include "rt/memory/view.h"

#define AXES "ops/linear/axes.def"
#include "ops/axes.h"
static const op_program program = OP_PROGRAM("ops/linear/registers.c", "linear_registers");

enum { WARPS = 16, HEIGHT = 16 }; // warps that multiply; rows of a tile

// Blocks of a cluster have equal shares of K, each turn of a block 16 units of it.
typedef struct form {
    uint32_t splits, unit, share, turns, together; // unit: elements of K; share: units
} form;

// The elements of K whose scales and zeros are copied at a time, or begin at a block's part.
static size_t copied_depths(const job *j, const form *f, uint64_t *depths)
{
    size_t count = 0;
    depths[count++] = j->x.sizes[1];
    if (f->splits > 1)
        depths[count++] = (uint64_t)f->share * f->unit;
    if (f->turns > 1)
        depths[count++] = (uint64_t)WARPS * f->unit;
    return count;
}

// Can scales and zeros come through the ring in copies of `grain` bytes?
static bool is_together(const job *j, const form *f, uint32_t grain)
{
    uint64_t depths[3];
    size_t count = copied_depths(j, f, depths);
    for (uint32_t n = 0; n < j->count; n++) {
        const linear_weights *w = &j->layers[n].weights;
        if (!linear_has_grains(&w->scale, grain) ||
            (w->zero.buffer && !linear_has_grains(&w->zero, grain)))
            return false;
        for (size_t i = 0; i < count; i++)
            if (depths[i] % j->group ||
                depths[i] / j->group * view_element_size(&w->scale) % grain ||
                (w->zero.buffer && depths[i] / j->group % grain))
                return false;
    }
    return true;
}

static uint32_t padded_rows(const job *j)
{
    uint32_t rows = 1;
    while (rows < j->x.sizes[0])
        rows *= 2;
    return rows;
}

// With so many blocks of a cluster: true if the registers hold x and the ring brings the scales.
static bool find_form(const job *j, uint32_t splits, form *f)
{
    enum { MOST_TURNS = 4, X_REGISTERS = 64, ELEMENTS = 8 }; // that a register of each lane holds
    uint32_t tiles_x = j->x.sizes[0] > 8 ? 2 : 1, unit = 4 * linear_chunk(j);
    uint64_t share = op_ceil_div(op_ceil_div(j->x.sizes[1], unit), splits);
    uint64_t turns = op_ceil_div(share, WARPS);
    if (turns > MOST_TURNS || turns * unit / ELEMENTS * tiles_x > X_REGISTERS)
        return false;
    *f = (form){.splits = splits, .unit = unit, .share = (uint32_t)share, .turns = (uint32_t)turns};
    if (!linear_is_grouped(j))
        return true;
    f->together = is_together(j, f, 16) ? 1 : is_together(j, f, 4) ? 2 : 0;
    return f->together && j->x.sizes[1] % unit == 0;
}

// The least blocks of a cluster, `from` or more, that have a form; 0: none have.
static uint32_t least_splits(const job *j, uint32_t from, form *f)
{
    enum { MOST_SPLITS = 8 };
    for (uint32_t splits = from; splits <= MOST_SPLITS; splits *= 2)
        if (find_form(j, splits, f))
            return splits;
    return 0;
}

// How it is launched; else why that is impossible.
static const char *plan(kiln *k, const job *j, const kiln_device_info *info, op_request *r,
                        tiling *t)
{
    enum { MOST_SPLITS = 8, MOST_STAGES = 4, LEAST_STAGES = 2, PLACES = 3, STATIC_BYTES = 1 << 10 };
    enum { SOME_ROWS = 4, ROW_UNIT = 64, APART = 128 }; // ROW_UNIT: bytes of a row in a unit
    enum { MORE_THAN_HALF = 120 << 10 }; // of a multiprocessor's shared memory: it has one block
    uint32_t sms = info->multiprocessors ? info->multiprocessors : 1;
    uint64_t tiles = 0, clusters;
    form f, next;
    if (!k->caps.has_wgmma)
        return "the device is not of sm_90";
    for (uint32_t n = 0; n < j->count; n++)
        tiles += op_ceil_div(j->layers[n].weights.n, HEIGHT);
    // Where x has many rows its blocks share K, because all read their part of x at the same time.
    uint32_t rows = padded_rows(j), turn = WARPS * 4 * linear_chunk(j), splits = 0;
    if (rows > SOME_ROWS && j->x.sizes[1] >= (rows > 8 ? 2 : 4) * turn)
        splits = least_splits(j, 2, &f);
    if (!splits)
        splits = least_splits(j, 1, &f);
    if (!splits)
        return "K is too long for the registers of eight blocks, or no multiple of a group, or "
               "scales of groups do not start at multiples of 4 bytes";
    while (splits * 2 <= MOST_SPLITS && tiles * splits * 2 <= sms && f.share >= 2 * WARPS &&
           find_form(j, splits * 2, &next)) {
        f = next;
        splits *= 2;
    }
    uint32_t chunk = linear_chunk(j), words = linear_span_words(j);
    uint32_t tiles_x = rows > 8 ? 2 : 1, batch = rows <= 2 ? 8 : 16 / rows;
    uint32_t factors = 0, sums = HEIGHT * rows * 4;
    if (linear_is_grouped(j)) { // 16 bytes keep the banks apart
        uint32_t groups = WARPS * f.unit / j->group;
        factors = groups * (uint32_t)view_element_size(&j->layers[0].weights.scale) + 16;
        factors += j->layers[0].weights.zero.buffer ? groups + 16 : 0;
    }
    uint64_t stage = (uint64_t)HEIGHT * (WARPS * ROW_UNIT + 16 * words + factors);
    uint64_t spans = linear_is_grouped(j) ? (uint64_t)f.turns * (f.unit / (words * chunk)) : 1;
    uint64_t x_sums = (spans + 1) * tiles_x * 32; // and the powers of two of its rows
    uint64_t rest = (uint64_t)PLACES * batch * WARPS * sums + WARPS * x_sums, stages;
    // Clusters may leave a quarter of the multiprocessors without one.
    clusters = sms * 3 / 4 > splits ? sms * 3 / 4 / splits : 1;
    // A block keeps its sums, and has room for those of others.
    uint64_t own = splits > 1 ? op_ceil_div(tiles, clusters) * sums * 2 + APART : 0;
    if (rest + own + STATIC_BYTES + LEAST_STAGES * stage > k->caps.shared_bytes)
        return "shared memory is too small for the sums of so many outputs";
    stages = (k->caps.shared_bytes - STATIC_BYTES - own - rest) / stage;
    stages = stages > MOST_STAGES ? MOST_STAGES : stages;
    *t = (tiling){.width = HEIGHT,
                  .splits = splits,
                  .rows = 1,
                  .is_resident = true,
                  .all_bytes = (size_t)(rest + stages * stage + (splits > 1 ? APART : 0)),
                  .tile_bytes = splits > 1 ? 2 * sums : 0};
    r->program = &program;
    r->shared_bytes = MORE_THAN_HALF;
    linear_set_axes(j, r);
    op_set(r, XR, rows);
    op_set(r, WORDS, words);
    op_set(r, TURNS, f.turns);
    op_set(r, SPLITS, splits);
    op_set(r, STAGES, stages);
    op_set(r, TOGETHER, f.together);
    return NULL;
}

kiln_status linear_run_registers(kiln *k, job *j, const kiln_device_info *info, const char **why)
{
    op_request r = {0};
    tiling t;
    *why = plan(k, j, info, &r, &t);
    return *why ? KILN_OK : linear_launch(k, j, &r, t);
}
