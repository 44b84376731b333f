// The data of the matrix product benchmark: operands of random numbers, in as many copies as exceed
// the cache, and samples of the product in double precision to judge results by.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/gemm.h"
#include "ir/eval.h"

enum { PATTERN = 1048573 }; // numbers that are repeated

static ir_type ir_of(kiln_type t)
{
    return t == KILN_BF16 ? IR_BF16 : t == KILN_F16 ? IR_F16 : IR_F8E4;
}

static double value_at(kiln_type t, const void *from, size_t i)
{
    if (t == KILN_F32)
        return (double)((const float *)from)[i];
    if (t == KILN_I32)
        return (double)((const int32_t *)from)[i];
    return ir_widen(ir_of(t), ((const uint16_t *)from)[i]);
}

// Rounds `values` to the type and writes their bytes.
static void encode(kiln_type t, float *values, unsigned char *bytes)
{
    for (size_t i = 0; i < PATTERN; i++) {
        if (t == KILN_F32) {
            memcpy(bytes + i * 4, &values[i], 4);
        } else if (t == KILN_I8) {
            values[i] = fmaxf(-127, fminf(127, roundf(values[i] * 40)));
            ((int8_t *)bytes)[i] = (int8_t)values[i];
        } else {
            uint32_t bits = ir_narrow(ir_of(t), (double)values[i]);
            values[i] = (float)ir_widen(ir_of(t), bits);
            memcpy(bytes + i * kiln_type_size(t), &bits, kiln_type_size(t));
        }
    }
}

// The same `count` numbers in each of `copies` buffers; their pattern in `values`.
static void make_operand(report *r, kiln_type t, size_t count, uint64_t seed, float *values,
                         int copies, kiln_buffer **out)
{
    size_t size = kiln_type_size(t);
    unsigned char *bytes = malloc((count + PATTERN) * size);
    if (!bytes)
        exit(1);
    bench_random(values, PATTERN, seed);
    encode(t, values, bytes);
    for (size_t have = PATTERN; have < count; have += PATTERN)
        memcpy(bytes + have * size, bytes, PATTERN * size);
    for (int n = 0; n < copies; n++) {
        bench_must(r, kiln_buffer_new(r->k, t, count, &out[n]), "a buffer");
        bench_must(r, kiln_write(out[n], 0, bytes, count), "a copy");
    }
    free(bytes);
}

static size_t sample_at(const gemm_problem *p, size_t s)
{
    size_t all = (size_t)p->m * (size_t)p->n;
    return s == 0 ? 0 : s == 1 ? all - 1 : s * 2654435761u % all;
}

void gemm_data_make(report *r, const gemm_problem *p, gemm_data *out)
{
    const gemm_type_info *t = &gemm_types[p->type];
    size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k;
    double bytes =
        (double)t->in_bytes * (double)(m * k + n * k) + (double)t->out_bytes * (double)(m * n);
    double sets = ceil(200e6 / bytes);
    out->set_count = sets > GEMM_SETS ? GEMM_SETS : (int)sets;
    kiln_buffer *a[GEMM_SETS], *b[GEMM_SETS];
    float *a_values = bench_floats(PATTERN), *b_values = bench_floats(PATTERN);
    make_operand(r, t->in, m * k, 3, a_values, out->set_count, a);
    make_operand(r, t->in, n * k, 4, b_values, out->set_count, b);
    for (int s = 0; s < out->set_count; s++) {
        out->sets[s] = (gemm_set){.a = a[s], .b = b[s]};
        bench_must(r, kiln_buffer_new(r->k, t->out, m * n, &out->sets[s].c), "a buffer");
    }
    for (size_t s = 0; s < GEMM_SAMPLES; s++) {
        size_t at = sample_at(p, s), row = at / n, column = at % n;
        out->want[s] = 0;
        for (size_t i = 0; i < k; i++) {
            size_t x = p->a_mn ? i * m + row : row * k + i,
                   y = p->b_mn ? i * n + column : column * k + i;
            out->want[s] += (double)a_values[x % PATTERN] * (double)b_values[y % PATTERN];
        }
    }
    free(a_values);
    free(b_values);
}

void gemm_data_free(gemm_data *d)
{
    for (int s = 0; s < d->set_count; s++) {
        kiln_buffer_free(d->sets[s].a);
        kiln_buffer_free(d->sets[s].b);
        kiln_buffer_free(d->sets[s].c);
    }
}

double gemm_data_worst(report *r, const gemm_data *d, const gemm_problem *p, kiln_stream *stream)
{
    kiln_type t = gemm_types[p->type].out;
    size_t all = (size_t)p->m * (size_t)p->n, size = kiln_type_size(t);
    bool is_whole = all <= 1 << 24; // of a larger result only the samples are read
    unsigned char *got = malloc((is_whole ? all : GEMM_SAMPLES) * size);
    double worst = 0;
    if (!got)
        exit(1);
    bench_must(r, stream ? kiln_stream_sync(stream) : kiln_sync(r->k), "a product");
    if (is_whole)
        bench_must(r, kiln_read(d->sets[0].c, 0, got, all), "a copy");
    for (size_t s = 0; s < GEMM_SAMPLES; s++) {
        size_t at = sample_at(p, s);
        if (!is_whole)
            bench_must(r, kiln_read(d->sets[0].c, at, got + s * size, 1), "a copy");
        double error = fabs(value_at(t, got, is_whole ? at : s) - d->want[s]) / sqrt(p->k);
        worst = error <= worst ? worst : isnan(error) ? HUGE_VAL : error;
    }
    free(got);
    return worst;
}
