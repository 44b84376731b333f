// UTF-8 by the book: no overlong forms, no surrogates, nothing above U+10FFFF.
#include "base/utf8.h"

uint32_t utf8_read(const char *at, size_t left, unsigned *len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)at;
    unsigned want = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    *len = 1;
    if (want == 1)
        return p[0];
    if (!want || p[0] > 0xf4 || left < want)
        return 0xfffd;
    uint32_t code = p[0] & (0x7fu >> want);
    for (unsigned i = 1; i < want; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0xfffd;
        code = code << 6 | (p[i] & 0x3f);
    }
    if (code < least[want] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return 0xfffd;
    *len = want;
    return code;
}

unsigned utf8_write(char *out, uint32_t code)
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    unsigned len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (unsigned i = len - 1; i; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(lead[len] | code);
    return len;
}
