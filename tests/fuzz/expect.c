// The file of expected results: a head, then rows as they are in memory, in any order.
#include "fuzz/expect.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct head {
    char mark[16], judges[64];
} head;
static const char mark[16] = "kiln expected 1";

static uint64_t mixed_in(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * 0x100000001b3u, h ^= h >> 29;
    return h;
}

uint64_t fuzz_program_key(const char *prelude, const char *program)
{
    return mixed_in(mixed_in(0xcbf29ce484222325u, prelude), program);
}

static int by_program(const void *a, const void *b)
{
    uint64_t x = ((const fuzz_expected *)a)->program, y = ((const fuzz_expected *)b)->program;
    return (x > y) - (x < y);
}

bool fuzz_expect_read(const char *path, fuzz_expect *e)
{
    enum { STEP = 4096 };
    head h;
    *e = (fuzz_expect){0};
    FILE *in = fopen(path, "rb");
    bool ok = in && fread(&h, sizeof h, 1, in) == 1 && memcmp(h.mark, mark, sizeof mark) == 0;
    for (size_t got = STEP; ok && got == STEP; e->count += got) {
        fuzz_expected *more = realloc(e->rows, (e->count + STEP) * sizeof *more);
        ok = more != NULL;
        e->rows = ok ? more : e->rows;
        got = ok ? fread(e->rows + e->count, sizeof *e->rows, STEP, in) : 0;
    }
    if (in)
        fclose(in);
    if (!ok)
        return false;
    memcpy(e->judges, h.judges, sizeof e->judges);
    e->judges[sizeof e->judges - 1] = 0;
    qsort(e->rows, e->count, sizeof *e->rows, by_program);
    return true;
}

const uint64_t *fuzz_expect_find(const fuzz_expect *e, uint64_t program)
{
    const fuzz_expected key = {.program = program}, *row = NULL;
    if (e->count)
        row = bsearch(&key, e->rows, e->count, sizeof *e->rows, by_program);
    return row ? &row->result : NULL;
}

static bool write_whole(const char *path, int flags, const void *bytes, size_t len)
{
    int to = open(path, flags | O_WRONLY | O_CREAT, 0666);
    bool ok = to >= 0 && write(to, bytes, len) == (ssize_t)len;
    return to >= 0 && close(to) == 0 && ok;
}

bool fuzz_expect_new(const char *path, const char *judges)
{
    head h = {0};
    memcpy(h.mark, mark, sizeof mark);
    snprintf(h.judges, sizeof h.judges, "%s", judges);
    return write_whole(path, O_TRUNC, &h, sizeof h);
}

bool fuzz_expect_add(const char *path, const fuzz_expected *rows, size_t count)
{
    return write_whole(path, O_APPEND, rows, count * sizeof *rows);
}
