// What tests and benchmarks of suites share: numbers of every type, and tensors in every layout.
#ifndef KILN_SUITE_TENSORS_H
#define KILN_SUITE_TENSORS_H

#include "ops/suite.h"

// Half of the distance between 1 and the next number; 0 for integers.
double suite_epsilon(kiln_type type);
void suite_put(kiln_type type, void *to, size_t i, double x); // rounds to nearest, ties to even
double suite_get(kiln_type type, const void *from, size_t i);
double suite_random(uint64_t *state, double low, double high);

// One case with one type and layout: the test.
void suite_test_one(kiln *k, kiln *oracle, const op_suite *s, const op_case *c, kiln_type type,
                    uint32_t layout, suite_counts *counts);

enum { SUITE_GUARD = 128 }; // elements before and after every tensor that nobody may write

size_t suite_count(const op_tensor *t); // its elements
// A view with the sizes of `t` over a new buffer, lying as `layout` says.
kiln_status suite_view(kiln *k, const op_tensor *t, uint32_t layout, kiln_buffer **buffer,
                       kiln_view *out);

#endif
