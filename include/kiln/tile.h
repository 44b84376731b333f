// Tiles in shared memory as Hopper's copy engine and tensor cores want them, and rings of them.
//
//     tile_type(a_tile, bf16, 128, 64, 128);      // a type: 128 x 64 bf16, 128-byte swizzle
//     tile_load(&stage->a, &map, k, row, full);   // the copy engine fills it
//     tile_mma(wgmma_bf16, acc, a, b, 4, k != 0); // acc += a * b, four steps along K
//     tile_put(&out, row, column, words);         // 16 x 16 of the accumulators go into it
//     tile_store(&map, column, row, &out);        // the copy engine takes it to memory
//
// A tile is stored in panels of `swizzle` bytes of its columns: panel[p][row][column in the panel].
// Inside a panel the 16-byte chunks of a row are permuted, chunk c of row r lies at c ^ r % 8 (for
// a swizzle of 128 bytes), so that neither rows nor columns of chunks meet in a bank. A tile's type
// holds its shape; the macros below read it with sizeof, so a call names the tile alone.
//
// A ring is a full and an empty barrier for each stage of a buffer. The producer waits for empty,
// expects bytes, loads; a consumer waits for full, multiplies, releases.
//
// It needs sm_90a or the interpreter; the guide (docs/guide, the ladder of matrix products) builds
// up to it. Names that start with k_tile are internal.
#ifndef KILN_TILE_H
#define KILN_TILE_H

#include <kiln/kernel.h>

// --- tiles
// Declares the type `name`: rows x columns of `element`; swizzle_bytes is 32, 64 or 128.
#define tile_type(name, element, rows, columns, swizzle_bytes)                                     \
    typedef struct name {                                                                          \
        _Alignas(1024) element panel[((columns) * sizeof(element) + (swizzle_bytes)-1) /           \
                                     (swizzle_bytes)][rows][(swizzle_bytes) / sizeof(element)];    \
    } name

#define tile_panels(t)        ((u32)(sizeof((t)->panel) / sizeof((t)->panel[0])))
#define tile_panel_bytes(t)   ((u32)sizeof((t)->panel[0]))
#define tile_swizzle_bytes(t) ((u32)sizeof((t)->panel[0][0]))
#define tile_panel_columns(t) ((u32)(sizeof((t)->panel[0][0]) / sizeof((t)->panel[0][0][0])))
#define tile_bytes(t)         ((u32)sizeof((t)->panel))

// The 16 bytes `chunk` of a row of a panel with the 128-byte swizzle.
static inline u8 *k_tile_chunk(void *panel, u32 row, u32 chunk)
{
    u8 *line = (u8 *)panel + row * 128;
    return line + ((chunk ^ row % 8) * 16);
}
#define tile_chunk(t, row, chunk) k_tile_chunk((t)->panel, row, chunk)

// --- copies: one thread calls
// The box of the map is a panel: panel_columns x rows. x and y are the place of the tile's first
// element in the tensor; `full` gets the bytes. tile_load_panels loads only the first `count`
// panels.
#define tile_load_panels(t, count, map, x, y, full)                                                \
    do {                                                                                           \
        _Pragma("unroll") for (u32 k_panel = 0; k_panel < (count); k_panel++)                      \
            tensor_load_2d((t)->panel[k_panel], map, (i32)((x) + k_panel * tile_panel_columns(t)), \
                           (i32)(y), full);                                                        \
    } while (0)
#define tile_load(t, map, x, y, full) tile_load_panels(t, tile_panels(t), map, x, y, full)

// The blocks of a cluster load a tile together, each `rows` rows for all `blocks` of them, to the
// same place in each; `full` is the barrier of each, which gets the bytes of the whole tile.
#define tile_load_together(t, count, map, x, y, rows, blocks, full)                                \
    do {                                                                                           \
        u32 k_first = cluster_rank() * (rows);                                                     \
        _Pragma("unroll") for (u32 k_panel = 0; k_panel < (count); k_panel++) tensor_load_all_2d(  \
            (t)->panel[k_panel][k_first], map, (i32)((x) + k_panel * tile_panel_columns(t)),       \
            (i32)((y) + k_first), full, (1u << (blocks)) - 1);                                     \
    } while (0)

