// Attention backward for Hopper (sm_90a): dK, dV and the sum of dQ from Q, K, V, dO and the row
// values that backward_ends.c makes before; it turns the sum into dQ after. -D TYPE_f16 for f16.
//
// Tensors are [head][row][HD], dense, with as many keys as queries. With -D STRIDED they are
// [batch][head][row][HD] with strides, K and V may have another length than Q, and several query
// heads may share a head of K and V. A unit of work is 128 keys of one head of K and V (causal: key
// blocks i and last - i after each other), for which the queries pass by in blocks of M. One thread
// keeps rings of Q and dO filled through the copy engine; two warpgroups own 64 keys each and work
// on transposed scores, so that P^T is the register operand of dV += P^T dO. For query block i:
//
//     S = K Q^T, dP = V dO^T                      of block i
//     dK += dS Q                                  of block i - 1, behind them in the tensor queue
//     P = exp2(c S - LSE), dS = P (dP - D)        while dP and dK run
//     dQ = dS^T K of block i - 1 into the registers of S, dV += P dO of block i
//     dS to shared memory, dQ added to global memory while dV runs
//
// dK and dQ come one block late: the exchange of dS between the warpgroups and the exponentials
// hide behind the next scores. Start at `consume`.
#include "backward_tiles.h"

typedef struct work { // a key block of a head and the query blocks that see it
    u32 unit, half, head, keys, first, count;
} work;

static work work_at(problem p, u32 unit, u32 half)
{
    u32 head = unit / p.per_head, keys = unit - head * p.per_head, first = 0;
    if (CAUSAL) {
        keys = half ? p.key_blocks - 1 - keys : keys;
        first = first_query_block(p, keys);
    }
    return (work){unit, half, head, keys, first, (p.query_blocks - first) * sharing_of(p)};
}

static work next_work(problem p, work w)
{
    bool has_twin = CAUSAL && w.half == 0 && w.keys * 2 + 1 != p.key_blocks;
    return work_at(p, has_twin ? w.unit : w.unit + grid_dim_x(), has_twin);
}

// --- the producer: one thread

typedef struct sources {
    const tensor_map *q, *k, *v, *o;
    const f32 *rows;
} sources;

static void load_slabs(u8 *to, const tensor_map *map, u32 slab, u32 row, place at, mbarrier *full)
{
#pragma unroll
    for (u32 x = 0; x < HD / 64; x++)
        LOAD_ROWS(to + (u64)x * slab, map, (i32)(x * 64), (i32)row, at, full);
}

static void load_keys(u8 *to, const tensor_map *map, u32 full, u32 phase, u32 block, place at)
{
    mbarrier_wait(barrier_at(full + 1, 0), phase);
    mbarrier_arrive_expect(barrier_at(full, 0), KV_BYTES);
    load_slabs(to, map, KV_SLAB, block * KEYS, at, barrier_at(full, 0));
}

static void produce(sources from, problem p)
{
    ring q = {0, 1}, o = {0, 1};
    u32 phase = 1;
    for (work w = work_at(p, block_x(), 0); w.unit < p.units; w = next_work(p, w)) {
        for (u32 i = 0; i < w.count; i++) {
            query_block b = query_block_at(p, w.head, w.first, i);
            mbarrier *q_full = barrier_at(Q_FULL, q.stage), *o_full = barrier_at(O_FULL, o.stage);
            mbarrier_wait(barrier_at(Q_EMPTY, q.stage), q.phase);
            mbarrier_arrive_expect(q_full, Q_BYTES);
            load_slabs(smem + Q_AT + q.stage * Q_BYTES, from.q, Q_SLAB, b.block * M,
                       PLACE(p, q, b.head, p.heads), q_full);
            if (i == 0)
                load_keys(smem + K_AT, from.k, K_FULL, phase, w.keys,
                          PLACE(p, k, w.head, p.kv_heads));
            mbarrier_wait(barrier_at(O_EMPTY, o.stage), o.phase);
            mbarrier_arrive_expect(o_full, Q_BYTES + ROW_BYTES);
            load_slabs(smem + O_AT + o.stage * Q_BYTES, from.o, Q_SLAB, b.block * M,
                       PLACE(p, dout, b.head, p.heads), o_full);
            bulk_load((f32 *)(smem + ROWS_AT + o.stage * ROW_BYTES),
                      from.rows + (u64)(b.head * p.query_blocks + b.block) * (2 * M), ROW_BYTES,
                      o_full);
            if (i == 0)
                load_keys(smem + V_AT, from.v, V_FULL, phase, w.keys,
                          PLACE(p, v, w.head, p.kv_heads));
            advance(&q, Q_STAGES);
            advance(&o, O_STAGES);
        }
        phase ^= 1;
    }
}

