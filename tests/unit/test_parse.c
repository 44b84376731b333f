// Types, declarators and the parser: what a text becomes (its tree as text) and what is reported.
#include "base/bug.h"
#include "front/front.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct parsed {
    arena *in;
    front f;
} parsed;

static parsed parse_text(const char *source)
{
    static const front_options options = {0};
    parsed p = {.in = arena_new()};
    assert_non_null(p.in);
    p.f = (front){.in = p.in, .names = names_in(p.in), .options = &options};
    p.f.sources = sources_in(p.in);
    p.f.diags = diags_in(p.in, p.f.sources);
    source_file *file = source_add(p.f.sources, "test.c", str_of(source));
    if (pp_run(&p.f, file))
        parse_file(&p.f);
    return p;
}

// The codes reported, joined with spaces.
static const char *codes_of(const parsed *p)
{
    text t = {.in = p->in};
    text_puts(&t, "");
    for (uint32_t i = 0; i < p->f.diags->list.len; i++)
        text_printf(&t, "%s%s", i ? " " : "", diag_code_name(p->f.diags->list.at[i]->code));
    return t.len ? t.at : "";
}

static void expect_codes(const char *source, const char *codes)
{
    parsed p = parse_text(source);
    assert_string_equal(codes_of(&p), codes);
    arena_free(p.in);
}

static void expect_body(const char *statements, const char *codes)
{
    size_t len = strlen(statements) + 100;
    char *source = malloc(len);
    assert_non_null(source);
    snprintf(source, len, "kernel void f(f32 *x, u32 n)\n{\n%s\n}\n", statements);
    expect_codes(source, codes);
    free(source);
}

// The type of the file-scope name `v`.
static void expect_type(const char *declaration, const char *spelled)
{
    parsed p = parse_text(declaration);
    assert_string_equal(codes_of(&p), "");
    ast_decl *d = scope_find(p.f.file_scope, name_cstr(p.f.names, "v"));
    assert_non_null(d);
    assert_string_equal(type_text(p.in, d->type), spelled);
    arena_free(p.in);
}

static void expect_layout(const char *declaration, uint64_t size, uint32_t align)
{
    parsed p = parse_text(declaration);
    assert_string_equal(codes_of(&p), "");
    ast_decl *d = scope_find(p.f.file_scope, name_cstr(p.f.names, "v"));
    assert_non_null(d);
    assert_int_equal(type_size(d->type), size);
    assert_int_equal(type_align(d->type), align);
    arena_free(p.in);
}

TEST(type_words_make_scalars)
{
    expect_type("extern unsigned v;", "u32");
    expect_type("extern long unsigned int long v;", "u64");
    expect_type("extern short v;", "i16");
    expect_type("extern char v;", "i8");
    expect_type("extern unsigned char v;", "u8");
    expect_type("extern signed v;", "i32");
    expect_type("extern double v;", "f64");
    expect_type("extern _Bool v;", "bool");
    expect_type("extern size_t v;", "u64");
    expect_type("extern const volatile float v;", "const volatile f32");
}

TEST(type_declarators_nest)
{
    expect_type("extern f32 *v;", "f32 *");
    expect_type("extern const f32 *restrict v;", "const f32 *restrict");
    expect_type("extern f32 v[4][8];", "f32[4][8]");
    expect_type("extern f32 (*v)[8];", "f32 (*)[8]");
    expect_type("extern f32 *v[8];", "f32 *[8]");
    expect_type("extern f32 (*v[2])[8];", "f32 (*[2])[8]");
    expect_type("typedef f32 row[8]; extern const row v;", "const f32[8]");
    expect_type("f32 v(i32 a[4], const u8 *b);", "f32(i32 *, const u8 *)");
    expect_type("extern f32 ((v));", "f32");
    expect_type("enum e { A }; extern enum e v;", "enum e");
    expect_type("extern u32 v[sizeof(f64)];", "u32[8]");
}

