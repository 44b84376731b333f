// Which tile of gemm_sm90.c a product gets: from its sizes to tile_m x tile_n, how the blocks share
// the work, and the stages of the ring. All by a model of how many cycles the product takes. Start
// reading at matmul_tile.
#include "ops/matmul/host_matmul.h"

enum { MOST_BLOCKS = 256, MOST_WAVES = 64 }; // for which narrow columns are considered

// The model of cost_of, in cycles of a multiprocessor. Rates are the H200's: a step is 128 bytes of
// K, of which 64 * m * n products of 16 bits take m * n / 32 (2048 a cycle), and loads bring 64
// bytes a cycle. The others were fitted to the times that bench/gpu/gemm measured on an H200 for
// square products of 256 to 8192 (bench/results/gemm.json).
enum {
    PRODUCTS_PER_CYCLE = 32, // of a step: m * n of them
    CYCLES_PER_LINE = 2,     // for each of the m + n lines of 128 bytes that a step loads,
    CYCLES_PER_TWO = 5,      // and where rows begin anywhere: each is in two lines of memory;
    CYCLES_PER_SHORT = 11,   // of lines that are shorter, if all multiprocessors load them
    STORED_PER_CYCLE = 16,   // numbers of a result
    GAP = 32,                // columns that a wgmma could have multiplied before the next begins
    HIDDEN_GAP = 8,          // the same where another warpgroup or the power limit fills the gap
    LONG_WAVES = 4,          // from so many waves and steps on the power limit sets the pace
    LONG_STEPS = 96,
    FILL_CYCLES = 900,         // until the first stage of a block's tile has come
    DEFERRED_CYCLES = 1500,    // between two tiles with deferred stores, and before the first
    DEFERRED_MN_CYCLES = 1900, // the same between two where both operands are stored across K
    BLOCK_CYCLES = 7,          // that each more block of the grid costs the others
    SPLIT_LINES = 20,          // columns that begin inside a line of memory cost a 20th more,
    SPLIT_STORES = 16          // and results that do, a 16th where nothing hides their stores
};

bool matmul_is_lined(const job *j, const matrix *x)
{
    enum { LINE = 128 };
    uint64_t address = x->buffer ? x->buffer->address : 0;
    return (address + x->first * j->bytes) % LINE == 0 &&
           (x->rows <= 1 || x->stride * j->bytes % LINE == 0) &&
           (j->batch == 1 || x->next * j->bytes % LINE == 0);
}

bool matmul_has_short_lines(const job *j, const matrix *x)
{
    bool is_left = x == &j->a, is_across = is_left ? x->is_transposed : !x->is_transposed;
    return is_across && (is_left ? j->m : j->n) <= MATMUL_FEW && !matmul_is_lined(j, x);
}

static uint32_t short_cycles(const job *j, const matrix *x)
{
    uint32_t sms = j->k->caps.is_emulated ? 132 : j->device->multiprocessors,
             blocks = ceil_div(x == &j->a ? j->n : j->m, 64);
    return CYCLES_PER_SHORT * (blocks < sms ? blocks : sms) / sms;
}

bool matmul_is_crowded(const job *j, const matrix *x)
{
    return matmul_has_short_lines(j, x) && short_cycles(j, x) > CYCLES_PER_TWO;
}

static uint32_t line_cycles(const job *j, const matrix *x)
{
    if (matmul_is_crowded(j, x))
        return short_cycles(j, x);
    return matmul_is_lined(j, x) ? CYCLES_PER_LINE : CYCLES_PER_TWO;
}

void matmul_sides(const job *j, bool is_swapped, side out[2])
{
    const matrix *a = &j->a, *b = &j->b;
    bool a_is_mn = a->is_transposed, b_is_mn = !b->is_transposed;
    out[is_swapped] = (side){a, a_is_mn ? j->m : j->depth, a_is_mn, j->m, line_cycles(j, a)};
    out[!is_swapped] = (side){b, b_is_mn ? j->n : j->depth, b_is_mn, j->n, line_cycles(j, b)};
}

// Of a step of a tile, with `lines` of the right side.
static uint64_t load_cycles(const side s[2], const tile *t, uint32_t lines)
{
    return (uint64_t)t->m * s[LEFT].line_cycles +
           (uint64_t)lines * s[RIGHT].line_cycles / t->sharers;
}

