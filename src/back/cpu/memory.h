// clang-format off
// --- memory. Part of the same text as lanes.h. row: lanes side by side from one address; str: `step` bytes apart; gat: one address a lane.
// The m-forms touch active lanes only. Lanes store in ascending order.
//@
#if VB == 64
typedef int vi512 __attribute__((vector_size(64)));
#endif
#define BASIC(n, u, w) \
    IN w ld##n(uint64_t a) { u r; __builtin_memcpy(&r, (const void *)(uintptr_t)a, n); return r; } \
    IN void st##n(uint64_t a, w v) { u r = (u)v; __builtin_memcpy((void *)(uintptr_t)a, &r, n); }
BASIC(1, uint8_t, uint32_t) BASIC(2, uint16_t, uint32_t) BASIC(4, uint32_t, uint32_t) BASIC(8, uint64_t, uint64_t)
//@
#define LANE_MEMORY(n, V, A) \
    FAR V gat##n(V8 a) { A8 x = {a}; A r; FOR_LANES r.u[l] = ld##n(x.u[l]); return r.v; } \
    FAR V gat##n##m(V8 a, M m) { A8 x = {a}; A r = {0}; FOR_BITS(bits(m)) r.u[l] = ld##n(x.u[l]); return r.v; } \
    FAR void sca##n(V8 a, V v) { A8 x = {a}; A y = {v}; FOR_LANES st##n(x.u[l], y.u[l]); } \
    FAR void sca##n##m(V8 a, V v, M m) { A8 x = {a}; A y = {v}; FOR_BITS(bits(m)) st##n(x.u[l], y.u[l]); } \
    IN V str##n(uint64_t a, uint64_t step) { A r; FOR_LANES r.u[l] = ld##n(a + (uint64_t)l * step); return r.v; } \
    FAR V str##n##m(uint64_t a, uint64_t step, M m) { A r = {0}; FOR_BITS(bits(m)) r.u[l] = ld##n(a + l * step); return r.v; } \
    IN void sst##n(uint64_t a, uint64_t step, V v) { A y = {v}; FOR_LANES st##n(a + (uint64_t)l * step, y.u[l]); } \
    FAR void sst##n##m(uint64_t a, uint64_t step, V v, M m) { A y = {v}; FOR_BITS(bits(m)) st##n(a + l * step, y.u[l]); }
