// kiln/moved.h: elements that are only moved, in packs. BYTES (1, 2, 4, 8) is the size of an
// element, V how many are a pack, at most 16 bytes. T is an element as bits; a pack is moved with
// one access.
#ifndef KILN_MOVED_H
#define KILN_MOVED_H

#include <kiln/kernel.h>
#include <kiln/overlap.h>

#ifndef BYTES
#    define BYTES 4
#endif
#ifndef V
#    define V 4
#endif
#if BYTES == 1
#    define T u8
#elif BYTES == 2
#    define T u16
#elif BYTES == 4
#    define T u32
#else
#    define T u64
#endif

#if V * BYTES >= 4 && BYTES < 4 // words are moved at once, narrower elements one by one
#    define MOVED_WORDS 1
typedef struct pack {
    _Alignas(V *BYTES) u32 w[V * BYTES / 4];
} pack;
#else
#    define MOVED_WORDS 0
typedef struct pack {
    _Alignas(V *BYTES) T e[V];
} pack;
#endif

#endif
