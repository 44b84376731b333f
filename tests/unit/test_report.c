// Resources and occupancy, what ptxas says, other programs, the library's own lines, source beside
// code.
#include <stdlib.h>
#include <string.h>

#include "back/channel.h"
#include "back/report/listing.h"
#include "back/report/ptxas.h"
#include "back/report/report.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/proc.h"
#include "compile.h"
#include "tests/test.h"

static void is_occupancy(const char *name, uint32_t registers, uint32_t threads, uint64_t shared,
                         uint32_t blocks, occupancy_limit limit)
{
    occupancy o = occupancy_of(target_find(name), registers, threads, shared);
    assert_int_equal(o.blocks, blocks);
    assert_int_equal(o.limit, limit);
}

TEST(occupancy_counts_what_runs_out_first)
{
    is_occupancy("sm_90a", 12, 256, 0, 8, LIMIT_NONE);
    is_occupancy("sm_90a", 40, 64, 2048, 24, LIMIT_REGISTERS);
    is_occupancy("sm_90a", 70, 64, 2048, 14, LIMIT_REGISTERS);
    is_occupancy("sm_90a", 255, 256, 0, 1, LIMIT_REGISTERS);
    is_occupancy("sm_90a", 128, 1024, 0, 0, LIMIT_REGISTERS); // one block does not fit
    is_occupancy("sm_90a", 32, 256, 100000, 2, LIMIT_SHARED);
    is_occupancy("sm_90a", 32, 256, 232448, 1, LIMIT_SHARED);
    is_occupancy("sm_90a", 32, 256, 232449, 0, LIMIT_SHARED);
    is_occupancy("sm_90a", 16, 32, 0, 32, LIMIT_BLOCKS);
    is_occupancy("sm_86", 32, 1024, 0, 1, LIMIT_THREADS); // 1536 threads, blocks of 1024
    is_occupancy("sm_86", 16, 32, 0, 16, LIMIT_BLOCKS);
    is_occupancy("sm_89", 16, 64, 0, 24, LIMIT_NONE);
    is_occupancy("sm_75", 32, 256, 16384, 4, LIMIT_NONE);
    is_occupancy("sm_75", 32, 256, 20000, 3, LIMIT_SHARED);
    is_occupancy("sm_90a", 32, 1025, 0, 0, LIMIT_THREADS);
    assert_int_equal(occupancy_of(target_find("sm_90a"), 40, 64, 2048).percent, 75);
}

static const char ptxas_log[] =
    "ptxas info    : 16 bytes gmem, 32 bytes cmem[3]\n"
    "ptxas info    : Compiling entry function 'other' for 'sm_90a'\n"
    "ptxas info    : Function properties for other\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 12 registers, used 0 barriers, 380 bytes cmem[0]\n"
    "ptxas info    : Compiling entry function 'row_sum' for 'sm_90a'\n"
    "ptxas info    : Function properties for row_sum\n"
    "    96 bytes stack frame, 80 bytes spill stores, 40 bytes spill loads\n"
    "ptxas info    : Used 31 registers, used 1 barriers, 2048 bytes smem, 380 bytes cmem[0]\n";

TEST(report_reads_what_ptxas_says)
{
    arena *a = arena_new();
    ptxas_numbers says;
    assert_true(ptxas_read(str_of(ptxas_log), "row_sum", &says));
    assert_int_equal(says.registers, 31);
    assert_int_equal(says.spills, 20);
    assert_int_equal(says.shared_bytes, 2048);
    assert_int_equal(says.local_bytes, 96);
    assert_false(ptxas_read(str_of(ptxas_log), "row", &says));
    // What stands before the first kernel is of none.
    str headed = str_of("ptxas info    : Used 77 registers, used 0 barriers\n"
                        "ptxas info    : Compiling entry function 'row_sum' for 'sm_90a'\n"
                        "ptxas info    : Used 31 registers, used 1 barriers\n");
    assert_true(ptxas_read(headed, "row_sum", &says));
    assert_int_equal(says.registers, 31);
    text line = {.in = a};
    report_row row = {.kernel = "row_sum",
                      .source = REPORT_PTXAS,
                      .registers = 31,
                      .shared_bytes = 2048,
                      .threads = 64};
    report_line(&row, target_find("sm_90a"), &line);
    assert_string_equal(line.at,
                        "row_sum  sm_90a  31 regs  0 spills  2.0 KiB shared  occupancy 100 %");
    line = (text){.in = a};
    row = (report_row){.kernel = "k", .registers = 70};
    report_line(&row, target_find("sm_80"), &line);
    assert_string_equal(line.at, "k  sm_80  ~70 regs  spills unknown  0 B shared  occupancy ~37 % "
                                 "(limited by registers), blocks of 256, estimated");
    arena_free(a);
}

