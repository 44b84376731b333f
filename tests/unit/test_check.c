// The checker: types of expressions, constants, conversions, builtins; what must be silent and what
// must not. The messages themselves are golden files in tests/diag.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dev/device.h"
#include "front/front.h"
#include "tests/test.h"

typedef struct checked {
    arena *in;
    front *f;
    char codes[256]; // "K2001 K2207", in order
} checked;

static checked check_source(const char *source, const char *target)
{
    checked c = {.in = arena_new()};
    assert_non_null(c.in);
    bug_frame frame;
    static front_options options;
    options = (front_options){.target = device_target(target)};
    if (bug_enter(&frame)) {
        fail_msg("bug: %s", frame.text);
    } else {
        front *f = c.f = arena_new_of(c.in, front);
        f->in = c.in;
        f->names = names_in(c.in);
        f->sources = sources_in(c.in);
        f->diags = diags_in(c.in, f->sources);
        f->options = &options;
        source_file *file = source_add(f->sources, "test.c", str_of(source));
        if (pp_run(f, file))
            parse_file(f);
        for (uint32_t i = 0; i < f->diags->list.len; i++) {
            size_t len = strlen(c.codes);
            snprintf(c.codes + len, sizeof c.codes - len, "%s%s", len ? " " : "",
                     diag_code_name(f->diags->list.at[i]->code));
        }
        bug_leave(&frame);
    }
    return c;
}

// Checks that a kernel with this body gives exactly these codes.
static void expect_body(const char *body, const char *codes)
{
    char source[4096];
    snprintf(source, sizeof source,
             "#include <kiln/kernel.h>\n"
             "kernel void k(i32 i, u32 u, i64 l, u64 ul, f32 x, f64 d, i8 c, u8 b, bool t,\n"
             "              f32 *p, const f32 *q, i32 *ip, u32 *up, f16 *h, f32x4 *v, void *any)\n"
             "{\n%s\n}\n",
             body);
    checked c = check_source(source, "interp");
    if (strcmp(c.codes, codes))
        fail_msg("'%s' gives '%s', expected '%s'", body, c.codes, codes);
    arena_free(c.in);
}

static void expect_file(const char *text_after_include, const char *codes)
{
    char source[4096];
    snprintf(source, sizeof source, "#include <kiln/kernel.h>\n%s\n", text_after_include);
    checked c = check_source(source, "sm_90a");
    if (strcmp(c.codes, codes))
        fail_msg("'%s' gives '%s', expected '%s'", text_after_include, c.codes, codes);
    arena_free(c.in);
}

// The checked form of `out = EXPRESSION;` in a kernel: its right side.
static const char *type_of(const char *expression)
{
    static char text_of[128];
    char source[2048];
    snprintf(source, sizeof source,
             "#include <kiln/kernel.h>\n"
             "kernel void k(i32 i, u32 u, i64 l, u64 ul, f32 x, f64 d, i8 c, u8 b, bool t,\n"
             "              f32 *p, const f32 *q, f16 *h, f32x4 *v)\n{ (void)(%s); }\n",
             expression);
    checked c = check_source(source, "interp");
    if (*c.codes)
        fail_msg("'%s' gives %s", expression, c.codes);
    ast_stmt *body = c.f->kernels.at[0]->body;
    ast_expr *e = body->body.at[0]->expr;
    while (e->kind == E_CONVERT && e->type->kind == TY_VOID)
        e = e->a;
    snprintf(text_of, sizeof text_of, "%s", type_text(c.in, e->type));
    arena_free(c.in);
    return text_of;
}

TEST(check_types_follow_c)
{
    assert_string_equal(type_of("i + u"), "u32");
    assert_string_equal(type_of("i + l"), "i64");
    assert_string_equal(type_of("u + l"), "i64");
    assert_string_equal(type_of("l + ul"), "u64");
    assert_string_equal(type_of("c + b"), "i32");
    assert_string_equal(type_of("c << l"), "i32");
    assert_string_equal(type_of("l >> c"), "i64");
    assert_string_equal(type_of("x * 2"), "f32");
    assert_string_equal(type_of("x * 2.0"), "f64");
    assert_string_equal(type_of("x + d"), "f64");
    assert_string_equal(type_of("x < d"), "i32");
    assert_string_equal(type_of("!p"), "i32");
    assert_string_equal(type_of("t && p"), "i32");
    assert_string_equal(type_of("-b"), "i32");
    assert_string_equal(type_of("~u"), "u32");
    assert_string_equal(type_of("p + 1"), "f32 *");
    assert_string_equal(type_of("1 + p"), "f32 *");
    assert_string_equal(type_of("p - q"), "i64");
    assert_string_equal(type_of("t ? p : q"), "const f32 *");
    assert_string_equal(type_of("t ? i : x < 1"), "i32");
    assert_string_equal(type_of("sizeof(f32x4)"), "u64");
    assert_string_equal(type_of("&v[1].y"), "f32 *");
    assert_string_equal(type_of("&q[1]"), "const f32 *");
    assert_string_equal(type_of("'a'"), "i32");
    assert_string_equal(type_of("(i++, x)"), "f32");
    assert_string_equal(type_of("0xffffffff"), "u32");
    assert_string_equal(type_of("4294967295"), "i64");
}

