// What OpenCL's functions mean to NVIDIA's compiler, as far as Kiln's text uses them (src/back/ctext/opencl.cl). In front of a text that clang
// turns into IR for NVVM (opencl.c).
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef ulong size_t;

#define FN static inline __attribute__((always_inline, overloadable))
#define as_uint(x) __builtin_astype((x), uint)
#define as_ulong(x) __builtin_astype((x), ulong)
#define as_float(x) __builtin_astype((x), float)
#define as_double(x) __builtin_astype((x), double)

// --- the place of a thread
#define AXIS(d, name) ((d) == 0 ? __nvvm_read_ptx_sreg_##name##_x() : (d) == 1 ? __nvvm_read_ptx_sreg_##name##_y() : __nvvm_read_ptx_sreg_##name##_z())
FN size_t get_local_id(uint d) { return (uint)AXIS(d, tid); }
FN size_t get_local_size(uint d) { return (uint)AXIS(d, ntid); }
FN size_t get_group_id(uint d) { return (uint)AXIS(d, ctaid); }
FN size_t get_num_groups(uint d) { return (uint)AXIS(d, nctaid); }
FN void barrier(uint flags) { __nvvm_bar_sync(0); }

// --- numbers
FN uint min(uint a, uint b) { return a < b ? a : b; }
FN uint popcount(uint x) { return (uint)__builtin_popcount(x); }
FN ulong popcount(ulong x) { return (ulong)__builtin_popcountl(x); }
FN uint clz(uint x) { return x ? (uint)__builtin_clz(x) : 32; }
FN ulong clz(ulong x) { return x ? (ulong)__builtin_clzl(x) : 64; }
FN uint mul_hi(uint a, uint b) { return (uint)__nvvm_mulhi_ui(a, b); }
FN int mul_hi(int a, int b) { return __nvvm_mulhi_i(a, b); }
ulong upper_product_u(ulong a, ulong b) __asm__("llvm.nvvm.mulhi.ull"); // clang's own builtins have 128 bits in OpenCL C
long upper_product(long a, long b) __asm__("llvm.nvvm.mulhi.ll");
FN ulong mul_hi(ulong a, ulong b) { return upper_product_u(a, b); }
FN long mul_hi(long a, long b) { return upper_product(a, b); }
FN float sqrt(float x) { return __nvvm_sqrt_rn_f(x); }
FN double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
FN float fma(float x, float y, float z) { return __nvvm_fma_rn_f(x, y, z); }
FN double fma(double x, double y, double z) { return __nvvm_fma_rn_d(x, y, z); }
FN float floor(float x) { return __nvvm_floor_f(x); }
FN double floor(double x) { return __nvvm_floor_d(x); }
FN float ceil(float x) { return __nvvm_ceil_f(x); }
FN double ceil(double x) { return __nvvm_ceil_d(x); }
FN float trunc(float x) { return __nvvm_trunc_f(x); }
FN double trunc(double x) { return __nvvm_trunc_d(x); }
FN float rint(float x) { return __builtin_rintf(x); }
FN double rint(double x) { return __builtin_rint(x); }
FN float native_exp2(float x) { return __nvvm_ex2_approx_f(x); }
FN float native_log2(float x) { return __nvvm_lg2_approx_f(x); }
FN float native_sin(float x) { return __nvvm_sin_approx_f(x); }
FN float native_cos(float x) { return __nvvm_cos_approx_f(x); }
FN float native_recip(float x) { return __nvvm_rcp_approx_ftz_d(x); }
FN float native_rsqrt(float x) { return __nvvm_rsqrt_approx_f(x); }
FN float native_sqrt(float x) { return __nvvm_sqrt_approx_f(x); }
FN float native_divide(float x, float y) { return __nvvm_div_approx_f(x, y); }
FN float tanh(float x) { float y; asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }

// --- atomics
#define ATOMIC(Q) \
    FN uint atomic_add(volatile Q uint *p, uint v) { return __sync_fetch_and_add(p, v); } \
    FN uint atomic_and(volatile Q uint *p, uint v) { return __sync_fetch_and_and(p, v); } \
    FN uint atomic_or(volatile Q uint *p, uint v) { return __sync_fetch_and_or(p, v); } \
    FN uint atomic_xor(volatile Q uint *p, uint v) { return __sync_fetch_and_xor(p, v); } \
    FN uint atomic_xchg(volatile Q uint *p, uint v) { return __sync_swap(p, v); } \
    FN int atomic_min(volatile Q int *p, int v) { return __sync_fetch_and_min(p, v); } \
    FN int atomic_max(volatile Q int *p, int v) { return __sync_fetch_and_max(p, v); } \
    FN uint atomic_min(volatile Q uint *p, uint v) { return __sync_fetch_and_umin(p, v); } \
    FN uint atomic_max(volatile Q uint *p, uint v) { return __sync_fetch_and_umax(p, v); } \
    FN uint atomic_cmpxchg(volatile Q uint *p, uint e, uint v) { return __sync_val_compare_and_swap(p, e, v); } \
    FN ulong atom_cmpxchg(volatile Q ulong *p, ulong e, ulong v) { return __sync_val_compare_and_swap(p, e, v); }
ATOMIC(__global) ATOMIC(__local)