TEST(type_layout_is_the_hosts)
{
    expect_layout("extern struct { u8 a; f64 b; u8 c; } v;", 24, 8);
    expect_layout("extern union { u8 a; u32 b[3]; } v;", 12, 4);
    expect_layout("extern struct { u8 a; _Alignas(16) f32 b; } v;", 32, 16);
    expect_layout("extern struct { u8 a; struct { u16 b; }; } v;", 4, 2);
    expect_layout("extern struct { u8 a; f32x4 b; } v;", 32, 16);
    expect_layout("extern f32x3 v;", 12, 4);
    expect_layout("extern f16x8 v;", 16, 16);
    expect_layout("struct s; extern const struct s v; struct s { f64 a[3]; };", 24, 8);
    expect_layout("struct __attribute__((aligned(32))) s { u8 a; }; extern struct s v;", 32, 32);
}

TEST(type_fields_are_found_through_anonymous_members)
{
    parsed p = parse_text("extern struct { u32 a; union { f32 b; struct { u8 c, d; }; }; } v;");
    const type *t = scope_find(p.f.file_scope, name_cstr(p.f.names, "v"))->type;
    uint64_t offset = 0;
    assert_non_null(type_find_field(t, name_cstr(p.f.names, "d"), &offset));
    assert_int_equal(offset, 5);
    assert_null(type_find_field(t, name_cstr(p.f.names, "e"), &offset));
    arena_free(p.in);
}

TEST(parse_prints_a_tree)
{
    parsed p = parse_text("kernel block(32, 2) void f(u32 *x)\n{\n    x[1] = 2 + n;\n}\n");
    assert_string_equal(codes_of(&p), "K2001");
    arena_free(p.in);
    p = parse_text("kernel block(32, 2) void f(u32 *x)\n{\n    x[1] = 2;\n}\n");
    assert_string_equal(codes_of(&p), "");
    text out = {.in = p.in};
    ast_print(&p.f, &out);
    assert_non_null(strstr(out.at, "kernel f block(32, 2, 1) : void  @1:26\n"
                                   "  param x : u32 *  @1:33\n"
                                   "  block  @2:1\n"
                                   "    do  @3:5\n"
                                   "      assign = : u32  @3:5\n"
                                   "        index : u32  @3:5\n"));
    arena_free(p.in);
}

TEST(parse_prints_a_loop)
{
    parsed p = parse_text("kernel void f(u32 *x)\n"
                          "{\n"
                          "    for (u32 i = 0, j = 9; i < j; i++)\n"
                          "        x[i] = j;\n"
                          "}\n");
    assert_string_equal(codes_of(&p), "");
    text out = {.in = p.in};
    ast_print(&p.f, &out);
    assert_non_null(strstr(out.at, "\n      decl  @3:10\n        var i : u32  @3:14\n"));
    assert_non_null(strstr(out.at, "\n        var j : u32  @3:21\n"));
    arena_free(p.in);
}

TEST(types_have_names)
{
    bool has_first = false, has_vector = false;
    uint32_t count = 0;
    for (; type_name_at(count); count++) {
        const char *name = type_name_at(count);
        has_first |= !strcmp(name, "i32");
        has_vector |= !strcmp(name, "i8x2");
        for (uint32_t k = 0; k < count; k++)
            assert_string_not_equal(name, type_name_at(k));
    }
    assert_true(has_first && has_vector && count > 20);
}

TEST(parse_prints_tunables)
{
    parsed p = parse_text("tune(TILE, 16, 64); tune(STEPS, 2, 3);\n"
                          "kernel block(TILE) void f(f32 *x) { x[0] = STEPS; }\n");
    text out = {.in = p.in};
    assert_string_equal(codes_of(&p), "");
    ast_print(&p.f, &out);
    assert_non_null(strstr(out.at, "tune TILE = 16 of 16 64  @1:"));
    assert_non_null(strstr(out.at, "tune STEPS = 2 of 2 3  @1:"));
    arena_free(p.in);
}

