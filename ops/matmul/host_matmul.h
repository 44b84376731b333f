// What the host files of kiln_matmul share: a product with everything decided (host_views.c makes
// it of the description's views), the tile that gemm_sm90.c gets for it (host_tile.c picks it), and
// the tiles that the tuner has found (host_tuned.c).
#ifndef KILN_HOST_MATMUL_H
#define KILN_HOST_MATMUL_H

#include "kiln/ops.h"

#include "ops/op.h"

// --- the axes of the kernels' variants
#define AXIS(id, text, kind, domain) AXIS_##id,
enum {
#include "ops/matmul/axes.def"
    AXIS_COUNT
};
extern const op_axis matmul_axes[AXIS_COUNT];
#define MATMUL_PROGRAM(path)                                                                       \
    {                                                                                              \
        .file = (path), .axes = matmul_axes, .axis_count = AXIS_COUNT                              \
    }

typedef enum operand { BF16, F16, TF32, E4M3, S8, F32, OPERAND_COUNT } operand;
typedef enum result { OUT_BF16, OUT_F16, OUT_F32, OUT_S32 } result_type; // of the axis OUT

// A matrix of a view, or one for each product of the batch.
typedef struct matrix {
    kiln_buffer *buffer;
    kiln_type type;
    uint64_t first;     // the element at [0, 0] of the first one
    int64_t steps[2];   // elements from one row to the next, from one column to the next
    bool is_transposed; // its columns are contiguous in memory
    bool is_scattered;  // neither rows nor columns are: the next two mean nothing
    uint64_t rows;      // in memory
    uint64_t stride;    // elements from one of them to the next
    uint64_t next;      // elements to the next matrix
} matrix;

typedef enum matmul_at { // a kernel with tiles to choose from
    AT_SM90,
    AT_SM80,
    AT_CPU,
    AT_PORTABLE,
    AT_F32,
    AT_THIN,
    AT_SMALL,
    AT_COUNT
} matmul_at;

typedef struct matmul_choice {
    uint32_t m, n;
    kiln_matmul_sm90 sm90; // of AT_SM90, with a group; else zeros
} matmul_choice;

// The tiles that a product may have, for the tuner; the first is the one that it gets unasked.
enum { MATMUL_TILES = 96, MATMUL_NAME = 192 };
typedef struct matmul_list {
    matmul_at at;
    matmul_choice all[MATMUL_TILES];
    size_t count;
    bool is_packed; // operands are copied first, to rows that the kernel can read
    char program[MATMUL_NAME], shape[MATMUL_NAME]; // what the rows of the tuner's table call it
} matmul_list;

typedef struct job {
    matmul_list *list; // tiles are listed, nothing runs; NULL: it runs
    kiln *k;
    const kiln_matmul_desc *desc;
    const kiln_device_info *device;
    operand type;
    uint32_t bytes; // of an operand's element
    result_type result;
    uint32_t out_bytes;
    uint32_t m, n, depth, batch;
    matrix a, b, out, bias;
    bool is_loose;  // rows of out, or the bias, do not begin at multiples of 16 bytes
    bool b_is_late; // a kernel before may write what b is now, whatever the description says of b
    // Of a or b, of which m or n is few, a copy along K is made first, of this (host_sm90.c).
    bool is_turned;
    matrix unturned;
} job;

typedef struct side { // an operand of the kernel: a and b, or b and a for a transposed result
    const matrix *in;
    uint64_t columns; // in memory
    bool is_mn;       // contiguous across K
    uint32_t size;
    uint32_t line_cycles; // of the model: to load 128 bytes of a row
} side;

enum { LEFT, RIGHT };

typedef struct tile {
    uint32_t m, n, warpgroups, most_stages, group, split_k;
    uint32_t parts;   // of K, whose sums a second kernel adds; 1: none
    uint32_t sharers; // blocks of a cluster that load the right side together; 1: each its own
    bool is_swapped, is_pingpong;
    bool is_partial;                   // as gemm_sm90.c has it
    uint32_t narrow_n, narrow_columns; // the last columns of tiles; 0: as wide as all
    uint32_t shift; // columns by which a group of rows begins later than the one before
} tile;

