// Data for the benchmarks (bench.h).
#include "cli/bench.h"

// Small numbers of every type by their bits: floats around 1 of both signs, bytes in -8 … 7.
void bench_fill_random(kiln_type type, uint8_t *to, size_t bytes)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < bytes; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint8_t word = (uint8_t)(state >> 56);
        size_t size_of = kiln_type_size(type), place = i % size_of;
        if (type == KILN_I8)
            to[i] = (uint8_t)((word & 15) - 8);
        else if (type == KILN_F8E4)
            to[i] = (uint8_t)((word & 0x87) | 0x30);
        else if (place == size_of - 1) // sign and exponent
            to[i] = (uint8_t)((word & 0x80) | (type == KILN_F16 ? 0x38 | (word & 3) : 0x3f));
        else
            to[i] = place == size_of - 2 && type != KILN_F16 ? word & 0x7f : word;
    }
}