uint64_t matmul_cycles(const tile *t, uint32_t steps, uint64_t tiles)
{
    return tiles * steps * (t->m * t->n / PRODUCTS_PER_CYCLE);
}

uint32_t matmul_steps(const job *j)
{
    return ceil_div(j->depth, 128 / j->bytes);
}

uint32_t matmul_lines(bool is_mn, uint32_t rows)
{
    return is_mn ? (rows + 63) / 64 * 64 : rows;
}

uint32_t matmul_columns(const tile *t, uint32_t size)
{
    return t->narrow_columns + ceil_div(size - t->narrow_columns * t->narrow_n, t->n);
}

// Of a result as the kernel stores it: parts of K are sums.
static uint32_t stored_bytes(const job *j, const tile *t)
{
    return t->parts > 1 ? 4 : j->out_bytes;
}

// With as many stages as fit, up to `most`: the kernel counts them.
static tile tile_of(const job *j, tile t, uint32_t most)
{
    t.parts = t.parts ? t.parts : 1;
    t.sharers = t.sharers ? t.sharers : 1;
    t.is_partial = t.split_k > 1 || (t.is_swapped && (stored_bytes(j, &t) != 2 || t.n % 16));
    t.warpgroups = t.m == 64 && !t.is_pingpong ? 1 : t.m == 192 ? 3 : 2;
    t.group = t.group ? t.group : 16;
    t.most_stages = most;
    return t;
}

// Results of 16 bits of a tile that two warpgroups share may wait in registers while the block
// multiplies its next tile. Of smaller tiles the epilogue is short.
bool matmul_is_deferred(const job *j, const tile *t)
{
    return j->out_bytes == 2 && t->m == 128 && t->n >= 192 && !t->is_pingpong && t->split_k == 1 &&
           t->parts <= 1 && !j->is_loose;
}

// Only with deferred stores: they leave in the order that columns are loaded in. All tiles begin at
// multiples of 32 then.
bool matmul_has_tail(const job *j, const side *right, const tile *t)
{
    return right->is_mn && t->n % 64 == 32 && right->size >= t->n && !t->is_swapped &&
           matmul_is_deferred(j, t);
}

// --- narrow columns
// With tiles of one width some blocks get one more than others, and the others wait. Where the last
// columns of tiles are narrower, those that get one more tile have a narrow one among them.
typedef struct shape { // of the tiles
    uint32_t rows, columns, blocks;
    uint64_t waves; // tiles of a block, at most
    uint32_t busy;  // blocks that get as many
} shape;

static shape shape_of(const side s[2], const tile *t, uint32_t sms)
{
    shape p = {.rows = ceil_div(s[LEFT].size, t->m * t->sharers),
               .columns = matmul_columns(t, s[RIGHT].size)};
    uint64_t tiles = (uint64_t)p.rows * p.columns;
    p.waves = (tiles + sms - 1) / sms;
    p.blocks = (uint32_t)((tiles + p.waves - 1) / p.waves);
    p.busy = (uint32_t)(tiles - (p.waves - 1) * p.blocks);
    return p;
}

// Narrow tiles that each of the busy blocks gets, at least; in the order of tile_origin in
// gemm_sm90_load.h.
static uint32_t least_narrow(const tile *t, const shape *p)
{
    uint32_t got[MOST_BLOCKS] = {0}, least = UINT32_MAX;
    for (uint32_t first = 0, later = 0; first < p->rows; first += t->group) {
        uint32_t height = p->rows - first < t->group ? p->rows - first : t->group;
        for (uint32_t n = p->columns - t->narrow_columns; n < p->columns; n++) {
            uint32_t at = first * p->columns + (n + p->columns - later) % p->columns * height;
            for (uint32_t b = at % p->blocks, y = 0; y < height; y++) {
                got[b]++;
                b = b + 1 == p->blocks ? 0 : b + 1;
            }
        }
        later = (later + t->shift) % p->columns;
    }
    for (uint32_t b = 0; b < p->busy; b++)
        least = got[b] < least ? got[b] : least;
    return least;
}

