// Part of forward_sm90.c: scores in the registers of a warpgroup, turned into probabilities.
//
// A thread holds BN / 2 scores of two rows, h = 0 and 1: number j * 4 + h * 2 + i is the one in row
// h * 8 + lane() / 4 and column j * 8 + lane() % 4 * 2 + i. The four lanes of a row agree on the
// largest score of each block; sums stay with each thread until the end.

typedef struct softmax {
    f32 top[2];    // what the probabilities are relative to: about the largest score so far, scaled
    f32 offset[2]; // the same, or 0 for -infinity
    f32 sum[2];    // of the probabilities in this thread's columns
    f32 shrink[2]; // what the newest block makes of earlier sums
} softmax;

static u32 at(u32 h, u32 i) // number of the i-th element of row h
{
    return i / 2 * 4 + h * 2 + i % 2;
}

static f32 row_max(f32 (*s)[BN / 2], u32 h)
{
    f32 part[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        part[i] = max((*s)[at(h, i)], (*s)[at(h, i + 4)]);
#pragma unroll
    for (u32 i = 8; i < BN / 4; i++)
        part[i % 4] = max(part[i % 4], (*s)[at(h, i)]);
    return max(max(part[0], part[1]), max(part[2], part[3]));
}

static f32 row_sum(f32 (*s)[BN / 2], u32 h)
{
    f32 part[4];
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        part[i] = (*s)[at(h, i)] + (*s)[at(h, i + 4)];
#pragma unroll
    for (u32 i = 8; i < BN / 4; i++)
        part[i % 4] += (*s)[at(h, i)];
    return (part[0] + part[1]) + (part[2] + part[3]);
}

// What probabilities are relative to from now on: `top`. It follows the largest score when that has
// grown by more than a factor of 2^8 in one of the warp's rows; until then probabilities may be
// above 1, and nothing is lost by that. Says whether it did: then what was summed up so far
// shrinks.
static bool find_top(f32 (*s)[BN / 2], softmax *m, f32 scale, bool is_first)
{
    f32 top[2];
#pragma unroll
    for (u32 h = 0; h < 2; h++)
        top[h] = row_max(s, h);
#pragma unroll
    for (u32 d = 1; d < 4; d *= 2)
#pragma unroll
        for (u32 h = 0; h < 2; h++)
            top[h] = max(top[h], shuffle_xor(top[h], d));
    bool is_larger = false;
#pragma unroll
    for (u32 h = 0; h < 2; h++) {
        f32 scaled = top[h] * scale;
        bool grows = is_first || warp_any(scaled - m->top[h] > 8.0f);
        if (!is_first)
            scaled = grows ? max(scaled, m->top[h]) : m->top[h];
        m->offset[h] = CAUSAL && scaled == -INFINITY ? 0.0f : scaled; // a row without a key so far
        if (!is_first)
            m->shrink[h] = fast_exp2(m->top[h] - m->offset[h]);
        m->top[h] = scaled;
        is_larger = is_larger || grows;
    }
    return is_larger;
}

// Turns scores into probabilities.
static void exponentiate(f32 (*s)[BN / 2], softmax *m, f32 scale, bool is_first)
{
#pragma unroll
    for (u32 i = 0; i < BN / 2; i++)
        (*s)[i] = fast_exp2(fma((*s)[i], scale, -m->offset[i / 2 % 2]));
#pragma unroll
    for (u32 h = 0; h < 2; h++) {
        f32 sum = row_sum(s, h);
        m->sum[h] = is_first ? sum : fma(m->sum[h], m->shrink[h], sum);
    }
}

// Of a thread's columns, row h sees those below limit[h].
static void mask(f32 (*s)[BN / 2], const i32 (*limit)[2])
{
#pragma unroll
    for (u32 i = 0; i < BN / 2; i++)
        if ((i32)(i / 4 * 8 + i % 2) >= (*limit)[i / 2 % 2])
            (*s)[i] = -INFINITY;
}

static void pack(u32 (*p)[BN / 16][4], f32 (*s)[BN / 2])
{
#pragma unroll
    for (u32 i = 0; i < BN / 4; i++)
        (*p)[i / 4][i % 4] = PACK((*s)[2 * i], (*s)[2 * i + 1]);
}
