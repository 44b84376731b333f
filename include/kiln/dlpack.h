// dlpack.h: tensors in and out of Kiln as DLPack describes them, without copying.
//
// NumPy, PyTorch, JAX, CuPy and others exchange tensors in this layout. The structs are Kiln's own
// declarations of that layout, so this header and DLPack's may be included together; a pointer to
// one is cast to the other. Both forms are there: with a version in front (DLPack 1.x), and
// without.
//
//     kiln_view v;
//     if (!kiln_dlpack_import(k, capsule_pointer, &v)) {    // Kiln has the tensor now
//         …
//         kiln_buffer_free(v.buffer);                       // and gives it back: its deleter runs
//     }
#ifndef KILN_DLPACK_H
#define KILN_DLPACK_H

#include "kiln/kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { // kinds of devices
    KILN_DL_CPU = 1,
    KILN_DL_CUDA = 2,
    KILN_DL_CUDA_HOST = 3, // pinned memory of the host
    KILN_DL_OPENCL = 4,
    KILN_DL_ROCM_HOST = 11,
    KILN_DL_CUDA_MANAGED = 13
};
enum { // kinds of elements
    KILN_DL_INT = 0,
    KILN_DL_UINT = 1,
    KILN_DL_FLOAT = 2,
    KILN_DL_BFLOAT = 4,
    KILN_DL_BOOL = 6,
    KILN_DL_FLOAT8_E4M3FN = 10,
    KILN_DL_FLOAT8_E5M2 = 12
};
enum { KILN_DL_READ_ONLY = 1, KILN_DL_COPIED = 2 }; // flags

typedef struct kiln_dl_device {
    int32_t type, id;
} kiln_dl_device;

typedef struct kiln_dl_type {
    uint8_t code, bits;
    uint16_t lanes; // above 1: each element is a short vector
} kiln_dl_type;

typedef struct kiln_dl_tensor {
    void *data;
    kiln_dl_device device;
    int32_t rank;
    kiln_dl_type type;
    int64_t *sizes, *strides; // strides in elements; NULL: dense, row-major
    uint64_t first_byte;
} kiln_dl_tensor;

typedef struct kiln_dl_managed {
    kiln_dl_tensor tensor;
    void *context;
    void (*deleter)(struct kiln_dl_managed *self); // may be NULL
} kiln_dl_managed;

typedef struct kiln_dl_managed_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct kiln_dl_managed_versioned *self); // may be NULL
    uint64_t flags;
    kiln_dl_tensor tensor;
} kiln_dl_managed_versioned;

// What others call the device of `k`. Fails where DLPack has no word for its memory (opencl: there
// it is a cl_mem, and Kiln's is shared virtual memory).
KILN_API kiln_status kiln_dlpack_device(const kiln *k, kiln_dl_device *out);

// Takes a tensor over: out->buffer is a new buffer over its memory, *out a view of all its
// elements. The deleter is called exactly once, when nothing uses the buffer any more
// (kiln_buffer_free, kiln_close). When the call fails, the tensor stays the caller's. The tensor
// must be on the device of `k`: interp and cpu take memory of the host, cuda that of its GPU,
// managed memory, and memory of the host that is pinned. Work on the tensor that Kiln did not start
// must be done, or come before on the same stream.
KILN_API kiln_status kiln_dlpack_import(kiln *k, kiln_dl_managed *tensor, kiln_view *out);
KILN_API kiln_status kiln_dlpack_import_versioned(kiln *k, kiln_dl_managed_versioned *tensor,
                                                  kiln_view *out);

// A tensor over the elements of a view, for others. It holds the buffer's memory until its deleter
// is called, by any thread and even after kiln_close; memory that came back is freed, or released,
// by the next kiln_sync, kiln_buffer_new or kiln_buffer_free. Work on the elements must be done
// (kiln_sync), or others must go on in the same stream. A read-only buffer needs the versioned
// form.
KILN_API kiln_status kiln_dlpack_export(kiln_view v, kiln_dl_managed **out);
KILN_API kiln_status kiln_dlpack_export_versioned(kiln_view v, kiln_dl_managed_versioned **out);

#ifdef __cplusplus
}
#endif
#endif
