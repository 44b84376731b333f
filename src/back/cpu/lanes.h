// clang-format off
// The text in front of every kernel's C code: 32-lane values and all operations on them. It is embedded in the library and compiled with
// the kernel by the system's C compiler, never with Kiln itself.
//
// A V4 is 32 lanes of 32 bits, a V8 of 64 bits, an M one truth a lane; each is as many native vectors as that takes. Floats travel as
// their bits. Narrow types live zero-extended in a V4. Scalar forms (add_u32 …) define an operation; vector forms (add_i4 …) are native
// where there is an instruction, else a loop over the lanes. Start reading at `struct kw`, what a warp is given.
//
// A line "//@ names" starts a part that is compiled only when the kernel, or another part that is compiled, has one of these names in it
// (a star stands for anything; what macros paste together is told in a comment); "//@" alone a part that always is. See prelude.c.
#include <stdint.h>

#define IN static inline __attribute__((always_inline, unused))
#define FAR static __attribute__((noinline, unused))

struct kw { // one warp; the same struct is in dev/cpu/cpu.h
    const uint64_t *args; // scalars, buffer addresses, addresses of structs
    uint8_t *shared, *dynamic, *local;
    const uint32_t *thread[3]; // coordinates of the 32 lanes
    const volatile int *cancel;
    void (*barrier)(struct kw *, uint32_t site);
    void (*yield)(struct kw *);
    void (*fault)(struct kw *, uint32_t kind, uint32_t site, uint32_t lanes);
    void (*print)(struct kw *, uint32_t site, uint32_t lanes, const uint64_t *args); // args[k * 32 + lane]
    int (*host)(struct kw *, uint32_t site, uint32_t lanes, const uint64_t *args, uint64_t *got); // 0: the kernel stops
    uint64_t (*time)(struct kw *, uint32_t kind);
    uint64_t values[2]; // of a fault
    uint32_t block[3], block_dim[3], grid_dim[3];
    uint32_t warp, warp_end, live, threads, dynamic_bytes; // this warp, up to which one to go on; its lanes; threads of the block
    uint32_t streams; // the results are larger than the caches
};

// Goes on to the next warp of the block; 0: this was the last to run here.
IN int next_warp(struct kw *w)
{
    if (++w->warp >= w->warp_end)
        return 0;
    uint32_t left = w->threads - w->warp * 32;
    w->thread[0] += 32;
    w->thread[1] += 32;
    w->thread[2] += 32;
    w->live = left >= 32 ? 0xffffffffu : (1u << left) - 1;
    return 1;
}

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define VB 64
#define E4(X) X(0) X(1)
#define E8(X) X(0) X(1) X(2) X(3)
#define H4(X) X(0, 0, 1) X(1, 2, 3) // a V4 part and the V8 parts of its lanes
#define EVENS 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define LOWS(z) 0, 16 + z, 1, 17 + z, 2, 18 + z, 3, 19 + z, 4, 20 + z, 5, 21 + z, 6, 22 + z, 7, 23 + z
#define HIGHS(z) 8, 24 + z, 9, 25 + z, 10, 26 + z, 11, 27 + z, 12, 28 + z, 13, 29 + z, 14, 30 + z, 15, 31 + z
#define FIRST_HALF 0, 1, 2, 3, 4, 5, 6, 7
#define SECOND_HALF 8, 9, 10, 11, 12, 13, 14, 15
#define IOTA4(i) {16 * i, 16 * i + 1, 16 * i + 2, 16 * i + 3, 16 * i + 4, 16 * i + 5, 16 * i + 6, 16 * i + 7, 16 * i + 8, 16 * i + 9, 16 * i + 10, 16 * i + 11, 16 * i + 12, 16 * i + 13, 16 * i + 14, 16 * i + 15}
#define IOTA8(i) {8 * i, 8 * i + 1, 8 * i + 2, 8 * i + 3, 8 * i + 4, 8 * i + 5, 8 * i + 6, 8 * i + 7}
#elif defined(__AVX2__)
#define VB 32
#define E4(X) X(0) X(1) X(2) X(3)
#define E8(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define H4(X) X(0, 0, 1) X(1, 2, 3) X(2, 4, 5) X(3, 6, 7)
#define EVENS 0, 2, 4, 6, 8, 10, 12, 14
#define LOWS(z) 0, 8 + z, 1, 9 + z, 2, 10 + z, 3, 11 + z
#define HIGHS(z) 4, 12 + z, 5, 13 + z, 6, 14 + z, 7, 15 + z
#define FIRST_HALF 0, 1, 2, 3
#define SECOND_HALF 4, 5, 6, 7
#define IOTA4(i) {8 * i, 8 * i + 1, 8 * i + 2, 8 * i + 3, 8 * i + 4, 8 * i + 5, 8 * i + 6, 8 * i + 7}
#define IOTA8(i) {4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3}
#else
#define VB 16
#define E4(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define E8(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define H4(X) X(0, 0, 1) X(1, 2, 3) X(2, 4, 5) X(3, 6, 7) X(4, 8, 9) X(5, 10, 11) X(6, 12, 13) X(7, 14, 15)
#define EVENS 0, 2, 4, 6
#define LOWS(z) 0, 4 + z, 1, 5 + z
#define HIGHS(z) 2, 6 + z, 3, 7 + z
#define FIRST_HALF 0, 1
#define SECOND_HALF 2, 3
#define IOTA4(i) {4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3}
#define IOTA8(i) {2 * i, 2 * i + 1}
#endif
#define W4 (VB / 4)
#define W8 (VB / 8)
typedef uint32_t vu __attribute__((vector_size(VB)));
typedef int32_t vi __attribute__((vector_size(VB)));
typedef float vf __attribute__((vector_size(VB)));
typedef uint64_t vq __attribute__((vector_size(VB)));
typedef int64_t vl __attribute__((vector_size(VB)));
typedef double vd __attribute__((vector_size(VB)));
typedef float vfh __attribute__((vector_size(VB / 2)));
typedef int32_t vih __attribute__((vector_size(VB / 2)));
typedef uint32_t vuh __attribute__((vector_size(VB / 2)));
#define DECLARE4(i) vu p##i;
#define DECLARE8(i) vq p##i;
typedef struct { E4(DECLARE4) } V4;
typedef struct { E8(DECLARE8) } V8;
typedef union { V4 v; uint32_t u[32]; float f[32]; } A4;
typedef union { V8 v; uint64_t u[32]; double f[32]; } A8;
#define ALL 0xffffffffu
#define FOR_LANES for (int l = 0; l < 32; l++)
#define FOR_BITS(mask) for (uint32_t b_ = (mask), l; b_ && (l = (uint32_t)__builtin_ctz(b_), 1); b_ &= b_ - 1)

