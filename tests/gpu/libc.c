// C's library in kernels against the host's: generated calls, byte by byte.
//     libc [DEVICE [COUNT [SEED]]]
#include "api.h"
#include "libc/calls.h"

#if defined(__GNUC__)
#    pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif

static uint64_t state = 1;

static uint32_t next(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static uint64_t next_bits(void)
{
    uint64_t bits = 0;
    for (int i = 0; i < 4; i++)
        bits = bits << 16 ^ next(1u << 16);
    return bits;
}

// Numbers of every size; ties, powers of ten, subnormals, what is no number.
static uint64_t next_double(void)
{
    static const double plain[] = {0,    -0.0,  1,        0.5,       -1.5,  2.5,
                                   0.1,  9.5,   0.0001,   1e10,      1e22,  1e23,
                                   1e-5, 99999, 999999.5, 0x1p-1074, 1e308, 1e-308};
    uint64_t bits = next_bits();
    double value = call_double(bits);
    switch (next(8)) {
    case 0: value = plain[next(sizeof plain / sizeof *plain)]; break;
    case 1: value = (double)(int64_t)(bits >> 40) / (double)(1u << next(12)); break;
    case 2: value = (double)next(100000) / 100; break;
    case 3: value = (double)next(1000) * 1e-7; break;
    case 4: bits &= 0x800fffffffffffff >> next(40); return bits;
    case 5: bits |= next(6) ? 0 : UINT64_C(0x7ff) << 52; return bits;
    case 6: value = (double)next(10000) * 1e15; break;
    default: return bits;
    }
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void put_flags(char *to, const char *among)
{
    strcat(to, "%");
    for (uint32_t n = next(4); n > 0; n--) {
        char flag[2] = {among[next((uint32_t)strlen(among))], 0};
        strcat(to, flag);
    }
}

static void put_number(char *to, const char *before, uint32_t below)
{
    if (next(2))
        sprintf(to + strlen(to), "%s%u", before, next(below));
}

static void put_letter(char *to, const char *among)
{
    char letter[2] = {among[next((uint32_t)strlen(among))], 0};
    strcat(to, letter);
}

// '#' and a number that rounds up to a power of ten: glibc's %#g drops the zeros that C wants kept.
// Such numbers start with 9.
static void put_real(char *to, uint64_t bits, const char *middle)
{
    char digits[40], letter[2] = {"fFeEgGaA"[next(8)], 0};
    snprintf(digits, sizeof digits, "%.20e", call_double(bits));
    bool is_hard = strchr("gG", letter[0]) && strchr("+-9", digits[0]) && strchr(digits, '9');
    put_flags(to, is_hard ? "-+ 0" : "-+ #0");
    strcat(to, middle);
    if (!*middle) {
        put_number(to, "", 40);
        if (next(3))
            put_number(to, next(20) ? "." : ".4", 24);
    }
    strcat(to, letter);
}

static void put_words(char *to)
{
    static const char *const words[] = {"", "x", " = ", "100%%", "\n", "(", ":%%:"};
    strcat(to, words[next(7)]);
}

static void make_mixed(print_case *c)
{
    static const char *const lengths[] = {"", "h", "hh"}, *const longs[] = {"l", "ll", "j", "z",
                                                                            "t"};
    char *f = c->format;
    put_words(f);
    put_flags(f, "-+ #0");
    strcat(f, "*.*");
    strcat(f, lengths[next(3)]);
    put_letter(f, "diouxX");
    put_words(f);
    put_flags(f, "-+ #0");
    put_number(f, next(2) ? "" : "0", 30);
    put_number(f, ".", 25);
    strcat(f, longs[next(5)]);
    put_letter(f, "diouxX");
    put_words(f);
    put_real(f, c->real, "");
    put_words(f);
    put_flags(f, "-");
    put_number(f, "", 20);
    put_number(f, ".", 12);
    strcat(f, "s");
    put_flags(f, "-");
    put_number(f, "", 6);
    strcat(f, "c");
    put_words(f);
}

static void make_stars(print_case *c)
{
    char *f = c->format;
    put_words(f);
    put_real(f, c->real, "*");
    put_words(f);
    put_real(f, c->more, "*.*");
    put_flags(f, "-");
    strcat(f, ".*s");
    put_words(f);
    put_flags(f, "-+ ");
    put_number(f, "", 25);
    strcat(f, "p");
    put_words(f);
}

static void make_case(print_case *c, bool has_stars)
{
    static const uint32_t rooms[] = {0, 1, 10, 60, PRINT_BYTES, PRINT_BYTES, PRINT_BYTES};
    memset(c, 0, sizeof *c);
    for (uint32_t n = next(PRINT_TEXT); n > 0; n--)
        c->text[n - 1] = (char)(' ' + next(95));
    c->room = rooms[next(7)];
    c->width = (int32_t)next(60) - 20;
    c->precision = (int32_t)next(30) - 6;
    c->small = next(8) ? (int32_t)next_bits() >> next(32) : 0;
    c->large = next(8) ? (int64_t)(next_bits() >> next(64)) : 0;
    c->real = next_double();
    c->more = next_double();
    if (has_stars)
        make_stars(c);
    else
        make_mixed(c);
}

static kiln_status run(kiln *k, kiln_kernel *kernel, const void *in, size_t in_size, void *out,
                       size_t out_size, uint32_t count)
{
    kiln_buffer *from = NULL, *to = NULL;
    kiln_status status = kiln_buffer_new_bytes(k, in_size, count, &from);
    if (!status)
        status = kiln_buffer_new_bytes(k, out_size, count, &to);
    if (!status)
        status = kiln_write(from, 0, in, count);
    if (!status)
        status = kiln_write(to, 0, out, count);
    kiln_arg args[] = {kiln_arg_buffer(from), kiln_arg_buffer(to), kiln_arg_i64(KILN_U32, count)};
    if (!status)
        status = api_launch(kernel, (count + 31) / 32, 0, args, 3);
    if (!status)
        status = kiln_read(to, 0, out, count);
    kiln_buffer_free(from);
    kiln_buffer_free(to);
    return status;
}

static void test_print(kiln *k, kiln_module *m, uint32_t count, bool has_stars)
{
    print_case *cases = calloc(count, sizeof *cases);
    print_result *want = calloc(count, sizeof *want), *got = calloc(count, sizeof *got);
    for (uint32_t i = 0; i < count; i++) {
        make_case(cases + i, has_stars);
        memset(want[i].text, '?', PRINT_BYTES);
        memset(got[i].text, '?', PRINT_BYTES);
        if (has_stars)
            print_stars(cases + i, want + i);
        else
            print_mixed(cases + i, want + i);
    }
    CHECK(!run(k, api_kernel(m, has_stars ? "stars" : "mixed"), cases, sizeof *cases, got,
               sizeof *got, count));
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < count && !api_is_fake(k); i++) {
        bool is_same = !memcmp(want + i, got + i, sizeof *want);
        if (!is_same && wrong++ < 8)
            printf("format \"%s\" (%d %d %d %lld %a %a)\n  host   %d \"%.700s\"\n  kernel %d "
                   "\"%.700s\"\n",
                   cases[i].format, cases[i].width, cases[i].precision, cases[i].small,
                   (long long)cases[i].large, call_double(cases[i].real),
                   call_double(cases[i].more), want[i].result, want[i].text, got[i].result,
                   got[i].text);
    }
    api_failed += (int)wrong;
    api_passed += (int)(count - wrong);
    free(cases);
    free(want);
    free(got);
}

// Texts that are numbers, nearly: halfway between two floats, too large, cut off, in hexadecimal.
static void make_float(char *to)
{
    static const char *const odd[] = {"inf",
                                      "-Infinity",
                                      "nan",
                                      "NAN(1_a)",
                                      "nan(",
                                      "infin",
                                      ".",
                                      "+.e1",
                                      "0x",
                                      "0x.p",
                                      "1e",
                                      "1e+",
                                      "-",
                                      "",
                                      "0x1p",
                                      ".5.5",
                                      "1_0",
                                      "0e999999",
                                      "1e400",
                                      "1e-400",
                                      "nan(123)",
                                      "nan(0X7ff)",
                                      "nan(018)",
                                      "nan(017)",
                                      "nan(0x123456789abcdef0)",
                                      "nan(18446744073709551615)",
                                      "nan(18446744073709551616)",
                                      "nan()",
                                      "nan(0x)",
                                      "1.1754943e-38",
                                      "1.17549435e-38",
                                      "1.17549431578984e-38",
                                      "2.2250738585072011e-308",
                                      "2.2250738585072013e-308",
                                      "2.2250738585072012595738212570207680200e-308",
                                      "0x1.fffffep-127",
                                      "0x1.ffffffp-127",
                                      "0x1.fffffefp-127",
                                      "0x1.fffffffffffffp-1023",
                                      "0x1.fffffffffffff8p-1023",
                                      "0x1.fffffffffffff7ffp-1023",
                                      "0x1.fffffffffffff800000001p-1023"};
    uint64_t bits = next_double() & ~(UINT64_C(1) << 63);
    double value = call_double(bits);
    switch (next(8)) {
    case 0: strcpy(to, odd[next(sizeof odd / sizeof *odd)]); break;
    case 1: sprintf(to, "%.17g", value); break;
    case 2: sprintf(to, "%.*e", (int)next(40), value); break;
    case 3: sprintf(to, "%a", value); break;
    case 4: sprintf(to, "%.*f", (int)next(20), value); break;
    case 5: { // between two floats or two doubles, exactly or nearly
        float narrow = (float)value;
        uint32_t low;
        memcpy(&low, &narrow, sizeof low);
        if (next(2) && value < 0x1p127 && low < 0x7f000000) {
            uint32_t high = low + 1;
            float above;
            memcpy(&above, &high, sizeof above);
            value = ((double)narrow + (double)above) / 2;
            sprintf(to, "%.*e", 120, value);
        } else if (value > 0x1p-900 && value < 0x1p1000) { // the digits of value + half a unit
            long double middle = (long double)value + (long double)value * 0x1p-54L;
            sprintf(to, "%.*Le", 750, middle);
        } else {
            sprintf(to, "%.770e", value);
        }
        if (strlen(to) > 20 && next(2))
            to[strlen(to) / 2 - next(5)] = '7';
        break;
    }
    case 6: sprintf(to, "%u.%ue%d", next(1000), next(100000), (int)next(700) - 350); break;
    default:
        sprintf(to, "0x%x.%xp%d", next(1u << 20), next(1u << 30), (int)next(2400) - 1200);
        break;
    }
}

static void make_read(read_case *c, bool is_float)
{
    static const char *const starts[] = {"", "", "", "-", "+", " ", "\t\n ", "--", " +"};
    static const char *const ends[] = {"", "", "", "x", " 1", ".", "e5", ","};
    static const char *const whole[] = {"9223372036854775807",
                                        "9223372036854775808",
                                        "0x",
                                        "0xg",
                                        "18446744073709551615",
                                        "0X7fffffffffffffff",
                                        "zz",
                                        "08",
                                        "18446744073709551616",
                                        "0b1",
                                        "00x1",
                                        ""};
    static const int32_t bases[] = {10, 0, 16, 8, 36, 2, 7, 10, 0, 1, 37, -1};
    memset(c, 0, sizeof *c);
    c->base = bases[next(12)];
    strcpy(c->text, starts[next(9)]);
    char *to = c->text + strlen(c->text);
    if (is_float)
        make_float(to);
    else if (next(3))
        sprintf(to,
                next(2)   ? "%llu"
                : next(2) ? "0x%llx"
                          : "0%llo",
                (unsigned long long)(next_bits() >> next(64)));
    else
        strcpy(to, whole[next(12)]);
    strcat(c->text, ends[next(8)]);
}

static void test_read(kiln *k, kiln_module *m, uint32_t count, bool is_float)
{
    read_case *cases = calloc(count, sizeof *cases);
    read_result *want = calloc(count, sizeof *want), *got = calloc(count, sizeof *got);
    for (uint32_t i = 0; i < count; i++) {
        make_read(cases + i, is_float);
        if (is_float)
            read_floats(cases + i, want + i);
        else
            read_integers(cases + i, want + i);
    }
    CHECK(!run(k, api_kernel(m, is_float ? "floats" : "integers"), cases, sizeof *cases, got,
               sizeof *got, count));
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < count && !api_is_fake(k); i++) {
        const read_result *w = want + i, *g = got + i;
        if (memcmp(w, g, sizeof *w) && wrong++ < 8)
            printf("text \"%s\" base %d\n  host   %a %x %lld %llu ends %d %d %d %d errors %d %d %d "
                   "%d\n  kernel %a %x %lld %llu ends %d %d %d %d errors %d %d %d %d\n",
                   cases[i].text, cases[i].base, call_double(w->real), w->small,
                   (long long)w->whole, (unsigned long long)w->natural, w->ends[0], w->ends[1],
                   w->ends[2], w->ends[3], w->errors[0], w->errors[1], w->errors[2], w->errors[3],
                   call_double(g->real), g->small, (long long)g->whole,
                   (unsigned long long)g->natural, g->ends[0], g->ends[1], g->ends[2], g->ends[3],
                   g->errors[0], g->errors[1], g->errors[2], g->errors[3]);
    }
    api_failed += (int)wrong;
    api_passed += (int)(count - wrong);
    free(cases);
    free(want);
    free(got);
}

