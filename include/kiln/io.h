// io.h: files, standard input, sockets, clocks and the environment, from kernels.
//
//     static const char path[] = "numbers.bin";
//     i32 file = io_open(path, IO_READ_ONLY, 0);
//     i64 got = io_pread(file, buffer, 4096, 0);
//     io_close(file);
//
// Every function is a call of the host (docs/language.md, host functions) by the thread that makes
// it; let one thread of a warp or block call where one answer is enough. A result below 0 is an
// error: minus one of the IO_E numbers. Everything that reaches out of the program is denied until
// the host allows it: kiln_allow (kiln/hostcall.h), or --allow-read, --allow-write, --allow-net,
// --allow-env, --allow-stdin of kiln run. A denied call gives -IO_EACCES, and kiln_refusal, or kiln
// run, says what to allow. Handles are Kiln's own and live as long as the context; a kernel may use
// those that an earlier one has opened.
#ifndef KILN_IO_H
#define KILN_IO_H

#include <kiln/kernel.h>

// --- errors (the numbers of Linux)
enum {
    IO_ENOENT = 2,
    IO_EINTR = 4,
    IO_EIO = 5,
    IO_EBADF = 9,
    IO_EAGAIN = 11,
    IO_ENOMEM = 12,
    IO_EACCES = 13, // also: not allowed
    IO_EEXIST = 17,
    IO_EXDEV = 18, // a link in the path leaves the allowed folder; kiln_refusal says where to
    IO_ENOTDIR = 20,
    IO_EISDIR = 21,
    IO_EINVAL = 22,
    IO_EMFILE = 24,
    IO_ENOSPC = 28,
    IO_EPIPE = 32,
    IO_ENAMETOOLONG = 36,
    IO_ECONNRESET = 104,
    IO_ETIMEDOUT = 110,
    IO_ECONNREFUSED = 111,
    IO_ECANCELED = 125
};

// --- files
enum { // flags of io_open
    IO_READ_ONLY = 0,
    IO_WRITE_ONLY = 1,
    IO_READ_WRITE = 2,
    IO_CREATE = 0x4,
    IO_EXCLUSIVE = 0x8,
    IO_TRUNCATE = 0x10,
    IO_APPEND = 0x20,
    IO_NONBLOCK = 0x40,
    IO_SYNC = 0x80,
    IO_DATA_SYNC = 0x100,
    IO_DIRECTORY = 0x200,
    IO_NO_FOLLOW = 0x400
};
enum { IO_STDIN = 0, IO_STDOUT = 1, IO_STDERR = 2 };     // handles that are always there
enum { IO_FROM_START, IO_FROM_HERE, IO_FROM_END };       // io_seek
enum { IO_OTHER, IO_IS_FILE, IO_IS_FOLDER, IO_IS_LINK }; // kinds

typedef struct io_status {
    i64 size, modified_ns;
    u32 mode;
    i32 kind;
} io_status;

host i32 kiln_io_open(counted(length) const char *path, i64 length, i32 flags, u32 mode);
host i32 kiln_io_close(i32 handle);
host i64 kiln_io_read(i32 handle, counted(bytes) void *to, i64 bytes);
host i64 kiln_io_write(i32 handle, counted(bytes) const void *from, i64 bytes);
host i64 kiln_io_pread(i32 handle, counted(bytes) void *to, i64 bytes, i64 offset);
host i64 kiln_io_pwrite(i32 handle, counted(bytes) const void *from, i64 bytes, i64 offset);
host i64 kiln_io_seek(i32 handle, i64 offset, i32 whence);
host i32 kiln_io_truncate(i32 handle, i64 size);
host i32 kiln_io_sync(i32 handle);
host i32 kiln_io_stat(counted(length) const char *path, i64 length, struct io_status *out);
host i32 kiln_io_status(i32 handle, struct io_status *out);
host i32 kiln_io_next(i32 handle, counted(room) char *name, i64 room, i32 *kind);
host i32 kiln_io_make_folder(counted(length) const char *path, i64 length, u32 mode);
host i32 kiln_io_remove(counted(length) const char *path, i64 length, i32 is_folder);
host i32 kiln_io_rename(counted(length) const char *from, i64 length, counted(more) const char *to,
                        i64 more);