// The same for data that is read once: it leaves the L2 cache first.
#define tile_load_once(t, map, x, y, full)                                                         \
    do {                                                                                           \
        _Pragma("unroll") for (u32 k_panel = 0; k_panel < tile_panels(t); k_panel++)               \
            tensor_load_hint_2d((t)->panel[k_panel], map,                                          \
                                (i32)((x) + k_panel * tile_panel_columns(t)), (i32)(y), full,      \
                                cache_evict_first());                                              \
    } while (0)

// From matrix z of a tensor of three dimensions.
#define tile_load_3d(t, map, x, y, z, full)                                                        \
    do {                                                                                           \
        _Pragma("unroll") for (u32 k_panel = 0; k_panel < tile_panels(t); k_panel++)               \
            tensor_load_3d((t)->panel[k_panel], map, (i32)((x) + k_panel * tile_panel_columns(t)), \
                           (i32)(y), (i32)(z), full);                                              \
    } while (0)

// The same with a fourth dimension.
#define tile_load_4d(t, map, x, y, z, w, full)                                                     \
    do {                                                                                           \
        _Pragma("unroll") for (u32 k_panel = 0; k_panel < tile_panels(t); k_panel++)               \
            tensor_load_4d((t)->panel[k_panel], map, (i32)((x) + k_panel * tile_panel_columns(t)), \
                           (i32)(y), (i32)(z), (i32)(w), full);                                    \
    } while (0)

// … and a fifth.
#define tile_load_5d(t, map, x, y, z, w, v, full)                                                  \
    do {                                                                                           \
        _Pragma("unroll") for (u32 k_panel = 0; k_panel < tile_panels(t); k_panel++)               \
            tensor_load_5d((t)->panel[k_panel], map, (i32)((x) + k_panel * tile_panel_columns(t)), \
                           (i32)(y), (i32)(z), (i32)(w), (i32)(v), full);                          \
    } while (0)

// To memory, as one group of this thread's: bulk_wait_read waits until the tile may be written
// again. The threads that wrote the tile call fence_async and meet in a barrier before.
#define tile_store(map, x, y, t)                                                                   \
    do {                                                                                           \
        _Pragma("unroll") for (u32 k_panel = 0; k_panel < tile_panels(t); k_panel++)               \
            tensor_store_2d(map, (i32)((x) + k_panel * tile_panel_columns(t)), (i32)(y),           \
                            (t)->panel[k_panel]);                                                  \
        bulk_commit();                                                                             \
    } while (0)

// --- fragments: a whole warp calls
// 16 x 16 numbers of 16 bits at (row, column) of a tile with the 128-byte swizzle, from or to the
// registers of a warp: words[0] and [1] are rows 0-7 and 8-15 of columns 0-7, [2] and [3] the same
// of columns 8-15, as accumulators of a wgmma and operands of an mma lie. row and column are
// multiples of 8 and 16.
static inline u8 *k_tile_fragment(void *panel, u32 row, u32 column)
{
    u8 *line = (u8 *)panel + (row + lane() % 16) * 128;
    return line + (((column / 8 + lane() / 16) ^ lane() % 8) * 16);
}
static inline u8 *k_tile_fragment_t(void *panel, u32 row, u32 column)
{
    u8 *line = (u8 *)panel + (row + lane() / 16 * 8 + lane() % 8) * 128;
    return line + (((column / 8 + lane() / 8 % 2) ^ lane() % 8) * 16);
}
#define k_tile_place(f, t, row, column)                                                            \
    f((t)->panel[tile_panels(t) == 1 ? 0 : (column) / 64], row,                                    \
      tile_panels(t) == 1 ? (column) : (column) % 64)

#define tile_put(t, row, column, words)                                                            \
    stmatrix(k_tile_place(k_tile_fragment, t, row, column), words)
// The tile gets the transpose: what the warp has in row i of its fragment goes to column + i.
#define tile_put_transposed(t, row, column, words)                                                 \
    stmatrix_transposed(k_tile_place(k_tile_fragment_t, t, row, column), words)
#define tile_get(words, t, row, column)                                                            \
    ldmatrix(words, (const u32 *)k_tile_place(k_tile_fragment, t, row, column))
#define tile_get_transposed(words, t, row, column)                                                 \
    ldmatrix_transposed(words, (const u32 *)k_tile_place(k_tile_fragment_t, t, row, column))

