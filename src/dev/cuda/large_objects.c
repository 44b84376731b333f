// Large objects of calls: the copy engines bring them to pinned memory of the host, and back, while
// kernels run. Several threads that serve have a stream each, so that one copy follows the other
// without a gap, and copies in both directions run at the same time.
#include "dev/cuda/cuda.h"

#include <pthread.h>
#include <stdlib.h>

#include "rt/channel/server.h"

enum {
    PAGE = 65536, // of pinned memory
    PAGES = 1024,
    STREAMS = 8,
    POINTER_TYPE = 2
};

struct cuda_large_objects {
    cuda_device *d;
    server_far given;
    pthread_mutex_t lock; // of what follows
    bool is_used[PAGES];
    uint32_t users[STREAMS]; // copies in a stream
    cu_stream streams[STREAMS];
    uint32_t stream_count;
    uint8_t *arena; // pinned; NULL: there is none
};

// The one with the fewest copies; -1: there are none.
static int take_stream(cuda_large_objects *f)
{
    int best = f->stream_count ? 0 : -1;
    pthread_mutex_lock(&f->lock);
    for (int n = 1; n < (int)f->stream_count; n++)
        best = f->users[n] < f->users[best] ? n : best;
    if (best >= 0)
        f->users[best]++;
    pthread_mutex_unlock(&f->lock);
    return best;
}

static void give_stream(cuda_large_objects *f, int n)
{
    pthread_mutex_lock(&f->lock);
    f->users[n]--;
    pthread_mutex_unlock(&f->lock);
}

static bool is_of_gpu(const cuda_api *cu, uint64_t at)
{
    unsigned type = 0;
    return !cu->pointer_attribute(&type, POINTER_TYPE, at) && type == CU_MEMORY_DEVICE;
}

static bool has_far(void *user, uint64_t at, size_t bytes)
{
    cuda_large_objects *f = user;
    uint64_t last = at + bytes - 1;
    cuda_enter(f->d);
    return last >= at && is_of_gpu(f->d->cu, at) && is_of_gpu(f->d->cu, last);
}

static bool copy_far(void *user, void *host, uint64_t at, size_t bytes, bool is_to_gpu)
{
    cuda_large_objects *f = user;
    const cuda_api *cu = f->d->cu;
    cuda_enter(f->d);
    int n = take_stream(f);
    if (n < 0)
        return false;
    cu_stream s = f->streams[n];
    cu_result r =
        is_to_gpu ? cu->copy_in_async(at, host, bytes, s) : cu->copy_out_async(host, at, bytes, s);
    bool is_fine = !r && !cu->stream_sync(s);
    give_stream(f, n);
    return is_fine;
}

static void mark(cuda_large_objects *f, size_t first, size_t count, bool is_used)
{
    for (size_t n = first; n < first + count; n++)
        f->is_used[n] = is_used;
}

static void *take_far(void *user, size_t bytes)
{
    cuda_large_objects *f = user;
    size_t pages = (bytes + PAGE - 1) / PAGE, run = 0, n = 0;
    if (!f->arena)
        return NULL;
    pthread_mutex_lock(&f->lock);
    for (; n < PAGES && run < pages; n++)
        run = f->is_used[n] ? 0 : run + 1;
    if (run == pages)
        mark(f, n - pages, pages, true);
    pthread_mutex_unlock(&f->lock);
    return run == pages ? f->arena + (n - pages) * PAGE : NULL;
}

static void give_far(void *user, void *at, size_t bytes)
{
    cuda_large_objects *f = user;
    pthread_mutex_lock(&f->lock);
    mark(f, (size_t)((uint8_t *)at - f->arena) / PAGE, (bytes + PAGE - 1) / PAGE, false);
    pthread_mutex_unlock(&f->lock);
}

// To pin memory, and to make a stream, may wait for kernels that run, and the one that has called
// does: both are made before.
const server_far *cuda_large_objects_open(cuda_device *d, cuda_large_objects **out)
{
    cuda_large_objects *f = d->cu->pointer_attribute ? calloc(1, sizeof *f) : NULL;
    void *memory = NULL;
    *out = NULL;
    if (!f || pthread_mutex_init(&f->lock, NULL)) {
        free(f);
        return NULL;
    }
    f->d = d;
    f->given = (server_far){has_far, copy_far, take_far, give_far, f};
    while (f->stream_count < STREAMS &&
           !d->cu->stream_create(&f->streams[f->stream_count], CU_STREAM_NON_BLOCKING, 0))
        f->stream_count++;
    if (!d->cu->host_alloc(&memory, (size_t)PAGES * PAGE, CU_HOST_PORTABLE))
        f->arena = memory;
    *out = f;
    return &f->given;
}

void cuda_large_objects_close(cuda_large_objects *f)
{
    if (!f)
        return;
    while (f->stream_count)
        f->d->cu->stream_destroy(f->streams[--f->stream_count]);
    if (f->arena)
        f->d->cu->host_free(f->arena);
    pthread_mutex_destroy(&f->lock);
    free(f);
}
