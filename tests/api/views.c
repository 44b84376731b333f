// Views: what each call makes of a view, element by element, beside the same done to a list of
// element numbers; what is refused, and how; copies of views to and from the host.
#include "api.h"

enum { COUNT = 5000, ELEMENTS = 4096 };

// --- the oracle: the element numbers of a view, in row-major order
typedef struct list {
    uint64_t count;
    int64_t at[COUNT];
} list;

static void list_add(const kiln_view *v, uint32_t dim, int64_t at, list *out)
{
    if (dim == v->rank) {
        if (out->count < COUNT)
            out->at[out->count] = at;
        out->count++;
        return;
    }
    for (uint64_t n = 0; n < v->sizes[dim]; n++)
        list_add(v, dim + 1, at + (int64_t)n * kiln_view_stride(*v, dim), out);
}

static list elements(kiln_view v)
{
    list out;
    out.count = 0;
    list_add(&v, 0, (int64_t)v.first, &out);
    return out;
}

static bool is(kiln_view v, uint32_t rank, const uint64_t *sizes, const int64_t *want)
{
    list l = elements(v);
    bool same = v.rank == rank && kiln_view_count(v) == l.count;
    for (uint32_t n = 0; n < rank && same; n++)
        same = v.sizes[n] == sizes[n];
    for (uint64_t n = 0; n < l.count && same; n++)
        same = l.at[n] == want[n];
    return same;
}

static uint32_t seed = 1;
static uint32_t pick(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(seed >> 8) * below) >> 24);
}

