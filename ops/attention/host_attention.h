// What the host files of attention share: the shape of a call, taken from its views and checked
// (host_views.c), and views as the kernels want them.
#ifndef KILN_HOST_ATTENTION_H
#define KILN_HOST_ATTENTION_H

#include "kiln/ops.h"
#include "ops/op.h"

// --- the axes of the kernels' variants
#define AXIS(id, text, kind, domain) AXIS_##id,
enum {
#include "ops/attention/axes.def"
    AXIS_COUNT
};
extern const op_axis attention_axes[];
#define ATTENTION_PROGRAM(path, name)                                                              \
    {                                                                                              \
        .file = "ops/attention/" path, .kernel = (name), .axes = attention_axes,                   \
        .axis_count = AXIS_COUNT                                                                   \
    }

// --- calls
typedef enum tensor_shape {
    OF_QUERIES, // [batch, heads, queries, head_dim]
    OF_KEYS,    // [batch, kv_heads, keys, head_dim]
    OF_ROWS,    // [batch, heads, queries] f32
} tensor_shape;

typedef struct tensor {
    const char *name;
    const kiln_view *view;
    tensor_shape shape;
    bool is_result;
} tensor;

typedef struct masking { // of a description: windows, sequences, and what is added to scores
    bool has_window;
    int32_t left, right;
    kiln_view q_offsets, k_offsets, bias, slopes;
} masking;
#define MASKING_OF(desc)                                                                           \
    ((masking){(desc)->has_window, (desc)->window_left, (desc)->window_right, (desc)->q_offsets,   \
               (desc)->k_offsets, (desc)->bias, (desc)->slopes})

typedef struct kernel_mask { // struct mask of mask.h
    int64_t left, right;
    int64_t slope_batch, slope_head;
    int64_t bias_batch, bias_head, bias_query, bias_key;
    uint32_t sequences, unused;
} kernel_mask;

typedef struct attention { // a call with everything decided
    kiln *k;
    const char *op;           // its name
    kiln_type type, key_type; // of k and v; another one: f8e4 or f8e5, forward alone
    uint32_t batch, heads, kv_heads, queries, keys, head_dim;
    uint32_t rows, kv_rows;    // of all heads
    uint32_t pages, page_size; // of a cache in pages; else 0
    bool is_causal;
    float scale;
    bool is_masked; // `mask` says something
    masking mask;
    kernel_mask kernel_mask;
    char obstacle[128]; // why the kernel for sm_90a cannot do it, if it cannot
} attention;

kiln_status attention_wrong(const attention *a, const char *what);
// Takes the sizes from q and k and checks them and the rest, which is of the description. `pages`:
// the table of a cache in pages, or NULL.
kiln_status attention_sizes(attention *a, const kiln_view *q, const kiln_view *k,
                            const kiln_view *pages, bool is_causal, float scale,
                            kiln_attention_kernel kernel, const masking *mask);
// Checks the views of a->mask, after attention_check, and makes a->kernel_mask.
kiln_status attention_check_mask(attention *a, const tensor *tensors, size_t count);
// Sets the axis MASK and those that come with it, and adds the mask's arguments, at most
// MASK_ARGS.
enum { MASK_ARGS = 5 };
size_t attention_add_mask(const attention *a, op_request *r, kiln_arg *args, size_t count);
// Checks the views of a cache, where they have a buffer.
kiln_status attention_check_cache(const attention *a, const kiln_view *lengths,
                                  const kiln_view *pages);
// Checks all tensors: sizes, types, and that results share no element with another tensor.
kiln_status attention_check(attention *a, const tensor *tensors, size_t count);
// Keeps why the kernel for sm_90a cannot do it; true: `why` is NULL.
bool attention_can(attention *a, const char *why);
// The kernel for sm_90a, or the portable one; an error where `kernel` asks for one that cannot.
kiln_status attention_choose(const attention *a, kiln_attention_kernel kernel, bool can_sm90,
                             bool *is_sm90);

