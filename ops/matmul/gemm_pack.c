// Copies the rows of one or two matrices to rows that begin at multiples of 16 bytes, for kernels
// that read no others (gemm_sm90.c). A thread writes 16 bytes; it reads whole words, except at the
// ends of the matrix, and shifts them. Behind a row's end comes what lies there in memory: nobody
// reads it.
#include <kiln/overlap.h>

KERNEL_OVERLAPS
enum { THREADS = 256 };

typedef struct packed {
    u64 from_pitch, to_pitch; // in bytes
    u64 end;                  // bytes up to the end of the last row
    u32 pieces;               // of 16 bytes in a row
    u32 count;                // of them in all
} packed;

// Four words that begin at any byte; nothing before or behind is read.
static u32x4 bytes_at(const u8 *from, u32 count)
{
    u32 words[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
        words[i] = 0;
#pragma unroll
        for (u32 b = 0; b < 4; b++)
            if (i * 4 + b < count)
                words[i] |= (u32)from[i * 4 + b] << (b * 8);
    }
    return (u32x4){words[0], words[1], words[2], words[3]};
}

static u32x4 words_at(const u8 *from, u32 shift)
{
    const u32 *at = (const u32 *)(from - shift);
    u32 words[5];
#pragma unroll
    for (u32 i = 0; i < 5; i++)
        words[i] = at[i];
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        words[i] = (u32)(((u64)words[i + 1] << 32 | words[i]) >> (shift * 8));
    return (u32x4){words[0], words[1], words[2], words[3]};
}

static void copy_piece(const u8 *from, u8 *to, packed p, u32 at)
{
    u32 row = at / p.pieces, begin = (at - row * p.pieces) * 16;
    u64 offset = row * p.from_pitch + begin;
    bool is_inner = offset >= 4 && offset + 20 <= p.end;
    from += offset;
    *(u32x4 *)(to + (row * p.to_pitch + begin)) =
        is_inner ? words_at(from, (u32)((u64)from & 3))
                 : bytes_at(from, (u32)min(p.end - offset, (u64)16));
}

kernel block(THREADS) void gemm_pack(const u8 *a, u8 *to_a, packed of_a, const u8 *b, u8 *to_b,
                                     packed of_b)
{
    kernel_begin();
    for (u32 at = block_x() * THREADS + thread_x(); at < of_a.count + of_b.count;
         at += grid_dim_x() * THREADS)
        if (at < of_a.count)
            copy_piece(a, to_a, of_a, at);
        else
            copy_piece(b, to_b, of_b, at - of_a.count);
}
