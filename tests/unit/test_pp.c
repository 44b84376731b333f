// The lexer and the preprocessor: what a text becomes, spelled out again, and what is reported.
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pp_text.h"

static char *repeat(const char *what, size_t count, const char *end)
{
    size_t len = strlen(what);
    char *out = malloc(len * count + strlen(end) + 1);
    for (size_t i = 0; i < count; i++)
        memcpy(out + i * len, what, len);
    strcpy(out + len * count, end);
    return out;
}

TEST(lex_reads_all_punctuators)
{
    expect("( ) [ ] { } . -> ++ -- & * + - ~ ! / % << >> < > <= >= == != ^ | && || ? : ; ... = *= "
           "/= %= += -= <<= >>= "
           "&= ^= |= ,",
           "( ) [ ] { } . -> ++ -- & * + - ~ ! / % << >> < > <= >= == != ^ | && || ? : ; ... = *= "
           "/= %= += -= <<= >>= "
           "&= ^= |= ,");
    expect("a+++++b<<<=c..d", "a ++ ++ + b << <= c . . d");
    expect("<: :> <% %>", "[ ] { }");
}

TEST(lex_removes_splices_and_comments)
{
    expect("ab\\\ncd 1\\\n2 +\\\n= \"x\\\ny\" /\\\n* no *\\\n/ // a \\\n b\n z",
           "abcd 12 += \"xy\" z");
    expect("a/**/b /* \" */ c // ' \n\"/*\" '\"'", "a b c \"/*\" '34'");
    expect("\xef\xbb\xbf"
           "a\r\nb\r\n",
           "a b");
    expect("x \\  \ny", "x y");
    expect("", "");
    expect("a // no newline at the end", "a");
}

TEST(lex_turns_keywords)
{
    result r = preprocess("while kernel foo __restrict__ _Bool");
    assert_int_equal(r.f.tokens.at[0].kind, TOK_WHILE);
    assert_int_equal(r.f.tokens.at[1].kind, TOK_KERNEL);
    assert_int_equal(r.f.tokens.at[2].kind, TOK_IDENT);
    assert_int_equal(r.f.tokens.at[3].kind, TOK_RESTRICT);
    assert_int_equal(r.f.tokens.at[4].kind, TOK_BOOL);
    arena_free(r.in);
}

TEST(lex_reads_integers)
{
    expect("0 7 10u 0x1F 017 0b101 1l 1LL 1uLL 1llu 18446744073709551615u 0xffffffffffffffff",
           "0 7 10u 31 15 5 1l 1l 1ul 1ul 18446744073709551615u 18446744073709551615");
    expect_codes("18446744073709551616u", "K0008");
    expect_codes("9223372036854775808", "K0008");
    expect("9223372036854775807", "9223372036854775807");
    expect_codes("09 0b2 0x 0b 1f 1lul 1uu 12abc 0x1g",
                 "K0006 K0006 K0006 K0006 K0007 K0007 K0007 K0007 K0007");
    expect_codes("1'000", "K0006");
}

static double real_of(const char *source)
{
    result r = preprocess(source);
    assert_int_equal(r.f.diags->error_count, 0);
    assert_int_equal(r.f.tokens.at[0].kind, TOK_FLOAT);
    double value = r.f.tokens.at[0].real;
    arena_free(r.in);
    return value;
}

TEST(lex_rounds_floats_once)
{
    static const char *const texts[] = {"0.1",
                                        "1e22",
                                        "1e23",
                                        "123456789012345678.0",
                                        "2.2250738585072011e-308",
                                        "4.9e-324",
                                        "1.7976931348623157e308",
                                        ".5",
                                        "5.",
                                        "1e0",
                                        "9007199254740993.0",
                                        "0x1.8p3",
                                        "0x.8p1",
                                        "0x1p-1074",
                                        "3.14159265358979323846264338327950288",
                                        "1e+5",
                                        "1E-5"};
    for (size_t i = 0; i < COUNT(texts); i++)
        assert_true(real_of(texts[i]) == strtod(texts[i], NULL));
    // Halfway between two f32 when rounded to f64 first: only one rounding gives strtof's answer.
    static const char *const floats[] = {
        "0.1f",  "1.00000005960464477540f", "16777217.0f",   "3.4028234e38f", "1e-45f",
        "1e10f", "7.038531e-26f",           "0x1.000001p0f", "1e-10f",        "8388608.5f"};
    for (size_t i = 0; i < COUNT(floats); i++)
        assert_true(real_of(floats[i]) == (double)strtof(floats[i], NULL));
    expect_codes("1e39f 1e400 1e-50f 1e-400 0e999f 1e 1e+ 0x1.8 1.2.3 1.5L 1.5h",
                 "K0009 K0009 K0010 K0010 K0006 K0006 K0006 K0006 K0007 K0007");
}

