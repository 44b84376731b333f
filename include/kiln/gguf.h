// gguf.h: reading GGUF files: their tensors and their metadata, from a file or from memory.
//
//     kiln_gguf *g;
//     if (kiln_gguf_open("model.gguf", &g))
//         …kiln_last_error(NULL)->text…
//     kiln_gguf_tensor t;
//     if (!kiln_gguf_tensor_find(g, "output.weight", &t))
//         …t.type, t.sizes, t.data: t.bytes bytes…
//     kiln_gguf_free(g);
//
// All of a file but the numbers in its tensors is checked when it is opened: what the calls below
// give lies inside the file. Versions 2 and 3, little-endian. Blocks of quantised tensors are what
// the ops of kiln/ops_gguf.h take.
#ifndef KILN_GGUF_H
#define KILN_GGUF_H

#include "kiln/kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kiln_gguf kiln_gguf;

// Maps the file; nobody may shorten it while it is open. KILN_E_IO: it is no GGUF file that can be
// read, and kiln_last_error(NULL) says why.
KILN_API kiln_status kiln_gguf_open(const char *path, kiln_gguf **out);
// The same for bytes in memory, which stay the caller's and are read as long as the handle lives.
KILN_API kiln_status kiln_gguf_read(const void *bytes, size_t size, kiln_gguf **out);
KILN_API void kiln_gguf_free(kiln_gguf *g); // NULL: nothing

typedef struct kiln_gguf_info {
    uint32_t version;
    uint64_t tensors, values; // how many
    uint64_t alignment;       // what the tensors' offsets are multiples of
    uint64_t data;            // where the first tensor may lie in the file
} kiln_gguf_info;
KILN_API kiln_status kiln_gguf_info_of(const kiln_gguf *g, kiln_gguf_info *out);

// --- tensors
typedef struct kiln_gguf_tensor {
    const char *name;
    uint32_t type;         // as in the file: kiln_gguf_type, 0 f32, 1 f16, 30 bf16 …
    const char *type_name; // "q4_k"; NULL: not known, and `bytes` is 0
    kiln_type element;     // of tensors that are plain numbers; KILN_VOID: blocks
    uint32_t rank;         // at most 4
    uint64_t sizes[4];     // row-major, as Kiln's views: the last one is contiguous
    uint64_t count;        // elements
    uint64_t offset;       // in the file
    uint64_t bytes;
    const void *data;
} kiln_gguf_tensor;
KILN_API kiln_status kiln_gguf_tensor_at(const kiln_gguf *g, uint64_t index, kiln_gguf_tensor *out);
// KILN_E_NOT_FOUND: there is none of that name.
KILN_API kiln_status kiln_gguf_tensor_find(const kiln_gguf *g, const char *name,
                                           kiln_gguf_tensor *out);

// --- metadata: keys with values
typedef enum kiln_gguf_kind { // as in the file
    KILN_GGUF_U8,
    KILN_GGUF_I8,
    KILN_GGUF_U16,
    KILN_GGUF_I16,
    KILN_GGUF_U32,
    KILN_GGUF_I32,
    KILN_GGUF_F32,
    KILN_GGUF_BOOL,
    KILN_GGUF_STRING,
    KILN_GGUF_ARRAY,
    KILN_GGUF_U64,
    KILN_GGUF_I64,
    KILN_GGUF_F64
} kiln_gguf_kind;

typedef struct kiln_gguf_value {
    const char *key; // NULL for elements of an array
    kiln_gguf_kind kind;
    uint64_t integer; // integers (negative ones as in two's complement) and bool
    double real;      // every number
    const char
        *text; // strings: `bytes` bytes without an end mark; arrays: the elements in the file
    uint64_t bytes;
    kiln_gguf_kind element; // arrays
    uint64_t count;
} kiln_gguf_value;
KILN_API kiln_status kiln_gguf_value_at(const kiln_gguf *g, uint64_t index, kiln_gguf_value *out);
// KILN_E_NOT_FOUND: there is no such key.
KILN_API kiln_status kiln_gguf_value_find(const kiln_gguf *g, const char *key,
                                          kiln_gguf_value *out);
// The elements of an array, one call each: *cursor begins as 0. KILN_E_NOT_FOUND: that was the
// last.
KILN_API kiln_status kiln_gguf_next(const kiln_gguf_value *array, uint64_t *cursor,
                                    kiln_gguf_value *out);

#ifdef __cplusplus
}
#endif

#endif
