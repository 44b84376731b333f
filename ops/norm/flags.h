// The choices of a norm (axes.def) as numbers, for conditions in kernels.
#ifndef NORM_FLAGS_H
#define NORM_FLAGS_H

#ifdef RMS
#    define IS_RMS 1
#else
#    define IS_RMS 0
#endif
#ifdef ADD
#    define IS_ADDED 1
#else
#    define IS_ADDED 0
#endif
#ifdef WEIGHT
#    define HAS_WEIGHT 1
#else
#    define HAS_WEIGHT 0
#endif
#ifdef BIAS
#    define HAS_BIAS 1
#else
#    define HAS_BIAS 0
#endif

#endif
