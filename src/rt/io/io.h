// Services of the host for kernels (kiln/io.h): files, sockets, clocks, the environment. Everything
// that reaches out of the process needs a permission (allow.c). What a kernel sends is not trusted:
// handles, lengths and paths are checked here.
#ifndef KILN_RT_IO_H
#define KILN_RT_IO_H

#include <pthread.h>

#include "rt/host/host.h"

typedef enum io_right { IO_READ, IO_WRITE, IO_NET, IO_ENV, IO_STDIN, IO_RIGHT_COUNT } io_right;

typedef struct io_grant {
    io_right right;
    char *text;  // as it was given
    char *path;  // IO_READ, IO_WRITE: the folder, absolute and without links
    char *asked; // what was asked for, absolute; links are links
    char *file;  // the one file in `path` that is allowed; NULL: all
    int folder;  // descriptor of `path`
    struct io_grant *next;
} io_grant;

typedef enum io_kind { IO_FREE, IO_FILE, IO_FOLDER, IO_STREAM, IO_LISTENER, IO_DATAGRAM } io_kind;

typedef struct io_stream io_stream; // of C's library: stream.c

typedef struct io_handle {
    io_kind kind;
    int fd;
    void *dir;             // IO_FOLDER: DIR
    struct dirent *unread; // its entry that had no room, to be given again
    uint16_t generation;
    uint32_t users; // calls that use it now
    bool is_closing;
    int32_t timeout_ms[2]; // of reads, of writes; -1: none
    io_stream *stream;     // NULL until it is used as one
    bool is_plain;         // rings do not help with it; atomic
    bool is_at_once;       // IO_NONBLOCK: who would wait gets -EAGAIN
} io_handle;

enum { IO_HANDLES = 1024, IO_MOST_BYTES = 1 << 30, IO_PATH = 4096, IO_SLICE_MS = 50 };

typedef struct io_state {
    kiln *k;
    pthread_mutex_t lock; // of everything below
    io_grant *grants;
    io_handle handles[IO_HANDLES];
    io_stream *standard[3]; // input, output, errors
    char *refusal;          // the newest
    bool has_exit;
    int32_t exit_status;
} io_state;

// --- services.c
io_state *io_of(kiln *k);       // made on first need; NULL: no memory
kiln_status io_attach(kiln *k); // registers all services
void io_free(kiln *k);          // at the end of a context

// --- allow.c
bool io_may(io_state *s, io_right right, const char *text); // NET: "host:port"; else says why not
void io_refuse(io_state *s, const char *format, ...) PRINTF_LIKE(2, 3);

// --- path.c
enum { IO_READS = 1u << IO_READ, IO_WRITES = 1u << IO_WRITE, IO_READS_AND_WRITES = 3 }; // rights
// A path, and the permissions that name it. Several may: what one of them allows is allowed.
typedef struct io_place {
    const io_grant *grants;
    unsigned rights;
    uint32_t tried;   // permissions, or pairs of them
    int folder;       // of the one that is tried now
    bool is_file;     // it is for one file
    const char *rest; // of the path in the folder
    char whole[2 * IO_PATH];
} io_place;
// The path as an absolute one, without double slashes and '.', but for one of both at the end: 0,
// -ENAMETOOLONG, -errno.
int io_absolute(const char *path, char *out, size_t size);
// With all `rights`: 0. -EACCES: refused; -errno.
int io_find(io_state *s, const char *path, unsigned rights, io_place *out);
// The two ends of a rename. What may be read at the new one must be readable at the old one: else a
// right to write would be one to read.
int io_find_both(io_state *s, const char *from, const char *to, io_place *here, io_place *there);
// Opens what was found: -EXDEV: a link leads out of what is allowed; -errno.
int io_open_place(io_state *s, io_place *p, int flags, uint32_t mode);
// The folder that holds the last part of the path, and that part, in `p`. -errno on failure.
int io_open_parent(io_state *s, io_place *p, const char **name);
// May be read what has that name in the folder? 1, 0, -errno. What the folder is decides, and where
// it lies now: a path may go through a link, and a permission stays with a folder that was moved.
int io_is_readable(const io_place *p, int folder, const char *name);
// Opens beneath the folder: no `..`, no link out of it. -errno on failure.
int io_open_beneath(int folder, const char *rest, int flags, uint32_t mode);
// The same without openat2: every part by itself, no link followed. -1 and errno on failure.
int io_open_by_parts(int folder, const char *rest, int flags, uint32_t mode);

// --- handles.c
int32_t io_add(io_state *s, io_kind kind, int fd, void *dir); // a new handle, or -errno (fd closed)
io_handle *io_take(io_state *s, int32_t handle, unsigned kinds); // NULL: none of these; give back
void io_give(io_state *s, io_handle *h);
int32_t io_close(io_state *s, int32_t handle);
// Waits until the descriptor is ready: 0, -ETIMEDOUT, -ECANCELED, -errno.
int io_wait(const io_state *s, int fd, short events, int32_t timeout_ms);
int64_t io_now_ms(void);

// --- file.c
void io_pread_together(void *state, const kiln_host_call *calls, uint32_t count);
void io_pwrite_together(void *state, const kiln_host_call *calls, uint32_t count);
// --- together.c: what waits, of all lanes that call together
void io_read_together(void *state, const kiln_host_call *calls, uint32_t count);
void io_write_together(void *state, const kiln_host_call *calls, uint32_t count);
void io_accept_together(void *state, const kiln_host_call *calls, uint32_t count);

// --- file.c: -errno on failure; 0 at the end
int64_t io_read_bytes(io_state *s, int32_t handle, void *to, int64_t n);
int64_t io_write_bytes(io_state *s, int32_t handle, void *from, int64_t n);
void io_print_lines(io_state *s, int32_t handle); // of stdout and stderr

// --- stream.c
void io_stream_free(io_stream *s);

// --- file.c, net.c, stream.c, system.c: the services; rows of service.def
#define SERVICE(name, signature, shape)                                                            \
    void service_##name(void *state, const kiln_host_call *call);
#include "rt/io/service.def"
#undef SERVICE

#define IO_ARG(type, n) (*(type *)call->args[n])
#define IO_RETURN(type, value)                                                                     \
    do {                                                                                           \
        *(type *)call->result = (type)(value);                                                     \
        return;                                                                                    \
    } while (0)
// A counted text of a call as a C string in `out`; false: too long, empty or with a zero inside.
bool io_text(const kiln_host_call *call, uint32_t index, int64_t len, char *out, size_t size);
// A path in arguments `index` and `index + 1`: 0, or -errno.
int io_path(const kiln_host_call *call, uint32_t index, char out[IO_PATH]);
// Bytes of a counted parameter; -1: impossible.
int64_t io_bytes(int64_t n);

#endif
