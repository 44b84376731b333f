// Turns "x=1M:range", "n=4096", "x=@in.npy" or silence into concrete data for each kernel
// parameter.
#include <math.h>
#include <stdlib.h>

#include "base/str.h"
#include "cli/npy.h"
#include "cli/run.h"

static bool is_integer(kiln_type t)
{
    return t >= KILN_BOOL && t <= KILN_U64;
}

static bool complain(const run_arg *arg, const char *what)
{
    fprintf(stderr, "kiln run: argument '%s' (%s): '%s' %s\n", arg->info.name, arg->info.c_type,
            arg->given ? arg->given : "", what);
    return false;
}

static bool parse_fill(run_arg *arg, const char *word)
{
    arg->is_filled = true;
    if (!strcmp(word, "random") || !strcmp(word, "rand"))
        arg->fill = FILL_RANDOM;
    else if (!strcmp(word, "zeros"))
        arg->fill = FILL_ZEROS;
    else if (!strcmp(word, "ones"))
        arg->fill = FILL_ONES;
    else if (!strcmp(word, "range"))
        arg->fill = FILL_RANGE;
    else if (!strcmp(word, "uninit") || !strcmp(word, "unset"))
        arg->fill = FILL_UNSET;
    else if (sscanf(word, "random(%lf,%lf)", &arg->low, &arg->high) == 2 ||
             sscanf(word, "rand(%lf,%lf)", &arg->low, &arg->high) == 2)
        arg->fill = FILL_RANDOM;
    else if (sscanf(word, "const(%lf)", &arg->low) == 1)
        arg->fill = FILL_CONST;
    else
        return complain(
            arg,
            "is no way to fill it: random, random(low,high), zeros, ones, range, const(v), uninit");
    return true;
}

static bool parse_pointer(run_arg *arg)
{
    const char *given = arg->given;
    if (given[0] == '@') {
        arg->fill = FILL_FILE;
        arg->is_filled = true;
        arg->path = given + 1;
        return true;
    }
    if (arg->info.kind == KILN_PARAM_STRUCT)
        return complain(arg, "cannot fill a struct; give @FILE.npy with its bytes");
    const char *colon = strchr(given, ':');
    char number[64];
    size_t len = colon ? (size_t)(colon - given) : strlen(given);
    if (len >= sizeof number)
        return complain(arg, "is too long");
    memcpy(number, given, len);
    number[len] = 0;
    int64_t count;
    if (len) {
        if (cli_number(number, &count) && count >= 0) {
            arg->count = (size_t)count;
            arg->has_count = true;
        } else if (colon) {
            return complain(arg, "does not start with a count of elements");
        } else {
            return parse_fill(arg, given);
        }
    }
    return colon ? parse_fill(arg, colon + 1) : true;
}

static bool fits(kiln_type t, int64_t v)
{
    switch (t) {
    case KILN_BOOL: return v == 0 || v == 1;
    case KILN_I8: return v >= INT8_MIN && v <= INT8_MAX;
    case KILN_U8: return v >= 0 && v <= UINT8_MAX;
    case KILN_I16: return v >= INT16_MIN && v <= INT16_MAX;
    case KILN_U16: return v >= 0 && v <= UINT16_MAX;
    case KILN_I32: return v >= INT32_MIN && v <= INT32_MAX;
    case KILN_U32: return v >= 0 && v <= UINT32_MAX;
    case KILN_U64: return v >= 0;
    case KILN_I64:
    case KILN_VOID:
    case KILN_F16:
    case KILN_BF16:
    case KILN_F8E4:
    case KILN_F8E5:
    case KILN_F32:
    case KILN_F64: return true;
    }
    return true;
}

