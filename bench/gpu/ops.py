#!/usr/bin/env python3
"""The ops of Kiln beside PyTorch, eager and compiled, in one process on one GPU.

    python3 bench/gpu/ops.py [--build build] [--ops softmax,norm] [--types bf16] [--rounds 7] [--json bench/results/ops.json]
    python3 bench/gpu/ops.py --random 100 --seed 1    ops bound by memory on random sizes and types
    python3 bench/gpu/ops.py --conv --random 16       convolutions of ANCHORS and ResNet-50, and 16 random ones, beside cuDNN
    python3 bench/gpu/ops.py --dry            no GPU and no PyTorch: every case, made small, on the interpreter

The cases are those that `kiln bench --list --json` prints. Both sides work on the same tensors with random numbers: Kiln through
BUILD/bench/libkilnops.so (make BUILD/bench/libkilnops.so), on PyTorch's own stream. A candidate is a CUDA graph of calls that go round
several copies of the tensors, results as well, so that no cache holds them. The GPU is kept busy until the graph is launched: what the
host needs for that is not measured. Rounds alternate between the candidates in shuffled order, and the median counts. An op without a
counterpart in ops_theirs.py is measured alone. Results that differ from PyTorch's by more than the type allows are reported and make the
exit status 1.

torch.compile gets static shapes. So that it does not take minutes, other processes compile all functions and all kernels first (--warm),
and this one finds them in Inductor's cache and in Kiln's. --seconds stops before the next measurement; what was not measured is counted.
--more goes on where a call stopped: it reads the rows of --json, if the kernels, the GPU and PyTorch are the same, measures those that are
missing, and writes all.
"""
import argparse
import ctypes as C
import datetime
import gc
import glob
import hashlib
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time

from ops_theirs import is_channels_last, is_random, returns_view, rounds_every_sum, theirs

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLD_BYTES, MAX_COPIES, CALLS = 512e6, 32, 32
AHEAD_CYCLES = 100_000  # the GPU waits for the host
ROUND_US, MOST_REPLAYS, GRAPH_US, FEWEST_CALLS = 200, 6, 4000, 2  # a round takes that long at least, a graph at most
INPUT, OUTPUT, SCRATCH = range(3)
FIRST = ('elementwise', 'softmax', 'norm', 'reduce', 'copy', 'gather', 'sort', 'scan', 'histogram', 'scatter', 'fuse')  # when time is short
SIZE_OF = {'bool': 1, 'i8': 1, 'u8': 1, 'i16': 2, 'u16': 2, 'i32': 4, 'u32': 4, 'i64': 8, 'u64': 8, 'f16': 2, 'bf16': 2, 'f32': 4, 'f64': 8}


class Tensor(C.Structure):
    _fields_ = [('name', C.c_char * 24), ('type', C.c_char * 8), ('role', C.c_int32), ('rank', C.c_int32), ('is_integer', C.c_int32),
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
                ('alpha', C.c_double), ('beta', C.c_double), ('tensors', Tensor * 13)]

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
        """bytes of all tensors, as src/cli/bench_op.c counts them; forward cannot move fewer"""
        total = 0
        for t in self.tensors[:self.count]:
            if t.role != SCRATCH:
                total += t.bytes() * (2 if is_backward and t.role == INPUT and t.has_gradient else 1)
        return total