// --- the consumers

// Keys past the end and, causal, after the query: blocks that have none take no part.
static void mask(scores *s, problem p, work w, u32 block)
{
    u32 keys = w.keys * KEYS + group() * 64, end = keys + 64;
    if (end <= keys_of(p) && (!CAUSAL || end - 1 <= block * M + seen_by_first(p)))
        return;
    u32 key = keys + warp() % 4 * 16 + lane() / 4;
    i32 first[2]; // the first query of the block that sees the key, from this lane's first
#pragma unroll
    for (u32 h = 0; h < 2; h++) {
        first[h] =
            CAUSAL ? (i32)(key + h * 8 - lane() % 4 * 2 - block * M - seen_by_first(p)) : -1000;
        if (key + h * 8 >= keys_of(p))
            first[h] = 1000;
    }
#pragma unroll
    for (u32 j = 0; j < M / 8; j++)
#pragma unroll
        for (u32 r = 0; r < 4; r++) {
            f32 *at = &(*s)[j / 8][j % 8 * 4 + r];
            *at = first[r / 2] <= (i32)(j * 8 + r % 2) ? *at : -INFINITY;
        }
}

// This warp's 4 KB of dQ, in the order of the registers.
static void add_dq(f32 (*dq)[32], f32 *sum)
{
    u8 *out = smem + OUT_AT + warp() * WAY_OUT;
    if (lane() == 0)
        bulk_wait_read(0);
    warp_sync();
#pragma unroll
    for (u32 i = 0; i < 8; i++)
        *(f32x4 *)(out + i * 512 + lane() * 16) =
            (f32x4){(*dq)[i * 4], (*dq)[i * 4 + 1], (*dq)[i * 4 + 2], (*dq)[i * 4 + 3]};
    fence_async();
    warp_sync();
    if (lane() == 0) {
        bulk_add_f32(sum, (const f32 *)out, WAY_OUT);
        bulk_commit();
    }
}

// 16 rows of dK or dV per warp, 64 columns at a time.
static void store_rows(f32 (*acc)[HD / 2], elem *to, pitch_t pitch, f32 scale, problem p, work w)
{
    u8 *out = smem + OUT_AT + warp() * WAY_OUT;
    u32 granule = lane() & 7, row = lane() / 8, key = w.keys * KEYS + warp() * 16 + row;
    elem *at = to + granule * 8;
    if (lane() == 0)
        bulk_wait_read(0);
#pragma unroll
    for (u32 slab = 0; slab < HD / 64; slab++) {
        warp_sync();
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            u32 words[4];
#pragma unroll
            for (u32 x = 0; x < 4; x++)
                words[x] = PACK((*acc)[slab * 32 + i * 8 + x * 2] * scale,
                                (*acc)[slab * 32 + i * 8 + x * 2 + 1] * scale);
            stmatrix(out + (matrix_row(0) ^ i * 32), words);
        }
        warp_sync();
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            u32x4 v =
                *(const u32x4 *)(out + (row + i * 4) * 128 + ((granule ^ (row + i * 4) & 7) * 16));
            if (key + i * 4 < keys_of(p))
                *(u32x4 *)(at + (u64)i * 4 * pitch + slab * 64) = v;
        }
    }
}

static void release(bool is_leader, u32 first, u32 stage)
{
    if (is_leader)
        mbarrier_arrive(barrier_at(first, stage));
}

static void wait_for(u32 first, ring r)
{
    mbarrier_wait(barrier_at(first, r.stage), r.phase);
}