bool run_parse_value(run_arg *arg)
{
    arg->low = is_integer(arg->info.type) ? 0 : -1;
    arg->high = is_integer(arg->info.type) ? 100 : 1;
    if (!arg->given)
        return true;
    if (arg->info.kind != KILN_PARAM_SCALAR)
        return parse_pointer(arg);
    if (is_integer(arg->info.type)) {
        if (arg->info.type == KILN_BOOL &&
            (!strcmp(arg->given, "true") || !strcmp(arg->given, "false")))
            arg->integer = arg->given[0] == 't';
        else if (!cli_number(arg->given, &arg->integer))
            return complain(arg, "is not an integer");
        return fits(arg->info.type, arg->integer) ? true : complain(arg, "does not fit its type");
    }
    return cli_real(arg->given, &arg->real) ? true : complain(arg, "is not a number");
}

static void choose_scalars(run_arg *args, size_t count)
{
    size_t integers = 0;
    for (size_t i = 0; i < count; i++)
        integers += args[i].info.kind == KILN_PARAM_SCALAR && is_integer(args[i].info.type) &&
                    args[i].info.type != KILN_BOOL;
    for (size_t i = 0; i < count; i++) {
        run_arg *a = &args[i];
        if (a->info.kind != KILN_PARAM_SCALAR || a->given)
            continue;
        if (a->info.type == KILN_BOOL)
            a->integer = 1;
        else if (is_integer(a->info.type))
            a->integer = a->info.size == 1   ? 16
                         : a->info.size == 2 ? 1024
                         : integers == 1     ? 1 << 20
                                             : 256;
        else
            a->real = strstr(a->info.name, "eps") ? 1e-5 : 2;
    }
}

bool run_choose(run_arg *args, size_t count, const uint32_t block[3])
{
    choose_scalars(args, count);
    // Buffers: as many elements as the one size says; with several sizes, the product of the two
    // largest.
    int64_t first = 0, second = 0;
    size_t files = 0;
    for (size_t i = 0; i < count; i++) {
        if (args[i].info.kind == KILN_PARAM_SCALAR && is_integer(args[i].info.type) &&
            args[i].info.type != KILN_BOOL) {
            int64_t v = args[i].integer;
            if (v > first) {
                second = first;
                first = v;
            } else if (v > second) {
                second = v;
            }
        }
        if (args[i].fill == FILL_FILE) {
            char why[256];
            npy file;
            if (!npy_read(args[i].path, &file, why)) {
                fprintf(stderr, "kiln run: argument '%s': %s: %s\n", args[i].info.name,
                        args[i].path, why);
                return false;
            }
            size_t bytes = file.count * file.element_size, size = args[i].info.size;
            bool same = file.type == args[i].info.type || args[i].info.type == KILN_VOID ||
                        (args[i].info.type >= KILN_F16 && args[i].info.type <= KILN_F8E5 &&
                         file.element_size == size);
            if (!same || (size && bytes % size)) {
                fprintf(stderr, "kiln run: argument '%s': %s holds %s, the kernel takes %s\n",
                        args[i].info.name, args[i].path, kiln_type_name(file.type),
                        args[i].info.c_type);
                npy_free(&file);
                return false;
            }
            if (args[i].info.kind == KILN_PARAM_STRUCT && bytes != size) {
                fprintf(stderr, "kiln run: argument '%s': %s has %zu bytes, the struct %zu\n",
                        args[i].info.name, args[i].path, bytes, size);
                npy_free(&file);
                return false;
            }
            args[i].bytes = file.data;
            args[i].count = size ? bytes / size : bytes;
            args[i].has_count = true;
            if (args[i].count > files)
                files = args[i].count;
        }
    }
    size_t chosen = files;
    if (first > 0) {
        double product = (double)first * (double)(second > 1 ? second : 1);
        if (product > 4e9)
            product = 4e9;
        chosen = (size_t)product;
    } else if (!files) {
        chosen = (size_t)(block[0] ? block[0] : 256) * (block[1] ? block[1] : 1) *
                 (block[2] ? block[2] : 1) * 4;
    }
    for (size_t i = 0; i < count; i++)
        if (args[i].info.kind == KILN_PARAM_POINTER && !args[i].has_count)
            args[i].count = chosen;
    return true;
}

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint16_t to_bf16_bits(double v)
{
    float f = (float)v;
    uint32_t u;
    memcpy(&u, &f, 4);
    return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}