class Library:
    def __init__(self, path):
        self.so = C.CDLL(path)
        self.so.ops_error.restype = C.c_char_p
        self.so.ops_case_bytes.restype = C.c_uint64
        if self.so.ops_case_bytes() != C.sizeof(Case):
            raise RuntimeError('class Case is not shim_case of ops_shim.c')
        self.so.ops_open.argtypes = [C.c_char_p, C.c_void_p, C.c_void_p]
        self.so.ops_case.argtypes = [C.c_char_p, C.c_int, C.c_char_p, C.c_double, C.POINTER(Case)]
        self.so.ops_prepare.argtypes = [C.c_char_p, C.c_int, C.c_char_p, C.c_double, C.POINTER(C.c_uint64), C.c_int]
        self.so.ops_prepare.restype = C.c_void_p
        self.so.ops_call.argtypes = [C.c_void_p, C.c_int]
        self.so.ops_release.argtypes = [C.c_void_p]
        self.so.ops_change.argtypes = [C.c_uint32, C.POINTER(C.c_uint64), C.c_int, C.c_uint32, C.c_uint32, C.c_double]
        self.so.ops_change.restype = None

    def check(self, failed):
        if failed:
            raise RuntimeError(self.so.ops_error().decode())

    def open(self, device, stream):
        self.check(self.so.ops_open(device.encode(), None, stream))

    def change(self, row):
        """sizes, option, axis and alpha of a row that are not those of the suite's case"""
        sizes = row.get('sizes', [])
        option, axis, alpha = row.get('option', (0, 0, 0))
        self.so.ops_change(len(sizes), (C.c_uint64 * max(len(sizes), 1))(*sizes), 'option' in row, option, axis, alpha)

    def case(self, row, type_name, most_bytes):
        self.change(row)
        case = Case()
        if self.so.ops_case(row['op'].encode(), row['index'], type_name.encode(), most_bytes, C.byref(case)):
            raise RuntimeError(f"there is no case {row['index']} of {row['op']}")
        return case

    def prepare(self, row, type_name, most_bytes, addresses, is_host):
        self.change(row)
        memory = (C.c_uint64 * len(addresses))(*addresses)
        run = self.so.ops_prepare(row['op'].encode(), row['index'], type_name.encode(), most_bytes, memory, is_host)
        self.check(not run)
        return run

    def call(self, run, is_backward):
        self.check(self.so.ops_call(run, is_backward))


