// a switch without cases
#include <kiln/kernel.h>

kernel void run(i32 n, i32 *out)
{
    switch (n) {
    }
    out[0] = n;
}