// The groups of rows all begin at the first column; where that gives a busy block less than `most`
// narrow tiles, the places where they begin are spread over the columns. Returns how many each
// gets.
static uint32_t pick_shift(const shape *p, uint32_t most, tile *t)
{
    if (p->blocks > MOST_BLOCKS || p->waves > MOST_WAVES)
        return 0;
    uint32_t together = least_narrow(t, p);
    if (together >= most)
        return together;
    t->shift = p->columns / ceil_div(p->rows, t->group);
    uint32_t spread = least_narrow(t, p);
    if (spread > together)
        return spread;
    t->shift = 0;
    return together;
}

// --- the choice
// Is a large result of sums of one step: does storing it take nearly all of the time?
static bool is_stored(const job *j, uint32_t steps, uint32_t sms)
{
    enum { TILE = 128 * 128, WAVES = 8 };
    return steps == 1 && (uint64_t)j->m * j->n >= (uint64_t)sms * TILE * WAVES;
}

// About how many cycles the whole product takes with that tile: its waves of tiles, each as long as
// its products or its loads, then the first loads and the last stores. Narrow tiles read the left
// operand more often; blocks that run at the same time get in each other's way. With is_pingpong
// all stores but the last are hidden, so it is for two waves and more. The gaps between the
// products are hidden as well, and do not count in long products of long sums, where the power
// limit and not the clock sets the pace. Deferred stores are hidden, too, but for some time between
// two tiles.
static uint64_t cost_of(const job *j, const side s[2], const tile *t, uint32_t steps, uint32_t sms)
{
    shape p = shape_of(s, t, sms / t->sharers);
    uint64_t tiles = (uint64_t)p.rows * p.columns, waves = p.waves;
    uint64_t load = load_cycles(s, t, t->n);
    bool is_hidden = t->is_pingpong || (matmul_is_deferred(j, t) && waves >= 2);
    bool is_long = waves >= LONG_WAVES && steps >= LONG_STEPS;
    uint32_t gap = is_hidden || is_long ? HIDDEN_GAP : GAP;
    uint64_t multiply = (uint64_t)t->m * (t->n + gap) / PRODUCTS_PER_CYCLE;
    uint64_t wave = steps * (multiply > load ? multiply : load),
             out = (uint64_t)t->m * t->n / STORED_PER_CYCLE;
    uint64_t blocks = tiles * t->sharers < sms ? tiles * t->sharers : sms;
    uint32_t between = s[LEFT].is_mn && s[RIGHT].is_mn ? DEFERRED_MN_CYCLES : DEFERRED_CYCLES;
    if (s[RIGHT].is_mn && t->n % 64 && !matmul_has_tail(j, &s[RIGHT], t))
        wave += wave / SPLIT_LINES;
    if (is_stored(j, steps, sms) && t->n % 64)
        wave += wave / SPLIT_STORES;
    if (t->is_pingpong)
        return waves < 2 ? UINT64_MAX
                         : waves * wave + FILL_CYCLES + 2 * out + blocks * BLOCK_CYCLES;
    if (is_hidden)
        return waves * (wave + between) + DEFERRED_CYCLES + out + blocks * BLOCK_CYCLES;
    return waves * (wave + FILL_CYCLES + out) + blocks * BLOCK_CYCLES;
}

// Columns of a tile fill slabs of 16, of results of 32 bits whole ones of 32.
static uint32_t column_step(const job *j)
{
    return j->out_bytes == 4 ? 32 : 16;
}

// Gives a ping-pong tile the narrow columns that lower its cost most, if that goes below `least`.
// Returns the cost.
static uint64_t pick_narrow(const job *j, const side s[2], tile *t, uint32_t steps, uint32_t sms,
                            uint32_t step, uint64_t least)
{
    const tile plain = *t;
    uint64_t own = cost_of(j, s, t, steps, sms);
    least = own < least ? own : least;
    for (uint32_t more = 0; more < 2; more++) {
        uint32_t columns = matmul_columns(&plain, s[RIGHT].size) + more;
        uint32_t unused = columns * plain.n - s[RIGHT].size;
        for (uint32_t i = 1; i * step + 128 <= plain.n; i++) {
            // The first one that costs least is taken: the widest, which leaves the least
            // difference; of columns that are loaded by 64 the narrowest, which is a multiple of
            // that.
            uint32_t n = s[RIGHT].is_mn ? 128 + (i - 1) * step : plain.n - i * step;
            tile narrow = plain;
            narrow.narrow_n = n;
            narrow.narrow_columns = unused / (plain.n - n);
            if (!narrow.narrow_columns || narrow.narrow_columns >= columns)
                continue;
            shape p = shape_of(s, &narrow, sms / plain.sharers);
            uint32_t most = p.rows * narrow.narrow_columns / p.busy; // of a busy block
            uint64_t whole = cost_of(j, s, &narrow, steps, sms);
            uint64_t saved =
                (uint64_t)steps * plain.m * (plain.n - n) / PRODUCTS_PER_CYCLE; // by one of them
            if (!most || whole >= least + most * saved)
                continue;
            whole -= pick_shift(&p, most, &narrow) * saved;
            if (whole < least) {
                own = least = whole;
                *t = narrow;
            }
        }
    }
    return own;
}

