// Tables of tuned values: reading and writing their lines, sorting, finding. A line has its fields
// between tabs; what has another number of fields, or a number that is none, is counted and left
// out. Start reading at tuned_read and tuned_find.
#include "rt/tuned/tuned.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"

enum { FIELDS = 9, MOST_ROWS = 1 << 20 };
#define NO_ROW UINT32_MAX
static const char title[] = "# kiln tuned 1: device, driver, program, shape, choice, us, default "
                            "us, candidates timed, candidates that failed\n";

// --- lists of NAME=INTEGER
static size_t name_length(const char *word)
{
    size_t len = 0;
    while ((word[len] >= 'a' && word[len] <= 'z') || (word[len] >= 'A' && word[len] <= 'Z') ||
           word[len] == '_' || (len && word[len] >= '0' && word[len] <= '9'))
        len++;
    return len;
}

// The word at `at`, and where the next one begins or the text ends; NULL: it is no NAME=INTEGER.
static const char *read_word(const char *at, size_t *name, int64_t *value)
{
    *name = name_length(at);
    const char *digits = at + *name + 1;
    if (!*name || at[*name] != '=' || !(*digits == '-' || (*digits >= '0' && *digits <= '9')))
        return NULL;
    char *end;
    errno = 0;
    *value = strtoll(digits, &end, 10);
    if (errno || end == digits || (*end && *end != ' ') || (*end == ' ' && !end[1]))
        return NULL;
    return *end ? end + 1 : end;
}

bool tuned_is_list(const char *list)
{
    size_t name;
    int64_t value;
    while (*list)
        if (!(list = read_word(list, &name, &value)))
            return false;
    return true;
}

bool tuned_value(const char *list, const char *name, int64_t *out)
{
    size_t len, wanted = strlen(name);
    int64_t value;
    for (const char *at = list, *next; *at; at = next) {
        next = read_word(at, &len, &value);
        if (!next)
            return false;
        if (len == wanted && !memcmp(at, name, len)) {
            *out = value;
            return true;
        }
    }
    return false;
}

// How far two shapes are apart: the sum over the sizes that both name of the logarithms of their
// ratios. Below 0: a size is more than a factor of two away.
static double distance(const char *shape, const char *sizes)
{
    double sum = 0;
    size_t len;
    int64_t wanted, has = 0;
    for (const char *at = sizes, *next; *at; at = next) {
        char name[TUNED_FIELD];
        next = read_word(at, &len, &wanted);
        if (!next || len >= sizeof name)
            return -1;
        memcpy(name, at, len);
        name[len] = 0;
        if (!tuned_value(shape, name, &has) || has == wanted)
            continue;
        if (has <= 0 || wanted <= 0)
            return -1;
        double apart = fabs(log2((double)has / (double)wanted));
        if (apart > 1)
            return -1;
        sum += apart;
    }
    return sum;
}

// --- rows
static int compare_programs(const tuned_row *a, const tuned_row *b)
{
    int order = strcmp(a->device, b->device);
    if (!order)
        order = (a->driver > b->driver) - (a->driver < b->driver);
    return order ? order : strcmp(a->program, b->program);
}

static int compare_keys(const void *a, const void *b)
{
    const tuned_row *x = a, *y = b;
    int order = compare_programs(x, y);
    return order ? order : strcmp(x->shape, y->shape);
}

static uint64_t hash_program(const char *device, int driver, const char *program)
{
    uint64_t hash = hash_bytes((uint64_t)driver, device, strlen(device));
    return hash_bytes(hash, program, strlen(program));
}

// The place in `slots` of a program's first row, or the free one where it belongs.
static uint32_t *slot_of(const tuned_table *t, const char *device, int driver, const char *program)
{
    const tuned_row wanted = {.device = device, .driver = driver, .program = program};
    size_t at = hash_program(device, driver, program) & (t->slot_count - 1);
    while (t->slots[at] != NO_ROW && compare_programs(&t->rows[t->slots[at]], &wanted))
        at = (at + 1) & (t->slot_count - 1);
    return &t->slots[at];
}