TEST(check_builtins_choose_their_type)
{
    assert_string_equal(type_of("max(x, 0)"), "f32");
    assert_string_equal(type_of("max(u, 1)"), "u32");
    assert_string_equal(type_of("min(i, l)"), "i64");
    assert_string_equal(type_of("min(c, b)"), "i32");
    assert_string_equal(type_of("sqrt(d)"), "f64");
    assert_string_equal(type_of("sqrt(2)"), "f64");
    assert_string_equal(type_of("sqrtf(2)"), "f32");
    assert_string_equal(type_of("shuffle(c, 0)"), "i8");
    assert_string_equal(type_of("shuffle(h[0], 0)"), "f16");
    assert_string_equal(type_of("popcount(l)"), "u32");
    assert_string_equal(type_of("reverse_bits(i)"), "u32");
    assert_string_equal(type_of("f32(h[0])"), "f32");
    assert_string_equal(type_of("to_f16(x)"), "f16");
    assert_string_equal(type_of("load_readonly(v)"), "f32x4");
    assert_string_equal(type_of("thread_x()"), "u32");
    assert_string_equal(type_of("fma(x, 2, 1)"), "f32");
}

TEST(check_silent_conversions)
{
    expect_body("i64 a = i; a = u; f64 e = i; e = u; e = x; f32 y = c; y = b; y = t; ip[0] = u;",
                "");
    expect_body("f32 y = 1; y = 0.5; y = -3; y = 16777216; y *= 2; y += 0.5; y /= 3; p[0] = y;",
                "");
    expect_body(
        "u8 a = 255; i8 e = -128; u32 g = -1; u16 s = 65535u; ip[0] = a + e + s; up[0] = g;", "");
    expect_body("bool f = i; f = x; f = p; f |= i > 2; ip[0] = f;", "");
    expect_body("b += 1; b += c; b <<= 2; b &= 0x0f; b -= 255; c *= 3; c ^= c; ip[0] = b + c;", "");
    expect_body("any = p; p = any; q = p; const void *w = q; q = w; p = 0; ip[0] = p == 0;", "");
    expect_body("p[l] = 1; p[u] = 2; p[b] = 3; 3 [p] = 4;", "");
}

TEST(check_lossy_conversions)
{
    expect_body("p[0] = i;", "K2004");
    expect_body("p[0] = x * i;", "K2004");
    expect_body("d = l;", "K2004");
    expect_body("i = x;", "K2005");
    expect_body("i += x;", "K2005");
    expect_body("x = d;", "K2006");
    expect_body("x = 0.1;", "K2006");
    expect_body("x += 0.1;", "K2006");
    expect_body("x *= d;", "K2006");
    expect_body("i = l;", "K2007");
    expect_body("b = i;", "K2007");
    expect_body("b += i;", "K2007");
    expect_body("b = 256;", "K2008");
    expect_body("b = -1;", "K2008");
    expect_body("i = 4294967296;", "K2008");
    expect_body("i = 3000000000;", "K2008");
    expect_body("x = 16777217;", "K2008");
    expect_body("x *= i;", "K2004");
    expect_body("i *= 0.5f;", "K2005");
    expect_body("x = max(x, 0.1);", "K2006");
}

TEST(check_lax_mode_allows_what_c_allows)
{
    expect_body("#pragma kiln conversions(c)\n x = i; i = x; x = d; b = i; i += x; x *= 0.1;", "");
    expect_body("#pragma kiln conversions(c)\n p = ip;", "K2010");
}