#define BODY4(name, X) IN V4 name { V4 r; E4(X) return r; }
#define BODY8(name, X) IN V8 name { V8 r; E8(X) return r; }

// --- the same in all lanes, and counting lanes
#define P(i) r.p##i = (vu){0} + x;
BODY4(s4(uint32_t x), P)
#undef P
#define P(i) r.p##i = (vq){0} + x;
BODY8(s8(uint64_t x), P)
#undef P
IN uint32_t bits_f32(float x) { uint32_t r; __builtin_memcpy(&r, &x, 4); return r; }
IN uint64_t bits_f64(double x) { uint64_t r; __builtin_memcpy(&r, &x, 8); return r; }
IN float f32_bits(uint32_t x) { float r; __builtin_memcpy(&r, &x, 4); return r; }
IN double f64_bits(uint64_t x) { double r; __builtin_memcpy(&r, &x, 8); return r; }
IN V4 sf4(float x) { return s4(bits_f32(x)); }
IN V8 sf8(double x) { return s8(bits_f64(x)); }
#define P(i) r.p##i = (vu)IOTA4(i) * step + base;
BODY4(af4(uint32_t base, uint32_t step), P)
#undef P
#define P(i) r.p##i = (vq)IOTA8(i) * step + base;
BODY8(af8(uint64_t base, uint64_t step), P)
#undef P

// --- truths
#if VB == 64
typedef uint32_t M;
IN uint32_t bits(M m) { return m; }
IN M m_of(uint32_t b) { return b; }
IN M m_and(M a, M b) { return a & b; }
IN M m_or(M a, M b) { return a | b; }
IN M m_xor(M a, M b) { return a ^ b; }
IN M m_not(M a) { return ~a; }
IN M m_less(M a, M b) { return a & ~b; }
#ifdef __clang__
#define BLEND4(m, a, b) (vu)__builtin_ia32_selectd_512((uint16_t)(m), (vi)(a), (vi)(b))
#define BLEND8(m, a, b) (vq)__builtin_ia32_selectq_512((uint8_t)(m), (vl8)(a), (vl8)(b))
#else
#define BLEND4(m, a, b) (vu)__builtin_ia32_blendmd_512_mask((vi)(b), (vi)(a), (uint16_t)(m))
#define BLEND8(m, a, b) (vq)__builtin_ia32_blendmq_512_mask((vl8)(b), (vl8)(a), (uint8_t)(m))
#endif
typedef long long vl8 __attribute__((vector_size(64)));
#define P(i) r.p##i = BLEND4(m >> (16 * i), a.p##i, b.p##i);
BODY4(sel4(M m, V4 a, V4 b), P)
#undef P
#define P(i) r.p##i = BLEND8(m >> (8 * i), a.p##i, b.p##i);
BODY8(sel8(M m, V8 a, V8 b), P)
#undef P
IN M selm(M m, M a, M b) { return (a & m) | (b & ~m); }
// gcc 12 folds the widening of a mask into the compare; when the wide value goes to the stack it stores its 16 or 8 bits and reads
// 32 back. The asm, which has no instruction, keeps the two apart.
#ifdef __clang__
IN uint16_t mask16(uint16_t k) { return k; }
IN uint8_t mask8(uint8_t k) { return k; }
#else
IN uint16_t mask16(uint16_t k) { __asm__("" : "+k"(k)); return k; }
IN uint8_t mask8(uint8_t k) { __asm__("" : "+k"(k)); return k; }
#endif
#define COMPARE4(name, builtin, type, code) \
    IN M name(V4 a, V4 b) { return (uint32_t)builtin((type)a.p0, (type)b.p0, code) | (uint32_t)builtin((type)a.p1, (type)b.p1, code) << 16; }
#define COMPARE8(name, builtin, type, code) \
    IN M name(V8 a, V8 b) { return (uint32_t)builtin((type)a.p0, (type)b.p0, code) | (uint32_t)builtin((type)a.p1, (type)b.p1, code) << 8 | \
        (uint32_t)builtin((type)a.p2, (type)b.p2, code) << 16 | (uint32_t)builtin((type)a.p3, (type)b.p3, code) << 24; }