static void shapes(kiln_buffer *b)
{
    const uint64_t s23[] = {2, 3}, s32[] = {3, 2}, s6[] = {6}, s3[] = {3}, s213[] = {2, 1, 3};
    const uint64_t s423[] = {4, 2, 3}, s22[] = {2, 2}, s20[] = {2, 0}, s9[9] = {1};
    const int64_t in_order[] = {0, 1, 2, 3, 4, 5}, transposed[] = {0, 3, 1, 4, 2, 5};
    const int64_t flipped[] = {2, 1, 0, 5, 4, 3}, second[] = {3, 4, 5}, every[] = {0, 2, 3, 5};
    const int64_t repeated[] = {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5,
                                0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5};
    const uint32_t order[] = {1, 0}, twice[] = {1, 1}, beyond[] = {0, 2};
    kiln_view v = KILN_VIEW(b, 2, 3);
    CHECK(is(v, 2, s23, in_order) && kiln_view_is_dense(v) && !kiln_view_check(v));
    CHECK(is(kiln_view_of(b, 2, s23), 2, s23, in_order));
    CHECK(kiln_view_type(v) == KILN_I32 && kiln_view_count(kiln_view_of(b, 0, NULL)) == 1);
    CHECK(kiln_view_count(kiln_view_all(b)) == ELEMENTS && kiln_view_all(b).rank == 1);
    kiln_view t = kiln_view_transpose(v);
    CHECK(is(t, 2, s32, transposed) && !kiln_view_is_dense(t) && !kiln_view_check(t));
    CHECK(is(kiln_view_permute(v, order), 2, s32, transposed));
    CHECK(is(kiln_view_transpose(t), 2, s23, in_order) && !kiln_view_transpose(t).has_strides);
    CHECK(is(kiln_view_flip(v, 1), 2, s23, flipped) && !kiln_view_check(kiln_view_flip(v, 1)));
    CHECK(is(kiln_view_index(v, 0, 1), 1, s3, second));
    CHECK(is(kiln_view_slice(v, 1, 0, KILN_TO_END, 2), 2, s22, every));
    CHECK(is(kiln_view_slice(v, 1, 2, KILN_TO_END, -1), 2, s23, flipped));
    CHECK(is(kiln_view_slice(v, 1, 2, 2, 1), 2, s20, in_order));
    CHECK(kiln_view_is_dense(kiln_view_slice(v, 1, 3, 3, 1)));
    CHECK(is(kiln_view_reshape(v, 1, s6), 1, s6, in_order));
    CHECK(is(kiln_view_unsqueeze(v, 1), 3, s213, in_order));
    CHECK(is(kiln_view_squeeze(kiln_view_unsqueeze(v, 1), 1), 2, s23, in_order));
    CHECK(is(kiln_view_broadcast(v, 3, s423), 3, s423, repeated));
    CHECK(kiln_view_stride(kiln_view_broadcast(v, 3, s423), 0) == 0);
#define REFUSED(made, code, words)                                                                 \
    EXPECT(kiln_view_check(made), KILN_E_BAD_ARGUMENT, code, "kiln_view_check: 'v' is no view");   \
    CHECK(strstr(kiln_last_error(NULL)->text, words) != NULL)
    REFUSED(kiln_view_slice(v, 2, 0, 1, 1), "K7003", "dimension 2 of a view that has 2");
    REFUSED(kiln_view_slice(v, 1, 0, 1, 0), "K7003", "the step is 0");
    REFUSED(kiln_view_slice(v, 1, 0, 4, 1), "K7003", "from 0 to before 4 by 1, dimension 1 has 3");
    REFUSED(kiln_view_slice(v, 1, -1, 2, 1), "K7003", "from -1 to before 2");
    REFUSED(kiln_view_slice(v, 1, 3, KILN_TO_END, -1), "K7003", "from 3 to before -1 by -1");
    REFUSED(kiln_view_slice(v, 1, 0, INT64_MIN, -1), "K7003", "dimension 1 has 3");
    REFUSED(kiln_view_index(v, 0, 2), "K7003", "element 2 of dimension 0, which has 2");
    REFUSED(kiln_view_permute(v, twice), "K7003", "dimension 1 is named twice");
    REFUSED(kiln_view_permute(v, beyond), "K7003", "dimension 2 of a view that has 2");
    REFUSED(kiln_view_permute(v, NULL), "K6003", "the order is NULL");
    REFUSED(kiln_view_transpose(kiln_view_all(b)), "K7003", "it needs two");
    REFUSED(kiln_view_reshape(v, 1, s3), "K7004", "[2, 3] and [3] have different numbers");
    REFUSED(kiln_view_reshape(t, 1, s6), "K7003", "[3, 2] cannot be seen as [6]");
    REFUSED(kiln_view_reshape(v, 9, s9), "K7001", "9 dimensions");
    REFUSED(kiln_view_broadcast(v, 1, s6), "K7004", "[2, 3] cannot be repeated to [6]");
    REFUSED(kiln_view_broadcast(v, 2, s32), "K7004", "[2, 3] cannot be repeated to [3, 2]");
    REFUSED(kiln_view_squeeze(v, 1), "K7003", "dimension 1 has 3 elements, not 1");
    REFUSED(kiln_view_unsqueeze(v, 3), "K7003", "a new dimension 3 in a view of 2");
    REFUSED(kiln_view_of(b, 9, s9), "K7001", "9 dimensions");
    REFUSED(kiln_view_of(b, 2, NULL), "K6003", "NULL");
    // what failed once is passed on, and the first reason stays
    REFUSED(kiln_view_flip(kiln_view_transpose(kiln_view_index(v, 5, 0)), 7), "K7003",
            "dimension 5 of a view");
    CHECK(kiln_view_count(kiln_view_of(b, 9, s9)) == 0);
}

