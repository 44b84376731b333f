// two threads let a host function write the same bytes
#include <kiln/io.h>

//! run fills grid=1 block=64 (u8[16])
kernel block(64) void fills(u8 *out)
{
    io_random(out, 16);
}
