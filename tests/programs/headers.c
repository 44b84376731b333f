// Macros of C's headers and of the compiler that programs ask with #if, where a missing one would
// be 0 without a word; assert with and without NDEBUG, header by header.
#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#define STRINGS <string.h>
#define NAMED   STRINGS
#define ABSENT  "no_such.h"
#define IN(x)   <x>
#if __has_include(NAMED) && __has_include(IN(ctype.h)) && !__has_include(ABSENT)
#    include NAMED
#endif

static int calls;

static int call(void)
{
    return ++calls;
}

static void checked(void)
{
    assert(call());
}

#define NDEBUG
#include <assert.h>
static void unchecked(void)
{
    assert(call()), assert("with, a comma" && call());
    assert(no_name_that_is_declared);
}

#undef NDEBUG
#include <assert.h>
static void checked_again(void)
{
    assert(call() && "text");
}

#if INTMAX_MAX < 2147483647 || UINTMAX_MAX != UINT64_MAX || INT_LEAST16_MAX != 32767 ||            \
    UINT_LEAST64_MAX != UINT64_MAX || INT_FAST8_MIN >= 0 || INT_FAST32_MAX < INT32_MAX
#    error "limits of the types of <stdint.h>"
#endif
#if __SIZEOF_INT__ != 4 || __SIZEOF_POINTER__ != __SIZEOF_LONG__ || __SIZEOF_DOUBLE__ != 8 ||      \
    __LONG_MAX__ != LONG_MAX || __SCHAR_MAX__ != SCHAR_MAX || __UINT64_MAX__ != UINT64_MAX
#    error "sizes and limits of the compiler"
#endif
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ||         \
    __ORDER_BIG_ENDIAN__ != 4321
#    error "the order of bytes"
#endif

typedef struct most {
    char letter;
} __attribute__((aligned)) most;

int main(void)
{
    checked();
    unchecked();
    checked_again();
    printf("%d calls in %s, %s\n", calls, __FUNCTION__, __func__);
    __UINT32_TYPE__ word = ~(__UINT32_TYPE__)0;
    __INT64_TYPE__ wide = INTMAX_C(5) << 40;
    __SIZE_TYPE__ size = sizeof(most);
    printf("%" PRIu32 " %" PRId64 " %zu %zu\n", word, wide, size, _Alignof(most));
    printf("%d %d %d %d\n", DBL_MAX_10_EXP, FLT_MIN_10_EXP, DBL_DECIMAL_DIG, FLT_DECIMAL_DIG);
    printf("%ju %d %ld\n", UINTMAX_C(7), MB_LEN_MAX > 0, (long)SSIZE_MAX);
    printf("%d\n", (int)strlen("brought by a macro"));
    return 0;
}
