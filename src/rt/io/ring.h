// Several transfers of files and sockets by one system call, where the system has io_uring.
#ifndef KILN_RT_IO_RING_H
#define KILN_RT_IO_RING_H

#include <stdbool.h>
#include <stdint.h>

enum { IO_RING_JOBS = 32 };

// The last three are of sockets, and do not wait: -EAGAIN says that they would.
typedef enum io_what { IO_PREAD, IO_PWRITE, IO_RECEIVE, IO_SEND, IO_ACCEPT } io_what;

typedef struct io_job {
    int fd;
    io_what what;
    void *at;
    uint32_t bytes;
    int64_t offset;
    int64_t result; // bytes, or -errno
    uint32_t lane;  // the caller's own
    bool is_plain;  // the file's system does not take part in rings: made one after the other
} io_job;

// Makes up to IO_RING_JOBS transfers at the same time, and waits for all. False: there is no ring
// here (KILN_IO=plain, an old system, one that forbids it), and nothing was done.
bool io_ring_run(io_job *jobs, uint32_t count);
// Transfers that follow each other in one file become one system call; those are moved behind the
// others, whose number is returned: they are still to be made.
uint32_t io_joined_run(io_job *jobs, uint32_t count);
// Receives and sends: one attempt each. False as above, and for accepts, which would wait in a
// ring.
bool io_ring_try(io_job *jobs, uint32_t count);
// The same one after the other, by system calls of their own.
void io_plain_run(io_job *jobs, uint32_t count);

#endif
