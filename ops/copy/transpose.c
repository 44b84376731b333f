// Copies a tensor whose fastest dimension is c into one, and t in the other: out is contiguous along c,
// in along t. A block has a tile of P x P squares of V x V elements. A thread loads the V lines of a
// square, one pack of V elements each, transposes the square in registers and puts it into shared
// memory; packs along c come out of there.
//
// A line of the tile in shared memory is P packs. The pack of square (t, c) is at c ^ t: the threads
// of a warp write squares of neighbouring t and read ones of neighbouring c, and both are all banks.
#include <kiln/moved.h>
KERNEL_OVERLAPS

tune(RANK, 2, 1, 3, 4, 5, 6, 7, 8); // the two, and the others around them
tune(LONG, 0, 1);                   // not used here, as PARTS
tune(PARTS, 1, 2, 3, 4, 5, 6, 7, 8);
enum {
    P = V == 16 ? 8 : V * BYTES >= 8 ? 16 : 32,
    THREADS = P * P < 256 ? P * P : 256,
    LINES = P * V, // of the tile: elements along t
    STEP = THREADS / P,        // lines of the tile that a block has at the same time
    SQUARES = P / STEP,        // of a thread
};

// Line i of the transposed square.
static pack turned(const pack line[V], u32 i)
{
    pack to;
#if MOVED_WORDS && BYTES == 1
#pragma unroll
    for (u32 k = 0; k < V / 4; k++) { // four bytes of four lines
        u32 low = permute_bytes(line[4 * k].w[i / 4], line[4 * k + 1].w[i / 4], 0x40 + 0x11 * (i % 4));
        u32 high = permute_bytes(line[4 * k + 2].w[i / 4], line[4 * k + 3].w[i / 4], 0x40 + 0x11 * (i % 4));
        to.w[k] = permute_bytes(low, high, 0x5410);
    }
#elif MOVED_WORDS
#pragma unroll
    for (u32 k = 0; k < V / 2; k++)
        to.w[k] = permute_bytes(line[2 * k].w[i / 2], line[2 * k + 1].w[i / 2], i % 2 ? 0x7632 : 0x5410);
#else
#pragma unroll
    for (u32 j = 0; j < V; j++)
        to.e[j] = line[j].e[i];
#endif
    return to;
}

struct transpose { // sizes and strides in packs where they are along t in `in` and along c in `out`
    u64 tiles_t, tiles_c;
    u64 packs_t, packs_c;
    i64 in_c, out_t; // from one element along c (t) to the next, in packs
    u64 sizes[6];
    i64 in[6], out[6];
    u32 magic[8], shift[8]; // of tiles_c, tiles_t and the sizes: x / size for x below 2^31
};

// x / size number d, and x becomes the rest.
static inline u32 divided(const struct transpose *n, u32 d, u32 size, u32 *x)
{
    u32 quotient = size == 1 ? *x : mul_high(*x, n->magic[d]) >> n->shift[d];
    *x -= quotient * size;
    return quotient;
}

kernel block(THREADS) void transpose(const T *restrict from, T *restrict to, struct transpose n)
{
    kernel_launch_next();
    shared pack tile[LINES][P];
    u32 tile_c = block_x(), tile_t = divided(&n, 0, (u32)n.tiles_c, &tile_c);
    u32 rest = divided(&n, 1, (u32)n.tiles_t, &tile_t);
    i64 in_first = 0, out_first = 0;
#pragma unroll
    for (i32 d = (i32)RANK - 3; d >= 0; d--) {
        u32 index = rest;
        rest = d ? divided(&n, 2 + (u32)d, (u32)n.sizes[d], &index) : 0;
        in_first += (i64)index * n.in[d];
        out_first += (i64)index * n.out[d];
    }
    const pack *in = (const pack *)from + in_first;
    pack *out = (pack *)to + out_first;
    // Square s of a thread is STEP further along c, line s of those that it stores STEP further along t.
    u32 near = thread_x() % P, far = thread_x() / P;
    u32 first_t = tile_t * P, first_c = tile_c * P;
    const pack *load_from = in + (i64)(first_c + far) * V * n.in_c + (i64)(first_t + near);
    pack *store_to = out + (i64)(first_t * V + far) * n.out_t + (i64)(first_c + near);
    pack line[SQUARES][V]; // all of them are loaded before the first is stored
    kernel_wait_previous();
#pragma unroll
    for (u32 s = 0; s < SQUARES; s++) {
        bool is_there = first_t + near < (u32)n.packs_t && first_c + far + s * STEP < (u32)n.packs_c;
#pragma unroll
        for (u32 i = 0; i < V; i++) {
            line[s][i] = (pack){};
            if (is_there)
                line[s][i] = load_from[(i64)(s * STEP * V + i) * n.in_c];
        }
    }
#pragma unroll
    for (u32 s = 0; s < SQUARES; s++)
#pragma unroll
        for (u32 i = 0; i < V; i++)
            tile[near * V + i][(far + s * STEP) ^ near] = turned(line[s], i);
    barrier();
#pragma unroll
    for (u32 s = 0; s < LINES / STEP; s++) {
        u32 t = (far + s * STEP) / V;
        if (first_t + t < (u32)n.packs_t && first_c + near < (u32)n.packs_c)
            store_to[(i64)(s * STEP) * n.out_t] = tile[far + s * STEP][near ^ t];
    }
}
