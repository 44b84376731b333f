// ir.h: build kernels without C text, for programs that generate them.
//
// A builder collects kernels instruction by instruction; kiln_ir_text checks them all and gives the
// text that kiln_compile takes with .is_ir = true. Operations are named as in docs/ir.md. The first
// mistake is kept (kiln_ir_error) and everything after it does nothing, so only the end needs a
// check.
//
//     kiln_ir *b = kiln_ir_new();
//     kiln_ir_kernel(b, &(kiln_ir_kernel_desc){.name = "twice", .block = {256},
//         .params = (kiln_ir_param[]){{.name = "x", .type = KILN_F32, .is_pointer = true}},
//         .param_count = 1});
//     kiln_ir_value i = kiln_ir_emit(b, "thread.x", KILN_IR_NONE, NULL, 0);
//     kiln_ir_value p = kiln_ir_index(b, kiln_ir_arg(b, 0), i, 4);
//     kiln_ir_value v = kiln_ir_load(b, KILN_IR_F32, p, 0);
//     kiln_ir_store(b, KILN_IR_F32, p, 0, kiln_ir_emit2(b, "fadd", KILN_IR_F32, v, v));
//     kiln_ir_end(b);                                                 // the kernel
//     if (kiln_ir_text(b, &text, &len) == KILN_OK) … kiln_compile(k, &(kiln_compile_desc){.source =
//     text, .is_ir = true}, &m); kiln_ir_free(b);
#ifndef KILN_IR_BUILDER_H
#define KILN_IR_BUILDER_H

#include <kiln/kiln.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kiln_ir kiln_ir;
typedef struct kiln_ir_value {
    uint32_t id; // 0: none
} kiln_ir_value;
typedef struct kiln_ir_label { // an open if, loop or block
    uint32_t id;
} kiln_ir_label;

typedef enum kiln_ir_type {
    KILN_IR_NONE, // operations that have only one type
    KILN_IR_I1,
    KILN_IR_I8,
    KILN_IR_I16,
    KILN_IR_I32,
    KILN_IR_I64,
    KILN_IR_F16,
    KILN_IR_BF16,
    KILN_IR_F8E4,
    KILN_IR_F8E5,
    KILN_IR_F32,
    KILN_IR_F64,
    KILN_IR_PTR, // may point anywhere
    KILN_IR_PTR_GLOBAL,
    KILN_IR_PTR_SHARED,
    KILN_IR_PTR_LOCAL,
    KILN_IR_PTR_CONST,
    KILN_IR_PTR_PARAM
} kiln_ir_type;

// NULL when there is no memory.
KILN_API kiln_ir *kiln_ir_new(void);
KILN_API void kiln_ir_free(kiln_ir *b);
// The first mistake, or "".
KILN_API const char *kiln_ir_error(const kiln_ir *b);
// Checks everything; the text lives as long as the builder. KILN_E_COMPILE: see kiln_ir_error.
KILN_API kiln_status kiln_ir_text(kiln_ir *b, const char **out, size_t *len);

// --- kernels
typedef struct kiln_ir_param {
    const char *name;
    kiln_type type;  // of the scalar, or of what it points to (KILN_VOID: bytes)
    bool is_pointer; // to global memory
    bool is_const, is_restrict;
    bool is_tensor_map; // alone: .name and this
} kiln_ir_param;

typedef struct kiln_ir_kernel_desc {
    const char *name;
    uint32_t block[3]; // zeros: decided at launch; a 0 after the first counts as 1
    const kiln_ir_param *params;
    size_t param_count;
} kiln_ir_kernel_desc;

// Opens a kernel: what follows goes into it, up to its kiln_ir_end.
KILN_API void kiln_ir_kernel(kiln_ir *b, const kiln_ir_kernel_desc *desc);
KILN_API kiln_ir_value kiln_ir_arg(kiln_ir *b, size_t index);
// Memory of the block and of the thread; the value is a pointer to its first byte.
KILN_API kiln_ir_value kiln_ir_shared(kiln_ir *b, const char *name, kiln_ir_type element,
                                      uint64_t count);
