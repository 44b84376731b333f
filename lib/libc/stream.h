// Streams for kernels. A FILE * is a handle of the host's services (kiln/io.h) and not an address:
// what is read ahead, put back, at its end or wrong is kept by the host, so that every thread and
// every later kernel may use it. Each function is one call of the host, by the thread that makes
// it; permissions are those of kiln/io.h. A text longer than a buffer goes out in several pieces.
#pragma once

#include "error_text.h"
#include "heap.h"
#include "print.h"
#include <errno.h>

typedef struct __k_file FILE;

#define stdin  ((FILE *)1ull)
#define stdout ((FILE *)2ull)
#define stderr ((FILE *)3ull)

#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2

enum { BUFSIZ = 8192, FILENAME_MAX = 4096, FOPEN_MAX = 1000 };
enum { __K_ALL, __K_LINE, __K_PEEK, __K_TELL }; // of kiln_io_take and kiln_io_place
enum { __K_CHUNK = 512 };

host i32 kiln_io_open(counted(length) const char *path, i64 length, i32 flags, u32 mode);
host i32 kiln_io_close(i32 handle);
host i32 kiln_io_remove(counted(length) const char *path, i64 length, i32 is_folder);
host i32 kiln_io_rename(counted(length) const char *from, i64 length, counted(more) const char *to,
                        i64 more);
host i64 kiln_io_take(i32 handle, counted(bytes) void *to, i64 bytes, i32 mode);
host i32 kiln_io_skip(i32 handle, i64 bytes);
host i32 kiln_io_push_back(i32 handle, i32 c);
host i64 kiln_io_put(i32 handle, counted(bytes) const void *from, i64 bytes);
host i64 kiln_io_place(i32 handle, i64 offset, i32 whence);
host i32 kiln_io_flags(i32 handle, i32 is_cleared);

static i32 __k_handle(const FILE *f)
{
    return (i32)((u64)f - 1u);
}

static i64 __k_length(const char *s)
{
    i64 n = 0;
    while (s[n])
        n++;
    return n;
}

// A result of the host: below 0 it goes to errno.
static i64 __k_done(i64 result)
{
    if (result < 0)
        errno = (int)-result;
    return result;
}

static FILE *fopen(const char *path, const char *mode)
{
    bool is_plus = false, is_exclusive = false;
    for (const char *at = mode + 1; mode[0] && *at; at++) {
        is_plus = is_plus || *at == '+';
        is_exclusive = is_exclusive || *at == 'x';
    }
    i32 flags; // those of kiln/io.h
    if (mode[0] == 'r') {
        flags = is_plus ? 2 : 0;
    } else if (mode[0] == 'w' || mode[0] == 'a') {
        flags = (is_plus ? 2 : 1) | 0x4 | (mode[0] == 'w' ? 0x10 : 0x20) | (is_exclusive ? 0x8 : 0);
    } else {
        errno = EINVAL;
        return NULL;
    }
    i64 handle = __k_done(kiln_io_open(path, __k_length(path), flags, 438u));
    return handle < 0 ? NULL : (FILE *)(u64)(handle + 1);
}

// A disk may fill up within a text: what is left of it is tried once more, and says why.
static i64 __k_put_all(FILE *f, const void *from, i64 length)
{
    i64 done = __k_done(kiln_io_put(__k_handle(f), from, length));
    if (done > 0 && done < length)
        __k_done(kiln_io_put(__k_handle(f), (const u8 *)from + done, length - done));
    return done;
}

// The three streams that are always there stay open.
static int fclose(FILE *f)
{
    i32 handle = __k_handle(f);
    i32 result = handle < 3 ? kiln_io_flags(handle, 0) : kiln_io_close(handle);
    return __k_done(result) < 0 ? -1 : 0;
}

// A file, or a folder with nothing in it.
static int remove(const char *path)
{
    i64 length = __k_length(path);
    i32 result = kiln_io_remove(path, length, 0);
    if (result == -EISDIR)
        result = kiln_io_remove(path, length, 1);
    return __k_done(result) < 0 ? -1 : 0;
}

host i64 kiln_io_random(counted(bytes) void *to, i64 bytes);