static inline i64 io_length(const char *text)
{
    i64 n = 0;
    while (text[n])
        n++;
    return n;
}

// Paths are relative to the program's folder, or absolute; none may have a `..`. A pipe with a name
// waits for its other end; with IO_NONBLOCK it does not, and who would wait gets -IO_EAGAIN.
static inline i32 io_open(const char *path, i32 flags, u32 mode)
{
    return kiln_io_open(path, io_length(path), flags, mode);
}
static inline i32 io_close(i32 handle)
{
    return kiln_io_close(handle);
}
// What one call may carry. Of more bytes these functions move the first ones, as a short read or
// write does.
static inline i64 io_at_once(i64 bytes)
{
    return bytes < (i64)1 << 30 ? bytes : (i64)1 << 30;
}
// Up to `bytes` bytes; 0 is the end. IO_STDIN is a handle, too.
static inline i64 io_read(i32 handle, void *to, i64 bytes)
{
    return kiln_io_read(handle, to, io_at_once(bytes));
}
// IO_STDOUT and IO_STDERR go where printf goes; IO_STDERR elsewhere after kiln_on_print_error.
static inline i64 io_write(i32 handle, const void *from, i64 bytes)
{
    return kiln_io_write(handle, from, io_at_once(bytes));
}
static inline i64 io_pread(i32 handle, void *to, i64 bytes, i64 offset)
{
    return kiln_io_pread(handle, to, io_at_once(bytes), offset);
}
static inline i64 io_pwrite(i32 handle, const void *from, i64 bytes, i64 offset)
{
    return kiln_io_pwrite(handle, from, io_at_once(bytes), offset);
}
static inline i64 io_seek(i32 handle, i64 offset, i32 whence)
{
    return kiln_io_seek(handle, offset, whence);
}
static inline i32 io_truncate(i32 handle, i64 size)
{
    return kiln_io_truncate(handle, size);
}
static inline i32 io_sync(i32 handle)
{
    return kiln_io_sync(handle);
}
static inline i32 io_stat(const char *path, io_status *out)
{
    return kiln_io_stat(path, io_length(path), out);
}
static inline i32 io_fstat(i32 handle, io_status *out)
{
    return kiln_io_status(handle, out);
}
// The next name of a folder that io_open has opened: its length (it is not terminated), 0 after the
// last one. A length above `room` says that there was no room: nothing is written, and the next
// call has the same name again. 255 bytes are enough for all. `.` and `..` are left out.
static inline i32 io_next(i32 folder, char *name, i64 room, i32 *kind)
{
    return kiln_io_next(folder, name, room, kind);
}
static inline i32 io_make_folder(const char *path, u32 mode)
{
    return kiln_io_make_folder(path, io_length(path), mode);
}
static inline i32 io_remove(const char *path)
{
    return kiln_io_remove(path, io_length(path), 0);
}
static inline i32 io_remove_folder(const char *path)
{
    return kiln_io_remove(path, io_length(path), 1);
}
// Needs the right to write at both ends. What may be read at the new one must be allowed to be read
// at the old one: a right to write is none to read.
static inline i32 io_rename(const char *from, const char *to)
{
    return kiln_io_rename(from, io_length(from), to, io_length(to));
}

// --- sockets. Time-outs are in milliseconds, below 0: none.
typedef struct io_peer {
    u8 address[16]; // IPv4 in the last four
    i32 port;
    i32 is_v6;
} io_peer;