// The words of a fragment from eight accumulators, as an initializer; pack rounds two of them.
#define acc_words(pack, acc)                                                                       \
    {                                                                                              \
        pack((acc)[0], (acc)[1]), pack((acc)[2], (acc)[3]), pack((acc)[4], (acc)[5]),              \
            pack((acc)[6], (acc)[7])                                                               \
    }

// 16 x 32 accumulators of 32 bits, acc[0 … 15] of a wgmma or mma, to the first 16 rows of a panel.
// Odd rows store columns 16 further on while even rows store the first ones: no bank conflicts.
#define K_TILE_PUT_32(T)                                                                           \
    static inline void k_tile_put_##T(void *panel, const T *acc)                                   \
    {                                                                                              \
        u32 row = lane() / 4, pair = lane() % 4, odd = row & 1;                                    \
        _Pragma("unroll") for (u32 j = 0; j < 4; j++)                                              \
        {                                                                                          \
            u8 *at = k_tile_chunk(panel, row, (2 * j + pair / 2) ^ (odd * 4)) + pair % 2 * 8;      \
            _Pragma("unroll") for (u32 h = 0; h < 2; h++)                                          \
            {                                                                                      \
                const T *even_at = &acc[j * 4 + h * 2], *odd_at = &acc[(j ^ 2) * 4 + h * 2];       \
                T x = odd ? odd_at[0] : even_at[0], y = odd ? odd_at[1] : even_at[1];              \
                ((T *)(at + h * 1024))[0] = x;                                                     \
                ((T *)(at + h * 1024))[1] = y;                                                     \
            }                                                                                      \
        }                                                                                          \
    }
K_TILE_PUT_32(f32)
K_TILE_PUT_32(i32)
#define tile_put_32(t, acc)                                                                        \
    _Generic((acc)[0], f32 : k_tile_put_f32, i32 : k_tile_put_i32)((t)->panel[0], &(acc)[0])

// --- products: a whole warpgroup calls
// What wgmma reads of a tile: a descriptor, and the bytes from it to other parts of the tile.
typedef struct mma_operand {
    u64 at;
    u32 step;        // from 32 bytes of K to the next
    u32 panel_steps; // in a panel
    u32 panel;       // from panel to panel, along K
    u32 block;       // from 64 rows (transposed: columns) to the next
} mma_operand;

// The sum runs along the rows of the tile (K-major), or, transposed, along its columns (MN-major,
// for numbers of 16 bits; the wgmma gets wgmma_a_mn or wgmma_b_mn). tile_operand_block begins at
// block m of 64 rows (transposed: columns).
#define tile_operand_block(t, m)                                                                   \
    ((mma_operand){.at =                                                                           \
                       wgmma_k_major((const u8 *)(t)->panel + (m) * (64 * tile_swizzle_bytes(t)),  \
                                     tile_swizzle_bytes(t)),                                       \
                   .step = 32,                                                                     \
                   .panel_steps = tile_swizzle_bytes(t) / 32,                                      \
                   .panel = tile_panel_bytes(t),                                                   \
                   .block = 64 * tile_swizzle_bytes(t)})
#define tile_operand_block_transposed(t, m)                                                        \
    ((mma_operand){                                                                                \
        .at = wgmma_mn_major((const u8 *)(t)->panel +                                              \
                                 (m) * (128 / tile_swizzle_bytes(t) * tile_panel_bytes(t)),        \
                             tile_swizzle_bytes(t), tile_panel_bytes(t)),                          \
        .step = 16 * tile_swizzle_bytes(t),                                                        \
        .panel_steps = tile_panel_bytes(t) / (16 * tile_swizzle_bytes(t)),                         \
        .panel = tile_panel_bytes(t),                                                              \
        .block = 128 / tile_swizzle_bytes(t) * tile_panel_bytes(t)})
#define tile_operand(t)            tile_operand_block(t, 0)
#define tile_operand_transposed(t) tile_operand_block_transposed(t, 0)

// The same tile `bytes` further on, in another stage.
static inline mma_operand operand_move(mma_operand o, u32 bytes)
{
    o.at = wgmma_step(o.at, bytes);
    return o;
}
// The tile in stage `stage` of a buffer whose stages are `bytes` apart.
static inline mma_operand operand_stage(mma_operand o, u32 stage, u32 bytes)
{
    o.at += (u64)stage * (bytes / 16); // as wgmma_step, without a shift
    return o;
}
// The descriptor of step k along K of block m.
static inline u64 operand_at(mma_operand o, u32 m, u32 k)
{
    return wgmma_step(o.at, k / o.panel_steps * o.panel + k % o.panel_steps * o.step + m * o.block);
}