static void put_one(char *to, const char *const *among, uint32_t count)
{
    strcat(to, among[next(count)]);
}

// One conversion with perhaps a width, and a text that more or less fits it.
static void make_item(scan_case *c, const char *const *letters, uint32_t count, bool is_float)
{
    static const char *const numbers[] = {"12",  "-7", "+0x1f",       "0x",
                                          "077", "9",  "0",           "-",
                                          "+",   "x",  "99999999999", "99999999999999999999",
                                          "0xg", "1e", "(nil)"};
    static const char *const reals[] = {"1.5", "-2e3", ".5",       "1e", "1e+",   "0x1.8p1", "inf",
                                        "nan", ".",    "infinit",  "0x", "1.2.3", "3",       "-",
                                        "1e5", "0xap", "infinity", "na", "00.1",  "1e400"};
    static const char *const words[] = {"word", "a-b", "]x", "[y]",   "9abc",
                                        "A_1",  "%",   "",   "zz top"};
    strcat(c->format, "%");
    if (!next(5))
        sprintf(c->format + strlen(c->format), "%u", 1 + next(7));
    put_one(c->format, letters, count);
    if (is_float && next(8))
        put_one(c->text, reals, 20);
    else if (!is_float && next(8))
        put_one(c->text, numbers, 15);
    else
        put_one(c->text, words, 9);
}