TEST(lex_floats_do_not_depend_on_the_locale)
{
    const char *names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"};
    char *before = strdup(setlocale(LC_ALL, NULL));
    for (size_t i = 0; i < COUNT(names); i++) {
        if (!setlocale(LC_ALL, names[i]))
            continue;
        assert_true(real_of("3.14159265358979323846264338327950288") > 3.14);
        assert_true(real_of("0x1.8p0f") > 1.4);
        break;
    }
    setlocale(LC_ALL, before);
    free(before);
}

TEST(lex_reads_characters_and_strings)
{
    expect("'a' '\\n' '\\0' '\\x7f' '\\377' '\\\\' '\\'' '\"'",
           "'97' '10' '0' '127' '-1' '92' '39' '34'");
    expect("\"a\\tb\" \"\\x41\\u00e9\" u8\"c\"", "\"a\tbA\xc3\xa9"
                                                 "c\"");
    expect_codes("'' 'ab' '\xc3\xa9' L'a' L\"a\" \"\\q\" \"\\x\" \"\\x100\" \"\\ud800\" \"\\u12\"",
                 "K0013 K0013 K0013 K0014 K0014 K0011 K0012 K0012 K0012 K0012");
    expect_codes("\"abc\n'a\n/* x", "K0002 K0003 K0001");
}

TEST(lex_names_foreign_characters)
{
    expect_codes("a @ b", "K0004");
    expect_codes("x = \xe2\x80\x9chi\xe2\x80\x9d;", "K0004");
    expect_codes("gr\xc3\xb6\xc3\x9f"
                 "e = 1",
                 "K0005");
    expect_codes("a \xe2\x88\x92 b", "K0004");
    expect_codes("a\xc2\xa0= b", "K0004");
    expect_codes("\xff \x01", "K0004 K0004");
    expect("/* \xc3\xb6 \xff */ \"\xc3\xb6\"", "\"\xc3\xb6\"");
}