// A file in /tmp that has no name any more when somebody gets it; that must be allowed.
static FILE *tmpfile(void)
{
    char path[] = "/tmp/kiln-0123456789abcdef";
    for (int tries = 0; tries < 100; tries++) {
        u64 number = 0;
        __k_done(kiln_io_random(&number, sizeof number));
        for (u32 i = 0; i < 16; i++, number >>= 4)
            path[10 + i] = "0123456789abcdef"[number & 15];
        i64 handle = __k_done(kiln_io_open(path, sizeof path - 1, 2 | 0x4 | 0x8, 384u));
        if (handle >= 0) {
            __k_done(kiln_io_remove(path, sizeof path - 1, 0));
            return (FILE *)(u64)(handle + 1);
        }
        if (handle != -EEXIST)
            break;
    }
    return NULL;
}

static int rename(const char *from, const char *to)
{
    return __k_done(kiln_io_rename(from, __k_length(from), to, __k_length(to))) < 0 ? -1 : 0;
}

static u64 fread(void *to, u64 size, u64 count, FILE *f)
{
    if (!size || !count)
        return 0;
    i64 got = __k_done(kiln_io_take(__k_handle(f), to, (i64)(size * count), __K_ALL));
    return got < 0 ? 0u : (u64)got / size;
}

static u64 fwrite(const void *from, u64 size, u64 count, FILE *f)
{
    if (!size || !count)
        return 0;
    i64 done = __k_put_all(f, from, (i64)(size * count));
    return done < 0 ? 0u : (u64)done / size;
}

static char *fgets(char *to, int room, FILE *f)
{
    if (room < 1)
        return NULL;
    i64 got = room == 1 ? 0 : __k_done(kiln_io_take(__k_handle(f), to, room - 1, __K_LINE));
    if (got < 0 || (got == 0 && room > 1))
        return NULL;
    to[got] = 0;
    return to;
}

static int fgetc(FILE *f)
{
    u8 c = 0;
    return __k_done(kiln_io_take(__k_handle(f), &c, 1, __K_ALL)) == 1 ? (int)c : -1;
}

static int getc(FILE *f)
{
    return fgetc(f);
}

static int getchar(void)
{
    return fgetc(stdin);
}

static int ungetc(int c, FILE *f)
{
    if (c == -1 || __k_done(kiln_io_push_back(__k_handle(f), c)) < 0)
        return -1;
    return (int)(u8)c;
}

static int fputc(int c, FILE *f)
{
    u8 byte = (u8)c;
    return __k_done(kiln_io_put(__k_handle(f), &byte, 1)) == 1 ? (int)byte : -1;
}

static int putc(int c, FILE *f)
{
    return fputc(c, f);
}

static int putchar(int c)
{
    return fputc(c, stdout);
}

static int fputs(const char *s, FILE *f)
{
    i64 length = __k_length(s);
    return length && __k_put_all(f, s, length) < length ? -1 : 1;
}

static int fseek(FILE *f, long offset, int whence)
{
    return __k_done(kiln_io_place(__k_handle(f), offset, whence > 2 ? -1 : whence)) < 0 ? -1 : 0;
}

static long ftell(FILE *f)
{
    i64 at = __k_done(kiln_io_place(__k_handle(f), 0, __K_TELL));
    return at < 0 ? -1 : at;
}

static int feof(FILE *f)
{
    i32 flags = kiln_io_flags(__k_handle(f), 0);
    return flags > 0 && flags & 1;
}

static int ferror(FILE *f)
{
    i32 flags = kiln_io_flags(__k_handle(f), 0);
    return flags > 0 && flags & 2;
}

static void clearerr(FILE *f)
{
    kiln_io_flags(__k_handle(f), 1);
}

typedef long fpos_t;
typedef long off_t;
static int fseeko(FILE *f, off_t offset, int whence)
{
    return fseek(f, offset, whence);
}

static off_t ftello(FILE *f)
{
    return ftell(f);
}

static int fgetpos(FILE *f, fpos_t *at)
{
    long place = ftell(f);
    if (place >= 0)
        *at = place;
    return place < 0 ? -1 : 0;
}

static int fsetpos(FILE *f, const fpos_t *at)
{
    return fseek(f, *at, SEEK_SET);
}

static void rewind(FILE *f)
{
    fseek(f, 0, SEEK_SET);
    clearerr(f);
}

enum { _IOFBF, _IOLBF, _IONBF };

