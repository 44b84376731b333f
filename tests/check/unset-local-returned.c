// K6203: A record that a function returns was set in part, and the rest is read.
#include <kiln/kernel.h>

typedef struct some {
    u32 of[4];
} some;

static inline some first_of(const u32 *from)
{
    some w;
    w.of[0] = from[0];
    return w;
}

//! run returned block=32 (u32[64]:iota, u32[32])
kernel block(32) void returned(const u32 *in, u32 *out)
{
    some own[2];
    for (u32 s = 0; s < 2; s++)
        own[s] = first_of(in + lane() + s);
    out[lane()] = own[0].of[0] + own[1].of[1];
}
