// The table of kiln bench (bench.h): a row has the time of a call with tensors that stay in the
// cache (warm) and with copies that take turns (cold), what that is a second, and what part of the
// roof: the least time that the same process needs to copy as many bytes, or to do as many
// operations in a large product. Text, JSON or a picture. Start at bench_row_measure.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/file.h"
#include "cli/bench.h"
#include "cli/cli.h"

// --- roofs
static kiln_status call_product(void *user, int round)
{
    const bench_product *p = user;
    (void)round;
    return kiln_matmul(p->k, &p->desc);
}

// A product of the type: operations a second; 0: there is none of that type.
static double measure_product(const bench_table *t, kiln_type type, bool is_tf32, uint64_t size)
{
    static const struct {
        kiln_type type, out;
    } known[] = {{KILN_BF16, KILN_BF16},
                 {KILN_F16, KILN_F16},
                 {KILN_F32, KILN_F32},
                 {KILN_F8E4, KILN_BF16},
                 {KILN_I8, KILN_I32}};
    size_t row = 0, count = (size_t)(size * size), bytes = count * kiln_type_size(type);
    while (row < COUNT(known) && known[row].type != type)
        row++;
    if (row == COUNT(known))
        return 0;
    bench_product p = {.k = t->k};
    kiln_buffer *left = NULL, *right = NULL, *out = NULL;
    uint8_t *data = malloc(bytes);
    bench_times times = {0};
    kiln_status status = data ? kiln_buffer_new(t->k, type, count, &left) : KILN_E_NO_MEMORY;
    if (!status)
        status = kiln_buffer_new(t->k, type, count, &right);
    if (!status)
        status = kiln_buffer_new(t->k, known[row].out, count, &out);
    if (!status) {
        bench_fill_random(type, data, bytes);
        status = kiln_write(left, 0, data, count);
    }
    if (!status)
        status = kiln_write(right, 0, data, count);
    p.desc = (kiln_matmul_desc){.a = KILN_VIEW(left, size, size),
                                .b = kiln_view_transpose(KILN_VIEW(right, size, size)),
                                .out = KILN_VIEW(out, size, size),
                                .is_tf32 = is_tf32};
    if (!status)
        status = bench_measure(t->k, call_product, &p, &times);
    kiln_buffer_free(left);
    kiln_buffer_free(right);
    kiln_buffer_free(out);
    free(data);
    return status ? 0 : 2.0 * (double)size * (double)size * (double)size / times.median;
}

int bench_try_svg(const char *path)
{
    bool is_new = !file_exists(path);
    FILE *f = fopen(path, "a");
    if (!f) {
        fprintf(stderr, "kiln bench: cannot write %s: %s\n", path, strerror(errno));
        return EXIT_WORLD;
    }
    fclose(f);
    if (is_new)
        remove(path);
    return 0;
}

kiln_status bench_table_open(bench_table *t, kiln *k, const char *what)
{
    kiln_device_info info;
    bool is_known = !kiln_device_info_of(k, &info), is_emulated = is_known && info.caps.is_emulated;
    t->k = k;
    t->is_gpu = is_known && !info.caps.is_host;
    t->cold_bytes = t->is_gpu ? 512e6 : is_emulated ? 1e5 : 64e6;
    t->most_bytes = t->is_gpu ? 0 : is_emulated ? 1e5 : 16e6;
    t->product_size = t->is_gpu ? 4096 : is_emulated ? 32 : 512;
    if (t->is_gpu && info.memory_bytes < (uint64_t)1 << 30) { // a small one
        t->cold_bytes = (double)info.memory_bytes / 16;
        t->product_size = 1024;
    }
    snprintf(t->device, sizeof t->device, "%s", is_known ? info.name : "?");
    kiln_status status = bench_copy_rate(k, t->cold_bytes, &t->copy);
    if (status)
        return status;
    if (t->svg)
        t->picture.rows = calloc(BENCH_ROWS, sizeof *t->picture.rows);
    if (t->is_json)
        printf("{\"bench\": \"%s\", \"device\": \"%s\", \"copy_gbps\": %.1f, \"rows\": [\n", what,
               t->device, t->copy * 1e-9);
    else
        printf("%s on %s; a copy of memory: %.2f GB/s\n", what, t->device, t->copy * 1e-9);
    bench_theirs_open(&t->theirs, k, t->is_json);
    return KILN_OK;
}

// Once for each type.
static double product_rate(bench_table *t, const bench_row *r)
{
    double *rate = &t->products[r->type][r->is_tf32];
    if (r->operations == 0)
        return 0;
    if (*rate == 0) {
        *rate = measure_product(t, r->type, r->is_tf32, t->product_size);
        if (*rate == 0)
            *rate = -1; // not again
        else if (!t->is_json)
            printf("a product of %u in %s: %.2f GFLOP/s\n", t->product_size, r->type_name,
                   *rate * 1e-9);
    }
    return *rate > 0 ? *rate : 0;
}

