"""What attention.py and attention_backward.py share: the driver, loading PTX, timing candidates in shuffled order, and the result
file. Importing it ends the program with 77 where there is no PyTorch or no Hopper GPU.
"""
import argparse
import concurrent.futures
import copy
import ctypes as C
import datetime
import fnmatch
import hashlib
import importlib
import importlib.util
import json
import math
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.chdir(ROOT)

try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError:
    print('attention: no PyTorch here')
    sys.exit(77)
if not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9:
    print('attention: no Hopper GPU here')
    sys.exit(77)

cu = C.CDLL('libcuda.so.1')
TYPES = {'bf16': (torch.bfloat16, 9), 'f16': (torch.float16, 6)}
LENGTHS = (1024, 4096, 16384)  # of 16k tokens and 2048 columns in all


def ck(r, what=''):
    if r:
        s = C.c_char_p()
        cu.cuGetErrorName(r, C.byref(s))
        raise RuntimeError(f'{what}: {r} {s.value}')


class Steps(C.Structure):  # hopper.h; dense kernels read no steps and no strides
    _fields_ = [(n, C.c_uint32) for n in ('head', 'batch')]


class Strides(C.Structure):  # hopper.h
    _fields_ = [(n, C.c_uint64) for n in ('batch', 'head', 'row')]


def checked(ptx, kernel, sizes):
    """the PTX, whose kernel's parameters that are structs have these sizes in bytes: the script's are the kernel's"""
    found = [int(n) for n in re.findall(r'\[(\d+)\]', ptx.split(f'.entry {kernel}(')[1].split(')')[0])]
    if found != sizes:
        raise RuntimeError(f'{kernel}: structs of {found} bytes are passed as {sizes}')
    return ptx


def show(options, source, defines=(), tunes=()):
    """the PTX of a kernel of ours"""
    command = [options.kiln, 'show', source, '--stage', 'ptx', '--target', 'sm_90a']
    for flag, words in (('-D', defines), ('--tune', tunes)):
        for word in words:
            command += [flag, word]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def assemble(ptx):
    """machine code by ptxas; many at once, while the driver takes one after the other"""
    with tempfile.TemporaryDirectory() as folder:
        source, out = (os.path.join(folder, name) for name in ('x.ptx', 'x.cubin'))
        with open(source, 'w') as f:
            f.write(ptx)
        done = subprocess.run(['ptxas', '-arch=sm_90a', '-v', '-o', out, source], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        if 'C75' in done.stderr or ' 0 bytes spill stores' not in done.stderr:
            print(done.stderr)
        with open(out, 'rb') as f:
            return f.read()


def tree_before(options, script, **sources):
    """the script of another tree, with its own kernels, and options for it: what its kernels look like is in its script. Sources: the
    script's names for its files"""
    def from_there(name, file):
        spec = importlib.util.spec_from_file_location(name, os.path.join(options.before, 'bench', 'gpu', file + '.py'))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    here, own = os.getcwd(), sys.modules['attention_common']
    try:  # the script takes what the scripts of its own tree share
        sys.modules['attention_common'] = from_there('before_common', 'attention_common')
        module = from_there('before_' + script, script)
    finally:
        sys.modules['attention_common'] = own
        os.chdir(here)
    for name, path in sources.items():
        setattr(module, name, os.path.join(options.before, path))
    there = copy.copy(options)
    there.kiln = os.path.join(options.before, 'build', 'kiln')
    return module, there


def prepare_images(options, jobs):
    """jobs: functions that return PTX; what load() takes for each"""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map((lambda job: assemble(job())) if options.ptxas else (lambda job: job()), jobs))


def load(image, name, smem):
    n = 65536
    info, err = C.create_string_buffer(n), C.create_string_buffer(n)
    keys = (C.c_int * 5)(3, 4, 5, 6, 12)
    vals = (C.c_void_p * 5)(C.addressof(info), n, C.addressof(err), n, 1)
    mod, fn = C.c_void_p(), C.c_void_p()
    if isinstance(image, str):
        image = image.encode() + b'\0'
    if cu.cuModuleLoadDataEx(C.byref(mod), image, 5, keys, vals):
        raise RuntimeError(err.value.decode())
    if b'C75' in info.value:
        print(info.value.decode())
    ck(cu.cuModuleGetFunction(C.byref(fn), mod, name))
    ck(cu.cuFuncSetAttribute(fn, 8, smem), 'shared memory')
    return fn


def tensor_map(t, rows):
    heads, s, d = t.shape
    raw = (C.c_char * 192)()
    a = (C.addressof(raw) + 63) & ~63
    code = next(code for dtype, code in TYPES.values() if dtype == t.dtype)
    ck(cu.cuTensorMapEncodeTiled(C.c_void_p(a), code, 3, C.c_void_p(t.data_ptr()), (C.c_uint64 * 3)(d, s, heads),
                                 (C.c_uint64 * 2)(d * 2, s * d * 2), (C.c_uint32 * 3)(64, rows, 1), (C.c_uint32 * 3)(1, 1, 1),
                                 0, 3, 3, 0), 'tensor map')
    m = (C.c_char * 128)()
    C.memmove(m, a, 128)
    return m


