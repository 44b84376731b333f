// Random kernels of the idioms that an assembler folds into one instruction, or into a wrong one:
// carries, narrow values, selects, extremes, shifts, fields of bits, three-way logic, halves of
// wide values, packed halves, saturation, division by constants, signs of zero. A kernel is a
// sequence of short statements over one pool of values; some are inside a branch that knows a
// value. An idiom is a row of `idioms`. Start reading at gen_fold.
#include "fuzz/gen_parts.h"

#include <stdlib.h>
#include <string.h>

// A row: which types T may be, the type of the result (T, or a letter), and the text, where $
// begins
//   a b c      variables of T; s i8, t u8, h i16, H u16, i j i32, u v u32, l i64, q r u64, f g f32,
//              d e f64, p o bool: the same letter is the same variable
//   T W        the name of T, its width in bits
//   k K C m    a constant of T, the same one again; a constant of f32; a mask
//   n N M      a count below the width, the same one again, the width less that
//   ? + - ~    a comparison; an operator on bits or sums; + or -; a sign, a NOT or nothing
typedef struct idiom {
    const char *types; // letters of gen_letters
    char result;
    const char *text;
} idiom;

// Of each gen_type; the second are other variables of the same types.
static const char gen_letters[] = "sthHiulqfdp", gen_letters_again[] = "    jv rgeo";

