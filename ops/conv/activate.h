// The end of a convolution: types, and the activation of a sum. T is defined before.
#ifndef KILN_CONV_ACTIVATE_H
#define KILN_CONV_ACTIVATE_H

typedef pack_number(T) number;

static inline number activate(number x)
{
#if defined(ACTIVATION_relu)
    return x < (number)0 ? (number)0 : x;
#elif defined(ACTIVATION_gelu)
    return (number)0.5 * x *
           ((number)1 + tanh((number)0.7978845608028654 * (x + (number)0.044715 * x * x * x)));
#elif defined(ACTIVATION_silu)
    return x / ((number)1 + exp(-x));
#else
    return x;
#endif
}

#endif
