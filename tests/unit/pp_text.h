// What tests of the preprocessor share: a text is read, and its tokens, or what is reported, are
// compared.
#ifndef KILN_TEST_PP_TEXT_H
#define KILN_TEST_PP_TEXT_H

#include <stdio.h>
#include <string.h>

#include "back/back.h"
#include "front/front.h"
#include "front/pp.h"
#include "tests/test.h"

typedef struct result {
    arena *in;
    front f;
    bool ok;
} result;

static result preprocess_as(const char *source, const front_options *options)
{
    result r = {.in = arena_new()};
    r.f = (front){.in = r.in, .names = names_in(r.in), .options = options};
    r.f.sources = sources_in(r.in);
    r.f.diags = diags_in(r.in, r.f.sources);
    r.ok = pp_run(&r.f, source_add(r.f.sources, "t.c", str_of(source)));
    return r;
}

static result preprocess(const char *source)
{
    static const char *const defines[] = {"FROM_OPTION=42", "FLAG", "ADD(a,b)=a+b", NULL};
    static front_options options = {.defines = defines};
    options.target = target_find("sm_90a");
    return preprocess_as(source, &options);
}

static void spell(text *out, const token *t)
{
    switch (t->kind) {
    case TOK_EOF: break;
    case TOK_IDENT: text_puts(out, t->name); break;
    case TOK_INT:
        text_printf(out, "%llu%s%s", (unsigned long long)t->integer,
                    t->flags & TF_UNSIGNED ? "u" : "", t->flags & TF_LONG ? "l" : "");
        break;
    case TOK_FLOAT: text_printf(out, "%a%s", t->real, t->flags & TF_F32 ? "f" : ""); break;
    case TOK_CHAR: text_printf(out, "'%lld'", (long long)t->integer); break;
    case TOK_STRING: text_printf(out, "\"%.*s\"", (int)t->bytes.len, t->bytes.at); break;
    case TOK_PRAGMA: text_printf(out, "<%s %d>", t->name, t->number); break;
    default: {
        const char *quoted = token_kind_spelling((token_kind)t->kind);
        text_add(out, quoted + 1, strlen(quoted) - 2);
    }
    }
}

// All tokens with one blank between them.
static const char *spelled(result *r)
{
    text out = {.in = r->in};
    text_puts(&out, "");
    for (uint32_t i = 0; i + 1 < r->f.tokens.len; i++) {
        if (i)
            text_putc(&out, ' ');
        spell(&out, &r->f.tokens.at[i]);
    }
    return out.at;
}

static void expect(const char *source, const char *expected)
{
    result r = preprocess(source);
    text out = {.in = r.in};
    diag_render_text(r.f.diags, &out, false);
    if (r.f.diags->list.len)
        fprintf(stderr, "%s", out.at);
    assert_int_equal(r.f.diags->list.len, 0);
    assert_string_equal(spelled(&r), expected);
    arena_free(r.in);
}

// The codes reported, and what is left of the text.
static void expect_codes(const char *source, const char *codes)
{
    result r = preprocess(source);
    text out = {.in = r.in};
    text_puts(&out, "");
    for (uint32_t i = 0; i < r.f.diags->list.len; i++)
        text_printf(&out, "%s%s", i ? " " : "", diag_code_name(r.f.diags->list.at[i]->code));
    if (strcmp(out.at, codes) != 0)
        fprintf(stderr, "in: %.200s\n", source);
    assert_string_equal(out.at, codes);
    text rendered = {.in = r.in};
    diag_render_text(r.f.diags, &rendered, true);
    diag_render_json(r.f.diags, &rendered);
    arena_free(r.in);
}

#endif
