// DLPack: tensors in and out, element by element; odd offsets and strides; what is refused;
// deleters are called once, on whatever thread, also after kiln_close.
#include <kiln/dlpack.h>
#include <pthread.h>

#include "api.h"

enum { LENGTH = 64 };
static int deleted;
static float numbers[LENGTH];

static void delete_plain(kiln_dl_managed *self)
{
    CHECK(self->context == &deleted);
    deleted++;
}

static void delete_versioned(kiln_dl_managed_versioned *self)
{
    CHECK(self->context == &deleted);
    deleted++;
}

// A foreign tensor over `numbers`; what it points to stays where it is.
static kiln_dl_managed tensor_of(int32_t rank, int64_t *sizes, int64_t *strides)
{
    kiln_dl_managed t;
    memset(&t, 0, sizeof t);
    t.tensor.data = numbers;
    t.tensor.device.type = KILN_DL_CPU;
    t.tensor.rank = rank;
    t.tensor.type.code = KILN_DL_FLOAT;
    t.tensor.type.bits = 32;
    t.tensor.type.lanes = 1;
    t.tensor.sizes = sizes;
    t.tensor.strides = strides;
    t.context = &deleted;
    t.deleter = delete_plain;
    return t;
}

static bool reads(kiln_view v, size_t count, const float *want)
{
    float got[LENGTH];
    bool same = kiln_view_count(v) == count && !kiln_read_view(v, got);
    for (size_t n = 0; n < count && same; n++)
        same = got[n] == want[n];
    return same;
}

static void imports(kiln *k)
{
    int64_t s23[] = {2, 3}, s6[] = {6}, none[] = {4, 0}, s4[] = {4};
    int64_t exchanged[] = {1, 2}, back[] = {-3, -1}, zero[] = {0}, every[] = {3, 1};
    const float dense[] = {0, 1, 2, 3, 4, 5}, turned[] = {0, 2, 4, 1, 3, 5},
                reversed[] = {9, 8, 7, 6, 5, 4}, from_five[] = {5, 6, 7, 8, 9, 10},
                same[] = {0, 0, 0, 0, 0, 0}, vectors[] = {0, 1, 2, 3, 6, 7, 8, 9};
    kiln_view v;
    deleted = 0;
    kiln_dl_managed t = tensor_of(2, s23, NULL);
    CHECK(!kiln_dlpack_import(k, &t, &v) && reads(v, 6, dense) && kiln_view_is_dense(v));
    CHECK(kiln_buffer_type(v.buffer) == KILN_F32 && kiln_buffer_count(v.buffer) == 6);
    numbers[1] = 100; // the same memory
    const float changed[] = {0, 100, 2, 3, 4, 5};
    CHECK(reads(v, 6, changed) && !kiln_write(v.buffer, 1, &dense[1], 1) && numbers[1] == 1);
    CHECK(!deleted);
    kiln_buffer_free(v.buffer);
    CHECK(deleted == 1);
    t = tensor_of(2, s23, exchanged);
    CHECK(!kiln_dlpack_import(k, &t, &v) && reads(v, 6, turned) && !kiln_view_check(v));
    kiln_buffer_free(v.buffer);
    t = tensor_of(2, s23, back); // elements before the first one
    t.tensor.first_byte = 9 * 4;
    CHECK(!kiln_dlpack_import(k, &t, &v) && reads(v, 6, reversed) && v.first == 5);
    CHECK(kiln_buffer_count(v.buffer) == 6);
    kiln_buffer_free(v.buffer);
    t = tensor_of(1, s6, NULL);
    t.tensor.first_byte = 5 * 4;
    CHECK(!kiln_dlpack_import(k, &t, &v) && reads(v, 6, from_five));
    kiln_buffer_free(v.buffer);
    t = tensor_of(1, s6, zero);
    CHECK(!kiln_dlpack_import(k, &t, &v) && reads(v, 6, same) && kiln_buffer_count(v.buffer) == 1);
    kiln_buffer_free(v.buffer);
    t = tensor_of(0, NULL, NULL); // a number
    CHECK(!kiln_dlpack_import(k, &t, &v) && v.rank == 0 && reads(v, 1, dense));
    kiln_buffer_free(v.buffer);
    t = tensor_of(2, none, NULL); // nothing
    t.tensor.data = NULL;
    CHECK(!kiln_dlpack_import(k, &t, &v) && reads(v, 0, dense) && v.sizes[0] == 4);
    kiln_buffer_free(v.buffer);
    s23[0] = s23[1] = 2; // elements of two lanes: one more dimension
    t = tensor_of(2, s23, every);
    t.tensor.type.lanes = 2;
    CHECK(!kiln_dlpack_import(k, &t, &v) && v.rank == 3 && v.sizes[2] == 2 && reads(v, 8, vectors));
    kiln_buffer_free(v.buffer);
    CHECK(deleted == 8);
    t = tensor_of(1, s4, NULL);
    t.deleter = NULL; // nobody cares
    CHECK(!kiln_dlpack_import(k, &t, &v));
    kiln_buffer_free(v.buffer);
    CHECK(deleted == 8);
}