// acc = a * b over `steps` of 32 bytes along K, added to what acc was if `adds`. mma is the name of
// a wgmma or of a macro of four arguments. The caller fences, commits and waits.
#define tile_mma(mma, acc, a, b, steps, adds)                                                      \
    do {                                                                                           \
        _Pragma("unroll") for (u32 k_step = 0; k_step < (steps); k_step++)                         \
            mma(acc, operand_at(a, 0, k_step), operand_at(b, 0, k_step), k_step != 0 || (adds));   \
    } while (0)
// The same with a in registers: words[steps][4].
#define tile_mma_words(mma, acc, words, b, steps, adds)                                            \
    do {                                                                                           \
        _Pragma("unroll") for (u32 k_step = 0; k_step < (steps); k_step++)                         \
            mma(acc, (words)[k_step], operand_at(b, 0, k_step), k_step != 0 || (adds));            \
    } while (0)

// Where accumulator i of a lane is in the 64 rows of its warpgroup.
static inline u32 acc_row(u32 i)
{
    return warp() % 4 * 16 + lane() / 4 + i / 2 % 2 * 8;
}
static inline u32 acc_column(u32 i)
{
    return i / 4 * 8 + lane() % 4 * 2 + i % 2;
}

// Reductions over a row of accumulators: h is 0 for the row acc_row(0), 1 for the one 8 below.
// First over the `count` accumulators of a lane, which has count / 2 of each row, then, for both
// rows x[0] and x[1], over the four lanes that share them.
static inline f32 k_acc_max(const f32 *acc, u32 count, u32 h)
{
    f32 part[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        part[i] = max(acc[i / 2 * 4 + h * 2 + i % 2], acc[i / 2 * 4 + h * 2 + i % 2 + 8]);
#pragma unroll
    for (u32 i = 8; i < count / 2; i++)
        part[i % 4] = max(part[i % 4], acc[i / 2 * 4 + h * 2 + i % 2]);
    return max(max(part[0], part[1]), max(part[2], part[3]));
}
static inline f32 k_acc_sum(const f32 *acc, u32 count, u32 h)
{
    f32 part[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        part[i] = acc[i / 2 * 4 + h * 2 + i % 2] + acc[i / 2 * 4 + h * 2 + i % 2 + 8];
#pragma unroll
    for (u32 i = 8; i < count / 2; i++)
        part[i % 4] += acc[i / 2 * 4 + h * 2 + i % 2];
    return (part[0] + part[1]) + (part[2] + part[3]);
}
static inline void acc_lanes_max(f32 (*x)[2])
{
#pragma unroll
    for (u32 d = 1; d < 4; d *= 2)
#pragma unroll
        for (u32 h = 0; h < 2; h++)
            (*x)[h] = max((*x)[h], shuffle_xor((*x)[h], d));
}
static inline void acc_lanes_sum(f32 (*x)[2])
{
#pragma unroll
    for (u32 d = 1; d < 4; d *= 2)
#pragma unroll
        for (u32 h = 0; h < 2; h++)
            (*x)[h] += shuffle_xor((*x)[h], d);
}
#define acc_max(acc, h) k_acc_max(acc, (u32)(sizeof(acc) / sizeof((acc)[0])), h)
#define acc_sum(acc, h) k_acc_sum(acc, (u32)(sizeof(acc) / sizeof((acc)[0])), h)

// 16 x 64 numbers of 16 bits from the registers of a warp (words[column / 16] as for tile_put) to
// rows in memory, 16 bytes at a time, through a tile of that size which belongs to the warp. `to`
// is row lane() / 8, chunk lane() % 8 of the destination; rows from rows_left on are left out.
static inline void k_tile_store_words(void *panel, u8 *to, u64 pitch_bytes, u32 (*words)[4][4],
                                      u32 rows_left)
{
    warp_sync();
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        stmatrix(k_tile_chunk(panel, lane() % 16, i * 2 + lane() / 16), (*words)[i]);
    warp_sync();
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        u32 row = i * 4 + lane() / 8;
        u32x4 part = *(const u32x4 *)k_tile_chunk(panel, row, lane() % 8);
        if (row < rows_left)
            *(u32x4 *)(to + i * 4 * pitch_bytes) = part;
    }
}
#define tile_store_words(t, to, pitch_bytes, words, rows_left)                                     \
    k_tile_store_words((t)->panel, to, pitch_bytes, words, rows_left)

// --- teams: the 32 threads of a warp or the 128 of a warpgroup
// Waits for the threads of the team; that of a warpgroup is barrier 1 + its number in the block.
static inline void team_sync(u32 team)
{
    if (team == 32)
        warp_sync();
    else
        barrier_sync(1 + warp() / 4, 128);
}

// Where a tile goes in a matrix in memory, and where the matrix ends.
typedef struct tile_place {
    u32 row, column, rows, columns;
} tile_place;

// A team takes lines x columns of a tile of one panel (of 16 or 64 rows) to the matrix at `to`,
// whose rows are `pitch` elements apart. Rows and the place begin at multiples of 16 bytes; lines
// is a multiple of team / 8.
static inline void k_tile_copy(void *panel, u32 size, u32 lines, u32 columns, void *to, u32 pitch,
                               tile_place at, u32 team)
{
    u32 t = thread_x() % team, column = t % 8 * (16 / size), x = at.column + column;
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        u32 line = i * (team / 8) + t / 8, y = at.row + line;
        bool is_inside = i * (team / 8) < lines && (columns >= 128 / size || column < columns);
        u32x4 v = {0, 0, 0, 0};
        if (is_inside)
            v = *(const u32x4 *)k_tile_chunk(panel, line, t % 8);
        if (is_inside && y < at.rows && x < at.columns)
            *(u32x4 *)((u8 *)to + (u64)y * pitch * size + (u64)x * size) = v;
    }
}
#define tile_copy(t, lines, columns, to, pitch, place, team)                                       \
    k_tile_copy((t)->panel, sizeof((t)->panel[0][0][0]), lines, columns, to, pitch, place, team)