// clang-format off
#define INTS "sthHiulq"
#define WIDE "iulq"
static const idiom idioms[] = {
    // carries and borrows
    {"uq", 'T', "$a + $b + (($T)($a + $b) < $a)"},      {"uq", 'T', "($T)(($T)($a + $b) < $b) + $c"},
    {"uq", 'T', "$a - $b - ($a < $b)"},                  {"uq", 'T', "$c - ($T)($a < $b)"},
    {"q", 'T', "(u64)$u + $v + ((u64)$i << 32)"},        {"q", 'T', "$q + (u64)((u32)($u + $v) < $u)"},
    {"q", 'T', "$q + $r + (u64)($u $? $v)"},             {"l", 'T', "$l - (i64)$i - (i64)($u < $v)"},
    {"uq", 'p', "($T)($a + $k) < $K"},                   {"uq", 'p', "($T)($a - $b) > $a"},
    {INTS, 'T', "($a & $b) + (($a ^ $b) >> 1)"},         {"q", 'u', "(u32)(((u64)$u + $v) >> 32)"},
    {"l", 'u', "(u32)(((i64)$i - (i64)$j) >> 32)"},      {"uq", 'T', "$a + ($b != 0)"},
    // bytes, 16 bits and their extensions
    {WIDE, 'T', "(i8)$a"},                               {WIDE, 'T', "(u16)(i8)$a"},
    {WIDE, 'T', "(i16)(u8)$a"},                          {WIDE, 'T', "(i16)(i8)$a"},
    {"hH", 'T', "(i8)$a"},                               {"hH", 'T', "(i8)($a >> 8)"},
    {"iu", 'T', "(i8)($a >> 8) $+ (i8)($b >> 24)"},      {"iu", 'T', "(i16)$a * (i16)$b"},
    {"iu", 'T', "(u16)$a * (i16)$b + $c"},               {"i", 'T', "$s * $t - $h"},
    {"st", 'p', "($T)($a + $b) < $a"},                   {"hH", 'p', "($T)($a - $b) > $a"},
    {INTS, 'u', "(u32)(u16)(i16)(i8)$a"},                {"hH", 'T', "($T)(i8)($a $+ $b)"},
    {"iu", 'T', "(u32)(u8)$a << 8 | (u8)($b >> 16)"},    {"iu", 'T', "(u32)(u16)$a << 16 | (u16)$b"},
    {"iu", 'T', "(u32)$a << 16 | (u32)$b >> 16"},        {INTS, 'i', "(i8)$a $? (i8)$b ? (i16)$h : (u8)$t"},
    {"sth", 'T', "$~$a"},                                {"tH", 'T', "($T)($a * $k) >> $n"},
    // choices and truth values
    {INTS "fd", 'T', "$p ? $a : $b"},                    {INTS, 'T', "$a $? $b ? $a : $b"},
    {INTS, 'T', "$a $? $k ? $K : $a"},                   {INTS, 'T', "$a $? $k ? $k : $b"},
    {INTS, 'T', "$p && $o ? $a : $p ? $k : $b"},         {INTS, 'T', "-($T)$p & $a"},
    {INTS, 'T', "($T)$p - ($T)$o"},                      {INTS, 'i', "($a $? $b) + ($b $? $a)"},
    {INTS, 'i', "($a $? $b) - ($a $? $k)"},              {WIDE, 'T', "($p ? -1 : 1) * $a"},
    {INTS, 'p', "($a $? $b) != $p"},                     {INTS, 'p', "($a $? $k) && ($a $? $k)"},
    {INTS, 'p', "($a $? $b) || ($b $? $a) || !$p"},      {WIDE, 'p', "($a & $m) == 0"},
    {WIDE, 'p', "($a & $m) $? ($b & $m)"},               {INTS, 'T', "$p ? $a $+ $b : $a"},
    {INTS, 'T', "($T)($a $+ ($p ? $k : 0))"},            {INTS, 'T', "$p ? $~$a : $a"},
    {INTS, 'p', "($a $? $k) == ($b $? $k)"},             {INTS, 'T', "($p ? $a : $b) $+ ($p ? $b : $c)"},
    {INTS, 'T', "($a ^ -($T)$p) + ($T)$p"},              {INTS, 'p', "$p ? $a $? $b : $o"},
    // extremes
    {WIDE, 'T', "max($a, min($b, ($T)$~$a))"},           {WIDE, 'T', "min($k, max($a, $k))"},
    {WIDE, 'T', "max(min($a, $b), min(max($a, $b), $c))"}, {WIDE, 'T', "max($a, $b) - min($a, $b)"},
    {WIDE, 'T', "max(($T)($a + $b), ($T)0)"},            {WIDE, 'T', "max(min(($T)($a $+ $b), $c), ($T)0)"},
    {WIDE, 'T', "min(($T)$~$a, ($T)$~$b)"},              {WIDE, 'T', "max(($T)($a + $k), ($T)($b - $K))"},
    {"il", 'T', "abs($a - $b)"},                         {"il", 'T', "abs(abs($a) - abs($b))"},
    {"il", 'T', "-abs($a)"},                             {"il", 'T', "max($a, ($T)0) + min($a, ($T)0)"},
    {"i", 'u', "min((u32)abs($i), $u)"},           {"il", 'p', "abs($a) $? $k"},
    {"il", 'T', "$a < 0 ? -$a : $a"},                    {"il", 'T', "$a > 0 ? -$a : $a"},
    {WIDE, 'p', "min($a, $b) $? max($a, $c)"},           {"i", 'T', "max((i32)$h, min((i32)$s, $i))"},
    {"i", 'T', "clamp($i, -128, 127)"},                  {"i", 'T', "min(max($i, (i32)$j), 255)"},
    {"i", 'T', "max($i, $j + 1) $+ min($j, -$i)"},       {"u", 'T', "(u32)max($i, 0) - $u"},
    {WIDE, 'T', "max($a, max($b, $c)) $+ min($a, min($b, $c))"}, {"u", 'T', "min($u - 1u, $v)"},
    // shifts, at the width and beyond it
    {WIDE, 'T', "SHL($T, $a, $u)"},                      {WIDE, 'T', "SHR($T, $a, $u)"},
    {WIDE, 'T', "$u < $Wu ? SHL($T, $a, $u) : 0"},       {WIDE, 'T', "$u >= $Wu ? $b : SHR($T, $a, $u)"},
    {WIDE, 'T', "SHR($T, $a, min($u, $Wu - 1u))"},       {WIDE, 'T', "SHL($T, $a, $Wu - $u)"},
    {WIDE, 'T', "SHR($T, SHL($T, $a, $u), $u)"},         {WIDE, 'T', "SHL($T, SHR($T, $a, $u), $u)"},
    {WIDE, 'T', "SHL($T, ($T)1, $u) - 1"},               {WIDE, 'T', "$a & (SHL($T, ($T)1, $u) - 1)"},
    {"u", 'T', "funnel_left($u, $v, (u32)$i)"},          {"q", 'T', "funnel_left($q, $r, $u)"},
    {"uq", 'T', "rotate_left($a, $u) $+ $b"},            {"uq", 'T', "rotate_right($a, $n)"},
    {WIDE, 'T', "SHL($T, $a, $u & 7) $+ SHR($T, $b, $u & 7)"}, {WIDE, 'T', "($a << $n) $+ ($b >> $M)"},
    {INTS, 'T', "($T)($a << $n) >> $N"},                 {INTS, 'T', "($T)($a >> $n) << $N"},
    {"u", 'T', "(u32)(SHL(u64, $q, $u) >> 32)"},         {"u", 'T', "(u32)SHR(u64, (u64)$u << 32 | $v, $i & 31)"},
    {WIDE, 'T', "SHL($T, $a & $m, $u)"},                 {WIDE, 'T', "SHR($T, $a, $n) $+ SHR($T, $a, $n)"},
    {WIDE, 'T', "SHL($T, $a + $k, $n) + $b"},            {WIDE, 'T', "SHL($T, $a, $n) - $a"},
    // fields of bits
    {WIDE, 'T', "($a >> $n) & $m"},                      {WIDE, 'T', "SHR($T, $a, $u) & (SHL($T, ($T)1, $v) - 1)"},
    {WIDE, 'T', "($a & ~$m) | ($b & $m)"},               {"uq", 'T', "($a & ~(($T)$m << $n)) | (($b & 255) << $N)"},
    {"iu", 'T', "(($a & 0xfff) ^ 0x800) - 0x800"},       {"iu", 'T', "((($a >> $n) & 255) ^ 128) - 128"},
    {"iu", 'T', "(i32)((u32)$a << $n) >> (31 - ($N & 7))"}, {WIDE, 'p', "($a >> $n & 1) != 0"},
    {WIDE, 'p', "(SHR($T, $a, $u) & 1) == 0"},           {"uq", 'u', "popcount($a & $m)"},
    {"uq", 'u', "leading_zeros($a $+ $b)"},              {"uq", 'u', "trailing_zeros($a | $m)"},
    {"uq", 'T', "reverse_bits($a) >> $n"},               {"u", 'u', "31u - leading_zeros($u)"},
    {"u", 'T', "permute_bytes($u, $v, 0x3210u ^ ($m & 0x7777u))"}, {"u", 'T', "permute_bytes($u, $v, $m)"},
    {"u", 'T', "($u >> 24) | ($u >> 8 & 0xff00u) | ($u << 8 & 0xff0000u) | $u << 24"},
    {"i", 'T', "dot4_i8($u, $v, $i)"},                   {"u", 'T', "dot4_u8($u, (u32)$~$i, $v)"},
    // three-way logic
    {INTS, 'T', "($a & $b) | ($c & ~$a)"},               {INTS, 'T', "($a ^ $b) & ($a | ~$c)"},
    {INTS, 'T', "~($a | ~$b) ^ $c"},                     {INTS, 'T', "($a & $b) ^ ($a & $c) ^ ($b & $c)"},
    {INTS, 'T', "$a & -$a"},                             {INTS, 'T', "$a & ($a - 1)"},
    {INTS, 'T', "$a ^ ($a >> 1)"},                       {INTS, 'p', "(~$a & $b) == 0"},
    {INTS, 'T', "($a & $b) | ($a & ~$b)"},               {INTS, 'T', "($a $+ $b) $+ ~$c"},
    {INTS, 'T', "($a ^ $k) $+ ($b & $k)"},               {INTS, 'T', "($a | $b) - ($a & $b)"},
    {INTS, 'T', "~$a $+ $b"},                            {INTS, 'T', "$a $+ ($b $+ ($c $+ $k))"},
    {INTS, 'p', "(($a ^ $b) & $c) != 0"},                {INTS, 'T', "($a ^ $b) < 0 ? ~$a : $b"},
    // halves of wide values, products
    {"q", 'T', "(u64)(u32)($q >> 32) | (u64)$u << 32"},  {"l", 'T', "(i64)(i32)$l"},
    {"q", 'T', "(u64)(u32)$q * (u32)($r >> 32)"},        {"l", 'T', "(i64)$i * $j"},
    {"l", 'i', "(i32)((i64)$i * $j >> 32)"},             {"q", 'u', "(u32)(((u64)$u * $v) >> $n)"},
    {"q", 'T', "(u64)$u * $v + $q"},                     {"l", 'T', "(i64)$i * $j - $l"},
    {"lq", 'T', "$a * $k + $a"},                         {WIDE, 'T', "$a * $k $+ $b"},
    {"l", 'T', "(i64)(i32)($l >> 32) << 32"},            {WIDE, 'T', "mul_high($a, $b) $+ $c"},
    {WIDE, 'T', "mul_high($a, $k)"},                     {"q", 'p', "(u32)($q >> 32) == 0"},
    {"lq", 'p', "($a ^ $b) >> 63 != 0"},                 {"q", 'u', "(u32)$q $+ (u32)($q >> 32)"},
    {"lq", 'T', "(u64)(u32)$i << $n"},                   {"l", 'T', "(i64)$i << $n"},
    {"lq", 'T', "$a + (i64)$i * 4"},                     {WIDE, 'T', "$a * $b + $c * $k"},
    {WIDE, 'T', "($a + $k) * $k"},                       {"lq", 'T', "(u32)$a | $b & ~(u64)0xffffffff"},
    {"lq", 'p', "(i32)$a $? (i32)($a >> 32)"},           {"l", 'T', "$l < 0 ? -$l : $l"},
    // division by constants
    {"i", 'T', "DIV(i32, $i, $k)"},                      {"i", 'T', "REM(i32, $i, $k)"},
    {"u", 'T', "DIV(u32, $u, $k)"},                      {"u", 'T', "REM(u32, $u, $k)"},
    {"l", 'T', "DIV(i64, $l, $k)"},                      {"q", 'T', "REM(u64, $q, $k)"},
    {"q", 'T', "DIV(u64, $q, $k)"},                      {"l", 'T', "REM(i64, $l, $k)"},
    {"sthH", 'T', "DIV(i32, $a, $k)"},                   {"sthH", 'T', "REM(i32, $a, $k)"},
    {"u", 'T', "DIV(u32, $u & $m, $v | 1u)"},            {"i", 'T', "REM(i32, DIV(i32, $i, 10), 10)"},
    {"i", 'T', "DIV(i32, $i, 1 << $n)"},                 {"i", 'T', "REM(i32, $i, -(1 << $n))"},
    {"u", 'p', "REM(u32, $u, $k) == 0"},                 {"iu", 'T', "DIV($T, $a, $b)"},
    {"iu", 'T', "REM($T, $a + $b, $c)"},                 {"u", 'T', "$u - DIV(u32, $u, $k) * $K"},
    // signs of zero, NaN, infinities
    {"fd", 'T', "$a + ($T)0.0"},                         {"fd", 'T', "$a + ($T)-0.0"},
    {"fd", 'T', "($T)0.0 - $a"},                         {"fd", 'T', "$a * ($T)-1.0"},
    {"fd", 'T', "$a - $a"},                              {"fd", 'T', "$a * $k"},
    {"fd", 'T', "-fabs($a)"},                            {"fd", 'T', "-($a $- $b)"},
    {"fd", 'T', "fabs($a * $b)"},                        {"fd", 'T', "-($a * $b)"},
    {"fd", 'T', "$a $? $b ? $a : $b"},                   {"fd", 'T', "$a $? $k ? $K : $a"},
    {"fd", 'T', "$a < 0 ? -$a : $a"},                    {"fd", 'T', "$a > 0 ? $a : 0"},
    {"fd", 'T', "min(($T)1.0, max(($T)0.0, $a))"},       {"fd", 'T', "max(($T)0.0, min(($T)1.0, $a * $b))"},
    {"fd", 'T', "clamp($a + $b, $k, $k)"},               {"fd", 'T', "min(max($a, $k), -$K)"},
    {"fd", 'T', "fma($a, ($T)1.0, $b)"},                 {"fd", 'T', "fma($a, $b, ($T)0.0)"},
    {"fd", 'T', "fma(-$a, $b, $c)"},                     {"fd", 'T', "fma($a, ($T)-1.0, -$b)"},
    {"fd", 'T', "fma($a, $k, $b)"},                      {"fd", 'T', "$a * $b + $c"},
    {"fd", 'T', "min($a, -$b) * $k"},                    {"fd", 'T', "max(-$a, fabs($b))"},
    {"fd", 'T', "min(min($a, $b), $c)"},                 {"fd", 'T', "max($a, max(-$b, $k))"},
    {"fd", 'T', "$p ? $a : -$a"},                        {"fd", 'T', "$p ? ($T)-0.0 : $k"},
    {"fd", 'T', "($p ? $k : $k) * $a"},                  {"fd", 'T', "$a / ($p ? $k : $k)"},
    {"fd", 'T', "$a / $k"},                              {"fd", 'T', "sqrt($a * $a)"},
    {"fd", 'T', "floor($a) - $a"},                       {"fd", 'T', "trunc($a) + rint($b)"},
    {"fd", 'p', "$a $? $b"},                             {"fd", 'p', "!($a $? $b)"},
    {"fd", 'p', "$a $? $k"},                             {"fd", 'p', "fabs($a) $? $k"},
    {"fd", 'p', "-$a $? $b"},                            {"fd", 'p', "$a != $a || $b $? $k"},
    {"fd", 'p', "!($a < $b) && !($a > $b)"},             {"fd", 'p', "min($a, $b) == $a"},
    {"fd", 'p', "isnan($a $- $b)"},                     {"fd", 'p', "floor($a) == $a"},
    {"fd", 'i', "($a > $b) - ($a < $b)"},                {"fd", 'i', "$a == 0 ? 1 : $a $? $b ? 2 : 3"},
    {"f", 'u', "BITS($f)"},                              {"f", 'u', "BITS(-$f) & 0x80000000u"},
    {"f", 'u', "BITS($f * $g)"},                         {"f", 'T', "f32_from_bits(BITS($f) ^ 0x80000000u)"},
    {"f", 'T', "f32_from_bits($u & 0x7fffffffu)"},       {"f", 'T', "f32_from_bits(BITS($f) & 0x80000000u | $m)"},
    {"f", 'T', "f32_from_bits((u32)$p)"},                {"f", 'T', "f32_from_bits($p ? 0x80000000u : $u)"},
    {"d", 'q', "WIDE_BITS($d)"},                         {"d", 'i', "(i32)(WIDE_BITS($d) >> 32)"},
    // conversions, saturating where a float becomes an integer
    {INTS, 'T', "TO($T, $f)"},                           {INTS, 'T', "TO($T, $d)"},
    {INTS, 'i', "(i32)TO($T, $f * $g)"},                 {INTS, 'T', "TO($T, rint($f))"},
    {INTS, 'T', "TO($T, floor($d))"},                    {INTS, 'T', "TO($T, max($f, 0.0f))"},
    {"t", 'T', "TO(u8, clamp($f, 0.0f, 255.0f))"},       {"iu", 'T', "(u8)TO($T, min(max($f, 0.0f), 255.0f))"},
    {"iu", 'T', "(i8)TO($T, -$f)"},                      {WIDE, 'p', "(f32)TO($T, $f) == $f"},
    {INTS, 'f', "(f32)$a"},                              {INTS, 'd', "(f64)$a"},
    {INTS, 'f', "(f32)($T)($a >> $n)"},                  {INTS, 'f', "-(f32)$a"},
    {INTS, 'f', "(f32)($a & 1) * $f"},                   {"iu", 'f', "(f32)(i8)($a >> 8)"},
    {"iu", 'f', "(f32)(u8)($a >> 24) * $f"},             {"iu", 'f', "(f32)(u16)($a >> 16) - $f"},
    {"p", 'f', "(f32)$p * $f"},                          {"p", 'f', "-(f32)$p"},
    {"p", 'd', "(f64)$p - (f64)$o"},                     {"i", 'f', "(f32)abs($i)"},
    {"f", 'T', "(f32)(f64)$f"},                          {"f", 'T', "(f32)($d * (f64)$f)"},
    {"d", 'T', "(f64)(f32)$d"},                          {"i", 'T', "TO(i32, (f32)$i)"},
    // packed halves
    {"f", 'T', "f32(to_f16($f))"},                       {"f", 'T', "f32(to_bf16($f * $g))"},
    {"f", 'T', "f32(add2(to_f16x2($f, $g), to_f16x2($g, $f)).x)"}, {"f", 'T', "f32(mul2(to_f16x2($f, $g), to_f16x2(-$g, $f)).y)"},
    {"f", 'T', "f32(fma2(to_f16x2($f, $g), to_f16x2($g, $f), to_f16x2($k, $g)).x)"},
    {"f", 'T', "f32(fma2(to_bf16x2($f, $g), to_bf16x2($g, $k), to_bf16x2($k, $f)).y)"},
    {"f", 'T', "f32(sub2(to_bf16x2($f, $g), to_bf16x2($k, -$f)).x)"}, {"f", 'T', "f32(add2(to_bf16x2($f, $k), to_bf16x2($g, -$g)).y)"},
    {"f", 'T', "f32(min2(to_f16x2($f, $g), to_f16x2($k, -$f)).x)"}, {"f", 'T', "f32(max2(to_bf16x2(-$f, $g), to_bf16x2($g, $k)).x)"},
    {"u", 'T', "(u32)bits_f16(to_f16(NUMBER($f))) << 16 | bits_f16(to_f16(NUMBER($g)))"},
    {"u", 'T', "(u32)bits_bf16(to_bf16(NUMBER($f))) | (u32)bits_bf16(to_bf16(NUMBER(-$g))) << 16"},
    {"f", 'T', "f32(f16_from_bits((u16)$u))"},           {"f", 'T', "f32(bf16_from_bits((u16)($u >> 16)))"},
    {"f", 'T', "f32(f16_from_bits((u16)($u >> 16))) * $f"}, {"f", 'p', "f32(to_f16($f)) $? f32(to_f16($g))"},
};
// clang-format on

