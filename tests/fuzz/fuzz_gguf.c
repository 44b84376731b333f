// libFuzzer: the reader of GGUF files on arbitrary bytes. What it takes must lie inside the file,
// and every byte of it can be read.
#include <stdlib.h>
#include <string.h>

#include "kiln/gguf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned char sum;

static void must_hold(bool condition)
{
    if (!condition)
        abort();
}

static void read_all(const void *bytes, uint64_t count)
{
    for (uint64_t n = 0; n < count; n++)
        sum = (unsigned char)(sum + ((const unsigned char *)bytes)[n]);
}

static void read_array(const kiln_gguf_value *array, int depth)
{
    kiln_gguf_value e;
    uint64_t cursor = 0, count = 0;
    while (!kiln_gguf_next(array, &cursor, &e)) {
        read_all(e.text, e.bytes);
        if (e.kind == KILN_GGUF_ARRAY && depth < 4)
            read_array(&e, depth + 1);
        count++;
    }
    must_hold(count == array->count && cursor == array->bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kiln_gguf *g = NULL;
    kiln_gguf_info info;
    if (kiln_gguf_read(data, size, &g)) {
        must_hold(!g && kiln_last_error(NULL)->text[0]);
        return 0;
    }
    must_hold(!kiln_gguf_info_of(g, &info));
    for (uint64_t n = 0; n < info.tensors; n++) {
        kiln_gguf_tensor t, again;
        must_hold(!kiln_gguf_tensor_at(g, n, &t) && !kiln_gguf_tensor_find(g, t.name, &again));
        must_hold(t.offset <= size && t.bytes <= size - t.offset);
        must_hold(!t.data || t.data == data + t.offset);
        read_all(t.data, t.data ? t.bytes : 0);
    }
    for (uint64_t n = 0; n < info.values; n++) {
        kiln_gguf_value v, again;
        must_hold(!kiln_gguf_value_at(g, n, &v) && !kiln_gguf_value_find(g, v.key, &again));
        read_all(v.text, v.bytes);
        if (v.kind == KILN_GGUF_ARRAY)
            read_array(&v, 0);
    }
    kiln_gguf_free(g);
    return 0;
}
