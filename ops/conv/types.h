// What the kernels of convolutions are compiled for: the type T of the tensors and that of the bias,
// and INVERSE, the direction from the small tensor to the large one.
#ifndef KILN_CONV_TYPES_H
#define KILN_CONV_TYPES_H

#ifndef T
#    define T f32
#endif
#ifndef BIAS
#    define BIAS f32
#endif
#ifdef INVERSE
#    define IS_INVERSE true
#else
#    define IS_INVERSE false
#endif

#endif
