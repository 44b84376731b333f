// Names that have a meaning without a text: C's and Kiln's predefined macros, what the headers of
// the C library and <kiln/kernel.h> define, keywords. Nothing is set up in advance: a row becomes a
// macro when its name is first met after its header was included, so an unused row costs nothing.
#include <stdlib.h>

#include "front/pp.h"

#define HAS(header) (HDR_KERNEL | HDR_##header)

// clang-format off
// Sorted by name (bytes); a unit test checks that.
static const predef rows[] = {
    {"CHAR_BIT", " 8", HAS(LIMITS), 0},
    {"CHAR_MAX", " 127", HAS(LIMITS), 0},
    {"CHAR_MIN", " (-128)", HAS(LIMITS), 0},
    {"DBL_DECIMAL_DIG", " 17", HAS(FLOAT), 0},
    {"DBL_DIG", " 15", HAS(FLOAT), 0},
    {"DBL_EPSILON", " 0x1p-52", HAS(FLOAT), 0},
    {"DBL_HAS_SUBNORM", " 1", HAS(FLOAT), 0},
    {"DBL_MANT_DIG", " 53", HAS(FLOAT), 0},
    {"DBL_MAX", " 0x1.fffffffffffffp+1023", HAS(FLOAT), 0},
    {"DBL_MAX_10_EXP", " 308", HAS(FLOAT), 0},
    {"DBL_MAX_EXP", " 1024", HAS(FLOAT), 0},
    {"DBL_MIN", " 0x1p-1022", HAS(FLOAT), 0},
    {"DBL_MIN_10_EXP", " (-307)", HAS(FLOAT), 0},
    {"DBL_MIN_EXP", " (-1021)", HAS(FLOAT), 0},
    {"DBL_TRUE_MIN", " 0x1p-1074", HAS(FLOAT), 0},
    {"FLT_DECIMAL_DIG", " 9", HAS(FLOAT), 0},
    {"FLT_DIG", " 6", HAS(FLOAT), 0},
    {"FLT_EPSILON", " 0x1p-23f", HAS(FLOAT), 0},
    {"FLT_EVAL_METHOD", " 0", HAS(FLOAT), 0},
    {"FLT_HAS_SUBNORM", " 1", HAS(FLOAT), 0},
    {"FLT_MANT_DIG", " 24", HAS(FLOAT), 0},
    {"FLT_MAX", " 0x1.fffffep+127f", HAS(FLOAT), 0},
    {"FLT_MAX_10_EXP", " 38", HAS(FLOAT), 0},
    {"FLT_MAX_EXP", " 128", HAS(FLOAT), 0},
    {"FLT_MIN", " 0x1p-126f", HAS(FLOAT), 0},
    {"FLT_MIN_10_EXP", " (-37)", HAS(FLOAT), 0},
    {"FLT_MIN_EXP", " (-125)", HAS(FLOAT), 0},
    {"FLT_RADIX", " 2", HAS(FLOAT), 0},
    {"FLT_ROUNDS", " 1", HAS(FLOAT), 0},
    {"FLT_TRUE_MIN", " 0x1p-149f", HAS(FLOAT), 0},
    {"HUGE_VAL", " __builtin_f64_from_bits(0x7ff0000000000000u)", HAS(MATH), 0},
    {"HUGE_VALF", " __builtin_f32_from_bits(0x7f800000u)", HAS(MATH), 0},
    {"INFINITY", " __builtin_f32_from_bits(0x7f800000u)", HAS(MATH), 0},
    {"INT16_C", "(c) c", HAS(STDINT), 0},
    {"INT16_MAX", " 32767", HAS(STDINT), 0},
    {"INT16_MIN", " (-32767 - 1)", HAS(STDINT), 0},
    {"INT32_C", "(c) c", HAS(STDINT), 0},
    {"INT32_MAX", " 2147483647", HAS(STDINT), 0},
    {"INT32_MIN", " (-2147483647 - 1)", HAS(STDINT), 0},
    {"INT64_C", "(c) c##l", HAS(STDINT), 0},
    {"INT64_MAX", " 9223372036854775807l", HAS(STDINT), 0},
    {"INT64_MIN", " (-9223372036854775807l - 1)", HAS(STDINT), 0},
    {"INT8_C", "(c) c", HAS(STDINT), 0},
    {"INT8_MAX", " 127", HAS(STDINT), 0},
    {"INT8_MIN", " (-128)", HAS(STDINT), 0},
    {"INTMAX_C", "(c) c##l", HAS(STDINT), 0},
    {"INTMAX_MAX", " 9223372036854775807l", HAS(STDINT), 0},
    {"INTMAX_MIN", " (-9223372036854775807l - 1)", HAS(STDINT), 0},
    {"INTPTR_MAX", " 9223372036854775807l", HAS(STDINT), 0},
    {"INTPTR_MIN", " (-9223372036854775807l - 1)", HAS(STDINT), 0},
    {"INT_FAST16_MAX", " 9223372036854775807l", HAS(STDINT), 0},
    {"INT_FAST16_MIN", " (-9223372036854775807l - 1)", HAS(STDINT), 0},
    {"INT_FAST32_MAX", " 9223372036854775807l", HAS(STDINT), 0},
    {"INT_FAST32_MIN", " (-9223372036854775807l - 1)", HAS(STDINT), 0},
    {"INT_FAST64_MAX", " 9223372036854775807l", HAS(STDINT), 0},
    {"INT_FAST64_MIN", " (-9223372036854775807l - 1)", HAS(STDINT), 0},
    {"INT_FAST8_MAX", " 127", HAS(STDINT), 0},
    {"INT_FAST8_MIN", " (-128)", HAS(STDINT), 0},
    {"INT_LEAST16_MAX", " 32767", HAS(STDINT), 0},
    {"INT_LEAST16_MIN", " (-32767 - 1)", HAS(STDINT), 0},
    {"INT_LEAST32_MAX", " 2147483647", HAS(STDINT), 0},
    {"INT_LEAST32_MIN", " (-2147483647 - 1)", HAS(STDINT), 0},
    {"INT_LEAST64_MAX", " 9223372036854775807l", HAS(STDINT), 0},
    {"INT_LEAST64_MIN", " (-9223372036854775807l - 1)", HAS(STDINT), 0},
    {"INT_LEAST8_MAX", " 127", HAS(STDINT), 0},
    {"INT_LEAST8_MIN", " (-128)", HAS(STDINT), 0},
    {"INT_MAX", " 2147483647", HAS(LIMITS), 0},
    {"INT_MIN", " (-2147483647 - 1)", HAS(LIMITS), 0},
    {"LLONG_MAX", " 9223372036854775807ll", HAS(LIMITS), 0},
    {"LLONG_MIN", " (-9223372036854775807ll - 1)", HAS(LIMITS), 0},
    {"LONG_MAX", " 9223372036854775807l", HAS(LIMITS), 0},
    {"LONG_MIN", " (-9223372036854775807l - 1)", HAS(LIMITS), 0},
    {"MB_LEN_MAX", " 16", HAS(LIMITS), 0},
    {"M_1_PI", " 0.31830988618379067154", HAS(MATH), 0},
    {"M_2_PI", " 0.63661977236758134308", HAS(MATH), 0},
    {"M_2_SQRTPI", " 1.12837916709551257390", HAS(MATH), 0},
    {"M_E", " 2.7182818284590452354", HAS(MATH), 0},
    {"M_LN10", " 2.30258509299404568402", HAS(MATH), 0},
    {"M_LN2", " 0.69314718055994530942", HAS(MATH), 0},
    {"M_LOG10E", " 0.43429448190325182765", HAS(MATH), 0},
    {"M_LOG2E", " 1.4426950408889634074", HAS(MATH), 0},
    {"M_PI", " 3.14159265358979323846", HAS(MATH), 0},
    {"M_PI_2", " 1.57079632679489661923", HAS(MATH), 0},
    {"M_PI_4", " 0.78539816339744830962", HAS(MATH), 0},
    {"M_SQRT1_2", " 0.70710678118654752440", HAS(MATH), 0},
    {"M_SQRT2", " 1.41421356237309504880", HAS(MATH), 0},
    {"NAN", " __builtin_f32_from_bits(0x7fc00000u)", HAS(MATH), 0},
    {"NULL", " ((void *)0)", HAS(STDDEF), 0},
    {"PTRDIFF_MAX", " 9223372036854775807l", HAS(STDINT), 0},
    {"PTRDIFF_MIN", " (-9223372036854775807l - 1)", HAS(STDINT), 0},
    {"SCHAR_MAX", " 127", HAS(LIMITS), 0},
    {"SCHAR_MIN", " (-128)", HAS(LIMITS), 0},
    {"SHRT_MAX", " 32767", HAS(LIMITS), 0},
    {"SHRT_MIN", " (-32767 - 1)", HAS(LIMITS), 0},
    {"SIZE_MAX", " 18446744073709551615ul", HAS(STDINT), 0},
    {"SSIZE_MAX", " 9223372036854775807l", HAS(LIMITS), 0},
    {"UCHAR_MAX", " 255", HAS(LIMITS), 0},
    {"UINT16_C", "(c) c", HAS(STDINT), 0},
    {"UINT16_MAX", " 65535", HAS(STDINT), 0},
    {"UINT32_C", "(c) c##u", HAS(STDINT), 0},
    {"UINT32_MAX", " 4294967295u", HAS(STDINT), 0},
    {"UINT64_C", "(c) c##ul", HAS(STDINT), 0},
    {"UINT64_MAX", " 18446744073709551615ul", HAS(STDINT), 0},
    {"UINT8_C", "(c) c", HAS(STDINT), 0},
    {"UINT8_MAX", " 255", HAS(STDINT), 0},
    {"UINTMAX_C", "(c) c##ul", HAS(STDINT), 0},
    {"UINTMAX_MAX", " 18446744073709551615ul", HAS(STDINT), 0},
    {"UINTPTR_MAX", " 18446744073709551615ul", HAS(STDINT), 0},
    {"UINT_FAST16_MAX", " 18446744073709551615ul", HAS(STDINT), 0},
    {"UINT_FAST32_MAX", " 18446744073709551615ul", HAS(STDINT), 0},
    {"UINT_FAST64_MAX", " 18446744073709551615ul", HAS(STDINT), 0},
    {"UINT_FAST8_MAX", " 255", HAS(STDINT), 0},
    {"UINT_LEAST16_MAX", " 65535", HAS(STDINT), 0},
    {"UINT_LEAST32_MAX", " 4294967295u", HAS(STDINT), 0},
    {"UINT_LEAST64_MAX", " 18446744073709551615ul", HAS(STDINT), 0},
    {"UINT_LEAST8_MAX", " 255", HAS(STDINT), 0},
    {"UINT_MAX", " 4294967295u", HAS(LIMITS), 0},
    {"ULLONG_MAX", " 18446744073709551615ull", HAS(LIMITS), 0},
    {"ULONG_MAX", " 18446744073709551615ul", HAS(LIMITS), 0},
    {"USHRT_MAX", " 65535", HAS(LIMITS), 0},
    {"__BYTE_ORDER__", " 1234", HDR_ALWAYS, 0},
    {"__CHAR_BIT__", " 8", HDR_ALWAYS, 0},
    {"__COUNTER__", "", HDR_ALWAYS, MAGIC_COUNTER},
    {"__DATE__", " \"Jan  1 1970\"", HDR_ALWAYS, 0},
    {"__FILE__", "", HDR_ALWAYS, MAGIC_FILE},
    {"__FLOAT_WORD_ORDER__", " 1234", HDR_ALWAYS, 0},
    {"__INCLUDE_LEVEL__", "", HDR_ALWAYS, MAGIC_INCLUDE_LEVEL},
    {"__INT16_MAX__", " 32767", HDR_ALWAYS, 0},
    {"__INT16_TYPE__", " short", HDR_ALWAYS, 0},
    {"__INT32_MAX__", " 2147483647", HDR_ALWAYS, 0},
    {"__INT32_TYPE__", " int", HDR_ALWAYS, 0},
    {"__INT64_MAX__", " 9223372036854775807l", HDR_ALWAYS, 0},
    {"__INT64_TYPE__", " long", HDR_ALWAYS, 0},
    {"__INT8_MAX__", " 127", HDR_ALWAYS, 0},
    {"__INT8_TYPE__", " signed char", HDR_ALWAYS, 0},
    {"__INTMAX_MAX__", " 9223372036854775807l", HDR_ALWAYS, 0},
    {"__INTMAX_TYPE__", " long", HDR_ALWAYS, 0},
    {"__INTPTR_MAX__", " 9223372036854775807l", HDR_ALWAYS, 0},
    {"__INTPTR_TYPE__", " long", HDR_ALWAYS, 0},
    {"__INT_MAX__", " 2147483647", HDR_ALWAYS, 0},
    {"__KILN_CHECK__", "check", HDR_ALWAYS | HDR_TARGET, 0},
    {"__KILN_SHAPES__", "shapes", HDR_ALWAYS | HDR_TARGET, 0},
    {"__KILN_TARGET_CPU__", "cpu", HDR_ALWAYS | HDR_TARGET, 0},
    {"__KILN_TARGET_CUDA__", "cuda", HDR_ALWAYS | HDR_TARGET, 0},
    {"__KILN_TARGET_HIP__", "hip", HDR_ALWAYS | HDR_TARGET, 0},
    {"__KILN_TARGET_INTERP__", "interp", HDR_ALWAYS | HDR_TARGET, 0},
    {"__KILN_TARGET_METAL__", "metal", HDR_ALWAYS | HDR_TARGET, 0},
    {"__KILN_TARGET_OPENCL__", "opencl", HDR_ALWAYS | HDR_TARGET, 0},
    {"__KILN_TARGET_SM__", "", HDR_ALWAYS | HDR_TARGET, 0},
    {"__KILN_TARGET_VULKAN__", "vulkan", HDR_ALWAYS | HDR_TARGET, 0},
    {"__KILN_TARGET_WEBGPU__", "webgpu", HDR_ALWAYS | HDR_TARGET, 0},
    {"__KILN__", " 1", HDR_ALWAYS, 0},
    {"__LINE__", "", HDR_ALWAYS, MAGIC_LINE},
    {"__LONG_LONG_MAX__", " 9223372036854775807ll", HDR_ALWAYS, 0},
    {"__LONG_MAX__", " 9223372036854775807l", HDR_ALWAYS, 0},
    {"__LP64__", " 1", HDR_ALWAYS, 0},
    {"__ORDER_BIG_ENDIAN__", " 4321", HDR_ALWAYS, 0},
    {"__ORDER_LITTLE_ENDIAN__", " 1234", HDR_ALWAYS, 0},
    {"__ORDER_PDP_ENDIAN__", " 3412", HDR_ALWAYS, 0},
    {"__PTRDIFF_MAX__", " 9223372036854775807l", HDR_ALWAYS, 0},
    {"__PTRDIFF_TYPE__", " long", HDR_ALWAYS, 0},
    {"__SCHAR_MAX__", " 127", HDR_ALWAYS, 0},
    {"__SHRT_MAX__", " 32767", HDR_ALWAYS, 0},
    {"__SIZEOF_DOUBLE__", " 8", HDR_ALWAYS, 0},
    {"__SIZEOF_FLOAT__", " 4", HDR_ALWAYS, 0},
    {"__SIZEOF_INT__", " 4", HDR_ALWAYS, 0},
    {"__SIZEOF_LONG_LONG__", " 8", HDR_ALWAYS, 0},
    {"__SIZEOF_LONG__", " 8", HDR_ALWAYS, 0},
    {"__SIZEOF_POINTER__", " 8", HDR_ALWAYS, 0},
    {"__SIZEOF_PTRDIFF_T__", " 8", HDR_ALWAYS, 0},
    {"__SIZEOF_SHORT__", " 2", HDR_ALWAYS, 0},
    {"__SIZEOF_SIZE_T__", " 8", HDR_ALWAYS, 0},
    {"__SIZE_MAX__", " 18446744073709551615ul", HDR_ALWAYS, 0},
    {"__SIZE_TYPE__", " unsigned long", HDR_ALWAYS, 0},
    {"__STDC_HOSTED__", " 1", HDR_ALWAYS, 0},
    {"__STDC_IEC_559__", " 1", HDR_ALWAYS, 0},
    {"__STDC_NO_ATOMICS__", " 1", HDR_ALWAYS, 0},
    {"__STDC_NO_COMPLEX__", " 1", HDR_ALWAYS, 0},
    {"__STDC_NO_THREADS__", " 1", HDR_ALWAYS, 0},
    {"__STDC_NO_VLA__", " 1", HDR_ALWAYS, 0},
    {"__STDC_VERSION__", " 201112l", HDR_ALWAYS, 0},
    {"__STDC__", " 1", HDR_ALWAYS, 0},
    {"__TIME__", " \"00:00:00\"", HDR_ALWAYS, 0},
    {"__UINT16_MAX__", " 65535", HDR_ALWAYS, 0},
    {"__UINT16_TYPE__", " unsigned short", HDR_ALWAYS, 0},
    {"__UINT32_MAX__", " 4294967295u", HDR_ALWAYS, 0},
    {"__UINT32_TYPE__", " unsigned", HDR_ALWAYS, 0},
    {"__UINT64_MAX__", " 18446744073709551615ul", HDR_ALWAYS, 0},
    {"__UINT64_TYPE__", " unsigned long", HDR_ALWAYS, 0},
    {"__UINT8_MAX__", " 255", HDR_ALWAYS, 0},
    {"__UINT8_TYPE__", " unsigned char", HDR_ALWAYS, 0},
    {"__UINTMAX_MAX__", " 18446744073709551615ul", HDR_ALWAYS, 0},
    {"__UINTMAX_TYPE__", " unsigned long", HDR_ALWAYS, 0},
    {"__UINTPTR_MAX__", " 18446744073709551615ul", HDR_ALWAYS, 0},
    {"__UINTPTR_TYPE__", " unsigned long", HDR_ALWAYS, 0},
    {"__bool_true_false_are_defined", " 1", HAS(STDBOOL), 0},
    {"__builtin_assume_aligned", "(p, ...) ((void *)(p))", HDR_ALWAYS, 0},
    {"__builtin_expect", "(x, likely) ((long)(x))", HDR_ALWAYS, 0},
    {"__builtin_expect_with_probability", "(x, likely, how) ((long)(x))", HDR_ALWAYS, 0},
    {"__builtin_object_size", "(p, kind) ((kind) < 2 ? ~0ul : 0ul)", HDR_ALWAYS, 0},
    {"__builtin_va_arg", " va_arg", HDR_ALWAYS, 0},
    {"__builtin_va_copy", " va_copy", HDR_ALWAYS, 0},
    {"__builtin_va_end", " va_end", HDR_ALWAYS, 0},
    {"__builtin_va_list", " va_list", HDR_ALWAYS, 0},
    {"__builtin_va_start", " va_start", HDR_ALWAYS, 0},
    {"alignas", " _Alignas", HAS(ALIGN), 0},
    {"alignof", " _Alignof", HAS(ALIGN), 0},
    {"and", " &&", HDR_ISO646, 0},
    {"and_eq", " &=", HDR_ISO646, 0},
    {"bitand", " &", HDR_ISO646, 0},
    {"bitor", " |", HDR_ISO646, 0},
    {"bool", " _Bool", HAS(STDBOOL), 0},
    {"compl", " ~", HDR_ISO646, 0},
    {"complex", " _Complex", HDR_COMPLEX, 0},
    {"dynamic_shared", "(T, name) __kiln_shared T name[]", HDR_KERNEL, 0},
    {"false", " 0", HAS(STDBOOL), 0},
    {"not", " !", HDR_ISO646, 0},
    {"not_eq", " !=", HDR_ISO646, 0},
    {"offsetof", "(type, member) __builtin_offsetof(type, member)", HAS(STDDEF), 0},
    {"or", " ||", HDR_ISO646, 0},
    {"or_eq", " |=", HDR_ISO646, 0},
    {"order_acq_rel", " 3u", HDR_KERNEL, 0},
    {"order_acquire", " 1u", HDR_KERNEL, 0},
    {"order_relaxed", " 0u", HDR_KERNEL, 0},
    {"order_release", " 2u", HDR_KERNEL, 0},
    {"order_seq_cst", " 4u", HDR_KERNEL, 0},
    {"scope_block", " 1u", HDR_KERNEL, 0},
    {"scope_cluster", " 2u", HDR_KERNEL, 0},
    {"scope_device", " 0u", HDR_KERNEL, 0},
    {"scope_system", " 3u", HDR_KERNEL, 0},
    {"static_assert", " _Static_assert", HAS(ASSERT), 0},
    {"true", " 1", HAS(STDBOOL), 0},
    {"wgmma_a_mn", " 1u", HDR_KERNEL, 0},
    {"wgmma_b_mn", " 2u", HDR_KERNEL, 0},
    {"xor", " ^", HDR_ISO646, 0},
    {"xor_eq", " ^=", HDR_ISO646, 0},
};

