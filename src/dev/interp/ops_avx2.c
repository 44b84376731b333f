// The lane loops once more, compiled for processors with AVX2 and FMA (elsewhere a plain copy that
// nobody uses), and the choice between the two.
#define LANE_NAME(name) name##_avx2

#if defined(__x86_64__) && defined(__clang__)
#    pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#elif defined(__x86_64__) && defined(__GNUC__)
#    pragma GCC push_options
#    pragma GCC target("avx2,fma")
#endif

// clang-format off
#include "dev/interp/ops_int.c"
#include "dev/interp/ops_float.c"
#include "dev/interp/ops_convert.c"
// clang-format on

#if defined(__x86_64__) && defined(__clang__)
#    pragma clang attribute pop
#elif defined(__x86_64__) && defined(__GNUC__)
#    pragma GCC pop_options
#endif

bool lane_has_fast(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

lane_fn *lane_find(ir_op op, ir_type type, ir_type from, bool fast)
{
    if ((op >= IR_TRUNC && op <= IR_FNARROW) || (op >= IR_HADD2 && op <= IR_HMAX2))
        return fast ? lane_find_convert_avx2(op, type, from) : lane_find_convert(op, type, from);
    lane_fn *fn = fast ? lane_find_int_avx2(op, type) : lane_find_int(op, type);
    if (fn)
        return fn;
    return fast ? lane_find_float_avx2(op, type) : lane_find_float(op, type);
}
