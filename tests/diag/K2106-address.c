// An address plus or minus a number is known when compiling where both parts are; nothing else that is computed with an address is.
#include <kiln/kernel.h>

static const i32 table[4] = {1, 2, 3, 4};
static const i32 *const right[] = {table + 2, 2 + table, &table[3] - 1, (1 + table) - 1 + 3, NULL, table};

kernel void run(i32 *out, const i32 *in, i32 n)
{
    static const i32 *const also_right = 1 + &table[2] - 2;
    static const i32 *const far = table + n;
    static const i32 *const from_left = n + table;
    static const i32 *const back = table - n;
    static const i32 *const other = in + 1;
    static const i32 *const other_left = 1 + in;
    static const bool is_null = table == 0;
    static const bool is_below = table + 1 < (const i32 *)0;
    static const i64 between = &table[3] - &table[1];
    out[0] = *right[0] + *also_right + *far + *from_left + *back + *other + *other_left + is_null + is_below + (i32)between;
}
