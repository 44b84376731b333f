// Growable arrays in an arena:  vec(token) list = {0};  vec_push(arena, &list, tok);  list.at[i]
#ifndef KILN_VEC_H
#define KILN_VEC_H

#include "base/arena.h"

#define vec(type)                                                                                  \
    struct {                                                                                       \
        type *at;                                                                                  \
        uint32_t len, cap;                                                                         \
    }

// What lies past `len` is not zeroed.
#define vec_reserve(a, v, want)                                                                    \
    do {                                                                                           \
        if ((v)->cap < (want)) {                                                                   \
            uint32_t new_cap_ = (v)->cap ? (v)->cap * 2 : 8;                                       \
            while (new_cap_ < (want))                                                              \
                new_cap_ *= 2;                                                                     \
            (v)->at = arena_extend((a), (v)->at, (size_t)(v)->cap * sizeof *(v)->at,               \
                                   (size_t)new_cap_ * sizeof *(v)->at);                            \
            (v)->cap = new_cap_;                                                                   \
        }                                                                                          \
    } while (0)

#define vec_push(a, v, ...)                                                                        \
    do {                                                                                           \
        vec_reserve((a), (v), (v)->len + 1);                                                       \
        (v)->at[(v)->len++] = (__VA_ARGS__);                                                       \
    } while (0)

#define vec_pop(v)  ((v)->at[--(v)->len])
#define vec_last(v) ((v)->at[(v)->len - 1])

#endif
