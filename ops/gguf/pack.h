// From numbers to blocks of GGUF files: the one text that the kernel (pack.c) and the host (host_blocks.c) compile,
// so that both write the same bytes. Who includes it has u8, u32, f32 and
//     half_of(x)  the bits of the nearest f16          half_value(bits)  its value
//
// Work goes on a piece of 256 elements at a time: a block of 256, or up to eight blocks of 32. Every function makes one
// thing of it, whatever the others do: a group's range, a group's codes, a level, a byte.
//
// The formats of 32 elements round as their definition does. How the scales of the others are found is left open by
// the format: here the element of the largest magnitude, or the extremes, of a group become the ends of its levels.

enum { PIECE = 256, MOST_GROUPS = 16 };

typedef struct range { // of a group
    f32 scale, least;  // elements are about scale * level, + least or - least
} range;

typedef struct codes {   // of a block of 256
    u32 d, least;        // bits of two f16
    f32 step[MOST_GROUPS], base[MOST_GROUPS]; // what the codes of a group are worth
    u8 scale[MOST_GROUPS], low[MOST_GROUPS];
} codes;

static inline bool pack_is_long(u32 type)
{
    return type >= 10;
}

static inline u32 pack_group(u32 type) // elements
{
    return type == 10 || type == 11 || type == 14 ? 16 : 32;
}

// Has it a minimum beside the scale?
static inline bool pack_has_least(u32 type)
{
    return type == 3 || type == 7 || type == 10 || type == 12 || type == 13;
}

// Levels: 0 to this.
static inline f32 pack_top(u32 type)
{
    return type == 10 ? 3.0f : type == 11 ? 7.0f : type == 14 ? 63.0f : type == 8 ? 255.0f : type == 6 || type == 7 || type == 13 ? 31.0f : 15.0f;
}

// What a NaN would make of the levels: 0.
static inline f32 pack_between(f32 x, f32 low, f32 high)
{
    return x >= low ? (x <= high ? x : high) : x < low ? low : 0.0f;
}

