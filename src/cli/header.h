// The header that kiln build writes: names that no kernel's own names can meet, the structs of the
// kernels' parameters as C types, the launchers. See header.c.
#ifndef KILN_CLI_HEADER_H
#define KILN_CLI_HEADER_H

#include "base/str.h"
#include "cli/cli.h"
#include "front/front.h"

// --- header_types.c: structs and vectors among the parameters of kernels
typedef struct header_param {
    const char *kernel;
    size_t index;
    const char *type;   // "saxpy_body": the C type of the struct or vector, or of what it points to
    const char *buffer; // of a pointer: "saxpy_body_buffer"
} header_param;

typedef struct header_record {
    const type *definition;
    const char *name;
    const char *buffer; // its type of buffer, once one is needed
} header_record;

typedef struct header_types {
    arena *in;
    const char *prefix;
    text structs; // their definitions, what others are made of first
    text buffers; // checks of their sizes, and buffers of them
    vec(header_param) params;
    vec(header_record) records;
    vec(const char *) taken; // names of types
} header_types;

// Adds what the kernels of a checked file need. To be called while its types live.
void header_types_add(header_types *t, const front *f);
// NULL: no struct, or nothing is known about it.
const header_param *header_types_find(const header_types *t, const char *kernel, size_t index);

// --- header.c
typedef struct header {
    arena *in;
    const char *path;   // of the kernel file
    const char *prefix; // of all names
    bool is_prefix_given;
    str source;
    const cli_compile *compile;
    bool is_ir, has_native;
    const kiln_module *module;
    const header_types *types;
} header;

// The text of the header. NULL when its names would collide; the message has been printed.
const text *header_text(header *h);
// --- header_host.c
void header_hosts(const header *h, text *t);

// --- header.c
// A C string literal that means these bytes.
void header_string(text *to, const char *bytes);
// The name itself, or with underscores behind it: not a keyword of C or C++, none of what this
// header uses, and none of `taken`.
const char *header_safe_name(arena *a, const char *name, const char *const *taken, size_t count);

#endif
