// Where am I: one, two and three dimensions, partial warps, dynamic shared memory's size.
#include <kiln/kernel.h>

#define EVERYTHING(o)                                                                              \
    o[0] = thread_x() | thread_y() << 8 | thread_z() << 16;                                        \
    o[1] = block_x() | block_y() << 8 | block_z() << 16;                                           \
    o[2] = block_dim_x() | block_dim_y() << 10 | block_dim_z() << 20;                              \
    o[3] = grid_dim_x() | grid_dim_y() << 10 | grid_dim_z() << 20;                                 \
    o[4] = global_x();                                                                             \
    o[5] = global_y();                                                                             \
    o[6] = global_z();                                                                             \
    o[7] = thread_rank();                                                                          \
    o[8] = block_threads();                                                                        \
    o[9] = lane();                                                                                 \
    o[10] = warp();                                                                                \
    o[11] = warp_count() | warp_lanes() << 16;

//! run everywhere grid=1 block=1 (u32[12])
//! run everywhere grid=5 block=70 (u32[4200])
//! run everywhere grid=2,3 block=8,6 (u32[3456])
//! run everywhere grid=2,2,3 block=5,3,4 (u32[8640])
//! run everywhere grid=1,1,4 block=1,1,33 (u32[1584])
kernel void everywhere(u32 *out)
{
    u32 at = block_x() + grid_dim_x() * (block_y() + grid_dim_y() * block_z());
    u32 *o = out + 12 * (at * block_threads() + thread_rank());
    EVERYTHING(o)
}

//! run fixed_block grid=3,2 block=16,4,2 (u32[9216])
kernel block(16, 4, 2) void fixed_block(u32 *out)
{
    u32 at = block_x() + grid_dim_x() * block_y();
    u32 *o = out + 12 * (at * block_threads() + thread_rank());
    EVERYTHING(o)
}

//! run fixed_row grid=3 block=96 (u32[3456])
kernel block(96) void fixed_row(u32 *out)
{
    u32 *o = out + 12 * global_x();
    EVERYTHING(o)
}

//! run fixed_plane grid=2,2 block=8,4 (u32[1536])
kernel block(8, 4) void fixed_plane(u32 *out)
{
    u32 width = block_dim_x() * grid_dim_x();
    u32 *o = out + 12 * (global_y() * width + global_x());
    EVERYTHING(o)
}

//! run marked grid=2 block=32 (u32[64])
kernel block(32) min_blocks(2) max_registers(64) void marked(u32 *out)
{
    out[global_x()] = block_dim_x() * 3;
}

//! run grid_stride grid=3 block=32 (u32[1000], u32=1000)
kernel void grid_stride(u32 *out, u32 n)
{
    for (u32 i = global_x(); i < n; i += grid_dim_x() * block_dim_x())
        out[i] = i * i + block_x();
}

//! run transpose_2d grid=3,2 block=8,8 (u32[384]:iota, u32[384], u32=24, u32=16)
kernel void transpose_2d(const u32 *in, u32 *out, u32 width, u32 height)
{
    u32 x = global_x(), y = global_y();
    if (x < width && y < height)
        out[x * height + y] = in[y * width + x];
}

#ifdef __KILN__
shared u32 dynamic[];
#else
dynamic_shared(u32, dynamic);
#endif
//! run dynamic_tile grid=2 block=48 shared=192 (u32[96]:rand, u32[98])
kernel void dynamic_tile(const u32 *in, u32 *out)
{
    u32 i = thread_x();
    dynamic[i] = in[global_x()];
    barrier();
    out[global_x()] = dynamic[47 - i] + dynamic_shared_bytes();
    if (i == 0)
        out[96 + block_x()] = dynamic_shared_bytes() / 4;
}

dynamic_shared(f32, floats);
//! run dynamic_halves block=32 shared=512 (f32[32]:rand, f32[32])
kernel block(32) void dynamic_halves(const f32 *in, f32 *out)
{
    f32 *low = floats, *high = floats + 64;
    u32 i = thread_x();
    low[i] = in[i];
    high[i] = in[i] * 2;
    barrier();
    out[i] = low[31 - i] - high[i ^ 1];
}

//! run targets block=1 (u32[8])
kernel void targets(u32 *out)
{
    if (target_sm() >= 90 && target_is_cuda())
        out[0] = 1000;
    else
        out[0] = 1;
    out[1] = target_is_vulkan() || target_is_opencl() || target_is_webgpu() || target_is_hip() ||
             target_is_metal();
    // one of these is true wherever this runs
    out[2] = target_is_host() + target_is_interp() + target_is_cpu() + target_is_cuda() +
             target_is_vulkan() + target_is_opencl() + target_is_webgpu() + target_is_hip() +
             target_is_metal();
}