static uint16_t to_f16_bits(double v)
{
    // Only made data passes here: multiples of 2^-8 below 65504 are exact, so truncation is fine.
    float f = (float)v;
    uint32_t u;
    memcpy(&u, &f, 4);
    uint32_t sign = (u >> 16) & 0x8000u;
    int32_t exponent = (int32_t)((u >> 23) & 255) - 112;
    if (exponent <= 0)
        return (uint16_t)sign;
    if (exponent >= 31)
        return (uint16_t)(sign | 0x7bff);
    return (uint16_t)(sign | (uint32_t)exponent << 10 | ((u >> 13) & 0x3ff));
}

static void put(kiln_type type, unsigned char *at, double v)
{
    switch (type) {
    case KILN_BOOL: *at = v != 0; break;
    case KILN_I8: *(int8_t *)at = (int8_t)(int64_t)v; break;
    case KILN_U8: *at = (uint8_t)(int64_t)v; break;
    case KILN_I16: memcpy(at, &(int16_t){(int16_t)(int64_t)v}, 2); break;
    case KILN_U16: memcpy(at, &(uint16_t){(uint16_t)(int64_t)v}, 2); break;
    case KILN_I32: memcpy(at, &(int32_t){(int32_t)(int64_t)v}, 4); break;
    case KILN_U32: memcpy(at, &(uint32_t){(uint32_t)(int64_t)v}, 4); break;
    case KILN_I64: memcpy(at, &(int64_t){(int64_t)v}, 8); break;
    case KILN_U64: memcpy(at, &(uint64_t){(uint64_t)(int64_t)v}, 8); break;
    case KILN_F16: memcpy(at, &(uint16_t){to_f16_bits(v)}, 2); break;
    case KILN_BF16: memcpy(at, &(uint16_t){to_bf16_bits(v)}, 2); break;
    case KILN_F8E4: *at = (uint8_t)(v == 0 ? 0 : v < 0 ? 0xb8 : 0x38); break; // 0, -1, 1
    case KILN_F8E5: *at = (uint8_t)(v == 0 ? 0 : v < 0 ? 0xbc : 0x3c); break;
    case KILN_F32: memcpy(at, &(float){(float)v}, 4); break;
    case KILN_F64: memcpy(at, &v, 8); break;
    case KILN_VOID: break;
    }
}

bool run_make_data(run_arg *arg, size_t position, uint64_t seed)
{
    size_t size = arg->info.size, bytes;
    if (arg->info.kind == KILN_PARAM_STRUCT)
        arg->count = 1;
    if (arg->fill == FILL_FILE)
        return true;
    if (__builtin_mul_overflow(arg->count, size, &bytes) ||
        !(arg->bytes = calloc(1, bytes ? bytes : 1))) {
        fprintf(stderr, "kiln run: argument '%s': no memory for %zu elements of %zu bytes\n",
                arg->info.name, arg->count, size);
        return false;
    }
    if (arg->fill == FILL_AUTO)
        arg->fill = arg->info.is_const ? FILL_RANDOM : FILL_ZEROS;
    if (arg->fill == FILL_UNSET)
        memset(arg->bytes, 0xcd, bytes);
    if (arg->fill == FILL_ZEROS || arg->fill == FILL_UNSET || arg->info.type == KILN_VOID ||
        arg->info.kind == KILN_PARAM_STRUCT)
        return true;
    uint64_t stream = mix(seed * 1000003u + position);
    for (size_t i = 0; i < arg->count; i++) {
        double v = arg->low;
        if (arg->fill == FILL_ONES)
            v = 1;
        else if (arg->fill == FILL_RANGE)
            v = (double)i;
        else if (arg->fill == FILL_RANDOM)
            v = arg->low + (arg->high - arg->low) * ((double)(mix(stream + i) >> 40) * 0x1p-24);
        put(arg->info.type, arg->bytes + i * size, v);
    }
    return true;
}