static void checks(kiln_buffer *b, kiln_buffer *bytes)
{
    kiln_view v = KILN_VIEW(b, ELEMENTS), zero;
    uint64_t low = 7, end = 7;
    memset(&zero, 0, sizeof zero);
    EXPECT(kiln_view_check(zero), KILN_E_BAD_HANDLE, "K6002", "'v' has no buffer");
    zero.buffer = (kiln_buffer *)(void *)&zero;
    EXPECT(kiln_view_check(zero), KILN_E_BAD_HANDLE, "K6002", "");
    CHECK(!kiln_view_check(v));
    v.first = 1;
    EXPECT(kiln_view_check(v), KILN_E_BAD_ARGUMENT, "K7002",
           "'v', [4096] from element 1 on, reaches element 4096; the buffer has 4096");
    v.first = UINT64_MAX;
    EXPECT(kiln_view_check(v), KILN_E_BAD_ARGUMENT, "K7002", "larger than any buffer");
    v = KILN_VIEW(b, 0, 5);
    v.first = ELEMENTS;
    CHECK(!kiln_view_check(v)); // empty, behind the last
    v.first++;
    EXPECT(kiln_view_check(v), KILN_E_BAD_ARGUMENT, "K7002", "");
    // parts of a view without elements are where it is: nothing need be behind it
    v = KILN_VIEW(b, 0, 5);
    v.first = ELEMENTS;
    CHECK(!kiln_view_check(kiln_view_slice(v, 1, 2, KILN_TO_END, 1)));
    CHECK(!kiln_view_check(kiln_view_slice(v, 1, 4, KILN_TO_END, -1)));
    CHECK(!kiln_view_check(kiln_view_index(v, 1, 3)));
    CHECK(!kiln_view_check(kiln_view_flip(v, 1)));
    v = KILN_VIEW(b, 4, 4);
    v.has_strides = true;
    v.strides[0] = 4;
    v.strides[1] = -1;
    EXPECT(kiln_view_check(v), KILN_E_BAD_ARGUMENT, "K7002",
           "with strides [4, -1] from element 0 on, reaches element -3");
    v.first = 3;
    CHECK(!kiln_view_check(v) && !kiln_view_span(v, &low, &end) && low == 0 && end == 16);
    for (int n = 0; n < 4; n++) { // products and sums that would wrap
        const int64_t strides[] = {INT64_MIN, INT64_MAX, (int64_t)1 << 62, (int64_t)1 << 61};
        v.strides[0] = v.strides[1] = strides[n];
        EXPECT(kiln_view_check(v), KILN_E_BAD_ARGUMENT, "K7002", "larger than any buffer");
        CHECK(kiln_view_overlaps(v, v));
    }
    v = KILN_VIEW(b, (uint64_t)1 << 40, (uint64_t)1 << 40);
    CHECK(kiln_view_count(v) == UINT64_MAX);
    EXPECT(kiln_view_check(v), KILN_E_BAD_ARGUMENT, "K7002", "larger than any buffer");
    v.has_strides = true; // broadcast: one element, too often
    EXPECT(kiln_view_check(v), KILN_E_BAD_ARGUMENT, "K7002", "");
    v.sizes[0] = 2;
    CHECK(!kiln_view_check(v) && kiln_view_count(v) == (uint64_t)1 << 41);
    v = KILN_VIEW(b, 2);
    v.type = (kiln_type)99;
    EXPECT(kiln_view_check(v), KILN_E_BAD_ARGUMENT, "K7001", "unknown type 99");
    v.type = KILN_I8; // another type: elements of that size
    v.sizes[0] = ELEMENTS * 4;
    CHECK(!kiln_view_check(v));
    v.type = KILN_F64;
    v.sizes[0] = ELEMENTS / 2;
    CHECK(!kiln_view_check(v));
    v.sizes[0]++;
    EXPECT(kiln_view_check(v), KILN_E_BAD_ARGUMENT, "K7002", "the buffer has 2048");
    v = KILN_VIEW(bytes, 5); // structs of 12 bytes
    CHECK(!kiln_view_check(v) && kiln_view_type(v) == KILN_VOID);
    v.rank = 9;
    EXPECT(kiln_view_check(v), KILN_E_BAD_ARGUMENT, "K7001", "9 dimensions");
    EXPECT(kiln_view_span(v, &low, &end), KILN_E_BAD_ARGUMENT, "K7001", "kiln_view_span");
}

// A random view of the buffer, from calls that make views.
static kiln_view random_view(kiln_buffer *b)
{
    kiln_view v = kiln_view_all(b);
    v.sizes[0] = 60;
    v.first = pick(40);
    const uint64_t shapes_of_60[][4] = {{60, 1, 1, 1}, {6, 10, 1, 1}, {3, 4, 5, 1},
                                        {2, 3, 2, 5},  {5, 12, 1, 1}, {1, 4, 1, 15}};
    v = kiln_view_reshape(v, 1 + pick(4), shapes_of_60[pick(6)]);
    if (kiln_view_check(v)) // of too small a rank
        return random_view(b);
    for (uint32_t n = pick(5); n > 0; n--) {
        uint32_t axis = pick(v.rank);
        uint64_t size = v.sizes[axis];
        kiln_view old = v;
        switch (pick(6)) {
        case 0: v = kiln_view_flip(v, axis); break;
        case 1: v = v.rank > 1 ? kiln_view_transpose(v) : v; break;
        case 2: v = kiln_view_slice(v, axis, pick((uint32_t)size), KILN_TO_END, 1 + pick(3)); break;
        case 3:
            v = kiln_view_slice(v, axis, pick((uint32_t)size), KILN_TO_END, -1 - (int)pick(3));
            break;
        case 4: v = v.rank > 1 ? kiln_view_index(v, axis, pick((uint32_t)size)) : v; break;
        default: v = v.rank < 8 ? kiln_view_unsqueeze(v, axis) : v; break;
        }
        if (!kiln_view_count(v))
            v = old;
    }
    return v;
}

