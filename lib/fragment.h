// Matrix fragments: a warp holds 16 rows of A, 16 columns of B and their 16 x 16 products in
// registers, and multiplies over 32 bytes of K at a time. In Kiln C; host compilers read the same
// text.
//
// The layout is the one of mma.m16n8: of A, word 2 * h + r of lane 4 * i + j has row 8 * r + i and
// the j-th four bytes of half h of K; of B, word 2 * c + h has column 8 * c + i; of the product,
// element 4 * c + 2 * r + e has row 8 * r + i and column 8 * c + 2 * j + e. Where there is no such
// instruction the words wander through the warp: every lane asks for the row and the columns it
// needs. Integers give the same bits everywhere; floats are added in another order by the hardware.
#ifndef KILN_LIB_FRAGMENT_H
#define KILN_LIB_FRAGMENT_H

static inline u32 k_fragment_row(u32 element)
{
    return lane() / 4 + element / 2 % 2 * 8;
}

static inline u32 k_fragment_column(u32 element)
{
    return lane() % 4 * 2 + element % 2 + element / 4 * 8;
}

// --- loads. Along K: a word is four bytes in memory. Across K: its elements are a stride apart.
#define K_FRAGMENT_WORD_f16(p)  (bits_f16((p)[0]) | (u32)bits_f16((p)[stride]) << 16)
#define K_FRAGMENT_WORD_bf16(p) (bits_bf16((p)[0]) | (u32)bits_bf16((p)[stride]) << 16)
#define K_FRAGMENT_WORD_i8(p)                                                                      \
    ((u8)(p)[0] | (u32)(u8)(p)[stride] << 8 | (u32)(u8)(p)[stride + stride] << 16 |                \
     (u32)(u8)(p)[stride + stride + stride] << 24)

#define K_FRAGMENT_LOADS(T, PER_WORD)                                                              \
    static inline void k_fragment_load_a_##T(u32 *words, const T *from, u32 stride)                \
    {                                                                                              \
        u32 near = lane() / 4 * stride + lane() % 4 * PER_WORD, far = near + 8 * stride;           \
        words[0] = *(const u32 *)(const void *)(from + near);                                      \
        words[1] = *(const u32 *)(const void *)(from + far);                                       \
        words[2] = *(const u32 *)(const void *)(from + near + 4 * PER_WORD);                       \
        words[3] = *(const u32 *)(const void *)(from + far + 4 * PER_WORD);                        \
    }                                                                                              \
    static inline void k_fragment_load_b_t_##T(u32 *words, const T *from, u32 stride)              \
    {                                                                                              \
        u32 near = lane() / 4 * stride + lane() % 4 * PER_WORD, far = near + 8 * stride;           \
        words[0] = *(const u32 *)(const void *)(from + near);                                      \
        words[1] = *(const u32 *)(const void *)(from + near + 4 * PER_WORD);                       \
        words[2] = *(const u32 *)(const void *)(from + far);                                       \
        words[3] = *(const u32 *)(const void *)(from + far + 4 * PER_WORD);                        \
    }                                                                                              \
    static inline void k_fragment_load_a_t_##T(u32 *words, const T *from, u32 stride)              \
    {                                                                                              \
        u32 near = lane() % 4 * PER_WORD * stride + lane() / 4,                                    \
            far = near + 4 * PER_WORD * stride;                                                    \
        words[0] = K_FRAGMENT_WORD_##T(from + near);                                               \
        words[1] = K_FRAGMENT_WORD_##T(from + near + 8);                                           \
        words[2] = K_FRAGMENT_WORD_##T(from + far);                                                \
        words[3] = K_FRAGMENT_WORD_##T(from + far + 8);                                            \
    }                                                                                              \
    static inline void k_fragment_load_b_##T(u32 *words, const T *from, u32 stride)                \
    {                                                                                              \
        u32 near = lane() % 4 * PER_WORD * stride + lane() / 4,                                    \
            far = near + 4 * PER_WORD * stride;                                                    \
        words[0] = K_FRAGMENT_WORD_##T(from + near);                                               \
        words[1] = K_FRAGMENT_WORD_##T(from + far);                                                \
        words[2] = K_FRAGMENT_WORD_##T(from + near + 8);                                           \
        words[3] = K_FRAGMENT_WORD_##T(from + far + 8);                                            \
    }

K_FRAGMENT_LOADS(f16, 2)
K_FRAGMENT_LOADS(bf16, 2)
K_FRAGMENT_LOADS(i8, 4)

// --- the same from shared memory, in lines that start at multiples of 16 bytes: lane i gives the
// address of one of 32 lines, eight for each word.
static inline void k_fragment_lines(u32 *words, const void *line)
{
    u32 w[4] = {0, 0, 0, 0};
    ldmatrix(w, (const u32 *)line);
    words[0] = w[0];
    words[1] = w[1];
    words[2] = w[2];
    words[3] = w[3];
}