static float narrow_value(kiln_type type, const unsigned char *at)
{
    uint32_t u = at[0] | (type == KILN_F16 || type == KILN_BF16 ? (uint32_t)at[1] << 8 : 0);
    if (type == KILN_BF16) {
        u <<= 16;
        float f;
        memcpy(&f, &u, 4);
        return f;
    }
    int mantissa_bits = type == KILN_F16 ? 10 : type == KILN_F8E4 ? 3 : 2;
    int exponent_bits = type == KILN_F16 ? 5 : type == KILN_F8E4 ? 4 : 5;
    int bias = (1 << (exponent_bits - 1)) - 1;
    uint32_t mantissa = u & ((1u << mantissa_bits) - 1);
    int exponent = (int)(u >> mantissa_bits) & ((1 << exponent_bits) - 1);
    float sign = (u >> (mantissa_bits + exponent_bits)) & 1 ? -1.0f : 1.0f;
    int top = (1 << exponent_bits) - 1;
    if (type == KILN_F8E4 && exponent == top && mantissa == 7)
        return NAN;
    if (type != KILN_F8E4 && exponent == top)
        return mantissa ? NAN : sign * INFINITY;
    if (!exponent)
        return sign * ldexpf((float)mantissa, 1 - bias - mantissa_bits);
    return sign * ldexpf((float)(mantissa | 1u << mantissa_bits), exponent - bias - mantissa_bits);
}

void run_print_element(FILE *to, kiln_type type, const void *at, size_t size)
{
    union {
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        float f32;
        double f64;
    } v;
    memset(&v, 0, sizeof v);
    memcpy(&v, at, size < sizeof v ? size : sizeof v);
    switch (type) {
    case KILN_BOOL: fputs(v.u8 ? "true" : "false", to); break;
    case KILN_I8: fprintf(to, "%d", v.i8); break;
    case KILN_U8: fprintf(to, "%u", v.u8); break;
    case KILN_I16: fprintf(to, "%d", v.i16); break;
    case KILN_U16: fprintf(to, "%u", v.u16); break;
    case KILN_I32: fprintf(to, "%d", v.i32); break;
    case KILN_U32: fprintf(to, "%u", v.u32); break;
    case KILN_I64: fprintf(to, "%lld", (long long)v.i64); break;
    case KILN_U64: fprintf(to, "%llu", (unsigned long long)v.u64); break;
    case KILN_F32: fprintf(to, "%.9g", (double)v.f32); break;
    case KILN_F64: fprintf(to, "%.17g", v.f64); break;
    case KILN_F16:
    case KILN_BF16:
    case KILN_F8E4:
    case KILN_F8E5: fprintf(to, "%.6g", (double)narrow_value(type, at)); break;
    case KILN_VOID:
        for (size_t i = 0; i < size && i < 16; i++)
            fprintf(to, "%02x", ((const unsigned char *)at)[i]);
        break;
    }
}

uint64_t run_checksum(kiln_type type, size_t element_size, size_t count, const void *data)
{
    uint64_t h = 0xcbf29ce484222325u;
    const unsigned char *at = data;
    for (size_t i = 0; i < count; i++, at += element_size) {
        unsigned char one[8];
        const unsigned char *from = at;
        bool is_nan = false;
        if (type == KILN_F32) {
            float f;
            memcpy(&f, at, 4);
            is_nan = isnan(f);
        } else if (type == KILN_F64) {
            double d;
            memcpy(&d, at, 8);
            is_nan = isnan(d);
        } else if (type >= KILN_F16 && type <= KILN_F8E5) {
            is_nan = isnan(narrow_value(type, at));
        }
        if (is_nan) {
            memset(one, 0xff, sizeof one);
            from = one;
        }
        for (size_t b = 0; b < element_size; b++)
            h = (h ^ from[b]) * 0x100000001b3u;
    }
    return h;
}