TEST(parse_skips_host_code)
{
    expect_codes("FILE *log;\n"
                 "typedef int (*handler)(int);\n"
                 "struct ctx { pthread_t t; };\n"
                 "static int use(struct ctx *c, handler h) { garbage in here } \n"
                 "MACRO_LIKE(a, b)\n"
                 "int main(int argc, char **argv) { return h(*argv); }\n"
                 "kernel void f(f32 *x) { x[0] = 1; }\n",
                 "");
}

TEST(parse_brings_the_error_back_when_a_kernel_needs_it)
{
    expect_codes("static Foo make(int x) { return x; }\n"
                 "kernel void f(f32 *x) { x[0] = make(1); }\n",
                 "K1005");
    expect_codes("typedef struct { FILE *f; } ctx;\n"
                 "typedef ctx *ctx_ref;\n"
                 "kernel void f(f32 *x, ctx_ref c) { x[0] = 1; }\n",
                 "K1005");
}

TEST(parse_marks_are_ordinary_names_elsewhere)
{
    expect_body("u32 block = 1, cluster = 2, tune = 3, min_blocks = block + cluster + tune;\n"
                "x[min_blocks] = 1;",
                "");
}

TEST(parse_f32_is_a_call_and_a_type)
{
    expect_body("f32 (*row)[4] = 0; x[0] = f32(n) + (f32)n + f32(*x) + (f32(*x)) + "
                "(f32)sizeof(f32 (*)[4]) + (*row)[0];",
                "");
}

TEST(parse_casts_and_compound_literals)
{
    expect_body("x[0] = (f32)(n) + (f32){2} + (f32x4){1, 2, 3, 4}.w + ((f32[]){1, 2})[1];", "");
    expect_body("x[0] = (f32)-1 + (f32)(u8)n * -(f32)n;", "");
}

TEST(parse_reports_one_error_for_one_mistake)
{
    expect_body("x[0] = (1 + ;\nx[1] = 2;\nx[2] = ;", "K1001 K1001");
    expect_body("x[0] = 1\nx[1] = 2\n", "K1002 K1002");
    expect_body("for (u32 i = 0; i < n; i++ {\n x[i] = 1;\n}", "K1003");
    expect_body("if n > 3 { x[0] = 1; }\nx[1] = 2;", "K1001");
    expect_body("flot a = 3, *b = &a; x[0] = a * 2 + *b;", "K1005");
    expect_body("int int = 3;\nx[0] = 1;", "K1030");
    expect_body("x[0] = {1, 2};\nx[1] = 1;", "K1001");
}

TEST(parse_goes_on_with_the_next_function)
{
    expect_codes("kernel void f(f32 *x) { x[0] = ); }\n"
                 "kernel void g(f32 *x) { x[0] = 1 1; }\n"
                 "kernel void h(f32 *x) { x[0] = 1; }\n",
                 "K0016 K1001 K1002");
}

