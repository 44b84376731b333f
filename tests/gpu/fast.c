// The promised errors of the fast_ functions: bit patterns of each domain,
// against Kiln's own f64 functions, in kernels.     fast [DEVICE] [--stride N]
// [--table FILE]
//
// `rows` below is the promise; docs/math.md ("Approximations") and the texts of
// builtin.def repeat it. A GPU walks every f32 of a domain (of two arguments:
// 2^30 pairs); elsewhere a stride leaves some 30 000 per row. --table puts what
// it measures into the rows of FILE (docs/math.md). Start at `rows`, then
// check_row.
#include "api.h"
#include <math.h>
#include <time.h>

static const char source[] =
    "#include <kiln/kernel.h>\n"
    // worst[0]: largest error, worst[1]: largest share of the limit; each above
    // the place it is at
    "static void keep(u64 *most, f64 value, u32 place) {\n"
    "    f32 v = value <= 1e30 ? (f32)value : 1e30f;\n" // and when it is a NaN
    "    u64 word = (u64)bits_f32(v) << 32 | place;\n"
    "    if (word > *most) *most = word;\n"
    "}\n"
    "static void compare(u64 *error, u64 *share, f64 got, f64 exact, bool "
    "is_relative, f64 limit,\n"
    "                    u32 place) {\n"
    "    f64 off = got == exact ? 0 : fabs(got - exact);\n"
    "    if (is_relative && off != 0) off /= fabs(exact);\n"
    "    keep(error, off, place);\n"
    "    keep(share, off / limit, place);\n"
    "}\n"
    "#define WALK(name, exact) \\\n"
    "    kernel block(128) void walk_##name(u64 *worst, u32 first, u32 count, "
    "u32 stride, \\\n"
    "                                u32 is_relative, f64 limit, f64 slope) { "
    "\\\n"
    "        u64 error = 0, share = 0; \\\n"
    "        for (u32 i = global_x(); i < count; i += grid_dim_x() * 128) { "
    "\\\n"
    "            u32 place = first + i * stride; \\\n"
    "            f32 narrow = f32_from_bits(place); \\\n"
    "            f64 x = (f64)narrow; \\\n"
    "            compare(&error, &share, (f64)fast_##name(narrow), exact, "
    "is_relative != 0, \\\n"
    "                    limit + slope * fabs(x), place); \\\n"
    "        } \\\n"
    "        atomic_max(&worst[0], error); \\\n"
    "        atomic_max(&worst[1], share); \\\n"
    "    }\n"
    "WALK(exp2, exp2(x))\n"
    "WALK(exp, exp(x))\n"
    "WALK(log2, log2(x))\n"
    "WALK(log, log(x))\n"
    "WALK(sin, sin(x))\n"
    "WALK(cos, cos(x))\n"
    "WALK(tanh, tanh(x))\n"
    "WALK(rcp, 1.0 / x)\n"
    "WALK(rsqrt, 1.0 / sqrt(x))\n"
    "WALK(sqrt, sqrt(x))\n"
    "static u32x4 words(u32 at) { return philox((u32x4){at, 0, 0, 0}, "
    "(u32x2){1, 2}); }\n"
    // Both normal, |y| <= 2^126, the quotient between 2^-125 and 2^127.
    "static f32x2 pair_div(u32x4 w) {\n"
    "    i32 below = 1 + (i32)(w.x % 252), above = below + (i32)(w.y % 251) - "
    "124;\n"
    "    u32 x = (u32)min(max(above, 1), 254) << 23 | (w.z & 0x807fffff);\n"
    "    return (f32x2){f32_from_bits(x), f32_from_bits((u32)below << 23 | "
    "(w.w & 0x807fffff))};\n"
    "}\n"
    // Half of the x between 0.5 and 2, the rest any normal one; the power
    // between 2^-125 and 2^125.
    "static f32x2 pair_pow(u32x4 w) {\n"
    "    u32 exponent = w.x & 1 ? 126 + (w.x >> 1 & 1) : 1 + w.y % 254;\n"
    "    f32 x = f32_from_bits(exponent << 23 | (w.z & 0x7fffff));\n"
    "    f32 most = min(126.0f, 125 / max(abs(log2(x)), 0.5f));\n"
    "    return (f32x2){x, (2 * uniform_f32(w.w) - 1) * most};\n"
    "}\n"
    "#define SAMPLE(name, exact, weight) \\\n"
    "    kernel block(128) void walk_##name(u64 *worst, u32 first, u32 count, "
    "u32 stride, \\\n"
    "                                u32 is_relative, f64 limit, f64 slope) { "
    "\\\n"
    "        u64 error = 0, share = 0; \\\n"
    "        for (u32 i = global_x(); i < count; i += grid_dim_x() * 128) { "
    "\\\n"
    "            u32 place = first + i * stride; \\\n"
    "            f32x2 p = pair_##name(words(place)); \\\n"
    "            f64 x = (f64)p.x, y = (f64)p.y; \\\n"
    "            compare(&error, &share, (f64)fast_##name(p.x, p.y), exact, "
    "is_relative != 0, \\\n"
    "                    limit + slope * (weight), place); \\\n"
    "        } \\\n"
    "        atomic_max(&worst[0], error); \\\n"
    "        atomic_max(&worst[1], share); \\\n"
    "    } \\\n"
    "    kernel block(1) void tell_##name(f32 *out, u32 place) { \\\n"
    "        f32x2 p = pair_##name(words(place)); \\\n"
    "        out[0] = p.x; \\\n"
    "        out[1] = p.y; \\\n"
    "    }\n"
    "SAMPLE(div, x / y, 0)\n"
    "SAMPLE(pow, pow(x, y), fabs(y) * max(1.0, fabs(log2(x))))\n";