TEST(check_one_mistake_one_message)
{
    expect_body("i32 a = nothing_here + 1; a += 2; ip[a] = a * nothing_else;", "K2001 K2001");
    expect_body("f32 y = missing_function(x) * 2 + i; p[0] = y;", "K2002");
    expect_body("struct no_such s; s.a = 1; s.b = 2;", "K2302");
    expect_body("void w; w = 3; i = w;", "K2301");
    expect_body("i32 a[2] = {1, 2, 3}; ip[0] = a[0] + a[1];", "K2101");
}

TEST(check_warnings)
{
    expect_body("p[u * i] = 0;", "K2207");
    expect_body("p[(u + 1) * i + 3] = 0;", "K2207");
    expect_body("p[u * 4 + 1] = 0; p[l * i] = 0; p[block_x() * block_dim_x() + u] = 0;", "");
    expect_body("f32 a[8]; a[u * i] = 0; p[0] = a[0];", "");
    expect_body("const f32 *row = q + u * i; p[0] = row[0];", "K2207");
    expect_body("assert(i > 0 && \"i is a count\"); switch (i) { case 0: return; break; }", "");
    expect_body("if (u >= 0) i = 1; ip[0] = i;", "K2202");
    expect_body("if (u > -1) i = 1; ip[0] = i;", "K2202");
    expect_body("if (b == 256) i = 1; ip[0] = i;", "K2202");
    expect_body("if (i >= 0 && c <= 127 && i <= 2147483647) i = 1; ip[0] = i;", "");
    expect_body("ip[0] = u << 31; ip[1] = l << 63; ip[2] = b << 31;", "K2007");
    expect_body("ip[0] = i << 32;", "K2201");
    expect_body("ip[0] = i / 0;", "K2203");
    expect_body("i32 a; ip[0] = a;", "K2208");
    expect_body("i32 a; if (i) a = 1; ip[0] = a;", "");
    expect_body("i32 a; if (i) ip[0] = a;", "K2208");
    expect_body("i32 a; for (i32 k = 0; k < 4; k++) { if (k) ip[k] = a; a = k; }", "");
    expect_body("i32 a; while (i--) { ip[0] = a; a = 3; }", "K2208");
    expect_body("i32 a; a++; ip[0] = a;", "K2208");
    expect_body("i32 a, *r = &a; *r = 1; ip[0] = a;", "");
    expect_body("i32 a; switch (i) { case 0: a = 1; break; default: a = 2; } ip[0] = a;", "");
    expect_body("while (i = 3) ip[0] = 1;", "K2206");
    expect_body("while ((i = i - 1)) ip[0] = 1;", "");
    expect_body("i + 1;", "K2205");
    expect_body("(void)i; i++; barrier();", "");
}

TEST(check_constants_follow_the_run_time_rules)
{
    expect_file(
        "static_assert(7 / 2 == 3 && -7 / 2 == -3 && -7 % 3 == -1, \"\");"
        "static_assert(2147483647 + 1 == -2147483647 - 1, \"wraps\");"
        "static_assert((1 << 33) == 2, \"modulo\");"
        "static_assert((-8 >> 1) == -4 && (0xfffffff8u >> 1) == 0x7ffffffc, \"\");"
        "static_assert((u8)300.0 == 255 && (i8)-1e9 == -128 && (u32)-5.0f == 0, \"saturates\");"
        "static_assert((i32)3.99f == 3 && (i32)-3.99 == -3 && (u8)300 == 44, \"\");"
        "static_assert((f32)16777217 == 16777216.0f, \"rounds\");"
        "static_assert(0.1f + 0.2f != 0.1 + 0.2, \"f32 arithmetic\");"
        "static_assert((-2147483647 - 1) / -1 == -2147483647 - 1, \"\");"
        "static_assert((1 ? 2 : 1 / 1) == 2 && (0 && 1) == 0 && (1 || 0), \"\");"
        "static_assert(18446744073709551615u > 0 && -1 < 1u == 0, \"\");"
        "static_assert(target_sm() == 90 && target_is_cuda() && !target_is_cpu(), \"\");"
        "static_assert(sizeof(struct { f32 x; f64 y; }) == 16, \"\");"
        "static_assert(_Generic(1 < 2, i32: 1, default: 0), \"\");"
        "kernel void k(i32 *p) { p[0] = 1; }",
        "K2212 K2201");
}

TEST(check_target_conditions_become_constants)
{
    checked c = check_source("#include <kiln/kernel.h>\n"
                             "kernel void k(i32 n, i32 *p)\n"
                             "{ if (target_sm() >= 90 && n > 2) p[0] = 1; }",
                             "interp");
    assert_string_equal(c.codes, "");
    ast_expr *condition = c.f->kernels.at[0]->body->body.at[0]->expr;
    assert_int_equal(condition->kind, E_INT);
    assert_int_equal(condition->integer, 0);
    arena_free(c.in);
}

