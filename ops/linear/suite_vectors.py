#!/usr/bin/env python3
"""Prints suite_vectors.h: int4 weights in the layouts that kiln_pack_int4 reads and writes.

The layouts are written down here once more, from what their owners' packers do, and share nothing with host_pack.c:
    python3 ops/linear/suite_vectors.py > ops/linear/suite_vectors.h
"""
N, K, GROUPS = 10, 19, 2
weight = [[(row * 7 + column * 5 + row * column) % 16 for column in range(K)] for row in range(N)]
zero = [[1 + (row * 3 + group * 5) % 15 for group in range(GROUPS)] for row in range(N)]


def ceil8(count):
    return -(-count // 8)


def word(digits):
    """Eight numbers, that of the lowest bits first; those that are missing are 0."""
    return int("".join("%x" % d for d in reversed((digits + [0] * 8)[:8])), 16)


def eights(numbers, order):
    """Words of eight neighbours; digit i of a word is number order[i] of them."""
    padded = numbers + [0] * (-len(numbers) % 8)
    return [word([padded[at + i] for i in order]) for at in range(0, len(padded), 8)]


PLAIN, EVEN_FIRST = list(range(8)), [0, 2, 4, 6, 1, 3, 5, 7]
columns = [list(column) for column in zip(*weight)]  # [k][n], as layers of PyTorch are packed
groups = [list(group) for group in zip(*zero)]
tables = {
    "vector_gptq": [word([columns[8 * at + i][row] if 8 * at + i < K else 0 for i in range(8)]) for at in range(ceil8(K)) for row in range(N)],
    "vector_gptq_zeros": [w for group in groups for w in eights([z - 1 for z in group], PLAIN)],
    "vector_gptq_v2_zeros": [w for group in groups for w in eights(group, PLAIN)],
    "vector_awq": [w for column in columns for w in eights(column, EVEN_FIRST)],
    "vector_awq_zeros": [w for group in groups for w in eights(group, EVEN_FIRST)],
    "vector_kiln": [w for row in weight for w in (eights(row, EVEN_FIRST) + [0] * 4)[: -(-K // 32) * 4]],
}
print("// Int4 weights [%d, %d] in all layouts, and their zeros: written by suite_vectors.py." % (N, K))
print("// clang-format off")
print("enum { VECTOR_N = %d, VECTOR_K = %d, VECTOR_GROUPS = %d };" % (N, K, GROUPS))
print("static const uint8_t vector_bytes[] = {%s};" % ", ".join(str(q) for row in weight for q in row))
print("static const uint8_t vector_zeros[] = {%s};" % ", ".join(str(z) for row in zero for z in row))
for name, words in tables.items():
    print("static const uint32_t %s[] = {%s};" % (name, ", ".join("0x%08x" % w for w in words)))
print("// clang-format on")
