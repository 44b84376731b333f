// Tests of registers.c that are not cases: repeats give the same bits, rows of x do not depend on
// each other whatever numbers they have, and what is refused.
#include "ops/linear/suite_linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 128 };

typedef struct form {
    const char *name;
    uint32_t m, n, k; // n: on an interpreter an eighth of it
    bool is_i4;
} form;

typedef struct operands {
    kiln_buffer *x, *weight, *scale, *out;
    uint64_t x_count, weight_count, scale_count, out_count;
    uint16_t *numbers, *got, *want;
    kiln_linear_desc desc;
} operands;

static uint16_t bf16_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(bits >> 16);
}

// Random bits, or numbers from 0.5 to 1.5, in the `count` elements of so many words.
static kiln_status fill(kiln_buffer *b, size_t count, size_t words, uint32_t state, bool is_scale)
{
    uint32_t *data = malloc(words * sizeof *data);
    if (!data)
        return KILN_E_NO_MEMORY;
    for (size_t i = 0; i < words; i++) {
        float scale = 0.5f + (float)((state = state * 1664525 + 1013904223) >> 8) * 0x1p-24f;
        if (is_scale)
            memcpy(&data[i], &scale, sizeof scale);
        else
            data[i] = state ^ state >> 16;
    }
    kiln_status status = kiln_write(b, 0, data, count);
    free(data);
    return status;
}

static void operands_free(operands *o)
{
    kiln_buffer *all[] = {o->x, o->weight, o->scale, o->out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        kiln_buffer_free(all[i]);
    free(o->numbers);
    free(o->got);
    free(o->want);
}

static kiln_status operands_new(kiln *k, const form *f, uint32_t n, operands *o)
{
    uint32_t groups = f->is_i4 ? f->k / GROUP : 1;
    kiln_status status;
    *o = (operands){.x_count = (uint64_t)f->m * f->k,
                    .weight_count = (uint64_t)n * f->k / (f->is_i4 ? 8 : 1),
                    .scale_count = (uint64_t)n * groups,
                    .out_count = (uint64_t)f->m * n};
    o->numbers = malloc(o->x_count * sizeof *o->numbers);
    o->got = malloc(o->out_count * sizeof *o->got);
    o->want = malloc(o->out_count * sizeof *o->want);
    if (!o->numbers || !o->got || !o->want)
        return KILN_E_NO_MEMORY;
    status = kiln_buffer_new(k, KILN_BF16, o->x_count, &o->x);
    if (!status)
        status = kiln_buffer_new(k, f->is_i4 ? KILN_U32 : KILN_I8, o->weight_count, &o->weight);
    if (!status)
        status = kiln_buffer_new(k, KILN_F32, o->scale_count, &o->scale);
    if (!status)
        status = kiln_buffer_new(k, KILN_BF16, o->out_count, &o->out);
    if (!status)
        status = fill(o->weight, o->weight_count, o->weight_count / (f->is_i4 ? 1 : 4), 7, false);
    if (!status)
        status = fill(o->scale, o->scale_count, o->scale_count, 5, true);
    o->desc = (kiln_linear_desc){.x = KILN_VIEW(o->x, f->m, f->k),
                                 .weight = KILN_VIEW(o->weight, n, f->is_i4 ? f->k / 8 : f->k),
                                 .scale = f->is_i4 ? KILN_VIEW(o->scale, n, groups)
                                                   : KILN_VIEW(o->scale, n),
                                 .out = KILN_VIEW(o->out, f->m, n),
                                 .group = f->is_i4 ? GROUP : 0,
                                 .kernel = KILN_LINEAR_REGISTERS};
    return status;
}

// The product of the numbers, in `to`.
static kiln_status multiply(const operands *o, kiln *k, uint16_t *to)
{
    kiln_status status = kiln_write(o->x, 0, o->numbers, o->x_count);
    if (!status)
        status = kiln_linear(k, &o->desc);
    return status ? status : kiln_read(o->out, 0, to, o->out_count);
}

// The same product again and again, then with other numbers in the other rows: the first row keeps
// its bits.
static int check_form(kiln *k, const form *f, bool is_gpu, int *passed)
{
    static const float others[] = {0.0f, 3e30f, 1e-30f, INFINITY, NAN};
    operands o;
    uint32_t n = is_gpu ? f->n : f->n / 8, state = 3, repeats = is_gpu ? 100 : 2;
    const char *what = NULL;
    kiln_status status = operands_new(k, f, n, &o);
    for (uint64_t i = 0; i < o.x_count && !status; i++)
        o.numbers[i] = bf16_of((float)(int32_t)(state = state * 1664525 + 1013904223) * 0x1p-31f);
    if (!status)
        status = multiply(&o, k, o.want);
    for (uint32_t i = 0; i < repeats && !status && !what; i++) {
        status = multiply(&o, k, o.got);
        if (!status && memcmp(o.got, o.want, o.out_count * sizeof *o.got))
            what = "a repeat has other bits";
    }
    for (size_t e = 0; e < sizeof others / sizeof *others && f->m > 1 && !status && !what; e++) {
        for (uint64_t i = f->k; i < o.x_count; i++)
            o.numbers[i] = bf16_of(others[e]);
        status = multiply(&o, k, o.got);
        if (!status && memcmp(o.got, o.want, n * sizeof *o.got))
            what = "a row depends on the numbers of others";
    }
    if (status || what)
        printf("linear: %s with x in registers: %s\n", f->name,
               status ? kiln_last_error(k)->text : what);
    operands_free(&o);
    *passed += !status && !what;
    return status || what;
}

static int refused(kiln *k, const form *f, const char *wanted)
{
    operands o;
    bool is_right = !operands_new(k, f, 16, &o) && kiln_linear(k, &o.desc) &&
                    strstr(kiln_last_error(k)->text, wanted);
    if (!is_right)
        printf("linear: '%s' was expected, not: %s\n", wanted, kiln_last_error(k)->text);
    operands_free(&o);
    return !is_right;
}

int suite_linear_registers(kiln *k, int *passed)
{
    static const form forms[] = {{"a row of int4", 1, 8192, 8192, true},
                                 {"rows of int4", 8, 4104, 4096, true},
                                 {"rows of int4, K shared", 8, 1000, 14336, true},
                                 {"many rows of int4, K shared", 16, 2200, 8192, true},
                                 {"rows of int8", 7, 4096, 8192, false},
                                 {"many rows of int8", 16, 1040, 4096, false},
                                 {"rows of int8, K shared", 8, 4104, 14336, false},
                                 {"many rows of int8, K shared", 16, 2200, 8192, false}};
    static const form long_k = {"int8", 16, 16, 65536, false},
                      very_long = {"int4", 16, 16, 65536, true};
    kiln_device_info info;
    int failed = 0;
    if (kiln_device_info_of(k, &info) || !info.caps.has_wgmma)
        return 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        failed += check_form(k, &forms[i], !info.caps.is_emulated, passed);
    int wrong = refused(k, &long_k, "K is too long for the registers of eight blocks");
    wrong += refused(k, &very_long, "K is too long for the registers of eight blocks");
    *passed += !wrong;
    return failed + (wrong != 0);
}
