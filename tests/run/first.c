// The smallest of everything: one statement, one barrier, one warp operation.
#include <kiln/kernel.h>

//! run add_one grid=2 block=64 (u32[128]:iota)
kernel block(64) void add_one(u32 *a)
{
    a[global_x()] += 1;
}

static bool is_reversed(const u32 *in, const u32 *out)
{
    for (u32 i = 0; i < 96; i++)
        if (out[i] != in[95 - i])
            return false;
    return true;
}

//! run reverse block=96 check=is_reversed (u32[96]:rand, u32[96])
kernel block(96) void reverse(const u32 *in, u32 *out)
{
    shared u32 tile[96];
    u32 i = thread_x();
    tile[i] = in[i];
    barrier();
    out[i] = tile[95 - i];
}

//! run neighbours block=50 (f32[50]:rand, f32[50])
kernel void neighbours(const f32 *in, f32 *out)
{
    u32 i = thread_x();
    f32 mine = in[i];
    out[i] = shuffle_up(mine, 1) + shuffle_down(mine, 1) + shuffle_xor(mine, 5) + shuffle(mine, 3);
}

//! run nothing grid=3 block=32 ()
kernel void nothing(void) {}

static bool saxpy_is_right(f32 a, const f32 *x, const f32 *y, u32 n)
{
    for (u32 i = 0; i < n; i++)
        if (y[i] != a * x[i] + (f32)i)
            return false;
    return true;
}

//! run saxpy grid=4 block=64 check=saxpy_is_right (f32=2.5, f32[200]:rand, f32[200]:iota, u32=200)
kernel block(64) void saxpy(f32 a, const f32 *x, f32 *y, u32 n)
{
    u32 i = global_x();
    if (i < n)
        y[i] = a * x[i] + y[i];
}
