// Calls of a warp's lanes together: a function that takes all of them as arrays gives what one that
// takes one after the other gives, for every shape and any set of lanes.
#include <string.h>

#include "tests/test.h"

#include "rt/host/host.h"

static const char source[] =
    "#include <kiln/kernel.h>\n"
    "typedef struct pair { f32 x; i64 n; u8 tag[3]; bool on; } pair;\n"
    "typedef struct wide { u32 v[8]; } wide;\n"
    "host u32 one(u32 x);\n"
    "host u64 two(u64 a, u32 b);\n"
    "host u32x4 four(u32x4 x);\n"
    "host wide eight(wide w, u32 k);\n"
    "host pair turn(pair p, const i32 *v);\n"
    "host u16 narrow(u8 a, i16 b, u16 *e);\n"
    "host void none(u32 a);\n"
    "kernel block(32) void all(u32 *out) {\n"
    "    wide w = {{0}}; pair p = {.x = 1.0f}; i32 v = 1; u16 e = 2; u32x4 x;\n"
    "    x.x = x.y = x.z = x.w = one(1u); w = eight(w, (u32)two(3, 4u)); x = four(x);\n"
    "    p = turn(p, &v); none(narrow(1, 2, &e)); out[0] = x.x + w.v[1] + e + p.tag[0];\n"
    "}\n";

typedef struct pair {
    float x;
    int64_t n;
    uint8_t tag[3];
    bool on;
} pair;
typedef struct wide {
    uint32_t v[8];
} wide;
typedef struct vector {
    uint32_t x, y, z, w;
} vector;
static uint64_t told;

static uint32_t one(uint32_t x)
{
    return 3 * x + 1;
}
static uint64_t two(uint64_t a, uint32_t b)
{
    return a * 5 - b;
}
static vector four(vector v)
{
    return (vector){v.w, v.z + 1, v.y, v.x ^ 7};
}
static wide eight(wide w, uint32_t k)
{
    for (uint32_t n = 0; n < 4; n++)
        w.v[n] += w.v[7 - n] * k;
    return w;
}
static pair turn(pair p, const int32_t *v)
{
    return (pair){p.x + 1, p.n ^ *v, {p.tag[2], p.tag[0], 9}, !p.on};
}
static uint16_t narrow(uint8_t a, int16_t b, uint16_t *e)
{
    *e = (uint16_t)(*e + a);
    return (uint16_t)(b * 3);
}
static void none(uint32_t a)
{
    told += a;
}

// One call, and many, of each function.
#define BOTH(name, call_one, call_many)                                                            \
    static void name##_one(void *user, const kiln_host_call *c)                                    \
    {                                                                                              \
        (void)user;                                                                                \
        call_one;                                                                                  \
    }                                                                                              \
    static void name##_many(void *user, const kiln_host_calls *c)                                  \
    {                                                                                              \
        (void)user;                                                                                \
        for (uint32_t n = 0; n < c->count; n++)                                                    \
            call_many;                                                                             \
    }
#define ONE(type, p)  (*(type *)c->args[p])
#define MANY(type, p) (((type *)c->args[p])[n])
#define TO_ONE(type)  *(type *)c->result
#define TO_MANY(type) ((type *)c->result)[n]
BOTH(one, TO_ONE(uint32_t) = one(ONE(uint32_t, 0)), TO_MANY(uint32_t) = one(MANY(uint32_t, 0)))
BOTH(two, TO_ONE(uint64_t) = two(ONE(uint64_t, 0), ONE(uint32_t, 1)),
     TO_MANY(uint64_t) = two(MANY(uint64_t, 0), MANY(uint32_t, 1)))
BOTH(four, TO_ONE(vector) = four(ONE(vector, 0)), TO_MANY(vector) = four(MANY(vector, 0)))
BOTH(eight, TO_ONE(wide) = eight(ONE(wide, 0), ONE(uint32_t, 1)),
     TO_MANY(wide) = eight(MANY(wide, 0), MANY(uint32_t, 1)))
BOTH(turn, TO_ONE(pair) = turn(ONE(pair, 0), c->args[1]),
     TO_MANY(pair) = turn(MANY(pair, 0), (const int32_t *)c->args[1] + n))
