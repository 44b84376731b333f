#!/usr/bin/env python3
"""The ops on the cpu device beside NumPy, in one process on the same arrays.

    python3 bench/ops_cpu.py [--build build] [--rounds 7] [--bytes 256e6] [--json bench/results/ops_cpu.json]

Elementwise ops, norms, softmax and reductions of f32, the cases of `kiln bench --list` with tensors of about --bytes. Rounds alternate between
the two and a copy with memcpy by as many threads as there are cores; the median counts. What that copy moves, bytes read and written, is the
roof: it is measured with each case, as other programs take their share of the memory. NumPy's own functions run on one core. Without NumPy Kiln is measured alone. Needs BUILD/bench/libkilnops.so.
"""
import argparse
import ctypes as C
import datetime
import json
import mmap
import os
import platform
import statistics
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'bench', 'gpu'))
from ops import INPUT, OUTPUT, Library, arguments, kernel_hashes, write_results  # noqa: E402

WANTED = [('elementwise', 'add'), ('elementwise', 'copy'), ('elementwise', 'gelu'), ('elementwise', 'silu_gate'), ('softmax', '16384x4096'),
          ('norm', 'layer'), ('norm', ' rms'), ('reduce', '67108864 sum'), ('reduce', '16384x4096 sum axes 1'), ('reduce', '16384x4096 sum axes 0'),
          ('reduce', ' max '), ('reduce', 'variance')]


def theirs(np, op, case):
    words, axis = case.words(), case.axis
    if op == 'elementwise':
        return {'add': lambda t, out: np.add(t['a'], t['b'], out=out), 'copy': lambda t, out: np.copyto(out, t['a']),
                'silu_gate': lambda t, out: np.multiply(t['a'] / (1 + np.exp(-t['a'])), t['b'], out=out)}.get(words[0])
    if op == 'softmax':
        def softmax(t, out):
            np.exp(t['x'] - t['x'].max(axis, keepdims=True), out=out)
            out /= out.sum(axis, keepdims=True)
        return softmax
    if op == 'norm':
        def norm(t, out):
            x = t['x'] if 'rms' in words else t['x'] - t['x'].mean(axis, keepdims=True)
            np.multiply(x, 1 / np.sqrt((x * x).mean(axis, keepdims=True) + case.alpha), out=out)
            out *= t['weight']
            if 'bias' in words:
                out += t['bias']
        return norm
    axes = tuple(int(n) for n in words[words.index('axes') + 1:])
    return {'sum': lambda t, out: np.copyto(out, t['x'].sum(axes).reshape(out.shape)),
            'max': lambda t, out: np.copyto(out, t['x'].max(axes).reshape(out.shape)),
            'variance': lambda t, out: np.copyto(out, t['x'].var(axes).reshape(out.shape))}[words[0]]


def buffer(size):
    """memory at a multiple of 64 bytes, in large pages where the system has them, as NumPy and Kiln allocate"""
    raw = mmap.mmap(-1, size + 64)
    if hasattr(mmap, 'MADV_HUGEPAGE'):
        raw.madvise(mmap.MADV_HUGEPAGE)
    start = C.addressof(C.c_uint8.from_buffer(raw))
    return raw, (start + 63) // 64 * 64


