// libFuzzer: the whole front end on arbitrary bytes. Errors are fine; a crash, a leak, a bug() or
// an endless loop is not.
#include "front/front.h"
#include "in_arena.h"

static void read_file(arena *a, str input)
{
    front_options options = {0};
    front f = {.in = a, .names = names_in(a), .sources = sources_in(a), .options = &options};
    f.diags = diags_in(a, f.sources);
    source_file *file = source_add(f.sources, "fuzz.c", input);
    if (file && pp_run(&f, file)) {
        parse_file(&f);
        text out = {.in = a};
        ast_print(&f, &out);
        diag_render_text(f.diags, &out, false);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_in_arena(data, size, (size_t)256 << 20, read_file);
}