//@ gat1* sca1* str1* sst1*
LANE_MEMORY(1, V4, A4)
//@ gat2* sca2* str2* sst2*
LANE_MEMORY(2, V4, A4)
//@ gat4* sca4* str4* sst4*
LANE_MEMORY(4, V4, A4)
//@ gat8* sca8* str8* sst8*
LANE_MEMORY(8, V8, A8)
//@
// Part by part: copied as a whole, they would also go to the stack.
#define P(i) __builtin_memcpy(&r.p##i, (const void *)(uintptr_t)(a + VB * i), VB);
BODY4(row4(uint64_t a), P)
BODY8(row8(uint64_t a), P)
#undef P
#define P(i) __builtin_memcpy((void *)(uintptr_t)(a + VB * i), &v.p##i, VB);
IN void rst4(uint64_t a, V4 v) { E4(P) }
IN void rst8(uint64_t a, V8 v) { E8(P) }
#undef P
//@ row1* row2* rst1* rst2*
typedef uint8_t v8b __attribute__((vector_size(W4)));
typedef uint16_t v16b __attribute__((vector_size(2 * W4)));
#define P(i) { v8b x; __builtin_memcpy(&x, (const void *)(uintptr_t)(a + W4 * i), sizeof x); r.p##i = __builtin_convertvector(x, vu); }
BODY4(row1(uint64_t a), P)
#undef P
#define P(i) { v16b x; __builtin_memcpy(&x, (const void *)(uintptr_t)(a + 2 * W4 * i), sizeof x); r.p##i = __builtin_convertvector(x, vu); }
BODY4(row2(uint64_t a), P)
#undef P
#define P(i) { v8b x = __builtin_convertvector(v.p##i, v8b); __builtin_memcpy((void *)(uintptr_t)(a + W4 * i), &x, sizeof x); }
IN void rst1(uint64_t a, V4 v) { E4(P) }
#undef P
#define P(i) { v16b x = __builtin_convertvector(v.p##i, v16b); __builtin_memcpy((void *)(uintptr_t)(a + 2 * W4 * i), &x, sizeof x); }
IN void rst2(uint64_t a, V4 v) { E4(P) }
#undef P
IN V4 row1m(uint64_t a, M m) { return bits(m) == ALL ? row1(a) : str1m(a, 1, m); }
IN V4 row2m(uint64_t a, M m) { return bits(m) == ALL ? row2(a) : str2m(a, 2, m); }
IN void rst1m(uint64_t a, V4 v, M m) { if (bits(m) == ALL) rst1(a, v); else sst1m(a, 1, v, m); }
IN void rst2m(uint64_t a, V4 v, M m) { if (bits(m) == ALL) rst2(a, v); else sst2m(a, 2, v, m); }
//@ row4m rst4m
// The processor does not fetch ahead of masked loads, and masked stores are slow: they are for the lanes of an end, the some-forms.
#if VB == 64
#define P(i) r.p##i = (vu)__builtin_ia32_loaddqusi512_mask((const void *)(uintptr_t)(a + 64 * i), (vi512){0}, (uint16_t)(m >> (16 * i)));
BODY4(some_row4(uint64_t a, M m), P)
#undef P
#define P(i) __builtin_ia32_storedqusi512_mask((void *)(uintptr_t)(a + 64 * i), (vi512)v.p##i, (uint16_t)(m >> (16 * i)));
IN void some_rst4(uint64_t a, V4 v, M m) { E4(P) }
#undef P
#elif VB == 32
#define P(i) r.p##i = (vu)__builtin_ia32_maskloadd256((const vi *)(uintptr_t)(a + 32 * i), (vi)m.p##i);
BODY4(some_row4(uint64_t a, M m), P)
#undef P
#define P(i) __builtin_ia32_maskstored256((vi *)(uintptr_t)(a + 32 * i), (vi)m.p##i, (vi)v.p##i);
IN void some_rst4(uint64_t a, V4 v, M m) { E4(P) }
#undef P
#else
#define some_row4(a, m) str4m(a, 4, m)
#define some_rst4(a, v, m) sst4m(a, 4, v, m)
#endif
IN V4 row4m(uint64_t a, M m) { return bits(m) == ALL ? row4(a) : some_row4(a, m); }
IN void rst4m(uint64_t a, V4 v, M m) { if (bits(m) == ALL) rst4(a, v); else some_rst4(a, v, m); }
//@ row8m rst8m
#if VB == 64
#define P(i) r.p##i = (vq)__builtin_ia32_loaddqudi512_mask((const void *)(uintptr_t)(a + 64 * i), (vl8){0}, (uint8_t)(m >> (8 * i)));
BODY8(some_row8(uint64_t a, M m), P)
#undef P
#define P(i) __builtin_ia32_storedqudi512_mask((void *)(uintptr_t)(a + 64 * i), (vl8)v.p##i, (uint8_t)(m >> (8 * i)));
IN void some_rst8(uint64_t a, V8 v, M m) { E8(P) }
#undef P
#else
#define some_row8(a, m) str8m(a, 8, m)
#define some_rst8(a, v, m) sst8m(a, 8, v, m)
#endif
IN V8 row8m(uint64_t a, M m) { return bits(m) == ALL ? row8(a) : some_row8(a, m); }
IN void rst8m(uint64_t a, V8 v, M m) { if (bits(m) == ALL) rst8(a, v); else some_rst8(a, v, m); }
//@ STREAM
// Past the caches, whole lines at a time; the device waits for them before others may look.
#if defined(__clang__)
#define STREAM(a, v) __builtin_nontemporal_store((vl)(v), (vl *)(uintptr_t)(a))
#elif VB == 64
#define STREAM(a, v) __builtin_ia32_movntdq512((vl8 *)(uintptr_t)(a), (vl8)(v))
#elif VB == 32
#define STREAM(a, v) __builtin_ia32_movntdq256((vl4 *)(uintptr_t)(a), (vl4)(v))
typedef long long vl4 __attribute__((vector_size(32)));
#elif defined(__SSE2__)
#define STREAM(a, v) __builtin_ia32_movntdq((vl2 *)(uintptr_t)(a), (vl2)(v))
typedef long long vl2 __attribute__((vector_size(16)));
#else
#define STREAM(a, v) __builtin_memcpy((void *)(uintptr_t)(a), &(v), sizeof(v))
#endif
//@ nst4
#define P(i) STREAM(a + VB * i, v.p##i);
IN void nst4(uint64_t a, V4 v, M m, uint32_t streams) { if (streams && a % 64 == 0 && bits(m) == ALL) { E4(P) } else rst4m(a, v, m); }
#undef P
//@ nst8
#define P(i) STREAM(a + VB * i, v.p##i);
IN void nst8(uint64_t a, V8 v, M m, uint32_t streams) { if (streams && a % 64 == 0 && bits(m) == ALL) { E8(P) } else rst8m(a, v, m); }
#undef P
//@ any4m
// Addresses that are side by side or equal in every run of 16 lanes are usual; the rest goes lane by lane.
FAR V4 any4m(V8 a, M m)
{
    A8 x = {a};
    if (bits(m) == ALL) {
        uint64_t p = x.u[0], q = x.u[16];
        V8 step = sub_i8(a, af8(0, 4));
        M low = ieq_i8(step, s8(p)), high = ieq_i8(step, s8(q - 64));
        if (((bits(low) & 0xffffu) | (bits(high) & 0xffff0000u)) == ALL) {
            A4 r;
            __builtin_memcpy(r.u, (const void *)(uintptr_t)p, 64);
            __builtin_memcpy(r.u + 16, (const void *)(uintptr_t)q, 64);
            return r.v;
        }
        low = ieq_i8(a, s8(p)), high = ieq_i8(a, s8(q));
        if (((bits(low) & 0xffffu) | (bits(high) & 0xffff0000u)) == ALL) {
            V4 f = s4(ld4(p)), g = s4(ld4(q));
            return sel4(m_of(0xffffu), f, g);
        }
        return gat4(a);
    }
    return gat4m(a, m);
}