// An operand that is read along K can be cut anywhere, one that is read across K well only in lines
// of 64. The left side always is cut that way; so where only b is read across K, it is the left
// one, unless all that counts is to store the result: with b on the right that takes a sixth less
// (11344 x 5696 x 64: 37.6 us instead of 45). Of two ping-pong tiles that
// cost about the same the wider one reads less.
static tile pick_tile(const job *j, uint32_t steps, uint32_t sms)
{
    static const struct {
        uint32_t m, least, most;
        bool is_pingpong;
        uint32_t sharers;
    } ranges[] = {{64, 32, 128, false, 1},   {128, 64, 256, false, 1},
                  {192, 128, 192, false, 1}, // of three warpgroups
                  {128, 128, 192, true, 1},  {128, 128, 256, false, 2},
                  {128, 128, 192, true, 2}};
    bool is_nn = !j->a.is_transposed && !j->b.is_transposed;
    tile best = {128, 256, .split_k = 1, .sharers = 1};
    best.is_swapped = is_nn && j->out_bytes == 2 && !is_stored(j, steps, sms);
    side s[2];
    matmul_sides(j, best.is_swapped, s);
    uint64_t least = UINT64_MAX;
    uint32_t step = s[RIGHT].is_mn ? 32 : column_step(j);
    for (size_t r = 0; r < COUNT(ranges); r++) {
        uint32_t most = ranges[r].most;
        uint64_t least_here = UINT64_MAX;
        tile best_here = best;
        // Two blocks that load together gain nothing where rows are whole lines of memory: the
        // cache merges their loads.
        bool is_lined = s[LEFT].line_cycles + s[RIGHT].line_cycles == 2 * CYCLES_PER_LINE;
        if (ranges[r].sharers > 1 && (is_lined || s[RIGHT].size < most))
            continue;
        if (ranges[r].is_pingpong && j->desc->epilogue == KILN_EPILOGUE_BIAS_SILU)
            most = 176; // wider ones lack a register
        for (uint32_t n = most - most % step; n >= ranges[r].least; n -= step) {
            tile t = {ranges[r].m, n, .group = 16, .split_k = 1, .sharers = ranges[r].sharers};
            t.is_swapped = best.is_swapped;
            t.is_pingpong = ranges[r].is_pingpong;
            uint64_t below = least_here - (t.is_pingpong ? least_here / 128 : 0);
            uint64_t cost = t.is_pingpong ? pick_narrow(j, s, &t, steps, sms, step,
                                                        below < least ? below : least)
                                          : cost_of(j, s, &t, steps, sms);
            if (cost < below) {
                least_here = cost;
                best_here = t;
            }
        }
        // Three warpgroups wait for each other more often.
        uint64_t more = ranges[r].m == 192 && least_here < UINT64_MAX / 2 ? least_here / 16 : 0;
        if (least_here + more < least) {
            least = least_here + more;
            best = best_here;
        }
    }
    return tile_of(j, best, 8);
}

