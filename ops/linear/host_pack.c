// Int4 weights in host memory, between the layout of kiln_linear and those of others: every form is
// a rule that says in which word, and at which bits of it, an element lies.
#include "ops/linear/host_linear.h"

enum { PER_WORD = 8, ROW_WORDS = 4 };

// Where a four-bit number is.
typedef struct place {
    uint64_t word;
    uint32_t shift;
} place;

// Eight numbers in a word with those of even indices first, or in order.
static uint32_t shift_of(uint64_t index, bool is_even_first)
{
    uint32_t e = (uint32_t)(index % PER_WORD);
    return 4 * (is_even_first ? e / 2 + e % 2 * 4 : e);
}

static uint64_t words_of(uint64_t count)
{
    return count / PER_WORD + (count % PER_WORD != 0);
}

size_t kiln_int4_words(uint64_t k)
{
    uint64_t words = words_of(k);
    return (size_t)((words + ROW_WORDS - 1) / ROW_WORDS * ROW_WORDS);
}

// Of weight [row, column] in a form of words.
static place weight_place(const kiln_int4_desc *d, uint64_t row, uint64_t column)
{
    if (d->form == KILN_INT4_AWQ)
        return (place){column * words_of(d->n) + row / PER_WORD, shift_of(row, true)};
    return (place){column / PER_WORD * d->n + row, shift_of(column, false)};
}

static place zero_place(const kiln_int4_desc *d, uint64_t row, uint64_t group)
{
    return (place){group * words_of(d->n) + row / PER_WORD,
                   shift_of(row, d->form == KILN_INT4_AWQ)};
}

static uint32_t get(const void *words, place p)
{
    return ((const uint32_t *)words)[p.word] >> p.shift & 15;
}

static void put(void *words, place p, uint32_t value)
{
    uint32_t *word = (uint32_t *)words + p.word;
    *word = (*word & ~((uint32_t)15 << p.shift)) | (value & 15) << p.shift;
}

static kiln_status refuse(const char *call, const char *why)
{
    return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003, "%s: %s", call, why);
}

static kiln_status check(const char *call, const kiln_int4_desc *d)
{
    if (!d)
        return refuse(call, "the description is NULL");
    if (d->form > KILN_INT4_AWQ)
        return refuse(call, "there is no such form");
    if (d->n && d->k && (!d->weight || !d->words))
        return refuse(call, "'weight' or 'words' is NULL");
    if (d->n && d->groups && !d->zero != !d->zeros)
        return refuse(call, "'zero' and 'zeros' go together, and one of them is NULL");
    return KILN_OK;
}

kiln_status kiln_pack_int4(const kiln_int4_desc *d)
{
    const char *call = "kiln_pack_int4";
    kiln_status status = check(call, d);
    if (status)
        return status;
    bool is_bytes = d->form == KILN_INT4_BYTES;
    uint32_t less = d->form == KILN_INT4_GPTQ;
    uint64_t length = kiln_int4_words(d->k);
    for (uint64_t row = 0; row < d->n && d->k; row++) {
        uint32_t *to = d->words + row * length;
        memset(to, 0, length * sizeof *to);
        for (uint64_t column = 0; column < d->k; column++) {
            uint32_t q = is_bytes ? ((const uint8_t *)d->weight)[row * d->k + column]
                                  : get(d->weight, weight_place(d, row, column));
            if (q > 15)
                return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003,
                                 "%s: weight [%llu, %llu] is %u, and four bits hold 0 to 15", call,
                                 (unsigned long long)row, (unsigned long long)column, q);
            to[column / PER_WORD] |= q << shift_of(column, true);
        }
    }
    for (uint64_t row = 0; row < d->n && d->zero; row++)
        for (uint64_t group = 0; group < d->groups; group++)
            d->zeros[row * d->groups + group] =
                is_bytes ? ((const uint8_t *)d->zero)[row * d->groups + group]
                         : (uint8_t)(get(d->zero, zero_place(d, row, group)) + less);
    return KILN_OK;
}

kiln_status kiln_unpack_int4(const kiln_int4_desc *d)
{
    kiln_status status = check("kiln_unpack_int4", d);
    if (status)
        return status;
    bool is_bytes = d->form == KILN_INT4_BYTES, is_awq = d->form == KILN_INT4_AWQ;
    uint32_t less = d->form == KILN_INT4_GPTQ;
    uint64_t length = kiln_int4_words(d->k);
    if (!is_bytes && d->n && d->k)
        memset(d->weight, 0,
               sizeof(uint32_t) * (is_awq ? d->k * words_of(d->n) : words_of(d->k) * d->n));
    if (!is_bytes && d->n && d->groups && d->zero)
        memset(d->zero, 0, sizeof(uint32_t) * d->groups * words_of(d->n));
    for (uint64_t row = 0; row < d->n; row++)
        for (uint64_t column = 0; column < d->k; column++) {
            uint32_t q = d->words[row * length + column / PER_WORD] >> shift_of(column, true) & 15;
            if (is_bytes)
                ((uint8_t *)d->weight)[row * d->k + column] = (uint8_t)q;
            else
                put(d->weight, weight_place(d, row, column), q);
        }
    for (uint64_t row = 0; row < d->n && d->zero; row++)
        for (uint64_t group = 0; group < d->groups; group++) {
            uint8_t z = d->zeros[row * d->groups + group];
            if (is_bytes)
                ((uint8_t *)d->zero)[row * d->groups + group] = z;
            else
                put(d->zero, zero_place(d, row, group), (uint32_t)z - less);
        }
    return KILN_OK;
}
