// a switch on a float
#include <kiln/kernel.h>

kernel void run(f32 x, i32 *out)
{
    switch (x) {
    case 1:
        out[0] = 1;
        break;
    }
}