static inline uint32_t ceil_div(uint32_t a, uint32_t b)
{
    return a / b + (a % b != 0);
}

// The size of the operand that passes by once, and of the other, of which there is little: columns
// or, is_swapped, rows of the result.
static inline uint32_t many_of(const job *j, bool is_swapped)
{
    return is_swapped ? j->n : j->m;
}

static inline uint32_t few_of(const job *j, bool is_swapped)
{
    return is_swapped ? j->m : j->n;
}

// --- host_views.c
// The products of a description: equal ones at equal distances are one job. Everything is checked,
// but for the types.
typedef struct products {
    job job;       // of the first, with its batch
    uint32_t rank; // of the batches that do not lie at equal distances
    uint64_t sizes[KILN_MAX_RANK], count;
    int64_t a[KILN_MAX_RANK], b[KILN_MAX_RANK], out[KILN_MAX_RANK];
} products;
kiln_status matmul_products(kiln *k, const kiln_matmul_desc *desc, products *out);
// The job of product `n`.
job matmul_job(const products *p, uint64_t n);
// An argument that points to the first element of matrix `n`, or to the start of its buffer.
kiln_arg matmul_arg(const matrix *of, uint64_t n);
kiln_arg matmul_arg_start(const matrix *of);

// --- host_plain.c
extern const char matmul_not_contiguous[], matmul_across_rows[]; // reasons to refuse
// Why no matrix unit can multiply such operands; why gemm_thin.c and gemm_stream.c cannot, whatever
// their tile is. NULL: they can.
const char *matmul_operand_obstacle(const job *j);
const char *matmul_mma_obstacle(const job *j);
// May kernels that wait themselves start before the one before ends?
bool matmul_overlaps(const job *j);
kiln_status matmul_too_many_tiles(const job *j, uint64_t tiles);
// A kernel with the arguments of gemm_portable.c and gemm_sm80.c: `blocks` along x, batches along
// y, parts of K along z.
kiln_status matmul_launch_plain(const job *j, const op_kernel *kernel, uint32_t blocks,
                                uint32_t parts, bool overlaps_previous);
// The same for a variant, with a block for each tile.
kiln_status matmul_launch_tiles(const job *j, const op_request *r, uint64_t tiles, uint32_t parts,
                                bool overlaps_previous);

// --- host_tile.c
// An H200 has room for 30 clusters of four blocks or 15 of eight (cuOccupancyMaxActiveClusters):
// for 120 of its 132 multiprocessors, all but an eleventh. A grid that leaves fewer idle counts as
// full.
enum { MATMUL_FEW_IDLE = 11 };
// So many rows of a, or columns of b, are few: the other operand passes by once.
enum { MATMUL_FEW = 64 };
// About how many cycles a block multiplies that has so many tiles.
uint64_t matmul_cycles(const tile *t, uint32_t steps, uint64_t tiles);
void matmul_sides(const job *j, bool is_swapped, side out[2]);
// Do rows of an operand begin at whole lines of memory?
bool matmul_is_lined(const job *j, const matrix *x);
// Is it contiguous across K, in rows that are shorter than a line of memory and begin anywhere in
// one? The copy engine takes longer for these.
bool matmul_has_short_lines(const job *j, const matrix *x);
// Do so many blocks load them that it is several times as long?
bool matmul_is_crowded(const job *j, const matrix *x);
// Steps along K, of 128 bytes.
uint32_t matmul_steps(const job *j);
// An operand that is read across K is loaded 64 rows at a time.
uint32_t matmul_lines(bool is_mn, uint32_t rows);
// The tile that the description asks for, or the one that is expected to be the fastest.
tile matmul_tile(const job *j);
// About how many cycles the product takes with it, and the sums of parts to be added.
uint64_t matmul_tile_cost(const job *j);
uint64_t matmul_add_cost(const job *j, uint32_t parts);
// Operands must come from memory once, and the result go there, `stored` bytes in a cycle.
uint64_t matmul_least_cycles(const job *j, uint32_t stored);
// Is every row of the result made of whole lines of memory?
bool matmul_is_lined_result(const job *j);
// Whether the requested tile is possible.
bool matmul_has_tile(const job *j);
// Are a tile's results stored while the next tile is multiplied?
bool matmul_is_deferred(const job *j, const tile *t);
// Does the kernel load the right side by multiples of 64 columns, and what is left of a tile, its
// tail, by itself?
bool matmul_has_tail(const job *j, const side *right, const tile *t);
// Columns of tiles over `size` columns.
uint32_t matmul_columns(const tile *t, uint32_t size);
// All tiles for which matmul_has_tile says yes: the model's, then those that it expects to be the
// fastest. They share K among as many blocks as that one, so that sums have one order.
void matmul_list_sm90(const job *j, matmul_list *out);

