// The table of services, and what they share. Start reading at io_attach.
#define _GNU_SOURCE // PTHREAD_MUTEX_ADAPTIVE_NP
#include <errno.h>
#include <stdlib.h>

#include "rt/io/io.h"

// It is held for a few instructions: who finds it taken looks again before it sleeps.
static void init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
#if defined(__GLIBC__)
    pthread_mutexattr_settype(&how, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    pthread_mutex_init(lock, &how);
    pthread_mutexattr_destroy(&how);
}

io_state *io_of(kiln *k)
{
    if (k->io)
        return k->io;
    io_state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->k = k;
    init_lock(&s->lock);
    return k->io = s;
}

bool io_text(const kiln_host_call *call, uint32_t index, int64_t len, char *out, size_t size)
{
    const char *bytes = call->args[index];
    if (!bytes || len < 1 || len >= (int64_t)size || memchr(bytes, 0, (size_t)len))
        return false;
    memcpy(out, bytes, (size_t)len);
    out[len] = 0;
    return true;
}

int io_path(const kiln_host_call *call, uint32_t index, char out[IO_PATH])
{
    int64_t len = IO_ARG(int64_t, index + 1);
    if (len < 1 || !call->args[index])
        return -ENOENT;
    if (len >= IO_PATH)
        return -ENAMETOOLONG;
    return io_text(call, index, len, out, IO_PATH) ? 0 : -ENOENT; // a zero inside
}

int64_t io_bytes(int64_t n)
{
    return n < 0 || n > IO_MOST_BYTES ? -1 : n;
}

static const struct {
    const char *name, *signature, *shape;
    kiln_host_function *call;
} rows[] = {
#define SERVICE(name, signature, shape) {"kiln_io_" #name, signature, shape, service_##name},
#include "rt/io/service.def"
#undef SERVICE
};

// Of all lanes of a warp at once.
static const struct {
    const char *name;
    host_together *call;
} together[] = {{"kiln_io_pread", io_pread_together},
                {"kiln_io_pwrite", io_pwrite_together},
                {"kiln_io_read", io_read_together},
                {"kiln_io_write", io_write_together},
                {"kiln_io_accept", io_accept_together}};

kiln_status io_attach(kiln *k)
{
    io_state *s = io_of(k);
    kiln_status status = s ? KILN_OK : error_no_memory(k, "the services of the host");
    for (size_t n = 0; n < COUNT(rows) && !status; n++) {
        status = host_provide(k, &(kiln_host_desc){.name = rows[n].name,
                                                   .signature = rows[n].signature,
                                                   .call = rows[n].call,
                                                   .user = s,
                                                   .is_concurrent = true});
        host_set_shape(k, rows[n].name, rows[n].shape);
    }
    for (size_t n = 0; n < COUNT(together); n++)
        host_set_together(k, together[n].name, together[n].call);
    return status;
}