typedef struct counted {
    arena *a;
    text stats;
    report_rows rows;
} counted;

static void count(counted *c, const ir_module *m)
{
    report_stats(m->funcs.at[0], c->a, &c->stats);
    report_collect(m, NULL, target_find("sm_80"), (str){0}, c->a, &c->rows,
                   NULL); // no code: a guess
}

TEST(report_counts_and_guesses)
{
    counted c = {.a = arena_new()};
    c.stats.in = c.a;
    compile_options options = {
        .path = "t.c",
        .source = "#include <kiln/kernel.h>\n"
                  "kernel block(32) void k(const f32 *x, f32 *out) { shared f32 t[32]; "
                  "t[thread_x()] = x[thread_x()];"
                  " barrier(); out[thread_x()] = fma(t[31 - thread_x()], 2.0f, x[0]); }\n",
        .level = 2,
        .front = {.target = target_find("sm_80")}};
    compile_outcome outcome = compile_run(&options);
    assert_int_equal(outcome.status, KILN_OK);
    count(&c, outcome.ir);
    assert_non_null(strstr(c.stats.at, "k: "));
    assert_non_null(strstr(c.stats.at, "  barrier             1\n"));
    assert_non_null(strstr(c.stats.at, "  fma                 1\n"));
    assert_non_null(strstr(c.stats.at, "    shared            1"));
    assert_int_equal(c.rows.at[0].source, REPORT_ESTIMATE);
    assert_int_equal(c.rows.at[0].shared_bytes, 128);
    assert_in_range(c.rows.at[0].registers, 9, 40);
    compile_outcome_free(&outcome);
    arena_free(c.a);
}

TEST(bounds_are_told_in_elements)
{
    static const struct {
        int64_t offset, length;
        const char *text;
    } rows[] = {{16, 16, "reads element 4 of 'x', which has 4 elements"},
                {-1, 16, "reads element -1 of 'x', which has 4 elements"},
                {-8, 16, "reads element -2 of 'x', which has 4 elements"},
                {12, 14, "reads element 3 of 'x', which has 3 elements"},
                {8, 16, "reads element 4 of 'x', which has 4 elements"}, // a wide access
                {4, 4, "reads element 1 of 'x', which has 1 element"}};
    char text_of[128];
    for (size_t k = 0; k < COUNT(rows); k++) {
        channel_bounds_text(text_of, sizeof text_of, STR("reads x"), 4, (uint64_t)rows[k].offset,
                            (uint64_t)rows[k].length);
        assert_string_equal(text_of, rows[k].text);
    }
}

TEST(proc_runs_programs)
{
    arena *a = arena_new();
    proc_result result;
    const char *reason = NULL;
    const char *const words[] = {"sh", "-c", "echo out; echo err >&2; cat; exit 3", NULL};
    assert_true(proc_run(a, words, &result, &reason));
    assert_int_equal(result.status, 3);
    assert_true(str_same(result.output, STR("out\nerr\n")));
    const char *const killed[] = {"sh", "-c", "kill -9 $$", NULL};
    assert_true(proc_run(a, killed, &result, &reason));
    assert_int_equal(result.status, 137);
    const char *const missing[] = {"no-such-program-as-this", NULL};
    assert_false(proc_run(a, missing, &result, &reason));
    assert_non_null(reason);
    assert_non_null(proc_find(a, "sh", NULL));
    assert_null(proc_find(a, "no-such-program-as-this", NULL));
    const char *const folders[] = {"/bin", NULL};
    assert_non_null(proc_find(a, "sh", folders));
    arena_free(a);
}

typedef struct heard {
    int count, last;
    char text_of[256];
} heard;

static void listen_to(void *user, int level, const char *words)
{
    heard *h = user;
    h->count++;
    h->last = level;
    strncpy(h->text_of, words, sizeof h->text_of - 1);
}