// Every character that looks like one of C's is told with what it looks like, and with a fix-it.
TEST(lex_knows_what_looks_alike)
{
    static const struct {
        const char *text, *looks_like; // "": it cannot be seen
        bool is_letter;
    } rows[] = {{"\xc2\xa0", " ", false},       {"\xc2\xab", "\"", false},
                {"\xc2\xb4", "'", false},       {"\xc2\xb7", "*", false},
                {"\xc2\xbb", "\"", false},      {"\xc3\x97", "*", false},
                {"\xc3\xb7", "/", false},       {"\xcb\x86", "^", false},
                {"\xcb\x9c", "~", false},       {"\xcd\xbe", ";", false},
                {"\xce\x91", "A", true},        {"\xce\x92", "B", true},
                {"\xce\x95", "E", true},        {"\xce\x9f", "O", true},
                {"\xce\xa1", "P", true},        {"\xce\xbf", "o", true},
                {"\xd0\x90", "A", true},        {"\xd0\x92", "B", true},
                {"\xd0\x95", "E", true},        {"\xd0\x9a", "K", true},
                {"\xd0\x9c", "M", true},        {"\xd0\x9d", "H", true},
                {"\xd0\x9e", "O", true},        {"\xd0\xa0", "P", true},
                {"\xd0\xa1", "C", true},        {"\xd0\xa2", "T", true},
                {"\xd0\xa5", "X", true},        {"\xd0\xb0", "a", true},
                {"\xd0\xb5", "e", true},        {"\xd0\xbe", "o", true},
                {"\xd1\x80", "p", true},        {"\xd1\x81", "c", true},
                {"\xd1\x83", "y", true},        {"\xd1\x85", "x", true},
                {"\xd1\x96", "i", true},        {"\xd1\x98", "j", true},
                {"\xe2\x80\x82", " ", false},   {"\xe2\x80\x83", " ", false},
                {"\xe2\x80\x89", " ", false},   {"\xe2\x80\x8b", "", false},
                {"\xe2\x80\x90", "-", false},   {"\xe2\x80\x91", "-", false},
                {"\xe2\x80\x92", "-", false},   {"\xe2\x80\x93", "-", false},
                {"\xe2\x80\x94", "-", false},   {"\xe2\x80\x98", "'", false},
                {"\xe2\x80\x99", "'", false},   {"\xe2\x80\x9b", "'", false},
                {"\xe2\x80\x9c", "\"", false},  {"\xe2\x80\x9d", "\"", false},
                {"\xe2\x80\x9e", "\"", false},  {"\xe2\x80\x9f", "\"", false},
                {"\xe2\x80\xa6", "...", false}, {"\xe2\x80\xaf", " ", false},
                {"\xe2\x80\xb2", "'", false},   {"\xe2\x80\xb3", "\"", false},
                {"\xe2\x81\x84", "/", false},   {"\xe2\x81\xa0", "", false},
                {"\xe2\x86\x92", "->", false},  {"\xe2\x88\x92", "-", false},
                {"\xe2\x88\x95", "/", false},   {"\xe2\x88\x97", "*", false},
                {"\xe2\x89\xa0", "!=", false},  {"\xe2\x89\xa4", "<=", false},
                {"\xe2\x89\xa5", ">=", false},  {"\xe3\x80\x80", " ", false},
                {"\xef\xbb\xbf", "", false},    {"\xef\xbc\x81", "!", false},
                {"\xef\xbc\x82", "\"", false},  {"\xef\xbc\x85", "%", false},
                {"\xef\xbc\x86", "&", false},   {"\xef\xbc\x87", "'", false},
                {"\xef\xbc\x88", "(", false},   {"\xef\xbc\x89", ")", false},
                {"\xef\xbc\x8a", "*", false},   {"\xef\xbc\x8b", "+", false},
                {"\xef\xbc\x8c", ",", false},   {"\xef\xbc\x8d", "-", false},
                {"\xef\xbc\x8e", ".", false},   {"\xef\xbc\x8f", "/", false},
                {"\xef\xbc\x9a", ":", false},   {"\xef\xbc\x9b", ";", false},
                {"\xef\xbc\x9c", "<", false},   {"\xef\xbc\x9d", "=", false},
                {"\xef\xbc\x9e", ">", false},   {"\xef\xbc\x9f", "?", false},
                {"\xef\xbc\xbb", "[", false},   {"\xef\xbc\xbd", "]", false},
                {"\xef\xbc\xbe", "^", false},   {"\xef\xbd\x9b", "{", false},
                {"\xef\xbd\x9c", "|", false},   {"\xef\xbd\x9d", "}", false},
                {"\xef\xbd\x9e", "~", false}};
    for (size_t n = 0; n < COUNT(rows); n++) {
        char source[64], fixed[64];
        const char *like = rows[n].looks_like, *text_of = rows[n].text;
        bool is_quote = *like == '"' || *like == '\'';
        const char *blank = rows[n].is_letter ? "" : " ", *second = is_quote ? text_of : "";
        snprintf(source, sizeof source, "a%s%sb%s%sz\n", blank, text_of, second, blank);
        snprintf(fixed, sizeof fixed, "+ a%s%sb%s%sz\n", blank, like, is_quote ? like : "", blank);
        result r = preprocess(source);
        text out = {.in = r.in};
        diag_render_text(r.f.diags, &out, false);
        diag_code code = r.f.diags->list.len ? r.f.diags->list.at[0]->code : 0;
        if (code != (rows[n].is_letter ? K0005 : K0004) || !strstr(out.at, fixed))
            fail_msg("'%s' is not the fix of:\n%s", fixed, out.at);
        arena_free(r.in);
    }
}