typedef struct fold {
    gen g;
    char names[128][48]; // of variables by letter; "": not drawn yet
    gen_type type;       // T
    uint32_t known;      // a variable that a branch knows is drawn more often; 0: none
    uint32_t count;      // of a shift
    char constant[48];
    uint32_t budget;
} fold;

static bool is_float(gen_type t)
{
    return t == GT_F32 || t == GT_F64;
}

static uint32_t width_of(gen_type t)
{
    return t == GT_F64 ? 64 : t == GT_F32 ? 32 : t == GT_BOOL ? 1 : 8u << t / 2;
}

static gen_type type_of(char letter)
{
    const char *at = strchr(gen_letters, letter);
    return (gen_type)(at ? at - gen_letters
                         : strchr(gen_letters_again, letter) - gen_letters_again);
}

// --- values

static void constant(fold *x, gen_type t)
{
    static const char *const floats[] = {"0.0", "-0.0", "1.0",   "-1.0",  "0.5",     "2.0",
                                         "3.0", "1e30", "255.0", "1e-40", "65504.0", "-2.5"};
    static const uint8_t small[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,   9,   10,  12,
                                    15, 16, 24, 31, 32, 60, 63, 64, 100, 127, 128, 255};
    gen *g = &x->g;
    uint32_t width = width_of(t), kind = gen_below(g, 10);
    uint64_t bits = small[gen_below(g, sizeof small)];
    if (kind >= 8)
        bits = UINT64_MAX - bits % 9;
    else if (kind >= 6) // around a power of two
        bits = ((uint64_t)1 << gen_below(g, width)) - gen_chance(g, 30);
    else if (kind == 5)
        bits = bits * 0x0101010101010101u + gen_below(g, 1000) * 65537u;
    if (width < 64)
        bits &= ((uint64_t)1 << width) - 1;
    if (is_float(t))
        snprintf(x->constant, sizeof x->constant, "((%s)%s)", gen_type_name(t),
                 floats[gen_below(g, sizeof floats / sizeof *floats)]);
    else
        snprintf(x->constant, sizeof x->constant, "((%s)0x%llxull)", gen_type_name(t),
                 (unsigned long long)bits);
}

