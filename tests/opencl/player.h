// What a library adds to the OpenCL that runs nothing, so that it runs kernels
// (tests/sass/opencl.c). Without it the symbols are not there.
#ifndef KILN_TESTS_OPENCL_PLAYER_H
#define KILN_TESTS_OPENCL_PLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct player_program player_program;

// NULL: the text was refused, and `log` says why.
__attribute__((weak)) player_program *player_build(const char *text, size_t len,
                                                   const char *options, char *log, size_t size);
// The offset of memory that is local by an argument.
__attribute__((weak)) uint64_t player_local_at(const player_program *p, const char *kernel);
// false: it failed, and said why on the standard error
__attribute__((weak)) bool player_launch(player_program *p, const char *kernel,
                                         const uint32_t *grid, const uint32_t *threads,
                                         uint32_t local_bytes, void **params);
__attribute__((weak)) void player_forget(player_program *p);

#endif
