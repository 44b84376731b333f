// libFuzzer: the reader of .npy on arbitrary bytes. What it takes must be consistent: the shape's
// product is the count, fields lie inside their records, and every byte of the data can be read.
#include <stdlib.h>

#include "cli/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_hold(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    npy n;
    char why[NPY_WHY] = "";
    if (!npy_read_bytes(data, size, &n, why)) {
        must_hold(why[0] != 0);
        return 0;
    }
    size_t count = 1;
    for (int k = 0; k < n.rank; k++)
        count *= n.shape[k];
    must_hold(count == n.count && n.element_size > 0);
    for (size_t k = 0; k < n.field_count; k++) {
        const npy_field *f = &n.fields[k];
        must_hold(f->offset + f->count * kiln_type_size(f->type) <= n.element_size);
    }
    volatile unsigned char sum = 0;
    for (size_t k = 0; k < n.count * n.element_size; k++)
        sum = (unsigned char)(sum + ((const unsigned char *)n.data)[k]);
    npy_free(&n);
    return 0;
}
