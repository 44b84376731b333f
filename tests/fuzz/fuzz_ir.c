// libFuzzer: the IR reader on arbitrary bytes. What reads must print, read back to the same text,
// and, when the verifier accepts it, survive every pass with the verifier watching.
#include "in_arena.h"
#include "pass/pass.h"

static str shown(arena *a, const ir_module *m)
{
    text t = {.in = a};
    ir_print_module(m, &t);
    return (str){t.at ? t.at : "", t.len};
}

static void check(arena *a, str input)
{
    name_table *names = names_in(a);
    const char *error;
    ir_module *m = ir_read(a, names, input, &error);
    if (!m)
        return;
    bool is_sound = !ir_verify_module(m, a);
    str once = shown(a, m);
    if (!is_sound)
        return; // printing it is all that can be asked
    ir_module *again = ir_read(a, names, once, &error);
    if (!again)
        bug("printed text does not read: %s", error);
    if (!str_same(once, shown(a, again)))
        bug("printed text reads as something else");
    pass_ctx ctx = {.scratch = a, .level = 2};
    pass_run_all(m, &ctx, true, NULL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_in_arena(data, size, (size_t)256 << 20, check);
}