static bool share(const list *a, const list *b)
{
    for (uint64_t n = 0; n < a->count; n++)
        for (uint64_t m = 0; m < b->count; m++)
            if (a->at[n] == b->at[m])
                return true;
    return false;
}

// Overlap, span, reshape, reading and writing of random views beside lists of their elements.
static void random_views(kiln_buffer *b)
{
    static int32_t all[ELEMENTS], got[COUNT], after[ELEMENTS];
    for (int n = 0; n < ELEMENTS; n++)
        all[n] = n * 7;
    CHECK(!kiln_write(b, 0, all, ELEMENTS));
    bool fine = true;
    for (int round = 0; round < 400; round++) {
        kiln_view v = random_view(b), w = random_view(b);
        list of_v = elements(v), of_w = elements(w);
        fine = fine && !kiln_view_check(v) && !kiln_view_check(w);
        fine = fine && kiln_view_overlaps(v, w) == share(&of_v, &of_w);
        uint64_t low, end;
        fine = fine && !kiln_view_span(v, &low, &end);
        int64_t least = of_v.at[0], most = of_v.at[0];
        for (uint64_t n = 0; n < of_v.count; n++) {
            least = of_v.at[n] < least ? of_v.at[n] : least;
            most = of_v.at[n] > most ? of_v.at[n] : most;
        }
        fine = fine && low == (uint64_t)least && end == (uint64_t)most + 1;
        const uint64_t flat[] = {of_v.count};
        kiln_view line = kiln_view_reshape(v, 1, flat);
        bool is_even = true; // the elements lie at equal distances
        for (uint64_t n = 2; n < of_v.count; n++)
            is_even = is_even && of_v.at[n] - of_v.at[n - 1] == of_v.at[1] - of_v.at[0];
        fine = fine && is_even == !kiln_view_check(line);
        fine = fine && (!is_even || is(line, 1, flat, of_v.at));
        fine = fine && !kiln_read_view(v, got);
        for (uint64_t n = 0; n < of_v.count; n++)
            fine = fine && got[n] == all[of_v.at[n]];
        for (uint64_t n = 0; n < of_v.count; n++)
            all[of_v.at[n]] = got[n] = (int32_t)pick(1u << 20);
        fine = fine && !kiln_write_view(v, got) && !kiln_read(b, 0, after, ELEMENTS) &&
               !memcmp(all, after, sizeof all);
        if (!fine) {
            printf("round %d\n", round);
            break;
        }
    }
    CHECK(fine);
}

static void overlaps(kiln *k, kiln_buffer *b)
{
    kiln_buffer *other = NULL;
    CHECK(!kiln_buffer_new(k, KILN_I32, 100, &other));
    CHECK(!kiln_view_overlaps(kiln_view_all(b), kiln_view_all(other)));
    kiln_view m = KILN_VIEW(b, 32, 96); // three matrices beside one another
    kiln_view left = kiln_view_slice(m, 1, 0, 32, 1), middle = kiln_view_slice(m, 1, 32, 64, 1);
    CHECK(!kiln_view_overlaps(left, middle) && !kiln_view_overlaps(middle, left));
    CHECK(kiln_view_overlaps(left, kiln_view_slice(m, 1, 31, 64, 1)));
    CHECK(kiln_view_overlaps(left, m));
    CHECK(!kiln_view_overlaps(kiln_view_slice(kiln_view_all(b), 0, 0, KILN_TO_END, 2),
                              kiln_view_slice(kiln_view_all(b), 0, 1, KILN_TO_END, 2)));
    kiln_view narrow = KILN_VIEW(b, 4); // bytes of the same memory
    narrow.type = KILN_I8;
    narrow.first = 15;
    CHECK(kiln_view_overlaps(KILN_VIEW(b, 4), narrow));
    narrow.first = 16;
    CHECK(!kiln_view_overlaps(KILN_VIEW(b, 4), narrow));
    CHECK(!kiln_view_overlaps(KILN_VIEW(b, 0), m));
    kiln_buffer_free(other);
    // two buffers over the same memory of the host, one an element further on
    static int32_t memory[16];
    kiln_buffer *low = NULL, *high = NULL;
    kiln_wrap_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.type = KILN_I32;
    desc.count = 8;
    desc.host = memory;
    CHECK(!kiln_buffer_wrap(k, &desc, &low));
    desc.host = memory + 1;
    CHECK(!kiln_buffer_wrap(k, &desc, &high));
    CHECK(kiln_view_overlaps(kiln_view_all(low), kiln_view_all(high)));
    CHECK(
        !kiln_view_overlaps(kiln_view_slice(kiln_view_all(low), 0, 0, 1, 1), kiln_view_all(high)));
    kiln_buffer_free(low);
    kiln_buffer_free(high);
}

