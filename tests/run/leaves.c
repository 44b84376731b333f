// Records at the number of scalars up to which a copy is written out (256), and one above it, in
// each form that scalars are counted in: members, a union by a member and as words, bit-fields.
// And what a name in quotes means to __has_include, and numbers at the edges of their types.
#include <kiln/kernel.h>

#include "open.h"

#define LEAVES(name, extra)                                                                        \
    typedef struct members_##name {                                                                \
        u32 a[256 + extra];                                                                        \
    } members_##name;                                                                              \
    typedef struct member_##name {                                                                 \
        u32 a[254 + extra];                                                                        \
        union {                                                                                    \
            u8 bytes[3];                                                                           \
            f32 b[2];                                                                              \
        } u;                                                                                       \
    } member_##name;                                                                               \
    typedef struct words_##name {                                                                  \
        u32 a[2 + extra];                                                                          \
        union {                                                                                    \
            struct {                                                                               \
                u32 whole;                                                                         \
                u8 part;                                                                           \
            } pairs[127];                                                                          \
            u8 bytes[3];                                                                           \
        } u;                                                                                       \
    } words_##name;                                                                                \
    typedef struct bits_##name {                                                                   \
        u32 a[255 + extra];                                                                        \
        u32 low : 5, high : 9;                                                                     \
    } bits_##name;

LEAVES(all, 0)
LEAVES(more, 1)

// Through a local, which a pointer leads to: the record itself moves.
#define COPY(type)                                                                                 \
    {                                                                                              \
        type local = *(const type *)from, *at = &local;                                            \
        at->a[i & 1] += i;                                                                         \
        *(type *)(to + 1040 * row++) = *at;                                                        \
    }

//! run leaves block=2 (u32[260]:bits, u32[2080], u32=4)
kernel block(2) void leaves(const u32 *x, u32 *out, u32 i)
{
    const u8 *from = (const u8 *)x;
    u8 *to = (u8 *)(out + 1040 * thread_x());
    u32 row = 0;
    i += thread_x();
    COPY(members_all)
    COPY(member_all)
    COPY(words_all)
    COPY(bits_all)
}

//! run leaves_more block=2 (u32[260]:bits, u32[2080], u32=4)
kernel block(2) void leaves_more(const u32 *x, u32 *out, u32 i)
{
    const u8 *from = (const u8 *)x;
    u8 *to = (u8 *)(out + 1040 * thread_x());
    u32 row = 0;
    i += thread_x();
    COPY(members_more)
    COPY(member_more)
    COPY(words_more)
    COPY(bits_more)
}

#if __has_include("open.h")
enum { QUOTED = 1 };
#else
enum { QUOTED = 2 };
#endif
#if __has_include("open.") || __has_include("pen.h")
enum { PART = 1 };
#else
enum { PART = 2 };
#endif

//! run has_include block=1 (u32[4])
kernel block(1) void has_include(u32 *out)
{
    out[0] = QUOTED;
    out[1] = PART;
    out[2] = sizeof(words_more);
    out[3] = sizeof(bits_all);
}

enum { LARGE = (i32)2000000000.0, SMALL = (i32)-2000000000.0, BYTE = (i8)100.0f };

//! run edge_numbers block=1 (f64[8])
kernel block(1) void edge_numbers(f64 *out)
{
    out[0] = LARGE;
    out[1] = SMALL;
    out[2] = BYTE;
    out[3] = 0X1.8P3;
    out[4] = 0x1.8p3;
    out[5] = 0XFFu;
}
