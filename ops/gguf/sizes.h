// What all kernels of gguf are told; host_gguf.h has the same.
struct sizes {
    u64 m, n, units;              // rows of x, rows of weights, units of 16 elements in a row
    i64 x_row, x_step;            // distances in elements
    i64 w_row;                    // in bytes
    i64 out_row, out_step, bias_step;
};