#define CMPD(a, b, c) mask16(__builtin_ia32_cmpd512_mask(a, b, c, (uint16_t)-1))
#define CMPUD(a, b, c) mask16(__builtin_ia32_ucmpd512_mask(a, b, c, (uint16_t)-1))
#define CMPQ(a, b, c) mask8(__builtin_ia32_cmpq512_mask(a, b, c, (uint8_t)-1))
#define CMPUQ(a, b, c) mask8(__builtin_ia32_ucmpq512_mask(a, b, c, (uint8_t)-1))
#define CMPS(a, b, c) mask16(__builtin_ia32_cmpps512_mask(a, b, c, (uint16_t)-1, 4))
#define CMPP(a, b, c) mask8(__builtin_ia32_cmppd512_mask(a, b, c, (uint8_t)-1, 4))
#else
typedef V4 M; // 0 or all ones
#if VB == 32
#define PART_BITS(v) (uint32_t)__builtin_ia32_movmskps256((vf)(v))
#elif defined(__SSE2__)
#define PART_BITS(v) (uint32_t)__builtin_ia32_movmskps((vf)(v))
#else
#define PART_BITS(v) (((v)[0] & 1) | ((v)[1] & 2) | ((v)[2] & 4) | ((v)[3] & 8))
#endif
#define P(i) r |= PART_BITS(m.p##i) << (W4 * i);
IN uint32_t bits(M m) { uint32_t r = 0; E4(P) return r; }
#undef P
#define P(i) r.p##i = (vu)((((vu){0} + b) & ((vu){0} + 1) << (vu)IOTA4(i)) != 0);
BODY4(m_of(uint32_t b), P)
#undef P
#define P(i) r.p##i = a.p##i & b.p##i;
BODY4(m_and(M a, M b), P)
#undef P
#define P(i) r.p##i = a.p##i | b.p##i;
BODY4(m_or(M a, M b), P)
#undef P
#define P(i) r.p##i = a.p##i ^ b.p##i;
BODY4(m_xor(M a, M b), P)
#undef P
#define P(i) r.p##i = ~a.p##i;
BODY4(m_not(M a), P)
#undef P
#define P(i) r.p##i = a.p##i & ~b.p##i;
BODY4(m_less(M a, M b), P)
#undef P
#define P(i) r.p##i = (m.p##i & a.p##i) | (~m.p##i & b.p##i);
BODY4(sel4(M m, V4 a, V4 b), P)
#undef P
IN M selm(M m, M a, M b) { return sel4(m, a, b); }
#define P(i, j, k) { vq x = (vq)__builtin_shufflevector(m.p##i, m.p##i, LOWS(-W4)), y = (vq)__builtin_shufflevector(m.p##i, m.p##i, HIGHS(-W4)); \
    r.p##j = (x & a.p##j) | (~x & b.p##j); r.p##k = (y & a.p##k) | (~y & b.p##k); }
IN V8 sel8(M m, V8 a, V8 b) { V8 r; H4(P) return r; }
#undef P
#define COMPARE4(name) IN M name(V4 a, V4 b) { M r; E4(name##_P) return r; }
#define COMPARE8(name) IN M name(V8 a, V8 b) { M r; H4(name##_P) return r; }
#define C4(i, type, op) r.p##i = (vu)((type)a.p##i op (type)b.p##i);
#define C8(i, j, k, type, op) r.p##i = __builtin_shufflevector((vu)((type)a.p##j op (type)b.p##j), (vu)((type)a.p##k op (type)b.p##k), EVENS);
#endif
IN M firsts(uint64_t count) { return m_of((uint32_t)((1ull << (count > 32 ? 32 : count)) - 1)); }
IN M ieq_m(M a, M b) { return m_not(m_xor(a, b)); }
IN M ine_m(M a, M b) { return m_xor(a, b); }
IN M ms(uint32_t x) { return m_of(x ? ALL : 0); }
IN uint32_t any(M m) { return bits(m) != 0; }
//@ ieq_i4 ine_i4 slt_i4 sle_i4 ult_i4 ule_i4
#if VB == 64
COMPARE4(ieq_i4, CMPD, vi, 0) COMPARE4(ine_i4, CMPD, vi, 4) COMPARE4(slt_i4, CMPD, vi, 1) COMPARE4(sle_i4, CMPD, vi, 2) COMPARE4(ult_i4, CMPUD, vi, 1) COMPARE4(ule_i4, CMPUD, vi, 2)
#else
#define ieq_i4_P(i) C4(i, vi, ==)
#define ine_i4_P(i) C4(i, vi, !=)
#define slt_i4_P(i) C4(i, vi, <)
#define sle_i4_P(i) C4(i, vi, <=)
#define ult_i4_P(i) C4(i, vu, <)
#define ule_i4_P(i) C4(i, vu, <=)
COMPARE4(ieq_i4) COMPARE4(ine_i4) COMPARE4(slt_i4) COMPARE4(sle_i4) COMPARE4(ult_i4) COMPARE4(ule_i4)
#endif
//@ feq_f4 fne_f4 flt_f4 fle_f4
#if VB == 64
COMPARE4(feq_f4, CMPS, vf, 0) COMPARE4(fne_f4, CMPS, vf, 4) COMPARE4(flt_f4, CMPS, vf, 17) COMPARE4(fle_f4, CMPS, vf, 18)
#else
#define feq_f4_P(i) C4(i, vf, ==)
#define fne_f4_P(i) C4(i, vf, !=)
#define flt_f4_P(i) C4(i, vf, <)
#define fle_f4_P(i) C4(i, vf, <=)
COMPARE4(feq_f4) COMPARE4(fne_f4) COMPARE4(flt_f4) COMPARE4(fle_f4)
#endif
//@ ieq_i8 ine_i8 slt_i8 sle_i8 ult_i8 ule_i8
#if VB == 64
COMPARE8(ieq_i8, CMPQ, vl8, 0) COMPARE8(ine_i8, CMPQ, vl8, 4) COMPARE8(slt_i8, CMPQ, vl8, 1) COMPARE8(sle_i8, CMPQ, vl8, 2) COMPARE8(ult_i8, CMPUQ, vl8, 1) COMPARE8(ule_i8, CMPUQ, vl8, 2)
#else
#define ieq_i8_P(i, j, k) C8(i, j, k, vl, ==)
#define ine_i8_P(i, j, k) C8(i, j, k, vl, !=)
#define slt_i8_P(i, j, k) C8(i, j, k, vl, <)
#define sle_i8_P(i, j, k) C8(i, j, k, vl, <=)
#define ult_i8_P(i, j, k) C8(i, j, k, vq, <)
#define ule_i8_P(i, j, k) C8(i, j, k, vq, <=)
COMPARE8(ieq_i8) COMPARE8(ine_i8) COMPARE8(slt_i8) COMPARE8(sle_i8) COMPARE8(ult_i8) COMPARE8(ule_i8)
#endif
//@ feq_f8 fne_f8 flt_f8 fle_f8
#if VB == 64
COMPARE8(feq_f8, CMPP, vd, 0) COMPARE8(fne_f8, CMPP, vd, 4) COMPARE8(flt_f8, CMPP, vd, 17) COMPARE8(fle_f8, CMPP, vd, 18)
#else
#define feq_f8_P(i, j, k) C8(i, j, k, vd, ==)
#define fne_f8_P(i, j, k) C8(i, j, k, vd, !=)
#define flt_f8_P(i, j, k) C8(i, j, k, vd, <)
#define fle_f8_P(i, j, k) C8(i, j, k, vd, <=)
COMPARE8(feq_f8) COMPARE8(fne_f8) COMPARE8(flt_f8) COMPARE8(fle_f8)
#endif

