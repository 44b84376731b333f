// Element i of a pack (kiln/moved.h) in the kernels that write packs of single elements.
static inline void put(pack *p, u32 i, T x)
{
#if MOVED_WORDS
    u32 shift = i % (4 / BYTES) * (8 * BYTES);
    p->w[i / (4 / BYTES)] = (shift ? p->w[i / (4 / BYTES)] : 0u) | (u32)x << shift;
#else
    p->e[i] = x;
#endif
}
