// What every launch on the threads of this process does before and after the kernel.
#ifdef __x86_64__
#    include <xmmintrin.h>
#else
#    include <fenv.h>
#endif

#include "dev/host/host.h"

// The program may have chosen another rounding, flushed small numbers to zero or turned on traps:
// kernels compute as they always do.
#ifdef __x86_64__
typedef unsigned float_state;
static float_state plain_floats(void)
{
    float_state before = _mm_getcsr();
    _mm_setcsr(0x1f80);
    return before;
}
static void put_floats_back(const float_state *before)
{
    _mm_setcsr(*before);
}
#else
typedef fenv_t float_state;
static float_state plain_floats(void)
{
    float_state before;
    fegetenv(&before);
    fesetenv(FE_DFL_ENV);
    return before;
}
static void put_floats_back(const float_state *before)
{
    fesetenv(before);
}
#endif

// What functions that kernels called have freed or outgrown.
static void host_launches_ended(kiln *k)
{
    context_drop_late(k);
    host_free_old_tables(host_of(k));
}

kiln_status host_launch(kiln_kernel *kernel, const rt_launch *l,
                        kiln_status (*run)(kiln_kernel *kernel, const rt_launch *l))
{
    kiln *k = kernel->module->k;
    if (l->stream && l->stream->capture)
        return capture_launch(l->stream->capture, kernel, l);
    bool is_within = __atomic_fetch_add(&k->launches, 1, __ATOMIC_RELAXED) != 0;
    if (!is_within) // a host function may launch: that forgets nothing of the kernel that called it
        __atomic_store_n(&k->cancel, 0, __ATOMIC_RELAXED);
    k->has_lost_print = is_within && k->has_lost_print;
    __atomic_store_n(&k->blocks_taken, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&k->blocks_all, (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
                     __ATOMIC_RELAXED);
    float_state before = plain_floats();
    kiln_status status = run(kernel, l);
    put_floats_back(&before);
    if (__atomic_sub_fetch(&k->launches, 1, __ATOMIC_RELAXED) == 0)
        host_launches_ended(k);
    return status;
}