typedef struct range {
    float first, last; // of one sign, by size: both belong to it
} range;

typedef struct row {
    const char *function, *domain, *promise; // as docs/math.md says them
    range range[2];                          // both 0: none
    bool is_relative, is_pair;
    double limit, slope; // at most limit + slope * |x|; pow: * |y| max(1, |log2 x|)
} row;

#define MOST     0x1.fffffep127f
#define LEAST    0x1p-149f
// clang-format off
static const row rows[] = {
    {"exp2", "-126 <= x < 128", "relative 2^-21.5", {{0, 0x1.fffffep6f}, {-0.0f, -126}}, true, false, 0x1.6a09e6p-22, 0},
    {"exp2", "x < -126", "absolute 2^-126", {{-0x1.f80002p6f, -MOST}, {0, 0}}, false, false, 0x1p-126, 0},
    {"exp", "-87 <= x <= 88", "relative 2^-21.5 + |x| 2^-23", {{0, 88}, {-0.0f, -87}}, true, false, 0x1.6a09e6p-22, 0x1p-23},
    {"exp", "x < -87", "absolute 2^-125", {{-0x1.5c0002p6f, -MOST}, {0, 0}}, false, false, 0x1p-125, 0},
    {"log2", "0.5 < x < 2", "absolute 2^-22", {{0x1.000002p-1f, 0x1.fffffep0f}, {0, 0}}, false, false, 0x1p-22, 0},
    {"log2", "other x > 0", "relative 2^-22", {{LEAST, 0.5f}, {2, MOST}}, true, false, 0x1p-22, 0},
    {"log", "0.5 < x < 2", "absolute 2^-22", {{0x1.000002p-1f, 0x1.fffffep0f}, {0, 0}}, false, false, 0x1p-22, 0},
    {"log", "other x > 0", "relative 2^-21", {{LEAST, 0.5f}, {2, MOST}}, true, false, 0x1p-21, 0},
    {"sin", "|x| <= 6.28318", "absolute 2^-20", {{0, 6.28318f}, {-0.0f, -6.28318f}}, false, false, 0x1p-20, 0},
    {"sin", "|x| <= 314.159", "absolute 2^-14.7", {{0, 314.159f}, {-0.0f, -314.159f}}, false, false, 0x1.3b2c47p-15, 0},
    {"cos", "|x| <= 6.28318", "absolute 2^-20", {{0, 6.28318f}, {-0.0f, -6.28318f}}, false, false, 0x1p-20, 0},
    {"cos", "|x| <= 314.159", "absolute 2^-14.7", {{0, 314.159f}, {-0.0f, -314.159f}}, false, false, 0x1.3b2c47p-15, 0},
    {"tanh", "all", "relative 2^-10.9", {{0, MOST}, {-0.0f, -MOST}}, true, false, 0x1.125fbep-11, 0},
    {"rcp", "2^-126 <= |x| <= 2^126", "relative 2^-22", {{0x1p-126f, 0x1p126f}, {-0x1p-126f, -0x1p126f}}, true, false, 0x1p-22, 0},
    {"rsqrt", "x > 0", "relative 2^-22", {{LEAST, MOST}, {0, 0}}, true, false, 0x1p-22, 0},
    {"sqrt", "x >= 0", "relative 2^-22", {{0, MOST}, {0, 0}}, true, false, 0x1p-22, 0},
    {"div", "x normal, 2^-126 <= |y| <= 2^126, 2^-125 <= |x/y| < 2^127", "relative 2^-21.5", {{0, 0}, {0, 0}}, true, true, 0x1.6a09e6p-22, 0},
    {"pow", "x normal, x > 0, |y| <= 126, 2^-125 <= x^y <= 2^125", "relative 2^-21.5 + |y| max(1, |log2 x|) 2^-22", {{0, 0}, {0, 0}},
     true, true, 0x1.6a09e6p-22, 0x1p-22},
};