TEST(pp_expands_object_and_function_macros)
{
    expect("#define N 4\n#define SQ(x) ((x) * (x))\nint a[N]; SQ(N + 1)",
           "int a [ 4 ] ; ( ( 4 + 1 ) * ( 4 + 1 ) )");
    expect("#define f(x) x\nf f (1) f\n(2) f", "f 1 2 f");
    expect("#define EMPTY\n#define f() a\nEMPTY f() f( ) f", "a a f");
    expect("#define f(a, b) [a|b]\nf((1, 2), 3) f(,) f(a b, )",
           "[ ( 1 , 2 ) | 3 ] [ | ] [ a b | ]");
    expect("FROM_OPTION FLAG ADD(1, 2)", "42 1 1 + 2");
    expect("#define A 1\n#undef A\nA\n#undef NEVER", "A");
}

TEST(pp_does_not_expand_forever)
{
    expect("#define foo foo + 1\nfoo", "foo + 1");
    expect("#define a b\n#define b a\na b", "a b");
    expect("#define f(x) x f\nf(1)(2)", "1 f ( 2 )");
    expect("#define f(a) a*g\n#define g(a) f(a)\nf(2)(9)", "2 * 9 * g");
    expect("#define f(x) f(x)\nf(f(f(1)))", "f ( f ( f ( 1 ) ) )");
    expect("#define NIL(x) x\n#define G_0(a) NIL(G_1)(a)\n#define G_1(a) NIL(G_0)(a)\nG_0(1)",
           "G_0 ( 1 )");
}

TEST(pp_follows_the_examples_of_the_standard)
{
    const char *defines =
        "#define x 3\n#define f(a) f(x * (a))\n#undef x\n#define x 2\n#define g f\n#define z z[0]\n"
        "#define h g(~\n#define m(a) a(w)\n#define w 0,1\n#define t(a) a\n#define p() int\n"
        "#define q(x) x\n#define r(x,y) x ## y\n#define str(x) # x\n";
    char source[2000];
    snprintf(source, sizeof source,
             "%sf(y+1) + f(f(z)) %% t(t(g)(0) + t)(1);\ng(x+(3,4)-w) | h 5) & m\n(f)^m(m);\n"
             "p() i[q()] = { q(1), r(2,3), r(4,), r(,5), r(,) };\nchar c[2][6] = { str(hello), "
             "str() };\n",
             defines);
    expect(
        source,
        "f ( 2 * ( y + 1 ) ) + f ( 2 * ( f ( 2 * ( z [ 0 ] ) ) ) ) % f ( 2 * ( 0 ) ) + t ( 1 ) ; "
        "f ( 2 * ( 2 + ( 3 , 4 ) - 0 , 1 ) ) | f ( 2 * ( ~ 5 ) ) & f ( 2 * ( 0 , 1 ) ) ^ m ( 0 , 1 "
        ") ; "
        "int i [ ] = { 1 , 23 , 4 , 5 , } ; char c [ 2 ] [ 6 ] = { \"hello\" , \"\" } ;");
    expect("#define hash_hash # ## #\n#define mkstr(a) # a\n#define in_between(a) mkstr(a)\n"
           "#define join(c, d) in_between(c hash_hash d)\nchar p[] = join(x, y);",
           "char p [ ] = \"x ## y\" ;");
    expect("#define t(x,y,z) x ## y ## z\nint j[] = { t(1,2,3), t(,4,5), t(6,,7), t(8,9,),t(10,,), "
           "t(,11,), t(,,12), t(,,) };",
           "int j [ ] = { 123 , 45 , 67 , 89 , 10 , 11 , 12 , } ;");
    expect("#define xstr(s) str(s)\n#define str(s) # s\n#define INCFILE(n) vers ## "
           "n\nxstr(INCFILE(2).h) "
           "str(strncmp(\"abc\\0d\", \"abc\", '\\4') == 0)",
           "\"vers2.hstrncmp(\"abc\\0d\", \"abc\", '\\4') == 0\"");
}

TEST(pp_takes_variable_arguments)
{
    expect("#define L(f, ...) p(f, __VA_ARGS__)\nL(1, 2, 3) L(1, (2, 3))",
           "p ( 1 , 2 , 3 ) p ( 1 , ( 2 , 3 ) )");
    expect("#define L(f, ...) p(f, ##__VA_ARGS__)\nL(1) L(1, 2)", "p ( 1 ) p ( 1 , 2 )");
    expect("#define L(a...) p(a)\nL() L(1, 2)", "p ( ) p ( 1 , 2 )");
    expect("#define L(...) #__VA_ARGS__\nL(a,  b , c)", "\"a, b , c\"");
}