//@ zext8 sext8
// --- widening and narrowing
#define P(i, j, k) { vu z = (vu){0}; r.p##j = (vq)__builtin_shufflevector(a.p##i, z, LOWS(0)); r.p##k = (vq)__builtin_shufflevector(a.p##i, z, HIGHS(0)); }
IN V8 zext8(V4 a) { V8 r; H4(P) return r; }
#undef P
#define P(i, j, k) { vu z = (vu)((vi)a.p##i >> 31); r.p##j = (vq)__builtin_shufflevector(a.p##i, z, LOWS(0)); r.p##k = (vq)__builtin_shufflevector(a.p##i, z, HIGHS(0)); }
IN V8 sext8(V4 a) { V8 r; H4(P) return r; }
#undef P
//@ trunc4
#define P(i, j, k) r.p##i = __builtin_shufflevector((vu)a.p##j, (vu)a.p##k, EVENS);
IN V4 trunc4(V8 a) { V4 r; H4(P) return r; }
#undef P
//@ f32_f64 sitof_i4_f8
#define P(i, j, k) { r.p##j = (vq)__builtin_convertvector(__builtin_shufflevector((vf)a.p##i, (vf)a.p##i, FIRST_HALF), vd); \
    r.p##k = (vq)__builtin_convertvector(__builtin_shufflevector((vf)a.p##i, (vf)a.p##i, SECOND_HALF), vd); }
IN V8 f32_f64(V4 a) { V8 r; H4(P) return r; }
#undef P
#define P(i, j, k) { r.p##j = (vq)__builtin_convertvector(__builtin_shufflevector((vi)a.p##i, (vi)a.p##i, FIRST_HALF), vd); \
    r.p##k = (vq)__builtin_convertvector(__builtin_shufflevector((vi)a.p##i, (vi)a.p##i, SECOND_HALF), vd); }
IN V8 sitof_i4_f8(V4 a) { V8 r; H4(P) return r; }
#undef P

//@
// --- operations: scalar forms define them
#define SCALARS(X) X(u32, uint32_t, int32_t, 32) X(u64, uint64_t, int64_t, 64)
#define S(t, u, s, w) \
    IN u add_##t(u a, u b) { return a + b; } IN u sub_##t(u a, u b) { return a - b; } IN u mul_##t(u a, u b) { return a * b; } \
    IN u and_##t(u a, u b) { return a & b; } IN u or_##t(u a, u b) { return a | b; } IN u xor_##t(u a, u b) { return a ^ b; } \
    IN u shl_##t(u a, uint32_t n) { return a << (n & (w - 1)); } IN u lshr_##t(u a, uint32_t n) { return a >> (n & (w - 1)); } \
    IN uint32_t ieq_##t(u a, u b) { return a == b; } IN uint32_t ine_##t(u a, u b) { return a != b; } \
    IN uint32_t slt_##t(u a, u b) { return (s)a < (s)b; } IN uint32_t sle_##t(u a, u b) { return (s)a <= (s)b; } \
    IN uint32_t ult_##t(u a, u b) { return a < b; } IN uint32_t ule_##t(u a, u b) { return a <= b; }
SCALARS(S)
#undef S
//@ sdiv_u* srem_u* udiv_u* urem_u* ashr_u* smin_u* smax_u* umin_u* umax_u* fshl_u* popc_u* clz_u* ctz_u*
#define S(t, u, s, w) \
    IN u sdiv_##t(u a, u b) { return !b ? 0 : b == (u)-1 ? 0 - a : (u)((s)a / (s)b); } \
    IN u srem_##t(u a, u b) { return !b ? a : b == (u)-1 ? 0 : (u)((s)a % (s)b); } \
    IN u udiv_##t(u a, u b) { return b ? a / b : 0; } IN u urem_##t(u a, u b) { return b ? a % b : a; } \
    IN u ashr_##t(u a, uint32_t n) { return (u)((s)a >> (n & (w - 1))); } \
    IN u smin_##t(u a, u b) { return (s)a < (s)b ? a : b; } IN u smax_##t(u a, u b) { return (s)a > (s)b ? a : b; } \
    IN u umin_##t(u a, u b) { return a < b ? a : b; } IN u umax_##t(u a, u b) { return a > b ? a : b; } \
    IN u fshl_##t(u a, u b, uint32_t n) { n &= w - 1; return n ? a << n | b >> (w - n) : a; } \
    IN u popc_##t(u a) { return (u)__builtin_popcountll(a); } \
    IN u clz_##t(u a) { return a ? (u)__builtin_clzll(a) - (64 - w) : w; } IN u ctz_##t(u a) { return a ? (u)__builtin_ctzll(a) : w; }
