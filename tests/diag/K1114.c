// A kernel in a class is not dropped in silence; one in a namespace or extern "C" counts.
#include <kiln/cuda.h>

namespace outer {
extern "C" {
__global__ void seen(int *x)
{
    x[0] = y;
}
}
}

class a {
    __global__ void hidden(int *x)
    {
        x[0] = 1;
    }
};
