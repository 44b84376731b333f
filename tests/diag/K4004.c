// eight calls on each of seven levels: more than a million instructions
#include <kiln/kernel.h>

static u32 f0(u32 x) { return x * 3 + 1; }
static u32 f1(u32 x) { return f0(f0(f0(f0(f0(f0(f0(f0(x)))))))); }
static u32 f2(u32 x) { return f1(f1(f1(f1(f1(f1(f1(f1(x)))))))); }
static u32 f3(u32 x) { return f2(f2(f2(f2(f2(f2(f2(f2(x)))))))); }
static u32 f4(u32 x) { return f3(f3(f3(f3(f3(f3(f3(f3(x)))))))); }
static u32 f5(u32 x) { return f4(f4(f4(f4(f4(f4(f4(f4(x)))))))); }
static u32 f6(u32 x) { return f5(f5(f5(f5(f5(f5(f5(f5(x)))))))); }
static u32 f7(u32 x) { return f6(f6(f6(f6(f6(f6(f6(f6(x)))))))); }

kernel void run(u32 *out)
{
    out[0] = f7(1);
}
