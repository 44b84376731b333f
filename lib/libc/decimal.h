// Floats as exact decimals, for printing: a finite f64 is N / 10^scale with an integer N of at most
// 767 digits. Rounding to any digit is then exact: to nearest, ties to even.
#pragma once

typedef struct __k_decimal {
    u32 words[88]; // N, nine digits each, the lowest first
    i32 count;     // words in use; 0: the number is 0
    i32 scale;
} __k_decimal;

static u32 __k_ten_to(u32 n) // n: 0 … 9
{
    u32 power = 1;
    for (u32 i = 0; i < n; i++)
        power *= 10u;
    return power;
}

static void __k_decimal_multiply(__k_decimal *d, u64 factor)
{
    u64 carry = 0;
    for (i32 i = 0; i < d->count; i++) {
        u64 product = d->words[i] * factor + carry;
        carry = product / 1000000000u;
        d->words[i] = (u32)(product - carry * 1000000000u);
    }
    while (carry) {
        d->words[d->count++] = (u32)(carry % 1000000000u);
        carry /= 1000000000u;
    }
}

// `mantissa` * 2^exponent
static noinline void __k_decimal_set(__k_decimal *d, u64 mantissa, i32 exponent)
{
    d->count = d->scale = 0;
    if (!mantissa)
        return;
    for (; exponent < 0 && !(mantissa & 1u); exponent++)
        mantissa >>= 1;
    for (; mantissa; mantissa /= 1000000000u)
        d->words[d->count++] = (u32)(mantissa % 1000000000u);
    for (; exponent >= 32; exponent -= 32)
        __k_decimal_multiply(d, 0x100000000ull);
    if (exponent > 0)
        __k_decimal_multiply(d, 1ull << exponent);
    d->scale = exponent < 0 ? -exponent : 0; // m / 2^k = m * 5^k / 10^k
    i32 fives = d->scale;
    for (; fives >= 14; fives -= 14)
        __k_decimal_multiply(d, 6103515625ull);
    u64 rest = 1;
    for (; fives > 0; fives--)
        rest *= 5u;
    if (rest > 1u)
        __k_decimal_multiply(d, rest);
}

static i32 __k_decimal_digits(const __k_decimal *d)
{
    if (!d->count)
        return 0;
    i32 n = 9 * (d->count - 1);
    for (u32 top = d->words[d->count - 1]; top; top /= 10u)
        n++;
    return n;
}

// The digit of N that counts 10^place; 0 where there is none.
static u32 __k_decimal_digit(const __k_decimal *d, i32 place)
{
    if (place < 0 || place / 9 >= d->count)
        return 0;
    return d->words[place / 9] / __k_ten_to((u32)(place % 9)) % 10u;
}

// Rounds N to a multiple of 10^drop.
static noinline void __k_decimal_round(__k_decimal *d, i32 drop)
{
    if (drop <= 0 || !d->count)
        return;
    if (drop > 9 * d->count) {
        d->count = 0;
        return;
    }
    i32 place = drop - 1;
    u32 first = __k_decimal_digit(d, place), unit = __k_ten_to((u32)(place % 9));
    bool has_rest = d->words[place / 9] % unit != 0u;
    for (i32 i = 0; i < place / 9; i++)
        has_rest = has_rest || d->words[i] != 0u;
    bool is_odd = (__k_decimal_digit(d, drop) & 1u) != 0u;
    bool is_up = first > 5u || (first == 5u && (has_rest || is_odd));
    i32 word = drop / 9;
    unit = __k_ten_to((u32)(drop % 9));
    for (i32 i = 0; i < word; i++)
        d->words[i] = 0;
    if (word >= d->count)
        d->words[d->count++] = 0;
    d->words[word] -= d->words[word] % unit;
    u32 carry = is_up ? unit : 0u;
    for (i32 i = word; carry; i++) {
        if (i == d->count)
            d->words[d->count++] = 0;
        u32 sum = d->words[i] + carry;
        carry = sum >= 1000000000u ? 1u : 0u;
        d->words[i] = sum - carry * 1000000000u;
    }
    while (d->count && !d->words[d->count - 1])
        d->count--;
}
