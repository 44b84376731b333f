#!/usr/bin/env python3
"""The ops of Kiln beside PyTorch, eager and compiled, in one process on one GPU.

    python3 bench/gpu/ops.py [--build build] [--ops softmax,norm] [--types bf16] [--rounds 7] [--json bench/results/ops.json]
    python3 bench/gpu/ops.py --dry            no GPU and no PyTorch: every case, made small, on the interpreter

The cases are those that `kiln bench --list --json` prints. Both sides work on the same tensors with random numbers: Kiln through
BUILD/bench/libkilnops.so (make BUILD/bench/libkilnops.so), on PyTorch's own stream. A candidate is a CUDA graph of calls that go round
several copies of the tensors, so that no cache holds them; rounds alternate between the candidates in shuffled order, and the median
counts. An op without a counterpart in `theirs` below is measured alone. Results that differ from PyTorch's by more than the type allows
are reported and make the exit status 1.
"""
import argparse
import ctypes as C
import datetime
import glob
import hashlib
import json
import os
import random
import re
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLD_BYTES, MAX_COPIES, CALLS = 512e6, 32, 32
INPUT, OUTPUT, SCRATCH = range(3)
SIZE_OF = {'bool': 1, 'i8': 1, 'u8': 1, 'i16': 2, 'u16': 2, 'i32': 4, 'u32': 4, 'i64': 8, 'u64': 8, 'f16': 2, 'bf16': 2, 'f32': 4, 'f64': 8}


class Tensor(C.Structure):
    _fields_ = [('name', C.c_char * 16), ('type', C.c_char * 8), ('role', C.c_int32), ('rank', C.c_int32), ('is_integer', C.c_int32),
                ('has_gradient', C.c_int32), ('is_constant', C.c_int32), ('unused', C.c_int32), ('sizes', C.c_uint64 * 8),
                ('low', C.c_double), ('high', C.c_double)]

    def shape(self):
        return tuple(self.sizes[:self.rank])

    def elements(self):
        n = 1
        for size in self.shape():
            n *= size
        return n

    def bytes(self):
        return self.elements() * SIZE_OF[self.type.decode()]


class Case(C.Structure):
    _fields_ = [('text', C.c_char * 96), ('axis', C.c_int32), ('option', C.c_int32), ('count', C.c_int32), ('has_backward', C.c_int32),
                ('alpha', C.c_double), ('beta', C.c_double), ('tensors', Tensor * 12)]

    def words(self):
        """what follows the sizes in its description"""
        return self.text.decode().split(' ')[1:]

    def is_there(self, n, is_backward):
        """has slot n (a tensor, or count + its number: its gradient) memory?"""
        t = self.tensors[n % self.count]
        if n < self.count:
            return True
        return is_backward and t.role != SCRATCH and not t.is_constant and (t.role == OUTPUT or bool(t.has_gradient))

    def moved(self, is_backward):
        """bytes that cannot be avoided, as src/cli/bench_op.c counts them"""
        total = 0
        for t in self.tensors[:self.count]:
            if t.role != SCRATCH:
                total += t.bytes() * (2 if is_backward and t.role == INPUT and t.has_gradient else 1)
        return total