//@
// One base and a signed index a lane.
#if VB == 64
#define INDEXED(scale) \
    IN V4 gi4_##scale(uint64_t base, V4 x, M m) { V4 r; GATHER(0, scale) GATHER(1, scale) return r; } \
    IN void si4_##scale(uint64_t base, V4 x, V4 v, M m) { SCATTER(0, scale) SCATTER(1, scale) }
// Lanes that stand side by side are usual here, too; the check costs less than the instruction.
#define IS_SIDE_BY_SIDE(i, scale) (scale == 4 && (uint16_t)CMPD((vi512)x.p##i, (vi512)((vu){0} + x.p##i[0] + (vu)IOTA4(0)), 0) == 0xffff)
#define START(i) ((void *)(uintptr_t)(base + (uint64_t)((int64_t)(int32_t)x.p##i[0] * 4)))
#define GATHER(i, scale) \
    if (!IS_SIDE_BY_SIDE(i, scale)) r.p##i = (vu)__builtin_ia32_gathersiv16si((vi512){0}, (void *)(uintptr_t)base, (vi512)x.p##i, (uint16_t)(m >> (16 * i)), scale); \
    else if ((uint16_t)(m >> (16 * i)) == 0xffff) __builtin_memcpy(&r.p##i, START(i), 64); \
    else r.p##i = (vu)__builtin_ia32_loaddqusi512_mask(START(i), (vi512){0}, (uint16_t)(m >> (16 * i)));
#define SCATTER(i, scale) \
    if (!IS_SIDE_BY_SIDE(i, scale)) __builtin_ia32_scattersiv16si((void *)(uintptr_t)base, (uint16_t)(m >> (16 * i)), (vi512)x.p##i, (vi512)v.p##i, scale); \
    else if ((uint16_t)(m >> (16 * i)) == 0xffff) __builtin_memcpy(START(i), &v.p##i, 64); \
    else __builtin_ia32_storedqusi512_mask(START(i), (vi512)v.p##i, (uint16_t)(m >> (16 * i)));
#else
#define INDEXED(scale) \
    FAR V4 gi4_##scale(uint64_t base, V4 x, M m) { A4 y = {x}, r = {0}; FOR_BITS(bits(m)) r.u[l] = ld4(base + (uint64_t)((int64_t)(int32_t)y.u[l] * scale)); return r.v; } \
    FAR void si4_##scale(uint64_t base, V4 x, V4 v, M m) { A4 y = {x}, z = {v}; FOR_BITS(bits(m)) st4(base + (uint64_t)((int64_t)(int32_t)y.u[l] * scale), z.u[l]); }
#endif
//@ gi4_4 si4_4
INDEXED(4)
//@ gi4_1 si4_1 gi4_2 si4_2 gi4_8 si4_8
INDEXED(1) INDEXED(2) INDEXED(8)

//@ deal2 weave2
// Two words a lane, side by side: a f32x2, or a pair of neighbours.
#if VB == 64 && defined(__BMI2__)
#define ODDS 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define TWICE(i) (__builtin_ia32_pdep_si(m >> (16 * i) & 0xffff, 0x55555555u) * 3)
#define SPLIT(i) a->p##i = __builtin_shufflevector(x, y, EVENS); b->p##i = __builtin_shufflevector(x, y, ODDS);
IN void deal2(uint64_t at, M m, V4 *a, V4 *b)
{
#define P(i, j, k) { vu x, y; __builtin_memcpy(&x, (const void *)(uintptr_t)(at + 64 * j), 64); \
    __builtin_memcpy(&y, (const void *)(uintptr_t)(at + 64 * k), 64); SPLIT(i) }
    if (bits(m) == ALL) {
        H4(P)
        return;
    }
#undef P
#define P(i, j, k) { uint32_t two = TWICE(i); \
    vu x = (vu)__builtin_ia32_loaddqusi512_mask((const void *)(uintptr_t)(at + 64 * j), (vi512){0}, (uint16_t)two); \
    vu y = (vu)__builtin_ia32_loaddqusi512_mask((const void *)(uintptr_t)(at + 64 * k), (vi512){0}, (uint16_t)(two >> 16)); SPLIT(i) }
    H4(P)
#undef P
}
#define MERGE(i) vu x = __builtin_shufflevector(a.p##i, b.p##i, LOWS(0)), y = __builtin_shufflevector(a.p##i, b.p##i, HIGHS(0));
IN void weave2(uint64_t at, M m, V4 a, V4 b)
{
#define P(i, j, k) { MERGE(i) __builtin_memcpy((void *)(uintptr_t)(at + 64 * j), &x, 64); \
    __builtin_memcpy((void *)(uintptr_t)(at + 64 * k), &y, 64); }
    if (bits(m) == ALL) {
        H4(P)
        return;
    }
#undef P
#define P(i, j, k) { uint32_t two = TWICE(i); MERGE(i) \
    __builtin_ia32_storedqusi512_mask((void *)(uintptr_t)(at + 64 * j), (vi512)x, (uint16_t)two); \
    __builtin_ia32_storedqusi512_mask((void *)(uintptr_t)(at + 64 * k), (vi512)y, (uint16_t)(two >> 16)); }
    H4(P)
#undef P
}
#else
IN void deal2(uint64_t at, M m, V4 *a, V4 *b) { *a = str4m(at, 8, m); *b = str4m(at + 4, 8, m); }
IN void weave2(uint64_t at, M m, V4 a, V4 b) { sst4m(at, 8, a, m); sst4m(at + 4, 8, b, m); }
#endif
//@ deal4 weave4 any_deal4 any_weave4
// Four of them: a pack of 16 bytes. The any-forms have an address a lane.
#if VB == 64 && defined(__BMI2__)
#define ODD 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define FOUR(i, j) (uint16_t)(__builtin_ia32_pdep_si(m >> (16 * i + 4 * j) & 15, 0x1111u) * 15)
#define PART(i, j) ((uintptr_t)(at + 256 * i + 64 * j))
#define DEAL(i) \
    vu ac = __builtin_shufflevector(x0, x1, EVENS), bd = __builtin_shufflevector(x0, x1, ODD); \
    vu ac2 = __builtin_shufflevector(x2, x3, EVENS), bd2 = __builtin_shufflevector(x2, x3, ODD); \
    a->p##i = __builtin_shufflevector(ac, ac2, EVENS); c->p##i = __builtin_shufflevector(ac, ac2, ODD); \
    b->p##i = __builtin_shufflevector(bd, bd2, EVENS); d->p##i = __builtin_shufflevector(bd, bd2, ODD);
