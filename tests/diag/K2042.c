// the same case twice, both ends shown
#include <kiln/kernel.h>

kernel void run(i32 x, i32 *out)
{
    switch (x) {
    case 1:
        out[0] = 1;
        break;
    case 1:
        out[0] = 2;
        break;
    }
}