TEST(pp_chooses_with_va_opt)
{
    expect("#define F(f, ...) p(f __VA_OPT__(,) __VA_ARGS__)\nF(1) F(1,) F(1, 2) F(1, (2, 3))",
           "p ( 1 ) p ( 1 ) p ( 1 , 2 ) p ( 1 , ( 2 , 3 ) )");
    expect("#define E\n#define F(...) [__VA_OPT__(x __VA_ARGS__ y)]\nF() F(E) F(E E) F(E, E)",
           "[ ] [ ] [ ] [ x , y ]");
    expect("#define F(a, ...) a ## __VA_OPT__(1) b\nF(x) F(x, 2)", "x b x1 b");
    expect("#define F(a, ...) __VA_OPT__(a b) ## c\nF(x) F(x, 2)", "c x bc");
    expect("#define F(a, ...) a ## __VA_OPT__() ## b\nF(x) F(x, 2)", "xb xb");
    expect("#define F(a, ...) __VA_OPT__(a ## __VA_ARGS__ #a)\nF(x) F(x, y, z)", "xy , z \"x\"");
    expect("#define F(...) __VA_OPT__(<) __VA_OPT__(>)\nF() F(1) F(F(1))", "< > < >");
    expect("#define F(...) __VA_OPT__((__VA_ARGS__))\nF(F(F(1)), F())", "( ( ( 1 ) ) , )");
}

// What stands in the headers of C means the same whatever was defined before.
TEST(pp_closes_the_headers_of_c)
{
    expect_codes("#define int oops\n#define return oops\n#define s oops\n#define at x +\n"
                 "#include <stdlib.h>\n#include <string.h>\n#include <stdio.h>\n",
                 "");
    expect("#define errno mine\n#include <limits.h>\n#define a 2\na errno", "2 mine");
}

static str text_at(const result *r, span at)
{
    return source_text(r->f.sources, at);
}

TEST(pp_places_tokens_in_the_definition_and_at_the_use)
{
    result r = preprocess("#define INNER(x) (x + 1)\n#define OUTER(y) INNER(y) * 2\nOUTER(abc);");
    const char *source = r.f.tokens.at[0].at.lo ? source_file_at(r.f.sources, 1)->text.at : "";
    uint32_t use = (uint32_t)(strstr(source, "OUTER(abc)") - source) + 1;
    const token *open = &r.f.tokens.at[0], *abc = open + 1, *plus = open + 2;
    assert_int_equal(plus->kind, TOK_PLUS);
    source_spelling plain = source_spell(r.f.sources, plus->at);
    assert_int_equal(plain.at.lo, strstr(source, "+ 1") - source + 1);
    assert_string_equal(source_macro_of(r.f.sources, plain.expansion)->name, "INNER");
    plain = source_use_of(r.f.sources, plain.expansion);
    assert_int_equal(plain.at.lo, strstr(source, "INNER(y)") - source + 1);
    plain = source_use_of(r.f.sources, plain.expansion);
    assert_int_equal(plain.at.lo, use);
    assert_int_equal(plain.at.hi, use + 10);
    assert_int_equal(source_find(r.f.sources, plus->at.lo).line, 3);
    assert_true(plus->flags & TF_FROM_MACRO);
    // What the user wrote as an argument keeps its own place.
    assert_string_equal(abc->name, "abc");
    assert_int_equal(source_spell(r.f.sources, abc->at).at.lo, use + 6);
    assert_false(abc->flags & TF_FROM_MACRO);
    // A piece that has an argument in it: the parameter's place.
    assert_true(str_same(text_at(&r, span_join(abc->at, open[3].at)), STR("x + 1")));
    // All that INNER expands to is its use; all of OUTER is the user's text.
    assert_true(str_same(text_at(&r, span_join(open->at, open[4].at)), STR("INNER(y)")));
    assert_true(str_same(text_at(&r, span_join(open->at, open[6].at)), STR("OUTER(abc)")));
    arena_free(r.in);
}

