// What the tuner may choose for attention (ops/attention/host_tuned.c): each choice can be written
// and read, runs, and gives what the portable kernel gives; choices that no kernel has are refused.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/eval.h"
#include "ops/attention/host_forward.h"
#include "rt/tuned/tuned.h"
#include "tests/test.h"

typedef struct call {
    kiln *k;
    kiln_buffer *buffers[4]; // q, k, v, out
    kiln_attention_desc desc;
    size_t count;
    uint16_t *right, *got;
} call;

static void make_call(call *c, const uint32_t s[6], bool is_causal)
{
    const uint64_t of_q = (uint64_t)s[0] * s[1] * s[3] * s[5],
                   of_k = (uint64_t)s[0] * s[2] * s[4] * s[5], counts[] = {of_q, of_k, of_k, of_q};
    uint32_t state = 7;
    *c = (call){.count = of_q};
    assert_int_equal(kiln_open("interp", &c->k), KILN_OK);
    for (int n = 0; n < 4; n++) {
        uint16_t *data = malloc(counts[n] * sizeof *data);
        assert_non_null(data);
        for (uint64_t i = 0; i < counts[n]; i++) {
            state = state * 1664525u + 1013904223u;
            data[i] = (uint16_t)ir_narrow(IR_BF16, (double)(int32_t)state * 0x1p-31);
        }
        assert_int_equal(kiln_buffer_new(c->k, KILN_BF16, counts[n], &c->buffers[n]), KILN_OK);
        assert_int_equal(kiln_write(c->buffers[n], 0, data, counts[n]), KILN_OK);
        free(data);
    }
    c->desc = (kiln_attention_desc){.q = KILN_VIEW(c->buffers[0], s[0], s[1], s[3], s[5]),
                                    .k = KILN_VIEW(c->buffers[1], s[0], s[2], s[4], s[5]),
                                    .v = KILN_VIEW(c->buffers[2], s[0], s[2], s[4], s[5]),
                                    .out = KILN_VIEW(c->buffers[3], s[0], s[1], s[3], s[5]),
                                    .is_causal = is_causal,
                                    .kernel = KILN_ATTENTION_PORTABLE};
    c->right = malloc(of_q * sizeof *c->right);
    c->got = malloc(of_q * sizeof *c->got);
    assert_true(c->right && c->got);
    assert_int_equal(kiln_attention_forward(c->k, &c->desc), KILN_OK);
    assert_int_equal(kiln_read(c->buffers[3], 0, c->right, of_q), KILN_OK);
}

static void end_call(call *c)
{
    for (int n = 0; n < 4; n++)
        kiln_buffer_free(c->buffers[n]);
    free(c->right);
    free(c->got);
    kiln_close(c->k);
}

static bool is_right(call *c, const forward_choice *choice)
{
    uint32_t nan = 0x7fc0;
    if (kiln_fill(c->buffers[3], &nan) || forward_run(c->k, &c->desc, choice) ||
        kiln_read(c->buffers[3], 0, c->got, c->count))
        return false;
    for (size_t n = 0; n < c->count; n++)
        if (!(fabs(ir_widen(IR_BF16, c->got[n]) - ir_widen(IR_BF16, c->right[n])) <= 0x1p-6))
            return false;
    return true;
}

// Each `step`-th choice of a kernel, from the first.
static void try_choices(const uint32_t sizes[6], bool is_causal, kiln_attention_kernel kernel,
                        size_t at_least, size_t step)
{
    call c;
    forward_list list;
    make_call(&c, sizes, is_causal);
    c.desc.kernel = kernel;
    assert_int_equal(forward_list_choices(c.k, &c.desc, &list), KILN_OK);
    assert_true(list.count >= at_least);
    for (size_t n = 0; n < list.count; n++) {
        char words[FORWARD_NAME], again[FORWARD_NAME];
        forward_choice back;
        forward_write_choice(&list.all[n], words);
        assert_true(tuned_is_list(words) && forward_read_choice(words, &back));
        forward_write_choice(&back, again);
        assert_string_equal(words, again);
        if (n % step == 0 && !is_right(&c, &list.all[n]))
            fail_msg("%s %s: wrong or refused: %s", list.shape, words, kiln_last_error(c.k)->text);
    }
    end_call(&c);
}

