// Reductions over a grid: see grid.h for the order, reduce.h for the true identities.
#ifndef KILN_LIB_GRID_REDUCE_H
#define KILN_LIB_GRID_REDUCE_H
#include "grid.h"
#include "reduce.h"

#define K_EACH(name, T, OP, IDENTITY)                                   \
    static inline bool k_grid_##name##_##T(T x, T *partial, u32 *ticket) \
    {                                                                   \
        x = k_block_##name##_##T(x);                                    \
        if (thread_rank() == 0)                                         \
            atomic_store(&partial[k_grid_place()], x);                  \
        bool is_last = k_grid_is_last(ticket);                          \
        if (is_last) {                                                  \
            u32 blocks = k_grid_blocks(), n = block_threads();          \
            x = IDENTITY;                                               \
            for (u32 i = thread_rank(); i < blocks; i += n)             \
                x = OP(x, atomic_load(&partial[i]));                    \
            x = k_block_##name##_##T(x);                                \
            if (thread_rank() == 0)                                     \
                atomic_store(&partial[0], x);                           \
            barrier();                                                  \
        }                                                               \
        return is_last;                                                 \
    }

#include "reductions.h"
#endif
