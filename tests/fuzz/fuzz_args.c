// libFuzzer: values of the command line. The first byte chooses a layout, the rest is the text: a
// scalar, a list, a literal, a shape and a path of it. What a value shows as must read back to the
// same bytes.
#include <stdlib.h>
#include <string.h>

#include "cli/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static layout scalar, vector, array, parts[3], record;

static void make_layouts(kiln_type type)
{
    scalar = layout_scalar(type);
    vector = (layout){.kind = LAYOUT_ARRAY,
                      .size = 3 * scalar.size,
                      .count = 3,
                      .is_vector = true,
                      .parts = &scalar};
    array = (layout){.kind = LAYOUT_ARRAY, .size = 2 * vector.size, .count = 2, .parts = &vector};
    parts[0] = layout_scalar(KILN_U64);
    parts[0].name = "a";
    parts[1] = array;
    parts[1].name = "b";
    parts[1].offset = 8;
    parts[2] = scalar;
    parts[2].name = "c";
    parts[2].offset = 8 + array.size;
    record = (layout){.kind = LAYOUT_RECORD,
                      .size = 8 + array.size + scalar.size,
                      .parts = parts,
                      .part_count = 3};
}

static void check_scalar(kiln_type type, const char *word)
{
    unsigned char once[8] = {0}, again[8] = {0};
    char why[VALUE_WHY];
    if (!value_scalar(type, word, once, why))
        return;
    text out = {.in = arena_new()};
    layout_show_scalar(type, once, &out);
    bool is_exact = type < KILN_F16 || type > KILN_F8E5; // those print six digits
    bool is_nan = out.at && strstr(out.at, "nan");
    if (is_exact && !is_nan &&
        (!value_scalar(type, out.at, again, why) || memcmp(once, again, sizeof once) != 0))
        abort();
    arena_free(out.in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 4096)
        return 0;
    char *word = malloc(size), why[VALUE_WHY], problem[LAYOUT_WHY];
    if (!word)
        return 0;
    memcpy(word, data + 1, size - 1);
    word[size - 1] = 0;
    kiln_type type = (kiln_type)(KILN_BOOL + data[0] % 15);
    make_layouts(type);
    check_scalar(type, word);
    static const layout *const all[] = {&scalar, &vector, &array, &record};
    const layout *chosen = all[data[0] / 15 % 4];
    unsigned char bytes[256];
    memset(bytes, 0, sizeof bytes);
    value_list list;
    value_shape shape;
    size_t offset;
    value_read(chosen, word, bytes, why);
    if (value_read_list(chosen, word, &list, why)) {
        size_t count = 1;
        for (int k = 0; k < list.shape.rank; k++)
            count *= list.shape.size[k];
        if (count != list.shape.count && list.shape.count)
            abort();
        for (size_t k = 0; k < list.shape.count * chosen->size; k++)
            bytes[k % sizeof bytes] ^= list.bytes[k];
        free(list.bytes);
    }
    value_read_shape(word, strlen(word), &shape);
    const layout *part = layout_find(chosen, word, &offset, problem);
    if (part && offset + part->size > chosen->size)
        abort();
    free(word);
    return 0;
}
