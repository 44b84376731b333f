// Memory for buffers that machine code of this host uses: addresses before and behind it may not be
// touched, so that a kernel that leaves its buffer is stopped with an error (dev/cpu/fault.c)
// instead of changing other memory. They cost no memory. Each piece takes two mappings of
// the system's, which has few of them: beyond MOST the caller takes plain memory.
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rt/rt.h"

enum { MOST = 8192, BEFORE = 64 << 10, BEHIND = 4 << 20 }; // pieces; bytes
enum { SPARE = 32, SPARE_BYTES = 64 << 10 };               // pieces; of the largest
static uint32_t count;                                     // atomic

// Small pieces that were freed: asking the system takes as long as a launch. A thread that does not
// get the lock at once does without them.
static struct {
    pthread_mutex_t lock;
    uint32_t len;
    struct {
        uint8_t *memory;
        size_t mapped;
    } at[SPARE];
} spare = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint8_t *reuse_spare(size_t mapped)
{
    uint8_t *memory = NULL;
    if (pthread_mutex_trylock(&spare.lock))
        return NULL;
    for (uint32_t k = spare.len; k-- > 0 && !memory;)
        if (spare.at[k].mapped == mapped) {
            memory = spare.at[k].memory;
            spare.at[k] = spare.at[--spare.len];
        }
    pthread_mutex_unlock(&spare.lock);
    if (memory)
        memset(memory + BEFORE, 0, mapped - BEFORE - BEHIND);
    return memory;
}

static bool keep_spare(uint8_t *memory, size_t mapped)
{
    if (mapped > BEFORE + BEHIND + SPARE_BYTES || pthread_mutex_trylock(&spare.lock))
        return false;
    bool is_kept = spare.len < SPARE;
    if (is_kept) {
        spare.at[spare.len].memory = memory;
        spare.at[spare.len++].mapped = mapped;
    }
    pthread_mutex_unlock(&spare.lock);
    return is_kept;
}

static size_t page_size(void)
{
    long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? (size_t)size : 4096;
}

static uint8_t *map_new(size_t mapped)
{
    if (__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) < MOST) {
        uint8_t *memory = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory != MAP_FAILED &&
            !mprotect(memory + BEFORE, mapped - BEFORE - BEHIND, PROT_READ | PROT_WRITE))
            return memory;
        if (memory != MAP_FAILED)
            munmap(memory, mapped);
    }
    __atomic_fetch_sub(&count, 1, __ATOMIC_RELAXED);
    return NULL;
}

void *guarded_new(size_t bytes, size_t *mapped, uint8_t **base)
{
    size_t page = page_size();
    size_t need = (bytes + GUARDED_ALIGNMENT - 1) & ~(size_t)(GUARDED_ALIGNMENT - 1);
    size_t whole = BEFORE + (need + page - 1) / page * page + BEHIND;
    uint8_t *memory = reuse_spare(whole);
    if (!memory)
        memory = map_new(whole);
    *mapped = memory ? whole : 0;
    *base = memory ? memory + whole - BEHIND - need : NULL;
    return memory;
}

void guarded_free(void *memory, size_t mapped)
{
    if (!mapped) {
        free(memory);
    } else if (!keep_spare(memory, mapped)) {
        munmap(memory, mapped);
        __atomic_fetch_sub(&count, 1, __ATOMIC_RELAXED);
    }
}