// --- host_tuned.c
extern const char *const matmul_at_names[AT_COUNT];
void matmul_name(const job *j, matmul_at at, char program[MATMUL_NAME], char shape[MATMUL_NAME]);
void matmul_write_choice(const matmul_choice *c, char out[MATMUL_NAME]);
// False: the list names no tile.
bool matmul_read_choice(const char *list, matmul_choice *out);
typedef struct matmul_tuned {
    matmul_choice choice;
    bool is_checked, is_possible; // set by who uses it: a row may have been made elsewhere
} matmul_tuned;
// What was found for that product on this device; NULL: nothing, or KILN_TUNED is off.
matmul_tuned *matmul_find_tuned(const job *j, matmul_at at);

// --- host_scratch.c
// Memory for what a call keeps between its kernels; free for the next call on the same stream. It
// begins at a multiple of 256 bytes. What is too much to keep is temporary: the caller frees it
// after its last launch.
kiln_status matmul_scratch(kiln *k, kiln_stream *stream, uint64_t bytes, kiln_buffer **out,
                           bool *is_temporary);

// The same for calls that are made of calls: kiln_matmul in between leaves it alone.
kiln_status matmul_outer_scratch(kiln *k, kiln_stream *stream, uint64_t bytes, kiln_buffer **out,
                                 bool *is_temporary);

// --- host_sm90.c
// Why gemm_sm90.c cannot do it; NULL: it can.
const char *matmul_sm90_obstacle(const job *j);
kiln_status matmul_run_sm90(const job *j);
// Are operands copied first?
bool matmul_copies(const job *j);
// The map of matrix `n` of an operand for boxes of `rows` (along K: of 64), or of that part of them
// which each of `sharers` loads.
kiln_tensor_map_desc matmul_operand_map(const job *j, const side *s, uint32_t n, uint32_t rows,
                                        uint32_t sharers);
// About how many cycles it takes.
uint64_t matmul_sm90_cost(const job *j);
// Bytes of an operand's copy, in whole lines of 256; 0: it stays where it is. Copies the operands
// whose rows the copy engine cannot read, or `only` that one, to the start of `to`, and lets the
// job read these.
uint64_t matmul_copy_bytes(const job *j, const matrix *x);
kiln_status matmul_pack(const job *j, const matrix *only, kiln_buffer *to, job *out);

// --- host_parts.c
// Sums of parts of K: their bytes (none for one part), the product that makes them, and the kernel
// that adds them to the result of `j`.
uint64_t matmul_part_bytes(const job *j, uint32_t parts);
job matmul_job_of_parts(const job *j, kiln_matmul_desc *plain, kiln_buffer *to, uint64_t offset);
kiln_status matmul_add_parts(const job *j, const matrix *sums, uint32_t parts);
// One product in `count` parts, with what comes before and after it: `copied`, an operand or NULL,
// is copied first; `multiply` makes the sums in the form `way`.
typedef kiln_status matmul_multiply(const job *j, const void *way);
kiln_status matmul_run_parts(const job *j, const matrix *copied, uint32_t count,
                             matmul_multiply *multiply, const void *way);

// --- host_loose.c
// About how many cycles gemm_portable.c takes for operands that gemm_sm90.c reads from a copy only;
// UINT64_MAX for others. Is it faster?
uint64_t matmul_loose_cost(const job *j);
bool matmul_is_loose(const job *j);
// Is that the form that the description's tile asks for?
bool matmul_is_loose_tile(const job *j);
kiln_status matmul_run_loose(const job *j);

