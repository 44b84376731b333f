// Records of printf that a pool of threads formats: the text is in order, and all of it is there.
#include <stdlib.h>
#include <string.h>

#include "back/channel.h"
#include "rt/channel/print_pool.h"
#include "tests/test.h"

typedef struct seen {
    uint32_t next, wrong, texts;
} seen;

static void on_print(void *user, const char *printed, size_t len)
{
    seen *s = user;
    for (const char *at = printed; at < printed + len; at = strchr(at, '\n') + 1)
        s->wrong += strtoul(at, NULL, 10) != s->next++;
    s->texts++;
}

TEST(a_pool_prints_in_order)
{
    enum { LINES = 40000, RECORD = 40 };
    kiln *k;
    kiln_module *m;
    seen s = {0, 0, 0};
    uint8_t *records = malloc((size_t)LINES * RECORD);
    assert_non_null(records);
    assert_int_equal(kiln_open("interp", &k), 0);
    static const char source[] = "#include <kiln/kernel.h>\n"
                                 "kernel block(32) void says(u32 n) { printf(\"%u\\n\", n); }\n";
    assert_int_equal(kiln_compile(k, &(kiln_compile_desc){.path = "t.c", .source = source}, &m), 0);
    kiln_on_print(k, on_print, &s);
    for (uint64_t n = 0; n < LINES; n++) {
        uint64_t record[RECORD / 8] = {RECORD, 0, 0, 0, n}; // bytes, site 0, thread and block
        memcpy(records + n * RECORD, record, RECORD);
    }
    print_pool *t = print_pool_new(3);
    assert_non_null(t);
    for (size_t at = 0, size = 40; at < LINES; size = size % 2000 + 97) { // of any size
        size_t count = at + size < LINES ? size : LINES - at;
        print_pool_give(t, m, records + at * RECORD, count * RECORD);
        at += count;
        if (size > 1900)
            print_pool_wait(t);
    }
    print_pool_wait(t);
    assert_int_equal(s.next, LINES);
    assert_int_equal(s.wrong, 0);
    assert_true(s.texts > 10);
    s.next = 0;
    print_pool_give(t, m, records, RECORD);
    print_pool_free(t); // prints what is left
    assert_int_equal(s.next, 1);
    kiln_close(k);
    free(records);
}