TEST(log_goes_where_it_is_wanted)
{
    heard h = {0};
    log_set(LOG_IR, listen_to, &h);
    assert_true(log_wants(LOG_COMPILE) && log_wants(LOG_IR) && !log_wants(LOG_PASSES));
    log_message(LOG_RESOURCES, "%d regs", 31);
    assert_string_equal(h.text_of, "31 regs");
    assert_int_equal(h.last, LOG_RESOURCES);
    log_message(LOG_CODE, "not this");
    assert_int_equal(h.count, 1);
    log_text(LOG_IR, "title", "text");
    assert_int_equal(h.count, 3);
    log_set(0, NULL, NULL);
    assert_false(log_wants(LOG_COMPILE));
}

TEST(log_follows_compiles_and_launches)
{
    heard h = {0};
    kiln *k;
    kiln_module *m;
    kiln_on_log(1, listen_to, &h);
    assert_int_equal(kiln_open("interp", &k), KILN_OK);
    assert_int_equal(
        kiln_compile(
            k,
            &(kiln_compile_desc){
                .source = "#include <kiln/kernel.h>\nkernel void k(f32 *x) { x[0] = 1; }\n"},
            &m),
        KILN_OK);
    assert_int_equal(h.count, 1);
    assert_non_null(strstr(h.text_of, "<string> for interp: compiled in"));
    kiln_on_log(0, NULL, NULL);
    kiln_close(k);
}

TEST(knobs_list_words)
{
    setenv("KILN_CHECK", "launches,bounds", 1);
    assert_true(knob_lists(KNOB_CHECK, "bounds"));
    assert_true(knob_lists(KNOB_CHECK, "launches"));
    assert_false(knob_lists(KNOB_CHECK, "launch"));
    assert_false(knob_lists(KNOB_CHECK, ""));
    unsetenv("KILN_CHECK");
    assert_false(knob_lists(KNOB_CHECK, "bounds"));
}

// Instructions belong to the line that was named last, Kiln's own code to the one before it; a
// kernel that is not asked for is left out.
TEST(listing_knows_the_lines_of_ptx_and_sass)
{
    static const char ptx[] = "\t.file 1 \"dir/k.c\"\n.visible .entry k(\n)\n{\n\t.loc 1 3 5\n"
                              "\tadd.s32 %r1, %r2, %r3;\n$L1:\n\t.loc 1 4 1\n\tret;\n}\n"
                              ".visible .entry other(\n)\n{\n\t.loc 1 9 1\n\tret;\n}\n";
    static const char sass[] = ".text.k:\n\t//## File \"/home/me/dir/k.c\", line 3\n"
                               "        /*0000*/                   IADD3 R1, R2, R3, RZ ;\n"
                               ".L_x_1:\n\t//## File \"/home/me/dir/k.c\", line 4\n"
                               "        /*0010*/                   EXIT ;\n"
                               ".text.other:\n        /*0000*/                   NOP ;\n";
    arena *a = arena_new();
    source_map *sources = sources_in(a);
    source_add(sources, "dir/k.c", STR("\n\nline three\nline four\n"));
    const char *wrong;
    ir_module *m = ir_read(a, names_in(a), STR("kernel @k() { return }"), &wrong);
    assert_non_null(m);
    listing of = {.in = a, .sources = sources, .module = m};
    listing_lines from_ptx = {0}, from_sass = {0};
    listing_ptx(&of, STR(ptx), &from_ptx);
    listing_sass(&of, STR(sass), &from_sass);
    static const struct {
        uint32_t line;
        const char *ptx, *sass;
    } rows[] = {{3, "\tadd.s32 %r1, %r2, %r3;", "IADD3 R1, R2, R3, RZ ;"},
                {3, "$L1:", ".L_x_1:"},
                {4, "\tret;", "EXIT ;"}};
    assert_int_equal(from_ptx.len, COUNT(rows));
    assert_int_equal(from_sass.len, COUNT(rows));
    for (uint32_t k = 0; k < COUNT(rows); k++) {
        assert_int_equal(from_ptx.at[k].line, rows[k].line);
        assert_int_equal(from_sass.at[k].line, rows[k].line);
        assert_true(str_same(from_ptx.at[k].text, str_of(rows[k].ptx)));
        assert_true(str_same(from_sass.at[k].text, str_of(rows[k].sass)));
    }
    arena_free(a);
}