KILN_API kiln_ir_value kiln_ir_local(kiln_ir *b, const char *name, kiln_ir_type element,
                                     uint64_t count);

// --- values
KILN_API kiln_ir_value kiln_ir_int(kiln_ir *b, kiln_ir_type type, int64_t v);
KILN_API kiln_ir_value kiln_ir_real(kiln_ir *b, kiln_ir_type type, double v); // f32, f64

// Any operation with at most one result, by its name: "fadd", "atomic.add", "blockidx.y",
// "barrier".
KILN_API kiln_ir_value kiln_ir_emit(kiln_ir *b, const char *op, kiln_ir_type type,
                                    const kiln_ir_value *operands, size_t count);
KILN_API kiln_ir_value kiln_ir_emit1(kiln_ir *b, const char *op, kiln_ir_type type,
                                     kiln_ir_value a);
KILN_API kiln_ir_value kiln_ir_emit2(kiln_ir *b, const char *op, kiln_ir_type type, kiln_ir_value a,
                                     kiln_ir_value c);
KILN_API kiln_ir_value kiln_ir_emit3(kiln_ir *b, const char *op, kiln_ir_type type, kiln_ir_value a,
                                     kiln_ir_value c, kiln_ir_value d);

// pointer + index * element_bytes; the index is an i32 (taken as unsigned) or an i64.
KILN_API kiln_ir_value kiln_ir_index(kiln_ir *b, kiln_ir_value pointer, kiln_ir_value index,
                                     uint32_t element_bytes);
KILN_API kiln_ir_value kiln_ir_load(kiln_ir *b, kiln_ir_type type, kiln_ir_value pointer,
                                    int64_t offset);
KILN_API void kiln_ir_store(kiln_ir *b, kiln_ir_type type, kiln_ir_value pointer, int64_t offset,
                            kiln_ir_value v);
// 1, 2, 4, 8 or 16 consecutive elements; align 0: that of one element.
KILN_API void kiln_ir_load_many(kiln_ir *b, kiln_ir_type type, kiln_ir_value pointer,
                                int64_t offset, uint32_t align, kiln_ir_value *out, size_t count);
KILN_API void kiln_ir_store_many(kiln_ir *b, kiln_ir_type type, kiln_ir_value pointer,
                                 int64_t offset, uint32_t align, const kiln_ir_value *values,
                                 size_t count);

// --- control. Each opens a region; kiln_ir_end closes it (after an exit, next or return; without
// one it exits with no values). kiln_ir_else goes on to the other side of an if; an if without it
// has an empty one.
KILN_API kiln_ir_label kiln_ir_if(kiln_ir *b, kiln_ir_value condition, const kiln_ir_type *results,
                                  size_t count);
KILN_API void kiln_ir_else(kiln_ir *b);
KILN_API kiln_ir_label kiln_ir_block(kiln_ir *b, const kiln_ir_type *results, size_t count);
// `start` begins the loop's arguments; kiln_ir_loop_arg gives them inside.
KILN_API kiln_ir_label kiln_ir_loop(kiln_ir *b, const kiln_ir_value *start, size_t arg_count,
                                    const kiln_ir_type *results, size_t count);
KILN_API kiln_ir_value kiln_ir_loop_arg(kiln_ir *b, kiln_ir_label loop, size_t index);
KILN_API void kiln_ir_exit(kiln_ir *b, kiln_ir_label target, const kiln_ir_value *values,
                           size_t count);
KILN_API void kiln_ir_next(kiln_ir *b, kiln_ir_label loop, const kiln_ir_value *values,
                           size_t count);
KILN_API void kiln_ir_return(kiln_ir *b);
KILN_API void kiln_ir_end(kiln_ir *b);
// What a closed if, block or loop gave.
KILN_API kiln_ir_value kiln_ir_result(kiln_ir *b, kiln_ir_label control, size_t index);

#ifdef __cplusplus
}
#endif

#endif
