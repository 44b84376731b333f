// base/: arenas, names, maps, sources, files, switches, and the rendering of diagnostics down to
// the column.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/diag.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/knobs.h"
#include "base/map.h"
#include "base/utf8.h"
#include "tests/test.h"

TEST(arena_gives_zeroed_aligned_memory)
{
    arena *a = arena_new();
    for (size_t i = 0; i < 1000; i++) {
        unsigned char *p = arena_alloc(a, i % 37);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t j = 0; j < i % 37; j++)
            assert_int_equal(p[j], 0);
        memset(p, 0xff, i % 37);
    }
    arena_free(a);
}

TEST(arena_restores_to_a_mark)
{
    arena *a = arena_new();
    arena_alloc(a, 100);
    size_t before = arena_used(a);
    arena_mark mark = arena_save(a);
    for (int i = 0; i < 100; i++)
        memset(arena_alloc(a, 10000), 1, 10000);
    arena_restore(a, mark);
    assert_int_equal(arena_used(a), before);
    unsigned char *p = arena_alloc(a, 64);
    for (int i = 0; i < 64; i++)
        assert_int_equal(p[i], 0);
    arena_free(a);
}

TEST(arena_limit_leaves_through_the_frame)
{
    arena *volatile a = arena_new();
    arena_limit(a, 1 << 20);
    bug_frame frame;
    if (bug_enter(&frame)) {
        assert_int_equal(frame.kind, BUG_NO_MEMORY);
    } else {
        for (;;)
            arena_alloc(a, 1000);
    }
    arena_free(a);
}

// Formatting of its own must agree with the C library's.
#define SAME_TEXT(...)                                                                             \
    do {                                                                                           \
        char want_[4096];                                                                          \
        snprintf(want_, sizeof want_, __VA_ARGS__);                                                \
        assert_string_equal(str_format(a, __VA_ARGS__), want_);                                    \
        text grown_ = {.in = a};                                                                   \
        text_puts(&grown_, "x");                                                                   \
        text_printf(&grown_, __VA_ARGS__);                                                         \
        assert_string_equal(grown_.at + 1, want_);                                                 \
        assert_int_equal(grown_.len, strlen(want_) + 1);                                           \
    } while (0)

TEST(formatting_agrees_with_the_library)
{
    arena *a = arena_new();
    char longer[1000];
    memset(longer, 'y', sizeof longer);
    longer[sizeof longer - 1] = 0;
    SAME_TEXT("%s", "");
    SAME_TEXT("a%%b%c%s", 'c', "def");
    SAME_TEXT("%d %d %d %u", 0, INT32_MIN, INT32_MAX, UINT32_MAX);
    SAME_TEXT("%lld %lld %llu", (long long)INT64_MIN, (long long)INT64_MAX,
              (unsigned long long)UINT64_MAX);
    SAME_TEXT("%ld %lu %zu", -7L, 4294967296UL, sizeof longer);
    SAME_TEXT("%08X %016llX %X %04u %05d", 0xbeefu, 0x123456789abcull, 0u, 12u, -12);
    SAME_TEXT("%.*s|%.*s|%.*s", 2, "abc", 9, "abc", 0, "abc");
    SAME_TEXT("%-6s|%6d|%x|%g|%.3f|%5s", "ab", 12, 0xabcu, 1.5, 2.0, "q"); // the library's
    SAME_TEXT("%s%d", longer, 5);
    SAME_TEXT("%.*s%s", 127, longer, "");
    SAME_TEXT("%.*s%s", 126, longer, "z");
    SAME_TEXT("%.*s%d", 248, longer, 123456);
    arena_free(a);
}

TEST(names_are_equal_pointers)
{
    arena *a = arena_new();
    name_table *names = names_in(a);
    const char *first = name_cstr(names, "alpha");
    char spelled[32];
    for (int i = 0; i < 5000; i++) {
        snprintf(spelled, sizeof spelled, "name%d", i);
        const char *name = name_cstr(names, spelled);
        assert_string_equal(name, spelled);
        assert_int_equal(name_len(name), strlen(spelled));
    }
    assert_ptr_equal(first, name_of(names, "alphabet", 5));
    assert_ptr_not_equal(first, name_cstr(names, "alphabet"));
    arena_free(a);
}