static inline range pack_range(u32 type, const f32 *x)
{
    f32 largest = 0, size = 0, low = x[0], high = x[0];
    for (u32 i = 0; i < pack_group(type); i++) {
        f32 magnitude = fabsf(x[i]);
        if (magnitude > size) {
            size = magnitude;
            largest = x[i];
        }
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    range r = {0, 0};
    if (type == 8) {
        r.scale = size / 127.0f;
    } else if (!pack_has_least(type)) {
        r.scale = largest / -((pack_top(type) + 1.0f) / 2.0f);
    } else if (pack_is_long(type)) {
        low = low < 0 ? low : 0.0f;
        high = high > low ? high : low;
        r.scale = (high - low) / pack_top(type);
        r.least = -low;
    } else {
        r.scale = (high - low) / pack_top(type);
        r.least = low;
    }
    return r;
}

// The scales of all groups of a block of 256, as small integers times a common one.
static inline void pack_codes(u32 type, const range *groups, codes *c)
{
    f32 largest = 0, size = 0, deepest = 0;
    u32 count = PIECE / pack_group(type);
    for (u32 g = 0; g < count; g++) {
        f32 magnitude = fabsf(groups[g].scale);
        if (magnitude > size) {
            size = magnitude;
            largest = groups[g].scale;
        }
        deepest = groups[g].least > deepest ? groups[g].least : deepest;
    }
    bool is_signed = !pack_has_least(type);
    f32 top = type == 14 ? 127.0f : type == 11 ? 31.0f : type == 10 ? 15.0f : 63.0f; // of the codes
    f32 bottom = is_signed ? -top - 1.0f : 0.0f;
    c->d = half_of(largest / (is_signed ? bottom : top));
    c->least = half_of(deepest / top);
    f32 d = half_value(c->d), least = half_value(c->least);
    for (u32 g = 0; g < count; g++) {
        f32 scale = d != 0 ? pack_between(rintf(groups[g].scale / d), bottom, top) : 0.0f;
        f32 low = least != 0 ? pack_between(rintf(groups[g].least / least), 0.0f, top) : 0.0f;
        c->step[g] = d * scale;
        c->base[g] = least * low;
        c->scale[g] = (u8)(i32)(scale + (type == 11 ? 32.0f : 0.0f));
        c->low[g] = (u8)(i32)low;
    }
}

// The level of an element; q8_0: as a signed byte.
static inline u8 pack_level(u32 type, f32 x, range r, f32 step, f32 base)
{
    f32 level, top = pack_top(type);
    if (pack_is_long(type)) {
        f32 middle = pack_has_least(type) ? 0.0f : (top + 1.0f) / 2.0f;
        level = step != 0 ? rintf((x + base) / step) + middle : middle;
    } else {
        f32 inverse = r.scale != 0 ? 1.0f / r.scale : 0.0f;
        if (type == 8) {
            f32 v = x * inverse, whole = truncf(v);
            whole += fabsf(v - whole) >= 0.5f ? (v < 0 ? -1.0f : 1.0f) : 0.0f;
            return (u8)(i32)pack_between(whole, -127.0f, 127.0f);
        }
        level = pack_has_least(type) ? (x - r.least) * inverse + 0.5f : x * inverse + ((top + 1.0f) / 2.0f + 0.5f);
    }
    return (u8)(i32)pack_between(level, 0.0f, top);
}

// The bits `shift` and above of `count` levels, `apart` levels apart, side by side with `width` bits each.
static inline u32 pack_bits(const u8 *levels, u32 apart, u32 count, u32 shift, u32 width)
{
    u32 bits = 0;
    for (u32 i = 0; i < count; i++)
        bits |= ((u32)levels[i * apart] >> shift & ((1u << width) - 1)) << i * width;
    return bits;
}

// Byte `at` of the 12 with eight scales and eight minima of 6 bits.
static inline u32 pack_six_bits(const codes *c, u32 at)
{
    u32 g = at % 4;
    return at < 4   ? c->scale[g] | (u32)c->scale[g + 4] >> 4 << 6
           : at < 8 ? c->low[g] | (u32)c->low[g + 4] >> 4 << 6
                    : (c->scale[g + 4] & 15u) | (c->low[g + 4] & 15u) << 4;
}

// Byte `at` of a block of 32 with those levels.
static inline u8 pack_short_byte(u32 type, const u8 *levels, range r, u32 at)
{
    u32 head = pack_has_least(type) ? 4 : 2; // the bytes of f16
    if (at < head)
        return (u8)(half_of(at < 2 ? r.scale : r.least) >> at % 2 * 8);
    at -= head;
    if (type == 8)
        return levels[at];
    bool has_five = type >= 6;
    if (has_five && at < 4)
        return (u8)pack_bits(levels + at * 8, 1, 8, 4, 1);
    return (u8)pack_bits(levels + at - (has_five ? 4u : 0u), 16, 2, 0, 4);
}

// Byte `at` of a block of 256.
static inline u8 pack_long_byte(u32 type, const u8 *levels, const codes *c, u32 at)
{
    u32 bits = 0;
    if (type == 12 || type == 13) {
        u32 high = type == 13 ? 48 : 16; // where the nibbles begin
        bits = at < 2      ? c->d >> at * 8
               : at < 4    ? c->least >> (at - 2) * 8
               : at < 16   ? pack_six_bits(c, at - 4)
               : at < high ? pack_bits(levels + (at - 16), 32, 8, 4, 1)
                           : pack_bits(levels + ((at - high) / 32 * 64 + (at - high) % 32), 32, 2, 0, 4);
    } else if (type == 14) {
        bits = at < 128   ? pack_bits(levels + (at / 64 * 128 + at % 64), 64, 2, 0, 4)
               : at < 192 ? pack_bits(levels + ((at - 128) / 32 * 128 + at % 32), 32, 4, 4, 2)
               : at < 208 ? c->scale[at - 192]
                          : c->d >> (at - 208) * 8;
    } else if (type == 10) {
        bits = at < 16   ? c->scale[at] | (u32)c->low[at] << 4
               : at < 80 ? pack_bits(levels + ((at - 16) / 32 * 128 + (at - 16) % 32), 32, 4, 0, 2)
               : at < 82 ? c->d >> (at - 80) * 8
                         : c->least >> (at - 82) * 8;
    } else {
        bits = at < 32    ? pack_bits(levels + at, 32, 8, 2, 1)
               : at < 96  ? pack_bits(levels + ((at - 32) / 32 * 128 + at % 32), 32, 4, 0, 2)
               : at < 104 ? (c->scale[at - 96] & 15u) | (c->scale[at - 88] & 15u) << 4
               : at < 108 ? pack_bits(c->scale + (at - 104), 4, 4, 4, 2)
                          : c->d >> (at - 108) * 8;
    }
    return (u8)bits;
}