static inline void k_fragment_lines_t(u32 *words, const void *line)
{
    u32 w[4] = {0, 0, 0, 0};
    ldmatrix_transposed(w, (const u32 *)line);
    words[0] = w[0];
    words[1] = w[1];
    words[2] = w[2];
    words[3] = w[3];
}

#define K_FRAGMENT_FETCHES(T, PER_WORD)                                                            \
    static inline void k_fragment_fetch_a_##T(u32 *words, const T *from, u32 stride)               \
    {                                                                                              \
        u32 at = lane() % 16 * stride + lane() / 16 * 4 * PER_WORD;                                \
        if (target_sm() >= 75)                                                                     \
            k_fragment_lines(words, from + at);                                                    \
        else                                                                                       \
            k_fragment_load_a_##T(words, from, stride);                                            \
    }                                                                                              \
    static inline void k_fragment_fetch_b_t_##T(u32 *words, const T *from, u32 stride)             \
    {                                                                                              \
        u32 column = lane() / 16 * 8 + lane() % 8;                                                 \
        u32 at = column * stride + lane() / 8 % 2 * 4 * PER_WORD;                                  \
        if (target_sm() >= 75)                                                                     \
            k_fragment_lines(words, from + at);                                                    \
        else                                                                                       \
            k_fragment_load_b_t_##T(words, from, stride);                                          \
    }                                                                                              \
    static inline void k_fragment_fetch_a_t_##T(u32 *words, const T *from, u32 stride)             \
    {                                                                                              \
        u32 at = (lane() / 16 * 8 + lane() % 8) * stride + lane() / 8 % 2 * 8;                     \
        if (target_sm() >= 75 && PER_WORD == 2)                                                    \
            k_fragment_lines_t(words, from + at);                                                  \
        else                                                                                       \
            k_fragment_load_a_t_##T(words, from, stride);                                          \
    }                                                                                              \
    static inline void k_fragment_fetch_b_##T(u32 *words, const T *from, u32 stride)               \
    {                                                                                              \
        u32 at = lane() % 16 * stride + lane() / 16 * 8;                                           \
        if (target_sm() >= 75 && PER_WORD == 2)                                                    \
            k_fragment_lines_t(words, from + at);                                                  \
        else                                                                                       \
            k_fragment_load_b_##T(words, from, stride);                                            \
    }

K_FRAGMENT_FETCHES(f16, 2)
K_FRAGMENT_FETCHES(bf16, 2)
K_FRAGMENT_FETCHES(i8, 4)

// --- products
// c plus the products of the elements of two words.
static inline f32 k_fragment_dot_f16(u32 a, u32 b, f32 c)
{
    c = fma(f32(f16_from_bits((u16)a)), f32(f16_from_bits((u16)b)), c);
    return fma(f32(f16_from_bits((u16)(a >> 16))), f32(f16_from_bits((u16)(b >> 16))), c);
}

static inline f32 k_fragment_dot_bf16(u32 a, u32 b, f32 c)
{
    c = fma(f32_from_bits(a << 16), f32_from_bits(b << 16), c);
    return fma(f32_from_bits(a & 0xffff0000u), f32_from_bits(b & 0xffff0000u), c);
}

static inline i32 k_fragment_dot_i8(u32 a, u32 b, i32 c)
{
    return dot4_i8(a, b, c);
}

// The eighth of K that lanes of column j hold in half h: both rows against all four columns.
#define K_FRAGMENT_EIGHTH(T, h, j)                                                                 \
    do {                                                                                           \
        u32 top = shuffle(a[2 * (h)], lane() / 4 * 4 + (j));                                       \
        u32 bottom = shuffle(a[2 * (h) + 1], lane() / 4 * 4 + (j));                                \
        u32 left = shuffle(b[h], lane() % 4 * 8 + (j)),                                            \
            right = shuffle(b[2 + (h)], lane() % 4 * 8 + (j));                                     \
        u32 left1 = shuffle(b[h], lane() % 4 * 8 + 4 + (j));                                       \
        u32 right1 = shuffle(b[2 + (h)], lane() % 4 * 8 + 4 + (j));                                \
        sum[0] = k_fragment_dot_##T(top, left, sum[0]);                                            \
        sum[1] = k_fragment_dot_##T(top, left1, sum[1]);                                           \
        sum[2] = k_fragment_dot_##T(bottom, left, sum[2]);                                         \
        sum[3] = k_fragment_dot_##T(bottom, left1, sum[3]);                                        \
        sum[4] = k_fragment_dot_##T(top, right, sum[4]);                                           \
        sum[5] = k_fragment_dot_##T(top, right1, sum[5]);                                          \
        sum[6] = k_fragment_dot_##T(bottom, right, sum[6]);                                        \
        sum[7] = k_fragment_dot_##T(bottom, right1, sum[7]);                                       \
    } while (0)

