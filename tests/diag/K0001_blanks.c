// A comment that is never closed: blanks at the end of its line are left alone, as is a line of nothing else.
#include <kiln/kernel.h>

kernel block(32) void f(u32 *x) { x[thread_x()] = 1; } /* see below 	 

kernel block(32) void g(u32 *x) { x[thread_x()] = 2; }