SCALARS(S)
#undef S
//@ umulhi_u* smulhi_u* brev_u* prmt_u* dp4a_*
IN uint32_t umulhi_u32(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b >> 32); }
IN uint32_t smulhi_u32(uint32_t a, uint32_t b) { return (uint32_t)((int64_t)(int32_t)a * (int32_t)b >> 32); }
IN uint64_t umulhi_u64(uint64_t a, uint64_t b) { return (uint64_t)((unsigned __int128)a * b >> 64); }
IN uint64_t smulhi_u64(uint64_t a, uint64_t b) { return (uint64_t)((__int128)(int64_t)a * (int64_t)b >> 64); }
IN uint32_t brev_u32(uint32_t a)
{
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(a);
}
IN uint64_t brev_u64(uint64_t a) { return (uint64_t)brev_u32((uint32_t)a) << 32 | brev_u32((uint32_t)(a >> 32)); }
FAR uint32_t prmt_u32(uint32_t lo, uint32_t hi, uint32_t selector)
{
    uint64_t all = (uint64_t)hi << 32 | lo;
    uint32_t out = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t pick = selector >> (4 * i) & 15, byte = (uint32_t)(all >> (8 * (pick & 7))) & 255;
        out |= (pick & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
    }
    return out;
}
IN uint32_t dp4a_s_u32(uint32_t a, uint32_t b, uint32_t c)
{
    for (int i = 0; i < 32; i += 8)
        c += (uint32_t)((int32_t)(int8_t)(a >> i) * (int32_t)(int8_t)(b >> i));
    return c;
}
IN uint32_t dp4a_u_u32(uint32_t a, uint32_t b, uint32_t c)
{
    for (int i = 0; i < 32; i += 8)
        c += (a >> i & 255) * (b >> i & 255);
    return c;
}
//@
#define FLOATS(X) X(f32, float, f, bits_f32, f32_bits, 0x80000000u) X(f64, double, , bits_f64, f64_bits, 0x8000000000000000u)
//@ fadd_f32 fadd_f64 fsub_f32 fsub_f64 fmul_f32 fmul_f64 fdiv_f32 fdiv_f64
#define S(t, T, x, to, of, sign) \
    IN T fadd_##t(T a, T b) { return a + b; } \
    IN T fsub_##t(T a, T b) { return a - b; } \
    IN T fmul_##t(T a, T b) { return a * b; } \
    IN T fdiv_##t(T a, T b) { return a / b; }
FLOATS(S)
#undef S
//@ ffma_f32 ffma_f64 fsqrt_f32 fsqrt_f64
#define S(t, T, x, to, of, sign) \
    IN T ffma_##t(T a, T b, T c) { return __builtin_fma##x(a, b, c); } \
    IN T fsqrt_##t(T a) { return __builtin_sqrt##x(a); }
FLOATS(S)
#undef S
//@ fneg_f32 fneg_f64 fabs_f32 fabs_f64 fcopysign_f32 fcopysign_f64 fmin_f32 fmin_f64 fmax_f32 fmax_f64
#define S(t, T, x, to, of, sign) \
    IN T fneg_##t(T a) { return of(to(a) ^ sign); } \
    IN T fabs_##t(T a) { return of(to(a) & ~sign); } \
    IN T fcopysign_##t(T a, T b) { return of((to(a) & ~sign) | (to(b) & sign)); } \
    IN T fmin_##t(T a, T b) { return a != a ? b : b != b ? a : a == b ? of(to(a) | to(b)) : a < b ? a : b; } \
    IN T fmax_##t(T a, T b) { return a != a ? b : b != b ? a : a == b ? of(to(a) & to(b)) : a > b ? a : b; }
FLOATS(S)
#undef S
//@ ffloor_f32 ffloor_f64 fceil_f32 fceil_f64 ftrunc_f32 ftrunc_f64 frint_f32 frint_f64
#define S(t, T, x, to, of, sign) \
    IN T ffloor_##t(T a) { return __builtin_floor##x(a); } \
    IN T fceil_##t(T a) { return __builtin_ceil##x(a); } \
    IN T ftrunc_##t(T a) { return __builtin_trunc##x(a); } \
    IN T frint_##t(T a) { return __builtin_rint##x(a); }
FLOATS(S)
#undef S
//@ feq_f32 feq_f64 fne_f32 fne_f64 flt_f32 flt_f64 fle_f32 fle_f64
#define S(t, T, x, to, of, sign) \
    IN uint32_t feq_##t(T a, T b) { return a == b; } \
    IN uint32_t fne_##t(T a, T b) { return a != b; } \
    IN uint32_t flt_##t(T a, T b) { return a < b; } \
    IN uint32_t fle_##t(T a, T b) { return a <= b; }
FLOATS(S)
#undef S
//@ fast_*_f32 fast_exp2_* fast_log2_* fast_sin_* fast_cos_* fast_tanh_*
IN float fast_exp2_f32(float a) { return __builtin_exp2f(a); }
IN float fast_log2_f32(float a) { return __builtin_log2f(a); }
IN float fast_sin_f32(float a) { return __builtin_sinf(a); }
IN float fast_cos_f32(float a) { return __builtin_cosf(a); }
IN float fast_tanh_f32(float a) { return __builtin_tanhf(a); }
IN float fast_rcp_f32(float a) { return 1.0f / a; }
IN float fast_rsqrt_f32(float a) { return 1.0f / __builtin_sqrtf(a); }
IN float fast_sqrt_f32(float a) { return __builtin_sqrtf(a); }
IN float fast_div_f32(float a, float b) { return a / b; }