// Few rows of a: the other operand passes by once, as fast as memory gives it. Its rows are the
// left side of the kernel. K is split until all multiprocessors load; with many rows of a half of
// them do, because adding the parts takes longer. Of clusters of more than two blocks fewer fit.
// Few columns of b are the same with a on the left.
static tile pick_skinny_tile(const job *j, uint32_t steps, uint32_t sms)
{
    tile t = {64, 64, .split_k = 1, .sharers = 1, .is_swapped = j->m <= 64};
    uint32_t few = t.is_swapped ? j->m : j->n, many = t.is_swapped ? j->n : j->m;
    uint32_t narrowest = t.is_swapped ? 8 : j->out_bytes == 4 ? 32 : 16;
    while (t.n > narrowest && t.n / 2 >= few && !(t.is_swapped && j->a.is_transposed))
        t.n /= 2;
    // One wave where rows begin anywhere, so that loads are what it waits for.
    const matrix *left = t.is_swapped ? &j->b : &j->a;
    bool is_slow = !matmul_is_lined(j, left) && !matmul_copy_bytes(j, left);
    uint32_t low = ceil_div(many, 64); // tiles
    if (ceil_div(many, 128) >= sms * 3 / 4 || (low > sms && steps >= 8) ||
        (t.is_swapped && low > sms / 2 && low <= sms && steps == 1))
        t.m =
            128; // 64 x 10624 x 6336 takes 35.2 us instead of 41, 64 x 5120 x 64 2.3 instead of 2.7
    // A second wave that is nearly empty takes half as long with tiles of half the height:
    // 64 x 18048 x 320 takes 5.7 us instead of 6.3.
    if (t.is_swapped && ceil_div(many, 128) > sms && steps < 16 &&
        ceil_div(low, sms) < 2 * ceil_div(ceil_div(many, 128), sms))
        t.m = 64;
    if (ceil_div(many, 128) > sms && ceil_div(many, 192) <= sms && steps >= 16)
        t.m = 192; // 8 x 18952 x 4144 takes 41.9 us instead of 46.2 (H200)
    if (ceil_div(many, 192) > sms && ceil_div(many, 256) <= sms && is_slow)
        t.m = 256; // 28568 x 48 x 424: 10.2 instead of 11.2
    uint32_t tiles = ceil_div(many, t.m), most = t.n == 64 ? sms / 2 : sms;
    while (t.split_k < 8 && steps >= t.split_k * 8 &&
           (uint64_t)tiles * t.split_k * 2 <=
               (t.split_k > 1 ? most - most / MATMUL_FEW_IDLE : most))
        t.split_k *= 2;
    return tile_of(j, t, 24);
}

// --- few tiles
// Where one wave of tiles leaves many multiprocessors idle, several blocks share the sum of a tile:
// a cluster of them, whose shared memory holds the partial sums, or parts of K, whose sums go
// through memory to a second kernel. Either side may be the left one.

// The model for them, beside that of cost_of.
enum {
    EXCHANGE_CYCLES = 1500,   // between the blocks of a cluster, and
    EXCHANGED_PER_CYCLE = 4,  // numbers of a tile
    ADD_CYCLES = 3000,        // for the second kernel, for each
    ADDED_AT_ONCE = 8,        // parts it takes
    ADD_WAIT_CYCLES = 500,    // to wait for memory, and
    ADDED_PER_CYCLE = 750,    // numbers of the whole device
    MEMORY_PER_CYCLE = 2400,  // bytes of the whole device,
    LINED_PER_CYCLE = 1650,   // of a result whose rows are whole lines of memory,
    UNLINED_PER_CYCLE = 1500, // or are not,
    LOOSE_PER_CYCLE = 620,    // or begin anywhere
    SHARED_BYTES = 232448 - 1024,
    LEAST_GAIN = 7 // what is chosen otherwise stays unless this is faster by a 7th
};

uint64_t matmul_least_cycles(const job *j, uint32_t stored)
{
    uint64_t operands = ((uint64_t)j->m + j->n) * j->depth * j->bytes,
             result = (uint64_t)j->m * j->n * j->out_bytes;
    return operands / MEMORY_PER_CYCLE + result / stored + FILL_CYCLES;
}

bool matmul_is_lined_result(const job *j)
{
    enum { LINE = 128 };
    return !j->is_loose && (j->m <= 1 || j->out.stride * j->out_bytes % LINE == 0);
}

// Bytes of a result that the device stores in a cycle, as its rows lie.
static uint32_t stored_at_once(const job *j)
{
    return j->is_loose                 ? LOOSE_PER_CYCLE
           : matmul_is_lined_result(j) ? LINED_PER_CYCLE
                                       : UNLINED_PER_CYCLE;
}

uint64_t matmul_add_cost(const job *j, uint32_t parts)
{
    if (parts < 2)
        return 0;
    return ADD_CYCLES + (uint64_t)ceil_div(parts, ADDED_AT_ONCE) * ADD_WAIT_CYCLES +
           (uint64_t)parts * j->m * j->n / ADDED_PER_CYCLE;
}

