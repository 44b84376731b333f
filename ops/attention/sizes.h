// Sizes of attention's tiles that kernels and host share.
enum {
    PORTABLE_WARPS = 4,  // rows of a block of the portable kernels
    BACKWARD_KEYS = 128, // of a unit of work of backward_sm90.c
    SUM_BLOCK = 8192,    // numbers of a block of queries in the sum of dQ
};
#define BACKWARD_QUERIES(head_dim) (SUM_BLOCK / (head_dim)) // of a block