static void refusals(kiln *k)
{
    int64_t s6[] = {6}, negative[] = {-1}, many[9] = {1}, huge[] = {INT64_MAX, INT64_MAX};
    int64_t far[] = {INT64_MAX / 2, INT64_MIN};
    kiln_dl_managed t;
    kiln_view v;
    deleted = 0;
#define REFUSED(change, status, code, part)                                                        \
    t = tensor_of(1, s6, NULL);                                                                    \
    change;                                                                                        \
    EXPECT(kiln_dlpack_import(k, &t, &v), status, code, part);                                     \
    CHECK(!v.buffer)
    REFUSED(t.tensor.device.type = KILN_DL_CUDA, KILN_E_BAD_ARGUMENT, "K6044", "on device 2:0");
    REFUSED(t.tensor.device.type = KILN_DL_OPENCL, KILN_E_BAD_ARGUMENT, "K6044", "on device 4:0");
    REFUSED(t.tensor.type.code = 5, KILN_E_UNSUPPORTED, "K6044", "code 5 with 32 bits");
    REFUSED(t.tensor.type.bits = 4, KILN_E_UNSUPPORTED, "K6044", "with 4 bits");
    REFUSED(t.tensor.type.lanes = 0, KILN_E_BAD_ARGUMENT, "K6044", "0 lanes");
    REFUSED(t.tensor.rank = -1, KILN_E_BAD_ARGUMENT, "K7001", "-1 dimensions");
    REFUSED((t.tensor.rank = 9, t.tensor.sizes = many), KILN_E_BAD_ARGUMENT, "K7001", "9 dim");
    REFUSED((t.tensor.rank = 8, t.tensor.sizes = many, t.tensor.type.lanes = 4),
            KILN_E_BAD_ARGUMENT, "K7001", "8 dimensions of vectors");
    REFUSED(t.tensor.sizes = NULL, KILN_E_BAD_ARGUMENT, "K6044", "sizes are NULL");
    REFUSED(t.tensor.sizes = negative, KILN_E_BAD_ARGUMENT, "K6044", "negative size");
    REFUSED(t.tensor.data = NULL, KILN_E_BAD_ARGUMENT, "K6044", "data is NULL");
    REFUSED(t.tensor.first_byte = 2, KILN_E_BAD_ARGUMENT, "K6044", "not aligned");
    REFUSED((t.tensor.rank = 2, t.tensor.sizes = huge), KILN_E_BAD_ARGUMENT, "K6044", "larger");
    REFUSED(t.tensor.strides = far, KILN_E_BAD_ARGUMENT, "K6044", "larger than any buffer");
    REFUSED((t.tensor.strides = far + 1, t.tensor.type.lanes = 2), KILN_E_BAD_ARGUMENT, "K6044",
            "too long");
    EXPECT(kiln_dlpack_import(k, NULL, &v), KILN_E_BAD_ARGUMENT, "K6003", "the tensor is NULL");
    EXPECT(kiln_dlpack_import(k, &t, NULL), KILN_E_BAD_ARGUMENT, "K6003", "out is NULL");
    EXPECT(kiln_dlpack_import(NULL, &t, &v), KILN_E_BAD_HANDLE, "K6002", "");
    kiln_dl_managed_versioned w;
    memset(&w, 0, sizeof w);
    w.major = 2;
    w.tensor = tensor_of(1, s6, NULL).tensor;
    EXPECT(kiln_dlpack_import_versioned(k, &w, &v), KILN_E_UNSUPPORTED, "K6044", "DLPack 2.0");
    CHECK(!deleted);
}