typedef struct known_header { const char *name; unsigned bits; } known_header;
static const known_header headers[] = {
    {"kiln/kernel.h", HDR_KERNEL}, {"stdint.h", HDR_STDINT},   {"inttypes.h", HDR_STDINT}, {"stddef.h", HDR_STDDEF},
    {"stdbool.h", HDR_STDBOOL},    {"math.h", HDR_MATH},       {"tgmath.h", HDR_MATH},     {"limits.h", HDR_LIMITS},
    {"float.h", HDR_FLOAT},        {"assert.h", HDR_ASSERT},   {"stdalign.h", HDR_ALIGN},  {"stdio.h", HDR_STDDEF},
    {"stdlib.h", HDR_STDDEF},      {"string.h", HDR_STDDEF},   {"time.h", HDR_STDDEF},    {"ctype.h", HDR_STDDEF},
    {"stdarg.h", HDR_STDDEF},      {"errno.h", HDR_STDDEF},    {"strings.h", HDR_STDDEF}, {"complex.h", HDR_COMPLEX},
    {"iso646.h", HDR_ISO646},      {"memory.h", HDR_STDDEF},   {"malloc.h", HDR_STDDEF},
    // For the host only.
    {"kiln/kiln.h", HDR_ALWAYS},   {"kiln/ir.h", HDR_ALWAYS},  {"kiln/ops.h", HDR_ALWAYS}, {"kiln/nn.h", HDR_ALWAYS},
    {"kiln/hostcall.h", HDR_ALWAYS}, {"kiln/dlpack.h", HDR_ALWAYS}, {"kiln/gguf.h", HDR_ALWAYS}, {"kiln/ops_matmul.h", HDR_ALWAYS},
    {"kiln/ops_linear.h", HDR_ALWAYS}, {"kiln/ops_fuse.h", HDR_ALWAYS}, {"kiln/ops_reduce.h", HDR_ALWAYS}, {"kiln/ops_gguf.h", HDR_ALWAYS},
};

