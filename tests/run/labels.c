// Labels of gotos beside the cases of a switch: lexers and state machines as C programmers write them.
#include <kiln/kernel.h>
#pragma kiln conversions(c)

typedef struct lex { const char *at; u32 n, words, digits; } lex;
static i32 next(lex *l)
{
again:
    switch (*l->at) {
    case 0: return 0;
    case ' ': case '\t': l->at++; goto again;
    case '(': case '[': l->n++; goto punct;
    case ')': case ']': l->n += 2;
        /* fall through */
    case ',':
    punct: l->at++; return 1;
    case '0': if (l->at[1] == 'x') { l->at += 2; goto number; }
        /* fall through */
    case '1': case '2': case '3':
    number:
        while (*l->at >= '0' && *l->at <= '9') l->at++, l->digits++;
        return 2;
    case '"': {
        i32 k = 0;
        while (*++l->at && *l->at != '"') if (k++ > 4) goto bad;
        if (!*l->at) goto bad;
        l->at++;
        return 3;
    }
    default:
        if (*l->at >= '4' && *l->at <= '9') goto number;
        if (*l->at < 'a') goto bad;
        while (*l->at >= 'a') l->at++;
        l->words++;
        return 4;
    bad:
        if (*l->at) l->at++;
        return 5;
    }
}
static const char text[] = "foo (12, 0x45) \"abc\" [9,bar] \"too long text\" % 0 1x\"q";
//! run lexing grid=1 block=50 (u32[50], u32[50])
kernel void lexing(u32 *out, u32 *more)
{
    lex l = {.at = text + thread_x()};
    u32 h = 1;
    for (i32 t, k = 0; (t = next(&l)) && k < 100; k++) h = h * 31 + t;
    out[thread_x()] = h;
    more[thread_x()] = l.n + l.words * 100 + l.digits * 10000;
}
// state machine: states as labels and cases, jumps both ways, break and continue, declarations between
//! run machine grid=2 block=48 (u8[512]:mod5, u32[96])
kernel void machine(const u8 *in, u32 *out)
{
    u32 h = 7, steps = 0, total = 0;
    for (u32 i = 0; i < 12; i++) {
        u32 v = in[(global_x() * 3 + i) % 512];
        switch (v + (h & 1)) {
            u32 local;
        one: case 1:
            local = 5;
            h = h * 3 + local;
            if (steps++ < 60 && h % 7 == 2) goto three;
            break;
        case 0:
            if (h % 5 == 0) goto one;
            h += 11;
            /* fall through */
        three:
        case 3: {
            u32 k = 3;
            while (k--) { if (h % 11 == 3 && steps++ < 60) goto two; h = h * 5 + k; if (h & 64) break; }
            if (h & 8) continue;
        }
            /* fall through */
        default: h ^= 0x55; break;
        case 2: h += 2;
        two:
            switch (h & 3) { case 0: h++; break; case 1: if (steps++ < 60) goto one; break; default: h += 9; }
            if (steps++ < 60 && h % 3 == 0) goto three;
        }
        total += h ^ i;
    }
    out[global_x()] = total + steps * 1000003;
}
// label only, no fallthrough from it; a nested switch whose inner goto leaves to the outer's label
//! run nested grid=1 block=64 (u32[64]:bits, u32[64])
kernel void nested(const u32 *in, u32 *out)
{
    u32 v = in[thread_x()], r = 0, guard = 0;
    switch (v & 7) {
    case 0: r = 1; goto end;
    case 1:
        switch (v >> 3 & 3) {
        case 0: goto retry;
        case 1: inner: r += 10; if (guard++ < 3) goto inner; break;
        case 2: goto end;
        default: v >>= 1; goto inner;
        }
        r += 100;
    retry:
        r += 1000;
        if (guard++ < 5) goto retry;
        break;
    case 7: return;
    default: r = v & 0xff; break;
    end: r += 50000;
    }
    out[thread_x()] = r + guard;
}
