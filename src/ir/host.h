// A host function as an IR_HOST instruction names it: one string that says its name, how it is
// called and what travels. All devices and the runtime read it with host_read.
//
//   lookup lane wait (v4.4[i32@0] o4.4[f32@0]) v4.4[i32@0] : i32 lookup(u32, f32 *)
//
// lane or warp: each lane calls, or the first active lane for all. wait or post: the lanes wait for
// the answer, or go on at once. A parameter is v (a value), i (one object, read), o (one object,
// read and written), c (counted objects, read) or m (counted objects, read and written), then its
// size and alignment, then its scalars with their byte offsets, or of c and m the number of the
// parameter that counts them, behind # (signed: below 0 is none) or +. Behind the brackets stands
// the result, v or -. Operands: the scalars of v, i and o; pointer and bytes of c and m. Results:
// the scalars of the result, then those of every o.
#ifndef KILN_IR_HOST_H
#define KILN_IR_HOST_H

#include "ir/ir.h"

enum { HOST_PARAMS = 12, HOST_SCALARS = 32, HOST_BYTES = 128 };

typedef struct host_scalar {
    uint8_t type;    // ir_type
    uint8_t param;   // HOST_RESULT: the result's
    uint16_t offset; // in that object
} host_scalar;
enum { HOST_RESULT = 255 };

typedef struct host_param {
    char kind;     // one of "viocm"
    uint32_t size; // of the object, or of one of the counted ones
    uint32_t align;
    uint32_t first; // operand
    uint8_t count;  // of c and m: the parameter that counts; HOST_RESULT: it is not said
    bool is_count_signed;
} host_param;

typedef struct host_shape {
    str name, signature;
    bool is_warp, is_posted;
    uint32_t param_count;
    host_param params[HOST_PARAMS];
    uint32_t result_size, result_align; // 0: none
    uint32_t in_count, out_count;
    host_scalar in[HOST_SCALARS];  // per operand; of c and m: the pointer, then the bytes
    host_scalar out[HOST_SCALARS]; // per result
    // sets of those that are the first of four numbers of 4 bytes, side by side in an object that
    // is a multiple of 16, at one
    uint32_t in_fours, out_fours;
} host_shape;

// What of a call travels through a mailbox (rt/channel/mailbox_call.h), in words of 32 bits.
// Request: the operands that are no pointers, numbers of 8 bytes as two words, counted bytes as
// one; then the place of counted bytes. Reply: a status, the results, the place. Who calls, which
// services do not ask, is said once for the warp: the leading lane's thread x | y << 10 | z << 20,
// the block's size x - 1 | (y - 1) << 10, block x, block y | z << 16.
typedef struct host_rows {
    uint32_t out, in; // words; `in` is 0 when nobody waits
    uint32_t counted; // objects
    bool has_who;     // in the frame behind the `out` words
} host_rows;
// A frame has more room than any call needs; behind it, where the ring is (mailbox_ring.h). A site
// has several numbers: MAILBOX_SITE_CALL …
enum { HOST_FRAME_WORDS = 56, HOST_MOST_COUNTED = 8, HOST_RING_BYTES = 16, HOST_SITE_NUMBERS = 3 };
host_rows host_rows_of(const host_shape *s);
static inline uint32_t host_words(uint8_t of)
{
    return ir_type_size((ir_type)of) > 4 ? 2 : 1;
}

// False: this is no such text. The strings of `out` are slices of `spelled`.
bool host_read(str spelled, host_shape *out);
static inline bool host_is_counted(char kind)
{
    return kind == 'c' || kind == 'm';
}
// The shape of an IR_HOST instruction; it was verified.
void host_of_inst(const ir_func *f, const ir_inst *i, host_shape *out);

#endif