class Library:
    def __init__(self, path):
        self.so = C.CDLL(path)
        self.so.ops_error.restype = C.c_char_p
        self.so.ops_open.argtypes = [C.c_char_p, C.c_void_p, C.c_void_p]
        self.so.ops_case.argtypes = [C.c_char_p, C.c_int, C.c_char_p, C.c_double, C.POINTER(Case)]
        self.so.ops_prepare.argtypes = [C.c_char_p, C.c_int, C.c_char_p, C.c_double, C.POINTER(C.c_uint64), C.c_int]
        self.so.ops_prepare.restype = C.c_void_p
        self.so.ops_call.argtypes = [C.c_void_p, C.c_int]
        self.so.ops_release.argtypes = [C.c_void_p]

    def check(self, failed):
        if failed:
            raise RuntimeError(self.so.ops_error().decode())

    def open(self, device, stream):
        self.check(self.so.ops_open(device.encode(), None, stream))

    def case(self, row, type_name, most_bytes):
        case = Case()
        if self.so.ops_case(row['op'].encode(), row['index'], type_name.encode(), most_bytes, C.byref(case)):
            raise RuntimeError(f"there is no case {row['index']} of {row['op']}")
        return case

    def prepare(self, row, type_name, most_bytes, addresses, is_host):
        memory = (C.c_uint64 * len(addresses))(*addresses)
        run = self.so.ops_prepare(row['op'].encode(), row['index'], type_name.encode(), most_bytes, memory, is_host)
        self.check(not run)
        return run

    def call(self, run, is_backward):
        self.check(self.so.ops_call(run, is_backward))


# --- PyTorch's side: a function of a case and its tensors by name that returns the output; None: there is none
def theirs(torch, op, case):
    F = torch.nn.functional
    words = case.words()
    axis = case.axis
    if op == 'elementwise':
        table = {'add': lambda t: t['a'] + t['b'], 'mul': lambda t: t['a'] * t['b'], 'gelu': lambda t: F.gelu(t['a']),
                 'silu': lambda t: F.silu(t['a']), 'relu': lambda t: F.relu(t['a']), 'copy': lambda t: t['a'].clone(),
                 'silu_gate': lambda t: F.silu(t['a']) * t['b'], 'gelu_gate': lambda t: F.gelu(t['a']) * t['b'],
                 'exp': lambda t: t['a'].exp(), 'tanh': lambda t: t['a'].tanh()}
        return table.get(words[0])
    if op == 'softmax':
        return (lambda t: F.log_softmax(t['x'], axis)) if 'log' in words else (lambda t: F.softmax(t['x'], axis))
    if op == 'norm' and axis == case.tensors[0].rank - 1:
        sizes, eps = (case.tensors[0].shape()[axis],), case.alpha
        weight = (lambda t: t['weight']) if 'weight' in words else (lambda t: None)
        bias = (lambda t: t['bias']) if 'bias' in words else (lambda t: None)
        if 'rms' in words:
            return None if 'bias' in words else lambda t: F.rms_norm(t['x'], sizes, weight(t), eps)
        return lambda t: F.layer_norm(t['x'], sizes, weight(t), bias(t), eps)
    if op == 'reduce' and 'axes' in words:
        axes = [int(n) for n in re.findall(r'\d+', ' '.join(words[words.index('axes') + 1:]))]
        table = {'sum': lambda t: t['x'].sum(axes), 'mean': lambda t: t['x'].mean(axes), 'max': lambda t: t['x'].amax(axes),
                 'min': lambda t: t['x'].amin(axes), 'argmax': lambda t: t['x'].argmax(axes[0]),
                 'variance': lambda t: t['x'].var(axes, correction=0)}
        return table.get(words[0])
    if op == 'scan' and words[0] == 'sum':
        return lambda t: t['x'].cumsum(axis, dtype=t['x'].dtype)
    if op == 'copy' and words[0] == 'order':
        order = [int(c) - 1 for c in words[1]]
        return lambda t: t[next(iter(t))].permute(order).contiguous()
    return None


