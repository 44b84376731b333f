#!/usr/bin/env python3
"""Attention with one query and a long key cache beside the best of PyTorch's fused SDPA back ends, as CUDA graphs. Results are checked first.

    python3 bench/gpu/decode.py [--kiln build/kiln] [--rounds 7] [--only ROW] [--json FILE]

Results: $RESULTS/attention_decode.json, else in bench/results. TBps: bytes of keys and values.
"""
import sys

from captured import IS_GPU, copies_of, finish, is_wanted, off_by, options, summary, times, torch
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


def main():
    results, failed, ratios, rates = {}, 0, [], []
    for batch, heads, kv_heads, keys, dim, type_name in ROWS:
        row = 'b%d.h%d.%d.s%d.hd%d.%s' % (batch, heads, kv_heads, keys, dim, type_name)
        if not is_wanted(row):
            continue
        if not IS_GPU:
            batch, keys = 1, min(keys, 64)
        dtype = {'bf16': torch.bfloat16, 'f16': torch.float16}[type_name]
        size = 2 * batch * kv_heads * keys * dim * 2
        copies = copies_of(size)
        make = lambda *shape: [torch.randn(shape, device=options.device, dtype=dtype) for _ in range(copies)]
        q, k, v = make(batch, heads, 1, dim), make(batch, kv_heads, keys, dim), make(batch, kv_heads, keys, dim)
        ours = lambda n: kt.attention(q[n], k[n], v[n])
        group = heads // kv_heads
        scores = torch.matmul(q[0].view(batch, kv_heads, group, dim).float(), k[0].float().transpose(2, 3)) * dim**-0.5
        want = torch.matmul(torch.softmax(scores, -1), v[0].float()).view(batch, heads, 1, dim)
        off = off_by(ours(0), want)
        if not off < 2e-2:
            print('wrong: %s is off by %g' % (row, off))
            failed += 1
        took = times({'kiln': ours} | {name: theirs(backend, q, k, v) for name, backend in BACKENDS.items()}, copies)
        best = min((t, name) for name, t in took.items() if name != 'kiln')
        results[row + '.us'] = took['kiln'] * 1e6
        results[row + '.TBps'] = size / took['kiln'] / 1e12
        for name, t in took.items():
            if name != 'kiln':
                results['%s.%s.us' % (row, name)] = t * 1e6
        results[row + '.of_best'] = best[0] / took['kiln']
        ratios.append(results[row + '.of_best'])
        if size > LARGE:
            rates.append(results[row + '.TBps'])
        print('%-28s %8.1f us  %5.2f TB/s  %6.3f of %s (%.1f us)' % (row, took['kiln'] * 1e6, size / took['kiln'] / 1e12, best[0] / took['kiln'], best[1], best[0] * 1e6), flush=True)
    summary(results, ratios, 'of_best')
    summary(results, rates, 'large.TBps')
    return finish('attention_decode', SOURCES, results, failed)


if __name__ == '__main__':
    sys.exit(main())
