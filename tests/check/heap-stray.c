// K6218: what is freed, or resized, is not what malloc gave.
#include <stdlib.h>

#include <kiln/kernel.h>

//! run inside grid=1 block=1 (u8[8])
kernel void inside(u8 *out)
{
    u8 *text = malloc(8);
    if (!text)
        return;
    for (u32 k = 0; k < 8; k++)
        text[k] = (u8)k;
    while (*text < 3)
        text++;
    out[0] = *text;
    free(text);
}

//! run foreign grid=1 block=1 (u8[8])
kernel void foreign(u8 *out)
{
    u8 *grown = realloc(out, 16);
    if (grown)
        grown[0] = 1;
}
