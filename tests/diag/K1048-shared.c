// Shared memory is aligned to at most 1024 bytes, by _Alignas or by its type.
#include <kiln/kernel.h>

struct page {
    _Alignas(4096) i32 first;
};
kernel block(1) void f(i32 *out)
{
    _Alignas(1024) shared i32 fits[4];
    _Alignas(2048) shared i32 wide[4];
    shared struct page p;
    fits[0] = wide[0] = p.first = 1;
    out[0] = fits[0] + wide[0] + p.first;
}