TEST(map_keeps_insertion_order_and_finds_all)
{
    arena *a = arena_new();
    map m = map_make(a);
    for (uint64_t i = 0; i < 3000; i++)
        *map_at(&m, i * 0x10001) = i + 1;
    for (uint64_t i = 0; i < 3000; i++) {
        assert_int_equal(*map_find(&m, i * 0x10001), i + 1);
        assert_int_equal(m.entries[i].value, i + 1);
    }
    assert_null(map_find(&m, 5));
    arena_free(a);
}

TEST(distance_counts_swaps_once)
{
    assert_int_equal(str_distance(STR("include"), STR("inclde"), 2), 1);
    assert_int_equal(str_distance(STR("define"), STR("defnie"), 2), 1);
    assert_int_equal(str_distance(STR("abc"), STR("xyz"), 2), 3);
    assert_int_equal(str_distance(STR(""), STR("ab"), 2), 2);
}

TEST(utf8_reads_what_it_writes_and_refuses_broken_bytes)
{
    static const uint32_t codes[] = {0x41, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff};
    char bytes[4];
    unsigned len;
    for (size_t i = 0; i < COUNT(codes); i++) {
        unsigned wrote = utf8_write(bytes, codes[i]);
        assert_int_equal(utf8_read(bytes, wrote, &len), codes[i]);
        assert_int_equal(len, wrote);
    }
    static const char *const broken[] = {"\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\x80",
                                         "\xe2\x82"};
    for (size_t i = 0; i < COUNT(broken); i++) {
        assert_int_equal(utf8_read(broken[i], strlen(broken[i]), &len), 0xfffd);
        assert_int_equal(len, 1);
    }
}

TEST(sources_find_lines_and_columns)
{
    arena *a = arena_new();
    source_map *all = sources_in(a);
    source_file *one = source_add(all, "one.c", STR("ab\ncd\r\n")),
                *two = source_add(all, "two.c", STR("x"));
    source_place p = source_find(all, one->base + 4);
    assert_ptr_equal(p.file, one);
    assert_int_equal(p.line, 2);
    assert_int_equal(p.column, 2);
    assert_int_equal(source_line(all, one, 2).len, 2);
    assert_ptr_equal(source_file_at(all, two->base), two);
    assert_null(source_file_at(all, 0));
    assert_int_equal(source_find(all, one->base + 7).line, 3);
    arena_free(a);
}

TEST(files_are_written_whole_and_read_with_a_limit)
{
    arena *a = arena_new();
    char folder[] = "/tmp/kiln-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *deep = str_format(a, "%s/a/b/c", folder), *path = str_format(a, "%s/file", deep),
               *reason = NULL;
    assert_false(file_write(a, path, "x", 1, &reason));
    assert_string_equal(reason, "no such folder");
    assert_true(file_make_folders(a, deep, &reason));
    assert_true(file_make_folders(a, deep, &reason));
    assert_true(file_write(a, path, "hello", 5, &reason));
    str bytes;
    assert_true(file_read(a, path, 5, &bytes, &reason));
    assert_int_equal(bytes.len, 5);
    assert_string_equal(bytes.at, "hello");
    assert_false(file_read(a, path, 4, &bytes, &reason));
    assert_string_equal(reason, "is larger than 4 bytes");
    assert_false(file_read(a, "/dev/zero", 1 << 20, &bytes, &reason));
    assert_string_equal(reason, "is larger than 1 MiB");
    assert_false(file_read(a, deep, 100, &bytes, &reason));
    assert_string_equal(reason, "is a folder");
    assert_false(file_write(a, deep, "x", 1, &reason));
    assert_string_equal(reason, "is a folder");
    assert_false(file_read(a, "/no/such/file", 100, &bytes, &reason));
    assert_string_equal(reason, "no such file");
    assert_false(file_make_folders(a, path, &reason));
    assert_true(file_exists(path));
    assert_false(file_exists(deep));
    assert_string_equal(file_join(a, file_folder("x/y.c"), STR("z.h")), "x/z.h");
    assert_string_equal(file_join(a, file_folder("y.c"), STR("z.h")), "z.h");
    assert_string_equal(file_join(a, file_folder("/y.c"), STR("z.h")), "/z.h");
    unlink(path);
    for (char *p = str_dup(a, str_of(deep)); strlen(p) >= strlen(folder); *strrchr(p, '/') = 0)
        rmdir(p);
    arena_free(a);
}

