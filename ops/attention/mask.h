// Which keys a query sees and what is added to its scores, beside lengths and CAUSAL: windows,
// sequences of different lengths, slopes (ALiBi) and a bias. Kernels of any device share it.
//
// -D MASK: a query sees mask.left keys before its own and mask.right behind it. With it, CAUSAL is
// 0: the host says right = 0. These need MASK:
//     -D OFFSETS      rows of Q and K are sequences one behind the other; offsets say where each
//     begins -D SLOPES       slope * distance is subtracted from a score -D BIAS_f32     a bias is
//     added (BIAS_f16, BIAS_bf16)
// MASK_PARAMETERS are a kernel's last ones; MASK_ARGUMENTS pass them on where there are no OFFSETS. Macros take the names of parameters that a variant may lack.
#if defined(MASK)
#    if defined(BIAS_f32)
typedef f32 bias_t;
#    elif defined(BIAS_f16)
typedef f16 bias_t;
#    elif defined(BIAS_bf16)
typedef bf16 bias_t;
#    endif
#    if defined(BIAS_f32) || defined(BIAS_f16) || defined(BIAS_bf16)
#        define HAS_BIAS
#    endif

typedef struct mask {
    i64 left, right;
    i64 slope_batch, slope_head;                     // strides, in elements
    i64 bias_batch, bias_head, bias_query, bias_key; // strides; 0: broadcast
    u32 sequences, unused;
} mask;

typedef struct part { // rows that belong together: those of a batch, or of a sequence
    u32 first_query, queries, first_key, keys;
} part;

typedef struct span {
    u32 begin, end;
} span;

typedef struct place_of_tile { // of some rows of Q, or of K
    part p;
    u32 first, number; // number: of the sequence, counted as below
} place_of_tile;

static u32 clamp_row(i64 at, u32 end)
{
    return at < 0 ? 0 : at > end ? end : (u32)at;
}

// The key, counted from the part's first one, that a query is at. The last one is at the last key.
static i64 own_key(part p, u32 query)
{
    return (i64)query - p.first_query + p.keys - p.queries;
}

// The keys that a query sees.
static span keys_of(mask m, part p, u32 query)
{
    i64 own = own_key(p, query);
    u32 end = clamp_row(own + m.right + 1, p.keys),
        begin = min(clamp_row(own - m.left, p.keys), end);
    return (span){p.first_key + begin, p.first_key + end};
}

// The queries that see a key.
static span queries_of(mask m, part p, u32 key)
{
    i64 at = (i64)key - p.first_key - p.keys + p.queries; // the query whose own key it is
    u32 end = clamp_row(at + m.left + 1, p.queries);
    u32 begin = min(clamp_row(at - m.right, p.queries), end);
    return (span){p.first_query + begin, p.first_query + end};
}