TEST(pp_knows_which_spans_are_exact)
{
    result r = preprocess("#define ADD(a, b) a + b\n#define TWO 1 + 1\nADD(x, TWO * y) TWO - z");
    const token *t = r.f.tokens.at; // x + 1 + 1 * y 1 + 1 - z
    source_spelling s = source_spell(r.f.sources, span_join(t[0].at, t[6].at));
    assert_true(s.is_exact && s.whole);
    s = source_spell(r.f.sources, span_join(t[2].at, t[6].at)); // the argument
    assert_true(s.is_exact && !s.expansion);
    assert_true(str_same(text_at(&r, s.at), STR("TWO * y")));
    s = source_spell(r.f.sources, span_join(t[4].at, t[6].at)); // 1 * y: part of TWO
    assert_false(s.is_exact);
    s = source_spell(r.f.sources, span_join(t[7].at, t[11].at)); // TWO - z
    assert_true(s.is_exact);
    s = source_spell(r.f.sources, span_join(t[9].at, t[11].at)); // 1 - z
    assert_false(s.is_exact);
    arena_free(r.in);
}

TEST(pp_knows_its_own_names)
{
    expect("__LINE__\n__LINE__ __FILE__ __COUNTER__ __COUNTER__ __STDC__ __STDC_VERSION__ __KILN__ "
           "__INCLUDE_LEVEL__",
           "1 2 \"t.c\" 0 1 1 201112l 1 0");
    expect("#line 100 \"x.c\"\n__LINE__ __FILE__\n# 7\n__LINE__", "100 \"x.c\" 7");
    expect("__KILN_TARGET_SM__ __KILN_TARGET_CUDA__ __KILN_TARGET_CPU__",
           "90 1 __KILN_TARGET_CPU__");
    expect("#define A __LINE__\n#define B(x) x\nB(\nA)", "4");
}

TEST(pp_defines_what_headers_define_only_after_them)
{
    expect("true NULL", "true NULL");
    expect("#include <stdbool.h>\ntrue false bool NULL", "1 0 _Bool NULL");
    expect("#include <kiln/kernel.h>\ntrue UINT32_MAX order_acquire static_assert INT64_C(5) "
           "UINT64_MAX",
           "1 4294967295u 1u _Static_assert 5l 18446744073709551615ul");
    expect("#include <limits.h>\nINT_MAX\n#undef INT_MAX\nINT_MAX\n#define INT_MAX 7\nINT_MAX",
           "2147483647 INT_MAX 7");
    expect("#include <kiln/kernel.h>\n#define M_PI 3\nM_PI", "3");
    expect("#ifdef FLT_DIG\nno\n#endif\n#include <float.h>\n#ifdef FLT_DIG\nyes\n#endif", "yes");
    expect("#include <sys/no_such_header.h>\n#include <vector>\nx", "x");
}

TEST(pp_table_of_predefined_names_is_sorted)
{
    arena *a = arena_new();
    name_table *names = names_in(a);
    static const char *const some[] = {
        "CHAR_BIT", "DBL_MAX",  "INT8_MAX", "INT_MAX",          "NAN",     "NULL",  "UINT8_MAX",
        "__KILN__", "__LINE__", "__STDC__", "__STDC_VERSION__", "alignas", "false", "scope_block",
        "true"};
    for (size_t i = 0; i < COUNT(some); i++) {
        const char *name = name_cstr(names, some[i]);
        assert_non_null(pp_predef_find(name, name_len(name)));
    }
    assert_null(pp_predef_find("nothing", 7));
    assert_true(pp_predef_is_sorted());
    arena_free(a);
}

// Only these names have a meaning that is no text.
TEST(pp_magic_names)
{
    static const char *const names[] = {"__COUNTER__", "__FILE__", "__INCLUDE_LEVEL__", "__LINE__"};
    const predef *row = pp_predef_find("CHAR_BIT", 8), *last = pp_predef_find("wgmma_b_mn", 10);
    uint32_t found = 0, rows = 0;
    assert_true(row && last);
    for (; row <= last; row++, rows++) {
        bool is_magic = false;
        for (size_t i = 0; i < COUNT(names); i++)
            is_magic |= !strcmp(row->name, names[i]);
        if (!is_magic && row->magic)
            printf("%s\n", row->name);
        assert_int_equal(row->magic != 0, is_magic);
        found += is_magic;
    }
    assert_int_equal(found, COUNT(names));
    assert_true(rows > 100);
}

