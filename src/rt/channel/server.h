// Serves the mailboxes of a device: threads that look for calls, the table of the functions that
// may be called, and the calls themselves (serve.c). It knows no device: whoever maps memory for a
// GPU gives the mailboxes, their data and the place of the beat, and says when kernels run.
//
// A thread that finds a call makes it at once, which is the fastest way there is. A function may
// block for as long as it likes: a watching thread then gives the mailboxes that are left alone to
// another thread.
#ifndef KILN_CHANNEL_SERVER_H
#define KILN_CHANNEL_SERVER_H

#include "rt/channel/mailbox_call.h"
#include "rt/channel/mailbox_host.h"
#include "rt/host/host.h"

typedef struct server server;

typedef struct server_place { // memory that both sides see
    mailbox *boxes;           // [count], zeroed
    mailbox_rows *rows;       // likewise; at a multiple of 64
    uint64_t *data;           // [count], MAILBOX_DATA bytes each; before it wide slices
    uint64_t *beat;           // zero; on a line of its own
    uint32_t count;
    const struct server_far *far; // NULL: objects come as bytes
    uint32_t threads;             // that look at mailboxes; 0: by the number of cores
} server_place;

// Memory of the GPU that the host copies while kernels run.
typedef struct server_far {
    // False: that is not the GPU's memory, or not the same kind throughout.
    bool (*has)(void *user, uint64_t at, size_t bytes);
    // Of memory that it has. False: it fails.
    bool (*copy)(void *user, void *host, uint64_t at, size_t bytes, bool is_to_gpu);
    // Memory of the host that is copied faster than malloc's; NULL: there is none left.
    void *(*take)(void *user, size_t bytes);
    void (*give)(void *user, void *at, size_t bytes);
    void *user;
} server_far;

// What became of a call, beyond the codes of mailbox.h.
enum { SERVER_STOPPED = MAILBOX_OTHER, SERVER_NO_MEMORY };

server *server_new(kiln *k, const server_place *place); // NULL: no memory
// The kernels have ended. Stops the threads, also those within a function: waits for them.
void server_free(server *s);

// Numbers for the host functions of a module: the first one, or 0 when there are none left.
uint32_t server_add(server *s, kiln_module *m);
void server_remove(server *s, const kiln_module *m);

// Before a launch: the first `boxes` mailboxes are looked at from now on. False: no threads.
bool server_wake(server *s, uint32_t boxes);
// The kernels have ended: returns when everything that they posted has been served, and the threads
// sleep. Calls are cancelled from then on until kiln_cancel is forgotten.
void server_rest(server *s);

// Why a function has stopped the kernel since the last question: false when none has. `site` is its
// place in `m`'s list.
typedef struct server_stop {
    kiln_module *m;
    uint32_t site;
    uint32_t thread[3], block[3];
    char why[512];
} server_stop;
bool server_take_stop(server *s, server_stop *out);

// "'lookup' of thread (3, 0, 0) of block (0, 0, 0), … and 5 more": calls without an answer, also
// when the GPU is lost. How many there are; `out` is "" when there are none.
uint32_t server_pending(const server *s, char *out, size_t size);

// --- serve.c
typedef struct serve_row { // a call site
    kiln_module *m;
    uint32_t site;
    host_shape shape;
    host_rows rows;
    uint32_t kinds[MAILBOX_SITE];
} serve_row;

typedef struct serve_bytes { // counted objects of a mailbox's lanes, on their way
    uint8_t *at[MAILBOX_LANES];
    uint32_t len[MAILBOX_LANES], cap[MAILBOX_LANES]; // bytes that are there, that there is room for
    uint32_t back[MAILBOX_LANES];                    // bytes that the kernel fetches
    uint8_t far[MAILBOX_LANES];                      // which objects are {address, bytes}
} serve_bytes;

typedef struct serve_place { // what belongs to a mailbox
    uint64_t *slice;
    uint8_t *wide;
    uint32_t wide_bytes; // 0: it has none
    const server_far *far;
} serve_place;

bool serve_row_init(serve_row *row, kiln_module *m, uint32_t site, uint32_t first);
// Turns the request into the reply. A function that has stopped the kernel leaves a note in `stop`.
void serve_call(const serve_row *row, serve_bytes *bytes, const serve_place *place,
                mailbox_packet *call, server_stop *stop);
void serve_bytes_free(serve_bytes *bytes);

#endif
