// A typographic minus and a full-width bracket: two errors with fix-its; carets line up after a tab and a wide character.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
	x[0] = x[1] − 1.0f; /* 差 */ x[2] = fabs（x[3]);
}