TEST(pp_reports_bad_definitions)
{
    expect_codes("#define\n#define 1\n#undef\n#ifdef 5\n#endif", "K0032 K0032 K0032 K0032");
    expect_codes("#define f(\n#define f(a\n#define f(a,)\n#define f(a a)\n#define f(a, a)\n#define "
                 "f(..., a)\n#define f(1)",
                 "K0033 K0033 K0033 K0033 K0033 K0033 K0033");
    expect_codes("#define A 1\n#define A 1\n#define A 2\n#define A(x) 2", "K0034 K0034");
    // Each part of a definition counts: parameters, their names and number, tokens, blanks inside.
    expect_codes("#define f(a, b) 1\n#define f(a, b)   1\n", "");
    expect_codes("#define f(a, b) 1\n#define f(c, b) 1", "K0034");
    expect_codes("#define f(a, b) 1\n#define f(a, c) 1", "K0034");
    expect_codes("#define f(a, b) 1\n#define f(a) 1", "K0034");
    expect_codes("#define f(a) 1\n#define f(a, ...) 1", "K0034");
    expect_codes("#define f() 1\n#define f 1", "K0034");
    expect_codes("#define f 1 + 2\n#define f 1 +  2", "");
    expect_codes("#define f 1 + 2\n#define f 1 +2", "K0034");
    expect_codes("#define f 1 + 2\n#define f 1 - 2", "K0034");
    expect_codes("#define f x 1\n#define f y 1", "K0034");
    expect_codes("#define f x 1\n#define f x 2", "K0034");
    expect_codes("#define f x 1\n#define f x 1 2", "K0034");
    expect_codes("#include <kiln/cuda.h>\n#define warpSize 32u", ""); // a header's gives way
    expect_codes("#include <kiln/cuda.h>\n#define warpSize 32u\n#define warpSize 64", "K0051");
    expect_codes("#pragma kiln conversions(c)\n#define A 1\n#define A 2", "K0051");
    expect_codes("#define RAND_MAX 5\n#include <stdlib.h>", ""); // C's headers take theirs
    expect_codes("#define warpSize 32u\n#include <kiln/cuda.h>", "K0034");
    expect_codes("#define f(a) #b\n#define g(a) # \n#define h #b", "K0037 K0037");
    expect_codes("#define f(a) a##\n#define g ## a", "K0038 K0038");
    expect_codes("#define f(a) __VA_ARGS__", "K0045");
    expect_codes("#define f(a) __VA_OPT__(1)\n#define g(...) __VA_OPT__ 1", "K0045 K0045");
    expect_codes("#define f(...) __VA_OPT__(1\n#define g(...) __VA_OPT__(a ##)", "K0045 K0045");
    expect_codes("#define f(...) (__VA_OPT__(__VA_OPT__(1)))\n#define __VA_OPT__ 1", "K0045 K0046");
    expect_codes("#define defined 1\n#define __LINE__ 2\n#define __VA_ARGS__ 3",
                 "K0046 K0046 K0046");
}

TEST(pp_reports_bad_calls)
{
    expect_codes("#define f(a, b) a\nf(1) f(1, 2, 3) f()", "K0035 K0035 K0035");
    expect_codes("#define z() a\nz(1)", "K0035");
    expect_codes("#define f(a) a\nf(1; x = 2;", "K0036");
    expect_codes("#define CAT(a, b) a ## b\nCAT(+, x)", "K0039");
}

TEST(pp_reports_bad_directives)
{
    expect_codes("#inclde <x>\n#frobnicate", "K0020 K0020");
    expect_codes("#error don't\n#warning it's", "K0025 K0026");
    expect_codes("#include\n#include x\n#include <abc\n#include \"\"", "K0027 K0027 K0027 K0027");
    expect_codes("#include \"no_such_header.h\"", "K0028");
    expect_codes("#line\n#line x\n#line 1 2", "K0049 K0049 K0049");
    expect_codes("#\n# \n#ident \"x\"\n#pragma omp parallel 'x\n#pragma", "");
}