// A variable of this type, of the newest most often; another one converted where there is none.
static void draw(fold *x, gen_type t, char *to, size_t size)
{
    gen *g = &x->g;
    uint32_t fits[GEN_MAX_VARS], n = 0;
    for (uint32_t i = 0; i < g->var_count; i++)
        if (g->vars[i].type == t)
            fits[n++] = i;
    uint32_t newest = gen_chance(g, 60) && n > 3 ? 3 : n;
    const gen_var *v = &g->vars[gen_below(g, g->var_count)];
    if (x->known && gen_chance(g, 40))
        v = &g->vars[x->known];
    else if (n && !gen_chance(g, 8))
        v = &g->vars[fits[n - 1 - gen_below(g, newest)]];
    if (v->type == t)
        snprintf(to, size, "%s", v->text);
    else
        snprintf(to, size, "%s%s%s%s)",
                 is_float(v->type) && !is_float(t) && t != GT_BOOL ? "TO(" : "((", gen_type_name(t),
                 is_float(v->type) && !is_float(t) && t != GT_BOOL ? ", " : ")", v->text);
}

static void one_of(gen *g, const char *const *texts, uint32_t count)
{
    gen_write(g, "%s", texts[gen_below(g, count)]);
}

static void escape(fold *x, char letter)
{
    static const char *const compare[] = {"<", "<=", ">", ">=", "==", "!="},
                             *const operators[] = {"+", "-", "&", "|", "^"},
                             *const signs[] = {"", "-", "~"};
    gen *g = &x->g;
    gen_type t = x->type;
    uint32_t width = width_of(t);
    char *name = x->names[(int)letter];
    switch (letter) {
    case 'T': gen_write(g, "%s", gen_type_name(t)); return;
    case 'W': gen_write(g, "%u", width); return;
    case 'n': x->count = 1 + gen_below(g, width - 1), gen_write(g, "%u", x->count); return;
    case 'N': gen_write(g, "%u", x->count); return;
    case 'M': gen_write(g, "%u", width - x->count); return;
    case 'k': constant(x, t), gen_write(g, "%s", x->constant); return;
    case 'K': gen_write(g, "%s", x->constant); return;
    case 'C': constant(x, GT_F32), gen_write(g, "%s", x->constant); return;
    case 'm':
        gen_write(g, "0x%xu", ((1u << (1 + gen_below(g, 16))) - 1) << gen_below(g, 15));
        return;
    case '?': one_of(g, compare, 6); return;
    case '+': one_of(g, operators, 5); return;
    case '-': one_of(g, operators, 2); return;
    case '~': one_of(g, signs, 3); return;
    default:
        if (!*name)
            draw(x, strchr("abc", letter) ? t : type_of(letter), name, sizeof x->names[0]);
        gen_write(g, "%s", name);
    }
}

