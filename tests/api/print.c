// printf of a kernel: formats, order, where it goes.
#include "api.h"

#include <kiln/hostcall.h>

static const char source[] =
    "#include <kiln/kernel.h>\n"
    "#include <stdio.h>\n"
    "kernel block(4) void order(void) { printf(\"%u.%u \", block_x(), thread_x()); }\n"
    "kernel block(1) void formats(i32 i, u64 big, f32 x) {\n"
    "    printf(\"[%d|%5d|%-5d|%05d|%+d|%x|%#X|%o|%u]\", i, i, i, i, i, (u32)i, (u32)i, (u32)i, "
    "(u32)i);\n"
    "    printf(\"[%llu|%llx|%hhd|%hd]\", big, big, i + 256, i + 65536);\n"
    "    printf(\"[%f|%.2f|%8.3f|%e|%g|%G]\", x, x, x, x, x, x);\n"
    "    printf(\"[%c%c|%s|%%|%.3s]\", 'a', 98, \"text\", \"cut off\");\n"
    "    printf(\"[%lld|%6d]\", -9223372036854775807LL, i);\n"
    "}\n"
    "kernel block(64) void quiet(i32 n) { if ((i32)thread_x() < n) printf(\"x\"); }\n"
    "kernel block(1) void errors(void) { fputs(\"out\", stdout); fprintf(stderr, \"e%d\", 2); }\n"
    "kernel block(1) void asks(void) { clearerr(stdin); fflush(stdout); printf(\"name? \"); "
    "fflush(stdout);\n"
    "    fflush(stdout); fflush(NULL); putchar('!'); getchar(); getchar(); }\n";

typedef struct sink {
    char text[256];
    size_t len;
    int calls;
} sink;

static void collect(void *user, const char *text, size_t len)
{
    sink *s = (sink *)user;
    s->calls++;
    if (!len && s->len + 1 < sizeof s->text) // what was printed is wanted now
        s->text[s->len++] = '^';
    if (s->len + len < sizeof s->text) {
        memcpy(s->text + s->len, text, len);
        s->len += len;
    }
}

// Who takes the lines cannot wait for the kernel that prints them.
static kiln *waits_for;
static void wait_for_kernel(void *user, const char *text, size_t len)
{
    (void)text, (void)len;
    *(int *)user += kiln_sync(waits_for) == KILN_E_BAD_ARGUMENT;
}

int main(void)
{
    kiln *k = NULL;
    size_t len = 0;
    CHECK(!kiln_open(NULL, &k));
    for (int optimise = -1; optimise <= 1; optimise += 2) {
        kiln_module *m = api_compile(k, source, optimise);
        if (!m)
            break;
        CHECK(!api_launch(api_kernel(m, "order"), 2, 0, NULL, 0));
        CHECK(!strcmp(kiln_printed(k, &len), "0.0 0.1 0.2 0.3 1.0 1.1 1.2 1.3 ") && len == 32);
        CHECK(!strcmp(kiln_printed(k, &len), "") && len == 0);

        kiln_arg args[] = {kiln_arg_i64(KILN_I32, 42),
                           kiln_arg_i64(KILN_U64, (int64_t)0xfedcba9876543210u),
                           kiln_arg_f64(KILN_F32, 1.5)};
        CHECK(!api_launch(api_kernel(m, "formats"), 1, 0, args, 3));
        char want[512];
        int n = snprintf(want, sizeof want, "[%d|%5d|%-5d|%05d|%+d|%x|%#X|%o|%u]", 42, 42, 42, 42,
                         42, 42, 42, 42, 42);
        n += snprintf(want + n, sizeof want - (size_t)n, "[%llu|%llx|42|42]", 0xfedcba9876543210ull,
                      0xfedcba9876543210ull);
        n += snprintf(want + n, sizeof want - (size_t)n, "[%f|%.2f|%8.3f|%e|%g|%G]", 1.5, 1.5, 1.5,
                      1.5, 1.5, 1.5);
        snprintf(want + n, sizeof want - (size_t)n,
                 "[ab|text|%%|cut][-9223372036854775807|    42]");
        const char *got = kiln_printed(k, NULL);
        CHECK(!strcmp(got, want));
        if (strcmp(got, want) != 0)
            printf("got  %s\nwant %s\n", got, want);

        sink s;
        memset(&s, 0, sizeof s);
        kiln_on_print(k, collect, &s);
        kiln_arg few = kiln_arg_i64(KILN_I32, 5);
        CHECK(!api_launch(api_kernel(m, "quiet"), 1, 0, &few, 1));
        CHECK(s.calls == 5 && s.len == 5 && !memcmp(s.text, "xxxxx", 5));
        kiln_on_print(k, NULL, NULL);
        CHECK(!api_launch(api_kernel(m, "quiet"), 1, 0, &few, 1));
        CHECK(!strcmp(kiln_printed(k, NULL), "xxxxx"));

        int refused = 0;
        waits_for = k;
        kiln_on_print(k, wait_for_kernel, &refused);
        CHECK(!api_launch(api_kernel(m, "quiet"), 1, 0, &few, 1) && refused == 5);
        CHECK(strstr(kiln_last_error(k)->text, "kiln_sync: a host function, or one that takes"));

        memset(&s, 0, sizeof s); // let out when it is wanted, and once
        kiln_on_print(k, collect, &s);
        CHECK(freopen("/dev/null", "r", stdin) && !kiln_allow(k, "stdin", NULL));
        CHECK(!api_launch(api_kernel(m, "asks"), 1, 0, NULL, 0));
        CHECK(s.len == 9 && !memcmp(s.text, "name? ^!^", 9));
        kiln_on_print(k, NULL, NULL);

        memset(&s, 0, sizeof s); // stderr has a way of its own when there is one
        kiln_on_print_error(k, collect, &s);
        CHECK(!api_launch(api_kernel(m, "errors"), 1, 0, NULL, 0));
        CHECK(!strcmp(kiln_printed(k, NULL), "out") && s.len == 2 && !memcmp(s.text, "e2", 2));
        kiln_on_print_error(k, NULL, NULL);
        CHECK(!api_launch(api_kernel(m, "errors"), 1, 0, NULL, 0));
        CHECK(!strcmp(kiln_printed(k, NULL), "oute2"));
        kiln_module_free(m);
    }
    kiln_close(k);
    return api_done("print");
}