// What holds outside of the domains, too; 1 and -1 within 2^-22.
static const struct {
    const char *call;
    float value;
} specials[] = {
    {"fast_exp2(zero)", 1}, {"fast_exp2(-inf)", 0}, {"fast_exp2(inf)", INFINITY}, {"fast_exp2(nan)", NAN},
    {"fast_exp(zero)", 1}, {"fast_exp(-inf)", 0}, {"fast_exp(inf)", INFINITY}, {"fast_exp(nan)", NAN},
    {"fast_log2(one)", 0}, {"fast_log2(zero)", -INFINITY}, {"fast_log2(inf)", INFINITY}, {"fast_log2(-one)", NAN}, {"fast_log2(nan)", NAN},
    {"fast_log(one)", 0}, {"fast_log(zero)", -INFINITY}, {"fast_log(inf)", INFINITY}, {"fast_log(-one)", NAN}, {"fast_log(nan)", NAN},
    {"fast_sin(zero)", 0}, {"fast_sin(inf)", NAN}, {"fast_sin(nan)", NAN},
    {"fast_cos(zero)", 1}, {"fast_cos(inf)", NAN}, {"fast_cos(nan)", NAN},
    {"fast_tanh(-zero)", -0.0f}, {"fast_tanh(-inf)", -1}, {"fast_tanh(inf)", 1}, {"fast_tanh(nan)", NAN},
    {"fast_rcp(-zero)", -INFINITY}, {"fast_rcp(-inf)", -0.0f}, {"fast_rcp(nan)", NAN},
    {"fast_rsqrt(zero)", INFINITY}, {"fast_rsqrt(inf)", 0}, {"fast_rsqrt(-one)", NAN}, {"fast_rsqrt(nan)", NAN},
    {"fast_sqrt(-zero)", -0.0f}, {"fast_sqrt(inf)", INFINITY}, {"fast_sqrt(-one)", NAN}, {"fast_sqrt(nan)", NAN},
    {"fast_div(zero, zero)", NAN}, {"fast_div(one, -inf)", -0.0f}, {"fast_div(nan, one)", NAN},
};
// clang-format on
#define SPECIALS (sizeof specials / sizeof *specials)

typedef struct walk {
    kiln *k;
    kiln_module *m;
    kiln_buffer *worst;
    uint32_t stride; // 0: some 30 000 arguments of every range
    uint32_t grid;
    const char *table; // NULL: none
    int column;        // of this device, in `columns`
    char date[16];
} walk;

