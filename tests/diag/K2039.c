// a case value that is a variable
#include <kiln/kernel.h>

kernel void run(i32 n, i32 *out)
{
    const i32 limit = 4;
    switch (n) {
    case limit:
        out[0] = 1;
        break;
    }
}