// Every type, there and back again.
static void types(kiln *k)
{
    const struct {
        kiln_type type;
        uint8_t code, bits;
    } all[] = {{KILN_BOOL, 6, 8},  {KILN_I8, 0, 8},   {KILN_U8, 1, 8},    {KILN_I16, 0, 16},
               {KILN_U16, 1, 16},  {KILN_I32, 0, 32}, {KILN_U32, 1, 32},  {KILN_I64, 0, 64},
               {KILN_U64, 1, 64},  {KILN_F16, 2, 16}, {KILN_BF16, 4, 16}, {KILN_F8E4, 10, 8},
               {KILN_F8E5, 12, 8}, {KILN_F32, 2, 32}, {KILN_F64, 2, 64}};
    for (size_t n = 0; n < sizeof all / sizeof all[0]; n++) {
        kiln_buffer *b = NULL;
        kiln_dl_managed *t = NULL;
        kiln_view v;
        CHECK(!kiln_buffer_new(k, all[n].type, 8, &b) &&
              !kiln_dlpack_export(KILN_VIEW(b, 2, 4), &t));
        CHECK(t->tensor.type.code == all[n].code && t->tensor.type.bits == all[n].bits &&
              t->tensor.type.lanes == 1 && t->tensor.device.type == KILN_DL_CPU);
        CHECK(!kiln_dlpack_import(k, t, &v) && kiln_view_type(v) == all[n].type && v.rank == 2);
        kiln_buffer_free(b);
        kiln_buffer_free(v.buffer); // calls the tensor's deleter, which lets go of b
    }
    kiln_memory_info info;
    kiln_buffer *last = NULL;
    CHECK(!kiln_buffer_new(k, KILN_I8, 1, &last));
    CHECK(!kiln_memory_info_of(k, &info) && info.buffer_count == 1);
    kiln_buffer_free(last);
}

static void exports(kiln *k)
{
    kiln_buffer *b = NULL, *structs = NULL;
    kiln_dl_managed *t = NULL;
    kiln_dl_managed_versioned *w = NULL;
    float x[12];
    for (int n = 0; n < 12; n++)
        x[n] = (float)n;
    CHECK(!kiln_buffer_new(k, KILN_F32, 12, &b) && !kiln_write(b, 0, x, 12));
    kiln_view v = kiln_view_slice(kiln_view_transpose(KILN_VIEW(b, 3, 4)), 0, 1, KILN_TO_END, 2);
    CHECK(!kiln_dlpack_export(v, &t) && t->tensor.rank == 2 && t->tensor.sizes[0] == 2 &&
          t->tensor.sizes[1] == 3 && t->tensor.strides[0] == 2 && t->tensor.strides[1] == 4);
    const float *at =
        (const float *)(const void *)((const char *)t->tensor.data + t->tensor.first_byte);
    CHECK(at[0] == 1 && at[2] == 3 && at[4] == 5);
    kiln_buffer_free(b); // the tensor still holds the memory
    EXPECT(kiln_write(b, 0, x, 1), KILN_E_BAD_HANDLE, "K6002", "");
    CHECK(at[4] == 5);
    t->deleter(t);
    CHECK(!kiln_buffer_new(k, KILN_F32, 12, &b));
    CHECK(!kiln_dlpack_export_versioned(KILN_VIEW(b, 0, 5), &w) && w->major == 1 && !w->flags &&
          w->tensor.data == NULL && w->tensor.sizes[1] == 5);
    w->deleter(w);
    v = KILN_VIEW(b, 13);
    EXPECT(kiln_dlpack_export(v, &t), KILN_E_BAD_ARGUMENT, "K7002", "kiln_dlpack_export");
    EXPECT(kiln_dlpack_export(v, NULL), KILN_E_BAD_ARGUMENT, "K6003", "out is NULL");
    CHECK(!kiln_buffer_new_bytes(k, 12, 3, &structs));
    EXPECT(kiln_dlpack_export(KILN_VIEW(structs, 3), &t), KILN_E_BAD_ARGUMENT, "K7001", "structs");
    kiln_buffer_free(structs);
    kiln_buffer_free(b);
    // read-only, in and out
    int64_t s6[] = {6};
    kiln_dl_managed_versioned given;
    memset(&given, 0, sizeof given);
    given.major = 1;
    given.minor = 7;
    given.flags = KILN_DL_READ_ONLY;
    given.context = &deleted;
    given.deleter = delete_versioned;
    given.tensor = tensor_of(1, s6, NULL).tensor;
    deleted = 0;
    CHECK(!kiln_dlpack_import_versioned(k, &given, &v));
    EXPECT(kiln_write_view(v, x), KILN_E_BAD_ARGUMENT, "K6045", "read-only");
    EXPECT(kiln_dlpack_export(v, &t), KILN_E_BAD_ARGUMENT, "K6045", "versioned");
    CHECK(!kiln_dlpack_export_versioned(v, &w) && w->flags == KILN_DL_READ_ONLY);
    kiln_buffer_free(v.buffer);
    CHECK(!deleted);
    w->deleter(w);
    CHECK(!kiln_sync(k)); // collects what came back
    CHECK(deleted == 1);
    // and so does the next buffer
    CHECK(!kiln_dlpack_import_versioned(k, &given, &v) && !kiln_dlpack_export_versioned(v, &w));
    kiln_buffer_free(v.buffer);
    w->deleter(w);
    CHECK(!kiln_buffer_new(k, KILN_F32, 1, &b) && deleted == 2);
    kiln_buffer_free(b);
}

