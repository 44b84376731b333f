// Loads and stores of neighbouring bytes, in an order that matters: members of vectors and structs,
// rows of small matrices, in global, shared and local memory. The optimiser merges and moves
// accesses; what is read must be what C says was last written.
#include <kiln/kernel.h>

static bool members_are_right(i32x2 *x, i32 *out)
{
    for (u32 i = 0; i < 64; i++)
        if (out[i] != 7 || x[i].y != 7 || (x[i].x & ~1) != 0)
            return false;
    return true;
}
//! run members_global grid=2 block=32 check=members_are_right (i32x2[64]:rand@i32, i32[64])
kernel block(32) void members_global(i32x2 *x, i32 *out)
{
    i32x2 *p = x + global_x();
    p->y = 7;
    p->x = p->x & 1;
    out[global_x()] = p->y;
}

//! run members_shared grid=2 block=32 check=members_are_right (i32x2[64]:rand@i32, i32[64])
kernel block(32) void members_shared(i32x2 *x, i32 *out)
{
    shared i32x2 tile[32];
    i32x2 *p = tile + thread_x();
    *p = x[global_x()];
    barrier();
    p->y = 7;
    p->x = p->x & 1;
    out[global_x()] = p->y;
    barrier();
    x[global_x()] = tile[thread_x()];
}

// The dynamic index keeps the array in memory.
//! run members_local grid=2 block=32 check=members_are_right (i32x2[64]:rand@i32, i32[64])
kernel block(32) void members_local(i32x2 *x, i32 *out)
{
    i32x2 own[4];
    for (u32 k = 0; k < 4; k++)
        own[k] = x[global_x()];
    i32x2 *p = own + (thread_x() & 3);
    p->y = 7;
    p->x = p->x & 1;
    out[global_x()] = p->y;
    x[global_x()] = *p;
}

// Four stores sink to the last of them, past loads of their own bytes' neighbours; the loads after
// them must not rise above.
//! run members_wide grid=1 block=32 (i32x4[32]:rand@i32, i32[32])
kernel block(32) void members_wide(i32x4 *x, i32 *out)
{
    i32x4 *p = x + thread_x();
    p->w = 3;
    p->z = p->x + 5;
    p->y = p->x + p->w;
    p->x = p->y ^ p->z;
    out[thread_x()] = p->w + p->z * 3 + p->y * 5 + p->x * 7;
}

// A load before the stores and one after, of the same bytes.
//! run load_store_load grid=1 block=32 (u16[256]:bits, u32[32])
kernel block(32) void load_store_load(u16 *x, u32 *out)
{
    u16 *p = x + thread_x() * 8;
    u32 sum = p[0];
    p[1] = (u16)(sum + 1);
    sum = sum * 3 + p[2];
    p[0] = (u16)sum;
    sum = sum * 3 + p[1];
    p[3] = (u16)sum;
    sum = sum * 3 + p[3];
    p[2] = (u16)sum;
    sum = sum * 3 + p[0];
    out[thread_x()] = sum;
}

// Two pointers that may be one: what is stored through the one is read through the other.
//! run two_pointers grid=1 block=32 (u32[128]:rand, u32[32]:mod3, u32[32])
kernel block(32) void two_pointers(u32 *x, const u32 *choice, u32 *out)
{
    u32 *p = x + thread_x() * 4, *q = p + (choice[thread_x()] & 1);
    p[1] = 7;
    u32 first = q[0];
    q[1] = first + 2;
    p[0] = p[1] + q[1];
    out[thread_x()] = p[0] + p[1] * 3 + q[0] * 5 + q[1] * 7;
}

typedef struct body {
    f32 x, y;
    u8 tag[4];
    u16 low, high;
} body;

//! run narrow_members grid=1 block=32 (body[32]:bits@u32, u32[32])
kernel block(32) void narrow_members(body *bodies, u32 *out)
{
    body *b = bodies + thread_x();
    b->tag[1] = 9;
    b->tag[0] = (u8)(b->tag[2] + 1);
    b->low = b->high;
    b->high = (u16)(b->low + b->tag[1]);
    b->tag[3] = b->tag[0];
    b->tag[2] = (u8)(b->tag[3] ^ b->tag[1]);
    out[thread_x()] = b->tag[0] + b->tag[1] * 3u + b->tag[2] * 5u + b->low * 7u + b->high * 11u;
}

