#!/usr/bin/env python3
"""Attention with one query and a long key cache beside the best of PyTorch's fused SDPA back ends, as CUDA graphs. Results are checked first.

    python3 bench/gpu/decode.py [--kiln build/kiln] [--rounds 7] [--only ROW] [--json FILE]

Results: $RESULTS/attention_decode.json, else in bench/results. TBps: bytes of keys and values.
"""
import sys

from captured import IS_GPU, copies_of, finish, graphs, in_turns, in_workers, off_by, options, summary, torch
from torch.nn.attention import SDPBackend, sdpa_kernel
import kiln.torch as kt

SOURCES = ['ops/attention/decode.c', 'ops/attention/mask.h', 'ops/attention/sizes.h']
BACKENDS = {'flash': SDPBackend.FLASH_ATTENTION, 'cudnn': SDPBackend.CUDNN_ATTENTION, 'efficient': SDPBackend.EFFICIENT_ATTENTION}
# batch, heads, kv_heads, keys, head_dim, type
ROWS = [(1, 32, 8, 8192, 128, 'bf16'), (16, 32, 8, 8192, 128, 'bf16'), (16, 32, 8, 32768, 128, 'bf16'), (1, 32, 8, 1024, 128, 'bf16'), (1, 32, 8, 65536, 128, 'bf16'),
        (3, 32, 8, 5000, 128, 'bf16'), (8, 32, 8, 4096, 128, 'f16'), (64, 32, 8, 2048, 128, 'bf16'), (1, 64, 8, 16384, 128, 'bf16'), (5, 32, 8, 16384, 128, 'bf16'),
        (4, 32, 32, 8192, 128, 'bf16'), (1, 32, 32, 4096, 128, 'bf16'), (16, 32, 8, 8192, 64, 'bf16'), (2, 16, 2, 16384, 256, 'bf16'), (16, 16, 16, 2048, 96, 'f16'), (128, 8, 1, 4096, 128, 'bf16')]  # fmt: skip
LARGE = 100e6  # bytes of a cache that no cache of the GPU holds


def theirs(backend, q, k, v):
    def call(n):
        with sdpa_kernel([backend]):
            return torch.nn.functional.scaled_dot_product_attention(q[n], k[n], v[n], enable_gqa=q[n].shape[1] != k[n].shape[1])

    return call


def shape(row):
    """batch, heads, kv_heads, keys, head_dim of a row"""
    batch, heads, kv_heads, keys, dim = (int(word.lstrip('bhsd')) for word in row.split('.')[:5])
    return batch, heads, kv_heads, keys, dim


def cache_bytes(row):
    batch, _, kv_heads, keys, dim = shape(row)
    return 2 * batch * kv_heads * keys * dim * 2


def prepare(row):
    batch, heads, kv_heads, keys, dim = shape(row)
    copies = copies_of(cache_bytes(row))
    if not IS_GPU:
        batch, keys = 1, min(keys, 64)
    dtype = {'bf16': torch.bfloat16, 'f16': torch.float16}[row.split('.')[-1]]
    make = lambda *shape: [torch.randn(shape, device=options.device, dtype=dtype) for _ in range(copies)]
    q, k, v = make(batch, heads, 1, dim), make(batch, kv_heads, keys, dim), make(batch, kv_heads, keys, dim)
    ours = lambda n: kt.attention(q[n], k[n], v[n])
    group = heads // kv_heads
    scores = torch.matmul(q[0].view(batch, kv_heads, group, dim).float(), k[0].float().transpose(2, 3)) * dim**-0.5
    want = torch.matmul(torch.softmax(scores, -1), v[0].float()).view(batch, heads, 1, dim)
    off = off_by(ours(0), want)
    if not off < 2e-2:
        print('wrong: %s is off by %g' % (row, off))
    made = graphs({'kiln': ours} | {name: theirs(backend, q, k, v) for name, backend in BACKENDS.items()}, copies)
    return lambda: {'failed': int(not off < 2e-2)} | in_turns(made)


def main():
    results, failed, ratios, rates, measured = {}, 0, [], [], {}
    names = ['b%d.h%d.%d.s%d.hd%d.%s' % row for row in ROWS]
    for row, took in in_workers(names, prepare, 8):
        if not took:
            continue
        failed += took.pop('failed')
        measured[row] = took
        if 'kiln' in took:
            best = min((t, name) for name, t in took.items() if name != 'kiln')
            ours = took['kiln']
            print('%-28s %8.1f us  %5.2f TB/s  %6.3f of %s (%.1f us)' % (row, ours * 1e6, cache_bytes(row) / ours / 1e12, best[0] / ours, best[1], best[0] * 1e6), flush=True)
    for row in names:
        took = measured.get(row, {})
        if 'kiln' not in took:
            continue
        results[row + '.us'] = took['kiln'] * 1e6
        results[row + '.TBps'] = cache_bytes(row) / took['kiln'] / 1e12
        for name in took:
            if name != 'kiln':
                results['%s.%s.us' % (row, name)] = took[name] * 1e6
        results[row + '.of_best'] = min(t for name, t in took.items() if name != 'kiln') / took['kiln']
        ratios.append(results[row + '.of_best'])
        if cache_bytes(row) > LARGE:
            rates.append(results[row + '.TBps'])
    summary(results, ratios, 'of_best')
    summary(results, rates, 'large.TBps')
    return finish('attention_decode', SOURCES, results, failed)


if __name__ == '__main__':
    sys.exit(main())