// A row whose T may be the type of the known variable, mostly; what it is an expression of.
static const idiom *choose(fold *x, gen_type *result)
{
    gen *g = &x->g;
    const idiom *row = NULL;
    char wanted = x->known ? gen_letters[g->vars[x->known].type] : 0;
    for (uint32_t tries = 0; tries < 12; tries++) {
        row = &idioms[gen_below(g, sizeof idioms / sizeof *idioms)];
        if (!wanted || strchr(row->types, wanted))
            break;
    }
    bool has_wanted = wanted && strchr(row->types, wanted);
    char letter = has_wanted ? wanted : row->types[gen_below(g, (uint32_t)strlen(row->types))];
    x->type = type_of(letter);
    *result = row->result == 'T' ? x->type : type_of(row->result);
    return row;
}

static void write_idiom(fold *x, const idiom *row, gen_type result)
{
    memset(x->names, 0, sizeof x->names);
    gen_write(&x->g, "(%s)(", gen_type_name(result));
    for (const char *at = row->text; *at; at++)
        if (*at == '$')
            escape(x, *++at);
        else
            gen_write(&x->g, "%c", *at);
    gen_write(&x->g, ")");
}

// --- statements

static gen_var *simple(fold *x)
{
    gen *g = &x->g;
    gen_type result;
    const idiom *row = choose(x, &result);
    gen_line(g);
    gen_write(g, "%s v%u = ", gen_type_name(result), g->next_name);
    write_idiom(x, row, result);
    gen_write(g, ";\n");
    return gen_declare(g, result, 0);
}