def balanced_grid(units, per_head=1, is_ragged=False):
    """as blocks_for in ops/attention/attention.c"""
    resident = torch.cuda.get_device_properties(0).multi_processor_count
    rounds = -(-units // resident)
    least = -(-units // rounds)
    coprime = [n for n in range(least, resident + 1) if math.gcd(n, per_head) == 1] if is_ragged and rounds > 1 else []
    return max(coprime, default=least)


def timed(f, n):
    e0, e1 = torch.cuda.Event(True), torch.cuda.Event(True)
    for _ in range(n):
        f()
    e0.record()
    for _ in range(n):
        f()
    e1.record()
    torch.cuda.synchronize()
    return e0.elapsed_time(e1) / n


def middle(values):
    return sorted(values)[len(values) // 2]


def in_turns(candidates, rounds, n):
    """milliseconds of each candidate, one for each round; the order of a round is shuffled"""
    times = {c: [] for c in candidates}
    for _ in range(rounds):
        for c in random.sample(list(candidates), len(candidates)):
            times[c].append(timed(candidates[c], n))
    return times


def record(results, row, flop, cudnn, ours, others):
    """adds a row; times in milliseconds of each round, None: not measured. Others: those of 'twin' and 'before'.
    A ratio is the middle one of those within a round: the clock moves from round to round more than kernels differ"""
    results[f'{row}.cudnn.TFLOPS'] = flop / middle(cudnn) / 1e9
    if ours:
        results[f'{row}.TFLOPS'] = flop / middle(ours) / 1e9
        for name, times in {'cudnn': cudnn, **others}.items():
            if times:
                results[f'{row}.of_{name}'] = middle([theirs / our for theirs, our in zip(times, ours)])


def row_name(hd, causal, type_name, s):
    return f'hd{hd}.{"causal" if causal else "full"}.{type_name}.{s}'


def lengths_of(options, hd, causal, type_name):
    """the lengths whose rows --rows selects"""
    return [s for s in LENGTHS if any(fnmatch.fnmatch(row_name(hd, causal, type_name, s), p) for p in options.rows.split(','))]


def parse(rounds, twin_module, add_options=lambda parser: None):
    """the command line; options.twin becomes the twin's generator, or None"""
    parser = argparse.ArgumentParser()
    parser.add_argument('--kiln', default='build/kiln')
    parser.add_argument('--twin', default=os.path.join(ROOT, '..', 'shared', 'hopper'))
    parser.add_argument('--before', metavar='TREE', type=os.path.abspath, help='a built tree of Kiln, whose kernels run beside ours')
    parser.add_argument('--rows', default='*', help='patterns with commas between: hd64.full.bf16.1024,hd128.*')
    parser.add_argument('--ptxas', action='store_true', help='assemble with ptxas, many at once, instead of by the driver')
    parser.add_argument('--rounds', type=int, default=rounds)
    parser.add_argument('--json', help='write the results there')
    add_options(parser)
    options = parser.parse_args()
    options.ptxas = options.ptxas and shutil.which('ptxas') is not None
    try:
        sys.path.insert(0, options.twin)
        module, function = twin_module
        options.twin = getattr(importlib.import_module(module), function)
    except ImportError:
        options.twin = None
    torch.manual_seed(0)
    torch.zeros(1, device='cuda')
    return options


def driver_text():
    """what the kernel module says of itself; empty: it does not"""
    try:
        with open('/proc/driver/nvidia/version') as f:
            return ' '.join(f.readline().split(':', 1)[-1].split())
    except OSError:
        return ''


def finish(bench, options, sources, results, failed, is_complete):
    """writes the result file of a complete run or the one that was asked for; the program's status"""
    failed += int(results.pop('wrong', 0))
    folder = os.environ.get('RESULTS', 'bench/results')
    path = options.json or (os.path.join(folder, bench + '.json') if is_complete and options.rows == '*' and not failed else None)
    for end in ('of_cudnn', 'of_twin', 'of_before'):
        ratios = [v for k, v in results.items() if k.endswith('.' + end)]
        if ratios:
            results['geomean.' + end] = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(', '.join(f'{k} {v:.4f}' for k, v in results.items() if k.startswith('geomean')))
    driver = C.c_int()
    cu.cuDriverGetVersion(C.byref(driver))
    text = json.dumps({
        'bench': bench, 'command': 'python3 bench/gpu/' + os.path.basename(sys.argv[0]),
        'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ'),
        'machine': f'{platform.system()} {platform.machine()}', 'gpu': torch.cuda.get_device_name(0), 'target': 'sm_90a',
        'driver': driver_text(), 'driver_api': driver.value, 'torch': torch.__version__, 'cudnn': torch.backends.cudnn.version(),
        'kiln': subprocess.run([options.kiln, '--version'], capture_output=True, text=True).stdout.strip(),
        'kernels': {name: hashlib.sha256(open(name, 'rb').read()).hexdigest() for name in sources},
        'results': {k: float(f'{v:.6g}') for k, v in results.items()},
    }, indent=0)
    if path and results:
        with open(path, 'w') as f:
            f.write(text + '\n')
    print(f'{bench}: {failed} failed')
    return failed != 0
