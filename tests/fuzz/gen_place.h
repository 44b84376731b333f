// What gen_place.c (memory: records, arrays, pointers, accesses) and gen_memory.c (statements,
// whole programs) of the profile `memory` share.
#ifndef KILN_FUZZ_GEN_PLACE_H
#define KILN_FUZZ_GEN_PLACE_H

#include "fuzz/gen_parts.h"

enum {
    MEM_MAX_RECORDS = 16,
    MEM_MAX_MEMBERS = 12,
    MEM_MAX_PLACES = 48,
    MEM_MAX_NAMES = 48,
    MEM_MAX_CALLS = 4,
    MEM_SCALAR = -1 // a record index: none
};

typedef struct mem_member {
    char name[12];
    gen_type type;   // unless it is a record
    int record;      // MEM_SCALAR, or which
    uint32_t length; // of an array; 0: none
} mem_member;

typedef struct mem_record {
    char name[24];
    mem_member members[MEM_MAX_MEMBERS];
    uint32_t count, bytes, align;
} mem_record;

// Where values live: an array of rank 1 to 3, or one object (rank 0). A pointer that has room for n
// elements is an array of n.
typedef struct mem_place {
    char text[48];
    gen_type type;
    int record;
    uint32_t rank, dims[3];
    uint32_t before;  // elements that lie before a pointer
    bool is_constant; // may be read only
    bool is_pointer;  // text is a pointer to the object or to the first element
    bool has_address; // others may point to it
    uint32_t align;   // of the first byte
} mem_place;

typedef struct mem_name { // a scalar variable
    char text[24];
    gen_type type;
    uint32_t bound; // of an index: it is below, and never assigned to; 0: any value
} mem_name;

typedef enum mem_shape {
    MEM_TWO_POINTERS, // T f(T *a, T *b, u32 n): four elements behind each
    MEM_ROWS,         // void f(T (*a)[4], u32 n): four rows
    MEM_BY_VALUE,     // R f(R r, R *p, u32 n)
    MEM_RECORD,       // T f(R r, u32 n): no pointer anywhere
    MEM_SHAPES
} mem_shape;

typedef struct mem_call {
    mem_shape shape;
    gen_type type;
    int record;
} mem_call;

typedef struct mem {
    gen g;
    mem_record records[MEM_MAX_RECORDS];
    int record_count, own_records; // own: from here on, the program's
    mem_place places[MEM_MAX_PLACES];
    uint32_t place_count;
    mem_name names[MEM_MAX_NAMES];
    uint32_t name_count;
    mem_call calls[MEM_MAX_CALLS];
    uint32_t call_count;
    int shared_record;  // a record of each thread in shared memory, w_NUMBER; MEM_SCALAR: none
    uint32_t p0;        // the value that the kernel gets as p0
    gen_type favourite; // of places, and their records
    int favourite_record;
    bool may_return;
    gen_type returns; // of the helper that is written; GT_COUNT: nothing
    int returns_record;
} mem;

#define mem_write(m, ...) gen_write(&(m)->g, __VA_ARGS__)
#define mem_below(m, n)   gen_below(&(m)->g, n)
#define mem_chance(m, n)  gen_chance(&(m)->g, n)

void mem_line(mem *m);
uint32_t mem_fresh(mem *m);
gen_type mem_type(mem *m);
gen_type mem_place_type(mem *m);
int mem_any_record(mem *m);
uint32_t mem_size(gen_type t);
uint32_t mem_element_bytes(const mem *m, const mem_place *p);
const char *mem_element_name(const mem *m, const mem_place *p);

void mem_vectors(mem *m); // the records that every program has
void mem_new_record(mem *m);

mem_place *mem_add_place(mem *m, const char *text, gen_type t, int record, uint32_t length);
mem_name *mem_add_name(mem *m, const char *text, gen_type t, uint32_t bound);
// A place that may be read (or stored to), of any kind; NULL: there is none.
const mem_place *mem_pick(mem *m, bool for_store);
// One of this element type and rank with at least `length` elements (of rank 0: none).
const mem_place *mem_pick_like(mem *m, gen_type t, int record, uint32_t rank, uint32_t length,
                               bool for_store);
// An index below `length`.
void mem_index(mem *m, uint32_t length);
// An element of the place, down to a scalar, whose type it gives.
gen_type mem_access(mem *m, const mem_place *p);
// An element of the place, which may be a record.
void mem_element(mem *m, const mem_place *p);
// An integer expression of some type, in parentheses where it needs them.
void mem_expr(mem *m, int depth);
void mem_typed(mem *m, gen_type t, int depth); // converted to t
void mem_test(mem *m);

// A random statement that holds no other.
void mem_touch(mem *m);
void mem_new_name(mem *m);
void mem_new_array(mem *m);
void mem_assign(mem *m);

#endif