// Merges two sorted halves so that of equal rows the later one stays: qsort alone keeps no order.
static void sort_rows(tuned_row *rows, tuned_row *room, size_t count)
{
    if (count < 2)
        return;
    size_t half = count / 2, left = 0, right = half, to = 0;
    sort_rows(rows, room, half);
    sort_rows(rows + half, room, count - half);
    while (left < half || right < count) {
        bool takes_left =
            right == count || (left < half && compare_keys(&rows[left], &rows[right]) <= 0);
        room[to++] = takes_left ? rows[left++] : rows[right++];
    }
    memcpy(rows, room, count * sizeof *rows);
}

// Sorts, drops what a later row replaces, and makes the slots. False: no memory; the rows are as
// they were.
static bool make_index(tuned_table *t)
{
    size_t slot_count = 16;
    while (slot_count < t->count * 2)
        slot_count *= 2;
    uint32_t *slots = malloc(slot_count * sizeof *slots);
    tuned_row *room = malloc((t->count + 1) * sizeof *room);
    if (!slots || !room) {
        free(slots);
        free(room);
        return false;
    }
    sort_rows(t->rows, room, t->count);
    free(room);
    size_t kept = 0;
    for (size_t n = 0; n < t->count; n++) {
        if (kept && !compare_keys(&t->rows[kept - 1], &t->rows[n]))
            free(t->rows[--kept].text);
        t->rows[kept++] = t->rows[n];
    }
    t->count = kept;
    free(t->slots);
    t->slots = slots;
    t->slot_count = slot_count;
    for (size_t n = 0; n < slot_count; n++)
        slots[n] = NO_ROW;
    for (size_t n = 0; n < t->count; n++) {
        uint32_t *slot = slot_of(t, t->rows[n].device, t->rows[n].driver, t->rows[n].program);
        if (*slot == NO_ROW)
            *slot = (uint32_t)n;
    }
    return true;
}

void tuned_free(tuned_table *t)
{
    for (size_t n = 0; n < t->count; n++)
        free(t->rows[n].text);
    free(t->rows);
    free(t->slots);
    *t = (tuned_table){0};
}

// Takes the row's text over. False: no memory.
static bool append(tuned_table *t, tuned_row row)
{
    if (t->count == t->cap) {
        size_t cap = t->cap * 2 + 16;
        tuned_row *more = realloc(t->rows, cap * sizeof *more);
        if (!more)
            return false;
        t->rows = more;
        t->cap = cap;
    }
    t->rows[t->count++] = row;
    return true;
}

static bool read_count(const char *chars, uint32_t most, uint32_t *out)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(chars, &end, 10);
    *out = (uint32_t)value;
    return *chars >= '0' && *chars <= '9' && !*end && !errno && value <= most;
}

static bool read_time(const char *chars, double *out)
{
    char *end;
    *out = strtod(chars, &end);
    return end != chars && !*end && isfinite(*out) && *out >= 0;
}

