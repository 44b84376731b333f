// Tiles that kiln tune has found for products: what they are called in its table, and how a product
// looks them up (ops/tuned.h). Start reading at matmul_find_tuned.
#include <stdio.h>

#include "ops/matmul/host_matmul.h"
#include "ops/tuned.h"
#include "rt/tuned/tuned.h"

enum { LAYOUTS = 4, RESULTS = OUT_S32 + 1, EPILOGUES = KILN_EPILOGUE_BIAS_SILU + 1 };
enum { KINDS = AT_COUNT * OPERAND_COUNT * RESULTS * LAYOUTS * EPILOGUES };
_Static_assert((int)MATMUL_NAME == (int)OP_TUNED_NAME, "names have one size");

const char *const matmul_at_names[AT_COUNT] = {"sm_90a", "sm_80", "cpu",  "portable",
                                               "f32",    "thin",  "small"};

// --- names
static op_tuned_key key_of(const job *j, matmul_at at)
{
    uint32_t kind = (uint32_t)at;
    kind = kind * OPERAND_COUNT + (uint32_t)j->type;
    kind = kind * RESULTS + (uint32_t)j->result;
    kind = kind * LAYOUTS + (uint32_t)j->a.is_transposed * 2 + j->b.is_transposed;
    kind = kind * EPILOGUES + (uint32_t)j->desc->epilogue;
    return (op_tuned_key){kind, {j->m, j->n, j->depth, j->batch}};
}

static void write_program(uint32_t kind, char program[MATMUL_NAME])
{
    static const char *const types[OPERAND_COUNT] = {"bf16", "f16", "tf32", "e4m3", "s8", "f32"};
    static const char *const results[RESULTS] = {"bf16", "f16", "f32", "s32"};
    static const char *const layouts[LAYOUTS] = {"nn", "nt", "tn", "tt"};
    static const char *const epilogues[EPILOGUES] = {"none", "bias", "relu", "gelu", "silu"};
    uint32_t of_layouts = kind / EPILOGUES, of_results = of_layouts / LAYOUTS,
             of_types = of_results / RESULTS;
    snprintf(program, MATMUL_NAME, "matmul:%s:%s:%s:%s:%s",
             matmul_at_names[of_types / OPERAND_COUNT], types[of_types % OPERAND_COUNT],
             results[of_results % RESULTS], layouts[of_layouts % LAYOUTS],
             epilogues[kind % EPILOGUES]);
}

void matmul_write_choice(const matmul_choice *c, char out[MATMUL_NAME])
{
    const kiln_matmul_sm90 *s = &c->sm90;
    const struct {
        const char *name;
        uint32_t value;
    } rows[] = {{"swapped", s->is_swapped}, {"pingpong", s->is_pingpong},
                {"stages", s->stages},      {"group", s->group},
                {"split_k", s->split_k},    {"parts", s->parts},
                {"narrow_n", s->narrow_n},  {"narrow_columns", s->narrow_columns},
                {"sharers", s->sharers}};
    size_t used = (size_t)snprintf(out, MATMUL_NAME, "tile_m=%u tile_n=%u", c->m, c->n);
    for (size_t n = 0; n < COUNT(rows) && used < MATMUL_NAME; n++)
        if (rows[n].value)
            used += (size_t)snprintf(out + used, MATMUL_NAME - used, " %s=%u", rows[n].name,
                                     rows[n].value);
}

bool matmul_read_choice(const char *list, matmul_choice *out)
{
    *out = (matmul_choice){.m = op_tuned_number(list, "tile_m"),
                           .n = op_tuned_number(list, "tile_n"),
                           .sm90 = {.is_swapped = op_tuned_number(list, "swapped"),
                                    .is_pingpong = op_tuned_number(list, "pingpong"),
                                    .stages = op_tuned_number(list, "stages"),
                                    .group = op_tuned_number(list, "group"),
                                    .split_k = op_tuned_number(list, "split_k"),
                                    .parts = op_tuned_number(list, "parts"),
                                    .narrow_n = op_tuned_number(list, "narrow_n"),
                                    .narrow_columns = op_tuned_number(list, "narrow_columns"),
                                    .sharers = op_tuned_number(list, "sharers")}};
    return out->m && out->n;
}

// --- the table
static bool read_tuned(const char *choice, void *kept)
{
    matmul_tuned *t = kept;
    return matmul_read_choice(choice, &t->choice);
}

static const op_tuned_op tuned = {.keeper = OP_KEEP_MATMUL,
                                  .kinds = KINDS,
                                  .kept_bytes = sizeof(matmul_tuned),
                                  .sizes = {"m", "n", "k", "batch"},
                                  .name = write_program,
                                  .read = read_tuned};

void matmul_name(const job *j, matmul_at at, char program[MATMUL_NAME], char shape[MATMUL_NAME])
{
    op_tuned_key key = key_of(j, at);
    write_program(key.kind, program);
    op_tuned_shape(&tuned, &key, shape);
}

matmul_tuned *matmul_find_tuned(const job *j, matmul_at at)
{
    op_tuned_key key = key_of(j, at);
    return op_tuned_find(j->k, &tuned, &key);
}
