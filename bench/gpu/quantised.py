#!/usr/bin/env python3
"""Products with quantised weights as CUDA graphs: int4 and int8 with x of 16 bits, int8 with x of int8, GGUF's formats, q, k and v in one launch; beside
PyTorch's product of 16-bit weights. Results are checked first.

    python3 bench/gpu/quantised.py [--kiln build/kiln] [--rounds 7] [--only ROW] [--json FILE]

TBps: bytes of weights and scales; of_limit: their part of what memory gives to a kernel that only reads for long; of_read: of the time of a kernel that
reads so many bytes and does nothing else, as a graph, too. Results: $RESULTS/quantised.json.
"""
import os
import sys

from captured import IS_GPU, READ_LIMIT, ROOT, copies_of, finish, is_wanted, off_by, options, summary, times, torch
import kiln
import kiln.torch as kt
from kiln import _op_table as table
from kiln._abi import KILN_LINEAR_FEW
from kiln.torch._gguf import Call, _TYPES, _row_bytes

SOURCES = ['ops/linear/' + name for name in ('stream.c', 'registers.c', 'few.c', 'rows.c', 'tensor.c', 'decode.h', 'layer.h', 'quantise.c', 'dequantise.c', 'scaled.c')]
SOURCES += ['ops/gguf/' + name for name in ('stream.c', 'few.c', 'sets.h', 'matvec.c', 'tensor.c', 'blocks.h')]
F = torch.nn.functional
gguf_quantise = Call(table.gguf_quantise, 'gguf_quantise', 'x out', 'type')
linear = Call(table.linear, 'quantised_linear', 'x weight scale zero out', 'group kernel')
SIZES = [(8192, 8192), (28672, 8192), (4096, 14336), (11008, 4096), (8192, 28672), (4096, 4096)]  # outputs, inputs
GROUP = 128
TOLERANCE = {4: 2e-2, 8: 2e-2}