static void make_text(scan_case *c)
{
    static const char *const letters[] = {"s",       "c",       "[a-z]",   "[^ ,]", "[]x]",
                                          "[^]0-9]", "[0-9a-]", "[a-c-x]", "[+--9]"};
    static const char *const words[] = {"word", "a-b", "]x", "[y]",   "9abc",
                                        "A_1",  " ",   "",   "zz top"};
    strcat(c->format, "%");
    if (!next(3))
        sprintf(c->format + strlen(c->format), "%u", 1 + next(6));
    put_one(c->format, letters, 9);
    put_one(c->text, words, 9);
}

static void make_between(scan_case *c)
{
    static const char *const formats[] = {" ", "", ",", " , ", "%%", "%*d", "%*s", " %*c"};
    static const char *const texts[] = {" ", "  ", ",", " , ", "%", "5 ", "w ", " c"};
    uint32_t which = next(8);
    strcat(c->format, formats[which]);
    strcat(c->text, texts[next(6) ? which : next(8)]);
}

static void make_scan(scan_case *c, bool is_wide)
{
    static const char *const ints[] = {"d", "i", "u", "x", "o", "X", "hd", "hhu", "hi"};
    static const char *const longs[] = {"ld", "li", "lu", "lx", "lld", "zu", "jd", "p"};
    static const char *const floats[] = {"f", "e", "g", "a"}, *const doubles[] = {"lf", "le", "lg"};
    memset(c, 0, sizeof *c);
    if (is_wide) {
        make_item(c, longs, 8, false);
        make_between(c);
        make_text(c);
        make_between(c);
        make_item(c, doubles, 3, true);
        make_between(c);
        make_text(c);
    } else {
        make_item(c, floats, 4, true);
        make_between(c);
        make_item(c, ints, 9, false);
        make_between(c);
        make_text(c);
        strcat(c->format, "%n");
    }
}