// Tiles of blocks: those that load together are there even where the last ones are empty.
static uint64_t tiles_of(const side s[2], const tile *t)
{
    return (uint64_t)ceil_div(s[LEFT].size, t->m * t->sharers) * t->sharers *
           ceil_div(s[RIGHT].size, t->n);
}

static uint64_t cost_of_shared(const job *j, const side s[2], const tile *t, uint32_t steps,
                               uint32_t sms)
{
    uint64_t tiles = tiles_of(s, t);
    uint64_t blocks = tiles * t->split_k * t->parts, numbers = (uint64_t)t->m * t->n;
    uint64_t room = t->split_k > 2 ? sms - sms / MATMUL_FEW_IDLE : sms;
    uint64_t waves = (blocks + room - 1) / room, own = ceil_div(steps, t->split_k * t->parts);
    uint64_t load = load_cycles(s, t, matmul_lines(s[RIGHT].is_mn, t->n));
    uint64_t multiply = (uint64_t)t->m * (t->n + GAP) / PRODUCTS_PER_CYCLE;
    uint64_t out = numbers * stored_bytes(j, t) / (2 * STORED_PER_CYCLE);
    if (t->split_k > 1)
        out += EXCHANGE_CYCLES + numbers / EXCHANGED_PER_CYCLE;
    uint64_t cost = waves * (own * (multiply > load ? multiply : load) + FILL_CYCLES + out) +
                    (blocks < sms ? blocks : sms) * BLOCK_CYCLES;
    uint64_t least = matmul_least_cycles(j, stored_at_once(j));
    cost = cost > least ? cost : least;
    return cost + matmul_add_cost(j, t->parts);
}

// Three stages and the tile of partial sums.
static bool has_memory(const side s[2], const tile *t)
{
    uint32_t lines = t->m + matmul_lines(s[RIGHT].is_mn, t->n);
    uint32_t staging =
        t->is_partial ? t->m * t->n * (t->split_k > 1 ? 8 : 4) : t->warpgroups * 8 * 2048;
    return 3 * (lines * 128 + 16) + staging + 16 <= SHARED_BYTES;
}

// Tries a tile with all ways to share its sum.
static void try_shared(const job *j, const side s[2], tile t, uint32_t steps, uint32_t sms,
                       tile *best, uint64_t *least)
{
    uint64_t tiles = tiles_of(s, &t);
    for (uint32_t parts = t.sharers; parts <= 128 && parts <= steps;
         parts += parts < 4 ? 1 : parts / 2)
        for (uint32_t split = 1; split <= (parts > 1 ? 1 : 8); split *= 2) {
            t.split_k = split;
            t.parts = parts;
            tile whole = tile_of(j, t, 8);
            uint32_t step = whole.is_partial ? 8 : stored_bytes(j, &whole) == 4 ? 32 : 16;
            if (tiles * split * parts > 2 * sms || split > steps || t.n % step ||
                (whole.is_partial && t.n % 16 && t.n > 24) || !has_memory(s, &whole) ||
                (split == 1 && parts == 1 && t.n < step))
                continue;
            uint64_t cost = cost_of_shared(j, s, &whole, steps, sms);
            if (cost < *least) {
                *least = cost;
                *best = whole;
            }
        }
}

// Few rows of a, or few columns of b.
static bool is_skinny_job(const job *j)
{
    return j->m <= MATMUL_FEW || j->n <= MATMUL_FEW;
}

