// The formats of blocks on the host: their table, and conversions that need no device. Packing is
// the kernel's own text (pack.h); unpacking is element by element, as the formats are defined.
#include "ops/gguf/host_gguf.h"

#include <math.h>
#include <string.h>

// --- the table
static const gguf_row rows[] = {
#define ROW(id, number, size, bytes, width, text)                                                  \
    {.type = (kiln_gguf_type)(number), .format = {#id, size, bytes}, .run = (width)},
#include "ops/gguf/gguf.def"
};

const gguf_row *gguf_row_of(kiln *k, const char *call, kiln_gguf_type type)
{
    for (size_t n = 0; n < COUNT(rows); n++)
        if (rows[n].type == type)
            return &rows[n];
    error_set(k, KILN_E_BAD_ARGUMENT, K6003,
              "%s: %d is the number of no block format that Kiln knows; they are in "
              "kiln/ops_gguf.h",
              call, (int)type);
    return NULL;
}

kiln_status kiln_gguf_format_of(kiln_gguf_type type, kiln_gguf_format *out)
{
    const gguf_row *row = gguf_row_of(NULL, "kiln_gguf_format_of", type);
    if (!row)
        return KILN_E_NOT_FOUND;
    if (!out)
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003, "kiln_gguf_format_of: 'out' is NULL");
    *out = row->format;
    return KILN_OK;
}

// The blocks of `count` elements.
static kiln_status blocks_of(const char *call, const gguf_row *row, uint64_t count,
                             uint64_t *blocks)
{
    *blocks = count / row->format.block_size;
    if (count % row->format.block_size)
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003,
                         "%s: %llu elements are not whole blocks of %s, which have %u", call,
                         (unsigned long long)count, row->format.name, row->format.block_size);
    return KILN_OK;
}

kiln_status kiln_gguf_row_bytes(kiln_gguf_type type, uint64_t k, uint64_t *bytes)
{
    const char *call = "kiln_gguf_row_bytes";
    const gguf_row *row = gguf_row_of(NULL, call, type);
    uint64_t blocks;
    if (!row)
        return KILN_E_BAD_ARGUMENT;
    if (!bytes)
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003, "%s: 'bytes' is NULL", call);
    kiln_status status = blocks_of(call, row, k, &blocks);
    if (!status)
        *bytes = op_product(blocks, row->format.block_bytes);
    return status;
}

// --- f16
typedef uint8_t u8; // the names of pack.h
typedef uint32_t u32;
typedef int32_t i32;
typedef float f32;

static f32 half_value(u32 half)
{
    u32 exponent = half >> 10 & 31, fraction = half & 1023, sign = half >> 15 << 31;
    u32 bits = sign | (exponent == 31 ? 255u : exponent + 112) << 23 | fraction << 13;
    f32 x = (f32)fraction * 0x1p-24f; // a number below the least normal one
    if (!exponent)
        return sign ? -x : x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// Nearest, ties to even.
static u32 half_of(f32 x)
{
    u32 bits, sign;
    memcpy(&bits, &x, sizeof bits);
    sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000)
        return sign | 0x7e00;
    if (bits >= 0x47800000) // 65536
        return sign | 0x7c00;
    if (bits < 0x38800000) // the least normal one
        return sign | (u32)rintf(fabsf(x) * 0x1p24f);
    u32 rounded = (bits + 0xfff + (bits >> 13 & 1)) >> 13;
    return sign | (rounded - (112 << 10));
}

// --- unpacking
static float half_at(const uint8_t *b, size_t at)
{
    return half_value((u32)b[at] | (u32)b[at + 1] << 8);
}

static uint32_t bits_at(const uint8_t *b, size_t at, uint32_t shift, uint32_t width)
{
    return (uint32_t)b[at] >> shift & ((1u << width) - 1);
}

// Element i of a block of 32.
static float short_element(kiln_gguf_type type, const uint8_t *b, uint32_t i)
{
    uint32_t nibble = i % 16, shift = i / 16 * 4, top = bits_at(b, 2 + i / 8, i % 8, 1) << 4;
    float d = half_at(b, 0);
    switch (type) {
    case KILN_GGUF_Q4_0: return d * ((float)bits_at(b, 2 + nibble, shift, 4) - 8);
    case KILN_GGUF_Q4_1: return d * (float)bits_at(b, 4 + nibble, shift, 4) + half_at(b, 2);
    case KILN_GGUF_Q5_0: return d * ((float)(bits_at(b, 6 + nibble, shift, 4) | top) - 16);
    case KILN_GGUF_Q5_1:
        top = bits_at(b, 4 + i / 8, i % 8, 1) << 4;
        return d * (float)(bits_at(b, 8 + nibble, shift, 4) | top) + half_at(b, 2);
    default: return d * (float)(int8_t)b[2 + i];
    }
}

