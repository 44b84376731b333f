// memcpy, memmove, memset, memcmp: constant and variable counts, overlapping, through unions of
// pointers to every kind of memory.
#include <kiln/kernel.h>

struct odd {
    u8 kind;
    u32 value;
    u16 rest[3];
};

//! run bytes_known block=32 (u32[64]:bits, u32[96], f32[32])
kernel void bytes_known(const u32 *in, u32 *out, f32 *floats)
{
    u32 t = thread_x();
    u32 words[3] = {in[t], in[t + 1], in[t + 2]};
    f32 x = (f32)(i32)(words[0] % 1000), y;
    u32 bits;
    memcpy(&bits, &x, sizeof bits);
    bits ^= 0x80000000u;
    memcpy(&y, &bits, 4);
    floats[t] = y;
    u8 raw[12];
    memcpy(raw, words, sizeof raw);
    memmove(raw + 1, raw, 10);
    memset(raw + 4, 0x5a, 2);
    memcpy(out + 3 * t, raw, 12);
}

//! run bytes_counted block=16 (u8[512]:bits, u8[512]:bits, i32[64])
kernel void bytes_counted(u8 *a, const u8 *b, i32 *out)
{
    u32 t = thread_x();
    u8 *to = a + 32 * t;
    const u8 *from = b + 32 * t;
    memcpy(to, from, t);
    memmove(to + 3, to, 20 - t);
    memmove(to + 8, to + 10, t);
    memset(to + 24, (i32)t, 8 - t % 8);
    i32 order = memcmp(to, from, t), same = memcmp(to, to, 32);
    out[4 * t] = (order > 0) - (order < 0);
    out[4 * t + 1] = same;
    u8 *end = (u8 *)memset(to, 0, 0) + 1;
    out[4 * t + 2] = (i32)(end - to);
    i32 first = memcmp(from, b, 4);
    out[4 * t + 3] = (first > 0) - (first < 0);
}

//! run bytes_shared block=16 (u32[64]:bits, u32[64])
kernel void bytes_shared(const u32 *in, u32 *out)
{
    shared struct odd tile[16];
    u32 t = thread_x();
    struct odd own = {(u8)t, in[t], {1, 2, 3}};
    memcpy(&tile[t], &own, sizeof own);
    barrier();
    struct odd other;
    memset(&other, 0, sizeof other);
    memcpy(&other, &tile[15 - t], offsetof(struct odd, rest));
    u32 copy[4];
    memcpy(copy, in + 4 * t, 16);
    out[4 * t] = other.value + other.rest[0];
    out[4 * t + 1] = other.kind;
    out[4 * t + 2] = copy[0] ^ copy[1];
    out[4 * t + 3] = copy[2] ^ copy[3];
}

// Records that are copied and cleared by a loop, in words as wide as their alignment.
struct many_bytes {
    u8 at[301];
};
struct many_halves {
    u16 at[301];
};
//! run bytes_of_long_records block=4 (u8[1204]:bits, u16[1204]:bits, u8[1204], u16[1204])
kernel void bytes_of_long_records(const u8 *a, const u16 *b, u8 *c, u16 *d)
{
    u32 t = thread_x();
    const struct many_bytes *bytes = (const struct many_bytes *)a;
    const struct many_halves *halves = (const struct many_halves *)b;
    struct many_halves cleared = {{0}};
    ((struct many_bytes *)c)[t] = bytes[3 - t];
    ((struct many_halves *)d)[t] = t == 1 ? cleared : halves[3 - t];
}