static void test_scan(kiln *k, kiln_module *m, uint32_t count, bool is_wide)
{
    scan_case *cases = calloc(count, sizeof *cases);
    scan_result *want = calloc(count, sizeof *want), *got = calloc(count, sizeof *got);
    for (uint32_t i = 0; i < count; i++) {
        make_scan(cases + i, is_wide);
        if (is_wide)
            scan_wide(cases + i, want + i);
        else
            scan_mixed(cases + i, want + i);
    }
    CHECK(!run(k, api_kernel(m, is_wide ? "wide_scans" : "scans"), cases, sizeof *cases, got,
               sizeof *got, count));
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < count && !api_is_fake(k); i++) {
        const scan_result *w = want + i, *g = got + i;
        if (memcmp(w, g, sizeof *w) && wrong++ < 8)
            printf("\"%s\" from \"%s\"\n  host   %d: %d %d %lld %a %a \"%s\" \"%s\"\n  kernel %d: "
                   "%d %d %lld %a %a \"%s\" \"%s\"\n",
                   cases[i].format, cases[i].text, w->result, w->small, w->after,
                   (long long)w->large, w->real, (double)w->narrow, w->word, w->other, g->result,
                   g->small, g->after, (long long)g->large, g->real, (double)g->narrow, g->word,
                   g->other);
    }
    api_failed += (int)wrong;
    api_passed += (int)(count - wrong);
    free(cases);
    free(want);
    free(got);
}

int main(int argc, char **argv)
{
    uint32_t count = argc > 2 ? (uint32_t)atoi(argv[2]) : 2600;
    state = argc > 3 ? (uint64_t)atoll(argv[3]) : 1;
    kiln *k = api_open(argc > 1 ? argv[1] : "interp");
    kiln_compile_desc desc = {.path = "tests/gpu/libc/kernels.c"};
    kiln_module *m = NULL;
    if (kiln_compile(k, &desc, &m)) {
        printf("%s\n", kiln_last_error(k)->text);
        return 1;
    }
    test_print(k, m, count, false);
    test_print(k, m, count, true);
    test_read(k, m, count / 2, true);
    test_read(k, m, count / 4, false);
    test_scan(k, m, count, false);
    test_scan(k, m, count, true);
    kiln_module_free(m);
    kiln_close(k);
    return api_done("libc");
}