typedef struct spelling { const char *text; uint8_t len; uint8_t value; } spelling;
static const spelling keywords[] = {
#define KEYWORD(name, text) {text, sizeof(text) - 1, TOK_##name},
#include "front/token.def"
#undef KEYWORD
    // Other spellings of the same.
    {"__restrict", 10, TOK_RESTRICT}, {"__restrict__", 12, TOK_RESTRICT}, {"__inline", 8, TOK_INLINE},
    {"__inline__", 10, TOK_INLINE},   {"__const", 7, TOK_CONST},          {"__volatile__", 12, TOK_VOLATILE},
    {"__signed__", 10, TOK_SIGNED},   {"__asm__", 7, TOK_ASM},            {"__typeof__", 10, TOK_TYPEOF},
    {"__attribute", 11, TOK_ATTRIBUTE}, {"__alignof__", 11, TOK_ALIGNOF},
};

static const spelling words[] = {
    {"defined", 7, WORD_DEFINED},   {"__has_include", 13, WORD_HAS_INCLUDE},
    {"_Pragma", 7, WORD_PRAGMA},    {"__VA_ARGS__", 11, WORD_VA_ARGS},
    {"__VA_OPT__", 10, WORD_VA_OPT},
};
// clang-format on

static unsigned find_spelling(const spelling *table, size_t count, const char *name, size_t len)
{
    for (size_t i = 0; i < count; i++)
        if (table[i].len == len && table[i].text[0] == name[0] && !memcmp(table[i].text, name, len))
            return table[i].value;
    return 0;
}