class Torch:
    """tensors of a case on the GPU, candidates as graphs"""

    def __init__(self, torch):
        self.torch = torch
        self.types = {'f16': torch.float16, 'bf16': torch.bfloat16, 'f32': torch.float32, 'f64': torch.float64, 'i8': torch.int8,
                      'u8': torch.uint8, 'i16': torch.int16, 'i32': torch.int32, 'i64': torch.int64, 'bool': torch.bool}
        self.stream = torch.cuda.Stream()
        self.workspaces = {}

    def workspace(self, n, count):
        """calls come one after the other: all copies of a case have the same"""
        if n not in self.workspaces or self.workspaces[n].numel() < count:
            self.workspaces[n] = self.torch.zeros(count, device='cuda', dtype=self.torch.uint8)
        return self.workspaces[n]

    def tensors(self, case, is_backward):
        made = []
        for n in range(2 * case.count):
            if not case.is_there(n, is_backward):
                made.append(None)
                continue
            t = case.tensors[n % case.count]
            if t.role == SCRATCH:
                made.append(self.workspace(n, t.bytes() + 64))
                continue
            low, high = (t.low, t.high) if t.low != 0 or t.high != 0 else (-1, 1)
            if t.name == b'index' and low < 0:  # tests reach one too far at both ends
                low, high = 0, high - 1.5
            x = self.torch.empty(t.shape(), device='cuda', dtype=self.torch.float32)
            x = x.uniform_(low, high) if low < high else x.fill_(low)
            made.append((x.floor().clamp_(max=-(-high // 1) - 1) if t.is_integer and low < high else x).to(self.types[t.type.decode()]))
        return made

    def graph(self, calls):
        torch = self.torch
        calls[0]()  # compiles, warms up
        alone = self.elapsed(calls[-1], 1)
        count = max(FEWEST_CALLS, min(CALLS, int(GRAPH_US / alone)))
        graph, results = torch.cuda.CUDAGraph(), [None] * len(calls)
        with torch.cuda.stream(self.stream):
            # torch.cuda.graph collects garbage first, which takes longer than all that is measured. None may be freed meanwhile.
            gc.disable()
            try:
                graph.capture_begin()
                try:
                    for n in range(count):  # PyTorch makes its results; those of a round are held, so that the next ones lie elsewhere
                        results[n % len(calls)] = calls[n % len(calls)]()
                finally:
                    graph.capture_end()
            finally:
                gc.enable()
        self.elapsed(graph.replay, 1)  # uploads it
        replays = max(1, min(MOST_REPLAYS, int(ROUND_US / self.elapsed(graph.replay, 1))))
        return graph, calls, count, replays  # what the calls hold must live as long as the graph

    def elapsed(self, call, times):
        torch = self.torch
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        with torch.cuda.stream(self.stream):
            torch.cuda._sleep(AHEAD_CYCLES)
            start.record(self.stream)
            for _ in range(times):
                call()
            end.record(self.stream)
        end.synchronize()
        return start.elapsed_time(end) * 1e3

    def time(self, made):
        graph, _, count, replays = made
        return self.elapsed(graph.replay, replays) / (count * replays)


def host_files(files):
    """files of ops/ that the host code among these includes, and what those include: NAME.c of every ops/NAME.h"""
    found, waiting = set(), list(files)
    while waiting:
        text = open(waiting.pop()).read()
        for name in re.findall(r'^#include "(ops/[a-z_/]+)\.h"', text, re.M):
            for file in (name + '.h', name + '.c'):
                if os.path.exists(file) and file not in found:
                    found.add(file)
                    waiting.append(file)
    return {name for name in found if name.endswith('.c')}


def kernel_hashes(ops):
    """of all that decides what the GPU does: the kernels of the ops and what they include, and the host code that chooses and launches"""
    shared = {f'include/kiln/{name}.h' for name in ('activate', 'moved', 'narrow', 'nest', 'overlap', 'pack', 'played', 'rows', 'smooth', 'turns', 'window')}
    own = {file for op in ops for file in glob.glob(f'ops/{op}/*.[ch]') if not re.match(r'(suite|test)', os.path.basename(file))}
    names = sorted(own | shared | host_files(own))
    return {name: hashlib.sha256(open(name, 'rb').read()).hexdigest() for name in names}


def counterparts(torch, case, function, sets, is_backward):
    """calls of a function of PyTorch, one for each set of tensors"""
    inputs = [n for n in range(case.count) if case.tensors[n].role == INPUT]
    calls = []
    for made in sets:
        named = {}
        for n in inputs:
            name = case.tensors[n].name.decode()
            named[name] = made[n] if name != 'part' else named.get('part', []) + [made[n]]
        if not is_backward:
            output = next(n for n in range(case.count) if case.tensors[n].role == OUTPUT)
            named['like'] = made[output].dtype
            calls.append(lambda named=named: function(named))
            continue
        wanted = [case.tensors[n].name.decode() for n in inputs if case.tensors[n].has_gradient]
        named = {k: v.detach().requires_grad_(k in wanted) for k, v in named.items()}
        out = function(named)
        outs = out if isinstance(out, tuple) else (out,)
        given = [made[case.count + n] for n in range(case.count) if case.tensors[n].role == OUTPUT and made[case.count + n] is not None]
        is_last = lambda o, g: g.dim() > 2 and (is_channels_last(case.words()) or (g.dim() == 4 and o.shape != g.shape))
        given = [g.movedim(-1, 1) if is_last(o, g) else g.reshape(o.shape) for o, g in zip(outs, given)]
        leaves = [named[k] for k in wanted]
        calls.append(lambda out=outs[:len(given)], leaves=leaves, given=given:
                     torch.autograd.grad(out, leaves, given, retain_graph=True, allow_unused=True))
    return calls


def measure(options, torch, library, gpu, row, type_name, is_backward):
    case = library.case(row, type_name, 0)
    copies = min(MAX_COPIES, int(COLD_BYTES / max(case.moved(is_backward), 1)) + 1)
    sets = [gpu.tensors(case, is_backward) for _ in range(copies)]
    runs = [library.prepare(row, type_name, 0, [0 if t is None else t.data_ptr() for t in made], 0) for made in sets]
    for run in runs:
        library.call(run, False)  # backward reads what forward wrote
    torch.cuda.synchronize()
    candidates = {'kiln': lambda: [lambda run=run: library.call(run, is_backward) for run in runs]}
    function = theirs(torch, row['op'], case)
    result = {'op': row['op'], 'case': case.text.decode(), 'type': type_name, 'pass': 'backward' if is_backward else 'forward'}
    if function and not (is_backward and returns_view(row['op'], case.words())):
        candidates['eager'] = lambda: counterparts(torch, case, function, sets, is_backward)
        if is_compiled(options, row, is_backward):
            torch._dynamo.reset()
            compiled = torch.compile(function, dynamic=False)
            candidates['compiled'] = lambda: counterparts(torch, case, compiled, sets, is_backward)
        if not is_backward and not is_random(row['op']):
            given = widened(torch, sets[0]) if rounds_every_sum(row['op']) else sets[0]
            result['error'] = compare(torch, case, sets[0], counterparts(torch, case, function, [given], False)[0])
    graphs = {}
    for name, make in candidates.items():
        try:
            graphs[name] = gpu.graph(make())
        except Exception as why:  # a function that cannot be captured, or one that the compiler refuses
            if name == 'kiln':
                raise
            print(f'{row["op"]} {case.text.decode()} {type_name}: {name} is left out: {str(why)[:200]}', file=sys.stderr)
            torch.cuda.synchronize()
    times = {name: [] for name in graphs}
    for _ in range(options.rounds):
        for name in random.sample(sorted(graphs), len(graphs)):
            times[name].append(gpu.time(graphs[name]))
    for name, list_of in times.items():
        result[name + '_us'] = round(statistics.median(list_of), 3)
        result[name + '_spread'] = round((max(list_of) - min(list_of)) / statistics.median(list_of), 4)
    best = [result[name + '_us'] for name in ('eager', 'compiled') if name + '_us' in result]
    if best:
        result['ratio'] = round(min(best) / result['kiln_us'], 3)
    if 'compiled_us' in result:
        result['of_compiled'] = round(result['compiled_us'] / result['kiln_us'], 3)
    if not is_backward:
        result['gbps'] = round(case.moved(False) / result['kiln_us'] * 1e-3, 1)
    if 'flops' in row:
        result['tflops'] = round(row['flops'] * (2 if is_backward else 1) / result['kiln_us'] * 1e-6, 1)
    for run in runs:
        library.so.ops_release(run)
    return result


def is_compiled(options, row, is_backward):
    return row['op'] != 'conv' and not options.eager and not (is_backward and options.eager_backward)


def widened(torch, made):
    return [t.float() if t is not None and t.dtype in (torch.float16, torch.bfloat16) else t for t in made]


def compare(torch, case, made, call):
    """largest difference between Kiln's first output and PyTorch's, over one more than the result"""
    first = next(n for n in range(case.count) if case.tensors[n].role == OUTPUT)
    want = call()
    want = want[0] if isinstance(want, tuple) else want
    if want.dim() > 2 and (is_channels_last(case.words()) or (want.dim() == 4 and tuple(want.shape) != case.tensors[first].shape())):
        want = want.movedim(1, -1)
    want, got = want.double().reshape(-1), made[first].double().reshape(-1)
    if want.numel() != got.numel():
        return None
    error = (got - want).abs() / (want.abs() + 1)
    return error.masked_fill_(got == want, 0).max().item()  # infinite in both


# --- sizes that are no cases
def random_rows(listed, count, seed):
    """ops bound by memory, each with random sizes and one type: a half of them multiples of 8"""
    draw = random.Random(seed)
    wanted = [('elementwise', 'add'), ('elementwise', 'gelu'), ('elementwise', 'silu_gate'), ('elementwise', 'copy'),
              ('softmax', 'axis 1'), ('norm', 'layer'), ('norm', 'rms'), ('reduce', 'sum axes 1'), ('reduce', 'sum axes 0'),
              ('reduce', 'argmax'), ('reduce', 'variance'), ('reduce', 'max'), ('copy', 'order 21'), ('copy', 'order 1324'),
              ('quantise', 'from'), ('fuse', 'ten ops')]
    rows = []
    while len(rows) < count:
        op, text = wanted[len(rows) % len(wanted)]
        row = next(r for r in listed if r['op'] == op and f' {text}' in r['case'] and 'broadcast' not in r['case'])
        step = 8 if draw.random() < 0.5 else 1
        total = 2 ** draw.uniform(12, 26)
        columns = min(2 ** draw.uniform(3, 15), total)
        columns = max(step, int(columns) // step * step)
        lines = max(1, int(total / columns))
        sizes = [lines, columns]
        if '1324' in text:
            middle = 2 ** draw.randint(0, 6)
            sizes = [max(1, int(lines ** 0.3)), max(1, int(lines ** 0.7) // middle), middle, columns]
        elif row['case'].split(' ')[0].count('x') == 0:
            sizes = [lines * columns]
        rows.append(dict(row, sizes=sizes, types=[draw.choice(['f32', 'bf16', 'f16'])], backward=False))
    return rows


# channels, size, outputs, window, stride of ResNet-50's different convolutions; the first is also that of ANCHORS
RESNET = [(128, 28, 128, 3, 1), (3, 224, 64, 7, 2), (64, 56, 64, 1, 1), (64, 56, 64, 3, 1), (64, 56, 256, 1, 1), (256, 56, 64, 1, 1),
          (256, 56, 128, 1, 1), (128, 56, 128, 3, 2), (256, 56, 512, 1, 2), (128, 28, 512, 1, 1), (512, 28, 128, 1, 1), (512, 28, 256, 1, 1),
          (256, 28, 256, 3, 2), (512, 28, 1024, 1, 2), (256, 14, 256, 3, 1), (256, 14, 1024, 1, 1), (1024, 14, 256, 1, 1),
          (1024, 14, 512, 1, 1), (512, 14, 512, 3, 2), (1024, 14, 2048, 1, 2), (512, 7, 512, 3, 1), (512, 7, 2048, 1, 1),
          (2048, 7, 512, 1, 1)]


LAST = 4  # of a convolution's axis: channels last


def conv_row(listed, batch, channels, size, outputs, window, stride, dilation=1, groups=1, space=2, axis=LAST, type_name='f16'):
    row = next(r for r in listed if r['op'] == 'conv')
    reach = dilation * (window - 1)
    pad = reach // 2
    option = groups << 10 | window << 19 | stride << 23 | dilation << 25 | pad << 27 | pad << 29
    places = batch * ((size + 2 * pad - reach - 1) // stride + 1) ** space
    return dict(row, sizes=[batch, channels] + [size] * space, option=(option, axis, outputs), types=[type_name], backward=True,
                flops=2 * places * outputs * channels // groups * window ** space)


def conv_rows(listed, batch):
    return [conv_row(listed, batch, *shape) for shape in RESNET]


def random_conv_rows(listed, count, seed):
    """convolutions of any network: batches, channels, sizes, windows, strides and dilations at random. Of eight, two have groups, one of
    which is depthwise, one reads a picture, one has odd channels, and one is of one dimension; every third is not channels last; one in
    five is bf16, one in five f32"""
    draw = random.Random(seed)
    wide = lambda: draw.choice([8, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512])
    rows = []
    while len(rows) < count:
        kind, axis = len(rows) % 8, LAST if len(rows) % 3 != 2 else 0
        type_name = {1: 'bf16', 3: 'f32'}.get(len(rows) % 5, 'f16')
        batch, size = draw.choice([1, 1, 2, 4, 8, 16, 32, 64]), draw.choice([7, 8, 13, 14, 16, 20, 28, 32, 40, 56, 64, 80, 112])
        window, stride = draw.choice([1, 2, 3, 3, 3, 4, 5, 7]), draw.choice([1, 1, 1, 2, 2, 3])
        dilation = draw.choice([2, 3]) if window == 3 and draw.random() < 0.2 else 1
        channels, outputs, groups, space = wide(), wide(), 1, 2
        if kind == 3:
            outputs = groups = channels = draw.choice([32, 96, 144, 256, 384, 480])
        elif kind == 7:
            groups = draw.choice([2, 4, 8, 32])
            channels = outputs = groups * draw.choice([4, 8, 16, 32, 64])
        elif kind == 5:
            channels = draw.choice([1, 3, 4])
        elif kind == 1:
            channels, outputs = draw.randint(3, 512), draw.randint(3, 512)
        elif kind == 6:
            space, size = 1, size * size
        row = conv_row(listed, batch, channels, size, outputs, window, stride, dilation, groups, space, axis, type_name)
        bytes_of = SIZE_OF[type_name] * batch * size ** space * (channels + outputs)
        if 1e6 < row['flops'] < (1e10 if type_name == 'f32' else 1e11) and bytes_of < 2e8:
            rows.append(dict(row, is_random=True))
    return rows


def jobs_of(rows, options):
    passes = lambda row: (False, True) if row['backward'] and not options.forward else (False,)
    return [(row, type_name, is_backward) for row in rows for type_name in row['types'] for is_backward in passes(row)]


def arguments():
    """those of this process, but for where the results go"""
    given = sys.argv[1:]
    return [a for n, a in enumerate(given) if a not in ('--json', '--more') and (n == 0 or given[n - 1] != '--json')]


def identity(library, job):
    """what a row of the results is told by"""
    row, type_name, is_backward = job
    return row['op'], library.case(row, type_name, 0).text.decode(), type_name, 'backward' if is_backward else 'forward'


def earlier(options, torch, hashes):
    """with --more: the rows that --json has, if nothing has changed since"""
    path = options.json or options.had
    if not options.more or not os.path.exists(path):
        return []
    had = json.load(open(path))
    same = had['kernels'] == hashes and had['device'] == torch.cuda.get_device_name() and had['torch'] == torch.__version__
    return had['rows'] if same else []


# --- torch.compile in other processes
def start_warming(options):
    environment = dict(os.environ, TORCHINDUCTOR_FX_GRAPH_CACHE='1', TORCHINDUCTOR_COMPILE_THREADS='1')
    more = ['--more', '--had', options.json] if options.more else []
    return [subprocess.Popen([sys.executable, os.path.abspath(__file__), *arguments(), *more, '--warm', f'{n}/{options.workers}'], env=environment,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for n in range(options.workers)]


def warm(options, torch, library, gpu, jobs):
    """compiles its share of the functions and calls each once"""
    own, all_of = (int(n) for n in options.warm.split('/'))
    library.open('cuda', gpu.stream.cuda_stream)
    for row, type_name, is_backward in jobs[own::all_of]:
        case = library.case(row, type_name, 0)
        function = theirs(torch, row['op'], case)
        made = gpu.tensors(case, is_backward)
        run = library.prepare(row, type_name, 0, [0 if t is None else t.data_ptr() for t in made], 0)
        library.call(run, False)
        if is_backward:
            library.call(run, True)
        torch.cuda.synchronize()
        library.so.ops_release(run)
        if not function or not is_compiled(options, row, is_backward) or (is_backward and returns_view(row['op'], case.words())):
            continue
        torch._dynamo.reset()
        try:
            counterparts(torch, case, torch.compile(function, dynamic=False), [made], is_backward)[0]()
        except Exception:
            pass  # reported by the process that measures
        torch.cuda.empty_cache()


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
    parser.add_argument('--forward', action='store_true', help='no backward passes')
    parser.add_argument('--eager', action='store_true', help='no torch.compile')
    parser.add_argument('--eager-backward', action='store_true', help='backward passes beside eager PyTorch only')
    parser.add_argument('--random', type=int, default=0, help='so many random sizes')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--pick', default='', help='only those rows of --random, by number, with commas')
    parser.add_argument('--conv', action='store_true')
    parser.add_argument('--batch', type=int, default=32, help='of --conv')
    parser.add_argument('--seconds', type=float, default=600)
    parser.add_argument('--workers', type=int, default=12, help='processes that compile')
    parser.add_argument('--more', action='store_true', help='only what --json lacks; writes all')
    parser.add_argument('--had', default='', help='for the processes that compile: --json of --more')
    parser.add_argument('--warm', default='', help='for these processes: which of how many')
    options = parser.parse_args()
    os.chdir(ROOT)
    begin = time.monotonic()
    listed = json.loads(subprocess.run([f'{options.build}/kiln', 'bench', '--list', '--json'], check=True, stdout=subprocess.PIPE, text=True).stdout)
    rows = [row for row in listed if row['is_bound_by_memory'] and (not options.ops or row['op'] in options.ops.split(','))]
    rows.sort(key=lambda row: FIRST.index(row['op']) if row['op'] in FIRST else len(FIRST))
    for row in rows:
        row['types'] = [t for t in row['types'] if not options.types or t in options.types.split(',')]
    if options.random:
        rows = random_rows(listed, options.random, options.seed)
        rows = [row for n, row in enumerate(rows) if not options.pick or str(n) in options.pick.split(',')]
    if options.conv:
        rows = conv_rows(listed, options.batch) + random_conv_rows(listed, options.random, options.seed)
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
    jobs = jobs_of(rows, options)
    hashes = kernel_hashes({row['op'] for row in rows})
    before = earlier(options, torch, hashes)
    had = {(r['op'], r['case'], r['type'], r['pass']) for r in before}
    jobs = [job for job in jobs if not had or identity(library, job) not in had]
    warmers = start_warming(options) if not options.warm and options.workers else []
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False  # f32 is f32
    torch.cuda.init()
    gpu = Torch(torch)
    with torch.cuda.stream(gpu.stream):
        if options.warm:
            return warm(options, torch, library, gpu, jobs)
        for process in warmers:
            process.wait()
        library.open('cuda', gpu.stream.cuda_stream)
        print(f'compiled after {time.monotonic() - begin:.0f} s', file=sys.stderr)
        results, bad, left = run_jobs(options, torch, library, gpu, jobs, begin)
        results = before + results
    head = {'date': datetime.date.today().isoformat(), 'device': torch.cuda.get_device_name(), 'torch': torch.__version__,
            'command': ' '.join(['python3 bench/gpu/ops.py', *arguments()]),
            'not_measured': left}
    found = sums(results)
    print(json.dumps({k: v for k, v in found.items() if k.startswith(('all.', 'compiled.'))}), 'not measured:', left)
    if options.json:
        write_results(options.json, head, hashes, found, results)
    library.so.ops_close()
    return bad


def run_jobs(options, torch, library, gpu, jobs, begin):
    results, bad = [], 0
    allowed = {'f16': 4e-3, 'bf16': 3e-2, 'f32': 1e-4, 'f64': 1e-10}
    for n, (row, type_name, is_backward) in enumerate(jobs):
        if time.monotonic() - begin > options.seconds:
            return results, bad, len(jobs) - n
        result = measure(options, torch, library, gpu, row, type_name, is_backward)
        result.update({'is_random': True} if row.get('is_random') else {})
        results.append(result)
        print(json.dumps(result), flush=True)
        if result.get('error') is not None and row['op'] != 'scan' and not result['error'] <= allowed.get(type_name, 0):
            print(f'{row["op"]} {result["case"]}: the result is not PyTorch\'s', file=sys.stderr)
            bad = 1
        gc.collect()  # tensors that graphs and compiled functions held
        if n == 0:
            gc.freeze()  # modules, once they are there
        torch.cuda.empty_cache()
    return results, bad, 0


def sums(results):
    """of all, of each op and of each pass: geometric mean and worst of the ratios, the time of the faster of PyTorch's over Kiln's;
    under compiled. that of torch.compile alone, under random. random convolutions"""
    groups = {'all': [r['ratio'] for r in results if 'ratio' in r]}
    for r in results:
        if 'ratio' in r:
            groups.setdefault(r['op'], []).append(r['ratio'])
            groups.setdefault(('random.' if r.get('is_random') else '') + r['pass'], []).append(r['ratio'])
        if 'of_compiled' in r:
            groups.setdefault('compiled.' + r['pass'], []).append(r['of_compiled'])
    found = {}
    for name, ratios in groups.items():
        if ratios:
            found.update({f'{name}.count': len(ratios), f'{name}.geometric_mean': round(statistics.geometric_mean(ratios), 3),
                          f'{name}.worst': min(ratios), f'{name}.below_0.9': sum(r < 0.9 for r in ratios)})
    return found


def write_results(path, head, hashes, found, results):
    lines = lambda table: ',\n'.join(f'{json.dumps(k)}: {json.dumps(v)}' for k, v in table.items())
    with open(path, 'w') as f:
        f.write('{\n' + ''.join(f'{json.dumps(k)}: {json.dumps(v)},\n' for k, v in head.items()))
        f.write('"kernels": {\n' + lines(hashes) + '\n},\n"results": {\n' + lines(found) + '\n},\n')
        f.write('"rows": [\n' + ',\n'.join(json.dumps(r) for r in results) + '\n]\n}\n')


if __name__ == '__main__':
    sys.exit(main())