// Nothing waits in a stream: there is no buffer to choose.
static int setvbuf(FILE *f, char *buffer, int mode, u64 size)
{
    (void)f, (void)buffer, (void)size;
    return mode < _IOFBF || mode > _IONBF ? -1 : 0;
}

static void setbuf(FILE *f, char *buffer)
{
    (void)f, (void)buffer;
}

static int fflush(FILE *f)
{
    fence_system(); // lines of printf are in the host's memory before it is asked
    return kiln_io_flags(__k_handle(f ? f : stdout), 0) >= 0 ? 0 : -1;
}

// --- formats
static noinline int vfprintf(FILE *f, const char *format, va_list list)
{
    char chunk[__K_CHUNK];
    i64 length = 0, at = 0;
    do {
        __k_sink s = {.to = chunk, .room = __K_CHUNK, .from = (u64)at, .takes_rest = true};
        length = __k_format(&s, format, list);
        i64 most = s.rest ? s.rest_length : __K_CHUNK;
        i64 some = length - at < most ? length - at : most;
        if (some > 0 && __k_put_all(f, s.rest ? s.rest : chunk, some) < some)
            return -1;
        at += most;
    } while (at < length);
    return (int)length;
}

static int vprintf(const char *format, va_list list)
{
    return vfprintf(stdout, format, list);
}

static int fprintf(FILE *f, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    return vfprintf(f, format, list);
}

// printf with a format that the builtin does not send: see check_printf.c.
static int __k_printf(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    return vfprintf(stdout, format, list);
}

static int puts(const char *s)
{
    return __k_printf("%s\n", s);
}

static void perror(const char *s)
{
    fprintf(stderr, "%s%s%s\n", s ? s : "", s && *s ? ": " : "", __k_error_text(errno));
}

static noinline int vasprintf(char **out, const char *format, va_list list)
{
    __k_sink counted_only = {0};
    i64 length = __k_format(&counted_only, format, list);
    char *text = length < 0 ? NULL : malloc((u64)length + 1);
    if (!text)
        return -1;
    *out = text;
    return vsnprintf(text, (u64)length + 1, format, list);
}

static int asprintf(char **out, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    return vasprintf(out, format, list);
}

// A line of any length, its end included; *line is enlarged as needed and belongs to the caller.
static long getline(char **line, u64 *room, FILE *f)
{
    i64 length = 0;
    if (!*line)
        *room = 0;
    for (;;) {
        if (*room < (u64)length + 2) {
            u64 more = *room < 64 ? 128 : 2 * *room;
            char *larger = realloc(*line, more);
            if (!larger) {
                errno = ENOMEM;
                return -1;
            }
            *line = larger;
            *room = more;
        }
        i64 got = __k_done(
            kiln_io_take(__k_handle(f), *line + length, (i64)*room - length - 1, __K_LINE));
        if (got > 0)
            length += got;
        if (got <= 0 || (*line)[length - 1] == '\n')
            break;
    }
    (*line)[length] = 0;
    return length ? length : -1;
}

typedef struct __k_stream_source {
    i32 handle;
    i32 next, there; // of the bytes that the host has shown
    i64 count;
    u8 bytes[64];
} __k_stream_source;

static i32 __k_stream_peek(__k_stream_source *s)
{
    if (s->next == s->there) {
        if (s->next)
            kiln_io_skip(s->handle, s->next);
        i64 got = __k_done(kiln_io_take(s->handle, s->bytes, 64, __K_PEEK));
        s->next = 0;
        s->there = got > 0 ? (i32)got : 0;
    }
    return s->there ? (i32)s->bytes[s->next] : -1;
}

static void __k_stream_skip(__k_stream_source *s)
{
    s->next++;
    s->count++;
}

#define __K_SCAN(name) __k_stream_##name
#define __K_SOURCE     __k_stream_source
#include "scan.h"
#undef __K_SCAN
#undef __K_SOURCE

static int vfscanf(FILE *f, const char *format, va_list list)
{
    __k_stream_source source = {.handle = __k_handle(f)};
    int done = __k_stream_scan(&source, format, list);
    if (source.next)
        kiln_io_skip(source.handle, source.next);
    return done;
}

static int fscanf(FILE *f, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    return vfscanf(f, format, list);
}

static int scanf(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    return vfscanf(stdin, format, list);
}