// --- rows
int bench_copies(const bench_table *t, double bytes)
{
    int copies = bytes > 0 && bytes * BENCH_COPIES > t->cold_bytes
                     ? (int)(t->cold_bytes / bytes) + 1
                     : BENCH_COPIES;
    return bytes > 0 ? copies : 1;
}

// Ours and theirs in turns: the device gets warmer. r->theirs stays 0 where they cannot.
static kiln_status measure_turns(bench_table *t, const bench_calls *calls, bench_row *r)
{
    bench_times again = {0}, last = {0};
    if (bench_measure(t->k, calls->theirs, calls->their_user, &r->theirs)) {
        r->theirs = (bench_times){0};
        return KILN_OK;
    }
    kiln_status status = bench_measure(t->k, calls->ours, calls->user, &again);
    if (!status && bench_measure(t->k, calls->theirs, calls->their_user, &last))
        last = r->theirs;
    r->cold.median = (r->cold.median + again.median) / 2;
    r->theirs.median = (r->theirs.median + last.median) / 2;
    return status;
}

kiln_status bench_row_measure(bench_table *t, const bench_calls *calls, bench_row *r)
{
    kiln_status status = KILN_OK;
    r->product = product_rate(t, r);
    *calls->copies = 1;
    status = bench_measure(t->k, calls->ours, calls->user, &r->warm);
    r->cold = r->warm;
    *calls->copies = calls->most_copies;
    if (!status && calls->most_copies > 1)
        status = bench_measure(t->k, calls->ours, calls->user, &r->cold);
    if (!status && calls->theirs)
        status = measure_turns(t, calls, r);
    return status;
}

static void print_text(bench_table *t, const bench_row *r, double rate, double percent)
{
    bool has_operations = r->operations > 0;
    if (!t->has_row)
        printf("  %-*s %-5s %12s %6s %12s %10s %6s\n", t->width, r->pass, "type", "warm us", "+-",
               "cold us", has_operations ? "GFLOP/s" : "GB/s", "% roof");
    printf("  %-*s %-5s %12.2f %5.1f%% %12.2f %10.2f %5.0f%%", t->width, r->name, r->type_name,
           r->warm.median * 1e6, r->warm.spread * 100, r->cold.median * 1e6, rate * 1e-9, percent);
}

void bench_row_print(bench_table *t, const bench_row *r)
{
    double seconds = r->cold.median, least = r->bytes / t->copy;
    if (r->product > 0 && r->operations / r->product > least)
        least = r->operations / r->product;
    double percent = 100 * least / seconds;
    if (t->is_json) {
        printf("%s  {\"%s\": \"%s\", \"type\": \"%s\", \"pass\": \"%s\", \"us\": %.3f, "
               "\"spread\": %.4f, \"cold_us\": %.3f, \"gbps\": %.1f, \"percent\": %.1f",
               t->has_row ? ",\n" : "", r->key, r->name, r->type_name, r->pass,
               r->warm.median * 1e6, r->warm.spread, seconds * 1e6, r->bytes / seconds * 1e-9,
               percent);
        if (r->operations > 0)
            printf(", \"tflops\": %.4f, \"product_tflops\": %.4f", r->operations / seconds * 1e-12,
                   r->product * 1e-12);
    } else
        print_text(t, r, (r->operations > 0 ? r->operations : r->bytes) / seconds, percent);
    bench_theirs_print(&t->theirs, t->is_json, r->theirs.median, seconds, r->why);
    printf(t->is_json ? "}" : "\n");
    t->has_row = true;
    if (t->picture.rows && t->picture.count < BENCH_ROWS) {
        bench_svg_row *drawn = &t->picture.rows[t->picture.count++];
        *drawn = (bench_svg_row){.seconds = seconds,
                                 .bytes = r->bytes,
                                 .bytes_per_second = r->bytes / seconds,
                                 .operations = r->operations};
        snprintf(drawn->label, sizeof drawn->label, "%s %s", r->name, r->type_name);
        t->picture.product = r->product > t->picture.product ? r->product : t->picture.product;
    }
}

int bench_table_close(bench_table *t, const char *what, const char *pass, int code)
{
    if (t->is_json)
        printf("\n]");
    bench_theirs_print_ratios(&t->theirs, t->is_json);
    if (t->is_json)
        printf("}\n");
    if (t->picture.rows && !code) {
        snprintf(t->picture.title, sizeof t->picture.title, "%s, %s, on %s", what, pass, t->device);
        t->picture.roof = t->copy;
        if (!bench_svg_write(t->svg, &t->picture)) {
            fprintf(stderr, "kiln bench: cannot write %s\n", t->svg);
            code = EXIT_WORLD;
        }
    }
    free(t->picture.rows);
    t->picture.rows = NULL;
    return code;
}