enum { // io_option
    IO_NO_DELAY,
    IO_KEEP_ALIVE,
    IO_RECEIVE_BUFFER,
    IO_SEND_BUFFER,
    IO_BROADCAST,
    IO_REUSE_ADDRESS,
    IO_READ_TIMEOUT = 100,
    IO_WRITE_TIMEOUT = 101,
    IO_SHUT_DOWN = 102 // 0 reading, 1 writing, 2 both
};

host i32 kiln_io_connect(counted(length) const char *name, i64 length, i32 port, i32 timeout);
host i32 kiln_io_listen(counted(length) const char *name, i64 length, i32 port, i32 backlog);
host i32 kiln_io_accept(i32 listener, i32 timeout);
host i32 kiln_io_datagram(counted(length) const char *name, i64 length, i32 port);
host i64 kiln_io_send_to(i32 handle, counted(bytes) const void *from, i64 bytes,
                         counted(length) const char *name, i64 length, i32 port);
host i64 kiln_io_receive_from(i32 handle, counted(bytes) void *to, i64 bytes, struct io_peer *peer);
host i32 kiln_io_option(i32 handle, i32 option, i32 value);
host i32 kiln_io_port(i32 handle);
host i32 kiln_io_resolve(counted(length) const char *name, i64 length, counted(room) char *address,
                         i64 room);

static inline i32 io_connect(const char *name, i32 port, i32 timeout)
{
    return kiln_io_connect(name, io_length(name), port, timeout);
}
// Port 0: any free one, which io_port tells.
static inline i32 io_listen(const char *name, i32 port, i32 backlog)
{
    return kiln_io_listen(name, io_length(name), port, backlog);
}
static inline i32 io_accept(i32 listener, i32 timeout)
{
    return kiln_io_accept(listener, timeout);
}
// A UDP socket at that address. io_read and io_write do not know whom to talk to: use these two.
static inline i32 io_datagram(const char *name, i32 port)
{
    return kiln_io_datagram(name, io_length(name), port);
}
static inline i64 io_send_to(i32 handle, const void *from, i64 bytes, const char *name, i32 port)
{
    return kiln_io_send_to(handle, from, bytes, name, io_length(name), port);
}
static inline i64 io_receive_from(i32 handle, void *to, i64 bytes, io_peer *peer)
{
    return kiln_io_receive_from(handle, to, bytes, peer);
}
static inline i32 io_option(i32 handle, i32 option, i32 value)
{
    return kiln_io_option(handle, option, value);
}
static inline i32 io_port(i32 handle)
{
    return kiln_io_port(handle);
}
// The first address of a name as text; its length. Allowed by NAME:0 or NAME:*.
static inline i32 io_resolve(const char *name, char *address, i64 room)
{
    return kiln_io_resolve(name, io_length(name), address, room);
}

// --- time, environment, entropy, end
enum { IO_WALL_CLOCK, IO_STEADY_CLOCK, IO_CPU_CLOCK };

host i64 kiln_io_clock(i32 which);
host i32 kiln_io_sleep(i64 nanoseconds);
host i64 kiln_io_env(counted(length) const char *name, i64 length, counted(room) char *value,
                     i64 room);
host i64 kiln_io_random(counted(bytes) void *to, i64 bytes);
host void kiln_io_exit(i32 status);

static inline i64 io_clock(i32 which) // nanoseconds
{
    return kiln_io_clock(which);
}
static inline i32 io_sleep(i64 nanoseconds)
{
    return kiln_io_sleep(nanoseconds);
}
// The length of the variable's value, of which `room` bytes at most are copied.
static inline i64 io_env(const char *name, char *value, i64 room)
{
    return kiln_io_env(name, io_length(name), value, room);
}
static inline i64 io_random(void *to, i64 bytes)
{
    return kiln_io_random(to, bytes);
}
// Stops the kernel; kiln run ends with that status.
static inline void io_exit(i32 status)
{
    kiln_io_exit(status);
}

#endif
