// libFuzzer entry for the lexer and the preprocessor: any bytes are a source text. Beyond not
// crashing, the tokens must keep their promises: brackets paired both ways, places inside a file,
// an end; and the diagnostics must render.
#include "back/back.h"
#include "front/front.h"
#include "in_arena.h"

static void check_token(const front *f, uint32_t i)
{
    const token *t = &f->tokens.at[i];
    must(t->kind < TOK_KIND_COUNT && t->kind != TOK_OTHER);
    must((t->kind == TOK_EOF) == (i + 1 == f->tokens.len));
    if (t->at.lo) { // strings that were joined may begin in a macro and end in a file
        span at = source_spell(f->sources, t->at).at;
        must(at.lo && at.lo <= at.hi && at.hi < SOURCE_MACRO);
        must(((t->at.lo | t->at.hi) & SOURCE_MACRO) || t->at.lo <= t->at.hi);
        must(source_file_at(f->sources, t->at.lo) != NULL);
    }
    if (t->match) {
        const token *close = &f->tokens.at[t->match];
        must(t->match > i && t->match < f->tokens.len);
        must((t->kind == TOK_LPAREN && close->kind == TOK_RPAREN) ||
             (t->kind == TOK_LBRACKET && close->kind == TOK_RBRACKET) ||
             (t->kind == TOK_LBRACE && close->kind == TOK_RBRACE));
    }
}

static void run(arena *a, str source)
{
    static const char *const defines[] = {"ONE=1", "TWICE(a)=a a", "FLAG", NULL};
    front_options options = {.defines = defines, .target = target_find("sm_90a")};
    front f = {.in = a, .names = names_in(a), .options = &options};
    f.sources = sources_in(a);
    f.diags = diags_in(a, f.sources);
    bool ok = pp_run(&f, source_add(f.sources, "fuzz.c", source));
    must(ok || f.diags->error_count);
    must(f.tokens.len > 0);
    for (uint32_t i = 0; i < f.tokens.len; i++)
        check_token(&f, i);
    text out = {.in = a};
    diag_render_text(f.diags, &out, true);
    diag_render_json(f.diags, &out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_in_arena(data, size, (size_t)1 << 30, run);
}
