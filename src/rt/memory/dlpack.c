// DLPack: foreign tensors become buffers with views, views become tensors for others. Nothing is
// copied. An imported buffer covers exactly the elements that the tensor reaches; when it ends, the
// tensor's deleter is called. An exported tensor holds its buffer (export.h).
#include "kiln/dlpack.h"

#include <stdlib.h>

#include "rt/memory/export.h"
#include "rt/memory/view.h"

// As DLPack lays them out.
_Static_assert(sizeof(void *) != 8 || sizeof(kiln_dl_tensor) == 48, "DLTensor");
_Static_assert(sizeof(void *) != 8 || sizeof(kiln_dl_managed) == 64, "DLManagedTensor");
_Static_assert(sizeof(void *) != 8 || offsetof(kiln_dl_managed_versioned, tensor) == 32,
               "DLManagedTensorVersioned");

static const struct {
    kiln_type type;
    uint8_t code, bits;
} types[] = {
    {KILN_BOOL, KILN_DL_BOOL, 8},        {KILN_I8, KILN_DL_INT, 8},
    {KILN_U8, KILN_DL_UINT, 8},          {KILN_I16, KILN_DL_INT, 16},
    {KILN_U16, KILN_DL_UINT, 16},        {KILN_I32, KILN_DL_INT, 32},
    {KILN_U32, KILN_DL_UINT, 32},        {KILN_I64, KILN_DL_INT, 64},
    {KILN_U64, KILN_DL_UINT, 64},        {KILN_F16, KILN_DL_FLOAT, 16},
    {KILN_BF16, KILN_DL_BFLOAT, 16},     {KILN_F8E4, KILN_DL_FLOAT8_E4M3FN, 8},
    {KILN_F8E5, KILN_DL_FLOAT8_E5M2, 8}, {KILN_F32, KILN_DL_FLOAT, 32},
    {KILN_F64, KILN_DL_FLOAT, 64},
};

kiln_status kiln_dlpack_device(const kiln *k, kiln_dl_device *out)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!out)
        return error_set((kiln *)(uintptr_t)k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_dlpack_device: out is NULL");
    if (!k->ops->dlpack)
        return error_set((kiln *)(uintptr_t)k, KILN_E_UNSUPPORTED, K6038,
                         "DLPack has no device type for %s", k->device);
    k->ops->dlpack(k, &out->type, &out->id);
    return KILN_OK;
}

// --- in
static kiln_status refuse(kiln *k, const char *why)
{
    return error_set(k, KILN_E_BAD_ARGUMENT, K6044, "kiln_dlpack_import: %s", why);
}

static kiln_status find_type(kiln *k, kiln_dl_type from, kiln_type *out)
{
    for (size_t n = 0; n < COUNT(types); n++)
        if (types[n].code == from.code && types[n].bits == from.bits) {
            *out = types[n].type;
            return KILN_OK;
        }
    return error_set(k, KILN_E_UNSUPPORTED, K6044,
                     "kiln_dlpack_import: Kiln has no type of code %u with %u bits", from.code,
                     from.bits);
}

// Is the tensor where kernels of `k` reach it; as an address of the device, or of the host?
static kiln_status check_device(kiln *k, kiln_dl_device of, bool *is_host)
{
    kiln_dl_device own;
    kiln_status status = kiln_dlpack_device(k, &own);
    if (status)
        return status;
    bool is_pinned = of.type == KILN_DL_CUDA_HOST, is_here = false;
    if (own.type == KILN_DL_CPU) {
        is_here = of.type == KILN_DL_CPU || is_pinned || of.type == KILN_DL_ROCM_HOST;
        *is_host = true;
    } else {
        is_here = (of.type == own.type && of.id == own.id) || is_pinned ||
                  (own.type == KILN_DL_CUDA && of.type == KILN_DL_CUDA_MANAGED);
        *is_host = is_pinned;
    }
    if (is_here)
        return KILN_OK;
    return error_set(k, KILN_E_BAD_ARGUMENT, K6044,
                     "kiln_dlpack_import: the tensor is on device %d:%d as DLPack counts, %s is "
                     "%d:%d; copy it there first",
                     of.type, of.id, k->device, own.type, own.id);
}