static const char *const columns[] = {"cuda", "cpu", "interp"};
#define COLUMNS ((int)(sizeof columns / sizeof *columns))

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// `count` bit patterns from `first` on, and always the last.
static void go(walk *w, const row *r, uint32_t first, uint32_t count)
{
    uint32_t stride = w->stride ? w->stride : count / 30000 + 1;
    uint32_t steps[2][3] = {{first, (count - 1) / stride + 1, stride}, {first + count - 1, 1, 1}};
    for (int n = 0; n < 2; n++) {
        kiln_arg args[] = {kiln_arg_buffer(w->worst),
                           kiln_arg_i64(KILN_U32, steps[n][0]),
                           kiln_arg_i64(KILN_U32, steps[n][1]),
                           kiln_arg_i64(KILN_U32, steps[n][2]),
                           kiln_arg_i64(KILN_U32, r->is_relative),
                           kiln_arg_f64(KILN_F64, r->limit),
                           kiln_arg_f64(KILN_F64, r->slope)};
        char name[32];
        snprintf(name, sizeof name, "walk_%s", r->function);
        uint32_t blocks = steps[n][1] / 128 + 1;
        CHECK(!api_launch(api_kernel(w->m, name), blocks < w->grid ? blocks : w->grid, 128, args,
                          sizeof args / sizeof *args));
    }
}

static void say_where(walk *w, const row *r, uint32_t place, char *out, size_t size)
{
    if (!r->is_pair) {
        snprintf(out, size, "%a", (double)float_of(place));
        return;
    }
    char name[32];
    float pair[2] = {0};
    kiln_buffer *b = NULL;
    snprintf(name, sizeof name, "tell_%s", r->function);
    CHECK(!kiln_buffer_new(w->k, KILN_F32, 2, &b));
    kiln_arg args[] = {kiln_arg_buffer(b), kiln_arg_i64(KILN_U32, place)};
    CHECK(!api_launch(api_kernel(w->m, name), 1, 1, args, 2) && !kiln_read(b, 0, pair, 2));
    kiln_buffer_free(b);
    snprintf(out, size, "%a, %a", (double)pair[0], (double)pair[1]);
}

// Adds "| text " with the bars in it escaped.
static void add_cell(char *line, size_t size, const char *text)
{
    size_t at = strlen(line);
    at += (size_t)snprintf(line + at, size - at, "| ");
    for (const char *c = text; *c && at + 4 < size; c++) {
        if (*c == '|')
            line[at++] = '\\';
        line[at++] = *c;
    }
    snprintf(line + at, size - at, " ");
}

// Writes `line`, a row of the table, with the new cell in this device's column
// and the date.
static void put_row(walk *w, FILE *file, const char *line, size_t key_len, const char *cell)
{
    char rest[256];
    snprintf(rest, sizeof rest, "%s", line + key_len);
    fwrite(line, 1, key_len, file);
    for (int column = 0; column < COLUMNS; column++) {
        const char *old = strtok(column ? NULL : rest, "|");
        if (column == w->column)
            fprintf(file, "| %s ", cell);
        else
            fprintf(file, "|%s", old ? old : " not measured yet ");
    }
    fprintf(file, "| %s |\n", w->date);
}

static bool table_update(walk *w, const row *r, const char *cell)
{
    static char text[1 << 17];
    char key[256] = "", name[32];
    snprintf(name, sizeof name, "`fast_%s`", r->function);
    add_cell(key, sizeof key, name);
    add_cell(key, sizeof key, r->domain);
    add_cell(key, sizeof key, r->promise);
    FILE *file = fopen(w->table, "rb");
    size_t len = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (!file || fclose(file) || !(file = fopen(w->table, "wb")))
        return false;
    text[len] = 0;
    bool is_found = false;
    for (char *line = text, *end; *line; line = end) {
        end = strchr(line, '\n');
        end = end ? end + 1 : line + strlen(line);
        bool is_it = !strncmp(line, key, strlen(key));
        is_found |= is_it;
        char kept = *end;
        *end = 0;
        if (is_it)
            put_row(w, file, line, strlen(key), cell);
        else
            fputs(line, file);
        *end = kept;
    }
    return !fclose(file) && is_found;
}