class Torch:
    """tensors of a case on the GPU, candidates as graphs"""

    def __init__(self, torch):
        self.torch = torch
        self.types = {'f16': torch.float16, 'bf16': torch.bfloat16, 'f32': torch.float32, 'f64': torch.float64, 'i8': torch.int8,
                      'u8': torch.uint8, 'i32': torch.int32, 'i64': torch.int64, 'bool': torch.bool}
        self.stream = torch.cuda.Stream()

    def tensors(self, case, is_backward):
        made = []
        for n in range(2 * case.count):
            if not case.is_there(n, is_backward):
                made.append(None)
                continue
            t = case.tensors[n % case.count]
            x = self.torch.empty(t.shape(), device='cuda', dtype=self.torch.float32).uniform_(t.low, t.high) if t.low < t.high else \
                self.torch.empty(t.shape(), device='cuda', dtype=self.torch.float32).uniform_(-1, 1)
            made.append((x.floor() if t.is_integer else x).to(self.types[t.type.decode()]))
        return made

    def graph(self, calls):
        torch = self.torch
        for call in calls[:2]:  # compiles, warms up
            call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            for n in range(CALLS):
                calls[n % len(calls)]()
        return graph

    def time(self, graph):
        torch = self.torch
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record(self.stream)
        with torch.cuda.stream(self.stream):
            graph.replay()
        end.record(self.stream)
        end.synchronize()
        return start.elapsed_time(end) * 1e3 / CALLS


def kernel_hashes(ops):
    names = sorted({file for op in ops for file in glob.glob(f'ops/{op}/*.[ch]') + glob.glob('ops/*.c')
                    if not re.match(r'(suite|test)', os.path.basename(file))})
    return {name: hashlib.sha256(open(name, 'rb').read()).hexdigest() for name in names}


def measure(options, torch, library, gpu, row, type_name, is_backward):
    case = library.case(row, type_name, 0)
    copies = min(MAX_COPIES, int(COLD_BYTES / max(case.moved(is_backward), 1)) + 1)
    sets = [gpu.tensors(case, is_backward) for _ in range(copies)]
    runs = [library.prepare(row, type_name, 0, [0 if t is None else t.data_ptr() for t in made], 0) for made in sets]
    for run in runs:
        library.call(run, False)  # backward reads what forward wrote
    torch.cuda.synchronize()
    candidates = {'kiln': [lambda run=run: library.call(run, is_backward) for run in runs]}
    function = theirs(torch, row['op'], case)
    if function:
        inputs = [n for n in range(case.count) if case.tensors[n].role == INPUT]
        for name, f in (('eager', function), ('compiled', torch.compile(function, dynamic=False))):
            calls = []
            for made in sets:
                named = {case.tensors[n].name.decode(): made[n] for n in inputs}
                if not is_backward:
                    calls.append(lambda f=f, named=named: f(named))
                    continue
                wanted = [case.tensors[n].name.decode() for n in inputs if case.tensors[n].has_gradient]
                named = {k: v.detach().requires_grad_(k in wanted) for k, v in named.items()}
                out = f(named)
                given = next(made[case.count + n] for n in range(case.count) if case.tensors[n].role == OUTPUT)
                leaves = [named[k] for k in wanted if named[k].requires_grad]
                calls.append(lambda out=out, leaves=leaves, given=given:
                             torch.autograd.grad(out, leaves, given.reshape(out.shape), retain_graph=True, allow_unused=True))
            candidates[name] = calls
    result = {'op': row['op'], 'case': case.text.decode(), 'type': type_name, 'pass': 'backward' if is_backward else 'forward'}
    if function and not is_backward:
        result['error'] = compare(torch, case, sets[0], function)
    graphs = {}
    for name, calls in candidates.items():
        try:
            graphs[name] = gpu.graph(calls)
        except RuntimeError as why:
            print(f'{row["op"]} {case.text.decode()} {type_name}: {name} is left out: {why}', file=sys.stderr)
    times = {name: [] for name in graphs}
    for _ in range(options.rounds):
        for name in random.sample(sorted(graphs), len(graphs)):
            times[name].append(gpu.time(graphs[name]))
    for name, list_of in times.items():
        result[name + '_us'] = round(statistics.median(list_of), 3)
        result[name + '_spread'] = round((max(list_of) - min(list_of)) / statistics.median(list_of), 4)
    result['gbps'] = round(case.moved(is_backward) / result['kiln_us'] * 1e-3, 1)
    for run in runs:
        library.so.ops_release(run)
    return result