// A measured choice for these stays where its blocks keep enough multiprocessors busy.
static tile pick_shared(const job *j, tile otherwise, uint32_t steps, uint32_t sms)
{
    side s[2];
    tile best = otherwise;
    bool is_skinny = is_skinny_job(j);
    matmul_sides(j, otherwise.is_swapped, s);
    uint32_t enough = otherwise.n == MATMUL_FEW ? sms * 3 / 8 : sms * 3 / 4; // blocks
    if (is_skinny && (uint64_t)ceil_div(s[LEFT].size, otherwise.m) * otherwise.split_k >= enough)
        return otherwise;
    uint64_t own = is_skinny ? cost_of_shared(j, s, &otherwise, steps, sms)
                             : cost_of(j, s, &otherwise, steps, sms);
    uint64_t least = own - own / LEAST_GAIN;
    for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
        matmul_sides(j, is_swapped, s);
        bool is_slow = s[RIGHT].line_cycles > CYCLES_PER_LINE;
        uint32_t step = s[RIGHT].is_mn ? 32 : 8;
        uint32_t widest = (s[RIGHT].size + step - 1) / step * step;
        for (uint32_t m = 64; m <= 128; m += 64)
            for (uint32_t n = step; n <= widest && n <= 256; n += step) {
                bool is_one = n == widest || n % 32 == 0;
                tile t = {m, n, .sharers = 1, .is_swapped = is_swapped};
                if (is_one)
                    try_shared(j, s, t, steps, sms, &best, &least);
                // Parts of a K whose lines are slow to load: two blocks load the columns together.
                t.sharers = 2;
                if (is_one && m == 128 && n >= 128 && is_slow && s[RIGHT].size >= n)
                    try_shared(j, s, t, steps, sms, &best, &least);
            }
    }
    return best;
}

// Are the narrow columns possible, if there are any? Those before them, at least one, must not be
// empty.
static bool has_narrow(const job *j, const tile *t)
{
    side s[2];
    matmul_sides(j, t->is_swapped, s);
    if (!t->narrow_n || !t->narrow_columns)
        return !t->narrow_n && !t->narrow_columns;
    return t->is_pingpong && t->narrow_n < t->n && t->narrow_n % column_step(j) == 0 &&
           t->narrow_n * j->out_bytes >= 128 &&
           (uint64_t)t->narrow_n * t->narrow_columns < s[RIGHT].size;
}

tile matmul_tile(const job *j)
{
    const kiln_matmul_desc *d = j->desc;
    const kiln_matmul_sm90 *given = &d->sm90;
    uint32_t steps = matmul_steps(j), sms = j->device->multiprocessors;
    if (j->k->caps.is_emulated) // an H200's
        sms = 132;
    if (d->tile_m && d->tile_n) {
        tile t = {.m = d->tile_m,
                  .n = d->tile_n,
                  .group = given->group,
                  .split_k = given->split_k ? given->split_k : 1,
                  .parts = given->parts ? given->parts : 1,
                  .sharers = given->sharers,
                  .is_swapped = given->is_swapped,
                  .is_pingpong = given->is_pingpong,
                  .narrow_n = given->narrow_n,
                  .narrow_columns = given->narrow_columns};
        t = tile_of(j, t, given->stages ? given->stages : t.is_swapped ? 24 : 8);
        if (t.narrow_columns && has_narrow(j, &t)) {
            side s[2];
            matmul_sides(j, t.is_swapped, s);
            shape p = shape_of(s, &t, sms / t.sharers);
            pick_shift(&p, UINT32_MAX, &t);
        }
        return t;
    }
    tile t = is_skinny_job(j) ? pick_skinny_tile(j, steps, sms) : pick_tile(j, steps, sms);
    return pick_shared(j, t, steps, sms);
}

static uint64_t cost_of_either(const job *j, const side s[2], const tile *t)
{
    uint32_t sms = j->k->caps.is_emulated ? 132 : j->device->multiprocessors;
    bool is_shared = t->split_k > 1 || t->parts > 1 || is_skinny_job(j);
    return is_shared ? cost_of_shared(j, s, t, matmul_steps(j), sms)
                     : cost_of(j, s, t, matmul_steps(j), sms);
}

uint64_t matmul_tile_cost(const job *j)
{
    tile t = matmul_tile(j);
    side s[2];
    matmul_sides(j, t.is_swapped, s);
    for (size_t n = 0; n < 2; n++) // copies of long rows are whole lines
        if (is_skinny_job(j) && j->depth * j->bytes > 256 && matmul_copy_bytes(j, s[n].in) &&
            !matmul_has_short_lines(j, s[n].in))
            s[n].line_cycles = CYCLES_PER_LINE;
    uint64_t cost = cost_of_either(j, s, &t);
    uint64_t least = matmul_least_cycles(j, stored_at_once(j));
    return cost > least ? cost : least;
}

// Each of the blocks that load a tile's columns together loads whole groups of eight rows.
static bool has_shares(const job *j, const tile *t)
{
    side s[2];
    matmul_sides(j, t->is_swapped, s);
    if (t->sharers == 1)
        return true;
    uint32_t step = 8 * t->sharers;
    return t->split_k == 1 && (s[RIGHT].is_mn || (s[RIGHT].size >= t->n && t->n % step == 0 &&
                                                  t->narrow_n % step == 0));
}