#    if defined(OFFSETS)
// The sequence that has a row, or `sequences`. Empty ones have none.
static u32 sequence_of(const i32 *offsets, u32 sequences, u32 row)
{
    u32 low = 0, high = sequences;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (offsets[middle + 1] <= (i64)row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sequences && offsets[low] <= (i64)row ? low : sequences;
}

// Rows of a sequence. Offsets outside of the tensors are moved to their ends.
static part part_of(const i32 *q_offsets, const i32 *k_offsets, u32 sequences, u32 number,
                    u32 queries, u32 keys)
{
    if (number >= sequences)
        return (part){0, 0, 0, 0};
    u32 q = clamp_row(q_offsets[number], queries), k = clamp_row(k_offsets[number], keys);
    u32 q_end = clamp_row(q_offsets[number + 1], queries);
    u32 k_end = clamp_row(k_offsets[number + 1], keys);
    return (part){q, max(q_end, q) - q, k, max(k_end, k) - k};
}

// Tiles: every sequence begins with a new one, and tile number start / rows + number of the sequence is its first. So
// some tiles have no rows; a tile's sequence is found without adding up lengths. Rows in front of the first sequence and
// behind the last one count as sequences 0 and `sequences` + 1 here.
static u32 start_of(const i32 *offsets, u32 sequences, u32 number, u32 end)
{
    return number == 0 ? 0 : number > sequences + 1 ? end : clamp_row(offsets[number - 1], end);
}

static u32 sequence_of_tile(const i32 *offsets, u32 sequences, u32 tile, u32 rows, u32 end)
{
    u32 low = 0, high = sequences + 1;
    while (low < high) {
        u32 middle = (low + high + 1) / 2;
        if (start_of(offsets, sequences, middle, end) / rows + middle <= tile)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static place_of_tile tile_of(bool is_keys, const i32 *q_offsets, const i32 *k_offsets, u32 sequences, u32 tile,
                             u32 rows, u32 queries, u32 keys)
{
    u32 number = sequence_of_tile(is_keys ? k_offsets : q_offsets, sequences, tile, rows, is_keys ? keys : queries);
    u32 q = start_of(q_offsets, sequences, number, queries), k = start_of(k_offsets, sequences, number, keys);
    u32 q_end = start_of(q_offsets, sequences, number + 1, queries);
    u32 k_end = start_of(k_offsets, sequences, number + 1, keys);
    bool is_sequence = number > 0 && number <= sequences;
    part p = {q, is_sequence || !is_keys ? max(q_end, q) - q : 0, k, is_sequence || is_keys ? max(k_end, k) - k : 0};
    u32 start = is_keys ? k : q;
    return (place_of_tile){p, start + (tile - start / rows - number) * rows, number};
}
// The number of the tile with which the queries of a tile's sequence begin.
#        define FIRST_TILE(at, rows) ((at).p.first_query / (rows) + (at).number)
#        define TILE_OF_QUERIES(m, q_offsets, k_offsets, tile, rows, all_queries, all_keys)        \
            tile_of(false, q_offsets, k_offsets, (m).sequences, tile, rows, all_queries, all_keys)
#        define TILE_OF_KEYS(m, q_offsets, k_offsets, tile, rows, all_queries, all_keys)           \
            tile_of(true, q_offsets, k_offsets, (m).sequences, tile, rows, all_queries, all_keys)

#        define OFFSETS_PARAMETERS(q_offsets, k_offsets) const i32 *q_offsets, const i32 *k_offsets,
// The part of a row of Q, of a row of K.
#        define PART_OF_QUERY(m, q_offsets, k_offsets, row, all_queries, all_keys)                 \
            part_of(q_offsets, k_offsets, (m).sequences,                                           \
                    sequence_of(q_offsets, (m).sequences, row), all_queries, all_keys)
#        define PART_OF_KEY(m, q_offsets, k_offsets, row, all_queries, all_keys)                   \
            part_of(q_offsets, k_offsets, (m).sequences,                                           \
                    sequence_of(k_offsets, (m).sequences, row), all_queries, all_keys)
#    else
#        define OFFSETS_PARAMETERS(q_offsets, k_offsets)
#        define TILE_OF_QUERIES(m, q_offsets, k_offsets, tile, rows, all_queries, all_keys)        \
            ((place_of_tile){{0, all_queries, 0, all_keys}, (tile) * (rows), 0})
#        define FIRST_TILE(at, rows) 0
#        define TILE_OF_KEYS TILE_OF_QUERIES
#        define PART_OF_QUERY(m, q_offsets, k_offsets, row, all_queries, all_keys)                 \
            ((part){0, all_queries, 0, all_keys})
#        define PART_OF_KEY(m, q_offsets, k_offsets, row, all_queries, all_keys)                   \
            ((part){0, all_queries, 0, all_keys})
#    endif

#    if defined(SLOPES)
static f32 slope_term(mask m, const f32 *slopes, part p, u32 batch, u32 head, u32 query, u32 key)
{
    i32 distance = (i32)(query - p.first_query + p.keys - p.queries - (key - p.first_key)); // fits
    return -slopes[batch * m.slope_batch + head * m.slope_head] * abs(f32(distance));
}
#        define SLOPES_PARAMETERS(slopes) const f32 *slopes,
#        define SLOPE_TERM(m, slopes, p, batch, head, query, key)                                  \
            slope_term(m, slopes, p, batch, head, query, key)
#    else
#        define SLOPES_PARAMETERS(slopes)
#        define SLOPE_TERM(m, slopes, p, batch, head, query, key) 0.0f
#    endif

#    if defined(HAS_BIAS)
static f32 bias_term(mask m, const bias_t *bias, u32 batch, u32 head, u32 query, u32 key)
{
    return f32(bias[batch * m.bias_batch + head * m.bias_head + query * m.bias_query + key * m.bias_key]);
}
#        define BIAS_PARAMETERS(bias) const bias_t *bias,
#        define BIAS_TERM(m, bias, batch, head, query, key) bias_term(m, bias, batch, head, query, key)
#    else
#        define BIAS_PARAMETERS(bias)
#        define BIAS_TERM(m, bias, batch, head, query, key) 0.0f
#    endif

#    define MASK_PARAMETERS(q_offsets, k_offsets, slopes, bias, m)                                 \
        , OFFSETS_PARAMETERS(q_offsets, k_offsets) SLOPES_PARAMETERS(slopes) BIAS_PARAMETERS(bias) mask m
#    if defined(SLOPES) && defined(HAS_BIAS)
#        define MASK_ARGUMENTS(q_offsets, k_offsets, slopes, bias, m) , slopes, bias, m
#    elif defined(SLOPES)
#        define MASK_ARGUMENTS(q_offsets, k_offsets, slopes, bias, m) , slopes, m
#    elif defined(HAS_BIAS)
#        define MASK_ARGUMENTS(q_offsets, k_offsets, slopes, bias, m) , bias, m
#    else
#        define MASK_ARGUMENTS(q_offsets, k_offsets, slopes, bias, m) , m
#    endif
#else
#    define MASK_PARAMETERS(q_offsets, k_offsets, slopes, bias, m)
#endif

// Adds to a score, whose unit is 1 / `unit`.
#if defined(SLOPES) || defined(HAS_BIAS)
#    define ADD_TO(score, unit, m, slopes, bias, p, batch, head, query, key)                       \
        score = fma(SLOPE_TERM(m, slopes, p, batch, head, query, key) +                            \
                        BIAS_TERM(m, bias, batch, head, query, key),                               \
                    unit, score)
#else
#    define ADD_TO(score, unit, m, slopes, bias, p, batch, head, query, key)
#endif
