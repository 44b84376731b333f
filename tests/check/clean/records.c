// Records that are set in part and copied as a whole: what is read of them is set, so nothing is found here.
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
    out[lane()] = own[0].of[0] + own[1].of[0];
}

//! run nested block=32 (u32[64]:iota, u32[32])
kernel block(32) void nested(const u32 *in, u32 *out)
{
    struct {
        some left, right;
    } pair, copy;
    pair.left = first_of(in + lane());
    copy = pair;
    copy.right = copy.left;
    out[lane()] = copy.right.of[0];
}

// Bytes between members, and members that are not set, lie in the same words as those that are.
typedef struct padded {
    u8 kind, unused;
    u32 value;
} padded;

//! run shared_padding block=32 (u32[32]:iota, u32[64])
kernel block(32) void shared_padding(const u32 *in, u32 *out)
{
    shared padded tile[32];
    padded own, other;
    own.kind = (u8)lane();
    own.value = in[lane()];
    tile[lane()] = own;
    barrier();
    other = tile[31 - lane()];
    out[2 * lane()] = other.kind;
    out[2 * lane() + 1] = other.value;
}

static inline padded padded_of(u32 value)
{
    padded p;
    p.kind = (u8)value;
    p.value = value;
    return p;
}

//! run returned_padding block=32 (u32[32]:iota, u32[64])
kernel block(32) void returned_padding(const u32 *in, u32 *out)
{
    padded own[2], copy;
    for (u32 s = 0; s < 2; s++)
        own[s] = padded_of(in[lane()] + s);
    copy = own[1];
    out[2 * lane()] = copy.kind;
    out[2 * lane() + 1] = copy.value;
}