def compare(torch, case, made, function):
    """largest difference between Kiln's first output and PyTorch's, over one more than the result"""
    first = next(n for n in range(case.count) if case.tensors[n].role == OUTPUT)
    named = {case.tensors[n].name.decode(): made[n] for n in range(case.count) if case.tensors[n].role == INPUT}
    want = function(named).double().reshape(-1)
    got = made[first].double().reshape(-1)
    if want.numel() != got.numel():
        return None
    return ((got - want).abs() / (want.abs() + 1)).max().item()


def dry(options, library, rows):
    """every case, made small, on the interpreter, over memory of this process"""
    library.open('interp', None)
    done = 0
    for row in rows:
        for type_name in row['types']:
            for is_backward in (False, True) if row['backward'] else (False,):
                case = library.case(row, type_name, 2e4)
                memory = [(C.c_uint8 * (case.tensors[n % case.count].bytes() + 1))() if case.is_there(n, is_backward) else None
                          for n in range(2 * case.count)]
                addresses = [0 if m is None else C.addressof(m) for m in memory]
                run = library.prepare(row, type_name, 2e4, addresses, 1)
                library.call(run, False)
                if is_backward:
                    library.call(run, True)
                library.check(library.so.ops_sync())
                library.so.ops_release(run)
                assert case.moved(is_backward) > 0 and case.text
                done += 1
    library.so.ops_close()
    print(f'ops.py: {done} passed, 0 failed, 0 skipped')
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', default='build')
    parser.add_argument('--ops', default='', help='only these, with commas')
    parser.add_argument('--types', default='', help='only these, with commas')
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--json', default='')
    parser.add_argument('--dry', action='store_true')
    options = parser.parse_args()
    os.chdir(ROOT)
    listed = json.loads(subprocess.run([f'{options.build}/kiln', 'bench', '--list', '--json'], check=True, stdout=subprocess.PIPE, text=True).stdout)
    rows = [row for row in listed if row['is_bound_by_memory'] and (not options.ops or row['op'] in options.ops.split(','))]
    for row in rows:
        row['types'] = [t for t in row['types'] if not options.types or t in options.types.split(',')]
    library = Library(os.path.abspath(f'{options.build}/bench/libkilnops.so'))
    if options.dry:
        return dry(options, library, rows)
    try:
        import torch
    except ImportError:
        print('ops.py: no PyTorch here')
        return 77
    if not torch.cuda.is_available():
        print('ops.py: no GPU here')
        return 77
    torch.cuda.init()
    gpu = Torch(torch)
    library.open('cuda', gpu.stream.cuda_stream)
    results, bad = [], 0
    allowed = {'f16': 4e-3, 'bf16': 3e-2, 'f32': 1e-4, 'f64': 1e-10}
    with torch.cuda.stream(gpu.stream):
        for row in rows:
            for type_name in row['types']:
                for is_backward in (False, True) if row['backward'] else (False,):
                    result = measure(options, torch, library, gpu, row, type_name, is_backward)
                    results.append(result)
                    print(json.dumps(result), flush=True)
                    if result.get('error') is not None and not result['error'] <= allowed.get(type_name, 0):
                        print(f'{row["op"]}: the result is not PyTorch\'s', file=sys.stderr)
                        bad = 1
                    torch.cuda.empty_cache()
    if options.json:
        head = {'date': datetime.date.today().isoformat(), 'device': torch.cuda.get_device_name(), 'torch': torch.__version__,
                'command': 'python3 bench/gpu/ops.py'}
        with open(options.json, 'w') as f:
            f.write('{\n' + ''.join(f'{json.dumps(k)}: {json.dumps(v)},\n' for k, v in head.items()))
            hashes = kernel_hashes({row['op'] for row in rows})
            f.write('"kernels": {\n' + ',\n'.join(f'{json.dumps(k)}: {json.dumps(v)}' for k, v in hashes.items()) + '\n},\n')
            f.write('"rows": [\n' + ',\n'.join(json.dumps(r) for r in results) + '\n]\n}\n')
    library.so.ops_close()
    return bad


if __name__ == '__main__':
    sys.exit(main())
