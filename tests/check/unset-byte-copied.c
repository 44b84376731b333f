// K6203: A byte of a record that is not set, beside one that is, was copied twice and is read.
#include <kiln/kernel.h>

typedef struct pair {
    u8 first, second;
    u16 both;
} pair;

//! run copied block=32 (u32[32])
kernel block(32) void copied(u32 *out)
{
    pair own, copy, again;
    own.first = (u8)lane();
    own.both = 1;
    copy = own;
    again = copy;
    out[lane()] = again.first + again.both + again.second;
}