static void check_row(walk *w, const row *r)
{
    uint64_t worst[2] = {0};
    char place[64], most[32] = "0", cell[48];
    CHECK(!kiln_write(w->worst, 0, worst, 2));
    if (r->is_pair)
        go(w, r, 0, w->stride == 1 ? 1u << 30 : w->stride ? (1u << 30) / w->stride : 60000);
    for (int n = 0; n < 2 && !r->is_pair; n++)
        if (r->range[n].last != 0)
            go(w, r, bits_of(r->range[n].first),
               bits_of(r->range[n].last) - bits_of(r->range[n].first) + 1);
    CHECK(!kiln_read(w->worst, 0, worst, 2));
    float error = float_of((uint32_t)(worst[0] >> 32)),
          share = float_of((uint32_t)(worst[1] >> 32));
    say_where(w, r, (uint32_t)worst[1], place, sizeof place);
    if (error > 0)
        snprintf(most, sizeof most, "2^%.2f", log2((double)error));
    snprintf(cell, sizeof cell, "%s (%.2f)", most, (double)share);
    printf("fast_%-6s %-24s %-32s largest %-9s (%.3f of it) at %s\n", r->function, r->domain,
           r->promise, most, (double)share, place);
    CHECK(worst[1] != 0); // some place was looked at
    CHECK(share <= 1);
    if (w->table)
        CHECK(table_update(w, r, cell));
}

static void check_specials(walk *w)
{
    const float in[4] = {0, 1, INFINITY, NAN};
    float got[SPECIALS] = {0};
    char text[4096] = "#include <kiln/kernel.h>\n"
                      "kernel block(1) void special(f32 *out, const f32 *in) {\n"
                      "    f32 zero = in[0], one = in[1], inf = in[2], nan = in[3];\n";
    for (size_t n = 0; n < SPECIALS; n++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "    out[%zu] = %s;\n%s", n,
                 specials[n].call, n + 1 == SPECIALS ? "}\n" : "");
    kiln_module *m = api_compile(w->k, text, 0);
    kiln_buffer *from = NULL, *to = NULL;
    CHECK(!kiln_buffer_new(w->k, KILN_F32, 4, &from));
    CHECK(!kiln_buffer_new(w->k, KILN_F32, SPECIALS, &to));
    kiln_arg args[] = {kiln_arg_buffer(to), kiln_arg_buffer(from)};
    CHECK(m && !kiln_write(from, 0, in, 4));
    CHECK(m && !api_launch(api_kernel(m, "special"), 1, 1, args, 2));
    CHECK(!kiln_read(to, 0, got, SPECIALS));
    for (size_t n = 0; n < SPECIALS; n++) {
        float want = specials[n].value;
        bool is_right = isnan(want)        ? isnan(got[n])
                        : fabsf(want) == 1 ? fabsf(got[n] - want) <= 0x1p-22f
                                           : bits_of(got[n]) == bits_of(want);
        if (!is_right)
            printf("%s is %a instead of %a\n", specials[n].call, (double)got[n], (double)want);
        CHECK(is_right);
    }
    kiln_buffer_free(from);
    kiln_buffer_free(to);
    kiln_module_free(m);
}

int main(int argc, char **argv)
{
    walk w = {.grid = 64};
    const char *device = "cuda";
    for (int n = 1; n < argc; n++) {
        if (!strcmp(argv[n], "--table") && n + 1 < argc)
            w.table = argv[++n];
        else if (!strcmp(argv[n], "--stride") && n + 1 < argc)
            w.stride = (uint32_t)strtoul(argv[++n], NULL, 10);
        else
            device = argv[n];
    }
    w.k = api_open(device);
    if (!strcmp(device, "cuda")) {
        w.grid = 4096;
        w.stride = w.stride ? w.stride : 1;
    }
    while (w.column < COLUMNS && strcmp(device, columns[w.column]))
        w.column++;
    time_t now = time(NULL);
    strftime(w.date, sizeof w.date, "%Y-%m-%d", gmtime(&now));
    w.m = api_compile(w.k, source, 0);
    CHECK(!kiln_buffer_new(w.k, KILN_U64, 2, &w.worst));
    if (w.m && w.worst) {
        for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
            check_row(&w, &rows[n]);
        check_specials(&w);
    }
    kiln_buffer_free(w.worst);
    kiln_module_free(w.m);
    kiln_close(w.k);
    return api_done("fast");
}
