// ADDS: the gradient by the operand adds the parts of that by the weights, which the kernel before it
// has stored (weights_sm90.c), when its own tiles are done. A thread has four neighbouring elements, and
// adds the parts in order.
#ifndef KILN_CONV_SM90_ADDS_H
#define KILN_CONV_SM90_ADDS_H
#ifdef ADDS

typedef struct adds_shape {
    u64 elements; // of a part: a multiple of four
    u32 count;    // parts
} adds_shape;

// parts: [count, elements] f32, to: [elements]. Called by the warpgroups that multiply.
static void add_parts(const f32 *restrict parts, T *restrict to, const adds_shape *s)
{
    enum { EACH = 4, AHEAD = 8, ADDING = WGS * 128 };
    u64 block = (u64)block_z() * grid_dim_x() + block_x(), blocks = (u64)grid_dim_x() * grid_dim_z();
    for (u64 at = (block * ADDING + thread_x()) * EACH; at < s->elements; at += blocks * ADDING * EACH) {
        f32x4 sum = {0, 0, 0, 0};
        for (u32 first = 0; first < s->count; first += AHEAD) {
            f32x4 more[AHEAD];
#pragma unroll
            for (u32 i = 0; i < AHEAD; i++)
                more[i] = first + i < s->count ? *(const f32x4 *)(parts + (first + i) * s->elements + at) : (f32x4){0, 0, 0, 0};
#pragma unroll
            for (u32 i = 0; i < AHEAD; i++)
                sum = (f32x4){sum.x + more[i].x, sum.y + more[i].y, sum.z + more[i].z, sum.w + more[i].w};
        }
        *(u32x2 *)(to + at) = (u32x2){PAIR(sum.x, sum.y), PAIR(sum.z, sum.w)};
    }
}

#endif
#endif