// Sizes and strides of the view; lanes become one more dimension.
static kiln_status read_shape(kiln *k, const kiln_dl_tensor *t, kiln_view *v)
{
    uint32_t lanes = t->type.lanes;
    if (!lanes)
        return refuse(k, "its elements have 0 lanes");
    if (t->rank < 0 || (uint32_t)t->rank + (lanes > 1) > KILN_MAX_RANK)
        return error_set(k, KILN_E_BAD_ARGUMENT, K7001,
                         "kiln_dlpack_import: %d dimensions%s; a view has at most %d", t->rank,
                         lanes > 1 ? " of vectors" : "", KILN_MAX_RANK);
    if (t->rank && !t->sizes)
        return refuse(k, "its sizes are NULL");
    v->rank = (uint32_t)t->rank + (lanes > 1);
    v->has_strides = t->strides && t->rank;
    for (int32_t n = 0; n < t->rank; n++) {
        if (t->sizes[n] < 0)
            return refuse(k, "it has a negative size");
        v->sizes[n] = (uint64_t)t->sizes[n];
        if (v->has_strides && __builtin_mul_overflow(t->strides[n], (int64_t)lanes, &v->strides[n]))
            return refuse(k, "a stride is too long");
    }
    if (lanes > 1) {
        v->sizes[t->rank] = lanes;
        v->strides[t->rank] = 1;
    }
    return KILN_OK;
}

// How many elements lie before and behind the first one.
static kiln_status measure(kiln *k, const kiln_view *v, uint64_t *before, uint64_t *count)
{
    int64_t strides[KILN_MAX_RANK];
    const uint64_t limit = (uint64_t)1 << 46;
    uint64_t behind = 0;
    *before = *count = 0;
    if (!kiln_view_count(*v))
        return KILN_OK;
    view_strides(v, strides);
    for (uint32_t n = 0; n < v->rank; n++) {
        bool is_back = strides[n] < 0;
        uint64_t step = is_back ? 0 - (uint64_t)strides[n] : (uint64_t)strides[n];
        uint64_t steps = v->sizes[n] - 1;
        if (step && steps > limit / step)
            return refuse(k, "it is larger than any buffer");
        *(is_back ? before : &behind) += step * steps;
    }
    *count = *before + behind + 1;
    return *count <= limit ? KILN_OK : refuse(k, "it is larger than any buffer");
}

static kiln_status import(kiln *k, const kiln_dl_tensor *t, uint64_t flags,
                          void (*release)(void *user), void *user, kiln_view *out)
{
    kiln_view v = {.buffer = NULL};
    kiln_wrap_desc desc = {
        .is_read_only = (flags & KILN_DL_READ_ONLY) != 0, .release = release, .user = user};
    bool is_host = false;
    uint64_t before = 0, count = 0;
    kiln_status status = check_device(k, t->device, &is_host);
    if (!status)
        status = find_type(k, t->type, &desc.type);
    if (!status)
        status = read_shape(k, t, &v);
    if (!status)
        status = measure(k, &v, &before, &count);
    if (!status && count && !t->data)
        status = refuse(k, "its data is NULL");
    if (status)
        return status;
    // Elements may lie before the first one: the buffer begins at the lowest.
    uint64_t at = (uint64_t)(uintptr_t)t->data + t->first_byte - before * kiln_type_size(desc.type);
    uintptr_t number = (uintptr_t)at;
    desc.count = count;
    if (count && is_host)
        memcpy(&desc.host, &number, sizeof number);
    else if (count)
        desc.address = at;
    status = kiln_buffer_wrap(k, &desc, &v.buffer);
    v.first = before;
    if (!status)
        *out = v;
    return status;
}

static kiln_status check_call(kiln *k, const void *tensor, kiln_view *out)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!tensor || !out)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "kiln_dlpack_import: %s is NULL",
                         out ? "the tensor" : "out");
    *out = (kiln_view){.buffer = NULL};
    return KILN_OK;
}

static void delete (void *user)
{
    kiln_dl_managed *tensor = user;
    if (tensor->deleter)
        tensor->deleter(tensor);
}

static void delete_versioned(void *user)
{
    kiln_dl_managed_versioned *tensor = user;
    if (tensor->deleter)
        tensor->deleter(tensor);
}

kiln_status kiln_dlpack_import(kiln *k, kiln_dl_managed *tensor, kiln_view *out)
{
    kiln_status status = check_call(k, tensor, out);
    return status ? status : import(k, &tensor->tensor, 0, delete, tensor, out);
}

kiln_status kiln_dlpack_import_versioned(kiln *k, kiln_dl_managed_versioned *tensor, kiln_view *out)
{
    kiln_status status = check_call(k, tensor, out);
    if (status)
        return status;
    if (tensor->major != 1)
        return error_set(k, KILN_E_UNSUPPORTED, K6044,
                         "kiln_dlpack_import_versioned: a tensor of DLPack %u.%u; Kiln knows 1.x",
                         tensor->major, tensor->minor);
    return import(k, &tensor->tensor, tensor->flags, delete_versioned, tensor, out);
}

