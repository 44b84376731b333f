// Several transfers of files by one system call, where the system has io_uring.
#ifndef KILN_RT_IO_RING_H
#define KILN_RT_IO_RING_H

#include <stdbool.h>
#include <stdint.h>

enum { IO_RING_JOBS = 32 };

typedef struct io_job {
    int fd;
    bool is_write;
    void *at;
    uint32_t bytes;
    int64_t offset;
    int64_t result; // bytes, or -errno
    bool is_plain;  // the file's system does not take part in rings: made one after the other
} io_job;

// Makes up to IO_RING_JOBS transfers at the same time, and waits for all. False: there is no ring
// here (KILN_IO=plain, an old system, one that forbids it), and nothing was done.
bool io_ring_run(io_job *jobs, uint32_t count);
// The same one after the other, by pread and pwrite.
void io_plain_run(io_job *jobs, uint32_t count);

#endif
