// The memory of a test: fills arguments from their description, compares and hashes results. The
// numbers depend only on the kernel's name and the argument's place, so that every device and every
// machine sees the same. Start reading at corpus_data_new.
#include "host/corpus.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t edge_8[16] = {0, 1, 2, 3, 5, 7, 8, 31, 63, 64, 100, 127, 128, 129, 254, 255};
static const uint16_t edge_16[16] = {0,   1,    2,      3,      7,      15,     16,     255,
                                     256, 1000, 0x7fff, 0x8000, 0x8001, 0xff00, 0xfffe, 0xffff};
static const uint32_t edge_32[16] = {
    0,     1,     2,          3,          7,          31,         32,         255,
    65535, 65536, 0x7fffffff, 0x80000000, 0x80000001, 0xaaaaaaaa, 0xfffffffe, 0xffffffff};
static const uint64_t edge_64[16] = {0,
                                     1,
                                     2,
                                     3,
                                     7,
                                     63,
                                     64,
                                     0xffffffff,
                                     0x100000000,
                                     0x123456789abcdef0,
                                     0x80000000,
                                     0x7fffffffffffffff,
                                     0x8000000000000000,
                                     0x8000000000000001,
                                     0xfffffffffffffffe,
                                     0xffffffffffffffff};
static const uint32_t edge_f32[16] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000,  // 0 -0 1 -1
    0x3f000000, 0x40200000, 0xc0600000, 0x4b000001,  // 0.5 2.5 -3.5 2^23+1
    0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff,  // denormals, smallest normal, largest
    0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000}; // -largest, infinities, NaN
static const uint64_t edge_f64[16] = {
    0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000,
    0x3fe0000000000000, 0x4004000000000000, 0xc00c000000000000, 0x4330000000000001,
    0x0000000000000001, 0x800fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff,
    0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000};
static const uint16_t edge_f16[16] = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x3800, 0x4100,
                                      0xc300, 0x6401, 0x0001, 0x83ff, 0x0400, 0x7bff,
                                      0xfbff, 0x7c00, 0xfc00, 0x7e00};
static const uint16_t edge_bf16[16] = {0x0000, 0x8000, 0x3f80, 0xbf80, 0x3f00, 0x4020,
                                       0xc060, 0x4b01, 0x0001, 0x807f, 0x0080, 0x7f7f,
                                       0xff7f, 0x7f80, 0xff80, 0x7fc0};

typedef enum number { N_INT, N_F32, N_F64, N_F16, N_BF16, N_F8E4, N_F8E5, N_BOOL } number;

static const struct kind {
    const char *name;
    number number;
    bool is_signed;
    size_t size;
    const void *edges;
} kinds[] = {
    {"i8", N_INT, true, 1, edge_8},     {"u8", N_INT, false, 1, edge_8},
    {"i16", N_INT, true, 2, edge_16},   {"u16", N_INT, false, 2, edge_16},
    {"i32", N_INT, true, 4, edge_32},   {"u32", N_INT, false, 4, edge_32},
    {"i64", N_INT, true, 8, edge_64},   {"u64", N_INT, false, 8, edge_64},
    {"f32", N_F32, true, 4, edge_f32},  {"f64", N_F64, true, 8, edge_f64},
    {"f16", N_F16, true, 2, edge_f16},  {"bf16", N_BF16, true, 2, edge_bf16},
    {"f8e4", N_F8E4, true, 1, edge_8},  {"f8e5", N_F8E5, true, 1, edge_8},
    {"bool", N_BOOL, false, 1, edge_8},
};

