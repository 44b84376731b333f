// a host function may write more than there is
#include <kiln/io.h>

//! run fills grid=1 block=1 (u8[16])
kernel block(1) void fills(u8 *out)
{
    io_random(out + 8, 16);
}
