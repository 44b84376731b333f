// GGUF files: one that independent code wrote, what is refused and how, and what becomes of every
// file that is cut short or has a byte changed.
#include "api.h"

#include <kiln/gguf.h>
#include <kiln/ops.h>
#include <unistd.h>

// Written by the Python package gguf 0.19.0 (PyPI), GGUFWriter: ten keys; 'plain', f32 [2, 3] of 0
// to 5; 'blocks', q8_0 [2, 32] from -1 to 1.
// clang-format off
static const unsigned char sample[] = {
    71, 71, 85, 70, 3, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0,
    20, 0, 0, 0, 0, 0, 0, 0, 103, 101, 110, 101, 114, 97, 108, 46, 97, 114, 99, 104, 105, 116, 101, 99,
    116, 117, 114, 101, 8, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 116, 111, 121, 10, 0, 0, 0, 0,
    0, 0, 0, 116, 111, 121, 46, 108, 97, 121, 101, 114, 115, 4, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0,
    0, 0, 0, 0, 0, 116, 111, 121, 46, 115, 99, 97, 108, 101, 6, 0, 0, 0, 0, 0, 0, 63, 8, 0,
    0, 0, 0, 0, 0, 0, 116, 111, 121, 46, 102, 108, 97, 103, 7, 0, 0, 0, 1, 8, 0, 0, 0, 0,
    0, 0, 0, 116, 111, 121, 46, 116, 101, 120, 116, 8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 97,
    195, 177, 98, 10, 0, 0, 0, 0, 0, 0, 0, 116, 111, 121, 46, 116, 111, 107, 101, 110, 115, 9, 0, 0,
    0, 8, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 97, 0, 0,
    0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 98, 99, 11, 0, 0, 0, 0, 0, 0, 0,
    116, 111, 121, 46, 110, 117, 109, 98, 101, 114, 115, 9, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, 0,
    0, 0, 0, 1, 0, 0, 0, 254, 255, 255, 255, 3, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 116,
    111, 121, 46, 108, 111, 119, 11, 0, 0, 0, 251, 255, 255, 255, 255, 255, 255, 255, 8, 0, 0, 0, 0, 0,
    0, 0, 116, 111, 121, 46, 119, 105, 100, 101, 12, 0, 0, 0, 156, 117, 0, 136, 60, 228, 55, 126, 9, 0,
    0, 0, 0, 0, 0, 0, 116, 111, 121, 46, 115, 109, 97, 108, 108, 0, 0, 0, 0, 200, 5, 0, 0, 0,
    0, 0, 0, 0, 112, 108, 97, 105, 110, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0,
    0, 98, 108, 111, 99, 107, 115, 2, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0,
    0, 0, 0, 8, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 63,
    0, 0, 0, 64, 0, 0, 64, 64, 0, 0, 128, 64, 0, 0, 160, 64, 0, 0, 0, 0, 0, 0, 0, 0,
    8, 32, 129, 133, 137, 141, 145, 149, 153, 157, 161, 165, 169, 173, 177, 181, 185, 189, 194, 198, 202, 206, 210, 214,
    218, 222, 226, 230, 234, 238, 242, 246, 250, 254, 8, 32, 2, 6, 10, 14, 18, 22, 26, 30, 34, 38, 42, 46,
    50, 54, 58, 62, 67, 71, 75, 79, 83, 87, 91, 95, 99, 103, 107, 111, 115, 119, 123, 127, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
// clang-format on

static bool is_text(const kiln_gguf_value *v, const char *text)
{
    return v->kind == KILN_GGUF_STRING && v->bytes == strlen(text) &&
           !memcmp(v->text, text, strlen(text));
}

static void values(const kiln_gguf *g)
{
    static const char *const tokens[] = {"a", "", "bc"};
    static const double numbers[] = {1, -2, 3};
    kiln_gguf_value v, e;
    CHECK(!kiln_gguf_value_find(g, "general.architecture", &v) && is_text(&v, "toy"));
    CHECK(!kiln_gguf_value_find(g, "toy.layers", &v) && v.kind == KILN_GGUF_U32 && v.integer == 7);
    CHECK(!kiln_gguf_value_find(g, "toy.scale", &v) && v.kind == KILN_GGUF_F32 && v.real == 0.5);
    CHECK(!kiln_gguf_value_find(g, "toy.flag", &v) && v.kind == KILN_GGUF_BOOL && v.integer == 1);
    CHECK(!kiln_gguf_value_find(g, "toy.text", &v) && is_text(&v, "a\303\261b"));
    CHECK(!kiln_gguf_value_find(g, "toy.low", &v) && (int64_t)v.integer == -5 && v.real == -5);
    CHECK(!kiln_gguf_value_find(g, "toy.wide", &v) && v.kind == KILN_GGUF_F64 && v.real == 1e300);
    CHECK(!kiln_gguf_value_find(g, "toy.small", &v) && v.kind == KILN_GGUF_U8 && v.real == 200);
    CHECK(!kiln_gguf_value_find(g, "toy.tokens", &v) && v.kind == KILN_GGUF_ARRAY);
    CHECK(v.element == KILN_GGUF_STRING && v.count == 3);
    uint64_t cursor = 0;
    for (int n = 0; n < 3; n++)
        CHECK(!kiln_gguf_next(&v, &cursor, &e) && is_text(&e, tokens[n]) && !e.key);
    CHECK(kiln_gguf_next(&v, &cursor, &e) == KILN_E_NOT_FOUND);
    CHECK(!kiln_gguf_value_find(g, "toy.numbers", &v) && v.element == KILN_GGUF_I32);
    cursor = 0;
    for (int n = 0; n < 3; n++)
        CHECK(!kiln_gguf_next(&v, &cursor, &e) && e.real == numbers[n]);
    CHECK(kiln_gguf_next(&v, &cursor, &e) == KILN_E_NOT_FOUND);
    cursor = 9;
    EXPECT(kiln_gguf_next(&v, &cursor, &e), KILN_E_BAD_ARGUMENT, "K6003",
           "where an element begins");
    EXPECT(kiln_gguf_value_find(g, "toy", &v), KILN_E_NOT_FOUND, "K6003", "no 'toy'");
}

static void tensors(const kiln_gguf *g)
{
    kiln_gguf_tensor t;
    float x[64];
    CHECK(!kiln_gguf_tensor_find(g, "plain", &t) && t.element == KILN_F32 && t.rank == 2);
    CHECK(t.sizes[0] == 2 && t.sizes[1] == 3 && t.count == 6 && t.bytes == 24 && !t.type);
    memcpy(x, t.data, 24);
    for (int n = 0; n < 6; n++)
        CHECK(x[n] == (float)n);
    CHECK(!kiln_gguf_tensor_find(g, "blocks", &t) && t.type == KILN_GGUF_Q8_0 && t.bytes == 68);
    CHECK(t.element == KILN_VOID && !strcmp(t.type_name, "q8_0") && t.sizes[1] == 32);
    CHECK(!kiln_gguf_unpack(KILN_GGUF_Q8_0, t.data, t.count, x));
    for (int n = 0; n < 64; n++) {
        double wanted = -1 + 2 * n / 63.0;
        CHECK(x[n] - wanted < 0.005 && wanted - x[n] < 0.005);
    }
    EXPECT(kiln_gguf_tensor_find(g, "", &t), KILN_E_NOT_FOUND, "K6003", "no ''");
    EXPECT(kiln_gguf_tensor_at(g, 2, &t), KILN_E_BAD_ARGUMENT, "K6003", "no number 2 of 2");
}

// The formats that the ops take have the sizes that the reader counts with.
static void formats(void)
{
    unsigned char bytes[sizeof sample + 512];
    int found = 0;
    for (unsigned type = 0; type < 64; type++) {
        kiln_gguf_format f;
        kiln_gguf *g = NULL;
        kiln_gguf_tensor t;
        if (kiln_gguf_format_of((kiln_gguf_type)type, &f))
            continue;
        memset(bytes, 0, sizeof bytes);
        memcpy(bytes, sample, sizeof sample);
        memset(bytes + 0x1a3, 0, 16); // 'blocks' becomes [1, 256] of that type
        bytes[0x1a4] = 1;
        bytes[0x1ab] = 1;
        bytes[0x1b3] = (unsigned char)type;
        CHECK(!kiln_gguf_read(bytes, sizeof bytes, &g) && !kiln_gguf_tensor_at(g, 1, &t));
        CHECK(t.bytes == 256 / f.block_size * f.block_bytes && !strcmp(t.type_name, f.name));
        kiln_gguf_free(g);
        found++;
    }
    CHECK(found == 10);
}

// Everything that a file offers lies inside it; the sanitizers watch.
static unsigned walk(const kiln_gguf *g, const unsigned char *bytes, size_t size)
{
    kiln_gguf_info info;
    unsigned sum = 0;
    CHECK(!kiln_gguf_info_of(g, &info));
    for (uint64_t n = 0; n < info.tensors; n++) {
        kiln_gguf_tensor t;
        CHECK(!kiln_gguf_tensor_at(g, n, &t));
        sum += (unsigned)strlen(t.name);
        if (t.bytes && t.data) {
            CHECK(t.offset <= size && t.bytes <= size - t.offset && t.data == bytes + t.offset);
            for (uint64_t i = 0; i < t.bytes; i++)
                sum += ((const unsigned char *)t.data)[i];
        }
    }
    for (uint64_t n = 0; n < info.values; n++) {
        kiln_gguf_value v, e;
        uint64_t cursor = 0, count = 0;
        CHECK(!kiln_gguf_value_at(g, n, &v));
        for (uint64_t i = 0; i < v.bytes; i++)
            sum += (unsigned char)v.text[i];
        if (v.kind != KILN_GGUF_ARRAY)
            continue;
        while (!kiln_gguf_next(&v, &cursor, &e))
            count++;
        CHECK(count == v.count && cursor == v.bytes);
    }
    return sum;
}

// A copy of exactly that size, so that a read beyond it is seen.
static void attempt(const unsigned char *from, size_t size, unsigned *taken)
{
    unsigned char *bytes = (unsigned char *)malloc(size ? size : 1);
    kiln_gguf *g = NULL;
    if (!bytes)
        return;
    memcpy(bytes, from, size);
    if (!kiln_gguf_read(bytes, size, &g)) {
        ++*taken;
        walk(g, bytes, size);
    }
    kiln_gguf_free(g);
    free(bytes);
}

static void mutations(void)
{
    static const unsigned char other[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    unsigned char bytes[sizeof sample];
    unsigned taken = 0, seed = 1;
    for (size_t size = 0; size < 0x224; size++)
        attempt(sample, size, &taken);
    CHECK(taken == 0); // 'blocks' ends at 0x224: whatever is shorter is refused
    for (size_t at = 0; at < 0x1c0; at++)
        for (size_t n = 0; n < sizeof other; n++) {
            memcpy(bytes, sample, sizeof bytes);
            bytes[at] = other[n];
            attempt(bytes, sizeof bytes, &taken);
        }
    CHECK(taken > 100); // letters of names may be any
    for (int n = 0; n < 2000; n++) {
        memcpy(bytes, sample, sizeof bytes);
        for (int i = 0; i < 3; i++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[(seed >> 8) % 0x1c0] = (unsigned char)(seed >> 24);
        }
        attempt(bytes, sizeof bytes, &taken);
    }
}

static void refusals(void)
{
    unsigned char bytes[sizeof sample];
    kiln_gguf *g = NULL;
    kiln_gguf_info info;
    const struct {
        size_t at;
        unsigned char byte;
        const char *words;
    } wrong[] = {{0, 'g', "does not begin with 'GGUF'"},
                 {4, 1, "another version than 2 and 3"},
                 {15, 1, "more entries than it has room for"},
                 {23, 1, "more entries than it has room for"},
                 {0x1f, 1, "ends in the middle"},
                 {0x34, 99, "a kind that is not known"},
                 {0xc1, 77, "an array of a kind that is not known"},
                 {0xcb, 1, "ends in the middle"},
                 {0x171, 5, "more than four dimensions"},
                 {0x1a3, 33, "not whole blocks"},
                 {0x1aa, 0xff, "more elements than can be counted"},
                 {0x1b7, 33, "not aligned"},
                 {0x1b8, 1, "reaches beyond its end"}};
    for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++) {
        memcpy(bytes, sample, sizeof bytes);
        bytes[wrong[n].at] = wrong[n].byte;
        EXPECT(kiln_gguf_read(bytes, sizeof bytes, &g), KILN_E_IO, "K6005", wrong[n].words);
        CHECK(!g);
    }
    EXPECT(kiln_gguf_read(NULL, 0, &g), KILN_E_BAD_ARGUMENT, "K6003", "is NULL");
    EXPECT(kiln_gguf_read(sample, 1, NULL), KILN_E_BAD_ARGUMENT, "K6003", "'out' is NULL");
    EXPECT(kiln_gguf_open("/nowhere/model.gguf", &g), KILN_E_NOT_FOUND, "K6005",
           "cannot be opened");
    EXPECT(kiln_gguf_open("/", &g), KILN_E_IO, "K6005", "no file");
    EXPECT(kiln_gguf_info_of(NULL, &info), KILN_E_BAD_HANDLE, "K6002", "kiln_gguf is needed");
    kiln_gguf_free(NULL);
}

static void from_file(void)
{
    char path[] = "/tmp/kiln-gguf-XXXXXX";
    int file = mkstemp(path);
    kiln_gguf *g = NULL;
    CHECK(file >= 0 && write(file, sample, sizeof sample) == (ssize_t)sizeof sample);
    if (file >= 0)
        close(file);
    CHECK(!kiln_gguf_open(path, &g));
    unlink(path);
    values(g);
    tensors(g);
    kiln_gguf_free(g);
    EXPECT(kiln_gguf_info_of(g, NULL), KILN_E_BAD_HANDLE, "K6002", "not a live kiln_gguf");
}

int main(void)
{
    kiln_gguf *g = NULL;
    kiln_gguf_info info;
    CHECK(!kiln_gguf_read(sample, sizeof sample, &g) && !kiln_gguf_info_of(g, &info));
    CHECK(info.version == 3 && info.tensors == 2 && info.values == 10 && info.alignment == 32);
    CHECK(info.data == 0x1c0);
    values(g);
    tensors(g);
    kiln_gguf_free(g);
    from_file();
    formats();
    refusals();
    mutations();
    return api_done("gguf");
}