// Some statements whose last value goes to a variable outside.
static void inner(fold *x, uint32_t target)
{
    gen *g = &x->g;
    uint32_t before = g->var_count;
    char name[48];
    gen_write(g, " {\n");
    g->indent++;
    for (uint32_t i = 0, n = 1 + gen_below(g, 3); i < n; i++)
        simple(x);
    if (!gen_chance(g, 60)) {
        draw(x, g->vars[target].type, name, sizeof name);
    } else { // the newest, mostly
        gen_var *last = &g->vars[g->var_count - 1];
        bool fits = last->type == g->vars[target].type;
        snprintf(name, sizeof name, "%s", fits ? last->text : "");
        if (!fits)
            draw(x, g->vars[target].type, name, sizeof name);
    }
    gen_line(g);
    gen_write(g, "%s = %s;\n", g->vars[target].text, name);
    g->var_count = before;
    g->indent--;
    gen_line(g);
    gen_write(g, "}\n");
}

// What a branch knows of a variable afterwards.
static void test(fold *x, uint32_t known)
{
    static const char *const ints[] = {"$a == $k", "$a == $k",           "$a == $b", "$a < $k",
                                       "$a > $k",  "($a & 1) == 0",      "$a == 0",  "$a & 1",
                                       "$a != $k", "$a > $k && $a < $k", "$a <= $b", "$p"};
    static const char *const floats[] = {"$a == 0",    "$a != $a", "$a == $k", "$a < $k",
                                         "!($a > $k)", "$a >= $b", "$a == $b", "isnan($a)"};
    gen *g = &x->g;
    const gen_var *v = &g->vars[known];
    bool has_floats = is_float(v->type);
    x->type = v->type;
    memset(x->names, 0, sizeof x->names);
    snprintf(x->names['a'], sizeof x->names[0], "%s", v->text);
    if (v->type == GT_BOOL) {
        gen_write(g, "%s%s", gen_chance(g, 50) ? "!" : "", v->text);
        return;
    }
    for (const char *at = has_floats ? floats[gen_below(g, 8)] : ints[gen_below(g, 12)]; *at; at++)
        if (*at == '$')
            escape(x, *++at);
        else
            gen_write(g, "%c", *at);
}

static uint32_t any_variable(fold *x)
{
    gen *g = &x->g; // not the first, whose place says that no variable is known
    uint32_t from = g->var_count > 8 && gen_chance(g, 60) ? g->var_count - 6 : 1;
    return from + gen_below(g, g->var_count - from);
}