static void consume(problem p, f32 *sums, elem *dk_out, elem *dv_out)
{
    ring q = {0, 0}, o = {0, 0}, keys = {0, 0};
    operands t = operands_of(group());
    bool is_leader = thread_x() % 128 == 0;
    for (work w = work_at(p, block_x(), 0); w.unit < p.units; w = next_work(p, w)) {
        f32 *sum = sums + (u64)(w.head * sharing_of(p) * p.query_blocks + w.first) * SUM_BLOCK +
                   warp() * 1024;
        f32 dk[HD / 2], dv[HD / 2];
        scores s, d;
        u32 packed[M / 16][4];
        wait_for(K_FULL, keys);
        wait_for(Q_FULL, q);
        multiply_scores(&s, t.k, at_stage(t.q, q.stage, Q_BYTES));
        wait_for(V_FULL, keys);
        wait_for(O_FULL, o);
        multiply_scores(&d, t.v, at_stage(t.o, o.stage, Q_BYTES));
        keys.phase ^= 1;
        wgmma_wait(1);
        mask(&s, p, w, w.first);
        make_p(&s, &packed, p.c, rows_of(o.stage));
        mbarrier_wait(barrier_at(DS_EMPTY, o.stage), o.phase ^ 1);
        wgmma_wait(0);
#pragma unroll
        for (u32 part = 0; part < PARTS; part++) {
            make_ds(&d, &s, &packed, part, rows_of(o.stage));
            multiply_dv(&dv, &packed, part, &t, o.stage, false);
            store_ds(&d, part, o.stage);
        }
        advance(&q, Q_STAGES);
        advance(&o, O_STAGES);
        for (u32 i = 1; i < w.count; i++) {
            ring last_q = before(q, Q_STAGES), last_o = before(o, O_STAGES);
            wait_for(Q_FULL, q);
            multiply_scores(&s, t.k, at_stage(t.q, q.stage, Q_BYTES));
            wgmma_wait(1); // dV of the last block: P and dO are free
            wait_for(O_FULL, o);
            multiply_scores(&d, t.v, at_stage(t.o, o.stage, Q_BYTES));
            wait_for(DS_FULL, last_o); // also: all warps have read the row values beside dO
            release(is_leader, O_EMPTY, last_o.stage);
            multiply_dk(&dk, &t, last_o.stage, last_q.stage, i > 1);
            wgmma_wait(2);
            u32 block = query_block_at(p, w.head, w.first, i).block;
            mask(&s, p, w, block);
            make_p(&s, &packed, p.c, rows_of(o.stage));
            pin_p(&s, p.c);
            // before the dV products: a wait between them would serialise them
            mbarrier_wait(barrier_at(DS_EMPTY, o.stage), o.phase ^ 1);
            wgmma_wait(1);
#pragma unroll
            for (u32 part = 0; part < PARTS; part++) {
                make_ds(&d, &s, &packed, part, rows_of(o.stage));
                if (part == 0)
                    multiply_dq(&s[0], &t, last_o.stage);
                multiply_dv(&dv, &packed, part, &t, o.stage, true);
                store_ds(&d, part, o.stage);
            }
            wgmma_wait(PARTS + 1); // dK
            release(is_leader, Q_EMPTY, last_q.stage);
            wgmma_wait(PARTS); // dQ
            release(is_leader, DS_EMPTY, last_o.stage);
            add_dq(&s[0], sum);
            sum += SUM_BLOCK;
            if (SHARED_HEADS && block == w.first) // of the next head
                sum += (u64)w.first * SUM_BLOCK;
            advance(&q, Q_STAGES);
            advance(&o, O_STAGES);
        }
        ring last_q = before(q, Q_STAGES), last_o = before(o, O_STAGES);
        wait_for(DS_FULL, last_o);
        multiply_dk(&dk, &t, last_o.stage, last_q.stage, w.count > 1);
        multiply_dq(&s[0], &t, last_o.stage);
        wgmma_wait(2);
        release(is_leader, O_EMPTY, last_o.stage);
        release(is_leader, V_EMPTY, 0);
        wgmma_wait(0);
        release(is_leader, Q_EMPTY, last_q.stage);
        release(is_leader, K_EMPTY, 0);
        release(is_leader, DS_EMPTY, last_o.stage);
        add_dq(&s[0], sum);
        u32 row = w.keys * KEYS + warp() * 16 + lane() / 8;
        store_rows(&dv, dv_out + ROW_AT(p, dv, w.head, p.kv_heads, row, p.queries, HD),
                   PITCH(p, dv, HD), 1.0f, p, w);
        store_rows(&dk, dk_out + ROW_AT(p, dk, w.head, p.kv_heads, row, p.queries, HD),
                   PITCH(p, dk, HD), p.scale, p, w);
    }
    if (lane() == 0)
        bulk_wait(0);
}

static void init_barriers()
{
#pragma unroll
    for (u32 i = 0; i < BARRIERS; i++) {
        bool is_empty = i == K_EMPTY || i == V_EMPTY || (i >= Q_EMPTY && i < O_FULL) ||
                        (i >= O_EMPTY && i < DS_FULL) || i >= DS_EMPTY;
        mbarrier_init(barrier_at(i, 0), is_empty ? 2 : i >= DS_FULL ? 8 : 1);
    }
    mbarrier_fence_init();
}

kernel block(384) void attention_backward(tensor_map q, tensor_map k, tensor_map v, tensor_map o,
                                          const f32 *rows, f32 *sums, elem *dk, elem *dv, problem p)
{
    if (thread_x() == 0) {
        init_barriers();
        tensor_map_prefetch(&q);
        tensor_map_prefetch(&k);
        tensor_map_prefetch(&v);
        tensor_map_prefetch(&o);
    }
    barrier();
    if (warp() < 8) {
        registers_more(240);
        consume(p, sums, dk, dv);
    } else {
        registers_less(24);
        if (thread_x() == 256)
            produce((sources){&q, &k, &v, &o, rows}, p);
    }
}