#define K_FRAGMENT_BY_HAND(T)                                                                      \
    do {                                                                                           \
        K_FRAGMENT_EIGHTH(T, 0, 0);                                                                \
        K_FRAGMENT_EIGHTH(T, 0, 1);                                                                \
        K_FRAGMENT_EIGHTH(T, 0, 2);                                                                \
        K_FRAGMENT_EIGHTH(T, 0, 3);                                                                \
        K_FRAGMENT_EIGHTH(T, 1, 0);                                                                \
        K_FRAGMENT_EIGHTH(T, 1, 1);                                                                \
        K_FRAGMENT_EIGHTH(T, 1, 2);                                                                \
        K_FRAGMENT_EIGHTH(T, 1, 3);                                                                \
    } while (0)

// The matrix units: two products of 16 x 8.
#define K_FRAGMENT_BY_UNIT(S, MMA)                                                                 \
    do {                                                                                           \
        S d0[4] = {sum[0], sum[1], sum[2], sum[3]}, d1[4] = {sum[4], sum[5], sum[6], sum[7]};      \
        u32 x[4] = {a[0], a[1], a[2], a[3]}, y0[2] = {b[0], b[1]}, y1[2] = {b[2], b[3]};           \
        MMA(d0, x, y0);                                                                            \
        MMA(d1, x, y1);                                                                            \
        sum[0] = d0[0];                                                                            \
        sum[1] = d0[1];                                                                            \
        sum[2] = d0[2];                                                                            \
        sum[3] = d0[3];                                                                            \
        sum[4] = d1[0];                                                                            \
        sum[5] = d1[1];                                                                            \
        sum[6] = d1[2];                                                                            \
        sum[7] = d1[3];                                                                            \
    } while (0)

// The same for sm_75, whose unit takes half of K at a time.
static inline void k_fragment_half_f16(f32 *sum, u32 a0, u32 a1, u32 left, u32 right)
{
    f32 d0[4] = {sum[0], sum[1], sum[2], sum[3]}, d1[4] = {sum[4], sum[5], sum[6], sum[7]};
    u32 x[2] = {a0, a1}, y0[1] = {left}, y1[1] = {right};
    mma_f16(d0, x, y0);
    mma_f16(d1, x, y1);
    sum[0] = d0[0];
    sum[1] = d0[1];
    sum[2] = d0[2];
    sum[3] = d0[3];
    sum[4] = d1[0];
    sum[5] = d1[1];
    sum[6] = d1[2];
    sum[7] = d1[3];
}

static inline void k_fragment_multiply_f16(f32 *sum, const u32 *a, const u32 *b)
{
    if (target_sm() >= 80) {
        K_FRAGMENT_BY_UNIT(f32, mma_f16);
    } else if (target_sm() >= 75) {
        k_fragment_half_f16(sum, a[0], a[1], b[0], b[2]);
        k_fragment_half_f16(sum, a[2], a[3], b[1], b[3]);
    } else {
        K_FRAGMENT_BY_HAND(f16);
    }
}

#define K_FRAGMENT_MULTIPLY(T, S, MMA, SM)                                                           \
    static inline void k_fragment_multiply_##T(S *sum, const u32 *a, const u32 *b)                 \
    {                                                                                              \
        if (target_sm() >= SM)                                                                     \
            K_FRAGMENT_BY_UNIT(S, MMA);                                                            \
        else                                                                                       \
            K_FRAGMENT_BY_HAND(T);                                                                 \
    }

K_FRAGMENT_MULTIPLY(bf16, f32, mma_bf16, 80)
K_FRAGMENT_MULTIPLY(i8, i32, mma_s8, 75)

// --- stores
#define K_FRAGMENT_STORE(T)                                                                        \
    static inline void k_fragment_store_##T(T *to, u32 stride, const T *sum)                       \
    {                                                                                              \
        u32 near = lane() / 4 * stride + lane() % 4 * 2, far = 8 * stride;                         \
        T *at = to + near;                                                                         \
        at[0] = sum[0];                                                                            \
        at[1] = sum[1];                                                                            \
        at[8] = sum[4];                                                                            \
        at[9] = sum[5];                                                                            \
        at += far;                                                                                 \
        at[0] = sum[2];                                                                            \
        at[1] = sum[3];                                                                            \
        at[8] = sum[6];                                                                            \
        at[9] = sum[7];                                                                            \
    }
K_FRAGMENT_STORE(f32)
K_FRAGMENT_STORE(i32)

#endif