// Rows are read and written in one stretch: a row is divided, then subtracted from the others.
//! run gauss_rows grid=1 block=32 (f32[640]:rand, f32[128])
kernel block(32) void gauss_rows(const f32 *a, f32 *x)
{
    const u32 s = global_x();
    f32 m[4][5];
    for (u32 r = 0; r < 4; r++)
        for (u32 c = 0; c < 5; c++)
            m[r][c] = a[20 * s + 5 * r + c];
    for (u32 col = 0; col < 4; col++) {
        m[(u32)(a[s] * 10 + 1000) & 3][4] = 1;
        const f32 d = m[col][col];
        for (u32 c = 0; c < 5; c++)
            m[col][c] /= d;
        for (u32 r = 0; r < 4; r++) {
            if (r == col)
                continue;
            const f32 f = m[r][col];
            for (u32 c = 0; c < 5; c++)
                m[r][c] -= f * m[col][c];
        }
    }
    for (u32 r = 0; r < 4; r++)
        x[4 * s + r] = m[r][4];
}

// Gauss-Jordan elimination with pivoting; the check puts the solution into the equations.
static bool is_solution(const f32 *a, f32 *x, u32 n)
{
    for (u32 s = 0; s < n; s++)
        for (u32 r = 0; r < 4; r++) {
            f64 sum = 0, scale = 1;
            for (u32 c = 0; c < 4; c++) {
                f64 term = (f64)a[20 * s + 5 * r + c] * (f64)x[4 * s + c];
                sum += term;
                scale += term < 0 ? -term : term;
            }
            f64 off = sum - (f64)a[20 * s + 5 * r + 4];
            if (!((off < 0 ? -off : off) <= scale * 1e-3))
                return false;
        }
    return true;
}
//! run gauss_jordan grid=7 block=32 check=is_solution (f32[4000]:rand, f32[800], u32=200)
kernel block(32) void gauss_jordan(const f32 *a, f32 *x, u32 n)
{
    const u32 s = global_x();
    if (s >= n)
        return;
    f32 m[4][5];
    for (u32 r = 0; r < 4; r++)
        for (u32 c = 0; c < 5; c++)
            m[r][c] = a[20 * s + 5 * r + c];
    for (u32 col = 0; col < 4; col++) {
        u32 pivot = col;
        for (u32 r = col + 1; r < 4; r++)
            if (fabs(m[r][col]) > fabs(m[pivot][col]))
                pivot = r;
        for (u32 c = 0; c < 5; c++) {
            const f32 held = m[col][c];
            m[col][c] = m[pivot][c];
            m[pivot][c] = held;
        }
        const f32 d = m[col][col];
        for (u32 c = 0; c < 5; c++)
            m[col][c] /= d;
        for (u32 r = 0; r < 4; r++) {
            if (r == col)
                continue;
            const f32 f = m[r][col];
            for (u32 c = 0; c < 5; c++)
                m[r][c] -= f * m[col][c];
        }
    }
    for (u32 r = 0; r < 4; r++)
        x[4 * s + r] = m[r][4];
}

// The same on rows in shared memory, a matrix to a thread.
//! run gauss_shared grid=4 block=16 check=is_solution (f32[1280]:rand, f32[256], u32=64)
kernel block(16) void gauss_shared(const f32 *a, f32 *x, u32 n)
{
    shared f32 tile[16 * 32];
    const u32 s = global_x();
    f32 *m = tile + 32 * thread_x();
    if (s >= n)
        return;
    for (u32 r = 0; r < 4; r++)
        for (u32 c = 0; c < 5; c++)
            m[8 * r + c] = a[20 * s + 5 * r + c];
    for (u32 col = 0; col < 4; col++) {
        u32 pivot = col;
        for (u32 r = col + 1; r < 4; r++)
            if (fabs(m[8 * r + col]) > fabs(m[8 * pivot + col]))
                pivot = r;
        for (u32 c = 0; c < 5; c++) {
            const f32 held = m[8 * col + c];
            m[8 * col + c] = m[8 * pivot + c];
            m[8 * pivot + c] = held;
        }
        const f32 d = m[8 * col + col];
        for (u32 c = 0; c < 5; c++)
            m[8 * col + c] /= d;
        for (u32 r = 0; r < 4; r++) {
            if (r == col)
                continue;
            const f32 f = m[8 * r + col];
            for (u32 c = 0; c < 5; c++)
                m[8 * r + c] -= f * m[8 * col + c];
        }
    }
    for (u32 r = 0; r < 4; r++)
        x[4 * s + r] = m[8 * r + 4];
}