static bool is_name(const char *chars) // not empty, and nothing that breaks a line or a terminal
{
    for (const char *at = chars; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            return false;
    return *chars;
}

// Takes a line apart, in place. False: it makes no sense.
static bool read_row(char *line, tuned_row *out)
{
    char *fields[FIELDS];
    size_t count = 0;
    for (char *at = line; at; count++) {
        char *tab = strchr(at, '\t');
        if (tab)
            *tab = 0;
        if (count == FIELDS || strlen(at) >= TUNED_FIELD)
            return false;
        fields[count] = at;
        at = tab ? tab + 1 : NULL;
    }
    uint32_t driver = 0;
    *out = (tuned_row){.text = line};
    if (count != FIELDS || !read_count(fields[1], INT32_MAX, &driver))
        return false;
    out->device = fields[0];
    out->driver = (int)driver;
    out->program = fields[2];
    out->shape = fields[3];
    out->choice = fields[4];
    return is_name(out->device) && is_name(out->program) && strlen(out->program) < TUNED_PROGRAM &&
           tuned_is_list(out->shape) && tuned_is_list(out->choice) &&
           read_time(fields[5], &out->us) && read_time(fields[6], &out->default_us) &&
           read_count(fields[7], UINT32_MAX, &out->tried) &&
           read_count(fields[8], UINT32_MAX, &out->failed);
}

// Drops what was added since the table had `count` rows.
static bool take_back(tuned_table *t, size_t count)
{
    while (t->count > count)
        free(t->rows[--t->count].text);
    return false;
}

bool tuned_read(tuned_table *t, const char *chars, size_t len)
{
    size_t before = t->count, broken = t->broken;
    for (size_t at = 0; at < len;) {
        const char *end = memchr(chars + at, '\n', len - at);
        size_t size = end ? (size_t)(end - chars) - at : len - at;
        const char *line = chars + at;
        at += size + 1;
        if (!size || *line == '#')
            continue;
        if (memchr(line, 0, size) || t->count >= MOST_ROWS) {
            t->broken++;
            continue;
        }
        char *copy = malloc(size + 1);
        tuned_row row;
        if (!copy) {
            t->broken = broken;
            return take_back(t, before);
        }
        memcpy(copy, line, size);
        copy[size] = 0;
        if (!read_row(copy, &row)) {
            t->broken++;
            free(copy);
        } else if (!append(t, row)) {
            free(copy);
            t->broken = broken;
            return take_back(t, before);
        }
    }
    return make_index(t) || take_back(t, before);
}

// --- writing
// A field without what would break the line.
static void put_field(char *out, const char *chars)
{
    size_t len = strlen(chars);
    len = len < TUNED_FIELD - 1 ? len : TUNED_FIELD - 1;
    for (size_t n = 0; n < len; n++)
        out[n] = (unsigned char)chars[n] < ' ' || chars[n] == 127 ? ' ' : chars[n];
    out[len] = 0;
}

static int format_row(const tuned_row *r, char *out, size_t size)
{
    char device[TUNED_FIELD], program[TUNED_FIELD], shape[TUNED_FIELD], choice[TUNED_FIELD];
    put_field(device, *r->device ? r->device : "?");
    put_field(program, r->program);
    put_field(shape, r->shape);
    put_field(choice, r->choice);
    return snprintf(out, size, "%s\t%d\t%s\t%s\t%s\t%.6g\t%.6g\t%u\t%u\n", device, r->driver,
                    program, shape, choice, r->us, r->default_us, r->tried, r->failed);
}

enum { ROW_BYTES = 4 * TUNED_FIELD + 128 };

bool tuned_add(tuned_table *t, const tuned_row *row)
{
    char line[ROW_BYTES];
    int len = format_row(row, line, sizeof line);
    return len > 0 && (size_t)len < sizeof line && tuned_read(t, line, (size_t)len);
}

char *tuned_write(const tuned_table *t, size_t *len)
{
    size_t room = sizeof title, used = sizeof title - 1;
    for (size_t n = 0; n < t->count; n++)
        room += (size_t)format_row(&t->rows[n], NULL, 0);
    char *chars = malloc(room);
    if (!chars)
        return NULL;
    memcpy(chars, title, sizeof title);
    for (size_t n = 0; n < t->count; n++)
        used += (size_t)format_row(&t->rows[n], chars + used, room - used);
    *len = used;
    return chars;
}

// --- finding
size_t tuned_rows(const tuned_table *t, const char *device, int driver, const char *program,
                  const tuned_row **out)
{
    uint32_t first = t->slot_count ? *slot_of(t, device, driver, program) : NO_ROW;
    *out = NULL;
    if (first == NO_ROW)
        return 0;
    *out = &t->rows[first];
    size_t count = 1;
    while (first + count < t->count && !compare_programs(*out, &(*out)[count]))
        count++;
    return count;
}

const tuned_row *tuned_find(const tuned_table *t, const char *device, int driver,
                            const char *program, const char *sizes)
{
    const tuned_row *rows, *best = NULL;
    size_t count = tuned_rows(t, device, driver, program, &rows);
    double least = 0;
    for (size_t n = 0; n < count; n++) {
        double apart = distance(rows[n].shape, sizes);
        if (apart < 0)
            continue;
        bool is_nearer = !best || apart < least;
        if (is_nearer || (apart <= least && rows[n].default_us > best->default_us)) {
            best = &rows[n];
            least = apart;
        }
    }
    return best;
}
