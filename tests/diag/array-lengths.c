// The length of an array without one is that of its initialiser: one behind the highest element, in whatever order the elements come.
#include <kiln/kernel.h>

typedef struct pair {
    i32 a, b;
} pair;
typedef struct deep {
    u8 tag;
    pair pairs[2];
} deep;

static const i32 back[] = {[5] = 1, [2] = 3, 4};
static const i32 again[] = {1, 2, 3, [0] = 4, 5};
static const pair in_parts[] = {1, 2, 3};
static const pair member_first[] = {[3].b = 1, [0] = {1, 2}, 3, 4, 5};
static const deep nested[] = {1, {{2, 3}, {4, 5}}, 6, 7, 8, 9, 10, [1].pairs[1].a = 11, 12, 13};
static const i32 rows[][3] = {[2] = {1}, [0] = {1, 2, 3}, 4, 5};
static const char texts[][4] = {[1] = "ab", [0] = "c"};
static const char braced[] = {"text"};
static const deep one[] = {[0].pairs = {1, 2, 3, 4}};

_Static_assert(sizeof back == 6 * sizeof(i32), "");
_Static_assert(sizeof again == 3 * sizeof(i32), "");
_Static_assert(sizeof in_parts == 2 * sizeof(pair), "");
_Static_assert(sizeof member_first == 4 * sizeof(pair), "");
_Static_assert(sizeof nested == 3 * sizeof(deep), "");
_Static_assert(sizeof rows == 3 * 3 * sizeof(i32), "");
_Static_assert(sizeof texts == 2 * 4, "");
_Static_assert(sizeof braced == 5, "");
_Static_assert(sizeof one == sizeof(deep), "");

kernel void run(i32 *out)
{
    i32 local[] = {[3] = 1, [1] = 2};
    pair pairs[] = {{1, 2}, {3, 4}, [0].b = 5};
    _Static_assert(sizeof local == 4 * sizeof(i32) && sizeof pairs == 2 * sizeof(pair), "");
    _Static_assert(sizeof(i32[]){[7] = 1, [2] = 2} == 8 * sizeof(i32), "");
    _Static_assert(sizeof back == 3 * sizeof(i32), "the last element is not the highest");
    out[0] = local[0] + pairs[0].a + back[5] + again[0] + in_parts[1].a + member_first[3].b + nested[0].tag +
             rows[2][0] + texts[0][0] + braced[0] + one[0].tag;
}
