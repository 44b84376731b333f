// The loops over kept and reduced elements, for kernels with the choices RANK, KEPT_RANK and LONG.
#ifndef REDUCE_LOOPS_H
#define REDUCE_LOOPS_H

#ifdef LONG // 2^31 packs and more
#    define NEST_LONG 1
typedef u64 place;
#else
#    define NEST_LONG 0
typedef u32 place;
#endif
#define NEST_RANK  RANK
#define NEST_OF    3
#define NEST_LOOPS (RANK > KEPT_RANK ? RANK : KEPT_RANK)
#include "state.h"
#include <kiln/nest.h>

#endif
