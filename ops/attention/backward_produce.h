// The producer of attention backward for Hopper (backward_sm90.c, backward_wide.c): one thread, which fills the tiles of
// the layout that is included before.
typedef struct sources {
    const tensor_map *q, *k, *v, *o;
    const f32 *rows;
} sources;

static void produce(sources from, problem p, work w)
{
    ring_slot q = {0, 1}, o = {0, 1}, keys = {0, 1};
    for (w = first_work(p, w); w.unit < p.units; w = next_work(p, w)) {
        for (u32 i = 0; i < w.count; i++) {
            query_block b = query_block_at(p, w, i);
            ring_acquire(&smem->q_ring, q, sizeof(q_tile));
            LOAD_QUERIES(&smem->q[q.stage], from.q, w, b, place_of(p.q, b.head, p.heads),
                         ring_full(&smem->q_ring, q));
            if (i == 0) {
                ring_acquire(&smem->k_ring, keys, sizeof(kv_tile));
                LOAD_KEYS(&smem->k, from.k, w, place_of(p.k, w.head, p.kv_heads),
                          ring_full(&smem->k_ring, keys));
            }
            ring_acquire(&smem->o_ring, o, sizeof(q_tile) + sizeof(row_values));
            LOAD_QUERIES(&smem->o[o.stage], from.o, w, b, place_of(p.dout, b.head, p.heads),
                         ring_full(&smem->o_ring, o));
            bulk_load((f32 *)&smem->rows[o.stage],
                      from.rows + (u64)(b.head * p.query_blocks + b.block) * (2 * M),
                      sizeof(row_values), ring_full(&smem->o_ring, o));
            if (i == 0) {
                ring_acquire(&smem->v_ring, keys, sizeof(kv_tile));
                LOAD_KEYS(&smem->v, from.v, w, place_of(p.v, w.head, p.kv_heads),
                          ring_full(&smem->v_ring, keys));
            }
            q = ring_next(&smem->q_ring, q);
            o = ring_next(&smem->o_ring, o);
        }
        keys.phase ^= IS_SPLIT && w.count == 0 ? 0 : 1;
    }
}
