// What host functions give back is set; what they are given may be in any memory.
#include <kiln/io.h>

//! run local grid=1 block=32 (u64[32])
kernel block(32) void local(u64 *out)
{
    u8 data[16];
    u64 v;
    io_random(data, 16);
    io_random(&v, 8);
    u64 sum = v & 1u;
    for (u32 i = 0; i < 16u; i++)
        sum += data[i];
    out[thread_x()] = sum;
}

//! run shares grid=2 block=64 (u64[128])
kernel block(64) void shares(u64 *out)
{
    shared u8 text[64];
    u32 t = thread_x();
    if (t == 0u)
        io_random(text, 64);
    barrier();
    out[global_x()] = text[t ^ 1u];
}

//! run global grid=2 block=32 (u8[256])
kernel block(32) void global(u8 *out)
{
    io_random(out + 4u * (u32)global_x(), 4);
}
