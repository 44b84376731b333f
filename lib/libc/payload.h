// The bits that a NaN carries, as text: nan("0x12") and strtod("nan(0x12)").
#pragma once

// An integer as C writes it, up to the byte `end`; anything else is 0. False: it is too large.
static noinline bool __k_payload(const char *at, char end, u64 *out)
{
    u64 base = *at != '0' ? 10u : at[1] == 'x' || at[1] == 'X' ? 16u : 8u, value = 0;
    bool is_over = false;
    *out = 0;
    for (at += base == 16u ? 2 : 0; *at != end; at++) {
        u32 digit = (u32)(u8)*at - '0', letter = ((u32)(u8)*at | 32u) - 'a';
        digit = digit < 10u ? digit : letter < 6u ? letter + 10u : 16u;
        if (digit >= base)
            return true;
        is_over = is_over || value > (0xffffffffffffffffull - digit) / base;
        value = value * base + digit;
    }
    *out = is_over ? 0xffffffffffffffffull : value;
    return !is_over;
}
