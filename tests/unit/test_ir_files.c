// Runs tests/ir/*.ir. A file is IR text, then any number of sections
//     == after PASS [PASS…] ==
//     the IR text expected after running these passes on the kernels
// each continuing from the section before it. Every text must verify and survive a round trip
// through the reader. KILN_BLESS=1 rewrites the expectations.
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pass/pass.h"
#include "tests/test.h"

typedef struct ir_case {
    const char *path;
    arena *a;
    name_table *names;
    ir_module *m;
    text out; // the file as it should be
} ir_case;

static str read_whole(arena *a, const char *path)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    text t = {.in = a};
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, in)) > 0;)
        text_add(&t, buffer, n);
    fclose(in);
    return (str){t.at, t.len};
}

static str printed(arena *a, const ir_module *m)
{
    text t = {.in = a};
    ir_print_module(m, &t);
    return (str){t.at, t.len};
}

static bool is_sound(ir_case *c, const char *stage)
{
    const char *wrong = ir_verify_module(c->m, c->a);
    if (wrong)
        printf("%s: after %s: %s\n", c->path, stage, wrong);
    return !wrong;
}

static bool round_trips(ir_case *c, str shown, const char *stage)
{
    const char *error;
    ir_module *again = ir_read(c->a, c->names, shown, &error);
    if (!again) {
        printf("%s: after %s: does not read back: %s\n", c->path, stage, error);
        return false;
    }
    str twice = printed(c->a, again);
    bool is_same = str_same(shown, twice);
    for (uint32_t k = 0; k < c->m->funcs.len && is_same; k++)
        is_same = ir_hash_func(c->m->funcs.at[k]) == ir_hash_func(again->funcs.at[k]);
    if (!is_same)
        printf("%s: after %s: reads back as something else:\n%.*s", c->path, stage, (int)twice.len,
               twice.at);
    return is_same;
}

static bool run_passes(ir_case *c, const char *names)
{
    char copy[256], *state;
    snprintf(copy, sizeof copy, "%s", names);
    for (char *name = strtok_r(copy, " ", &state); name; name = strtok_r(NULL, " ", &state)) {
        const pass_row *row = pass_find(name);
        if (!row) {
            printf("%s: there is no pass '%s'\n", c->path, name);
            return false;
        }
        arena *scratch = arena_new();
        pass_ctx ctx = {.scratch = scratch, .level = 2, .checks_bounds = true};
        for (uint32_t k = 0; k < c->m->funcs.len; k++)
            if (c->m->funcs.at[k]->is_kernel)
                row->run(c->m->funcs.at[k], &ctx);
        arena_free(scratch);
        if (!is_sound(c, name))
            return false;
    }
    for (uint32_t k = 0; k < c->m->funcs.len; k++)
        ir_compact(c->m->funcs.at[k], c->m->in);
    return is_sound(c, "compact");
}

static str next_section(str *rest, char *names, size_t room)
{
    const char *mark = NULL;
    for (size_t i = 0; i + 9 < rest->len && !mark; i++)
        if ((i == 0 || rest->at[i - 1] == '\n') && !memcmp(rest->at + i, "== after ", 9))
            mark = rest->at + i;
    str section = {rest->at, mark ? (size_t)(mark - rest->at) : rest->len};
    names[0] = 0;
    if (!mark) {
        *rest = (str){0};
        return section;
    }
    const char *line = mark + 9, *end = memchr(line, '\n', rest->len - (size_t)(line - rest->at));
    assert_non_null(end);
    snprintf(names, room, "%.*s", (int)(end - line), line);
    char *tail = strstr(names, " ==");
    if (tail)
        *tail = 0;
    *rest = (str){end + 1, rest->len - (size_t)(end + 1 - rest->at)};
    return section;
}

static bool run_file(ir_case *c)
{
    str whole = read_whole(c->a, c->path), rest = whole;
    char names[256];
    const char *error;
    str section = next_section(&rest, names, sizeof names);
    text_add(&c->out, section.at, section.len);
    c->m = ir_read(c->a, c->names, section, &error);
    if (!c->m) {
        printf("%s:%s\n", c->path, error);
        return false;
    }
    bool is_good = is_sound(c, "reading") && round_trips(c, printed(c->a, c->m), "reading");
    while (is_good && names[0]) {
        char passes[256];
        snprintf(passes, sizeof passes, "%s", names);
        if (!run_passes(c, passes))
            return false;
        str want = next_section(&rest, names, sizeof names), is = printed(c->a, c->m);
        is_good = round_trips(c, is, passes);
        text_printf(&c->out, "== after %s ==\n%.*s", passes, (int)is.len, is.at);
        if (!str_same(want, is) && !getenv("KILN_BLESS")) {
            printf("%s: after %s:\n--- expected\n%.*s--- is\n%.*s", c->path, passes, (int)want.len,
                   want.at, (int)is.len, is.at);
            is_good = false;
        }
    }
    if (is_good && getenv("KILN_BLESS") && !str_same(whole, (str){c->out.at, c->out.len})) {
        FILE *out = fopen(c->path, "wb");
        assert_non_null(out);
        fwrite(c->out.at, 1, c->out.len, out);
        fclose(out);
    }
    return is_good;
}

TEST(ir_files)
{
    glob_t found;
    assert_int_equal(glob("tests/ir/*.ir", 0, NULL, &found), 0);
    int failed = 0;
    for (size_t k = 0; k < found.gl_pathc; k++) {
        arena *a = arena_new();
        ir_case c = {.path = found.gl_pathv[k], .a = a, .names = names_in(a), .out = {.in = a}};
        bug_frame frame;
        if (bug_enter(&frame)) {
            printf("%s: %s\n", c.path, frame.text);
            failed++;
        } else {
            failed += !run_file(&c);
            bug_leave(&frame);
        }
        arena_free(a);
    }
    globfree(&found);
    assert_int_equal(failed, 0);
}