// --- out
typedef struct exported {
    union {
        kiln_dl_managed plain;
        kiln_dl_managed_versioned versioned;
    } as;
    int64_t sizes[KILN_MAX_RANK], strides[KILN_MAX_RANK];
    kiln_buffer *buffer;
} exported;

static void end(void *context)
{
    exported *e = context;
    kiln_buffer *b = e->buffer;
    free(e);
    buffer_export_end(b);
}

static void end_plain(kiln_dl_managed *self)
{
    end(self->context);
}

static void end_versioned(kiln_dl_managed_versioned *self)
{
    end(self->context);
}

static kiln_status fill_tensor(const kiln_view *v, exported *e, kiln_dl_tensor *t)
{
    kiln *k = v->buffer->k;
    kiln_type type = kiln_view_type(*v);
    kiln_status status = kiln_dlpack_device(k, &t->device);
    if (status)
        return status;
    for (size_t n = 0; n < COUNT(types); n++)
        if (types[n].type == type)
            t->type = (kiln_dl_type){types[n].code, types[n].bits, 1};
    if (!t->type.lanes)
        return error_set(k, KILN_E_BAD_ARGUMENT, K7001,
                         "kiln_dlpack_export: DLPack has no type for elements that are structs");
    view_strides(v, e->strides);
    for (uint32_t n = 0; n < v->rank; n++)
        e->sizes[n] = (int64_t)v->sizes[n];
    t->rank = (int32_t)v->rank;
    t->sizes = e->sizes;
    t->strides = e->strides;
    if (!kiln_view_count(*v))
        return KILN_OK;
    // Where the memory is the host's, others get the host's address.
    bool is_host = t->device.type == KILN_DL_CPU || v->buffer->is_mapped;
    if (is_host && t->device.type == KILN_DL_CUDA)
        t->device.type = KILN_DL_CUDA_HOST;
    uint64_t at = is_host ? (uint64_t)(uintptr_t)v->buffer->base : v->buffer->address;
    uintptr_t number = (uintptr_t)(at + v->first * kiln_type_size(type));
    memcpy(&t->data, &number, sizeof number);
    return KILN_OK;
}

static kiln_status export_view(const kiln_view *v, bool is_versioned, exported **out)
{
    kiln_status status = view_check(NULL, v, "kiln_dlpack_export", "v");
    if (status)
        return status;
    kiln_buffer *b = v->buffer;
    if (b->is_read_only && !is_versioned)
        return error_set(b->k, KILN_E_BAD_ARGUMENT, K6045,
                         "kiln_dlpack_export: the buffer is read-only, which only the versioned "
                         "form can say");
    exported *e = calloc(1, sizeof *e);
    if (!e)
        return error_no_memory(b->k, "a tensor");
    status = fill_tensor(v, e, is_versioned ? &e->as.versioned.tensor : &e->as.plain.tensor);
    if (status) {
        free(e);
        return status;
    }
    e->buffer = b;
    buffer_export(b);
    *out = e;
    return KILN_OK;
}

static kiln_status no_place(const kiln_view *v)
{
    kiln *k = handle_is(HANDLE_BUFFER, v->buffer) ? v->buffer->k : NULL;
    return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "kiln_dlpack_export: out is NULL");
}

kiln_status kiln_dlpack_export(kiln_view v, kiln_dl_managed **out)
{
    exported *e = NULL;
    if (!out)
        return no_place(&v);
    *out = NULL;
    kiln_status status = export_view(&v, false, &e);
    if (status)
        return status;
    e->as.plain.context = e;
    e->as.plain.deleter = end_plain;
    *out = &e->as.plain;
    return KILN_OK;
}

kiln_status kiln_dlpack_export_versioned(kiln_view v, kiln_dl_managed_versioned **out)
{
    exported *e = NULL;
    if (!out)
        return no_place(&v);
    *out = NULL;
    kiln_status status = export_view(&v, true, &e);
    if (status)
        return status;
    e->as.versioned.major = 1;
    e->as.versioned.context = e;
    e->as.versioned.deleter = end_versioned;
    e->as.versioned.flags = v.buffer->is_read_only ? KILN_DL_READ_ONLY : 0;
    *out = &e->as.versioned;
    return KILN_OK;
}