static uint32_t target(fold *x)
{
    gen *g = &x->g;
    gen_type t = gen_any_type(g);
    char name[48];
    draw(x, t, name, sizeof name);
    gen_line(g);
    gen_write(g, "%s v%u = %s;\n", gen_type_name(t), g->next_name, name);
    gen_declare(g, t, 0);
    return g->var_count - 1;
}

static void branch(fold *x)
{
    gen *g = &x->g;
    uint32_t to = target(x), known = any_variable(x);
    gen_line(g);
    gen_write(g, "if (");
    test(x, known);
    gen_write(g, ")");
    x->known = known == to ? 0 : known;
    inner(x, to);
    if (gen_chance(g, 50)) {
        gen_line(g);
        gen_write(g, "else");
        inner(x, to);
    }
    x->known = 0;
}

static void cases(fold *x)
{
    gen *g = &x->g;
    uint32_t to = target(x), known = any_variable(x), n = 1 + gen_below(g, 3);
    gen_type t = g->vars[known].type;
    if (is_float(t) || t == GT_BOOL || known == to)
        return;
    gen_line(g);
    gen_write(g, "switch (%s) {\n", g->vars[known].text);
    x->known = known;
    static const uint8_t values[] = {0, 1, 5, 8, 31, 127}; // of every type
    for (uint32_t i = 0, first = gen_below(g, 3); i < n; i++) {
        gen_line(g);
        gen_write(g, "case %u:", values[first + i]);
        inner(x, to);
        if (gen_chance(g, 70)) {
            gen_line(g);
            gen_write(g, "break;\n");
        }
    }
    x->known = 0;
    gen_line(g);
    gen_write(g, "default: break;\n");
    gen_line(g);
    gen_write(g, "}\n");
}

static void loop(fold *x)
{
    static const gen_type counters[] = {GT_U32, GT_I32, GT_U8, GT_I16, GT_I64};
    gen *g = &x->g;
    uint32_t to = target(x), before = g->var_count, name = g->next_name;
    gen_type t = counters[gen_below(g, 5)];
    gen_line(g);
    gen_write(g, "for (%s v%u = 0; v%u < ", gen_type_name(t), name, name);
    if (gen_chance(g, 50))
        gen_write(g, "%u", 1 + gen_below(g, 5));
    else
        gen_write(g, "(%s)(p1 & 3)", gen_type_name(t));
    gen_write(g, "; v%u++)", name);
    gen_declare(g, t, 0)->is_constant = true;
    x->known = before;
    inner(x, to);
    x->known = 0;
    g->var_count = before;
}

// An array that may become registers, or not.
static void array(fold *x)
{
    gen *g = &x->g;
    gen_type t = gen_any_type(g);
    uint32_t name = g->next_name++, length = 2u << gen_below(g, 2);
    char value[48];
    gen_line(g);
    gen_write(g, "%s v%u[%u] = {", gen_type_name(t), name, length);
    for (uint32_t i = 0; i < length; i++) {
        draw(x, t, value, sizeof value);
        gen_write(g, "%s%s", i ? ", " : "", value);
    }
    gen_write(g, "};\n");
    for (uint32_t i = 0; i < 3; i++) {
        char index[48] = "";
        if (gen_chance(g, 50))
            snprintf(index, sizeof index, "%u", gen_below(g, length));
        else
            draw(x, GT_U32, index, sizeof index);
        draw(x, t, value, sizeof value);
        gen_line(g);
        if (i < 2)
            gen_write(g, "v%u[%s & %u] = %s;\n", name, index, length - 1, value);
        else
            gen_write(g, "%s v%u = v%u[%s & %u];\n", gen_type_name(t), g->next_name, name, index,
                      length - 1);
    }
    gen_declare(g, t, 0);
}

// From another lane: a value that the assembler may find to be the same for all.
static void lanes(fold *x)
{
    static const char *const names[] = {"shuffle", "shuffle_xor", "shuffle_up", "shuffle_down"};
    gen *g = &x->g;
    gen_type t = gen_any_type(g);
    char value[48];
    if (gen_chance(g, 30))
        constant(x, t), snprintf(value, sizeof value, "%s", x->constant);
    else
        draw(x, t, value, sizeof value);
    gen_line(g);
    gen_write(g, "%s v%u = %s(%s, %u);\n", gen_type_name(t), g->next_name, names[gen_below(g, 4)],
              value, gen_below(g, 3));
    gen_declare(g, t, 0);
}

static void call(fold *x)
{
    gen *g = &x->g;
    uint32_t which = gen_below(g, g->helper_count);
    const gen_helper *h = &g->helpers[which];
    gen_line(g);
    gen_write(g, "%s v%u = h%u_%u(", gen_type_name(h->result), g->next_name, which, g->number);
    for (uint32_t k = 0; k < h->param_count; k++) {
        char value[48];
        draw(x, h->params[k], value, sizeof value);
        gen_write(g, "%s%s", k ? ", " : "", value);
    }
    gen_write(g, ");\n");
    gen_declare(g, h->result, 0);
}

static void statement(fold *x)
{
    uint32_t k = gen_below(&x->g, 100);
    if (k < 62)
        simple(x);
    else if (k < 80)
        branch(x);
    else if (k < 84)
        cases(x);
    else if (k < 87)
        loop(x);
    else if (k < 91)
        array(x);
    else if (k < 95)
        lanes(x);
    else if (x->g.helper_count)
        call(x);
    else
        simple(x);
}