void matmul_set_loose(job *j);

// --- host_split.c
// Is it a product of f32 that may be, and can be, one of tf32 numbers that are twice as many?
bool matmul_is_split(const job *j);
kiln_status matmul_run_split(const job *j);

// --- host_thin.c
// Why gemm_thin.c cannot do it; NULL: it can.
const char *matmul_thin_obstacle(const job *j);
// About how many cycles it takes.
uint64_t matmul_thin_cost(const job *j);
// Is it the fastest?
bool matmul_is_thin(const job *j);
kiln_status matmul_run_thin(const job *j);

// --- host_stream.c
// The same for gemm_stream.c; the cost is UINT64_MAX where it is none to choose.
const char *matmul_stream_obstacle(const job *j);
uint64_t matmul_stream_cost(const job *j);
bool matmul_is_stream(const job *j);
kiln_status matmul_run_stream(const job *j);

// --- host_ends.c
// Does more follow the sum than bias and activation: factors, a residual, numbers before the
// activation?
bool matmul_has_ends(const kiln_matmul_desc *d);
// Is it a view of f32?
kiln_status matmul_check_f32(kiln *k, const kiln_view *v, const char *call, const char *name);
// Are its strides such as kernels take them for a bias and factors: 0 and up, within 32 bits?
kiln_status matmul_check_steps(kiln *k, const kiln_view *v, const char *call, const char *name);
// Residual and `pre` fit the result, and nothing overlaps what it must not.
kiln_status matmul_check_ends(kiln *k, const kiln_matmul_desc *d, const char *call);
// The types of the sums and of the result; the job gets both.
kiln_status matmul_check_end_types(job *j, const char *call);
kiln_status matmul_run_ends(kiln *k, const kiln_matmul_desc *d);

// --- host_scaled.c
// What else scaled_sm90.c reads and writes. Views without a buffer are not there.
typedef struct matmul_ends {
    kiln_view a_scale, b_scale; // is_blocked: of blocks
    kiln_view residual, pre;
    kiln_view group_ends; // of groups of rows, each with a b of its own
    bool is_blocked;
} matmul_ends;
typedef struct ends_steps { // as gemm_ends.h has it
    int64_t residual[2], pre[2];
    uint32_t out, bias, a_row, a_k, b_column, b_k, b_group, unused;
} ends_steps;
// Memory for sums of the result's shape, for who makes them, and the kernel that makes the result
// of them (host_ends.c).
kiln_status matmul_sums(const job *j, const matmul_ends *e, kiln_view *sums, bool *is_temporary);
kiln_status matmul_finish(const job *j, const matmul_ends *e, const kiln_view *sums);
ends_steps matmul_ends_steps(const job *j, const matmul_ends *e, uint64_t out_stride);
// Axes and arguments of all that is there; the bias comes first, where there is an epilogue.
void matmul_set_ends(const job *j, const matmul_ends *e, op_request *r);
size_t matmul_ends_args(const job *j, const matmul_ends *e, kiln_arg *args, size_t count);
// Why scaled_sm90.c cannot do it; NULL: it can.
const char *matmul_scaled_obstacle(const job *j, const matmul_ends *e);
uint64_t matmul_scaled_cost(const job *j, const matmul_ends *e);
kiln_status matmul_run_scaled(const job *j, const matmul_ends *e);

// --- matmul.c
void matmul_set_types(const job *j, bool left_is_mn, bool right_is_mn, op_request *r);
// Do rows and matrices start at multiples of 16 bytes?
bool matmul_is_aligned(const job *j, const matrix *x, uint32_t bytes);
// Are pairs of results aligned?
bool matmul_has_pairs(const job *j);
// Does something have no contiguous dimension?
bool matmul_is_scattered(const job *j);
// The types of operands and result, and what goes with them.
kiln_status matmul_check_types(job *j);
kiln_status matmul_list_tiles(kiln *k, const kiln_matmul_desc *desc, matmul_list *out);

#endif
