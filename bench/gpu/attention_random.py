#!/usr/bin/env python3
"""Attention of random shapes, forward and with its gradients, beside the best of PyTorch's SDPA back ends, as CUDA graphs. Results are checked first.

    python3 bench/gpu/attention_random.py [--kiln build/kiln] [--count 40] [--seed 1] [--seconds S] [--json FILE]

Lengths are log-uniform, a third multiples of 64, a third of 8, a third of nothing; heads, batch and head dimension are drawn, too. A row's name says them:
batch, heads, heads of keys, queries, keys, head dimension. The back ends are flash and cuDNN, and the others where neither runs. Several processes compile and
capture (captured.py). Results: $RESULTS/attention_random.json, else in bench/results.
"""
import math
import random
import sys

from captured import IS_GPU, copies_of, finish, graphs, in_turns, in_workers, off_by, options, summary, torch
from torch.nn.attention import SDPBackend, sdpa_kernel
import kiln.torch as kt

SOURCES = ['ops/attention/' + name for name in (
    'forward_sm90.c', 'forward_join.c', 'forward_tiles.h', 'forward_softmax.h', 'forward_mask.h', 'hopper.h', 'backward_sm90.c', 'backward_wide.c', 'backward_tiles.h', 'backward_units.h',
    'backward_produce.h', 'backward_mask.h', 'backward_ends.c', 'forward_mma.c', 'backward_mma.c', 'mma.h', 'mask.h', 'decode.c', 'sizes.h')]  # fmt: skip
BACKENDS = {'flash': SDPBackend.FLASH_ATTENTION, 'cudnn': SDPBackend.CUDNN_ATTENTION, 'efficient': SDPBackend.EFFICIENT_ATTENTION, 'math': SDPBackend.MATH}
torch.cuda.empty_cache = lambda: None  # every capture calls it, and each of a row's ten would free what the next one allocates
MOST_ELEMENTS = 1 << 26  # of the largest tensor
MOST_SCORES = 1 << 33
MATH_SCORES = 1 << 28  # the back end 'math' keeps them
MOST_CALLS = 48  # of a graph: a call with its gradients takes the host long


def draw(rng):
    """batch, heads, kv_heads, queries, keys, head_dim, is_causal, type"""
    while True:
        step = rng.choice((64, 8, 1))
        length = lambda most: max(step, round(math.exp(rng.uniform(math.log(16), math.log(most))) / step) * step)
        dim = rng.choice((32, 64, 64, 64, 96, 128, 128, 128, 128, 192, 256))
        heads = rng.choice((1, 2, 4, 8, 12, 16, 32))
        kv_heads = heads // rng.choice([n for n in (1, 1, 1, 2, 4, 8) if heads % n == 0])
        batch = round(math.exp(rng.uniform(0, math.log(16))))
        queries = length(8192)
        keys = queries if rng.random() < 0.6 else length(8192)
        causal = queries == keys and rng.random() < 0.6
        if batch * heads * max(queries, keys) * dim <= MOST_ELEMENTS and batch * heads * queries * keys <= MOST_SCORES:
            return batch, heads, kv_heads, queries, keys, dim, causal, rng.choice(('bf16', 'f16'))


def rows():
    """all of the command line: name to sizes, is it causal, PyTorch's type"""
    rng, found = random.Random(options.seed), {}
    for _ in range(options.count):
        batch, heads, kv_heads, queries, keys, dim, causal, type_name = draw(rng)
        row = 'b%d.h%d.%d.q%d.k%d.hd%d.%s.%s' % (batch, heads, kv_heads, queries, keys, dim, 'causal' if causal else 'full', type_name)
        if not IS_GPU:
            queries, keys = (min(queries, 24),) * 2 if causal else (min(queries, 24), min(keys, 24))
        found[row] = (batch, heads, kv_heads, queries, keys, dim), causal, {'bf16': torch.bfloat16, 'f16': torch.float16}[type_name]
    return found


def prepare(row):
    (batch, heads, kv_heads, queries, keys, dim), causal, dtype = rows()[row]
    copies = min(copies_of(2 * batch * dim * (2 * heads * queries + 2 * kv_heads * keys)), 4)
    make = lambda h, s: [torch.randn((batch, h, s, dim), device=options.device, dtype=dtype).requires_grad_() for _ in range(copies)]
    q, k, v = make(heads, queries), make(kv_heads, keys), make(kv_heads, keys)
    upstream = torch.randn((batch, heads, queries, dim), device=options.device, dtype=dtype)

    def ours(n):
        return kt.attention(q[n], k[n], v[n], causal)

    def of(backend):
        def call(n):
            with sdpa_kernel([backend]):
                return torch.nn.functional.scaled_dot_product_attention(q[n], k[n], v[n], is_causal=causal, enable_gqa=heads != kv_heads)

        return call

    def gradients(attention, n):
        return torch.autograd.grad(attention(n), (q[n], k[n], v[n]), upstream)

    def without(attention):
        def call(n):
            with torch.no_grad():
                return attention(n)

        return call

    candidates, want = {'kiln': ours}, None
    for name, backend in BACKENDS.items():
        if len(candidates) > 1 and name in ('efficient', 'math') or name == 'math' and batch * heads * queries * keys > MATH_SCORES:
            continue
        try:
            want = (of(backend)(0), *gradients(of(backend), 0))
            candidates[name] = of(backend)
        except RuntimeError:
            continue
    got = (ours(0), *gradients(ours, 0))
    off = max(off_by(x, y) for x, y in zip(got, want)) if want else 0.0
    failed = int(not off < 5e-2)
    if failed:
        print('wrong: %s is off by %g' % (row, off))
    del got, want  # what they keep of the graph belongs to a stream that is not captured
    made = {
        'forward': graphs({name: without(one) for name, one in candidates.items()}, copies, most_calls=MOST_CALLS),
        'both': graphs({name: (lambda n, one=one: gradients(one, n)) for name, one in candidates.items()}, copies, most_calls=MOST_CALLS),
    }
    return lambda: {'failed': failed} | {what: in_turns(calls) for what, calls in made.items()}


def main():
    results, failed, found = {}, 0, rows()
    ratios, measured = {'forward': [], 'both': []}, {}
    for row, took in in_workers(found, prepare, kind=lambda row: row.split('.hd')[1]):
        if not took:
            continue
        measured[row] = took
        failed += took['failed']
        line = '%-44s' % row
        for what in ratios:
            others = [(t, name) for name, t in took.get(what, {}).items() if name != 'kiln']
            if others:
                line += '  %s %7.1f us %6.3f of %-9s' % (what, took[what]['kiln'] * 1e6, min(others)[0] / took[what]['kiln'], min(others)[1])
        print(line, flush=True)
    for row in found:
        for what in ratios:
            times = measured.get(row, {}).get(what, {})
            others = [t for name, t in times.items() if name != 'kiln']
            if others:
                results['%s.%s.us' % (row, what)] = times['kiln'] * 1e6
                results['%s.%s.best.us' % (row, what)] = min(others) * 1e6
                results['%s.%s.of_best' % (row, what)] = min(others) / times['kiln']
                ratios[what].append(min(others) / times['kiln'])
    for what in ratios:
        summary(results, ratios[what], what + '.of_best')
    return finish('attention_random', SOURCES, results, failed)


if __name__ == '__main__':
    sys.exit(main())
