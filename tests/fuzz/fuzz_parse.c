// libFuzzer: the whole front end on arbitrary bytes. Errors are fine; a crash, a leak, a bug() or
// an endless loop is not.
#include "base/bug.h"
#include "front/front.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena *volatile a = arena_new();
    if (!a)
        return 0;
    arena_limit(a, (size_t)256 << 20);
    bug_frame frame;
    if (bug_enter(&frame)) {
        bool is_bug = frame.kind == BUG_INTERNAL;
        if (is_bug)
            fprintf(stderr, "%s\n", frame.text);
        arena_free(a);
        if (is_bug)
            abort();
        return 0;
    }
    front_options options = {0};
    front f = {.in = a, .names = names_in(a), .sources = sources_in(a), .options = &options};
    f.diags = diags_in(a, f.sources);
    source_file *file = source_add(f.sources, "fuzz.c", (str){(const char *)data, size});
    if (file && pp_run(&f, file)) {
        parse_file(&f);
        text out = {.in = a};
        ast_print(&f, &out);
        diag_render_text(f.diags, &out, false);
    }
    bug_leave(&frame);
    arena_free(a);
    return 0;
}