#define WEAVE(i) \
    vu ac = __builtin_shufflevector(a.p##i, c.p##i, LOWS(0)), bd = __builtin_shufflevector(b.p##i, d.p##i, LOWS(0)); \
    vu ac2 = __builtin_shufflevector(a.p##i, c.p##i, HIGHS(0)), bd2 = __builtin_shufflevector(b.p##i, d.p##i, HIGHS(0)); \
    vu x0 = __builtin_shufflevector(ac, bd, LOWS(0)), x1 = __builtin_shufflevector(ac, bd, HIGHS(0)); \
    vu x2 = __builtin_shufflevector(ac2, bd2, LOWS(0)), x3 = __builtin_shufflevector(ac2, bd2, HIGHS(0));
IN void deal4(uint64_t at, M m, V4 *a, V4 *b, V4 *c, V4 *d)
{
#define GET(i, j) { __builtin_memcpy(&x##j, (const void *)PART(i, j), 64); }
#define P(i) { vu x0, x1, x2, x3; GET(i, 0) GET(i, 1) GET(i, 2) GET(i, 3) DEAL(i) }
    if (bits(m) == ALL) {
        E4(P)
        return;
    }
#undef P
#undef GET
#define GET(i, j) (vu)__builtin_ia32_loaddqusi512_mask((const void *)PART(i, j), (vi512){0}, FOUR(i, j))
#define P(i) { vu x0 = GET(i, 0), x1 = GET(i, 1), x2 = GET(i, 2), x3 = GET(i, 3); DEAL(i) }
    E4(P)
#undef P
#undef GET
}
IN void weave4(uint64_t at, M m, V4 a, V4 b, V4 c, V4 d)
{
#define PUT(i, j) __builtin_memcpy((void *)PART(i, j), &x##j, 64);
#define P(i) { WEAVE(i) PUT(i, 0) PUT(i, 1) PUT(i, 2) PUT(i, 3) }
    if (bits(m) == ALL) {
        E4(P)
        return;
    }
#undef P
#undef PUT
#define PUT(i, j) __builtin_ia32_storedqusi512_mask((void *)PART(i, j), (vi512)x##j, FOUR(i, j));
#define P(i) { WEAVE(i) PUT(i, 0) PUT(i, 1) PUT(i, 2) PUT(i, 3) }
    E4(P)
#undef P
#undef PUT
}
#else
IN void deal4(uint64_t at, M m, V4 *a, V4 *b, V4 *c, V4 *d) { *a = str4m(at, 16, m); *b = str4m(at + 4, 16, m); *c = str4m(at + 8, 16, m); *d = str4m(at + 12, 16, m); }
IN void weave4(uint64_t at, M m, V4 a, V4 b, V4 c, V4 d) { sst4m(at, 16, a, m); sst4m(at + 4, 16, b, m); sst4m(at + 8, 16, c, m); sst4m(at + 12, 16, d, m); }
#endif
// The address of lane 0 when all active lanes are side by side; 0: they are not.
IN uint64_t side_by_side16(V8 at, M m)
{
    A8 x = {at};
    uint32_t l = bits(m) ? (uint32_t)__builtin_ctz(bits(m)) : 0;
    uint64_t p = x.u[l] - l * 16ull;
    return (bits(ieq_i8(at, af8(p, 16))) & bits(m)) == bits(m) ? p : 0;
}
IN void any_deal4(V8 at, M m, V4 *a, V4 *b, V4 *c, V4 *d)
{
    uint64_t p = side_by_side16(at, m);
    if (p) {
        deal4(p, m, a, b, c, d);
        return;
    }
#if VB == 64 && defined(__BMI2__)
    typedef uint32_t v4u __attribute__((vector_size(16)));
    typedef uint32_t v8u __attribute__((vector_size(32)));
    if (bits(m) == ALL) {
        A8 y = {at};
#define GET(l) (*(const v4u __attribute__((aligned(4), may_alias)) *)(uintptr_t)y.u[l])
#define HALF(l) __builtin_shufflevector(GET(l), GET(l + 1), 0, 1, 2, 3, 4, 5, 6, 7)
#define ALL_OF(l) __builtin_shufflevector(HALF(l), HALF(l + 2), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define P(i) { vu x0 = ALL_OF(16 * i), x1 = ALL_OF(16 * i + 4), x2 = ALL_OF(16 * i + 8), x3 = ALL_OF(16 * i + 12); DEAL(i) }
        E4(P)
#undef P
        return;
    }
#endif
    *a = any4m(at, m);
    *b = any4m(add_i8(at, s8(4)), m);
    *c = any4m(add_i8(at, s8(8)), m);
    *d = any4m(add_i8(at, s8(12)), m);
}
IN void any_weave4(V8 at, M m, V4 a, V4 b, V4 c, V4 d)
{
    uint64_t p = side_by_side16(at, m);
    if (p) {
        weave4(p, m, a, b, c, d);
        return;
    }
    sca4m(at, a, m);
    sca4m(add_i8(at, s8(4)), b, m);
    sca4m(add_i8(at, s8(8)), c, m);
    sca4m(add_i8(at, s8(12)), d, m);
}

//@ ask
IN void ask(uint64_t a) { __builtin_prefetch((const void *)(uintptr_t)a, 0, 2); }

//@
// --- one lane, lanes to bits and back
IN uint32_t lane4(V4 v, uint32_t l) { A4 x = {v}; return x.u[l & 31]; }
IN uint64_t lane8(V8 v, uint32_t l) { A8 x = {v}; return x.u[l & 31]; }
IN uint32_t lanem(M m, uint32_t l) { return bits(m) >> (l & 31) & 1; }
IN uint32_t last(M m) { return 31 - (uint32_t)__builtin_clz(bits(m)); }
IN uint32_t first(M m) { return (uint32_t)__builtin_ctz(bits(m)); }
IN M m_byte(V4 v) { return ine_i4(v, s4(0)); }
IN V4 byte_m(M m) { return sel4(m, s4(1), s4(0)); }

//@ loc lld8 lgat* lsca* wide8 high4 lrow* lrst* ggat* gsca*
// --- local arrays: a lane's 32-bit words lie 128 bytes apart, so that equal offsets are one row
IN uint64_t loc(uint64_t base, uint64_t offset, uint32_t l) { return base + (offset & ~3ull) * 32 + l * 4 + (offset & 3); }
IN uint64_t lld8(uint64_t base, uint64_t o, uint32_t l) { return ld4(loc(base, o, l)) | (uint64_t)ld4(loc(base, o + 4, l)) << 32; }
#define LOCAL(n) \
    FAR V4 lgat##n(uint64_t base, V8 o) { A8 x = {o}; A4 r; FOR_LANES r.u[l] = ld##n(loc(base, x.u[l], (uint32_t)l)); return r.v; } \
    FAR V4 lgat##n##m(uint64_t base, V8 o, M m) { A8 x = {o}; A4 r = {0}; FOR_BITS(bits(m)) r.u[l] = ld##n(loc(base, x.u[l], l)); return r.v; } \
    FAR void lsca##n##m(uint64_t base, V8 o, V4 v, M m) { A8 x = {o}; A4 y = {v}; FOR_BITS(bits(m)) st##n(loc(base, x.u[l], l), y.u[l]); }
LOCAL(1) LOCAL(2) LOCAL(4)
IN V8 wide8(V4 low, V4 high) { return or_i8(zext8(low), shl_i8s(zext8(high), 32)); }
IN V4 high4(V8 v) { return trunc4(lshr_i8s(v, 32)); }
IN V8 lgat8m(uint64_t base, V8 o, M m) { return wide8(lgat4m(base, o, m), lgat4m(base, add_i8(o, s8(4)), m)); }
IN void lsca8m(uint64_t base, V8 o, V8 v, M m) { lsca4m(base, o, trunc4(v), m); lsca4m(base, add_i8(o, s8(4)), high4(v), m); }
IN V4 lrow4(uint64_t base, uint64_t o) { return row4(base + o * 32); }
IN V8 lrow8(uint64_t base, uint64_t o) { return wide8(row4(base + o * 32), row4(base + o * 32 + 128)); }
IN void lrst4m(uint64_t base, uint64_t o, V4 v, M m) { rst4m(base + o * 32, v, m); }
IN void lrst8m(uint64_t base, uint64_t o, V8 v, M m) { rst4m(base + o * 32, trunc4(v), m); rst4m(base + o * 32 + 128, high4(v), m); }
// A generic pointer into a local array has its top bit set.
#define GEN(n) \
    FAR V4 ggat##n##m(uint64_t base, V8 a, M m) { A8 x = {a}; A4 r = {0}; FOR_BITS(bits(m)) r.u[l] = ld##n(x.u[l] >> 63 ? loc(base, x.u[l] << 1 >> 1, l) : x.u[l]); return r.v; } \
    FAR void gsca##n##m(uint64_t base, V8 a, V4 v, M m) { A8 x = {a}; A4 y = {v}; FOR_BITS(bits(m)) st##n(x.u[l] >> 63 ? loc(base, x.u[l] << 1 >> 1, l) : x.u[l], y.u[l]); }
GEN(1) GEN(2) GEN(4)
IN V8 ggat8m(uint64_t base, V8 a, M m) { return wide8(ggat4m(base, a, m), ggat4m(base, add_i8(a, s8(4)), m)); }
IN void gsca8m(uint64_t base, V8 a, V8 v, M m) { gsca4m(base, a, trunc4(v), m); gsca4m(base, add_i8(a, s8(4)), high4(v), m); }

//@
// --- atomics: on a cell of n bytes; `plain` when only this host thread can see it (shared memory)
#define CELL(n, u, s, w) \
    IN w at_xchg##n(uint64_t a, w v, int plain) { u *p = (u *)(uintptr_t)a; u old = *p; if (plain) { *p = (u)v; return old; } return __atomic_exchange_n(p, (u)v, __ATOMIC_SEQ_CST); } \
    IN w at_cas##n(uint64_t a, w e, w v, int plain) { u *p = (u *)(uintptr_t)a; u was = (u)e; if (plain) { was = *p; if (was == (u)e) *p = (u)v; return was; } \
        __atomic_compare_exchange_n(p, &was, (u)v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); return was; } \
    IN w at_load##n(uint64_t a) { return __atomic_load_n((u *)(uintptr_t)a, __ATOMIC_SEQ_CST); } \
    IN void at_store##n(uint64_t a, w v) { __atomic_store_n((u *)(uintptr_t)a, (u)v, __ATOMIC_SEQ_CST); } \
    CELL_OP(n, u, w, add, (u)(old + (u)v)) CELL_OP(n, u, w, and, old & (u)v) CELL_OP(n, u, w, or, old | (u)v) CELL_OP(n, u, w, xor, old ^ (u)v) \
    CELL_OP(n, u, w, smin, (s)old < (s)v ? old : (u)v) CELL_OP(n, u, w, smax, (s)old > (s)v ? old : (u)v) \
    CELL_OP(n, u, w, umin, old < (u)v ? old : (u)v) CELL_OP(n, u, w, umax, old > (u)v ? old : (u)v)
#define CELL_OP(n, u, w, op, next) \
    IN w at_##op##n(uint64_t a, w v, int plain) { u *p = (u *)(uintptr_t)a, old; if (plain) { old = *p; *p = (u)(next); return old; } \
        old = __atomic_load_n(p, __ATOMIC_RELAXED); while (!__atomic_compare_exchange_n(p, &old, (u)(next), 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) { } return old; }
//@ at_*1 at_*2
CELL(1, uint8_t, int8_t, uint32_t) CELL(2, uint16_t, int16_t, uint32_t)
//@ at_*4
CELL(4, uint32_t, int32_t, uint32_t)
//@ at_*8
CELL(8, uint64_t, int64_t, uint64_t)
//@ at_f*
#define FCELL(op, f4, f8) CELL_OP(4, uint32_t, uint32_t, op, bits_f32(f4(f32_bits(old), f32_bits(v)))) CELL_OP(8, uint64_t, uint64_t, op, bits_f64(f8(f64_bits(old), f64_bits(v))))
FCELL(fadd, fadd_f32, fadd_f64) FCELL(fmin, fmin_f32, fmin_f64) FCELL(fmax, fmax_f32, fmax_f64)

//@ shuffle* permute*
// --- between lanes
FAR V4 shuffle_from(uint32_t kind, V4 by, V4 width, uint32_t active) // the lane each lane reads
{
    A4 d = {by}, w = {width}, r;
    for (uint32_t l = 0; l < 32; l++) {
        uint32_t n = w.u[l], k = d.u[l], from = l;
        if (!n || n > 32 || (n & (n - 1)))
            n = 32;
        uint32_t lo = l & ~(n - 1), hi = lo + n - 1;
        if (kind == 0)
            from = lo | (k & (n - 1));
        else if (kind == 1)
            from = k <= l - lo ? l - k : l;
        else if (kind == 2)
            from = k <= hi - l ? l + k : l;
        else if ((l ^ k) >= lo && (l ^ k) <= hi)
            from = l ^ k;
        r.u[l] = active >> from & 1 ? from : l;
    }
    return r.v;
}
FAR V4 permute4(V4 v, V4 from) { A4 x = {v}, y = {from}, r; FOR_LANES r.u[l] = x.u[y.u[l]]; return r.v; }
FAR V8 permute8(V8 v, V4 from) { A8 x = {v}, r; A4 y = {from}; FOR_LANES r.u[l] = x.u[y.u[l]]; return r.v; }
IN V4 shuffle4(uint32_t kind, V4 v, V4 by, V4 width, uint32_t active) { return permute4(v, shuffle_from(kind, by, width, active)); }
IN V8 shuffle8(uint32_t kind, V8 v, V4 by, V4 width, uint32_t active) { return permute8(v, shuffle_from(kind, by, width, active)); }
IN M shufflem(uint32_t kind, M v, V4 by, V4 width, uint32_t active) { return m_byte(shuffle4(kind, byte_m(v), by, width, active)); }
#define SHX1 1, 0, 3, 2
#define SHX2 2, 3, 0, 1
#if VB == 64
#define SWAP(k, ...) if (by == k) { r.p0 = __builtin_shufflevector(v.p0, v.p0, __VA_ARGS__); r.p1 = __builtin_shufflevector(v.p1, v.p1, __VA_ARGS__); return r; }
IN V4 shuffle_xor4(V4 v, const uint32_t by)
{
    V4 r;
    SWAP(1, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
    SWAP(2, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
    SWAP(4, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)
    SWAP(8, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
    r.p0 = v.p1;
    r.p1 = v.p0;
    return r;
}
#else
IN V4 shuffle_xor4(V4 v, const uint32_t by) { A4 x = {v}, r; FOR_LANES r.u[l] = x.u[(uint32_t)l ^ by]; return r.v; }
#endif
// By a power of two below the width; lanes that are off give nothing.
IN V4 shuffle_x4(V4 v, const uint32_t by, uint32_t active) { return active == ALL ? shuffle_xor4(v, by) : shuffle4(3, v, s4(by), s4(32), active); }
//@ match*
FAR V4 match4(V4 v, uint32_t active) { A4 x = {v}, r; for (int i = 0; i < 32; i++) { uint32_t same = 0; FOR_LANES same |= (uint32_t)(x.u[l] == x.u[i]) << l; r.u[i] = same & active; } return r.v; }
FAR V4 match8(V8 v, uint32_t active) { A8 x = {v}; A4 r; for (int i = 0; i < 32; i++) { uint32_t same = 0; FOR_LANES same |= (uint32_t)(x.u[l] == x.u[i]) << l; r.u[i] = same & active; } return r.v; }
//@ took*
IN V4 took4(const uint64_t *from) { A4 x; FOR_LANES x.u[l] = (uint32_t)from[l]; return x.v; }
IN V8 took8(const uint64_t *from) { A8 x; FOR_LANES x.u[l] = from[l]; return x.v; }
//@ keep*
IN void keep4(uint64_t *to, V4 v) { A4 x = {v}; FOR_LANES to[l] = x.u[l]; }
IN void keep8(uint64_t *to, V8 v) { A8 x = {v}; FOR_LANES to[l] = x.u[l]; }

