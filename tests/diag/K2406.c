// a case beyond 32 bits in a switch on i32
#include <kiln/kernel.h>

kernel void run(i32 n, i32 *out)
{
    switch (n) {
    case 0x100000000:
        out[0] = 1;
        break;
    }
}