TEST(parse_bounds_every_depth)
{
    arena *a = arena_new();
    static const struct {
        const char *open, *middle, *close, *codes;
    } rows[] = {
        {"(", "1", ")", "K1007"},      {"-", "1", "", "K1007"},     {"1+(", "1", ")", "K1007"},
        {"1?1:", "1", "", "K1007"},    {"(f32)", "1", "", "K1007"}, {"x[0]=", "1", "", "K1007"},
        {"sizeof ", "1", "", "K1007"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        text t = {.in = a};
        text_puts(&t, "kernel void f(f32 *x) { x[0] = ");
        for (int k = 0; k < 400; k++)
            text_puts(&t, rows[i].open);
        text_puts(&t, rows[i].middle);
        for (int k = 0; k < 400; k++)
            text_puts(&t, rows[i].close);
        text_puts(&t, "; }");
        expect_codes(t.at, rows[i].codes);
    }
    text t = {.in = a};
    text_puts(&t, "kernel void f(f32 *x) { x[0] = 1");
    for (int k = 0; k < 5000; k++)
        text_puts(&t, "+x[1]");
    text_puts(&t, "; }");
    expect_codes(t.at, "K1007");
    t.len = 0;
    text_puts(&t, "kernel void f(f32 *x) { ");
    for (int k = 0; k < 400; k++)
        text_puts(&t, "if (1) ");
    text_puts(&t, "; }");
    expect_codes(t.at, "K1007");
    t.len = 0;
    text_puts(&t, "kernel void f(f32 *x) { if (x[0] > 1) x[0] = 0;");
    for (int k = 0; k < 3000; k++) // a chain is not a depth
        text_puts(&t, " else if (x[0] > 2) x[0] = 1;");
    text_puts(&t, " else x[0] = 2; }");
    expect_codes(t.at, "");
    arena_free(a);
}

TEST(parse_tune_takes_the_chosen_value)
{
    const char *const tunes[] = {"TILE=64", NULL};
    front_options options = {.tunes = tunes};
    arena *a = arena_new();
    front f = {.in = a, .names = names_in(a), .sources = sources_in(a), .options = &options};
    f.diags = diags_in(a, f.sources);
    const char *source = "tune(TILE, 16, 64); kernel block(TILE) void f(f32 *x) { x[0] = TILE; }";
    assert_true(pp_run(&f, source_add(f.sources, "t.c", str_of(source))));
    parse_file(&f);
    assert_int_equal(f.diags->error_count, 0);
    assert_int_equal(f.kernels.at[0]->block[0], 64);
    assert_int_equal(f.tunables.at[0]->tune_values.len, 2);
    arena_free(a);
}

TEST(parse_scopes_follow_c)
{
    expect_body("f32 a = 1; { f32 a = 2; x[0] = a; } x[1] = a;", "");
    expect_body("for (u32 i = 0; i < n; i++) { f32 i = 1; x[0] = i; }", "");
    expect_body("struct s { f32 a; }; { struct s { u32 b; }; struct s v = {1}; x[v.b] = 1; }", "");
    expect_body("{ f32 a = 1; x[0] = a; } x[1] = a;", "K2001");
    expect_body("enum { A = 3, B }; f32 t[B] = {0}; x[0] = t[A];", "");
    expect_body("typedef f32 real; real real = 2; x[0] = real;", "K1008");
}

TEST(parse_unroll_reaches_the_loop)
{
    parsed p = parse_text("kernel void f(f32 *x)\n{\n#pragma unroll 4\n"
                          "    for (u32 i = 0; i < 8; i++)\n        x[i] = 1;\n}\n");
    assert_string_equal(codes_of(&p), "");
    assert_int_equal(p.f.kernels.at[0]->body->body.at[0]->unroll, 4);
    arena_free(p.in);
}

TEST(parse_reached_functions_only)
{
    parsed p = parse_text("static f32 c(f32 v) { return v; }\n"
                          "static f32 b(f32 v);\n"
                          "static f32 a(f32 v) { return b(v) + c(v); }\n"
                          "static f32 unused(f32 v) { return nothing(v); }\n"
                          "static f32 b(f32 v) { return c(v); }\n"
                          "kernel void f(f32 *x) { x[0] = a(x[1]); }\n");
    assert_string_equal(codes_of(&p), "");
    assert_int_equal(p.f.reached.len, 3);
    assert_string_equal(p.f.reached.at[0]->name, "a");
    assert_string_equal(p.f.reached.at[1]->name, "b");
    assert_string_equal(p.f.reached.at[2]->name, "c");
    arena_free(p.in);
}

TEST(linkage_of_cpp_is_ignored)
{
    expect_codes("extern \"C\" kernel void f(float *x) { x[0] = 1; }\n", "");
    expect_codes("extern \"C\" {\nkernel void f(float *x) { x[0] = 1; }\n}\n"
                 "kernel void g(float *x) { x[0] = 2; }\n",
                 "");
    expect_codes("}\nkernel void g(float *x) { x[0] = 2; }\n", "K0016");
}