static void copies(kiln *k, kiln_buffer *b)
{
    static int32_t got[64];
    const uint64_t twice[] = {2, 8};
    kiln_view row = KILN_VIEW(b, 8);
    EXPECT(kiln_write_view(kiln_view_broadcast(row, 2, twice), got), KILN_E_BAD_ARGUMENT, "K7005",
           "kiln_write_view: 'v', [2, 8]");
    kiln_view window = KILN_VIEW(b, 4, 4); // windows of 4 that move by 1
    window.has_strides = true;
    window.strides[0] = window.strides[1] = 1;
    EXPECT(kiln_write_view(window, got), KILN_E_BAD_ARGUMENT, "K7005", "");
    CHECK(!kiln_read_view(window, got) && got[4] == got[1] && got[15] != got[0]);
    CHECK(!kiln_read_view(kiln_view_broadcast(row, 2, twice), got) && got[9] == got[1]);
    EXPECT(kiln_read_view(row, NULL), KILN_E_BAD_ARGUMENT, "K6003", "kiln_read_view");
    CHECK(!kiln_read_view(KILN_VIEW(b, 4, 0), NULL));
    row.first = ELEMENTS;
    EXPECT(kiln_read_view(row, got), KILN_E_BAD_ARGUMENT, "K7002", "kiln_read_view");
    // a column of a matrix that is larger than the staging area, forwards and backwards
    kiln_buffer *large = NULL;
    enum { ROWS = 1500, COLUMNS = 1999 };
    int32_t *all = (int32_t *)calloc((size_t)ROWS * COLUMNS, 4), column[ROWS];
    CHECK(all && !kiln_buffer_new(k, KILN_I32, (size_t)ROWS * COLUMNS, &large));
    for (int n = 0; n < ROWS * COLUMNS; n++)
        all[n] = n;
    CHECK(!kiln_write_view(KILN_VIEW(large, ROWS, COLUMNS), all));
    kiln_view matrix = KILN_VIEW(large, ROWS, COLUMNS);
    bool fine = !kiln_read_view(kiln_view_index(matrix, 1, 5), column);
    for (int n = 0; n < ROWS; n++)
        fine = fine && column[n] == n * COLUMNS + 5;
    fine = fine && !kiln_write_view(kiln_view_flip(kiln_view_index(matrix, 1, 7), 0), column);
    fine = fine && !kiln_read_view(kiln_view_transpose(matrix), all);
    for (int n = 0; n < ROWS && fine; n++)
        fine = all[7 * ROWS + n] == (ROWS - 1 - n) * COLUMNS + 5 &&
               all[8 * ROWS + n] == n * COLUMNS + 8;
    CHECK(fine);
    free(all);
    kiln_buffer_free(large);
}

int main(void)
{
    const char *const devices[] = {"interp", "cpu"};
    for (int n = 0; n < 2; n++) {
        kiln *k = api_open(devices[n]);
        kiln_buffer *b = NULL, *bytes = NULL;
        CHECK(!kiln_buffer_new(k, KILN_I32, ELEMENTS, &b));
        CHECK(!kiln_buffer_new_bytes(k, 12, 5, &bytes));
        shapes(b);
        checks(b, bytes);
        random_views(b);
        overlaps(k, b);
        copies(k, b);
        kiln_view v = kiln_view_all(b);
        kiln_buffer_free(b);
        EXPECT(kiln_view_check(v), KILN_E_BAD_HANDLE, "K6002", "");
        EXPECT(kiln_read_view(v, &seed), KILN_E_BAD_HANDLE, "K6002", "");
        CHECK(kiln_view_overlaps(v, v));
        kiln_close(k);
    }
    return api_done("views");
}