//@
// --- lane loops
#define LANES1(name, scalar, A, V, m) FAR V name(V a) { A x = {a}, r; FOR_LANES r.m[l] = scalar(x.m[l]); return r.v; }
#define LANES2(name, scalar, A, V, m) FAR V name(V a, V b) { A x = {a}, y = {b}, r; FOR_LANES r.m[l] = scalar(x.m[l], y.m[l]); return r.v; }
#define LANES3(name, scalar, A, V, m) FAR V name(V a, V b, V c) { A x = {a}, y = {b}, z = {c}, r; FOR_LANES r.m[l] = scalar(x.m[l], y.m[l], z.m[l]); return r.v; }
#define BOTH(X, op) X(op##_i4, op##_u32, A4, V4, u) X(op##_i8, op##_u64, A8, V8, u)
//@ sdiv_i* srem_i* udiv_i* urem_i* umulhi_i* smulhi_i* popc_i* clz_i* ctz_i* brev_i* prmt_i* dp4a_s_i4 dp4a_u_i4
// of sdiv_u32 umulhi_u32
BOTH(LANES2, sdiv) BOTH(LANES2, srem) BOTH(LANES2, udiv) BOTH(LANES2, urem) BOTH(LANES2, umulhi) BOTH(LANES2, smulhi)
BOTH(LANES1, popc) BOTH(LANES1, clz) BOTH(LANES1, ctz) BOTH(LANES1, brev)
LANES3(prmt_i4, prmt_u32, A4, V4, u) LANES3(dp4a_s_i4, dp4a_s_u32, A4, V4, u) LANES3(dp4a_u_i4, dp4a_u_u32, A4, V4, u)
//@ fast_exp2_f4 fast_log2_f4 fast_sin_f4 fast_cos_f4 fast_tanh_f4
LANES1(fast_exp2_f4, fast_exp2_f32, A4, V4, f) LANES1(fast_log2_f4, fast_log2_f32, A4, V4, f) LANES1(fast_sin_f4, fast_sin_f32, A4, V4, f)
LANES1(fast_cos_f4, fast_cos_f32, A4, V4, f) LANES1(fast_tanh_f4, fast_tanh_f32, A4, V4, f)