TEST(attention_runs_with_every_choice_of_tiles)
{
    try_choices((uint32_t[]){1, 2, 1, 136, 200, 64}, false, KILN_ATTENTION_SM90, 30, 5);
    try_choices((uint32_t[]){1, 1, 1, 130, 330, 128}, true, KILN_ATTENTION_SM90, 20, 7);
    try_choices((uint32_t[]){1, 1, 1, 20, 1100, 64}, false, KILN_ATTENTION_SM90, 20, 4); // parts
}

// Few pairs of causal tiles leave blocks without work: then the tiles are dealt out, and none is
// lost.
TEST(attention_deals_out_the_tiles_of_few_pairs)
{
    static const struct {
        uint32_t sizes[6];
        forward_tile tile;
        bool is_dealt;
    } cases[] = {{{1, 9, 3, 256, 256, 64}, {2, 64, 2, 1, .has_turns = false}, true},
                 {{3, 3, 1, 250, 250, 64}, {2, 64, 2, 1, .has_turns = false}, true},
                 {{1, 9, 9, 300, 300, 40}, {3, 64, 1, 1, .has_turns = true}, true},
                 {{1, 9, 1, 200, 200, 128}, {2, 64, 1, 1, .is_late = true}, true},
                 {{1, 9, 3, 256, 256, 256}, {2, 64, 1, 0, .is_late = true}, true},
                 {{1, 8, 2, 256, 256, 64}, {2, 64, 2, 1, .has_turns = false}, false}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        const uint32_t *s = cases[n].sizes;
        call c;
        make_call(&c, s, true);
        attention a = {.k = c.k,
                       .is_causal = true,
                       .batch = s[0],
                       .heads = s[1],
                       .queries = s[3],
                       .keys = s[4],
                       .head_dim = s[5]};
        if (forward_is_dealt(&a, &cases[n].tile) != cases[n].is_dealt)
            fail_msg("case %zu is dealt out, or should be", n);
        c.desc.kernel = KILN_ATTENTION_SM90;
        forward_choice choice = {.way = WAY_SM90, .tile = cases[n].tile};
        if (!is_right(&c, &choice))
            fail_msg("case %zu: wrong or refused: %s", n, kiln_last_error(c.k)->text);
        end_call(&c);
    }
}

TEST(attention_runs_with_every_choice_of_parts)
{
    try_choices((uint32_t[]){2, 4, 2, 1, 1000, 64}, false, KILN_ATTENTION_DECODE, 10, 2);
    try_choices((uint32_t[]){1, 6, 2, 5, 700, 128}, true, KILN_ATTENTION_DECODE, 8, 3);
    try_choices((uint32_t[]){1, 2, 1, 40, 70, 80}, true, KILN_ATTENTION_SM80, 2, 1);
}

TEST(attention_refuses_choices_that_no_kernel_has)
{
    static const char *const texts[] = {"sm90=1 warpgroups=5 keys=64 q_stages=1",
                                        "sm90=1 warpgroups=2 keys=72 q_stages=1",
                                        "sm90=1 warpgroups=2 keys=64",
                                        "sm90=1 warpgroups=2 keys=64 q_stages=1 ahead=3",
                                        "sm90=1 warpgroups=4 keys=192 q_stages=2",
                                        "sm90=1",
                                        "decode=1 stages=7 parts=1",
                                        "decode=1 stages=4",
                                        "decode=1 stages=4 parts=65",
                                        "decode=1 stages=4 parts=9",
                                        "decode=1 stages=2 shares=70000",
                                        "sm80=1 warps=5",
                                        "sm80=1",
                                        "decode=1 stages=-4 parts=1"};
    call c;
    make_call(&c, (uint32_t[]){1, 2, 1, 3, 300, 64}, false);
    for (size_t n = 0; n < COUNT(texts); n++) {
        forward_choice choice;
        assert_true(forward_read_choice(texts[n], &choice));
        c.desc.kernel = KILN_ATTENTION_BEST;
        if (forward_run(c.k, &c.desc, &choice) != KILN_E_UNSUPPORTED)
            fail_msg("%s is not refused", texts[n]);
    }
    forward_choice choice;
    assert_false(forward_read_choice("", &choice));
    assert_false(forward_read_choice("tile_m=64", &choice));
    end_call(&c);
}
