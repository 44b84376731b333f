// Reads and writes .npy. The header is a Python dictionary literal; only the three keys that NumPy
// writes are looked for, and everything is checked against the file's real length before memory is
// taken.
#include "cli/npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *code;
    kiln_type type;
    size_t size;
} codes[] = {
    {"b1", KILN_BOOL, 1}, {"i1", KILN_I8, 1},  {"u1", KILN_U8, 1},  {"i2", KILN_I16, 2},
    {"u2", KILN_U16, 2},  {"i4", KILN_I32, 4}, {"u4", KILN_U32, 4}, {"i8", KILN_I64, 8},
    {"u8", KILN_U64, 8},  {"f2", KILN_F16, 2}, {"f4", KILN_F32, 4}, {"f8", KILN_F64, 8},
};

#define FAIL(...) (snprintf(why, 256, __VA_ARGS__), false)

static bool read_descr(const char *header, npy *out, char why[256])
{
    const char *at = strstr(header, "'descr'");
    at = at ? strchr(at + 7, ':') : NULL;
    if (!at)
        return FAIL("its header has no 'descr'");
    at++;
    while (*at == ' ')
        at++;
    if (*at != '\'')
        return FAIL("it holds structured records; save a plain array");
    at++;
    if (*at == '>')
        return FAIL("it is big-endian; save it as little-endian");
    if (*at == '<' || *at == '|' || *at == '=')
        at++;
    for (size_t i = 0; i < COUNT(codes); i++) {
        if (!strncmp(at, codes[i].code, 2) && at[2] == '\'') {
            out->type = codes[i].type;
            out->element_size = codes[i].size;
            return true;
        }
    }
    if (*at == 'V') {
        out->type = KILN_VOID;
        out->element_size = strtoul(at + 1, NULL, 10);
        if (out->element_size && out->element_size < (1u << 20))
            return true;
    }
    return FAIL("its element type '%.8s' is not one Kiln knows", at);
}

static bool read_shape(const char *header, npy *out, char why[256])
{
    const char *order = strstr(header, "'fortran_order'");
    if (order && strstr(order, "True") && strstr(order, "True") < order + 24)
        return FAIL("it is in Fortran order; save np.ascontiguousarray(x)");
    const char *at = strstr(header, "'shape'");
    at = at ? strchr(at, '(') : NULL;
    if (!at)
        return FAIL("its header has no 'shape'");
    out->count = 1;
    for (at++; *at && *at != ')';) {
        if (*at < '0' || *at > '9') {
            at++;
            continue;
        }
        char *end;
        errno = 0;
        unsigned long long dim = strtoull(at, &end, 10);
        if (errno || __builtin_mul_overflow(out->count, (size_t)dim, &out->count))
            return FAIL("its shape is too large");
        at = end;
    }
    return true;
}

static bool read_open(FILE *file, npy *out, char why[256])
{
    unsigned char start[12];
    if (fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY", 6) != 0)
        return FAIL("it is not a .npy file");
    size_t header_len = start[8] | (size_t)start[9] << 8;
    if (start[6] >= 2) {
        if (fread(start + 10, 1, 2, file) != 2)
            return FAIL("it ends in its header");
        header_len |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    if (header_len > 1 << 16)
        return FAIL("its header is %zu bytes long", header_len);
    char *header = calloc(1, header_len + 1);
    if (!header)
        return FAIL("out of memory");
    bool ok =
        fread(header, 1, header_len, file) == header_len ? true : FAIL("it ends in its header");
    ok = ok && read_descr(header, out, why) && read_shape(header, out, why);
    free(header);
    size_t bytes;
    if (!ok)
        return false;
    if (__builtin_mul_overflow(out->count, out->element_size, &bytes))
        return FAIL("its shape is too large");
    long here = ftell(file);
    if (here < 0 || fseek(file, 0, SEEK_END) || (size_t)(ftell(file) - here) < bytes ||
        fseek(file, here, SEEK_SET))
        return FAIL("it is shorter than its shape says");
    out->data = malloc(bytes ? bytes : 1);
    if (!out->data)
        return FAIL("out of memory: %zu bytes", bytes);
    if (fread(out->data, 1, bytes, file) != bytes) {
        npy_free(out);
        return FAIL("it could not be read: %s", strerror(errno));
    }
    return true;
}

bool npy_read(const char *path, npy *out, char why[256])
{
    *out = (npy){0};
    FILE *file = fopen(path, "rb");
    if (!file)
        return FAIL("%s", strerror(errno));
    bool ok = read_open(file, out, why);
    fclose(file);
    return ok;
}

void npy_free(npy *n)
{
    free(n->data);
    n->data = NULL;
}

bool npy_write(const char *path, kiln_type type, size_t element_size, size_t count,
               const void *data, char why[256])
{
    char descr[24];
    snprintf(descr, sizeof descr, "|V%zu", element_size);
    if (type == KILN_BF16)
        snprintf(descr, sizeof descr, "<u2");
    if (type == KILN_F8E4 || type == KILN_F8E5)
        snprintf(descr, sizeof descr, "|u1");
    for (size_t i = 0; i < COUNT(codes); i++)
        if (codes[i].type == type && type != KILN_VOID)
            snprintf(descr, sizeof descr, "%c%s", element_size == 1 ? '|' : '<', codes[i].code);
    char header[256];
    int len = snprintf(header, sizeof header,
                       "{'descr': '%s', 'fortran_order': False, 'shape': (%zu,), }", descr, count);
    int padded = (len + 10 + 1 + 63) / 64 * 64 - 10;
    for (; len < padded - 1; len++)
        header[len] = ' ';
    header[len++] = '\n';
    unsigned char start[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(len & 255), (unsigned char)(len >> 8)};
    FILE *file = fopen(path, "wb");
    if (!file)
        return FAIL("%s", strerror(errno));
    bool ok = fwrite(start, 1, 10, file) == 10 &&
              fwrite(header, 1, (size_t)len, file) == (size_t)len &&
              fwrite(data, 1, count * element_size, file) == count * element_size;
    int saved = errno;
    if (fclose(file))
        ok = false;
    return ok ? true : FAIL("%s", strerror(saved));
}