def weights(bits, n, k, group, has_zero=False):
    """(weight, scale, zero) of random numbers"""
    groups = k // group if group else 1
    kind, high = (torch.int32, 1 << 31) if bits == 4 else (torch.int8, 128)
    weight = torch.randint(-high, high - 1, (n, k // 8 if bits == 4 else k), device=options.device, dtype=kind)
    scale = (torch.rand((n, groups), device=options.device) + 0.5) * (0.2 if bits == 4 else 0.0125) / k**0.5
    zero = torch.randint(0, 16, (n, groups), device=options.device, dtype=torch.uint8) if has_zero else None
    return weight, scale.half() if group else scale, zero


read_times = {}


def read_time(size):
    """seconds of a kernel that reads so many bytes"""
    if size not in read_times:
        program = kiln.compile(os.path.join(ROOT, 'bench', 'gpu', 'kernels', 'read.c'))
        copies, packs = copies_of(size), size // 16
        all = [torch.zeros(packs * 4, device=options.device, dtype=torch.int32) for _ in range(copies)]
        out = torch.zeros(1, device=options.device, dtype=torch.int32)
        blocks = min(132 * 4, -(-packs // 512)) if IS_GPU else 1
        read_times[size] = times({'kiln': lambda i: program.read_all(all[i], out, packs, grid=blocks)}, copies)['kiln']
    return read_times[size]


def report(results, row, took, size):
    """adds a row: seconds of the candidates and bytes of the weights; 0: the product is what takes the time"""
    ours = took['kiln']
    results[row + '.us'] = ours * 1e6
    line = '%-34s %8.1f us' % (row, ours * 1e6)
    if size:
        results[row + '.TBps'] = size / ours / 1e12
        results[row + '.of_limit'] = size / ours / READ_LIMIT
        results[row + '.of_read'] = read_time(size) / ours
        line += '  %5.2f TB/s  %5.3f of the limit  %5.3f of reading' % (size / ours / 1e12, size / ours / READ_LIMIT, results[row + '.of_read'])
    for name, t in took.items():
        if name != 'kiln':
            results['%s.%s.us' % (row, name)] = t * 1e6
            results['%s.of_%s' % (row, name)] = t / ours
            line += '  %6.3f of %s (%.1f us)' % (t / ours, name, t * 1e6)
    print(line, flush=True)


def stream(x, weight, scale, zero, group):
    """the product by ops/linear/stream.c"""
    out = torch.empty((x.shape[0], weight.shape[0]), device=x.device, dtype=x.dtype)
    linear((x, weight.view(torch.uint32) if weight.dtype == torch.int32 else weight, scale, zero, out), group, KILN_LINEAR_FEW)
    return out


def layers(results):
    """int4 and int8 with few rows of x, by the kernel that is chosen and by stream.c; the number of wrong results"""
    failed = 0
    for n, k in SIZES if IS_GPU else [(64, 256)]:
        for form, bits, group, has_zero in (('int4', 4, GROUP, False), ('int4z', 4, GROUP, True), ('int4g32', 4, 32, False), ('int8', 8, 0, False)):
            if (form in ('int4z', 'int4g32') and (n, k) != SIZES[0] or form == 'int8' and (n, k) not in SIZES[:3]) and IS_GPU:
                continue
            name = '%s.%dx%d' % (form, n, k)
            if not any(is_wanted('%s.m%d' % (name, m)) for m in (1, 2, 4, 8, 16)):
                continue
            size = n * k * bits // 8 + (n * k // group * (3 if has_zero else 2) if group else n * 4)
            copies = copies_of(size)
            all = [weights(bits, n, k, group, has_zero) for _ in range(copies)]
            numbers = kt.dequantise_weights(*all[0], k=k, dtype=torch.float32, group=group)
            wide = [torch.randn((n, k), device=options.device, dtype=torch.bfloat16) for _ in range(2)]
            for m in (1, 2, 4, 8, 16):
                row = '%s.m%d' % (name, m)
                if not is_wanted(row):
                    continue
                for dtype in (torch.float16, torch.bfloat16) if m == 1 and form == 'int4' else (torch.bfloat16,):
                    x = torch.randn((m, k), device=options.device, dtype=dtype)
                    ours = lambda i: kt.quantised_linear(x, *all[i], None, group)
                    off = off_by(ours(0), F.linear(x.float(), numbers))
                    if not off < TOLERANCE[bits]:
                        print('wrong: %s is off by %g' % (row, off))
                        failed += 1
                    first, candidates = ours(0), {'kiln': ours}
                    changed = sum(not torch.equal(first, ours(0)) for _ in range(100 if IS_GPU else 1))
                    if changed:
                        print('wrong: %s: %d of 100 repeats differ' % (row, changed))
                        failed += 1
                    try:
                        streamed = lambda i: stream(x, *all[i], group)
                        off = off_by(streamed(0), F.linear(x.float(), numbers))
                        if not off < TOLERANCE[bits]:
                            print('wrong: %s by stream.c is off by %g' % (row, off))
                            failed += 1
                        candidates['stream'] = streamed
                    except kiln.Error as error:
                        if 'impossible' not in str(error):
                            raise
                    if dtype == torch.bfloat16 and m in (1, 16):
                        candidates['torch'] = lambda i: F.linear(x, wide[i % 2])
                    report(results, row + ('.f16' if dtype == torch.float16 else ''), times(candidates, copies), size)
    return failed


def bytes_times_bytes(results):
    failed = 0
    for n, k in SIZES[:2] if IS_GPU else [(64, 256)]:
        row = 'w8a8.%dx%d.m1' % (n, k)
        if not is_wanted(row):
            continue
        copies = copies_of(n * k)
        all = [weights(8, n, k, 0) for _ in range(copies)]
        x = torch.randn((1, k), device=options.device, dtype=torch.bfloat16)
        ours = lambda i: kt.w8a8_linear(x, all[i][0], all[i][1].view(-1))
        off = off_by(ours(0), F.linear(x.float(), kt.dequantise_weights(*all[0], k=k)))
        if not off < 5e-2:
            print('wrong: %s is off by %g' % (row, off))
            failed += 1
        report(results, row, times({'kiln': ours}, copies), n * k)
    return failed


def many_rows(results):
    """2048 rows of x: int4 and int8 beside our own product of 16-bit weights, and PyTorch's"""
    failed = 0
    m, sizes = (2048, [(4096, 4096), (8192, 8192)]) if IS_GPU else (20, [(64, 256)])
    for n, k in sizes:
        for form, bits, group in (('int4', 4, GROUP), ('int8', 8, 0)):
            row = '%s.%dx%d.m%d' % (form, n, k, m)
            if not is_wanted(row):
                continue
            weight, scale, _ = weights(bits, n, k, group)
            numbers = kt.dequantise_weights(weight, scale, k=k, dtype=torch.float16, group=group)
            x = torch.randn((m, k), device=options.device, dtype=torch.float16)
            ours = lambda i: kt.quantised_linear(x, weight, scale, None, None, group)
            off = off_by(ours(0), F.linear(x, numbers))
            if not off < 2e-2:
                print('wrong: %s is off by %g' % (row, off))
                failed += 1
            report(results, row, times({'kiln': ours, 'f16': lambda i: kt.linear(x, numbers), 'torch': lambda i: F.linear(x, numbers)}, 4), 0)
        row = 'w8a8.%dx%d.m%d' % (n, k, m)
        if is_wanted(row):
            weight, scale, _ = weights(8, n, k, 0)
            x = torch.randn((m, k), device=options.device, dtype=torch.float16)
            numbers = kt.dequantise_weights(weight, scale, k=k, dtype=torch.float16)
            report(results, row, times({'kiln': lambda i: kt.w8a8_linear(x, weight, scale.view(-1)), 'f16': lambda i: kt.linear(x, numbers)}, 4), 0)
    return failed


def projections(results):
    """q, k and v in one launch beside three"""
    sizes = [(4096, 4096, 4096, 4096), (8192, 1024, 1024, 8192), (4096, 1024, 1024, 4096)] if IS_GPU else [(64, 32, 32, 256)]
    for nq, nk, nv, k in sizes:
        for bits, group in ((4, GROUP), (8, 0)):
            for m in (1, 8, 64, 512) if IS_GPU else (1,):
                row = 'qkv.int%d.%dx%d.m%d' % (bits, nq + nk + nv, k, m)
                if not is_wanted(row):
                    continue
                size = (nq + nk + nv) * k * bits // 8
                copies = copies_of(size)
                make = lambda n: kt.QuantisedLinear(*weights(bits, n, k, group), inputs=k, group=group)
                all = [[make(n) for n in (nq, nk, nv)] for _ in range(copies)]
                x = torch.randn((m, k), device=options.device, dtype=torch.bfloat16)
                took = times({'kiln': lambda i: kt.quantised_qkv(x, *all[i]), 'three': lambda i: [layer(x) for layer in all[i]]}, copies)
                report(results, row, took, size if m <= 16 else 0)


def files(results):
    """GGUF's formats"""
    failed = 0
    for n, k in [(14336, 4096), (8192, 8192), (28672, 8192)] if IS_GPU else [(64, 256)]:
        for kind in ('q4_0', 'q8_0', 'q4_k', 'q6_k'):
            for m in (1, 4):
                row = '%s.%dx%d.m%d' % (kind, n, k, m)
                if not is_wanted(row):
                    continue
                width = _row_bytes('gguf_quantise', kind, k)
                copies = copies_of(n * width)
                first = torch.empty((n, width), device=options.device, dtype=torch.uint8)
                gguf_quantise((torch.randn((n, k), device=options.device, dtype=torch.float16) / k**0.5, first), _TYPES[kind])
                all = [first] + [first.clone() for _ in range(copies - 1)]
                x = torch.randn((m, k), device=options.device, dtype=torch.float16)
                ours = lambda i: kt.gguf_linear(x, all[i], kind)
                off = off_by(ours(0), F.linear(x.float(), kt.gguf_dequantise(first, kind, k)))
                if not off < 2e-2:
                    print('wrong: %s is off by %g' % (row, off))
                    failed += 1
                report(results, row, times({'kiln': ours}, copies), n * width)
    return failed


def main():
    results = {}
    failed = layers(results) + files(results) + many_rows(results) + bytes_times_bytes(results)
    projections(results)
    for forms in ('int4', 'int8', 'q4_0', 'q8_0', 'q4_k', 'q6_k'):
        for end in ('of_limit', 'of_read'):
            summary(results, [v for key, v in results.items() if key.startswith(forms + '.') and key.endswith('.' + end)], forms + '.' + end)
    summary(results, [v for key, v in results.items() if key.endswith('.of_three')], 'qkv.of_three')
    return finish('quantised', SOURCES, results, failed)


if __name__ == '__main__':
    sys.exit(main())
