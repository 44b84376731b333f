// Marks of a kernel that are none, in several forms. Behind the type one is understood.
#include <kiln/kernel.h>

kernel threads(64) void a(f32 *x) { x[thread_x()] = 1; }

kernel blocks(64) void b(f32 *x) { x[thread_x()] = 1; }

kernel(64) void c(f32 *x) { x[thread_x()] = 1; }

kernel block 64 void d(f32 *x) { x[thread_x()] = 1; }

kernel void block(64) e(f32 *x) { x[thread_x()] = 1; }
