// Elementwise maps: results from operands, element by element, in one launch of
// ops/elementwise/kernel.c. What is computed is given as text in Kiln C.
#ifndef KILN_OP_MAP_H
#define KILN_OP_MAP_H

#include "ops/nest.h"
#include "ops/operands.h"

enum { MAP_RESULTS = 4 };
// Where the keys of an op begin; those of elementwise at 0.
enum { MAP_REDUCE = 1 << 16 };

typedef struct op_map {
    uint32_t key;                    // of the texts: maps with equal keys have equal ones
    const char *operands;            // one letter each, their names in the texts: "abg"
    uint32_t result_count;           // up to MAP_RESULTS
    const char *values[MAP_RESULTS]; // the results: expressions over the operands, p and q
    const char *factor;              // each value is multiplied by it: "g * "; NULL: nothing
    kiln_view views[NEST_VIEWS];     // operands, then results; of one shape, not empty
    kiln_type type;                  // of p, q and literals; its number type is
    double p, q;
    bool is_in_place; // a result has the place of an operand
    kiln_stream *stream;
    op_operand checked[NEST_VIEWS]; // op_map_add: the views, for op_map_check
    uint32_t count;                 // of them
} op_map;

// The next view. The map stays where it is then. An operand may be the place of a result.
void op_map_add(op_map *map, const char *name, kiln_view view, bool is_result);
// Checks the views that op_map_add has added, and sets is_in_place.
kiln_status op_map_check(kiln *k, const char *call, op_map *map);

// The type that elements of `type` are computed in: f32 for narrow floats, 32 bits for narrow
// integers.
kiln_type op_number_type(kiln_type type);
// The number of an integer number type (32 or 64 bits) that is nearest to a value cut towards zero,
// as the bits of 64: 0 for NaN.
uint64_t op_number_whole(kiln_type type, double value);
// An argument of that number type; of an integer type the same.
kiln_arg op_number_argument(kiln_type type, double value);
kiln_status op_map_run(kiln *k, const op_map *map);

#endif