// The same where rows of the matrix begin anywhere. Eight lanes have a line; it leaves in pieces of
// 16 bytes that begin at multiples of that, each of two neighbouring chunks, and what is left at
// its two ends element by element.
static inline void k_tile_copy_loose(void *panel, u32 size, u32 lines, u32 columns, void *to,
                                     u32 pitch, tile_place at, u32 team)
{
    u32 t = thread_x() % team, i = t % 8, rest = at.columns - min(at.column, at.columns);
    u32 bytes = min(columns, rest) * size;
#pragma unroll
    for (u32 n = 0; n < 4; n++) {
        u32 line = n * (team / 8) + t / 8, y = at.row + line;
        if (line >= lines || y >= at.rows)
            break;
        u8 *row = (u8 *)to + ((u64)y * pitch + at.column) * size;
        u32 head = min((16 - (u32)((u64)row & 15)) % 16, bytes),
            end = head + (bytes - head) / 16 * 16;
        if (head + i * 16 < end) {
            u32x4 x = *(const u32x4 *)k_tile_chunk(panel, line, i);
            u32x4 next = *(const u32x4 *)k_tile_chunk(panel, line, head ? i + 1 : i);
            u32 w[8] = {x.x, x.y, x.z, x.w, next.x, next.y, next.z, next.w};
#pragma unroll
            for (u32 e = 0; e < 6; e++)
                w[e] = head & 8 ? w[e + 2] : w[e];
#pragma unroll
            for (u32 e = 0; e < 5; e++)
                w[e] = head & 4 ? w[e + 1] : w[e];
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                w[e] = size == 2 && (head & 2) ? w[e] >> 16 | w[e + 1] << 16 : w[e];
            *(u32x4 *)(row + head + i * 16) = (u32x4){w[0], w[1], w[2], w[3]};
        }
#pragma unroll
        for (u32 side = 0; side < 2; side++) {
            u32 e = side ? end + i * size : i * size;
            if (e >= (side ? bytes : head))
                continue;
            const u8 *from = k_tile_chunk(panel, line, e / 16) + e % 16;
            if (size == 2)
                *(u16 *)(row + e) = *(const u16 *)from;
            else
                *(u32 *)(row + e) = *(const u32 *)from;
        }
    }
}
#define tile_copy_loose(t, lines, columns, to, pitch, place, team)                                 \
    k_tile_copy_loose((t)->panel, sizeof((t)->panel[0][0][0]), lines, columns, to, pitch, place,   \
                      team)

