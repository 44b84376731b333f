// Sizes of attention's tiles that kernels and host share.
enum {
    PORTABLE_WARPS = 4,  // rows of a block of the portable kernels
    DECODE_ROWS = 16,    // of a block of decode.c
    DECODE_GROUP = 64,   // keys that its warps have at a time
    DECODE_PARTS = 64,   // blocks that share a head's keys, at most
    FORWARD_MMA_ROWS = 128, // queries of a block of forward_mma.c with 8 warps
    BACKWARD_MMA_ROWS = 64, // queries or keys of a block of backward_mma.c
    PART_ROWS = 1 << 30,  // of a tensor map of parts of sequences (hopper_mask.h)
    MOST_SHIFT = 1 << 30, // keys of a window on one side, for sm_90a; rows are fewer than half as many
};
// Attention backward on sm_90a: queries of a block, keys of a unit of work, numbers of a block in the sum of dQ.
#define BACKWARD_QUERIES(head_dim) ((head_dim) <= 64 ? 128 : 64)
#define BACKWARD_KEYS(head_dim)    ((head_dim) <= 128 ? 128 : 64)
#define SUM_BLOCK(head_dim)        (BACKWARD_QUERIES(head_dim) * (head_dim))