static bool is_power(uint32_t n, uint32_t most) // of two; or 0
{
    return n <= most && (n & (n - 1)) == 0;
}

bool matmul_has_tile(const job *j)
{
    const kiln_matmul_desc *d = j->desc;
    const kiln_matmul_sm90 *given = &d->sm90;
    uint32_t steps = matmul_steps(j), m = d->tile_m, n = d->tile_n;
    if (!is_power(given->split_k, 8) || !is_power(given->sharers, 4) ||
        !is_power(given->group, 32) || given->split_k > steps || given->parts > 256 ||
        given->parts > steps || (given->parts > 1 && (given->split_k > 1 || given->is_pingpong)) ||
        given->stages == 1 || given->stages > 24 || !m || m % 64 || m > 256 || !n)
        return false;
    tile t = matmul_tile(j);
    uint32_t step = t.is_swapped || t.is_partial ? 8 : stored_bytes(j, &t) == 4 ? 32 : 16;
    uint32_t accumulators = t.m / 64 * t.n / 2 / (t.is_pingpong ? 1 : t.warpgroups);
    uint32_t most = t.is_pingpong ? 192 : t.warpgroups == 3 ? 96 : 128; // of a thread's registers
    return n % step == 0 && n >= (t.is_swapped || t.is_partial ? 8 : step) && n <= 256 &&
           (n % 16 == 0 || n <= 24) && accumulators <= most && has_narrow(j, &t) &&
           !(t.is_pingpong && t.is_partial) && has_shares(j, &t);
}

// Adds a tile at its place in the order of `costs`, behind the first.
static void add_sm90(const job *j, tile t, uint64_t cost, uint64_t costs[MATMUL_TILES],
                     matmul_list *out)
{
    kiln_matmul_desc d = *j->desc;
    job tried = *j;
    d.tile_m = t.m;
    d.tile_n = t.n;
    d.sm90 = (kiln_matmul_sm90){.is_swapped = t.is_swapped,
                                .is_pingpong = t.is_pingpong,
                                .stages = t.most_stages,
                                .group = t.group,
                                .split_k = t.split_k,
                                .parts = t.parts > 1 ? t.parts : 0,
                                .sharers = t.sharers > 1 ? t.sharers : 0,
                                .narrow_n = t.narrow_n,
                                .narrow_columns = t.narrow_columns};
    tried.desc = &d;
    if (out->count == MATMUL_TILES || (out->count && !matmul_has_tile(&tried)))
        return;
    size_t at = out->count++;
    for (; at > 1 && costs[at - 1] > cost; at--) {
        costs[at] = costs[at - 1];
        out->all[at] = out->all[at - 1];
    }
    costs[at] = cost;
    out->all[at] = (matmul_choice){t.m, t.n, d.sm90};
}

void matmul_list_sm90(const job *j, matmul_list *out)
{
    tile model = matmul_tile(j);
    side s[2];
    matmul_sides(j, model.is_swapped, s);
    bool is_skinny = is_skinny_job(j);
    uint64_t least = matmul_tile_cost(j), costs[MATMUL_TILES];
    uint32_t step = is_skinny ? 8 : s[RIGHT].is_mn ? 32 : column_step(j);
    add_sm90(j, model, least, costs, out);
    for (int is_pingpong = 0; is_pingpong < 2; is_pingpong++)
        for (uint32_t m = 64; m <= 256; m += 64)
            for (uint32_t n = 256; n >= step; n -= step) {
                tile t = model;
                bool is_model = m == t.m && n == t.n && is_pingpong == t.is_pingpong;
                // A skinny product's columns are one column of tiles, no wider than it takes.
                if (is_model || (is_pingpong && m != 128) ||
                    (is_skinny ? is_pingpong || n < model.n || n > 2 * model.n : n < 32))
                    continue;
                t.m = m;
                t.n = n;
                t.is_pingpong = is_pingpong;
                t.narrow_n = t.narrow_columns = t.shift = 0;
                t = tile_of(j, t, model.most_stages);
                uint64_t cost = cost_of_either(j, s, &t);
                if (cost <= least + least / 2) // what is far too slow is not worth a try
                    add_sm90(j, t, cost, costs, out);
            }
}