//@
// --- native vectors
#define V2(name, V, E, X) IN V name(V a, V b) { V r; E(X) return r; }
#define OPS(X) X(add, +) X(sub, -) X(mul, *) X(and, &) X(or, |) X(xor, ^)
#define P_add(i) r.p##i = a.p##i + b.p##i;
#define P_sub(i) r.p##i = a.p##i - b.p##i;
#define P_mul(i) r.p##i = a.p##i * b.p##i;
#define P_and(i) r.p##i = a.p##i & b.p##i;
#define P_or(i) r.p##i = a.p##i | b.p##i;
#define P_xor(i) r.p##i = a.p##i ^ b.p##i;
#define X(op, c) V2(op##_i4, V4, E4, P_##op)
OPS(X)
#undef X
//@ add_i8 sub_i8 mul_i8 and_i8 or_i8 xor_i8
#define X(op, c) V2(op##_i8, V8, E8, P_##op)
OPS(X)
#undef X
//@ fadd_f4 fsub_f4 fmul_f4 fdiv_f4
#define F4_fadd(i) r.p##i = (vu)((vf)a.p##i + (vf)b.p##i);
#define F4_fsub(i) r.p##i = (vu)((vf)a.p##i - (vf)b.p##i);
#define F4_fmul(i) r.p##i = (vu)((vf)a.p##i * (vf)b.p##i);
#define F4_fdiv(i) r.p##i = (vu)((vf)a.p##i / (vf)b.p##i);
V2(fadd_f4, V4, E4, F4_fadd) V2(fsub_f4, V4, E4, F4_fsub) V2(fmul_f4, V4, E4, F4_fmul) V2(fdiv_f4, V4, E4, F4_fdiv)
//@ fadd_f8 fsub_f8 fmul_f8 fdiv_f8
#define F8_fadd(i) r.p##i = (vq)((vd)a.p##i + (vd)b.p##i);
#define F8_fsub(i) r.p##i = (vq)((vd)a.p##i - (vd)b.p##i);
#define F8_fmul(i) r.p##i = (vq)((vd)a.p##i * (vd)b.p##i);
#define F8_fdiv(i) r.p##i = (vq)((vd)a.p##i / (vd)b.p##i);
V2(fadd_f8, V8, E8, F8_fadd) V2(fsub_f8, V8, E8, F8_fsub) V2(fmul_f8, V8, E8, F8_fmul) V2(fdiv_f8, V8, E8, F8_fdiv)
//@ shl_i4s lshr_i4s ashr_i4s shl_i8s lshr_i8s ashr_i8s
// Shifts: by the same count in all lanes (…s), or by one a lane.
#define P(i) r.p##i = a.p##i << (n & 31);
BODY4(shl_i4s(V4 a, uint32_t n), P)
#undef P
#define P(i) r.p##i = a.p##i >> (n & 31);
BODY4(lshr_i4s(V4 a, uint32_t n), P)
#undef P
#define P(i) r.p##i = (vu)((vi)a.p##i >> (int)(n & 31));
BODY4(ashr_i4s(V4 a, uint32_t n), P)
#undef P
#define P(i) r.p##i = a.p##i << (uint64_t)(n & 63);
BODY8(shl_i8s(V8 a, uint32_t n), P)
#undef P
#define P(i) r.p##i = a.p##i >> (uint64_t)(n & 63);
BODY8(lshr_i8s(V8 a, uint32_t n), P)
#undef P
#define P(i) r.p##i = (vq)((vl)a.p##i >> (int64_t)(n & 63));
BODY8(ashr_i8s(V8 a, uint32_t n), P)
#undef P
//@ shl_i4 lshr_i4 ashr_i4 shl_i8 lshr_i8 ashr_i8 shl_w8 lshr_w8 ashr_w8
#define P(i) r.p##i = a.p##i << (n.p##i & 31);
BODY4(shl_i4(V4 a, V4 n), P)
#undef P
#define P(i) r.p##i = a.p##i >> (n.p##i & 31);
BODY4(lshr_i4(V4 a, V4 n), P)
#undef P
#define P(i) r.p##i = (vu)((vi)a.p##i >> (vi)(n.p##i & 31));
BODY4(ashr_i4(V4 a, V4 n), P)
#undef P
#define P(i) r.p##i = a.p##i << (n.p##i & 63);
BODY8(shl_w8(V8 a, V8 n), P)
#undef P
#define P(i) r.p##i = a.p##i >> (n.p##i & 63);
BODY8(lshr_w8(V8 a, V8 n), P)
#undef P
#define P(i) r.p##i = (vq)((vl)a.p##i >> (vl)(n.p##i & 63));
BODY8(ashr_w8(V8 a, V8 n), P)
#undef P
IN V8 shl_i8(V8 a, V4 n) { return shl_w8(a, zext8(n)); }
IN V8 lshr_i8(V8 a, V4 n) { return lshr_w8(a, zext8(n)); }
IN V8 ashr_i8(V8 a, V4 n) { return ashr_w8(a, zext8(n)); }
//@ fshl_i*
FAR V4 fshl_i4(V4 a, V4 b, V4 n) { A4 x = {a}, y = {b}, z = {n}, r; FOR_LANES r.u[l] = fshl_u32(x.u[l], y.u[l], z.u[l]); return r.v; }
FAR V8 fshl_i8(V8 a, V8 b, V4 n) { A8 x = {a}, y = {b}, r; A4 z = {n}; FOR_LANES r.u[l] = fshl_u64(x.u[l], y.u[l], z.u[l]); return r.v; }
IN V4 fshl_i4s(V4 a, V4 b, uint32_t n) { n &= 31; return n ? or_i4(shl_i4s(a, n), lshr_i4s(b, 32 - n)) : a; }
IN V8 fshl_i8s(V8 a, V8 b, uint32_t n) { n &= 63; return n ? or_i8(shl_i8s(a, n), lshr_i8s(b, 64 - n)) : a; }
//@ smin_i* smax_i* umin_i* umax_i*
IN V4 smin_i4(V4 a, V4 b) { return sel4(slt_i4(a, b), a, b); }
IN V4 smax_i4(V4 a, V4 b) { return sel4(slt_i4(a, b), b, a); }
IN V4 umin_i4(V4 a, V4 b) { return sel4(ult_i4(a, b), a, b); }
IN V4 umax_i4(V4 a, V4 b) { return sel4(ult_i4(a, b), b, a); }
IN V8 smin_i8(V8 a, V8 b) { return sel8(slt_i8(a, b), a, b); }
IN V8 smax_i8(V8 a, V8 b) { return sel8(slt_i8(a, b), b, a); }
IN V8 umin_i8(V8 a, V8 b) { return sel8(ult_i8(a, b), a, b); }
IN V8 umax_i8(V8 a, V8 b) { return sel8(ult_i8(a, b), b, a); }
//@ fneg_f4 fabs_f4 fcopysign_f4 fneg_f8 fabs_f8 fcopysign_f8 fmin_f4 fmax_f4 fmin_f8 fmax_f8
IN V4 fneg_f4(V4 a) { return xor_i4(a, s4(0x80000000u)); }
IN V4 fabs_f4(V4 a) { return and_i4(a, s4(0x7fffffffu)); }
IN V4 fcopysign_f4(V4 a, V4 b) { return or_i4(fabs_f4(a), and_i4(b, s4(0x80000000u))); }
IN V8 fneg_f8(V8 a) { return xor_i8(a, s8(0x8000000000000000u)); }
IN V8 fabs_f8(V8 a) { return and_i8(a, s8(0x7fffffffffffffffu)); }
IN V8 fcopysign_f8(V8 a, V8 b) { return or_i8(fabs_f8(a), and_i8(b, s8(0x8000000000000000u))); }
// A NaN gives the other one; of two zeros the negative (positive) one.
#if VB == 64 // the masks of a part stay where they are
#ifdef __clang__
#define BEST4(name, a, b) __builtin_ia32_##name##ps512((vf)(a), (vf)(b), 4)
#else
#define BEST4(name, a, b) __builtin_ia32_##name##ps512_mask((vf)(a), (vf)(b), (vf)(b), (uint16_t)-1, 4)
#endif
#define P(i) r.p##i = BLEND4(CMPS((vf)b.p##i, (vf)b.p##i, 3), a.p##i, BLEND4(CMPS((vf)a.p##i, (vf)b.p##i, 0), a.p##i | b.p##i, (vu)BEST4(min, a.p##i, b.p##i)));
BODY4(fmin_f4(V4 a, V4 b), P)
#undef P
#define P(i) r.p##i = BLEND4(CMPS((vf)b.p##i, (vf)b.p##i, 3), a.p##i, BLEND4(CMPS((vf)a.p##i, (vf)b.p##i, 0), a.p##i & b.p##i, (vu)BEST4(max, a.p##i, b.p##i)));
BODY4(fmax_f4(V4 a, V4 b), P)
#undef P
#else
IN V4 fmin_f4(V4 a, V4 b) { V4 r = sel4(feq_f4(a, b), or_i4(a, b), sel4(flt_f4(a, b), a, b)); return sel4(fne_f4(b, b), a, r); }
IN V4 fmax_f4(V4 a, V4 b) { V4 r = sel4(feq_f4(a, b), and_i4(a, b), sel4(flt_f4(b, a), a, b)); return sel4(fne_f4(b, b), a, r); }
#endif
IN V8 fmin_f8(V8 a, V8 b) { V8 r = sel8(feq_f8(a, b), or_i8(a, b), sel8(flt_f8(a, b), a, b)); return sel8(fne_f8(b, b), a, r); }
IN V8 fmax_f8(V8 a, V8 b) { V8 r = sel8(feq_f8(a, b), and_i8(a, b), sel8(flt_f8(b, a), a, b)); return sel8(fne_f8(b, b), a, r); }
//@ fsqrt_f4 fsqrt_f8 ffma_f4 ffma_f8 ffloor_f4 ffloor_f8 fceil_f4 fceil_f8 ftrunc_f4 ftrunc_f8 frint_f4 frint_f8
// of ffma_f32 where there is no instruction
#define F1(op, x4, x8) \
    IN V4 op##_f4(V4 a) { V4 r; E4(x4) return r; } IN V8 op##_f8(V8 a) { V8 r; E8(x8) return r; }