// --- other threads, and after kiln_close
enum { THREADS = 4, EACH = 50 };

static void *let_go(void *tensors)
{
    kiln_dl_managed **t = (kiln_dl_managed **)tensors;
    for (int n = 0; n < EACH; n++)
        t[n]->deleter(t[n]);
    return NULL;
}

static void threads(const char *device, bool is_closed)
{
    static kiln_dl_managed *t[THREADS][EACH];
    kiln *k = api_open(device);
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        for (int n = 0; n < EACH; n++) {
            kiln_buffer *b = NULL;
            CHECK(!kiln_buffer_new(k, KILN_F32, 16, &b));
            CHECK(!kiln_dlpack_export(KILN_VIEW(b, 16), &t[i][n]));
            kiln_buffer_free(b);
        }
    if (is_closed) {
        kiln_close(k);
        CHECK(kiln_sync(k) == KILN_E_BAD_HANDLE); // dead, though the memory is still there
        ((float *)t[1][2]->tensor.data)[15] = 1;
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&thread[i], NULL, let_go, t[i]));
    for (int n = 0; n < 100 && !is_closed; n++) { // at the same time
        kiln_buffer *b = NULL;
        CHECK(!kiln_buffer_new(k, KILN_F32, 16, &b));
        kiln_buffer_free(b);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_join(thread[i], NULL));
    if (!is_closed)
        kiln_close(k);
}

// An imported tensor that is exported again, and let go of after kiln_close.
static void in_and_out(const char *device)
{
    kiln *k = api_open(device);
    int64_t s6[] = {6};
    kiln_dl_managed in = tensor_of(1, s6, NULL), *out = NULL;
    kiln_view v;
    deleted = 0;
    CHECK(!kiln_dlpack_import(k, &in, &v) && !kiln_dlpack_export(v, &out));
    CHECK(out->tensor.data == numbers);
    kiln_close(k);
    CHECK(!deleted && kiln_buffer_count(v.buffer) == 0);
    out->deleter(out);
    CHECK(deleted == 1);
    // a chain: each one's end is the end of the one before
    kiln_dl_managed *chain[4];
    k = api_open(device);
    kiln_buffer *b = NULL;
    CHECK(!kiln_buffer_new(k, KILN_F32, 6, &b));
    v = KILN_VIEW(b, 6);
    for (int n = 0; n < 4; n++)
        CHECK(!kiln_dlpack_export(v, &chain[n]) &&
              (n == 3 || !kiln_dlpack_import(k, chain[n], &v)));
    kiln_close(k);
    ((float *)chain[3]->tensor.data)[5] = 1;
    chain[3]->deleter(chain[3]);
}

int main(void)
{
    const char *const devices[] = {"interp", "cpu"};
    for (int n = 0; n < LENGTH; n++)
        numbers[n] = (float)n;
    for (int n = 0; n < 2; n++) {
        kiln *k = api_open(devices[n]);
        kiln_dl_device device;
        CHECK(!kiln_dlpack_device(k, &device) && device.type == KILN_DL_CPU && device.id == 0);
        imports(k);
        refusals(k);
        types(k);
        exports(k);
        kiln_close(k);
        threads(devices[n], false);
        threads(devices[n], true);
        in_and_out(devices[n]);
    }
    return api_done("dlpack");
}
