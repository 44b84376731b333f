// A host function as the two files know it that call one: host.c for a lane, group.c for a warp.
#ifndef KILN_RT_HOST_ROW_H
#define KILN_RT_HOST_ROW_H

#include <pthread.h>

#include "rt/host/host.h"

struct host_row {
    char *name, *signature; // signature: NULL for any
    kiln_host_desc given;
    host_together *together; // NULL: there is none
    void *library;           // closed with the row
    pthread_mutex_t lock;
    host_row *next;
};

typedef struct stop_note { // behind kiln_host_call.inside
    char *text;
    size_t size;
    bool is_set;
} stop_note;

typedef union host_object {
    uint8_t bytes[HOST_BYTES];
    _Alignas(16) uint64_t words[HOST_BYTES / 8];
} host_object;

// Calls what the row has, one at a time unless it allows more.
void host_enter(const host_site *site, const kiln_host_call *call);

#endif