TEST(switches_have_defaults)
{
    unsetenv("KILN_DEBUG");
    assert_int_equal(knob_number(KNOB_DEBUG), 0);
    setenv("KILN_DEBUG", "3", 1);
    assert_int_equal(knob_number(KNOB_DEBUG), 3);
    setenv("KILN_DEBUG", "nonsense", 1);
    assert_int_equal(knob_number(KNOB_DEBUG), 0);
    unsetenv("KILN_DEBUG");
    for (size_t i = 0; i < knob_count(); i++)
        assert_true(!strncmp(knob_at(i)->name, "KILN_", 5) && knob_at(i)->doc[0]);
}

TEST(switches_take_what_their_rows_say)
{
    static const struct {
        knob_id id;
        const char *good, *bad, *takes;
    } rows[] = {
        {KNOB_DEBUG, "6", "7", "a number from 0 to 6"},
        {KNOB_DEBUG, "0", "abc", "a number from 0 to 6"},
        {KNOB_STEPS, "2147483647", "99999999999", "a number from 0 to 2147483647"},
        {KNOB_CHECK, "launches,bounds", "bounds,bogus",
         "with commas between them: bounds launches"},
        {KNOB_CHECK, "", "bound", "with commas between them: bounds launches"},
        {KNOB_COLOR, "never", "nev", "one of auto always never"},
        {KNOB_CACHE_SIZE, "2g", "abc", "such as 256M"},
        {KNOB_CACHE_SIZE, "0", "10MB", "such as 256M"},
        {KNOB_CACHE_SIZE, "4096", "-1", "such as 256M"},
        {KNOB_CACHE_SIZE, "1", "99999999999G", "such as 256M"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char takes[160];
        assert_true(knob_accepts(knob_at(rows[i].id), rows[i].good));
        assert_false(knob_accepts(knob_at(rows[i].id), rows[i].bad));
        knob_describe_values(knob_at(rows[i].id), takes, sizeof takes);
        assert_non_null(strstr(takes, rows[i].takes));
    }
    for (size_t i = 0; i < knob_count(); i++)
        assert_true(knob_accepts(knob_at(i), knob_at(i)->default_value));
    setenv("KILN_CACHE_SIZE", "3K", 1);
    assert_int_equal(knob_size(KNOB_CACHE_SIZE), 3 << 10);
    setenv("KILN_CACHE_SIZE", "3X", 1);
    assert_int_equal(knob_size(KNOB_CACHE_SIZE), 256 << 20);
    unsetenv("KILN_CACHE_SIZE");
}

TEST(embedded_texts_are_found)
{
    size_t len;
    const char *header = embed_find("kiln/cuda.h", &len);
    assert_non_null(header);
    assert_int_equal(strlen(header), len);
    assert_null(embed_find("no/such/text", &len));
}

// --- diagnostics

typedef struct desk {
    arena *in;
    source_map *sources;
    source_file *file;
    diags *ds;
} desk;

static desk desk_with(const char *source)
{
    desk d = {.in = arena_new()};
    d.sources = sources_in(d.in);
    d.file = source_add(d.sources, "t.c", str_of(source));
    d.ds = diags_in(d.in, d.sources);
    return d;
}

// The place of the nth occurrence of a text.
static span find(const desk *d, const char *what, int nth)
{
    const char *at = d->file->text.at;
    for (at = strstr(at, what); nth-- > 0;)
        at = strstr(at + 1, what);
    assert_non_null(at);
    uint32_t lo = d->file->base + (uint32_t)(at - d->file->text.at);
    return (span){lo, lo + (uint32_t)strlen(what)};
}

static void expect_text(desk *d, const char *expected)
{
    text out = {.in = d->in};
    text_puts(&out, "");
    diag_render_text(d->ds, &out, false);
    assert_string_equal(out.at, expected);
    arena_free(d->in);
}

TEST(diag_shows_the_house_example)
{
    desk d = desk_with("\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n    if (thread_x() < n) {\n\n\n        "
                       "barrier();\n    }\n");
    diag *g = diag_raise(d.ds, K3101, find(&d, "barrier()", 0), "not every thread gets here");
    diag_label(g, find(&d, "thread_x() < n", 0), "threads may disagree here");
    diag_label(g, find(&d, "barrier()", 0), "some never arrive");
    diag_fix(g, find(&d, "        barrier();", 0), "close the branch first",
             "    }\n    barrier();");
    diag_note(g, "two\nlines");
    expect_text(&d, "error[K3101]: not every thread gets here\n"
                    "  --> t.c:21:9\n"
                    "   |\n"
                    "18 |     if (thread_x() < n) {\n"
                    "   |         -------------- threads may disagree here\n"
                    "21 |         barrier();\n"
                    "   |         ^^^^^^^^^ some never arrive\n"
                    "   |\n"
                    "fix: close the branch first\n"
                    "   |\n"
                    "21 -         barrier();\n"
                    "21 +     }\n"
                    "22 +     barrier();\n"
                    "   |\n"
                    "   = note: two\n"
                    "           lines\n"
                    "   = more: kiln explain K3101\n");
}

TEST(diag_lines_up_with_tabs_and_wide_characters)
{
    desk d = desk_with("\tx\t= y; /* 漢字 e\xcc\x81 */ z = w;\n");
    diag *g = diag_raise(d.ds, K2001, find(&d, "w", 0), "w");
    diag_label(g, find(&d, "y", 0), "y");
    expect_text(&d, "error[K2001]: w\n"
                    "  --> t.c:1:30\n"
                    "   |\n"
                    " 1 |     x   = y; /* 漢字 e\xcc\x81 */ z = w;\n"
                    "   |           -                   ^\n"
                    "   |           |\n"
                    "   |           y\n"
                    "   |\n"
                    "   = more: kiln explain K2001\n");
}

TEST(diag_puts_labels_of_one_line_below_each_other)
{
    desk d = desk_with("aa bb cc\n");
    diag *g = diag_raise(d.ds, K2001, find(&d, "bb", 0), "m");
    diag_label(g, find(&d, "aa", 0), "first");
    diag_label(g, find(&d, "bb", 0), "second");
    diag_label(g, find(&d, "cc", 0), "third");
    expect_text(&d, "error[K2001]: m\n"
                    "  --> t.c:1:4\n"
                    "   |\n"
                    " 1 | aa bb cc\n"
                    "   | -- ^^ -- third\n"
                    "   | |  |\n"
                    "   | |  second\n"
                    "   | first\n"
                    "   |\n"
                    "   = more: kiln explain K2001\n");
}

TEST(diag_marks_both_ends_of_a_long_span_and_skips_between)
{
    desk d = desk_with("f(a,\n\n\n\n\n\n  b);\nend\n");
    span whole = span_join(find(&d, "f(a", 0), find(&d, "b)", 0));
    diag *g = diag_raise(d.ds, K2001, whole, "m");
    diag_label(g, whole, "this call");
    expect_text(&d, "error[K2001]: m\n"
                    "  --> t.c:1:1\n"
                    "   |\n"
                    " 1 | f(a,\n"
                    "   | ^^^^ this call\n"
                    "...\n"
                    " 7 |   b);\n"
                    "   |   ^^ … to here\n"
                    "   |\n"
                    "   = more: kiln explain K2001\n");
}

TEST(diag_clips_long_lines_around_the_caret)
{
    char source[2001];
    memset(source, 'a', sizeof source);
    memcpy(source + 1000, "HERE", 4);
    source[1999] = '\n';
    source[2000] = 0;
    desk d = desk_with(source);
    diag_raise(d.ds, K2001, find(&d, "HERE", 0), "m");
    text out = {.in = d.in};
    diag_render_text(d.ds, &out, false);
    const char *line = strstr(out.at, "1 | ...a");
    assert_non_null(line);
    const char *here = strstr(line, "HERE"), *caret = strstr(line, "^^^^");
    assert_non_null(here);
    assert_non_null(caret);
    // Both rows start with five bytes of gutter.
    assert_int_equal(here - line, caret - (strchr(line, '\n') + 1) - 1);
    assert_true(strchr(line, '\n') - line < 220);
    arena_free(d.in);
}

TEST(diag_gives_other_files_their_own_snippet)
{
    desk d = desk_with("use();\n");
    source_file *other = source_add(d.sources, "o.h", STR("\n\nvoid use(void);\n"));
    diag *g = diag_raise(d.ds, K2001, find(&d, "use", 0), "m");
    diag_label(g, (span){other->base + 7, other->base + 10}, "declared here");
    expect_text(&d, "error[K2001]: m\n"
                    "  --> t.c:1:1\n"
                    "   |\n"
                    " 1 | use();\n"
                    "   | ^^^\n"
                    "   |\n"
                    "  ::: o.h:3:6\n"
                    "   |\n"
                    " 3 | void use(void);\n"
                    "   |      --- declared here\n"
                    "   |\n"
                    "   = more: kiln explain K2001\n");
}

TEST(diag_shows_the_end_of_the_file_on_its_last_line)
{
    desk d = desk_with("f(\n");
    uint32_t end = d.file->base + 3;
    diag *g = diag_raise(d.ds, K2001, find(&d, "(", 0), "m");
    diag_label(g, (span){end, end}, "the file ends here");
    expect_text(&d, "error[K2001]: m\n"
                    "  --> t.c:1:2\n"
                    "   |\n"
                    " 1 | f(\n"
                    "   |  ^- the file ends here\n"
                    "   |\n"
                    "   = more: kiln explain K2001\n");
}

TEST(diag_keeps_a_limited_number_and_counts_the_rest)
{
    desk d = desk_with("abcdefghijklmnopqrstuvwxyz\n");
    d.ds->error_limit = 2;
    for (uint32_t i = 0; i < 5; i++) {
        diag *g = diag_raise(d.ds, K2001, (span){d.file->base + i, d.file->base + i + 1}, "%u", i);
        diag_label(g, g->at, "label");
        diag_note(g, "note");
        diag_fix(g, g->at, "fix", "x");
    }
    // The same again says nothing new.
    diag_raise(d.ds, K2001, (span){d.file->base, d.file->base + 1}, "again");
    assert_int_equal(d.ds->error_count, 5);
    assert_int_equal(d.ds->list.len, 2);
    text out = {.in = d.in};
    diag_render_text(d.ds, &out, false);
    assert_non_null(strstr(out.at, "\n3 more errors not shown\n"));
    arena_free(d.in);
}

TEST(diag_can_make_errors_of_warnings)
{
    desk d = desk_with("a\n");
    d.ds->warnings_are_errors = true;
    assert_int_equal(diag_code_level(K0010), DIAG_WARNING);
    assert_int_equal(diag_raise(d.ds, K0010, (span){0, 0}, "m")->level, DIAG_ERROR);
    assert_int_equal(d.ds->error_count, 1);
    expect_text(&d, "error[K0010]: m\n   = more: kiln explain K0010\n");
}

TEST(diag_codes_are_found_by_name)
{
    assert_int_equal(diag_code_find("K0001"), K0001);
    assert_int_equal(diag_code_find("K9999"), DIAG_NONE);
    assert_string_equal(diag_code_name(K0002), "K0002");
}

TEST(diag_applies_fixes_in_order)
{
    desk d = desk_with("a b c\n");
    diag *g = diag_raise(d.ds, K2001, find(&d, "b", 0), "m");
    diag_fix(g, find(&d, "b", 0), "t", "BB");
    diag_fix_more(g, (span){d.file->base, d.file->base}, "<");
    g = diag_raise(d.ds, K2002, find(&d, "c", 0), "m");
    diag_fix(g, find(&d, "c", 0), "t", "%s", "");
    uint32_t applied;
    str fixed = diag_apply_fixes(d.ds, d.in, d.file, &applied);
    assert_int_equal(applied, 2);
    assert_string_equal(fixed.at, "<a BB \n");
    arena_free(d.in);
}

TEST(diag_writes_json)
{
    desk d = desk_with("a \"b\"\n");
    diag *g = diag_raise(d.ds, K2001, find(&d, "b", 0), "quote \" and \\ and \x80");
    diag_label(g, find(&d, "a", 0), "l");
    diag_note(g, "n\n2");
    diag_fix(g, find(&d, "a", 0), "t", "x");
    text out = {.in = d.in};
    diag_render_json(d.ds, &out);
    assert_string_equal(out.at, "{\"code\":\"K2001\",\"level\":\"error\",\"file\":\"t.c\",\"line\":"
                                "1,\"column\":4,\"end_line\":1,"
                                "\"end_column\":5,\"message\":\"quote \\\" and \\\\ and "
                                "\\ufffd\",\"labels\":[{\"file\":\"t.c\",\"line\":1,"
                                "\"column\":1,\"end_line\":1,\"end_column\":2,\"text\":\"l\"}],"
                                "\"notes\":[\"n\\n2\"],\"fixes\":[{\"title\":"
                                "\"t\",\"edits\":[{\"file\":\"t.c\",\"line\":1,\"column\":1,\"end_"
                                "line\":1,\"end_column\":2,\"text\":\"x\"}]"
                                "}]}\n");
    arena_free(d.in);
}