static const struct kind *kind_of(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return &kinds[1];
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

// Stores a number as `k`; narrow floats only get small integers, which are exact in them.
static void put_number(const struct kind *k, void *to, double value, long long whole)
{
    float single = (float)value;
    uint16_t half;
    uint8_t byte;
    uint32_t word;
    switch (k->number) {
    case N_INT: memcpy(to, &whole, k->size); break;
    case N_F32: memcpy(to, &single, 4); break;
    case N_F64: memcpy(to, &value, 8); break;
    case N_BF16:
        memcpy(&word, &single, 4);
        half = (uint16_t)(word >> 16);
        memcpy(to, &half, 2);
        break;
    case N_F16:
        memcpy(&word, &single, 4);
        half = (uint16_t)((word >> 16 & 0x8000) |
                          (word & 0x7fffffff ? (((word & 0x7fffffff) - 0x38000000) >> 13) : 0));
        memcpy(to, &half, 2);
        break;
    case N_F8E4:
    case N_F8E5:
        byte = (uint8_t)whole;
        memcpy(to, &byte, 1);
        break;
    case N_BOOL:
        byte = whole & 1;
        memcpy(to, &byte, 1);
        break;
    }
}

static void put_edge(const struct kind *k, void *to, size_t index)
{
    memcpy(to, (const char *)k->edges + index % 16 * k->size, k->size);
    if (k->number == N_BOOL)
        *(uint8_t *)to &= 1;
}

static void fill_one(const struct kind *k, const char *fill, size_t i, uint64_t *random, void *to)
{
    uint64_t r = next_random(random);
    double unit = (double)(r >> 11) * 0x1p-53;
    if (!fill[0])
        memset(to, 0, k->size);
    else if (strcmp(fill, "edge") == 0)
        put_edge(k, to, i);
    else if (strcmp(fill, "edge2") == 0)
        put_edge(k, to, i / 16);
    else if (strcmp(fill, "edge3") == 0)
        put_edge(k, to, i / 256);
    else if (strcmp(fill, "iota") == 0)
        put_number(k, to, (double)i, (long long)i);
    else if (strcmp(fill, "unit") == 0)
        put_number(k, to, unit, 0);
    else if (strncmp(fill, "mod", 3) == 0 || strncmp(fill, "sym", 3) == 0) {
        long long n = strtoll(fill + 3, NULL, 10),
                  v = (long long)(r % (uint64_t)(fill[0] == 'm' ? n : 2 * n + 1));
        v -= fill[0] == 'm' ? 0 : n;
        put_number(k, to, (double)v, v);
    } else if (strcmp(fill, "bits") == 0 || k->number == N_INT || k->number == N_BOOL) {
        memcpy(to, &r, k->size);
        if (k->number == N_BOOL)
            *(uint8_t *)to &= 1;
    } else {
        put_number(k, to, (unit - 0.5) * 200, (long long)r);
    }
}

bool corpus_data_new(const corpus_case *c, corpus_data *out)
{
    *out = (corpus_data){0};
    for (int i = 0; i < c->arg_count; i++) {
        const corpus_arg *a = &c->args[i];
        const struct kind *k = kind_of(a->as);
        uint64_t random = 0xcbf29ce484222325u + (uint64_t)i;
        for (const char *p = c->kernel; *p; p++)
            random = (random ^ (uint8_t)*p) * 0x100000001b3u;
        size_t bytes = a->size * (a->is_buffer ? a->count : 1);
        char *to = calloc(1, bytes + 16);
        if (!to)
            return false;
        out->args[i] = to;
        out->bytes[i] = bytes;
        if (!a->is_buffer && !a->fill[0])
            put_number(k, to, a->value, a->whole);
        else
            for (size_t n = 0; n < bytes / k->size; n++)
                fill_one(k, a->fill, n, &random, to + n * k->size);
    }
    return true;
}

void corpus_data_free(const corpus_case *c, corpus_data *data)
{
    for (int i = 0; i < c->arg_count; i++)
        free(data->args[i]);
    *data = (corpus_data){0};
}

static bool is_nan(const struct kind *k, uint64_t v)
{
    switch (k->number) {
    case N_F32: return (v & 0x7fffffff) > 0x7f800000;
    case N_F64: return (v & 0x7fffffffffffffff) > 0x7ff0000000000000;
    case N_F16: return (v & 0x7fff) > 0x7c00;
    case N_BF16: return (v & 0x7fff) > 0x7f80;
    case N_F8E4: return (v & 0x7f) == 0x7f;
    case N_F8E5: return (v & 0x7f) > 0x7c;
    case N_INT:
    case N_BOOL: break;
    }
    return false;
}

static uint64_t element(const struct kind *k, const void *from, size_t i)
{
    uint64_t v = 0;
    memcpy(&v, (const char *)from + i * k->size, k->size);
    return is_nan(k, v) ? ~0u : v;
}

int corpus_compare(const corpus_case *c, const corpus_data *want, const corpus_data *got, char *why,
                   size_t why_size)
{
    for (int i = 0; i < c->arg_count; i++) {
        const struct kind *k = kind_of(c->args[i].as);
        if (!c->args[i].is_buffer || memcmp(want->args[i], got->args[i], want->bytes[i]) == 0)
            continue;
        for (size_t n = 0; n < want->bytes[i] / k->size; n++) {
            uint64_t w = element(k, want->args[i], n), g = element(k, got->args[i], n);
            if (w == g)
                continue;
            snprintf(why, why_size, "argument %d, element %zu: want %0*llx, got %0*llx", i + 1, n,
                     (int)k->size * 2, (unsigned long long)w, (int)k->size * 2,
                     (unsigned long long)g);
            return 1;
        }
    }
    return 0;
}

uint64_t corpus_hash(const corpus_case *c, const corpus_data *data)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int i = 0; i < c->arg_count; i++) {
        const struct kind *k = kind_of(c->args[i].as);
        for (size_t n = 0; c->args[i].is_buffer && n < data->bytes[i] / k->size; n++)
            h = (h ^ element(k, data->args[i], n)) * 0x100000001b3u, h ^= h >> 29;
    }
    return h;
}