class Roof:
    def __init__(self, size):
        self.threads = os.cpu_count()
        self.part = size // self.threads // 64 * 64
        self.source, self.target = buffer(size), buffer(size)
        C.memset(self.source[1], 1, size)

    def copy(self, n):
        C.memmove(self.target[1] + n * self.part, self.source[1] + n * self.part, self.part)

    def __call__(self):
        workers = [threading.Thread(target=self.copy, args=(n,)) for n in range(self.threads)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()

    def gbps(self, seconds):
        return 2 * self.part * self.threads / seconds * 1e-9


def fill(np, case, n, address):
    t = case.tensors[n]
    numbers = (C.c_float * t.elements()).from_address(address)
    if np is not None:
        array = np.frombuffer(numbers, dtype=np.float32).reshape(t.shape())
        array[...] = np.random.default_rng(n).uniform(t.low, t.high if t.high > t.low else t.low + 1, t.shape()).astype(np.float32)
        return array
    block = (C.c_float * min(4096, t.elements()))(*[t.low + (t.high - t.low) * (i * 7919 % 4096) / 4096 for i in range(min(4096, t.elements()))])
    for at in range(0, t.elements(), 4096):
        C.memmove(address + 4 * at, block, 4 * min(4096, t.elements() - at))
    return None


def measure(options, np, library, row, roof):
    case = library.case(row, 'f32', options.bytes)
    keep, addresses, arrays = [], [], {}
    for n in range(2 * case.count):
        if not case.is_there(n, False):
            addresses.append(0)
            continue
        raw, address = buffer(case.tensors[n].bytes())
        keep.append(raw)
        addresses.append(address)
        arrays[case.tensors[n].name.decode()] = fill(np, case, n, address) if case.tensors[n].type == b'f32' else None
    run = library.prepare(row, 'f32', options.bytes, addresses, 1)
    result = {'op': row['op'], 'case': case.text.decode(), 'type': 'f32'}
    out = next(n for n in range(case.count) if case.tensors[n].role == OUTPUT)
    sides = {'kiln': lambda: library.call(run, False)}
    function = theirs(np, row['op'], case) if np is not None else None
    sides['kiln']()
    time.sleep(options.wait)  # the C compiler's code replaces the first one
    if function:
        own = np.empty_like(arrays[case.tensors[out].name.decode()])
        function(arrays, own)
        got = arrays[case.tensors[out].name.decode()]
        result['error'] = float(np.max(np.abs(got - own) / (np.abs(own) + 1)))
        sides['numpy'] = lambda: function(arrays, own)
    sides['roof'] = roof
    times = {name: [] for name in sides}
    for _ in range(options.rounds):
        for name, side in sides.items():
            begin = time.perf_counter()
            side()
            times[name].append(time.perf_counter() - begin)
    for name in sides:
        if name != 'roof':
            result[name + '_ms'] = round(statistics.median(times[name]) * 1e3, 3)
    result['gbps'] = round(case.moved(False) / statistics.median(times['kiln']) * 1e-9, 2)
    if 'numpy' in times:
        result['ratio'] = round(result['numpy_ms'] / result['kiln_ms'], 2)
    result['roof_gbps'] = round(roof.gbps(statistics.median(times['roof'])), 2)
    result['percent'] = round(100 * result['gbps'] / result['roof_gbps'], 1)
    library.so.ops_release(run)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', default='build')
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--bytes', type=float, default=256e6)
    parser.add_argument('--wait', type=float, default=2.0)
    parser.add_argument('--json', default='')
    options = parser.parse_args()
    os.chdir(ROOT)
    try:
        import numpy as np
    except ImportError:
        np = None
    listed = json.loads(subprocess.run([f'{options.build}/kiln', 'bench', '--list', '--json'], check=True, stdout=subprocess.PIPE, text=True).stdout)
    library = Library(os.path.abspath(f'{options.build}/bench/libkilnops.so'))
    library.open('cpu', None)
    roof, results, bad = Roof(int(options.bytes)), [], 0
    roof()  # its pages are there
    for op, text in WANTED:
        row = next(r for r in listed if r['op'] == op and text in r['case'] and 'add rms' not in r['case'] and '128x768' not in r['case'])
        result = measure(options, np, library, row, roof)
        print(json.dumps(result), flush=True)
        bad |= result.get('error', 0) > 1e-4
        results.append(result)
    head = {'date': datetime.date.today().isoformat(), 'device': f'{os.cpu_count()} cores, {cpu_name()}', 'numpy': np.__version__ if np is not None else None,
            'command': ' '.join(['python3 bench/ops_cpu.py', *arguments()]), 'roof_gbps': round(statistics.median(r['roof_gbps'] for r in results), 2)}
    print(json.dumps(head))
    if options.json:
        name = lambda r: '_'.join([r['op'], *r['case'].split(' ')])
        found = {f'{name(r)}.{key}': r[key] for r in results for key in ('percent', 'ratio') if key in r}
        assert len({name(r) for r in results}) == len(results)
        write_results(options.json, head, kernel_hashes({op for op, _ in WANTED}), found, results)
    library.so.ops_close()
    return bad


def cpu_name():
    with open('/proc/cpuinfo') as f:
        names = [line.split(':')[1].strip() for line in f if line.startswith('model name')]
    return names[0] if names else platform.machine()


if __name__ == '__main__':
    sys.exit(main())