token_kind pp_keyword(const char *name, size_t len)
{
    // kiln/cuda.h spells these so: there `kernel` and `shared` are anybody's names.
    if (len == 13 && !memcmp(name, "__kiln_kernel", 13))
        return TOK_KERNEL;
    if (len == 13 && !memcmp(name, "__kiln_shared", 13))
        return TOK_SHARED;
    return (token_kind)find_spelling(keywords, COUNT(keywords), name, len);
}

pp_word_kind pp_word(const char *name, size_t len)
{
    return (pp_word_kind)find_spelling(words, COUNT(words), name, len);
}

unsigned pp_known_header(str name)
{
    for (size_t i = 0; i < COUNT(headers); i++)
        if (str_same(name, str_of(headers[i].name)))
            return headers[i].bits;
    return 0;
}

const predef *pp_predef_find(const char *name, size_t len)
{
    (void)len;
    size_t lo = 0, hi = COUNT(rows);
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int order = strcmp(rows[mid].name, name);
        if (!order)
            return &rows[mid];
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

const char *pp_predef_text(const predef *row, const front_options *options, arena *a)
{
    if (!(row->headers & HDR_TARGET))
        return row->text;
    const struct target *t = front_target(options);
    if (!strcmp(row->text, "check")) // __KILN_CHECK__
        return options && options->watches_heap ? " 1" : NULL;
    if (!strcmp(row->text, "shapes")) // __KILN_SHAPES__
        return options && options->is_for_shapes ? " 1" : NULL;
    if (!row->text[0]) // __KILN_TARGET_SM__
        return str_format(a, " %u", t->caps.sm);
    return !strcmp(t->family, row->text) ? " 1" : NULL;
}

bool pp_predef_is_sorted(void)
{
    for (size_t i = 1; i < COUNT(rows); i++)
        if (strcmp(rows[i - 1].name, rows[i].name) >= 0)
            return false;
    return true;
}
