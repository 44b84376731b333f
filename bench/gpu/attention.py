#!/usr/bin/env python3
"""Attention forward on a Hopper GPU: ours (ops/attention/forward_sm90.c, compiled by `kiln show`), cuDNN through PyTorch, and the
reference twin's PTX when its generator is found, alternating in random order in one process. Every kernel is checked first, against
float64 and for repeating its bits. Needs torch with CUDA.

    python3 bench/gpu/attention.py [--kiln build/kiln] [--twin FOLDER] [--only hd128] [--tiles all] [--rounds 7] [--json FILE]

Results: $RESULTS/attention_forward.json, else bench/results/… (only of a complete run, unless --json names a file).
"""
import argparse
import ctypes as C
import datetime
import hashlib
import json
import math
import os
import platform
import random
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = 'ops/attention/forward_sm90.c'
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
# (BN, WGS, TURNS): the first is what the library chooses, but for chosen()
TILES = {
    (64, False): [(128, 3, 1), (128, 2, 0), (128, 3, 0)],
    (64, True): [(128, 3, 0), (128, 2, 0)],
    (128, False): [(128, 2, 0), (160, 2, 0), (176, 2, 0)],
    (128, True): [(128, 2, 0), (128, 2, 1)],
    (256, False): [(64, 2, 0), (64, 2, 1)],
    (256, True): [(64, 2, 0), (64, 2, 1)],
}


def chosen(hd, causal, s):
    """as tile_for in ops/attention/attention.c"""
    if hd == 128 and not causal and s >= 8192:
        return 160, 2, 0
    return TILES[hd, causal][0]


def ck(r, what=''):
    if r:
        s = C.c_char_p()
        cu.cuGetErrorName(r, C.byref(s))
        raise RuntimeError(f'{what}: {r} {s.value}')


def load(ptx, name, smem):
    n = 65536
    info, err = C.create_string_buffer(n), C.create_string_buffer(n)
    keys = (C.c_int * 5)(3, 4, 5, 6, 12)
    vals = (C.c_void_p * 5)(C.addressof(info), n, C.addressof(err), n, 1)
    mod, fn = C.c_void_p(), C.c_void_p()
    if cu.cuModuleLoadDataEx(C.byref(mod), ptx.encode() + b'\0', 5, keys, vals):
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


class Shape(C.Structure):  # struct shape of forward_sm90.c
    _fields_ = [(n, C.c_uint32) for n in ('queries', 'keys', 'tiles', 'units_per_head', 'units', 'sharing')] + [('scale', C.c_float)]