// --- rings
// Declares the type `name`: the barriers of a ring of `stages`.
#define ring_type(name, stages)                                                                    \
    typedef struct name {                                                                          \
        mbarrier full[stages], empty[stages];                                                      \
    } name
#define ring_stages(r) ((u32)(sizeof((r)->full) / sizeof((r)->full[0])))

// A place in a ring. The phase alternates from round to round; a producer begins with phase 1,
// because all stages are empty then.
typedef struct ring_slot {
    u32 stage, phase;
} ring_slot;

enum { RING_CONSUMER, RING_PRODUCER };

static inline ring_slot k_ring_next(ring_slot s, u32 stages)
{
    s.stage++;
    if (s.stage == stages) {
        s.stage = 0;
        s.phase ^= 1;
    }
    return s;
}
static inline ring_slot k_ring_previous(ring_slot s, u32 stages)
{
    bool wraps = s.stage == 0;
    return (ring_slot){(wraps ? stages : s.stage) - 1, s.phase ^ (wraps ? 1u : 0u)};
}
static inline void k_ring_init(mbarrier *full, mbarrier *empty, u32 stages, u32 producers,
                               u32 consumers)
{
#pragma unroll
    for (u32 s = 0; s < stages; s++) {
        mbarrier_init(full + s, producers);
        mbarrier_init(empty + s, consumers);
    }
}
// One thread, before mbarrier_fence_init. A stage is full when its bytes have come, empty when
// `consumers` have released it.
#define ring_init(r, consumers) ring_init_for(r, 1, consumers)
// For stages that `producers` fill with stores and arrive at.
#define ring_init_for(r, producers, consumers)                                                     \
    k_ring_init((r)->full, (r)->empty, ring_stages(r), producers, consumers)

// The slot after and before s, and that of step n (n / stages rounds are over).
#define ring_next(r, s)     k_ring_next(s, ring_stages(r))
#define ring_previous(r, s) k_ring_previous(s, ring_stages(r))
#define ring_at(r, n, role) ((ring_slot){(n) % ring_stages(r), ((n) / ring_stages(r) & 1) ^ (role)})

// The producer: waits until stage s may be written; expects bytes; both.
#define ring_wait_empty(r, s)    mbarrier_wait(&(r)->empty[(s).stage], (s).phase)
#define ring_expect(r, s, bytes) mbarrier_arrive_expect(&(r)->full[(s).stage], bytes)
#define ring_full(r, s)          (&(r)->full[(s).stage])
#define ring_acquire(r, s, bytes)                                                                  \
    do {                                                                                           \
        ring_wait_empty(r, s);                                                                     \
        ring_expect(r, s, bytes);                                                                  \
    } while (0)
// A consumer: waits until stage s may be read; one thread of it releases the stage.
#define ring_wait_full(r, s) mbarrier_wait(&(r)->full[(s).stage], (s).phase)
#define ring_release(r, s)   mbarrier_arrive(&(r)->empty[(s).stage])
// A warpgroup calls, its first thread releases; the same for step n.
#define ring_release_once(r, s)                                                                    \
    do {                                                                                           \
        if (thread_x() % 128 == 0)                                                                 \
            ring_release(r, s);                                                                    \
    } while (0)
#define ring_wait_step(r, n)    ring_wait_full(r, ring_at(r, n, RING_CONSUMER))
#define ring_release_step(r, n) ring_release_once(r, ring_at(r, n, RING_CONSUMER))
// The same for stages that `blocks` of a cluster fill together: a warpgroup calls, and as many of
// its threads tell a block each. With one block it is ring_release by its first thread.
static inline void k_ring_release(mbarrier *empty, u32 blocks, bool is_first)
{
    if (blocks == 1 && is_first)
        mbarrier_arrive(empty);
    else if (blocks > 1 && thread_x() % 128 < blocks)
        mbarrier_arrive_at_relaxed(empty, thread_x() % 128);
}
#define ring_release_together(r, s, blocks, is_first)                                              \
    k_ring_release(&(r)->empty[(s).stage], blocks, is_first)

#endif
