// Tables that hold addresses: of texts, of other tables, of their own parts, of functions beside
// them; parameters whose type is an array's name; literals as plain char under conversions(c).
#include <math.h>
#include <string.h>

#include <kiln/kernel.h>

static const char *const words[] = {"zero", "one", "two", "three", "four", NULL};
static const i32 numbers[8] = {3, 1, 4, 1, 5, 9, 2, 6};
static const i32 *const places[3] = {numbers, &numbers[3], numbers + 5};

static i32 twice(i32 x)
{
    return 2 * x;
}
static i32 square(i32 x)
{
    return x * x;
}

typedef struct step {
    const char *name;
    i32 (*apply)(i32);
    const i32 *from;
    struct {
        u8 size;
        const char *const *words;
    } more;
} step;

static const step steps[4] = {
    {"twice", twice, numbers + 1, {2, words}},
    {"square", square, &numbers[4], {.words = words + 2}},
    {.name = "both", .apply = square, .more = {7, &words[4]}},
    {NULL, twice, 2 + 5 + numbers, {1, NULL}},
};
static const step *const chosen[] = {&steps[1], steps, steps + 2};

//! run tables_of_words block=32 (i32[64])
kernel void tables_of_words(i32 *out)
{
    u32 i = thread_x();
    const char *word = words[i % 6];
    out[2 * i] = word ? (i32)strlen(word) * 1000 + word[i % 3] : -1;
    out[2 * i + 1] = places[i % 3][i % 3] + (places[1] == numbers + 3) * 100;
}

static const char *find(const char *name, const char *const **where)
{
    static const char *const colours[2][2] = {{"red", "green"}, {"blue", "grey"}};
    for (u32 k = 0; k < 4; k++)
        if (!strcmp(colours[k / 2][k % 2], name)) {
            *where = &colours[k / 2][k % 2];
            return colours[k / 2][k % 2];
        }
    return "none";
}

//! run tables_of_structs block=36 (i32[108])
kernel void tables_of_structs(i32 *out)
{
    u32 i = thread_x();
    const step *s = chosen[i % 3];
    i32 *o = out + 3 * i;
    o[0] = s->apply((i32)i) + (s->from ? *s->from : 50) + s->name[1];
    o[1] = s->more.size + (i32)strlen(*s->more.words) * 10;
    const char *const *where = NULL;
    const char *found = find(i % 4 ? "blue" : i % 8 ? "mauve" : "green", &where);
    o[2] = found[0] + (where ? (*where)[2] * 256 : 0);
}

typedef u8 grid[4][8];
typedef i32 row[8];

static i32 around(grid g, u32 y, u32 x)
{
    return g[(y + 1) % 4][x] + g[(y + 3) % 4][x] * 3 + g[y][(x + 1) % 8] * 5;
}
static i32 first_of(const row r, grid *whole)
{
    return r[0] + (*whole)[1][2];
}
static void fill(row r, grid g)
{
    for (u32 k = 0; k < 8; k++) {
        r[k] = (i32)(k * k);
        for (u32 y = 0; y < 4; y++)
            g[y][k] = (u8)(y * 16 + k);
    }
}

//! run array_parameters block=32 (i32[64])
kernel void array_parameters(i32 *out)
{
    u32 i = thread_x();
    grid g;
    row r;
    fill(r, g);
    g[i % 4][i % 8] = 200;
    out[2 * i] = around(g, i % 4, i % 8);
    out[2 * i + 1] = first_of(r + i % 5, &g);
}

#pragma kiln conversions(c)
static char *const older[] = {"plain", "char"};

//! run plain_literals block=8 (i32[16])
kernel void plain_literals(i32 *out)
{
    char *text = "not const", *list[2] = {"a", "bc"};
    out[2 * thread_x()] = text[thread_x()] + (i32)strlen(list[thread_x() % 2]);
    out[2 * thread_x() + 1] = (i32)sizeof older + older[thread_x() % 2][2];
}
#pragma kiln conversions(strict)

// INFINITY, NAN and HUGE_VAL are bit patterns: tables hold them like numbers.
static const f64 f64_specials[4] = {INFINITY, -HUGE_VAL, NAN, -1.5};
static const struct {
    u32 n;
    f32 x[3];
} f32_specials[2] = {{1, {-INFINITY, NAN, +HUGE_VALF}}, {.x = {2, INFINITY}}};
static const struct {
    const char *name;
    f64 value;
} named_specials[3] = {{"inf", INFINITY}, {"less", -INFINITY}, {"nan", NAN}};
static const f32 lowest = -INFINITY;

//! run tables_of_specials block=8 (u64[32])
kernel void tables_of_specials(u64 *out)
{
    u32 i = thread_x();
    out[4 * i] = bits_f64(f64_specials[i % 4]);
    out[4 * i + 1] = bits_f32(f32_specials[i % 2].x[i % 3]);
    out[4 * i + 2] = bits_f64(named_specials[i % 3].value) + strlen(named_specials[i % 3].name);
    out[4 * i + 3] = bits_f32(i % 2 ? lowest : -lowest);
}