BOTH(narrow, TO_ONE(uint16_t) = narrow(ONE(uint8_t, 0), ONE(int16_t, 1), c->args[2]),
     TO_MANY(uint16_t) = narrow(MANY(uint8_t, 0), MANY(int16_t, 1), (uint16_t *)c->args[2] + n))
BOTH(none, none(ONE(uint32_t, 0)), none(MANY(uint32_t, 0)))

static const struct {
    const char *name;
    kiln_host_function *one;
    kiln_host_many *many;
} functions[] = {{"one", one_one, one_many},    {"two", two_one, two_many},
                 {"four", four_one, four_many}, {"eight", eight_one, eight_many},
                 {"turn", turn_one, turn_many}, {"narrow", narrow_one, narrow_many},
                 {"none", none_one, none_many}};

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8 ^ *state << 11;
}

// A `bool` is 0 or 1; whatever else stands there is no call of a kernel.
static void draw(const host_site *site, uint32_t (*words)[HOST_LANES], uint32_t *state)
{
    for (uint32_t r = 0; r < HOST_FRAME_WORDS; r++)
        for (uint32_t l = 0; l < HOST_LANES; l++)
            words[r][l] = next_random(state);
    const host_shape *s = &site->shape;
    for (uint32_t n = 0, r = 0; n < s->in_count; r += host_words(s->in[n++].type))
        for (uint32_t l = 0; l < HOST_LANES; l++)
            if (s->in[n].param == 0 && s->in[n].offset == offsetof(pair, on) && s->in_count > 5 &&
                ir_type_size((ir_type)s->in[n].type) == 1)
                words[r][l] &= 1;
}

TEST(host_group_gives_arrays_what_single_calls_get)
{
    static const uint32_t masks[] = {UINT32_MAX, 1, 1u << 31, 0x80000001, 0x0ff0a5a5, 0x7fffffff};
    static _Alignas(16) uint32_t each[HOST_FRAME_WORDS][HOST_LANES],
        together[HOST_FRAME_WORDS][HOST_LANES];
    kiln *k = NULL;
    kiln_module *m = NULL;
    kiln_kernel *kernel = NULL;
    uint32_t drawn = 5, sites = 0;
    assert_int_equal(kiln_open("interp", &k), 0);
    assert_int_equal(kiln_compile(k, &(kiln_compile_desc){.path = "t.c", .source = source}, &m), 0);
    assert_int_equal(kiln_module_kernel(m, "all", &kernel), 0);
    for (size_t f = 0; f < COUNT(functions); f++)
        assert_int_equal(kiln_host_register(k, &(kiln_host_desc){.name = functions[f].name,
                                                                 .call = functions[f].one}),
                         0);
    assert_int_equal(host_check(kernel), 0);
    for (uint32_t n = 0; n < m->site_count; n++) {
        const host_site *site = host_site_of(m, n);
        size_t f = 0;
        while (site && f < COUNT(functions) &&
               !str_same(site->shape.name, str_of(functions[f].name)))
            f++;
        if (!site)
            continue;
        assert_true(f < COUNT(functions));
        sites++;
        for (uint32_t round = 0; round < 2 * COUNT(masks); round++) {
            uint32_t lanes = masks[round % COUNT(masks)];
            char why[64];
            draw(site, each, &drawn);
            memcpy(together, each, sizeof each);
            host_group group = {.lanes = lanes, .size = {32, 1}, .words = each};
            kiln_host_desc desc = {.name = functions[f].name, .call = functions[f].one};
            assert_int_equal(kiln_host_register(k, &desc), 0);
            told = 0;
            assert_true(host_call_group("all", site, &group, why, sizeof why));
            uint64_t sum = told;
            desc = (kiln_host_desc){.name = functions[f].name, .many = functions[f].many};
            assert_int_equal(kiln_host_register(k, &desc), 0);
            group = (host_group){.lanes = lanes, .size = {32, 1}, .words = together};
            told = 0;
            assert_true(host_call_group("all", site, &group, why, sizeof why));
            assert_int_equal(told, sum);
            uint32_t rows = host_rows_of(&site->shape).in;
            for (uint32_t r = 0; r < rows; r++)
                for (uint32_t l = 0; l < HOST_LANES; l++)
                    if (lanes >> l & 1)
                        assert_int_equal(together[r][l], each[r][l]);
        }
    }
    assert_int_equal(sites, COUNT(functions));
    kiln_close(k);
}