// Scale and minimum of group g in the 12 bytes that hold eight of each.
static void six_bits(const uint8_t *s, uint32_t g, float *scale, float *least)
{
    if (g < 4) {
        *scale = (float)bits_at(s, g, 0, 6);
        *least = (float)bits_at(s, g + 4, 0, 6);
    } else {
        *scale = (float)(bits_at(s, g + 4, 0, 4) | bits_at(s, g - 4, 6, 2) << 4);
        *least = (float)(bits_at(s, g + 4, 4, 4) | bits_at(s, g, 6, 2) << 4);
    }
}

// Element i of a block of 256.
static float long_element(kiln_gguf_type type, const uint8_t *b, uint32_t i)
{
    uint32_t half = i / 128, quarter = i % 128 / 32, l = i % 32; // as bits of two lie in bytes
    float scale, least;
    switch (type) {
    case KILN_GGUF_Q2_K:
        scale = half_at(b, 80) * (float)bits_at(b, i / 16, 0, 4);
        least = half_at(b, 82) * (float)bits_at(b, i / 16, 4, 4);
        return scale * (float)bits_at(b, 16 + half * 32 + l, quarter * 2, 2) - least;
    case KILN_GGUF_Q3_K: {
        uint32_t g = i / 16, low = bits_at(b, 96 + g % 8, g / 8 * 4, 4);
        uint32_t code = low | bits_at(b, 104 + g % 4, g / 4 * 2, 2) << 4;
        uint32_t level = bits_at(b, 32 + half * 32 + l, quarter * 2, 2);
        level |= bits_at(b, l, half * 4 + quarter, 1) << 2;
        return half_at(b, 108) * ((float)code - 32) * ((float)level - 4);
    }
    case KILN_GGUF_Q4_K:
        six_bits(b + 4, i / 32, &scale, &least);
        return half_at(b, 0) * scale * (float)bits_at(b, 16 + i / 64 * 32 + l, i / 32 % 2 * 4, 4) -
               half_at(b, 2) * least;
    case KILN_GGUF_Q5_K: {
        six_bits(b + 4, i / 32, &scale, &least);
        uint32_t level = bits_at(b, 48 + i / 64 * 32 + l, i / 32 % 2 * 4, 4);
        level |= bits_at(b, 16 + l, i / 32, 1) << 4;
        return half_at(b, 0) * scale * (float)level - half_at(b, 2) * least;
    }
    default: {
        uint32_t level = bits_at(b, half * 64 + i % 64, quarter / 2 * 4, 4);
        level |= bits_at(b, 128 + half * 32 + l, quarter * 2, 2) << 4;
        return half_at(b, 208) * (float)(int8_t)b[192 + i / 16] * ((float)level - 32);
    }
    }
}

kiln_status kiln_gguf_unpack(kiln_gguf_type type, const void *blocks, uint64_t count, float *out)
{
    const char *call = "kiln_gguf_unpack";
    const gguf_row *row = gguf_row_of(NULL, call, type);
    uint64_t block_count;
    if (!row)
        return KILN_E_BAD_ARGUMENT;
    if (count && (!blocks || !out))
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003, "%s: '%s' is NULL", call,
                         blocks ? "out" : "blocks");
    kiln_status status = blocks_of(call, row, count, &block_count);
    const uint8_t *b = blocks;
    uint32_t size = row->format.block_size;
    for (uint64_t n = 0; n < block_count && !status; n++)
        for (uint32_t i = 0; i < size; i++)
            out[n * size + i] = (size == 32 ? short_element : long_element)(
                type, b + n * row->format.block_bytes, i);
    return status;
}

// --- packing
#include "ops/gguf/pack.h"

// A block of 256, or one of 32.
static void pack_block(u32 type, const float *x, u32 size, u32 bytes, uint8_t *to)
{
    range groups[MOST_GROUPS];
    codes c = {0};
    u8 levels[PIECE];
    u32 each = pack_group(type);
    for (u32 g = 0; g < size / each; g++)
        groups[g] = pack_range(type, x + g * each);
    if (pack_is_long(type))
        pack_codes(type, groups, &c);
    for (u32 i = 0; i < size; i++)
        levels[i] = pack_level(type, x[i], groups[i / each], c.step[i / each], c.base[i / each]);
    for (u32 at = 0; at < bytes; at++)
        to[at] = pack_is_long(type) ? pack_long_byte(type, levels, &c, at)
                                    : pack_short_byte(type, levels, groups[0], at);
}

kiln_status kiln_gguf_pack(kiln_gguf_type type, const float *x, uint64_t count, void *blocks)
{
    const char *call = "kiln_gguf_pack";
    const gguf_row *row = gguf_row_of(NULL, call, type);
    uint64_t block_count;
    if (!row)
        return KILN_E_BAD_ARGUMENT;
    if (count && (!blocks || !x))
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003, "%s: '%s' is NULL", call,
                         x ? "blocks" : "x");
    kiln_status status = blocks_of(call, row, count, &block_count);
    uint8_t *to = blocks;
    for (uint64_t n = 0; n < block_count && !status; n++)
        pack_block((u32)type, x + n * row->format.block_size, row->format.block_size,
                   row->format.block_bytes, to + n * row->format.block_bytes);
    return status;
}