// --- mma: sm_80 and later (host_mma.c)
enum { MMA_TENSORS = 9 };
typedef struct mma_launch {
    const tensor *tensors;      // whose strides the kernel takes, in the order of its struct
    size_t tensor_count, given; // of the struct; of the tensors, the rest are missing
    kiln_arg args[MMA_TENSORS]; // in front of the shape
    size_t arg_count;
    uint32_t rows; // of a block
    bool is_keys;  // blocks have keys, not queries
    kiln_stream *stream;
} mma_launch;
// Can these kernels do it? If not, the obstacle says why.
bool attention_can_mma(attention *a, const tensor *tensors, size_t count, bool is_backward);
// Warps of a block of forward_mma.c, of 16 queries each.
uint32_t attention_mma_warps(const attention *a, uint32_t multiprocessors);
// Sets the axes that all of them have, and launches.
kiln_status attention_run_mma(const attention *a, op_request *r, const mma_launch *l);

// --- the gradient of a bias (host_bias.c)
// Checks its view, where it has a buffer.
kiln_status attention_check_dbias(const attention *a, const kiln_view *dbias,
                                  const kiln_view *workspace, const tensor *tensors, size_t count);
// inputs: q, k, v, dout, lse; d: the sum of dO * O of each row.
kiln_status attention_run_dbias(const attention *a, const kiln_view *dbias, const tensor inputs[5],
                                kiln_arg d, kiln_stream *stream);

// --- decode.c: blocks that share keys take tickets of u32, zeros before and after a launch
enum { DECODE_TICKETS = 4096 };

// --- sm_90a
// The head dimension of the kernels for sm_90a, at least the call's: 64, 128, 192 or 256. Fewer
// columns are filled up with zeros.
static inline uint32_t attention_whole_dim(const attention *a)
{
    return a->head_dim <= 64 ? 64 : a->head_dim <= 128 ? 128 : a->head_dim <= 192 ? 192 : 256;
}

// --- views for the kernels
typedef struct steps { // as in hopper.h
    uint32_t head, batch;
} steps;

typedef struct strides { // as in hopper.h: the first three; as in portable.h: all
    int64_t batch, head, row, column;
} strides;

typedef struct row_strides {
    int64_t batch, head, row;
} row_strides;

strides attention_strides(const kiln_view *v);
row_strides attention_row_strides(const kiln_view *v);
steps attention_steps(const kiln_view *v);
// Are all of them dense? Are the columns of all contiguous?
bool attention_is_dense(const tensor *tensors, size_t count);
bool attention_is_unit(const tensor *tensors, size_t count);
// False, and the obstacle is set: the copy engine or 16-byte stores cannot reach one of them.
bool attention_is_aligned(attention *a, const tensor *tensors, size_t count);
// Why the kernels for sm_90a cannot do the call's mask; NULL: they can, or there is none.
const char *attention_sm90_mask_obstacle(const attention *a);
// Tiles of so many rows on a side of `length` rows: with offsets every sequence begins with a new
// one (mask.h).
uint32_t attention_tiles(const attention *a, uint32_t length, uint32_t rows);
// Does the work of a tile grow along a head, so that tiles from both ends belong together?
bool attention_has_pairs(const attention *a);
// Multiprocessors of the device. The interpreter plays one that has a few, so that its tests meet
// what is for few units of work.
uint32_t attention_processors(const attention *a);
// A tensor map of boxes of 64 columns by box_rows rows; with offsets one whose rows end with a
// sequence (hopper_mask.h).
kiln_status attention_map_parts(const attention *a, const kiln_view *v, uint32_t box_rows,
                                kiln_tensor_map *out);
kiln_status attention_map(const attention *a, const kiln_view *v, bool is_dense, uint32_t box_rows,
                          kiln_tensor_map *out);

typedef struct portable_shape { // struct shape of portable.h
    uint32_t batch, heads, kv_heads, queries, keys;
    float scale;
    uint32_t pages, page_size, table;
} portable_shape;

static inline portable_shape attention_portable_shape(const attention *a)
{
    return (portable_shape){.batch = a->batch,
                            .heads = a->heads,
                            .kv_heads = a->kv_heads,
                            .queries = a->queries,
                            .keys = a->keys,
                            .scale = a->scale,
                            .pages = a->pages,
                            .page_size = a->page_size};
}

static inline uint32_t ceil_div(uint32_t a, uint32_t b)
{
    return a / b + (a % b != 0);
}

#endif
