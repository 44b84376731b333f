// Shared memory through which calls carry large objects (rt/channel/mailbox_ring.h). A launch gets
// it where it costs nothing: as many blocks as before run at the same time, and, where it is on
// most multiprocessors, other kernels find three quarters of their shared memory free.
#include "dev/cuda/cuda.h"

static const size_t sizes[] = {192 << 10, 96 << 10, 48 << 10, 24 << 10};
static const size_t few_limit = 192 << 10, many_limit = 48 << 10; // of a multiprocessor
_Static_assert(COUNT(sizes) == CUDA_RING_SIZES, "cuda.h");

// How many blocks of so many threads run on a multiprocessor, without a ring and with each size.
static void ask(kiln_kernel *kernel, uint32_t threads, size_t shared_bytes)
{
    const cuda_device *d = cuda_of(kernel->module->k);
    cuda_kernel *c = cuda_kernel_of(kernel);
    size_t limit = kernel->module->k->caps.shared_bytes;
    int count = 0;
    c->ring_threads = threads;
    c->ring_base = shared_bytes;
    memset(c->ring_blocks, 0, sizeof c->ring_blocks);
    c->plain_blocks = 0;
    if (d->cu->occupancy(&count, c->function, (int)threads, shared_bytes))
        return;
    c->plain_blocks = (uint32_t)count;
    for (size_t n = 0; n < COUNT(sizes); n++) {
        if (sizes[n] < shared_bytes || sizes[n] > limit || kernel->shared_bytes > limit - sizes[n])
            continue;
        if (sizes[n] > c->dynamic_limit) {
            if (d->cu->function_set(c->function, CU_FN_MAX_DYNAMIC_SHARED, (int)sizes[n]))
                continue;
            c->dynamic_limit = sizes[n];
        }
        if (!d->cu->occupancy(&count, c->function, (int)threads, sizes[n]))
            c->ring_blocks[n] = (uint32_t)count;
    }
}

size_t cuda_ring_bytes(kiln_kernel *kernel, const rt_launch *l)
{
    const cuda_device *d = cuda_of(kernel->module->k);
    cuda_kernel *c = cuda_kernel_of(kernel);
    if (!kernel->carries || !cuda_module_of(kernel->module)->channel->has_ring || l->cluster[0] ||
        l->is_cooperative || !d->cu->occupancy)
        return l->shared_bytes;
    uint32_t threads = l->block[0] * l->block[1] * l->block[2],
             processors = d->facts.multiprocessors ? d->facts.multiprocessors : 1;
    if (c->ring_threads != threads || c->ring_base != l->shared_bytes)
        ask(kernel, threads, l->shared_bytes);
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
             wanted = (blocks + processors - 1) / processors;
    wanted = wanted < c->plain_blocks ? wanted : c->plain_blocks;
    size_t limit = 2 * blocks <= processors ? few_limit : many_limit;
    for (size_t n = 0; n < COUNT(sizes); n++)
        if (c->ring_blocks[n] && c->ring_blocks[n] >= wanted && sizes[n] * wanted <= limit)
            return sizes[n];
    return l->shared_bytes;
}