class Kernel:
    """one tile of ours or of the twin; tensors are [heads, rows, hd]"""

    def __init__(self, kind, options, hd, causal, tile, type_name='bf16'):
        self.hd, self.causal, self.type_name, self.kind = hd, causal, type_name, kind
        self.bn, self.wgs, turns = tile
        self.label = f'{kind} {64 * self.wgs}x{self.bn}' + (' turns' if turns else '')
        smem = 64 * self.wgs * hd * 2 + 4 * self.bn * hd * 2 + 4 * self.wgs * 2048
        if kind == 'ours':
            command = [options.kiln, 'show', SOURCE, '--stage', 'ptx', '--target', 'sm_90a', '-D', 'TYPE_' + type_name]
            for name, value in (('HD', hd), ('BN', self.bn), ('WGS', self.wgs), ('TURNS', turns), ('CAUSAL', int(causal))):
                command += ['--tune', f'{name}={value}']
            ptx = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            self.smem, name = smem + 80, b'attention'
        else:
            ptx = options.twin(hd, self.bn, causal, self.wgs, bool(turns))
            self.smem, name = smem + 128 + 1024, b'attn'
        self.fn = load(ptx, name, self.smem)

    def prepare(self, q, k, v, o, lse):
        heads, s, hd = q.shape
        tiles = -(-s // (64 * self.wgs))
        per_head = -(-tiles // 2) if self.causal else tiles
        units = heads * per_head
        scale = hd ** -0.5 * math.log2(math.e)
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        grid = -(-units // -(-units // sms))  # balanced waves
        args = [tensor_map(q, 64 * self.wgs), tensor_map(k, self.bn), tensor_map(v, self.bn), C.c_uint64(o.data_ptr()), C.c_uint64(lse.data_ptr())]
        if self.kind == 'ours':
            args.append(Shape(s, k.shape[1], tiles, per_head, units, heads // k.shape[0], scale))
        else:
            args += [C.c_uint32(x) for x in (s, tiles, units, per_head, -(-s // self.bn))] + [C.c_float(scale)]
        arr = (C.c_void_p * len(args))(*[C.addressof(a) for a in args])
        stream = C.c_void_p(torch.cuda.current_stream().cuda_stream)

        def run(keep=(args, q, k, v, o, lse)):
            ck(cu.cuLaunchKernel(self.fn, grid, 1, 1, 128 * (self.wgs + 1), 1, 1, self.smem, stream, arr, None), 'launch')
        return run


def tensors(heads, kv_heads, s, hd, type_name):
    dtype = TYPES[type_name][0]
    q = torch.randn(heads, s, hd, device='cuda', dtype=dtype)
    k, v = (torch.randn(kv_heads, s, hd, device='cuda', dtype=dtype) for _ in range(2))
    return q, k, v, torch.full_like(q, float('nan')), torch.full((heads, s), float('nan'), device='cuda')


def check(kern):
    """worst relative error of the output and absolute error of the logarithm of the sums, against float64; repeats must be equal"""
    worst = 0.0
    for heads, kv_heads, s in ((3, 3, 72), (2, 2, 128), (1, 1, 136), (2, 2, 256), (3, 3, 384), (4, 2, 400), (6, 2, 640), (1, 1, 1000), (5, 5, 1024)):
        if kern.kind != 'ours':
            kv_heads = heads
        q, k, v, o, lse = tensors(heads, kv_heads, s, kern.hd, kern.type_name)
        run = kern.prepare(q, k, v, o, lse)
        run()
        torch.cuda.synchronize()
        k, v = (t.double().repeat_interleave(heads // kv_heads, 0) for t in (k, v))
        p = q.double() @ k.transpose(1, 2) * kern.hd ** -0.5
        if kern.causal:
            p = p.masked_fill(torch.ones(s, s, device='cuda', dtype=torch.bool).triu(1), float('-inf'))
        ref = torch.softmax(p, -1) @ v
        for err in (((o.double() - ref).norm() / ref.norm()).item(), (lse.double() - torch.logsumexp(p, -1)).abs().max().item()):
            worst = max(worst, err) if err == err else float('inf')
        first, first_lse = o.clone(), lse.clone()
        for _ in range(100 if s == 1000 else 3):
            o.fill_(float('nan'))
            run()
            if not torch.equal(o, first) or not torch.equal(lse, first_lse):
                worst = float('inf')
    return worst


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


def measure(options, hd, causal, type_name, kernels, results):
    """times every candidate at three lengths, 16k tokens and 2048 columns in all"""
    name = f'hd{hd}.{"causal" if causal else "full"}.{type_name}'
    for s in (1024, 4096, 16384):
        b, h = 16384 // s, 2048 // hd
        q, k, v, o, lse = tensors(b * h, b * h, s, hd, type_name)
        flop = 4 * b * h * s * s * hd * (0.5 if causal else 1)
        q4, k4, v4 = (t.view(b, h, s, hd) for t in (q, k, v))

        def library():
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                return torch.nn.functional.scaled_dot_product_attention(q4, k4, v4, is_causal=causal)
        ref = library().reshape(b * h, s, hd).float()
        candidates = {'cuDNN': library}
        best = chosen(hd, causal, s)
        for kern in kernels:
            if options.tiles != 'all' and (kern.bn, kern.wgs) != best[:2]:
                continue
            f = kern.prepare(q, k, v, o, lse)
            o.fill_(float('nan'))
            f()
            err = ((o.float() - ref).norm() / ref.norm()).item()
            if err < 1e-2:
                candidates[kern.label] = f
            else:
                print('WRONG', name, kern.label, s, err)
                results['wrong'] = results.get('wrong', 0) + 1
        n = max(2, int(10e-3 / (flop / 500e12)))
        times = {c: [] for c in candidates}
        for _ in range(options.rounds):
            for c in random.sample(list(candidates), len(candidates)):
                times[c].append(timed(candidates[c], n))
        median = {c: sorted(t)[len(t) // 2] for c, t in times.items()}
        print(f'{name} S={s}: ' + ', '.join(f'{c} {flop / t / 1e9:.0f} TF ({median["cuDNN"] / t:.3f})' for c, t in median.items()), flush=True)
        tile = f'{64 * best[1]}x{best[0]}' + (' turns' if best[2] else '')
        ours, twin = median.get('ours ' + tile), median.get('twin ' + tile)
        results[f'{name}.{s}.cudnn.TFLOPS'] = flop / median['cuDNN'] / 1e9
        if ours:
            results[f'{name}.{s}.TFLOPS'] = flop / ours / 1e9
            results[f'{name}.{s}.of_cudnn'] = median['cuDNN'] / ours
        if ours and twin:
            results[f'{name}.{s}.of_twin'] = twin / ours


def write(path, options, results):
    ratios = [v for k, v in results.items() if k.endswith('.of_cudnn')]
    if ratios:
        results['geomean.of_cudnn'] = math.exp(sum(map(math.log, ratios)) / len(ratios))
    ratios = [v for k, v in results.items() if k.endswith('.of_twin')]
    if ratios:
        results['geomean.of_twin'] = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(', '.join(f'{k} {v:.4f}' for k, v in results.items() if k.startswith('geomean')))
    driver = C.c_int()
    cu.cuDriverGetVersion(C.byref(driver))
    text = json.dumps({
        'bench': 'attention_forward', 'command': 'python3 bench/gpu/attention.py',
        'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ'),
        'machine': f'{platform.system()} {platform.machine()}', 'gpu': torch.cuda.get_device_name(0), 'target': 'sm_90a',
        'driver_api': driver.value, 'torch': torch.__version__, 'cudnn': torch.backends.cudnn.version(),
        'kiln': subprocess.run([options.kiln, '--version'], capture_output=True, text=True).stdout.strip(),
        'kernels': {name: hashlib.sha256(open(name, 'rb').read()).hexdigest() for name in (SOURCE, 'ops/attention/forward_softmax.h')},
        'results': {k: float(f'{v:.6g}') for k, v in results.items()},
    }, indent=0)
    with open(path, 'w') as f:
        f.write(text + '\n')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--kiln', default='build/kiln')
    parser.add_argument('--twin', default=os.path.join(ROOT, '..', 'shared', 'hopper'))
    parser.add_argument('--only', default='', help='hd128: one head dimension; hd128.full.bf16: one row')
    parser.add_argument('--tiles', default='chosen', choices=('chosen', 'all'))
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--json')
    options = parser.parse_args()
    try:
        sys.path.insert(0, options.twin)
        from attn_fwd_bf16 import attn
        options.twin = attn
    except ImportError:
        options.twin = None
    torch.manual_seed(0)
    torch.zeros(1, device='cuda')
    results, failed = {}, 0
    for (hd, causal), tiles in TILES.items():
        for type_name in TYPES:
            name = f'hd{hd}.{"causal" if causal else "full"}.{type_name}'
            if not name.startswith(options.only):
                continue
            kernels = []
            used = {chosen(hd, causal, s) for s in (1024, 4096, 16384)}
            for tile in tiles:
                if options.tiles != 'all' and tile not in used:
                    continue
                for kind in ('ours', 'twin') if type_name == 'bf16' and options.twin else ('ours',):
                    kern = Kernel(kind, options, hd, causal, tile, type_name)
                    worst = check(kern)
                    print(f'{name} {kern.label}: worst error {worst:.2e}', flush=True)
                    if worst < 1e-2:
                        kernels.append(kern)
                    else:
                        failed += 1
            measure(options, hd, causal, type_name, kernels, results)
    failed += int(results.pop('wrong', 0))
    path = options.json or (None if options.only or failed else os.path.join(os.environ.get('RESULTS', 'bench/results'), 'attention_forward.json'))
    if path:
        write(path, options, results)
    print(f'attention: {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