TEST(check_initialisers)
{
    checked c =
        check_source("#include <kiln/kernel.h>\n"
                     "struct s { i32 a; struct { i32 b, c; } in[2]; i32 d; };\n"
                     "kernel void k(i32 *p)\n"
                     "{ struct s v = {1, 2, 3, {4}, .in[1].c = 5, 6}; i32 m[][2] = {1, 2, 3};\n"
                     "  p[0] = v.a + m[1][0]; }",
                     "interp");
    assert_string_equal(c.codes, "");
    ast_stmt *body = c.f->kernels.at[0]->body;
    ast_decl *v = body->body.at[0]->decls.at[0], *m = body->body.at[1]->decls.at[0];
    static const uint64_t offsets[] = {0, 4, 8, 12, 16, 20};
    static const uint64_t values[] = {1, 2, 3, 4, 5, 6};
    assert_int_equal(v->init->inits.len, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(v->init->inits.at[i].offset, offsets[i]);
        assert_int_equal(v->init->inits.at[i].value->integer, values[i]);
    }
    assert_int_equal(m->type->len, 2);
    assert_int_equal(m->init->inits.len, 3);
    arena_free(c.in);
}

TEST(check_host_tables_are_silent_until_used)
{
    expect_file("static const char *const names[] = {\"a\", \"b\"};\n"
                "static i32 counter = 3;\n"
                "kernel void k(i32 *p) { p[0] = sizeof(counter); }",
                "");
    expect_file("static const char *const names[] = {\"a\", \"b\"};\n"
                "kernel void k(i32 *p) { p[0] = names[0][0]; p[1] = names[1][0]; }",
                "");
    expect_file("static i32 counter = 3;\nstatic i32 *const where[] = {&counter, 0};\n"
                "kernel void k(i32 *p) { p[0] = *where[0]; p[1] = where[1] == 0; }",
                "K2054");
    expect_file("static i32 f(void) { return 1; }\nstatic const i32 values[] = {1, f()};\n"
                "kernel void k(i32 *p) { p[0] = values[0]; }",
                "K2106");
    expect_file("static i32 counter = 3; kernel void k(i32 *p) { p[0] = counter; }", "K2054");
}

TEST(check_flow)
{
    expect_file("static i32 f(i32 n) { while (1) { if (n) return 1; n++; } }\n"
                "static i32 g(i32 n) { switch (n) { case 1: return 2; default: return 3; } }\n"
                "static i32 h(i32 n) { if (n) return 1; else return 2; }\n"
                "static i32 t(i32 n) { if (n) return 1; trap(); }\n"
                "static i32 w(i32 n) { do { n++; if (n > 3) return n; } while (1); }\n"
                "kernel void k(i32 *p) { p[0] = f(1) + g(2) + h(3) + t(4) + w(5); }",
                "");
    expect_file("static i32 f(i32 n) { while (1) { if (n) break; } }\n"
                "kernel void k(i32 *p) { p[0] = f(1); }",
                "K2401");
    expect_file("kernel void k(i32 *p) { for (;;) { p[0] = 1; break; p[1] = 2; } }", "K2403");
}

TEST(check_suggestions)
{
    checked c = check_source("#include <kiln/kernel.h>\n"
                             "kernel void k(i32 *p) { i32 counter = 1; p[0] = counter; }",
                             "interp");
    front *f = c.f;
    assert_string_equal(front_suggest(f, NULL, "thread_xx"), "thread_x");
    assert_string_equal(front_suggest(f, NULL, "atomic_ad"), "atomic_add");
    assert_null(front_suggest(f, NULL, "zzzzzz"));
    assert_null(front_suggest(f, NULL, "ab"));
    arena_free(c.in);
}

TEST(check_builtin_table)
{
    const type *fixed;
    for (int id = BI_NONE + 1; id < BI_COUNT; id++) {
        const builtin *b = builtin_at((builtin_id)id);
        assert_ptr_equal(builtin_find(b->name, &fixed), b);
        assert_null(fixed);
        assert_non_null(b->section);
    }
    assert_ptr_equal(builtin_find("sqrtf", &fixed), builtin_at(BI_sqrt));
    assert_int_equal(fixed->kind, TY_F32);
    assert_null(builtin_find("no_such_builtin", &fixed));
}
