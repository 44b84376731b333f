// Every row of builtin.def compiles: a call is made from its signature, for each of its types, and
// goes through checking, lowering, the passes and the verifier. A row without a lowering fails here
// and not at its first use. Rows whose arguments a signature cannot tell are written out below.
#include <stdio.h>
#include <string.h>

#include "compile.h"
#include "front/builtin.h"
#include "tests/test.h"

// What a signature does not say: a format, a fence has an order, and wgmma's layout is a bit a
// matrix.
static const struct {
    const char *name, *call;
} by_hand[] = {
    {"printf", "printf(\"%d\\n\", 1);"},
    {"fence_at", "fence_at(order_seq_cst, scope_device);"},
    {"wgmma_f16", "wgmma_f16(f32_4, u64_1[0], u64_1[0], true, 3);"},
    {"wgmma_bf16", "wgmma_bf16(f32_4, u64_1[0], u64_1[0], true, 3);"},
};

static const char *hand_written(const char *name)
{
    for (size_t k = 0; k < COUNT(by_hand); k++)
        if (!strcmp(by_hand[k].name, name))
            return by_hand[k].call;
    return NULL;
}

typedef struct writer {
    char text[16384];
    size_t len;
} writer;

static void put(writer *w, const char *format, ...) PRINTF_LIKE(2, 3);
static void put(writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(w->text + w->len, sizeof w->text - w->len, format, args);
    va_end(args);
    w->len += (size_t)n;
    assert_true(w->len < sizeof w->text);
}

// One argument of type `of`, with T standing for `t`. Numbers of u32 are constants, because some
// must be: a width of shuffles, or the first order and scope.
static void put_argument(writer *w, const builtin *b, const char *of, const char *t)
{
    char word[64];
    bool is_const = !strncmp(of, "const ", 6), is_pointer = strchr(of, '*') != NULL;
    of += is_const ? 6 : 0;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(of, "*["), of);
    if (!strcmp(word, "E")) // an element of the vector T
        snprintf(word, sizeof word, "%.*s", (int)strcspn(t, "x"), t);
    const char *base = !strcmp(word, "T") ? t : word, *bracket = strchr(of, '[');
    bool is_at = strlen(b->name) > 3 && !strcmp(b->name + strlen(b->name) - 3, "_at");
    if (!strcmp(base, "tensor_map"))
        put(w, "&tensor_map_1");
    else if (is_pointer)
        put(w, "(%s%s *)memory", is_const ? "const " : "", base);
    else if (bracket)
        put(w, "%s_%s", base, bracket[1] == '2' ? "2" : "4");
    else if (!strcmp(base, "u32") && strcmp(word, "T") != 0)
        put(w, is_at ? "0" : "1");
    else
        put(w, "*(%s *)memory", base);
}

static void put_call(writer *w, const builtin *b, const char *t)
{
    const char *open = strchr(b->signature, '('), *close = strchr(b->signature, ')');
    assert_true(open && close);
    put(w, "    (void)%s(", b->name);
    for (const char *at = open + 1; at < close;) {
        char word[64];
        size_t len = strcspn(at, ",)");
        snprintf(word, sizeof word, "%.*s", (int)len, at);
        if (at > open + 1)
            put(w, ", ");
        put_argument(w, b, word, t);
        at += len + 1;
    }
    put(w, ");\n");
}

static void put_calls(writer *w, const builtin *b)
{
    const char *types = strstr(b->signature, "T:");
    const char *hand = hand_written(b->name);
    if (hand) {
        put(w, "    %s\n", hand);
        return;
    }
    if (!types) {
        put_call(w, b, "u32");
        return;
    }
    for (const char *at = types + 2; *at;) {
        char word[32];
        size_t len = strcspn(at, ", ");
        snprintf(word, sizeof word, "%.*s", (int)len, at);
        put_call(w, b, !strcmp(word, "any") ? "u32" : word);
        at += len;
        at += strspn(at, ", ");
    }
}

static bool compiles(const builtin *b)
{
    writer w = {.len = 0};
    put(&w, "#include <kiln/kernel.h>\n"
            "kernel block(128) void k(u64 *memory, tensor_map tensor_map_1)\n"
            "{\n"
            "    f32 f32_4[4] = {0};\n    i32 i32_4[4] = {0};\n    u32 u32_4[4] = {0}, u32_2[2] = "
            "{0};\n"
            "    u64 u64_1[1] = {0};\n"
            "    (void)f32_4, (void)i32_4, (void)u32_4, (void)u32_2, (void)u64_1;\n");
    put_calls(&w, b);
    put(&w, "}\n");
    compile_options options = {.path = "builtin.c",
                               .source = w.text,
                               .front = {.allow_file_includes = true},
                               .level = 2,
                               .no_remarks = true,
                               .verifies = true};
    compile_outcome got = compile_run(&options);
    bool ok = got.status == KILN_OK;
    if (!ok)
        printf("builtin '%s': %s%s", b->name, w.text, got.log);
    compile_outcome_free(&got);
    return ok;
}

TEST(every_builtin_compiles)
{
    int failed = 0;
    for (int id = BI_NONE + 1; id < BI_COUNT; id++)
        failed += !compiles(builtin_at((builtin_id)id));
    assert_int_equal(failed, 0);
}