TEST(pp_passes_pragmas_on)
{
    expect("#pragma unroll\n#pragma unroll 4\n#pragma unroll(8)\n#pragma GCC unroll 2\n#pragma "
           "nounroll",
           "<unroll -1> <unroll 4> <unroll 8> <unroll 2> <unroll 1>");
    expect("#define N 4\n#pragma unroll N * 2\n#define U(n) _Pragma(#n) x\nU(unroll 3) "
           "_Pragma(\"unroll\")",
           "<unroll 8> <unroll 3> x <unroll -1>");
    expect("#pragma unroll X + 1\n#pragma pack(1)\n#pragma pack()",
           "<unroll 0> ( X + 1 ) <packed 1> <packed 0>");
    expect("#pragma kiln conversions(c)\n#pragma kiln conversions(strict)",
           "<conversions 1> <conversions 0>");
    expect_codes("#pragma unroll 0\n#pragma unroll 1000000\n#pragma kiln what\n_Pragma(x)",
                 "K0048 K0048 K0048 K0047");
}

TEST(pp_pairs_brackets)
{
    result r = preprocess("f(a[1], {b})");
    assert_int_equal(r.f.tokens.at[1].match, 10);
    assert_int_equal(r.f.tokens.at[3].match, 5);
    assert_int_equal(r.f.tokens.at[7].match, 9);
    arena_free(r.in);
    expect_codes("{ ( }", "K0015");
    expect_codes("( [ {", "K0015 K0015 K0015");
    expect_codes(") } ]", "K0016 K0016 K0016");
    expect_codes("{ ) }", "K0016");
    expect_codes("( ] )", "K0016");
}

static void expect_limit(char *source, const char *code)
{
    expect_codes(source, code);
    free(source);
}

TEST(pp_has_limits)
{
    expect_limit(repeat("(", 1000000, ""), "K0017");
    expect_limit(repeat("#if 1\n", 100000, ""), "K0050");
    expect_limit(repeat("#if 0\n", 100000, ""), "K0050");
    expect_limit(repeat("a ", 2200000, ""), "K0019");
    expect_limit(repeat("x", (16 << 20) + 1, ""), "K0018");
    char *parens = repeat("(", 100000, "");
    char *source = malloc(strlen(parens) + 100);
    sprintf(source, "#if %s\n#endif", parens);
    free(parens);
    expect_limit(source, "K0042");
    char *calls = repeat("F(", 300, "1");
    source = malloc(strlen(calls) * 2 + 100);
    sprintf(source, "#define F(x) x\n%s", calls);
    for (int i = 0; i < 300; i++)
        strcat(source, ")");
    free(calls);
    expect_limit(source, "K0041");
    text laughs = {.in = arena_new()};
    text_puts(&laughs, "#define A0 x\n");
    for (int i = 1; i < 40; i++)
        text_printf(&laughs, "#define A%d A%d A%d\n", i, i - 1, i - 1);
    text_puts(&laughs, "A39");
    expect_codes(laughs.at, "K0040");
    arena_free(laughs.in);
    expect_codes("#define S(x) #x\n#define G(x) S(x) "
                 "S(x)\nG(G(G(G(G(G(G(G(G(G(G(G(G(G(G(G(G(G(G(G(1))))))))))))))))))))",
                 "K0040");
}

TEST(pp_takes_files_up_to_a_limit)
{
    char *lines = malloc(PP_FILE_BYTES + 2);
    memset(lines, '\n', PP_FILE_BYTES + 1);
    lines[PP_FILE_BYTES + 1] = 0;
    result r = preprocess(lines); // one byte more
    assert_false(r.ok);
    arena_free(r.in);
    lines[PP_FILE_BYTES] = 0;
    r = preprocess(lines);
    assert_true(r.ok);
    arena_free(r.in);
    free(lines);
}

TEST(pp_reads_library_texts_apart)
{
    result r = preprocess("#define if while\n#define return break\nx");
    token *tokens, *again;
    uint32_t count, count_again;
    assert_true(pp_library(&r.f, "reduce.h", &tokens, &count));
    assert_true(count > 100);
    assert_int_equal(tokens[count - 1].kind, TOK_EOF);
    assert_true(pp_library(&r.f, "reduce.h", &again, &count_again));
    assert_ptr_equal(tokens, again);
    assert_true(source_file_at(r.f.sources, tokens[0].at.lo)->is_builtin);
    assert_false(pp_library(&r.f, "nothing.h", &tokens, &count));
    assert_int_equal(r.f.diags->error_count, 0);
    arena_free(r.in);
}