#define F3(op, x4, x8) \
    IN V4 op##_f4(V4 a, V4 b, V4 c) { V4 r; E4(x4) return r; } IN V8 op##_f8(V8 a, V8 b, V8 c) { V8 r; E8(x8) return r; }
#if VB == 64
#ifdef __clang__
#define SQRT4(i) r.p##i = (vu)__builtin_ia32_sqrtps512((vf)a.p##i, 4);
#define SQRT8(i) r.p##i = (vq)__builtin_ia32_sqrtpd512((vd)a.p##i, 4);
#else
#define SQRT4(i) r.p##i = (vu)__builtin_ia32_sqrtps512_mask((vf)a.p##i, (vf)a.p##i, (uint16_t)-1, 4);
#define SQRT8(i) r.p##i = (vq)__builtin_ia32_sqrtpd512_mask((vd)a.p##i, (vd)a.p##i, (uint8_t)-1, 4);
#endif
#define FMA4(i) r.p##i = (vu)__builtin_ia32_vfmaddps512_mask((vf)a.p##i, (vf)b.p##i, (vf)c.p##i, (uint16_t)-1, 4);
#define FMA8(i) r.p##i = (vq)__builtin_ia32_vfmaddpd512_mask((vd)a.p##i, (vd)b.p##i, (vd)c.p##i, (uint8_t)-1, 4);
#define ROUND4(i, how) r.p##i = (vu)__builtin_ia32_rndscaleps_mask((vf)a.p##i, how, (vf)a.p##i, (uint16_t)-1, 4);
#define ROUND8(i, how) r.p##i = (vq)__builtin_ia32_rndscalepd_mask((vd)a.p##i, how, (vd)a.p##i, (uint8_t)-1, 4);
#elif VB == 32
#define SQRT4(i) r.p##i = (vu)__builtin_ia32_sqrtps256((vf)a.p##i);
#define SQRT8(i) r.p##i = (vq)__builtin_ia32_sqrtpd256((vd)a.p##i);
#ifdef __FMA__
#define FMA4(i) r.p##i = (vu)__builtin_ia32_vfmaddps256((vf)a.p##i, (vf)b.p##i, (vf)c.p##i);
#define FMA8(i) r.p##i = (vq)__builtin_ia32_vfmaddpd256((vd)a.p##i, (vd)b.p##i, (vd)c.p##i);
#endif
#define ROUND4(i, how) r.p##i = (vu)__builtin_ia32_roundps256((vf)a.p##i, how);
#define ROUND8(i, how) r.p##i = (vq)__builtin_ia32_roundpd256((vd)a.p##i, how);
#elif defined(__SSE4_1__)
#define ROUND4(i, how) r.p##i = (vu)__builtin_ia32_roundps((vf)a.p##i, how);
#define ROUND8(i, how) r.p##i = (vq)__builtin_ia32_roundpd((vd)a.p##i, how);
#endif
#if VB == 16
#define EACH4(x, f) for (int l_ = 0; l_ < W4; l_++) x[l_] = f;
#define SQRT4(i) { vf x = (vf)a.p##i; for (int n = 0; n < W4; n++) x[n] = __builtin_sqrtf(x[n]); r.p##i = (vu)x; }
#define SQRT8(i) { vd x = (vd)a.p##i; for (int n = 0; n < W8; n++) x[n] = __builtin_sqrt(x[n]); r.p##i = (vq)x; }
#endif
F1(fsqrt, SQRT4, SQRT8)
#ifdef FMA4
F3(ffma, FMA4, FMA8)
#else
LANES3(ffma_f4, ffma_f32, A4, V4, f) LANES3(ffma_f8, ffma_f64, A8, V8, f)
#endif
#ifdef ROUND4
#define X4_9(i) ROUND4(i, 9)
#define X8_9(i) ROUND8(i, 9)
#define X4_10(i) ROUND4(i, 10)
#define X8_10(i) ROUND8(i, 10)
#define X4_11(i) ROUND4(i, 11)
#define X8_11(i) ROUND8(i, 11)
#define X4_8(i) ROUND4(i, 8)
#define X8_8(i) ROUND8(i, 8)
F1(ffloor, X4_9, X8_9) F1(fceil, X4_10, X8_10) F1(ftrunc, X4_11, X8_11) F1(frint, X4_8, X8_8)
#else
LANES1(ffloor_f4, ffloor_f32, A4, V4, f) LANES1(ffloor_f8, ffloor_f64, A8, V8, f)
LANES1(fceil_f4, fceil_f32, A4, V4, f) LANES1(fceil_f8, fceil_f64, A8, V8, f)
LANES1(ftrunc_f4, ftrunc_f32, A4, V4, f) LANES1(ftrunc_f8, ftrunc_f64, A8, V8, f)
LANES1(frint_f4, frint_f32, A4, V4, f) LANES1(frint_f8, frint_f64, A8, V8, f)
#endif
//@ fast_rcp_f4 fast_sqrt_f4 fast_rsqrt_f4 fast_div_f4
IN V4 fast_rcp_f4(V4 a) { return fdiv_f4(sf4(1.0f), a); }
IN V4 fast_sqrt_f4(V4 a) { return fsqrt_f4(a); }
IN V4 fast_rsqrt_f4(V4 a) { return fdiv_f4(sf4(1.0f), fsqrt_f4(a)); }
IN V4 fast_div_f4(V4 a, V4 b) { return fdiv_f4(a, b); }

