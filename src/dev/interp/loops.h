// The two shapes of lane loop that ops_int.c and ops_float.c are made of: one expression of x (and
// y) for each of the 32 lanes.
// No guard: ops_avx2.c reads both files a second time, and each takes the macros back at its end.
#define BINARY(name, S, T, expr)                                                                   \
    static void name(void *dv, const void *av, const void *bv, const void *cv)                     \
    {                                                                                              \
        (void)cv;                                                                                  \
        T *d = dv;                                                                                 \
        const S *a = av, *b = bv;                                                                  \
        LANE_LOOP for (int i = 0; i < LANES; i++)                                                  \
        {                                                                                          \
            S x = a[i], y = b[i];                                                                  \
            d[i] = (T)(expr);                                                                      \
        }                                                                                          \
    }
#define UNARY(name, T, expr)                                                                       \
    static void name(void *dv, const void *av, const void *bv, const void *cv)                     \
    {                                                                                              \
        (void)bv;                                                                                  \
        (void)cv;                                                                                  \
        T *d = dv;                                                                                 \
        const T *a = av;                                                                           \
        LANE_LOOP for (int i = 0; i < LANES; i++)                                                  \
        {                                                                                          \
            T x = a[i];                                                                            \
            d[i] = (T)(expr);                                                                      \
        }                                                                                          \
    }