// --- whole programs

static void helper(fold *x)
{
    gen *g = &x->g;
    gen_helper h = {.param_count = 2 + gen_below(g, 3)};
    g->var_count = 0;
    g->indent = 1;
    char *body = NULL;
    size_t size = 0;
    FILE *out = g->out;
    uint32_t first = g->next_name;
    for (uint32_t k = 0; k < h.param_count; k++) {
        h.params[k] = gen_any_type(g);
        gen_declare(g, h.params[k], 0);
    }
    g->out = open_memstream(&body, &size);
    simple(x);
    h.result = simple(x)->type;
    gen_line(g);
    gen_write(g, "return v%u;\n}\n\n", g->next_name - 1);
    fclose(g->out);
    g->out = out;
    gen_write(g, "noinline static %s h%u_%u(", gen_type_name(h.result), g->helper_count, g->number);
    for (uint32_t k = 0; k < h.param_count; k++)
        gen_write(g, "%s%s v%u", k ? ", " : "", gen_type_name(h.params[k]), first + k);
    gen_write(g, ")\n{\n%s", body);
    free(body);
    g->helpers[g->helper_count++] = h;
}

static void input(fold *x, gen_type t, const char *text)
{
    gen *g = &x->g;
    gen_var *v = gen_declare(g, t, 0);
    if (g->indent && strchr(text, '[')) {
        gen_line(g);
        gen_write(g, "%s %s = %s%u) & 255];\n", gen_type_name(t), v->text, text, gen_below(g, 256));
    } else
        snprintf(v->text, sizeof v->text, "%s", text);
}

// Half of the values go to the outputs: what else is left of the others is the assembler's choice.
static void results(fold *x)
{
    gen *g = &x->g;
    uint32_t whole = 0, single = 0, real = 0;
    for (uint32_t i = g->var_count; i-- > 0;) {
        const gen_var *v = &g->vars[i];
        uint32_t *count = v->type == GT_F32 ? &single : v->type == GT_F64 ? &real : &whole;
        if (*count == (count == &whole ? 16 : 8) || (i + 1 < g->var_count && gen_chance(g, 50)))
            continue;
        gen_line(g);
        if (count == &whole)
            gen_write(g, "whole[id * 16 + %u] = (u64)%s;\n", whole++, v->text);
        else
            gen_write(g, "%s[id * 8 + %u] = %s;\n", count == &single ? "singles" : "reals",
                      (*count)++, v->text);
    }
}

bool gen_fold(uint64_t seed, unsigned number, FILE *out)
{
    fold state = {.g = {.out = out,
                        .random = seed * 0x2545f4914f6cdd1du + 7,
                        .number = number,
                        .next_name = 1}},
         *x = &state;
    gen *g = &x->g;
    uint32_t threads = gen_chance(g, 50) ? 64 : 32;
    for (uint32_t i = 0, n = gen_chance(g, 12) ? 1 + gen_below(g, 2) : 0; i < n; i++)
        helper(x);
    gen_write(g,
              "//! run fuzz_%u grid=2 block=%u (i32[256]:edge, u32[256]:edge2, u64[256]:edge, "
              "i64[256]:bits, f32[256]:edge, f64[256]:edge2, i8[256]:bits, u16[256]:edge, "
              "i32=%d, u32=%u, i64=%d, f32=%d, u64[%u], f32[%u], f64[%u])\n",
              number, threads, (int)gen_below(g, 9) - 4, gen_below(g, 40),
              (int)gen_below(g, 100000) - 50000, (int)gen_below(g, 5) - 2, threads * 32,
              threads * 16, threads * 16);
    gen_write(g,
              "kernel%s void fuzz_%u(const i32 *a0, const u32 *a1, const u64 *a2, const i64 *a3, "
              "const f32 *a4, const f64 *a5, const i8 *a6, const u16 *a7, i32 p0, u32 p1, i64 p2, "
              "f32 p3, u64 *whole, f32 *singles, f64 *reals)\n{\n    u32 id = global_x();\n",
              gen_chance(g, 50) ? threads == 64 ? " block(64)" : " block(32)" : "", number);
    g->var_count = 0;
    g->indent = 1;
    input(x, GT_I32, "p0");
    input(x, GT_U32, "p1");
    input(x, GT_I64, "p2");
    input(x, GT_F32, "p3");
    input(x, GT_U32, "thread_x()");
    input(x, GT_I32, "a0[(id + ");
    input(x, GT_U32, "a1[(id * 5 + ");
    input(x, GT_U64, "a2[(id * 3 + ");
    input(x, GT_I64, "a3[(id + ");
    input(x, GT_F32, "a4[(id * 7 + ");
    input(x, GT_F32, "a4[(id + ");
    input(x, GT_F64, "a5[(id * 9 + ");
    input(x, GT_I8, "a6[(id + ");
    input(x, GT_U16, "a7[(id + ");
    for (uint32_t i = 0, n = 4 + gen_below(g, 20); i < n && g->var_count < GEN_MAX_VARS - 4; i++)
        statement(x);
    results(x);
    gen_write(g, "}\n\n");
    return true;
}