// An index whose parts do not fit 32 bits, though it does: the constant is far, what is left of the
// index without it is as far below zero, and a multiple or a sum of that wraps.
//! run far_scaled grid=1 block=32 (i32[32]:iota, u32[64], i32=-1073741824, i64=4294967296)
kernel block(32) void far_scaled(const i32 *in, u32 *out, i32 base, i64 back)
{
    i32 x = in[thread_x()] + base;
    if (thread_x() < 8 && x >= -1073741824 && x <= -1073741816)
        out[back + (i64)((x + 1073741824) * 4) - 4294967295] = 7 + thread_x();
}
//! run far_summed grid=1 block=32 (i32[32]:iota, u32[64], i32=-2147483647, i64=4294967294)
kernel block(32) void far_summed(const i32 *in, u32 *out, i32 base, i64 back)
{
    i32 x = in[thread_x()] + base, y = x;
    if (thread_x() < 8 && x >= -2147483647 && x <= -2147483640 && y <= -2147483640)
        out[back + (i64)((x + 2147483647) + (y + 2147483647)) - 4294967293] = 7 + thread_x();
}

// An argument by value is a copy, whatever happens to the original while the function runs.
typedef struct pair {
    u32 a, b[2];
} pair;

static u32 read_late(pair p, pair *all, u32 i)
{
    all[i].a = 1000;
    all[i].b[1] = 2000;
    return p.a + p.b[1];
}
static u32 read_after_barrier(pair p, pair *all, u32 i)
{
    barrier();
    all[i ^ 1].a += 77;
    all[i ^ 1].b[0] = 5;
    barrier();
    return p.a * 3 + p.b[0];
}
static u32 changes_its_own(pair p, pair q)
{
    q.a += p.a;
    p.b[1] = q.a;
    return p.a + p.b[1] + q.b[0];
}
static u32 passes_on(pair p, pair *all, u32 i)
{
    return read_late(p, all, i) + p.a;
}
//! run by_value_shared grid=1 block=32 (u32[96]:rand, u32[64])
kernel block(32) void by_value_shared(const u32 *in, u32 *out)
{
    shared pair tile[32];
    u32 i = thread_x();
    tile[i] = (pair){in[i], {in[i + 32], in[i + 64]}};
    barrier();
    out[i] = read_after_barrier(tile[i], tile, i);
    barrier();
    out[i + 32] = read_late(tile[i], tile, i) + tile[i].a;
}
//! run by_value_global grid=1 block=32 (pair[32]:bits@u32, u32[32])
kernel block(32) void by_value_global(pair *all, u32 *out)
{
    u32 i = thread_x();
    out[i] = read_late(all[i], all, i) + passes_on(*(all + i), all, i) + all[i].b[1];
}
//! run by_value_local grid=1 block=32 (u32[96]:rand, u32[160])
kernel block(32) void by_value_local(const u32 *in, u32 *out)
{
    u32 i = thread_x();
    pair one = {in[i], {in[i + 32], in[i + 64]}}, some[3] = {one, one, one}, own = one;
    out[i] = read_late(one, &one, 0) + one.a;
    out[i + 32] = read_late(some[i % 3], some, i % 3) + some[i % 3].a;
    out[i + 64] = changes_its_own(own, own) + own.a + own.b[1];
    out[i + 96] = passes_on(one, &one, 0);
    volatile pair odd = one;
    out[i + 128] = changes_its_own(odd, own) + odd.a;
}
