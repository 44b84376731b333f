// Sizes of attention's tiles that kernels and host share.
enum {
    PORTABLE_WARPS = 4,  // rows of a block of the portable kernels
    BACKWARD_KEYS = 128, // of a unit of work of backward_sm90.c
    DECODE_ROWS = 16,    // of a block of decode.c
    DECODE_GROUP = 64,   // keys that its warps have at a time
    DECODE_PARTS = 64,   // blocks that share a head's keys, at most
    FORWARD_MMA_ROWS = 128, // queries of a block of forward_mma.c with 8 warps
    BACKWARD_MMA_ROWS = 64, // queries or keys of a block of backward_mma.c
    MOST_SHIFT = 1 << 30, // keys of a window on one side, for sm_90a; rows are fewer than half as many
    SUM_BLOCK = 8192,    // numbers of a block of queries in the sum of dQ
};
#define BACKWARD_QUERIES(head_dim) (SUM_BLOCK / (head_dim)) // of a block
